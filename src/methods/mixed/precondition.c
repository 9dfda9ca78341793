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

static supple_result make_scalar(spl_warp *w, const spl_factor_options *options, supple_error *error)
{
    spl_pattern pattern = w->assembly.pattern; /* the same entries, one number each */
    pattern.block = 1;
    supple_result result = spl_factor_create(&pattern, options, &w->allocator, w->pool, &w->factor, error);
    if (result != SUPPLE_OK) return result;
    scalar_loop l = {w, &w->assembly, w->value};
    spl_parallel_for(w->pool, (size_t)w->count, 256, gather_scalar, &l);
    return spl_factor_factorise(w->factor, w->value, error);
}

/* ---- set-up ---- */

supple_result spl_warp_make_preconditioner(spl_warp *w, supple_error *error)
{
    bool frame = w->in.solver == SPL_WARP_DIRECT;
    spl_factor_options options = {.backend = frame ? w->in.backend : NULL, .single = !frame, .plain = w->in.plain};
    if (w->in.solver == SPL_WARP_IC0) return spl_ic0_create(&w->assembly.pattern, &w->allocator, &w->ic0, error);
    if (w->in.solver == SPL_WARP_SCALAR) return make_scalar(w, &options, error);
    supple_result result = spl_factor_create(&w->assembly.pattern, &options, &w->allocator, w->pool, &w->factor, error);
    if (result != SUPPLE_OK || frame) return result;
    spl_warp_assemble(w, NULL);
    return spl_factor_factorise(w->factor, w->value, error);
}

supple_result spl_warp_factorise(spl_warp *w, const double *turn, supple_error *error)
{
    w->turn = turn;
    if (w->in.solver == SPL_WARP_DIRECT) return spl_factor_factorise(w->factor, w->value, error);
    if (w->in.solver == SPL_WARP_IC0) return spl_ic0_factorise(w->ic0, w->value, NULL, error);
    return SUPPLE_OK;
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
        const double *R = t->w->turn + 9 * (size_t)t->w->vertex[i], *x = t->x + 3 * i;
        for (size_t c = 0; c < 3; c++)
            t->w->single[3 * i + c] = (float)(R[3 * c] * x[0] + R[3 * c + 1] * x[1] + R[3 * c + 2] * x[2]);
    }
}

static void turn_forth(void *context, size_t begin, size_t end)
{
    const turn_loop *t = context;
    for (size_t i = begin; i < end; i++) {
        const double *R = t->w->turn + 9 * (size_t)t->w->vertex[i];
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
