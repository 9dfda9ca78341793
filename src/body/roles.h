/* Roles of a character's parts, judged piece by piece (pieces.h) and by evidence alone, never by names:
 *
 *   not skinned                                                   rigid
 *   weights the same all over: a plate, a helmet, a tooth         follow where it sits on flesh, else own
 *     four or more that pass into each other and into flesh: hair flesh
 *     a large round one, all that its joint has: a toy's head     flesh
 *   closed or nearly so, and not inside other flesh               flesh
 *   closed, inside other flesh (an eye, a tongue, a joint's ball) follow
 *   open, over flesh that moves as it does (a jacket, hair)       follow
 *   open, nothing beneath, but it bulges (a dress, a trunk)       flesh: its openings are taken as closed
 *   a thin sheet (a fin, a cape, a lash)                          follow where it hangs on flesh, else own
 *
 * A part gets the role of most of its area; its triangles and vertices keep that of their piece. */
#ifndef SPL_BODY_ROLES_H
#define SPL_BODY_ROLES_H

#include "body/pieces.h"
#include "rig/bones.h"

typedef struct spl_role {
    supple_role role; /* of most of its area */
    char why[96];
    double share[5]; /* of its area, by role */
    int32_t welded_vertices;
    int32_t components, closed_components;
    int32_t border_edges, nonmanifold_edges, degenerate_triangles;
    double area;
} spl_role;

typedef struct spl_roles_input {
    const supple_scene *scene;
    const spl_part *part;
    int32_t part_count;
    const float *position;  /* the scene's vertices in one space: the bind pose */
    const spl_bones *bones; /* of the scene */
    const supple_part_rule *rules;
    int32_t rule_count;
} spl_roles_input;

typedef struct spl_roles {
    supple_allocator allocator;
    int32_t part_count;
    spl_role *part;          /* by part */
    int32_t *first_triangle; /* by part, and one more: its triangles among the scene's */
    uint8_t *triangle;       /* by triangle of the scene: its role */
    uint8_t *vertex;         /* by vertex of the scene: its role */
    int32_t *group;          /* by vertex: the piece that moves as one, -1 elsewhere */
    int32_t group_count;
    double flesh_share, follow_share; /* of the skinned area */
} spl_roles;

/* SUPPLE_ERROR_ARGUMENT for a rule that matches no part. */
supple_result spl_roles_find(const spl_roles_input *in, const supple_allocator *a, spl_roles *out, supple_error *error);
void spl_roles_release(spl_roles *roles);

/* All vertices in the mesh space of the skin `home`, in the bind pose; rigid parts where the file has them. */
void spl_roles_place(const supple_scene *scene, const spl_part *part, int32_t part_count, int32_t home, float *out);

/* The first skin that moves a part, -1 if none does. */
int32_t spl_roles_home(const supple_scene *scene, const spl_part *part, int32_t part_count);

/* The roles of a scene's parts (spl_parts_new) as a body with these rules has them. */
supple_result spl_roles_of_scene(const supple_scene *scene, const spl_part *part, int32_t part_count,
                                 const supple_part_rule *rules, int32_t rule_count, const supple_allocator *a,
                                 spl_roles *out, supple_error *error);

/* Whether the flesh moves what has this role. */
static inline bool spl_role_rides(supple_role role)
{
    return role == SUPPLE_ROLE_FLESH || role == SUPPLE_ROLE_FOLLOW;
}

/* "flesh", "follow", "rigid", "skip" or "own". */
const char *spl_role_name(supple_role role);

#endif
