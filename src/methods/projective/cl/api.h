/* The functions of OpenCL 1.2 that are used, in a table: loaded when a device is opened, so that the library links
 * nothing and runs where there is no OpenCL; and replaced by tests that make the n-th call fail. */
#ifndef SPL_METHODS_PROJECTIVE_CL_API_H
#define SPL_METHODS_PROJECTIVE_CL_API_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <supple/base.h>

#define SPL_CL_FUNCTIONS(X)                                                                                            \
    X(GetPlatformIDs)                                                                                                  \
    X(GetPlatformInfo)                                                                                                 \
    X(GetDeviceIDs)                                                                                                    \
    X(GetDeviceInfo)                                                                                                   \
    X(CreateContext)                                                                                                   \
    X(ReleaseContext)                                                                                                  \
    X(CreateCommandQueue)                                                                                              \
    X(ReleaseCommandQueue)                                                                                             \
    X(CreateProgramWithSource)                                                                                         \
    X(BuildProgram)                                                                                                    \
    X(GetProgramBuildInfo)                                                                                             \
    X(ReleaseProgram)                                                                                                  \
    X(CreateKernel)                                                                                                    \
    X(ReleaseKernel)                                                                                                   \
    X(SetKernelArg)                                                                                                    \
    X(GetKernelWorkGroupInfo)                                                                                          \
    X(CreateBuffer)                                                                                                    \
    X(ReleaseMemObject)                                                                                                \
    X(EnqueueWriteBuffer)                                                                                              \
    X(EnqueueReadBuffer)                                                                                               \
    X(EnqueueNDRangeKernel)                                                                                            \
    X(Flush)                                                                                                           \
    X(Finish)                                                                                                          \
    X(WaitForEvents)                                                                                                   \
    X(GetEventProfilingInfo)                                                                                           \
    X(ReleaseEvent)

#define SPL_CL_MEMBER(name) __typeof__(cl##name) *name;
typedef struct spl_cl_api {
    SPL_CL_FUNCTIONS(SPL_CL_MEMBER)
} spl_cl_api;
#undef SPL_CL_MEMBER

/* Loads libOpenCL; it stays loaded, since drivers do not bear to be unloaded. SUPPLE_ERROR_SOLVE with the reason. */
supple_result spl_cl_load(spl_cl_api *out, supple_error *error);

/* What an error code means, in a word or two. */
const char *spl_cl_reason(cl_int code);

#endif
