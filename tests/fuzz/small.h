/* Small files, read from any bytes and used as a host would: the first byte says which kind the rest is of. Shared by
 * the fuzzer and by the test that replays its corpus. */
#ifndef SPL_TESTS_FUZZ_SMALL_H
#define SPL_TESTS_FUZZ_SMALL_H

#include "contact/collider_file.h"
#include "motion.h"
#include "require.h"
#include "scene/image.h"
#include "slide/regions.h"
#include "subspace/ranges.h"

#include <supple/supple.h>

/* What is read onto: made once, used by all inputs. */
typedef struct small_world {
    supple_allocator allocator;
    supple_scene *skeleton; /* for limits and maps */
    spl_bvh bvh;            /* for maps */
    supple_scene *sheet;    /* for regions of the skin: a sheet of 4 x 4 squares on two joints */
    spl_part *part;
    int32_t part_count;
} small_world;

/* A refusal comes with a reason, in one line. */
static inline bool small_refused(supple_result result, const supple_error *error)
{
    if (result == SUPPLE_OK) return false;
    FUZZ_REQUIRE(result == SUPPLE_ERROR_INPUT && error->code == result && error->message[0] &&
                 !strchr(error->message, '\n'));
    return true;
}

/* ---- the world ---- */

/* 25 vertices a unit apart: half of them follow each joint, a quarter is red. */
static inline size_t small_sheet_buffer(uint8_t *out)
{
    uint8_t *at = out;
    for (int v = 0; v < 25; v++, at += 12)
        memcpy(at, (float[]){(float)(v % 5), (float)(v / 5), 0.1f * (float)(v % 3)}, 12);
    for (int v = 0; v < 25; v++, at += 16) memcpy(at, (float[]){v % 4 ? 0 : 1, 0, 0, 1}, 16);
    for (int v = 0; v < 25; v++, at += 16) memcpy(at, (float[]){v % 5 < 2, v % 5 >= 2, 0, 0}, 16);
    for (int v = 0; v < 25; v++, at += 4) memcpy(at, (uint8_t[]){0, 1, 0, 0}, 4);
    for (int q = 0; q < 16; q++)
        for (int k = 0; k < 6; k++) {
            static const uint8_t corner[] = {0, 1, 6, 0, 6, 5};
            *at++ = (uint8_t)(q / 4 * 5 + q % 4 + corner[k]);
        }
    return (size_t)(at - out);
}

static inline supple_scene *small_sheet(void)
{
    static const char head[] =
        "{\"asset\": {\"version\": \"2.0\"}, \"scene\": 0, \"scenes\": [{\"nodes\": [0, 1]}], \"nodes\": [{\"name\": "
        "\"skin\", \"mesh\": 0, \"skin\": 0}, {\"name\": \"root\", \"children\": [2]}, {\"name\": \"tip\", "
        "\"translation\": [2, 0, 0]}], \"skins\": [{\"joints\": [1, 2]}], \"materials\": [{\"name\": \"sheet\"}], "
        "\"meshes\": [{\"name\": \"sheet\", \"primitives\": [{\"attributes\": {\"POSITION\": 0, \"COLOR_0\": 1, "
        "\"WEIGHTS_0\": 2, \"JOINTS_0\": 3}, \"indices\": 4, \"material\": 0}]}], \"bufferViews\": [{\"buffer\": 0, "
        "\"byteLength\": 300}, {\"buffer\": 0, \"byteOffset\": 300, \"byteLength\": 400}, {\"buffer\": 0, "
        "\"byteOffset\": 700, \"byteLength\": 400}, {\"buffer\": 0, \"byteOffset\": 1100, \"byteLength\": 100}, "
        "{\"buffer\": 0, \"byteOffset\": 1200, \"byteLength\": 96}], \"accessors\": [{\"bufferView\": 0, "
        "\"componentType\": 5126, \"count\": 25, \"type\": \"VEC3\", \"min\": [0, 0, 0], \"max\": [4, 4, 0.2]}, "
        "{\"bufferView\": 1, \"componentType\": 5126, \"count\": 25, \"type\": \"VEC4\"}, {\"bufferView\": 2, "
        "\"componentType\": 5126, \"count\": 25, \"type\": \"VEC4\"}, {\"bufferView\": 3, \"componentType\": 5121, "
        "\"count\": 25, \"type\": \"VEC4\"}, {\"bufferView\": 4, \"componentType\": 5121, \"count\": 96, \"type\": "
        "\"SCALAR\"}], \"buffers\": [{\"byteLength\": 1296, \"uri\": \"data:;base64,";
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[6000];
    uint8_t bytes[1296];
    FUZZ_REQUIRE(small_sheet_buffer(bytes) == sizeof bytes);
    char *to = text + snprintf(text, sizeof text, "%s", head);
    for (size_t i = 0; i < sizeof bytes; i += 3) {
        uint32_t bits = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        for (int k = 18; k >= 0; k -= 6) *to++ = digit[bits >> k & 63];
    }
    to += sprintf(to, "\"}]}");
    supple_scene *scene = NULL;
    supple_scene_load_memory(text, (size_t)(to - text), "sheet.gltf", NULL, &scene, NULL);
    return scene;
}

static inline small_world small_make(void)
{
    static const char bvh[] = "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
                              "JOINT Spine\n{\nOFFSET 0 1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
                              "JOINT Odd\n{\nOFFSET 0 1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
                              "End Site\n{\nOFFSET 0 1 0\n}\n}\n}\n}\n"
                              "MOTION\nFrames: 2\nFrame Time: 0.1\n0 0 0 0 0 0 0 0 0\n9 0 0 9 0 0 9 0 0\n";
    small_world w = {.allocator = spl_allocator_of(NULL), .skeleton = motion_skeleton(), .sheet = small_sheet()};
    FUZZ_REQUIRE(w.skeleton && w.sheet && w.sheet->vertex_count == 25 && w.sheet->triangle_count == 32);
    FUZZ_REQUIRE(spl_bvh_parse((const uint8_t *)bvh, sizeof bvh - 1, "a.bvh", &w.allocator, &w.bvh, NULL) == SUPPLE_OK);
    w.part = spl_parts_new(w.sheet, &w.allocator, &w.part_count);
    FUZZ_REQUIRE(w.part && w.part_count == 1);
    return w;
}

static inline void small_free(small_world *w)
{
    spl_free(&w->allocator, w->part);
    spl_bvh_release(&w->bvh);
    supple_scene_destroy(w->sheet);
    supple_scene_destroy(w->skeleton);
}

/* ---- the kinds ---- */

/* A vertex animation, on a triangle that nothing else moves, played at its samples, between them and beyond. */
static inline bool small_pc2(const uint8_t *data, size_t size)
{
    static const char text[] =
        "{\"asset\": {\"version\": \"2.0\"}, \"scene\": 0, \"scenes\": [{\"nodes\": [0]}], \"nodes\": [{\"mesh\": 0}], "
        "\"meshes\": [{\"primitives\": [{\"attributes\": {\"POSITION\": 0}}]}], \"buffers\": [{\"byteLength\": 36, "
        "\"uri\": \"data:;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA\"}], \"bufferViews\": [{\"buffer\": "
        "0, \"byteLength\": 36}], \"accessors\": [{\"bufferView\": 0, \"componentType\": 5126, \"count\": 3, \"type\": "
        "\"VEC3\", \"min\": [0, 0, 0], \"max\": [1, 1, 0]}]}";
    static const double share[] = {0, 0.3, 1, 7, -1};
    supple_motion motion = {.path = "fuzz.pc2", .data = data, .size = size};
    supple_config config = supple_config_default();
    supple_sim_config how = supple_sim_config_default();
    supple_scene *scene;
    supple_sim *sim;
    supple_error error = {0};
    int32_t clip;
    config.thread_count = 1;
    how.method = "none";
    FUZZ_REQUIRE(supple_scene_load_memory(text, sizeof text - 1, "a.gltf", &config, &scene, NULL) == SUPPLE_OK);
    supple_result result = supple_scene_add_motion(scene, &motion, &config, &clip, &error);
    if (small_refused(result, &error)) {
        FUZZ_REQUIRE(clip == -1 && supple_scene_clip_count(scene) == 0);
        supple_scene_destroy(scene);
        return false;
    }
    double length = supple_scene_clip_duration(scene, clip);
    FUZZ_REQUIRE(isfinite(length) && length >= 0);
    FUZZ_REQUIRE(supple_sim_create(scene, &how, &config, &sim, NULL) == SUPPLE_OK);
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
        float x[9];
        if (supple_sim_step_clip(sim, clip, share[i] * length, NULL) != SUPPLE_OK) continue;
        supple_sim_read_positions(sim, x, 12);
        for (int k = 0; k < 9; k++) FUZZ_REQUIRE(isfinite(x[k]));
    }
    supple_sim_destroy(sim);
    supple_scene_destroy(scene);
    return true;
}

/* An image; a small one comes back as it was from the PNG of it. */
static inline bool small_image(const small_world *w, const uint8_t *data, size_t size)
{
    enum { SMALL = 1 << 14 };
    spl_pixels pixels, back;
    supple_error error = {0};
    supple_result result = spl_image_decode(data, size, &w->allocator, &pixels, &error);
    if (small_refused(result, &error)) {
        FUZZ_REQUIRE(!pixels.rgba);
        return false;
    }
    size_t count = (size_t)pixels.width * (size_t)pixels.height;
    FUZZ_REQUIRE(pixels.width > 0 && pixels.height > 0 && pixels.rgba && count <= 1 << 26);
    if (count <= SMALL) {
        uint8_t *png;
        size_t png_size;
        FUZZ_REQUIRE(spl_image_encode_png(&pixels, &w->allocator, &png, &png_size, NULL) == SUPPLE_OK);
        FUZZ_REQUIRE(spl_image_decode(png, png_size, &w->allocator, &back, NULL) == SUPPLE_OK);
        FUZZ_REQUIRE(back.width == pixels.width && back.height == pixels.height);
        FUZZ_REQUIRE(memcmp(back.rgba, pixels.rgba, 4 * count) == 0);
        spl_pixels_free(&back, &w->allocator);
        spl_free(&w->allocator, png);
    }
    spl_pixels_free(&pixels, &w->allocator);
    return true;
}

static inline void small_check_hit(const spl_colliders *set, spl_vec3 p)
{
    spl_collider_hit hit;
    if (!spl_colliders_query(set, p, 0.5, -1, &hit)) return;
    FUZZ_REQUIRE(hit.collider >= 0 && hit.collider < spl_colliders_count(set));
    FUZZ_REQUIRE(spl_v3_finite(hit.target) && fabs(spl_norm(hit.normal) - 1) < 1e-6 && isfinite(hit.depth));
}

/* Things of the world, placed at times and touched. */
static inline bool small_colliders(const small_world *w, const uint8_t *data, size_t size)
{
    static const double time[] = {0, -1e7, 0.25, 1, 1e7};
    spl_collider_file file;
    spl_colliders *set;
    supple_error error = {0};
    supple_result result = spl_collider_file_parse(data, size, "fuzz.json", &w->allocator, &file, &error);
    if (small_refused(result, &error)) {
        FUZZ_REQUIRE(!file.item);
        return false;
    }
    FUZZ_REQUIRE(spl_colliders_create(&w->allocator, &set, NULL) == SUPPLE_OK);
    for (int32_t i = 0; i < file.count; i++)
        FUZZ_REQUIRE(spl_colliders_add(set, &file.item[i].shape, NULL) == SUPPLE_OK);
    for (size_t t = 0; t < sizeof time / sizeof *time; t++) {
        for (int32_t i = 0; i < file.count; i++) {
            spl_collider_shape s = spl_collider_item_at(&file.item[i], time[t]);
            FUZZ_REQUIRE(spl_v3_finite(s.a) && spl_v3_finite(s.b) && s.kind == file.item[i].shape.kind);
            FUZZ_REQUIRE(s.kind == SPL_COLLIDER_PLANE ? spl_norm(s.b) > 0 : s.radius > 0);
            spl_colliders_place(set, i, &s);
            small_check_hit(set, s.a);
        }
        small_check_hit(set, spl_v3(0, 0, 0));
        small_check_hit(set, spl_v3(0.1, 1, -0.2));
    }
    spl_colliders_destroy(set);
    spl_collider_file_release(&file);
    return true;
}

/* Joint limits; poses are drawn from them. */
static inline bool small_limits(const small_world *w, const uint8_t *data, size_t size)
{
    enum { POSES = 3, JOINTS = 16 };
    spl_joint_ranges ranges;
    spl_joint_move turn[POSES * JOINTS];
    supple_error error = {0};
    FUZZ_REQUIRE(spl_joint_ranges_infer(w->skeleton, NULL, 0, 0.1, &ranges, NULL) == SUPPLE_OK);
    FUZZ_REQUIRE(ranges.joint_count > 4 && ranges.joint_count <= JOINTS);
    supple_result result = spl_joint_ranges_parse(&ranges, w->skeleton, data, size, "fuzz.json", &error);
    bool good = !small_refused(result, &error);
    if (good) {
        spl_joint_ranges_draw(&ranges, POSES, 1, turn);
        for (int32_t i = 0; i < POSES * ranges.joint_count; i++)
            FUZZ_REQUIRE(spl_v3_finite(turn[i].turn) && spl_norm(turn[i].turn) <= 3.1415926535897936);
    }
    spl_joint_ranges_release(&ranges);
    return good;
}

/* A map of joints, and the motion put on by it. */
static inline bool small_map(const small_world *w, const uint8_t *data, size_t size)
{
    spl_match match;
    spl_clip clip = {0};
    supple_error error = {0};
    supple_result result = spl_match_make(w->skeleton, &w->bvh, (const char *)data, size, "fuzz.json", &match, &error);
    if (small_refused(result, &error)) return false;
    if (match.matched > 0) {
        FUZZ_REQUIRE(spl_retarget(w->skeleton, &w->bvh, &match, &clip, NULL) == SUPPLE_OK);
        motion_check_clip(&clip);
        motion_free_clip(&clip, &w->skeleton->allocator);
    }
    spl_match_release(&match);
    return true;
}

static inline spl_net small_net(const small_world *w)
{
    const spl_primitive *p = w->part[0].primitive;
    double position[75];
    spl_net net;
    for (int i = 0; i < 75; i++) position[i] = (double)p->position[i];
    FUZZ_REQUIRE(spl_net_make(position, 25, p->triangle, p->triangle_count, &w->allocator, &net, NULL) == SUPPLE_OK);
    return net;
}

/* Regions of sliding skin, and the skin made of them. */
static inline bool small_slide(const small_world *w, const uint8_t *data, size_t size)
{
    bool slides = true;
    spl_net net = small_net(w);
    spl_slide_scene where = {w->sheet, w->part, w->part_count, &slides, &net};
    spl_dermis_settings settings = spl_dermis_settings_default();
    spl_regions regions;
    spl_dermis *skin = NULL;
    supple_error error = {0};
    supple_result result = spl_regions_parse(&where, data, size, "fuzz.json", SPL_BORDER_FIXED, &settings,
                                             &w->allocator, &regions, &error);
    if (small_refused(result, &error)) {
        FUZZ_REQUIRE(!regions.hold && !regions.edge);
        spl_net_release(&net);
        return false;
    }
    spl_regions_fix_creases(&regions, &net, 60);
    for (int32_t v = 0; v < net.surface.vertex_count; v++)
        FUZZ_REQUIRE(regions.hold[v] <= SPL_HOLD_SLIDING && regions.stiffness[v] > 0 && regions.zeta[v] >= 0 &&
                     regions.zeta[v] <= 1 && regions.drag[v] >= 0 && regions.prestrain[v] > -1);
    for (size_t e = 0; e < 2 * regions.edge_count; e++)
        FUZZ_REQUIRE(regions.edge[e] >= 0 && regions.edge[e] < net.surface.vertex_count);
    spl_dermis_parts parts = spl_regions_parts(&regions);
    result = spl_dermis_create(&net, &settings, &parts, NULL, &w->allocator, &skin, &error);
    small_refused(result, &error);
    spl_dermis_destroy(skin);
    spl_regions_release(&regions);
    return true;
}

/* Whether the bytes are what their first one says. */
static inline bool small_exercise(const small_world *w, const uint8_t *data, size_t size)
{
    if (size == 0) return false;
    uint8_t kind = *data++;
    size--;
    switch (kind) {
    case 'p':
        return small_pc2(data, size);
    case 'i':
        return small_image(w, data, size);
    case 'c':
        return small_colliders(w, data, size);
    case 'l':
        return small_limits(w, data, size);
    case 'm':
        return small_map(w, data, size);
    case 's':
        return small_slide(w, data, size);
    default:
        return false;
    }
}

#endif
