/* New skin weights for a scene's vertices, and the .glb or .gltf of the scene with them: all else is carried through.
 */
#ifndef SPL_SCENE_WRITERS_NEW_WEIGHTS_H
#define SPL_SCENE_WRITERS_NEW_WEIGHTS_H

#include "scene/writers/bake.h"

typedef struct spl_new_weights {
    supple_allocator allocator;
    int32_t influences; /* K: 4 or 8 */
    uint16_t *joint;    /* K x the scene's vertices: indices into the vertex's skin, 0 where the weight is 0 */
    float *weight;      /* the same; descending, sum 1 */
    bool *changed;      /* by the scene's vertices; others keep what the file gives them */
} spl_new_weights;

supple_result spl_new_weights_create(const supple_scene *scene, int32_t influences, const supple_allocator *a,
                                     spl_new_weights *out, supple_error *error);
void spl_new_weights_release(spl_new_weights *w);

/* The scene's document with the new weights in place of the old (bake.h). Of a mesh that several nodes show, the first
 * skinned one tells; where another has a skin with other joints, the mesh keeps its old weights, with a warning. */
supple_result spl_bake_weights(spl_bake *bake, const supple_writer *writer, const spl_new_weights *weights,
                               supple_error *error);

/* Writes the scene with new weights, by the path's ending .glb or .gltf; refuses the scene's own files. */
supple_result spl_gltf_write_weights(const supple_scene *scene, const spl_new_weights *weights, const char *path,
                                     const supple_config *config, supple_error *error);

#endif
