#include "geom/surface.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/topology.h"
#include "geom/weld.h"

#include <stdlib.h>
#include <string.h>

/* Relative to the diagonal. */
static const double weld_tolerance = 1e-6;
/* An open component is turned by its volume if that is at least this share of the volume of a ball of equal area: a
 * tube of length 10 radii has 0.5, a sheet bent to a quarter of a cylinder 0.1 or less. */
static const double bulge = 0.2;

/* A triangle's edge from corner k to k + 1, for sorting: edges with the same ends come together. */
typedef struct edge {
    int32_t low, high, corner; /* corner: 3 * triangle + k */
} edge;

typedef struct work {
    float *scaled;     /* 3 x vertex_count: positions in units of the diagonal, for welding */
    int32_t *weld;     /* vertex_count */
    int32_t *renumber; /* welded vertex -> surface vertex */
    int32_t *welded;   /* 3 x triangle_count */
    edge *edges;       /* 3 x triangle_count */
    int32_t *queue;    /* triangle_count: flood fill */
    int8_t *turn;      /* triangle_count: 0 not seen, 1 as it is, -1 to be turned */
    spl_topology topology;
} work;

static int compare_edges(const void *pa, const void *pb)
{
    const edge *a = pa, *b = pb;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return (a->corner > b->corner) - (a->corner < b->corner);
}

static spl_vec3 corner_of(const spl_surface *s, int32_t t, int k)
{
    return s->position[s->triangle[3 * (size_t)t + (size_t)k]];
}

/* Twice the area vector. */
static spl_vec3 area_vector(const spl_surface *s, int32_t t)
{
    spl_vec3 p = corner_of(s, t, 0);
    return spl_cross(spl_sub(corner_of(s, t, 1), p), spl_sub(corner_of(s, t, 2), p));
}

static supple_result check_input(const double *position, int32_t vertex_count, const int32_t *triangle,
                                 int32_t triangle_count, supple_error *error)
{
    if (vertex_count < 0 || triangle_count < 0 || triangle_count > INT32_MAX / 3)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a surface of %d vertices and %d triangles is too large",
                        vertex_count, triangle_count);
    for (size_t i = 0; i < 3 * (size_t)vertex_count; i++)
        if (!(fabs(position[i]) <= 1e100))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "vertex %zu of the surface has no usable position", i / 3);
    for (size_t i = 0; i < 3 * (size_t)triangle_count; i++)
        if (triangle[i] < 0 || triangle[i] >= vertex_count)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "triangle %zu of the surface names vertex %d of %d", i / 3,
                            triangle[i], vertex_count);
    return SUPPLE_OK;
}

/* Welding works on floats: relative to the box's middle and in units of its diagonal they resolve 3e-8, far below the
 * tolerance, wherever the surface is and however large. */
static supple_result weld(const double *position, int32_t vertex_count, const int32_t *triangle, int32_t triangle_count,
                          const supple_allocator *a, work *w, int32_t *welded_count, supple_error *error)
{
    spl_vec3 low = {INFINITY, INFINITY, INFINITY}, high = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < 3 * (size_t)triangle_count; i++) {
        const double *p = position + 3 * (size_t)triangle[i];
        low = spl_v3(fmin(low.x, p[0]), fmin(low.y, p[1]), fmin(low.z, p[2]));
        high = spl_v3(fmax(high.x, p[0]), fmax(high.y, p[1]), fmax(high.z, p[2]));
    }
    spl_vec3 middle = triangle_count ? spl_lerp(low, high, 0.5) : spl_v3(0, 0, 0);
    double diagonal = triangle_count ? spl_distance(low, high) : 0;
    double inverse = diagonal > 0 ? 1 / diagonal : 0;
    for (size_t i = 0; i < (size_t)vertex_count; i++) {
        const double *p = position + 3 * i;
        spl_vec3 q = spl_scale(spl_sub(spl_v3(p[0], p[1], p[2]), middle), inverse);
        /* Vertices outside all triangles may be anywhere. */
        q = spl_v3(fmax(-1e6, fmin(1e6, q.x)), fmax(-1e6, fmin(1e6, q.y)), fmax(-1e6, fmin(1e6, q.z)));
        spl_v3_to_float(q, w->scaled + 3 * i);
    }
    supple_result result = spl_weld(w->scaled, vertex_count, weld_tolerance, a, w->weld, welded_count, error);
    if (result != SUPPLE_OK) return result;
    for (size_t i = 0; i < 3 * (size_t)triangle_count; i++) w->welded[i] = w->weld[triangle[i]];
    return SUPPLE_OK;
}

/* Keeps the triangles that the topology counts, and the vertices they use, in order of first use in the input. */
static void compact(const double *position, int32_t vertex_count, int32_t triangle_count, int32_t welded_count, work *w,
                    spl_surface *s)
{
    const spl_topology *topology = &w->topology;
    for (int32_t i = 0; i < welded_count; i++) w->renumber[i] = -1;
    for (int32_t t = 0; t < triangle_count; t++) {
        if (topology->component[t] < 0) continue;
        for (size_t k = 0; k < 3; k++) w->renumber[w->welded[3 * (size_t)t + k]] = 0;
        memcpy(s->triangle + 3 * (size_t)s->triangle_count, w->welded + 3 * (size_t)t, 3 * sizeof *s->triangle);
        s->source[s->triangle_count] = t;
        s->component[s->triangle_count++] = topology->component[t];
    }
    for (int32_t i = 0, next = 0; i < vertex_count; i++) {
        int32_t v = w->weld[i];
        bool first = v == next; /* welded vertices are numbered by first occurrence */
        next += first;
        if (first && w->renumber[v] == 0) {
            const double *p = position + 3 * (size_t)i;
            s->position[s->vertex_count] = spl_v3(p[0], p[1], p[2]);
            w->renumber[v] = s->vertex_count++;
        }
        s->map[i] = w->renumber[v];
    }
    for (size_t i = 0; i < 3 * (size_t)s->triangle_count; i++) s->triangle[i] = w->renumber[s->triangle[i]];
}

static void find_neighbours(work *w, spl_surface *s)
{
    size_t n = 3 * (size_t)s->triangle_count;
    for (size_t c = 0; c < n; c++) {
        int32_t a = s->triangle[c], b = s->triangle[c % 3 == 2 ? c - 2 : c + 1];
        w->edges[c] = (edge){a < b ? a : b, a < b ? b : a, (int32_t)c};
    }
    qsort(w->edges, n, sizeof *w->edges, compare_edges);
    for (size_t i = 0, end; i < n; i = end) {
        const edge *e = w->edges + i;
        for (end = i + 1; end < n && w->edges[end].low == e->low && w->edges[end].high == e->high;) end++;
        for (size_t k = i; k < end; k++)
            s->across[w->edges[k].corner] = end - i == 1   ? SPL_EDGE_BORDER
                                            : end - i == 2 ? w->edges[i + (k == i)].corner / 3
                                                           : SPL_EDGE_NONMANIFOLD;
        s->link_first[e->low + 1]++;
        s->link_first[e->high + 1]++;
    }
}

/* Edges run by (low, high): a vertex meets its lower neighbours first, in order, then its higher ones. */
static void fill_links(const work *w, spl_surface *s)
{
    size_t n = 3 * (size_t)s->triangle_count;
    for (int32_t v = 0; v < s->vertex_count; v++) s->link_first[v + 1] += s->link_first[v];
    for (size_t i = 0; i < n; i++) {
        const edge *e = w->edges + i;
        if (i > 0 && e[-1].low == e->low && e[-1].high == e->high) continue;
        s->link[s->link_first[e->low]++] = e->high;
        s->link[s->link_first[e->high]++] = e->low;
    }
    for (int32_t v = s->vertex_count; v > 0; v--) s->link_first[v] = s->link_first[v - 1];
    s->link_first[0] = 0;
}

static void fill_corners(spl_surface *s)
{
    size_t n = 3 * (size_t)s->triangle_count;
    for (size_t c = 0; c < n; c++) s->corner_first[s->triangle[c] + 1]++;
    for (int32_t v = 0; v < s->vertex_count; v++) s->corner_first[v + 1] += s->corner_first[v];
    for (size_t c = 0; c < n; c++) s->corner[s->corner_first[s->triangle[c]]++] = (int32_t)c;
    for (int32_t v = s->vertex_count; v > 0; v--) s->corner_first[v] = s->corner_first[v - 1];
    s->corner_first[0] = 0;
}

/* Whether two triangles over a common edge run along it in opposite directions, as they should. */
static bool agree(const spl_surface *s, size_t corner, int32_t other)
{
    int32_t a = s->triangle[corner], b = s->triangle[corner % 3 == 2 ? corner - 2 : corner + 1];
    const int32_t *t = s->triangle + 3 * (size_t)other;
    return (t[0] == b && t[1] == a) || (t[1] == b && t[2] == a) || (t[2] == b && t[0] == a);
}

/* Floods one patch (bounded by borders and non-manifold edges) from `seed`, so that neighbours agree; the patch keeps
 * the orientation that most of its area has. */
static void flood_patch(spl_surface *s, work *w, int32_t seed)
{
    int32_t head = 0, tail = 0;
    double as_is = 0, turned = 0;
    w->turn[seed] = 1;
    w->queue[tail++] = seed;
    while (head < tail) {
        int32_t t = w->queue[head++];
        *(w->turn[t] > 0 ? &as_is : &turned) += spl_norm(area_vector(s, t));
        for (size_t c = 3 * (size_t)t; c < 3 * (size_t)t + 3; c++) {
            int32_t other = s->across[c];
            if (other < 0) continue;
            int8_t wanted = (int8_t)(agree(s, c, other) ? w->turn[t] : -w->turn[t]);
            if (w->turn[other] == 0) {
                w->turn[other] = wanted;
                w->queue[tail++] = other;
            } else if (w->turn[other] != wanted)
                s->twisted_edges++; /* met from both sides: halved at the end */
        }
    }
    if (turned > as_is)
        for (int32_t i = 0; i < tail; i++) w->turn[w->queue[i]] = (int8_t)-w->turn[w->queue[i]];
}

/* Corners 1 and 2 change places, and with them the edges: 01 12 20 become 02 21 10. */
static void turn_triangle(spl_surface *s, int32_t t)
{
    int32_t *c = s->triangle + 3 * (size_t)t, *n = s->across + 3 * (size_t)t, swap = c[1];
    c[1] = c[2];
    c[2] = swap;
    swap = n[0];
    n[0] = n[2];
    n[2] = swap;
    s->flipped[t] = !s->flipped[t];
}

/* Areas, and volumes of the cones from the centroid of the border (of the vertices, where there is none): coning the
 * border closes an open component. `centre` and `length` are per component. */
static void measure(spl_surface *s, spl_vec3 *centre, double *length)
{
    for (int32_t t = 0; t < s->triangle_count; t++) {
        int32_t c = s->component[t];
        for (int k = 0; k < 3; k++) {
            bool border = s->across[3 * (size_t)t + (size_t)k] == SPL_EDGE_BORDER;
            if (!s->closed[c] && !border) continue;
            spl_vec3 p = corner_of(s, t, k), q = corner_of(s, t, (k + 1) % 3);
            double l = spl_distance(p, q);
            centre[c] = spl_madd(centre[c], spl_lerp(p, q, 0.5), l);
            length[c] += l;
        }
    }
    for (int32_t c = 0; c < s->component_count; c++)
        if (length[c] > 0) centre[c] = spl_scale(centre[c], 1 / length[c]);
    for (int32_t t = 0; t < s->triangle_count; t++) {
        int32_t c = s->component[t];
        spl_vec3 n = area_vector(s, t);
        s->area[c] += spl_norm(n) / 2;
        s->volume[c] += spl_dot(spl_sub(corner_of(s, t, 0), centre[c]), n) / 6;
    }
}

static bool inside_out(const spl_surface *s, int32_t c)
{
    double area = s->area[c], ball = sqrt(area * area * area / (36 * 3.14159265358979323846));
    return s->volume[c] < (s->closed[c] ? 0 : -bulge * ball);
}

static supple_result orient(spl_surface *s, work *w, const supple_allocator *a, supple_error *error)
{
    for (int32_t t = 0; t < s->triangle_count; t++)
        if (w->turn[t] == 0) flood_patch(s, w, t);
    s->twisted_edges /= 2;
    for (int32_t t = 0; t < s->triangle_count; t++)
        if (w->turn[t] < 0) turn_triangle(s, t);
    spl_vec3 *centre = spl_new(a, (size_t)s->component_count, sizeof *centre);
    double *length = spl_new(a, (size_t)s->component_count, sizeof *length);
    if (centre && length) measure(s, centre, length);
    spl_free(a, centre);
    spl_free(a, length);
    if (!centre || !length) return spl_fail_memory(error, "the surface");
    for (int32_t t = 0; t < s->triangle_count; t++) {
        if (inside_out(s, s->component[t])) turn_triangle(s, t);
        s->flipped_triangles += s->flipped[t];
    }
    for (int32_t c = 0; c < s->component_count; c++)
        if (inside_out(s, c)) s->volume[c] = -s->volume[c];
    return SUPPLE_OK;
}

static void finish(spl_surface *s)
{
    for (int32_t t = 0; t < s->triangle_count; t++) {
        spl_vec3 n = area_vector(s, t);
        s->face[t] = spl_unit(n, spl_v3(0, 0, 0));
        for (size_t k = 0; k < 3; k++) {
            spl_vec3 *v = s->normal + s->triangle[3 * (size_t)t + k];
            *v = spl_add(*v, n);
        }
    }
    for (int32_t v = 0; v < s->vertex_count; v++) {
        spl_vec3 p = s->position[v];
        if (v == 0) s->low = s->high = p;
        s->low = spl_v3(fmin(s->low.x, p.x), fmin(s->low.y, p.y), fmin(s->low.z, p.z));
        s->high = spl_v3(fmax(s->high.x, p.x), fmax(s->high.y, p.y), fmax(s->high.z, p.z));
        s->normal[v] = spl_unit(s->normal[v], spl_v3(0, 0, 0));
    }
    s->diagonal = spl_distance(s->low, s->high);
}

static bool allocate_work(work *w, size_t vertices, size_t triangles, const supple_allocator *a)
{
    w->scaled = spl_new(a, 3 * vertices, sizeof *w->scaled);
    w->weld = spl_new(a, vertices, sizeof *w->weld);
    w->renumber = spl_new(a, vertices, sizeof *w->renumber);
    w->welded = spl_new(a, 3 * triangles, sizeof *w->welded);
    w->edges = spl_new(a, 3 * triangles, sizeof *w->edges);
    w->queue = spl_new(a, triangles, sizeof *w->queue);
    w->turn = spl_new(a, triangles, sizeof *w->turn);
    return w->scaled && w->weld && w->renumber && w->welded && w->edges && w->queue && w->turn;
}

static void release_work(work *w, const supple_allocator *a)
{
    void *block[] = {w->scaled, w->weld, w->renumber, w->welded, w->edges, w->queue, w->turn};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    spl_topology_release(&w->topology);
}

/* For the largest possible result: all vertices and triangles stay. */
static bool allocate_surface(spl_surface *s, size_t vertices, size_t triangles, const supple_allocator *a)
{
    s->position = spl_new(a, vertices, sizeof *s->position);
    s->normal = spl_new(a, vertices, sizeof *s->normal);
    s->map = spl_new(a, vertices, sizeof *s->map);
    s->corner_first = spl_new(a, vertices + 1, sizeof *s->corner_first);
    s->link_first = spl_new(a, vertices + 1, sizeof *s->link_first);
    s->triangle = spl_new(a, 3 * triangles, sizeof *s->triangle);
    s->face = spl_new(a, triangles, sizeof *s->face);
    s->source = spl_new(a, triangles, sizeof *s->source);
    s->flipped = spl_new(a, triangles, sizeof *s->flipped);
    s->across = spl_new(a, 3 * triangles, sizeof *s->across);
    s->component = spl_new(a, triangles, sizeof *s->component);
    s->corner = spl_new(a, 3 * triangles, sizeof *s->corner);
    s->link = spl_new(a, 6 * triangles, sizeof *s->link);
    return s->position && s->normal && s->map && s->corner_first && s->link_first && s->triangle && s->face &&
           s->source && s->flipped && s->across && s->component && s->corner && s->link;
}

static supple_result take_topology(spl_surface *s, const spl_topology *t, const supple_allocator *a,
                                   supple_error *error)
{
    s->component_count = t->components;
    s->closed_components = t->closed_components;
    s->degenerate_triangles = t->degenerate_triangles;
    s->duplicate_triangles = t->duplicate_triangles;
    s->border_edges = t->border_edges;
    s->nonmanifold_edges = t->nonmanifold_edges;
    s->closed = spl_new(a, (size_t)t->components, sizeof *s->closed);
    s->area = spl_new(a, (size_t)t->components, sizeof *s->area);
    s->volume = spl_new(a, (size_t)t->components, sizeof *s->volume);
    if (!s->closed || !s->area || !s->volume) return spl_fail_memory(error, "the surface");
    memcpy(s->closed, t->component_closed, (size_t)t->components * sizeof *s->closed);
    return SUPPLE_OK;
}

supple_result spl_surface_make(const double *position, int32_t vertex_count, const int32_t *triangle,
                               int32_t triangle_count, const supple_allocator *a, spl_surface *out, supple_error *error)
{
    *out = (spl_surface){0};
    supple_result result = check_input(position, vertex_count, triangle, triangle_count, error);
    if (result != SUPPLE_OK) return result;
    work w = {0};
    spl_surface s = {.allocator = *a, .input_vertex_count = vertex_count};
    int32_t welded_count = 0;
    bool made = allocate_work(&w, (size_t)vertex_count, (size_t)triangle_count, a) &&
                allocate_surface(&s, (size_t)vertex_count, (size_t)triangle_count, a);
    result = made ? weld(position, vertex_count, triangle, triangle_count, a, &w, &welded_count, error)
                  : spl_fail_memory(error, "the surface");
    if (result == SUPPLE_OK) result = spl_topology_make(w.welded, triangle_count, a, &w.topology, error);
    if (result == SUPPLE_OK) result = take_topology(&s, &w.topology, a, error);
    if (result == SUPPLE_OK) {
        compact(position, vertex_count, triangle_count, welded_count, &w, &s);
        find_neighbours(&w, &s);
        fill_links(&w, &s);
        result = orient(&s, &w, a, error);
    }
    if (result == SUPPLE_OK) {
        fill_corners(&s);
        finish(&s);
        *out = s;
    } else
        spl_surface_release(&s);
    release_work(&w, a);
    return result;
}

void spl_surface_release(spl_surface *s)
{
    void *block[] = {s->position, s->normal,     s->triangle,  s->face,   s->source, s->flipped,
                     s->across,   s->map,        s->component, s->closed, s->area,   s->corner_first,
                     s->corner,   s->link_first, s->link,      s->volume};
    if (s->allocator.release)
        for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&s->allocator, block[i]);
    *s = (spl_surface){0};
}

spl_vec3 spl_surface_normal(const spl_surface *s, const spl_place *p)
{
    const int32_t *c = s->triangle + 3 * (size_t)p->triangle;
    spl_vec3 n = spl_madd(spl_madd(spl_scale(s->normal[c[0]], p->bary[0]), s->normal[c[1]], p->bary[1]),
                          s->normal[c[2]], p->bary[2]);
    spl_vec3 face = s->face[p->triangle];
    if (spl_dot(face, face) > 0 && !(spl_norm(n) > 1e-6)) n = face;
    return spl_unit(n, spl_v3(0, 0, 1));
}

double spl_surface_mean_edge(const spl_surface *s)
{
    double sum = 0;
    for (int32_t v = 0; v < s->vertex_count; v++)
        for (int32_t k = s->link_first[v]; k < s->link_first[v + 1]; k++)
            sum += spl_distance(s->position[v], s->position[s->link[k]]);
    return s->vertex_count && s->link_first[s->vertex_count] ? sum / s->link_first[s->vertex_count] : 0;
}
