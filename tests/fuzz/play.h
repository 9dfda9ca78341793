/* A model read from any bytes, and played in good poses and odd ones. Shared by the fuzzer and by the test that replays
 * its corpus. */
#ifndef SPL_TESTS_FUZZ_PLAY_H
#define SPL_TESTS_FUZZ_PLAY_H

#include "require.h"

#include <supple/model.h>

#include <malloc.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { PLAY_MOST_JOINTS = 4096 };

/* ---- memory: what a file of so many bytes may make a host allocate ---- */

typedef struct play_memory {
    size_t live, most;
} play_memory;

static inline void play_count(play_memory *m, void *block)
{
    m->live += malloc_usable_size(block);
    FUZZ_REQUIRE(m->live <= m->most);
}

static inline void *play_allocate(void *user, size_t size)
{
    play_memory *m = user;
    FUZZ_REQUIRE(size <= m->most); /* before the pages are asked for */
    void *block = malloc(size);
    if (block) play_count(m, block);
    return block;
}

static inline void *play_reallocate(void *user, void *block, size_t size)
{
    play_memory *m = user;
    size_t before = block ? malloc_usable_size(block) : 0;
    FUZZ_REQUIRE(size <= m->most);
    void *moved = realloc(block, size);
    if (!moved) return NULL;
    m->live -= before;
    play_count(m, moved);
    return moved;
}

static inline void play_release(void *user, void *block)
{
    play_memory *m = user;
    if (block) m->live -= malloc_usable_size(block);
    free(block);
}

/* ---- one player ---- */

/* The poses in their order; each is the rest pose with something done to the matrices. */
typedef enum play_pose {
    PLAY_REST,
    PLAY_TURNED,   /* the last joint, by a third of a turn */
    PLAY_FAR,      /* all, by a million units */
    PLAY_NOTHING,  /* the last joint scaled to nothing */
    PLAY_MIRRORED, /* all */
    PLAY_SHEARED,  /* the last joint: two axes are one */
    PLAY_HUGE,     /* numbers that are finite as floats alone */
    PLAY_NO_NUMBER,
    PLAY_POSES
} play_pose;

static inline void play_set(const supple_model *model, play_pose pose, float *m)
{
    int32_t n = supple_model_joint_count(model);
    float *last = m + 16 * (n - 1);
    for (int32_t j = 0; j < n; j++) supple_model_joint_rest(model, j, m + 16 * j);
    switch (pose) {
    case PLAY_TURNED:
        for (int i = 0; i < 3; i++) {
            float x = last[i], y = last[4 + i];
            last[i] = -0.5f * x + 0.8660254f * y;
            last[4 + i] = -0.8660254f * x - 0.5f * y;
        }
        break;
    case PLAY_FAR:
        for (int32_t j = 0; j < n; j++) m[16 * j + 12] += 1e6f;
        break;
    case PLAY_NOTHING:
        memset(last, 0, 12 * sizeof *last);
        break;
    case PLAY_MIRRORED:
        for (int32_t j = 0; j < n; j++)
            for (int i = 0; i < 16; i += 4) m[16 * j + i] = -m[16 * j + i];
        break;
    case PLAY_SHEARED:
        memcpy(last + 4, last, 3 * sizeof *last);
        break;
    case PLAY_HUGE:
        for (int i = 0; i < 15; i++) last[i] = i % 2 ? -3e38f : 3e38f;
        break;
    case PLAY_NO_NUMBER:
        last[5] = NAN;
        break;
    default:
        break;
    }
}

static inline void play_check_finite(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) FUZZ_REQUIRE(isfinite(x[i]));
}

/* A step is good and all that can be read is finite, or it is an error with a reason and what was read last stands. */
static inline void play_step(const supple_model *model, supple_player *p, play_pose pose, double dt, float *matrix,
                             float *room)
{
    int32_t joints = supple_model_joint_count(model);
    size_t n = 3 * (size_t)supple_model_vertex_count(model);
    float *before = room, *now = room + n;
    supple_error error = {0};
    play_set(model, pose, matrix);
    supple_player_read_positions(p, before, 12);
    supple_result result = supple_player_step(p, matrix, joints, dt, &error);
    supple_player_read_positions(p, now, 12);
    play_check_finite(now, n);
    if (result == SUPPLE_OK) {
        const supple_player_stats *s = supple_player_get_stats(p);
        FUZZ_REQUIRE(isfinite(s->residual) && !isnan(s->outside) && s->iterations >= 0);
        supple_player_read_normals(p, now, 12);
        play_check_finite(now, n);
    } else {
        FUZZ_REQUIRE(error.code == result && error.message[0] && !strchr(error.message, '\n'));
        FUZZ_REQUIRE(memcmp(before, now, n * sizeof *now) == 0);
    }
    FUZZ_REQUIRE(result == SUPPLE_OK || result == SUPPLE_ERROR_SOLVE || result == SUPPLE_ERROR_INPUT);
    FUZZ_REQUIRE(result == SUPPLE_OK ? pose != PLAY_NO_NUMBER : true);
}

static inline void play_model(const supple_model *model, bool dynamics, const supple_config *config)
{
    static const double dt[] = {1 / 60.0, 1 / 60.0, 0, 0.5, 1e-9, 1 / 60.0, 1 / 120.0, 1 / 60.0, 2};
    supple_player_config pc = supple_player_config_default();
    supple_player *p;
    supple_error error = {0};
    pc.dynamics = dynamics;
    pc.per_vertex = !dynamics;
    pc.gravity[1] = -9.81;
    pc.iterations = 4; /* enough to meet all of the solver: at the defaults one run takes five times as long */
    pc.start_steps = 2;
    supple_result result = supple_player_create(model, &pc, config, &p, &error);
    FUZZ_REQUIRE((result == SUPPLE_OK) == (p != NULL));
    if (!p) {
        FUZZ_REQUIRE(error.code == result && error.message[0] && !strchr(error.message, '\n'));
        return;
    }
    size_t n = (size_t)supple_model_vertex_count(model), joints = (size_t)supple_model_joint_count(model);
    float *matrix = malloc(16 * joints * sizeof *matrix), *room = malloc(6 * n * sizeof *room);
    FUZZ_REQUIRE(matrix && room);
    for (int k = 0; k < PLAY_POSES; k++) play_step(model, p, (play_pose)k, dt[k], matrix, room);
    play_step(model, p, PLAY_TURNED, dt[PLAY_POSES], matrix, room); /* and it goes on after whatever that was */
    supple_player_reset(p);
    play_step(model, p, PLAY_REST, 1 / 60.0, matrix, room);
    pc.like = p; /* another that reads its tables */
    supple_player *other;
    if (supple_player_create(model, &pc, config, &other, NULL) == SUPPLE_OK) {
        for (size_t k = 0; k < n; k++) room[k] = (float)(k % 3) / 2; /* own skinning, flesh, and between them */
        FUZZ_REQUIRE(supple_player_set_amount(other, room, NULL) == SUPPLE_OK);
        play_step(model, other, PLAY_TURNED, 1 / 60.0, matrix, room);
        play_step(model, other, PLAY_HUGE, 1 / 60.0, matrix, room);
    }
    supple_player_destroy(other);
    free(matrix);
    free(room);
    supple_player_destroy(p);
}

/* ---- the file ---- */

static inline void play_check_model(const supple_model *model)
{
    const supple_model_info *i = supple_model_get_info(model);
    int32_t joints = supple_model_joint_count(model), n = supple_model_vertex_count(model);
    const int32_t *triangle = supple_model_triangles(model);
    const float *trust = supple_model_trust(model);
    FUZZ_REQUIRE(isfinite(i->training_error) && isfinite(i->frequency) && i->law && i->rank >= i->domains);
    FUZZ_REQUIRE(joints > 0 && n > 0);
    for (int32_t j = 0; j < joints && j < PLAY_MOST_JOINTS; j++)
        FUZZ_REQUIRE(supple_model_joint_name(model, j) && supple_model_joint_parent(model, j) < j);
    for (int32_t t = 0; t < 3 * supple_model_triangle_count(model); t++)
        FUZZ_REQUIRE(triangle[t] >= 0 && triangle[t] < n);
    for (int32_t k = 0; k < n; k++) FUZZ_REQUIRE(trust[k] >= 0 && trust[k] <= 1);
}

static inline bool play_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool good = fwrite(data, 1, size, file) == size;
    return fclose(file) == 0 && good;
}

/* What was read can be written and read again. */
static inline void play_save(const supple_model *model, const char *path, const supple_config *config)
{
    supple_model *back;
    FUZZ_REQUIRE(supple_model_save(model, path, config, NULL) == SUPPLE_OK);
    FUZZ_REQUIRE(supple_model_load(path, config, &back, NULL) == SUPPLE_OK);
    FUZZ_REQUIRE(supple_model_get_info(back)->rank == supple_model_get_info(model)->rank);
    FUZZ_REQUIRE(supple_model_get_info(back)->cubature == supple_model_get_info(model)->cubature);
    supple_model_destroy(back);
    unlink(path);
}

/* Whether the bytes are a model. `path` is in the folder of the run. */
static inline bool play_exercise(const char *path, const uint8_t *data, size_t size)
{
    play_memory memory = {0, ((size_t)16 << 20) + 256 * size};
    supple_config config = supple_config_default();
    supple_model *model;
    supple_error error = {0};
    config.thread_count = 1;
    config.allocator = (supple_allocator){play_allocate, play_reallocate, play_release, &memory};
    FUZZ_REQUIRE(play_write(path, data, size));
    supple_result result = supple_model_load(path, &config, &model, &error);
    unlink(path);
    FUZZ_REQUIRE((result == SUPPLE_OK) == (model != NULL));
    if (!model) {
        FUZZ_REQUIRE(result == SUPPLE_ERROR_INPUT && error.code == result && error.message[0] &&
                     !strchr(error.message, '\n'));
        FUZZ_REQUIRE(memory.live == 0);
        return false;
    }
    play_check_model(model);
    if (data[size - 1] % 16 == 0) play_save(model, path, &config); /* of a checksum; a file takes its time to disk */
    if (supple_model_joint_count(model) <= PLAY_MOST_JOINTS) {
        play_model(model, true, &config);
        play_model(model, false, &config);
    }
    supple_model_destroy(model);
    FUZZ_REQUIRE(memory.live == 0);
    return true;
}

#endif
