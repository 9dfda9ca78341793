#include "../failing.h"
#include "../test.h"
#include "sheets.h"

/* Walks in the plane are straight, over any number of edges; along a border they stop or follow it. */
TEST(walks_in_the_plane_are_exact)
{
    srand(1);
    shape s = sheet_irregular(12, 9, 1.2, 0.9, 0.3);
    spl_net net = sheet_net(&s);
    for (int round = 0; round < 2000; round++) {
        spl_place from = {.triangle = rand() % net.surface.triangle_count};
        double a = rand() / (double)RAND_MAX, b = rand() / (double)RAND_MAX * (1 - a);
        if (round % 5 == 0) a = 1, b = 0; /* from a vertex */
        if (round % 7 == 0) b = 1 - a;    /* from an edge */
        from.bary[0] = a;
        from.bary[1] = b;
        from.bary[2] = 1 - a - b;
        spl_vec3 p = spl_surface_point(&net.surface, &from),
                 q = spl_v3(1.2 * (0.5 + 0.49 * shape_random()), 0.9 * (0.5 + 0.49 * shape_random()), 0);
        spl_place to = spl_net_go(&net, &from, spl_sub(q, p));
        CHECK(spl_distance(spl_surface_point(&net.surface, &to), q) < 1e-12);
    }
    spl_place corner = spl_net_vertex(&net, net.surface.map[0]);
    spl_place out = spl_net_go(&net, &corner, spl_v3(-1, -2, 0));
    CHECK(spl_distance(spl_surface_point(&net.surface, &out), spl_v3(0, 0, 0)) < 1e-12);
    spl_net_release(&net);
    shape_free(&s);
}

TEST(traces_from_vertices_are_exact_in_the_plane)
{
    srand(2);
    shape s = sheet_irregular(12, 9, 1.2, 0.9, 0.3);
    spl_net net = sheet_net(&s);
    for (int32_t v = 0; v < net.surface.vertex_count; v++)
        for (int round = 0; round < 20; round++) {
            spl_vec3 p = net.surface.position[v], d = spl_v3(0.3 * shape_random(), 0.3 * shape_random(), 0);
            spl_vec3 q = spl_add(p, d);
            if (q.x < 0 || q.x > 1.2 || q.y < 0 || q.y > 0.9) continue;
            double u[2] = {spl_dot(net.axis[2 * v], d), spl_dot(net.axis[2 * v + 1], d)};
            spl_place to = spl_net_trace(&net, v, u);
            CHECK(spl_distance(spl_surface_point(&net.surface, &to), q) < 1e-12);
        }
    spl_net_release(&net);
    shape_free(&s);
}

/* A great circle: after the length of the equator a walk is where it began. */
TEST(walks_follow_geodesics)
{
    shape s = shape_sphere(40, 1);
    spl_net net = sheet_net(&s);
    for (int32_t v = 0; v < net.surface.vertex_count; v += 97) {
        spl_place from = spl_net_vertex(&net, v), to;
        to = spl_net_go(&net, &from, spl_scale(net.axis[2 * (size_t)v], shape_pi));
        spl_vec3 p = spl_surface_point(&net.surface, &to), x = net.surface.position[v];
        CHECK(spl_distance(p, spl_scale(x, -1)) < 0.03);
    }
    spl_net_release(&net);
    shape_free(&s);
}

TEST(transport_is_a_rotation_and_exact_in_the_plane)
{
    srand(4);
    shape s = sheet_irregular(6, 6, 1, 1, 0.3);
    spl_net net = sheet_net(&s);
    for (size_t t = 0; t < (size_t)net.surface.triangle_count; t++)
        for (size_t k = 0; k < 3; k++) {
            size_t v = (size_t)net.surface.triangle[3 * t + k];
            double u[2] = {shape_random(), shape_random()}, w[2], back[2];
            spl_net_carry(&net, 3 * t + k, u, w);
            spl_net_bring(&net, 3 * t + k, w, back);
            spl_vec3 a = spl_madd(spl_scale(net.axis[2 * v], u[0]), net.axis[2 * v + 1], u[1]);
            spl_vec3 b = spl_madd(spl_scale(net.frame[2 * t], w[0]), net.frame[2 * t + 1], w[1]);
            CHECK(spl_distance(a, b) < 1e-13);
            CHECK_NEAR(back[0], u[0], 1e-13);
            CHECK_NEAR(back[1], u[1], 1e-13);
        }
    spl_net_release(&net);
    shape_free(&s);
}

/* Slivers, spikes, nonmanifold edges, soups: walks end, at a place. */
TEST(walks_end_on_anything)
{
    srand(7);
    for (int kind = 0; kind < 3; kind++) {
        shape s = kind == 0 ? shape_soup(60, 0.5) : kind == 1 ? shape_sphere(6, 1) : sheet_irregular(8, 8, 1, 1, 0.2);
        if (kind == 1)
            for (int i = 0; i < 3 * s.vertex_count; i += 7) s.position[i] *= 1e-9; /* crumpled */
        if (kind == 2)
            for (int i = 0; i < 3 * s.vertex_count; i += 3)
                s.position[i] = floor(4 * s.position[i]) / 4; /* flat ones */
        spl_net net = sheet_net(&s);
        for (int32_t v = 0; v < net.surface.vertex_count; v++) {
            spl_place from = spl_net_vertex(&net, v);
            if (from.triangle < 0) continue;
            spl_place to = spl_net_go(&net, &from, shape_random_point(3));
            spl_place on = spl_net_trace(&net, v, (double[]){shape_random(), shape_random()});
            double sum = to.bary[0] + to.bary[1] + to.bary[2];
            CHECK(to.triangle >= 0 && to.triangle < net.surface.triangle_count && fabs(sum - 1) < 1e-9);
            CHECK(on.triangle >= 0 && spl_v3_finite(spl_surface_point(&net.surface, &on)));
            for (int k = 0; k < 3; k++) CHECK(to.bary[k] >= 0 && on.bary[k] >= 0);
        }
        spl_net_release(&net);
        shape_free(&s);
    }
}

TEST(every_allocation_may_fail)
{
    shape s = shape_torus(6, 1, 0.3);
    failing f = {.fail_at = -1};
    supple_allocator a = failing_allocator(&f);
    spl_net net;
    CHECK(spl_net_make(s.position, s.vertex_count, s.triangle, s.triangle_count, &a, &net, NULL) == SUPPLE_OK);
    spl_net_release(&net);
    long requests = f.requests;
    for (long k = 0; k < requests; k++) {
        f = (failing){.fail_at = k};
        CHECK(spl_net_make(s.position, s.vertex_count, s.triangle, s.triangle_count, &a, &net, NULL) ==
              SUPPLE_ERROR_MEMORY);
        CHECK(f.live == 0);
    }
    shape_free(&s);
}

TEST_CASES(RUN(walks_in_the_plane_are_exact), RUN(traces_from_vertices_are_exact_in_the_plane),
           RUN(walks_follow_geodesics), RUN(transport_is_a_rotation_and_exact_in_the_plane), RUN(walks_end_on_anything),
           RUN(every_allocation_may_fail))
