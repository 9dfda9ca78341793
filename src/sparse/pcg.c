/* Hestenes and Stiefel 1952; the notation of Saad, Iterative Methods for Sparse Linear Systems, algorithm 9.1. */
#include "sparse/pcg.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { ROWS = 1024, K = SPL_PCG_MAX_SIDES };

struct spl_pcg {
    supple_allocator allocator;
    spl_pool *pool;
    size_t n;
    int32_t sides;
    double *r, *z, *p, *q; /* n x sides; q = A p */
    double *partial;       /* blocks x sides */
};

supple_result spl_pcg_create(size_t n, int32_t k, const supple_allocator *a, spl_pool *pool, spl_pcg **out,
                             supple_error *error)
{
    *out = NULL;
    if (k < 1 || k > K)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "conjugate gradients: 1 to %d right-hand sides are possible, not %d", K, (int)k);
    size_t count;
    if (!spl_mul(n, (size_t)k, &count)) return spl_fail_memory(error, "conjugate gradients");
    spl_pcg *w = spl_new(a, 1, sizeof *w);
    if (!w) return spl_fail_memory(error, "conjugate gradients");
    *w = (spl_pcg){.allocator = *a, .pool = pool, .n = n, .sides = k};
    w->r = spl_new(a, count, sizeof *w->r);
    w->z = spl_new(a, count, sizeof *w->z);
    w->p = spl_new(a, count, sizeof *w->p);
    w->q = spl_new(a, count, sizeof *w->q);
    w->partial = spl_new(a, (n / ROWS + 1) * (size_t)k, sizeof *w->partial);
    if (!w->r || !w->z || !w->p || !w->q || !w->partial) {
        spl_pcg_destroy(w);
        return spl_fail_memory(error, "conjugate gradients");
    }
    *out = w;
    return SUPPLE_OK;
}

void spl_pcg_destroy(spl_pcg *w)
{
    if (!w) return;
    supple_allocator a = w->allocator;
    double *blocks[] = {w->r, w->z, w->p, w->q, w->partial};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_free(&a, w);
}

/* A pass over vectors: u . v, or x += s y with variations. Blocks of ROWS rows, whatever the threads. */
typedef struct pass {
    size_t k;
    const double *u, *v, *s;
    double *x, *y, *partial;
} pass;

/* One right-hand side: four sums that do not wait for each other. */
static double dot_one(const double *u, const double *v, size_t begin, size_t end)
{
    double sum[4] = {0};
    size_t i = begin;
    for (; i + 4 <= end; i += 4)
        for (size_t c = 0; c < 4; c++) sum[c] += u[i + c] * v[i + c];
    for (; i < end; i++) sum[0] += u[i] * v[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void dot_block(void *context, size_t begin, size_t end)
{
    const pass *t = context;
    size_t k = t->k;
    if (k == 1) {
        t->partial[begin / ROWS] = dot_one(t->u, t->v, begin, end);
        return;
    }
    double sum[K] = {0};
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < k; c++) sum[c] += t->u[i * k + c] * t->v[i * k + c];
    for (size_t c = 0; c < k; c++) t->partial[begin / ROWS * k + c] = sum[c];
}

static void add_partials(const spl_pcg *w, size_t k, double out[K])
{
    for (size_t c = 0; c < k; c++) out[c] = 0;
    for (size_t b = 0; b * ROWS < w->n; b++)
        for (size_t c = 0; c < k; c++) out[c] += w->partial[b * k + c];
}

static void dots(spl_pcg *w, size_t k, const double *u, const double *v, double out[K])
{
    pass t = {.k = k, .u = u, .v = v, .partial = w->partial};
    spl_parallel_for(w->pool, w->n, ROWS, dot_block, &t);
    add_partials(w, k, out);
}

static void advance_one(const pass *t, size_t begin, size_t end)
{
    const double *restrict u = t->u, *restrict v = t->v, s = t->s[0];
    double *restrict x = t->x, *restrict y = t->y;
    for (size_t i = begin; i < end; i++) {
        x[i] += s * u[i];
        y[i] -= s * v[i];
    }
    t->partial[begin / ROWS] = dot_one(y, y, begin, end);
}

static void advance_block(void *context, size_t begin, size_t end) /* x += s u, y -= s v, and y . y */
{
    const pass *t = context;
    if (t->k == 1) {
        advance_one(t, begin, end);
        return;
    }
    double sum[K] = {0};
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < t->k; c++) {
            size_t at = i * t->k + c;
            t->x[at] += t->s[c] * t->u[at];
            double y = t->y[at] - t->s[c] * t->v[at];
            t->y[at] = y;
            sum[c] += y * y;
        }
    for (size_t c = 0; c < t->k; c++) t->partial[begin / ROWS * t->k + c] = sum[c];
}

static void turn_block(void *context, size_t begin, size_t end) /* x = u + s x */
{
    const pass *t = context;
    if (t->k == 1) {
        const double *restrict u = t->u, s = t->s[0];
        double *restrict x = t->x;
        for (size_t i = begin; i < end; i++) x[i] = u[i] + s * x[i];
        return;
    }
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < t->k; c++) t->x[i * t->k + c] = t->u[i * t->k + c] + t->s[c] * t->x[i * t->k + c];
}

/* r = b - A x; the norms of r. */
static void find_residual(spl_pcg *w, const spl_pcg_problem *p, const double *b, const double *x, bool zero, size_t k,
                          double norm[K])
{
    if (zero) {
        memcpy(w->r, b, w->n * k * sizeof *b);
    } else {
        p->multiply(p->multiply_context, x, w->r, (int32_t)k);
        for (size_t i = 0; i < w->n * k; i++) w->r[i] = b[i] - w->r[i];
    }
    dots(w, k, w->r, w->r, norm);
    for (size_t c = 0; c < k; c++) norm[c] = sqrt(norm[c]);
}

static const double *precondition(spl_pcg *w, const spl_pcg_problem *p, size_t k)
{
    if (!p->precondition) return w->r;
    p->precondition(p->precondition_context, w->r, w->z, (int32_t)k);
    return w->z;
}

/* The largest norm in units of `scale`, and which sides still have to move. */
static double judge(const spl_pcg_problem *p, size_t k, const double norm[K], const double scale[K], bool active[K])
{
    double worst = 0;
    for (size_t c = 0; c < k; c++) {
        double value = norm[c] / scale[c];
        active[c] = !(value <= p->tolerance);
        if (!(value <= worst)) worst = value;
    }
    return worst;
}

static bool any(const bool active[K], size_t k)
{
    for (size_t c = 0; c < k; c++)
        if (active[c]) return true;
    return false;
}

static bool settled(const spl_pcg_problem *p, size_t k, const double norm[K], const double scale[K])
{
    bool active[K];
    judge(p, k, norm, scale, active);
    return !any(active, k);
}

/* One iteration. False: stop, with the reason in *status. Sides that are done have coefficients 0 and stand still. */
static bool iterate(spl_pcg *w, const spl_pcg_problem *p, double *x, size_t k, const bool active[K],
                    const double scale[K], double rz[K], double norm[K], spl_pcg_status *status)
{
    double pq[K], alpha[K] = {0}, beta[K] = {0}, next[K];
    p->multiply(p->multiply_context, w->p, w->q, (int32_t)k);
    dots(w, k, w->p, w->q, pq);
    for (size_t c = 0; c < k; c++) {
        if (!active[c]) continue;
        if (!isfinite(pq[c])) return *status = SPL_PCG_NOT_FINITE, false;
        if (pq[c] <= 0 || rz[c] < 0) return *status = SPL_PCG_BREAKDOWN, false;
        alpha[c] = rz[c] / pq[c];
    }
    pass move = {.k = k, .u = w->p, .v = w->q, .s = alpha, .x = x, .y = w->r, .partial = w->partial};
    spl_parallel_for(w->pool, w->n, ROWS, advance_block, &move);
    add_partials(w, k, norm);
    for (size_t c = 0; c < k; c++) norm[c] = sqrt(norm[c]);
    if (settled(p, k, norm, scale)) return true; /* no direction is needed any more */
    const double *z = precondition(w, p, k);
    dots(w, k, w->r, z, next);
    for (size_t c = 0; c < k; c++) {
        if (!active[c]) continue;
        if (!isfinite(next[c])) return *status = SPL_PCG_NOT_FINITE, false;
        if (next[c] < 0) return *status = SPL_PCG_BREAKDOWN, false;
        beta[c] = rz[c] > 0 ? next[c] / rz[c] : 0;
        rz[c] = next[c];
    }
    pass turn = {.k = k, .u = z, .s = beta, .x = w->p};
    spl_parallel_for(w->pool, w->n, ROWS, turn_block, &turn);
    return true;
}

spl_pcg_result spl_pcg_solve(spl_pcg *w, const spl_pcg_problem *p, const double *b, double *x, int32_t sides)
{
    size_t k = (size_t)sides;
    double scale[K], norm[K], rz[K];
    bool active[K];
    spl_pcg_result out = {.status = SPL_PCG_LIMIT};
    dots(w, k, b, b, scale);
    for (size_t c = 0; c < k; c++) {
        for (size_t i = 0; scale[c] == 0 && i < w->n; i++) x[i * k + c] = 0; /* b = 0: x = 0 */
        scale[c] = p->absolute || scale[c] == 0 ? 1 : sqrt(scale[c]);
    }
    find_residual(w, p, b, x, p->from_zero, k, norm);
    const double *z = precondition(w, p, k);
    memcpy(w->p, z, w->n * k * sizeof *z);
    dots(w, k, w->r, z, rz);
    for (;; out.iterations++) {
        out.residual = judge(p, k, norm, scale, active);
        if (p->history) p->history[out.iterations] = out.residual;
        if (!isfinite(out.residual)) out.status = SPL_PCG_NOT_FINITE;
        if (!any(active, k)) out.status = SPL_PCG_CONVERGED;
        if (out.status != SPL_PCG_LIMIT || out.iterations >= p->max_iterations) break;
        if (!iterate(w, p, x, k, active, scale, rz, norm, &out.status)) break;
    }
    if (p->recurrence && out.status == SPL_PCG_CONVERGED) return out;
    find_residual(w, p, b, x, false, k, norm);
    out.residual = judge(p, k, norm, scale, active);
    return out;
}
