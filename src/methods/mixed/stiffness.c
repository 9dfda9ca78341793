#include "methods/mixed/stiffness.h"

#include "math/cpu.h"

/* ---- tets ---- */

static void turn_gradients(const double *R, const double *g, double *h)
{
    for (int i = 0; i < 4; i++) {
        for (int r = 0; r < 3; r++) h[4 * i + r] = R[r] * g[3 * i] + R[3 + r] * g[3 * i + 1] + R[6 + r] * g[3 * i + 2];
        h[4 * i + 3] = 0;
    }
}

/* -W P R^T, column-major. */
static void turned_stress(const spl_pull *p, size_t k, const double *h, double Q[9])
{
    double W = p->elements->volume[k], mu = W * p->mu[k], lambda = W * p->lambda[k], T[9] = {0};
    double spin = p->spin ? W * p->spin[k] : 0;
    for (int i = 0; i < 4; i++) {
        const double *x = p->x + 3 * (size_t)p->elements->tet[4 * k + (size_t)i];
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++) T[3 * c + r] += x[r] * h[4 * i + c];
    }
    double diagonal = lambda * (T[0] + T[4] + T[8] - 3) - 2 * mu;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            Q[3 * c + r] =
                -mu * (T[3 * c + r] + T[3 * r + c]) - spin * (T[3 * c + r] - T[3 * r + c]) - (r == c ? diagonal : 0);
}

static void pull(const spl_pull *p, size_t begin, size_t end)
{
    for (size_t k = begin; k < end; k++) {
        double *h = p->h + SPL_PAD * k, *f = p->corner + SPL_PAD * k, Q[9];
        turn_gradients(p->rotation + 9 * k, p->elements->gradient + 12 * k, h);
        turned_stress(p, k, h, Q);
        for (int i = 0; i < SPL_PAD; i += 4) {
            for (int r = 0; r < 3; r++) f[i + r] = Q[r] * h[i] + Q[3 + r] * h[i + 1] + Q[6 + r] * h[i + 2];
            f[i + 3] = sqrt(f[i] * f[i] + f[i + 1] * f[i + 1] + f[i + 2] * f[i + 2]);
        }
    }
}

/* ---- vertices ---- */

static void sum(const spl_sum *s, size_t begin, size_t end)
{
    for (size_t v = begin; v < end; v++) {
        double f[4] = {0};
        for (size_t q = s->stars->start[v]; q < s->stars->start[v + 1]; q++)
            for (size_t i = 0; i < 4; i++) f[i] += s->corner[4 * (size_t)s->stars->corner[q] + i];
        for (size_t i = 0; i < 3; i++) s->force[3 * v + i] = f[i];
        s->magnitude[v] = f[3];
    }
}

/* ---- rows ---- */

/* Adds W ((mu + spin) (h_i . h_j) I + (mu - spin) h_j h_i^T + lambda h_i h_j^T) to a block, rows of corner i. */
static void add_block(const double *hi, const double *hj, double mu, double spin, double lambda, double B[9])
{
    double dot = (mu + spin) * (hi[0] * hj[0] + hi[1] * hj[1] + hi[2] * hj[2]);
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) B[3 * c + r] += (mu - spin) * hj[r] * hi[c] + lambda * hi[r] * hj[c];
    for (int i = 0; i < 9; i += 4) B[i] += dot;
}

static void add_diagonal(const spl_stiffness *s, size_t node)
{
    for (size_t at = s->start[node]; at < s->start[node + 1]; at++)
        if (s->column[at] == (int32_t)node)
            for (size_t i = 0; i < 9; i += 4) s->value[9 * at + i] += s->spring[node];
}

static void rows(const spl_stiffness *s, size_t begin, size_t end)
{
    for (size_t node = begin; node < end; node++) {
        size_t vertex = (size_t)s->vertex[node], length = s->start[node + 1] - s->start[node];
        double *value = s->value + 9 * s->start[node];
        for (size_t i = 0; i < 9 * length; i++) value[i] = 0;
        for (size_t q = s->stars->start[vertex]; q < s->stars->start[vertex + 1]; q++) {
            size_t corner = s->stars->corner[q], tet = corner / 4;
            const double *h = s->h + SPL_PAD * tet, *own = s->h + 4 * corner;
            double W = s->elements->volume[tet], spin = s->spin ? W * s->spin[tet] : 0;
            for (size_t j = 0; j < 4; j++)
                if (s->slot[4 * q + j] < length)
                    add_block(own, h + 4 * j, W * s->mu[tet], spin, W * s->lambda[tet], value + 9 * s->slot[4 * q + j]);
        }
        add_diagonal(s, node);
    }
}

const spl_mixed_kernels spl_mixed_kernels_plain = {pull, sum, rows};

const spl_mixed_kernels *spl_mixed_kernels_of(bool plain)
{
#ifdef SPL_HAVE_AVX2
    if (!plain && spl_cpu_has_avx2()) return &spl_mixed_kernels_avx2;
#endif
    (void)plain;
    return &spl_mixed_kernels_plain;
}
