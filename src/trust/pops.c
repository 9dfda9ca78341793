#include "trust/pops.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

#define STILL     0.005 /* of the diagonal: smaller jumps are none, at RATE frames a second and more */
#define RATE      30
#define OWN_SHARE 0.25 /* of the jumps of own skinning in this frame and its neighbours, which may be added */
enum { GRAIN = 4096 };

supple_result spl_pops_make(const spl_trust_mesh *mesh, const supple_allocator *a, spl_pops *out, supple_error *error)
{
    size_t n = (size_t)mesh->vertex_count;
    *out = (spl_pops){.allocator = *a, .mesh = mesh, .still = STILL, .ratio = spl_new(a, n, sizeof *out->ratio)};
    bool all = out->ratio != NULL;
    for (int k = 0; k < SPL_POPS_FRAMES; k++) {
        out->own[k] = spl_new(a, n, 3 * sizeof *out->own[k]);
        out->added[k] = spl_new(a, n, 3 * sizeof *out->added[k]);
        all = all && out->own[k] && out->added[k];
    }
    if (all) return SUPPLE_OK;
    spl_pops_release(out);
    return spl_fail_memory(error, "the measure of jumps");
}

void spl_pops_release(spl_pops *p)
{
    const supple_allocator *a = &p->allocator;
    if (!a->release) return;
    for (int k = 0; k < SPL_POPS_FRAMES; k++) {
        spl_free(a, p->own[k]);
        spl_free(a, p->added[k]);
    }
    spl_free(a, p->ratio);
    *p = (spl_pops){0};
}

void spl_pops_set_rate(spl_pops *p, double fps)
{
    double longer = fps < RATE ? RATE / fps : 1;
    p->still = STILL * longer * longer;
}

void spl_pops_reset(spl_pops *p)
{
    p->frames = 0;
}

/* A frame's place in the ring. */
static size_t slot(int32_t frame)
{
    return (size_t)(frame % SPL_POPS_FRAMES);
}

/* |x(f + 1) - 2 x(f) + x(f - 1)| / 2 of a vertex. */
static double jump(float *const *ring, int32_t frame, size_t v)
{
    double square = 0;
    for (size_t c = 3 * v; c < 3 * v + 3; c++) {
        double d =
            (double)ring[slot(frame + 1)][c] - 2 * (double)ring[slot(frame)][c] + (double)ring[slot(frame - 1)][c];
        square += d * d;
    }
    return sqrt(square) / 2;
}

typedef struct judged {
    spl_pops *pops;
    int32_t frame;
} judged;

static void judge_vertices(void *context, size_t begin, size_t end)
{
    const judged *j = context;
    spl_pops *p = j->pops;
    for (size_t v = begin; v < end; v++) {
        double own = 0, added = jump(p->added, j->frame, v);
        p->ratio[v] = 1;
        if (!(added > p->still * p->mesh->diagonal)) continue;
        for (int32_t f = j->frame - 1; f <= j->frame + 1; f++)
            if (f > 0 && f < p->frames - 1) own = fmax(own, jump(p->own, f, v));
        double allowed = p->still * p->mesh->diagonal + OWN_SHARE * own;
        if (added > allowed) p->ratio[v] = (float)(allowed / added);
    }
}

static double judge(spl_pops *p, int32_t frame, spl_pool *pool)
{
    size_t n = (size_t)p->mesh->vertex_count, count = 0;
    judged j = {p, frame};
    if (frame < 1 || frame > p->frames - 2) return 0;
    spl_parallel_for(pool, n, GRAIN, judge_vertices, &j);
    for (size_t v = 0; v < n; v++) count += p->ratio[v] < 1;
    return n ? (double)count / (double)n : 0;
}

double spl_pops_push(spl_pops *p, const float *own, const float *shown, spl_pool *pool)
{
    size_t n = 3 * (size_t)p->mesh->vertex_count, at = slot(p->frames);
    memcpy(p->own[at], own, n * sizeof *own);
    for (size_t i = 0; i < n; i++) p->added[at][i] = shown[i] - own[i];
    p->frames++;
    return judge(p, p->frames - 3, pool);
}

double spl_pops_finish(spl_pops *p, spl_pool *pool)
{
    return judge(p, p->frames - 2, pool);
}
