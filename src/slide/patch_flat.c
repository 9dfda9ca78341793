/* What a patch's cells beyond its chart look like flat, and which texels they cover.
 *
 * Every free cell is to have the Jacobian of the cells before it, unfolded over the edges between them and averaged;
 * the coordinates that come nearest to that are the solution of a Poisson equation. Where the surface is flat and the
 * chart affine this is the chart itself, gone on with. */
#include "core/error.h"
#include "core/memory.h"
#include "slide/patch.h"

#include <string.h>

enum { SWEEPS = 12, ROOT_SWEEPS = 4, ITERATIONS = 600, STEPS = 64 };
static const double TOLERANCE = 1e-7, FLATTEST = 1.0 / 3; /* the shorter axis by the longer one */
static const int64_t LONGEST_SIDE = 32768, MOST_TEXELS = (int64_t)1 << 27;

void spl_patch_jacobian(const spl_net *net, int32_t triangle, const double at[6], double out[4])
{
    const double *r = net->inverse + 3 * (size_t)triangle;
    for (int i = 0; i < 2; i++) {
        double a = at[2 + i] - at[i], b = at[4 + i] - at[i];
        out[2 * i] = a * r[0];
        out[2 * i + 1] = a * r[1] + b * r[2];
    }
}

static void corners(const spl_patch *p, int32_t cell, double out[6])
{
    for (size_t k = 0; k < 3; k++)
        memcpy(out + 2 * k, p->at + 2 * (size_t)p->node[3 * (size_t)cell + k], 2 * sizeof *out);
}

/* ---- what the Jacobians should be ---------------------------------------------------------------------------------
 */

/* Adds the Jacobian of the cell over edge k, unfolded into the plane of this one. */
static void add_unfolded(const spl_net *net, const spl_patch *p, int32_t cell, int k, const double *jacobian,
                         double sum[4])
{
    int32_t t = p->cell[cell], other = p->across[3 * (size_t)cell + (size_t)k], u = p->cell[other];
    const int32_t *c = net->surface.triangle + 3 * (size_t)t;
    spl_vec3 e = spl_sub(net->surface.position[c[(k + 1) % 3]], net->surface.position[c[k]]);
    double a[2], b[2];
    for (int i = 0; i < 2; i++) {
        a[i] = spl_dot(net->frame[2 * (size_t)t + (size_t)i], e);
        b[i] = spl_dot(net->frame[2 * (size_t)u + (size_t)i], e);
    }
    double length = sqrt((a[0] * a[0] + a[1] * a[1]) * (b[0] * b[0] + b[1] * b[1]));
    if (!(length > 0)) return;
    double co = (a[0] * b[0] + a[1] * b[1]) / length, si = (a[0] * b[1] - a[1] * b[0]) / length;
    const double *j = jacobian + 4 * (size_t)other;
    for (int i = 0; i < 2; i++) { /* a vector of this plane turned into the other's: (co -si; si co) */
        sum[2 * i] += j[2 * i] * co + j[2 * i + 1] * si;
        sum[2 * i + 1] += -j[2 * i] * si + j[2 * i + 1] * co;
    }
}

static bool is_free(const spl_patch *p, int32_t c)
{
    for (size_t k = 0; k < 3; k++)
        if (!p->fixed[p->node[3 * (size_t)c + k]]) return true;
    return false;
}

/* Charts are often flattened at their borders, or folded: what goes on from there must not be. The shorter axis of the
 * Jacobian's ellipse is made a third of the longer one at least, on the chart's side. */
static void mend(double j[4], int side)
{
    double e = 0.5 * (j[0] + j[3]), f = 0.5 * (j[0] - j[3]), g = 0.5 * (j[2] + j[1]), h = 0.5 * (j[2] - j[1]);
    double q = sqrt(e * e + h * h), r = sqrt(f * f + g * g), most = q + r, least = side * (q - r);
    if (least >= FLATTEST * most) return;
    double small = side * FLATTEST * most, qn = 0.5 * (most + small), rn = 0.5 * (most - small);
    e = q > 0 ? e / q * qn : qn, h = q > 0 ? h / q * qn : 0;
    f = r > 0 ? f / r * rn : rn, g = r > 0 ? g / r * rn : 0;
    j[0] = e + f, j[3] = e - f, j[1] = g - h, j[2] = g + h;
}

/* The mean of the neighbours that have one; `known`: up to that cell. */
static void average(const spl_net *net, const spl_patch *p, int32_t c, int32_t known, const double *from, double *to)
{
    double sum[4] = {0};
    int count = 0;
    for (int k = 0; k < 3; k++) {
        int32_t other = p->across[3 * (size_t)c + (size_t)k];
        if (other < 0 || other >= known) continue;
        add_unfolded(net, p, c, k, from, sum);
        count++;
    }
    for (size_t i = 0; i < 4 && count; i++) to[4 * (size_t)c + i] = sum[i] / count;
    if (count) mend(to + 4 * (size_t)c, p->side);
}

/* Cells come in the order in which they were reached, so each has a neighbour before it. */
static void find_targets(const spl_patch_source *s, const spl_patch *p, double *target, double *room)
{
    for (int32_t c = 0; c < p->cell_count; c++) {
        double at[6];
        corners(p, c, at);
        if (is_free(p, c) && c > 0)
            average(s->net, p, c, c, target, target);
        else
            spl_patch_jacobian(s->net, p->cell[c], at, target + 4 * (size_t)c);
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        memcpy(room, target, 4 * (size_t)p->cell_count * sizeof *room);
        for (int32_t c = p->home_count; c < p->cell_count; c++)
            if (is_free(p, c)) average(s->net, p, c, p->cell_count, room, target);
    }
}

/* ---- the coordinates ----------------------------------------------------------------------------------------------
 */

/* Gradients of the corners' weights in the triangle's plane, and its area. */
static double gradients(const spl_net *net, int32_t t, double g[3][2])
{
    const double *r = net->inverse + 3 * (size_t)t;
    g[1][0] = r[0], g[1][1] = r[1];
    g[2][0] = 0, g[2][1] = r[2];
    g[0][0] = -r[0], g[0][1] = -r[1] - r[2];
    double det = fabs(r[0] * r[2]);
    return det > 0 ? 0.5 / det : 0;
}

typedef struct poisson {
    const spl_net *net;
    const spl_patch *p;
    const double *target;
    double *r, *d, *q, *scale; /* 2, 2, 2 and 1 a node */
} poisson;

/* out = K x of the free nodes; with `right`, out = what the targets ask for less K x. */
static void apply(const poisson *w, const double *x, bool right, double *out)
{
    const spl_patch *p = w->p;
    memset(out, 0, 2 * (size_t)p->node_count * sizeof *out);
    for (int32_t c = 0; c < p->cell_count; c++) {
        if (!is_free(p, c)) continue;
        double g[3][2], area = gradients(w->net, p->cell[c], g), j[4] = {0};
        const int32_t *n = p->node + 3 * (size_t)c;
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < 4; i++) j[i] += x[2 * (size_t)n[k] + i / 2] * g[k][i % 2];
        for (size_t i = 0; i < 4 && right; i++) j[i] = w->target[4 * (size_t)c + i] - j[i];
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < 2; i++)
                out[2 * (size_t)n[k] + i] += area * (j[2 * i] * g[k][0] + j[2 * i + 1] * g[k][1]);
    }
    for (int32_t n = 0; n < p->node_count; n++)
        if (p->fixed[n]) out[2 * n] = out[2 * n + 1] = 0;
}

static void find_scale(const poisson *w)
{
    memset(w->scale, 0, (size_t)w->p->node_count * sizeof *w->scale);
    for (int32_t c = 0; c < w->p->cell_count; c++) {
        double g[3][2], area = gradients(w->net, w->p->cell[c], g);
        for (size_t k = 0; k < 3; k++)
            w->scale[w->p->node[3 * (size_t)c + k]] += area * (g[k][0] * g[k][0] + g[k][1] * g[k][1]);
    }
    for (int32_t n = 0; n < w->p->node_count; n++) w->scale[n] = w->scale[n] > 0 ? 1 / w->scale[n] : 0;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Conjugate gradients with the diagonal. */
static void solve(const poisson *w, double *x)
{
    size_t n = 2 * (size_t)w->p->node_count;
    apply(w, x, true, w->r);
    find_scale(w);
    double rho = 0, first = 0;
    for (int it = 0; it < ITERATIONS; it++) {
        double next = 0;
        for (size_t i = 0; i < n; i++) next += w->r[i] * w->r[i] * w->scale[i / 2];
        if (it == 0) first = next;
        if (!(next > TOLERANCE * TOLERANCE * first)) break;
        double beta = it ? next / rho : 0;
        for (size_t i = 0; i < n; i++) w->d[i] = w->r[i] * w->scale[i / 2] + beta * w->d[i];
        rho = next;
        apply(w, w->d, false, w->q);
        double alpha = rho / dot(w->d, w->q, n);
        if (!isfinite(alpha)) break;
        for (size_t i = 0; i < n; i++) {
            x[i] += alpha * w->d[i];
            w->r[i] -= alpha * w->q[i];
        }
    }
}

/* Free nodes are first put where the targets of the cells before say. */
static void unfold(const spl_patch_source *s, const spl_patch *p, const double *target, bool *known)
{
    const spl_surface *f = &s->net->surface;
    for (int32_t n = 0; n < p->node_count; n++) known[n] = p->fixed[n];
    for (int32_t c = 0; c < p->cell_count; c++) {
        const int32_t *n = p->node + 3 * (size_t)c, *v = f->triangle + 3 * (size_t)p->cell[c];
        const double *j = target + 4 * (size_t)c;
        int from = known[n[0]] ? 0 : known[n[1]] ? 1 : 2;
        for (int k = 0; k < 3; k++) {
            if (known[n[k]]) continue;
            spl_vec3 e = spl_sub(f->position[v[k]], f->position[v[from]]);
            double x = spl_dot(s->net->frame[2 * (size_t)p->cell[c]], e);
            double y = spl_dot(s->net->frame[2 * (size_t)p->cell[c] + 1], e);
            for (size_t i = 0; i < 2; i++)
                p->at[2 * (size_t)n[k] + i] = p->at[2 * (size_t)n[from] + i] + j[2 * i] * x + j[2 * i + 1] * y;
            known[n[k]] = true;
        }
    }
}

/* A chart without area: its first triangle is laid out at the given density. */
static void anchor(const spl_patch_source *s, spl_patch *p)
{
    const spl_surface *f = &s->net->surface;
    const int32_t *v = f->triangle + 3 * (size_t)p->cell[0];
    for (int k = 0; k < 3; k++) {
        size_t n = (size_t)p->node[k];
        spl_vec3 e = spl_sub(f->position[v[k]], f->position[v[0]]);
        for (size_t i = 0; i < 2; i++)
            p->at[2 * n + i] = s->density * spl_dot(s->net->frame[2 * (size_t)p->cell[0] + i], e);
        p->fixed[n] = true;
    }
}

static bool find_box(spl_patch *p)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int32_t i = 0; i < 3 * p->cell_count; i++) /* nodes that were merged away have no place */
        for (size_t k = 0; k < 2; k++) {
            double x = p->at[2 * (size_t)p->node[i] + k];
            if (!isfinite(x)) return false;
            low[k] = fmin(low[k], x);
            high[k] = fmax(high[k], x);
        }
    for (int k = 0; k < 2; k++) {
        if (!(fabs(low[k]) < 1e9 && high[k] - low[k] < (double)LONGEST_SIDE)) return false;
        p->low[k] = (int64_t)floor(low[k]);
        p->size[k] = (int64_t)ceil(high[k]) - p->low[k] + 1;
    }
    return p->size[0] * p->size[1] <= MOST_TEXELS;
}

static void find_roots(const spl_patch_source *s, spl_patch *p);

supple_result spl_patch_flatten(const spl_patch_source *s, spl_patch *p, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    size_t cells = (size_t)p->cell_count, nodes = (size_t)p->node_count;
    double *target = spl_new(a, cells, 8 * sizeof *target), *room = spl_new(a, nodes, 7 * sizeof *room);
    bool *known = spl_new(a, nodes, sizeof *known);
    supple_result result = target && room && known ? SUPPLE_OK : spl_fail_memory(error, "a chart");
    if (result == SUPPLE_OK) {
        poisson w = {s->net, p, target, room, room + 2 * nodes, room + 4 * nodes, room + 6 * nodes};
        find_roots(s, p);
        if (!p->native[0]) anchor(s, p);
        find_targets(s, p, target, target + 4 * cells);
        unfold(s, p, target, known);
        solve(&w, p->at);
        if (!find_box(p))
            result = spl_fail(error, SUPPLE_ERROR_INPUT, "a chart of the texture spans more than %d texels",
                              (int)LONGEST_SIDE);
    }
    spl_free(a, target);
    spl_free(a, room);
    spl_free(a, known);
    return result;
}

/* ---- positions ----------------------------------------------------------------------------------------------------
 */

bool spl_patch_weights(const spl_patch *p, int32_t cell, const double at[2], double weight[3])
{
    double c[6];
    corners(p, cell, c);
    double ax = c[2] - c[0], ay = c[3] - c[1], bx = c[4] - c[0], by = c[5] - c[1], det = ax * by - ay * bx;
    double x = at[0] - c[0], y = at[1] - c[1];
    weight[0] = 1, weight[1] = weight[2] = 0;
    if (!(fabs(det) > 1e-12)) return false;
    weight[1] = (x * by - y * bx) / det;
    weight[2] = (ax * y - ay * x) / det;
    weight[0] = 1 - weight[1] - weight[2];
    return true;
}

int32_t spl_patch_locate(const spl_patch *p, int32_t cell, const double at[2], double weight[3])
{
    for (int i = 0; i < STEPS; i++) {
        int out = 0;
        spl_patch_weights(p, cell, at, weight);
        for (int k = 1; k < 3; k++)
            if (weight[k] < weight[out]) out = k;
        /* over edge k, corner k + 2's weight runs out */
        int32_t next = weight[out] < -1e-9 ? p->across[3 * (size_t)cell + (size_t)((out + 1) % 3)] : -1;
        if (next < 0) break;
        cell = next;
    }
    return cell;
}

/* ---- texels -------------------------------------------------------------------------------------------------------
 */

/* Whether two cells show places of the surface that are more than a texel and a half apart, at a position. */
static bool differ(const spl_patch_source *s, const spl_patch *p, int32_t a, int32_t b, const double at[2])
{
    double w[3], j[4], c[6];
    spl_vec3 x[2];
    int32_t cell[2] = {a, b};
    if (p->native[a] && p->native[b]) return false; /* the file's chart lies on itself: one texel, one colour */
    for (int i = 0; i < 2; i++) {
        if (!spl_patch_weights(p, cell[i], at, w)) return false;
        for (int k = 0; k < 3; k++)
            if (w[k] < 1e-3) return false; /* neighbours meet on an edge */
        spl_place place = {p->cell[cell[i]], {w[0], w[1], w[2]}};
        x[i] = spl_surface_point(&s->net->surface, &place);
    }
    corners(p, a, c);
    spl_patch_jacobian(s->net, p->cell[a], c, j);
    double density = sqrt(fabs(j[0] * j[3] - j[1] * j[2]));
    return spl_norm(spl_sub(x[0], x[1])) * density > 1.5;
}

/* The nearest place of a triangle to a point: in its plane, or on an edge. */
static double distance_to(const spl_net *net, int32_t t, spl_vec3 point)
{
    const spl_surface *f = &net->surface;
    const int32_t *v = f->triangle + 3 * (size_t)t;
    spl_vec3 d = spl_sub(point, f->position[v[0]]);
    double flat[2] = {spl_dot(net->frame[2 * (size_t)t], d), spl_dot(net->frame[2 * (size_t)t + 1], d)}, w[3];
    double least = INFINITY;
    spl_net_bary(net, (size_t)t, flat, w);
    if (w[1] >= 0 && w[2] >= 0 && 1 + w[0] >= 0) return fabs(spl_dot(net->face[t], d));
    for (int k = 0; k < 3; k++) {
        spl_vec3 a = f->position[v[k]], e = spl_sub(f->position[v[(k + 1) % 3]], a), to = spl_sub(point, a);
        double length = spl_dot(e, e), x = length > 0 ? spl_dot(to, e) / length : 0;
        x = x < 0 ? 0 : x > 1 ? 1 : x;
        least = fmin(least, spl_norm(spl_madd(to, e, -x)));
    }
    return least;
}

/* By how much a point is within the reach of a home's skin. */
static double slack(const spl_patch_source *s, const spl_patch *p, int32_t home, spl_vec3 point)
{
    double reach = 0;
    int32_t t = p->cell[home];
    for (size_t k = 0; k < 3; k++) reach = fmax(reach, s->reach[s->net->surface.triangle[3 * (size_t)t + k]]);
    return SPL_PATCH_MARGIN * reach - distance_to(s->net, t, point);
}

/* The home that reaches a point of a cell best, among its own, that one's neighbours and its neighbours' own. */
static int32_t best_home(const spl_patch_source *s, const spl_patch *p, int32_t cell, spl_vec3 point, double *most)
{
    int32_t best = p->root[cell];
    *most = slack(s, p, best, point);
    for (size_t k = 0; k < 6; k++) {
        int32_t next = p->across[3 * (size_t)(k < 3 ? p->root[cell] : cell) + k % 3];
        if (next < 0 || (k < 3 && next >= p->home_count)) continue;
        double here = slack(s, p, p->root[next], point);
        if (here > *most) best = p->root[next], *most = here;
    }
    return best;
}

/* A cell may be reached from several homes. */
static void find_roots(const spl_patch_source *s, spl_patch *p)
{
    double most;
    for (int sweep = 0; sweep < ROOT_SWEEPS; sweep++)
        for (int32_t c = p->home_count; c < p->cell_count; c++) {
            spl_place middle = {p->cell[c], {1.0 / 3, 1.0 / 3, 1.0 / 3}};
            p->root[c] = best_home(s, p, c, spl_surface_point(&s->net->surface, &middle), &most);
        }
}

/* Whether skin of some home may come from a position of a cell. */
static bool needed(const spl_patch_source *s, const spl_patch *p, int32_t cell, const double at[2])
{
    double w[3], most;
    if (cell < p->home_count || !spl_patch_weights(p, cell, at, w)) return true;
    spl_place place = {p->cell[cell], {w[0], w[1], w[2]}};
    best_home(s, p, cell, spl_surface_point(&s->net->surface, &place), &most);
    return most >= 0;
}

bool spl_patch_row(const int64_t at[6], int64_t y, int64_t span[2])
{
    int64_t area = (at[2] - at[0]) * (at[5] - at[1]) - (at[3] - at[1]) * (at[4] - at[0]), sign = area < 0 ? -1 : 1;
    span[0] = INT64_MIN, span[1] = INT64_MAX;
    for (int k = 0; k < 3; k++) {
        const int64_t *u = at + 2 * k, *v = at + 2 * ((k + 1) % 3);
        int64_t A = sign * (u[1] - v[1]), B = sign * (v[0] - u[0]);
        int64_t rest = B * (y - u[1]) - A * u[0]; /* A x + rest >= 0 */
        int64_t step = A * SPL_SUBTEXEL, q;
        if (A == 0 && rest < 0) return false;
        if (A > 0) {
            q = -rest / step;
            while (q * step < -rest) q++;
            while ((q - 1) * step >= -rest) q--;
            span[0] = q > span[0] ? q : span[0];
        } else if (A < 0) {
            q = rest / -step;
            while (q * -step > rest) q--;
            while ((q + 1) * -step <= rest) q++;
            span[1] = q < span[1] ? q : span[1];
        }
    }
    return area != 0 && span[0] <= span[1];
}

spl_patch_clash spl_patch_cover(const spl_patch_source *s, const spl_patch *p, int32_t *texel)
{
    spl_patch_clash clash = {-1, -1};
    for (int64_t i = 0; i < p->size[0] * p->size[1]; i++) texel[i] = -1;
    for (int32_t c = 0; c < p->cell_count; c++) {
        double at[6];
        int64_t grid[6], low = INT64_MAX, high = INT64_MIN, span[2];
        corners(p, c, at);
        for (int k = 0; k < 6; k++) grid[k] = llrint((at[k] - (double)p->low[k % 2] - 0.5) * SPL_SUBTEXEL);
        for (int k = 1; k < 6; k += 2) {
            low = grid[k] < low ? grid[k] : low;
            high = grid[k] > high ? grid[k] : high;
        }
        low = low > 0 ? low / SPL_SUBTEXEL : 0;
        high = high / SPL_SUBTEXEL + 1 < p->size[1] ? high / SPL_SUBTEXEL + 1 : p->size[1] - 1;
        for (int64_t y = low; y <= high; y++) {
            if (!spl_patch_row(grid, y * SPL_SUBTEXEL, span)) continue;
            for (int64_t x = span[0] > 0 ? span[0] : 0; x <= span[1] && x < p->size[0]; x++) {
                int32_t *to = &texel[y * p->size[0] + x];
                double q[2] = {(double)(x + p->low[0]) + 0.5, (double)(y + p->low[1]) + 0.5};
                if (!needed(s, p, c, q)) continue;
                if (*to < 0)
                    *to = c;
                else if (clash.a < 0 && differ(s, p, *to, c, q))
                    clash = (spl_patch_clash){*to, c};
            }
        }
    }
    return clash;
}
