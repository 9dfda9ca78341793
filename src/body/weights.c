#include "body/weights.h"

#include "core/error.h"
#include "core/memory.h"
#include "sparse/assembly.h"
#include "sparse/factor.h"

#include <string.h>

enum { BATCH = 8, K = SPL_BONE_INFLUENCES };

typedef struct work {
    const spl_harmonic_input *in;
    int32_t *unknown; /* by vertex: its row, or -1 if held */
    int32_t unknown_count;
    double *element; /* 10 a tet: W g_i . g_j */
    double *value, *side;
    int32_t *batch_of; /* by bone: its column in the batch, or -1 */
    spl_assembly assembly;
    spl_factor *factor;
} work;

static void set_elements(void *context, size_t begin, size_t end)
{
    const work *w = context;
    const spl_elements *e = w->in->elements;
    for (size_t k = begin; k < end; k++)
        for (int i = 0, at = 0; i < 4; i++)
            for (int j = 0; j <= i; j++, at++) {
                const double *gi = e->gradient + 12 * k + 3 * i, *gj = e->gradient + 12 * k + 3 * j;
                w->element[10 * k + (size_t)at] = e->volume[k] * (gi[0] * gj[0] + gi[1] * gj[1] + gi[2] * gj[2]);
            }
}

static supple_result prepare(work *w, spl_pool *pool, const supple_allocator *a, supple_error *error)
{
    const spl_elements *e = w->in->elements;
    size_t n = (size_t)e->vertex_count;
    w->unknown = spl_new(a, n, sizeof *w->unknown);
    w->element = spl_new(a, (size_t)e->count, 10 * sizeof *w->element);
    w->batch_of = spl_new(a, (size_t)w->in->bone_count, sizeof *w->batch_of);
    if (!w->unknown || !w->element || !w->batch_of) return spl_fail_memory(error, "the bones' weights");
    for (size_t v = 0; v < n; v++) w->unknown[v] = w->in->held[v] < 0 ? w->unknown_count++ : -1;
    if (w->unknown_count == 0) return SUPPLE_OK;
    supple_result result = spl_assembly_create(e->tet, (size_t)e->count, 4, e->vertex_count, w->unknown,
                                               w->unknown_count, 1, a, &w->assembly, error);
    if (result != SUPPLE_OK) return result;
    w->value = spl_new(a, spl_pattern_values(&w->assembly.pattern), sizeof *w->value);
    w->side = spl_new(a, (size_t)w->unknown_count, BATCH * sizeof *w->side);
    if (!w->value || !w->side) return spl_fail_memory(error, "the bones' weights");
    spl_parallel_for(pool, (size_t)e->count, 1024, set_elements, w);
    spl_assembly_gather(&w->assembly, w->element, w->value, pool);
    spl_factor_options options = {.backend = w->in->backend};
    result = spl_factor_create(&w->assembly.pattern, &options, a, pool, &w->factor, error);
    return result == SUPPLE_OK ? spl_factor_factorise(w->factor, w->value, error) : result;
}

/* side = - L_free,held (1 on the vertices of the batch's bones). */
static void set_side(work *w)
{
    const spl_elements *e = w->in->elements;
    memset(w->side, 0, (size_t)w->unknown_count * BATCH * sizeof *w->side);
    for (size_t k = 0; k < (size_t)e->count; k++)
        for (int i = 0; i < 4; i++) {
            int32_t row = w->unknown[e->tet[4 * k + (size_t)i]];
            if (row < 0) continue;
            for (int j = 0; j < 4; j++) {
                int32_t bone = w->in->held[e->tet[4 * k + (size_t)j]];
                int32_t column = bone >= 0 ? w->batch_of[bone] : -1;
                int pair = i > j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
                if (column >= 0) w->side[(size_t)row * BATCH + (size_t)column] -= w->element[10 * k + (size_t)pair];
            }
        }
}

void spl_bone_weights_insert(int32_t *bone, double *weight, int32_t b, double value)
{
    for (int i = 0; i < K; i++) {
        if (bone[i] >= 0 && weight[i] >= value) continue;
        for (int k = K - 1; k > i; k--) {
            bone[k] = bone[k - 1];
            weight[k] = weight[k - 1];
        }
        bone[i] = b;
        weight[i] = value;
        return;
    }
}

static supple_result solve_batch(work *w, const int32_t *bones, int count, spl_bone_weights *out, supple_error *error)
{
    for (int32_t b = 0; b < w->in->bone_count; b++) w->batch_of[b] = -1;
    for (int c = 0; c < count; c++) w->batch_of[bones[c]] = c;
    set_side(w);
    supple_result result = spl_factor_solve(w->factor, w->side, BATCH, error);
    if (result != SUPPLE_OK) return result;
    for (size_t v = 0; v < (size_t)w->in->elements->vertex_count; v++) {
        if (w->unknown[v] < 0) continue;
        for (int c = 0; c < count; c++) {
            double value = w->side[(size_t)w->unknown[v] * BATCH + (size_t)c];
            if (value > 1e-6) spl_bone_weights_insert(out->bone + K * v, out->weight + K * v, bones[c], value);
        }
    }
    return SUPPLE_OK;
}

/* Whether a bone holds any vertex. */
static bool holds(const spl_harmonic_input *in, int32_t bone)
{
    for (int32_t v = 0; v < in->elements->vertex_count; v++)
        if (in->held[v] == bone) return true;
    return false;
}

static supple_result solve_all(work *w, spl_bone_weights *out, supple_error *error)
{
    int32_t batch[BATCH];
    int count = 0;
    for (int32_t b = 0; b < w->in->bone_count; b++) {
        if (holds(w->in, b)) batch[count++] = b;
        if (count < BATCH && (b + 1 < w->in->bone_count || count == 0)) continue;
        supple_result result = solve_batch(w, batch, count, out, error);
        if (result != SUPPLE_OK) return result;
        count = 0;
    }
    return SUPPLE_OK;
}

static void normalise(const spl_harmonic_input *in, spl_bone_weights *out)
{
    for (size_t v = 0; v < (size_t)in->elements->vertex_count; v++) {
        int32_t *bone = out->bone + K * v;
        double *weight = out->weight + K * v, sum = 0;
        if (in->held[v] >= 0) {
            bone[0] = in->held[v];
            weight[0] = 1;
        } else if (bone[0] < 0) { /* nothing reached it */
            bone[0] = 0;
            weight[0] = 1;
        }
        for (int i = 0; i < K; i++) sum += weight[i];
        for (int i = 0; i < K; i++) weight[i] /= sum;
    }
}

supple_result spl_harmonic_weights(const spl_harmonic_input *in, spl_pool *pool, const supple_allocator *a,
                                   spl_bone_weights *out, supple_error *error)
{
    size_t n = (size_t)in->elements->vertex_count;
    *out = (spl_bone_weights){.allocator = *a};
    out->bone = spl_new(a, n, K * sizeof *out->bone);
    out->weight = spl_new(a, n, K * sizeof *out->weight);
    work w = {.in = in};
    supple_result result = out->bone && out->weight ? SUPPLE_OK : spl_fail_memory(error, "the bones' weights");
    for (size_t i = 0; result == SUPPLE_OK && i < K * n; i++) out->bone[i] = -1;
    if (result == SUPPLE_OK) result = prepare(&w, pool, a, error);
    if (result == SUPPLE_OK && w.unknown_count > 0) result = solve_all(&w, out, error);
    if (result == SUPPLE_OK)
        normalise(in, out);
    else
        spl_bone_weights_release(out);
    spl_factor_destroy(w.factor);
    spl_assembly_release(&w.assembly, a);
    spl_free(a, w.unknown);
    spl_free(a, w.element);
    spl_free(a, w.batch_of);
    spl_free(a, w.value);
    spl_free(a, w.side);
    return result;
}

void spl_bone_weights_release(spl_bone_weights *w)
{
    if (!w->allocator.release) return;
    spl_free(&w->allocator, w->bone);
    spl_free(&w->allocator, w->weight);
    *w = (spl_bone_weights){0};
}
