/* The torus: a ring in the x-y plane, facing +z, with a chain of bones around it that starts at the bottom. */
#include "core/error.h"
#include "demo/atlas.h"
#include "demo/bars.h"
#include "demo/demo.h"

enum { JOINTS = 8 };
static const double pi = 3.14159265358979323846, ring_radius = 0.35, tube_radius = 0.11;

/* Turns of the ring are counted from the bottom, counter-clockwise as seen from +z. */
static spl_vec3 ring_centre(double turn, double wide, double high)
{
    return spl_v3(wide * ring_radius * sin(2 * pi * turn), -high * ring_radius * cos(2 * pi * turn), 0);
}

static spl_vec3 torus_point(const void *context, double u, double v)
{
    (void)context;
    spl_vec3 out = spl_unit(ring_centre(u, 1, 1), spl_v3(1, 0, 0));
    double r = ring_radius + tube_radius * cos(2 * pi * v);
    return spl_v3(r * out.x, r * out.y, tube_radius * sin(2 * pi * v));
}

/* Bone j owns the ring from its own joint to the next one, blended over a third of a bone at both ends. */
static void torus_weights(spl_shape *shape, int32_t along, int32_t around)
{
    const double blend = 0.33;
    for (int32_t v = 0; v < shape->vertex_count; v++) {
        double bone = (double)(v / around) / along * JOINTS;
        for (int32_t j = 0; j < JOINTS; j++) {
            double x = bone - j; /* -JOINTS/2 .. JOINTS/2 around the middle of bone j */
            x -= JOINTS * floor((x - 0.5) / JOINTS + 0.5);
            shape->weight[v * JOINTS + j] =
                (float)(spl_smooth(-blend, blend, x) * (1 - spl_smooth(1 - blend, 1 + blend, x)));
        }
    }
}

/* Poses the chain from where its joints are in the world and how far each has turned about z. */
static void set_chain(const spl_rigged *rigged, spl_rigged_clip *clip, int32_t key, const spl_vec3 *at,
                      const double *degrees)
{
    spl_vec3 parent = spl_v3(0, 0, 0);
    double turned = 0;
    for (int32_t j = 0; j < JOINTS; j++) {
        spl_rigged_set_rotation(rigged, clip, j, key, spl_turn_z(degrees[j] - turned).q);
        spl_rigged_set_translation(rigged, clip, j, key, spl_turn_apply(spl_turn_z(-turned), spl_sub(at[j], parent)));
        parent = at[j];
        turned = degrees[j];
    }
}

/* The chord of a bone has turned against rest when the ring is scaled by wide and high. */
static double chord_turn(int32_t j, double wide, double high)
{
    spl_vec3 rest = spl_sub(ring_centre((j + 1.0) / JOINTS, 1, 1), ring_centre((double)j / JOINTS, 1, 1));
    spl_vec3 now = spl_v3(rest.x * wide, rest.y * high, 0);
    return atan2(rest.x * now.y - rest.y * now.x, rest.x * now.x + rest.y * now.y) * 180 / pi;
}

/* Pressed flat between two plates and let go: 0 to 1 to 0 over 40 frames; and shaken from side to side, the far end
 * lagging behind, for 60. */
static bool add_clips(spl_rigged *rigged)
{
    enum { SHAKE = 60, SQUASH = 40 };
    spl_vec3 at[JOINTS];
    double degrees[JOINTS];
    spl_rigged_clip *clip = spl_rigged_add_clip(rigged, "shake", SHAKE + 1, SPL_DEMO_FPS);
    for (int32_t key = 0; clip && key <= SHAKE; key++) {
        double fade = sin(pi * key / SHAKE);
        for (int32_t j = 0; j < JOINTS; j++) {
            spl_vec3 p = ring_centre((double)j / JOINTS, 1, 1);
            double height = (p.y + ring_radius) / (2 * ring_radius);
            double swing = fade * sin(6 * pi * key / SHAKE - 0.9 * height);
            at[j] = spl_v3(p.x + 0.10 * swing * (1 + 0.8 * height), p.y, p.z);
            degrees[j] = -8 * swing * height;
        }
        set_chain(rigged, clip, key, at, degrees);
    }
    if (!clip) return false;
    clip = spl_rigged_add_clip(rigged, "squash", SQUASH + 1, SPL_DEMO_FPS);
    for (int32_t key = 0; clip && key <= SQUASH; key++) {
        double s = sin(pi * key / SQUASH), wide = 1 + 0.32 * s * s, high = 1 - 0.55 * s * s;
        for (int32_t j = 0; j < JOINTS; j++) {
            at[j] = ring_centre((double)j / JOINTS, wide, high);
            degrees[j] = chord_turn(j, wide, high);
        }
        set_chain(rigged, clip, key, at, degrees);
    }
    return clip != NULL;
}

supple_result spl_demo_torus(spl_rigged *rigged, double detail, supple_error *error)
{
    static const char *const name[JOINTS] = {"bone.0", "bone.1", "bone.2", "bone.3",
                                             "bone.4", "bone.5", "bone.6", "bone.7"};
    static const double color[3] = {0.95, 0.60, 0.55};
    for (int32_t j = 0; j < JOINTS; j++)
        spl_rigged_add_joint(rigged, name[j], j - 1, ring_centre((double)j / JOINTS, 1, 1));
    int32_t along = spl_detailed(96, detail, 16), around = spl_detailed(36, detail, 8);
    spl_shape shape;
    if (!spl_shape_ring(&shape, &rigged->allocator, along, around, JOINTS, torus_point, NULL))
        return spl_fail_memory(error, "a torus");
    torus_weights(&shape, along, around);
    int32_t material = spl_rigged_add_material(rigged, "flesh", 1, 1, 1);
    supple_result result = spl_atlas_grid(&rigged->allocator, color, 15, 60, &rigged->material[material], error);
    if (result == SUPPLE_OK) result = spl_shape_finish(&shape, rigged, "torus", material, error);
    spl_shape_release(&shape);
    if (result == SUPPLE_OK && !add_clips(rigged)) result = spl_fail_memory(error, "a clip");
    return result;
}
