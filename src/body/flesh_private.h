/* The steps from a surface to flesh: one pass of stuffing, its pieces, growth where some came off, and measuring. */
#ifndef SPL_BODY_FLESH_PRIVATE_H
#define SPL_BODY_FLESH_PRIVATE_H

#include "body/flesh.h"
#include "body/frame.h"

#define SPL_SEEN_CELLS 1.6  /* a limb this thick, in cells, is seen by the lattice */
#define SPL_BOOST_STEP 0.35 /* how much more, relative, a limb in pieces is taken to need */
#define SPL_BOOST_MOST 2.5

/* The surface in the body's frame with everything that is asked of it. */
typedef struct flesh {
    const spl_flesh_options *options;
    const supple_config *config;
    const supple_allocator *a;
    spl_pool *pool;
    const spl_surface *given;
    spl_frame_of_body frame;
    spl_surface surface;
    spl_tree tree;
    spl_winding winding;
    double *thickness, *boost, *growth; /* by vertex; growth and thickness in the frame's unit */
    double cell, longest, volume, area;
    double lost_area; /* of the surface, uncovered after the last pass; INFINITY before the first */
    spl_tets tets;
    spl_place *place;
    int32_t *piece; /* by tet vertex: connected component */
    bool *keep;     /* by component: it is the largest of some part of the surface */
    int32_t piece_count;
    spl_flesh_report report;
} flesh;

/* Connected pieces of the tetrahedra: fills piece, piece_count and keep. */
supple_result spl_flesh_pieces(flesh *f, supple_error *error);

/* Leaves out what is not kept and finds the boundary. */
supple_result spl_flesh_drop_crumbs(flesh *f, supple_error *error);

/* Thickness, and no boost, before the first pass; growth of the surface before each. */
supple_result spl_flesh_start_growth(flesh *f, supple_error *error);
void spl_flesh_set_growth(flesh *f);

/* Raises the boost where limbs were lost or came off. Whether another pass is worth it comes back in *again: not if
 * nothing was lost, nor if the last pass made it no better. */
supple_result spl_flesh_raise_boost(flesh *f, bool *again, supple_error *error);

/* Fills the report's distances, area lost, shape and volumes. */
supple_result spl_flesh_measure(flesh *f, supple_error *error);

#endif
