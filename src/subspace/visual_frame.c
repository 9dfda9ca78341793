#include "subspace/visual.h"

#include "body/upsample_map.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

supple_result spl_visual_frame_create(const spl_visual *v, int32_t surface_count, const supple_allocator *a,
                                      spl_visual_frame *out, supple_error *error)
{
    size_t n = (size_t)v->vertex_count, carriers = (size_t)v->carrier_count;
    *out = (spl_visual_frame){.visual = v};
    float **vectors[] = {&out->own, &out->own_normal, &out->position, &out->normal};
    out->world = spl_new(a, carriers, sizeof *out->world);
    out->map = spl_new(a, carriers, sizeof *out->map);
    out->posed = spl_new(a, (size_t)surface_count, 3 * sizeof *out->posed);
    out->amount = spl_new(a, n, sizeof *out->amount);
    out->skinned = spl_new(a, n, sizeof *out->skinned);
    bool made = out->world && out->map && out->posed && out->amount && out->skinned;
    for (int k = 0; k < 4; k++) made = (*vectors[k] = spl_new(a, n, 3 * sizeof(float))) && made;
    supple_result result =
        made ? spl_upsample_frame_create(v->map, a, &out->upsample, error) : spl_fail_memory(error, "the visual mesh");
    if (result == SUPPLE_OK) result = spl_riders_frame_create(&v->riders, a, &out->riders, error);
    if (result != SUPPLE_OK) spl_visual_frame_release(out, a);
    return result;
}

void spl_visual_frame_release(spl_visual_frame *f, const supple_allocator *a)
{
    void *all[] = {f->world, f->map, f->posed, f->own, f->own_normal, f->position, f->normal, f->amount, f->skinned};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) spl_free(a, all[k]);
    spl_upsample_frame_destroy(f->upsample);
    spl_riders_frame_release(&f->riders);
    *f = (spl_visual_frame){0};
}

void spl_visual_frame_amount(spl_visual_frame *f, const float *amount)
{
    const spl_visual *v = f->visual;
    for (int32_t i = 0; i < v->vertex_count; i++) {
        const spl_upsample_vertex *at = &v->map->vertex[i];
        float sum = 0, weight = 0;
        bool whole = true;
        for (uint32_t k = 0; k < at->count; k++) { /* what it is made of, by how much */
            uint32_t vertex = v->map->index[at->first + k] / SPL_UPSAMPLE_STRIDE;
            float share = fabsf(v->map->weight[at->first + k]), of = amount[v->map->source[vertex]];
            if (share > 0 && of < 1) whole = false;
            sum += share * of;
            weight += share;
        }
        f->amount[i] = whole || !(weight > 0) ? 1 : sum / weight;
        f->skinned[i] = !v->flesh[i] || f->amount[i] < 1;
    }
    for (int32_t k = 0; k < v->riders.point_count; k++) /* riders see what flesh does beside own skinning there */
        if (v->riders.known[k] >= 0) f->skinned[v->riders.known[k]] = 1;
    f->fresh = false;
}

/* ---- own skinning ---- */

typedef struct showing {
    spl_visual_frame *f;
    float scale; /* from the body's space to the world */
} showing;

static void unit(float *n)
{
    float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int c = 0; c < 3; c++) n[c] = length > 0 ? n[c] / length : c == 2;
}

/* Where it is shown as it is, or beside flesh. */
static void skin_part(void *context, size_t begin, size_t end)
{
    const showing *s = context;
    const spl_visual *v = s->f->visual;
    for (size_t i = begin; i < end; i++) {
        double p[3] = {0}, n[3] = {0};
        if (!s->f->skinned[i]) continue;
        for (int32_t k = v->first[i]; k < v->first[i + 1]; k++) {
            const double *m = s->f->map[v->carrier[k]].m;
            const float *b = v->rest + 3 * i, *d = v->normal + 3 * i;
            double w = (double)v->weight[k];
            for (int c = 0; c < 3; c++) {
                p[c] += w * (m[c] * (double)b[0] + m[4 + c] * (double)b[1] + m[8 + c] * (double)b[2] + m[12 + c]);
                n[c] += w * (m[c] * (double)d[0] + m[4 + c] * (double)d[1] + m[8 + c] * (double)d[2]);
            }
        }
        for (size_t c = 0; c < 3; c++) {
            s->f->own[3 * i + c] = (float)p[c];
            s->f->own_normal[3 * i + c] = (float)n[c];
        }
        unit(s->f->own_normal + 3 * i);
    }
}

static void join_part(void *context, size_t begin, size_t end)
{
    const showing *s = context;
    spl_visual_frame *f = s->f;
    for (size_t i = begin; i < end; i++) {
        float a = f->visual->flesh[i] ? f->amount[i] : 0;
        float *x = f->position + 3 * i, *n = f->normal + 3 * i;
        if (a == 1) continue;
        for (size_t c = 0; c < 3; c++) {
            x[c] = a == 0 ? f->own[3 * i + c] : f->own[3 * i + c] + a * (x[c] - f->own[3 * i + c]);
            n[c] = a == 0 ? f->own_normal[3 * i + c] : f->own_normal[3 * i + c] + a * (n[c] - f->own_normal[3 * i + c]);
        }
        unit(n);
    }
}

/* From the body's space to the world; a mirrored one turns outward to inward. */
static void scale_part(void *context, size_t begin, size_t end)
{
    const showing *s = context;
    for (size_t k = 3 * begin; k < 3 * end; k++) s->f->position[k] *= s->scale;
    for (size_t k = 3 * begin; s->scale < 0 && k < 3 * end; k++) s->f->normal[k] = -s->f->normal[k];
}

static void set_carriers(spl_visual_frame *f, const spl_mat4 *world)
{
    const spl_visual *v = f->visual;
    for (int32_t c = 0; c < v->carrier_count; c++) {
        spl_mat4 map;
        memcpy(map.m, v->carrier_map + 16 * (size_t)c, sizeof map.m);
        f->world[c] = v->carrier_joint[c] >= 0 ? world[v->carrier_joint[c]] : spl_mat4_identity();
        f->map[c] = spl_mat4_mul(&f->world[c], &map);
    }
}

void spl_visual_frame_show(spl_visual_frame *f, const spl_visual_input *in, spl_pool *pool)
{
    enum { GRAIN = 512 };
    const spl_visual *v = f->visual;
    size_t n = (size_t)v->vertex_count;
    showing s = {f, (float)(v->metre / in->to_solver)};
    spl_upsample_target to = {f->position, 3 * sizeof(float), v->map->has_normals ? f->normal : NULL,
                              3 * sizeof(float)};
    if (f->fresh) return;
    for (size_t k = 0; k < 3 * (size_t)in->surface_count; k++)
        f->posed[k] = (float)(in->x[3 * (size_t)in->vertex[k / 3] + k % 3] * (1 / v->metre));
    spl_upsample_apply_float(v->map, f->upsample, pool, f->posed, &to);
    if (s.scale != 1) spl_parallel_for(pool, n, GRAIN, scale_part, &s);
    set_carriers(f, in->world);
    spl_parallel_for(pool, n, GRAIN, skin_part, &s);
    spl_pose pose = {.world = f->world};
    spl_riders_apply(&v->riders, &f->riders, &pose, f->posed, v->metre / in->to_solver, f->position, pool, f->own);
    spl_parallel_for(pool, n, GRAIN, join_part, &s);
    f->fresh = true;
}
