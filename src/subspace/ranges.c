#include "subspace/ranges.h"

#include "core/error.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/memory.h"

#include <string.h>

#define DEGREE 0.017453292519943295

enum { FRAMES_A_SECOND = 30, MOST_FRAMES = 2000 /* of a clip */ };
static const double LEAST_TURN = 0.05; /* radians: a root that turns less does not */
static const double widening = 0.1;    /* of a range's length, on either side */

/* ---- joints ---- */

static void mark_joints(const supple_scene *scene, bool *joint)
{
    for (int32_t k = 0; k < scene->skin_count; k++)
        for (int32_t j = 0; j < scene->skin[k].joint_count; j++) joint[scene->skin[k].joint[j]] = true;
}

static bool below_joint(const supple_scene *scene, const bool *joint, int32_t node)
{
    for (int32_t p = scene->node[node].parent; p >= 0; p = scene->node[p].parent)
        if (joint[p]) return true;
    return false;
}

static supple_result find_joints(const supple_scene *scene, spl_joint_ranges *r, supple_error *error)
{
    size_t n = (size_t)scene->node_count;
    bool *joint = spl_new(&r->allocator, n, sizeof *joint);
    r->node = spl_new(&r->allocator, n, sizeof *r->node);
    r->range = spl_new(&r->allocator, n, sizeof *r->range);
    r->root = spl_new(&r->allocator, n, sizeof *r->root);
    if (joint && r->node && r->range && r->root) {
        mark_joints(scene, joint);
        int32_t roots = 0;
        for (int32_t i = 0; i < scene->node_count; i++) roots += joint[i] && !below_joint(scene, joint, i);
        for (int32_t i = 0; i < scene->node_count; i++) {
            bool root = joint[i] && !below_joint(scene, joint, i);
            if (!joint[i] || (root && roots < 2)) continue;
            r->root[r->joint_count] = root;
            r->node[r->joint_count++] = i;
        }
    }
    spl_free(&r->allocator, joint);
    return r->node && r->range && r->root && joint ? SUPPLE_OK : spl_fail_memory(error, "joint ranges");
}

/* ---- from clips ---- */

static void take(spl_joint_range *r, spl_vec3 v)
{
    r->low = spl_v3(fmin(r->low.x, v.x), fmin(r->low.y, v.y), fmin(r->low.z, v.z));
    r->high = spl_v3(fmax(r->high.x, v.x), fmax(r->high.y, v.y), fmax(r->high.z, v.z));
    r->most = fmax(r->most, spl_norm(v));
}

static void widen_axis(double *low, double *high, double least)
{
    double by = widening * (*high - *low);
    *low = fmax(fmin(*low - by, -least), -3.1415926535897931);
    *high = fmin(fmax(*high + by, least), 3.1415926535897931);
}

static void widen(spl_joint_range *r, double least)
{
    widen_axis(&r->low.x, &r->high.x, least);
    widen_axis(&r->low.y, &r->high.y, least);
    widen_axis(&r->low.z, &r->high.z, least);
    r->most = fmin(fmax((1 + widening) * r->most, least), 3.1415926535897931);
}

static int32_t frames_of(const spl_clip *clip)
{
    double frames = ceil(clip->duration * FRAMES_A_SECOND) + 1;
    return frames < MOST_FRAMES ? (int32_t)frames : MOST_FRAMES;
}

static double frame_time(const spl_clip *clip, int32_t frame)
{
    int32_t n = frames_of(clip);
    return n > 1 ? clip->duration * frame / (n - 1) : 0;
}

static int32_t clip_at(const int32_t *clip, int32_t i)
{
    return clip ? clip[i] : i;
}

/* A length in the axes of a node's parent, in the world at rest. */
static double unit_of(const supple_scene *scene, const spl_pose *rest, int32_t node)
{
    int32_t parent = scene->node[node].parent;
    spl_mat3 linear = parent >= 0 ? spl_mat3_linear(&rest->world[parent]) : spl_mat3_identity();
    return cbrt(fabs(spl_mat3_det(&linear)));
}

static void look(spl_joint_ranges *r, const supple_scene *scene, int32_t clip, const spl_pose *rest, spl_pose *pose)
{
    int32_t frames = frames_of(&scene->clip[clip]);
    for (int32_t f = 0; f < frames; f++) {
        spl_pose_sample(pose, scene, clip, frame_time(&scene->clip[clip], f));
        for (int32_t j = 0; j < r->joint_count; j++) {
            spl_joint_move move = spl_pose_move_of(pose, rest, r->node[j]);
            take(&r->range[j], move.turn);
            r->range[j].shift = fmax(r->range[j].shift, spl_norm(move.shift) * unit_of(scene, rest, r->node[j]));
        }
    }
    r->frame_count += frames;
}

supple_result spl_joint_ranges_infer(const supple_scene *scene, const int32_t *clip, int32_t clip_count, double least,
                                     spl_joint_ranges *out, supple_error *error)
{
    spl_pose rest = {0}, pose = {0};
    *out = (spl_joint_ranges){.allocator = scene->allocator};
    supple_result result = find_joints(scene, out, error);
    if (result == SUPPLE_OK) result = spl_pose_init(&rest, scene, error);
    if (result == SUPPLE_OK) result = spl_pose_init(&pose, scene, error);
    int32_t count = clip ? clip_count : scene->clip_count;
    for (int32_t i = 0; result == SUPPLE_OK && i < count; i++) look(out, scene, clip_at(clip, i), &rest, &pose);
    for (int32_t j = 0; result == SUPPLE_OK && j < out->joint_count; j++) {
        out->turns = out->turns || (out->root[j] && out->range[j].most > LEAST_TURN);
        widen(&out->range[j], out->root[j] ? 0 : least);
    }
    spl_pose_release(&rest);
    spl_pose_release(&pose);
    if (result != SUPPLE_OK) spl_joint_ranges_release(out);
    return result;
}

void spl_joint_ranges_release(spl_joint_ranges *r)
{
    if (!r->allocator.release) return;
    spl_free(&r->allocator, r->node);
    spl_free(&r->allocator, r->range);
    spl_free(&r->allocator, r->root);
    *r = (spl_joint_ranges){0};
}

/* ---- from a file ---- */

static bool names(const char *pattern, const char *name)
{
    size_t n = strlen(pattern);
    if (n > 0 && pattern[n - 1] == '*') return strncmp(pattern, name, n - 1) == 0;
    return strcmp(pattern, name) == 0;
}

static bool read_range(spl_json *j, const json_t *object, spl_joint_range *range)
{
    static const char *const keys[] = {"min", "max", "still", NULL};
    double low[3], high[3];
    bool still = json_is_true(json_object_get(object, "still"));
    if (!spl_json_known(j, object, keys)) return false;
    *range = (spl_joint_range){0};
    if (still) return true;
    if (!json_object_get(object, "min") || !json_object_get(object, "max"))
        return spl_json_fail(j, "takes \"min\" and \"max\", or \"still\": true");
    if (!spl_json_numbers(j, object, "min", 3, -180, 180, low)) return false;
    if (!spl_json_numbers(j, object, "max", 3, -180, 180, high)) return false;
    for (int i = 0; i < 3; i++)
        if (low[i] > high[i]) return spl_json_fail(j, "\"min\" is above \"max\"");
    range->low = spl_scale(spl_v3(low[0], low[1], low[2]), DEGREE);
    range->high = spl_scale(spl_v3(high[0], high[1], high[2]), DEGREE);
    spl_vec3 far =
        spl_v3(fmax(fabs(low[0]), fabs(high[0])), fmax(fabs(low[1]), fabs(high[1])), fmax(fabs(low[2]), fabs(high[2])));
    range->most = fmin(spl_norm(far), 180) * DEGREE;
    return true;
}

static bool set_range(spl_json *j, spl_joint_ranges *r, const supple_scene *scene, const char *name,
                      const json_t *object)
{
    spl_joint_range range;
    bool any = false;
    snprintf(j->where, sizeof j->where, "joint '%.60s'", name);
    if (!json_is_object(object)) return spl_json_fail(j, "must be an object");
    if (!read_range(j, object, &range)) return false;
    for (int32_t k = 0; k < r->joint_count; k++) {
        if (!names(name, scene->node[r->node[k]].name)) continue;
        r->range[k] = range;
        any = true;
    }
    return any || spl_json_fail(j, "the character has no such joint below its root");
}

supple_result spl_joint_ranges_parse(spl_joint_ranges *r, const supple_scene *scene, const void *text, size_t size,
                                     const char *name, supple_error *error)
{
    static const char *const keys[] = {"joints", NULL};
    spl_json j = {.name = name, .error = error, .result = SUPPLE_OK};
    json_t *root = spl_json_parse(&j, text, size);
    const json_t *joints = NULL;
    if (!root) return j.result;
    bool good = spl_json_known(&j, root, keys) && spl_json_object(&j, root, "joints", &joints);
    if (good && !joints) good = spl_json_fail(&j, "has no \"joints\"");
    for (void *at = good ? json_object_iter((json_t *)joints) : NULL; at && good;
         at = json_object_iter_next((json_t *)joints, at))
        good = set_range(&j, r, scene, json_object_iter_key(at), json_object_iter_value(at));
    json_decref(root);
    return good ? SUPPLE_OK : j.result;
}

supple_result spl_joint_ranges_read(spl_joint_ranges *r, const supple_scene *scene, const char *path,
                                    supple_error *error)
{
    uint8_t *text = NULL;
    size_t size = 0;
    supple_result result = spl_file_read(path, SPL_JSON_LARGEST, &r->allocator, &text, &size, error);
    if (result == SUPPLE_OK) result = spl_joint_ranges_parse(r, scene, text, size, path, error);
    spl_free(&r->allocator, text);
    return result;
}

/* ---- poses ---- */

typedef struct dice {
    uint64_t state;
} dice;

static uint64_t roll(dice *d)
{
    d->state += 0x9e3779b97f4a7c15u;
    return spl_mix(d->state);
}

static double unit_roll(dice *d)
{
    return (double)(roll(d) >> 11) * 0x1p-53;
}

static double *axis_of(spl_vec3 *v, int axis)
{
    return axis == 0 ? &v->x : axis == 1 ? &v->y : &v->z;
}

/* One coordinate over all poses: a value in each of `count` equal parts of [0, 1), in random order. */
static void stratify(dice *d, int32_t count, int32_t stride, int axis, spl_joint_move *move)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t j = (int32_t)(roll(d) % (uint64_t)(i + 1));
        double *here = axis_of(&move[(size_t)i * (size_t)stride].turn, axis);
        double *there = axis_of(&move[(size_t)j * (size_t)stride].turn, axis);
        *here = *there;
        *there = (i + unit_roll(d)) / count;
    }
}

void spl_joint_ranges_draw(const spl_joint_ranges *r, int32_t count, uint64_t seed, spl_joint_move *move)
{
    dice d = {spl_mix(seed)};
    memset(move, 0, (size_t)count * (size_t)r->joint_count * sizeof *move);
    for (int32_t j = 0; j < r->joint_count; j++) {
        const spl_joint_range *range = &r->range[j];
        for (int axis = 0; axis < 3; axis++) stratify(&d, count, r->joint_count, axis, move + j);
        for (int32_t i = 0; i < count; i++) {
            spl_vec3 *v = &move[(size_t)i * (size_t)r->joint_count + (size_t)j].turn;
            *v = spl_v3(range->low.x + v->x * (range->high.x - range->low.x),
                        range->low.y + v->y * (range->high.y - range->low.y),
                        range->low.z + v->z * (range->high.z - range->low.z));
            double angle = spl_norm(*v);
            if (angle > range->most) *v = spl_scale(*v, range->most / angle);
        }
    }
}

supple_result spl_joint_ranges_frames(const spl_joint_ranges *r, const supple_scene *scene, const int32_t *clip,
                                      int32_t clip_count, int32_t count, spl_joint_move *move, supple_error *error)
{
    spl_pose rest = {0}, pose = {0};
    int32_t clips = clip ? clip_count : scene->clip_count;
    double total = 0, before = 0;
    for (int32_t i = 0; i < clips; i++) total += scene->clip[clip_at(clip, i)].duration;
    if (clips == 0) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "there are no clips to take poses from");
    supple_result result = spl_pose_init(&rest, scene, error);
    if (result == SUPPLE_OK) result = spl_pose_init(&pose, scene, error);
    for (int32_t i = 0, k = 0; result == SUPPLE_OK && k < count; k++) {
        double time = total * (k + 0.5) / count;
        while (i + 1 < clips && time - before > scene->clip[clip_at(clip, i)].duration)
            before += scene->clip[clip_at(clip, i++)].duration;
        spl_pose_sample(&pose, scene, clip_at(clip, i), time - before);
        for (int32_t j = 0; j < r->joint_count; j++)
            move[(size_t)k * (size_t)r->joint_count + (size_t)j] = spl_pose_move_of(&pose, &rest, r->node[j]);
    }
    spl_pose_release(&rest);
    spl_pose_release(&pose);
    return result;
}
