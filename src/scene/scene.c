#include "scene/scene.h"

#include "core/error.h"
#include "core/memory.h"
#include "scene/document.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A damaged file can give a warning for each of a million elements; nobody reads more than this. */
enum { MAX_WARNINGS = 100 };

static void free_primitive(const supple_allocator *a, spl_primitive *p)
{
    for (int32_t i = 0; i < p->target_count; i++) {
        spl_free(a, p->target[i].position);
        spl_free(a, p->target[i].normal);
    }
    spl_free(a, p->target);
    spl_free(a, p->position);
    spl_free(a, p->normal);
    spl_free(a, p->tangent);
    spl_free(a, p->uv);
    spl_free(a, p->color);
    spl_free(a, p->triangle);
    spl_free(a, p->amount);
    spl_free(a, p->id);
    spl_free(a, p->polygon_first);
    spl_free(a, p->polygon_corner);
    spl_free(a, p->joint);
    spl_free(a, p->weight);
}

static void free_meshes(supple_scene *scene)
{
    const supple_allocator *a = &scene->allocator;
    for (int32_t i = 0; i < scene->mesh_count; i++) {
        spl_mesh *mesh = &scene->mesh[i];
        for (int32_t k = 0; k < mesh->primitive_count; k++) free_primitive(a, &mesh->primitive[k]);
        spl_free(a, mesh->primitive);
        spl_free(a, mesh->name);
    }
    spl_free(a, scene->mesh);
}

static void free_clips(supple_scene *scene)
{
    const supple_allocator *a = &scene->allocator;
    for (int32_t i = 0; i < scene->clip_count; i++) {
        spl_clip *clip = &scene->clip[i];
        for (int32_t k = 0; k < clip->channel_count; k++) {
            spl_free(a, clip->channel[k].time);
            spl_free(a, clip->channel[k].value);
        }
        spl_free(a, clip->channel);
        spl_free(a, clip->sample);
        spl_free(a, clip->name);
    }
    spl_free(a, scene->clip);
}

static void free_rig(supple_scene *scene)
{
    const supple_allocator *a = &scene->allocator;
    for (int32_t i = 0; i < scene->node_count; i++) {
        spl_free(a, scene->node[i].name);
        spl_free(a, scene->node[i].weight);
    }
    spl_free(a, scene->node);
    spl_free(a, scene->node_order);
    for (int32_t i = 0; i < scene->skin_count; i++) {
        spl_free(a, scene->skin[i].name);
        spl_free(a, scene->skin[i].joint);
        spl_free(a, scene->skin[i].inverse_bind);
    }
    spl_free(a, scene->skin);
}

void supple_scene_destroy(supple_scene *scene)
{
    if (!scene) return;
    supple_allocator a = scene->allocator;
    free_meshes(scene);
    free_clips(scene);
    free_rig(scene);
    for (int32_t i = 0; i < scene->material_count; i++) spl_free(&a, scene->material[i].name);
    spl_free(&a, scene->material);
    spl_free(&a, scene->image); /* the bytes belong to the document */
    spl_free(&a, scene->instance);
    spl_free(&a, scene->point_vertex);
    for (int32_t i = 0; i < scene->warning_count; i++) spl_free(&a, scene->warning[i]);
    spl_free(&a, scene->warning);
    for (int32_t i = 0; i < scene->file_count; i++) spl_free(&a, scene->file[i]);
    spl_free(&a, scene->file);
    spl_free(&a, scene->path);
    spl_document_destroy(scene->document);
    spl_free(&a, scene);
}

/* ---- what readers need ------------------------------------------------------------------------------------------ */

void spl_scene_warn(supple_scene *scene, const char *format, ...)
{
    if (scene->warning_count > MAX_WARNINGS) return;
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (scene->warning_count == MAX_WARNINGS) snprintf(line, sizeof line, "further warnings are left out");
    spl_sanitise(line);
    const supple_allocator *a = &scene->allocator;
    char **grown = spl_resize(a, scene->warning, (size_t)scene->warning_count + 1, sizeof *grown);
    if (!grown) return;
    scene->warning = grown;
    char *copy = spl_strdup(a, line);
    if (copy) scene->warning[scene->warning_count++] = copy;
}

const char *spl_instance_name(const supple_scene *scene, int32_t instance)
{
    const spl_instance *in = &scene->instance[instance];
    if (scene->node[in->node].name[0]) return scene->node[in->node].name;
    const char *name = scene->mesh[in->mesh].name;
    return name && name[0] ? name : "mesh";
}

int32_t spl_face_count(const spl_primitive *p)
{
    return p->polygon_count ? p->polygon_count : p->triangle_count;
}

int64_t spl_face_corners(const spl_primitive *p)
{
    return p->polygon_count ? p->polygon_first[p->polygon_count] : 3 * (int64_t)p->triangle_count;
}

const int32_t *spl_face(const spl_primitive *p, int32_t face, int32_t *count)
{
    *count = p->polygon_count ? p->polygon_first[face + 1] - p->polygon_first[face] : 3;
    return p->polygon_count ? p->polygon_corner + p->polygon_first[face] : p->triangle + 3 * (size_t)face;
}

int32_t spl_face_corner(const spl_primitive *p, int32_t face, int32_t k, bool turned)
{
    int32_t count;
    const int32_t *corner = spl_face(p, face, &count);
    return corner[turned ? (count - k) % count : k];
}

int32_t spl_point_of(const spl_mesh *mesh, const spl_primitive *p, int32_t first, int32_t vertex)
{
    return mesh->point_count ? p->id[vertex] : first + vertex;
}

double spl_scene_unit(const supple_scene *scene)
{
    return scene->unit > 0 ? scene->unit : 1;
}

/* Characters face along -y where z is up, and along z where y or x is: each turn ends facing along z. */
void spl_scene_upright(const supple_scene *scene, float *rows, size_t count)
{
    for (size_t i = 0; scene->up != SPL_UP_Y && i < count; i++) {
        float *v = rows + 3 * i, x = v[0], y = v[1], z = v[2];
        v[0] = scene->up == SPL_UP_Z ? x : -y;
        v[1] = scene->up == SPL_UP_Z ? z : x;
        v[2] = scene->up == SPL_UP_Z ? -y : z;
    }
}

void supple_scene_up(const supple_scene *scene, double up[3])
{
    up[0] = scene->up == SPL_UP_X ? 1 : 0;
    up[1] = scene->up == SPL_UP_Y ? 1 : 0;
    up[2] = scene->up == SPL_UP_Z ? 1 : 0;
}

/* Vertices and triangles of a mesh over its primitives. */
static void count_mesh(const spl_mesh *mesh, int64_t *vertices, int64_t *triangles)
{
    *vertices = *triangles = 0;
    for (int32_t k = 0; k < mesh->primitive_count; k++) {
        *vertices += mesh->primitive[k].vertex_count;
        *triangles += mesh->primitive[k].triangle_count;
    }
}

static supple_result place_instances(supple_scene *scene, supple_error *error)
{
    int64_t vertex = 0, triangle = 0;
    int32_t count = 0;
    scene->point_count = 0;
    for (int32_t i = 0; i < scene->node_count; i++) {
        const spl_node *node = &scene->node[i];
        if (node->mesh < 0) continue;
        int64_t vertices, triangles;
        count_mesh(&scene->mesh[node->mesh], &vertices, &triangles);
        if (vertices > INT32_MAX - vertex || triangles > INT32_MAX - triangle)
            return spl_fail(error, SUPPLE_ERROR_INPUT, "%.80s: more than %d vertices or triangles in all", scene->path,
                            INT32_MAX);
        int32_t points = scene->mesh[node->mesh].point_count ? scene->mesh[node->mesh].point_count : (int32_t)vertices;
        scene->instance[count++] = (spl_instance){.node = i, /* in node order */
                                                  .mesh = node->mesh,
                                                  .skin = node->skin,
                                                  .first_vertex = (int32_t)vertex,
                                                  .vertex_count = (int32_t)vertices,
                                                  .first_point = scene->point_count,
                                                  .point_count = points};
        scene->point_count += points; /* no more than there are vertices */
        vertex += vertices;
        triangle += triangles;
    }
    scene->vertex_count = (int32_t)vertex;
    scene->triangle_count = (int32_t)triangle;
    return SUPPLE_OK;
}

/* The first vertex of each point. Vertices of one point are one place, and move alike. */
static bool place_points(supple_scene *scene)
{
    if (scene->point_count == scene->vertex_count) {
        bool ids = false;
        for (int32_t i = 0; i < scene->mesh_count; i++) ids = ids || scene->mesh[i].point_count > 0;
        if (!ids) return true;
    }
    scene->point_vertex = spl_new(&scene->allocator, (size_t)scene->point_count, sizeof *scene->point_vertex);
    if (!scene->point_vertex) return false;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_instance *in = &scene->instance[i];
        const spl_mesh *mesh = &scene->mesh[in->mesh];
        int32_t vertex = in->first_vertex + in->vertex_count;
        for (int32_t k = mesh->primitive_count; k-- > 0;)
            for (int32_t v = mesh->primitive[k].vertex_count; v-- > 0;) {
                vertex--;
                int32_t point = mesh->point_count ? mesh->primitive[k].id[v] : vertex - in->first_vertex;
                scene->point_vertex[in->first_point + point] = vertex;
            }
    }
    return true;
}

supple_result spl_scene_finish(supple_scene *scene, supple_error *error)
{
    int32_t instances = 0;
    for (int32_t i = 0; i < scene->node_count; i++) instances += scene->node[i].mesh >= 0;
    spl_free(&scene->allocator, scene->instance);
    scene->instance = spl_new(&scene->allocator, (size_t)instances, sizeof *scene->instance);
    scene->instance_count = scene->instance ? instances : 0;
    if (!scene->instance) return spl_fail_memory(error, "mesh instances");
    int64_t joints = 0;
    for (int32_t i = 0; i < scene->skin_count; i++) {
        scene->skin[i].first_joint = (int32_t)joints;
        joints += scene->skin[i].joint_count;
        if (joints > INT32_MAX / 16) /* 16 floats a joint must stay countable too */
            return spl_fail(error, SUPPLE_ERROR_INPUT, "%.80s: too many joints", scene->path);
    }
    scene->joint_count = (int32_t)joints;
    supple_result result = place_instances(scene, error);
    if (result != SUPPLE_OK) return result;
    spl_free(&scene->allocator, scene->point_vertex);
    scene->point_vertex = NULL;
    return place_points(scene) ? SUPPLE_OK : spl_fail_memory(error, "points");
}

/* ---- the public accessors --------------------------------------------------------------------------------------- */

int32_t supple_scene_vertex_count(const supple_scene *scene)
{
    return scene->vertex_count;
}

int32_t supple_scene_triangle_count(const supple_scene *scene)
{
    return scene->triangle_count;
}

int32_t supple_scene_joint_count(const supple_scene *scene)
{
    return scene->joint_count;
}

const char *supple_scene_joint_name(const supple_scene *scene, int32_t index)
{
    if (index < 0 || index >= scene->joint_count) return NULL;
    int32_t low = 0, high = scene->skin_count - 1; /* the last skin whose first joint is not behind the index */
    while (low < high) {
        int32_t middle = low + (high - low + 1) / 2;
        if (scene->skin[middle].first_joint <= index)
            low = middle;
        else
            high = middle - 1;
    }
    const spl_skin *skin = &scene->skin[low];
    return scene->node[skin->joint[index - skin->first_joint]].name;
}

int32_t supple_scene_skin_count(const supple_scene *scene)
{
    return scene->skin_count;
}

int32_t supple_scene_clip_count(const supple_scene *scene)
{
    return scene->clip_count;
}

const char *supple_scene_clip_name(const supple_scene *scene, int32_t clip)
{
    return clip < 0 || clip >= scene->clip_count ? NULL : scene->clip[clip].name;
}

double supple_scene_clip_duration(const supple_scene *scene, int32_t clip)
{
    return clip < 0 || clip >= scene->clip_count ? 0 : scene->clip[clip].duration;
}

double supple_scene_clip_fps(const supple_scene *scene, int32_t clip)
{
    return clip < 0 || clip >= scene->clip_count ? 0 : scene->clip[clip].fps;
}

/* A clip whose name ends in "|name"; -1 for none, -2 for several. */
static int32_t find_by_ending(const supple_scene *scene, const char *name)
{
    int32_t found = -1;
    for (int32_t i = 0; i < scene->clip_count; i++) {
        const char *bar = strrchr(scene->clip[i].name, '|');
        if (!bar || strcmp(bar + 1, name) != 0) continue;
        if (found >= 0) return -2;
        found = i;
    }
    return found;
}

/* The only clip whose name, or its part after '|', differs by upper and lower case at most; else -1. */
static int32_t find_by_letters(const supple_scene *scene, const char *name)
{
    int32_t found = -1;
    for (int32_t i = 0; i < scene->clip_count && *name; i++) {
        const char *bar = strrchr(scene->clip[i].name, '|');
        if (strcasecmp(scene->clip[i].name, name) != 0 && (!bar || strcasecmp(bar + 1, name) != 0)) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

static int32_t find_by_number(const supple_scene *scene, const char *name)
{
    int64_t value = 0;
    if (!*name) return -1;
    for (const char *c = name; *c; c++) {
        if (*c < '0' || *c > '9') return -1;
        value = 10 * value + (*c - '0');
        if (value >= scene->clip_count) return -1;
    }
    return (int32_t)value;
}

double supple_scene_fps(const supple_scene *scene)
{
    return scene->fps > 0 ? scene->fps : 30;
}

int32_t supple_scene_clip_find(const supple_scene *scene, const char *name)
{
    if (!name) return -1;
    for (int32_t i = 0; i < scene->clip_count; i++)
        if (strcmp(scene->clip[i].name, name) == 0) return i;
    int32_t found = find_by_ending(scene, name);
    if (found == -2) return -1;
    if (found < 0) found = find_by_number(scene, name);
    return found >= 0 ? found : find_by_letters(scene, name);
}

int32_t supple_scene_frame_count(const supple_scene *scene, int32_t clip, double fps)
{
    if (!(fps > 0) || !isfinite(fps) || clip < -1 || clip >= scene->clip_count) return 0;
    if (clip == -1) return 1;
    double count = floor(scene->clip[clip].duration * fps + 0.01) + 1;
    return count <= (double)INT32_MAX ? (int32_t)count : 0;
}
