#include "rig/retarget_rest.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/svd3.h"
#include "rig/bind.h"
#include "rig/retarget_carry.h"

/* Directions nearer than this to an axis are meant to be that axis: bodies are not built to the degree. */
#define AXIS_SNAP  20.0
#define BIND_EQUAL 3.0 /* a rest pose within this of the bind pose is the bind pose; degrees */

static double degrees_between(spl_vec3 a, spl_vec3 b)
{
    return atan2(spl_norm(spl_cross(a, b)), spl_dot(a, b)) * 180 / 3.14159265358979323846;
}

static double turn_degrees(spl_quat a, spl_quat b)
{
    double d = fabs(spl_quat_dot(a, b));
    return 2 * acos(d < 1 ? d : 1) * 180 / 3.14159265358979323846;
}

spl_quat spl_rest_rotation(const spl_mat4 *m)
{
    spl_mat3 F = spl_mat3_linear(m), flip = spl_mat3_diagonal(-1, 1, 1), R, S;
    if (spl_mat3_det(&F) < 0) F = spl_mat3_mul(&F, &flip);
    spl_polar3(&F, &R, &S);
    return spl_quat_from_mat3(&R);
}

/* ---- the character's rest --------------------------------------------------------------------------------------- */

/* The turn from the mesh's space to the world that a joint had at rest, were that its bind pose. */
static bool bind_turn(const supple_scene *scene, const spl_match *match, const spl_mat4 *world, int32_t joint,
                      spl_quat *out)
{
    spl_mat4 inverse;
    if (match->source[joint] < 0 || !spl_bind_inverse(scene, 0, match->node[joint], &inverse)) return false;
    spl_mat4 way = spl_mat4_mul(&world[match->node[joint]], &inverse);
    *out = spl_rest_rotation(&way);
    return true;
}

static spl_vec3 nearest_axis(spl_vec3 d)
{
    double x = fabs(d.x), y = fabs(d.y), z = fabs(d.z);
    if (x > y && x > z) return spl_v3(d.x < 0 ? -1 : 1, 0, 0);
    return y >= z ? spl_v3(0, d.y < 0 ? -1 : 1, 0) : spl_v3(0, 0, d.z < 0 ? -1 : 1);
}

/* Whether the file's rest pose is the pose in which the skin was bound: all joints agree on the turn from the mesh's
 * space to the world. `turn` is room for one a joint; *count are filled. */
static bool rest_is_bind(const supple_scene *scene, const spl_match *match, const spl_mat4 *world, spl_quat *turn,
                         int32_t *count)
{
    *count = 0;
    for (int32_t i = 0; i < match->joint_count; i++)
        if (bind_turn(scene, match, world, i, &turn[*count])) ++*count;
    bool equal = true;
    for (int32_t i = 1; i < *count; i++) equal = equal && turn_degrees(turn[0], turn[i]) < BIND_EQUAL;
    return equal;
}

/* Where the top of the body is in the mesh's space, from its hips: an axis; (0, 0, 0) without either. */
static spl_vec3 bind_up(const supple_scene *scene, const spl_match *match, int32_t hips)
{
    static const spl_body_part tops[] = {SPL_PART_HEAD, SPL_PART_NECK, SPL_PART_SPINE};
    spl_mat4 inverse, low, high;
    int32_t top = -1;
    for (int i = 0; i < 3 && top < 0; i++) top = spl_match_find(match, tops[i], 0);
    if (top < 0 || hips < 0) return spl_v3(0, 0, 0);
    if (!spl_bind_inverse(scene, 0, match->node[hips], &inverse) || !spl_mat4_inverse(&inverse, &low) ||
        !spl_bind_inverse(scene, 0, match->node[top], &inverse) || !spl_mat4_inverse(&inverse, &high))
        return spl_v3(0, 0, 0);
    spl_vec3 d = spl_sub(spl_mat4_point(&high, spl_v3(0, 0, 0)), spl_mat4_point(&low, spl_v3(0, 0, 0)));
    return spl_norm(d) > 0 ? nearest_axis(d) : d;
}

/* The node of the mesh that the first skin moves, or -1. */
static int32_t mesh_node(const supple_scene *scene)
{
    for (int32_t i = 0; i < scene->instance_count; i++)
        if (scene->instance[i].skin == 0) return scene->instance[i].node;
    return -1;
}

/* How a character stands whose rest pose is some frame of an animation: upright, along the axis of the world that most
 * of its joints point to. It faces where its mesh does if that stands upright too, else where its hips do. */
static spl_quat standing(const supple_scene *scene, const spl_match *match, const spl_mat4 *world, const spl_quat *turn,
                         int32_t count, int32_t hips)
{
    spl_vec3 up = bind_up(scene, match, hips), sum = spl_v3(0, 0, 0);
    spl_quat way = turn[0];
    int32_t mesh = mesh_node(scene);
    bind_turn(scene, match, world, hips >= 0 ? hips : 0, &way);
    if (spl_norm(up) == 0) return way;
    for (int32_t i = 0; i < count; i++) sum = spl_add(sum, spl_quat_rotate(turn[i], up));
    spl_vec3 goal = nearest_axis(sum);
    spl_quat modelled = mesh >= 0 ? spl_rest_rotation(&world[mesh]) : way;
    if (degrees_between(spl_quat_rotate(modelled, up), goal) < AXIS_SNAP) way = modelled;
    return spl_quat_mul(spl_quat_shortest_arc(spl_quat_rotate(way, up), goal), way);
}

/* A skin without bind matrices has all its joints at one place: that is no pose. */
static bool bind_has_shape(const supple_scene *scene, const spl_match *match, spl_vec3 origin)
{
    spl_mat4 inverse, bind;
    for (int32_t i = 0; i < match->joint_count; i++)
        if (spl_bind_inverse(scene, 0, match->node[i], &inverse) && spl_mat4_inverse(&inverse, &bind) &&
            spl_distance(spl_mat4_point(&bind, spl_v3(0, 0, 0)), origin) > 0)
            return true;
    return false;
}

/* How much higher the file's lowest foot is than that of the bind pose, hips at one place, as a way along the body's
 * axis in the world. */
static spl_vec3 foot_difference(const supple_scene *scene, const spl_match *match, const spl_rest *rest,
                                spl_quat common, double size)
{
    const int32_t feet[4] = {rest->foot[0], rest->foot[1], rest->toe[0], rest->toe[1]};
    spl_vec3 up = bind_up(scene, match, rest->hips);
    spl_mat4 inverse, bind, hips;
    double low_rest = INFINITY, low_bind = INFINITY;
    if (spl_norm(up) == 0 || !spl_bind_inverse(scene, 0, match->node[rest->hips], &inverse) ||
        !spl_mat4_inverse(&inverse, &hips))
        return spl_v3(0, 0, 0);
    spl_vec3 axis = spl_quat_rotate(common, up), origin = spl_mat4_point(&hips, spl_v3(0, 0, 0));
    for (int i = 0; i < 4; i++) {
        if (feet[i] < 0 || !spl_bind_inverse(scene, 0, match->node[feet[i]], &inverse) ||
            !spl_mat4_inverse(&inverse, &bind))
            continue;
        spl_vec3 d = spl_sub(spl_mat4_point(&bind, spl_v3(0, 0, 0)), origin);
        low_bind = fmin(low_bind, size * spl_dot(d, up));
        low_rest = fmin(low_rest, spl_dot(spl_sub(rest->place[feet[i]], rest->place[rest->hips]), axis));
    }
    return isfinite(low_bind) ? spl_scale(axis, low_rest - low_bind) : spl_v3(0, 0, 0);
}

/* The rest pose is the file's; where that is not the bind pose (a frame of some animation, often) the bind pose, turned
 * upright, its lowest foot as high as the file's. */
static void set_places(const supple_scene *scene, const spl_match *match, const spl_mat4 *world, spl_rest *rest)
{
    int32_t anchor = rest->hips >= 0 ? rest->hips : 0, count;
    bool equal = rest_is_bind(scene, match, world, rest->rotation, &count); /* its room is filled below */
    spl_quat common = equal ? spl_quat_identity() : standing(scene, match, world, rest->rotation, count, rest->hips);
    for (int32_t i = 0; i < match->joint_count; i++) {
        rest->rotation[i] = spl_rest_rotation(&world[match->node[i]]);
        rest->place[i] = spl_mat4_point(&world[match->node[i]], spl_v3(0, 0, 0));
    }
    spl_mat4 inverse, bind;
    rest->modelled = world[match->node[anchor]];
    if (!spl_bind_inverse(scene, 0, match->node[anchor], &inverse)) return;
    rest->modelled = spl_mat4_mul(&world[match->node[anchor]], &inverse);
    if (equal || !spl_mat4_inverse(&inverse, &bind)) return;
    spl_vec3 origin = spl_mat4_point(&bind, spl_v3(0, 0, 0)), there = rest->place[anchor];
    if (!bind_has_shape(scene, match, origin)) return;
    spl_mat3 linear = spl_mat3_linear(&rest->modelled), turn = spl_quat_to_mat3(common);
    double size = cbrt(fabs(spl_mat3_det(&linear)));
    there = spl_add(there, foot_difference(scene, match, rest, common, size));
    linear = spl_mat3_scale(&turn, size);
    rest->modelled = spl_mat3_affine(&linear, spl_sub(there, spl_mat3_apply(&linear, origin)));
    for (int32_t i = 0; i < match->joint_count; i++) {
        if (!spl_bind_inverse(scene, 0, match->node[i], &inverse) || !spl_mat4_inverse(&inverse, &bind)) continue;
        rest->place[i] = spl_mat4_point(&rest->modelled, spl_mat4_point(&bind, spl_v3(0, 0, 0)));
        rest->rotation[i] = spl_quat_mul(common, spl_rest_rotation(&bind));
    }
}

/* ---- axes ------------------------------------------------------------------------------------------------------- */

/* Columns: to the left, up, forward. */
static spl_quat body_frame(spl_vec3 up, spl_vec3 left)
{
    up = nearest_axis(up);
    left = spl_madd(left, up, -spl_dot(left, up));
    spl_vec3 axis = nearest_axis(left);
    if (spl_norm(left) == 0) axis = fabs(up.x) > 0.5 ? spl_v3(0, 0, 1) : spl_v3(1, 0, 0);
    if (spl_norm(left) == 0 || degrees_between(left, axis) < AXIS_SNAP) left = axis;
    left = spl_unit(left, axis);
    spl_mat3 R = spl_mat3_columns(left, up, spl_cross(left, up));
    return spl_quat_from_mat3(&R);
}

/* Which way a body stands, from joints that both skeletons have. */
static void set_axes(const spl_match *match, spl_rest *rest)
{
    static const spl_body_part tops[] = {SPL_PART_HEAD, SPL_PART_NECK, SPL_PART_SPINE};
    static const spl_body_part pairs[] = {SPL_PART_THIGH, SPL_PART_UPPER_ARM, SPL_PART_SHIN, SPL_PART_CLAVICLE};
    int32_t top = -1, l = -1, r = -1;
    for (int i = 0; i < 3 && top < 0; i++) top = spl_match_find(match, tops[i], 0);
    for (int i = 0; i < 4 && (l < 0 || r < 0); i++) {
        l = spl_match_find(match, pairs[i], 'l');
        r = spl_match_find(match, pairs[i], 'r');
    }
    spl_vec3 up_to = spl_v3(0, 1, 0), up_from = up_to, left_to = spl_v3(0, 0, 0), left_from = left_to;
    if (top >= 0 && rest->hips >= 0) {
        up_to = spl_sub(rest->place[top], rest->place[rest->hips]);
        up_from = spl_sub(rest->from[match->source[top]], rest->from[match->source[rest->hips]]);
    }
    if (l >= 0 && r >= 0) {
        left_to = spl_sub(rest->place[l], rest->place[r]);
        left_from = spl_sub(rest->from[match->source[l]], rest->from[match->source[r]]);
    }
    if (spl_norm(up_from) == 0 || spl_norm(up_to) == 0) up_from = up_to = spl_v3(0, 1, 0);
    spl_quat to = body_frame(up_to, left_to), from = body_frame(up_from, left_from);
    rest->axes = spl_quat_mul(to, spl_quat_conjugate(from));
    rest->up = nearest_axis(up_to);
}

/* ---- lengths ---------------------------------------------------------------------------------------------------- */

static void add_length(const spl_match *match, const spl_rest *rest, int32_t a, int32_t b, double *to, double *from)
{
    if (a < 0 || b < 0) return;
    *to += spl_distance(rest->place[a], rest->place[b]);
    *from += spl_distance(rest->from[match->source[a]], rest->from[match->source[b]]);
}

/* Legs first: feet that stand must not slide. Else whatever has a length. */
static void set_scale(const spl_match *match, spl_rest *rest)
{
    double to = 0, from = 0;
    for (int s = 0; s < 2; s++) {
        int32_t knee = spl_match_find(match, SPL_PART_SHIN, "lr"[s]);
        add_length(match, rest, rest->thigh[s], knee, &to, &from);
        add_length(match, rest, knee, rest->foot[s], &to, &from);
    }
    if (!(to > 0 && from > 0))
        for (int32_t i = 0; i < match->joint_count; i++)
            if (match->source[i] >= 0) add_length(match, rest, i, rest->above[i], &to, &from);
    rest->scale = to > 0 && from > 0 ? to / from : 1;
}

/* ---- corrections ------------------------------------------------------------------------------------------------ */

/* The one joint with a match below a joint; -1 if there is none or more than one. */
static int32_t only_below(const spl_match *match, const spl_rest *rest, int32_t joint)
{
    int32_t found = -1;
    for (int32_t i = 0; i < match->joint_count; i++) {
        if (match->source[i] < 0 || rest->above[i] != joint) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

/* Limbs are held in many ways at rest (T, A, knees bent): their directions are pose. */
static bool is_limb(spl_body_part part)
{
    return part == SPL_PART_UPPER_ARM || part == SPL_PART_FOREARM || part == SPL_PART_THIGH || part == SPL_PART_SHIN ||
           part == SPL_PART_NONE;
}

static int32_t bone_end(const spl_match *match, const spl_rest *rest, int32_t joint)
{
    static const spl_body_part next[SPL_PART_COUNT] = {[SPL_PART_UPPER_ARM] = SPL_PART_FOREARM,
                                                       [SPL_PART_FOREARM] = SPL_PART_HAND,
                                                       [SPL_PART_THIGH] = SPL_PART_SHIN,
                                                       [SPL_PART_SHIN] = SPL_PART_FOOT};
    spl_joint_name name = spl_match_name(match, joint);
    int32_t end = next[name.part] ? spl_match_find(match, next[name.part], name.side) : -1;
    return end >= 0 ? end : only_below(match, rest, joint);
}

static void set_corrections(const supple_scene *scene, const spl_match *match, const int32_t *joint_of_node,
                            spl_rest *rest)
{
    double reach = 0; /* joints nearer than a thousandth of it are at one place and give no direction */
    for (int32_t k = 0; k < match->source_count; k++) reach = fmax(reach, spl_distance(rest->from[k], rest->from[0]));
    for (int32_t k = 0; k < scene->node_count; k++) {
        int32_t i = joint_of_node[rest->order[k]];
        if (i < 0) continue;
        rest->correct[i] = rest->above[i] >= 0 ? rest->correct[rest->above[i]] : spl_quat_identity();
        if (match->source[i] < 0) continue;
        spl_body_part part = spl_match_name(match, i).part;
        int32_t end = bone_end(match, rest, i);
        if (end < 0 || part == SPL_PART_HIPS || part == SPL_PART_HIP_JOINT) continue; /* the pelvis has no direction */
        if (match->target[match->source[i]] != i) continue; /* lent: the direction is another's */
        spl_vec3 bone = spl_sub(rest->place[end], rest->place[i]);
        spl_vec3 goal = spl_sub(rest->from[match->source[end]], rest->from[match->source[i]]);
        if (!(spl_norm(goal) > 1e-3 * reach) || !(spl_norm(bone) > 1e-3 * reach * rest->scale)) continue;
        bone = spl_quat_rotate(rest->correct[i], bone);
        goal = spl_quat_rotate(rest->axes, goal);
        if (!is_limb(part) && degrees_between(bone, goal) < SPL_RETARGET_ANATOMY) continue;
        rest->correct[i] = spl_quat_mul(spl_quat_shortest_arc(bone, goal), rest->correct[i]);
    }
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

static bool allocate(const supple_scene *scene, const spl_match *match, spl_rest *rest)
{
    size_t n = (size_t)match->joint_count;
    const supple_allocator *a = &scene->allocator;
    *rest = (spl_rest){.allocator = *a, .scale = 1};
    rest->place = spl_new(a, n, sizeof *rest->place);
    rest->rotation = spl_new(a, n, sizeof *rest->rotation);
    rest->correct = spl_new(a, n, sizeof *rest->correct);
    rest->carrier = spl_new(a, n, sizeof *rest->carrier);
    rest->shift = spl_new(a, n, sizeof *rest->shift);
    rest->above = spl_new(a, n, sizeof *rest->above);
    rest->order = spl_new(a, (size_t)scene->node_count, sizeof *rest->order);
    rest->from_node = spl_new(a, (size_t)scene->node_count, sizeof *rest->from_node);
    rest->from = spl_new(a, (size_t)match->source_count, sizeof *rest->from);
    return rest->place && rest->rotation && rest->correct && rest->carrier && rest->shift && rest->above &&
           rest->order && rest->from_node && rest->from;
}

static void find_parts(const supple_scene *scene, const spl_match *match, int32_t *joint_of_node, spl_rest *rest)
{
    for (int32_t i = 0; i < scene->node_count; i++) joint_of_node[i] = -1;
    for (int32_t i = 0; i < match->joint_count; i++) joint_of_node[match->node[i]] = i;
    rest->hips = spl_match_find(match, SPL_PART_HIPS, 0);
    for (int s = 0; s < 2; s++) {
        rest->thigh[s] = spl_match_find(match, SPL_PART_THIGH, "lr"[s]);
        rest->foot[s] = spl_match_find(match, SPL_PART_FOOT, "lr"[s]);
        rest->toe[s] = spl_match_find(match, SPL_PART_TOE, "lr"[s]);
    }
}

supple_result spl_rest_make(const supple_scene *scene, const spl_bvh *bvh, const spl_match *match, spl_rest *out,
                            supple_error *error)
{
    const supple_allocator *a = &scene->allocator;
    spl_pose pose = {0};
    bool ok = allocate(scene, match, out);
    int32_t *joint_of_node = spl_new(a, (size_t)scene->node_count, sizeof *joint_of_node);
    spl_quat *rotation = spl_new(a, (size_t)bvh->joint_count, sizeof *rotation);
    supple_result result =
        ok && joint_of_node && rotation ? spl_pose_init(&pose, scene, error) : spl_fail_memory(error, "the rest poses");
    if (result == SUPPLE_OK) {
        spl_bvh_pose(bvh, -1, rotation, out->from);
        find_parts(scene, match, joint_of_node, out);
        set_places(scene, match, pose.world, out);
        if (!spl_carry_find(scene, match, joint_of_node, out)) result = spl_fail_memory(error, "the rest poses");
    }
    if (result == SUPPLE_OK) {
        set_axes(match, out);
        set_scale(match, out);
        set_corrections(scene, match, joint_of_node, out);
    } else {
        spl_rest_release(out);
    }
    spl_pose_release(&pose);
    spl_free(a, rotation);
    spl_free(a, joint_of_node);
    return result;
}

void spl_rest_release(spl_rest *rest)
{
    supple_allocator a = rest->allocator;
    if (a.release) {
        spl_free(&a, rest->place);
        spl_free(&a, rest->rotation);
        spl_free(&a, rest->correct);
        spl_free(&a, rest->carrier);
        spl_free(&a, rest->shift);
        spl_free(&a, rest->above);
        spl_free(&a, rest->order);
        spl_free(&a, rest->from_node);
        spl_free(&a, rest->from);
    }
    *rest = (spl_rest){0};
}
