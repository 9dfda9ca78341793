/* Triangles of a polygon: as many as there must be, none turned over, together of the polygon's area. */
#include "test.h"
#include "triangulate.h"

static double check_polygon(const spl_vec3 *p, int32_t count)
{
    int32_t left[32], corner[96];
    int32_t triangles = import_triangulate(p, count, left, corner);
    CHECK(triangles == count - 2);
    double area = 0;
    for (int32_t t = 0; t < triangles; t++) {
        spl_vec3 a = p[corner[3 * t]], b = p[corner[3 * t + 1]], c = p[corner[3 * t + 2]];
        double z = spl_cross(spl_sub(b, a), spl_sub(c, a)).z;
        CHECK(z >= 0);
        area += z / 2;
    }
    return area;
}

TEST(convex_and_concave_polygons)
{
    const spl_vec3 square[] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    CHECK_NEAR(check_polygon(square, 4), 1, 1e-12);
    /* An arrow head: only one of the two diagonals lies inside. From each corner, so that the first fan is wrong too.
     */
    const spl_vec3 arrow[] = {{0, 0, 0}, {2, -1, 0}, {1, 0, 0}, {2, 1, 0}};
    for (int first = 0; first < 4; first++) {
        spl_vec3 turned[4];
        for (int i = 0; i < 4; i++) turned[i] = arrow[(first + i) % 4];
        CHECK_NEAR(check_polygon(turned, 4), 1, 1e-12);
    }
    const spl_vec3 comb[] = {{0, 0, 0}, {5, 0, 0}, {5, 3, 0}, {4, 3, 0}, {4, 1, 0}, {3, 1, 0},
                             {3, 3, 0}, {2, 3, 0}, {2, 1, 0}, {1, 1, 0}, {1, 3, 0}, {0, 3, 0}};
    CHECK_NEAR(check_polygon(comb, 12), 11, 1e-12);
}

TEST(odd_polygons_end)
{
    int32_t left[8], corner[24];
    const spl_vec3 same[6] = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
    CHECK(import_triangulate(same, 6, left, corner) == 4);
    CHECK(import_triangulate(same, 2, left, corner) == 0);
    const spl_vec3 bow[] = {{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0, 1, 0}};
    CHECK(import_triangulate(bow, 4, left, corner) == 2);
}

TEST_CASES(RUN(convex_and_concave_polygons), RUN(odd_polygons_end))
