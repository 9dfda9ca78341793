#include "trust/harm.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

#define LIVE       0.001 /* of the diagonal: shorter edges are not asked for their strain */
#define STRAINED   0.25  /* |log(length / rest)| by own skinning, from which strain counts */
#define FOLDED_COS -0.5  /* of the normals over an edge: 120 degrees */
enum { GRAIN = 4096, BINS = 4096 };
#define WIDEST 0.5 /* of the diagonal: what the last bin of distances holds, and all beyond it */

const supple_harm spl_harm_bounds = {
    .torn = 0, .stretched = 0.003, .folded = 0.01, .lost = 0.03, .cracks = 0.002, .far = 0.06, .strain = INFINITY};

/* ---- life ---- */

supple_result spl_harm_room_make(const spl_trust_mesh *mesh, const supple_allocator *a, spl_harm_room *out,
                                 supple_error *error)
{
    size_t triangles = (size_t)mesh->first_triangle[mesh->part_count], points = (size_t)mesh->point_count;
    size_t edges = (size_t)mesh->first_edge[mesh->part_count];
    *out = (spl_harm_room){.allocator = *a, .mesh = mesh};
    out->normal = spl_new(a, triangles, 3 * sizeof *out->normal);
    out->folded = spl_new(a, triangles, sizeof *out->folded);
    out->point_sum = spl_new(a, points, 3 * sizeof *out->point_sum);
    out->copies = spl_new(a, points, sizeof *out->copies);
    out->piece_sum = spl_new(a, (size_t)mesh->piece_count, 3 * sizeof *out->piece_sum);
    out->piece_part = spl_new(a, (size_t)mesh->piece_count, sizeof *out->piece_part);
    out->sums = spl_new(a, edges / GRAIN + 1, sizeof *out->sums);
    out->part = spl_new(a, (size_t)mesh->part_count, sizeof *out->part);
    if (!out->normal || !out->folded || !out->point_sum || !out->copies || !out->piece_sum || !out->piece_part ||
        !out->sums || !out->part) {
        spl_harm_room_release(out);
        return spl_fail_memory(error, "the measure of harm");
    }
    for (int32_t v = 0; v < mesh->vertex_count; v++) out->copies[mesh->point[v]]++;
    for (int32_t i = mesh->part_count - 1; i >= 0; i--)
        for (int32_t v = mesh->first_vertex[i]; v < mesh->first_vertex[i + 1]; v++)
            out->piece_part[mesh->piece[mesh->point[v]]] = i;
    return SUPPLE_OK;
}

void spl_harm_room_release(spl_harm_room *r)
{
    const supple_allocator *a = &r->allocator;
    if (!a->release) return;
    void *block[] = {r->normal, r->folded, r->point_sum, r->copies, r->piece_sum, r->piece_part, r->sums, r->part};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    *r = (spl_harm_room){0};
}

/* ---- edges ---- */

typedef struct frame {
    spl_harm_room *room;
    const float *own, *shown;
    size_t first; /* edge of the part */
} frame;

static double distance(const float *p, const float *q)
{
    double x = (double)p[0] - (double)q[0], y = (double)p[1] - (double)q[1], z = (double)p[2] - (double)q[2];
    return sqrt(x * x + y * y + z * z);
}

static void look_at_edges(void *context, size_t begin, size_t end)
{
    const frame *f = context;
    const spl_trust_mesh *m = f->room->mesh;
    spl_harm_sums s = {0};
    double d = m->diagonal;
    for (size_t e = f->first + begin; e < f->first + end; e++) {
        size_t i = 3 * (size_t)m->edge[2 * e], j = 3 * (size_t)m->edge[2 * e + 1];
        double rest = (double)m->length[e], own = distance(f->own + i, f->own + j);
        double shown = distance(f->shown + i, f->shown + j), most = fmax(rest, own);
        s.torn += shown > SPL_HARM_TORN * most && shown > SPL_HARM_TORN_LENGTH * d;
        s.stretched += shown > SPL_HARM_STRETCHED * most && shown > SPL_HARM_STRETCHED_LENGTH * d;
        /* most edges are not strained: their logarithm is not asked for */
        if (!(rest > LIVE * d) || (own > 0.78 * rest && own < 1.28 * rest)) continue;
        double strain = fabs(log(fmax(own, 1e-9 * d) / rest));
        if (!(strain > STRAINED)) continue;
        s.own_strain += strain;
        s.shown_strain += fabs(log(fmax(shown, 1e-9 * d) / rest));
    }
    f->room->sums[begin / GRAIN] = s;
}

static spl_harm_sums measure_edges(frame *f, int32_t part, spl_pool *pool)
{
    const spl_trust_mesh *m = f->room->mesh;
    size_t count = (size_t)(m->first_edge[part + 1] - m->first_edge[part]);
    spl_harm_sums sum = {0};
    f->first = (size_t)m->first_edge[part];
    spl_parallel_for(pool, count, GRAIN, look_at_edges, f);
    for (size_t k = 0; k < (count + GRAIN - 1) / GRAIN; k++) {
        const spl_harm_sums *s = &f->room->sums[k];
        sum.torn += s->torn;
        sum.stretched += s->stretched;
        sum.own_strain += s->own_strain;
        sum.shown_strain += s->shown_strain;
    }
    supple_harm *h = &f->room->part[part];
    h->torn = sum.torn;
    h->stretched = count ? (double)sum.stretched / (double)count : 0;
    h->strain = sum.own_strain > 0 ? sum.shown_strain / sum.own_strain : NAN;
    return sum;
}

/* ---- folds ---- */

static void make_normals(void *context, size_t begin, size_t end)
{
    const frame *f = context;
    for (size_t t = begin; t < end; t++)
        spl_v3_to_float(spl_trust_mesh_normal(f->room->mesh, f->shown, t), f->room->normal + 3 * t);
}

static void measure_folds(frame *f, spl_pool *pool)
{
    spl_harm_room *r = f->room;
    const spl_trust_mesh *m = r->mesh;
    size_t triangles = (size_t)m->first_triangle[m->part_count];
    double area = 0, folded = 0;
    spl_parallel_for(pool, triangles, GRAIN, make_normals, f);
    memset(r->folded, 0, triangles * sizeof *r->folded);
    for (size_t k = 0; k < (size_t)m->fold_count; k++) {
        int32_t s = m->fold[2 * k], t = m->fold[2 * k + 1];
        spl_vec3 p = spl_v3_from_float(r->normal + 3 * (size_t)s), q = spl_v3_from_float(r->normal + 3 * (size_t)t);
        double dot = spl_dot(p, q);
        if (!(dot < 0) || !(dot < FOLDED_COS * spl_norm(p) * spl_norm(q))) continue;
        spl_vec3 own = spl_trust_mesh_normal(m, f->own, (size_t)s);
        if (spl_dot(own, spl_trust_mesh_normal(m, f->own, (size_t)t)) > 0) r->folded[s] = r->folded[t] = true;
    }
    for (int32_t i = 0; i < m->part_count; i++) {
        double part_area = 0, part_folded = 0;
        for (size_t t = (size_t)m->first_triangle[i]; t < (size_t)m->first_triangle[i + 1]; t++) {
            double size = spl_norm(spl_v3_from_float(r->normal + 3 * t));
            part_area += size;
            if (r->folded[t]) part_folded += size;
        }
        r->part[i].folded = part_area > 0 ? part_folded / part_area : 0;
        area += part_area;
        folded += part_folded;
    }
    r->all.folded = area > 0 ? folded / area : 0;
}

/* ---- places ---- */

/* The value that one in a hundred is above: the upper end of its bin. */
static double percentile(const int32_t *bin, int32_t count)
{
    int32_t above = 0, k = BINS - 1;
    while (k > 0 && (above + bin[k]) * 100LL <= count) above += bin[k--];
    return count && (k > 0 || bin[0] < count) ? (k + 1) * (WIDEST / BINS) : 0;
}

static void measure_far(frame *f)
{
    spl_harm_room *r = f->room;
    const spl_trust_mesh *m = r->mesh;
    int32_t all[BINS] = {0};
    memset(r->piece_sum, 0, (size_t)m->piece_count * 3 * sizeof *r->piece_sum);
    for (int32_t i = 0; i < m->part_count; i++) {
        int32_t bin[BINS] = {0}, count = m->first_vertex[i + 1] - m->first_vertex[i];
        for (size_t v = (size_t)m->first_vertex[i]; v < (size_t)m->first_vertex[i + 1]; v++) {
            double *sum = r->piece_sum + 3 * (size_t)m->piece[m->point[v]];
            for (size_t c = 0; c < 3; c++) sum[c] += (double)f->shown[3 * v + c] - (double)f->own[3 * v + c];
            double d = distance(f->shown + 3 * v, f->own + 3 * v) / (m->diagonal * WIDEST);
            bin[d < 1 ? (int)(d * BINS) : BINS - 1]++;
        }
        r->part[i].far = percentile(bin, count);
        for (int k = 0; k < BINS; k++) all[k] += bin[k];
    }
    r->all.far = percentile(all, m->vertex_count);
}

static void measure_lost(spl_harm_room *r)
{
    const spl_trust_mesh *m = r->mesh;
    for (int32_t i = 0; i < m->part_count; i++) r->part[i].lost = 0;
    r->all.lost = 0;
    for (size_t p = 0; p < (size_t)m->piece_count; p++) {
        const double *s = r->piece_sum + 3 * p;
        double off = spl_norm(spl_v3(s[0], s[1], s[2])) / (m->piece_vertices[p] * m->diagonal);
        supple_harm *part = &r->part[r->piece_part[p]];
        part->lost = fmax(part->lost, off);
        r->all.lost = fmax(r->all.lost, off);
    }
}

static void measure_cracks(frame *f)
{
    spl_harm_room *r = f->room;
    const spl_trust_mesh *m = r->mesh;
    memset(r->point_sum, 0, (size_t)m->point_count * 3 * sizeof *r->point_sum);
    for (size_t v = 0; v < (size_t)m->vertex_count; v++)
        for (size_t c = 0; c < 3; c++) r->point_sum[3 * (size_t)m->point[v] + c] += (double)f->shown[3 * v + c];
    r->all.cracks = 0;
    for (int32_t i = 0; i < m->part_count; i++) {
        double most = 0;
        for (size_t v = (size_t)m->first_vertex[i]; v < (size_t)m->first_vertex[i + 1]; v++) {
            int32_t n = r->copies[m->point[v]];
            const double *s = r->point_sum + 3 * (size_t)m->point[v];
            if (n < 2) continue;
            most = fmax(most, spl_distance(spl_v3(s[0] / n, s[1] / n, s[2] / n), spl_v3_from_float(f->shown + 3 * v)));
        }
        r->part[i].cracks = m->diagonal > 0 ? most / m->diagonal : 0;
        r->all.cracks = fmax(r->all.cracks, r->part[i].cracks);
    }
}

void spl_harm_measure(spl_harm_room *r, const float *own, const float *shown, spl_pool *pool)
{
    const spl_trust_mesh *m = r->mesh;
    frame f = {.room = r, .own = own, .shown = shown};
    spl_harm_sums sum = {0};
    for (int32_t i = 0; i < m->part_count; i++) {
        spl_harm_sums s = measure_edges(&f, i, pool);
        sum.torn += s.torn;
        sum.stretched += s.stretched;
        sum.own_strain += s.own_strain;
        sum.shown_strain += s.shown_strain;
    }
    int32_t edges = m->first_edge[m->part_count];
    r->all.torn = sum.torn;
    r->all.stretched = edges ? (double)sum.stretched / edges : 0;
    r->all.strain = sum.own_strain > 0 ? sum.shown_strain / sum.own_strain : NAN;
    measure_folds(&f, pool);
    measure_far(&f);
    measure_lost(r);
    measure_cracks(&f);
}

const char *supple_harm_exceeds(const supple_harm *h, bool moving)
{
    const supple_harm *b = &spl_harm_bounds;
    if (h->torn > b->torn) return "torn";
    if (h->stretched > b->stretched) return "stretched";
    if (h->folded > b->folded) return "folded";
    if (h->cracks > b->cracks) return "cracked";
    if (!moving && h->lost > b->lost) return "lost";
    return !moving && h->far > b->far ? "far off" : NULL;
}
