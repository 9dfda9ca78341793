#include "slide/stance.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/mat3.h"
#include "math/quat.h"
#include "rig/joint_names.h"

#include <string.h>

/* Off the vertical, to the side: where hands hang beside thighs, and feet stand below hips. */
static const double arm_angle = 0.22, leg_angle = 0.02;

/* Arms that are no farther from there hang, in a clip; how often one is looked at. */
static const double hangs = 0.5, looks_per_second = 10;
static const double clearly = 0.05; /* better than an earlier moment: arms that begin to rise pass the very angle too */
static const double stands_within = 0.2; /* legs */
enum { MOST_LOOKS = 200 };

/* Of less than this a limb's turn is left alone: the pose it was modelled in is as good. */
static const double least_turn = 0.09;

/* A skin's joints, parents before children. */
typedef struct person {
    const supple_scene *scene;
    const spl_skin *skin;
    int32_t *order; /* indices into the skin's joints */
    spl_joint_name *name;
    spl_mat4 *world; /* by joint of the skin: where it is */
    bool *below;     /* by node of the scene */
} person;

static bool read_names(person *p, const supple_allocator *a)
{
    const supple_scene *scene = p->scene;
    int32_t count = 0;
    const char **text = spl_new(a, (size_t)p->skin->joint_count, sizeof *text);
    if (!text) return false;
    for (int32_t i = 0; i < scene->node_count; i++)
        for (int32_t j = 0; j < p->skin->joint_count && count < p->skin->joint_count; j++)
            if (p->skin->joint[j] == scene->node_order[i]) p->order[count++] = j;
    for (int32_t k = 0; k < count; k++) text[k] = scene->node[p->skin->joint[p->order[k]]].name;
    spl_joint_names_read(text, count, p->name);
    spl_free(a, text);
    return true;
}

/* The first joint of a part (the last, of a chain's end); -1 if there is none. */
static int32_t find(const person *p, spl_body_part part, char side)
{
    for (int32_t k = 0; k < p->skin->joint_count; k++)
        if (p->name[k].part == part && (side == 0 || p->name[k].side == side)) return p->order[k];
    return -1;
}

static spl_vec3 place(const person *p, int32_t joint)
{
    const double *m = p->world[joint].m;
    return spl_v3(m[12], m[13], m[14]);
}

/* The bind pose, standing where the rest pose has the first joint. */
static bool bind_matrices(person *p, const spl_pose *pose)
{
    int32_t first = p->order[0];
    spl_mat4 from = spl_mat4_mul(&pose->world[p->skin->joint[first]], &p->skin->inverse_bind[first]);
    for (int32_t j = 0; j < p->skin->joint_count; j++) {
        spl_mat4 bind;
        if (!spl_mat4_inverse(&p->skin->inverse_bind[j], &bind)) return false;
        p->world[j] = spl_mat4_mul(&from, &bind);
    }
    return true;
}

/* Turns a joint and all below it, so that `end` comes to lie in a direction from it. */
static void turn_limb(person *p, int32_t joint, int32_t end, spl_vec3 direction)
{
    const supple_scene *scene = p->scene;
    spl_vec3 centre = place(p, joint), now = spl_unit(spl_sub(place(p, end), centre), direction);
    if (spl_dot(now, direction) > cos(least_turn)) return;
    spl_mat3 R = spl_quat_to_mat3(spl_quat_shortest_arc(now, direction));
    spl_mat4 turn = spl_mat3_affine(&R, spl_sub(centre, spl_mat3_apply(&R, centre)));
    for (int32_t i = 0; i < scene->node_count; i++) {
        int32_t n = scene->node_order[i], up = scene->node[n].parent;
        p->below[n] = n == p->skin->joint[joint] || (up >= 0 && p->below[up]);
    }
    for (int32_t j = 0; j < p->skin->joint_count; j++)
        if (p->below[p->skin->joint[j]]) p->world[j] = spl_mat4_mul(&turn, &p->world[j]);
}

/* Both sides of a limb, from `part` to `next`, hang down; `angle` to the side. */
static void hang(person *p, spl_body_part part, spl_body_part next, spl_vec3 up, double angle)
{
    int32_t joint[2] = {find(p, part, 'l'), find(p, part, 'r')};
    int32_t end[2] = {find(p, next, 'l'), find(p, next, 'r')};
    spl_vec3 side = spl_sub(place(p, joint[0]), place(p, joint[1]));
    side = spl_unit(spl_madd(side, up, -spl_dot(side, up)), side);
    for (int k = 0; k < 2; k++)
        turn_limb(p, joint[k], end[k], spl_madd(spl_scale(side, (k ? -1 : 1) * sin(angle)), up, -cos(angle)));
}

/* Whether the skin has a person's joints; `up` is then the way from hips to head. */
static bool is_person(const person *p, spl_vec3 *up)
{
    static const spl_body_part pairs[] = {SPL_PART_UPPER_ARM, SPL_PART_FOREARM, SPL_PART_HAND,
                                          SPL_PART_THIGH,     SPL_PART_SHIN,    SPL_PART_FOOT};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (find(p, pairs[i], 'l') < 0 || find(p, pairs[i], 'r') < 0) return false;
    int32_t head = find(p, SPL_PART_HEAD, 0);
    if (head < 0) head = find(p, SPL_PART_NECK, 0);
    if (head < 0) return false;
    spl_vec3 hips = spl_lerp(place(p, find(p, SPL_PART_THIGH, 'l')), place(p, find(p, SPL_PART_THIGH, 'r')), 0.5);
    spl_vec3 feet = spl_lerp(place(p, find(p, SPL_PART_FOOT, 'l')), place(p, find(p, SPL_PART_FOOT, 'r')), 0.5);
    spl_vec3 above = spl_sub(place(p, head), hips), below = spl_sub(feet, hips);
    if (!(spl_norm(above) > 0) || !(spl_norm(below) > 0)) return false;
    *up = spl_unit(above, above);
    return spl_dot(*up, spl_unit(below, below)) < -0.9; /* upright, as persons are modelled; four-legged ones are not */
}

static bool stand(person *p, const spl_pose *pose, float *matrices)
{
    spl_vec3 up;
    if (!bind_matrices(p, pose)) return false;
    bool upright = is_person(p, &up);
    if (upright) {
        hang(p, SPL_PART_UPPER_ARM, SPL_PART_FOREARM, up, arm_angle);
        hang(p, SPL_PART_FOREARM, SPL_PART_HAND, up, arm_angle);
        hang(p, SPL_PART_THIGH, SPL_PART_SHIN, up, leg_angle);
        hang(p, SPL_PART_SHIN, SPL_PART_FOOT, up, leg_angle);
    }
    for (int32_t j = 0; j < p->skin->joint_count; j++)
        for (size_t i = 0; i < 16; i++)
            matrices[16 * ((size_t)p->skin->first_joint + (size_t)j) + i] = (float)p->world[j].m[i];
    return upright;
}

static void release(person *p, const supple_allocator *a)
{
    spl_free(a, p->order);
    spl_free(a, p->name);
    spl_free(a, p->world);
    spl_free(a, p->below);
}

static bool make(person *p, const supple_scene *scene, const supple_allocator *a)
{
    size_t most = 0;
    for (int32_t k = 0; k < scene->skin_count; k++) {
        size_t count = (size_t)scene->skin[k].joint_count;
        most = count > most ? count : most;
    }
    *p = (person){.scene = scene,
                  .order = spl_new(a, most, sizeof *p->order),
                  .name = spl_new(a, most, sizeof *p->name),
                  .world = spl_new(a, most, sizeof *p->world),
                  .below = spl_new(a, (size_t)scene->node_count, sizeof *p->below)};
    return p->order && p->name && p->world && p->below;
}

supple_result spl_stance_find(const supple_scene *scene, const spl_pose *pose, const supple_allocator *a,
                              float *matrices, bool *stands, supple_error *error)
{
    person p;
    *stands = false;
    bool made = make(&p, scene, a);
    for (int32_t k = 0; made && k < scene->skin_count; k++) {
        p.skin = &scene->skin[k];
        if (p.skin->joint_count == 0) continue;
        made = read_names(&p, a);
        if (made && stand(&p, pose, matrices)) *stands = true;
    }
    release(&p, a);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the standing pose");
}

/* ---- as clips show it ---- */

static void take_pose(person *p, const spl_pose *pose)
{
    for (int32_t j = 0; j < p->skin->joint_count; j++) p->world[j] = pose->world[p->skin->joint[j]];
}

/* Two bones of a limb, from the trunk on. */
static const spl_body_part arm[3] = {SPL_PART_UPPER_ARM, SPL_PART_FOREARM, SPL_PART_HAND};
static const spl_body_part leg[3] = {SPL_PART_THIGH, SPL_PART_SHIN, SPL_PART_FOOT};

/* The largest angle of both limbs' bones from hanging, in the trunk's own axes; INFINITY where the trunk has none. */
static double limbs_off(const person *p, const spl_body_part bone[3], double angle)
{
    spl_vec3 thigh[2] = {place(p, find(p, SPL_PART_THIGH, 'l')), place(p, find(p, SPL_PART_THIGH, 'r'))};
    int32_t head = find(p, SPL_PART_HEAD, 0);
    if (head < 0) head = find(p, SPL_PART_NECK, 0);
    spl_vec3 none = {0}, up = spl_unit(spl_sub(place(p, head), spl_lerp(thigh[0], thigh[1], 0.5)), none);
    spl_vec3 side = spl_sub(thigh[0], thigh[1]);
    double most = 0;
    side = spl_unit(spl_madd(side, up, -spl_dot(side, up)), none);
    for (int b = 0; b < 2; b++)
        for (int k = 0; k < 2; k++) {
            spl_vec3 from = place(p, find(p, bone[b], k ? 'r' : 'l'));
            spl_vec3 to = place(p, find(p, bone[b + 1], k ? 'r' : 'l'));
            spl_vec3 hanging = spl_madd(spl_scale(side, (k ? -1 : 1) * sin(angle)), up, -cos(angle));
            double cosine = spl_dot(spl_unit(spl_sub(to, from), none), hanging);
            most = fmax(most, acos(fmin(fmax(cosine, -1), 1)));
        }
    return isfinite(most) ? most : INFINITY;
}

/* The moment of a clip in which arms hang best, if that is better than `*least`. */
static bool search(person *p, int32_t clip, spl_pose *pose, double *least, double *time)
{
    double duration = p->scene->clip[clip].duration;
    int32_t count = (int32_t)fmin(floor(duration * looks_per_second), MOST_LOOKS);
    bool better = false;
    for (int32_t k = 0; k <= count && p->scene->clip[clip].sample_count == 0; k++) {
        double at = count > 0 ? duration * k / count : 0;
        spl_pose_sample(pose, p->scene, clip, at);
        take_pose(p, pose);
        double off = limbs_off(p, arm, arm_angle);
        if (!(off < *least - clearly)) continue;
        *least = off;
        *time = at;
        better = true;
    }
    return better;
}

/* All above the legs as the clip has it, and legs if they stand: one that steps forward does not. */
static void take_trunk(person *p, int32_t clip, double time, const spl_pose *stance, spl_pose *pose)
{
    const supple_scene *scene = p->scene;
    spl_pose_sample(pose, scene, clip, time);
    take_pose(p, pose);
    if (limbs_off(p, leg, leg_angle) < stands_within) return;
    memset(p->below, 0, (size_t)scene->node_count * sizeof *p->below);
    for (int32_t k = 0; k < p->skin->joint_count; k++)
        if (p->name[k].part == SPL_PART_THIGH) p->below[p->skin->joint[p->order[k]]] = true;
    for (int32_t i = 0; i < scene->node_count; i++) {
        int32_t n = scene->node_order[i], up = scene->node[n].parent;
        spl_mat4 back;
        if (up >= 0 && p->below[up]) p->below[n] = true;
        if (!p->below[n] || up < 0 || !spl_mat4_inverse(&stance->world[up], &back)) continue;
        pose->local[n] = spl_mat4_mul(&back, &stance->world[n]);
    }
    spl_pose_place(pose, scene);
}

supple_result spl_stance_seen(const supple_scene *scene, const spl_pose *stance, const supple_allocator *a,
                              spl_pose *pose, bool *seen, supple_error *error)
{
    person p;
    spl_vec3 up;
    bool made = make(&p, scene, a), upright = false, added = false;
    *seen = false;
    for (int32_t k = 0; made && k < scene->skin_count && !upright; k++) {
        p.skin = &scene->skin[k];
        if (p.skin->joint_count == 0) continue;
        made = read_names(&p, a);
        take_pose(&p, stance);
        upright = made && is_person(&p, &up);
    }
    for (int32_t c = 0; c < scene->clip_count; c++) added = added || scene->clip[c].animation < 0;
    double least = hangs, time = 0;
    int32_t best = -1;
    for (int32_t c = 0; made && upright && c < scene->clip_count; c++)
        if ((scene->clip[c].animation < 0) == added && search(&p, c, pose, &least, &time)) best = c;
    if (best >= 0) take_trunk(&p, best, time, stance, pose);
    *seen = best >= 0;
    release(&p, a);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the standing pose");
}
