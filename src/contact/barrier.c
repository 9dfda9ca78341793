#include "contact/barrier.h"

#include "contact/barrier_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/ccd.h"

#include <math.h>
#include <string.h>

static const double REST_SHARE = 0.8;  /* of a pair's distance at rest, that its offset has at most */
static const double REST_LEAST = 1e-7; /* of the diagonal: pairs that touch at rest are none */
static const double SLACK = 0.2;       /* of a gap, that a step leaves */
static const double LONGEST = 2;       /* mean edges: what one step moves at most */

/* ---- positions with obstacles ---- */

const double *spl_barrier_all(spl_barrier *b, const double *x)
{
    if (b->vertex_count == b->body_count) return x;
    size_t body = 3 * (size_t)b->body_count;
    memcpy(b->x, x, body * sizeof *x);
    memcpy(b->x + body, b->obstacles->position, 3 * (size_t)b->obstacles->vertex_count * sizeof *x);
    return b->x;
}

const double *spl_barrier_all_steps(spl_barrier *b, const double *d, const double *shift)
{
    if (b->vertex_count == b->body_count) return d;
    size_t body = 3 * (size_t)b->body_count, rest = 3 * (size_t)b->obstacles->vertex_count;
    memcpy(b->d, d, body * sizeof *d);
    if (shift)
        memcpy(b->d + body, shift, rest * sizeof *d);
    else
        memset(b->d + body, 0, rest * sizeof *d);
    return b->d;
}

/* ---- candidates ---- */

/* The largest of the first and of the second primitive of a pair, added up. */
static double reach_of(const spl_barrier *b, const spl_pair *p)
{
    int first = p->kind == SPL_PAIR_POINT_TRIANGLE ? 1 : 2;
    double reach[2] = {0, 0};
    for (int i = 0; i < 4; i++) reach[i >= first] = fmax(reach[i >= first], b->reach[p->v[i]]);
    return reach[0] + reach[1];
}

static bool is_of_world(const spl_barrier *b, const spl_pair *p)
{
    return p->v[0] >= b->body_count || p->v[3] >= b->body_count;
}

/* |e_1|^2 |e_2|^2 at these positions. */
static double edge_squares(const double x[4][3])
{
    double square[2] = {0, 0};
    for (int e = 0; e < 2; e++)
        for (int c = 0; c < 3; c++) {
            double d = x[2 * e + 1][c] - x[2 * e][c];
            square[e] += d * d;
        }
    return square[0] * square[1];
}

static double mean_stiffness(const spl_barrier *b, const spl_pair *p)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < 4; i++) {
        if (p->v[i] >= b->body_count) continue;
        sum += b->stiffness[p->v[i]];
        count++;
    }
    return b->options.stiffness * sum / (count > 0 ? count : 1);
}

/* What the barrier is between a pair. `x`: positions now, for lengths of edges of the world. */
static spl_potential potential_of(const spl_barrier *b, const spl_pair *pair, const double *x)
{
    spl_potential p = {.pair = *pair, .offset = reach_of(b, pair), .width = b->options.width};
    double corner[4][3];
    if (is_of_world(b, pair)) {
        spl_barrier_corners(pair, x, corner);
    } else {
        spl_barrier_corners(pair, b->solid->drive.rest, corner);
        double d = sqrt(spl_pair_nearest((spl_pair_kind)pair->kind, corner).square);
        p.offset = fmin(p.offset, REST_SHARE * d);
        p.width = d > REST_LEAST * b->solid->diagonal ? fmin(p.width, d - p.offset) : 0;
    }
    if (pair->kind == SPL_PAIR_EDGE_EDGE) p.parallel = SPL_POTENTIAL_PARALLEL * edge_squares(corner);
    p.stiffness = mean_stiffness(b, pair);
    return p;
}

typedef struct seeking {
    spl_barrier *b;
    const spl_pair *pair;
    const double *x;
} seeking;

static void make_potentials(void *context, size_t begin, size_t end)
{
    const seeking *s = context;
    for (size_t i = begin; i < end; i++) s->b->potential[i] = potential_of(s->b, &s->pair[i], s->x);
}

static bool has_room(spl_barrier *b, int32_t count)
{
    if (count <= b->room) return true;
    size_t room = (size_t)count + (size_t)count / 2;
    spl_potential *potential = spl_resize(&b->allocator, b->potential, room, sizeof *potential);
    if (potential) b->potential = potential;
    double *energy = spl_resize(&b->allocator, b->energy, room, sizeof *energy);
    if (energy) b->energy = energy;
    double *gradient = spl_resize(&b->allocator, b->gradient, room, 12 * sizeof *gradient);
    if (gradient) b->gradient = gradient;
    int32_t *active = spl_resize(&b->allocator, b->active, room, sizeof *active);
    if (active) b->active = active;
    if (!potential || !energy || !gradient || !active) return false;
    b->room = (int32_t)room;
    return true;
}

supple_result spl_barrier_seek(spl_barrier *b, const double *x, const double *d, supple_error *error)
{
    int32_t count;
    supple_result result = spl_pairs_find(b->pairs, x, d, b->options.width, b->pool, error);
    if (result != SUPPLE_OK) return result;
    const spl_pair *pair = spl_pairs_list(b->pairs, &count);
    b->count = b->active_count = 0;
    if (!has_room(b, count)) return spl_fail_memory(error, "the pairs of a barrier");
    b->count = count;
    seeking s = {b, pair, x};
    spl_parallel_for(b->pool, (size_t)count, SPL_BARRIER_GRAIN, make_potentials, &s);
    return SUPPLE_OK;
}

/* ---- energy ---- */

typedef struct evaluation {
    spl_barrier *b;
    const double *x;
    bool gradients;
} evaluation;

static void evaluate(void *context, size_t begin, size_t end)
{
    const evaluation *e = context;
    spl_barrier *b = e->b;
    double corner[4][3];
    for (size_t i = begin; i < end; i++) {
        b->energy[i] = 0;
        if (!(b->potential[i].width > 0)) continue;
        spl_barrier_corners(&b->potential[i].pair, e->x, corner);
        b->energy[i] = e->gradients ? spl_potential_gradient(&b->potential[i], corner, b->gradient + 12 * i)
                                    : spl_potential_energy(&b->potential[i], corner);
    }
}

/* In the order of the candidates, whatever the threads. */
static double sum_up(spl_barrier *b)
{
    double sum = 0;
    for (int32_t i = 0; i < b->count; i++) sum += b->energy[i];
    return sum;
}

static double energy_at(void *context, const double *x)
{
    evaluation e = {context, spl_barrier_all(context, x), false};
    spl_parallel_for(e.b->pool, (size_t)e.b->count, SPL_BARRIER_GRAIN, evaluate, &e);
    return sum_up(e.b);
}

static void list_active(spl_barrier *b, const double *x)
{
    double corner[4][3];
    b->active_count = 0;
    b->gap = INFINITY;
    for (int32_t i = 0; i < b->count; i++) {
        if (b->energy[i] == 0) continue;
        const spl_potential *p = &b->potential[i];
        spl_barrier_corners(&p->pair, x, corner);
        b->active[b->active_count++] = i;
        b->gap = fmin(b->gap, sqrt(spl_pair_nearest((spl_pair_kind)p->pair.kind, corner).square) - p->offset);
    }
}

static void add_forces(void *context, const double *x, double *force)
{
    spl_barrier *b = context;
    memcpy(b->at, spl_barrier_all(b, x), 3 * (size_t)b->vertex_count * sizeof *b->at);
    evaluation e = {b, b->at, true};
    spl_parallel_for(b->pool, (size_t)b->count, SPL_BARRIER_GRAIN, evaluate, &e);
    list_active(b, e.x);
    for (int32_t k = 0; k < b->active_count; k++) {
        size_t i = (size_t)b->active[k];
        for (size_t c = 0; c < 12; c++) {
            int32_t v = b->potential[i].pair.v[c / 3];
            if (v < b->body_count) force[3 * (size_t)v + c % 3] -= b->gradient[12 * i + c];
        }
    }
}

/* ---- Hessian ---- */

static void make_elements(void *context, size_t begin, size_t end)
{
    const evaluation *e = context;
    spl_barrier *b = e->b;
    double corner[4][3];
    for (size_t k = begin; k < end; k++) {
        const spl_potential *p = &b->potential[b->active[k]];
        spl_barrier_corners(&p->pair, e->x, corner);
        memcpy(b->element + 4 * k, p->pair.v, sizeof p->pair.v);
        spl_potential_projected(p, corner, b->element_values + 90 * k);
    }
}

static bool has_element_room(spl_barrier *b)
{
    if (b->active_count <= b->active_room) return true;
    size_t room = (size_t)b->active_count + (size_t)b->active_count / 2;
    int32_t *element = spl_resize(&b->allocator, b->element, room, 4 * sizeof *element);
    if (element) b->element = element;
    double *values = spl_resize(&b->allocator, b->element_values, room, 90 * sizeof *values);
    if (values) b->element_values = values;
    if (!element || !values) return false;
    b->active_room = (int32_t)room;
    return true;
}

static int32_t elements(void *context, const int32_t **vertex, const double **values)
{
    spl_barrier *b = context;
    evaluation e = {b, b->at, true};
    if (!has_element_room(b)) return -1;
    spl_parallel_for(b->pool, (size_t)b->active_count, 32, make_elements, &e);
    *vertex = b->element;
    *values = b->element_values;
    return b->active_count;
}

/* ---- steps ---- */

typedef struct stepping {
    spl_barrier *b;
    const double *x, *d;
    double slack;
    double *until; /* by piece of candidates */
} stepping;

/* Pairs without a gap are left to those who release them: a start that has any has no finite energy either. */
static void bound(void *context, size_t begin, size_t end)
{
    const stepping *s = context;
    double x[4][3], d[4][3], until = 1;
    for (size_t i = begin; i < end; i++) {
        const spl_potential *p = &s->b->potential[i];
        if (!(p->width > 0)) continue;
        spl_barrier_corners(&p->pair, s->x, x);
        spl_barrier_corners(&p->pair, s->d, d);
        until = fmin(until, spl_pair_ccd((spl_pair_kind)p->pair.kind, x, d, p->offset, s->slack, until));
    }
    s->until[begin / SPL_BARRIER_GRAIN] = until;
}

static double longest_of(const double *d, int32_t count)
{
    double most = 0;
    for (size_t v = 0; v < (size_t)count; v++)
        most = fmax(most, d[3 * v] * d[3 * v] + d[3 * v + 1] * d[3 * v + 1] + d[3 * v + 2] * d[3 * v + 2]);
    return sqrt(most);
}

supple_result spl_barrier_max_step(spl_barrier *b, const double *x, const double *d, const double *shift, double slack,
                                   double *share, supple_error *error)
{
    const double *to = spl_barrier_all_steps(b, d, shift);
    memcpy(b->at, spl_barrier_all(b, x), 3 * (size_t)b->vertex_count * sizeof *b->at);
    stepping s = {.b = b, .x = b->at, .d = to, .slack = slack};
    *share = 0;
    supple_result result = spl_barrier_seek(b, s.x, s.d, error);
    if (result != SUPPLE_OK) return result;
    size_t pieces = ((size_t)b->count + SPL_BARRIER_GRAIN - 1) / SPL_BARRIER_GRAIN;
    s.until = b->energy; /* as many as candidates, and free until the next energy */
    spl_parallel_for(b->pool, (size_t)b->count, SPL_BARRIER_GRAIN, bound, &s);
    *share = 1;
    for (size_t i = 0; i < pieces; i++) *share = fmin(*share, s.until[i]);
    return SUPPLE_OK;
}

/* A Newton step that would take vertices far is cut first: what it may meet on the way is then few. */
static supple_result max_step(void *context, const double *x, const double *d, double *share, supple_error *error)
{
    spl_barrier *b = context;
    size_t n = 3 * (size_t)b->body_count;
    double most = longest_of(d, b->body_count), cut = fmin(1, LONGEST * b->edge_mean / fmax(most, 1e-300));
    if (!isfinite(most)) return spl_fail(error, SUPPLE_ERROR_SOLVE, "contact: a step is not finite");
    for (size_t i = 0; i < n; i++) b->step[i] = cut * d[i];
    supple_result result = spl_barrier_max_step(b, x, b->step, NULL, SLACK, share, error);
    *share *= cut;
    return result;
}

static supple_result begin(void *context, const double *x, supple_error *error)
{
    spl_barrier *b = context;
    return spl_barrier_seek(b, spl_barrier_all(b, x), NULL, error);
}

/* ---- for others ---- */

const spl_extra *spl_barrier_extra(spl_barrier *b)
{
    b->extra = (spl_extra){.context = b,
                           .energy = energy_at,
                           .add_forces = add_forces,
                           .elements = elements,
                           .begin = begin,
                           .max_step = max_step};
    return &b->extra;
}

supple_result spl_barrier_measure(spl_barrier *b, const double *x, double *force, double *energy, supple_error *error)
{
    supple_result result = begin(b, x, error);
    if (result != SUPPLE_OK) return result;
    add_forces(b, x, force);
    *energy = sum_up(b);
    return SUPPLE_OK;
}

spl_barrier_state spl_barrier_look(const spl_barrier *b)
{
    return (spl_barrier_state){
        .pairs = b->active_count, .gap = b->gap, .width = b->options.width, .overlaps = b->overlaps};
}

const spl_potential *spl_barrier_active(const spl_barrier *b, int32_t index)
{
    return &b->potential[b->active[index]];
}

double spl_barrier_stiffness(const spl_barrier *b, int32_t vertex)
{
    return b->stiffness[vertex];
}
