/* The nearest places of a point and a triangle, or of two edges: what all detection by pairs measures with.
 *
 * Any shape has an answer: triangles without area, edges without length, edges that are parallel. Least squares go by
 * orthogonalisation, not by normal equations, so that slivers and nearly parallel edges lose the logarithm of their
 * condition number once and not twice: `square` exceeds the true one by rounding of the coordinates alone. */
#ifndef SPL_GEOM_DISTANCE_H
#define SPL_GEOM_DISTANCE_H

#include <supple/base.h>

/* A point and a triangle, or two edges. */
typedef enum spl_pair_kind { SPL_PAIR_POINT_TRIANGLE, SPL_PAIR_EDGE_EDGE } spl_pair_kind;

typedef struct spl_pair {
    int32_t kind; /* spl_pair_kind */
    int32_t v[4]; /* the point, then the triangle's corners; or two ends of one edge, then of the other. An edge whose
                   * two ends are the same vertex is a point of its own (a ball's centre). */
} spl_pair;

/* Nearest places of a pair: r = sum_i w_i x_i is the way from the second to the first, |r|^2 = square. Point-triangle:
 * w = (1, -b0, -b1, -b2); edge-edge: w = (1 - s, s, -(1 - t), -t). A weight that is exactly 0 belongs to a corner that
 * has no part: the nearest place is on an edge or at a corner of the others. Where edges are parallel and several
 * places are nearest, it is one at an end. Coordinates that are no numbers give a square that is none. */
typedef struct spl_nearest {
    double square;
    double w[4];
} spl_nearest;

spl_nearest spl_pair_nearest(spl_pair_kind kind, const double x[4][3]);

/* How many of the four belong to the first of the two: 1 or 2. */
/* In the order of lists of pairs: below 0, 0 or above. */
static inline int spl_pair_order(const spl_pair *p, const spl_pair *q)
{
    if (p->kind != q->kind) return p->kind < q->kind ? -1 : 1;
    for (int k = 0; k < 4; k++)
        if (p->v[k] != q->v[k]) return p->v[k] < q->v[k] ? -1 : 1;
    return 0;
}

static inline int spl_pair_split(spl_pair_kind kind)
{
    return kind == SPL_PAIR_POINT_TRIANGLE ? 1 : 2;
}

#endif
