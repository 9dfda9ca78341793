#include "body/squeeze.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/mat3.h"

#include <math.h>
#include <string.h>

static const double SHARE = 0.1;               /* of the mean edge: how far from p the upsampling may place */
static const double OUTSIDE = 0.05, END = 0.3; /* barycentric: where the limit begins to grow, where there is none */

static const double SAME = 0.5; /* of the weights: less in common, and the tet is another limb's */

enum { RINGS = 2, GRAIN = 256 };

typedef struct hold {
    int32_t corner[4]; /* -1: free */
    float share[4];
    float most;
} hold;

struct spl_squeeze {
    supple_allocator allocator;
    size_t count;
    hold *hold; /* by vertex of the scene */
};

/* ---- creation ---- */

/* The tets around each vertex: list[first[v]] to list[first[v + 1]]. */
typedef struct around {
    int32_t *first, *list;
} around;

typedef struct work {
    const spl_body *body;
    const spl_bone_weights *weights; /* or NULL */
    around around;
    int32_t *corner; /* by vertex of the tets' surface: a vertex of the tets there */
    hold *hold;
    int32_t pieces; /* each has its own room: */
    int32_t *seen;  /* by vertex: the last visual vertex that came by, + 1 */
    int32_t *tried; /* the same by tet */
    int32_t *found; /* vertices, in the order in which they were come by */
} work;

static supple_result list_around(const spl_tets *t, const supple_allocator *a, around *out, supple_error *error)
{
    size_t n = (size_t)t->vertex_count, m = 4 * (size_t)t->tet_count;
    out->first = spl_new(a, n + 2, sizeof *out->first);
    out->list = spl_new(a, m, sizeof *out->list);
    if (!out->first || !out->list) return spl_fail_memory(error, "skin that gives way");
    for (size_t i = 0; i < m; i++) out->first[t->tet[i] + 2]++;
    for (size_t v = 2; v < n + 2; v++) out->first[v] += out->first[v - 1];
    for (size_t i = 0; i < m; i++) out->list[out->first[t->tet[i] + 1]++] = (int32_t)(i / 4);
    return SUPPLE_OK;
}

/* Barycentric coordinates of p in a tet at rest; returns the least, -INFINITY in a tet without volume. */
static double find_shares(const spl_tets *t, int32_t tet, spl_vec3 p, double share[4])
{
    const int32_t *c = t->tet + 4 * (size_t)tet;
    spl_vec3 o = t->position[c[0]];
    spl_mat3 D = spl_mat3_columns(spl_sub(t->position[c[1]], o), spl_sub(t->position[c[2]], o),
                                  spl_sub(t->position[c[3]], o)),
             inverse;
    if (!spl_mat3_inverse(&D, &inverse)) return -INFINITY;
    spl_vec3 b = spl_mat3_apply(&inverse, spl_sub(p, o));
    share[0] = 1 - b.x - b.y - b.z;
    share[1] = b.x;
    share[2] = b.y;
    share[3] = b.z;
    return fmin(fmin(share[0], share[1]), fmin(share[2], share[3]));
}

static double mean_edge(const spl_tets *t, const int32_t corner[4])
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++) sum += spl_distance(t->position[corner[i]], t->position[corner[k]]);
    return sum / 6;
}

/* How much of bone b a vertex of the tets has. */
static double weight_of(const spl_bone_weights *w, int32_t vertex, int32_t b)
{
    for (size_t i = SPL_BONE_INFLUENCES * (size_t)vertex; i < SPL_BONE_INFLUENCES * (size_t)(vertex + 1); i++)
        if (w->bone[i] == b) return w->weight[i];
    return 0;
}

/* What the vertices that carry a skin vertex have in common with a tet's corners: the sum over bones of the lesser
 * weight, 1 where they are moved alike. Where a tail lies on a rump at rest, skin of the rump lies in tets of the tail,
 * which drew it out like a thorn. */
static double common(const work *w, const int32_t *carrier, const float *share, int32_t count, const int32_t *corner)
{
    const spl_bone_weights *weights = w->weights;
    double sum = 0;
    for (int32_t b = 0; b < w->body->bones.bone_count; b++) {
        double there = 0, here = 0;
        for (int c = 0; c < 4; c++) there += 0.25 * weight_of(weights, corner[c], b);
        for (int32_t i = 0; there > 0 && i < count; i++)
            if (carrier[i] >= 0) here += (double)share[i] * weight_of(weights, carrier[i], b);
        sum += fmin(here, there);
    }
    return sum;
}

/* The tet that holds the vertex, or comes nearest to it, of those around what carries it. */
static hold find_hold(const work *w, int32_t v, int32_t *seen, int32_t *tried, int32_t *found)
{
    const spl_body *body = w->body;
    const spl_tets *t = &body->tets;
    hold h = {.corner = {-1, -1, -1, -1}};
    int32_t index[SPL_UPSAMPLE_MOST_NEIGHBOURS], count = 0, best = -1;
    float weight[SPL_UPSAMPLE_MOST_NEIGHBOURS];
    double least = -END, share[4] = {0};
    spl_vec3 p = spl_v3_from_float(body->bind + 3 * (size_t)v);
    int32_t n = spl_upsample_weights(body->upsample, v, SPL_UPSAMPLE_MOST_NEIGHBOURS, index, weight);
    for (int32_t i = 0; i < n; i++) {
        int32_t at = index[i] = w->corner[index[i]];
        if (at < 0 || seen[at] == v + 1) continue;
        seen[at] = v + 1;
        found[count++] = at;
    }
    for (int32_t begin = 0, ring = 0; ring < RINGS; ring++) {
        int32_t end = count;
        for (int32_t k = begin; k < end; k++)
            for (int32_t i = w->around.first[found[k]]; i < w->around.first[found[k] + 1]; i++) {
                int32_t tet = w->around.list[i];
                if (tried[tet] == v + 1) continue;
                tried[tet] = v + 1;
                double here = find_shares(t, tet, p, share);
                if (here > least) {
                    least = here;
                    best = tet;
                    for (int c = 0; c < 4; c++) h.share[c] = (float)share[c];
                }
                for (int c = 0; c < 4; c++) {
                    int32_t next = t->tet[4 * (size_t)tet + (size_t)c];
                    if (seen[next] == v + 1) continue;
                    seen[next] = v + 1;
                    found[count++] = next;
                }
            }
        begin = end;
    }
    if (best < 0 || (w->weights && common(w, index, weight, n, t->tet + 4 * (size_t)best) < SAME)) return h;
    memcpy(h.corner, t->tet + 4 * (size_t)best, sizeof h.corner);
    double out = fmax(0, (-least - OUTSIDE) / (END - OUTSIDE)); /* 0 to 1 */
    h.most = (float)(SHARE * mean_edge(t, h.corner) / (1 - out));
    return h;
}

static void find_holds(void *context, size_t begin, size_t end)
{
    const work *w = context;
    size_t n = (size_t)w->body->tets.vertex_count;
    for (size_t piece = begin; piece < end; piece++) {
        int32_t *seen = w->seen + piece * n, *found = w->found + piece * n,
                *tried = w->tried + piece * (size_t)w->body->tets.tet_count;
        int32_t count = w->body->scene->vertex_count;
        for (int32_t v = (int32_t)piece; v < count; v += w->pieces) {
            w->hold[v].corner[0] = -1;
            if (w->body->lifted[v]) w->hold[v] = find_hold(w, v, seen, tried, found);
        }
    }
}

static supple_result fill(spl_squeeze *s, const spl_body *body, spl_pool *pool, work *w, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    size_t n = (size_t)body->tets.vertex_count, m = (size_t)body->skin.vertex_count;
    w->pieces = 8;
    s->count = (size_t)body->scene->vertex_count;
    s->hold = w->hold = spl_new(a, s->count, sizeof *s->hold);
    w->corner = spl_new(a, m, sizeof *w->corner);
    w->seen = spl_new(a, n, (size_t)w->pieces * sizeof *w->seen);
    w->found = spl_new(a, n, (size_t)w->pieces * sizeof *w->found);
    w->tried = spl_new(a, (size_t)body->tets.tet_count, (size_t)w->pieces * sizeof *w->tried);
    if (!s->hold || !w->corner || !w->seen || !w->found || !w->tried)
        return spl_fail_memory(error, "skin that gives way");
    supple_result result = list_around(&body->tets, a, &w->around, error);
    if (result != SUPPLE_OK) return result;
    for (size_t v = 0; v < m; v++) w->corner[v] = -1;
    for (int32_t v = body->skin.input_vertex_count - 1; v >= 0; v--)
        if (body->skin.map[v] >= 0) w->corner[body->skin.map[v]] = v;
    spl_parallel_for(pool, (size_t)w->pieces, 1, find_holds, w);
    return SUPPLE_OK;
}

supple_result spl_squeeze_create(const spl_body *body, const spl_bone_weights *weights, const supple_allocator *a,
                                 spl_pool *pool, spl_squeeze **out, supple_error *error)
{
    work w = {.body = body, .weights = weights};
    *out = NULL;
    spl_squeeze *s = spl_new(a, 1, sizeof *s);
    if (!s) return spl_fail_memory(error, "skin that gives way");
    s->allocator = *a;
    supple_result result = fill(s, body, pool, &w, error);
    void *blocks[] = {w.around.first, w.around.list, w.corner, w.seen, w.tried, w.found};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(a, blocks[i]);
    if (result == SUPPLE_OK)
        *out = s;
    else
        spl_squeeze_destroy(s);
    return result;
}

void spl_squeeze_destroy(spl_squeeze *s)
{
    if (!s) return;
    supple_allocator a = s->allocator;
    spl_free(&a, s->hold);
    spl_free(&a, s);
}

/* ---- frames ---- */

typedef struct frame {
    const spl_squeeze *squeeze;
    const float *posed, *delta;
    float *visual;
} frame;

static float length_of(const float *p)
{
    return sqrtf(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
}

static void limit(void *context, size_t begin, size_t end)
{
    const frame *f = context;
    for (size_t v = begin; v < end; v++) {
        const hold *h = &f->squeeze->hold[v];
        float *x = f->visual + 3 * v, p[3] = {0, 0, 0}, e[3];
        if (h->corner[0] < 0) continue;
        for (int i = 0; i < 4; i++)
            for (size_t c = 0; c < 3; c++) p[c] += h->share[i] * f->posed[3 * (size_t)h->corner[i] + c];
        for (size_t c = 0; c < 3; c++) e[c] = x[c] - p[c];
        float most = h->most + (f->delta ? length_of(f->delta + 3 * v) : 0), length = length_of(e);
        for (size_t c = 0; c < 3 && length > most; c++) x[c] = p[c] + most / length * e[c];
    }
}

void spl_squeeze_apply(const spl_squeeze *s, const float *posed, const float *delta, spl_pool *pool, float *visual)
{
    frame f = {s, posed, delta, visual};
    spl_parallel_for(pool, s->count, GRAIN, limit, &f);
}
