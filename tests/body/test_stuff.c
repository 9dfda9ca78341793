#include "bodies.h"
#include "body/stuff.h"
#include "failing.h"
#include "test.h"

/* Stuffs a surface as it is, without growth. */
typedef struct stuffed {
    spl_surface surface;
    spl_tets tets;
    spl_place *place;
    spl_stuff_report report;
    supple_result result;
    supple_error error;
} stuffed;

static stuffed stuff_shape(const shape *s, double cell, double growth, size_t limit)
{
    supple_allocator a = spl_allocator_of(NULL);
    stuffed out = {.surface = shape_surface(s)};
    spl_tree tree;
    spl_winding winding;
    if (spl_tree_make(out.surface.position, out.surface.triangle, out.surface.triangle_count, &a, &tree, NULL)) abort();
    if (spl_winding_make(&tree, &a, &winding, NULL)) abort();
    double *by_vertex = calloc((size_t)out.surface.vertex_count, sizeof *by_vertex);
    for (int32_t i = 0; i < out.surface.vertex_count; i++) by_vertex[i] = growth;
    spl_stuff_input in = {.surface = &out.surface,
                          .tree = &tree,
                          .winding = &winding,
                          .growth = growth > 0 ? by_vertex : NULL,
                          .thickness = 4 * cell,
                          .cell = cell,
                          .point_limit = limit,
                          .allocator = &a};
    out.result = spl_stuff(&in, &out.tets, &out.place, &out.report, &out.error);
    free(by_vertex);
    spl_winding_release(&winding);
    spl_tree_release(&tree);
    return out;
}

static void stuffed_free(stuffed *s)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_surface_release(&s->surface);
    spl_tets_release(&s->tets);
    spl_free(&a, s->place);
}

/* Conforming, positive, within the bounds of the angles, in so many pieces. */
static void check_sound(stuffed *s, int32_t components)
{
    supple_error error;
    spl_tets_report report;
    spl_tets_shape q = spl_tets_quality(&s->tets);
    CHECK(q.inverted_count == 0);
    CHECK(q.min_dihedral > 10 && q.max_dihedral < 160);
    CHECK(spl_tets_check(&s->tets, "stuffed", &report, &error) == SUPPLE_OK);
    CHECK(report.reoriented == 0 && report.unused_vertices == 0);
    CHECK(report.component_count == components);
}

TEST(a_sphere_converges_in_second_order)
{
    shape s = shape_sphere(64, 1);
    double error[3];
    for (int i = 0; i < 3; i++) {
        stuffed b = stuff_shape(&s, 0.4 / (1 << i), 0, 10000000);
        REQUIRE(b.result == SUPPLE_OK);
        check_sound(&b, 1);
        error[i] = fabs(spl_tets_quality(&b.tets).volume / b.surface.volume[0] - 1);
        stuffed_free(&b);
    }
    CHECK(error[0] < 0.1);
    CHECK(error[1] < error[0] / 3 && error[2] < error[1] / 3);
    shape_free(&s);
}

TEST(closed_forms_hold)
{
    double pi = shape_pi;
    shape shapes[] = {shape_box(4, 1, 1, 1), shape_torus(48, 1, 0.4), shape_box(8, 2, 2, 0.3)};
    double volume[] = {1, 2 * pi * pi * 0.16, 1.2}, cell[] = {0.1, 0.1, 0.1};
    for (int i = 0; i < 3; i++) {
        double q[4] = {0.1, 0.2, 0.3, 0.9};
        shape_move(&shapes[i], q, 1, spl_v3(0.013, 0.027, 0.041));
        stuffed b = stuff_shape(&shapes[i], cell[i], 0, 10000000);
        REQUIRE(b.result == SUPPLE_OK);
        check_sound(&b, 1);
        CHECK_NEAR(spl_tets_quality(&b.tets).volume / volume[i], 1, 0.03);
        for (int32_t v = 0; v < b.tets.vertex_count; v++) /* places are near: none is of another limb */
            if (b.place[v].triangle >= 0)
                CHECK(spl_distance(spl_surface_point(&b.surface, &b.place[v]), b.tets.position[v]) < 2 * cell[i]);
        stuffed_free(&b);
        shape_free(&shapes[i]);
    }
}

/* A cone: parameter radius, height; closed by a disc (v below one half). */
static spl_vec3 at_cone(double u, double v, const double *p)
{
    double a = 2 * shape_pi * (u == 1 ? 0 : u), r = v <= 0.5 ? 2 * v : 2 - 2 * v;
    r = v == 0 || v == 1 ? 0 : r;
    return spl_v3(p[0] * r * cos(a), p[0] * r * sin(a), v <= 0.5 ? 0 : p[1] * (2 * v - 1));
}

TEST(a_cone_keeps_its_volume)
{
    shape s = shape_grid(64, 32, at_cone, (double[]){0.8, 2});
    stuffed b = stuff_shape(&s, 0.08, 0, 10000000);
    REQUIRE(b.result == SUPPLE_OK);
    check_sound(&b, 1);
    CHECK_NEAR(spl_tets_quality(&b.tets).volume / (shape_pi * 0.64 * 2 / 3), 1, 0.03);
    stuffed_free(&b);
    shape_free(&s);
}

TEST(growth_moves_the_surface_out)
{
    shape s = shape_sphere(48, 1);
    stuffed b = stuff_shape(&s, 0.12, 0.2, 10000000);
    REQUIRE(b.result == SUPPLE_OK);
    check_sound(&b, 1);
    CHECK_NEAR(spl_tets_quality(&b.tets).volume / (4.0 / 3 * shape_pi * 1.728), 1, 0.03);
    stuffed_free(&b);
    shape_free(&s);
}

TEST(spheres_that_nearly_touch_stay_apart)
{
    shape s = shape_sphere(24, 1), other = shape_sphere(24, 1);
    shape_join(&s, &other, spl_v3(2.03, 0.02, 0.01));
    for (int grown = 0; grown < 2; grown++) { /* grown into each other, too */
        stuffed b = stuff_shape(&s, 0.17, grown ? 0.1 : 0, 10000000);
        REQUIRE(b.result == SUPPLE_OK);
        check_sound(&b, 2);
        if (grown) CHECK(b.report.doubled > 0);
        stuffed_free(&b);
    }
    shape_free(&s);
    shape_free(&other);
}

TEST(spheres_that_overlap_are_one)
{
    shape s = shape_sphere(24, 1), other = shape_sphere(24, 1);
    shape_join(&s, &other, spl_v3(1.2, 0.02, 0.01));
    stuffed b = stuff_shape(&s, 0.1, 0, 10000000);
    REQUIRE(b.result == SUPPLE_OK);
    check_sound(&b, 1);
    double d = sqrt(1.44 + 0.0005), lens = shape_pi * (4 + d) * (2 - d) * (2 - d) / 12;
    CHECK_NEAR(spl_tets_quality(&b.tets).volume / (8 * shape_pi / 3 - lens), 1, 0.03);
    stuffed_free(&b);
    shape_free(&s);
    shape_free(&other);
}

TEST(small_holes_do_not_matter)
{
    shape s = shape_grid(48, 24, shape_at_sphere, (double[]){1, 0.92}); /* without its lowest cap */
    stuffed b = stuff_shape(&s, 0.12, 0, 10000000);
    REQUIRE(b.result == SUPPLE_OK);
    CHECK(b.surface.border_edges > 0);
    check_sound(&b, 1);
    CHECK_NEAR(spl_tets_quality(&b.tets).volume / (4 * shape_pi / 3), 1, 0.04);
    stuffed_free(&b);
    shape_free(&s);
}

TEST(lattices_too_fine_or_too_coarse_are_errors)
{
    shape s = shape_sphere(8, 1);
    stuffed b = stuff_shape(&s, 0.05, 0, 10000);
    CHECK(b.result == SUPPLE_ERROR_ARGUMENT && strstr(b.error.message, "--resolution"));
    stuffed_free(&b);
    shape_free(&s);
    s = shape_box(1, 1, 1, 1e-3);
    shape_move(&s, (double[4]){0, 0, 0, 1}, 1, spl_v3(0.05, 0.05, 0.05));
    b = stuff_shape(&s, 0.2, 0, 1000000);
    CHECK(b.result == SUPPLE_ERROR_INPUT && strstr(b.error.message, "inside"));
    CHECK(b.tets.tet_count == 0 && !b.tets.tet && !b.place);
    stuffed_free(&b);
    shape_free(&s);
}

TEST_CASES(RUN(a_sphere_converges_in_second_order), RUN(closed_forms_hold), RUN(a_cone_keeps_its_volume),
           RUN(growth_moves_the_surface_out), RUN(spheres_that_nearly_touch_stay_apart),
           RUN(spheres_that_overlap_are_one), RUN(small_holes_do_not_matter),
           RUN(lattices_too_fine_or_too_coarse_are_errors))
