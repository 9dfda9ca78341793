/* Selecting flesh: which tetrahedra a person means by the name of a material, a mesh or a joint, by a box or by a
 * vertex colour. A tet is judged by its centroid in the bind pose.
 *
 *   material, mesh, colour   of the flesh's surface nearest to it: the whole flesh under that surface, half way to the
 *                            surface on the other side, or no deeper than `depth`
 *   joint                    of the bone nearest to it, among those that the skin there follows at least a little;
 * bones of the joint and of all below it count box                      body space, in the file's unit
 *
 * Where limbs overlap in the body, the surface is the one of the tet's own limb (spl_body.place). */
#ifndef SPL_BODY_SELECT_H
#define SPL_BODY_SELECT_H

#include "body/body.h"

/* All that are given must hold. Strings are shell patterns (spl_name_matches), owned by whoever made the selector. */
typedef struct spl_selector {
    char *material, *mesh, *joint; /* NULL: any */
    bool has_box, has_color;
    spl_vec3 low, high; /* of the box */
    double color[3];    /* linear, 0 to 1 */
    double tolerance;   /* largest difference of a channel */
    double depth;       /* from the surface, metres; INFINITY: any */
} spl_selector;

/* What the selectors ask of each tet, found once. */
typedef struct spl_selection {
    supple_allocator allocator;
    const spl_body *body;
    spl_place *place;   /* by tet: the place of the surface that it lies under */
    double *distance;   /* by tet: from there, in the body's unit */
    int32_t *bone;      /* by tet: the nearest bone, -1 without bones */
    int32_t *part;      /* by triangle of the body's surface: its part, */
    int32_t *primitive; /* and its number in that part's primitive */
} spl_selection;

supple_result spl_selection_make(const spl_body *body, const supple_allocator *a, spl_selection *out,
                                 supple_error *error);
void spl_selection_release(spl_selection *s);

/* member[k] (by tet) is whether the selector means tet k. *count says how many; where it is 0, `why` (100 bytes) says
 * what of it matches nothing. The only failure is SUPPLE_ERROR_MEMORY. */
supple_result spl_selection_find(const spl_selection *s, const spl_selector *selector, bool *member, int32_t *count,
                                 char *why, supple_error *error);

/* Frees the selector's strings and zeroes it. */
void spl_selector_release(spl_selector *selector, const supple_allocator *a);

/* The centroid of a tet. */
static inline spl_vec3 spl_tet_centroid(const spl_tets *t, int32_t tet)
{
    const int32_t *c = t->tet + 4 * (size_t)tet;
    spl_vec3 sum = spl_add(spl_add(t->position[c[0]], t->position[c[1]]), t->position[c[2]]);
    return spl_scale(spl_add(sum, t->position[c[3]]), 0.25);
}

#endif
