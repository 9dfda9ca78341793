/* The parts of a scene: every primitive of every mesh instance, in output order. */
#ifndef SPL_SCENE_PARTS_H
#define SPL_SCENE_PARTS_H

#include "scene/scene.h"

typedef struct spl_part {
    int32_t instance;
    const spl_primitive *primitive;
    int32_t first_vertex; /* in output order */
} spl_part;

/* A new list of all parts, to be freed with spl_free; NULL if memory is out. */
spl_part *spl_parts_new(const supple_scene *scene, const supple_allocator *a, int32_t *count);

/* Whether the part is moved by its skin's joints (else it is rigid on its node). */
bool spl_part_skinned(const supple_scene *scene, const spl_part *part);

/* Whether a name of a mesh, material or joint is the one asked for, or matches it as a shell pattern; case does not
 * count. */
bool spl_name_matches(const char *pattern, const char *name);

/* Whether the part's mesh instance or its material has such a name. */
bool spl_part_matches(const supple_scene *scene, const spl_part *part, const char *pattern);

#endif
