#include "trust/mesh.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"
#include "geom/tree.h"
#include "geom/weld.h"

#include <stdlib.h>

#define SAME         1e-5 /* of the diagonal: vertices nearer than that, in both poses, are one point */
#define SHORTEST     1e-6 /* of the largest extent: edges below it say nothing of a part's scale */
#define RIDES_WITHIN 0.1  /* of the diagonal: how far off something may follow flesh */

/* A pair of numbers, sorted, and what it belongs to. */
typedef struct pair {
    int32_t a, b, of;
} pair;

static int by_pair(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    if (p->b != q->b) return p->b < q->b ? -1 : 1;
    return p->of < q->of ? -1 : p->of > q->of;
}

static pair sorted(int32_t a, int32_t b, int32_t of)
{
    return a < b ? (pair){a, b, of} : (pair){b, a, of};
}

/* ---- points ---- */

static double extent(const float *x, int32_t count, double *diagonal)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, most = 0, square = 0;
    for (size_t i = 0; i < 3 * (size_t)count; i++) {
        low[i % 3] = fmin(low[i % 3], (double)x[i]);
        high[i % 3] = fmax(high[i % 3], (double)x[i]);
    }
    for (int c = 0; c < 3 && count > 0; c++) {
        most = fmax(most, high[c] - low[c]);
        square += (high[c] - low[c]) * (high[c] - low[c]);
    }
    *diagonal = sqrt(square);
    return most;
}

/* Vertices that are one in both poses are one point; points are numbered by their first vertex. */
static supple_result find_points(spl_trust_mesh *m, const spl_trust_mesh_input *in, supple_error *error)
{
    const supple_allocator *a = &m->allocator;
    size_t n = (size_t)m->vertex_count;
    double other;
    int32_t counts[2];
    extent(in->twisted, m->vertex_count, &other);
    int32_t *twisted = spl_new(a, n, sizeof *twisted), *number = spl_new(a, n, sizeof *number);
    pair *key = spl_new(a, n, sizeof *key);
    supple_result result = twisted && number && key ? SUPPLE_OK : spl_fail_memory(error, "the mesh's points");
    if (result == SUPPLE_OK)
        result = spl_weld(in->rest, m->vertex_count, SAME * m->diagonal, a, m->point, &counts[0], error);
    if (result == SUPPLE_OK)
        result = spl_weld(in->twisted, m->vertex_count, SAME * other, a, twisted, &counts[1], error);
    if (result == SUPPLE_OK) {
        for (size_t v = 0; v < n; v++) key[v] = (pair){m->point[v], twisted[v], (int32_t)v};
        qsort(key, n, sizeof *key, by_pair);
        for (size_t k = 0; k < n; k++) { /* number: of each vertex, the first one that it is the same as */
            bool same = k > 0 && key[k].a == key[k - 1].a && key[k].b == key[k - 1].b;
            number[key[k].of] = same ? number[key[k - 1].of] : key[k].of;
        }
        for (size_t v = 0; v < n; v++) m->point[v] = number[v] == (int32_t)v ? m->point_count++ : m->point[number[v]];
    }
    spl_free(a, twisted);
    spl_free(a, number);
    spl_free(a, key);
    return result;
}

/* ---- edges and pieces ---- */

/* The edges of a part's triangles, each once, into `room`; returns how many. */
static size_t part_edges(const spl_trust_mesh *m, int32_t part, pair *room)
{
    size_t count = 0, unique = 0;
    for (size_t t = (size_t)m->first_triangle[part]; t < (size_t)m->first_triangle[part + 1]; t++)
        for (size_t k = 0; k < 3; k++) {
            int32_t i = m->triangle[3 * t + k], j = m->triangle[3 * t + (k + 1) % 3];
            if (i != j) room[count++] = sorted(i, j, 0);
        }
    qsort(room, count, sizeof *room, by_pair);
    for (size_t k = 0; k < count; k++)
        if (k == 0 || by_pair(&room[k], &room[k - 1]) != 0) room[unique++] = room[k];
    return unique;
}

static double edge_length(const float *x, const int32_t *edge)
{
    return spl_distance(spl_v3_from_float(x + 3 * (size_t)edge[0]), spl_v3_from_float(x + 3 * (size_t)edge[1]));
}

static int by_value(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;
    return p < q ? -1 : p > q;
}

/* Lengths of a part's edges in the file, times the scale that the file's skinning has in the rest pose: the median,
 * since a rest pose may bend what the bind pose has straight. */
static void part_lengths(spl_trust_mesh *m, const spl_trust_mesh_input *in, int32_t part, double *room)
{
    const spl_part *p = &in->part[part];
    double diagonal, scale = 1;
    double shortest = SHORTEST * extent(p->primitive->position, p->primitive->vertex_count, &diagonal);
    size_t first = (size_t)m->first_edge[part], last = (size_t)m->first_edge[part + 1], count = 0;
    for (size_t e = first; e < last; e++) {
        int32_t own[2] = {m->edge[2 * e] - p->first_vertex, m->edge[2 * e + 1] - p->first_vertex};
        double file = edge_length(p->primitive->position, own);
        m->length[e] = (float)file;
        if (file > shortest) room[count++] = edge_length(in->rest, m->edge + 2 * e) / file;
    }
    qsort(room, count, sizeof *room, by_value);
    if (count > 0 && isfinite(room[count / 2])) scale = room[count / 2];
    for (size_t e = first; e < last; e++) m->length[e] = (float)((double)m->length[e] * scale);
}

static supple_result find_edges(spl_trust_mesh *m, const spl_trust_mesh_input *in, supple_error *error)
{
    const supple_allocator *a = &m->allocator;
    size_t most = 3 * (size_t)m->first_triangle[m->part_count], count = 0;
    pair *room = spl_new(a, most, sizeof *room);
    m->edge = spl_new(a, most, 2 * sizeof *m->edge);
    for (int32_t i = 0; room && m->edge && i < m->part_count; i++) {
        size_t n = part_edges(m, i, room);
        for (size_t k = 0; k < n; k++, count++) {
            m->edge[2 * count] = room[k].a;
            m->edge[2 * count + 1] = room[k].b;
        }
        m->first_edge[i + 1] = (int32_t)count;
    }
    spl_free(a, room);
    double *ratio = spl_new(a, count, sizeof *ratio);
    m->length = spl_new(a, count, sizeof *m->length);
    if (!room || !m->edge || !ratio || !m->length) {
        spl_free(a, ratio);
        return spl_fail_memory(error, "the mesh's edges");
    }
    for (int32_t i = 0; i < m->part_count; i++) part_lengths(m, in, i, ratio);
    spl_free(a, ratio);
    return SUPPLE_OK;
}

static supple_result find_pieces(spl_trust_mesh *m, supple_error *error)
{
    const supple_allocator *a = &m->allocator;
    size_t n = (size_t)m->point_count;
    int32_t *set = spl_new(a, n, sizeof *set);
    m->piece = spl_new(a, n, sizeof *m->piece);
    m->piece_vertices = spl_new(a, n, sizeof *m->piece_vertices);
    if (!set || !m->piece || !m->piece_vertices) {
        spl_free(a, set);
        return spl_fail_memory(error, "the mesh's pieces");
    }
    for (size_t p = 0; p < n; p++) set[p] = (int32_t)p;
    for (size_t e = 0; e < (size_t)m->first_edge[m->part_count]; e++)
        spl_sets_join(set, m->point[m->edge[2 * e]], m->point[m->edge[2 * e + 1]]);
    for (size_t p = 0; p < n; p++) { /* a set is named by its lowest point */
        int32_t root = spl_sets_root(set, (int32_t)p);
        m->piece[p] = root == (int32_t)p ? m->piece_count++ : m->piece[root];
    }
    for (size_t v = 0; v < (size_t)m->vertex_count; v++) m->piece_vertices[m->piece[m->point[v]]]++;
    spl_free(a, set);
    return SUPPLE_OK;
}

/* ---- folds ---- */

/* Edges between points that two triangles share, and that are bent by less than a right angle at rest. */
static supple_result find_folds(spl_trust_mesh *m, const float *rest, supple_error *error)
{
    const supple_allocator *a = &m->allocator;
    size_t triangles = (size_t)m->first_triangle[m->part_count], n = 3 * triangles;
    pair *side = spl_new(a, n, sizeof *side);
    m->fold = spl_new(a, n, sizeof *m->fold); /* two of n / 2 */
    if (!side || !m->fold) {
        spl_free(a, side);
        return spl_fail_memory(error, "the mesh's folds");
    }
    for (size_t t = 0; t < triangles; t++)
        for (size_t k = 0; k < 3; k++)
            side[3 * t + k] =
                sorted(m->point[m->triangle[3 * t + k]], m->point[m->triangle[3 * t + (k + 1) % 3]], (int32_t)t);
    qsort(side, n, sizeof *side, by_pair);
    for (size_t k = 0, next; k < n; k = next) {
        for (next = k + 1; next < n && side[next].a == side[k].a && side[next].b == side[k].b;) next++;
        if (next - k != 2 || side[k].a == side[k].b) continue;
        if (!(spl_dot(spl_trust_mesh_normal(m, rest, (size_t)side[k].of),
                      spl_trust_mesh_normal(m, rest, (size_t)side[k + 1].of)) > 0))
            continue;
        m->fold[2 * (size_t)m->fold_count] = side[k].of;
        m->fold[2 * (size_t)m->fold_count++ + 1] = side[k + 1].of;
    }
    spl_free(a, side);
    return SUPPLE_OK;
}

/* ---- links ---- */

/* A link of points, in the making. */
typedef struct links {
    pair *pair; /* `of` is the place of its length */
    float *length;
    size_t count, room;
} links;

static void add_link(links *l, int32_t p, int32_t q, double length)
{
    if (p == q || l->count >= l->room) return;
    l->pair[l->count] = sorted(p, q, (int32_t)l->count);
    l->length[l->count++] = (float)length;
}

/* What follows flesh, to the corners of the flesh that it lies on. */
static supple_result link_riders(spl_trust_mesh *m, const spl_trust_mesh_input *in, links *l, supple_error *error)
{
    const spl_body *b = in->body;
    spl_tree tree;
    if (!b || b->surface.triangle_count == 0) return SUPPLE_OK;
    supple_result result =
        spl_tree_make(b->surface.position, b->surface.triangle, b->surface.triangle_count, &m->allocator, &tree, error);
    if (result != SUPPLE_OK) return result;
    double reach = RIDES_WITHIN * b->surface.diagonal;
    for (int32_t v = 0, hint = -1; v < m->vertex_count; v++) {
        spl_hit hit;
        if (b->lifted[v] || b->roles.vertex[v] != SUPPLE_ROLE_FOLLOW) continue;
        if (!spl_tree_nearest(&tree, spl_v3_from_float(b->bind + 3 * (size_t)v), reach, hint, &hit)) continue;
        hint = hit.triangle;
        for (size_t k = 0; k < 3; k++) {
            int32_t s = b->surface_vertex[b->surface.triangle[3 * (size_t)hit.triangle + k]];
            int32_t edge[2] = {v, s};
            if (hit.bary[k] > 0) add_link(l, m->point[v], m->point[s], edge_length(in->rest, edge));
        }
    }
    spl_tree_release(&tree);
    return SUPPLE_OK;
}

/* Pieces that move as one have one trust. */
static supple_result link_groups(spl_trust_mesh *m, const spl_trust_mesh_input *in, links *l, supple_error *error)
{
    const spl_body *b = in->body;
    if (!b) return SUPPLE_OK;
    int32_t *last = spl_new(&m->allocator, (size_t)b->roles.group_count, sizeof *last);
    if (!last) return spl_fail_memory(error, "the mesh's links");
    for (int32_t g = 0; g < b->roles.group_count; g++) last[g] = -1;
    for (int32_t v = 0; v < m->vertex_count; v++) {
        int32_t g = b->roles.group[v];
        if (g < 0 || b->lifted[v]) continue;
        if (last[g] >= 0) add_link(l, m->point[last[g]], m->point[v], 0);
        last[g] = v;
    }
    spl_free(&m->allocator, last);
    return SUPPLE_OK;
}

/* Links by point, both ways; of two points that are linked more than once, the shortest. */
static supple_result keep_links(spl_trust_mesh *m, links *l, supple_error *error)
{
    const supple_allocator *a = &m->allocator;
    size_t unique = 0;
    qsort(l->pair, l->count, sizeof *l->pair, by_pair);
    for (size_t k = 0; k < l->count; k++) {
        pair *p = &l->pair[k], *kept = unique > 0 ? &l->pair[unique - 1] : NULL;
        if (!kept || kept->a != p->a || kept->b != p->b)
            l->pair[unique++] = *p;
        else if (l->length[p->of] < l->length[kept->of])
            kept->of = p->of;
    }
    size_t n = (size_t)m->point_count;
    m->link_first = spl_new(a, n + 1, sizeof *m->link_first);
    m->link = spl_new(a, unique, 2 * sizeof *m->link);
    m->link_length = spl_new(a, unique, 2 * sizeof *m->link_length);
    int32_t *fill = spl_new(a, n, sizeof *fill);
    if (!m->link_first || !m->link || !m->link_length || !fill) {
        spl_free(a, fill);
        return spl_fail_memory(error, "the mesh's links");
    }
    for (size_t k = 0; k < unique; k++) {
        m->link_first[l->pair[k].a + 1]++;
        m->link_first[l->pair[k].b + 1]++;
    }
    for (size_t p = 0; p < n; p++) m->link_first[p + 1] += m->link_first[p];
    for (size_t k = 0; k < unique; k++) {
        int32_t end[2] = {l->pair[k].a, l->pair[k].b};
        for (int s = 0; s < 2; s++) {
            size_t at = (size_t)m->link_first[end[s]] + (size_t)fill[end[s]]++;
            m->link[at] = end[1 - s];
            m->link_length[at] = l->length[l->pair[k].of];
        }
    }
    spl_free(a, fill);
    return SUPPLE_OK;
}

static supple_result find_links(spl_trust_mesh *m, const spl_trust_mesh_input *in, supple_error *error)
{
    const supple_allocator *a = &m->allocator;
    size_t edges = (size_t)m->first_edge[m->part_count];
    links l = {.room = edges + 4 * (size_t)m->vertex_count};
    l.pair = spl_new(a, l.room, sizeof *l.pair);
    l.length = spl_new(a, l.room, sizeof *l.length);
    supple_result result = l.pair && l.length ? SUPPLE_OK : spl_fail_memory(error, "the mesh's links");
    for (size_t e = 0; result == SUPPLE_OK && e < edges; e++)
        add_link(&l, m->point[m->edge[2 * e]], m->point[m->edge[2 * e + 1]], (double)m->length[e]);
    if (result == SUPPLE_OK) result = link_riders(m, in, &l, error);
    if (result == SUPPLE_OK) result = link_groups(m, in, &l, error);
    if (result == SUPPLE_OK) result = keep_links(m, &l, error);
    spl_free(a, l.pair);
    spl_free(a, l.length);
    return result;
}

/* ---- life ---- */

void spl_trust_mesh_set_size(spl_trust_mesh *m, const float *position)
{
    extent(position, m->vertex_count, &m->diagonal);
    if (!(m->diagonal > 0)) m->diagonal = 1; /* a point: nothing of it is long */
}

static supple_result take_triangles(spl_trust_mesh *m, const spl_trust_mesh_input *in, supple_error *error)
{
    const supple_allocator *a = &m->allocator;
    size_t parts = (size_t)m->part_count + 1;
    m->first_vertex = spl_new(a, parts, sizeof *m->first_vertex);
    m->first_edge = spl_new(a, parts, sizeof *m->first_edge);
    m->first_triangle = spl_new(a, parts, sizeof *m->first_triangle);
    m->point = spl_new(a, (size_t)m->vertex_count, sizeof *m->point);
    if (!m->first_vertex || !m->first_edge || !m->first_triangle || !m->point)
        return spl_fail_memory(error, "the mesh");
    for (int32_t i = 0; i < m->part_count; i++) {
        const spl_part *p = &in->part[i];
        m->first_vertex[i] = p->first_vertex;
        m->first_vertex[i + 1] = p->first_vertex + p->primitive->vertex_count;
        m->first_triangle[i + 1] = m->first_triangle[i] + p->primitive->triangle_count;
    }
    m->triangle = spl_new(a, (size_t)m->first_triangle[m->part_count], 3 * sizeof *m->triangle);
    if (!m->triangle) return spl_fail_memory(error, "the mesh");
    for (int32_t i = 0; i < m->part_count; i++) {
        const spl_part *p = &in->part[i];
        size_t at = 3 * (size_t)m->first_triangle[i];
        for (size_t k = 0; k < 3 * (size_t)p->primitive->triangle_count; k++)
            m->triangle[at + k] = p->primitive->triangle[k] + p->first_vertex;
    }
    return SUPPLE_OK;
}

supple_result spl_trust_mesh_make(const spl_trust_mesh_input *in, const supple_allocator *a, spl_trust_mesh *out,
                                  supple_error *error)
{
    *out = (spl_trust_mesh){.allocator = *a, .part_count = in->part_count, .vertex_count = in->scene->vertex_count};
    spl_trust_mesh_set_size(out, in->rest);
    supple_result result = take_triangles(out, in, error);
    if (result == SUPPLE_OK) result = find_points(out, in, error);
    if (result == SUPPLE_OK) result = find_edges(out, in, error);
    if (result == SUPPLE_OK) result = find_pieces(out, error);
    if (result == SUPPLE_OK) result = find_folds(out, in->rest, error);
    if (result == SUPPLE_OK) result = find_links(out, in, error);
    if (result != SUPPLE_OK) spl_trust_mesh_release(out);
    return result;
}

void spl_trust_mesh_release(spl_trust_mesh *m)
{
    const supple_allocator *a = &m->allocator;
    if (!a->release) return;
    void *block[] = {m->first_vertex, m->first_edge, m->first_triangle, m->point,      m->piece, m->piece_vertices,
                     m->edge,         m->length,     m->triangle,       m->link_first, m->link,  m->link_length,
                     m->fold};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    *m = (spl_trust_mesh){0};
}
