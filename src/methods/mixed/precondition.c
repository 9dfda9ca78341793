/* The preconditioners of spl_warp: measured against each other in docs/mixed.md. */
#include "core/error.h"
#include "core/memory.h"
#include "methods/mixed/warp_private.h"

/* ---- the scalar twin: sum W (mu + lambda/..) g_i . g_j on each coordinate ---- */

/* Per tet the Laplacian's coefficient: the mean eigenvalue of the rest shape's 3 x 3 blocks. */
static double coefficient(double mu, double lambda)
{
    return (4 * mu + lambda) / 3;
}

typedef struct scalar_loop {
    const spl_warp *w;
    const spl_assembly *assembly;
    double *value;
} scalar_loop;

static void gather_scalar(void *context, size_t begin, size_t end)
{
    static const uint8_t I[10] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3}, J[10] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3};
    const scalar_loop *l = context;
    const spl_assembly *s = l->assembly;
    const spl_elements *e = l->w->in.elements;
    for (size_t column = begin; column < end; column++)
        for (size_t at = s->pattern.start[column]; at < s->pattern.start[column + 1]; at++) {
            double sum = at == s->pattern.start[column] ? l->w->spring[column] : 0;
            for (size_t k = s->start[at]; k < s->start[at + 1]; k++) {
                size_t source = s->source[k] >> 1, tet = source / 10, pair = source % 10;
                const double *gi = e->gradient + 12 * tet + 3 * I[pair], *gj = e->gradient + 12 * tet + 3 * J[pair];
                sum += e->volume[tet] * coefficient(l->w->in.mu[tet], l->w->in.lambda[tet]) *
                       (gi[0] * gj[0] + gi[1] * gj[1] + gi[2] * gj[2]);
            }
            l->value[at] = sum;
        }
}

static supple_result analyse_scalar(spl_warp *w, const spl_factor_options *options, supple_error *error)
{
    spl_pattern pattern = w->assembly.pattern; /* the same entries, one number each */
    pattern.block = 1;
    return spl_factor_create(&pattern, options, &w->allocator, w->pool, &w->factor, error);
}

static supple_result make_scalar(spl_warp *w, supple_error *error)
{
    scalar_loop l = {w, &w->assembly, w->value};
    spl_parallel_for(w->pool, (size_t)w->count, 256, gather_scalar, &l);
    return spl_factor_factorise(w->factor, w->value, error);
}

/* ---- set-up ---- */

/* Pieces of flesh that hang on the rest by one edge or one vertex swing freely: A is only semi-definite then. Forces
 * have no part along such motions, so that conjugate gradients do not mind; a factor does. */
static void lift_diagonal(spl_warp *w)
{
    const spl_pattern *p = &w->assembly.pattern;
    for (int32_t i = 0; i < p->n; i++) {
        double *B = w->value + 9 * p->start[i], lift = 1e-6 * (B[0] + B[4] + B[8]) / 3;
        B[0] += lift;
        B[4] += lift;
        B[8] += lift;
    }
}

/* Whether the rest shape's factor is worth its size, from the analysis of the scalar one: it has about nine times the
 * entries and 27 times the work. An iteration costs what it reads; broadcasting makes the scalar factor, on three
 * coordinates at once, about twice as dear as its bytes. The scalar one needs 1.4 to 13 times the iterations at a
 * Poisson's ratio of 0.45 (7 clips of hero, arm and sack; the geometric mean is 4), more with the root of the bulk
 * modulus. 3 instead of 4 is what the set-up and the memory weigh. */
static bool rest_factor_pays(const spl_warp *w)
{
    const double most_flops = 3e10, most_bytes = 4e8; /* seconds of set-up; memory */
    spl_factor_stats s = spl_factor_get_stats(w->factor);
    double ratio = 0, matrix = (double)spl_matrix3_bytes(&w->matrix), scalar = (double)s.bytes;
    for (int32_t k = 0; k < w->in.elements->count; k++) ratio += w->in.lambda[k] / w->in.mu[k];
    ratio /= w->in.elements->count;
    double more = 3 * sqrt((2 + ratio) / 11);
    if (27 * s.flops > most_flops || 9 * 3 * scalar > most_bytes) return false;
    return matrix + 2 * 9 * scalar < more * (matrix + 2 * 2 * scalar);
}

static supple_result make_rest(spl_warp *w, supple_error *error)
{
    for (size_t i = 0; i < 4 * (size_t)w->in.elements->count; i++) /* the rest shape: h = g */
        for (size_t c = 0; c < 3; c++) w->h[4 * i + c] = w->in.elements->gradient[3 * i + c];
    spl_warp_assemble(w);
    spl_warp_lower(w);
    lift_diagonal(w);
    return spl_factor_factorise(w->factor, w->value, error);
}

supple_result spl_warp_make_preconditioner(spl_warp *w, supple_error *error)
{
    spl_warp_solver *solver = &w->in.solver;
    bool frame = *solver == SPL_WARP_DIRECT;
    spl_factor_options options = {.backend = frame ? w->in.backend : NULL, .single = !frame, .plain = w->in.plain};
    if (*solver == SPL_WARP_IC0) return spl_ic0_create(&w->assembly.pattern, &w->allocator, &w->ic0, error);
    if (*solver == SPL_WARP_SCALAR || *solver == SPL_WARP_AUTO) {
        supple_result result = analyse_scalar(w, &options, error);
        if (result != SUPPLE_OK) return result;
        if (*solver == SPL_WARP_AUTO) *solver = rest_factor_pays(w) ? SPL_WARP_REST : SPL_WARP_SCALAR;
        if (*solver == SPL_WARP_SCALAR) return make_scalar(w, error);
        spl_factor_destroy(w->factor);
        w->factor = NULL;
    }
    supple_result result = spl_factor_create(&w->assembly.pattern, &options, &w->allocator, w->pool, &w->factor, error);
    return result == SUPPLE_OK && !frame ? make_rest(w, error) : result;
}

/* The rotation nearest to a mean of rotations, by four Newton-Schulz steps X <- X (3 - X^T X) / 2: enough where those
 * around a vertex are within 60 degrees of their mean. A preconditioner may keep the rest. */
static void make_rotation(double X[9])
{
    for (int step = 0; step < 4; step++) {
        double S[9], Y[9];
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++)
                S[3 * c + r] = (r == c ? 1.5 : 0) -
                               0.5 * (X[3 * r] * X[3 * c] + X[3 * r + 1] * X[3 * c + 1] + X[3 * r + 2] * X[3 * c + 2]);
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++)
                Y[3 * c + r] = X[r] * S[3 * c] + X[3 + r] * S[3 * c + 1] + X[6 + r] * S[3 * c + 2];
        for (int i = 0; i < 9; i++) X[i] = Y[i];
    }
}

typedef struct mean_loop {
    spl_warp *w;
    const spl_warp_problem *p;
} mean_loop;

static void mean_range(void *context, size_t begin, size_t end)
{
    const mean_loop *m = context;
    const spl_warp *w = m->w;
    for (size_t i = begin; i < end; i++) {
        size_t v = (size_t)w->vertex[i];
        double *X = w->turn + 9 * i, total = 0;
        for (int c = 0; c < 9; c++) X[c] = m->p->turn ? m->p->turn[9 * v + (size_t)c] : 0;
        if (m->p->turn) continue;
        for (size_t q = w->stars.start[v]; q < w->stars.start[v + 1]; q++) {
            size_t tet = w->stars.corner[q] / 4;
            double weight = w->in.elements->volume[tet] * w->in.mu[tet];
            for (size_t c = 0; c < 9; c++) X[c] += weight * m->p->rotation[9 * tet + c];
            total += weight;
        }
        for (int c = 0; c < 9; c++) X[c] = total > 0 ? X[c] / total : c % 4 == 0;
        make_rotation(X);
    }
}

supple_result spl_warp_factorise(spl_warp *w, const spl_warp_problem *p, supple_error *error)
{
    mean_loop m = {w, p};
    switch (w->in.solver) {
    case SPL_WARP_REST:
        spl_parallel_for(w->pool, (size_t)w->count, 1024, mean_range, &m);
        return SUPPLE_OK;
    case SPL_WARP_AUTO:
    case SPL_WARP_SCALAR:
        return SUPPLE_OK;
    case SPL_WARP_IC0:
        spl_warp_lower(w);
        return spl_ic0_factorise(w->ic0, w->value, NULL, error);
    case SPL_WARP_DIRECT:
        break;
    }
    spl_warp_lower(w);
    lift_diagonal(w);
    return spl_factor_factorise(w->factor, w->value, error);
}

/* ---- application ---- */

typedef struct turn_loop {
    spl_warp *w;
    const double *x;
    double *y;
} turn_loop;

static void turn_back(void *context, size_t begin, size_t end)
{
    const turn_loop *t = context;
    for (size_t i = begin; i < end; i++) {
        const double *R = t->w->turn + 9 * i, *x = t->x + 3 * i;
        for (size_t c = 0; c < 3; c++)
            t->w->single[3 * i + c] = (float)(R[3 * c] * x[0] + R[3 * c + 1] * x[1] + R[3 * c + 2] * x[2]);
    }
}

static void turn_forth(void *context, size_t begin, size_t end)
{
    const turn_loop *t = context;
    for (size_t i = begin; i < end; i++) {
        const double *R = t->w->turn + 9 * i;
        const float *s = t->w->single + 3 * i;
        for (size_t c = 0; c < 3; c++)
            t->y[3 * i + c] = R[c] * (double)s[0] + R[3 + c] * (double)s[1] + R[6 + c] * (double)s[2];
    }
}

void spl_warp_precondition(void *context, const double *x, double *y, int32_t k)
{
    spl_warp *w = context;
    size_t n = 3 * (size_t)w->count;
    turn_loop t = {w, x, y};
    supple_result result = SUPPLE_OK;
    if (w->in.solver == SPL_WARP_IC0) {
        spl_ic0_solve(w->ic0, x, y, k);
    } else if (w->in.solver == SPL_WARP_DIRECT) {
        for (size_t i = 0; i < n; i++) y[i] = x[i];
        result = spl_factor_solve(w->factor, y, 1, NULL);
    } else if (w->in.solver == SPL_WARP_SCALAR) {
        for (size_t i = 0; i < n; i++) w->single[i] = (float)x[i];
        result = spl_factor_solve_float(w->factor, w->single, 3, NULL);
        for (size_t i = 0; i < n; i++) y[i] = (double)w->single[i];
    } else {
        spl_parallel_for(w->pool, (size_t)w->count, 2048, turn_back, &t);
        result = spl_factor_solve_float(w->factor, w->single, 1, NULL);
        spl_parallel_for(w->pool, (size_t)w->count, 2048, turn_forth, &t);
    }
    for (size_t i = 0; result != SUPPLE_OK && i < n; i++) y[i] = x[i]; /* no factor: no preconditioner */
}

double spl_warp_bytes(const spl_warp *w)
{
    double matrix = (double)spl_matrix3_bytes(&w->matrix), vectors = 3.0 * w->count * 8 * 10, factor = 0;
    if (w->factor) factor = 2.0 * (double)spl_factor_get_stats(w->factor).bytes;
    if (w->ic0) factor = 2.0 * 12 * (double)spl_pattern_values(spl_ic0_pattern(w->ic0));
    return matrix + vectors + factor;
}
