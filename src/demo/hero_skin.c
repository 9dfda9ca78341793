/* The hero's weights: every vertex belongs to one joint by where it is, then the weights are diffused. */
#include "core/memory.h"
#include "demo/hero.h"
#include "demo/skin.h"

/* The joint that owns a point of the left arm, in the arm's own coordinates; -1 if the point is not on the arm. */
static int32_t arm_owner(spl_vec3 p)
{
    spl_vec3 d = spl_sub(p, spl_hero_joint(SPL_HERO_UPPER_ARM));
    double t = spl_dot(d, spl_hero_arm_axis()), outer = spl_dot(d, spl_hero_arm_outer()), front = d.z;
    /* The shoulder's plane is nearly upright: its top stays with the collarbone when the arm hangs. */
    if (t < 0.012 + 0.65 * outer || outer * outer + front * front > (t < 0.5 ? 0.078 * 0.078 : 0.2 * 0.2)) return -1;
    double wrist = spl_distance(spl_hero_joint(SPL_HERO_HAND), spl_hero_joint(SPL_HERO_UPPER_ARM));
    double elbow = spl_distance(spl_hero_joint(SPL_HERO_FOREARM), spl_hero_joint(SPL_HERO_UPPER_ARM));
    double knuckle = spl_distance(spl_hero_joint(SPL_HERO_FINGERS), spl_hero_joint(SPL_HERO_UPPER_ARM));
    if (t < elbow) return SPL_HERO_UPPER_ARM;
    if (t < wrist) return SPL_HERO_FOREARM;
    /* The line between thumb and index runs outwards from the web between them. */
    if (t > 0.575 && front > 0.040 + 0.35 * fmax(0, t - 0.60)) return SPL_HERO_THUMB;
    return t < knuckle ? SPL_HERO_HAND : SPL_HERO_FINGERS;
}

/* The groin's plane rises outwards from the crotch to the hip bone. */
static int32_t leg_owner(spl_vec3 p)
{
    if (p.y > 0.835 + 0.45 * p.x) return -1;
    if (p.y > spl_hero_joint(SPL_HERO_SHIN).y) return SPL_HERO_THIGH;
    /* The ankle's plane leans back: the instep belongs to the foot. */
    if (p.y > 0.095 + 0.4 * fmax(p.z, -0.03)) return SPL_HERO_SHIN;
    return p.z < 0.100 ? SPL_HERO_FOOT : SPL_HERO_TOES;
}

/* The line between neck and head runs from under the chin up to the nape. */
static int32_t trunk_owner(spl_vec3 p)
{
    if (p.y > 1.565 - 0.6 * p.z) return SPL_HERO_HEAD;
    if (p.y > spl_hero_joint(SPL_HERO_NECK).y && p.x < 0.085) return SPL_HERO_NECK;
    if (p.y > 1.365 && p.x > 0.085) return SPL_HERO_SHOULDER;
    if (p.y > spl_hero_joint(SPL_HERO_CHEST).y) return SPL_HERO_CHEST;
    return p.y > spl_hero_joint(SPL_HERO_SPINE).y ? SPL_HERO_SPINE : SPL_HERO_HIPS;
}

int32_t spl_hero_owner(spl_vec3 p)
{
    spl_vec3 left = spl_v3(fabs(p.x), p.y, p.z);
    int32_t joint = arm_owner(left);
    if (joint < 0) joint = leg_owner(left);
    if (joint < 0) joint = trunk_owner(left);
    return joint >= SPL_HERO_SHOULDER && p.x < 0 ? joint + SPL_HERO_SIDE : joint;
}

/* Steps of diffusion: wide in the trunk and where limbs leave it, narrow at elbows, knees and fingers. */
static double softness(spl_vec3 p, int32_t joint)
{
    double t = spl_dot(spl_sub(spl_v3(fabs(p.x), p.y, p.z), spl_hero_joint(SPL_HERO_UPPER_ARM)), spl_hero_arm_axis());
    if (joint >= SPL_HERO_SHOULDER + SPL_HERO_SIDE) joint -= SPL_HERO_SIDE;
    switch (joint) {
    case SPL_HERO_HIPS:
    case SPL_HERO_SPINE:
    case SPL_HERO_CHEST:
        return p.y < 0.95 ? 14 : 24;
    case SPL_HERO_NECK:
    case SPL_HERO_HEAD:
        return 16;
    case SPL_HERO_SHOULDER:
        return 14;
    case SPL_HERO_UPPER_ARM:
        return t < 0.1 ? 12 : 5;
    case SPL_HERO_THIGH:
        return p.y > 0.76 && fabs(p.x) > 0.06 ? 10 : 5; /* the inner thighs must not follow each other */
    case SPL_HERO_HAND:
        return 8;
    case SPL_HERO_TOES:
        return 3;
    default:
        return 5;
    }
}

bool spl_hero_weights(spl_shape *shape, double detail)
{
    int32_t *steps = spl_new(&shape->allocator, (size_t)shape->vertex_count, sizeof *steps);
    if (!steps) return false;
    for (int32_t v = 0; v < shape->vertex_count; v++) {
        int32_t joint = spl_hero_owner(shape->position[v]);
        float *weight = shape->weight + v * shape->joint_count;
        weight[joint] = 1;
        if (joint >= SPL_HERO_SHOULDER && fabs(shape->position[v].x) < 1e-3) { /* the middle belongs to both sides */
            int32_t other = joint >= SPL_HERO_SHOULDER + SPL_HERO_SIDE ? joint - SPL_HERO_SIDE : joint + SPL_HERO_SIDE;
            weight[joint] = weight[other] = 0.5f;
        }
        /* Edges shrink with the detail, so the same width takes the square of it in steps. */
        steps[v] = (int32_t)ceil(softness(shape->position[v], joint) * detail * detail);
    }
    bool done = spl_skin_diffuse(shape, steps);
    spl_free(&shape->allocator, steps);
    return done;
}
