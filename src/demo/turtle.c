/* The turtle: a soft body with head, legs and tail, and a hard shell. Both are one closed surface, cut into two meshes
 * by material where the shell's rim meets the skin. It faces +z. */
#include "core/error.h"
#include "core/memory.h"
#include "demo/atlas.h"
#include "demo/bars.h"
#include "demo/demo.h"
#include "demo/nets.h"
#include "demo/skin.h"
#include "demo/solid.h"

enum { ROOT, NECK, HEAD, TAIL, LEG_FL, LEG_FR, LEG_BL, LEG_BR, JOINTS };
enum { BODY, SHELL };

static const double pi = 3.14159265358979323846;
static const spl_vec3 shell_centre = {0, 0.175, 0}, shell_radii = {0.260, 0.165, 0.310};
static const double rim_y = 0.185;

static const struct {
    const char *name;
    int32_t parent;
    spl_vec3 at;
} joints[JOINTS] = {
    {"root", -1, {0, 0.165, -0.10}},          {"neck", ROOT, {0, 0.160, 0.235}},
    {"head", NECK, {0, 0.215, 0.355}},        {"tail", ROOT, {0, 0.120, -0.280}},
    {"leg.FL", ROOT, {0.165, 0.120, 0.175}},  {"leg.FR", ROOT, {-0.165, 0.120, 0.175}},
    {"leg.BL", ROOT, {0.155, 0.120, -0.170}}, {"leg.BR", ROOT, {-0.155, 0.120, -0.170}},
};

static void add_solids(spl_body *b)
{
    spl_body_ball(b, spl_v3(0, 0.145, 0), spl_v3(0.215, 0.090, 0.275), 0.02);                          /* belly */
    spl_body_capsule(b, spl_v3(0, 0.150, 0.22), spl_v3(0, 0.215, 0.355), 0.055, 0.046, 0.02);          /* neck */
    spl_body_ball(b, spl_v3(0, 0.230, 0.400), spl_v3(0.058, 0.053, 0.078), 0.02);                      /* head */
    spl_body_ball(b, spl_v3(0.036, 0.252, 0.420), spl_v3(0.017, 0.017, 0.017), 0.008);                 /* eye */
    spl_body_capsule(b, spl_v3(0, 0.120, -0.25), spl_v3(0, 0.070, -0.390), 0.042, 0.020, 0.02);        /* tail */
    spl_body_capsule(b, spl_v3(0.145, 0.125, 0.165), spl_v3(0.235, 0.048, 0.235), 0.060, 0.050, 0.02); /* legs */
    spl_body_ball(b, spl_v3(0.242, 0.030, 0.252), spl_v3(0.054, 0.032, 0.062), 0.02);
    spl_body_capsule(b, spl_v3(0.140, 0.125, -0.165), spl_v3(0.215, 0.048, -0.225), 0.062, 0.052, 0.02);
    spl_body_ball(b, spl_v3(0.222, 0.030, -0.222), spl_v3(0.052, 0.032, 0.060), 0.02);
    spl_body_ball(b, shell_centre, shell_radii, 0.012);
}

static double shell_level(spl_vec3 p)
{
    spl_vec3 d = spl_sub(p, shell_centre);
    return spl_norm(spl_v3(d.x / shell_radii.x, d.y / shell_radii.y, d.z / shell_radii.z));
}

/* A point of the dome: on the shell's ellipsoid and above its rim. */
static bool on_shell(spl_vec3 p)
{
    return p.y > rim_y && fabs(shell_level(p) - 1) < 0.02;
}

/* The joint a point belongs to before diffusion; all that the shell covers stays with the root. */
static int32_t owner(spl_vec3 p)
{
    double x = fabs(p.x);
    if (shell_level(p) < 1.03 && p.y > 0.1) return ROOT;
    if (p.z > 0.25 && x < 0.09) return p.z > 0.345 ? HEAD : NECK;
    if (p.z < -0.27 && x < 0.09) return TAIL;
    if (x > 0.115 && p.y < 0.16 && fabs(p.z) > 0.09) return (p.z > 0 ? LEG_FL : LEG_BL) + (p.x < 0);
    return ROOT;
}

/* Diffusion stops at the shell: its vertices take no steps, so the skin under the rim blends towards the root. */
static bool turtle_weights(spl_shape *shape, double detail)
{
    int32_t *steps = spl_new(&shape->allocator, (size_t)shape->vertex_count, sizeof *steps);
    if (!steps) return false;
    for (int32_t v = 0; v < shape->vertex_count; v++) {
        spl_vec3 p = shape->position[v];
        shape->weight[v * JOINTS + owner(p)] = 1;
        steps[v] = on_shell(p) ? 0 : (int32_t)ceil(10 * detail * detail); /* the shell stays rigid */
    }
    bool done = spl_skin_diffuse(shape, steps);
    spl_free(&shape->allocator, steps);
    return done;
}

/* ---- colours ---------------------------------------------------------------------------------------------------- */

enum { CHART_TOP, CHART_BOTTOM, CHART_BELLY, CHART_HEAD, CHART_SHELL, CHARTS };

static int32_t choose(spl_vec3 centre, spl_vec3 normal)
{
    int32_t joint = owner(centre);
    if (on_shell(centre)) return CHART_SHELL;
    if (joint == ROOT) return CHART_BELLY;
    if (joint == HEAD) return CHART_HEAD;
    return normal.y >= 0 ? CHART_TOP : CHART_BOTTOM;
}

/* Distance (in cells) to the border of a hexagonal tiling: a shell's scutes. */
static double scute(double x, double y)
{
    double best = 1e9, next = 1e9;
    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++) {
            double row = floor(y / 0.866 + 0.5) + j, shift = fmod(fabs(row), 2) * 0.5;
            double column = floor(x - shift + 0.5) + i, dx = x - column - shift, dy = y - row * 0.866;
            double d = dx * dx + dy * dy;
            if (d < best) {
                next = best;
                best = d;
            } else if (d < next) {
                next = d;
            }
        }
    return sqrt(next) - sqrt(best);
}

static void paint(spl_vec3 p, double across, double along, double rgb[3])
{
    static const double skin[3] = {0.47, 0.60, 0.33}, spot[3] = {0.36, 0.48, 0.25}, plate[3] = {0.50, 0.34, 0.19};
    static const double seam[3] = {0.27, 0.17, 0.10}, eye[3] = {0.07, 0.06, 0.05};
    double grid =
        fmin(fabs(across - 0.03 * floor(across / 0.03 + 0.5)), fabs(along - 0.03 * floor(along / 0.03 + 0.5)));
    double noise = spl_noise(p, 0.02), edge = scute(p.x / 0.13, p.z / 0.13);
    bool shell = on_shell(p);
    double pupil = spl_distance(spl_v3(fabs(p.x), p.y, p.z), spl_v3(0.050, 0.256, 0.428)) < 0.0105;
    for (int i = 0; i < 3; i++) {
        double c = skin[i] + (spot[i] - skin[i]) * spl_smooth(0.1, 0.3, noise);
        c *= grid < 0.0009 ? 0.80 : 1;
        if (shell) c = plate[i] * (1 + 0.10 * noise + 0.25 * spl_smooth(0.1, 0.9, edge));
        if (shell) c += (seam[i] - c) * (1 - spl_smooth(0.06, 0.12, edge));
        if (shell && p.y < rim_y + 0.022) c = seam[i] * 1.5;
        rgb[i] = c + (eye[i] - c) * pupil;
    }
}

/* ---- walking ---------------------------------------------------------------------------------------------------- */

/* Diagonal legs move together; 40 frames a cycle. */
static bool add_walk(spl_rigged *rigged)
{
    enum { FRAMES = 40 };
    spl_rigged_clip *clip = spl_rigged_add_clip(rigged, "walk", FRAMES + 1, SPL_DEMO_FPS);
    for (int32_t key = 0; clip && key <= FRAMES; key++) {
        double phase = 2 * pi * (key % FRAMES) / FRAMES;
        spl_vec3 at = joints[ROOT].at;
        spl_rigged_set_translation(rigged, clip, ROOT, key, spl_v3(at.x, at.y + 0.012 + 0.008 * cos(2 * phase), at.z));
        spl_rigged_set_rotation(rigged, clip, ROOT, key,
                                spl_turn_mul(spl_turn_y(4 * sin(phase)), spl_turn_z(3 * cos(phase))).q);
        spl_rigged_set_rotation(rigged, clip, NECK, key,
                                spl_turn_mul(spl_turn_y(-10 * sin(phase)), spl_turn_x(-8 + 7 * cos(2 * phase))).q);
        spl_rigged_set_rotation(rigged, clip, HEAD, key,
                                spl_turn_mul(spl_turn_y(-6 * sin(phase)), spl_turn_x(10 - 7 * cos(2 * phase))).q);
        spl_rigged_set_rotation(rigged, clip, TAIL, key, spl_turn_y(25 * sin(phase + 0.6)).q);
        for (int32_t leg = LEG_FL; leg <= LEG_BR; leg++) {
            bool right = (leg - LEG_FL) % 2, back = leg >= LEG_BL;
            double own = phase + (right != back ? pi : 0), lift = fmax(0, cos(own));
            double swing = 24 * sin(own) * (right ? 1 : -1);
            spl_turn turn = spl_turn_mul(spl_turn_y(swing), spl_turn_z((right ? -18 : 18) * lift));
            spl_rigged_set_rotation(rigged, clip, leg, key, turn.q);
        }
    }
    return clip != NULL;
}

/* ---- putting it together ---------------------------------------------------------------------------------------- */

/* Both materials get the same picture of the whole animal: each shows only its own part of it. */
static supple_result dress(spl_rigged *rigged, spl_shape *shape, uint8_t *part, supple_error *error)
{
    const spl_vec3 front = {0, 0, 1}, x = {1, 0, 0}, origin = {0, 0, 0};
    const spl_vec3 up = {0, 1, 0};
    const spl_vec3 inside = {0, 0.17, 0}, skull = {0, 0.23, 0.40};
    const spl_chart chart[CHARTS] = {
        [CHART_TOP] = {SPL_CHART_FLAT, origin, front, x, -0.43, 0.49, 0.46, 0, 0, 0.3, 0.5},
        [CHART_BOTTOM] = {SPL_CHART_FLAT, origin, front, x, -0.43, 0.49, 0.46, 0.3, 0, 0.3, 0.5},
        [CHART_BELLY] = {SPL_CHART_SPHERE, inside, up, front, -0.5 * pi, 0.45, 0.22, 0.6, 0, 0.4, 0.25},
        [CHART_HEAD] = {SPL_CHART_SPHERE, skull, up, front, -0.5 * pi, 0.5 * pi, 0.06, 0.6, 0.25, 0.4, 0.25},
        [CHART_SHELL] = {SPL_CHART_SPHERE, shell_centre, up, front, -0.05, 0.5 * pi, 0.26, 0, 0.5, 1, 0.5},
    };
    spl_atlas_map(shape, chart, choose);
    static const char *const name[2] = {"body", "shell"};
    supple_result result = SUPPLE_OK;
    for (uint8_t i = BODY; i <= SHELL && result == SUPPLE_OK; i++) {
        int32_t material = spl_rigged_add_material(rigged, name[i], 1, 1, 1);
        result = spl_atlas_bake(shape, chart, choose, paint, 512, rigged->pool, &rigged->material[material], error);
        if (result == SUPPLE_OK) result = spl_shape_finish_part(shape, part, i, rigged, name[i], material, error);
    }
    return result;
}

static supple_result finish(spl_rigged *rigged, spl_shape *shape, double detail, supple_error *error)
{
    uint8_t *part = spl_new(&shape->allocator, (size_t)shape->triangle_count, 1);
    if (!part || !turtle_weights(shape, detail)) {
        spl_free(&shape->allocator, part);
        return spl_fail_memory(error, "a turtle");
    }
    for (int32_t t = 0; t < shape->triangle_count; t++) {
        part[t] = SHELL;
        for (int i = 0; i < 3; i++)
            if (!on_shell(shape->position[shape->triangle[3 * t + i]])) part[t] = BODY;
    }
    supple_result result = dress(rigged, shape, part, error);
    spl_free(&shape->allocator, part);
    if (result == SUPPLE_OK && !add_walk(rigged)) result = spl_fail_memory(error, "a clip");
    return result;
}

supple_result spl_demo_turtle(spl_rigged *rigged, double detail, supple_error *error)
{
    for (int32_t j = 0; j < JOINTS; j++) spl_rigged_add_joint(rigged, joints[j].name, joints[j].parent, joints[j].at);
    spl_body body = {.floor = 0};
    add_solids(&body);
    double cell = 0.0150 / detail, half = cell * (ceil(0.34 / cell) + 0.5);
    spl_field field = {spl_body_value, &body, NULL, {-half, -0.05, -0.46}, {half, 0.40, 0.53}, cell, 8, rigged->pool};
    spl_shape shape;
    supple_result result = spl_nets_make(&field, &rigged->allocator, JOINTS, &shape, error);
    if (result != SUPPLE_OK) return result;
    result = finish(rigged, &shape, detail, error);
    spl_shape_release(&shape);
    return result;
}
