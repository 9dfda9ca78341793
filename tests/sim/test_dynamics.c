/* Flesh in motion: frame rates, loops, pre-rolls, the root's inertia, jumps, and poses of a host. */
#include "failing.h"
#include "sim/posed.h"
#include "test.h"

static supple_sim_config moving(void)
{
    supple_sim_config sc = supple_sim_config_default();
    sc.dynamics = true;
    return sc;
}

static supple_sim *make(const posed *p, const supple_sim_config *sc)
{
    supple_error error = {0};
    supple_sim *sim = NULL;
    if (posed_try(p, "projective", "", sc, NULL, &sim, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        abort();
    }
    return sim;
}

static int32_t clip_of(const posed *p, const char *name)
{
    return supple_scene_clip_find(p->demo.scene, name);
}

/* The visual vertices after a step, 3 floats each. */
static float *positions(const supple_sim *sim)
{
    float *out = calloc((size_t)sim->scene->vertex_count, 3 * sizeof *out);
    supple_sim_read_positions(sim, out, 12);
    return out;
}

/* Largest distance of two sets of visual vertices. */
static double distance(const supple_sim *sim, const float *a, const float *b)
{
    double most = 0;
    for (int32_t v = 0; v < sim->scene->vertex_count; v++) {
        double d = spl_distance(spl_v3_from_float(a + 3 * v), spl_v3_from_float(b + 3 * v));
        if (!(d <= most)) most = d;
    }
    return most;
}

static void run_clip(supple_sim *sim, int32_t clip, double fps, double end)
{
    for (int k = 0; k / fps < end + 1e-9; k++) CHECK(supple_sim_step_clip(sim, clip, k / fps, NULL) == SUPPLE_OK);
}

TEST(frame_rates_share_their_motion)
{
    static const double fps[] = {24, 30, 60, 25, 50};
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = moving(), still = supple_sim_config_default();
    int32_t clip = clip_of(&p, "hop");
    float *at[5], *quasistatic;
    for (int k = 0; k < 5; k++) {
        supple_sim *sim = make(&p, &sc);
        run_clip(sim, clip, fps[k], 1);
        at[k] = positions(sim);
        supple_sim_destroy(sim);
    }
    supple_sim *sim = make(&p, &still);
    CHECK(supple_sim_step_clip(sim, clip, 1, NULL) == SUPPLE_OK);
    quasistatic = positions(sim);
    double swing = distance(sim, at[0], quasistatic);
    printf("    swing %.4f, 24 against 30, 60, 25, 50: %.2e %.2e %.2e %.2e\n", swing, distance(sim, at[0], at[1]),
           distance(sim, at[0], at[2]), distance(sim, at[0], at[3]), distance(sim, at[0], at[4]));
    CHECK(swing > 1e-3); /* there is something to compare */
    for (int k = 1; k < 5; k++) CHECK(distance(sim, at[0], at[k]) < (k < 3 ? 1e-7 : 0.02 * swing));
    for (int k = 0; k < 5; k++) free(at[k]);
    free(quasistatic);
    supple_sim_destroy(sim);
    posed_free(&p);
}

TEST(a_frame_between_two_states_lies_between_them)
{
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = moving();
    supple_sim *sim = make(&p, &sc);
    int32_t clip = clip_of(&p, "hop");
    float *at[3];
    for (int k = 0; k < 3; k++) {
        CHECK(supple_sim_step_clip(sim, clip, 0.5 + k / 240.0, NULL) == SUPPLE_OK);
        at[k] = positions(sim);
    }
    double most = 0, step = distance(sim, at[0], at[2]);
    for (int32_t i = 0; i < 3 * sim->scene->vertex_count; i++)
        most = fmax(most, fabs((double)at[1][i] - ((double)at[0][i] + (double)at[2][i]) / 2));
    CHECK(step > 1e-4 && most < 1e-2 * step);
    for (int k = 0; k < 3; k++) free(at[k]);
    supple_sim_destroy(sim);
    posed_free(&p);
}

TEST(the_first_frame_is_in_equilibrium_and_the_same_time_leaves_the_state)
{
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = moving(), still = supple_sim_config_default();
    supple_sim *a = make(&p, &sc), *b = make(&p, &still);
    int32_t clip = clip_of(&p, "lean");
    CHECK(supple_sim_step_clip(a, clip, 0.3, NULL) == SUPPLE_OK &&
          supple_sim_step_clip(b, clip, 0.3, NULL) == SUPPLE_OK);
    CHECK(posed_distance(a, posed_x(a), posed_x(b)) == 0);
    run_clip(a, clip, 30, 0.5);
    float *first = positions(a);
    CHECK(supple_sim_step_clip(a, clip, 0.5, NULL) == SUPPLE_OK);
    float *again = positions(a);
    CHECK(distance(a, first, again) == 0);
    free(first);
    free(again);
    supple_sim_destroy(a);
    supple_sim_destroy(b);
    posed_free(&p);
}

TEST(seeking_back_or_far_ahead_starts_anew)
{
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = moving();
    supple_sim *a = make(&p, &sc), *b = make(&p, &sc);
    int32_t clip = clip_of(&p, "hop");
    run_clip(a, clip, 30, 0.6);
    CHECK(supple_sim_step_clip(a, clip, 0.4, NULL) == SUPPLE_OK &&
          supple_sim_step_clip(b, clip, 0.4, NULL) == SUPPLE_OK);
    CHECK(posed_distance(a, posed_x(a), posed_x(b)) == 0);
    CHECK(supple_sim_step_clip(a, clip, 1.45, NULL) == SUPPLE_OK);
    supple_sim_reset(b);
    CHECK(supple_sim_step_clip(b, clip, 1.45, NULL) == SUPPLE_OK);
    CHECK(posed_distance(a, posed_x(a), posed_x(b)) == 0);
    supple_sim_destroy(a);
    supple_sim_destroy(b);
    posed_free(&p);
}

TEST(a_loops_last_frame_meets_its_first)
{
    posed p = posed_make("turtle", 14, NULL);
    supple_sim_config sc = moving();
    int32_t clip = clip_of(&p, "walk");
    double end = supple_scene_clip_duration(p.demo.scene, clip), gap[2];
    for (int loop = 0; loop < 2; loop++) {
        sc.loop = loop;
        supple_sim *sim = make(&p, &sc);
        CHECK(supple_sim_step_clip(sim, clip, 0, NULL) == SUPPLE_OK);
        double *first = posed_copy(sim);
        run_clip(sim, clip, 30, end);
        CHECK(supple_sim_step_clip(sim, clip, end, NULL) == SUPPLE_OK);
        gap[loop] = posed_distance(sim, posed_x(sim), first);
        free(first);
        supple_sim_destroy(sim);
    }
    printf("    apart by %.2e of the diagonal, as a loop %.2e\n", gap[0], gap[1]);
    CHECK(gap[1] < 1e-3 && gap[1] < 0.5 * gap[0]);
    posed_free(&p);
}

TEST(a_preroll_lets_flesh_come_to_rest)
{
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = moving();
    sc.preroll = 0.5;
    supple_sim *sim = make(&p, &sc);
    int32_t clip = clip_of(&p, "hop");
    CHECK(supple_sim_step_clip(sim, clip, 0.5, NULL) == SUPPLE_OK);
    double fastest = 0;
    for (int32_t i = 0; i < 3 * sim->flesh.body->tets.vertex_count; i++)
        fastest = fmax(fastest, fabs(sim->flesh.velocity[i]));
    printf("    fastest vertex %.2e m/s\n", fastest);
    CHECK(fastest < 0.01);
    supple_sim_destroy(sim);
    posed_free(&p);
}

/* ---- the host's poses ---- */

static float *host_pose(const posed *p, int32_t *count)
{
    *count = supple_scene_joint_count(p->demo.scene);
    float *m = calloc((size_t)*count, 16 * sizeof *m);
    if (supple_scene_pose(p->demo.scene, -1, 0, m, *count, NULL) != SUPPLE_OK) abort();
    return m;
}

static void host_step(posed *p, supple_sim *sim, spl_mat4 moved, double dt)
{
    int32_t count;
    puppet_move(&p->puppet, &moved);
    float *m = host_pose(p, &count);
    supple_error error = {0};
    if (supple_sim_step_pose_dt(sim, m, count, dt, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        CHECK(false);
    }
    free(m);
}

TEST(without_root_inertia_the_roots_motion_does_nothing)
{
    double most[2] = {0};
    for (int inertia = 0; inertia < 2; inertia++) {
        posed p = posed_make("sack", 10, NULL);
        supple_sim_config sc = moving();
        sc.root_inertia = inertia;
        supple_sim *sim = make(&p, &sc);
        for (int k = 0; k < 40; k++) { /* accelerates, brakes, turns */
            double t = k / 60.0, way = 0.3 * sin(12 * t);
            host_step(&p, sim, puppet_rigid(spl_v3(1, 2, 0), 40 * t, spl_v3(way, 0.5 * way, -way)), 1 / 60.0);
            if (k > 0) most[inertia] = fmax(most[inertia], posed_rigid(sim));
        }
        supple_sim_destroy(sim);
        posed_free(&p);
    }
    printf("    flesh strays by %.2e of the diagonal without, %.2e with the root's inertia\n", most[0], most[1]);
    CHECK(most[0] < 1e-4 && most[1] > 5e-3);
}

/* The body's vertices as bone 0, the root, sees them. */
static double *seen_from_root(const supple_sim *sim)
{
    double *x = posed_copy(sim);
    spl_mat4 back;
    if (!spl_mat4_inverse(&sim->flesh.solid.drive.map[0], &back)) abort();
    for (int32_t v = 0; v < sim->flesh.body->tets.vertex_count; v++) {
        spl_vec3 p = spl_mat4_point(&back, spl_v3(x[3 * v], x[3 * v + 1], x[3 * v + 2]));
        memcpy(x + 3 * v, &p, sizeof p);
    }
    return x;
}

/* A forearm stops; its flesh swings on, on a root that turns as on one that stands. */
TEST(without_root_inertia_flesh_swings_on_with_the_root)
{
    double *x[2], *still = NULL, swing = 0, apart = 0;
    supple_sim_config sc = moving();
    sc.root_inertia = 0;
    for (int turns = 0; turns < 2; turns++) {
        posed p = posed_make("arm", 10, NULL);
        supple_sim *sim = make(&p, &sc);
        for (int k = 0; k < 24; k++) {
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 4.0 * (k < 18 ? k : 18));
            host_step(&p, sim, puppet_rigid(spl_v3(0, 1, 0), turns * 5.0 * k, spl_v3(0, 0, 0)), sc.substep);
        }
        x[turns] = seen_from_root(sim);
        if (turns) apart = posed_distance(sim, x[0], x[1]);
        for (int k = 0; k < 240 && !turns; k++) host_step(&p, sim, spl_mat4_identity(), sc.substep);
        if (!turns) still = seen_from_root(sim);
        if (!turns) swing = posed_distance(sim, x[0], still);
        supple_sim_destroy(sim);
        posed_free(&p);
    }
    printf("    swings by %.2e of the diagonal, %.1e otherwise on a root that turns\n", swing, apart);
    CHECK(swing > 3e-3 && apart < 0.02 * swing);
    free(x[0]), free(x[1]), free(still);
}

TEST(flesh_swings_on_when_its_bones_stop_and_comes_to_rest)
{
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = moving();
    supple_sim *sim = make(&p, &sc);
    double swing[3] = {0}; /* in the first tenth of a second after the stop, after one second, after two */
    for (int k = 0; k < 30; k++)
        host_step(&p, sim, puppet_rigid(spl_v3(0, 1, 0), 0, spl_v3(1.5 * k / 60.0, 0, 0)), 1 / 60.0);
    for (int k = 0; k < 126; k++) {
        host_step(&p, sim, puppet_rigid(spl_v3(0, 1, 0), 0, spl_v3(1.5 * 29 / 60.0, 0, 0)), 1 / 60.0);
        if (k % 60 < 6) swing[k / 60] = fmax(swing[k / 60], posed_rigid(sim));
    }
    printf("    %.2e of the diagonal, %.2e a second later, %.2e after two\n", swing[0], swing[1], swing[2]);
    CHECK(swing[0] > 5e-3 && swing[1] < 0.5 * swing[0] && swing[2] < 0.5 * swing[1]);
    supple_sim_destroy(sim);
    posed_free(&p);
}

/* Holds a pose and keeps the visual vertices of every frame. */
static void hold_pose(supple_sim *sim, const float *m, int32_t count, int frames, float *shown[])
{
    for (int k = 0; k < frames; k++) {
        CHECK(supple_sim_step_pose_dt(sim, m, count, 1 / 60.0, NULL) == SUPPLE_OK);
        shown[k] = positions(sim);
    }
}

/* The acceptance of the method: a walk that stops in the middle of a stride. */
TEST(a_walk_that_stops_jiggles_with_dynamics_and_not_without)
{
    enum { AFTER = 90 };
    if (test_size(0, 1)) SKIP("quick: an arm has stopped before");
    double swing[2][3] = {{0}}; /* in the first tenth of a second, from half a second, from one second on; metres */
    supple_scene *scene = NULL;
    REQUIRE(supple_scene_load_file(SPL_DATA_DIR "/hero.glb", NULL, &scene, NULL) == SUPPLE_OK);
    for (int dynamics = 0; dynamics < 2; dynamics++) {
        supple_sim *sim = NULL;
        supple_body_config bc = supple_body_config_default();
        supple_sim_config sc = supple_sim_config_default();
        sc.method = "projective";
        sc.dynamics = dynamics;
        sc.body_config = &bc;
        bc.resolution = 36;
        bc.cache = false;
        REQUIRE(supple_sim_create(scene, &sc, NULL, &sim, NULL) == SUPPLE_OK);
        int32_t count = supple_scene_joint_count(scene), clip = supple_scene_clip_find(scene, "walk");
        float *m = calloc((size_t)count, 16 * sizeof *m), *shown[AFTER];
        for (int k = 0; k <= 30; k++) {
            REQUIRE(supple_scene_pose(scene, clip, k / 60.0, m, count, NULL) == SUPPLE_OK);
            supple_result result = dynamics ? supple_sim_step_pose_dt(sim, m, count, 1 / 60.0, NULL)
                                            : supple_sim_step_pose(sim, m, count, NULL);
            CHECK(result == SUPPLE_OK);
        }
        if (dynamics) {
            hold_pose(sim, m, count, AFTER, shown);
        } else {
            for (int k = 0; k < AFTER; k++) {
                if (k < 3) CHECK(supple_sim_step_pose(sim, m, count, NULL) == SUPPLE_OK);
                shown[k] = positions(sim);
            }
        }
        for (int k = 0; k < AFTER; k++) {
            int when = k < 6 ? 0 : k < 30 ? -1 : k < 60 ? 1 : 2;
            if (when >= 0)
                swing[dynamics][when] = fmax(swing[dynamics][when], distance(sim, shown[k], shown[AFTER - 1]));
        }
        for (int k = 0; k < AFTER; k++) free(shown[k]);
        free(m);
        supple_sim_destroy(sim);
    }
    supple_scene_destroy(scene);
    printf("    mm: %.2f, %.2f, %.3f with dynamics; %.3f without\n", 1e3 * swing[1][0], 1e3 * swing[1][1],
           1e3 * swing[1][2], 1e3 * swing[0][0]);
    CHECK(swing[1][0] > 5e-3 && swing[1][1] < 0.3 * swing[1][0] && swing[1][2] < 0.5 * swing[1][1]);
    CHECK(swing[0][0] < 0.02 * swing[1][0]);
}

TEST(a_teleport_is_over_in_half_a_second)
{
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = moving();
    supple_sim *sim = make(&p, &sc);
    double far = 10 * sim->flesh.solid.diagonal;
    for (int k = 0; k < 3; k++) host_step(&p, sim, spl_mat4_identity(), 1 / 60.0);
    for (int k = 0; k < 30; k++) host_step(&p, sim, puppet_rigid(spl_v3(0, 1, 0), 90, spl_v3(far, 0, 0)), 1 / 60.0);
    printf("    %.2e of the diagonal away after half a second\n", posed_rigid(sim));
    CHECK(posed_rigid(sim) < 5e-3);
    supple_sim_destroy(sim);
    posed_free(&p);
}

TEST(any_length_of_time_between_poses_will_do)
{
    static const double dt[] = {0, 1e-9, 1.0 / 240, 1.0 / 144, 0, 1.0 / 60, 1, 1e-9, 3, 1.0 / 37, 0.4};
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = moving();
    supple_sim *sim = make(&p, &sc);
    for (size_t k = 0; k < 44; k++) {
        host_step(&p, sim, puppet_rigid(spl_v3(0, 1, 0), 3 * (double)k, spl_v3(0.01 * (double)k, 0, 0)), dt[k % 11]);
        float *x = positions(sim);
        bool finite = true;
        for (int32_t i = 0; i < 3 * sim->scene->vertex_count; i++) finite = finite && isfinite(x[i]);
        CHECK(finite && posed_rigid(sim) < 0.5);
        free(x);
    }
    double *before = posed_copy(sim);
    host_step(&p, sim, puppet_rigid(spl_v3(0, 1, 0), 3, spl_v3(0.1, 0, 0)), 0);
    CHECK(posed_distance(sim, posed_x(sim), before) == 0);
    int32_t count;
    float *pose = host_pose(&p, &count);
    CHECK(supple_sim_step_pose_dt(sim, pose, count, -1, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(supple_sim_step_pose_dt(sim, pose, count, NAN, NULL) == SUPPLE_ERROR_ARGUMENT);
    free(pose);
    free(before);
    supple_sim_destroy(sim);
    posed_free(&p);
}

/* What is shown of a host's pose follows the bones exactly, also between two steps. */
TEST(flesh_shown_between_steps_is_where_its_bones_are)
{
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = moving();
    supple_sim *sim = make(&p, &sc);
    host_step(&p, sim, spl_mat4_identity(), 0);
    float *rest = positions(sim);
    host_step(&p, sim, puppet_rigid(spl_v3(0, 1, 0), 0, spl_v3(0.25, 0, 0)), 1.0 / 500);
    float *moved = positions(sim);
    double most = 0;
    for (int32_t v = 0; v < sim->scene->vertex_count; v++) {
        spl_vec3 d = spl_sub(spl_v3_from_float(moved + 3 * v), spl_v3_from_float(rest + 3 * v));
        most = fmax(most, spl_distance(d, spl_v3(0.25, 0, 0)));
    }
    CHECK(most < 1e-5);
    free(rest);
    free(moved);
    supple_sim_destroy(sim);
    posed_free(&p);
}

/* ---- gravity, requests, memory ---- */

TEST(gravity_is_the_weight_of_the_flesh)
{
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = supple_sim_config_default();
    sc.gravity[1] = -9.81;
    supple_sim *sim = make(&p, &sc);
    CHECK(supple_sim_step_clip(sim, -1, 0, NULL) == SUPPLE_OK);
    double sum[3] = {0}, mass = 0, sunk = 0;
    const spl_solid *s = &sim->flesh.solid;
    for (int32_t k = 0; k < s->elements.count; k++) mass += s->elements.volume[k] * s->material.density[k];
    for (int32_t v = 0; v < s->elements.vertex_count; v++) {
        for (int i = 0; i < 3; i++) sum[i] += s->force[3 * v + i];
        sunk += posed_x(sim)[3 * v + 1] - spl_drive_point(&s->drive, 0, v).y;
    }
    CHECK_NEAR(sum[1], -9.81 * mass, 1e-9 * mass);
    CHECK_NEAR(sum[0], 0, 1e-9 * mass);
    CHECK(sunk < 0);
    supple_sim_destroy(sim);
    posed_free(&p);
}

TEST(what_a_method_cannot_do_is_refused)
{
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = moving();
    supple_sim *sim;
    supple_error error = {0};
    CHECK(posed_try(&p, "mixed", "", &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(strstr(error.message, "dynamics") && strstr(error.message, "projective"));
    sc = supple_sim_config_default();
    sc.collide = SUPPLE_COLLIDE_SELF;
    CHECK(posed_try(&p, "linear", "", &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT);
    sc = supple_sim_config_default();
    sc.gravity[0] = 1;
    CHECK(posed_try(&p, "dualquat", "", &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT);
    sc = moving();
    sc.substep = 0;
    CHECK(posed_try(&p, "projective", "", &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT);
    sc = moving();
    sc.root_inertia = NAN;
    CHECK(posed_try(&p, "projective", "", &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT);
    posed_free(&p);
}

TEST(steps_allocate_nothing)
{
    posed p = posed_make("sack", 8, NULL);
    failing f = {.fail_at = -1};
    supple_config config = supple_config_default();
    supple_sim_config sc = moving();
    supple_sim *sim = NULL;
    config.allocator = failing_allocator(&f);
    sc.gravity[1] = -9.81;
    REQUIRE(posed_try(&p, "projective", "", &sc, &config, &sim, NULL) == SUPPLE_OK);
    long made = f.requests;
    run_clip(sim, clip_of(&p, "hop"), 25, 0.3);
    host_step(&p, sim, spl_mat4_identity(), 0.1);
    host_step(&p, sim, spl_mat4_identity(), 0.1);
    CHECK(f.requests == made);
    supple_sim_destroy(sim);
    CHECK(f.live == 0);
    posed_free(&p);
}

/* The left forearm and what hangs on it, scaled about the elbow by `size` along each axis. */
static void scale_forearm(const supple_scene *scene, const float *pose, int32_t count, spl_vec3 size, float *out)
{
    static const char *const names[] = {"forearm.L", "hand.L", "fingers.L", "thumb.L"};
    const float *elbow = NULL;
    memcpy(out, pose, (size_t)count * 16 * sizeof *out);
    for (int32_t j = 0; j < count; j++)
        if (strcmp(supple_scene_joint_name(scene, j), names[0]) == 0) elbow = pose + 16 * j + 12;
    if (!elbow) abort();
    for (int32_t j = 0; j < count; j++)
        for (int k = 0; k < 4; k++) {
            if (strcmp(supple_scene_joint_name(scene, j), names[k]) != 0) continue;
            for (int c = 0; c < 4; c++) {
                float *column = out + 16 * j + 4 * c;
                const float from[3] = {c == 3 ? elbow[0] : 0, c == 3 ? elbow[1] : 0, c == 3 ? elbow[2] : 0};
                column[0] = from[0] + (float)size.x * (column[0] - from[0]);
                column[1] = from[1] + (float)size.y * (column[1] - from[1]);
                column[2] = from[2] + (float)size.z * (column[2] - from[2]);
            }
        }
}

/* A joint scaled to nothing and back, as clips do to hide what hangs on it: after half a second the flesh is where it
 * was, and nothing ever was far away. */
TEST(a_part_that_is_hidden_comes_back)
{
    static const spl_vec3 sizes[] = {{0, 0, 0}, {1e-9, 1e-9, 1e-9}, {0.003, 0.003, 0.003}, {1, 0, 1}};
    posed p = posed_make("hero", 40, NULL);
    supple_sim_config sc = moving();
    int32_t count;
    float *pose = host_pose(&p, &count), *hidden = calloc((size_t)count, 16 * sizeof *hidden);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        supple_sim *sim = make(&p, &sc);
        scale_forearm(p.demo.scene, pose, count, sizes[k], hidden);
        for (int f = 0; f < 3; f++) CHECK(supple_sim_step_pose_dt(sim, pose, count, 1 / 30.0, NULL) == SUPPLE_OK);
        float *settled = positions(sim);
        double farthest = 0;
        for (int f = 0; f < 25; f++) {
            CHECK(supple_sim_step_pose_dt(sim, f < 10 ? hidden : pose, count, 1 / 30.0, NULL) == SUPPLE_OK);
            float *now = positions(sim);
            farthest = fmax(farthest, distance(sim, now, settled));
            if (f == 24)
                printf("    hidden by %g: %.3f m away at most, %.4f m at the end\n", sizes[k].y, farthest,
                       distance(sim, now, settled));
            if (f == 24) CHECK(distance(sim, now, settled) < 0.01);
            free(now);
        }
        CHECK(farthest < 1); /* an arm's length */
        free(settled);
        supple_sim_destroy(sim);
    }
    free(pose);
    free(hidden);
    posed_free(&p);
}

TEST_CASES(RUN(a_part_that_is_hidden_comes_back), RUN(frame_rates_share_their_motion),
           RUN(a_frame_between_two_states_lies_between_them),
           RUN(the_first_frame_is_in_equilibrium_and_the_same_time_leaves_the_state),
           RUN(seeking_back_or_far_ahead_starts_anew), RUN(a_loops_last_frame_meets_its_first),
           RUN(a_preroll_lets_flesh_come_to_rest), RUN(without_root_inertia_the_roots_motion_does_nothing),
           RUN(without_root_inertia_flesh_swings_on_with_the_root),
           RUN(flesh_swings_on_when_its_bones_stop_and_comes_to_rest),
           RUN(a_walk_that_stops_jiggles_with_dynamics_and_not_without), RUN(a_teleport_is_over_in_half_a_second),
           RUN(any_length_of_time_between_poses_will_do), RUN(flesh_shown_between_steps_is_where_its_bones_are),
           RUN(gravity_is_the_weight_of_the_flesh), RUN(what_a_method_cannot_do_is_refused),
           RUN(steps_allocate_nothing))
