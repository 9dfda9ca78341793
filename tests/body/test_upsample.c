#include "body/upsample.h"

#include "body/upsample_fit.h"
#include "body/upsample_rig.h"
#include "failing.h"
#include "math/cpu.h"

/* ---- exactness --------------------------------------------------------------------------------------------------- */

/* Rest and rigid motions everywhere, affine ones wherever there is no frame: at all vertices if `affine_too`. */
static void check_exact(rig *r, bool affine_too)
{
    spl_upsample_stats stats = spl_upsample_get_stats(r->u);
    double at_rest = rig_error(r, stay, NULL, NULL), turned = rig_error(r, affine, rigid_map, NULL);
    double sheared = rig_error(r, affine, affine_map, NULL), limit = 1e-6 * r->diagonal;
    printf("    rest %.1e, rigid %.1e, affine %.1e of the diagonal; %d of %d with a frame, gain %.2f\n",
           at_rest / r->diagonal, turned / r->diagonal, sheared / r->diagonal, stats.framed, stats.skin,
           stats.largest_gain);
    CHECK(at_rest < limit);
    CHECK(turned < limit);
    CHECK((stats.framed == 0) == affine_too);
    for (int32_t v = 0; v < r->count; v++)
        if (affine_too || r->u->vertex[v].frame < 0)
            CHECK(spl_distance(affine(spl_v3_from_float(r->rest + 3 * v), affine_map),
                               spl_v3_from_float(r->out + 3 * v)) < limit);
}

TEST(rest_rigid_and_affine_motions)
{
    spl_upsample_kind kinds[] = {SPL_UPSAMPLE_QUADRATIC, SPL_UPSAMPLE_LINEAR, SPL_UPSAMPLE_BARYCENTRIC};
    for (int i = 0; i < 3; i++) {
        shape fine = shape_sphere(50, 1);
        spl_upsample_options o = with(kinds[i], 20);
        rig r = rig_make(shape_sphere(10, 1), &fine, &o, 1, NULL);
        check_exact(&r, i < 2);
        rig_release(&r);
        shape_free(&fine);
    }
}

/* A body in one point takes its skin there, offsets included: the patch has no frame to carry them. */
TEST(constants)
{
    spl_upsample_kind kinds[] = {SPL_UPSAMPLE_QUADRATIC, SPL_UPSAMPLE_LINEAR, SPL_UPSAMPLE_BARYCENTRIC};
    for (int i = 0; i < 3; i++) {
        shape fine = shape_sphere(20, 1.05);
        spl_upsample_options o = with(kinds[i], 20);
        rig r = rig_make(shape_sphere(10, 1), &fine, &o, 1, NULL);
        CHECK(rig_error(&r, collapse, NULL, NULL) == 0);
        for (int32_t v = 0; v < 3 * r.count; v++) CHECK(isfinite(r.normal[v]));
        rig_release(&r);
        shape_free(&fine);
    }
}

TEST(normals_turn_with_rigid_motions_and_keep_the_rest)
{
    shape fine = shape_torus(40, 1, 0.4);
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(shape_torus(12, 1, 0.4), &fine, &o, 1, NULL);
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
    rig r = rig_make(shape_sphere(10, 1), &fine, &o, 1, NULL);
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
        rig r = rig_make(shape_torus(12, 1, 0.4), &fine, &o, 1, NULL);
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
        rig r = rig_make(shape_box(8, 1, 1, 1), &fine, &o, 1, NULL);
        check_exact(&r, i == 0);
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
    rig r = rig_make(shape_grid(7, 7, shape_at_plane, (double[]){1, 1}), &fine, &o, 1, NULL);
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

/* ---- quality ----------------------------------------------------------------------------------------------------- */

/* A sphere of about 6 n n vertices that are spread evenly: a cube's, by angles. */
static shape even_sphere(int n)
{
    shape s = shape_box(n, 2, 2, 2);
    for (int32_t v = 0; v < s.vertex_count; v++) {
        double *p = s.position + 3 * v;
        for (int i = 0; i < 3; i++) p[i] = tan(p[i] * shape_pi / 4);
        double length = spl_norm(point_of(p));
        for (int i = 0; i < 3; i++) p[i] /= length;
    }
    return s;
}

/* The bend's second-order part. */
static spl_vec3 quadratic_bend(spl_vec3 p, const double *parameter)
{
    double c = parameter[0];
    return spl_v3(p.x + c * p.z * p.z / 2, p.y, p.z - c * p.x * p.z);
}

/* Errors of the three kinds under a bend. */
static void compare_kinds(shape (*sphere)(int), int coarse, int detailed, double rms[3], double *pure)
{
    static const char *const name[] = {"quadratic", "linear", "barycentric"};
    double curvature = 0.5;
    shape fine = sphere(detailed);
    for (int i = 0; i < 3; i++) {
        spl_upsample_options o = with((spl_upsample_kind)i, 20);
        rig r = rig_make(sphere(coarse), &fine, &o, 1, NULL);
        double worst = rig_error(&r, bend, &curvature, &rms[i]);
        spl_upsample_stats s = spl_upsample_get_stats(r.u);
        printf("    %-11s rms %.2e, worst %.2e; %d body vertices, %d visual; %d reduced, %d linear, %d corners\n",
               name[i], rms[i], worst, r.surface->vertex_count, s.skin, s.reduced, s.linear, s.corners);
        if (i == 0) *pure = rig_error(&r, quadratic_bend, &curvature, NULL);
        rig_release(&r);
    }
    printf("    linear / quadratic %.2f, barycentric / linear %.2f\n", rms[1] / rms[0], rms[2] / rms[1]);
    shape_free(&fine);
}

TEST(quadratic_beats_linear_beats_barycentric)
{
    double rms[3], pure;
    compare_kinds(even_sphere, 6, 29, rms, &pure);
    CHECK(rms[0] * 3 < rms[1]);
    CHECK(rms[1] < rms[2]);
    CHECK(pure < 1e-6);
}

static shape polar_sphere(int n)
{
    return shape_sphere(n, 1);
}

/* At the poles of a sphere of parallels and meridians the 20 nearest neighbours are the pole and one ring about it,
 * which do not tell xn and yn from x and y (n along the normal, constant on the ring). Measured within 15 degrees of
 * them: 1.4 times better than linear, and nearly all of the error. The fade of ill-determined directions costs the rest
 * (2.45 without it). */
TEST(poles_cost_part_of_the_gain)
{
    double rms[3], pure;
    compare_kinds(polar_sphere, 10, 50, rms, &pure);
    CHECK(rms[0] * 2 < rms[1]);
    CHECK(rms[1] < rms[2]);
}

/* ---- equality ---------------------------------------------------------------------------------------------------- */

TEST(same_bits_at_any_number_of_threads)
{
    shape fine = shape_torus(60, 1, 0.4);
    double curvature = 0.3;
    spl_upsample_options o = spl_upsample_options_default();
    rig one = rig_make(shape_torus(20, 1, 0.4), &fine, &o, 1, NULL);
    rig_move(&one, bend, &curvature);
    int32_t threads[] = {2, 3, 7};
    for (int i = 0; i < 3; i++) {
        rig r = rig_make(shape_torus(20, 1, 0.4), &fine, &o, threads[i], NULL);
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
    rig r = rig_make(shape_box(6, 1, 1, 1), &fine, &o, 2, NULL);
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

/* On the surface and off it, which takes frames; for even and odd numbers of neighbours. */
static void check_kernels(double radius, int32_t k)
{
    shape fine = shape_torus(30, 1, radius);
    double curvature = 0.3;
    spl_upsample_options o = with(SPL_UPSAMPLE_QUADRATIC, k);
    rig r = rig_make(shape_torus(12, 1, 0.4), &fine, &o, 1, NULL);
    rig_move(&r, bend, &curvature);
    size_t n = (size_t)r.count;
    float *out = calloc(n * 8, sizeof(float)), *body = calloc((size_t)r.body.vertex_count * 3, sizeof(float));
    spl_upsample_target to = {out, 32, out + 4, 32}; /* interleaved, with room between that nobody touches */
    spl_upsample_vertices_scalar(r.u, r.f, &to, 0, n);
    for (size_t i = 0; i < 3 * n; i++) {
        CHECK_NEAR(out[i / 3 * 8 + i % 3], r.out[i], 2e-6);
        CHECK_NEAR(out[i / 3 * 8 + 4 + i % 3], r.normal[i], 1e-5);
        CHECK(out[i / 3 * 8 + 3] == 0 && out[i / 3 * 8 + 7] == 0);
    }
    for (int32_t i = 0; i < 3 * r.body.vertex_count; i++) body[i] = (float)r.moved[i];
    spl_upsample_apply_float(r.u, r.f, r.pool, body, &to);
    for (size_t i = 0; i < 3 * n; i++) CHECK_NEAR(out[i / 3 * 8 + i % 3], r.out[i], 2e-6);
    CHECK(radius == 0.4 || spl_upsample_get_stats(r.u).framed > 100);
    free(out);
    free(body);
    rig_release(&r);
    shape_free(&fine);
}

TEST(kernels_and_inputs_agree)
{
    check_kernels(0.4, 20);
    check_kernels(0.48, 20);
    check_kernels(0.48, 7);
    check_kernels(0.4, 13);
    if (!spl_cpu_has_avx2()) SKIP("no AVX2 here: the scalar kernel was compared with itself");
}

static rig scaled_rig(shape (*sphere)(int), int coarse, int detailed, double scale)
{
    double curvature = 0.5 / scale;
    shape body = sphere(coarse), fine = sphere(detailed);
    for (int32_t i = 0; i < 3 * body.vertex_count; i++) body.position[i] *= scale;
    for (int32_t i = 0; i < 3 * fine.vertex_count; i++) fine.position[i] *= 1.01 * scale;
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(body, &fine, &o, 1, NULL);
    rig_move(&r, bend, &curvature);
    shape_free(&fine);
    return r;
}

static void check_scales(shape (*sphere)(int), int coarse, int detailed, double normals_to)
{
    double scales[] = {1e-3, 1e-2, 0.1, 10, 100, 1e3};
    rig one = scaled_rig(sphere, coarse, detailed, 1);
    spl_upsample_stats t = spl_upsample_get_stats(one.u);
    for (int k = 0; k < 6; k++) {
        rig r = scaled_rig(sphere, coarse, detailed, scales[k]);
        spl_upsample_stats s = spl_upsample_get_stats(r.u);
        CHECK(s.reduced == t.reduced && s.linear == t.linear && s.corners == t.corners && s.follow == t.follow);
        for (int32_t i = 0; i < 3 * r.count; i++) {
            CHECK_NEAR((double)r.out[i] / scales[k], one.out[i], 2e-6);
            CHECK_NEAR(r.normal[i], one.normal[i], normals_to);
        }
        rig_release(&r);
    }
    rig_release(&one);
}

TEST(scale_changes_nothing)
{
    check_scales(even_sphere, 6, 17, 2e-5);
    /* About a pole 20 vertices are at one distance, 19 of them neighbours, and rounding chooses which. */
    check_scales(polar_sphere, 10, 30, 2e-4);
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
    rig r = rig_make(body, &fine, &o, 1, NULL);
    CHECK(rig_error(&r, stay, NULL, NULL) < 1e-6);
    CHECK(rig_error(&r, affine, rigid_map, NULL) < 2e-6);
    rig_move(&r, collapse, NULL);
    check_finite(&r);
    rig_release(&r);
    shape_free(&fine);
}

/* A tetrahedron and a cube have fewer vertices than k. */
TEST(fewer_vertices_than_neighbours)
{
    double corner[12] = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1};
    int32_t triangle[12] = {0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2};
    for (int kind = 0; kind < 3; kind++)
        for (int box = 0; box < 2; box++) {
            shape body = box ? shape_box(1, 2, 2, 2) : shape_new(4, 4), fine = shape_box(5, 2, 2, 2);
            if (!box) {
                memcpy(body.position, corner, sizeof corner);
                memcpy(body.triangle, triangle, sizeof triangle);
            }
            spl_upsample_options o = with((spl_upsample_kind)kind, 64);
            rig r = rig_make(body, &fine, &o, 1, NULL);
            CHECK(rig_error(&r, stay, NULL, NULL) < 1e-6 * r.diagonal);
            CHECK(rig_error(&r, affine, rigid_map, NULL) < 1e-6 * r.diagonal);
            rig_move(&r, collapse, NULL);
            check_finite(&r);
            rig_release(&r);
            shape_free(&fine);
        }
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
        rig r = rig_make(body, &fine, &o, 1, NULL);
        CHECK(rig_error(&r, stay, NULL, NULL) < 1e-6 * r.diagonal);
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
    CHECK(out[1] == 0 && out[2] == 0 && out[6] == 0 && out[8] == 0);
    CHECK_NEAR(out[5], 1, 1e-6);
    for (int i = 0; i < 9; i++) CHECK(isfinite(turned[i]) && (i / 3 != 1 || isfinite(out[i])));
    CHECK(spl_upsample_get_stats(u).vertices == 3 && spl_upsample_get_stats(u).skin == 1);
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
    bool *follow = calloc((size_t)fine.vertex_count, 1);
    for (int32_t i = 0; i < 3 * fine.vertex_count; i++) position[i] = (float)fine.position[i] * (i < 90 ? 0.1F : 1);
    for (int32_t i = 0; i < 30; i++) follow[i] = true;
    spl_upsample_visual visual = {.vertex_count = fine.vertex_count,
                                  .position = position,
                                  .normal = position,
                                  .triangle_count = fine.triangle_count,
                                  .triangle = fine.triangle,
                                  .follow = follow};
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
    free(follow);
    spl_surface_release(&surface);
    shape_free(&body);
    shape_free(&fine);
}

/* ---- a character ------------------------------------------------------------------------------------------------- */

TEST(makehuman)
{
    shape fine = shape_asset("MakeHuman_Male_CMU.glb");
    if (fine.vertex_count == 0) SKIP("../shared is not there");
    shape body = shape_asset("MakeHuman_Male_CMU.glb");
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(body, &fine, &o, 2, NULL); /* its own body: nothing but the neighbours can go wrong */
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

TEST_MAIN(RUN(rest_rigid_and_affine_motions), RUN(constants), RUN(normals_turn_with_rigid_motions_and_keep_the_rest),
          RUN(normals_of_a_bend), RUN(weights_sum_to_one), RUN(cube_with_vertices_off_its_faces),
          RUN(offset_of_a_flat_sheet), RUN(quadratic_motions_are_exact_in_space), RUN(eigenvectors),
          RUN(quadratic_beats_linear_beats_barycentric), RUN(poles_cost_part_of_the_gain),
          RUN(same_bits_at_any_number_of_threads), RUN(seams_stay_closed), RUN(kernels_and_inputs_agree),
          RUN(scale_changes_nothing), RUN(one_triangle), RUN(fewer_vertices_than_neighbours), RUN(degenerate_body),
          RUN(vertices_that_are_not_finite_stay), RUN(refusals), RUN(every_allocation_may_fail), RUN(makehuman))
