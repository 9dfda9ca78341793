/* Disjoint sets of numbers (union-find) in one array of parents that the caller fills with parent[i] = i. The lowest
 * member names a set, so that the names do not depend on the order of the joins. */
#ifndef SPL_CORE_SETS_H
#define SPL_CORE_SETS_H

#include <stdint.h>

/* The name of i's set. Halves the path on its way, which keeps paths short without ranks. */
static inline int32_t spl_sets_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

/* Makes one set of a's and b's. */
static inline void spl_sets_join(int32_t *parent, int32_t a, int32_t b)
{
    a = spl_sets_root(parent, a);
    b = spl_sets_root(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

#endif
