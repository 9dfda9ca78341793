#include "show/raster.h"

#include "core/memory.h"
#include "failing.h"
#include "test.h"

/* A camera for which picture coordinates are world coordinates: x right, y down (world y is negated), depth -z. */
static spl_camera plain_camera(void)
{
    return (spl_camera){.right = {1, 0, 0}, .up = {0, 1, 0}, .back = {0, 0, 1}, .focal = 1, .ortho = true};
}

static uint64_t state = 88172645463325252u;

static double random_unit(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

enum { W = 53, H = 41 };

typedef struct counts {
    int hit[W * H * SPL_SAMPLES];
    double depth[W * H * SPL_SAMPLES];
} counts;

static void count_sample(void *context, int32_t x, int32_t y, int32_t s, double depth)
{
    counts *c = context;
    c->hit[(y * W + x) * SPL_SAMPLES + s]++;
    c->depth[(y * W + x) * SPL_SAMPLES + s] = depth;
}

/* Tile by tile, as a picture does. */
static void cover_all(const spl_raster *r, counts *c)
{
    memset(c, 0, sizeof *c);
    for (int32_t t = 0; t < spl_raster_tile_count(r); t++) {
        int32_t x0 = t % r->tiles_x * SPL_TILE, y0 = t / r->tiles_x * SPL_TILE;
        int32_t x1 = x0 + SPL_TILE < W ? x0 + SPL_TILE : W, y1 = y0 + SPL_TILE < H ? y0 + SPL_TILE : H;
        for (size_t i = r->tile_first[t]; i < r->tile_first[t + 1]; i++)
            spl_raster_cover(&r->triangle[r->tile_item[i]], x0, y0, x1, y1, count_sample, c);
    }
}

static spl_raster make(const spl_camera *camera, const float *position, const int32_t *triangle, int32_t count)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_geometry g = {position, triangle, count, false};
    spl_raster r;
    CHECK(spl_raster_init(&r, camera, W, H, &g, 1, &a, NULL) == SUPPLE_OK);
    return r;
}

static bool inside(const double p[3][2], double x, double y)
{
    int positive = 0, negative = 0;
    for (int i = 0; i < 3; i++) {
        const double *a = p[i], *b = p[(i + 1) % 3];
        double e = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
        positive += e > 0, negative += e < 0;
    }
    return positive == 3 || negative == 3;
}

/* Corners on the 1/256 grid and off every sample's lattice lines: point-in-triangle in double is then exact. */
TEST(coverage_equals_point_in_triangle)
{
    spl_camera camera = plain_camera();
    const int32_t index[3] = {0, 1, 2};
    static counts c;
    long covered = 0;
    for (int k = 0; k < 300; k++) {
        float position[9];
        double p[3][2];
        for (int i = 0; i < 3; i++) {
            p[i][0] = floor((random_unit() * 90 - 20) * 256) / 256;
            p[i][1] = floor((random_unit() * 70 - 15) * 256) / 256;
            position[3 * i] = (float)p[i][0], position[3 * i + 1] = (float)-p[i][1], position[3 * i + 2] = 0;
        }
        spl_raster r = make(&camera, position, index, 1);
        cover_all(&r, &c);
        for (int i = 0; i < W * H * SPL_SAMPLES; i++) {
            int s = i % SPL_SAMPLES;
            double x = i / SPL_SAMPLES % W + spl_sample_x[s] / 256.0, y = i / SPL_SAMPLES / W + spl_sample_y[s] / 256.0;
            double on_edge = 1;
            for (int e = 0; e < 3; e++) {
                const double *a = p[e], *b = p[(e + 1) % 3];
                on_edge *= (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
            }
            if (on_edge != 0) CHECK(c.hit[i] == inside(p, x, y));
            covered += c.hit[i];
        }
        spl_raster_release(&r);
    }
    CHECK(covered > 100000);
}

/* A jittered grid over more than the picture, with many corners and edges exactly on samples: each sample once. */
TEST(shared_edges_are_hit_exactly_once)
{
    enum { N = 24 };
    float position[3 * (N + 1) * (N + 1)];
    int32_t index[6 * N * N];
    spl_camera camera = plain_camera();
    static counts c;
    for (int k = 0; k < 20; k++) {
        for (int i = 0; i < (N + 1) * (N + 1); i++) {
            double x = -4 + 3.0 * (i % (N + 1)), y = -4 + 3.0 * (i / (N + 1));
            bool border = i % (N + 1) == 0 || i % (N + 1) == N || i / (N + 1) == 0 || i / (N + 1) == N;
            int s = (int)(random_unit() * 4);
            if (!border && k % 2) /* exactly on samples */
                x += spl_sample_x[s] / 256.0, y += spl_sample_y[s] / 256.0;
            else if (!border)
                x += random_unit() * 1.2 - 0.6, y += random_unit() * 1.2 - 0.6;
            position[3 * i] = (float)x, position[3 * i + 1] = (float)-y, position[3 * i + 2] = 0;
        }
        for (int i = 0; i < N * N; i++) {
            int32_t a = i / N * (N + 1) + i % N, b = a + 1, d = a + N + 1, e = d + 1;
            bool flip = random_unit() < 0.5;
            const int32_t quad[6] = {a, b, flip ? d : e, flip ? b : a, e, d};
            memcpy(index + 6 * i, quad, sizeof quad);
            if (random_unit() < 0.5) index[6 * i] = b, index[6 * i + 1] = a; /* either winding */
        }
        spl_raster r = make(&camera, position, index, 2 * N * N);
        cover_all(&r, &c);
        int wrong = 0;
        for (int i = 0; i < W * H * SPL_SAMPLES; i++) wrong += c.hit[i] != 1;
        CHECK(wrong == 0);
        spl_raster_release(&r);
    }
}

/* Samples on the corners and edges of a fan: the pieces of a convex polygon cover each of its samples once. */
TEST(a_fan_around_a_sample_covers_it_once)
{
    static counts c;
    spl_camera camera = plain_camera();
    for (int s = 0; s < SPL_SAMPLES; s++) {
        float position[3 * 9] = {20 + (float)spl_sample_x[s] / 256, -20 - (float)spl_sample_y[s] / 256, 0};
        const float dx[8] = {8, 8, 0, -8, -8, -8, 0, 8}, dy[8] = {0, 8, 8, 8, 0, -8, -8, -8};
        int32_t index[24];
        for (int i = 0; i < 8; i++) {
            position[3 * i + 3] = position[0] + dx[i], position[3 * i + 4] = position[1] + dy[i];
            index[3 * i] = 0, index[3 * i + 1] = i + 1, index[3 * i + 2] = (i + 1) % 8 + 1;
        }
        spl_raster r = make(&camera, position, index, 8);
        cover_all(&r, &c);
        int most = 0;
        for (int i = 0; i < W * H * SPL_SAMPLES; i++) most = c.hit[i] > most ? c.hit[i] : most;
        CHECK(most == 1);
        CHECK(c.hit[(20 * W + 20) * SPL_SAMPLES + s] == 1);
        spl_raster_release(&r);
    }
}

/* A slanted plane through a perspective camera: weights and depth against the ray's own intersection. */
TEST(perspective_weights_equal_the_ray_intersection)
{
    spl_camera camera = {.eye = {0, 0, 5},
                         .right = {1, 0, 0},
                         .up = {0, 1, 0},
                         .back = {0, 0, 1},
                         .focal = 60,
                         .cx = W / 2.0,
                         .cy = H / 2.0,
                         .near = 0.5};
    const float position[9] = {-2, -1.5f, 2.5f, 2.5f, -1, -6, 0, 2, 1};
    const int32_t index[3] = {0, 1, 2};
    spl_raster r = make(&camera, position, index, 1);
    REQUIRE(r.triangle_count == 1);
    static counts c;
    cover_all(&r, &c);
    spl_vec3 a = spl_v3_from_float(position), b = spl_v3_from_float(position + 3), d = spl_v3_from_float(position + 6);
    spl_vec3 n = spl_cross(spl_sub(b, a), spl_sub(d, a));
    int tested = 0;
    for (int i = 0; i < W * H * SPL_SAMPLES; i++) {
        if (!c.hit[i]) continue;
        int s = i % SPL_SAMPLES;
        double x = i / SPL_SAMPLES % W + spl_sample_x[s] / 256.0, y = i / SPL_SAMPLES / W + spl_sample_y[s] / 256.0,
               w[3];
        spl_raster_weights(&r.triangle[0], x, y, w);
        spl_vec3 p = spl_madd(spl_madd(spl_scale(a, w[0]), b, w[1]), d, w[2]);
        spl_vec3 ray = spl_camera_ray(&camera, x, y);
        spl_vec3 q = spl_madd(camera.eye, ray, spl_dot(n, spl_sub(a, camera.eye)) / spl_dot(n, ray));
        CHECK_NEAR(spl_distance(p, q), 0, 0.03); /* corners are snapped to 1/256 pixel */
        CHECK_NEAR(1 / c.depth[i], 5 - q.z, 0.03);
        tested++;
    }
    CHECK(tested > 500);
    spl_raster_release(&r);
}

/* A floor that runs under the camera and behind it: what is left is what the rays hit, no more. */
TEST(near_plane_clips)
{
    spl_camera camera = {.eye = {0, 1, 0},
                         .right = {1, 0, 0},
                         .up = {0, 1, 0},
                         .back = {0, 0, 1},
                         .focal = 40,
                         .cx = W / 2.0,
                         .cy = H / 2.0,
                         .near = 0.01};
    const float position[12] = {-1e4f, 0, -1e4f, 1e4f, 0, -1e4f, 1e4f, 0, 1e4f, -1e4f, 0, 1e4f};
    const int32_t index[6] = {0, 1, 2, 0, 2, 3};
    spl_raster r = make(&camera, position, index, 2);
    static counts c;
    cover_all(&r, &c);
    for (int i = 0; i < W * H * SPL_SAMPLES; i++) {
        double y = i / SPL_SAMPLES / W + spl_sample_y[i % SPL_SAMPLES] / 256.0;
        CHECK(c.hit[i] == (y > camera.cy + 0.01 ? 1 : 0));
        if (c.hit[i] && y > camera.cy + 4) CHECK_NEAR(c.depth[i], (y - camera.cy) / 40, 1e-3);
    }
    spl_raster_release(&r);
}

TEST(wild_coordinates_are_survived)
{
    spl_camera camera = {.eye = {0, 0, 5},
                         .right = {1, 0, 0},
                         .up = {0, 1, 0},
                         .back = {0, 0, 1},
                         .focal = 60,
                         .cx = W / 2.0,
                         .cy = H / 2.0,
                         .near = 0.5};
    const float wild[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e20f, 1e-40f, 5, 4.5f, 0, -1};
    const int32_t index[3] = {0, 1, 2};
    static counts c;
    for (int k = 0; k < 5000; k++) {
        float position[9];
        for (int i = 0; i < 9; i++) position[i] = wild[(int)(random_unit() * 11)];
        spl_raster r = make(&camera, position, index, 1);
        cover_all(&r, &c);
        for (int i = 0; i < W * H * SPL_SAMPLES; i++) CHECK(!c.hit[i] || isfinite(c.depth[i]));
        for (int i = 0; i < 9; i++)
            if (!isfinite(position[i])) CHECK(r.triangle_count == 0);
        spl_raster_release(&r);
    }
}

/* Blended triangles come after the others in every tile, from far to near. */
TEST(blended_triangles_are_sorted)
{
    enum { N = 60 };
    float position[9 * N];
    int32_t index[3 * N];
    for (int i = 0; i < N; i++) {
        float z = (float)(random_unit() * 10);
        const float p[9] = {0, 0, z, 10, 0, z, 0, -10, z};
        memcpy(position + 9 * i, p, sizeof p);
        for (int k = 0; k < 3; k++) index[3 * i + k] = 3 * i + k;
    }
    spl_geometry g[2] = {{position, index, N / 2, true}, {position, index + 3 * (N / 2), N / 2, false}};
    supple_allocator a = spl_allocator_of(NULL);
    spl_camera camera = plain_camera();
    spl_raster r;
    REQUIRE(spl_raster_init(&r, &camera, W, H, g, 2, &a, NULL) == SUPPLE_OK);
    for (size_t i = r.tile_first[0]; i + 1 < r.tile_first[1]; i++) {
        const spl_raster_triangle *t = &r.triangle[r.tile_item[i]], *next = t;
        next = &r.triangle[r.tile_item[i + 1]];
        CHECK(t->mesh >= next->mesh);
        if (t->mesh == 0) CHECK(t->d[0] <= next->d[0]);
    }
    CHECK(r.tile_first[1] == N);
    spl_raster_release(&r);
}

TEST(every_allocation_may_fail)
{
    const float position[9] = {1, -1, 0, 30, -1, 0, 1, -30, 0};
    const int32_t index[3] = {0, 1, 2};
    spl_geometry g[2] = {{position, index, 1, false}, {position, index, 1, true}};
    spl_camera camera = plain_camera();
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_raster r;
        supple_result result = spl_raster_init(&r, &camera, W, H, g, 2, &a, NULL);
        bool reached = f.requests > n;
        CHECK(result == (reached ? SUPPLE_ERROR_MEMORY : SUPPLE_OK));
        spl_raster_release(&r);
        CHECK(f.live == 0);
        if (!reached) break;
    }
}

TEST_CASES(RUN(coverage_equals_point_in_triangle), RUN(shared_edges_are_hit_exactly_once),
           RUN(a_fan_around_a_sample_covers_it_once), RUN(perspective_weights_equal_the_ray_intersection),
           RUN(near_plane_clips), RUN(wild_coordinates_are_survived), RUN(blended_triangles_are_sorted),
           RUN(every_allocation_may_fail))
