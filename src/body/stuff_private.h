/* The stages of stuffing: sample (points near the surface), nodes (who is inside which limb), links (which neighbours
 * are one limb), copies (virtual lattice points), cuts, stencils. */
#ifndef SPL_BODY_STUFF_PRIVATE_H
#define SPL_BODY_STUFF_PRIVATE_H

#include "body/lattice.h"
#include "body/stuff.h"

#include <stdatomic.h>

/* What is known of a lattice point. Points of the band are near the surface and have a sample. */
enum { POINT_UNKNOWN, POINT_BAND, POINT_OUTSIDE, POINT_INSIDE };

typedef struct stuff_sample {
    size_t point;
    double value; /* signed distance, negative inside; not grown */
    spl_place place;
} stuff_sample;

/* A lattice point inside a limb of the (grown) body. */
typedef struct stuff_node {
    size_t point;
    int32_t next;    /* another node of the same point, -1 at the end */
    bool interior;   /* inside the body as it is; else by growth alone */
    bool front;      /* where limbs part: on the surface, not inside */
    bool torn;       /* linked to two nodes of one neighbour */
    double value;    /* signed distance of the point, not grown */
    spl_place place; /* nearest place of its limb; triangle -1 deep inside */
} stuff_node;

typedef struct stuff {
    const spl_stuff_input *in;
    const supple_allocator *a;
    spl_lattice lattice;
    double growth_max;
    bool watertight;      /* sides change at triangles only, not in openings */
    uint8_t *state;       /* by lattice point */
    int32_t *slot;        /* by lattice point: its sample while sampling, then its first node; -1 for none */
    stuff_sample *sample; /* of the band, by ascending point */
    size_t sample_count;
    stuff_node *node;
    int32_t node_count, node_room;
    int32_t *link; /* 14 x node_count: the linked neighbour's node, -1 for none */
    int32_t *copy; /* 14 x node_count: the copy of the neighbouring point that the node sees; < node_count: a node */
    int32_t copy_count; /* nodes and virtual points */
    spl_vec3 *position; /* by copy */
    int32_t *owner;     /* by copy: a node of the limb it belongs to */
    uint8_t *side;      /* by copy: SIDE_* */
    float *cut; /* 14 x node_count: where the edge to an outside copy leaves the body, 0..1 from the node; -1: no cut */
    int32_t *cut_vertex; /* 14 x node_count: output vertex, -1 until used */
    atomic_llong *looks; /* report.looks, while threads count */
    spl_stuff_report report;
} stuff;

enum { SIDE_IN, SIDE_ON, SIDE_OUT };

static inline bool stuff_is_real(const stuff *s, int32_t node)
{
    return node >= 0 && !s->node[node].front;
}

/* Tells how far a stage ("field", "tetrahedra") of this call has come; SUPPLE_ERROR_CANCELLED to stop. */
supple_result spl_stuff_progress(const stuff *s, const char *stage, double fraction, supple_error *error);

/* A parallel loop in a few parts, with progress from one fraction to another between them. The pieces of the loop stay
 * the same, so results do not depend on it. */
supple_result spl_stuff_loop(const stuff *s, size_t count, size_t grain, spl_loop_fn *body, void *context,
                             const char *stage, double from, double to, supple_error *error);

supple_result spl_stuff_sample(stuff *s, supple_error *error);
supple_result spl_stuff_nodes(stuff *s, supple_error *error);
supple_result spl_stuff_links(stuff *s, supple_error *error);
supple_result spl_stuff_copies(stuff *s, supple_error *error);
supple_result spl_stuff_cuts(stuff *s, supple_error *error);
supple_result spl_stuff_emit(stuff *s, spl_tets *out, spl_place **place, supple_error *error);

/* Signed distance of p (negative inside) and its nearest place; the winding number gives the sign. */
double spl_stuff_distance(const spl_stuff_input *in, spl_vec3 p, double radius, int32_t hint, spl_place *place);

/* The sample of a lattice point; NULL if it is not in the band. */
const stuff_sample *spl_stuff_find_sample(const stuff *s, size_t point);

/* How far the body is grown at a place. */
double spl_stuff_growth(const spl_stuff_input *in, const spl_place *place);

/* Geodesic working memory for loops: as many as there are threads, taken and given back piece by piece. Which one a
 * piece gets makes no difference to its result. */
typedef struct stuff_scratch {
    int32_t count;
    spl_geodesic *geodesic;
    atomic_bool *taken;
} stuff_scratch;

supple_result spl_stuff_scratch_make(const stuff *s, stuff_scratch *out, supple_error *error);
void spl_stuff_scratch_release(const stuff *s, stuff_scratch *scratch);
int32_t spl_stuff_scratch_take(stuff_scratch *scratch);
void spl_stuff_scratch_give(stuff_scratch *scratch, int32_t index);

/* Whether two places are on the same limb: near along the surface, or through a thin part of the body. */
bool spl_stuff_same_limb(const stuff *s, spl_geodesic *scratch, const spl_place *a, const spl_place *b);

#endif
