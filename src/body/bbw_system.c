/* Q = L M^-1 L among the free vertices: its entries join vertices two edges apart. */
#include "body/bbw_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

static void set_elements(const spl_elements *e, double *element)
{
    for (size_t k = 0; k < (size_t)e->count; k++)
        for (int i = 0, at = 0; i < 4; i++)
            for (int j = 0; j <= i; j++, at++) {
                const double *gi = e->gradient + 12 * k + 3 * i, *gj = e->gradient + 12 * k + 3 * j;
                element[10 * k + (size_t)at] = e->volume[k] * (gi[0] * gj[0] + gi[1] * gj[1] + gi[2] * gj[2]);
            }
}

static supple_result make_stiffness(bbw_system *s, spl_pool *pool, supple_error *error)
{
    const spl_elements *e = s->in->elements;
    double *element = spl_new(s->a, (size_t)e->count, 10 * sizeof *element);
    supple_result result =
        element ? spl_assembly_create(e->tet, (size_t)e->count, 4, s->n, NULL, s->n, 1, s->a, &s->whole, error)
                : spl_fail_memory(error, "the weights");
    if (result == SUPPLE_OK) {
        s->stiffness = spl_new(s->a, spl_pattern_values(&s->whole.pattern), sizeof *s->stiffness);
        if (!s->stiffness) result = spl_fail_memory(error, "the weights");
    }
    if (result == SUPPLE_OK) {
        set_elements(e, element);
        spl_assembly_gather(&s->whole, element, s->stiffness, pool);
        result = spl_rows_create(&s->whole.pattern, s->a, &s->rows, error);
    }
    spl_free(s->a, element);
    return result;
}

static void set_masses(bbw_system *s)
{
    const spl_elements *e = s->in->elements;
    for (size_t k = 0; k < 4 * (size_t)e->count; k++) s->inverse_mass[e->tet[k]] += 0.25 * e->volume[k / 4];
    for (int32_t v = 0; v < s->n; v++) s->inverse_mass[v] = s->inverse_mass[v] > 0 ? 1 / s->inverse_mass[v] : 0;
}

/* Rows i >= j of column j, found by two steps along edges, in rising order; returns how many. */
static int32_t reach(const bbw_system *s, int32_t j, int32_t *mark, int32_t *row)
{
    int32_t count = 0, vertex = s->vertex[j];
    for (size_t p = s->rows.start[vertex]; p < s->rows.start[vertex + 1]; p++) {
        int32_t middle = s->rows.column[p];
        for (size_t q = s->rows.start[middle]; q < s->rows.start[middle + 1]; q++) {
            int32_t i = s->unknown[s->rows.column[q]];
            if (i < j || mark[i] == j) continue;
            mark[i] = j;
            int32_t at = count++; /* the lists are short: sorted as they come */
            for (; at > 0 && row[at - 1] > i; at--) row[at] = row[at - 1];
            row[at] = i;
        }
    }
    return count;
}

static supple_result make_pattern(bbw_system *s, int32_t *mark, int32_t *row, supple_error *error)
{
    size_t n = (size_t)s->free_count, total = 0;
    spl_pattern *p = &s->pattern;
    *p = (spl_pattern){.n = s->free_count, .block = 1};
    p->start = spl_new(s->a, n + 1, sizeof *p->start);
    if (!p->start) return spl_fail_memory(error, "the weights");
    for (size_t i = 0; i < n; i++) mark[i] = -1;
    for (size_t j = 0; j < n; j++) {
        p->start[j] = total;
        total += (size_t)reach(s, (int32_t)j, mark, row);
    }
    p->start[n] = total;
    p->row = spl_new(s->a, total, sizeof *p->row);
    s->value = spl_new(s->a, total, sizeof *s->value);
    if (!p->row || !s->value) return spl_fail_memory(error, "the weights");
    for (size_t i = 0; i < n; i++) mark[i] = -1;
    for (size_t j = 0; j < n; j++) reach(s, (int32_t)j, mark, p->row + p->start[j]);
    return SUPPLE_OK;
}

/* Q_ij = sum_k L_ik L_kj / m_k, a column at a time through a row of sums. */
static void set_values(void *context, size_t begin, size_t end)
{
    const bbw_system *s = context;
    for (size_t j = begin; j < end; j++) {
        int32_t vertex = s->vertex[j];
        for (size_t e = s->pattern.start[j]; e < s->pattern.start[j + 1]; e++) {
            /* two sorted lists of neighbours: common ones are the k of the sum */
            int32_t other = s->vertex[s->pattern.row[e]];
            size_t p = s->rows.start[vertex], q = s->rows.start[other];
            double sum = 0;
            while (p < s->rows.start[vertex + 1] && q < s->rows.start[other + 1]) {
                int32_t k = s->rows.column[p], l = s->rows.column[q];
                if (k == l) sum += s->stiffness[s->rows.entry[p]] * s->stiffness[s->rows.entry[q]] * s->inverse_mass[k];
                p += k <= l;
                q += l <= k;
            }
            s->value[e] = sum;
        }
        s->diagonal[j] = s->value[s->pattern.start[j]];
    }
}

supple_result spl_bbw_system_make(bbw_system *s, spl_pool *pool, supple_error *error)
{
    size_t n = (size_t)s->n;
    s->unknown = spl_new(s->a, n, sizeof *s->unknown);
    s->vertex = spl_new(s->a, n, sizeof *s->vertex);
    s->inverse_mass = spl_new(s->a, n, sizeof *s->inverse_mass);
    s->diagonal = spl_new(s->a, n, sizeof *s->diagonal);
    if (!s->unknown || !s->vertex || !s->inverse_mass || !s->diagonal) return spl_fail_memory(error, "the weights");
    for (int32_t v = 0; v < s->n; v++) {
        s->unknown[v] = s->in->held[v] < 0 ? s->free_count : -1;
        if (s->in->held[v] < 0) s->vertex[s->free_count++] = v;
    }
    supple_result result = make_stiffness(s, pool, error);
    if (result != SUPPLE_OK) return result;
    set_masses(s);
    int32_t *mark = spl_new(s->a, n, sizeof *mark), *row = spl_new(s->a, n, sizeof *row);
    result = mark && row ? make_pattern(s, mark, row, error) : spl_fail_memory(error, "the weights");
    spl_free(s->a, mark);
    spl_free(s->a, row);
    if (result == SUPPLE_OK) spl_parallel_for(pool, (size_t)s->free_count, 64, set_values, s);
    return result;
}

void spl_bbw_system_release(bbw_system *s)
{
    spl_free(s->a, s->unknown);
    spl_free(s->a, s->vertex);
    spl_assembly_release(&s->whole, s->a);
    spl_rows_release(&s->rows, s->a);
    spl_free(s->a, s->stiffness);
    spl_free(s->a, s->inverse_mass);
    spl_pattern_release(&s->pattern, s->a);
    spl_free(s->a, s->value);
    spl_free(s->a, s->diagonal);
    *s = (bbw_system){0};
}

void spl_bbw_gradient(const bbw_system *s, const double *w, double *y, double *g, spl_pool *pool)
{
    spl_rows_multiply(&s->rows, s->stiffness, w, 1, y, pool);
    for (int32_t v = 0; v < s->n; v++) y[v] *= s->inverse_mass[v];
    spl_rows_multiply(&s->rows, s->stiffness, y, 1, g, pool);
}
