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

static void assemble_rest(spl_warp *w, const double *spin)
{
    for (size_t i = 0; i < 4 * (size_t)w->in.elements->count; i++) /* the rest shape: h = g */
        for (size_t c = 0; c < 3; c++) w->h[4 * i + c] = w->in.elements->gradient[3 * i + c];
    w->spin = spin;
    spl_warp_assemble(w);
    w->spin = NULL;
}

static supple_result make_rest(spl_warp *w, supple_error *error)
{
    assemble_rest(w, NULL);
    spl_warp_lower(w);
    lift_diagonal(w);
    return spl_factor_factorise(w->factor, w->value, error);
}

/* ---- two levels ---- */

static double mean_edge(const spl_warp *w)
{
    const spl_elements *e = w->in.elements;
    double sum = 0;
    for (size_t k = 0; k < (size_t)e->count; k++)
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < i; j++) {
                const double *p = w->in.rest + 3 * (size_t)e->tet[4 * k + i],
                             *q = w->in.rest + 3 * (size_t)e->tet[4 * k + j];
                sum +=
                    sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) + (p[2] - q[2]) * (p[2] - q[2]));
            }
    return sum / (6.0 * e->count);
}

/* Without fill, factors of elasticity's blocks have pivots that are not positive, and shifting the diagonal until they
 * are costs twice the iterations. A stiffness against turning away from the rest, SPIN of the shear modulus, makes
 * the blocks those of a Laplacian, nearly, and is far smaller for what is smooth. The coarse level does without. */
static supple_result make_fine(spl_warp *w, supple_error *error)
{
    static const double SPIN = 0.6;
    const spl_ic3_options options = {
        .single = true, .plain = w->in.plain, .cut = w->order.cut, .part_count = w->order.part_count};
    size_t tets = (size_t)w->in.elements->count;
    double *spin = spl_new(&w->allocator, tets, sizeof *spin);
    if (!spin) return spl_fail_memory(error, "the elastic system");
    for (size_t k = 0; k < tets; k++) spin[k] = SPIN * w->in.mu[k];
    assemble_rest(w, spin);
    spl_free(&w->allocator, spin);
    supple_result result = spl_ic3_create(&w->matrix.rows, w->count, &options, &w->allocator, w->pool, &w->fine, error);
    return result == SUPPLE_OK ? spl_ic3_factorise(w->fine, w->matrix.value, NULL, NULL, error) : result;
}

static supple_result make_levels(spl_warp *w, supple_error *error)
{
    static const double CELL = 4; /* mean edges */
    enum { FUNCTIONS = 2000 };
    supple_result result = make_fine(w, error);
    if (result != SUPPLE_OK) return result;
    double *position = spl_new(&w->allocator, (size_t)w->count, 3 * sizeof *position);
    if (!position) return spl_fail_memory(error, "the elastic system");
    for (size_t i = 0; i < (size_t)w->count; i++)
        for (size_t c = 0; c < 3; c++) position[3 * i + c] = w->in.rest[3 * (size_t)w->vertex[i] + c];
    assemble_rest(w, NULL);
    spl_coarse_input in = {.matrix = &w->matrix,
                           .position = position,
                           .cell = CELL * mean_edge(w),
                           .most = FUNCTIONS,
                           .plain = w->in.plain};
    result = spl_coarse_create(&in, &w->allocator, w->pool, &w->coarse, error);
    spl_free(&w->allocator, position);
    return result;
}

supple_result spl_warp_make_preconditioner(spl_warp *w, supple_error *error)
{
    bool frame = w->in.solver == SPL_WARP_DIRECT;
    spl_factor_options options = {.backend = frame ? w->in.backend : NULL, .single = !frame, .plain = w->in.plain};
    if (w->in.solver == SPL_WARP_AUTO) w->in.solver = SPL_WARP_LEVELS;
    if (w->in.solver == SPL_WARP_LEVELS) return make_levels(w, error);
    if (w->in.solver == SPL_WARP_SCALAR) {
        supple_result result = analyse_scalar(w, &options, error);
        return result == SUPPLE_OK ? make_scalar(w, error) : result;
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
    if (w->in.solver == SPL_WARP_LEVELS || w->in.solver == SPL_WARP_REST)
        spl_parallel_for(w->pool, (size_t)w->count, 1024, mean_range, &m);
    if (w->in.solver != SPL_WARP_DIRECT) return SUPPLE_OK;
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
    (void)k;
    if (w->in.solver == SPL_WARP_LEVELS) {
        spl_ic3_solve(w->fine, w->turn, x, y);
        spl_coarse_add(w->coarse, w->turn, x, y);
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
    if (w->fine) factor = (double)spl_ic3_bytes(w->fine) + (double)spl_coarse_bytes(w->coarse);
    return matrix + vectors + factor;
}
