#include "methods/projective/ties.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

enum { BATCH = 16 }; /* right-hand sides of one solve for columns */

struct spl_ties {
    supple_allocator allocator;
    int32_t n, rows, capacity, columns;
    int32_t *row;    /* by node: where columns have it, or -1 */
    int32_t *rowed;  /* by row: its node */
    float *column;   /* columns x rows; not zeroed, so that what is never used is no memory */
    int32_t *owner;  /* by column: its node, or -1 */
    int32_t *at;     /* by node: its column, or -1 */
    uint64_t *used;  /* by column: when, last */
    uint64_t now;    /* counts preparations */
    float *batch;    /* BATCH x n, interleaved */
    int32_t *wanted; /* columns that are to be solved for */
    int32_t solved;  /* of the last preparation */
    double *S;       /* count x count: its Cholesky factor */
    double *side;    /* 3 x count */
    int32_t *node;   /* 4 x count, -1 where held or none */
    double *weight;  /* 4 x count */
    int32_t count;
};

spl_vec3 spl_tie_gap(const spl_tie *t, const double *x, size_t stride)
{
    spl_vec3 d = spl_scale(t->offset, -1);
    for (int i = 0; i < 4; i++) {
        if (t->vertex[i] < 0) continue;
        const double *p = x + stride * (size_t)t->vertex[i];
        d = spl_madd(d, spl_v3(p[0], p[1], p[2]), t->coefficient[i]);
    }
    return t->sided ? spl_scale(t->normal, fmin(spl_dot(d, t->normal), 0)) : d;
}

static bool number_rows(spl_ties *s, const bool *may_touch)
{
    s->row = spl_new(&s->allocator, (size_t)s->n, sizeof *s->row);
    s->rowed = spl_new(&s->allocator, (size_t)s->n, sizeof *s->rowed);
    if (!s->row || !s->rowed) return false;
    for (int32_t i = 0; i < s->n; i++) {
        s->row[i] = !may_touch || may_touch[i] ? s->rows : -1;
        if (s->row[i] >= 0) s->rowed[s->rows++] = i;
    }
    return true;
}

supple_result spl_ties_create(int32_t n, const bool *may_touch, int32_t capacity, int32_t columns,
                              const supple_allocator *a, spl_ties **out, supple_error *error)
{
    *out = NULL;
    spl_ties *s = spl_new(a, 1, sizeof *s);
    if (!s) return spl_fail_memory(error, "the contacts");
    size_t c = (size_t)capacity;
    *s = (spl_ties){.allocator = *a, .n = n, .capacity = capacity, .columns = columns};
    if (!number_rows(s, may_touch)) {
        spl_ties_destroy(s);
        return spl_fail_memory(error, "the contacts");
    }
    s->column = spl_resize(a, NULL, (size_t)columns, (size_t)s->rows * sizeof *s->column);
    s->owner = spl_new(a, (size_t)columns, sizeof *s->owner);
    s->used = spl_new(a, (size_t)columns, sizeof *s->used);
    s->at = spl_new(a, (size_t)n, sizeof *s->at);
    s->batch = spl_new(a, (size_t)n, BATCH * sizeof *s->batch);
    s->wanted = spl_new(a, (size_t)columns, sizeof *s->wanted);
    s->S = spl_new(a, c, c * sizeof *s->S);
    s->side = spl_new(a, c, 3 * sizeof *s->side);
    s->node = spl_new(a, c, 4 * sizeof *s->node);
    s->weight = spl_new(a, c, 4 * sizeof *s->weight);
    if (!s->column || !s->owner || !s->used || !s->at || !s->batch || !s->wanted || !s->S || !s->side || !s->node ||
        !s->weight) {
        spl_ties_destroy(s);
        return spl_fail_memory(error, "the contacts");
    }
    spl_ties_forget(s);
    *out = s;
    return SUPPLE_OK;
}

void spl_ties_destroy(spl_ties *s)
{
    if (!s) return;
    supple_allocator a = s->allocator;
    void *blocks[] = {s->row,    s->rowed, s->column, s->owner, s->used,   s->at, s->batch,
                      s->wanted, s->S,     s->side,   s->node,  s->weight, s};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
}

void spl_ties_forget(spl_ties *s)
{
    for (int32_t i = 0; i < s->n; i++) s->at[i] = -1;
    for (int32_t i = 0; i < s->columns; i++) s->owner[i] = -1;
    for (int32_t i = 0; i < s->columns; i++) s->used[i] = 0;
    s->now = 0;
    s->count = 0;
}

int32_t spl_ties_capacity(const spl_ties *s)
{
    return s->capacity < s->columns / 4 ? s->capacity : s->columns / 4;
}

int32_t spl_ties_solved(const spl_ties *s)
{
    return s->solved;
}

/* ---- columns of A^-1 ---- */

/* A column for a node that has none: the one that was not used for longest, free ones first. There is always one that
 * no tie needs, since there are four for every tie. */
static int32_t place_column(spl_ties *s, int32_t node)
{
    int32_t best = 0;
    for (int32_t i = 1; i < s->columns; i++)
        if (s->used[i] < s->used[best]) best = i;
    if (s->owner[best] >= 0) s->at[s->owner[best]] = -1;
    s->owner[best] = node;
    s->at[node] = best;
    return best;
}

/* Marks the columns of all ties, and lists those that must be solved for. */
static int32_t list_columns(spl_ties *s)
{
    int32_t wanted = 0;
    for (int32_t i = 0; i < 4 * s->count; i++)
        if (s->node[i] >= 0 && s->at[s->node[i]] >= 0) s->used[s->at[s->node[i]]] = s->now;
    for (int32_t i = 0; i < 4 * s->count; i++) {
        if (s->node[i] < 0 || s->at[s->node[i]] >= 0) continue;
        int32_t column = place_column(s, s->node[i]);
        s->used[column] = s->now;
        s->wanted[wanted++] = column;
    }
    return wanted;
}

static supple_result solve_columns(spl_ties *s, spl_factor *factor, int32_t count, supple_error *error)
{
    size_t n = (size_t)s->n;
    for (int32_t first = 0; first < count; first += BATCH) {
        int32_t k = count - first < BATCH ? count - first : BATCH;
        memset(s->batch, 0, n * (size_t)k * sizeof *s->batch);
        for (int32_t j = 0; j < k; j++) s->batch[(size_t)s->owner[s->wanted[first + j]] * (size_t)k + (size_t)j] = 1;
        supple_result result = spl_factor_solve_float(factor, s->batch, k, error);
        if (result != SUPPLE_OK) return result;
        for (int32_t j = 0; j < k; j++) {
            float *to = s->column + (size_t)s->rows * (size_t)s->wanted[first + j];
            for (int32_t i = 0; i < s->rows; i++) to[i] = s->batch[(size_t)s->rowed[i] * (size_t)k + (size_t)j];
        }
    }
    s->solved = count;
    return SUPPLE_OK;
}

/* ---- S ---- */

/* c_i A^-1 c_j */
static double entry(const spl_ties *s, int32_t i, int32_t j)
{
    double sum = 0;
    for (int a = 0; a < 4; a++) {
        int32_t u = s->node[4 * i + a];
        if (u < 0) continue;
        const float *column = s->column + (size_t)s->rows * (size_t)s->at[u];
        double part = 0;
        for (int b = 0; b < 4; b++)
            if (s->node[4 * j + b] >= 0) part += s->weight[4 * j + b] * (double)column[s->row[s->node[4 * j + b]]];
        sum += s->weight[4 * i + a] * part;
    }
    return sum;
}

/* Cholesky in place, the lower triangle by rows. */
static bool factorise(double *S, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        double *row = S + (size_t)i * (size_t)n;
        for (int32_t j = 0; j <= i; j++) {
            const double *other = S + (size_t)j * (size_t)n;
            double sum[4] = {0};
            int32_t k = 0;
            for (; k + 4 <= j; k += 4)
                for (int q = 0; q < 4; q++) sum[q] += row[k + q] * other[k + q];
            for (; k < j; k++) sum[0] += row[k] * other[k];
            double left = row[j] - ((sum[0] + sum[1]) + (sum[2] + sum[3]));
            if (i == j && !(left > 0)) return false;
            row[j] = i == j ? sqrt(left) : left / other[j];
        }
    }
    return true;
}

supple_result spl_ties_prepare(spl_ties *s, spl_factor *factor, const int32_t *unknown, const spl_tie *tie,
                               int32_t count, supple_error *error)
{
    s->count = count;
    s->now++;
    for (int32_t j = 0; j < count; j++)
        for (int i = 0; i < 4; i++) {
            int32_t v = tie[j].vertex[i];
            s->node[4 * j + i] = v < 0 ? -1 : unknown[v];
            s->weight[4 * j + i] = tie[j].coefficient[i];
        }
    for (int32_t i = 0; i < 4 * count; i++)
        if (s->node[i] >= 0 && s->row[s->node[i]] < 0) {
            s->count = 0;
            return spl_fail(error, SUPPLE_ERROR_SOLVE, "projective: a contact inside of the body");
        }
    supple_result result = solve_columns(s, factor, list_columns(s), error);
    if (result != SUPPLE_OK) return result;
    for (int32_t i = 0; i < count; i++) {
        for (int32_t j = 0; j <= i; j++) s->S[(size_t)i * (size_t)count + (size_t)j] = entry(s, i, j);
        s->S[(size_t)i * (size_t)count + (size_t)i] *= 1 + 1e-6; /* of float columns */
        s->S[(size_t)i * (size_t)count + (size_t)i] += 1 / tie[i].stiffness;
    }
    if (factorise(s->S, count)) return SUPPLE_OK;
    s->count = 0;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "projective: the contacts' system is not positive");
}

/* side <- S^-1 side, three right-hand sides. */
static void solve_S(const spl_ties *s)
{
    int32_t n = s->count;
    for (int32_t i = 0; i < n; i++) {
        const double *row = s->S + (size_t)i * (size_t)n;
        double *b = s->side + 3 * i;
        for (int32_t k = 0; k < i; k++)
            for (int c = 0; c < 3; c++) b[c] -= row[k] * s->side[3 * k + c];
        for (int c = 0; c < 3; c++) b[c] /= row[i];
    }
    for (int32_t i = n - 1; i >= 0; i--) {
        const double *row = s->S + (size_t)i * (size_t)n;
        double *b = s->side + 3 * i;
        for (int c = 0; c < 3; c++) b[c] /= row[i];
        for (int32_t k = 0; k < i; k++)
            for (int c = 0; c < 3; c++) s->side[3 * k + c] -= row[k] * b[c];
    }
}

supple_result spl_ties_apply(spl_ties *s, spl_factor *factor, float *y, float *work, supple_error *error)
{
    if (s->count == 0) return SUPPLE_OK;
    for (int32_t j = 0; j < s->count; j++)
        for (int c = 0; c < 3; c++) {
            double sum = 0;
            for (int i = 0; i < 4; i++)
                if (s->node[4 * j + i] >= 0)
                    sum += s->weight[4 * j + i] * (double)y[3 * (size_t)s->node[4 * j + i] + (size_t)c];
            s->side[3 * j + c] = sum;
        }
    solve_S(s);
    memset(work, 0, 3 * (size_t)s->n * sizeof *work);
    for (int32_t j = 0; j < s->count; j++)
        for (int i = 0; i < 4; i++)
            for (int c = 0; c < 3 && s->node[4 * j + i] >= 0; c++)
                work[3 * (size_t)s->node[4 * j + i] + (size_t)c] += (float)(s->weight[4 * j + i] * s->side[3 * j + c]);
    supple_result result = spl_factor_solve_float(factor, work, 3, error);
    for (size_t i = 0; result == SUPPLE_OK && i < 3 * (size_t)s->n; i++) y[i] -= work[i];
    return result;
}
