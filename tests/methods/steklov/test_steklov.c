/* The method as a whole: rest, rigid motions, equilibrium, contact, threads, memory, faults. */
#include "core/hash.h"
#include "methods/steklov/sims.h"
#include "test.h"

enum { RESOLUTION = 16 };

/* ---- equilibrium ---- */

static const char *const WAYS[] = {"formulation=volume",
                                   "formulation=volume precondition=skinned precision=double",
                                   "formulation=volume precondition=none",
                                   "formulation=volume precondition=direct",
                                   "formulation=surface operator=polynomial",
                                   "formulation=surface operator=printed steps=400",
                                   "formulation=surface precondition=none",
                                   "formulation=surface operator=polynomial boundary=cholesky distance=3 degree=2",
                                   "formulation=surface",
                                   "formulation=surface boundary=cholesky distance=3",
                                   "formulation=surface drop=diagonal"};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS };

/* From a bent pose into one that is rigid: exact, however it is solved. */
TEST(rest_and_rigid_motions_are_exact)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    for (int k = 0; k < 9; k += 4) {
        char settings[100];
        snprintf(settings, sizeof settings, "tolerance=1e-11 %s", WAYS[k]);
        supple_sim *sim = contact_sim(&p, settings, SUPPLE_COLLIDE_NONE);
        spl_mat4 move = puppet_rigid(spl_v3(1, -1, 0.3), 140, spl_v3(1, -0.5, 0.2));
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 50);
        CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK(posed_rigid(sim) > 0.1);
        puppet_rest(&p.puppet);
        for (int i = 0; i < 2; i++) CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK_NEAR(posed_distance(sim, posed_x(sim), sim->flesh.solid.drive.rest), 0, 1e-9);
        puppet_move(&p.puppet, &move);
        for (int i = 0; i < 2; i++) CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK_NEAR(posed_rigid(sim), 0, 1e-9);
        CHECK_NEAR(supple_sim_stats(sim)->volume_ratio, 1, 1e-9);
        supple_sim_destroy(sim);
        puppet_rest(&p.puppet);
    }
    posed_free(&p);
}

/* All ways end in the same shape, and the measures, which know only the law, find its forces balanced. The modified
 * Newton's contraction is that of its operator. */
TEST(all_ways_find_the_same_balance)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    double *first = NULL, contraction[WAY_COUNT];
    for (int k = 0; k < WAY_COUNT; k++) {
        char settings[100];
        snprintf(settings, sizeof settings, "tolerance=1e-9 %s", WAYS[k]);
        supple_sim *sim = contact_sim(&p, settings, SUPPLE_COLLIDE_NONE);
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 60);
        CHECK(posed_step(sim) == SUPPLE_OK);
        const supple_stats *s = supple_sim_stats(sim);
        CHECK(s->converged && s->residual < 1e-9 && s->residual > 0 && s->energy > 0);
        CHECK(value_of(sim, "newton_steps") == last(sim)->newton && last(sim)->newton > 0);
        CHECK(last(sim)->breakdowns == 0);
        contraction[k] = last(sim)->contraction;
        if (!first) first = posed_copy(sim);
        CHECK_NEAR(posed_distance(sim, posed_x(sim), first), 0, 1e-7);
        supple_sim_destroy(sim);
        puppet_rest(&p.puppet);
    }
    printf("    contraction: polynomial %.1e, printed %.2f\n", contraction[4], contraction[5]);
    CHECK(contraction[4] < 0.1 && contraction[5] > 0.3 && contraction[5] < 1);
    free(first);
    posed_free(&p);
}

/* Prescribed rotations are not those that the flesh would find: near the corotational answer, not at it. */
TEST(it_lies_near_the_corotational_answer)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    supple_sim *sim = contact_sim(&p, "tolerance=1e-8", SUPPLE_COLLIDE_NONE), *truth;
    puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 45);
    CHECK(posed_step(sim) == SUPPLE_OK);
    truth = posed_sim(&p, "reference", "energy=corot");
    CHECK(posed_step(truth) == SUPPLE_OK);
    double d = posed_distance(sim, posed_x(sim), posed_x(truth));
    printf("    largest distance to corot at 45 degrees: %.2f%% of the diagonal\n", 100 * d);
    CHECK(d > 1e-4 && d < 0.05);
    supple_sim_destroy(sim);
    supple_sim_destroy(truth);
    posed_free(&p);
}

/* A step that moves nothing by more than 0.1 mm is the last: the shape is that of a tiny residual to less than that,
 * for fewer iterations, with a residual that alone would have gone on. */
static void check_still(posed *p, const char *form, const char *collider)
{
    char settings[2][100];
    supple_sim *sim[2];
    int32_t iterations[2] = {0};
    for (int k = 0; k < 2; k++) {
        snprintf(settings[k], sizeof settings[k], "%s tolerance=1e-9%s", form, k ? " still=0.1" : "");
        sim[k] = collider ? world_sim(p, settings[k], collider) : contact_sim(p, settings[k], SUPPLE_COLLIDE_NONE);
    }
    for (int degrees = 20; degrees <= 80; degrees += 20) {
        puppet_turn(&p->puppet, "forearm", spl_v3(0, 0, 1), degrees);
        for (int k = 0; k < 2; k++) {
            CHECK(posed_step(sim[k]) == SUPPLE_OK && supple_sim_stats(sim[k])->converged);
            iterations[k] += last(sim[k])->boundary_iterations;
        }
        double apart = posed_distance(sim[1], posed_x(sim[1]), posed_x(sim[0])) * sim[0]->flesh.solid.diagonal;
        CHECK(apart < 1e-4 && apart > 0);
        CHECK(value_of(sim[1], "moved_mm") <= 0.1 && supple_sim_stats(sim[1])->residual > 1e-9);
    }
    printf("    %s: %d iterations, %d by the residual\n", form, (int)iterations[1], (int)iterations[0]);
    CHECK(5 * iterations[1] < 3 * iterations[0]);
    for (int k = 0; k < 2; k++) supple_sim_destroy(sim[k]);
    puppet_rest(&p->puppet);
}

TEST(a_frame_ends_where_steps_move_little)
{
    posed p = posed_make("arm", 20, NULL);
    check_still(&p, "formulation=volume", NULL);
    check_still(&p, "formulation=surface", NULL);
    check_still(&p, "formulation=volume",
                "{\"colliders\": [{\"plane\": {\"point\": [0, 0, -0.028], \"normal\": [0, 0, 1]}}]}");
    posed_free(&p);
}

/* ---- contact ---- */

/* Through the bend: contacts come, frames converge, in both formulations, and with all settings as the paper prints
 * them. */
TEST(a_folded_arm_is_in_balance_with_its_contacts)
{
    static const char *const ways[] = {
        "formulation=volume",
        "formulation=volume precondition=skinned",
        "formulation=surface",
        "formulation=surface operator=polynomial",
        "formulation=surface operator=polynomial boundary=cholesky",
        "formulation=surface boundary=cholesky",
        "formulation=volume springs=point",
        "formulation=surface operator=printed precondition=skinned springs=point drop=diagonal precision=double"};
    posed p = posed_make("arm", 28, NULL);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        supple_sim *sim = contact_sim(&p, ways[k], SUPPLE_COLLIDE_SELF), *free_sim = NULL;
        for (int degrees = 90; degrees <= 140; degrees += 10) {
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
            CHECK(posed_step(sim) == SUPPLE_OK);
            CHECK(supple_sim_stats(sim)->converged && supple_sim_stats(sim)->residual < 1e-5);
        }
        CHECK(supple_sim_stats(sim)->contacts > 10 && value_of(sim, "contact_pairs") > 10);
        free_sim = contact_sim(&p, ways[k], SUPPLE_COLLIDE_NONE);
        CHECK(posed_step(free_sim) == SUPPLE_OK);
        CHECK(supple_sim_stats(free_sim)->contacts <= 0);
        CHECK(posed_distance(sim, posed_x(sim), posed_x(free_sim)) > 1e-3);
        supple_sim_destroy(sim);
        supple_sim_destroy(free_sim);
        puppet_rest(&p.puppet);
    }
    posed_free(&p);
}

/* A half-space that cuts into the flesh: what is inside is pushed out up to the springs' softness, and stiffer contacts
 * let less of it remain. */
TEST(a_plane_presses_the_flesh)
{
    posed p = posed_make("arm", 24, NULL);
    double left[2];
    for (int k = 0; k < 2; k++) {
        supple_sim *sim =
            world_sim(&p, k ? "contact=100" : "contact=10",
                      "{\"colliders\": [{\"plane\": {\"point\": [0, 0, -0.028], \"normal\": [0, 0, 1]}}]}");
        CHECK(posed_step(sim) == SUPPLE_OK);
        const spl_solid *s = &sim->flesh.solid;
        double deepest = 0;
        for (int32_t v = 0; v < s->elements.vertex_count; v++)
            if (s->body->bone[v] < 0) deepest = fmax(deepest, -0.028 - posed_x(sim)[3 * v + 2]);
        left[k] = deepest;
        CHECK(supple_sim_stats(sim)->converged && supple_sim_stats(sim)->contacts > 5);
        supple_sim_destroy(sim);
    }
    printf("    deepest vertex: %.2g and %.2g m\n", left[0], left[1]);
    CHECK(left[0] > 0 && left[0] < 0.01 && left[1] < 0.3 * left[0]);
    posed_free(&p);
}

/* ---- threads and memory ---- */

static uint64_t run_hash(posed *p, const char *settings, int threads)
{
    supple_config config = supple_config_default();
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    uint64_t hash = 0;
    config.thread_count = threads;
    sc.collide = SUPPLE_COLLIDE_SELF;
    if (posed_try(p, "steklov", settings, &sc, &config, &sim, NULL) != SUPPLE_OK) return 0;
    for (int k = 0; k < test_size(4, 2); k++) {
        CHECK(supple_sim_step_clip(sim, 0, 1.0 + 0.15 * k, NULL) == SUPPLE_OK);
        hash = spl_hash(posed_x(sim), (size_t)p->demo.body->tets.vertex_count * 24, hash);
    }
    CHECK(last(sim)->pairs > 0);
    supple_sim_destroy(sim);
    return hash;
}

static void check_threads(const char *settings)
{
    posed p = posed_make("arm", test_size(36, 24), NULL); /* several parts */
    uint64_t one = run_hash(&p, settings, 1);
    CHECK(one != 0 && one == run_hash(&p, settings, 2) && one == run_hash(&p, settings, 7));
    posed_free(&p);
}

TEST(the_bits_of_the_volume_do_not_depend_on_the_threads)
{
    check_threads("formulation=volume");
}
TEST(the_bits_in_double_do_not_depend_on_the_threads)
{
    check_threads("formulation=volume precision=double");
}
TEST(the_bits_of_the_surface_do_not_depend_on_the_threads)
{
    check_threads("formulation=surface");
}
TEST(the_bits_of_the_boundarys_factor_do_not_depend_on_the_threads)
{
    check_threads("formulation=surface boundary=cholesky");
}

/* Six cells: every allocation is there, whatever its size. */
static void check_memory(const char *settings)
{
    posed p = posed_make("arm", 6, NULL);
    supple_sim_config sc = supple_sim_config_default();
    sc.measure = true;
    sc.collide = SUPPLE_COLLIDE_SELF;
    posed_fail_every_allocation(&p, "steklov", settings, &sc, 0.5);
    posed_free(&p);
}

TEST(memory_of_the_volume_may_run_out)
{
    check_memory("formulation=volume");
    check_memory("formulation=volume precondition=direct");
}
TEST(memory_of_the_surface_may_run_out)
{
    check_memory("formulation=surface");
    check_memory("formulation=surface boundary=cholesky");
}

/* ---- faults ---- */

/* A limit that is too low, a sphere that swallows the arm, bones through each other: the frame ends, says how far it
 * came, and the next one in a sane pose is as if nothing had been. */
TEST(frames_without_a_solution_end_and_are_forgotten)
{
    static const char *const ways[] = {"formulation=volume", "formulation=surface"};
    posed p = posed_make("arm", 20, NULL);
    for (int k = 0; k < 2; k++) {
        char hasty[100];
        snprintf(hasty, sizeof hasty, "steps=2 tolerance=1e-10 %s", ways[k]);
        supple_sim *sim = contact_sim(&p, hasty, SUPPLE_COLLIDE_SELF);
        for (int degrees = 100; degrees <= 175; degrees += 25) {
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
            CHECK(posed_step(sim) == SUPPLE_OK && isfinite(supple_sim_stats(sim)->residual));
        }
        CHECK(!supple_sim_stats(sim)->converged);
        supple_sim_destroy(sim);
        puppet_rest(&p.puppet);
        sim = contact_sim(&p, ways[k], SUPPLE_COLLIDE_SELF);
        double *calm = posed_copy(sim);
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 180);
        CHECK(posed_step(sim) == SUPPLE_OK && isfinite(supple_sim_stats(sim)->residual));
        puppet_rest(&p.puppet);
        for (int i = 0; i < 2; i++) CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK(supple_sim_stats(sim)->converged);
        CHECK_NEAR(posed_distance(sim, posed_x(sim), calm), 0, 1e-4);
        supple_sim_destroy(sim);
        free(calm);
        sim = world_sim(&p, ways[k], "{\"colliders\": [{\"sphere\": {\"center\": [0, 0, 0], \"radius\": 5}}]}");
        CHECK(posed_step(sim) == SUPPLE_OK && isfinite(supple_sim_stats(sim)->residual));
        supple_sim_destroy(sim);
    }
    posed_free(&p);
}

TEST_CASES(RUN(rest_and_rigid_motions_are_exact), RUN(all_ways_find_the_same_balance),
           RUN(it_lies_near_the_corotational_answer), RUN(a_frame_ends_where_steps_move_little),
           RUN(a_folded_arm_is_in_balance_with_its_contacts), RUN(a_plane_presses_the_flesh),
           RUN(the_bits_of_the_volume_do_not_depend_on_the_threads),
           RUN(the_bits_in_double_do_not_depend_on_the_threads),
           RUN(the_bits_of_the_surface_do_not_depend_on_the_threads),
           RUN(the_bits_of_the_boundarys_factor_do_not_depend_on_the_threads), RUN(memory_of_the_volume_may_run_out),
           RUN(memory_of_the_surface_may_run_out), RUN(frames_without_a_solution_end_and_are_forgotten))
