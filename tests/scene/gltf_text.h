/* Shared by the reader's tests: handmade files, an allocator that counts and can fail, a check that a scene holds
 * together. */
#ifndef SPL_TESTS_SCENE_GLTF_TEXT_H
#define SPL_TESTS_SCENE_GLTF_TEXT_H

#include "scene/readers/gltf.h"
#include "scene/scene.h"
#include "test.h"

#include <malloc.h>

/* Counts live blocks and bytes; fails the fail_at-th call if asked to. */
typedef struct meter {
    size_t calls, live, bytes, peak_bytes;
    bool fail;
    size_t fail_at;
} meter;

static bool meter_fails(meter *m)
{
    return m->calls++ == m->fail_at && m->fail;
}

static void meter_count(meter *m, void *block)
{
    m->bytes += malloc_usable_size(block);
    if (m->bytes > m->peak_bytes) m->peak_bytes = m->bytes;
}

static void *meter_allocate(void *user, size_t size)
{
    meter *m = user;
    void *block = meter_fails(m) ? NULL : malloc(size);
    if (!block) return NULL;
    m->live++;
    meter_count(m, block);
    return block;
}

static void *meter_reallocate(void *user, void *block, size_t size)
{
    meter *m = user;
    if (!block) return meter_allocate(user, size);
    if (meter_fails(m)) return NULL;
    size_t before = malloc_usable_size(block);
    void *moved = realloc(block, size);
    if (!moved) return NULL;
    m->bytes -= before;
    meter_count(m, moved);
    return moved;
}

static void meter_release(void *user, void *block)
{
    meter *m = user;
    if (!block) return;
    m->live--;
    m->bytes -= malloc_usable_size(block);
    free(block);
}

static inline supple_config metered(meter *m)
{
    supple_config config = supple_config_default();
    config.allocator = (supple_allocator){meter_allocate, meter_reallocate, meter_release, m};
    return config;
}

static inline bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static inline bool primitive_holds(const supple_scene *scene, const spl_primitive *p, int32_t joint_count)
{
    size_t n = (size_t)p->vertex_count, K = (size_t)p->influence_count;
    if (n && !all_finite(p->position, 3 * n)) return false;
    if (p->normal && !all_finite(p->normal, 3 * n)) return false;
    if (p->uv && !all_finite(p->uv, 2 * n)) return false;
    if (p->material < -1 || p->material >= scene->material_count) return false;
    for (int32_t i = 0; i < 3 * p->triangle_count; i++)
        if (p->triangle[i] < 0 || p->triangle[i] >= p->vertex_count) return false;
    for (size_t v = 0; K && v < n; v++) {
        double sum = 0;
        for (size_t k = 0; k < K; k++) {
            float w = p->weight[v * K + k];
            if (!(w >= 0) || (k && w > p->weight[v * K + k - 1])) return false;
            if (joint_count >= 0 && p->joint[v * K + k] >= joint_count) return false;
            if (w == 0 && p->joint[v * K + k] != 0) return false;
            sum += (double)w;
        }
        if (fabs(sum - 1) > 1e-5) return false;
    }
    for (int32_t t = 0; t < p->target_count; t++)
        if (p->target[t].position && !all_finite(p->target[t].position, 3 * n)) return false;
    return true;
}

static inline bool clip_holds(const supple_scene *scene, const spl_clip *clip)
{
    for (int32_t i = 0; i < clip->channel_count; i++) {
        const spl_channel *c = &clip->channel[i];
        size_t block = (size_t)c->width * (c->interpolation == SPL_CUBIC ? 3 : 1);
        if (c->node < 0 || c->node >= scene->node_count || c->key_count < 1 || c->width < 1) return false;
        if (c->path == SPL_PATH_WEIGHTS && c->width != scene->node[c->node].weight_count) return false;
        if (!(c->time[0] >= 0) || !all_finite(c->value, (size_t)c->key_count * block)) return false;
        for (int32_t k = 1; k < c->key_count; k++)
            if (!(c->time[k] > c->time[k - 1])) return false;
        if ((double)c->time[c->key_count - 1] > clip->duration) return false;
    }
    return clip->name && clip->name[0];
}

/* Everything that scene.h promises about a loaded scene. */
static inline void check_scene(const supple_scene *scene)
{
    int32_t vertex = 0;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_instance *in = &scene->instance[i];
        const spl_mesh *mesh = &scene->mesh[in->mesh];
        CHECK(in->first_vertex == vertex && scene->node[in->node].mesh == in->mesh);
        vertex += in->vertex_count;
        for (int32_t k = 0; k < mesh->primitive_count; k++)
            CHECK(primitive_holds(scene, &mesh->primitive[k], in->skin < 0 ? -1 : scene->skin[in->skin].joint_count));
    }
    CHECK(vertex == scene->vertex_count);
    for (int32_t i = 0; i < scene->node_count; i++) {
        int32_t k = scene->node_order[i], parent = scene->node[k].parent;
        bool before = parent < 0;
        for (int32_t j = 0; !before && j < i; j++) before = scene->node_order[j] == parent;
        CHECK(before);
    }
    for (int32_t i = 0; i < scene->clip_count; i++) CHECK(clip_holds(scene, &scene->clip[i]));
    for (int32_t i = 0; i < scene->skin_count; i++)
        for (int32_t k = 0; k < scene->skin[i].joint_count; k++)
            CHECK(scene->skin[i].joint[k] >= 0 && scene->skin[i].joint[k] < scene->node_count);
}

/* ---- handmade files ---------------------------------------------------------------------------------------------- */

static inline size_t base64_encode(const void *bytes, size_t size, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = bytes;
    size_t n = 0;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = (uint32_t)p[i] << 16;
        if (i + 1 < size) bits |= (uint32_t)p[i + 1] << 8;
        if (i + 2 < size) bits |= p[i + 2];
        for (size_t k = 0; k < 4; k++) out[n++] = i + k > size ? '=' : digits[bits >> (18 - 6 * k) & 63];
    }
    out[n] = '\0';
    return n;
}

enum { TEXT_SIZE = 1 << 16 };

/* A .gltf with `bytes` as its buffer 0 and `rest` (more top-level keys, with ' for ") behind it. Returns its length. */
static inline size_t make_text(const void *bytes, size_t size, const char *rest, char text[TEXT_SIZE])
{
    size_t n =
        (size_t)sprintf(text, "{'asset':{'version':'2.0'},'buffers':[{'byteLength':%zu,'uri':'data:;base64,", size);
    n += base64_encode(bytes, size, text + n);
    n += (size_t)snprintf(text + n, TEXT_SIZE - n, "'}]%s%s}", rest[0] ? "," : "", rest);
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\'') text[i] = '"';
    return n;
}

static inline supple_result load_text_with(const supple_config *config, const void *bytes, size_t size,
                                           const char *rest, supple_scene **scene, supple_error *error)
{
    static char text[TEXT_SIZE];
    size_t n = make_text(bytes, size, rest, text);
    return supple_scene_load_memory(text, n, "handmade", config, scene, error);
}

/* Loads it; NULL with a failed check and the message if that fails. */
static inline supple_scene *load_text(const void *bytes, size_t size, const char *rest)
{
    supple_scene *scene;
    supple_error error = {0};
    supple_result result = load_text_with(NULL, bytes, size, rest, &scene, &error);
    if (result) printf("    %s\n", error.message);
    CHECK(result == SUPPLE_OK);
    if (scene) check_scene(scene);
    return scene;
}

/* Whether it is refused as bad input, with a message that contains `word`, without leak and within bounds. */
static inline bool refused(const void *bytes, size_t size, const char *rest, const char *word)
{
    meter m = {0};
    supple_config config = metered(&m);
    supple_scene *scene;
    supple_error error = {0};
    supple_result result = load_text_with(&config, bytes, size, rest, &scene, &error);
    bool ok = result == SUPPLE_ERROR_INPUT && !scene && strstr(error.message, word) &&
              strncmp(error.message, "handmade: ", 10) == 0;
    if (!ok) printf("    result %d: %s\n", (int)result, error.message);
    supple_scene_destroy(scene);
    return ok && m.live == 0 && m.peak_bytes < (size_t)500 << 20;
}

static inline bool warned(const supple_scene *scene, const char *word)
{
    for (int32_t i = 0; i < scene->warning_count; i++)
        if (strstr(scene->warning[i], word)) return true;
    printf("    no warning of '%s'\n", word);
    return false;
}

#endif
