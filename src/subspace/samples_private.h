/* Inside of solving training poses: samples.c has the poses and their files, samples_pose.c solves one, samples_queue.c
 * hands them out to threads, samples_shared.c among processes that share a folder (claims.h), samples_exchange.c among
 * processes that send each other messages. */
#ifndef SPL_SUBSPACE_SAMPLES_PRIVATE_H
#define SPL_SUBSPACE_SAMPLES_PRIVATE_H

#include "body/pins.h"
#include "core/memory.h"
#include "statics/statics.h"
#include "subspace/claims.h"
#include "subspace/relax.h"
#include "subspace/samples.h"

#include <stdatomic.h>

/* ---- samples.c ---- */

static inline spl_joint_move *spl_sample_moves(const spl_samples *s, int32_t i)
{
    return s->move + (size_t)i * (size_t)s->joint_count;
}

static inline float *spl_sample_x(const spl_samples *s, int32_t i)
{
    return s->x + 3 * (size_t)i * (size_t)s->vertex_count;
}

/* A pose that an earlier run or another process has solved, or given up. What does not belong to this training, or is
 * damaged, stays open. */
void spl_sample_find(spl_samples *s, int32_t i);

/* Writes a solved pose, with its residual in s, to its file. */
supple_result spl_sample_keep(const spl_samples *s, int32_t i, const float *x, supple_error *error);

/* The file `training` of a folder says what its poses belong to. It is made where it is missing and `make` is true; one
 * of another training, or of a program with other bits, is refused. */
supple_result spl_samples_sign(spl_samples *s, bool make, supple_error *error);

/* What the poses depend on. */
spl_key spl_samples_key(const spl_samples *s);

/* What else decides about the last bits of a pose: programs that differ in it do not train together. Its length. */
enum { SPL_SAMPLES_MAKER = 96 };
size_t spl_samples_maker(const spl_samples *s, char text[SPL_SAMPLES_MAKER]);

/* ---- samples_pose.c ---- */

/* One thread's tools. */
typedef struct spl_pose_tools {
    spl_solid solid; /* the shared one with a drive of its own */
    spl_pose pose;
    spl_pose_past past;
    spl_pins pins; /* springs of pieces that no bone holds */
    spl_statics *statics;
    spl_relax *relax; /* where poses are skinned and relaxed */
    double *x;
    float *rounded;       /* 3 x vertices: what is kept */
    spl_joint_move *move; /* joint_count: on the way */
    bool busy;
} spl_pose_tools;

supple_result spl_pose_tools_make(spl_pose_tools *w, const spl_samples *s, const supple_scene *scene,
                                  const spl_solid *solid, supple_error *error);
void spl_pose_tools_release(spl_pose_tools *w, const supple_allocator *a);

/* Solves pose i from the solution of `from`, which is in w->x, or from rest (-1). *good: it converged, and is in
 * w->rounded, which is zero where not. */
supple_result spl_pose_solve(const spl_samples *s, const supple_scene *scene, spl_pose_tools *w, int32_t i,
                             int32_t from, bool *good, double *residual, supple_error *error);

/* ---- samples_queue.c ---- */

typedef struct spl_pose_queue {
    spl_samples *s;
    const supple_scene *scene;
    const supple_config *config;
    spl_pose_tools *tools;
    int32_t tools_count;
    bool *taken;     /* by pose: under way or done */
    int32_t *height; /* by pose: of the longest chain of poses that wait for it, itself included; more for the first */
    int32_t under_way;
    pthread_mutex_t lock; /* of the tools, of what is taken, of the poses' states and of the claims */
    pthread_cond_t freed; /* tools, or poses whose parent is done */
    pthread_t caller;
    atomic_int stop, done;
    int32_t total, here, taken_over; /* open at the start; solved by this process; of them after another had died */
    double busy_ms;                  /* of all threads: in poses */
    supple_result result;            /* the first failure */
    supple_error error;
    spl_claims claims; /* where the folder is shared */
    double pause_ms;   /* until it is looked at again */
    double looked;     /* when it was, ms */
    bool gone;         /* it was removed */
    bool said;         /* that we wait */
} spl_pose_queue;

/* Remembers the first failure, and stops. */
void spl_queue_fail(spl_pose_queue *q, supple_result result, const supple_error *error);

/* Of the poses that are open and whose parent is done, one of the first eight, then that for which the longest chain
 * waits: so that at the end many have something to do; -1: there is none. */
int32_t spl_queue_ready(const spl_pose_queue *q);

/* The nearest one before pose i that was solved; -1: rest. */
int32_t spl_sample_start(const spl_samples *s, int32_t i);

/* Says what a pose came to, after its file is written, and gives it back. */
void spl_queue_settle(spl_pose_queue *q, int32_t i, bool good, double residual);

/* ---- samples_shared.c ---- */

/* Takes a pose that no other process holds; -1: there is none now, and *wait says whether one may come. The queue is
 * locked. */
int32_t spl_shared_take(spl_pose_queue *q, bool *wait);

/* Reads all that other processes solved; what turns out to be damaged is open again: *open. */
void spl_shared_read_all(spl_pose_queue *q, bool *open);

/* ---- samples_exchange.c ---- */

/* Rank 0 hands out poses to the others until there are none: a thread beside those that solve. */
typedef struct spl_dealer spl_dealer;
supple_result spl_dealer_start(spl_pose_queue *q, spl_dealer **out, supple_error *error);
void spl_dealer_end(spl_dealer *d); /* waits for it; accepts NULL */

/* Solves what rank 0 sends until it says that there is no more. */
supple_result spl_exchange_solve(spl_pose_queue *q, spl_pose_tools *w, supple_error *error);

#endif
