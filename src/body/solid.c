#include "body/solid.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"

#define ISLAND_SOFTNESS 1e-3 /* stiffness of an island's springs, of that of its own flesh */

/* ---- pieces that nothing holds ---- */

static int32_t root_of(int32_t *parent, int32_t v)
{
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
}

/* The bone nearest to a point of the rest shape, among those that hold something. */
static int32_t nearest_bone(const spl_body *body, spl_vec3 p)
{
    int32_t best = 0;
    double least = INFINITY;
    for (int32_t v = 0; v < body->tets.vertex_count; v++) {
        double d = spl_distance(body->tets.position[v], p);
        if (body->bone[v] >= 0 && d < least) {
            least = d;
            best = body->bone[v];
        }
    }
    return best;
}

/* Pieces are numbered by their lowest vertex; island[v] becomes the bone of v's piece where none of it is held. */
static supple_result find_islands(spl_solid *s, supple_error *error)
{
    const spl_body *body = s->body;
    int32_t n = body->tets.vertex_count;
    int32_t *parent = spl_new(&s->allocator, (size_t)n, sizeof *parent);
    bool *held = spl_new(&s->allocator, (size_t)n, sizeof *held);
    supple_result result = parent && held ? SUPPLE_OK : spl_fail_memory(error, "the body's pieces");
    if (result == SUPPLE_OK) {
        for (int32_t v = 0; v < n; v++) parent[v] = v;
        for (size_t k = 0; k < (size_t)body->tets.tet_count; k++)
            for (int i = 1; i < 4; i++) {
                int32_t a = root_of(parent, body->tets.tet[4 * k]),
                        b = root_of(parent, body->tets.tet[4 * k + (size_t)i]);
                if (a < b)
                    parent[b] = a;
                else
                    parent[a] = b;
            }
        for (int32_t v = 0; v < n; v++)
            if (body->bone[v] >= 0) held[root_of(parent, v)] = true;
        for (int32_t v = 0; v < n; v++) {
            int32_t root = root_of(parent, v);
            s->island[v] = held[root] ? -1 : root == v ? nearest_bone(body, body->tets.position[v]) : s->island[root];
            s->island_count += root == v && !held[root];
        }
    }
    spl_free(&s->allocator, parent);
    spl_free(&s->allocator, held);
    return result;
}

int32_t spl_solid_island_pin_count(const spl_solid *s)
{
    int32_t count = 0;
    for (int32_t v = 0; v < s->body->tets.vertex_count; v++) count += s->island[v] >= 0;
    return count;
}

void spl_solid_island_pins(const spl_solid *s, spl_pin *pins)
{
    for (int32_t v = 0; v < s->body->tets.vertex_count; v++) {
        if (s->island[v] < 0) continue;
        spl_vec3 p = spl_drive_point(&s->drive, s->island[v], v);
        *pins++ = (spl_pin){v, {p.x, p.y, p.z}, s->island_stiffness};
    }
}

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
    result = find_islands(s, error);
    if (result != SUPPLE_OK) return result;
    if (s->island_count)
        spl_log(config, SUPPLE_LOG_WARNING, "%d piece%s of flesh hang%s on no bone: held by weak springs",
                (int)s->island_count, s->island_count == 1 ? "" : "s", s->island_count == 1 ? "s" : "");
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
    spl_free(&s->allocator, s->island);
    *s = (spl_solid){0};
}

/* ---- starts ---- */

typedef struct carry {
    const spl_solid *solid;
    const spl_mat4 *step; /* by bone; NULL: from rest by the pose's maps */
    double *x;
} carry;

static void carry_range(void *context, size_t begin, size_t end)
{
    const carry *c = context;
    const spl_solid *s = c->solid;
    const spl_mat4 *map = c->step ? c->step : s->drive.map;
    for (size_t v = begin; v < end; v++) {
        const double *from = c->step ? c->x + 3 * v : s->drive.rest + 3 * v;
        spl_vec3 p = spl_v3(from[0], from[1], from[2]), sum = spl_v3(0, 0, 0);
        for (size_t i = SPL_BONE_INFLUENCES * v; i < SPL_BONE_INFLUENCES * (v + 1); i++)
            if (s->weights.bone[i] >= 0 && s->weights.weight[i] > 0)
                sum = spl_madd(sum, spl_mat4_point(&map[s->weights.bone[i]], p), s->weights.weight[i]);
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

void spl_solid_carry(const spl_solid *s, const spl_mat4 *step, double *x, spl_pool *pool)
{
    carry c = {s, step, x};
    spl_parallel_for(pool, (size_t)s->body->tets.vertex_count, 1024, carry_range, &c);
}

typedef struct turn_loop {
    const spl_solid *solid;
    double *turn;
} turn_loop;

static void turn_range(void *context, size_t begin, size_t end)
{
    const turn_loop *t = context;
    const spl_bone_weights *w = &t->solid->weights;
    for (size_t v = begin; v < end; v++) {
        spl_quat q = {0, 0, 0, 0};
        for (size_t i = SPL_BONE_INFLUENCES * v; i < SPL_BONE_INFLUENCES * (v + 1); i++)
            if (w->bone[i] >= 0) q = spl_quat_add(q, spl_quat_scale(t->solid->drive.turn[w->bone[i]], w->weight[i]));
        spl_mat3 R = spl_quat_to_mat3(spl_quat_normalise(q));
        for (size_t i = 0; i < 9; i++) t->turn[9 * v + i] = R.m[i];
    }
}

void spl_solid_turns(const spl_solid *s, double *turn, spl_pool *pool)
{
    turn_loop t = {s, turn};
    spl_parallel_for(pool, (size_t)s->body->tets.vertex_count, 1024, turn_range, &t);
}
