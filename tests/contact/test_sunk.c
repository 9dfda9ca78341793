/* Bones in other flesh, and the contact that their flesh gives up: an arm of the built-in hero is swung through its
 * body. */
#include "contact/swung_arm.h"
#include "failing.h"

static void pose(arm *w, double degrees)
{
    lower(w, degrees);
    if (spl_drive_pose(&w->solid.drive, &w->pose, NULL) != SUPPLE_OK) abort();
    spl_sunk_share(w->sunk, w->pool);
}

/* The least share of the flesh that belongs to the swung hand and forearm, or to all else. */
static double least_share(const arm *w, bool swung)
{
    const spl_body *body = w->demo.body;
    double least = 1;
    for (int32_t v = 0; v < body->tets.vertex_count; v++) {
        int32_t node = body->bones.bone[spl_sunk_bone(w->sunk, v)].node;
        if ((is_below(w, node) && node != w->shoulder) == swung) least = fmin(least, w->sunk->share[v]);
    }
    return least;
}

TEST(flesh_whose_bones_are_free_bears_all_of_its_contacts)
{
    arm w;
    arm_make(&w, 1);
    for (int k = 0; k < 4; k++) {
        pose(&w, 10 * k);
        CHECK(!w.sunk->any && least_share(&w, true) == 1 && least_share(&w, false) == 1);
    }
    arm_free(&w);
}

TEST(flesh_gives_contact_up_as_its_bones_sink)
{
    arm w;
    arm_make(&w, 1);
    double first = 1, last = 1, jump = 0;
    for (int k = 0; 40 + 0.25 * k <= IN_THE_HIP; k++) {
        pose(&w, 40 + 0.25 * k);
        double least = least_share(&w, true);
        jump = fmax(jump, fabs(least - last));
        if (first == 1 && least < 1) first = least;
        last = least;
    }
    CHECK(first < 1 && first > 0.5); /* it begins gently, */
    CHECK(jump < 0.5);               /* goes on without a jump, */
    CHECK(last == 0);                /* and ends with none */
    CHECK(w.sunk->any);
    spl_sunk_reset(w.sunk);
    CHECK(!w.sunk->any && least_share(&w, true) == 1);
    arm_free(&w);
}

/* The other arm and the head are none of the swung arm's business. */
TEST(only_what_hangs_on_sunk_bones_gives_up)
{
    static const char *const calm[] = {"hand.R", "forearm.R", "head"};
    arm w;
    arm_make(&w, 1);
    pose(&w, IN_THE_HIP);
    REQUIRE(least_share(&w, true) == 0);
    for (int i = 0; i < 3; i++) {
        int32_t node = node_of(w.demo.scene, calm[i]), count = 0;
        for (int32_t v = 0; v < w.demo.body->tets.vertex_count; v++) {
            if (w.demo.body->bones.bone[spl_sunk_bone(w.sunk, v)].node != node) continue;
            CHECK(w.sunk->share[v] > 0.9);
            count++;
        }
        CHECK(count > 0);
    }
    arm_free(&w);
}

/* What a contact may do, and the polish after it, follows the share: none of those that reach sunk flesh are left. */
TEST(contacts_carry_the_share)
{
    arm w;
    arm_make(&w, 1);
    double *x = calloc((size_t)w.demo.body->tets.vertex_count, 3 * sizeof *x);
    pose(&w, IN_THE_HIP);
    spl_solid_pose(&w.solid, x, w.pool);
    int32_t all = spl_contacts_find(w.contacts, x, w.pool), count;
    const spl_contact *list = spl_contacts_list(w.contacts, &count);
    for (int32_t i = 0; i < count; i++) CHECK(list[i].share == 1);
    spl_contacts_bear(w.contacts, w.sunk->share);
    int32_t borne = spl_contacts_find(w.contacts, x, w.pool);
    list = spl_contacts_list(w.contacts, &count);
    for (int32_t i = 0; i < count; i++) {
        double least =
            fmin(spl_contacts_share(w.contacts, &list[i].vertex, 1), spl_contacts_share(w.contacts, list[i].corner, 3));
        CHECK(list[i].share == least && least > 0);
    }
    CHECK(all > 0 && borne < all);
    spl_contacts_bear(w.contacts, NULL);
    CHECK(spl_contacts_find(w.contacts, x, w.pool) == all);
    free(x);
    arm_free(&w);
}

TEST(the_same_bits_at_any_number_of_threads)
{
    const int32_t threads[] = {1, 2, 5};
    double *kept = NULL;
    for (int i = 0; i < 3; i++) {
        arm w;
        arm_make(&w, threads[i]);
        size_t size = (size_t)w.demo.body->tets.vertex_count * sizeof *kept;
        pose(&w, IN_THE_HIP - 10);
        if (kept)
            CHECK(memcmp(kept, w.sunk->share, size) == 0);
        else
            kept = memcpy(malloc(size), w.sunk->share, size);
        arm_free(&w);
    }
    free(kept);
}

TEST(creation_survives_every_failed_allocation)
{
    arm w;
    arm_make(&w, 1);
    for (long at = 0;; at++) {
        failing f = {.fail_at = at};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        spl_sunk *s = NULL;
        supple_result result = spl_sunk_create(&w.solid, w.contacts, &config, w.pool, &s, NULL);
        CHECK((result == SUPPLE_OK) == (s != NULL));
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        long made = f.requests;
        if (s) spl_sunk_share(s, w.pool);
        CHECK(f.requests == made);
        spl_sunk_destroy(s);
        CHECK(f.live == 0);
        if (result == SUPPLE_OK) break;
        REQUIRE(at < 1000);
    }
    arm_free(&w);
}

TEST_CASES(RUN(flesh_whose_bones_are_free_bears_all_of_its_contacts), RUN(flesh_gives_contact_up_as_its_bones_sink),
           RUN(only_what_hangs_on_sunk_bones_gives_up), RUN(contacts_carry_the_share),
           RUN(the_same_bits_at_any_number_of_threads), RUN(creation_survives_every_failed_allocation))
