/* Prisms: a body of one layer of tissue between the skin and a volumetric skeleton.
 *
 * Komaritzan and Botsch, "Projective Skinning", 2018, and "Fast Projective Skinning", 2019, section 3: the skeleton is
 * inflated to spheres and cylinders inside the skin, the skin is shrink-wrapped onto it, and each skin triangle with
 * the bone triangle that it became is a prism of three tetrahedra. There are no vertices inside the tissue, so a prism
 * body has about half of the unknowns of stuffed tetrahedra of the same surface, and each tetrahedron knows its
 * triangle.
 *
 *   - The skin is the boundary of stuffed tetrahedra (flesh.h): closed whatever the visual mesh is. Where sheets of it
 *     meet in an edge or a vertex they are cut apart, so that it is manifold; its vertices are then spread evenly over
 * it.
 *   - The skeleton is the capsules of capsule.h. A vertex goes to the nearest capsule that its limb follows, and where
 *     skin is in the way (fingers that share one bone, a heel) towards the core of its own limb instead.
 *   - The wrap starts from a thin layer whose tetrahedra are all positive and moves the bone vertices in steps; a
 *     step that would make a tetrahedron too flat is shortened, bent towards where the neighbours went, or left out. So
 *     no tetrahedron is ever inverted; where the skin is too folded to follow (armpits), the layer stays thinner. */
#ifndef SPL_BODY_PRISM_H
#define SPL_BODY_PRISM_H

#include "body/attach.h"
#include "core/threads.h"

typedef struct spl_prism_report {
    int32_t split;      /* vertices made where sheets of the surface met in an edge or a vertex */
    int32_t cut;        /* folded vertices that were cut out */
    int32_t crumbs;     /* triangles of pieces too small to wrap, and of cavities: left out */
    int32_t pieces;     /* closed surfaces that are left */
    int32_t held, free; /* bone vertices: that a bone holds; that none does: at joints, or off the skeleton */
    int32_t off;        /* of the free ones, those that did not reach the skeleton */
    int32_t cores;      /* bone vertices in limbs without a bone of their own */
    int32_t empty;      /* bones that hold nothing */
    double reached;     /* how far from the skin to their goal bone vertices came, mean: 1 is all of the way */
    double edge;        /* mean edge of the skin */
} spl_prism_report;

/* What a body of prisms consists of. Skin vertices come first, the bone vertex of v is v + vertex_count / 2. */
typedef struct spl_prisms {
    spl_tets tets;    /* `surface` is the skin alone, without the sheet on the bones; three tets a triangle, in order */
    int32_t *prism;   /* by tet: its triangle of tets.surface */
    int32_t *bone;    /* by vertex: the bone that holds it, -1 */
    spl_place *place; /* by vertex: its limb's nearest place; bone vertices have their skin's */
    spl_prism_report report;
} spl_prisms;

/* Wraps the surface of stuffed tets (of `input`, with their places) onto the bones. SUPPLE_ERROR_INPUT, with a count,
 * where the skin is so folded that not even a thin layer fits. On failure *out is zero. */
supple_result spl_prisms_make(const spl_attach_input *input, spl_pool *pool, spl_prisms *out, supple_error *error);
void spl_prisms_release(spl_prisms *p);

#endif
