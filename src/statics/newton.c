/* Newton's method with a line search.
 *
 * Far from the solution the element Hessians are projected (Teran et al. 2005), so that every step descends; near it
 * the exact ones are tried first, for quadratic convergence (Nocedal and Wright 2006, theorem 3.5). A matrix that is
 * not positive definite after all is shifted, more each time (there, algorithm 3.3). The line search is Armijo's; where
 * the energy no longer resolves the step, the slope decides (Hager and Zhang 2005, the approximate Wolfe condition). */
#include "statics/newton.h"
#include "core/error.h"
#include "fem/filter.h"

#include <math.h>
#include <string.h>

static const double ARMIJO = 1e-4;        /* share of the predicted decrease that is asked for */
static const double ENERGY_NOISE = 1e-12; /* of the energy's scale: below this its differences say nothing */
static const double FIRST_SHIFT = 1e-6, LAST_SHIFT = 1e8; /* in units of the mean diagonal */

static const double BLEND_BELOW = 0.1, LEAST_BLEND = 0.125; /* residual; share of the negative curvature */

static const double VOLUME_LEFT = 0.1; /* of a tet, after a step of a law that is a barrier */

static const double LONGEST = 8; /* steps of a line at a time */

enum {
    BACKTRACKS = 40,
    EXTENSIONS = 3,
    PATIENCE = 3
}; /* PATIENCE: steps after a failure before more of the curvature is tried */

/* x = from + alpha direction on the free vertices. */
static void move(const spl_statics *s, const double *from, double alpha, double *x)
{
    for (size_t u = 0; u < (size_t)s->free_count; u++)
        for (size_t c = 0; c < 3; c++) {
            size_t at = 3 * (size_t)s->vertex[u] + c;
            x[at] = from[at] + alpha * s->direction[3 * u + c];
        }
}

/* The derivative of the energy along the direction, from the forces of the last evaluation. */
static double slope(const spl_statics *s)
{
    double sum = 0;
    for (size_t u = 0; u < (size_t)s->free_count; u++)
        for (size_t c = 0; c < 3; c++) sum -= s->force[3 * (size_t)s->vertex[u] + c] * s->direction[3 * u + c];
    return sum;
}

/* Whether a point at alpha along the line is good enough. */
static bool accepts(const spl_newton *n, const spl_point *p, double alpha, double slope0)
{
    if (!isfinite(p->energy) || !isfinite(p->norm)) return false;
    if (p->energy <= n->at.energy + ARMIJO * alpha * slope0) return true;
    bool level = p->energy <= n->at.energy + ENERGY_NOISE * fmax(p->scale, n->at.scale);
    return level && slope(n->s) <= (2 * ARMIJO - 1) * slope0;
}

/* The next alpha: the minimum of the parabola through what is known, kept between a tenth and a half. */
static double shorter(double alpha, double slope0, double energy0, double energy)
{
    double curve = energy - energy0 - alpha * slope0, best = -slope0 * alpha / (2 * curve);
    if (!isfinite(best)) return 0.1 * alpha;
    return alpha * fmin(0.5, fmax(0.1, best));
}

/* The share of `length` directions from n->x on that the extra allows, and a law that is a barrier. */
static supple_result bound_step(spl_newton *n, double length, double *share)
{
    spl_statics *s = n->s;
    const spl_extra *extra = n->problem->extra;
    bool extra_bounds = extra && extra->max_step, law_bounds = n->elastic.law->barrier;
    *share = 1;
    if (!extra_bounds && !law_bounds) return SUPPLE_OK;
    memset(s->spread, 0, 3 * (size_t)s->elements->vertex_count * sizeof *s->spread);
    for (size_t u = 0; u < (size_t)s->free_count; u++)
        for (size_t c = 0; c < 3; c++) s->spread[3 * (size_t)s->vertex[u] + c] = length * s->direction[3 * u + c];
    supple_result result = extra_bounds ? extra->max_step(extra->context, n->x, s->spread, share, n->error) : SUPPLE_OK;
    if (result == SUPPLE_OK && law_bounds)
        *share = fmin(*share, spl_inversion_filter(s->elements, s->held, n->x, s->spread, VOLUME_LEFT, s->pool));
    return result;
}

/* A projected Hessian can be far too stiff: then the slope has hardly fallen after the whole step. Follows it to where
 * it would vanish if it went on falling as it did, while that gains energy. */
static void go_on(spl_newton *n, double slope0)
{
    spl_statics *s = n->s;
    double alpha = 1, here = slope(s), fall = here - slope0;
    for (int i = 0; i < EXTENSIONS && here < 0.5 * slope0; i++) {
        double more = fall > 0 ? fmin(LONGEST, -here / fall) : LONGEST, share;
        if (bound_step(n, more, &share) != SUPPLE_OK) return;
        if (!(share > 0)) {
            n->at = spl_newton_evaluate(n, n->x); /* the extra's Hessian is of the last forces */
            return;
        }
        more *= share;
        move(s, s->trial, alpha + more, n->x);
        spl_point p = spl_newton_evaluate(n, n->x);
        if (!accepts(n, &p, more, here)) {
            move(s, s->trial, alpha, n->x);
            n->at = spl_newton_evaluate(n, n->x);
            return;
        }
        n->at = p;
        alpha += more;
        fall = (slope(s) - here) / more;
        here = slope(s);
    }
}

/* How far the direction moves a vertex, at most. */
static double longest(const spl_statics *s)
{
    double most = 0;
    for (size_t u = 0; u < (size_t)s->free_count; u++) {
        const double *d = s->direction + 3 * u;
        most = fmax(most, d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    }
    return sqrt(most);
}

/* Moves x along the direction; false (x and the forces as before) where nothing was accepted. */
static bool search(spl_newton *n, double slope0, double alpha)
{
    spl_statics *s = n->s;
    bool whole = alpha == 1;
    memcpy(s->trial, n->x, 3 * (size_t)s->elements->vertex_count * sizeof *n->x);
    for (int i = 0; i < BACKTRACKS; i++) {
        move(s, s->trial, alpha, n->x);
        spl_point p = spl_newton_evaluate(n, n->x);
        if (accepts(n, &p, alpha, slope0)) {
            n->at = p;
            n->last_full = i == 0 && whole;
            n->still = n->last_full && longest(s) <= s->options.still;
            if (n->last_full) go_on(n, slope0);
            return true;
        }
        alpha = shorter(alpha, slope0, n->at.energy, p.energy);
    }
    memcpy(n->x, s->trial, 3 * (size_t)s->elements->vertex_count * sizeof *n->x);
    n->at = spl_newton_evaluate(n, n->x);
    return false;
}

static bool finite_direction(const spl_statics *s)
{
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)s->free_count; i++) sum += fabs(s->direction[i]);
    return isfinite(sum);
}

typedef enum outcome {
    MOVED,
    REFUSED, /* no factor, no descent, or nothing along the line */
    STALLED, /* nothing along the line, and the step predicted less than rounding */
    FAILED,  /* an error that no shift can mend */
} outcome;

/* One attempt with the matrix as it stands. */
static outcome attempt(spl_newton *n, supple_result *result)
{
    spl_statics *s = n->s;
    *result = spl_system_factorise(n, false);
    if (*result == SUPPLE_OK) {
        for (size_t u = 0; u < (size_t)s->free_count; u++)
            memcpy(s->rhs + 3 * u, s->force + 3 * (size_t)s->vertex[u], 3 * sizeof *s->rhs);
        *result = spl_system_solve(n, false);
    }
    if (*result != SUPPLE_OK) return *result == SUPPLE_ERROR_SOLVE ? REFUSED : FAILED;
    double slope0 = slope(s);
    if (!finite_direction(s) || !(slope0 < 0)) return REFUSED;
    double share;
    *result = bound_step(n, 1, &share);
    if (*result != SUPPLE_OK) return FAILED;
    n->stats->shortest = fmin(n->stats->shortest, share);
    if (share > 0 && search(n, slope0, share)) return MOVED;
    if (!(share > 0)) n->at = spl_newton_evaluate(n, n->x); /* the extra's Hessian is of the last forces */
    return -slope0 <= ENERGY_NOISE * n->at.scale ? STALLED : REFUSED;
}

/* Steps with a share of the negative curvature kept, the exact Hessian being all of it: as much as leaves the matrix
 * positive definite. Wholly projected Hessians are too stiff where elements snap through, and then hundreds of short
 * steps follow one another. */
static bool step_blended(spl_newton *n, outcome *out, supple_result *result)
{
    if (n->elastic.law->quadratic || !n->last_full || n->shift > 0 || n->at.residual > BLEND_BELOW) return false;
    for (; n->blend >= LEAST_BLEND; n->blend *= 0.5, n->patience = PATIENCE) {
        spl_system_assemble(n, SPL_HESSIAN_BLENDED);
        *out = attempt(n, result);
        if (*out == REFUSED) continue;
        n->stats->exact += *out == MOVED && n->blend == 1;
        if (n->patience > 0) n->patience--;
        if (n->patience == 0) n->blend = fmin(1, 2 * n->blend);
        return true;
    }
    n->blend = LEAST_BLEND;
    return false;
}

static outcome step(spl_newton *n, supple_result *result)
{
    outcome out;
    if (step_blended(n, &out, result)) return out;
    spl_system_assemble(n, SPL_HESSIAN_PROJECTED);
    for (;;) {
        out = attempt(n, result);
        if (out != REFUSED) break;
        double next = fmax(FIRST_SHIFT, 10 * n->shift);
        if (next > LAST_SHIFT) break;
        spl_system_shift(n, next - n->shift);
        n->shift = next;
    }
    n->shift = n->shift > 10 * FIRST_SHIFT ? 0.1 * n->shift : 0; /* less for the next step */
    return out;
}

/* Whether to stop before another step. */
static bool done(spl_newton *n)
{
    spl_statics_stats *stats = n->stats;
    stats->rounding = n->at.norm <= n->at.noise && n->at.residual > n->s->options.tolerance;
    stats->still = n->still;
    stats->converged = stats->rounding || stats->still || n->at.residual <= n->s->options.tolerance;
    return stats->converged || stats->iterations >= n->s->options.max_iterations;
}

supple_result spl_newton_run(spl_newton *n)
{
    spl_statics_stats *stats = n->stats;
    const spl_statics_options *options = &n->s->options;
    supple_result result = SUPPLE_OK;
    const spl_extra *extra = n->problem->extra;
    spl_extended_forget(n->s);
    stats->shortest = 1;
    if (extra && extra->begin) result = extra->begin(extra->context, n->x, n->error);
    if (result != SUPPLE_OK) return result;
    n->at = spl_newton_evaluate(n, n->x);
    if (!isfinite(n->at.energy) || !isfinite(n->at.norm))
        return spl_fail(n->error, SUPPLE_ERROR_SOLVE, "statics: energy or forces of the start are not finite");
    bool bounded = (extra && extra->max_step) || n->elastic.law->barrier;
    if (!bounded) spl_newton_restart(n); /* else it would go through what bounds steps */
    for (;;) {
        if (options->history) options->history[stats->iterations] = n->at.residual;
        if (done(n)) return SUPPLE_OK;
        result = spl_progress(options->config, "", 0, n->error);
        if (result != SUPPLE_OK) return result;
        outcome out = step(n, &result);
        if (out == STALLED) return SUPPLE_OK; /* not converged, and all that double precision gives */
        if (out == FAILED) return result;
        if (out == REFUSED && bounded) return SUPPLE_OK; /* wedged between bounds: x is a state all the same */
        if (out == REFUSED)
            return spl_fail(n->error, SUPPLE_ERROR_SOLVE,
                            "statics: no descent from a residual of %.3g after %d steps: stiffnesses are likely "
                            "out of range",
                            n->at.residual, (int)stats->iterations);
        stats->iterations++;
    }
}
