/* Skin that slides as a vertex-animation texture beside a .glb, for engines with a shader and no code of their own
 * (docs/slide-output.md; examples/slide-texture-three.js plays it).
 *
 * One texel a vertex and frame: how far its texture coordinate is from TEXCOORD_0, 12 bits each of u and v in the 24
 * of a picture without alpha. 8 bits a channel, because browsers and engines take no more of a PNG. The vertices of a
 * frame fill some rows, and frames stand below one another. Where a vertex's texel of the first frame is, is in a set
 * of texture coordinates of its own, so it does not matter in which order a program puts vertices. */
#ifndef SPL_SCENE_WRITERS_GLTF_SLIDE_TEXTURE_H
#define SPL_SCENE_WRITERS_GLTF_SLIDE_TEXTURE_H

#include "scene/writers/gltf_slide.h"

typedef enum spl_slide_texture {
    SPL_SLIDE_TEXTURE_NONE,    /* nothing slides, or an error */
    SPL_SLIDE_TEXTURE_WRITTEN, /* the picture is in the output */
    SPL_SLIDE_TEXTURE_LARGE,   /* the frames do not fit into a picture; that was said */
} spl_slide_texture;

/* Writes the picture and describes it in the document. */
supple_result spl_slide_texture_write(spl_gltf_slide *s, spl_bake *bake, const spl_frames *frames, spl_output *output,
                                      spl_slide_texture *done, supple_error *error);

#endif
