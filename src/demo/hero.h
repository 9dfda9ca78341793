/* The hero in parts: shape, weights, texture, clips. Metres; y up, facing +z, feet on y = 0; the left side is x > 0. */
#ifndef SPL_DEMO_HERO_H
#define SPL_DEMO_HERO_H

#include "demo/shape.h"
#include "demo/solid.h"

/* Joints in the skeleton's order. The right side's follow the left side's at a distance of SPL_HERO_SIDE. */
enum {
    SPL_HERO_HIPS,
    SPL_HERO_SPINE,
    SPL_HERO_CHEST,
    SPL_HERO_NECK,
    SPL_HERO_HEAD,
    SPL_HERO_SHOULDER, /* .L, as all that follow */
    SPL_HERO_UPPER_ARM,
    SPL_HERO_FOREARM,
    SPL_HERO_HAND,
    SPL_HERO_FINGERS,
    SPL_HERO_THUMB,
    SPL_HERO_THIGH,
    SPL_HERO_SHIN,
    SPL_HERO_FOOT,
    SPL_HERO_TOES,
    SPL_HERO_SIDE = SPL_HERO_TOES - SPL_HERO_SHOULDER + 1,
    SPL_HERO_JOINTS = SPL_HERO_TOES + 1 + SPL_HERO_SIDE,
};

/* Where a joint stands at rest (right side joints too). */
spl_vec3 spl_hero_joint(int32_t joint);

/* The frame of the left arm at rest: along it, across its outer side, and forward (+z). */
spl_vec3 spl_hero_arm_axis(void);
spl_vec3 spl_hero_arm_outer(void);

/* A point of the left arm: t metres from the shoulder along it, then outwards and forwards. */
spl_vec3 spl_hero_arm_point(double t, double outer, double front);

/* The body's surface, without weights and texture coordinates. */
supple_result spl_hero_surface(const spl_rigged *rigged, double detail, spl_shape *shape, supple_error *error);

/* The joint whose part of the body a point of the surface lies on. */
int32_t spl_hero_owner(spl_vec3 p);

/* Fills the weights by diffusion over the surface. False if memory is out. */
bool spl_hero_weights(spl_shape *shape, double detail);

/* Fills the texture coordinates and makes the texture. */
supple_result spl_hero_texture(spl_shape *shape, spl_pool *pool, spl_rigged_material *material, supple_error *error);

/* Adds the clips walk, reach and twist. False if memory is out. */
bool spl_hero_clips(spl_rigged *rigged);

#endif
