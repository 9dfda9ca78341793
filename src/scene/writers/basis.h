/* A principal-component basis of vertex animation: frame f is mean + sum_k weight[f][k] component_k, with as few
 * components as an error bound allows.
 *
 * The frames lie in a spool on disk. With A the frames minus their mean (frames x columns), the leading eigenvectors of
 * G = A A^T come from a randomised range finder with power iteration and a Rayleigh-Ritz step (Halko, Martinsson and
 * Tropp 2011, algorithms 4.4 and 5.3). Every product with G goes through blocks of columns, so memory holds a block and
 * matrices of frames x components, never all frames. The bits do not depend on the number of threads. */
#ifndef SPL_SCENE_WRITERS_BASIS_H
#define SPL_SCENE_WRITERS_BASIS_H

#include "core/file.h"
#include "core/threads.h"

/* Frames of floats, one after the other from the beginning of a file. */
typedef struct spl_frames {
    int file; /* read with pread */
    int32_t count;
    size_t width; /* floats in a frame */
} spl_frames;

typedef struct spl_basis {
    int32_t frame_count, count;
    float *weight;       /* frame_count x count, zero on average; the largest of each component is 1 */
    double error;        /* largest distance of a vertex, by the components in double */
    double *inverse;     /* count: 1 / |weights of a component|^2 */
    double *low, *range; /* count: the smallest weight, and how far the largest lies above it */
    uint8_t *kind; /* 3 x count: how positions, normals and tangents of a component are stored: 4 floats, 2 shorts and
                      1 bytes that stand for -1 to 1, 0 not at all */
    double unit;   /* what a stored position of 1 stands for */
    bool steady;   /* one more target with the weight 1 puts the directions of the base right */
} spl_basis;

/* What a search works with. */
typedef struct spl_basis_task {
    const spl_frames *frames;
    size_t first, columns; /* of a frame: positions, 3 a vertex */
    double bound;          /* on the distance of a vertex */
    int32_t most;          /* components at most; the bound may then not be met */
    spl_pool *pool;
    const supple_allocator *allocator;
    const supple_config *config; /* progress, or NULL */
} spl_basis_task;

/* Finds a basis for some columns. Nothing that moves gives no components. */
supple_result spl_basis_find(const spl_basis_task *task, spl_basis *out, supple_error *error);
void spl_basis_release(spl_basis *basis, const supple_allocator *a);

/* A weight as it is written: from 0 to 1 over the frames (Blender clamps others); 1 behind the last component. */
float spl_basis_weight(const spl_basis *basis, int32_t frame, int32_t component);

/* How many columns spl_basis_project takes at once, a multiple of 3. */
size_t spl_basis_block(const spl_frames *frames);

/* The best fit of `columns` columns from `first` on by the basis's weights: mean[columns], and component k at
 * part[k * columns]. `block` has room for frames x columns floats; it is filled with the frames minus the mean. */
supple_result spl_basis_project(const spl_basis *basis, const spl_frames *frames, size_t first, size_t columns,
                                spl_pool *pool, float *block, float *mean, float *part, supple_error *error);

/* Largest distance of a vertex between a block as spl_basis_project left it and its components. */
double spl_basis_measure(const spl_basis *basis, const float *block, size_t columns, const float *part);

#endif
