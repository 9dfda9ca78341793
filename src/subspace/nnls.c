/* Lawson and Hanson 1974, chapter 23; the normal equations as in Bro and De Jong 1997. */
#include "subspace/nnls.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/dense.h"

#include <math.h>
#include <string.h>

#define DEPENDENT 1e-11 /* share of a column's square, below which what is left of it is rounding */
#define GRADIENT  1e-10 /* share of |a . b| and its parts below which a gradient is 0 */

supple_result spl_nnls_create(int32_t most, const supple_allocator *a, spl_nnls *out, supple_error *error)
{
    size_t m = (size_t)most;
    *out = (spl_nnls){.allocator = *a,
                      .most = most,
                      .gram = spl_new(a, m, m * sizeof *out->gram),
                      .side = spl_new(a, m, sizeof *out->side),
                      .x = spl_new(a, m, sizeof *out->x),
                      .passive = spl_new(a, m, sizeof *out->passive),
                      .is_passive = spl_new(a, m, sizeof *out->is_passive),
                      .factor = spl_new(a, m, m * sizeof *out->factor),
                      .refused = spl_new(a, m, sizeof *out->refused),
                      .place = spl_new(a, m, sizeof *out->place),
                      .z = spl_new(a, m, sizeof *out->z),
                      .y = spl_new(a, m, sizeof *out->y)};
    if (out->gram && out->side && out->x && out->passive && out->is_passive && out->factor && out->refused &&
        out->place && out->z && out->y)
        return SUPPLE_OK;
    spl_nnls_release(out);
    return spl_fail_memory(error, "the cubature's weights");
}

void spl_nnls_release(spl_nnls *n)
{
    const supple_allocator *a = &n->allocator;
    if (!a->release) return;
    spl_free(a, n->gram);
    spl_free(a, n->side);
    spl_free(a, n->x);
    spl_free(a, n->passive);
    spl_free(a, n->is_passive);
    spl_free(a, n->factor);
    spl_free(a, n->refused);
    spl_free(a, n->place);
    spl_free(a, n->z);
    spl_free(a, n->y);
    *n = (spl_nnls){0};
}

static double gram_at(const spl_nnls *n, int32_t i, int32_t j)
{
    return i >= j ? n->gram[(size_t)i * (size_t)n->most + (size_t)j] : n->gram[(size_t)j * (size_t)n->most + (size_t)i];
}

static double *row_of(const spl_nnls *n, int32_t k)
{
    return n->factor + (size_t)k * (size_t)n->most;
}

void spl_nnls_add(spl_nnls *n, const double *products, double square, double side)
{
    double *row = n->gram + (size_t)n->count * (size_t)n->most;
    if (n->count > 0) memcpy(row, products, (size_t)n->count * sizeof *row);
    row[n->count] = square;
    n->side[n->count] = side;
    n->x[n->count] = 0;
    n->is_passive[n->count++] = false;
}

/* ---- the factor ---- */

/* L gets a row for column j; false if the passive columns span it. */
static bool append(spl_nnls *n, int32_t j)
{
    int32_t k = n->passive_count;
    double *row = row_of(n, k), square = gram_at(n, j, j);
    for (int32_t i = 0; i < k; i++) {
        const double *above = row_of(n, i);
        row[i] = (gram_at(n, j, n->passive[i]) - spl_dense_dot(above, row, (size_t)i)) / above[i];
    }
    double left = square - spl_dense_dot(row, row, (size_t)k);
    if (!(left > DEPENDENT * square)) return false;
    row[k] = sqrt(left);
    n->passive[n->passive_count++] = j;
    n->is_passive[j] = true;
    return true;
}

/* Takes row `at` out of L: the rows below have one number too many, which rotations of neighbouring columns remove. */
static void take_out(spl_nnls *n, int32_t at)
{
    n->is_passive[n->passive[at]] = false;
    n->x[n->passive[at]] = 0;
    int32_t count = --n->passive_count;
    for (int32_t k = at; k < count; k++) {
        n->passive[k] = n->passive[k + 1];
        memcpy(row_of(n, k), row_of(n, k + 1), (size_t)(k + 2) * sizeof(double));
    }
    for (int32_t k = at; k < count; k++) {
        double *row = row_of(n, k), a = row[k], b = row[k + 1], size = hypot(a, b), c = a / size, s = b / size;
        row[k] = size;
        for (int32_t below = k + 1; below < count; below++) {
            double *r = row_of(n, below), u = r[k], v = r[k + 1];
            r[k] = c * u + s * v;
            r[k + 1] = c * v - s * u;
        }
    }
}

/* z = (A^T A)^-1 A^T b over the passive columns, in their order. */
static void solve_passive(spl_nnls *n)
{
    int32_t count = n->passive_count;
    for (int32_t i = 0; i < count; i++) {
        const double *row = row_of(n, i);
        n->y[i] = (n->side[n->passive[i]] - spl_dense_dot(row, n->y, (size_t)i)) / row[i];
    }
    for (int32_t i = count - 1; i >= 0; i--) {
        const double *row = row_of(n, i);
        n->z[i] = n->y[i] / row[i];
        for (int32_t j = 0; j < i; j++) n->y[j] -= row[j] * n->z[i];
    }
}

/* ---- the active set ---- */

/* Goes from x towards z, as far as nothing turns negative, and makes what got to 0 active; until z is positive. */
static void settle(spl_nnls *n)
{
    while (n->passive_count > 0) {
        double step = 1;
        solve_passive(n);
        for (int32_t i = 0; i < n->passive_count; i++) {
            double x = n->x[n->passive[i]];
            if (!(n->z[i] > 0)) step = fmin(step, x > 0 ? x / (x - n->z[i]) : 0);
        }
        bool stuck = false;
        for (int32_t i = 0; i < n->passive_count; i++) {
            double *x = &n->x[n->passive[i]];
            bool blocks = !(n->z[i] > 0) && (*x > 0 ? *x / (*x - n->z[i]) : 0) <= step;
            *x = blocks ? 0 : *x + step * (n->z[i] - *x);
            stuck = stuck || blocks;
        }
        if (!stuck) {
            for (int32_t i = 0; i < n->passive_count; i++) n->x[n->passive[i]] = n->z[i];
            return;
        }
        for (int32_t i = n->passive_count - 1; i >= 0; i--)
            if (!(n->x[n->passive[i]] > 0)) take_out(n, i);
    }
}

/* The active column with the steepest descent for its length, -1 if there is none; `refused` ones are passed over. */
static int32_t steepest(const spl_nnls *n)
{
    int32_t best = -1;
    double most = 0;
    for (int32_t j = 0; j < n->count; j++) {
        double w = n->side[j], size = fabs(w), square = gram_at(n, j, j);
        if (n->is_passive[j] || n->refused[j] || !(square > 0)) continue;
        for (int32_t i = 0; i < n->passive_count; i++) {
            double part = gram_at(n, j, n->passive[i]) * n->x[n->passive[i]];
            w -= part;
            size += fabs(part);
        }
        if (!(w > GRADIENT * size) || !(w / sqrt(square) > most)) continue;
        most = w / sqrt(square);
        best = j;
    }
    return best;
}

void spl_nnls_solve(spl_nnls *n)
{
    for (int32_t j = 0; j < n->count; j++) n->refused[j] = false;
    for (int32_t left = 3 * n->count; left > 0;
         left--) { /* many more than are needed: rounding cannot cycle for ever */
        int32_t j = steepest(n);
        if (j < 0) return;
        if (append(n, j)) settle(n);
        n->refused[j] = !n->is_passive[j];
    }
}

int32_t spl_nnls_drop(spl_nnls *n, int32_t *kept)
{
    size_t most = (size_t)n->most;
    int32_t count = 0;
    for (int32_t j = 0; j < n->count; j++) {
        if (!n->is_passive[j]) continue;
        kept[count] = j;
        for (int32_t i = 0; i <= count; i++) n->gram[(size_t)count * most + (size_t)i] = gram_at(n, j, kept[i]);
        n->side[count] = n->side[j];
        n->x[count] = n->x[j];
        n->place[j] = count++;
    }
    for (int32_t i = 0; i < n->passive_count; i++) n->passive[i] = n->place[n->passive[i]];
    for (int32_t j = 0; j < count; j++) n->is_passive[j] = true;
    return n->count = count;
}
