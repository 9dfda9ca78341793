/* Harm: what of a frame is worse than the file's own skinning of the same pose. From positions alone: it knows nothing
 * of bodies, methods or contacts. */
#ifndef SPL_TRUST_HARM_H
#define SPL_TRUST_HARM_H

#include "core/threads.h"
#include "trust/mesh.h"

#include <supple/sim.h>

/* What a frame may not exceed, and what is worse by so little that it does not count. */
enum { SPL_HARM_TORN = 3, SPL_HARM_STRETCHED = 2 }; /* times the longer of rest and own length */
#define SPL_HARM_TORN_LENGTH      0.01              /* of the diagonal: shorter edges are not torn */
#define SPL_HARM_STRETCHED_LENGTH 0.004             /* nor stretched */
extern const supple_harm spl_harm_bounds;

typedef struct spl_harm_sums {
    int32_t torn, stretched;
    double own_strain, shown_strain;
} spl_harm_sums;

typedef struct spl_harm_room {
    supple_allocator allocator;
    const spl_trust_mesh *mesh;
    float *normal;       /* 3 x triangles: of the frame, twice the area long */
    bool *folded;        /* by triangle */
    double *point_sum;   /* 3 x points: of copies */
    int32_t *copies;     /* by point */
    double *piece_sum;   /* 3 x pieces */
    int32_t *piece_part; /* by piece: of its first vertex */
    spl_harm_sums *sums; /* one a stretch of edges */
    supple_harm *part;   /* by part: of the last frame measured */
    supple_harm all;     /* of the last frame */
} spl_harm_room;

supple_result spl_harm_room_make(const spl_trust_mesh *mesh, const supple_allocator *a, spl_harm_room *out,
                                 supple_error *error);
void spl_harm_room_release(spl_harm_room *r);

/* Measures a frame: positions (3 floats a vertex, world space) that are shown, and those of the file's own skinning.
 * Fills `all` and `part`; what is folded is marked in `folded`, pieces' sums of what was added in `piece_sum`. The same
 * bits at any number of threads. */
void spl_harm_measure(spl_harm_room *r, const float *own, const float *shown, spl_pool *pool);

#endif
