#include "sparse/ic3.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/cpu.h"
#include "sparse/ic3_private.h"

#include <math.h>
#include <string.h>

struct spl_ic3 {
    supple_allocator allocator;
    spl_pool *pool;
    bool single;
    const spl_ic3_kernels *kernels;
    int32_t n, part_count;
    int32_t *cut;     /* part_count + 1 */
    size_t *start;    /* n + 1 */
    int32_t *column;  /* by entry, ascending in each row */
    size_t *source;   /* by entry: where in the matrix's values */
    size_t *diagonal; /* by node */
    double *U, *D, *E;
    float *u, *e;
    double *w, *t;
    float *fw, *ft;
    bool *failed;   /* by part, and the last nodes' */
    int32_t *stiff; /* nodes whose E has something added */
    int32_t stiff_count;
};

/* ---- creation ---- */

static supple_result take_parts(spl_ic3 *f, const spl_ic3_options *o, supple_error *error)
{
    f->part_count = o && o->cut ? o->part_count : 1;
    f->cut = spl_new(&f->allocator, (size_t)f->part_count + 1, sizeof *f->cut);
    f->failed = spl_new(&f->allocator, (size_t)f->part_count + 1, sizeof *f->failed);
    if (!f->cut || !f->failed) return spl_fail_memory(error, "an incomplete factor");
    f->cut[f->part_count] = f->n;
    for (int32_t p = 0; o && o->cut && p <= f->part_count; p++) f->cut[p] = o->cut[p];
    return SUPPLE_OK;
}

/* Counts, and if `f->column` is there lists, what is left of the diagonal. False if a part is coupled with another. */
static bool list_entries(spl_ic3 *f, const spl_rows *r)
{
    size_t at = 0;
    for (int32_t i = 0, part = 0; i < f->n; i++) {
        while (part < f->part_count && i >= f->cut[part + 1]) part++;
        f->start[i] = at;
        for (size_t q = r->start[i]; q < r->start[i + 1] && r->column[q] <= i; q++) {
            if (r->column[q] == i) {
                f->diagonal[i] = q;
                break;
            }
            if (part < f->part_count && r->column[q] < f->cut[part]) return false;
            if (f->column) {
                f->column[at] = r->column[q];
                f->source[at] = q;
            }
            at++;
        }
    }
    f->start[f->n] = at;
    return true;
}

static bool take_numbers(spl_ic3 *f)
{
    const supple_allocator *a = &f->allocator;
    size_t n = (size_t)f->n, entries = f->start[n];
    f->column = spl_new(a, entries, sizeof *f->column);
    f->source = spl_new(a, entries, sizeof *f->source);
    f->U = spl_new(a, 9 * entries, sizeof *f->U);
    f->D = spl_new(a, 9 * n, sizeof *f->D);
    f->E = spl_new(a, 9 * n, sizeof *f->E);
    f->stiff = spl_new(a, n, sizeof *f->stiff);
    bool ok = f->column && f->source && f->U && f->D && f->E && f->stiff;
    if (f->single) {
        f->u = spl_new(a, 9 * entries + 4, sizeof *f->u);
        f->e = spl_new(a, 12 * n, sizeof *f->e);
        f->fw = spl_new(a, 4 * n, sizeof *f->fw);
        f->ft = spl_new(a, 4 * n, sizeof *f->ft);
        return ok && f->u && f->e && f->fw && f->ft;
    }
    f->w = spl_new(a, 3 * n, sizeof *f->w);
    f->t = spl_new(a, 3 * n, sizeof *f->t);
    return ok && f->w && f->t;
}

static const spl_ic3_kernels *kernels_of(bool plain)
{
#ifdef SPL_HAVE_AVX2
    if (!plain && spl_cpu_has_avx2()) return &spl_ic3_kernels_avx2;
#endif
    (void)plain;
    return &spl_ic3_kernels_plain;
}

static supple_result build(spl_ic3 *f, const spl_rows *r, const spl_ic3_options *o, supple_error *error)
{
    supple_result result = take_parts(f, o, error);
    if (result != SUPPLE_OK) return result;
    f->start = spl_new(&f->allocator, (size_t)f->n + 1, sizeof *f->start);
    f->diagonal = spl_new(&f->allocator, (size_t)f->n, sizeof *f->diagonal);
    if (!f->start || !f->diagonal) return spl_fail_memory(error, "an incomplete factor");
    if (!list_entries(f, r))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "sparse: parts of an incomplete factor are coupled");
    if (!take_numbers(f)) return spl_fail_memory(error, "an incomplete factor");
    list_entries(f, r);
    return SUPPLE_OK;
}

supple_result spl_ic3_create(const spl_rows *r, int32_t n, const spl_ic3_options *options, const supple_allocator *a,
                             spl_pool *pool, spl_ic3 **out, supple_error *error)
{
    *out = NULL;
    if (r->block != 3 || n < 0 || n > r->n)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "sparse: an incomplete factor in blocks of 3 of %d nodes of %d",
                        (int)n, (int)r->n);
    spl_ic3 *f = spl_new(a, 1, sizeof *f);
    if (!f) return spl_fail_memory(error, "an incomplete factor");
    f->allocator = *a;
    f->pool = pool;
    f->n = n;
    f->single = options && options->single;
    f->kernels = kernels_of(options && options->plain);
    supple_result result = build(f, r, options, error);
    if (result == SUPPLE_OK)
        *out = f;
    else
        spl_ic3_destroy(f);
    return result;
}

void spl_ic3_destroy(spl_ic3 *f)
{
    if (!f) return;
    supple_allocator a = f->allocator;
    void *blocks[] = {f->cut, f->start, f->column, f->source, f->diagonal, f->U,  f->D,      f->E,
                      f->u,   f->e,     f->w,      f->t,      f->fw,       f->ft, f->failed, f->stiff};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_free(&a, f);
}

/* ---- factorisation ---- */

typedef struct attempt {
    spl_ic3 *f;
    const double *value, *extra;
    double shift;
} attempt;

/* C -= A B^T */
static void subtract_product(const double *A, const double *B, double *C)
{
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) C[3 * c + r] -= A[r] * B[c] + A[3 + r] * B[3 + c] + A[6 + r] * B[6 + c];
}

/* A E for a symmetric E. */
static void multiply3(const double *A, const double *E, double *C)
{
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) C[3 * c + r] = A[r] * E[3 * c] + A[3 + r] * E[3 * c + 1] + A[6 + r] * E[3 * c + 2];
}

/* E = D^-1 by Cholesky; false where a pivot is not clearly positive against the block's own diagonal. */
static bool invert(const double *D, const double floor[3], double *E)
{
    double a = D[0], l = D[1] / a, m = D[2] / a;
    if (!(a > floor[0])) return false;
    double b = D[4] - l * D[1];
    if (!(b > floor[1])) return false;
    double k = (D[5] - l * D[2]) / b, c = D[8] - m * D[2] - k * (D[5] - l * D[2]);
    if (!(c > floor[2])) return false;
    /* L^-1 = [1; -l 1; lk - m, -k, 1] */
    double p = l * k - m;
    E[0] = 1 / a + l * l / b + p * p / c;
    E[1] = E[3] = -l / b - k * p / c;
    E[2] = E[6] = p / c;
    E[4] = 1 / b + k * k / c;
    E[5] = E[7] = -k / c;
    E[8] = 1 / c;
    return true;
}

/* U_ij -= sum over common k < j of (U_ik E_k) U_jk^T; V holds the row's U E so far. */
static void take_common(const spl_ic3 *f, size_t row_i, size_t end_i, size_t j, const double *V, double *U)
{
    size_t p = row_i, q = f->start[j], last = f->start[j + 1];
    while (p < end_i && q < last) {
        int32_t a = f->column[p], b = f->column[q];
        if (a == b) subtract_product(V + 9 * (p - row_i), f->U + 9 * q, U);
        p += a <= b;
        q += b <= a;
    }
}

enum { ROW = 256 }; /* longer rows keep what is nearest */

static bool factorise_row(const attempt *t, size_t i)
{
    spl_ic3 *f = t->f;
    double V[9 * ROW], *D = f->D + 9 * i, floor[3];
    const double *A = t->value + 9 * f->diagonal[i];
    for (int c = 0; c < 9; c++) D[c] = A[c] + (t->extra ? t->extra[9 * i + (size_t)c] : 0);
    for (int c = 0; c < 3; c++) floor[c] = 1e-10 * D[4 * c];
    for (int c = 0; c < 9; c += 4) D[c] *= 1 + t->shift;
    size_t begin = f->start[i], end = f->start[i + 1];
    if (end - begin > ROW) { /* of such a row the farthest blocks count as 0 */
        memset(f->U + 9 * begin, 0, 9 * (end - begin - ROW) * sizeof *f->U);
        begin = end - ROW;
    }
    for (size_t q = begin; q < end; q++) {
        double *U = f->U + 9 * q;
        size_t j = (size_t)f->column[q];
        memcpy(U, t->value + 9 * f->source[q], 9 * sizeof *U);
        take_common(f, begin, q, j, V, U);
        multiply3(U, f->E + 9 * j, V + 9 * (q - begin));
        subtract_product(V + 9 * (q - begin), U, D);
    }
    return invert(D, floor, f->E + 9 * i);
}

static void factorise_part(const attempt *t, int32_t part)
{
    spl_ic3 *f = t->f;
    int32_t end = part < f->part_count ? f->cut[part + 1] : f->n;
    f->failed[part] = false;
    for (int32_t i = f->cut[part]; i < end && !f->failed[part]; i++) f->failed[part] = !factorise_row(t, (size_t)i);
}

static void factorise_range(void *context, size_t begin, size_t end)
{
    for (size_t part = begin; part < end; part++) factorise_part(context, (int32_t)part);
}

static bool try_shift(const attempt *t)
{
    spl_ic3 *f = t->f;
    spl_parallel_for(f->pool, (size_t)f->part_count, 1, factorise_range, (void *)t);
    for (int32_t p = 0; p < f->part_count; p++)
        if (f->failed[p]) return false;
    factorise_part(t, f->part_count);
    return !f->failed[f->part_count];
}

static void copy_inverse(spl_ic3 *f, size_t i)
{
    for (size_t c = 0; c < 3; c++)
        for (size_t r = 0; r < 3; r++) f->e[12 * i + 4 * c + r] = (float)f->E[9 * i + 3 * c + r];
}

static void copy_single(spl_ic3 *f)
{
    size_t n = (size_t)f->n;
    for (size_t i = 0; i < 9 * f->start[n]; i++) f->u[i] = (float)f->U[i];
    for (size_t i = 0; i < n; i++) copy_inverse(f, i);
}

/* E = (D + extra)^-1 of a node; `extra` may be NULL. */
static void set_inverse(spl_ic3 *f, size_t i, const double *extra)
{
    static const double none[3] = {0, 0, 0};
    double D[9];
    for (size_t c = 0; c < 9; c++) D[c] = f->D[9 * i + c] + (extra ? extra[c] : 0);
    if (!invert(D, none, f->E + 9 * i)) invert(f->D + 9 * i, none, f->E + 9 * i);
    if (f->single) copy_inverse(f, i);
}

void spl_ic3_stiffen(spl_ic3 *f, const int32_t *node, int32_t count, const double *extra)
{
    for (int32_t k = 0; k < f->stiff_count; k++) set_inverse(f, (size_t)f->stiff[k], NULL);
    f->stiff_count = 0;
    for (int32_t k = 0; k < count; k++) {
        f->stiff[f->stiff_count++] = node[k];
        set_inverse(f, (size_t)node[k], extra + 9 * (size_t)k);
    }
}

supple_result spl_ic3_factorise(spl_ic3 *f, const double *value, const double *extra, double *shift,
                                supple_error *error)
{
    for (int32_t i = 0; i < f->n; i++)
        for (int c = 0; c < 9; c += 4)
            if (!(value[9 * f->diagonal[i] + (size_t)c] > 0) || !isfinite(value[9 * f->diagonal[i] + (size_t)c]))
                return spl_fail(error, SUPPLE_ERROR_SOLVE,
                                "the incomplete factorisation met %g at node %d: the matrix is not positive definite; "
                                "an element near it is likely flat, or it belongs to none",
                                value[9 * f->diagonal[i] + (size_t)c], (int)i);
    attempt t = {f, value, extra, 0};
    for (; t.shift<1e8; t.shift = t.shift> 0 ? 4 * t.shift : 1e-3) {
        if (!try_shift(&t)) continue;
        if (shift) *shift = t.shift;
        f->stiff_count = 0;
        if (f->single) copy_single(f);
        return SUPPLE_OK;
    }
    return spl_fail(error, SUPPLE_ERROR_SOLVE,
                    "the incomplete factorisation failed with every shift: the matrix is far from positive definite");
}

/* ---- solves ---- */

typedef struct sweep {
    const spl_ic3 *f;
    spl_ic3_view view;
} sweep;

static void forward_range(void *context, size_t begin, size_t end)
{
    const sweep *s = context;
    spl_ic3_pass_fn *pass = s->f->single ? s->f->kernels->forward_float : s->f->kernels->forward;
    for (size_t p = begin; p < end; p++) {
        size_t last = p < (size_t)s->f->part_count ? (size_t)s->f->cut[p + 1] : (size_t)s->f->n;
        pass(&s->view, (size_t)s->f->cut[p], last);
    }
}

static void backward_range(void *context, size_t begin, size_t end)
{
    const sweep *s = context;
    spl_ic3_pass_fn *pass = s->f->single ? s->f->kernels->backward_float : s->f->kernels->backward;
    for (size_t p = begin; p < end; p++) {
        size_t last = p < (size_t)s->f->part_count ? (size_t)s->f->cut[p + 1] : (size_t)s->f->n;
        pass(&s->view, (size_t)s->f->cut[p], last);
    }
}

void spl_ic3_solve(spl_ic3 *f, const double *turn, const double *x, double *y)
{
    size_t parts = (size_t)f->part_count, n = (size_t)f->n;
    sweep s = {f,
               {.start = f->start,
                .column = f->column,
                .U = f->U,
                .E = f->E,
                .u = f->u,
                .e = f->e,
                .w = f->w,
                .t = f->t,
                .fw = f->fw,
                .ft = f->ft,
                .turn = turn,
                .x = x,
                .y = y}};
    if (f->single)
        memset(f->ft, 0, 4 * n * sizeof *f->ft);
    else
        memset(f->t, 0, 3 * n * sizeof *f->t);
    spl_parallel_for(f->pool, parts, 1, forward_range, &s);
    forward_range(&s, parts, parts + 1);
    backward_range(&s, parts, parts + 1);
    spl_parallel_for(f->pool, parts, 1, backward_range, &s);
}

size_t spl_ic3_bytes(const spl_ic3 *f)
{
    size_t number = f->single ? sizeof(float) : sizeof(double), n = (size_t)f->n;
    return 2 * (f->start[n] * (9 * number + sizeof(int32_t)) + n * (12 + 3) * number);
}
