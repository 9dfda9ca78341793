#include "contact/obstacles.h"

#include "core/memory.h"
#include "failing.h"
#include "test.h"

static const double tetrahedron[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const int32_t faces[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2};

static spl_colliders *make_all(void)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_colliders *c = NULL;
    spl_collider_shape shape[3] = {
        {.kind = SPL_COLLIDER_SPHERE, .a = {1, 2, 3}, .radius = 0.5},
        {.kind = SPL_COLLIDER_CAPSULE, .a = {0, 0, 0}, .b = {2, 0, 0}, .radius = 0.1},
        {.kind = SPL_COLLIDER_PLANE, .a = {0, 1, 0}, .b = {0, 3, 0}},
    };
    spl_collider_mesh mesh = {
        .name = "m", .vertex_count = 4, .triangle_count = 4, .position = tetrahedron, .triangle = faces};
    if (spl_colliders_create(&a, &c, NULL) != SUPPLE_OK) abort();
    for (int i = 0; i < 3; i++)
        if (spl_colliders_add(c, &shape[i], NULL) != SUPPLE_OK) abort();
    if (spl_colliders_add_mesh(c, &mesh, NULL) != SUPPLE_OK) abort();
    return c;
}

TEST(each_kind_becomes_what_it_is)
{
    static const int32_t whose[10] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3};
    supple_allocator a = spl_allocator_of(NULL);
    spl_colliders *c = make_all();
    spl_obstacles o;
    REQUIRE(spl_obstacles_create(c, 2, &a, &o, NULL) == SUPPLE_OK);
    REQUIRE(o.vertex_count == 10 && o.edge_count == 1 + 1 + 6 && o.triangle_count == 1 + 4);
    CHECK(memcmp(o.collider, whose, sizeof whose) == 0);
    CHECK(o.position[0] == 1 && o.position[1] == 2 && o.position[2] == 3 && o.radius[0] == 0.5);
    CHECK(o.edge[0] == 0 && o.edge[1] == 0 && o.edge[2] == 1 && o.edge[3] == 2);
    CHECK(o.radius[1] == 0.1 && o.radius[2] == 0.1 && o.position[6] == 2);
    double sum = 0;
    for (int v = 3; v < 6; v++) { /* in the plane, around its place, far away */
        const double *p = o.position + 3 * v;
        CHECK_NEAR(p[1], 1, 1e-9);
        CHECK(sqrt(p[0] * p[0] + p[2] * p[2]) > 1000);
        sum += p[0] + p[2];
        CHECK(o.radius[v] == 0);
    }
    CHECK_NEAR(sum, 0, 1e-6);
    CHECK(o.triangle[0] == 3 && o.triangle[1] == 4 && o.triangle[2] == 5);
    for (int i = 3; i < 15; i++) CHECK(o.triangle[i] >= 6 && o.triangle[i] < 10);
    for (int i = 4; i < 16; i++) CHECK(o.edge[i] >= 6 && o.edge[i] < 10);
    spl_collider_shape moved = {.kind = SPL_COLLIDER_SPHERE, .a = {7, 8, 9}, .radius = 0.5};
    spl_colliders_place(c, 0, &moved);
    spl_obstacles_place(&o, c, 2);
    CHECK(o.position[0] == 7 && o.position[6] == 2);
    spl_obstacles_release(&o);
    REQUIRE(spl_obstacles_create(NULL, 2, &a, &o, NULL) == SUPPLE_OK);
    CHECK(o.vertex_count == 0 && o.edge_count == 0 && o.triangle_count == 0);
    spl_obstacles_release(&o);
    spl_colliders_destroy(c);
}

TEST(every_allocation_may_fail)
{
    spl_colliders *c = make_all();
    long n = 0;
    for (bool ended = false; !ended && n < 100; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_obstacles o;
        supple_result result = spl_obstacles_create(c, 2, &a, &o, NULL);
        ended = f.requests <= n;
        CHECK(result == (ended ? SUPPLE_OK : SUPPLE_ERROR_MEMORY));
        spl_obstacles_release(&o);
        CHECK(f.live == 0);
    }
    CHECK(n > 5 && n < 100);
    spl_colliders_destroy(c);
}

TEST_CASES(RUN(each_kind_becomes_what_it_is), RUN(every_allocation_may_fail))
