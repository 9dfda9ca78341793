#include "sparse/ldlt_private.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

enum {
    TOP = SPL_PARTS,
    LANES = 8,
    SMALLEST = 40000, /* numbers of a factor below which threads do not pay: 20 microseconds */
};

/* ---- division ---- */

static double own_work(const spl_symbolic *s, int32_t j)
{
    return (double)(s->panel[j + 1] - s->panel[j]) + 64;
}

/* Subtrees of at most `share` go to the part with least work, what is above them to the top. Returns the time of two
 * threads, in numbers that are read. */
static double divide(const spl_symbolic *s, const double *subtree, double share, int8_t *part)
{
    double load[SPL_PARTS + 1] = {0}, most = 0, sum = 0;
    for (int32_t j = s->count - 1; j >= 0; j--) {
        int32_t up = s->parent[j];
        if (up >= 0 && part[up] < TOP) {
            part[j] = part[up];
        } else if (subtree[j] > share) {
            part[j] = TOP;
            load[TOP] += own_work(s, j);
        } else {
            int8_t best = 0;
            for (int8_t k = 1; k < TOP; k++)
                if (load[k] < load[best]) best = k;
            part[j] = best;
            load[best] += subtree[j];
        }
    }
    for (int k = 0; k < TOP; k++) {
        most = fmax(most, load[k]);
        sum += load[k];
    }
    return load[TOP] + fmax(most, sum / 2);
}

static bool choose(const spl_symbolic *s, const supple_allocator *a, bool *whole, int8_t *part)
{
    double *subtree = spl_new(a, (size_t)s->count, sizeof *subtree), total = 0, best = INFINITY, share = 0;
    if (!subtree) return false;
    for (int32_t j = 0; j < s->count; j++) {
        subtree[j] += own_work(s, j);
        total += own_work(s, j);
        if (s->parent[j] >= 0) subtree[s->parent[j]] += subtree[j];
    }
    *whole = total < SMALLEST;
    for (double cut = 0.5; cut > 0.02 && !*whole; cut *= 0.7) {
        double time = divide(s, subtree, cut * total, part);
        if (time < best) best = time, share = cut * total;
    }
    for (int32_t j = 0; j < s->count; j++) part[j] = TOP;
    if (!*whole) divide(s, subtree, share, part);
    spl_free(a, subtree);
    return true;
}

static bool take_memory(const spl_symbolic *s, const supple_allocator *a, spl_ldlt_parts *p)
{
    size_t rows = (size_t)s->n + 1 + (size_t)s->max_rows, each = (rows * LANES + 31) & ~(size_t)15;
    int first = p->whole ? TOP : 0;
    p->memory = spl_new(a, (size_t)(TOP + 1 - first) * each + 16, sizeof(float));
    if (!p->memory) return false;
    float *at = (float *)(void *)(((uintptr_t)p->memory + 63) & ~(uintptr_t)63);
    for (int k = first; k <= TOP; k++, at += each) {
        p->x[k] = at;
        p->y[k] = at + ((size_t)s->n + 1) * LANES;
    }
    return true;
}

bool spl_ldlt_parts_create(const spl_symbolic *s, const supple_allocator *a, spl_ldlt_parts *out)
{
    *out = (spl_ldlt_parts){0};
    int8_t *part = spl_new(a, (size_t)s->count, sizeof *part);
    out->list = spl_new(a, (size_t)s->count, sizeof *out->list);
    bool done = part && out->list && choose(s, a, &out->whole, part) && take_memory(s, a, out);
    int32_t at = 0;
    for (int k = 0; done && k <= TOP; k++) {
        out->start[k] = at;
        for (int32_t j = 0; j < s->count; j++)
            if (part[j] == k) out->list[at++] = j;
    }
    out->start[TOP + 1] = at;
    spl_free(a, part);
    return done;
}

void spl_ldlt_parts_release(spl_ldlt_parts *p, const supple_allocator *a)
{
    spl_free(a, p->list);
    spl_free(a, p->memory);
    *p = (spl_ldlt_parts){0};
}

/* ---- solves ---- */

/* Right-hand sides [c, c + count) of k, in `lanes` of a work vector. */
typedef struct solve {
    spl_ldlt *f;
    float *user;
    int32_t k, c, count, lanes;
} solve;

/* Rows of a part between the caller's order and its work vector. The counts are constants where it matters, so that
 * compilers unroll. */
static inline __attribute__((always_inline)) void move_rows(const solve *w, int part, bool in, int32_t count,
                                                            int32_t lanes)
{
    const spl_symbolic *s = &w->f->symbolic;
    const spl_ldlt_parts *p = &w->f->parts;
    for (int32_t q = p->start[part]; q < p->start[part + 1]; q++)
        for (int32_t i = s->first[p->list[q]]; i < s->first[p->list[q] + 1]; i++) {
            int32_t row = s->block == 1 ? s->order[i] : s->order[i / s->block] * s->block + i % s->block;
            float *user = w->user + (size_t)row * (size_t)w->k + (size_t)w->c;
            float *own = p->x[part] + (size_t)i * (size_t)lanes;
            for (int32_t r = 0; r < count; r++) *(in ? &own[r] : &user[r]) = in ? user[r] : own[r];
            for (int32_t r = count; in && r < lanes; r++) own[r] = 0;
        }
}

static void take_in(const solve *w, int part)
{
    float *spare = w->f->parts.x[part] + (size_t)w->f->symbolic.n * (size_t)w->lanes;
    if (w->count == 3)
        move_rows(w, part, true, 3, 4);
    else if (w->count == LANES)
        move_rows(w, part, true, LANES, LANES);
    else
        move_rows(w, part, true, w->count, w->lanes);
    for (int32_t r = 0; r < w->lanes; r++) spare[r] = 0;
}

static void give_back(const solve *w, int part)
{
    if (w->count == 3)
        move_rows(w, part, false, 3, 4);
    else if (w->count == LANES)
        move_rows(w, part, false, LANES, LANES);
    else
        move_rows(w, part, false, w->count, w->lanes);
}

/* What a part's vector has in the top's rows: nothing yet; its share of them added to the top's; or the top's. */
typedef enum exchange { CLEAR, ADD, COPY } exchange;

static void exchange_top(const solve *w, int part, exchange what)
{
    const spl_symbolic *s = &w->f->symbolic;
    const spl_ldlt_parts *p = &w->f->parts;
    for (int32_t q = p->start[TOP]; q < p->start[TOP + 1]; q++) {
        size_t begin = (size_t)s->first[p->list[q]] * (size_t)w->lanes;
        size_t count = (size_t)(s->first[p->list[q] + 1] - s->first[p->list[q]]) * (size_t)w->lanes;
        float *own = p->x[part] + begin, *top = p->x[TOP] + begin;
        if (what == CLEAR) memset(own, 0, count * sizeof *own);
        if (what == COPY) memcpy(own, top, count * sizeof *own);
        for (size_t i = 0; what == ADD && i < count; i++) top[i] += own[i];
    }
}

static void forward(const solve *w, int part)
{
    const spl_ldlt *f = w->f;
    const spl_symbolic *s = &f->symbolic;
    for (int32_t q = f->parts.start[part]; q < f->parts.start[part + 1]; q++) {
        int32_t j = f->parts.list[q];
        f->kernels->forward_float(
            f->values_float + s->panel[j], s->rows + s->row_start[j], s->first[j + 1] - s->first[j],
            (int32_t)((s->row_start[j + 1] - s->row_start[j]) / SPL_TILE), w->lanes, f->parts.x[part]);
    }
}

static void backward(const solve *w, int part)
{
    const spl_ldlt *f = w->f;
    const spl_symbolic *s = &f->symbolic;
    for (int32_t q = f->parts.start[part + 1] - 1; q >= f->parts.start[part]; q--) {
        int32_t j = f->parts.list[q];
        f->kernels->backward_float(f->values_float + s->panel[j], s->rows + s->row_start[j],
                                   s->first[j + 1] - s->first[j],
                                   (int32_t)((s->row_start[j + 1] - s->row_start[j]) / SPL_TILE), w->lanes,
                                   f->inverse_float + s->first[j], f->parts.x[part], f->parts.y[part]);
    }
}

static void go_up(void *context, size_t begin, size_t end)
{
    for (size_t part = begin; part < end; part++) {
        take_in(context, (int)part);
        exchange_top(context, (int)part, CLEAR);
        forward(context, (int)part);
    }
}

static void go_down(void *context, size_t begin, size_t end)
{
    for (size_t part = begin; part < end; part++) {
        exchange_top(context, (int)part, COPY);
        backward(context, (int)part);
        give_back(context, (int)part);
    }
}

void spl_ldlt_solve_float(spl_ldlt *f, float *x, int32_t k)
{
    size_t parts = f->parts.whole ? 0 : SPL_PARTS;
    for (int32_t c = 0, count; c < k; c += count) {
        int32_t lanes = k - c == 1 ? 1 : k - c <= 4 ? 4 : LANES;
        count = k - c < lanes ? k - c : lanes;
        solve w = {f, x, k, c, count, lanes};
        spl_parallel_for(f->pool, parts, 1, go_up, &w);
        take_in(&w, TOP);
        for (size_t part = 0; part < parts; part++) exchange_top(&w, (int)part, ADD);
        forward(&w, TOP);
        backward(&w, TOP);
        give_back(&w, TOP);
        spl_parallel_for(f->pool, parts, 1, go_down, &w);
    }
}
