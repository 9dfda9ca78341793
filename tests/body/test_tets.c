#include "body/tets.h"

#include "core/memory.h"
#include "failing.h"
#include "test.h"

/* A block of nx x ny x nz cubes, each cut into six tets around its diagonal (Kuhn): conforming. */
static bool make_block(spl_tets *tets, int nx, int ny, int nz, const supple_allocator *a)
{
    static const uint8_t path[6][2] = {{1, 3}, {1, 5}, {2, 3}, {2, 6}, {4, 5}, {4, 6}}; /* bits of x, y, z */
    if (!spl_tets_create(tets, (nx + 1) * (ny + 1) * (nz + 1), 6 * nx * ny * nz, a)) return false;
    for (int i = 0; i < tets->vertex_count; i++)
        tets->position[i] = spl_v3(i % (nx + 1), i / (nx + 1) % (ny + 1), i / (nx + 1) / (ny + 1));
    int32_t *v = tets->tet;
    for (int c = 0; c < nx * ny * nz; c++) {
        int x = c % nx, y = c / nx % ny, z = c / nx / ny;
        for (int p = 0; p < 6; p++) {
            int corner[4] = {0, path[p][0], path[p][1], 7};
            for (int k = 0; k < 4; k++) {
                int b = corner[k];
                *v++ = (x + (b & 1)) + (nx + 1) * ((y + (b >> 1 & 1)) + (ny + 1) * (z + (b >> 2)));
            }
        }
    }
    return true;
}

static spl_tets block(int nx, int ny, int nz)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets tets;
    if (!make_block(&tets, nx, ny, nz, &a)) abort();
    return tets;
}

/* Six times the volume under the surface, by the divergence theorem: positive if it is closed and outward. */
static double surface_volume(const spl_tets *tets)
{
    double sum = 0;
    for (int32_t i = 0; i < tets->surface_count; i++) {
        const int32_t *v = tets->surface + 3 * i;
        sum += spl_dot(spl_cross(tets->position[v[0]], tets->position[v[1]]), tets->position[v[2]]);
    }
    return sum / 6;
}

TEST(a_block_is_oriented_and_its_surface_is_closed)
{
    spl_tets tets = block(4, 3, 2);
    spl_tets_report report;
    REQUIRE(spl_tets_check(&tets, "block", &report, NULL) == SUPPLE_OK);
    CHECK(report.reoriented == 3 * 24); /* half of the six paths are mirrored */
    CHECK(report.unused_vertices == 0 && report.component_count == 1);
    REQUIRE(spl_tets_find_surface(&tets, NULL) == SUPPLE_OK);
    CHECK(tets.surface_count == 2 * 2 * (4 * 3 + 3 * 2 + 4 * 2));
    CHECK_NEAR(surface_volume(&tets), 24, 1e-12);
    spl_tets_shape shape = spl_tets_quality(&tets);
    CHECK_NEAR(shape.volume, 24, 1e-12);
    CHECK_NEAR(shape.min_volume, 1.0 / 6, 1e-15);
    CHECK_NEAR(shape.min_dihedral, 45, 1e-9);
    CHECK_NEAR(shape.max_dihedral, 90, 1e-9);
    CHECK_NEAR(shape.min_edge, 1, 0);
    CHECK_NEAR(shape.max_edge, sqrt(3), 1e-15);
    CHECK_NEAR(shape.mean_edge, (3 + 2 * sqrt(2) + sqrt(3)) / 6, 1e-12);
    CHECK(shape.inverted_count == 0);
    /* Kuhn's tet has the angles 45 45 60 90 90 90; roundoff may put each on either side of its bin's edge. */
    const int64_t *h = shape.dihedral_histogram;
    CHECK(h[4] == 2 * 144 && h[5] + h[6] == 144 && h[8] + h[9] == 3 * 144);
    spl_tets_release(&tets);
}

TEST(a_regular_tet_has_its_angles)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets tets;
    REQUIRE(spl_tets_create(&tets, 4, 1, &a));
    const double x[4][3] = {{1, 1, 1}, {-1, 1, -1}, {1, -1, -1}, {-1, -1, 1}};
    for (int i = 0; i < 4; i++) {
        tets.position[i] = spl_v3(x[i][0], x[i][1], x[i][2]);
        tets.tet[i] = i;
    }
    REQUIRE(spl_tets_check(&tets, "one", NULL, NULL) == SUPPLE_OK);
    spl_tets_shape shape = spl_tets_quality(&tets);
    CHECK_NEAR(shape.min_dihedral, acos(1.0 / 3) * 180 / acos(-1), 1e-12);
    CHECK_NEAR(shape.max_dihedral, shape.min_dihedral, 1e-12);
    CHECK_NEAR(shape.volume, 8.0 / 3, 1e-14);
    CHECK(shape.dihedral_histogram[7] == 6);
    CHECK_NEAR(shape.mean_edge, sqrt(8), 1e-15);
    spl_tets_release(&tets);
}

/* Checks a changed block; the message must hold `want`. */
static void refused(spl_tets *tets, const char *want)
{
    supple_error error = {0};
    CHECK(spl_tets_check(tets, "f", NULL, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, want));
    if (!strstr(error.message, want)) printf("    '%s' is not '%s'\n", error.message, want);
    spl_tets_release(tets);
}

TEST(bad_tets_are_refused_by_number)
{
    spl_tets tets = block(2, 2, 2);
    tets.tet[4 * 6 + 2] = 27;
    refused(&tets, "tet 7: vertex 28 is not between 1 and 27");
    tets = block(2, 2, 2);
    tets.tet[4 * 6 + 2] = -1;
    refused(&tets, "tet 7: vertex 0 ");
    tets = block(2, 2, 2);
    tets.tet[5] = tets.tet[4];
    refused(&tets, "tet 2 uses vertex 1 twice");
    tets = block(2, 2, 2);
    tets.position[13].y = NAN;
    refused(&tets, "vertex 14");
    tets = block(2, 2, 2);
    tets.position[13].y = 1e200;
    refused(&tets, "vertex 14");
    tets = block(1, 1, 1);
    tets.position[1] = spl_v3(0, 0.5, 0); /* flattens the tets that use corner 1 */
    refused(&tets, "is flat");
    tets = block(2, 1, 1);
    const int32_t again[4] = {tets.tet[2], tets.tet[0], tets.tet[3], tets.tet[1]}; /* tet 1 in another order */
    memcpy(tets.tet + 4 * 11, again, sizeof again);
    refused(&tets, "tet 12 is tet 1 again");
    tets = block(2, 2, 2);
    tets.position[13] = spl_v3(-0.5, 1, 1); /* the middle vertex pulled out through a side */
    refused(&tets, "one of them is inverted");
    tets = block(1, 1, 1);
    tets.tet_count = 0;
    refused(&tets, "no tetrahedra");
}

TEST(three_tets_on_a_face_are_refused)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets tets;
    REQUIRE(spl_tets_create(&tets, 6, 3, &a));
    const spl_vec3 x[6] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, -1}, {1, 1, 1}};
    const int32_t v[12] = {0, 1, 2, 3, 0, 1, 2, 4, 0, 1, 2, 5};
    memcpy(tets.position, x, sizeof x);
    memcpy(tets.tet, v, sizeof v);
    refused(&tets, "among 3 tets on one face");
}

TEST(unused_vertices_go_and_pieces_are_counted)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets tets;
    REQUIRE(spl_tets_create(&tets, 11, 2, &a));
    for (int i = 0; i < 2; i++) {
        int32_t *v = tets.tet + 4 * i;
        for (int k = 0; k < 4; k++) {
            v[k] = 1 + 5 * i + k;
            tets.position[v[k]] = spl_v3(10 * i + (k == 1), k == 2, k == 3);
        }
    }
    tets.position[0].x = 77; /* unused, like 5 and 10 */
    spl_tets_report report;
    REQUIRE(spl_tets_check(&tets, "two", &report, NULL) == SUPPLE_OK);
    CHECK(report.unused_vertices == 3 && report.component_count == 2 && tets.vertex_count == 8);
    CHECK(report.reoriented == 0 && tets.tet[4] == 4 && tets.position[4].x == 10);
    REQUIRE(spl_tets_find_surface(&tets, NULL) == SUPPLE_OK);
    CHECK(tets.surface_count == 8);
    CHECK_NEAR(surface_volume(&tets), 1.0 / 3, 1e-12);
    spl_tets_release(&tets);
}

TEST(failing_allocations_leave_nothing)
{
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_tets tets = {0};
        supple_error error = {0};
        bool ok = make_block(&tets, 2, 2, 1, &a);
        if (ok) {
            supple_result result = spl_tets_check(&tets, "block", NULL, &error);
            if (!result) result = spl_tets_find_surface(&tets, &error);
            CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && error.code == result));
            ok = !result;
        }
        spl_tets_release(&tets);
        CHECK(f.live == 0);
        if (ok) {
            CHECK(n > 8);
            break;
        }
    }
}

TEST_CASES(RUN(a_block_is_oriented_and_its_surface_is_closed), RUN(a_regular_tet_has_its_angles),
           RUN(bad_tets_are_refused_by_number), RUN(three_tets_on_a_face_are_refused),
           RUN(unused_vertices_go_and_pieces_are_counted), RUN(failing_allocations_leave_nothing))
