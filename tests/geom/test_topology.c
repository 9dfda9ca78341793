#include "core/memory.h"
#include "failing.h"
#include "geom/topology.h"
#include "test.h"

static const int32_t tetrahedron[] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};

static spl_topology make(const int32_t *triangle, int32_t count)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_topology t;
    CHECK(spl_topology_make(triangle, count, &a, &t, NULL) == SUPPLE_OK);
    return t;
}

TEST(a_tetrahedron_is_closed)
{
    spl_topology t = make(tetrahedron, 4);
    CHECK(t.components == 1 && t.closed_components == 1 && t.border_edges == 0 && t.nonmanifold_edges == 0);
    spl_topology_release(&t);
}

TEST(a_missing_face_leaves_a_border)
{
    spl_topology t = make(tetrahedron, 3);
    CHECK(t.components == 1 && t.closed_components == 0 && t.border_edges == 3);
    /* The border runs as its triangles do: from 2 to 0 is an edge of the missing face turned round. */
    int32_t sum = 0;
    for (int i = 0; i < 6; i++) sum += t.border[i];
    CHECK(sum == 2 * (0 + 2 + 3));
    spl_topology_release(&t);
}

TEST(degenerate_and_duplicate_triangles_are_left_out)
{
    int32_t triangle[18];
    memcpy(triangle, tetrahedron, sizeof tetrahedron);
    memcpy(triangle + 12, (int32_t[]){1, 1, 2, 3, 2, 1}, 6 * sizeof(int32_t));
    spl_topology t = make(triangle, 6);
    CHECK(t.degenerate_triangles == 1 && t.duplicate_triangles == 1 && t.closed_components == 1 && t.border_edges == 0);
    CHECK(t.component[4] == -1 && t.component[5] == -1 && t.component[2] == 0);
    spl_topology_release(&t);
}

TEST(a_fin_is_not_manifold)
{
    int32_t triangle[15];
    memcpy(triangle, tetrahedron, sizeof tetrahedron);
    memcpy(triangle + 12, (int32_t[]){0, 1, 4}, 3 * sizeof(int32_t));
    spl_topology t = make(triangle, 5);
    CHECK(t.nonmanifold_edges == 1 && t.border_edges == 2 && t.components == 1 && t.closed_components == 0);
    spl_topology_release(&t);
}

TEST(components_are_numbered_by_first_triangle)
{
    const int32_t triangle[] = {10, 11, 12, 0, 2, 1, 20, 21, 22, 0, 1, 3, 1, 2, 3, 2, 0, 3, 12, 11, 13};
    spl_topology t = make(triangle, 7);
    const int32_t expected[] = {0, 1, 2, 1, 1, 1, 0};
    CHECK(memcmp(t.component, expected, sizeof expected) == 0);
    CHECK(t.components == 3 && t.closed_components == 1 && t.component_closed[1]);
    spl_topology_release(&t);
}

TEST(failing_allocations_are_errors)
{
    for (long n = 0; n < 7; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_topology t;
        CHECK(spl_topology_make(tetrahedron, 4, &a, &t, NULL) == SUPPLE_ERROR_MEMORY);
        CHECK(f.live == 0);
    }
}

TEST_CASES(RUN(a_tetrahedron_is_closed), RUN(a_missing_face_leaves_a_border),
           RUN(degenerate_and_duplicate_triangles_are_left_out), RUN(a_fin_is_not_manifold),
           RUN(components_are_numbered_by_first_triangle), RUN(failing_allocations_are_errors))
