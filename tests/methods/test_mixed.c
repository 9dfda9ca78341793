#include "core/hash.h"
#include "sim/posed.h"

enum { RESOLUTION = 16 };
static const char *const CLUSTERS[] = {"smooth", "bone", "joint", "midpoint", "hierarchy", "user"};

/* ---- rest and rigid motions ---- */

/* From a bent pose back to one that is rigid: the warm start is wrong, the solution must not be. */
TEST(rest_gives_rest)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    for (int cluster = 0; cluster < 6; cluster++)
        for (int pin = 0; pin < 2; pin++) {
            char settings[100];
            snprintf(settings, sizeof settings, "cluster=%s pin=%s tolerance=1e-12", CLUSTERS[cluster],
                     pin ? "hard" : "soft");
            supple_sim *sim = posed_sim(&p, "mixed", settings);
            double first = posed_distance(sim, posed_x(sim), sim->flesh.solid.drive.rest);
            CHECK_NEAR(first, 0, 1e-14);
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 50);
            CHECK(posed_step(sim) == SUPPLE_OK);
            CHECK(posed_distance(sim, posed_x(sim), sim->flesh.solid.drive.rest) > 0.1);
            puppet_rest(&p.puppet);
            for (int again = 0; again < 2; again++) CHECK(posed_step(sim) == SUPPLE_OK);
            CHECK_NEAR(posed_distance(sim, posed_x(sim), sim->flesh.solid.drive.rest), 0, 1e-10);
            supple_sim_destroy(sim);
        }
    posed_free(&p);
}

/* The root's own static scale, a reflection and a stretch; `linear` is exact in a rigid motion and knows no flesh. */
static void check_rigid(const spl_mat4 *kept, double body_tolerance)
{
    posed p = posed_make("arm", RESOLUTION, kept);
    int32_t n = supple_scene_vertex_count(p.demo.scene);
    float *a = calloc((size_t)n, 12), *b = calloc((size_t)n, 12);
    supple_sim *sim = posed_sim(&p, "mixed", "tolerance=1e-12"), *linear = posed_sim(&p, "linear", "");
    for (int k = 0; k < 3; k++) {
        spl_mat4 move = puppet_rigid(spl_v3(1, k - 1, 0.3), 100 * k, spl_v3(k, -0.5, 0.2 * k));
        double most = 0, low = INFINITY, high = -INFINITY;
        puppet_rest(&p.puppet);
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 1, 1), 20 * k);
        CHECK(posed_step(sim) == SUPPLE_OK);
        puppet_rest(&p.puppet);
        puppet_move(&p.puppet, &move);
        for (int again = 0; again < 2; again++) CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK(posed_step(linear) == SUPPLE_OK);
        CHECK_NEAR(posed_rigid(sim), 0, body_tolerance);
        CHECK_NEAR(supple_sim_stats(sim)->volume_ratio, 1, 1e-9);
        supple_sim_read_positions(sim, a, 12);
        supple_sim_read_positions(linear, b, 12);
        for (int32_t i = 0; i < 3 * n; i++) {
            most = fmax(most, fabs((double)a[i] - (double)b[i]));
            low = fmin(low, (double)b[i]);
            high = fmax(high, (double)b[i]);
        }
        CHECK_NEAR(most / (high - low), 0, 3e-6); /* the upsampling's rest is good to 1e-6 */
    }
    supple_sim_destroy(sim);
    supple_sim_destroy(linear);
    free(a);
    free(b);
    posed_free(&p);
}

TEST(rigid_motions_are_rigid)
{
    static const double kept[][3] = {{1, 1, 1},  {0.01, 0.01, 0.01}, {100, 100, 100},
                                     {-1, 1, 1}, {-2, -2, -2},       {1, 2, 0.5}};
    check_rigid(NULL, 1e-9);
    for (int i = 0; i < 6; i++) {
        spl_mat3 S = spl_mat3_diagonal(kept[i][0], kept[i][1], kept[i][2]);
        spl_mat4 scale = spl_mat3_affine(&S, spl_v3(0, 0, 0));
        int before = test_failures;
        check_rigid(&scale, 1e-9);
        if (test_failures > before) printf("    under a scale of %g %g %g\n", kept[i][0], kept[i][1], kept[i][2]);
    }
}

/* ---- energies, rotations, solvers ---- */

/* The residual is recomputed by the measures, from the law alone. */
TEST(every_energy_finds_its_balance)
{
    static const char *const energies[] = {"arap", "corot", "neohookean"};
    posed p = posed_make("arm", RESOLUTION, NULL);
    double *x[3] = {0};
    for (int e = 0; e < 3; e++)
        for (int pin = 0; pin < 2; pin++) {
            char settings[100];
            snprintf(settings, sizeof settings, "energy=%s pin=%s tolerance=1e-9", energies[e], pin ? "hard" : "soft");
            supple_sim *sim = posed_sim(&p, "mixed", settings);
            for (int degrees = 20; degrees <= 80; degrees += 30) {
                puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
                CHECK(posed_step(sim) == SUPPLE_OK);
                CHECK(supple_sim_stats(sim)->residual < 1e-8 && supple_sim_stats(sim)->residual > 0);
                CHECK(supple_sim_stats(sim)->energy > 0 && supple_sim_stats(sim)->inverted == 0);
            }
            free(x[e]);
            x[e] = posed_copy(sim);
            if (e > 0 && pin == 1) CHECK(posed_distance(sim, x[e], x[e - 1]) > 1e-4); /* not the same law */
            supple_sim_destroy(sim);
            puppet_rest(&p.puppet);
        }
    for (int e = 0; e < 3; e++) free(x[e]);
    posed_free(&p);
}

/* Local/global rounds end where Newton's method on the corotational energy ends. */
TEST(polar_rotations_converge_to_the_reference)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    supple_sim *truth = posed_sim(&p, "reference", "energy=corot");
    puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 40);
    CHECK(posed_step(truth) == SUPPLE_OK);
    static const int rounds[] = {1, 10, 200};
    double distance[4];
    for (int i = 0; i < 4; i++) {
        char settings[100] = "tolerance=1e-9";
        if (i) snprintf(settings, sizeof settings, "tolerance=1e-9 rotation=polar rounds=%d", rounds[i - 1]);
        supple_sim *sim = posed_sim(&p, "mixed", settings);
        CHECK(posed_step(sim) == SUPPLE_OK);
        distance[i] = posed_distance(sim, posed_x(sim), posed_x(truth));
        supple_sim_destroy(sim);
    }
    printf("    distance to corot: %.2e, after 1, 10, 200 rounds %.2e %.2e %.2e\n", distance[0], distance[1],
           distance[2], distance[3]);
    CHECK(distance[1] < distance[0] && distance[2] < distance[1] && distance[3] < 1e-4);
    supple_sim_destroy(truth);
    posed_free(&p);
}

TEST(the_solvers_agree)
{
    static const char *const solvers[] = {"direct", "warp", "scalar", "levels"};
    posed p = posed_make("cylinder", RESOLUTION, NULL);
    double *truth = NULL;
    const char *joint = p.demo.scene->node[p.demo.body->bones.bone[2].node].name;
    for (int i = 0; i < 4; i++)
        for (int pin = 0; pin < 2; pin++) {
            char settings[100];
            snprintf(settings, sizeof settings, "solver=%s tolerance=1e-11 pin=%s", solvers[i], pin ? "hard" : "soft");
            supple_sim *sim = posed_sim(&p, "mixed", settings);
            puppet_turn(&p.puppet, joint, spl_v3(1, 1, 1), 70);
            CHECK(posed_step(sim) == SUPPLE_OK);
            CHECK(supple_sim_stats(sim)->residual < 2e-11);
            if (pin && !truth) truth = posed_copy(sim);
            if (pin) CHECK_NEAR(posed_distance(sim, posed_x(sim), truth), 0, 1e-8);
            supple_sim_destroy(sim);
            puppet_rest(&p.puppet);
        }
    free(truth);
    posed_free(&p);
}

/* ---- threads and memory ---- */

static uint64_t run_hash(posed *p, const char *settings, int threads)
{
    supple_config config = supple_config_default();
    supple_sim *sim = NULL;
    uint64_t hash = 0;
    config.thread_count = threads;
    if (posed_try(p, "mixed", settings, NULL, &config, &sim, NULL) != SUPPLE_OK) return 0;
    for (int k = 0; k < 4; k++) {
        CHECK(supple_sim_step_clip(sim, 0, 0.4 * k, NULL) == SUPPLE_OK);
        hash = spl_hash(posed_x(sim), (size_t)p->demo.body->tets.vertex_count * 24, hash);
    }
    supple_sim_destroy(sim);
    return hash;
}

TEST(the_bits_do_not_depend_on_the_threads)
{
    static const char *const settings[] = {
        "", "solver=scalar", "solver=warp", "solver=direct", "energy=neohookean", "rotation=polar pin=soft"};
    posed p = posed_make("arm", 24, NULL);
    for (int i = 0; i < 6; i++) {
        uint64_t one = run_hash(&p, settings[i], 1);
        CHECK(one != 0 && one == run_hash(&p, settings[i], 2) && one == run_hash(&p, settings[i], 7));
    }
    posed_free(&p);
}

TEST(memory_may_run_out)
{
    static const char *const settings[] = {"verify=1", "energy=neohookean cluster=bone pin=soft",
                                           "energy=arap rotation=polar solver=direct"};
    posed p = posed_make("arm", 8, NULL);
    supple_sim_config sc = supple_sim_config_default();
    sc.measure = true;
    for (int i = 0; i < 3; i++) posed_fail_every_allocation(&p, "mixed", settings[i], &sc, 0.3);
    posed_free(&p);
}

/* ---- extremes ---- */

/* After a frame however wild, a frame gives what it would have given without it. */
static void check_recovery(posed *p, const char *settings, const char *joint)
{
    static const double wild[] = {180, -179, 360, 90};
    supple_sim *calm = posed_sim(p, "mixed", settings), *sim = posed_sim(p, "mixed", settings);
    puppet_rest(&p->puppet);
    puppet_turn(&p->puppet, joint, spl_v3(0, 0, 1), 30);
    CHECK(posed_step(calm) == SUPPLE_OK);
    for (int i = 0; i < 4; i++) {
        spl_mat4 far = puppet_rigid(spl_v3(1, 1, 0), 170, spl_v3(1e4, 0, -1e4));
        puppet_rest(&p->puppet);
        if (i == 3) puppet_move(&p->puppet, &far);
        puppet_turn(&p->puppet, joint, i % 2 ? spl_v3(1, 2, 3) : spl_v3(0, 0, 1), wild[i]);
        CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK(isfinite(supple_sim_stats(sim)->volume_ratio) && supple_sim_stats(sim)->inverted >= 0);
        puppet_rest(&p->puppet);
        puppet_turn(&p->puppet, joint, spl_v3(0, 0, 1), 30);
        CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK_NEAR(posed_distance(sim, posed_x(sim), posed_x(calm)), 0, 1e-5);
    }
    supple_sim_destroy(calm);
    supple_sim_destroy(sim);
}

TEST(extreme_poses_end_and_are_forgotten)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    check_recovery(&p, "tolerance=1e-9", "forearm");
    check_recovery(&p, "tolerance=1e-9 cluster=bone pin=soft", "forearm");
    check_recovery(&p, "tolerance=1e-9 solver=direct cluster=hierarchy", "forearm");
    check_recovery(&p, "tolerance=1e-9 rotation=polar", "forearm");
    check_recovery(&p, "tolerance=1e-9 energy=neohookean", "forearm");
    posed_free(&p);
}

/* A bone squeezed to nothing or blown up: the elements invert or stretch, the frame ends and says so. */
TEST(elements_that_invert_are_counted)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    supple_sim *sim = posed_sim(&p, "mixed", "tolerance=1e-9");
    double *calm = posed_copy(sim);
    int32_t n = puppet_node(&p.puppet, "forearm");
    spl_mat3 mirror = spl_mat3_diagonal(-1, 1, 1), flat = spl_mat3_diagonal(1, 0, 1);
    spl_mat4 turned = spl_mat3_affine(&mirror, spl_v3(0, 0, 0)), none = spl_mat3_affine(&flat, spl_v3(0, 0, 0));
    puppet_set(&p.puppet, n, spl_mat4_mul(&p.puppet.home[n], &turned));
    CHECK(posed_step(sim) == SUPPLE_OK);
    CHECK(supple_sim_stats(sim)->inverted > 0 && supple_sim_stats(sim)->min_det_f < 0);
    puppet_set(&p.puppet, n, spl_mat4_mul(&p.puppet.home[n], &none));
    CHECK(posed_step(sim) == SUPPLE_OK && isfinite(supple_sim_stats(sim)->residual));
    puppet_rest(&p.puppet);
    CHECK(posed_step(sim) == SUPPLE_OK);
    CHECK(supple_sim_stats(sim)->inverted == 0);
    CHECK_NEAR(posed_distance(sim, posed_x(sim), calm), 0, 1e-6);
    free(calm);
    supple_sim_destroy(sim);
    posed_free(&p);
}

TEST(a_pose_that_is_not_finite_is_refused)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    int32_t joints = supple_scene_joint_count(p.demo.scene), n = supple_scene_vertex_count(p.demo.scene);
    float *m = calloc((size_t)joints, 64), *before = calloc((size_t)n, 12), *after = calloc((size_t)n, 12);
    supple_error error = {0};
    supple_sim *sim = posed_sim(&p, "mixed", "");
    CHECK(supple_scene_pose(p.demo.scene, 0, 0.5, m, joints, NULL) == SUPPLE_OK);
    CHECK(supple_sim_step_pose(sim, m, joints, NULL) == SUPPLE_OK);
    supple_sim_read_positions(sim, before, 12);
    float kept = m[16 + 5];
    m[16 + 5] = NAN;
    CHECK(supple_sim_step_pose(sim, m, joints, &error) == SUPPLE_ERROR_ARGUMENT && strstr(error.message, "forearm"));
    m[16 + 5] = INFINITY;
    CHECK(supple_sim_step_pose(sim, m, joints, NULL) == SUPPLE_ERROR_ARGUMENT);
    supple_sim_read_positions(sim, after, 12);
    CHECK(!memcmp(before, after, (size_t)n * 12)); /* the previous state stands */
    m[16 + 5] = kept;
    CHECK(supple_sim_step_pose(sim, m, joints, NULL) == SUPPLE_OK);
    supple_sim_destroy(sim);
    free(m);
    free(before);
    free(after);
    posed_free(&p);
}

TEST_CASES(RUN(rest_gives_rest), RUN(rigid_motions_are_rigid), RUN(every_energy_finds_its_balance),
           RUN(polar_rotations_converge_to_the_reference), RUN(the_solvers_agree),
           RUN(the_bits_do_not_depend_on_the_threads), RUN(memory_may_run_out),
           RUN(extreme_poses_end_and_are_forgotten), RUN(elements_that_invert_are_counted),
           RUN(a_pose_that_is_not_finite_is_refused))
