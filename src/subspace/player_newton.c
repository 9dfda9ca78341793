/* Newton's method with a line search on what the step minimises: the tets' energy and the potential of the forces that
 * are linear in q. Between two points the work of a linear force is that of its mean, so no constant of a potential is
 * ever computed. Coriolis, Euler and centrifugal forces and the swept part of (16) have no symmetric Jacobian: they are
 * in the balance, hence as implicit as the rest once it converges, but not in the system; they are small there, by
 * omega h. */
#include "core/timer.h"
#include "subspace/player_private.h"

#include <math.h>
#include <string.h>

/* Lengths of a step that are tried: where springs have crumpled tets, thousandths may be right. */
enum { TRIALS = 12 };

/* A first step starts from the rest shape, others from the step before: so many times the iterations for it. */
enum { FIRST = 10, MOVING = 3, STILL = 12 };

static const double well = 0.1;      /* of the residual is left */
static const double decrease = 1e-4; /* of what the slope promises (Armijo) */

/* trial = q + s direction */
static void advance(spl_player *p, double s)
{
    memcpy(p->trial, p->q, p->at[p->count] * sizeof *p->trial);
    for (int32_t i = 0; i < p->count; i++) {
        const double *d = p->direction + p->blocks.offset[i];
        double *x = p->trial + p->at[i];
        for (int32_t k = 0; k < p->set[i].rank; k++) x[k] += s * d[k];
    }
}

/* The change of the potential from now to next, and what it is relative to. */
static double change(const spl_player *p, double s, double *scale)
{
    double work = 0, size = fabs(p->now.energy) + fabs(p->next.energy);
    for (size_t k = 0; k < p->blocks.offset[p->count]; k++) {
        double part = 0.5 * s * (p->now.linear[k] + p->next.linear[k]) * p->direction[k];
        work += part;
        size += fabs(part);
    }
    *scale = size;
    return p->next.energy - p->now.energy - work;
}

static void accept(spl_player *p)
{
    double *q = p->q;
    spl_balance b = p->now;
    p->q = p->trial;
    p->trial = q;
    p->now = p->next;
    p->next = b;
}

/* The minimum of the parabola through what is known, within bounds. */
static double shorter(double s, double slope, double fall)
{
    double best = 0.5 * slope * s * s / (fall + slope * s);
    return best > 0.05 * s ? fmin(best, 0.5 * s) : 0.05 * s;
}

static bool line_search(spl_player *p, double slope)
{
    double s = 1, scale, fall = INFINITY;
    for (int k = 0; k < TRIALS; k++, s = shorter(s, slope, fall)) {
        advance(p, s);
        spl_player_balance(p, p->trial, &p->next);
        fall = p->next.finite ? change(p, s, &scale) : INFINITY;
        if (!p->next.finite) continue;
        bool rounding = fabs(fall) <= (p->single ? 4e-6 : 1e-13) * scale && p->next.residual <= p->now.residual;
        if (fall <= -decrease * s * slope || rounding) {
            accept(p);
            return true;
        }
    }
    return false;
}

/* The direction, and the slope along it: forces times direction, not negative. `kept`: by the last iteration's system.
 */
static bool descend(spl_player *p, bool kept, double *slope)
{
    size_t n = p->blocks.offset[p->count];
    if (!kept && !spl_player_system(p)) return false;
    double start = spl_now_ms();
    for (size_t k = 0; k < n; k++) p->direction[k] = p->now.elastic[k] + p->now.linear[k];
    spl_blocks_solve(&p->blocks, p->direction);
    *slope = 0;
    for (size_t k = 0; k < n; k++) *slope += p->direction[k] * (p->now.elastic[k] + p->now.linear[k]);
    p->stats.ms_solve += spl_now_ms() - start;
    return isfinite(*slope);
}

bool spl_player_newton(spl_player *p)
{
    spl_player_balance(p, p->q, &p->now);
    if (!p->now.finite) return false;
    p->stats.converged = p->now.residual <= p->options.tolerance;
    int32_t most = p->options.newton > 0 ? p->options.newton : p->input->dt > 0 ? MOVING : STILL;
    if (p->fresh) most *= FIRST;
    /* The system of an iteration that did so well is as good for the next. That of the last step is not for this one:
     * ten of hero that walk took 2.9 iterations instead of 2.4, and 4% more time. */
    bool kept = false;
    most += p->stats.iterations; /* of earlier rounds */
    while (!p->stats.converged && p->stats.iterations < most) {
        double slope, before = p->now.residual;
        if (!descend(p, kept, &slope)) break;
        p->stats.iterations++;
        bool down = line_search(p, slope);
        if (!down && !kept) break;
        kept = down && p->now.residual < well * before;
        p->stats.converged = p->now.residual <= p->options.tolerance;
    }
    spl_player_rates(p, p->q);
    return true;
}
