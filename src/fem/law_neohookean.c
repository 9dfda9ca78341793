/* Stable neo-Hookean: Smith, de Goes and Kim 2018, "Stable Neo-Hookean Flesh Simulation", equation 14:
 *
 *     psi = m/2 (I_C - 3) + l/2 (J - alpha)^2 - m/2 log(I_C + 1),    I_C = |F|^2, J = det F
 *
 * with m = 4/3 mu, l = lambda + 5/6 mu (their section 3.4), so that small strains match linear elasticity, and
 * alpha = 1 + 3/4 m/l, so that rest is free of stress. l > 0 for every Poisson's ratio in (-1, 0.5). A constant is
 * added that makes psi(I) = 0. Polynomial but for the logarithm: smooth for all F. */
#include "fem/law.h"
#include "fem/principal.h"

typedef struct matched {
    double m, l, alpha;
} matched;

static matched match(const spl_law_input *in)
{
    matched p = {4.0 / 3 * in->mu, in->lambda + 5.0 / 6 * in->mu, 0};
    p.alpha = 1 + 0.75 * p.m / p.l;
    return p;
}

/* l/2 ((J - alpha)^2 - (1 - alpha)^2) = l (J - 1) ((J + 1)/2 - alpha), and the logarithm of (I_C + 1) / 4 = 1 + e / 4:
 * near rest the differences are taken before they cancel. */
static double energy(const spl_law_input *in)
{
    matched p = match(in);
    double e = spl_mat3_dot(&in->F, &in->F) - 3, J = spl_mat3_det(&in->F);
    return 0.5 * p.m * (e - log1p(0.25 * e)) + p.l * (J - 1) * (0.5 * (J + 1) - p.alpha);
}

/* P = m (1 - 1 / (I_C + 1)) F + l (J - alpha) cof F */
static void stress(const spl_law_input *in, spl_mat3 *P)
{
    matched p = match(in);
    spl_mat3 C = spl_mat3_cofactor(&in->F);
    double I = spl_mat3_dot(&in->F, &in->F), a = p.m * I / (I + 1), b = p.l * (spl_mat3_det(&in->F) - p.alpha);
    for (int i = 0; i < 9; i++) P->m[i] = a * in->F.m[i] + b * C.m[i];
}

static double both(const spl_law_input *in, spl_mat3 *P)
{
    stress(in, P);
    return energy(in);
}

/* d cof(F) / dF, times `by`, added: the block of columns a != b is the cross-product matrix of +- the third column. */
static void add_cofactor_derivative(const spl_mat3 *F, double by, double H[81])
{
    for (int c = 0; c < 3; c++) {
        int a = (c + 1) % 3, b = (c + 2) % 3; /* cof column a = f_b x f_c, so d/df_b = -[f_c]x */
        double x = by * F->m[3 * c], y = by * F->m[3 * c + 1], z = by * F->m[3 * c + 2];
        const double cross[9] = {0, z, -y, -z, 0, x, y, -x, 0}; /* [f_c]x, column-major */
        for (int s = 0; s < 3; s++)
            for (int r = 0; r < 3; r++) {
                H[9 * (3 * b + s) + 3 * a + r] -= cross[3 * s + r];
                H[9 * (3 * a + s) + 3 * b + r] += cross[3 * s + r];
            }
    }
}

/* H = m (1 - 1/(I+1)) I + 2 m / (I+1)^2 vec F vec F^T + l vec C vec C^T + l (J - alpha) dC/dF, C = cof F */
static void hessian(const spl_law_input *in, double H[81])
{
    matched p = match(in);
    spl_mat3 C = spl_mat3_cofactor(&in->F);
    const double *F = in->F.m;
    double I = spl_mat3_dot(&in->F, &in->F), f = 2 * p.m / ((I + 1) * (I + 1));
    for (int j = 0; j < 9; j++) {
        for (int i = 0; i < 9; i++) H[9 * j + i] = f * (F[i] * F[j]) + p.l * (C.m[i] * C.m[j]);
        H[10 * j] += p.m * I / (I + 1);
    }
    add_cofactor_derivative(&in->F, p.l * (spl_mat3_det(&in->F) - p.alpha), H);
}

/* With J_i = J / s_i = s_j s_k: the quotients of the J_i are +- s_k, so flip and twist have no denominators. */
static void modes_of(const spl_stretch *f, const matched *p, spl_modes *m)
{
    const double *s = f->s;
    double I = s[0] * s[0] + s[1] * s[1] + s[2] * s[2], a = p->m * I / (I + 1), c = 2 * p->m / ((I + 1) * (I + 1));
    double b = p->l * (s[0] * s[1] * s[2] - p->alpha), J[3] = {s[1] * s[2], s[2] * s[0], s[0] * s[1]};
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        m->A[4 * k] = a + c * s[k] * s[k] + p->l * J[k] * J[k];
        m->A[3 * i + j] = m->A[3 * j + i] = c * s[i] * s[j] + p->l * J[i] * J[j] + b * s[k];
        m->flip[k] = a - b * s[k];
        m->twist[k] = a + b * s[k];
    }
}

static void projected(const spl_law_input *in, double H[81])
{
    spl_stretch f;
    spl_modes m;
    matched p = match(in);
    spl_stretch_of(&in->F, &f);
    modes_of(&f, &p, &m);
    spl_modes_clamp(&m);
    spl_modes_hessian(&f, &m, H);
}

const spl_law spl_law_neohookean = {
    .name = "neohookean",
    .summary = "stable neo-Hookean: keeps volume, recovers from any state",
    .energy = energy,
    .stress = stress,
    .hessian = hessian,
    .projected = projected,
    .both = both,
};
