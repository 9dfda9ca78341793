/* Frames for the writers' tests: made up, but such that every vertex moves and rigid meshes ride on their nodes. */
#ifndef SPL_TESTS_SCENE_WRITER_FRAMES_H
#define SPL_TESTS_SCENE_WRITER_FRAMES_H

#include "core/memory.h"
#include "rig/pose.h"
#include "scene/scene.h"
#include "scene/writers/writer.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const spl_format *const all_formats[] = {&spl_format_glb, &spl_format_gltf, &spl_format_npy, &spl_format_pc2,
                                                &spl_format_mdd, &spl_format_obj,  &spl_format_abc, &spl_format_usda};
enum { FORMAT_COUNT = sizeof all_formats / sizeof *all_formats };

typedef struct frames {
    int32_t count, vertices;
    float *position, *normal, *tangent; /* frame after frame */
} frames;

static inline void free_frames(frames *f)
{
    free(f->position);
    free(f->normal);
    free(f->tangent);
}

/* A unit vector that depends on the vertex and the frame. */
static inline void made_direction(int32_t v, int32_t k, float out[3])
{
    double a = 0.37 * v + 0.11 * k, b = 0.73 * v - 0.05 * k;
    spl_v3_to_float(spl_v3(sin(a) * cos(b), cos(a), sin(a) * sin(b)), out);
}

static inline frames make_frames(const supple_scene *scene, const supple_range *range, double fps)
{
    frames f = {range->frame_count, scene->vertex_count, NULL, NULL, NULL};
    size_t n = (size_t)f.count * (size_t)f.vertices;
    f.position = calloc(3 * n, sizeof(float));
    f.normal = calloc(3 * n, sizeof(float));
    f.tangent = calloc(4 * n, sizeof(float));
    spl_pose pose = {0};
    bool posed = scene->node_order && spl_pose_init(&pose, scene, NULL) == SUPPLE_OK;
    for (int32_t k = 0; k < f.count; k++) {
        size_t at = (size_t)k * (size_t)f.vertices;
        if (posed) spl_pose_sample(&pose, scene, range->clip, (range->first_frame + k) / fps);
        for (int32_t i = 0; i < scene->instance_count; i++) {
            const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
            bool rigid = posed && scene->instance[i].skin < 0;
            for (int32_t p = 0; p < mesh->primitive_count; p++)
                for (int32_t v = 0; v < mesh->primitive[p].vertex_count; v++, at++) {
                    spl_vec3 x = spl_v3_from_float(mesh->primitive[p].position + 3 * v);
                    float d[3];
                    int32_t which = (int32_t)(at - (size_t)k * (size_t)f.vertices); /* in output order */
                    made_direction(which, k, d);
                    if (rigid)
                        x = spl_mat4_point(&pose.world[scene->instance[i].node], x);
                    else
                        x = spl_add(x, spl_scale(spl_v3_from_float(d), 0.1 * k));
                    spl_v3_to_float(x, f.position + 3 * at);
                    memcpy(f.normal + 3 * at, d, sizeof d);
                    made_direction(which + 1, k + 3, f.tangent + 4 * at);
                    f.tangent[4 * at + 3] = v % 2 ? 1.0f : -1.0f;
                }
        }
    }
    if (posed) spl_pose_release(&pose);
    return f;
}

static inline supple_frame frame_at(const frames *f, int32_t range, int32_t k)
{
    size_t at = (size_t)k * (size_t)f->vertices;
    return (supple_frame){range, k, f->position + 3 * at, f->normal + 3 * at, f->tangent + 4 * at, NULL, NULL};
}

/* Opens, writes all frames of the ranges and closes; the first failure is the result. */
static inline supple_result write_ranges(const supple_scene *scene, const char *path, const supple_range *ranges,
                                         int32_t count, double fps, const frames *f, const supple_config *config,
                                         supple_error *error)
{
    supple_writer *w = NULL;
    supple_plan plan = {.ranges = ranges, .range_count = count, .fps = fps};
    supple_result result = spl_writer_open_with(all_formats, FORMAT_COUNT, scene, path, &plan, config, &w, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t r = 0; r < count; r++)
        for (int32_t k = 0; k < ranges[r].frame_count; k++) {
            supple_frame frame = frame_at(&f[r], r, k);
            result = supple_writer_frame(w, &frame, error);
            if (result == SUPPLE_OK) continue;
            supple_writer_abort(w);
            return result;
        }
    return supple_writer_close(w, error);
}

static inline supple_result write_frames(const supple_scene *scene, const char *path, const supple_range *range,
                                         double fps, const frames *f, supple_error *error)
{
    return write_ranges(scene, path, range, 1, fps, f, NULL, error);
}

/* One range with skin that slides: `uv` has 2 floats a corner, frame after frame; frames without normals may come. */
static inline supple_result write_slid(const supple_scene *scene, const char *path, const supple_range *range,
                                       const frames *f, const float *uv, const supple_config *config,
                                       supple_error *error)
{
    supple_writer *w = NULL;
    supple_plan plan = {.ranges = range, .range_count = 1, .fps = 24, .slide = true};
    size_t corners = 3 * (size_t)scene->triangle_count;
    supple_result result = spl_writer_open_with(all_formats, FORMAT_COUNT, scene, path, &plan, config, &w, error);
    for (int32_t k = 0; k < range->frame_count && result == SUPPLE_OK; k++) {
        supple_slide_frame slide = {uv + 2 * corners * (size_t)k, NULL, corners, 0};
        supple_frame frame = frame_at(f, 0, k);
        frame.slide = &slide;
        result = supple_writer_frame(w, &frame, error);
    }
    if (result == SUPPLE_OK) return supple_writer_close(w, error);
    supple_writer_abort(w);
    return result;
}

/* Texture coordinates that swirl about (0.5, 0.5), more from frame to frame; those of frame 0 are the file's own. The
 * instance `still` keeps its own throughout. */
static inline float *swirl_uv(const supple_scene *scene, int32_t frame_count, int32_t still)
{
    float *uv = calloc(6 * (size_t)scene->triangle_count * (size_t)frame_count, sizeof *uv), *at = uv;
    for (int32_t k = 0; uv && k < frame_count; k++)
        for (int32_t i = 0; i < scene->instance_count; i++) {
            const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
            for (int32_t m = 0; m < mesh->primitive_count; m++)
                for (int32_t c = 0; c < 3 * mesh->primitive[m].triangle_count; c++, at += 2) {
                    const spl_primitive *p = &mesh->primitive[m];
                    const float *own = p->uv + 2 * (size_t)p->triangle[c];
                    double x = (double)own[0] - 0.5, y = (double)own[1] - 0.5, a = 0.1 * k * (1 + 0.01 * c);
                    bool moves = k > 0 && i != still;
                    at[0] = moves ? (float)(0.5 + cos(a) * x - sin(a) * y) : own[0];
                    at[1] = moves ? (float)(0.5 + sin(a) * x + cos(a) * y) : own[1];
                }
        }
    return uv;
}

/* ---- folders and files ---- */

/* Removes what is in a folder (one level of folders inside too), and makes the folder if it is not there. */
static void clean_folder(const char *folder)
{
    mkdir(folder, 0755);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[1024];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (unlink(path) != 0) {
            clean_folder(path);
            rmdir(path);
        }
    }
    if (dir) closedir(dir);
}

static inline int files_in(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    if (dir) closedir(dir);
    return count;
}

/* A whole file, with a zero byte behind it; NULL if it cannot be read. */
static inline uint8_t *read_bytes(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = calloc(*size + 1, 1);
    *size = fread(data, 1, *size, f);
    fclose(f);
    return data;
}

/* ---- an allocator that fails from the n-th call on and counts its blocks ---- */

static int allocations_left, blocks_alive;
static void *limited_allocate(void *user, size_t size)
{
    (void)user;
    if (allocations_left-- <= 0) return NULL;
    blocks_alive++;
    return malloc(size);
}
static void *limited_reallocate(void *user, void *block, size_t size)
{
    (void)user;
    if (allocations_left-- <= 0) return NULL;
    if (!block) blocks_alive++;
    return realloc(block, size);
}
static void limited_release(void *user, void *block)
{
    (void)user;
    if (block) blocks_alive--;
    free(block);
}
static inline supple_config limited_config(int allowed)
{
    supple_config config = supple_config_default();
    config.allocator = (supple_allocator){limited_allocate, limited_reallocate, limited_release, NULL};
    allocations_left = allowed;
    return config;
}

#endif
