/* Contacts of one domain with colliders (multi-domain paper, section 5.2): surface vertices that are in one, or near
 * it, found through the domain's bounded deformation tree, and penalty forces at them in the subspace.
 *
 * A contact is found once a step; its target and normal are held from then on. The depth of its vertex is linear in q,
 *
 *     d(q) = n . (target - R (p + U q) - t) = d_0 - j . q,        j = U^T R^T n,
 *
 * its energy is k/2 max(d, 0)^2, its force k max(d, 0) j, and its Jacobian k j j^T while d > 0: nothing pulls.
 *
 * k is the stiffness by area times the vertex's area times (|U_k|^2 / max_i |U_i|^2)^2. Where the basis hardly moves a
 * vertex (soles, knuckles, all that is near bones), what pushes there moves the rest of the domain instead, and by that
 * ratio farther: without the factor a floor that soles sink into by 16 mm bent feet by 50 to 140 mm, with it by 30. */
#ifndef SPL_SUBSPACE_PRESS_H
#define SPL_SUBSPACE_PRESS_H

#include "contact/collider.h"
#include "math/mat3.h"
#include "subspace/bounds.h"

typedef struct spl_press_contact {
    int32_t vertex; /* of the domain */
    int32_t collider;
    spl_vec3 target, normal; /* world */
    double depth;            /* where it was found; negative outside */
} spl_press_contact;

typedef struct spl_press {
    const spl_model_domain *domain;
    spl_bounds tree;
    int32_t pad;                /* of the rank */
    double *stiffness;          /* by vertex of the domain: k, N/m */
    int32_t most;               /* contacts that there is room for */
    int32_t count;              /* contacts */
    int32_t dropped;            /* for want of room: the least deep ones */
    spl_press_contact *contact; /* most */
    double *J;                  /* most x pad: j */
    double *start;              /* most: d_0 */
    double *depth;              /* most: d at the q of the last force */
    double *spring;             /* most: k, N/m */
    double *room;               /* most x pad */
    double *diagonal;           /* pad: of the Jacobian if all contacts pressed */
} spl_press;

/* What a search works with. */
typedef struct spl_press_query {
    const spl_dense_kernels *kernels;
    const spl_colliders *colliders;
    spl_mat3 R; /* the domain's frame */
    spl_vec3 t;
    const double *q;
    double reach; /* vertices nearer than this count too, metres */
} spl_press_query;

supple_result spl_press_create(const spl_model_domain *domain, double stiffness, int32_t most,
                               const supple_allocator *a, spl_press *out, supple_error *error);
void spl_press_release(spl_press *p, const supple_allocator *a); /* accepts a zeroed one */

/* Replaces the contacts by those at q. Allocates nothing. */
void spl_press_find(spl_press *p, const spl_press_query *query);

/* The largest depth of any surface vertex in a collider; 0 if none is in one. */
double spl_press_deepest(const spl_press *p, const spl_press_query *query);

/* At q (padded): f += the forces, pad numbers; returns the energy. Keeps the depths. */
double spl_press_force(spl_press *p, const spl_dense_kernels *kernels, const double *q, double *f);

/* K += the Jacobian at the depths kept: pad rows of length ld, upper triangle by tiles of four. */
void spl_press_hessian(spl_press *p, const spl_dense_kernels *kernels, double *K, size_t ld);

#endif
