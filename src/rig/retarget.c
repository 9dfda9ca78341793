#include "rig/retarget.h"

#include "core/error.h"
#include "core/memory.h"
#include "rig/retarget_ground.h"
#include "rig/retarget_soles.h"

/* What the frames need. */
typedef struct work {
    const supple_scene *scene;
    const spl_bvh *bvh;
    const spl_match *match;
    spl_rest rest;
    spl_soles soles;
    int32_t *joint_of_node; /* node_count: index into the match, or -1 */
    spl_mat4 *world;        /* node_count, in the frame */
    spl_vec3 *scale;        /* node_count: of the node itself; a matrix that mirrors does so along x */
    spl_mat3 *stretch;      /* joint_count: scale and shear of the joint in the world, at rest */
    spl_quat *from_turn;    /* source_count, in the frame */
    spl_vec3 *from_place;
    spl_vec3 *lower_foot; /* frame_count: retarget_ground.h */
    double *lift;         /* frame_count: what is added to heights */
} work;

/* ---- one frame -------------------------------------------------------------------------------------------------- */

/* Where the hips go: the middle between the thighs of the motion, scaled, less the way from the hips to it. */
static spl_vec3 place_hips(const work *w, int32_t frame, spl_quat turn)
{
    const spl_rest *rest = &w->rest;
    int32_t hips = rest->hips;
    spl_vec3 goal = w->from_place[w->match->source[hips]], offset = spl_v3(0, 0, 0);
    if (rest->thigh[0] >= 0 && rest->thigh[1] >= 0) {
        spl_vec3 l = w->from_place[w->match->source[rest->thigh[0]]];
        spl_vec3 r = w->from_place[w->match->source[rest->thigh[1]]];
        goal = spl_lerp(l, r, 0.5);
        offset = spl_sub(spl_lerp(rest->place[rest->thigh[0]], rest->place[rest->thigh[1]], 0.5), rest->place[hips]);
    }
    spl_quat delta = spl_quat_mul(turn, spl_quat_conjugate(rest->rotation[hips]));
    goal = spl_scale(spl_quat_rotate(rest->axes, goal), rest->scale);
    goal = spl_madd(goal, rest->up, w->lift[frame]);
    return spl_sub(goal, spl_quat_rotate(delta, offset));
}

/* R = A W A^T C R0 */
static spl_quat joint_turn(const work *w, int32_t joint)
{
    const spl_rest *rest = &w->rest;
    spl_quat W = w->from_turn[w->match->source[joint]];
    spl_quat q = spl_quat_mul(spl_quat_mul(rest->axes, W), spl_quat_conjugate(rest->axes));
    return spl_quat_normalise(spl_quat_mul(spl_quat_mul(q, rest->correct[joint]), rest->rotation[joint]));
}

static void store_key(spl_channel *channel, int32_t frame, const double *value)
{
    float *key = channel->value + (size_t)frame * (size_t)channel->width;
    double sign = 1;
    if (channel->path == SPL_PATH_ROTATION &&
        frame > 0) { /* neighbours on the same side: no viewer takes the long way */
        double d = 0;
        for (int i = 0; i < channel->width; i++) d += value[i] * (double)key[i - 4];
        if (d < 0) sign = -1;
    }
    for (int32_t i = 0; i < channel->width; i++) key[i] = (float)(sign * value[i]);
}

/* Whether a joint's place is not what its node's parent makes of it. */
static bool moves(const work *w, int32_t joint)
{
    return joint == w->rest.hips || w->rest.carrier[joint] >= 0;
}

/* The turn of a joint from its rest, in the world. */
static spl_quat delta_of(const work *w, int32_t joint)
{
    spl_quat turn =
        w->match->source[joint] >= 0 ? joint_turn(w, joint) : spl_rest_rotation(&w->world[w->match->node[joint]]);
    return spl_quat_mul(turn, spl_quat_conjugate(w->rest.rotation[joint]));
}

/* Where a joint goes that is fixed to another. */
static spl_vec3 place_carried(const work *w, int32_t joint)
{
    const spl_rest *rest = &w->rest;
    int32_t on = rest->carrier[joint];
    spl_vec3 there = spl_mat4_point(&w->world[w->match->node[on]], spl_v3(0, 0, 0));
    spl_vec3 way = spl_sub(spl_sub(rest->place[joint], rest->shift[joint]), rest->place[on]);
    return spl_add(spl_add(there, rest->shift[joint]), spl_quat_rotate(delta_of(w, on), way));
}

/* The transform of one node in the frame. */
static void pose_node(work *w, int32_t node, int32_t frame)
{
    const spl_node *n = &w->scene->node[node];
    int32_t joint = w->joint_of_node[node];
    bool matched = joint >= 0 && w->match->source[joint] >= 0;
    if (!matched && (joint < 0 || !moves(w, joint))) {
        spl_mat4 local = n->has_matrix ? n->matrix : spl_mat4_trs(n->t, n->r, n->s);
        w->world[node] = n->parent >= 0 ? spl_mat4_mul(&w->world[n->parent], &local) : local;
        return;
    }
    spl_quat turn =
        matched ? joint_turn(w, joint) : spl_quat_mul(delta_of(w, w->rest.carrier[joint]), w->rest.rotation[joint]);
    spl_vec3 place =
        n->has_matrix ? spl_v3(n->matrix.m[12], n->matrix.m[13], n->matrix.m[14]) : spl_v3(n->t[0], n->t[1], n->t[2]);
    if (joint == w->rest.hips)
        place = place_hips(w, frame, turn);
    else if (moves(w, joint))
        place = place_carried(w, joint);
    else if (n->parent >= 0)
        place = spl_mat4_point(&w->world[n->parent], place);
    spl_mat3 R = spl_quat_to_mat3(turn), L = spl_mat3_mul(&R, &w->stretch[joint]);
    w->world[node] = spl_mat3_affine(&L, place);
}

/* Keeps what moves a node, against its parent. Its scale is constant, and may mirror. */
static void keep_node(const work *w, int32_t node, int32_t frame, spl_channel *rotation, spl_channel *translation)
{
    int32_t parent = w->scene->node[node].parent;
    spl_mat4 local = w->world[node], inverse;
    if (parent >= 0 && spl_mat4_inverse(&w->world[parent], &inverse)) local = spl_mat4_mul(&inverse, &local);
    spl_vec3 s = w->scale[node];
    spl_mat3 shrink = spl_mat3_diagonal(s.x != 0 ? 1 / s.x : 1, s.y != 0 ? 1 / s.y : 1, s.z != 0 ? 1 / s.z : 1);
    spl_mat3 L = spl_mat3_linear(&local);
    L = spl_mat3_mul(&L, &shrink);
    spl_mat4 turn = spl_mat3_affine(&L, spl_v3(0, 0, 0));
    spl_quat q = spl_rest_rotation(&turn);
    store_key(rotation, frame, (double[4]){q.x, q.y, q.z, q.w});
    if (translation) store_key(translation, frame, (double[3]){local.m[12], local.m[13], local.m[14]});
}

/* Takes a point of a foot if it is the lowest so far. */
static void keep_lower(work *w, int32_t frame, spl_vec3 p, double height)
{
    if (!(height < w->lower_foot[frame].z)) return;
    w->lower_foot[frame] = spl_quat_rotate(spl_quat_shortest_arc(w->rest.up, spl_v3(0, 0, 1)), p);
    w->lower_foot[frame].z = height;
}

/* The lowest point of the soles against the ground they stand on at rest; of feet without skin, the lowest joint. */
static void measure_feet(work *w, int32_t frame)
{
    const int32_t feet[4] = {w->rest.foot[0], w->rest.foot[1], w->rest.toe[0], w->rest.toe[1]};
    w->lower_foot[frame].z = INFINITY;
    for (int32_t i = 0; i < w->soles.count; i++) {
        spl_vec3 p = spl_mat4_point(&w->world[w->match->node[w->soles.joint[i]]], w->soles.local[i]);
        keep_lower(w, frame, p, spl_dot(p, w->rest.up) - w->soles.ground);
    }
    for (int i = 0; i < 4 && w->soles.count == 0; i++) {
        if (feet[i] < 0) continue;
        spl_vec3 p = spl_mat4_point(&w->world[w->match->node[feet[i]]], spl_v3(0, 0, 0));
        keep_lower(w, frame, p, spl_dot(spl_sub(p, w->rest.place[feet[i]]), w->rest.up));
    }
}

/* Poses all nodes. `first` holds, by joint, the index of its rotation channel (its translation's follows). */
static void pose_frame(work *w, int32_t frame, spl_clip *clip, const int32_t *first)
{
    spl_bvh_pose(w->bvh, frame, w->from_turn, w->from_place);
    for (int32_t k = 0; k < w->scene->node_count; k++) pose_node(w, w->rest.order[k], frame);
    for (int32_t i = 0; i < w->match->joint_count && clip; i++) {
        spl_channel *channel = first[i] >= 0 ? &clip->channel[first[i]] : NULL;
        if (channel) keep_node(w, w->match->node[i], frame, channel, moves(w, i) ? channel + 1 : NULL);
    }
}

/* ---- the ground ------------------------------------------------------------------------------------------------- */

/* Without feet the hips keep, in the first frame, the height of their rest. */
static void lift_hips(work *w)
{
    pose_frame(w, 0, NULL, NULL);
    spl_vec3 p = spl_mat4_point(&w->world[w->match->node[w->rest.hips]], spl_v3(0, 0, 0));
    double lift = spl_dot(spl_sub(w->rest.place[w->rest.hips], p), w->rest.up);
    for (int32_t f = 0; f < w->bvh->frame_count; f++) w->lift[f] = lift;
}

static void find_lift(work *w)
{
    const spl_rest *rest = &w->rest;
    if (rest->hips < 0) return;
    if (rest->foot[0] < 0 && rest->foot[1] < 0 && rest->toe[0] < 0 && rest->toe[1] < 0) {
        lift_hips(w);
        return;
    }
    spl_soles_find(w->scene, w->match, rest, &w->soles);
    for (int32_t f = 0; f < w->bvh->frame_count; f++) {
        pose_frame(w, f, NULL, NULL);
        measure_feet(w, f);
    }
    int32_t foot = rest->foot[0] >= 0 ? rest->foot[0] : rest->foot[1];
    double leg = foot >= 0 ? spl_distance(rest->place[foot], rest->place[rest->hips]) : 1;
    spl_ground_lift(w->lower_foot, w->bvh->frame_count, leg, w->lift);
}

/* ---- the clip --------------------------------------------------------------------------------------------------- */

static bool add_channel(const work *w, spl_clip *clip, int32_t node, spl_path path, int32_t keys)
{
    const supple_allocator *a = &w->scene->allocator;
    spl_channel *c = &clip->channel[clip->channel_count++];
    *c = (spl_channel){.node = node,
                       .path = path,
                       .interpolation = SPL_LINEAR,
                       .key_count = keys,
                       .width = path == SPL_PATH_ROTATION ? 4 : 3};
    c->time = spl_new(a, (size_t)keys, sizeof *c->time);
    c->value = spl_new(a, (size_t)keys, (size_t)c->width * sizeof *c->value);
    for (int32_t k = 0; c->time && k < keys; k++) c->time[k] = (float)(k * w->bvh->frame_time);
    return c->time && c->value;
}

/* A node with a matrix loses it when a channel moves it; its place and scale go on as constant keys. */
static bool add_matrix_channels(const work *w, spl_clip *clip, int32_t node, bool moved)
{
    const spl_node *n = &w->scene->node[node];
    if (!n->has_matrix) return true;
    const double t[3] = {n->matrix.m[12], n->matrix.m[13], n->matrix.m[14]};
    const double s[3] = {w->scale[node].x, w->scale[node].y, w->scale[node].z};
    if (!add_channel(w, clip, node, SPL_PATH_SCALE, 1)) return false;
    store_key(&clip->channel[clip->channel_count - 1], 0, s);
    if (moved) return true;
    if (!add_channel(w, clip, node, SPL_PATH_TRANSLATION, 1)) return false;
    store_key(&clip->channel[clip->channel_count - 1], 0, t);
    return true;
}

static bool add_channels(const work *w, spl_clip *clip, int32_t *first)
{
    clip->channel = spl_new(&w->scene->allocator, 4 * (size_t)w->match->joint_count, sizeof *clip->channel);
    bool ok = clip->channel != NULL;
    for (int32_t i = 0; i < w->match->joint_count && ok; i++) {
        int32_t node = w->match->node[i];
        bool moved = moves(w, i);
        first[i] = -1;
        if (w->match->source[i] < 0 && !moved) continue;
        first[i] = clip->channel_count;
        ok = add_channel(w, clip, node, SPL_PATH_ROTATION, w->bvh->frame_count) &&
             (!moved || add_channel(w, clip, node, SPL_PATH_TRANSLATION, w->bvh->frame_count)) &&
             add_matrix_channels(w, clip, node, moved);
    }
    return ok;
}

static bool allocate(work *w)
{
    const supple_allocator *a = &w->scene->allocator;
    size_t n = (size_t)w->scene->node_count, k = (size_t)w->match->source_count;
    w->joint_of_node = spl_new(a, n, sizeof *w->joint_of_node);
    w->world = spl_new(a, n, sizeof *w->world);
    w->scale = spl_new(a, n, sizeof *w->scale);
    w->stretch = spl_new(a, (size_t)w->match->joint_count, sizeof *w->stretch);
    w->from_turn = spl_new(a, k, sizeof *w->from_turn);
    w->from_place = spl_new(a, k, sizeof *w->from_place);
    w->lower_foot = spl_new(a, (size_t)w->bvh->frame_count, sizeof *w->lower_foot);
    w->lift = spl_new(a, (size_t)w->bvh->frame_count, sizeof *w->lift);
    return w->joint_of_node && w->world && w->scale && w->stretch && w->from_turn && w->from_place && w->lower_foot &&
           w->lift;
}

static void release(work *w)
{
    const supple_allocator *a = &w->scene->allocator;
    spl_free(a, w->joint_of_node);
    spl_free(a, w->world);
    spl_free(a, w->scale);
    spl_free(a, w->stretch);
    spl_free(a, w->from_turn);
    spl_free(a, w->from_place);
    spl_free(a, w->lower_foot);
    spl_free(a, w->lift);
    spl_rest_release(&w->rest);
}

static void read_nodes(work *w)
{
    for (int32_t i = 0; i < w->scene->node_count; i++) {
        const spl_node *n = &w->scene->node[i];
        w->joint_of_node[i] = -1;
        w->scale[i] = spl_v3(n->s[0], n->s[1], n->s[2]);
        if (!n->has_matrix) continue;
        spl_mat3 m = spl_mat3_linear(&n->matrix);
        w->scale[i] =
            spl_v3(spl_mat3_det(&m) < 0 ? -spl_norm(spl_mat3_column(&m, 0)) : spl_norm(spl_mat3_column(&m, 0)),
                   spl_norm(spl_mat3_column(&m, 1)), spl_norm(spl_mat3_column(&m, 2)));
    }
    for (int32_t k = 0; k < w->scene->node_count; k++) {
        const spl_node *n = &w->scene->node[w->scene->node_order[k]];
        spl_mat4 local = n->has_matrix ? n->matrix : spl_mat4_trs(n->t, n->r, n->s);
        w->world[w->scene->node_order[k]] = n->parent >= 0 ? spl_mat4_mul(&w->world[n->parent], &local) : local;
    }
    for (int32_t i = 0; i < w->match->joint_count; i++) {
        const spl_mat4 *world = &w->world[w->match->node[i]];
        spl_mat3 R = spl_quat_to_mat3(spl_rest_rotation(world)), L = spl_mat3_linear(world);
        w->stretch[i] = spl_mat3_transposed_mul(&R, &L);
        w->joint_of_node[w->match->node[i]] = i;
    }
}

supple_result spl_retarget(const supple_scene *scene, const spl_bvh *bvh, const spl_match *match, spl_clip *clip,
                           supple_error *error)
{
    work w = {.scene = scene, .bvh = bvh, .match = match};
    supple_result result = spl_rest_make(scene, bvh, match, &w.rest, error);
    if (result != SUPPLE_OK) return result;
    int32_t *first = spl_new(&scene->allocator, (size_t)match->joint_count, sizeof *first);
    if (!first || !allocate(&w)) result = spl_fail_memory(error, "the motion");
    if (result == SUPPLE_OK) {
        read_nodes(&w);
        find_lift(&w);
        if (!add_channels(&w, clip, first)) result = spl_fail_memory(error, "the motion's keys");
    }
    for (int32_t f = 0; f < bvh->frame_count && result == SUPPLE_OK; f++) pose_frame(&w, f, clip, first);
    clip->duration = (bvh->frame_count - 1) * bvh->frame_time;
    clip->fps = 1 / bvh->frame_time;
    spl_free(&scene->allocator, first);
    release(&w);
    return result;
}
