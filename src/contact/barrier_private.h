/* What the files of the barrier share: barrier_create.c makes it, barrier.c is its energy and steps, barrier_bones.c
 * releases pairs of bones. */
#ifndef SPL_CONTACT_BARRIER_PRIVATE_H
#define SPL_CONTACT_BARRIER_PRIVATE_H

#include "contact/barrier.h"
#include "geom/pairs.h"

struct spl_barrier {
    supple_allocator allocator;
    spl_barrier_surface surface;
    spl_primitives primitives;
    spl_barrier_options options;
    spl_pool *pool;
    bool *released;     /* bones x bones, symmetric */
    double *ease;       /* the same: of offsets, 0 to 1 */
    bool *overlapping;  /* by vertex: of primitives that cross at rest */
    int32_t overlaps;   /* vertices of these */
    const bool *exempt; /* by vertex: may cross each other too; borrowed, or NULL */
    double edge_mean;   /* of the surface at rest, metres */
    bool inverse;       /* pairs are asked for of released bones alone */
    spl_pairs *pairs;
    double *at;   /* 3 x vertices: where the forces were asked for last */
    double *step; /* 3 x vertices */

    /* candidates: what may come near on the way under way */
    int32_t count, room;
    spl_potential *potential; /* width 0: never */
    double *energy;           /* by candidate */
    double *gradient;         /* 12 by candidate; only of those on which the barrier acts */

    /* those on which it acts, at the x of the last energy */
    int32_t active_count, active_room;
    int32_t *active;        /* candidates */
    int32_t *element;       /* 4 each: vertices */
    double *element_values; /* 90 each */
    double gap;
    spl_extra extra;
};

enum { SPL_BARRIER_GRAIN = 256 };

/* Corners of a pair at x: positions of all vertices. */
static inline void spl_barrier_corners(const spl_pair *pair, const double *x, double out[4][3])
{
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3; c++) out[i][c] = x[3 * (size_t)pair->v[i] + (size_t)c];
}

/* What the barrier is between a pair. `x`: positions now, for lengths of edges of the world. */
spl_potential spl_barrier_potential(const spl_barrier *b, const spl_pair *pair, const double *x);

/* Makes the candidates of the pairs that are near along a way (d NULL: at x). */
supple_result spl_barrier_seek(spl_barrier *b, const double *x, const double *d, supple_error *error);

/* The same for ways that differ from d by up to half of `spare` at each vertex; `points`: points and triangles alone.
 */
supple_result spl_barrier_seek_around(spl_barrier *b, const double *x, const double *d, double spare, bool points,
                                      supple_error *error);

/* Adds the candidates that there are since the vertices of `changed` go another way from the x of the last seek. Those
 * that are there stay. */
supple_result spl_barrier_seek_changed(spl_barrier *b, const double *x, const double *d, const bool *changed,
                                       supple_error *error);

/* The share of a step, up to `until`, that a pair allows; `slack` of its gap is left. */
double spl_barrier_bound(const spl_barrier *b, const spl_potential *p, const double x[4][3], const double d[4][3],
                         double slack, double until);

/* The reaches of both sides of a pair, added up. */
double spl_barrier_reach(const spl_barrier *b, const spl_pair *p);

/* Whether one side is of the world. */
bool spl_barrier_is_world(const spl_barrier *b, const spl_pair *p);

/* The least of the offsets' shares between the bones of a pair of the body. */
double spl_barrier_ease(const spl_barrier *b, const spl_pair *pair);

/* Refuses pairs of released bones; with b->inverse all others. */
bool spl_barrier_refuse(const void *context, const spl_pair *pair);

#endif
