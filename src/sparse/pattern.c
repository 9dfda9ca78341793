#include "sparse/pattern.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

size_t spl_pattern_unknowns(const spl_pattern *p)
{
    return (size_t)p->n * (size_t)p->block;
}

size_t spl_pattern_values(const spl_pattern *p)
{
    return p->start[p->n] * (size_t)(p->block * p->block);
}

void spl_pattern_release(spl_pattern *p, const supple_allocator *a)
{
    spl_free(a, p->start);
    spl_free(a, p->row);
    *p = (spl_pattern){0};
}

static int32_t low(const int32_t *pair)
{
    return pair[0] < pair[1] ? pair[0] : pair[1];
}

static int32_t high(const int32_t *pair)
{
    return pair[0] < pair[1] ? pair[1] : pair[0];
}

/* Sorts the off-diagonal pairs by column, then row, without comparisons: two stable counting sorts.
 * `head` has n + 1 zeros; `by_row` and `by_column` hold pair_count entries. On return head[j] is the end of column j.
 */
static void sort_pairs(int32_t n, const int32_t *pairs, size_t pair_count, size_t *head, size_t *by_row,
                       size_t *by_column)
{
    for (size_t e = 0; e < pair_count; e++) head[high(pairs + 2 * e) + 1]++;
    for (int32_t i = 0; i < n; i++) head[i + 1] += head[i];
    for (size_t e = 0; e < pair_count; e++) by_row[head[high(pairs + 2 * e)]++] = e;
    memset(head, 0, ((size_t)n + 1) * sizeof *head);
    for (size_t e = 0; e < pair_count; e++) head[low(pairs + 2 * e) + 1]++;
    for (int32_t i = 0; i < n; i++) head[i + 1] += head[i];
    for (size_t e = 0; e < pair_count; e++) by_column[head[low(pairs + 2 * by_row[e])]++] = by_row[e];
}

/* Writes the columns without repetitions; returns the number of entries. */
static size_t compress(spl_pattern *p, const int32_t *pairs, const size_t *end, const size_t *sorted)
{
    size_t count = 0, e = 0;
    for (int32_t j = 0; j < p->n; j++) {
        p->start[j] = count;
        p->row[count++] = j;
        for (; e < end[j]; e++) {
            int32_t i = high(pairs + 2 * sorted[e]);
            if (i != p->row[count - 1]) p->row[count++] = i;
        }
    }
    p->start[p->n] = count;
    return count;
}

supple_result spl_pattern_from_pairs(int32_t n, int32_t block, const int32_t *pairs, size_t pair_count,
                                     const supple_allocator *a, spl_pattern *out, supple_error *error)
{
    *out = (spl_pattern){.n = n, .block = block};
    if (n < 0 || (block != 1 && block != 3) || n > (INT32_MAX - 16) / block)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "sparse: %d nodes of %d unknowns are not possible", (int)n,
                        (int)block);
    for (size_t e = 0; e < 2 * pair_count; e++)
        if (pairs[e] < 0 || pairs[e] >= n)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "sparse: pair %zu names node %d of %d", e / 2, (int)pairs[e],
                            (int)n);
    size_t *head = spl_new(a, (size_t)n + 1, sizeof *head);
    size_t *by_row = spl_new(a, pair_count, sizeof *by_row);
    size_t *by_column = spl_new(a, pair_count, sizeof *by_column);
    out->start = spl_new(a, (size_t)n + 1, sizeof *out->start);
    out->row = spl_new(a, pair_count + (size_t)n, sizeof *out->row);
    bool ok = head && by_row && by_column && out->start && out->row;
    if (ok) {
        sort_pairs(n, pairs, pair_count, head, by_row, by_column);
        size_t count = compress(out, pairs, head, by_column);
        int32_t *fitted = spl_resize(a, out->row, count, sizeof *fitted);
        if (fitted) out->row = fitted; /* else the larger block serves as well */
    }
    spl_free(a, by_column);
    spl_free(a, by_row);
    spl_free(a, head);
    if (ok) return SUPPLE_OK;
    spl_pattern_release(out, a);
    return spl_fail_memory(error, "the pattern of a sparse matrix");
}

supple_result spl_pattern_check(const spl_pattern *p, supple_error *error)
{
    if (p->n < 0 || (p->block != 1 && p->block != 3) || p->n > (INT32_MAX - 16) / p->block || p->start[0] != 0)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "sparse: a pattern of %d nodes of %d unknowns is not possible",
                        (int)p->n, (int)p->block);
    for (int32_t j = 0; j < p->n; j++) {
        bool ok = p->start[j + 1] > p->start[j] && p->row[p->start[j]] == j;
        for (size_t e = p->start[j] + 1; ok && e < p->start[j + 1]; e++)
            ok = p->row[e] > p->row[e - 1] && p->row[e] < p->n;
        if (!ok)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                            "sparse: column %d must begin with its diagonal and have ascending rows", (int)j);
    }
    return SUPPLE_OK;
}

size_t spl_pattern_find(const spl_pattern *p, int32_t i, int32_t j)
{
    if (j < 0 || i < j || i >= p->n) return SIZE_MAX;
    size_t lo = p->start[j], hi = p->start[j + 1];
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (p->row[middle] < i)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < p->start[j + 1] && p->row[lo] == i ? lo : SIZE_MAX;
}

/* Column c of node j: the diagonal block gives rows c .. block - 1, every other entry `block` rows. */
static size_t expand_column(const spl_pattern *p, int32_t j, int32_t c, size_t at, int32_t *row, size_t *source)
{
    int32_t b = p->block;
    for (size_t e = p->start[j]; e < p->start[j + 1]; e++)
        for (int32_t r = p->row[e] == j ? c : 0; r < b; r++, at++) {
            row[at] = p->row[e] * b + r;
            source[at] = (e * (size_t)b + (size_t)c) * (size_t)b + (size_t)r;
        }
    return at;
}

supple_result spl_pattern_expand(const spl_pattern *p, const supple_allocator *a, spl_pattern *out, size_t **source,
                                 supple_error *error)
{
    size_t n = spl_pattern_unknowns(p), at = 0;
    *out = (spl_pattern){.n = (int32_t)n, .block = 1};
    out->start = spl_new(a, n + 1, sizeof *out->start);
    out->row = spl_new(a, spl_pattern_values(p), sizeof *out->row);
    *source = spl_new(a, spl_pattern_values(p), sizeof **source);
    if (!out->start || !out->row || !*source) {
        spl_free(a, *source);
        *source = NULL;
        spl_pattern_release(out, a);
        return spl_fail_memory(error, "the pattern of a sparse matrix");
    }
    for (int32_t j = 0; j < p->n; j++)
        for (int32_t c = 0; c < p->block; c++) {
            out->start[j * p->block + c] = at;
            at = expand_column(p, j, c, at, out->row, *source);
        }
    out->start[n] = at;
    return SUPPLE_OK;
}

void spl_rows_release(spl_rows *r, const supple_allocator *a)
{
    spl_free(a, r->start);
    spl_free(a, r->column);
    spl_free(a, r->entry);
    *r = (spl_rows){0};
}

supple_result spl_rows_create(const spl_pattern *p, const supple_allocator *a, spl_rows *out, supple_error *error)
{
    size_t n = (size_t)p->n, count = 2 * p->start[n] - n;
    *out = (spl_rows){.n = p->n, .block = p->block};
    out->start = spl_new(a, n + 2, sizeof *out->start);
    out->column = spl_new(a, count, sizeof *out->column);
    out->entry = spl_new(a, count, sizeof *out->entry);
    if (!out->start || !out->column || !out->entry) {
        spl_rows_release(out, a);
        return spl_fail_memory(error, "the rows of a sparse matrix");
    }
    size_t *next = out->start + 1; /* next[i] is row i's cursor; when filled it is the start of row i + 1 */
    for (int32_t j = 0; j < p->n; j++)
        for (size_t e = p->start[j]; e < p->start[j + 1]; e++) {
            next[p->row[e] + 1]++;
            if (p->row[e] != j) next[j + 1]++;
        }
    for (size_t i = 1; i <= n; i++) next[i] += next[i - 1];
    /* Columns ascending: entry (i, j) reaches row i while j ascends; row j then takes its own column's rows, all
     * above j, after what columns before j have put there. */
    for (int32_t j = 0; j < p->n; j++)
        for (size_t e = p->start[j]; e < p->start[j + 1]; e++) {
            int32_t i = p->row[e];
            out->column[next[i]] = j;
            out->entry[next[i]++] = e;
            if (i == j) continue;
            out->column[next[j]] = i;
            out->entry[next[j]++] = e;
        }
    return SUPPLE_OK;
}

typedef struct product {
    const spl_rows *r;
    const double *values, *x;
    double *y;
    size_t k;
} product;

static void multiply_scalar(const product *p, size_t i)
{
    const spl_rows *r = p->r;
    size_t k = p->k;
    for (size_t c = 0; c < k; c++) {
        double sum = 0;
        for (size_t q = r->start[i]; q < r->start[i + 1]; q++)
            sum += p->values[r->entry[q]] * p->x[(size_t)r->column[q] * k + c];
        p->y[i * k + c] = sum;
    }
}

static void multiply_points(const product *p, size_t i) /* blocks of 1, three right-hand sides */
{
    const spl_rows *r = p->r;
    double s0 = 0, s1 = 0, s2 = 0;
    for (size_t q = r->start[i]; q < r->start[i + 1]; q++) {
        double v = p->values[r->entry[q]];
        const double *x = p->x + 3 * (size_t)r->column[q];
        s0 += v * x[0];
        s1 += v * x[1];
        s2 += v * x[2];
    }
    p->y[3 * i] = s0;
    p->y[3 * i + 1] = s1;
    p->y[3 * i + 2] = s2;
}

/* The value at (u, v) of the block in row i: of a diagonal block the lower triangle counts. */
static double block_value(const double *m, int u, int v, bool transposed, bool diagonal)
{
    if (diagonal && v > u) transposed = !transposed;
    return transposed ? m[3 * u + v] : m[3 * v + u];
}

static void multiply_blocks(const product *p, size_t i)
{
    const spl_rows *r = p->r;
    size_t k = p->k;
    for (size_t c = 0; c < k; c++) {
        double s[3] = {0, 0, 0};
        for (size_t q = r->start[i]; q < r->start[i + 1]; q++) {
            size_t j = (size_t)r->column[q];
            const double *m = p->values + 9 * r->entry[q], *x = p->x + 3 * j * k + c;
            for (int u = 0; u < 3; u++)
                for (int v = 0; v < 3; v++) s[u] += block_value(m, u, v, j > i, j == i) * x[(size_t)v * k];
        }
        for (size_t u = 0; u < 3; u++) p->y[(3 * i + u) * k + c] = s[u];
    }
}

static void multiply_range(void *context, size_t begin, size_t end)
{
    const product *p = context;
    for (size_t i = begin; i < end; i++) {
        if (p->r->block == 3)
            multiply_blocks(p, i);
        else if (p->k == 3)
            multiply_points(p, i);
        else
            multiply_scalar(p, i);
    }
}

void spl_rows_multiply(const spl_rows *r, const double *values, const double *x, int32_t k, double *y, spl_pool *pool)
{
    product p = {r, values, x, y, (size_t)k};
    spl_parallel_for(pool, (size_t)r->n, 1024, multiply_range, &p);
}
