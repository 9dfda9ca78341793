#include "scene/parts.h"

#include "core/memory.h"

#include <fnmatch.h>
#include <strings.h>
#include <supple/tools.h>

spl_part *spl_parts_new(const supple_scene *scene, const supple_allocator *a, int32_t *count)
{
    *count = 0;
    for (int32_t i = 0; i < scene->instance_count; i++) *count += scene->mesh[scene->instance[i].mesh].primitive_count;
    spl_part *parts = spl_new(a, (size_t)*count, sizeof *parts);
    if (!parts) return NULL;
    spl_part *part = parts;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        int32_t first = scene->instance[i].first_vertex;
        for (int32_t p = 0; p < mesh->primitive_count; p++) {
            *part++ = (spl_part){i, &mesh->primitive[p], first};
            first += mesh->primitive[p].vertex_count;
        }
    }
    return parts;
}

bool spl_part_skinned(const supple_scene *scene, const spl_part *part)
{
    return scene->instance[part->instance].skin >= 0 && part->primitive->influence_count > 0;
}

bool spl_name_matches(const char *pattern, const char *name)
{
    return strcasecmp(pattern, name) == 0 || fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

bool spl_part_matches(const supple_scene *scene, const spl_part *part, const char *pattern)
{
    int32_t material = part->primitive->material;
    return spl_name_matches(pattern, spl_instance_name(scene, part->instance)) ||
           (material >= 0 && spl_name_matches(pattern, scene->material[material].name));
}

bool supple_scene_has_coordinates(const supple_scene *scene)
{
    for (int32_t m = 0; m < scene->mesh_count; m++)
        for (int32_t k = 0; k < scene->mesh[m].primitive_count; k++)
            if (scene->mesh[m].primitive[k].uv) return true;
    return false;
}
