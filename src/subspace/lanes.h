/* The cubature tets of a domain eight at a time, in float: the quick twin of element.c's double precision, for the
 * corotational law (corot.h), on processors with AVX2. A block is eight tets; its numbers stand lane by lane.
 *
 * What cancels is never formed. With D = F - 1 and the nearest rotation R = 1 + W, both small where flesh is near its
 * rest shape in its domain's frame,
 *
 *     E = sym(W + D + W^T D) = S - 1,    P = (1 + W) (2 mu E + lambda tr(E) 1),
 *
 * so rounding is relative to the deformation, not to 1, and a residual of 1e-4 is as well found as in double. Tets
 * whose rotation is not found so ("hard": nearly flat, inverted) go to the law itself, in double. */
#ifndef SPL_SUBSPACE_LANES_H
#define SPL_SUBSPACE_LANES_H

#include "core/error.h"
#include "core/memory.h"
#include "fem/law.h"

#include <stdbool.h>
#include <stdint.h>

enum { SPL_LANES = 8, SPL_LANES_RANK = 64 }; /* tets of a block; the largest rank of a domain that is played so */

typedef struct spl_lanes {
    int32_t count, pad;         /* blocks; columns, a multiple of four; count 0: not played so */
    float *G;                   /* block x column x 9 x 8 */
    float *scale, *mu, *lambda; /* block x 8; scale is 0 where a block has no tet left */
    float *base;                /* block x 9 x 8: F_0 - 1 of this step; this and what follows is not constant */
    float *D, *W, *E;           /* block x 9 x 8, 9 x 8, 6 x 8: at the last evaluation; E: xx yy zz xy xz yz */
    uint8_t *hard;              /* by block: a bit a lane */
    const spl_law *law;
} spl_lanes;

/* Whether this processor has them. */
bool spl_lanes_known(void);

/* Room for `tets` tets and `pad` columns; all zero. */
bool spl_lanes_create(spl_lanes *l, int32_t tets, int32_t pad, const spl_law *law, const supple_allocator *a);
/* What a step writes, for a copy of the constants; the base stays the other's until it is copied. */
bool spl_lanes_take_state(spl_lanes *l, const supple_allocator *a);
void spl_lanes_release(spl_lanes *l, bool borrowed, const supple_allocator *a);

/* A tet's nine entries in `x` (9 numbers a block and lane). */
static inline float *spl_lanes_at(float *x, size_t tet)
{
    return x + 9 * SPL_LANES * (tet / SPL_LANES) + tet % SPL_LANES;
}

/* F of a tet at the last evaluation, column-major. */
void spl_lanes_gradient(const spl_lanes *l, size_t tet, double F[9]);

static inline bool spl_lanes_hard(const spl_lanes *l, size_t tet)
{
    return l->hard[tet / SPL_LANES] >> tet % SPL_LANES & 1;
}

/* Of blocks [begin, end) at q: f += forces -dW/dq (pad numbers); returns the energy. */
double spl_lanes_force(spl_lanes *l, const double *q, int32_t begin, int32_t end, double *f);

/* K += the changing part of the exact Jacobian, J - sum 2 mu w W G^T G, of all tets that are not hard: pad x pad, upper
 * triangle. */
void spl_lanes_hessian(const spl_lanes *l, int32_t begin, int32_t end, double *K);

/* Eight vertices of one domain: y = R (p + U q), y 3 x 8; `table` has p, 3 x 8, and then U, column x 3 x 8. */
void spl_lanes_place(const float *table, int32_t rank, const float *q, const float R[9], float *y);

/* ---- between lanes.c and lanes_avx2.c ---- */

void spl_lanes_place_avx2(const float *table, int32_t rank, const float *q, const float R[9], float *y);

double spl_lanes_force_avx2(spl_lanes *l, const float *q, int32_t begin, int32_t end, double *f);
void spl_lanes_hessian_avx2(const spl_lanes *l, int32_t begin, int32_t end, double *K);

/* Scaled stress of a block's hard tets into P (9 x 8) by the law, in double; their energy. */
double spl_lanes_hard_stress(const spl_lanes *l, int32_t block, float *P);

#endif
