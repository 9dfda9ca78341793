/* Textures for the rasteriser: a mip pyramid in sRGB bytes, averaged and sampled in linear light. */
#ifndef SPL_SHOW_TEXTURE_H
#define SPL_SHOW_TEXTURE_H

#include "scene/image.h"

enum { SPL_TEXTURE_LEVELS = 16 };

typedef struct spl_texture {
    int32_t level_count; /* 0: no texture */
    spl_pixels level[SPL_TEXTURE_LEVELS];
    float linear[256]; /* sRGB byte to linear light */
} spl_texture;

/* Takes the pixels over (also on failure) and builds the pyramid. Levels above `side_max` pixels are dropped. */
supple_result spl_texture_build(spl_texture *texture, spl_pixels *pixels, int32_t side_max, const supple_allocator *a,
                                supple_error *error);
void spl_texture_free(spl_texture *texture, const supple_allocator *a);

/* Linear RGB and alpha at a texture coordinate (repeating, v down), trilinear. `footprint` is the size of the filter in
 * units of the texture coordinates along its longer and its shorter axis. */
void spl_texture_sample(const spl_texture *texture, const double uv[2], const double footprint[2], float out[4]);

float spl_srgb_to_linear(float s);
float spl_linear_to_srgb(float l);

#endif
