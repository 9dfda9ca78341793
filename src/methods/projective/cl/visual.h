/* The visual mesh on a device: the body's upsampling map there, positions and normals in buffers that a renderer may
 * use or that are copied to the host while it does something else. */
#ifndef SPL_METHODS_PROJECTIVE_CL_VISUAL_H
#define SPL_METHODS_PROJECTIVE_CL_VISUAL_H

#include "body/upsample.h"

struct supple_device;

typedef struct spl_cl_visual spl_cl_visual;

/* For a map, and the parts of `vertex_count` visual vertices that do not ride on the body (`fixed` by vertex, or NULL):
 * the host places those. SUPPLE_ERROR_SOLVE if the device cannot, or if the map is of a kind that it does not have. */
supple_result spl_cl_visual_create(struct supple_device *device, const spl_upsample *u, const bool *fixed,
                                   const supple_allocator *a, spl_cl_visual **out, supple_error *error);
void spl_cl_visual_destroy(spl_cl_visual *v); /* accepts NULL */

/* What a frame of it is made from. */
typedef struct spl_cl_visual_frame {
    const float *posed;              /* 3 a body vertex, as for spl_upsample_apply_float */
    const spl_upsample_frame *frame; /* of the same body, just applied: how it is stretched as a whole */
    float scale;                     /* of what comes out */
    const float *position, *normal;  /* 3 a visual vertex: the host's, for vertices that it places */
} spl_cl_visual_frame;

/* Upsamples on the device. The frame's memory may be used again when it returns. */
supple_result spl_cl_visual_run(spl_cl_visual *v, const spl_cl_visual_frame *frame, supple_error *error);

/* Takes the host's positions and normals instead. */
supple_result spl_cl_visual_take(spl_cl_visual *v, const float *position, const float *normal, supple_error *error);

/* The buffers (cl_mem), 3 floats a vertex; whether normals are made there. */
void *spl_cl_visual_positions(const spl_cl_visual *v);
void *spl_cl_visual_normals(const spl_cl_visual *v);
bool spl_cl_visual_has_normals(const spl_cl_visual *v);
uint64_t spl_cl_visual_bytes(const spl_cl_visual *v); /* of all its buffers */

/* Starts to copy both (either may be NULL) to the host, and waits for that. */
supple_result spl_cl_visual_copy(spl_cl_visual *v, float *position, float *normal, supple_error *error);
supple_result spl_cl_visual_wait(spl_cl_visual *v, supple_error *error);

#endif
