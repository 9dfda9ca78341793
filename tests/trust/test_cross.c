#include "core/memory.h"
#include "failing.h"
#include "math/vec3.h"
#include "test.h"
#include "trust/cross.h"

/* A mesh in metres, at rest and posed. */
typedef struct mesh {
    int32_t vertex_count, triangle_count;
    float *rest, *x;
    int32_t *triangle;
} mesh;

static mesh mesh_make(int32_t vertices, int32_t triangles)
{
    return (mesh){vertices, triangles, calloc((size_t)vertices, 12), calloc((size_t)vertices, 12),
                  calloc((size_t)triangles, 12)};
}

static void mesh_free(mesh *m)
{
    free(m->rest);
    free(m->x);
    free(m->triangle);
}

/* Poses it as it is at rest. */
static void to_rest(mesh *m)
{
    memcpy(m->x, m->rest, 12 * (size_t)m->vertex_count);
}

static void put(float *to, spl_vec3 p)
{
    spl_v3_to_float(p, to);
}

/* Two quads of a grid cell. */
static void put_cell(int32_t *to, int32_t a, int32_t b, int32_t c, int32_t d)
{
    const int32_t corner[6] = {a, b, c, a, c, d};
    memcpy(to, corner, sizeof corner);
}

enum { RINGS = 24, SECTORS = 48, BALL = 2 + (RINGS - 1) * SECTORS, BALL_TRIANGLES = 2 * SECTORS * (RINGS - 1) };

static void put_ball(mesh *m, int32_t first, int32_t first_triangle, spl_vec3 centre, double radius)
{
    int32_t *t = m->triangle + 3 * first_triangle, top = first, bottom = first + BALL - 1;
    put(m->rest + 3 * top, spl_add(centre, spl_v3(0, radius, 0)));
    put(m->rest + 3 * bottom, spl_add(centre, spl_v3(0, -radius, 0)));
    for (int r = 1; r < RINGS; r++)
        for (int s = 0; s < SECTORS; s++) {
            double a = M_PI * r / RINGS, b = 2 * M_PI * s / SECTORS;
            spl_vec3 d = spl_v3(sin(a) * cos(b), cos(a), sin(a) * sin(b));
            put(m->rest + 3 * (first + 1 + (r - 1) * SECTORS + s), spl_madd(centre, d, radius));
        }
    for (int s = 0; s < SECTORS; s++) {
        int n = (s + 1) % SECTORS, last = first + 1 + (RINGS - 2) * SECTORS;
        const int32_t caps[6] = {top, first + 1 + n, first + 1 + s, bottom, last + s, last + n};
        memcpy(t, caps, sizeof caps);
        t += 6;
        for (int r = 0; r < RINGS - 2; r++, t += 6) {
            int32_t up = first + 1 + r * SECTORS, down = up + SECTORS;
            put_cell(t, up + s, up + n, down + n, down + s);
        }
    }
}

/* Two balls of 10 cm, `apart` metres from centre to centre at rest. */
static mesh two_balls(double apart)
{
    mesh m = mesh_make(2 * BALL, 2 * BALL_TRIANGLES);
    put_ball(&m, 0, 0, spl_v3(0, 0, 0), 0.1);
    put_ball(&m, BALL, BALL_TRIANGLES, spl_v3(apart, 0, 0), 0.1);
    to_rest(&m);
    return m;
}

static void move(mesh *m, int32_t first, int32_t count, spl_vec3 by)
{
    for (int32_t i = first; i < first + count; i++) put(m->x + 3 * i, spl_add(spl_v3_from_float(m->rest + 3 * i), by));
}

static spl_pool *pool_of(int32_t threads)
{
    supple_config config = supple_config_default();
    spl_pool *pool = NULL;
    config.thread_count = threads;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    return pool;
}

static spl_cross_input input_of(const mesh *m)
{
    return (spl_cross_input){.vertex_count = m->vertex_count,
                             .triangle_count = m->triangle_count,
                             .triangle = m->triangle,
                             .rest = m->rest,
                             .posed = m->rest,
                             .metre = 1};
}

static spl_crossing measure_counted(const spl_cross_input *in, const float *x, const bool *counts, int32_t threads)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pool *pool = pool_of(threads);
    spl_crossings *c = NULL;
    spl_crossing found = {-1, NAN, NAN, NAN};
    if (spl_cross_create(in, &a, pool, &c, NULL) != SUPPLE_OK) abort();
    CHECK(spl_cross_measure(c, x, counts, pool, &found, NULL) == SUPPLE_OK);
    spl_cross_destroy(c);
    spl_pool_destroy(pool);
    return found;
}

static spl_crossing measure_input(const spl_cross_input *in, const float *x, int32_t threads)
{
    return measure_counted(in, x, NULL, threads);
}

static spl_crossing measure(const mesh *m)
{
    spl_cross_input in = input_of(m);
    return measure_input(&in, m->x, 1);
}

/* ---- depths that are known ---- */

TEST(balls_are_as_deep_in_each_other_as_they_were_pushed)
{
    static const double pushed[] = {0.005, 0.02, 0.05};
    mesh m = two_balls(0.3);
    for (size_t i = 0; i < sizeof pushed / sizeof *pushed; i++) {
        move(&m, BALL, BALL, spl_v3(-0.1 - pushed[i], 0, 0));
        spl_crossing found = measure(&m);
        printf("    pushed in by %.0f mm: %.2f mm, %d pairs\n", 1e3 * pushed[i], 1e3 * found.depth, found.crossed);
        CHECK_NEAR(found.depth, pushed[i], 3e-4); /* a vertex is asked 0.2 mm above, and facets are inside of a ball */
        CHECK(found.crossed > 20 && found.fold == 0);
    }
    mesh_free(&m);
}

/* Depth is of vertices that count, and what the others have is told apart. */
TEST(vertices_that_do_not_count_are_told_apart)
{
    mesh m = two_balls(0.3);
    spl_cross_input in = input_of(&m);
    bool *counts = calloc((size_t)m.vertex_count, sizeof *counts);
    move(&m, BALL, BALL, spl_v3(-0.12, 0, 0));
    spl_crossing all = measure(&m), none = measure_counted(&in, m.x, counts, 2);
    CHECK(all.depth > 0.019 && all.other == 0 && none.depth == 0 && none.fold == 0 && none.other == all.depth);
    CHECK(none.crossed == all.crossed);
    for (int32_t v = 0; v < BALL; v++) counts[v] = true;
    spl_crossing one = measure_counted(&in, m.x, counts, 1);
    CHECK(one.depth > 0.019 && one.other > 0.019 && fmax(one.depth, one.other) == all.depth);
    free(counts);
    mesh_free(&m);
}

TEST(what_does_not_cross_reads_zero)
{
    mesh m = two_balls(0.3);
    spl_crossing rest = measure(&m);
    CHECK(rest.crossed == 0 && rest.depth == 0 && rest.fold == 0);
    move(&m, BALL, BALL, spl_v3(-0.099, 0, 0)); /* a millimetre apart */
    spl_crossing near = measure(&m);
    CHECK(near.crossed == 0 && near.depth == 0 && near.fold == 0);
    move(&m, BALL, BALL, spl_v3(-0.3, 0.25, 0)); /* on the other side */
    CHECK(measure(&m).crossed == 0);
    mesh_free(&m);
}

/* Neither pairs nor vertices that are inside at rest count, wherever the whole is; what goes in anew does. */
TEST(what_crosses_at_rest_does_not_count)
{
    mesh m = two_balls(0.15);
    spl_crossing rest = measure(&m);
    CHECK(rest.crossed == 0 && rest.depth == 0 && rest.fold == 0);
    move(&m, BALL, BALL, spl_v3(-0.04, 0, 0));
    spl_crossing found = measure(&m);
    CHECK(found.crossed > 20 && found.depth > 0.02 && found.depth < 0.09);
    move(&m, BALL, BALL, spl_v3(-0.003, 0, 0)); /* 53 mm deep, but all of that was inside before */
    found = measure(&m);
    CHECK(found.crossed > 5 && found.depth < 0.01);
    mesh_free(&m);
}

/* Two balls, whole within the others, lie before the tip of either: they are no way out (their rims, which do
 * not face it, are 18 mm away and more). */
TEST(a_sheet_that_faces_the_vertex_is_no_way_out)
{
    mesh m = mesh_make(4 * BALL, 4 * BALL_TRIANGLES);
    put_ball(&m, 0, 0, spl_v3(0, 0, 0), 0.1);
    put_ball(&m, BALL, BALL_TRIANGLES, spl_v3(0.3, 0, 0), 0.1);
    put_ball(&m, 2 * BALL, 2 * BALL_TRIANGLES, spl_v3(0, 0.5, 0), 0.085);
    put_ball(&m, 3 * BALL, 3 * BALL_TRIANGLES, spl_v3(0, 0.7, 0), 0.085);
    to_rest(&m);
    move(&m, BALL, BALL, spl_v3(-0.12, 0, 0));
    move(&m, 2 * BALL, BALL, spl_v3(0.188, -0.5, 0)); /* 3 mm from the tips at x = 0.1 and 0.08 */
    move(&m, 3 * BALL, BALL, spl_v3(-0.008, -0.7, 0));
    spl_crossing found = measure(&m);
    CHECK(found.depth > 0.017 && found.depth < 0.0203); /* 11 mm if they were */
    mesh_free(&m);
}

/* ---- a fold ---- */

enum { LONG = 40, WIDE = 7, HIGH = 4 };
#define HALF  0.048 /* metres from the crease to the ends: no way over the top is longer than 10 cm */
#define THICK 0.03

static int32_t slab_vertex(int i, int j, int k)
{
    return (i * (WIDE + 1) + j) * (HIGH + 1) + k;
}

/* A closed slab, its top at y = 0, which widens from one end to the other: then no edge of one half lies on one of the
 * other when it is folded. Vertices within it are of no triangle. */
static mesh slab(void)
{
    mesh m = mesh_make((LONG + 1) * (WIDE + 1) * (HIGH + 1), 4 * (LONG * WIDE + LONG * HIGH + WIDE * HIGH));
    int32_t *t = m.triangle;
    for (int i = 0; i <= LONG; i++)
        for (int j = 0; j <= WIDE; j++)
            for (int k = 0; k <= HIGH; k++) {
                double x = HALF * (2.0 * i / LONG - 1);
                put(m.rest + 3 * slab_vertex(i, j, k),
                    spl_v3(x, THICK * ((double)k / HIGH - 1), (0.04 * j / WIDE - 0.02) * (1 + 4 * x)));
            }
    for (int i = 0; i < LONG; i++)
        for (int j = 0; j < WIDE; j++, t += 12) {
            put_cell(t, slab_vertex(i, j, 0), slab_vertex(i + 1, j, 0), slab_vertex(i + 1, j + 1, 0),
                     slab_vertex(i, j + 1, 0));
            put_cell(t + 6, slab_vertex(i, j, HIGH), slab_vertex(i, j + 1, HIGH), slab_vertex(i + 1, j + 1, HIGH),
                     slab_vertex(i + 1, j, HIGH));
        }
    for (int i = 0; i < LONG; i++)
        for (int k = 0; k < HIGH; k++, t += 12) {
            put_cell(t, slab_vertex(i, 0, k), slab_vertex(i, 0, k + 1), slab_vertex(i + 1, 0, k + 1),
                     slab_vertex(i + 1, 0, k));
            put_cell(t + 6, slab_vertex(i, WIDE, k), slab_vertex(i + 1, WIDE, k), slab_vertex(i + 1, WIDE, k + 1),
                     slab_vertex(i, WIDE, k + 1));
        }
    for (int j = 0; j < WIDE; j++)
        for (int k = 0; k < HIGH; k++, t += 12) {
            put_cell(t, slab_vertex(0, j, k), slab_vertex(0, j + 1, k), slab_vertex(0, j + 1, k + 1),
                     slab_vertex(0, j, k + 1));
            put_cell(t + 6, slab_vertex(LONG, j, k), slab_vertex(LONG, j, k + 1), slab_vertex(LONG, j + 1, k + 1),
                     slab_vertex(LONG, j + 1, k));
        }
    to_rest(&m);
    return m;
}

/* Both halves are turned up about the middle of the top, each by `angle`: at 90 degrees their tops meet. */
static void fold(mesh *m, double angle)
{
    for (int32_t i = 0; i < m->vertex_count; i++) {
        spl_vec3 p = spl_v3_from_float(m->rest + 3 * i);
        double side = p.x > 1e-6 ? 1 : p.x < -1e-6 ? -1 : 0, c = cos(angle), s = side * sin(angle);
        if (side != 0) p = spl_v3(c * p.x - s * p.y, s * p.x + c * p.y, p.z);
        put(m->x + 3 * i, p);
    }
}

/* A vertex of one top, s from the crease, is s sin(2 over) deep in the other half, s cos(2 over) along it: it leaves
 * through the other top or through that half's end. */
TEST(a_fold_is_as_deep_as_it_was_folded)
{
    mesh m = slab();
    fold(&m, 80 * M_PI / 180);
    spl_crossing open = measure(&m);
    CHECK(open.crossed == 0 && open.depth == 0);
    for (int step = 0; step < 3; step++) {
        double degrees = 3 + 2 * step;
        double over = 2 * degrees * M_PI / 180, expected = 0;
        for (int i = 1; i <= LONG / 2; i++) {
            double s = 2 * HALF * i / LONG;
            expected = fmax(expected, fmin(s * sin(over), HALF - s * cos(over)));
        }
        fold(&m, (90 + degrees) * M_PI / 180);
        spl_crossing found = measure(&m);
        printf("    folded %.0f degrees too far: %.2f mm, expected %.2f; %d pairs\n", degrees, 1e3 * found.depth,
               1e3 * expected, found.crossed);
        CHECK_NEAR(found.fold, expected, 5e-4);
        CHECK(found.depth == found.fold && found.crossed > 100);
    }
    mesh_free(&m);
}

/* ---- invariances ---- */

TEST(the_same_bits_at_any_number_of_threads)
{
    mesh m = slab();
    spl_cross_input in = input_of(&m);
    fold(&m, 96 * M_PI / 180);
    spl_crossing one = measure_input(&in, m.x, 1);
    for (int32_t threads = 2; threads < 12; threads += 5) {
        spl_crossing many = measure_input(&in, m.x, threads);
        CHECK(many.crossed == one.crossed && many.depth == one.depth && many.fold == one.fold);
    }
    CHECK(one.depth > 0.005);
    mesh_free(&m);
}

TEST(rigid_motion_changes_nothing)
{
    mesh m = slab();
    fold(&m, 96 * M_PI / 180);
    spl_crossing before = measure(&m);
    for (int32_t i = 0; i < m.vertex_count; i++) {
        spl_vec3 p = spl_v3_from_float(m.x + 3 * i);
        p = spl_v3(0.6 * p.x - 0.8 * p.z, p.y, 0.8 * p.x + 0.6 * p.z);
        put(m.x + 3 * i,
            spl_add(spl_v3(0.28 * p.x - 0.96 * p.y, 0.96 * p.x + 0.28 * p.y, p.z), spl_v3(0.7, -0.2, 0.4)));
    }
    spl_crossing after = measure(&m);
    CHECK_NEAR(after.depth, before.depth, 1e-6);
    CHECK_NEAR(after.fold, before.fold, 1e-6);
    CHECK(abs(after.crossed - before.crossed) <= before.crossed / 50); /* edges that just touch, by rounding */
    mesh_free(&m);
}

/* Files in another unit, with a rest shape in yet another, in metres. */
TEST(units_do_not_matter)
{
    mesh m = slab();
    fold(&m, 96 * M_PI / 180);
    spl_crossing before = measure(&m);
    spl_cross_input in = input_of(&m);
    float *posed = malloc(12 * (size_t)m.vertex_count);
    for (int32_t i = 0; i < 3 * m.vertex_count; i++) {
        posed[i] = 128 * m.rest[i];
        m.rest[i] *= 0.25F;
        m.x[i] *= 128;
    }
    in.posed = posed;
    in.metre = 1 / 128.0;
    spl_crossing after = measure_input(&in, m.x, 1);
    CHECK(after.crossed == before.crossed);
    CHECK_NEAR(after.depth, before.depth, 1e-9);
    CHECK_NEAR(after.fold, before.fold, 1e-9);
    free(posed);
    mesh_free(&m);
}

/* Every triangle with vertices of its own, as at seams. */
TEST(seams_do_not_matter)
{
    mesh m = two_balls(0.3), split = mesh_make(3 * m.triangle_count, m.triangle_count);
    move(&m, BALL, BALL, spl_v3(-0.12, 0.01, 0.003));
    for (int32_t i = 0; i < 3 * m.triangle_count; i++) {
        memcpy(split.rest + 3 * i, m.rest + 3 * m.triangle[i], 12);
        memcpy(split.x + 3 * i, m.x + 3 * m.triangle[i], 12);
        split.triangle[i] = i;
    }
    spl_crossing whole = measure(&m), cut = measure(&split);
    CHECK(whole.crossed == cut.crossed && whole.depth > 0.015);
    CHECK_NEAR(whole.depth, cut.depth, 1e-9);
    mesh_free(&m);
    mesh_free(&split);
}

/* A character that its file mirrors is turned inside out in frames, and not at rest. */
TEST(mirrored_frames_are_measured_alike)
{
    mesh m = two_balls(0.3);
    bool *mirrored = calloc((size_t)m.triangle_count, sizeof *mirrored);
    spl_cross_input in = input_of(&m);
    move(&m, BALL, BALL, spl_v3(-0.12, 0.01, 0.003));
    spl_crossing plain = measure_input(&in, m.x, 1);
    for (int32_t t = 0; t < m.triangle_count; t++) mirrored[t] = true;
    for (int32_t i = 0; i < m.vertex_count; i++) m.x[3 * i] = -m.x[3 * i];
    in.mirrored = mirrored;
    spl_crossing turned = measure_input(&in, m.x, 1);
    CHECK(plain.crossed == turned.crossed && plain.depth > 0.015);
    CHECK_NEAR(plain.depth, turned.depth, 1e-9);
    free(mirrored);
    mesh_free(&m);
}

/* ---- pairs ---- */

static double volume(spl_vec3 a, spl_vec3 b, spl_vec3 c, spl_vec3 d)
{
    return spl_dot(spl_sub(b, a), spl_cross(spl_sub(c, a), spl_sub(d, a)));
}

/* By the signs of tetrahedra's volumes. */
static bool edge_meets(spl_vec3 p, spl_vec3 q, const spl_vec3 c[3])
{
    double a = volume(p, q, c[0], c[1]), b = volume(p, q, c[1], c[2]), d = volume(p, q, c[2], c[0]);
    bool through = (a > 0 && b > 0 && d > 0) || (a < 0 && b < 0 && d < 0);
    return through && volume(c[0], c[1], c[2], p) * volume(c[0], c[1], c[2], q) < 0;
}

static bool try_pair(const mesh *m, int32_t s, int32_t t)
{
    spl_vec3 a[3], b[3];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++)
            if (m->triangle[3 * s + k] == m->triangle[3 * t + i]) return false;
        a[k] = spl_v3_from_float(m->x + 3 * m->triangle[3 * s + k]);
        b[k] = spl_v3_from_float(m->x + 3 * m->triangle[3 * t + k]);
    }
    for (int k = 0; k < 3; k++) /* farther apart than any triangle is long */
        if (spl_distance(a[0], b[k]) > 0.08) return false;
    for (int k = 0; k < 3; k++)
        if (edge_meets(a[k], a[(k + 1) % 3], b) || edge_meets(b[k], b[(k + 1) % 3], a)) return true;
    return false;
}

TEST(pairs_are_those_that_trying_all_finds)
{
    mesh m = two_balls(0.3);
    srand(5);
    for (int round = 0; round < 2; round++) {
        int32_t all = 0;
        move(&m, BALL, BALL, spl_v3(-0.13, 0.0171 * (round + 1), 0.0031));
        for (int32_t i = 0; i < 3 * m.vertex_count; i++)
            m.x[i] += (float)(0.008 * round * ((double)rand() / RAND_MAX - 0.5));
        for (int32_t s = 0; s < m.triangle_count; s++)
            for (int32_t t = s + 1; t < m.triangle_count; t++) all += try_pair(&m, s, t);
        CHECK(measure(&m).crossed == all && all > 50);
        printf("    %d pairs of all, %d found\n", (int)all, (int)measure(&m).crossed);
    }
    mesh_free(&m);
}

/* ---- input that is none ---- */

TEST(meshes_without_triangles_read_zero)
{
    float none[3] = {0};
    const int32_t flat[3] = {0, 0, 0};
    spl_cross_input in = {.rest = none, .posed = none, .triangle = flat, .metre = 1};
    spl_crossing found = measure_input(&in, none, 2);
    CHECK(found.crossed == 0 && found.depth == 0 && found.fold == 0);
    in.vertex_count = in.triangle_count = 1;
    found = measure_input(&in, none, 2);
    CHECK(found.crossed == 0 && found.depth == 0 && found.fold == 0);
}

TEST(every_failed_allocation_is_survived)
{
    mesh m = two_balls(0.3);
    spl_cross_input in = input_of(&m);
    bool ended = false;
    move(&m, BALL, BALL, spl_v3(-0.12, 0, 0));
    for (long at = 0; !ended; at++) {
        failing f = {.fail_at = at};
        supple_allocator a = failing_allocator(&f);
        spl_crossings *c = NULL;
        spl_crossing found;
        supple_result result = spl_cross_create(&in, &a, NULL, &c, NULL);
        CHECK((result == SUPPLE_OK) == (c != NULL));
        long made = f.requests;
        if (c) result = spl_cross_measure(c, m.x, NULL, NULL, &found, NULL);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        CHECK(f.requests == made); /* as many pairs as triangles have their room from the start */
        ended = f.requests <= at;
        spl_cross_destroy(c);
        CHECK(f.live == 0);
        REQUIRE(at < 1000);
    }
    mesh_free(&m);
}

TEST_CASES(RUN(balls_are_as_deep_in_each_other_as_they_were_pushed), RUN(what_does_not_cross_reads_zero),
           RUN(vertices_that_do_not_count_are_told_apart), RUN(what_crosses_at_rest_does_not_count),
           RUN(a_sheet_that_faces_the_vertex_is_no_way_out), RUN(a_fold_is_as_deep_as_it_was_folded),
           RUN(the_same_bits_at_any_number_of_threads), RUN(rigid_motion_changes_nothing), RUN(units_do_not_matter),
           RUN(seams_do_not_matter), RUN(mirrored_frames_are_measured_alike),
           RUN(pairs_are_those_that_trying_all_finds), RUN(meshes_without_triangles_read_zero),
           RUN(every_failed_allocation_is_survived))
