/* Built without OpenCL's headers: there is no device. */
#include "core/error.h"
#include "methods/projective/cl/engine.h"

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
