#include "methods/projective/cl/batch.h"

#include "core/error.h"
#include "core/memory.h"
#include "methods/projective/cl/device.h"
#include "methods/projective/cl/engine.h"

#include <math.h>
#include <string.h>

enum { BLOCK = SPL_CL_BLOCK };

/* Where a body stands in the joint arrays. */
typedef struct place {
    spl_pd *pd;
    int32_t vertex, node, tet; /* its first ones */
    size_t value;              /* of the matrix */
    int32_t fill;              /* nodes, and vertices, that fill up its last block */
    double dt;                 /* of its values there */
} place;

struct spl_cl_batch {
    supple_allocator allocator;
    place *place; /* count */
    int32_t count;
    spl_pd_engine *engine;
    spl_pd_input in;
    spl_elements elements;
    spl_pattern pattern;
    int32_t *tet, *unknown, *vertex, *body_end;
    double *mu, *lambda, *values, *x, *anchor, *pull, *force;
    spl_tie *tie;
    int32_t vertex_count, node_count, tet_count, tie_capacity;
    double version; /* of the matrix */
};

/* ---- set-up ---- */

static size_t measure(spl_cl_batch *b)
{
    size_t values = 0;
    for (int32_t k = 0; k < b->count; k++) {
        spl_pd_view v = spl_pd_look(b->place[k].pd);
        int32_t fill = (BLOCK - v.node_count % BLOCK) % BLOCK;
        b->place[k] = (place){b->place[k].pd, b->vertex_count, b->node_count, b->tet_count, values, fill, -1};
        b->vertex_count += v.in->elements->vertex_count + fill;
        b->node_count += v.node_count + fill;
        b->tet_count += v.in->elements->count;
        b->tie_capacity += v.in->tie_capacity;
        values += spl_pattern_values(v.pattern) + (size_t)fill;
    }
    return values;
}

static bool take_memory(spl_cl_batch *b, size_t values)
{
    const supple_allocator *a = &b->allocator;
    size_t n = (size_t)b->node_count, vertices = (size_t)b->vertex_count, tets = (size_t)b->tet_count;
    b->elements.gradient = spl_new(a, tets, 12 * sizeof(double));
    b->elements.volume = spl_new(a, tets, sizeof(double));
    b->pattern.start = spl_new(a, n + 1, sizeof *b->pattern.start);
    b->pattern.row = spl_new(a, values, sizeof *b->pattern.row);
    b->tet = spl_new(a, tets, 4 * sizeof *b->tet);
    b->unknown = spl_new(a, vertices, sizeof *b->unknown);
    b->vertex = spl_new(a, n, sizeof *b->vertex);
    b->body_end = spl_new(a, (size_t)b->count, sizeof *b->body_end);
    b->mu = spl_new(a, tets, sizeof(double));
    b->lambda = spl_new(a, tets, sizeof(double));
    b->values = spl_new(a, values, sizeof(double));
    b->x = spl_new(a, vertices, 4 * sizeof(double));
    b->anchor = spl_new(a, n, 3 * sizeof(double));
    b->pull = spl_new(a, n, sizeof(double));
    b->force = spl_new(a, n, 3 * sizeof(double));
    b->tie = spl_new(a, (size_t)b->tie_capacity, sizeof *b->tie);
    return b->elements.gradient && b->elements.volume && b->pattern.start && b->pattern.row && b->tet && b->unknown &&
           b->vertex && b->body_end && b->mu && b->lambda && b->values && b->x && b->anchor && b->pull && b->force &&
           b->tie;
}

/* Nodes and the pattern's columns; those that fill up a block have a diagonal and a vertex of their own. */
static void join_nodes(spl_cl_batch *b, const place *p, const spl_pd_view *v)
{
    int32_t n = v->node_count, vertices = v->in->elements->vertex_count;
    for (int32_t i = 0; i < vertices; i++) b->unknown[p->vertex + i] = v->unknown[i] < 0 ? -1 : p->node + v->unknown[i];
    for (int32_t i = 0; i < n; i++) b->vertex[p->node + i] = p->vertex + v->vertex[i];
    for (int32_t i = 0; i < n; i++) b->pattern.start[p->node + i] = p->value + v->pattern->start[i];
    for (size_t k = 0; k < v->pattern->start[n]; k++) b->pattern.row[p->value + k] = p->node + v->pattern->row[k];
    for (int32_t i = 0; i < p->fill; i++) {
        size_t entry = p->value + v->pattern->start[n] + (size_t)i;
        b->unknown[p->vertex + vertices + i] = p->node + n + i;
        b->vertex[p->node + n + i] = p->vertex + vertices + i;
        b->pattern.start[p->node + n + i] = entry;
        b->pattern.row[entry] = p->node + n + i;
        b->values[entry] = 1;
    }
}

static void join(spl_cl_batch *b)
{
    for (int32_t k = 0; k < b->count; k++) {
        const place *p = &b->place[k];
        spl_pd_view v = spl_pd_look(p->pd);
        const spl_elements *e = v.in->elements;
        size_t tets = (size_t)e->count, first = (size_t)p->tet;
        for (size_t i = 0; i < 4 * tets; i++) b->tet[4 * first + i] = p->vertex + e->tet[i];
        memcpy(b->elements.gradient + 12 * first, e->gradient, 12 * tets * sizeof(double));
        memcpy(b->elements.volume + first, e->volume, tets * sizeof(double));
        memcpy(b->mu + first, v.in->mu, tets * sizeof(double));
        if (v.in->lambda) memcpy(b->lambda + first, v.in->lambda, tets * sizeof(double));
        join_nodes(b, p, &v);
        b->body_end[k] = p->node + v.node_count + p->fill;
        b->pattern.start[b->body_end[k]] = p->value + spl_pattern_values(v.pattern) + (size_t)p->fill;
    }
}

static spl_pd_view view_of(const spl_cl_batch *b, int32_t ties)
{
    return (spl_pd_view){.in = &b->in,
                         .node_count = b->node_count,
                         .unknown = b->unknown,
                         .vertex = b->vertex,
                         .pattern = &b->pattern,
                         .dt = b->version,
                         .values = b->values,
                         .x = b->x,
                         .anchor = b->anchor,
                         .pull = b->pull,
                         .force = b->force,
                         .tie = b->tie,
                         .tie_count = ties,
                         .body_end = b->body_end,
                         .body_count = b->count};
}

supple_result spl_cl_batch_create(struct supple_device *device, spl_pd *const *pd, int32_t count, int32_t inner,
                                  const supple_allocator *a, spl_cl_batch **out, supple_error *error)
{
    *out = NULL;
    spl_cl_batch *b = spl_new(a, 1, sizeof *b);
    if (!b) return spl_fail_memory(error, "the joint bodies");
    *b = (spl_cl_batch){.allocator = *a, .count = count};
    b->place = spl_new(a, (size_t)count, sizeof *b->place);
    supple_result result = SUPPLE_OK;
    for (int32_t k = 0; k < count && b->place; k++) {
        b->place[k].pd = pd[k];
        if (spl_pd_look(pd[k]).in->bulk)
            result = spl_fail(error, SUPPLE_ERROR_SOLVE, "device: volume constraints are the processor's alone");
    }
    if (!b->place || !take_memory(b, measure(b))) result = spl_fail_memory(error, "the joint bodies");
    if (result == SUPPLE_OK) {
        b->pattern.n = b->node_count;
        b->pattern.block = 1;
        b->elements.vertex_count = b->vertex_count;
        b->elements.count = b->tet_count;
        b->elements.tet = b->tet;
        b->in = (spl_pd_input){.elements = &b->elements,
                               .mu = b->mu,
                               .lambda = b->lambda,
                               .pace = SPL_PACE_NONE,
                               .tie_capacity = b->tie_capacity};
        join(b);
        spl_pd_view v = view_of(b, 0);
        result = spl_cl_engine_of(device, &v, inner, a, &b->engine, error);
    }
    if (result == SUPPLE_OK)
        *out = b;
    else
        spl_cl_batch_destroy(b);
    return result;
}

void spl_cl_batch_destroy(spl_cl_batch *b)
{
    if (!b) return;
    supple_allocator a = b->allocator;
    if (b->engine) b->engine->destroy(b->engine);
    void *blocks[] = {b->place,
                      b->elements.gradient,
                      b->elements.volume,
                      b->pattern.start,
                      b->pattern.row,
                      b->tet,
                      b->unknown,
                      b->vertex,
                      b->body_end,
                      b->mu,
                      b->lambda,
                      b->values,
                      b->x,
                      b->anchor,
                      b->pull,
                      b->force,
                      b->tie,
                      b};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
}

/* ---- a solve ---- */

/* One body's problem into the joint arrays; its ties after those that are there. */
static int32_t stage(spl_cl_batch *b, place *p, const spl_cl_batch_part *part, int32_t ties)
{
    spl_pd_view v = spl_pd_stage(p->pd, part->problem, part->x);
    size_t n = (size_t)v.node_count, vertices = (size_t)v.in->elements->vertex_count, node = (size_t)p->node;
    memcpy(b->x + 4 * (size_t)p->vertex, v.x, 4 * vertices * sizeof(double));
    memcpy(b->anchor + 3 * node, v.anchor, 3 * n * sizeof(double));
    memcpy(b->pull + node, v.pull, n * sizeof(double));
    memcpy(b->force + 3 * node, v.force, 3 * n * sizeof(double));
    if (p->dt != v.dt) {
        memcpy(b->values + p->value, v.values, spl_pattern_values(v.pattern) * sizeof(double));
        p->dt = v.dt;
        b->version++;
    }
    for (int32_t j = 0; j < v.tie_count; j++) {
        spl_tie *t = &b->tie[ties + j];
        *t = v.tie[j];
        for (int i = 0; i < 4; i++)
            if (t->vertex[i] >= 0) t->vertex[i] += p->vertex;
    }
    return ties + v.tie_count;
}

static void iterate(spl_pd_engine *e, int32_t iterations)
{
    for (int32_t i = 0; i < iterations; i++) {
        e->evaluate(e, e->r, i == 0 ? SPL_PD_FIRST : SPL_PD_LATER, NULL);
        spl_pace_side(&e->pace, e->r, true, e->dx);
        e->solve(e, e->dx);
        e->advance(e, e->dx);
    }
}

static bool all_finite(const spl_cl_batch *b)
{
    double sum = 0;
    for (size_t i = 0; i < 4 * (size_t)b->vertex_count; i++) sum += b->x[i] * 0;
    return sum == 0;
}

supple_result spl_cl_batch_solve(spl_cl_batch *b, spl_cl_batch_part *part, supple_error *error)
{
    int32_t ties = 0, iterations = 0;
    for (int32_t k = 0; k < b->count; k++) {
        part[k].stats = (spl_pd_stats){0};
        if (!part[k].problem) continue;
        ties = stage(b, &b->place[k], &part[k], ties);
        if (iterations == 0) iterations = part[k].problem->iterations;
    }
    spl_pd_view v = view_of(b, ties);
    b->engine->begin(b->engine, &v);
    iterate(b->engine, iterations);
    b->engine->end(b->engine, b->x);
    supple_result result = b->engine->outcome(b->engine, error);
    if (result != SUPPLE_OK) return result;
    if (!all_finite(b)) return spl_fail(error, SUPPLE_ERROR_SOLVE, "projective: positions are not finite any more");
    for (int32_t k = 0; k < b->count; k++) {
        if (!part[k].problem) continue;
        spl_pd_unstage(b->place[k].pd, b->x + 4 * (size_t)b->place[k].vertex, part[k].x);
        part[k].stats = (spl_pd_stats){.iterations = iterations, .residual = (double)NAN, .energy = (double)NAN};
    }
    return SUPPLE_OK;
}
