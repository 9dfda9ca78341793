/* How frames move: velocities and accelerations of poses at equal times, and a C2 spline along a clip's poses.
 *
 * Central differences, not the integrator's own update: trapezoidal Newmark as a differentiator has the double
 * eigenvalue -1 and its errors grow. Rotations are differenced as logarithms of relative rotations, so neither the sign
 * of a quaternion nor a half turn matters. What t does is differenced at a point of the domain, `pivot` (rest shape):
 * the rest shape's origin may be far away and its motion mostly that of the rotation. */
#ifndef SPL_SUBSPACE_MOTION_H
#define SPL_SUBSPACE_MOTION_H

#include "math/quat.h"
#include "subspace/player.h"

/* x = R X + t at one moment. */
typedef struct spl_frame {
    spl_mat3 R;
    spl_vec3 t;
} spl_frame;

/* At `now`, from the poses dt before and after: errors of dt^2. */
spl_frame_motion spl_motion_central(const spl_frame *before, const spl_frame *now, const spl_frame *after, double dt,
                                    spl_vec3 pivot);

/* At `now`, where the next pose is not known: from those before it, the nearest first; 2 give velocities with errors of
 * dt^2 and accelerations with errors of dt, 1 gives velocities alone, 0 rest. */
spl_frame_motion spl_motion_backward(const spl_frame *before, int32_t count, const spl_frame *now, double dt,
                                     spl_vec3 pivot);

/* A frame that does not move. */
spl_frame_motion spl_motion_still(const spl_frame *now);

/* The rotation vector of R, of length at most pi. */
spl_vec3 spl_rotation_log(const spl_mat3 *R);

/* ---- clips --------------------------------------------------------------------------------------------------------
 */

/* A cubic spline near frames at equal times, C2: positions of a pivot and components of quaternions, which are
 * normalised where they are read. What swings faster than the cutoff is smoothed away, since it is noise: a tenth of a
 * millimetre at 60 Hz is 14 m/s^2. Its ends are natural: no acceleration. So are the ends of its pieces: between them
 * the frames jump, which is no motion. */
typedef struct spl_track {
    supple_allocator allocator;
    int32_t count;
    double dt;
    spl_vec3 pivot;
    const int32_t *piece; /* 2 x count, borrowed: first and last frame of the piece that a frame is in; NULL: all one */
    double *value;        /* 7 x count: place of the pivot, quaternion */
    double *bend;         /* 7 x count: second derivatives times dt^2 */
} spl_track;

/* cutoff: 1/s, at which half is left; 0: the spline goes through the frames. */
supple_result spl_track_create(const spl_frame *frame, int32_t count, double dt, double cutoff, spl_vec3 pivot,
                               const int32_t *piece, const supple_allocator *a, spl_track *out, supple_error *error);
void spl_track_release(spl_track *t);

/* The frame at a time from 0 to (count - 1) dt; before and after it stands still. */
spl_frame spl_track_at(const spl_track *t, double time);

/* The pieces of `count` frames, cut[k] saying that they jump between k and k + 1. */
void spl_track_pieces(const bool *cut, int32_t count, int32_t *piece);

/* Whether frames jump in a stretch of time; one that ends where a jump begins has none. */
bool spl_track_jumps(const spl_track *t, double from, double to);

/* The frame `offset` after a time, as the piece that the time is in goes on: straight ahead where frames jump. */
spl_frame spl_track_near(const spl_track *t, double time, double offset);

/* The same of a clip that is a cycle: what lies before its start and behind its end is the other end of it, taken along
 * as the root moves in one cycle. */
spl_frame spl_track_cycle_at(const spl_track *t, const spl_track *root, double time);

/* Central differences of the spline with a step `h`. */
spl_frame_motion spl_track_motion(const spl_track *t, double time, double h);

#endif
