#include "sparse/reach.h"

#include "core/error.h"
#include "core/memory.h"
#include "sparse/ldlt_private.h"

#include <string.h>

enum { LANES = SPL_REACH_SIDES };

struct spl_reach {
    supple_allocator allocator;
    const spl_ldlt *factor;
    int32_t *column;    /* by node: its first column in the order of elimination */
    int32_t *supernode; /* by column */
    uint8_t *mark;      /* by supernode: 1 forwards, 2 backwards */
    float *x, *y;       /* LANES a row: n + 1 rows, and one panel's */
};

supple_result spl_reach_create(const spl_ldlt *f, const supple_allocator *a, spl_reach **out, supple_error *error)
{
    const spl_symbolic *s = &f->symbolic;
    *out = NULL;
    if (s->block != 3 || !f->options.single)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "sparse: reaches need a factor of blocks of 3 in float");
    spl_reach *w = spl_new(a, 1, sizeof *w);
    if (!w) return spl_fail_memory(error, "a sparse solve");
    w->allocator = *a;
    w->factor = f;
    w->column = spl_new(a, (size_t)s->nodes, sizeof *w->column);
    w->supernode = spl_new(a, (size_t)s->n, sizeof *w->supernode);
    w->mark = spl_new(a, (size_t)s->count, sizeof *w->mark);
    w->x = spl_new(a, (size_t)s->n + 1, LANES * sizeof *w->x);
    w->y = spl_new(a, (size_t)s->max_rows, LANES * sizeof *w->y);
    if (!w->column || !w->supernode || !w->mark || !w->x || !w->y) {
        spl_reach_destroy(w);
        return spl_fail_memory(error, "a sparse solve");
    }
    for (int32_t k = 0; k < s->nodes; k++) w->column[s->order[k]] = 3 * k;
    for (int32_t j = 0; j < s->count; j++)
        for (int32_t c = s->first[j]; c < s->first[j + 1]; c++) w->supernode[c] = j;
    *out = w;
    return SUPPLE_OK;
}

void spl_reach_destroy(spl_reach *w)
{
    if (!w) return;
    supple_allocator a = w->allocator;
    void *blocks[] = {w->column, w->supernode, w->mark, w->x, w->y};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_free(&a, w);
}

/* Marks the ways from nodes to the root; a node's columns may lie in two supernodes, one below the other. */
static void mark_ways(spl_reach *w, const int32_t *node, size_t count, uint8_t bit)
{
    const spl_symbolic *s = &w->factor->symbolic;
    for (size_t i = 0; i < count; i++)
        for (int32_t c = 0; c < 3; c++)
            for (int32_t j = w->supernode[w->column[node[i]] + c]; j >= 0 && !(w->mark[j] & bit); j = s->parent[j])
                w->mark[j] |= bit;
}

void spl_reach_solve(spl_reach *w, const int32_t *in, size_t in_count, const float *b, const int32_t *out,
                     size_t out_count, float *x)
{
    enum { NODE = 3 * LANES };
    const spl_ldlt *f = w->factor;
    const spl_symbolic *s = &f->symbolic;
    mark_ways(w, in, in_count, 1);
    mark_ways(w, out, out_count, 2);
    for (size_t i = 0; i < in_count; i++)
        memcpy(w->x + (size_t)LANES * (size_t)w->column[in[i]], b + NODE * i, NODE * sizeof *b);
    for (int32_t j = 0; j < s->count; j++)
        if (w->mark[j] & 1)
            f->kernels->forward_float(f->values_float + s->panel[j], s->rows + s->row_start[j],
                                      s->first[j + 1] - s->first[j],
                                      (int32_t)((s->row_start[j + 1] - s->row_start[j]) / SPL_TILE), LANES, w->x);
    for (int32_t j = s->count - 1; j >= 0; j--)
        if (w->mark[j] & 2)
            f->kernels->backward_float(f->values_float + s->panel[j], s->rows + s->row_start[j],
                                       s->first[j + 1] - s->first[j],
                                       (int32_t)((s->row_start[j + 1] - s->row_start[j]) / SPL_TILE), LANES,
                                       f->inverse_float + s->first[j], w->x, w->y);
    for (size_t i = 0; i < out_count; i++)
        memcpy(x + NODE * i, w->x + (size_t)LANES * (size_t)w->column[out[i]], NODE * sizeof *x);
    for (int32_t j = 0; j < s->count; j++) {
        if (w->mark[j])
            memset(w->x + (size_t)LANES * (size_t)s->first[j], 0,
                   (size_t)(LANES * (s->first[j + 1] - s->first[j])) * sizeof *w->x);
        w->mark[j] = 0;
    }
}
