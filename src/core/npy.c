#include "core/npy.h"

#include <string.h>

static const char *const NAMES[] = {"<f4", "<f8", "<i4"};
static const size_t SIZES[] = {4, 8, 4};

supple_result spl_npy_header(spl_output *output, spl_npy_type type, const size_t shape[3], supple_error *error)
{
    /* The data begin at a multiple of 64 bytes; the text before is padded with spaces and ends in a newline. */
    char header[128], text[80];
    int n = 0;
    for (int i = 0; i < 3 && (i == 0 || shape[i] > 0); i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%zu, ", shape[i]);
    if (shape[1] > 0) text[n - 2] = 0; /* only a tuple of one ends in a comma */
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(sizeof header - 10);
    header[9] = 0;
    n = snprintf(header + 10, sizeof header - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                 NAMES[type], text);
    header[10 + n] = ' ';
    header[sizeof header - 1] = '\n';
    return spl_output_bytes(output, header, sizeof header, error);
}

supple_result spl_npy_write(const char *path, spl_npy_type type, const void *data, size_t count, size_t width,
                            const supple_allocator *a, supple_error *error)
{
    spl_output output;
    const size_t shape[3] = {count, width, 0};
    supple_result result = spl_output_open(&output, path, a, error);
    if (result != SUPPLE_OK) return result;
    result = spl_npy_header(&output, type, shape, error);
    size_t bytes = count * (width ? width : 1) * SIZES[type];
    if (result == SUPPLE_OK && bytes) result = spl_output_bytes(&output, data, bytes, error);
    if (result == SUPPLE_OK) return spl_output_commit(&output, error);
    spl_output_discard(&output);
    return result;
}
