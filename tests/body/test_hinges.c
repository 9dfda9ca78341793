#include "body/hinges.h"
#include "core/memory.h"
#include "failing.h"
#include "test.h"

/* Three tetrahedra in a chain: the second hangs on an edge of the first, the third on a vertex of the second. */
enum { VERTICES = 9, TETS = 3 };
static spl_vec3 position[VERTICES] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0},
                                      {1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}};
static int32_t tet[4 * TETS] = {0, 1, 2, 3, 1, 4, 2, 5, 5, 6, 7, 8};
static spl_place place[VERTICES];
static spl_bone bone_list[2] = {{.node = 0, .parent = -1, .head = {0, 0, 0}, .tail = {0.3, 0.3, 0.3}},
                                {.node = 1, .parent = 0, .head = {1.3, 1.3, 1.3}, .tail = {2, 2, 2}}};

static supple_result hold(int32_t *bone, int32_t bones, const supple_allocator *a, int32_t *held)
{
    spl_tets t = {VERTICES, TETS, 0, position, tet, NULL, *a};
    spl_bones b = {.bone = bone_list, .bone_count = bones};
    spl_attach_input in = {.tets = &t, .place = place, .bones = &b, .cell = 1, .allocator = a};
    for (int i = 0; i < VERTICES; i++) place[i] = (spl_place){-1, {0}};
    return spl_hinges_hold(&in, bone, held, NULL);
}

TEST(pieces_that_would_turn_are_held)
{
    supple_allocator a = spl_allocator_of(NULL);
    int32_t bone[VERTICES] = {0, 0, 0, -1, -1, -1, -1, -1, -1}, held;
    REQUIRE(hold(bone, 2, &a, &held) == SUPPLE_OK);
    /* The first is held at three corners. The second would turn about two of these, and gets one more. The third hangs
     * on one vertex of the second: two more make a triangle. Each takes the bone that is near. */
    CHECK(held == 3 && bone[3] == -1 && (bone[4] == 0) + (bone[5] == 0) == 1);
    CHECK((bone[6] == 1) + (bone[7] == 1) + (bone[8] == 1) == 2);
}

TEST(what_is_held_stays_as_it_is)
{
    supple_allocator a = spl_allocator_of(NULL);
    int32_t bone[VERTICES] = {0, 0, 0, 0, 1, -1, 1, 1, 1}, before[VERTICES], held;
    memcpy(before, bone, sizeof bone);
    REQUIRE(hold(bone, 2, &a, &held) == SUPPLE_OK);
    CHECK(held == 0 && memcmp(bone, before, sizeof bone) == 0);
    int32_t none[VERTICES];
    memset(none, -1, sizeof none);
    CHECK(hold(none, 0, &a, &held) == SUPPLE_OK && held == 0 && none[0] == -1); /* no bones, nothing to hold by */
}

TEST(failing_allocations_are_errors)
{
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        int32_t bone[VERTICES] = {0, 0, 0, -1, -1, -1, -1, -1, -1}, held;
        supple_result result = hold(bone, 2, &a, &held);
        CHECK(f.live == 0);
        if (f.requests <= n) break;
        CHECK(result == SUPPLE_ERROR_MEMORY);
    }
}

TEST_CASES(RUN(pieces_that_would_turn_are_held), RUN(what_is_held_stays_as_it_is), RUN(failing_allocations_are_errors))
