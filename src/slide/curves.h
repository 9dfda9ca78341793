/* Curves of the net that skin slides along: chains of edges, each vertex on one curve at most. A place on a curve is
 * its distance from the curve's first vertex, so that skin which slides along a curve is on it exactly. */
#ifndef SPL_SLIDE_CURVES_H
#define SPL_SLIDE_CURVES_H

#include "slide/net.h"

typedef struct spl_curves {
    int32_t count;
    int32_t *first;  /* count + 1: into vertex */
    int32_t *vertex; /* by slot: along each curve */
    double *theta;   /* by slot: metres from the curve's first vertex */
    bool *closed;    /* by curve */
    double *length;  /* by curve, of the closing edge too */
    int32_t *slot;   /* by vertex of the net: -1 where it is on no curve */
    int32_t *curve;  /* by slot */
    supple_allocator allocator;
} spl_curves;

/* Follows edges (2 vertices each, in any order). SUPPLE_ERROR_INPUT where more than two meet at a vertex. */
supple_result spl_curves_make(const spl_net *net, const int32_t *edge, size_t edge_count, const supple_allocator *a,
                              spl_curves *out, supple_error *error);
void spl_curves_release(spl_curves *c);

/* The direction of the curve at a slot: along its vertices. */
spl_vec3 spl_curves_tangent(const spl_net *net, const spl_curves *c, int32_t slot);

/* The slot before or after (`step` -1 or 1) one on its curve, or -1 at an end; how far it is. */
int32_t spl_curves_next(const spl_curves *c, int32_t slot, int step, double *distance);

/* b - a along a curve, the short way round where it is closed; and theta brought back onto the curve. */
double spl_curves_difference(const spl_curves *c, int32_t curve, double a, double b);
double spl_curves_wrap(const spl_curves *c, int32_t curve, double theta);

/* The place on the net. */
spl_place spl_curves_place(const spl_net *net, const spl_curves *c, int32_t curve, double theta);

#endif
