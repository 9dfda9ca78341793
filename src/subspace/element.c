#include "subspace/element.h"

#include "core/error.h"
#include "core/memory.h"
#include "subspace/corot.h"

#include <string.h>

enum { BATCH = 8, SPLIT = 15 }; /* tets whose products are accumulated in one go; numbers of R and S */

/* ---- tables -------------------------------------------------------------------------------------------------------
 */

/* What a step writes. */
static bool take_state(spl_element_set *s, const supple_allocator *a)
{
    size_t n = s->lanes.count > 0 ? 0 : (size_t)s->count;
    s->base = spl_new(a, 9 * n, sizeof *s->base);
    s->F = spl_new(a, 9 * n, sizeof *s->F);
    s->split = NULL;
    s->hard = NULL;
    if (s->law != &spl_law_corot) return s->base && s->F;
    s->split = spl_new(a, SPLIT * n, sizeof *s->split);
    s->hard = spl_new(a, n, sizeof *s->hard);
    return s->base && s->F && s->split && s->hard;
}

static bool take(spl_element_set *s, const spl_model_domain *d, const supple_allocator *a)
{
    size_t n = 0, held = 0, pad = (size_t)s->pad;
    for (int32_t e = 0; e < d->cubature_count; e++) {
        if (!(d->cubature[e].weight > 0)) continue;
        n++;
        for (int c = 0; c < 4; c++) held += d->cubature[e].corner[c] < 0;
    }
    s->count = (int32_t)n;
    s->G = spl_new(a, 9 * pad * n, sizeof *s->G);
    s->free = spl_new(a, 9 * n, sizeof *s->free);
    s->scale = spl_new(a, n, sizeof *s->scale);
    s->mu = spl_new(a, n, sizeof *s->mu);
    s->lambda = spl_new(a, n, sizeof *s->lambda);
    s->held_start = spl_new(a, n + 1, sizeof *s->held_start);
    s->held = spl_new(a, held, sizeof *s->held);
    bool made = s->G && s->free && s->scale && s->mu && s->lambda && s->held_start && s->held && take_state(s, a);
    if (s->law != &spl_law_corot) return made;
    s->stiff = spl_new(a, pad * pad, sizeof *s->stiff);
    return made && s->stiff;
}

/* What one free corner adds to F: (p + U q) g^T. */
static void add_corner(spl_element_set *s, size_t at, const spl_model_domain *d, size_t vertex, const double *g)
{
    size_t pad = (size_t)s->pad, rank = (size_t)s->rank;
    for (size_t c = 0; c < 3; c++)
        for (size_t r = 0; r < 3; r++) {
            const double *u = d->basis + (3 * vertex + r) * rank;
            double *G = s->G + (9 * at + 3 * c + r) * pad;
            for (size_t i = 0; i < rank; i++) G[i] += g[c] * u[i];
            s->free[9 * at + 3 * c + r] += g[c] * d->rest[3 * vertex + r];
        }
}

static void fill(spl_element_set *s, const spl_model_domain *d)
{
    size_t at = 0;
    int32_t held = 0;
    for (int32_t e = 0; e < d->cubature_count; e++) {
        const spl_cubature_tet *t = &d->cubature[e];
        if (!(t->weight > 0)) continue;
        s->scale[at] = t->weight * t->volume;
        s->mu[at] = t->mu;
        s->lambda[at] = t->lambda;
        for (int c = 0; c < 4; c++) {
            const double *g = t->gradient + 3 * c;
            if (t->corner[c] >= 0)
                add_corner(s, at, d, (size_t)t->corner[c], g);
            else
                s->held[held++] = (spl_held_corner){~t->corner[c], {g[0], g[1], g[2]}};
        }
        s->held_start[++at] = held;
    }
}

/* The part of the corotational Jacobian that F does not change; its upper triangle. */
static void fill_stiff(spl_element_set *s)
{
    size_t pad = (size_t)s->pad;
    for (size_t e = 0; e < (size_t)s->count; e++)
        for (size_t k = 0; k < 9; k++) {
            const double *g = s->G + (9 * e + k) * pad, by = 2 * s->mu[e] * s->scale[e];
            for (size_t i = 0; i < pad; i++)
                for (size_t j = i; j < pad; j++) s->stiff[i * pad + j] += by * g[i] * g[j];
        }
}

supple_result spl_element_set_create(const spl_model_domain *domain, const spl_law *law, const supple_allocator *a,
                                     spl_element_set *out, supple_error *error)
{
    *out = (spl_element_set){.law = law, .rank = domain->rank, .pad = spl_pad4(domain->rank)};
    if (take(out, domain, a)) {
        fill(out, domain);
        if (out->stiff) fill_stiff(out);
        return SUPPLE_OK;
    }
    spl_element_set_release(out, a);
    return spl_fail_memory(error, "the cubature of a model");
}

supple_result spl_element_set_like(const spl_element_set *from, const supple_allocator *a, spl_element_set *out,
                                   supple_error *error)
{
    *out = *from;
    out->borrowed = true;
    bool made = out->lanes.count == 0 || spl_lanes_take_state(&out->lanes, a);
    if (made && out->lanes.count > 0)
        memcpy(out->lanes.base, from->lanes.base, 9 * SPL_LANES * (size_t)from->lanes.count * sizeof(float));
    if (take_state(out, a) && made) return SUPPLE_OK;
    spl_element_set_release(out, a);
    return spl_fail_memory(error, "the cubature of a model");
}

void spl_element_set_release(spl_element_set *s, const supple_allocator *a)
{
    void *constant[] = {s->G, s->free, s->scale, s->mu, s->lambda, s->held_start, s->held, s->stiff};
    void *state[] = {s->base, s->F, s->split, s->hard};
    for (size_t i = 0; i < sizeof constant / sizeof *constant && !s->borrowed; i++) spl_free(a, constant[i]);
    for (size_t i = 0; i < sizeof state / sizeof *state; i++) spl_free(a, state[i]);
    spl_lanes_release(&s->lanes, s->borrowed, a);
    *s = (spl_element_set){0};
}

/* ---- in float ---- */

/* Whether a number keeps its digits in float, and products of a few of them do. */
static bool is_fit(double x)
{
    return x == 0 || (fabs(x) > 1e-12 && fabs(x) < 1e12);
}

static bool are_fit(const spl_element_set *s)
{
    size_t n = (size_t)s->count;
    for (size_t i = 0; i < 9 * (size_t)s->pad * n; i++)
        if (!(fabs(s->G[i]) < 1e12)) return false;
    for (size_t e = 0; e < n; e++)
        if (!is_fit(s->scale[e]) || !is_fit(s->mu[e]) || !is_fit(s->lambda[e])) return false;
    return true;
}

static void fill_lanes(spl_element_set *s)
{
    size_t pad = (size_t)s->pad;
    spl_lanes *l = &s->lanes;
    for (size_t e = 0; e < (size_t)s->count; e++) {
        const double *G = s->G + 9 * pad * e;
        float *to = l->G + 9 * pad * SPL_LANES * (e / SPL_LANES) + e % SPL_LANES, *base = spl_lanes_at(l->base, e);
        for (size_t j = 0; j < pad; j++)
            for (size_t k = 0; k < 9; k++) to[SPL_LANES * (9 * j + k)] = (float)G[k * pad + j];
        for (size_t k = 0; k < 9; k++) base[SPL_LANES * k] = (float)(s->free[9 * e + k] - (k % 4 == 0));
        l->scale[e] = (float)s->scale[e];
        l->mu[e] = (float)s->mu[e];
        l->lambda[e] = (float)s->lambda[e];
    }
}

supple_result spl_element_set_widen(spl_element_set *s, const supple_allocator *a, supple_error *error)
{
    if (!spl_lanes_known() || s->law != &spl_law_corot || s->pad > SPL_LANES_RANK || s->count == 0 || !are_fit(s))
        return SUPPLE_OK;
    if (!spl_lanes_create(&s->lanes, s->count, s->pad, s->law, a)) {
        spl_lanes_release(&s->lanes, false, a);
        return spl_fail_memory(error, "the cubature of a model");
    }
    fill_lanes(s);
    void *unused[] = {s->base, s->F, s->split, s->hard};
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) spl_free(a, unused[i]);
    s->base = s->F = s->split = NULL;
    s->hard = NULL;
    return SUPPLE_OK;
}

/* ---- a step -------------------------------------------------------------------------------------------------------
 */

void spl_element_set_pose(spl_element_set *s, const spl_mat3 *R, spl_vec3 t, const double *held)
{
    spl_mat3 back = spl_mat3_transpose(R);
    for (size_t e = 0; e < (size_t)s->count; e++) {
        double F[9];
        if (s->lanes.count > 0 && s->held_start[e] == s->held_start[e + 1]) continue; /* as it was made */
        memcpy(F, s->free + 9 * e, sizeof F);
        for (int32_t h = s->held_start[e]; h < s->held_start[e + 1]; h++) {
            const double *x = held + 3 * (size_t)s->held[h].vertex, *g = s->held[h].gradient;
            spl_vec3 p = spl_mat3_apply(&back, spl_sub(spl_v3(x[0], x[1], x[2]), t));
            for (int c = 0; c < 3; c++) {
                F[3 * c] += p.x * g[c];
                F[3 * c + 1] += p.y * g[c];
                F[3 * c + 2] += p.z * g[c];
            }
        }
        if (s->lanes.count == 0) {
            memcpy(s->base + 9 * e, F, sizeof F);
            continue;
        }
        float *base = spl_lanes_at(s->lanes.base, e);
        for (int k = 0; k < 9; k++) base[SPL_LANES * k] = (float)(F[k] - (k % 4 == 0));
    }
}

static spl_law_input input_of(const spl_element_set *s, size_t e)
{
    spl_law_input in = {.mu = s->mu[e], .lambda = s->lambda[e]};
    if (s->lanes.count > 0)
        spl_lanes_gradient(&s->lanes, e, in.F.m);
    else
        memcpy(in.F.m, s->F + 9 * e, sizeof in.F.m);
    return in;
}

/* Energy density and stress of a tet at its F. */
static double stress_of(spl_element_set *s, size_t e, double P[9])
{
    const double *F = s->F + 9 * e;
    if (s->split) {
        double *R = s->split + SPLIT * e;
        s->hard[e] = !spl_corot_split(F, R, R + 9);
        if (!s->hard[e]) return spl_corot_stress(F, R, R + 9, s->mu[e], s->lambda[e], P);
    }
    spl_law_input in = input_of(s, e);
    spl_mat3 stress;
    double energy = s->law->both(&in, &stress);
    memcpy(P, stress.m, sizeof stress.m);
    return energy;
}

static int32_t blocks_to(int32_t end)
{
    return (end + SPL_LANES - 1) / SPL_LANES;
}

double spl_element_set_force(spl_element_set *s, const spl_dense_kernels *kernels, const double *q, int32_t begin,
                             int32_t end, double *f)
{
    size_t pad = (size_t)s->pad;
    double energy = 0;
    if (s->lanes.count > 0) return spl_lanes_force(&s->lanes, q, begin / SPL_LANES, blocks_to(end), f);
    for (size_t e = (size_t)begin; e < (size_t)end; e++) {
        const double *G = s->G + 9 * pad * e;
        double *F = s->F + 9 * e, P[9], pull[9];
        memcpy(F, s->base + 9 * e, 9 * sizeof *F);
        kernels->multiply(G, 9, s->pad, pad, q, F);
        energy += s->scale[e] * stress_of(s, e, P);
        for (int i = 0; i < 9; i++) pull[i] = -s->scale[e] * P[i];
        kernels->multiply_transposed(G, 9, s->pad, pad, pull, f);
    }
    return energy;
}

/* The changing part of a hard tet's Jacobian: Y^T Z of nine rows. */
static int32_t hard_rows(const spl_element_set *s, const spl_dense_kernels *kernels, size_t e, double *Y, double *Z)
{
    size_t pad = (size_t)s->pad;
    double H[81];
    spl_law_input in = input_of(s, e);
    s->law->hessian(&in, H);
    for (int i = 0; i < 9; i++) H[10 * i] -= 2 * s->mu[e];
    memcpy(Y, s->G + 9 * pad * e, 9 * pad * sizeof *Y);
    kernels->scale9(H, s->scale[e], s->G + 9 * pad * e, s->pad, Z);
    return 9;
}

/* Rows Y and Z whose products Y^T Z are the changing part of a tet's exact Jacobian: four, or nine where it is hard;
 * none where it was summed in float. */
static int32_t corot_rows(const spl_element_set *s, const spl_dense_kernels *kernels, size_t e, double *Y, double *Z)
{
    size_t pad = (size_t)s->pad;
    if (s->lanes.count > 0) return spl_lanes_hard(&s->lanes, e) ? hard_rows(s, kernels, e, Y, Z) : 0;
    if (s->hard[e]) return hard_rows(s, kernels, e, Y, Z);
    const double *G = s->G + 9 * pad * e, *R = s->split + SPLIT * e;
    double B[36], M[16], *y[4] = {Y, Y + pad, Y + 2 * pad, Y + 3 * pad};
    double *z[4] = {Z, Z + pad, Z + 2 * pad, Z + 3 * pad};
    spl_corot_modes(R, R + 9, s->scale[e] * s->mu[e], s->scale[e] * s->lambda[e], B, M);
    kernels->contract(G, 9, pad, 4, B, y);
    kernels->contract(Y, 4, pad, 4, M, z);
    return 4;
}

static void corot_hessian(const spl_element_set *s, const spl_dense_kernels *kernels, int32_t begin, int32_t end,
                          double *K)
{
    double Y[9 * SPL_RANK_MOST], Z[9 * SPL_RANK_MOST];
    size_t pad = (size_t)s->pad;
    int32_t most = 9 * SPL_RANK_MOST / s->pad;
    for (size_t k = 0; begin == 0 && k < pad * pad; k++) K[k] += s->stiff[k]; /* the first part has all of it */
    if (s->lanes.count > 0) spl_lanes_hessian(&s->lanes, begin / SPL_LANES, blocks_to(end), K);
    for (int32_t e = begin; e < end;) {
        int32_t rows = 0;
        while (e < end && rows + 9 <= most && rows < 9 * BATCH) {
            rows += corot_rows(s, kernels, (size_t)e, Y + (size_t)rows * pad, Z + (size_t)rows * pad);
            e++;
        }
        spl_product p = {.C = K, .A = Y, .B = Z, .ldc = pad, .lda = pad, .ldb = pad, .sign = 1, .upper = true};
        p.m = p.n = s->pad;
        p.k = rows;
        if (rows > 0) kernels->product(&p);
    }
}

void spl_element_set_hessian(const spl_element_set *s, const spl_dense_kernels *kernels, int32_t begin, int32_t end,
                             bool exact, double *K)
{
    double room[9 * SPL_RANK_MOST];
    if (exact && s->stiff) {
        corot_hessian(s, kernels, begin, end, K);
        return;
    }
    size_t pad = (size_t)s->pad;
    int32_t batch = SPL_RANK_MOST / s->pad < BATCH ? SPL_RANK_MOST / s->pad : BATCH;
    for (int32_t at = begin; at < end; at += batch) {
        int32_t count = end - at < batch ? end - at : batch;
        const double *G = s->G + 9 * pad * (size_t)at;
        for (int32_t e = 0; e < count; e++) {
            double H[81];
            spl_law_input in = input_of(s, (size_t)(at + e));
            (exact ? s->law->hessian : s->law->projected)(&in, H);
            kernels->scale9(H, s->scale[at + e], G + 9 * pad * (size_t)e, s->pad, room + 9 * pad * (size_t)e);
        }
        spl_product p = {.C = K, .A = G, .B = room, .ldc = pad, .lda = pad, .ldb = pad, .sign = 1, .upper = true};
        p.m = p.n = s->pad;
        p.k = 9 * count;
        kernels->product(&p);
    }
}

void spl_element_set_rest(spl_element_set *s, const spl_dense_kernels *kernels, double *K)
{
    size_t pad = (size_t)s->pad;
    for (int32_t i = 0; i < 9 * s->count; i++) s->F[i] = i % 9 % 4 == 0; /* F = I */
    memset(K, 0, pad * pad * sizeof *K);
    spl_element_set_hessian(s, kernels, 0, s->count, false, K);
    for (size_t i = 0; i < pad; i++)
        for (size_t j = 0; j < i; j++) K[i * pad + j] = K[j * pad + i];
}
