/* The arm: an upper arm and a forearm along x, elbow at the origin, palm side (and biceps) up. */
#include "core/error.h"
#include "demo/atlas.h"
#include "demo/bars.h"
#include "demo/demo.h"
#include "demo/profile.h"

/* Reach up (biceps), front, down (triceps, the elbow's point), back; x from the shoulder to the wrist, metres. */
static const spl_station sections[] = {
    {-0.300, {0.046, 0.048, 0.046, 0.050}}, {-0.240, {0.050, 0.047, 0.050, 0.049}},
    {-0.160, {0.057, 0.046, 0.052, 0.046}}, {-0.090, {0.051, 0.042, 0.047, 0.041}},
    {-0.030, {0.036, 0.040, 0.042, 0.039}}, {0.000, {0.034, 0.041, 0.045, 0.040}},
    {0.035, {0.040, 0.046, 0.036, 0.044}},  {0.080, {0.043, 0.047, 0.036, 0.043}},
    {0.150, {0.036, 0.039, 0.032, 0.036}},  {0.220, {0.025, 0.031, 0.024, 0.030}},
    {0.260, {0.021, 0.030, 0.020, 0.029}},  {0.290, {0.022, 0.031, 0.021, 0.030}},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

/* Both ends are rounded like an ellipsoid, `depth` deep, so that steps of u stay about even along the surface. */
static spl_vec3 arm_point(const void *context, double u, double v)
{
    (void)context;
    const double pi = 3.14159265358979323846, left = 0.05, right = 0.026;
    const double start = sections[0].t, end = sections[SECTIONS - 1].t;
    double a0 = 0.5 * pi * left, a1 = 0.5 * pi * right, s = u * (a0 + a1 + end - start), x, shrink = 1;
    if (s < a0) {
        x = start - left * cos(s / left);
        shrink = sin(s / left);
    } else if (s < a0 + end - start) {
        x = start + s - a0;
    } else {
        double angle = (s - a0 - (end - start)) / right;
        x = end + right * sin(angle);
        shrink = u < 1 ? cos(angle) : 0;
    }
    spl_station section = spl_profile_at(sections, SECTIONS, x);
    double c = cos(2 * pi * v), d = sin(2 * pi * v), r = shrink * spl_station_reach(&section, c, -d);
    return spl_v3(x, r * c, -r * d);
}

supple_result spl_demo_arm(spl_rigged *rigged, double detail, supple_error *error)
{
    static const double at[] = {-0.3, 0}, bend[] = {0, 150}, twist[] = {0, 170};
    spl_rigged_add_joint(rigged, "upper_arm", -1, spl_v3(at[0], 0, 0));
    spl_rigged_add_joint(rigged, "forearm", 0, spl_v3(at[1], 0, 0));
    spl_shape shape;
    if (!spl_shape_tube(&shape, &rigged->allocator, spl_detailed(100, detail, 8), spl_detailed(48, detail, 8), 2,
                        arm_point, NULL))
        return spl_fail_memory(error, "an arm");
    for (int32_t v = 0; v < shape.vertex_count; v++)
        spl_chain_weights(shape.weight + 2 * v, at, 2, shape.position[v].x, 0.045);
    int32_t material = spl_rigged_add_material(rigged, "skin", 1, 1, 1);
    const double color[3] = {0.89, 0.68, 0.56};
    supple_result result = spl_atlas_grid(&rigged->allocator, color, 20, 40, &rigged->material[material], error);
    if (result == SUPPLE_OK) result = spl_shape_finish(&shape, rigged, "arm", material, error);
    spl_shape_release(&shape);
    if (result != SUPPLE_OK) return result;
    if (!spl_wind_clip(rigged, "bend", spl_v3(0, 0, 1), bend) ||
        !spl_wind_clip(rigged, "twist", spl_v3(1, 0, 0), twist))
        return spl_fail_memory(error, "a clip");
    return SUPPLE_OK;
}
