#include "slide/uv.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#include <string.h>

/* Three places this deep in one piece of the texture have no seam between them: a way over one would cross five edges,
 * and a triangle's image in the skin is hardly more than two triangles wide. Measured on MakeHuman, hero, CesiumMan and
 * the fox: of places 1 to 3 deep none had a seam between. */
enum { GRAIN = 256, DEEP = 2 };

/* How near to a triangle's middle a walk has to end to be taken at once: of the longest edge (surfaces are curved, the
 * middle of three points lies below); and how well its facet has to look the same way (cosine). */
#define NEAR     0.1
#define SAME_WAY 0.5

#define STILL 1e-6 /* of a triangle: skin that has not moved */

void spl_slide_uv_release(spl_slide_uv *u)
{
    void *block[] = {u->rest, u->seam, u->first, u->flipped, u->spans, u->piece, u->depth};
    if (u->allocator.release)
        for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&u->allocator, block[i]);
    *u = (spl_slide_uv){0};
}

/* The output's corner that corner k of a triangle is. */
static size_t output_corner(const spl_slide_uv *u, size_t t, size_t k)
{
    return (size_t)u->first[t] + (u->flipped[t] && k > 0 ? 3 - k : k);
}

static bool same_uv(const float *a, const float *b)
{
    return fabsf(a[0] - b[0]) <= 1e-6F * (1 + fabsf(a[0])) && fabsf(a[1] - b[1]) <= 1e-6F * (1 + fabsf(a[1]));
}

/* Whether texture coordinates go on over an edge. */
static bool goes_on(const spl_slide_uv *u, const spl_surface *s, size_t t, size_t k)
{
    int32_t next = s->across[3 * t + k];
    for (size_t i = 0; i < 2; i++) {
        size_t here = (k + i) % 3, there = 0;
        while (there < 3 && s->triangle[3 * (size_t)next + there] != s->triangle[3 * t + here]) there++;
        if (there == 3 || !same_uv(u->rest + 6 * t + 2 * here, u->rest + 6 * (size_t)next + 2 * there)) return false;
    }
    return true;
}

static void find_pieces(spl_slide_uv *u, const spl_surface *s)
{
    for (int32_t t = 0; t < s->triangle_count; t++) u->piece[t] = t;
    for (size_t t = 0; t < (size_t)s->triangle_count; t++)
        for (size_t k = 0; k < 3; k++)
            if (s->across[3 * t + k] >= 0 && !u->seam[3 * t + k])
                spl_sets_join(u->piece, (int32_t)t, s->across[3 * t + k]);
    for (int32_t t = 0; t < s->triangle_count; t++) u->piece[t] = spl_sets_root(u->piece, t);
}

/* Triangles at a vertex of a seam have depth 0: a walk around that vertex crosses it. */
static void find_depths(spl_slide_uv *u, const spl_surface *s)
{
    size_t n = (size_t)s->triangle_count;
    memset(u->depth, 255, n);
    for (size_t t = 0; t < n; t++)
        for (size_t k = 0; k < 6; k++) {
            int32_t v = s->triangle[3 * t + (k / 2 + k % 2) % 3];
            for (int32_t e = s->corner_first[v]; u->seam[3 * t + k / 2] && e < s->corner_first[v + 1]; e++)
                u->depth[s->corner[e] / 3] = 0;
        }
    for (uint8_t level = 0; level < DEEP; level++)
        for (size_t t = 0; t < n; t++)
            for (size_t k = 0; k < 3 && u->depth[t] == level; k++) {
                int32_t next = s->across[3 * t + k];
                if (next >= 0 && u->depth[next] > level + 1) u->depth[next] = (uint8_t)(level + 1);
            }
}

supple_result spl_slide_uv_make(const spl_net *net, const float *corner_uv, const int32_t *input,
                                const int32_t *texture, const supple_allocator *a, spl_slide_uv *out,
                                supple_error *error)
{
    const spl_surface *s = &net->surface;
    size_t n = (size_t)s->triangle_count;
    spl_slide_uv u = {.allocator = *a};
    *out = (spl_slide_uv){0};
    u.rest = spl_new(a, n, 6 * sizeof *u.rest);
    u.seam = spl_new(a, n, 3 * sizeof *u.seam);
    u.first = spl_new(a, n, sizeof *u.first);
    u.flipped = spl_new(a, n, sizeof *u.flipped);
    u.spans = spl_new(a, n, sizeof *u.spans);
    u.piece = spl_new(a, n, sizeof *u.piece);
    u.depth = spl_new(a, n, sizeof *u.depth);
    if (!u.rest || !u.seam || !u.first || !u.flipped || !u.spans || !u.piece || !u.depth) {
        spl_slide_uv_release(&u);
        return spl_fail_memory(error, "texture coordinates");
    }
    for (size_t t = 0; t < n; t++) {
        u.first[t] = 3 * input[s->source[t]];
        u.flipped[t] = s->flipped[t];
        for (size_t k = 0; k < 3; k++)
            memcpy(u.rest + 6 * t + 2 * k, corner_uv + 2 * output_corner(&u, t, k), 2 * sizeof(float));
    }
    for (size_t t = 0; t < n; t++)
        for (size_t k = 0; k < 3; k++) {
            int32_t next = s->across[3 * t + k];
            bool other = next >= 0 && texture[s->source[t]] != texture[s->source[next]];
            u.seam[3 * t + k] = next >= 0 && (other || !goes_on(&u, s, t, k)); /* behind a border there is nothing */
        }
    find_pieces(&u, s);
    find_depths(&u, s);
    *out = u;
    return SUPPLE_OK;
}

/* Weights may lie outside of the triangle: its map goes on. */
static void blend(const spl_slide_uv *u, int32_t t, const double w[3], double out[2])
{
    const float *r = u->rest + 6 * (size_t)t;
    for (int i = 0; i < 2; i++) out[i] = w[0] * (double)r[i] + w[1] * (double)r[2 + i] + w[2] * (double)r[4 + i];
}

/* How large a triangle is in the texture. */
static double extent(const spl_slide_uv *u, int32_t t)
{
    const float *r = u->rest + 6 * (size_t)t;
    double a = fabs((double)(r[2] - r[0])) + fabs((double)(r[3] - r[1]));
    double b = fabs((double)(r[4] - r[0])) + fabs((double)(r[5] - r[1]));
    return fmax(a, b);
}

/* The coordinates of the skin at a corner, in the texture's piece of the middle; true where a seam is between. */
static bool corner_from(const spl_slide_uv *u, const spl_dermis *d, const spl_place *middle, spl_vec3 centre,
                        int32_t vertex, double out[2])
{
    spl_trail w = spl_trail_begin(&d->net, middle, spl_sub(d->Y[vertex], centre));
    for (int n = 0, stops = 0; n < SPL_TRAIL_LONGEST && stops < 2; n++) {
        int edge = spl_trail_on(&w);
        if (edge < 0) break;
        bool seam = u->seam[3 * (size_t)w.at.triangle + (size_t)edge];
        double left = fabs(w.way[0]) + fabs(w.way[1]) + fabs(w.way[2]);
        if (seam) {
            double beyond[3] = {w.at.bary[0] + w.way[0], w.at.bary[1] + w.way[1], w.at.bary[2] + w.way[2]};
            blend(u, w.at.triangle, beyond, out);
            return left > 1e-6;
        }
        stops = spl_trail_cross(&d->net, &w, edge) ? 0 : stops + 1;
    }
    double end[2], exact[2];
    const spl_place *at = &d->place[vertex];
    blend(u, w.at.triangle, w.at.bary, end);
    blend(u, at->triangle, at->bary, exact);
    /* the walk ends near the place, on the curved surface not quite there; far off means beyond a seam beside it */
    bool near = fabs(end[0] - exact[0]) + fabs(end[1] - exact[1]) <= 0.5 * extent(u, w.at.triangle);
    memcpy(out, near ? exact : end, 2 * sizeof *out);
    return false;
}

typedef struct task {
    spl_slide_uv *u;
    const spl_dermis *d;
    float *out;
} task;

/* Whether the skin of a vertex is at its place, but for rounding. */
static bool stays(const spl_dermis *d, int32_t v)
{
    spl_vec3 way = spl_sub(d->Y[v], d->net.surface.position[v]);
    double least = STILL * d->size[v];
    return spl_dot(way, way) <= least * least;
}

static bool unmoved(const spl_dermis *d, const int32_t *c)
{
    return stays(d, c[0]) && stays(d, c[1]) && stays(d, c[2]);
}

/* Whether no seam can be between the three places of a triangle. */
static bool clear_of_seams(const spl_slide_uv *u, const spl_dermis *d, const int32_t *c)
{
    int32_t a = d->place[c[0]].triangle, b = d->place[c[1]].triangle, e = d->place[c[2]].triangle;
    return u->piece[a] == u->piece[b] && u->piece[a] == u->piece[e] && u->depth[a] >= DEEP && u->depth[b] >= DEEP &&
           u->depth[e] >= DEEP;
}

/* Where the middle of a triangle's skin is: walked to from the triangle's own middle and from its corners, the end that
 * is nearest to it. A corner's place may be on the far side of a sharp edge (an ear), or on another sheet that has a
 * vertex in common, from where a walk stays there. The first end that is near and looks the same way as the triangle
 * does is enough. */
static spl_place find_middle(const spl_dermis *d, size_t t)
{
    const spl_surface *s = &d->net.surface;
    const int32_t *c = s->triangle + 3 * t;
    const spl_vec3 *Y = d->Y;
    spl_vec3 a = spl_sub(Y[c[1]], Y[c[0]]), b = spl_sub(Y[c[2]], Y[c[0]]), up = spl_cross(a, b), e = spl_sub(b, a);
    spl_vec3 centre = spl_madd(Y[c[0]], spl_add(a, b), 1.0 / 3);
    double longest = sqrt(fmax(spl_dot(a, a), fmax(spl_dot(b, b), spl_dot(e, e)))), high = SAME_WAY * spl_norm(up);
    spl_place best = {0};
    double least = INFINITY;
    for (int k = -1; k < 3; k++) {
        spl_place from = {.triangle = (int32_t)t, .bary = {1.0 / 3, 1.0 / 3, 1.0 / 3}};
        if (k >= 0) from = d->place[c[k]];
        spl_place end = spl_net_go(&d->net, &from, spl_sub(centre, k < 0 ? spl_surface_point(s, &from) : Y[c[k]]));
        double off = spl_norm(spl_sub(spl_surface_point(s, &end), centre));
        if (off < least || k < 0) best = end, least = off;
        if (off < NEAR * longest && spl_dot(up, d->net.face[end.triangle]) > high) return end;
    }
    return best;
}

static void update_range(void *context, size_t begin, size_t end)
{
    const task *w = context;
    const spl_dermis *d = w->d;
    const spl_surface *s = &d->net.surface;
    for (size_t t = begin; t < end; t++) {
        const int32_t *c = s->triangle + 3 * t;
        w->u->spans[t] = false;
        bool glued = unmoved(d, c);
        if (!glued && clear_of_seams(w->u, d, c)) {
            for (size_t k = 0; k < 3; k++) {
                double uv[2];
                blend(w->u, d->place[c[k]].triangle, d->place[c[k]].bary, uv);
                for (int i = 0; i < 2; i++) w->out[2 * output_corner(w->u, t, k) + (size_t)i] = (float)uv[i];
            }
            continue;
        }
        spl_place middle = glued ? d->place[c[0]] : find_middle(d, t);
        for (size_t k = 0; k < 3; k++) {
            double uv[2];
            float *out = w->out + 2 * output_corner(w->u, t, k);
            /* where it stays, a walk finds nothing better: facets at rims look away from the mean normal there */
            if (glued || (w->u->piece[middle.triangle] == w->u->piece[t] && stays(d, c[k]))) {
                memcpy(out, w->u->rest + 6 * t + 2 * k, 2 * sizeof *out);
                continue;
            }
            if (corner_from(w->u, d, &middle, spl_surface_point(s, &middle), c[k], uv)) w->u->spans[t] = true;
            for (int i = 0; i < 2; i++) out[i] = (float)uv[i];
        }
    }
}

int32_t spl_slide_uv_update(spl_slide_uv *u, const spl_dermis *d, float *corner_uv)
{
    task w = {u, d, corner_uv};
    int32_t spanning = 0;
    spl_parallel_for(d->pool, (size_t)d->net.surface.triangle_count, GRAIN, update_range, &w);
    for (size_t t = 0; t < (size_t)d->net.surface.triangle_count; t++) spanning += u->spans[t];
    return spanning;
}
