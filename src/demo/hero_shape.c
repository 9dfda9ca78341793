/* The hero's surface: a body of 1.75 m drawn with sections read off front and side views, in an A-pose with the arms 40
 * degrees below the horizontal, and the warped grid that makes it fine at the hands, the face and the feet. */
#include "demo/hero.h"
#include "demo/motion.h"
#include "demo/nets.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

static const double arm_cos = 0.7660444431, arm_sin = 0.6427876097; /* of 40 degrees */
static const double shoulder_x = 0.182, shoulder_y = 1.418, shoulder_z = -0.012;
static const double elbow_t = 0.285, wrist_t = 0.540, knuckle_t = 0.632; /* along the arm from the shoulder */

spl_vec3 spl_hero_arm_axis(void)
{
    return spl_v3(arm_cos, -arm_sin, 0);
}

spl_vec3 spl_hero_arm_outer(void)
{
    return spl_v3(arm_sin, arm_cos, 0);
}

spl_vec3 spl_hero_arm_point(double t, double outer, double front)
{
    spl_vec3 p = spl_madd(spl_v3(shoulder_x, shoulder_y, shoulder_z + front), spl_hero_arm_axis(), t);
    return spl_madd(p, spl_hero_arm_outer(), outer);
}

spl_vec3 spl_hero_joint(int32_t joint)
{
    if (joint > SPL_HERO_TOES) {
        spl_vec3 p = spl_hero_joint(joint - SPL_HERO_SIDE);
        return spl_v3(-p.x, p.y, p.z);
    }
    switch (joint) {
    case SPL_HERO_HIPS:
        return spl_v3(0, 0.960, -0.005);
    case SPL_HERO_SPINE:
        return spl_v3(0, 1.075, -0.010);
    case SPL_HERO_CHEST:
        return spl_v3(0, 1.210, -0.015);
    case SPL_HERO_NECK:
        return spl_v3(0, 1.480, -0.028);
    case SPL_HERO_HEAD:
        return spl_v3(0, 1.570, -0.008);
    case SPL_HERO_SHOULDER:
        return spl_v3(0.030, 1.430, -0.010);
    case SPL_HERO_UPPER_ARM:
        return spl_hero_arm_point(0, 0, 0);
    case SPL_HERO_FOREARM:
        return spl_hero_arm_point(elbow_t, 0, 0);
    case SPL_HERO_HAND:
        return spl_hero_arm_point(wrist_t, 0, 0);
    case SPL_HERO_FINGERS:
        return spl_hero_arm_point(knuckle_t, 0, 0);
    case SPL_HERO_THUMB:
        return spl_hero_arm_point(0.572, -0.010, 0.024);
    case SPL_HERO_THIGH:
        return spl_v3(0.092, 0.905, 0);
    case SPL_HERO_SHIN:
        return spl_v3(0.101, 0.490, 0.004);
    case SPL_HERO_FOOT:
        return spl_v3(0.109, 0.085, -0.022);
    default:
        return spl_v3(0.127, 0.028, 0.105);
    }
}

/* ---- the body --------------------------------------------------------------------------------------------------- */

/* Sections along y: side (left and right alike), front, side, back. */
static const spl_station trunk[] = {
    {0.865, {0.120, 0.080, 0.120, 0.095}}, {0.905, {0.160, 0.095, 0.160, 0.115}}, {0.950, {0.166, 0.106, 0.166, 0.116}},
    {1.000, {0.160, 0.120, 0.160, 0.104}}, {1.050, {0.152, 0.130, 0.152, 0.095}}, {1.100, {0.146, 0.128, 0.146, 0.093}},
    {1.160, {0.146, 0.118, 0.146, 0.099}}, {1.230, {0.156, 0.113, 0.156, 0.112}}, {1.300, {0.168, 0.112, 0.168, 0.122}},
    {1.360, {0.170, 0.102, 0.170, 0.124}}, {1.410, {0.170, 0.088, 0.170, 0.114}}, {1.450, {0.138, 0.066, 0.138, 0.098}},
    {1.480, {0.080, 0.048, 0.080, 0.080}},
};

/* Sections along the arm: outer, front, inner, back. */
static const spl_station arm[] = {
    {-0.010, {0.048, 0.052, 0.050, 0.052}}, {0.050, {0.050, 0.053, 0.050, 0.052}},
    {0.110, {0.046, 0.050, 0.045, 0.050}},  {0.160, {0.042, 0.051, 0.041, 0.048}},
    {0.220, {0.038, 0.044, 0.037, 0.043}},  {0.270, {0.037, 0.037, 0.036, 0.040}},
    {0.300, {0.040, 0.037, 0.038, 0.039}},  {0.340, {0.043, 0.041, 0.038, 0.035}},
    {0.390, {0.039, 0.040, 0.035, 0.034}},  {0.460, {0.029, 0.033, 0.027, 0.031}},
    {0.520, {0.021, 0.029, 0.021, 0.027}},  {0.545, {0.019, 0.029, 0.019, 0.027}},
};

static const spl_station palm[] = {
    {0.545, {0.018, 0.028, 0.018, 0.027}},
    {0.575, {0.016, 0.034, 0.018, 0.033}},
    {0.605, {0.014, 0.039, 0.016, 0.038}},
    {0.630, {0.012, 0.040, 0.013, 0.039}},
};

/* Sections down the leg from the hip: outer, front, inner, back. */
static const spl_station leg[] = {
    {0.020, {0.078, 0.078, 0.076, 0.080}}, {0.080, {0.082, 0.088, 0.079, 0.084}}, {0.160, {0.078, 0.088, 0.074, 0.080}},
    {0.240, {0.069, 0.079, 0.064, 0.070}}, {0.320, {0.058, 0.066, 0.054, 0.058}}, {0.380, {0.051, 0.058, 0.049, 0.050}},
    {0.415, {0.049, 0.057, 0.048, 0.046}}, {0.450, {0.049, 0.052, 0.046, 0.046}}, {0.500, {0.051, 0.044, 0.047, 0.058}},
    {0.560, {0.052, 0.041, 0.047, 0.066}}, {0.620, {0.047, 0.038, 0.042, 0.060}}, {0.690, {0.037, 0.034, 0.035, 0.046}},
    {0.760, {0.031, 0.032, 0.030, 0.037}}, {0.820, {0.031, 0.034, 0.030, 0.037}},
};

/* Sections of the face along y, from the chin up: side, front, side, back. */
static const spl_station face[] = {
    {1.540, {0.040, 0.080, 0.040, 0.020}}, {1.556, {0.052, 0.087, 0.052, 0.035}}, {1.580, {0.056, 0.089, 0.056, 0.055}},
    {1.605, {0.063, 0.088, 0.063, 0.070}}, {1.635, {0.068, 0.088, 0.068, 0.080}}, {1.665, {0.070, 0.090, 0.070, 0.085}},
    {1.690, {0.068, 0.085, 0.068, 0.085}},
};

/* Blends are wide where flesh is soft (shoulder, hip), narrow where the form must stay (fingers, face). */
static void add_trunk(spl_body *b)
{
    const spl_vec3 up = {0, 1, 0}, x = {1, 0, 0}, z = {0, 0, 1};
    spl_body_loft(b, spl_v3(0, 0, 0), up, x, z, trunk, COUNT(trunk), 2.35, 0.02);
    spl_body_ball(b, spl_v3(0.082, 1.322, 0.068), spl_v3(0.088, 0.058, 0.044), 0.040);  /* pectorals */
    spl_body_ball(b, spl_v3(0.090, 1.330, -0.085), spl_v3(0.075, 0.085, 0.040), 0.030); /* shoulder blades */
    spl_body_ball(b, spl_v3(0, 1.045, 0.058), spl_v3(0.115, 0.105, 0.080), 0.040);      /* belly */
    spl_body_ball(b, spl_v3(0.070, 0.895, -0.058), spl_v3(0.082, 0.085, 0.066), 0.040); /* glutes */
    spl_body_capsule(b, spl_v3(0.020, 1.520, -0.040), spl_v3(0.150, 1.440, -0.022), 0.042, 0.030,
                     0.040);                                                                      /* trapezius */
    spl_body_capsule(b, spl_v3(0, 1.450, -0.032), spl_v3(0, 1.575, -0.016), 0.058, 0.050, 0.030); /* neck */
}

static void add_arm(spl_body *b)
{
    spl_vec3 axis = spl_hero_arm_axis(), outer = spl_hero_arm_outer(), z = spl_v3(0, 0, 1);
    spl_body_loft(b, spl_hero_arm_point(0, 0, 0), axis, outer, z, arm, COUNT(arm), 2, 0.065);
    spl_body_ball(b, spl_hero_arm_point(0.012, 0.010, 0), spl_v3(0.052, 0.057, 0.058), 0.050); /* deltoid */
}

/* A finger of three bones that curls a little towards the palm; `spread` degrees towards +z. */
static void add_finger(spl_body *b, double t, double front, double spread, double length, double radius)
{
    static const double share[3] = {0.46, 0.30, 0.24}, curl[3] = {6, 16, 24};
    spl_vec3 p = spl_hero_arm_point(t, 0, front);
    spl_vec3 across = spl_v3(0, 0, 1), down = spl_scale(spl_hero_arm_outer(), -1);
    const double degree = 3.14159265358979323846 / 180;
    for (int i = 0; i < 3; i++) {
        spl_vec3 d = spl_madd(spl_scale(spl_hero_arm_axis(), cos(spread * degree)), across, sin(spread * degree));
        d = spl_madd(spl_scale(d, cos(curl[i] * degree)), down, sin(curl[i] * degree));
        spl_vec3 q = spl_madd(p, d, length * share[i]);
        spl_body_capsule(b, p, q, radius, 0.92 * radius, 0.005);
        p = q;
        radius *= 0.92;
    }
}

static void add_hand(spl_body *b)
{
    spl_vec3 axis = spl_hero_arm_axis(), outer = spl_hero_arm_outer(), z = spl_v3(0, 0, 1);
    spl_body_loft(b, spl_hero_arm_point(0, 0, 0), axis, outer, z, palm, COUNT(palm), 2.5, 0.012);
    spl_body_capsule(b, spl_hero_arm_point(0.560, -0.006, 0.016), spl_hero_arm_point(0.595, -0.012, 0.038), 0.016,
                     0.014, 0.012); /* ball of the thumb */
    add_finger(b, 0.622, 0.0315, 7, 0.078, 0.0092);
    add_finger(b, 0.628, 0.0105, 2.3, 0.087, 0.0095);
    add_finger(b, 0.624, -0.0105, -2.8, 0.081, 0.0092);
    add_finger(b, 0.614, -0.0305, -8.5, 0.064, 0.0082);
    spl_vec3 base = spl_hero_arm_point(0.592, -0.012, 0.038), knuckle = spl_hero_arm_point(0.619, -0.019, 0.060);
    spl_body_capsule(b, base, knuckle, 0.0130, 0.0108, 0.008);
    spl_body_capsule(b, knuckle, spl_hero_arm_point(0.645, -0.023, 0.070), 0.0108, 0.0092, 0.004);
}

static void add_leg(spl_body *b)
{
    spl_vec3 hip = spl_hero_joint(SPL_HERO_THIGH), ankle = spl_hero_joint(SPL_HERO_FOOT), z = spl_v3(0, 0, 1);
    spl_vec3 axis = spl_unit(spl_sub(ankle, hip), z), outer = spl_unit(spl_cross(z, axis), z);
    outer = spl_scale(outer, outer.x > 0 ? 1 : -1);
    spl_body_loft(b, hip, axis, outer, spl_unit(spl_madd(z, axis, -axis.z), z), leg, COUNT(leg), 2, 0.035);
    /* the shoe: heel, instep, ball, toe */
    spl_body_ball(b, spl_v3(0.107, 0.040, -0.050), spl_v3(0.035, 0.052, 0.046), 0.025);
    spl_body_capsule(b, spl_v3(0.110, 0.066, -0.015), spl_v3(0.120, 0.036, 0.075), 0.036, 0.034, 0.025);
    spl_body_ball(b, spl_v3(0.121, 0.026, 0.075), spl_v3(0.043, 0.036, 0.060), 0.020);
    spl_body_ball(b, spl_v3(0.125, 0.024, 0.130), spl_v3(0.042, 0.030, 0.052), 0.020);
    spl_body_ball(b, spl_v3(0.112, 0.014, 0.030), spl_v3(0.036, 0.024, 0.110), 0.015);
}

/* Features are drawn a little larger than life: the grid is about a centimetre wide here. */
static void add_head(spl_body *b)
{
    const spl_vec3 up = {0, 1, 0}, x = {1, 0, 0}, z = {0, 0, 1};
    spl_body_ball(b, spl_v3(0, 1.664, -0.010), spl_v3(0.076, 0.084, 0.096), 0.030); /* skull */
    spl_body_loft(b, spl_v3(0, 0, 0.006), up, x, z, face, COUNT(face), 2.2, 0.020);
    spl_body_ball(b, spl_v3(0.040, 1.617, 0.060), spl_v3(0.024, 0.016, 0.019), 0.026);                  /* cheek */
    spl_body_ball(b, spl_v3(0, 1.543, 0.079), spl_v3(0.020, 0.016, 0.016), 0.016);                      /* chin */
    spl_body_hollow(b, spl_v3(0.032, 1.641, 0.106), spl_v3(0.021, 0.014, 0.022), 0.014);                /* socket */
    spl_body_ball(b, spl_v3(0.031, 1.641, 0.075), spl_v3(0.0140, 0.0125, 0.0140), 0.004);               /* eye */
    spl_body_capsule(b, spl_v3(0.010, 1.663, 0.093), spl_v3(0.046, 1.660, 0.078), 0.007, 0.006, 0.012); /* brow */
    spl_body_capsule(b, spl_v3(0, 1.650, 0.092), spl_v3(0, 1.607, 0.106), 0.009, 0.0115, 0.012);        /* nose */
    spl_body_ball(b, spl_v3(0.011, 1.602, 0.098), spl_v3(0.0085, 0.0085, 0.0100), 0.006);               /* nostril */
    spl_body_capsule(b, spl_v3(0, 1.574, 0.093), spl_v3(0.019, 1.572, 0.086), 0.0070, 0.0045, 0.006);   /* lip */
    spl_body_capsule(b, spl_v3(0, 1.563, 0.091), spl_v3(0.014, 1.564, 0.087), 0.0072, 0.0050, 0.005);   /* lip */
    spl_body_egg(b, spl_v3(0.081, 1.632, -0.012), spl_v3(0.011, 0.031, 0.018), spl_v3(0.25, 1, -0.2), 0.008); /* ear */
    spl_body_ball(b, spl_v3(0, 1.676, -0.018), spl_v3(0.083, 0.080, 0.097), 0.010);                           /* hair */
}

/* ---- the grid --------------------------------------------------------------------------------------------------- */

/* 0 below a, then a slope that grows smoothly to 1 over `width`: the integral of a smooth step. */
static double ease(double x, double a, double width)
{
    double t = (x - a) / width;
    if (t <= 0) return 0;
    return width * (t < 1 ? t * t * t * (1 - 0.5 * t) : t - 0.5);
}

/* Steps shrink along the arm towards the hand, up the neck towards the head and at the feet; around the hand and the
 * head everything is shrunk across as well; the arms are sheared down from the horizontal. Each stage moves one
 * coordinate as a monotone function of itself, given the others, so the map is one to one. */
static spl_vec3 hero_warp(spl_vec3 g)
{
    const double along = 0.37, across = 5.2, up = 0.46, head = 2.15, sole = 0.75;
    double side = g.x < 0 ? -1 : 1, gx = fabs(g.x);
    double narrow = 1 + (head - 1) * spl_smooth(1.47, 1.62, g.y);
    double y = g.y - (1 - up) * ease(g.y, 1.46, 0.14) + (1 - sole) * ease(-g.y, -0.10, 0.10);
    double x = gx / narrow;
    x -= (1 - along) * ease(x, 0.44, 0.16);
    double shrink = 1 + (across - 1) * spl_smooth(0.42, 0.60, x);
    /* In the grid the arm bends down behind the shoulder, out of the way of what is done to the head. */
    double arm_y = shoulder_y, drop = arm_sin / arm_cos * ease(x, 0.08, 0.204), bend = 0.22 * spl_smooth(0.14, 0.56, x);
    return spl_v3(side * x, arm_y + (y - arm_y + bend) / shrink - drop,
                  shoulder_z + (g.z / narrow - shoulder_z) / shrink);
}

supple_result spl_hero_surface(const spl_rigged *rigged, double detail, spl_shape *shape, supple_error *error)
{
    spl_body body = {.floor = 0};
    add_trunk(&body);
    add_leg(&body);
    add_arm(&body);
    add_hand(&body);
    add_head(&body);
    double cell = 0.0252 / detail;
    /* A grid that is symmetric in x, its nodes half a cell off the middle plane. */
    double half = cell * (ceil(1.17 / cell) + 0.5);
    spl_field field = {spl_body_value,     &body, hero_warp, {-half, -0.09, -0.32},
                       {half, 2.16, 0.48}, cell,  8,         rigged->pool};
    return spl_nets_make(&field, &rigged->allocator, SPL_HERO_JOINTS, shape, error);
}
