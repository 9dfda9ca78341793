#include "contact/tet_tree.h"

#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>

enum { LEAF = 4 };

static spl_vec3 corner_of(const spl_tet_tree *t, int32_t tet, int k, const double *x)
{
    const double *p = x + 3 * (size_t)t->tet[4 * (size_t)tet + (size_t)k];
    return spl_v3(p[0], p[1], p[2]);
}

static void grow(spl_tet_node *n, spl_vec3 low, spl_vec3 high)
{
    n->low = spl_v3(fmin(n->low.x, low.x), fmin(n->low.y, low.y), fmin(n->low.z, low.z));
    n->high = spl_v3(fmax(n->high.x, high.x), fmax(n->high.y, high.y), fmax(n->high.z, high.z));
}

static void clear(spl_tet_node *n)
{
    n->low = spl_v3(INFINITY, INFINITY, INFINITY);
    n->high = spl_v3(-INFINITY, -INFINITY, -INFINITY);
}

/* ---- building ---- */

typedef struct centred {
    double at; /* along the axis being split */
    int32_t tet;
} centred;

static int by_place(const void *a, const void *b)
{
    const centred *p = a, *q = b;
    if (p->at != q->at) return p->at < q->at ? -1 : 1;
    return (p->tet > q->tet) - (p->tet < q->tet);
}

/* The axis along which the tets' first corners spread most; and every tet's place along it. */
static void set_places(const spl_tet_tree *t, const double *x, centred *c, int32_t count)
{
    spl_tet_node n;
    clear(&n);
    for (int32_t i = 0; i < count; i++) {
        spl_vec3 p = corner_of(t, c[i].tet, 0, x);
        grow(&n, p, p);
    }
    spl_vec3 d = spl_sub(n.high, n.low);
    for (int32_t i = 0; i < count; i++) {
        spl_vec3 p = corner_of(t, c[i].tet, 0, x);
        c[i].at = d.x >= d.y && d.x >= d.z ? p.x : d.y >= d.z ? p.y : p.z;
    }
}

/* Halves until few are left; the depth is the logarithm of the count. */
static void split(spl_tet_tree *t, const double *x, centred *c, int32_t first, int32_t count)
{
    spl_tet_node *n = &t->node[t->node_count++];
    *n = (spl_tet_node){.first = first};
    if (count <= LEAF) {
        n->count = count;
        for (int32_t i = 0; i < count; i++) t->order[first + i] = c[i].tet;
    } else {
        set_places(t, x, c, count);
        qsort(c, (size_t)count, sizeof *c, by_place);
        split(t, x, c, first, count / 2);
        split(t, x, c + count / 2, first + count / 2, count - count / 2);
    }
    n->end = t->node_count;
}

supple_result spl_tet_tree_create(const int32_t *tet, int32_t tet_count, const double *x, const supple_allocator *a,
                                  spl_tet_tree *out, supple_error *error)
{
    *out = (spl_tet_tree){.allocator = *a, .tet = tet, .tet_count = tet_count};
    size_t n = (size_t)tet_count;
    centred *c = spl_new(a, n, sizeof *c);
    out->node = spl_new(a, n + 1, sizeof *out->node); /* leaves hold two or more, unless there is but one */
    out->order = spl_new(a, n, sizeof *out->order);
    if (!c || !out->node || !out->order) {
        spl_free(a, c);
        spl_tet_tree_release(out);
        return spl_fail_memory(error, "the tree of tetrahedra");
    }
    for (int32_t i = 0; i < tet_count; i++) c[i].tet = i;
    if (tet_count > 0) split(out, x, c, 0, tet_count);
    spl_free(a, c);
    spl_tet_tree_refit(out, x);
    return SUPPLE_OK;
}

void spl_tet_tree_release(spl_tet_tree *t)
{
    if (!t->allocator.release) return;
    spl_free(&t->allocator, t->node);
    spl_free(&t->allocator, t->order);
    *t = (spl_tet_tree){0};
}

/* ---- a frame ---- */

void spl_tet_tree_refit(spl_tet_tree *t, const double *x)
{
    for (int32_t i = t->node_count - 1; i >= 0; i--) {
        spl_tet_node *n = &t->node[i];
        clear(n);
        for (int32_t k = n->first; k < n->first + n->count; k++)
            for (int c = 0; c < 4; c++) {
                spl_vec3 p = corner_of(t, t->order[k], c, x);
                grow(n, p, p);
            }
        for (int32_t child = i + 1; child < n->end; child = t->node[child].end)
            grow(n, t->node[child].low, t->node[child].high);
    }
}

void spl_tet_tree_at(const spl_tet_tree *t, spl_vec3 p, spl_tet_visit *visit, void *context)
{
    for (int32_t i = 0; i < t->node_count;) {
        const spl_tet_node *n = &t->node[i];
        bool in = p.x >= n->low.x && p.x <= n->high.x && p.y >= n->low.y && p.y <= n->high.y && p.z >= n->low.z &&
                  p.z <= n->high.z;
        for (int32_t k = n->first; in && k < n->first + n->count; k++) visit(context, t->order[k]);
        i = in ? i + 1 : n->end;
    }
}
