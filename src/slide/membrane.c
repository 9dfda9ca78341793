#include "slide/membrane.h"

#include "math/dense.h"

#include <math.h>

#define MOST_STRETCH 50.0 /* of area */
#define THINNEST     1e-6 /* area over the square of edges: thinner body triangles count as this thin */

/* The coefficients of W; p = sqrt(det g). */
typedef struct terms {
    double a, b, c, e, k;
} terms;

static terms terms_of(const spl_membrane *m, double p)
{
    double mu = m->mu, lambda = m->lambda;
    if (m->law == SPL_MEMBRANE_STVK)
        return (terms){lambda / 8 + mu / 4, (lambda + mu) / 2, (lambda + mu) / 2, mu * p * p / 2, 0};
    double bulk = lambda + mu;
    return (terms){0, -mu / 2, bulk / 2, -bulk * p * p / 2, -(mu + bulk) * p};
}

/* Dirichlet's energy of the map from the body to the skin, mu N / (4 p): convex in Y, it draws every vertex between
 * its neighbours and so turns triangles back (Tutte 1963). */
static void mend(const spl_membrane *m, const double g[3], double N, double p, spl_membrane_point *out)
{
    double k = p > 0 ? m->shrink * m->mu / (4 * p) : 0;
    *out = (spl_membrane_point){.W = p > 0 ? m->mu * N / (4 * p) : 0, .broken = true};
    out->S[0] = k * g[2];
    out->S[1] = -k * g[1];
    out->S[2] = k * g[0];
}

void spl_membrane_at(const spl_membrane *m, const double G_body[3], const double g[3], bool inverted,
                     spl_membrane_point *out)
{
    double s = m->shrink, G[3] = {s * G_body[0], s * G_body[1], s * G_body[2]};
    double det = G[0] * G[2] - G[1] * G[1], body = g[0] * g[2] - g[1] * g[1], trace = g[0] + g[2];
    double p = sqrt(body > 0 ? body : 0), N = G[2] * g[0] - 2 * G[1] * g[1] + G[0] * g[2];
    double thick = p > THINNEST * trace ? p : THINNEST * trace;
    if (inverted || !(det > thick * thick / (MOST_STRETCH * MOST_STRETCH)) || !(det > 0)) {
        mend(m, g, N, fmax(p, 1e-2 * trace), out);
        return;
    }
    terms w = terms_of(m, p);
    double q = sqrt(det), i1 = 1 / q, i3 = i1 * i1 * i1, i5 = i3 * i1 * i1, i7 = i5 * i1 * i1; /* powers of 1 / q */
    double wN = w.a * N * i3 - w.b * i1 / 2;
    double wD = -0.75 * w.a * N * N * i5 + 0.25 * (w.b * N + w.e) * i3 + 0.25 * w.c * i1;
    double wNN = w.a * i3, wND = -1.5 * w.a * N * i5 + 0.25 * w.b * i3;
    double wDD = 1.875 * w.a * N * N * i7 - 0.375 * (w.b * N + w.e) * i5 - 0.125 * w.c * i3;
    double n[3] = {g[2], -2 * g[1], g[0]}, d[3] = {G[2], -2 * G[1], G[0]}; /* of N and det by G11, G12, G22 */
    out->broken = false;
    out->W = (w.a * N * N * i3 - (w.b * N + w.e) * i1 + w.c * q + w.k) / 2;
    for (int i = 0; i < 3; i++) out->S[i] = s * (wN * n[i] + wD * d[i]) * (i == 1 ? 0.5 : 1);
    for (int i = 0, at = 0; i < 3; i++)
        for (int j = 0; j <= i; j++, at++)
            out->C[at] = s * s * (wNN * n[i] * n[j] + wND * (n[i] * d[j] + d[i] * n[j]) + wDD * d[i] * d[j]);
    out->C[3] += s * s * wD;
    out->C[2] -= 2 * s * s * wD;
}

/* The positive part of a symmetric 2x2 matrix a b; b c. */
static void positive2(double *m)
{
    double mean = (m[0] + m[2]) / 2, half = (m[0] - m[2]) / 2, radius = sqrt(half * half + m[1] * m[1]);
    double high = mean + radius, low = mean - radius;
    if (low >= 0) return;
    if (high <= 0) {
        m[0] = m[1] = m[2] = 0;
        return;
    }
    double k = high / (2 * radius); /* high times the projector on its eigenvector */
    m[0] = k * (radius + half);
    m[2] = k * (radius - half);
    m[1] = k * m[1];
}

static bool is_positive3(const double *c)
{
    double l10 = c[1] / c[0], d1 = c[2] - l10 * c[1], l21 = (c[4] - l10 * c[3]) / d1;
    return c[0] > 0 && d1 > 0 && c[5] - c[3] * c[3] / c[0] - l21 * l21 * d1 >= 0;
}

void spl_membrane_project(spl_membrane_point *p)
{
    positive2(p->S);
    double *c = p->C;
    if (is_positive3(c)) return;
    double full[9] = {c[0], c[1], c[3], c[1], c[2], c[4], c[3], c[4], c[5]}, value[3], vector[9];
    spl_eigen_symmetric(full, 3, value, vector);
    for (int i = 0, at = 0; i < 3; i++)
        for (int j = 0; j <= i; j++, at++) {
            c[at] = 0;
            for (int k = 0; k < 3; k++) c[at] += fmax(value[k], 0) * vector[3 * i + k] * vector[3 * j + k];
        }
}
