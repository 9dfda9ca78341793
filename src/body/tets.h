/* Tetrahedra: the mesh type that everything after the mesher shares.
 *
 * Conventions: tet vertices are ordered so that det(x1-x0, x2-x0, x3-x0) > 0; surface triangles run counter-clockwise
 * seen from outside. The faces of a positive tet, outward, are those of spl_tet_face. */
#ifndef SPL_BODY_TETS_H
#define SPL_BODY_TETS_H

#include "math/vec3.h"

#include <supple/base.h>

typedef struct spl_tets {
    int32_t vertex_count, tet_count, surface_count;
    spl_vec3 *position; /* vertex_count */
    int32_t *tet;       /* 4 x tet_count */
    int32_t *surface;   /* 3 x surface_count, or NULL before spl_tets_find_surface */
    supple_allocator allocator;
} spl_tets;

/* The outward face opposite each vertex of a positive tet, as corners of that tet. */
extern const uint8_t spl_tet_face[4][3];

/* What spl_tets_check found and mended. */
typedef struct spl_tets_report {
    int32_t reoriented;      /* tets whose vertices were reordered to make the volume positive */
    int32_t unused_vertices; /* vertices that no tet uses: dropped */
    int32_t component_count; /* pieces, connected through shared vertices */
} spl_tets_report;

/* Shape and size. Angles in degrees, lengths and volumes in the mesh's unit. */
typedef struct spl_tets_shape {
    double min_dihedral, max_dihedral;
    int64_t dihedral_histogram[18];           /* six angles a tet, bins of 10 degrees */
    double volume, min_volume;                /* signed: an inverted tet counts as negative */
    double min_edge, mean_edge, max_edge;     /* the mean is over the six edges of every tet */
    int32_t inverted_count;                   /* tets without positive volume */
    int32_t min_dihedral_tet, min_volume_tet; /* where these were found; -1 without tets */
} spl_tets_shape;

/* A mesh with room for the given counts, zeroed, without a surface; false if memory is out (*tets is then empty). */
bool spl_tets_create(spl_tets *tets, int32_t vertex_count, int32_t tet_count, const supple_allocator *a);

/* Frees the arrays and zeroes the struct. Safe on a zeroed one. */
void spl_tets_release(spl_tets *tets);

/* det(x1-x0, x2-x0, x3-x0) / 6 of one tet. */
double spl_tets_volume(const spl_tets *tets, int32_t tet);

/* Finds the boundary: faces of exactly one tet, in the order of tets and of spl_tet_face. Replaces an earlier surface.
 * SUPPLE_ERROR_MEMORY is the only failure for a mesh that passed spl_tets_check. */
supple_result spl_tets_find_surface(spl_tets *tets, supple_error *error);

/* Judges tets that came from outside, mends what has one meaning and refuses the rest (SUPPLE_ERROR_INPUT) by number,
 * counted from 1 as the file formats do. `name` begins the message.
 *
 * Mended: negative orientation, vertices that no tet uses. Refused: no tets, an index out of range, a position that is
 * not finite, a vertex used twice in a tet, a flat tet (|det| <= 1e-9 of its longest edge cubed), a tet that stands
 * twice, more than two tets on a face, and two tets on the same side of their common face: one of them is inverted.
 * A surface found earlier is dropped. On failure the mesh may be partly mended; release it. `report` may be NULL. */
supple_result spl_tets_check(spl_tets *tets, const char *name, spl_tets_report *report, supple_error *error);

/* Measures the shape; needs no memory. */
spl_tets_shape spl_tets_quality(const spl_tets *tets);

/* The faces of all tets grouped by their vertices: what finding the surface, checking and adjacency have in common.
 * Face 4 t + i is opposite vertex i of tet t. `order` lists all faces so that equal ones stand side by side, in rising
 * face number. `corner` holds each face's vertices in rising order. */
typedef struct spl_tet_faces {
    int32_t *corner; /* 3 x 4 tet_count */
    int32_t *order;  /* 4 tet_count */
    int32_t count;   /* 4 tet_count */
    supple_allocator allocator;
} spl_tet_faces;

/* Groups in linear time. At most 2^29 - 1 tets. */
supple_result spl_tet_faces_create(spl_tet_faces *faces, const spl_tets *tets, supple_error *error);
void spl_tet_faces_release(spl_tet_faces *faces);

/* The end of the group of equal faces that begins at order[begin]. */
int32_t spl_tet_faces_group_end(const spl_tet_faces *faces, int32_t begin);

#endif
