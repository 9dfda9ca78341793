/* Attachments: the vertices of a body that its bones hold.
 *
 * A bone is a capsule along its segment, as thick as a share of the distance from there to the skin, and shortened
 * where another bone begins, so that joints stay soft. A vertex inside belongs to the bone if its limb does: the skin
 * of its limb (limbs.h) must follow that bone at least a little, however deep it lies. Where limbs touch (a hand on a
 * hip) one bone never holds the other's flesh. A bone that holds too little takes what is nearest of its own limb,
 * within the limb's thickness and through flesh. Limbs that move with one joint alone, but far from its segments (four
 * fingers on one bone), are held along their core. No tetrahedron is held by two joints at all its corners (loosen.h).
 * A joint that is left without a firm hold is merged with the joint it hangs on. */
#ifndef SPL_BODY_ATTACH_H
#define SPL_BODY_ATTACH_H

#include "body/pieces.h"
#include "body/tets.h"
#include "geom/surface.h"
#include "geom/tree.h"
#include "rig/bones.h"

typedef struct spl_attach_input {
    const spl_tets *tets;            /* with their surface */
    const spl_place *place;          /* by tet vertex: its limb's nearest place, triangle -1 deep inside */
    const spl_surface *surface;      /* the flesh's surface */
    const spl_tree *tree;            /* of that surface */
    const spl_skin_weights *weights; /* at the surface's vertices */
    const spl_bones *bones;
    double cell; /* of the lattice: what "near" means */
    const supple_allocator *allocator;
} spl_attach_input;

typedef struct spl_attach_report {
    int32_t constrained; /* vertices */
    int32_t substituted; /* bones whose capsule held too little, so that the nearest vertices were taken */
    int32_t empty;       /* bones whose joint holds nothing: no flesh of theirs is near, and they hang on no other */
    int32_t merged;      /* joints merged with what they hang on, for want of flesh of their own */
    int32_t freed;       /* vertices that tetrahedra between two joints gave back */
    int32_t hinged;      /* vertices held in pieces that would turn freely on an edge or a vertex */
    int32_t skull;       /* vertices held in heads beyond their capsules (heads.h) */
    int32_t far;         /* vertices held in limbs that follow a joint whose bones do not run through them */
} spl_attach_report;

/* How much the limb at a place follows a joint: its weight there, -1 for a place deep inside. */
double spl_attach_weight(const spl_attach_input *input, const spl_place *at, int32_t node);

/* Fills bone[i] with the bone that holds vertex i, or -1. Every joint with flesh holds at least four vertices that are
 * not in one line, three where there is no more; others are merged with the joint above (spl_bones_merge; `bones` is
 * the input's), in the weights too. */
supple_result spl_attach(const spl_attach_input *input, spl_bones *bones, int32_t *bone, spl_attach_report *report,
                         supple_error *error);

#endif
