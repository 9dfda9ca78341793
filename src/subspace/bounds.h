/* A bounded deformation tree (James and Pai 2004): spheres around a domain's surface vertices that follow q without the
 * vertices being looked at. In the domain's own frame vertex i is at p_i + sum_k q_k U_ik, so with constants c_0, c_k
 * of a node
 *
 *     centre(q) = c_0 + sum_k q_k c_k
 *     radius(q) = max_i |p_i - c_0| + min( sum_k |q_k| max_i |U_ik - c_k|,  |q / w|_2 max_i |(U_i - c) w|_F )
 *
 * hold all vertices of the node, the one by the triangle inequality, the other by Cauchy's for any weights w > 0 (the
 * training's reach). c_0 and c_k are middles of boxes. A node that is looked at costs O(rank), others nothing. */
#ifndef SPL_SUBSPACE_BOUNDS_H
#define SPL_SUBSPACE_BOUNDS_H

#include "math/vec3.h"
#include "subspace/dense.h"
#include "subspace/model.h"

enum { SPL_BOUNDS_LEAF = 8, SPL_BOUNDS_DEPTH = 64 };

typedef struct spl_bounds_node {
    int32_t first, count; /* of its slots */
    int32_t right;        /* a node; 0: a leaf. The left child is the next node */
    spl_vec3 centre;      /* c_0 */
    double radius;        /* of the rest shape about it */
    double spread;        /* max_i |(U_i - c) w|_F */
} spl_bounds_node;

typedef struct spl_bounds {
    int32_t count;         /* vertices: those of the domain with an area */
    int32_t *vertex;       /* by slot: of the domain */
    int32_t node_count;    /* 0 without vertices */
    spl_bounds_node *node; /* the root first, parents before children */
    int32_t rank;
    double *weight; /* rank: w */
    double *table;  /* by node, 4 x rank: three rows of c_k, then max_i |U_ik - c_k| */
    double slack;   /* of rounding, metres */
} spl_bounds;

supple_result spl_bounds_create(const spl_model_domain *domain, const supple_allocator *a, spl_bounds *out,
                                supple_error *error);
void spl_bounds_release(spl_bounds *b, const supple_allocator *a); /* accepts a zeroed one */

/* |q / w|_2: what all spheres of one q share. */
double spl_bounds_length(const spl_bounds *b, const double *q);

/* The sphere of a node at q, in the domain's frame; its radius comes back. */
double spl_bounds_sphere(const spl_bounds *b, const spl_dense_kernels *kernels, int32_t node, const double *q,
                         double length, spl_vec3 *centre);

#endif
