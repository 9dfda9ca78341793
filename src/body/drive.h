/* Driving a body: from a pose of the scene to motions of its bones, in the solver's space and unit.
 *
 * The solver's space is the world's, in metres, freed of what is no motion: scale that the file's rest pose has already
 * goes into the rest shape, a mirrored character is turned back by a point reflection. With M_b the map of bone b from
 * body space to the world, S the common stretch of the M_b in the rest pose, s = cbrt(det S), and sign = -1 for a
 * mirrored character:
 *
 *     rest  X' = (metre S / s) X
 *     pose  x' = sign (metre / s) x,      map_b: X' -> x',    rigid unless the clip scales bones
 *
 * A pose that scales bones moves the vertices they hold affinely; its rotation is the polar one.
 *
 * Twist. A joint turns about its limb's axis, but flesh and the bones inside (radius and ulna) share that turn along
 * the limb. Where one joint follows another along a limb, the twist between them is spread over the longer of the two
 * bones if that is slender, never over a leaf (a head, a hand): the vertices that bone holds turn about its axis, by
 * all of the twist at the joint and by nothing at its other end. `spread` off leaves it at the joint. */
#ifndef SPL_BODY_DRIVE_H
#define SPL_BODY_DRIVE_H

#include "body/body.h"
#include "math/quat.h"
#include "rig/pose.h"

typedef struct spl_drive {
    const spl_body *body;
    supple_allocator allocator;
    spl_mat4 *home;      /* by bone: body space to the joint's space in the bind pose */
    spl_mat3 stretch;    /* S / s */
    double to_solver;    /* sign metre / s: world to solver */
    double *rest;        /* 3 x tet vertices: X' */
    spl_mat4 *map;       /* by bone: this pose's motion of X' */
    spl_quat *turn;      /* by bone: its rotation, on the side of its parent's and of its own last one */
    spl_quat *relative;  /* by bone: the same against its parent's */
    bool *turned;        /* by bone: `relative` holds the last pose's */
    spl_vec3 *axis;      /* by bone: its direction in the rest shape */
    bool spread;         /* twists along bones, the default */
    int32_t *driver;     /* by bone: the bone beyond its tail whose twist it takes, -1 */
    bool *own;           /* by bone: it takes up its own twist against its parent */
    double *tail, *head; /* by bone: twist at its tail, and lack of twist at its head, radians */
    double max_bend;     /* largest angle between a bone's rotation and its parent's in this pose, radians */
} spl_drive;

supple_result spl_drive_create(const spl_body *body, const supple_allocator *a, spl_drive *out, supple_error *error);
void spl_drive_release(spl_drive *d);

/* Arrays for a body's bones and vertices, zeroed, twists spread: for a drive whose numbers are known (rig.h of
 * subspace). Of the body only the bones, the unit and the number of vertices are read. */
supple_result spl_drive_init(const spl_body *body, const supple_allocator *a, spl_drive *out, supple_error *error);

/* Takes a pose. SUPPLE_ERROR_INPUT where a bone's matrix is not finite, with its name. */
supple_result spl_drive_pose(spl_drive *d, const spl_pose *pose, supple_error *error);

/* Forgets the last pose: quaternions are aligned to their parents' alone. */
void spl_drive_reset(spl_drive *d);

/* A point of body space in the rest shape: metre S / s p. */
spl_vec3 spl_drive_rest(const spl_drive *d, spl_vec3 p);

/* How far along a bone a point of the rest shape is, 0 at its head, 1 at its tail; and the twist there, radians. */
double spl_drive_along(const spl_drive *d, int32_t bone, spl_vec3 p);
double spl_drive_twist(const spl_drive *d, int32_t bone, double along);

/* A bone's rotation there. */
spl_quat spl_drive_turn(const spl_drive *d, int32_t bone, double along);

/* Where a bone's head is in this pose. */
spl_vec3 spl_drive_joint(const spl_drive *d, int32_t bone);

/* Where a bone takes a point of the rest shape. */
spl_vec3 spl_drive_move(const spl_drive *d, int32_t bone, double along, spl_vec3 p);

/* Where a bone takes a vertex of the rest shape. */
spl_vec3 spl_drive_point(const spl_drive *d, int32_t bone, int32_t vertex);

/* Sets the held vertices of x (3 x tet vertices) to this pose; others are left. `held` as spl_body.bone. */
void spl_drive_hold(const spl_drive *d, const int32_t *held, double *x);

/* Positions in body units for the upsampling (out: 3 floats a tet vertex), and the map from there to the world. */
void spl_drive_to_body(const spl_drive *d, const double *x, float *out);
double spl_drive_world_scale(const spl_drive *d); /* world = scale * body unit */

#endif
