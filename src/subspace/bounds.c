#include "subspace/bounds.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>

/* ---- creation ---- */

static spl_vec3 rest_of(const spl_model_domain *d, int32_t vertex)
{
    const double *p = d->rest + 3 * (size_t)vertex;
    return spl_v3(p[0], p[1], p[2]);
}

/* Column k of a vertex's rows. */
static spl_vec3 mode_of(const spl_model_domain *d, int32_t vertex, int32_t k)
{
    const double *U = d->basis + 3 * (size_t)vertex * (size_t)d->rank + k;
    return spl_v3(U[0], U[d->rank], U[2 * d->rank]);
}

typedef struct box {
    spl_vec3 low, high;
} box;

static void extend(box *b, spl_vec3 p)
{
    b->low = spl_v3(fmin(b->low.x, p.x), fmin(b->low.y, p.y), fmin(b->low.z, p.z));
    b->high = spl_v3(fmax(b->high.x, p.x), fmax(b->high.y, p.y), fmax(b->high.z, p.z));
}

static box empty_box(void)
{
    return (box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
}

static double along(spl_vec3 p, int axis)
{
    return axis == 0 ? p.x : axis == 1 ? p.y : p.z;
}

/* Whether vertex i stands before j along an axis; ties by number, so that the order is one. */
static bool before(const spl_model_domain *d, int axis, int32_t i, int32_t j)
{
    double x = along(rest_of(d, i), axis), y = along(rest_of(d, j), axis);
    return x < y || (x == y && i < j);
}

/* Puts the middle one of `count` vertices where sorting would, lower ones before it (Hoare's selection). */
static void halve(const spl_model_domain *d, int axis, int32_t *v, int32_t count)
{
    int32_t low = 0, high = count - 1, middle = count / 2;
    while (low < high) {
        int32_t pivot = v[low + (high - low) / 2], i = low, j = high;
        while (i <= j) {
            while (before(d, axis, v[i], pivot)) i++;
            while (before(d, axis, pivot, v[j])) j--;
            if (i > j) break;
            int32_t t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
        if (middle <= j)
            high = j;
        else if (middle >= i)
            low = i;
        else
            return;
    }
}

/* The constants of a node from its vertices. Returns the box of them at rest. */
static box bound(spl_bounds *b, const spl_model_domain *d, int32_t index)
{
    spl_bounds_node *n = &b->node[index];
    const int32_t *v = b->vertex + n->first;
    double *c = b->table + 4 * (size_t)index * (size_t)b->rank, *grow = c + 3 * (size_t)b->rank;
    box rest = empty_box();
    for (int32_t i = 0; i < n->count; i++) extend(&rest, rest_of(d, v[i]));
    n->centre = spl_lerp(rest.low, rest.high, 0.5);
    for (int32_t i = 0; i < n->count; i++) n->radius = fmax(n->radius, spl_distance(rest_of(d, v[i]), n->centre));
    for (int32_t k = 0; k < b->rank; k++) {
        box modes = empty_box();
        for (int32_t i = 0; i < n->count; i++) extend(&modes, mode_of(d, v[i], k));
        spl_vec3 middle = spl_lerp(modes.low, modes.high, 0.5);
        c[k] = middle.x, c[b->rank + k] = middle.y, c[2 * b->rank + k] = middle.z;
        for (int32_t i = 0; i < n->count; i++) grow[k] = fmax(grow[k], spl_distance(mode_of(d, v[i], k), middle));
    }
    for (int32_t i = 0; i < n->count; i++) {
        double square = 0;
        for (int32_t k = 0; k < b->rank; k++) {
            spl_vec3 middle = {c[k], c[b->rank + k], c[2 * b->rank + k]};
            double far = b->weight[k] * spl_distance(mode_of(d, v[i], k), middle);
            square += far * far;
        }
        n->spread = fmax(n->spread, sqrt(square));
    }
    return rest;
}

/* A node of these slots and all below it; halves along the longest axis. */
static int32_t grow_tree(spl_bounds *b, const spl_model_domain *d, int32_t first, int32_t count)
{
    int32_t index = b->node_count++;
    b->node[index] = (spl_bounds_node){.first = first, .count = count};
    box rest = bound(b, d, index);
    if (count <= SPL_BOUNDS_LEAF) return index;
    spl_vec3 size = spl_sub(rest.high, rest.low);
    int axis = size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
    halve(d, axis, b->vertex + first, count);
    grow_tree(b, d, first, count / 2);
    b->node[index].right = grow_tree(b, d, first + count / 2, count - count / 2);
    return index;
}

supple_result spl_bounds_create(const spl_model_domain *d, const supple_allocator *a, spl_bounds *out,
                                supple_error *error)
{
    *out = (spl_bounds){.rank = d->rank};
    for (int32_t k = 0; d->area && k < d->vertex_count; k++) out->count += d->area[k] > 0;
    /* Halves of more than a leaf's vertices have at least half a leaf's. */
    size_t n = (size_t)out->count, nodes = 2 * (2 * n / SPL_BOUNDS_LEAF + 1), rank = (size_t)d->rank;
    out->vertex = spl_new(a, n, sizeof *out->vertex);
    out->node = spl_new(a, nodes, sizeof *out->node);
    out->weight = spl_new(a, rank, sizeof *out->weight);
    out->table = spl_new(a, nodes * rank, 4 * sizeof *out->table);
    if (!out->vertex || !out->node || !out->weight || !out->table) {
        spl_bounds_release(out, a);
        return spl_fail_memory(error, "the tree of a domain");
    }
    for (int32_t k = 0, at = 0; d->area && k < d->vertex_count; k++)
        if (d->area[k] > 0) out->vertex[at++] = k;
    for (size_t k = 0; k < rank; k++) out->weight[k] = d->reach && d->reach[k] > 0 ? d->reach[k] : 1;
    if (n == 0) return SUPPLE_OK;
    grow_tree(out, d, 0, out->count);
    out->slack = 1e-10 * (spl_norm(out->node[0].centre) + out->node[0].radius);
    return SUPPLE_OK;
}

void spl_bounds_release(spl_bounds *b, const supple_allocator *a)
{
    spl_free(a, b->vertex);
    spl_free(a, b->node);
    spl_free(a, b->weight);
    spl_free(a, b->table);
    *b = (spl_bounds){0};
}

/* ---- queries ---- */

double spl_bounds_length(const spl_bounds *b, const double *q)
{
    double square = 0;
    for (int32_t k = 0; k < b->rank; k++) square += q[k] / b->weight[k] * (q[k] / b->weight[k]);
    return sqrt(square);
}

double spl_bounds_sphere(const spl_bounds *b, const spl_dense_kernels *kernels, int32_t node, const double *q,
                         double length, spl_vec3 *centre)
{
    const spl_bounds_node *n = &b->node[node];
    const double *c = b->table + 4 * (size_t)node * (size_t)b->rank, *grow = c + 3 * (size_t)b->rank;
    double moved[3], sum = 0;
    kernels->rows3(c, (size_t)b->rank, q, moved);
    for (int32_t k = 0; k < b->rank; k++) sum += fabs(q[k]) * grow[k];
    *centre = spl_add(n->centre, spl_v3(moved[0], moved[1], moved[2]));
    return (n->radius + fmin(sum, length * n->spread)) * (1 + 1e-10) + b->slack;
}
