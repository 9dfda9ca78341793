/* What the last frames' corrections say of the next one. Motion is smooth, so that the correction of a frame lies close
 * to the plane of the two before it: x starts at the point of that plane with the least energy. Two products instead of
 * ten to twenty iterations; measured in docs/mixed.md, as are one and three frames, and frames turned with the flesh.
 */
#ifndef SPL_METHODS_MIXED_PAST_H
#define SPL_METHODS_MIXED_PAST_H

#include "sparse/matrix3.h"

enum { SPL_PAST = 2 };

typedef struct spl_past {
    supple_allocator allocator;
    spl_pool *pool;
    size_t n;                    /* numbers a vector */
    int32_t count;               /* corrections that are known */
    double *direction[SPL_PAST]; /* the corrections, last first */
    double *plane[SPL_PAST];     /* the same, made orthogonal in A's product */
    double *image[SPL_PAST];     /* A times those */
    double *partial;
} spl_past;

supple_result spl_past_create(size_t n, const supple_allocator *a, spl_pool *pool, spl_past *out, supple_error *error);
void spl_past_release(spl_past *p);

/* Adds to x (n numbers) what the plane gives for A dx = r, and takes A times it off r. The same bits at any number of
 * threads. */
void spl_past_guess(spl_past *p, const spl_matrix3 *A, double *x, double *r);

/* Keeps a correction. */
void spl_past_keep(spl_past *p, const double *dx);

#endif
