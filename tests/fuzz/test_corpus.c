/* Replays the corpora that scripts/run-fuzz keeps: small files that reach most of what fuzzing has reached. Each is
 * read as the fuzzer does, which ends the process where something does not hold. */
#include "corpus.h"
#include "exercise.h"
#include "motion.h"
#include "play.h"
#include "read_tets.h"
#include "settings.h"
#include "small.h"
#include "test.h"

static void read_gltf(void *user, const char *name, const uint8_t *data, size_t size)
{
    (void)name;
    *(int *)user += exercise(data, size) == SUPPLE_OK;
}

TEST(gltf)
{
    int good = 0;
    CHECK(corpus_each("corpus_gltf", read_gltf, &good) >= 20);
    CHECK(good > 0);
}

static void read_model(void *user, const char *name, const uint8_t *data, size_t size)
{
    (void)name;
    *(int *)user += play_exercise("corpus.supple", data, size);
}

TEST(model)
{
    int good = 0;
    CHECK(corpus_each("corpus_model", read_model, &good) >= 4);
    CHECK(good > 0);
}

static void read_small(void *user, const char *name, const uint8_t *data, size_t size)
{
    (void)name;
    small_exercise(user, data, size);
}

TEST(small)
{
    small_world world = small_make();
    CHECK(corpus_each("corpus_small", read_small, &world) >= 20);
    small_free(&world);
}

static void read_tets(void *user, const char *name, const uint8_t *data, size_t size)
{
    (void)name;
    *(int *)user += tets_exercise(data, size);
}

TEST(tets)
{
    int good = 0;
    CHECK(corpus_each("corpus_tets", read_tets, &good) >= 20);
    CHECK(good > 0);
}

static void read_motion(void *user, const char *name, const uint8_t *data, size_t size)
{
    (void)name;
    motion_exercise(user, data, size);
}

TEST(bvh)
{
    supple_scene *skeleton = motion_skeleton();
    REQUIRE(skeleton);
    CHECK(corpus_each("corpus_bvh", read_motion, skeleton) >= 20);
    supple_scene_destroy(skeleton);
}

static void read_settings(void *user, const char *name, const uint8_t *data, size_t size)
{
    (void)name;
    settings_material(data, size, user);
    settings_forces(data, size, user);
}

TEST(settings)
{
    supple_allocator a = spl_allocator_of(NULL);
    CHECK(corpus_each("corpus_settings", read_settings, &a) >= 20);
}

TEST_CASES(RUN(gltf), RUN(model), RUN(small), RUN(tets), RUN(bvh), RUN(settings))
