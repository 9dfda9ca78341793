#include "contact/potential.h"

#include "math/dense.h"
#include "math/vec3.h"

#include <math.h>
#include <string.h>

/* ---- the barrier of a gap ---- */

typedef struct barrier {
    double b, first, second; /* energy and derivatives by the gap */
} barrier;

static barrier barrier_at(const spl_potential *p, double gap)
{
    double k = p->stiffness, w = p->width, u = gap - w;
    if (!(gap > 0)) return (barrier){INFINITY, 0, 0};
    if (gap >= w) return (barrier){0, 0, 0};
    double l = log(gap / w), s = u / gap;
    return (barrier){-k * u * u * l, -k * (2 * u * l + u * s), -k * (2 * l + 4 * s - s * s)};
}

/* ---- what a pair looks like ---- */

typedef struct shape {
    spl_nearest at;
    double d;       /* distance */
    double n[3];    /* unit, along r */
    int slides;     /* 0, 1 or 2 */
    double q[2][3]; /* orthonormal directions of slides */
    double v[2][4]; /* by slide: how the weights change, per metre */
    barrier b;
} shape;

static double dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The changes of weights that keep the nearest places on their primitives: unit steps of their coordinates. */
static int free_slides(const spl_potential *p, const double w[4], double change[2][4])
{
    int count = 0, first = -1;
    memset(change, 0, 8 * sizeof(double));
    if (p->pair.kind == SPL_PAIR_EDGE_EDGE) {
        for (int e = 0; e < 2; e++)
            if (w[2 * e] != 0 && w[2 * e + 1] != 0) {
                change[count][2 * e] = -1;
                change[count++][2 * e + 1] = 1;
            }
        return count;
    }
    for (int i = 1; i < 4; i++) {
        if (w[i] == 0) continue;
        if (first >= 0) {
            change[count][first] = -1;
            change[count++][i] = 1;
        } else
            first = i;
    }
    return count;
}

/* Orthonormal directions, by Gram and Schmidt; a slide that moves nothing, or along the one before, is none. */
static void add_slide(shape *s, const double change[4], const double x[4][3])
{
    double c[3] = {0}, v[4], whole = 0;
    memcpy(v, change, sizeof v);
    for (int i = 0; i < 4; i++)
        for (int a = 0; a < 3; a++) c[a] += change[i] * x[i][a];
    whole = sqrt(dot3(c, c));
    if (s->slides == 1) {
        double along = dot3(c, s->q[0]);
        for (int a = 0; a < 3; a++) c[a] -= along * s->q[0][a];
        for (int i = 0; i < 4; i++) v[i] -= along * s->v[0][i];
    }
    double length = sqrt(dot3(c, c));
    if (!(length > 1e-9 * whole)) return;
    for (int a = 0; a < 3; a++) s->q[s->slides][a] = c[a] / length;
    for (int i = 0; i < 4; i++) s->v[s->slides][i] = v[i] / length;
    s->slides++;
}

/* False where the barrier does not act. */
static bool look(const spl_potential *p, const double x[4][3], bool slides, shape *s)
{
    double r[3] = {0}, change[2][4];
    s->at = spl_pair_nearest((spl_pair_kind)p->pair.kind, x);
    s->d = sqrt(s->at.square);
    s->slides = 0;
    if (s->d - p->offset >= p->width) return false;
    s->b = barrier_at(p, s->d - p->offset);
    for (int i = 0; i < 4; i++)
        for (int a = 0; a < 3; a++) r[a] += s->at.w[i] * x[i][a];
    double length = sqrt(dot3(r, r));
    for (int a = 0; a < 3; a++) s->n[a] = length > 0 ? r[a] / length : 0;
    if (!slides) return true;
    int count = free_slides(p, s->at.w, change);
    for (int k = 0; k < count; k++) add_slide(s, change[k], x);
    return true;
}

/* ---- nearly parallel edges ---- */

typedef struct mollifier {
    double m, first, second; /* value and derivatives by c */
    double c_x[12];
    double u[3], v[3]; /* the edges */
} mollifier;

/* False where it is 1. */
static bool mollify(const spl_potential *p, const double x[4][3], mollifier *m)
{
    if (!(p->parallel > 0) || p->pair.kind != SPL_PAIR_EDGE_EDGE) return false;
    for (int a = 0; a < 3; a++) {
        m->u[a] = x[1][a] - x[0][a];
        m->v[a] = x[3][a] - x[2][a];
    }
    spl_vec3 cross = spl_cross(spl_v3(m->u[0], m->u[1], m->u[2]), spl_v3(m->v[0], m->v[1], m->v[2]));
    double c = spl_dot(cross, cross), t = c / p->parallel;
    if (t >= 1) return false;
    m->m = (2 - t) * t;
    m->first = 2 * (1 - t) / p->parallel;
    m->second = -2 / (p->parallel * p->parallel);
    double uu = dot3(m->u, m->u), vv = dot3(m->v, m->v), uv = dot3(m->u, m->v);
    for (int a = 0; a < 3; a++) { /* c = |u|^2 |v|^2 - (u.v)^2 */
        double by_u = 2 * (vv * m->u[a] - uv * m->v[a]), by_v = 2 * (uu * m->v[a] - uv * m->u[a]);
        m->c_x[a] = -by_u;
        m->c_x[3 + a] = by_u;
        m->c_x[6 + a] = -by_v;
        m->c_x[9 + a] = by_v;
    }
    return true;
}

/* H += by * d^2 c / dx^2, which by u and v is 2 [|v|^2 I - v v^T,  2 u v^T - v u^T - (u.v) I;  transposed,  |u|^2 I - u
 * u^T]. */
static void add_cross_hessian(const mollifier *m, double by, double H[144])
{
    double uu = dot3(m->u, m->u), vv = dot3(m->v, m->v), uv = dot3(m->u, m->v), C[6][6];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double one = a == b;
            C[a][b] = 2 * (vv * one - m->v[a] * m->v[b]);
            C[3 + a][3 + b] = 2 * (uu * one - m->u[a] * m->u[b]);
            C[a][3 + b] = C[3 + b][a] = 2 * (2 * m->u[a] * m->v[b] - m->v[a] * m->u[b] - uv * one);
        }
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++) {
            double sign = ((i / 3) % 2 ? 1 : -1) * ((j / 3) % 2 ? 1 : -1);
            H[12 * j + i] += by * sign * C[3 * (i / 6) + i % 3][3 * (j / 6) + j % 3];
        }
}

/* ---- energy and gradient ---- */

double spl_potential_energy(const spl_potential *p, const double x[4][3])
{
    shape s;
    mollifier m;
    if (!look(p, x, false, &s)) return 0;
    return mollify(p, x, &m) ? m.m * s.b.b : s.b.b;
}

double spl_potential_gradient(const spl_potential *p, const double x[4][3], double gradient[12])
{
    shape s;
    mollifier m;
    memset(gradient, 0, 12 * sizeof *gradient);
    if (!look(p, x, false, &s)) return 0;
    bool soft = mollify(p, x, &m);
    double scale = soft ? m.m : 1;
    for (int i = 0; i < 12; i++) {
        gradient[i] = scale * s.b.first * s.at.w[i / 3] * s.n[i % 3];
        if (soft) gradient[i] += m.first * s.b.b * m.c_x[i];
    }
    return scale * s.b.b;
}

/* ---- Hessians ---- */

/* H += by a a^T */
static void add_square(double by, const double a[12], double H[144])
{
    for (int j = 0; j < 12; j++)
        for (int i = 0; i < 12; i++) H[12 * j + i] += by * a[i] * a[j];
}

/* out = w (x) n * by */
static void outer(const double w[4], const double n[3], double by, double out[12])
{
    for (int i = 0; i < 12; i++) out[i] = by * w[i / 3] * n[i % 3];
}

/* d^2 d / dx^2 = (u u^T (x) (I - n n^T) - sum_k a_k a_k^T) / d with a_k = A_k + B_k: the minimum over the slides. */
static void whole(const shape *s, double H[144])
{
    double a[12], b[12];
    memset(H, 0, 144 * sizeof *H);
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++) {
            double across = (i % 3 == j % 3) - s->n[i % 3] * s->n[j % 3];
            H[12 * j + i] = s->b.first / s->d * s->at.w[i / 3] * s->at.w[j / 3] * across;
        }
    for (int k = 0; k < s->slides; k++) {
        outer(s->at.w, s->q[k], 1, a);
        outer(s->v[k], s->n, s->d, b);
        for (int i = 0; i < 12; i++) a[i] += b[i];
        add_square(-s->b.first / s->d, a, H);
    }
    outer(s->at.w, s->n, 1, a);
    add_square(s->b.second, a, H);
}

static void add_mollified(const shape *s, const mollifier *m, double H[144])
{
    double d_x[12];
    outer(s->at.w, s->n, 1, d_x);
    for (int i = 0; i < 144; i++) H[i] *= m->m;
    add_square(m->second * s->b.b, m->c_x, H);
    add_cross_hessian(m, m->first * s->b.b, H);
    for (int j = 0; j < 12; j++)
        for (int i = 0; i < 12; i++) H[12 * j + i] += m->first * s->b.first * (m->c_x[i] * d_x[j] + d_x[i] * m->c_x[j]);
}

void spl_potential_hessian(const spl_potential *p, const double x[4][3], double H[144])
{
    shape s;
    mollifier m;
    memset(H, 0, 144 * sizeof *H);
    if (!look(p, x, true, &s) || !isfinite(s.b.b)) return;
    whole(&s, H);
    if (mollify(p, x, &m)) add_mollified(&s, &m, H);
}

/* Negative eigenvalues become 0. */
static void project(double H[144])
{
    double value[12], vector[144], column[12];
    spl_eigen_symmetric(H, 12, value, vector);
    memset(H, 0, 144 * sizeof *H);
    for (int k = 0; k < 12 && value[k] > 0; k++) {
        for (int i = 0; i < 12; i++) column[i] = vector[12 * i + k];
        add_square(value[k], column, H);
    }
}

static void to_blocks(const double H[144], double *blocks)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j <= i; j++, blocks += 9)
            for (int q = 0; q < 9; q++) blocks[q] = H[12 * (3 * j + q / 3) + 3 * i + q % 3];
}

void spl_potential_projected(const spl_potential *p, const double x[4][3], double blocks[90])
{
    static const double golden = 1.618033988749895;
    shape s;
    mollifier m;
    double H[144] = {0}, a[12], b[12];
    memset(blocks, 0, 90 * sizeof *blocks);
    if (!look(p, x, true, &s) || !isfinite(s.b.b)) return;
    if (mollify(p, x, &m)) {
        whole(&s, H);
        add_mollified(&s, &m, H);
        project(H);
        to_blocks(H, blocks);
        return;
    }
    outer(s.at.w, s.n, 1, a);
    add_square(s.b.second, a, H);
    for (int k = 0; k < s.slides; k++) { /* the form [0 1; 1 1] in A_k and B_k */
        outer(s.at.w, s.q[k], 1, a);
        outer(s.v[k], s.n, s.d, b);
        for (int i = 0; i < 12; i++) a[i] += golden * b[i];
        add_square(-s.b.first / s.d * golden / (1 + golden * golden), a, H);
    }
    to_blocks(H, blocks);
}

void spl_potential_blended(const spl_potential *p, const double x[4][3], double exact, double blocks[90])
{
    double H[144], own[90];
    if (exact < 1) spl_potential_projected(p, x, blocks);
    if (!(exact > 0)) return;
    spl_potential_hessian(p, x, H);
    to_blocks(H, own);
    for (int i = 0; i < 90; i++) blocks[i] = exact < 1 ? exact * own[i] + (1 - exact) * blocks[i] : own[i];
}
