/* Whole simulations by mixed with contact by a barrier. */
#include "methods/contact_sim.h"

static const char BARRIER[] = "contact-form=barrier";

static uint64_t bend(posed *p, int32_t threads)
{
    supple_sim *sim = contact_sim_of(p, "mixed", BARRIER, SUPPLE_COLLIDE_SELF, NULL, threads);
    uint64_t hash = 0;
    int32_t contacts = 0;
    for (int k = 1; k <= 3; k++) {
        puppet_turn(&p->puppet, "forearm", spl_v3(0, 0, 1), 50 * k);
        CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK(crossings(sim) == 0 && finite_x(sim) && value_of(sim, "released") == 0);
        contacts = supple_sim_stats(sim)->contacts;
        hash = hash_x(sim, hash);
    }
    CHECK(contacts > 10);
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
    posed_free(&p);
}

/* Where nothing is near to anything the frame is the method's own, to the bit, and nothing else is solved. */
TEST(without_contact_it_is_the_frame_without)
{
    posed p = posed_make("arm", 12, NULL);
    supple_sim *bounded = contact_sim_of(&p, "mixed", BARRIER, SUPPLE_COLLIDE_SELF, NULL, 1),
               *plain = contact_sim_of(&p, "mixed", "", 0, NULL, 1);
    for (int k = 0; k < 4; k++) {
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 8 * k);
        REQUIRE(posed_step(bounded) == SUPPLE_OK && posed_step(plain) == SUPPLE_OK);
        CHECK(supple_sim_stats(bounded)->contacts == 0);
        if (k > 0) CHECK(value_of(bounded, "steps") == 0 && hash_x(bounded, 0) == hash_x(plain, 0));
    }
    supple_sim_destroy(plain);
    supple_sim_destroy(bounded);
    posed_free(&p);
}

TEST(a_reset_gives_the_same_bits_again)
{
    static const double degrees[] = {100, 140};
    posed p = posed_make("arm", 12, NULL);
    supple_sim *sim = contact_sim_of(&p, "mixed", BARRIER, SUPPLE_COLLIDE_SELF, NULL, 1);
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

/* Back and forth past the touch: it comes as it went, and comes to rest where the springless answer is. */
TEST(contact_comes_and_goes)
{
    posed p = posed_make("arm", 12, NULL);
    supple_sim *sim = contact_sim_of(&p, "mixed", BARRIER, SUPPLE_COLLIDE_SELF, NULL, 2);
    for (int k = 0; k < 6; k++) {
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), k % 2 ? 30 : 130);
        REQUIRE(posed_step(sim) == SUPPLE_OK);
        CHECK(crossings(sim) == 0);
        CHECK((supple_sim_stats(sim)->contacts > 0) == (k % 2 == 0));
    }
    supple_sim_destroy(sim);
    posed_free(&p);
}

TEST_CASES(RUN(an_arm_bent_by_150_degrees_does_not_cross_at_any_number_of_threads),
           RUN(without_contact_it_is_the_frame_without), RUN(a_reset_gives_the_same_bits_again),
           RUN(contact_comes_and_goes))
