/* gather.c's walk for AVX2: eight boxes in one vector. */
#include "geom/gather_walk.h"

void spl_gather_walk_avx2(const spl_gather_walk *w, int32_t begin, int32_t end)
{
    walk_leaves(w, begin, end);
}
