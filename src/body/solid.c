#include "body/solid.h"

#include "body/islands.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"

#define ISLAND_SOFTNESS 1e-3 /* stiffness of an island's springs, of that of its own flesh */

/* ---- creation ---- */

static supple_result make_weights(spl_solid *s, const supple_config *config, spl_pool *pool, supple_error *error)
{
    const spl_body *body = s->body;
    size_t n = (size_t)body->tets.vertex_count;
    int32_t *held = spl_new(&s->allocator, n, sizeof *held);
    if (!held) return spl_fail_memory(error, "the bones' weights");
    for (size_t v = 0; v < n; v++) held[v] = body->bone[v] >= 0 ? body->bone[v] : s->island[v];
    spl_harmonic_input in = {&s->elements, held, body->bones.bone_count, config ? config->solver : NULL};
    supple_result result = spl_harmonic_weights(&in, pool, &s->allocator, &s->weights, error);
    spl_free(&s->allocator, held);
    s->along = spl_new(&s->allocator, n, SPL_BONE_INFLUENCES * sizeof *s->along);
    if (result == SUPPLE_OK && !s->along) result = spl_fail_memory(error, "the bones' weights");
    for (size_t i = 0; result == SUPPLE_OK && i < SPL_BONE_INFLUENCES * n; i++) {
        const double *x = s->drive.rest + 3 * (i / SPL_BONE_INFLUENCES);
        if (s->weights.bone[i] >= 0)
            s->along[i] = (float)spl_drive_along(&s->drive, s->weights.bone[i], spl_v3(x[0], x[1], x[2]));
    }
    return result;
}

static void set_scales(spl_solid *s)
{
    double sum = 0, mean_edge = s->body->flesh.cell * s->body->metre;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    int32_t count = s->body->tets.tet_count;
    for (int32_t k = 0; k < count; k++) {
        double mu = s->material.mu[k], la = s->material.lambda[k];
        sum += mu * (3 * la + 2 * mu) / (la + mu);
    }
    for (size_t i = 0; i < 3 * (size_t)s->body->tets.vertex_count; i++) {
        low[i % 3] = fmin(low[i % 3], s->drive.rest[i]);
        high[i % 3] = fmax(high[i % 3], s->drive.rest[i]);
    }
    double young = sum / count;
    s->diagonal = sqrt((high[0] - low[0]) * (high[0] - low[0]) + (high[1] - low[1]) * (high[1] - low[1]) +
                       (high[2] - low[2]) * (high[2] - low[2]));
    s->stiffness_scale = young * s->diagonal * s->diagonal;
    s->island_stiffness = ISLAND_SOFTNESS * young * mean_edge;
}

static supple_result build(spl_solid *s, const spl_material_set *materials, const supple_config *config, spl_pool *pool,
                           supple_error *error)
{
    const spl_body *body = s->body;
    supple_result result = spl_drive_create(body, &s->allocator, &s->drive, error);
    if (result == SUPPLE_OK)
        result = spl_elements_create(s->drive.rest, body->tets.vertex_count, body->tets.tet, body->tets.tet_count,
                                     &s->allocator, &s->elements, error);
    if (result == SUPPLE_OK) result = spl_material_field_make(body, materials, &s->allocator, &s->material, error);
    if (result != SUPPLE_OK) return result;
    s->island = spl_new(&s->allocator, (size_t)body->tets.vertex_count, sizeof *s->island);
    if (!s->island) return spl_fail_memory(error, "the body's pieces");
    result = spl_islands_find(&body->tets, body->bone, &s->allocator, s->island, &s->island_count, error);
    if (result != SUPPLE_OK) return result;
    if (s->island_count)
        spl_log(config, SUPPLE_LOG_WARNING, "%d piece%s of flesh %s firmly held by no bone: weak springs hold %s",
                (int)s->island_count, s->island_count == 1 ? "" : "s", s->island_count == 1 ? "is" : "are",
                s->island_count == 1 ? "it" : "them");
    set_scales(s);
    return make_weights(s, config, pool, error);
}

supple_result spl_solid_create(const spl_body *body, const spl_material_set *materials, const supple_config *config,
                               spl_pool *pool, spl_solid *out, supple_error *error)
{
    *out = (spl_solid){.allocator = spl_allocator_of(config), .body = body};
    supple_result result = SUPPLE_OK;
    if (body->attach.constrained == 0)
        result = spl_fail(error, SUPPLE_ERROR_INPUT, "no bone holds any flesh: the skeleton is nowhere near it");
    if (result == SUPPLE_OK) result = build(out, materials, config, pool, error);
    if (result != SUPPLE_OK) spl_solid_release(out);
    return result;
}

void spl_solid_release(spl_solid *s)
{
    if (!s->allocator.release) return;
    spl_drive_release(&s->drive);
    spl_elements_release(&s->elements);
    spl_material_field_release(&s->material);
    spl_bone_weights_release(&s->weights);
    spl_free(&s->allocator, s->along);
    spl_free(&s->allocator, s->island);
    *s = (spl_solid){0};
}

/* ---- starts ---- */

supple_result spl_pose_past_create(const spl_solid *s, spl_pose_past *out, supple_error *error)
{
    size_t bones = (size_t)s->body->bones.bone_count;
    *out = (spl_pose_past){.map = spl_new(&s->allocator, bones, sizeof *out->map),
                           .tail = spl_new(&s->allocator, bones, sizeof *out->tail),
                           .head = spl_new(&s->allocator, bones, sizeof *out->head),
                           .step = spl_new(&s->allocator, bones, sizeof *out->step),
                           .flat = spl_new(&s->allocator, bones, sizeof *out->flat)};
    if (out->map && out->tail && out->head && out->step && out->flat) return SUPPLE_OK;
    spl_pose_past_release(out, &s->allocator);
    return spl_fail_memory(error, "the last pose");
}

void spl_pose_past_release(spl_pose_past *p, const supple_allocator *a)
{
    spl_free(a, p->map);
    spl_free(a, p->tail);
    spl_free(a, p->head);
    spl_free(a, p->step);
    spl_free(a, p->flat);
    *p = (spl_pose_past){0};
}

void spl_pose_past_keep(spl_pose_past *p, const spl_drive *d)
{
    for (int32_t b = 0; b < d->body->bones.bone_count; b++) {
        p->map[b] = d->map[b];
        p->tail[b] = d->tail[b];
        p->head[b] = d->head[b];
    }
}

void spl_pose_past_move(spl_pose_past *p, const spl_drive *d, const spl_mat4 *m)
{
    for (int32_t b = 0; m && b < d->body->bones.bone_count; b++) p->map[b] = spl_mat4_mul(m, &p->map[b]);
}

typedef struct carry {
    const spl_solid *solid;
    const spl_pose_past *past; /* NULL: from rest */
    double *x;
} carry;

/* What bone b does to a vertex that it carried to p in the past pose. */
static spl_vec3 carried(const carry *c, int32_t b, double along, size_t v, spl_vec3 p)
{
    const spl_drive *d = &c->solid->drive;
    const double *X = d->rest + 3 * v;
    if (c->past->flat[b]) return spl_drive_move(d, b, along, spl_v3(X[0], X[1], X[2]));
    spl_vec3 q = spl_mat4_point(&c->past->step[b], p);
    if (d->tail[b] == c->past->tail[b] && d->head[b] == c->past->head[b]) return q;
    spl_drive then = *d;
    then.tail = c->past->tail;
    then.head = c->past->head;
    double angle = spl_drive_twist(d, b, along) - spl_drive_twist(&then, b, along);
    spl_vec3 axis = spl_quat_rotate(d->turn[b], d->axis[b]);
    spl_vec3 head = spl_drive_joint(d, b);
    return spl_add(head, spl_quat_rotate(spl_quat_axis_angle(axis, angle), spl_sub(q, head)));
}

static void carry_range(void *context, size_t begin, size_t end)
{
    const carry *c = context;
    const spl_solid *s = c->solid;
    for (size_t v = begin; v < end; v++) {
        const double *from = c->past ? c->x + 3 * v : s->drive.rest + 3 * v;
        spl_vec3 p = spl_v3(from[0], from[1], from[2]), sum = spl_v3(0, 0, 0);
        for (size_t i = SPL_BONE_INFLUENCES * v; i < SPL_BONE_INFLUENCES * (v + 1); i++) {
            int32_t b = s->weights.bone[i];
            if (b < 0 || !(s->weights.weight[i] > 0)) continue;
            double along = (double)s->along[i];
            sum = spl_madd(sum, c->past ? carried(c, b, along, v, p) : spl_drive_move(&s->drive, b, along, p),
                           s->weights.weight[i]);
        }
        c->x[3 * v] = sum.x;
        c->x[3 * v + 1] = sum.y;
        c->x[3 * v + 2] = sum.z;
    }
}

void spl_solid_pose(const spl_solid *s, double *x, spl_pool *pool)
{
    carry c = {s, NULL, x};
    spl_parallel_for(pool, (size_t)s->body->tets.vertex_count, 1024, carry_range, &c);
}

/* A volume of less than a thousandth of its own: the way back would make kilometres of rounding. */
static bool is_flat(const spl_mat4 *map)
{
    spl_mat3 linear = spl_mat3_linear(map);
    return !(fabs(spl_mat3_det(&linear)) > 1e-3);
}

void spl_solid_carry(const spl_solid *s, const spl_pose_past *past, double *x, spl_pool *pool)
{
    for (int32_t b = 0; b < s->body->bones.bone_count; b++) {
        spl_mat4 back;
        past->flat[b] = is_flat(&past->map[b]) || !spl_mat4_inverse(&past->map[b], &back);
        if (!past->flat[b]) past->step[b] = spl_mat4_mul(&s->drive.map[b], &back);
    }
    carry c = {s, past, x};
    spl_parallel_for(pool, (size_t)s->body->tets.vertex_count, 1024, carry_range, &c);
}

bool spl_solid_is_fresh(const spl_solid *s, const spl_pose_past *past, size_t vertex)
{
    for (size_t i = SPL_BONE_INFLUENCES * vertex; i < SPL_BONE_INFLUENCES * (vertex + 1); i++) {
        int32_t b = s->weights.bone[i];
        if (b >= 0 && s->weights.weight[i] > 0 && past->flat[b]) return true;
    }
    return false;
}

typedef struct turn_loop {
    const spl_solid *solid;
    double *turn;
} turn_loop;

static void turn_range(void *context, size_t begin, size_t end)
{
    const turn_loop *t = context;
    const spl_solid *s = t->solid;
    for (size_t v = begin; v < end; v++) {
        spl_quat q = {0, 0, 0, 0};
        for (size_t i = SPL_BONE_INFLUENCES * v; i < SPL_BONE_INFLUENCES * (v + 1); i++)
            if (s->weights.bone[i] >= 0)
                q = spl_quat_add(q, spl_quat_scale(spl_drive_turn(&s->drive, s->weights.bone[i], (double)s->along[i]),
                                                   s->weights.weight[i]));
        spl_mat3 R = spl_quat_to_mat3(spl_quat_normalise(q));
        for (size_t i = 0; i < 9; i++) t->turn[9 * v + i] = R.m[i];
    }
}

void spl_solid_turns(const spl_solid *s, double *turn, spl_pool *pool)
{
    turn_loop t = {s, turn};
    spl_parallel_for(pool, (size_t)s->body->tets.vertex_count, 1024, turn_range, &t);
}
