/* Division of the supernodes' tree for threads: subtrees in a fixed number of bins, and the top. The division depends
 * on the matrix alone, never on the number of threads. */
#include "sparse/symbolic.h"

#include "core/memory.h"

/* Multiply-adds of one supernode's elimination: its columns over its whole trailing triangle. */
static double own_work(const spl_symbolic *s, int32_t k)
{
    double rows = s->row_count[k], width = s->first[k + 1] - s->first[k];
    return width * rows * rows / 2;
}

static int32_t emptiest(const double *load)
{
    int32_t best = 0;
    for (int32_t b = 1; b < SPL_BINS; b++)
        if (load[b] < load[best]) best = b;
    return best;
}

/* A subtree goes whole into a bin once it is a fair share; what is above belongs to the top. A tree that is too small
 * for threads to pay goes into bin 0. */
bool spl_symbolic_divide(spl_symbolic *s, const supple_allocator *a)
{
    const double smallest = 4e6; /* about 1 ms */
    double *work = spl_new(a, (size_t)s->count, sizeof *work), load[SPL_BINS] = {0}, total = 0;
    s->bin = spl_new(a, (size_t)s->count, sizeof *s->bin);
    if (!work || !s->bin) {
        spl_free(a, work);
        return false;
    }
    for (int32_t k = 0; k < s->count; k++) {
        work[k] += own_work(s, k);
        if (s->parent[k] >= 0)
            work[s->parent[k]] += work[k];
        else
            total += work[k];
    }
    for (int32_t k = s->count - 1; k >= 0 && total >= smallest; k--) {
        int32_t up = s->parent[k];
        if (up >= 0 && s->bin[up] < SPL_BINS) {
            s->bin[k] = s->bin[up];
        } else if (work[k] > total / SPL_BINS) {
            s->bin[k] = SPL_BINS;
        } else {
            s->bin[k] = emptiest(load);
            load[s->bin[k]] += work[k];
        }
    }
    spl_free(a, work);
    return true;
}
