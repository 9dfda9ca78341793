/* The file's own skinning in a model, and trust: what a player shows of flesh. */
#include "core/memory.h"
#include "failing.h"
#include "rig/turns.h"
#include "sim/follow.h"
#include "sim/posed.h"
#include "subspace/model_public.h"
#include "subspace/own_make.h"
#include "subspace/ranges.h"
#include "subspace/train.h"

/* ---- the field ---- */

enum { SIDE = 24, COUNT = SIDE * SIDE, TRIANGLES = 2 * (SIDE - 1) * (SIDE - 1) };

typedef struct sheet {
    spl_vec3 rest[COUNT], own[COUNT], flesh[COUNT];
    int32_t triangle[3 * TRIANGLES];
    spl_own_trust trust;
} sheet;

/* A sheet of a metre whose own skinning is at rest. */
static void sheet_make(sheet *s)
{
    int32_t *t = s->triangle;
    for (int32_t v = 0; v < COUNT; v++)
        s->rest[v] = s->own[v] = s->flesh[v] = spl_v3(v % SIDE / (SIDE - 1.0), v / SIDE / (SIDE - 1.0), 0);
    for (int32_t y = 0; y + 1 < SIDE; y++)
        for (int32_t x = 0; x + 1 < SIDE; x++, t += 6) {
            int32_t a = y * SIDE + x, b = a + 1, c = a + SIDE, d = c + 1;
            t[0] = a, t[1] = b, t[2] = d, t[3] = a, t[4] = d, t[5] = c;
        }
    s->trust = (spl_own_trust){COUNT, TRIANGLES, s->triangle, s->rest, 1.41, NULL, NULL};
}

/* Everywhere below the bounds, with room on every edge; and no vertex could have more. */
TEST(the_largest_field_that_tears_nothing)
{
    static sheet s;
    supple_allocator a = spl_allocator_of(NULL);
    float trust[COUNT], bound[COUNT], most[COUNT];
    sheet_make(&s);
    REQUIRE(spl_own_trust_start(&s.trust, &a, NULL) == SUPPLE_OK);
    for (int32_t v = 0; v < COUNT; v++) s.flesh[v].z += 0.3 * s.rest[v].x; /* far from own, and smooth: no reason */
    spl_own_trust_see(&s.trust, s.own, s.flesh);
    spl_own_trust_settle(&s.trust, trust);
    for (int32_t v = 0; v < COUNT; v++) CHECK(trust[v] == 1);
    s.flesh[SIDE / 2 * SIDE + SIDE / 2].z += 0.4; /* one vertex torn out */
    s.flesh[3 * SIDE + 20].x += 0.2;
    spl_own_trust_see(&s.trust, s.own, s.flesh);
    for (int32_t v = 0; v < COUNT; v++) bound[v] = (float)s.trust.bound[v], most[v] = bound[v];
    spl_own_trust_settle(&s.trust, trust);
    int32_t lowered = 0, whole = 0;
    for (int32_t k = 0; k < 3 * TRIANGLES; k++) {
        int32_t i = s.triangle[k], j = s.triangle[k % 3 == 2 ? k - 2 : k + 1];
        double length = spl_distance(s.rest[i], s.rest[j]), reach = fmax(s.trust.reach[i], s.trust.reach[j]);
        CHECK(fabs((double)trust[i] - (double)trust[j]) * reach <= length / 2 * (1 + 1e-5));
        most[i] = fminf(most[i], trust[j] + (float)(length / 2 / reach));
        most[j] = fminf(most[j], trust[i] + (float)(length / 2 / reach));
        double own = spl_distance(s.own[i], s.own[j]), flesh = spl_distance(s.flesh[i], s.flesh[j]);
        double allowed = 1.9 * fmax(length, own); /* at the least of both ends */
        if (flesh > fmax(allowed, 0.003 * 1.41))
            CHECK((double)fminf(trust[i], trust[j]) <= (allowed - own) / (flesh - own));
    }
    for (int32_t v = 0; v < COUNT; v++) {
        CHECK(trust[v] >= 0 && trust[v] <= bound[v]);
        CHECK_NEAR(trust[v], most[v], 1e-5);
        lowered += trust[v] < bound[v];
        whole += trust[v] == 1;
    }
    printf("    %d of %d have full trust; %d have less for their neighbours'\n", whole, COUNT, lowered);
    CHECK(lowered > 10 && whole > COUNT / 10);
    spl_own_trust_release(&s.trust, &a);
}

/* ---- models ---- */

typedef struct fixture {
    supple_scene *scene;
    supple_model *trained;
} fixture;

static fixture fixture_of(bool mirrored, int32_t poses)
{
    fixture f = {.scene = demo_scene("arm", 0.4)};
    supple_train_config tc = supple_train_config_default();
    supple_body_config bc = supple_body_config_default();
    supple_error error = {0};
    puppet p = puppet_make(f.scene);
    spl_mat4 map = spl_mat4_identity();
    map.m[0] = -2, map.m[5] = 2, map.m[10] = 2, map.m[12] = 3;
    if (mirrored) puppet_keep(&p, &map);
    puppet_free(&p);
    bc.resolution = poses > 4 ? 14 : 12;
    bc.cache = false;
    bc.size_m = SUPPLE_SIZE_FILE;
    tc.samples = poses;
    tc.rank = poses > 4 ? 10 : 6;
    tc.modes = 10;
    tc.derivatives = 2;
    tc.body_config = &bc;
    if (supple_model_train(f.scene, &tc, NULL, &f.trained, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        exit(1);
    }
    return f;
}

static fixture fixture_make(bool mirrored)
{
    return fixture_of(mirrored, 4);
}

static void fixture_free(fixture *f)
{
    supple_model_destroy(f->trained);
    supple_scene_destroy(f->scene);
}

/* The model's matrices at a time of a clip, then moved by `move`. */
static float *pose_at(const fixture *f, int32_t clip, double time, const spl_mat4 *move)
{
    int32_t joints = supple_scene_joint_count(f->scene), n = supple_model_joint_count(f->trained);
    float *all = calloc((size_t)joints, 64), *out = calloc((size_t)n, 64);
    if (supple_scene_pose(f->scene, clip, time, all, joints, NULL) != SUPPLE_OK) abort();
    for (int32_t k = 0; k < n; k++) {
        int32_t j = 0;
        while (j < joints && strcmp(supple_scene_joint_name(f->scene, j), supple_model_joint_name(f->trained, k)) != 0)
            j++;
        if (j == joints) abort();
        spl_mat4 m;
        for (int i = 0; i < 16; i++) m.m[i] = (double)all[16 * j + i];
        if (move) m = spl_mat4_mul(move, &m);
        for (int i = 0; i < 16; i++) out[16 * k + i] = (float)m.m[i];
    }
    free(all);
    return out;
}

/* Flesh in equilibrium in a pose, by `amount` of it. */
static float *shown(const supple_model *model, const float *pose, const float *amount)
{
    supple_player_config pc = supple_player_config_default();
    supple_player *p = NULL;
    float *x = calloc((size_t)supple_model_vertex_count(model), 12);
    pc.dynamics = false;
    CHECK(supple_player_create(model, &pc, NULL, &p, NULL) == SUPPLE_OK);
    if (!p) return x;
    CHECK(supple_player_set_amount(p, amount, NULL) == SUPPLE_OK);
    CHECK(supple_player_step(p, pose, supple_model_joint_count(model), 0, NULL) == SUPPLE_OK);
    supple_player_read_positions(p, x, 12);
    supple_player_destroy(p);
    return x;
}

/* The matrices of the poses that a model with the default settings was trained on. */
static float *training_poses(const fixture *f, int32_t count)
{
    spl_train_options o = spl_train_options_default();
    spl_joint_ranges ranges = {0};
    spl_pose pose = {0};
    int32_t n = supple_model_joint_count(f->trained);
    float *out = calloc((size_t)count * (size_t)n, 64);
    if (spl_joint_ranges_infer(f->scene, NULL, 0, o.least_turn, &ranges, NULL) != SUPPLE_OK) abort();
    if (spl_pose_init(&pose, f->scene, NULL) != SUPPLE_OK) abort();
    spl_joint_move *turn = calloc((size_t)count * (size_t)ranges.joint_count, sizeof *turn);
    spl_joint_ranges_draw(&ranges, count, o.seed, turn);
    for (int32_t p = 0; p < count; p++) {
        spl_pose_move(&pose, f->scene, ranges.node, turn + p * ranges.joint_count, ranges.joint_count);
        for (int32_t k = 0; k < n; k++) {
            int32_t node = 0;
            while (strcmp(f->scene->node[node].name, supple_model_joint_name(f->trained, k)) != 0) node++;
            for (int i = 0; i < 16; i++) out[16 * (p * n + k) + i] = (float)pose.world[node].m[i];
        }
    }
    free(turn);
    spl_pose_release(&pose);
    spl_joint_ranges_release(&ranges);
    return out;
}

static double apart(const float *x, const float *y, int32_t i, int32_t j)
{
    return spl_distance(spl_v3_from_float(x + 3 * i), spl_v3_from_float(y + 3 * j));
}

/* In the poses of its training, as near as a model plays them, trust tears nothing where it goes over into own
 * skinning, and less is torn than without it: on every edge of the surface. */
TEST(trust_of_a_trained_model)
{
    enum { POSES = 6 };
    fixture f = fixture_of(false, POSES);
    spl_own *own = &f.trained->model.rig.own;
    int32_t n = supple_model_vertex_count(f.trained), joints = supple_model_joint_count(f.trained), lowered = 0;
    int32_t edges = 3 * supple_model_triangle_count(f.trained);
    const int32_t *t = supple_model_triangles(f.trained);
    float *trust = calloc((size_t)n, sizeof *trust), *none = calloc((size_t)n, sizeof *none);
    float *pose = pose_at(&f, -1, 0, NULL), *rest = shown(f.trained, pose, none), *poses = training_poses(&f, POSES);
    double *reach = calloc((size_t)n, sizeof *reach), worst = 0, worst_flesh = 0;
    memcpy(trust, own->trust, (size_t)n * sizeof *trust);
    for (int32_t v = 0; v < n; v++) own->trust[v] = 1, lowered += trust[v] < 1;
    for (int32_t p = 0; p < POSES; p++) {
        const float *at = poses + 16 * p * joints;
        float *x = shown(f.trained, at, NULL), *y = shown(f.trained, at, none), *z = shown(f.trained, at, trust);
        for (int32_t v = 0; v < n; v++) reach[v] = fmax(reach[v], apart(x, y, v, v));
        for (int32_t k = 0; k < edges; k++) {
            int32_t i = t[k], j = t[k % 3 == 2 ? k - 2 : k + 1];
            double longer = fmax(apart(rest, rest, i, j), apart(y, y, i, j));
            worst = fmax(worst, apart(z, z, i, j) / longer);
            worst_flesh = fmax(worst_flesh, apart(x, x, i, j) / longer);
        }
        free(x);
        free(y);
        free(z);
    }
    for (int32_t k = 0; k < edges; k++) {
        int32_t i = t[k], j = t[k % 3 == 2 ? k - 2 : k + 1];
        double step = fabs((double)trust[i] - (double)trust[j]) * fmax(reach[i], reach[j]);
        CHECK(step <= 1.1 * apart(rest, rest, i, j) / 2);
    }
    printf("    %d of %d have less than full trust; edges are %.2f times as long at most, %.2f without\n", lowered, n,
           worst, worst_flesh);
    CHECK(lowered > 0 && lowered < n / 2);
    CHECK(worst < worst_flesh && worst < 2.25);
    free(pose);
    free(poses);
    free(rest);
    free(trust);
    free(none);
    free(reach);
    fixture_free(&f);
}

/* Flesh's bits at 1, own's at 0, and between them what is between; the same from trust as from a wish. */
TEST(bits_at_both_ends)
{
    fixture f = fixture_make(false);
    int32_t n = supple_model_vertex_count(f.trained);
    float *pose = pose_at(&f, 0, 0.5, NULL), *amount = calloc((size_t)n, sizeof *amount);
    float *trust = f.trained->model.rig.own.trust, apart = 0;
    for (int32_t v = 0; v < n; v++) trust[v] = 1;
    float *flesh = shown(f.trained, pose, NULL), *own = shown(f.trained, pose, amount);
    for (int32_t v = 0; v < n; v++) amount[v] = v % 4 == 3 ? 1 : (float)(v % 4) * 0.375f;
    float *wished = shown(f.trained, pose, amount);
    memcpy(trust, amount, (size_t)n * sizeof *trust);
    float *trusted = shown(f.trained, pose, NULL);
    for (int32_t i = 0; i < 3 * n; i++) {
        float a = amount[i / 3];
        CHECK(a != 1 || wished[i] == flesh[i]);
        CHECK(a != 0 || wished[i] == own[i]);
        CHECK_NEAR(wished[i], own[i] + a * (flesh[i] - own[i]), 1e-6);
        apart = fmaxf(apart, fabsf(flesh[i] - own[i]));
    }
    CHECK(apart > 0.005f);
    CHECK(memcmp(wished, trusted, 12 * (size_t)n) == 0);
    for (int32_t v = 0; v < n; v++) amount[v] = trust[v] = 0.5f;
    float *both = shown(f.trained, pose, amount);
    for (int32_t i = 0; i < 3 * n; i++) CHECK_NEAR(both[i], own[i] + 0.25f * (flesh[i] - own[i]), 1e-6);
    float *all[] = {pose, amount, flesh, own, wished, trusted, both};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    fixture_free(&f);
}

/* All joints moved as one from the rest pose: flesh and own skinning are the same place. */
TEST(rigid_motions_of_all_joints)
{
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        fixture f = fixture_make(mirrored);
        int32_t n = supple_model_vertex_count(f.trained);
        spl_mat4 move = spl_mat4_identity();
        move.m[0] = move.m[5] = 0.6, move.m[1] = 0.8, move.m[4] = -0.8, move.m[12] = 2, move.m[14] = -1;
        float *pose = pose_at(&f, -1, 0, &move), *none = calloc((size_t)n, sizeof *none), size = 0;
        for (int32_t v = 0; v < n; v++) f.trained->model.rig.own.trust[v] = 1;
        float *flesh = shown(f.trained, pose, NULL), *own = shown(f.trained, pose, none), apart = 0;
        for (int32_t i = 0; i < 3 * n; i++) {
            apart = fmaxf(apart, fabsf(flesh[i] - own[i]));
            size = fmaxf(size, fabsf(own[i] - own[i % 3]));
        }
        printf("    %.2g of %.2g apart\n", (double)apart, (double)size);
        CHECK(apart < 1e-4f * size);
        free(pose);
        free(none);
        free(flesh);
        free(own);
        fixture_free(&f);
    }
}

/* The same skinning as the simulation's measures have (sim/follow.h). */
TEST(own_is_what_the_simulation_follows)
{
    fixture f = fixture_make(true);
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    spl_follow follow = {0};
    spl_pose pose = {0};
    const spl_rig *r = &f.trained->model.rig;
    sc.model = f.trained;
    REQUIRE(supple_sim_create(f.scene, &sc, NULL, &sim, NULL) == SUPPLE_OK);
    REQUIRE(spl_follow_create(&sim->flesh.solid, &follow, NULL) == SUPPLE_OK);
    REQUIRE(spl_pose_init(&pose, f.scene, NULL) == SUPPLE_OK);
    spl_pose_sample(&pose, f.scene, 0, 0.5);
    double *x = calloc((size_t)f.trained->model.vertex_count, 3 * sizeof *x);
    spl_follow_pose(&follow, &pose, x);
    float *matrices = pose_at(&f, 0, 0.5, NULL), *none = calloc((size_t)r->vertex_count, sizeof *none);
    float *own = shown(f.trained, matrices, none);
    for (int32_t i = 0; i < 3 * r->vertex_count; i++)
        CHECK_NEAR(own[i], x[3 * r->vertex[i / 3] + i % 3] / r->to_solver, 1e-5);
    free(x);
    free(matrices);
    free(none);
    free(own);
    spl_pose_release(&pose);
    spl_follow_release(&follow);
    supple_sim_destroy(sim);
    fixture_free(&f);
}

/* Files keep it, and damage is refused. */
TEST(files)
{
    fixture f = fixture_make(false);
    spl_own *own = &f.trained->model.rig.own;
    int32_t n = supple_model_vertex_count(f.trained), many = own->first[n];
    supple_model *back = NULL;
    supple_error error = {0};
    REQUIRE(supple_model_trust(f.trained) == own->trust);
    for (int32_t v = 0; v < n; v++) CHECK(own->trust[v] >= 0 && own->trust[v] <= 1);
    own->trust[n / 2] = 0.25f;
    REQUIRE(supple_model_save(f.trained, "own.supple", NULL, NULL) == SUPPLE_OK);
    REQUIRE(supple_model_load("own.supple", NULL, &back, NULL) == SUPPLE_OK);
    const spl_own *read = &back->model.rig.own;
    CHECK(memcmp(supple_model_trust(back), own->trust, (size_t)n * sizeof *own->trust) == 0);
    CHECK(memcmp(read->first, own->first, (size_t)(n + 1) * sizeof *own->first) == 0);
    CHECK(memcmp(read->joint, own->joint, (size_t)many * sizeof *own->joint) == 0);
    CHECK(memcmp(read->weight, own->weight, (size_t)many * sizeof *own->weight) == 0);
    supple_model_destroy(back);
    struct {
        int32_t *whole, number;
        double *real, wrong;
        float *trust, amount;
    } edits[] = {{.whole = &own->joint[1], .number = supple_model_joint_count(f.trained)},
                 {.whole = &own->joint[1], .number = -1},
                 {.whole = &own->first[0], .number = 1},
                 {.whole = &own->first[2], .number = own->first[1]},
                 {.whole = &own->first[2], .number = many + 1},
                 {.whole = &own->first[n], .number = many - 1},
                 {.real = &own->weight[0], .wrong = -0.5},
                 {.real = &own->weight[0], .wrong = 2},
                 {.real = &own->weight[0], .wrong = own->weight[0] / 2},
                 {.real = &own->weight[0], .wrong = NAN},
                 {.trust = &own->trust[3], .amount = -0.01f},
                 {.trust = &own->trust[3], .amount = 1.01f},
                 {.trust = &own->trust[3], .amount = NAN}};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        int32_t whole = edits[i].whole ? *edits[i].whole : 0;
        double real = edits[i].real ? *edits[i].real : 0;
        float trust = edits[i].trust ? *edits[i].trust : 0;
        if (edits[i].whole) *edits[i].whole = edits[i].number;
        if (edits[i].real) *edits[i].real = edits[i].wrong;
        if (edits[i].trust) *edits[i].trust = edits[i].amount;
        /* the writer takes as many influences as the last of `first` says: fewer than there are, never more */
        CHECK(supple_model_save(f.trained, "own-edit.supple", NULL, NULL) == SUPPLE_OK);
        back = NULL;
        supple_result result = supple_model_load("own-edit.supple", NULL, &back, &error);
        if (result != SUPPLE_ERROR_INPUT || back) test_failures++, printf("    edit %zu was not noticed\n", i);
        supple_model_destroy(back);
        if (edits[i].whole) *edits[i].whole = whole;
        if (edits[i].real) *edits[i].real = real;
        if (edits[i].trust) *edits[i].trust = trust;
    }
    fixture_free(&f);
}

/* A wish that is no number between 0 and 1 changes nothing; steps that blend allocate nothing. */
TEST(wishes_and_memory)
{
    fixture f = fixture_make(false);
    int32_t n = supple_model_vertex_count(f.trained), joints = supple_model_joint_count(f.trained);
    float *pose = pose_at(&f, 0, 0.5, NULL), *amount = calloc((size_t)n, sizeof *amount);
    float *x = calloc((size_t)n, 12), *own = shown(f.trained, pose, amount);
    failing count = {.fail_at = -1};
    supple_config config = supple_config_default();
    supple_player *p = NULL;
    supple_error error = {0};
    config.allocator = failing_allocator(&count);
    config.thread_count = 1;
    REQUIRE(supple_player_create(f.trained, NULL, &config, &p, NULL) == SUPPLE_OK);
    long before = count.requests;
    CHECK(supple_player_set_amount(p, amount, &error) == SUPPLE_OK);
    static const float wrong[] = {-0.1f, 1.1f, NAN, INFINITY};
    for (int k = 0; k < 4; k++) {
        amount[n - 1] = wrong[k];
        CHECK(supple_player_set_amount(p, amount, &error) == SUPPLE_ERROR_ARGUMENT && error.message[0]);
    }
    CHECK(supple_player_step(p, pose, joints, 0, NULL) == SUPPLE_OK);
    CHECK(supple_player_step(p, pose, joints, 1 / 60.0, NULL) == SUPPLE_OK);
    CHECK(count.requests == before);
    supple_player_read_positions(p, x, 12);
    CHECK(memcmp(x, own, 12 * (size_t)n) == 0);
    supple_player_destroy(p);
    CHECK(count.live == 0);
    free(pose);
    free(amount);
    free(x);
    free(own);
    fixture_free(&f);
}

TEST_CASES(RUN(the_largest_field_that_tears_nothing), RUN(trust_of_a_trained_model), RUN(bits_at_both_ends),
           RUN(rigid_motions_of_all_joints), RUN(own_is_what_the_simulation_follows), RUN(files),
           RUN(wishes_and_memory))
