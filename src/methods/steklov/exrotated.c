#include "methods/steklov/exrotated.h"

#include "body/body_weights.h"
#include "core/error.h"
#include "core/memory.h"
#include "methods/mixed/stiffness.h"
#include "methods/steklov/taper.h"

#include <string.h>

enum { PLAIN_GRAIN = 1024 };

/* ---- creation ---- */

/* Vertices of the surface. */
static bool *mark_boundary(const spl_solid *s, const supple_allocator *a)
{
    const spl_tets *t = &s->body->tets;
    bool *mark = spl_new(a, (size_t)t->vertex_count, sizeof *mark);
    for (size_t i = 0; mark && i < 3 * (size_t)t->surface_count; i++) mark[t->surface[i]] = true;
    return mark;
}

/* Bounded biharmonic weights of the vertices (section 4), those of islands as the solid's;
 * from the cache if they are there. */
static supple_result make_weights(spl_exrotated *s, const spl_exrotated_options *o, supple_error *error)
{
    const spl_solid *solid = s->solid;
    size_t n = (size_t)solid->elements.vertex_count;
    s->weights = &solid->weights;
    s->along = solid->along;
    if (!o->bounded) return SUPPLE_OK;
    s->own_along = spl_new(&s->allocator, n, SPL_BONE_INFLUENCES * sizeof *s->own_along);
    spl_weight_table table = {0};
    supple_result result = s->own_along ? SUPPLE_OK : spl_fail_memory(error, "the bones' weights");
    if (result == SUPPLE_OK)
        result = spl_body_weights(solid, SPL_WEIGHTS_BBW, solid->body->cache, o->config, s->pool, &table, NULL, error);
    if (result == SUPPLE_OK) result = spl_weight_table_strongest(&table, &s->allocator, &s->own, error);
    for (size_t i = 0; result == SUPPLE_OK && i < SPL_BONE_INFLUENCES * n; i++) {
        const double *x = solid->drive.rest + 3 * (i / SPL_BONE_INFLUENCES);
        if (s->own.bone[i] >= 0)
            s->own_along[i] = (float)spl_drive_along(&solid->drive, s->own.bone[i], spl_v3(x[0], x[1], x[2]));
    }
    if (result == SUPPLE_OK) {
        s->weights = &s->own;
        s->along = s->own_along;
    }
    spl_weight_table_release(&table);
    return result;
}

static supple_result make_order(spl_exrotated *s, bool apart, supple_error *error)
{
    bool *boundary = apart ? mark_boundary(s->solid, &s->allocator) : NULL;
    if (apart && !boundary) return spl_fail_memory(error, "the flesh's boundary");
    supple_result result = spl_node_order_create(&s->solid->elements, s->pins.held, boundary, s->solid->drive.rest,
                                                 &s->allocator, &s->order, error);
    spl_free(&s->allocator, boundary);
    return result;
}

static supple_result make_matrix(spl_exrotated *s, supple_error *error)
{
    const spl_elements *e = &s->solid->elements;
    spl_pattern pattern;
    size_t count = 0;
    int32_t *pair = spl_new(&s->allocator, 6 * (size_t)e->count, 2 * sizeof *pair);
    if (!pair) return spl_fail_memory(error, "the edges of the flesh");
    for (size_t k = 0; k < (size_t)e->count; k++)
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < i; j++) {
                int32_t u = s->order.node[e->tet[4 * k + i]], v = s->order.node[e->tet[4 * k + j]];
                if (u < 0 || v < 0) continue;
                pair[2 * count] = u;
                pair[2 * count++ + 1] = v;
            }
    supple_result result = spl_pattern_from_pairs(s->order.count, 3, pair, count, &s->allocator, &pattern, error);
    spl_free(&s->allocator, pair);
    if (result != SUPPLE_OK) return result;
    result = spl_matrix3_create(&pattern, &s->allocator, &s->matrix, error);
    spl_pattern_release(&pattern, &s->allocator);
    return result;
}

static supple_result take_memory(spl_exrotated *s, bool narrow, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    size_t n = (size_t)s->solid->elements.vertex_count, tets = (size_t)s->solid->elements.count;
    size_t nodes = (size_t)s->order.count;
    s->split = spl_new(a, nodes, sizeof *s->split);
    s->base = spl_new(a, s->matrix.rows.start[nodes], sizeof *s->base);
    s->slot = spl_new(a, 16 * tets, sizeof *s->slot);
    s->quat = spl_new(a, n, 4 * sizeof *s->quat);
    s->turn = spl_new(a, nodes, 9 * sizeof *s->turn);
    s->rotation = spl_new(a, tets, 9 * sizeof *s->rotation);
    s->memory = spl_new(a, 2 * SPL_FOURS * tets + 8, sizeof *s->memory);
    s->force = spl_new(a, n, 3 * sizeof *s->force);
    s->magnitude = spl_new(a, n, sizeof *s->magnitude);
    s->stiffness = spl_new(a, n, sizeof *s->stiffness);
    bool ok = s->split && s->base && s->slot && s->quat && s->turn && s->rotation && s->memory && s->force &&
              s->magnitude && s->stiffness;
    if (narrow) {
        s->narrow = spl_new(a, 9 * s->matrix.rows.start[nodes] + 4, sizeof *s->narrow);
        s->narrow_x = spl_new(a, nodes, 4 * sizeof *s->narrow_x);
        ok = ok && s->narrow && s->narrow_x;
    }
    if (!ok) return spl_fail_memory(error, "the ex-rotated system");
    s->h = (double *)(((uintptr_t)s->memory + 63) & ~(uintptr_t)63);
    s->corner = s->h + SPL_FOURS * tets;
    return SUPPLE_OK;
}

/* Where in its row each block of a tet goes, and the part of it that no pose changes: 2 mu W g_i . g_j. */
static void find_slots(spl_exrotated *s)
{
    const spl_elements *e = &s->solid->elements;
    const spl_rows *r = &s->matrix.rows;
    for (size_t node = 0; node < (size_t)s->order.count; node++) {
        size_t vertex = (size_t)s->order.vertex[node], first = r->start[node], length = r->start[node + 1] - first;
        for (size_t q = s->stars.start[vertex]; q < s->stars.start[vertex + 1]; q++) {
            size_t tet = s->stars.corner[q] / 4;
            const double *own = e->gradient + 3 * (size_t)s->stars.corner[q];
            for (size_t j = 0; j < 4; j++) {
                int32_t other = s->order.node[e->tet[4 * tet + j]];
                const double *g = e->gradient + 12 * tet + 3 * j;
                size_t at = other < 0 ? length : 0;
                while (at < length && r->column[first + at] != other) at++;
                s->slot[4 * q + j] = (uint32_t)at;
                if (at < length)
                    s->base[first + at] += 2 * s->solid->material.mu[tet] * e->volume[tet] *
                                           (own[0] * g[0] + own[1] * g[1] + own[2] * g[2]);
            }
        }
        size_t at = first;
        while (at < first + length && r->column[at] < s->order.interior) at++;
        s->split[node] = at;
    }
}

static size_t diagonal_entry(const spl_exrotated *s, int32_t node)
{
    size_t at = s->matrix.rows.start[node];
    while (s->matrix.rows.column[at] != node) at++;
    return at;
}

static void add_pins(spl_exrotated *s)
{
    for (int32_t i = 0; i < s->pins.count; i++) {
        int32_t node = s->order.node[s->pins.pin[i].vertex];
        if (node >= 0) s->base[diagonal_entry(s, node)] += s->pins.pin[i].stiffness;
    }
}

static void set_rest(spl_exrotated *s)
{
    for (size_t v = 0; v < (size_t)s->solid->elements.vertex_count; v++)
        for (size_t c = 0; c < 4; c++) s->quat[4 * v + c] = c == 3;
    for (size_t i = 0; i < 9 * (size_t)s->order.count; i++) s->turn[i] = i % 9 % 4 == 0;
    spl_tet_loop l = {.elements = &s->solid->elements, .quat = s->quat, .rotation = s->rotation, .h = s->h};
    s->kernels->turn(&l, 0, (size_t)s->solid->elements.count);
    spl_exrotated_assemble(s);
    for (int32_t i = 0; i < s->order.count; i++) {
        const double *B = s->matrix.value + 9 * diagonal_entry(s, i);
        s->stiffness[s->order.vertex[i]] = (B[0] + B[4] + B[8]) / 3;
    }
}

supple_result spl_exrotated_create(const spl_solid *solid, const spl_exrotated_options *options, spl_pool *pool,
                                   spl_exrotated *out, supple_error *error)
{
    *out = (spl_exrotated){.allocator = solid->allocator, .pool = pool, .solid = solid};
    spl_exrotated *s = out;
    s->kernels = spl_steklov_kernels_of(options->plain);
    supple_result result = spl_pins_create(solid, SPL_PIN_HARD, 0, &s->pins, error);
    if (result == SUPPLE_OK) result = spl_taper(solid, options->taper, &s->pins, error);
    if (result == SUPPLE_OK) result = make_weights(s, options, error);
    if (result == SUPPLE_OK) result = make_order(s, options->apart, error);
    if (result == SUPPLE_OK) result = spl_stars_create(&solid->elements, &s->allocator, &s->stars, error);
    if (result == SUPPLE_OK) result = make_matrix(s, error);
    if (result == SUPPLE_OK) result = take_memory(s, options->narrow, error);
    if (result != SUPPLE_OK) {
        spl_exrotated_release(s);
        return result;
    }
    s->matrix.plain = options->plain;
    find_slots(s);
    add_pins(s);
    set_rest(s);
    return SUPPLE_OK;
}

void spl_exrotated_release(spl_exrotated *s)
{
    if (!s->allocator.release) return;
    const supple_allocator a = s->allocator;
    spl_pins_release(&s->pins);
    if (s->own.bone) spl_bone_weights_release(&s->own);
    spl_free(&a, s->own_along);
    spl_node_order_release(&s->order);
    spl_stars_release(&s->stars);
    spl_matrix3_release(&s->matrix, &a);
    void *blocks[] = {s->split,  s->base,  s->slot,      s->quat,      s->turn,   s->rotation,
                      s->memory, s->force, s->magnitude, s->stiffness, s->narrow, s->narrow_x};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    *s = (spl_exrotated){0};
}

/* ---- a pose ---- */

/* The bones' quaternions blended by the weights at the vertices. The drive has them on one side. */
static void blend_range(void *context, size_t begin, size_t end)
{
    spl_exrotated *s = context;
    const spl_solid *solid = s->solid;
    for (size_t v = begin; v < end; v++) {
        spl_quat q = {0, 0, 0, 0};
        for (size_t i = SPL_BONE_INFLUENCES * v; i < SPL_BONE_INFLUENCES * (v + 1); i++) {
            int32_t b = s->weights->bone[i];
            if (b < 0 || !(s->weights->weight[i] > 0)) continue;
            bool twisted = solid->drive.tail[b] != 0 || solid->drive.head[b] != 0;
            spl_quat t = twisted ? spl_drive_turn(&solid->drive, b, (double)s->along[i]) : solid->drive.turn[b];
            q = spl_quat_add(q, spl_quat_scale(t, s->weights->weight[i]));
        }
        double *out = s->quat + 4 * v;
        out[0] = q.x;
        out[1] = q.y;
        out[2] = q.z;
        out[3] = q.w;
        if (s->order.node[v] < 0) continue;
        spl_mat3 R = spl_quat_to_mat3(spl_quat_normalise(q));
        memcpy(s->turn + 9 * (size_t)s->order.node[v], R.m, sizeof R.m);
    }
}

/* Regions of the material file that name a joint turn with it alone. */
static void take_named(spl_exrotated *s, size_t k)
{
    const spl_elements *e = &s->solid->elements;
    int32_t bone = s->solid->material.rotation[k];
    if (bone < 0) return;
    spl_vec3 p = spl_v3(0, 0, 0);
    for (size_t i = 0; i < 4; i++) {
        const double *x = s->solid->drive.rest + 3 * (size_t)e->tet[4 * k + i];
        p = spl_madd(p, spl_v3(x[0], x[1], x[2]), 0.25);
    }
    const spl_drive *d = &s->solid->drive;
    spl_mat3 R = spl_quat_to_mat3(spl_drive_turn(d, bone, spl_drive_along(d, bone, p)));
    memcpy(s->rotation + 9 * k, R.m, sizeof R.m);
    for (size_t i = 0; i < 4; i++) {
        const double *g = e->gradient + 12 * k + 3 * i;
        spl_vec3 h = spl_mat3_apply(&R, spl_v3(g[0], g[1], g[2]));
        double *to = s->h + SPL_FOURS * k + 4 * i;
        to[0] = h.x;
        to[1] = h.y;
        to[2] = h.z;
    }
}

static void turn_range(void *context, size_t begin, size_t end)
{
    spl_exrotated *s = context;
    spl_tet_loop l = {.elements = &s->solid->elements, .quat = s->quat, .rotation = s->rotation, .h = s->h};
    s->kernels->turn(&l, begin, end);
    for (size_t k = begin; s->solid->material.rotation && k < end; k++) take_named(s, k);
}

void spl_exrotated_skin(spl_exrotated *s)
{
    spl_pins_pose(&s->pins, &s->solid->drive);
    spl_parallel_for(s->pool, (size_t)s->solid->elements.vertex_count, PLAIN_GRAIN, blend_range, s);
    spl_parallel_for(s->pool, (size_t)s->solid->elements.count, PLAIN_GRAIN, turn_range, s);
}

static void assemble_range(void *context, size_t begin, size_t end)
{
    const spl_exrotated *s = context;
    spl_row_loop l = {.elements = &s->solid->elements,
                      .lambda = s->solid->material.lambda,
                      .h = s->h,
                      .stars = &s->stars,
                      .vertex = s->order.vertex,
                      .start = s->matrix.rows.start,
                      .slot = s->slot,
                      .base = s->base,
                      .value = s->matrix.value};
    s->kernels->rows(&l, begin, end);
    if (!s->narrow) return;
    for (size_t i = 9 * l.start[begin]; i < 9 * l.start[end]; i++) s->narrow[i] = (float)s->matrix.value[i];
}

void spl_exrotated_assemble(spl_exrotated *s)
{
    spl_parallel_for(s->pool, (size_t)s->order.count, 256, assemble_range, s);
}

/* ---- forces ---- */

typedef struct force_loop {
    spl_exrotated *s;
    const double *x;
} force_loop;

static void pull_range(void *context, size_t begin, size_t end)
{
    const force_loop *f = context;
    const spl_exrotated *s = f->s;
    spl_tet_loop l = {.elements = &s->solid->elements,
                      .mu = s->solid->material.mu,
                      .lambda = s->solid->material.lambda,
                      .x = f->x,
                      .h = s->h,
                      .corner = s->corner};
    s->kernels->pull(&l, begin, end);
}

static void sum_range(void *context, size_t begin, size_t end)
{
    const force_loop *f = context;
    spl_sum l = {&f->s->stars, f->s->corner, f->s->force, f->s->magnitude};
    spl_mixed_kernels_of(f->s->matrix.plain)->sum(&l, begin, end);
}

double spl_exrotated_forces(spl_exrotated *s, const double *x)
{
    size_t n = (size_t)s->solid->elements.vertex_count;
    force_loop f = {s, x};
    spl_parallel_for(s->pool, (size_t)s->solid->elements.count, 2048, pull_range, &f);
    spl_parallel_for(s->pool, n, PLAIN_GRAIN, sum_range, &f);
    for (int32_t i = 0; i < s->pins.count; i++)
        for (size_t c = 0; c < 3; c++) {
            size_t at = 3 * (size_t)s->pins.pin[i].vertex + c;
            s->force[at] -= s->pins.pin[i].stiffness * (x[at] - s->pins.pin[i].target[c]);
        }
    for (size_t i = 0; s->solid->force && i < 3 * n; i++) s->force[i] += s->solid->force[i];
    double sum = 0;
    for (size_t v = 0; v < n; v++) sum += s->magnitude[v] * s->magnitude[v];
    return sqrt(sum) + 1e-12 * s->solid->stiffness_scale;
}

/* ---- products ---- */

typedef struct product_loop {
    const spl_steklov_kernels *kernels;
    spl_product_loop loop;
    size_t rows, columns;
} product_loop;

static product_loop loop_of(const spl_exrotated *s, spl_quarter block, const double *x, double *y, int sign)
{
    const size_t *start = s->matrix.rows.start;
    size_t ni = (size_t)s->order.interior, n = (size_t)s->order.count;
    bool lower = block == SPL_BI || block == SPL_BB, right = block == SPL_IB || block == SPL_BB;
    return (product_loop){.kernels = s->kernels,
                          .loop = {.from = right ? s->split : start,
                                   .to = block == SPL_ALL || right ? start + 1 : s->split,
                                   .column = s->matrix.rows.column,
                                   .value = s->matrix.value,
                                   .x = x,
                                   .y = y,
                                   .x_first = right ? ni : 0,
                                   .y_first = lower ? ni : 0,
                                   .sign = sign,
                                   .value_float = s->narrow,
                                   .x_float = s->narrow_x},
                          .rows = block == SPL_ALL ? n
                                  : lower          ? n - ni
                                                   : ni,
                          .columns = block == SPL_ALL ? n
                                     : right          ? n - ni
                                                      : ni};
}

static void product_range(void *context, size_t begin, size_t end)
{
    const product_loop *p = context;
    p->kernels->product(&p->loop, p->loop.y_first + begin, p->loop.y_first + end);
}

void spl_exrotated_multiply(const spl_exrotated *s, spl_quarter block, const double *x, double *y, int sign)
{
    product_loop p = loop_of(s, block, x, y, sign);
    spl_parallel_for(s->pool, p.rows, 512, product_range, &p);
}

static void narrow_range(void *context, size_t begin, size_t end)
{
    const spl_product_loop *l = context;
    float *to = (float *)l->x_float;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < 3; c++) to[4 * i + c] = (float)l->x[3 * i + c];
}

static void narrow_product_range(void *context, size_t begin, size_t end)
{
    const product_loop *p = context;
    p->kernels->product_float(&p->loop, p->loop.y_first + begin, p->loop.y_first + end);
}

void spl_exrotated_multiply_narrow(const spl_exrotated *s, spl_quarter block, const double *x, double *y, int sign)
{
    if (!s->narrow) {
        spl_exrotated_multiply(s, block, x, y, sign);
        return;
    }
    product_loop p = loop_of(s, block, x, y, sign);
    spl_parallel_for(s->pool, p.columns, 2048, narrow_range, &p.loop);
    spl_parallel_for(s->pool, p.rows, 512, narrow_product_range, &p);
}
