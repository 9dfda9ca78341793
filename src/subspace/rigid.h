/* What the motion of its frame does to a domain (multi-domain paper, equation 3 and appendix A):
 *
 *     f = -M_tq^T R^T (tdd - gravity) - S[alpha~ + omega~^2] q_ - 2 S0[omega~] qd,      S[X] = U^T M X U_.
 *
 * S[alpha~] q_ is M_wq^T alpha, its deformation term included (28); S[omega~^2] q_ is the centrifugal force and the
 * last term the Coriolis force (26). omega and alpha are in the frame's axes. The two transforms are constant in a
 * step. */
#ifndef SPL_SUBSPACE_RIGID_H
#define SPL_SUBSPACE_RIGID_H

#include "subspace/player.h"
#include "subspace/sandwich.h"

typedef struct spl_rigid {
    spl_rows_of rows; /* all vertices of the domain */
    bool fst;
    bool borrowed; /* S and Mtq are another's */
    spl_sandwich S;
    double *Mtq;   /* (rank + 1) x 4: sum of m_k U_k, its transpose, padded */
    double *push;  /* rank: -M_tq^T R^T (tdd - gravity), this step's */
    double *X, *Y; /* (rank + 1) x wide: S[alpha~ + omega~^2], S[omega~] of this step */
    double *room;  /* of the per-vertex twin, and of the products */
} spl_rigid;

/* SUPPLE_ERROR_INPUT if the basis is not orthonormal with respect to the masses. */
supple_result spl_rigid_create(const spl_model_domain *domain, spl_vec3 centre, bool fst, const supple_allocator *a,
                               spl_rigid *out, supple_error *error);
/* The same with a state of its own; `from` must outlive it. */
supple_result spl_rigid_like(const spl_rigid *from, const supple_allocator *a, spl_rigid *out, supple_error *error);
void spl_rigid_release(spl_rigid *r, const supple_allocator *a);

/* This step's transforms; `moving` off: gravity alone (quasistatic). */
void spl_rigid_pose(spl_rigid *r, const spl_dense_kernels *kernels, const spl_frame_motion *frame, spl_vec3 gravity,
                    bool moving);

/* f += the forces at q (with its 1) and qd (with a 0). */
void spl_rigid_force(const spl_rigid *r, const spl_dense_kernels *kernels, bool moving, const double *q,
                     const double *qd, double *f);

/* A frame seen from another origin of the domain, `centre`: x = R (p - centre) + t'. */
spl_frame_motion spl_frame_centred(const spl_frame_motion *frame, spl_vec3 centre);

#endif
