#include "body/demo_body.h"
#include "core/hash.h"
#include "sim/sim.h"

#include <supple/supple.h>

/* An arm that a force tears apart, or that is left alone. */
typedef struct armed {
    supple_scene *scene;
    supple_body *body;
    size_t floats;
} armed;

static armed armed_make(void)
{
    armed a = {.scene = demo_scene("arm", 0.5)};
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, test_size(14, 8));
    if (a.scene) a.body = body_create(a.scene, &bc, 0);
    if (a.scene) a.floats = 3 * (size_t)supple_scene_vertex_count(a.scene);
    return a;
}

static void armed_free(armed *a)
{
    supple_body_destroy(a->body);
    supple_scene_destroy(a->scene);
}

static supple_sim *start(const armed *a, const char *method, const char *trust, double amount, int threads)
{
    supple_error error = {0};
    supple_config config = supple_config_default();
    supple_setting setting = {"trust", trust};
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    config.thread_count = threads;
    sc.method = method;
    sc.body = strcmp(method, "linear") ? a->body : NULL;
    sc.settings = &setting;
    sc.setting_count = trust ? 1 : 0;
    sc.amount = amount;
    sc.measure = true;
    if (supple_sim_create(a->scene, &sc, &config, &sim, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return sim;
}

static void step(supple_sim *sim, double time, float *out)
{
    supple_error error = {0};
    if (supple_sim_step_clip(sim, 0, time, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    supple_sim_read_positions(sim, out, 12);
}

/* Flesh that no solver would make: a ring of vertices is thrown about in every frame. */
static supple_result throw_about(void *state, const spl_method_context *c, double *x, supple_stats *stats,
                                 supple_error *error)
{
    supple_result result = spl_method_projective.solve(state, c, x, stats, error);
    size_t n = (size_t)c->solid->body->tets.vertex_count;
    for (size_t v = n / 3; v < n / 3 + n / 12; v++) x[3 * v + (v % 3)] += (v % 2 ? 0.4 : -0.4) * c->solid->diagonal;
    return result;
}

/* A wreck of the method projective. */
static spl_method wreck(void)
{
    spl_method m = spl_method_projective;
    m.solve = throw_about;
    return m;
}

TEST(all_of_it_is_flesh_and_none_of_it_is_the_files_own_skinning)
{
    armed a = armed_make();
    REQUIRE(a.body);
    supple_sim *linear = start(&a, "linear", NULL, 1, 1), *none = start(&a, "projective", NULL, 0, 1);
    supple_sim *all = start(&a, "projective", "on", 1, 1), *bare = start(&a, "projective", "off", 1, 1);
    REQUIRE(linear && none && all && bare);
    float *x = calloc(a.floats, sizeof *x), *y = calloc(a.floats, sizeof *y);
    for (int k = 1; k < 4; k++) {
        step(linear, 0.2 * k, x);
        step(none, 0.2 * k, y);
        CHECK(memcmp(x, y, a.floats * sizeof *x) == 0);
        step(all, 0.2 * k, x);
        step(bare, 0.2 * k, y);
        CHECK(supple_sim_stats(all)->trust == 1);
        CHECK(memcmp(x, y, a.floats * sizeof *x) == 0);
        CHECK(!supple_sim_worse(all));
    }
    free(x);
    free(y);
    supple_sim_destroy(linear);
    supple_sim_destroy(none);
    supple_sim_destroy(all);
    supple_sim_destroy(bare);
    armed_free(&a);
}

TEST(a_rigid_motion_is_not_corrected)
{
    armed a = armed_make();
    REQUIRE(a.body);
    supple_sim *sim = start(&a, "projective", NULL, 1, 1);
    int32_t joints = supple_scene_joint_count(a.scene);
    float *m = calloc((size_t)joints, 16 * sizeof *m), *turned = calloc((size_t)joints, 16 * sizeof *m);
    REQUIRE(sim && supple_scene_pose(a.scene, -1, 0, m, joints, NULL) == SUPPLE_OK);
    const float c = 0.6f, s = 0.8f;
    for (size_t j = 0; j < (size_t)joints; j++)
        for (size_t k = 0; k < 4; k++) { /* about z, and away */
            const float *from = m + 16 * j + 4 * k;
            float *to = turned + 16 * j + 4 * k;
            to[0] = c * from[0] - s * from[1] + (k == 3 ? 2 : 0);
            to[1] = s * from[0] + c * from[1];
            to[2] = from[2];
            to[3] = from[3];
        }
    CHECK(supple_sim_step_pose(sim, turned, joints, NULL) == SUPPLE_OK);
    double most = 0;
    for (size_t i = 0; i < a.floats; i++)
        most = fmax(most, fabs((double)sim->position[i] - (double)sim->amount.own[i]));
    CHECK(most < 2e-5 * sim->amount.mesh.diagonal);
    free(m);
    free(turned);
    supple_sim_destroy(sim);
    armed_free(&a);
}

TEST(a_range_that_was_judged_is_nowhere_worse)
{
    armed a = armed_make();
    REQUIRE(a.body);
    spl_method broken = wreck();
    supple_sim *sim = start(&a, "projective", NULL, 1, 1), *bare = start(&a, "projective", "off", 1, 1);
    REQUIRE(sim && bare);
    sim->method = bare->method = &broken;
    float *x = calloc(a.floats, sizeof *x), *trust = calloc(a.floats / 3, sizeof *trust);
    step(bare, 0.5, x);
    CHECK(supple_sim_stats(bare)->harm.torn > 0 && supple_sim_worse(bare));
    CHECK(supple_sim_judge(sim, 0, 3, 10, 30, true, NULL) == SUPPLE_OK);
    supple_sim_read_trust(sim, trust, sizeof *trust);
    float least = 1;
    for (size_t v = 0; v < a.floats / 3; v++) least = fminf(least, trust[v]);
    CHECK(least < 0.5f);
    for (int k = 3; k < 13; k++) {
        step(sim, k / 30.0, x);
        CHECK(!supple_sim_worse(sim));
        CHECK(supple_sim_stats(sim)->trust > 0.1 && supple_sim_stats(sim)->trust < 1);
    }
    supple_sim_read_trust(sim, trust, sizeof *trust);
    float again = 1;
    for (size_t v = 0; v < a.floats / 3; v++) again = fminf(again, trust[v]);
    CHECK(again == least); /* constant */
    free(x);
    free(trust);
    supple_sim_destroy(sim);
    supple_sim_destroy(bare);
    armed_free(&a);
}

static uint64_t judged_hash(const armed *a, int threads, bool keep)
{
    spl_method broken = wreck();
    supple_sim *sim = start(a, "projective", NULL, 1, threads);
    uint64_t hash = 0;
    float *x = calloc(a->floats, sizeof *x);
    if (!sim) return 0;
    sim->method = &broken;
    CHECK(supple_sim_judge(sim, 0, 5, 6, 30, keep, NULL) == SUPPLE_OK);
    CHECK(supple_sim_lead_in(sim, 0, 5, 30, NULL) == SUPPLE_OK);
    for (int k = 5; k < 11; k++) {
        step(sim, k / 30.0, x);
        hash = spl_hash(x, a->floats * sizeof *x, hash);
        hash = spl_hash(&supple_sim_stats(sim)->harm, sizeof(supple_harm), hash);
    }
    free(x);
    supple_sim_destroy(sim);
    return hash;
}

TEST(the_bits_of_trust_do_not_depend_on_threads_nor_on_what_is_kept)
{
    armed a = armed_make();
    REQUIRE(a.body);
    uint64_t one = judged_hash(&a, 1, true);
    CHECK(one == judged_hash(&a, 2, true));
    CHECK(one == judged_hash(&a, 3, true));
    CHECK(one == judged_hash(&a, 1, false));
    armed_free(&a);
}

TEST(live_trust_falls_by_bounded_steps)
{
    armed a = armed_make();
    REQUIRE(a.body);
    spl_method broken = wreck();
    supple_sim *sim = start(&a, "projective", NULL, 1, 1);
    REQUIRE(sim);
    float *x = calloc(a.floats, sizeof *x), *before = calloc(a.floats / 3, sizeof *before);
    float *now = calloc(a.floats / 3, sizeof *now);
    step(sim, 0.3, x);
    supple_sim_read_amount(sim, before, sizeof *before);
    sim->method = &broken;
    double most = 0, fallen = 0;
    for (int k = 0; k < 20; k++) {
        step(sim, 0.3, x);
        supple_sim_read_amount(sim, now, sizeof *now);
        for (size_t v = 0; v < a.floats / 3; v++) {
            double off =
                spl_distance(spl_v3_from_float(sim->amount.flesh + 3 * v), spl_v3_from_float(sim->amount.own + 3 * v));
            most = fmax(most, fabs((double)now[v] - (double)before[v]) * off);
            fallen = fmax(fallen, 1 - (double)now[v]);
            before[v] = now[v];
        }
    }
    CHECK(fallen > 0.1);
    CHECK(most > 0 && most <= 0.004 * sim->amount.mesh.diagonal * (1 + 1e-5));
    free(x);
    free(before);
    free(now);
    supple_sim_destroy(sim);
    armed_free(&a);
}

/* What a kept frame had is not what a later one has. */
TEST(a_step_after_kept_frames_tells_of_itself)
{
    armed a = armed_make();
    REQUIRE(a.body);
    supple_sim *sim = start(&a, "projective", NULL, 1, 1);
    int32_t joints = supple_scene_joint_count(a.scene);
    float *matrices = calloc((size_t)joints, 16 * sizeof *matrices), *x = calloc(a.floats, sizeof *x);
    REQUIRE(sim && supple_scene_pose(a.scene, 0, 0.4, matrices, joints, NULL) == SUPPLE_OK);
    CHECK(supple_sim_judge(sim, 0, 0, 4, 30, true, NULL) == SUPPLE_OK);
    step(sim, 2 / 30.0, x);
    CHECK(sim->amount.take == 2);
    CHECK(supple_sim_step_pose(sim, matrices, joints, NULL) == SUPPLE_OK);
    CHECK(sim->amount.take == -1);
    step(sim, 2 / 30.0, x);
    CHECK(supple_sim_judge(sim, 0, 0, 2, 30, false, NULL) == SUPPLE_OK); /* the frames are gone */
    supple_named_value value;
    for (int32_t i = 0; supple_sim_value(sim, i, &value); i++) CHECK(value.name != NULL);
    CHECK(sim->amount.take == -1);
    free(matrices);
    free(x);
    supple_sim_destroy(sim);
    armed_free(&a);
}

/* An eye has one trust, and what follows flesh goes down with the flesh that it lies on. */
TEST(what_follows_is_trusted_with_what_it_lies_on)
{
    supple_scene *scene = scene_load(SPL_SOURCE_DIR "/tests/data/fish.glb");
    REQUIRE(scene);
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 16);
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    sc.method = "projective";
    sc.body_config = &bc;
    REQUIRE(supple_sim_create(scene, &sc, NULL, &sim, NULL) == SUPPLE_OK);
    const spl_body *body = sim->flesh.body;
    spl_trust *t = &sim->amount.trust;
    const int32_t *point = sim->amount.mesh.point;
    size_t n = (size_t)supple_scene_vertex_count(scene), grouped = 0, followed = 0;
    int32_t group = -1;
    for (size_t p = 0; p < (size_t)sim->amount.mesh.point_count; p++) t->reach[p] = (float)sim->amount.mesh.diagonal;
    for (size_t v = 0; v < n; v++) {
        if (body->roles.group[v] < 0 || body->lifted[v]) continue;
        if (group < 0) {
            group = body->roles.group[v];
            t->seed[point[v]] = 0.25f;
        }
    }
    t->lowered = true;
    spl_trust_settle(t);
    for (size_t v = 0; v < n; v++) {
        if (body->roles.group[v] != group || body->lifted[v]) continue;
        CHECK(t->value[point[v]] <= 0.25f + 1e-6f);
        grouped++;
    }
    CHECK(group >= 0 && grouped > 10);
    for (size_t v = 0; v < n; v++) t->seed[point[v]] = body->lifted[v] ? 0 : 1;
    t->lowered = true;
    spl_trust_settle(t);
    for (size_t v = 0; v < n; v++) {
        if (body->lifted[v] || body->roles.vertex[v] != SUPPLE_ROLE_FOLLOW) continue;
        CHECK(t->value[point[v]] < 0.5f);
        followed++;
    }
    CHECK(followed > 10);
    supple_sim_destroy(sim);
    supple_scene_destroy(scene);
}

TEST(amounts_can_be_set_between_steps)
{
    armed a = armed_make();
    REQUIRE(a.body);
    supple_sim *sim = start(&a, "projective", NULL, 1, 1), *linear = start(&a, "linear", NULL, 1, 1);
    REQUIRE(sim && linear);
    size_t n = a.floats / 3;
    float *x = calloc(a.floats, sizeof *x), *y = calloc(a.floats, sizeof *y), *amount = calloc(n, sizeof *amount);
    step(sim, 0.5, y);
    step(linear, 0.5, x);
    double full = 0, half = 0;
    for (size_t i = 0; i < a.floats; i++) full = fmax(full, fabs((double)y[i] - (double)x[i]));
    for (size_t v = 0; v < n; v++) amount[v] = 0.5f;
    CHECK(supple_sim_set_amount(sim, amount, NULL) == SUPPLE_OK);
    for (int k = 0; k < 60; k++) step(sim, 0.5, y);
    for (size_t i = 0; i < a.floats; i++) half = fmax(half, fabs((double)y[i] - (double)x[i]));
    CHECK_NEAR(half, 0.5 * full, 1e-3 * full);
    for (size_t v = 0; v < n; v++) amount[v] = 0;
    CHECK(supple_sim_set_amount(sim, amount, NULL) == SUPPLE_OK);
    for (int k = 0; k < 60; k++) step(sim, 0.5, y);
    CHECK(memcmp(x, y, a.floats * sizeof *x) == 0);
    amount[7] = 1.5f;
    CHECK(supple_sim_set_amount(sim, amount, NULL) == SUPPLE_ERROR_ARGUMENT);
    amount[7] = NAN;
    CHECK(supple_sim_set_amount(sim, amount, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(supple_sim_set_amount(sim, NULL, NULL) == SUPPLE_OK);
    free(x);
    free(y);
    free(amount);
    supple_sim_destroy(sim);
    supple_sim_destroy(linear);
    armed_free(&a);
}

TEST_CASES(RUN(all_of_it_is_flesh_and_none_of_it_is_the_files_own_skinning), RUN(a_rigid_motion_is_not_corrected),
           RUN(a_range_that_was_judged_is_nowhere_worse),
           RUN(the_bits_of_trust_do_not_depend_on_threads_nor_on_what_is_kept), RUN(live_trust_falls_by_bounded_steps),
           RUN(a_step_after_kept_frames_tells_of_itself), RUN(what_follows_is_trusted_with_what_it_lies_on),
           RUN(amounts_can_be_set_between_steps))
