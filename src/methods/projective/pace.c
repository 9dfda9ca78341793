#include "methods/projective/pace.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum {
    WINDOW = SPL_PACE_WINDOW,
    WARM_UP = 4, /* plain steps before Chebyshev's weights begin; its estimate of the radius is of the last two */
};

/* ---- vectors: eight sums side by side, so that compilers may use vectors and the order is fixed ---- */

static double dot(const float *a, const float *b, size_t n)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) sum[k] += (double)a[i + k] * (double)b[i + k];
    for (; i < n; i++) sum[0] += (double)a[i] * (double)b[i];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static void add(float *y, const float *x, double by, size_t n)
{
    float s = (float)by;
    for (size_t i = 0; i < n; i++) y[i] += s * x[i];
}

/* ---- life ---- */

supple_result spl_pace_create(spl_pace_kind kind, size_t n, const supple_allocator *a, spl_pace *out,
                              supple_error *error)
{
    *out = (spl_pace){.allocator = *a, .kind = kind, .n = n};
    if (kind == SPL_PACE_NONE) return SUPPLE_OK;
    bool full = kind != SPL_PACE_CHEBYSHEV, whole = true;
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
    spl_free(&p->allocator, p->last);
    spl_free(&p->allocator, p->f);
    for (int i = 0; i < WINDOW; i++) {
        spl_free(&p->allocator, p->step[i]);
        spl_free(&p->allocator, p->change[i]);
    }
    *p = (spl_pace){0};
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

/* ---- L-BFGS: the two loops of Nocedal 1980, with A^-1 between them ---- */

void spl_pace_learn(spl_pace *p, const float *before, const float *r)
{
    if (p->kind != SPL_PACE_LBFGS || p->age == 0) return;
    float *s = p->step[p->next], *y = p->change[p->next];
    for (size_t i = 0; i < p->n; i++) y[i] = before[i] - r[i];
    memcpy(s, p->last, p->n * sizeof *s);
    double curve = dot(s, y, p->n);
    if (!(curve > 1e-12 * sqrt(dot(s, s, p->n) * dot(y, y, p->n)))) return; /* not convex there: nothing to learn */
    p->curve[p->next] = 1 / curve;
    p->next = (p->next + 1) % WINDOW;
    if (p->count < WINDOW) p->count++;
}

/* The j-th pair, 0 the newest. */
static int newest(const spl_pace *p, int j)
{
    return (p->next - 1 - j + 2 * WINDOW) % WINDOW;
}

void spl_pace_side(spl_pace *p, const float *r, bool plain, float *q)
{
    if (q != r) memcpy(q, r, p->n * sizeof *q);
    if (p->kind != SPL_PACE_LBFGS || plain) return;
    for (int j = 0; j < p->count; j++) {
        int i = newest(p, j);
        p->share[i] = p->curve[i] * dot(p->step[i], q, p->n);
        add(q, p->change[i], -p->share[i], p->n);
    }
}

static bool step_lbfgs(spl_pace *p, float *dx)
{
    for (int j = p->count - 1; j >= 0; j--) {
        int i = newest(p, j);
        double back = p->curve[i] * dot(p->change[i], dx, p->n);
        add(dx, p->step[i], p->share[i] - back, p->n);
    }
    return p->count > 0;
}

/* ---- Anderson ---- */

/* Solves the normal equations of the changes for f, by elimination; directions that are not independent get nothing. */
static void combine(spl_pace *p, const float *f)
{
    double G[WINDOW][WINDOW + 1], largest = 0;
    int n = p->count;
    for (int i = 0; i < n; i++) largest = fmax(largest, p->gram[i][i]);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) G[i][j] = p->gram[i][j] + (i == j ? 1e-8 * largest : 0);
        G[i][n] = dot(p->change[i], f, p->n);
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
    if (p->age > 0) {
        float *s = p->step[p->next], *y = p->change[p->next];
        for (size_t i = 0; i < p->n; i++) {
            y[i] = f[i] - p->f[i];
            s[i] = p->last[i] + y[i];
        }
        int at = p->next;
        p->next = (p->next + 1) % WINDOW;
        if (p->count < WINDOW) p->count++;
        for (int i = 0; i < p->count; i++) p->gram[i][at] = p->gram[at][i] = dot(p->change[i], p->change[at], p->n);
    }
    memcpy(p->f, f, p->n * sizeof *f);
    if (plain || p->count == 0) return false;
    combine(p, f);
    for (int i = 0; i < p->count; i++) add(f, p->step[i], -p->share[i], p->n);
    return true;
}

/* ---- Chebyshev ---- */

/* omega (f + last) - last, omega from 1 upwards: Wang's equation 6 with gamma 1, in steps. */
static bool step_chebyshev(spl_pace *p, bool plain, float *f)
{
    double size = dot(f, f, p->n);
    if (p->age > 0 && p->age < WARM_UP && p->size > 0) p->rho = fmin(sqrt(size / p->size), 0.97);
    p->size = size;
    if (plain || p->age < WARM_UP) return false;
    double rho2 = p->rho * p->rho;
    p->omega = p->age == WARM_UP ? 2 / (2 - rho2) : 4 / (4 - rho2 * p->omega);
    float w = (float)p->omega;
    for (size_t i = 0; i < p->n; i++) f[i] = w * f[i] + (w - 1) * p->last[i];
    return true;
}

bool spl_pace_step(spl_pace *p, bool plain, float *dx)
{
    bool faster = false;
    if (p->kind == SPL_PACE_NONE) return false;
    if (p->kind == SPL_PACE_LBFGS) faster = !plain && step_lbfgs(p, dx);
    if (p->kind == SPL_PACE_ANDERSON) faster = step_anderson(p, plain, dx);
    if (p->kind == SPL_PACE_CHEBYSHEV) faster = step_chebyshev(p, plain, dx);
    memcpy(p->last, dx, p->n * sizeof *dx);
    p->age++;
    return faster;
}
