/* Models of hero for bench_subspace: trained as cheaply as playing allows, and kept in a folder.
 *
 * What a step costs depends on domains, ranks, interfaces and the number of cubature tets, and only the last changes
 * with how bases were found (653 instead of 904 for 6 domains of rank 20). So poses are skinned by the bones' weights
 * instead of being solved, and few vibrations are computed; cuts, bases, cubature and interfaces are made as `supple
 * train` makes them. With `poses`, solved ones of `supple train --keep` are taken. */
#ifndef SPL_BENCH_SUBSPACE_MODELS_H
#define SPL_BENCH_SUBSPACE_MODELS_H

#include "body/body.h"
#include "body/solid.h"
#include "measure.h"
#include "subspace/model_public.h"
#include "subspace/train.h"

#include <string.h>
#include <supple/supple.h>

typedef struct model_request {
    int32_t max_tets, domains, rank; /* domains 0: all */
    const char *folder;              /* where models are kept */
    const char *poses;               /* of solved poses, or NULL */
    int32_t threads;
} model_request;

static inline void stop(const supple_error *error)
{
    fprintf(stderr, "bench_subspace: %s\n", error->message);
    exit(5);
}

/* One for the whole process: its texture takes half a second to paint. */
static inline supple_scene *load_hero(void)
{
    static supple_scene *scene;
    supple_error error = {0};
    if (!scene && supple_scene_load_file("demo:hero", NULL, &scene, &error) != SUPPLE_OK) stop(&error);
    return scene;
}

static inline spl_train_options train_options(const supple_scene *scene, const model_request *q, int32_t *clips)
{
    spl_train_options o = spl_train_options_default();
    o.rank = q->rank;
    o.cut.most = q->domains;
    o.folder = q->poses;
    o.clip = clips;
    o.clip_count = 2;
    clips[0] = supple_scene_clip_find(scene, "walk");
    clips[1] = supple_scene_clip_find(scene, "reach");
    if (!q->poses) {
        o.skinned = true;
        o.samples = 2 * q->rank;
        o.modes = 2 * q->rank;
        o.derivatives = 0;
    }
    return o;
}

/* Trains one and writes it. */
static inline void make_model(const model_request *q, const char *path)
{
    int32_t clips[2];
    supple_error error = {0};
    supple_config config = supple_config_default();
    supple_scene *scene = load_hero();
    supple_body *body = NULL;
    supple_body_config bc = supple_body_config_default();
    spl_solid solid = {0};
    spl_model model = {0};
    config.thread_count = q->threads;
    spl_pool *pool = make_pool(q->threads);
    bc.max_tets = q->max_tets;
    spl_train_options o = train_options(scene, q, clips);
    if (supple_body_create(scene, &bc, &config, &body, &error) != SUPPLE_OK ||
        spl_solid_create(&body->body, NULL, &config, pool, &solid, &error) != SUPPLE_OK ||
        spl_train(scene, &solid, &o, &config, pool, &model, NULL, &error) != SUPPLE_OK ||
        spl_model_save(&model, path, &config, &error) != SUPPLE_OK)
        stop(&error);
    spl_model_release(&model);
    spl_solid_release(&solid);
    spl_pool_destroy(pool);
    supple_body_destroy(body);
}

/* From the folder, or made and kept there; the size of its file. */
static inline supple_model *find_model(const model_request *q, double *megabytes)
{
    char path[1024];
    supple_model *model = NULL;
    supple_error error = {0};
    snprintf(path, sizeof path, "%s/hero-%d-%d-%d%s.supple", q->folder, (int)q->max_tets, (int)q->domains, (int)q->rank,
             q->poses ? "-solved" : "");
    if (supple_model_load(path, NULL, &model, NULL) != SUPPLE_OK) {
        make_model(q, path);
        if (supple_model_load(path, NULL, &model, &error) != SUPPLE_OK) stop(&error);
    }
    FILE *file = fopen(path, "rb");
    *megabytes = file && fseek(file, 0, SEEK_END) == 0 ? (double)ftell(file) / 1e6 : 0;
    if (file) fclose(file);
    return model;
}

/* ---- poses to play ---- */

/* The model's joint matrices at equal times of a clip, 16 floats a joint. */
typedef struct motion {
    int32_t joints, frames;
    double dt;
    float *matrices;
} motion;

static inline motion load_motion(const supple_model *model, const char *clip_name, double rate, int32_t frames)
{
    supple_error error = {0};
    supple_scene *scene = load_hero();
    int32_t clip = supple_scene_clip_find(scene, clip_name), all = supple_scene_joint_count(scene);
    double end = supple_scene_clip_duration(scene, clip);
    motion m = {supple_model_joint_count(model), frames, 1 / rate, NULL};
    float *pose = calloc((size_t)all, 16 * sizeof *pose);
    m.matrices = calloc((size_t)m.joints * (size_t)frames, 16 * sizeof *pose);
    if (!pose || !m.matrices) exit(6);
    for (int32_t k = 0; k < frames; k++) {
        double time = fmod(k * m.dt, 2 * end); /* to and fro */
        if (supple_scene_pose(scene, clip, time > end ? 2 * end - time : time, pose, all, &error) != SUPPLE_OK)
            stop(&error);
        for (int32_t j = 0; j < m.joints; j++)
            for (int32_t s = 0; s < all; s++)
                if (strcmp(supple_model_joint_name(model, j), supple_scene_joint_name(scene, s)) == 0)
                    memcpy(m.matrices + 16 * ((size_t)k * (size_t)m.joints + (size_t)j), pose + 16 * s, 64);
    }
    free(pose);
    return m;
}

static inline const float *frame_of(const motion *m, int32_t k)
{
    return m->matrices + 16 * (size_t)m->joints * (size_t)(k % m->frames);
}

#endif
