#include "sparse/assembly.h"

#include "core/error.h"
#include "core/memory.h"

void spl_assembly_release(spl_assembly *s, const supple_allocator *a)
{
    spl_pattern_release(&s->pattern, a);
    spl_free(a, s->start);
    spl_free(a, s->source);
    *s = (spl_assembly){0};
}

typedef struct mesh {
    const int32_t *elements, *unknown;
    size_t count;
    int32_t corners;
} mesh;

static int32_t node_of(const mesh *m, size_t element, int32_t corner)
{
    int32_t v = m->elements[element * (size_t)m->corners + (size_t)corner];
    return m->unknown ? m->unknown[v] : v;
}

static supple_result check_mesh(const mesh *m, int32_t vertex_count, int32_t node_count, supple_error *error)
{
    if (m->corners < 1 || m->corners > 8 || m->count > UINT32_MAX / 72)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "assembly: %zu elements of %d corners are not possible", m->count,
                        (int)m->corners);
    for (size_t e = 0; e < m->count * (size_t)m->corners; e++)
        if (m->elements[e] < 0 || m->elements[e] >= vertex_count)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "assembly: element %zu names vertex %d of %d",
                            e / (size_t)m->corners, (int)m->elements[e], (int)vertex_count);
    for (int32_t v = 0; v < vertex_count; v++)
        if ((m->unknown ? m->unknown[v] : v) >= node_count)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "assembly: vertex %d is unknown %d of %d", (int)v,
                            (int)(m->unknown ? m->unknown[v] : v), (int)node_count);
    return SUPPLE_OK;
}

/* The pattern from every pair of free corners of an element. */
static supple_result build_pattern(const mesh *m, int32_t node_count, int32_t block, const supple_allocator *a,
                                   spl_pattern *out, supple_error *error)
{
    size_t per = (size_t)(m->corners * (m->corners - 1) / 2), at = 0;
    int32_t *pairs = spl_new(a, m->count * per, 2 * sizeof *pairs);
    if (!pairs) return spl_fail_memory(error, "the edges of a mesh");
    for (size_t e = 0; e < m->count; e++)
        for (int32_t i = 0; i < m->corners; i++)
            for (int32_t j = 0; j < i; j++) {
                int32_t u = node_of(m, e, i), v = node_of(m, e, j);
                if (u < 0 || v < 0 || u == v) continue;
                pairs[2 * at] = u;
                pairs[2 * at++ + 1] = v;
            }
    supple_result result = spl_pattern_from_pairs(node_count, block, pairs, at, a, out, error);
    spl_free(a, pairs);
    return result;
}

/* Visits every contribution in the order of the elements: counts them, or stores them at the entries' cursors. */
static void visit(spl_assembly *s, const mesh *m, size_t *cursor, uint32_t *source)
{
    for (size_t e = 0; e < m->count; e++)
        for (int32_t i = 0, pair = 0; i < m->corners; i++)
            for (int32_t j = 0; j <= i; j++, pair++) {
                int32_t u = node_of(m, e, i), v = node_of(m, e, j);
                if (u < 0 || v < 0) continue;
                size_t entry = u >= v ? spl_pattern_find(&s->pattern, u, v) : spl_pattern_find(&s->pattern, v, u);
                uint32_t from = ((uint32_t)e * (uint32_t)s->pairs + (uint32_t)pair) * 2U;
                if (source) source[cursor[entry]] = from + (u < v);
                cursor[entry]++;
                if (u != v || i == j) continue; /* corners tied to one node: (i, j) and (j, i) both fall here */
                if (source) source[cursor[entry]] = from + 1;
                cursor[entry]++;
            }
}

static bool build_sources(spl_assembly *s, const mesh *m, const supple_allocator *a)
{
    size_t entries = s->pattern.start[s->pattern.n];
    s->start = spl_new(a, entries + 2, sizeof *s->start);
    if (!s->start) return false;
    visit(s, m, s->start + 2, NULL); /* one slot further: filling moves each cursor to where its entry ends */
    for (size_t e = 0; e < entries; e++) s->start[e + 2] += s->start[e + 1];
    s->source = spl_new(a, s->start[entries + 1], sizeof *s->source);
    if (!s->source) return false;
    visit(s, m, s->start + 1, s->source);
    return true;
}

supple_result spl_assembly_create(const int32_t *elements, size_t element_count, int32_t corners, int32_t vertex_count,
                                  const int32_t *unknown, int32_t node_count, int32_t block, const supple_allocator *a,
                                  spl_assembly *out, supple_error *error)
{
    *out = (spl_assembly){.corners = corners, .pairs = corners * (corners + 1) / 2, .element_count = element_count};
    mesh m = {elements, unknown, element_count, corners};
    supple_result result = check_mesh(&m, vertex_count, node_count, error);
    if (result == SUPPLE_OK) result = build_pattern(&m, node_count, block, a, &out->pattern, error);
    if (result == SUPPLE_OK && !build_sources(out, &m, a)) result = spl_fail_memory(error, "the assembly of a mesh");
    if (result != SUPPLE_OK) spl_assembly_release(out, a);
    return result;
}

typedef struct gather {
    const spl_assembly *s;
    const double *from;
    double *to;
} gather;

static void gather_scalar(void *context, size_t begin, size_t end)
{
    const gather *g = context;
    for (size_t e = begin; e < end; e++) {
        double sum = 0;
        for (size_t q = g->s->start[e]; q < g->s->start[e + 1]; q++) sum += g->from[g->s->source[q] / 2];
        g->to[e] = sum;
    }
}

/* The elements' blocks lie anywhere in tens of megabytes: each is asked for some turns ahead. */
static void gather_blocks(void *context, size_t begin, size_t end)
{
    enum { AHEAD = 12 };
    const gather *g = context;
    const uint32_t *source = g->s->source;
    size_t last = g->s->start[end];
    for (size_t e = begin; e < end; e++) {
        double sum[9] = {0};
        for (size_t q = g->s->start[e]; q < g->s->start[e + 1]; q++) {
            const double *m = g->from + 9 * (size_t)(source[q] / 2);
            if (q + AHEAD < last) {
                const double *next = g->from + 9 * (size_t)(source[q + AHEAD] / 2);
                __builtin_prefetch(next);
                __builtin_prefetch(next + 8);
            }
            if (source[q] & 1)
                for (int i = 0; i < 9; i++) sum[i] += m[3 * (i % 3) + i / 3];
            else
                for (int i = 0; i < 9; i++) sum[i] += m[i];
        }
        for (int i = 0; i < 9; i++) g->to[9 * e + (size_t)i] = sum[i];
    }
}

void spl_assembly_gather(const spl_assembly *s, const double *element_values, double *values, spl_pool *pool)
{
    gather g = {s, element_values, values};
    spl_parallel_for(pool, s->pattern.start[s->pattern.n], 2048, s->pattern.block == 3 ? gather_blocks : gather_scalar,
                     &g);
}
