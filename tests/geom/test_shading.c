#include "core/memory.h"
#include "geom/shading.h"
#include "math/vec3.h"
#include "test.h"

enum { RINGS = 48, SEGMENTS = 96 };

typedef struct mesh {
    int32_t vertex_count, triangle_count;
    float *position, *normal, *tangent, *out;
    int32_t *triangle;
} mesh;

/* A UV sphere whose seam and poles are duplicated, as exporters do. Tangents run along the parallels. */
static mesh make_sphere(void)
{
    mesh m = {.vertex_count = (RINGS + 1) * (SEGMENTS + 1)};
    size_t n = (size_t)m.vertex_count;
    m.position = calloc(3 * n, sizeof(float));
    m.normal = calloc(3 * n, sizeof(float));
    m.tangent = calloc(4 * n, sizeof(float));
    m.out = calloc(4 * n, sizeof(float));
    m.triangle = calloc(6 * RINGS * SEGMENTS, sizeof(int32_t));
    float *p = m.position, *t = m.tangent;
    for (int i = 0; i <= RINGS; i++)
        for (int j = 0; j <= SEGMENTS; j++, p += 3, t += 4) {
            double a = M_PI * i / RINGS, b = 2 * M_PI * (j % SEGMENTS) / SEGMENTS;
            double s = i == 0 || i == RINGS ? 0 : sin(a); /* one point at a pole */
            spl_v3_to_float(spl_v3(s * cos(b), cos(a), -s * sin(b)), p);
            spl_v3_to_float(spl_v3(-sin(b), 0, -cos(b)), t);
            t[3] = -1;
        }
    memcpy(m.normal, m.position, 3 * n * sizeof(float));
    int32_t *q = m.triangle;
    for (int i = 0; i < RINGS; i++)
        for (int j = 0; j < SEGMENTS; j++) {
            int a = i * (SEGMENTS + 1) + j, b = a + SEGMENTS + 1;
            int quad[6] = {a, b, a + 1, a + 1, b, b + 1};
            for (int k = 0; k < 6; k++) *q++ = quad[k];
        }
    m.triangle_count = 2 * RINGS * SEGMENTS;
    return m;
}

static void free_mesh(mesh *m)
{
    free(m->position);
    free(m->normal);
    free(m->tangent);
    free(m->out);
    free(m->triangle);
}

static spl_shading_rest rest_of(const mesh *m)
{
    return (spl_shading_rest){m->vertex_count, m->position, m->normal, m->tangent, m->triangle_count, m->triangle};
}

static spl_shading *create(const spl_shading_rest *rest)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_shading *s = NULL;
    supple_error error;
    if (spl_shading_create(rest, &a, &s, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return s;
}

static spl_mat4 some_rotation(void)
{
    return spl_mat4_trs((double[]){3, -2, 5}, (double[]){0.3, -0.5, 0.4, 0.7}, (double[]){1, 1, 1});
}

static float *moved(const mesh *m, const spl_mat4 *a)
{
    float *x = calloc(3 * (size_t)m->vertex_count, sizeof(float));
    for (int32_t v = 0; v < m->vertex_count; v++)
        spl_v3_to_float(spl_mat4_point(a, spl_v3_from_float(m->position + 3 * v)), x + 3 * v);
    return x;
}

static spl_vec3 turned(const spl_mat4 *a, const float *d)
{
    return spl_sub(spl_mat4_point(a, spl_v3_from_float(d)), spl_mat4_point(a, spl_v3(0, 0, 0)));
}

static double difference(const float *a, spl_vec3 b)
{
    return spl_distance(spl_v3_from_float(a), b);
}

/* Normals bent away from the surface by half a radian, and tangents not quite perpendicular to them. */
static void bend(mesh *m)
{
    for (int32_t v = 0; v < m->vertex_count; v++) {
        spl_vec3 p = spl_v3_from_float(m->position + 3 * v);
        spl_vec3 n = spl_unit(spl_add(p, spl_v3(0.3, 0.4 * p.x, -0.2)), p);
        spl_v3_to_float(n, m->normal + 3 * v);
        spl_v3_to_float(spl_unit(spl_madd(spl_v3_from_float(m->tangent + 4 * v), n, 0.2), p), m->tangent + 4 * v);
    }
}

TEST(a_rigid_motion_rotates_exactly)
{
    mesh m = make_sphere();
    bend(&m);
    /* float positions around 5 are rounded to 3e-7, edges are 0.03 long: rotate about the origin for the exact test. */
    spl_mat4 a = some_rotation();
    a.m[12] = a.m[13] = a.m[14] = 0;
    float *x = moved(&m, &a);
    spl_shading_rest rest = rest_of(&m);
    spl_shading *s = create(&rest);
    REQUIRE(s);
    double worst_normal = 0, worst_tangent = 0, worst_identity = 0;
    spl_shading_update_normals(s, NULL, x, m.out, 12);
    for (int32_t v = 0; v < m.vertex_count; v++)
        worst_normal = fmax(worst_normal, difference(m.out + 3 * v, turned(&a, m.normal + 3 * v)));
    spl_shading_update_tangents(s, NULL, x, m.out, 16);
    for (int32_t v = 0; v < m.vertex_count; v++) {
        worst_tangent = fmax(worst_tangent, difference(m.out + 4 * v, turned(&a, m.tangent + 4 * v)));
        if (m.out[4 * v + 3] != -1) worst_tangent = 2;
    }
    spl_shading_update_normals(s, NULL, m.position, m.out, 12);
    for (int32_t v = 0; v < m.vertex_count; v++)
        worst_identity = fmax(worst_identity, difference(m.out + 3 * v, spl_v3_from_float(m.normal + 3 * v)));
    printf("    rotation: normals %.2g, tangents %.2g; identity %.2g\n", worst_normal, worst_tangent, worst_identity);
    CHECK(worst_identity < 2e-7);
    /* What remains is the rounding of the rotated positions to float, over the length of the shortest edges. */
    CHECK(worst_normal < 1e-5 && worst_tangent < 1e-5);
    spl_shading_destroy(s);
    free(x);
    free_mesh(&m);
}

/* A quarter turn permutes coordinates: nothing is rounded, so nothing but our own arithmetic is measured. */
TEST(a_quarter_turn_is_exact)
{
    mesh m = make_sphere();
    bend(&m);
    spl_mat4 a = {{0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
    float *x = moved(&m, &a);
    spl_shading_rest rest = rest_of(&m);
    spl_shading *s = create(&rest);
    REQUIRE(s);
    double worst = 0;
    spl_shading_update_normals(s, NULL, x, m.out, 12);
    for (int32_t v = 0; v < m.vertex_count; v++)
        worst = fmax(worst, difference(m.out + 3 * v, turned(&a, m.normal + 3 * v)));
    spl_shading_update_tangents(s, NULL, x, m.out, 16);
    for (int32_t v = 0; v < m.vertex_count; v++)
        worst = fmax(worst, difference(m.out + 4 * v, turned(&a, m.tangent + 4 * v)));
    printf("    largest error %.2g\n", worst);
    CHECK(worst < 1e-6);
    spl_shading_destroy(s);
    free(x);
    free_mesh(&m);
}

/* A mirror maps normals as it maps positions: outside stays outside. */
TEST(a_mirror_image_has_mirrored_normals)
{
    mesh m = make_sphere();
    bend(&m);
    spl_mat4 a = {{-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
    float *x = moved(&m, &a);
    spl_shading_rest rest = rest_of(&m);
    spl_shading *s = create(&rest);
    REQUIRE(s);
    spl_shading_set_mirrored(s, true);
    double worst = 0;
    spl_shading_update_normals(s, NULL, x, m.out, 12);
    for (int32_t v = 0; v < m.vertex_count; v++)
        worst = fmax(worst, difference(m.out + 3 * v, turned(&a, m.normal + 3 * v)));
    spl_shading_update_tangents(s, NULL, x, m.out, 16);
    for (int32_t v = 0; v < m.vertex_count; v++) {
        worst = fmax(worst, difference(m.out + 4 * v, turned(&a, m.tangent + 4 * v)));
        if (m.out[4 * v + 3] != 1) worst = 2;
    }
    printf("    largest error %.2g\n", worst);
    CHECK(worst < 1e-6);
    spl_shading_destroy(s);
    free(x);
    free_mesh(&m);
}

TEST(a_stretched_sphere_has_the_ellipsoid_s_normals)
{
    mesh m = make_sphere();
    spl_mat4 a = spl_mat4_trs((double[]){0, 0, 0}, (double[]){0, 0, 0, 1}, (double[]){2, 1, 0.5});
    float *x = moved(&m, &a);
    for (int with_normals = 0; with_normals < 2; with_normals++) {
        spl_shading_rest rest = rest_of(&m);
        if (!with_normals) rest.normal = rest.tangent = NULL;
        spl_shading *s = create(&rest);
        REQUIRE(s);
        spl_shading_update_normals(s, NULL, x, m.out, 12);
        double worst = 0;
        for (int32_t v = 0; v < m.vertex_count; v++) {
            spl_vec3 p = spl_v3_from_float(m.position + 3 * v);
            spl_vec3 n = spl_unit(spl_v3(p.x / 2, p.y, p.z / 0.5), p); /* inverse transpose */
            worst = fmax(worst, difference(m.out + 3 * v, n));
        }
        printf("    %s normals: largest error %.3g\n", with_normals ? "the file's" : "no", worst);
        CHECK(worst < 0.02);
        if (with_normals) {
            spl_shading_update_tangents(s, NULL, x, m.out, 16);
            worst = 0;
            for (int32_t v = SEGMENTS + 1; v < m.vertex_count - SEGMENTS - 1; v++) {
                const float *t = m.tangent + 4 * v;
                spl_vec3 d = spl_unit(spl_v3(2 * (double)t[0], (double)t[1], 0.5 * (double)t[2]), spl_v3(1, 0, 0));
                worst = fmax(worst, difference(m.out + 4 * v, d));
            }
            printf("    tangents: largest error %.3g\n", worst);
            CHECK(worst < 0.02);
        }
        spl_shading_destroy(s);
    }
    free(x);
    free_mesh(&m);
}

TEST(seams_stay_closed_and_hard_edges_hard)
{
    mesh m = make_sphere();
    float *x = malloc(3 * (size_t)m.vertex_count * sizeof *x);
    for (int32_t v = 0; v < m.vertex_count; v++) { /* twisted and bent */
        const float *p = m.position + 3 * v;
        double c = cos((double)p[1]), s = sin((double)p[1]);
        spl_v3_to_float(spl_v3(c * (double)p[0] - s * (double)p[2], (double)(p[1] + p[0] * p[0]),
                               s * (double)p[0] + c * (double)p[2]),
                        x + 3 * v);
    }
    spl_shading_rest rest = rest_of(&m);
    spl_shading *s = create(&rest);
    REQUIRE(s);
    spl_shading_update_normals(s, NULL, x, m.out, 12);
    for (int i = 0; i <= RINGS; i++) {
        const float *row = m.out + 3 * i * (SEGMENTS + 1);
        CHECK(memcmp(row, row + 3 * SEGMENTS, 12) == 0);
    }
    spl_shading_destroy(s);
    free(x);
    free_mesh(&m);
    /* Two quads at a right angle with their own normals: after folding flat one side only, the other does not move. */
    const float position[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1};
    const float normal[] = {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0};
    const float folded[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, -1, 0};
    const int32_t triangle[] = {0, 1, 2, 3, 4, 5};
    rest = (spl_shading_rest){6, position, normal, NULL, 2, triangle};
    s = create(&rest);
    REQUIRE(s);
    float out[18];
    spl_shading_update_normals(s, NULL, folded, out, 12);
    for (int v = 0; v < 3; v++) CHECK(difference(out + 3 * v, spl_v3(0, 0, 1)) < 1e-7);
    for (int v = 3; v < 6; v++) CHECK(difference(out + 3 * v, spl_v3(0, 0, -1)) < 1e-7);
    spl_shading_destroy(s);
}

TEST(collapsed_triangles_give_the_rest_normal)
{
    mesh m = make_sphere();
    spl_shading_rest rest = rest_of(&m);
    spl_shading *s = create(&rest);
    REQUIRE(s);
    float *x = calloc(3 * (size_t)m.vertex_count, sizeof *x);
    for (int round = 0; round < 3; round++) {
        for (int32_t i = 0; i < 3 * m.vertex_count; i++)
            x[i] = round == 0 ? 0 : round == 1 ? (i % 3 == 0 ? m.position[i] : 0) : NAN;
        spl_shading_update_normals(s, NULL, x, m.out, 12);
        int wrong = 0;
        for (int32_t v = 0; v < m.vertex_count; v++)
            wrong += !(difference(m.out + 3 * v, spl_v3_from_float(m.normal + 3 * v)) < 1e-6);
        spl_shading_update_tangents(s, NULL, x, m.out, 16);
        for (int32_t v = 0; v < m.vertex_count; v++)
            wrong += !(difference(m.out + 4 * v, spl_v3_from_float(m.tangent + 4 * v)) < 1e-6);
        CHECK(wrong == 0);
    }
    spl_shading_destroy(s);
    /* A degenerate rest shape, points without triangles, and nothing at all. */
    const int32_t line[] = {0, 0, 1};
    rest = (spl_shading_rest){4, m.position, m.normal, m.tangent, 1, line};
    s = create(&rest);
    REQUIRE(s);
    spl_shading_update_normals(s, NULL, m.position, m.out, 12);
    for (int v = 0; v < 4; v++) CHECK(difference(m.out + 3 * v, spl_v3_from_float(m.normal + 3 * v)) < 1e-6);
    spl_shading_destroy(s);
    rest = (spl_shading_rest){0};
    s = create(&rest);
    REQUIRE(s);
    spl_shading_update_normals(s, NULL, NULL, NULL, 12);
    spl_shading_destroy(s);
    free(x);
    free_mesh(&m);
}

TEST(threads_do_not_change_bits)
{
    mesh m = make_sphere();
    spl_mat4 a = spl_mat4_trs((double[]){0, 0, 0}, (double[]){0.1, 0.2, 0.3, 0.9}, (double[]){2, 1, 0.5});
    float *x = moved(&m, &a), *reference = calloc(8 * (size_t)m.vertex_count, sizeof *x);
    spl_shading_rest rest = rest_of(&m);
    spl_shading *s = create(&rest);
    REQUIRE(s);
    float *reference_tangent = reference + 3 * m.vertex_count;
    spl_shading_update_normals(s, NULL, x, reference, 12);
    spl_shading_update_tangents(s, NULL, x, reference_tangent, 16);
    for (int threads = 1; threads <= 7; threads += 3) {
        supple_config config = supple_config_default();
        config.thread_count = threads;
        spl_pool *pool = NULL;
        REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        spl_shading_update_normals(s, pool, x, m.out, 12);
        CHECK(memcmp(m.out, reference, 12 * (size_t)m.vertex_count) == 0);
        spl_shading_update_tangents(s, pool, x, m.out, 16);
        CHECK(memcmp(m.out, reference_tangent, 16 * (size_t)m.vertex_count) == 0);
        spl_pool_destroy(pool);
    }
    spl_shading_destroy(s);
    free(x);
    free(reference);
    free_mesh(&m);
}

static int allocations_left, blocks;
static void *limited(void *user, size_t size)
{
    (void)user;
    if (allocations_left-- <= 0) return NULL;
    blocks++;
    return malloc(size);
}
static void *limited_again(void *user, void *block, size_t size)
{
    (void)user;
    return allocations_left-- <= 0 ? NULL : realloc(block, size);
}
static void release(void *user, void *block)
{
    (void)user;
    blocks--;
    free(block);
}

TEST(every_allocation_may_fail)
{
    mesh m = make_sphere();
    spl_shading_rest rest = rest_of(&m);
    supple_allocator a = {limited, limited_again, release, NULL};
    int n = 0;
    for (supple_result r = SUPPLE_ERROR_MEMORY; r != SUPPLE_OK && n < 100; n++) {
        allocations_left = n;
        spl_shading *s = NULL;
        r = spl_shading_create(&rest, &a, &s, NULL);
        CHECK((r == SUPPLE_OK) == (s != NULL));
        CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
        spl_shading_destroy(s);
        CHECK(blocks == 0);
    }
    CHECK(n > 5 && n < 100);
    free_mesh(&m);
}

TEST_CASES(RUN(a_rigid_motion_rotates_exactly), RUN(a_quarter_turn_is_exact), RUN(a_mirror_image_has_mirrored_normals),
           RUN(a_stretched_sphere_has_the_ellipsoid_s_normals), RUN(seams_stay_closed_and_hard_edges_hard),
           RUN(collapsed_triangles_give_the_rest_normal), RUN(threads_do_not_change_bits),
           RUN(every_allocation_may_fail))
