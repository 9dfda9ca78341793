/* The walk of one tree's leaves through another tree, shared by gather.c and gather_avx2.c. */
#include "geom/gather.h"

static void keep(spl_gather_chunk *chunk, const spl_pair *pair)
{
    if (chunk->count < chunk->room) chunk->pair[chunk->count] = *pair;
    chunk->count++;
}

/* The first set lane, which is taken out. */
static int take_lane(unsigned *lanes)
{
    int lane = __builtin_ctz(*lanes);
    *lanes &= *lanes - 1;
    return lane;
}

/* Of a leaf against itself, each item asks those after it. */
static void ask_leaf(const spl_gather_walk *w, int32_t leaf, int32_t other, const spl_box *others)
{
    const spl_box_tree *from = w->from, *into = w->into;
    const spl_box_row *row = &from->level[0][leaf];
    unsigned mine = spl_box_row_meets(row, others);
    while (mine) {
        int i = take_lane(&mine);
        spl_box box = spl_box_of_lane(row, i);
        unsigned theirs = spl_box_row_meets(&into->level[0][other], &box);
        if (from == into && leaf == other) theirs &= ~1U << i;
        if (theirs && w->sieve.sift) theirs = w->sieve.sift(&w->sieve.from[leaf], i, &w->sieve.into[other], theirs);
        while (theirs) {
            spl_pair pair;
            int j = take_lane(&theirs);
            if (w->test(w->context, from->item[SPL_LANES * leaf + i], into->item[SPL_LANES * other + j], &pair))
                keep(w->chunk, &pair);
        }
    }
}

/* Of a tree against itself, leaves before `leaf` have asked already: lanes of these are passed by. As deep as there are
 * levels. */
static void ask_row(const spl_gather_walk *w, int32_t leaf, const spl_box *box, int level, int32_t r)
{
    const spl_box_row *row = &w->into->level[level][r];
    unsigned lanes = spl_box_row_meets(row, box);
    int32_t own = leaf >> 3 * (level - 1); /* the row of the level below that leads to `leaf` */
    if (w->from == w->into && own / SPL_LANES == r) lanes &= ~0U << own % SPL_LANES;
    if (w->from == w->into && own / SPL_LANES > r) return;
    while (lanes) {
        int lane = take_lane(&lanes);
        if (level > 1) {
            ask_row(w, leaf, box, level - 1, SPL_LANES * r + lane);
        } else {
            spl_box others = spl_box_of_lane(row, lane);
            ask_leaf(w, leaf, SPL_LANES * r + lane, &others);
        }
    }
}

static void walk_leaves(const spl_gather_walk *w, int32_t begin, int32_t end)
{
    for (int32_t leaf = begin; leaf < end; leaf++) {
        spl_box box = spl_box_of_lane(&w->from->level[1][leaf / SPL_LANES], leaf % SPL_LANES);
        ask_row(w, leaf, &box, w->into->level_count - 1, 0);
    }
}
