/* Supple: a device that simulations run on instead of the processor (docs/device.md): OpenCL 1.2, loaded when it is
 * asked for. Method projective uses it; others run on the processor. Nothing here fails hard: where a device is missing
 * or gives up, simulations go on without it and say so once through the log. */
#ifndef SUPPLE_DEVICE_H
#define SUPPLE_DEVICE_H

#include <supple/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One device with its context, queue and compiled kernels. Any number of simulations may share it, also from several
 * threads; it must outlive them. */
typedef struct supple_device supple_device;

/* Opens a device by name: "cl", the first GPU or else the first device there is, or "cl:N", the N-th of all, from 0.
 * SUPPLE_ERROR_ARGUMENT for another name; SUPPLE_ERROR_SOLVE, with the reason, where there is no such device or it
 * cannot compile the kernels. `config` may be NULL; its allocator must outlive the device. */
SUPPLE_API supple_result supple_device_open(const char *name, const supple_config *config, supple_device **out,
                                            supple_error *error);

/* Closes it, after the simulations on it. Accepts NULL. */
SUPPLE_API void supple_device_close(supple_device *device);

/* What it is, in one line: its own name and its platform's. */
SUPPLE_API const char *supple_device_name(const supple_device *device);

/* Its cl_context, cl_device_id and cl_command_queue (in order), for hosts that share buffers with it. */
SUPPLE_API void *supple_device_cl_context(const supple_device *device);
SUPPLE_API void *supple_device_cl_device(const supple_device *device);
SUPPLE_API void *supple_device_cl_queue(const supple_device *device);

/* Whether the next step of a simulation is to run on a device. False without one, and once it has given up. */
SUPPLE_API bool supple_sim_on_device(const supple_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
