/* Frames of a .glb that wait for the last one: which morph targets are the best is known at the end only. They lie in
 * an unlinked file; what is made of them goes from there to the output a block at a time. */
#ifndef SPL_SCENE_WRITERS_KEPT_H
#define SPL_SCENE_WRITERS_KEPT_H

#include "scene/writers/bake.h"

typedef struct spl_kept {
    spl_output spool;       /* frames: positions, normals, tangents of the whole scene, 3 floats a vertex each */
    size_t normal, tangent; /* where they begin in a frame, in floats; 0: not there */
    size_t width;           /* floats of a frame */
    float *handed;          /* the fourth number of the first frame's tangents */
    float low[3], high[3];  /* of all frames */
    double diagonal;        /* of their box */
} spl_kept;

/* A frame as the writer was given it, read back. */
typedef struct spl_kept_frame {
    float *position, *normal, *tangent; /* 3, 3 and 4 a vertex of the scene; NULL where there are none */
} spl_kept_frame;

supple_result spl_kept_open(spl_kept *kept, const spl_bake *bake, supple_error *error);
supple_result spl_kept_add(spl_kept *kept, const supple_writer *writer, const supple_frame *frame, supple_error *error);
void spl_kept_release(spl_kept *kept, const supple_allocator *a);

/* Room for one frame, and reading a frame back into it. */
supple_result spl_kept_frame_init(spl_kept_frame *frame, const spl_kept *kept, const supple_writer *writer,
                                  supple_error *error);
supple_result spl_kept_read(spl_kept *kept, const supple_writer *writer, int32_t index, spl_kept_frame *frame,
                            supple_error *error);
void spl_kept_frame_release(spl_kept_frame *frame, const supple_allocator *a);

/* Finds a basis for every baked instance, within the writer's error. */
supple_result spl_kept_find(spl_kept *kept, const spl_bake *bake, spl_pool *pool, spl_basis *basis,
                            supple_error *error);

/* Chooses how each component is stored, and scales its weights to it: integers where their rounding is small against
 * the error that is allowed, and no normals for components that do not turn them. */
supple_result spl_kept_quantise(spl_kept *kept, spl_bake *bake, spl_pool *pool, spl_basis *basis, supple_error *error);

/* Writes base shape and components of all parts to their places in `bin`, fills the bounds (6 a bounded accessor) and
 * the parts' base tangents. `largest` is the largest distance of a vertex from its frame as a viewer computes it. */
supple_result spl_kept_write(spl_kept *kept, spl_bake *bake, spl_pool *pool, spl_output *bin, float *bounds,
                             double *largest, supple_error *error);

#endif
