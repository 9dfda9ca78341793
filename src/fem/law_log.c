/* Neo-Hookean with the logarithm of the volume (Bonet and Wood 2008, section 6.4.3):
 *
 *     psi = mu/2 (|F|^2 - 3) - mu L + lambda/2 L^2,    L = ln J, J = det F > 0
 *
 * It grows without bound as J falls to 0, where lambda >= 0 (Poisson's ratio not negative; with lambda < 0 the square
 * wins in the end and pulls the tet flat). Where J <= 0 the energy is INFINITY, and stress and Hessian are zeros: a
 * solver must not get there, and one that asks all the same gets numbers. */
#include "fem/law.h"
#include "fem/principal.h"

/* det F of a tet that counts as flat: the entries of the Hessian, 1 / s^2, are still numbers here. */
#define FLAT 1e-100

/* Where sum of squares of F^T F - I is below this the energy is computed from that difference. */
#define NEAR_REST 0.01

/* q - log(1 + q): by the series where the difference would cancel. */
static double excess(double q)
{
    if (fabs(q) > 0.01) return q - log1p(q);
    double sum = 1.0 / 10;
    for (int n = 9; n >= 2; n--) sum = 1.0 / n - q * sum;
    return q * q * sum;
}

/* With D = F^T F - I, its invariants I1 = tr D, I2, I3 = det D, and q = I1 + I2 + I3 = J^2 - 1:
 *
 *     psi = mu/2 (I1 - log(1 + q)) + lambda/8 log^2(1 + q) = mu/2 (q - log(1 + q) - I2 - I3) + lambda/8 log^2(1 + q)
 *
 * where all terms are of second order in D: the rounding of D, one of 1, comes multiplied with the strain. */
static double energy_near_rest(const spl_law_input *in, const spl_mat3 *D)
{
    const double *d = D->m;
    double I1 = spl_mat3_trace(D), I3 = spl_mat3_det(D);
    double I2 = d[0] * d[4] + d[4] * d[8] + d[8] * d[0] - d[1] * d[1] - d[2] * d[2] - d[5] * d[5];
    double q = I1 + I2 + I3, L = 0.5 * log1p(q);
    return 0.5 * in->mu * (excess(q) - I2 - I3) + 0.5 * in->lambda * (L * L);
}

static double energy_at(const spl_law_input *in, double J)
{
    if (J <= FLAT) return INFINITY;
    spl_mat3 D = spl_mat3_transposed_mul(&in->F, &in->F);
    for (int i = 0; i < 9; i += 4) D.m[i] -= 1;
    if (spl_mat3_dot(&D, &D) < NEAR_REST) return energy_near_rest(in, &D);
    double L = log(J);
    return in->mu * (0.5 * spl_mat3_trace(&D) - L) + 0.5 * in->lambda * (L * L);
}

/* G = F^-T */
static spl_mat3 inverse_transpose(const spl_mat3 *F, double J)
{
    spl_mat3 C = spl_mat3_cofactor(F);
    return spl_mat3_scale(&C, 1 / J);
}

/* P = mu (F - G) + lambda L G */
static void stress_at(const spl_law_input *in, double J, spl_mat3 *P)
{
    if (J <= FLAT) {
        *P = spl_mat3_scale(&in->F, 0); /* NaN where F is not finite */
        return;
    }
    spl_mat3 G = inverse_transpose(&in->F, J);
    double b = in->lambda * log(J);
    for (int i = 0; i < 9; i++) P->m[i] = in->mu * (in->F.m[i] - G.m[i]) + b * G.m[i];
}

static double energy(const spl_law_input *in)
{
    return energy_at(in, spl_mat3_det(&in->F));
}

static void stress(const spl_law_input *in, spl_mat3 *P)
{
    stress_at(in, spl_mat3_det(&in->F), P);
}

static double both(const spl_law_input *in, spl_mat3 *P)
{
    double J = spl_mat3_det(&in->F);
    stress_at(in, J, P);
    return energy_at(in, J);
}

static void fill_zeros(double H[81])
{
    for (int i = 0; i < 81; i++) H[i] = 0;
}

/* dG = -G dF^T G, so dP = mu dF + lambda (G : dF) G + (mu - lambda L) G dF^T G:
 * H[(r, a), (s, b)] = mu delta + lambda G_ra G_sb + (mu - lambda L) G_rb G_sa. */
static void hessian(const spl_law_input *in, double H[81])
{
    double J = spl_mat3_det(&in->F);
    if (J <= FLAT) {
        fill_zeros(H);
        return;
    }
    spl_mat3 inverse = inverse_transpose(&in->F, J);
    const double *G = inverse.m;
    double turn = in->mu - in->lambda * log(J);
    for (int b = 0; b < 3; b++)
        for (int s = 0; s < 3; s++) {
            double *h = H + 9 * (3 * b + s);
            for (int a = 0; a < 3; a++)
                for (int r = 0; r < 3; r++)
                    h[3 * a + r] = in->lambda * (G[3 * a + r] * G[3 * b + s]) + turn * (G[3 * b + r] * G[3 * a + s]);
            h[3 * b + s] += in->mu;
        }
}

/* d_i = mu s_i - turn g_i with g_i = 1 / s_i and turn = mu - lambda L: the quotients of the g_i are +- g_i g_j. The g_i
 * are taken as s_j s_k / J, so that J is the same number as in the Hessian and of one sign with it. */
static void modes_of(const spl_stretch *f, const spl_law_input *in, double J, spl_modes *m)
{
    const double *s = f->s;
    double turn = in->mu - in->lambda * log(J), g[3] = {s[1] * s[2] / J, s[2] * s[0] / J, s[0] * s[1] / J};
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        double pair = g[i] * g[j];
        m->A[4 * k] = in->mu + (in->lambda + turn) * (g[k] * g[k]);
        m->A[3 * i + j] = m->A[3 * j + i] = in->lambda * pair;
        m->flip[k] = in->mu + turn * pair;
        m->twist[k] = in->mu - turn * pair;
    }
}

static void projected(const spl_law_input *in, double H[81])
{
    spl_stretch f;
    spl_modes m;
    double J = spl_mat3_det(&in->F);
    if (J <= FLAT) {
        fill_zeros(H);
        return;
    }
    spl_stretch_of(&in->F, &f);
    modes_of(&f, in, J, &m);
    spl_modes_clamp(&m);
    spl_modes_hessian(&f, &m, H);
}

const spl_law spl_law_log = {
    .name = "neohookean-log",
    .summary = "neo-Hookean with a barrier: infinite where a tetrahedron would be flat",
    .barrier = true,
    .energy = energy,
    .stress = stress,
    .hessian = hessian,
    .projected = projected,
    .both = both,
};
