#include "sparse/ic0.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

static const double FIRST_SHIFT = 1e-3;

struct spl_ic0 {
    supple_allocator allocator;
    spl_pattern pattern; /* scalar */
    size_t *source;      /* where its values come from */
    double *input, *values;
    size_t *place; /* n: entry + 1 of a row in the column under work, 0 if it has none */
    size_t *next;  /* n: the first entry of a column that is not yet passed */
    int32_t *head; /* n: columns whose next entry is in this row, a list through */
    int32_t *link; /* n */
};

const spl_pattern *spl_ic0_pattern(const spl_ic0 *f)
{
    return &f->pattern;
}

const double *spl_ic0_values(const spl_ic0 *f)
{
    return f->values;
}

supple_result spl_ic0_create(const spl_pattern *p, const supple_allocator *a, spl_ic0 **out, supple_error *error)
{
    *out = NULL;
    supple_result result = spl_pattern_check(p, error);
    if (result != SUPPLE_OK) return result;
    spl_ic0 *f = spl_new(a, 1, sizeof *f);
    if (!f) return spl_fail_memory(error, "an incomplete factor");
    f->allocator = *a;
    result = spl_pattern_expand(p, a, &f->pattern, &f->source, error);
    if (result == SUPPLE_OK) {
        size_t n = (size_t)f->pattern.n, entries = f->pattern.start[n];
        f->input = spl_new(a, entries, sizeof *f->input);
        f->values = spl_new(a, entries, sizeof *f->values);
        f->place = spl_new(a, n, sizeof *f->place);
        f->next = spl_new(a, n, sizeof *f->next);
        f->head = spl_new(a, n, sizeof *f->head);
        f->link = spl_new(a, n, sizeof *f->link);
        if (!f->input || !f->values || !f->place || !f->next || !f->head || !f->link)
            result = spl_fail_memory(error, "an incomplete factor");
    }
    if (result == SUPPLE_OK)
        *out = f;
    else
        spl_ic0_destroy(f);
    return result;
}

void spl_ic0_destroy(spl_ic0 *f)
{
    if (!f) return;
    supple_allocator a = f->allocator;
    void *blocks[] = {f->source, f->input, f->values, f->place, f->next, f->head, f->link};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_pattern_release(&f->pattern, &a);
    spl_free(&a, f);
}

/* Column k waits in the list of the row of its next entry. */
static void wait_for_row(spl_ic0 *f, int32_t k)
{
    if (f->next[k] == f->pattern.start[k + 1]) return;
    int32_t row = f->pattern.row[f->next[k]];
    f->link[k] = f->head[row];
    f->head[row] = k;
}

/* Subtracts what earlier columns contribute to column j where j has entries: l_ij -= l_ik l_jk. */
static void apply_columns(spl_ic0 *f, int32_t j)
{
    const spl_pattern *p = &f->pattern;
    for (int32_t k = f->head[j], following; k != -1; k = following) {
        following = f->link[k];
        double l_jk = f->values[f->next[k]];
        for (size_t e = f->next[k]; e < p->start[k + 1]; e++) {
            size_t at = f->place[p->row[e]];
            if (at) f->values[at - 1] -= f->values[e] * l_jk;
        }
        f->next[k]++;
        wait_for_row(f, k);
    }
}

/* One attempt; false at the first pivot that is not clearly positive. */
static bool attempt(spl_ic0 *f, double shift)
{
    const spl_pattern *p = &f->pattern;
    memcpy(f->values, f->input, p->start[p->n] * sizeof *f->values);
    for (int32_t j = 0; j < p->n; j++) {
        f->values[p->start[j]] *= 1 + shift;
        f->head[j] = -1;
    }
    for (int32_t j = 0; j < p->n; j++) {
        size_t begin = p->start[j], end = p->start[j + 1];
        double diagonal = f->values[begin];
        for (size_t e = begin; e < end; e++) f->place[p->row[e]] = e + 1;
        apply_columns(f, j);
        for (size_t e = begin; e < end; e++) f->place[p->row[e]] = 0;
        if (!(f->values[begin] > 1e-10 * diagonal)) return false;
        double root = sqrt(f->values[begin]);
        f->values[begin] = root;
        for (size_t e = begin + 1; e < end; e++) f->values[e] /= root;
        f->next[j] = begin + 1;
        wait_for_row(f, j);
    }
    return true;
}

static supple_result check_values(const spl_ic0 *f, supple_error *error)
{
    const spl_pattern *p = &f->pattern;
    for (int32_t j = 0; j < p->n; j++)
        for (size_t e = p->start[j]; e < p->start[j + 1]; e++)
            if (!isfinite(f->input[e]) || (e == p->start[j] && f->input[e] <= 0))
                return spl_fail(
                    error, SUPPLE_ERROR_SOLVE,
                    "the incomplete factorisation met %g at unknown %d: the matrix is not positive definite; "
                    "an element near it is likely flat, or it belongs to none",
                    f->input[e], (int)j);
    return SUPPLE_OK;
}

double spl_ic0_less(double shift)
{
    return shift > FIRST_SHIFT ? shift / 4 : 0;
}

supple_result spl_ic0_factorise(spl_ic0 *f, const double *values, double *shift, supple_error *error)
{
    for (size_t e = 0; e < f->pattern.start[f->pattern.n]; e++) f->input[e] = values[f->source[e]];
    supple_result result = check_values(f, error);
    if (result != SUPPLE_OK) return result;
    /* A shift of the largest absolute row sum makes the matrix diagonally dominant: the loop ends for any sane one. */
    double s = shift ? *shift : 0;
    while (s < 1e8) {
        if (shift) *shift = s;
        if (attempt(f, s)) return SUPPLE_OK;
        s = s > 0 ? 4 * s : FIRST_SHIFT;
    }
    return spl_fail(error, SUPPLE_ERROR_SOLVE,
                    "the incomplete factorisation failed with every shift: the matrix is far from positive definite");
}

static void solve_one(const spl_ic0 *f, double *x)
{
    const spl_pattern *p = &f->pattern;
    for (int32_t j = 0; j < p->n; j++) { /* x = L \ x */
        size_t e = p->start[j];
        double v = x[j] /= f->values[e];
        for (e++; e < p->start[j + 1]; e++) x[p->row[e]] -= f->values[e] * v;
    }
    for (int32_t j = p->n - 1; j >= 0; j--) { /* x = L^T \ x */
        double v = x[j];
        for (size_t e = p->start[j] + 1; e < p->start[j + 1]; e++) v -= f->values[e] * x[p->row[e]];
        x[j] = v / f->values[p->start[j]];
    }
}

static void solve_many(const spl_ic0 *f, double *x, size_t k)
{
    const spl_pattern *p = &f->pattern;
    for (int32_t j = 0; j < p->n; j++) {
        double *xj = x + (size_t)j * k, inverse = 1 / f->values[p->start[j]];
        for (size_t c = 0; c < k; c++) xj[c] *= inverse;
        for (size_t e = p->start[j] + 1; e < p->start[j + 1]; e++)
            for (size_t c = 0; c < k; c++) x[(size_t)p->row[e] * k + c] -= f->values[e] * xj[c];
    }
    for (int32_t j = p->n - 1; j >= 0; j--) {
        double *xj = x + (size_t)j * k, inverse = 1 / f->values[p->start[j]];
        for (size_t e = p->start[j] + 1; e < p->start[j + 1]; e++)
            for (size_t c = 0; c < k; c++) xj[c] -= f->values[e] * x[(size_t)p->row[e] * k + c];
        for (size_t c = 0; c < k; c++) xj[c] *= inverse;
    }
}

void spl_ic0_solve(const spl_ic0 *f, const double *x, double *y, int32_t k)
{
    if (x != y) memcpy(y, x, (size_t)f->pattern.n * (size_t)k * sizeof *y);
    if (k == 1)
        solve_one(f, y);
    else if (k == 3)
        solve_many(f, y, 3); /* a constant: the compiler unrolls */
    else
        solve_many(f, y, (size_t)k);
}

void spl_ic0_precondition(void *context, const double *x, double *y, int32_t k)
{
    spl_ic0_solve(context, x, y, k);
}
