/* Life of an engine, and what goes to the device and comes back once a problem. */
#include "methods/projective/cl/engine_private.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { BLOCK = SPL_CL_BLOCK, ARRAYS = 9 };

static const char *const KERNELS[SPL_K_COUNT] = {
    [SPL_K_PROJECT] = "project",      [SPL_K_PRESS] = "press",
    [SPL_K_GATHER] = "gather",        [SPL_K_BEGIN] = "cg_begin",
    [SPL_K_MULTIPLY] = "cg_multiply", [SPL_K_STEP] = "cg_step",
    [SPL_K_TURN] = "cg_turn",         [SPL_K_DOTS] = "dots",
    [SPL_K_COMBINE] = "combine",      [SPL_K_ADVANCE] = "advance",
    [SPL_K_GO_BACK] = "go_back",
};

static spl_cl_engine *engine_of(spl_pd_engine *base)
{
    return (spl_cl_engine *)base;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ---- the body ---- */

/* Tets with a free corner in the mesh's order, as the kernel reads them. Memory of its own until they are written. */
typedef struct tets {
    int32_t count;
    cl_int4 *corner;
    float *gradient, *weight, *spread;
    cl_int2 *share;
    uint32_t *slot_start, *slot;
} tets;

static bool is_free(const spl_pd_view *v, const int32_t *tet)
{
    return v->unknown[tet[0]] >= 0 || v->unknown[tet[1]] >= 0 || v->unknown[tet[2]] >= 0 || v->unknown[tet[3]] >= 0;
}

static void fill_tet(const spl_pd_view *v, size_t k, size_t at, tets *t)
{
    const spl_elements *e = v->in->elements;
    size_t count = (size_t)t->count;
    for (size_t i = 0; i < 4; i++) t->corner[at].s[i] = e->tet[4 * k + i];
    for (size_t i = 0; i < 9; i++) t->gradient[i * count + at] = (float)e->gradient[12 * k + 3 + i];
    t->weight[at] = (float)(2 * v->in->mu[k] * e->volume[k]);
    t->spread[at] = v->in->lambda ? (float)(v->in->lambda[k] * e->volume[k]) : 0;
}

/* By node: where its forces are, in the order of the tets. */
static void fill_slots(const spl_pd_view *v, tets *t)
{
    size_t n = (size_t)v->node_count, count = (size_t)t->count;
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < 4; i++) {
            int32_t node = v->unknown[t->corner[k].s[i]];
            if (node >= 0) t->slot_start[node + 2]++;
        }
    for (size_t i = 0; i < n; i++) t->slot_start[i + 2] += t->slot_start[i + 1];
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < 4; i++) {
            int32_t node = v->unknown[t->corner[k].s[i]];
            if (node >= 0) t->slot[t->slot_start[node + 1]++] = (uint32_t)(i * count + k);
        }
}

static void free_tets(const supple_allocator *a, tets *t)
{
    void *blocks[] = {t->corner, t->gradient, t->weight, t->spread, t->share, t->slot_start, t->slot};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(a, blocks[i]);
}

static bool make_tets(const spl_pd_view *v, const supple_allocator *a, tets *t)
{
    const spl_elements *e = v->in->elements;
    *t = (tets){0};
    for (size_t k = 0; k < (size_t)e->count; k++) t->count += is_free(v, e->tet + 4 * k);
    size_t count = (size_t)t->count, at = 0;
    t->corner = spl_new(a, count, sizeof *t->corner);
    t->gradient = spl_new(a, count, 9 * sizeof(float));
    t->weight = spl_new(a, count, sizeof(float));
    t->spread = spl_new(a, count, sizeof(float));
    t->share = spl_new(a, count / BLOCK + 1, sizeof *t->share);
    t->slot_start = spl_new(a, (size_t)v->node_count + 2, sizeof *t->slot_start);
    t->slot = spl_new(a, count, 4 * sizeof *t->slot);
    if (!t->corner || !t->gradient || !t->weight || !t->spread || !t->share || !t->slot_start || !t->slot) return false;
    for (size_t k = 0; k < (size_t)e->count; k++)
        if (is_free(v, e->tet + 4 * k)) fill_tet(v, k, at++, t);
    for (size_t g = 0; g * BLOCK < count; g++) {
        t->share[g].s[0] = (cl_int)(g * BLOCK);
        t->share[g].s[1] = (cl_int)(count < (g + 1) * BLOCK ? count : (g + 1) * BLOCK);
    }
    fill_slots(v, t);
    return true;
}

static supple_result send_tets(spl_cl_engine *e, const spl_pd_view *v, supple_error *error)
{
    tets t;
    spl_cl_work *w = &e->work;
    if (!make_tets(v, &e->allocator, &t)) {
        free_tets(&e->allocator, &t);
        return spl_fail_memory(error, "the device's tetrahedra");
    }
    size_t count = (size_t)t.count, n = (size_t)v->node_count;
    e->tet_count = t.count;
    e->tet_groups = (count + BLOCK - 1) / BLOCK;
    e->buffer[SPL_B_SHARE] = spl_cl_buffer(w, e->tet_groups, sizeof *t.share, t.share);
    e->buffer[SPL_B_CORNER] = spl_cl_buffer(w, count, sizeof *t.corner, t.corner);
    e->buffer[SPL_B_GRADIENT] = spl_cl_buffer(w, count, 9 * sizeof(float), t.gradient);
    e->buffer[SPL_B_WEIGHT] = spl_cl_buffer(w, count, sizeof(float), t.weight);
    e->buffer[SPL_B_SPREAD] = spl_cl_buffer(w, count, sizeof(float), t.spread);
    e->buffer[SPL_B_SLOT_START] = spl_cl_buffer(w, n + 1, sizeof *t.slot_start, t.slot_start);
    e->buffer[SPL_B_SLOT] = spl_cl_buffer(w, t.slot_start[n], sizeof *t.slot, t.slot);
    spl_cl_finish(w); /* their memory ends here */
    free_tets(&e->allocator, &t);
    return SUPPLE_OK;
}

/* Groups of nodes: kernels/common.cl says what their eight numbers are. (Not cl_int8: that wants memory aligned to 32
 * bytes.) */
static supple_result send_groups(spl_cl_engine *e, const spl_pd_view *v, supple_error *error)
{
    enum { NUMBERS = 8 };
    cl_int *group = spl_new(&e->allocator, e->node_groups, NUMBERS * sizeof *group);
    if (!group) return spl_fail_memory(error, "the device's groups");
    int32_t body = 0, body_first = 0, body_end = v->body_count > 0 ? v->body_end[0] : v->node_count;
    for (size_t g = 0; g < e->node_groups; g++) {
        cl_int first = (cl_int)(g * BLOCK), end = first + BLOCK < v->node_count ? first + BLOCK : v->node_count;
        while (first >= body_end) body_first = body_end, body_end = v->body_end[++body];
        const cl_int numbers[NUMBERS] = {first,
                                         end,
                                         0,
                                         e->matrix.ell,
                                         first * e->matrix.ell,
                                         BLOCK,
                                         body_first / BLOCK,
                                         (body_end - body_first + BLOCK - 1) / BLOCK};
        memcpy(group + NUMBERS * g, numbers, sizeof numbers);
    }
    e->buffer[SPL_B_GROUP] = spl_cl_buffer(&e->work, e->node_groups, NUMBERS * sizeof *group, group);
    e->buffer[SPL_B_VERTEX] = spl_cl_buffer(&e->work, (size_t)v->node_count, sizeof *v->vertex, v->vertex);
    spl_cl_finish(&e->work);
    spl_free(&e->allocator, group);
    return SUPPLE_OK;
}

/* ---- buffers ---- */

static void make_matrix_buffers(spl_cl_engine *e)
{
    const spl_hybrid *m = &e->matrix;
    spl_cl_work *w = &e->work;
    size_t index = m->wide ? sizeof(uint32_t) : sizeof(uint16_t), n = (size_t)e->node_count;
    e->buffer[SPL_B_ELL_VALUE] = spl_cl_buffer(w, m->ell_count, sizeof(float), NULL);
    e->buffer[SPL_B_ELL_COLUMN] = spl_cl_buffer(w, m->ell_count, index, m->ell_column);
    e->buffer[SPL_B_REST_START] = spl_cl_buffer(w, n + 1, sizeof *m->start, m->start);
    e->buffer[SPL_B_REST_VALUE] = spl_cl_buffer(w, m->rest_count, sizeof(float), NULL);
    e->buffer[SPL_B_REST_COLUMN] = spl_cl_buffer(w, m->rest_count, index, m->rest_column);
    e->buffer[SPL_B_DIAGONAL] = spl_cl_buffer(w, n, sizeof(float), NULL);
}

static void make_state_buffers(spl_cl_engine *e)
{
    spl_cl_work *w = &e->work;
    size_t n = (size_t)e->node_count, four = sizeof(cl_float4), corners = (size_t)e->tet_count;
    for (int b = SPL_B_HIGH; b <= SPL_B_LOW; b++) e->buffer[b] = spl_cl_buffer(w, (size_t)e->vertex_count, four, NULL);
    for (int b = SPL_B_BEGIN_HIGH; b <= SPL_B_EXTERNAL; b++) e->buffer[b] = spl_cl_buffer(w, n, four, NULL);
    e->buffer[SPL_B_TURN] = spl_cl_buffer(w, corners, four, NULL);
    e->buffer[SPL_B_FORCE] = spl_cl_buffer(w, corners, 4 * four, NULL);
    e->buffer[SPL_B_STORE] = spl_cl_buffer(w, n, SPL_V_COUNT * four, NULL);
    e->buffer[SPL_B_TET_PARTIAL] = spl_cl_buffer(w, e->tet_groups, four, NULL);
    e->buffer[SPL_B_NODE_PARTIAL] = spl_cl_buffer(w, e->node_groups, four, NULL);
    for (int b = SPL_B_DELTA; b <= SPL_B_DQ; b++) e->buffer[b] = spl_cl_buffer(w, e->node_groups, four, NULL);
    e->buffer[SPL_B_DOTS] = spl_cl_buffer(w, e->node_groups, 4 * four, NULL);
}

static void make_tie_buffers(spl_cl_engine *e)
{
    spl_cl_work *w = &e->work;
    size_t n = (size_t)e->node_count, ties = (size_t)e->tie_capacity, four = sizeof(cl_float4);
    e->buffer[SPL_B_TIE_VERTEX] = spl_cl_buffer(w, ties, sizeof(cl_int4), NULL);
    for (int b = SPL_B_TIE_COEFFICIENT; b <= SPL_B_TIE_PULL; b++) e->buffer[b] = spl_cl_buffer(w, ties, four, NULL);
    e->buffer[SPL_B_TIE_START] = spl_cl_buffer(w, n + 1, sizeof(uint32_t), NULL);
    e->buffer[SPL_B_TIE] = spl_cl_buffer(w, 4 * ties, sizeof(uint32_t), NULL);
    e->buffer[SPL_B_TIE_SHARE] = spl_cl_buffer(w, 4 * ties, sizeof(float), NULL);
    e->buffer[SPL_B_TOUCH_START] = spl_cl_buffer(w, n + 1, sizeof(uint32_t), NULL);
    e->buffer[SPL_B_TOUCH_VALUE] = spl_cl_buffer(w, 12 * ties, sizeof(float), NULL);
    e->buffer[SPL_B_TOUCH_COLUMN] = spl_cl_buffer(w, 12 * ties, sizeof(uint32_t), NULL);
    e->buffer[SPL_B_TIE_PARTIAL] = spl_cl_buffer(w, ties, four, NULL);
}

static bool take_memory(spl_cl_engine *e)
{
    const supple_allocator *a = &e->allocator;
    size_t n = (size_t)e->node_count, ties = (size_t)e->tie_capacity;
    size_t staged = most(ARRAYS * (size_t)e->vertex_count, (size_t)e->tet_count);
    e->staging = spl_new(a, staged, sizeof *e->staging);
    e->partial = spl_new(a, most(4 * e->node_groups, most(e->tet_groups, ties)) + 1, sizeof *e->partial);
    e->diagonal = spl_new(a, n, sizeof *e->diagonal);
    e->tie_vertex = spl_new(a, ties, sizeof *e->tie_vertex);
    e->tie_data = spl_new(a, ties, 4 * sizeof *e->tie_data);
    e->tie_start = spl_new(a, n + 2, sizeof *e->tie_start);
    e->touch_start = spl_new(a, n + 2, sizeof *e->touch_start);
    e->tie = spl_new(a, ties, 4 * sizeof *e->tie);
    e->tie_share = spl_new(a, ties, 4 * sizeof *e->tie_share);
    e->touch_column = spl_new(a, ties, 12 * sizeof *e->touch_column);
    e->touch_value = spl_new(a, ties, 12 * sizeof *e->touch_value);
    return e->staging && e->partial && e->diagonal && e->tie_vertex && e->tie_data && e->tie_start && e->touch_start &&
           e->tie && e->tie_share && e->touch_column && e->touch_value;
}

/* ---- life ---- */

static void destroy(spl_pd_engine *base)
{
    if (!base) return;
    spl_cl_engine *e = engine_of(base);
    supple_allocator a = e->allocator;
    supple_device *d = e->work.device;
    spl_cl_finish(&e->work); /* nothing reads our memory any more */
    for (int i = 0; i < SPL_K_COUNT; i++) spl_cl_kernel_drop(d, &e->kernel[i]);
    for (int i = 0; i < SPL_B_COUNT; i++) spl_cl_drop(d, e->buffer[i]);
    spl_hybrid_release(&e->matrix);
    spl_rows_release(&e->rows, &a);
    void *blocks[] = {e->staging,     e->partial, e->diagonal,  e->tie_vertex,   e->tie_data,    e->tie_start,
                      e->touch_start, e->tie,     e->tie_share, e->touch_column, e->touch_value, e};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
}

static void forget(spl_pd_engine *base)
{
    spl_cl_engine *e = engine_of(base);
    spl_cl_finish(&e->work);
    for (size_t t = 0; t < (size_t)e->tet_count; t++) e->staging[t] = (cl_float4){.s = {0, 0, 0, 1}};
    spl_cl_write(&e->work, e->buffer[SPL_B_TURN], e->staging, (size_t)e->tet_count * sizeof *e->staging);
    spl_cl_finish(&e->work); /* the same memory is used again */
}

static supple_result outcome(const spl_pd_engine *base, supple_error *error)
{
    return spl_cl_outcome(&((const spl_cl_engine *)base)->work, error);
}

/* Products of CRS parts that fit into local memory beside sums and rows, at least one. */
static void choose_piece(spl_cl_engine *e)
{
    size_t local = (size_t)e->work.device->local_bytes, room = spl_cl_room(&e->kernel[SPL_K_MULTIPLY]);
    size_t rest = local > room + BLOCK * sizeof(cl_float4) + 1024 ? local - room - BLOCK * sizeof(cl_float4) - 1024 : 0;
    size_t fits = rest / sizeof(cl_float4), wanted = spl_hybrid_fullest(&e->matrix);
    if (wanted < 1) wanted = 1;
    if (wanted > fits) wanted = fits;
    if (wanted > 1024) wanted = 1024; /* more groups at once are worth more than fewer barriers */
    e->piece = (cl_uint)(wanted > 0 ? wanted : 1);
}

/* Kernels count in 32 bits: through the vectors of the store, and nine numbers a tet. */
static bool can_count(const spl_pd_view *v)
{
    return (size_t)v->node_count <= UINT32_MAX / SPL_V_COUNT && (size_t)v->in->elements->count <= INT32_MAX / 9;
}

static supple_result build(spl_cl_engine *e, const spl_pd_view *v, supple_error *error)
{
    if (!can_count(v))
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "device %.80s: a body of %d nodes and %d tets is too large for it",
                        e->work.device->name, (int)v->node_count, (int)v->in->elements->count);
    e->vertex_count = v->in->elements->vertex_count;
    e->node_count = v->node_count;
    e->node_groups = ((size_t)v->node_count + BLOCK - 1) / BLOCK;
    e->tie_capacity = v->in->tie_capacity;
    supple_result result = spl_rows_create(v->pattern, &e->allocator, &e->rows, error);
    if (result == SUPPLE_OK)
        result = spl_hybrid_create(&e->rows, BLOCK, v->body_count > 0, &e->allocator, &e->matrix, error);
    if (result == SUPPLE_OK) result = send_tets(e, v, error);
    if (result == SUPPLE_OK) result = send_groups(e, v, error);
    if (result == SUPPLE_OK && !take_memory(e)) result = spl_fail_memory(error, "the device's memory");
    if (result != SUPPLE_OK) return result;
    make_matrix_buffers(e);
    make_state_buffers(e);
    make_tie_buffers(e);
    for (int i = 0; i < SPL_K_COUNT; i++) spl_cl_kernel_make(&e->work, KERNELS[i], &e->kernel[i]);
    choose_piece(e);
    spl_cl_engine_bind(e);
    forget(&e->base);
    return spl_cl_outcome(&e->work, error);
}

static void begin(spl_pd_engine *base, const spl_pd_view *v);
static void end(spl_pd_engine *base, double *x);

supple_result spl_cl_engine_create(struct supple_device *device, const spl_pd *pd, int32_t inner,
                                   const supple_allocator *a, spl_pd_engine **out, supple_error *error)
{
    spl_pd_view view = spl_pd_look(pd);
    return spl_cl_engine_of(device, &view, inner, a, out, error);
}

supple_result spl_cl_engine_of(struct supple_device *device, const spl_pd_view *view, int32_t inner,
                               const supple_allocator *a, spl_pd_engine **out, supple_error *error)
{
    *out = NULL;
    if (view->in->bulk)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "device %.80s: volume constraints are the processor's alone",
                        device->name);
    spl_cl_engine *e = spl_new(a, 1, sizeof *e);
    if (!e) return spl_fail_memory(error, "the device's memory");
    *e = (spl_cl_engine){.allocator = *a, .work = {.device = device}, .inner = inner, .dt = -1};
    e->vectors = (spl_vectors_elsewhere){e, spl_cl_engine_dots, spl_cl_engine_sum};
    e->base = (spl_pd_engine){.r = e->name + SPL_V_R,
                              .r_before = e->name + SPL_V_R_BEFORE,
                              .dx = e->name + SPL_V_DX,
                              .begin = begin,
                              .evaluate = spl_cl_engine_evaluate,
                              .solve = spl_cl_engine_solve,
                              .advance = spl_cl_engine_advance,
                              .go_back = spl_cl_engine_go_back,
                              .end = end,
                              .forget = forget,
                              .outcome = outcome,
                              .destroy = destroy};
    spl_pace_adopt(view->in->pace, 3 * (size_t)view->node_count, &e->vectors, e->name + SPL_V_PACE, &e->base.pace);
    supple_result result = build(e, view, error);
    if (result == SUPPLE_OK)
        *out = &e->base;
    else
        destroy(&e->base);
    return result;
}

/* ---- a problem ---- */

/* A number as the sum of two floats, to 48 bits. */
static void split(const double *x, cl_float4 *high, cl_float4 *low)
{
    for (int c = 0; c < 3; c++) {
        high->s[c] = (float)x[c];
        low->s[c] = (float)(x[c] - (double)high->s[c]);
    }
    high->s[3] = low->s[3] = 0;
}

static void send_matrix(spl_cl_engine *e, const spl_pd_view *v)
{
    if (e->dt == v->dt) return;
    spl_hybrid *m = &e->matrix;
    spl_hybrid_set(m, v->values);
    spl_cl_write(&e->work, e->buffer[SPL_B_ELL_VALUE], m->ell_value, m->ell_count * sizeof(float));
    spl_cl_write(&e->work, e->buffer[SPL_B_REST_VALUE], m->rest_value, m->rest_count * sizeof(float));
    e->dt = v->dt;
}

/* The arrays of a problem, one after the other in `staging`. */
static void begin(spl_pd_engine *base, const spl_pd_view *v)
{
    spl_cl_engine *e = engine_of(base);
    size_t vertices = (size_t)e->vertex_count, n = (size_t)e->node_count, four = sizeof(cl_float4);
    cl_float4 *at[ARRAYS];
    for (size_t i = 0; i < ARRAYS; i++) at[i] = e->staging + i * vertices;
    for (size_t i = 0; i < vertices; i++) split(v->x + 4 * i, &at[0][i], &at[1][i]);
    e->constant = 0;
    for (size_t i = 0; i < n; i++) {
        const double *x = v->x + 4 * (size_t)v->vertex[i], *f = v->force + 3 * i;
        at[2][i] = at[0][v->vertex[i]];
        at[3][i] = at[1][v->vertex[i]];
        split(v->anchor + 3 * i, &at[4][i], &at[5][i]);
        at[4][i].s[3] = (float)v->pull[i];
        at[6][i] = (cl_float4){.s = {(float)f[0], (float)f[1], (float)f[2], 0}};
        e->constant -= f[0] * x[0] + f[1] * x[1] + f[2] * x[2];
    }
    static const int TO[] = {SPL_B_HIGH,        SPL_B_LOW,        SPL_B_BEGIN_HIGH, SPL_B_BEGIN_LOW,
                             SPL_B_ANCHOR_HIGH, SPL_B_ANCHOR_LOW, SPL_B_EXTERNAL};
    for (size_t i = 0; i < sizeof TO / sizeof *TO; i++)
        spl_cl_write(&e->work, e->buffer[TO[i]], at[i], (i < 2 ? vertices : n) * four);
    send_matrix(e, v);
    spl_cl_engine_tie(e, v);
}

static void end(spl_pd_engine *base, double *x)
{
    spl_cl_engine *e = engine_of(base);
    size_t vertices = (size_t)e->vertex_count, bytes = vertices * sizeof(cl_float4);
    cl_float4 *high = e->staging + 7 * vertices, *low = e->staging + 8 * vertices;
    spl_cl_read(&e->work, e->buffer[SPL_B_HIGH], high, bytes, false);
    spl_cl_read(&e->work, e->buffer[SPL_B_LOW], low, bytes, true);
    if (e->work.failed != CL_SUCCESS) return;
    for (size_t i = 0; i < vertices; i++)
        for (int c = 0; c < 3; c++) x[4 * i + (size_t)c] = (double)high[i].s[c] + (double)low[i].s[c];
}
