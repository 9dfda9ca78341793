#include "contact/blocks.h"
#include "contact/shell.h"

/* One block, whose rims are edges and corners of several triangles. */
static void one_block(blocks *b, spl_shell *s)
{
    supple_allocator a = spl_allocator_of(NULL);
    blocks_make(b, 1, 3, 0, &a, 1);
    if (!b->ok || spl_shell_create(&b->solid, b->pool, s, NULL) != SUPPLE_OK) abort();
}

static bool holds(const spl_shell *s, int32_t t, int32_t vertex)
{
    const int32_t *c = s->triangle + 3 * (size_t)t;
    return c[0] == vertex || c[1] == vertex || c[2] == vertex;
}

static bool refuse_one(const void *context, int32_t triangle)
{
    return triangle == *(const int32_t *)context;
}

/* Walks towards p from every triangle that has the two vertices (the same twice: a corner); all must end in the first
 * of them that is not `refused`. */
static void check_walks(const blocks *b, const spl_shell *s, spl_vec3 p, int32_t v, int32_t w, int32_t refused)
{
    int32_t first = 0, starts = 0;
    while (first == refused || !holds(s, first, v) || !holds(s, first, w)) first++;
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *c = s->triangle + 3 * (size_t)t;
        if (!holds(s, t, v) || !holds(s, t, w) || t == refused) continue;
        spl_shell_place at = {.triangle = t};
        at.square = spl_triangle_nearest(p, spl_shell_point(b->x, c[0]), spl_shell_point(b->x, c[1]),
                                         spl_shell_point(b->x, c[2]), at.bary);
        spl_vec3 target = spl_shell_target(s, b->x, &at), normal = spl_shell_normal(s, b->x, &at);
        spl_shell_walk(s, b->x, p, refuse_one, &refused, &at);
        CHECK(at.triangle == first);
        CHECK(spl_distance(spl_shell_target(s, b->x, &at), target) < 1e-15); /* another name, the same place */
        CHECK(spl_distance(spl_shell_normal(s, b->x, &at), normal) < 1e-15);
        CHECK_NEAR(at.bary[0] + at.bary[1] + at.bary[2], 1, 1e-15);
        starts++;
    }
    CHECK(starts >= (refused < 0 ? 2 : 1));
}

TEST(a_place_on_an_edge_is_in_the_same_triangle_wherever_a_walk_began)
{
    blocks b;
    spl_shell s;
    one_block(&b, &s);
    int32_t edges = 0;
    for (int32_t t = 0; t < s.triangle_count; t++)
        for (size_t k = 0; k < 3; k++) { /* just outside the edge, off its middle */
            int32_t v = s.triangle[3 * (size_t)t + k], w = s.triangle[3 * (size_t)t + (k + 1) % 3];
            spl_shell_place at = {.triangle = t};
            at.bary[k] = 0.6;
            at.bary[(k + 1) % 3] = 0.4;
            spl_vec3 n = spl_shell_normal(&s, b.x, &at), p = spl_madd(spl_shell_target(&s, b.x, &at), n, 0.01);
            if (fmax(fabs(n.x), fmax(fabs(n.y), fabs(n.z))) > 0.99) continue; /* within a face rounding picks a side */
            check_walks(&b, &s, p, v, w, -1);
            check_walks(&b, &s, p, v, w, t);
            edges++;
        }
    CHECK(edges >= 2 * 12 * 3);
    spl_shell_release(&s);
    blocks_free(&b);
}

TEST(a_place_at_a_corner_is_in_the_same_triangle_wherever_a_walk_began)
{
    blocks b;
    spl_shell s;
    one_block(&b, &s);
    for (int i = 0; i < 8; i++) {
        int32_t v = blocks_vertex(&b, 0, i & 1 ? 3 : 0, i & 2 ? 3 : 0, i & 4 ? 3 : 0);
        spl_vec3 away = spl_v3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1);
        check_walks(&b, &s, spl_madd(spl_shell_point(b.x, v), away, 0.02), v, v, -1);
    }
    spl_shell_release(&s);
    blocks_free(&b);
}

TEST_CASES(RUN(a_place_on_an_edge_is_in_the_same_triangle_wherever_a_walk_began),
           RUN(a_place_at_a_corner_is_in_the_same_triangle_wherever_a_walk_began))
