#include "subspace/sandwich.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

enum { CHUNK = 64 }; /* vertices whose rows are copied, padded and multiplied at once */

/* Row `axis` of [U | p - centre] at the k-th vertex, `by` times. */
static inline void copy_row(const spl_rows_of *r, int32_t k, int axis, double by, double *row)
{
    const spl_model_domain *d = r->domain;
    size_t v = (size_t)(r->vertex ? r->vertex[k] : k), rank = (size_t)d->rank;
    const double *u = d->basis + (3 * v + (size_t)axis) * rank, centre[3] = {r->centre.x, r->centre.y, r->centre.z};
    for (size_t i = 0; i < rank; i++) row[i] = by * u[i];
    row[rank] = by * (d->rest[3 * v + (size_t)axis] - centre[axis]);
}

/* T^mn += the chunk's vertices. */
static void add_chunk(const spl_sandwich *s, const double *A, int32_t wide, const double *B, int32_t count,
                      double *padded)
{
    for (size_t n = 0; n < 3; n++)
        for (size_t m = 0; m < 3; m++) {
            spl_product p = {.C = padded, .A = A + m * (size_t)wide, .B = B + n * (size_t)s->stride, .sign = 1};
            p.m = wide, p.n = s->stride, p.k = count;
            p.lda = 3 * (size_t)wide, p.ldb = 3 * (size_t)s->stride, p.ldc = (size_t)s->stride;
            size_t length = (size_t)s->rows * (size_t)s->stride;
            double *to = s->table + (3 * n + m) * length;
            memcpy(padded, to, length * sizeof *to);
            spl_dense_kernels_of(false)->product(&p);
            memcpy(to, padded, length * sizeof *to);
        }
}

supple_result spl_sandwich_create(const spl_rows_of *first, const spl_rows_of *second, const double *weight,
                                  const supple_allocator *a, spl_sandwich *out, supple_error *error)
{
    int32_t wide = spl_wide(first->domain), stride = spl_wide(second->domain);
    *out = (spl_sandwich){.rows = first->domain->rank + 1, .stride = stride};
    out->table = spl_new(a, 9 * (size_t)out->rows * (size_t)stride, sizeof *out->table);
    double *A = spl_new(a, 3 * CHUNK * (size_t)wide, sizeof *A);
    double *B = spl_new(a, 3 * CHUNK * (size_t)stride, sizeof *B);
    double *padded = spl_new(a, (size_t)wide * (size_t)stride, sizeof *padded);
    bool room = out->table && A && B && padded;
    for (int32_t at = 0; room && at < first->count; at += CHUNK) {
        int32_t count = first->count - at < CHUNK ? first->count - at : CHUNK;
        for (int32_t k = 0; k < count; k++)
            for (int axis = 0; axis < 3; axis++) {
                copy_row(first, at + k, axis, weight[at + k], A + (3 * (size_t)k + (size_t)axis) * (size_t)wide);
                copy_row(second, at + k, axis, 1, B + (3 * (size_t)k + (size_t)axis) * (size_t)stride);
            }
        add_chunk(out, A, wide, B, count, padded);
    }
    spl_free(a, A);
    spl_free(a, B);
    spl_free(a, padded);
    if (room) return SUPPLE_OK;
    spl_sandwich_release(out, a);
    return spl_fail_memory(error, "the sandwich transforms of a model");
}

void spl_sandwich_release(spl_sandwich *s, const supple_allocator *a)
{
    spl_free(a, s->table);
    *s = (spl_sandwich){0};
}

void spl_sandwich_contract(const spl_sandwich *s, const spl_dense_kernels *kernels, int32_t sets, const spl_mat3 *X,
                           double *const *out)
{
    kernels->contract(s->table, 9, (size_t)s->rows * (size_t)s->stride, sets, X->m, out);
}

void spl_sandwich_sum(const spl_rows_of *first, const spl_rows_of *second, const double *weight, const spl_mat3 *X,
                      double *room, double *out)
{
    size_t rank = (size_t)first->domain->rank, stride = (size_t)spl_wide(second->domain);
    const double centre[3] = {first->centre.x, first->centre.y, first->centre.z};
    memset(out, 0, (rank + 1) * stride * sizeof *out);
    memset(room, 0, 3 * stride * sizeof *room);
    for (int32_t k = 0; k < first->count; k++) {
        size_t v = (size_t)(first->vertex ? first->vertex[k] : k);
        for (int n = 0; n < 3; n++) copy_row(second, k, n, weight[k], room + (size_t)n * stride);
        for (size_t b = 0; b < stride; b++) { /* X B_k */
            double x = room[b], y = room[stride + b], z = room[2 * stride + b];
            for (size_t m = 0; m < 3; m++) room[m * stride + b] = X->m[m] * x + X->m[3 + m] * y + X->m[6 + m] * z;
        }
        for (size_t m = 0; m < 3; m++) {
            const double *u = first->domain->basis + (3 * v + m) * rank, *row = room + m * stride;
            for (size_t i = 0; i <= rank; i++) {
                double f = i < rank ? u[i] : first->domain->rest[3 * v + m] - centre[m], *to = out + i * stride;
                for (size_t b = 0; b < stride; b++) to[b] += f * row[b];
            }
        }
    }
}
