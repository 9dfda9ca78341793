/* OpenCL whose n-th call fails, and that counts the objects that live: for tests that make every call fail once. Behind
 * it stands the system's. */
#ifndef SPL_TESTS_METHODS_FAILING_CL_H
#define SPL_TESTS_METHODS_FAILING_CL_H

#include "methods/projective/cl/api.h"

#include <stdatomic.h>

static struct {
    spl_cl_api real;
    atomic_long calls; /* so far, on any thread */
    long fail_at;      /* the one that fails, from 0, -1 for none */
    bool lost;         /* and all later ones */
    cl_int code;       /* with this */
    atomic_long live;  /* objects not yet released */
} failing_cl;

static inline bool failing_cl_hits(void)
{
    long call = failing_cl.calls++;
    return failing_cl.fail_at >= 0 && (call == failing_cl.fail_at || (failing_cl.lost && call > failing_cl.fail_at));
}

#define FAILING_PLAIN(name, parameters, arguments)                                                                     \
    static inline cl_int CL_API_CALL failing_##name parameters                                                         \
    {                                                                                                                  \
        return failing_cl_hits() ? failing_cl.code : failing_cl.real.name arguments;                                   \
    }
#define FAILING_MAKE(type, name, parameters, arguments)                                                                \
    static inline type CL_API_CALL failing_##name parameters                                                           \
    {                                                                                                                  \
        type made = NULL;                                                                                              \
        *code = failing_cl.code;                                                                                       \
        if (!failing_cl_hits()) made = failing_cl.real.name arguments;                                                 \
        if (made) failing_cl.live++;                                                                                   \
        return made;                                                                                                   \
    }
#define FAILING_RELEASE(name, type)                                                                                    \
    static inline cl_int CL_API_CALL failing_##name(type object)                                                       \
    {                                                                                                                  \
        failing_cl.live--;                                                                                             \
        return failing_cl.real.name(object);                                                                           \
    }

FAILING_PLAIN(GetPlatformIDs, (cl_uint n, cl_platform_id *p, cl_uint *count), (n, p, count))
FAILING_PLAIN(GetPlatformInfo, (cl_platform_id p, cl_platform_info w, size_t n, void *to, size_t *size),
              (p, w, n, to, size))
FAILING_PLAIN(GetDeviceIDs, (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *d, cl_uint *count),
              (p, t, n, d, count))
FAILING_PLAIN(GetDeviceInfo, (cl_device_id d, cl_device_info w, size_t n, void *to, size_t *size), (d, w, n, to, size))
FAILING_MAKE(cl_context, CreateContext,
             (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
              void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *code),
             (p, n, d, notify, user, code))
FAILING_MAKE(cl_command_queue, CreateCommandQueue,
             (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *code), (c, d, p, code))
FAILING_MAKE(cl_program, CreateProgramWithSource,
             (cl_context c, cl_uint n, const char **s, const size_t *l, cl_int *code), (c, n, s, l, code))
FAILING_PLAIN(BuildProgram,
              (cl_program p, cl_uint n, const cl_device_id *d, const char *o,
               void(CL_CALLBACK *notify)(cl_program, void *), void *user),
              (p, n, d, o, notify, user))
FAILING_PLAIN(GetProgramBuildInfo,
              (cl_program p, cl_device_id d, cl_program_build_info w, size_t n, void *to, size_t *size),
              (p, d, w, n, to, size))
FAILING_MAKE(cl_kernel, CreateKernel, (cl_program p, const char *name, cl_int *code), (p, name, code))
FAILING_PLAIN(SetKernelArg, (cl_kernel k, cl_uint at, size_t n, const void *from), (k, at, n, from))
FAILING_PLAIN(GetKernelWorkGroupInfo,
              (cl_kernel k, cl_device_id d, cl_kernel_work_group_info w, size_t n, void *to, size_t *size),
              (k, d, w, n, to, size))
FAILING_MAKE(cl_mem, CreateBuffer, (cl_context c, cl_mem_flags f, size_t n, void *host, cl_int *code),
             (c, f, n, host, code))
FAILING_PLAIN(EnqueueWriteBuffer,
              (cl_command_queue q, cl_mem b, cl_bool w, size_t o, size_t n, const void *from, cl_uint e,
               const cl_event *l, cl_event *v),
              (q, b, w, o, n, from, e, l, v))
FAILING_PLAIN(EnqueueReadBuffer,
              (cl_command_queue q, cl_mem b, cl_bool w, size_t o, size_t n, void *to, cl_uint e, const cl_event *l,
               cl_event *v),
              (q, b, w, o, n, to, e, l, v))
FAILING_PLAIN(EnqueueNDRangeKernel,
              (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g, const size_t *l, cl_uint e,
               const cl_event *w, cl_event *v),
              (q, k, d, o, g, l, e, w, v))
FAILING_PLAIN(Flush, (cl_command_queue q), (q))
FAILING_PLAIN(WaitForEvents, (cl_uint n, const cl_event *e), (n, e))
FAILING_PLAIN(GetEventProfilingInfo, (cl_event e, cl_profiling_info w, size_t n, void *to, size_t *size),
              (e, w, n, to, size))
FAILING_RELEASE(ReleaseContext, cl_context)
FAILING_RELEASE(ReleaseCommandQueue, cl_command_queue)
FAILING_RELEASE(ReleaseProgram, cl_program)
FAILING_RELEASE(ReleaseKernel, cl_kernel)
FAILING_RELEASE(ReleaseMemObject, cl_mem)

/* Whatever it says, what was under way has ended. */
static inline cl_int CL_API_CALL failing_Finish(cl_command_queue q)
{
    cl_int code = failing_cl.real.Finish(q);
    return failing_cl_hits() ? failing_cl.code : code;
}

static inline cl_int CL_API_CALL failing_ReleaseEvent(cl_event e)
{
    return failing_cl.real.ReleaseEvent(e);
}

/* The table; false where there is no OpenCL. */
static inline bool failing_cl_make(spl_cl_api *out)
{
    failing_cl.fail_at = -1;
    failing_cl.code = CL_OUT_OF_RESOURCES;
    if (spl_cl_load(&failing_cl.real, NULL) != SUPPLE_OK) return false;
#define TAKE(name) out->name = failing_##name;
    SPL_CL_FUNCTIONS(TAKE)
#undef TAKE
    return true;
}

/* From now on the n-th call fails (-1: none), and with `lost` all that come after it. */
static inline void failing_cl_at(long n, bool lost, cl_int code)
{
    failing_cl.calls = 0;
    failing_cl.fail_at = n;
    failing_cl.lost = lost;
    failing_cl.code = code;
}

#endif
