/* Morph targets on a simulated body: displacements that turn with it. */
#include "body/upsample_rig.h"
#include "body/upsample_store.h"

#include <unistd.h>

typedef struct face {
    shape mesh;
    bool *morphs;
    spl_upsample_options options;
    rig r;
    float *delta, *normal_delta;
} face;

/* A head of which every `every`-th vertex is displaced, by up to `size`. */
static face face_make(spl_upsample_kind kind, int every, double size)
{
    face c = {.options = {kind, 20, true}};
    supple_allocator a = spl_allocator_of(NULL);
    c.mesh = shape_head();
    c.r = rig_make(shape_sphere(14, 1), &c.mesh, &c.options, 2);
    size_t n = (size_t)c.r.count;
    c.morphs = calloc(n, 1);
    c.delta = calloc(3 * n, sizeof(float));
    c.normal_delta = calloc(3 * n, sizeof(float));
    for (size_t v = 0; v < n; v += (size_t)every) {
        c.morphs[v] = true;
        spl_v3_to_float(shape_random_point(size), c.delta + 3 * v);
        spl_v3_to_float(shape_random_point(0.5), c.normal_delta + 3 * v);
    }
    c.r.mesh.morphs = c.morphs;
    spl_upsample_frame_destroy(c.r.f);
    spl_upsample_destroy(c.r.u);
    if (spl_upsample_create(c.r.surface, &c.r.mesh, &c.options, c.r.pool, &a, &c.r.u, NULL) != SUPPLE_OK) abort();
    if (spl_upsample_frame_create(c.r.u, &a, &c.r.f, NULL) != SUPPLE_OK) abort();
    return c;
}

static void face_release(face *c)
{
    rig_release(&c->r);
    shape_free(&c->mesh);
    free(c->morphs);
    free(c->delta);
    free(c->normal_delta);
}

static void face_move(face *c, motion *move, const double *parameter, const float *delta, const float *normal_delta)
{
    spl_upsample_input in = {.body = c->r.moved, .delta = delta, .normal_delta = normal_delta};
    spl_upsample_target to = {c->r.out, 12, c->r.normal, 12};
    rig_move_body(&c->r, move, parameter);
    spl_upsample_apply_input(c->r.u, c->r.f, c->r.pool, &in, &to);
}

static spl_vec3 displaced(const face *c, int32_t v)
{
    return spl_add(spl_v3_from_float(c->r.rest + 3 * v), spl_v3_from_float(c->delta + 3 * v));
}

/* How far displaced vertices are from where the motion takes them. */
static double worst_of(face *c, motion *move, const double *parameter)
{
    double worst = 0;
    face_move(c, move, parameter, c->delta, c->normal_delta);
    for (int32_t v = 0; v < c->r.count; v++) {
        double e = spl_distance(move(displaced(c, v), parameter), spl_v3_from_float(c->r.out + 3 * v));
        worst = e >= worst ? e : (isnan(e) ? INFINITY : worst);
    }
    return worst / c->r.diagonal;
}

TEST(the_displaced_mesh_moves_rigidly_with_the_body)
{
    for (int kind = 0; kind < 3; kind++)
        for (int every = 1; every <= 3; every += 2) {
            face c = face_make((spl_upsample_kind)kind, every, 0.3);
            double rest = worst_of(&c, stay, NULL), turned = worst_of(&c, affine, rigid_map);
            double sheared = worst_of(&c, affine, affine_map);
            printf("    rest %.1e, rigid %.1e, affine %.1e of the diagonal; %zu offsets\n", rest, turned, sheared,
                   c.r.u->offset_count);
            CHECK(rest < 1e-6 && turned < 1e-6 && sheared < 1e-6);
            CHECK(c.r.u->vertex[0].frame != -1);
            face_release(&c);
        }
}

TEST(displaced_normals_turn_too)
{
    face c = face_make(SPL_UPSAMPLE_QUADRATIC, 1, 0.3);
    double linear[12] = {0}, worst = 0;
    memcpy(linear, rigid_map, 9 * sizeof(double));
    face_move(&c, affine, rigid_map, c.delta, c.normal_delta);
    for (int32_t v = 0; v < c.r.count; v++) {
        spl_vec3 n = spl_add(spl_v3_from_float(c.r.rest_normal + 3 * v), spl_v3_from_float(c.normal_delta + 3 * v));
        spl_vec3 want = affine(spl_unit(n, n), linear);
        worst = fmax(worst, spl_distance(want, spl_v3_from_float(c.r.normal + 3 * v)));
    }
    printf("    normals off by %.1e\n", worst);
    CHECK(worst < 5e-5);
    face_release(&c);
}

/* Of a bend the rotation is known at every place: what is displaced by d stands R d beside where it would be. */
TEST(displacements_turn_with_a_bend)
{
    double curvature = 0.5, worst = 0, sum = 0;
    face c = face_make(SPL_UPSAMPLE_QUADRATIC, 1, 0.2);
    float *plain = malloc((size_t)c.r.count * 12);
    face_move(&c, bend, &curvature, NULL, NULL);
    memcpy(plain, c.r.out, (size_t)c.r.count * 12);
    face_move(&c, bend, &curvature, c.delta, NULL);
    for (int32_t v = 0; v < c.r.count; v++) {
        spl_vec3 d = spl_v3_from_float(c.delta + 3 * v);
        double a = curvature * (double)c.r.rest[3 * v + 2], cosine = cos(a), sine = sin(a);
        spl_vec3 want = spl_v3(cosine * d.x + sine * d.z, d.y, -sine * d.x + cosine * d.z);
        spl_vec3 got = spl_sub(spl_v3_from_float(c.r.out + 3 * v), spl_v3_from_float(plain + 3 * v));
        double e = spl_distance(want, got) / spl_norm(d);
        worst = fmax(worst, e);
        sum += e;
        CHECK_NEAR(spl_norm(got), spl_norm(d), 2e-6);
    }
    printf("    turned wrongly by %.3f in the mean, %.3f at most\n", sum / c.r.count, worst);
    CHECK(sum / c.r.count < 0.1 && worst < 0.6);
    free(plain);
    face_release(&c);
}

/* Vertices that may be displaced and are not come out as if they could not be. */
TEST(no_displacement_changes_no_bit)
{
    double curvature = 0.4;
    face c = face_make(SPL_UPSAMPLE_QUADRATIC, 2, 0.3);
    size_t size = (size_t)c.r.count * 12;
    float *none = calloc((size_t)c.r.count, 12);
    rig plain = rig_make(shape_sphere(14, 1), &c.mesh, &c.options, 1);
    CHECK(plain.u->offset_count < c.r.u->offset_count);
    for (int i = 0; i < 3; i++) {
        motion *move = i == 0 ? stay : i == 1 ? affine : bend;
        const double *parameter = i == 1 ? affine_map : &curvature;
        rig_move(&plain, move, parameter);
        for (int zeros = 0; zeros < 2; zeros++) {
            face_move(&c, move, parameter, zeros ? none : NULL, zeros ? none : NULL);
            CHECK(!memcmp(plain.out, c.r.out, size) && !memcmp(plain.normal, c.r.normal, size));
        }
        /* and those beside the displaced ones */
        face_move(&c, move, parameter, c.delta, c.normal_delta);
        for (int32_t v = 1; v < c.r.count; v += 2)
            CHECK(!memcmp(plain.out + 3 * v, c.r.out + 3 * v, 12) &&
                  !memcmp(plain.normal + 3 * v, c.r.normal + 3 * v, 12));
    }
    rig_release(&plain);
    free(none);
    face_release(&c);
}

/* A displacement that nobody announced goes along the world's axes, or with the frame that its offset has. */
TEST(displacements_that_were_not_announced)
{
    face c = face_make(SPL_UPSAMPLE_QUADRATIC, 1000000, 0);
    for (int32_t i = 0; i < 3 * c.r.count; i++) c.delta[i] = (float)(0.1 * shape_random());
    CHECK(worst_of(&c, stay, NULL) < 1e-6);
    face_release(&c);
}

TEST(kernels_agree_on_displaced_vertices)
{
    double curvature = 0.3;
    for (int stretched = 0; stretched < 2; stretched++) {
        face c = face_make(SPL_UPSAMPLE_QUADRATIC, 3, 0.3);
        face_move(&c, stretched ? affine : bend, stretched ? affine_map : &curvature, c.delta, c.normal_delta);
        CHECK(c.r.f->stretched == stretched);
        size_t n = (size_t)c.r.count;
        float *out = calloc(n * 8, sizeof(float));
        spl_upsample_target to = {out, 32, out + 4, 32};
        c.r.f->delta = c.delta;
        c.r.f->normal_delta = c.normal_delta;
        spl_upsample_vertices_scalar(c.r.u, c.r.f, &to, 0, n);
        for (size_t i = 0; i < 3 * n; i++) {
            if (c.r.u->vertex[i / 3].count == 0) continue;
            CHECK_NEAR(out[i / 3 * 8 + i % 3], c.r.out[i], 2e-6);
            CHECK_NEAR(out[i / 3 * 8 + 4 + i % 3], c.r.normal[i], 1e-4);
        }
        free(out);
        face_release(&c);
    }
}

TEST(same_bits_with_any_threads_and_from_a_store)
{
    const char *path = "morph.store";
    const spl_store_id id = {"upsample", SPL_UPSAMPLE_STORE_VERSION, {{5, 6}}};
    double curvature = 0.4;
    supple_allocator a = spl_allocator_of(NULL);
    face c = face_make(SPL_UPSAMPLE_QUADRATIC, 3, 0.3);
    spl_upsample *fresh = c.r.u, *back;
    spl_store_writer *w;
    spl_store_reader *reader;
    REQUIRE(spl_store_create(path, &id, NULL, &w, NULL) == SUPPLE_OK);
    CHECK(spl_upsample_put(w, fresh, NULL) == SUPPLE_OK && spl_store_commit(w, NULL) == SUPPLE_OK);
    REQUIRE(spl_store_open(path, &id, NULL, &reader, NULL) == SUPPLE_OK);
    REQUIRE(spl_upsample_take(reader, c.r.surface, &c.r.mesh, &c.options, &a, &back, NULL) == SUPPLE_OK);
    spl_store_close(reader);
    unlink(path);
    size_t size = (size_t)c.r.count * 12;
    float *out = malloc(2 * size), *normal = out + 3 * (size_t)c.r.count;
    face_move(&c, bend, &curvature, c.delta, c.normal_delta);
    memcpy(out, c.r.out, size);
    memcpy(normal, c.r.normal, size);
    spl_pool *pool = c.r.pool;
    for (int i = 0; i < 2; i++) {
        c.r.u = i ? back : fresh;
        c.r.pool = NULL; /* one thread */
        memset(c.r.out, 0, size);
        face_move(&c, bend, &curvature, c.delta, c.normal_delta);
        CHECK(!memcmp(out, c.r.out, size) && !memcmp(normal, c.r.normal, size));
    }
    c.r.pool = pool;
    c.r.u = fresh;
    spl_upsample_destroy(back);
    free(out);
    face_release(&c);
}

TEST_CASES(RUN(the_displaced_mesh_moves_rigidly_with_the_body), RUN(displaced_normals_turn_too),
           RUN(displacements_turn_with_a_bend), RUN(no_displacement_changes_no_bit),
           RUN(displacements_that_were_not_announced), RUN(kernels_agree_on_displaced_vertices),
           RUN(same_bits_with_any_threads_and_from_a_store))
