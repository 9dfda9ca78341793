/* Springs and dampers between the copies of interface vertices (multi-domain paper, equations 6 to 17).
 *
 * With x_ = R [U | p] (q, 1) + t of both sides, areas a_k, stiffness kappa and damping kappa_d by area:
 *
 *     f_i = -kappa   (P_i q_i_ - W q_j_ + C_i R_i^T (t_i - t_j))                              (11)
 *           -kappa_d (P_i qd_i - W qd_j [+ Z_i q_i_ - N_j q_j_ + C_i R_i^T (td_i - td_j)])    (16); (17) without []
 *
 * P = U^T A U_, C = U^T A 1, W = U_^T A (R_i^T R_j) U_, N_j the same with R_i^T Rdot_j = R_i^T R_j omega_j~, and
 * Z = U^T A omega~ U_; side j has W^T and the transpose of -omega_i~ R_i^T R_j's. All of them are constant in a step:
 * its coupling is linear in q and qd. Positions p are from the domains' centres, so that little cancels. */
#ifndef SPL_SUBSPACE_COUPLING_H
#define SPL_SUBSPACE_COUPLING_H

#include "subspace/player.h"
#include "subspace/sandwich.h"

/* One side: a domain's part of an interface. */
typedef struct spl_coupling_side {
    spl_rows_of rows;
    double *P;       /* (rank + 1) x wide: row `rank` is p^T A U_ */
    double *C;       /* (rank + 1) x 4: U_^T A 1, padded */
    double *turn;    /* 3 x (rank + 1) x wide: U_^T A e~ U_ of the three axes e; only where (16) is wanted */
    double *Z;       /* (rank + 1) x wide, this step's */
    double *offset;  /* rank + 1: C R^T (t_i - t_j), this step's, with the sign of the side */
    double *dragged; /* rank + 1: C R^T (td_i - td_j), so too */
} spl_coupling_side;

typedef struct spl_coupling {
    int32_t domain[2]; /* i, j */
    int32_t count;     /* vertices */
    const double *area;
    double whole; /* sum of the areas */
    double apart; /* |t_i - t_j|^2, this step's */
    bool fst, full;
    bool borrowed; /* P, C, turn and B are another's */
    spl_coupling_side side[2];
    spl_sandwich B;
    double *W;             /* (rank_i + 1) x wide_j, this step's */
    double *N[2];          /* the same shape: with R omega_j~ and with -omega_i~ R */
    double *room;          /* of the per-vertex twin */
    double kappa, kappa_d; /* N/m^3, N s/m^3 */
} spl_coupling;

/* What is wanted of it. */
typedef struct spl_coupling_options {
    bool fst, full;
    double kappa, kappa_d;
} spl_coupling_options;

/* `centre` by domain. Borrows the model. */
supple_result spl_coupling_create(const spl_model *model, int32_t interface, const spl_vec3 *centre,
                                  const spl_coupling_options *options, const supple_allocator *a, spl_coupling *out,
                                  supple_error *error);
/* The same interface with a state of its own and, of the options, stiffness and damping; `from` must outlive it. */
supple_result spl_coupling_like(const spl_coupling *from, const spl_coupling_options *options,
                                const supple_allocator *a, spl_coupling *out, supple_error *error);
void spl_coupling_release(spl_coupling *c, const supple_allocator *a);

/* This step's matrices; frames are those of the domains' centres (spl_frame_centred). */
void spl_coupling_pose(spl_coupling *c, const spl_dense_kernels *kernels, const spl_frame_motion *i,
                       const spl_frame_motion *j);

/* Adds the forces to f[0] and f[1] (rank numbers and padding): springs, and with qd dampers. q and qd are those of the
 * two domains, q with the 1 after it, qd with a 0, padded with zeros. Returns the energy of the springs. */
double spl_coupling_force(const spl_coupling *c, const spl_dense_kernels *kernels, double *const q[2],
                          double *const qd[2], double *const f[2], double *room);

/* Numbers of the `room` above for domains of this many columns, padded. */
static inline size_t spl_coupling_room(int32_t wide)
{
    return 4 * (size_t)wide;
}

#endif
