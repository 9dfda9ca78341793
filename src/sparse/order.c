/* AMD's ordering (P. Amestoy, T. Davis, I. Duff; BSD licence), called at the level that allocates nothing itself. */
#include "sparse/symbolic.h"

#include "core/error.h"
#include "core/memory.h"

#include <amd.h>

/* Both triangles without the diagonal, as amd_2 wants them. */
static void fill_graph(const spl_pattern *p, int *start, int *length, int *index)
{
    for (int32_t j = 0; j < p->n; j++)
        for (size_t e = p->start[j] + 1; e < p->start[j + 1]; e++) {
            length[j]++;
            length[p->row[e]]++;
        }
    for (int32_t j = 0, at = 0; j < p->n; at += length[j], j++) start[j] = at;
    for (int32_t j = 0; j < p->n; j++) length[j] = 0;
    for (int32_t j = 0; j < p->n; j++)
        for (size_t e = p->start[j] + 1; e < p->start[j + 1]; e++) {
            int32_t i = p->row[e];
            index[start[j] + length[j]++] = i;
            index[start[i] + length[i]++] = j;
        }
}

supple_result spl_order_amd(const spl_pattern *p, int32_t *order, const supple_allocator *a, supple_error *error)
{
    size_t n = (size_t)p->n, edges = 2 * (p->start[n] - n), room = edges + edges / 5 + n + 1;
    if (p->n == 0) return SUPPLE_OK;
    if (room > INT32_MAX)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "sparse: a matrix of %zu entries is too large to be ordered",
                        p->start[n]);
    int *work = spl_new(a, 8 * n, sizeof *work), *index = spl_new(a, room, sizeof *index);
    if (!work || !index) {
        spl_free(a, index);
        spl_free(a, work);
        return spl_fail_memory(error, "the ordering of a sparse matrix");
    }
    double control[AMD_CONTROL], info[AMD_INFO];
    amd_defaults(control);
    int *start = work, *length = work + n;
    fill_graph(p, start, length, index);
    amd_2(p->n, start, index, length, (int)room, (int)edges, work + 2 * n, work + 3 * n, order, work + 4 * n,
          work + 5 * n, work + 6 * n, work + 7 * n, control, info);
    spl_free(a, index);
    spl_free(a, work);
    return SUPPLE_OK;
}
