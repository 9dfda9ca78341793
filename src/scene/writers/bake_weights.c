/* A document whose skins stay and whose weights are new. */
#include "core/error.h"
#include "core/memory.h"
#include "scene/document.h"
#include "scene/writers/new_weights.h"

#include <stdio.h>
#include <string.h>

supple_result spl_new_weights_create(const supple_scene *scene, int32_t influences, const supple_allocator *a,
                                     spl_new_weights *out, supple_error *error)
{
    size_t n = (size_t)scene->vertex_count, K = (size_t)influences;
    *out = (spl_new_weights){.allocator = *a, .influences = influences};
    out->joint = spl_new(a, n, K * sizeof *out->joint);
    out->weight = spl_new(a, n, K * sizeof *out->weight);
    out->changed = spl_new(a, n, sizeof *out->changed);
    if (out->joint && out->weight && out->changed) return SUPPLE_OK;
    spl_new_weights_release(out);
    return spl_fail_memory(error, "the new weights");
}

void spl_new_weights_release(spl_new_weights *w)
{
    if (!w->allocator.release) return;
    spl_free(&w->allocator, w->joint);
    spl_free(&w->allocator, w->weight);
    spl_free(&w->allocator, w->changed);
    *w = (spl_new_weights){0};
}

/* The instance whose weights a mesh takes: the first that is skinned; -1 if there is none, or if another one's skin has
 * other joints. */
static int32_t teller(const spl_bake *b, int32_t mesh)
{
    const supple_scene *scene = b->scene;
    int32_t found = -1;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_instance *in = &scene->instance[i];
        if (in->mesh != mesh || in->skin < 0) continue;
        if (found < 0) found = i;
        const spl_skin *mine = &scene->skin[scene->instance[found].skin], *other = &scene->skin[in->skin];
        if (mine->joint_count == other->joint_count &&
            !memcmp(mine->joint, other->joint, (size_t)mine->joint_count * sizeof *mine->joint))
            continue;
        spl_log(&b->writer->config, SUPPLE_LOG_WARNING,
                "mesh '%.60s' has skins with different joints: it keeps its weights", scene->mesh[mesh].name);
        return -1;
    }
    return found;
}

/* What a primitive's vertices get: their new weights, or the file's own made as narrow. */
typedef struct rows {
    const spl_new_weights *w;
    const spl_primitive *p;
    size_t first; /* its first vertex in the scene */
    size_t K;
} rows;

static void row_of(const rows *r, size_t v, uint16_t *joint, float *weight)
{
    size_t at = (r->first + v) * r->K, own = (size_t)r->p->influence_count;
    double sum = 0;
    if (r->w->changed[r->first + v]) {
        memcpy(joint, r->w->joint + at, r->K * sizeof *joint);
        memcpy(weight, r->w->weight + at, r->K * sizeof *weight);
        return;
    }
    for (size_t k = 0; k < r->K; k++) { /* the file's are in descending order */
        joint[k] = k < own ? r->p->joint[v * own + k] : 0;
        weight[k] = k < own ? r->p->weight[v * own + k] : 0;
        sum += (double)weight[k];
    }
    for (size_t k = 0; sum > 0 && k < r->K; k++) weight[k] = (float)((double)weight[k] / sum);
}

static void add_set(spl_bake *b, json_t *attributes, const rows *r, size_t set)
{
    size_t n = (size_t)r->p->vertex_count;
    uint16_t *joint = spl_new(&b->allocator, n, 4 * sizeof *joint), row_joint[8];
    float *weight = spl_new(&b->allocator, n, 4 * sizeof *weight), row_weight[8];
    char name[24];
    if (!joint || !weight) b->failed = true;
    for (size_t v = 0; joint && weight && v < n; v++) {
        row_of(r, v, row_joint, row_weight);
        memcpy(joint + 4 * v, row_joint + 4 * set, 4 * sizeof *joint);
        memcpy(weight + 4 * v, row_weight + 4 * set, 4 * sizeof *weight);
    }
    int32_t joints = joint && weight ? spl_bake_shorts(b, joint, n) : -1;
    int32_t weights = joints >= 0 ? spl_bake_floats(b, weight, n, "VEC4", false, true) : -1;
    if (weights < 0) b->failed = true;
    snprintf(name, sizeof name, "JOINTS_%zu", set);
    if (weights >= 0) spl_bake_set(b, attributes, name, json_integer(joints));
    snprintf(name, sizeof name, "WEIGHTS_%zu", set);
    if (weights >= 0) spl_bake_set(b, attributes, name, json_integer(weights));
    spl_free(&b->allocator, joint);
    spl_free(&b->allocator, weight);
}

/* Whether any vertex has more influences than the first set holds. */
static bool needs_second(const rows *r)
{
    uint16_t joint[8];
    float weight[8];
    for (size_t v = 0; r->K > 4 && v < (size_t)r->p->vertex_count; v++) {
        row_of(r, v, joint, weight);
        if (weight[4] > 0) return true;
    }
    return false;
}

static bool changes(const spl_new_weights *w, size_t first, int32_t count)
{
    for (size_t v = first; v < first + (size_t)count; v++)
        if (w->changed[v]) return true;
    return false;
}

typedef void visit_fn(spl_bake *b, json_t *attributes, const rows *r);

static void drop_old(spl_bake *b, json_t *attributes, const rows *r)
{
    const char *key;
    json_t *value;
    void *next;
    (void)b;
    (void)r;
    json_object_foreach_safe(attributes, next, key, value)
    {
        if (strncmp(key, "JOINTS_", 7) == 0 || strncmp(key, "WEIGHTS_", 8) == 0) json_object_del(attributes, key);
    }
}

static void add_new(spl_bake *b, json_t *attributes, const rows *r)
{
    add_set(b, attributes, r, 0);
    if (needs_second(r)) add_set(b, attributes, r, 1);
}

/* Visits the primitives with new weights. */
static void for_changed(spl_bake *b, const spl_new_weights *w, const int32_t *tellers, visit_fn *visit)
{
    json_t *meshes = json_object_get(b->root, "meshes");
    for (int32_t m = 0; m < b->scene->mesh_count; m++) {
        const spl_mesh *mesh = &b->scene->mesh[m];
        size_t first = tellers[m] < 0 ? 0 : (size_t)b->scene->instance[tellers[m]].first_vertex;
        json_t *primitives = json_object_get(json_array_get(meshes, (size_t)m), "primitives");
        for (int32_t k = 0; tellers[m] >= 0 && k < mesh->primitive_count; k++) {
            rows r = {w, &mesh->primitive[k], first, (size_t)w->influences};
            json_t *attributes = json_object_get(json_array_get(primitives, (size_t)k), "attributes");
            first += (size_t)r.p->vertex_count;
            if (attributes && r.p->influence_count > 0 && changes(w, r.first, r.p->vertex_count))
                visit(b, attributes, &r);
        }
    }
}

supple_result spl_bake_weights(spl_bake *b, const supple_writer *writer, const spl_new_weights *weights,
                               supple_error *error)
{
    b->allocator = writer->allocator;
    b->writer = writer;
    b->scene = writer->scene;
    b->root = json_deep_copy(b->scene->document->json);
    int32_t *tellers = spl_new(&b->allocator, (size_t)b->scene->mesh_count, sizeof *tellers);
    supple_result result = b->root && tellers ? SUPPLE_OK : spl_fail_memory(error, "the output's document");
    if (result == SUPPLE_OK) {
        for (int32_t m = 0; m < b->scene->mesh_count; m++) tellers[m] = teller(b, m);
        for_changed(b, weights, tellers, drop_old);
        result = spl_bake_carry(b, error);
    }
    if (result == SUPPLE_OK) {
        for_changed(b, weights, tellers, add_new);
        spl_bake_finish(b);
    }
    spl_free(&b->allocator, tellers);
    return result == SUPPLE_OK && b->failed ? spl_fail_memory(error, "the output's document") : result;
}
