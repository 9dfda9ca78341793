#include "body/upsample.h"

#include "body/upsample_fit.h"
#include "body/upsample_rig.h"
#include "failing.h"
#include "math/cpu.h"

/* ---- exactness --------------------------------------------------------------------------------------------------- */

static void check_exact(rig *r)
{
    spl_upsample_stats stats = spl_upsample_get_stats(r->u);
    double at_rest = rig_error(r, stay, NULL, NULL), turned = rig_error(r, affine, rigid_map, NULL);
    double sheared = rig_error(r, affine, affine_map, NULL);
    printf("    rest %.1e, rigid %.1e, affine %.1e of the diagonal; %d of %d with a frame, gain %.2f\n",
           at_rest / r->diagonal, turned / r->diagonal, sheared / r->diagonal, stats.framed, stats.skin,
           stats.largest_gain);
    CHECK(at_rest < 1e-6 * r->diagonal);
    CHECK(turned < 1e-6 * r->diagonal);
    CHECK(sheared < 1e-6 * r->diagonal);
}

TEST(rest_rigid_and_affine_motions)
{
    spl_upsample_kind kinds[] = {SPL_UPSAMPLE_QUADRATIC, SPL_UPSAMPLE_LINEAR, SPL_UPSAMPLE_BARYCENTRIC};
    for (int i = 0; i < 3; i++) {
        shape fine = shape_sphere(50, 1);
        spl_upsample_options o = with(kinds[i], 20);
        rig r = rig_make(shape_sphere(10, 1), &fine, &o, 1);
        check_exact(&r);
        rig_release(&r);
        shape_free(&fine);
    }
}

TEST(normals_turn_with_rigid_motions_and_keep_the_rest)
{
    shape fine = shape_torus(40, 1, 0.4);
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(shape_torus(12, 1, 0.4), &fine, &o, 1);
    double linear[12] = {0};
    memcpy(linear, rigid_map, 9 * sizeof(double));
    for (int turned = 0; turned < 2; turned++) {
        rig_move(&r, turned ? affine : stay, rigid_map);
        double worst = 0;
        for (int32_t v = 0; v < r.count; v++) {
            spl_vec3 n = spl_v3_from_float(r.rest_normal + 3 * v);
            if (turned) n = affine(n, linear);
            worst = fmax(worst, spl_distance(n, spl_v3_from_float(r.normal + 3 * v)));
            CHECK_NEAR(spl_norm(spl_v3_from_float(r.normal + 3 * v)), 1, 1e-6);
        }
        printf("    normals off by %.1e\n", worst);
        CHECK(worst < 3e-5); /* the file's normals are floats, and so are the weights that meet nearly equal ones */
    }
    rig_release(&r);
    shape_free(&fine);
}

/* Normals of a bent sphere, against those of the bent fine mesh. */
TEST(normals_of_a_bend)
{
    double curvature = 0.4, sum = 0, worst = 0;
    shape fine = shape_sphere(50, 1);
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(shape_sphere(10, 1), &fine, &o, 1);
    rig_move(&r, bend, &curvature);
    for (int32_t v = 0; v < fine.vertex_count; v++) {
        spl_vec3 p = bend(point_of(fine.position + 3 * v), &curvature);
        memcpy(fine.position + 3 * v, &p, sizeof p);
    }
    spl_surface bent = shape_surface(&fine);
    for (int32_t v = 0; v < r.count; v++) {
        double d = spl_distance(bent.normal[bent.map[v]], spl_v3_from_float(r.normal + 3 * v));
        worst = fmax(worst, d);
        sum += d;
    }
    printf("    normals off by %.4f in the mean, %.4f at most\n", sum / r.count, worst);
    CHECK(sum / r.count < 0.02);
    CHECK(worst < 0.1);
    spl_surface_release(&bent);
    rig_release(&r);
    shape_free(&fine);
}

TEST(weights_sum_to_one)
{
    for (int k = 8; k <= 32; k *= 2) {
        shape fine = shape_torus(30, 1, 0.4);
        spl_upsample_options o = with(SPL_UPSAMPLE_QUADRATIC, k);
        rig r = rig_make(shape_torus(12, 1, 0.4), &fine, &o, 1);
        for (int32_t v = 0; v < r.count; v++) {
            int32_t index[64], n;
            float weight[64];
            double sum = 0;
            n = spl_upsample_weights(r.u, v, 64, index, weight);
            CHECK(n > 0 && n <= k);
            for (int32_t i = 0; i < n; i++) sum += (double)weight[i];
            CHECK_NEAR(sum, 1, 2e-7);
        }
        rig_release(&r);
        shape_free(&fine);
    }
}

/* Flat faces: neighbours are coplanar, and visual vertices lie off the faces (a larger and a smaller box). */
TEST(cube_with_vertices_off_its_faces)
{
    double sizes[] = {1, 1.04, 0.97};
    for (int i = 0; i < 3; i++) {
        shape fine = shape_box(17, sizes[i], sizes[i], sizes[i]);
        for (int32_t v = 0; v < 3 * fine.vertex_count; v++) fine.position[v] += (1 - sizes[i]) / 2;
        spl_upsample_options o = spl_upsample_options_default();
        rig r = rig_make(shape_box(8, 1, 1, 1), &fine, &o, 1);
        check_exact(&r);
        rig_release(&r);
        shape_free(&fine);
    }
}

/* An offset from a flat sheet keeps its length and stays along the normal when the sheet is sheared in its plane. */
TEST(offset_of_a_flat_sheet)
{
    static const double stretch[12] = {2, 0, 0, 0, 0.5, 0, 0, 0, 3, 0, 0, 0};
    shape fine = shape_grid(13, 13, shape_at_plane, (double[]){1, 1});
    for (int32_t v = 0; v < fine.vertex_count; v++) fine.position[3 * v + 2] = 0.05;
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(shape_grid(7, 7, shape_at_plane, (double[]){1, 1}), &fine, &o, 1);
    rig_move(&r, affine, stretch);
    for (int32_t v = 0; v < r.count; v++) {
        CHECK_NEAR(r.out[3 * v], 2 * r.rest[3 * v], 1e-6);
        CHECK_NEAR(r.out[3 * v + 1], 0.5F * r.rest[3 * v + 1], 1e-6);
        CHECK_NEAR(r.out[3 * v + 2], 0.05, 1e-6);
    }
    rig_release(&r);
    shape_free(&fine);
}

/* Where ten monomials are determined by the neighbours, any quadratic motion is exact. */
TEST(quadratic_motions_are_exact_in_space)
{
    spl_patch patch = {.count = 30};
    spl_fit fit;
    spl_vec3 at = spl_v3(0.1, -0.05, 0.2);
    for (int i = 0; i < patch.count; i++) {
        patch.point[i] = shape_random_point(1);
        patch.w[i] = 1.0 / patch.count;
    }
    spl_fit_positions(&patch, at, at, 2, false, &fit);
    CHECK(fit.left_out == 0);
    double m[10] = {0}, q[3] = {at.x, at.y, at.z};
    for (int i = 0; i < patch.count; i++) {
        double p[3] = {patch.point[i].x, patch.point[i].y, patch.point[i].z};
        m[0] += fit.weight[i];
        for (int a = 0; a < 3; a++) m[1 + a] += fit.weight[i] * p[a];
        for (int a = 0; a < 6; a++) m[4 + a] += fit.weight[i] * p[a % 3] * p[(a + a / 3) % 3];
    }
    CHECK_NEAR(m[0], 1, 1e-12);
    for (int a = 0; a < 3; a++) CHECK_NEAR(m[1 + a], q[a], 1e-12);
    for (int a = 0; a < 6; a++) CHECK_NEAR(m[4 + a], q[a % 3] * q[(a + a / 3) % 3], 1e-12);
}

TEST(eigenvectors)
{
    for (int trial = 0; trial < 50; trial++) {
        double a[36], copy[36], value[6], v[36];
        for (int i = 0; i < 6; i++)
            for (int j = 0; j <= i; j++) a[6 * i + j] = a[6 * j + i] = trial == 0 ? 0 : shape_random();
        memcpy(copy, a, sizeof a);
        spl_fit_eigen(6, a, value, v);
        for (int b = 0; b < 6; b++) {
            CHECK(b == 0 || value[b] <= value[b - 1]);
            for (int i = 0; i < 6; i++) {
                double product = 0, dot = 0;
                for (int j = 0; j < 6; j++) product += copy[6 * i + j] * v[6 * b + j];
                for (int j = 0; j < 6; j++) dot += v[6 * b + j] * v[6 * i + j];
                CHECK_NEAR(product, value[b] * v[6 * b + i], 1e-13);
                CHECK_NEAR(dot, i == b, 1e-13);
            }
        }
    }
}

/* An icosahedron whose edges are divided in n, on the unit sphere: 10 n^2 + 2 vertices after welding, evenly spread.
 * (Round the pole of a sphere of meridians 20 neighbours are one circle, which determines no quadratic function.) */
static shape ball(int n)
{
    static const double g = 1.6180339887498949;
    static const int corner[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                      {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                      {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                      {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
    const spl_vec3 vertex[12] = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                                 {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
    shape s = shape_new(60 * n * n, 20 * n * n);
    int v = 0;
    for (int f = 0; f < 20; f++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n - i; j++)
                for (int up = 0; up < 2; up++) {
                    int at[2][3][2] = {{{i, j}, {i + 1, j}, {i, j + 1}}, {{i + 1, j}, {i + 1, j + 1}, {i, j + 1}}};
                    if (up && i + j + 2 > n) continue;
                    for (int k = 0; k < 3; k++, v++) {
                        double a = (double)at[up][k][0] / n, b = (double)at[up][k][1] / n;
                        spl_vec3 p =
                            spl_madd(spl_madd(spl_scale(vertex[corner[f][0]], 1 - a - b), vertex[corner[f][1]], a),
                                     vertex[corner[f][2]], b);
                        p = spl_unit(p, p);
                        memcpy(s.position + 3 * v, &p, sizeof p);
                        s.triangle[v] = v;
                    }
                }
    return s;
}

/* ---- quality ----------------------------------------------------------------------------------------------------- */

TEST(quadratic_beats_linear_beats_nothing)
{
    shape fine = shape_sphere(50, 1);
    double curvature = 0.5, rms[3];
    spl_upsample_kind kinds[] = {SPL_UPSAMPLE_QUADRATIC, SPL_UPSAMPLE_LINEAR, SPL_UPSAMPLE_BARYCENTRIC};
    for (int i = 0; i < 3; i++) {
        spl_upsample_options o = with(kinds[i], 20);
        rig r = rig_make(ball(4), &fine, &o, 1);
        double worst = rig_error(&r, bend, &curvature, &rms[i]);
        spl_upsample_stats s = spl_upsample_get_stats(r.u);
        printf("    %s: rms %.2e, worst %.2e; %d body vertices, %d visual, %d reduced, %d linear, %d corners\n",
               i == 0   ? "quadratic"
               : i == 1 ? "linear"
                        : "barycentric",
               rms[i], worst, r.surface->vertex_count, s.skin, s.reduced, s.linear, s.corners);
        rig_release(&r);
    }
    CHECK(rms[0] * 3 < rms[1]);
    CHECK(rms[0] < rms[2]);
    shape_free(&fine);
}

/* ---- equality ---------------------------------------------------------------------------------------------------- */

TEST(same_bits_at_any_number_of_threads)
{
    shape fine = shape_torus(60, 1, 0.4);
    double curvature = 0.3;
    spl_upsample_options o = spl_upsample_options_default();
    rig one = rig_make(shape_torus(20, 1, 0.4), &fine, &o, 1);
    rig_move(&one, bend, &curvature);
    for (int32_t threads = 2; threads <= 5; threads++) {
        rig r = rig_make(shape_torus(20, 1, 0.4), &fine, &o, threads);
        rig_move(&r, bend, &curvature);
        CHECK(memcmp(one.out, r.out, (size_t)r.count * 12) == 0);
        CHECK(memcmp(one.normal, r.normal, (size_t)r.count * 12) == 0);
        rig_release(&r);
    }
    rig_release(&one);
    shape_free(&fine);
}

TEST(seams_stay_closed)
{
    shape fine = shape_box(12, 1.02, 1.02, 1.02); /* three vertices at each corner, with normals of their own */
    double curvature = 0.4;
    int pairs = 0;
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(shape_box(6, 1, 1, 1), &fine, &o, 2);
    rig_move(&r, bend, &curvature);
    for (int32_t v = 0; v < r.count; v++)
        for (int32_t w = 0; w < v; w++)
            if (!memcmp(r.rest + 3 * v, r.rest + 3 * w, 12)) {
                CHECK(!memcmp(r.out + 3 * v, r.out + 3 * w, 12));
                pairs++;
            }
    CHECK(pairs > 100);
    rig_release(&r);
    shape_free(&fine);
}

TEST(kernels_and_inputs_agree)
{
    shape fine = shape_torus(30, 1, 0.4);
    double curvature = 0.3;
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(shape_torus(12, 1, 0.4), &fine, &o, 1);
    rig_move(&r, bend, &curvature);
    size_t n = (size_t)r.count;
    float *out = calloc(n * 8, sizeof(float)), *body = calloc((size_t)r.body.vertex_count * 3, sizeof(float));
    spl_upsample_target to = {out, 32, out + 4, 32}; /* interleaved, with room between that nobody touches */
    spl_upsample_vertices_scalar(r.u, r.f, &to, 0, n);
    for (size_t i = 0; i < 3 * n; i++) {
        CHECK_NEAR(out[i / 3 * 8 + i % 3], r.out[i], 2e-6);
        CHECK_NEAR(out[i / 3 * 8 + 4 + i % 3], r.normal[i], 1e-4);
        CHECK(out[i / 3 * 8 + 3] == 0 && out[i / 3 * 8 + 7] == 0);
    }
    for (int32_t i = 0; i < 3 * r.body.vertex_count; i++) body[i] = (float)r.moved[i];
    spl_upsample_apply_float(r.u, r.f, r.pool, body, &to);
    for (size_t i = 0; i < 3 * n; i++) CHECK_NEAR(out[i / 3 * 8 + i % 3], r.out[i], 2e-6);
    free(out);
    free(body);
    rig_release(&r);
    shape_free(&fine);
}

/* The body's own normals, by both kernels, whole and in pieces that are no multiples of eight. */
TEST(kernels_agree_on_the_body)
{
#ifndef SPL_HAVE_AVX2
    SKIP("there is one kernel only");
#else
    if (!spl_cpu_has_avx2()) SKIP("no AVX2 here");
    shape fine = shape_torus(10, 1, 0.4);
    double curvature = 0.3;
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(shape_sphere(13, 1), &fine, &o, 1); /* many triangles meet at its poles */
    rig_move(&r, bend, &curvature);
    size_t n = (size_t)r.surface->vertex_count, t = (size_t)r.surface->triangle_count;
    float *face = malloc(16 * t), *point = malloc(32 * n);
    spl_upsample_faces_scalar(r.u, r.f, 0, t);
    spl_upsample_normals_scalar(r.u, r.f, 0, n);
    memcpy(face, r.f->face, 16 * t);
    memcpy(point, r.f->point, 32 * n);
    memset(r.f->face, 0, 16 * t);
    for (size_t i = 0; i < n; i++) memset(r.f->point + 8 * i + 4, 0, 16);
    for (size_t i = 0; i < t; i += 7) spl_upsample_faces_avx2(r.u, r.f, i, i + 7 < t ? i + 7 : t);
    for (size_t i = 0; i < n; i += 11) spl_upsample_normals_avx2(r.u, r.f, i, i + 11 < n ? i + 11 : n);
    for (size_t i = 0; i < 4 * t; i++) CHECK_NEAR(face[i], r.f->face[i], 1e-7);
    for (size_t i = 0; i < 8 * n; i++) CHECK_NEAR(point[i], r.f->point[i], 2e-6);
    free(face);
    free(point);
    rig_release(&r);
    shape_free(&fine);
#endif
}

TEST(scale_changes_nothing)
{
    double curvature = 0.5, reference = 0;
    for (int power = -3; power <= 3; power += 3) {
        double scale = pow(10, power);
        shape body = shape_sphere(10, 1), fine = shape_sphere(30, 1.01);
        for (int32_t i = 0; i < 3 * body.vertex_count; i++) body.position[i] *= scale;
        for (int32_t i = 0; i < 3 * fine.vertex_count; i++) fine.position[i] *= scale;
        spl_upsample_options o = spl_upsample_options_default();
        rig r = rig_make(body, &fine, &o, 1);
        double scaled = curvature / scale, error = rig_error(&r, bend, &scaled, NULL) / scale;
        if (power == -3) reference = error;
        CHECK_NEAR(error, reference, 1e-5);
        rig_release(&r);
        shape_free(&fine);
    }
}

/* ---- bad input --------------------------------------------------------------------------------------------------- */

static void check_finite(rig *r)
{
    for (int32_t i = 0; i < 3 * r->count; i++) CHECK(isfinite(r->out[i]) && isfinite(r->normal[i]));
}

TEST(one_triangle)
{
    shape body = shape_new(3, 1), fine = shape_sphere(6, 0.5);
    double corner[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    int32_t triangle[3] = {0, 1, 2};
    memcpy(body.position, corner, sizeof corner);
    memcpy(body.triangle, triangle, sizeof triangle);
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(body, &fine, &o, 1);
    CHECK(rig_error(&r, stay, NULL, NULL) < 1e-6);
    CHECK(rig_error(&r, affine, rigid_map, NULL) < 2e-6);
    rig_move(&r, collapse, NULL);
    check_finite(&r);
    rig_release(&r);
    shape_free(&fine);
}

TEST(degenerate_body)
{
    shape body = shape_soup(40, 0.3), fine = shape_sphere(20, 1);
    for (int32_t t = 0; t < 10; t++) { /* slivers: three corners on a line */
        double *p = body.position + 9 * t;
        for (int c = 0; c < 3; c++) p[6 + c] = (p[c] + p[3 + c]) / 2;
    }
    spl_upsample_options o = spl_upsample_options_default();
    for (int kind = 0; kind < 3; kind++) {
        o.kind = (spl_upsample_kind)kind;
        rig r = rig_make(body, &fine, &o, 1);
        CHECK(rig_error(&r, stay, NULL, NULL) < 2e-6 * r.diagonal);
        rig_move(&r, affine, affine_map);
        check_finite(&r);
        rig_move(&r, collapse, NULL);
        check_finite(&r);
        r.body = (shape){0};
        rig_release(&r);
    }
    shape_free(&body);
    shape_free(&fine);
}

TEST(vertices_that_are_not_finite_stay)
{
    shape body = shape_sphere(8, 1);
    spl_surface surface = shape_surface(&body);
    float position[9] = {NAN, 0, 0, 0, 0, 1, 0, INFINITY, 0}, normal[9] = {NAN, 0, 0, 0, 0, 1, 0, 0, 0}, out[9],
          turned[9];
    spl_upsample_visual visual = {.vertex_count = 3, .position = position, .normal = normal};
    spl_upsample_options o = spl_upsample_options_default();
    supple_allocator a = spl_allocator_of(NULL);
    spl_upsample *u;
    spl_upsample_frame *f;
    REQUIRE(spl_upsample_create(&surface, &visual, &o, NULL, &a, &u, NULL) == SUPPLE_OK);
    REQUIRE(spl_upsample_frame_create(u, &a, &f, NULL) == SUPPLE_OK);
    spl_upsample_target to = {out, 12, turned, 12};
    spl_upsample_apply(u, f, NULL, body.position, &to);
    CHECK(isnan(out[0]) && isinf(out[7]));
    CHECK_NEAR(out[5], 1, 1e-6);
    spl_upsample_frame_destroy(f);
    spl_upsample_destroy(u);
    spl_surface_release(&surface);
    shape_free(&body);
}

TEST(refusals)
{
    shape body = shape_sphere(8, 1);
    spl_surface surface = shape_surface(&body), empty = {0};
    float position[3] = {0, 0, 1};
    int32_t bad[3] = {0, 0, 1};
    spl_upsample_visual visual = {.vertex_count = 1, .position = position};
    spl_upsample_options o = spl_upsample_options_default();
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error;
    spl_upsample *u = (spl_upsample *)&o;
    CHECK(spl_upsample_create(&empty, &visual, &o, NULL, &a, &u, &error) == SUPPLE_ERROR_INPUT && !u);
    o.neighbours = 2;
    CHECK(spl_upsample_create(&surface, &visual, &o, NULL, &a, &u, &error) == SUPPLE_ERROR_ARGUMENT && !u);
    o.neighbours = 65;
    CHECK(spl_upsample_create(&surface, &visual, &o, NULL, &a, &u, &error) == SUPPLE_ERROR_ARGUMENT && !u);
    o.neighbours = 20;
    visual.triangle = bad;
    visual.triangle_count = 1;
    CHECK(spl_upsample_create(&surface, &visual, &o, NULL, &a, &u, &error) == SUPPLE_ERROR_ARGUMENT && !u);
    visual = (spl_upsample_visual){0};
    CHECK(spl_upsample_create(&surface, &visual, &o, NULL, &a, &u, &error) == SUPPLE_OK && u);
    spl_upsample_destroy(u);
    spl_surface_release(&surface);
    shape_free(&body);
}

TEST(every_allocation_may_fail)
{
    shape body = shape_sphere(6, 1), fine = shape_sphere(9, 1.05);
    spl_surface surface = shape_surface(&body);
    float *position = calloc((size_t)fine.vertex_count * 3, sizeof(float));
    for (int32_t i = 0; i < 3 * fine.vertex_count; i++) position[i] = (float)fine.position[i] * (i < 90 ? 0.1F : 1);
    spl_upsample_visual visual = {.vertex_count = fine.vertex_count,
                                  .position = position,
                                  .normal = position,
                                  .triangle_count = fine.triangle_count,
                                  .triangle = fine.triangle};
    spl_upsample_options o = spl_upsample_options_default();
    long n = 0;
    for (bool done = false; !done && n < 1000; n++) {
        failing state = {.fail_at = n};
        supple_allocator a = failing_allocator(&state);
        spl_upsample *u;
        spl_upsample_frame *f = NULL;
        supple_error error = {0};
        supple_result result = spl_upsample_create(&surface, &visual, &o, NULL, &a, &u, &error);
        if (result == SUPPLE_OK) {
            result = spl_upsample_frame_create(u, &a, &f, &error);
            CHECK((result == SUPPLE_OK) == (f != NULL));
        } else
            CHECK(u == NULL);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        done = state.requests <= n; /* shrinking a block may fail without harm */
        spl_upsample_frame_destroy(f);
        spl_upsample_destroy(u);
        CHECK(state.live == 0);
    }
    CHECK(n > 40);
    free(position);
    spl_surface_release(&surface);
    shape_free(&body);
    shape_free(&fine);
}

/* ---- a character ------------------------------------------------------------------------------------------------- */

TEST(a_person)
{
    shape fine = shape_character("person.glb"), body = shape_character("person.glb");
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(body, &fine, &o, 2); /* its own body: nothing but the neighbours can go wrong */
    spl_upsample_stats s = spl_upsample_get_stats(r.u);
    printf("    %d points: %d quadratic, %d reduced, %d linear, %d corners, %d follow, %d framed; %d dropped, %d "
           "redirected, gain %.2f\n",
           s.vertices, s.quadratic, s.reduced, s.linear, s.corners, s.follow, s.framed, s.dropped, s.redirected,
           s.largest_gain);
    CHECK(rig_error(&r, stay, NULL, NULL) < 1e-6 * r.diagonal);
    CHECK(rig_error(&r, affine, affine_map, NULL) < 2e-6 * r.diagonal);
    rig_release(&r);
    shape_free(&fine);
}

TEST_CASES(RUN(rest_rigid_and_affine_motions), RUN(normals_turn_with_rigid_motions_and_keep_the_rest),
           RUN(normals_of_a_bend), RUN(weights_sum_to_one), RUN(cube_with_vertices_off_its_faces),
           RUN(offset_of_a_flat_sheet), RUN(quadratic_motions_are_exact_in_space), RUN(eigenvectors),
           RUN(quadratic_beats_linear_beats_nothing), RUN(same_bits_at_any_number_of_threads), RUN(seams_stay_closed),
           RUN(kernels_and_inputs_agree), RUN(kernels_agree_on_the_body), RUN(scale_changes_nothing), RUN(one_triangle),
           RUN(degenerate_body), RUN(vertices_that_are_not_finite_stay), RUN(refusals), RUN(every_allocation_may_fail),
           RUN(a_person))
