/* Whole simulations by reference with contact: what bends far, what flies fast, bones that pass through each other. */
#include "methods/contact_sim.h"

#include <unistd.h>

static supple_sim *contact_sim(const posed *p, int32_t collide, const char *collider, int32_t threads)
{
    return contact_sim_of(p, "reference", "", collide, collider, threads);
}

/* ---- an arm that is bent ---- */

static uint64_t bend(posed *p, int32_t threads)
{
    supple_sim *sim = contact_sim(p, SUPPLE_COLLIDE_SELF, NULL, threads);
    uint64_t hash = 0;
    int32_t contacts = 0;
    for (int k = 1; k <= 3; k++) {
        puppet_turn(&p->puppet, "forearm", spl_v3(0, 0, 1), 50 * k);
        CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK(crossings(sim) == 0);
        CHECK(finite_x(sim));
        CHECK(value_of(sim, "released") == 0);
        contacts = supple_sim_stats(sim)->contacts;
        hash = hash_x(sim, hash);
    }
    CHECK(contacts > 10);
    puppet_rest(&p->puppet);
    supple_sim_destroy(sim);
    return hash;
}

TEST(an_arm_bent_by_150_degrees_does_not_cross_at_any_number_of_threads)
{
    posed p = posed_make("arm", 12, NULL);
    uint64_t one = bend(&p, 1);
    CHECK(bend(&p, 2) == one);
    posed_free(&p);
}

/* What was solved before a reset, with other contacts, leaves no trace. */
TEST(a_reset_gives_the_same_bits_again)
{
    static const double degrees[] = {100, 140};
    posed p = posed_make("arm", 12, NULL);
    supple_sim *sim = contact_sim(&p, SUPPLE_COLLIDE_SELF, NULL, 1);
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

TEST(a_range_with_what_comes_before_is_the_clips)
{
    enum { FRAMES = 6, FIRST = 4 };
    posed p = posed_make("arm", 10, NULL);
    uint64_t whole[FRAMES];
    double fps = 4;
    supple_sim *all = contact_sim(&p, SUPPLE_COLLIDE_SELF, NULL, 2);
    for (int k = 0; k < FRAMES; k++) {
        REQUIRE(supple_sim_step_clip(all, 0, k / fps, NULL) == SUPPLE_OK);
        whole[k] = hash_x(all, 0);
    }
    CHECK(supple_sim_stats(all)->contacts >= 0);
    supple_sim *range = contact_sim(&p, SUPPLE_COLLIDE_SELF, NULL, 1);
    REQUIRE(supple_sim_step_clip(range, 0, 1 / fps, NULL) == SUPPLE_OK); /* forgotten */
    REQUIRE(supple_sim_lead_in(range, 0, FIRST, fps, NULL) == SUPPLE_OK);
    for (int k = FIRST; k < FRAMES; k++) {
        REQUIRE(supple_sim_step_clip(range, 0, k / fps, NULL) == SUPPLE_OK);
        CHECK(hash_x(range, 0) == whole[k]);
    }
    supple_sim_reset(range);
    REQUIRE(supple_sim_step_clip(range, 0, FIRST / fps, NULL) == SUPPLE_OK);
    CHECK(hash_x(range, 0) != whole[FIRST]); /* without it, it lies a little differently */
    supple_sim_destroy(range);
    supple_sim_destroy(all);
    posed_free(&p);
}

/* ---- a ball ---- */

static const char *write_ball(const posed *p, spl_vec3 from, spl_vec3 by, double radius, double seconds)
{
    static char path[64];
    double unit = 1 / p->demo.body->metre;
    snprintf(path, sizeof path, "ball_%d.json", (int)getpid());
    FILE *f = fopen(path, "w");
    if (!f) abort();
    fprintf(f,
            "{\"colliders\": [{\"sphere\": {\"center\": [%.9g, %.9g, %.9g], \"radius\": %.9g}, \"keys\": [{\"time\": "
            "0}, {\"time\": %.9g, \"move\": [%.9g, %.9g, %.9g]}]}]}",
            from.x * unit, from.y * unit, from.z * unit, radius * unit, seconds, by.x * unit, by.y * unit, by.z * unit);
    fclose(f);
    return path;
}

/* The least distance of a free vertex of the surface from the ball's centre. */
static double clearance(const supple_sim *sim, spl_vec3 centre)
{
    const spl_body *body = sim->flesh.body;
    double least = INFINITY;
    for (int32_t i = 0; i < 3 * body->tets.surface_count; i++) {
        const double *p = posed_x(sim) + 3 * body->tets.surface[i];
        least = fmin(least, spl_distance(spl_v3(p[0], p[1], p[2]), centre));
    }
    return least;
}

/* A ball that is above the arm in one frame and, a thirtieth of a second later at 100 m/s, would be far below it, or
 * stops in its flesh. */
TEST(a_ball_at_100_metres_a_second_does_not_tunnel)
{
    posed p = posed_make("arm", 10, NULL);
    supple_sim *free = contact_sim(&p, SUPPLE_COLLIDE_SELF, NULL, 2);
    REQUIRE(supple_sim_step_clip(free, 0, 0, NULL) == SUPPLE_OK);
    const spl_body *body = free->flesh.body;
    spl_vec3 top = spl_v3(0, -INFINITY, 0);
    for (int32_t i = 0; i < 3 * body->tets.surface_count; i++) {
        int32_t v = body->tets.surface[i];
        const double *q = posed_x(free) + 3 * v;
        if (body->bone[v] < 0 && q[1] > top.y) top = spl_v3(q[0], q[1], q[2]);
    }
    double radius = 0.05, deep = 0.01, into = 3.3 + deep;
    spl_vec3 from = spl_v3(top.x, top.y + radius + 3.3, top.z);
    const char *path = write_ball(&p, from, spl_v3(0, -into, 0), radius, into / 100);
    supple_sim *sim = contact_sim(&p, SUPPLE_COLLIDE_SELF | SUPPLE_COLLIDE_WORLD, path, 2);
    spl_vec3 stop = spl_v3(from.x, from.y - into, from.z);
    CHECK(clearance(free, stop) < radius); /* without contact the ball is in the flesh */
    REQUIRE(supple_sim_step_clip(sim, 0, 0, NULL) == SUPPLE_OK);
    CHECK(supple_sim_stats(sim)->contacts == 0);
    REQUIRE(supple_sim_step_clip(sim, 0, 1 / 30.0, NULL) == SUPPLE_OK);
    CHECK(finite_x(sim));
    CHECK(crossings(sim) == 0);
    CHECK(supple_sim_stats(sim)->contacts > 0);
    CHECK(clearance(sim, stop) > radius);
    supple_sim_destroy(sim);
    supple_sim_destroy(free);
    remove(path);
    posed_free(&p);
}

/* ---- bones through each other ---- */

TEST(bones_that_pass_through_each_other_are_told_of_and_recover)
{
    posed p = posed_make("arm", 10, NULL);
    supple_sim *sim = contact_sim(&p, SUPPLE_COLLIDE_SELF, NULL, 2);
    static const double degrees[] = {90, 170, 230, 170, 90, 0};
    double released[6];
    for (int k = 0; k < 6; k++) {
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees[k]);
        CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK(finite_x(sim));
        released[k] = value_of(sim, "released");
        CHECK(released[k] > 0 || crossings(sim) == 0);
        printf("    %g degrees: %g released, %g missing\n", degrees[k], released[k], value_of(sim, "missing_m"));
    }
    CHECK(released[0] == 0);
    CHECK(released[2] > 0);
    CHECK(released[5] == 0);
    supple_sim_destroy(sim);
    posed_free(&p);
}

TEST_CASES(RUN(an_arm_bent_by_150_degrees_does_not_cross_at_any_number_of_threads),
           RUN(a_reset_gives_the_same_bits_again), RUN(a_range_with_what_comes_before_is_the_clips),
           RUN(a_ball_at_100_metres_a_second_does_not_tunnel),
           RUN(bones_that_pass_through_each_other_are_told_of_and_recover))
