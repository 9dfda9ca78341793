#include "body/drive.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/svd3.h"

#define TWIST_SHARE 0.85                   /* of a bone's length, over which a twist is spread */
#define UNWIND      (-0.70710678118654752) /* cosine of half of 270 degrees */

/* ---- twist ---- */

spl_vec3 spl_drive_rest(const spl_drive *d, spl_vec3 p)
{
    return spl_scale(spl_mat3_apply(&d->stretch, p), d->body->metre);
}

/* The twist of a child's rotation against its parent's about an axis of the rest shape. */
static double twist_between(const spl_drive *d, int32_t parent, int32_t child, spl_vec3 axis)
{
    spl_quat r = spl_quat_mul(spl_quat_conjugate(d->turn[parent]), d->turn[child]);
    return 2 * atan2(spl_dot(spl_v3(r.x, r.y, r.z), axis), r.w);
}

static void set_twists(spl_drive *d)
{
    for (int32_t b = 0; b < d->body->bones.bone_count; b++) {
        spl_vec3 axis = d->axis[b];
        bool tail = d->spread && d->driver[b] >= 0, head = d->spread && d->own[b];
        d->tail[b] = tail ? twist_between(d, b, d->driver[b], axis) : 0;
        d->head[b] = head ? twist_between(d, d->body->bones.bone[b].parent, b, axis) : 0;
    }
}

double spl_drive_along(const spl_drive *d, int32_t bone, spl_vec3 p)
{
    const spl_bone *b = &d->body->bones.bone[bone];
    spl_vec3 head = spl_drive_rest(d, b->head), way = spl_sub(spl_drive_rest(d, b->tail), head);
    double length = spl_dot(way, way), t = length > 0 ? spl_dot(spl_sub(p, head), way) / length : 0;
    return fmin(fmax(t, 0), 1);
}

static double smooth_step(double t)
{
    t = fmin(fmax(t, 0), 1);
    return t * t * (3 - 2 * t);
}

double spl_drive_twist(const spl_drive *d, int32_t bone, double along)
{
    double t = 0;
    if (d->tail[bone] != 0) t += d->tail[bone] * smooth_step((along - (1 - TWIST_SHARE)) / TWIST_SHARE);
    if (d->head[bone] != 0) t -= d->head[bone] * (1 - smooth_step(along / TWIST_SHARE));
    return t;
}

spl_quat spl_drive_turn(const spl_drive *d, int32_t bone, double along)
{
    double angle = spl_drive_twist(d, bone, along);
    return angle == 0 ? d->turn[bone] : spl_quat_mul(d->turn[bone], spl_quat_axis_angle(d->axis[bone], angle));
}

spl_vec3 spl_drive_joint(const spl_drive *d, int32_t bone)
{
    return spl_mat4_point(&d->map[bone], spl_drive_rest(d, d->body->bones.bone[bone].head));
}

spl_vec3 spl_drive_move(const spl_drive *d, int32_t bone, double along, spl_vec3 p)
{
    double angle = spl_drive_twist(d, bone, along);
    if (angle != 0) {
        spl_vec3 head = spl_drive_rest(d, d->body->bones.bone[bone].head);
        p = spl_add(head, spl_quat_rotate(spl_quat_axis_angle(d->axis[bone], angle), spl_sub(p, head)));
    }
    return spl_mat4_point(&d->map[bone], p);
}

/* ---- memory ---- */

supple_result spl_drive_init(const spl_body *body, const supple_allocator *a, spl_drive *out, supple_error *error)
{
    size_t bones = (size_t)body->bones.bone_count, n = (size_t)body->tets.vertex_count;
    *out = (spl_drive){.body = body, .allocator = *a, .spread = true};
    out->home = spl_new(a, bones, sizeof *out->home);
    out->map = spl_new(a, bones, sizeof *out->map);
    out->turn = spl_new(a, bones, sizeof *out->turn);
    out->relative = spl_new(a, bones, sizeof *out->relative);
    out->turned = spl_new(a, bones, sizeof *out->turned);
    out->driver = spl_new(a, bones, sizeof *out->driver);
    out->axis = spl_new(a, bones, sizeof *out->axis);
    out->own = spl_new(a, bones, sizeof *out->own);
    out->tail = spl_new(a, bones, sizeof *out->tail);
    out->head = spl_new(a, bones, sizeof *out->head);
    out->rest = spl_new(a, n, 3 * sizeof *out->rest);
    if (out->home && out->map && out->turn && out->relative && out->turned && out->driver && out->axis && out->own &&
        out->tail && out->head && out->rest)
        return SUPPLE_OK;
    spl_drive_release(out);
    return spl_fail_memory(error, "the bones' motion");
}

void spl_drive_release(spl_drive *d)
{
    if (!d->allocator.release) return;
    spl_free(&d->allocator, d->home);
    spl_free(&d->allocator, d->map);
    spl_free(&d->allocator, d->turn);
    spl_free(&d->allocator, d->relative);
    spl_free(&d->allocator, d->turned);
    spl_free(&d->allocator, d->driver);
    spl_free(&d->allocator, d->axis);
    spl_free(&d->allocator, d->own);
    spl_free(&d->allocator, d->tail);
    spl_free(&d->allocator, d->head);
    spl_free(&d->allocator, d->rest);
    *d = (spl_drive){0};
}

/* ---- a pose ---- */

/* map = to_solver M (metre stretch)^-1 */
static bool set_map(spl_drive *d, const spl_pose *pose, int32_t bone)
{
    spl_mat4 m = spl_mat4_mul(&pose->world[d->body->bones.bone[bone].node], &d->home[bone]);
    spl_mat3 linear = spl_mat3_linear(&m), back;
    if (!spl_mat3_inverse(&d->stretch, &back)) return false;
    linear = spl_mat3_mul(&linear, &back);
    linear = spl_mat3_scale(&linear, d->to_solver / d->body->metre);
    spl_vec3 t = spl_scale(spl_v3(m.m[12], m.m[13], m.m[14]), d->to_solver);
    d->map[bone] = spl_mat3_affine(&linear, t);
    return spl_mat3_finite(&linear) && spl_v3_finite(t);
}

/* A bone's quaternion, q or -q: relative to its parent's it stays on the side of its own last one, so that turns are
 * followed beyond 180 degrees, and so that a motion of the whole body, however far, winds nothing. Beyond 270 degrees
 * the short way is taken again: a joint that is back where it was must find its flesh there too. */
static void set_turn(spl_drive *d, int32_t bone)
{
    spl_mat3 linear = spl_mat3_linear(&d->map[bone]), R, S;
    int32_t parent = d->body->bones.bone[bone].parent;
    spl_polar3(&linear, &R, &S);
    spl_quat q = spl_quat_from_mat3(&R), near = parent >= 0 ? d->turn[parent] : spl_quat_identity();
    spl_quat r = spl_quat_mul(spl_quat_conjugate(near), q);
    if (parent >= 0) d->max_bend = fmax(d->max_bend, 2 * acos(fmin(fabs(r.w), 1)));
    double side = d->turned[bone] ? spl_quat_dot(r, d->relative[bone]) : r.w;
    bool other = side < 0;
    if ((other ? -r.w : r.w) < UNWIND) other = !other;
    d->turn[bone] = other ? spl_quat_negate(q) : q;
    d->relative[bone] = other ? spl_quat_negate(r) : r;
    d->turned[bone] = true;
}

supple_result spl_drive_pose(spl_drive *d, const spl_pose *pose, supple_error *error)
{
    const spl_bones *bones = &d->body->bones;
    const supple_scene *scene = d->body->scene;
    for (int32_t b = 0; b < bones->bone_count; b++)
        if (!set_map(d, pose, b))
            return spl_fail(error, SUPPLE_ERROR_INPUT, "the pose of joint '%.60s' is not finite",
                            scene ? scene->node[bones->bone[b].node].name : "");
    d->max_bend = 0;
    for (int32_t b = 0; b < bones->bone_count; b++) set_turn(d, b);
    set_twists(d);
    return SUPPLE_OK;
}

void spl_drive_reset(spl_drive *d)
{
    for (int32_t b = 0; b < d->body->bones.bone_count; b++) d->turned[b] = false;
}

spl_vec3 spl_drive_point(const spl_drive *d, int32_t bone, int32_t vertex)
{
    const double *x = d->rest + 3 * (size_t)vertex;
    spl_vec3 p = spl_v3(x[0], x[1], x[2]);
    return spl_drive_move(d, bone, spl_drive_along(d, bone, p), p);
}

void spl_drive_hold(const spl_drive *d, const int32_t *held, double *x)
{
    for (int32_t v = 0; v < d->body->tets.vertex_count; v++) {
        if (held[v] < 0) continue;
        spl_vec3 p = spl_drive_point(d, held[v], v);
        x[3 * (size_t)v] = p.x;
        x[3 * (size_t)v + 1] = p.y;
        x[3 * (size_t)v + 2] = p.z;
    }
}

void spl_drive_to_body(const spl_drive *d, const double *x, float *out)
{
    double scale = 1 / d->body->metre;
    for (size_t i = 0; i < 3 * (size_t)d->body->tets.vertex_count; i++) out[i] = (float)(x[i] * scale);
}

double spl_drive_world_scale(const spl_drive *d)
{
    return d->body->metre / d->to_solver;
}
