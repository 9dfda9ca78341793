/* Pops: vertices that jump from frame to frame against the file's own skinning, by half the second difference of what
 * was added to it. Frames come in order; each is judged when the two after it are there. */
#ifndef SPL_TRUST_POPS_H
#define SPL_TRUST_POPS_H

#include "core/threads.h"
#include "trust/mesh.h"

#define SPL_POPS_BOUND 0.02 /* share of the vertices that may jump in a frame */

enum { SPL_POPS_FRAMES = 5 };

typedef struct spl_pops {
    supple_allocator allocator;
    const spl_trust_mesh *mesh;
    float *own[SPL_POPS_FRAMES], *added[SPL_POPS_FRAMES]; /* 3 x vertices: of the last frames, a ring */
    float *ratio; /* by vertex: of its jump in the frame judged last, what would be allowed; 1 where it does not jump */
    double still; /* of the diagonal: smaller jumps are none */
    int32_t frames; /* so far */
} spl_pops;

supple_result spl_pops_make(const spl_trust_mesh *mesh, const supple_allocator *a, spl_pops *out, supple_error *error);
void spl_pops_release(spl_pops *p);

/* Frames a second (30): below that, what moves evenly jumps farther from frame to frame, by the square of the rate. */
void spl_pops_set_rate(spl_pops *p, double fps);

/* Forgets all frames. */
void spl_pops_reset(spl_pops *p);

/* Takes the next frame and judges the one two before it; returns the share of vertices that jump there. */
double spl_pops_push(spl_pops *p, const float *own, const float *shown, spl_pool *pool);

/* Judges the last frame but one, after all were taken. */
double spl_pops_finish(spl_pops *p, spl_pool *pool);

#endif
