/* What `linear` and `dualquat` share: influences rearranged in blocks of eight vertices, palettes, and the kernels that
 * deform blocks.
 *
 * A block's vertices go through two optional phases (Kavan et al. 2008, section 4.1):
 *     affine: p <- sum_k w_k M_k p          blended 3x4 matrices
 *     dual:   p <- rigid(sum_k w_k Q_k) p   blended dual quaternions
 * `linear` uses the first alone; `dualquat` the second, preceded by the first where bones are scaled. */
#ifndef SPL_METHODS_SKINNING_H
#define SPL_METHODS_SKINNING_H

#include "methods/method.h"

enum {
    SPL_BLOCK = 8,        /* vertices in a block */
    SPL_MATRIX_SIZE = 16, /* floats a matrix: four columns of three, each padded to four; one cache line */
    SPL_DUAL_SIZE = 8,    /* floats a dual quaternion: rotation x y z w, then the dual part */
};

/* Up to eight consecutive vertices of one primitive of one instance. Its influences are K for each of eight vertices,
 * vertex by vertex; the last block of a primitive is filled up with copies of joint 0. */
typedef struct spl_block {
    uint32_t vertex;          /* the first one, in output order */
    uint32_t influence;       /* where its influences start, counted in eights */
    uint32_t group;           /* whose palette it uses */
    uint16_t influence_count; /* K: as many as its vertices need, at least 1 */
    uint16_t vertex_count;    /* 1 to 8 */
} spl_block;

/* One palette: the joints of a skin (groups 0 to skin_count - 1), or the node of an instance (the groups after). */
typedef struct spl_group {
    uint32_t palette; /* its first entry in the palettes */
    bool affine;      /* blend matrices */
    bool dual;        /* then blend dual quaternions */
    float scale[3];   /* applied before the dual phase */
} spl_group;

typedef struct spl_skinning {
    size_t block_count, group_count, entry_count, influence_count;
    spl_block *block;
    spl_group *group;
    uint16_t *joint; /* influence_count x 8, relative to the group's palette */
    float *weight;   /* influence_count x 8 */
    float *matrix;   /* entry_count x SPL_MATRIX_SIZE, aligned to 64 bytes */
    float *dual;     /* entry_count x SPL_DUAL_SIZE, aligned to 64 bytes */
    void *matrix_memory, *dual_memory;
} spl_skinning;

/* Cuts all instances of a scene into blocks and makes room for the palettes; all groups are affine at first. */
supple_result spl_skinning_init(spl_skinning *s, const supple_scene *scene, const supple_allocator *a,
                                supple_error *error);
void spl_skinning_release(spl_skinning *s, const supple_allocator *a); /* accepts a zeroed or half-made one */

/* Skinning matrix of a joint, mesh space to world: its node's world matrix times its inverse bind matrix. */
spl_mat4 spl_skinning_joint_matrix(const spl_skin *skin, int32_t joint, const spl_pose *pose);

/* Rounds an affine map into an entry of the matrix palette. */
void spl_skinning_set_matrix(spl_skinning *s, size_t entry, const spl_mat4 *m);

/* Fills the matrix palette: all entries, or those of unskinned instances only. */
void spl_skinning_set_matrices(spl_skinning *s, const supple_scene *scene, const spl_pose *pose, bool skinned);

/* Deforms all vertices by the palettes. The same bits at any number of threads. */
void spl_skinning_run(const spl_skinning *s, spl_pool *pool, const float *rest, float *out);

/* The kernels: blocks [begin, end). Both do the same sums in the same order; the 8-wide one fuses multiply and add. */
void spl_skinning_blocks_scalar(const spl_skinning *s, const float *rest, float *out, size_t begin, size_t end);
void spl_skinning_blocks_avx2(const spl_skinning *s, const float *rest, float *out, size_t begin, size_t end);

#endif
