#include "sim/amount.h"

#include "core/error.h"
#include "core/memory.h"
#include "sim/sim.h"

#include <string.h>

#define FALL 0.004 /* of the diagonal: what a vertex moves in a frame, at most, while trust falls */

/* ---- creation ---- */

/* A pose in which no two joints agree: what is at one place in it and in the rest pose has the same weights. */
static void twist(spl_pose *pose, const supple_scene *scene, double size)
{
    uint32_t seed = 12345;
    spl_pose_sample(pose, scene, -1, 0);
    for (int32_t n = 0; n < scene->node_count; n++) {
        double q[4], t[3];
        for (int k = 0; k < 7; k++) {
            seed = seed * 1664525u + 1013904223u;
            double random = (double)(seed >> 8) / 16777216.0 - 0.5;
            *(k < 4 ? &q[k] : &t[k - 4]) = random;
        }
        q[3] += 1; /* half turns at most: one that is near none would agree with its neighbours */
        spl_mat3 turn = spl_quat_to_mat3(spl_quat_normalise((spl_quat){q[0], q[1], q[2], q[3]}));
        spl_mat4 move = spl_mat4_identity();
        for (int c = 0; c < 3; c++) {
            for (int r = 0; r < 3; r++) move.m[4 * c + r] = turn.m[3 * c + r];
            move.m[12 + c] = size * t[c];
        }
        pose->world[n] = spl_mat4_mul(&move, &pose->world[n]);
    }
}

static supple_result own_skinning(supple_sim *sim, const spl_pose *pose, float *out, supple_error *error)
{
    spl_amount *a = &sim->amount;
    supple_stats unused = {0};
    return a->skin->step(a->skin_state, &sim->context, pose, sim->rest, out, &unused, error);
}

static double size_of(const float *x, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < 3 * count; i++) most = fmax(most, fabs((double)x[i]));
    return most;
}

static supple_result make_mesh(supple_sim *sim, supple_error *error)
{
    spl_amount *a = &sim->amount;
    size_t n = (size_t)sim->scene->vertex_count;
    float *twisted = spl_new(&a->allocator, n, 3 * sizeof *twisted);
    spl_pose pose;
    supple_result result = twisted ? spl_pose_init(&pose, sim->scene, error) : spl_fail_memory(error, "the mesh");
    if (result != SUPPLE_OK) {
        spl_free(&a->allocator, twisted);
        return result;
    }
    spl_pose_sample(&pose, sim->scene, -1, 0);
    result = own_skinning(sim, &pose, a->own, error);
    if (result == SUPPLE_OK) {
        twist(&pose, sim->scene, size_of(a->own, n));
        if (a->skin->reset) a->skin->reset(a->skin_state);
        result = own_skinning(sim, &pose, twisted, error);
        if (a->skin->reset) a->skin->reset(a->skin_state);
    }
    spl_trust_mesh_input in = {sim->scene, sim->part, sim->part_count, a->own, twisted, sim->flesh.body};
    if (result == SUPPLE_OK) result = spl_trust_mesh_make(&in, &a->allocator, &a->mesh, error);
    spl_pose_release(&pose);
    spl_free(&a->allocator, twisted);
    return result;
}

/* What a vertex of a part is wished by the file. */
static double file_wish(const spl_primitive *p, size_t v, bool by_color)
{
    double wish = p->amount ? (double)p->amount[v] : 1;
    const float *c = by_color && p->color ? p->color + 4 * v : NULL;
    if (c) wish *= fmin(fmax(((double)c[0] + (double)c[1] + (double)c[2]) / 3, 0), 1);
    return wish;
}

/* A point is wished the least that one of its copies is. */
static supple_result read_wish(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    spl_amount *a = &sim->amount;
    for (int32_t k = 0; k < sc->amount_count; k++) {
        bool any = false;
        for (int32_t i = 0; i < sim->part_count && !any; i++)
            any = spl_part_matches(sim->scene, &sim->part[i], sc->amounts[k].pattern);
        if (!any)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "amount: no part is called '%.80s'", sc->amounts[k].pattern);
    }
    bool colored = false;
    for (int32_t i = 0; i < sim->part_count; i++) colored = colored || sim->part[i].primitive->color;
    if (sc->amount_by_color && !colored)
        spl_log(&sim->config, SUPPLE_LOG_WARNING, "amount: the file has no vertex colours; all of the flesh is shown");
    for (int32_t p = 0; p < a->mesh.point_count; p++) a->wish[p] = 1;
    for (int32_t i = 0; i < sim->part_count; i++) {
        double wish = sc->amount;
        for (int32_t k = 0; k < sc->amount_count; k++)
            if (spl_part_matches(sim->scene, &sim->part[i], sc->amounts[k].pattern)) wish = sc->amounts[k].amount;
        for (size_t v = 0; v < (size_t)sim->part[i].primitive->vertex_count; v++) {
            int32_t p = a->mesh.point[(size_t)sim->part[i].first_vertex + v];
            float own = (float)(wish * file_wish(sim->part[i].primitive, v, sc->amount_by_color));
            a->wish[p] = fminf(a->wish[p], own);
        }
    }
    return SUPPLE_OK;
}

static void count_flesh(supple_sim *sim)
{
    spl_amount *a = &sim->amount;
    for (size_t v = 0; v < (size_t)sim->scene->vertex_count; v++)
        if (sim->flesh.body->lifted[v]) a->moved[a->mesh.point[v]] = true;
    for (int32_t p = 0; p < a->mesh.point_count; p++) a->flesh_points += a->moved[p];
}

static supple_result make_room(supple_sim *sim, supple_error *error)
{
    spl_amount *a = &sim->amount;
    size_t points = (size_t)a->mesh.point_count;
    a->wish = spl_new(&a->allocator, points, sizeof *a->wish);
    a->shown = spl_new(&a->allocator, points, sizeof *a->shown);
    a->target = spl_new(&a->allocator, points, sizeof *a->target);
    a->rehearsed = spl_new(&a->allocator, points, sizeof *a->rehearsed);
    a->reached = spl_new(&a->allocator, points, sizeof *a->reached);
    a->off = spl_new(&a->allocator, points, sizeof *a->off);
    a->moved = spl_new(&a->allocator, points, sizeof *a->moved);
    if (!a->wish || !a->shown || !a->target || !a->off || !a->moved || !a->rehearsed || !a->reached)
        return spl_fail_memory(error, "the amounts");
    for (size_t p = 0; p < points; p++) a->rehearsed[p] = 1;
    count_flesh(sim);
    supple_result result = spl_harm_room_make(&a->mesh, &a->allocator, &a->harm, error);
    return result == SUPPLE_OK ? spl_trust_make(&a->mesh, &a->allocator, &a->trust, error) : result;
}

supple_result spl_amount_create(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    spl_amount *a = &sim->amount;
    size_t n = (size_t)sim->scene->vertex_count;
    *a = (spl_amount){.allocator = sim->allocator, .take = -1};
    if (sim->method->output != SPL_OUTPUT_BODY || !sim->flesh.body->scene) return SUPPLE_OK;
    a->on = true;
    a->trusts = sim->common[SPL_FLESH_TRUST] == 0;
    a->measures = a->trusts || sc->measure;
    a->skin = sim->common[SPL_FLESH_OWN] == 0 ? &spl_method_linear : &spl_method_dualquat;
    a->skin_state = spl_new(&a->allocator, a->skin->state_size, 1);
    a->own = spl_new(&a->allocator, n, 3 * sizeof *a->own);
    a->flesh = spl_new(&a->allocator, n, 3 * sizeof *a->flesh);
    if (!a->skin_state || !a->own || !a->flesh) return spl_fail_memory(error, "the file's own skinning");
    supple_result result = a->skin->init(a->skin_state, &sim->context, error);
    if (result == SUPPLE_OK) result = make_mesh(sim, error);
    if (result == SUPPLE_OK) result = make_room(sim, error);
    if (result == SUPPLE_OK) result = read_wish(sim, sc, error);
    if (result == SUPPLE_OK) spl_amount_reset(sim);
    return result;
}

void spl_amount_release(supple_sim *sim)
{
    spl_amount *a = &sim->amount;
    if (!a->allocator.release) return;
    if (a->skin_state) a->skin->release(a->skin_state, &sim->context);
    spl_takes_release(&a->takes);
    spl_pops_release(&a->pops);
    spl_trust_release(&a->trust);
    spl_harm_room_release(&a->harm);
    spl_trust_mesh_release(&a->mesh);
    void *block[] = {a->skin_state, a->own, a->flesh, a->wish,      a->shown,
                     a->target,     a->off, a->moved, a->rehearsed, a->reached};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&a->allocator, block[i]);
    *a = (spl_amount){0};
}

/* ---- the field ---- */

/* wish x trust, so that it tears nothing; what is reached so far is what is known of the flesh. */
static void make_target(spl_amount *a)
{
    size_t n = (size_t)a->mesh.point_count;
    bool wished = false;
    a->trusted = 0;
    for (size_t p = 0; p < n; p++) {
        a->target[p] = a->wish[p] * a->trust.value[p];
        a->trusted += a->moved[p] && a->trust.value[p] == 1;
        wished = wished || a->wish[p] < 1;
    }
    if (wished) spl_trust_spread(&a->trust, a->target);
    a->stale = false;
}

/* How far flesh is from own skinning in this frame; of a point's copies, the farthest. */
static void measure_off(spl_amount *a)
{
    memset(a->off, 0, (size_t)a->mesh.point_count * sizeof *a->off);
    for (size_t v = 0; v < (size_t)a->mesh.vertex_count; v++) {
        float *off = &a->off[a->mesh.point[v]];
        double d = spl_distance(spl_v3_from_float(a->flesh + 3 * v), spl_v3_from_float(a->own + 3 * v));
        *off = fmaxf(*off, (float)d);
    }
}

/* Towards the target: at once, or by no more than a vertex may move in a frame. Whether an amount changed. */
static bool approach(spl_amount *a, bool at_once)
{
    const spl_trust_mesh *m = &a->mesh;
    float most = (float)(FALL * m->diagonal);
    size_t n = (size_t)m->point_count;
    bool changed = at_once;
    a->all = true;
    if (at_once) memcpy(a->shown, a->target, n * sizeof *a->shown);
    if (!at_once) measure_off(a);
    for (size_t p = 0; p < n && !at_once; p++) {
        float to = a->target[p] - a->shown[p];
        if (to == 0) continue;
        changed = true;
        float step = a->off[p] > 0 ? fminf(most / a->off[p], 1) : 1;
        a->shown[p] = fabsf(to) <= step ? a->target[p] : a->shown[p] + (to < 0 ? -step : step);
    }
    for (size_t p = 0; p < n && a->all; p++) a->all = a->shown[p] == 1;
    return changed;
}

void spl_amount_reset(supple_sim *sim)
{
    spl_amount *a = &sim->amount;
    if (!a->on) return;
    if (a->skin->reset) a->skin->reset(a->skin_state);
    a->fresh = true;
    if (a->mode == SPL_AMOUNT_SETTLED) return;
    spl_trust_start(&a->trust, a->rehearsed, a->reached);
    make_target(a);
    approach(a, true);
}

void spl_amount_rehearsed(supple_sim *sim)
{
    spl_amount *a = &sim->amount;
    size_t n = (size_t)a->mesh.point_count;
    memcpy(a->rehearsed, a->trust.seed, n * sizeof *a->rehearsed);
    memcpy(a->reached, a->trust.reach, n * sizeof *a->reached);
}

void spl_amount_settle(supple_sim *sim)
{
    make_target(&sim->amount);
    approach(&sim->amount, true);
}

/* ---- a frame ---- */

supple_result spl_amount_pose(supple_sim *sim, supple_error *error)
{
    spl_amount *a = &sim->amount;
    supple_result result = a->on ? own_skinning(sim, &sim->pose, a->own, error) : SUPPLE_OK;
    if (a->on && a->fresh && result == SUPPLE_OK) {
        spl_trust_mesh_set_size(&a->mesh, a->own);
        a->fresh = false;
    }
    return result;
}

bool spl_amount_swings(const supple_sim *sim)
{
    return sim->dynamics.on || sim->flesh.force || sim->flesh.world.colliders;
}

/* Trust falls where this frame, as it would be shown, is worse than own skinning. Whether it stays as it was measured.
 */
static bool fall(supple_sim *sim)
{
    spl_amount *a = &sim->amount;
    spl_trust_blend(&a->mesh, a->shown, a->own, a->flesh, sim->position);
    spl_harm_measure(&a->harm, a->own, sim->position, sim->pool);
    bool swings = spl_amount_swings(sim);
    spl_trust_frame frame = {a->own, a->flesh, sim->position, &a->harm, 1, swings, swings};
    spl_trust_see(&a->trust, &frame);
    if (a->trust.lowered || a->stale) {
        spl_trust_settle(&a->trust);
        make_target(a);
    }
    return !approach(a, false);
}

/* Whether the frame is of the range that was judged: its trust is constant, in motion too. */
static bool was_judged(const supple_sim *sim)
{
    const spl_amount *a = &sim->amount;
    double slack = 1e-9 * (1 + fabs(a->to));
    return a->mode == SPL_AMOUNT_SETTLED && sim->context.clip == a->clip && sim->context.time >= a->from - slack &&
           sim->context.time <= a->to + slack;
}

bool spl_amount_replay(supple_sim *sim, int32_t clip, double time, supple_stats *stats)
{
    spl_amount *a = &sim->amount;
    a->take = a->on && a->mode == SPL_AMOUNT_SETTLED ? spl_takes_find(&a->takes, clip, time) : -1;
    if (a->take >= 0 && !spl_takes_read(&a->takes, a->take, sim->position)) a->take = -1;
    if (a->take < 0) return false;
    *stats = a->takes.take[a->take].stats;
    for (int32_t i = 0; i < supple_sim_joint_count(sim); i++)
        sim->flesh.measure.region[i].ratio = a->takes.number[(size_t)a->take * a->takes.extra + (size_t)i];
    return true;
}

static supple_harm no_harm(void)
{
    return (supple_harm){-1, NAN, NAN, NAN, NAN, NAN, NAN};
}

void spl_amount_show(supple_sim *sim, supple_stats *stats)
{
    spl_amount *a = &sim->amount;
    stats->harm = no_harm();
    stats->trust = NAN;
    if (!a->on) return;
    memcpy(a->flesh, sim->position, 3 * (size_t)sim->scene->vertex_count * sizeof *a->flesh);
    if (a->mode == SPL_AMOUNT_SEEING) return;
    bool measured = a->trusts && !was_judged(sim) && fall(sim);
    if (a->stale) {
        make_target(a);
        measured = !approach(a, true);
    }
    if (!measured) spl_trust_blend(&a->mesh, a->shown, a->own, a->flesh, sim->position);
    if (!a->measures) return;
    if (!measured) spl_harm_measure(&a->harm, a->own, sim->position, sim->pool);
    stats->harm = a->harm.all;
    stats->trust = a->flesh_points ? (double)a->trusted / a->flesh_points : 1;
}

/* ---- what hosts ask for ---- */

supple_result supple_sim_set_amount(supple_sim *sim, const float *amount, supple_error *error)
{
    spl_amount *a = &sim->amount;
    for (size_t v = 0; amount && v < (size_t)sim->scene->vertex_count; v++)
        if (!(amount[v] >= 0 && amount[v] <= 1))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "amount: that of vertex %zu is not from 0 to 1", v);
    if (!a->on) return SUPPLE_OK;
    for (int32_t p = 0; p < a->mesh.point_count; p++) a->wish[p] = 1;
    for (size_t v = 0; amount && v < (size_t)sim->scene->vertex_count; v++) {
        float *wish = &a->wish[a->mesh.point[v]];
        *wish = fminf(*wish, amount[v]);
    }
    a->stale = true;
    return SUPPLE_OK;
}

static void read_field(const supple_sim *sim, const float *field, float *out, size_t stride)
{
    for (size_t v = 0; v < (size_t)sim->scene->vertex_count; v++) {
        float value = sim->amount.on ? field[sim->amount.mesh.point[v]] : 1;
        memcpy((unsigned char *)out + v * stride, &value, sizeof value);
    }
}

void supple_sim_read_trust(const supple_sim *sim, float *out, size_t stride)
{
    read_field(sim, sim->amount.trust.value, out, stride);
}

void supple_sim_read_amount(const supple_sim *sim, float *out, size_t stride)
{
    read_field(sim, sim->amount.shown, out, stride);
}

const char *supple_sim_worse(const supple_sim *sim)
{
    return sim->stats.harm.torn < 0 ? NULL : supple_harm_exceeds(&sim->stats.harm, spl_amount_swings(sim));
}

int32_t supple_sim_part_count(const supple_sim *sim)
{
    return sim->part_count;
}

const char *supple_sim_part_name(const supple_sim *sim, int32_t index)
{
    if (index < 0 || index >= sim->part_count) return NULL;
    return spl_instance_name(sim->scene, sim->part[index].instance);
}

bool supple_sim_part_harm(const supple_sim *sim, int32_t index, supple_harm *out)
{
    if (index < 0 || index >= sim->part_count || !(sim->stats.harm.torn >= 0)) return false;
    *out = sim->amount.harm.part[index];
    return true;
}
