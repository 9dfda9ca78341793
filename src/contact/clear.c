#include "contact/clear.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/pairs.h"
#include "geom/tree.h"
#include "math/svd3.h"

#include <string.h>

static const double WIDTH = 1e-4; /* of the body's diagonal: what is kept free */
static const double LEAST = 0.05; /* of the mean edge: pairs that are nearer at rest are none */
static const double LEAVE = 0.3;  /* of gaps, that the first move leaves */

enum { FLATTENED = 16, SWEEPS = 3 }; /* rounds in which what crosses is flattened, sweeps in each */
enum { FEW = 400 };                  /* crossings with which that is tried, at most */

struct spl_clear {
    supple_allocator allocator;
    const spl_solid *solid;
    spl_barrier_surface surface;
    double *rest, *stiffness, *reach;
    bool *fixed;
    int32_t *bone, *edge, *point;
    spl_barrier *barrier;
    double *whole; /* bones x bones: 1 */
    double *y;     /* 3 x vertices: the last frame's places */
    double *goal;  /* the present frame's, by upsampling */
    double *last;  /* those of the last frame */
    double *step;
    bool *flat;    /* by vertex: flattened */
    bool *wider;   /* the same: room */
    int32_t *next; /* neighbours of v: next[first[v]] to next[first[v + 1]] */
    int32_t *first;
    bool has_last; /* y and last are a frame's, and y does not cross */
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

/* The neighbours of every vertex, by the edges. */
static bool list_neighbours(spl_clear *c)
{
    size_t n = (size_t)c->surface.vertex_count, m = 2 * (size_t)c->surface.edge_count;
    c->first = spl_new(&c->allocator, n + 2, sizeof *c->first);
    c->next = spl_new(&c->allocator, m, sizeof *c->next);
    c->flat = spl_new(&c->allocator, n, sizeof *c->flat);
    c->wider = spl_new(&c->allocator, n, sizeof *c->wider);
    if (!c->first || !c->next || !c->flat || !c->wider) return false;
    for (size_t i = 0; i < m; i++) c->first[c->edge[i] + 2]++;
    for (size_t v = 2; v < n + 2; v++) c->first[v] += c->first[v - 1];
    for (size_t i = 0; i < m; i++) c->next[c->first[c->edge[i] + 1]++] = c->edge[i ^ 1];
    return true;
}

static bool take_memory(spl_clear *c, int32_t bone_count)
{
    const supple_allocator *a = &c->allocator;
    size_t n = (size_t)c->surface.vertex_count, bones = (size_t)bone_count;
    double **arrays[] = {&c->rest, &c->y, &c->goal, &c->last, &c->step};
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
    if (!ok || !c->stiffness || !c->reach || !c->fixed || !c->bone || !c->whole) return false;
    for (size_t i = 0; i < bones * bones; i++) c->whole[i] = 1;
    for (size_t v = 0; v < n; v++) c->stiffness[v] = 1;
    return true;
}

static supple_result build(spl_clear *c, int32_t bone_count, spl_pool *pool, supple_error *error)
{
    const spl_surface *from = &c->solid->body->surface;
    spl_barrier_surface *s = &c->surface;
    s->vertex_count = s->own_count = from->vertex_count;
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
    if (result == SUPPLE_OK && !list_neighbours(c)) result = spl_fail_memory(error, "the mesh's folds");
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
    options.least = LEAST;
    return spl_barrier_create(s, &options, &c->allocator, pool, &c->barrier, error);
}

supple_result spl_clear_create(const spl_solid *solid, int32_t bone_count, spl_pool *pool, spl_clear **out,
                               supple_error *error)
{
    *out = NULL;
    spl_clear *c = spl_new(&solid->allocator, 1, sizeof *c);
    if (!c) return spl_fail_memory(error, "the mesh's folds");
    c->allocator = solid->allocator;
    c->solid = solid;
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
    void *blocks[] = {c->rest, c->stiffness, c->reach, c->fixed, c->bone, c->edge,  c->point, c->whole,
                      c->y,    c->goal,      c->last,  c->step,  c->flat, c->wider, c->next,  c->first};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_free(&a, c);
}

int32_t spl_clear_count(const spl_clear *c)
{
    return c->surface.vertex_count;
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

/* All vertices of the scene at a place, those that ride on the body. */
static void write(const spl_clear *c, float *visual)
{
    const spl_body *body = c->solid->body;
    double scale = 1 / c->solid->drive.to_solver;
    for (int32_t v = 0; v < body->surface.input_vertex_count; v++) {
        int32_t at = body->surface.map[v];
        if (at < 0 || !body->lifted[v]) continue;
        for (size_t i = 0; i < 3; i++) visual[3 * (size_t)v + i] = (float)(scale * c->y[3 * (size_t)at + i]);
    }
}

/* y moved as a whole as the mesh has moved since: the rotation that fits best (Kabsch 1976). */
static void follow(spl_clear *c)
{
    size_t n = coordinates(c);
    double from[3] = {0}, to[3] = {0};
    spl_mat3 M = {{0}}, R, S;
    for (size_t i = 0; i < n; i++) {
        from[i % 3] += c->last[i] * 3 / (double)n;
        to[i % 3] += c->goal[i] * 3 / (double)n;
    }
    for (size_t i = 0; i < n; i += 3)
        for (int col = 0; col < 3; col++)
            for (int row = 0; row < 3; row++)
                M.m[3 * col + row] += (c->goal[i + (size_t)row] - to[row]) * (c->last[i + (size_t)col] - from[col]);
    if (!spl_polar3(&M, &R, &S)) R = spl_mat3_identity();
    for (size_t i = 0; i < n; i += 3) {
        spl_vec3 p = spl_v3(c->y[i] - from[0], c->y[i + 1] - from[1], c->y[i + 2] - from[2]);
        p = spl_add(spl_mat3_apply(&R, p), spl_v3(to[0], to[1], to[2]));
        memcpy(c->y + i, &p, sizeof p);
    }
}

/* Marks the neighbours of what is marked too. */
static void widen(spl_clear *c)
{
    bool *to = c->wider;
    memcpy(to, c->flat, (size_t)c->surface.vertex_count * sizeof *to);
    for (int32_t v = 0; v < c->surface.vertex_count; v++)
        for (int32_t i = c->first[v]; c->flat[v] && i < c->first[v + 1]; i++) to[c->next[i]] = true;
    memcpy(c->flat, to, (size_t)c->surface.vertex_count * sizeof *to);
}

/* Marked vertices to the middle of their neighbours, again and again. */
static void smooth(spl_clear *c)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int32_t v = 0; v < c->surface.vertex_count; v++) {
            int32_t count = c->first[v + 1] - c->first[v];
            if (!c->flat[v] || count == 0) continue;
            spl_vec3 sum = spl_v3(0, 0, 0);
            for (int32_t i = c->first[v]; i < c->first[v + 1]; i++) {
                const double *p = c->y + 3 * (size_t)c->next[i];
                sum = spl_add(sum, spl_v3(p[0], p[1], p[2]));
            }
            sum = spl_scale(sum, 1.0 / count);
            memcpy(c->y + 3 * (size_t)v, &sum, sizeof sum);
        }
}

/* A start without a last frame: the goal, with what crosses flattened, as widely as it takes. */
static bool flatten(spl_clear *c)
{
    memcpy(c->y, c->goal, coordinates(c) * sizeof *c->y);
    memset(c->flat, 0, (size_t)c->surface.vertex_count * sizeof *c->flat);
    for (int round = 0; round < FLATTENED; round++) {
        int32_t crossings = spl_barrier_mark_vertices(c->barrier, c->y, c->flat);
        if (crossings <= 0) return crossings == 0;
        if (round % 2 == 0) widen(c);
        smooth(c);
    }
    return spl_barrier_crossings(c->barrier, c->y) == 0;
}

/* y towards the goal, as far as nothing touches. */
static bool move(spl_clear *c)
{
    double share;
    for (size_t i = 0; i < coordinates(c); i++) c->step[i] = c->goal[i] - c->y[i];
    if (spl_barrier_max_step(c->barrier, c->y, c->step, LEAVE, &share, NULL) != SUPPLE_OK) return false;
    for (size_t i = 0; i < coordinates(c); i++) c->y[i] += share * c->step[i];
    return true;
}

static void accept(spl_clear *c, const double *y)
{
    if (y != c->y) memcpy(c->y, y, coordinates(c) * sizeof *y);
    memcpy(c->last, c->goal, coordinates(c) * sizeof *c->last);
    c->has_last = true;
}

/* From the last frame's places if they are free, else, where only few cross, from the goal itself, flattened. */
static bool find_start(spl_clear *c, bool few)
{
    if (c->has_last) follow(c);
    return (c->has_last && spl_barrier_crossings(c->barrier, c->y) == 0) || (few && flatten(c));
}

/* Whether pairs of bones are released: what is in other flesh with its bones cannot be parted from it. */
static bool is_released(const spl_clear *c, const double *ease)
{
    bool any = false;
    for (int32_t i = 0; ease && i < c->surface.bone_count * c->surface.bone_count; i++) any = any || ease[i] == 0;
    return any;
}

spl_clear_outcome spl_clear_apply(spl_clear *c, const double *ease, spl_clear_solve *solve, void *context,
                                  float *visual)
{
    read(c, visual);
    spl_barrier_restore(c->barrier, ease ? ease : c->whole);
    int32_t crossings = spl_barrier_crossings(c->barrier, c->goal);
    if (crossings == 0) {
        accept(c, c->goal);
        return SPL_CLEAR_NOTHING;
    }
    bool found = crossings > 0 && !is_released(c, ease) && find_start(c, crossings <= FEW);
    if (!found || !move(c) || !solve(context, c->goal, spl_barrier_extra(c->barrier), c->y)) {
        c->has_last = false;
        return SPL_CLEAR_LEFT;
    }
    accept(c, c->y);
    write(c, visual);
    return SPL_CLEAR_DONE;
}
