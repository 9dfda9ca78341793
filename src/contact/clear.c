#include "contact/clear.h"

#include "contact/barrier_private.h"
#include "contact/fold.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/pairs.h"
#include "geom/tree.h"
#include "math/svd3.h"

#include <math.h>
#include <string.h>

static const double WIDTH = 1e-4; /* of the body's diagonal: a quarter of it is kept free */

enum { MARGIN = 2 }; /* rings of what may move around what crosses */

struct spl_clear {
    supple_allocator allocator;
    const spl_solid *solid;
    spl_barrier_surface surface;
    double *rest, *stiffness, *reach;
    bool *fixed;
    int32_t *bone, *edge, *point;
    spl_barrier *barrier;
    double *whole;               /* bones x bones: 1 */
    double *y;                   /* 3 x vertices: the last frame's places */
    double *goal;                /* the present frame's, by upsampling */
    double *last;                /* those of the last frame */
    double *before;              /* y as the last frame left it */
    bool *marked;                /* by vertex: crosses, and what is around it */
    bool *wider;                 /* the same: room */
    bool *left;                  /* the same: has no start without crossings, and is at its goal */
    const int32_t *next, *first; /* neighbours of v: next[first[v]] to next[first[v + 1]] */
    spl_pool *pool;
    bool has_last; /* y and last are a frame's */
};

/* ---- creation ---- */

/* A vertex belongs to the bone of the body's nearest vertex. */
static supple_result find_bones(spl_clear *c, supple_error *error)
{
    const spl_tets *t = &c->solid->body->tets;
    const spl_bone_weights *w = &c->solid->weights;
    spl_tree tree;
    supple_result result = spl_tree_make((const spl_vec3 *)(const void *)c->solid->drive.rest, t->surface,
                                         t->surface_count, &c->allocator, &tree, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t v = 0; v < c->surface.own_count; v++) {
        const double *p = c->rest + 3 * (size_t)v;
        spl_hit hit;
        if (!spl_tree_nearest(&tree, spl_v3(p[0], p[1], p[2]), INFINITY, -1, &hit)) continue;
        int most = hit.bary[1] > hit.bary[0] ? 1 : 0;
        if (hit.bary[2] > hit.bary[most]) most = 2;
        int32_t at = t->surface[3 * (size_t)hit.triangle + (size_t)most];
        int32_t strongest = w->bone[SPL_BONE_INFLUENCES * (size_t)at];
        c->bone[v] = strongest >= 0 ? strongest : 0;
    }
    spl_tree_release(&tree);
    return SUPPLE_OK;
}

static bool take_memory(spl_clear *c, int32_t bone_count)
{
    const supple_allocator *a = &c->allocator;
    size_t n = (size_t)c->surface.vertex_count, bones = (size_t)bone_count;
    double **arrays[] = {&c->rest, &c->y, &c->goal, &c->last, &c->before};
    bool ok = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = spl_new(a, n, 3 * sizeof **arrays[i]);
        ok = ok && *arrays[i];
    }
    c->stiffness = spl_new(a, n, sizeof *c->stiffness);
    c->reach = spl_new(a, n, sizeof *c->reach);
    c->fixed = spl_new(a, n, sizeof *c->fixed);
    c->bone = spl_new(a, n, sizeof *c->bone);
    c->whole = spl_new(a, bones * bones, sizeof *c->whole);
    c->marked = spl_new(a, n, sizeof *c->marked);
    c->wider = spl_new(a, n, sizeof *c->wider);
    c->left = spl_new(a, n, sizeof *c->left);
    if (!ok || !c->stiffness || !c->reach || !c->fixed || !c->bone || !c->whole || !c->marked || !c->wider || !c->left)
        return false;
    for (size_t i = 0; i < bones * bones; i++) c->whole[i] = 1;
    for (size_t v = 0; v < n; v++) c->stiffness[v] = 1;
    return true;
}

static supple_result build(spl_clear *c, int32_t bone_count, spl_pool *pool, supple_error *error)
{
    const spl_surface *from = &c->solid->body->surface;
    spl_barrier_surface *s = &c->surface;
    s->vertex_count = s->own_count = from->vertex_count;
    c->first = from->link_first;
    c->next = from->link;
    if (!take_memory(c, bone_count)) return spl_fail_memory(error, "the mesh's folds");
    for (int32_t v = 0; v < from->vertex_count; v++) {
        spl_vec3 p = spl_drive_rest(&c->solid->drive, from->position[v]);
        memcpy(c->rest + 3 * (size_t)v, &p, sizeof p);
    }
    supple_result result = find_bones(c, error);
    if (result == SUPPLE_OK)
        result =
            spl_primitives_edges(from->triangle, from->triangle_count, &c->allocator, &c->edge, &s->edge_count, error);
    if (result == SUPPLE_OK)
        result = spl_primitives_vertices(from->triangle, from->triangle_count, &c->allocator, &c->point,
                                         &s->point_count, error);
    if (result != SUPPLE_OK) return result;
    s->triangle_count = from->triangle_count;
    s->triangle = from->triangle;
    s->edge = c->edge;
    s->point = c->point;
    s->rest = c->rest;
    s->fixed = c->fixed;
    s->reach = c->reach;
    s->stiffness = c->stiffness;
    s->bone = c->bone;
    s->bone_count = bone_count;
    s->diagonal = c->solid->diagonal;
    spl_barrier_options options = spl_barrier_options_default();
    options.width = WIDTH * c->solid->diagonal;
    result = spl_barrier_create(s, &options, &c->allocator, pool, &c->barrier, error);
    if (result != SUPPLE_OK) return result;
    spl_barrier_exempt(c->barrier, c->left);
    return SUPPLE_OK;
}

supple_result spl_clear_create(const spl_solid *solid, int32_t bone_count, spl_pool *pool, spl_clear **out,
                               supple_error *error)
{
    *out = NULL;
    spl_clear *c = spl_new(&solid->allocator, 1, sizeof *c);
    if (!c) return spl_fail_memory(error, "the mesh's folds");
    c->allocator = solid->allocator;
    c->solid = solid;
    c->pool = pool;
    supple_result result = build(c, bone_count, pool, error);
    if (result == SUPPLE_OK)
        *out = c;
    else
        spl_clear_destroy(c);
    return result;
}

void spl_clear_destroy(spl_clear *c)
{
    if (!c) return;
    supple_allocator a = c->allocator;
    spl_barrier_destroy(c->barrier);
    void *blocks[] = {c->rest, c->stiffness, c->reach, c->fixed, c->bone,   c->edge,  c->point, c->whole,
                      c->y,    c->goal,      c->last,  c->left,  c->marked, c->wider, c->before};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_free(&a, c);
}

void spl_clear_reset(spl_clear *c)
{
    c->has_last = false;
}

/* ---- a frame ---- */

static size_t coordinates(const spl_clear *c)
{
    return 3 * (size_t)c->surface.vertex_count;
}

static void read(spl_clear *c, const float *visual)
{
    double scale = c->solid->drive.to_solver;
    for (size_t v = 0; v < (size_t)c->surface.vertex_count; v++) {
        const float *p = visual + 3 * (size_t)c->solid->body->surface_vertex[v];
        for (size_t i = 0; i < 3; i++) c->goal[3 * v + i] = scale * (double)p[i];
    }
}

static bool is_at_goal(const spl_clear *c, int32_t v)
{
    return memcmp(c->y + 3 * (size_t)v, c->goal + 3 * (size_t)v, 3 * sizeof *c->y) == 0;
}

/* All vertices of the scene at a place that is not its goal, those that ride on the body. */
static void write(const spl_clear *c, float *visual)
{
    const spl_body *body = c->solid->body;
    double scale = 1 / c->solid->drive.to_solver;
    for (int32_t v = 0; v < body->surface.input_vertex_count; v++) {
        int32_t at = body->surface.map[v];
        if (at < 0 || !body->lifted[v] || is_at_goal(c, at)) continue;
        for (size_t i = 0; i < 3; i++) visual[3 * (size_t)v + i] = (float)(scale * c->y[3 * (size_t)at + i]);
    }
}

static size_t vertices(const spl_clear *c)
{
    return (size_t)c->surface.vertex_count;
}

/* ---- where it begins ---- */

static void set_fixed(spl_clear *c, bool fixed)
{
    memset(c->fixed, fixed, vertices(c) * sizeof *c->fixed);
}

/* What is marked, and rings around it, may move; all else is at its goal. */
static void free_marked(spl_clear *c)
{
    for (int k = 0; k < MARGIN; k++) {
        memcpy(c->wider, c->marked, vertices(c) * sizeof *c->marked);
        for (size_t v = 0; v < vertices(c); v++)
            for (int32_t i = c->first[v]; c->marked[v] && i < c->first[v + 1]; i++) c->wider[c->next[i]] = true;
        memcpy(c->marked, c->wider, vertices(c) * sizeof *c->marked);
    }
    for (size_t v = 0; v < vertices(c); v++) c->fixed[v] = !c->marked[v];
}

static spl_vec3 at(const double *x, int32_t v)
{
    return spl_v3(x[3 * v], x[3 * v + 1], x[3 * v + 2]);
}

/* How the mesh around a vertex has turned since the last frame: the rotation that fits best (Kabsch 1976). A
 * direction out of the ring's plane takes part, since rings are flat. */
static spl_mat3 turn_of(const spl_clear *c, int32_t v)
{
    spl_mat3 M = {{0}}, R, S;
    int32_t begin = c->first[v], end = c->first[v + 1];
    for (int32_t i = begin; i < end; i++) {
        int32_t p = c->next[i], q = c->next[i + 1 < end ? i + 1 : begin];
        spl_vec3 from = spl_sub(at(c->last, p), at(c->last, v)), to = spl_sub(at(c->goal, p), at(c->goal, v));
        spl_vec3 n = spl_cross(from, spl_sub(at(c->last, q), at(c->last, v)));
        spl_vec3 m = spl_cross(to, spl_sub(at(c->goal, q), at(c->goal, v)));
        spl_mat3 along = spl_mat3_outer(to, from), out = spl_mat3_outer(spl_scale(m, 1 / fmax(1e-300, spl_norm(m))), n);
        M = spl_mat3_add(&M, &along);
        M = spl_mat3_add(&M, &out);
    }
    return spl_polar3(&M, &R, &S) ? R : spl_mat3_identity();
}

/* What was moved aside in the last frame begins as far aside, turned as the mesh has turned. */
static void carry(spl_clear *c)
{
    for (int32_t v = 0; v < c->surface.vertex_count; v++) {
        spl_vec3 aside = spl_sub(at(c->y, v), at(c->last, v)), p = at(c->goal, v);
        if (c->has_last && spl_dot(aside, aside) > 0) {
            c->marked[v] = true;
            spl_mat3 R = turn_of(c, v);
            p = spl_add(p, spl_mat3_apply(&R, aside));
        }
        memcpy(c->y + 3 * (size_t)v, &p, sizeof p);
    }
}

/* y to places that do not cross but for what is left, near the goal. */
static bool part(spl_clear *c, const double *ease)
{
    spl_fold_mesh mesh = {.surface = &c->surface,
                          .first = c->first,
                          .next = c->next,
                          .y = c->y,
                          .goal = c->goal,
                          .before = c->has_last ? c->before : NULL,
                          .exempt = c->barrier->overlapping,
                          .width = WIDTH * c->solid->diagonal};
    spl_fold *fold;
    memcpy(c->before, c->y, coordinates(c) * sizeof *c->y);
    carry(c);
    free_marked(c);
    if (spl_fold_create(&mesh, ease, &c->allocator, c->pool, &fold, NULL) != SUPPLE_OK) return false;
    bool parted = spl_fold_part(fold);
    if (parted) spl_fold_read(fold, c->y, c->left);
    spl_fold_destroy(fold);
    return parted && spl_barrier_crossings(c->barrier, c->y) == 0;
}

static void accept(spl_clear *c, const double *y)
{
    if (y != c->y) memcpy(c->y, y, coordinates(c) * sizeof *y);
    memcpy(c->last, c->goal, coordinates(c) * sizeof *c->last);
    c->has_last = true;
}

static bool any_left(const spl_clear *c)
{
    bool any = false;
    for (size_t v = 0; v < vertices(c); v++) any = any || c->left[v];
    return any;
}

spl_clear_outcome spl_clear_apply(spl_clear *c, const double *ease, float *visual)
{
    read(c, visual);
    set_fixed(c, false);
    memset(c->left, 0, vertices(c) * sizeof *c->left);
    memset(c->marked, 0, vertices(c) * sizeof *c->marked);
    if (!ease) ease = c->whole;
    spl_barrier_restore(c->barrier, ease);
    int32_t crossings = spl_barrier_mark_vertices(c->barrier, c->goal, c->marked);
    if (crossings == 0) {
        accept(c, c->goal);
        return SPL_CLEAR_NOTHING;
    }
    if (crossings < 0 || !part(c, ease)) {
        c->has_last = false;
        return SPL_CLEAR_LEFT;
    }
    accept(c, c->y);
    write(c, visual);
    return any_left(c) ? SPL_CLEAR_LEFT : SPL_CLEAR_DONE;
}
