#include "body/part.h"

#include "body/part_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>
#include <stdlib.h>

enum { ROUNDS_MOST = 100, SWEEPS = 3 };

static void push(const part_found *found, part_yield *y, const spl_tets *tets)
{
    for (int32_t v = 0; v < tets->vertex_count; v++)
        if (found->share[v] > 0)
            spl_part_yield_ask(y, v, spl_madd(tets->position[v], found->push[v], 1 / found->share[v]));
}

static supple_result part_in_rounds(part_finder *f, spl_tets *tets, double cell, spl_part_report *report,
                                    supple_error *error)
{
    const part_found *found = spl_part_finder_found(f);
    part_yield *y = NULL;
    supple_result result = spl_part_yield_create(tets, cell, &y, error);
    while (result == SUPPLE_OK && (found->crossings > 0 || found->near > 0) && report->rounds < ROUNDS_MOST) {
        spl_part_yield_tire(y, tets, report->rounds < 15 ? 0.75 : report->rounds < 25 ? 0.88 : getenv("K3")?atof(getenv("K3")):1.0);
        push(found, y, tets);
        spl_part_yield_sweep(y, tets, SWEEPS);
        report->rounds++;
        result = spl_part_find(f, error);
    }
    spl_part_yield_destroy(y);
    return result;
}

static void measure_moves(const spl_tets *tets, const spl_vec3 *start, double cell, spl_part_report *report)
{
    for (int32_t v = 0; v < tets->vertex_count; v++) {
        double way = spl_distance(tets->position[v], start[v]);
        report->moved += way > 0;
        report->farthest = fmax(report->farthest, way / cell);
    }
}

supple_result spl_part_surface(spl_tets *tets, double cell, spl_pool *pool, spl_part_report *report,
                               supple_error *error)
{
    const supple_allocator *a = &tets->allocator;
    part_finder *f = NULL;
    *report = (spl_part_report){0};
    supple_result result = spl_part_finder_create(tets, cell, pool, &f, error);
    if (result == SUPPLE_OK) result = spl_part_find(f, error);
    spl_vec3 *start = spl_new(a, (size_t)tets->vertex_count, sizeof *start);
    if (result == SUPPLE_OK && !start) result = spl_fail_memory(error, "parting the surface");
    if (result == SUPPLE_OK) {
        const part_found *found = spl_part_finder_found(f);
        memcpy(start, tets->position, (size_t)tets->vertex_count * sizeof *start);
        report->crossings_before = found->crossings;
        if (found->crossings > 0 || found->near > 0) result = part_in_rounds(f, tets, cell, report, error);
        report->crossings = found->crossings;
        report->near = found->near;
        measure_moves(tets, start, cell, report);
    }
    spl_free(a, start);
    spl_part_finder_destroy(f);
    return result;
}
