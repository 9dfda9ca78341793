/* The world around a character: colliders out of files, in motion. A .json has spheres, capsules and planes in the
 * space of the character's scene; a scene file has closed meshes, moved and skinned (linearly) by its first clip, in
 * the same space, its unit and upward axis taken into account. */
#ifndef SPL_SIM_WORLD_H
#define SPL_SIM_WORLD_H

#include "contact/collider_file.h"
#include "methods/skinning.h"

/* One file. */
typedef struct spl_world_source {
    int32_t first; /* its first collider */
    spl_collider_file file;
    supple_scene *scene; /* NULL for a .json */
    spl_pose pose;
    spl_skinning skinning;
    float *rest, *moved; /* 3 x the scene's vertices */
    double *position;    /* the same in the solver's space */
    spl_mat3 axes;       /* from the scene's world to the solver's space */
} spl_world_source;

typedef struct spl_world {
    supple_allocator allocator;
    spl_pool *pool;
    spl_colliders *colliders; /* NULL: an empty world */
    double to_solver;         /* from the character's world to the solver's space */
    int32_t source_count;
    spl_world_source *source;
} spl_world;

/* Loads the config's collider files for a character. SUPPLE_ERROR_INPUT for a file that is wrong, and for an open mesh,
 * with the number of its border edges. On failure *out is released. */
supple_result spl_world_create(const supple_sim_config *sc, const supple_scene *character, double to_solver,
                               const supple_config *config, spl_pool *pool, spl_world *out, supple_error *error);
void spl_world_release(spl_world *w); /* accepts a zeroed one */

/* Moves all to a time, in seconds. Allocates nothing. */
void spl_world_pose(spl_world *w, double time);

#endif
