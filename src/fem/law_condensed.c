/* neohookean in the mixed paper's condensed form: psi(sym(R^T F)) with R given (eq. 12 for a law that is not
 * quadratic). S = sym(R^T F) turns indefinite where F is more than 90 degrees from R; the stable law is smooth there
 * too, so it needs no continuation. */
#include "fem/law.h"

/* sym(R^T M) */
static spl_mat3 turned_back(const spl_mat3 *R, const spl_mat3 *M)
{
    spl_mat3 T = spl_mat3_transposed_mul(R, M), S;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) S.m[3 * c + r] = 0.5 * (T.m[3 * c + r] + T.m[3 * r + c]);
    return S;
}

static spl_law_input inner(const spl_law_input *in)
{
    return (spl_law_input){turned_back(&in->R, &in->F), spl_mat3_identity(), in->mu, in->lambda};
}

static double energy(const spl_law_input *in)
{
    spl_law_input s = inner(in);
    return spl_law_neohookean.energy(&s);
}

static void stress(const spl_law_input *in, spl_mat3 *P)
{
    spl_law_input s = inner(in);
    spl_mat3 Q, identity = spl_mat3_identity();
    spl_law_neohookean.stress(&s, &Q);
    Q = turned_back(&identity, &Q);
    *P = spl_mat3_mul(&in->R, &Q);
}

static double both(const spl_law_input *in, spl_mat3 *P)
{
    stress(in, P);
    return energy(in);
}

/* H = T^T K T with T: dF -> sym(R^T dF) and K the Hessian at S, column by column; symmetric to the bit. */
static void congruent(const spl_law_input *in, const double K[81], double H[81])
{
    spl_mat3 identity = spl_mat3_identity();
    for (int j = 0; j < 9; j++) {
        spl_mat3 unit = {{0}}, d, q = {{0}};
        unit.m[j] = 1;
        d = turned_back(&in->R, &unit);
        for (int k = 0; k < 9; k++)
            for (int i = 0; i < 9; i++) q.m[i] += K[9 * k + i] * d.m[k];
        q = turned_back(&identity, &q);
        q = spl_mat3_mul(&in->R, &q);
        for (int i = 0; i < j; i++) H[9 * j + i] = H[9 * i + j];
        for (int i = j; i < 9; i++) H[9 * j + i] = q.m[i];
    }
}

static void hessian(const spl_law_input *in, double H[81])
{
    spl_law_input s = inner(in);
    double K[81];
    spl_law_neohookean.hessian(&s, K);
    congruent(in, K, H);
}

static void projected(const spl_law_input *in, double H[81])
{
    spl_law_input s = inner(in);
    double K[81];
    spl_law_neohookean.projected(&s, K);
    congruent(in, K, H);
}

const spl_law spl_law_mixed_neohookean = {
    .name = "mixed-neohookean",
    .summary = "stable neo-Hookean of the symmetric part about a rotation that is given",
    .needs_rotation = true,
    .energy = energy,
    .stress = stress,
    .hessian = hessian,
    .projected = projected,
    .both = both,
};
