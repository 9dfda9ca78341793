/* Advection by backtracing on the surface (8, 9), and the coupling to the body's motion (11 to 13). */
#include "slide/dermis.h"

#include <string.h>

enum { GRAIN = 256 };

typedef struct task {
    spl_dermis *s;
    const spl_dermis_move *move;
    double h;
} task;

/* Skin on a curve goes along it, whatever is beside it. */
static void advect_along(const task *w, size_t v)
{
    spl_dermis *s = w->s;
    const spl_curves *c = &s->curves;
    const spl_dermis_move *m = w->move;
    int32_t slot = c->slot[v], k = c->curve[slot], to = slot;
    double way = -m->scale * m->displacement[2 * v], left = fabs(way), distance = 0, part = 0;
    for (int32_t n = c->first[k + 1] - c->first[k]; n > 0; n--) { /* the edge that it ends on */
        int32_t next = spl_curves_next(c, to, way < 0 ? -1 : 1, &distance);
        if (next < 0 || !(distance > 0)) break;
        part = left / distance;
        if (part <= 1) break;
        left -= distance;
        part = 0;
        to = next;
    }
    int32_t next = spl_curves_next(c, to, way < 0 ? -1 : 1, &distance);
    if (next < 0) {
        next = to;
        part = 0;
    }
    double from = m->theta[slot], near = spl_curves_difference(c, k, from, m->theta[to]);
    double far = spl_curves_difference(c, k, m->theta[to], m->theta[next]);
    m->theta_out[slot] = spl_curves_wrap(c, k, from + near + part * far);
    m->place_out[v] = spl_curves_place(&s->net, c, k, m->theta_out[slot]);
    if (!m->v) return;
    m->v_out[2 * v] = (1 - part) * m->v[2 * (size_t)c->vertex[to]] + part * m->v[2 * (size_t)c->vertex[next]];
    m->v_out[2 * v + 1] = 0;
}

/* The mean of velocities in a triangle, in the vertex's frame: sum_k beta_k P_ij^T P_kj v_k. */
static void mean_velocity(const task *w, size_t v, const spl_place *at, double out[2])
{
    const spl_net *net = &w->s->net;
    const int32_t *c = net->surface.triangle + 3 * (size_t)at->triangle;
    double sum[2] = {0}, u[2];
    size_t own = SIZE_MAX;
    for (size_t k = 0; k < 3; k++) {
        size_t corner = 3 * (size_t)at->triangle + k;
        if ((size_t)c[k] == v) own = corner;
        spl_net_carry(net, corner, w->move->v + 2 * (size_t)c[k], u);
        for (int i = 0; i < 2; i++) sum[i] += at->bary[k] * u[i];
    }
    if (own != SIZE_MAX) {
        spl_net_bring(net, own, sum, out);
        return;
    }
    const spl_vec3 *q = net->frame + 2 * (size_t)at->triangle, *axis = net->axis + 2 * v;
    spl_vec3 d = spl_madd(spl_scale(q[0], sum[0]), q[1], sum[1]);
    d = spl_net_turn(net->face[at->triangle], net->normal[v], d);
    out[0] = spl_dot(axis[0], d);
    out[1] = spl_dot(axis[1], d);
}

static void advect_free(const task *w, size_t v)
{
    spl_dermis *s = w->s;
    const spl_dermis_move *m = w->move;
    double back[2] = {-m->scale * m->displacement[2 * v], -m->scale * m->displacement[2 * v + 1]};
    m->place_out[v] = m->place[v];
    if (m->v) memcpy(m->v_out + 2 * v, m->v + 2 * v, 2 * sizeof(double));
    if (back[0] == 0 && back[1] == 0) return;
    spl_place at = spl_net_trace(&s->net, (int32_t)v, back);
    if (at.triangle < 0) return;
    const int32_t *c = s->net.surface.triangle + 3 * (size_t)at.triangle;
    spl_vec3 d = {0};
    for (int k = 0; k < 3; k++) d = spl_madd(d, spl_sub(m->Y[c[k]], m->Y[v]), at.bary[k]);
    if (m->jacobian &&
        sqrt(back[0] * back[0] + back[1] * back[1]) < 0.5 * s->size[v]) { /* Y' = -J v, as the force is made for it */
        const double *J = m->jacobian + 6 * v;
        d = spl_v3(J[0] * back[0] + J[3] * back[1], J[1] * back[0] + J[4] * back[1], J[2] * back[0] + J[5] * back[1]);
    }
    m->place_out[v] = spl_net_go(&s->net, &m->place[v], d);
    if (m->v) mean_velocity(w, v, &at, m->v_out + 2 * v);
}

static void advect_range(void *context, size_t begin, size_t end)
{
    const task *w = context;
    const spl_dermis_move *m = w->move;
    for (size_t v = begin; v < end; v++) {
        spl_hold hold = w->s->hold[v];
        if (hold == SPL_HOLD_FIXED) {
            m->place_out[v] = m->place[v];
            m->Y_out[v] = m->Y[v];
            if (m->v) m->v_out[2 * v] = m->v_out[2 * v + 1] = 0;
            if (w->s->curves.slot[v] >= 0) m->theta_out[w->s->curves.slot[v]] = m->theta[w->s->curves.slot[v]];
            continue;
        }
        if (hold == SPL_HOLD_SLIDING)
            advect_along(w, v);
        else
            advect_free(w, v);
        m->Y_out[v] = spl_surface_point(&w->s->net.surface, &m->place_out[v]);
        int32_t slot = w->s->curves.slot[v];
        if (hold == SPL_HOLD_FREE && slot >= 0) m->theta_out[slot] = m->theta[slot];
    }
}

void spl_dermis_advect(spl_dermis *s, const spl_dermis_move *move)
{
    task w = {s, move, 0};
    spl_parallel_for(s->pool, (size_t)s->net.surface.vertex_count, GRAIN, advect_range, &w);
}

/* ---- coupling ---- */

/* Gamma_i at x_new, the mean over the triangles at a vertex. */
static void mean_gamma(const spl_dermis *s, size_t v, spl_vec3 out[2])
{
    const spl_net *net = &s->net;
    const spl_surface *f = &net->surface;
    out[0] = out[1] = spl_v3(0, 0, 0);
    for (int32_t e = f->corner_first[v]; e < f->corner_first[v + 1]; e++) {
        size_t corner = (size_t)f->corner[e], t = corner / 3;
        const int32_t *c = f->triangle + 3 * t;
        const double *r = net->inverse + 3 * t;
        double share = net->share[corner], cosine = net->turn[2 * corner], sine = net->turn[2 * corner + 1];
        if (!(share > 0)) continue;
        spl_vec3 d1 = spl_sub(s->x_new[c[1]], s->x_new[c[0]]), d2 = spl_sub(s->x_new[c[2]], s->x_new[c[0]]);
        spl_vec3 a = spl_scale(d1, r[0]), b = spl_madd(spl_scale(d1, r[1]), d2, r[2]);
        out[0] = spl_add(out[0], spl_scale(spl_madd(spl_scale(a, cosine), b, sine), share));
        out[1] = spl_add(out[1], spl_scale(spl_madd(spl_scale(b, cosine), a, -sine), share));
    }
}

/* -Gamma^+ (dx_t - zeta min(1, limit h / |dx_t|) dx_t). */
static void slip_of(const task *w, size_t v, double out[2])
{
    const spl_dermis *s = w->s;
    spl_vec3 dx = spl_sub(s->x_new[v], s->x[v]), G[2];
    mean_gamma(s, v, G);
    double a = spl_dot(G[0], G[0]), b = spl_dot(G[0], G[1]), c = spl_dot(G[1], G[1]);
    double det = fmax(a * c - b * b, 2.5e-3 * (a + c) * (a + c)); /* folded flat: no infinite slip */
    double p = spl_dot(G[0], dx), q = spl_dot(G[1], dx);
    double u[2] = {(c * p - b * q) / det, (a * q - b * p) / det};
    double along = sqrt(fmax(a * u[0] * u[0] + 2 * b * u[0] * u[1] + c * u[1] * u[1], 0)), most = s->set.limit * w->h;
    double k = s->set.paper_coupling ? -1 : -(1 - s->zeta[v] * (along > most ? most / along : 1));
    out[0] = isfinite(u[0]) ? k * u[0] : 0;
    out[1] = isfinite(u[1]) && s->hold[v] == SPL_HOLD_FREE ? k * u[1] : 0;
}

static void couple_range(void *context, size_t begin, size_t end)
{
    const task *w = context;
    for (size_t v = begin; v < end; v++) {
        double *slip = w->s->slip + 2 * v;
        slip[0] = slip[1] = 0;
        if (w->s->hold[v] != SPL_HOLD_FIXED) slip_of(w, v, slip);
    }
}

bool spl_dermis_couple(spl_dermis *s, double h)
{
    task w = {s, NULL, h};
    size_t n = (size_t)s->net.surface.vertex_count;
    bool slips = false, fast = false;
    for (size_t v = 0; v < n && !(slips && fast); v++) {
        slips = slips || s->zeta[v] < 1 || s->set.paper_coupling;
        fast = fast || spl_distance(s->x_new[v], s->x[v]) > s->set.limit * h;
    }
    if (!slips && !fast) return false;
    spl_parallel_for(s->pool, n, GRAIN, couple_range, &w);
    return true;
}

/* Zeta of a step: that of steps of a millisecond, the paper's, as often as they go into it. */
static double share_of(double zeta, double h)
{
    return 1 - pow(1 - zeta, h / 1e-3);
}

/* All of the body's motion was slipped; of what is missing to the place at rest, (12) keeps all but this share. */
static void take_back_range(void *context, size_t begin, size_t end)
{
    const task *w = context;
    spl_dermis *s = w->s;
    for (size_t v = begin; v < end; v++) {
        double share = share_of(s->zeta[v], w->h);
        int32_t slot = s->curves.slot[v];
        spl_vec3 home = s->net.surface.position[v], way = spl_sub(home, s->Y_new[v]);
        double far = spl_norm(way), most = s->set.delta * w->h / 1e-3;
        if (s->hold[v] == SPL_HOLD_FIXED || !(far > 0)) continue;
        if (far > most) share *= most / far;
        if (s->hold[v] == SPL_HOLD_SLIDING) {
            const spl_curves *c = &s->curves;
            int32_t k = c->curve[slot];
            double back = spl_curves_difference(c, k, s->theta_new[slot], c->theta[slot]);
            s->theta_new[slot] = spl_curves_wrap(c, k, s->theta_new[slot] + share * back);
            s->place_new[v] = spl_curves_place(&s->net, c, k, s->theta_new[slot]);
        } else if (share < 1)
            s->place_new[v] = spl_net_go(&s->net, &s->place_new[v], spl_scale(way, share));
        else
            s->place_new[v] = spl_net_vertex(&s->net, (int32_t)v); /* to the last bit */
        s->Y_new[v] = share < 1 ? spl_surface_point(&s->net.surface, &s->place_new[v]) : home;
    }
}

void spl_dermis_take_back(spl_dermis *s, double h)
{
    task w = {s, NULL, h};
    spl_parallel_for(s->pool, (size_t)s->net.surface.vertex_count, GRAIN, take_back_range, &w);
}

/* Skin that sticks does not slide by elasticity either: friction takes the same share of its velocity. */
void spl_dermis_rub(spl_dermis *s, double h)
{
    for (size_t v = 0; v < (size_t)s->net.surface.vertex_count; v++) {
        double rest = 1 - share_of(s->zeta[v], h);
        s->v_new[2 * v] *= rest;
        s->v_new[2 * v + 1] *= rest;
    }
}
