#include "methods/mixed/warp_private.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"

#include <string.h>

/* ---- creation ---- */

static supple_result number_unknowns(spl_warp *w, supple_error *error)
{
    supple_result result =
        spl_node_order_create(w->in.elements, w->in.held, NULL, w->in.rest, &w->allocator, &w->order, error);
    if (result != SUPPLE_OK) return result;
    w->unknown = w->order.node;
    w->vertex = w->order.vertex;
    w->count = w->order.count;
    w->spring = spl_new(&w->allocator, (size_t)w->count, sizeof *w->spring);
    if (!w->spring) return spl_fail_memory(error, "the elastic system");
    for (int32_t i = 0; i < w->count; i++) w->spring[i] = w->in.spring ? w->in.spring[w->vertex[i]] : 0;
    return SUPPLE_OK;
}

static supple_result make_buffers(spl_warp *w, supple_error *error)
{
    const supple_allocator *a = &w->allocator;
    const spl_elements *e = w->in.elements;
    size_t n = 3 * (size_t)w->count, tets = (size_t)e->count, vertices = (size_t)e->vertex_count;
    w->value = spl_new(a, spl_pattern_values(&w->assembly.pattern), sizeof *w->value);
    w->memory = spl_new(a, 2 * SPL_PAD * tets + 8, sizeof *w->memory);
    w->slot = spl_new(a, 16 * tets, sizeof *w->slot);
    w->turn = spl_new(a, n, 3 * sizeof *w->turn);
    w->side = spl_new(a, n, sizeof *w->side);
    w->dx = spl_new(a, n, sizeof *w->dx);
    w->start = spl_new(a, n, sizeof *w->start);
    w->turned = spl_new(a, n, sizeof *w->turned);
    w->single = spl_new(a, n, sizeof *w->single);
    w->force = spl_new(a, vertices, 3 * sizeof *w->force);
    w->magnitude = spl_new(a, vertices, sizeof *w->magnitude);
    w->elastic = spl_new(a, vertices, 3 * sizeof *w->elastic);
    w->seen = spl_new(a, vertices, 3 * sizeof *w->seen);
    bool ok = w->value && w->memory && w->slot && w->turn && w->side && w->dx && w->start && w->turned && w->single &&
              w->force && w->magnitude && w->elastic && w->seen;
    if (!ok) return spl_fail_memory(error, "the elastic system");
    w->h = (double *)(((uintptr_t)w->memory + 63) & ~(uintptr_t)63);
    w->corner = w->h + SPL_PAD * tets;
    return SUPPLE_OK;
}

/* Where in its row each block of a tet goes. */
static void find_slots(spl_warp *w)
{
    const int32_t *tet = w->in.elements->tet;
    const spl_rows *r = &w->matrix.rows;
    for (size_t node = 0; node < (size_t)w->count; node++) {
        size_t vertex = (size_t)w->vertex[node], first = r->start[node], length = r->start[node + 1] - first;
        for (size_t q = w->stars.start[vertex]; q < w->stars.start[vertex + 1]; q++)
            for (size_t j = 0; j < 4; j++) {
                int32_t other = w->unknown[tet[w->stars.corner[q] / 4 * 4 + j]];
                size_t at = other < 0 ? length : 0;
                while (at < length && r->column[first + at] != other) at++;
                w->slot[4 * q + j] = (uint32_t)at;
            }
    }
}

static supple_result analyse(spl_warp *w, supple_error *error)
{
    const spl_elements *e = w->in.elements;
    supple_result result = number_unknowns(w, error);
    if (result == SUPPLE_OK)
        result = spl_assembly_create(e->tet, (size_t)e->count, 4, e->vertex_count, w->unknown, w->count, 3,
                                     &w->allocator, &w->assembly, error);
    if (result == SUPPLE_OK) result = spl_matrix3_create(&w->assembly.pattern, &w->allocator, &w->matrix, error);
    if (result == SUPPLE_OK) result = make_buffers(w, error);
    if (result == SUPPLE_OK) result = spl_stars_create(e, &w->allocator, &w->stars, error);
    if (result == SUPPLE_OK) find_slots(w);
    if (result == SUPPLE_OK) result = spl_past_create(3 * (size_t)w->count, &w->allocator, w->pool, &w->past, error);
    w->kernels = spl_mixed_kernels_of(w->in.plain);
    w->matrix.plain = w->in.plain;
    if (result == SUPPLE_OK) result = spl_pcg_create(3 * (size_t)w->count, 1, &w->allocator, w->pool, &w->pcg, error);
    return result;
}

supple_result spl_warp_create(const spl_warp_input *in, const supple_allocator *a, spl_pool *pool, spl_warp **out,
                              supple_error *error)
{
    *out = NULL;
    double start = spl_now_ms();
    spl_warp *w = spl_new(a, 1, sizeof *w);
    if (!w) return spl_fail_memory(error, "the elastic system");
    w->allocator = *a;
    w->in = *in;
    w->pool = pool;
    supple_result result = analyse(w, error);
    if (result == SUPPLE_OK && w->count > 0) result = spl_warp_make_preconditioner(w, error);
    if (result != SUPPLE_OK) {
        spl_warp_destroy(w);
        return result;
    }
    w->ms_setup = spl_now_ms() - start;
    *out = w;
    return SUPPLE_OK;
}

void spl_warp_destroy(spl_warp *w)
{
    if (!w) return;
    supple_allocator a = w->allocator;
    spl_factor_destroy(w->factor);
    spl_ic3_destroy(w->fine);
    spl_coarse_destroy(w->coarse);
    spl_pcg_destroy(w->pcg);
    spl_past_release(&w->past);
    spl_stars_release(&w->stars);
    spl_assembly_release(&w->assembly, &a);
    spl_matrix3_release(&w->matrix, &a);
    spl_node_order_release(&w->order);
    spl_free(&a, w->spring);
    spl_free(&a, w->value);
    spl_free(&a, w->memory);
    spl_free(&a, w->slot);
    spl_free(&a, w->turn);
    spl_free(&a, w->side);
    spl_free(&a, w->dx);
    spl_free(&a, w->start);
    spl_free(&a, w->turned);
    spl_free(&a, w->single);
    spl_free(&a, w->force);
    spl_free(&a, w->magnitude);
    spl_free(&a, w->elastic);
    spl_free(&a, w->seen);
    spl_free(&a, w);
}

/* ---- the matrix ---- */

static void assemble_range(void *context, size_t begin, size_t end)
{
    const spl_warp *w = context;
    spl_stiffness s = {.elements = w->in.elements,
                       .mu = w->in.mu,
                       .lambda = w->in.lambda,
                       .spin = w->spin,
                       .h = w->h,
                       .stars = &w->stars,
                       .vertex = w->vertex,
                       .spring = w->spring,
                       .start = w->matrix.rows.start,
                       .column = w->matrix.rows.column,
                       .slot = w->slot,
                       .value = w->matrix.value};
    w->kernels->rows(&s, begin, end);
}

void spl_warp_assemble(spl_warp *w)
{
    spl_parallel_for(w->pool, (size_t)w->count, 256, assemble_range, w);
}

void spl_warp_lower(spl_warp *w)
{
    spl_matrix3_lower(&w->matrix, w->value, w->pool);
}

/* ---- a solve ---- */

typedef struct force_loop {
    spl_warp *w;
    const double *rotation, *x;
} force_loop;

static void pull_range(void *context, size_t begin, size_t end)
{
    const force_loop *f = context;
    const spl_warp *w = f->w;
    spl_pull p = {w->in.elements, w->in.mu, w->in.lambda, w->spin, f->rotation, f->x, w->h, w->corner};
    w->kernels->pull(&p, begin, end);
}

static void sum_range(void *context, size_t begin, size_t end)
{
    const force_loop *f = context;
    spl_sum s = {&f->w->stars, f->w->corner, f->w->force, f->w->magnitude};
    f->w->kernels->sum(&s, begin, end);
}

static void push(double *force, int32_t v, spl_vec3 n, double f)
{
    force[3 * (size_t)v] += f * n.x;
    force[3 * (size_t)v + 1] += f * n.y;
    force[3 * (size_t)v + 2] += f * n.z;
}

/* The forces of a contact's spring: on the vertex, and the opposite on what it touches. */
static void push_apart(const spl_contact_spring *s, const double *x, double *force)
{
    double f = -s->stiffness * spl_mixed_touch_gap(s, x);
    push(force, s->vertex, s->normal, f);
    for (int i = 0; i < 3 && s->corner[0] >= 0; i++) push(force, s->corner[i], s->normal, -f * s->bary[i]);
}

/* The elastic forces at x into w->force, the h on the way. Solves that differ in their springs alone ask twice. */
static void add_elastic(spl_warp *w, const spl_warp_problem *p, const double *x)
{
    const spl_elements *e = w->in.elements;
    force_loop f = {w, p->rotation, x};
    size_t bytes = 3 * (size_t)e->vertex_count * sizeof *x;
    if (w->pulled && memcmp(w->seen, x, bytes) == 0) {
        memcpy(w->force, w->elastic, bytes);
        return;
    }
    spl_parallel_for(w->pool, (size_t)e->count, 2048, pull_range, &f);
    spl_parallel_for(w->pool, (size_t)e->vertex_count, 1024, sum_range, &f);
    memcpy(w->elastic, w->force, bytes);
    memcpy(w->seen, x, bytes);
    w->pulled = true;
}

/* All forces at x into w->force; the residual's scale. */
static double add_forces(spl_warp *w, const spl_warp_problem *p, const double *x)
{
    const spl_elements *e = w->in.elements;
    add_elastic(w, p, x);
    for (int32_t i = 0; i < p->pin_count; i++)
        for (size_t c = 0; c < 3; c++) {
            size_t at = 3 * (size_t)p->pin[i].vertex + c;
            w->force[at] -= p->pin[i].stiffness * (x[at] - p->pin[i].target[c]);
        }
    for (int32_t i = 0; i < p->touch_count; i++) push_apart(&p->touch[i], x, w->force);
    for (size_t i = 0; p->force && i < 3 * (size_t)e->vertex_count; i++) w->force[i] += p->force[i];
    double sum = 0;
    for (int32_t v = 0; v < e->vertex_count; v++) sum += w->magnitude[v] * w->magnitude[v];
    return sqrt(sum) + w->in.floor;
}

/* |force| over the unknowns, which it also puts into the right-hand side. */
static double set_side(spl_warp *w)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)w->count; i++)
        for (size_t c = 0; c < 3; c++) {
            double f = w->force[3 * (size_t)w->vertex[i] + c];
            w->side[3 * i + c] = f;
            sum += f * f;
        }
    return sqrt(sum);
}

static void move(spl_warp *w, double *x)
{
    for (size_t i = 0; i < (size_t)w->count; i++)
        for (size_t c = 0; c < 3; c++) x[3 * (size_t)w->vertex[i] + c] += w->dx[3 * i + c];
}

/* The nodes of a spring's vertex and corners, -1 where there is none; and the shares c of n . sum_i c_i x_i. */
static void nodes_of(const spl_warp *w, const spl_contact_spring *s, int32_t node[4], double share[4])
{
    node[0] = w->unknown[s->vertex];
    share[0] = 1;
    for (int i = 0; i < 3; i++) {
        node[i + 1] = s->corner[0] < 0 ? -1 : w->unknown[s->corner[i]];
        share[i + 1] = -s->bary[i];
    }
}

static void multiply(void *context, const double *x, double *y, int32_t k)
{
    (void)k;
    spl_warp *w = context;
    spl_matrix3_multiply(&w->matrix, x, y, w->pool);
    for (int32_t q = 0; q < w->touch_count; q++) { /* y += k C^T C x, C = n^T (.) */
        const spl_contact_spring *s = &w->touch[q];
        int32_t node[4];
        double share[4], gap = 0;
        nodes_of(w, s, node, share);
        for (int i = 0; i < 4; i++)
            if (node[i] >= 0) {
                const double *p = x + 3 * (size_t)node[i];
                gap += share[i] * spl_dot(s->normal, spl_v3(p[0], p[1], p[2]));
            }
        for (int i = 0; i < 4; i++)
            if (node[i] >= 0) push(y, node[i], s->normal, s->stiffness * share[i] * gap);
    }
}

/* Solves A dx = f to |f - A dx| <= aim, from where the past says if `first`. */
static supple_result correct(spl_warp *w, const spl_warp_problem *p, double aim, bool first, spl_warp_stats *stats,
                             supple_error *error)
{
    size_t n = 3 * (size_t)w->count;
    memset(w->dx, 0, n * sizeof *w->dx);
    memset(w->start, 0, n * sizeof *w->start);
    if (first) spl_past_guess(&w->past, &w->matrix, w->start, w->side);
    spl_pcg_problem problem = {.multiply = multiply,
                               .multiply_context = w,
                               .precondition = spl_warp_precondition,
                               .precondition_context = w,
                               .tolerance = aim,
                               .absolute = true,
                               .from_zero = true,
                               .recurrence = true, /* the forces will tell */
                               .max_iterations = p->max_iterations - stats->iterations};
    spl_pcg_result solved = spl_pcg_solve(w->pcg, &problem, w->side, w->dx, 1);
    stats->iterations += solved.iterations;
    if (solved.status == SPL_PCG_NOT_FINITE || !isfinite(solved.residual))
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "the elastic system has no finite solution in this pose");
    for (size_t i = 0; i < n; i++) w->dx[i] += w->start[i];
    if (first) spl_past_keep(&w->past, w->dx);
    return SUPPLE_OK;
}

/* Forces and right-hand side at x; the residual goes into the stats. */
static supple_result look(spl_warp *w, const spl_warp_problem *p, const double *x, double *scale, spl_warp_stats *stats,
                          supple_error *error)
{
    double start = spl_now_ms(), norm;
    *scale = add_forces(w, p, x);
    norm = set_side(w);
    stats->ms_force += spl_now_ms() - start;
    stats->residual = norm / *scale;
    stats->converged = stats->residual <= p->tolerance || norm <= w->in.floor;
    if (isfinite(norm) && isfinite(*scale)) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "the elastic forces are not finite in this pose");
}

static supple_result prepare(spl_warp *w, const spl_warp_problem *p, spl_warp_stats *stats, supple_error *error)
{
    double start = spl_now_ms();
    if (w->assembled) return SUPPLE_OK;
    spl_warp_assemble(w);
    stats->ms_assembly = spl_now_ms() - start;
    supple_result result = spl_warp_factorise(w, p, error);
    stats->ms_factor = spl_now_ms() - start - stats->ms_assembly;
    w->assembled = result == SUPPLE_OK;
    return result;
}

/* What |f - A dx| may be. The residual is a share of the forces at the solution before they cancel, which only the
 * solution tells; at the start they may be several times larger, in the last solution they were much the same. */
static double aim(const spl_warp *w, const spl_warp_problem *p, double scale)
{
    double expected = w->last_scale > 0 ? fmin(fmax(w->last_scale, 0.1 * scale), scale) : scale;
    return 0.9 * p->tolerance * expected;
}

/* It is the forces, not the recurrence, that have to be small: they are computed again after a correction, and now and
 * then it takes another. */
static supple_result solve(spl_warp *w, const spl_warp_problem *p, double *x, spl_warp_stats *stats,
                           supple_error *error)
{
    enum { CORRECTIONS = 5 };
    double scale;
    supple_result result = look(w, p, x, &scale, stats, error);
    for (int i = 0; i < CORRECTIONS && result == SUPPLE_OK && w->count > 0; i++) {
        if (stats->residual <= p->tolerance || stats->iterations >= p->max_iterations) break;
        if (i == 0) result = prepare(w, p, stats, error);
        double start = spl_now_ms(), goal = i == 0 ? aim(w, p, scale) : 0.5 * p->tolerance * scale;
        if (result == SUPPLE_OK)
            result = correct(w, p, goal, i == 0 && !p->follow_up && p->touch_count == 0, stats, error);
        if (result == SUPPLE_OK) move(w, x);
        stats->ms_solve += spl_now_ms() - start;
        if (result == SUPPLE_OK) result = look(w, p, x, &scale, stats, error);
    }
    w->last_scale = scale;
    return result;
}

supple_result spl_warp_solve(spl_warp *w, const spl_warp_problem *p, double *x, spl_warp_stats *stats,
                             supple_error *error)
{
    *stats = (spl_warp_stats){.solver = w->in.solver, .ms_setup = w->ms_setup, .bytes = spl_warp_bytes(w)};
    w->touch = p->touch;
    w->touch_count = p->touch_count;
    w->spin = p->spin;
    w->assembled = w->assembled && p->same;
    w->pulled = w->pulled && p->same;
    supple_result result = solve(w, p, x, stats, error);
    if (result != SUPPLE_OK) spl_warp_forget(w);
    return result;
}

void spl_warp_forget(spl_warp *w)
{
    w->past.count = 0;
    w->last_scale = 0;
}

const double *spl_warp_forces(const spl_warp *w)
{
    return w->force;
}
