/* Pieces: what hangs together of a character's skinned surface, whatever parts and materials it is cut into.
 *
 * Vertices at one place are one, so a skin of five materials is one piece, and a robot of one mesh is as many pieces as
 * it has plates. Each comes with the evidence that its role is judged by (roles.h). */
#ifndef SPL_BODY_PIECES_H
#define SPL_BODY_PIECES_H

#include "geom/surface.h"
#include "scene/parts.h"

#include <supple/body.h>

typedef struct spl_skin_piece {
    double area;
    double openness;  /* the squared lengths of its borders, summed, over its area; 0: closed. A limb cut off at one end
                         has 1, a tube open at both ends 1 to 3, a hemisphere 6.3, a square sheet 16 */
    double bulk;      /* its volume, openings closed, over that of a ball of its area; a sheet has none */
    bool closed;      /* no borders */
    double differing; /* share of its area whose weights differ from the piece's mean: 0, it moves as one */
    double blended;   /* share of its area that no joint moves alone */
    int32_t joint;    /* the node that moves most of it, as the bones merged it; -1 without weights */
    double led;       /* by that joint's weight in the mean */
    int32_t part;     /* with most of its area */
    bool as_one;      /* its weights are the same all over; judge.c fills in these three */
    supple_role role;
    char why[96];
} spl_skin_piece;

/* Joints and weights of a surface's vertices, joints as the bones merged them. */
typedef struct spl_skin_weights {
    int32_t *first; /* vertex_count + 1 */
    int32_t *node;  /* -1: a joint that no bone stands for */
    double *weight;
} spl_skin_weights;

/* Of each vertex of a surface that was made over all vertices of a scene. `source` (by surface vertex: a vertex of the
 * scene there) is filled too; it has room for surface->vertex_count. */
supple_result spl_skin_weights_make(const supple_scene *scene, const spl_part *part, int32_t part_count,
                                    const int32_t *merged_into, const spl_surface *surface, const supple_allocator *a,
                                    int32_t *source, spl_skin_weights *out, supple_error *error);
void spl_skin_weights_release(spl_skin_weights *w, const supple_allocator *a);

/* The share of weights that two places of surfaces have in common: 1 if they move alike, 0 if no joint moves both. */
double spl_weights_alike(const spl_surface *s, const spl_skin_weights *ws, const spl_place *p, const spl_surface *t,
                         const spl_skin_weights *wt, const spl_place *q);

typedef struct spl_skin_pieces {
    supple_allocator allocator;
    spl_surface surface;      /* of all skinned triangles; its components are the pieces */
    int32_t *source;          /* by surface vertex: a vertex of the scene there */
    spl_skin_weights weights; /* of its vertices */
    int32_t *scene_triangle;  /* by the surface's input triangle: its number in the scene, parts in order */
    int32_t count;
    spl_skin_piece *piece;
    int32_t *of_vertex; /* by surface vertex; where pieces touch, the first */
} spl_skin_pieces;

/* `position`: the scene's vertices in one space, the bind pose. `merged_into` by node, as in spl_bones. */
supple_result spl_pieces_make(const supple_scene *scene, const spl_part *part, int32_t part_count,
                              const float *position, const int32_t *merged_into, const supple_allocator *a,
                              spl_skin_pieces *out, supple_error *error);
void spl_pieces_release(spl_skin_pieces *p);

double spl_triangle_area(const spl_surface *s, int32_t triangle);

#endif
