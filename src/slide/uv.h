/* Texture coordinates of skin that has slid: at corner k of a body triangle, what the skin's point there had at rest.
 *
 * A triangle is drawn with one affine map, so its three corners must be of one piece of the texture: that of its
 * middle. A corner whose skin lies beyond a seam of the texture gets the affine extension of the piece that the way to
 * it from the middle leaves. Triangles where that happens are counted: they are exact up to the seam only. */
#ifndef SPL_SLIDE_UV_H
#define SPL_SLIDE_UV_H

#include "slide/dermis.h"

typedef struct spl_slide_uv {
    supple_allocator allocator;
    float *rest;    /* 6 a triangle of the net, in its order of corners */
    bool *seam;     /* 3 a triangle: the edges where texture coordinates do not go on */
    int32_t *first; /* by triangle: its first corner in the output */
    bool *flipped;  /* by triangle: corners 1 and 2 are exchanged against the output */
    bool *spans;    /* by triangle, of the last frame: it spans a seam */
    int32_t *piece; /* by triangle: the piece of the texture that it is in */
    uint8_t *depth; /* by triangle: edges to cross to the nearest seam, at most 255 */
} spl_slide_uv;

/* `corner_uv` holds the output's texture coordinates at rest (2 a corner); input triangle i of the net (its `source`)
 * has the corners from 3 input[i] on; `texture` names, for every input triangle, what its coordinates are of: between
 * different ones there is a seam. */
supple_result spl_slide_uv_make(const spl_net *net, const float *corner_uv, const int32_t *input,
                                const int32_t *texture, const supple_allocator *a, spl_slide_uv *out,
                                supple_error *error);
void spl_slide_uv_release(spl_slide_uv *u);

/* Fills the corners of the net's triangles; others are left alone. Returns how many triangles span a seam. */
int32_t spl_slide_uv_update(spl_slide_uv *u, const spl_dermis *d, float *corner_uv);

#endif
