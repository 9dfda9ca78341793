#include "core/timer.h"
#include "failing.h"
#include "geom/tree.h"
#include "shapes.h"
#include "test.h"

static spl_tree tree_of(const spl_surface *s)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tree t;
    if (spl_tree_make(s->position, s->triangle, s->triangle_count, &a, &t, NULL) != SUPPLE_OK) abort();
    return t;
}

/* The nearest point by projecting over and over on the barycentric coordinates: shares nothing with the library's. */
static double slow_triangle(spl_vec3 p, spl_vec3 a, spl_vec3 b, spl_vec3 c)
{
    double best = INFINITY;
    spl_vec3 e[3][2] = {{a, b}, {b, c}, {c, a}};
    for (int k = 0; k < 3; k++) {
        spl_vec3 d = spl_sub(e[k][1], e[k][0]);
        double length = spl_dot(d, d), t = length > 0 ? spl_dot(spl_sub(p, e[k][0]), d) / length : 0;
        best = fmin(best, spl_distance(p, spl_madd(e[k][0], d, fmax(0, fmin(1, t)))));
    }
    spl_vec3 n = spl_unit(spl_cross(spl_sub(b, a), spl_sub(c, a)), spl_v3(0, 0, 0));
    if (spl_norm(n) == 0) return best;
    spl_vec3 q = spl_madd(p, n, -spl_dot(spl_sub(p, a), n));
    bool in = true;
    for (int k = 0; k < 3; k++) in &= spl_dot(n, spl_cross(spl_sub(e[k][1], e[k][0]), spl_sub(q, e[k][0]))) >= 0;
    return in ? fmin(best, spl_distance(p, q)) : best;
}

static double slow_nearest(const spl_surface *s, spl_vec3 p)
{
    double best = INFINITY;
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *c = s->triangle + 3 * t;
        best = fmin(best, slow_triangle(p, s->position[c[0]], s->position[c[1]], s->position[c[2]]));
    }
    return best;
}

static void check_against_slow(const spl_surface *s, const spl_tree *tree, int count, double size)
{
    spl_vec3 middle = spl_lerp(s->low, s->high, 0.5);
    int32_t hint = -1;
    for (int i = 0; i < count; i++) {
        spl_vec3 p = spl_madd(middle, shape_random_point(size), i % 10 ? 1 : 100);
        spl_hit hit, hinted;
        REQUIRE(spl_tree_nearest(tree, p, INFINITY, -1, &hit));
        double slow = slow_nearest(s, p);
        CHECK_NEAR(hit.distance, slow, 1e-12 * (slow + s->diagonal));
        CHECK_NEAR(spl_distance(p, hit.point), hit.distance, 1e-12 * (slow + s->diagonal));
        spl_place place = {hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
        CHECK_NEAR(spl_distance(spl_surface_point(s, &place), hit.point), 0, 1e-13 * s->diagonal);
        CHECK(hit.bary[0] >= 0 && hit.bary[1] >= 0 && hit.bary[2] >= 0);
        /* A hint or a radius changes nothing, not a bit. */
        CHECK(spl_tree_nearest(tree, p, hit.distance * 1.01, hint, &hinted));
        CHECK(memcmp(&hit, &hinted, sizeof hit) == 0);
        if (hit.distance > 0) CHECK(!spl_tree_nearest(tree, p, hit.distance * 0.99, hint, &hinted));
        hint = hit.triangle;
    }
}

TEST(nearest_equals_brute_force)
{
    shape shapes[] = {shape_soup(1, 0.5),  shape_soup(3, 0.5),      shape_soup(500, 0.01), shape_soup(700, 0.5),
                      shape_sphere(12, 1), shape_torus(14, 2, 0.5), shape_box(4, 1, 2, 3)};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        spl_surface s = shape_surface(&shapes[k]);
        spl_tree tree = tree_of(&s);
        check_against_slow(&s, &tree, 300, s.diagonal);
        spl_tree_release(&tree);
        spl_surface_release(&s);
        shape_free(&shapes[k]);
    }
}

TEST(flat_and_needle_triangles)
{
    shape soup = shape_soup(300, 0.3);
    for (int32_t t = 0; t < 300; t++) {
        double *p = soup.position + 9 * t, x = shape_random();
        for (int k = 0; k < 3; k++) p[6 + k] = p[k] + x * (p[3 + k] - p[k]) + (t % 2 ? 0 : 1e-8 * shape_random());
    }
    spl_surface s = shape_surface(&soup);
    spl_tree tree = tree_of(&s);
    for (int i = 0; i < 500; i++) { /* only as exact as a needle's two sides are apart */
        spl_vec3 p = shape_random_point(1.5);
        spl_hit hit;
        REQUIRE(spl_tree_nearest(&tree, p, INFINITY, -1, &hit));
        CHECK_NEAR(hit.distance, slow_nearest(&s, p), 1e-7);
    }
    spl_tree_release(&tree);
    spl_surface_release(&s);
    shape_free(&soup);
}

/* All triangles in one place: no split separates them. */
TEST(coinciding_triangles_and_geometric_progressions)
{
    enum { N = 1000 };
    spl_vec3 *p = calloc(3 * N, sizeof *p);
    int32_t *t = calloc(3 * N, sizeof *t);
    supple_allocator a = spl_allocator_of(NULL);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3 * N; i++) {
            double scale = round ? pow(0.75, i / 3) : 1; /* down to 1e-125 */
            p[i] = spl_scale(spl_v3(1 + (i % 3 == 1), i % 3 == 2, 0), scale);
            t[i] = i;
        }
        spl_tree tree;
        spl_hit hit;
        REQUIRE(spl_tree_make(p, t, N, &a, &tree, NULL) == SUPPLE_OK);
        CHECK(spl_tree_nearest(&tree, spl_v3(1, 0, 1), INFINITY, -1, &hit) && hit.triangle == 0);
        CHECK_NEAR(hit.distance, 1, 1e-15);
        CHECK(spl_tree_ray_count(&tree, spl_v3(1.2, 0.1, 1), spl_v3(0, 0, -1), 2) >= (round ? 1 : N));
        spl_tree_release(&tree);
    }
    free(p);
    free(t);
}

TEST(no_triangles_and_no_numbers)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tree tree;
    spl_hit hit;
    REQUIRE(spl_tree_make(NULL, NULL, 0, &a, &tree, NULL) == SUPPLE_OK);
    CHECK(!spl_tree_nearest(&tree, spl_v3(0, 0, 0), INFINITY, 3, &hit) && hit.triangle == -1);
    CHECK(!spl_tree_ray(&tree, spl_v3(0, 0, 0), spl_v3(0, 0, 1), 1, &hit));
    spl_tree_release(&tree);
    shape box = shape_box(2, 1, 1, 1);
    spl_surface s = shape_surface(&box);
    tree = tree_of(&s);
    CHECK(!spl_tree_nearest(&tree, spl_v3(NAN, 0, 0), INFINITY, -1, &hit));
    CHECK(spl_tree_nearest(&tree, spl_v3(1e200, 0, 0), INFINITY, -1, &hit) == false || hit.distance > 1e199);
    CHECK(spl_tree_nearest(&tree, spl_v3(1e100, 0, 0), INFINITY, -1, &hit));
    CHECK_NEAR(hit.distance / 1e100, 1, 1e-12);
    spl_tree_release(&tree);
    spl_surface_release(&s);
    shape_free(&box);
}

TEST(rays_meet_a_sphere_where_they_should)
{
    shape sphere = shape_sphere(40, 1);
    spl_surface s = shape_surface(&sphere);
    spl_tree tree = tree_of(&s);
    for (int i = 0; i < 1000; i++) {
        spl_vec3 o = shape_random_point(0.5), d = shape_random_point(1);
        spl_hit hit;
        REQUIRE(spl_tree_ray(&tree, o, d, INFINITY, &hit)); /* from inside nothing slips through */
        CHECK_NEAR(spl_norm(hit.point), 1, 0.004);
        CHECK(spl_tree_ray_count(&tree, o, d, INFINITY) % 2 == 1);
        CHECK(!spl_tree_ray(&tree, o, d, hit.distance * 0.999, &(spl_hit){0}));
        spl_vec3 outside = spl_madd(o, d, 10 / spl_norm(d));
        CHECK(spl_tree_ray(&tree, outside, spl_scale(d, -1), INFINITY, &hit));
        CHECK(spl_tree_ray_count(&tree, outside, d, INFINITY) == 0);
    }
    for (int32_t v = 0; v < s.vertex_count; v++) { /* straight at the vertices and along axes */
        spl_hit hit;
        CHECK(spl_tree_ray(&tree, spl_v3(0, 0, 0), s.position[v], INFINITY, &hit));
        CHECK_NEAR(hit.distance, 1, 1e-9);
    }
    spl_tree_release(&tree);
    spl_surface_release(&s);
    shape_free(&sphere);
}

/* First hit and count against a loop over all triangles by Cramer's rule. */
TEST(rays_through_a_soup_equal_brute_force)
{
    shape soup = shape_soup(800, 0.2);
    spl_surface s = shape_surface(&soup);
    spl_tree tree = tree_of(&s);
    for (int i = 0; i < 300; i++) {
        spl_vec3 o = shape_random_point(1.5), d = shape_random_point(1);
        if (i % 3 == 0) d = i % 2 ? spl_v3(0, 0, d.z) : spl_v3(d.x, d.y, 0);
        double first = INFINITY;
        int32_t count = 0;
        for (int32_t t = 0; t < s.triangle_count; t++) {
            const int32_t *c = s.triangle + 3 * t;
            spl_vec3 p = s.position[c[0]], e = spl_sub(s.position[c[1]], p), f = spl_sub(s.position[c[2]], p);
            spl_vec3 h = spl_cross(d, f), w = spl_sub(o, p), q = spl_cross(w, e);
            double det = spl_dot(e, h), u = spl_dot(w, h) / det, v = spl_dot(d, q) / det, x = spl_dot(f, q) / det;
            if (u < 0 || v < 0 || u + v > 1 || x < 0) continue;
            count++;
            first = fmin(first, x);
        }
        spl_hit hit;
        CHECK(spl_tree_ray_count(&tree, o, d, INFINITY) == count);
        CHECK(spl_tree_ray(&tree, o, d, INFINITY, &hit) == (count > 0));
        if (count > 0) CHECK_NEAR(hit.distance, first, 1e-9 * first);
    }
    spl_tree_release(&tree);
    spl_surface_release(&s);
    shape_free(&soup);
}

static bool mark(void *context, int32_t triangle)
{
    ((int *)context)[triangle]++;
    return true;
}

TEST(boxes_find_every_triangle_once)
{
    shape soup = shape_soup(500, 0.1);
    spl_surface s = shape_surface(&soup);
    spl_tree tree = tree_of(&s);
    for (int i = 0; i < 100; i++) {
        spl_vec3 a = shape_random_point(1), size = spl_v3(0.3 * fabs(shape_random()), 0.3, 0.1), b = spl_add(a, size);
        int seen[500] = {0};
        spl_tree_box(&tree, a, b, mark, seen);
        for (int32_t t = 0; t < s.triangle_count; t++) {
            spl_vec3 low = s.position[s.triangle[3 * t]], high = low;
            for (int k = 1; k < 3; k++) {
                spl_vec3 p = s.position[s.triangle[3 * t + k]];
                low = spl_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
                high = spl_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
            }
            bool meets =
                low.x <= b.x && high.x >= a.x && low.y <= b.y && high.y >= a.y && low.z <= b.z && high.z >= a.z;
            CHECK(seen[t] == meets);
        }
    }
    spl_tree_release(&tree);
    spl_surface_release(&s);
    shape_free(&soup);
}

TEST(refitting_follows_the_vertices)
{
    shape torus = shape_torus(14, 2, 0.5);
    spl_surface s = shape_surface(&torus);
    spl_tree tree = tree_of(&s);
    for (int32_t v = 0; v < s.vertex_count; v++) {
        spl_vec3 p = s.position[v];
        s.position[v] = spl_v3(3 * p.x + 100, p.y - p.x * p.x, p.z + sin(p.x));
        s.low = v ? spl_v3(fmin(s.low.x, s.position[v].x), fmin(s.low.y, s.position[v].y), 0) : s.position[v];
        s.high = v ? spl_v3(fmax(s.high.x, s.position[v].x), fmax(s.high.y, s.position[v].y), 0) : s.position[v];
    }
    spl_tree_refit(&tree, s.position);
    check_against_slow(&s, &tree, 200, s.diagonal);
    spl_tree_release(&tree);
    spl_surface_release(&s);
    shape_free(&torus);
}

TEST(scaling_changes_only_the_scale)
{
    shape torus = shape_torus(14, 2, 0.5);
    spl_surface s = shape_surface(&torus);
    spl_tree tree = tree_of(&s);
    supple_allocator a = spl_allocator_of(NULL);
    for (double size = 1.0 / 1024; size < 2000; size *= 32) { /* powers of two: not a bit may differ */
        spl_vec3 *p = calloc((size_t)s.vertex_count, sizeof *p);
        for (int32_t v = 0; v < s.vertex_count; v++) p[v] = spl_scale(s.position[v], size);
        spl_tree scaled;
        REQUIRE(spl_tree_make(p, s.triangle, s.triangle_count, &a, &scaled, NULL) == SUPPLE_OK);
        for (int i = 0; i < 200; i++) {
            spl_vec3 q = shape_random_point(3);
            spl_hit h, g;
            spl_tree_nearest(&tree, q, INFINITY, -1, &h);
            spl_tree_nearest(&scaled, spl_scale(q, size), INFINITY, -1, &g);
            CHECK(h.triangle == g.triangle && h.distance * size == g.distance);
        }
        spl_tree_release(&scaled);
        free(p);
    }
    spl_tree_release(&tree);
    spl_surface_release(&s);
    shape_free(&torus);
}

TEST(characters_are_searched_fast_and_right)
{
    const char *names[] = {"person.glb", "quadruped.glb", "hand.glb", "parts.glb"};
    for (size_t k = 0; k < 4; k++) {
        shape c = shape_character(names[k]);
        spl_surface s = shape_surface(&c);
        spl_tree tree = tree_of(&s);
        check_against_slow(&s, &tree, 40, s.diagonal / 2);
        double begin = spl_now_ms();
        for (int i = 0; i < 20000; i++) {
            spl_hit hit;
            int32_t t = rand() % s.triangle_count;
            spl_vec3 p = spl_madd(s.position[s.triangle[3 * t]], shape_random_point(1), 0.02 * s.diagonal);
            spl_tree_nearest(&tree, p, INFINITY, t, &hit);
        }
        /* About 1 us each on an idle machine; a loaded one with sanitizers may take a hundred times longer. */
        CHECK(spl_now_ms() - begin < 20000 * 0.1);
        spl_tree_release(&tree);
        spl_surface_release(&s);
        shape_free(&c);
    }
}

TEST(failing_allocations_are_errors)
{
    shape box = shape_box(2, 1, 1, 1);
    spl_surface s = shape_surface(&box);
    long n = 0;
    for (bool failed = true; failed; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_tree t;
        supple_result r = spl_tree_make(s.position, s.triangle, s.triangle_count, &a, &t, NULL);
        CHECK(r == SUPPLE_OK || (r == SUPPLE_ERROR_MEMORY && t.node == NULL));
        spl_tree_release(&t);
        CHECK(f.live == 0);
        failed = f.requests > n;
    }
    CHECK(n > 11);
    spl_surface_release(&s);
    shape_free(&box);
}

TEST_CASES(RUN(nearest_equals_brute_force), RUN(flat_and_needle_triangles),
           RUN(coinciding_triangles_and_geometric_progressions), RUN(no_triangles_and_no_numbers),
           RUN(rays_meet_a_sphere_where_they_should), RUN(rays_through_a_soup_equal_brute_force),
           RUN(boxes_find_every_triangle_once), RUN(refitting_follows_the_vertices),
           RUN(scaling_changes_only_the_scale), RUN(characters_are_searched_fast_and_right),
           RUN(failing_allocations_are_errors))
