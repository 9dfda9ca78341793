/* The flour sack: half a metre high, four corners that stick out, a spine of four bones. */
#include "core/error.h"
#include "demo/atlas.h"
#include "demo/bars.h"
#include "demo/demo.h"
#include "demo/nets.h"
#include "demo/solid.h"

enum { JOINTS = 4 };
static const double pi = 3.14159265358979323846;
static const double joint_y[JOINTS] = {0.03, 0.16, 0.29, 0.41};

/* Sections along y: side, front, side, back. */
static const spl_station sections[] = {
    {0.055, {0.150, 0.085, 0.150, 0.085}}, {0.110, {0.172, 0.122, 0.172, 0.118}}, {0.180, {0.175, 0.132, 0.175, 0.128}},
    {0.270, {0.160, 0.115, 0.160, 0.112}}, {0.360, {0.145, 0.088, 0.145, 0.086}}, {0.440, {0.138, 0.055, 0.138, 0.055}},
    {0.485, {0.130, 0.026, 0.130, 0.026}},
};

static void add_solids(spl_body *body)
{
    const spl_vec3 up = {0, 1, 0}, x = {1, 0, 0}, z = {0, 0, 1};
    spl_body_loft(body, spl_v3(0, 0, 0), up, x, z, sections, sizeof sections / sizeof *sections, 2.6, 0.02);
    spl_body_capsule(body, spl_v3(0.105, 0.470, 0), spl_v3(0.160, 0.545, 0), 0.026, 0.013, 0.03);      /* ears */
    spl_body_capsule(body, spl_v3(0.120, 0.060, 0.02), spl_v3(0.190, 0.022, 0.05), 0.04, 0.017, 0.03); /* feet */
}

static int32_t choose(spl_vec3 centre, spl_vec3 normal)
{
    (void)centre;
    return normal.z >= 0 ? 0 : 1;
}

/* Sackcloth with a weave, two stripes, a stitched mouth and a grid. */
static void paint(spl_vec3 p, double across, double along, double rgb[3])
{
    static const double cloth[3] = {0.86, 0.76, 0.58}, stripe[3] = {0.30, 0.40, 0.58}, thread[3] = {0.45, 0.30, 0.18};
    double weave = 0.035 * sin(across * 1100) * sin(along * 1100) + 0.03 * spl_noise(p, 0.03);
    double band = fabs(fabs(along - 0.20) - 0.055) < 0.010 ? 0.8 : 0;
    double grid =
        fmin(fabs(across - 0.025 * floor(across / 0.025 + 0.5)), fabs(along - 0.025 * floor(along / 0.025 + 0.5)));
    double line = grid < 0.0008 ? 0.25 : 0;
    double stitch = fabs(along - 0.468) < 0.0025 && fabs(across - 0.02 * floor(across / 0.02 + 0.5)) < 0.006 ? 0.9 : 0;
    for (int i = 0; i < 3; i++) {
        double c = cloth[i] + weave;
        c += (stripe[i] - c) * band;
        c += (thread[i] - c) * fmax(line, stitch);
        rgb[i] = c;
    }
}

/* The spine at one moment: heights scaled by `stretch`, bent sideways and forwards by so many degrees a bone. */
static void set_spine(const spl_rigged *rigged, spl_rigged_clip *clip, int32_t key, spl_vec3 shift, double stretch,
                      double side, double front)
{
    spl_turn turn = spl_turn_mul(spl_turn_z(-side), spl_turn_x(front));
    for (int32_t j = 0; j < JOINTS; j++) {
        double step = joint_y[j] - (j ? joint_y[j - 1] : 0);
        spl_vec3 t = j ? spl_v3(0, step * stretch, 0) : spl_add(shift, spl_v3(0, step, 0));
        spl_rigged_set_translation(rigged, clip, j, key, t);
        spl_rigged_set_rotation(rigged, clip, j, key, (j ? turn : spl_turn_z(-0.25 * side)).q);
    }
}

static bool add_clips(spl_rigged *rigged)
{
    enum { HOP = 45, LEAN = 60 };
    spl_rigged_clip *clip = spl_rigged_add_clip(rigged, "hop", HOP + 1, SPL_DEMO_FPS);
    for (int32_t key = 0; clip && key <= HOP; key++) {
        /* Crouch, leave the ground at 0.35, land at 0.70, give way, stand. */
        double t = (double)key / HOP, air = (t - 0.35) / 0.35;
        double height = air > 0 && air < 1 ? 0.28 * 4 * air * (1 - air) : 0;
        double crouch = spl_smooth(0, 0.22, t) * (1 - spl_smooth(0.24, 0.36, t));
        double land = spl_smooth(0.68, 0.76, t) * (1 - spl_smooth(0.78, 1, t));
        double flight = spl_smooth(0.32, 0.40, t) * (1 - spl_smooth(0.55, 0.72, t));
        double stretch = 1 - 0.32 * crouch - 0.30 * land + 0.14 * flight;
        set_spine(rigged, clip, key, spl_v3(0, height, 0), stretch, 0, 9 * crouch - 5 * flight + 8 * land);
    }
    if (!clip) return false;
    clip = spl_rigged_add_clip(rigged, "lean", LEAN + 1, SPL_DEMO_FPS);
    for (int32_t key = 0; clip && key <= LEAN; key++) {
        double s = sin(2 * pi * key / LEAN), c = 1 - cos(4 * pi * key / LEAN);
        set_spine(rigged, clip, key, spl_v3(0.02 * s, 0, 0), 1 - 0.02 * c, 28 * s, 4 * c);
    }
    return clip != NULL;
}

static supple_result dress(spl_rigged *rigged, spl_shape *shape, supple_error *error)
{
    const spl_vec3 up = {0, 1, 0}, x = {1, 0, 0}, origin = {0, 0, 0};
    const spl_chart chart[2] = {{SPL_CHART_FLAT, origin, up, x, -0.02, 0.58, 0.23, 0, 0, 0.5, 1},
                                {SPL_CHART_FLAT, origin, up, x, -0.02, 0.58, 0.23, 0.5, 0, 0.5, 1}};
    for (int32_t v = 0; v < shape->vertex_count; v++)
        spl_chain_weights(shape->weight + v * JOINTS, joint_y, JOINTS, shape->position[v].y, 0.055);
    int32_t cloth = spl_rigged_add_material(rigged, "cloth", 1, 1, 1);
    spl_atlas_map(shape, chart, choose);
    supple_result result =
        spl_atlas_bake(shape, chart, choose, paint, 512, rigged->pool, &rigged->material[cloth], error);
    if (result == SUPPLE_OK) result = spl_shape_finish(shape, rigged, "sack", cloth, error);
    return result;
}

supple_result spl_demo_sack(spl_rigged *rigged, double detail, supple_error *error)
{
    static const char *const name[JOINTS] = {"base", "belly", "chest", "top"};
    for (int32_t j = 0; j < JOINTS; j++) spl_rigged_add_joint(rigged, name[j], j - 1, spl_v3(0, joint_y[j], 0));
    spl_body body = {.floor = 0};
    add_solids(&body);
    double cell = 0.0125 / detail, half = cell * (ceil(0.24 / cell) + 0.5);
    spl_field field = {spl_body_value, &body, NULL, {-half, -0.04, -0.2}, {half, 0.6, 0.2}, cell, 8, rigged->pool};
    spl_shape shape;
    supple_result result = spl_nets_make(&field, &rigged->allocator, JOINTS, &shape, error);
    if (result != SUPPLE_OK) return result;
    result = dress(rigged, &shape, error);
    spl_shape_release(&shape);
    if (result == SUPPLE_OK && !add_clips(rigged)) result = spl_fail_memory(error, "a clip");
    return result;
}
