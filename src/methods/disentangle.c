#include "methods/disentangle.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

static const double SHRUNK[] = {0.8, 0.5, 0.3}; /* of its width at rest, flesh that is to be disentangled */
static const double AROUND = 0.3;               /* of a vertex's weights, on tangled bones: it is solved anew */
static const double STILL = 0.25;               /* of the barrier's width: what ends a solve */

enum { STEPS = 40 };

typedef struct drawing {
    spl_arrival *a;
    bool *tangled; /* by bone: its flesh crosses, or is turned inside out */
    int32_t *held; /* by vertex: -1 where it is solved anew */
    spl_elements elements;
    spl_statics *solver;
} drawing;

/* Of a vertex's weights, those on tangled bones. */
static double share_of(const drawing *d, int32_t v)
{
    const spl_bone_weights *w = &d->a->solid->weights;
    double sum = 0;
    for (size_t i = SPL_BONE_INFLUENCES * (size_t)v; i < SPL_BONE_INFLUENCES * ((size_t)v + 1); i++)
        if (w->bone[i] >= 0 && d->tangled[w->bone[i]]) sum += (double)w->weight[i];
    return sum;
}

/* What a bone does to a gradient of a shape function when flesh is drawn in to it: g is larger across the bone. */
static spl_vec3 across(const drawing *d, int32_t bone, spl_vec3 g, double share)
{
    spl_vec3 axis = d->a->solid->drive.axis[bone];
    spl_vec3 along = spl_scale(axis, spl_dot(axis, g));
    return spl_madd(along, spl_sub(g, along), 1 / share);
}

/* A gradient as the bones of a tet's corners have it together. */
static spl_vec3 drawn_in(const drawing *d, int32_t tet, spl_vec3 g, double share)
{
    const spl_bone_weights *w = &d->a->solid->weights;
    spl_vec3 sum = spl_v3(0, 0, 0);
    for (size_t k = 0; k < 4; k++) {
        size_t v = (size_t)d->a->elements.tet[4 * (size_t)tet + k];
        double left = 1;
        for (size_t i = SPL_BONE_INFLUENCES * v; i < SPL_BONE_INFLUENCES * (v + 1); i++) {
            if (w->bone[i] < 0 || !d->tangled[w->bone[i]]) continue;
            sum = spl_madd(sum, across(d, w->bone[i], g, share), 0.25 * (double)w->weight[i]);
            left -= (double)w->weight[i];
        }
        sum = spl_madd(sum, g, 0.25 * left);
    }
    return sum;
}

/* Rest shapes of tets become smaller across the bones that are tangled. */
static void shrink(drawing *d, double share)
{
    const spl_elements *whole = &d->a->elements;
    for (int32_t k = 0; k < whole->count; k++) {
        double *to = d->elements.gradient + 12 * (size_t)k;
        for (size_t i = 0; i < 4; i++) {
            const double *g = whole->gradient + 12 * (size_t)k + 3 * i;
            spl_vec3 h = drawn_in(d, k, spl_v3(g[0], g[1], g[2]), share);
            memcpy(to + 3 * i, &h, sizeof h);
        }
        spl_vec3 g1 = spl_v3(to[3], to[4], to[5]), g2 = spl_v3(to[6], to[7], to[8]), g3 = spl_v3(to[9], to[10], to[11]);
        d->elements.volume[k] = 1 / (6 * fabs(spl_dot(g1, spl_cross(g2, g3)))); /* det of the gradients is 1 / (6 W) */
    }
}

/* Tets that are inverted stay so where flesh grows again: their bones count as tangled. */
static void mark_inverted(drawing *d)
{
    const spl_arrival *a = d->a;
    const spl_bone_weights *w = &a->solid->weights;
    for (int32_t k = 0; k < a->elements.count; k++) {
        spl_mat3 F = spl_element_F(&a->elements, k, a->x);
        for (size_t i = 0; i < 4 && !(spl_mat3_det(&F) > 0); i++) {
            int32_t strongest = w->bone[SPL_BONE_INFLUENCES * (size_t)a->elements.tet[4 * (size_t)k + i]];
            if (strongest >= 0) d->tangled[strongest] = true;
        }
    }
}

/* Which vertices are solved anew, and where they begin: a->goal. */
static void begin(drawing *d)
{
    spl_arrival *a = d->a;
    int32_t own = a->surface.surface.own_count;
    memcpy(a->goal, a->x, 3 * (size_t)a->surface.surface.vertex_count * sizeof *a->x);
    spl_solid_pose(a->solid, a->step, a->pool);
    for (int32_t v = 0; v < a->surface.surface.vertex_count; v++) {
        bool anew = v < own && a->held[v] < 0 && share_of(d, v) > AROUND;
        d->held[v] = anew ? -1 : 0;
        if (anew) memcpy(a->goal + 3 * (size_t)v, a->step + 3 * (size_t)v, 3 * sizeof *a->goal);
    }
}

static supple_result make(drawing *d, supple_error *error)
{
    spl_arrival *a = d->a;
    const supple_allocator *al = &a->allocator;
    size_t bones = (size_t)a->surface.surface.bone_count, n = (size_t)a->elements.vertex_count;
    d->tangled = spl_new(al, bones, sizeof *d->tangled);
    d->held = spl_new(al, n, sizeof *d->held);
    d->elements = a->elements;
    d->elements.gradient = spl_new(al, (size_t)a->elements.count, 12 * sizeof *d->elements.gradient);
    d->elements.volume = spl_new(al, (size_t)a->elements.count, sizeof *d->elements.volume);
    bool ok = d->tangled && d->held && d->elements.gradient && d->elements.volume &&
              spl_barrier_mark_crossing(a->barrier, a->x, d->tangled);
    if (!ok) return spl_fail_memory(error, "tangled flesh");
    mark_inverted(d);
    begin(d);
    shrink(d, 1);
    spl_statics_options options = a->statics;
    options.still = STILL * spl_barrier_look(a->barrier).width;
    options.max_iterations = STEPS;
    return spl_statics_create(&d->elements, d->held, al, a->pool, &options, &d->solver, error);
}

static void release(drawing *d)
{
    const supple_allocator *al = &d->a->allocator;
    void *blocks[] = {d->tangled, d->held, d->elements.gradient, d->elements.volume};
    spl_statics_destroy(d->solver);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(al, blocks[i]);
}

/* Draws flesh in to `share` of its width, and looks what is free there: that is kept apart from then on. The first
 * time, nothing is. */
static supple_result draw_in(drawing *d, const spl_statics_problem *problem, double share, bool first, bool *free,
                             supple_error *error)
{
    spl_arrival *a = d->a;
    spl_statics_problem alone = *problem;
    spl_statics_stats stats = {0};
    int32_t n = a->surface.surface.bone_count, left = 0;
    if (first) alone.extra = NULL;
    if (alone.law->barrier) alone.law = &spl_law_neohookean; /* what begins inside out is to come right */
    shrink(d, share);
    supple_result result = spl_statics_solve(d->solver, &alone, a->goal, &stats, error);
    a->iterations += stats.iterations;
    if (result != SUPPLE_OK) return result;
    for (int32_t i = 0; first && i < n * n; i++) spl_barrier_release(a->barrier, i / n, i % n, true);
    result = spl_barrier_take_back(a->barrier, a->goal, a->crossing, &left, error);
    *free = left == 0 && spl_barrier_crossings(a->barrier, a->goal) == 0;
    if (result == SUPPLE_OK && !spl_barrier_mark_crossing(a->barrier, a->goal, d->tangled))
        return spl_fail_memory(error, "tangled flesh");
    return result;
}

supple_result spl_arrival_disentangle(spl_arrival *a, const spl_statics_problem *problem, bool *free,
                                      supple_error *error)
{
    drawing d = {.a = a};
    *free = false;
    spl_barrier_keep(a->barrier, a->kept);
    supple_result result = make(&d, error);
    for (size_t k = 0; k < sizeof SHRUNK / sizeof *SHRUNK && result == SUPPLE_OK && !*free; k++)
        result = draw_in(&d, problem, SHRUNK[k], k == 0, free, error);
    if (*free)
        memcpy(a->x, a->goal, 3 * (size_t)a->surface.surface.vertex_count * sizeof *a->x);
    else
        spl_barrier_restore(a->barrier, a->kept);
    release(&d);
    return result;
}
