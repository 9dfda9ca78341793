/* Textures beside an output whose texture coordinates slide: pictures as the scene has them, in files of their own. */
#ifndef SPL_SCENE_WRITERS_TEXTURES_H
#define SPL_SCENE_WRITERS_TEXTURES_H

#include "scene/writers/writer.h"

typedef struct spl_textures {
    int32_t count;
    char **name;        /* by image of the scene: the file's name without its folder; NULL: none is written */
    spl_output *output; /* by image, then one of room */
} spl_textures;

/* Writes the base colours of all materials as OUT.texture-0.png and so on, not yet under their names. */
supple_result spl_textures_open(spl_textures *t, const supple_writer *writer, supple_error *error);

/* The file of a material's base colour; NULL: none. */
const char *spl_textures_of(const spl_textures *t, const supple_scene *scene, int32_t material);

/* Commits them together with the output that they are for, or (NULL) alone. */
supple_result spl_textures_commit(spl_textures *t, spl_output *main, const supple_allocator *a, supple_error *error);

void spl_textures_release(spl_textures *t, const supple_allocator *a);

#endif
