/* A binary tree of boxes over things that move: refitted at every use, built again when that no longer serves.
 *
 * The tree is balanced and has no pointers: node h has the children 2h and 2h + 1, the root is 1, and the leaves are
 * the last 2^depth nodes; leaf l holds the items at places [spl_box_tree_first(l), spl_box_tree_first(l + 1)) of
 * `item`. Halving at the median along the longest axis keeps its depth whatever the shape: a floor of a kilometre under
 * a body does not spoil the body's part. Boxes are floats, rounded outwards: they only ever admit too much. */
#ifndef SPL_GEOM_BOX_TREE_H
#define SPL_GEOM_BOX_TREE_H

#include "core/threads.h"

typedef struct spl_box {
    float low[3], high[3]; /* closed; low > high: empty, and meets nothing */
    int32_t free;          /* not 0: some vertex in it is free */
} spl_box;

/* Where an item is; called by several threads at once. */
typedef spl_box spl_box_of(const void *context, int32_t item);

typedef struct spl_box_centre spl_box_centre;

typedef struct spl_box_tree {
    supple_allocator allocator;
    int32_t item_count, depth;
    int32_t *item;          /* by place */
    spl_box *box;           /* by place */
    spl_box *node;          /* 2^(depth + 1); 0 is not used */
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
    return t->item_count > 0 ? 1 << t->depth : 0;
}

static inline int32_t spl_box_tree_first(const spl_box_tree *t, int32_t leaf)
{
    return (int32_t)(((int64_t)leaf * t->item_count) >> t->depth);
}

static inline bool spl_boxes_meet(const spl_box *a, const spl_box *b)
{
    return (a->low[0] <= b->high[0]) & (b->low[0] <= a->high[0]) & (a->low[1] <= b->high[1]) &
           (b->low[1] <= a->high[1]) & (a->low[2] <= b->high[2]) & (b->low[2] <= a->high[2]);
}

/* The float at or below v, and at or above. Beyond the floats, and for what is no number, an infinity that holds v. */
float spl_round_down(double v);
float spl_round_up(double v);

#endif
