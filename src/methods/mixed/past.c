#include "methods/mixed/past.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 2048 };

supple_result spl_past_create(size_t n, const supple_allocator *a, spl_pool *pool, spl_past *out, supple_error *error)
{
    *out = (spl_past){.allocator = *a, .pool = pool, .n = n};
    bool ok = (out->partial = spl_new(a, n / BLOCK + 1, sizeof *out->partial)) != NULL;
    for (int k = 0; k < SPL_PAST && ok; k++) {
        out->direction[k] = spl_new(a, n, sizeof(double));
        out->plane[k] = spl_new(a, n, sizeof(double));
        out->image[k] = spl_new(a, n, sizeof(double));
        ok = out->direction[k] && out->plane[k] && out->image[k];
    }
    if (ok) return SUPPLE_OK;
    spl_past_release(out);
    return spl_fail_memory(error, "the last frames");
}

void spl_past_release(spl_past *p)
{
    if (!p->allocator.release) return;
    for (int k = 0; k < SPL_PAST; k++) {
        spl_free(&p->allocator, p->direction[k]);
        spl_free(&p->allocator, p->plane[k]);
        spl_free(&p->allocator, p->image[k]);
    }
    spl_free(&p->allocator, p->partial);
    *p = (spl_past){0};
}

typedef struct pass {
    const double *u, *v;
    double a, b, *x, *y, *partial;
} pass;

static void dot_block(void *context, size_t begin, size_t end)
{
    const pass *t = context;
    double sum[4] = {0}; /* chains that do not wait for each other */
    size_t i = begin;
    for (; i + 4 <= end; i += 4)
        for (size_t c = 0; c < 4; c++) sum[c] += t->u[i + c] * t->v[i + c];
    for (; i < end; i++) sum[0] += t->u[i] * t->v[i];
    t->partial[begin / BLOCK] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static double dot(spl_past *p, const double *u, const double *v)
{
    pass t = {.u = u, .v = v, .partial = p->partial};
    spl_parallel_for(p->pool, p->n, BLOCK, dot_block, &t);
    double sum = 0;
    for (size_t b = 0; b * BLOCK < p->n; b++) sum += p->partial[b];
    return sum;
}

static void move_block(void *context, size_t begin, size_t end)
{
    const pass *t = context;
    for (size_t i = begin; i < end; i++) {
        t->x[i] += t->a * t->u[i];
        t->y[i] += t->b * t->v[i];
    }
}

/* x += a (direction k of the plane), y += b (its image) */
static void move(spl_past *p, int32_t k, double a, double *x, double b, double *y)
{
    pass t = {.u = p->plane[k], .v = p->image[k], .a = a, .b = b, .x = x, .y = y};
    spl_parallel_for(p->pool, p->n, BLOCK, move_block, &t);
}

void spl_past_guess(spl_past *p, const spl_matrix3 *A, double *x, double *r)
{
    double energy[SPL_PAST]; /* d . A d */
    for (int32_t k = 0; k < p->count; k++) {
        double *d = p->plane[k], *q = p->image[k];
        memcpy(d, p->direction[k], p->n * sizeof *d);
        spl_matrix3_multiply(A, d, q, p->pool);
        double whole = dot(p, d, q);
        for (int32_t j = 0; j < k; j++) {
            double s = energy[j] > 0 ? dot(p, p->image[j], d) / energy[j] : 0;
            move(p, j, -s, d, -s, q);
        }
        energy[k] = dot(p, d, q);
        if (!(energy[k] > 1e-10 * whole)) { /* along the others, or nothing: what is left is rounding */
            energy[k] = 0;
            continue;
        }
        double s = dot(p, d, r) / energy[k];
        if (isfinite(s)) move(p, k, s, x, -s, r);
    }
}

void spl_past_keep(spl_past *p, const double *dx)
{
    double *last = p->direction[SPL_PAST - 1];
    for (int k = SPL_PAST - 1; k > 0; k--) p->direction[k] = p->direction[k - 1];
    p->direction[0] = last;
    memcpy(last, dx, p->n * sizeof *dx);
    if (p->count < SPL_PAST) p->count++;
}
