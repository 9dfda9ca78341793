#include "methods/projective/vectors.h"

#include "core/memory.h"
#include "math/cpu.h"

#include <string.h>

enum { PIECE = 2048 }; /* numbers that a thread takes at once, whole strips */

bool spl_vectors_create(size_t n, bool plain, const supple_allocator *a, spl_pool *pool, spl_vectors *out)
{
    *out = (spl_vectors){.allocator = *a, .pool = pool, .n = n, .dot = spl_strip_dot_plain, .add = spl_strip_add_plain};
#ifdef SPL_HAVE_AVX2
    if (!plain && spl_cpu_has_avx2()) out->dot = spl_strip_dot_avx2, out->add = spl_strip_add_avx2;
#else
    (void)plain;
#endif
    out->partial = spl_new(a, n / PIECE + 1, SPL_VECTORS_MOST * sizeof *out->partial);
    return out->partial;
}

void spl_vectors_release(spl_vectors *v)
{
    if (v->allocator.release) spl_free(&v->allocator, v->partial);
    *v = (spl_vectors){0};
}

float spl_strip_dot_plain(const float *a, const float *b, size_t n)
{
    float sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[0] += a[i] * b[i];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

void spl_strip_add_plain(const float *x, float s, size_t n, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] += s * x[i];
}

typedef struct job {
    spl_vectors *v;
    int count;
    const float *const *a, *const *b;
    const float *base;
    const double *s;
    float *out;
} job;

static size_t strip_of(size_t at, size_t end)
{
    return end - at < SPL_VECTORS_STRIP ? end - at : SPL_VECTORS_STRIP;
}

static void dot_piece(void *context, size_t begin, size_t end)
{
    const job *w = context;
    double *sum = w->v->partial + begin / PIECE * SPL_VECTORS_MOST;
    for (int k = 0; k < w->count; k++) sum[k] = 0;
    for (size_t i = begin; i < end; i += SPL_VECTORS_STRIP)
        for (int k = 0; k < w->count; k++) sum[k] += (double)w->v->dot(w->a[k] + i, w->b[k] + i, strip_of(i, end));
}

void spl_vectors_dots(spl_vectors *v, int count, const float *const a[], const float *const b[], double out[])
{
    if (v->elsewhere) {
        v->elsewhere->dots(v->elsewhere->self, count, a, b, out);
        return;
    }
    job w = {.v = v, .count = count, .a = a, .b = b};
    spl_parallel_for(v->pool, v->n, PIECE, dot_piece, &w);
    for (int k = 0; k < count; k++) out[k] = 0;
    for (size_t i = 0; i * PIECE < v->n; i++)
        for (int k = 0; k < count; k++) out[k] += v->partial[i * SPL_VECTORS_MOST + (size_t)k];
}

static void sum_piece(void *context, size_t begin, size_t end)
{
    const job *w = context;
    for (size_t i = begin; i < end; i += SPL_VECTORS_STRIP) {
        size_t n = strip_of(i, end);
        if (w->out != w->base) memcpy(w->out + i, w->base + i, n * sizeof *w->out);
        for (int k = 0; k < w->count; k++) w->v->add(w->a[k] + i, (float)w->s[k], n, w->out + i);
    }
}

void spl_vectors_sum(spl_vectors *v, const float *base, int count, const double s[], const float *const x[], float *out)
{
    if (v->elsewhere) {
        v->elsewhere->sum(v->elsewhere->self, base, count, s, x, out);
        return;
    }
    job w = {.v = v, .count = count, .a = x, .base = base, .s = s, .out = out};
    spl_parallel_for(v->pool, v->n, PIECE, sum_piece, &w);
}

void spl_vectors_copy(spl_vectors *v, const float *from, float *to)
{
    if (v->elsewhere)
        v->elsewhere->sum(v->elsewhere->self, from, 0, NULL, NULL, to);
    else
        memcpy(to, from, v->n * sizeof *to);
}
