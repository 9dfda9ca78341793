#include "sparse/matrix3.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/cpu.h"

supple_result spl_matrix3_create(const spl_pattern *p, const supple_allocator *a, spl_matrix3 *out, supple_error *error)
{
    *out = (spl_matrix3){0};
    supple_result result = spl_rows_create(p, a, &out->rows, error);
    if (result != SUPPLE_OK) return result;
    out->value = spl_new(a, 9 * out->rows.start[p->n] + 1, sizeof *out->value);
    if (out->value) return SUPPLE_OK;
    spl_matrix3_release(out, a);
    return spl_fail_memory(error, "a matrix");
}

void spl_matrix3_release(spl_matrix3 *m, const supple_allocator *a)
{
    spl_rows_release(&m->rows, a);
    spl_free(a, m->value);
    *m = (spl_matrix3){0};
}

typedef struct fill_loop {
    spl_matrix3 *m;
    const double *values;
} fill_loop;

static void fill_range(void *context, size_t begin, size_t end)
{
    const fill_loop *f = context;
    const spl_rows *r = &f->m->rows;
    for (size_t row = begin; row < end; row++)
        for (size_t at = r->start[row]; at < r->start[row + 1]; at++) {
            const double *B = f->values + 9 * r->entry[at]; /* column-major, rows of the larger index */
            double *out = f->m->value + 9 * at;
            size_t column = (size_t)r->column[at];
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++) {
                    /* Right of the diagonal our block is the stored one's transpose; of the diagonal block only the
                     * lower triangle counts. */
                    bool turned = column > row || (column == row && j > i);
                    out[3 * j + i] = turned ? B[3 * i + j] : B[3 * j + i];
                }
        }
}

void spl_matrix3_fill(spl_matrix3 *m, const double *values, spl_pool *pool)
{
    fill_loop f = {m, values};
    spl_parallel_for(pool, (size_t)m->rows.n, 512, fill_range, &f);
}

typedef struct lower_loop {
    const spl_matrix3 *m;
    double *values;
} lower_loop;

static void lower_range(void *context, size_t begin, size_t end)
{
    const lower_loop *l = context;
    const spl_rows *r = &l->m->rows;
    for (size_t row = begin; row < end; row++)
        for (size_t at = r->start[row]; at < r->start[row + 1]; at++) {
            if ((size_t)r->column[at] < row) continue;
            const double *B = l->m->value + 9 * at;
            double *out = l->values + 9 * r->entry[at];
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++) out[3 * j + i] = B[3 * i + j];
        }
}

void spl_matrix3_lower(const spl_matrix3 *m, double *values, spl_pool *pool)
{
    lower_loop l = {m, values};
    spl_parallel_for(pool, (size_t)m->rows.n, 512, lower_range, &l);
}

typedef struct multiply_loop {
    const spl_matrix3 *m;
    const double *x;
    double *y;
} multiply_loop;

static void multiply_rows(const spl_matrix3 *m, const double *x, double *y, size_t begin, size_t end)
{
    const spl_rows *r = &m->rows;
    for (size_t row = begin; row < end; row++) {
        double a = 0, b = 0, c = 0;
        const double *B = m->value + 9 * r->start[row];
        for (size_t at = r->start[row]; at < r->start[row + 1]; at++, B += 9) {
            const double *p = x + 3 * (size_t)r->column[at];
            a += B[0] * p[0] + B[3] * p[1] + B[6] * p[2];
            b += B[1] * p[0] + B[4] * p[1] + B[7] * p[2];
            c += B[2] * p[0] + B[5] * p[1] + B[8] * p[2];
        }
        y[3 * row] = a;
        y[3 * row + 1] = b;
        y[3 * row + 2] = c;
    }
}

static void multiply_range(void *context, size_t begin, size_t end)
{
    const multiply_loop *l = context;
#ifdef SPL_HAVE_AVX2
    if (!l->m->plain && spl_cpu_has_avx2()) {
        spl_matrix3_rows_avx2(l->m, l->x, l->y, begin, end);
        return;
    }
#endif
    multiply_rows(l->m, l->x, l->y, begin, end);
}

void spl_matrix3_multiply(const spl_matrix3 *m, const double *x, double *y, spl_pool *pool)
{
    multiply_loop l = {m, x, y};
    spl_parallel_for(pool, (size_t)m->rows.n, 512, multiply_range, &l);
}

size_t spl_matrix3_bytes(const spl_matrix3 *m)
{
    return m->rows.start ? m->rows.start[m->rows.n] * (9 * sizeof(double) + sizeof(int32_t)) : 0;
}
