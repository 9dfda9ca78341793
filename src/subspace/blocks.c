#include "subspace/blocks.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

/* ---- the order and the fill -------------------------------------------------------------------------------------- */

/* Which domains meet, fill included: count x count flags. */
static void link_all(bool *linked, int32_t count, const int32_t *pair, int32_t pair_count)
{
    for (int32_t p = 0; p < pair_count; p++) {
        linked[pair[2 * p] * count + pair[2 * p + 1]] = true;
        linked[pair[2 * p + 1] * count + pair[2 * p]] = true;
    }
}

/* The domain of least degree among those left; the first of several. */
static int32_t least(const bool *linked, const bool *done, int32_t count)
{
    int32_t best = -1, best_degree = count + 1;
    for (int32_t i = 0; i < count; i++) {
        int32_t degree = 0;
        for (int32_t j = 0; j < count; j++) degree += !done[j] && j != i && linked[i * count + j];
        if (!done[i] && degree < best_degree) best = i, best_degree = degree;
    }
    return best;
}

/* Elimination: the neighbours of each domain become neighbours of each other. */
static void eliminate(spl_blocks *b, bool *linked, bool *done)
{
    int32_t n = b->count;
    for (int32_t at = 0; at < n; at++) {
        int32_t k = least(linked, done, n);
        b->order[at] = k;
        b->place[k] = at;
        done[k] = true;
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = 0; j < n && !done[i] && linked[k * n + i]; j++)
                if (!done[j] && linked[k * n + j]) linked[i * n + j] = true;
    }
}

static size_t padded(const spl_blocks *b, int32_t place)
{
    return (size_t)spl_pad4(b->rank[b->order[place]]);
}

/* Entries of all panels, counted, then written. */
static int32_t lay_out(spl_blocks *b, const bool *linked, bool write)
{
    int32_t entry = 0, n = b->count;
    size_t size = 0;
    for (int32_t k = 0; k < n; k++) {
        size_t at = 0;
        if (write) b->start[k] = entry;
        for (int32_t j = k; j < n; j++) {
            if (j > k && !linked[b->order[k] * n + b->order[j]]) continue;
            if (write) b->column[entry] = j, b->at[entry] = at;
            at += padded(b, j);
            entry++;
        }
        if (write) b->panel[k] = size, b->width[k] = at;
        size += at * padded(b, k);
    }
    if (write) b->start[n] = entry;
    b->size = size;
    return entry;
}

/* Domains meet their neighbours alone: a file whose domains all meet one another asks for more than any body needs. */
static bool is_sparse(const spl_blocks *b)
{
    size_t diagonal = 0;
    for (int32_t k = 0; k < b->count; k++) diagonal += padded(b, k) * padded(b, k);
    return b->size <= (size_t)SPL_BLOCKS_GROUND || b->size / SPL_BLOCKS_FILL <= diagonal;
}

static supple_result analyse(spl_blocks *b, const int32_t *pair, int32_t pair_count, supple_error *error)
{
    const supple_allocator *a = &b->allocator;
    size_t n = (size_t)b->count;
    bool *linked = spl_new(a, n * n, sizeof *linked), *done = spl_new(a, n, sizeof *done);
    bool ok = linked && done, sparse = true;
    if (ok) {
        link_all(linked, b->count, pair, pair_count);
        eliminate(b, linked, done);
        size_t entries = (size_t)lay_out(b, linked, false);
        sparse = is_sparse(b);
        b->column = spl_new(a, entries, sizeof *b->column);
        b->at = spl_new(a, entries, sizeof *b->at);
        ok = b->column && b->at;
    }
    if (ok && sparse) {
        lay_out(b, linked, true);
        b->value = spl_new(a, b->size, sizeof *b->value);
        b->row = spl_new(a, b->offset[n], sizeof *b->row);
        b->sum = spl_new(a, b->offset[n], sizeof *b->sum);
        ok = b->value && b->row && b->sum;
    }
    spl_free(a, linked);
    spl_free(a, done);
    if (!ok) return spl_fail_memory(error, "the system of a model");
    if (!sparse)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "the model is damaged: its %d domains meet too often",
                        (int)b->count);
    return SUPPLE_OK;
}

supple_result spl_blocks_create(int32_t count, const int32_t *rank, const int32_t *pair, int32_t pair_count,
                                const supple_allocator *a, spl_blocks *out, supple_error *error)
{
    size_t n = (size_t)count;
    *out = (spl_blocks){.allocator = *a, .count = count, .kernels = spl_dense_kernels_of(false)};
    out->rank = spl_new(a, n, sizeof *out->rank);
    out->offset = spl_new(a, n + 1, sizeof *out->offset);
    out->order = spl_new(a, n, sizeof *out->order);
    out->place = spl_new(a, n, sizeof *out->place);
    out->start = spl_new(a, n + 1, sizeof *out->start);
    out->panel = spl_new(a, n, sizeof *out->panel);
    out->width = spl_new(a, n, sizeof *out->width);
    bool ok = out->rank && out->offset && out->order && out->place && out->start && out->panel && out->width;
    for (int32_t i = 0; ok && i < count; i++) {
        out->rank[i] = rank[i];
        out->offset[i + 1] = out->offset[i] + (size_t)spl_pad4(rank[i]);
    }
    supple_result result = ok ? analyse(out, pair, pair_count, error) : spl_fail_memory(error, "the system of a model");
    if (result != SUPPLE_OK) spl_blocks_release(out);
    return result;
}

void spl_blocks_release(spl_blocks *b)
{
    void *all[] = {b->rank, b->offset, b->order, b->place, b->start,  b->panel,  b->width, b->column,
                   b->at,   b->value,  b->row,   b->sum,   b->linked, b->filled, b->done};
    if (!b->allocator.allocate) return;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) spl_free(&b->allocator, all[i]);
    *b = (spl_blocks){0};
}

/* ---- other pairs for a while ---- */

supple_result spl_blocks_reserve(spl_blocks *b, const int32_t *pair, int32_t pair_count, supple_error *error)
{
    const supple_allocator *a = &b->allocator;
    size_t n = (size_t)b->count, diagonal = 0, all = 0, entries = n * (n + 1) / 2;
    if (b->count > SPL_BLOCKS_RESERVE)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "flesh against flesh: the model has %d domains, more than %d",
                        (int)b->count, SPL_BLOCKS_RESERVE);
    for (int32_t k = 0; k < b->count; k++) {
        diagonal += padded(b, k) * padded(b, k);
        for (int32_t j = k; j < b->count; j++) all += padded(b, k) * padded(b, j);
    }
    size_t most = SPL_BLOCKS_FILL * diagonal;
    if (most < (size_t)SPL_BLOCKS_GROUND) most = (size_t)SPL_BLOCKS_GROUND;
    if (most < b->size) most = b->size;
    if (most > all) most = all;
    int32_t *column = spl_new(a, entries, sizeof *column);
    size_t *at = spl_new(a, entries, sizeof *at);
    double *value = spl_new(a, most, sizeof *value);
    b->linked = spl_new(a, n * n, sizeof *b->linked);
    b->filled = spl_new(a, n * n, sizeof *b->filled);
    b->done = spl_new(a, n, sizeof *b->done);
    bool made = column && at && value && b->linked && b->filled && b->done;
    void *old[] = {made ? (void *)b->column : column, made ? (void *)b->at : at, made ? (void *)b->value : value};
    for (size_t k = 0; k < sizeof old / sizeof *old; k++) spl_free(a, old[k]);
    if (!made) return spl_fail_memory(error, "the system of a model");
    b->column = column, b->at = at, b->value = value;
    b->capacity = most;
    link_all(b->linked, b->count, pair, pair_count);
    spl_blocks_arrange(b, NULL, 0);
    return SUPPLE_OK;
}

bool spl_blocks_arrange(spl_blocks *b, const int32_t *pair, int32_t pair_count)
{
    size_t n = (size_t)b->count;
    memcpy(b->filled, b->linked, n * n * sizeof *b->filled);
    memset(b->done, 0, n * sizeof *b->done);
    link_all(b->filled, b->count, pair, pair_count);
    eliminate(b, b->filled, b->done);
    lay_out(b, b->filled, false);
    if (b->size > b->capacity && pair_count > 0) {
        spl_blocks_arrange(b, NULL, 0);
        return false;
    }
    lay_out(b, b->filled, true);
    return true;
}

void spl_blocks_clear(spl_blocks *b)
{
    memset(b->value, 0, b->size * sizeof *b->value);
}

double *spl_blocks_at(const spl_blocks *b, int32_t i, int32_t j, size_t *ld, bool *swapped)
{
    int32_t row = b->place[i], column = b->place[j];
    *swapped = row > column;
    if (*swapped) row = b->place[j], column = b->place[i];
    int32_t entry = b->start[row];
    while (b->column[entry] != column) entry++;
    *ld = b->width[row];
    return b->value + b->panel[row] + b->at[entry];
}

/* ---- numbers ------------------------------------------------------------------------------------------------------
 */

/* Rows of one panel, each less what those above it have of it, over the root of its pivot. */
static bool factorise_panel(spl_blocks *b, int32_t k)
{
    size_t width = b->width[k];
    double *panel = b->value + b->panel[k];
    int32_t rank = b->rank[b->order[k]];
    for (int32_t s = 0; s < rank; s++) {
        double *row = panel + (size_t)s * width;
        int32_t first = s & ~3;
        for (int32_t t = 0; t < s; t++) b->row[t] = -panel[(size_t)t * width + (size_t)s];
        b->kernels->multiply_transposed(panel + first, s, (int32_t)width - first, width, b->row, row + first);
        double pivot = row[s];
        if (!(pivot > 0) || !isfinite(pivot)) return false;
        double inverse = 1 / sqrt(pivot);
        for (size_t c = (size_t)s; c < width; c++) row[c] *= inverse;
    }
    return true;
}

/* A_ij -= U_ki^T U_kj for the blocks right of the diagonal of panel k. */
static void update_others(spl_blocks *b, int32_t k)
{
    const double *panel = b->value + b->panel[k];
    for (int32_t e = b->start[k] + 1; e < b->start[k + 1]; e++) {
        int32_t i = b->column[e], to = b->start[i];
        for (int32_t f = e; f < b->start[k + 1]; f++) {
            while (b->column[to] != b->column[f]) to++;
            spl_product p = {.A = panel + b->at[e], .B = panel + b->at[f], .sign = -1, .upper = e == f};
            p.C = b->value + b->panel[i] + b->at[to];
            p.lda = p.ldb = b->width[k];
            p.ldc = b->width[i];
            p.m = (int32_t)padded(b, i), p.n = (int32_t)padded(b, b->column[f]), p.k = b->rank[b->order[k]];
            b->kernels->product(&p);
        }
    }
}

bool spl_blocks_factorise(spl_blocks *b)
{
    for (int32_t k = 0; k < b->count; k++) {
        if (!factorise_panel(b, k)) return false;
        update_others(b, k);
    }
    return true;
}

/* The parts of x that a panel's columns stand for, to and from its row. */
static void gather(const spl_blocks *b, int32_t k, const double *x, double *row)
{
    for (int32_t e = b->start[k]; e < b->start[k + 1]; e++)
        memcpy(row + b->at[e], x + b->offset[b->order[b->column[e]]], padded(b, b->column[e]) * sizeof *row);
}

static void scatter(const spl_blocks *b, int32_t k, const double *row, double *x)
{
    for (int32_t e = b->start[k]; e < b->start[k + 1]; e++)
        memcpy(x + b->offset[b->order[b->column[e]]], row + b->at[e], padded(b, b->column[e]) * sizeof *row);
}

void spl_blocks_solve(spl_blocks *b, double *x)
{
    double *z = b->row;
    for (int32_t k = 0; k < b->count; k++) { /* x = U^T \ x */
        size_t width = b->width[k];
        const double *row = b->value + b->panel[k];
        gather(b, k, x, z);
        for (size_t s = 0; s < (size_t)b->rank[b->order[k]]; s++, row += width) {
            double f = z[s] / row[s];
            for (size_t c = s + 1; c < width; c++) z[c] -= f * row[c];
            z[s] = f;
        }
        scatter(b, k, z, x);
    }
    for (int32_t k = b->count - 1; k >= 0; k--) { /* x = U \ x */
        size_t width = b->width[k], rank = (size_t)b->rank[b->order[k]], own = padded(b, k);
        const double *panel = b->value + b->panel[k];
        gather(b, k, x, z);
        memset(b->sum, 0, own * sizeof *b->sum);
        b->kernels->multiply(panel + own, (int32_t)rank, (int32_t)(width - own), width, z + own, b->sum);
        for (size_t s = rank; s-- > 0;) {
            double sum = z[s] - b->sum[s];
            for (size_t c = s + 1; c < rank; c++) sum -= panel[s * width + c] * z[c];
            z[s] = sum / panel[s * width + s];
        }
        memcpy(x + b->offset[b->order[k]], z, own * sizeof *x);
    }
}
