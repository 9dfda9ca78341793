/* A device: context, queue and compiled kernels, shared by simulations; and what they do with it: buffers, kernels and
 * launches that remember the first failure, so that a step is checked once. */
#ifndef SPL_METHODS_PROJECTIVE_CL_DEVICE_H
#define SPL_METHODS_PROJECTIVE_CL_DEVICE_H

#include "methods/projective/cl/api.h"

#include <supple/device.h>

enum {
    SPL_CL_BLOCK = 64,    /* nodes, or tets, that a work-group goes through */
    SPL_CL_NARROW = 65536 /* vertices of a body's surface, up to which 16 bits name one */
};

typedef struct spl_device_options {
    const spl_cl_api *api; /* NULL: the system's */
    const char *source;    /* instead of the kernels' own, for tests; NULL: theirs */
    size_t work_group;     /* wanted size of work-groups, for tests; 0: chosen */
    int32_t narrow;        /* instead of SPL_CL_NARROW, for tests; 0: that */
    bool profile;          /* measure kernels */
} spl_device_options;

struct supple_device {
    supple_allocator allocator;
    spl_cl_api api;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    size_t work_group;        /* wanted; 0: by the kernel */
    size_t most_items;        /* of a work-group, the device's limit */
    uint64_t local_bytes;     /* local memory */
    uint64_t memory, largest; /* bytes in all, and of one buffer */
    int32_t narrow;           /* see SPL_CL_NARROW */
    bool profile;
    char name[160];
};

/* supple_device_open with more to say. */
supple_result spl_device_open(const char *name, const spl_device_options *options, const supple_config *config,
                              supple_device **out, supple_error *error);

/* Work on a device: its first failure is kept, and nothing is done from then on. */
typedef struct spl_cl_work {
    supple_device *device;
    cl_int failed;    /* CL_SUCCESS, or the first error */
    const char *what; /* at what */
    uint64_t bytes;   /* of buffers so far */
} spl_cl_work;

/* A kernel and how it is launched. */
typedef struct spl_cl_kernel {
    const char *name;
    cl_kernel kernel;
    size_t items; /* of a work-group */
    double ms;    /* of all launches, where the device measures */
    int64_t launches;
} spl_cl_kernel;

typedef struct spl_cl_argument {
    size_t size;
    const void *value; /* NULL: local memory */
} spl_cl_argument;

#define SPL_CL_ARGUMENT(x)  ((spl_cl_argument){sizeof(x), &(x)})
#define SPL_CL_LOCAL(bytes) ((spl_cl_argument){(bytes), NULL})

/* A buffer with room for `count` elements, at least one; NULL after a failure. `from` may be NULL. */
cl_mem spl_cl_buffer(spl_cl_work *w, size_t count, size_t size, const void *from);
void spl_cl_drop(supple_device *device, cl_mem buffer); /* accepts NULL */

/* A kernel by name, its work-groups as large as asked for, the kernel and the device allow. */
void spl_cl_kernel_make(spl_cl_work *w, const char *name, spl_cl_kernel *out);
void spl_cl_kernel_drop(supple_device *device, spl_cl_kernel *k);

/* Bytes of a float4 for each work-item of the kernel's groups: what sums over a group need. */
size_t spl_cl_room(const spl_cl_kernel *k);

/* Sets arguments from the first on; launches so many groups. */
void spl_cl_arguments(spl_cl_work *w, spl_cl_kernel *k, const spl_cl_argument *argument, cl_uint count);
void spl_cl_argument_at(spl_cl_work *w, spl_cl_kernel *k, cl_uint at, spl_cl_argument argument);
void spl_cl_launch(spl_cl_work *w, spl_cl_kernel *k, size_t groups);

/* Copies: writing does not wait (the source must stay until a read or a finish), reading does if
 * told so. */
void spl_cl_write(spl_cl_work *w, cl_mem to, const void *from, size_t bytes);
void spl_cl_read(spl_cl_work *w, cl_mem from, void *to, size_t bytes, bool wait);
void spl_cl_finish(spl_cl_work *w);

/* A read that does not wait, its event (the caller's to release), and what begins and waits for it. */
void spl_cl_read_event(spl_cl_work *w, cl_mem from, void *to, size_t bytes, cl_event *event);
void spl_cl_flush(spl_cl_work *w);
void spl_cl_wait(spl_cl_work *w, cl_event event);

/* SUPPLE_OK, or SUPPLE_ERROR_SOLVE and one line about the first failure. */
supple_result spl_cl_outcome(const spl_cl_work *w, supple_error *error);

/* The kernels' source, embedded at build time. */
extern const char spl_cl_source[];

#endif
