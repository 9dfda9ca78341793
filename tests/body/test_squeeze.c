/* A mesh deep in a thick body, which is pressed flat: the upsampling turns it inside out, the tetrahedra do not. */
#include "body/squeeze.h"
#include "failing.h"
#include "statics/flesh.h"
#include "test.h"

enum { N = 8 };                                       /* cells of the body, and of the mesh's sheets, both ways */
enum { SIDE = N + 1, SHEET = SIDE * SIDE };           /* vertices */
static const double LENGTH = 8, THICK = 4;            /* of the body: cells of length 1 */
static const double SHARE = 0.1, LONGEST_EDGE = 1.75; /* of a tet: less than the diagonal of a cell */

/* The mesh: a sheet below the body's top and one above its bottom, seen from outside of both. */
typedef struct plate {
    supple_scene scene;
    spl_body body;
    spl_pool *pool;
    float *posed, *visual, *given;
} plate;

/* The body is two plates that lie in each other where `beside` > 0: the second one begins so far from the first. */
static void make_tets(plate *p, double beside)
{
    supple_allocator a = spl_allocator_of(NULL);
    flesh f = flesh_box(N, N, (int)THICK, LENGTH, LENGTH, THICK, 0);
    int copies = beside > 0 ? 2 : 1;
    spl_tets *t = &p->body.tets;
    if (!spl_tets_create(t, copies * f.vertex_count, copies * f.tet_count, &a)) abort();
    for (int32_t v = 0; v < t->vertex_count; v++) {
        const double *q = f.rest + 3 * (v % f.vertex_count);
        t->position[v] = spl_v3(q[0], q[1], q[2] + (v < f.vertex_count ? 0 : beside));
    }
    for (int32_t i = 0; i < 4 * t->tet_count; i++)
        t->tet[i] = f.tet[i % (4 * f.tet_count)] + (i < 4 * f.tet_count ? 0 : f.vertex_count);
    if (spl_tets_find_surface(t, NULL) != SUPPLE_OK ||
        spl_surface_make((const double *)(const void *)t->position, t->vertex_count, t->surface, t->surface_count, &a,
                         &p->body.skin, NULL) != SUPPLE_OK)
        abort();
    flesh_free(&f);
}

/* `depth`: of both sheets below the body's faces; negative outside. */
static void plate_make(plate *p, double depth, double beside)
{
    supple_config config = supple_config_default();
    config.thread_count = 2;
    *p = (plate){.scene.vertex_count = 2 * SHEET};
    p->body.allocator = spl_allocator_of(NULL);
    make_tets(p, beside);
    p->body.scene = &p->scene;
    size_t n = 2 * SHEET;
    p->body.bind = malloc(3 * n * sizeof(float));
    p->body.lifted = malloc(n * sizeof(bool));
    p->visual = malloc(3 * n * sizeof(float));
    p->given = malloc(3 * n * sizeof(float));
    p->posed = malloc(3 * (size_t)p->body.tets.vertex_count * sizeof(float));
    for (int32_t v = 0; v < 2 * SHEET; v++) {
        int32_t i = v % SHEET;
        double x = 0.13 + (LENGTH - 0.26) * (i % SIDE) / N, y = 0.11 + (LENGTH - 0.22) * (int32_t)(i / SIDE) / N;
        spl_v3_to_float(spl_v3(x, y, v < SHEET ? THICK - depth : depth), p->body.bind + 3 * v);
        p->body.lifted[v] = true;
    }
    spl_upsample_visual visual = {.vertex_count = (int32_t)n, .position = p->body.bind};
    spl_upsample_options options = spl_upsample_options_default();
    options.normals = false;
    if (spl_pool_create(&config, &p->pool, NULL) != SUPPLE_OK ||
        spl_upsample_create(&p->body.skin, &visual, &options, p->pool, &p->body.allocator, &p->body.upsample, NULL) !=
            SUPPLE_OK)
        abort();
}

static void plate_free(plate *p)
{
    spl_upsample_destroy(p->body.upsample);
    spl_surface_release(&p->body.skin);
    spl_tets_release(&p->body.tets);
    free(p->body.bind);
    free(p->body.lifted);
    free(p->visual);
    free(p->given);
    free(p->posed);
    spl_pool_destroy(p->pool);
}

static spl_squeeze *squeeze_of(plate *p)
{
    spl_squeeze *s;
    if (spl_squeeze_create(&p->body, NULL, &p->body.allocator, p->pool, &s, NULL) != SUPPLE_OK) abort();
    return s;
}

/* ---- motions ---- */

typedef spl_vec3 motion(spl_vec3 p);

static spl_vec3 stays(spl_vec3 p)
{
    return p;
}

static spl_vec3 sheared(spl_vec3 p)
{
    return spl_v3(0.6 * p.x - 0.8 * p.y + 3, 0.8 * p.x + 0.6 * p.y + 0.4 * p.z, 0.5 * p.z - 0.2 * p.x);
}

/* To a fifth of its thickness in the middle. No tet inverts: z grows with z everywhere. */
static spl_vec3 pressed(spl_vec3 p)
{
    double x = p.x - LENGTH / 2, y = p.y - LENGTH / 2;
    return spl_v3(p.x, p.y, p.z * (1 - 0.8 * exp(-(x * x + y * y) / 8)));
}

/* What lies beside goes away. */
static spl_vec3 parted(spl_vec3 p)
{
    return p;
}

static void move(plate *p, motion *to, const float *delta)
{
    spl_upsample_frame *f;
    const spl_tets *t = &p->body.tets;
    for (int32_t v = 0; v < t->vertex_count; v++) {
        bool gone = to == parted && v >= t->vertex_count / 2;
        spl_v3_to_float(gone ? spl_add(t->position[v], spl_v3(0, 0, 20)) : to(t->position[v]), p->posed + 3 * v);
    }
    if (spl_upsample_frame_create(p->body.upsample, &p->body.allocator, &f, NULL) != SUPPLE_OK) abort();
    spl_upsample_target target = {.position = p->visual, .position_stride = 3 * sizeof(float)};
    spl_upsample_input in = {.body_float = p->posed, .delta = delta};
    spl_upsample_apply_input(p->body.upsample, f, p->pool, &in, &target);
    memcpy(p->given, p->visual, 6 * SHEET * sizeof(float));
    spl_upsample_frame_destroy(f);
}

static bool is_as_given(const plate *p)
{
    return memcmp(p->visual, p->given, 6 * SHEET * sizeof(float)) == 0;
}

/* Where the upper sheet is below the lower one. */
static int count_turned(const float *visual)
{
    int count = 0;
    for (int v = 0; v < SHEET; v++) count += visual[3 * v + 2] < visual[3 * (v + SHEET) + 2];
    return count;
}

/* How far from where the motion itself has it a vertex is at most. */
static double farthest(const plate *p, const float *visual, motion *to)
{
    double most = 0;
    for (int v = 0; v < 2 * SHEET; v++)
        most = fmax(most, spl_distance(to(spl_v3_from_float(p->body.bind + 3 * v)), spl_v3_from_float(visual + 3 * v)));
    return most;
}

/* ---- tests ---- */

TEST(rest_and_affine_motions_are_left_to_the_bit)
{
    motion *motions[] = {stays, sheared};
    plate p;
    plate_make(&p, 1.2, 0);
    spl_squeeze *s = squeeze_of(&p);
    for (int i = 0; i < 2; i++) {
        move(&p, motions[i], NULL);
        spl_squeeze_apply(s, p.posed, NULL, p.pool, p.visual);
        CHECK(is_as_given(&p) && farthest(&p, p.visual, motions[i]) < 1e-4);
    }
    spl_squeeze_destroy(s);
    plate_free(&p);
}

TEST(what_is_pressed_flat_is_not_turned_inside_out)
{
    plate p;
    plate_make(&p, 1.2, 0);
    spl_squeeze *s = squeeze_of(&p);
    move(&p, pressed, NULL);
    spl_squeeze_apply(s, p.posed, NULL, p.pool, p.visual);
    printf("    %d of %d turned before; off by %.2f before, %.2f after\n", count_turned(p.given), SHEET,
           farthest(&p, p.given, pressed), farthest(&p, p.visual, pressed));
    CHECK(count_turned(p.given) > 10 && count_turned(p.visual) == 0);
    CHECK(farthest(&p, p.given, pressed) > 0.7);
    CHECK(farthest(&p, p.visual, pressed) < SHARE * LONGEST_EDGE + 0.05); /* and what a tet's straight edges cut off */
    int kept = 0;
    for (int v = 0; v < 2 * SHEET; v++) kept += memcmp(p.visual + 3 * v, p.given + 3 * v, 3 * sizeof(float)) == 0;
    CHECK(kept > 2 * SHEET / 3); /* elsewhere nothing is touched */
    spl_squeeze_destroy(s);
    plate_free(&p);
}

TEST(morphs_are_not_taken_for_squeezing)
{
    plate p;
    float delta[6 * SHEET] = {0};
    plate_make(&p, 1.2, 0);
    spl_squeeze *s = squeeze_of(&p);
    for (int v = 0; v < 2 * SHEET; v += 2) delta[3 * v + 1] = 0.7f;
    move(&p, stays, delta);
    spl_squeeze_apply(s, p.posed, delta, p.pool, p.visual);
    CHECK(is_as_given(&p) && farthest(&p, p.visual, stays) > 0.69);
    spl_squeeze_apply(s, p.posed, NULL, p.pool, p.visual);
    CHECK(!is_as_given(&p)); /* else they would be */
    spl_squeeze_destroy(s);
    plate_free(&p);
}

TEST(what_stands_out_of_the_body_is_free)
{
    plate p;
    plate_make(&p, -0.8, 0);
    spl_squeeze *s = squeeze_of(&p);
    move(&p, pressed, NULL);
    spl_squeeze_apply(s, p.posed, NULL, p.pool, p.visual);
    CHECK(is_as_given(&p));
    spl_squeeze_destroy(s);
    plate_free(&p);
}

TEST(what_rides_on_something_else_is_left)
{
    plate p;
    plate_make(&p, 1.2, 0);
    for (int v = 0; v < 2 * SHEET; v++) p.body.lifted[v] = v >= SHEET;
    spl_squeeze *s = squeeze_of(&p);
    move(&p, pressed, NULL);
    spl_squeeze_apply(s, p.posed, NULL, p.pool, p.visual);
    CHECK(!is_as_given(&p) && memcmp(p.visual, p.given, 3 * SHEET * sizeof(float)) == 0);
    spl_squeeze_destroy(s);
    plate_free(&p);
}

/* The sheets lie in both plates and belong to the first. */
TEST(the_next_limb_is_another)
{
    plate p;
    plate_make(&p, 0.2, THICK - 0.7);
    spl_squeeze *s = squeeze_of(&p);
    move(&p, parted, NULL);
    spl_squeeze_apply(s, p.posed, NULL, p.pool, p.visual);
    CHECK(is_as_given(&p) && farthest(&p, p.visual, stays) < 1e-4);
    spl_squeeze_destroy(s);
    plate_free(&p);
}

TEST(every_allocation_may_fail)
{
    plate p;
    long n = 0;
    plate_make(&p, 1.2, 0);
    for (bool failed = true; failed && n < 100; n += failed) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        supple_error error;
        spl_squeeze *s;
        supple_result result = spl_squeeze_create(&p.body, NULL, &a, p.pool, &s, &error);
        failed = f.requests > n;
        CHECK(failed ? result == SUPPLE_ERROR_MEMORY && !s : result == SUPPLE_OK && s != NULL);
        spl_squeeze_destroy(s);
        CHECK(f.live == 0);
    }
    CHECK(n >= 8 && n < 100);
    spl_squeeze_destroy(NULL);
    plate_free(&p);
}

/* Tets that other bones move than what carries the skin say nothing of it; those that the same bones move do. */
TEST(tets_of_another_limb_say_nothing)
{
    plate p;
    plate_make(&p, 1.5, 0);
    size_t n = (size_t)p.body.tets.vertex_count, influences = SPL_BONE_INFLUENCES * n;
    spl_bone_weights weights = {.bone = malloc(influences * sizeof *weights.bone),
                                .weight = calloc(influences, sizeof *weights.weight)};
    float *told = malloc(6 * SHEET * sizeof *told);
    p.body.bones.bone_count = 2;
    move(&p, pressed, NULL);
    spl_squeeze *plain = squeeze_of(&p);
    spl_squeeze_apply(plain, p.posed, NULL, p.pool, p.visual);
    CHECK(!is_as_given(&p));
    memcpy(told, p.visual, 6 * SHEET * sizeof *told);
    for (int limbs = 1; limbs <= 2; limbs++) {
        spl_squeeze *s;
        for (size_t i = 0; i < influences; i++) weights.bone[i] = -1;
        for (size_t v = 0; v < n; v++) {
            spl_vec3 q = p.body.tets.position[v];
            bool inner = fmin(q.x, LENGTH - q.x) > 0.5 && fmin(q.y, LENGTH - q.y) > 0.5 && fmin(q.z, THICK - q.z) > 0.5;
            weights.bone[SPL_BONE_INFLUENCES * v] = limbs == 2 && inner;
            weights.weight[SPL_BONE_INFLUENCES * v] = 1;
        }
        REQUIRE(spl_squeeze_create(&p.body, &weights, &p.body.allocator, p.pool, &s, NULL) == SUPPLE_OK);
        memcpy(p.visual, p.given, 6 * SHEET * sizeof(float));
        spl_squeeze_apply(s, p.posed, NULL, p.pool, p.visual);
        CHECK(limbs == 1 ? memcmp(p.visual, told, 6 * SHEET * sizeof(float)) == 0 : is_as_given(&p));
        spl_squeeze_destroy(s);
    }
    spl_squeeze_destroy(plain);
    free(told);
    free(weights.bone);
    free(weights.weight);
    plate_free(&p);
}

TEST_CASES(RUN(tets_of_another_limb_say_nothing), RUN(rest_and_affine_motions_are_left_to_the_bit),
           RUN(what_is_pressed_flat_is_not_turned_inside_out), RUN(morphs_are_not_taken_for_squeezing),
           RUN(what_stands_out_of_the_body_is_free), RUN(what_rides_on_something_else_is_left),
           RUN(the_next_limb_is_another), RUN(every_allocation_may_fail))
