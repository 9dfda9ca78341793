/* The local step of projective dynamics: every tet's nearest rotation, and what it pulls its corners with.
 *
 * Strain constraints (Bouaziz et al. 2014, section 5.1) have the energy mu W |F - R|^2, R the rotation nearest to F, so
 * the force on corner i is -2 mu W (F - R) g_i: the right-hand side of the global step in its incremental form
 * (solver.h). Volume constraints add w W |F - T|^2, T the nearest matrix whose determinant is in [1 - e, 1 + e].
 *
 * Layout: blocks of eight tets, each array [component][lane], so that a lane is a thread of a GPU's warp as well as a
 * place in a vector register; positions stand in fours of doubles, differences of corners are taken in double and all
 * else is float. Forces of corners are stored by vertex: corner forces of one node lie side by side, in the order of
 * the tets, and are summed in that order. No atomics, the same bits at any number of threads. */
#ifndef SPL_METHODS_PROJECTIVE_LOCAL_H
#define SPL_METHODS_PROJECTIVE_LOCAL_H

#include "core/threads.h"
#include "fem/elements.h"
#include "fem/law.h"
#include "math/rotation3.h"

enum { SPL_LOCAL_PIECE = 32 }; /* blocks that a thread takes at once */

typedef struct spl_local_block {
    float gradient[9][8]; /* g_k[c] of corners k = 1, 2, 3 at 3 (k - 1) + c; g_0 is minus their sum */
    float weight[8];      /* 2 mu W */
    float bulk[8];        /* 2 w W of the volume constraint */
    int32_t vertex[4][8];
    uint32_t slot[4][8]; /* where the force of a corner goes; a spare place for held ones */
} spl_local_block;

typedef struct spl_local spl_local;

/* Over blocks [begin, end) of one piece: rotations by at least `newton` Newton steps, forces into their slots; returns
 * the energy. */
typedef double spl_local_fn(const spl_local *l, const double *x, int newton, size_t begin, size_t end);

struct spl_local {
    supple_allocator allocator;
    size_t tet_count, blocks; /* tets with a free corner; (tet_count + 7) / 8 */
    spl_local_block *block;
    spl_quatx8 *turn; /* rotations, kept as the start of the next step */
    int32_t *tet;     /* tet_count: the mesh's tet, by block and lane */
    size_t *start;    /* nodes + 1: the slots of a node */
    float *force;     /* 4 a slot: x y z and the length */
    double *energy;   /* by piece */
    spl_local_fn *run;
};

typedef struct spl_local_input {
    const spl_elements *elements;
    const double *mu;       /* by tet */
    const double *bulk;     /* by tet: w of volume constraints; NULL: none */
    const int32_t *unknown; /* by vertex: its node, -1 where it is held */
    int32_t node_count;
    bool plain; /* without SIMD, for tests */
} spl_local_input;

supple_result spl_local_create(const spl_local_input *in, const supple_allocator *a, spl_local *out,
                               supple_error *error);
void spl_local_release(spl_local *l);

/* Rotations become the identity. */
void spl_local_forget(spl_local *l);

/* The local step at x (4 doubles a vertex, the last one any finite number): l->force, and the energy as the result. One
 * Newton step is enough from iteration to iteration; blocks that have turned far go on until they have arrived, by a
 * decomposition if need be. */
double spl_local_step(spl_local *l, const double *x, int newton, spl_pool *pool);

/* Makes all turns of one block that are not `good` (a bit a lane) the polar ones. */
void spl_local_mend(const spl_mat3x8 *F, unsigned good, spl_quatx8 *turn);

/* The nearest triple whose product is in [1 - e, 1 + e] (Bouaziz et al. 2014, section 5.1): T = U diag(out) V^T. The
 * last of s is the smallest. */
void spl_volume_project(const double s[3], double out[3]);

/* arap with volume constraints, lambda being w: what a solution is measured by. */
extern const spl_law spl_law_projective;

/* For the files that hold them. */
spl_local_fn spl_local_plain, spl_local_avx2;

#endif
