#include "subspace/modal.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "fem/residual.h"
#include "sparse/assembly.h"
#include "sparse/factor.h"
#include "subspace/lanczos.h"

#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-12 /* of eigenvalues */
#define STEP      1e-5  /* strain over which the Hessian's derivative is taken: it errs by about its square */

enum { GRAIN = 256 };

/* The body linearised about its rest shape. */
typedef struct work {
    const spl_solid *solid;
    const spl_law *law;
    const supple_allocator *allocator;
    spl_pool *pool;
    int32_t unknown_count; /* free vertices */
    int32_t *unknown;      /* by vertex: its number, -1 where held */
    double *root;          /* by unknown vertex: square root of its mass */
    spl_assembly assembly;
    double *element, *value; /* K by tet, and whole */
    spl_factor *factor;      /* of K */
    double *side;            /* 3 x unknowns */
    spl_stars stars;
    double *change, *corner; /* by tet: how its Hessian changes along a mode; forces at its corners */
} work;

static void work_release(work *w)
{
    const supple_allocator *a = w->allocator;
    spl_factor_destroy(w->factor);
    spl_assembly_release(&w->assembly, a);
    spl_stars_release(&w->stars);
    spl_free(a, w->unknown);
    spl_free(a, w->root);
    spl_free(a, w->element);
    spl_free(a, w->value);
    spl_free(a, w->side);
    spl_free(a, w->change);
    spl_free(a, w->corner);
}

/* ---- stiffness and mass ---- */

static void hessian_at(const work *w, size_t k, const spl_mat3 *F, double H[81])
{
    static const spl_mat3 identity = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    spl_law_input in = {*F, identity, w->solid->material.mu[k], w->solid->material.lambda[k]};
    w->law->hessian(&in, H);
}

static void stiffness_range(void *context, size_t begin, size_t end)
{
    const work *w = context;
    static const spl_mat3 identity = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    double H[81];
    for (size_t k = begin; k < end; k++) {
        hessian_at(w, k, &identity, H);
        spl_element_stiffness(&w->solid->elements, (int32_t)k, H, w->element + 90 * k);
    }
}

/* Loose pieces hang on the springs that the solid gives them. */
static void add_springs(work *w)
{
    for (int32_t v = 0; v < w->solid->elements.vertex_count; v++) {
        if (w->unknown[v] < 0 || w->solid->island[v] < 0) continue;
        double *block = w->value + 9 * w->assembly.pattern.start[w->unknown[v]];
        for (int i = 0; i < 3; i++) block[4 * i] += w->solid->island_stiffness;
    }
}

static supple_result number_unknowns(work *w, supple_error *error)
{
    const spl_elements *e = &w->solid->elements;
    size_t n = (size_t)e->vertex_count;
    double *mass = spl_new(w->allocator, n, sizeof *mass);
    w->unknown = spl_new(w->allocator, n, sizeof *w->unknown);
    w->root = spl_new(w->allocator, n, sizeof *w->root);
    bool ok = mass && w->unknown && w->root;
    if (ok) spl_elements_lumped_mass(e, w->solid->material.density, mass);
    for (size_t v = 0; ok && v < n; v++) {
        w->unknown[v] = w->solid->body->bone[v] < 0 && mass[v] > 0 ? w->unknown_count : -1;
        if (w->unknown[v] >= 0) w->root[w->unknown_count++] = sqrt(mass[v]);
    }
    spl_free(w->allocator, mass);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the body's vibrations");
}

static supple_result linearise(work *w, const supple_config *config, supple_error *error)
{
    const spl_elements *e = &w->solid->elements;
    const supple_allocator *a = w->allocator;
    supple_result result = number_unknowns(w, error);
    if (result == SUPPLE_OK && w->unknown_count == 0)
        result = spl_fail(error, SUPPLE_ERROR_INPUT, "bones hold all of the flesh: nothing vibrates");
    if (result == SUPPLE_OK)
        result = spl_assembly_create(e->tet, (size_t)e->count, 4, e->vertex_count, w->unknown, w->unknown_count, 3, a,
                                     &w->assembly, error);
    if (result != SUPPLE_OK) return result;
    w->element = spl_new(a, (size_t)e->count, 90 * sizeof *w->element);
    w->value = spl_new(a, spl_pattern_values(&w->assembly.pattern), sizeof *w->value);
    w->side = spl_new(a, (size_t)w->unknown_count, 3 * sizeof *w->side);
    if (!w->element || !w->value || !w->side) return spl_fail_memory(error, "the body's stiffness");
    spl_parallel_for(w->pool, (size_t)e->count, GRAIN, stiffness_range, w);
    spl_assembly_gather(&w->assembly, w->element, w->value, w->pool);
    add_springs(w);
    spl_free(a, w->element); /* much memory, and not needed again */
    w->element = NULL;
    spl_factor_options options = spl_factor_options_of(config);
    result = spl_factor_create(&w->assembly.pattern, &options, a, w->pool, &w->factor, error);
    if (result == SUPPLE_OK) result = spl_factor_factorise(w->factor, w->value, error);
    return result;
}

/* ---- modes ---- */

/* y = M^1/2 K^-1 M^1/2 x: its largest eigenvalues are 1/lambda of the lowest modes, psi = M^-1/2 x. */
static supple_result apply(void *context, const double *x, double *y, supple_error *error)
{
    work *w = context;
    size_t n = 3 * (size_t)w->unknown_count;
    for (size_t i = 0; i < n; i++) y[i] = w->root[i / 3] * x[i];
    supple_result result = spl_factor_solve(w->factor, y, 1, error);
    for (size_t i = 0; i < n; i++) y[i] *= w->root[i / 3];
    return result;
}

static void spread(const work *w, const double *from, double *to)
{
    for (size_t v = 0; v < (size_t)w->solid->elements.vertex_count; v++)
        for (size_t i = 0; i < 3 && w->unknown[v] >= 0; i++) to[3 * v + i] = from[3 * (size_t)w->unknown[v] + i];
}

static supple_result find_modes(work *w, spl_modal *out, supple_error *error)
{
    const supple_allocator *a = w->allocator;
    size_t n = 3 * (size_t)w->unknown_count, count = (size_t)out->mode_count, full = 3 * (size_t)out->vertex_count;
    spl_lanczos p = {(int32_t)n, out->mode_count, TOLERANCE, apply, w};
    double *vector = spl_new(a, count, n * sizeof *vector);
    out->value = spl_new(a, count, sizeof *out->value);
    out->mode = spl_new(a, count, full * sizeof *out->mode);
    bool ok = vector && out->value && out->mode;
    supple_result result = ok ? SUPPLE_OK : spl_fail_memory(error, "the body's vibrations");
    if (ok) result = spl_lanczos_largest(&p, a, out->value, vector, error);
    for (size_t k = 0; result == SUPPLE_OK && k < count; k++) {
        out->value[k] = 1 / out->value[k];
        for (size_t i = 0; i < n; i++) vector[k * n + i] /= w->root[i / 3];
        spread(w, vector + k * n, out->mode + k * full);
    }
    spl_free(a, vector);
    return result;
}

/* ---- modal derivatives ---- */

typedef struct pair {
    double weight;
    int32_t i, j;
} pair;

static int by_weight(const void *a, const void *b)
{
    const pair *s = a, *t = b;
    if (s->weight != t->weight) return s->weight > t->weight ? -1 : 1;
    return s->j != t->j ? (s->j < t->j ? -1 : 1) : (s->i > t->i) - (s->i < t->i);
}

static int by_last(const void *a, const void *b)
{
    const int32_t *s = a, *t = b;
    return s[1] != t[1] ? (s[1] < t[1] ? -1 : 1) : (s[0] > t[0]) - (s[0] < t[0]);
}

/* The pairs of largest weight, those of one j side by side. */
static supple_result choose_pairs(spl_modal *out, const supple_allocator *a, supple_error *error)
{
    size_t m = (size_t)out->mode_count, all = m * (m + 1) / 2, count = 0;
    pair *list = spl_new(a, all, sizeof *list);
    if ((size_t)out->derivative_count > all) out->derivative_count = (int32_t)all;
    out->pair = spl_new(a, (size_t)out->derivative_count, 2 * sizeof *out->pair);
    bool ok = list && out->pair;
    for (int32_t j = 0; ok && j < out->mode_count; j++)
        for (int32_t i = 0; i <= j; i++)
            list[count++] = (pair){out->value[0] / out->value[i] * (out->value[0] / out->value[j]), i, j};
    if (ok) {
        qsort(list, all, sizeof *list, by_weight);
        for (int32_t k = 0; k < out->derivative_count; k++) {
            out->pair[2 * k] = list[k].i;
            out->pair[2 * k + 1] = list[k].j;
        }
        qsort(out->pair, (size_t)out->derivative_count, 2 * sizeof *out->pair, by_last);
    }
    spl_free(a, list);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the modal derivatives");
}

typedef struct bend {
    const work *w;
    const double *mode; /* psi_j; or psi_i */
} bend;

/* dH along psi_j, by central differences about F = I: every law has exact Hessians, none third derivatives. */
static void change_range(void *context, size_t begin, size_t end)
{
    const bend *b = context;
    double low[81], high[81];
    for (size_t k = begin; k < end; k++) {
        spl_mat3 G = spl_element_F(&b->w->solid->elements, (int32_t)k, b->mode), F[2];
        double *out = b->w->change + 81 * k, size = 0;
        for (int i = 0; i < 9; i++) size += G.m[i] * G.m[i];
        memset(out, 0, 81 * sizeof *out);
        if (!(size > 0)) continue;
        double h = STEP / sqrt(size);
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < 9; i++) F[s].m[i] = (i % 4 == 0) + (s ? h : -h) * G.m[i];
        hessian_at(b->w, k, &F[0], low);
        hessian_at(b->w, k, &F[1], high);
        for (int i = 0; i < 81; i++) out[i] = (high[i] - low[i]) / (2 * h);
    }
}

/* -(dH psi_i) at the corners. */
static void bend_range(void *context, size_t begin, size_t end)
{
    const bend *b = context;
    for (size_t k = begin; k < end; k++) {
        spl_mat3 G = spl_element_F(&b->w->solid->elements, (int32_t)k, b->mode), P = {{0}};
        const double *H = b->w->change + 81 * k;
        for (int c = 0; c < 9; c++)
            for (int r = 0; r < 9; r++) P.m[r] += H[9 * c + r] * G.m[c];
        spl_element_forces(&b->w->solid->elements, (int32_t)k, &P, b->w->corner + 12 * k);
    }
}

static void gather_range(void *context, size_t begin, size_t end)
{
    const work *w = context;
    for (size_t v = begin; v < end; v++) {
        if (w->unknown[v] < 0) continue;
        double *to = w->side + 3 * (size_t)w->unknown[v];
        to[0] = to[1] = to[2] = 0;
        for (size_t q = w->stars.start[v]; q < w->stars.start[v + 1]; q++)
            for (size_t i = 0; i < 3; i++) to[i] += w->corner[3 * (size_t)w->stars.corner[q] + i];
    }
}

static supple_result find_derivatives(work *w, spl_modal *out, supple_error *error)
{
    size_t full = 3 * (size_t)out->vertex_count, tets = (size_t)w->solid->elements.count;
    supple_result result = choose_pairs(out, w->allocator, error);
    if (result == SUPPLE_OK) result = spl_stars_create(&w->solid->elements, w->allocator, &w->stars, error);
    if (result != SUPPLE_OK) return result;
    out->derivative = spl_new(w->allocator, (size_t)out->derivative_count, full * sizeof *out->derivative);
    w->change = spl_new(w->allocator, tets, 81 * sizeof *w->change);
    w->corner = spl_new(w->allocator, tets, 12 * sizeof *w->corner);
    if (!out->derivative || !w->change || !w->corner) return spl_fail_memory(error, "the modal derivatives");
    for (int32_t k = 0; result == SUPPLE_OK && k < out->derivative_count; k++) {
        bend along = {w, out->mode + (size_t)out->pair[2 * k + 1] * full};
        bend of = {w, out->mode + (size_t)out->pair[2 * k] * full};
        if (k == 0 || out->pair[2 * k + 1] != out->pair[2 * k - 1])
            spl_parallel_for(w->pool, tets, GRAIN, change_range, &along);
        spl_parallel_for(w->pool, tets, GRAIN, bend_range, &of);
        spl_parallel_for(w->pool, (size_t)out->vertex_count, GRAIN, gather_range, w);
        result = spl_factor_solve(w->factor, w->side, 1, error);
        spread(w, w->side, out->derivative + (size_t)k * full);
    }
    return result;
}

/* ---- all of it ---- */

supple_result spl_modal_create(const spl_solid *solid, const spl_law *law, int32_t modes, int32_t derivatives,
                               const supple_config *config, spl_pool *pool, spl_modal *out, supple_error *error)
{
    *out = (spl_modal){.allocator = spl_allocator_of(config), .vertex_count = solid->elements.vertex_count};
    work w = {.solid = solid, .law = law, .allocator = &out->allocator, .pool = pool};
    supple_result result = linearise(&w, config, error);
    int64_t most = 3 * (int64_t)w.unknown_count - 1; /* Lanczos's method finds all but one */
    out->mode_count = (int32_t)(modes < most ? modes : most);
    out->derivative_count = derivatives > 0 ? derivatives : 0;
    if (result == SUPPLE_OK && modes < 1)
        result = spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%d vibrations: at least 1 is needed", (int)modes);
    if (result == SUPPLE_OK) result = find_modes(&w, out, error);
    if (result == SUPPLE_OK) result = find_derivatives(&w, out, error);
    work_release(&w);
    if (result != SUPPLE_OK) spl_modal_release(out);
    return result;
}

supple_result spl_modal_respond(const spl_solid *solid, const spl_law *law, double *force, int32_t count,
                                const supple_config *config, spl_pool *pool, supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    work w = {.solid = solid, .law = law, .allocator = &a, .pool = pool};
    size_t n = (size_t)solid->elements.vertex_count;
    supple_result result = linearise(&w, config, error);
    for (int32_t s = 0; s < count && result == SUPPLE_OK; s++) {
        double *u = force + 3 * (size_t)s * n;
        for (size_t v = 0; v < n; v++)
            for (size_t i = 0; i < 3 && w.unknown[v] >= 0; i++) w.side[3 * (size_t)w.unknown[v] + i] = u[3 * v + i];
        result = spl_factor_solve(w.factor, w.side, 1, error);
        memset(u, 0, 3 * n * sizeof *u);
        spread(&w, w.side, u);
    }
    work_release(&w);
    return result;
}

void spl_modal_release(spl_modal *m)
{
    const supple_allocator *a = &m->allocator;
    if (!a->release) return;
    spl_free(a, m->value);
    spl_free(a, m->mode);
    spl_free(a, m->pair);
    spl_free(a, m->derivative);
    *m = (spl_modal){0};
}
