/* Training poses and their quasistatic solutions (multi-domain paper, section 5.1).
 *
 * Every pose is solved by continuing from another one that is solved already, or from rest: the nearest by the joints'
 * angles among those before it in the list, so that the result does not depend on which thread was first. A solved
 * pose is kept in a file at once; a run that was killed finds it there. Where there are files nothing else keeps it. */
#ifndef SPL_SUBSPACE_SAMPLES_H
#define SPL_SUBSPACE_SAMPLES_H

#include "body/solid.h"
#include "core/digest.h"
#include "core/threads.h"
#include "fem/law.h"
#include "rig/turns.h"

#include <supple/plugin.h>

typedef enum spl_sample_state { SPL_SAMPLE_OPEN, SPL_SAMPLE_SOLVED, SPL_SAMPLE_FAILED } spl_sample_state;

typedef struct spl_sample_options {
    const spl_law *law;
    double tolerance;       /* on the residual, 1e-4 */
    int32_t max_iterations; /* Newton steps of one continuation step, 75 */
    const char *folder;     /* for files of solved poses; NULL: none are kept. It is made where missing */
    bool skinned;           /* the bones' weights pose the body; nothing is solved and nothing kept */
    int32_t relax;          /* skinned: steps towards the solution from there (relax.h) */
    int32_t share, shares;  /* other processes solve poses in the same folder (claims.h), of shares this one begins with
                             * the share-th; 0: none do */
    double lease;           /* seconds after which a process that gave no sign is dead */
    bool part;              /* ends when there is nothing left to begin, although others may not be done */
    const supple_exchange *exchange; /* or they get poses from rank 0, which keeps them; NULL: no others */
} spl_sample_options;

typedef struct spl_samples {
    supple_allocator allocator;
    int32_t joint_count, count, vertex_count;
    const int32_t *node;  /* by joint; borrowed */
    spl_joint_move *move; /* count x joint_count */
    double *far;          /* by joint: a shift that counts as a radian, in its parent's unit */
    int32_t *parent;      /* by pose: where its solution starts, -1 for rest; always lower */
    spl_sample_state *state;
    float *x; /* count x (3 x vertex_count): the solver's space, in the pose's own place; NULL: they are in files */
    double *residual;           /* by pose */
    int32_t found;              /* came from files */
    int32_t dropped;            /* did not converge */
    spl_sample_options options; /* what they were solved with: where files are, and what they are called */
    spl_key character;
    const supple_config *config;
} spl_samples;

/* Takes the poses (moves are copied). */
supple_result spl_samples_create(const supple_scene *scene, const int32_t *node, int32_t joint_count,
                                 const spl_joint_move *move, int32_t count, const spl_solid *solid, spl_samples *out,
                                 supple_error *error);
void spl_samples_release(spl_samples *s);

/* Solves what is open, alone or as one of several processes. Poses that do not converge are dropped with a warning;
 * SUPPLE_ERROR_SOLVE, as soon as it is known, where none of the first eight does; SUPPLE_ERROR_CANCELLED if the host
 * stops it, with what was solved kept in files. The options' folder and law, and the config, must outlive the samples.
 */
supple_result spl_samples_solve(spl_samples *s, const supple_scene *scene, const spl_solid *solid,
                                const spl_sample_options *options, const supple_config *config, spl_pool *pool,
                                supple_error *error);

/* The error of `count` poses of which none converged: it names a joint. */
supple_result spl_samples_refuse(const spl_samples *s, const supple_scene *scene, int32_t count, supple_error *error);

/* Where a solved pose has the vertices, 3 x vertex_count: from memory, or from its file. */
supple_result spl_samples_read(const spl_samples *s, int32_t i, double *x, supple_error *error);

/* What a solved body belongs to: rest shape, tets, what bones hold, materials. */
spl_key spl_character_key(const spl_solid *solid);

#endif
