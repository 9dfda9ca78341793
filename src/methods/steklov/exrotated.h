/* Ex-rotated elasticity (Gao, Mitchell, Sifakis 2014, section 4) as a system: rotations by skinning, the matrix
 * A = -K(q) of the free vertices in blocks of 3, and forces. Everything that depends on the mesh is made once; a pose
 * does numeric work only.
 *
 * Nodes are the free vertices; boundary ones may be apart, behind the interior (order.h). Then
 *
 *     A = [ A_ii A_ib ]     with the first `order.interior` nodes interior.
 *         [ A_bi A_bb ]
 */
#ifndef SPL_METHODS_STEKLOV_EXROTATED_H
#define SPL_METHODS_STEKLOV_EXROTATED_H

#include "body/pins.h"
#include "fem/order.h"
#include "methods/steklov/kernels.h"
#include "sparse/matrix3.h"

typedef struct spl_exrotated {
    supple_allocator allocator;
    spl_pool *pool;
    const spl_solid *solid;
    spl_pins pins; /* of islands */
    spl_node_order order;
    spl_stars stars;
    const spl_steklov_kernels *kernels;
    spl_bone_weights own; /* bounded biharmonic ones, where they are asked for */
    float *own_along;
    const spl_bone_weights *weights; /* those, or the solid's, by which rotations are blended */
    const float *along;              /* by weight: how far along its bone the vertex is */
    spl_matrix3 matrix;              /* A of the pose */
    float *narrow;                   /* the same in float, and 4 numbers more; NULL: not asked for */
    float *narrow_x;                 /* 4 a node: what it is multiplied with */
    size_t *split;                   /* by node: its first entry whose column is no interior node */
    double *base;                    /* by entry: what no pose changes */
    uint32_t *slot;
    double *quat;     /* 4 a vertex: blended, not normalised */
    double *turn;     /* 9 a node: the rotation there */
    double *rotation; /* 9 a tet */
    double *memory;   /* what h and corner are aligned in */
    double *h, *corner;
    double *force, *magnitude; /* 3 x and 1 x vertices */
    double *stiffness;         /* by vertex: the mean of its diagonal block at rest, N/m; 0 where held */
} spl_exrotated;

typedef struct spl_exrotated_options {
    bool apart;   /* boundary nodes behind the interior */
    bool plain;   /* without SIMD, for tests */
    bool narrow;  /* keep A in float too */
    double taper; /* degrees by which joints may bend: bones are tapered for that (taper.h); 0: they are not */
    bool bounded; /* blend by bounded biharmonic weights, as the paper, not by the solid's harmonic ones */
    const supple_config *config; /* for those; may be NULL */
} spl_exrotated_options;

/* Leaves it in the rest pose. `solid` must outlive it. */
supple_result spl_exrotated_create(const spl_solid *solid, const spl_exrotated_options *options, spl_pool *pool,
                                   spl_exrotated *out, supple_error *error);
void spl_exrotated_release(spl_exrotated *s);

/* Rotations of the solid's pose: of vertices, nodes and tets; the pins' targets. */
void spl_exrotated_skin(spl_exrotated *s);

/* The matrix from the rotations that are there. */
void spl_exrotated_assemble(spl_exrotated *s);

/* Elastic forces, the islands' springs' and the solid's external ones at x, into s->force. Returns the scale of the
 * residual of --metrics: the root of the sum of the squared magnitudes, and its floor. */
double spl_exrotated_forces(spl_exrotated *s, const double *x);

typedef enum spl_quarter { SPL_ALL, SPL_II, SPL_IB, SPL_BI, SPL_BB } spl_quarter;

/* y = A x (sign 0), y += A x (1) or y -= A x (-1) of a block; x and y are that block's alone, 3 a node. */
void spl_exrotated_multiply(const spl_exrotated *s, spl_quarter block, const double *x, double *y, int sign);

/* The same in float, where the system has that (else in double): half the memory to read, six digits. Not reentrant. */
void spl_exrotated_multiply_narrow(const spl_exrotated *s, spl_quarter block, const double *x, double *y, int sign);

#endif
