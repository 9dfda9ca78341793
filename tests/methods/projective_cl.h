/* Devices for tests: the first one, opened once a program. */
#ifndef SPL_TESTS_METHODS_PROJECTIVE_CL_H
#define SPL_TESTS_METHODS_PROJECTIVE_CL_H

#include "methods/projective/cl/device.h"
#include "methods/projective/cl/engine.h"
#include "test.h"

/* Why there is no device to test on, or NULL. A driver under a sanitizer is not our business: PoCL compiles with LLVM
 * in this process, whose own leaks and races end the program. */
static inline const char *device_missing(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return "OpenCL drivers (PoCL with LLVM in this process) upset the sanitizers";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return "OpenCL drivers (PoCL with LLVM in this process) upset the sanitizers";
#endif
#endif
    static char reason[256];
    supple_device *d;
    supple_error error = {0};
    supple_result result =
        spl_device_open("cl", &(spl_device_options){.source = "__kernel void none(void) {}"}, NULL, &d, &error);
    supple_device_close(d);
    snprintf(reason, sizeof reason, "%s", error.message);
    return result == SUPPLE_OK ? NULL : reason;
}

#define NEED_DEVICE()                                                                                                  \
    do {                                                                                                               \
        const char *missing = device_missing();                                                                        \
        if (missing) SKIP(missing);                                                                                    \
    } while (0)

#endif
