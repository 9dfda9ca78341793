#include "slide/patch.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

enum { MOST_CELLS = 1 << 20, ROUND = 1024 /* more triangles than any vertex has */ };

void spl_patch_release(spl_patch *p, const supple_allocator *a)
{
    void *block[] = {p->cell, p->across, p->node, p->root, p->parent, p->native, p->at, p->fixed};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    *p = (spl_patch){0};
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

typedef struct edge {
    int32_t cell;
    int k;
} edge;

/* The edge of triangle `next` that is edge k of triangle t, run the other way; -1 where the two do not agree. */
static int twin(const spl_surface *s, int32_t t, int k, int32_t next)
{
    const int32_t *a = s->triangle + 3 * (size_t)t, *b = s->triangle + 3 * (size_t)next;
    for (int i = 0; i < 3; i++)
        if (b[i] == a[(k + 1) % 3] && b[(i + 1) % 3] == a[k]) return i;
    return -1;
}

/* The neighbour's triangle and edge; false at borders. */
static bool over(const spl_net *net, const spl_patch *p, edge e, int32_t *next, int *k)
{
    int32_t t = p->cell[e.cell];
    *next = net->surface.across[3 * (size_t)t + (size_t)e.k];
    *k = *next >= 0 ? twin(&net->surface, t, e.k, *next) : -1;
    return *k >= 0;
}

static edge across(const spl_net *net, const spl_patch *p, edge e)
{
    int32_t next = p->across[3 * (size_t)e.cell + (size_t)e.k];
    return (edge){next, twin(&net->surface, p->cell[e.cell], e.k, p->cell[next])};
}

/* The free edge that begins where a free edge ends (way 1), or ends where it begins (way 2). */
static edge beside(const spl_net *net, const spl_patch *p, edge e, int way)
{
    e.k = (e.k + way) % 3;
    for (int i = 0; i < ROUND && p->across[3 * (size_t)e.cell + (size_t)e.k] >= 0; i++) {
        e = across(net, p, e);
        e.k = (e.k + way) % 3;
    }
    return e;
}

static void link(spl_patch *p, edge a, edge b)
{
    p->across[3 * (size_t)a.cell + (size_t)a.k] = b.cell;
    p->across[3 * (size_t)b.cell + (size_t)b.k] = a.cell;
}

/* ---- the homes ----------------------------------------------------------------------------------------------------*/

static bool make_room(spl_patch *p, int32_t room, const supple_allocator *a)
{
    size_t n = (size_t)room;
    void *cell = spl_resize(a, p->cell, n, sizeof *p->cell);
    if (cell) p->cell = cell;
    void *next = cell ? spl_resize(a, p->across, n, 3 * sizeof *p->across) : NULL;
    if (next) p->across = next;
    void *node = next ? spl_resize(a, p->node, n, 3 * sizeof *p->node) : NULL;
    if (node) p->node = node;
    void *root = node ? spl_resize(a, p->root, n, sizeof *p->root) : NULL;
    if (root) p->root = root;
    void *parent = root ? spl_resize(a, p->parent, n, sizeof *p->parent) : NULL;
    if (parent) p->parent = parent;
    void *native = parent ? spl_resize(a, p->native, n, sizeof *p->native) : NULL;
    if (native) p->native = native;
    void *at = native ? spl_resize(a, p->at, 3 * n, 2 * sizeof *p->at) : NULL;
    if (at) p->at = at;
    void *fixed = at ? spl_resize(a, p->fixed, 3 * n, sizeof *p->fixed) : NULL;
    if (fixed) p->fixed = fixed;
    if (fixed) p->cell_room = room;
    return fixed != NULL;
}

static void put_native(const spl_patch_source *s, spl_patch *p, int32_t cell)
{
    for (size_t k = 0; k < 3; k++) {
        size_t n = (size_t)p->node[3 * (size_t)cell + k];
        memcpy(p->at + 2 * n, s->at + 6 * (size_t)p->cell[cell] + 2 * k, 2 * sizeof *p->at);
        p->fixed[n] = true;
    }
}

/* Gives the corners of the homes their nodes: those that meet over inner edges share one. */
static void number_nodes(const spl_net *net, spl_patch *p)
{
    for (int32_t i = 0; i < 3 * p->home_count; i++) p->node[i] = -1;
    for (int32_t c = 0; c < p->home_count; c++)
        for (int k = 0; k < 3; k++) {
            if (p->node[3 * (size_t)c + (size_t)k] >= 0) continue;
            int32_t n = p->node_count++;
            p->fixed[n] = false;
            /* around the corner: one way, and the other where that met an end */
            for (int way = 1; way <= 2; way++) {
                edge e = {c, way == 1 ? (k + 2) % 3 : k}; /* an edge of the corner */
                p->node[3 * (size_t)c + (size_t)k] = n;
                for (int i = 0; i < ROUND && p->across[3 * (size_t)e.cell + (size_t)e.k] >= 0; i++) {
                    e = across(net, p, e);
                    size_t corner = (size_t)(way == 1 ? e.k : (e.k + 1) % 3);
                    if (p->node[3 * (size_t)e.cell + corner] == n) break;
                    p->node[3 * (size_t)e.cell + corner] = n;
                    e.k = way == 1 ? (e.k + 2) % 3 : (e.k + 1) % 3;
                }
            }
        }
}

/* A triangle alone is as it lies, or anyhow where it has no area. */
static void turn_alone(const spl_patch_source *s, spl_patch *p)
{
    double j[4];
    spl_patch_jacobian(s->net, p->cell[0], s->at + 6 * (size_t)p->cell[0], j);
    double det = j[0] * j[3] - j[1] * j[2];
    p->native[0] = fabs(det) > 0.01 * (j[0] * j[0] + j[1] * j[1] + j[2] * j[2] + j[3] * j[3]);
    p->side = p->native[0] && det < 0 ? -1 : 1;
}

static supple_result plant(const spl_patch_source *s, const int32_t *home, int32_t count, spl_patch *p,
                           supple_error *error)
{
    const spl_surface *f = &s->net->surface;
    int32_t *where = spl_new(&s->allocator, (size_t)f->triangle_count, sizeof *where);
    if (!where || !make_room(p, count + 64, &s->allocator)) {
        spl_free(&s->allocator, where);
        return spl_fail_memory(error, "a chart");
    }
    for (int32_t c = 0; c < count; c++) {
        p->cell[c] = home[c];
        p->root[c] = c;
        p->parent[c] = -1;
        p->native[c] = s->side[home[c]] != 0;
        where[home[c]] = c + 1;
    }
    for (int32_t c = 0; c < count; c++)
        for (int k = 0; k < 3; k++) {
            size_t e = 3 * (size_t)home[c] + (size_t)k;
            int32_t next = f->across[e];
            bool inner = next >= 0 && !s->seam[e] && where[next] && twin(f, home[c], k, next) >= 0;
            p->across[3 * (size_t)c + (size_t)k] = inner ? where[next] - 1 : -1;
        }
    spl_free(&s->allocator, where);
    p->home_count = p->cell_count = count;
    p->group = s->group[home[0]];
    p->side = s->side[home[0]] ? s->side[home[0]] : 1;
    if (p->loose && count == 1) turn_alone(s, p);
    number_nodes(s->net, p);
    for (int32_t c = 0; c < count; c++)
        if (p->native[c]) put_native(s, p, c);
    return SUPPLE_OK;
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

/* How much of a vertex's reach is left at an edge; negative: it does not get there. */
static double left_at(const spl_patch_source *s, int32_t vertex, int32_t a, int32_t b)
{
    const spl_vec3 *x = s->net->surface.position;
    if (!(s->reach[vertex] > 0)) return -1;
    spl_vec3 d = spl_sub(x[b], x[a]), to = spl_sub(x[vertex], x[a]);
    double length = spl_dot(d, d), w = length > 0 ? spl_dot(to, d) / length : 0;
    w = w < 0 ? 0 : w > 1 ? 1 : w;
    return SPL_PATCH_MARGIN * s->reach[vertex] - spl_norm(spl_madd(to, d, -w));
}

/* Whether a triangle is on the way from its home to a cell already: no walk goes round a vertex for ever. */
static bool been_there(const spl_patch *p, int32_t cell, int32_t triangle)
{
    for (; cell >= 0; cell = p->parent[cell])
        if (p->cell[cell] == triangle) return true;
    return false;
}

/* Whether skin of the home that a cell was reached from, or of one beside it, may come from beyond an edge of it. */
static bool wanted(const spl_patch_source *s, const spl_patch *p, edge e)
{
    const int32_t *v = s->net->surface.triangle, *c = v + 3 * (size_t)p->cell[e.cell];
    for (int k = 0; k < 12; k++) {
        int32_t root = p->root[e.cell], home = k < 3 ? root : p->across[3 * (size_t)root + (size_t)k / 3 - 1];
        if (home < 0 || home >= p->home_count) continue;
        if (left_at(s, v[3 * (size_t)p->cell[home] + (size_t)k % 3], c[e.k], c[(e.k + 1) % 3]) >= 0) return true;
    }
    return false;
}

/* Whether the file's coordinates are taken over an edge. */
static bool goes_on(const spl_patch_source *s, const spl_patch *p, edge e)
{
    return !p->loose && p->native[e.cell] && !s->seam[3 * (size_t)p->cell[e.cell] + (size_t)e.k];
}

/* Whether a new cell may be joined to a free edge: one that has the file's coordinates only to others that have them.
 */
static bool may_join(const spl_patch_source *s, const spl_patch *p, edge e, bool native)
{
    return native == goes_on(s, p, e);
}

/* Two nodes of one vertex become one. */
static void merge(spl_patch *p, int32_t from, int32_t into)
{
    for (int32_t i = 0; i < 3 * p->cell_count; i++)
        if (p->node[i] == from) p->node[i] = into;
    if (p->fixed[from]) memcpy(p->at + 2 * (size_t)into, p->at + 2 * (size_t)from, 2 * sizeof *p->at);
    p->fixed[into] = p->fixed[into] || p->fixed[from];
}

/* Joins the new cell's edge j to the free edge beside the one it came over, where that leads to it; `far` is the node
 * across from there, and becomes the new cell's. */
static void close_fan(const spl_patch_source *s, spl_patch *p, edge e, int32_t added, int j, size_t third, bool native)
{
    int32_t next;
    int k;
    if (e.cell == added || p->across[3 * (size_t)e.cell + (size_t)e.k] >= 0) return;
    if (!over(s->net, p, e, &next, &k) || next != p->cell[added] || k != j || !may_join(s, p, e, native)) return;
    int32_t far = p->node[3 * (size_t)e.cell + (size_t)(k == ((int)third + 2) % 3 ? e.k : (e.k + 1) % 3)];
    int32_t *own = &p->node[3 * (size_t)added + third];
    if (*own >= 0 && *own != far) {
        if (p->fixed[*own] && p->fixed[far]) return;
        merge(p, far, *own);
    } else
        *own = far;
    link(p, e, (edge){added, j});
}

static bool attach(const spl_patch_source *s, spl_patch *p, edge e)
{
    int32_t next, c = p->cell_count;
    int i;
    if (!over(s->net, p, e, &next, &i) || been_there(p, e.cell, next)) return true;
    if (c == p->cell_room && !make_room(p, c + c / 2, &s->allocator)) return false;
    bool native = goes_on(s, p, e);
    edge before = beside(s->net, p, e, 2), after = beside(s->net, p, e, 1);
    size_t third = (size_t)((i + 2) % 3), at = 3 * (size_t)c;
    p->cell[c] = next;
    p->root[c] = p->root[e.cell];
    p->parent[c] = e.cell;
    p->native[c] = native;
    for (size_t k = 0; k < 3; k++) p->across[at + k] = -1;
    p->node[at + (size_t)i] = p->node[3 * (size_t)e.cell + (size_t)((e.k + 1) % 3)];
    p->node[at + (size_t)((i + 1) % 3)] = p->node[3 * (size_t)e.cell + (size_t)e.k];
    p->node[at + third] = -1;
    p->cell_count++;
    link(p, e, (edge){c, i});
    close_fan(s, p, before, c, (i + 1) % 3, third, native);
    close_fan(s, p, after, c, (i + 2) % 3, third, native);
    if (p->node[at + third] < 0) {
        p->fixed[p->node_count] = false;
        p->node[at + third] = p->node_count++;
    }
    if (native) put_native(s, p, c);
    return true;
}

supple_result spl_patch_grow(const spl_patch_source *s, const int32_t *home, int32_t home_count, spl_patch *p,
                             supple_error *error)
{
    supple_result result = plant(s, home, home_count, p, error);
    for (int32_t c = 0; result == SUPPLE_OK && c < p->cell_count && p->cell_count < MOST_CELLS; c++)
        for (int k = 0; k < 3; k++) {
            edge e = {c, k};
            if (p->across[3 * (size_t)c + (size_t)k] >= 0 || !wanted(s, p, e)) continue;
            if (!attach(s, p, e)) return spl_fail_memory(error, "a chart");
        }
    return result;
}

supple_result spl_patch_make(const spl_patch_source *s, const int32_t *home, int32_t home_count, bool loose,
                             spl_patch *out, supple_error *error)
{
    *out = (spl_patch){.loose = loose};
    supple_result result = spl_patch_grow(s, home, home_count, out, error);
    if (result == SUPPLE_OK) result = spl_patch_flatten(s, out, error);
    if (result != SUPPLE_OK) spl_patch_release(out, &s->allocator);
    return result;
}
