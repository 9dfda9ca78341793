#include "subspace/relax.h"

#include "core/error.h"
#include "core/memory.h"
#include "fem/residual.h"
#include "math/dense.h"
#include "sparse/assembly.h"
#include "sparse/factor.h"

#include <math.h>
#include <string.h>

enum { MEMORY = 6, SHORTER = 8 }; /* steps that are remembered; halvings of a step */

static const double decrease = 1e-4; /* of what the slope promises (Armijo) */

struct spl_relax {
    supple_allocator allocator;
    spl_elastic elastic;
    int32_t unknown_count; /* free vertices */
    int32_t *unknown;      /* by vertex: its number, -1 where it stays */
    spl_assembly assembly;
    double *element, *value; /* the Laplacian by tet, and whole */
    spl_factor *factor;
    spl_stars stars;
    double *force, *scratch;          /* 3 x vertices; of the forces */
    double *trial;                    /* 3 x vertices */
    double *slope, *next, *direction; /* 3 x unknowns */
    double *step, *change;            /* MEMORY x (3 x unknowns): the last steps and what they changed the slope by */
    double inner[MEMORY];             /* step . change */
    int32_t kept, newest;
};

/* ---- creation ---- */

static void fill_elements(spl_relax *r)
{
    const spl_elements *e = r->elastic.elements;
    for (size_t k = 0; k < (size_t)e->count; k++) {
        double by = e->volume[k] * (2 * r->elastic.mu[k] + r->elastic.lambda[k]);
        for (int i = 0, at = 0; i < 4; i++)
            for (int j = 0; j <= i; j++, at++) {
                const double *a = e->gradient + 12 * k + 3 * i, *b = e->gradient + 12 * k + 3 * j;
                r->element[10 * k + (size_t)at] = by * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
            }
    }
}

static bool take(spl_relax *r)
{
    const supple_allocator *a = &r->allocator;
    const spl_elements *e = r->elastic.elements;
    size_t n = (size_t)e->vertex_count, m = (size_t)r->unknown_count, tets = (size_t)e->count;
    r->element = spl_new(a, tets, 10 * sizeof *r->element);
    r->value = spl_new(a, spl_pattern_values(&r->assembly.pattern), sizeof *r->value);
    r->force = spl_new(a, n, 3 * sizeof *r->force);
    r->trial = spl_new(a, n, 3 * sizeof *r->trial);
    r->scratch = spl_new(a, 12 * tets + tets / 1024 + 1, sizeof *r->scratch);
    double **vector[] = {&r->slope, &r->next, &r->direction};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++)
        if (!(*vector[k] = spl_new(a, m, 3 * sizeof(double)))) return false;
    r->step = spl_new(a, MEMORY * m, 3 * sizeof *r->step);
    r->change = spl_new(a, MEMORY * m, 3 * sizeof *r->change);
    return r->element && r->value && r->force && r->trial && r->scratch && r->step && r->change;
}

static supple_result make(spl_relax *r, const spl_solid *solid, const supple_config *config, supple_error *error)
{
    const supple_allocator *a = &r->allocator;
    const spl_elements *e = &solid->elements;
    r->unknown = spl_new(a, (size_t)e->vertex_count, sizeof *r->unknown);
    if (!r->unknown) return spl_fail_memory(error, "the poses' relaxation");
    for (int32_t v = 0; v < e->vertex_count; v++)
        r->unknown[v] = solid->body->bone[v] < 0 && solid->island[v] < 0 ? r->unknown_count++ : -1;
    if (r->unknown_count == 0) return SUPPLE_OK;
    supple_result result = spl_assembly_create(e->tet, (size_t)e->count, 4, e->vertex_count, r->unknown,
                                               r->unknown_count, 1, a, &r->assembly, error);
    if (result == SUPPLE_OK) result = spl_stars_create(e, a, &r->stars, error);
    if (result != SUPPLE_OK) return result;
    if (!take(r)) return spl_fail_memory(error, "the poses' relaxation");
    fill_elements(r);
    spl_assembly_gather(&r->assembly, r->element, r->value, NULL);
    spl_factor_options options = spl_factor_options_of(config);
    result = spl_factor_create(&r->assembly.pattern, &options, a, NULL, &r->factor, error);
    return result == SUPPLE_OK ? spl_factor_factorise(r->factor, r->value, error) : result;
}

supple_result spl_relax_create(const spl_solid *solid, const spl_law *law, const supple_config *config,
                               const supple_allocator *a, spl_relax **out, supple_error *error)
{
    *out = NULL;
    spl_relax *r = spl_new(a, 1, sizeof *r);
    if (!r) return spl_fail_memory(error, "the poses' relaxation");
    *r = (spl_relax){.allocator = *a};
    r->elastic = (spl_elastic){&solid->elements, law, solid->material.mu, solid->material.lambda, NULL, NULL};
    supple_result result = make(r, solid, config, error);
    if (result == SUPPLE_OK)
        *out = r;
    else
        spl_relax_destroy(r);
    return result;
}

void spl_relax_destroy(spl_relax *r)
{
    if (!r) return;
    supple_allocator a = r->allocator;
    spl_factor_destroy(r->factor);
    spl_assembly_release(&r->assembly, &a);
    spl_stars_release(&r->stars);
    void *all[] = {r->unknown, r->element, r->value, r->force,     r->scratch, r->trial,
                   r->slope,   r->next,    r->step,  r->direction, r->change};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) spl_free(&a, all[i]);
    spl_free(&a, r);
}

/* ---- a step ---- */

/* The energy at x, and its slope by free vertex. */
static double look(spl_relax *r, const double *x, double *slope)
{
    double energy = spl_elastic_forces(&r->elastic, &r->stars, x, r->force, NULL, r->scratch, NULL);
    for (size_t v = 0; v < (size_t)r->elastic.elements->vertex_count; v++)
        for (size_t i = 0; i < 3 && r->unknown[v] >= 0; i++)
            slope[3 * (size_t)r->unknown[v] + i] = -r->force[3 * v + i];
    return energy;
}

/* direction = -H slope, by the two loops over what is remembered, newest first and back. */
static supple_result aim(spl_relax *r)
{
    size_t n = 3 * (size_t)r->unknown_count;
    double by[MEMORY];
    for (size_t i = 0; i < n; i++) r->direction[i] = -r->slope[i];
    for (int32_t k = 0; k < r->kept; k++) {
        size_t at = (size_t)((r->newest + MEMORY - k) % MEMORY);
        const double *change = r->change + at * n;
        by[at] = spl_dense_dot(r->step + at * n, r->direction, n) / r->inner[at];
        for (size_t i = 0; i < n; i++) r->direction[i] -= by[at] * change[i];
    }
    supple_result result = spl_factor_solve(r->factor, r->direction, 3, NULL);
    for (int32_t k = r->kept - 1; k >= 0; k--) {
        size_t at = (size_t)((r->newest + MEMORY - k) % MEMORY);
        double off = by[at] - spl_dense_dot(r->change + at * n, r->direction, n) / r->inner[at];
        const double *step = r->step + at * n;
        for (size_t i = 0; i < n; i++) r->direction[i] += off * step[i];
    }
    return result;
}

static void go(const spl_relax *r, const double *x, double s, double *to)
{
    for (size_t v = 0; v < (size_t)r->elastic.elements->vertex_count; v++)
        for (size_t i = 0; i < 3; i++) {
            double d = r->unknown[v] >= 0 ? r->direction[3 * (size_t)r->unknown[v] + i] : 0;
            to[3 * v + i] = x[3 * v + i] + s * d;
        }
}

/* Keeps a step of `s` directions if the slope rose along it, as it does where the energy is convex. */
static void remember(spl_relax *r, double s)
{
    size_t n = 3 * (size_t)r->unknown_count, at = (size_t)((r->newest + 1) % MEMORY);
    double *step = r->step + at * n, *change = r->change + at * n;
    for (size_t i = 0; i < n; i++) step[i] = s * r->direction[i], change[i] = r->next[i] - r->slope[i];
    double inner = spl_dense_dot(step, change, n);
    if (!(inner > 0)) return;
    r->inner[at] = inner;
    r->newest = (int32_t)at;
    if (r->kept < MEMORY) r->kept++;
}

/* False: nothing is gained any more. */
static bool advance(spl_relax *r, double *x, double *energy)
{
    size_t n = 3 * (size_t)r->unknown_count;
    double fall = spl_dense_dot(r->slope, r->direction, n), s = 1;
    for (int k = 0; fall < 0 && k < SHORTER; k++, s /= 2) {
        go(r, x, s, r->trial);
        double there = look(r, r->trial, r->next);
        if (!(there <= *energy + decrease * s * fall)) continue;
        remember(r, s);
        double *slope = r->slope;
        r->slope = r->next;
        r->next = slope;
        *energy = there;
        memcpy(x, r->trial, 3 * (size_t)r->elastic.elements->vertex_count * sizeof *x);
        return true;
    }
    return false;
}

double spl_relax_run(spl_relax *r, double *x, int32_t steps)
{
    if (r->unknown_count == 0) return 0;
    double energy = look(r, x, r->slope);
    r->kept = r->newest = 0;
    for (int32_t k = 0; k < steps; k++)
        if (aim(r) != SUPPLE_OK || !advance(r, x, &energy)) break;
    return energy;
}
