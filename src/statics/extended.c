/* The system with what an extra adds between vertices that no tet connects, such as flesh that touches flesh.
 *
 * Its pattern is that of the tets and of all pairs seen so far: new ones make it anew, which costs an analysis. Pairs
 * that have parted keep their place until the next solve that starts without them. */
#include "core/error.h"
#include "core/memory.h"
#include "statics/newton.h"

#include <string.h>

enum { CORNERS = 4, BLOCKS = 10 };

static void release_system(spl_extended *c, const supple_allocator *a)
{
    spl_pattern_release(&c->pattern, a);
    spl_rows_release(&c->rows, a);
    spl_factor_destroy(c->factor);
    spl_ic0_destroy(c->ic0);
    spl_free(a, c->place);
    spl_free(a, c->values);
    c->factor = NULL;
    c->ic0 = NULL;
    c->place = NULL;
    c->values = NULL;
}

void spl_extended_release(spl_extended *c, const supple_allocator *a)
{
    release_system(c, a);
    spl_free(a, c->pair);
    *c = (spl_extended){0};
}

/* The node of a corner, -1 where it is no unknown. */
static int32_t node_of(const spl_statics *s, int32_t vertex)
{
    return vertex < s->elements->vertex_count ? s->unknown[vertex] : -1;
}

/* Whether every pair of an element has its place. */
static bool has_place(const spl_statics *s, const int32_t *vertex)
{
    const spl_extended *c = &s->extended;
    for (int i = 0; i < CORNERS; i++)
        for (int j = 0; j < i; j++) {
            int32_t u = node_of(s, vertex[i]), v = node_of(s, vertex[j]);
            if (u < 0 || v < 0 || u == v) continue;
            if (spl_pattern_find(&c->pattern, u > v ? u : v, u > v ? v : u) == SIZE_MAX) return false;
        }
    return true;
}

/* Room for `count` more pairs. */
static bool grow(spl_extended *c, size_t count, const supple_allocator *a)
{
    size_t wanted = c->pair_count + count;
    if (wanted <= c->pair_room) return true;
    size_t room = wanted + wanted / 2;
    int32_t *pair = spl_resize(a, c->pair, room, 2 * sizeof *pair);
    if (!pair) return false;
    c->pair = pair;
    c->pair_room = room;
    return true;
}

static bool add_pair(spl_extended *c, int32_t u, int32_t v, const supple_allocator *a)
{
    if (!grow(c, 1, a)) return false;
    c->pair[2 * c->pair_count] = u;
    c->pair[2 * c->pair_count + 1] = v;
    c->pair_count++;
    return true;
}

/* The tets' pairs first, then those of the elements. */
static bool list_pairs(spl_statics *s, const int32_t *vertex, int32_t count)
{
    spl_extended *c = &s->extended;
    const spl_pattern *p = &s->assembly.pattern;
    bool ok = true;
    if (c->pair_count == 0) {
        if (!grow(c, p->start[p->n], &s->allocator)) return false;
        for (int32_t j = 0; j < p->n; j++)
            for (size_t e = p->start[j]; e < p->start[j + 1]; e++) ok = ok && add_pair(c, p->row[e], j, &s->allocator);
    }
    for (size_t k = 0; k < (size_t)count; k++)
        for (int i = 0; i < CORNERS; i++)
            for (int j = 0; j < i; j++) {
                int32_t u = node_of(s, vertex[CORNERS * k + (size_t)i]),
                        v = node_of(s, vertex[CORNERS * k + (size_t)j]);
                if (u >= 0 && v >= 0 && u != v) ok = ok && add_pair(c, u > v ? u : v, u > v ? v : u, &s->allocator);
            }
    return ok;
}

/* Where the assembly's entries are. */
static bool map_entries(spl_statics *s)
{
    spl_extended *c = &s->extended;
    const spl_pattern *p = &s->assembly.pattern;
    c->place = spl_new(&s->allocator, p->start[p->n], sizeof *c->place);
    c->values = spl_new(&s->allocator, spl_pattern_values(&c->pattern), sizeof *c->values);
    if (!c->place || !c->values) return false;
    for (int32_t j = 0; j < p->n; j++) {
        size_t to = c->pattern.start[j];
        for (size_t e = p->start[j]; e < p->start[j + 1]; e++) {
            while (c->pattern.row[to] != p->row[e]) to++; /* both ascend, and all of the one are in the other */
            c->place[e] = to;
        }
    }
    return true;
}

static supple_result make_system(spl_statics *s, const int32_t *vertex, int32_t count, supple_error *error)
{
    spl_extended *c = &s->extended;
    const supple_allocator *a = &s->allocator;
    const spl_factor_options direct = {.backend = s->options.backend};
    release_system(c, a);
    if (!list_pairs(s, vertex, count)) return spl_fail_memory(error, "the system with contacts");
    supple_result result = spl_pattern_from_pairs(s->free_count, 3, c->pair, c->pair_count, a, &c->pattern, error);
    if (result == SUPPLE_OK && !map_entries(s)) result = spl_fail_memory(error, "the system with contacts");
    if (result == SUPPLE_OK) result = spl_rows_create(&c->pattern, a, &c->rows, error);
    if (result != SUPPLE_OK) return result;
    return s->factor ? spl_factor_create(&c->pattern, &direct, a, s->pool, &c->factor, error)
                     : spl_ic0_create(&c->pattern, a, &c->ic0, error);
}

/* Adds a block with rows of node u and columns of node v, u != v; it is stored with the larger node's rows. */
static void add_block(spl_extended *c, int32_t u, int32_t v, const double *block)
{
    bool flip = u < v;
    double *to = c->values + 9 * spl_pattern_find(&c->pattern, flip ? v : u, flip ? u : v);
    for (int col = 0; col < 3; col++)
        for (int row = 0; row < 3; row++) to[3 * col + row] += flip ? block[3 * row + col] : block[3 * col + row];
}

static void add_element(spl_statics *s, const int32_t *vertex, const double *values)
{
    spl_extended *c = &s->extended;
    for (int i = 0; i < CORNERS; i++)
        for (int j = 0; j <= i; j++, values += 9) {
            int32_t u = node_of(s, vertex[i]), v = node_of(s, vertex[j]);
            if (u < 0 || v < 0) continue;
            if (u != v) {
                add_block(c, u, v, values);
                continue;
            }
            double *to = c->values + 9 * c->pattern.start[u];
            for (int q = 0; q < 9; q++) to[q] += values[q];
            for (int q = 0; i != j && q < 9; q++) to[q] += values[3 * (q % 3) + q / 3];
        }
}

void spl_extended_forget(spl_statics *s)
{
    release_system(&s->extended, &s->allocator);
    s->extended.pair_count = 0;
    s->extended.shift = 0;
}

supple_result spl_extended_fill(spl_newton *n)
{
    spl_statics *s = n->s;
    spl_extended *c = &s->extended;
    const int32_t *vertex;
    const double *values;
    int32_t count = n->problem->extra->elements(n->problem->extra->context, n->exact, &vertex, &values);
    if (count < 0) return spl_fail_memory(n->error, "the contacts of a system");
    bool fits = c->pattern.n == s->free_count && c->values != NULL && (c->factor || c->ic0);
    for (size_t k = 0; fits && k < (size_t)count; k++) fits = has_place(s, vertex + CORNERS * k);
    if (!fits) {
        supple_result result = make_system(s, vertex, count, n->error);
        if (result != SUPPLE_OK) return result;
        n->stats->analyses++;
    }
    const spl_pattern *p = &s->assembly.pattern;
    memset(c->values, 0, spl_pattern_values(&c->pattern) * sizeof *c->values);
    for (size_t e = 0; e < p->start[p->n]; e++)
        memcpy(c->values + 9 * c->place[e], s->values + 9 * e, 9 * sizeof *c->values);
    for (size_t k = 0; k < (size_t)count; k++) add_element(s, vertex + CORNERS * k, values + 9 * BLOCKS * k);
    return SUPPLE_OK;
}
