#include "body/island_body.h"
#include "body/pins.h"
#include "body/solid.h"
#include "failing.h"
#include "rig/puppet.h"

enum { RESOLUTION = 14, K = SPL_BONE_INFLUENCES };

typedef struct world {
    demo_body demo;
    puppet puppet;
    spl_pose pose;
    spl_pool *pool;
    spl_solid solid;
    char said[300]; /* the last warning */
    supple_config config;
    bool ok;
} world;

static void hear(void *user, supple_log_level level, const char *message)
{
    world *w = user;
    if (level == SUPPLE_LOG_WARNING) snprintf(w->said, sizeof w->said, "%s", message);
}

static void world_make(world *w, bool island)
{
    *w = (world){.config = supple_config_default()};
    supple_scene *scene = demo_scene("arm", 0.3);
    w->config.log = hear;
    w->config.log_user = w;
    w->puppet = puppet_make(scene);
    puppet_bind(&w->puppet);
    w->demo = island ? island_body_make(scene, RESOLUTION, spl_v3(0.1, 0.12, -0.03), 0.06)
                     : demo_body_of(scene, RESOLUTION, 0);
    w->ok = w->demo.body && spl_pool_create(&w->config, &w->pool, NULL) == SUPPLE_OK &&
            spl_pose_init(&w->pose, scene, NULL) == SUPPLE_OK &&
            spl_solid_create(w->demo.body, NULL, &w->config, w->pool, &w->solid, NULL) == SUPPLE_OK;
}

static void world_free(world *w)
{
    spl_solid_release(&w->solid);
    spl_pose_release(&w->pose);
    spl_pool_destroy(w->pool);
    puppet_free(&w->puppet);
    demo_body_free(&w->demo);
}

static bool take_pose(world *w)
{
    spl_pose_sample(&w->pose, w->demo.scene, -1, 0);
    return spl_drive_pose(&w->solid.drive, &w->pose, NULL) == SUPPLE_OK;
}

static double distance(const double *a, spl_vec3 b)
{
    return spl_distance(spl_v3(a[0], a[1], a[2]), b);
}

/* ---- starts ---- */

TEST(a_rigid_motion_is_carried_exactly)
{
    world w;
    world_make(&w, false);
    REQUIRE(w.ok && take_pose(&w));
    size_t n = (size_t)w.solid.elements.vertex_count;
    double *x = calloc(n, 3 * sizeof *x), *turn = calloc(n, 9 * sizeof *turn), posed = 0, carried = 0, turned = 0;
    spl_mat4 move = puppet_rigid(spl_v3(3, -1, 2), 100, spl_v3(0.4, -0.2, 0.9));
    spl_pose_past past;
    REQUIRE(spl_pose_past_create(&w.solid, &past, NULL) == SUPPLE_OK);
    spl_pose_past_keep(&past, &w.solid.drive);
    spl_solid_pose(&w.solid, x, w.pool);
    for (int32_t v = 0; v < (int32_t)n; v++)
        posed = fmax(posed, distance(x + 3 * v, spl_drive_point(&w.solid.drive, 0, v)));
    puppet_move(&w.puppet, &move);
    REQUIRE(take_pose(&w));
    spl_solid_carry(&w.solid, &past, x, w.pool);
    CHECK(!spl_solid_is_fresh(&w.solid, &past, 0));
    spl_solid_turns(&w.solid, turn, w.pool);
    spl_mat3 R = spl_mat3_linear(&w.solid.drive.map[0]);
    for (int32_t v = 0; v < (int32_t)n; v++) {
        carried = fmax(carried, distance(x + 3 * v, spl_drive_point(&w.solid.drive, 0, v)));
        for (int i = 0; i < 9; i++) turned = fmax(turned, fabs(turn[9 * v + i] - R.m[i]));
    }
    CHECK_NEAR(posed / w.solid.diagonal, 0, 1e-14);
    CHECK_NEAR(carried / w.solid.diagonal, 0, 1e-14);
    CHECK_NEAR(turned, 0, 1e-14);
    for (int k = 0; k < 2;
         k++) { /* a bone that was squeezed to (nearly) nothing says nothing of where to go: the rest shape does */
        double size = k ? 1e-9 : 0, fresh = 0;
        for (int32_t b = 0; b < w.solid.body->bones.bone_count; b++)
            past.map[b] = (spl_mat4){{size, 0, 0, 0, 0, size, 0, 0, 0, 0, size, 0, 7, 7, 7, 1}};
        for (size_t i = 0; i < 3 * n; i++) x[i] = 7;
        spl_solid_carry(&w.solid, &past, x, w.pool);
        for (int32_t v = 0; v < (int32_t)n; v++)
            fresh = fmax(fresh, distance(x + 3 * v, spl_drive_point(&w.solid.drive, 0, v)));
        CHECK_NEAR(fresh / w.solid.diagonal, 0, 1e-14);
        CHECK(spl_solid_is_fresh(&w.solid, &past, 0));
    }
    spl_pose_past_release(&past, &w.solid.allocator);
    free(x);
    free(turn);
    world_free(&w);
}

/* sum_b w_b map_b X and normalised sums of quaternions, spelled out. */
TEST(bent_poses_are_blended)
{
    world w;
    world_make(&w, false);
    REQUIRE(w.ok);
    puppet_turn(&w.puppet, "forearm", spl_v3(0, 0, 1), 80);
    REQUIRE(take_pose(&w));
    size_t n = (size_t)w.solid.elements.vertex_count;
    double *x = calloc(n, 3 * sizeof *x), *turn = calloc(n, 9 * sizeof *turn), off = 0, wrong = 0;
    int blended = 0;
    spl_solid_pose(&w.solid, x, w.pool);
    spl_solid_turns(&w.solid, turn, w.pool);
    for (int32_t v = 0; v < (int32_t)n; v++) {
        spl_vec3 p = spl_v3(0, 0, 0);
        spl_quat q = {0, 0, 0, 0};
        for (int k = K * v; k < K * (v + 1); k++) {
            int32_t b = w.solid.weights.bone[k];
            if (b < 0) continue;
            p = spl_madd(p, spl_drive_point(&w.solid.drive, b, v), w.solid.weights.weight[k]);
            q = spl_quat_add(q, spl_quat_scale(w.solid.drive.turn[b], w.solid.weights.weight[k]));
            blended += k > K * v;
        }
        spl_mat3 R = spl_quat_to_mat3(spl_quat_normalise(q));
        off = fmax(off, distance(x + 3 * v, p));
        for (int i = 0; i < 9; i++) wrong = fmax(wrong, fabs(turn[9 * v + i] - R.m[i]));
    }
    CHECK(off < 1e-12 && wrong < 1e-12 && blended > 10);
    free(x);
    free(turn);
    world_free(&w);
}

TEST(scales)
{
    world w;
    world_make(&w, false);
    REQUIRE(w.ok);
    CHECK_NEAR(w.solid.diagonal, w.demo.body->size_m, 0.1 * w.demo.body->size_m);
    CHECK_NEAR(w.solid.stiffness_scale, spl_tissue_default().young * w.solid.diagonal * w.solid.diagonal,
               1e-9 * w.solid.stiffness_scale);
    spl_pins pins;
    REQUIRE(spl_pins_create(&w.solid, SPL_PIN_HARD, 0, &pins, NULL) == SUPPLE_OK);
    CHECK(w.solid.island_count == 0 && pins.count == 0 && pins.held == w.demo.body->bone && !w.said[0]);
    spl_pins_release(&pins);
    world_free(&w);
}

/* ---- islands ---- */

TEST(islands_hang_on_the_nearest_bone)
{
    world w;
    world_make(&w, true);
    REQUIRE(w.ok);
    const spl_body *body = w.demo.body;
    int32_t n = body->tets.vertex_count, wrong = 0;
    spl_pins pins;
    REQUIRE(spl_pins_create(&w.solid, SPL_PIN_HARD, 0, &pins, NULL) == SUPPLE_OK);
    REQUIRE(w.solid.island_count == 1 && pins.count == 8);
    CHECK(w.solid.island_stiffness > 0);
    CHECK(strstr(w.said, "1 piece of flesh") && strstr(w.said, "springs"));
    puppet_turn(&w.puppet, "forearm", spl_v3(0, 0, 1), 60);
    REQUIRE(take_pose(&w));
    spl_pins_pose(&pins, &w.solid.drive);
    const spl_pin *pin = pins.pin;
    for (int32_t v = 0; v < n; v++) {
        int32_t bone = w.solid.island[v];
        wrong += (bone >= 0) != (v >= n - 8);
        if (bone < 0) continue;
        wrong += strcmp(body->scene->node[body->bones.bone[bone].node].name, "forearm") != 0;
        wrong += w.solid.weights.bone[K * v] != bone || w.solid.weights.weight[K * v] != 1;
        wrong += body->bone[v] >= 0;
        CHECK(pin[v - n + 8].vertex == v && pin[v - n + 8].stiffness == w.solid.island_stiffness);
        CHECK_NEAR(distance(pin[v - n + 8].target, spl_drive_point(&w.solid.drive, bone, v)), 0, 1e-12);
    }
    CHECK(wrong == 0);
    spl_pins_release(&pins);
    world_free(&w);
}

TEST(no_bone_holds_anything)
{
    demo_body demo = demo_body_of(demo_scene("arm", 0.3), 8, 0);
    REQUIRE(demo.body);
    supple_config config = supple_config_default();
    supple_error error = {0};
    spl_pool *pool = NULL;
    spl_solid solid;
    REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
    demo.handle->body.attach.constrained = 0;
    CHECK(spl_solid_create(demo.body, NULL, &config, pool, &solid, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "no bone") != NULL);
    spl_pool_destroy(pool);
    demo_body_free(&demo);
}

TEST(memory_may_run_out)
{
    world w;
    world_make(&w, true);
    REQUIRE(w.ok);
    long n = 0;
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        spl_solid solid;
        supple_result result = spl_solid_create(w.demo.body, NULL, &config, w.pool, &solid, NULL);
        bool made = result == SUPPLE_OK;
        ended = made && f.requests <= n; /* some requests may fail without harm */
        CHECK(made || result == SUPPLE_ERROR_MEMORY);
        if (made) spl_solid_release(&solid);
        CHECK(f.live == 0);
    }
    CHECK(n > 20);
    world_free(&w);
}

TEST_CASES(RUN(a_rigid_motion_is_carried_exactly), RUN(bent_poses_are_blended), RUN(scales),
           RUN(islands_hang_on_the_nearest_bone), RUN(no_bone_holds_anything), RUN(memory_may_run_out))
