#include "core/timer.h"
#include "failing.h"
#include "geom/geodesic.h"
#include "shapes.h"
#include "test.h"

static spl_geodesic scratch_for(const spl_surface *s)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_geodesic g;
    if (spl_geodesic_make(s->vertex_count, &a, &g, NULL) != SUPPLE_OK) abort();
    return g;
}

static spl_place random_place(const spl_surface *s)
{
    double u = (1 + shape_random()) / 2, v = (1 + shape_random()) / 2;
    if (u + v > 1) {
        u = 1 - u;
        v = 1 - v;
    }
    return (spl_place){rand() % s->triangle_count, {1 - u - v, u, v}};
}

/* Distances from random places to all vertices against a closed form: largest and mean relative error of those farther
 * than `near`. */
typedef double exact_fn(spl_vec3 a, spl_vec3 b);
static void measure(const spl_surface *s, exact_fn *exact, double near, double *worst, double *mean)
{
    spl_geodesic g = scratch_for(s);
    int32_t *vertex = calloc((size_t)s->vertex_count, sizeof *vertex), n = 0;
    double *distance = calloc((size_t)s->vertex_count, sizeof *distance), sum = 0;
    *worst = 0;
    for (int i = 0; i < 5; i++) {
        spl_place from = random_place(s);
        spl_vec3 p = spl_surface_point(s, &from);
        int32_t count = spl_geodesic_within(&g, s, &from, INFINITY, s->vertex_count, vertex, distance);
        CHECK(count == s->vertex_count);
        for (int32_t k = 0; k < count; k++) {
            double d = exact(p, s->position[vertex[k]]), error = fabs(distance[k] - d) / d;
            if (k > 0) CHECK(distance[k] >= distance[k - 1]);
            if (d < near) continue;
            *worst = fmax(*worst, error);
            sum += error;
            n++;
        }
    }
    *mean = sum / n;
    free(vertex);
    free(distance);
    spl_geodesic_release(&g);
}

static double on_plane(spl_vec3 a, spl_vec3 b)
{
    return spl_distance(a, b);
}

TEST(a_plane_is_exact_or_nearly_if_its_triangles_are_bad)
{
    double worst, mean;
    for (int round = 0; round < 3; round++) {
        shape plane = shape_grid(20, 14, shape_at_plane, (double[]){round == 1 ? 20 : 2, 1}); /* obtuse when long */
        for (int32_t v = 0; v < plane.vertex_count; v++) { /* shaken, but the border stays convex */
            double *p = plane.position + 3 * v;
            bool border = v % 21 == 0 || v % 21 == 20 || v / 21 == 0 || v / 21 == 14;
            if (round == 2 && !border) p[0] += 0.035 * shape_random(), p[1] += 0.025 * shape_random();
        }
        spl_surface s = shape_surface(&plane);
        measure(&s, on_plane, 1e-3, &worst, &mean);
        CHECK_NEAR(worst, 0, round == 2 ? 0.015 : 1e-6);
        CHECK_NEAR(mean, 0, 2e-4);
        spl_surface_release(&s);
        shape_free(&plane);
    }
}

static double on_sphere(spl_vec3 a, spl_vec3 b)
{
    return atan2(spl_norm(spl_cross(a, b)), spl_dot(a, b));
}

TEST(a_sphere_is_right_to_two_percent)
{
    double worst, mean;
    shape sphere = shape_sphere(32, 1);
    spl_surface s = shape_surface(&sphere);
    measure(&s, on_sphere, 0.2, &worst, &mean);
    CHECK_NEAR(worst, 0, 0.02);
    CHECK_NEAR(mean, 0, 0.005);
    spl_surface_release(&s);
    shape_free(&sphere);
}

static double on_tube(spl_vec3 a, spl_vec3 b)
{
    double angle = fabs(atan2(a.y, a.x) - atan2(b.y, b.x)), z = a.z - b.z;
    if (angle > shape_pi) angle = 2 * shape_pi - angle;
    return sqrt(angle * angle + z * z);
}

TEST(a_tube_is_right_to_one_percent)
{
    double worst, mean;
    shape tube = shape_grid(64, 40, shape_at_tube, (double[]){1, 4});
    spl_surface s = shape_surface(&tube);
    measure(&s, on_tube, 0.1, &worst, &mean);
    CHECK_NEAR(worst, 0, 0.005);
    CHECK_NEAR(mean, 0, 0.001);
    spl_surface_release(&s);
    shape_free(&tube);
}

/* Two faces of a box unfold into a plane: around the edge the way is the straight line there. */
TEST(a_box_is_walked_around)
{
    shape box = shape_box(6, 1, 1, 1);
    spl_surface s = shape_surface(&box);
    spl_geodesic g = scratch_for(&s);
    int checked = 0;
    for (int i = 0; i < 20000; i++) {
        spl_place a = random_place(&s), b = random_place(&s);
        spl_vec3 p = spl_surface_point(&s, &a), q = spl_surface_point(&s, &b);
        if (s.face[a.triangle].x < 0.5 || s.face[b.triangle].y < 0.5) continue;
        /* Near their common edge, and away from its ends, where the way over a third face may be shorter. */
        if (p.y < 0.2 || q.x < 0.2 || fabs(p.z) > 0.3 || fabs(q.z) > 0.3) continue;
        double u = (0.5 - p.y) + (0.5 - q.x), z = p.z - q.z, d = sqrt(u * u + z * z);
        CHECK_NEAR(spl_geodesic_distance(&g, &s, &a, &b, INFINITY), d, 0.02 * d);
        CHECK_NEAR(spl_geodesic_distance(&g, &s, &b, &a, INFINITY), d, 0.02 * d);
        CHECK(spl_geodesic_near(&g, &s, &a, &b, 1.03 * d) && !spl_geodesic_near(&g, &s, &a, &b, 0.97 * d));
        checked++;
    }
    CHECK(checked > 5);
    spl_geodesic_release(&g);
    spl_surface_release(&s);
    shape_free(&box);
}

TEST(components_are_infinitely_far_and_neighbours_in_space_are_not_on_the_surface)
{
    shape box = shape_box(8, 1, 1, 0.01), two = shape_new(2 * box.vertex_count, 2 * box.triangle_count);
    for (int32_t i = 0; i < 3 * box.vertex_count; i++) {
        two.position[i] = box.position[i];
        two.position[3 * box.vertex_count + i] = box.position[i] + (i % 3 == 2 ? 0.02 : 0);
    }
    for (int32_t i = 0; i < 3 * box.triangle_count; i++) {
        two.triangle[i] = box.triangle[i];
        two.triangle[3 * box.triangle_count + i] = box.vertex_count + box.triangle[i];
    }
    spl_surface s = shape_surface(&two);
    spl_geodesic g = scratch_for(&s);
    spl_place top = {-1, {0.3, 0.3, 0.4}}, bottom = top, other = top;
    for (int32_t t = 0; t < s.triangle_count; t++) {
        spl_place p = {t, {0.3, 0.3, 0.4}};
        spl_vec3 x = spl_surface_point(&s, &p);
        if (fabs(x.x) > 0.07 || fabs(x.y) > 0.07 || fabs(s.face[t].z) < 0.5) continue;
        if (s.component[t] == 1)
            other.triangle = t;
        else if (s.face[t].z > 0)
            top.triangle = t;
        else
            bottom.triangle = t;
    }
    double way = spl_geodesic_distance(&g, &s, &top, &bottom, INFINITY);
    CHECK(way > 0.85 && way < 1.2);
    CHECK(!spl_geodesic_near(&g, &s, &top, &bottom, 0.8) && spl_geodesic_near(&g, &s, &top, &bottom, 1.2));
    CHECK(spl_geodesic_distance(&g, &s, &top, &other, INFINITY) == INFINITY);
    CHECK(spl_geodesic_near(&g, &s, &top, &top, 0) &&
          !spl_geodesic_near(&g, &s, &top, &(spl_place){.triangle = -1}, 1));
    spl_geodesic_release(&g);
    spl_surface_release(&s);
    shape_free(&two);
    shape_free(&box);
}

/* The k nearest are those of the whole list, and a bounded search gives the same numbers as an unbounded one. */
TEST(bounded_searches_agree_with_the_whole)
{
    shape torus = shape_torus(24, 2, 0.6);
    spl_surface s = shape_surface(&torus);
    spl_geodesic g = scratch_for(&s);
    int32_t all[2000], some[2000];
    double d_all[2000], d_some[2000];
    REQUIRE(s.vertex_count <= 2000);
    for (int i = 0; i < 30; i++) {
        spl_place from = random_place(&s);
        int32_t n = spl_geodesic_within(&g, &s, &from, INFINITY, 2000, all, d_all);
        CHECK(n == s.vertex_count);
        int32_t m = spl_geodesic_within(&g, &s, &from, 0.7, 2000, some, d_some), expected = 0;
        while (expected < n && d_all[expected] <= 0.7) expected++;
        CHECK(abs(m - expected) <= 1);
        for (int32_t k = 0; k < m; k++) CHECK_NEAR(d_some[k], d_all[k], 1e-5 * d_all[k]);
        m = spl_geodesic_nearest(&g, &s, &from, 20, some, d_some);
        CHECK(m == 20);
        for (int32_t k = 0; k < m; k++) CHECK_NEAR(d_some[k], d_all[k], 1e-5 * d_all[k]);
        CHECK(spl_geodesic_nearest(&g, &s, &from, 2000, some, d_some) == n);
        CHECK(spl_geodesic_within(&g, &s, &from, 0.7, 3, some, d_some) == 3);
    }
    spl_geodesic_release(&g);
    spl_surface_release(&s);
    shape_free(&torus);
}

TEST(one_triangle_and_slivers)
{
    const double p[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.5, 0.5 + 1e-4, 0, 2, 2, 0};
    const int32_t t[] = {0, 1, 2, 2, 1, 3, 1, 4, 3, 3, 4, 2};
    supple_allocator a = spl_allocator_of(NULL);
    spl_surface s;
    for (int32_t n = 1; n <= 4; n += 3) { /* then a sliver in the middle of a larger triangle */
        REQUIRE(spl_surface_make(p, 5, t, n, &a, &s, NULL) == SUPPLE_OK);
        spl_geodesic g = scratch_for(&s);
        spl_place from = {0, {0.5, 0.25, 0.25}};
        int32_t v[5];
        double d[5];
        CHECK(spl_geodesic_nearest(&g, &s, &from, 5, v, d) == (n == 1 ? 3 : 5));
        for (int i = 0; i < (n == 1 ? 3 : 5); i++)
            CHECK_NEAR(d[i], spl_distance(s.position[v[i]], spl_v3(0.25, 0.25, 0)), 1e-6);
        spl_geodesic_release(&g);
        spl_surface_release(&s);
    }
}

TEST(a_character_is_searched_fast)
{
    shape c = shape_character("person.glb");
    spl_surface s = shape_surface(&c);
    spl_geodesic g = scratch_for(&s);
    double begin = spl_now_ms();
    for (int i = 0; i < 500; i++) {
        spl_place from = random_place(&s);
        int32_t v[20];
        double d[20];
        CHECK(spl_geodesic_nearest(&g, &s, &from, 20, v, d) == 20);
        spl_vec3 p = spl_surface_point(&s, &from);
        for (int k = 0; k < 20; k++) CHECK(d[k] >= spl_distance(p, s.position[v[k]]) * (1 - 0.01));
    }
    CHECK(spl_now_ms() - begin < 500 * 5); /* 0.02 ms each on an idle machine */
    spl_geodesic_release(&g);
    spl_surface_release(&s);
    shape_free(&c);
}

TEST(failing_allocations_are_errors)
{
    for (long n = 0; n < 5; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_geodesic g;
        CHECK(spl_geodesic_make(10, &a, &g, NULL) == (n < 4 ? SUPPLE_ERROR_MEMORY : SUPPLE_OK));
        spl_geodesic_release(&g);
        CHECK(f.live == 0);
    }
}

TEST_CASES(RUN(a_plane_is_exact_or_nearly_if_its_triangles_are_bad), RUN(a_sphere_is_right_to_two_percent),
           RUN(a_tube_is_right_to_one_percent), RUN(a_box_is_walked_around),
           RUN(components_are_infinitely_far_and_neighbours_in_space_are_not_on_the_surface),
           RUN(bounded_searches_agree_with_the_whole), RUN(one_triangle_and_slivers), RUN(a_character_is_searched_fast),
           RUN(failing_allocations_are_errors))
