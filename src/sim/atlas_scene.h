/* The scene with an atlas in place of its textures: the file's own document with other images and texture coordinates,
 * read anew. */
#ifndef SPL_SIM_ATLAS_SCENE_H
#define SPL_SIM_ATLAS_SCENE_H

#include "scene/scene.h"

/* What becomes of a primitive's vertices. */
typedef struct spl_atlas_part {
    int32_t vertex_count; /* 0: nothing */
    int32_t *source;      /* by new vertex: the file's */
    int32_t *triangle;    /* 3 a triangle */
    float *uv;            /* 2 a vertex */
} spl_atlas_part;

/* A map of a material: its place in the document's material, and the new image as PNG. */
typedef struct spl_atlas_image {
    int32_t material;
    const char *group, *key; /* "pbrMetallicRoughness" or NULL, "baseColorTexture" */
    int32_t image;           /* the document's own */
    uint8_t *data;           /* PNG */
    size_t size;
} spl_atlas_image;

/* `part`: one for every primitive of every mesh instance, in the scene's order. A material whose images are replaced
 * and that also draws a primitive which stays as it is gets a copy for those that change. */
supple_result spl_atlas_scene_make(const supple_scene *scene, const spl_atlas_part *part, const spl_atlas_image *image,
                                   int32_t image_count, const supple_config *config, supple_scene **out,
                                   supple_error *error);

#endif
