#include "methods/mixed/warp_private.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "fem/law.h"

#include <string.h>

/* ---- creation ---- */

static supple_result number_unknowns(spl_warp *w, supple_error *error)
{
    int32_t n = w->in.elements->vertex_count;
    w->unknown = spl_new(&w->allocator, (size_t)n, sizeof *w->unknown);
    if (!w->unknown) return spl_fail_memory(error, "the elastic system");
    for (int32_t v = 0; v < n; v++) w->unknown[v] = w->in.held[v] < 0 ? w->count++ : -1;
    w->vertex = spl_new(&w->allocator, (size_t)w->count, sizeof *w->vertex);
    w->spring = spl_new(&w->allocator, (size_t)w->count, sizeof *w->spring);
    if (!w->vertex || !w->spring) return spl_fail_memory(error, "the elastic system");
    for (int32_t v = 0; v < n; v++) {
        if (w->unknown[v] < 0) continue;
        w->vertex[w->unknown[v]] = v;
        if (w->in.spring) w->spring[w->unknown[v]] = w->in.spring[v];
    }
    return SUPPLE_OK;
}

static supple_result make_buffers(spl_warp *w, supple_error *error)
{
    const supple_allocator *a = &w->allocator;
    const spl_elements *e = w->in.elements;
    size_t n = 3 * (size_t)w->count, tets = (size_t)e->count, vertices = (size_t)e->vertex_count;
    w->value = spl_new(a, spl_pattern_values(&w->assembly.pattern), sizeof *w->value);
    w->h = spl_new(a, tets, 12 * sizeof *w->h);
    w->side = spl_new(a, n, sizeof *w->side);
    w->dx = spl_new(a, n, sizeof *w->dx);
    w->turned = spl_new(a, n, sizeof *w->turned);
    w->single = spl_new(a, n, sizeof *w->single);
    w->force = spl_new(a, vertices, 3 * sizeof *w->force);
    w->magnitude = spl_new(a, vertices, sizeof *w->magnitude);
    w->scratch = spl_new(a, 12 * tets + tets / 1024 + 1, sizeof *w->scratch);
    bool ok = w->value && w->h && w->side && w->dx && w->turned && w->single && w->force && w->magnitude && w->scratch;
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the elastic system");
}

static supple_result analyse(spl_warp *w, supple_error *error)
{
    const spl_elements *e = w->in.elements;
    supple_result result = number_unknowns(w, error);
    if (result == SUPPLE_OK)
        result = spl_assembly_create(e->tet, (size_t)e->count, 4, e->vertex_count, w->unknown, w->count, 3,
                                     &w->allocator, &w->assembly, error);
    if (result == SUPPLE_OK) result = spl_matrix3_create(&w->assembly.pattern, &w->allocator, &w->matrix, error);
    if (result == SUPPLE_OK) result = make_buffers(w, error);
    if (result == SUPPLE_OK) result = spl_stars_create(e, &w->allocator, &w->stars, error);
    if (result == SUPPLE_OK) result = spl_pcg_create(3 * (size_t)w->count, 1, &w->allocator, w->pool, &w->pcg, error);
    return result;
}

supple_result spl_warp_create(const spl_warp_input *in, const supple_allocator *a, spl_pool *pool, spl_warp **out,
                              supple_error *error)
{
    *out = NULL;
    double start = spl_now_ms();
    spl_warp *w = spl_new(a, 1, sizeof *w);
    if (!w) return spl_fail_memory(error, "the elastic system");
    w->allocator = *a;
    w->in = *in;
    w->pool = pool;
    supple_result result = analyse(w, error);
    if (result == SUPPLE_OK && w->count > 0) result = spl_warp_make_preconditioner(w, error);
    if (result != SUPPLE_OK) {
        spl_warp_destroy(w);
        return result;
    }
    w->ms_setup = spl_now_ms() - start;
    *out = w;
    return SUPPLE_OK;
}

void spl_warp_destroy(spl_warp *w)
{
    if (!w) return;
    supple_allocator a = w->allocator;
    spl_factor_destroy(w->factor);
    spl_ic0_destroy(w->ic0);
    spl_pcg_destroy(w->pcg);
    spl_stars_release(&w->stars);
    spl_assembly_release(&w->assembly, &a);
    spl_matrix3_release(&w->matrix, &a);
    spl_free(&a, w->unknown);
    spl_free(&a, w->vertex);
    spl_free(&a, w->spring);
    spl_free(&a, w->value);
    spl_free(&a, w->h);
    spl_free(&a, w->side);
    spl_free(&a, w->dx);
    spl_free(&a, w->turned);
    spl_free(&a, w->single);
    spl_free(&a, w->force);
    spl_free(&a, w->magnitude);
    spl_free(&a, w->scratch);
    spl_free(&a, w);
}

/* ---- the matrix ---- */

typedef struct turn_loop {
    const spl_warp *w;
    const double *rotation; /* NULL: the rest shape */
} turn_loop;

/* h_i = R g_i */
static void turn_range(void *context, size_t begin, size_t end)
{
    const turn_loop *t = context;
    const double *gradient = t->w->in.elements->gradient;
    for (size_t k = begin; k < end; k++) {
        const double *g = gradient + 12 * k, *R = t->rotation + 9 * k;
        double *h = t->w->h + 12 * k;
        for (int i = 0; i < 12; i += 3)
            for (int r = 0; r < 3; r++) h[i + r] = R[r] * g[i] + R[3 + r] * g[i + 1] + R[6 + r] * g[i + 2];
    }
}

/* Adds W (mu (h_i . h_j) I + mu h_j h_i^T + lambda h_i h_j^T) to a column-major block. */
static inline void add_block(const double *hi, const double *hj, double mu, double lambda, double B[9])
{
    double dot = mu * (hi[0] * hj[0] + hi[1] * hj[1] + hi[2] * hj[2]);
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) B[3 * c + r] += mu * hj[r] * hi[c] + lambda * hi[r] * hj[c];
    B[0] += dot;
    B[4] += dot;
    B[8] += dot;
}

static const uint8_t CORNER_I[10] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3}, CORNER_J[10] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3};

/* Each entry gathers its tets' blocks in their order: the same bits on any number of threads. */
static void gather_columns(void *context, size_t begin, size_t end)
{
    const spl_warp *w = context;
    const spl_assembly *s = &w->assembly;
    const double *h = w->h, *volume = w->in.elements->volume;
    for (size_t column = begin; column < end; column++)
        for (size_t at = s->pattern.start[column]; at < s->pattern.start[column + 1]; at++) {
            double B[9] = {0};
            for (size_t k = s->start[at]; k < s->start[at + 1]; k++) {
                size_t source = s->source[k] >> 1, tet = source / 10, pair = source % 10;
                const double *hi = h + 12 * tet + 3 * CORNER_I[pair], *hj = h + 12 * tet + 3 * CORNER_J[pair];
                double W = volume[tet], mu = W * w->in.mu[tet], lambda = W * w->in.lambda[tet];
                if (s->source[k] & 1)
                    add_block(hj, hi, mu, lambda, B);
                else
                    add_block(hi, hj, mu, lambda, B);
            }
            if (at == s->pattern.start[column])
                for (int i = 0; i < 9; i += 4) B[i] += w->spring[column];
            memcpy(w->value + 9 * at, B, sizeof B);
        }
}

void spl_warp_assemble(spl_warp *w, const double *rotation)
{
    const spl_elements *e = w->in.elements;
    if (rotation) {
        turn_loop t = {w, rotation};
        spl_parallel_for(w->pool, (size_t)e->count, 2048, turn_range, &t);
    } else
        memcpy(w->h, e->gradient, 12 * (size_t)e->count * sizeof *w->h);
    spl_parallel_for(w->pool, (size_t)w->count, 256, gather_columns, w);
}

/* ---- a solve ---- */

/* All forces at x into w->force; the residual's scale. */
static double add_forces(spl_warp *w, const spl_warp_problem *p, const double *x)
{
    const spl_elements *e = w->in.elements;
    spl_elastic elastic = {e, &spl_law_mixed, w->in.mu, w->in.lambda, p->rotation};
    spl_elastic_forces(&elastic, &w->stars, x, w->force, w->magnitude, w->scratch, w->pool);
    for (int32_t i = 0; i < p->pin_count; i++)
        for (size_t c = 0; c < 3; c++) {
            size_t at = 3 * (size_t)p->pin[i].vertex + c;
            w->force[at] -= p->pin[i].stiffness * (x[at] - p->pin[i].target[c]);
        }
    for (size_t i = 0; p->force && i < 3 * (size_t)e->vertex_count; i++) w->force[i] += p->force[i];
    double sum = 0;
    for (int32_t v = 0; v < e->vertex_count; v++) sum += w->magnitude[v] * w->magnitude[v];
    return sqrt(sum) + w->in.floor;
}

/* |force| over the unknowns, which it also puts into the right-hand side. */
static double set_side(spl_warp *w)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)w->count; i++)
        for (size_t c = 0; c < 3; c++) {
            double f = w->force[3 * (size_t)w->vertex[i] + c];
            w->side[3 * i + c] = f;
            sum += f * f;
        }
    return sqrt(sum);
}

static void move(spl_warp *w, double *x)
{
    for (size_t i = 0; i < (size_t)w->count; i++)
        for (size_t c = 0; c < 3; c++) x[3 * (size_t)w->vertex[i] + c] += w->dx[3 * i + c];
}

static void multiply(void *context, const double *x, double *y, int32_t k)
{
    (void)k;
    spl_warp *w = context;
    spl_matrix3_multiply(&w->matrix, x, y, w->pool);
}

static supple_result correct(spl_warp *w, const spl_warp_problem *p, double scale, spl_warp_stats *stats,
                             supple_error *error)
{
    double start = spl_now_ms();
    supple_result result = spl_warp_factorise(w, p->turn, error);
    stats->ms_factor = spl_now_ms() - start;
    if (result != SUPPLE_OK) return result;
    memset(w->dx, 0, 3 * (size_t)w->count * sizeof *w->dx);
    spl_pcg_problem problem = {.multiply = multiply,
                               .multiply_context = w,
                               .precondition = spl_warp_precondition,
                               .precondition_context = w,
                               .tolerance = p->tolerance * scale,
                               .absolute = true,
                               .max_iterations = p->max_iterations};
    spl_pcg_result solved = spl_pcg_solve(w->pcg, &problem, w->side, w->dx, 1);
    stats->iterations += solved.iterations;
    stats->residual = solved.residual / scale;
    if (solved.status == SPL_PCG_NOT_FINITE || !isfinite(solved.residual))
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "the elastic system has no finite solution in this pose");
    return SUPPLE_OK;
}

supple_result spl_warp_solve(spl_warp *w, const spl_warp_problem *p, double *x, spl_warp_stats *stats,
                             supple_error *error)
{
    *stats = (spl_warp_stats){.ms_setup = w->ms_setup, .bytes = spl_warp_bytes(w)};
    double start = spl_now_ms(), scale = add_forces(w, p, x), norm = set_side(w);
    stats->ms_force = spl_now_ms() - start;
    stats->residual = norm / scale;
    if (w->count == 0 || stats->residual <= p->tolerance) return SUPPLE_OK;
    if (!isfinite(norm) || !isfinite(scale))
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "the elastic forces are not finite in this pose");
    start = spl_now_ms();
    spl_warp_assemble(w, p->rotation);
    spl_matrix3_fill(&w->matrix, w->value, w->pool);
    stats->ms_assembly = spl_now_ms() - start;
    start = spl_now_ms();
    supple_result result = correct(w, p, scale, stats, error);
    stats->ms_solve = spl_now_ms() - start - stats->ms_factor;
    if (result == SUPPLE_OK) move(w, x);
    return result;
}

const double *spl_warp_forces(const spl_warp *w)
{
    return w->force;
}
