/* A bar is bent until the inside of its bend is in itself: the mesh's vertices are parted, and the rest of it stays. */
#include "contact/clear.h"
#include "contact/crossings.h"
#include "failing.h"
#include "statics/flesh.h"
#include "test.h"

enum { LONG = 20, THICK = 4, BONES = 3 };                        /* cells of the mesh; the third bone holds nothing */
static const double LENGTH = 60, WIDTH = 12, BEND = 6, FAR = 15; /* units: half of what is bent, and what is not */
static const double METRE = 0.01;                                /* per unit */

typedef struct bar {
    flesh coarse, fine; /* the body's and the mesh's, in units */
    spl_body body;
    spl_solid solid;
    spl_pool *pool;
    spl_clear *clear;
    int32_t count; /* vertices of the scene: each place twice, as at seams */
    float *visual, *given;
    bool away; /* the whole of it is somewhere else */
} bar;

/* A box of cells around the origin, its faces bulging: where a face is flat, rounding makes edges pass through
 * triangles that they only lie beside. */
static spl_vec3 bulge(const double *p)
{
    double x = 2 * p[0] / LENGTH - 1, y = 2 * p[1] / WIDTH - 1, z = 2 * p[2] / WIDTH - 1, slim = 1 - 0.1 * x * x;
    return spl_v3(LENGTH / 2 * x * (1 + 0.02 * (1 - y * y) * (1 - z * z)),
                  WIDTH / 2 * y * slim * (1 + 0.1 * (1 - z * z)), WIDTH / 2 * z * slim * (1 + 0.1 * (1 - y * y)));
}

static void to_tets(flesh *f, spl_tets *t)
{
    supple_allocator a = spl_allocator_of(NULL);
    if (!spl_tets_create(t, f->vertex_count, f->tet_count, &a)) abort();
    for (int32_t v = 0; v < f->vertex_count; v++) t->position[v] = bulge(f->rest + 3 * v);
    memcpy(f->rest, t->position, 3 * (size_t)f->vertex_count * sizeof *f->rest);
    memcpy(t->tet, f->tet, 4 * (size_t)f->tet_count * sizeof *t->tet);
    if (spl_tets_find_surface(t, NULL) != SUPPLE_OK) abort();
}

/* The mesh: triangles use one copy of a vertex or the other. */
static void make_mesh(bar *b)
{
    supple_allocator a = spl_allocator_of(NULL);
    int32_t n = b->fine.vertex_count;
    spl_tets t;
    to_tets(&b->fine, &t);
    double *position = malloc(6 * (size_t)n * sizeof *position);
    for (int k = 0; k < 2; k++) memcpy(position + 3 * k * n, b->fine.rest, 3 * (size_t)n * sizeof *position);
    for (int32_t i = 0; i < 3 * t.surface_count; i++) t.surface[i] += i / 3 % 2 ? n : 0;
    b->count = 2 * n;
    if (spl_surface_make(position, b->count, t.surface, t.surface_count, &a, &b->body.surface, NULL) != SUPPLE_OK)
        abort();
    b->body.surface_vertex = malloc((size_t)b->count * sizeof(int32_t));
    b->body.lifted = malloc((size_t)b->count * sizeof(bool));
    for (int32_t v = b->count - 1; v >= 0; v--) {
        b->body.lifted[v] = b->body.surface.map[v] >= 0;
        if (b->body.lifted[v]) b->body.surface_vertex[b->body.surface.map[v]] = v;
    }
    free(position);
    spl_tets_release(&t);
}

static void make_solid(bar *b)
{
    size_t n = (size_t)b->coarse.vertex_count;
    to_tets(&b->coarse, &b->body.tets);
    b->body.metre = METRE;
    b->solid = (spl_solid){.allocator = spl_allocator_of(NULL), .body = &b->body, .diagonal = METRE * b->coarse.size};
    spl_drive *d = &b->solid.drive;
    d->body = &b->body;
    d->stretch = spl_mat3_identity();
    d->to_solver = METRE;
    d->rest = malloc(3 * n * sizeof *d->rest);
    b->solid.weights.bone = malloc(SPL_BONE_INFLUENCES * n * sizeof(int32_t));
    for (size_t i = 0; i < 3 * n; i++) d->rest[i] = METRE * b->coarse.rest[i];
    for (size_t i = 0; i < SPL_BONE_INFLUENCES * n; i++) {
        bool second = b->coarse.rest[3 * (i / SPL_BONE_INFLUENCES)] > 0;
        b->solid.weights.bone[i] = i % SPL_BONE_INFLUENCES ? -1 : second;
    }
}

static void bar_make_threads(bar *b, int32_t threads)
{
    supple_config config = supple_config_default();
    config.thread_count = threads;
    *b = (bar){.coarse = flesh_box(LONG, 2, 2, LENGTH, WIDTH, WIDTH, 0),
               .fine = flesh_box(LONG, THICK, THICK, LENGTH, WIDTH, WIDTH, 0)};
    make_mesh(b);
    make_solid(b);
    b->visual = malloc(3 * (size_t)b->count * sizeof *b->visual);
    b->given = malloc(3 * (size_t)b->count * sizeof *b->given);
    if (spl_pool_create(&config, &b->pool, NULL) != SUPPLE_OK ||
        spl_clear_create(&b->solid, BONES, b->pool, &b->clear, NULL) != SUPPLE_OK)
        abort();
}

static void bar_make(bar *b)
{
    bar_make_threads(b, 1);
}

static void bar_free(bar *b)
{
    spl_clear_destroy(b->clear);
    spl_surface_release(&b->body.surface);
    spl_tets_release(&b->body.tets);
    free(b->body.surface_vertex);
    free(b->body.lifted);
    free(b->solid.drive.rest);
    free(b->solid.weights.bone);
    free(b->visual);
    free(b->given);
    flesh_free(&b->coarse);
    flesh_free(&b->fine);
    spl_pool_destroy(b->pool);
}

/* The second half turned about z by so many degrees, and a little aside: as skinning has it, which knows of no contact.
 * A mirrored character's world is the other side of the origin. */
static void bend(bar *b, double degrees)
{
    double sign = b->solid.drive.to_solver < 0 ? -1 : 1;
    spl_mat3 turn = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(0.6, 0, 0.8), b->away ? 2 : 0));
    for (int32_t v = 0; v < b->count; v++) {
        const double *p = b->fine.rest + 3 * (v % b->fine.vertex_count);
        double t = fmin(1, fmax(0, (p[0] + BEND) / (2 * BEND))), angle = degrees * M_PI / 180 * t * t * (3 - 2 * t);
        spl_vec3 q =
            spl_v3(cos(angle) * p[0] - sin(angle) * p[1], sin(angle) * p[0] + cos(angle) * p[1], p[2] + 0.37 * t);
        if (b->away) q = spl_add(spl_mat3_apply(&turn, q), spl_v3(0, 0, LENGTH));
        spl_v3_to_float(spl_scale(q, sign), b->visual + 3 * v);
    }
    memcpy(b->given, b->visual, 3 * (size_t)b->count * sizeof *b->given);
}

static spl_clear_outcome apply(bar *b, const double *ease)
{
    return spl_clear_apply(b->clear, ease, b->visual);
}

static bool is_as_given(const bar *b)
{
    return memcmp(b->visual, b->given, 3 * (size_t)b->count * sizeof *b->given) == 0;
}

static int32_t crossings(const bar *b, const float *visual)
{
    const spl_surface *s = &b->body.surface;
    double *x = malloc(3 * (size_t)s->vertex_count * sizeof *x);
    for (int32_t i = 0; i < 3 * s->vertex_count; i++) x[i] = visual[3 * b->body.surface_vertex[i / 3] + i % 3];
    int32_t count = crossings_count(x, s->triangle, s->triangle_count);
    free(x);
    return count;
}

/* How far vertices were moved at most: of either half, and of what is far from the bend. */
typedef struct moves {
    double half[2], far;
} moves;

static moves moves_of(const bar *b)
{
    moves m = {0};
    for (int32_t v = 0; v < b->count; v++) {
        spl_vec3 from = spl_v3_from_float(b->given + 3 * v), to = spl_v3_from_float(b->visual + 3 * v);
        double x = b->fine.rest[3 * (v % b->fine.vertex_count)], d = spl_distance(from, to);
        m.half[x > 0] = fmax(m.half[x > 0], d);
        if (fabs(x) > FAR) m.far = fmax(m.far, d);
    }
    return m;
}

/* What was parted does not cross, moved where it did and on both sides alike, and stayed far from there; copies of a
 * vertex are at one place. */
static void check_parted(const bar *b, const char *what)
{
    moves m = moves_of(b);
    size_t half = 3 * (size_t)b->fine.vertex_count;
    printf("    %s: %d crossings, moved by %.2f and %.2f, %.1e elsewhere\n", what, (int)crossings(b, b->given),
           m.half[0], m.half[1], m.far);
    CHECK(crossings(b, b->given) > 10 && crossings(b, b->visual) == 0);
    CHECK(m.half[0] > 0.1 && m.half[0] < 2.5 && fabs(m.half[0] - m.half[1]) < 0.4 * m.half[0]);
    CHECK(m.far < 1e-5);
    CHECK(memcmp(b->visual, b->visual + half, half * sizeof *b->visual) == 0);
}

/* ---- frames ---- */

TEST(a_mesh_that_does_not_cross_is_left_to_the_bit)
{
    bar b;
    bar_make(&b);
    for (int degrees = 0; degrees <= 70; degrees += 35) {
        bend(&b, degrees);
        CHECK(crossings(&b, b.visual) == 0);
        CHECK(apply(&b, NULL) == SPL_CLEAR_NOTHING && is_as_given(&b));
    }
    bar_free(&b);
}

TEST(a_fold_is_parted_from_the_last_frame_on)
{
    bar b;
    bar_make(&b);
    bend(&b, 70);
    CHECK(apply(&b, NULL) == SPL_CLEAR_NOTHING);
    for (int degrees = 80; degrees <= 110; degrees += 10) {
        char what[40];
        snprintf(what, sizeof what, "%d degrees", degrees);
        bend(&b, degrees);
        CHECK(apply(&b, NULL) == SPL_CLEAR_DONE);
        check_parted(&b, what);
    }
    bend(&b, 60); /* open again */
    CHECK(apply(&b, NULL) == SPL_CLEAR_NOTHING && is_as_given(&b));
    bar_free(&b);
}

TEST(a_fold_is_parted_on_the_move)
{
    bar b;
    bar_make(&b);
    bend(&b, 70);
    CHECK(apply(&b, NULL) == SPL_CLEAR_NOTHING);
    for (int degrees = 80; degrees <= 90; degrees += 10) {
        b.away = !b.away; /* and back */
        bend(&b, degrees);
        CHECK(apply(&b, NULL) == SPL_CLEAR_DONE);
        check_parted(&b, b.away ? "away" : "back");
    }
    bar_free(&b);
}

TEST(a_fold_without_a_last_frame_is_parted_too)
{
    bar b;
    bar_make(&b);
    bend(&b, 90);
    CHECK(apply(&b, NULL) == SPL_CLEAR_DONE);
    check_parted(&b, "the first frame");
    bend(&b, 60);
    CHECK(apply(&b, NULL) == SPL_CLEAR_NOTHING);
    spl_clear_reset(b.clear);
    bend(&b, 90);
    CHECK(apply(&b, NULL) == SPL_CLEAR_DONE);
    check_parted(&b, "after a reset");
    bend(&b, 100);
    CHECK(apply(&b, NULL) == SPL_CLEAR_DONE); /* what was parted is a last frame */
    check_parted(&b, "the next one");
    bar_free(&b);
}

/* A mesh in tatters has no start: it is not even tried. */
TEST(where_too_much_crosses_it_is_left)
{
    bar b;
    uint64_t seed = 7;
    bar_make(&b);
    int32_t n = 3 * b.fine.vertex_count;
    for (int32_t i = 0; i < n; i++)
        b.given[i] = b.given[n + i] = (float)(b.fine.rest[i] + 0.5 * WIDTH * flesh_random(&seed));
    memcpy(b.visual, b.given, 2 * (size_t)n * sizeof *b.visual);
    CHECK(crossings(&b, b.visual) > 400);
    CHECK(apply(&b, NULL) == SPL_CLEAR_LEFT && is_as_given(&b));
    bar_free(&b);
}

/* The first end is turned by half a circle within one row of cells: there is no flattening that. */
static void spoil_end(bar *b)
{
    for (int32_t v = 0; v < b->count; v++) {
        if (b->fine.rest[3 * (v % b->fine.vertex_count)] > -0.37 * LENGTH) continue;
        b->visual[3 * v + 1] *= -1;
        b->visual[3 * v + 2] *= -1;
    }
    memcpy(b->given, b->visual, 3 * (size_t)b->count * sizeof *b->given);
}

static bool is_bend_parted(const bar *b)
{
    moves m = moves_of(b);
    return m.half[0] > 0.1 && m.half[1] > 0.1;
}

TEST(what_has_no_start_is_left_and_the_rest_is_parted)
{
    bar b;
    bar_make(&b);
    bend(&b, 90);
    int32_t fold = crossings(&b, b.given);
    spoil_end(&b);
    int32_t all = crossings(&b, b.given);
    CHECK(apply(&b, NULL) == SPL_CLEAR_LEFT);
    printf("    %d crossings, %d of them at the bend, %d left\n", (int)all, (int)fold, (int)crossings(&b, b.visual));
    CHECK(all > fold && crossings(&b, b.visual) == all - fold);
    CHECK(is_bend_parted(&b) && moves_of(&b).far < 1e-5);
    bend(&b, 90); /* what was left is no start of the next frame */
    CHECK(apply(&b, NULL) == SPL_CLEAR_DONE);
    check_parted(&b, "the end is whole again");
    bar_free(&b);
}

static void set_ease(double *ease, double value)
{
    for (int i = 0; i < BONES * BONES; i++) ease[i] = value;
}

/* The third bone holds nothing: that it may pass through the first changes nothing. */
TEST(a_released_pair_elsewhere_does_not_stop_it)
{
    bar b;
    double ease[BONES * BONES];
    bar_make(&b);
    set_ease(ease, 1);
    ease[0 * BONES + 2] = ease[2 * BONES + 0] = 0;
    bend(&b, 90);
    CHECK(apply(&b, ease) == SPL_CLEAR_DONE);
    check_parted(&b, "others are released");
    bar_free(&b);
}

TEST(what_is_released_may_cross)
{
    bar b;
    double ease[BONES * BONES];
    bar_make(&b);
    set_ease(ease, 0);
    bend(&b, 90);
    CHECK(apply(&b, ease) == SPL_CLEAR_NOTHING && is_as_given(&b));
    CHECK(apply(&b, NULL) == SPL_CLEAR_DONE); /* and is no start */
    check_parted(&b, "taken back");
    bar_free(&b);
}

/* ---- time ---- */

/* How far places were moved aside in three frames; the second difference, at most. */
typedef struct history {
    double *aside[3];
    int frames;
} history;

static double bend_of(history *h, const bar *b)
{
    size_t n = 3 * (size_t)b->count;
    double *oldest = h->aside[2], most = 0;
    h->aside[2] = h->aside[1];
    h->aside[1] = h->aside[0];
    h->aside[0] = oldest ? oldest : malloc(n * sizeof *oldest);
    for (size_t i = 0; i < n; i++) h->aside[0][i] = (double)b->visual[i] - (double)b->given[i];
    for (size_t i = 0; ++h->frames && i < n && h->aside[2]; i++)
        most = fmax(most, fabs(h->aside[0][i] - 2 * h->aside[1][i] + h->aside[2][i]));
    return most;
}

TEST(a_fold_that_persists_does_not_pop)
{
    bar b;
    history h = {0};
    double most = 0, farthest = 0;
    bar_make(&b);
    for (int k = -40; k <= 40; k++) {
        bend(&b, 110 - abs(k));
        apply(&b, NULL);
        CHECK(crossings(&b, b.visual) == 0);
        most = fmax(most, bend_of(&h, &b));
        farthest = fmax(farthest, moves_of(&b).half[0]);
    }
    printf("    aside by %.3f, second differences up to %.3f\n", farthest, most);
    CHECK(farthest > 0.2 && most < 0.25 * farthest);
    for (int k = 0; k < 3; k++) free(h.aside[k]);
    bar_free(&b);
}

TEST(a_fold_that_is_held_is_still)
{
    bar b;
    history h = {0};
    double most = 0;
    bar_make(&b);
    for (int k = 0; k < 12; k++) {
        bend(&b, 100);
        CHECK(apply(&b, NULL) == SPL_CLEAR_DONE);
        double here = bend_of(&h, &b);
        if (k > 3) most = fmax(most, here);
    }
    printf("    second differences up to %.1e m\n", METRE * most);
    CHECK(METRE * most < 1e-5);
    for (int k = 0; k < 3; k++) free(h.aside[k]);
    bar_free(&b);
}

TEST(threads_change_nothing)
{
    bar b[2];
    for (int k = 0; k < 2; k++) bar_make_threads(&b[k], 1 + 3 * k);
    for (int degrees = 70; degrees <= 110; degrees += 20) {
        for (int k = 0; k < 2; k++) {
            bend(&b[k], degrees);
            apply(&b[k], NULL);
        }
        CHECK(memcmp(b[0].visual, b[1].visual, 3 * (size_t)b[0].count * sizeof *b[0].visual) == 0);
    }
    for (int k = 0; k < 2; k++) bar_free(&b[k]);
}

/* ---- the scene ---- */

TEST(vertices_that_do_not_ride_on_the_body_stay)
{
    bar b;
    bar_make(&b);
    int32_t half = b.fine.vertex_count;
    size_t bytes = 3 * (size_t)half * sizeof *b.visual;
    for (int32_t v = half; v < b.count; v++) b.body.lifted[v] = false; /* all second copies */
    bend(&b, 70);
    CHECK(apply(&b, NULL) == SPL_CLEAR_NOTHING);
    bend(&b, 80);
    CHECK(apply(&b, NULL) == SPL_CLEAR_DONE);
    CHECK(memcmp(b.visual, b.given, bytes) != 0);
    CHECK(memcmp(b.visual + 3 * half, b.given + 3 * half, bytes) == 0);
    bar_free(&b);
}

TEST(a_mirrored_character_is_the_same_mirrored)
{
    bar b[2];
    for (int k = 0; k < 2; k++) {
        bar_make(&b[k]);
        b[k].solid.drive.to_solver = k ? -METRE : METRE;
        bend(&b[k], 70);
        CHECK(apply(&b[k], NULL) == SPL_CLEAR_NOTHING);
        bend(&b[k], 90);
        CHECK(apply(&b[k], NULL) == SPL_CLEAR_DONE);
    }
    for (int32_t i = 0; i < 3 * b[0].count; i++) CHECK(b[0].visual[i] == -b[1].visual[i]);
    for (int k = 0; k < 2; k++) bar_free(&b[k]);
}

/* ---- memory ---- */

/* Makes one and parts a fold with it, the n-th allocation failing. Returns whether that was none. */
static bool survives(bar *b, long n)
{
    failing f = {.fail_at = n};
    spl_clear *c;
    supple_error error;
    b->solid.allocator = failing_allocator(&f);
    supple_result result = spl_clear_create(&b->solid, BONES, b->pool, &c, &error);
    CHECK(result == SUPPLE_OK ? c != NULL : result == SUPPLE_ERROR_MEMORY && !c && f.requests > n);
    if (c) {
        bend(b, 80);
        spl_clear_outcome outcome = spl_clear_apply(c, NULL, b->visual);
        CHECK(outcome == SPL_CLEAR_DONE ? crossings(b, b->visual) == 0 : outcome == SPL_CLEAR_LEFT && is_as_given(b));
        CHECK(outcome == SPL_CLEAR_DONE || f.requests > n);
    }
    spl_clear_destroy(c);
    CHECK(f.live == 0);
    return f.requests <= n;
}

TEST(every_allocation_may_fail)
{
    bar b;
    long n = 0;
    bar_make(&b);
    while (n < 1000 && !survives(&b, n)) n++;
    printf("    %ld allocations\n", n);
    CHECK(n > 30 && n < 1000);
    spl_clear_destroy(NULL);
    bar_free(&b);
}

TEST_CASES(RUN(a_mesh_that_does_not_cross_is_left_to_the_bit), RUN(a_fold_is_parted_from_the_last_frame_on),
           RUN(a_fold_is_parted_on_the_move), RUN(a_fold_without_a_last_frame_is_parted_too),
           RUN(where_too_much_crosses_it_is_left), RUN(what_has_no_start_is_left_and_the_rest_is_parted),
           RUN(a_released_pair_elsewhere_does_not_stop_it), RUN(what_is_released_may_cross),
           RUN(a_fold_that_persists_does_not_pop), RUN(a_fold_that_is_held_is_still), RUN(threads_change_nothing),
           RUN(vertices_that_do_not_ride_on_the_body_stay), RUN(a_mirrored_character_is_the_same_mirrored),
           RUN(every_allocation_may_fail))
