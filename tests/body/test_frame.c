#include "bodies.h"
#include "body/frame.h"
#include "test.h"

/* All coordinates in the frame against those of the shape moved, turned and scaled. */
static void check_invariant(const shape *s)
{
    spl_surface f = shape_surface(s);
    spl_frame_of_body frame = spl_frame_find(&f);
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(spl_norm(frame.axis[k]), 1, 1e-12);
        CHECK_NEAR(spl_dot(frame.axis[k], frame.axis[(k + 1) % 3]), 0, 1e-9);
    }
    CHECK_NEAR(spl_dot(frame.axis[2], spl_cross(frame.axis[0], frame.axis[1])), 1, 1e-9);
    for (int round = 0; round < 8; round++) {
        double q[4] = {shape_random(), shape_random(), shape_random(), shape_random()}, size = pow(10, round - 4);
        shape moved = shape_new(s->vertex_count, s->triangle_count);
        memcpy(moved.position, s->position, 3 * sizeof(double) * (size_t)s->vertex_count);
        memcpy(moved.triangle, s->triangle, 3 * sizeof(int32_t) * (size_t)s->triangle_count);
        shape_move(&moved, q, size, shape_random_point(100 * size));
        spl_surface g = shape_surface(&moved);
        spl_frame_of_body other = spl_frame_find(&g);
        REQUIRE(g.vertex_count == f.vertex_count);
        double ratio = frame.size * size / other.size, worst = 0; /* boxes of turned shapes differ */
        for (int32_t i = 0; i < f.vertex_count; i++) {
            spl_vec3 a = spl_frame_into(&frame, f.position[i]), b = spl_frame_into(&other, g.position[i]);
            worst = fmax(worst, spl_distance(spl_scale(a, ratio), b));
            CHECK(spl_distance(spl_frame_back(&other, b), g.position[i]) < 1e-12 * g.diagonal);
        }
        CHECK(worst < 1e-7);
        spl_surface_release(&g);
        shape_free(&moved);
    }
    spl_surface_release(&f);
}

TEST(coordinates_in_the_frame_do_not_depend_on_place_and_turn)
{
    shape box = shape_box(4, 3, 2, 1), torus = shape_torus(16, 1, 0.3), cube = shape_box(3, 1, 1, 1);
    shape sphere = shape_sphere(12, 1);
    srand(3);
    check_invariant(&box);    /* three spreads */
    check_invariant(&torus);  /* two are equal */
    check_invariant(&cube);   /* all are equal: the first corner decides */
    check_invariant(&sphere); /* and many vertices are equally far */
    shape_free(&box);
    shape_free(&torus);
    shape_free(&cube);
    shape_free(&sphere);
}

TEST(axes_go_by_spread)
{
    shape box = shape_box(4, 1, 3, 2);
    shape_move(&box, (double[4]){0, 0, 0, 1}, 1, spl_v3(5, 6, 7));
    spl_surface f = shape_surface(&box);
    spl_frame_of_body frame = spl_frame_find(&f);
    CHECK_NEAR(spl_distance(frame.centre, spl_v3(5, 6, 7)), 0, 1e-12);
    CHECK_NEAR(fabs(frame.axis[0].y), 1, 1e-9);
    CHECK_NEAR(fabs(frame.axis[1].z), 1, 1e-9);
    CHECK_NEAR(fabs(frame.axis[2].x), 1, 1e-9);
    spl_surface_release(&f);
    shape_free(&box);
}

TEST_CASES(RUN(coordinates_in_the_frame_do_not_depend_on_place_and_turn), RUN(axes_go_by_spread))
