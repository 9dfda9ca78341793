/* A box of tets with bones along it: what the tests of weights share. */
#ifndef SPL_TESTS_BODY_HELD_BOX_H
#define SPL_TESTS_BODY_HELD_BOX_H

#include "core/threads.h"
#include "fem/box.h"

static inline spl_pool *pool_of(int threads)
{
    supple_config config = supple_config_default();
    spl_pool *pool = NULL;
    config.thread_count = threads;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    return pool;
}

/* Bones hold the vertices in no tet too, as every piece needs one; of the others, those near `bones` places along z. */
static inline int32_t *hold(const box *b, int32_t bones, int32_t nz)
{
    int32_t n = b->mesh.vertex_count, *held = malloc((size_t)n * sizeof *held);
    bool *used = calloc((size_t)n, sizeof *used);
    for (int32_t i = 0; i < 4 * b->mesh.tet_count; i++) used[b->mesh.tets[i]] = true;
    for (int32_t v = 0; v < n; v++) {
        held[v] = used[v] ? -1 : 0;
        for (int32_t k = 0; used[v] && k < bones; k++)
            if (fabs(b->mesh.points[3 * v + 2] - (0.5 + (nz - 1.0) * k / (bones - 1))) < 0.3 &&
                b->mesh.points[3 * v] < 0.9)
                held[v] = k;
    }
    free(used);
    return held;
}

/* The stiffness L of the box by the lattice's own gradients, n x n, and the lumped masses. */
static inline void dense_laplacian(const box *b, double *L, double *mass)
{
    size_t n = (size_t)b->mesh.vertex_count;
    for (int32_t t = 0; t < b->mesh.tet_count; t++) {
        double g[4][3], volume = lattice_gradients(&b->mesh, t, g);
        for (int i = 0; i < 4; i++) {
            mass[b->mesh.tets[4 * t + i]] += 0.25 * volume;
            for (int j = 0; j < 4; j++) {
                size_t row = (size_t)b->mesh.tets[4 * t + i], column = (size_t)b->mesh.tets[4 * t + j];
                L[row * n + column] += volume * (g[i][0] * g[j][0] + g[i][1] * g[j][1] + g[i][2] * g[j][2]);
            }
        }
    }
}

#endif
