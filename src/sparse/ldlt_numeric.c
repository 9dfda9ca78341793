/* The numerical factorisation: for each supernode, A's entries, minus the updates of its descendants, eliminated. */
#include "core/memory.h"
#include "sparse/ldlt_private.h"

#include <math.h>
#include <string.h>

/* Where row i of a panel of width w begins. */
static inline size_t row_offset(int32_t i, int32_t w)
{
    return (size_t)(i / SPL_TILE) * SPL_TILE * (size_t)w + (size_t)(i % SPL_TILE);
}

static void load_block(double *panel, int32_t w, const spl_load *load, const double *block, int32_t size)
{
    bool transposed = load->row < 0;
    int32_t row = transposed ? ~load->row : load->row;
    for (int32_t c = 0; c < size; c++)
        for (int32_t r = row == load->column ? c : 0; r < size; r++)
            panel[row_offset(row + r, w) + (size_t)(load->column + c) * SPL_TILE] =
                transposed ? block[r * size + c] : block[c * size + r];
}

/* The panel with A's entries alone, and where each of its rows is. */
static void load_panel(spl_ldlt *f, int32_t k, const double *values, spl_ldlt_slot *slot)
{
    const spl_symbolic *s = &f->symbolic;
    double *panel = f->values + s->panel[k];
    int32_t first = s->first[k], w = s->first[k + 1] - first, b = s->block;
    memset(panel, 0, (s->panel[k + 1] - s->panel[k]) * sizeof *panel);
    for (size_t e = s->load_start[k]; e < s->load_start[k + 1]; e++)
        load_block(panel, w, &s->loads[e], values + s->loads[e].entry * (size_t)(b * b), b);
    for (int32_t j = 0; j < w; j++) f->diagonal[first + j] = panel[row_offset(j, w) + (size_t)j * SPL_TILE];
    const int32_t *rows = s->rows + s->row_start[k];
    for (int32_t i = 0; i < s->row_count[k]; i++) slot->offset[rows[i]] = (int32_t)row_offset(i, w);
}

/* B = (rows of a panel) D, by fours. */
static void pack(const double *panel, int32_t w, int32_t begin, int32_t count, const double *D, double *packed)
{
    for (int32_t j = 0; j < (count + 3) / 4 * 4; j++) {
        double *to = packed + (size_t)(j / 4) * 4 * (size_t)w + j % 4;
        const double *from = panel + row_offset(begin + j, w);
        if (j < count)
            for (int32_t k = 0; k < w; k++) to[4 * k] = from[SPL_TILE * k] * D[k];
        else
            for (int32_t k = 0; k < w; k++) to[4 * k] = 0;
    }
}

/* The first position in [lo, hi) whose row is at least `row`. */
static int32_t lower_bound(const int32_t *rows, int32_t lo, int32_t hi, int32_t row)
{
    while (lo < hi) {
        int32_t middle = lo + (hi - lo) / 2;
        if (rows[middle] < row)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* All updates of supernode k to its rows in [low, high). `offset` says where they are. */
static void update_rows(spl_ldlt *f, int32_t k, int32_t low, int32_t high, const int32_t *offset, spl_ldlt_slot *slot)
{
    const spl_symbolic *s = &f->symbolic;
    for (size_t e = s->update_start[k]; e < s->update_start[k + 1]; e++) {
        const spl_update *from = &s->updates[e];
        int32_t d = from->from, w = s->first[d + 1] - s->first[d];
        const int32_t *rows = s->rows + s->row_start[d];
        const double *source = f->values + s->panel[d];
        int32_t begin = lower_bound(rows, from->begin, s->row_count[d], low);
        int32_t end =
            rows[s->row_count[d] - 1] < high ? s->row_count[d] : lower_bound(rows, begin, s->row_count[d], high);
        if (begin == end) continue;
        for (int32_t i = begin; i < end; i++) slot->place[i] = offset[rows[i]];
        int32_t columns = from->end - from->begin;
        for (int32_t j = 0; j < columns; j++) slot->column[j] = rows[from->begin + j] - s->first[k];
        pack(source, w, from->begin, columns, f->pivot + s->first[d], slot->packed);
        spl_panel_update u = {.target = f->values + s->panel[k],
                              .source = source,
                              .source_width = w,
                              .begin = begin,
                              .end = end,
                              .place = slot->place,
                              .packed = slot->packed,
                              .column = slot->column,
                              .columns = columns};
        f->kernels->update(&u);
    }
}

/* Whether a pivot is usable. A singular matrix leaves rounding errors of the cancelled terms where zero would stand.
 * Measured on free lattices, of the diagonal: up to 9e-14 (Laplacian, 112 to 74k tets) and 1.1e-12 (elasticity, to 10k
 * tets), of either sign. Sound matrices keep far more: 3.6e-8 for a bar held through material 1e-6 times as stiff. */
static bool pivot_is_good(const spl_ldlt *f, double pivot, double diagonal)
{
    double size = fmax(fabs(diagonal), fabs(pivot - diagonal)) * 1e-11;
    if (!isfinite(pivot)) return false;
    return f->options.indefinite ? fabs(pivot) > size || (diagonal == 0 && pivot != 0) : pivot > size;
}

/* Eliminates the columns of one diagonal block within its tile; zeros on and above the diagonal. */
static bool eliminate_block(spl_ldlt *f, double *v, int32_t count, int32_t first, spl_ldlt_slot *slot, int32_t block)
{
    double *corner = slot->diagonal.corner + 64 * block;
    for (int32_t j = 0; j < count; j++) {
        double *vj = v + j * SPL_TILE, pivot = vj[j];
        if (!pivot_is_good(f, pivot, f->diagonal[first + j])) {
            if (slot->failed < 0 || first + j < slot->failed) slot->failed = first + j, slot->pivot = pivot;
            return false;
        }
        double inverse = 1 / pivot;
        f->pivot[first + j] = pivot;
        f->inverse[first + j] = inverse;
        for (int32_t c = j + 1; c < count; c++) corner[8 * j + c] = vj[c];
        for (int32_t l = 0; l < SPL_TILE; l++) vj[l] = l > j ? vj[l] * inverse : 0;
        for (int32_t c = j + 1; c < count; c++)
            for (int32_t l = j + 1; l < SPL_TILE; l++) v[c * SPL_TILE + l] -= vj[l] * corner[8 * j + c];
    }
    return true;
}

/* Eliminates a panel's own columns, tile by tile: all the rows of tiles that hold some of them. */
static bool eliminate_diagonal(spl_ldlt *f, int32_t k, spl_ldlt_slot *slot)
{
    const spl_symbolic *s = &f->symbolic;
    int32_t first = s->first[k], w = s->first[k + 1] - first;
    spl_panel_diagonal *d = &slot->diagonal;
    d->width = w;
    d->inverse = f->inverse + first;
    double C[32];
    for (int32_t b = 0; b * SPL_TILE < w; b++) {
        int32_t done = b * SPL_TILE, count = w - done < SPL_TILE ? w - done : SPL_TILE;
        double *tile = f->values + s->panel[k] + (size_t)done * (size_t)w, *v = tile + (size_t)done * SPL_TILE;
        f->kernels->rows(tile, b, d);
        double *packed = d->packed + (size_t)b * (size_t)(b - 1) * 32;
        for (int32_t j = 0; j < (done > 0 ? (count + 3) / 4 * 4 : 0); j++)
            for (int32_t p = 0; p < done; p++)
                packed[(size_t)(j / 4) * 4 * (size_t)done + (size_t)(4 * p + j % 4)] =
                    j < count ? tile[SPL_TILE * p + j] * f->pivot[first + p] : 0;
        for (int32_t j = 0; j < count && done > 0; j += 4) {
            f->kernels->product(tile, packed + (size_t)j * (size_t)done, done, C);
            for (int32_t c = j; c < count && c < j + 4; c++)
                for (int32_t l = 0; l < SPL_TILE; l++) v[c * SPL_TILE + l] -= C[(c - j) * SPL_TILE + l];
        }
        if (!eliminate_block(f, v, count, first + done, slot, b)) return false;
        memset(v + (size_t)count * SPL_TILE, 0, (size_t)(w - done - count) * SPL_TILE * sizeof *v);
    }
    return true;
}

static int32_t tiles_of(const spl_symbolic *s, int32_t k)
{
    return (s->row_count[k] + SPL_TILE - 1) / SPL_TILE;
}

/* The rows of tiles [begin, end) below the panel's own columns. */
static void finish_rows(spl_ldlt *f, int32_t k, int32_t begin, int32_t end, const spl_panel_diagonal *d)
{
    int32_t blocks = (d->width + SPL_TILE - 1) / SPL_TILE;
    double *panel = f->values + f->symbolic.panel[k];
    for (int32_t t = begin > blocks ? begin : blocks; t < end; t++)
        f->kernels->rows(panel + (size_t)(t * SPL_TILE) * (size_t)d->width, blocks, d);
}

static bool factorise_supernode(spl_ldlt *f, int32_t k, const double *values, spl_ldlt_slot *slot)
{
    load_panel(f, k, values, slot);
    update_rows(f, k, f->symbolic.first[k], f->symbolic.n, slot->offset, slot);
    if (!eliminate_diagonal(f, k, slot)) return false;
    finish_rows(f, k, 0, tiles_of(&f->symbolic, k), &slot->diagonal);
    return true;
}

typedef struct job {
    spl_ldlt *f;
    const double *values;
    int32_t supernode, tiles_each;
} job;

static void run_bins(void *context, size_t begin, size_t end)
{
    job *w = context;
    const spl_symbolic *s = &w->f->symbolic;
    for (size_t b = begin; b < end; b++) {
        spl_ldlt_slot *slot = &w->f->slots[w->f->slot_count == 1 ? 0 : b];
        for (int32_t k = 0; k < s->count; k++)
            if (s->bin[k] == (int32_t)b && !factorise_supernode(w->f, k, w->values, slot)) break;
    }
}

static void run_updates(void *context, size_t begin, size_t end)
{
    job *w = context;
    const spl_symbolic *s = &w->f->symbolic;
    const int32_t *rows = s->rows + s->row_start[w->supernode];
    for (size_t c = begin; c < end; c++) {
        int32_t low = (int32_t)c * w->tiles_each * SPL_TILE, high = low + w->tiles_each * SPL_TILE;
        update_rows(w->f, w->supernode, rows[low], high < s->row_count[w->supernode] ? rows[high] : s->n,
                    w->f->slots[0].offset, &w->f->slots[c]);
    }
}

static void run_rows(void *context, size_t begin, size_t end)
{
    job *w = context;
    int32_t tiles = tiles_of(&w->f->symbolic, w->supernode);
    for (size_t c = begin; c < end; c++) {
        int32_t low = (int32_t)c * w->tiles_each, high = low + w->tiles_each;
        finish_rows(w->f, w->supernode, low, high < tiles ? high : tiles, &w->f->slots[0].diagonal);
    }
}

/* A supernode of the top, its rows divided among the threads. */
static bool factorise_wide(job *w)
{
    spl_ldlt *f = w->f;
    int32_t k = w->supernode, tiles = tiles_of(&f->symbolic, k), pieces = tiles / 4;
    if (f->slot_count == 1 || pieces < 2) return factorise_supernode(f, k, w->values, &f->slots[0]);
    if (pieces > f->slot_count) pieces = f->slot_count;
    w->tiles_each = (tiles - 1) / pieces + 1;
    pieces = (tiles - 1) / w->tiles_each + 1;
    load_panel(f, k, w->values, &f->slots[0]);
    spl_parallel_for(f->pool, (size_t)pieces, 1, run_updates, w);
    if (!eliminate_diagonal(f, k, &f->slots[0])) return false;
    spl_parallel_for(f->pool, (size_t)pieces, 1, run_rows, w);
    return true;
}

static void name_failure(const spl_ldlt *f, spl_ldlt_failure *out)
{
    const spl_symbolic *s = &f->symbolic;
    const spl_ldlt_slot *first = NULL; /* the earliest column, as one thread in elimination order would find it */
    for (int32_t i = 0; i < f->slot_count; i++)
        if (f->slots[i].failed >= 0 && (!first || f->slots[i].failed < first->failed)) first = &f->slots[i];
    *out = (spl_ldlt_failure){.unknown = -1};
    if (!first) return;
    out->unknown = s->order[first->failed / s->block] * s->block + first->failed % s->block;
    out->pivot = first->pivot;
    out->diagonal = f->diagonal[first->failed];
}

static void round_range(void *context, size_t begin, size_t end)
{
    spl_ldlt *f = context;
    for (size_t i = begin; i < end; i++) f->values_float[i] = (float)f->values[i];
}

/* The factor in float where it stood in double, and what that leaves over given back. A piece is read whole before it
 * is written, to where earlier pieces were. */
static void round_in_place(spl_ldlt *f)
{
    enum { PIECE = 512 };
    size_t count = f->symbolic.panel[f->symbolic.count], shift = (size_t)((char *)f->values - (char *)f->memory);
    char *to = (char *)f->values;
    float piece[PIECE];
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < PIECE ? count - i : PIECE;
        for (size_t k = 0; k < n; k++) piece[k] = (float)f->values[i + k];
        memcpy(to + i * sizeof *piece, piece, n * sizeof *piece);
    }
    memset(to + count * sizeof *piece, 0, SPL_LDLT_SLACK * sizeof *piece);
    f->values = NULL;
    count += SPL_LDLT_SLACK;
    char *block = spl_resize(&f->allocator, f->memory, count + 16, sizeof *piece);
    if (block) f->memory = block;
    size_t moved = (size_t)(-(intptr_t)f->memory & 63);
    if (moved != shift) memmove((char *)f->memory + moved, (char *)f->memory + shift, count * sizeof *piece);
    f->values_float = (float *)(void *)((char *)f->memory + moved);
}

bool spl_ldlt_factorise(spl_ldlt *f, const double *values, spl_ldlt_failure *failure)
{
    const spl_symbolic *s = &f->symbolic;
    job w = {.f = f, .values = values};
    f->ready = false;
    for (int32_t i = 0; i < f->slot_count; i++) f->slots[i].failed = -1;
    spl_parallel_for(f->slot_count == 1 ? NULL : f->pool, SPL_BINS, 1, run_bins, &w);
    name_failure(f, failure);
    for (int32_t k = 0; k < s->count && failure->unknown < 0; k++) {
        w.supernode = k;
        if (s->bin[k] == SPL_BINS && !factorise_wide(&w)) name_failure(f, failure);
    }
    if (failure->unknown >= 0) return false;
    if (f->options.single) {
        if (f->options.once)
            round_in_place(f);
        else
            spl_parallel_for(f->pool, s->panel[s->count], 65536, round_range, f);
        for (int32_t i = 0; i < s->n; i++) f->inverse_float[i] = (float)f->inverse[i];
    }
    f->ready = true;
    return true;
}
