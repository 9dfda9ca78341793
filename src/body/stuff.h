/* Tetrahedra by isosurface stuffing (Labelle and Shewchuk 2007) on a body-centred lattice, for bodies with limbs that
 * are thinner than the lattice or nearly touch.
 *
 * Where the body is thinner than the lattice sees, its field is grown. Grown limbs may overlap: a lattice point then
 * has one node for each limb that covers it, and nodes are linked along lattice edges only where they belong to the
 * same limb (docs/body.md). Each node's surroundings are the ordinary lattice, so the published stencils and their
 * bounds on dihedral angles hold unchanged; fingers do not fuse however coarse the lattice is. */
#ifndef SPL_BODY_STUFF_H
#define SPL_BODY_STUFF_H

#include "body/tets.h"
#include "core/threads.h"
#include "geom/geodesic.h"
#include "geom/surface.h"
#include "geom/tree.h"
#include "geom/winding.h"

typedef struct spl_stuff_input {
    const spl_surface *surface;
    const spl_tree *tree;
    const spl_winding *winding;
    const double *growth; /* by surface vertex: how far the body is grown there; NULL for nowhere */
    double thickness; /* of the thinnest limb that is not grown: how far through a limb its other side is looked for */
    double cell;      /* the lattice constant */
    size_t point_limit; /* lattice points at most */
    double done, share; /* of the work at hand that was done before, and that this call does: for the progress */
    const supple_config *config;
    const supple_allocator *allocator;
    spl_pool *pool;
} spl_stuff_input;

typedef struct spl_stuff_report {
    int32_t lattice_points; /* evaluated near the surface */
    int32_t nodes, doubled; /* inside the body; of these, at points with more than one */
    int32_t broken_links;   /* lattice edges inside the body that join different limbs and were cut */
    int32_t fronts;         /* nodes where limbs part, put on the surface */
    int32_t warped;
    int64_t looks; /* through the body, to tell limbs apart: most of the work where a surface is a tangle */
} spl_stuff_report;

/* Stuffs the body inside a surface. *place tells for every vertex which limb it belongs to: the nearest place of that
 * limb's surface, or triangle -1 deep inside; freed with the input's allocator. The result is oriented and conforming;
 * it may have several components. An empty result is SUPPLE_ERROR_INPUT, a lattice over the limit
 * SUPPLE_ERROR_ARGUMENT. */
supple_result spl_stuff(const spl_stuff_input *input, spl_tets *out, spl_place **place, spl_stuff_report *report,
                        supple_error *error);

#endif
