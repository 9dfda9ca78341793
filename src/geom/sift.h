/* Which of eight primitives are certainly too far from one to be a pair with it: floats, eight at a time, before the
 * distance in double is asked.
 *
 * Two convex things are apart by at least what lies between their shadows on any line. Tried are the line between
 * their middles, the one across both, and, of two edges, those across either towards the other (of an edge and a
 * triangle, the one across the triangle and the one across the edge). In motion the distance
 * may shrink by no more than |w_a - w_b| + r_a + r_b, with the middles w of the ways of both and how far, at most, a
 * corner's way is from it: that bounds what spl_pairs_find allows. A sieve leaves in what is doubtful: whatever the
 * coordinates, what it takes out is none. */
#ifndef SPL_GEOM_SIFT_H
#define SPL_GEOM_SIFT_H

#include "geom/box_tree.h"

/* A vertex as the sieve sees it. */
typedef struct spl_sift_vertex {
    float at[4];  /* from a common origin; at[3]: its reach */
    float way[4]; /* less the common way; 0: none. way[3]: what rounding makes of both, spl_sift_rounding() */
} spl_sift_vertex;

/* The items of a leaf. */
typedef struct spl_sift_row {
    int32_t v[3][SPL_LANES]; /* corners; of points one, of edges two */
    float middle[3][SPL_LANES];
    float arm[2][3][SPL_LANES]; /* from there to the first corner, and of triangles to the second */
    float way[3][SPL_LANES];    /* the middle's */
    float limit[SPL_LANES];     /* this one's share of how near is near */
} spl_sift_row;

/* Of a vertex: 64 roundings of its coordinates, where a dozen are made. */
static inline float spl_sift_rounding(const spl_sift_vertex *x)
{
    float size = fabsf(x->at[0]) + fabsf(x->at[1]) + fabsf(x->at[2]);
    return 32 * FLT_EPSILON * (size + fabsf(x->way[0]) + fabsf(x->way[1]) + fabsf(x->way[2]));
}

/* Sets the rows of a tree's leaves: `item` has `corners` (1, 2, 3) vertices each. radius: of pairs. */
void spl_sift_fit(spl_sift_row *row, const spl_box_tree *t, const int32_t *item, int corners, const spl_sift_vertex *x,
                  double radius, spl_pool *pool);

/* Of the lanes of b, those that may be near to lane i of a, share no vertex with it, and are in `lanes`. */
typedef unsigned spl_sift(const spl_sift_row *a, int i, const spl_sift_row *b, unsigned lanes);

typedef struct spl_sift_kernels {
    spl_sift *point_triangles, *edge_edges, *edge_triangles;
} spl_sift_kernels;

extern const spl_sift_kernels spl_sift_kernels_plain;
extern const spl_sift_kernels spl_sift_kernels_avx2; /* call it only where spl_cpu_has_avx2() */

/* The best for this processor. */
const spl_sift_kernels *spl_sift_kernels_best(void);

#endif
