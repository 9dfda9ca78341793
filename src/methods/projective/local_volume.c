/* The local step with volume constraints, by singular values; and the law that it minimises. */
#include "fem/principal.h"
#include "methods/projective/local.h"

#include <math.h>

#define VOLUME_RANGE 0.02 /* e: products of stretches from 1 - e to 1 + e cost nothing */

/* The product where the smallest of three is t, and the others what Lagrange's conditions then make of them:
 * out_i (out_i - s_i) is one and the same number for all i. */
static double product_at(const double s[3], double t, double out[3])
{
    double same = t * (t - s[2]);
    for (int i = 0; i < 2; i++) out[i] = 0.5 * (s[i] + sqrt(fmax(s[i] * s[i] + 4 * same, 0)));
    out[2] = t;
    return out[0] * out[1] * out[2];
}

/* A bracketed secant in t (Illinois), which never fails: the product grows with it. */
void spl_volume_project(const double s[3], double out[3])
{
    double product = s[0] * s[1] * s[2], goal = fmin(fmax(product, 1 - VOLUME_RANGE), 1 + VOLUME_RANGE);
    double low = 0, high = fmax(fabs(s[0]), 1), below = -goal, above = 0;
    for (int i = 0; i < 3; i++) out[i] = s[i];
    if (product == goal) return;
    for (int i = 0; i < 60 && (above = product_at(s, high, out) - goal) < 0; i++) high *= 2;
    for (int i = 0, side = 0; i < 100; i++) {
        double t = i % 8 == 7 ? 0.5 * (low + high) : (low * above - high * below) / (above - below);
        double miss = product_at(s, t, out) - goal;
        if (fabs(miss) < 1e-11 || !(high - low > 1e-14 * high)) return;
        if (miss < 0) {
            low = t, below = miss;
            if (side == -1) above *= 0.5;
            side = -1;
        } else {
            high = t, above = miss;
            if (side == 1) below *= 0.5;
            side = 1;
        }
    }
}

/* One lane: P = w (F - R) + k (F - T), R = U V^T, T = U diag(t) V^T; returns the energy. */
static double volume_stress(double w, double k, const spl_mat3x8 *U, const spl_vec3x8 *sigma, const spl_mat3x8 *V,
                            size_t lane, float P[9])
{
    double s[3], t[3], energy = 0, d[3];
    for (int i = 0; i < 3; i++) s[i] = (double)sigma->v[i][lane];
    spl_volume_project(s, t);
    for (int i = 0; i < 3; i++) {
        d[i] = w * (s[i] - 1) + k * (s[i] - t[i]);
        energy += 0.5 * (w * (s[i] - 1) * (s[i] - 1) + k * (s[i] - t[i]) * (s[i] - t[i]));
    }
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) {
            double sum = 0;
            for (int i = 0; i < 3; i++) sum += d[i] * (double)U->m[3 * i + r][lane] * (double)V->m[3 * i + c][lane];
            P[3 * c + r] = (float)sum;
        }
    return energy;
}

double spl_local_volume(const spl_local *l, const double *x, int newton, size_t begin, size_t end)
{
    (void)newton;
    double energy = 0;
    spl_local_room room;
    spl_local_enter(l, begin / SPL_LOCAL_PIECE, x, &room);
    for (size_t k = begin; k < end; k++) {
        const spl_local_block *b = &l->block[k];
        spl_mat3x8 F, U, V;
        spl_vec3x8 sigma;
        spl_local_load_F(b, &room, &F);
        spl_svd3_blocks(&F, 1, &U, &sigma, &V);
        for (size_t lane = 0; lane < 8; lane++) {
            float P[9];
            energy += volume_stress((double)b->weight[lane], (double)l->extra[k][lane], &U, &sigma, &V, lane, P);
            spl_local_pull(b, lane, P, &room);
        }
    }
    spl_local_leave(l, begin / SPL_LOCAL_PIECE, &room);
    return energy;
}

static double law_both(const spl_law_input *in, spl_mat3 *P)
{
    spl_stretch f;
    double t[3], d[3], energy = 0;
    spl_stretch_of(&in->F, &f);
    spl_volume_project(f.s, t);
    for (int i = 0; i < 3; i++) {
        double strain = f.s[i] - 1, volume = f.s[i] - t[i];
        energy += in->mu * strain * strain + in->lambda * volume * volume;
        d[i] = 2 * (in->mu * strain + in->lambda * volume);
    }
    spl_stretch_stress(&f, d, P);
    return energy;
}

static double law_energy(const spl_law_input *in)
{
    spl_mat3 P;
    return law_both(in, &P);
}

static void law_stress(const spl_law_input *in, spl_mat3 *P)
{
    law_both(in, P);
}

/* The global step's: with the projections held, which is positive and an upper bound. */
static void law_hessian(const spl_law_input *in, double H[81])
{
    for (int i = 0; i < 81; i++) H[i] = i % 10 == 0 ? 2 * (in->mu + in->lambda) : 0;
}

const spl_law spl_law_projective = {
    .name = "projective",
    .summary = "as rigid as possible, with volume constraints",
    .energy = law_energy,
    .stress = law_stress,
    .hessian = law_hessian,
    .projected = law_hessian,
    .both = law_both,
};
