#include "failing.h"
#include "geom/winding.h"
#include "shapes.h"
#include "test.h"

typedef struct world {
    spl_surface surface;
    spl_tree tree;
    spl_winding winding;
} world;

static void open_world(world *w, shape *s)
{
    supple_allocator a = spl_allocator_of(NULL);
    w->surface = shape_surface(s);
    shape_free(s);
    if (spl_tree_make(w->surface.position, w->surface.triangle, w->surface.triangle_count, &a, &w->tree, NULL) ||
        spl_winding_make(&w->tree, &a, &w->winding, NULL))
        abort();
}

static void close_world(world *w)
{
    spl_winding_release(&w->winding);
    spl_tree_release(&w->tree);
    spl_surface_release(&w->surface);
}

TEST(a_sphere_is_1_inside_and_0_outside)
{
    world w;
    shape s = shape_sphere(24, 1);
    open_world(&w, &s);
    for (int i = 0; i < 2000; i++) {
        spl_vec3 p = shape_random_point(1.5);
        double r = spl_norm(p);
        if (r > 0.99 && r < 1) continue; /* between the facets and the sphere */
        CHECK_NEAR(spl_winding_number(&w.winding, p), r < 1, 1e-3);
        CHECK_NEAR(spl_winding_exact(&w.tree, p), r < 1, 1e-9);
    }
    close_world(&w);
}

/* From the centre of the sphere, its part up to the polar angle theta covers (1 - cos theta) / 2 of the view; from a
 * point of the axis outside the solid angle is that of the rim's disc, seen from behind. */
TEST(an_open_cap_covers_its_solid_angle)
{
    for (double share = 0.25; share < 1; share += 0.25) {
        world w;
        double theta = share * shape_pi;
        shape s = shape_grid(200, 100, shape_at_sphere, (double[]){1, share});
        open_world(&w, &s);
        CHECK(w.surface.flipped_triangles == 0);
        CHECK_NEAR(spl_winding_number(&w.winding, spl_v3(0, 0, 0)), (1 - cos(theta)) / 2, 1.5e-3);
        for (double z = -3; z < cos(theta) - 0.05; z += 0.25) { /* below the rim: the disc and the cap look the same */
            double d = cos(theta) - z, disc = (1 - d / sqrt(d * d + sin(theta) * sin(theta))) / 2;
            if (z < -1 || z < cos(theta)) CHECK_NEAR(spl_winding_number(&w.winding, spl_v3(0, 0, z)), disc, 1.5e-3);
        }
        close_world(&w);
    }
}

TEST(parts_add_up)
{
    /* Two boxes that overlap: 2 in both. */
    shape a = shape_box(3, 1, 1, 1), b = shape_box(3, 1, 1, 1);
    shape both = shape_new(a.vertex_count * 2, a.triangle_count * 2);
    memcpy(both.position, a.position, 24 * (size_t)a.vertex_count);
    for (int32_t i = 0; i < 3 * b.vertex_count; i++)
        both.position[3 * a.vertex_count + i] = b.position[i] + (i % 3 == 0 ? 0.5 : 0.01);
    for (int32_t i = 0; i < 3 * a.triangle_count; i++) {
        both.triangle[i] = a.triangle[i];
        both.triangle[3 * a.triangle_count + i] = a.vertex_count + b.triangle[i];
    }
    shape_free(&a);
    shape_free(&b);
    world w;
    open_world(&w, &both);
    CHECK(w.surface.component_count == 2);
    CHECK_NEAR(spl_winding_number(&w.winding, spl_v3(0.25, 0.1, 0.1)), 2, 1e-3);
    CHECK_NEAR(spl_winding_number(&w.winding, spl_v3(-0.25, 0.1, 0.1)), 1, 1e-3);
    CHECK_NEAR(spl_winding_number(&w.winding, spl_v3(0.75, 0.1, 0.1)), 1, 1e-3);
    CHECK_NEAR(spl_winding_number(&w.winding, spl_v3(0.25, 0.1, 2)), 0, 1e-3);
    close_world(&w);
}

/* The exact sum shares the formula; here is another: the winding number by rays. Sharing nothing but the triangles. */
TEST(exact_sums_agree_with_crossing_rays)
{
    world w;
    shape s = shape_torus(16, 2, 0.5);
    open_world(&w, &s);
    for (int i = 0; i < 500; i++) {
        spl_vec3 p = spl_v3(2.6 * shape_random(), 2.6 * shape_random(), 0.6 * shape_random());
        int odd = spl_tree_ray_count(&w.tree, p, shape_random_point(1), INFINITY) % 2;
        CHECK_NEAR(spl_winding_exact(&w.tree, p), odd, 1e-9);
    }
    close_world(&w);
}

static double largest_error(const world *w, int count, double spread, int *disagree)
{
    double error = 0;
    const spl_surface *s = &w->surface;
    for (int i = 0; i < count; i++) {
        int32_t t = rand() % s->triangle_count;
        spl_vec3 p = spl_madd(s->position[s->triangle[3 * t]], shape_random_point(s->diagonal), spread);
        double exact = spl_winding_exact(&w->tree, p), fast = spl_winding_number(&w->winding, p);
        error = fmax(error, fabs(exact - fast));
        *disagree += (exact > 0.5) != (fast > 0.5) && fabs(exact - 0.5) > 1e-3;
    }
    return error;
}

TEST(soups_agree_with_the_exact_sum)
{
    shape soups[] = {shape_soup(1, 1), shape_soup(10, 0.3), shape_soup(1000, 0.3), shape_soup(3000, 0.05)};
    for (size_t k = 0; k < 4; k++) {
        world w;
        int disagree = 0;
        open_world(&w, &soups[k]);
        for (double spread = 1e-3; spread < 20; spread *= 10)
            CHECK_NEAR(largest_error(&w, 200, spread, &disagree), 0, 1e-3);
        CHECK(disagree == 0);
        close_world(&w);
    }
}

TEST(characters_agree_with_the_exact_sum)
{
    const char *names[] = {"person.glb", "quadruped.glb", "hand.glb", "parts.glb"};
    for (size_t k = 0; k < 4; k++) {
        shape c = shape_character(names[k]);
        world w;
        int disagree = 0;
        open_world(&w, &c);
        CHECK_NEAR(largest_error(&w, 300, 0.001, &disagree), 0, 1e-3);
        CHECK_NEAR(largest_error(&w, 300, 0.02, &disagree), 0, 1e-3);
        CHECK_NEAR(largest_error(&w, 300, 0.5, &disagree), 0, 1e-3);
        CHECK(disagree == 0);
        close_world(&w);
    }
}

TEST(nothing_and_nowhere)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tree tree;
    spl_winding winding;
    REQUIRE(spl_tree_make(NULL, NULL, 0, &a, &tree, NULL) == SUPPLE_OK);
    REQUIRE(spl_winding_make(&tree, &a, &winding, NULL) == SUPPLE_OK);
    CHECK(spl_winding_number(&winding, spl_v3(0, 0, 0)) == 0);
    spl_winding_release(&winding);
    spl_tree_release(&tree);
    world w;
    shape s = shape_sphere(6, 1);
    open_world(&w, &s);
    CHECK(spl_winding_number(&w.winding, spl_v3(NAN, 0, 0)) == 0);
    CHECK(spl_winding_number(&w.winding, spl_v3(1e200, 0, 0)) == 0);
    for (int32_t v = 0; v < w.surface.vertex_count; v++) { /* on the surface: anything between the sides */
        double x = spl_winding_number(&w.winding, w.surface.position[v]);
        CHECK(x > -1e-3 && x < 1 + 1e-3);
    }
    close_world(&w);
}

TEST(scale_does_not_matter)
{
    world w;
    shape s = shape_torus(10, 2, 0.5);
    open_world(&w, &s);
    for (double size = 1e-3; size < 2e3; size *= 1e3) {
        shape t = shape_torus(10, 2, 0.5);
        for (int32_t i = 0; i < 3 * t.vertex_count; i++) t.position[i] *= size;
        world v;
        open_world(&v, &t);
        for (int i = 0; i < 100; i++) {
            spl_vec3 p = shape_random_point(3);
            double expected = spl_winding_exact(&w.tree, p); /* the trees may differ where centroids tie */
            CHECK_NEAR(spl_winding_number(&v.winding, spl_scale(p, size)), expected, 1e-3);
        }
        close_world(&v);
    }
    close_world(&w);
}

TEST(refitting_follows_the_vertices)
{
    world w;
    shape s = shape_sphere(12, 1);
    open_world(&w, &s);
    for (int32_t v = 0; v < w.surface.vertex_count; v++)
        w.surface.position[v] = spl_madd(spl_v3(50, 0, 0), w.surface.position[v], 3);
    spl_tree_refit(&w.tree, w.surface.position);
    spl_winding_refit(&w.winding);
    CHECK_NEAR(spl_winding_number(&w.winding, spl_v3(52.5, 0.5, 0)), 1, 1e-3);
    CHECK_NEAR(spl_winding_number(&w.winding, spl_v3(0, 0, 0)), 0, 1e-3);
    close_world(&w);
}

TEST(failing_allocations_are_errors)
{
    world w;
    shape s = shape_box(2, 1, 1, 1);
    open_world(&w, &s);
    for (long n = 0; n < 4; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_winding x;
        supple_result r = spl_winding_make(&w.tree, &a, &x, NULL);
        CHECK(r == (n < 3 ? SUPPLE_ERROR_MEMORY : SUPPLE_OK));
        spl_winding_release(&x);
        CHECK(f.live == 0);
    }
    close_world(&w);
}

TEST_CASES(RUN(a_sphere_is_1_inside_and_0_outside), RUN(an_open_cap_covers_its_solid_angle), RUN(parts_add_up),
           RUN(exact_sums_agree_with_crossing_rays), RUN(soups_agree_with_the_exact_sum),
           RUN(characters_agree_with_the_exact_sum), RUN(nothing_and_nowhere), RUN(scale_does_not_matter),
           RUN(refitting_follows_the_vertices), RUN(failing_allocations_are_errors))
