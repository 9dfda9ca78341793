/* Internal forces of a domain at its cubature tets (An, Kim and James 2008), with invertible elements: Hessians can be
 * projected (law.h), so that the Jacobian is positive semidefinite whatever the shape.
 *
 * F of a tet is linear in q: vec F = F_0 + G q, where G (9 x rank) is constant and F_0 changes with the held corners
 * alone. Then f_int = sum w W G^T vec P and its Jacobian sum w W G^T H G. */
#ifndef SPL_SUBSPACE_ELEMENT_H
#define SPL_SUBSPACE_ELEMENT_H

#include "math/mat3.h"
#include "subspace/dense.h"
#include "subspace/lanes.h"
#include "subspace/model.h"

/* A corner that a bone holds. */
typedef struct spl_held_corner {
    int32_t vertex; /* of the body */
    double gradient[3];
} spl_held_corner;

typedef struct spl_element_set {
    const spl_law *law;
    int32_t count, rank, pad;
    bool borrowed;         /* constant arrays are another set's */
    double *G;             /* count x 9 x pad */
    double *free;          /* 9 x count: F of the free corners at q = 0 */
    double *scale;         /* count: weight times volume */
    double *mu, *lambda;   /* count */
    double *stiff;         /* corot, pad x pad: the constant part of the exact Jacobian, sum of 2 mu w W G^T G */
    int32_t *held_start;   /* count + 1 */
    spl_held_corner *held; /* by tet */
    double *base;          /* 9 x count: F_0 of this step; this and what follows is not constant */
    double *F;             /* 9 x count: at the last evaluation */
    double *split;         /* corot: 15 x count: R and S of the F kept (corot.h); NULL for other laws */
    bool *hard;            /* corot, count: no such split; the law itself is asked */
    spl_lanes lanes;       /* the same tets eight at a time in float; count 0: not played so */
} spl_element_set;

supple_result spl_element_set_create(const spl_model_domain *domain, const spl_law *law, const supple_allocator *a,
                                     spl_element_set *out, supple_error *error);
/* From now on in float, where law, rank, numbers and processor allow it; else nothing changes. */
supple_result spl_element_set_widen(spl_element_set *s, const supple_allocator *a, supple_error *error);
/* The same set with a state of its own; `from` must outlive it. */
supple_result spl_element_set_like(const spl_element_set *from, const supple_allocator *a, spl_element_set *out,
                                   supple_error *error);
void spl_element_set_release(spl_element_set *s, const supple_allocator *a);

/* F_0 of all tets for places of held vertices in the world. */
void spl_element_set_pose(spl_element_set *s, const spl_mat3 *R, spl_vec3 t, const double *held);

/* Of tets [begin, end) at q (padded): f += forces -dW/dq (pad numbers), and the energy. Keeps F. In float, `begin` is a
 * multiple of SPL_LANES, and `end` too or the last. */
double spl_element_set_force(spl_element_set *s, const spl_dense_kernels *kernels, const double *q, int32_t begin,
                             int32_t end, double *f);

/* K += the Jacobian of tets [begin, end) at the F kept, projected or exact: pad x pad, upper triangle by tiles of
 * four. */
void spl_element_set_hessian(const spl_element_set *s, const spl_dense_kernels *kernels, int32_t begin, int32_t end,
                             bool exact, double *K);

/* K at the rest shape, that of Rayleigh damping: pad x pad, both triangles. */
void spl_element_set_rest(spl_element_set *s, const spl_dense_kernels *kernels, double *K);

#endif
