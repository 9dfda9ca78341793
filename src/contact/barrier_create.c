/* Making a barrier: primitives of the body's surface and of obstacles, what is known of them at rest. */
#include "contact/barrier.h"
#include "contact/barrier_private.h"
#include "contact/deviation.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

static const double WIDTH = 1e-3; /* of the diagonal */

spl_barrier_options spl_barrier_options_default(void)
{
    return (spl_barrier_options){.self = true, .stiffness = 1};
}

void spl_barrier_destroy(spl_barrier *b)
{
    if (!b) return;
    supple_allocator a = b->allocator;
    spl_pairs_destroy(b->pairs);
    void *blocks[] = {b->point,     b->edge,      b->triangle, b->fixed,   b->reach,
                      b->stiffness, b->bone,      b->released, b->ease,    b->overlapping,
                      b->x,         b->d,         b->at,       b->step,    b->energy,
                      b->gradient,  b->potential, b->active,   b->element, b->element_values};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_free(&a, b);
}

/* ---- primitives ---- */

/* Indices of the body's, then of obstacles, whose vertices come after the body's. */
static int32_t *join(const spl_barrier *b, const int32_t *own, int32_t own_count, const int32_t *other,
                     int32_t other_count, size_t width)
{
    int32_t *out = spl_new(&b->allocator, (size_t)own_count + (size_t)other_count, width * sizeof *out);
    if (!out) return NULL;
    size_t n = width * (size_t)own_count, m = width * (size_t)other_count;
    if (n > 0) memcpy(out, own, n * sizeof *out);
    for (size_t i = 0; i < m; i++) out[n + i] = other[i] + b->body_count;
    return out;
}

static supple_result make_primitives(spl_barrier *b, supple_error *error)
{
    static const spl_obstacles nothing = {0};
    const spl_tets *t = &b->solid->body->tets;
    const spl_obstacles *o = b->obstacles ? b->obstacles : &nothing;
    spl_primitives *p = &b->primitives;
    int32_t *edge = NULL, *point = NULL, edges = 0, points = 0;
    supple_result result = spl_primitives_edges(t->surface, t->surface_count, &b->allocator, &edge, &edges, error);
    if (result == SUPPLE_OK)
        result = spl_primitives_vertices(t->surface, t->surface_count, &b->allocator, &point, &points, error);
    int32_t *own = spl_new(&b->allocator, (size_t)o->vertex_count, sizeof *own);
    for (int32_t i = 0; own && i < o->vertex_count; i++) own[i] = i;
    if (result == SUPPLE_OK && own) {
        b->point = join(b, point, points, own, o->vertex_count, 1);
        b->edge = join(b, edge, edges, o->edge, o->edge_count, 2);
        b->triangle = join(b, t->surface, t->surface_count, o->triangle, o->triangle_count, 3);
    }
    spl_free(&b->allocator, edge);
    spl_free(&b->allocator, point);
    spl_free(&b->allocator, own);
    if (result != SUPPLE_OK) return result;
    if (!b->point || !b->edge || !b->triangle) return spl_fail_memory(error, "a barrier");
    *p = (spl_primitives){.vertex_count = b->vertex_count,
                          .point_count = points + o->vertex_count,
                          .edge_count = edges + o->edge_count,
                          .triangle_count = t->surface_count + o->triangle_count,
                          .point = b->point,
                          .edge = b->edge,
                          .triangle = b->triangle,
                          .fixed = b->fixed,
                          .reach = b->reach};
    return SUPPLE_OK;
}

/* ---- what is known at rest ---- */

/* W (2 mu + lambda) |g|^2, the stiffness of a tet against a corner that moves alone, summed over the tets around. */
static void find_stiffness(spl_barrier *b)
{
    const spl_elements *e = &b->solid->elements;
    for (size_t k = 0; k < (size_t)e->count; k++) {
        double stiff = e->volume[k] * (2 * b->solid->material.mu[k] + b->solid->material.lambda[k]);
        for (size_t i = 0; i < 4; i++) {
            const double *g = e->gradient + 12 * k + 3 * i;
            b->stiffness[e->tet[4 * k + i]] += stiff * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        }
    }
}

static void find_bones(spl_barrier *b, const int32_t *held)
{
    for (int32_t v = 0; v < b->body_count; v++) {
        int32_t strongest = b->solid->weights.bone[SPL_BONE_INFLUENCES * (size_t)v];
        b->bone[v] = held[v] >= 0 ? held[v] : strongest >= 0 ? strongest : 0;
        b->fixed[v] = held[v] >= 0;
    }
    for (int32_t v = b->body_count; v < b->vertex_count; v++) {
        b->fixed[v] = true;
        b->reach[v] = b->obstacles->radius[v - b->body_count];
    }
}

static double mean_edge(const spl_barrier *b)
{
    const double *rest = b->solid->drive.rest;
    double sum = 0;
    int32_t count = 0;
    for (int32_t e = 0; e < b->primitives.edge_count; e++) {
        const int32_t *v = b->edge + 2 * (size_t)e;
        if (v[0] >= b->body_count) break;
        const double *p = rest + 3 * (size_t)v[0], *q = rest + 3 * (size_t)v[1];
        sum += spl_distance(spl_v3(p[0], p[1], p[2]), spl_v3(q[0], q[1], q[2]));
        count++;
    }
    return count > 0 ? sum / count : b->solid->diagonal;
}

static bool take_memory(spl_barrier *b)
{
    const supple_allocator *a = &b->allocator;
    size_t n = (size_t)b->vertex_count, bones = (size_t)b->bone_count;
    b->fixed = spl_new(a, n, sizeof *b->fixed);
    b->reach = spl_new(a, n, sizeof *b->reach);
    b->stiffness = spl_new(a, n, sizeof *b->stiffness);
    b->bone = spl_new(a, n, sizeof *b->bone);
    b->released = spl_new(a, bones * bones, sizeof *b->released);
    b->ease = spl_new(a, bones * bones, sizeof *b->ease);
    for (size_t i = 0; b->ease && i < bones * bones; i++) b->ease[i] = 1;
    b->overlapping = spl_new(a, n, sizeof *b->overlapping);
    b->x = spl_new(a, n, 3 * sizeof *b->x);
    b->d = spl_new(a, n, 3 * sizeof *b->d);
    b->at = spl_new(a, n, 3 * sizeof *b->at);
    b->step = spl_new(a, n, 3 * sizeof *b->step);
    return b->fixed && b->reach && b->stiffness && b->bone && b->released && b->ease && b->overlapping && b->x &&
           b->d && b->at && b->step;
}

/* Flesh that crosses at rest: nothing tells there what is outside. */
static void note_overlap(void *context, const int32_t edge[2], const int32_t triangle[3])
{
    spl_barrier *b = context;
    const int32_t v[5] = {edge[0], edge[1], triangle[0], triangle[1], triangle[2]};
    for (int i = 0; i < 5; i++) {
        b->overlaps += !b->overlapping[v[i]];
        b->overlapping[v[i]] = true;
    }
}

static supple_result build(spl_barrier *b, const int32_t *held, supple_error *error)
{
    if (!take_memory(b)) return spl_fail_memory(error, "a barrier");
    supple_result result = spl_deviation_find(b->solid, b->reach, error);
    if (result != SUPPLE_OK) return result;
    find_stiffness(b);
    find_bones(b, held);
    result = make_primitives(b, error);
    if (result != SUPPLE_OK) return result;
    b->edge_mean = mean_edge(b);
    if (!(b->options.width > 0)) b->options.width = WIDTH * b->solid->diagonal;
    result = spl_pairs_create(&b->primitives, spl_barrier_refuse, b, &b->allocator, &b->pairs, error);
    if (result != SUPPLE_OK || !b->options.self) return result;
    int32_t count = spl_pairs_crossings(b->pairs, spl_barrier_all(b, b->solid->drive.rest), b->pool, note_overlap, b);
    return count < 0 ? spl_fail_memory(error, "a barrier") : SUPPLE_OK;
}

supple_result spl_barrier_create(const spl_solid *solid, const int32_t *held, const spl_obstacles *obstacles,
                                 const spl_barrier_options *options, spl_pool *pool, spl_barrier **out,
                                 supple_error *error)
{
    *out = NULL;
    spl_barrier *b = spl_new(&solid->allocator, 1, sizeof *b);
    if (!b) return spl_fail_memory(error, "a barrier");
    b->allocator = solid->allocator;
    b->solid = solid;
    b->obstacles = obstacles;
    b->options = options ? *options : spl_barrier_options_default();
    b->pool = pool;
    b->gap = INFINITY;
    b->body_count = solid->body->tets.vertex_count;
    b->vertex_count = b->body_count + (obstacles ? obstacles->vertex_count : 0);
    b->bone_count = solid->body->bones.bone_count;
    supple_result result = build(b, held, error);
    if (result == SUPPLE_OK)
        *out = b;
    else
        spl_barrier_destroy(b);
    return result;
}
