/* Images: PNG and JPEG in, PNG out. Sizes are bounded before anything is allocated. */
#ifndef SPL_SCENE_IMAGE_H
#define SPL_SCENE_IMAGE_H

#include <supple/base.h>

/* 8-bit RGBA, rows from the top. */
typedef struct spl_pixels {
    int32_t width, height;
    uint8_t *rgba; /* 4 x width x height */
} spl_pixels;

/* Decodes a PNG or JPEG (recognised by its first bytes). At most 16384 pixels a side and 2^26 in all. */
supple_result spl_image_decode(const uint8_t *data, size_t size, const supple_allocator *a, spl_pixels *out,
                               supple_error *error);

/* Encodes as PNG (RGB if every pixel is opaque). The bytes are the same on every run. */
supple_result spl_image_encode_png(const spl_pixels *pixels, const supple_allocator *a, uint8_t **data, size_t *size,
                                   supple_error *error);

void spl_pixels_free(spl_pixels *pixels, const supple_allocator *a);

#endif
