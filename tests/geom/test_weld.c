#include "core/memory.h"
#include "failing.h"
#include "geom/weld.h"
#include "test.h"

TEST(equal_positions_become_one)
{
    const float p[] = {0, 0, 0, 1, 0, 0, 0, -0.0f, 0, 1, 0, 0, 1, 0, 1e-7f};
    supple_allocator a = spl_allocator_of(NULL);
    int32_t map[5], count;
    REQUIRE(spl_weld(p, 5, 0, &a, map, &count, NULL) == SUPPLE_OK);
    CHECK(count == 3 && map[0] == 0 && map[1] == 1 && map[2] == 0 && map[3] == 1 && map[4] == 2);
    REQUIRE(spl_weld(p, 5, 1e-6, &a, map, &count, NULL) == SUPPLE_OK);
    CHECK(count == 2 && map[4] == 1);
    REQUIRE(spl_weld(p, 0, 0, &a, map, &count, NULL) == SUPPLE_OK);
    CHECK(count == 0);
}

enum { N = 600 };

/* Against the plain double loop: the lowest first occurrence within the tolerance. */
TEST(a_random_cloud_equals_brute_force)
{
    static float p[3 * N];
    static int32_t map[N], slow[N], first[N];
    supple_allocator a = spl_allocator_of(NULL);
    for (int round = 0; round < 4; round++) {
        double tolerance = round == 0 ? 0 : 0.02 * round;
        for (int i = 0; i < 3 * N; i++) p[i] = (float)(rand() % 40) * 0.025f - 0.5f;
        int32_t count, expected = 0;
        REQUIRE(spl_weld(p, N, tolerance, &a, map, &count, NULL) == SUPPLE_OK);
        for (int i = 0; i < N; i++) {
            slow[i] = -1;
            for (int k = 0; k < expected && slow[i] < 0; k++) {
                double d = 0;
                for (int c = 0; c < 3; c++) d += pow((double)p[3 * i + c] - (double)p[3 * first[k] + c], 2);
                if (sqrt(d) <= tolerance) slow[i] = k;
            }
            if (slow[i] < 0) {
                first[expected] = i;
                slow[i] = expected++;
            }
        }
        CHECK(count == expected && memcmp(map, slow, sizeof map) == 0);
    }
}

TEST(huge_coordinates_do_not_overflow)
{
    const float p[] = {3e38f, -3e38f, 3e38f, 3e38f, -3e38f, 3e38f, 1, 1, 1};
    supple_allocator a = spl_allocator_of(NULL);
    int32_t map[3], count;
    REQUIRE(spl_weld(p, 3, 1e-6, &a, map, &count, NULL) == SUPPLE_OK);
    CHECK(count == 2 && map[1] == 0 && map[2] == 1);
}

TEST(failing_allocations_are_errors)
{
    const float p[] = {0, 0, 0, 1, 1, 1};
    int32_t map[2], count;
    for (long n = 0; n < 3; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        CHECK(spl_weld(p, 2, 0, &a, map, &count, NULL) == SUPPLE_ERROR_MEMORY);
        CHECK(f.live == 0);
    }
}

TEST_CASES(RUN(equal_positions_become_one), RUN(a_random_cloud_equals_brute_force),
           RUN(huge_coordinates_do_not_overflow), RUN(failing_allocations_are_errors))
