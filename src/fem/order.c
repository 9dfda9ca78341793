#include "fem/order.h"

#include "core/error.h"
#include "core/memory.h"

enum { SMALLEST = 500 }; /* nodes worth a part of their own */

/* Work of one call. */
typedef struct cutter {
    const double *position;
    int32_t *list; /* vertices under division */
    uint8_t *part; /* by vertex; SPL_PARTS: between parts */
    int32_t part_count;
} cutter;

static double along(const cutter *c, int32_t i, int axis)
{
    return c->position[3 * (size_t)c->list[i] + (size_t)axis];
}

static int longest_axis(const cutter *c, int32_t begin, int32_t end)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = begin; i < end; i++)
        for (int a = 0; a < 3; a++) {
            low[a] = fmin(low[a], along(c, i, a));
            high[a] = fmax(high[a], along(c, i, a));
        }
    int best = 0;
    for (int a = 1; a < 3; a++)
        if (high[a] - low[a] > high[best] - low[best]) best = a;
    return best;
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t t = *a;
    *a = *b;
    *b = t;
}

/* Brings the smaller half along an axis to the front (Hoare's selection). */
static void halve(cutter *c, int32_t begin, int32_t end, int32_t middle, int axis)
{
    while (end - begin > 1) {
        double pivot = along(c, begin + (end - begin) / 2, axis);
        int32_t i = begin, j = end - 1;
        while (i <= j) {
            while (along(c, i, axis) < pivot) i++;
            while (along(c, j, axis) > pivot) j--;
            if (i <= j) swap(&c->list[i++], &c->list[j--]);
        }
        if (middle <= j)
            end = j + 1;
        else if (middle >= i)
            begin = i;
        else
            return;
    }
}

static void divide(cutter *c, int32_t begin, int32_t end, int32_t parts)
{
    if (parts <= 1) {
        for (int32_t i = begin; i < end; i++) c->part[c->list[i]] = (uint8_t)c->part_count;
        c->part_count++;
        return;
    }
    int32_t middle = begin + (end - begin) / 2;
    halve(c, begin, end, middle, longest_axis(c, begin, end));
    divide(c, begin, middle, parts / 2);
    divide(c, middle, end, parts / 2);
}

/* Nested dissection: halves, and behind both of them what separates them: those of the second that have a neighbour in
 * the first. `mark` is by vertex, 0 outside; `room` has as many places as the list. */
typedef struct dissection {
    cutter c;
    const size_t *start; /* of a node's neighbours in `column`; they are nodes */
    const int32_t *column, *node;
    int32_t *side; /* by node: the halving that it was last in the first half of */
    int32_t *room;
    int32_t halvings;
} dissection;

static bool touches_first(const dissection *d, int32_t vertex, int32_t halving, int32_t count)
{
    int32_t i = d->node[vertex];
    for (size_t q = d->start[i]; q < d->start[i + 1]; q++)
        if (d->column[q] < count && d->side[d->column[q]] == halving) return true;
    return false;
}

static void dissect(dissection *d, int32_t begin, int32_t end, int32_t count)
{
    enum { LEAF = 48 };
    if (end - begin <= LEAF) return;
    int32_t middle = begin + (end - begin) / 2, halving = ++d->halvings, kept = middle, apart = 0;
    halve(&d->c, begin, end, middle, longest_axis(&d->c, begin, end));
    for (int32_t i = begin; i < middle; i++) d->side[d->node[d->c.list[i]]] = halving;
    for (int32_t i = middle; i < end; i++) {
        if (touches_first(d, d->c.list[i], halving, count))
            d->room[apart++] = d->c.list[i];
        else
            d->c.list[kept++] = d->c.list[i];
    }
    for (int32_t i = 0; i < apart; i++) d->c.list[kept + i] = d->room[i];
    dissect(d, begin, middle, count);
    dissect(d, middle, kept, count);
}

supple_result spl_node_dissection(const spl_node_order *o, const double *position, const size_t *start,
                                  const int32_t *column, int32_t count, int32_t *order, supple_error *error)
{
    const supple_allocator *a = &o->allocator;
    dissection d = {.c = {.position = position, .list = order},
                    .start = start,
                    .column = column,
                    .node = o->node,
                    .side = spl_new(a, (size_t)count, sizeof *d.side),
                    .room = spl_new(a, (size_t)count, sizeof *d.room)};
    bool ok = d.side && d.room;
    if (ok) {
        for (int32_t i = 0; i < count; i++) order[i] = o->vertex[i];
        dissect(&d, 0, count, count);
        for (int32_t i = 0; i < count; i++) order[i] = o->node[order[i]];
    }
    spl_free(a, d.side);
    spl_free(a, d.room);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the order of the flesh's vertices");
}

/* A vertex with a neighbour in an earlier part stands between the parts. */
static void separate(const cutter *c, const spl_elements *e)
{
    for (size_t k = 0; k < (size_t)e->count; k++) {
        int first = SPL_PARTS;
        for (size_t i = 0; i < 4; i++) {
            int p = c->part[e->tet[4 * k + i]];
            if (p < first) first = p;
        }
        for (size_t i = 0; i < 4; i++) {
            uint8_t *p = &c->part[e->tet[4 * k + i]];
            if (*p<SPL_PARTS && * p> first) *p = SPL_PARTS;
        }
    }
}

enum { APART = 254, NEVER = 255 }; /* boundary, held */

static void number(spl_node_order *o, const cutter *c, int32_t n)
{
    for (int32_t p = 0; p < c->part_count; p++) {
        o->cut[p] = o->count;
        for (int32_t v = 0; v < n; v++)
            if (c->part[v] == p) o->vertex[o->count++] = v;
    }
    o->part_count = c->part_count;
    o->cut[o->part_count] = o->count;
    for (int32_t v = 0; v < n; v++)
        if (c->part[v] == SPL_PARTS) o->vertex[o->count++] = v;
    o->interior = o->count;
    for (int32_t v = 0; v < n; v++)
        if (c->part[v] == APART) o->vertex[o->count++] = v;
    for (int32_t v = 0; v < n; v++) o->node[v] = -1;
    for (int32_t i = 0; i < o->count; i++) o->node[o->vertex[i]] = i;
}

supple_result spl_node_order_create(const spl_elements *e, const int32_t *held, const bool *boundary,
                                    const double *position, const supple_allocator *a, spl_node_order *out,
                                    supple_error *error)
{
    int32_t n = e->vertex_count, count = 0;
    *out = (spl_node_order){.allocator = *a};
    out->vertex = spl_new(a, (size_t)n, sizeof *out->vertex);
    out->node = spl_new(a, (size_t)n, sizeof *out->node);
    cutter c = {.position = position, .list = spl_new(a, (size_t)n, sizeof *c.list)};
    c.part = spl_new(a, (size_t)n, sizeof *c.part);
    bool ok = out->vertex && out->node && c.list && c.part;
    if (ok) {
        for (int32_t v = 0; v < n; v++) {
            c.part[v] = held[v] >= 0 ? NEVER : boundary && boundary[v] ? APART : 0;
            if (c.part[v] == 0) c.list[count++] = v;
        }
        divide(&c, 0, count, count >= SPL_PARTS * SMALLEST ? SPL_PARTS : 1);
        separate(&c, e);
        number(out, &c, n);
    }
    spl_free(a, c.list);
    spl_free(a, c.part);
    if (ok) return SUPPLE_OK;
    spl_node_order_release(out);
    return spl_fail_memory(error, "the order of the flesh's vertices");
}

void spl_node_order_release(spl_node_order *o)
{
    if (!o->allocator.release) return;
    spl_free(&o->allocator, o->vertex);
    spl_free(&o->allocator, o->node);
    *o = (spl_node_order){0};
}
