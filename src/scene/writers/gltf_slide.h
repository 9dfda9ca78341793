/* Skin that slides in a .glb: texture coordinates over time as a small basis, in `extras` that stock viewers pass over
 * (docs/slide-output.md; examples/slide-three.js plays them). */
#ifndef SPL_SCENE_WRITERS_GLTF_SLIDE_H
#define SPL_SCENE_WRITERS_GLTF_SLIDE_H

#include "scene/writers/bake.h"

typedef struct spl_gltf_slide {
    spl_output spool; /* of each frame: 3 floats a vertex: u and v in texels, 0 */
    int32_t *corner;  /* by vertex in output order: a corner that shows it, or -1 */
    double *size;     /* 2 a vertex: texels of its texture */
    float *row;       /* room: a frame */
    double apart;     /* texels: how far corners of one vertex were apart */
    int32_t most;     /* components of a primitive, of those written */
    double error;     /* texels: the largest of a vertex */
} spl_gltf_slide;

supple_result spl_gltf_slide_open(spl_gltf_slide *s, const supple_writer *writer, supple_error *error);
supple_result spl_gltf_slide_frame(spl_gltf_slide *s, const supple_writer *writer, const supple_frame *frame,
                                   supple_error *error);

/* Adds the basis of every baked primitive to the document, or (`texture` not NULL) writes its texture there. *written:
 * there is such a file. */
supple_result spl_gltf_slide_close(spl_gltf_slide *s, spl_bake *bake, spl_output *texture, bool *written,
                                   supple_error *error);

/* Puts frames and rate into a primitive's description and hangs it on the primitive; it is taken over. */
void spl_gltf_slide_describe(spl_bake *bake, const spl_bake_part *part, json_t *slide);

/* The last part of a path as a URI: everything but unreserved characters is escaped. NULL if memory is out. */
char *spl_output_uri(const char *path, const supple_allocator *a);
void spl_gltf_slide_release(spl_gltf_slide *s, const supple_allocator *a);

#endif
