/* NumPy's .npy, version 1.0: float32, C order, frames x vertices x 3, all mesh instances in output order. */
#include "core/error.h"
#include "scene/writers/writer.h"

#include <string.h>

typedef struct npy_writer {
    supple_writer base;
    spl_output output;
} npy_writer;

static supple_result npy_open(supple_writer *writer, supple_error *error)
{
    npy_writer *w = (npy_writer *)writer;
    supple_result result = spl_writer_output(writer, writer->path, &w->output, error);
    if (result != SUPPLE_OK) return result;
    /* The data begin at a multiple of 64 bytes; the text before is padded with spaces and ends in a newline. */
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(sizeof header - 10);
    header[9] = 0;
    int n =
        snprintf(header + 10, sizeof header - 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, 3), }",
                 (int)writer->frame_total, (int)writer->scene->vertex_count);
    header[10 + n] = ' ';
    header[sizeof header - 1] = '\n';
    return spl_output_bytes(&w->output, header, sizeof header, error);
}

static supple_result npy_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    npy_writer *w = (npy_writer *)writer;
    return spl_output_floats(&w->output, frame->position, 3 * (size_t)writer->scene->vertex_count, false, error);
}

static supple_result npy_close(supple_writer *writer, supple_error *error)
{
    return spl_output_commit(&((npy_writer *)writer)->output, error);
}

static void npy_release(supple_writer *writer)
{
    spl_output_discard(&((npy_writer *)writer)->output);
}

const spl_format spl_format_npy = {
    .ending = ".npy",
    .summary = "NumPy array, float32, frames x vertices x 3",
    .state_size = sizeof(npy_writer),
    .open = npy_open,
    .frame = npy_frame,
    .close = npy_close,
    .release = npy_release,
};
