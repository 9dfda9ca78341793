#include "body/pins.h"

#include "body/islands.h"
#include "core/error.h"
#include "core/memory.h"

#define IN_LINE                                                                                                        \
    0.15 /* area of the triangle of three pins, of the square of its longest side, below which they are in line */

typedef struct picker {
    const spl_solid *solid;
    int32_t *taken; /* by vertex: the bone that pins it, or -1 */
} picker;

/* Whether a vertex may be pinned to a bone: free so far and of the bone's flesh. */
static bool belongs(const picker *p, int32_t bone, int32_t v)
{
    const spl_bone_weights *w = &p->solid->weights;
    if (p->taken[v] >= 0) return false;
    for (size_t k = SPL_BONE_INFLUENCES * (size_t)v; k < SPL_BONE_INFLUENCES * ((size_t)v + 1); k++)
        if (w->bone[k] == bone && w->weight[k] > 0.25) return true;
    return false;
}

/* The nearest vertex of a bone's flesh that is out of line with the two given ones (-1: none given). */
static int32_t nearest(const picker *p, int32_t bone, spl_vec3 at, int32_t a, int32_t b)
{
    const spl_vec3 *x = p->solid->body->tets.position;
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t v = 0; v < p->solid->body->tets.vertex_count; v++) {
        double d = spl_distance(x[v], at);
        if (d >= least || !belongs(p, bone, v)) continue;
        if (a >= 0 && b >= 0) {
            spl_vec3 u = spl_sub(x[a], x[v]), w = spl_sub(x[b], x[v]), s = spl_sub(x[a], x[b]);
            double longest = fmax(spl_dot(s, s), fmax(spl_dot(u, u), spl_dot(w, w)));
            if (spl_norm(spl_cross(u, w)) / 2 < IN_LINE * longest) continue;
        }
        least = d;
        best = v;
    }
    return best;
}

/* Three vertices around a place that are not in line. */
static void pick_three(picker *p, int32_t bone, spl_vec3 at)
{
    int32_t v[3] = {-1, -1, -1};
    for (int i = 0; i < 3; i++) {
        v[i] = nearest(p, bone, at, i > 1 ? v[0] : -1, i > 1 ? v[1] : -1);
        if (v[i] < 0) return;
        p->taken[v[i]] = bone;
    }
}

static void pick_along(picker *p, int32_t bone, double reach)
{
    const spl_bone *b = &p->solid->body->bones.bone[bone];
    spl_vec3 along = spl_sub(b->tail, b->head);
    double length = spl_dot(along, along);
    for (int32_t v = 0; v < p->solid->body->tets.vertex_count; v++) {
        spl_vec3 from = spl_sub(p->solid->body->tets.position[v], b->head);
        double t = length > 0 ? fmin(fmax(spl_dot(from, along) / length, 0), 1) : 0;
        if (spl_norm(spl_madd(from, along, -t)) <= reach && belongs(p, bone, v)) p->taken[v] = bone;
    }
}

static void pick(picker *p, spl_pin_kind kind)
{
    const spl_body *body = p->solid->body;
    for (int32_t b = 0; b < body->bones.bone_count; b++) {
        const spl_bone *bone = &body->bones.bone[b];
        if (kind == SPL_PIN_BONES) pick_along(p, b, body->flesh.cell);
        /* a bone of a few cells may have no other vertices along it: three near its head hold it too */
        pick_three(p, b, bone->head);
        if (kind == SPL_PIN_MIDPOINTS) pick_three(p, b, spl_lerp(bone->head, bone->tail, 0.5));
    }
}

/* The pins of `taken`, and springs for the islands. */
static supple_result collect(const spl_solid *s, const int32_t *taken, const int32_t *island, double stiffness,
                             spl_pins *out, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    int32_t n = s->body->tets.vertex_count;
    for (int32_t v = 0; v < n; v++) out->count += (taken && taken[v] >= 0) || island[v] >= 0;
    out->pin = spl_new(a, (size_t)out->count, sizeof *out->pin);
    out->bone = spl_new(a, (size_t)out->count, sizeof *out->bone);
    if (!out->pin || !out->bone) {
        spl_pins_release(out);
        return spl_fail_memory(error, "the pins");
    }
    int32_t at = 0;
    for (int32_t v = 0; v < n; v++) {
        bool pinned = taken && taken[v] >= 0;
        if (!pinned && island[v] < 0) continue;
        out->bone[at] = pinned ? taken[v] : island[v];
        out->pin[at++] = (spl_pin){.vertex = v, .stiffness = pinned ? stiffness : s->island_stiffness};
    }
    return SUPPLE_OK;
}

static supple_result make_soft(const spl_solid *solid, spl_pin_kind kind, double stiffness, spl_pins *out,
                               supple_error *error)
{
    const supple_allocator *a = &solid->allocator;
    size_t n = (size_t)solid->body->tets.vertex_count;
    int32_t *island = spl_new(a, n, sizeof *island), count;
    picker p = {solid, spl_new(a, n, sizeof *p.taken)};
    supple_result result = p.taken && island ? SUPPLE_OK : spl_fail_memory(error, "the pins");
    if (result == SUPPLE_OK) {
        for (size_t v = 0; v < n; v++) p.taken[v] = -1;
        pick(&p, kind);
        /* bones may hold more pieces than pins do: a finger's tip that hangs on the rest by a corner */
        result = spl_islands_find(&solid->body->tets, p.taken, a, island, &count, error);
    }
    if (result == SUPPLE_OK) result = collect(solid, p.taken, island, stiffness, out, error);
    spl_free(a, p.taken);
    spl_free(a, island);
    return result;
}

supple_result spl_pins_create(const spl_solid *solid, spl_pin_kind kind, double stiffness, spl_pins *out,
                              supple_error *error)
{
    const supple_allocator *a = &solid->allocator;
    size_t n = (size_t)solid->body->tets.vertex_count;
    *out = (spl_pins){.allocator = *a, .held = solid->body->bone};
    if (kind == SPL_PIN_HARD) return collect(solid, NULL, solid->island, 0, out, error);
    out->none = spl_new(a, n, sizeof *out->none);
    if (!out->none) return spl_fail_memory(error, "the pins");
    for (size_t v = 0; v < n; v++) out->none[v] = -1;
    out->held = out->none;
    supple_result result = make_soft(solid, kind, stiffness, out, error);
    if (result != SUPPLE_OK) spl_pins_release(out);
    return result;
}

void spl_pins_release(spl_pins *p)
{
    if (!p->allocator.release) return;
    spl_free(&p->allocator, p->bone);
    spl_free(&p->allocator, p->pin);
    spl_free(&p->allocator, p->none);
    *p = (spl_pins){0};
}

void spl_pins_pose(spl_pins *p, const spl_drive *drive)
{
    for (int32_t i = 0; i < p->count; i++) {
        spl_vec3 x = spl_drive_point(drive, p->bone[i], p->pin[i].vertex);
        p->pin[i].target[0] = x.x;
        p->pin[i].target[1] = x.y;
        p->pin[i].target[2] = x.z;
    }
}
