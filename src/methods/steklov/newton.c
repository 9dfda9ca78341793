#include "methods/steklov/newton.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"

#include <string.h>

enum { LOOK = 4 }; /* steps after which new contacts are looked for where pairs are kept */

#define LOOSE 0.1  /* of the residual: how well a step is solved that may not be the last */
#define STAGE 0.02 /* the same of steps whose contacts come and go: new ones are looked for between them */
#define NEAR  1e-3 /* of the scale: a residual from which such a step may be the last */

supple_result spl_newton_create(spl_exrotated *system, spl_springs *springs, spl_newton *out, supple_error *error)
{
    const supple_allocator *a = &system->allocator;
    size_t n = (size_t)system->order.count;
    *out = (spl_newton){.system = system, .springs = springs};
    out->force = spl_new(a, n, 3 * sizeof *out->force);
    out->residual = spl_new(a, n, 3 * sizeof *out->residual);
    out->best = spl_new(a, (size_t)system->solid->elements.vertex_count, 3 * sizeof *out->best);
    out->past = spl_new(a, n, 3 * sizeof *out->past);
    out->change = spl_new(a, n, 3 * sizeof *out->change);
    out->start = spl_new(a, n, 3 * sizeof *out->start);
    if (out->force && out->residual && out->best && out->past && out->change && out->start) return SUPPLE_OK;
    spl_newton_release(out);
    return spl_fail_memory(error, "the flesh's forces");
}

void spl_newton_release(spl_newton *n)
{
    if (!n->system) return;
    const supple_allocator *a = &n->system->allocator;
    spl_free(a, n->force);
    spl_free(a, n->residual);
    spl_free(a, n->best);
    spl_free(a, n->past);
    spl_free(a, n->change);
    spl_free(a, n->start);
    *n = (spl_newton){0};
}

void spl_newton_move(spl_newton *n, spl_quarter which, const double *dx)
{
    const spl_exrotated *s = n->system;
    size_t first = which == SPL_BB ? (size_t)s->order.interior : 0;
    size_t end = which == SPL_II ? (size_t)s->order.interior : (size_t)s->order.count;
    for (size_t i = first; i < end; i++)
        for (size_t c = 0; c < 3; c++) n->x[3 * (size_t)s->order.vertex[i] + c] += dx[3 * (i - first) + c];
    double *inner = n->force, *outer = n->force + 3 * (size_t)s->order.interior;
    if (which == SPL_ALL) spl_exrotated_multiply(s, SPL_ALL, dx, n->force, -1);
    if (which == SPL_II) {
        spl_exrotated_multiply(s, SPL_II, dx, inner, -1);
        spl_exrotated_multiply(s, SPL_BI, dx, outer, -1);
    }
    if (which == SPL_BB) {
        spl_exrotated_multiply(s, SPL_IB, dx, inner, -1);
        spl_exrotated_multiply(s, SPL_BB, dx, outer, -1);
    }
}

void spl_newton_measure(spl_newton *n, const double *dx, size_t nodes)
{
    double most = 0;
    for (size_t i = 0; i < nodes; i++) {
        const double *d = dx + 3 * i;
        most = fmax(most, d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    }
    n->stats.moved = fmax(n->stats.moved, sqrt(most));
}

void spl_newton_search(spl_newton *n, spl_quarter which, double *dx, double curvature)
{
    int32_t first = which == SPL_BB ? n->system->order.interior : 0;
    size_t count = 3 * (size_t)(n->system->order.count - first);
    const double *f = n->force + 3 * (size_t)first;
    double slope = 0;
    for (size_t i = 0; i < count; i++) slope += f[i] * dx[i];
    spl_newton_measure(n, dx, count / 3);
    double a = spl_springs_search(n->springs, first, dx, slope, curvature);
    for (size_t i = 0; a != 1 && i < count; i++) dx[i] *= a;
    n->stats.shortest = fmin(n->stats.shortest, a);
    spl_newton_move(n, which, dx);
}

/* Forces over the tets at x; the residual's scale. */
static double sum_forces(spl_newton *n)
{
    double start = spl_now_ms(), scale = spl_exrotated_forces(n->system, n->x);
    for (size_t i = 0; i < (size_t)n->system->order.count; i++)
        memcpy(n->force + 3 * i, n->system->force + 3 * (size_t)n->system->order.vertex[i], 3 * sizeof *n->force);
    n->stats.ms_force += spl_now_ms() - start;
    return scale;
}

/* |residual| with the springs there are. */
static double set_residual(spl_newton *n)
{
    size_t count = 3 * (size_t)n->system->order.count;
    memcpy(n->residual, n->force, count * sizeof *n->residual);
    spl_springs_pull(n->springs, n->x, 0, n->residual);
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += n->residual[i] * n->residual[i];
    return sqrt(sum);
}

static void find_contacts(spl_newton *n, bool frozen, bool all)
{
    double start = spl_now_ms();
    if (frozen) {
        spl_springs_refresh(n->springs, n->x);
    } else {
        spl_springs_find(n->springs, n->x, all);
    }
    n->stats.cycles = n->springs->cycles;
    n->stats.ms_contact += spl_now_ms() - start;
}

/* Where the iteration is. */
typedef struct walk {
    double scale, norm, last; /* of the residual; |residual| now and a step before */
    double least;             /* smallest |residual| so far, where n->best is */
    double product;           /* of the contractions */
    int32_t contractions;
    double first; /* |residual| at the start */
    int32_t calm; /* so many steps in a row moved little */
} walk;

static void note(spl_newton *n, walk *w, int32_t step)
{
    size_t bytes = 3 * (size_t)n->system->solid->elements.vertex_count * sizeof *n->x;
    if (step > 0 && n->springs->same && w->last > 0) {
        w->product *= w->norm / w->last;
        w->contractions++;
    }
    if (!n->springs->same && n->springs->fresh) w->least = INFINITY;
    if (!(w->norm < w->least)) return;
    w->least = w->norm;
    memcpy(n->best, n->x, bytes);
}

/* Small with the scale that is expected: then it has to be small by forces summed afresh, and their own scale. */
static bool has_arrived(spl_newton *n, const spl_newton_options *o, walk *w, int32_t step)
{
    if (!(w->norm <= o->tolerance * w->scale)) return false;
    if (step > 0 && !n->springs->same) return false;
    if (!n->springs->fresh && !o->frozen) {
        find_contacts(n, false, true);
        if (!n->springs->same) {
            w->least = INFINITY; /* residuals under other contacts tell nothing */
            w->norm = set_residual(n);
            return false;
        }
    }
    w->scale = sum_forces(n);
    w->norm = set_residual(n);
    return w->norm <= o->tolerance * w->scale || w->norm <= 1e-12 * n->system->solid->stiffness_scale;
}

/* A step that moves little is the last if its contacts stay, or if the step by those that came moves little too. A step
 * is solved to a tenth, so that about a tenth of the way is left. */
static bool is_still(spl_newton *n, const spl_newton_options *o, walk *w, int32_t step)
{
    if (!(o->still > 0) || step == 0) return false;
    w->calm = n->stats.moved <= o->still ? w->calm + 1 : 0;
    if (w->calm == 0) return false;
    if (!n->springs->fresh && !o->frozen) {
        find_contacts(n, false, true);
        if (!n->springs->same) w->least = INFINITY;
    }
    bool still = n->springs->same || w->calm > 1;
    if (still) w->scale = sum_forces(n);
    w->norm = set_residual(n);
    return still;
}

static double goal_of(const spl_newton *n, const spl_newton_options *o, const walk *w)
{
    double tight = 0.5 * o->tolerance * w->scale;
    if (n->follows && n->springs->count > 0 && (!n->springs->same || w->norm > NEAR * w->scale))
        return fmax(tight, STAGE * w->norm);
    bool open = n->springs->count > 0 && !n->springs->same && !o->frozen;
    return open || o->still > 0 ? fmax(tight, LOOSE * w->norm) : tight;
}

/* Where the start was far off the expected scale says nothing of the solution's; soon the forces do. */
static void set_scale(spl_newton *n, walk *w)
{
    if (!(w->first > w->scale) || !(w->norm < 0.1 * w->first)) return;
    w->scale = sum_forces(n);
    w->norm = set_residual(n);
    w->first = 0;
}

static supple_result iterate(spl_newton *n, const spl_newton_options *o, walk *w, supple_error *error)
{
    for (int32_t step = 0;; step++) {
        find_contacts(n, o->frozen, step % LOOK == 0 || n->follows);
        w->norm = set_residual(n);
        if (!isfinite(w->norm) || !isfinite(w->scale))
            return spl_fail(error, SUPPLE_ERROR_SOLVE, "the elastic forces are not finite in this pose");
        if (step == 0) w->first = w->norm;
        set_scale(n, w);
        note(n, w, step);
        n->stats.newton = step;
        n->stats.converged = has_arrived(n, o, w, step) || is_still(n, o, w, step);
        if (n->stats.converged || step >= o->max_steps || n->system->order.count == 0) return SUPPLE_OK;
        n->slow = step > 0 && w->norm > 0.5 * w->last;
        w->last = w->norm;
        n->stats.moved = 0;
        supple_result result = n->formulation->step(n->state, n, goal_of(n, o, w), error);
        if (result != SUPPLE_OK) return result;
    }
}

/* At the limit: the best state there was, as it is. */
static void go_back(spl_newton *n, const spl_newton_options *o, walk *w)
{
    if (w->norm > w->least) {
        memcpy(n->x, n->best, 3 * (size_t)n->system->solid->elements.vertex_count * sizeof *n->x);
        find_contacts(n, o->frozen, false);
    }
    w->scale = sum_forces(n);
    w->norm = set_residual(n);
    n->stats.converged = w->norm <= o->tolerance * w->scale;
}

void spl_newton_forget(spl_newton *n)
{
    n->past_count = 0;
    n->last_scale = 0;
}

/* As much of a direction as lowers the energy, known contacts included. */
static void take(spl_newton *n, const double *d)
{
    size_t count = 3 * (size_t)n->system->order.count;
    double curvature = 0, slope = 0;
    spl_exrotated_multiply(n->system, SPL_ALL, d, n->residual, 0);
    for (size_t i = 0; i < count; i++) {
        curvature += d[i] * n->residual[i];
        slope += d[i] * n->force[i];
    }
    double a = spl_springs_search(n->springs, 0, d, slope, curvature);
    for (size_t i = 0; i < count; i++) {
        n->x[3 * (size_t)n->system->order.vertex[i / 3] + i % 3] += a * d[i];
        n->force[i] -= a * n->residual[i];
    }
    spl_springs_advance(n->springs, d, a);
}

/* Motion is smooth: what the last frame's start lacked, this one's lacks too, and what changed between the last two
 * frames changes on. Two products and one find instead of a third of the iterations. */
static void take_past(spl_newton *n)
{
    find_contacts(n, false, false);
    take(n, n->past);
    if (n->past_count > 1 && n->springs->known_count == 0) take(n, n->change);
    spl_springs_begin(n->springs);
}

/* To what the interior is relaxed before the first step. */
static double begin_goal(const spl_newton *n, const spl_newton_options *o, const walk *w)
{
    double tight = 0.1 * o->tolerance * w->scale, sum = 0;
    for (size_t i = 0; o->still > 0 && i < 3 * (size_t)n->system->order.count; i++) sum += n->force[i] * n->force[i];
    return fmax(tight, 0.1 * LOOSE * sqrt(sum));
}

static void keep_past(spl_newton *n)
{
    for (size_t i = 0; i < 3 * (size_t)n->system->order.count; i++) {
        double moved = n->x[3 * (size_t)n->system->order.vertex[i / 3] + i % 3] - n->start[i];
        n->change[i] = moved - n->past[i];
        n->past[i] = moved;
    }
    n->past_count = n->past_count > 0 ? 2 : 1;
}

supple_result spl_newton_solve(spl_newton *n, const spl_newton_options *o, double *x, supple_error *error)
{
    walk w = {.least = INFINITY, .product = 1};
    n->x = x;
    n->stats.shortest = 1;
    n->follows = false;
    if (!o->frozen) spl_springs_begin(n->springs);
    double scale = sum_forces(n);
    /* The residual is a share of the forces at the solution, which only the solution tells; the last one's were much
     * the same. */
    w.scale = n->last_scale > 0 ? fmin(fmax(n->last_scale, 0.1 * scale), scale) : scale;
    supple_result result = SUPPLE_OK;
    bool learns = !o->frozen && isfinite(scale);
    for (size_t i = 0; i < 3 * (size_t)n->system->order.count; i++)
        n->start[i] = x[3 * (size_t)n->system->order.vertex[i / 3] + i % 3];
    if (learns && n->past_count > 0) take_past(n);
    if (n->formulation->begin && n->system->order.count > 0 && isfinite(scale))
        result = n->formulation->begin(n->state, n, begin_goal(n, o, &w), error);
    if (result == SUPPLE_OK) result = iterate(n, o, &w, error);
    if (result == SUPPLE_OK && !n->stats.converged) go_back(n, o, &w);
    if (learns && result == SUPPLE_OK)
        keep_past(n);
    else
        n->past_count = 0;
    n->last_scale = result == SUPPLE_OK ? w.scale : 0;
    n->stats.residual = w.norm / w.scale;
    n->stats.pairs = n->springs->pairs;
    n->stats.same_set = n->springs->same;
    n->stats.contraction = w.contractions > 0 ? pow(w.product, 1.0 / w.contractions) : NAN;
    return result;
}
