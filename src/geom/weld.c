#include "geom/weld.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"
#include "math/vec3.h"

#include <string.h>

/* A chained hash table of welded vertices by lattice cell. Cells are twice the tolerance wide, so that all candidates
 * lie in the at most eight cells that touch the box of +- tolerance around a point, and few share a cell. Without a
 * tolerance a cell is one number: the coordinates' bits, so that no cloud of points can fill one bucket. */
typedef struct table {
    const float *position;
    double tolerance, inverse_cell;
    uint32_t mask;
    int32_t *head;  /* mask + 1: first welded vertex of a bucket, -1 if none */
    int32_t *next;  /* by welded vertex */
    int32_t *first; /* by welded vertex: the vertex it came from */
} table;

static int64_t cell_of(const table *t, double x)
{
    if (t->tolerance > 0) {
        double c = floor(x * t->inverse_cell);
        return c < -9e15 ? (int64_t)-9e15 : c > 9e15 ? (int64_t)9e15 : (int64_t)c;
    }
    int64_t bits;
    x += 0.0; /* -0 is 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint32_t bucket(const table *t, const int64_t cell[3])
{
    return (uint32_t)spl_hash(cell, 24, 0) & t->mask;
}

static int32_t find_in(const table *t, uint32_t b, spl_vec3 p)
{
    int32_t best = -1; /* chains run from high to low */
    for (int32_t w = t->head[b]; w >= 0; w = t->next[w])
        if (spl_distance(spl_v3_from_float(t->position + 3 * (size_t)t->first[w]), p) <= t->tolerance) best = w;
    return best;
}

/* The lowest-numbered welded vertex within the tolerance, -1 if there is none. */
static int32_t find(const table *t, spl_vec3 p)
{
    int64_t low[3] = {cell_of(t, p.x - t->tolerance), cell_of(t, p.y - t->tolerance), cell_of(t, p.z - t->tolerance)};
    int64_t high[3] = {cell_of(t, p.x + t->tolerance), cell_of(t, p.y + t->tolerance), cell_of(t, p.z + t->tolerance)};
    int32_t best = -1;
    int64_t c[3];
    for (c[0] = low[0]; c[0] <= high[0]; c[0]++)
        for (c[1] = low[1]; c[1] <= high[1]; c[1]++)
            for (c[2] = low[2]; c[2] <= high[2]; c[2]++) {
                int32_t w = find_in(t, bucket(t, c), p);
                if (w >= 0 && (best < 0 || w < best)) best = w;
            }
    return best;
}

static int32_t weld_all(table *t, int32_t vertex_count, int32_t *map)
{
    int32_t count = 0;
    for (int32_t i = 0; i < vertex_count; i++) {
        spl_vec3 p = spl_v3_from_float(t->position + 3 * (size_t)i);
        map[i] = find(t, p);
        if (map[i] >= 0) continue;
        int64_t cell[3] = {cell_of(t, p.x), cell_of(t, p.y), cell_of(t, p.z)};
        uint32_t b = bucket(t, cell);
        t->first[count] = i;
        t->next[count] = t->head[b];
        t->head[b] = count;
        map[i] = count++;
    }
    return count;
}

supple_result spl_weld(const float *position, int32_t vertex_count, double tolerance, const supple_allocator *a,
                       int32_t *map, int32_t *count, supple_error *error)
{
    table t = {.position = position, .tolerance = tolerance};
    t.inverse_cell = tolerance > 0 ? 0.5 / tolerance : 0;
    t.mask = 15;
    while (t.mask < 0x40000000u && t.mask < (uint32_t)vertex_count) t.mask = 2 * t.mask + 1;
    t.head = spl_new(a, (size_t)t.mask + 1, sizeof *t.head);
    t.next = spl_new(a, (size_t)vertex_count, sizeof *t.next);
    t.first = spl_new(a, (size_t)vertex_count, sizeof *t.first);
    bool made = t.head && t.next && t.first;
    if (made) {
        for (uint32_t i = 0; i <= t.mask; i++) t.head[i] = -1;
        *count = weld_all(&t, vertex_count, map);
    }
    spl_free(a, t.head);
    spl_free(a, t.next);
    spl_free(a, t.first);
    return made ? SUPPLE_OK : spl_fail_memory(error, "welding");
}
