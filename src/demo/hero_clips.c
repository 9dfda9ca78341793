/* The hero's clips. All rest rotations are identity, so a local rotation is one about the world's axes at rest.
 *
 * Legs are always posed by inverse kinematics from where the feet are; arms by the direction of the upper arm, the side
 * to which the elbow folds and its angle. */
#include "demo/demo.h"
#include "demo/hero.h"
#include "demo/motion.h"

static const double pi = 3.14159265358979323846;

/* An arm: the upper arm's direction, the direction to which the forearm folds, and angles in degrees. Left side; the
 * right side's is its mirror image. */
typedef struct arm_pose {
    spl_turn upper;
    double elbow;          /* 0: straight */
    double fingers, thumb; /* curl towards the palm */
    double hand;           /* turn of the hand about the forearm's axis */
    double collarbone;     /* the shoulder up */
} arm_pose;

/* A moment of the body: turns are relative to the parent. */
typedef struct body_pose {
    spl_vec3 hips_shift; /* from rest */
    spl_turn hips, spine, chest, neck, head;
    arm_pose arm[2]; /* left, right; both as on the left side */
    spl_vec3 ankle[2], knee_pole[2];
    spl_turn foot[2]; /* in the world */
    double toes[2];   /* degrees up */
} body_pose;

typedef struct track {
    const spl_rigged *rigged;
    spl_rigged_clip *clip;
} track;

static void set(const track *k, int32_t joint, int32_t key, spl_turn turn)
{
    spl_rigged_set_rotation(k->rigged, k->clip, joint, key, turn.q);
}

static spl_vec3 offset(int32_t from, int32_t to)
{
    return spl_sub(spl_hero_joint(to), spl_hero_joint(from));
}

static void set_arm(const track *k, int32_t key, int side, const arm_pose *arm)
{
    spl_vec3 axis = spl_hero_arm_axis(), hinge = spl_scale(spl_hero_arm_outer(), -1), across = spl_v3(0, 0, -1);
    spl_turn collarbone = spl_turn_z(arm->collarbone);
    const spl_turn turn[6] = {
        collarbone,
        spl_turn_mul(spl_turn_inverse(collarbone), arm->upper), /* the upper arm's direction does not depend on it */
        spl_turn_about(hinge, arm->elbow),
        spl_turn_about(axis, arm->hand),
        spl_turn_about(across, arm->fingers),
        spl_turn_about(spl_v3(-0.6, -0.5, -0.6), arm->thumb),
    };
    for (int i = 0; i < 6; i++)
        set(k, SPL_HERO_SHOULDER + i + side * SPL_HERO_SIDE, key, side ? spl_turn_mirror(turn[i]) : turn[i]);
}

/* Hip, knee and ankle from where the ankle is to be. */
static void set_leg(const track *k, int32_t key, int side, const body_pose *body)
{
    int32_t s = side * SPL_HERO_SIDE;
    int32_t thigh = SPL_HERO_THIGH + s, shin = SPL_HERO_SHIN + s, foot = SPL_HERO_FOOT + s;
    spl_vec3 front = spl_v3(0, 0, 1), down = offset(thigh, shin), lower = offset(shin, foot), ankle = body->ankle[side];
    spl_vec3 hip = spl_add(spl_hero_joint(SPL_HERO_HIPS), body->hips_shift);
    hip = spl_add(hip, spl_turn_apply(body->hips, offset(SPL_HERO_HIPS, thigh)));
    spl_vec3 knee = spl_two_bones(hip, &ankle, spl_norm(down), spl_norm(lower), body->knee_pole[side]);
    spl_turn a = spl_turn_aim(down, front, spl_sub(knee, hip), body->knee_pole[side]);
    /* The knee is a hinge: the shin keeps the thigh's sideways axis. */
    spl_vec3 fold = spl_cross(spl_turn_apply(a, spl_v3(1, 0, 0)), spl_sub(ankle, knee));
    spl_turn b = spl_turn_aim(lower, front, spl_sub(ankle, knee), spl_scale(fold, -1));
    set(k, thigh, key, spl_turn_mul(spl_turn_inverse(body->hips), a));
    set(k, shin, key, spl_turn_mul(spl_turn_inverse(a), b));
    set(k, foot, key, spl_turn_mul(spl_turn_inverse(b), body->foot[side]));
    set(k, SPL_HERO_TOES + s, key, spl_turn_x(-body->toes[side]));
}

static void set_body(const track *k, int32_t key, const body_pose *body)
{
    spl_rigged_set_translation(k->rigged, k->clip, SPL_HERO_HIPS, key,
                               spl_add(spl_hero_joint(SPL_HERO_HIPS), body->hips_shift));
    set(k, SPL_HERO_HIPS, key, body->hips);
    set(k, SPL_HERO_SPINE, key, body->spine);
    set(k, SPL_HERO_CHEST, key, body->chest);
    set(k, SPL_HERO_NECK, key, body->neck);
    set(k, SPL_HERO_HEAD, key, body->head);
    for (int side = 0; side < 2; side++) {
        set_arm(k, key, side, &body->arm[side]);
        set_leg(k, key, side, body);
    }
}

/* The upper arm pointing along `direction` with the elbow folding towards `fold`. */
static spl_turn arm_towards(spl_vec3 direction, spl_vec3 fold)
{
    return spl_turn_aim(spl_hero_arm_axis(), spl_v3(0, 0, 1), direction, fold);
}

/* The left arm with the wrist at a place in the chest's frame at rest, the elbow out towards `pole`. */
static arm_pose arm_reaching(spl_vec3 wrist, spl_vec3 pole, double fingers)
{
    spl_vec3 shoulder = spl_hero_joint(SPL_HERO_UPPER_ARM);
    double l1 = spl_norm(offset(SPL_HERO_UPPER_ARM, SPL_HERO_FOREARM));
    double l2 = spl_norm(offset(SPL_HERO_FOREARM, SPL_HERO_HAND));
    spl_vec3 elbow = spl_two_bones(shoulder, &wrist, l1, l2, pole);
    spl_vec3 upper = spl_sub(elbow, shoulder), lower = spl_sub(wrist, elbow);
    double angle = acos(spl_dot(upper, lower) / (spl_norm(upper) * spl_norm(lower))) * 180 / pi;
    return (arm_pose){arm_towards(upper, lower), angle, fingers, 0.5 * fingers, 0, 0};
}

/* Standing at rest with both feet where they are; the arms hang. */
static body_pose standing(void)
{
    spl_turn none = spl_turn_identity();
    arm_pose hang = {arm_towards(spl_v3(0.17, -1, 0.03), spl_v3(-0.15, 0, 1)), 14, 26, 8, 0, -14};
    body_pose body = {spl_v3(0, 0, 0), none,        none,        none,         none,  none,
                      {hang, hang},    {{0, 0, 0}}, {{0, 0, 0}}, {none, none}, {0, 0}};
    for (int side = 0; side < 2; side++) {
        body.ankle[side] = spl_hero_joint(SPL_HERO_FOOT + side * SPL_HERO_SIDE);
        body.knee_pole[side] = spl_v3(side ? -0.08 : 0.08, 0, 1);
    }
    return body;
}

/* ---- walk ------------------------------------------------------------------------------------------------------- */

/* One stride lasts 33 frames (1.1 s). A foot's phase runs from 0, where its heel strikes, to 1; it stands until
 * `stance_end`. The ground runs back under the hero at an even speed. */
enum { WALK_FRAMES = 33 };
static const double stance_end = 0.62, stride = 1.08; /* metres a cycle */

/* The foot's pitch in degrees, toes up: heel first, flat, heel off, swung through. */
static double foot_pitch(double phase)
{
    double heel_off = 46 * spl_smooth(0.34, 0.66, phase), recover = 64 * spl_smooth(0.64, 0.97, phase);
    return 18 * (1 - spl_smooth(0, 0.10, phase)) - heel_off + recover;
}

/* The ankle of a standing foot that rolls over its heel or its ball, for a foot that would be flat at z. */
static spl_vec3 rolled_ankle(double z, double pitch)
{
    spl_vec3 ankle = spl_hero_joint(SPL_HERO_FOOT), toes = spl_hero_joint(SPL_HERO_TOES);
    spl_vec3 heel = spl_v3(ankle.x, 0, ankle.z - 0.062), pivot = pitch > 0 ? heel : toes;
    spl_vec3 arm = spl_turn_apply(spl_turn_x(-pitch), spl_sub(ankle, pivot));
    return spl_v3(ankle.x, pivot.y + arm.y, z + (pivot.z - ankle.z) + arm.z);
}

static spl_vec3 standing_ankle(double phase)
{
    return rolled_ankle(0.255 - stride * phase, foot_pitch(phase));
}

/* The ankle over a whole cycle. In the air it follows a cubic that leaves and meets the ground at the ground's speed.
 */
static spl_vec3 walking_ankle(double phase)
{
    if (phase < stance_end) return standing_ankle(phase);
    const double e = 1e-4, span = 1 - stance_end;
    double t = (phase - stance_end) / span, t2 = t * t, t3 = t2 * t;
    spl_vec3 p0 = standing_ankle(stance_end), p1 = standing_ankle(0);
    spl_vec3 v0 = spl_scale(spl_sub(p0, standing_ankle(stance_end - e)), span / e);
    spl_vec3 v1 = spl_scale(spl_sub(standing_ankle(e), p1), span / e);
    spl_vec3 p = spl_scale(p0, 2 * t3 - 3 * t2 + 1);
    p = spl_madd(p, v0, t3 - 2 * t2 + t);
    p = spl_madd(p, p1, 3 * t2 - 2 * t3);
    p = spl_madd(p, v1, t3 - t2);
    double lift = sin(pi * sqrt(t)); /* most of it early, while the toes point down */
    return spl_v3(p.x, p.y + 0.030 * lift * lift, p.z);
}

static void walk_leg(body_pose *body, int side, double phase)
{
    spl_vec3 ankle = walking_ankle(phase);
    double pitch = foot_pitch(phase), sign = side ? -1 : 1;
    /* A walker puts the feet closer to the middle than one who stands. */
    body->ankle[side] = spl_v3(sign * (ankle.x - 0.030), ankle.y, ankle.z);
    body->knee_pole[side] = spl_v3(0.06 * sign, 0, 1);
    body->foot[side] = spl_turn_mul(spl_turn_y(4 * sign), spl_turn_x(-pitch));
    body->toes[side] = pitch < 0 ? -pitch * (1 - spl_smooth(0.64, 0.88, phase)) : 0;
}

/* Arms swing against the legs and fold a little more in front than behind. */
static void walk_arm(body_pose *body, int side, double phase)
{
    double back = cos(2 * pi * phase); /* 1 where the leg of the same side is in front */
    spl_turn hang = arm_towards(spl_v3(0.15, -1, 0.02), spl_v3(-0.25, 0, 1));
    body->arm[side].upper = spl_turn_mul(spl_turn_x(20 * back - 3), hang);
    body->arm[side].elbow = 24 - 13 * cos(2 * pi * (phase - 0.03));
    body->arm[side].fingers = 40;
    body->arm[side].thumb = 14;
}

/* The pelvis turns with the leg in front and drops on the side of the leg in the air; the chest turns against it and
 * the head stays level. It is lowest while both feet are down. */
static body_pose walk_pose(double phase)
{
    body_pose body = standing();
    double step = 2 * pi * phase, yaw = cos(step), over = cos(step - 2 * pi * 0.31);
    body.hips_shift = spl_v3(0.020 * over, -0.026 - 0.016 * cos(2 * step - 4 * pi * 0.06), 0);
    body.hips = spl_turn_mul(spl_turn_y(-6 * yaw), spl_turn_mul(spl_turn_z(3 * over), spl_turn_x(2)));
    body.spine = spl_turn_mul(spl_turn_y(5.5 * yaw), spl_turn_z(-2 * over));
    body.chest = spl_turn_mul(spl_turn_y(5.5 * yaw), spl_turn_mul(spl_turn_z(-1.5 * over), spl_turn_x(1)));
    body.neck = spl_turn_mul(spl_turn_y(-2.5 * yaw), spl_turn_x(-1));
    body.head = spl_turn_mul(spl_turn_y(-2.5 * yaw), spl_turn_x(-1.5 + 0.8 * cos(2 * step)));
    for (int side = 0; side < 2; side++) {
        double own = phase + 0.5 * side;
        own -= floor(own);
        walk_leg(&body, side, own);
        walk_arm(&body, side, own);
    }
    return body;
}

static bool add_walk(spl_rigged *rigged)
{
    track k = {rigged, spl_rigged_add_clip(rigged, "walk", WALK_FRAMES + 1, SPL_DEMO_FPS)};
    for (int32_t key = 0; k.clip && key <= WALK_FRAMES; key++) {
        body_pose body = walk_pose((double)(key % WALK_FRAMES) / WALK_FRAMES);
        set_body(&k, key, &body);
    }
    return k.clip != NULL;
}

/* ---- reach ------------------------------------------------------------------------------------------------------ */

/* A pose to pass through, at rest there for a moment. */
typedef struct stop {
    int32_t key;
    double squat;           /* how far the hips go down, metres */
    double lean, turn, nod; /* trunk forward, trunk to the left, head down: degrees */
    arm_pose arm[2];
} stop;

/* Between two stops: turns the short way round, angles and lengths evenly in t. The feet stay where they are. */
static body_pose stop_pose(const stop *a, const stop *b, double t)
{
    double squat = a->squat + (b->squat - a->squat) * t, lean = a->lean + (b->lean - a->lean) * t;
    double turn = a->turn + (b->turn - a->turn) * t, nod = a->nod + (b->nod - a->nod) * t;
    body_pose body = standing();
    /* The hips go back as they go down, so that the weight stays over the feet. */
    body.hips_shift = spl_v3(0, -squat, -0.35 * squat);
    body.hips = spl_turn_mul(spl_turn_y(0.2 * turn), spl_turn_x(0.5 * lean));
    body.spine = spl_turn_mul(spl_turn_y(0.4 * turn), spl_turn_x(0.3 * lean));
    body.chest = spl_turn_mul(spl_turn_y(0.4 * turn), spl_turn_x(0.2 * lean));
    body.neck = spl_turn_mul(spl_turn_y(-0.3 * turn), spl_turn_x(0.5 * nod - 0.3 * lean));
    body.head = spl_turn_mul(spl_turn_y(-0.3 * turn), spl_turn_x(0.5 * nod - 0.3 * lean));
    for (int side = 0; side < 2; side++) {
        const arm_pose *p = &a->arm[side], *q = &b->arm[side];
        body.arm[side] = (arm_pose){spl_turn_slerp(p->upper, q->upper, t),
                                    p->elbow + (q->elbow - p->elbow) * t,
                                    p->fingers + (q->fingers - p->fingers) * t,
                                    p->thumb + (q->thumb - p->thumb) * t,
                                    0,
                                    p->collarbone + (q->collarbone - p->collarbone) * t};
        body.knee_pole[side] = spl_v3((side ? -1 : 1) * (0.08 + 1.1 * squat), 0, 1);
    }
    return body;
}

static bool add_reach(spl_rigged *rigged)
{
    body_pose rest = standing();
    arm_pose hang = rest.arm[0];
    arm_pose forward = {arm_towards(spl_v3(0.02, -0.10, 1), spl_v3(-0.5, 1, 0)), 8, 6, 0, 0, 2};
    arm_pose folded = {arm_towards(spl_v3(0.30, -0.12, 1), spl_v3(0, 1, 0.1)), 150, 20, 5, 0, 4};
    arm_pose low = {arm_towards(spl_v3(0.05, 0.35, 1), spl_v3(-0.4, 1, 0)), 18, 10, 0, 0, 0};
    arm_pose belly = arm_reaching(spl_v3(0.135, 1.105, 0.130), spl_v3(1, -0.7, -0.3), 8);
    arm_pose across = arm_reaching(spl_v3(-0.035, 1.345, 0.165), spl_v3(0.4, -1, 0.5), 22);
    const stop stops[] = {
        {0, 0, 0, 0, 0, {hang, hang}},    {20, 0, 3, 0, 0, {forward, forward}}, {40, 0, -3, 0, -4, {folded, folded}},
        {62, 0.43, 46, 0, 8, {low, low}}, {84, 0, 4, 12, 14, {belly, across}},  {104, 0, 4, -12, 10, {across, belly}},
        {120, 0, 0, 0, 0, {hang, hang}},
    };
    track k = {rigged, spl_rigged_add_clip(rigged, "reach", 121, SPL_DEMO_FPS)};
    const stop *at = stops;
    for (int32_t key = 0; k.clip && key <= 120; key++) {
        while (key > at[1].key) at++;
        body_pose body = stop_pose(at, at + 1, spl_smooth(at[0].key, at[1].key, key));
        set_body(&k, key, &body);
    }
    return k.clip != NULL;
}

/* ---- twist ------------------------------------------------------------------------------------------------------ */

/* The hands turn by 170 degrees against the forearms and the trunk by 170 between hips and chest: a stress test. */
static bool add_twist(spl_rigged *rigged)
{
    enum { LAST = 90 };
    track k = {rigged, spl_rigged_add_clip(rigged, "twist", LAST + 1, SPL_DEMO_FPS)};
    for (int32_t key = 0; k.clip && key <= LAST; key++) {
        body_pose body = standing();
        double s = sin(pi * key / LAST), degrees = 170 * s * s;
        body.spine = body.chest = spl_turn_y(0.5 * degrees);
        for (int side = 0; side < 2; side++) body.arm[side] = (arm_pose){spl_turn_identity(), 0, 0, 0, degrees, 0};
        set_body(&k, key, &body);
    }
    return k.clip != NULL;
}

bool spl_hero_clips(spl_rigged *rigged)
{
    return add_walk(rigged) && add_reach(rigged) && add_twist(rigged);
}
