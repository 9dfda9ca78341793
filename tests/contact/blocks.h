/* Bodies of blocks for the tests of contact: boxes of tetrahedra far apart at rest, brought together by hand. Only what
 * contact uses of a body and a solid is there. */
#ifndef SPL_TESTS_CONTACT_BLOCKS_H
#define SPL_TESTS_CONTACT_BLOCKS_H

#include "body/solid.h"
#include "core/memory.h"
#include "test.h"

typedef struct blocks {
    spl_body body;
    spl_solid solid;
    int32_t count, per; /* blocks, and vertices of each */
    int32_t n;          /* cells along an edge of a block, which is 1 m long */
    double *x;          /* 3 a vertex: rest at first */
    spl_pool *pool;
    bool ok;
} blocks;

static inline int32_t blocks_vertex(const blocks *b, int32_t block, int i, int j, int k)
{
    int32_t w = b->n + 1;
    return block * b->per + (k * w + j) * w + i;
}

/* The six tets of a cube around its diagonal, positive. */
static inline void blocks_cube(const blocks *b, int32_t block, const int at[3], int32_t *tet)
{
    static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (int t = 0; t < 6; t++) {
        int c[3] = {at[0], at[1], at[2]};
        int32_t *v = tet + 4 * t;
        v[0] = blocks_vertex(b, block, c[0], c[1], c[2]);
        for (int k = 0; k < 3; k++) {
            c[order[t][k]]++;
            v[k + 1] = blocks_vertex(b, block, c[0], c[1], c[2]);
        }
        if (t >= 3) { /* odd orders turn the other way */
            int32_t swap = v[1];
            v[1] = v[2];
            v[2] = swap;
        }
    }
}

/* `gap`: how far apart the blocks stand along x at rest; negative: they overlap. */
static inline void blocks_make(blocks *b, int32_t count, int32_t n, double gap, const supple_allocator *a,
                               int32_t threads)
{
    supple_config config = supple_config_default();
    config.thread_count = threads;
    *b = (blocks){.count = count, .n = n, .per = (n + 1) * (n + 1) * (n + 1)};
    spl_tets *t = &b->body.tets;
    supple_allocator plain = spl_allocator_of(NULL);
    if (!spl_tets_create(t, count * b->per, 6 * count * n * n * n, &plain)) return;
    for (int32_t v = 0; v < t->vertex_count; v++) {
        int32_t w = n + 1, i = v % b->per;
        t->position[v] =
            spl_v3((i % w) / (double)n + (v / b->per) * (1 + gap), (i / w % w) / (double)n, (i / w / w) / (double)n);
    }
    for (int32_t c = 0; c < count * n * n * n; c++) {
        int at[3] = {c % n, c / n % n, c / n / n % n};
        blocks_cube(b, c / (n * n * n), at, t->tet + 24 * (size_t)c);
    }
    b->body.bone = malloc((size_t)t->vertex_count * sizeof *b->body.bone);
    for (int32_t v = 0; v < t->vertex_count; v++) b->body.bone[v] = -1;
    b->solid = (spl_solid){.allocator = *a, .body = &b->body};
    b->solid.drive.rest = (double *)t->position;
    b->x = malloc((size_t)t->vertex_count * 3 * sizeof *b->x);
    memcpy(b->x, t->position, (size_t)t->vertex_count * 3 * sizeof *b->x);
    b->ok = spl_tets_find_surface(t, NULL) == SUPPLE_OK && spl_pool_create(&config, &b->pool, NULL) == SUPPLE_OK &&
            spl_elements_create(b->solid.drive.rest, t->vertex_count, t->tet, t->tet_count, &plain, &b->solid.elements,
                                NULL) == SUPPLE_OK;
}

static inline void blocks_free(blocks *b)
{
    spl_elements_release(&b->solid.elements);
    spl_tets_release(&b->body.tets);
    spl_pool_destroy(b->pool);
    free(b->body.bone);
    free(b->body.prism);
    free(b->x);
}

/* Moves a block from where it is at rest. */
static inline void blocks_move(blocks *b, int32_t block, spl_vec3 by)
{
    for (int32_t v = block * b->per; v < (block + 1) * b->per; v++) {
        spl_vec3 p = spl_add(b->body.tets.position[v], by);
        memcpy(b->x + 3 * (size_t)v, &p, sizeof p);
    }
}

static inline double blocks_random(void) /* in [-1, 1] */
{
    return 2 * (rand() / (double)RAND_MAX) - 1;
}

#endif
