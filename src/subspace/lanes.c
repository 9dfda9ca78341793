#include "subspace/lanes.h"

#include "math/cpu.h"

#include <string.h>

bool spl_lanes_known(void)
{
#ifdef SPL_HAVE_AVX2
    return spl_cpu_has_avx2();
#else
    return false;
#endif
}

bool spl_lanes_take_state(spl_lanes *l, const supple_allocator *a)
{
    size_t n = (size_t)l->count * SPL_LANES;
    l->base = spl_new(a, 9 * n, sizeof *l->base);
    l->D = spl_new(a, 9 * n, sizeof *l->D);
    l->W = spl_new(a, 9 * n, sizeof *l->W);
    l->E = spl_new(a, 6 * n, sizeof *l->E);
    l->hard = spl_new(a, (size_t)l->count, sizeof *l->hard);
    return l->base && l->D && l->W && l->E && l->hard;
}

bool spl_lanes_create(spl_lanes *l, int32_t tets, int32_t pad, const spl_law *law, const supple_allocator *a)
{
    *l = (spl_lanes){.count = (tets + SPL_LANES - 1) / SPL_LANES, .pad = pad, .law = law};
    size_t n = (size_t)l->count * SPL_LANES;
    l->G = spl_new(a, 9 * (size_t)pad * n, sizeof *l->G);
    l->scale = spl_new(a, n, sizeof *l->scale);
    l->mu = spl_new(a, n, sizeof *l->mu);
    l->lambda = spl_new(a, n, sizeof *l->lambda);
    return spl_lanes_take_state(l, a) && l->G && l->scale && l->mu && l->lambda;
}

void spl_lanes_release(spl_lanes *l, bool borrowed, const supple_allocator *a)
{
    void *constant[] = {l->G, l->scale, l->mu, l->lambda};
    void *state[] = {l->base, l->D, l->W, l->E, l->hard};
    for (size_t i = 0; i < sizeof constant / sizeof *constant && !borrowed; i++) spl_free(a, constant[i]);
    for (size_t i = 0; i < sizeof state / sizeof *state; i++) spl_free(a, state[i]);
    *l = (spl_lanes){0};
}

void spl_lanes_gradient(const spl_lanes *l, size_t tet, double F[9])
{
    const float *D = spl_lanes_at(l->D, tet);
    for (int k = 0; k < 9; k++) F[k] = (double)D[SPL_LANES * k] + (k % 4 == 0);
}

double spl_lanes_hard_stress(const spl_lanes *l, int32_t block, float *P)
{
    double energy = 0;
    for (size_t i = 0; i < SPL_LANES; i++) {
        size_t tet = SPL_LANES * (size_t)block + i;
        if (!spl_lanes_hard(l, tet)) continue;
        spl_law_input in = {.mu = (double)l->mu[tet], .lambda = (double)l->lambda[tet]};
        spl_mat3 stress;
        double scale = (double)l->scale[tet];
        spl_lanes_gradient(l, tet, in.F.m);
        energy += scale * l->law->both(&in, &stress);
        for (size_t k = 0; k < 9; k++) P[SPL_LANES * k + i] = (float)(scale * stress.m[k]);
    }
    return energy;
}

double spl_lanes_force(spl_lanes *l, const double *q, int32_t begin, int32_t end, double *f)
{
#ifdef SPL_HAVE_AVX2
    float x[SPL_LANES_RANK];
    for (int32_t k = 0; k < l->pad; k++) x[k] = (float)q[k];
    return spl_lanes_force_avx2(l, x, begin, end, f);
#else
    (void)l, (void)q, (void)begin, (void)end, (void)f;
    return 0; /* nobody made any: spl_lanes_known */
#endif
}

void spl_lanes_hessian(const spl_lanes *l, int32_t begin, int32_t end, double *K)
{
#ifdef SPL_HAVE_AVX2
    spl_lanes_hessian_avx2(l, begin, end, K);
#else
    (void)l, (void)begin, (void)end, (void)K;
#endif
}

void spl_lanes_place(const float *table, int32_t rank, const float *q, const float R[9], float *y)
{
#ifdef SPL_HAVE_AVX2
    spl_lanes_place_avx2(table, rank, q, R, y);
#else
    (void)table, (void)rank, (void)q, (void)R, (void)y;
#endif
}
