/* A tree of boxes over things that move: refitted at every use, built again when that no longer serves.
 *
 * Every node has eight children, whose boxes lie beside each other in a row and are asked at once. There are no
 * pointers: row r of level 0 holds the items at places 8 r to 8 r + 7 and is called leaf r, and row r of any level has
 * its box in lane r % 8 of row r / 8 of the level above, up to one row alone. Only the last row of a level has lanes to
 * spare; these are empty. Places are halved along the longest axis, again and again, the left half being the largest
 * power of two of leaves: a floor of a kilometre under a body does not spoil the body's part. Boxes are floats, rounded
 * outwards: they only ever admit too much. */
#ifndef SPL_GEOM_BOX_TREE_H
#define SPL_GEOM_BOX_TREE_H

#include "core/threads.h"
#include "geom/lanes.h"

#include <float.h>

typedef struct spl_box {
    float low[4], high[4]; /* closed; low > high: empty, and meets nothing; the fourth is not used */
    int32_t free;          /* not 0: some vertex in it is free */
} spl_box;

/* Where an item is; called by several threads at once. */
typedef spl_box spl_box_of(const void *context, int32_t item);

/* Eight of them. */
typedef struct spl_box_row {
    float low[3][SPL_LANES], high[3][SPL_LANES];
    uint32_t free; /* a bit by lane */
} spl_box_row;

typedef struct spl_box_centre spl_box_centre;

enum { SPL_BOX_LEVELS = 12 };

typedef struct spl_box_tree {
    supple_allocator allocator;
    int32_t item_count, level_count; /* 2 levels at least */
    int32_t *item;                   /* by place */
    spl_box_row *row;                /* all of them */
    spl_box_row *level[SPL_BOX_LEVELS];
    spl_box_centre *centre; /* by place, for building */
    double looseness;       /* when it was built; 0: never yet */
} spl_box_tree;

/* Room for item_count items. The only failure is SUPPLE_ERROR_MEMORY; *out is then zero. */
supple_result spl_box_tree_create(int32_t item_count, const supple_allocator *a, spl_box_tree *out,
                                  supple_error *error);
void spl_box_tree_release(spl_box_tree *t);

/* Takes all boxes anew. The same at any number of threads. */
void spl_box_tree_fit(spl_box_tree *t, spl_box_of *box_of, const void *context, spl_pool *pool);

static inline int32_t spl_box_tree_leaf_count(const spl_box_tree *t)
{
    return t->item_count / SPL_LANES + (t->item_count % SPL_LANES > 0);
}

static inline spl_box spl_box_of_lane(const spl_box_row *r, int lane)
{
    return (spl_box){{r->low[0][lane], r->low[1][lane], r->low[2][lane], 0},
                     {r->high[0][lane], r->high[1][lane], r->high[2][lane], 0},
                     (int32_t)(r->free >> lane & 1)};
}

/* A bit for each lane whose box meets the other. Boxes that are both not free do not. */
static inline unsigned spl_box_row_meets(const spl_box_row *r, const spl_box *b)
{
    unsigned bits = 0;
    for (int h = 0; h < SPL_LANES; h += SPL_WIDE) {
        spl_wide_int meets = (spl_wide_load(r->low[0] + h) <= spl_wide_set(b->high[0])) &
                             (spl_wide_load(r->high[0] + h) >= spl_wide_set(b->low[0]));
        for (int k = 1; k < 3; k++)
            meets &= (spl_wide_load(r->low[k] + h) <= spl_wide_set(b->high[k])) &
                     (spl_wide_load(r->high[k] + h) >= spl_wide_set(b->low[k]));
        bits |= spl_wide_bits(meets) << h;
    }
    return b->free ? bits : bits & r->free;
}

/* The floats at or below four numbers, and at or above. Beyond the floats, and for what is no number, an infinity that
 * holds it. */
static inline spl_f4 spl_round_down(spl_d4 v)
{
    spl_f4 f = spl_d4_floats(v), size = spl_f4_abs(f), most = spl_f4_set(FLT_MAX);
    spl_i4 beyond = ~(size <= most);
    if (spl_i4_any(beyond)) f = spl_f4_select(beyond, spl_f4_select(f > most, most, spl_f4_set(-INFINITY)), f);
    return spl_f4_select(spl_f4_above(f, v), f - size * FLT_EPSILON - FLT_TRUE_MIN, f);
}

static inline spl_f4 spl_round_up(spl_d4 v)
{
    return -spl_round_down(spl_d4_minus(v));
}

/* The least one that holds what lies between; the fourths do not count. */
static inline spl_box spl_box_around(spl_d4 low, spl_d4 high, bool is_free)
{
    spl_f4 below = spl_round_down(low), above = spl_round_up(high);
    spl_box b = {.free = is_free};
    memcpy(b.low, &below, sizeof below);
    memcpy(b.high, &above, sizeof above);
    return b;
}

#endif
