/* Roles of a character's parts: which are flesh, which follow it, which are rigid props.
 *
 *   unskinned                                          rigid
 *   skinned, closed, not inside another part           flesh
 *   skinned, closed, inside another (eyes, teeth)      follow
 *   skinned, open, but nearly a solid                  flesh (the winding number closes small holes)
 *   skinned, open, its border meets other borders      flesh together (a body cut into limbs)
 *   skinned, open otherwise (hair, lashes, skirt)      follow
 *
 * How open a part is: the square of its border's length over its area, taken over its largest component. A limb cut off
 * at one end has 1, a hemisphere 6.3, a tube open at both ends 2 to 7, a square sheet 16. */
#ifndef SPL_BODY_ROLES_H
#define SPL_BODY_ROLES_H

#include "scene/parts.h"

#include <supple/body.h>

typedef struct spl_role {
    supple_role role;
    char why[96];
    int32_t welded_vertices;
    int32_t components, closed_components;
    int32_t border_edges, nonmanifold_edges, degenerate_triangles;
    double area, openness;
} spl_role;

/* Judges every part by its shape. `position` holds the character's vertices in output order, in one space (the rest
 * pose). `out` has part_count entries. */
supple_result spl_roles_find(const supple_scene *scene, const spl_part *part, int32_t part_count, const float *position,
                             const supple_allocator *a, spl_role *out, supple_error *error);

/* "flesh", "follow", "rigid" or "skip". */
const char *spl_role_name(supple_role role);

#endif
