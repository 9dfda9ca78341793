/* libsupple-cholmod.so: CHOLMOD (T. Davis, W. Hager) behind supple_solver_backend.
 *
 * Licence: this file is MIT as the rest of Supple, but the library it makes links CHOLMOD, whose Supernodal module is
 * under the GNU GPL, version 2 or later: the built plug-in is under the GPL. libsupple.so never links it.
 *
 * BLAS runs on one thread: its own threading changes bits and fights the host's threads. OpenBLAS keeps that number per
 * process; a host that uses the same OpenBLAS sees it set. CHOLMOD's own OpenMP loops are kept to the calling thread.
 */
#include <cholmod.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <supple/plugin.h>

/* OpenBLAS only, if the BLAS is OpenBLAS. */
extern void openblas_set_num_threads(int count) __attribute__((weak));
/* OpenMP's, if CHOLMOD was built with it: a property of the calling thread, so it is set and put back. */
extern int omp_get_max_active_levels(void) __attribute__((weak));
extern void omp_set_max_active_levels(int levels) __attribute__((weak));

typedef struct factor {
    cholmod_common common;
    cholmod_sparse matrix; /* its arrays are owned; values are the caller's during a factorisation */
    cholmod_factor *L;
    cholmod_dense *x, *y, *e; /* work of the solves */
} factor;

__attribute__((format(printf, 3, 4))) static supple_result fail(supple_error *error, supple_result code,
                                                                const char *format, ...)
{
    if (!error) return code;
    va_list arguments;
    va_start(arguments, format);
    error->code = code;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return code;
}

static supple_result fail_by_status(const factor *f, const char *what, supple_error *error)
{
    if (f->common.status == CHOLMOD_OUT_OF_MEMORY)
        return fail(error, SUPPLE_ERROR_MEMORY, "CHOLMOD: out of memory in the %s", what);
    return fail(error, SUPPLE_ERROR_SOLVE, "CHOLMOD: the %s failed with status %d", what, f->common.status);
}

static int enter_one_thread(void)
{
    if (!omp_get_max_active_levels || !omp_set_max_active_levels) return -1;
    int before = omp_get_max_active_levels();
    omp_set_max_active_levels(0);
    return before;
}

static void leave_one_thread(int before)
{
    if (before >= 0) omp_set_max_active_levels(before);
}

static void destroy(void *object)
{
    factor *f = object;
    if (!f) return;
    cholmod_free_factor(&f->L, &f->common);
    cholmod_free_dense(&f->x, &f->common);
    cholmod_free_dense(&f->y, &f->common);
    cholmod_free_dense(&f->e, &f->common);
    cholmod_finish(&f->common);
    free(f->matrix.p);
    free(f->matrix.i);
    free(f);
}

static bool copy_pattern(factor *f, int32_t n, const size_t *start, const int32_t *row)
{
    int *p = malloc(((size_t)n + 1) * sizeof *p), *i = malloc((start[n] + 1) * sizeof *i);
    f->matrix = (cholmod_sparse){.nrow = (size_t)n,
                                 .ncol = (size_t)n,
                                 .nzmax = start[n],
                                 .p = p,
                                 .i = i,
                                 .stype = -1, /* the lower triangle */
                                 .itype = CHOLMOD_INT,
                                 .xtype = CHOLMOD_PATTERN,
                                 .dtype = CHOLMOD_DOUBLE,
                                 .sorted = 1,
                                 .packed = 1};
    if (!p || !i) return false;
    for (int32_t j = 0; j <= n; j++) p[j] = (int)start[j];
    for (size_t e = 0; e < start[n]; e++) i[e] = row[e];
    return true;
}

/* `supernodal`: as cholmod_common has it. The ordering is CHOLMOD's own choice: AMD, and METIS too where AMD's fill is
 * large and CHOLMOD was built with it. */
static supple_result create_with(int supernodal, int32_t n, const size_t *start, const int32_t *row, void **out,
                                 supple_error *error)
{
    *out = NULL;
    if (n < 1 || start[n] > INT_MAX) return fail(error, SUPPLE_ERROR_ARGUMENT, "CHOLMOD: %d columns", (int)n);
    factor *f = calloc(1, sizeof *f);
    if (!f) return fail(error, SUPPLE_ERROR_MEMORY, "CHOLMOD: out of memory");
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    cholmod_start(&f->common);
    f->common.print = 0;
    f->common.supernodal = supernodal;
    f->common.final_ll = supernodal == CHOLMOD_SUPERNODAL;
    f->common.quick_return_if_not_posdef = 1;
    supple_result result = SUPPLE_OK;
    if (!copy_pattern(f, n, start, row))
        result = fail(error, SUPPLE_ERROR_MEMORY, "CHOLMOD: out of memory");
    else if (!(f->L = cholmod_analyze(&f->matrix, &f->common)))
        result = fail_by_status(f, "analysis", error);
    if (result == SUPPLE_OK)
        *out = f;
    else
        destroy(f);
    return result;
}

static supple_result create(int32_t n, const size_t *start, const int32_t *row, void **out, supple_error *error)
{
    return create_with(CHOLMOD_AUTO, n, start, row, out, error);
}

static supple_result create_simplicial(int32_t n, const size_t *start, const int32_t *row, void **out,
                                       supple_error *error)
{
    return create_with(CHOLMOD_SIMPLICIAL, n, start, row, out, error);
}

static supple_result create_supernodal(int32_t n, const size_t *start, const int32_t *row, void **out,
                                       supple_error *error)
{
    return create_with(CHOLMOD_SUPERNODAL, n, start, row, out, error);
}

static supple_result factorise(void *object, const double *values, int32_t *column, supple_error *error)
{
    factor *f = object;
    double *no_longer_const;
    *(const double **)&no_longer_const = values; /* CHOLMOD reads them only */
    f->matrix.x = no_longer_const;
    f->matrix.xtype = CHOLMOD_REAL;
    *column = -1;
    int levels = enter_one_thread();
    int done = cholmod_factorize(&f->matrix, f->L, &f->common);
    leave_one_thread(levels);
    f->matrix.x = NULL;
    bool positive = f->L->minor >= f->L->n;
    if (done && positive && f->common.status >= CHOLMOD_OK) {
        /* A simplicial LDL^T accepts negative pivots. */
        const double *L = f->L->x;
        const int *start = f->L->p;
        if (f->L->is_super || f->L->is_ll) return SUPPLE_OK;
        for (size_t j = 0; j < f->L->n && positive; j++)
            if (!(L[start[j]] > 0)) f->L->minor = j, positive = false;
        if (positive) return SUPPLE_OK;
    } else if (!done || f->common.status != CHOLMOD_NOT_POSDEF) {
        return fail_by_status(f, "factorisation", error);
    }
    *column = f->L->minor < f->L->n ? ((const int *)f->L->Perm)[f->L->minor] : -1;
    return fail(error, SUPPLE_ERROR_SOLVE, "CHOLMOD: the matrix is not positive definite at column %d", (int)*column);
}

static supple_result solve(void *object, double *x, int32_t k, supple_error *error)
{
    factor *f = object;
    size_t n = f->L->n, columns = (size_t)k;
    cholmod_dense *b = cholmod_allocate_dense(n, columns, n, CHOLMOD_REAL, &f->common);
    if (!b) return fail_by_status(f, "solve", error);
    double *to = b->x;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < columns; c++) to[c * n + i] = x[i * columns + c];
    int levels = enter_one_thread();
    int done = cholmod_solve2(CHOLMOD_A, f->L, b, NULL, &f->x, NULL, &f->y, &f->e, &f->common);
    leave_one_thread(levels);
    cholmod_free_dense(&b, &f->common);
    if (!done) return fail_by_status(f, "solve", error);
    const double *from = f->x->x;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < columns; c++) x[i * columns + c] = from[c * n + i];
    return SUPPLE_OK;
}

static double entries(const void *object)
{
    const factor *f = object;
    return f->L->is_super ? (double)f->L->xsize : f->L->nzmax ? (double)f->L->nzmax : f->common.lnz;
}

#define BACKEND(label, creator)                                                                                        \
    {                                                                                                                  \
        .version = SUPPLE_SOLVER_BACKEND_VERSION, .name = label,                                                       \
        .licence = "GPL-2.0-or-later (CHOLMOD's Supernodal module)", .create = creator, .factorise = factorise,        \
        .solve = solve, .entries = entries, .destroy = destroy                                                         \
    }
static const supple_solver_backend automatic = BACKEND("cholmod", create);
static const supple_solver_backend simplicial = BACKEND("cholmod-simplicial", create_simplicial);
static const supple_solver_backend supernodal = BACKEND("cholmod-supernodal", create_supernodal);

/* The plug-in's one function. NULL: CHOLMOD chooses; else "simplicial" or "supernodal". NULL if there is no such one.
 */
SUPPLE_API const supple_solver_backend *supple_cholmod_backend(const char *variant);
const supple_solver_backend *supple_cholmod_backend(const char *variant)
{
    if (!variant) return &automatic;
    if (strcmp(variant, "simplicial") == 0) return &simplicial;
    return strcmp(variant, "supernodal") == 0 ? &supernodal : NULL;
}
