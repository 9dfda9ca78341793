/* Frames that have no solution, or not within their limits: each ends with the best state there was and says how good
 * it is, and the next sane one is as if nothing had been. */
#include "methods/steklov/sims.h"
#include "test.h"

enum { RESOLUTION = 20 };

static const char *const WAYS[] = {"formulation=volume", "formulation=surface"};

static bool finite_state(const supple_sim *sim)
{
    for (int32_t i = 0; i < 3 * sim->flesh.body->tets.vertex_count; i++)
        if (!isfinite(posed_x(sim)[i])) return false;
    return isfinite(supple_sim_stats(sim)->residual);
}

/* A step that may not converge but ends in finite numbers. */
static void check_ends(supple_sim *sim)
{
    CHECK(posed_step(sim) == SUPPLE_OK);
    CHECK(finite_state(sim));
}

/* Two steps in the rest pose: equilibrium without contact is the rest shape. */
static void check_recovers(posed *p, supple_sim *sim, const spl_mat4 *away)
{
    puppet_rest(&p->puppet);
    if (away) puppet_move(&p->puppet, away);
    for (int i = 0; i < 2; i++) CHECK(posed_step(sim) == SUPPLE_OK);
    CHECK(supple_sim_stats(sim)->converged && supple_sim_stats(sim)->contacts == 0);
    CHECK_NEAR(posed_rigid(sim), 0, 1e-4);
    puppet_rest(&p->puppet);
}

/* A sphere that swallows the arm has no way out for it. Then the arm leaves. */
TEST(a_collider_engulfs_the_arm)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    spl_mat4 away = puppet_rigid(spl_v3(0, 1, 0), 30, spl_v3(20, 0, 0));
    for (int k = 0; k < 2; k++) {
        supple_sim *sim =
            world_sim(&p, WAYS[k], "{\"colliders\": [{\"sphere\": {\"center\": [0, 0, 0], \"radius\": 5}}]}");
        check_ends(sim);
        CHECK(supple_sim_stats(sim)->contacts > 100);
        check_recovers(&p, sim, &away);
        supple_sim_destroy(sim);
    }
    posed_free(&p);
}

/* The elbow folded flat: bone lies in bone, and what is between them has nowhere to go. */
TEST(bones_are_pressed_through_each_other)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    for (int k = 0; k < 2; k++) {
        supple_sim *sim = contact_sim(&p, WAYS[k], SUPPLE_COLLIDE_SELF);
        for (int degrees = 140; degrees <= 180; degrees += 20) {
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
            check_ends(sim);
        }
        CHECK(supple_sim_stats(sim)->contacts > 10);
        check_recovers(&p, sim, NULL);
        supple_sim_destroy(sim);
    }
    posed_free(&p);
}

/* Spheres around vertices of the surface: their centres are as near to one side as to another. And a slab between two
 * planes thinner than the arm, whose vertices are in both. */
TEST(ways_out_may_be_ambiguous)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    spl_mat4 away = puppet_rigid(spl_v3(0, 1, 0), 0, spl_v3(0, 20, 0));
    const spl_body *body = p.demo.body;
    for (int k = 0; k < 4; k++) {
        char text[800];
        if (k < 2) {
            spl_vec3 a = body->tets.position[body->tets.surface[0]];
            spl_vec3 b = body->tets.position[body->tets.surface[3 * (body->tets.surface_count / 2)]];
            snprintf(text, sizeof text,
                     "{\"colliders\": [{\"sphere\": {\"center\": [%.17g, %.17g, %.17g], \"radius\": 0.02}},"
                     "{\"sphere\": {\"center\": [%.17g, %.17g, %.17g], \"radius\": 0.02}}]}",
                     a.x, a.y, a.z, b.x, b.y, b.z);
        } else {
            snprintf(text, sizeof text,
                     "{\"colliders\": [{\"plane\": {\"point\": [0, 0, -0.02], \"normal\": [0, 0, 1]}},"
                     "{\"plane\": {\"point\": [0, 0, 0.02], \"normal\": [0, 0, -1]}}]}");
        }
        supple_sim *sim = world_sim(&p, WAYS[k % 2], text);
        check_ends(sim);
        CHECK(supple_sim_stats(sim)->contacts > 0);
        if (k < 2) check_recovers(&p, sim, &away); /* planes have no outside to go to */
        supple_sim_destroy(sim);
    }
    posed_free(&p);
}

/* Cells wider than fingers: bones that hold no vertex at all. What they would turn is left to the others. */
TEST(bones_may_hold_nothing)
{
    posed p = {.demo = demo_body_make("demo:hero", 14, 0)};
    REQUIRE(p.demo.body);
    const spl_body *body = p.demo.body;
    int32_t without = 0;
    bool *holds = calloc((size_t)body->bones.bone_count, sizeof *holds);
    for (int32_t v = 0; v < body->tets.vertex_count; v++)
        if (body->bone[v] >= 0) holds[body->bone[v]] = true;
    for (int32_t b = 0; b < body->bones.bone_count; b++) without += !holds[b];
    printf("    %d of %d bones hold nothing\n", (int)without, (int)body->bones.bone_count);
    CHECK(without > 0);
    for (int k = 0; k < 2; k++) {
        supple_sim *sim = contact_sim(&p, WAYS[k], SUPPLE_COLLIDE_SELF);
        for (int frame = 0; frame < 3; frame++) {
            CHECK(supple_sim_step_clip(sim, 0, 0.3 * frame, NULL) == SUPPLE_OK);
            CHECK(finite_state(sim) && supple_sim_stats(sim)->residual < 1e-3);
        }
        supple_sim_destroy(sim);
    }
    free(holds);
    demo_body_free(&p.demo);
}

/* Newton's method at its limit: more steps leave no more; the state is the best one, whose residual is the one told;
 * and steps of further frames in the pose, still as few, arrive. */
TEST(newton_ends_at_its_limit)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    for (int k = 0; k < 2; k++) {
        double before = INFINITY;
        for (int steps = 1; steps <= 4; steps++) {
            char settings[100];
            snprintf(settings, sizeof settings, "steps=%d iterations=4 tolerance=1e-9 %s", steps, WAYS[k]);
            supple_sim *sim = contact_sim(&p, settings, SUPPLE_COLLIDE_NONE);
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 70);
            check_ends(sim);
            const supple_stats *s = supple_sim_stats(sim);
            CHECK(!s->converged && s->residual > 1e-9 && s->residual <= before);
            CHECK(last(sim)->newton <= steps);
            before = s->residual;
            for (int i = 0; steps == 4 && i < 40 && !s->converged; i++) check_ends(sim);
            if (steps == 4) CHECK(s->converged && s->residual <= 1e-9);
            supple_sim_destroy(sim);
            puppet_rest(&p.puppet);
        }
    }
    posed_free(&p);
}

TEST_CASES(RUN(a_collider_engulfs_the_arm), RUN(bones_are_pressed_through_each_other), RUN(ways_out_may_be_ambiguous),
           RUN(bones_may_hold_nothing), RUN(newton_ends_at_its_limit))
