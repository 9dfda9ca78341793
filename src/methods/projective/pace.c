#include "methods/projective/pace.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum {
    WINDOW = SPL_PACE_WINDOW,
    WARM_UP = 4, /* plain steps before Chebyshev's weights begin; its estimate of the radius is of the last two */
};

/* ---- life ---- */

supple_result spl_pace_create(spl_pace_kind kind, size_t n, bool plain, const supple_allocator *a, spl_pool *pool,
                              spl_pace *out, supple_error *error)
{
    *out = (spl_pace){.allocator = *a, .kind = kind, .n = n, .vectors.n = n};
    if (kind == SPL_PACE_NONE) return SUPPLE_OK;
    bool full = kind != SPL_PACE_CHEBYSHEV, whole = spl_vectors_create(n, plain, a, pool, &out->vectors);
    out->last = spl_new(a, n, sizeof(float));
    bool both = kind == SPL_PACE_ANDERSON || kind == SPL_PACE_AUTO;
    if (both) out->f = spl_new(a, n, sizeof(float));
    for (int i = 0; i < WINDOW && full; i++) {
        out->step[i] = spl_new(a, n, sizeof(float));
        out->change[i] = spl_new(a, n, sizeof(float));
        whole = whole && out->step[i] && out->change[i];
    }
    if (whole && out->last && (out->f || !both)) return SUPPLE_OK;
    spl_pace_release(out);
    return spl_fail_memory(error, "the acceleration");
}

void spl_pace_release(spl_pace *p)
{
    if (!p->allocator.release) return;
    spl_vectors_release(&p->vectors);
    spl_free(&p->allocator, p->last);
    spl_free(&p->allocator, p->f);
    for (int i = 0; i < WINDOW; i++) {
        spl_free(&p->allocator, p->step[i]);
        spl_free(&p->allocator, p->change[i]);
    }
    *p = (spl_pace){0};
}

void spl_pace_adopt(spl_pace_kind kind, size_t n, const spl_vectors_elsewhere *elsewhere, float *names, spl_pace *out)
{
    *out = (spl_pace){.kind = kind, .n = n, .vectors = {.elsewhere = elsewhere, .n = n}};
    for (int i = 0; i < WINDOW; i++) {
        out->step[i] = names + i;
        out->change[i] = names + WINDOW + i;
    }
    out->last = names + 2 * WINDOW;
    out->f = names + 2 * WINDOW + 1;
}

void spl_pace_choose(spl_pace *p, spl_pace_kind kind)
{
    p->kind = kind;
}

void spl_pace_begin(spl_pace *p)
{
    p->age = p->count = p->next = 0;
    p->size = p->rho = 0;
    p->omega = 1;
}

/* ---- L-BFGS: the two loops of Nocedal 1980, with A^-1 between them ----
 *
 * What a loop takes off changes the products of the rest by products that are known, so that all of a loop's products
 * are made in one pass, and all that it adds in another. */

/* The j-th pair, 0 the newest. */
static int newest(const spl_pace *p, int j)
{
    return (p->next - 1 - j + 2 * WINDOW) % WINDOW;
}

void spl_pace_learn(spl_pace *p, const float *before, const float *r)
{
    if (p->kind != SPL_PACE_LBFGS || p->age == 0) return;
    int at = p->next, count = 0;
    const float *s = p->step[at], *a[SPL_VECTORS_MOST], *b[SPL_VECTORS_MOST];
    const float *y = p->change[at];
    double out[SPL_VECTORS_MOST];
    spl_vectors_sum(&p->vectors, before, 1, (const double[]){-1}, &r, p->change[at]);
    a[count] = s, b[count++] = y;
    a[count] = s, b[count++] = s;
    a[count] = y, b[count++] = y;
    a[count] = s, b[count++] = r;
    for (int j = 0; j < p->count; j++) {
        a[count] = p->step[newest(p, j)], b[count++] = r;
        a[count] = p->step[newest(p, j)], b[count++] = y;
    }
    spl_vectors_dots(&p->vectors, count, a, b, out);
    for (int j = 0; j < p->count; j++) p->side[newest(p, j)] = out[4 + 2 * j];
    if (!(out[0] > 1e-12 * sqrt(out[1] * out[2]))) return; /* not convex there: nothing to learn */
    for (int j = 0; j < p->count; j++) p->gram[newest(p, j)][at] = out[5 + 2 * j];
    p->curve[at] = 1 / out[0];
    p->side[at] = out[3];
    p->next = (at + 1) % WINDOW;
    if (p->count < WINDOW) p->count++;
}

void spl_pace_side(spl_pace *p, const float *r, bool plain, float *q)
{
    int count = p->kind != SPL_PACE_LBFGS || plain ? 0 : p->count;
    const float *x[WINDOW];
    double s[WINDOW];
    for (int j = 0; j < count; j++) {
        int i = newest(p, j);
        double product = p->side[i];
        for (int k = 0; k < j; k++) product -= p->share[newest(p, k)] * p->gram[i][newest(p, k)];
        p->share[i] = p->curve[i] * product;
        x[j] = p->change[i];
        s[j] = -p->share[i];
    }
    if (p->kind == SPL_PACE_NONE)
        spl_vectors_copy(&p->vectors, r, q);
    else
        spl_vectors_sum(&p->vectors, r, count, s, x, q);
}

static bool step_lbfgs(spl_pace *p, float *dx)
{
    const float *x[WINDOW] = {0}, *y[WINDOW] = {0}, *all[WINDOW] = {0};
    double s[WINDOW], product[WINDOW];
    int count = p->count;
    if (count <= 0) return false;
    for (int j = 0; j < count; j++) y[j] = p->change[newest(p, j)], x[j] = p->step[newest(p, j)], all[j] = dx;
    spl_vectors_dots(&p->vectors, count, y, all, product);
    for (int j = count - 1; j >= 0; j--) {
        int i = newest(p, j);
        for (int k = count - 1; k > j; k--) product[j] += s[k] * p->gram[newest(p, k)][i];
        s[j] = p->share[i] - p->curve[i] * product[j];
    }
    spl_vectors_sum(&p->vectors, dx, count, s, x, dx);
    return true;
}

/* ---- Anderson ---- */

/* Solves the normal equations of the changes for f, by elimination; directions that are not independent get nothing.
 * `side` are products of the changes with f. */
static void combine(spl_pace *p, const double *side)
{
    double G[WINDOW][WINDOW + 1], largest = 0;
    int n = p->count;
    for (int i = 0; i < n; i++) largest = fmax(largest, p->gram[i][i]);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) G[i][j] = p->gram[i][j] + (i == j ? 1e-8 * largest : 0);
        G[i][n] = side[i];
    }
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++) {
            double s = G[i][i] > 0 ? G[k][i] / G[i][i] : 0;
            for (int j = i; j <= n; j++) G[k][j] -= s * G[i][j];
        }
    for (int i = n - 1; i >= 0; i--) {
        double sum = G[i][n];
        for (int j = i + 1; j < n; j++) sum -= G[i][j] * p->share[j];
        p->share[i] = G[i][i] > 0 ? sum / G[i][i] : 0;
    }
}

/* x + f - sum share_j (step_j + change_j) */
static bool step_anderson(spl_pace *p, bool plain, float *f)
{
    const double minus = -1, plus = 1;
    double out[2 * WINDOW], s[WINDOW];
    const float *a[2 * WINDOW], *b[2 * WINDOW], *before = p->f, *last = p->last;
    if (p->age > 0) {
        int at = p->next;
        spl_vectors_sum(&p->vectors, f, 1, &minus, &before, p->change[at]);
        spl_vectors_sum(&p->vectors, p->change[at], 1, &plus, &last, p->step[at]);
        p->next = (at + 1) % WINDOW;
        if (p->count < WINDOW) p->count++;
        for (int i = 0; i < p->count; i++) {
            a[2 * i] = a[2 * i + 1] = p->change[i];
            b[2 * i] = p->change[at];
            b[2 * i + 1] = f;
        }
        spl_vectors_dots(&p->vectors, 2 * p->count, a, b, out);
        for (int i = 0; i < p->count; i++) p->gram[i][at] = p->gram[at][i] = out[2 * i];
    }
    spl_vectors_copy(&p->vectors, f, p->f);
    if (plain || p->count == 0) return false;
    double side[WINDOW];
    for (int i = 0; i < p->count; i++) side[i] = out[2 * i + 1];
    combine(p, side);
    for (int i = 0; i < p->count; i++) a[i] = p->step[i], s[i] = -p->share[i];
    spl_vectors_sum(&p->vectors, f, p->count, s, a, f);
    return true;
}

/* ---- Chebyshev ---- */

/* omega (f + last) - last, omega from 1 upwards: Wang's equation 6 with gamma 1, in steps. */
static bool step_chebyshev(spl_pace *p, bool plain, float *f)
{
    const float *one = f;
    double size;
    spl_vectors_dots(&p->vectors, 1, &one, &one, &size);
    if (p->age > 0 && p->age < WARM_UP && p->size > 0) p->rho = fmin(sqrt(size / p->size), 0.97);
    p->size = size;
    if (plain || p->age < WARM_UP) return false;
    double rho2 = p->rho * p->rho;
    p->omega = p->age == WARM_UP ? 2 / (2 - rho2) : 4 / (4 - rho2 * p->omega);
    const double plus = 1, more = p->omega - 1;
    const float *both = p->last; /* last + f: it is the step's own soon */
    spl_vectors_sum(&p->vectors, p->last, 1, &plus, &one, p->last);
    spl_vectors_sum(&p->vectors, f, 1, &more, &both, f);
    return true;
}

bool spl_pace_step(spl_pace *p, bool plain, float *dx)
{
    bool faster = false;
    if (p->kind == SPL_PACE_NONE) return false;
    if (p->kind == SPL_PACE_LBFGS) faster = !plain && step_lbfgs(p, dx);
    if (p->kind == SPL_PACE_ANDERSON) faster = step_anderson(p, plain, dx);
    if (p->kind == SPL_PACE_CHEBYSHEV) faster = step_chebyshev(p, plain, dx);
    float *last = p->kind == SPL_PACE_LBFGS ? p->step[p->next] : p->last;
    if (p->kind == SPL_PACE_LBFGS && p->count == WINDOW) p->count--; /* the oldest makes room */
    spl_vectors_copy(&p->vectors, dx, last);
    p->age++;
    return faster;
}
