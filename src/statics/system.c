/* The linear system of one Newton step: element Hessians, their sum, the factor, the solve. */
#include "core/error.h"
#include "core/timer.h"
#include "fem/corot4.h"
#include "statics/newton.h"

#include <math.h>
#include <string.h>

/* A piece that nothing holds keeps its rigid motions by this much of the mean diagonal. It slows Newton's convergence
 * there to a factor of 1e-6 a step and does not move the solution. */
static const double ISLAND = 1e-6;

enum { DIRECT_LIMIT = 500, PCG_LIMIT = 5000 }; /* conjugate gradients with a factor of nearly the matrix; with IC(0) */

/* Residual above which the preconditioner is turned afresh for every step; below, once a solve will do. */
static const double TURN_ABOVE = 0.01;

typedef struct hessians {
    const spl_newton *n;
    spl_hessian kind;
} hessians;

static void law_hessian(const hessians *h, const spl_law_input *in, double H[81])
{
    const spl_law *law = h->n->elastic.law;
    double share = h->n->blend, whole[81];
    if (h->kind == SPL_HESSIAN_LAPLACE)
        for (int i = 0; i < 81; i++) H[i] = i % 10 == 0 ? 2 * in->mu : 0;
    else if (h->kind == SPL_HESSIAN_BLENDED)
        law->hessian(in, H);
    else
        law->projected(in, H);
    if (h->kind != SPL_HESSIAN_BLENDED || share == 1) return;
    law->projected(in, whole);
    for (int i = 0; i < 81; i++) H[i] = share * H[i] + (1 - share) * whole[i];
}

static bool all_held(const spl_statics *s, size_t k)
{
    const int32_t *t = s->elements->tet + 4 * k;
    return s->held[t[0]] >= 0 && s->held[t[1]] >= 0 && s->held[t[2]] >= 0 && s->held[t[3]] >= 0;
}

static void element_hessian(const hessians *h, size_t k)
{
    const spl_statics *s = h->n->s;
    const spl_statics_problem *p = h->n->problem;
    double *out = s->element_values + 90 * k, H[81];
    if (all_held(s, k)) return;
    if (h->n->elastic.exempt && h->n->elastic.exempt[k]) {
        memset(out, 0, 90 * sizeof *out);
        return;
    }
    spl_law_input in = {.F = spl_element_F(s->elements, (int32_t)k, h->n->x), .mu = p->mu[k], .lambda = p->lambda[k]};
    if (p->rotation) memcpy(in.R.m, p->rotation + 9 * k, sizeof in.R.m);
    law_hessian(h, &in, H);
    spl_element_stiffness(s->elements, (int32_t)k, H, out);
}

/* Of tets k to k + 3; false: not done. */
static bool four_hessians(const hessians *h, size_t k)
{
#ifdef SPL_HAVE_AVX2
    const spl_statics *s = h->n->s;
    const spl_statics_problem *p = h->n->problem;
    const spl_corot4 four = {s->elements, p->mu, p->lambda, h->n->elastic.law == &spl_law_arap, h->n->x};
    if (all_held(s, k) && all_held(s, k + 1) && all_held(s, k + 2) && all_held(s, k + 3)) return true;
    return spl_corot4_stiffness_avx2(&four, k, h->kind == SPL_HESSIAN_BLENDED ? h->n->blend : 0,
                                     s->element_values + 90 * k);
#else
    (void)h, (void)k;
    return false;
#endif
}

static void element_hessians(void *context, size_t begin, size_t end)
{
    const hessians *h = context;
    bool four = h->kind != SPL_HESSIAN_LAPLACE && !h->n->elastic.exempt && spl_corot4_knows(h->n->elastic.law);
    for (size_t k = begin; k < end;) {
        if (four && k + 4 <= end && four_hessians(h, k)) {
            k += 4;
        } else {
            element_hessian(h, k++);
        }
    }
}

/* Adds d to the diagonal of a node's diagonal block, which is the first of its column. */
static void add_to_node(spl_statics *s, int32_t node, double d)
{
    double *block = s->values + 9 * s->assembly.pattern.start[node];
    for (int c = 0; c < 3; c++) block[4 * c] += d;
}

void spl_system_shift(spl_newton *n, double shift)
{
    for (int32_t u = 0; u < n->s->free_count; u++) add_to_node(n->s, u, shift * n->unit);
}

static double mean_diagonal(const spl_statics *s)
{
    double sum = 0;
    for (int32_t u = 0; u < s->free_count; u++) {
        const double *block = s->values + 9 * s->assembly.pattern.start[u];
        sum += block[0] + block[4] + block[8];
    }
    return s->free_count > 0 ? sum / (3 * s->free_count) : 0;
}

/* The elements' sum, which with a quadratic law is the same at every x. */
static void sum_elements(spl_newton *n, spl_hessian kind)
{
    spl_statics *s = n->s;
    double began = spl_now_ms();
    hessians h = {n, kind};
    size_t bytes = spl_pattern_values(&s->assembly.pattern) * sizeof *s->values;
    bool stays = n->elastic.law->quadratic && kind == SPL_HESSIAN_PROJECTED;
    if (stays && n->assembled) {
        memcpy(s->values, s->elastic_values, bytes);
        return;
    }
    spl_parallel_for(s->pool, (size_t)s->elements->count, 128, element_hessians, &h);
    n->stats->ms.hessian += spl_now_ms() - began;
    spl_assembly_gather(&s->assembly, s->element_values, s->values, s->pool);
    if (stays) memcpy(s->elastic_values, s->values, bytes);
    n->assembled = n->assembled || stays;
}

void spl_system_assemble(spl_newton *n, spl_hessian kind)
{
    spl_statics *s = n->s;
    double began = spl_now_ms(), hessian = n->stats->ms.hessian;
    n->exact = kind == SPL_HESSIAN_BLENDED ? n->blend : 0;
    sum_elements(n, kind);
    if (n->unit == 0) n->unit = mean_diagonal(s); /* one unit a solve: shifts of different steps compare */
    if (!(n->unit > 0)) n->unit = 1;
    for (int32_t i = 0; i < n->problem->pin_count; i++) {
        const spl_pin *p = &n->problem->pin[i];
        if (s->unknown[p->vertex] >= 0) add_to_node(s, s->unknown[p->vertex], p->stiffness);
    }
    for (int32_t u = 0; n->stats->islands && u < s->free_count; u++)
        if (s->pinned[s->component[s->vertex[u]]] < 0) add_to_node(s, u, ISLAND * n->unit);
    spl_system_shift(n, n->shift);
    n->stats->ms.assemble += spl_now_ms() - began - (n->stats->ms.hessian - hessian);
}

/* The extra's diagonal blocks are for the factor only; the product has all of it. */
static void add_extra_blocks(spl_newton *n)
{
    spl_statics *s = n->s;
    memset(s->block, 0, 9 * (size_t)s->elements->vertex_count * sizeof *s->block);
    n->problem->extra->add_diagonal(n->problem->extra->context, s->block);
    for (int32_t u = 0; u < s->free_count; u++) {
        double *to = s->values + 9 * s->assembly.pattern.start[u];
        const double *from = s->block + 9 * (size_t)s->vertex[u];
        memcpy(s->diagonal + 9 * (size_t)u, to, 9 * sizeof *to);
        for (int i = 0; i < 9; i++) to[i] += from[i];
    }
}

static void restore_blocks(spl_statics *s)
{
    for (int32_t u = 0; u < s->free_count; u++)
        memcpy(s->values + 9 * s->assembly.pattern.start[u], s->diagonal + 9 * (size_t)u, 9 * sizeof *s->values);
}

static bool has_extra(const spl_newton *n)
{
    return n->problem->extra && n->problem->extra->multiply;
}

static supple_result factorise_extended(spl_newton *n)
{
    double began = spl_now_ms();
    spl_extended *c = &n->s->extended;
    supple_result result = spl_extended_fill(n);
    double middle = spl_now_ms();
    n->stats->ms.assemble += middle - began;
    if (result != SUPPLE_OK) return result;
    result = c->factor ? spl_factor_factorise(c->factor, c->values, n->error)
                       : spl_ic0_factorise(c->ic0, c->values, &c->shift, n->error);
    c->shift = spl_ic0_less(c->shift);
    n->stats->factorisations++;
    n->stats->ms.factorise += spl_now_ms() - middle;
    return result;
}

supple_result spl_system_factorise(spl_newton *n, bool plain)
{
    spl_statics *s = n->s;
    double began = spl_now_ms();
    bool extra = has_extra(n) && !plain;
    if (spl_newton_extends(n) && !plain) return factorise_extended(n);
    if (extra) add_extra_blocks(n);
    supple_result result = SUPPLE_OK;
    if (s->levels) {
        if (!n->turned || n->at.residual > TURN_ABOVE) spl_levels_turn(s->levels, n->x);
        n->turned = true;
        spl_matrix3_fill(&s->matrix, s->values, s->pool);
    } else {
        result = s->factor ? spl_factor_factorise(s->factor, s->values, n->error)
                           : spl_ic0_factorise(s->ic0, s->values, NULL, n->error);
    }
    if (extra) restore_blocks(s);
    n->stats->factorisations++;
    n->stats->ms.factorise += spl_now_ms() - began;
    return result;
}

/* ---- conjugate gradients ----------------------------------------------------------------------------------------- */

typedef struct linear {
    spl_newton *n;
    bool plain;
} linear;

/* y = A v, with the extra's part through vectors over all vertices. */
static void multiply(void *context, const double *v, double *y, int32_t k)
{
    const linear *w = context;
    spl_statics *s = w->n->s;
    if (spl_newton_extends(w->n) && !w->plain) {
        spl_rows_multiply(&s->extended.rows, s->extended.values, v, k, y, s->pool);
        return;
    }
    if (s->levels)
        spl_matrix3_multiply(&s->matrix, v, y, s->pool);
    else
        spl_rows_multiply(&s->rows, s->values, v, k, y, s->pool);
    if (w->plain || !has_extra(w->n)) return;
    size_t bytes = 3 * (size_t)s->elements->vertex_count * sizeof *v;
    memset(s->spread, 0, bytes);
    memset(s->product, 0, bytes);
    for (size_t u = 0; u < (size_t)s->free_count; u++)
        memcpy(s->spread + 3 * (size_t)s->vertex[u], v + 3 * u, 3 * sizeof *v);
    w->n->problem->extra->multiply(w->n->problem->extra->context, s->spread, s->product);
    for (size_t u = 0; u < (size_t)s->free_count; u++)
        for (size_t c = 0; c < 3; c++) y[3 * u + c] += s->product[3 * (size_t)s->vertex[u] + c];
}

static void precondition(void *context, const double *v, double *y, int32_t k)
{
    const linear *w = context;
    spl_statics *s = w->n->s;
    if (s->levels) {
        spl_levels_apply(s->levels, v, y, k);
        return;
    }
    if (s->ic0) {
        spl_ic0_solve(spl_newton_extends(w->n) && !w->plain ? s->extended.ic0 : s->ic0, v, y, k);
        return;
    }
    memcpy(y, v, 3 * (size_t)s->free_count * (size_t)k * sizeof *v);
    if (spl_factor_solve(s->factor, y, k, NULL) != SUPPLE_OK) y[0] = NAN; /* ends the iteration as not finite */
}

/* How far a system is solved (Eisenstat and Walker 1996): loosely far from the solution, where Newton's model is worth
 * no more, and at the end no further than the solve's own tolerance asks. IC(0) has always solved for quadratic
 * convergence, and what it solves, with contact, is wedged in more easily. */
static double forcing(const spl_newton *n)
{
    static const double LOOSEST = 0.1, BEYOND = 0.3;
    double r = n->at.residual;
    if (!n->s->levels) return fmax(1e-10, fmin(1e-3, 0.1 * r));
    return fmin(LOOSEST, fmax(sqrt(r), BEYOND * n->s->options.tolerance / r));
}

static supple_result iterate(spl_newton *n, bool plain)
{
    spl_statics *s = n->s;
    linear w = {n, plain};
    spl_pcg_problem p = {.multiply = multiply,
                         .multiply_context = &w,
                         .precondition = precondition,
                         .precondition_context = &w,
                         .tolerance = forcing(n),
                         .max_iterations = s->ic0 || s->levels ? PCG_LIMIT : DIRECT_LIMIT};
    memset(s->direction, 0, 3 * (size_t)s->free_count * sizeof *s->direction);
    spl_pcg_result r = spl_pcg_solve(s->pcg, &p, s->rhs, s->direction, 1);
    n->stats->inner += r.iterations;
    if (r.status == SPL_PCG_CONVERGED || r.status == SPL_PCG_LIMIT) return SUPPLE_OK;
    return spl_fail(n->error, SUPPLE_ERROR_SOLVE, "statics: conjugate gradients broke down after %d iterations",
                    (int)r.iterations);
}

supple_result spl_system_solve(spl_newton *n, bool plain)
{
    spl_statics *s = n->s;
    double began = spl_now_ms();
    supple_result result;
    if (s->ic0 || s->levels || (has_extra(n) && !plain)) {
        result = iterate(n, plain);
    } else {
        bool extended = spl_newton_extends(n) && !plain;
        memcpy(s->direction, s->rhs, 3 * (size_t)s->free_count * sizeof *s->rhs);
        result = spl_factor_solve(extended ? s->extended.factor : s->factor, s->direction, 1, n->error);
    }
    n->stats->ms.solve += spl_now_ms() - began;
    return result;
}
