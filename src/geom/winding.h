/* The generalized winding number of a triangle soup: how many times it surrounds a point; the share of the view it
 * covers, where it is open. Inside means more than one half.
 *
 * w(q) = 1 / 4 pi * integral of n . (x - q) / |x - q|^3 dA. Near triangles are summed by their exact solid angles (Van
 * Oosterom and Strackee 1983), far branches of the tree by a Taylor expansion to second order about their centroid
 * (Barill, Dickson, Schmidt, Levin, Jacobson, "Fast winding numbers for soups and clouds", 2018, eq. 9 to 14). */
#ifndef SPL_GEOM_WINDING_H
#define SPL_GEOM_WINDING_H

#include "geom/tree.h"

typedef struct spl_winding_node spl_winding_node;
typedef struct spl_winding_moments spl_winding_moments;

typedef struct spl_winding {
    const spl_tree *tree;        /* not owned; must outlive this */
    spl_winding_node *node;      /* beside the tree's nodes */
    spl_winding_moments *joined; /* the same, of whole nodes: needed for refitting */
    float *corner;               /* 9 x (triangle_count + 3): coordinates of the slots' corners in the tree's frame */
    supple_allocator allocator;
} spl_winding;

/* Prepares a tree for winding numbers. The only failure is SUPPLE_ERROR_MEMORY; *out is then zero. */
supple_result spl_winding_make(const spl_tree *tree, const supple_allocator *a, spl_winding *out, supple_error *error);
void spl_winding_release(spl_winding *winding);

/* After spl_tree_refit: the expansions again, in O(n). */
void spl_winding_refit(spl_winding *winding);

/* The winding number at p; 0 for an empty surface or a p that is not finite. Measured error against the exact sum on
 * characters and soups: below 7e-4. On the surface itself the answer is one of the two sides' or between. */
double spl_winding_number(const spl_winding *winding, spl_vec3 p);

/* The exact sum over all triangles: the slow twin. */
double spl_winding_exact(const spl_tree *tree, spl_vec3 p);

#endif
