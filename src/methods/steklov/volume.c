#include "methods/steklov/volume.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"

#include <math.h>
#include <string.h>

#define NARROW 1e-4 /* of the residual: goals that products in float reach */

/* ---- creation ---- */

static supple_result make_ic(spl_volume *v, bool single, supple_error *error)
{
    const spl_exrotated *s = v->system;
    spl_ic3_options o = {
        .single = single, .plain = s->matrix.plain, .cut = s->order.cut, .part_count = s->order.part_count};
    supple_result result = spl_ic3_create(&s->matrix.rows, s->order.count, &o, &s->allocator, s->pool, &v->ic, error);
    if (result == SUPPLE_OK) result = spl_ic3_factorise(v->ic, s->matrix.value, NULL, NULL, error);
    return result;
}

/* The lower triangle's pattern, from the rows. */
static supple_result make_direct(spl_volume *v, const supple_solver_backend *backend, supple_error *error)
{
    const spl_exrotated *s = v->system;
    const spl_rows *r = &s->matrix.rows;
    size_t count = 0, entries = r->start[r->n];
    int32_t *pair = spl_new(&s->allocator, entries, 2 * sizeof *pair);
    if (!pair) return spl_fail_memory(error, "a sparse factor");
    for (int32_t i = 0; i < r->n; i++)
        for (size_t q = r->start[i]; q < r->start[i + 1]; q++) {
            pair[2 * count] = i;
            pair[2 * count++ + 1] = r->column[q];
        }
    supple_result result = spl_pattern_from_pairs(r->n, 3, pair, count, &s->allocator, &v->pattern, error);
    spl_free(&s->allocator, pair);
    if (result != SUPPLE_OK) return result;
    spl_factor_options o = {.backend = backend, .plain = s->matrix.plain};
    v->lower = spl_new(&s->allocator, spl_pattern_values(&v->pattern), sizeof *v->lower);
    if (!v->lower) return spl_fail_memory(error, "a sparse factor");
    return spl_factor_create(&v->pattern, &o, &s->allocator, s->pool, &v->factor, error);
}

supple_result spl_volume_create(spl_exrotated *system, spl_springs *springs, const spl_volume_options *options,
                                spl_volume *out, supple_error *error)
{
    const supple_allocator *a = &system->allocator;
    size_t n = 3 * (size_t)system->order.count;
    *out = (spl_volume){.system = system,
                        .springs = springs,
                        .precondition = options->precondition,
                        .inverse = options->inverse,
                        .max_iterations = options->max_iterations};
    out->dx = spl_new(a, n, sizeof *out->dx);
    out->image = spl_new(a, n, sizeof *out->image);
    bool ok = out->dx && out->image;
    if (options->history) {
        out->history = spl_new(a, (size_t)options->max_iterations + 1, sizeof *out->history);
        ok = ok && out->history;
    }
    supple_result result = ok ? SUPPLE_OK : spl_fail_memory(error, "the flesh's solver");
    if (result == SUPPLE_OK) result = spl_pcg_create(n, 1, a, system->pool, &out->pcg, error);
    bool ic = out->precondition == SPL_PRECONDITION_CONTACT || out->precondition == SPL_PRECONDITION_SKINNED;
    if (result == SUPPLE_OK && ic && !out->inverse.apply) result = make_ic(out, options->single, error);
    if (result == SUPPLE_OK && out->precondition == SPL_PRECONDITION_DIRECT)
        result = make_direct(out, options->backend, error);
    if (result == SUPPLE_OK && out->precondition == SPL_PRECONDITION_CONTACT)
        result = spl_zone_create(system, springs, &out->zone, error);
    if (result == SUPPLE_OK && out->precondition == SPL_PRECONDITION_CONTACT)
        result = spl_active_create(system, springs, &out->active, error);
    if (result != SUPPLE_OK) spl_volume_release(out);
    return result;
}

void spl_volume_release(spl_volume *v)
{
    if (!v->system) return;
    const supple_allocator *a = &v->system->allocator;
    spl_zone_release(&v->zone);
    spl_active_release(&v->active);
    spl_ic3_destroy(v->ic);
    spl_factor_destroy(v->factor);
    spl_pcg_destroy(v->pcg);
    spl_pattern_release(&v->pattern, a);
    spl_free(a, v->lower);
    spl_free(a, v->dx);
    spl_free(a, v->image);
    spl_free(a, v->history);
    *v = (spl_volume){0};
}

/* ---- a step ---- */

/* In float: enough for a few digits, and the steps that need more see their residuals in double. */
static void multiply_narrow(void *context, const double *x, double *y, int32_t k)
{
    (void)k;
    const spl_volume *v = context;
    spl_exrotated_multiply_narrow(v->system, SPL_ALL, x, y, 0);
    spl_springs_multiply(v->springs, 0, x, y);
}

static void multiply(void *context, const double *x, double *y, int32_t k)
{
    (void)k;
    const spl_volume *v = context;
    spl_exrotated_multiply(v->system, SPL_ALL, x, y, 0);
    spl_springs_multiply(v->springs, 0, x, y);
}

/* Without the springs, or with no more than their diagonals. */
static void precondition_flesh(void *context, const double *x, double *y)
{
    spl_volume *v = context;
    if (v->ic)
        spl_ic3_solve(v->ic, v->system->turn, x, y);
    else
        v->inverse.apply(v->inverse.context, x, y);
}

static void precondition(void *context, const double *x, double *y, int32_t k)
{
    spl_volume *v = context;
    size_t n = 3 * (size_t)v->system->order.count;
    if (v->ic || v->inverse.apply) {
        precondition_flesh(v, x, y);
        if (v->zone.ready) spl_zone_project(&v->zone, y);
        return;
    }
    memcpy(y, x, n * sizeof *y);
    if (spl_factor_solve(v->factor, y, k, NULL) != SUPPLE_OK) memcpy(y, x, n * sizeof *y);
}

/* Springs on the diagonal blocks of the pose's own matrix. */
static void add_springs(const spl_volume *v)
{
    const spl_exrotated *s = v->system;
    for (int32_t i = 0; i < v->springs->count; i++) {
        const spl_contact_spring *p = &v->springs->list[i];
        double n[3] = {p->normal.x, p->normal.y, p->normal.z};
        for (int q = -1; q < (p->corner[0] < 0 ? 0 : 3); q++) {
            int32_t node = s->order.node[q < 0 ? p->vertex : p->corner[q]];
            if (node < 0) continue;
            double k = p->stiffness * (q < 0 ? 1 : p->bary[q] * p->bary[q]), *B = v->lower + 9 * v->pattern.start[node];
            for (int c = 0; c < 9; c++) B[c] += k * (p->along ? n[c % 3] * n[c / 3] : c % 4 == 0);
        }
    }
}

static supple_result prepare(spl_volume *v, supple_error *error)
{
    const spl_exrotated *s = v->system;
    if (v->precondition == SPL_PRECONDITION_DIRECT) {
        spl_matrix3_lower(&s->matrix, v->lower, s->pool);
        add_springs(v);
        return spl_factor_factorise(v->factor, v->lower, error);
    }
    if (v->precondition != SPL_PRECONDITION_CONTACT) return SUPPLE_OK;
    spl_zone_prepare(&v->zone);
    /* The factor knows the springs' diagonal only where the zone could not be factorised. */
    if (v->inverse.apply) return v->inverse.stiffen(v->inverse.context, !v->zone.ready && v->springs->count > 0, error);
    if (!v->zone.ready) spl_springs_set_extra(v->springs);
    spl_ic3_stiffen(v->ic, v->springs->stiff, v->zone.ready ? 0 : v->springs->stiff_count, v->springs->extra);
    return SUPPLE_OK;
}

/* dx . A dx of a solution by conjugate gradients from 0, for which dx . (A + springs) dx = dx . b. */
static double curvature_of(spl_volume *v, const double *b)
{
    size_t n = 3 * (size_t)v->system->order.count;
    double sum = 0;
    memset(v->image, 0, n * sizeof *v->image);
    spl_springs_multiply(v->springs, 0, v->dx, v->image);
    for (size_t i = 0; i < n; i++) sum += v->dx[i] * (b[i] - v->image[i]);
    return sum;
}

static double norm_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

static void multiply_flesh(void *context, const double *x, double *y)
{
    const spl_volume *v = context;
    spl_exrotated_multiply(v->system, SPL_ALL, x, y, 0);
}

static void multiply_flesh_narrow(void *context, const double *x, double *y)
{
    const spl_volume *v = context;
    spl_exrotated_multiply_narrow(v->system, SPL_ALL, x, y, 0);
}

/* Where pairs are kept the set follows every iteration. */
static supple_result step_active(spl_volume *v, spl_newton *n, double goal, supple_error *error)
{
    size_t count = 3 * (size_t)v->system->order.count;
    bool narrow = v->system->narrow && goal > NARROW * norm_of(n->residual, count);
    spl_active_problem p = {.zone = &v->zone,
                            .multiply = narrow ? multiply_flesh_narrow : multiply_flesh,
                            .precondition = precondition_flesh,
                            .context = v,
                            .goal = goal,
                            .max_iterations = v->max_iterations};
    spl_active_result solved = spl_active_solve(&v->active, &p, n->force);
    if (!solved.finite)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "the elastic system has no finite solution in this pose");
    n->stats.breakdowns += !solved.definite;
    n->stats.boundary_iterations += solved.iterations;
    n->follows = !solved.stalled;
    v->stalled = solved.stalled;
    spl_newton_measure(n, v->active.dx, count / 3);
    spl_newton_move(n, SPL_ALL, v->active.dx);
    return SUPPLE_OK;
}

/* Springs have to be those of known pairs with planes. */
static bool may_follow(const spl_volume *v)
{
    const spl_springs *s = v->springs;
    return v->zone.ready && !v->stalled && !s->frozen && (s->keep || s->along);
}

static supple_result step(void *state, spl_newton *n, double goal, supple_error *error)
{
    spl_volume *v = state;
    size_t count = 3 * (size_t)v->system->order.count;
    double start = spl_now_ms(), prepared;
    supple_result result = prepare(v, error);
    if (result != SUPPLE_OK) return result;
    prepared = spl_now_ms();
    if (n->stats.newton == 0) v->active.has_last = v->stalled = false;
    if (may_follow(v)) {
        result = step_active(v, n, goal, error);
        n->stats.ms_precondition += prepared - start;
        n->stats.ms_boundary += spl_now_ms() - prepared;
        return result;
    }
    memset(v->dx, 0, count * sizeof *v->dx);
    if (v->zone.ready) spl_zone_solve(&v->zone, n->residual, v->dx);
    bool narrow = v->system->narrow && goal > NARROW * norm_of(n->residual, count);
    spl_pcg_problem p = {.multiply = narrow ? multiply_narrow : multiply,
                         .multiply_context = v,
                         .precondition = v->precondition == SPL_PRECONDITION_NONE ? NULL : precondition,
                         .precondition_context = v,
                         .tolerance = goal,
                         .absolute = true,
                         .from_zero = !v->zone.ready,
                         .recurrence = true,
                         .max_iterations = v->max_iterations,
                         .history = v->history};
    spl_pcg_result solved = spl_pcg_solve(v->pcg, &p, n->residual, v->dx, 1);
    if (solved.status == SPL_PCG_NOT_FINITE)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "the elastic system has no finite solution in this pose");
    spl_newton_search(n, SPL_ALL, v->dx, curvature_of(v, n->residual));
    n->stats.breakdowns += solved.status == SPL_PCG_BREAKDOWN;
    n->stats.boundary_iterations += solved.iterations;
    n->stats.ms_precondition += prepared - start;
    n->stats.ms_boundary += spl_now_ms() - prepared;
    return SUPPLE_OK;
}

const spl_formulation spl_formulation_volume = {.name = "volume", .step = step};
