/* Blocks with a visual mesh: their own surface, every vertex twice, as at seams. */
#ifndef SPL_TESTS_CONTACT_SKINNED_BLOCKS_H
#define SPL_TESTS_CONTACT_SKINNED_BLOCKS_H

#include "contact/blocks.h"

typedef struct skinned_blocks {
    blocks b;
    supple_scene scene;
    spl_instance instance;
    spl_primitive primitive;
    spl_part part;
    spl_role role;
    uint8_t *roles;
    int32_t *body; /* by visual vertex: the body's */
    float *visual; /* at b.x */
} skinned_blocks;

static inline void skinned_blocks_show(skinned_blocks *s)
{
    for (int32_t i = 0; i < s->primitive.vertex_count; i++)
        for (int c = 0; c < 3; c++) s->visual[3 * i + c] = (float)s->b.x[3 * s->body[i] + c];
}

static inline void skinned_blocks_mesh(skinned_blocks *s)
{
    const spl_tets *t = &s->b.body.tets;
    int32_t *of = malloc((size_t)t->vertex_count * sizeof *of), n = 0;
    for (int32_t v = 0; v < t->vertex_count; v++) of[v] = -1;
    for (int32_t i = 0; i < 3 * t->surface_count; i++)
        if (of[t->surface[i]] < 0) of[t->surface[i]] = n++;
    s->primitive = (spl_primitive){.vertex_count = 2 * n,
                                   .triangle_count = t->surface_count,
                                   .influence_count = 1,
                                   .position = malloc((size_t)n * 24),
                                   .triangle = malloc((size_t)t->surface_count * 12)};
    s->body = malloc((size_t)n * 2 * sizeof *s->body);
    s->visual = malloc((size_t)n * 24);
    for (int32_t v = 0; v < t->vertex_count; v++)
        if (of[v] >= 0) s->body[of[v]] = s->body[n + of[v]] = v;
    for (int32_t i = 0; i < 3 * t->surface_count; i++) /* some triangles use one copy, some the other */
        s->primitive.triangle[i] = of[t->surface[i]] + (i / 3 % 2 ? n : 0);
    skinned_blocks_show(s);
    memcpy(s->primitive.position, s->visual, (size_t)n * 24);
    free(of);
}

static inline void skinned_blocks_make(skinned_blocks *s, int32_t n, double gap, const supple_allocator *a,
                                       int32_t threads)
{
    *s = (skinned_blocks){.instance = {.skin = 0}, .role = {.role = SUPPLE_ROLE_FLESH, .share = {1}}};
    supple_allocator plain = spl_allocator_of(NULL);
    blocks_make(&s->b, 2, n, gap, a, threads);
    if (!s->b.ok) abort();
    skinned_blocks_mesh(s);
    spl_body *body = &s->b.body;
    s->scene = (supple_scene){.instance = &s->instance, .vertex_count = s->primitive.vertex_count};
    s->part = (spl_part){.primitive = &s->primitive};
    body->scene = &s->scene;
    body->part = &s->part;
    s->roles = calloc((size_t)s->primitive.vertex_count, 1); /* all flesh */
    body->roles = (spl_roles){.part_count = 1, .part = &s->role, .vertex = s->roles};
    body->part_count = 1;
    body->bind = s->primitive.position;
    body->metre = 1;
    s->b.solid.drive.to_solver = 1;
    s->b.solid.drive.stretch = spl_mat3_identity();
    s->b.solid.diagonal = 5;
    spl_upsample_visual visual = {.vertex_count = s->primitive.vertex_count,
                                  .position = body->bind,
                                  .triangle_count = s->primitive.triangle_count,
                                  .triangle = s->primitive.triangle};
    spl_upsample_options options = spl_upsample_options_default();
    if (spl_surface_make((const double *)body->tets.position, body->tets.vertex_count, body->tets.surface,
                         body->tets.surface_count, &plain, &body->skin, NULL) != SUPPLE_OK ||
        spl_upsample_create(&body->skin, &visual, &options, s->b.pool, &plain, &body->upsample, NULL) != SUPPLE_OK)
        abort();
}

static inline void skinned_blocks_free(skinned_blocks *s)
{
    spl_upsample_destroy(s->b.body.upsample);
    spl_surface_release(&s->b.body.skin);
    free(s->primitive.position);
    free(s->primitive.triangle);
    free(s->body);
    free(s->visual);
    free(s->roles);
    blocks_free(&s->b);
}

/* The second block pushed into the first one by so much, off its grid. */
static inline void skinned_blocks_push(skinned_blocks *s, double depth)
{
    blocks_move(&s->b, 1, spl_v3(-2 - depth, 0.0317, 0.0171));
    skinned_blocks_show(s);
}

#endif
