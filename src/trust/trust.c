#include "trust/trust.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

#define STRETCH 1.75  /* K: times the longer of rest and own length that an edge may have */
#define TINY    0.003 /* of the diagonal: an edge may have that length anyway */
#define SLOPE   0.5   /* of a link's length that a step of trust may add to it */
#define NEARLY  0.85  /* of a bound of harm: from there it is answered */
#define FAR                                                                                                            \
    0.95 /* of that of distances: in a twisted limb it is own skinning that is wrong, and only the excess goes */
#define FOLD_STEP 0.5  /* of trust that is left of a fold, each time it is seen */
#define LITTLE    0.02 /* of trust: less is none, and what is missing less than that is not worth a pass */

/* ---- life ---- */

supple_result spl_trust_make(const spl_trust_mesh *mesh, const supple_allocator *a, spl_trust *out, supple_error *error)
{
    size_t n = (size_t)mesh->point_count;
    *out = (spl_trust){.allocator = *a, .mesh = mesh};
    out->seed = spl_new(a, n, sizeof *out->seed);
    out->reach = spl_new(a, n, sizeof *out->reach);
    out->value = spl_new(a, n, sizeof *out->value);
    out->heap = spl_new(a, n, sizeof *out->heap);
    out->slot = spl_new(a, n, sizeof *out->slot);
    if (!out->seed || !out->reach || !out->value || !out->heap || !out->slot) {
        spl_trust_release(out);
        return spl_fail_memory(error, "trust");
    }
    spl_trust_reset(out);
    return SUPPLE_OK;
}

void spl_trust_release(spl_trust *t)
{
    const supple_allocator *a = &t->allocator;
    if (!a->release) return;
    void *block[] = {t->seed, t->reach, t->value, t->heap, t->slot};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    *t = (spl_trust){0};
}

void spl_trust_reset(spl_trust *t)
{
    size_t n = (size_t)t->mesh->point_count;
    for (size_t p = 0; p < n; p++) t->seed[p] = t->value[p] = 1;
    memset(t->reach, 0, n * sizeof *t->reach);
    t->lowered = false;
}

void spl_trust_start(spl_trust *t, const float *seed, const float *reach)
{
    size_t n = (size_t)t->mesh->point_count;
    memcpy(t->seed, seed, n * sizeof *t->seed);
    memcpy(t->reach, reach, n * sizeof *t->reach);
    t->lowered = true;
    spl_trust_settle(t);
}

/* ---- bounds ---- */

static double distance(const float *p, const float *q)
{
    return spl_distance(spl_v3_from_float(p), spl_v3_from_float(q));
}

/* `share` of what a point has now. */
static void lower(spl_trust *t, int32_t p, double share)
{
    double bound = (double)t->value[p] * fmax(share, 0);
    if (bound < LITTLE) bound = 0;
    if (!(bound < (double)t->seed[p])) return;
    t->seed[p] = (float)bound;
    t->lowered = true;
}

static void see_edges(spl_trust *t, const spl_trust_frame *f)
{
    const spl_trust_mesh *m = t->mesh;
    for (size_t e = 0; e < (size_t)m->first_edge[m->part_count]; e++) {
        size_t i = (size_t)m->edge[2 * e], j = (size_t)m->edge[2 * e + 1];
        double shown = distance(f->shown + 3 * i, f->shown + 3 * j), most = STRETCH * (double)m->length[e];
        if (!(shown > fmax(most, TINY * m->diagonal))) continue;
        double own = distance(f->own + 3 * i, f->own + 3 * j);
        most = fmax(fmax(most, STRETCH * own), TINY * m->diagonal);
        if (!(shown > most)) continue;
        double share = f->share * (most - own) / (shown - own);
        lower(t, m->point[i], share);
        lower(t, m->point[j], share);
    }
}

static void see_folds(spl_trust *t, const spl_trust_frame *f)
{
    const spl_trust_mesh *m = t->mesh;
    if (!(f->harm->all.folded > NEARLY * spl_harm_bounds.folded)) return;
    for (size_t k = 0; k < (size_t)m->first_triangle[m->part_count]; k++)
        for (size_t c = 0; f->harm->folded[k] && c < 3; c++)
            lower(t, m->point[m->triangle[3 * k + c]], FOLD_STEP * f->share);
}

static void see_pieces(spl_trust *t, const spl_trust_frame *f)
{
    const spl_trust_mesh *m = t->mesh;
    double most = NEARLY * spl_harm_bounds.lost * m->diagonal;
    if (f->may_be_lost || !(f->harm->all.lost > NEARLY * spl_harm_bounds.lost)) return;
    for (int32_t p = 0; p < m->point_count; p++) {
        const double *s = f->harm->piece_sum + 3 * (size_t)m->piece[p];
        double off = spl_norm(spl_v3(s[0], s[1], s[2])) / m->piece_vertices[m->piece[p]];
        if (off > most) lower(t, p, f->share * most / off);
    }
}

static void see_places(spl_trust *t, const spl_trust_frame *f)
{
    const spl_trust_mesh *m = t->mesh;
    bool far = f->harm->all.far > FAR * spl_harm_bounds.far;
    double most = FAR * spl_harm_bounds.far * m->diagonal, apart = NEARLY * spl_harm_bounds.cracks * m->diagonal;
    for (size_t v = 0; v < (size_t)m->vertex_count; v++) {
        int32_t p = m->point[v], n = f->harm->copies[p];
        double off = distance(f->flesh + 3 * v, f->own + 3 * v);
        t->reach[p] = fmaxf(t->reach[p], (float)off);
        off *= (double)t->value[p];
        if (!f->may_be_far && off > (far ? most : 2 * most)) lower(t, p, f->share * (far ? most : 2 * most) / off);
        if (n < 2) continue;
        const double *s = f->harm->point_sum + 3 * (size_t)p;
        double crack = spl_distance(spl_v3(s[0] / n, s[1] / n, s[2] / n), spl_v3_from_float(f->shown + 3 * v));
        if (crack > apart) lower(t, p, f->share * apart / crack);
    }
}

void spl_trust_see(spl_trust *t, const spl_trust_frame *frame)
{
    see_places(t, frame);
    see_edges(t, frame);
    see_folds(t, frame);
    see_pieces(t, frame);
}

void spl_trust_see_pops(spl_trust *t, const float *ratio, double share)
{
    for (size_t v = 0; v < (size_t)t->mesh->vertex_count; v++)
        if (ratio[v] < 1) lower(t, t->mesh->point[v], share * (double)ratio[v]);
}

/* ---- the field ---- */

static bool before(const float *key, int32_t p, int32_t q)
{
    return key[p] != key[q] ? key[p] < key[q] : p < q;
}

static void put(spl_trust *t, int32_t at, int32_t p)
{
    t->heap[at] = p;
    t->slot[p] = at;
}

static void rise(spl_trust *t, const float *key, int32_t p)
{
    int32_t at = t->slot[p];
    if (at < 0) at = t->heap_count++;
    for (; at > 0 && before(key, p, t->heap[(at - 1) / 2]); at = (at - 1) / 2) put(t, at, t->heap[(at - 1) / 2]);
    put(t, at, p);
}

static int32_t take(spl_trust *t, const float *key)
{
    int32_t first = t->heap[0], p = t->heap[--t->heap_count], at = 0;
    t->slot[first] = -1;
    if (t->heap_count == 0) return first;
    for (int32_t child; (child = 2 * at + 1) < t->heap_count; at = child) {
        if (child + 1 < t->heap_count && before(key, t->heap[child + 1], t->heap[child])) child++;
        if (!before(key, t->heap[child], p)) break;
        put(t, at, t->heap[child]);
    }
    put(t, at, p);
    return first;
}

void spl_trust_spread(spl_trust *t, float *bound)
{
    const spl_trust_mesh *m = t->mesh;
    t->heap_count = 0;
    for (int32_t p = 0; p < m->point_count; p++) t->slot[p] = -1;
    for (int32_t p = 0; p < m->point_count; p++)
        if (bound[p] < 1) rise(t, bound, p);
    while (t->heap_count > 0) {
        int32_t p = take(t, bound);
        for (int32_t k = m->link_first[p]; k < m->link_first[p + 1]; k++) {
            int32_t q = m->link[k];
            double reach = fmax((double)t->reach[p], (double)t->reach[q]);
            double most = (double)bound[p] + SLOPE * (double)m->link_length[k] / fmax(reach, 1e-30);
            if (!(most < (double)bound[q])) continue;
            bound[q] = (float)most;
            rise(t, bound, q);
        }
    }
}

void spl_trust_settle(spl_trust *t)
{
    if (!t->lowered) return;
    memcpy(t->value, t->seed, (size_t)t->mesh->point_count * sizeof *t->value);
    spl_trust_spread(t, t->value);
    t->lowered = false;
}

void spl_trust_blend(const spl_trust_mesh *mesh, const float *amount, const float *own, const float *flesh, float *out)
{
    for (size_t v = 0; v < (size_t)mesh->vertex_count; v++) {
        float a = amount[mesh->point[v]];
        for (size_t i = 3 * v; i < 3 * v + 3; i++)
            out[i] = a == 1 ? flesh[i] : a == 0 ? own[i] : own[i] + a * (flesh[i] - own[i]);
    }
}
