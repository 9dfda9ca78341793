/* An upsampling map as a thing: what does not ask how it is found. */
#include "body/upsample_map.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

void spl_upsample_destroy(spl_upsample *u)
{
    if (!u) return;
    supple_allocator a = u->allocator;
    void *block[] = {u->vertex, u->index, u->weight, u->normal_weight, u->normal_offset, u->tangent,
                     u->offset, u->fixed, u->source, u->fan_first,     u->fan,           u->lift};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&a, block[i]);
    spl_free(&a, u);
}

spl_upsample_stats spl_upsample_get_stats(const spl_upsample *u)
{
    return u->stats;
}

int32_t spl_upsample_weights(const spl_upsample *u, int32_t vertex, int32_t capacity, int32_t *index, float *weight)
{
    const spl_upsample_vertex *v = &u->vertex[vertex];
    int32_t n = 0;
    for (uint32_t k = 0; k < v->count && n < capacity; k++) {
        if (u->weight[v->first + k] == 0) continue;
        index[n] = (int32_t)(u->index[v->first + k] / SPL_UPSAMPLE_STRIDE);
        weight[n++] = u->weight[v->first + k];
    }
    return n;
}

void spl_upsample_note_offsets(spl_upsample *u)
{
    for (int32_t v = 0; v < u->vertex_count && !u->has_offsets; v++) u->has_offsets = u->vertex[v].frame >= 0;
}

supple_result spl_upsample_read_surface(spl_upsample *u, supple_error *error)
{
    const spl_surface *s = u->surface;
    size_t n = (size_t)s->vertex_count, total = 0;
    u->source = spl_new(&u->allocator, n, sizeof *u->source);
    u->fan_first = spl_new(&u->allocator, n + 1, sizeof *u->fan_first);
    if (!u->source || !u->fan_first) return spl_fail_memory(error, "the body's surface");
    for (int32_t v = s->input_vertex_count; v-- > 0;)
        if (s->map[v] >= 0) u->source[s->map[v]] = v;
    for (size_t v = 0; v < n; v++) { /* below 8 n + 3 triangle_count */
        u->fan_first[v] = (int32_t)total;
        size_t count = (size_t)(s->corner_first[v + 1] - s->corner_first[v]);
        total += (count + SPL_UPSAMPLE_FAN - 1) / SPL_UPSAMPLE_FAN * SPL_UPSAMPLE_FAN;
    }
    if (total > INT32_MAX) return spl_fail(error, SUPPLE_ERROR_INPUT, "the body's surface has too many vertices");
    u->fan_first[n] = (int32_t)total;
    u->fan = spl_new(&u->allocator, total, sizeof *u->fan);
    if (!u->fan) return spl_fail_memory(error, "the body's surface");
    for (size_t v = 0; v < n; v++) {
        int32_t c = s->corner_first[v];
        for (int32_t k = u->fan_first[v]; k < u->fan_first[v + 1]; k++)
            u->fan[k] = c < s->corner_first[v + 1] ? s->corner[c++] / 3 : s->triangle_count;
    }
    return SUPPLE_OK;
}

static void *twin(const supple_allocator *a, const void *from, size_t count, size_t size)
{
    void *to = spl_new(a, count, size);
    if (to && count && from) memcpy(to, from, count * size);
    return to;
}

supple_result spl_upsample_copy(const spl_upsample *from, const spl_surface *surface, const supple_allocator *a,
                                spl_upsample **out, supple_error *error)
{
    size_t n = (size_t)from->vertex_count;
    spl_upsample *u = spl_new(a, 1, sizeof *u);
    *out = NULL;
    if (!u) return spl_fail_memory(error, "upsampling weights");
    *u = *from;
    u->allocator = *a;
    u->surface = surface;
    u->source = u->fan_first = u->fan = NULL;
    u->vertex = twin(a, from->vertex, n, sizeof *u->vertex);
    u->index = twin(a, from->index, u->entry_count, sizeof *u->index);
    u->weight = twin(a, from->weight, u->entry_count, sizeof *u->weight);
    u->normal_weight = twin(a, from->normal_weight, u->normal_count, sizeof *u->normal_weight);
    u->normal_offset = twin(a, from->normal_offset, u->has_normals ? n : 0, 3 * sizeof *u->normal_offset);
    u->tangent = twin(a, from->tangent, u->tangent_count, sizeof *u->tangent);
    u->offset = twin(a, from->offset, u->offset_count, sizeof *u->offset);
    u->fixed = twin(a, from->fixed, (size_t)u->fixed_count, sizeof *u->fixed);
    u->lift = from->lift ? twin(a, from->lift, n, sizeof *u->lift) : NULL;
    bool made = u->vertex && u->index && u->weight && u->normal_weight && u->normal_offset && u->tangent && u->offset &&
                u->fixed && (u->lift || !from->lift);
    supple_result result = made ? spl_upsample_read_surface(u, error) : spl_fail_memory(error, "upsampling weights");
    if (result == SUPPLE_OK)
        *out = u;
    else
        spl_upsample_destroy(u);
    return result;
}
