#include "body/weight_table.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#include <math.h>
#include <string.h>

#define EQUAL 1e-9 /* weights that differ by less are one plateau */
#define FLOOR 1e-4 /* maxima below this are not counted */

supple_result spl_weight_table_create(int32_t vertex_count, int32_t bone_count, const supple_allocator *a,
                                      spl_weight_table *out, supple_error *error)
{
    *out = (spl_weight_table){.allocator = *a, .vertex_count = vertex_count, .bone_count = bone_count};
    size_t count;
    if (spl_mul((size_t)vertex_count, (size_t)bone_count, &count)) out->value = spl_new(a, count, sizeof *out->value);
    return out->value ? SUPPLE_OK : spl_fail_memory(error, "the weights");
}

void spl_weight_table_release(spl_weight_table *t)
{
    if (!t->allocator.release) return;
    spl_free(&t->allocator, t->value);
    *t = (spl_weight_table){0};
}

/* ---- sums ---- */

/* Gives vertices without weights the mean of those of their tet that have some; returns how many are left. A vertex
 * counts as reached (`sum` > 0) from the next round on, so that the order of tets does not matter. */
static int32_t spread(spl_weight_table *t, const spl_elements *e, double *sum, int32_t *hits)
{
    size_t n = (size_t)t->vertex_count;
    int32_t left = 0;
    memset(hits, 0, n * sizeof *hits);
    for (size_t k = 0; k < 4 * (size_t)e->count; k++) {
        int32_t v = e->tet[k];
        for (size_t i = k & ~(size_t)3; sum[v] <= 0 && i < (k & ~(size_t)3) + 4; i++) {
            if (sum[e->tet[i]] <= 0) continue;
            hits[v]++;
            for (size_t b = 0; b < (size_t)t->bone_count; b++)
                t->value[b * n + (size_t)v] += t->value[b * n + (size_t)e->tet[i]];
        }
    }
    for (size_t v = 0; v < n; v++) {
        left += sum[v] <= 0 && hits[v] == 0;
        for (size_t b = 0; hits[v] && b < (size_t)t->bone_count; b++) sum[v] += t->value[b * n + v];
    }
    return left;
}

supple_result spl_weight_table_normalise(spl_weight_table *t, const spl_elements *elements, supple_error *error)
{
    size_t n = (size_t)t->vertex_count;
    const supple_allocator *a = &t->allocator;
    double *sum = spl_new(a, n, sizeof *sum);
    int32_t *hits = spl_new(a, n, sizeof *hits), left = 0, before = -1;
    if (!sum || !hits) {
        spl_free(a, sum);
        spl_free(a, hits);
        return spl_fail_memory(error, "the weights");
    }
    for (size_t b = 0; b < (size_t)t->bone_count; b++)
        for (size_t v = 0; v < n; v++) sum[v] += t->value[b * n + v];
    for (size_t v = 0; v < n; v++) left += sum[v] <= 0;
    while (left > 0 && left != before) {
        before = left;
        left = spread(t, elements, sum, hits);
    }
    for (size_t v = 0; v < n; v++)
        if (sum[v] <= 0) t->value[v] = sum[v] = 1;
    for (size_t b = 0; b < (size_t)t->bone_count; b++)
        for (size_t v = 0; v < n; v++) t->value[b * n + v] /= sum[v];
    spl_free(a, sum);
    spl_free(a, hits);
    return SUPPLE_OK;
}

supple_result spl_weight_table_strongest(const spl_weight_table *t, const supple_allocator *a, spl_bone_weights *out,
                                         supple_error *error)
{
    enum { K = SPL_BONE_INFLUENCES };
    size_t n = (size_t)t->vertex_count;
    *out = (spl_bone_weights){.allocator = *a};
    out->bone = spl_new(a, n, K * sizeof *out->bone);
    out->weight = spl_new(a, n, K * sizeof *out->weight);
    if (!out->bone || !out->weight) {
        spl_bone_weights_release(out);
        return spl_fail_memory(error, "the bones' weights");
    }
    for (size_t v = 0; v < n; v++) {
        double sum = 0;
        for (size_t k = 0; k < K; k++) out->bone[K * v + k] = -1;
        for (int32_t b = 0; b < t->bone_count; b++) {
            double value = t->value[(size_t)b * n + v];
            if (value > 1e-6) spl_bone_weights_insert(out->bone + K * v, out->weight + K * v, b, value);
        }
        if (out->bone[K * v] < 0) out->bone[K * v] = 0, out->weight[K * v] = 1;
        for (size_t k = 0; k < K; k++) sum += out->weight[K * v + k];
        for (size_t k = 0; k < K; k++) out->weight[K * v + k] /= sum;
    }
    return SUPPLE_OK;
}

/* ---- maxima ---- */

/* Plateaus of one bone's weights: joined through edges whose ends are equal. One is a maximum unless a neighbour is
 * higher or the bone itself holds a part of it. */
static int32_t count_maxima(const double *w, const spl_elements *e, const int32_t *held, int32_t bone, int32_t *root,
                            bool *explained)
{
    int32_t n = e->vertex_count, count = 0;
    for (int32_t v = 0; v < n; v++) root[v] = v;
    memset(explained, 0, (size_t)n * sizeof *explained);
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < (size_t)e->count; k++)
            for (size_t i = 0; i < 4; i++)
                for (size_t j = 0; j < 4; j++) {
                    int32_t a = e->tet[4 * k + i], b = e->tet[4 * k + j];
                    if (i == j || w[a] <= FLOOR) continue;
                    if (pass == 0 && i < j && fabs(w[a] - w[b]) <= EQUAL) spl_sets_join(root, a, b);
                    if (pass == 1 && w[b] > w[a] + EQUAL) explained[spl_sets_root(root, a)] = true;
                }
    for (int32_t v = 0; v < n; v++)
        if (held[v] == bone || w[v] <= FLOOR) explained[spl_sets_root(root, v)] = true;
    for (int32_t v = 0; v < n; v++) count += root[v] == v && !explained[v];
    return count;
}

supple_result spl_weight_table_maxima(const spl_weight_table *t, const spl_elements *elements, const int32_t *held,
                                      int32_t *by_bone, int32_t *count, supple_error *error)
{
    size_t n = (size_t)t->vertex_count;
    int32_t *root = spl_new(&t->allocator, n, sizeof *root);
    bool *explained = spl_new(&t->allocator, n, sizeof *explained);
    *count = 0;
    for (int32_t b = 0; root && explained && b < t->bone_count; b++) {
        int32_t found = count_maxima(t->value + (size_t)b * n, elements, held, b, root, explained);
        if (by_bone) by_bone[b] = found;
        *count += found;
    }
    bool made = root && explained;
    spl_free(&t->allocator, root);
    spl_free(&t->allocator, explained);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the weights");
}
