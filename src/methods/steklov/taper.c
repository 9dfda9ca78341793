#include "methods/steklov/taper.h"

#include "core/error.h"
#include "core/memory.h"

#define NEAR 0.05 /* of a bone's length: how near another one begins or ends at a joint */
#define LEFT 0.5  /* of a bone's vertices: as many stay, or all do */

static bool is_joint(const spl_bones *b, int32_t k, spl_vec3 p)
{
    double near = NEAR * spl_distance(b->bone[k].head, b->bone[k].tail);
    for (int32_t i = 0; i < b->bone_count; i++)
        if (b->bone[i].node != b->bone[k].node &&
            (spl_distance(b->bone[i].head, p) < near || spl_distance(b->bone[i].tail, p) < near))
            return true;
    return false;
}

/* Whether p is outside of the cone from `tip` to `end` whose tangent is `slope`. */
static bool is_outside(spl_vec3 tip, spl_vec3 end, double slope, spl_vec3 p)
{
    spl_vec3 axis = spl_unit(spl_sub(end, tip), spl_v3(1, 0, 0)), way = spl_sub(p, tip);
    double along = spl_dot(way, axis);
    return spl_norm(spl_madd(way, axis, -along)) > slope * fmax(along, 0);
}

static void taper_bone(const spl_body *body, int32_t k, double slope, int32_t *held)
{
    const spl_bone *b = &body->bones.bone[k];
    bool head = is_joint(&body->bones, k, b->head), tail = is_joint(&body->bones, k, b->tail);
    int32_t all = 0, left = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass > 0 && (left == all || left < LEFT * all || left < 4)) return;
        for (int32_t v = 0; v < body->tets.vertex_count; v++) {
            if (body->bone[v] != k) continue;
            spl_vec3 p = body->tets.position[v];
            bool out =
                (head && is_outside(b->head, b->tail, slope, p)) || (tail && is_outside(b->tail, b->head, slope, p));
            if (pass == 0) all++, left += !out;
            if (pass > 0 && out) held[v] = -1;
        }
    }
}

supple_result spl_taper(const spl_solid *solid, double degrees, spl_pins *pins, supple_error *error)
{
    const double pi = 3.14159265358979323846;
    const spl_body *body = solid->body;
    size_t n = (size_t)body->tets.vertex_count;
    if (!(degrees > 0)) return SUPPLE_OK;
    pins->none = spl_new(&pins->allocator, n, sizeof *pins->none);
    if (!pins->none) return spl_fail_memory(error, "what bones hold");
    for (size_t v = 0; v < n; v++) pins->none[v] = body->bone[v];
    pins->held = pins->none;
    double slope = tan((180 - degrees) / 2 * pi / 180);
    for (int32_t k = 0; k < body->bones.bone_count; k++) taper_bone(body, k, slope, pins->none);
    return SUPPLE_OK;
}
