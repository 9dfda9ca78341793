/* Self-crossing: how far the visual mesh of a frame passes through itself, whatever moved it. From triangles and
 * positions alone: it knows nothing of bodies, methods or contacts, and shares no code with how contacts are found.
 *
 * Vertices that are at one place in the rest shape, which is the file's bind pose (rounded to 1e-5 of its diagonal) are
 * one. What is measured in a frame:
 *
 *   crossed  pairs of triangles that pass through each other, share no vertex, and did not cross in the rest shape.
 *   inside   the corners of such triangles, and from there on their neighbours, while the deformed mesh surrounds them:
 *            the winding number 0.2 mm above the vertex, along its normal, is one half or more. Vertices that are
 *            inside in the rest shape do not count.
 *   depth    of an inside vertex: the distance from that point to the nearest sheet that it could come out of. A
 *            triangle is such a sheet if the way to its nearest point leaves through its front, and it is far along the
 *            surface: the way over the edges of the rest shape is above 10 cm, or above 2.5 times the distance. A
 *            sheet farther off than the vertex's way in (over the edges of the frame, by inside vertices, to the
 *            nearest point where triangles cross) is none; a vertex without a sheet has no depth.
 *   fold     the same, of vertices whose sheet is less than 10 cm away over the edges of the rest shape: a crease that
 *            has gone into itself, as against two parts that have gone into each other.
 *
 * Lengths are metres of the solver. Two edges may cross with no vertex inside: that is a pair, and no depth. */
#ifndef SPL_TRUST_CROSS_H
#define SPL_TRUST_CROSS_H

#include "core/threads.h"

#include <supple/base.h>

#define SPL_CROSS_WELD 1e-5 /* of the diagonal */
#define SPL_CROSS_LIFT 2e-4 /* metres: where a vertex is asked whether it is inside */
#define SPL_CROSS_FAR  0.1  /* metres along the surface: other parts */
#define SPL_CROSS_WAY  2.5  /* times the distance: far along the surface, too */

typedef struct spl_crossings spl_crossings;

typedef struct spl_cross_input {
    int32_t vertex_count, triangle_count;
    const int32_t *triangle; /* 3 a triangle */
    const bool *mirrored;    /* by triangle: frames have it turned inside out; NULL: none */
    const float *rest;       /* 3 a vertex: the rest shape, in any unit */
    const float *posed;      /* 3 a vertex: some frame that is not stretched, which tells that unit */
    double metre;            /* metres a unit of frames */
} spl_cross_input;

/* What a frame has. */
typedef struct spl_crossing {
    int32_t crossed;    /* pairs */
    double depth, fold; /* metres: the deepest; 0: none is inside */
    double other;       /* the depth of vertices that do not count for these */
} spl_crossing;

/* Copies what it needs. The only failure is SUPPLE_ERROR_MEMORY; *out is then NULL. */
supple_result spl_cross_create(const spl_cross_input *in, const supple_allocator *a, spl_pool *pool,
                               spl_crossings **out, supple_error *error);
void spl_cross_destroy(spl_crossings *c); /* accepts NULL */

/* Measures a frame of finite positions, 3 floats a vertex. `counts`: by vertex, of those that are at one place the
 * first; NULL: all count. The same bits at any number of threads. The only failure is SUPPLE_ERROR_MEMORY. */
supple_result spl_cross_measure(spl_crossings *c, const float *posed, const bool *counts, spl_pool *pool,
                                spl_crossing *out, supple_error *error);

#endif
