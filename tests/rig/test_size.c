#include "core/memory.h"
#include "failing.h"
#include "rig/size.h"
#include "test.h"

#include <supple/supple.h>
#include <supple/tools.h>

static supple_scene *load(const char *name, const supple_config *config)
{
    supple_scene *scene = NULL;
    supple_error error = {0};
    if (supple_scene_load_file(name, config, &scene, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return scene;
}

/* Without a change of the hero its flesh must not change: every number of the docs is of this size. */
TEST(the_hero_is_as_large_as_it_is_drawn)
{
    supple_scene *scene = load("demo:hero", NULL);
    spl_size s;
    REQUIRE(scene && spl_size_find(scene, 0, NULL, &s, NULL) == SUPPLE_OK);
    CHECK(s.rule == SPL_SIZE_BY_PERSON && s.metre == 1 && s.world == 1);
    CHECK(s.size_m == s.file_m && s.size_m == s.diagonal);
    supple_scene_destroy(scene);
}

TEST(a_request_goes_before_the_rig)
{
    supple_scene *scene = load("demo:hero", NULL);
    spl_size s;
    REQUIRE(scene && spl_size_find(scene, 23, NULL, &s, NULL) == SUPPLE_OK);
    CHECK(s.rule == SPL_SIZE_BY_REQUEST);
    CHECK_NEAR(s.size_m, 23, 1e-12);
    supple_scene_destroy(scene);
    scene = load("demo:turtle", NULL);
    REQUIRE(scene && spl_size_find(scene, SUPPLE_SIZE_FILE, NULL, &s, NULL) == SUPPLE_OK);
    CHECK(s.rule == SPL_SIZE_BY_FILE && s.metre == 1 && s.size_m == s.file_m);
    supple_scene_destroy(scene);
}

/* A slender one is as long as all are, a fat one smaller. */
TEST(what_is_no_person_has_flesh_of_one_thickness)
{
    static const char *const names[] = {"demo:sack", "demo:turtle", "demo:arm"};
    for (int i = 0; i < 3; i++) {
        supple_scene *scene = load(names[i], NULL);
        spl_size s;
        REQUIRE(scene && spl_size_find(scene, 0, NULL, &s, NULL) == SUPPLE_OK);
        CHECK(s.rule == SPL_SIZE_BY_DIAGONAL);
        CHECK(s.size_m <= SPL_SIZE_USUAL * (1 + 1e-12) && s.size_m > 0.2);
        if (i == 0) CHECK(s.size_m < 0.4);
        supple_scene_destroy(scene);
    }
}

/* Nothing skinned: the vertices that are given tell; none of them: the file's unit stands. */
TEST(what_is_not_skinned_is_measured_as_it_stands)
{
    float position[] = {0, 0, 0, 3, 4, 0};
    supple_scene scene = {.vertex_count = 2, .allocator = spl_allocator_of(NULL)};
    spl_size s;
    REQUIRE(spl_size_find(&scene, 0, position, &s, NULL) == SUPPLE_OK);
    CHECK_NEAR(s.diagonal, 5, 1e-12);
    CHECK_NEAR(s.world, SPL_SIZE_USUAL / 5, 1e-12);
    REQUIRE(spl_size_find(&scene, 0, NULL, &s, NULL) == SUPPLE_OK);
    CHECK(s.diagonal == 0 && s.metre == 1);
}

TEST(failing_allocations_are_errors)
{
    static const char *const names[] = {"demo:hero", "demo:arm"};
    for (int i = 0; i < 2; i++) {
        supple_scene *scene = load(names[i], NULL);
        REQUIRE(scene);
        supple_allocator own = scene->allocator;
        for (long n = 0;; n++) {
            failing f = {.fail_at = n};
            spl_size s;
            scene->allocator = failing_allocator(&f);
            supple_result result = spl_size_find(scene, 0, NULL, &s, NULL);
            CHECK(f.live == 0);
            if (f.requests <= n) break;
            CHECK(result == SUPPLE_ERROR_MEMORY);
        }
        scene->allocator = own;
        supple_scene_destroy(scene);
    }
}

TEST_CASES(RUN(the_hero_is_as_large_as_it_is_drawn), RUN(a_request_goes_before_the_rig),
           RUN(what_is_no_person_has_flesh_of_one_thickness), RUN(what_is_not_skinned_is_measured_as_it_stands),
           RUN(failing_allocations_are_errors))
