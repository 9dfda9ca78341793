/* Trust: how much of what flesh does is shown, from 0 (the file's own skinning) to 1 (all of it), by point of the mesh.
 *
 * What is shown is own + a (flesh - own). Frames that were seen lower a's bound where they are worse than the file's
 * own skinning: an edge that flesh stretches beyond K times the longer of its rest and own length L allows
 *
 *     a <= (K L - |own|) / (|flesh| - |own|),
 *
 * since the length is convex in a; pieces that are lost, cracks, folds, far vertices and jumps likewise, by the share
 * that would be allowed. Trust is then the largest field below these bounds with
 *
 *     |a_i - a_j| max(reach_i, reach_j) <= l_ij / 2
 *
 * on every link (mesh.h), where reach is the farthest that flesh was from own: it never tears by itself. One Dijkstra
 * from the points that are bounded finds it. It is constant over the frames that were seen, so it cannot pop. */
#ifndef SPL_TRUST_TRUST_H
#define SPL_TRUST_TRUST_H

#include "trust/harm.h"

typedef struct spl_trust {
    supple_allocator allocator;
    const spl_trust_mesh *mesh;
    float *seed;  /* by point: the bound by what was seen */
    float *reach; /* by point: world units */
    float *value; /* by point: the field */
    int32_t *heap, *slot;
    int32_t heap_count;
    bool lowered; /* since spl_trust_settle */
} spl_trust;

supple_result spl_trust_make(const spl_trust_mesh *mesh, const supple_allocator *a, spl_trust *out,
                             supple_error *error);
void spl_trust_release(spl_trust *t);

/* Full trust, nothing seen. */
void spl_trust_reset(spl_trust *t);

/* What was seen before: bounds and reach by point. */
void spl_trust_start(spl_trust *t, const float *seed, const float *reach);

/* What a frame is seen with. */
typedef struct spl_trust_frame {
    const float *own, *flesh;  /* 3 x vertices, world space */
    const float *shown;        /* own + value (flesh - own), */
    const spl_harm_room *harm; /* which was measured of it */
    double share;              /* of what would be allowed: below 1 where a frame was seen before and still is worse */
    bool may_be_far;           /* vertices may be far from own skinning: flesh swings, or a pose is extreme; */
    bool may_be_lost;          /* and pieces */
} spl_trust_frame;

/* Lowers the bounds where what is shown is worse than own skinning. */
void spl_trust_see(spl_trust *t, const spl_trust_frame *frame);

/* The same by jumps: what would be allowed of each vertex (pops.h). */
void spl_trust_see_pops(spl_trust *t, const float *ratio, double share);

/* Makes the field, if a bound was lowered. */
void spl_trust_settle(spl_trust *t);

/* The largest field below `bound` (by point, changed in place) that tears nothing. */
void spl_trust_spread(spl_trust *t, float *bound);

/* own + amount (flesh - own) of every vertex, into `out`, which may be `flesh`: flesh's bits where amount (by point) is
 * 1, own's where it is 0. */
void spl_trust_blend(const spl_trust_mesh *mesh, const float *amount, const float *own, const float *flesh, float *out);

#endif
