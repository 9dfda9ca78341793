#include "core/hash.h"
#include "failing.h"
#include "geom/field.h"
#include "shapes.h"
#include "test.h"

static const size_t gigabyte = 1u << 30;

static void open_field(shape *s, spl_surface *surface, spl_field *field)
{
    supple_allocator a = spl_allocator_of(NULL);
    *surface = shape_surface(s);
    shape_free(s);
    if (spl_field_make(surface, &a, field, NULL) != SUPPLE_OK) abort();
}

static void close_field(spl_surface *surface, spl_field *field)
{
    spl_field_release(field);
    spl_surface_release(surface);
}

/* The signed distance to a box about the origin, outside and inside. */
static double box_distance(spl_vec3 p, double x, double y, double z)
{
    double d[3] = {fabs(p.x) - x / 2, fabs(p.y) - y / 2, fabs(p.z) - z / 2};
    double out = 0, in = fmax(d[0], fmax(d[1], d[2]));
    for (int k = 0; k < 3; k++) out += d[k] > 0 ? d[k] * d[k] : 0;
    return in > 0 ? sqrt(out) : in;
}

TEST(a_box_has_its_closed_form)
{
    spl_surface s;
    spl_field f;
    shape box = shape_box(4, 1, 2, 3);
    open_field(&box, &s, &f);
    for (int i = 0; i < 2000; i++) {
        spl_vec3 p = shape_random_point(2);
        spl_sample x = spl_field_sample(&f, p, -1);
        double d = box_distance(p, 1, 2, 3), h = 1e-6;
        CHECK_NEAR(x.distance, d, 1e-12);
        CHECK_NEAR(spl_norm(x.gradient), 1, 1e-12);
        CHECK_NEAR(spl_distance(x.point, spl_madd(p, x.gradient, -x.distance)), 0, 1e-12);
        /* The directional derivative along the gradient is 1, unless a step crosses the medial axis. */
        double slope = (box_distance(spl_madd(p, x.gradient, h), 1, 2, 3) - d) / h;
        CHECK(fabs(slope - 1) < 1e-4 || d < -0.1);
    }
    /* On the surface, face by face, the gradient is the normal. */
    spl_sample on = spl_field_sample(&f, spl_v3(0.5, 0.1, 0.2), -1);
    CHECK_NEAR(on.distance, 0, 1e-12);
    CHECK_NEAR(on.gradient.x, 1, 1e-9);
    close_field(&s, &f);
}

TEST(a_torus_has_its_closed_form_up_to_facets)
{
    spl_surface s;
    spl_field f;
    shape torus = shape_torus(60, 2, 0.5);
    open_field(&torus, &s, &f);
    for (int i = 0; i < 1000; i++) {
        spl_vec3 p = shape_random_point(3);
        double ring = sqrt(p.x * p.x + p.y * p.y) - 2, d = sqrt(ring * ring + p.z * p.z) - 0.5;
        CHECK_NEAR(spl_field_sample(&f, p, -1).distance, d, 0.005);
    }
    close_field(&s, &f);
}

static spl_grid grid_of(const spl_field *f, double cells, double band_cells, int32_t threads)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    config.thread_count = threads;
    spl_pool *pool;
    spl_grid g, plan = spl_grid_plan(f->surface, cells, 5);
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    if (spl_grid_make(f, &plan, band_cells * plan.step, gigabyte, pool, &a, &g, NULL) != SUPPLE_OK) abort();
    spl_pool_destroy(pool);
    return g;
}

/* Every lattice point against the exact field. */
static void check_grid(const spl_field *f, const spl_grid *g, int stride)
{
    int32_t n = g->size[0] * g->size[1] * g->size[2], wrong = 0, in_band = 0;
    for (int32_t i = 0; i < n; i += stride) {
        int32_t x = i % g->size[0], y = i / g->size[0] % g->size[1], z = i / g->size[0] / g->size[1];
        spl_sample e = spl_field_sample(f, spl_grid_point(g, x, y, z), -1);
        double expected = fabs(e.distance) > g->band ? copysign(g->band, e.distance) : e.distance;
        double w = spl_winding_number(&f->winding, spl_grid_point(g, x, y, z));
        bool unclear = fabs(w - 0.5) < 0.01 || fabs(e.distance) < 1e-5 * g->step;
        wrong += fabs((double)g->value[i] - expected) > 1e-6 * (g->band + fabs(expected)) && !unclear;
        wrong += (g->triangle[i] >= 0) != (fabs(e.distance) <= g->band);
        in_band += g->triangle[i] >= 0;
    }
    CHECK(wrong == 0);
    if (stride == 1) CHECK((size_t)in_band == g->band_count);
}

TEST(lattices_hold_the_exact_field)
{
    shape shapes[] = {shape_sphere(20, 1),      shape_torus(20, 2, 0.5),
                      shape_box(3, 1, 2, 0.05), shape_grid(24, 12, shape_at_sphere, (double[]){1, 0.7}),
                      shape_soup(40, 0.4),      shape_grid(24, 12, shape_at_sphere, (double[]){1, 0.5})};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) { /* the last one's inside ends far from its rim */
        spl_surface s;
        spl_field f;
        open_field(&shapes[k], &s, &f);
        CHECK(f.watertight == (k < 3));
        spl_grid g = grid_of(&f, 32, 1 + (double)k / 2, 2);
        check_grid(&f, &g, 1);
        spl_grid_release(&g);
        close_field(&s, &f);
    }
}

TEST(lattices_are_the_same_at_any_number_of_threads)
{
    shape shapes[] = {shape_torus(20, 2, 0.5), shape_grid(24, 12, shape_at_sphere, (double[]){1, 0.7})};
    for (size_t k = 0; k < 2; k++) {
        spl_surface s;
        spl_field f;
        uint64_t hash[3];
        open_field(&shapes[k], &s, &f);
        for (int t = 0; t < 3; t++) {
            spl_grid g = grid_of(&f, 30, 2, t == 2 ? 7 : t + 1);
            size_t n = (size_t)g.size[0] * (size_t)g.size[1] * (size_t)g.size[2];
            hash[t] = spl_hash(g.triangle, 4 * n, spl_hash(g.value, 4 * n, 0));
            spl_grid_release(&g);
        }
        CHECK(hash[0] == hash[1] && hash[0] == hash[2]);
        close_field(&s, &f);
    }
}

TEST(interpolation_is_near_and_refinement_exact)
{
    spl_surface s;
    spl_field f;
    shape sphere = shape_sphere(40, 1);
    open_field(&sphere, &s, &f);
    spl_grid g = grid_of(&f, 40, 3, 2);
    int seen[3] = {0};
    for (int i = 0; i < 3000; i++) {
        spl_vec3 p = shape_random_point(1.3), gradient;
        double d, exact = spl_norm(p) - 1;
        spl_side side = spl_grid_value(&g, p, &d, &gradient);
        seen[side]++;
        if (side == SPL_SIDE_BAND) {
            CHECK_NEAR(d, exact, 0.1 * g.step);
            CHECK(spl_dot(gradient, p) > 0.98 * spl_norm(p));
        } else {
            CHECK(side == (exact < 0 ? SPL_SIDE_INSIDE : SPL_SIDE_OUTSIDE));
            CHECK(fabs(exact) > g.band - 2 * g.step && d == copysign(g.band, exact));
        }
        spl_sample a = spl_field_sample(&f, p, -1), b = spl_grid_sample(&f, &g, p);
        CHECK(memcmp(&a, &b, sizeof a) == 0);
    }
    CHECK(seen[0] > 100 && seen[1] > 100 && seen[2] > 100);
    spl_grid_release(&g);
    close_field(&s, &f);
}

/* Points on and near the surface, where a lattice point's sign says nothing. */
TEST(refinement_is_exact_near_the_surface)
{
    spl_surface s;
    spl_field f;
    shape box = shape_box(2, 1, 0.03, 1); /* thinner than a cell */
    open_field(&box, &s, &f);
    spl_grid g = grid_of(&f, 20, 2, 1);
    for (int i = 0; i < 3000; i++) {
        spl_vec3 p = spl_v3(0.6 * shape_random(), 0.05 * shape_random(), 0.6 * shape_random());
        CHECK_NEAR(spl_grid_sample(&f, &g, p).distance, box_distance(p, 1, 0.03, 1), 1e-12);
    }
    spl_grid_release(&g);
    close_field(&s, &f);
}

TEST(too_large_lattices_are_refused_before_allocating)
{
    spl_surface s;
    spl_field f;
    shape box = shape_box(1, 1, 1, 1);
    open_field(&box, &s, &f);
    const double cells[] = {1e3, 1e4, 1e6, 1e12, INFINITY};
    for (int i = 0; i < 5; i++) {
        failing count = {.fail_at = -1};
        supple_allocator a = failing_allocator(&count);
        supple_error error;
        spl_grid g, plan = spl_grid_plan(&s, cells[i], 2);
        CHECK(spl_grid_make(&f, &plan, 2 * plan.step, gigabyte, NULL, &a, &g, &error) == SUPPLE_ERROR_ARGUMENT);
        CHECK(count.requests == 0 && g.value == NULL);
        if (i == 0) CHECK(strstr(error.message, "MB") && strstr(error.message, "lower resolution"));
    }
    spl_grid g, plan = spl_grid_plan(&s, 10, 2);
    CHECK(plan.size[0] == 15);
    supple_allocator a = spl_allocator_of(NULL);
    CHECK(spl_grid_make(&f, &plan, plan.step / 2, gigabyte, NULL, &a, &g, NULL) == SUPPLE_ERROR_ARGUMENT);
    close_field(&s, &f);
}

TEST(empty_and_single_triangle_fields)
{
    spl_surface s;
    spl_field f;
    shape none = {0};
    open_field(&none, &s, &f);
    spl_sample x = spl_field_sample(&f, spl_v3(1, 2, 3), -1);
    CHECK(x.distance == INFINITY && x.place.triangle == -1);
    spl_grid g = grid_of(&f, 3, 1, 1);
    CHECK(g.band_count == 0 && g.value[0] > 0);
    CHECK(spl_grid_sample(&f, &g, spl_v3(0, 0, 0)).distance == INFINITY);
    spl_grid_release(&g);
    close_field(&s, &f);
    shape one = shape_soup(1, 1);
    open_field(&one, &s, &f);
    CHECK(spl_field_sample(&f, s.position[0], -1).distance < 1e-12);
    CHECK(spl_field_sample(&f, spl_v3(5, 5, 5), -1).distance > 0);
    close_field(&s, &f);
}

TEST(batches_equal_single_queries)
{
    spl_surface s;
    spl_field f;
    shape torus = shape_torus(20, 2, 0.5);
    open_field(&torus, &s, &f);
    enum { N = 1000 };
    static spl_vec3 p[N];
    static double d[N];
    static int32_t t[N];
    for (int i = 0; i < N; i++) p[i] = shape_random_point(3);
    spl_field_distances(&f, NULL, p, N, d, t);
    for (int i = 0; i < N; i++) {
        spl_sample x = spl_field_sample(&f, p[i], -1);
        CHECK(x.distance == d[i] && x.place.triangle == t[i]);
    }
    close_field(&s, &f);
}

/* Smallest and (nearly) largest thickness at the vertices where `keep` says so. */
static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef bool keep_fn(spl_vec3 p);
static void thickness_range(const spl_field *f, keep_fn *keep, double *low, double *high)
{
    double *d = calloc((size_t)f->surface->vertex_count, sizeof *d);
    spl_thickness(f, NULL, d);
    int32_t n = 0;
    for (int32_t v = 0; v < f->surface->vertex_count; v++) {
        if (!keep(f->surface->position[v])) continue;
        d[n++] = d[v];
    }
    qsort(d, (size_t)n, sizeof *d, compare);
    *low = d[0];
    *high = d[n - 1 - n / 400]; /* at corners a tie may send the search the long way */
    free(d);
}

static bool keep_all(spl_vec3 p)
{
    (void)p;
    return true;
}
static bool keep_middle(spl_vec3 p)
{
    return p.z > 1 && p.z < 5;
}
static bool keep_face(spl_vec3 p)
{
    return fabs(p.x) < 0.4 && fabs(p.y) < 0.4;
}
static bool keep_outer_rim(spl_vec3 p)
{
    return p.x * p.x + p.y * p.y > 4;
}

TEST(thickness_of_a_tube_a_slab_a_ball_and_a_ring)
{
    spl_surface s;
    spl_field f;
    double low, high;
    shape tube = shape_grid(48, 60, shape_at_tube, (double[]){0.5, 6});
    open_field(&tube, &s, &f);
    thickness_range(&f, keep_middle, &low, &high);
    CHECK_NEAR(low, 1, 0.01);
    CHECK_NEAR(high, 1, 0.01);
    close_field(&s, &f);
    shape slab = shape_box(20, 1, 1, 0.1);
    open_field(&slab, &s, &f);
    thickness_range(&f, keep_face, &low, &high);
    CHECK_NEAR(low, 0.1, 1e-6);
    CHECK_NEAR(high, 0.1, 1e-6);
    thickness_range(&f, keep_all, &low, &high);
    CHECK(low > 0.09 && high < 0.2);
    close_field(&s, &f);
    shape ball = shape_sphere(30, 1);
    open_field(&ball, &s, &f);
    thickness_range(&f, keep_all, &low, &high);
    CHECK(low > 1.9 && high < 2.01);
    close_field(&s, &f);
    shape ring = shape_torus(30, 2, 0.25);
    open_field(&ring, &s, &f);
    thickness_range(&f, keep_outer_rim, &low, &high);
    CHECK(low > 0.48 && high < 0.51);
    close_field(&s, &f);
}

TEST(characters_get_lattices)
{
    const char *names[] = {"person.glb", "quadruped.glb", "hand.glb", "parts.glb"};
    for (size_t k = 0; k < 4; k++) {
        shape c = shape_character(names[k]);
        spl_surface s;
        spl_field f;
        open_field(&c, &s, &f);
        spl_grid g = grid_of(&f, 50, 2, 2);
        check_grid(&f, &g, 37);
        CHECK(f.watertight == (k < 3)); /* the parts are open where they meet */
        if (f.watertight) {             /* the inside's volume by counting points is that of the surface, roughly */
            int32_t n = g.size[0] * g.size[1] * g.size[2], inside = 0;
            for (int32_t i = 0; i < n; i++) inside += g.value[i] < 0;
            double volume = inside * g.step * g.step * g.step, expected = 0;
            for (int32_t i = 0; i < s.component_count; i++) expected += s.volume[i];
            CHECK_NEAR(volume / expected, 1, 0.05);
        }
        spl_grid_release(&g);
        close_field(&s, &f);
    }
}

TEST(failing_allocations_are_errors)
{
    shape box = shape_box(2, 1, 1, 1);
    spl_surface s = shape_surface(&box);
    long n = 0;
    for (bool failed = true; failed; n++) {
        failing x = {.fail_at = n};
        supple_allocator a = failing_allocator(&x);
        spl_field f;
        spl_grid g = {0}, plan = spl_grid_plan(&s, 8, 2);
        supple_result r = spl_field_make(&s, &a, &f, NULL);
        if (r == SUPPLE_OK) r = spl_grid_make(&f, &plan, 2 * plan.step, gigabyte, NULL, &a, &g, NULL);
        CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
        spl_grid_release(&g);
        spl_field_release(&f);
        CHECK(x.live == 0);
        failed = x.requests > n; /* giving back what a tree has too much of may fail unnoticed */
    }
    CHECK(n > 17);
    spl_surface_release(&s);
    shape_free(&box);
}

TEST_CASES(RUN(a_box_has_its_closed_form), RUN(a_torus_has_its_closed_form_up_to_facets),
           RUN(lattices_hold_the_exact_field), RUN(lattices_are_the_same_at_any_number_of_threads),
           RUN(interpolation_is_near_and_refinement_exact), RUN(refinement_is_exact_near_the_surface),
           RUN(too_large_lattices_are_refused_before_allocating), RUN(empty_and_single_triangle_fields),
           RUN(batches_equal_single_queries), RUN(thickness_of_a_tube_a_slab_a_ball_and_a_ring),
           RUN(characters_get_lattices), RUN(failing_allocations_are_errors))
