/* Points of caches and vertices of the scene. */
#ifndef SPL_SHOW_POINTS_H
#define SPL_SHOW_POINTS_H

#include "scene/parts.h"

/* The point of the index-th vertex of a part. */
static inline int32_t spl_part_point(const supple_scene *scene, const spl_part *part, int32_t vertex)
{
    const spl_instance *in = &scene->instance[part->instance];
    return in->first_point +
           spl_point_of(&scene->mesh[in->mesh], part->primitive, part->first_vertex - in->first_vertex, vertex);
}

#endif
