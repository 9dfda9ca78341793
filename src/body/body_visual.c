/* The way back from the body to the visual mesh. */
#include "body/body_visual.h"

#include "body/body_cache.h"
#include "body/strays.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/winding.h"

#include <string.h>

#define SAME_LIMB   0.05 /* of the weights that two places must share to be one limb */
#define PATCH_EDGES 2.37 /* half the width of a patch of 20 vertices, in mean edges */
#define BURIED      1.00 /* mean edges from the body's surface: nobody sees what is so far inside */
#define OUTWARD     1e-3 /* of the diagonal: how far above the flesh's surface its outside is asked for */

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

/* The visual vertices with what the upsampling must know of them; those that are not upsampled are left out by
 * positions that are not numbers. */
typedef struct visual_arrays {
    float *position, *normal;
    bool *morphs, *rides;
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

/* Whether the flesh's surface goes on inside other flesh at a visual vertex: outside of it is inside. Not so where the
 * body was only grown beyond the surface, as it is around fingers. */
static bool goes_inside(const spl_body *body, const spl_winding *flesh, int32_t vertex, spl_vec3 p)
{
    int32_t at = body->surface.map[vertex];
    if (at < 0) return false;
    return spl_winding_number(flesh, spl_madd(p, body->surface.normal[at], OUTWARD * body->surface.diagonal)) > 0.5;
}

/* Flesh farther from the body's surface than a patch of it is wide rides on it instead: a polynomial of the patch would
 * be extrapolated. So does what is buried in it, as the end of an arm is in the trunk: one side of it would hang on the
 * chest, the other on the back. */
static void find_lifted(spl_body *body, const spl_tree *skin, const spl_winding *flesh, bool *rides)
{
    double edge = spl_surface_mean_edge(&body->skin);
    for (int32_t v = 0; v < body->scene->vertex_count; v++) {
        spl_hit hit;
        spl_vec3 p = spl_v3_from_float(body->bind + 3 * (size_t)v);
        supple_role role = (supple_role)body->roles.vertex[v];
        body->lifted[v] = role == SUPPLE_ROLE_FLESH && spl_tree_nearest(skin, p, PATCH_EDGES * edge, -1, &hit) &&
                          (hit.distance <= BURIED * edge || !goes_inside(body, flesh, v, p));
        rides[v] = !body->lifted[v] && spl_role_rides(role);
    }
}

static supple_result choose_lifted(spl_body *body, bool *rides, supple_error *error)
{
    const spl_surface *s = &body->skin, *f = &body->surface;
    const supple_allocator *a = &body->allocator;
    spl_tree skin = {0}, tree = {0};
    spl_winding winding = {0};
    supple_result result = spl_tree_make(s->position, s->triangle, s->triangle_count, a, &skin, error);
    if (result == SUPPLE_OK) result = spl_tree_make(f->position, f->triangle, f->triangle_count, a, &tree, error);
    if (result == SUPPLE_OK) result = spl_winding_make(&tree, a, &winding, error);
    if (result == SUPPLE_OK) {
        find_lifted(body, &skin, &winding, rides);
        spl_winding_release(&winding);
    }
    if (tree.allocator.release) spl_tree_release(&tree);
    if (skin.allocator.release) spl_tree_release(&skin);
    return result;
}

static void fill_visual(const spl_body *body, visual_arrays *v)
{
    for (int32_t i = 0; i < body->part_count; i++) {
        const spl_part *part = &body->part[i];
        const spl_primitive *p = part->primitive;
        const bool *lifted = body->lifted + part->first_vertex;
        size_t first = 3 * (size_t)part->first_vertex, n = (size_t)p->vertex_count;
        for (size_t k = 0; k < 3 * n; k++) {
            v->position[first + k] = lifted[k / 3] ? body->bind[first + k] : NAN;
            v->normal[first + k] = p->normal ? p->normal[k] : 0;
        }
        for (size_t t = 0; t < (size_t)p->triangle_count; t++) {
            const int32_t *c = p->triangle + 3 * t;
            if (!lifted[c[0]] || !lifted[c[1]] || !lifted[c[2]]) continue;
            for (size_t k = 0; k < 3; k++) v->triangle[3 * (size_t)v->triangle_count + k] = c[k] + part->first_vertex;
            v->triangle_count++;
        }
        for (int32_t t = 0; t < p->target_count; t++) mark(&p->target[t], n, v->morphs + part->first_vertex);
    }
}

static bool allocate_visual(visual_arrays *v, const supple_scene *scene, const supple_allocator *a)
{
    size_t n = (size_t)scene->vertex_count;
    v->position = spl_new(a, n, 3 * sizeof *v->position);
    v->normal = spl_new(a, n, 3 * sizeof *v->normal);
    v->morphs = spl_new(a, n, sizeof *v->morphs);
    v->rides = spl_new(a, n, sizeof *v->rides);
    v->triangle = spl_new(a, (size_t)scene->triangle_count, 3 * sizeof *v->triangle);
    return v->position && v->normal && v->morphs && v->rides && v->triangle;
}

static void release_visual(visual_arrays *v, const supple_allocator *a)
{
    spl_free(a, v->position);
    spl_free(a, v->normal);
    spl_free(a, v->rides);
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
    body->lifted = spl_new(a, (size_t)body->scene->vertex_count, sizeof *body->lifted);
    if (body->lifted && allocate_visual(&v, body->scene, a)) {
        result = choose_lifted(body, v.rides, error);
        if (result != SUPPLE_OK) {
            release_visual(&v, a);
            return result;
        }
        fill_visual(body, &v);
        spl_upsample_visual visual = {.vertex_count = body->scene->vertex_count,
                                      .position = v.position,
                                      .normal = v.normal,
                                      .triangle_count = v.triangle_count,
                                      .triangle = v.triangle,
                                      .morphs = v.morphs,
                                      .accept = shares_joints,
                                      .accept_context = body};
        spl_upsample_options options = spl_upsample_options_default();
        body->upsampling = upsampling;
        if (upsampling == SUPPLE_UPSAMPLE_NORMAL) options.kind = SPL_UPSAMPLE_ALONG_NORMAL;
        spl_digest joints = digest_of_joints(body);
        result = spl_upsample_cached(cache, &joints, &body->skin, &visual, &options, pool, a, &body->upsample, error);
        bool *stray = v.morphs; /* done with */
        memset(stray, 0, (size_t)body->scene->vertex_count * sizeof *stray);
        if (result == SUPPLE_OK) result = spl_strays_find(body, stray, &body->stray_count, error);
        if (result == SUPPLE_OK) result = spl_riders_make(body, v.rides, stray, &body->riders, error);
    } else
        result = spl_fail_memory(error, "the visual mesh");
    release_visual(&v, a);
    return result;
}
