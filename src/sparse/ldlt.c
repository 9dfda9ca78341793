#include "sparse/ldlt_private.h"

#include "core/error.h"
#include "core/memory.h"

enum { LANES = 4 }; /* of the solves' work vectors, at most */

const spl_symbolic *spl_ldlt_symbolic(const spl_ldlt *f)
{
    return &f->symbolic;
}

bool spl_ldlt_ready(const spl_ldlt *f)
{
    return f->ready;
}

size_t spl_ldlt_bytes(const spl_ldlt *f, bool single)
{
    const spl_symbolic *s = &f->symbolic;
    return s->panel[s->count] * (single ? sizeof(float) : sizeof(double)) + s->row_start[s->count] * sizeof *s->rows;
}

static void *align64(void *block)
{
    return (void *)(((uintptr_t)block + 63) & ~(uintptr_t)63);
}

static bool allocate_slot(spl_ldlt_slot *slot, const spl_symbolic *s, const supple_allocator *a)
{
    enum { W = SPL_MAX_WIDTH };
    slot->offset = spl_new(a, (size_t)s->n + 1, sizeof *slot->offset);
    slot->place = spl_new(a, (size_t)s->max_rows, sizeof *slot->place);
    slot->packed = spl_new(a, (size_t)W * W, sizeof *slot->packed);
    slot->diagonal.packed = spl_new(a, (size_t)W * W / 2, sizeof *slot->packed);
    slot->diagonal.corner = spl_new(a, (size_t)W * SPL_TILE, sizeof *slot->packed);
    return slot->offset && slot->place && slot->packed && slot->diagonal.packed && slot->diagonal.corner;
}

static bool allocate(spl_ldlt *f)
{
    const supple_allocator *a = &f->allocator;
    const spl_symbolic *s = &f->symbolic;
    size_t n = (size_t)s->n, panels = s->panel[s->count] + SPL_LDLT_SLACK;
    f->memory = spl_new(a, panels + 8, sizeof *f->values);
    f->pivot = spl_new(a, n, sizeof *f->pivot);
    f->inverse = spl_new(a, n, sizeof *f->inverse);
    f->diagonal = spl_new(a, n, sizeof *f->diagonal);
    f->x = spl_new(a, n + 1, LANES * sizeof(double));
    f->y = spl_new(a, (size_t)s->max_rows, LANES * sizeof(double));
    f->slots = spl_new(a, (size_t)f->slot_count, sizeof *f->slots);
    if (!f->memory || !f->pivot || !f->inverse || !f->diagonal || !f->x || !f->y || !f->slots) return false;
    f->values = align64(f->memory);
    for (int32_t i = 0; i < f->slot_count; i++)
        if (!allocate_slot(&f->slots[i], s, a)) return false;
    if (!f->options.single) return true;
    f->inverse_float = spl_new(a, n, sizeof *f->inverse_float);
    f->memory_float = f->options.once ? NULL : spl_new(a, panels + 16, sizeof *f->values_float);
    if (!f->inverse_float || (!f->memory_float && !f->options.once)) return false;
    f->values_float = f->options.once ? NULL : align64(f->memory_float);
    return spl_ldlt_parts_create(s, a, &f->parts);
}

supple_result spl_ldlt_create(const spl_pattern *p, const spl_ldlt_options *options, const supple_allocator *a,
                              spl_pool *pool, spl_ldlt **out, supple_error *error)
{
    *out = NULL;
    spl_ldlt *f = spl_new(a, 1, sizeof *f);
    if (!f) return spl_fail_memory(error, "a sparse factor");
    f->allocator = *a;
    f->pool = pool;
    f->options = options ? *options : (spl_ldlt_options){0};
    f->kernels = spl_panel_kernels_of(f->options.plain);
    f->slot_count = spl_pool_thread_count(pool) > 1 ? SPL_BINS : 1;
    supple_result result = spl_symbolic_create(p, f->options.order, a, &f->symbolic, error);
    if (result == SUPPLE_OK && !allocate(f))
        result = spl_fail(error, SUPPLE_ERROR_MEMORY, "out of memory for a sparse factor of %zu MB",
                          spl_ldlt_bytes(f, false) >> 20);
    if (result == SUPPLE_OK)
        *out = f;
    else
        spl_ldlt_destroy(f);
    return result;
}

void spl_ldlt_destroy(spl_ldlt *f)
{
    if (!f) return;
    supple_allocator a = f->allocator;
    for (int32_t i = 0; f->slots && i < f->slot_count; i++) {
        spl_ldlt_slot *slot = &f->slots[i];
        void *blocks[] = {slot->offset, slot->place, slot->packed, slot->diagonal.packed, slot->diagonal.corner};
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) spl_free(&a, blocks[b]);
    }
    void *blocks[] = {f->memory,        f->memory_float, f->pivot, f->inverse, f->diagonal,
                      f->inverse_float, f->slots,        f->x,     f->y};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) spl_free(&a, blocks[b]);
    spl_ldlt_parts_release(&f->parts, &a);
    spl_symbolic_release(&f->symbolic, &a);
    spl_free(&a, f);
}

/* Right-hand sides [c, c + count) of k into the work vector, in elimination order, and back. */
#define EXCHANGE(name, real, to_work)                                                                                  \
    static void name(const spl_ldlt *f, real *x, int32_t k, int32_t c, int32_t count, int32_t lanes, real *work)       \
    {                                                                                                                  \
        const spl_symbolic *s = &f->symbolic;                                                                          \
        for (int32_t i = 0; i < s->n; i++) {                                                                           \
            int32_t from = s->block == 1 ? s->order[i] : s->order[i / s->block] * s->block + i % s->block;             \
            real *user = x + (size_t)from * (size_t)k + c, *own = work + (size_t)i * (size_t)lanes;                    \
            for (int32_t r = 0; r < count; r++) {                                                                      \
                if (to_work)                                                                                           \
                    own[r] = user[r];                                                                                  \
                else                                                                                                   \
                    user[r] = own[r];                                                                                  \
            }                                                                                                          \
            for (int32_t r = count; to_work && r < lanes; r++) own[r] = 0;                                             \
        }                                                                                                              \
        for (int32_t r = 0; to_work && r < lanes; r++) work[(size_t)s->n * (size_t)lanes + (size_t)r] = 0;             \
    }
EXCHANGE(take_in, double, true)
EXCHANGE(give_back, double, false)

void spl_ldlt_solve(spl_ldlt *f, double *x, int32_t k)
{
    const spl_symbolic *s = &f->symbolic;
    for (int32_t c = 0, count; c < k; c += count) {
        int32_t lanes = k - c == 1 ? 1 : 4;
        count = k - c < lanes ? k - c : lanes;
        take_in(f, x, k, c, count, lanes, f->x);
        for (int32_t j = 0; j < s->count; j++) /* x = L \ x */
            f->kernels->forward(f->values + s->panel[j], s->rows + s->row_start[j], s->first[j + 1] - s->first[j],
                                (int32_t)((s->row_start[j + 1] - s->row_start[j]) / SPL_TILE), lanes, f->x);
        for (int32_t j = s->count - 1; j >= 0; j--) /* x = L^T \ D \ x */
            f->kernels->backward(f->values + s->panel[j], s->rows + s->row_start[j], s->first[j + 1] - s->first[j],
                                 (int32_t)((s->row_start[j + 1] - s->row_start[j]) / SPL_TILE), lanes,
                                 f->inverse + s->first[j], f->x, f->y);
        give_back(f, x, k, c, count, lanes, f->x);
    }
}
