/* While x moves along d, det F of a tet is the cubic det(F + t dF) = det F + t cof F : dF + t^2 F : cof dF + t^3 det dF
 * (Smith and Schaefer 2015 bound their steps by its first root, in the plane). Its first fall to slack det F is found
 * between the turning points, by bisection from below, so that the answer never is behind it. */
#include "fem/filter.h"

#include <float.h>

enum {
    PIECES = 64,     /* of the tets: partial results, whatever the number of threads */
    HALVINGS = 1100, /* doubles have no more between 0 and 1 */
    RETREATS = 64
};

/* In det(F + t dF) as it is computed from the coefficients, rounding stays below this times (|F| + t |dF|)^3. */
#define ROUNDING (32 * DBL_EPSILON)

/* How narrow the bracket of a fall is, in parts of t. */
#define NARROW 1e-9

/* ---- one tet ---------------------------------------------------------------------------------------------------- */

/* k + b t + c t^2 + e t^3 */
typedef struct cubic {
    double k, b, c, e;
} cubic;

static double cubic_at(const cubic *f, double t)
{
    return f->k + t * (f->b + t * (f->c + t * f->e));
}

/* Scaled so that the squares of the coefficients are numbers. */
static cubic cubic_scaled(const cubic *f)
{
    double by = 1 / fmax(fmax(fabs(f->k), fabs(f->b)), fmax(fabs(f->c), fabs(f->e)));
    return (cubic){f->k * by, f->b * by, f->c * by, f->e * by};
}

/* The turning points inside (0, 1), ascending; returns how many. Neither root of 3 e t^2 + 2 c t + b is a difference;
 * where the cubic is of lower degree a root is infinite or not a number, and left out. */
static int turning_points(const cubic *f, double turn[2])
{
    double square = f->c * f->c - 3 * f->e * f->b;
    if (!(square > 0)) return 0; /* monotone, or constant */
    double w = -(f->c + copysign(sqrt(square), f->c)), root[2] = {w / (3 * f->e), f->b / w};
    int count = 0;
    for (int i = 0; i < 2; i++)
        if (root[i] > 0 && root[i] < 1) turn[count++] = root[i];
    if (count == 2 && turn[0] > turn[1]) {
        double t = turn[0];
        turn[0] = turn[1], turn[1] = t;
    }
    return count;
}

/* f(low) > 0 >= f(high) and monotone between: the last number found where it still is positive. */
static double bisect(const cubic *f, double low, double high)
{
    for (int i = 0; i < HALVINGS && high - low > NARROW * high; i++) {
        double mid = low + 0.5 * (high - low);
        if (cubic_at(f, mid) > 0)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* The last t in [0, 1] before f falls to 0; f(0) > 0. */
static double first_fall(const cubic *f)
{
    double turn[2], low = 0;
    int count = turning_points(f, turn);
    for (int i = 0; i <= count; i++) {
        double high = i < count ? turn[i] : 1;
        if (!(cubic_at(f, high) > 0)) return bisect(f, low, high);
        low = high;
    }
    return 1;
}

/* det(F + t dF) - slack det F less what rounding may do, which is a cubic too. A tet so flat that nothing is left then
 * may still lose half of what it has. */
static cubic fall_of(const spl_mat3 *F, double det, const spl_mat3 *dF, double slack)
{
    spl_mat3 C = spl_mat3_cofactor(F), dC = spl_mat3_cofactor(dF);
    double s = spl_mat3_norm(F), d = spl_mat3_norm(dF), left = (1 - slack) * det;
    cubic f = {left, spl_mat3_dot(&C, dF), spl_mat3_dot(&dC, F), spl_mat3_det(dF)};
    f.k = fmax(f.k - ROUNDING * s * s * s, 0.5 * left);
    f.b -= 3 * ROUNDING * s * s * d;
    f.c -= 3 * ROUNDING * s * d * d;
    f.e -= ROUNDING * d * d * d;
    return f;
}

static double tet_step(const spl_mat3 *F, double det, const spl_mat3 *dF, double slack)
{
    cubic f = fall_of(F, det, dF, slack);
    if (!isfinite(f.k + f.b + f.c + f.e)) return 0;
    if (f.k + fmin(f.b, 0) + fmin(f.c, 0) + fmin(f.e, 0) > 0) return 1; /* most tets: nothing falls so far */
    f = cubic_scaled(&f);
    return f.k > 0 ? first_fall(&f) : 0;
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

typedef struct filter {
    const spl_elements *e;
    const int32_t *held;
    const double *x, *d;
    double slack, t;
    double partial[PIECES];
} filter;

static bool all_held(const spl_elements *e, const int32_t *held, int32_t k)
{
    const int32_t *v = e->tet + 4 * (size_t)k;
    return held && held[v[0]] >= 0 && held[v[1]] >= 0 && held[v[2]] >= 0 && held[v[3]] >= 0;
}

static int32_t piece_start(const filter *f, size_t piece)
{
    return (int32_t)((int64_t)f->e->count * (int64_t)piece / PIECES);
}

/* The smallest step of the tets of a piece. */
static void step_pieces(void *context, size_t begin, size_t end)
{
    filter *f = context;
    for (size_t piece = begin; piece < end; piece++) {
        double least = 1;
        for (int32_t k = piece_start(f, piece); k < piece_start(f, piece + 1); k++) {
            if (all_held(f->e, f->held, k)) continue;
            spl_mat3 F = spl_element_F(f->e, k, f->x);
            double det = spl_mat3_det(&F);
            if (!(det > 0)) continue;
            spl_mat3 dF = spl_element_F(f->e, k, f->d);
            least = fmin(least, tet_step(&F, det, &dF, f->slack));
        }
        f->partial[piece] = least;
    }
}

/* F of a tet at the numbers x + t d. */
static spl_mat3 moved_F(const filter *f, int32_t k)
{
    const int32_t corner[4] = {0, 1, 2, 3}, *v = f->e->tet + 4 * (size_t)k;
    double y[12];
    for (size_t i = 0; i < 12; i++) {
        size_t from = 3 * (size_t)v[i / 3] + i % 3;
        y[i] = f->x[from] + f->t * f->d[from];
    }
    spl_elements one = {.vertex_count = 4, .count = 1, .tet = corner, .gradient = f->e->gradient + 12 * (size_t)k};
    return spl_element_F(&one, 0, y);
}

/* 1 where a tet of the piece has fallen too far at f->t after all. */
static void check_pieces(void *context, size_t begin, size_t end)
{
    filter *f = context;
    for (size_t piece = begin; piece < end; piece++) {
        bool late = false;
        for (int32_t k = piece_start(f, piece); k < piece_start(f, piece + 1) && !late; k++) {
            if (all_held(f->e, f->held, k)) continue;
            spl_mat3 F = spl_element_F(f->e, k, f->x), moved = moved_F(f, k);
            double det = spl_mat3_det(&F);
            late = det > 0 && !(spl_mat3_det(&moved) >= f->slack * det);
        }
        f->partial[piece] = late;
    }
}

static double largest_partial(const filter *f)
{
    double most = f->partial[0];
    for (int i = 1; i < PIECES; i++) most = fmax(most, f->partial[i]);
    return most;
}

static double least_partial(const filter *f)
{
    double least = f->partial[0];
    for (int i = 1; i < PIECES; i++) least = fmin(least, f->partial[i]);
    return least;
}

double spl_inversion_filter(const spl_elements *e, const int32_t *held, const double *x, const double *d, double slack,
                            spl_pool *pool)
{
    filter f = {.e = e, .held = held, .x = x, .d = d, .slack = slack};
    spl_parallel_for(pool, PIECES, 1, step_pieces, &f);
    f.t = least_partial(&f);
    for (int i = 0; i < RETREATS && f.t > 0; i++) { /* as good as never more than once */
        spl_parallel_for(pool, PIECES, 1, check_pieces, &f);
        if (!(largest_partial(&f) > 0)) return f.t;
        f.t *= 0.5;
    }
    return 0;
}

void spl_inversion_count(const spl_elements *e, const int32_t *held, const double *x, int32_t *held_count,
                         int32_t *free_count)
{
    *held_count = *free_count = 0;
    for (int32_t k = 0; k < e->count; k++) {
        spl_mat3 F = spl_element_F(e, k, x);
        if (!(spl_mat3_det(&F) > 0)) ++*(all_held(e, held, k) ? held_count : free_count);
    }
}
