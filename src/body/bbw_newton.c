/* One bone's bounds: projected Newton (Bertsekas 1982, "Projected Newton methods for optimization problems with simple
 * constraints"). Weights that stand on a bound and are pressed against it stay; over the others the energy is minimised
 * exactly, and the way there is projected to the bounds and shortened until the energy falls enough.
 *
 * What was tried instead: block principal pivoting (Judice and Pires), which lets weights leave their bounds on the way
 * and needs no search, runs in circles on 14 of the 31 bones of `hero`: Q is far from an M-matrix. Projected Newton
 * takes the whole step nearly always and ends after 7 to 15 rounds. */
#include "body/bbw_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "sparse/ldlt.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 80, HALVINGS = 30 };

#define TOLERANCE 1e-7              /* on the residual of spl_bbw_report */
#define AT_BOUND  1e-9              /* weights this near a bound stand on it */
#define FAINT     (0.1 * TOLERANCE) /* pulls this weak leave a weight on its bound: fewer weights come and go */
#define ARMIJO    1e-4
#define SHRUNK    0.6 /* a part below this share of its superset is analysed anew */

typedef struct newton {
    const bbw_system *s;
    const supple_allocator *a;
    double *w, *old, *y, *g, *step; /* by vertex; step = unbounded minimiser - old */
    double *side;                   /* by unknown of the superset */
    bool *moves;                    /* by row of Q: not held by a bound */
    int32_t *number;                /* by row of Q: its place in the superset, -1 */
    int32_t part, superset;         /* how many move; how many places there are */
    spl_pattern pattern;            /* of the superset; room for all of Q */
    size_t *source;                 /* by entry of it: the entry of Q */
    double *value;
    spl_ldlt *factor; /* analysed for the superset */
} newton;

static bool allocate(newton *k)
{
    size_t n = (size_t)k->s->n, entries = k->s->pattern.start[k->s->free_count];
    k->old = spl_new(k->a, n, sizeof *k->old);
    k->y = spl_new(k->a, n, sizeof *k->y);
    k->g = spl_new(k->a, n, sizeof *k->g);
    k->step = spl_new(k->a, n, sizeof *k->step);
    k->side = spl_new(k->a, n, sizeof *k->side);
    k->moves = spl_new(k->a, n, sizeof *k->moves);
    k->number = spl_new(k->a, n, sizeof *k->number);
    k->pattern.start = spl_new(k->a, n + 1, sizeof *k->pattern.start);
    k->pattern.row = spl_new(k->a, entries, sizeof *k->pattern.row);
    k->source = spl_new(k->a, entries, sizeof *k->source);
    k->value = spl_new(k->a, entries, sizeof *k->value);
    return k->old && k->y && k->g && k->step && k->side && k->moves && k->number && k->pattern.start &&
           k->pattern.row && k->source && k->value;
}

static void release(newton *k)
{
    spl_free(k->a, k->old);
    spl_free(k->a, k->y);
    spl_free(k->a, k->g);
    spl_free(k->a, k->step);
    spl_free(k->a, k->side);
    spl_free(k->a, k->moves);
    spl_free(k->a, k->number);
    spl_free(k->a, k->source);
    spl_free(k->a, k->value);
    spl_pattern_release(&k->pattern, k->a);
    spl_ldlt_destroy(k->factor);
}

/* The residual at w, and which weights may move. */
static double judge(newton *k)
{
    const bbw_system *s = k->s;
    double residual = 0;
    spl_bbw_gradient(s, k->w, k->y, k->g, NULL);
    k->part = 0;
    for (int32_t i = 0; i < s->free_count; i++) {
        double w = k->w[s->vertex[i]], pull = k->g[s->vertex[i]] / s->diagonal[i];
        residual = fmax(residual, fabs(w - fmin(fmax(w - pull, 0), 1)));
        k->moves[i] = !((w <= AT_BOUND && pull > -FAINT) || (w >= 1 - AT_BOUND && pull < FAINT));
        k->part += k->moves[i];
    }
    return residual;
}

/* ---- the step ---- */

/* What moves, and what the last superset had besides if that is not too much: weights come and go. */
static void take_superset(newton *k)
{
    const bbw_system *s = k->s;
    size_t at = 0;
    int32_t both = 0;
    for (int32_t i = 0; i < s->free_count; i++) both += k->moves[i] || (k->superset && k->number[i] >= 0);
    bool keep = k->superset && k->part >= SHRUNK * both;
    k->superset = 0;
    for (int32_t i = 0; i < s->free_count; i++)
        k->number[i] = k->moves[i] || (keep && k->number[i] >= 0) ? k->superset++ : -1;
    for (int32_t j = 0; j < s->free_count; j++) {
        if (k->number[j] < 0) continue;
        k->pattern.start[k->number[j]] = at;
        for (size_t e = s->pattern.start[j]; e < s->pattern.start[j + 1]; e++) {
            if (k->number[s->pattern.row[e]] < 0) continue;
            k->pattern.row[at] = k->number[s->pattern.row[e]];
            k->source[at++] = e;
        }
    }
    k->pattern.start[k->superset] = at;
    k->pattern.n = k->superset;
    k->pattern.block = 1;
}

/* A factor's analysis takes longer than its numbers, so one serves as long as it covers what moves without being much
 * larger; rows that do not move are those of the identity. */
static supple_result analyse(newton *k)
{
    bool covers = k->factor && k->part >= SHRUNK * k->superset;
    for (int32_t i = 0; covers && i < k->s->free_count; i++) covers = !k->moves[i] || k->number[i] >= 0;
    if (covers) return SUPPLE_OK;
    take_superset(k);
    spl_ldlt_destroy(k->factor);
    k->factor = NULL;
    return spl_ldlt_create(&k->pattern, &(spl_ldlt_options){0}, k->a, NULL, &k->factor, NULL);
}

static void fill(newton *k)
{
    const bbw_system *s = k->s;
    for (int32_t j = 0; j < s->free_count; j++) {
        if (k->number[j] < 0) continue;
        size_t begin = k->pattern.start[k->number[j]], end = k->pattern.start[k->number[j] + 1];
        for (size_t e = begin; e < end; e++) {
            bool both = k->moves[j] && k->moves[s->pattern.row[k->source[e]]];
            k->value[e] = both ? s->value[k->source[e]] : e == begin ? s->diagonal[j] : 0;
        }
        k->side[k->number[j]] = k->moves[j] ? k->g[s->vertex[j]] : 0;
    }
}

/* step = - Q_mm \ g_m over the weights m that move, 0 elsewhere. */
static supple_result find_step(newton *k)
{
    const bbw_system *s = k->s;
    spl_ldlt_failure failure;
    supple_result result = analyse(k);
    if (result != SUPPLE_OK) return result;
    fill(k);
    if (!spl_ldlt_factorise(k->factor, k->value, &failure)) return SUPPLE_ERROR_SOLVE;
    spl_ldlt_solve(k->factor, k->side, 1);
    memset(k->step, 0, (size_t)s->n * sizeof *k->step);
    for (int32_t i = 0; i < s->free_count; i++)
        if (k->moves[i]) k->step[s->vertex[i]] = -k->side[k->number[i]];
    return SUPPLE_OK;
}

/* ---- the search ---- */

/* 1/2 w^T Q w = 1/2 |M^-1/2 L w|^2 */
static double energy(newton *k)
{
    double sum = 0;
    spl_rows_multiply(&k->s->rows, k->s->stiffness, k->w, 1, k->y, NULL);
    for (int32_t v = 0; v < k->s->n; v++) sum += 0.5 * k->s->inverse_mass[v] * k->y[v] * k->y[v];
    return sum;
}

/* w = clamp(old + t step) for the first t = 1, 1/2, 1/4, ... at which the energy falls by a share of what its gradient
 * promises. */
static void search(newton *k, double *present)
{
    double t = 1, found = INFINITY;
    memcpy(k->old, k->w, (size_t)k->s->n * sizeof *k->old);
    for (int tries = 0; tries < HALVINGS; tries++, t *= 0.5) {
        double promised = 0;
        for (int32_t v = 0; v < k->s->n; v++) {
            k->w[v] = fmin(fmax(k->old[v] + t * k->step[v], 0), 1);
            promised += k->g[v] * (k->w[v] - k->old[v]);
        }
        found = energy(k);
        if (found <= *present + ARMIJO * promised) break;
    }
    *present = found;
}

static void run(newton *k, bbw_result *r)
{
    for (int32_t v = 0; v < k->s->n; v++) k->w[v] = fmin(fmax(k->w[v], 0), 1);
    double present = energy(k);
    r->result = SUPPLE_OK;
    r->residual = judge(k);
    while (r->residual > TOLERANCE && r->rounds < ROUNDS) {
        r->result = find_step(k);
        if (r->result != SUPPLE_OK) return;
        search(k, &present);
        r->rounds++;
        r->part += k->part;
        r->residual = judge(k);
    }
    r->finished = r->residual <= TOLERANCE;
}

bbw_result spl_bbw_newton(const bbw_system *s, const supple_allocator *a, double *w)
{
    newton k = {.s = s, .a = a, .w = w};
    bbw_result r = {.result = SUPPLE_ERROR_MEMORY};
    if (allocate(&k)) run(&k, &r);
    release(&k);
    return r;
}
