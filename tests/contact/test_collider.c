#include "contact/collider.h"
#include "failing.h"
#include "geom/shapes.h"
#include "geom/winding.h"
#include "test.h"

static spl_colliders *empty(void)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_colliders *c = NULL;
    if (spl_colliders_create(&a, &c, NULL) != SUPPLE_OK) abort();
    return c;
}

static spl_colliders *one(const spl_collider_shape *ball)
{
    spl_colliders *c = empty();
    if (spl_colliders_add(c, ball, NULL) != SUPPLE_OK) abort();
    return c;
}

static spl_collider_mesh mesh_of(const shape *s)
{
    return (spl_collider_mesh){"thing", s->vertex_count, s->triangle_count, s->position, s->triangle};
}

/* What holds of every hit. */
static void check_hit(const spl_collider_hit *h, spl_vec3 p)
{
    CHECK_NEAR(spl_norm(h->normal), 1, 1e-12);
    CHECK_NEAR(spl_dot(spl_sub(h->target, p), h->normal), h->depth, 1e-9);
}

TEST(a_sphere_pushes_out_along_its_radius)
{
    spl_colliders *c = one(&(spl_collider_shape){SPL_COLLIDER_SPHERE, spl_v3(1, 2, 3), spl_v3(0, 0, 0), 0.5});
    spl_collider_hit h;
    for (int i = 0; i < 1000; i++) {
        spl_vec3 p = spl_add(spl_v3(1, 2, 3), shape_random_point(1));
        double d = 0.5 - spl_distance(p, spl_v3(1, 2, 3));
        bool near = spl_colliders_query(c, p, 0.1, -1, &h);
        CHECK(near == (d >= -0.1));
        if (!near) continue;
        check_hit(&h, p);
        CHECK_NEAR(h.depth, d, 1e-12);
        CHECK_NEAR(spl_distance(h.target, spl_v3(1, 2, 3)), 0.5, 1e-12);
    }
    CHECK(spl_colliders_query(c, spl_v3(1, 2, 3), 0, -1, &h)); /* its centre */
    check_hit(&h, spl_v3(1, 2, 3));
    CHECK(!spl_colliders_query(c, spl_v3(NAN, 2, 3), 0, -1, &h));
    CHECK(!spl_colliders_query(NULL, spl_v3(1, 2, 3), 0, -1, &h));
    spl_colliders_destroy(c);
}

TEST(a_capsule_is_all_that_is_near_its_axis)
{
    spl_vec3 a = spl_v3(-1, 0, 0.2), b = spl_v3(1, 0.5, 0);
    spl_colliders *c = one(&(spl_collider_shape){SPL_COLLIDER_CAPSULE, a, b, 0.3});
    spl_collider_hit h;
    for (int i = 0; i < 1000; i++) {
        spl_vec3 p = shape_random_point(1.5);
        double nearest = INFINITY;
        for (int k = 0; k <= 2000; k++) nearest = fmin(nearest, spl_distance(p, spl_lerp(a, b, k / 2000.0)));
        REQUIRE(spl_colliders_query(c, p, INFINITY, -1, &h));
        check_hit(&h, p);
        CHECK_NEAR(h.depth, 0.3 - nearest, 2e-3 * 0.3);
    }
    REQUIRE(spl_colliders_query(c, spl_lerp(a, b, 0.4), 0, -1, &h)); /* on the axis the way out is across it */
    check_hit(&h, spl_lerp(a, b, 0.4));
    CHECK_NEAR(spl_dot(h.normal, spl_sub(b, a)), 0, 1e-12);
    spl_colliders_destroy(c);
}

TEST(below_a_plane_is_inside)
{
    spl_colliders *c = one(&(spl_collider_shape){SPL_COLLIDER_PLANE, spl_v3(5, 1, 5), spl_v3(0, 3, 0), 0});
    spl_collider_hit h;
    REQUIRE(spl_colliders_query(c, spl_v3(0, 0.25, 0), 0, -1, &h));
    check_hit(&h, spl_v3(0, 0.25, 0));
    CHECK_NEAR(h.depth, 0.75, 1e-12);
    CHECK_NEAR(h.target.y, 1, 1e-12);
    CHECK(!spl_colliders_query(c, spl_v3(0, 1.2, 0), 0.1, -1, &h));
    CHECK(spl_colliders_query(c, spl_v3(0, 1.05, 0), 0.1, -1, &h) && h.depth < 0);
    spl_colliders_destroy(c);
}

TEST(the_deepest_wins_and_the_hint_breaks_ties)
{
    spl_colliders *c = empty();
    for (int i = 0; i < 3; i++) {
        spl_collider_shape s = {SPL_COLLIDER_SPHERE, spl_v3(i, 0, 0), spl_v3(0, 0, 0), 0.7};
        REQUIRE(spl_colliders_add(c, &s, NULL) == SUPPLE_OK);
    }
    spl_collider_hit h;
    CHECK(spl_colliders_count(c) == 3);
    CHECK(spl_colliders_query(c, spl_v3(0.9, 0, 0), 0, 0, &h) && h.collider == 1);
    CHECK(spl_colliders_query(c, spl_v3(0.5, 0, 0), 0, -1, &h) && h.collider == 0);
    CHECK(spl_colliders_query(c, spl_v3(0.5, 0, 0), 0, 1, &h) && h.collider == 1);
    CHECK(spl_colliders_query(c, spl_v3(0.5, 0, 0), 0, 0, &h) && h.collider == 0);
    spl_colliders_destroy(c);
}

/* Moves points of a mesh: a shear, a turn and a shift. */
static void bend(shape *s, double amount, spl_vec3 shift)
{
    for (int32_t v = 0; v < s->vertex_count; v++) {
        double *p = s->position + 3 * (size_t)v;
        p[0] += shift.x + amount * p[1] * p[1];
        p[1] += shift.y;
        p[2] += shift.z;
    }
}

/* Against all triangles, one by one, and the exact winding number. */
static void check_mesh(spl_colliders *c, const shape *s, double size)
{
    spl_surface surface = shape_surface(s);
    supple_allocator a = spl_allocator_of(NULL);
    spl_tree tree;
    if (spl_tree_make(surface.position, surface.triangle, surface.triangle_count, &a, &tree, NULL) != SUPPLE_OK)
        abort();
    int inside_count = 0;
    for (int i = 0; i < 300; i++) {
        spl_vec3 p = spl_add(spl_scale(spl_add(surface.low, surface.high), 0.5), shape_random_point(size));
        double nearest = INFINITY, bary[3];
        for (int32_t t = 0; t < surface.triangle_count; t++) {
            const int32_t *k = surface.triangle + 3 * t;
            double square =
                spl_triangle_nearest(p, surface.position[k[0]], surface.position[k[1]], surface.position[k[2]], bary);
            nearest = fmin(nearest, sqrt(square));
        }
        bool inside = spl_winding_exact(&tree, p) > 0.5;
        spl_collider_hit h;
        bool hit = spl_colliders_query(c, p, 0.2, -1, &h);
        inside_count += inside;
        CHECK(hit == (inside || nearest <= 0.2));
        if (!hit) continue;
        check_hit(&h, p);
        CHECK_NEAR(h.depth, inside ? nearest : -nearest, 1e-9);
    }
    CHECK(inside_count > 20);
    spl_tree_release(&tree);
    spl_surface_release(&surface);
}

TEST(a_mesh_answers_as_all_its_triangles_do_also_after_it_moved)
{
    shape s = shape_torus(12, 1, 0.4);
    spl_colliders *c = empty();
    spl_collider_mesh m = mesh_of(&s);
    REQUIRE(spl_colliders_add_mesh(c, &m, NULL) == SUPPLE_OK);
    check_mesh(c, &s, 1.5);
    bend(&s, 0.3, spl_v3(3, -2, 1));
    spl_colliders_place_mesh(c, 0, s.position);
    check_mesh(c, &s, 1.5);
    shape_free(&s);
    spl_colliders_destroy(c);
}

TEST(a_point_on_a_mesh_leaves_along_its_normal_also_when_it_is_mirrored)
{
    shape s = shape_box(3, 1, 1, 1);
    spl_colliders *c = empty();
    spl_collider_mesh m = mesh_of(&s);
    REQUIRE(spl_colliders_add_mesh(c, &m, NULL) == SUPPLE_OK);
    for (int turn = 0; turn < 2; turn++) {
        spl_collider_hit h;
        REQUIRE(spl_colliders_query(c, spl_v3(0.5, 0.1, 0.13), 0.01, -1, &h));
        CHECK_NEAR(h.normal.x, 1, 1e-12);
        CHECK(spl_colliders_query(c, spl_v3(0.3, 0.1, 0.13), 0, -1, &h) && h.depth > 0.19);
        for (int32_t v = 0; v < s.vertex_count; v++) s.position[3 * v] *= -1;
        spl_colliders_place_mesh(c, 0, s.position);
    }
    shape_free(&s);
    spl_colliders_destroy(c);
}

TEST(an_open_mesh_is_refused_with_its_border)
{
    shape s = shape_box(2, 1, 1, 1);
    spl_colliders *c = empty();
    spl_collider_mesh m = mesh_of(&s);
    supple_error error = {0};
    m.triangle_count--;
    CHECK(spl_colliders_add_mesh(c, &m, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "thing is open, with 3 border edges") != NULL);
    m.triangle_count = 0;
    CHECK(spl_colliders_add_mesh(c, &m, &error) == SUPPLE_ERROR_INPUT);
    CHECK(spl_colliders_count(c) == 0);
    shape_free(&s);
    spl_colliders_destroy(c);
}

TEST(every_allocation_may_fail)
{
    shape s = shape_box(2, 1, 1, 1);
    spl_collider_mesh m = mesh_of(&s);
    spl_collider_shape ball = {SPL_COLLIDER_SPHERE, spl_v3(0, 0, 0), spl_v3(0, 0, 0), 1};
    bool made = false;
    for (long n = 0; !made; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_colliders *c = NULL;
        supple_result result = spl_colliders_create(&a, &c, NULL);
        if (result == SUPPLE_OK) result = spl_colliders_add(c, &ball, NULL);
        if (result == SUPPLE_OK) result = spl_colliders_add_mesh(c, &m, NULL);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        made = result == SUPPLE_OK && f.requests <= n;
        spl_colliders_destroy(c);
        CHECK(f.live == 0);
    }
    shape_free(&s);
}

TEST_CASES(RUN(a_sphere_pushes_out_along_its_radius), RUN(a_capsule_is_all_that_is_near_its_axis),
           RUN(below_a_plane_is_inside), RUN(the_deepest_wins_and_the_hint_breaks_ties),
           RUN(a_mesh_answers_as_all_its_triangles_do_also_after_it_moved),
           RUN(a_point_on_a_mesh_leaves_along_its_normal_also_when_it_is_mirrored),
           RUN(an_open_mesh_is_refused_with_its_border), RUN(every_allocation_may_fail))
