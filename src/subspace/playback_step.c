/* A step of <supple/playback.h>: from the joints' matrices to the surface. */
#include "core/error.h"
#include "core/timer.h"
#include "subspace/frame.h"
#include "subspace/playback_private.h"

#include <string.h>

enum { PAST = SPL_PLAYER_PAST };

/* ---- a step ---- */

void supple_player_reset(supple_player *p)
{
    spl_player_reset(p->player);
    spl_drive_reset(&p->drive);
    p->past_count = 0;
    p->owed = 0;
    p->started = false;
}

static supple_result check_pose(const supple_player *p, const float *matrices, int32_t count, double dt,
                                supple_error *error)
{
    const spl_rig *r = &p->model->rig;
    if (count != r->joint_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%d matrices given; the model has %d joints", (int)count,
                        (int)r->joint_count);
    if (!(dt >= 0)) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "dt: takes seconds, 0 or more");
    const char *name = r->name;
    for (int32_t j = 0; j < count; j++, name += strlen(name) + 1) {
        const char *fault = spl_matrix_fault(matrices + 16 * (size_t)j);
        if (fault) return spl_fail(error, SUPPLE_ERROR_INPUT, "the matrix of joint '%.60s' %s", name, fault);
    }
    return SUPPLE_OK;
}

/* ---- the state before a step, which stands where the step fails ---- */

static void keep_state(supple_player *p)
{
    size_t n = (size_t)spl_player_size(p->player), bones = (size_t)p->model->rig.bone_count;
    spl_player_state(p->player, p->kept, p->kept + n, p->kept + 2 * n);
    memcpy(p->kept_relative, p->drive.relative, bones * sizeof *p->kept_relative);
    memcpy(p->kept_turned, p->drive.turned, bones * sizeof *p->kept_turned);
    for (int k = 0; k < PAST; k++)
        memcpy(p->kept_past[k], p->past[k], (size_t)p->model->domain_count * sizeof **p->past);
}

static void put_back(supple_player *p, int32_t past_count, double last_dt)
{
    size_t n = (size_t)spl_player_size(p->player), bones = (size_t)p->model->rig.bone_count;
    spl_player_reset(p->player);
    if (p->started) spl_player_set_state(p->player, p->kept, p->kept + n, p->kept + 2 * n);
    memcpy(p->drive.relative, p->kept_relative, bones * sizeof *p->kept_relative);
    memcpy(p->drive.turned, p->kept_turned, bones * sizeof *p->kept_turned);
    for (int k = 0; k < PAST; k++)
        memcpy(p->past[k], p->kept_past[k], (size_t)p->model->domain_count * sizeof **p->past);
    p->past_count = past_count;
    p->last_dt = last_dt;
}

static supple_result set_pose(supple_player *p, const float *matrices, supple_error *error)
{
    const spl_rig *r = &p->model->rig;
    for (size_t i = 0; i < 16 * (size_t)r->joint_count; i++)
        p->pose.world[i / 16].m[i % 16] = i % 4 == 3 ? i % 16 == 15 : (double)matrices[i];
    supple_result result = spl_drive_pose(&p->drive, &p->pose, error);
    if (result != SUPPLE_OK) return result;
    spl_drive_hold(&p->drive, p->body.bone, p->held);
    for (int32_t k = 0; k < r->held_count; k++)
        memcpy(p->x + 3 * (size_t)r->held[2 * k], p->held + 3 * (size_t)k, 3 * sizeof *p->x);
    for (int32_t i = 0; i < p->model->domain_count; i++)
        spl_domain_frame(&p->drive, p->model->domain[i].bone, &p->now[i].R, &p->now[i].t);
    return SUPPLE_OK;
}

/* The middle of a bone, in the rest shape. */
static spl_vec3 pivot_of(const supple_player *p, int32_t bone)
{
    const spl_bone *b = &p->body.bones.bone[bone];
    return spl_lerp(b->head, b->tail, 0.5);
}

static spl_vec3 place_of(const supple_player *p, const spl_frame *f, int32_t i)
{
    return spl_add(f[i].t, spl_mat3_apply(&f[i].R, pivot_of(p, p->model->domain[i].bone)));
}

/* Whether a bone has moved farther than the flesh is long since the last step: no motion is that fast. */
static bool has_jumped(const supple_player *p)
{
    for (int32_t i = 0; i < p->model->domain_count; i++)
        if (!(spl_distance(place_of(p, p->past[0], i), place_of(p, p->now, i)) <= 2 * spl_player_extent(p->player)))
            return true;
    return false;
}

/* Poses further back count only where the steps between them are as long as this one. */
static void set_motion(supple_player *p, double dt)
{
    bool even = fabs(dt - p->last_dt) <= 1e-3 * dt;
    int32_t count = even || p->past_count < 2 ? p->past_count : 1;
    for (int32_t i = 0; i < p->model->domain_count; i++) {
        spl_frame before[PAST] = {p->past[0][i], p->past[1][i]};
        p->frame[i] = dt > 0 ? spl_motion_backward(before, count, &p->now[i], dt, pivot_of(p, p->model->domain[i].bone))
                             : spl_motion_still(&p->now[i]);
    }
}

static void keep_past(supple_player *p, double dt)
{
    spl_frame *last = p->past[PAST - 1];
    p->past[1] = p->past[0];
    p->past[0] = last;
    memcpy(last, p->now, (size_t)p->model->domain_count * sizeof *last);
    p->past_count = dt > 0 ? (p->past_count < PAST ? p->past_count + 1 : PAST) : 1;
    p->last_dt = dt;
}

/* `started`: from the last step's state, else from rest. */
static supple_result solve(supple_player *p, bool started, double dt, supple_player_stats *s, supple_error *error)
{
    spl_player_input in = {.frame = p->frame, .held = p->x, .gravity = p->gravity, .dt = dt};
    if (p->collider_count > 0) in.colliders = p->colliders;
    spl_player_stats did = {0};
    supple_result result = SUPPLE_OK;
    int32_t steps = started ? 1 : p->config.start_steps;
    for (int32_t k = 0; k < steps && result == SUPPLE_OK && !did.converged; k++) {
        result = spl_player_step(p->player, &in, &did, error);
        s->iterations += did.iterations;
        s->ms_coupling += did.ms_coupling;
        s->ms_cubature += did.ms_cubature;
        s->ms_cholesky += did.ms_solve;
    }
    s->steps++;
    s->converged = did.converged;
    s->residual = did.residual;
    s->outside = did.outside;
    s->contacts = did.contacts;
    s->self_contacts = did.clashes;
    s->penetration = did.penetration;
    return result;
}

/* Advances flesh to a pose `dt` later; what is shown is not touched. */
static supple_result advance(supple_player *p, const float *matrices, double dt, supple_player_stats *stats,
                             supple_error *error)
{
    bool started = p->started && !(dt > 1);
    if (!started) {
        spl_player_reset(p->player);
        spl_drive_reset(&p->drive);
    }
    supple_result result = set_pose(p, matrices, error);
    if (result != SUPPLE_OK) return result;
    if (started && p->config.dynamics && dt > 0 && has_jumped(p)) {
        spl_player_reset(p->player);
        started = false;
    }
    if (!p->config.dynamics || !started) dt = 0;
    set_motion(p, dt);
    result = solve(p, started, dt, stats, error);
    if (result == SUPPLE_OK) keep_past(p, dt);
    return result;
}

static supple_result show(supple_player *p, supple_player_stats *stats, supple_error *error)
{
    double then = spl_now_ms();
    for (int32_t i = 0; i < p->model->domain_count; i++) p->frame[i] = spl_motion_still(&p->now[i]);
    spl_player_read(p->player, p->list, p->frame, p->x);
    if (!spl_playback_show(p)) return spl_fail(error, SUPPLE_ERROR_SOLVE, "the flesh is beyond what numbers can hold");
    stats->ms_read = spl_now_ms() - then;
    return SUPPLE_OK;
}

/* ---- colliders ---- */

static spl_vec3 lerp(spl_vec3 a, spl_vec3 b, double t)
{
    return t < 1 ? spl_lerp(a, b, t) : b;
}

/* Where they are at a part of the way from the last call to this one. Places that are not in use repeat the last. */
static void place_colliders(supple_player *p, double share)
{
    for (int32_t k = 0; p->collider_count > 0 && k < p->config.colliders; k++) {
        int32_t from = k < p->collider_count ? k : p->collider_count - 1;
        spl_collider_shape s = p->place[from], *last = &p->placed[from];
        if (s.kind == last->kind && share < 1) {
            s.a = lerp(last->a, s.a, share);
            s.b = lerp(last->b, s.b, share);
            s.radius = last->radius + share * (s.radius - last->radius);
        }
        spl_colliders_place(p->colliders, k, &s);
    }
}

static const char *fault_of(const supple_collider *c)
{
    double square = 0;
    if ((int)c->kind < 0 || c->kind > SUPPLE_COLLIDER_PLANE) return "is of no kind";
    for (int i = 0; i < 3; i++) {
        if (!(fabsf(c->a[i]) < 1e18F)) return "is nowhere";
        if (c->kind != SUPPLE_COLLIDER_SPHERE && !(fabsf(c->b[i]) < 1e18F)) return "is nowhere";
        square += (double)c->b[i] * (double)c->b[i];
    }
    if (c->kind == SUPPLE_COLLIDER_PLANE) return square > 0 ? NULL : "has a normal of 0";
    return c->radius >= 0 && c->radius < 1e18F ? NULL : "has no radius";
}

supple_result supple_player_set_colliders(supple_player *p, const supple_collider *colliders, int32_t count,
                                          supple_error *error)
{
    double scale = p->model->rig.to_solver;
    if (count < 0 || count > p->config.colliders)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%d colliders: the config has room for %d", (int)count,
                        (int)p->config.colliders);
    for (int32_t k = 0; k < count; k++)
        if (fault_of(&colliders[k]))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "collider %d %s", (int)k, fault_of(&colliders[k]));
    for (int32_t k = 0; k < count; k++) {
        const supple_collider *c = &colliders[k];
        bool plane = c->kind == SUPPLE_COLLIDER_PLANE, sphere = c->kind == SUPPLE_COLLIDER_SPHERE;
        spl_collider_shape *s = &p->place[k];
        *s = (spl_collider_shape){.kind = plane    ? SPL_COLLIDER_PLANE
                                          : sphere ? SPL_COLLIDER_SPHERE
                                                   : SPL_COLLIDER_CAPSULE};
        s->a = spl_scale(spl_v3_from_float(c->a), scale);
        if (plane) s->b = spl_scale(spl_unit(spl_v3_from_float(c->b), spl_v3(0, 1, 0)), scale < 0 ? -1 : 1);
        if (!plane && !sphere) s->b = spl_scale(spl_v3_from_float(c->b), scale);
        if (!plane) s->radius = (double)c->radius * fabs(scale);
        if (k >= p->collider_count) p->placed[k] = *s; /* it comes from nowhere */
    }
    p->collider_count = count;
    return SUPPLE_OK;
}

/* ---- fixed steps ---- */

/* M = R K: R by Gram and Schmidt, K what is left: scale and shear, and a mirror's sign. */
static void split(const float *m, spl_quat *turn, spl_mat3 *K)
{
    spl_vec3 c[3];
    spl_mat3 M, R;
    for (int i = 0; i < 3; i++) {
        c[i] = spl_v3((double)m[4 * i], (double)m[4 * i + 1], (double)m[4 * i + 2]);
        memcpy(M.m + 3 * i, &c[i], sizeof c[i]);
    }
    spl_vec3 x = spl_unit(c[0], spl_v3(1, 0, 0)), side = fabs(x.x) < 0.9 ? spl_v3(1, 0, 0) : spl_v3(0, 1, 0);
    spl_vec3 y = spl_unit(spl_madd(c[1], x, -spl_dot(x, c[1])), spl_unit(spl_cross(x, side), side)),
             z = spl_cross(x, y);
    memcpy(R.m, &x, sizeof x), memcpy(R.m + 3, &y, sizeof y), memcpy(R.m + 6, &z, sizeof z);
    spl_mat3 back = spl_mat3_transpose(&R);
    *K = spl_mat3_mul(&back, &M);
    *turn = spl_quat_from_mat3(&R);
}

/* A matrix between two: rotations by the shorter way, all else evenly. */
static void mix(const float *from, const float *to, double share, float *out)
{
    spl_quat a, b;
    spl_mat3 K, L;
    split(from, &a, &K);
    split(to, &b, &L);
    for (int i = 0; i < 9; i++) K.m[i] += share * (L.m[i] - K.m[i]);
    spl_mat3 R = spl_quat_to_mat3(spl_quat_slerp(a, b, share)), M = spl_mat3_mul(&R, &K);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) out[4 * i + k] = (float)M.m[3 * i + k];
        out[12 + i] = (float)((double)from[12 + i] + share * ((double)to[12 + i] - (double)from[12 + i]));
        out[4 * i + 3] = 0;
    }
    out[15] = 1;
}

/* The steps that are due between the last call and this one; *owed: seconds since the last of them. */
static supple_result advance_fixed(supple_player *p, const float *matrices, double dt, double *owed,
                                   supple_player_stats *stats, supple_error *error)
{
    double h = p->config.fixed_step;
    supple_result result = SUPPLE_OK;
    int32_t due = (int32_t)floor((*owed + dt) / h + 1e-6);
    if (due == 0) { /* as the last step left it */
        *stats = p->stats;
        stats->steps = stats->iterations = 0;
        stats->ms_coupling = stats->ms_cubature = stats->ms_cholesky = 0;
    }
    for (int32_t k = 1; k <= due && result == SUPPLE_OK; k++) {
        double share = fmin(fmax((k * h - *owed) / dt, 0), 1);
        for (size_t j = 0; j < (size_t)p->model->rig.joint_count; j++)
            mix(p->given + 16 * j, matrices + 16 * j, share, p->between + 16 * j);
        place_colliders(p, share);
        spl_player_state(p->player, p->before, NULL, NULL);
        result = advance(p, p->between, h, stats, error);
    }
    *owed = fmax(*owed + dt - due * h, 0);
    return result;
}

/* What is shown lies between the last two steps, in the pose of this call. */
static supple_result show_between(supple_player *p, const float *matrices, double share, supple_player_stats *stats,
                                  supple_error *error)
{
    size_t n = (size_t)spl_player_size(p->player);
    double *now = p->mixed + n;
    supple_result result = set_pose(p, matrices, error);
    if (result != SUPPLE_OK) return result;
    spl_player_state(p->player, now, NULL, NULL);
    for (size_t k = 0; k < n; k++) p->mixed[k] = p->before[k] + share * (now[k] - p->before[k]);
    spl_player_set_coordinates(p->player, p->mixed);
    result = show(p, stats, error);
    spl_player_set_coordinates(p->player, now);
    return result;
}

/* ---- all of it ---- */

static supple_result step(supple_player *p, const float *matrices, double dt, double *owed, supple_player_stats *stats,
                          supple_error *error)
{
    bool fixed = p->config.fixed_step > 0, moving = p->started && p->config.dynamics && dt > 0 && !(dt > 1);
    if (fixed && moving) {
        supple_result result = advance_fixed(p, matrices, dt, owed, stats, error);
        double share = fmin(*owed / p->config.fixed_step, 1);
        return result == SUPPLE_OK ? show_between(p, matrices, share, stats, error) : result;
    }
    place_colliders(p, 1);
    supple_result result = advance(p, matrices, dt, stats, error);
    if (fixed) spl_player_state(p->player, p->before, NULL, NULL);
    *owed = 0;
    return result == SUPPLE_OK ? show(p, stats, error) : result;
}

supple_result supple_player_step(supple_player *p, const float *matrices, int32_t matrix_count, double dt,
                                 supple_error *error)
{
    double start = spl_now_ms(), last_dt = p->last_dt, owed = p->owed;
    int32_t past_count = p->past_count;
    supple_player_stats stats = {0};
    supple_result result = check_pose(p, matrices, matrix_count, dt, error);
    if (result != SUPPLE_OK) return result;
    keep_state(p);
    result = step(p, matrices, dt, &owed, &stats, error);
    if (result != SUPPLE_OK) {
        put_back(p, past_count, last_dt);
        p->visual.fresh = true; /* what was read last stands */
        return result;
    }
    p->started = true;
    p->owed = owed;
    if (p->given) memcpy(p->given, matrices, 16 * (size_t)matrix_count * sizeof *matrices);
    for (int32_t k = 0; k < p->collider_count; k++) p->placed[k] = p->place[k];
    p->stats = stats;
    p->stats.ms_total = spl_now_ms() - start;
    return SUPPLE_OK;
}
