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

/* Makes the visual mesh of the last step on the simulation's device too, by the body's upsampling: positions, in world
 * space and output order, and normals, 3 floats a vertex each. The first call makes the buffers. Normals are the
 * upsampled ones (section 5 of the paper), which differ a little from those that supple_sim_read_normals computes from
 * triangles. Vertices that do not ride on the flesh, morphs and the polish at contacts are taken from the host.
 * SUPPLE_ERROR_ARGUMENT without a device; SUPPLE_ERROR_SOLVE where it fails: the simulation itself is not touched. */
SUPPLE_API supple_result supple_sim_device_show(supple_sim *sim, supple_error *error);

/* The buffers (cl_mem, the simulation's own, until it is destroyed) that the last supple_sim_device_show has filled;
 * NULL before. */
SUPPLE_API void *supple_sim_device_positions(const supple_sim *sim);
SUPPLE_API void *supple_sim_device_normals(const supple_sim *sim);

/* Starts to copy them to the host, tightly packed; either may be NULL. The memory is the device's until
 * supple_sim_copy_finish returns, which must come before the next supple_sim_device_show. */
SUPPLE_API supple_result supple_sim_copy_start(supple_sim *sim, float *positions, float *normals, supple_error *error);
SUPPLE_API supple_result supple_sim_copy_finish(supple_sim *sim, supple_error *error);

/* Simulations that are stepped together: their time steps go to the device as one, every kernel launched once for all.
 */
typedef struct supple_batch supple_batch;

/* Joins simulations that share a device (shared_device of their configs), by method projective with dynamics and the
 * setting accelerate=none and with the same iterations and inner, each in one batch and once. They must outlive it, and
 * are not stepped otherwise meanwhile.
 * SUPPLE_ERROR_ARGUMENT for others, SUPPLE_ERROR_SOLVE where the device has no room. */
SUPPLE_API supple_result supple_batch_create(supple_sim *const *sims, int32_t count, supple_batch **out,
                                             supple_error *error);
SUPPLE_API void supple_batch_destroy(supple_batch *batch); /* accepts NULL */

/* supple_sim_step_clip of all, each at its clip and time; or supple_sim_step_pose_dt, `dt` seconds after the last step.
 * Each runs on a thread of its own, the log included. The first failure is returned; all have been stepped. */
SUPPLE_API supple_result supple_batch_step_clip(supple_batch *batch, const int32_t *clips, const double *times,
                                                supple_error *error);
SUPPLE_API supple_result supple_batch_step_pose(supple_batch *batch, const float *const *matrices,
                                                const int32_t *matrix_counts, double dt, supple_error *error);

#ifdef __cplusplus
}
#endif
#endif
