/* A start from the held vertices alone, for where the given one is hopeless.
 *
 * Newton's method finds its way from a collapsed or a mirrored body. From tets turned at random it ends in a local
 * minimum where a few stay inside out. So where many tets are inverted, the start is made anew: first the smoothest
 * displacement that the held vertices allow (min sum W mu |F - I|^2), then a few rounds of local and global steps on
 * arap (Sorkine and Alexa 2007), which share that one factor and find the large rotations. */
#include "core/timer.h"
#include "statics/newton.h"

#include <string.h>

static const double HOPELESS = 0.01; /* share of inverted tets */

enum { ROUNDS = 20 };

static bool hopeless(const spl_newton *n)
{
    const spl_elements *e = n->s->elements;
    int32_t inverted = 0;
    for (int32_t k = 0; k < e->count; k++) {
        spl_mat3 F = spl_element_F(e, k, n->x);
        inverted += !(spl_mat3_det(&F) > 0);
    }
    return inverted > HOPELESS * e->count;
}

/* The forces of mu |F - I|^2 at y. */
static void unturned_forces(const spl_newton *n, const double *y, double *force)
{
    const spl_elements *e = n->s->elements;
    memset(force, 0, 3 * (size_t)e->vertex_count * sizeof *force);
    for (int32_t k = 0; k < e->count; k++) {
        spl_mat3 F = spl_element_F(e, k, y), one = spl_mat3_identity(), P = spl_mat3_sub(&F, &one);
        double f[12];
        P = spl_mat3_scale(&P, 2 * n->problem->mu[k]);
        spl_element_forces(e, k, &P, f);
        for (int i = 0; i < 12; i++) force[3 * e->tet[4 * (size_t)k + (size_t)(i / 3)] + i % 3] += f[i];
    }
}

/* y += A \ (forces and pins at y). */
static supple_result relax(spl_newton *n, double *y)
{
    spl_statics *s = n->s;
    for (int32_t i = 0; i < n->problem->pin_count; i++) {
        const spl_pin *p = &n->problem->pin[i];
        for (int c = 0; c < 3; c++) s->force[3 * p->vertex + c] -= p->stiffness * (y[3 * p->vertex + c] - p->target[c]);
    }
    for (size_t u = 0; u < (size_t)s->free_count; u++)
        memcpy(s->rhs + 3 * u, s->force + 3 * (size_t)s->vertex[u], 3 * sizeof *s->rhs);
    supple_result result = spl_system_solve(n, true);
    if (result != SUPPLE_OK) return result;
    for (size_t u = 0; u < (size_t)s->free_count; u++)
        for (size_t c = 0; c < 3; c++) y[3 * (size_t)s->vertex[u] + c] += s->direction[3 * u + c];
    return SUPPLE_OK;
}

/* The new start in y. */
static supple_result start_anew(spl_newton *n, double *y)
{
    spl_statics *s = n->s;
    spl_elastic arap = n->elastic;
    arap.law = &spl_law_arap;
    spl_system_assemble(n, SPL_HESSIAN_LAPLACE);
    supple_result result = spl_system_factorise(n, true);
    if (result != SUPPLE_OK) return result;
    unturned_forces(n, y, s->force);
    result = relax(n, y);
    for (int i = 0; i < ROUNDS && result == SUPPLE_OK; i++) {
        double began = spl_now_ms();
        spl_elastic_forces(&arap, &s->stars, y, s->force, NULL, s->scratch, s->pool);
        n->stats->ms.evaluate += spl_now_ms() - began;
        result = relax(n, y);
    }
    return result;
}

void spl_newton_restart(spl_newton *n)
{
    spl_statics *s = n->s;
    size_t bytes = 3 * (size_t)s->elements->vertex_count * sizeof *n->x;
    if (n->elastic.law->quadratic || !hopeless(n)) return; /* a quadratic energy has one minimum */
    memcpy(s->trial, n->x, bytes);
    if (start_anew(n, s->trial) == SUPPLE_OK) {
        spl_point p = spl_newton_evaluate(n, s->trial);
        if (p.energy < n->at.energy) {
            memcpy(n->x, s->trial, bytes);
            n->at = p;
            n->stats->restarted = true;
            return;
        }
    }
    n->at = spl_newton_evaluate(n, n->x); /* the forces are those of n->x again */
}
