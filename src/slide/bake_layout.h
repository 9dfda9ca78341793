/* Where a character's triangles lie in a texture, texel by texel: made once, for all frames that are baked.
 *
 * Positions are in texels with centres at whole numbers (x = u width - 1/2, v down), and a triangle's are less the tile
 * of its smallest coordinates, for textures repeat: coordinates outside 0..1 wrap. */
#ifndef SPL_SLIDE_BAKE_LAYOUT_H
#define SPL_SLIDE_BAKE_LAYOUT_H

#include "scene/scene.h"

typedef struct spl_slide_bake_triangle {
    double at[3][2];   /* corners, texels */
    double inverse[4]; /* barycentrics (second, third) = inverse (p - at[0]); zeros where the triangle has no area */
    float uv[3][2];    /* the file's own coordinates */
    int32_t corner;    /* its first corner in a frame's list; the others follow */
    int32_t vertex[3]; /* in output order */
    int32_t island;
} spl_slide_bake_triangle;

/* Which triangle a texel shows. */
typedef struct spl_slide_bake_texel {
    int32_t triangle; /* -1: none is near */
    int32_t island;   /* the triangle's where it covers the centre, else -1 */
    int8_t tile[2];   /* the triangle's copy: the texel is at x + tile width in the triangle's coordinates */
    uint8_t ring;     /* 0: its centre is covered; else how many steps into the gutter it is */
    uint8_t flags;
} spl_slide_bake_texel;

typedef struct spl_slide_bake_layout {
    int32_t width, height;
    int32_t triangle_count, island_count;
    spl_slide_bake_triangle *triangle;
    spl_slide_bake_texel *texel;    /* width x height */
    size_t covered, gutter, shared; /* texels; shared: covered by two triangles or more (mirrored or tiled charts) */
    int32_t skipped;                /* triangles over too many tiles, or not of numbers */
} spl_slide_bake_layout;

/* Whether a part's triangles belong to the texture. */
typedef bool spl_slide_bake_choice(const void *context, const supple_scene *scene, int32_t instance,
                                   const spl_primitive *p);

/* Lays out the chosen parts that have texture coordinates. Islands are triangles joined by equal coordinates; where two
 * of them lie on each other they count as one. Of triangles on one texel the first in the scene's order is shown. */
supple_result spl_slide_bake_layout_init(spl_slide_bake_layout *layout, const supple_scene *scene, int32_t width,
                                         int32_t height, spl_slide_bake_choice *choice, const void *context,
                                         const supple_config *config, supple_error *error);
void spl_slide_bake_layout_release(spl_slide_bake_layout *layout, const supple_allocator *a);

/* Barycentric coordinates of a position. */
void spl_slide_bake_weights(const spl_slide_bake_triangle *t, const double p[2], double weight[3]);

/* The nearest position of the triangle to p; returns the square of the distance. */
double spl_slide_bake_nearest(const spl_slide_bake_triangle *t, const double p[2], double out[2]);

/* The texel at whole coordinates, wrapped. */
const spl_slide_bake_texel *spl_slide_bake_texel_at(const spl_slide_bake_layout *layout, int64_t x, int64_t y);

#endif
