/* Limbs: the skin that each vertex of a body lies under.
 *
 * The mesher gives the vertices near the skin their place on it, limb by limb (spl_place), and leaves those deep inside
 * without one. Here they take the place of the nearest vertex that has one, along the edges of the tetrahedra: through
 * flesh, never across a gap. So every vertex has the file's weights of its own limb. */
#ifndef SPL_BODY_LIMBS_H
#define SPL_BODY_LIMBS_H

#include "body/attach.h"

typedef struct spl_limbs {
    supple_allocator allocator;
    spl_place *place;      /* by tet vertex; triangle -1 only in pieces without any */
    int32_t *first, *near; /* by tet vertex, and one more: where its neighbours along edges begin in `near` */
} spl_limbs;

supple_result spl_limbs_make(const spl_attach_input *input, spl_limbs *out, supple_error *error);
void spl_limbs_release(spl_limbs *limbs);

/* How much the skin of a vertex's limb follows a joint: its weight there, 0 where nothing is known. */
double spl_limbs_weight(const spl_limbs *limbs, const spl_attach_input *input, int32_t vertex, int32_t node);

/* Whether it follows the joint noticeably: by 0.2, or more than any other where many joints share the skin. */
bool spl_limbs_follow(const spl_limbs *limbs, const spl_attach_input *input, int32_t vertex, int32_t node);

/* Ways along the edges: way[v] is given for the sources and INFINITY elsewhere, and becomes the shortest sum of a
 * source's and the edges from there. `from` (by vertex, or NULL) names the source. */
void spl_limbs_ways(const spl_tets *tets, double *way, int32_t *from);

#endif
