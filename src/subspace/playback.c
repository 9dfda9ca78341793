/* Playing a model without its character: <supple/playback.h>. The method of the simulation (methods/subspace.c) does
 * the same with a character's own bones, clips and forces. */
#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/timer.h"
#include "subspace/frame.h"
#include "subspace/model_public.h"
#include "subspace/motion.h"

#include <string.h>

enum { PLAYER_COOKIE = 0x91a7b04c, PAST = 2 };

struct supple_player {
    supple_allocator allocator;
    const spl_model *model;
    supple_player_config config;
    spl_pool *pool;
    spl_body body; /* bones and held vertices alone */
    spl_drive drive;
    spl_pose pose; /* the joints' matrices */
    spl_player *player;
    spl_player_list *list;
    spl_vec3 gravity;        /* the solver's */
    double *held;            /* 3 x held vertices */
    double *x;               /* 3 x the body's vertices: those that are held or on the surface */
    float *position;         /* 3 x the surface's vertices, world */
    float *normal;           /* the same: room */
    spl_own_pose own;        /* the file's own skinning of the surface */
    float *amount;           /* by the surface's vertices: the host's wish times the model's trust */
    bool blended;            /* one of them is below 1 */
    double *kept;            /* 3 x coordinates of the flesh: the state before a step */
    spl_quat *kept_relative; /* by bone: the drive's, before a step */
    bool *kept_turned;
    spl_frame_motion *frame;
    spl_frame *now, *past[PAST]; /* by domain; earlier ones, the last first */
    int32_t past_count;
    double last_dt;
    bool started;
    supple_player_stats stats;
};

/* ---- what a model is of ---- */

int32_t supple_model_joint_count(const supple_model *model)
{
    return model->model.rig.joint_count;
}

const char *supple_model_joint_name(const supple_model *model, int32_t joint)
{
    const spl_rig *r = &model->model.rig;
    if (joint < 0 || joint >= r->joint_count) return NULL;
    const char *name = r->name;
    while (joint-- > 0) name += strlen(name) + 1;
    return name;
}

int32_t supple_model_joint_parent(const supple_model *model, int32_t joint)
{
    const spl_rig *r = &model->model.rig;
    return joint >= 0 && joint < r->joint_count ? r->joint_parent[joint] : -1;
}

void supple_model_joint_rest(const supple_model *model, int32_t joint, float *matrix)
{
    const spl_rig *r = &model->model.rig;
    bool known = joint >= 0 && joint < r->joint_count;
    for (int i = 0; i < 16; i++) matrix[i] = known ? (float)r->joint_rest[16 * (size_t)joint + (size_t)i] : 0;
}

int32_t supple_model_vertex_count(const supple_model *model)
{
    return model->model.rig.vertex_count;
}

int32_t supple_model_triangle_count(const supple_model *model)
{
    return model->model.rig.triangle_count;
}

const int32_t *supple_model_triangles(const supple_model *model)
{
    return model->model.rig.triangle;
}

const float *supple_model_trust(const supple_model *model)
{
    return model->model.rig.own.trust;
}

/* ---- creation ---- */

supple_player_config supple_player_config_default(void)
{
    spl_player_options o = spl_player_options_default();
    return (supple_player_config){.cookie = PLAYER_COOKIE,
                                  .dynamics = true,
                                  .iterations = o.newton,
                                  .tolerance = o.tolerance,
                                  .kappa = o.kappa,
                                  .kappa_d = o.kappa_d,
                                  .alpha = o.alpha,
                                  .beta = o.beta,
                                  .start_steps = 10};
}

static supple_result check(const supple_player_config *c, supple_error *error)
{
    const struct {
        const char *name;
        double value, low, high;
    } ranges[] = {{"iterations", c->iterations, 0, 1000},
                  {"tolerance", c->tolerance, 1e-14, 0.1},
                  {"gravity", c->gravity[0], -1e4, 1e4},
                  {"gravity", c->gravity[1], -1e4, 1e4},
                  {"gravity", c->gravity[2], -1e4, 1e4},
                  {"kappa", c->kappa, 1e-3, 1e7},
                  {"kappa_d", c->kappa_d, 0, 10},
                  {"alpha", c->alpha, 0, 1e4},
                  {"beta", c->beta, 0, 10},
                  {"start_steps", c->start_steps, 1, 1000}};
    if (c->cookie != PLAYER_COOKIE)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "player config: start from supple_player_config_default()");
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (!(ranges[i].value >= ranges[i].low && ranges[i].value <= ranges[i].high))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "player config: %s takes a number from %g to %g",
                            ranges[i].name, ranges[i].low, ranges[i].high);
    return SUPPLE_OK;
}

/* own + amount (flesh - own): the bits of one or the other at 0 and 1. */
static void blend(supple_player *p, float *x)
{
    const spl_rig *r = &p->model->rig;
    spl_own_pose_set(&p->own, p->pose.world, r->joint_count);
    for (int32_t k = 0; k < r->vertex_count; k++, x += 3) {
        float a = p->amount[k];
        if (a == 1) continue;
        spl_vec3 at = spl_own_point(&p->own, k);
        const float own[3] = {(float)at.x, (float)at.y, (float)at.z};
        for (int c = 0; c < 3; c++) x[c] = a == 0 ? own[c] : own[c] + a * (x[c] - own[c]);
    }
}

/* The solver's positions of the surface, as floats in the world. False, and the last ones stand, where they are not
 * finite. */
static bool take_surface(supple_player *p)
{
    const spl_rig *r = &p->model->rig;
    double scale = 1 / r->to_solver;
    float *to = p->normal, sum = 0;
    for (int32_t k = 0; k < r->vertex_count; k++)
        for (int c = 0; c < 3; c++) {
            to[3 * k + c] = (float)(scale * p->x[3 * (size_t)r->vertex[k] + (size_t)c]);
            sum += 0 * to[3 * k + c]; /* NaN where it is not finite */
        }
    if (p->blended) {
        blend(p, to);
        for (int32_t k = 0; k < 3 * r->vertex_count; k++) sum += 0 * to[k];
    }
    if (sum != 0) return false;
    p->normal = p->position;
    p->position = to;
    return true;
}

static bool take_arrays(supple_player *p)
{
    const supple_allocator *a = &p->allocator;
    const spl_rig *r = &p->model->rig;
    size_t n = (size_t)p->model->domain_count;
    p->pose.world = spl_new(a, (size_t)r->joint_count, sizeof *p->pose.world);
    p->held = spl_new(a, (size_t)r->held_count, 3 * sizeof *p->held);
    p->x = spl_new(a, (size_t)p->model->vertex_count, 3 * sizeof *p->x);
    p->position = spl_new(a, (size_t)r->vertex_count, 3 * sizeof *p->position);
    p->normal = spl_new(a, (size_t)r->vertex_count, 3 * sizeof *p->normal);
    p->amount = spl_new(a, (size_t)r->vertex_count, sizeof *p->amount);
    p->frame = spl_new(a, n, sizeof *p->frame);
    p->now = spl_new(a, n, sizeof *p->now);
    for (int k = 0; k < PAST; k++) p->past[k] = spl_new(a, n, sizeof *p->now);
    return p->pose.world && p->held && p->x && p->position && p->normal && p->amount && p->frame && p->now &&
           p->past[0] && p->past[1];
}

/* A wish by vertex, or NULL for all of it, times trust. */
static void take_amount(supple_player *p, const float *wish)
{
    const spl_rig *r = &p->model->rig;
    p->blended = false;
    for (int32_t k = 0; k < r->vertex_count; k++) {
        p->amount[k] = wish ? wish[k] * r->own.trust[k] : r->own.trust[k];
        if (p->amount[k] != 1) p->blended = true;
    }
}

static supple_result make(supple_player *p, supple_error *error)
{
    const supple_player_config *c = &p->config;
    const spl_rig *r = &p->model->rig;
    spl_player_options o = spl_player_options_default();
    o.fst = !c->per_vertex;
    o.newton = c->iterations;
    o.tolerance = c->tolerance;
    o.kappa = c->kappa;
    o.kappa_d = c->kappa_d;
    o.alpha = c->alpha;
    o.beta = c->beta;
    o.contact = 0; /* nothing can touch it */
    o.like = c->like ? c->like->player : NULL;
    p->gravity = spl_scale(spl_v3(c->gravity[0], c->gravity[1], c->gravity[2]), r->to_solver < 0 ? -1 : 1);
    if (!take_arrays(p)) return spl_fail_memory(error, "a player");
    take_amount(p, NULL);
    supple_result result = spl_own_pose_create(p->model, &p->allocator, &p->own, error);
    if (result == SUPPLE_OK) result = spl_rig_drive(r, &p->allocator, &p->body, &p->drive, error);
    if (result == SUPPLE_OK) result = spl_player_create(p->model, &o, p->pool, &p->allocator, &p->player, error);
    if (result == SUPPLE_OK) result = spl_player_list_create(p->player, r->vertex, r->vertex_count, &p->list, error);
    if (result != SUPPLE_OK) return result;
    size_t bones = (size_t)r->bone_count;
    p->kept = spl_new(&p->allocator, 3 * (size_t)spl_player_size(p->player), sizeof *p->kept);
    p->kept_relative = spl_new(&p->allocator, bones, sizeof *p->kept_relative);
    p->kept_turned = spl_new(&p->allocator, bones, sizeof *p->kept_turned);
    return p->kept && p->kept_relative && p->kept_turned ? SUPPLE_OK : spl_fail_memory(error, "a player");
}

supple_result supple_player_create(const supple_model *model, const supple_player_config *player_config,
                                   const supple_config *config, supple_player **out, supple_error *error)
{
    *out = NULL;
    supple_player_config c = player_config ? *player_config : supple_player_config_default();
    supple_result result = spl_config_check(config, error);
    if (result == SUPPLE_OK) result = check(&c, error);
    if (result != SUPPLE_OK) return result;
    supple_allocator a = spl_allocator_of(config);
    supple_player *p = spl_new(&a, 1, sizeof *p);
    if (!p) return spl_fail_memory(error, "a player");
    *p = (supple_player){.allocator = a, .model = &model->model, .config = c};
    result = spl_pool_create(config, &p->pool, error);
    if (result == SUPPLE_OK) result = make(p, error);
    if (result == SUPPLE_OK)
        *out = p;
    else
        supple_player_destroy(p);
    return result;
}

void supple_player_destroy(supple_player *p)
{
    if (!p) return;
    supple_allocator a = p->allocator;
    spl_player_list_destroy(p->list);
    spl_player_destroy(p->player);
    spl_rig_drive_release(&p->body, &p->drive, &a);
    spl_own_pose_release(&p->own, &a);
    void *all[] = {p->pose.world, p->held,    p->x,    p->position,      p->normal,      p->frame, p->now,
                   p->past[0],    p->past[1], p->kept, p->kept_relative, p->kept_turned, p->amount};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) spl_free(&a, all[i]);
    spl_pool_destroy(p->pool);
    spl_free(&a, p);
}

supple_result supple_player_set_amount(supple_player *p, const float *amount, supple_error *error)
{
    for (int32_t k = 0; amount && k < p->model->rig.vertex_count; k++)
        if (!(amount[k] >= 0 && amount[k] <= 1))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "the amount of vertex %d: takes a number from 0 to 1",
                            (int)k);
    take_amount(p, amount);
    return SUPPLE_OK;
}

/* ---- a step ---- */

void supple_player_reset(supple_player *p)
{
    spl_player_reset(p->player);
    spl_drive_reset(&p->drive);
    p->past_count = 0;
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
}

static void put_back(supple_player *p)
{
    size_t n = (size_t)spl_player_size(p->player), bones = (size_t)p->model->rig.bone_count;
    spl_player_reset(p->player);
    if (p->started) spl_player_set_state(p->player, p->kept, p->kept + n, p->kept + 2 * n);
    memcpy(p->drive.relative, p->kept_relative, bones * sizeof *p->kept_relative);
    memcpy(p->drive.turned, p->kept_turned, bones * sizeof *p->kept_turned);
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
    s->converged = did.converged;
    s->residual = did.residual;
    s->outside = did.outside;
    return result;
}

/* A step whose state is kept. */
static supple_result step(supple_player *p, const float *matrices, double dt, supple_player_stats *stats,
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
    if (result != SUPPLE_OK) return result;
    double then = spl_now_ms();
    spl_player_read(p->player, p->list, p->frame, p->x);
    if (!take_surface(p)) return spl_fail(error, SUPPLE_ERROR_SOLVE, "the flesh is beyond what numbers can hold");
    stats->ms_read = spl_now_ms() - then;
    p->started = true;
    keep_past(p, dt);
    return SUPPLE_OK;
}

supple_result supple_player_step(supple_player *p, const float *matrices, int32_t matrix_count, double dt,
                                 supple_error *error)
{
    double start = spl_now_ms();
    supple_player_stats stats = {0};
    supple_result result = check_pose(p, matrices, matrix_count, dt, error);
    if (result != SUPPLE_OK) return result;
    keep_state(p);
    result = step(p, matrices, dt, &stats, error);
    if (result != SUPPLE_OK) {
        put_back(p);
        return result;
    }
    p->stats = stats;
    p->stats.ms_total = spl_now_ms() - start;
    return SUPPLE_OK;
}

/* ---- reading ---- */

void supple_player_read_positions(const supple_player *p, float *out, size_t stride)
{
    for (size_t k = 0; k < (size_t)p->model->rig.vertex_count; k++)
        memcpy((char *)out + k * stride, p->position + 3 * k, 3 * sizeof *out);
}

/* Weighted by the triangles' areas: by their angles (geom/shading.h) a step of hero with its normals took 8.1 ms
 * instead of 5.9. */
void supple_player_read_normals(supple_player *p, float *out, size_t stride)
{
    const spl_rig *r = &p->model->rig;
    memset(p->normal, 0, 3 * (size_t)r->vertex_count * sizeof *p->normal);
    for (const int32_t *t = r->triangle, *end = t + 3 * (size_t)r->triangle_count; t < end; t += 3) {
        const float *a = p->position + 3 * t[0], *b = p->position + 3 * t[1], *c = p->position + 3 * t[2];
        const float u[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, v[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
        const float n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++) p->normal[3 * t[k] + i] += n[i];
    }
    for (size_t k = 0; k < (size_t)r->vertex_count; k++) {
        const float *n = p->normal + 3 * k;
        double length = sqrt((double)n[0] * (double)n[0] + (double)n[1] * (double)n[1] + (double)n[2] * (double)n[2]);
        const float unit[3] = {(float)((double)n[0] / length), (float)((double)n[1] / length),
                               (float)((double)n[2] / length)},
                    up[3] = {0, 0, 1};
        memcpy((char *)out + k * stride, length > 0 && isfinite(length) ? unit : up, sizeof unit);
    }
}

const supple_player_stats *supple_player_get_stats(const supple_player *p)
{
    return &p->stats;
}
