#include "subspace/corot.h"

#include <math.h>
#include <string.h>

enum { MOST = 10 }; /* Newton steps; four are usual */

/* Smallest determinant of tr(S) I - S, 8 at rest, at which the rotation counts as determined. */
static const double least = 1e-3;

/* A <- C^T A for the rotation C of the quaternion (x, y, z, 1) / |.|. */
static void turn_back(double x, double y, double z, double A[9])
{
    double s = 2 / (1 + x * x + y * y + z * z), t[9];
    const double C[9] = {1 - s * (y * y + z * z), s * (x * y + z),         s * (x * z - y),
                         s * (x * y - z),         1 - s * (x * x + z * z), s * (y * z + x),
                         s * (x * z + y),         s * (y * z - x),         1 - s * (x * x + y * y)};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            t[3 * j + i] = C[3 * i] * A[3 * j] + C[3 * i + 1] * A[3 * j + 1] + C[3 * i + 2] * A[3 * j + 2];
    memcpy(A, t, sizeof t);
}

/* Cofactors of H = tr(S) I - S (xx yy zz xy xz yz), and its determinant; both from S, whose order is the same. */
static double cofactors(const double S[6], double adj[6])
{
    double a = S[1] + S[2], b = S[0] + S[2], c = S[0] + S[1], d = -S[3], e = -S[4], f = -S[5];
    adj[0] = b * c - f * f;
    adj[1] = a * c - e * e;
    adj[2] = a * b - d * d;
    adj[3] = e * f - d * c;
    adj[4] = d * f - e * b;
    adj[5] = d * e - a * f;
    return a * adj[0] + d * adj[3] + e * adj[4];
}

static void symmetric_part(const double A[9], double S[6])
{
    S[0] = A[0], S[1] = A[4], S[2] = A[8];
    S[3] = 0.5 * (A[1] + A[3]), S[4] = 0.5 * (A[2] + A[6]), S[5] = 0.5 * (A[5] + A[7]);
}

/* Whether H is safely positive, by its leading minors. */
static bool is_safe(const double S[6], const double adj[6], double det)
{
    return S[1] + S[2] > 0 && adj[2] > 0 && det > least && det < 1e3;
}

static void rotation_of(const double q[4], double R[9])
{
    double x = q[0], y = q[1], z = q[2], w = q[3], s = 2 / (x * x + y * y + z * z + w * w);
    const double out[9] = {1 - s * (y * y + z * z), s * (x * y + z * w),     s * (x * z - y * w),
                           s * (x * y - z * w),     1 - s * (x * x + z * z), s * (y * z + x * w),
                           s * (x * z + y * w),     s * (y * z - x * w),     1 - s * (x * x + y * y)};
    memcpy(R, out, sizeof out);
}

bool spl_corot_split(const double F[9], double R[9], double S[6])
{
    double A[9], adj[6], q[4] = {0, 0, 0, 1};
    bool near = false;
    memcpy(A, F, sizeof A);
    for (int k = 0; k < MOST && !near; k++) {
        double g[3] = {A[5] - A[7], A[6] - A[2], A[1] - A[3]};
        symmetric_part(A, S);
        double det = cofactors(S, adj);
        if (!is_safe(S, adj, det)) return false; /* NaN too */
        double half = 0.5 / det, x = half * (adj[0] * g[0] + adj[3] * g[1] + adj[4] * g[2]);
        double y = half * (adj[3] * g[0] + adj[1] * g[1] + adj[5] * g[2]);
        double z = half * (adj[4] * g[0] + adj[5] * g[1] + adj[2] * g[2]);
        const double p[4] = {q[0], q[1], q[2], q[3]}; /* q <- q (x, y, z, 1) */
        q[0] = p[0] + p[3] * x + p[1] * z - p[2] * y;
        q[1] = p[1] + p[3] * y + p[2] * x - p[0] * z;
        q[2] = p[2] + p[3] * z + p[0] * y - p[1] * x;
        q[3] = p[3] - p[0] * x - p[1] * y - p[2] * z;
        near = x * x + y * y + z * z < 1e-17; /* what is left goes with its square */
        if (!near) turn_back(x, y, z, A);
    }
    if (!near) return false;
    rotation_of(q, R);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            A[3 * j + i] = R[3 * i] * F[3 * j] + R[3 * i + 1] * F[3 * j + 1] + R[3 * i + 2] * F[3 * j + 2];
    symmetric_part(A, S);
    return is_safe(S, adj, cofactors(S, adj));
}

double spl_corot_stress(const double F[9], const double R[9], const double S[6], double mu, double lambda, double P[9])
{
    double a = S[0] - 1, b = S[1] - 1, c = S[2] - 1, trace = a + b + c, turn = lambda * trace - 2 * mu;
    for (int i = 0; i < 9; i++) P[i] = 2 * mu * F[i] + turn * R[i];
    return mu * (a * a + b * b + c * c + 2 * (S[3] * S[3] + S[4] * S[4] + S[5] * S[5])) + 0.5 * lambda * trace * trace;
}

void spl_corot_modes(const double R[9], const double S[6], double mu, double lambda, double B[36], double M[16])
{
    double adj[6], det = cofactors(S, adj);
    double by = (lambda * (S[0] + S[1] + S[2] - 3) - 2 * mu) / det;
    memset(B, 0, 36 * sizeof *B);
    memset(M, 0, 16 * sizeof *M);
    memcpy(B, R, 9 * sizeof *B);
    for (int k = 0; k < 3; k++) { /* column c of R [e_k]x is R (e_k x e_c) */
        int i = (k + 1) % 3, j = (k + 2) % 3;
        for (int r = 0; r < 3; r++) {
            B[9 * (k + 1) + 3 * i + r] = R[3 * j + r];
            B[9 * (k + 1) + 3 * j + r] = -R[3 * i + r];
        }
    }
    M[0] = lambda;
    M[5] = by * adj[0], M[10] = by * adj[1], M[15] = by * adj[2];
    M[6] = M[9] = by * adj[3];
    M[7] = M[13] = by * adj[4];
    M[11] = M[14] = by * adj[5];
}
