/* Welding: vertices at the same place become one. */
#ifndef SPL_GEOM_WELD_H
#define SPL_GEOM_WELD_H

#include <supple/base.h>

/* Fills map[i] with the number of the welded vertex that vertex i belongs to (numbered by first occurrence) and *count
 * with how many there are. Two vertices within `tolerance` of each other's first occurrence are one; 0 welds equal
 * positions only. Deterministic: depends on the order of the vertices alone. */
supple_result spl_weld(const float *position, int32_t vertex_count, double tolerance, const supple_allocator *a,
                       int32_t *map, int32_t *count, supple_error *error);

#endif
