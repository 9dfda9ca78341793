#include "methods/projective/global.h"

#include "core/error.h"
#include "core/memory.h"
#include "sparse/pcg.h"

#include <string.h>

#define COLUMN_BYTES    256e6 /* of A^-1, at most; used as contacts need them */
#define INNER_TOLERANCE 1e-3  /* of conjugate gradients with many ties: each global step only has to lead downhill */

enum { INNER_MOST = 60 };

struct spl_global {
    supple_allocator allocator;
    spl_global_input in;
    spl_pool *pool;
    spl_factor *factor;
    spl_ties *ties;
    spl_rows rows; /* of the products with A */
    spl_pcg *pcg;
    const double *values;
    const spl_tie *tie;
    int32_t tie_count;
    double *jacobi;     /* by node: 1 / diagonal */
    double *b, *x;      /* 3 a node */
    float *work, *more; /* the same */
    int32_t inner;      /* of the last solve */
};

static int32_t direct_of(const spl_global *g)
{
    return g->ties ? spl_ties_capacity(g->ties) : 0;
}

/* By node: whether ties may have it; `in.may_touch` is by vertex, as are the nodes of `in.unknown`. */
static bool *mark_nodes(const spl_global *g, int32_t *count)
{
    const spl_global_input *in = &g->in;
    size_t n = (size_t)in->pattern->n;
    bool *node = spl_new(&g->allocator, n, sizeof *node);
    *count = 0;
    for (int32_t v = 0; node && v < in->vertex_count; v++) {
        if (in->unknown[v] < 0 || (in->may_touch && !in->may_touch[v])) continue;
        *count += !node[in->unknown[v]];
        node[in->unknown[v]] = true;
    }
    return node;
}

static supple_result make_ties(spl_global *g, supple_error *error)
{
    int32_t n = g->in.pattern->n, direct = g->in.direct_ties, rows;
    if (direct > g->in.tie_capacity) direct = g->in.tie_capacity;
    if (direct <= 0 || g->in.inner > 0) return SUPPLE_OK;
    bool *node = mark_nodes(g, &rows);
    if (!node) return spl_fail_memory(error, "the global system");
    double most = COLUMN_BYTES / (4.0 * (rows > 0 ? rows : 1));
    int32_t columns = most < 4.0 * direct ? (int32_t)most : 4 * direct;
    supple_result result = SUPPLE_OK;
    if (columns >= 4) result = spl_ties_create(n, node, columns / 4, columns, &g->allocator, &g->ties, error);
    spl_free(&g->allocator, node);
    return result;
}

static supple_result build(spl_global *g, supple_error *error)
{
    const supple_allocator *a = &g->allocator;
    size_t n = (size_t)g->in.pattern->n;
    supple_result result = SUPPLE_OK;
    spl_factor_options options = {.single = true, .plain = g->in.plain};
    if (g->in.inner <= 0) result = spl_factor_create(g->in.pattern, &options, a, g->pool, &g->factor, error);
    if (result == SUPPLE_OK) result = make_ties(g, error);
    g->work = spl_new(a, n, 3 * sizeof *g->work);
    if (result == SUPPLE_OK && !g->work) result = spl_fail_memory(error, "the global system");
    if (result != SUPPLE_OK || (g->in.inner <= 0 && g->in.tie_capacity <= direct_of(g))) return result;
    g->jacobi = spl_new(a, n, sizeof *g->jacobi);
    g->b = spl_new(a, n, 3 * sizeof *g->b);
    g->x = spl_new(a, n, 3 * sizeof *g->x);
    g->more = spl_new(a, n, 3 * sizeof *g->more);
    if (!g->jacobi || !g->b || !g->x || !g->more) return spl_fail_memory(error, "the global system");
    result = spl_rows_create(g->in.pattern, a, &g->rows, error);
    return result == SUPPLE_OK ? spl_pcg_create(n, 3, a, g->pool, &g->pcg, error) : result;
}

supple_result spl_global_create(const spl_global_input *in, const supple_allocator *a, spl_pool *pool, spl_global **out,
                                supple_error *error)
{
    *out = NULL;
    spl_global *g = spl_new(a, 1, sizeof *g);
    if (!g) return spl_fail_memory(error, "the global system");
    *g = (spl_global){.allocator = *a, .in = *in, .pool = pool};
    supple_result result = build(g, error);
    if (result == SUPPLE_OK)
        *out = g;
    else
        spl_global_destroy(g);
    return result;
}

void spl_global_destroy(spl_global *g)
{
    if (!g) return;
    supple_allocator a = g->allocator;
    spl_factor_destroy(g->factor);
    spl_ties_destroy(g->ties);
    spl_rows_release(&g->rows, &a);
    spl_pcg_destroy(g->pcg);
    void *blocks[] = {g->jacobi, g->b, g->x, g->work, g->more, g};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
}

supple_result spl_global_set(spl_global *g, const double *values, supple_error *error)
{
    g->values = values;
    g->tie_count = 0;
    if (g->ties) spl_ties_forget(g->ties);
    return g->factor ? spl_factor_factorise(g->factor, values, error) : SUPPLE_OK;
}

/* A's diagonal with the ties', inverted. */
static void set_jacobi(spl_global *g)
{
    const spl_pattern *p = g->in.pattern;
    for (int32_t i = 0; i < p->n; i++) g->jacobi[i] = g->values[p->start[i]];
    for (int32_t j = 0; j < g->tie_count; j++)
        for (int i = 0; i < 4; i++) {
            const spl_tie *t = &g->tie[j];
            int32_t node = t->vertex[i] < 0 ? -1 : g->in.unknown[t->vertex[i]];
            if (node >= 0) g->jacobi[node] += t->stiffness * t->coefficient[i] * t->coefficient[i];
        }
    for (int32_t i = 0; i < p->n; i++) g->jacobi[i] = g->jacobi[i] > 0 ? 1 / g->jacobi[i] : 1;
}

supple_result spl_global_tie(spl_global *g, const spl_tie *tie, int32_t count, supple_error *error)
{
    g->tie = tie;
    g->tie_count = count;
    int32_t low = count < direct_of(g) ? count : direct_of(g); /* of more, these are in the preconditioner */
    if (low > 0) return spl_ties_prepare(g->ties, g->factor, g->in.unknown, tie, low, error);
    if (g->jacobi) set_jacobi(g);
    return SUPPLE_OK;
}

/* ---- conjugate gradients ---- */

/* y = A x + sum_j k_j c_j (c_j . x) */
static void multiply(void *context, const double *x, double *y, int32_t k)
{
    const spl_global *g = context;
    spl_rows_multiply(&g->rows, g->values, x, k, y, g->pool);
    for (int32_t j = 0; j < g->tie_count; j++) {
        const spl_tie *t = &g->tie[j];
        int32_t node[4];
        for (int i = 0; i < 4; i++) node[i] = t->vertex[i] < 0 ? -1 : g->in.unknown[t->vertex[i]];
        for (int32_t c = 0; c < k; c++) {
            double d = 0;
            for (int i = 0; i < 4; i++)
                if (node[i] >= 0) d += t->coefficient[i] * x[node[i] * k + c];
            for (int i = 0; i < 4; i++)
                if (node[i] >= 0) y[node[i] * k + c] += t->stiffness * t->coefficient[i] * d;
        }
    }
}

static void by_diagonal(void *context, const double *x, double *y, int32_t k)
{
    const spl_global *g = context;
    for (int32_t i = 0; i < g->in.pattern->n; i++)
        for (int32_t c = 0; c < k; c++) y[i * k + c] = g->jacobi[i] * x[i * k + c];
}

static void by_factor(void *context, const double *x, double *y, int32_t k)
{
    const spl_global *g = context;
    size_t n = (size_t)g->in.pattern->n * (size_t)k;
    for (size_t i = 0; i < n; i++) g->work[i] = (float)x[i];
    spl_factor_solve_float(g->factor, g->work, k, NULL);
    if (g->ties && k == 3) spl_ties_apply(g->ties, g->factor, g->work, g->more, NULL);
    for (size_t i = 0; i < n; i++) y[i] = (double)g->work[i];
}

static void solve_pcg(spl_global *g, float *x)
{
    size_t n = 3 * (size_t)g->in.pattern->n;
    spl_pcg_problem p = {.multiply = multiply,
                         .multiply_context = g,
                         .precondition = g->in.inner > 0 ? by_diagonal : by_factor,
                         .precondition_context = g,
                         .tolerance = g->in.inner > 0 ? 1e-7 : INNER_TOLERANCE,
                         .max_iterations = g->in.inner > 0 ? g->in.inner : INNER_MOST,
                         .from_zero = true,
                         .recurrence = true};
    for (size_t i = 0; i < n; i++) g->b[i] = (double)x[i];
    memset(g->x, 0, n * sizeof *g->x);
    g->inner = spl_pcg_solve(g->pcg, &p, g->b, g->x, 3).iterations;
    for (size_t i = 0; i < n; i++) x[i] = (float)g->x[i];
}

supple_result spl_global_solve(spl_global *g, float *x, supple_error *error)
{
    g->inner = 0;
    if (!g->factor || g->tie_count > direct_of(g)) {
        solve_pcg(g, x);
        return SUPPLE_OK;
    }
    supple_result result = spl_factor_solve_float(g->factor, x, 3, error);
    if (result == SUPPLE_OK && g->tie_count > 0) result = spl_ties_apply(g->ties, g->factor, x, g->work, error);
    return result;
}

double spl_global_bytes(const spl_global *g)
{
    return g->factor ? (double)spl_factor_get_stats(g->factor).bytes : 0;
}

int32_t spl_global_inner(const spl_global *g)
{
    return g->inner;
}

int32_t spl_global_columns(const spl_global *g)
{
    return g->ties ? spl_ties_solved(g->ties) : 0;
}
