/* The texture atlas in which skin can slide: every chart extended over its borders as far as skin comes from there,
 * put together anew (the paper's appendix A.2). Made once, when it is known how far the skin slides.
 *
 * Each material with textures has a sheet: the patches (patch.h) of its charts and the size of the new images, in
 * texels of its largest map. A chart whose extension would lie on itself is cut in two, and so on. */
#ifndef SPL_SLIDE_ATLAS_H
#define SPL_SLIDE_ATLAS_H

#include "core/threads.h"
#include "scene/image.h"
#include "slide/patch.h"
#include "slide/uv.h"

typedef struct spl_atlas_sheet {
    int32_t material;
    int32_t from[2];      /* the size of the largest of its maps; 0: the material has none, and no sheet */
    double scale;         /* texels here by texels there, below 1 where the limit asks for it */
    int64_t size[2];      /* of the new images, texels */
    int32_t first, count; /* its patches */
    int32_t clashes;      /* cells whose texels show something else: single triangles that could not be cut */
} spl_atlas_sheet;

typedef struct spl_atlas {
    supple_allocator allocator;
    const spl_net *net; /* borrowed, as is the next */
    const spl_slide_uv *uv;
    spl_patch_source source;
    int32_t sheet_count;
    spl_atlas_sheet *sheet;
    int32_t patch_count, patch_room;
    spl_patch *patch;
    int32_t *patch_of, *cell_of; /* by triangle: where it is a home; -1: in no patch */
    int32_t *first_node;         /* patch_count + 1: where a patch's nodes begin among all */
    int32_t *at_cell;            /* by node: the cell in which its skin is now; -1: it is no home's */
    double *at_weight;           /* 3 a node */
    int32_t *at_vertex;          /* by node */
} spl_atlas;

/* `sheets` says for every material the size of its largest map (the first two fields) and is copied; `texture` the
 * material of every triangle of the net, -1 without; `reach` how far the skin of each vertex of the net comes from,
 * metres; `limit` the longest side of a sheet, texels. */
supple_result spl_atlas_make(const spl_net *net, const spl_slide_uv *uv, const spl_atlas_sheet *sheets,
                             int32_t sheet_count, const int32_t *texture, const double *reach, int32_t limit,
                             const supple_config *config, spl_atlas *out, supple_error *error);
void spl_atlas_release(spl_atlas *atlas);

/* Puts the patches of a sheet side by side (atlas_pack.c); false if memory is out. */
bool spl_atlas_pack(spl_atlas *atlas, spl_atlas_sheet *sheet);

/* ---- skin that moves (atlas_track.c) ---- */

/* The skin is glued again. */
void spl_atlas_begin(spl_atlas *atlas);

/* The skin of each vertex has gone on to a place: fills the corners of triangles in sheets (2 floats a corner of the
 * output, the sheet being 0 to 1). Returns how many corners are beyond what the atlas has. */
int32_t spl_atlas_follow(spl_atlas *atlas, const spl_place *place, float *corner_uv);

/* What the atlas shows at a coordinate of a triangle's sheet: a place of the skin, and in which cell of the triangle's
 * patch (if `cell` is not NULL). False outside of that. */
bool spl_atlas_look(const spl_atlas *atlas, int32_t triangle, const double uv[2], spl_place *out, int32_t *cell);

/* The same coordinates in the file's texture, gone on over its seams: what moved where charts kept their place. Corners
 * in no sheet stay. */
void spl_atlas_extend(const spl_atlas *atlas, const float *corner_uv, float *out);

/* A normal of the texture at a cell, in the tangents of its patch (8-bit values). */
void spl_atlas_turn(const spl_atlas *atlas, const spl_patch *patch, int32_t cell, double rgba[4]);

/* ---- images (atlas_paint.c) ---- */

typedef enum spl_atlas_kind {
    SPL_ATLAS_COLOUR, /* sRGB with alpha: base colour, emission */
    SPL_ATLAS_VALUES, /* numbers: metal and roughness, occlusion */
    SPL_ATLAS_NORMAL, /* of the tangent space, which is turned with the charts */
} spl_atlas_kind;

/* One map of one material. */
typedef struct spl_atlas_map {
    const spl_pixels *pixels; /* NULL: the material has none, white (normals: straight up) */
    float factor[4];          /* what the material multiplies it by, linear */
} spl_atlas_map;

/* Paints a map of a sheet afresh: `map` has that of every material. */
supple_result spl_atlas_paint(const spl_atlas *atlas, int32_t sheet, spl_atlas_kind kind, const spl_atlas_map *map,
                              spl_pool *pool, spl_pixels *out, supple_error *error);

#endif
