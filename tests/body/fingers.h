/* The fingers of a hand, found on its skin alone. */
#ifndef SPL_TESTS_FINGERS_H
#define SPL_TESTS_FINGERS_H

#include "core/memory.h"
#include "geom/geodesic.h"

#include <stdlib.h>

enum { TIPS = 5 };

static inline spl_place place_of_vertex(const spl_surface *s, int32_t v)
{
    int32_t corner = s->corner[s->corner_first[v]];
    return (spl_place){corner / 3, {corner % 3 == 0, corner % 3 == 1, corner % 3 == 2}};
}

/* The finger tips of a hand: of the vertices beyond the wrist, those that are farthest from it along the surface within
 * `apart` of themselves. Returns how many there are. */
static inline int find_tips(const spl_surface *s, spl_vec3 wrist, spl_vec3 along, double reach, double apart,
                            int32_t tip[16])
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_geodesic g;
    if (spl_geodesic_make(s->vertex_count, &a, &g, NULL) != SUPPLE_OK) abort();
    int32_t *list = calloc((size_t)s->vertex_count, sizeof *list), start = 0, tips = 0;
    double *sorted = calloc((size_t)s->vertex_count, sizeof *sorted);
    double *far = calloc((size_t)s->vertex_count, sizeof *far);
    for (int32_t v = 1; v < s->vertex_count; v++)
        if (spl_distance(s->position[v], wrist) < spl_distance(s->position[start], wrist)) start = v;
    spl_place at = place_of_vertex(s, start);
    int32_t n = spl_geodesic_within(&g, s, &at, reach, s->vertex_count, list, sorted);
    for (int32_t i = 0; i < n; i++) far[list[i]] = sorted[i];
    for (int32_t i = 0; i < n && tips < 16; i++) {
        int32_t v = list[i];
        if (far[v] < 0.4 * reach || spl_dot(spl_sub(s->position[v], wrist), along) < 0) continue; /* palm, arm */
        at = place_of_vertex(s, v);
        int32_t *around = calloc((size_t)s->vertex_count, sizeof *around);
        int32_t count = spl_geodesic_within(&g, s, &at, apart, s->vertex_count, around, NULL);
        bool farthest = true;
        for (int32_t k = 0; k < count; k++) farthest = farthest && (around[k] == v || far[around[k]] < far[v]);
        for (int32_t k = 0; k < count; k++) farthest = farthest && far[around[k]] > 0;
        if (farthest) tip[tips++] = v;
        free(around);
    }
    free(list);
    free(sorted);
    free(far);
    spl_geodesic_release(&g);
    return tips;
}

#endif
