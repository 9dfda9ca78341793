/* arap and corot: psi = mu sum (s_i - 1)^2 + lambda / 2 (sum s_i - 3)^2 in the principal stretches; arap has lambda 0.
 * The twist eigenvalues are 2 mu + 2 (lambda (sum s - 3) - 2 mu) / (s_i + s_j): what dR/dF contributes. */
#include "fem/corot4.h"
#include "fem/principal.h"
#include "math/cpu.h"

static double energy_at(const spl_stretch *f, double mu, double lambda)
{
    double a = f->s[0] - 1, b = f->s[1] - 1, c = f->s[2] - 1, trace = a + b + c;
    return mu * (a * a + b * b + c * c) + 0.5 * lambda * trace * trace;
}

static double energy_of(const spl_law_input *in, double lambda)
{
    spl_stretch f;
    spl_stretch_of(&in->F, &f);
    return energy_at(&f, in->mu, lambda);
}

/* P = 2 mu (F - R) + lambda tr(S - I) R: with F itself, so that only R carries the rounding of the decomposition. */
static double both_of(const spl_law_input *in, double lambda, spl_mat3 *P)
{
    spl_stretch f;
    spl_stretch_of(&in->F, &f);
    double turn = lambda * (f.s[0] + f.s[1] + f.s[2] - 3) - 2 * in->mu;
    spl_stretch_stress(&f, (double[3]){turn, turn, turn}, P);
    for (int i = 0; i < 9; i++) P->m[i] += 2 * in->mu * in->F.m[i];
    return energy_at(&f, in->mu, lambda);
}

static void modes_of(const spl_stretch *f, double mu, double lambda, spl_modes *m)
{
    double turn = 2 * (lambda * (f->s[0] + f->s[1] + f->s[2] - 3) - 2 * mu);
    for (int i = 0; i < 9; i++) m->A[i] = lambda + (i % 4 == 0 ? 2 * mu : 0);
    for (int k = 0; k < 3; k++) {
        m->flip[k] = 2 * mu;
        m->twist[k] = 2 * mu + turn / spl_stretch_sum(f->s, k);
    }
}

static void hessian_of(const spl_law_input *in, double lambda, bool clamp, double H[81])
{
    spl_stretch f;
    spl_modes m;
    spl_stretch_of(&in->F, &f);
    modes_of(&f, in->mu, lambda, &m);
    if (clamp) spl_modes_clamp(&m);
    spl_modes_hessian(&f, &m, H);
}

static double arap_energy(const spl_law_input *in)
{
    return energy_of(in, 0);
}
static void arap_stress(const spl_law_input *in, spl_mat3 *P)
{
    both_of(in, 0, P);
}
static double arap_both(const spl_law_input *in, spl_mat3 *P)
{
    return both_of(in, 0, P);
}
static void arap_hessian(const spl_law_input *in, double H[81])
{
    hessian_of(in, 0, false, H);
}
static void arap_projected(const spl_law_input *in, double H[81])
{
    hessian_of(in, 0, true, H);
}

static double corot_energy(const spl_law_input *in)
{
    return energy_of(in, in->lambda);
}
static void corot_stress(const spl_law_input *in, spl_mat3 *P)
{
    both_of(in, in->lambda, P);
}
static double corot_both(const spl_law_input *in, spl_mat3 *P)
{
    return both_of(in, in->lambda, P);
}
static void corot_hessian(const spl_law_input *in, double H[81])
{
    hessian_of(in, in->lambda, false, H);
}
static void corot_projected(const spl_law_input *in, double H[81])
{
    hessian_of(in, in->lambda, true, H);
}

const spl_law spl_law_arap = {
    .name = "arap",
    .summary = "as rigid as possible: resists any departure from a rotation, volume not at all",
    .energy = arap_energy,
    .stress = arap_stress,
    .hessian = arap_hessian,
    .projected = arap_projected,
    .both = arap_both,
};

const spl_law spl_law_corot = {
    .name = "corot",
    .summary = "corotated linear elasticity, the rotation found from F",
    .energy = corot_energy,
    .stress = corot_stress,
    .hessian = corot_hessian,
    .projected = corot_projected,
    .both = corot_both,
};

bool spl_corot4_knows(const spl_law *law)
{
    return spl_cpu_has_avx2() && (law == &spl_law_arap || law == &spl_law_corot);
}
