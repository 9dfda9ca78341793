#include "methods/steklov/schur.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "methods/steklov/boundary_store.h"

#include <string.h>

static size_t inner_count(const spl_schur *s)
{
    return 3 * (size_t)s->system->order.interior;
}

static size_t outer_count(const spl_schur *s)
{
    return 3 * (size_t)(s->system->order.count - s->system->order.interior);
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* ---- the interior ---- */

/* y = C_k(x): k steps of Chebyshev's iteration from 0 (Saad, algorithm 12.1) with the skinned incomplete factor. */
static void chebyshev(spl_schur *s, const double *x, double *y)
{
    size_t n = inner_count(s);
    double theta = 0.5 * (s->high + s->low), delta = 0.5 * (s->high - s->low), sigma = theta / delta, rho = 1 / sigma;
    memcpy(s->r, x, n * sizeof *s->r);
    spl_ic3_solve(s->ic, s->system->turn, s->r, s->d);
    for (size_t i = 0; i < n; i++) y[i] = s->d[i] /= theta;
    for (int32_t k = 1; k < s->options.degree; k++) {
        double next = 1 / (2 * sigma - rho);
        spl_exrotated_multiply_narrow(s->system, SPL_II, s->d, s->r, -1);
        spl_ic3_solve(s->ic, s->system->turn, s->r, s->z);
        for (size_t i = 0; i < n; i++) {
            s->d[i] = next * rho * s->d[i] + 2 * next / delta * s->z[i];
            y[i] += s->d[i];
        }
        rho = next;
    }
}

void spl_schur_inverse(spl_schur *s, const double *x, double *y)
{
    size_t n = inner_count(s);
    if (s->options.degree == 0) {
        spl_ic3_solve(s->ic, s->system->turn, x, y);
        for (size_t i = 0; s->high > 1 && i < n; i++) y[i] /= s->high;
        return;
    }
    chebyshev(s, x, y);
    memcpy(s->t, x, n * sizeof *s->t);
    spl_exrotated_multiply_narrow(s->system, SPL_II, y, s->t, -1);
    chebyshev(s, s->t, s->inside);
    for (size_t i = 0; i < n; i++) y[i] += s->inside[i];
}

static void multiply_inner(void *context, const double *x, double *y, int32_t k)
{
    (void)k;
    spl_exrotated_multiply(((spl_schur *)context)->system, SPL_II, x, y, 0);
}

static void precondition_inner(void *context, const double *x, double *y, int32_t k)
{
    (void)k;
    spl_schur *s = context;
    spl_ic3_solve(s->ic, s->system->turn, x, y);
}

spl_pcg_result spl_schur_relax(spl_schur *s, const double *x, double *y, double goal)
{
    spl_pcg_problem p = {.multiply = multiply_inner,
                         .multiply_context = s,
                         .precondition = precondition_inner,
                         .precondition_context = s,
                         .tolerance = goal,
                         .absolute = true,
                         .recurrence = true,
                         .max_iterations = s->options.max_iterations};
    return spl_pcg_solve(s->inner, &p, x, y, 1);
}

/* The largest eigenvalue of M^-1 A_ii, or by the same of its distance from `shift` the smallest: a few steps of the
 * power method from the vector d, which they replace. */
static double power(spl_schur *s, double shift, double *d)
{
    enum { STEPS = 16 };
    size_t n = inner_count(s);
    double value = 0;
    for (int k = 0; k < STEPS; k++) {
        double norm = sqrt(dot(d, d, n));
        if (!(norm > 0)) return 0;
        for (size_t i = 0; i < n; i++) d[i] /= norm;
        spl_exrotated_multiply(s->system, SPL_II, d, s->r, 0);
        spl_ic3_solve(s->ic, s->system->turn, s->r, s->z);
        for (size_t i = 0; i < n; i++) s->z[i] -= shift * d[i];
        value = dot(d, s->z, n);
        memcpy(d, s->z, n * sizeof *d);
    }
    return value + shift;
}

static void any_vector(const spl_schur *s, double *d)
{
    for (size_t i = 0; i < inner_count(s); i++) d[i] = 1 + (double)(i * 2654435761U % 1024) / 1024;
}

/* The vector of the largest eigenvalue between the nodes' own axes and the world's. */
static void turn_wave(spl_schur *s, bool back)
{
    for (size_t i = 0; i < inner_count(s) / 3; i++) {
        spl_mat3 R;
        memcpy(R.m, s->system->turn + 9 * i, sizeof R.m);
        if (back) R = spl_mat3_transpose(&R);
        double *w = s->wave + 3 * i;
        spl_vec3 v = spl_mat3_apply(&R, spl_v3(w[0], w[1], w[2]));
        w[0] = v.x, w[1] = v.y, w[2] = v.z;
    }
}

/* Eigenvalues above the bound make X negative there, and the boundary's operator so stiff that Newton stands still: the
 * more, the higher the degree. A bent joint has larger ones than the rest shape, more so where bones taper. So the
 * bound follows the pose; the vector of the last one is nearly right. */
static void raise_bound(spl_schur *s)
{
    if (s->system->order.interior == 0 || s->options.degree == 0) return;
    turn_wave(s, false); /* it is kept as the nodes see it, so that a turn of the whole changes nothing */
    double high = 1.1 * power(s, 0, s->wave);
    turn_wave(s, true);
    if (isfinite(high)) s->high = fmax(high, s->rest_high);
}

static supple_result make_interior(spl_schur *s, supple_error *error)
{
    const spl_exrotated *e = s->system;
    spl_ic3_options o = {
        .single = s->options.single, .plain = e->matrix.plain, .cut = e->order.cut, .part_count = e->order.part_count};
    supple_result result =
        spl_ic3_create(&e->matrix.rows, e->order.interior, &o, &e->allocator, e->pool, &s->ic, error);
    if (result == SUPPLE_OK) result = spl_ic3_factorise(s->ic, e->matrix.value, NULL, NULL, error);
    if (result != SUPPLE_OK || s->options.exact) return result;
    any_vector(s, s->wave);
    any_vector(s, s->d);
    s->high = 1.1 * power(s, 0, s->wave);
    s->low = fmin(fmax(power(s, s->high, s->d), s->high / 100), 0.9 * s->high);
    if (!(s->high > 0)) s->low = 0.5, s->high = 1; /* no interior */
    s->rest_high = s->high;
    return SUPPLE_OK;
}

/* ---- the boundary's preconditioner ---- */

/* K_b and springs into s->value. */
static void set_value(spl_schur *s, bool springs)
{
    const spl_pattern *p = &s->boundary.pattern;
    memcpy(s->value, s->boundary.value, spl_pattern_values(p) * sizeof *s->value);
    for (int32_t i = 0; i < p->n; i++) {
        double *B = s->value + 9 * p->start[i];
        for (int c = 0; c < 9; c += 4) B[c] *= 1 + s->lift;
    }
    for (int32_t k = 0; springs && k < s->springs->stiff_count; k++) {
        double *B = s->value + 9 * p->start[s->springs->stiff[k] - s->system->order.interior];
        for (int c = 0; c < 9; c++) B[c] += s->springs->extra[9 * k + c];
    }
}

static supple_result factorise_boundary(spl_schur *s, bool springs, supple_error *error)
{
    set_value(s, springs);
    s->plain_factor = !springs;
    if (!s->options.incomplete) return spl_factor_factorise(s->factor, s->value, error);
    for (size_t q = 0; q < s->rows.start[s->rows.n]; q++) {
        /* Entries left of the diagonal are read, and it: those stand in the lower triangle as they are. */
        memcpy(s->row_value + 9 * q, s->value + 9 * s->rows.entry[q], 9 * sizeof *s->value);
    }
    for (int32_t i = 0; i < s->rows.n; i++)
        for (size_t q = s->rows.start[i]; q < s->rows.start[i + 1]; q++)
            if (s->rows.column[q] == i) {
                double *B = s->row_value + 9 * q;
                B[3] = B[1];
                B[6] = B[2];
                B[7] = B[5];
            }
    return spl_ic3_factorise(s->boundary_ic, s->row_value, NULL, NULL, error);
}

static supple_result analyse_boundary(spl_schur *s, supple_error *error)
{
    const supple_allocator *a = &s->system->allocator;
    const spl_pattern *p = &s->boundary.pattern;
    spl_factor_options o = {.single = true, .plain = s->system->matrix.plain};
    spl_ic3_options i = {.single = s->options.single, .plain = s->system->matrix.plain};
    s->value = spl_new(a, spl_pattern_values(p), sizeof *s->value);
    if (!s->value) return spl_fail_memory(error, "the boundary's factor");
    if (!s->options.incomplete) return spl_factor_create(p, &o, a, s->system->pool, &s->factor, error);
    supple_result result = spl_rows_create(p, a, &s->rows, error);
    if (result != SUPPLE_OK) return result;
    s->row_value = spl_new(a, 9 * s->rows.start[p->n], sizeof *s->row_value);
    if (!s->row_value) return spl_fail_memory(error, "the boundary's factor");
    return spl_ic3_create(&s->rows, p->n, &i, a, s->system->pool, &s->boundary_ic, error);
}

/* The boundary's factor with the springs' diagonals in it, or without. */
static supple_result stiffen(spl_schur *s, bool springs, supple_error *error)
{
    if (springs) spl_springs_set_extra(s->springs);
    if (!s->options.incomplete) return springs || !s->plain_factor ? factorise_boundary(s, springs, error) : SUPPLE_OK;
    for (int32_t k = 0; springs && k < s->springs->stiff_count; k++)
        s->stiff[k] = s->springs->stiff[k] - s->system->order.interior;
    spl_ic3_stiffen(s->boundary_ic, s->stiff, springs ? s->springs->stiff_count : 0, s->springs->extra);
    return SUPPLE_OK;
}

/* What is dropped may leave K_b indefinite: then its diagonal is raised until it is not. Plain dropping stayed definite
 * on all of our bodies, and converges faster than compensation. */
static supple_result lift_boundary(spl_schur *s, supple_error *error)
{
    supple_result result = SUPPLE_ERROR_SOLVE;
    for (s->lift = 0; s->lift<10; s->lift = s->lift> 0 ? 4 * s->lift : 1e-3) {
        result = factorise_boundary(s, false, error);
        if (result != SUPPLE_ERROR_SOLVE) return result;
    }
    return result;
}

static supple_result make_boundary(spl_schur *s, supple_error *error)
{
    const spl_schur_options *o = &s->options;
    supple_result result =
        spl_boundary_cached(s->system, o->distance, o->compensate, false, o->config, &s->boundary, error);
    if (result == SUPPLE_OK) result = analyse_boundary(s, error);
    if (result == SUPPLE_OK) result = lift_boundary(s, error);
    if (result != SUPPLE_ERROR_SOLVE || !s->boundary.cached) return result;
    spl_boundary_release(&s->boundary); /* what was kept is no such matrix; the pattern is the same */
    result = spl_boundary_cached(s->system, o->distance, o->compensate, true, o->config, &s->boundary, error);
    return result == SUPPLE_OK ? lift_boundary(s, error) : result;
}

/* ---- with the interior ---- */

/* y = P^-1 x with the block factors of A: t = X x_i, y_b = K_b^-1 (x_b - A_bi t), y_i = t - X A_ib y_b. */
static void apply_whole(void *context, const double *x, double *y)
{
    spl_schur *s = context;
    size_t ni = inner_count(s), nb = outer_count(s);
    double *outer = y + ni;
    if (ni > 0) spl_ic3_solve(s->ic, s->system->turn, x, y);
    memcpy(s->image, x + ni, nb * sizeof *s->image);
    if (ni > 0) spl_exrotated_multiply_narrow(s->system, SPL_BI, y, s->image, -1);
    spl_schur_precondition(s, s->image, outer);
    if (ni == 0) return;
    spl_exrotated_multiply_narrow(s->system, SPL_IB, outer, s->side, 0);
    spl_ic3_solve(s->ic, s->system->turn, s->side, s->side);
    for (size_t i = 0; i < ni; i++) y[i] -= s->side[i];
}

static supple_result stiffen_whole(void *context, bool springs, supple_error *error)
{
    return stiffen(context, springs, error);
}

static supple_result make_whole(spl_schur *s, supple_error *error)
{
    spl_volume_options o = {.precondition = s->options.precondition,
                            .max_iterations = s->options.max_iterations,
                            .history = s->options.history,
                            .inverse = {apply_whole, stiffen_whole, s}};
    return spl_volume_create(s->system, s->springs, &o, &s->whole, error);
}

/* ---- creation ---- */

static supple_result take_memory(spl_schur *s, supple_error *error)
{
    const supple_allocator *a = &s->system->allocator;
    size_t ni = inner_count(s), nb = outer_count(s), replaced = s->options.exact ? 0 : ni;
    s->side = spl_new(a, ni, sizeof *s->side);
    s->inside = spl_new(a, replaced, sizeof *s->inside);
    s->t = spl_new(a, replaced, sizeof *s->t);
    s->z = spl_new(a, replaced, sizeof *s->z);
    s->d = spl_new(a, replaced, sizeof *s->d);
    s->r = spl_new(a, replaced, sizeof *s->r);
    s->wave = spl_new(a, replaced, sizeof *s->wave);
    s->inner_image = spl_new(a, replaced, sizeof *s->inner_image);
    s->image = spl_new(a, nb, sizeof *s->image);
    s->dx = spl_new(a, nb, sizeof *s->dx);
    s->turned = spl_new(a, nb, sizeof *s->turned);
    s->stiff = spl_new(a, nb / 3, sizeof *s->stiff);
    s->history = s->options.history ? spl_new(a, (size_t)s->options.max_iterations + 1, sizeof *s->history) : NULL;
    bool ok = s->side && s->inside && s->wave && s->t && s->z && s->d && s->r && s->dx && s->turned && s->stiff &&
              s->inner_image && s->image;
    if (!ok || (s->options.history && !s->history)) return spl_fail_memory(error, "the flesh's surface");
    if (s->options.exact) return make_whole(s, error);
    supple_result result = spl_pcg_create(ni, 1, a, s->system->pool, &s->inner, error);
    if (result == SUPPLE_OK) result = spl_pcg_create(nb, 1, a, s->system->pool, &s->outer, error);
    return result;
}

supple_result spl_schur_create(spl_exrotated *system, spl_springs *springs, const spl_schur_options *options,
                               spl_schur *out, supple_error *error)
{
    *out = (spl_schur){.system = system, .springs = springs, .options = *options};
    supple_result result = take_memory(out, error);
    if (result == SUPPLE_OK) result = make_interior(out, error);
    if (result == SUPPLE_OK && options->precondition != SPL_PRECONDITION_NONE) result = make_boundary(out, error);
    if (result != SUPPLE_OK) spl_schur_release(out);
    return result;
}

void spl_schur_release(spl_schur *s)
{
    if (!s->system) return;
    const supple_allocator *a = &s->system->allocator;
    spl_ic3_destroy(s->ic);
    spl_ic3_destroy(s->boundary_ic);
    spl_boundary_release(&s->boundary);
    spl_factor_destroy(s->factor);
    spl_rows_release(&s->rows, a);
    spl_volume_release(&s->whole);
    spl_pcg_destroy(s->inner);
    spl_pcg_destroy(s->outer);
    void *blocks[] = {s->value, s->row_value, s->side,    s->inside,      s->t,     s->z,     s->d,   s->r,
                      s->dx,    s->turned,    s->history, s->inner_image, s->image, s->stiff, s->wave};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(a, blocks[i]);
    *s = (spl_schur){0};
}

/* ---- the boundary ---- */

void spl_schur_operator(spl_schur *s, const double *x, double *y)
{
    spl_exrotated_multiply(s->system, SPL_BB, x, y, 0);
    if (s->system->order.interior == 0) return;
    spl_exrotated_multiply(s->system, SPL_IB, x, s->side, 0);
    spl_schur_inverse(s, s->side, s->inner_image);
    spl_exrotated_multiply(s->system, SPL_BI, s->inner_image, y, -1);
}

static void multiply_outer(void *context, const double *x, double *y, int32_t k)
{
    (void)k;
    spl_schur *s = context;
    spl_schur_operator(s, x, y);
    spl_springs_multiply(s->springs, s->system->order.interior, x, y);
}

typedef struct turn_loop {
    const double *turn, *x;
    double *y;
    float *turned;
} turn_loop;

static void turn_back(void *context, size_t begin, size_t end)
{
    const turn_loop *t = context;
    for (size_t i = begin; i < end; i++) {
        const double *R = t->turn + 9 * i, *x = t->x + 3 * i;
        for (size_t c = 0; c < 3; c++)
            t->turned[3 * i + c] = (float)(R[3 * c] * x[0] + R[3 * c + 1] * x[1] + R[3 * c + 2] * x[2]);
    }
}

static void turn_forth(void *context, size_t begin, size_t end)
{
    const turn_loop *t = context;
    for (size_t i = begin; i < end; i++) {
        const double *R = t->turn + 9 * i;
        const float *p = t->turned + 3 * i;
        for (size_t c = 0; c < 3; c++)
            t->y[3 * i + c] = R[c] * (double)p[0] + R[3 + c] * (double)p[1] + R[6 + c] * (double)p[2];
    }
}

void spl_schur_precondition(spl_schur *s, const double *x, double *y)
{
    size_t nodes = outer_count(s) / 3;
    const double *turn = s->system->turn + 9 * (size_t)s->system->order.interior;
    turn_loop t = {turn, x, y, s->turned};
    if (s->options.incomplete) {
        spl_ic3_solve(s->boundary_ic, turn, x, y);
        return;
    }
    spl_parallel_for(s->system->pool, nodes, 2048, turn_back, &t);
    if (spl_factor_solve_float(s->factor, s->turned, 1, NULL) == SUPPLE_OK)
        spl_parallel_for(s->system->pool, nodes, 2048, turn_forth, &t);
    else
        memcpy(y, x, 3 * nodes * sizeof *y);
}

static void precondition_outer(void *context, const double *x, double *y, int32_t k)
{
    (void)k;
    spl_schur_precondition(context, x, y);
}

/* ---- a step ---- */

/* The interior to equilibrium (7); `from` says where to start, or is NULL. */
static supple_result relax(spl_schur *s, spl_newton *n, const double *from, double goal, supple_error *error)
{
    size_t ni = inner_count(s);
    double start = spl_now_ms();
    if (ni == 0) return SUPPLE_OK;
    memcpy(s->side, n->force, ni * sizeof *s->side);
    if (from)
        memcpy(s->inside, from, ni * sizeof *s->inside);
    else
        memset(s->inside, 0, ni * sizeof *s->inside);
    spl_pcg_result solved = spl_schur_relax(s, s->side, s->inside, goal);
    if (solved.status == SPL_PCG_NOT_FINITE)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "the flesh's interior has no finite equilibrium in this pose");
    spl_newton_measure(n, s->inside, ni / 3);
    spl_newton_move(n, SPL_II, s->inside);
    n->stats.interior_iterations += solved.iterations;
    n->stats.interior_solves++;
    n->stats.ms_interior += spl_now_ms() - start;
    return SUPPLE_OK;
}

static supple_result begin(void *state, spl_newton *n, double goal, supple_error *error)
{
    const spl_schur *s = state;
    if (s->options.exact) return SUPPLE_OK;
    raise_bound(state);
    return relax(state, n, NULL, goal, error);
}

static supple_result prepare(spl_schur *s, spl_newton *n, supple_error *error)
{
    double start = spl_now_ms();
    if (s->options.precondition == SPL_PRECONDITION_NONE) return SUPPLE_OK;
    bool with = s->options.precondition == SPL_PRECONDITION_CONTACT && s->springs->count > 0;
    supple_result result = stiffen(s, with, error);
    n->stats.ms_precondition += spl_now_ms() - start;
    return result;
}

/* dx . A~ dx of a solution by conjugate gradients from 0, for which dx . (A~ + springs) dx = dx . b. */
static double curvature_of(spl_schur *s, const double *b)
{
    size_t nb = outer_count(s);
    double *image = s->image, sum = dot(s->dx, b, nb);
    memset(image, 0, nb * sizeof *image);
    spl_springs_multiply(s->springs, s->system->order.interior, s->dx, image);
    return sum - dot(s->dx, image, nb);
}

static supple_result step(void *state, spl_newton *n, double goal, supple_error *error)
{
    spl_schur *s = state;
    if (s->options.exact) return spl_formulation_volume.step(&s->whole, n, goal, error);
    const double *b = n->residual + inner_count(s);
    if (n->stats.newton > 0 && n->springs->same && n->slow) raise_bound(s); /* a jump: the vector was of another pose */
    supple_result result = prepare(s, n, error);
    if (result != SUPPLE_OK) return result;
    double start = spl_now_ms();
    spl_pcg_problem p = {.multiply = multiply_outer,
                         .multiply_context = s,
                         .precondition = s->options.precondition == SPL_PRECONDITION_NONE ? NULL : precondition_outer,
                         .precondition_context = s,
                         .tolerance = goal,
                         .absolute = true,
                         .from_zero = true,
                         .recurrence = true,
                         .max_iterations = s->options.max_iterations,
                         .history = s->history};
    memset(s->dx, 0, outer_count(s) * sizeof *s->dx);
    spl_pcg_result solved = spl_pcg_solve(s->outer, &p, b, s->dx, 1);
    if (solved.status == SPL_PCG_NOT_FINITE)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "the flesh's surface has no finite equilibrium in this pose");
    n->stats.breakdowns += solved.status == SPL_PCG_BREAKDOWN;
    n->stats.boundary_iterations += solved.iterations;
    spl_newton_search(n, SPL_BB, s->dx, curvature_of(s, b));
    n->stats.ms_boundary += spl_now_ms() - start;
    /* Where the operator thinks that the interior goes: a start that leaves little to relax. */
    memcpy(s->side, n->force, inner_count(s) * sizeof *s->side);
    if (s->system->order.interior > 0) spl_schur_inverse(s, s->side, s->inner_image);
    return relax(s, n, s->inner_image, 0.1 * goal, error);
}

const spl_formulation spl_formulation_surface = {.name = "surface", .begin = begin, .step = step};
