/* One point of the minimisation: energy, forces, the residual, and how much of the forces is rounding. */
#include "core/timer.h"
#include "statics/newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Young's modulus, mean over the tets. */
static double mean_young(const spl_newton *n)
{
    int32_t count = n->s->elements->count;
    double sum = 0;
    for (int32_t k = 0; k < count; k++) {
        double mu = n->problem->mu[k], lambda = n->problem->lambda[k];
        sum += mu * (3 * lambda + 2 * mu) / (lambda + mu);
    }
    return count > 0 ? sum / count : 0;
}

/* A position is known to eps |x|, so F to eps |x| |g|, and the force on a corner to (2 mu + 3 lambda) W |g|^2 of that.
 * The errors of different tets are independent: their squares add up. */
static double force_noise(const spl_newton *n)
{
    const spl_elements *e = n->s->elements;
    double sum = 0;
    for (int32_t k = 0; k < e->count; k++) {
        double stiff = (2 * n->problem->mu[k] + 3 * n->problem->lambda[k]) * e->volume[k];
        for (int i = 0; i < 4; i++) {
            const double *g = e->gradient + 12 * (size_t)k + 3 * i;
            double of_corner = stiff * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
            sum += of_corner * of_corner;
        }
    }
    return DBL_EPSILON * sqrt(sum);
}

/* Laws whose terms cancel at rest leave a few eps of each tet's stiffness in the energy. As a scale: see
 * ENERGY_NOISE. */
static double energy_floor(const spl_newton *n)
{
    const spl_elements *e = n->s->elements;
    double sum = 0;
    for (int32_t k = 0; k < e->count; k++) sum += (2 * n->problem->mu[k] + 3 * n->problem->lambda[k]) * e->volume[k];
    return 1e-3 * sum;
}

/* Counts the anchors of each piece; a piece with less than three turns freely. */
static void count_islands(spl_newton *n)
{
    spl_statics *s = n->s;
    memcpy(s->pinned, s->anchors, (size_t)s->piece_count * sizeof *s->pinned);
    for (int32_t i = 0; i < n->problem->pin_count; i++) {
        const spl_pin *p = &n->problem->pin[i];
        if (p->stiffness > 0 && s->held[p->vertex] < 0) s->pinned[s->component[p->vertex]]++;
    }
    for (int32_t v = 0; v < s->free_count; v++) { /* a negative count marks a piece that has been seen */
        int32_t *anchors = &s->pinned[s->component[s->vertex[v]]];
        if (*anchors < 0 || *anchors >= 3) continue;
        *anchors = -1;
        n->stats->islands++;
    }
}

void spl_newton_begin(spl_newton *n)
{
    double size = n->s->options.size > 0 ? n->s->options.size : cbrt(n->s->volume);
    n->floor = 1e-12 * mean_young(n) * size * size;
    n->stiffness = force_noise(n);
    n->scale = energy_floor(n);
    n->blend = 1;
    n->last_full = true;
    count_islands(n);
}

/* k/2 |x - target|^2, summed; forces added. */
static double add_pins(spl_newton *n, const double *x)
{
    double energy = 0;
    for (int32_t i = 0; i < n->problem->pin_count; i++) {
        const spl_pin *p = &n->problem->pin[i];
        for (int c = 0; c < 3; c++) {
            size_t at = 3 * (size_t)p->vertex + (size_t)c;
            double d = x[at] - p->target[c];
            n->s->force[at] -= p->stiffness * d;
            energy += p->stiffness / 2 * d * d;
        }
    }
    return energy;
}

/* -f . x; `scale` gets the sum of the absolute values. */
static double add_external(spl_newton *n, const double *x, double *scale)
{
    double energy = 0;
    const double *f = n->problem->force;
    for (size_t i = 0; f && i < 3 * (size_t)n->s->elements->vertex_count; i++) {
        n->s->force[i] += f[i];
        energy -= f[i] * x[i];
        *scale += fabs(f[i] * x[i]);
    }
    return energy;
}

spl_point spl_newton_evaluate(spl_newton *n, const double *x)
{
    spl_statics *s = n->s;
    double began = spl_now_ms(), far = 0;
    spl_point p = {.energy =
                       spl_elastic_forces(&n->elastic, &s->stars, x, s->force, s->magnitude, s->scratch, s->pool)};
    p.energy += add_pins(n, x);
    p.scale = n->scale + fabs(p.energy);
    p.energy += add_external(n, x, &p.scale);
    const spl_extra *extra = n->problem->extra;
    if (extra && extra->energy) {
        double energy = extra->energy(extra->context, x);
        extra->add_forces(extra->context, x, s->force);
        p.energy += energy;
        p.scale += fabs(energy);
    }
    p.residual = spl_residual(s->force, s->magnitude, s->held, s->elements->vertex_count, n->floor);
    for (int32_t u = 0; u < s->free_count; u++) {
        const double *f = s->force + 3 * (size_t)s->vertex[u], *at = x + 3 * (size_t)s->vertex[u];
        p.norm += f[0] * f[0] + f[1] * f[1] + f[2] * f[2];
        far = fmax(far, fmax(fabs(at[0]), fmax(fabs(at[1]), fabs(at[2]))));
    }
    p.norm = sqrt(p.norm);
    p.noise = n->stiffness * far;
    n->stats->evaluations++;
    n->stats->ms.evaluate += spl_now_ms() - began;
    return p;
}
