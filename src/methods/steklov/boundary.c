#include "methods/steklov/boundary.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "sparse/reach.h"

#include <string.h>

enum {
    BATCH = 8,    /* boundary nodes whose columns are solved together: 24 columns, three times eight sides */
    WORKERS = 16, /* pieces of the work, whatever the threads */
    SIDES = SPL_REACH_SIDES,
    NODE = 3 * SIDES,
};

/* One worker's memory. */
typedef struct worker {
    spl_reach *reach;
    int32_t *place;    /* by interior node: its place in `in` or `out`, + 1 */
    int32_t *in, *out; /* interior nodes */
    size_t in_count, out_count;
    float *b, *x;    /* NODE each */
    double *dropped; /* 3 a boundary node: magnitudes, where they are compensated */
} worker;

typedef struct maker {
    const spl_exrotated *s;
    spl_boundary *to;
    spl_ldlt *ldlt;
    size_t ni, nb;
    bool compensate;
    worker worker[WORKERS];
} maker;

/* ---- which entries ---- */

/* The boundary nodes within a distance of one, by going outwards ring by ring. */
typedef struct rings {
    int32_t *list, *stamp;
    size_t count;
} rings;

static void go_out(const spl_exrotated *s, int32_t from, int32_t distance, rings *r)
{
    const spl_rows *rows = &s->matrix.rows;
    r->count = 0;
    r->list[r->count++] = from;
    r->stamp[from] = from;
    for (size_t begin = 0, ring = 0; ring < (size_t)distance; ring++) {
        size_t end = r->count;
        for (; begin < end; begin++)
            for (size_t q = rows->start[r->list[begin]]; q < rows->start[r->list[begin] + 1]; q++) {
                int32_t other = rows->column[q];
                if (r->stamp[other] == from) continue;
                r->stamp[other] = from;
                r->list[r->count++] = other;
            }
    }
}

/* Counts, and if `pair` is there lists, the pairs (later, earlier) of boundary nodes. */
static size_t list_pairs(const spl_exrotated *s, int32_t distance, rings *r, int32_t *pair)
{
    size_t count = 0;
    for (int32_t i = 0; i < s->order.count; i++) r->stamp[i] = -1;
    for (int32_t b = s->order.interior; b < s->order.count; b++) {
        go_out(s, b, distance, r);
        for (size_t k = 0; k < r->count; k++) {
            if (r->list[k] <= b) continue;
            if (pair) {
                pair[2 * count] = r->list[k] - s->order.interior;
                pair[2 * count + 1] = b - s->order.interior;
            }
            count++;
        }
    }
    return count;
}

supple_result spl_boundary_pattern(const spl_exrotated *s, int32_t distance, spl_boundary *out, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    *out = (spl_boundary){.allocator = *a};
    size_t n = (size_t)s->order.count;
    rings r = {spl_new(a, n, sizeof *r.list), spl_new(a, n, sizeof *r.stamp), 0};
    supple_result result = r.list && r.stamp ? SUPPLE_OK : spl_fail_memory(error, "the boundary's pattern");
    if (result == SUPPLE_OK) {
        size_t count = list_pairs(s, distance, &r, NULL);
        int32_t *pair = spl_new(a, count, 2 * sizeof *pair);
        if (pair) list_pairs(s, distance, &r, pair);
        result =
            pair ? spl_pattern_from_pairs(s->order.count - s->order.interior, 3, pair, count, a, &out->pattern, error)
                 : spl_fail_memory(error, "the boundary's pattern");
        spl_free(a, pair);
    }
    spl_free(a, r.list);
    spl_free(a, r.stamp);
    return result;
}

/* ---- the interior's factor ----
 *
 * In nested dissection: as many entries as AMD's order leaves (18.0 against 16.6 million at 112k tets), but ways to the
 * root of the tree that are half as long: all columns took 10 s instead of 22. */

static supple_result interior_pattern(const maker *m, spl_pattern *out, double **value, supple_error *error)
{
    const supple_allocator *a = &m->s->allocator;
    const spl_rows *r = &m->s->matrix.rows;
    size_t count = 0;
    int32_t *pair = spl_new(a, r->start[m->ni], 2 * sizeof *pair);
    if (!pair) return spl_fail_memory(error, "the interior's factor");
    for (size_t i = 0; i < m->ni; i++)
        for (size_t q = r->start[i]; q < m->s->split[i]; q++) {
            pair[2 * count] = (int32_t)i;
            pair[2 * count++ + 1] = r->column[q];
        }
    supple_result result = spl_pattern_from_pairs((int32_t)m->ni, 3, pair, count, a, out, error);
    spl_free(a, pair);
    if (result != SUPPLE_OK) return result;
    *value = spl_new(a, spl_pattern_values(out), sizeof **value);
    if (!*value) return spl_fail_memory(error, "the interior's factor");
    for (size_t j = 0; j < m->ni; j++) { /* column j of the lower triangle is row j right of the diagonal, transposed */
        size_t q = r->start[j];
        while ((size_t)r->column[q] < j) q++;
        for (size_t e = out->start[j]; e < out->start[j + 1]; e++, q++)
            for (size_t i = 0; i < 9; i++) (*value)[9 * e + i] = m->s->matrix.value[9 * q + 3 * (i % 3) + i / 3];
    }
    return SUPPLE_OK;
}

static supple_result factorise_interior(maker *m, supple_error *error)
{
    const supple_allocator *a = &m->s->allocator;
    spl_ldlt_options o = {.single = true, .once = true, .plain = m->s->matrix.plain};
    spl_ldlt_failure failure;
    spl_pattern pattern = {0};
    double *value = NULL;
    int32_t *order = spl_new(a, m->ni, sizeof *order);
    supple_result result = order ? SUPPLE_OK : spl_fail_memory(error, "the interior's factor");
    if (result == SUPPLE_OK)
        result = spl_node_dissection(&m->s->order, m->s->solid->drive.rest, m->s->matrix.rows.start,
                                     m->s->matrix.rows.column, (int32_t)m->ni, order, error);
    if (result == SUPPLE_OK) result = interior_pattern(m, &pattern, &value, error);
    o.order = order;
    if (result == SUPPLE_OK) result = spl_ldlt_create(&pattern, &o, a, m->s->pool, &m->ldlt, error);
    if (result == SUPPLE_OK && !spl_ldlt_factorise(m->ldlt, value, &failure))
        result = spl_fail(error, SUPPLE_ERROR_SOLVE,
                          "the interior of the flesh is not held by its boundary and bones (unknown %d, pivot %g)",
                          (int)failure.unknown, failure.pivot);
    if (result == SUPPLE_OK) m->to->factor_bytes = (double)spl_ldlt_bytes(m->ldlt, false);
    spl_pattern_release(&pattern, a);
    spl_free(a, order);
    spl_free(a, value);
    return result;
}

/* ---- columns ---- */

/* Adds the interior neighbours of a boundary node to a list. */
static void add_neighbours(const maker *m, size_t node, int32_t *place, int32_t *list, size_t *count)
{
    const spl_rows *r = &m->s->matrix.rows;
    for (size_t q = r->start[m->ni + node]; q < m->s->split[m->ni + node]; q++) {
        if (place[r->column[q]]) continue;
        list[(*count)++] = r->column[q];
        place[r->column[q]] = (int32_t)*count;
    }
}

static void clear_places(int32_t *place, const int32_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) place[list[i]] = 0;
}

/* A_ib e for up to eight columns from `first` on: column c is component c % 3 of boundary node c / 3. */
static void set_sides(const maker *m, worker *w, size_t first, size_t end)
{
    const spl_rows *r = &m->s->matrix.rows;
    memset(w->b, 0, NODE * w->in_count * sizeof *w->b);
    for (size_t c = first; c < end; c++) {
        size_t row = m->ni + c / 3;
        for (size_t q = r->start[row]; q < m->s->split[row]; q++) {
            float *to = w->b + NODE * (size_t)(w->place[r->column[q]] - 1) + (c - first);
            const double *B = m->s->matrix.value + 9 * q; /* A_bi: rows of the boundary node */
            for (size_t k = 0; k < 3; k++) to[SIDES * k] = (float)B[3 * k + c % 3];
        }
    }
}

/* Column `side` of the solution, seen by boundary node d: (A_bi y)_d. */
static void look_from(const maker *m, const worker *w, size_t d, size_t side, double f[3])
{
    const spl_rows *r = &m->s->matrix.rows;
    f[0] = f[1] = f[2] = 0;
    for (size_t q = r->start[m->ni + d]; q < m->s->split[m->ni + d]; q++) {
        const double *B = m->s->matrix.value + 9 * q;
        const float *y = w->x + NODE * (size_t)(w->place[r->column[q]] - 1) + side;
        for (int k = 0; k < 3; k++)
            f[k] += B[k] * (double)y[0] + B[3 + k] * (double)y[SIDES] + B[6 + k] * (double)y[2 * SIDES];
    }
}

/* The entries of A_bb. */
static void take_boundary(const maker *m, size_t column)
{
    const spl_rows *r = &m->s->matrix.rows;
    const spl_pattern *p = &m->to->pattern;
    size_t row = m->ni + column;
    for (size_t q = m->s->split[row]; q < r->start[row + 1]; q++) {
        if ((size_t)r->column[q] < row) continue;
        size_t e = spl_pattern_find(p, r->column[q] - (int32_t)m->ni, (int32_t)column);
        for (size_t i = 0; e != SIZE_MAX && i < 9; i++)
            m->to->value[9 * e + i] += m->s->matrix.value[9 * q + 3 * (i % 3) + i / 3];
    }
}

static void take_column(const maker *m, worker *w, size_t c, size_t side)
{
    const spl_pattern *p = &m->to->pattern;
    size_t column = c / 3;
    double f[3];
    for (size_t e = p->start[column]; e < p->start[column + 1]; e++) {
        look_from(m, w, (size_t)p->row[e], side, f);
        for (size_t k = 0; k < 3; k++) m->to->value[9 * e + 3 * (c % 3) + k] -= f[k];
    }
    size_t e = p->start[column];
    for (size_t d = column; m->compensate && d < m->nb; d++) {
        while (e < p->start[column + 1] && (size_t)p->row[e] < d) e++;
        if (e < p->start[column + 1] && (size_t)p->row[e] == d) continue;
        look_from(m, w, d, side, f);
        for (size_t k = 0; k < 3; k++) {
            w->dropped[3 * d + k] += fabs(f[k]);
            w->dropped[c] += fabs(f[k]);
        }
    }
}

static void solve_batch(const maker *m, worker *w, size_t first, size_t end)
{
    const spl_pattern *p = &m->to->pattern;
    for (size_t c = 3 * first; c < 3 * end; c += SIDES) {
        size_t last = c + SIDES < 3 * end ? c + SIDES : 3 * end;
        w->in_count = w->out_count = 0;
        for (size_t b = first; b < end; b++) add_neighbours(m, b, w->place, w->in, &w->in_count);
        set_sides(m, w, c, last);
        clear_places(w->place, w->in, w->in_count);
        for (size_t b = first; b < end && !m->compensate; b++)
            for (size_t e = p->start[b]; e < p->start[b + 1]; e++)
                add_neighbours(m, (size_t)p->row[e], w->place, w->out, &w->out_count);
        for (size_t d = first; d < m->nb && m->compensate; d++) add_neighbours(m, d, w->place, w->out, &w->out_count);
        spl_reach_solve(w->reach, w->in, w->in_count, w->b, w->out, w->out_count, w->x);
        for (size_t k = c; k < last; k++) take_column(m, w, k, k - c);
        clear_places(w->place, w->out, w->out_count);
    }
}

static void run_workers(void *context, size_t begin, size_t end)
{
    maker *m = context;
    size_t each = (m->nb / WORKERS / BATCH + 1) * BATCH;
    for (size_t k = begin; k < end; k++) {
        size_t last = (k + 1) * each < m->nb ? (k + 1) * each : m->nb;
        for (size_t b = k * each; b < last; b += BATCH) {
            size_t stop = b + BATCH < last ? b + BATCH : last;
            for (size_t c = b; c < stop; c++) take_boundary(m, c);
            if (m->ni > 0) solve_batch(m, &m->worker[k], b, stop);
        }
    }
}

static supple_result make_workers(maker *m, supple_error *error)
{
    const supple_allocator *a = &m->s->allocator;
    for (size_t k = 0; k < WORKERS && m->ni > 0; k++) {
        worker *w = &m->worker[k];
        w->place = spl_new(a, m->ni, sizeof *w->place);
        w->in = spl_new(a, m->ni, sizeof *w->in);
        w->out = spl_new(a, m->ni, sizeof *w->out);
        w->b = spl_new(a, m->ni, NODE * sizeof *w->b);
        w->x = spl_new(a, m->ni, NODE * sizeof *w->x);
        w->dropped = spl_new(a, m->compensate ? m->nb : 0, 3 * sizeof *w->dropped);
        if (!w->place || !w->in || !w->out || !w->b || !w->x || !w->dropped)
            return spl_fail_memory(error, "the boundary's matrix");
        supple_result result = spl_reach_create(m->ldlt, a, &w->reach, error);
        if (result != SUPPLE_OK) return result;
    }
    return SUPPLE_OK;
}

static void release_workers(maker *m)
{
    const supple_allocator *a = &m->s->allocator;
    for (size_t k = 0; k < WORKERS; k++) {
        worker *w = &m->worker[k];
        void *blocks[] = {w->place, w->in, w->out, w->b, w->x, w->dropped};
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(a, blocks[i]);
        spl_reach_destroy(w->reach);
    }
}

/* Magnitudes of what was dropped, onto the diagonal. */
static void compensate(maker *m)
{
    for (size_t k = 0; k < WORKERS && m->ni > 0; k++)
        for (size_t i = 0; i < 3 * m->nb; i++)
            m->to->value[9 * m->to->pattern.start[i / 3] + 4 * (i % 3)] += m->worker[k].dropped[i];
}

static supple_result make(maker *m, int32_t distance, supple_error *error)
{
    double start = spl_now_ms(), factored;
    supple_result result = spl_boundary_pattern(m->s, distance, m->to, error);
    if (result != SUPPLE_OK) return result;
    m->to->compensated = m->compensate;
    m->to->value = spl_new(&m->s->allocator, spl_pattern_values(&m->to->pattern), sizeof *m->to->value);
    if (!m->to->value) return spl_fail_memory(error, "the boundary's matrix");
    if (m->ni > 0) result = factorise_interior(m, error);
    factored = spl_now_ms();
    if (result == SUPPLE_OK) result = make_workers(m, error);
    if (result == SUPPLE_OK) spl_parallel_for(m->s->pool, WORKERS, 1, run_workers, m);
    if (result == SUPPLE_OK && m->compensate) compensate(m);
    m->to->ms_factor = factored - start;
    m->to->ms_columns = spl_now_ms() - factored;
    return result;
}

supple_result spl_boundary_create(const spl_exrotated *system, int32_t distance, bool with_compensation,
                                  spl_boundary *out, supple_error *error)
{
    *out = (spl_boundary){.allocator = system->allocator};
    maker m = {.s = system,
               .to = out,
               .ni = (size_t)system->order.interior,
               .nb = (size_t)(system->order.count - system->order.interior),
               .compensate = with_compensation};
    supple_result result = make(&m, distance, error);
    release_workers(&m);
    spl_ldlt_destroy(m.ldlt);
    if (result != SUPPLE_OK) spl_boundary_release(out);
    return result;
}

void spl_boundary_release(spl_boundary *b)
{
    if (!b->allocator.release) return;
    spl_pattern_release(&b->pattern, &b->allocator);
    spl_free(&b->allocator, b->value);
    *b = (spl_boundary){0};
}
