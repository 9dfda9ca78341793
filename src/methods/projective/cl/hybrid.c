#include "methods/projective/cl/hybrid.h"

#include "core/error.h"
#include "core/memory.h"

enum { NARROW = 65536 }; /* rows, up to which 16 bits name a column */

/* Entries of a row without the diagonal. */
static size_t length_of(const spl_rows *r, int32_t i)
{
    return r->start[i + 1] - r->start[i] - 1;
}

static void put_column(const spl_hybrid *h, void *columns, size_t at, int32_t column)
{
    if (h->wide)
        ((uint32_t *)columns)[at] = (uint32_t)column;
    else
        ((uint16_t *)columns)[at] = (uint16_t)column;
}

static size_t column_at(const spl_hybrid *h, const void *columns, size_t at)
{
    return h->wide ? ((const uint32_t *)columns)[at] : ((const uint16_t *)columns)[at];
}

static void measure(spl_hybrid *h, const spl_rows *rows, bool fill)
{
    size_t shortest = SIZE_MAX;
    for (int32_t i = 0; i < h->n; i++)
        if (length_of(rows, i) < shortest && !(fill && length_of(rows, i) == 0)) shortest = length_of(rows, i);
    if (shortest == SIZE_MAX) shortest = 0;
    h->ell = (int32_t)shortest;
    h->blocks = (h->n + h->block - 1) / h->block;
    h->ell_count = (size_t)h->blocks * (size_t)h->block * shortest;
    for (int32_t i = 0; i < h->n; i++)
        if (length_of(rows, i) > shortest) h->rest_count += length_of(rows, i) - shortest;
}

static bool take_memory(spl_hybrid *h)
{
    const supple_allocator *a = &h->allocator;
    size_t n = (size_t)h->n, width = h->wide ? sizeof(uint32_t) : sizeof(uint16_t);
    h->diagonal = spl_new(a, n, sizeof(float));
    h->ell_value = spl_new(a, h->ell_count, sizeof(float));
    h->rest_value = spl_new(a, h->rest_count, sizeof(float));
    h->ell_column = spl_new(a, h->ell_count, width);
    h->rest_column = spl_new(a, h->rest_count, width);
    h->start = spl_new(a, n + 1, sizeof *h->start);
    h->ell_entry = spl_new(a, h->ell_count, sizeof(size_t));
    h->rest_entry = spl_new(a, h->rest_count, sizeof(size_t));
    h->diagonal_entry = spl_new(a, n, sizeof(size_t));
    return h->diagonal && h->ell_value && h->rest_value && h->ell_column && h->rest_column && h->start &&
           h->ell_entry && h->rest_entry && h->diagonal_entry;
}

static void fill_row(spl_hybrid *h, const spl_rows *rows, int32_t i, size_t *rest)
{
    size_t block = (size_t)(i / h->block), lane = (size_t)(i % h->block), e = 0, ell = (size_t)h->ell;
    for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
        if (rows->column[k] == i) {
            h->diagonal_entry[i] = rows->entry[k];
            continue;
        }
        if (e < ell) {
            size_t at = (block * ell + e) * (size_t)h->block + lane;
            h->ell_entry[at] = rows->entry[k];
            put_column(h, h->ell_column, at, rows->column[k]);
        } else {
            h->rest_entry[*rest] = rows->entry[k];
            put_column(h, h->rest_column, (*rest)++, rows->column[k]);
        }
        e++;
    }
    h->start[i + 1] = (uint32_t)*rest;
}

supple_result spl_hybrid_create(const spl_rows *rows, int32_t block, bool fill, const supple_allocator *a,
                                spl_hybrid *out, supple_error *error)
{
    *out = (spl_hybrid){.allocator = *a, .n = rows->n, .block = block, .wide = rows->n > NARROW};
    measure(out, rows, fill);
    bool fits = out->ell_count < INT32_MAX && out->rest_count < INT32_MAX;
    if (!fits || !take_memory(out)) {
        spl_hybrid_release(out);
        return spl_fail_memory(error, "the matrix for the device");
    }
    for (size_t k = 0; k < out->ell_count; k++) out->ell_entry[k] = SIZE_MAX;
    size_t rest = 0;
    for (int32_t i = 0; i < out->n; i++) fill_row(out, rows, i, &rest);
    return SUPPLE_OK;
}

void spl_hybrid_release(spl_hybrid *h)
{
    if (!h->allocator.release) return;
    void *blocks[] = {h->diagonal, h->ell_value, h->rest_value, h->ell_column,    h->rest_column,
                      h->start,    h->ell_entry, h->rest_entry, h->diagonal_entry};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&h->allocator, blocks[i]);
    *h = (spl_hybrid){0};
}

void spl_hybrid_set(spl_hybrid *h, const double *values)
{
    for (size_t i = 0; i < (size_t)h->n; i++) h->diagonal[i] = (float)values[h->diagonal_entry[i]];
    for (size_t k = 0; k < h->ell_count; k++)
        h->ell_value[k] = h->ell_entry[k] == SIZE_MAX ? 0 : (float)values[h->ell_entry[k]];
    for (size_t k = 0; k < h->rest_count; k++) h->rest_value[k] = (float)values[h->rest_entry[k]];
}

void spl_hybrid_multiply(const spl_hybrid *h, const float *x, int k, float *y)
{
    for (size_t i = 0; i < (size_t)h->n; i++) {
        size_t block = i / (size_t)h->block, lane = i % (size_t)h->block, width = (size_t)k;
        for (size_t c = 0; c < width; c++) {
            float sum = h->diagonal[i] * x[width * i + c];
            for (size_t e = 0; e < (size_t)h->ell; e++) {
                size_t at = (block * (size_t)h->ell + e) * (size_t)h->block + lane;
                sum += h->ell_value[at] * x[width * column_at(h, h->ell_column, at) + c];
            }
            for (size_t at = h->start[i]; at < h->start[i + 1]; at++)
                sum += h->rest_value[at] * x[width * column_at(h, h->rest_column, at) + c];
            y[width * i + c] = sum;
        }
    }
}

uint32_t spl_hybrid_fullest(const spl_hybrid *h)
{
    uint32_t most = 0;
    for (int32_t i = 0; i < h->n; i += h->block) {
        int32_t end = i + h->block < h->n ? i + h->block : h->n;
        if (h->start[end] - h->start[i] > most) most = h->start[end] - h->start[i];
    }
    return most;
}

spl_hybrid_bytes spl_hybrid_count(const spl_hybrid *h)
{
    size_t index = h->wide ? sizeof(uint32_t) : sizeof(uint16_t), n = (size_t)h->n;
    spl_hybrid_bytes b = {.shortest = h->ell + 1, .longest = h->ell + 1};
    for (int32_t i = 0; i < h->n; i++) {
        int32_t length = h->ell + 1 + (int32_t)(h->start[i + 1] - h->start[i]);
        if (length > b.longest) b.longest = length;
    }
    b.entries = n + n * (size_t)h->ell + h->rest_count;
    b.ell_entries = n * (size_t)b.longest;
    b.hybrid = n * sizeof(float) + (h->ell_count + h->rest_count) * (sizeof(float) + index) + (n + 1) * 4;
    b.ell = b.ell_entries * (sizeof(float) + index);
    b.crs = b.entries * (sizeof(float) + index) + (n + 1) * 4;
    return b;
}
