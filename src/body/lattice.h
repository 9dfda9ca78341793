/* The body-centred cubic lattice: two cubic grids, each at the centres of the other's cells.
 *
 * Points have doubled integer coordinates, all even (black) or all odd (red), at half the lattice constant times them.
 * A point has 14 neighbours: 6 along the axes in its own grid (long edges, one lattice constant) and 8 in the other
 * grid (short edges, sqrt(3)/2 of it). Every tetrahedron has two opposite long edges, one of each colour, and four
 * short ones; 12 tetrahedra belong to each cell. */
#ifndef SPL_BODY_LATTICE_H
#define SPL_BODY_LATTICE_H

#include "math/vec3.h"

#include <supple/base.h>

enum { SPL_DIRECTIONS = 14, SPL_LONG = 6, SPL_COMMON = 6, SPL_FAN = 24 };

/* Directions 0..5: +x -x +y -y +z -z (long); 6..13: signs of x y z by bits 0 1 2, set means minus (short). */
extern const int8_t spl_direction[SPL_DIRECTIONS][3];

static inline int spl_opposite(int d)
{
    return d < SPL_LONG ? d ^ 1 : SPL_LONG + ((d - SPL_LONG) ^ 7);
}
static inline bool spl_is_long(int d)
{
    return d < SPL_LONG;
}

/* The points that are neighbours of both ends of an edge: over edge d, common[d][i] seen from its start and its end. */
typedef struct spl_common {
    int count; /* 4 for long edges, 6 for short ones */
    int8_t from_start[SPL_COMMON], from_end[SPL_COMMON];
} spl_common;

typedef struct spl_lattice {
    double half;        /* half the lattice constant */
    int32_t low[3];     /* smallest doubled coordinates of black points; even */
    int32_t size[3];    /* cells along each axis; grid points per colour are as many (the last layer is padding) */
    size_t point_count; /* 2 x size[0] x size[1] x size[2] */
    spl_common common[SPL_DIRECTIONS];
    int fan_count;          /* the 24 tetrahedra around a point ... */
    int8_t fan[SPL_FAN][3]; /* ... as directions to their other corners */
} spl_lattice;

/* A lattice of constant `cell` through the origin that covers a box with `margin` cells to spare on every side. False
 * if it would have more than `limit` points. */
bool spl_lattice_make(spl_lattice *l, spl_vec3 low, spl_vec3 high, double cell, int32_t margin, size_t limit);

/* The number of a point from its doubled coordinates (which must be inside), and back. */
size_t spl_lattice_index(const spl_lattice *l, const int32_t c[3]);
void spl_lattice_coordinates(const spl_lattice *l, size_t index, int32_t c[3]);

/* Whether doubled coordinates are inside. */
bool spl_lattice_holds(const spl_lattice *l, const int32_t c[3]);

static inline spl_vec3 spl_lattice_point(const spl_lattice *l, const int32_t c[3])
{
    return spl_v3(l->half * c[0], l->half * c[1], l->half * c[2]);
}

/* The 12 tetrahedra of the cell whose black corner has the doubled coordinates c: four points each, as offsets from c.
 * Points 0 and 1 are the ends of the red long edge, 2 and 3 those of the black one; orientation is positive. */
extern const int8_t (*spl_lattice_tets(void))[4][3];
enum { SPL_CELL_TETS = 12 };

#endif
