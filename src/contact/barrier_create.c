#include "contact/barrier_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "math/vec3.h"

#include <math.h>

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
    void *blocks[] = {b->released, b->ease,      b->overlapping, b->at,      b->step,          b->energy,
                      b->gradient, b->potential, b->active,      b->element, b->element_values};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_free(&a, b);
}

static double mean_edge(const spl_barrier_surface *s)
{
    double sum = 0;
    int32_t count = 0;
    for (int32_t e = 0; e < s->edge_count; e++) {
        const int32_t *v = s->edge + 2 * (size_t)e;
        if (v[0] >= s->own_count || v[1] >= s->own_count) continue;
        const double *p = s->rest + 3 * (size_t)v[0], *q = s->rest + 3 * (size_t)v[1];
        sum += spl_distance(spl_v3(p[0], p[1], p[2]), spl_v3(q[0], q[1], q[2]));
        count++;
    }
    return count > 0 ? sum / count : s->diagonal;
}

static bool take_memory(spl_barrier *b)
{
    const supple_allocator *a = &b->allocator;
    size_t n = (size_t)b->surface.vertex_count, bones = (size_t)b->surface.bone_count;
    b->released = spl_new(a, bones * bones, sizeof *b->released);
    b->ease = spl_new(a, bones * bones, sizeof *b->ease);
    b->overlapping = spl_new(a, n, sizeof *b->overlapping);
    b->at = spl_new(a, n, 3 * sizeof *b->at);
    b->step = spl_new(a, n, 3 * sizeof *b->step);
    for (size_t i = 0; b->ease && i < bones * bones; i++) b->ease[i] = 1;
    return b->released && b->ease && b->overlapping && b->at && b->step;
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

/* What crosses at rest; the world has no such shape and is left aside. */
static supple_result find_overlaps(spl_barrier *b, supple_error *error)
{
    spl_primitives own = b->primitives;
    spl_pairs *pairs;
    own.vertex_count = b->surface.own_count;
    while (own.edge_count > 0 && own.edge[2 * (size_t)own.edge_count - 1] >= own.vertex_count) own.edge_count--;
    while (own.triangle_count > 0 && own.triangle[3 * (size_t)own.triangle_count - 1] >= own.vertex_count)
        own.triangle_count--;
    own.point_count = 0;
    supple_result result = spl_pairs_create(&own, NULL, NULL, &b->allocator, &pairs, error);
    if (result != SUPPLE_OK) return result;
    if (spl_pairs_crossings(pairs, b->surface.rest, b->pool, note_overlap, b) < 0)
        result = spl_fail_memory(error, "a barrier");
    spl_pairs_destroy(pairs);
    return result;
}

static supple_result build(spl_barrier *b, supple_error *error)
{
    const spl_barrier_surface *s = &b->surface;
    if (!take_memory(b)) return spl_fail_memory(error, "a barrier");
    b->edge_mean = mean_edge(s);
    if (!(b->options.width > 0)) b->options.width = WIDTH * s->diagonal;
    b->primitives = (spl_primitives){.vertex_count = s->vertex_count,
                                     .point_count = s->point_count,
                                     .edge_count = s->edge_count,
                                     .triangle_count = s->triangle_count,
                                     .point = s->point,
                                     .edge = s->edge,
                                     .triangle = s->triangle,
                                     .fixed = s->fixed,
                                     .reach = s->reach};
    supple_result result = spl_pairs_create(&b->primitives, spl_barrier_refuse, b, &b->allocator, &b->pairs, error);
    return result == SUPPLE_OK && b->options.self ? find_overlaps(b, error) : result;
}

supple_result spl_barrier_create(const spl_barrier_surface *surface, const spl_barrier_options *options,
                                 const supple_allocator *a, spl_pool *pool, spl_barrier **out, supple_error *error)
{
    *out = NULL;
    spl_barrier *b = spl_new(a, 1, sizeof *b);
    if (!b) return spl_fail_memory(error, "a barrier");
    b->allocator = *a;
    b->surface = *surface;
    b->options = options ? *options : spl_barrier_options_default();
    b->pool = pool;
    b->gap = INFINITY;
    supple_result result = build(b, error);
    if (result == SUPPLE_OK)
        *out = b;
    else
        spl_barrier_destroy(b);
    return result;
}
