#include "slide/curves.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

void spl_curves_release(spl_curves *c)
{
    void *block[] = {c->first, c->vertex, c->theta, c->closed, c->length, c->slot, c->curve};
    if (c->allocator.release)
        for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&c->allocator, block[i]);
    *c = (spl_curves){0};
}

/* The two neighbours of every vertex along edges, -1 for none. */
static supple_result link_edges(const int32_t *edge, size_t edge_count, const spl_net *net, int32_t *link,
                                supple_error *error)
{
    for (size_t i = 0; i < 2 * (size_t)net->surface.vertex_count; i++) link[i] = -1;
    for (size_t e = 0; e < edge_count; e++)
        for (int side = 0; side < 2; side++) {
            int32_t v = edge[2 * e + (size_t)side], to = edge[2 * e + (size_t)(1 - side)];
            int32_t *l = link + 2 * (size_t)v;
            if (l[0] == to || l[1] == to || v == to) continue;
            if (l[0] >= 0 && l[1] >= 0) {
                spl_vec3 p = net->surface.position[v];
                return spl_fail(error, SUPPLE_ERROR_INPUT,
                                "slide: curves to slide along cross at (%.4g, %.4g, %.4g) m: skin cannot follow both; "
                                "fix it there, or leave one out",
                                p.x, p.y, p.z);
            }
            l[l[0] >= 0] = to;
        }
    return SUPPLE_OK;
}

/* Follows the chain from a vertex; returns the vertices added. */
static void follow(spl_curves *c, const int32_t *link, int32_t start, int32_t *used)
{
    int32_t before = -1, at = start, id = c->count;
    while (at >= 0 && c->slot[at] < 0) {
        c->slot[at] = *used;
        c->curve[*used] = id;
        c->vertex[(*used)++] = at;
        const int32_t *l = link + 2 * (size_t)at;
        int32_t next = l[0] != before ? l[0] : l[1];
        if (next == before) next = -1;
        before = at;
        at = next;
    }
    c->closed[id] = at == start && *used - c->first[id] > 2;
    c->first[++c->count] = *used;
}

static void measure(spl_curves *c, const spl_net *net)
{
    for (int32_t k = 0; k < c->count; k++) {
        double sum = 0;
        for (int32_t s = c->first[k]; s < c->first[k + 1]; s++) {
            int32_t next = s + 1 < c->first[k + 1] ? s + 1 : c->first[k];
            c->theta[s] = sum;
            if (next > s || c->closed[k])
                sum += spl_distance(net->surface.position[c->vertex[s]], net->surface.position[c->vertex[next]]);
        }
        c->length[k] = sum;
    }
}

supple_result spl_curves_make(const spl_net *net, const int32_t *edge, size_t edge_count, const supple_allocator *a,
                              spl_curves *out, supple_error *error)
{
    size_t n = (size_t)net->surface.vertex_count, most = 2 * edge_count;
    spl_curves c = {.allocator = *a};
    *out = (spl_curves){0};
    c.first = spl_new(a, most + 1, sizeof *c.first);
    c.vertex = spl_new(a, most, sizeof *c.vertex);
    c.theta = spl_new(a, most, sizeof *c.theta);
    c.closed = spl_new(a, most, sizeof *c.closed);
    c.length = spl_new(a, most, sizeof *c.length);
    c.curve = spl_new(a, most, sizeof *c.curve);
    c.slot = spl_new(a, n, sizeof *c.slot);
    int32_t *link = spl_new(a, 2 * n, sizeof *link), used = 0;
    bool made = c.first && c.vertex && c.theta && c.closed && c.length && c.curve && c.slot && link;
    supple_result result =
        made ? link_edges(edge, edge_count, net, link, error) : spl_fail_memory(error, "curves of the skin");
    if (result == SUPPLE_OK) {
        for (size_t v = 0; v < n; v++) c.slot[v] = -1;
        for (int pass = 0; pass < 2; pass++) /* ends first, then what has none */
            for (size_t v = 0; v < n; v++)
                if (c.slot[v] < 0 && link[2 * v] >= 0 && (pass || link[2 * v + 1] < 0))
                    follow(&c, link, (int32_t)v, &used);
        measure(&c, net);
        *out = c;
    } else
        spl_curves_release(&c);
    spl_free(a, link);
    return result;
}

int32_t spl_curves_next(const spl_curves *c, int32_t slot, int step, double *distance)
{
    int32_t k = c->curve[slot], first = c->first[k], last = c->first[k + 1] - 1, to = slot + step;
    if (to < first || to > last) {
        if (!c->closed[k]) return -1;
        to = to < first ? last : first;
    }
    *distance = fabs(spl_curves_difference(c, k, c->theta[slot], c->theta[to]));
    return to;
}

spl_vec3 spl_curves_tangent(const spl_net *net, const spl_curves *c, int32_t slot)
{
    double unused;
    int32_t before = spl_curves_next(c, slot, -1, &unused), after = spl_curves_next(c, slot, 1, &unused);
    spl_vec3 here = net->surface.position[c->vertex[slot]];
    spl_vec3 from = before < 0 ? here : net->surface.position[c->vertex[before]];
    spl_vec3 to = after < 0 ? here : net->surface.position[c->vertex[after]];
    spl_vec3 in = spl_unit(spl_sub(here, from), spl_v3(0, 0, 0)), away = spl_unit(spl_sub(to, here), spl_v3(0, 0, 0));
    return spl_unit(spl_add(in, away), spl_unit(away, spl_v3(1, 0, 0)));
}

double spl_curves_difference(const spl_curves *c, int32_t k, double a, double b)
{
    double d = b - a;
    return c->closed[k] && c->length[k] > 0 ? d - c->length[k] * floor(d / c->length[k] + 0.5) : d;
}

double spl_curves_wrap(const spl_curves *c, int32_t k, double theta)
{
    double length = c->length[k];
    if (!c->closed[k]) return fmin(fmax(theta, 0), length);
    theta = length > 0 ? theta - length * floor(theta / length) : 0;
    return theta < length ? theta : 0;
}

/* A place on the edge between two vertices that share one. */
static spl_place on_edge(const spl_net *net, int32_t a, int32_t b, double part)
{
    const spl_surface *s = &net->surface;
    for (int32_t e = s->corner_first[a]; e < s->corner_first[a + 1]; e++) {
        int32_t t = s->corner[e] / 3, k = s->corner[e] % 3;
        for (int32_t i = 1; i < 3; i++)
            if (s->triangle[3 * (size_t)t + (size_t)((k + i) % 3)] == b) {
                spl_place at = {.triangle = t};
                at.bary[k] = 1 - part;
                at.bary[(k + i) % 3] = part;
                return at;
            }
    }
    return spl_net_vertex(net, a);
}

spl_place spl_curves_place(const spl_net *net, const spl_curves *c, int32_t k, double theta)
{
    int32_t low = c->first[k], high = c->first[k + 1] - 1, last = high;
    theta = spl_curves_wrap(c, k, theta);
    while (low < high) { /* the last slot that is not beyond */
        int32_t middle = low + (high - low + 1) / 2;
        if (c->theta[middle] <= theta)
            low = middle;
        else
            high = middle - 1;
    }
    if (low == last && !c->closed[k]) return spl_net_vertex(net, c->vertex[low]);
    int32_t next = low == last ? c->first[k] : low + 1;
    double end = low == last ? c->length[k] : c->theta[next], span = end - c->theta[low];
    return on_edge(net, c->vertex[low], c->vertex[next], span > 0 ? (theta - c->theta[low]) / span : 0);
}
