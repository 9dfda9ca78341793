/* The way of a solid's bones from one pose to the next, for solvers that must not jump.
 *
 * Each joint turns against its parent by the shortest rotation, and its head moves straight as the parent sees it; what
 * scales goes straight too. The way begins at the bind pose, where the flesh is at rest. */
#ifndef SPL_BODY_POSE_PATH_H
#define SPL_BODY_POSE_PATH_H

#include "body/solid.h"

typedef struct spl_pose_path {
    supple_allocator allocator;
    const spl_solid *to; /* whose drive has the pose that the way leads to */
    spl_solid solid;     /* the same with a drive of the place that was taken; all else is borrowed */
    spl_pose_past from;  /* where the way begins */
    spl_pose_past last;  /* the place taken before this one: for spl_solid_carry of `solid` */
    double turn;         /* the largest turn of a joint against its parent on the way, radians */
} spl_pose_path;

/* `solid` must outlive it. It begins at the bind pose. */
supple_result spl_pose_path_create(const spl_solid *solid, spl_pose_path *out, supple_error *error);
void spl_pose_path_release(spl_pose_path *p);

/* Back to the bind pose. */
void spl_pose_path_reset(spl_pose_path *p);

/* Sets out from the place taken last for the present pose of the solid. */
void spl_pose_path_begin(spl_pose_path *p);

/* Takes a place: t from 0 to 1, where it is the pose itself. */
void spl_pose_path_take(spl_pose_path *p, double t);

/* The rigid motion of the first root bone from the place taken last to the present pose; the way then begins as if all
 * had been moved by it. Before spl_pose_path_begin. */
spl_mat4 spl_pose_path_move_root(spl_pose_path *p);

#endif
