/* Built without OpenCL's headers: there is no device. */
#include "core/error.h"
#include "methods/projective/cl/batch.h"
#include "methods/projective/cl/engine.h"
#include "methods/projective/cl/visual.h"

#include <string.h>
#include <supple/device.h>

supple_result supple_device_open(const char *name, const supple_config *config, supple_device **out,
                                 supple_error *error)
{
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    if (!name || strncmp(name, "cl", 2) != 0 || (name[2] && name[2] != ':'))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "device '%.40s' is unknown; there are cpu, cl and cl:N",
                        name ? name : "");
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "no OpenCL device here: this build is without OpenCL");
}

void supple_device_close(supple_device *device)
{
    (void)device;
}

const char *supple_device_name(const supple_device *device)
{
    (void)device;
    return "";
}

void *supple_device_cl_context(const supple_device *device)
{
    (void)device;
    return NULL;
}

void *supple_device_cl_device(const supple_device *device)
{
    (void)device;
    return NULL;
}

void *supple_device_cl_queue(const supple_device *device)
{
    (void)device;
    return NULL;
}

supple_result spl_cl_engine_create(struct supple_device *device, const spl_pd *pd, int32_t inner,
                                   const supple_allocator *a, spl_pd_engine **out, supple_error *error)
{
    (void)device, (void)pd, (void)inner, (void)a;
    *out = NULL;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "this build is without OpenCL");
}

supple_result spl_cl_visual_create(struct supple_device *device, const spl_upsample *u, const bool *fixed,
                                   const supple_allocator *a, spl_cl_visual **out, supple_error *error)
{
    (void)device, (void)u, (void)fixed, (void)a;
    *out = NULL;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "this build is without OpenCL");
}

void spl_cl_visual_destroy(spl_cl_visual *v)
{
    (void)v;
}

/* Nobody has one to call these with. */
supple_result spl_cl_visual_run(spl_cl_visual *v, const spl_cl_visual_frame *frame, supple_error *error)
{
    (void)v, (void)frame;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "this build is without OpenCL");
}

supple_result spl_cl_visual_take(spl_cl_visual *v, const float *position, const float *normal, supple_error *error)
{
    (void)v, (void)position, (void)normal;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "this build is without OpenCL");
}

void *spl_cl_visual_positions(const spl_cl_visual *v)
{
    (void)v;
    return NULL;
}

void *spl_cl_visual_normals(const spl_cl_visual *v)
{
    (void)v;
    return NULL;
}

bool spl_cl_visual_has_normals(const spl_cl_visual *v)
{
    (void)v;
    return false;
}

uint64_t spl_cl_visual_bytes(const spl_cl_visual *v)
{
    (void)v;
    return 0;
}

supple_result spl_cl_visual_copy(spl_cl_visual *v, float *position, float *normal, supple_error *error)
{
    return spl_cl_visual_take(v, position, normal, error);
}

supple_result spl_cl_visual_wait(spl_cl_visual *v, supple_error *error)
{
    return spl_cl_visual_take(v, NULL, NULL, error);
}

supple_result spl_cl_batch_create(struct supple_device *device, spl_pd *const *pd, int32_t count, int32_t inner,
                                  const supple_allocator *a, spl_cl_batch **out, supple_error *error)
{
    (void)device, (void)pd, (void)count, (void)inner, (void)a;
    *out = NULL;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "this build is without OpenCL");
}

void spl_cl_batch_destroy(spl_cl_batch *b)
{
    (void)b;
}

supple_result spl_cl_batch_solve(spl_cl_batch *b, spl_cl_batch_part *part, supple_error *error)
{
    (void)b, (void)part;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "this build is without OpenCL");
}
