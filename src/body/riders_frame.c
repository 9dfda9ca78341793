/* Riders in a frame: all that playing needs of them. */
#include "body/riders.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

#define EVENED 0.50 /* share of its neighbours' mean that a point takes in a round ... */
enum { ROUNDS = 8 };

void spl_riders_release(spl_riders *r)
{
    if (!r->allocator.release) return;
    void *block[] = {r->known, r->taken,      r->vertex,     r->point,       r->first,
                     r->index, r->weight,     r->link_first, r->link,        r->body,
                     r->rest,  r->skin_first, r->skin_node,  r->skin_weight, r->home};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&r->allocator, block[i]);
    *r = (spl_riders){0};
}

/* ---- a frame ---- */

supple_result spl_riders_frame_create(const spl_riders *r, const supple_allocator *a, spl_riders_frame *out,
                                      supple_error *error)
{
    size_t n = (size_t)r->point_count;
    *out = (spl_riders_frame){.allocator = *a};
    out->map = spl_new(a, (size_t)r->node_count, sizeof *out->map);
    out->body = spl_new(a, (size_t)r->body_count, 3 * sizeof *out->body);
    out->added[0] = spl_new(a, n, 3 * sizeof(float));
    out->added[1] = spl_new(a, n, 3 * sizeof(float));
    if (out->map && out->body && out->added[0] && out->added[1]) return SUPPLE_OK;
    spl_riders_frame_release(out);
    return spl_fail_memory(error, "what follows the flesh");
}

void spl_riders_frame_release(spl_riders_frame *f)
{
    if (!f->allocator.release) return;
    spl_free(&f->allocator, f->map);
    spl_free(&f->allocator, f->body);
    spl_free(&f->allocator, f->added[0]);
    spl_free(&f->allocator, f->added[1]);
    *f = (spl_riders_frame){0};
}

typedef struct frame_work {
    const spl_riders *r;
    spl_riders_frame *f;
    const float *posed;
    double scale;
    int from; /* of `added` */
    const float *lifted, *own;
} frame_work;

static void differ(void *context, size_t begin, size_t end)
{
    const frame_work *w = context;
    const spl_riders *r = w->r;
    for (size_t i = begin; i < end; i++) {
        spl_vec3 own = spl_v3(0, 0, 0);
        for (int32_t k = r->skin_first[i]; k < r->skin_first[i + 1]; k++)
            own = spl_madd(own, spl_mat4_point(&w->f->map[r->skin_node[k]], r->rest[i]), (double)r->skin_weight[k]);
        spl_vec3 x = spl_scale(spl_v3_from_float(w->posed + 3 * (size_t)r->body[i]), w->scale);
        spl_v3_to_float(spl_sub(x, own), w->f->body + 3 * i);
    }
}

static void add_up(void *context, size_t begin, size_t end)
{
    const frame_work *w = context;
    const spl_riders *r = w->r;
    for (size_t p = begin; p < end; p++) {
        float *to = w->f->added[0] + 3 * p;
        to[0] = to[1] = to[2] = 0;
        if (r->known[p] >= 0)
            for (size_t c = 0, v = 3 * (size_t)r->known[p]; c < 3; c++) to[c] = w->lifted[v + c] - w->own[v + c];
        for (int32_t k = r->first[p]; k < r->first[p + 1]; k++)
            for (size_t c = 0; c < 3; c++) to[c] += r->weight[k] * w->f->body[3 * (size_t)r->index[k] + c];
    }
}

static void even_out(void *context, size_t begin, size_t end)
{
    const frame_work *w = context;
    const spl_riders *r = w->r;
    const float *from = w->f->added[w->from];
    for (size_t p = begin; p < end; p++) {
        float *to = w->f->added[!w->from] + 3 * p, mean[3] = {0};
        int32_t n = r->link_first[p + 1] - r->link_first[p];
        for (int32_t k = r->link_first[p]; k < r->link_first[p + 1]; k++)
            for (size_t c = 0; c < 3; c++) mean[c] += from[3 * (size_t)r->link[k] + c];
        float share = r->known[p] >= 0 || n == 0 ? 0 : r->taken[p] ? 1 : (float)EVENED;
        for (size_t c = 0; c < 3; c++) {
            float old = from[3 * p + c];
            to[c] = share > 0 ? old + share * (mean[c] / (float)n - old) : old;
        }
    }
}

void spl_riders_apply(const spl_riders *r, spl_riders_frame *f, const spl_pose *pose, const float *posed, double scale,
                      const float *lifted, spl_pool *pool, float *own)
{
    frame_work w = {.r = r, .f = f, .posed = posed, .scale = scale, .lifted = lifted, .own = own};
    if (r->vertex_count == 0) return;
    for (size_t n = 0; n < (size_t)r->node_count; n++) f->map[n] = spl_mat4_mul(&pose->world[n], &r->home[n]);
    spl_parallel_for(pool, (size_t)r->body_count, 512, differ, &w);
    spl_parallel_for(pool, (size_t)r->point_count, 512, add_up, &w);
    for (int round = 0; round < ROUNDS; round++, w.from = !w.from)
        spl_parallel_for(pool, (size_t)r->point_count, 1024, even_out, &w);
    for (int32_t i = 0; i < r->vertex_count; i++)
        for (size_t c = 0; c < 3; c++)
            own[3 * (size_t)r->vertex[i] + c] += f->added[w.from][3 * (size_t)r->point[i] + c];
}
