/* What "auto" chooses: by what is asked for, by size and by budget, the same with and without running. */
#include "sim/choose.h"

#include "sim/posed.h"

#include <supple/tools.h>

static supple_choice choose(const supple_scene *scene, const supple_sim_config *sc)
{
    supple_choice c = {0};
    supple_error error = {0};
    CHECK(supple_choose(scene, sc, NULL, &c, &error) == SUPPLE_OK);
    return c;
}

#define CHECK_CHOICE(c, name, text)                                                                                    \
    do {                                                                                                               \
        CHECK(strcmp((c).method, name) == 0 && strstr((c).why, text));                                                 \
        if (strcmp((c).method, name) != 0 || !strstr((c).why, text)) printf("    %s (%s)\n", (c).method, (c).why);     \
    } while (0)

TEST(what_is_asked_for)
{
    supple_scene *scene = demo_scene("arm", 0.3);
    supple_sim_config sc = supple_sim_config_default();
    supple_choice c = choose(scene, NULL);
    CHECK_CHOICE(c, "mixed", "keeps its volume");
    CHECK(c.fits && c.tets > 40000 && c.tets < 50000); /* 46,282 with every detail */
    sc.dynamics = true;
    c = choose(scene, &sc);
    CHECK_CHOICE(c, "projective", "swings");
    CHECK(c.tets > 18000 && c.tets <= 20000);
    sc.dynamics = false;
    sc.collide = SUPPLE_COLLIDE_SELF;
    c = choose(scene, &sc);
    CHECK_CHOICE(c, "steklov", "flesh against flesh");
    CHECK(c.tets > 0.9 * SPL_CHOOSE_CONTACT && c.tets <= SPL_CHOOSE_CONTACT);
    sc.dynamics = true; /* only projective swings */
    CHECK_CHOICE(choose(scene, &sc), "projective", "swings");
    sc.dynamics = false;
    sc.collide = SUPPLE_COLLIDE_AUTO;
    const char *ball = "ball.json";
    sc.colliders = &ball;
    sc.collider_count = 1;
    c = choose(scene, &sc);
    CHECK_CHOICE(c, "mixed", "colliders");
    supple_scene_destroy(scene);
}

/* Without flesh, by its shape or because the user says so, it is the file's own skinning, whatever is asked for. */
TEST(without_flesh)
{
    supple_scene *scene = demo_scene("arm", 0.3), *flat = NULL;
    supple_sim_config sc = supple_sim_config_default();
    supple_body_config bc = supple_body_config_default();
    supple_part_rule own = {"*", SUPPLE_ROLE_OWN}, flesh = {"*", SUPPLE_ROLE_FLESH};
    REQUIRE(supple_scene_load_file(SPL_DATA_DIR "/strip.gltf", NULL, &flat, NULL) == SUPPLE_OK);
    sc.body_config = &bc;
    bc.rules = &own;
    bc.rule_count = 1;
    for (int moving = 0; moving < 2; moving++) {
        sc.dynamics = moving;
        supple_choice c = choose(scene, &sc);
        CHECK_CHOICE(c, "linear", "file's own skinning");
        c = choose(flat, &sc);
        CHECK_CHOICE(c, "linear", "file's own skinning");
    }
    sc.dynamics = false;
    bc.rules = &flesh;
    CHECK(strcmp(choose(flat, &sc).method, "mixed") == 0);
    supple_scene_destroy(scene);
    supple_scene_destroy(flat);
}

/* The number of tets is foretold from the surface alone; contact takes longer than none, and bounded steps longer than
 * springs. */
TEST(how_large)
{
    supple_scene *scene = demo_scene("arm", 1);
    supple_sim_config sc = supple_sim_config_default();
    supple_body_config bc = supple_body_config_default();
    sc.body_config = &bc;
    sc.collide = SUPPLE_COLLIDE_SELF;
    supple_choice c;
    const spl_method *methods[] = {&spl_method_mixed, &spl_method_projective, &spl_method_steklov};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        supple_sim_config none = sc, springs = sc;
        none.collide = SUPPLE_COLLIDE_NONE;
        springs.collide = SUPPLE_COLLIDE_AUTO;
        double bounded = spl_choose_cost(methods[i], scene, &sc, 20000);
        CHECK(bounded > spl_choose_cost(methods[i], scene, &springs, 20000));
        CHECK(bounded > 1.5 * spl_choose_cost(methods[i], scene, &none, 20000));
        CHECK(bounded >= spl_choose_cost(&spl_method_steklov, scene, &sc, 20000));
    }
    for (int32_t cells = 30; cells <= 50; cells += 20) {
        supple_body *body;
        bc.resolution = cells;
        c = choose(scene, &sc);
        CHECK_CHOICE(c, "steklov", "about");
        CHECK(supple_body_create(scene, &bc, NULL, &body, NULL) == SUPPLE_OK);
        double made = supple_body_get_info(body)->tets;
        CHECK(c.tets > 0.85 * made && c.tets < 1.3 * made);
        sc.body = body; /* one that is there is counted */
        c = choose(scene, &sc);
        CHECK(c.tets == (int32_t)made);
        sc.body = NULL;
        supple_body_destroy(body);
    }
    supple_scene_destroy(scene);
}

/* More time never means a coarser body; too little takes the flesh away, unless it is insisted on. */
TEST(budget)
{
    supple_scene *scene = demo_scene("arm", 0.3);
    supple_sim_config sc = supple_sim_config_default();
    supple_body_config bc = supple_body_config_default();
    int32_t before = 0;
    for (sc.budget_ms = 0.01; sc.budget_ms < 1000; sc.budget_ms *= 1.3) {
        supple_choice c = choose(scene, &sc);
        bool flesh = strcmp(c.method, "mixed") == 0;
        CHECK(flesh || strcmp(c.method, "dualquat") == 0);
        CHECK(c.tets >= before && c.tets <= 60000 && flesh == (c.tets >= SPL_CHOOSE_FEWEST));
        CHECK(c.fits == (c.ms <= sc.budget_ms) && c.fits);
        CHECK_NEAR(c.ms, spl_choose_cost(spl_method_find(c.method), scene, &sc, c.tets), 1e-12);
        before = c.tets;
    }
    CHECK(before == 60000);
    sc.budget_ms = 1e-6;
    sc.dynamics = true;
    supple_choice c = choose(scene, &sc);
    CHECK_CHOICE(c, "projective", "more than");
    CHECK(!c.fits && c.tets == SPL_CHOOSE_FEWEST);
    sc.body_config = &bc; /* what the user fixed stays */
    bc.max_tets = 7777;
    CHECK(choose(scene, &sc).tets == 7777);
    sc.dynamics = false;
    c = choose(scene, &sc);
    CHECK_CHOICE(c, "dualquat", "longer than the budget");
    sc.budget_ms = -1;
    supple_error error = {0};
    CHECK(supple_choose(scene, &sc, NULL, &c, &error) == SUPPLE_ERROR_ARGUMENT && strstr(error.message, "budget"));
    supple_scene_destroy(scene);
}

/* Steps in motion are of 1/120 s: half the frames a second are twice the cost of a frame. */
TEST(frames_per_second)
{
    supple_scene *scene = demo_scene("arm", 0.3);
    supple_sim_config sc = supple_sim_config_default();
    sc.dynamics = true;
    sc.fps = 60;
    double at60 = spl_choose_cost(&spl_method_projective, scene, &sc, 10000) -
                  spl_choose_cost(&spl_method_projective, scene, &sc, 0);
    sc.fps = 30;
    double at30 = spl_choose_cost(&spl_method_projective, scene, &sc, 10000) -
                  spl_choose_cost(&spl_method_projective, scene, &sc, 0);
    CHECK_NEAR(at30, 2 * at60, 1e-12);
    sc.collide = SUPPLE_COLLIDE_SELF; /* bounded steps cost in motion, too */
    double bounded = spl_choose_cost(&spl_method_projective, scene, &sc, 10000) -
                     spl_choose_cost(&spl_method_projective, scene, &sc, 0);
    CHECK(bounded > 2 * at30);
    supple_scene_destroy(scene);
}

typedef struct heard {
    char text[600];
} heard;

static void hear(void *user, supple_log_level level, const char *message)
{
    heard *h = user;
    (void)level;
    if (strncmp(message, "method:", 7) == 0) snprintf(h->text, sizeof h->text, "%s", message);
}

/* What is told beforehand is what a simulation does, and its body is within the budget. Where no budget has set the
 * body's size, the simulation says it once it is there. */
TEST(the_same_as_running)
{
    static const double budgets[] = {0, 9, 1};
    supple_scene *scene = demo_scene("arm", 0.3);
    supple_config config = supple_config_default();
    heard h;
    config.log = hear;
    config.log_user = &h;
    for (int i = 0; i < 6; i++) {
        supple_sim_config sc = supple_sim_config_default();
        supple_body_config bc = supple_body_config_default();
        supple_sim *sim;
        char line[600];
        sc.body_config = &bc;
        bc.cache = false;
        sc.budget_ms = budgets[i % 3];
        sc.dynamics = i >= 3;
        if (sc.budget_ms == 0) bc.resolution = 20;
        supple_choice c = choose(scene, &sc);
        snprintf(h.text, sizeof h.text, "nothing");
        CHECK(supple_sim_create(scene, &sc, &config, &sim, NULL) == SUPPLE_OK);
        snprintf(line, sizeof line, "method: %s (%s)", c.method, c.why);
        const supple_body *body = supple_sim_body(sim);
        bool measured = body && sc.budget_ms == 0;
        size_t same = measured ? strcspn(line, ";") : sizeof line;
        CHECK(strncmp(line, h.text, same) == 0);
        if (strncmp(line, h.text, same) != 0) printf("    told %s\n    took %s\n", line, h.text);
        if (measured) snprintf(line, sizeof line, "; about %d tetrahedra; about ", supple_body_get_info(body)->tets);
        if (measured) CHECK(strstr(h.text, line) != NULL);
        CHECK(strcmp(supple_sim_setup(sim)->method, c.method) == 0);
        CHECK((body != NULL) == (c.tets > 0));
        if (body && sc.budget_ms > 0) CHECK(supple_body_get_info(body)->tets <= c.tets);
        supple_sim_destroy(sim);
    }
    supple_scene_destroy(scene);
}

/* The estimate knows the body: a small one is not said to take what the largest would. */
TEST(small_bodies_take_less)
{
    supple_scene *scene = demo_scene("arm", 0.3);
    supple_sim_config sc = supple_sim_config_default();
    const spl_method *mixed = spl_method_find("mixed");
    double small = spl_choose_cost(mixed, scene, &sc, 3500), large = spl_choose_cost(mixed, scene, &sc, 56000);
    CHECK(small > 1.5 && small < 5 && large > 30 && large < 90); /* measured: 2.8, 32 to 50 */
    supple_choice c = choose(scene, &sc);
    CHECK(c.ms < 0.9 * spl_choose_cost(mixed, scene, &sc, c.tets)); /* budgets count more than what is usual */
    sc.budget_ms = 1000;
    c = choose(scene, &sc);
    CHECK(strstr(c.why, "at most about ") != NULL);
    supple_scene_destroy(scene);
}

/* Where nobody has said how large, the body is foretold as it is made: by the thinnest limbs, and by the budget. */
TEST(a_body_that_is_not_there_yet)
{
    static const int32_t most[] = {0, 8000};
    supple_scene *scene = demo_scene("arm", 0.3);
    for (int i = 0; i < 2; i++) {
        supple_sim_config sc = supple_sim_config_default();
        supple_body_config bc = supple_body_config_default();
        supple_body *body;
        sc.body_config = &bc;
        bc.cache = false;
        bc.max_tets = most[i];
        supple_choice c = choose(scene, &sc);
        REQUIRE(supple_body_create(scene, &bc, NULL, &body, NULL) == SUPPLE_OK);
        double made = supple_body_get_info(body)->tets;
        CHECK_NEAR(c.tets, made, 0.07 * made);
        CHECK(strstr(c.why, "; about ") != NULL && strstr(c.why, "at most") == NULL);
        supple_body_destroy(body);
    }
    supple_scene_destroy(scene);
}

/* Memory may run out anywhere in a choice. */
TEST(memory_runs_out)
{
    supple_scene *scene = demo_scene("arm", 0.3);
    bool done = false;
    int failed = 0;
    for (long n = 0; !done && n < 10000; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        supple_choice c;
        config.allocator = failing_allocator(&f);
        supple_result result = supple_choose(scene, NULL, &config, &c, NULL);
        done = f.requests <= n;
        /* A tree of triangles does without some of its room. */
        CHECK(result == SUPPLE_OK ? strcmp(c.method, "mixed") == 0 : !done && result == SUPPLE_ERROR_MEMORY);
        failed += result != SUPPLE_OK;
        CHECK(f.live == 0);
    }
    CHECK(done && failed > 50);
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(what_is_asked_for), RUN(without_flesh), RUN(how_large), RUN(budget), RUN(frames_per_second),
           RUN(the_same_as_running), RUN(small_bodies_take_less), RUN(a_body_that_is_not_there_yet),
           RUN(memory_runs_out))
