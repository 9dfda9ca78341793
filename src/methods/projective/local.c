#include "methods/projective/local.h"

#include "core/error.h"
#include "core/memory.h"
#include "fem/principal.h"
#include "math/cpu.h"
#include "math/quat.h"

#define ARRIVED      1e-5 /* asymmetry of R^T F, of its norm */
#define VOLUME_RANGE 0.02 /* e: products of stretches from 1 - e to 1 + e cost nothing */

enum { MORE = 12 }; /* steps at most before a decomposition */

/* ---- set-up ---- */

static bool has_free_corner(const spl_local_input *in, int32_t k)
{
    const int32_t *t = in->elements->tet + 4 * (size_t)k;
    return in->unknown[t[0]] >= 0 || in->unknown[t[1]] >= 0 || in->unknown[t[2]] >= 0 || in->unknown[t[3]] >= 0;
}

/* Tets that move, and how many corners each node has. */
static void list_tets(spl_local *l, const spl_local_input *in)
{
    l->tet_count = 0;
    for (int32_t k = 0; k < in->elements->count; k++) {
        if (!has_free_corner(in, k)) continue;
        l->tet[l->tet_count++] = k;
        for (int i = 0; i < 4; i++) {
            int32_t node = in->unknown[in->elements->tet[4 * (size_t)k + (size_t)i]];
            if (node >= 0) l->start[node + 2]++;
        }
    }
    l->blocks = (l->tet_count + 7) / 8;
    for (size_t i = 0; i < (size_t)in->node_count; i++) l->start[i + 2] += l->start[i + 1];
}

/* One lane. Lanes beyond the last tet repeat it without weight. */
static void fill_lane(spl_local *l, const spl_local_input *in, size_t at, uint32_t spare)
{
    const spl_elements *e = in->elements;
    bool there = at < l->tet_count;
    size_t k = (size_t)l->tet[there ? at : l->tet_count - 1], lane = at % 8;
    spl_local_block *b = &l->block[at / 8];
    for (size_t i = 0; i < 9; i++) b->gradient[i][lane] = (float)e->gradient[12 * k + 3 + i];
    b->weight[lane] = there ? (float)(2 * in->mu[k] * e->volume[k]) : 0;
    b->spread[lane] = there && in->lambda ? (float)(in->lambda[k] * e->volume[k]) : 0;
    b->bulk[lane] = there && in->bulk ? (float)(2 * in->bulk[k] * e->volume[k]) : 0;
    for (size_t i = 0; i < 4; i++) {
        int32_t v = e->tet[4 * k + i], node = in->unknown[v];
        b->vertex[i][lane] = v;
        b->slot[i][lane] = there && node >= 0 ? (uint32_t)l->start[node + 1]++ : spare;
    }
}

/* A piece has a spare slot of its own, so that no two threads write to one. */
static void fill_blocks(spl_local *l, const spl_local_input *in)
{
    size_t slots = l->start[(size_t)in->node_count + 1];
    for (size_t at = 0; at < 8 * l->blocks; at++) fill_lane(l, in, at, (uint32_t)(slots + at / 8 / SPL_LOCAL_PIECE));
}

static double run_volume(const spl_local *l, const double *x, int newton, size_t begin, size_t end);

supple_result spl_local_create(const spl_local_input *in, const supple_allocator *a, spl_local *out,
                               supple_error *error)
{
    size_t tets = (size_t)in->elements->count;
    *out = (spl_local){.allocator = *a};
    out->tet = spl_new(a, tets, sizeof *out->tet);
    out->start = spl_new(a, (size_t)in->node_count + 2, sizeof *out->start);
    if (out->tet && out->start) {
        list_tets(out, in);
        size_t pieces = out->blocks / SPL_LOCAL_PIECE + 1;
        out->block = spl_new(a, out->blocks, sizeof *out->block);
        out->turn = spl_new(a, out->blocks, sizeof *out->turn);
        out->energy = spl_new(a, pieces, sizeof *out->energy);
        out->force = spl_new(a, out->start[(size_t)in->node_count + 1] + pieces, 4 * sizeof *out->force);
    }
    if (!out->block || !out->turn || !out->energy || !out->force) {
        spl_local_release(out);
        return spl_fail_memory(error, "the tetrahedra's constraints");
    }
    fill_blocks(out, in);
    spl_local_forget(out);
    out->run = spl_local_plain;
#ifdef SPL_HAVE_AVX2
    if (!in->plain && spl_cpu_has_avx2()) out->run = spl_local_avx2;
#endif
    if (in->bulk) out->run = run_volume;
    return SUPPLE_OK;
}

void spl_local_release(spl_local *l)
{
    if (!l->allocator.release) return;
    void *blocks[] = {l->tet, l->start, l->block, l->turn, l->energy, l->force};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&l->allocator, blocks[i]);
    *l = (spl_local){0};
}

void spl_local_forget(spl_local *l)
{
    for (size_t b = 0; b < l->blocks; b++)
        for (int lane = 0; lane < 8; lane++) {
            for (int i = 0; i < 3; i++) l->turn[b].q[i][lane] = 0;
            l->turn[b].q[3][lane] = 1;
        }
}

/* ---- the plain twin ---- */

void spl_local_mend(const spl_mat3x8 *F, unsigned good, spl_quatx8 *turn)
{
    for (unsigned lane = 0; lane < 8; lane++) {
        if (good >> lane & 1) continue;
        spl_mat3 f, R, S;
        for (int i = 0; i < 9; i++) f.m[i] = (double)F->m[i][lane];
        spl_polar3(&f, &R, &S);
        spl_quat q = spl_quat_from_mat3(&R);
        const double part[4] = {q.x, q.y, q.z, q.w};
        for (int i = 0; i < 4; i++) turn->q[i][lane] = (float)part[i];
    }
}

/* F of the eight tets: differences of corners in double, their product with the gradients in float. */
static void load_F(const spl_local_block *b, const double *x, spl_mat3x8 *F)
{
    for (size_t lane = 0; lane < 8; lane++) {
        const double *x0 = x + 4 * (size_t)b->vertex[0][lane];
        float m[9] = {0};
        for (size_t k = 0; k < 3; k++) {
            const double *xk = x + 4 * (size_t)b->vertex[k + 1][lane];
            for (size_t c = 0; c < 3; c++)
                for (size_t r = 0; r < 3; r++) m[3 * c + r] += (float)(xk[r] - x0[r]) * b->gradient[3 * k + c][lane];
        }
        for (int i = 0; i < 9; i++) F->m[i][lane] = m[i];
    }
}

/* Forces -P g_i of one lane's stress (times W), into their slots. */
static void store_forces(const spl_local *l, const spl_local_block *b, size_t lane, const float P[9])
{
    float f[4][3] = {{0}};
    for (size_t k = 0; k < 3; k++)
        for (size_t r = 0; r < 3; r++) {
            f[k + 1][r] = -(P[r] * b->gradient[3 * k][lane] + P[3 + r] * b->gradient[3 * k + 1][lane] +
                            P[6 + r] * b->gradient[3 * k + 2][lane]);
            f[0][r] -= f[k + 1][r];
        }
    for (size_t i = 0; i < 4; i++) {
        float *to = l->force + 4 * (size_t)b->slot[i][lane];
        for (size_t r = 0; r < 3; r++) to[r] = f[i][r];
        to[3] = sqrtf(f[i][0] * f[i][0] + f[i][1] * f[i][1] + f[i][2] * f[i][2]);
    }
}

/* Whether a quaternion is the nearest rotation: R^T F symmetric, and a maximum. */
static bool has_arrived(const spl_mat3x8 *F, const spl_quatx8 *turn, size_t lane, float R[9])
{
    spl_mat3 f;
    for (int i = 0; i < 9; i++) f.m[i] = (double)F->m[i][lane];
    spl_quat q = {(double)turn->q[0][lane], (double)turn->q[1][lane], (double)turn->q[2][lane],
                  (double)turn->q[3][lane]};
    spl_mat3 r = spl_quat_to_mat3(q), A = spl_mat3_transposed_mul(&r, &f);
    for (int i = 0; i < 9; i++) R[i] = (float)r.m[i];
    const double *m = A.m;
    double skew = hypot(hypot(m[5] - m[7], m[6] - m[2]), m[1] - m[3]), norm = spl_mat3_norm(&f);
    double h00 = m[4] + m[8], h11 = m[0] + m[8], h22 = m[0] + m[4];
    double h01 = 0.5 * (m[1] + m[3]), h02 = 0.5 * (m[2] + m[6]), h12 = 0.5 * (m[5] + m[7]);
    double m2 = h00 * h11 - h01 * h01;
    double det = h22 * m2 - h00 * h12 * h12 - h11 * h02 * h02 - 2 * h01 * h02 * h12;
    return skew < ARRIVED * norm && h00 > 1e-3 * norm && m2 > 1e-3 * norm * norm && det > 1e-3 * norm * norm * norm;
}

double spl_local_plain(const spl_local *l, const double *x, int newton, size_t begin, size_t end)
{
    double energy = 0;
    for (size_t k = begin; k < end; k++) {
        const spl_local_block *b = &l->block[k];
        spl_mat3x8 F;
        load_F(b, x, &F);
        for (size_t lane = 0; lane < 8; lane++) {
            float f[9], q[4], R[9], P[9], sum = 0;
            for (int i = 0; i < 9; i++) f[i] = F.m[i][lane];
            for (int i = 0; i < 4; i++) q[i] = l->turn[k].q[i][lane];
            bool there = false;
            for (int i = 0; i < MORE && !there; i++) {
                spl_rotation3(f, i == 0 ? newton : 1, q);
                for (int c = 0; c < 4; c++) l->turn[k].q[c][lane] = q[c];
                there = has_arrived(&F, &l->turn[k], lane, R);
            }
            if (!there) {
                spl_local_mend(&F, ~(1u << lane), &l->turn[k]);
                has_arrived(&F, &l->turn[k], lane, R);
            }
            float trace = -3;
            for (int i = 0; i < 9; i++) trace += f[i] * R[i];
            for (int i = 0; i < 9; i++) {
                float d = f[i] - R[i];
                sum += d * d;
                P[i] = b->weight[lane] * d + b->spread[lane] * trace * R[i];
            }
            energy += 0.5 * (double)(b->weight[lane] * sum + b->spread[lane] * trace * trace);
            store_forces(l, b, lane, P);
        }
    }
    return energy;
}

/* ---- volume constraints ---- */

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

/* One lane: P = weight (F - R) + bulk (F - T), R = U V^T, T = U diag(t) V^T; returns the energy. */
static double volume_stress(const spl_local_block *b, const spl_mat3x8 *U, const spl_vec3x8 *sigma, const spl_mat3x8 *V,
                            size_t lane, float P[9])
{
    double s[3], t[3], energy = 0, d[3];
    for (int i = 0; i < 3; i++) s[i] = (double)sigma->v[i][lane];
    spl_volume_project(s, t);
    double w = (double)b->weight[lane], k = (double)b->bulk[lane];
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

static double run_volume(const spl_local *l, const double *x, int newton, size_t begin, size_t end)
{
    (void)newton;
    double energy = 0;
    for (size_t k = begin; k < end; k++) {
        const spl_local_block *b = &l->block[k];
        spl_mat3x8 F, U, V;
        spl_vec3x8 sigma;
        load_F(b, x, &F);
        spl_svd3_blocks(&F, 1, &U, &sigma, &V);
        for (size_t lane = 0; lane < 8; lane++) {
            float P[9];
            energy += volume_stress(b, &U, &sigma, &V, lane, P);
            store_forces(l, b, lane, P);
        }
    }
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

/* ---- all pieces ---- */

typedef struct local_loop {
    spl_local *l;
    const double *x;
    int newton;
} local_loop;

static void run_piece(void *context, size_t begin, size_t end)
{
    const local_loop *w = context;
    w->l->energy[begin / SPL_LOCAL_PIECE] = w->l->run(w->l, w->x, w->newton, begin, end);
}

double spl_local_step(spl_local *l, const double *x, int newton, spl_pool *pool)
{
    local_loop w = {l, x, newton};
    spl_parallel_for(pool, l->blocks, SPL_LOCAL_PIECE, run_piece, &w);
    double energy = 0;
    for (size_t i = 0; i * SPL_LOCAL_PIECE < l->blocks; i++) energy += l->energy[i];
    return energy;
}
