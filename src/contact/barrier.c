#include "contact/barrier.h"

#include "contact/barrier_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/ccd.h"

#include <math.h>
#include <string.h>

static const double REST_SHARE = 0.8;      /* of a pair's distance at rest, that its offset has at most */
static const double REST_LEAST = 1e-7;     /* of the diagonal: pairs that touch at rest are none */
static const double SLACK = 0.2;           /* of a gap, that a step leaves */
static const double LEAST_GAP = 1e-8;      /* of the diagonal, */
static const double LEAST_OF_WIDTH = 1e-3; /* and of the barrier's width: as near pairs may come */
static const double LONGEST = 2;           /* mean edges: what one step moves at most */

/* ---- candidates ---- */

/* The largest of the first and of the second primitive of a pair, added up. */
double spl_barrier_reach(const spl_barrier *b, const spl_pair *p)
{
    int first = p->kind == SPL_PAIR_POINT_TRIANGLE ? 1 : 2;
    double reach[2] = {0, 0};
    for (int i = 0; i < 4; i++) reach[i >= first] = fmax(reach[i >= first], b->surface.reach[p->v[i]]);
    return reach[0] + reach[1];
}

bool spl_barrier_is_world(const spl_barrier *b, const spl_pair *p)
{
    return p->v[0] >= b->surface.own_count || p->v[3] >= b->surface.own_count;
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
        if (p->v[i] >= b->surface.own_count) continue;
        sum += b->surface.stiffness[p->v[i]];
        count++;
    }
    return b->options.stiffness * sum / (count > 0 ? count : 1);
}

spl_potential spl_barrier_potential(const spl_barrier *b, const spl_pair *pair, const double *x)
{
    spl_potential p = {.pair = *pair, .offset = spl_barrier_reach(b, pair), .width = b->options.width, .distance = NAN};
    double corner[4][3];
    p.offset *= spl_barrier_ease(b, pair);
    if (spl_barrier_is_world(b, pair)) {
        spl_barrier_corners(pair, x, corner);
    } else {
        spl_barrier_corners(pair, b->surface.rest, corner);
        double d = sqrt(spl_pair_nearest((spl_pair_kind)pair->kind, corner).square);
        p.offset = fmin(p.offset, REST_SHARE * d);
        p.width = d > REST_LEAST * b->surface.diagonal ? fmin(p.width, d - p.offset) : 0;
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
    for (size_t i = begin; i < end; i++) s->b->potential[i] = spl_barrier_potential(s->b, &s->pair[i], s->x);
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

supple_result spl_barrier_seek_around(spl_barrier *b, const double *x, const double *d, double spare, bool points,
                                      supple_error *error)
{
    int32_t count;
    double radius = b->options.width + spare;
    supple_result result = points ? spl_pairs_find_points(b->pairs, x, d, radius, b->pool, error)
                                  : spl_pairs_find(b->pairs, x, d, radius, b->pool, error);
    if (result != SUPPLE_OK) return result;
    const spl_pair *pair = spl_pairs_list(b->pairs, &count);
    b->count = b->active_count = 0;
    if (!has_room(b, count)) return spl_fail_memory(error, "the pairs of a barrier");
    b->count = count;
    seeking s = {b, pair, x};
    spl_parallel_for(b->pool, (size_t)count, SPL_BARRIER_GRAIN, make_potentials, &s);
    return SUPPLE_OK;
}

supple_result spl_barrier_seek(spl_barrier *b, const double *x, const double *d, supple_error *error)
{
    return spl_barrier_seek_around(b, x, d, 0, false, error);
}

/* How many of a sorted list are no candidates yet. */
static int32_t count_new(const spl_barrier *b, const spl_pair *pair, int32_t count)
{
    int32_t fresh = 0;
    for (int32_t i = 0, k = 0; k < count; k++) {
        while (i < b->count && spl_pair_order(&b->potential[i].pair, &pair[k]) < 0) i++;
        fresh += i == b->count || spl_pair_order(&b->potential[i].pair, &pair[k]) > 0;
    }
    return fresh;
}

supple_result spl_barrier_seek_changed(spl_barrier *b, const double *x, const double *d, const bool *changed,
                                       supple_error *error)
{
    int32_t count;
    supple_result result = spl_pairs_find_among(b->pairs, x, d, b->options.width, changed, b->pool, error);
    if (result != SUPPLE_OK) return result;
    const spl_pair *pair = spl_pairs_list(b->pairs, &count);
    int32_t fresh = count_new(b, pair, count), i = b->count - 1;
    if (!has_room(b, b->count + fresh)) return spl_fail_memory(error, "the pairs of a barrier");
    b->count += fresh;
    b->active_count = 0;
    for (int32_t k = count - 1, to = b->count - 1; k >= 0 && to > i;) { /* from the end, where there is room */
        int first = i < 0 ? -1 : spl_pair_order(&b->potential[i].pair, &pair[k]);
        if (first > 0)
            b->potential[to--] = b->potential[i--];
        else if (first == 0)
            k--;
        else
            b->potential[to--] = spl_barrier_potential(b, &pair[k--], x);
    }
    return SUPPLE_OK;
}

/* ---- energy ---- */

typedef struct evaluation {
    spl_barrier *b;
    const double *x;
    bool gradients;
    double exact; /* of Hessians */
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
    evaluation e = {context, x, false, 0};
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
    memcpy(b->at, x, 3 * (size_t)b->surface.vertex_count * sizeof *b->at);
    evaluation e = {b, b->at, true, 0};
    spl_parallel_for(b->pool, (size_t)b->count, SPL_BARRIER_GRAIN, evaluate, &e);
    list_active(b, e.x);
    for (int32_t k = 0; k < b->active_count; k++) {
        size_t i = (size_t)b->active[k];
        for (size_t c = 0; c < 12; c++) {
            int32_t v = b->potential[i].pair.v[c / 3];
            force[3 * (size_t)v + c % 3] -= b->gradient[12 * i + c];
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
        spl_potential_blended(p, corner, e->exact, b->element_values + 90 * k);
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

static int32_t elements(void *context, double exact, const int32_t **vertex, const double **values)
{
    spl_barrier *b = context;
    evaluation e = {b, b->at, true, exact};
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

/* Gaps end well above the rounding of coordinates. What is nearer already may come nearer by little. */
double spl_barrier_bound(const spl_barrier *b, const spl_potential *p, const double x[4][3], const double d[4][3],
                         double slack, double until)
{
    spl_pair_kind kind = (spl_pair_kind)p->pair.kind;
    double least = fmin(LEAST_GAP * b->surface.diagonal, LEAST_OF_WIDTH * p->width);
    double gap = sqrt(spl_pair_nearest(kind, x).square) - p->offset;
    if (gap > 2 * least) return spl_pair_ccd(kind, x, d, p->offset + least, slack, until);
    return spl_pair_ccd(kind, x, d, p->offset, fmax(slack, 0.95), until);
}

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
        until = fmin(until, spl_barrier_bound(s->b, p, x, d, s->slack, until));
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

supple_result spl_barrier_max_step(spl_barrier *b, const double *x, const double *d, double slack, double *share,
                                   supple_error *error)
{
    memcpy(b->at, x, 3 * (size_t)b->surface.vertex_count * sizeof *b->at);
    stepping s = {.b = b, .x = b->at, .d = d, .slack = slack};
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
    size_t n = 3 * (size_t)b->surface.vertex_count;
    double most = longest_of(d, b->surface.vertex_count), cut = fmin(1, LONGEST * b->edge_mean / fmax(most, 1e-300));
    if (!isfinite(most)) return spl_fail(error, SUPPLE_ERROR_SOLVE, "contact: a step is not finite");
    for (size_t i = 0; i < n; i++) b->step[i] = cut * d[i];
    supple_result result = spl_barrier_max_step(b, x, b->step, SLACK, share, error);
    *share *= cut;
    return result;
}

static supple_result begin(void *context, const double *x, supple_error *error)
{
    spl_barrier *b = context;
    return spl_barrier_seek(b, x, NULL, error);
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

const double *spl_barrier_measure(spl_barrier *b, const double *x, double *energy)
{
    if (begin(b, x, NULL) != SUPPLE_OK) return NULL;
    memset(b->step, 0, 3 * (size_t)b->surface.vertex_count * sizeof *b->step);
    add_forces(b, x, b->step);
    *energy = sum_up(b);
    return b->step;
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

int32_t spl_barrier_vertex_count(const spl_barrier *b)
{
    return b->surface.vertex_count;
}
