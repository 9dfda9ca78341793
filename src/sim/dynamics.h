/* Dynamics: which steps of fixed length a frame needs, and in which poses.
 *
 * Steps fall on a grid of the clip's time that begins at its first frame, so that frame rates that share a grid (24, 30
 * and 60 a second share 1/120 s) share every state. A clip's frame between two states is interpolated. A host's poses
 * are known up to now only: the state of the last step that is due is carried along with the bones to now. */
#ifndef SPL_SIM_DYNAMICS_H
#define SPL_SIM_DYNAMICS_H

#include "sim/flesh.h"

typedef struct spl_dynamics {
    bool on;
    double h;       /* length of a step, seconds */
    double preroll; /* seconds */
    bool loop;
    /* the state */
    bool running;        /* there is one */
    int32_t clip;        /* whose it is; SPL_DYNAMICS_HOST for poses of the host */
    double origin, step; /* of the grid, in the clip's time; a step is h but for a cycle that h does not divide */
    int64_t index;       /* the steps made: x is the state at origin + index * step */
    double time;         /* of the last frame; of a host: since the first */
    double *before;      /* 3 x body vertices: the state one step earlier */
    double *shown;       /* 3 x body vertices: the frame's, if no state falls on it; else the cycle's first */
    float *last, *blend; /* 16 x joints: the host's last pose, and one on the way to the next */
} spl_dynamics;

enum { SPL_DYNAMICS_HOST = -2 };

supple_result spl_dynamics_create(const supple_sim_config *sc, const supple_scene *scene, const spl_body *body,
                                  const supple_allocator *a, spl_dynamics *out, supple_error *error);
void spl_dynamics_release(spl_dynamics *d, const supple_allocator *a);

/* A frame of a clip, from wherever the last one was: it starts anew after another clip, backwards in time, and after
 * a jump of more than a second. The same time again leaves the state. */
supple_result spl_dynamics_clip(supple_sim *sim, int32_t clip, double time, supple_stats *stats, supple_error *error);

/* A frame of the host's, dt seconds after the last one. */
supple_result spl_dynamics_pose(supple_sim *sim, const float *matrices, double dt, supple_stats *stats,
                                supple_error *error);

#endif
