/* Playing a model without its character: <supple/playback.h>. The method of the simulation (methods/subspace.c) does
 * the same with a character's own bones, clips and forces. */
#include "core/error.h"
#include "core/memory.h"
#include "subspace/playback_private.h"

#include <string.h>

enum { PLAYER_COOKIE = 0x91a7b04c };

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

int32_t supple_model_visual_vertex_count(const supple_model *model)
{
    return model->model.rig.visual.vertex_count;
}

int32_t supple_model_visual_triangle_count(const supple_model *model)
{
    return model->model.rig.visual.triangle_count;
}

const int32_t *supple_model_visual_triangles(const supple_model *model)
{
    return model->model.rig.visual.triangle;
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
                                  .start_steps = 10,
                                  .contact = o.contact};
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
                  {"start_steps", c->start_steps, 1, 1000},
                  {"fixed_step", c->fixed_step, 0, 0.1},
                  {"colliders", c->colliders, 0, 256},
                  {"contact", c->contact, 1e-3, 1e6},
                  {"self_contact", c->self_contact, 0, 1e6}};
    if (c->cookie != PLAYER_COOKIE)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "player config: start from supple_player_config_default()");
    if (c->fixed_step > 0 && c->fixed_step < 1e-4)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "player config: fixed_step takes 0, or from 0.0001 on");
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

bool spl_playback_show(supple_player *p)
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
    p->visual.fresh = false;
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
    for (int k = 0; k < SPL_PLAYER_PAST; k++) p->past[k] = spl_new(a, n, sizeof *p->now);
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
    if (p->visual.visual) spl_visual_frame_amount(&p->visual, p->amount);
}

/* What fixed steps take. */
static bool take_fixed(supple_player *p)
{
    const supple_allocator *a = &p->allocator;
    size_t joints = (size_t)p->model->rig.joint_count, n = (size_t)spl_player_size(p->player);
    bool made = true;
    for (int k = 0; k < SPL_PLAYER_PAST; k++)
        made = (p->kept_past[k] = spl_new(a, (size_t)p->model->domain_count, sizeof *p->now)) && made;
    if (!(p->config.fixed_step > 0)) return made;
    p->given = spl_new(a, joints, 16 * sizeof *p->given);
    p->between = spl_new(a, joints, 16 * sizeof *p->between);
    p->before = spl_new(a, n, sizeof *p->before);
    p->mixed = spl_new(a, n, 2 * sizeof *p->mixed);
    return made && p->given && p->between && p->before && p->mixed;
}

/* Room for as many as are asked for; none is in use. */
static supple_result make_colliders(supple_player *p, supple_error *error)
{
    spl_collider_shape none = {.kind = SPL_COLLIDER_SPHERE};
    size_t n = (size_t)p->config.colliders;
    if (n == 0) return SUPPLE_OK;
    p->place = spl_new(&p->allocator, n, sizeof *p->place);
    p->placed = spl_new(&p->allocator, n, sizeof *p->placed);
    supple_result result = p->place && p->placed ? spl_colliders_create(&p->allocator, &p->colliders, error)
                                                 : spl_fail_memory(error, "the colliders");
    for (size_t k = 0; k < n && result == SUPPLE_OK; k++) result = spl_colliders_add(p->colliders, &none, error);
    return result;
}

static supple_result make(supple_player *p, supple_error *error)
{
    const supple_player_config *c = &p->config;
    const spl_rig *r = &p->model->rig;
    spl_player_options o = spl_player_options_default();
    o.fst = !c->per_vertex;
    o.single = !c->precise;
    o.newton = c->iterations;
    o.tolerance = c->tolerance;
    o.kappa = c->kappa;
    o.kappa_d = c->kappa_d;
    o.alpha = c->alpha;
    o.beta = c->beta;
    o.contact = c->colliders > 0 ? c->contact : 0;
    o.clash = c->self_contact;
    o.like = c->like ? c->like->player : NULL;
    p->gravity = spl_scale(spl_v3(c->gravity[0], c->gravity[1], c->gravity[2]), r->to_solver < 0 ? -1 : 1);
    if (!take_arrays(p)) return spl_fail_memory(error, "a player");
    supple_result result = SUPPLE_OK;
    if (c->visual && r->visual.vertex_count > 0)
        result = spl_visual_frame_create(&r->visual, r->vertex_count, &p->allocator, &p->visual, error);
    take_amount(p, NULL);
    if (result == SUPPLE_OK) result = spl_own_pose_create(p->model, &p->allocator, &p->own, error);
    if (result == SUPPLE_OK) result = spl_rig_drive(r, &p->allocator, &p->body, &p->drive, error);
    if (result == SUPPLE_OK) result = spl_player_create(p->model, &o, p->pool, &p->allocator, &p->player, error);
    if (result == SUPPLE_OK)
        result = c->like ? spl_player_list_like(c->like->list, p->player, &p->list, error)
                         : spl_player_list_create(p->player, r->vertex, r->vertex_count, &p->list, error);
    if (result != SUPPLE_OK) return result;
    size_t bones = (size_t)r->bone_count;
    p->kept = spl_new(&p->allocator, 3 * (size_t)spl_player_size(p->player), sizeof *p->kept);
    p->kept_relative = spl_new(&p->allocator, bones, sizeof *p->kept_relative);
    p->kept_turned = spl_new(&p->allocator, bones, sizeof *p->kept_turned);
    if (!p->kept || !p->kept_relative || !p->kept_turned || !take_fixed(p)) return spl_fail_memory(error, "a player");
    return make_colliders(p, error);
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
    spl_colliders_destroy(p->colliders);
    spl_visual_frame_release(&p->visual, &a);
    void *all[] = {p->given,  p->between,    p->before,  p->mixed, p->kept_past[0],  p->kept_past[1], p->place,
                   p->placed, p->pose.world, p->held,    p->x,     p->position,      p->normal,       p->frame,
                   p->now,    p->past[0],    p->past[1], p->kept,  p->kept_relative, p->kept_turned,  p->amount};
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

/* One of the visual mesh's vectors; zeros before the first step. */
static void read_visual(supple_player *p, bool normals, float *out, size_t stride)
{
    const spl_rig *r = &p->model->rig;
    if (!p->visual.visual) return;
    spl_visual_input in = {p->pose.world, p->x, r->vertex, r->vertex_count, r->to_solver};
    if (p->started) spl_visual_frame_show(&p->visual, &in, p->pool);
    const float *from = normals ? p->visual.normal : p->visual.position;
    for (size_t k = 0; k < (size_t)r->visual.vertex_count; k++)
        memcpy((char *)out + k * stride, from + 3 * k, 3 * sizeof *out);
}

void supple_player_read_visual_positions(supple_player *p, float *out, size_t stride)
{
    read_visual(p, false, out, stride);
}

void supple_player_read_visual_normals(supple_player *p, float *out, size_t stride)
{
    read_visual(p, true, out, stride);
}

const supple_player_stats *supple_player_get_stats(const supple_player *p)
{
    return &p->stats;
}
