/* Fast projective skinning on an OpenCL device: an engine for spl_pd (solver.h). */
#ifndef SPL_METHODS_PROJECTIVE_CL_ENGINE_H
#define SPL_METHODS_PROJECTIVE_CL_ENGINE_H

#include "methods/projective/solver.h"

struct supple_device;

/* For the problems of `pd`, which must outlive it as the device must. Each global step takes `inner` iterations of
 * conjugate gradients. SUPPLE_ERROR_SOLVE with one line if the device cannot; SUPPLE_ERROR_MEMORY. */
supple_result spl_cl_engine_create(struct supple_device *device, const spl_pd *pd, int32_t inner,
                                   const supple_allocator *a, spl_pd_engine **out, supple_error *error);

/* The same from a view, for bodies that are joined (batch.h). What it points to must outlive the engine. */
supple_result spl_cl_engine_of(struct supple_device *device, const spl_pd_view *view, int32_t inner,
                               const supple_allocator *a, spl_pd_engine **out, supple_error *error);

#endif
