/* Bones as capsules: a volumetric skeleton inside a skin.
 *
 * A bone is as thick as a share of the distance from its segment to the skin, sampled along it, and ends in spheres.
 * What it holds firmly stops short of where another bone begins, so that joints stay soft. */
#ifndef SPL_BODY_CAPSULE_H
#define SPL_BODY_CAPSULE_H

#include "geom/tree.h"
#include "rig/bones.h"

enum { SPL_CAPSULE_PROFILE = 9 }; /* samples of the radius along a bone */

typedef struct spl_capsule {
    spl_vec3 head, axis; /* axis: tail - head */
    double length;
    double skin[SPL_CAPSULE_PROFILE]; /* distance to the skin along it */
    double thickest;                  /* the largest of these */
    double least;                     /* radius that the lattice asks for, where the bone is nowhere thicker; else 0 */
    double from, to;                  /* the part that holds, 0..1 */
} spl_capsule;

/* One for each bone; `tree` is of the skin, `cell` the size below which flesh is not resolved. */
void spl_capsules_make(const spl_bones *bones, const spl_tree *tree, double cell, spl_capsule *out);

/* How far along the capsule a point is: 0 at its head, 1 at its tail, beyond them outside of that. */
double spl_capsule_along(const spl_capsule *c, spl_vec3 p);

/* The distance to the skin, and the capsule's radius, at a way along it (clamped to 0..1). */
double spl_capsule_skin(const spl_capsule *c, double along);
double spl_capsule_radius(const spl_capsule *c, double along);

/* Distance of p from the part that holds, over the radius there: below 1 is inside. */
double spl_capsule_depth(const spl_capsule *c, spl_vec3 p);

/* The point of the segment nearest to p. */
spl_vec3 spl_capsule_core(const spl_capsule *c, spl_vec3 p);

#endif
