/* A model of the demo arm, played: what the tests of <supple/playback.h> share. */
#ifndef SPL_TESTS_SUBSPACE_PLAYING_H
#define SPL_TESTS_SUBSPACE_PLAYING_H

#include "sim/posed.h"
#include "subspace/model_public.h"

enum { CELLS = 14 };

/* One model for all cases, through its file, and the scene that it was trained on. */
typedef struct fixture {
    supple_scene *scene;
    supple_model *trained, *model;
} fixture;

/* `mirrored`: the whole character reflected and twice as large. */
static inline fixture fixture_make(bool mirrored)
{
    fixture f = {.scene = demo_scene("arm", 0.4)};
    supple_train_config tc = supple_train_config_default();
    supple_body_config bc = supple_body_config_default();
    supple_error error = {0};
    puppet p = puppet_make(f.scene);
    spl_mat4 map = spl_mat4_identity();
    map.m[0] = -2, map.m[5] = 2, map.m[10] = 2, map.m[12] = 3;
    if (mirrored) puppet_keep(&p, &map);
    puppet_free(&p);
    bc.resolution = CELLS;
    bc.cache = false;
    bc.size_m = SUPPLE_SIZE_FILE;
    tc.samples = 6;
    tc.rank = 10;
    tc.modes = 16;
    tc.derivatives = 6;
    tc.body_config = &bc;
    if (supple_model_train(f.scene, &tc, NULL, &f.trained, &error) != SUPPLE_OK ||
        supple_model_save(f.trained, "playback.supple", NULL, &error) != SUPPLE_OK ||
        supple_model_load("playback.supple", NULL, &f.model, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        exit(1);
    }
    return f;
}

static inline void fixture_free(fixture *f)
{
    supple_model_destroy(f->trained);
    supple_model_destroy(f->model);
    supple_scene_destroy(f->scene);
}

/* The model's matrices at a time of the scene's clip, by the joints' names. */
static inline float *pose_at(const fixture *f, double time)
{
    int32_t joints = supple_scene_joint_count(f->scene), n = supple_model_joint_count(f->model);
    float *all = calloc((size_t)joints, 64), *out = calloc((size_t)n, 64);
    if (supple_scene_pose(f->scene, 0, time, all, joints, NULL) != SUPPLE_OK) abort();
    for (int32_t k = 0; k < n; k++) {
        int32_t j = 0;
        while (j < joints && strcmp(supple_scene_joint_name(f->scene, j), supple_model_joint_name(f->model, k)) != 0)
            j++;
        if (j == joints) abort();
        memcpy(out + 16 * k, all + 16 * j, 64);
    }
    free(all);
    return out;
}

static inline supple_player *player_of(const fixture *f, int threads, bool dynamics, bool per_vertex)
{
    supple_player_config pc = supple_player_config_default();
    supple_config config = supple_config_default();
    supple_player *p = NULL;
    supple_error error = {0};
    config.thread_count = threads;
    pc.dynamics = dynamics;
    pc.per_vertex = per_vertex;
    if (supple_player_create(f->model, &pc, &config, &p, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return p;
}

static inline void play(const fixture *f, supple_player *p, double time, double dt)
{
    float *pose = pose_at(f, time);
    CHECK(supple_player_step(p, pose, supple_model_joint_count(f->model), dt, NULL) == SUPPLE_OK);
    free(pose);
}

static inline float *positions(const fixture *f, const supple_player *p)
{
    float *x = calloc((size_t)supple_model_vertex_count(f->model), 12);
    supple_player_read_positions(p, x, 12);
    return x;
}

#endif
