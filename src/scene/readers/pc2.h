/* Point caches (.pc2) as input: a vertex animation that another program made. */
#ifndef SPL_SCENE_READERS_PC2_H
#define SPL_SCENE_READERS_PC2_H

#include "scene/scene.h"

/* Frames x vertices of one file. */
typedef struct spl_pc2 {
    int32_t sample_count, vertex_count;
    double spacing; /* frames from one sample to the next */
    float *sample;  /* sample_count x 3 x vertex_count, finite; belongs to the allocator */
} spl_pc2;

/* Reads a cache strictly: version 1, `vertex_count` points, exactly as many samples as its header says, all finite.
 * Anything else is SUPPLE_ERROR_INPUT. */
supple_result spl_pc2_parse(const uint8_t *data, size_t size, const char *name, int32_t vertex_count,
                            const supple_allocator *a, spl_pc2 *out, supple_error *error);

#endif
