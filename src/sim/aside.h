/* How far a frame shows limbs from where the animator has them, where they yield (contact/yield.h). */
#ifndef SPL_SIM_ASIDE_H
#define SPL_SIM_ASIDE_H

#include "methods/skinning.h"

typedef struct spl_aside {
    supple_allocator allocator;
    const supple_scene *scene;
    spl_mat4 *world; /* by node: as the animator has it */
    spl_skinning skinning;
    float *posed, *turned; /* 3 x scene vertices: the file's skinning of both poses */
} spl_aside;

supple_result spl_aside_create(const supple_scene *scene, const supple_allocator *a, spl_aside *out,
                               supple_error *error);
void spl_aside_release(spl_aside *s);

/* Keeps a pose as the animator has it, before limbs are turned in it. */
void spl_aside_keep(spl_aside *s, const spl_pose *pose);

/* The farthest that a joint or a visual vertex, by the file's own linear skinning of `rest`, is in a pose from where it
 * is in the pose that was kept; in the world's unit. */
double spl_aside_measure(spl_aside *s, const spl_pose *pose, const float *rest, spl_pool *pool);

#endif
