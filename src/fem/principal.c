#include "fem/principal.h"

#include "math/svd3.h"

void spl_stretch_of(const spl_mat3 *F, spl_stretch *out)
{
    if (!spl_svd3(F, &out->U, out->s, &out->V)) out->s[0] = out->s[1] = out->s[2] = NAN;
}

void spl_stretch_stress(const spl_stretch *f, const double d[3], spl_mat3 *P)
{
    const double *U = f->U.m, *V = f->V.m;
    for (int c = 0; c < 3; c++) {
        double a = d[0] * V[c], b = d[1] * V[3 + c], e = d[2] * V[6 + c];
        for (int r = 0; r < 3; r++) P->m[3 * c + r] = U[r] * a + U[3 + r] * b + U[6 + r] * e;
    }
}

/* ---- clamping --------------------------------------------------------------------------------------------------- */

/* All leading minors positive: the common case needs no eigenvalues. */
static bool is_positive(const double A[9])
{
    double minor = A[0] * A[4] - A[1] * A[3];
    double det =
        A[0] * (A[4] * A[8] - A[5] * A[7]) - A[3] * (A[1] * A[8] - A[2] * A[7]) + A[6] * (A[1] * A[5] - A[2] * A[4]);
    return A[0] > 0 && minor > 0 && det > 0;
}

/* A - sum over lambda < 0 of lambda q q^T. The eigenvectors are those of A + shift I, which has none below 0, so that
 * its singular value decomposition is its eigen-decomposition. */
static void clamp_scaling(double A[9])
{
    spl_mat3 shifted, Q, Qv;
    double shift = 0, sigma[3]; /* the sum of the entries bounds the eigenvalues, at any scale */
    for (int i = 0; i < 9; i++) {
        shifted.m[i] = A[i];
        shift += fabs(A[i]);
    }
    for (int i = 0; i < 3; i++) shifted.m[4 * i] += shift;
    if (!spl_svd3(&shifted, &Q, sigma, &Qv)) return; /* not finite: left as it is */
    for (int k = 0; k < 3; k++) {
        const double *q = Qv.m + 3 * k;
        double lambda = 0; /* q^T A q: free of the shift's rounding */
        for (int i = 0; i < 9; i++) lambda += A[i] * q[i / 3] * q[i % 3];
        if (!(lambda < 0)) continue;
        for (int i = 0; i < 9; i++) shifted.m[i] -= lambda * (q[i / 3] * q[i % 3]);
    }
    for (int i = 0; i < 3; i++) shifted.m[4 * i] -= shift;
    for (int i = 0; i < 9; i++) A[i] = shifted.m[i];
}

void spl_modes_clamp(spl_modes *m)
{
    if (!is_positive(m->A)) clamp_scaling(m->A);
    for (int k = 0; k < 3; k++) { /* not fmax, which would hide a NaN */
        if (m->flip[k] < 0) m->flip[k] = 0;
        if (m->twist[k] < 0) m->twist[k] = 0;
    }
}

/* ---- back to the frame of F ------------------------------------------------------------------------------------- */

/* With p = (flip + twist) / 2 and m = (flip - twist) / 2 the block of H for columns a, b of F is U Q U^T,
 *     Q_ii = A_ii V_ai V_bi + sum_j!=i p_ij V_aj V_bj,    Q_ij = A_ij V_ai V_bj + m_ij V_aj V_bi. */
static void fill_block(const spl_modes *m, const double p[3], const double q[3], const double *V, int a, int b,
                       double Q[9])
{
    double va[3] = {V[a], V[3 + a], V[6 + a]}, vb[3] = {V[b], V[3 + b], V[6 + b]};
    double w0 = va[0] * vb[0], w1 = va[1] * vb[1], w2 = va[2] * vb[2];
    Q[0] = m->A[0] * w0 + p[2] * w1 + p[1] * w2;
    Q[4] = p[2] * w0 + m->A[4] * w1 + p[0] * w2;
    Q[8] = p[1] * w0 + p[0] * w1 + m->A[8] * w2;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            if (i != j) Q[3 * j + i] = m->A[3 * j + i] * va[i] * vb[j] + q[3 - i - j] * va[j] * vb[i];
}

/* B = U Q U^T */
static void turn_block(const double *U, const double Q[9], double B[9])
{
    double T[9];
    for (int j = 0; j < 3; j++)
        for (int r = 0; r < 3; r++) T[3 * j + r] = U[r] * Q[3 * j] + U[3 + r] * Q[3 * j + 1] + U[6 + r] * Q[3 * j + 2];
    for (int s = 0; s < 3; s++)
        for (int r = 0; r < 3; r++) B[3 * s + r] = T[r] * U[s] + T[3 + r] * U[3 + s] + T[6 + r] * U[6 + s];
}

void spl_modes_hessian(const spl_stretch *f, const spl_modes *m, double H[81])
{
    double p[3], q[3], Q[9], B[9];
    for (int k = 0; k < 3; k++) {
        p[k] = 0.5 * (m->flip[k] + m->twist[k]);
        q[k] = 0.5 * (m->flip[k] - m->twist[k]);
    }
    for (int b = 0; b < 3; b++)
        for (int a = b; a < 3; a++) {
            fill_block(m, p, q, f->V.m, a, b, Q);
            turn_block(f->U.m, Q, B);
            if (a == b) /* exactly symmetric */
                B[3] = B[1], B[6] = B[2], B[7] = B[5];
            for (int s = 0; s < 3; s++)
                for (int r = 0; r < 3; r++) {
                    double h = B[3 * s + r];
                    H[9 * (3 * b + s) + 3 * a + r] = h;
                    H[9 * (3 * a + r) + 3 * b + s] = h;
                }
        }
}
