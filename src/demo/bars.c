/* The bars: cylinder and beam. Long axis x, centred at the origin; bones in a chain from left to right. */
#include "demo/bars.h"

#include "core/error.h"
#include "demo/atlas.h"
#include "demo/demo.h"

void spl_chain_weights(float *weight, const double *at, int32_t joint_count, double x, double blend)
{
    for (int32_t j = 0; j < joint_count; j++) {
        double in = j == 0 ? 1 : spl_smooth(at[j] - blend, at[j] + blend, x);
        double out = j + 1 == joint_count ? 0 : spl_smooth(at[j + 1] - blend, at[j + 1] + blend, x);
        weight[j] = (float)(in - out);
    }
}

bool spl_wind_clip(spl_rigged *rigged, const char *name, spl_vec3 axis, const double *degrees)
{
    enum { KEYS = 50 };
    spl_rigged_clip *clip = spl_rigged_add_clip(rigged, name, KEYS, SPL_DEMO_FPS);
    for (int32_t j = 0; clip && j < rigged->joint_count; j++)
        for (int32_t k = 0; k < KEYS; k++)
            spl_rigged_set_rotation(rigged, clip, j, k, spl_turn_about(axis, degrees[j] * k / (KEYS - 1)).q);
    return clip != NULL;
}

int32_t spl_detailed(double count, double detail, int32_t least)
{
    double n = floor(count * detail + 0.5);
    return n < least ? least : (int32_t)n;
}

/* A bar's measures in metres. */
typedef struct bar_size {
    double half_length, radius;
    double fillet; /* radius of the rounded rim at both ends */
    double corner; /* of the cross-section, 0 (square) to 1 (round) */
} bar_size;

/* The outline of a square of half side 1 with corners rounded by c, at v of its perimeter: counter-clockwise. */
static void outline(double c, double v, double *a, double *b)
{
    const double pi = 3.14159265358979323846;
    double side = 2 * (1 - c), arc = 0.5 * pi * c;
    double w = 4 * (v - floor(v)), quarter = floor(w), s = (w - quarter) * (side + arc);
    double x, y;
    if (s < 0.5 * side) {
        x = 1;
        y = s;
    } else if (s < 0.5 * side + arc) {
        double angle = (s - 0.5 * side) / c;
        x = 1 - c + c * cos(angle);
        y = 1 - c + c * sin(angle);
    } else {
        x = side + arc - s;
        y = 1;
    }
    for (int i = 0; i < (int)quarter; i++) { /* turn by a quarter */
        double t = x;
        x = -y;
        y = t;
    }
    *a = x;
    *b = y;
}

/* The end's disc, the rounded rim and the side, by arc length; the right half mirrors the left. */
static void rim(const bar_size *bar, double u, double *x, double *r)
{
    const double pi = 3.14159265358979323846;
    double disc = bar->radius - bar->fillet, arc = 0.5 * pi * bar->fillet, side = bar->half_length - bar->fillet;
    double s = 2 * (u < 0.5 ? u : 1 - u) * (disc + arc + side), angle = (s - disc) / bar->fillet;
    if (s < disc) {
        *x = -bar->half_length;
        *r = s;
    } else if (s < disc + arc) {
        *x = -bar->half_length + bar->fillet * (1 - cos(angle));
        *r = disc + bar->fillet * sin(angle);
    } else {
        *x = -side + (s - disc - arc);
        *r = bar->radius;
    }
    if (u >= 0.5) *x = -*x;
}

static spl_vec3 bar_point(const void *context, double u, double v)
{
    double x, r, a, b;
    rim(context, u, &x, &r);
    outline(((const bar_size *)context)->corner, v, &a, &b);
    return spl_v3(x, r * a, -r * b);
}

static supple_result make_bar(spl_rigged *rigged, const bar_size *bar, int32_t along, int32_t around,
                              supple_error *error)
{
    static const char *const name[] = {"bone.0", "bone.1", "bone.2", "bone.3"};
    enum { JOINTS = 4 };
    double at[JOINTS];
    for (int32_t j = 0; j < JOINTS; j++) {
        at[j] = bar->half_length * (2.0 * j / JOINTS - 1);
        spl_rigged_add_joint(rigged, name[j], j - 1, spl_v3(at[j], 0, 0));
    }
    spl_shape shape;
    if (!spl_shape_tube(&shape, &rigged->allocator, along, around, JOINTS, bar_point, bar))
        return spl_fail_memory(error, "a bar");
    for (int32_t v = 0; v < shape.vertex_count; v++)
        spl_chain_weights(shape.weight + v * JOINTS, at, JOINTS, shape.position[v].x, 0.7 * bar->radius);
    int32_t material = spl_rigged_add_material(rigged, "flesh", 1, 1, 1);
    const double color[3] = {0.93, 0.66, 0.50};
    supple_result result = spl_atlas_grid(&rigged->allocator, color, 20, 40, &rigged->material[material], error);
    if (result == SUPPLE_OK) result = spl_shape_finish(&shape, rigged, rigged->name, material, error);
    spl_shape_release(&shape);
    return result;
}

supple_result spl_demo_cylinder(spl_rigged *rigged, double detail, supple_error *error)
{
    static const bar_size round = {0.5, 0.1, 0.02, 1};
    static const double twist[] = {0, 0, 170, 0}, bend[] = {0, 45, 45, 45};
    supple_result result = make_bar(rigged, &round, spl_detailed(160, detail, 8), spl_detailed(64, detail, 8), error);
    if (result != SUPPLE_OK) return result;
    if (!spl_wind_clip(rigged, "twist", spl_v3(1, 0, 0), twist) ||
        !spl_wind_clip(rigged, "bend", spl_v3(0, 0, 1), bend))
        return spl_fail_memory(error, "a clip");
    return SUPPLE_OK;
}

supple_result spl_demo_beam(spl_rigged *rigged, double detail, supple_error *error)
{
    static const bar_size square = {0.6, 0.1, 0.015, 0.15};
    static const double twist[] = {0, 60, 60, 60}, bend[] = {0, 40, 40, 40};
    supple_result result =
        make_bar(rigged, &square, spl_detailed(90, detail, 8), spl_detailed(12, detail, 3) * 4, error);
    if (result != SUPPLE_OK) return result;
    if (!spl_wind_clip(rigged, "bend", spl_v3(0, 0, 1), bend) ||
        !spl_wind_clip(rigged, "twist", spl_v3(1, 0, 0), twist))
        return spl_fail_memory(error, "a clip");
    return SUPPLE_OK;
}
