#include "geom/topology.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#include <stdlib.h>
#include <string.h>

/* A triangle's edge, for sorting: edges with the same ends come together. */
typedef struct edge {
    int32_t low, high, triangle;
    bool flipped; /* the triangle runs from high to low */
} edge;

/* A triangle's corners in ascending order, for finding duplicates. */
typedef struct face {
    int32_t corner[3], triangle;
} face;

static int compare_edges(const void *pa, const void *pb)
{
    const edge *a = pa, *b = pb;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return (a->triangle > b->triangle) - (a->triangle < b->triangle);
}

static int compare_faces(const void *pa, const void *pb)
{
    const face *a = pa, *b = pb;
    for (int i = 0; i < 3; i++)
        if (a->corner[i] != b->corner[i]) return a->corner[i] < b->corner[i] ? -1 : 1;
    return (a->triangle > b->triangle) - (a->triangle < b->triangle);
}

static void swap_if(int32_t *a, int32_t *b)
{
    if (*a <= *b) return;
    int32_t t = *a;
    *a = *b;
    *b = t;
}

/* Marks degenerate and duplicate triangles by component -1 and counts them. */
static void leave_out(const int32_t *triangle, int32_t triangle_count, face *faces, spl_topology *out)
{
    int32_t n = 0;
    for (int32_t i = 0; i < triangle_count; i++) {
        face f = {.triangle = i};
        memcpy(f.corner, triangle + 3 * (size_t)i, sizeof f.corner);
        swap_if(&f.corner[0], &f.corner[1]);
        swap_if(&f.corner[1], &f.corner[2]);
        swap_if(&f.corner[0], &f.corner[1]);
        bool degenerate = f.corner[0] == f.corner[1] || f.corner[1] == f.corner[2];
        out->component[i] = degenerate ? -1 : 0;
        if (degenerate)
            out->degenerate_triangles++;
        else
            faces[n++] = f;
    }
    qsort(faces, (size_t)n, sizeof *faces, compare_faces);
    for (int32_t i = 1; i < n; i++)
        if (memcmp(faces[i].corner, faces[i - 1].corner, sizeof faces[i].corner) == 0) {
            out->component[faces[i].triangle] = -1;
            out->duplicate_triangles++;
        }
}

static int32_t collect_edges(const int32_t *triangle, int32_t triangle_count, const spl_topology *out, edge *edges)
{
    int32_t n = 0;
    for (int32_t i = 0; i < triangle_count; i++) {
        if (out->component[i] < 0) continue;
        for (int k = 0; k < 3; k++) {
            int32_t a = triangle[3 * (size_t)i + (size_t)k], b = triangle[3 * (size_t)i + (size_t)((k + 1) % 3)];
            edges[n++] = (edge){a < b ? a : b, a < b ? b : a, i, a > b};
        }
    }
    qsort(edges, (size_t)n, sizeof *edges, compare_edges);
    return n;
}

/* Joins triangles over shared edges (parent is a union-find forest over triangles) and counts kinds of edges.
 * bad[t] is set where a triangle has an edge that is not shared by exactly two. */
static void walk_edges(const edge *edges, int32_t n, int32_t *parent, bool *bad, spl_topology *out)
{
    for (int32_t i = 0; i < n;) {
        int32_t end = i + 1;
        while (end < n && edges[end].low == edges[i].low && edges[end].high == edges[i].high) end++;
        int32_t uses = end - i;
        if (uses == 1) {
            out->border[2 * (size_t)out->border_edges] = edges[i].flipped ? edges[i].high : edges[i].low;
            out->border[2 * (size_t)out->border_edges++ + 1] = edges[i].flipped ? edges[i].low : edges[i].high;
        } else if (uses > 2)
            out->nonmanifold_edges++;
        for (int32_t k = i; k < end; k++) {
            spl_sets_join(parent, edges[i].triangle, edges[k].triangle);
            if (uses != 2) bad[edges[k].triangle] = true;
        }
        i = end;
    }
}

static void number_components(int32_t triangle_count, int32_t *parent, const bool *bad, spl_topology *out)
{
    for (int32_t i = 0; i < triangle_count; i++) {
        if (out->component[i] < 0) continue;
        int32_t root = spl_sets_root(parent, i); /* the lowest triangle of its component: numbered before the others */
        if (root == i) {
            out->component_closed[out->components] = true;
            out->component[i] = out->components++;
        } else
            out->component[i] = out->component[root];
    }
    for (int32_t i = 0; i < triangle_count; i++)
        if (out->component[i] >= 0 && bad[i]) out->component_closed[out->component[i]] = false;
    for (int32_t c = 0; c < out->components; c++) out->closed_components += out->component_closed[c];
}

supple_result spl_topology_make(const int32_t *triangle, int32_t triangle_count, const supple_allocator *a,
                                spl_topology *out, supple_error *error)
{
    size_t n = (size_t)triangle_count;
    *out = (spl_topology){.allocator = *a};
    face *faces = spl_new(a, n, sizeof *faces);
    edge *edges = spl_new(a, 3 * n, sizeof *edges);
    int32_t *parent = spl_new(a, n, sizeof *parent);
    bool *bad = spl_new(a, n, sizeof *bad);
    out->component = spl_new(a, n, sizeof *out->component);
    out->component_closed = spl_new(a, n, sizeof *out->component_closed);
    out->border = spl_new(a, 6 * n, sizeof *out->border);
    bool made = faces && edges && parent && bad && out->component && out->component_closed && out->border;
    if (made) {
        for (int32_t i = 0; i < triangle_count; i++) parent[i] = i;
        leave_out(triangle, triangle_count, faces, out);
        int32_t edge_count = collect_edges(triangle, triangle_count, out, edges);
        walk_edges(edges, edge_count, parent, bad, out);
        number_components(triangle_count, parent, bad, out);
    }
    spl_free(a, faces);
    spl_free(a, edges);
    spl_free(a, parent);
    spl_free(a, bad);
    if (made) return SUPPLE_OK;
    spl_topology_release(out);
    return spl_fail_memory(error, "the mesh topology");
}

void spl_topology_release(spl_topology *topology)
{
    if (topology->allocator.release) {
        spl_free(&topology->allocator, topology->component);
        spl_free(&topology->allocator, topology->component_closed);
        spl_free(&topology->allocator, topology->border);
    }
    *topology = (spl_topology){0};
}
