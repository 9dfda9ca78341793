/* The way back from the body to the visual mesh. */
#include "body/body_visual.h"

#include "body/body_cache.h"
#include "core/error.h"
#include "core/memory.h"

#define SAME_LIMB 0.05 /* of the weights that two places must share to be one limb */

/* Whether the skin of a visual vertex and the limb of a body vertex follow the same joints at least a little. Places
 * deep inside belong to every limb. */
static bool shares_joints(const void *context, int32_t visual, int32_t tet_vertex)
{
    const spl_body *body = context;
    const spl_skin_weights *w = &body->weights;
    const spl_place *at = &body->place[tet_vertex];
    int32_t own = body->surface.map[visual];
    if (at->triangle < 0 || own < 0) return true;
    double shared = 0;
    for (int32_t i = w->first[own]; i < w->first[own + 1]; i++) {
        double there = 0;
        for (int k = 0; k < 3; k++) {
            int32_t corner = body->surface.triangle[3 * (size_t)at->triangle + (size_t)k];
            for (int32_t j = w->first[corner]; j < w->first[corner + 1]; j++)
                if (w->node[j] == w->node[i]) there += at->bary[k] * w->weight[j];
        }
        shared += fmin(there, w->weight[i]);
    }
    return shared >= SAME_LIMB;
}

/* The visual vertices with what the upsampling must know of them; those that are neither flesh nor follow are left out
 * by positions that are not numbers. */
typedef struct visual_arrays {
    float *position, *normal;
    bool *follow, *morphs;
    int32_t *triangle;
    int32_t triangle_count;
} visual_arrays;

/* The vertices that a morph target moves or turns. */
static void mark(const spl_target *target, size_t vertex_count, bool *morphs)
{
    for (size_t k = 0; k < 3 * vertex_count; k++)
        if ((target->position && target->position[k] != 0) || (target->normal && target->normal[k] != 0))
            morphs[k / 3] = true;
}

static void fill_visual(const spl_body *body, visual_arrays *v)
{
    for (int32_t i = 0; i < body->part_count; i++) {
        const spl_part *part = &body->part[i];
        const spl_primitive *p = part->primitive;
        supple_role role = body->role[i].role;
        bool rides = role == SUPPLE_ROLE_FLESH || role == SUPPLE_ROLE_FOLLOW;
        size_t first = 3 * (size_t)part->first_vertex, n = (size_t)p->vertex_count;
        for (size_t k = 0; k < 3 * n; k++) {
            v->position[first + k] = rides ? body->bind[first + k] : NAN;
            v->normal[first + k] = p->normal ? p->normal[k] : 0;
        }
        for (size_t k = 0; k < n; k++) v->follow[(size_t)part->first_vertex + k] = role == SUPPLE_ROLE_FOLLOW;
        for (size_t k = 0; rides && k < 3 * (size_t)p->triangle_count; k++)
            v->triangle[3 * (size_t)v->triangle_count + k] = p->triangle[k] + part->first_vertex;
        if (rides) v->triangle_count += p->triangle_count;
        for (int32_t t = 0; rides && t < p->target_count; t++) mark(&p->target[t], n, v->morphs + part->first_vertex);
    }
}

static bool allocate_visual(visual_arrays *v, const supple_scene *scene, const supple_allocator *a)
{
    size_t n = (size_t)scene->vertex_count;
    v->position = spl_new(a, n, 3 * sizeof *v->position);
    v->normal = spl_new(a, n, 3 * sizeof *v->normal);
    v->follow = spl_new(a, n, sizeof *v->follow);
    v->morphs = spl_new(a, n, sizeof *v->morphs);
    v->triangle = spl_new(a, (size_t)scene->triangle_count, 3 * sizeof *v->triangle);
    return v->position && v->normal && v->follow && v->morphs && v->triangle;
}

static void release_visual(visual_arrays *v, const supple_allocator *a)
{
    spl_free(a, v->position);
    spl_free(a, v->normal);
    spl_free(a, v->follow);
    spl_free(a, v->morphs);
    spl_free(a, v->triangle);
}

/* All that shares_joints asks. */
static spl_digest digest_of_joints(const spl_body *body)
{
    const spl_surface *s = &body->surface;
    const spl_skin_weights *w = &body->weights;
    size_t n = (size_t)s->vertex_count;
    spl_digest d = spl_digest_begin();
    spl_digest_array(&d, s->map, (size_t)s->input_vertex_count, sizeof *s->map);
    spl_digest_array(&d, s->triangle, 3 * (size_t)s->triangle_count, sizeof *s->triangle);
    spl_digest_array(&d, w->first, n + 1, sizeof *w->first);
    spl_digest_array(&d, w->node, (size_t)w->first[n], sizeof *w->node);
    spl_digest_array(&d, w->weight, (size_t)w->first[n], sizeof *w->weight);
    for (int32_t v = 0; v < body->tets.vertex_count; v++) { /* one by one: the struct has a gap */
        spl_digest_integer(&d, body->place[v].triangle);
        spl_digest_array(&d, body->place[v].bary, 3, sizeof body->place[v].bary[0]);
    }
    return d;
}

supple_result spl_body_find_visual(spl_body *body, supple_upsampling upsampling, spl_cache *cache, spl_pool *pool,
                                   supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    const spl_tets *t = &body->tets;
    supple_result result = spl_surface_make((const double *)t->position, t->vertex_count, t->surface, t->surface_count,
                                            a, &body->skin, error);
    if (result != SUPPLE_OK) return result;
    visual_arrays v = {0};
    if (allocate_visual(&v, body->scene, a)) {
        fill_visual(body, &v);
        spl_upsample_visual visual = {.vertex_count = body->scene->vertex_count,
                                      .position = v.position,
                                      .normal = v.normal,
                                      .triangle_count = v.triangle_count,
                                      .triangle = v.triangle,
                                      .follow = v.follow,
                                      .morphs = v.morphs,
                                      .accept = shares_joints,
                                      .accept_context = body};
        spl_upsample_options options = spl_upsample_options_default();
        body->upsampling = upsampling;
        if (upsampling == SUPPLE_UPSAMPLE_NORMAL) options.kind = SPL_UPSAMPLE_ALONG_NORMAL;
        spl_digest joints = digest_of_joints(body);
        result = spl_upsample_cached(cache, &joints, &body->skin, &visual, &options, pool, a, &body->upsample, error);
    } else
        result = spl_fail_memory(error, "the visual mesh");
    release_visual(&v, a);
    return result;
}
