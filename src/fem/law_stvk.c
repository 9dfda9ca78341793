/* Saint Venant-Kirchhoff in the principal stretches, psi = mu sum e_i^2 + lambda / 2 (sum e_i)^2 with Green's strain
 * e(s) = (s^2 - 1) / 2. Under compression it softens from s = 1 / sqrt 3 on, and at s = 0 it resists no more. As Irving
 * et al. 2004 (section 5) we change it below a threshold, in the stretches: e'' falls linearly from 1 at s = KNEE to 0
 * at s = KNEE - RAMP, and below that e is a straight line. psi is C2, the force of a uniaxial compression grows without
 * end, through s = 0 into inversion, and the law is unchanged above KNEE. */
#include "fem/law.h"
#include "fem/principal.h"

#define KNEE  0.6
#define RAMP  0.1
#define FOOT  (KNEE - RAMP)
#define SLOPE (KNEE - 0.5 * RAMP) /* e' below FOOT */

static double bend(double s) /* e'' */
{
    return s >= KNEE ? 1 : s <= FOOT ? 0 : (s - FOOT) / RAMP;
}

static double slope(double s) /* e' */
{
    double over = s - FOOT;
    return s >= KNEE ? s : s <= FOOT ? SLOPE : SLOPE + over * over / (2 * RAMP);
}

static double strain(double s) /* e */
{
    if (s >= KNEE) return 0.5 * (s - 1) * (s + 1);
    double foot = 0.5 * (KNEE * KNEE - 1) - SLOPE * RAMP - RAMP * RAMP / 6, over = s - FOOT;
    return foot + SLOPE * over + (s > FOOT ? over * over * over / (6 * RAMP) : 0);
}

/* The divided differences of e' and e over two stretches, as means of e'' and e' over the pieces between them: nothing
 * cancels when the stretches meet. Midpoint and Simpson are exact on the pieces. */
static void differences(double s, double t, double *of_slope, double *of_strain)
{
    double low = fmin(s, t), high = fmax(s, t), width = high - low;
    if (!(width > 0)) {
        *of_slope = bend(s);
        *of_strain = slope(s);
        return;
    }
    const double knot[4] = {-INFINITY, FOOT, KNEE, INFINITY};
    *of_slope = *of_strain = 0;
    for (int i = 0; i < 3; i++) {
        double a = fmax(low, knot[i]), b = fmin(high, knot[i + 1]), part = (b - a) / width, mid = a + 0.5 * (b - a);
        if (!(b > a)) continue;
        *of_slope += part * bend(mid);
        *of_strain += part * (slope(a) + 4 * slope(mid) + slope(b)) / 6;
    }
}

/* q_i = 2 mu e_i + lambda sum e, so that d_i = q_i e'(s_i). Returns the energy. */
static double pressures(const double s[3], double mu, double lambda, double q[3])
{
    double e[3] = {strain(s[0]), strain(s[1]), strain(s[2])}, trace = e[0] + e[1] + e[2];
    for (int i = 0; i < 3; i++) q[i] = 2 * mu * e[i] + lambda * trace;
    return mu * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) + 0.5 * lambda * trace * trace;
}

static double energy(const spl_law_input *in)
{
    spl_stretch f;
    double q[3];
    spl_stretch_of(&in->F, &f);
    return pressures(f.s, in->mu, in->lambda, q);
}

static double both(const spl_law_input *in, spl_mat3 *P)
{
    spl_stretch f;
    double d[3];
    spl_stretch_of(&in->F, &f);
    double W = pressures(f.s, in->mu, in->lambda, d);
    for (int i = 0; i < 3; i++) d[i] *= slope(f.s[i]);
    spl_stretch_stress(&f, d, P);
    return W;
}

static void stress(const spl_law_input *in, spl_mat3 *P)
{
    both(in, P);
}

static void modes_of(const spl_stretch *f, double mu, double lambda, spl_modes *m)
{
    const double *s = f->s;
    double q[3], e1[3] = {slope(s[0]), slope(s[1]), slope(s[2])};
    pressures(s, mu, lambda, q);
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        double of_slope, of_strain;
        differences(s[i], s[j], &of_slope, &of_strain);
        m->A[4 * k] = (2 * mu + lambda) * e1[k] * e1[k] + q[k] * bend(s[k]);
        m->A[3 * i + j] = m->A[3 * j + i] = lambda * e1[i] * e1[j];
        /* q_i e'_i - q_j e'_j by the product rule of divided differences */
        m->flip[k] = 0.5 * (q[i] + q[j]) * of_slope + mu * (e1[i] + e1[j]) * of_strain;
        m->twist[k] = (q[i] * e1[i] + q[j] * e1[j]) / spl_stretch_sum(s, k);
    }
}

static void hessian_of(const spl_law_input *in, bool clamp, double H[81])
{
    spl_stretch f;
    spl_modes m;
    spl_stretch_of(&in->F, &f);
    modes_of(&f, in->mu, in->lambda, &m);
    if (clamp) spl_modes_clamp(&m);
    spl_modes_hessian(&f, &m, H);
}

static void hessian(const spl_law_input *in, double H[81])
{
    hessian_of(in, false, H);
}
static void projected(const spl_law_input *in, double H[81])
{
    hessian_of(in, true, H);
}

const spl_law spl_law_stvk = {
    .name = "stvk",
    .summary = "Saint Venant-Kirchhoff, continued below a stretch of 0.6 so that it resists inversion",
    .energy = energy,
    .stress = stress,
    .hessian = hessian,
    .projected = projected,
    .both = both,
};
