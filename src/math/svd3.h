/* Singular value and polar decomposition of 3x3 matrices. They never fail: reflections, rank 0 to 2, huge and tiny
 * entries all have an answer, with proper rotations; a reflection is a negative last singular value.
 *
 * Method: one-sided Jacobi (Hestenes 1958): rotations V from the right make the columns of F V orthogonal; their
 * lengths are the singular values. Unlike the eigenvalues of F^T F it does not square the condition number. */
#ifndef SPL_MATH_SVD3_H
#define SPL_MATH_SVD3_H

#include "math/mat3.h"

#include <stddef.h>

/* F = U diag(sigma) V^T: U, V rotations, sigma[0] >= sigma[1] >= |sigma[2]|. Where F does not determine them (rank
 * below 2), U V^T turns as little as it can. Entries that are not finite: identities, zeros and false. */
bool spl_svd3(const spl_mat3 *F, spl_mat3 *U, double sigma[3], spl_mat3 *V);

/* F = R S: R the rotation nearest to F, S symmetric (with one negative eigenvalue where det F < 0). Continuous in F
 * except where the nearest rotation is not unique. Entries that are not finite: R = S = identity and false. */
bool spl_polar3(const spl_mat3 *F, spl_mat3 *R, spl_mat3 *S);

/* ---- eight at a time, float -------------------------------------------------------------------------------------- */

/* Eight 3x3 matrices or triples as structures of arrays: [entry][lane]. Any alignment. */
typedef struct spl_mat3x8 {
    float m[9][8];
} spl_mat3x8;
typedef struct spl_vec3x8 {
    float v[3][8];
} spl_vec3x8;

/* spl_svd3 and spl_polar3 of 8 * `blocks` matrices in float: 8-wide where the processor has AVX2 and FMA, else the
 * scalar ones. False if an entry was not finite; that matrix alone has the fallback. */
bool spl_svd3_blocks(const spl_mat3x8 *F, size_t blocks, spl_mat3x8 *U, spl_vec3x8 *sigma, spl_mat3x8 *V);
bool spl_polar3_blocks(const spl_mat3x8 *F, size_t blocks, spl_mat3x8 *R, spl_mat3x8 *S);

/* The 8-wide kernels alone, for the dispatch above and the tests: call them only where spl_cpu_has_avx2(). */
bool spl_svd3_blocks_avx2(const spl_mat3x8 *F, size_t blocks, spl_mat3x8 *U, spl_vec3x8 *sigma, spl_mat3x8 *V);
bool spl_polar3_blocks_avx2(const spl_mat3x8 *F, size_t blocks, spl_mat3x8 *R, spl_mat3x8 *S);

#endif
