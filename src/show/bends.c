/* Which joints of a clip bend or twist most, and where to look at them from.
 *
 * With M_b the map of bone b from the bind pose to the world, R_b its rotation (polar decomposition) and p its parent,
 * q = R_p^-1 R_b is what the joint does, in the axes of the bind pose. It is split into q = swing twist, the twist
 * being about the bone u: twist = (u (u . v), w) / |...| for q = (v, w). */
#include "body/limb.h"
#include "core/error.h"
#include "core/memory.h"
#include "math/quat.h"
#include "math/svd3.h"
#include "rig/bind.h"
#include "rig/bones.h"
#include "rig/joint_names.h"
#include "rig/pose.h"
#include "scene/parts.h"

#include <string.h>
#include <supple/tools.h>

static const double LEAST_DEG = 25, LEAST_SHARE = 0.25, TWIN_SHARE = 0.9, APART = 3;

/* One bone whose joint may show, in the mesh space of its skin. */
typedef struct joint {
    supple_bend public;
    int32_t bone;
    spl_mat4 own, parent;        /* inverse bind matrices of its node and of its parent's */
    spl_vec3 head, along, above; /* place of the joint, directions of the bone and of its parent */
    double length, score;
    spl_vec3 axis;   /* of the largest bend */
    spl_vec3 inside; /* from the joint to where its flesh is once it is bent: half way between its bones */
    spl_joint_name name;
} joint;

struct supple_bends {
    supple_allocator allocator;
    supple_config config;
    const supple_scene *scene;
    supple_range range;
    double fps;
    spl_bones bones;
    spl_pose pose;
    bool has_bones, has_pose;
    joint *joint;
    int32_t joint_count;
    int32_t *listed; /* of the joints, in their order */
    int32_t listed_count;
};

/* ---- the joints ---- */

static int32_t skin_of_joint(const supple_scene *scene, int32_t index)
{
    for (int32_t s = 0; s < scene->skin_count; s++)
        if (index >= scene->skin[s].first_joint && index < scene->skin[s].first_joint + scene->skin[s].joint_count)
            return s;
    return -1;
}

/* All skinned parts as one surface, in the mesh space of the first skin. */
static supple_result make_tree(const supple_bends *x, spl_tree *tree, double *diagonal, supple_error *error)
{
    const supple_scene *scene = x->scene;
    const supple_allocator *a = &x->allocator;
    int32_t count, triangles = 0;
    spl_part *part = spl_parts_new(scene, a, &count);
    spl_vec3 *position = spl_new(a, (size_t)scene->vertex_count, sizeof *position);
    int32_t *triangle = spl_new(a, (size_t)scene->triangle_count, 3 * sizeof *triangle);
    supple_result r = part && position && triangle ? SUPPLE_OK : spl_fail_memory(error, "the joints");
    spl_vec3 low = {INFINITY, INFINITY, INFINITY}, high = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = 0; r == SUPPLE_OK && i < count; i++) {
        if (!spl_part_skinned(scene, &part[i])) continue;
        const spl_primitive *p = part[i].primitive;
        spl_mat4 map = spl_bind_between(scene, scene->instance[part[i].instance].skin, 0);
        spl_vec3 *to = position + part[i].first_vertex;
        for (int32_t v = 0; v < p->vertex_count; v++) {
            to[v] = spl_mat4_point(&map, spl_v3_from_float(p->position + 3 * (size_t)v));
            low = spl_v3(fmin(low.x, to[v].x), fmin(low.y, to[v].y), fmin(low.z, to[v].z));
            high = spl_v3(fmax(high.x, to[v].x), fmax(high.y, to[v].y), fmax(high.z, to[v].z));
        }
        for (int32_t t = 0; t < 3 * p->triangle_count; t++)
            triangle[3 * triangles + t] = part[i].first_vertex + p->triangle[t];
        triangles += p->triangle_count;
    }
    *diagonal = triangles ? spl_distance(low, high) : 0;
    if (r == SUPPLE_OK) r = spl_tree_make(position, triangle, triangles, a, tree, error);
    spl_free(a, part);
    spl_free(a, position);
    spl_free(a, triangle);
    return r;
}

static bool make_joint(const supple_bends *x, int32_t b, const spl_tree *tree, double diagonal, joint *j)
{
    const spl_bone *bone = &x->bones.bone[b], *parent = &x->bones.bone[bone->parent];
    int32_t skin = skin_of_joint(x->scene, bone->joint);
    spl_vec3 along = spl_sub(bone->tail, bone->head);
    *j = (joint){.bone = b, .head = bone->head, .length = spl_norm(along), .along = spl_unit(along, spl_v3(0, 1, 0))};
    if (skin < 0 || !spl_bind_inverse(x->scene, skin, bone->node, &j->own) ||
        !spl_bind_inverse(x->scene, skin, parent->node, &j->parent))
        return false;
    spl_mat4 home = spl_bind_between(x->scene, skin, 0);
    spl_vec3 at = spl_mat4_point(&home, bone->head), end = spl_mat4_point(&home, bone->tail);
    double scale = j->length > 0 ? spl_distance(at, end) / j->length : 1;
    double radius = spl_limb_radius(tree, at, spl_sub(end, at), diagonal);
    j->above = spl_unit(spl_sub(bone->head, parent->head), j->along);
    j->public = (supple_bend){.name = x->scene->node[bone->node].name, .joint = bone->joint};
    j->public.radius = (radius > 0 ? radius : 0.02 * diagonal) / (scale > 0 ? scale : 1);
    return true;
}

static supple_result find_joints(supple_bends *x, supple_error *error)
{
    const supple_allocator *a = &x->allocator;
    spl_tree tree;
    double diagonal;
    supple_result r = make_tree(x, &tree, &diagonal, error);
    if (r != SUPPLE_OK) return r;
    x->joint = spl_new(a, (size_t)x->bones.bone_count, sizeof *x->joint);
    if (!x->joint) r = spl_fail_memory(error, "the joints");
    for (int32_t b = 0; r == SUPPLE_OK && b < x->bones.bone_count; b++)
        if (spl_bones_bends(&x->bones, b) && make_joint(x, b, &tree, diagonal, &x->joint[x->joint_count]))
            x->joint_count++;
    spl_tree_release(&tree);
    const char **names = spl_new(a, (size_t)x->joint_count, sizeof *names);
    spl_joint_name *read = spl_new(a, (size_t)x->joint_count, sizeof *read);
    if (r == SUPPLE_OK && (!names || !read)) r = spl_fail_memory(error, "the joints");
    for (int32_t i = 0; r == SUPPLE_OK && i < x->joint_count; i++) names[i] = x->joint[i].public.name;
    if (r == SUPPLE_OK) spl_joint_names_read(names, x->joint_count, read);
    for (int32_t i = 0; r == SUPPLE_OK && i < x->joint_count; i++) x->joint[i].name = read[i];
    spl_free(a, names);
    spl_free(a, read);
    return r;
}

/* ---- what they do ---- */

/* The map of a node from the bind pose, and its rotation. */
static spl_quat turn_of(const supple_bends *x, int32_t node, const spl_mat4 *inverse_bind, spl_mat4 *map)
{
    spl_mat3 R, S;
    *map = spl_mat4_mul(&x->pose.world[node], inverse_bind);
    spl_mat3 linear = spl_mat3_linear(map);
    spl_polar3(&linear, &R, &S);
    return spl_quat_from_mat3(&R);
}

static int32_t parent_node(const supple_bends *x, const joint *j)
{
    return x->bones.bone[x->bones.bone[j->bone].parent].node;
}

static void look(const supple_bends *x, joint *j, int32_t frame)
{
    spl_mat4 map;
    spl_quat above = turn_of(x, parent_node(x, j), &j->parent, &map);
    spl_quat own = turn_of(x, x->bones.bone[j->bone].node, &j->own, &map);
    spl_quat q = spl_quat_mul(spl_quat_conjugate(above), own);
    double along = spl_dot(j->along, spl_v3(q.x, q.y, q.z));
    spl_vec3 v = spl_scale(j->along, along);
    spl_quat twist = spl_quat_normalise(spl_quat_make(v.x, v.y, v.z, q.w));
    spl_quat swing = spl_quat_mul(q, spl_quat_conjugate(twist));
    if (swing.w < 0) swing = spl_quat_negate(swing);
    double bend = 2 * atan2(spl_norm(spl_v3(swing.x, swing.y, swing.z)), swing.w) * 180 / M_PI;
    double turn = 2 * atan2(fabs(along), fabs(q.w)) * 180 / M_PI;
    if (bend > j->public.bend) {
        j->public.bend = bend;
        j->public.bend_frame = frame;
        j->axis = spl_unit(spl_v3(swing.x, swing.y, swing.z), spl_v3(1, 0, 0));
        j->inside = spl_scale(spl_sub(spl_quat_rotate(q, j->along), j->above), 0.5 * j->public.radius);
    }
    if (turn > j->public.twist) {
        j->public.twist = turn;
        j->public.twist_frame = frame;
    }
}

static void pose_at(supple_bends *x, int32_t frame)
{
    spl_pose_sample(&x->pose, x->scene, x->range.clip, (x->range.first_frame + frame) / x->fps);
}

static supple_result watch(supple_bends *x, supple_error *error)
{
    for (int32_t k = 0; k < x->range.frame_count; k++) {
        supple_result r = spl_progress(&x->config, "joints", (double)k / x->range.frame_count, error);
        if (r != SUPPLE_OK) return r;
        pose_at(x, k);
        for (int32_t i = 0; i < x->joint_count; i++) look(x, &x->joint[i], k);
    }
    for (int32_t i = 0; i < x->joint_count; i++) {
        supple_bend *b = &x->joint[i].public;
        b->twists = b->twist > b->bend;
        x->joint[i].score = fmax(b->bend, b->twist) * sqrt(b->radius);
    }
    return SUPPLE_OK;
}

/* ---- which are shown ---- */

static bool twins(const joint *a, const joint *b)
{
    return a->name.side && b->name.side && a->name.side != b->name.side && a->name.number == b->name.number &&
           strcmp(a->name.word, b->name.word) == 0;
}

/* Whether a joint may follow those that are listed. */
static bool fits(const supple_bends *x, const joint *j, bool with_twins)
{
    double angle = fmax(j->public.bend, j->public.twist);
    const joint *first = x->listed_count ? &x->joint[x->listed[0]] : j;
    if (angle < LEAST_DEG || j->score < LEAST_SHARE * first->score) return false;
    for (int32_t i = 0; i < x->listed_count; i++) {
        const joint *o = &x->joint[x->listed[i]];
        if (o == j) return false;
        double near = APART * fmax(o->public.radius, j->public.radius);
        bool twin = twins(o, j);
        if (!twin && spl_distance(o->head, j->head) < near) return false;
        if (twin && !(with_twins && j->score >= TWIN_SHARE * o->score)) return false;
    }
    return true;
}

/* The one that shows most, again and again; twins only once nothing else is left. */
static void list(supple_bends *x, int32_t most)
{
    for (int pass = 0; pass < 2; pass++)
        while (x->listed_count < most) {
            int32_t best = -1;
            for (int32_t i = 0; i < x->joint_count; i++)
                if (fits(x, &x->joint[i], pass == 1) && (best < 0 || x->joint[i].score > x->joint[best].score))
                    best = i;
            if (best < 0) break;
            x->listed[x->listed_count++] = best;
        }
}

static supple_result build(supple_bends *x, int32_t most, supple_error *error)
{
    supple_result r = spl_bones_make(x->scene, &x->allocator, &x->bones, error);
    if (r != SUPPLE_OK) return r;
    x->has_bones = true;
    r = spl_pose_init(&x->pose, x->scene, error);
    if (r != SUPPLE_OK) return r;
    x->has_pose = true;
    x->listed = spl_new(&x->allocator, (size_t)most, sizeof *x->listed);
    if (!x->listed) return spl_fail_memory(error, "the joints");
    if (x->scene->skin_count > 0) r = find_joints(x, error);
    if (r == SUPPLE_OK) r = watch(x, error);
    if (r == SUPPLE_OK) list(x, most);
    return r;
}

supple_result supple_bends_create(const supple_scene *scene, const supple_range *range, double fps, int32_t most,
                                  const supple_config *config, supple_bends **out, supple_error *error)
{
    *out = NULL;
    supple_result r = spl_config_check(config, error);
    if (r != SUPPLE_OK) return r;
    if (!(fps > 0) || most < 0 || range->clip >= scene->clip_count || range->frame_count < 0)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "there is no such run of frames");
    supple_allocator a = spl_allocator_of(config);
    supple_bends *x = spl_new(&a, 1, sizeof *x);
    if (!x) return spl_fail_memory(error, "the joints");
    x->allocator = a;
    x->config = config ? *config : supple_config_default();
    x->scene = scene;
    x->range = *range;
    x->fps = fps;
    r = build(x, most, error);
    if (r == SUPPLE_OK)
        *out = x;
    else
        supple_bends_destroy(x);
    return r;
}

void supple_bends_destroy(supple_bends *x)
{
    if (!x) return;
    supple_allocator a = x->allocator;
    if (x->has_bones) spl_bones_release(&x->bones);
    if (x->has_pose) spl_pose_release(&x->pose);
    spl_free(&a, x->joint);
    spl_free(&a, x->listed);
    spl_free(&a, x);
}

const supple_bend *supple_bends_get(const supple_bends *x, int32_t index)
{
    return index >= 0 && index < x->listed_count ? &x->joint[x->listed[index]].public : NULL;
}

/* ---- cameras ---- */

/* A camera in the bind pose's axes, and the joint it looks at. */
typedef struct aim {
    const joint *joint;
    spl_vec3 back, up;
    double radius;
} aim;

/* Frames of the run, with their points or without. */
typedef struct frames_of {
    const int32_t *frame;
    int32_t count;
    const float *const *points;
} frames_of;

static double scale_of(const spl_mat4 *map)
{
    spl_mat3 linear = spl_mat3_linear(map);
    return cbrt(fabs(spl_mat3_det(&linear)));
}

/* How much stands between a camera and the joint: points in its way, beyond the joint's own flesh. */
static int64_t in_the_way(const supple_bends *x, const float *points, spl_vec3 at, spl_vec3 back, double radius)
{
    int64_t count = 0;
    for (int32_t i = 0; i < x->scene->point_count; i++) {
        spl_vec3 d = spl_sub(spl_v3_from_float(points + 3 * (size_t)i), at);
        double towards = spl_dot(d, back);
        if (towards < 1.1 * radius || towards > 5.6 * radius) continue; /* behind the camera nothing is in its way */
        if (spl_norm(spl_madd(d, back, -towards)) < radius * (1 - towards / (5.6 * radius))) count++;
    }
    return count;
}

/* The axes that a picture is upright in, in the scene's space. */
static void upright_axes(const supple_scene *scene, spl_vec3 *up, spl_vec3 *front)
{
    *up = scene->up == SPL_UP_X ? spl_v3(1, 0, 0) : scene->up == SPL_UP_Z ? spl_v3(0, 0, 1) : spl_v3(0, 1, 0);
    *front = scene->up == SPL_UP_Z ? spl_v3(0, -1, 0) : spl_v3(0, 0, 1);
}

/* Places to look from: both ends of the axis of a bend, eight around a twisted bone. Returns how many. */
static int list_sides(const joint *j, spl_vec3 side[8])
{
    if (!j->public.twists) {
        side[0] = j->axis;
        side[1] = spl_scale(j->axis, -1);
        return 2;
    }
    spl_vec3 u = fabs(j->along.x) < 0.7 ? spl_v3(1, 0, 0) : spl_v3(0, 1, 0);
    u = spl_unit(spl_madd(u, j->along, -spl_dot(u, j->along)), u);
    spl_vec3 v = spl_cross(j->along, u);
    for (int k = 0; k < 8; k++) side[k] = spl_add(spl_scale(u, cos(k * M_PI / 4)), spl_scale(v, sin(k * M_PI / 4)));
    return 8;
}

/* How much is in the way of each side, in all frames, and how much one would rather look from there. */
static void weigh_sides(supple_bends *x, const aim *a, const frames_of *f, int sides, const spl_vec3 *side,
                        int64_t *count)
{
    for (int32_t i = 0; f->points && i < f->count; i++) {
        spl_mat4 map;
        pose_at(x, f->frame[i]);
        spl_quat above = turn_of(x, parent_node(x, a->joint), &a->joint->parent, &map);
        spl_vec3 at = spl_mat4_point(&map, a->joint->head);
        for (int k = 0; k < sides; k++)
            count[k] += in_the_way(x, f->points[i], at, spl_quat_rotate(above, side[k]), a->radius * scale_of(&map));
    }
}

/* The side with least in the way, of equals the one nearer to the front; upright at the largest angle where that can
 * be, and from then on still relative to the bone above. */
static void choose_side(supple_bends *x, aim *a, const frames_of *f)
{
    const joint *j = a->joint;
    spl_vec3 side[8], world_up, front;
    int64_t count[8] = {0};
    spl_mat4 map;
    int sides = list_sides(j, side), best = 0;
    weigh_sides(x, a, f, sides, side, count);
    upright_axes(x->scene, &world_up, &front);
    pose_at(x, j->public.twists ? j->public.twist_frame : j->public.bend_frame);
    spl_quat above = turn_of(x, parent_node(x, j), &j->parent, &map);
    double liked = -INFINITY;
    for (int k = 0; k < sides; k++) {
        spl_vec3 back = spl_quat_rotate(above, side[k]);
        double like = spl_dot(back, front) + 0.5 * spl_dot(back, world_up);
        if (k > 0 && (count[k] > count[best] || (count[k] == count[best] && like <= liked))) continue;
        best = k;
        liked = like;
    }
    a->back = side[best];
    spl_vec3 back = spl_quat_rotate(above, a->back), up = spl_madd(world_up, back, -spl_dot(world_up, back));
    if (spl_norm(up) < 0.2) up = spl_madd(front, back, -spl_dot(front, back));
    a->up = spl_quat_rotate(spl_quat_conjugate(above), spl_unit(up, world_up));
}

static void store(const supple_scene *scene, spl_vec3 v, double out[3])
{
    float row[3];
    spl_v3_to_float(v, row);
    spl_scene_upright(scene, row, 1);
    for (int i = 0; i < 3; i++) out[i] = (double)row[i];
}

supple_result supple_bends_cameras(supple_bends *x, int32_t index, const int32_t *frames, int32_t count,
                                   const float *const *points, supple_camera *cameras, supple_error *error)
{
    if (!supple_bends_get(x, index)) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "there is no joint %d", (int)index);
    const joint *j = &x->joint[x->listed[index]];
    /* A twist is spread along the bone, a bend is at the joint. */
    double radius = 2.6 * j->public.radius;
    if (j->public.twists) radius = fmax(radius, 0.6 * j->length);
    aim a = {.joint = j, .radius = radius};
    frames_of f = {frames, count, points};
    choose_side(x, &a, &f);
    for (int32_t i = 0; i < count; i++) {
        spl_mat4 map;
        pose_at(x, frames[i]);
        spl_quat above = turn_of(x, parent_node(x, j), &j->parent, &map);
        cameras[i] = (supple_camera){.floor = NAN, .radius = radius * scale_of(&map)};
        store(x->scene, spl_mat4_point(&map, j->public.twists ? j->head : spl_add(j->head, j->inside)),
              cameras[i].target);
        store(x->scene, spl_quat_rotate(above, a.back), cameras[i].back);
        store(x->scene, spl_quat_rotate(above, a.up), cameras[i].up);
    }
    return SUPPLE_OK;
}
