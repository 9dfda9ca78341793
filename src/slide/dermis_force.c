/* Forces, masses and stiffness of the skin: loops over triangles, gathered by vertex in the triangles' order. */
#include "slide/dermis.h"
#include "slide/tether.h"

#include <string.h>

enum { GRAIN = 512 };

/* out = D R^-1, two columns, of the edges from the first of three points. */
static inline void jacobian_of(const spl_net *net, size_t t, const spl_vec3 *p, spl_vec3 out[2])
{
    const int32_t *c = net->surface.triangle + 3 * t;
    const double *r = net->inverse + 3 * t;
    spl_vec3 d1 = spl_sub(p[c[1]], p[c[0]]), d2 = spl_sub(p[c[2]], p[c[0]]);
    out[0] = spl_scale(d1, r[0]);
    out[1] = spl_madd(spl_scale(d1, r[1]), d2, r[2]);
}

/* J P_ij: the columns turned into the vertex's frame. */
static inline void turned(const spl_net *net, size_t corner, const spl_vec3 J[2], spl_vec3 out[2])
{
    double c = net->turn[2 * corner], s = net->turn[2 * corner + 1];
    out[0] = spl_madd(spl_scale(J[0], c), J[1], s);
    out[1] = spl_madd(spl_scale(J[1], c), J[0], -s);
}

static void element_jacobians(void *context, size_t begin, size_t end)
{
    spl_dermis *s = context;
    for (size_t l = begin; l < end; l++)
        jacobian_of(&s->net, (size_t)s->live[l], s->Y_new, (spl_vec3 *)(void *)(s->element_jacobian + 6 * l));
}

/* The smooth normal at a place, not of unit length: facets at a crease say nothing of which side is out. */
static inline spl_vec3 smooth_normal(const spl_net *net, const spl_place *p)
{
    const int32_t *c = net->surface.triangle + 3 * (size_t)p->triangle;
    return spl_madd(spl_madd(spl_scale(net->normal[c[0]], p->bary[0]), net->normal[c[1]], p->bary[1]),
                    net->normal[c[2]], p->bary[2]);
}

/* J_i, the mean over the triangles at a vertex; zero where it is fixed. */
static void vertex_jacobians(void *context, size_t begin, size_t end)
{
    spl_dermis *s = context;
    const spl_surface *f = &s->net.surface;
    for (size_t v = begin; v < end; v++) {
        spl_vec3 sum[2] = {{0, 0, 0}, {0, 0, 0}};
        for (int32_t e = f->corner_first[v]; e < f->corner_first[v + 1] && s->hold[v] != SPL_HOLD_FIXED; e++) {
            size_t corner = (size_t)f->corner[e];
            if (s->mine[corner] < 0) continue;
            spl_vec3 J[2], P[2];
            memcpy(J, s->element_jacobian + 6 * (size_t)(s->mine[corner] / 3), sizeof J);
            turned(&s->net, corner, J, P);
            for (int k = 0; k < 2; k++) sum[k] = spl_madd(sum[k], P[k], s->net.share[corner]);
        }
        /* as walks do: only what is tangential moves skin */
        spl_vec3 n = s->net.normal[v];
        if (s->place_new[v].triangle >= 0) n = spl_unit(smooth_normal(&s->net, &s->place_new[v]), n);
        for (int k = 0; k < 2; k++) sum[k] = spl_madd(sum[k], n, -spl_dot(n, sum[k]));
        s->up[v] = n;
        memcpy(s->jacobian + 6 * v, sum, sizeof sum);
    }
}

/* A triangle at work. */
typedef struct element {
    size_t l, t;
    spl_vec3 d[2];     /* D_Y */
    spl_vec3 C[3][2];  /* what v does to Y, at the corners */
    double G[3], g[3]; /* metrics */
    spl_vec3 Gamma[2]; /* D_x R^-1 */
    bool inverted;
} element;

static void metric(const spl_vec3 d[2], double out[3])
{
    out[0] = spl_dot(d[0], d[0]);
    out[1] = spl_dot(d[0], d[1]);
    out[2] = spl_dot(d[1], d[1]);
}

/* What the body's edges would be if it had come from the rest shape as it came from the stance. */
static void relax_edges(const double *T, spl_vec3 edge[2])
{
    spl_vec3 a = edge[0], b = edge[1];
    edge[0] = spl_madd(spl_scale(a, T[0]), b, T[2]);
    edge[1] = spl_madd(spl_scale(a, T[1]), b, T[3]);
}

static element read_element(const spl_dermis *s, size_t l)
{
    element e = {.l = l, .t = (size_t)s->live[l]};
    const int32_t *c = s->net.surface.triangle + 3 * e.t;
    spl_vec3 edge[2], up = {0}, J[2];
    for (int k = 0; k < 2; k++) {
        e.d[k] = spl_sub(s->Y_new[c[k + 1]], s->Y_new[c[0]]);
        edge[k] = spl_sub(s->x_new[c[k + 1]], s->x_new[c[0]]);
    }
    metric(e.d, e.G);
    if (s->relax) relax_edges(s->relax + 4 * l, edge);
    metric(edge, e.g);
    jacobian_of(&s->net, e.t, s->x_new, e.Gamma);
    memcpy(J, s->element_jacobian + 6 * l, sizeof J);
    for (size_t k = 0; k < 3; k++) {
        up = spl_add(up, s->up[c[k]]);
        if (s->set.paper_force && s->hold[c[k]] != SPL_HOLD_FIXED)
            turned(&s->net, 3 * e.t + k, J, e.C[k]);
        else
            memcpy(e.C[k], s->jacobian + 6 * (size_t)c[k], sizeof e.C[k]);
    }
    spl_vec3 n = spl_cross(e.d[0], e.d[1]);
    e.inverted = spl_dot(n, up) < s->over[l] * spl_norm(n) * spl_norm(up);
    return e;
}

/* f_i = C_i^T dW/dY_i, with dW/dD = 2 D S. */
static void element_force(const element *e, const spl_membrane_point *p, double *f)
{
    spl_vec3 by[3];
    by[1] = spl_add(spl_scale(e->d[0], 2 * p->S[0]), spl_scale(e->d[1], 2 * p->S[1]));
    by[2] = spl_add(spl_scale(e->d[0], 2 * p->S[1]), spl_scale(e->d[1], 2 * p->S[2]));
    by[0] = spl_scale(spl_add(by[1], by[2]), -1);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++) f[2 * k + i] = spl_dot(e->C[k][i], by[k]);
}

/* (6), and the weight: a third of the triangle's skin at each corner. */
static void element_inertia(const spl_dermis *s, const element *e, double *mass, double *f)
{
    double G = e->G[0] * e->G[2] - e->G[1] * e->G[1];
    double m = s->set.density * s->set.thickness * sqrt(G > 0 ? G : 0) / 6;
    double least = 1e-3 * s->set.density * s->set.thickness * s->net.area[e->t] / 3; /* never without inertia */
    if (!(m > least)) m = least;
    for (size_t k = 0; k < 3; k++) {
        spl_vec3 P[2];
        turned(&s->net, 3 * e->t + k, e->Gamma, P);
        mass[3 * k] = m * spl_dot(P[0], P[0]);
        mass[3 * k + 1] = m * spl_dot(P[1], P[0]);
        mass[3 * k + 2] = m * spl_dot(P[1], P[1]);
        for (size_t i = 0; i < 2; i++) f[2 * k + i] += m * spl_dot(P[i], s->set.gravity);
        if (!s->push) continue;
        spl_vec3 push = spl_mat3_apply(&s->turn, s->push[s->net.surface.triangle[3 * e->t + k]]);
        for (size_t i = 0; i < 2; i++) f[2 * k + i] += s->net.area[e->t] / 3 * spl_dot(P[i], push);
    }
}

/* K = T^T C T + geometric part: of G as a function of the corners' velocities (docs/slide.md). */
static void element_stiffness(const element *e, const spl_membrane_point *p, double *K)
{
    static const double first[3] = {1, -1, 0}, second[3] = {1, 0, -1}; /* d1' and d2' by C_k v_k */
    double T[3][6], CT[3][6], c[3][3];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++) {
            double on1 = spl_dot(e->d[0], e->C[k][i]), on2 = spl_dot(e->d[1], e->C[k][i]);
            T[0][2 * k + i] = 2 * first[k] * on1;
            T[1][2 * k + i] = second[k] * on1 + first[k] * on2;
            T[2][2 * k + i] = 2 * second[k] * on2;
        }
    const double *h = p->C;
    for (int i = 0; i < 6; i++) {
        CT[0][i] = h[0] * T[0][i] + h[1] * T[1][i] + h[3] * T[2][i];
        CT[1][i] = h[1] * T[0][i] + h[2] * T[1][i] + h[4] * T[2][i];
        CT[2][i] = h[3] * T[0][i] + h[4] * T[1][i] + h[5] * T[2][i];
    }
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++)
            c[k][l] = 2 * (p->S[0] * first[k] * first[l] + p->S[2] * second[k] * second[l] +
                           p->S[1] * (first[k] * second[l] + second[k] * first[l]));
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = 0; j <= i; j++, at++)
            K[at] = T[0][i] * CT[0][j] + T[1][i] * CT[1][j] + T[2][i] * CT[2][j] +
                    c[i / 2][j / 2] * spl_dot(e->C[i / 2][i % 2], e->C[j / 2][j % 2]);
}

typedef struct task {
    spl_dermis *s;
    bool stiff, exact;
} task;

static void elements(void *context, size_t begin, size_t end)
{
    const task *w = context;
    spl_dermis *s = w->s;
    for (size_t l = begin; l < end; l++) {
        element e = read_element(s, l);
        spl_membrane m = {s->set.law, s->mu[l], s->lambda[l], s->shrink[l]};
        spl_membrane_point p;
        spl_membrane_at(&m, e.G, e.g, e.inverted, &p);
        s->element_W[l] = p.W;
        s->element_broken[l] = p.broken;
        element_force(&e, &p, s->element_f + 6 * l);
        element_inertia(s, &e, s->element_mass + 9 * l, s->element_f + 6 * l);
        if (!w->stiff) continue;
        if (!w->exact) spl_membrane_project(&p);
        element_stiffness(&e, &p, s->element_K + 21 * l);
    }
}

/* What the tether of a vertex does: f = -A J^T dphi/dY with the sign that Y' = -J v has, and J^T (d2phi/dY2) J. */
static void pull_tether(spl_dermis *s, size_t v, double force[2])
{
    const double *J = s->jacobian + 6 * v;
    double *K = s->tether_K + 3 * v;
    spl_vec3 a = spl_v3(J[0], J[1], J[2]), b = spl_v3(J[3], J[4], J[5]);
    spl_vec3 way = spl_sub(s->Y_new[v], s->net.surface.position[v]);
    double d = spl_norm(way);
    s->tether_W[v] = K[0] = K[1] = K[2] = 0;
    if (!isfinite(s->tether_length[v]) || s->hold[v] == SPL_HOLD_FIXED) return;
    spl_tether_point t = spl_tether_at(s->tether_length[v], s->tether_pressure[v], d);
    double area = s->patch[v], on_a = spl_dot(a, way), on_b = spl_dot(b, way);
    double along = d > 0 ? (t.tangent - t.pull) / (d * d) : 0; /* the same in all directions, but along the tether */
    s->tether_W[v] = area * t.phi;
    force[0] += area * t.pull * on_a;
    force[1] += area * t.pull * on_b;
    K[0] = area * (t.pull * spl_dot(a, a) + along * on_a * on_a);
    K[1] = area * (t.pull * spl_dot(a, b) + along * on_a * on_b);
    K[2] = area * (t.pull * spl_dot(b, b) + along * on_b * on_b);
}

static void gather(void *context, size_t begin, size_t end)
{
    spl_dermis *s = context;
    const spl_surface *f = &s->net.surface;
    for (size_t v = begin; v < end; v++) {
        double force[2] = {0}, mass[3] = {0};
        for (int32_t e = f->corner_first[v]; e < f->corner_first[v + 1]; e++) {
            int32_t at = s->mine[f->corner[e]];
            if (at < 0) continue;
            for (int i = 0; i < 2; i++) force[i] += s->element_f[2 * (size_t)at + (size_t)i];
            for (int i = 0; i < 3; i++) mass[i] += s->element_mass[3 * (size_t)at + (size_t)i];
        }
        /* A body folded flat has no inertia across the fold: what the rest shape has, a thousandth of it. */
        double least = 1e-3 * s->set.density * s->set.thickness * s->patch[v];
        mass[0] += least;
        mass[2] += least;
        if (s->tether_length) pull_tether(s, v, force);
        memcpy(s->force + 2 * v, force, sizeof force);
        memcpy(s->mass + 3 * v, mass, sizeof mass);
    }
}

void spl_dermis_evaluate(spl_dermis *s, bool stiff, bool exact)
{
    size_t n = (size_t)s->net.surface.vertex_count, m = (size_t)s->live_count;
    task w = {s, stiff, exact};
    spl_parallel_for(s->pool, m, GRAIN, element_jacobians, s);
    spl_parallel_for(s->pool, n, GRAIN, vertex_jacobians, s);
    spl_parallel_for(s->pool, m, GRAIN / 2, elements, &w);
    spl_parallel_for(s->pool, n, GRAIN, gather, s);
}

double spl_dermis_energy(spl_dermis *s, double *kinetic)
{
    size_t n = (size_t)s->net.surface.vertex_count;
    double W = 0, T = 0;
    memcpy(s->x_new, s->x, n * sizeof *s->x);
    memcpy(s->Y_new, s->Y, n * sizeof *s->Y);
    memcpy(s->place_new, s->place, n * sizeof *s->place);
    spl_dermis_evaluate(s, false, false);
    for (size_t l = 0; l < (size_t)s->live_count; l++) W += s->element_W[l];
    for (size_t v = 0; s->tether_length && v < n; v++) W += s->tether_W[v];
    for (size_t i = 0; i < n; i++) {
        const double *m = s->mass + 3 * i, *v = s->v + 2 * i;
        T += (m[0] * v[0] * v[0] + 2 * m[1] * v[0] * v[1] + m[2] * v[1] * v[1]) / 2;
    }
    if (kinetic) *kinetic = T;
    return W;
}

typedef struct stretching {
    const spl_dermis *s;
    double *out;
} stretching;

static void stretch_range(void *context, size_t begin, size_t end)
{
    const stretching *w = context;
    const spl_dermis *s = w->s;
    const spl_surface *f = &s->net.surface;
    for (size_t v = begin; v < end; v++) {
        double body = 0, skin = 0;
        for (int32_t e = f->corner_first[v]; e < f->corner_first[v + 1]; e++) {
            size_t t = (size_t)f->corner[e] / 3;
            const int32_t *c = f->triangle + 3 * t;
            if (!(s->net.area[t] > 0)) continue;
            body += spl_norm(spl_cross(spl_sub(s->x[c[1]], s->x[c[0]]), spl_sub(s->x[c[2]], s->x[c[0]])));
            skin += spl_norm(spl_cross(spl_sub(s->Y[c[1]], s->Y[c[0]]), spl_sub(s->Y[c[2]], s->Y[c[0]])));
        }
        w->out[v] = skin > 1e-6 * body && body > 0 ? body / skin : body > 0 ? 1e6 : 1;
    }
}

void spl_dermis_stretch(const spl_dermis *s, double *out)
{
    stretching w = {s, out};
    spl_parallel_for(s->pool, (size_t)s->net.surface.vertex_count, GRAIN, stretch_range, &w);
}
