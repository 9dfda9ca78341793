#include "failing.h"
#include "shapes.h"
#include "test.h"

TEST(a_box_with_split_vertices_is_welded_and_closed)
{
    shape box = shape_box(3, 1, 2, 3);
    spl_surface s = shape_surface(&box);
    CHECK(s.vertex_count == 6 * 9 + 2 && s.triangle_count == 108); /* Euler: V = F / 2 + 2 */
    CHECK(s.component_count == 1 && s.closed_components == 1 && s.closed[0] && s.border_edges == 0);
    CHECK(s.flipped_triangles == 0);
    CHECK_NEAR(s.volume[0], 6, 1e-12);
    CHECK_NEAR(s.area[0], 22, 1e-12);
    CHECK_NEAR(s.diagonal, sqrt(14), 1e-12);
    for (int32_t i = 0; i < box.vertex_count; i++) { /* the map leads to the same place */
        const double *p = box.position + 3 * i;
        CHECK_NEAR(spl_distance(spl_v3(p[0], p[1], p[2]), s.position[s.map[i]]), 0, 1e-5);
    }
    spl_surface_release(&s);
    shape_free(&box);
}

TEST(neighbours_and_links_agree_with_the_triangles)
{
    shape torus = shape_torus(12, 2, 0.5);
    spl_surface s = shape_surface(&torus);
    CHECK(s.vertex_count == 24 * 12 && s.triangle_count == 2 * s.vertex_count); /* genus 1 */
    for (int32_t c = 0; c < 3 * s.triangle_count; c++) {
        int32_t a = s.triangle[c], b = s.triangle[c % 3 == 2 ? c - 2 : c + 1], other = s.across[c], found = 0;
        REQUIRE(other >= 0);
        for (int k = 0; k < 3; k++) /* runs the edge the other way */
            found += s.triangle[3 * other + k] == b && s.triangle[3 * other + (k + 1) % 3] == a;
        CHECK(found == 1);
        int linked = 0;
        for (int32_t i = s.link_first[a]; i < s.link_first[a + 1]; i++) linked += s.link[i] == b;
        CHECK(linked == 1);
    }
    CHECK(s.link_first[s.vertex_count] == 3 * s.triangle_count); /* twice the edges */
    for (int32_t v = 0; v < s.vertex_count; v++)
        for (int32_t i = s.corner_first[v]; i < s.corner_first[v + 1]; i++) CHECK(s.triangle[s.corner[i]] == v);
    spl_surface_release(&s);
    shape_free(&torus);
}

/* Every way of turning triangles of a closed surface ends in the same outward orientation. */
TEST(orientation_is_repaired)
{
    shape sphere = shape_sphere(8, 1);
    spl_surface good = shape_surface(&sphere);
    CHECK(good.flipped_triangles == 0);
    for (int round = 0; round < 3; round++) {
        shape bad = shape_sphere(8, 1);
        int32_t turned = 0;
        for (int32_t t = 0; t < bad.triangle_count; t++) {
            if (round == 0 || (round == 1 ? t % 3 == 0 : rand() % 2)) {
                int32_t c = bad.triangle[3 * t + 1];
                bad.triangle[3 * t + 1] = bad.triangle[3 * t + 2];
                bad.triangle[3 * t + 2] = c;
                const int32_t *v = bad.triangle + 3 * t;
                turned += good.map[v[0]] != good.map[v[1]] && good.map[v[1]] != good.map[v[2]] &&
                          good.map[v[2]] != good.map[v[0]];
            }
        }
        spl_surface s = shape_surface(&bad);
        CHECK(s.flipped_triangles == turned);
        CHECK_NEAR(s.volume[0], good.volume[0], 1e-12);
        for (int32_t t = 0; t < s.triangle_count; t++) CHECK_NEAR(spl_distance(s.face[t], good.face[t]), 0, 1e-12);
        for (int32_t v = 0; v < s.vertex_count; v++) CHECK(spl_dot(s.normal[v], s.position[v]) > 0.97);
        spl_surface_release(&s);
        shape_free(&bad);
    }
    spl_surface_release(&good);
    shape_free(&sphere);
}

TEST(an_open_tube_turned_inside_out_is_turned_back_and_a_sheet_is_not)
{
    shape tube = shape_grid(16, 10, shape_at_tube, (double[]){1, 4});
    shape sheet = shape_grid(5, 5, shape_at_plane, (double[]){1, 1});
    for (int32_t t = 0; t < tube.triangle_count; t++) {
        int32_t c = tube.triangle[3 * t + 1];
        tube.triangle[3 * t + 1] = tube.triangle[3 * t + 2];
        tube.triangle[3 * t + 2] = c;
    }
    spl_surface s = shape_surface(&tube), flat = shape_surface(&sheet);
    CHECK(s.flipped_triangles == s.triangle_count && s.closed_components == 0 && s.border_edges == 32);
    CHECK(flat.flipped_triangles == 0 && flat.border_edges == 20);
    spl_surface_release(&s);
    spl_surface_release(&flat);
    shape_free(&tube);
    shape_free(&sheet);
}

TEST(degenerate_and_duplicate_triangles_go_and_so_do_loose_vertices)
{
    const double p[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 5, 5, 5, 1e-9, 0, 0};
    const int32_t t[] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3, 5, 3, 2, 0, 5, 1};
    supple_allocator a = spl_allocator_of(NULL);
    spl_surface s;
    REQUIRE(spl_surface_make(p, 6, t, 6, &a, &s, NULL) == SUPPLE_OK);
    CHECK(s.vertex_count == 4 && s.triangle_count == 4 && s.degenerate_triangles == 1 && s.duplicate_triangles == 1);
    CHECK(s.map[4] == -1 && s.map[5] == 0 && s.closed_components == 1);
    spl_surface_release(&s);
}

TEST(nothing_and_bad_numbers)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_surface s;
    const double p[] = {0, 0, 0, 1, 0, 0, 0, NAN, 0};
    const double q[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    supple_error error;
    REQUIRE(spl_surface_make(NULL, 0, NULL, 0, &a, &s, NULL) == SUPPLE_OK);
    CHECK(s.vertex_count == 0 && s.triangle_count == 0 && s.diagonal == 0);
    spl_surface_release(&s);
    CHECK(spl_surface_make(p, 3, (int32_t[]){0, 1, 2}, 1, &a, &s, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(strstr(error.message, "vertex 2") && s.position == NULL);
    CHECK(spl_surface_make(q, 3, (int32_t[]){0, 1, 3}, 1, &a, &s, &error) == SUPPLE_ERROR_ARGUMENT);
    REQUIRE(spl_surface_make(q, 3, (int32_t[]){0, 1, 2}, 1, &a, &s, NULL) == SUPPLE_OK);
    CHECK(s.triangle_count == 1 && s.border_edges == 3);
    CHECK_NEAR(s.face[0].z, 1, 0);
    spl_surface_release(&s);
}

TEST(a_moebius_strip_is_reported)
{
    enum { N = 12 };
    double p[6 * N];
    int32_t t[6 * N];
    for (int i = 0; i < N; i++) {
        double a = 2 * shape_pi * i / N;
        for (int side = 0; side < 2; side++) {
            double w = side ? 0.3 : -0.3, r = 1 + w * cos(a / 2);
            p[6 * i + 3 * side] = r * cos(a);
            p[6 * i + 3 * side + 1] = r * sin(a);
            p[6 * i + 3 * side + 2] = w * sin(a / 2);
        }
        bool last = i == N - 1;
        int32_t b = 2 * i, c = last ? 1 : b + 2, d = last ? 0 : b + 3;
        memcpy(t + 6 * i, (int32_t[]){b, b + 1, d, b, d, c}, 6 * sizeof *t);
    }
    supple_allocator a = spl_allocator_of(NULL);
    spl_surface s;
    REQUIRE(spl_surface_make(p, 2 * N, t, 2 * N, &a, &s, NULL) == SUPPLE_OK);
    CHECK(s.twisted_edges == 1 && s.component_count == 1);
    spl_surface_release(&s);
}

TEST(scale_and_place_do_not_matter)
{
    shape torus = shape_torus(10, 2, 0.5);
    spl_surface s = shape_surface(&torus);
    for (double size = 1e-3; size < 2e3; size *= 1e3) {
        shape other = shape_torus(10, 2, 0.5);
        for (int32_t i = 0; i < 3 * other.vertex_count; i++)
            other.position[i] = size * (other.position[i] + (i % 3 == 1 ? 1e3 : 0));
        spl_surface o = shape_surface(&other);
        CHECK(o.vertex_count == s.vertex_count && o.flipped_triangles == s.flipped_triangles);
        CHECK_NEAR(o.volume[0] / (size * size * size), s.volume[0], 1e-9);
        spl_surface_release(&o);
        shape_free(&other);
    }
    spl_surface_release(&s);
    shape_free(&torus);
}

TEST(failing_allocations_are_errors)
{
    shape box = shape_box(1, 1, 1, 1);
    long n = 0;
    for (supple_result r = SUPPLE_ERROR_MEMORY; r != SUPPLE_OK; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_surface s;
        r = spl_surface_make(box.position, box.vertex_count, box.triangle, box.triangle_count, &a, &s, NULL);
        CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
        if (r == SUPPLE_OK) spl_surface_release(&s);
        CHECK(f.live == 0);
    }
    CHECK(n > 20);
    shape_free(&box);
}

TEST_CASES(RUN(a_box_with_split_vertices_is_welded_and_closed), RUN(neighbours_and_links_agree_with_the_triangles),
           RUN(orientation_is_repaired), RUN(an_open_tube_turned_inside_out_is_turned_back_and_a_sheet_is_not),
           RUN(degenerate_and_duplicate_triangles_go_and_so_do_loose_vertices), RUN(nothing_and_bad_numbers),
           RUN(a_moebius_strip_is_reported), RUN(scale_and_place_do_not_matter), RUN(failing_allocations_are_errors))
