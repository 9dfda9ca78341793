#include "rig/size.h"

#include "core/error.h"
#include "core/memory.h"
#include "rig/bind.h"
#include "rig/bones.h"
#include "rig/joint_names.h"
#include "scene/parts.h"

#include <math.h>

/* A person's head, hips and feet are in a line, and neither legs nor trunk are a stump. 22 persons of eight makers have
 * cosines below -0.98 and legs of 0.45 to 1.85 trunks; a fox with a person's names has a cosine of -0.4. */
static const double straight = -0.8, least_share = 0.35, most_share = 3;
static const double upright = 0.9; /* a body this near an axis of its space stands along it */

static const double rounding = 1e-6; /* a ratio this near to 1 is 1 */

/* ---- extents ---- */

/* All skinned vertices in the bind pose. */
typedef struct cloud {
    const supple_scene *scene;
    spl_part *part;
    int32_t part_count;
    int32_t home;          /* the skin whose mesh space they are in; -1: nothing is skinned */
    const float *position; /* 3 x the scene's vertices, instead where nothing is; or NULL */
} cloud;

static void extend(spl_vec3 p, spl_vec3 axis, double range[2])
{
    double t = spl_dot(p, axis);
    range[0] = fmin(range[0], t);
    range[1] = fmax(range[1], t);
}

/* How far the vertices reach along a direction. */
static double extent(const cloud *c, spl_vec3 axis)
{
    double range[2] = {INFINITY, -INFINITY};
    for (int32_t i = 0; c->home >= 0 && i < c->part_count; i++) {
        if (!spl_part_skinned(c->scene, &c->part[i])) continue;
        const spl_primitive *p = c->part[i].primitive;
        spl_mat4 map = spl_bind_between(c->scene, c->scene->instance[c->part[i].instance].skin, c->home);
        for (size_t v = 0; v < (size_t)p->vertex_count; v++)
            extend(spl_mat4_point(&map, spl_v3_from_float(p->position + 3 * v)), axis, range);
    }
    for (int32_t v = 0; c->home < 0 && c->position && v < c->scene->vertex_count; v++)
        extend(spl_v3_from_float(c->position + 3 * (size_t)v), axis, range);
    return range[1] >= range[0] ? range[1] - range[0] : 0;
}

static double diagonal_of(const cloud *c)
{
    return spl_norm(spl_v3(extent(c, spl_v3(1, 0, 0)), extent(c, spl_v3(0, 1, 0)), extent(c, spl_v3(0, 0, 1))));
}

static int32_t first_skin(const cloud *c)
{
    for (int32_t i = 0; i < c->part_count; i++)
        if (spl_part_skinned(c->scene, &c->part[i])) return c->scene->instance[c->part[i].instance].skin;
    return -1;
}

/* ---- a person ---- */

/* The joints of all skins, parents before children, with what their names say. */
typedef struct skeleton {
    const supple_scene *scene;
    int32_t home, count;
    int32_t *node;
    spl_joint_name *name;
} skeleton;

static bool read_skeleton(skeleton *s)
{
    const supple_allocator *a = &s->scene->allocator;
    size_t n = (size_t)s->scene->node_count;
    bool *is_joint = spl_new(a, n, sizeof *is_joint);
    const char **text = spl_new(a, n, sizeof *text);
    s->node = spl_new(a, n, sizeof *s->node);
    s->name = spl_new(a, n, sizeof *s->name);
    bool ok = is_joint && text && s->node && s->name;
    for (int32_t k = 0; ok && k < s->scene->skin_count; k++)
        for (int32_t i = 0; i < s->scene->skin[k].joint_count; i++) is_joint[s->scene->skin[k].joint[i]] = true;
    for (size_t i = 0; ok && i < n; i++)
        if (is_joint[s->scene->node_order[i]]) s->node[s->count++] = s->scene->node_order[i];
    for (int32_t i = 0; ok && i < s->count; i++) text[i] = s->scene->node[s->node[i]].name;
    if (ok) spl_joint_names_read(text, s->count, s->name);
    spl_free(a, is_joint);
    spl_free(a, text);
    return ok;
}

/* Where the first joint of a part is in the bind pose, or the last one; false if there is none. */
static bool find(const skeleton *s, spl_body_part part, char side, bool last, spl_vec3 *out)
{
    bool found = false;
    for (int32_t i = 0; i < s->count && (last || !found); i++) {
        spl_mat4 inverse, bind;
        if (s->name[i].part != part || s->name[i].side != side) continue;
        if (!spl_bind_inverse(s->scene, s->home, s->node[i], &inverse) || !spl_mat4_inverse(&inverse, &bind)) continue;
        *out = spl_v3(bind.m[12], bind.m[13], bind.m[14]);
        found = true;
    }
    return found;
}

/* A pair of joints, left and right. */
static bool find_pair(const skeleton *s, spl_body_part part, spl_vec3 out[2])
{
    return find(s, part, 'l', false, &out[0]) && find(s, part, 'r', false, &out[1]);
}

/* Whether the joints are a person's, standing in the bind pose; `up` is then the direction from feet to head. */
static bool is_person(const skeleton *s, spl_vec3 *up)
{
    spl_vec3 thigh[2], shin[2], foot[2], arm[2], head;
    if (!find_pair(s, SPL_PART_THIGH, thigh) || !find_pair(s, SPL_PART_SHIN, shin) ||
        !find_pair(s, SPL_PART_FOOT, foot) || !find_pair(s, SPL_PART_UPPER_ARM, arm))
        return false;
    if (!find(s, SPL_PART_HEAD, 0, false, &head) && !find(s, SPL_PART_NECK, 0, true, &head)) return false;
    double leg = 0;
    for (int k = 0; k < 2; k++) leg += (spl_distance(foot[k], shin[k]) + spl_distance(shin[k], thigh[k])) / 2;
    spl_vec3 hips = spl_lerp(thigh[0], thigh[1], 0.5), feet = spl_lerp(foot[0], foot[1], 0.5);
    spl_vec3 above = spl_sub(head, hips), below = spl_sub(feet, hips);
    double trunk = spl_norm(above), length = spl_distance(head, feet);
    if (!(spl_dot(above, below) < straight * trunk * spl_norm(below)) || !(length > 0)) return false;
    *up = spl_scale(spl_sub(head, feet), 1 / length);
    return leg > least_share * trunk && leg < most_share * trunk;
}

/* How tall a person stands, hat and shoes included; 0 if this is no person. Meshes are modelled along an axis: feet
 * that stand a little before the head do not tilt it. */
static supple_result measure_person(const cloud *c, double *height, supple_error *error)
{
    skeleton s = {.scene = c->scene, .home = c->home};
    spl_vec3 up = {0}, axis[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    bool ok = read_skeleton(&s), person = ok && is_person(&s, &up);
    for (int k = 0; k < 3; k++)
        if (fabs(spl_dot(up, axis[k])) > upright) up = axis[k];
    *height = person ? extent(c, up) : 0;
    spl_free(&c->scene->allocator, s.node);
    spl_free(&c->scene->allocator, s.name);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the character's size");
}

/* ---- flesh ---- */

static double from_segment(spl_vec3 p, const spl_bone *b)
{
    spl_vec3 d = spl_sub(b->tail, b->head);
    double t = spl_dot(d, d) > 0 ? spl_dot(spl_sub(p, b->head), d) / spl_dot(d, d) : 0;
    return spl_distance(p, spl_madd(b->head, d, fmin(fmax(t, 0), 1)));
}

/* Adds a part's triangles: area, and area times the distance from the middle to the nearest bone. */
static void add_part(const cloud *c, const spl_part *part, const spl_bones *bones, double *area, double *moment)
{
    const spl_primitive *p = part->primitive;
    spl_mat4 map = spl_bind_between(c->scene, c->scene->instance[part->instance].skin, c->home);
    for (size_t i = 0; i < (size_t)p->triangle_count; i++) {
        spl_vec3 x[3];
        for (size_t k = 0; k < 3; k++)
            x[k] = spl_mat4_point(&map, spl_v3_from_float(p->position + 3 * (size_t)p->triangle[3 * i + k]));
        spl_vec3 middle = spl_scale(spl_add(spl_add(x[0], x[1]), x[2]), 1.0 / 3);
        double part_area = spl_norm(spl_cross(spl_sub(x[1], x[0]), spl_sub(x[2], x[0]))) / 2, nearest = INFINITY;
        for (int32_t b = 0; b < bones->bone_count; b++) nearest = fmin(nearest, from_segment(middle, &bones->bone[b]));
        if (!isfinite(nearest)) continue;
        *area += part_area;
        *moment += part_area * nearest;
    }
}

/* The mean distance of the skin from the bones in the bind pose; 0 if there are none. */
static supple_result measure_flesh(const cloud *c, double *thickness, supple_error *error)
{
    double area = 0, moment = 0;
    spl_bones bones;
    *thickness = 0;
    supple_result result = spl_bones_make(c->scene, &c->scene->allocator, &bones, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t i = 0; i < c->part_count; i++)
        if (spl_part_skinned(c->scene, &c->part[i])) add_part(c, &c->part[i], &bones, &area, &moment);
    if (area > 0) *thickness = moment / area;
    spl_bones_release(&bones);
    return SUPPLE_OK;
}

/* ---- all ---- */

static void choose(spl_size *s, double asked, double height, double thickness, double file)
{
    double usual = SPL_SIZE_USUAL / s->diagonal;
    if (thickness > 0) usual = fmin(usual, SPL_SIZE_FLESH / thickness);
    s->rule = asked > 0    ? SPL_SIZE_BY_REQUEST
              : asked < 0  ? SPL_SIZE_BY_FILE
              : height > 0 ? SPL_SIZE_BY_PERSON
                           : SPL_SIZE_BY_DIAGONAL;
    const double metre[] = {[SPL_SIZE_BY_PERSON] = SPL_SIZE_HEIGHT / height,
                            [SPL_SIZE_BY_DIAGONAL] = usual,
                            [SPL_SIZE_BY_REQUEST] = asked / s->diagonal,
                            [SPL_SIZE_BY_FILE] = file};
    s->metre = s->diagonal > 0 ? metre[s->rule] : file;
    if (fabs(s->metre / file - 1) < rounding) s->metre = file;
}

static supple_result measure(const cloud *c, double asked, spl_size *out, supple_error *error)
{
    double scale = 1, height = 0, thickness = 0;
    supple_result result = SUPPLE_OK;
    if (c->home >= 0 && !spl_bind_scale(c->scene, c->home, &scale)) return spl_fail_memory(error, "the rest pose");
    if (!(scale > 0 && isfinite(scale)) || fabs(scale - 1) < 1e-3) scale = 1; /* rounding is no scale */
    if (c->home >= 0 && asked == 0) result = measure_person(c, &height, error);
    if (c->home >= 0 && asked == 0 && height == 0 && result == SUPPLE_OK) result = measure_flesh(c, &thickness, error);
    double file = scale * spl_scene_unit(c->scene);
    *out = (spl_size){.diagonal = diagonal_of(c)};
    choose(out, asked, height, thickness, file);
    out->world = out->metre / scale;
    out->size_m = out->diagonal * out->metre;
    out->file_m = out->diagonal * file;
    return result;
}

supple_result spl_size_find(const supple_scene *scene, double asked, const float *position, spl_size *out,
                            supple_error *error)
{
    cloud c = {.scene = scene, .position = position};
    c.part = spl_parts_new(scene, &scene->allocator, &c.part_count);
    if (!c.part) return spl_fail_memory(error, "the character's size");
    c.home = first_skin(&c);
    supple_result result = measure(&c, asked, out, error);
    spl_free(&scene->allocator, c.part);
    return result;
}

const char *spl_size_reason(spl_size_rule rule)
{
    static const char *const reason[] = {[SPL_SIZE_BY_PERSON] = "a person 1.76 m tall",
                                         [SPL_SIZE_BY_DIAGONAL] = "no person; at most 1 m, and 5 cm from skin to bone",
                                         [SPL_SIZE_BY_REQUEST] = "as asked for",
                                         [SPL_SIZE_BY_FILE] = "as the file's unit says"};
    return reason[rule];
}
