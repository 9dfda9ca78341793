/* How far a body may move before a tet loses its volume: what a law with a barrier (law.h) needs of every step. */
#ifndef SPL_FEM_FILTER_H
#define SPL_FEM_FILTER_H

#include "core/threads.h"
#include "fem/elements.h"

/* The largest t in [0, 1], to a relative 1e-9 and never more, such that while x moves to x + t d no tet's det F falls
 * below `slack` (in (0, 1), such as 0.1) of what it is at x. At the t that is returned this holds for det F as it is
 * computed from the numbers x + t d. Exempt are tets whose corners are all held (held[v] >= 0; NULL: none is) and those
 * that are not positive at x. 0 where d, or det of its gradient, is not finite in a tet that is not exempt. x and d
 * have 3 x vertex_count numbers each. The same bits at any number of threads. */
double spl_inversion_filter(const spl_elements *e, const int32_t *held, const double *x, const double *d, double slack,
                            spl_pool *pool);

/* Tets with det F <= 0, or not a number, whose corners are all held; and those of which a corner is free. */
void spl_inversion_count(const spl_elements *e, const int32_t *held, const double *x, int32_t *held_count,
                         int32_t *free_count);

#endif
