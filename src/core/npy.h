/* NumPy's .npy, version 1.0, C order: the header, and whole arrays. */
#ifndef SPL_CORE_NPY_H
#define SPL_CORE_NPY_H

#include "core/file.h"

typedef enum spl_npy_type { SPL_NPY_FLOAT32, SPL_NPY_FLOAT64, SPL_NPY_INT32 } spl_npy_type;

/* The header of an array with up to three dimensions; those after the first 0 are left out. */
supple_result spl_npy_header(spl_output *output, spl_npy_type type, const size_t shape[3], supple_error *error);

/* A two-dimensional array as a file (width 0: one-dimensional). */
supple_result spl_npy_write(const char *path, spl_npy_type type, const void *data, size_t count, size_t width,
                            const supple_allocator *a, supple_error *error);

#endif
