/* One-sided Jacobi (Hestenes 1958): rows are rotated in pairs until all are orthogonal to each other. A round of a
 * tournament pairs every row with one other, so a round's rotations are independent and may run on any thread. */
#include "subspace/eigen.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ORTHOGONAL 1e-14 /* cosine of two rows that are */

enum { MOST_SWEEPS = 40, GRAIN = 8 };

double spl_dense_dot(const double *a, const double *b, size_t n)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[i % 8] += a[i] * b[i];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

typedef struct round {
    double *row;
    double *length2; /* by row: its square */
    size_t n, players, number;
    double floor;
    bool *turned; /* by pair */
} round_of;

/* Makes rows p and q orthogonal; false if they are. */
static bool rotate(const round_of *r, size_t p, size_t q)
{
    double *a = r->row + p * r->n, *b = r->row + q * r->n;
    double aa = r->length2[p], bb = r->length2[q], ab = spl_dense_dot(a, b, r->n);
    if (!(fabs(ab) > ORTHOGONAL * sqrt(aa * bb)) || !(fabs(ab) > r->floor)) return false;
    double z = (bb - aa) / (2 * ab), t = (z < 0 ? -1 : 1) / (fabs(z) + sqrt(1 + z * z));
    double c = 1 / sqrt(1 + t * t), s = c * t;
    for (size_t i = 0; i < r->n; i++) {
        double x = a[i], y = b[i];
        a[i] = c * x - s * y;
        b[i] = s * x + c * y;
    }
    r->length2[p] = spl_dense_dot(a, a, r->n);
    r->length2[q] = spl_dense_dot(b, b, r->n);
    return true;
}

/* Pairs of a round: player 0 stays, the others walk around the table. A last player may be missing. */
static void play(void *context, size_t begin, size_t end)
{
    const round_of *r = context;
    size_t others = r->players - 1;
    for (size_t k = begin; k < end; k++) {
        size_t p = k == 0 ? 0 : 1 + (r->number + k) % others;
        size_t q = 1 + (r->number + others - k) % others;
        r->turned[k] = p < r->n && q < r->n && rotate(r, p < q ? p : q, p < q ? q : p);
    }
}

static void sort_rows(double *G, size_t n, double *value, double *scratch)
{
    memcpy(scratch, G, n * n * sizeof *G);
    for (size_t i = 0; i < n; i++) {
        size_t rank = 0;
        for (size_t j = 0; j < n; j++) rank += value[j] > value[i] || (value[j] == value[i] && j < i);
        memcpy(G + rank * n, scratch + i * n, n * sizeof *G);
    }
    for (size_t i = 0; i < n; i++) value[i] = sqrt(spl_dense_dot(G + i * n, G + i * n, n));
}

void spl_eigen_psd(double *G, int32_t n, double *value, double *scratch, spl_pool *pool)
{
    size_t size = (size_t)n;
    round_of r = {G, value, size, size + size % 2, 0, 0, (bool *)scratch};
    double total = 0;
    for (size_t i = 0; i < size; i++) total += value[i] = spl_dense_dot(G + i * size, G + i * size, size);
    r.floor = DBL_EPSILON * DBL_EPSILON * total; /* what rounding leaves of rows that are 0 */
    bool turned = size > 1;
    for (int sweep = 0; turned && sweep < MOST_SWEEPS; sweep++) {
        turned = false;
        for (r.number = 0; r.number + 1 < r.players; r.number++) {
            spl_parallel_for(pool, r.players / 2, GRAIN, play, &r);
            for (size_t k = 0; k < r.players / 2; k++) turned = turned || r.turned[k];
        }
    }
    sort_rows(G, size, value, scratch);
}
