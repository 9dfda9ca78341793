/* Flesh in a game's loop: several characters, each in a thread of its own, each moved by poses that the program makes.
 *
 *     realtime [FILE.glb | demo:NAME] [CHARACTERS] [FRAMES]
 *
 * All share one scene and one body, which are constant. Each has a simulation with dynamics, is given a pose 60 times a
 * second, and writes positions and normals into its own interleaved vertex buffer, as one for a graphics card would be.
 * Poses are the program's own business; here they are a table of the file's first clip, played to and fro with a hop.
 * Nothing is allocated once the loops run: the program counts. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <supple/supple.h>
#include <time.h>

enum { MOST_CHARACTERS = 64, POSES = 60 };

typedef struct vertex {
    float position[3], normal[3];
} vertex;

/* What a program knows of a character's motion: the joints' world matrices at POSES moments, 16 floats a joint. */
typedef struct motion {
    int32_t joint_count;
    double duration;
    float *matrices;
} motion;

typedef struct character {
    pthread_t thread;
    const supple_scene *scene;
    const motion *motion;
    supple_sim *sim;
    int32_t index, frame_count;
    float *matrices; /* 16 a joint */
    vertex *buffer;
    double worst_ms, total_ms;
    supple_result result;
    supple_error error;
} character;

/* ---- an allocator that counts ---- */

static atomic_long requests;

static void *count_allocate(void *user, size_t size)
{
    (void)user;
    atomic_fetch_add(&requests, 1);
    return malloc(size);
}
static void *count_reallocate(void *user, void *block, size_t size)
{
    (void)user;
    atomic_fetch_add(&requests, 1);
    return realloc(block, size);
}
static void count_release(void *user, void *block)
{
    (void)user;
    free(block);
}

/* ---- the loop of a character ---- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The program's own pose: between two of the table's, and a hop of the whole character. */
static void make_pose(character *c, double time)
{
    const motion *m = c->motion;
    size_t n = 16 * (size_t)m->joint_count;
    double phase = time + 0.3 * c->index, rate = m->duration > 0 ? 2 / m->duration : 0;
    double at = 0.5 * (POSES - 1) * (1 - cos(rate * phase));
    size_t k = at < POSES - 2 ? (size_t)at : POSES - 2;
    float t = (float)(at - (double)k), hop = (float)(0.05 * fabs(sin(5 * phase)));
    const float *from = m->matrices + k * n, *to = from + n;
    for (size_t i = 0; i < n; i++) c->matrices[i] = from[i] + t * (to[i] - from[i]) + (i % 16 == 13 ? hop : 0);
}

static void *play(void *argument)
{
    character *c = argument;
    for (int32_t frame = 0; frame < c->frame_count && c->result == SUPPLE_OK; frame++) {
        double start = now_ms();
        make_pose(c, frame / 60.0);
        c->result = supple_sim_step_pose_dt(c->sim, c->matrices, c->motion->joint_count, 1 / 60.0, &c->error);
        if (c->result != SUPPLE_OK) break;
        supple_sim_read_positions(c->sim, c->buffer->position, sizeof *c->buffer);
        supple_sim_read_normals(c->sim, c->buffer->normal, sizeof *c->buffer);
        double ms = now_ms() - start;
        c->total_ms += ms;
        if (frame > 0 && ms > c->worst_ms) c->worst_ms = ms; /* the first one finds the equilibrium */
    }
    return NULL;
}

/* ---- the program ---- */

static supple_result make_character(character *c, const supple_scene *scene, const supple_body *body,
                                    const supple_config *config)
{
    supple_sim_config sc = supple_sim_config_default();
    sc.method = "projective";
    sc.body = body;
    sc.dynamics = true;
    c->scene = scene;
    c->matrices = calloc((size_t)supple_scene_joint_count(scene) + 1, 16 * sizeof *c->matrices);
    c->buffer = calloc((size_t)supple_scene_vertex_count(scene) + 1, sizeof *c->buffer);
    if (!c->matrices || !c->buffer) return SUPPLE_ERROR_MEMORY;
    supple_result result = supple_sim_create(scene, &sc, config, &c->sim, &c->error);
    /* The poses to come are not known: a dozen are tried, and flesh is trusted where it bore them. */
    return result == SUPPLE_OK ? supple_sim_rehearse(c->sim, &c->error) : result;
}

/* Runs all threads to their end and tells what they did. */
static supple_result run(character *all, int32_t count)
{
    supple_result result = SUPPLE_OK;
    long before = atomic_load(&requests);
    int32_t started = 0;
    while (started < count && pthread_create(&all[started].thread, NULL, play, &all[started]) == 0) started++;
    for (int32_t i = 0; i < started; i++) pthread_join(all[i].thread, NULL);
    if (started < count) return SUPPLE_ERROR_MEMORY;
    for (int32_t i = 0; i < count; i++) {
        if (all[i].result != SUPPLE_OK) result = all[i].result;
        printf("character %d: %.2f ms a frame, %.2f at worst; vertex 0 at %.4f %.4f %.4f\n", (int)i,
               all[i].total_ms / all[i].frame_count, all[i].worst_ms, (double)all[i].buffer->position[0],
               (double)all[i].buffer->position[1], (double)all[i].buffer->position[2]);
    }
    printf("allocations in the loops: %ld\n", atomic_load(&requests) - before);
    return result;
}

static supple_result make_motion(const supple_scene *scene, motion *m, supple_error *error)
{
    int32_t clip = supple_scene_clip_count(scene) > 0 ? 0 : -1;
    m->joint_count = supple_scene_joint_count(scene);
    m->duration = supple_scene_clip_duration(scene, clip);
    m->matrices = calloc((size_t)m->joint_count * POSES + 1, 16 * sizeof *m->matrices);
    supple_result result = m->matrices ? SUPPLE_OK : SUPPLE_ERROR_MEMORY;
    for (int32_t k = 0; k < POSES && result == SUPPLE_OK; k++)
        result = supple_scene_pose(scene, clip, m->duration * k / (POSES - 1),
                                   m->matrices + 16 * (size_t)m->joint_count * (size_t)k, m->joint_count, error);
    return result;
}

static supple_result prepare(const char *path, const supple_config *config, supple_scene **scene, supple_body **body,
                             motion *m, supple_error *error)
{
    supple_result result = supple_scene_load_file(path, config, scene, error);
    if (result == SUPPLE_OK) result = make_motion(*scene, m, error);
    supple_body_config bc = supple_body_config_default();
    bc.max_tets = 12000; /* a frame's time goes with it; the visual mesh keeps its detail */
    return result == SUPPLE_OK ? supple_body_create(*scene, &bc, config, body, error) : result;
}

int main(int argc, char **argv)
{
    static character all[MOST_CHARACTERS];
    int32_t count = argc > 2 ? atoi(argv[2]) : 2, frames = argc > 3 ? atoi(argv[3]) : 120, made = 0;
    supple_scene *scene = NULL;
    supple_body *body = NULL;
    motion table = {0};
    supple_error error = {0};
    supple_config config = supple_config_default();
    config.allocator = (supple_allocator){count_allocate, count_reallocate, count_release, NULL};
    config.thread_count = 1; /* a thread a character; one character alone would take all cores */
    if (count < 1 || count > MOST_CHARACTERS || frames < 1) {
        fprintf(stderr, "usage: realtime [FILE.glb | demo:NAME] [CHARACTERS] [FRAMES]\n");
        return 2;
    }
    if (count == 1) config.thread_count = 0;
    supple_result result = prepare(argc > 1 ? argv[1] : "demo:sack", &config, &scene, &body, &table, &error);
    for (; made < count && result == SUPPLE_OK; made++) {
        all[made].index = made;
        all[made].motion = &table;
        all[made].frame_count = frames;
        result = make_character(&all[made], scene, body, &config);
        if (result != SUPPLE_OK) error = all[made].error;
    }
    if (result == SUPPLE_OK) result = run(all, count);
    if (result != SUPPLE_OK) fprintf(stderr, "realtime: %s: %s\n", supple_result_name(result), error.message);
    for (int32_t i = 0; i < made; i++) {
        supple_sim_destroy(all[i].sim);
        free(all[i].matrices);
        free(all[i].buffer);
    }
    free(table.matrices);
    supple_body_destroy(body);
    supple_scene_destroy(scene);
    return (int)result;
}
