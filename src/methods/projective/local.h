/* The local step of projective dynamics: every tet's nearest rotation, and what it pulls its corners with.
 *
 * Strain constraints (Bouaziz et al. 2014, section 5.1) have the energy mu W |F - R|^2, R the rotation nearest to F, so
 * the force on corner i is -2 mu W (F - R) g_i: the right-hand side of the global step in its incremental form
 * (solver.h). Flesh that keeps its volume adds lambda/2 W tr^2(R^T F - I), which is the law `corot`. Volume constraints
 * add w W |F - T|^2, T the nearest matrix whose determinant is in [1 - e, 1 + e].
 *
 * Layout: blocks of eight tets, each array [component][lane], so that a lane is a thread of a GPU's warp as well as a
 * place in a vector register; positions stand in fours of doubles, differences of corners are taken in double and all
 * else is float. Pieces of 32 blocks are patches of neighbouring tets (local_order.c): a piece copies the positions of
 * its hundred vertices or so, adds up the forces on them in the order of its tets, and stores one sum a vertex, beside
 * those of the other pieces that have the vertex. So hardly anything but the blocks themselves goes through memory; no
 * atomics, the same bits at any number of threads. (With a place for each corner's force instead, forces were 64 bytes
 * a tet to write and to read, as much as all else.) */
#ifndef SPL_METHODS_PROJECTIVE_LOCAL_H
#define SPL_METHODS_PROJECTIVE_LOCAL_H

#include "core/threads.h"
#include "fem/elements.h"
#include "fem/law.h"
#include "math/rotation3.h"

#include <string.h>

enum {
    SPL_LOCAL_PIECE = 32,                     /* blocks that a thread takes at once */
    SPL_LOCAL_MOST = 4 * 8 * SPL_LOCAL_PIECE, /* vertices of a piece, at most */
    SPL_LOCAL_MORE = 6,                       /* Newton steps at most beyond those asked for, before a decomposition */
};

/* Radians squared: a last Newton step beyond this is followed by more. In the first local step of a solve, which
 * nothing makes up for if it is the only one, a last step of 0.01 still leaves an error of 1e-4. One rule for all
 * kernels, also the device's (cl/kernels/local.cl): what it leaves is the same everywhere. */
#define SPL_LOCAL_FAR       0.04F
#define SPL_LOCAL_FIRST_FAR 1e-4F

typedef struct spl_local_block {
    float gradient[9][8];  /* g_k[c] of corners k = 1, 2, 3 at 3 (k - 1) + c; g_0 is minus their sum */
    float weight[8];       /* 2 mu W */
    uint16_t corner[4][8]; /* where a vertex's force is in the piece's room, in floats: 4 times its number */
} spl_local_block;

/* A piece's vertices in spl_local.vertex, from `first`: those whose force is wanted, then held ones. */
typedef struct spl_local_piece {
    uint32_t first, free_count, count;
} spl_local_piece;

typedef struct spl_local spl_local;

/* Over blocks [begin, end) of one piece: rotations by at least `newton` Newton steps, forces into their slots; returns
 * the energy. */
typedef double spl_local_fn(const spl_local *l, const double *x, int newton, size_t begin, size_t end);

struct spl_local {
    supple_allocator allocator;
    size_t tet_count, blocks, pieces; /* tets with a free corner; (tet_count + 7) / 8; blocks / SPL_LOCAL_PIECE, up */
    spl_local_block *block;           /* aligned, in memory, as turn is */
    spl_quatx8 *turn;                 /* rotations, kept as the start of the next step */
    float (*extra)[8];                /* by block: lambda W, or 2 w W of the volume constraint; NULL: neither */
    int32_t *tet;                     /* tet_count: the mesh's tet, piece by piece */
    spl_local_piece *piece;
    int32_t *vertex; /* of the pieces, the mesh's */
    uint32_t *slot;  /* of the free ones: where the piece's force goes */
    size_t *start;   /* nodes + 1: the slots of a node */
    float *force;    /* 4 a slot: x y z and the sum of the corners' lengths */
    double *energy;  /* by piece */
    void *memory;
    spl_local_fn *run;
};

/* Positions and forces of a piece at hand. */
typedef struct spl_local_room {
    _Alignas(64) double x[4 * SPL_LOCAL_MOST];    /* 4 a vertex, as in spl_local_step */
    _Alignas(64) float force[4 * SPL_LOCAL_MOST]; /* and as in spl_local.force */
} spl_local_room;

static inline void spl_local_enter(const spl_local *l, size_t piece, const double *x, spl_local_room *room)
{
    const spl_local_piece *p = &l->piece[piece];
    const int32_t *vertex = l->vertex + p->first;
    for (size_t i = 0; i < p->count; i++) {
        memcpy(room->x + 4 * i, x + 4 * (size_t)vertex[i], 4 * sizeof *x);
        memset(room->force + 4 * i, 0, 4 * sizeof *room->force);
    }
}

static inline void spl_local_leave(const spl_local *l, size_t piece, const spl_local_room *room)
{
    const spl_local_piece *p = &l->piece[piece];
    const uint32_t *slot = l->slot + p->first;
    for (size_t i = 0; i < p->free_count; i++)
        memcpy(l->force + 4 * (size_t)slot[i], room->force + 4 * i, 4 * sizeof *l->force);
}

typedef struct spl_local_input {
    const spl_elements *elements;
    const double *mu;       /* by tet */
    const double *lambda;   /* by tet: of corot; NULL: none, arap */
    const double *bulk;     /* by tet: w of volume constraints; NULL: none. Only one of the two */
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
spl_local_fn spl_local_plain, spl_local_avx2, spl_local_volume;

/* F of a block's eight tets, and the forces -P g_i of one lane's stress (times W) added to its corners: plain. */
void spl_local_load_F(const spl_local_block *b, const spl_local_room *room, spl_mat3x8 *F);
void spl_local_pull(const spl_local_block *b, size_t lane, const float P[9], spl_local_room *room);

/* Puts `count` tets in an order in which 8 SPL_LOCAL_PIECE of them, and so on, are patches with few vertices. False if
 * memory is out. */
bool spl_local_order(const spl_elements *e, int32_t *tet, size_t count, const supple_allocator *a);

#endif
