#include "geom/box_tree.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>

enum {
    TOP = 6,         /* halvings that are made one after the other; the parts below are each one piece of work */
    LEAF_GRAIN = 64, /* pieces of the loops over leaves, whole rows of the level above, */
    ITEM_GRAIN = 512 /* and over items */
};

/* Built again when boxes are this much larger, in all, than when it was built. */
#define LOOSE 1.5

struct spl_box_centre {
    float at[3];
    int32_t item;
};

/* ---- fitting ---- */

static spl_box empty_box(void)
{
    return (spl_box){{INFINITY, INFINITY, INFINITY, 0}, {-INFINITY, -INFINITY, -INFINITY, 0}, 0};
}

static void grow(spl_box *b, const spl_box *by)
{
    spl_f4 low = spl_f4_min(spl_f4_load(by->low), spl_f4_load(b->low));
    spl_f4 high = spl_f4_max(spl_f4_load(by->high), spl_f4_load(b->high));
    memcpy(b->low, &low, sizeof low);
    memcpy(b->high, &high, sizeof high);
    b->free |= by->free;
}

static void put(spl_box_row *row, int32_t lane, const spl_box *b)
{
    for (int k = 0; k < 3; k++) {
        row->low[k][lane] = b->low[k];
        row->high[k][lane] = b->high[k];
    }
    row->free = (row->free & ~(1U << lane)) | (unsigned)(b->free != 0) << lane;
}

typedef struct fitting {
    spl_box_tree *tree;
    spl_box_of *box_of;
    const void *context;
    int32_t parts; /* that the places are halved into */
} fitting;

static void fit_leaves(void *context, size_t begin, size_t end)
{
    fitting *f = context;
    spl_box_tree *t = f->tree;
    for (int32_t leaf = (int32_t)begin; leaf < (int32_t)end; leaf++) {
        spl_box all = empty_box();
        int32_t first = SPL_LANES * leaf;
        for (int32_t i = 0; i < SPL_LANES && i < t->item_count - first; i++) {
            spl_box b = f->box_of(f->context, t->item[first + i]);
            put(&t->level[0][leaf], i, &b);
            grow(&all, &b);
        }
        put(&t->level[1][leaf / SPL_LANES], leaf % SPL_LANES, &all);
    }
}

static int32_t rows_above(int32_t rows)
{
    return (rows + SPL_LANES - 1) / SPL_LANES;
}

/* The levels above the leaves are an eighth of all, and a seventh of that. */
static void fit(fitting *f, spl_pool *pool)
{
    spl_box_tree *t = f->tree;
    int32_t rows = spl_box_tree_leaf_count(t);
    spl_parallel_for(pool, (size_t)rows, LEAF_GRAIN, fit_leaves, f);
    for (int k = 1; k + 1 < t->level_count; k++) {
        rows = rows_above(rows);
        for (int32_t r = 0; r < rows; r++) {
            spl_box all = empty_box();
            for (int lane = 0; lane < SPL_LANES; lane++) {
                spl_box b = spl_box_of_lane(&t->level[k][r], lane);
                grow(&all, &b);
            }
            put(&t->level[k + 1][r / SPL_LANES], r % SPL_LANES, &all);
        }
    }
}

static double widths(const spl_box_row *row, int32_t count)
{
    double all = 0;
    for (int32_t r = 0; r < count; r++) {
        float sum[SPL_LANES] = {0};
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < SPL_LANES; i++)
                sum[i] += row[r].low[k][i] <= row[r].high[k][i] ? row[r].high[k][i] - row[r].low[k][i] : 0;
        for (int i = 0; i < SPL_LANES; i++) all += (double)sum[i];
    }
    return all;
}

/* The widths of all nodes over those of all items: what a query pays for, whatever the motion that boxes hold. */
static double looseness(const spl_box_tree *t)
{
    double nodes = 0;
    int32_t rows = spl_box_tree_leaf_count(t);
    double items = widths(t->level[0], rows);
    for (int k = 1; k < t->level_count; k++) {
        rows = rows_above(rows);
        nodes += widths(t->level[k], rows);
    }
    return nodes / items;
}

/* ---- building ---- */

/* A total order, so that equal places do not depend on what was there before. */
static bool before(const spl_box_centre *a, const spl_box_centre *b, int axis)
{
    if (a->at[axis] != b->at[axis]) return a->at[axis] < b->at[axis];
    return a->item < b->item;
}

static void swap(spl_box_centre *a, spl_box_centre *b)
{
    spl_box_centre c = *a;
    *a = *b;
    *b = c;
}

/* The middle one of the first, the middle and the last: motions leave lists nearly in order. */
static spl_box_centre pivot_of(const spl_box_centre *c, int32_t begin, int32_t end, int axis)
{
    const spl_box_centre *p = &c[begin], *q = &c[begin + (end - begin) / 2], *r = &c[end - 1];
    const spl_box_centre *low = before(q, p, axis) ? q : p, *high = low == p ? q : p;
    if (before(r, low, axis)) return *low;
    return before(r, high, axis) ? *r : *high;
}

/* Puts those that come before c[middle] to its left (Hoare 1961). */
static void select_middle(spl_box_centre *c, int32_t begin, int32_t end, int32_t middle, int axis)
{
    while (end - begin > 1) {
        spl_box_centre pivot = pivot_of(c, begin, end, axis);
        int32_t i = begin, j = end - 1;
        while (i <= j) {
            while (before(&c[i], &pivot, axis)) i++;
            while (before(&pivot, &c[j], axis)) j--;
            if (i <= j) swap(&c[i++], &c[j--]);
        }
        if (middle <= j)
            end = j + 1;
        else if (middle >= i)
            begin = i;
        else
            return;
    }
}

static int longest_axis(const spl_box_centre *c, int32_t begin, int32_t end)
{
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, size[3];
    for (int32_t i = begin; i < end; i++)
        for (int k = 0; k < 3; k++) {
            low[k] = c[i].at[k] < low[k] ? c[i].at[k] : low[k];
            high[k] = c[i].at[k] > high[k] ? c[i].at[k] : high[k];
        }
    for (int k = 0; k < 3; k++) size[k] = high[k] - low[k];
    return size[0] >= size[1] && size[0] >= size[2] ? 0 : size[1] >= size[2] ? 1 : 2;
}

/* Splits what is at the places of `span` leaves, a power of two, from `leaf` on between the two halves of them. */
static void split(spl_box_tree *t, int64_t leaf, int64_t span)
{
    int64_t begin = SPL_LANES * leaf, middle = begin + SPL_LANES * span / 2, end = begin + SPL_LANES * span;
    if (middle >= t->item_count) return;
    if (end > t->item_count) end = t->item_count;
    int axis = longest_axis(t->centre, (int32_t)begin, (int32_t)end);
    select_middle(t->centre, (int32_t)begin, (int32_t)end, (int32_t)middle, axis);
}

/* As deep as there are bits in a span. */
static void split_all(spl_box_tree *t, int64_t leaf, int64_t span)
{
    if (span < 2 || SPL_LANES * leaf >= t->item_count) return;
    split(t, leaf, span);
    split_all(t, leaf, span / 2);
    split_all(t, leaf + span / 2, span / 2);
}

/* The least power of two of leaves that holds all. */
static int64_t whole_span(const spl_box_tree *t)
{
    int64_t span = 1;
    while (SPL_LANES * span < t->item_count) span *= 2;
    return span;
}

static void split_parts(void *context, size_t begin, size_t end)
{
    fitting *f = context;
    int64_t span = whole_span(f->tree) / f->parts;
    for (size_t i = begin; i < end; i++) {
        if (f->parts < 1 << TOP)
            split(f->tree, (int64_t)i * span, span);
        else
            split_all(f->tree, (int64_t)i * span, span);
    }
}

/* The middle of a box; 0 where it is none, for an order needs numbers. */
static void set_centres(void *context, size_t begin, size_t end)
{
    fitting *f = context;
    spl_box_tree *t = f->tree;
    for (size_t i = begin; i < end; i++) {
        t->centre[i].item = (int32_t)i;
        spl_box b = f->box_of(f->context, (int32_t)i);
        for (int k = 0; k < 3; k++) {
            float middle = 0.5f * b.low[k] + 0.5f * b.high[k];
            t->centre[i].at[k] = isfinite(middle) ? middle : 0;
        }
    }
}

static void build(fitting *f, spl_pool *pool)
{
    spl_box_tree *t = f->tree;
    size_t count = (size_t)t->item_count;
    spl_parallel_for(pool, count, ITEM_GRAIN, set_centres, f);
    for (f->parts = 1; f->parts <= 1 << TOP && f->parts <= whole_span(t); f->parts *= 2)
        spl_parallel_for(pool, (size_t)f->parts, 1, split_parts, f);
    for (size_t i = 0; i < count; i++) t->item[i] = t->centre[i].item;
}

void spl_box_tree_fit(spl_box_tree *t, spl_box_of *box_of, const void *context, spl_pool *pool)
{
    fitting f = {.tree = t, .box_of = box_of, .context = context};
    if (t->item_count == 0) return;
    if (t->looseness > 0) {
        fit(&f, pool);
        if (!(looseness(t) > LOOSE * t->looseness)) return;
    }
    build(&f, pool);
    fit(&f, pool);
    t->looseness = looseness(t);
    if (!(t->looseness < INFINITY)) t->looseness = 0; /* of no size, or not all numbers: build again next time */
}

/* Of all levels, of which *level_count are counted. */
static size_t row_count(const spl_box_tree *t, int32_t *level_count)
{
    int32_t rows = spl_box_tree_leaf_count(t);
    size_t all = (size_t)rows;
    *level_count = 1;
    do {
        rows = rows_above(rows);
        all += (size_t)rows;
        ++*level_count;
    } while (rows > 1);
    return all;
}

static void set_levels(spl_box_tree *t, size_t row_total)
{
    spl_box_row none = {0};
    spl_box empty = empty_box();
    for (int lane = 0; lane < SPL_LANES; lane++) put(&none, lane, &empty);
    for (size_t i = 0; i < row_total; i++) t->row[i] = none;
    int32_t rows = spl_box_tree_leaf_count(t);
    t->level[0] = t->row;
    for (int k = 1; k < t->level_count; k++) {
        t->level[k] = t->level[k - 1] + rows;
        rows = rows_above(rows);
    }
}

supple_result spl_box_tree_create(int32_t item_count, const supple_allocator *a, spl_box_tree *out, supple_error *error)
{
    *out = (spl_box_tree){.allocator = *a, .item_count = item_count};
    size_t n = (size_t)item_count, rows = row_count(out, &out->level_count);
    out->item = spl_new(a, n, sizeof *out->item);
    out->centre = spl_new(a, n, sizeof *out->centre);
    out->row = spl_new(a, rows, sizeof *out->row);
    if (!out->item || !out->centre || !out->row) {
        spl_box_tree_release(out);
        return spl_fail_memory(error, "a tree of boxes");
    }
    set_levels(out, rows);
    return SUPPLE_OK;
}

void spl_box_tree_release(spl_box_tree *t)
{
    if (!t->allocator.release) return;
    spl_free(&t->allocator, t->item);
    spl_free(&t->allocator, t->centre);
    spl_free(&t->allocator, t->row);
    *t = (spl_box_tree){0};
}
