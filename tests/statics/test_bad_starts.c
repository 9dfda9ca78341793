/* Collapsed, random and inverted bodies find the way that a good start finds. */
#include "fem/residual.h"
#include "statics/flesh.h"
#include "test.h"

static spl_pool *pool_of_two(void)
{
    supple_config config = supple_config_default();
    config.thread_count = 2;
    spl_pool *pool;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    return pool;
}

/* From every start to the same energy, within `tolerance`. */
static void all_starts(const char *name, int32_t resolution, const flesh_pose *pose, const spl_law *law,
                       double tolerance)
{
    spl_pool *pool = pool_of_two();
    flesh f = flesh_demo(name, resolution, pose, pool);
    spl_statics *s = flesh_solver(&f, NULL, pool);
    spl_statics_problem problem = flesh_problem(&f, law);
    size_t bytes = 3 * (size_t)f.vertex_count * sizeof(double);
    double *x = malloc(bytes), good = 0;
    for (int start = 0; start < STARTS; start++) {
        spl_statics_stats stats;
        supple_error error = {0};
        memcpy(x, f.x, bytes);
        flesh_spoil(&f, (flesh_start)start, x);
        bool solved = spl_statics_solve(s, &problem, x, &stats, &error) == SUPPLE_OK && stats.converged;
        if (start == GOOD) good = stats.energy;
        bool same = fabs(stats.energy - good) <= tolerance * good;
        if (!solved || !same)
            printf("    %s, %s, %s: %d steps, residual %.1e, energy %.9g of %.9g %s\n", name, law->name,
                   flesh_start_name[start], (int)stats.iterations, stats.residual, stats.energy, good, error.message);
        CHECK(solved && same);
    }
    free(x);
    spl_statics_destroy(s);
    flesh_free(&f);
    spl_pool_destroy(pool);
}

TEST(a_bent_beam_with_every_law)
{
    const flesh_pose bent = {.clip = 0, .time = 0.8};
    const spl_law *laws[] = {&spl_law_corot, &spl_law_neohookean, &spl_law_arap, &spl_law_stvk};
    for (int l = 0; l < 4; l++) all_starts("demo:beam", 12, &bent, laws[l], 1e-8);
}

/* Wide of a good start, Newton's method alone would end elsewhere: the case that the restart is for. */
TEST(a_random_start_is_given_up)
{
    const flesh_pose bent = {.clip = 0, .time = 0.8};
    flesh f = flesh_demo("demo:beam", 12, &bent, NULL);
    spl_statics *s = flesh_solver(&f, NULL, NULL);
    spl_statics_problem problem = flesh_problem(&f, &spl_law_corot);
    spl_statics_stats stats;
    flesh_spoil(&f, RANDOM, f.x);
    REQUIRE(spl_statics_solve(s, &problem, f.x, &stats, NULL) == SUPPLE_OK);
    CHECK(stats.converged && stats.restarted);
    REQUIRE(spl_statics_solve(s, &problem, f.x, &stats, NULL) == SUPPLE_OK); /* warm: nothing to do */
    CHECK(stats.converged && !stats.restarted && stats.iterations == 0);
    spl_statics_destroy(s);
    flesh_free(&f);
}

TEST(an_arm)
{
    all_starts("demo:arm", 24, &(flesh_pose){.clip = 0, .time = 0.8}, &spl_law_corot, 1e-6);
}
TEST(a_cylinder_and_a_torus)
{
    all_starts("demo:cylinder", 16, &(flesh_pose){.clip = 1, .time = 0.8}, &spl_law_corot, 1e-6);
    all_starts("demo:torus", 14, &(flesh_pose){.clip = 1, .time = 0.6}, &spl_law_corot, 1e-6);
}
TEST(a_sack)
{
    if (test_size(0, 1)) SKIP("quick: others have run the same code");
    all_starts("demo:sack", 14, &(flesh_pose){.clip = 1, .time = 0.5}, &spl_law_corot, 1e-6);
}
TEST(a_turtle)
{
    if (test_size(0, 1)) SKIP("quick: others have run the same code");
    all_starts("demo:turtle", 16, &(flesh_pose){.clip = 0, .time = 0.4}, &spl_law_corot, 1e-6);
}
TEST(the_hero)
{
    if (test_size(0, 1)) SKIP("quick: others have run the same code");
    const flesh_pose bent = {.clip = -1, .joint = "forearm.L", .degrees = 60};
    all_starts("demo:hero", 30, &bent, &spl_law_corot, 1e-6);
}

TEST_CASES(RUN(a_bent_beam_with_every_law), RUN(a_random_start_is_given_up), RUN(an_arm), RUN(a_cylinder_and_a_torus),
           RUN(a_sack), RUN(a_turtle), RUN(the_hero))
