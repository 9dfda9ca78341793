/* The linear system of a step, (7) with the constraints of (10).
 *
 * Constraints are v_i = 0 and a^T v_i = 0 with a along an axis of the vertex's frame, so the KKT system is solved by
 * leaving the held components out: the same velocities to the last bits, exact constraints, and a matrix that stays
 * positive definite. A factor outlives the step it was made in: it is the preconditioner of conjugate gradients as long
 * as they need few iterations, and is made anew when they do not. */
#include "core/error.h"
#include "core/timer.h"
#include "slide/dermis.h"

#define ACCURACY 1e-9 /* of the residual */

/* With an old factor, and with a new one, which is exact but for its floats. A factorisation takes as long as about
 * seven solves. An old factor that was not good enough makes the next steps, 1, 3, 7 and up to 15 of them, not try. */
enum { MOST_ITERATIONS = 8, MOST_WITH_NEW = 20, MOST_SKIPS = 15, GRAIN = 2048 };

typedef struct scaling {
    spl_dermis *s;
    double factor;
} scaling;

static void scale(void *context, size_t begin, size_t end)
{
    const scaling *w = context;
    for (size_t i = begin; i < end; i++) w->s->value[i] *= w->factor;
}

/* M (1 + h c) + h^2 K, and M v + h f. */
static void assemble(spl_dermis *s, double h)
{
    scaling w = {s, h * h};
    spl_assembly_gather(&s->assembly, s->element_K, s->value, s->pool);
    spl_parallel_for(s->pool, spl_pattern_values(&s->assembly.pattern), GRAIN, scale, &w);
    for (size_t v = 0; v < (size_t)s->net.surface.vertex_count; v++) {
        const double *m = s->mass + 3 * v, *u = s->v + 2 * v, *f = s->force + 2 * v;
        const int32_t *d = s->diagonal + 3 * v, *at = s->unknown + 2 * v;
        double k = 1 + h * s->drag[v];
        for (int i = 0; i < 3; i++)
            if (d[i] >= 0) s->value[d[i]] += k * m[i];
        for (int i = 0; i < 3 && s->tether_length; i++)
            if (d[i] >= 0) s->value[d[i]] += h * h * s->tether_K[3 * v + (size_t)i];
        if (at[0] >= 0) s->right[at[0]] = m[0] * u[0] + m[1] * u[1] + h * f[0];
        if (at[1] >= 0) s->right[at[1]] = m[1] * u[0] + m[2] * u[1] + h * f[1];
    }
}

static void multiply(void *context, const double *x, double *y, int32_t k)
{
    spl_dermis *s = context;
    spl_rows_multiply(&s->rows, s->value, x, k, y, s->pool);
}

/* In float: half the memory to read, and a preconditioner need not be exact. */
static void precondition(void *context, const double *x, double *y, int32_t k)
{
    spl_dermis *s = context;
    size_t n = (size_t)s->rows.n;
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    double scale = most > 0 ? 1 / most : 1; /* floats have a small range */
    for (size_t i = 0; i < n; i++) s->single[i] = (float)(scale * x[i]);
    spl_factor_solve_float(s->factor, s->single, k, NULL);
    for (size_t i = 0; i < n; i++) y[i] = most * (double)s->single[i];
}

static bool solve_by_factor(spl_dermis *s, int32_t most)
{
    spl_pcg_problem p = {.multiply = multiply,
                         .multiply_context = s,
                         .precondition = precondition,
                         .precondition_context = s,
                         .tolerance = ACCURACY,
                         .max_iterations = most,
                         .from_zero = true,
                         .recurrence = true};
    for (size_t i = 0; i < (size_t)s->rows.n; i++) s->solution[i] = 0;
    spl_pcg_result r = spl_pcg_solve(s->pcg, &p, s->right, s->solution, 1);
    s->stats.iterations += r.iterations;
    return r.status == SPL_PCG_CONVERGED;
}

/* Triangles that are being mended can be so much stiffer than their neighbours that rounding takes a pivot below zero.
 * Diagonals that are raised by a share of themselves are a drag on this one step; the skin mends a little later. */
static supple_result factorise(spl_dermis *s, supple_error *error)
{
    supple_result result = spl_factor_factorise(s->factor, s->value, error);
    for (double share = 1e-6; result == SUPPLE_ERROR_SOLVE && share < 1; share *= 10) {
        for (size_t v = 0; v < (size_t)s->net.surface.vertex_count; v++)
            for (size_t i = 3 * v; i < 3 * v + 3; i += 2)
                if (s->diagonal[i] >= 0) s->value[s->diagonal[i]] *= 1 + share;
        s->stats.factorisations++;
        result = spl_factor_factorise(s->factor, s->value, error);
    }
    return result;
}

/* A fresh factor; where floats do not do (a system too ill-conditioned for them), in double. */
static supple_result solve_anew(spl_dermis *s, supple_error *error)
{
    s->factored = false;
    s->stats.factorisations++;
    supple_result result = factorise(s, error);
    s->factored = result == SUPPLE_OK;
    if (!s->factored || solve_by_factor(s, MOST_WITH_NEW)) return result;
    for (size_t i = 0; i < (size_t)s->rows.n; i++) s->solution[i] = s->right[i];
    return spl_factor_solve(s->factor, s->solution, 1, error);
}

supple_result spl_dermis_solve(spl_dermis *s, double h, supple_error *error)
{
    if (s->rows.n == 0) return SUPPLE_OK;
    assemble(s, h);
    double start = spl_now_ms();
    bool old = s->factored && h == s->factor_h && s->skip == 0;
    if (old) {
        old = solve_by_factor(s, MOST_ITERATIONS);
        s->skips = old ? 0 : s->skips < MOST_SKIPS ? 2 * s->skips + 1 : MOST_SKIPS;
        s->skip = s->skips;
    } else if (s->skip > 0)
        s->skip--;
    supple_result result = old ? SUPPLE_OK : solve_anew(s, error);
    if (!old) s->factor_h = h;
    for (size_t i = 0; i < 2 * (size_t)s->net.surface.vertex_count; i++) {
        double v = s->unknown[i] >= 0 ? s->solution[s->unknown[i]] : 0;
        s->v_new[i] = isfinite(v) ? v : 0;
    }
    s->stats.ms_linear += spl_now_ms() - start;
    return result;
}
