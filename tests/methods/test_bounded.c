/* Whole simulations by springs whose steps are bounded: flesh never passes through flesh (contact/feasible.h). */
#include "contact/feasible.h"
#include "methods/contact_sim.h"

static const char *const METHODS[] = {"mixed", "steklov", "projective"};

enum { METHOD_COUNT = 3 };

static int32_t crossings_of(const supple_sim *sim)
{
    return spl_barrier_crossings(spl_feasible_barrier(sim->flesh.feasible), posed_x(sim));
}

/* The forearm bent in steps; hashes of all states. */
static uint64_t bend(posed *p, const char *method, int32_t threads)
{
    supple_sim *sim = contact_sim_of(p, method, "bounded=on", SUPPLE_COLLIDE_SELF, NULL, threads);
    uint64_t hash = 0;
    int32_t contacts = 0;
    for (int k = 1; k <= 3; k++) {
        puppet_turn(&p->puppet, "forearm", spl_v3(0, 0, 1), 50 * k);
        CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK(crossings_of(sim) == 0 && finite_x(sim));
        CHECK(spl_barrier_released_count(spl_feasible_barrier(sim->flesh.feasible)) == 0);
        contacts = supple_sim_stats(sim)->contacts;
        hash = hash_x(sim, hash);
    }
    CHECK(contacts > 5);
    puppet_rest(&p->puppet);
    supple_sim_destroy(sim);
    return hash;
}

TEST(a_bent_arm_does_not_cross_at_any_number_of_threads)
{
    posed p = posed_make("arm", 12, NULL);
    for (int m = 0; m < METHOD_COUNT; m++) {
        uint64_t one = bend(&p, METHODS[m], 1);
        CHECK(bend(&p, METHODS[m], 2) == one);
    }
    posed_free(&p);
}

/* Springs alone let flesh into flesh: the same surface crosses in what they answer. */
TEST(without_bounds_it_crosses)
{
    posed p = posed_make("arm", 12, NULL);
    supple_sim *loose = contact_sim_of(&p, "mixed", "bounded=off", SUPPLE_COLLIDE_SELF, NULL, 1),
               *bounded = contact_sim_of(&p, "mixed", "bounded=on", SUPPLE_COLLIDE_SELF, NULL, 1);
    CHECK(!loose->flesh.feasible && bounded->flesh.feasible && !bounded->flesh.polish);
    puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 150);
    REQUIRE(posed_step(loose) == SUPPLE_OK && posed_step(bounded) == SUPPLE_OK);
    CHECK(crossings_of(bounded) == 0);
    CHECK(spl_barrier_crossings(spl_feasible_barrier(bounded->flesh.feasible), posed_x(loose)) > 0);
    supple_sim_destroy(bounded);
    supple_sim_destroy(loose);
    posed_free(&p);
}

TEST(what_touches_in_a_held_pose_is_still_and_a_reset_gives_the_same_bits)
{
    posed p = posed_make("arm", 12, NULL);
    for (int m = 0; m < METHOD_COUNT; m++) {
        supple_sim *sim = contact_sim_of(&p, METHODS[m], "bounded=on", SUPPLE_COLLIDE_SELF, NULL, 1);
        size_t n = 3 * (size_t)sim->flesh.body->tets.vertex_count;
        double *first = malloc(n * sizeof *first), far = 0;
        for (int k = 0; k < 4; k++) {
            if (k == 3) supple_sim_reset(sim);
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 140);
            REQUIRE(posed_step(sim) == SUPPLE_OK);
            CHECK(supple_sim_stats(sim)->contacts > 0);
            if (k == 0) memcpy(first, posed_x(sim), n * sizeof *first);
            for (size_t i = 0; i < n; i++) far = fmax(far, fabs(posed_x(sim)[i] - first[i]));
        }
        CHECK(far < 1e-12); /* bones that do not move carry flesh along to rounding */
        CHECK(memcmp(first, posed_x(sim), n * sizeof *first) == 0);
        free(first);
        supple_sim_destroy(sim);
    }
    posed_free(&p);
}

/* Where nothing is near to anything the frame is the method's own, to the bit. Not of projective, whose
 * rounds look for contacts between fewer iterations. */
TEST(without_contact_it_is_the_frame_without)
{
    posed p = posed_make("arm", 12, NULL);
    for (int m = 0; m < METHOD_COUNT - 1; m++) {
        supple_sim *bounded = contact_sim_of(&p, METHODS[m], "bounded=on", SUPPLE_COLLIDE_SELF, NULL, 1),
                   *plain = contact_sim_of(&p, METHODS[m], "", 0, NULL, 1);
        for (int k = 0; k < 3; k++) {
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 6 * k);
            REQUIRE(posed_step(bounded) == SUPPLE_OK && posed_step(plain) == SUPPLE_OK);
            CHECK(supple_sim_stats(bounded)->contacts == 0 && hash_x(bounded, 0) == hash_x(plain, 0));
        }
        supple_sim_destroy(plain);
        supple_sim_destroy(bounded);
    }
    posed_free(&p);
}

/* A forearm pressed on its upper arm and held there, in motion: a hash of all states, and what moves in the last frame,
 * metres. */
static uint64_t press(posed *p, int32_t threads, int32_t frames, double *last)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_config config = supple_config_default();
    supple_sim *sim = NULL;
    int32_t joints = supple_scene_joint_count(p->demo.scene);
    uint64_t hash = 0;
    config.thread_count = threads;
    sc.collide = SUPPLE_COLLIDE_SELF;
    sc.dynamics = true;
    if (posed_try(p, "projective", "bounded=on", &sc, &config, &sim, NULL) != SUPPLE_OK) abort();
    size_t n = 3 * (size_t)sim->flesh.body->tets.vertex_count;
    double *before = malloc(n * sizeof *before);
    float *pose = calloc((size_t)joints, 16 * sizeof *pose);
    for (int32_t k = 0; k < frames; k++) {
        if (k <= 14) puppet_turn(&p->puppet, "forearm", spl_v3(0, 0, 1), 10 * k);
        memcpy(before, posed_x(sim), n * sizeof *before);
        CHECK(supple_scene_pose(p->demo.scene, -1, 0, pose, joints, NULL) == SUPPLE_OK);
        CHECK(supple_sim_step_pose_dt(sim, pose, joints, 1 / 30.0, NULL) == SUPPLE_OK);
        CHECK(crossings_of(sim) == 0 && finite_x(sim));
        hash = hash_x(sim, hash);
    }
    CHECK(supple_sim_stats(sim)->contacts > 5);
    *last = 0;
    for (size_t i = 0; i < n; i++) *last = fmax(*last, fabs(posed_x(sim)[i] - before[i]));
    puppet_rest(&p->puppet);
    free(pose);
    free(before);
    supple_sim_destroy(sim);
    return hash;
}

TEST(what_presses_in_motion_comes_to_rest_at_any_number_of_threads)
{
    posed p = posed_make("arm", 12, NULL);
    double last;
    uint64_t one = press(&p, 1, 90, &last);
    printf("    moved in the last frame: %.2e m\n", last);
    CHECK(last < 1e-5);
    one = press(&p, 1, 25, &last);
    CHECK(press(&p, 2, 25, &last) == one);
    posed_free(&p);
}

static int32_t released_of(const supple_sim *sim)
{
    return spl_barrier_released_count(spl_feasible_barrier(sim->flesh.feasible));
}

/* A hand whose bones the motion takes into the hip is pushed along it. Springs alone give such contacts up (sunk.h);
 * here nothing is given up, and nothing crosses. */
TEST(a_hand_in_the_hip_gives_nothing_up)
{
    posed p = posed_make("hero", 40, NULL);
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 40);
    bc.parted = true;
    bc.size_m = SUPPLE_SIZE_FILE;
    supple_body_destroy(p.demo.handle);
    p.demo.handle = body_create(p.demo.scene, &bc, 2);
    REQUIRE(p.demo.handle);
    p.demo.body = &p.demo.handle->body;
    supple_sim *sim = contact_sim_of(&p, "steklov", "bounded=on", SUPPLE_COLLIDE_SELF, NULL, 2),
               *loose = contact_sim_of(&p, "steklov", "bounded=off", SUPPLE_COLLIDE_SELF, NULL, 2);
    CHECK(!sim->flesh.sunk && loose->flesh.sunk);
    for (int k = 1; k <= 4; k++) {
        puppet_turn(&p.puppet, "upper_arm.L", spl_v3(0, 0, 1), -15.5 * k);
        REQUIRE(posed_step(sim) == SUPPLE_OK && finite_x(sim));
        printf("    %d: %d released, %d crossings\n", k, (int)released_of(sim), (int)crossings_of(sim));
        CHECK(released_of(sim) == 0 && crossings_of(sim) == 0);
    }
    REQUIRE(posed_step(loose) == SUPPLE_OK);
    CHECK(loose->flesh.sunk->any);
    CHECK(spl_barrier_crossings(spl_feasible_barrier(sim->flesh.feasible), posed_x(loose)) > 5);
    supple_sim_destroy(loose);
    supple_sim_destroy(sim);
    posed_free(&p);
}

/* Bones go past each other in one frame (230 degrees are -130): their flesh is entangled then, and comes anew from the
 * bind pose at once. */
TEST(entangled_flesh_comes_anew_from_the_bind_pose)
{
    posed p = posed_make("arm", 10, NULL);
    static const double degrees[] = {90, 150, 230, 150, 140, 90};
    for (int m = 0; m < METHOD_COUNT; m++) {
        supple_sim *sim = contact_sim_of(&p, METHODS[m], "bounded=on", SUPPLE_COLLIDE_SELF, NULL, 2);
        bool anew = false;
        for (int k = 0; k < 6; k++) {
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees[k]);
            REQUIRE(posed_step(sim) == SUPPLE_OK && finite_x(sim));
            anew = anew || spl_feasible_anew(sim->flesh.feasible);
            printf("    %s, %g degrees: %d released%s\n", METHODS[m], degrees[k], (int)released_of(sim),
                   spl_feasible_anew(sim->flesh.feasible) ? ", anew" : "");
            CHECK(crossings_of(sim) == 0 && released_of(sim) == 0);
        }
        CHECK(anew);
        supple_sim_destroy(sim);
    }
    puppet_rest(&p.puppet);
    posed_free(&p);
}

TEST_CASES(RUN(a_hand_in_the_hip_gives_nothing_up), RUN(entangled_flesh_comes_anew_from_the_bind_pose),
           RUN(a_bent_arm_does_not_cross_at_any_number_of_threads), RUN(without_bounds_it_crosses),
           RUN(what_touches_in_a_held_pose_is_still_and_a_reset_gives_the_same_bits),
           RUN(without_contact_it_is_the_frame_without),
           RUN(what_presses_in_motion_comes_to_rest_at_any_number_of_threads))
