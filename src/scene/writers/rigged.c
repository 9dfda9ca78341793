#include "scene/writers/rigged.h"

#include "core/error.h"
#include "core/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- building --------------------------------------------------------------------------------------------------- */

int32_t spl_rigged_add_joint(spl_rigged *rigged, const char *name, int32_t parent, spl_vec3 world)
{
    assert(rigged->joint_count < SPL_RIGGED_JOINTS && parent < rigged->joint_count);
    spl_vec3 origin = spl_v3(0, 0, 0);
    for (int32_t j = parent; j >= 0; j = rigged->joint[j].parent) origin = spl_add(origin, rigged->joint[j].t);
    rigged->joint[rigged->joint_count] = (spl_rigged_joint){name, parent, spl_sub(world, origin), {0, 0, 0, 1}};
    return rigged->joint_count++;
}

int32_t spl_rigged_add_material(spl_rigged *rigged, const char *name, float red, float green, float blue)
{
    assert(rigged->material_count < SPL_RIGGED_MATERIALS);
    rigged->material[rigged->material_count] = (spl_rigged_material){.name = name, .base_color = {red, green, blue, 1}};
    return rigged->material_count++;
}

spl_rigged_clip *spl_rigged_add_clip(spl_rigged *rigged, const char *name, int32_t key_count, double fps)
{
    assert(rigged->clip_count < SPL_RIGGED_CLIPS && key_count > 0 && fps > 0);
    size_t keys = (size_t)rigged->joint_count * (size_t)key_count;
    spl_rigged_clip clip = {name, key_count, fps, spl_new(&rigged->allocator, keys, 4 * sizeof(float)),
                            spl_new(&rigged->allocator, keys, 3 * sizeof(float))};
    if (!clip.rotation || !clip.translation) {
        spl_free(&rigged->allocator, clip.rotation);
        spl_free(&rigged->allocator, clip.translation);
        return NULL;
    }
    spl_rigged_clip *added = &rigged->clip[rigged->clip_count++];
    *added = clip;
    for (int32_t j = 0; j < rigged->joint_count; j++)
        for (int32_t k = 0; k < key_count; k++) {
            spl_rigged_set_rotation(rigged, added, j, k, rigged->joint[j].r);
            spl_rigged_set_translation(rigged, added, j, k, rigged->joint[j].t);
        }
    return added;
}

static size_t key_at(const spl_rigged *rigged, const spl_rigged_clip *clip, int32_t joint, int32_t key)
{
    (void)rigged; /* without assertions */
    assert(joint >= 0 && joint < rigged->joint_count && key >= 0 && key < clip->key_count);
    return (size_t)joint * (size_t)clip->key_count + (size_t)key;
}

void spl_rigged_set_rotation(const spl_rigged *rigged, spl_rigged_clip *clip, int32_t joint, int32_t key,
                             const double r[4])
{
    float *to = clip->rotation + 4 * key_at(rigged, clip, joint, key);
    double n = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
    /* q and -q turn alike, but LINEAR interpolation between keys wants the nearer of the two. */
    double along = 0;
    for (int i = 0; i < 4 && key > 0; i++) along += r[i] * (double)to[i - 4];
    for (int i = 0; i < 4; i++) to[i] = (float)((along < 0 ? -r[i] : r[i]) / n);
}

void spl_rigged_set_translation(const spl_rigged *rigged, spl_rigged_clip *clip, int32_t joint, int32_t key, spl_vec3 t)
{
    spl_v3_to_float(t, clip->translation + 3 * key_at(rigged, clip, joint, key));
}

void spl_rigged_pose(const spl_rigged *rigged, const spl_rigged_clip *clip, int32_t key, spl_mat4 *world)
{
    static const double one[3] = {1, 1, 1};
    for (int32_t j = 0; j < rigged->joint_count; j++) {
        const spl_rigged_joint *joint = &rigged->joint[j];
        double t[3] = {joint->t.x, joint->t.y, joint->t.z}, r[4];
        memcpy(r, joint->r, sizeof r);
        if (clip) {
            size_t at = key_at(rigged, clip, j, key);
            for (int i = 0; i < 3; i++) t[i] = (double)clip->translation[3 * at + (size_t)i];
            for (int i = 0; i < 4; i++) r[i] = (double)clip->rotation[4 * at + (size_t)i];
        }
        spl_mat4 local = spl_mat4_trs(t, r, one);
        world[j] = joint->parent < 0 ? local : spl_mat4_mul(&world[joint->parent], &local);
    }
}

void spl_rigged_release(spl_rigged *rigged)
{
    const supple_allocator *a = &rigged->allocator;
    for (int32_t i = 0; i < rigged->mesh_count; i++) {
        spl_rigged_mesh *mesh = &rigged->mesh[i];
        spl_free(a, mesh->position);
        spl_free(a, mesh->normal);
        spl_free(a, mesh->uv);
        spl_free(a, mesh->triangle);
        spl_free(a, mesh->joint);
        spl_free(a, mesh->weight);
    }
    for (int32_t i = 0; i < rigged->material_count; i++) spl_free(a, rigged->material[i].png);
    for (int32_t i = 0; i < rigged->clip_count; i++) {
        spl_free(a, rigged->clip[i].rotation);
        spl_free(a, rigged->clip[i].translation);
    }
    *rigged = (spl_rigged){0};
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* Bytes that grow. After a failure everything added is dropped and `failed` stays set: one check at the end. */
typedef struct blob {
    const supple_allocator *allocator;
    uint8_t *data;
    size_t size, capacity;
    bool failed;
} blob;

/* Room for `more` bytes at the end; grows by half, so that adding stays linear in the bytes added. */
static uint8_t *blob_grow(blob *b, size_t more)
{
    if (b->failed) return NULL;
    if (more > b->capacity - b->size) {
        size_t capacity = b->capacity + b->capacity / 2 + more + 4096;
        uint8_t *data = capacity > more ? spl_resize(b->allocator, b->data, capacity, 1) : NULL;
        if (!data) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->capacity = capacity;
    }
    b->size += more;
    return b->data + b->size - more;
}

static void blob_add(blob *b, const void *data, size_t size)
{
    uint8_t *to = blob_grow(b, size);
    if (to && size) memcpy(to, data, size);
}

static void text_add(blob *b, const char *format, ...) SPL_PRINTF(2, 3);
static void text_add(blob *b, const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    assert(length >= 0 && (size_t)length < sizeof line);
    blob_add(b, line, (size_t)length);
}

/* Numbers in brackets, every bit of a float kept. A host's locale may print a decimal comma: JSON wants a point. */
static void text_numbers(blob *b, const double *value, int count)
{
    for (int i = 0; i < count; i++) {
        char number[40];
        snprintf(number, sizeof number, "%.9g", value[i]);
        for (char *c = number; *c; c++)
            if (!strchr("+-0123456789e", *c)) *c = '.';
        text_add(b, "%s%s", i ? "," : "[", number);
    }
    text_add(b, "]");
}

/* The file in the making: the binary chunk and the JSON lists that describe it. */
typedef struct glb {
    const spl_rigged *rigged;
    blob bin, views, accessors, meshes, nodes, animations, json;
    int32_t view_count, accessor_count;
} glb;

enum { TARGET_NONE = 0, TARGET_VERTEX = 34962, TARGET_INDEX = 34963 };
enum { TYPE_U8 = 5121, TYPE_U16 = 5123, TYPE_U32 = 5125, TYPE_FLOAT = 5126 };

/* A piece of the binary chunk. Pieces start at multiples of four, which every component type allows. */
static int32_t add_view(glb *g, const void *data, size_t size, int target)
{
    static const uint8_t zero[4] = {0};
    text_add(&g->views, "%s{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu", g->view_count ? "," : "", g->bin.size,
             size);
    if (target != TARGET_NONE) text_add(&g->views, ",\"target\":%d", target);
    text_add(&g->views, "}");
    blob_add(&g->bin, data, size);
    blob_add(&g->bin, zero, (4 - size % 4) % 4);
    return g->view_count++;
}

static const char *type_name(int width)
{
    return width == 1 ? "SCALAR" : width == 2 ? "VEC2" : width == 3 ? "VEC3" : width == 4 ? "VEC4" : "MAT4";
}

static int32_t add_accessor(glb *g, const void *data, size_t count, int width, int type, int target)
{
    size_t item = type == TYPE_U8 ? 1 : type == TYPE_U16 ? 2 : 4;
    int32_t view = add_view(g, data, count * (size_t)width * item, target);
    text_add(&g->accessors, "%s{\"bufferView\":%d,\"componentType\":%d,\"count\":%zu,\"type\":\"%s\"}",
             g->accessor_count ? "," : "", view, type, count, type_name(width));
    return g->accessor_count++;
}

/* As add_accessor for floats, with the bounds that glTF demands of positions and key times. */
static int32_t add_bounded(glb *g, const float *data, size_t count, int width, int target)
{
    int32_t index = add_accessor(g, data, count, width, TYPE_FLOAT, target);
    double low[3] = {0}, high[3] = {0};
    for (size_t i = 0; i < count * (size_t)width; i++) {
        size_t c = i % (size_t)width;
        double x = (double)data[i];
        if (i < (size_t)width || x < low[c]) low[c] = x;
        if (i < (size_t)width || x > high[c]) high[c] = x;
    }
    if (!g->accessors.failed) g->accessors.size--; /* reopen the object just closed */
    text_add(&g->accessors, ",\"min\":");
    text_numbers(&g->accessors, low, width);
    text_add(&g->accessors, ",\"max\":");
    text_numbers(&g->accessors, high, width);
    text_add(&g->accessors, "}");
    return index;
}

/* Triangle corners as 16 bits where they fit; 65535 itself is the restart value and stays unused. */
static int32_t add_indices(glb *g, const spl_rigged_mesh *mesh)
{
    size_t count = 3 * (size_t)mesh->triangle_count;
    if (mesh->vertex_count >= 65535) return add_accessor(g, mesh->triangle, count, 1, TYPE_U32, TARGET_INDEX);
    blob narrow = {.allocator = g->bin.allocator};
    uint8_t *to = blob_grow(&narrow, 2 * count);
    for (size_t i = 0; to && i < count; i++) {
        uint16_t index = (uint16_t)mesh->triangle[i];
        memcpy(to + 2 * i, &index, 2);
    }
    if (!to) g->bin.failed = true;
    int32_t accessor = add_accessor(g, narrow.data, to ? count : 0, 1, TYPE_U16, TARGET_INDEX);
    spl_free(narrow.allocator, narrow.data);
    return accessor;
}

/* JOINTS_n and WEIGHTS_n: four influences a set. */
static void add_influences(glb *g, const spl_rigged_mesh *mesh, int set)
{
    blob joints = {.allocator = g->bin.allocator}, weights = {.allocator = g->bin.allocator};
    size_t stride = (size_t)mesh->influence_count;
    for (size_t v = 0; v < (size_t)mesh->vertex_count; v++) {
        blob_add(&joints, mesh->joint + v * stride + 4 * (size_t)set, 4);
        blob_add(&weights, mesh->weight + v * stride + 4 * (size_t)set, 4 * sizeof(float));
    }
    size_t count = (size_t)mesh->vertex_count;
    if (joints.failed || weights.failed) {
        g->bin.failed = true;
        count = 0;
    }
    int32_t j = add_accessor(g, joints.data, count, 4, TYPE_U8, TARGET_VERTEX);
    int32_t w = add_accessor(g, weights.data, count, 4, TYPE_FLOAT, TARGET_VERTEX);
    text_add(&g->meshes, ",\"JOINTS_%d\":%d,\"WEIGHTS_%d\":%d", set, j, set, w);
    spl_free(joints.allocator, joints.data);
    spl_free(weights.allocator, weights.data);
}

/* One mesh with one primitive: attributes in a fixed order, so that the bytes do not depend on anything else. */
static void add_mesh(glb *g, const spl_rigged_mesh *mesh)
{
    size_t count = (size_t)mesh->vertex_count;
    text_add(&g->meshes, "%s{\"name\":\"%s\",\"primitives\":[{\"attributes\":{", g->meshes.size ? "," : "", mesh->name);
    text_add(&g->meshes, "\"POSITION\":%d", add_bounded(g, mesh->position, count, 3, TARGET_VERTEX));
    text_add(&g->meshes, ",\"NORMAL\":%d", add_accessor(g, mesh->normal, count, 3, TYPE_FLOAT, TARGET_VERTEX));
    if (mesh->uv)
        text_add(&g->meshes, ",\"TEXCOORD_0\":%d", add_accessor(g, mesh->uv, count, 2, TYPE_FLOAT, TARGET_VERTEX));
    for (int set = 0; 4 * set < mesh->influence_count; set++) add_influences(g, mesh, set);
    text_add(&g->meshes, "},\"indices\":%d", add_indices(g, mesh));
    if (mesh->material >= 0) text_add(&g->meshes, ",\"material\":%d", mesh->material);
    text_add(&g->meshes, "}]}");
}

/* Nodes: the meshes first (node i is mesh i), then the joints. */
static void add_nodes(glb *g)
{
    const spl_rigged *rigged = g->rigged;
    for (int32_t i = 0; i < rigged->mesh_count; i++)
        text_add(&g->nodes, "%s{\"name\":\"%s\",\"mesh\":%d,\"skin\":0}", i ? "," : "", rigged->mesh[i].name, i);
    for (int32_t j = 0; j < rigged->joint_count; j++) {
        const spl_rigged_joint *joint = &rigged->joint[j];
        text_add(&g->nodes, ",{\"name\":\"%s\",\"translation\":", joint->name);
        text_numbers(&g->nodes, (const double[3]){joint->t.x, joint->t.y, joint->t.z}, 3);
        text_add(&g->nodes, ",\"rotation\":");
        text_numbers(&g->nodes, joint->r, 4);
        const char *before = ",\"children\":[";
        for (int32_t child = j + 1; child < rigged->joint_count; child++)
            if (rigged->joint[child].parent == j) {
                text_add(&g->nodes, "%s%d", before, rigged->mesh_count + child);
                before = ",";
            }
        text_add(&g->nodes, "%s}", before[1] ? "" : "]");
    }
}

/* The bind pose is the rest pose. */
static int32_t add_inverse_binds(glb *g)
{
    spl_mat4 world[SPL_RIGGED_JOINTS];
    float inverse[SPL_RIGGED_JOINTS * 16];
    spl_rigged_pose(g->rigged, NULL, 0, world);
    for (int32_t j = 0; j < g->rigged->joint_count; j++) {
        spl_mat4 m = spl_mat4_identity();
        spl_mat4_inverse(&world[j], &m); /* rigid, so never singular */
        for (int i = 0; i < 16; i++) inverse[16 * j + i] = (float)m.m[i];
    }
    return add_accessor(g, inverse, (size_t)g->rigged->joint_count, 16, TYPE_FLOAT, TARGET_NONE);
}

/* Whether a channel ever leaves the joint's rest value. */
static bool moves(const float *value, int32_t key_count, int width, const double *rest)
{
    for (int32_t k = 0; k < key_count; k++)
        for (int i = 0; i < width; i++)
            if (value[k * width + i] != (float)rest[i]) return true;
    return false;
}

/* One animation: all channels share the key times. */
static void add_clip(glb *g, const spl_rigged_clip *clip)
{
    const spl_rigged *rigged = g->rigged;
    blob times = {.allocator = g->bin.allocator}, channels = {.allocator = g->bin.allocator};
    for (int32_t k = 0; k < clip->key_count; k++) blob_add(&times, &(float){(float)(k / clip->fps)}, sizeof(float));
    if (times.failed) {
        g->bin.failed = true;
        return;
    }
    int32_t input = add_bounded(g, (const float *)(const void *)times.data, (size_t)clip->key_count, 1, TARGET_NONE);
    text_add(&g->animations, "%s{\"name\":\"%s\",\"samplers\":[", g->animations.size ? "," : "", clip->name);
    int32_t sampler = 0;
    for (int32_t j = 0; j < rigged->joint_count; j++)
        for (int path = 0; path < 2; path++) {
            const spl_rigged_joint *joint = &rigged->joint[j];
            int width = path ? 3 : 4;
            const float *value = (path ? clip->translation : clip->rotation) + j * clip->key_count * width;
            const double t[3] = {joint->t.x, joint->t.y, joint->t.z};
            if (!moves(value, clip->key_count, width, path ? t : joint->r)) continue;
            int32_t output = add_accessor(g, value, (size_t)clip->key_count, width, TYPE_FLOAT, TARGET_NONE);
            text_add(&g->animations, "%s{\"input\":%d,\"output\":%d}", sampler ? "," : "", input, output);
            text_add(&channels, "%s{\"sampler\":%d,\"target\":{\"node\":%d,\"path\":\"%s\"}}", sampler ? "," : "",
                     sampler, rigged->mesh_count + j, path ? "translation" : "rotation");
            sampler++;
        }
    text_add(&g->animations, "],\"channels\":[");
    blob_add(&g->animations, channels.data, channels.size);
    text_add(&g->animations, "]}");
    g->animations.failed |= channels.failed;
    spl_free(times.allocator, times.data);
    spl_free(channels.allocator, channels.data);
}

/* Materials; the k-th texture uses the k-th image, both in the materials' order. */
static void add_materials(glb *g)
{
    const spl_rigged *rigged = g->rigged;
    int32_t textures = 0;
    blob images = {.allocator = g->bin.allocator};
    for (int32_t i = 0; i < rigged->material_count; i++) {
        const spl_rigged_material *m = &rigged->material[i];
        double color[4] = {(double)m->base_color[0], (double)m->base_color[1], (double)m->base_color[2],
                           (double)m->base_color[3]};
        text_add(&g->json,
                 "%s{\"name\":\"%s\",\"pbrMetallicRoughness\":{\"baseColorFactor\":", i ? "," : ",\"materials\":[",
                 m->name);
        text_numbers(&g->json, color, 4);
        if (m->png) {
            int32_t view = add_view(g, m->png, m->png_size, TARGET_NONE);
            text_add(&images, "%s{\"bufferView\":%d,\"mimeType\":\"image/png\"}", textures ? "," : "", view);
            text_add(&g->json, ",\"baseColorTexture\":{\"index\":%d}", textures++);
        }
        text_add(&g->json, ",\"metallicFactor\":0}}");
    }
    if (rigged->material_count) text_add(&g->json, "]");
    if (textures) {
        text_add(&g->json, ",\"textures\":[");
        for (int32_t i = 0; i < textures; i++) text_add(&g->json, "%s{\"source\":%d}", i ? "," : "", i);
        text_add(&g->json, "],\"images\":[");
        blob_add(&g->json, images.data, images.size);
        text_add(&g->json, "]");
    }
    g->json.failed |= images.failed;
    spl_free(images.allocator, images.data);
}

static void add_list(glb *g, const char *name, const blob *list)
{
    g->json.failed |= list->failed;
    text_add(&g->json, ",\"%s\":[", name);
    blob_add(&g->json, list->data, list->size);
    text_add(&g->json, "]");
}

static void describe(glb *g)
{
    const spl_rigged *rigged = g->rigged;
    for (int32_t i = 0; i < rigged->mesh_count; i++) add_mesh(g, &rigged->mesh[i]);
    for (int32_t i = 0; i < rigged->clip_count; i++) add_clip(g, &rigged->clip[i]);
    add_nodes(g);
    int32_t binds = add_inverse_binds(g);
    text_add(&g->json, "{\"asset\":{\"version\":\"2.0\",\"generator\":\"supple %s\"},\"scene\":0", SUPPLE_VERSION);
    text_add(&g->json, ",\"scenes\":[{\"name\":\"%s\",\"nodes\":[", rigged->name);
    for (int32_t i = 0; i < rigged->mesh_count; i++) text_add(&g->json, "%d,", i);
    text_add(&g->json, "%d]}]", rigged->mesh_count);
    add_list(g, "nodes", &g->nodes);
    add_list(g, "meshes", &g->meshes);
    text_add(&g->json, ",\"skins\":[{\"name\":\"%s\",\"skeleton\":%d,\"inverseBindMatrices\":%d,\"joints\":[",
             rigged->name, rigged->mesh_count, binds);
    for (int32_t j = 0; j < rigged->joint_count; j++) text_add(&g->json, "%s%d", j ? "," : "", rigged->mesh_count + j);
    text_add(&g->json, "]}]");
    if (rigged->clip_count) add_list(g, "animations", &g->animations);
    add_materials(g);
    add_list(g, "accessors", &g->accessors);
    add_list(g, "bufferViews", &g->views);
    text_add(&g->json, ",\"buffers\":[{\"byteLength\":%zu}]}", g->bin.size);
    while (!g->json.failed && g->json.size % 4) text_add(&g->json, " ");
}

/* The GLB container: a header and two chunks (glTF 2.0, section 4.4). */
static void assemble(const glb *g, blob *file)
{
    uint32_t head[5] = {0x46546C67, 2, (uint32_t)(28 + g->json.size + g->bin.size), (uint32_t)g->json.size, 0x4E4F534A};
    uint32_t chunk[2] = {(uint32_t)g->bin.size, 0x004E4942};
    blob_add(file, head, sizeof head);
    blob_add(file, g->json.data, g->json.size);
    blob_add(file, chunk, sizeof chunk);
    blob_add(file, g->bin.data, g->bin.size);
}

supple_result spl_rigged_write(const spl_rigged *rigged, uint8_t **data, size_t *size, supple_error *error)
{
    const supple_allocator *a = &rigged->allocator;
    glb g = {.rigged = rigged};
    blob *part[] = {&g.bin, &g.views, &g.accessors, &g.meshes, &g.nodes, &g.animations, &g.json};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) part[i]->allocator = a;
    blob file = {.allocator = a};
    *data = NULL;
    *size = 0;
    describe(&g);
    supple_result result = SUPPLE_OK;
    if (g.bin.failed || g.json.failed)
        result = spl_fail_memory(error, "a character's file");
    else if (g.json.size + g.bin.size > UINT32_MAX - 28)
        result = spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: larger than a .glb can be; use less detail", rigged->name);
    else
        assemble(&g, &file);
    if (file.failed) result = spl_fail_memory(error, "a character's file");
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) spl_free(a, part[i]->data);
    if (result != SUPPLE_OK) {
        spl_free(a, file.data);
        return result;
    }
    *data = file.data;
    *size = file.size;
    return SUPPLE_OK;
}
