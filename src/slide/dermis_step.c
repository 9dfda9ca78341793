/* Time: steps of a frame, fixed or adaptive. */
#include "core/error.h"
#include "core/timer.h"
#include "math/quat.h"
#include "math/svd3.h"
#include "slide/dermis.h"

#include <string.h>

#define FARTHEST 0.5 /* of a triangle in one step: the sum of beta */
#define REJECTED 3.0 /* times too long or too wrong: a step is made again */
enum { TICKS = 16 /* the shortest adaptive step is this part of a frame */, DEEPEST = 4 };

/* How good a solve was, the largest over vertices: error and length of the displacement over the triangles' size. */
typedef struct quality {
    double error, length;
} quality;

static quality judge(const spl_dermis *s, double h)
{
    quality q = {0};
    for (size_t v = 0; v < (size_t)s->net.surface.vertex_count; v++) {
        const double *a = s->v + 2 * v, *b = s->v_new + 2 * v;
        if (s->hold[v] == SPL_HOLD_FIXED) continue;
        double scale = h / s->size[v], dx = b[0] - a[0], dy = b[1] - a[1];
        q.length = fmax(q.length, scale * sqrt(b[0] * b[0] + b[1] * b[1]));
        q.error = fmax(q.error, scale * sqrt(dx * dx + dy * dy) / 2); /* of an implicit step: h^2 a / 2 */
    }
    return q;
}

/* From the state to v_new: coupling, forces, solve. The state stands. */
static supple_result attempt(spl_dermis *s, double h, bool couple, supple_error *error)
{
    size_t n = (size_t)s->net.surface.vertex_count;
    spl_dermis_move slip = {.displacement = s->slip,
                            .scale = 1,
                            .place = s->place,
                            .Y = s->Y,
                            .theta = s->theta,
                            .place_out = s->place_new,
                            .Y_out = s->Y_new,
                            .theta_out = s->theta_new};
    if (couple && spl_dermis_couple(s, h))
        spl_dermis_advect(s, &slip);
    else {
        memcpy(s->place_new, s->place, n * sizeof *s->place);
        memcpy(s->Y_new, s->Y, n * sizeof *s->Y);
        if (s->curves.count)
            memcpy(s->theta_new, s->theta, (size_t)s->curves.first[s->curves.count] * sizeof *s->theta);
    }
    if (s->set.paper_coupling) spl_dermis_take_back(s, h);
    spl_dermis_evaluate(s, true, false);
    supple_result result = spl_dermis_solve(s, h, error);
    if (s->set.paper_coupling) spl_dermis_rub(s, h);
    return result;
}

/* v_new happens. */
static void accept(spl_dermis *s, double h)
{
    spl_dermis_move move = {.displacement = s->v_new,
                            .scale = h,
                            .place = s->place_new,
                            .Y = s->Y_new,
                            .theta = s->theta_new,
                            .place_out = s->place,
                            .Y_out = s->Y,
                            .theta_out = s->theta,
                            .v = s->v_new,
                            .v_out = s->v,
                            .jacobian = s->jacobian};
    spl_dermis_advect(s, &move);
    memcpy(s->x, s->x_new, (size_t)s->net.surface.vertex_count * sizeof *s->x);
    spl_dermis_stats *t = &s->stats;
    t->steps++;
    t->shortest = t->shortest > 0 ? fmin(t->shortest, h) : h;
    t->broken = 0;
    t->energy = 0;
    for (size_t l = 0; l < (size_t)s->live_count; l++) {
        t->broken += s->element_broken[l];
        t->energy += s->element_W[l];
    }
    for (size_t v = 0; s->tether_length && v < (size_t)s->net.surface.vertex_count; v++) t->energy += s->tether_W[v];
    double fastest = t->fastest * t->fastest;
    for (size_t v = 0; v < (size_t)s->net.surface.vertex_count; v++)
        fastest = fmax(fastest, s->v[2 * v] * s->v[2 * v] + s->v[2 * v + 1] * s->v[2 * v + 1]);
    t->fastest = sqrt(fastest);
}

supple_result spl_dermis_step(spl_dermis *s, const spl_vec3 *x, double h, supple_error *error)
{
    memcpy(s->x_new, x, (size_t)s->net.surface.vertex_count * sizeof *s->x);
    double start = spl_now_ms(), linear = s->stats.ms_linear;
    s->moving = true;
    supple_result result = attempt(s, h, true, error);
    if (result == SUPPLE_OK) accept(s, h);
    s->stats.ms_rest += spl_now_ms() - start - (s->stats.ms_linear - linear);
    return result;
}

supple_result spl_dermis_settle(spl_dermis *s, const spl_vec3 *x, int32_t most, supple_error *error)
{
    static const double long_step = 0.1, arrived = 1e-3; /* seconds; of a triangle */
    size_t n = (size_t)s->net.surface.vertex_count;
    supple_result result = SUPPLE_OK;
    for (size_t v = 0; v < n; v++) {
        if (spl_v3_finite(x[v])) s->x[v] = x[v];
        s->x_new[v] = s->x[v];
    }
    s->moving = true;
    if (s->set.paper_coupling) most = 0; /* it begins where it sticks */
    for (int32_t k = 0; k < most; k++) {
        memset(s->v, 0, 2 * n * sizeof *s->v);
        result = attempt(s, long_step, false, error);
        if (result != SUPPLE_OK) break;
        quality q = judge(s, long_step);
        double part = q.length > FARTHEST ? FARTHEST / q.length : 1; /* linearised: no farther than that holds */
        accept(s, long_step * part);
        if (q.length < arrived) break;
    }
    memset(s->v, 0, 2 * n * sizeof *s->v);
    s->factored = false; /* of a much longer step */
    return result;
}

/* ---- a frame ---- */

typedef struct motion {
    spl_quat turn;
    spl_vec3 from, to; /* centres */
} motion;

/* The rigid motion nearest to that of the body from x to y, weighted by area. */
static motion fit(const spl_dermis *s, const spl_vec3 *x, const spl_vec3 *y)
{
    motion m = {.turn = spl_quat_identity()};
    double area = 0;
    spl_mat3 sum = {{0}}, R, S;
    size_t n = (size_t)s->net.surface.vertex_count;
    for (size_t v = 0; v < n; v++) {
        m.from = spl_madd(m.from, x[v], s->patch[v]);
        m.to = spl_madd(m.to, y[v], s->patch[v]);
        area += s->patch[v];
    }
    if (!(area > 0)) return m;
    m.from = spl_scale(m.from, 1 / area);
    m.to = spl_scale(m.to, 1 / area);
    for (size_t v = 0; v < n; v++) {
        spl_mat3 o = spl_mat3_outer(spl_scale(spl_sub(y[v], m.to), s->patch[v]), spl_sub(x[v], m.from));
        sum = spl_mat3_add(&sum, &o);
    }
    if (spl_polar3(&sum, &R, &S)) m.turn = spl_quat_from_mat3(&R);
    return m;
}

/* Where the body is going in this frame: x_frame, seen from the frame's beginning, without what is rigid. */
static motion aim(spl_dermis *s, const spl_vec3 *x)
{
    size_t n = (size_t)s->net.surface.vertex_count;
    memcpy(s->x_begin, s->x, n * sizeof *s->x);
    for (size_t v = 0; v < n; v++) s->x_frame[v] = spl_v3_finite(x[v]) ? x[v] : s->x[v];
    motion m = fit(s, s->x_begin, s->x_frame);
    spl_mat3 R = spl_quat_to_mat3(m.turn), back = spl_mat3_transpose(&R);
    for (size_t v = 0; v < n; v++) s->x_frame[v] = spl_add(m.from, spl_mat3_apply(&back, spl_sub(s->x_frame[v], m.to)));
    return m;
}

/* The body at a part of the frame: rigid motion and the rest go on evenly, so that a turning body does not shrink. */
static void pose(spl_dermis *s, const motion *m, double part)
{
    spl_mat3 R = spl_quat_to_mat3(spl_quat_slerp(spl_quat_identity(), m->turn, part));
    spl_vec3 centre = spl_lerp(m->from, m->to, part);
    for (size_t v = 0; v < (size_t)s->net.surface.vertex_count; v++) {
        spl_vec3 p = spl_lerp(s->x_begin[v], s->x_frame[v], part);
        s->x_new[v] = s->set.world ? spl_add(centre, spl_mat3_apply(&R, spl_sub(p, m->from))) : p;
    }
}

static bool jumps(const spl_dermis *s, const motion *m)
{
    double most = s->set.world ? spl_distance(m->from, m->to) : 0;
    for (size_t v = 0; v < (size_t)s->net.surface.vertex_count; v++)
        most = fmax(most, spl_distance(s->x_begin[v], s->x_frame[v]));
    return most > s->net.surface.diagonal;
}

static supple_result run_fixed(spl_dermis *s, const motion *m, double dt, bool couple, supple_error *error)
{
    int32_t count = (int32_t)fmax(1, floor(dt / s->set.step + 0.5));
    supple_result result = SUPPLE_OK;
    for (int32_t k = 1; k <= count && result == SUPPLE_OK; k++) {
        pose(s, m, (double)k / count);
        result = attempt(s, dt / count, couple, error);
        if (result == SUPPLE_OK) accept(s, dt / count);
    }
    return result;
}

/* Steps of dt / 2^level: halved where the displacement or its error is too large, doubled where both are small. */
static supple_result run_adaptive(spl_dermis *s, const motion *m, double dt, bool couple, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    for (int32_t tick = 0; tick < TICKS && result == SUPPLE_OK;) {
        int32_t span = TICKS >> s->level;
        while (tick % span || tick + span > TICKS) {
            span /= 2;
            s->level++;
        }
        double h = dt * span / TICKS;
        pose(s, m, (double)(tick + span) / TICKS);
        result = attempt(s, h, couple, error);
        if (result != SUPPLE_OK) break;
        quality q = judge(s, h);
        double excess = fmax(q.length / FARTHEST, q.error / s->set.tolerance);
        if (excess > REJECTED && s->level < DEEPEST) {
            s->level++;
            s->stats.rejected++;
            continue;
        }
        accept(s, h);
        tick += span;
        if (excess > 1 && s->level < DEEPEST) s->level++; /* a little too long: the next one is shorter */
        /* h^2 a / 2: twice the step has four times the error */
        if (s->level > 0 && 2 * q.length < FARTHEST && 5 * q.error < s->set.tolerance) s->level--;
    }
    return result;
}

supple_result spl_dermis_advance(spl_dermis *s, const spl_vec3 *x, double dt, supple_error *error)
{
    double start = spl_now_ms();
    s->stats = (spl_dermis_stats){0};
    if (!s->moving || !(dt > 0)) {
        for (size_t v = 0; v < (size_t)s->net.surface.vertex_count; v++)
            if (spl_v3_finite(x[v])) s->x[v] = x[v];
        s->moving = true;
        return SUPPLE_OK;
    }
    motion m = aim(s, x);
    spl_vec3 gravity = s->set.gravity;
    bool couple = !jumps(s, &m);
    if (!s->set.world) { /* x stays in the first frame's orientation: gravity turns instead */
        spl_mat3 R = spl_quat_to_mat3(m.turn), back = spl_mat3_transpose(&R);
        s->set.gravity = spl_mat3_apply(&back, gravity);
        s->turn = back;
    }
    supple_result result =
        s->set.step > 0 ? run_fixed(s, &m, dt, couple, error) : run_adaptive(s, &m, dt, couple, error);
    s->set.gravity = gravity;
    s->stats.ms_rest = spl_now_ms() - start - s->stats.ms_linear;
    return result;
}
