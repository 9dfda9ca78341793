/* Several characters in several threads: what each does is what it does alone. */
#include "sim/posed.h"
#include "test.h"

#include <pthread.h>

enum { CHARACTERS = 3, FRAMES = 8 };

typedef struct actor {
    pthread_t thread;
    supple_sim *sim;
    int32_t clip, first;
    float *position, *normal;
    bool good;
} actor;

static void *act(void *argument)
{
    actor *a = argument;
    const supple_scene *scene = a->sim->scene;
    int32_t joints = supple_scene_joint_count(scene);
    float *matrices = calloc((size_t)joints, 16 * sizeof *matrices);
    a->good = true;
    for (int32_t k = 0; k < FRAMES && a->good; k++) {
        a->good = supple_scene_pose(scene, a->clip, (a->first + k) / 60.0, matrices, joints, NULL) == SUPPLE_OK &&
                  supple_sim_step_pose_dt(a->sim, matrices, joints, 1 / 60.0, NULL) == SUPPLE_OK;
        supple_sim_read_positions(a->sim, a->position, 12);
        supple_sim_read_normals(a->sim, a->normal, 12);
    }
    free(matrices);
    return NULL;
}

static actor make(const posed *p, int32_t index, int32_t threads)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_config config = supple_config_default();
    size_t n = (size_t)p->demo.scene->vertex_count;
    actor a = {.clip = supple_scene_clip_find(p->demo.scene, "hop"),
               .first = 7 * index,
               .position = calloc(n, 3 * sizeof(float)),
               .normal = calloc(n, 3 * sizeof(float))};
    sc.dynamics = true;
    config.thread_count = threads;
    if (posed_try(p, "projective", "", &sc, &config, &a.sim, NULL) != SUPPLE_OK) abort();
    return a;
}

static void destroy(actor *a)
{
    supple_sim_destroy(a->sim);
    free(a->position);
    free(a->normal);
}

TEST(characters_in_threads_move_as_they_do_alone)
{
    posed p = posed_make("sack", 8, NULL);
    size_t bytes = (size_t)p.demo.scene->vertex_count * 3 * sizeof(float);
    actor alone[CHARACTERS], together[CHARACTERS];
    for (int32_t i = 0; i < CHARACTERS; i++) {
        alone[i] = make(&p, i, 1);
        act(&alone[i]);
        together[i] = make(&p, i, 2);
    }
    for (int32_t i = 0; i < CHARACTERS; i++) REQUIRE(pthread_create(&together[i].thread, NULL, act, &together[i]) == 0);
    for (int32_t i = 0; i < CHARACTERS; i++) pthread_join(together[i].thread, NULL);
    for (int32_t i = 0; i < CHARACTERS; i++) {
        CHECK(alone[i].good && together[i].good);
        CHECK(memcmp(alone[i].position, together[i].position, bytes) == 0);
        CHECK(memcmp(alone[i].normal, together[i].normal, bytes) == 0);
        CHECK(i == 0 || memcmp(alone[0].position, alone[i].position, bytes) != 0);
    }
    for (int32_t i = 0; i < CHARACTERS; i++) {
        destroy(&alone[i]);
        destroy(&together[i]);
    }
    posed_free(&p);
}

TEST_CASES(RUN(characters_in_threads_move_as_they_do_alone))
