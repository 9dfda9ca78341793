#include "contact/held.h"

#include "contact/blocks.h"
#include "failing.h"

/* Two blocks, each held by a bone but for the corner vertices of the second one's far side. */
static void hold(blocks *b, int32_t *held)
{
    for (int32_t v = 0; v < b->count * b->per; v++) held[v] = v / b->per;
}

TEST(bones_whose_flesh_crosses_are_found)
{
    blocks b;
    spl_held h;
    supple_allocator a = spl_allocator_of(NULL);
    int32_t held[54];
    bool crossing[9];
    blocks_make(&b, 2, 2, 0.5, &a, 2);
    REQUIRE(b.ok && b.per == 27);
    hold(&b, held);
    REQUIRE(spl_held_create(&b.solid, held, 3, b.pool, &h, NULL) == SUPPLE_OK);
    CHECK(h.primitives.triangle_count == 2 * 48); /* the outside alone */
    CHECK(spl_held_crossings(&h, b.x, crossing, b.pool) == 0);
    blocks_move(&b, 1, spl_v3(-0.7, 0.0317, 0.0171));
    CHECK(spl_held_crossings(&h, b.x, crossing, b.pool) == 1);
    for (int i = 0; i < 9; i++) CHECK(crossing[i] == (i == 1 || i == 3));
    blocks_move(&b, 1, spl_v3(-0.4, 0.0317, 0.0171));
    CHECK(spl_held_crossings(&h, b.x, crossing, b.pool) == 0 && !crossing[1]);
    spl_held_release(&h);
    for (int32_t v = b.per; v < 2 * b.per; v += 2) held[v] = -1; /* no tet of the second is held wholly */
    REQUIRE(spl_held_create(&b.solid, held, 3, b.pool, &h, NULL) == SUPPLE_OK);
    blocks_move(&b, 1, spl_v3(-0.7, 0.0317, 0.0171));
    CHECK(spl_held_crossings(&h, b.x, crossing, b.pool) == 0);
    spl_held_release(&h);
    blocks_free(&b);
}

TEST(what_crosses_at_rest_is_not_told)
{
    blocks b;
    spl_held h;
    supple_allocator a = spl_allocator_of(NULL);
    int32_t held[54];
    bool crossing[4];
    blocks_make(&b, 2, 2, 0.5, &a, 1);
    hold(&b, held);
    blocks_move(&b, 1, spl_v3(-0.7, 0.0317, 0.0171));
    b.solid.drive.rest = b.x;
    REQUIRE(spl_held_create(&b.solid, held, 2, b.pool, &h, NULL) == SUPPLE_OK);
    CHECK(spl_held_crossings(&h, b.x, crossing, b.pool) == 0);
    CHECK(h.rest[1] && h.rest[2]);
    spl_held_release(&h);
    blocks_free(&b);
}

TEST(every_allocation_may_fail)
{
    blocks b;
    int32_t held[54];
    supple_allocator plain = spl_allocator_of(NULL);
    blocks_make(&b, 2, 2, 0.5, &plain, 1);
    hold(&b, held);
    long n = 0;
    for (bool ended = false; !ended && n < 200; n++) {
        failing f = {.fail_at = n};
        spl_held h;
        b.solid.allocator = failing_allocator(&f);
        supple_result result = spl_held_create(&b.solid, held, 2, NULL, &h, NULL);
        ended = f.requests <= n;
        CHECK(result == (ended ? SUPPLE_OK : SUPPLE_ERROR_MEMORY));
        spl_held_release(&h);
        CHECK(f.live == 0);
    }
    CHECK(n > 5 && n < 200);
    blocks_free(&b);
}

TEST_CASES(RUN(bones_whose_flesh_crosses_are_found), RUN(what_crosses_at_rest_is_not_told),
           RUN(every_allocation_may_fail))
