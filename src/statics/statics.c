#include "statics/statics.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"
#include "core/timer.h"
#include "statics/newton.h"

#include <math.h>
#include <string.h>

spl_statics_options spl_statics_options_default(void)
{
    return (spl_statics_options){.solver = SPL_STATICS_DIRECT, .tolerance = 1e-8, .max_iterations = 200};
}

void spl_statics_destroy(spl_statics *s)
{
    if (!s) return;
    supple_allocator a = s->allocator;
    spl_stars_release(&s->stars);
    spl_assembly_release(&s->assembly, &a);
    spl_rows_release(&s->rows, &a);
    spl_factor_destroy(s->factor);
    spl_ic0_destroy(s->ic0);
    spl_levels_destroy(s->levels);
    spl_matrix3_release(&s->matrix, &a);
    spl_node_order_release(&s->order);
    spl_pcg_destroy(s->pcg);
    spl_extended_release(&s->extended, &a);
    void *blocks[] = {s->held,     s->component, s->anchors,        s->pinned,    s->values, s->block,
                      s->diagonal, s->force,     s->scratch,        s->trial,     s->spread, s->magnitude,
                      s->product,  s->rhs,       s->element_values, s->direction, s->exempt, s->elastic_values};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_free(&a, s);
}

/* Numbers the free vertices: for levels in parts, else as they come. */
static supple_result number_nodes(spl_statics *s, const int32_t *held, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    size_t n = (size_t)s->elements->vertex_count;
    s->held = spl_new(a, n, sizeof *s->held);
    if (!s->held) return spl_fail_memory(error, "a static solver");
    memcpy(s->held, held, n * sizeof *held);
    spl_node_order *o = &s->order;
    supple_result result = SUPPLE_OK;
    if (s->options.rest) {
        result = spl_node_order_create(s->elements, held, NULL, s->options.rest->position, a, o, error);
    } else {
        *o = (spl_node_order){
            .allocator = *a, .node = spl_new(a, n, sizeof *o->node), .vertex = spl_new(a, n, sizeof *o->vertex)};
        if (!o->node || !o->vertex) return spl_fail_memory(error, "a static solver");
        for (size_t v = 0; v < n; v++) {
            o->node[v] = held[v] >= 0 ? -1 : o->count;
            if (held[v] < 0) o->vertex[o->count++] = (int32_t)v;
        }
    }
    s->unknown = o->node;
    s->vertex = o->vertex;
    s->free_count = o->count;
    return result;
}

/* Pieces of the mesh: vertices that tets connect. A piece that nothing holds has rigid motions that cost nothing. */
static bool find_pieces(spl_statics *s)
{
    const supple_allocator *a = &s->allocator;
    int32_t count = s->elements->vertex_count;
    int32_t *parent = s->component = spl_new(a, (size_t)count, sizeof *parent);
    s->anchors = spl_new(a, (size_t)count, sizeof *s->anchors);
    s->pinned = spl_new(a, (size_t)count, sizeof *s->pinned);
    if (!parent || !s->anchors || !s->pinned) return false;
    for (int32_t v = 0; v < count; v++) parent[v] = v;
    const int32_t *tet = s->elements->tet;
    for (size_t c = 0; c < 4 * (size_t)s->elements->count; c++) spl_sets_join(parent, tet[c & ~(size_t)3], tet[c]);
    for (int32_t v = 0; v < count; v++) /* roots come before the rest of their piece */
        s->component[v] = parent[v] == v ? s->piece_count++ : parent[parent[v]];
    return true;
}

static bool take_memory(spl_statics *s)
{
    const supple_allocator *a = &s->allocator;
    size_t n = (size_t)s->elements->vertex_count, m = (size_t)s->elements->count, f = (size_t)s->free_count;
    struct {
        double **to;
        size_t count, each;
    } wanted[] = {
        {&s->element_values, m, 90},
        {&s->values, spl_pattern_values(&s->assembly.pattern), 1},
        {&s->elastic_values, spl_pattern_values(&s->assembly.pattern), 1},
        {&s->diagonal, f, 9},
        {&s->block, n, 9},
        {&s->force, n, 3},
        {&s->magnitude, n, 1},
        {&s->scratch, 12 * m + m / 1024 + 1, 1},
        {&s->trial, n, 3},
        {&s->spread, n, 3},
        {&s->product, n, 3},
        {&s->rhs, f, 3},
        {&s->direction, f, 3},
    };
    s->exempt = spl_new(a, m, sizeof *s->exempt);
    if (!s->exempt) return false;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].to = spl_new(a, wanted[i].count, wanted[i].each * sizeof(double));
        if (!*wanted[i].to) return false;
    }
    return true;
}

static supple_result prepare_system(spl_statics *s, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    const spl_elements *e = s->elements;
    const spl_factor_options direct = {.backend = s->options.backend};
    supple_result result = spl_stars_create(e, a, &s->stars, error);
    if (result == SUPPLE_OK)
        result = spl_assembly_create(e->tet, (size_t)e->count, 4, e->vertex_count, s->unknown, s->free_count, 3, a,
                                     &s->assembly, error);
    if (result == SUPPLE_OK) result = spl_pcg_create(3 * (size_t)s->free_count, 1, a, s->pool, &s->pcg, error);
    if (result == SUPPLE_OK && s->options.rest && s->free_count > 0) {
        const spl_levels_input in = {e, &s->stars, &s->order, &s->assembly, s->options.rest};
        result = spl_levels_create(&in, a, s->pool, &s->levels, error);
        if (result == SUPPLE_OK) return spl_matrix3_create(&s->assembly.pattern, a, &s->matrix, error);
        if (result == SUPPLE_ERROR_SOLVE) result = SUPPLE_OK; /* no factors: one of every matrix will do */
    }
    if (result == SUPPLE_OK) result = spl_rows_create(&s->assembly.pattern, a, &s->rows, error);
    if (result != SUPPLE_OK) return result;
    return s->options.solver == SPL_STATICS_DIRECT
               ? spl_factor_create(&s->assembly.pattern, &direct, a, s->pool, &s->factor, error)
               : spl_ic0_create(&s->assembly.pattern, a, &s->ic0, error);
}

supple_result spl_statics_create(const spl_elements *elements, const int32_t *held, const supple_allocator *a,
                                 spl_pool *pool, const spl_statics_options *options, spl_statics **out,
                                 supple_error *error)
{
    *out = NULL;
    spl_statics *s = spl_new(a, 1, sizeof *s);
    if (!s) return spl_fail_memory(error, "a static solver");
    s->allocator = *a;
    s->pool = pool;
    s->elements = elements;
    s->options = options ? *options : spl_statics_options_default();
    for (int32_t k = 0; k < elements->count; k++) s->volume += elements->volume[k];
    supple_result result = number_nodes(s, held, error);
    if (result == SUPPLE_OK && !find_pieces(s)) result = spl_fail_memory(error, "a static solver");
    if (result == SUPPLE_OK) result = prepare_system(s, error);
    if (result == SUPPLE_OK && !take_memory(s)) result = spl_fail_memory(error, "a static solver");
    for (int32_t v = 0; result == SUPPLE_OK && v < elements->vertex_count; v++)
        s->anchors[s->component[v]] += held[v] >= 0;
    s->options.rest = NULL; /* the caller's, for the creation alone */
    if (result == SUPPLE_OK)
        *out = s;
    else
        spl_statics_destroy(s);
    return result;
}

/* What a solve cannot be asked for. */
static supple_result check_problem(const spl_statics *s, const spl_statics_problem *p, const double *x,
                                   supple_error *error)
{
    const spl_elements *e = s->elements;
    if (p->law->needs_rotation && !p->rotation)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "statics: the law %s needs rotations", p->law->name);
    for (int32_t i = 0; i < p->pin_count; i++)
        if (p->pin[i].vertex < 0 || p->pin[i].vertex >= e->vertex_count || !(p->pin[i].stiffness >= 0))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "statics: pin %d (vertex %d, stiffness %g) is not possible",
                            (int)i, (int)p->pin[i].vertex, p->pin[i].stiffness);
    for (size_t i = 0; i < 3 * (size_t)e->vertex_count; i++)
        if (!isfinite(x[i]) || (p->force && !isfinite(p->force[i])))
            return spl_fail(error, SUPPLE_ERROR_SOLVE, "statics: the position or force of vertex %zu is not finite",
                            i / 3);
    return SUPPLE_OK;
}

static bool inverted_at(const spl_statics *s, int32_t k, const double *x)
{
    spl_mat3 F = spl_element_F(s->elements, k, x);
    return !(spl_mat3_det(&F) > 0);
}

/* Tets that only the motion could turn back. Returns how many. */
static int32_t mark_exempt(spl_statics *s, const spl_statics_problem *p, const double *x)
{
    const int32_t *firm = p->firm ? p->firm : s->held;
    int32_t count = 0;
    for (int32_t k = 0; k < s->elements->count; k++) {
        const int32_t *t = s->elements->tet + 4 * (size_t)k;
        bool prescribed = firm[t[0]] >= 0 && firm[t[1]] >= 0 && firm[t[2]] >= 0 && firm[t[3]] >= 0;
        s->exempt[k] = prescribed && inverted_at(s, k, x);
        count += s->exempt[k];
    }
    return count;
}

/* Whether a tet that counts is inverted. */
static bool any_inverted(const spl_statics *s, const double *x)
{
    for (int32_t k = 0; k < s->elements->count; k++)
        if (!s->exempt[k] && inverted_at(s, k, x)) return true;
    return false;
}

/* A law that is a barrier has no energy where tets are inverted: one that has brings them back first. */
static supple_result run_past_barrier(spl_newton *n)
{
    const spl_law *law = n->elastic.law;
    if (!any_inverted(n->s, n->x)) return spl_newton_run(n);
    n->elastic.law = &spl_law_neohookean;
    supple_result result = spl_newton_run(n);
    n->stats->softened = result == SUPPLE_OK && any_inverted(n->s, n->x);
    if (result != SUPPLE_OK || n->stats->softened) return result;
    int32_t first = n->stats->iterations;
    n->elastic.law = law;
    n->stats->iterations = 0;
    n->blend = 1;
    n->shift = 0;
    n->last_full = true;
    n->still = false;
    result = spl_newton_run(n);
    n->stats->iterations += first;
    return result;
}

supple_result spl_statics_solve(spl_statics *s, const spl_statics_problem *problem, double *x, spl_statics_stats *stats,
                                supple_error *error)
{
    spl_statics_stats unread;
    if (!stats) stats = &unread;
    *stats = (spl_statics_stats){0};
    double began = spl_now_ms();
    supple_result result = check_problem(s, problem, x, error);
    if (result != SUPPLE_OK) return result;
    s->exempts = problem->law->barrier;
    if (s->exempts) stats->exempt = mark_exempt(s, problem, x);
    spl_newton n = {.s = s,
                    .problem = problem,
                    .stats = stats,
                    .error = error,
                    .elastic = {s->elements, problem->law, problem->mu, problem->lambda, problem->rotation,
                                stats->exempt > 0 ? s->exempt : NULL},
                    .x = x};
    spl_newton_begin(&n);
    result = s->exempts ? run_past_barrier(&n) : spl_newton_run(&n);
    stats->residual = n.at.residual;
    stats->energy = n.at.energy;
    stats->ms.total = spl_now_ms() - began;
    return result;
}

const bool *spl_statics_exempt(const spl_statics *s)
{
    return s->exempts ? s->exempt : NULL;
}
