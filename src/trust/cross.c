#include "trust/cross.h"

#include "core/error.h"
#include "core/memory.h"
#include "trust/cross_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- one vertex a place ---- */

typedef struct place {
    double cell[3];
    int32_t vertex;
} place;

static int by_place(const void *a, const void *b)
{
    const place *p = a, *q = b;
    for (int k = 0; k < 3; k++)
        if (p->cell[k] != q->cell[k]) return p->cell[k] < q->cell[k] ? -1 : 1;
    return (p->vertex > q->vertex) - (p->vertex < q->vertex);
}

static bool same_place(const place *p, const place *q)
{
    return p->cell[0] == q->cell[0] && p->cell[1] == q->cell[1] && p->cell[2] == q->cell[2];
}

static double diagonal_of(const float *x, size_t count)
{
    double square = 0;
    for (size_t k = 0; k < 3; k++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            low = fmin(low, (double)x[3 * i + k]);
            high = fmax(high, (double)x[3 * i + k]);
        }
        if (high > low) square += (high - low) * (high - low);
    }
    return sqrt(square);
}

/* Rounds to cells and sorts: the first vertex of a place stands first. */
static void sort_places(const spl_cross_input *in, place *to)
{
    size_t n = (size_t)in->vertex_count;
    double cell = SPL_CROSS_WELD * diagonal_of(in->rest, n);
    for (size_t i = 0; i < n; i++) {
        to[i].vertex = (int32_t)i;
        for (size_t k = 0; k < 3; k++) to[i].cell[k] = cell > 0 ? rint((double)in->rest[3 * i + k] / cell) : 0;
    }
    qsort(to, n, sizeof *to, by_place);
}

/* Numbers the places; `map` goes from the scene's vertices to them. */
static supple_result weld(spl_crossings *c, const spl_cross_input *in, int32_t *map, supple_error *error)
{
    size_t n = (size_t)in->vertex_count;
    place *sorted = spl_new(&c->allocator, n, sizeof *sorted);
    c->source = spl_new(&c->allocator, n, sizeof *c->source);
    if (!sorted || !c->source) {
        spl_free(&c->allocator, sorted);
        return spl_fail_memory(error, "the crossings");
    }
    sort_places(in, sorted);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !same_place(&sorted[i - 1], &sorted[i])) c->source[c->vertex_count++] = sorted[i].vertex;
        map[sorted[i].vertex] = c->vertex_count - 1;
    }
    spl_free(&c->allocator, sorted);
    return SUPPLE_OK;
}

/* Triangles over places; `from` says which they are in the input. */
static void take_triangles(spl_crossings *c, const spl_cross_input *in, const int32_t *map, int32_t *from)
{
    for (int32_t t = 0; t < in->triangle_count; t++) {
        const int32_t *v = in->triangle + 3 * (size_t)t;
        int32_t a = map[v[0]], b = map[v[1]], d = map[v[2]], *to = c->triangle + 3 * (size_t)c->triangle_count;
        if (a == b || b == d || d == a) continue;
        to[0] = a;
        to[1] = b;
        to[2] = d;
        from[c->triangle_count++] = t;
    }
}

/* ---- neighbours ---- */

/* Lists with a neighbour once a triangle, then once. `seen` has room for a number a vertex, 0 so far. */
static void close_gaps(spl_crossings *c, int32_t *seen)
{
    int32_t to = 0, from = 0;
    for (int32_t v = 0; v < c->vertex_count; v++) {
        int32_t end = c->near_first[v + 1];
        c->near_first[v] = to;
        for (; from < end; from++) {
            int32_t u = c->near[from];
            if (seen[u] == v + 1) continue;
            seen[u] = v + 1;
            c->near[to++] = u;
        }
    }
    c->near_first[c->vertex_count] = to;
}

static supple_result find_neighbours(spl_crossings *c, supple_error *error)
{
    size_t n = (size_t)c->vertex_count, corners = 3 * (size_t)c->triangle_count;
    int32_t *count = spl_new(&c->allocator, n, sizeof *count);
    c->near_first = spl_new(&c->allocator, n + 1, sizeof *c->near_first);
    c->near = spl_new(&c->allocator, 2 * corners, sizeof *c->near);
    if (count && c->near_first && c->near) {
        for (size_t i = 0; i < corners; i++) c->near_first[c->triangle[i] + 1] += 2;
        for (size_t v = 0; v < n; v++) c->near_first[v + 1] += c->near_first[v];
        for (size_t i = 0; i < corners; i++) {
            size_t t = i - i % 3;
            int32_t v = c->triangle[i];
            for (size_t k = 1; k < 3; k++) c->near[c->near_first[v] + count[v]++] = c->triangle[t + (i + k) % 3];
        }
        memset(count, 0, n * sizeof *count);
        close_gaps(c, count);
    }
    supple_result result = count && c->near_first && c->near ? SUPPLE_OK : spl_fail_memory(error, "the crossings");
    spl_free(&c->allocator, count);
    return result;
}

/* ---- a shape ---- */

/* Normals of x. A flat vertex has none, and is not lifted. */
static void find_normals(spl_crossings *c)
{
    memset(c->normal, 0, (size_t)c->vertex_count * sizeof *c->normal);
    for (size_t t = 0; t < (size_t)c->triangle_count; t++) {
        const int32_t *v = c->triangle + 3 * t;
        c->face[t] = spl_cross(spl_sub(c->x[v[1]], c->x[v[0]]), spl_sub(c->x[v[2]], c->x[v[0]]));
        for (int k = 0; k < 3; k++) c->normal[v[k]] = spl_add(c->normal[v[k]], c->face[t]);
    }
    for (size_t v = 0; v < (size_t)c->vertex_count; v++) c->normal[v] = spl_unit(c->normal[v], spl_v3(0, 0, 0));
}

static void place_vertices(const spl_crossings *c, const float *x, double scale, spl_vec3 *out)
{
    for (size_t v = 0; v < (size_t)c->vertex_count; v++)
        out[v] = spl_scale(spl_v3_from_float(x + 3 * (size_t)c->source[v]), scale);
}

static supple_result make_tree(spl_crossings *c, supple_error *error)
{
    spl_winding_release(&c->winding);
    spl_tree_release(&c->tree);
    supple_result result = spl_tree_make(c->x, c->triangle, c->triangle_count, &c->allocator, &c->tree, error);
    return result == SUPPLE_OK ? spl_winding_make(&c->tree, &c->allocator, &c->winding, error) : result;
}

static int by_size(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* How long an edge is in the frame that was given, by its length in the file's rest shape: the median. */
static supple_result find_unit(const spl_crossings *c, const spl_cross_input *in, double *out, supple_error *error)
{
    double *ratio = spl_new(&c->allocator, (size_t)c->triangle_count, sizeof *ratio);
    size_t count = 0;
    if (!ratio) return spl_fail_memory(error, "the crossings");
    for (size_t t = 0; t < (size_t)c->triangle_count; t++) {
        size_t a = 3 * (size_t)c->source[c->triangle[3 * t]], b = 3 * (size_t)c->source[c->triangle[3 * t + 1]];
        double rest = spl_distance(spl_v3_from_float(in->rest + a), spl_v3_from_float(in->rest + b));
        double posed = spl_distance(spl_v3_from_float(in->posed + a), spl_v3_from_float(in->posed + b));
        if (rest > 0) ratio[count++] = posed / rest;
    }
    qsort(ratio, count, sizeof *ratio, by_size);
    *out = count > 0 && ratio[count / 2] > 0 ? ratio[count / 2] : 1;
    spl_free(&c->allocator, ratio);
    return SUPPLE_OK;
}

/* ---- creation ---- */

static supple_result make_room(spl_crossings *c, spl_pool *pool, supple_error *error)
{
    const supple_allocator *a = &c->allocator;
    size_t n = (size_t)c->vertex_count, m = (size_t)c->triangle_count;
    c->rest = spl_new(a, n, sizeof *c->rest);
    c->x = spl_new(a, n, sizeof *c->x);
    c->normal = spl_new(a, n, sizeof *c->normal);
    c->face = spl_new(a, m, sizeof *c->face);
    c->pairs.first = spl_new(a, m + 1, sizeof *c->pairs.first);
    c->pairs.other = spl_new(a, m, sizeof *c->pairs.other); /* frames with more are rare */
    c->pairs.room = m;
    c->at_rest.first = spl_new(a, m + 1, sizeof *c->at_rest.first);
    c->way = spl_new(a, n, sizeof *c->way);
    c->inside = spl_new(a, n, sizeof *c->inside);
    c->inside_at_rest = spl_new(a, n, sizeof *c->inside_at_rest);
    c->queued = spl_new(a, n, sizeof *c->queued);
    c->queue = spl_new(a, n, sizeof *c->queue);
    c->number = spl_new(a, n, sizeof *c->number);
    c->probe = spl_new(a, n, sizeof *c->probe);
    if (!c->rest || !c->x || !c->normal || !c->face || !c->pairs.first || !c->pairs.other || !c->at_rest.first ||
        !c->way || !c->inside || !c->inside_at_rest || !c->queued || !c->queue || !c->number || !c->probe)
        return spl_fail_memory(error, "the crossings");
    int32_t threads = pool ? spl_pool_thread_count(pool) : 1;
    c->room_count = threads < 1 ? 1 : threads < SPL_CROSS_ROOMS ? threads : SPL_CROSS_ROOMS;
    supple_result result = SUPPLE_OK;
    for (int32_t i = 0; i < c->room_count && result == SUPPLE_OK; i++)
        result = spl_cross_ways_make(a, c->vertex_count, &c->room[i], error);
    return result;
}

/* What crosses, and is inside, in the rest shape. */
static supple_result look_at_rest(spl_crossings *c, spl_pool *pool, supple_error *error)
{
    memcpy(c->x, c->rest, (size_t)c->vertex_count * sizeof *c->x);
    supple_result result = make_tree(c, error);
    if (result != SUPPLE_OK) return result;
    find_normals(c);
    result = spl_cross_find_pairs(c, &c->at_rest, pool, error);
    if (result != SUPPLE_OK) return result;
    spl_cross_find_inside(c, true, pool);
    memcpy(c->inside_at_rest, c->inside, (size_t)c->vertex_count * sizeof *c->inside);
    return SUPPLE_OK;
}

/* After the rest shape was looked at: triangles as frames have them, in a tree for frames. */
static supple_result turn_to_frames(spl_crossings *c, const spl_cross_input *in, const int32_t *from,
                                    supple_error *error)
{
    for (size_t t = 0; in->mirrored && t < (size_t)c->triangle_count; t++) {
        int32_t *v = c->triangle + 3 * t, second = v[1];
        if (!in->mirrored[from[t]]) continue;
        v[1] = v[2];
        v[2] = second;
    }
    place_vertices(c, in->posed, c->metre, c->x);
    return make_tree(c, error);
}

static supple_result build(spl_crossings *c, const spl_cross_input *in, int32_t *map, int32_t *from, spl_pool *pool,
                           supple_error *error)
{
    double unit = 1;
    supple_result result = weld(c, in, map, error);
    if (result != SUPPLE_OK) return result;
    take_triangles(c, in, map, from);
    result = find_neighbours(c, error);
    if (result == SUPPLE_OK) result = make_room(c, pool, error);
    if (result == SUPPLE_OK) result = find_unit(c, in, &unit, error);
    if (result != SUPPLE_OK) return result;
    place_vertices(c, in->rest, c->metre * unit, c->rest);
    result = look_at_rest(c, pool, error);
    return result == SUPPLE_OK ? turn_to_frames(c, in, from, error) : result;
}

supple_result spl_cross_create(const spl_cross_input *in, const supple_allocator *a, spl_pool *pool,
                               spl_crossings **out, supple_error *error)
{
    spl_crossings *c = spl_new(a, 1, sizeof *c);
    *out = NULL;
    if (!c) return spl_fail_memory(error, "the crossings");
    c->allocator = *a;
    c->metre = in->metre;
    if (in->triangle_count > INT32_MAX / 6) {
        spl_cross_destroy(c);
        return spl_fail_memory(error, "the crossings");
    }
    c->triangle = spl_new(a, (size_t)in->triangle_count, 3 * sizeof *c->triangle);
    int32_t *map = spl_new(a, (size_t)in->vertex_count, sizeof *map);
    int32_t *from = spl_new(a, (size_t)in->triangle_count, sizeof *from);
    supple_result result =
        c->triangle && map && from ? build(c, in, map, from, pool, error) : spl_fail_memory(error, "the crossings");
    spl_free(a, map);
    spl_free(a, from);
    if (result == SUPPLE_OK)
        *out = c;
    else
        spl_cross_destroy(c);
    return result;
}

void spl_cross_destroy(spl_crossings *c)
{
    if (!c) return;
    supple_allocator a = c->allocator;
    spl_winding_release(&c->winding);
    spl_tree_release(&c->tree);
    for (int i = 0; i < SPL_CROSS_ROOMS; i++) spl_cross_ways_release(&a, &c->room[i]);
    void *block[] = {c->source, c->triangle, c->near_first,    c->near,          c->rest,
                     c->x,      c->face,     c->normal,        c->pairs.first,   c->pairs.other,
                     c->way,    c->inside,   c->at_rest.first, c->at_rest.other, c->inside_at_rest,
                     c->queued, c->queue,    c->number,        c->probe,         c};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&a, block[i]);
}

/* ---- a frame ---- */

static int32_t count_new(const spl_crossings *c)
{
    int32_t count = 0;
    for (int32_t s = 0; s < c->triangle_count; s++)
        for (int32_t i = c->pairs.first[s]; i < c->pairs.first[s + 1]; i++)
            count += !spl_cross_has_pair(&c->at_rest, s, c->pairs.other[i]);
    return count;
}

/* Vertices that do not count are taken out of the probes. */
static double leave_out(spl_crossings *c, const bool *counts)
{
    double deepest = 0;
    int32_t kept = 0;
    for (int32_t i = 0; i < c->probe_count; i++) {
        spl_cross_probe *probe = &c->probe[i];
        if (counts && !counts[c->source[probe->vertex]])
            deepest = fmax(deepest, probe->depth);
        else
            c->probe[kept++] = *probe;
    }
    c->probe_count = kept;
    return deepest;
}

supple_result spl_cross_measure(spl_crossings *c, const float *posed, const bool *counts, spl_pool *pool,
                                spl_crossing *out, supple_error *error)
{
    *out = (spl_crossing){0};
    place_vertices(c, posed, c->metre, c->x);
    spl_tree_refit(&c->tree, c->x);
    find_normals(c);
    supple_result result = spl_cross_find_pairs(c, &c->pairs, pool, error);
    if (result != SUPPLE_OK) return result;
    out->crossed = count_new(c);
    if (out->crossed == 0) return SUPPLE_OK;
    spl_winding_refit(&c->winding);
    spl_cross_find_inside(c, false, pool);
    spl_cross_find_depths(c, pool);
    out->other = leave_out(c, counts);
    spl_cross_deepest(c, pool, out);
    return SUPPLE_OK;
}
