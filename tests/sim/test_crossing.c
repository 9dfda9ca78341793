#include "sim/posed.h"

/* ---- characters at rest ---- */

static void check_rest(supple_scene *scene, const char *name)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    sc.method = "linear";
    sc.measure = true;
    REQUIRE(scene && supple_sim_create(scene, &sc, NULL, &sim, NULL) == SUPPLE_OK);
    CHECK(supple_sim_step_clip(sim, -1, 0, NULL) == SUPPLE_OK);
    const supple_stats *s = supple_sim_stats(sim);
    if (s->crossed) printf("    %s: %d pairs, %g m\n", name, (int)s->crossed, s->max_penetration);
    CHECK(s->crossed == 0 && s->max_penetration == 0 && s->max_fold == 0);
    supple_sim_destroy(sim);
    supple_scene_destroy(scene);
}

TEST(demos_at_rest_read_zero)
{
    static const char *name[] = {"hero", "arm", "beam", "cylinder", "torus", "sack", "turtle"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) check_rest(demo_scene(name[i], 0.5), name[i]);
}

TEST(files_at_rest_read_zero)
{
    static const char *name[] = {"person.glb", "hand.glb",  "parts.glb", "quadruped.glb",
                                 "figure.glb", "dress.glb", "mech.glb"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", SPL_DATA_DIR, name[i]);
        check_rest(scene_load(path), name[i]);
    }
}

/* ---- what is shown ---- */

/* linear folds an elbow through itself; the straight arm is free of it. */
TEST(an_elbow_that_linear_folds_goes_into_itself)
{
    posed p = posed_make("arm", 24, NULL);
    supple_sim *sim = posed_sim(&p, "linear", "");
    REQUIRE(posed_step(sim) == SUPPLE_OK);
    CHECK(supple_sim_stats(sim)->crossed == 0 && supple_sim_stats(sim)->max_penetration == 0);
    double last = 0;
    for (int degrees = 90; degrees <= 150; degrees += 20) {
        puppet_rest(&p.puppet);
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
        REQUIRE(posed_step(sim) == SUPPLE_OK);
        const supple_stats *s = supple_sim_stats(sim);
        CHECK(s->max_penetration >= last && s->max_fold <= s->max_penetration);
        last = s->max_penetration;
    }
    printf("    150 degrees: %.1f mm, %d pairs\n", 1e3 * last, supple_sim_stats(sim)->crossed);
    CHECK(last > 0.005 && last < 0.2);
    supple_sim_destroy(sim);
    posed_free(&p);
}

static supple_stats bent(const posed *p, const char *method, const char *settings, double amount)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    supple_stats stats = {0};
    sc.measure = true;
    sc.amount = amount;
    supple_error error = {0};
    if (posed_try(p, method, settings, &sc, NULL, &sim, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    CHECK(sim);
    if (sim && posed_step(sim) == SUPPLE_OK) stats = *supple_sim_stats(sim);
    supple_sim_destroy(sim);
    return stats;
}

/* Flesh that is not shown is not measured: without any of it the numbers are those of the file's own skinning, and
 * half of it is neither. */
TEST(what_is_measured_is_what_is_shown)
{
    posed p = posed_make("arm", 24, NULL);
    puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 150);
    supple_stats own = bent(&p, "linear", "", 1), none = bent(&p, "mixed", "trust=off", 0);
    supple_stats half = bent(&p, "mixed", "trust=off", 0.5), all = bent(&p, "mixed", "trust=off", 1);
    CHECK(own.crossed > 0 && own.crossed == none.crossed && own.max_penetration == none.max_penetration);
    CHECK(all.crossed != own.crossed && half.crossed != own.crossed && half.crossed != all.crossed);
    CHECK(own.max_fold == none.max_fold && own.max_fold > 0);
    posed_free(&p);
}

TEST(methods_without_flesh_are_measured_too)
{
    posed p = posed_make("arm", 24, NULL);
    puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 150);
    supple_stats dual = bent(&p, "dualquat", "", 1);
    CHECK(dual.crossed > 0 && dual.max_penetration > 0 && dual.max_fold <= dual.max_penetration);
    posed_free(&p);
}

TEST_CASES(RUN(demos_at_rest_read_zero), RUN(files_at_rest_read_zero), RUN(an_elbow_that_linear_folds_goes_into_itself),
           RUN(what_is_measured_is_what_is_shown), RUN(methods_without_flesh_are_measured_too))
