#include "sparse/factor.h"

#include "core/error.h"
#include "core/memory.h"
#include "sparse/ldlt.h"

#include <math.h>

struct spl_factor {
    supple_allocator allocator;
    int32_t block;
    spl_ldlt *own;                        /* or */
    const supple_solver_backend *backend; /* with */
    void *theirs;
    size_t *source; /* backend: where the values of the scalar matrix come from */
    size_t value_count;
    double *values;
    bool single, ready;
    spl_ldlt_failure failure;
};

spl_factor_options spl_factor_options_of(const supple_config *config)
{
    return (spl_factor_options){.backend = config ? config->solver : NULL};
}

/* A backend knows scalar matrices only: blocks are taken apart. */
static supple_result create_theirs(spl_factor *f, const spl_pattern *p, supple_error *error)
{
    spl_pattern scalar;
    supple_result result = spl_pattern_expand(p, &f->allocator, &scalar, &f->source, error);
    if (result != SUPPLE_OK) return result;
    f->value_count = scalar.start[scalar.n];
    f->values = spl_new(&f->allocator, f->value_count, sizeof *f->values);
    if (f->values)
        result = f->backend->create(scalar.n, scalar.start, scalar.row, &f->theirs, error);
    else
        result = spl_fail_memory(error, "the values of a sparse matrix");
    spl_pattern_release(&scalar, &f->allocator);
    return result;
}

supple_result spl_factor_create(const spl_pattern *p, const spl_factor_options *options, const supple_allocator *a,
                                spl_pool *pool, spl_factor **out, supple_error *error)
{
    *out = NULL;
    spl_factor_options o = options ? *options : (spl_factor_options){0};
    supple_result result = spl_pattern_check(p, error);
    if (result != SUPPLE_OK) return result;
    spl_factor *f = spl_new(a, 1, sizeof *f);
    if (!f) return spl_fail_memory(error, "a sparse factor");
    *f = (spl_factor){.allocator = *a, .block = p->block, .single = o.single, .failure = {.unknown = -1}};
    if (o.backend && !o.indefinite && !o.single && p->n > 0) {
        f->backend = o.backend;
        result = create_theirs(f, p, error);
    } else {
        spl_ldlt_options own = {.indefinite = o.indefinite, .single = o.single, .plain = o.plain};
        result = spl_ldlt_create(p, &own, a, pool, &f->own, error);
    }
    if (result == SUPPLE_OK)
        *out = f;
    else
        spl_factor_destroy(f);
    return result;
}

void spl_factor_destroy(spl_factor *f)
{
    if (!f) return;
    supple_allocator a = f->allocator;
    if (f->backend) f->backend->destroy(f->theirs);
    spl_ldlt_destroy(f->own);
    spl_free(&a, f->source);
    spl_free(&a, f->values);
    spl_free(&a, f);
}

/* Says what a failed pivot most likely means for a mesh. */
static supple_result explain(const spl_factor *f, supple_error *error)
{
    const spl_ldlt_failure *w = &f->failure;
    int node = (int)(w->unknown / f->block);
    if (!isfinite(w->pivot) || !isfinite(w->diagonal))
        return spl_fail(
            error, SUPPLE_ERROR_SOLVE,
            "the factorisation met a value that is not finite at node %d: an element near it is likely flat "
            "or a material value is out of range",
            node);
    if (w->diagonal == 0)
        return spl_fail(error, SUPPLE_ERROR_SOLVE,
                        "the factorisation failed at node %d, whose diagonal is zero: it likely belongs to no element",
                        node);
    if (fabs(w->pivot) <= 1e-8 * fabs(w->diagonal))
        return spl_fail(
            error, SUPPLE_ERROR_SOLVE,
            "the factorisation failed at node %d (pivot %.3g of %.3g): the matrix is singular; a part of the "
            "mesh is likely held by no bone, or at too few points",
            node, w->pivot, w->diagonal);
    return spl_fail(error, SUPPLE_ERROR_SOLVE,
                    "the factorisation failed at node %d (pivot %.3g of %.3g): the matrix is not positive definite; an "
                    "element near it is likely inverted or its stiffness negative",
                    node, w->pivot, w->diagonal);
}

static supple_result factorise_theirs(spl_factor *f, const double *values, supple_error *error)
{
    for (size_t i = 0; i < f->value_count; i++) f->values[i] = values[f->source[i]];
    int32_t column = -1;
    supple_result result = f->backend->factorise(f->theirs, f->values, &column, error);
    f->ready = result == SUPPLE_OK;
    if (result != SUPPLE_ERROR_SOLVE) return result;
    f->failure = (spl_ldlt_failure){.unknown = column};
    if (column < 0) return result;
    return spl_fail(error, SUPPLE_ERROR_SOLVE,
                    "the factorisation by %.40s failed at node %d: the matrix is not positive definite; a part of the "
                    "mesh is likely held by no bone, or an element near it is inverted",
                    f->backend->name, (int)(column / f->block));
}

supple_result spl_factor_factorise(spl_factor *f, const double *values, supple_error *error)
{
    f->failure = (spl_ldlt_failure){.unknown = -1};
    f->ready = false;
    if (f->backend) return factorise_theirs(f, values, error);
    if (!spl_ldlt_factorise(f->own, values, &f->failure)) return explain(f, error);
    f->ready = true;
    return SUPPLE_OK;
}

static supple_result check_solve(const spl_factor *f, int32_t k, bool single, supple_error *error)
{
    if (k < 1) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "sparse solve: %d right-hand sides", (int)k);
    if (!f->ready) return spl_fail(error, SUPPLE_ERROR_SOLVE, "sparse solve: there is no factorisation");
    if (single && !f->single)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "sparse solve: the factor was not kept in float");
    return SUPPLE_OK;
}

supple_result spl_factor_solve(spl_factor *f, double *x, int32_t k, supple_error *error)
{
    supple_result result = check_solve(f, k, false, error);
    if (result != SUPPLE_OK) return result;
    if (f->backend) return f->backend->solve(f->theirs, x, k, error);
    spl_ldlt_solve(f->own, x, k);
    return SUPPLE_OK;
}

supple_result spl_factor_solve_float(spl_factor *f, float *x, int32_t k, supple_error *error)
{
    supple_result result = check_solve(f, k, true, error);
    if (result == SUPPLE_OK) spl_ldlt_solve_float(f->own, x, k);
    return result;
}

spl_factor_stats spl_factor_get_stats(const spl_factor *f)
{
    spl_factor_stats s = {.backend = f->backend ? f->backend->name : "supple",
                          .failed_node = f->failure.unknown < 0 ? -1 : f->failure.unknown / f->block,
                          .pivot = f->failure.pivot,
                          .diagonal = f->failure.diagonal};
    if (f->backend) {
        s.entries = f->backend->entries(f->theirs);
        s.bytes = (size_t)(s.entries * sizeof(double));
    } else {
        const spl_symbolic *y = spl_ldlt_symbolic(f->own);
        s.entries = y->entry_count;
        s.flops = y->flops;
        s.bytes = spl_ldlt_bytes(f->own, f->single);
    }
    return s;
}
