#include "body/demo_body.h"
#include "sim/rehearse.h"

#include <supple/supple.h>

static supple_body_config coarse(void)
{
    supple_body_config bc = supple_body_config_default();
    bc.cache = false;
    bc.max_tets = test_size(4000, 1500);
    return bc;
}

/* A sim that is judged by its own wreckage: flesh is thrown about in every pose that bends. */
static supple_result throw_about(void *state, const spl_method_context *c, double *x, supple_stats *stats,
                                 supple_error *error)
{
    supple_result result = spl_method_projective.solve(state, c, x, stats, error);
    size_t n = (size_t)c->solid->body->tets.vertex_count;
    for (size_t v = 0; v < n; v += 2) x[3 * v] += 0.3 * c->solid->diagonal;
    return result;
}

TEST(poses_leave_a_trust_that_live_steps_start_from)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    REQUIRE(scene);
    supple_sim_config sc = supple_sim_config_default();
    supple_body_config bc = coarse();
    supple_sim *sim = NULL;
    sc.method = "projective";
    sc.body_config = &bc;
    REQUIRE(supple_sim_create(scene, &sc, NULL, &sim, NULL) == SUPPLE_OK);
    double share = 0;
    CHECK(spl_rehearse(sim, &share, NULL) == SUPPLE_OK);
    CHECK(share > 0.9);
    spl_method broken = spl_method_projective;
    broken.solve = throw_about;
    sim->method = &broken;
    CHECK(spl_rehearse(sim, &share, NULL) == SUPPLE_OK);
    CHECK(share < 0.5);
    sim->method = &spl_method_projective;
    CHECK(supple_sim_step_clip(sim, 0, 0.1, NULL) == SUPPLE_OK);
    CHECK(supple_sim_stats(sim)->trust < 0.5); /* what was rehearsed counts from the first frame, */
    supple_sim_reset(sim);
    CHECK(supple_sim_step_clip(sim, 0, 0.1, NULL) == SUPPLE_OK);
    CHECK(supple_sim_stats(sim)->trust < 0.5); /* after a reset too, */
    CHECK(supple_sim_judge(sim, 0, 0, 2, 30, true, NULL) == SUPPLE_OK);
    CHECK(supple_sim_step_clip(sim, 0, 0, NULL) == SUPPLE_OK);
    CHECK(supple_sim_stats(sim)->trust > 0.9); /* and frames that are seen themselves are judged by what is seen */
    supple_sim_destroy(sim);
    supple_scene_destroy(scene);
}

TEST(parts_that_can_be_trusted_stay_as_they_are)
{
    supple_scene *scene = scene_load(SPL_SOURCE_DIR "/tests/data/dress.glb");
    REQUIRE(scene);
    supple_sim_config sc = supple_sim_config_default();
    supple_body_config bc = coarse();
    spl_rehearsed r;
    sc.body_config = &bc;
    REQUIRE(spl_rehearse_roles(scene, &sc, NULL, SPL_REHEARSE_NEEDED, &r, NULL) == SUPPLE_OK);
    CHECK(r.rule_count == 0);
    spl_rehearsed_release(&r);
    supple_scene_destroy(scene);
}

/* With more asked for than any flesh has, every part goes down the ladder; but not those that the user has named. */
TEST(parts_that_cannot_be_trusted_get_other_roles)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    REQUIRE(scene);
    supple_sim_config sc = supple_sim_config_default();
    supple_body_config bc = coarse();
    supple_part_rule said = {"arm", SUPPLE_ROLE_FLESH};
    spl_rehearsed r;
    sc.body_config = &bc;
    REQUIRE(spl_rehearse_roles(scene, &sc, NULL, 2, &r, NULL) == SUPPLE_OK);
    CHECK(r.rule_count == 1 && r.rule[0].role != SUPPLE_ROLE_FLESH && strcmp(r.rule[0].pattern, "0") == 0);
    spl_rehearsed_release(&r);
    bc.rules = &said;
    bc.rule_count = 1;
    REQUIRE(spl_rehearse_roles(scene, &sc, NULL, 2, &r, NULL) == SUPPLE_OK);
    CHECK(r.rule_count == 1 && r.rule[0].role == SUPPLE_ROLE_FLESH && strcmp(r.rule[0].pattern, "arm") == 0);
    spl_rehearsed_release(&r);
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(poses_leave_a_trust_that_live_steps_start_from), RUN(parts_that_can_be_trusted_stay_as_they_are),
           RUN(parts_that_cannot_be_trusted_get_other_roles))
