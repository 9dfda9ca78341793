/* Whole simulations by steklov with contact by a barrier. */
#include "methods/contact_sim.h"

static const char BARRIER[] = "contact-form=barrier";

static uint64_t bend(posed *p, int32_t threads)
{
    supple_sim *sim = contact_sim_of(p, "steklov", BARRIER, SUPPLE_COLLIDE_SELF, NULL, threads);
    uint64_t hash = 0;
    int32_t contacts = 0;
    for (int k = 1; k <= 3; k++) {
        puppet_turn(&p->puppet, "forearm", spl_v3(0, 0, 1), 50 * k);
        CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK(crossings(sim) == 0 && finite_x(sim) && value_of(sim, "released") == 0);
        contacts = supple_sim_stats(sim)->contacts;
        hash = hash_x(sim, hash);
    }
    CHECK(contacts > 10 && value_of(sim, "contact_pairs") == 0);
    puppet_rest(&p->puppet);
    supple_sim_destroy(sim);
    return hash;
}

/* Springs let flesh into flesh, to be pushed out of it. */
TEST(an_arm_bent_by_150_degrees_does_not_cross_at_any_number_of_threads)
{
    posed p = posed_make("arm", 12, NULL);
    uint64_t one = bend(&p, 1);
    CHECK(bend(&p, 2) == one);
    CHECK(bend(&p, 3) == one);
    posed_free(&p);
}

/* With the method's own energy: what balances in the end is what it says it solves. */
TEST(a_frame_in_contact_is_in_balance)
{
    posed p = posed_make("arm", 12, NULL);
    supple_sim *sim = contact_sim_of(&p, "steklov", BARRIER, SUPPLE_COLLIDE_SELF, NULL, 2);
    for (int k = 1; k <= 3; k++) {
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 45 * k);
        REQUIRE(posed_step(sim) == SUPPLE_OK);
        spl_solution s = solution_of(sim);
        CHECK(s.law == &spl_law_exrotated && s.rotation && s.spring_count == 0);
        CHECK(supple_sim_stats(sim)->converged && supple_sim_stats(sim)->residual < 1e-2);
    }
    supple_sim_destroy(sim);
    posed_free(&p);
}

static bool same_x(const supple_sim *a, const supple_sim *b)
{
    size_t n = 3 * (size_t)a->flesh.body->tets.vertex_count;
    return memcmp(posed_x(a), posed_x(b), n * sizeof(double)) == 0;
}

/* Where nothing is near to anything the frame is the method's own, to the bit, and nothing else is solved. Also when
 * there was contact a frame before: nothing of it is in the answer without. The first frame comes from the bind pose,
 * by a path. */
TEST(without_contact_it_is_the_frame_without)
{
    static const char *const ways[] = {"formulation=volume", "formulation=surface"};
    static const double degrees[] = {16, 24, 20, 130, 20, 24};
    posed p = posed_make("arm", 12, NULL);
    for (int w = 0; w < 2; w++) {
        char settings[80];
        snprintf(settings, sizeof settings, "%s %s", ways[w], BARRIER);
        supple_sim *bounded = contact_sim_of(&p, "steklov", settings, SUPPLE_COLLIDE_SELF, NULL, 1),
                   *plain = contact_sim_of(&p, "steklov", ways[w], SUPPLE_COLLIDE_NONE, NULL, 1);
        for (int k = 0; k < 6; k++) {
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees[k]);
            REQUIRE(posed_step(bounded) == SUPPLE_OK && posed_step(plain) == SUPPLE_OK);
            bool touches = degrees[k] > 90, leaves = k == 4;
            CHECK((supple_sim_stats(bounded)->contacts > 0) == touches);
            if (k > 0 && !leaves) CHECK(same_x(bounded, plain) == !touches);
            if (k > 0 && !leaves) CHECK((value_of(bounded, "steps") == 0) == !touches);
        }
        supple_sim_destroy(plain);
        supple_sim_destroy(bounded);
        puppet_rest(&p.puppet);
    }
    posed_free(&p);
}

TEST(a_reset_gives_the_same_bits_again)
{
    static const double degrees[] = {100, 140};
    posed p = posed_make("arm", 12, NULL);
    supple_sim *sim = contact_sim_of(&p, "steklov", BARRIER, SUPPLE_COLLIDE_SELF, NULL, 1);
    uint64_t first[2];
    for (int k = 0; k < 4; k++) {
        if (k == 2) supple_sim_reset(sim);
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees[k % 2]);
        REQUIRE(posed_step(sim) == SUPPLE_OK);
        if (k < 2)
            first[k] = hash_x(sim, 0);
        else
            CHECK(hash_x(sim, 0) == first[k - 2]);
    }
    supple_sim_destroy(sim);
    posed_free(&p);
}

/* Back and forth past the touch, each time by a jump, after which skinning alone may be the start without contact
 * (steklov.c): where flesh lies is not forgotten with it. */
TEST(contact_comes_and_goes)
{
    posed p = posed_make("arm", 12, NULL);
    supple_sim *sim = contact_sim_of(&p, "steklov", BARRIER, SUPPLE_COLLIDE_SELF, NULL, 2);
    for (int k = 0; k < 6; k++) {
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), k % 2 ? 30 : 130);
        REQUIRE(posed_step(sim) == SUPPLE_OK);
        CHECK(crossings(sim) == 0);
        CHECK((supple_sim_stats(sim)->contacts > 0) == (k % 2 == 0));
        if (k > 0) CHECK(value_of(sim, "steps") == 20); /* of 5 degrees, from the last frame's pose on */
    }
    supple_sim_destroy(sim);
    posed_free(&p);
}

/* The paper's springs are there as ever, and no barrier. */
TEST(penalty_has_springs_alone)
{
    posed p = posed_make("arm", 12, NULL);
    supple_sim *sim = contact_sim_of(&p, "steklov", "contact-form=penalty", SUPPLE_COLLIDE_SELF, NULL, 2);
    puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 150);
    REQUIRE(posed_step(sim) == SUPPLE_OK);
    spl_solution s = solution_of(sim);
    CHECK(s.spring_count > 0 && !s.barrier && isnan(value_of(sim, "steps")));
    CHECK(value_of(sim, "contact_pairs") == supple_sim_stats(sim)->contacts);
    supple_sim_destroy(sim);
    posed_free(&p);
}

/* One simulation and a frame in contact with the n-th request refused. True: there was no n-th. */
static bool survives(posed *p, long n)
{
    failing f = {.fail_at = n};
    supple_config config = supple_config_default();
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    config.allocator = failing_allocator(&f);
    config.thread_count = 1;
    sc.collide = SUPPLE_COLLIDE_SELF;
    supple_result result = posed_try(p, "steklov", BARRIER, &sc, &config, &sim, NULL);
    if (result == SUPPLE_OK) result = supple_sim_step_clip(sim, -1, 0, NULL);
    CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
    CHECK(result == SUPPLE_OK || f.requests > n);
    supple_sim_destroy(sim);
    CHECK(f.live == 0);
    return f.requests <= n;
}

TEST(allocations_may_fail)
{
    posed p = posed_make("arm", 6, NULL);
    puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 120);
    long n = 0;
    while (!survives(&p, n)) n += 1 + n / test_size(60, 10);
    CHECK(n > 300);
    posed_free(&p);
}

TEST_CASES(RUN(an_arm_bent_by_150_degrees_does_not_cross_at_any_number_of_threads),
           RUN(a_frame_in_contact_is_in_balance), RUN(without_contact_it_is_the_frame_without),
           RUN(a_reset_gives_the_same_bits_again), RUN(contact_comes_and_goes), RUN(penalty_has_springs_alone),
           RUN(allocations_may_fail))
