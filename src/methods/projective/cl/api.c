#include "methods/projective/cl/api.h"

#include "core/error.h"

#include <dlfcn.h>
#include <string.h>

static const char *const LIBRARIES[] = {"libOpenCL.so.1", "libOpenCL.so"};

static void *open_library(void)
{
    void *library = NULL;
    for (size_t i = 0; i < sizeof LIBRARIES / sizeof *LIBRARIES && !library; i++)
        library = dlopen(LIBRARIES[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* ISO C has no cast from void * to a function. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

supple_result spl_cl_load(spl_cl_api *out, supple_error *error)
{
    *out = (spl_cl_api){0};
    void *library = open_library();
    if (!library)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "no OpenCL here: %s cannot be loaded (package ocl-icd-libopencl1)",
                        LIBRARIES[0]);
    const char *missing = NULL;
#define FIND(name)                                                                                                     \
    if (!find(library, "cl" #name, &out->name)) missing = "cl" #name;
    SPL_CL_FUNCTIONS(FIND)
#undef FIND
    if (!missing) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "OpenCL lacks %s: 1.2 is needed", missing);
}

const char *spl_cl_reason(cl_int code)
{
    switch (code) {
    case CL_DEVICE_NOT_FOUND:
        return "no device found";
    case CL_DEVICE_NOT_AVAILABLE:
        return "the device is not available";
    case CL_COMPILER_NOT_AVAILABLE:
        return "it has no compiler";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        return "too little device memory";
    case CL_OUT_OF_RESOURCES:
        return "out of resources";
    case CL_OUT_OF_HOST_MEMORY:
        return "out of the host's memory";
    case CL_BUILD_PROGRAM_FAILURE:
        return "kernels do not compile";
    case CL_INVALID_BUFFER_SIZE:
        return "a buffer is too large for the device";
    case CL_INVALID_WORK_GROUP_SIZE:
        return "work-group too large";
    case CL_INVALID_COMMAND_QUEUE:
        return "the queue is lost";
    case -1001:
        return "no platform is installed"; /* of the loader: CL_PLATFORM_NOT_FOUND_KHR */
    default:
        return "an OpenCL error";
    }
}
