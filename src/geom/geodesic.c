#include "geom/geodesic.h"

#include "core/error.h"
#include "core/memory.h"

/* Relative gain below which a vertex is not corrected again: ends the search, far below the method's error. */
static const double least_gain = 1e-7;

supple_result spl_geodesic_make(int32_t vertex_count, const supple_allocator *a, spl_geodesic *out, supple_error *error)
{
    size_t n = (size_t)vertex_count;
    *out = (spl_geodesic){.vertex_count = vertex_count, .allocator = *a};
    out->distance = spl_new(a, n, sizeof *out->distance);
    out->slot = spl_new(a, n, sizeof *out->slot);
    out->heap = spl_new(a, n, sizeof *out->heap);
    out->touched = spl_new(a, n, sizeof *out->touched);
    if (!out->distance || !out->slot || !out->heap || !out->touched) {
        spl_geodesic_release(out);
        return spl_fail_memory(error, "geodesic distances");
    }
    for (size_t i = 0; i < n; i++) {
        out->distance[i] = INFINITY;
        out->slot[i] = -1;
    }
    return SUPPLE_OK;
}

void spl_geodesic_release(spl_geodesic *g)
{
    if (g->allocator.release) {
        spl_free(&g->allocator, g->distance);
        spl_free(&g->allocator, g->slot);
        spl_free(&g->allocator, g->heap);
        spl_free(&g->allocator, g->touched);
    }
    *g = (spl_geodesic){0};
}

/* The heap: nearest first, ties by number, so that the order is the same on every machine. */
static bool before(const spl_geodesic *g, int32_t a, int32_t b)
{
    return g->distance[a] != g->distance[b] ? g->distance[a] < g->distance[b] : a < b;
}

static void put(spl_geodesic *g, int32_t slot, int32_t v)
{
    g->heap[slot] = v;
    g->slot[v] = slot;
}

static void rise(spl_geodesic *g, int32_t v)
{
    int32_t i = g->slot[v];
    for (; i > 0 && before(g, v, g->heap[(i - 1) / 2]); i = (i - 1) / 2) put(g, i, g->heap[(i - 1) / 2]);
    put(g, i, v);
}

static int32_t pop(spl_geodesic *g)
{
    int32_t first = g->heap[0], v = g->heap[--g->heap_count], i = 0;
    g->slot[first] = -1;
    if (g->heap_count == 0) return first;
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child >= g->heap_count) break;
        if (child + 1 < g->heap_count && before(g, g->heap[child + 1], g->heap[child])) child++;
        if (!before(g, g->heap[child], v)) break;
        put(g, i, g->heap[child]);
        i = child;
    }
    put(g, i, v);
    return first;
}

static void lower(spl_geodesic *g, int32_t v, double distance)
{
    double old = g->distance[v];
    if (!(distance < old * (1 - least_gain))) return; /* also if both are 0 */
    if (!(old < INFINITY)) g->touched[g->touched_count++] = v;
    g->distance[v] = distance;
    if (g->slot[v] < 0) put(g, g->heap_count++, v);
    rise(g, v);
}

static void clear(spl_geodesic *g)
{
    for (int32_t i = 0; i < g->touched_count; i++) {
        g->distance[g->touched[i]] = INFINITY;
        g->slot[g->touched[i]] = -1;
    }
    g->heap_count = g->touched_count = 0;
    g->longest = 0;
}

/* The distance at c, seen through the edge a b, given those at a and b. In the triangle's plane a is the origin, b lies
 * on the x axis, c above it, the virtual source (x, -y) below. INFINITY if the line to c misses the edge. */
static double through_edge(spl_vec3 a, spl_vec3 b, spl_vec3 c, double da, double db)
{
    spl_vec3 ab = spl_sub(b, a), ac = spl_sub(c, a);
    double square = spl_dot(ab, ab), along = spl_dot(ab, ac);
    if (!(square > 0) || !(da < INFINITY) || !(db < INFINITY)) return INFINITY;
    double length = sqrt(square), cx = along / length;
    double cy_square = spl_dot(ac, ac) - cx * cx, cy = cy_square > 0 ? sqrt(cy_square) : 0;
    double x = (da * da - db * db + square) / (2 * length), y_square = da * da - x * x;
    double y = y_square > 0 ? sqrt(y_square) : 0;
    if (!(y + cy > 0)) return INFINITY;
    double crossing = x + (cx - x) * y / (y + cy);
    if (!(crossing >= -1e-9 * length && crossing <= (1 + 1e-9) * length)) return INFINITY;
    return sqrt((cx - x) * (cx - x) + (cy + y) * (cy + y));
}

/* A vertex has got its distance: tells the other two of each of its triangles. */
static void spread(spl_geodesic *g, const spl_surface *s, int32_t a)
{
    spl_vec3 pa = s->position[a];
    double da = g->distance[a];
    for (int32_t i = s->link_first[a]; i < s->link_first[a + 1]; i++) {
        double length = spl_distance(pa, s->position[s->link[i]]);
        if (length > g->longest) g->longest = length;
        lower(g, s->link[i], da + length);
    }
    for (int32_t i = s->corner_first[a]; i < s->corner_first[a + 1]; i++) {
        int32_t corner = s->corner[i], first = corner - corner % 3;
        int32_t b = s->triangle[first + (corner + 1) % 3], c = s->triangle[first + (corner + 2) % 3];
        spl_vec3 pb = s->position[b], pc = s->position[c];
        lower(g, c, through_edge(pa, pb, pc, da, g->distance[b]));
        lower(g, b, through_edge(pa, pc, pb, da, g->distance[c]));
    }
}

/* The three corners of the source's triangle are its first front. */
static void start(spl_geodesic *g, const spl_surface *s, const spl_place *from)
{
    spl_vec3 p = spl_surface_point(s, from);
    for (size_t k = 0; k < 3; k++) {
        int32_t v = s->triangle[3 * (size_t)from->triangle + k];
        lower(g, v, spl_distance(p, s->position[v]));
    }
}

static bool usable(const spl_geodesic *g, const spl_surface *s, const spl_place *p)
{
    return p->triangle >= 0 && p->triangle < s->triangle_count && s->vertex_count <= g->vertex_count;
}

/* Spreads until everything within `radius` is settled. A vertex is corrected by its neighbours at most, which may be
 * one edge farther away. */
static void march(spl_geodesic *g, const spl_surface *s, double radius)
{
    while (g->heap_count > 0 && g->distance[g->heap[0]] <= radius + g->longest) {
        int32_t v = pop(g);
        bool matters = g->distance[v] <= radius;
        for (int32_t i = s->link_first[v]; i < s->link_first[v + 1] && !matters; i++)
            matters = g->distance[s->link[i]] <= radius;
        if (matters) spread(g, s, v);
    }
}

/* Sorts the touched vertices by distance, in place (a heap sort: no memory, no recursion). */
static void sort_touched(const spl_geodesic *g, int32_t *v, int32_t n)
{
    for (int32_t begin = n / 2, end = n; end > 1;) {
        if (begin > 0)
            begin--;
        else {
            int32_t last = v[--end];
            v[end] = v[0];
            v[0] = last;
        }
        int32_t moved = v[begin], i = begin;
        for (int32_t child; (child = 2 * i + 1) < end; i = child) {
            if (child + 1 < end && before(g, v[child], v[child + 1])) child++;
            if (!before(g, moved, v[child])) break;
            v[i] = v[child];
        }
        v[i] = moved;
    }
}

static int32_t collect(spl_geodesic *g, double radius, int32_t capacity, int32_t *vertex, double *distance)
{
    int32_t n = 0;
    sort_touched(g, g->touched, g->touched_count);
    for (; n < g->touched_count && n < capacity; n++) {
        int32_t v = g->touched[n];
        if (!(g->distance[v] <= radius)) break;
        vertex[n] = v;
        if (distance) distance[n] = g->distance[v];
    }
    clear(g);
    return n;
}

int32_t spl_geodesic_within(spl_geodesic *g, const spl_surface *s, const spl_place *from, double radius,
                            int32_t capacity, int32_t *vertex, double *distance)
{
    if (!usable(g, s, from)) return 0;
    start(g, s, from);
    march(g, s, radius);
    return collect(g, radius, capacity, vertex, distance);
}

int32_t spl_geodesic_nearest(spl_geodesic *g, const spl_surface *s, const spl_place *from, int32_t k, int32_t *vertex,
                             double *distance)
{
    if (!usable(g, s, from) || k < 1) return 0;
    start(g, s, from);
    /* Passed vertices come in nearly ascending order; the k-th one's distance bounds the answer. */
    double radius = 0;
    for (int32_t passed = 0; passed < k && g->heap_count > 0;) {
        int32_t v = pop(g);
        passed += g->distance[v] >= radius; /* not one that comes back corrected */
        radius = g->distance[v] > radius ? g->distance[v] : radius;
        spread(g, s, v);
    }
    march(g, s, radius);
    return collect(g, INFINITY, k, vertex, distance);
}

/* The distance at a place from those at its triangle's corners. */
static double at_place(const spl_geodesic *g, const spl_surface *s, const spl_place *to)
{
    const int32_t *c = s->triangle + 3 * (size_t)to->triangle;
    spl_vec3 p = spl_surface_point(s, to);
    double best = INFINITY;
    for (int k = 0; k < 3; k++) {
        int32_t a = c[k], b = c[(k + 1) % 3];
        double direct = g->distance[a] + spl_distance(p, s->position[a]);
        double through = through_edge(s->position[a], s->position[b], p, g->distance[a], g->distance[b]);
        best = direct < best ? direct : best;
        best = through < best ? through : best;
    }
    return best;
}

static double farthest_corner(const spl_geodesic *g, const spl_surface *s, int32_t triangle)
{
    double far = 0;
    for (size_t k = 0; k < 3; k++) {
        double d = g->distance[s->triangle[3 * (size_t)triangle + k]];
        far = d > far ? d : far;
    }
    return far;
}

double spl_geodesic_distance(spl_geodesic *g, const spl_surface *s, const spl_place *a, const spl_place *b,
                             double limit)
{
    if (!usable(g, s, a) || !usable(g, s, b)) return INFINITY;
    double straight = spl_distance(spl_surface_point(s, a), spl_surface_point(s, b));
    if (a->triangle == b->triangle) return straight <= limit ? straight : INFINITY;
    if (straight > limit || s->component[a->triangle] != s->component[b->triangle]) return INFINITY;
    start(g, s, a);
    while (g->heap_count > 0) {
        double enough = farthest_corner(g, s, b->triangle);
        if (enough > limit) enough = limit;
        if (g->distance[g->heap[0]] > enough + g->longest) break;
        spread(g, s, pop(g));
    }
    double distance = at_place(g, s, b);
    clear(g);
    if (distance < straight) distance = straight; /* nothing is shorter than through space */
    return distance <= limit ? distance : INFINITY;
}

bool spl_geodesic_near(spl_geodesic *g, const spl_surface *s, const spl_place *a, const spl_place *b, double limit)
{
    return spl_geodesic_distance(g, s, a, b, limit) <= limit && limit >= 0;
}
