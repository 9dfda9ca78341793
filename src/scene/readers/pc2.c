/* "POINTCACHE2\0", then little endian: version, points (int32), start, frames a sample (float32), samples (int32), and
 * the positions as float32, point after point, sample after sample. */
#include "scene/readers/pc2.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

enum { HEADER = 32 };

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static float get_f32(const uint8_t *p)
{
    uint32_t bits = get_u32(p);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static supple_result check_header(const uint8_t *data, size_t size, const char *name, int32_t vertex_count,
                                  spl_pc2 *out, supple_error *error)
{
    if (size < HEADER || memcmp(data, "POINTCACHE2", 12) != 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%.80s: not a .pc2 file: it does not begin with POINTCACHE2", name);
    uint32_t version = get_u32(data + 12), points = get_u32(data + 16), samples = get_u32(data + 28);
    out->spacing = (double)get_f32(data + 24);
    if (version != 1) return spl_fail(error, SUPPLE_ERROR_INPUT, "%.80s: version %u of .pc2 is unknown", name, version);
    if (points != (uint32_t)vertex_count)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "%.80s: the cache has %u points, the character has %d vertices; it must be of this very file",
                        name, points, (int)vertex_count);
    if (samples == 0 || samples > INT32_MAX)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%.80s: a cache of %u samples", name, samples);
    if (!(out->spacing >= 1e-3 && out->spacing <= 1e3))
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%.80s: a sample every %g frames", name, out->spacing);
    uint64_t width = 12 * (uint64_t)points, bytes = size - HEADER;
    if (width ? bytes % width != 0 || bytes / width != samples : bytes != 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "%.80s: %zu bytes are not %u samples of %u points; it may have been cut off", name, size,
                        samples, points);
    out->sample_count = (int32_t)samples;
    out->vertex_count = vertex_count;
    return SUPPLE_OK;
}

supple_result spl_pc2_parse(const uint8_t *data, size_t size, const char *name, int32_t vertex_count,
                            const supple_allocator *a, spl_pc2 *out, supple_error *error)
{
    size_t length = strlen(name);
    *out = (spl_pc2){0};
    if (length > 80) name += length - 80; /* a long path's end says more than its beginning */
    supple_result result = check_header(data, size, name, vertex_count, out, error);
    if (result != SUPPLE_OK) return result;
    size_t count = (size - HEADER) / 4;
    float *sample = spl_new(a, count, sizeof *sample);
    if (!sample) return spl_fail_memory(error, "the vertex animation");
    for (size_t i = 0; i < count; i++) {
        sample[i] = get_f32(data + HEADER + 4 * i);
        if (isfinite(sample[i])) continue;
        spl_free(a, sample);
        size_t width = 3 * (size_t)vertex_count;
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%.80s: sample %zu, point %zu is not finite", name, i / width,
                        i % width / 3);
    }
    out->sample = sample;
    return SUPPLE_OK;
}
