/* exrotated and mixed: the rotation R is given, so both are quadratic in F. */
#include "fem/law.h"

/* Both Hessians have the eigenvalue 2 mu + 3 lambda along R; this lambda keeps it from being negative. */
static double positive_lambda(const spl_law_input *in)
{
    return in->lambda < -2.0 / 3 * in->mu ? -2.0 / 3 * in->mu : in->lambda;
}

/* ---- exrotated: mu |F - R|^2 + lambda / 2 tr^2(R^T F - I) ------------------------------------------------------- */

static double exrotated_energy(const spl_law_input *in)
{
    double trace = spl_mat3_dot(&in->R, &in->F) - 3;
    spl_mat3 D = spl_mat3_sub(&in->F, &in->R);
    return in->mu * spl_mat3_dot(&D, &D) + 0.5 * in->lambda * trace * trace;
}

static void exrotated_stress(const spl_law_input *in, spl_mat3 *P)
{
    double turn = in->lambda * (spl_mat3_dot(&in->R, &in->F) - 3) - 2 * in->mu;
    for (int i = 0; i < 9; i++) P->m[i] = 2 * in->mu * in->F.m[i] + turn * in->R.m[i];
}

static double exrotated_both(const spl_law_input *in, spl_mat3 *P)
{
    exrotated_stress(in, P);
    return exrotated_energy(in);
}

/* H = 2 mu I + lambda vec(R) vec(R)^T */
static void exrotated_fill(const spl_law_input *in, double lambda, double H[81])
{
    const double *R = in->R.m;
    for (int j = 0; j < 9; j++) {
        for (int i = 0; i < 9; i++) H[9 * j + i] = lambda * (R[i] * R[j]);
        H[10 * j] += 2 * in->mu;
    }
}

static void exrotated_hessian(const spl_law_input *in, double H[81])
{
    exrotated_fill(in, in->lambda, H);
}
static void exrotated_projected(const spl_law_input *in, double H[81])
{
    exrotated_fill(in, positive_lambda(in), H);
}

const spl_law spl_law_exrotated = {
    .name = "exrotated",
    .summary = "linear elasticity about a rotation that is given",
    .needs_rotation = true,
    .quadratic = true,
    .energy = exrotated_energy,
    .stress = exrotated_stress,
    .hessian = exrotated_hessian,
    .projected = exrotated_projected,
    .both = exrotated_both,
};

/* ---- mixed: mu |S - I|^2 + lambda / 2 tr^2(S - I), S = sym(R^T F) ------------------------------------------------ */

/* S - I */
static spl_mat3 symmetric_strain(const spl_law_input *in)
{
    spl_mat3 M = spl_mat3_transposed_mul(&in->R, &in->F), E;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) E.m[3 * c + r] = 0.5 * (M.m[3 * c + r] + M.m[3 * r + c]) - (r == c);
    return E;
}

static double mixed_energy(const spl_law_input *in)
{
    spl_mat3 E = symmetric_strain(in);
    double trace = spl_mat3_trace(&E);
    return in->mu * spl_mat3_dot(&E, &E) + 0.5 * in->lambda * trace * trace;
}

/* P = R (2 mu (S - I) + lambda tr(S - I) I) */
static void mixed_stress(const spl_law_input *in, spl_mat3 *P)
{
    spl_mat3 E = symmetric_strain(in);
    double trace = spl_mat3_trace(&E);
    for (int i = 0; i < 9; i++) E.m[i] = 2 * in->mu * E.m[i] + (i % 4 == 0 ? in->lambda * trace : 0);
    *P = spl_mat3_mul(&in->R, &E);
}

static double mixed_both(const spl_law_input *in, spl_mat3 *P)
{
    mixed_stress(in, P);
    return mixed_energy(in);
}

/* dP = mu (dF + R dF^T R) + lambda tr(R^T dF) R, so H[(r, a), (s, b)] = mu (delta + R_rb R_sa) + lambda R_ra R_sb. */
static void mixed_fill(const spl_law_input *in, double lambda, double H[81])
{
    const double *R = in->R.m;
    for (int b = 0; b < 3; b++)
        for (int s = 0; s < 3; s++) {
            double *h = H + 9 * (3 * b + s);
            for (int a = 0; a < 3; a++)
                for (int r = 0; r < 3; r++)
                    h[3 * a + r] = in->mu * (R[3 * b + r] * R[3 * a + s]) + lambda * (R[3 * a + r] * R[3 * b + s]);
            h[3 * b + s] += in->mu;
        }
}

static void mixed_hessian(const spl_law_input *in, double H[81])
{
    mixed_fill(in, in->lambda, H);
}
static void mixed_projected(const spl_law_input *in, double H[81])
{
    mixed_fill(in, positive_lambda(in), H);
}

const spl_law spl_law_mixed = {
    .name = "mixed",
    .summary = "linear elasticity of the symmetric part about a rotation that is given",
    .needs_rotation = true,
    .quadratic = true,
    .energy = mixed_energy,
    .stress = mixed_stress,
    .hessian = mixed_hessian,
    .projected = mixed_projected,
    .both = mixed_both,
};
