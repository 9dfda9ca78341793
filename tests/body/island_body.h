/* A character with a piece of flesh beside it that no bone holds: spl_attach would, and is undone. */
#ifndef SPL_TESTS_ISLAND_BODY_H
#define SPL_TESTS_ISLAND_BODY_H

#include "body/demo_body.h"
#include "core/memory.h"
#include "core/threads.h"

/* The tets of `from` and a cube of six at `corner` that shares nothing with them. */
static inline bool island_tets(const spl_tets *from, spl_vec3 corner, double side, spl_tets *out)
{
    static const int32_t cube[6][4] = {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7},
                                       {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}};
    supple_allocator a = spl_allocator_of(NULL);
    int32_t n = from->vertex_count;
    if (!spl_tets_create(out, n + 8, from->tet_count + 6, &a)) return false;
    memcpy(out->position, from->position, (size_t)n * sizeof *out->position);
    memcpy(out->tet, from->tet, 4 * (size_t)from->tet_count * sizeof *out->tet);
    for (int i = 0; i < 8; i++) out->position[n + i] = spl_madd(corner, spl_v3(i & 1, i >> 1 & 1, i >> 2), side);
    for (int i = 0; i < 24; i++) out->tet[4 * from->tet_count + i] = n + cube[i / 4][i % 4];
    return spl_tets_check(out, "tets", NULL, NULL) == SUPPLE_OK && spl_tets_find_surface(out, NULL) == SUPPLE_OK;
}

/* `supple_body_destroy` frees it as any other. */
static inline demo_body island_body_make(supple_scene *scene, int32_t resolution, spl_vec3 corner, double side)
{
    demo_body whole = demo_body_of(scene, resolution, 0), d = {.scene = scene};
    supple_config config = supple_config_default();
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_body_options options = spl_body_options_default();
    spl_tets tets = {0};
    spl_pool *pool = NULL;
    if (!whole.body || !island_tets(&whole.body->tets, corner, side, &tets) ||
        spl_pool_create(&config, &pool, NULL) != SUPPLE_OK)
        abort();
    options.tets = &tets;
    d.handle = spl_new(&a, 1, sizeof *d.handle);
    if (d.handle && spl_body_make(scene, &options, &config, pool, &d.handle->body, &error) == SUPPLE_OK)
        d.body = &d.handle->body;
    for (int32_t v = d.body ? d.body->tets.vertex_count - 8 : 0; d.body && v < d.body->tets.vertex_count; v++) {
        d.handle->body.attach.constrained -= d.body->bone[v] >= 0;
        d.handle->body.bone[v] = -1;
    }
    if (!d.body) printf("    %s\n", error.message);
    spl_pool_destroy(pool);
    spl_tets_release(&tets);
    supple_body_destroy(whole.handle);
    return d;
}

#endif
