/* Baking: the texture that shows slid skin under the original texture coordinates, one picture a frame.
 *
 * A texel's centre is a place on the body; the skin that lies there now had another texture coordinate at rest, and
 * what the input shows there is the texel's new value. Displacements (slid less original coordinate) are interpolated
 * rather than coordinates, so that skin which does not move gives the input's very bytes. */
#ifndef SPL_SLIDE_BAKE_H
#define SPL_SLIDE_BAKE_H

#include "core/threads.h"
#include "scene/image.h"
#include "slide/atlas.h"
#include "slide/bake_layout.h"
#include "slide/slide_frame.h"

#include <supple/tools.h>

typedef struct spl_slide_bake {
    const supple_scene *scene;
    supple_allocator allocator;
    spl_pool *pool; /* borrowed; NULL: the calling thread */
    spl_pixels input, output;
    bool normals; /* a map of tangent-space normals, x along u and y against v, as glTF's */
    spl_slide_bake_layout layout;
    double *shift;         /* 6 a triangle: displacements of its corners, texels */
    double *anchor;        /* 2 a triangle: a position on that island, texels */
    int32_t *island;       /* of each triangle: the island that its skin comes from; -1: unknown */
    float *turn;           /* 2 a triangle: cosine and sine from its tangent to the skin's, or NULL */
    bool *flips;           /* a triangle's skin is the mirror image of its texture */
    float *vertex_turn;    /* 2 a vertex of the scene, or NULL: the mean of the triangles that do not flip */
    const float *position; /* of the frame under way */
    /* exact lookups (spl_slide_bake_through): */
    const spl_atlas *atlas;
    const int32_t *net_of; /* by triangle of the scene: the net's, -1 without skin */
    const float *atlas_uv; /* 2 a corner of the scene, of the frame */
    int32_t *number;       /* by triangle of the net: its place in the layout; -1 */
} spl_slide_bake;

/* Takes the input's pixels over, also on failure. */
supple_result spl_slide_bake_init(spl_slide_bake *bake, const supple_scene *scene, spl_pixels *input, bool normals,
                                  spl_slide_bake_choice *choice, const void *context, spl_pool *pool,
                                  const supple_config *config, supple_error *error);
void spl_slide_bake_release(spl_slide_bake *bake);

/* From now on texels are looked up through an atlas, over seams too: texel, place on the body, place of the skin,
 * texel. `atlas_uv` (2 a corner) is refilled by the caller before each frame; the frame's own coordinates are the
 * atlas' as those of the file, gone on with (spl_atlas_extend). */
supple_result spl_slide_bake_through(spl_slide_bake *bake, const spl_atlas *atlas, const int32_t *net_of,
                                     const float *atlas_uv, supple_error *error);

/* The same for a bake of the library, and its frame. */
supple_result spl_bake_through(supple_bake *bake, const spl_atlas *atlas, const int32_t *net_of, const float *atlas_uv,
                               supple_error *error);

/* Fills `output`. `position`: the frame's vertices in output order, by which normals are turned (rest positions would
 * do where nothing shears). Nothing is allocated; the same bits at any number of threads. */
void spl_slide_bake_frame(spl_slide_bake *bake, const float *position, const spl_slide_frame *frame);

#endif
