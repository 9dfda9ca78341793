/* A chart of the texture, extended over its border: the paper's appendix A.2.
 *
 * A patch draws some triangles of the net (its homes) with texture coordinates that go on beyond them, over as many
 * neighbours as their skin may come from. It is a small surface of its own, laid flat: cells are copies of the net's
 * triangles, joined as far as a walk from the homes goes, so that what lies behind a seam has one coordinate in each
 * chart that it is reached from. Cells that are reached without crossing a seam keep the file's coordinates (native);
 * beyond a seam they are laid out anew, as the chart would go on.
 *
 * Coordinates are texels of the chart, x = u width, y = v height: not yet those of the new atlas. */
#ifndef SPL_SLIDE_PATCH_H
#define SPL_SLIDE_PATCH_H

#include "slide/net.h"

/* What patches are made from: constant while they are made. */
typedef struct spl_patch_source {
    const spl_net *net;
    double *at;     /* 6 a triangle: its corners in texels of its texture */
    int32_t *group; /* by triangle: whose texture it is drawn with; -1: none, it is in no patch */
    int32_t *shows; /* by triangle: whose texture its skin brings along; -1: none */
    bool *seam;     /* 3 a triangle: the chart ends at this edge */
    int8_t *side;   /* by triangle: 1 or -1, how its chart is turned; 0: it has no area there */
    double *reach;  /* by vertex: how far its skin comes from, metres */
    double density; /* texels a metre where a chart has no area of its own */
    supple_allocator allocator;
} spl_patch_source;

typedef struct spl_patch {
    int32_t group;
    int32_t home_count, cell_count, node_count, cell_room;
    int32_t *cell;   /* by cell: the net's triangle; homes come first */
    int32_t *across; /* 3 a cell: the cell over the edge from corner k to k + 1; -1: none */
    int32_t *node;   /* 3 a cell */
    int32_t *root;   /* by cell: the home from which it was reached */
    int32_t *parent; /* by cell: the one from which it was reached; -1 for homes */
    bool *native;    /* by cell */
    double *at;      /* 2 a node */
    bool *fixed;     /* by node */
    bool loose;      /* only the homes have the file's coordinates: around them it lies on itself */
    int8_t side;
    int64_t low[2], size[2]; /* the box of all cells, whole texels */
    int64_t place[2];        /* where its low corner is in the atlas */
} spl_patch;

/* A texel that would have to show two places of the skin. */
typedef struct spl_patch_clash {
    int32_t a, b; /* cells; a -1: none */
} spl_patch_clash;

/* Grows a patch around its homes (triangles of one chart, each but the first beside an earlier one) and lays it flat.
 */
supple_result spl_patch_make(const spl_patch_source *source, const int32_t *home, int32_t home_count, bool loose,
                             spl_patch *out, supple_error *error);
void spl_patch_release(spl_patch *patch, const supple_allocator *a);

/* The parts of that: cells and nodes; coordinates of the nodes that are not fixed; the box (patch_flat.c). */
supple_result spl_patch_grow(const spl_patch_source *source, const int32_t *home, int32_t home_count, spl_patch *p,
                             supple_error *error);
supple_result spl_patch_flatten(const spl_patch_source *source, spl_patch *p, supple_error *error);

/* How much farther than seen in a straight line skin may come over the surface. */
#define SPL_PATCH_MARGIN 1.25

/* Weights of a cell's corners at a position; false where the cell has no area. */
bool spl_patch_weights(const spl_patch *p, int32_t cell, const double at[2], double weight[3]);

/* The position of a place of a cell. */
static inline void spl_patch_point(const spl_patch *p, int32_t cell, const double weight[3], double out[2])
{
    const int32_t *n = p->node + 3 * (size_t)cell;
    for (size_t i = 0; i < 2; i++)
        out[i] = weight[0] * p->at[2 * (size_t)n[0] + i] + weight[1] * p->at[2 * (size_t)n[1] + i] +
                 weight[2] * p->at[2 * (size_t)n[2] + i];
}

/* Goes from a cell over its neighbours to the one that holds a position, or to the last one towards it. */
int32_t spl_patch_locate(const spl_patch *p, int32_t cell, const double at[2], double weight[3]);

/* Which cell each texel's centre lies in, -1 for none: size[0] x size[1] of them, filled cell by cell, the first stays,
 * and of cells beyond the homes only what skin may come from. Returns the first clash. */
spl_patch_clash spl_patch_cover(const spl_patch_source *source, const spl_patch *p, int32_t *texel);

/* The whole x, both ends included, that a triangle covers in a row. Corners (x, y) and y are in parts of a texel, from
 * centre to centre, so that neighbours leave no gap; false where there are none. */
enum { SPL_SUBTEXEL = 256 };
bool spl_patch_row(const int64_t corner[6], int64_t y, int64_t span[2]);

/* Jacobian of a cell's coordinates by the plane of its triangle (in Q_j), row by row. */
void spl_patch_jacobian(const spl_net *net, int32_t triangle, const double at[6], double out[4]);

#endif
