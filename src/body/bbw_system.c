/* L and M, of which Q = L M^-1 L is made; Q itself, whose entries join vertices two edges apart, is never assembled. */
#include "body/bbw_private.h"
#include "core/error.h"
#include "core/memory.h"

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

/* Q_ii = sum_k L_ik^2 / m_k */
static void set_diagonal(bbw_system *s)
{
    for (int32_t i = 0; i < s->free_count; i++) {
        double sum = 0;
        for (size_t p = s->rows.start[s->vertex[i]]; p < s->rows.start[s->vertex[i] + 1]; p++) {
            double entry = s->stiffness[s->rows.entry[p]];
            sum += entry * entry * s->inverse_mass[s->rows.column[p]];
        }
        s->diagonal[i] = sum;
    }
}

supple_result spl_bbw_system_make(bbw_system *s, spl_pool *pool, supple_error *error)
{
    size_t n = (size_t)s->n;
    s->vertex = spl_new(s->a, n, sizeof *s->vertex);
    s->inverse_mass = spl_new(s->a, n, sizeof *s->inverse_mass);
    s->diagonal = spl_new(s->a, n, sizeof *s->diagonal);
    if (!s->vertex || !s->inverse_mass || !s->diagonal) return spl_fail_memory(error, "the weights");
    for (int32_t v = 0; v < s->n; v++)
        if (s->in->held[v] < 0) s->vertex[s->free_count++] = v;
    supple_result result = make_stiffness(s, pool, error);
    if (result != SUPPLE_OK) return result;
    set_masses(s);
    set_diagonal(s);
    return SUPPLE_OK;
}

void spl_bbw_system_release(bbw_system *s)
{
    spl_free(s->a, s->vertex);
    spl_assembly_release(&s->whole, s->a);
    spl_rows_release(&s->rows, s->a);
    spl_free(s->a, s->stiffness);
    spl_free(s->a, s->inverse_mass);
    spl_free(s->a, s->diagonal);
    *s = (bbw_system){0};
}

void spl_bbw_gradient(const bbw_system *s, const double *w, int32_t k, double *y, double *g, spl_pool *pool)
{
    spl_rows_multiply(&s->rows, s->stiffness, w, k, y, pool);
    for (size_t v = 0; v < (size_t)s->n; v++)
        for (size_t c = 0; c < (size_t)k; c++) y[v * (size_t)k + c] *= s->inverse_mass[v];
    spl_rows_multiply(&s->rows, s->stiffness, y, k, g, pool);
}
