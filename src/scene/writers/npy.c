/* NumPy's .npy, version 1.0: float32, C order, frames x points x 3, all mesh instances in cache order. */
#include "core/npy.h"
#include "scene/writers/writer.h"

typedef struct npy_writer {
    supple_writer base;
    spl_output output;
} npy_writer;

static supple_result npy_open(supple_writer *writer, supple_error *error)
{
    npy_writer *w = (npy_writer *)writer;
    supple_result result = spl_writer_output(writer, writer->path, &w->output, error);
    if (result != SUPPLE_OK) return result;
    const size_t shape[3] = {(size_t)writer->frame_total, (size_t)writer->scene->point_count, 3};
    return spl_npy_header(&w->output, SPL_NPY_FLOAT32, shape, error);
}

static supple_result npy_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    npy_writer *w = (npy_writer *)writer;
    const float *points = spl_writer_points(writer, frame->position);
    return spl_output_floats(&w->output, points, 3 * (size_t)writer->scene->point_count, false, error);
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
