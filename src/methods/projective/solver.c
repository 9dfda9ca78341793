#include "methods/projective/solver.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "methods/projective/global.h"
#include "methods/projective/local.h"
#include "sparse/assembly.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    NODES = 512,  /* a thread takes at once */
    PARTIALS = 3, /* sums a piece of nodes gives: |r|^2, magnitude^2, energy */
};

/* Of lambda, in A. The Hessian of lambda/2 tr^2(R^T F) is at most 3 lambda, along R: with half of that a plain step
 * goes less than twice as far as it should, and the energy falls. */
#define SPREAD 1.5
#define NOISE  1e-6 /* of the energy: sums of floats are not better */

struct spl_pd {
    supple_allocator allocator;
    spl_pd_input in;
    spl_pool *pool;
    int32_t count;    /* unknown vertices: nodes */
    int32_t *unknown; /* by vertex: its node, or -1 */
    int32_t *vertex;  /* by node */
    spl_local local;
    spl_assembly assembly;
    double *stiffness, *values; /* of A: without inertia; with it */
    spl_global *global;
    double dt;        /* of `values`; negative: none */
    double factor_dt; /* of the factor; the same */
    double *mass, *spring;
    double *memory, *x; /* 4 a vertex, aligned in memory */
    double *before;     /* 3 a node: x before the last step */
    double *anchor;     /* 3 a node: where inertia and springs pull it */
    double *pull;       /* by node: with this stiffness */
    double *force;      /* 3 a node: external */
    float *r, *r_before, *dx;
    spl_pd_engine *engine; /* or NULL */
    double *partial;
    double energy, residual; /* at x */
    double left, noise;      /* |r| at x, and what rounding makes of it in equilibrium */
    spl_pace pace;
    const spl_tie *tie;
    int32_t tie_count;
    double *record;
};

/* ---- set-up ---- */

static supple_result number_nodes(spl_pd *p, supple_error *error)
{
    size_t n = (size_t)p->in.elements->vertex_count;
    p->unknown = spl_new(&p->allocator, n, sizeof *p->unknown);
    p->vertex = spl_new(&p->allocator, n, sizeof *p->vertex);
    if (!p->unknown || !p->vertex) return spl_fail_memory(error, "the global system");
    for (size_t v = 0; v < n; v++) {
        bool held = p->in.held && p->in.held[v] >= 0;
        p->unknown[v] = held ? -1 : p->count;
        if (!held) p->vertex[p->count++] = (int32_t)v;
    }
    return SUPPLE_OK;
}

static bool take_memory(spl_pd *p)
{
    const supple_allocator *a = &p->allocator;
    size_t n = (size_t)p->count, vertices = (size_t)p->in.elements->vertex_count, N3 = 3 * n;
    size_t values = spl_pattern_values(&p->assembly.pattern);
    p->stiffness = spl_new(a, values, sizeof(double));
    p->values = spl_new(a, values, sizeof(double));
    p->mass = spl_new(a, n, sizeof(double));
    p->spring = spl_new(a, n, sizeof(double));
    p->memory = spl_new(a, 4 * vertices + 8, sizeof(double));
    p->before = spl_new(a, N3, sizeof(double));
    p->anchor = spl_new(a, N3, sizeof(double));
    p->pull = spl_new(a, n, sizeof(double));
    p->force = spl_new(a, N3, sizeof(double));
    p->r = spl_new(a, N3, sizeof(float));
    p->r_before = spl_new(a, N3, sizeof(float));
    p->dx = spl_new(a, N3, sizeof(float));
    p->partial = spl_new(a, n / NODES + 1, PARTIALS * sizeof(double));
    p->x = (double *)(((uintptr_t)p->memory + 63) & ~(uintptr_t)63);
    return p->stiffness && p->values && p->mass && p->spring && p->memory && p->before && p->anchor && p->pull &&
           p->force && p->r && p->r_before && p->dx && p->partial;
}

/* (2 mu + 2 w + 1.5 lambda) W g_i . g_j of all tets, and the springs. */
static supple_result assemble(spl_pd *p, supple_error *error)
{
    const spl_elements *e = p->in.elements;
    double *element = spl_new(&p->allocator, (size_t)e->count, 10 * sizeof *element), *at = element;
    if (!element) return spl_fail_memory(error, "the global system");
    for (size_t k = 0; k < (size_t)e->count; k++) {
        const double *g = e->gradient + 12 * k;
        double weight = 2 * (p->in.mu[k] + (p->in.bulk ? p->in.bulk[k] : 0)) * e->volume[k];
        if (p->in.lambda) weight += SPREAD * p->in.lambda[k] * e->volume[k];
        for (int i = 0; i < 4; i++)
            for (int j = 0; j <= i; j++)
                *at++ = weight * (g[3 * i] * g[3 * j] + g[3 * i + 1] * g[3 * j + 1] + g[3 * i + 2] * g[3 * j + 2]);
    }
    spl_assembly_gather(&p->assembly, element, p->stiffness, p->pool);
    spl_free(&p->allocator, element);
    for (int32_t i = 0; i < p->count; i++) {
        p->mass[i] = p->in.mass ? p->in.mass[p->vertex[i]] : 0;
        p->spring[i] = p->in.spring ? p->in.spring[p->vertex[i]] : 0;
        p->stiffness[p->assembly.pattern.start[i]] += p->spring[i];
    }
    return SUPPLE_OK;
}

/* What rounding of F in float leaves of forces that balance, in the norm of r: F = sum_k e_k g_k^T is off by
 * eps sum_k |e_k| |g_k|, which is large in flat tets, and a corner's force by 2 mu W |g_i| times that. Flesh at rest
 * has no other forces. */
static double rounding(const spl_pd *p)
{
    const spl_elements *e = p->in.elements;
    double sum = 0;
    for (size_t k = 0; k < (size_t)e->count; k++) {
        spl_vec3 g[4];
        double off = 0;
        for (size_t i = 0; i < 4; i++) {
            const double *at = e->gradient + 12 * k + 3 * i;
            g[i] = spl_v3(at[0], at[1], at[2]);
        }
        for (int i = 1; i < 4; i++) /* |e_1| = 6 W |g_2 x g_3|, and so on */
            off += 6 * e->volume[k] * spl_norm(spl_cross(g[i % 3 + 1], g[(i + 1) % 3 + 1])) * spl_norm(g[i]);
        for (size_t i = 0; i < 4; i++) {
            double f = 2 * p->in.mu[k] * e->volume[k] * spl_norm(g[i]) * off;
            if (p->unknown[e->tet[4 * k + i]] >= 0) sum += f * f;
        }
    }
    return (double)FLT_EPSILON * sqrt(sum);
}

static supple_result build(spl_pd *p, supple_error *error)
{
    const spl_elements *e = p->in.elements;
    const supple_allocator *a = &p->allocator;
    supple_result result = number_nodes(p, error);
    if (result != SUPPLE_OK) return result;
    result = spl_assembly_create(e->tet, (size_t)e->count, 4, e->vertex_count, p->unknown, p->count, 1, a, &p->assembly,
                                 error);
    if (result == SUPPLE_OK && !take_memory(p)) result = spl_fail_memory(error, "the global system");
    if (result == SUPPLE_OK) result = assemble(p, error);
    p->noise = result == SUPPLE_OK ? rounding(p) : 0;
    spl_local_input local = {.elements = e,
                             .mu = p->in.mu,
                             .lambda = p->in.lambda,
                             .bulk = p->in.bulk,
                             .unknown = p->unknown,
                             .node_count = p->count,
                             .plain = p->in.plain};
    if (result == SUPPLE_OK) result = spl_local_create(&local, a, &p->local, error);
    spl_global_input global = {.pattern = &p->assembly.pattern,
                               .vertex_count = e->vertex_count,
                               .unknown = p->unknown,
                               .tie_capacity = p->in.tie_capacity,
                               .direct_ties = p->in.direct_ties,
                               .may_touch = p->in.may_touch,
                               .inner = p->in.inner,
                               .plain = p->in.plain};
    if (result == SUPPLE_OK) result = spl_global_create(&global, a, p->pool, &p->global, error);
    if (result == SUPPLE_OK)
        result = spl_pace_create(p->in.pace, 3 * (size_t)p->count, p->in.plain, a, p->pool, &p->pace, error);
    return result;
}

supple_result spl_pd_create(const spl_pd_input *in, const supple_allocator *a, spl_pool *pool, spl_pd **out,
                            supple_error *error)
{
    *out = NULL;
    spl_pd *p = spl_new(a, 1, sizeof *p);
    if (!p) return spl_fail_memory(error, "the global system");
    *p = (spl_pd){.allocator = *a, .in = *in, .pool = pool, .dt = -1, .factor_dt = -1};
    supple_result result = build(p, error);
    if (result == SUPPLE_OK)
        *out = p;
    else
        spl_pd_destroy(p);
    return result;
}

void spl_pd_destroy(spl_pd *p)
{
    if (!p) return;
    supple_allocator a = p->allocator;
    spl_local_release(&p->local);
    spl_assembly_release(&p->assembly, &a);
    spl_global_destroy(p->global);
    spl_pace_release(&p->pace);
    void *blocks[] = {p->unknown, p->vertex, p->stiffness, p->values, p->mass,     p->spring, p->memory,  p->before,
                      p->anchor,  p->pull,   p->force,     p->r,      p->r_before, p->dx,     p->partial, p};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
}

void spl_pd_forget(spl_pd *p)
{
    spl_local_forget(&p->local);
    if (p->engine) p->engine->forget(p->engine);
}

void spl_pd_use(spl_pd *p, spl_pd_engine *engine)
{
    p->engine = engine;
}

spl_pd_view spl_pd_look(const spl_pd *p)
{
    return (spl_pd_view){.in = &p->in,
                         .node_count = p->count,
                         .unknown = p->unknown,
                         .vertex = p->vertex,
                         .pattern = &p->assembly.pattern,
                         .dt = p->dt,
                         .values = p->values,
                         .x = p->x,
                         .anchor = p->anchor,
                         .pull = p->pull,
                         .force = p->force,
                         .tie = p->tie,
                         .tie_count = p->tie_count};
}

double spl_pd_diagonal(const spl_pd *p, int32_t vertex)
{
    int32_t node = p->unknown[vertex];
    return node < 0 ? 0 : p->stiffness[p->assembly.pattern.start[node]];
}

double spl_pd_factor_bytes(const spl_pd *p)
{
    return spl_global_bytes(p->global);
}

void spl_pd_record(spl_pd *p, double *energy)
{
    p->record = energy;
}

/* ---- a problem ---- */

/* A for this time step. */
static void set_step(spl_pd *p, double dt)
{
    if (dt == p->dt) return;
    p->dt = dt;
    p->factor_dt = -1;
    memcpy(p->values, p->stiffness, spl_pattern_values(&p->assembly.pattern) * sizeof *p->values);
    for (int32_t i = 0; dt > 0 && i < p->count; i++) p->values[p->assembly.pattern.start[i]] += p->mass[i] / (dt * dt);
}

/* Its factor, and the contacts. */
static supple_result prepare(spl_pd *p, spl_pd_stats *stats, supple_error *error)
{
    double start = spl_now_ms();
    if (p->factor_dt != p->dt) {
        p->factor_dt = -1;
        supple_result result = spl_global_set(p->global, p->values, error);
        if (result != SUPPLE_OK) return result;
        p->factor_dt = p->dt;
    }
    double factorised = spl_now_ms();
    supple_result result = spl_global_tie(p->global, p->tie, p->tie_count, error);
    stats->ms_factor = factorised - start;
    stats->ms_ties = spl_now_ms() - factorised;
    stats->columns = p->tie_count > 0 ? spl_global_columns(p->global) : 0;
    return result;
}

/* Inertia and springs as one pull towards one point a node, and external forces. */
static void set_pulls(spl_pd *p, const spl_pd_problem *q)
{
    for (size_t i = 0; i < (size_t)p->count; i++) {
        size_t v = (size_t)p->vertex[i];
        double heavy = q->dt > 0 ? p->mass[i] / (q->dt * q->dt) : 0;
        p->pull[i] = heavy + p->spring[i];
        for (size_t c = 0; c < 3; c++) {
            p->anchor[3 * i + c] = heavy > 0 ? heavy * q->inertia[3 * v + c] : 0;
            p->force[3 * i + c] = q->force ? q->force[3 * v + c] : 0;
        }
    }
    for (int32_t k = 0; k < q->pin_count; k++) {
        int32_t node = p->unknown[q->pin[k].vertex];
        for (size_t c = 0; node >= 0 && c < 3; c++)
            p->anchor[3 * (size_t)node + c] += q->pin[k].stiffness * q->pin[k].target[c];
    }
    for (size_t i = 0; i < (size_t)p->count; i++)
        for (size_t c = 0; c < 3; c++)
            if (p->pull[i] > 0) p->anchor[3 * i + c] /= p->pull[i];
}

static void take_in(spl_pd *p, const double *x)
{
    for (size_t v = 0; v < (size_t)p->in.elements->vertex_count; v++) {
        for (size_t c = 0; c < 3; c++) p->x[4 * v + c] = x[3 * v + c];
        p->x[4 * v + 3] = 0;
    }
}

/* ---- an iteration ---- */

/* r of the nodes: corners' forces summed in the order of the tets, pulls and external forces. */
static void gather(void *context, size_t begin, size_t end)
{
    spl_pd *p = context;
    const spl_local *l = &p->local;
    double *out = p->partial + PARTIALS * (begin / NODES), squares = 0, magnitude = 0, energy = 0;
    for (size_t i = begin; i < end; i++) {
        float f[4] = {0};
        for (const float *at = l->force + 4 * l->start[i]; at < l->force + 4 * l->start[i + 1]; at += 4)
            for (int c = 0; c < 4; c++) f[c] += at[c];
        const double *x = p->x + 4 * (size_t)p->vertex[i];
        for (size_t c = 0; c < 3; c++) {
            double off = p->anchor[3 * i + c] - x[c], r = (double)f[c] + p->pull[i] * off + p->force[3 * i + c];
            energy += 0.5 * p->pull[i] * off * off - p->force[3 * i + c] * x[c];
            squares += r * r;
            p->r[3 * i + c] = (float)r;
        }
        magnitude += (double)f[3] * (double)f[3];
    }
    out[0] = squares;
    out[1] = magnitude;
    out[2] = energy;
}

/* The contacts' forces and energy; returns |r|^2 with them. */
static double add_ties(spl_pd *p)
{
    double squares = 0;
    for (int32_t j = 0; j < p->tie_count; j++) {
        const spl_tie *t = &p->tie[j];
        spl_vec3 d = spl_tie_gap(t, p->x, 4);
        const double gap[3] = {d.x, d.y, d.z};
        p->energy += 0.5 * t->stiffness * spl_dot(d, d);
        for (int i = 0; i < 4; i++) {
            int32_t node = t->vertex[i] < 0 ? -1 : p->unknown[t->vertex[i]];
            for (size_t c = 0; node >= 0 && c < 3; c++)
                p->r[3 * (size_t)node + c] -= (float)(t->stiffness * t->coefficient[i] * gap[c]);
        }
    }
    for (size_t i = 0; i < 3 * (size_t)p->count; i++) squares += (double)p->r[i] * (double)p->r[i];
    return squares;
}

/* The same on the engine; sums that nobody wants are not fetched. */
static void evaluate_there(spl_pd *p, int newton, bool wanted, spl_pd_stats *stats)
{
    spl_pd_engine *e = p->engine;
    spl_pd_sums sums = {0};
    double start = spl_now_ms();
    e->evaluate(e, e->r, newton, wanted ? &sums : NULL);
    p->energy = sums.energy;
    p->left = sqrt(sums.squares);
    p->residual = wanted ? p->left / (sqrt(sums.magnitude) + p->in.floor) : INFINITY;
    stats->ms_local += spl_now_ms() - start;
}

/* r, energy and residual at x. */
static void evaluate(spl_pd *p, int newton, bool wanted, spl_pd_stats *stats)
{
    if (p->engine) {
        evaluate_there(p, newton, wanted, stats);
        return;
    }
    double start = spl_now_ms(), sum[PARTIALS] = {0};
    p->energy = spl_local_step(&p->local, p->x, newton, p->pool);
    double middle = spl_now_ms();
    spl_parallel_for(p->pool, (size_t)p->count, NODES, gather, p);
    for (size_t k = 0; k * NODES < (size_t)p->count; k++)
        for (int i = 0; i < PARTIALS; i++) sum[i] += p->partial[PARTIALS * k + (size_t)i];
    p->energy += sum[2];
    if (p->tie_count > 0) sum[0] = add_ties(p);
    p->left = sqrt(sum[0]);
    p->residual = p->left / (sqrt(sum[1]) + p->in.floor);
    stats->ms_local += middle - start;
    stats->ms_gather += spl_now_ms() - middle;
}

static void advance(void *context, size_t begin, size_t end)
{
    spl_pd *p = context;
    for (size_t i = begin; i < end; i++) {
        double *x = p->x + 4 * (size_t)p->vertex[i];
        for (size_t c = 0; c < 3; c++) {
            p->before[3 * i + c] = x[c];
            x[c] += (double)p->dx[3 * i + c];
        }
    }
}

/* r becomes what it was before, and the other way round: nobody needs it between a step and its evaluation. */
static void swap_forces(spl_pd *p)
{
    float **now = p->engine ? &p->engine->r : &p->r, **before = p->engine ? &p->engine->r_before : &p->r_before;
    float *r = *now;
    *now = *before;
    *before = r;
}

static void go_back(spl_pd *p)
{
    if (p->engine) {
        p->engine->go_back(p->engine);
        return;
    }
    for (size_t i = 0; i < (size_t)p->count; i++)
        for (size_t c = 0; c < 3; c++) p->x[4 * (size_t)p->vertex[i] + c] = p->before[3 * i + c];
}

static spl_pace *pace_of(spl_pd *p)
{
    return p->engine ? &p->engine->pace : &p->pace;
}

/* One global step on the engine. */
static bool step_there(spl_pd *p, bool plain, spl_pd_stats *stats)
{
    spl_pd_engine *e = p->engine;
    double start = spl_now_ms();
    spl_pace_side(&e->pace, e->r, plain, e->dx);
    stats->inner += e->solve(e, e->dx);
    bool faster = spl_pace_step(&e->pace, plain, e->dx);
    swap_forces(p);
    e->advance(e, e->dx);
    stats->ms_global += spl_now_ms() - start;
    stats->iterations++;
    return faster;
}

/* One global step from r, plain or accelerated; says which. */
static supple_result step(spl_pd *p, bool plain, bool *faster, spl_pd_stats *stats, supple_error *error)
{
    if (p->engine) {
        *faster = step_there(p, plain, stats);
        return SUPPLE_OK;
    }
    double start = spl_now_ms();
    spl_pace_side(&p->pace, p->r, plain, p->dx);
    double middle = spl_now_ms();
    supple_result result = spl_global_solve(p->global, p->dx, error);
    double solved = spl_now_ms();
    *faster = spl_pace_step(&p->pace, plain, p->dx);
    swap_forces(p);
    spl_parallel_for(p->pool, (size_t)p->count, NODES, advance, p);
    stats->ms_global += solved - middle;
    stats->ms_pace += middle - start + (spl_now_ms() - solved);
    stats->iterations++;
    stats->inner += spl_global_inner(p->global);
    return result;
}

/* Takes an accelerated step back whose energy has not fallen. */
static bool reject(spl_pd *p, double energy, double residual, spl_pd_stats *stats)
{
    go_back(p);
    swap_forces(p);
    spl_pace_begin(pace_of(p));
    p->energy = energy;
    p->residual = residual;
    stats->rejected++;
    return true;
}

static supple_result iterate(spl_pd *p, const spl_pd_problem *q, spl_pd_stats *stats, supple_error *error)
{
    bool faster = false;
    double energy = INFINITY, residual = INFINITY;
    spl_pace *pace = pace_of(p);
    bool judged = !p->engine || pace->kind != SPL_PACE_NONE || q->tolerance > 0 || p->record;
    spl_pace_begin(pace);
    for (int32_t i = 0; i < q->iterations; i++) {
        bool plain = i + 1 == q->iterations; /* nobody looks at the last one: it must be safe */
        evaluate(p, i == 0 ? SPL_PD_FIRST : SPL_PD_LATER, judged || plain, stats);
        if (!isfinite(p->energy))
            return spl_fail(error, SUPPLE_ERROR_SOLVE, "projective: positions are not finite any more");
        if (faster && !(p->energy <= energy + NOISE * fabs(energy)))
            plain = reject(p, energy, residual, stats);
        else if (i > 0)
            spl_pace_learn(pace, p->engine ? p->engine->r_before : p->r_before, p->engine ? p->engine->r : p->r);
        energy = p->energy;
        residual = p->residual;
        if (p->record) *p->record++ = energy;
        stats->converged = p->residual <= q->tolerance || (q->tolerance > 0 && p->left <= p->noise);
        if (stats->converged) break;
        supple_result result = step(p, plain, &faster, stats, error);
        if (result != SUPPLE_OK) return result;
    }
    stats->energy = energy;
    stats->residual = residual;
    return SUPPLE_OK;
}

static bool give_back(const spl_pd *p, double *x)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)p->count; i++)
        for (size_t c = 0; c < 3; c++) sum += p->x[4 * (size_t)p->vertex[i] + c];
    if (!isfinite(sum)) return false;
    for (size_t i = 0; i < (size_t)p->count; i++)
        for (size_t c = 0; c < 3; c++) x[3 * (size_t)p->vertex[i] + c] = p->x[4 * (size_t)p->vertex[i] + c];
    return true;
}

spl_pd_view spl_pd_stage(spl_pd *p, const spl_pd_problem *q, const double *x)
{
    set_step(p, q->dt);
    p->tie = q->tie;
    p->tie_count = q->tie_count;
    set_pulls(p, q);
    take_in(p, x);
    return spl_pd_look(p);
}

bool spl_pd_unstage(spl_pd *p, const double *x4, double *x)
{
    memcpy(p->x, x4, 4 * (size_t)p->in.elements->vertex_count * sizeof *x4);
    return give_back(p, x);
}

supple_result spl_pd_solve(spl_pd *p, const spl_pd_problem *q, double *x, spl_pd_stats *stats, supple_error *error)
{
    *stats = (spl_pd_stats){0};
    set_step(p, q->dt);
    p->tie = q->tie;
    p->tie_count = q->tie_count;
    supple_result result = p->engine ? SUPPLE_OK : prepare(p, stats, error);
    if (result != SUPPLE_OK) return result;
    if (p->in.pace == SPL_PACE_AUTO) spl_pace_choose(pace_of(p), q->dt > 0 ? SPL_PACE_LBFGS : SPL_PACE_ANDERSON);
    set_pulls(p, q);
    take_in(p, x);
    if (p->engine) {
        spl_pd_view view = spl_pd_look(p);
        p->engine->begin(p->engine, &view);
    }
    result = iterate(p, q, stats, error);
    if (p->engine) {
        p->engine->end(p->engine, p->x);
        if (p->engine->outcome(p->engine, error) != SUPPLE_OK) return SUPPLE_ERROR_SOLVE;
    }
    if (result == SUPPLE_OK && !give_back(p, x))
        result = spl_fail(error, SUPPLE_ERROR_SOLVE, "projective: positions are not finite any more");
    return result;
}
