#include "geom/box_tree.h"

#include "core/error.h"
#include "core/memory.h"

#include <float.h>
#include <math.h>

enum {
    LEAF = 6,        /* items of a leaf at most, and half of it at least */
    TOP = 6,         /* levels that are split one after the other; the subtrees below are each one piece of work */
    ITEM_GRAIN = 512 /* pieces of the loops over items and nodes */
};

/* Built again when boxes are this much larger, in all, than when it was built. */
#define LOOSE 1.5

struct spl_box_centre {
    float at[3];
    int32_t item;
};

float spl_round_down(double v)
{
    if (!(v >= -(double)FLT_MAX)) return -INFINITY;
    if (v > (double)FLT_MAX) return FLT_MAX;
    float f = (float)v;
    return (double)f > v ? f - fabsf(f) * FLT_EPSILON - FLT_TRUE_MIN : f;
}

float spl_round_up(double v)
{
    return -spl_round_down(-v);
}

/* ---- fitting ---- */

static spl_box empty_box(void)
{
    return (spl_box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0};
}

static void grow(spl_box *b, const spl_box *by)
{
    for (int k = 0; k < 3; k++) {
        b->low[k] = by->low[k] < b->low[k] ? by->low[k] : b->low[k];
        b->high[k] = by->high[k] > b->high[k] ? by->high[k] : b->high[k];
    }
    b->free |= by->free;
}

typedef struct fitting {
    spl_box_tree *tree;
    spl_box_of *box_of;
    const void *context;
    int32_t level; /* first node of the level that is fitted or split */
} fitting;

static void fit_leaves(void *context, size_t begin, size_t end)
{
    fitting *f = context;
    spl_box_tree *t = f->tree;
    for (int32_t leaf = (int32_t)begin; leaf < (int32_t)end; leaf++) {
        spl_box b = empty_box();
        for (int32_t i = spl_box_tree_first(t, leaf); i < spl_box_tree_first(t, leaf + 1); i++) {
            t->box[i] = f->box_of(f->context, t->item[i]);
            grow(&b, &t->box[i]);
        }
        t->node[(1 << t->depth) + leaf] = b;
    }
}

static void fit_level(void *context, size_t begin, size_t end)
{
    fitting *f = context;
    for (size_t i = begin; i < end; i++) {
        spl_box *node = f->tree->node, b = empty_box();
        size_t h = (size_t)f->level + i;
        grow(&b, &node[2 * h]);
        grow(&b, &node[2 * h + 1]);
        node[h] = b;
    }
}

static void fit(fitting *f, spl_pool *pool)
{
    spl_box_tree *t = f->tree;
    spl_parallel_for(pool, (size_t)1 << t->depth, ITEM_GRAIN / 4, fit_leaves, f);
    for (f->level = (1 << t->depth) / 2; f->level >= 1; f->level /= 2)
        spl_parallel_for(pool, (size_t)f->level, ITEM_GRAIN, fit_level, f);
}

static double width(const spl_box *b)
{
    if (!(b->low[0] <= b->high[0])) return 0;
    return (double)(b->high[0] - b->low[0]) + (double)(b->high[1] - b->low[1]) + (double)(b->high[2] - b->low[2]);
}

/* The widths of all nodes over those of all items: what a query pays for, whatever the motion that boxes hold. */
static double looseness(const spl_box_tree *t)
{
    double nodes = 0, items = 0;
    for (int32_t h = 1; h < 2 << t->depth; h++) nodes += width(&t->node[h]);
    for (int32_t i = 0; i < t->item_count; i++) items += width(&t->box[i]);
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

/* Splits the items of `leaf_count` leaves from `leaf` on between the two halves of the leaves. */
static void split(spl_box_tree *t, int32_t leaf, int32_t leaf_count)
{
    int32_t begin = spl_box_tree_first(t, leaf), end = spl_box_tree_first(t, leaf + leaf_count);
    int32_t middle = spl_box_tree_first(t, leaf + leaf_count / 2);
    if (middle > begin && middle < end)
        select_middle(t->centre, begin, end, middle, longest_axis(t->centre, begin, end));
}

/* Depth is at most 32. */
static void split_all(spl_box_tree *t, int32_t leaf, int32_t leaf_count)
{
    if (leaf_count < 2) return;
    split(t, leaf, leaf_count);
    split_all(t, leaf, leaf_count / 2);
    split_all(t, leaf + leaf_count / 2, leaf_count / 2);
}

static void split_level(void *context, size_t begin, size_t end)
{
    fitting *f = context;
    int32_t leaf_count = (1 << f->tree->depth) / f->level;
    for (size_t i = begin; i < end; i++) {
        if (f->level < 1 << TOP)
            split(f->tree, (int32_t)i * leaf_count, leaf_count);
        else
            split_all(f->tree, (int32_t)i * leaf_count, leaf_count);
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
    for (f->level = 1; f->level <= 1 << TOP && f->level <= 1 << t->depth; f->level *= 2)
        spl_parallel_for(pool, (size_t)f->level, 1, split_level, f);
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

supple_result spl_box_tree_create(int32_t item_count, const supple_allocator *a, spl_box_tree *out, supple_error *error)
{
    *out = (spl_box_tree){.allocator = *a, .item_count = item_count};
    while ((int64_t)LEAF << out->depth < item_count) out->depth++;
    size_t n = (size_t)item_count;
    out->item = spl_new(a, n, sizeof *out->item);
    out->box = spl_new(a, n, sizeof *out->box);
    out->centre = spl_new(a, n, sizeof *out->centre);
    out->node = spl_new(a, (size_t)2 << out->depth, sizeof *out->node);
    if (out->item && out->box && out->centre && out->node) return SUPPLE_OK;
    spl_box_tree_release(out);
    return spl_fail_memory(error, "a tree of boxes");
}

void spl_box_tree_release(spl_box_tree *t)
{
    if (!t->allocator.release) return;
    spl_free(&t->allocator, t->item);
    spl_free(&t->allocator, t->box);
    spl_free(&t->allocator, t->centre);
    spl_free(&t->allocator, t->node);
    *t = (spl_box_tree){0};
}
