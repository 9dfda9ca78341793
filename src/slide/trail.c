/* Walks over the net: straight lines, unfolded over the edges that they cross. */
#include "slide/net.h"

#define THINNEST 1e-6 /* of an edge: the least height over it */

int spl_trail_on(spl_trail *w)
{
    int edge = SPL_TRAIL_ENDED;
    double part = 1;
    for (int k = 0; k < 3; k++) { /* over edge k, corner k + 2's weight runs out */
        int far = (k + 2) % 3;
        double end = w->at.bary[far] + w->way[far];
        if (k == w->entered || !(w->way[far] < 0) || end >= 0) continue;
        double here = w->at.bary[far] / -w->way[far];
        if (here < part) {
            part = here;
            edge = k;
        }
    }
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        double b = w->at.bary[k] + part * w->way[k];
        w->at.bary[k] = b > 0 ? b : 0; /* not fmax: a call */
        w->way[k] *= 1 - part;
    }
    if (edge >= 0) w->at.bary[(edge + 2) % 3] = 0;
    for (int k = 0; k < 3; k++) sum += w->at.bary[k];
    for (int k = 0; k < 3; k++) w->at.bary[k] /= sum;
    return edge;
}

/* A triangle seen from one of its edges, which runs from a to b: where the corner across stands. */
typedef struct view {
    int a, b, far;
    double foot, height; /* along the edge, as a part of it; over it */
} view;

static view look(const spl_surface *s, int32_t t, int a, int b, spl_vec3 along, double length)
{
    const int32_t *c = s->triangle + 3 * (size_t)t;
    view w = {a, b, 3 - a - b, 0, 0};
    spl_vec3 d = spl_sub(s->position[c[w.far]], s->position[c[a]]);
    double x = spl_dot(d, along);
    w.foot = x / length;
    double height = spl_norm(spl_madd(d, along, -x)), least = THINNEST * length;
    w.height = height > least ? height : least;
    return w;
}

bool spl_trail_cross(const spl_net *net, spl_trail *w, int edge)
{
    const spl_surface *s = &net->surface;
    int32_t t = w->at.triangle, next = s->across[3 * (size_t)t + (size_t)edge];
    int a = edge, b = (edge + 1) % 3;
    int32_t va = s->triangle[3 * (size_t)t + (size_t)a], vb = s->triangle[3 * (size_t)t + (size_t)b];
    spl_vec3 along = spl_sub(s->position[vb], s->position[va]);
    double length = spl_norm(along);
    if (!(length > 0)) return false; /* welded vertices are apart */
    along = spl_scale(along, 1 / length);
    view from = look(s, t, a, b, along, length);
    double forward = w->way[b] + w->way[from.far] * from.foot, over = -w->way[from.far] * from.height;
    if (next < 0) {
        w->way[from.far] = 0;
        w->way[b] = forward;
        w->way[a] = -forward;
        w->entered = edge;
        return false;
    }
    const int32_t *c = s->triangle + 3 * (size_t)next;
    int na = c[0] == va ? 0 : c[1] == va ? 1 : 2, nb = c[0] == vb ? 0 : c[1] == vb ? 1 : 2;
    view to = look(s, next, na, nb, along, length);
    double weight_a = w->at.bary[a], weight_b = w->at.bary[b];
    w->at.triangle = next;
    w->at.bary[na] = weight_a;
    w->at.bary[nb] = weight_b;
    w->at.bary[to.far] = 0;
    w->way[to.far] = over / to.height;
    w->way[nb] = forward - w->way[to.far] * to.foot;
    w->way[na] = -w->way[to.far] - w->way[nb];
    w->entered = (na + 1) % 3 == nb ? na : nb;
    return true;
}

spl_trail spl_trail_begin(const spl_net *net, const spl_place *from, spl_vec3 d)
{
    const spl_surface *s = &net->surface;
    const int32_t *c = s->triangle + 3 * (size_t)from->triangle;
    size_t t = (size_t)from->triangle;
    spl_vec3 n = spl_madd(spl_madd(spl_scale(net->normal[c[0]], from->bary[0]), net->normal[c[1]], from->bary[1]),
                          net->normal[c[2]], from->bary[2]);
    n = spl_dot(n, net->face[t]) > 0 ? spl_unit(n, net->face[t]) : net->face[t];
    d = spl_net_turn(n, net->face[t], spl_madd(d, n, -spl_dot(d, n)));
    spl_trail w = {.at = *from, .entered = -1};
    double v[2] = {spl_dot(net->frame[2 * t], d), spl_dot(net->frame[2 * t + 1], d)};
    spl_net_bary(net, t, v, w.way);
    return w;
}

static spl_place finish(const spl_net *net, spl_trail *w)
{
    for (int k = 0, stops = 0; k < SPL_TRAIL_LONGEST && stops < 2; k++) {
        int edge = spl_trail_on(w);
        if (edge < 0) break;
        stops = spl_trail_cross(net, w, edge) ? 0 : stops + 1;
    }
    return w->at;
}

spl_place spl_net_go(const spl_net *net, const spl_place *from, spl_vec3 direction)
{
    spl_trail w = spl_trail_begin(net, from, direction);
    return finish(net, &w);
}

spl_place spl_net_trace(const spl_net *net, int32_t v, const double way[2])
{
    const spl_surface *s = &net->surface;
    double best = -INFINITY;
    spl_trail w = {.at = {.triangle = -1}, .entered = -1};
    for (int32_t e = s->corner_first[v]; e < s->corner_first[v + 1] && best < 0;
         e++) { /* the first wedge that holds it */
        size_t corner = (size_t)s->corner[e], t = corner / 3, k = corner % 3;
        double u[2], change[3];
        spl_net_carry(net, corner, way, u);
        spl_net_bary(net, t, u, change);
        double one = change[(k + 1) % 3], two = change[(k + 2) % 3], least = one < two ? one : two;
        if (!(least > best)) continue;
        best = least;
        w.at = (spl_place){.triangle = (int32_t)t};
        w.at.bary[k] = 1;
        w.way[(k + 1) % 3] = one > 0 ? one : 0; /* nearest wedge of a gap */
        w.way[(k + 2) % 3] = two > 0 ? two : 0;
        w.way[k] = -w.way[(k + 1) % 3] - w.way[(k + 2) % 3];
    }
    return w.at.triangle < 0 ? w.at : finish(net, &w);
}
