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

/* Rounding in units of the sizes it comes from: see take_rounding. */
#define ROUNDING (64 * DBL_EPSILON)

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

/* A tet at x, or of d: its F, and by column of F its length and sum_i |x_i| |g_i|, whose rounding the column has. */
typedef struct sized {
    spl_mat3 F;
    double length[3], terms[3];
} sized;

static sized sized_of(const spl_elements *e, int32_t k, const double *x)
{
    sized s = {.F = spl_element_F(e, k, x)};
    for (int c = 0; c < 3; c++) s.length[c] = spl_norm(spl_mat3_column(&s.F, c));
    for (size_t i = 0; i < 4; i++) {
        const double *p = x + 3 * (size_t)e->tet[4 * (size_t)k + i], *g = e->gradient + 12 * (size_t)k + 3 * i;
        double reach = spl_norm(spl_v3(p[0], p[1], p[2]));
        for (int c = 0; c < 3; c++) s.terms[c] += reach * fabs(g[c]);
    }
    return s;
}

/* f -= by (a[0] + a[1] t) (b[0] + b[1] t) (c[0] + c[1] t) */
static void take_product(cubic *f, double by, const double a[2], const double b[2], const double c[2])
{
    double ab[3] = {a[0] * b[0], a[0] * b[1] + a[1] * b[0], a[1] * b[1]};
    f->k -= by * ab[0] * c[0];
    f->b -= by * (ab[1] * c[0] + ab[0] * c[1]);
    f->c -= by * (ab[2] * c[0] + ab[1] * c[1]);
    f->e -= by * ab[2] * c[1];
}

/* Less what rounding may do to det F at x + t d: that of each column times the lengths of the other two, which is a
 * cubic too. */
static void take_rounding(cubic *f, const sized *at, const sized *by)
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        double terms[2] = {at->terms[i], by->terms[i]};
        double b[2] = {at->length[j], by->length[j]}, c[2] = {at->length[k], by->length[k]};
        take_product(f, ROUNDING, terms, b, c);
    }
}

/* det(F + t dF) - slack det F, less rounding. A tet so flat that nothing is left then may still lose half of what it
 * has. */
static cubic fall_of(const sized *at, double det, const sized *by, double slack)
{
    spl_mat3 C = spl_mat3_cofactor(&at->F), dC = spl_mat3_cofactor(&by->F);
    double left = (1 - slack) * det;
    cubic f = {left, spl_mat3_dot(&C, &by->F), spl_mat3_dot(&dC, &at->F), spl_mat3_det(&by->F)};
    take_rounding(&f, at, by);
    f.k = fmax(f.k, 0.5 * left);
    return f;
}

/* Its step where that is below `until`. */
static double tet_step(const sized *at, double det, const sized *by, double slack, double until)
{
    cubic f = fall_of(at, det, by, slack);
    if (!isfinite(f.k + f.b + f.c + f.e)) return 0;
    cubic least = {f.k, fmin(f.b, 0), fmin(f.c, 0), fmin(f.e, 0)};
    if (cubic_at(&least, until) > 0) return until; /* most tets: not even what falls goes so far */
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
            sized at = sized_of(f->e, k, f->x);
            double det = spl_mat3_det(&at.F);
            if (!(det > 0)) continue;
            sized by = sized_of(f->e, k, f->d);
            least = fmin(least, tet_step(&at, det, &by, f->slack, least));
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
    double back = NARROW; /* rounding, if any, is to blame: little by little at first */
    for (int i = 0; i < RETREATS && f.t > 0; i++) {
        spl_parallel_for(pool, PIECES, 1, check_pieces, &f);
        if (!(largest_partial(&f) > 0)) return f.t;
        f.t *= 1 - back;
        back = fmin(8 * back, 0.5);
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
