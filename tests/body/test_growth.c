#include "body/growth.h"
#include "failing.h"
#include "geom/shapes.h"
#include "test.h"

typedef struct measured {
    spl_surface surface;
    double *thickness;
} measured;

static measured measure(const shape *s, double limit, int32_t threads)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    config.thread_count = threads;
    spl_pool *pool;
    spl_tree tree;
    spl_winding winding;
    measured m = {.surface = shape_surface(s)};
    m.thickness = calloc((size_t)m.surface.vertex_count, sizeof *m.thickness);
    if (spl_pool_create(&config, &pool, NULL)) abort();
    if (spl_tree_make(m.surface.position, m.surface.triangle, m.surface.triangle_count, &a, &tree, NULL)) abort();
    if (spl_winding_make(&tree, &a, &winding, NULL)) abort();
    CHECK(spl_limb_thickness(&m.surface, &tree, &winding, limit, 1, pool, m.thickness) == m.surface.vertex_count);
    spl_winding_release(&winding);
    spl_tree_release(&tree);
    spl_pool_destroy(pool);
    return m;
}

static void measured_free(measured *m)
{
    spl_surface_release(&m->surface);
    free(m->thickness);
}

TEST(balls_and_tori_are_as_thick_as_they_are)
{
    shape s = shape_sphere(32, 1);
    measured m = measure(&s, 10, 1);
    for (int32_t i = 0; i < m.surface.vertex_count; i++) CHECK_NEAR(m.thickness[i], 2, 0.05);
    measured_free(&m);
    shape_free(&s);
    s = shape_torus(48, 1, 0.2);
    m = measure(&s, 10, 1);
    for (int32_t i = 0; i < m.surface.vertex_count; i++) CHECK_NEAR(m.thickness[i], 0.4, 0.03);
    measured_free(&m);
    shape_free(&s);
}

TEST(a_plate_is_thin_and_its_limit_holds)
{
    shape s = shape_box(8, 2, 2, 0.1);
    for (int round = 0; round < 2; round++) {
        double limit = round ? 0.05 : 1;
        measured m = measure(&s, limit, 1);
        for (int32_t i = 0; i < m.surface.vertex_count; i++) {
            spl_vec3 p = m.surface.position[i];
            CHECK(m.thickness[i] <= limit * (1 + 1e-12));
            if (fabs(p.x) < 0.9 && fabs(p.y) < 0.9) CHECK_NEAR(m.thickness[i], fmin(limit, 0.1), 0.003);
        }
        measured_free(&m);
    }
    shape_free(&s);
}

TEST(edges_of_a_thick_box_are_not_thin)
{
    shape s = shape_box(8, 1, 1, 1);
    measured m = measure(&s, 10, 1);
    for (int32_t i = 0; i < m.surface.vertex_count; i++) CHECK(m.thickness[i] > 0.5);
    measured_free(&m);
    shape_free(&s);
}

TEST(threads_and_strides_give_the_same_numbers)
{
    shape s = shape_torus(24, 1, 0.3);
    measured one = measure(&s, 3, 1), many = measure(&s, 3, 3);
    CHECK(memcmp(one.thickness, many.thickness, sizeof(double) * (size_t)one.surface.vertex_count) == 0);
    supple_allocator a = spl_allocator_of(NULL);
    spl_tree tree;
    spl_winding winding;
    REQUIRE(!spl_tree_make(one.surface.position, one.surface.triangle, one.surface.triangle_count, &a, &tree, NULL));
    REQUIRE(!spl_winding_make(&tree, &a, &winding, NULL));
    int32_t count = spl_limb_thickness(&one.surface, &tree, &winding, 3, 7, NULL, many.thickness);
    CHECK(count == (one.surface.vertex_count + 6) / 7);
    for (int32_t i = 0; i < count; i++) CHECK(many.thickness[i] == one.thickness[7 * i]);
    spl_winding_release(&winding);
    spl_tree_release(&tree);
    measured_free(&one);
    measured_free(&many);
    shape_free(&s);
}

TEST(the_median_takes_outliers_and_leaves_steps)
{
    shape s = shape_grid(20, 20, shape_at_plane, (double[]){1, 1});
    spl_surface f = shape_surface(&s);
    supple_allocator a = spl_allocator_of(NULL);
    double *value = calloc((size_t)f.vertex_count, sizeof *value);
    for (int32_t i = 0; i < f.vertex_count; i++) value[i] = f.position[i].x < 0.5 - 1e-9 ? 1 : 2;
    value[10 * 21 + 3] = 100;
    value[5 * 21 + 15] = 0;
    REQUIRE(spl_vertex_median(&f, 2, &a, value, NULL) == SUPPLE_OK);
    for (int32_t i = 0; i < f.vertex_count; i++) {
        CHECK(value[i] == 1 || value[i] == 2);
        if (fabs(f.position[i].x - 0.5) > 0.16) CHECK(value[i] == (f.position[i].x < 0.5 ? 1 : 2));
    }
    failing fail = {.fail_at = 0};
    supple_allocator b = failing_allocator(&fail);
    CHECK(spl_vertex_median(&f, 2, &b, value, NULL) == SUPPLE_ERROR_MEMORY && fail.live == 0);
    free(value);
    spl_surface_release(&f);
    shape_free(&s);
}

TEST_CASES(RUN(balls_and_tori_are_as_thick_as_they_are), RUN(a_plate_is_thin_and_its_limit_holds),
           RUN(edges_of_a_thick_box_are_not_thin), RUN(threads_and_strides_give_the_same_numbers),
           RUN(the_median_takes_outliers_and_leaves_steps))
