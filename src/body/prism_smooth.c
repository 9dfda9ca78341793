/* Sliding a skin's vertices over their own surface until its triangles are about equal: stuffing leaves slivers where
 * the lattice just touches the surface. */
#include "body/prism_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

#define STEP    0.7 /* of the way to the middle of the neighbours */
#define UPRIGHT 0.2 /* cosine to the vertex's normal that its triangles must keep */
#define DEEP    0.5 /* cosine to the normals below which a direction is well below all triangles ... */
#define SHALLOW 0.1 /* ... and hardly below them */
enum { CONE_ROUNDS = 60, FAN_MOST = 64, UNFOLD_ROUNDS = 40, ROUNDS = 8, DESCENTS = 16, GRAIN = 256 };

typedef struct smoother {
    const spl_prism_skin *s; /* its positions are those of the round before */
    const spl_vec3 *shape;   /* positions at the start: the surface that is kept */
    int32_t *at;             /* by vertex: the triangle of it that the vertex is in */
    spl_vec3 *next;
} smoother;

static spl_vec3 face_normal(const spl_vec3 *x, const int32_t *c)
{
    return spl_cross(spl_sub(x[c[1]], x[c[0]]), spl_sub(x[c[2]], x[c[0]]));
}

/* The nearest point of a triangle of the shape, if it beats the best so far. */
static bool try_triangle(const smoother *w, int32_t t, spl_vec3 p, double *least, double bary[3], spl_vec3 *out)
{
    const int32_t *c = w->s->triangle + 3 * (size_t)t;
    double b[3], d = spl_triangle_nearest(p, w->shape[c[0]], w->shape[c[1]], w->shape[c[2]], b);
    if (d >= *least) return false;
    *least = d;
    memcpy(bary, b, sizeof b);
    *out = spl_madd(spl_madd(spl_scale(w->shape[c[0]], b[0]), w->shape[c[1]], b[1]), w->shape[c[2]], b[2]);
    return true;
}

/* Descends over the shape from triangle to triangle to a point next to p. Unlike the nearest point of all, this never
 * jumps to another limb. */
static spl_vec3 descend(const smoother *w, int32_t *triangle, spl_vec3 p)
{
    double least = INFINITY, bary[3] = {0};
    spl_vec3 out = p;
    try_triangle(w, *triangle, p, &least, bary, &out);
    for (int i = 0; i < DESCENTS; i++) {
        const int32_t *c = w->s->triangle + 3 * (size_t)*triangle;
        int32_t best = *triangle;
        double here[3] = {bary[0], bary[1], bary[2]};
        for (int k = 0; k < 3; k++) {
            if (here[k] <= 0 || (here[0] > 0 && here[1] > 0 && here[2] > 0)) continue; /* inside: it is the nearest */
            for (int32_t f = w->s->fan_first[c[k]]; f < w->s->fan_first[c[k] + 1]; f++)
                if (try_triangle(w, w->s->fan[f], p, &least, bary, &out)) best = w->s->fan[f];
        }
        if (best == *triangle) break;
        *triangle = best;
    }
    return out;
}

/* Whether no triangle at v turns over when v goes to p. */
static bool stays_upright(const spl_prism_skin *s, int32_t v, spl_vec3 p, spl_vec3 normal)
{
    for (int32_t f = s->fan_first[v]; f < s->fan_first[v + 1]; f++) {
        const int32_t *c = s->triangle + 3 * (size_t)s->fan[f];
        spl_vec3 x[3];
        for (int k = 0; k < 3; k++) x[k] = c[k] == v ? p : s->position[c[k]];
        spl_vec3 n = spl_cross(spl_sub(x[1], x[0]), spl_sub(x[2], x[0]));
        spl_vec3 before = face_normal(s->position, c);
        if (spl_dot(n, normal) < UPRIGHT * spl_norm(n) && spl_dot(n, normal) < spl_dot(before, normal)) return false;
    }
    return true;
}

static void smooth_range(void *context, size_t begin, size_t end)
{
    const smoother *w = context;
    const spl_prism_skin *s = w->s;
    for (size_t v = begin; v < end; v++) {
        spl_vec3 x = s->position[v], normal = {0}, sum = {0};
        int32_t n = s->fan_first[v + 1] - s->fan_first[v];
        for (int32_t f = s->fan_first[v]; f < s->fan_first[v + 1]; f++) {
            const int32_t *c = s->triangle + 3 * (size_t)s->fan[f];
            normal = spl_add(normal, face_normal(s->position, c));
            for (int k = 0; k < 3; k++) sum = spl_add(sum, spl_sub(s->position[c[k]], x));
        }
        normal = spl_unit(normal, spl_v3(0, 0, 0));
        spl_vec3 d = spl_scale(sum, STEP / (2.0 * n)); /* each neighbour is in two triangles */
        d = spl_madd(d, normal, -spl_dot(d, normal));
        int32_t at = w->at[v];
        spl_vec3 p = descend(w, &at, spl_add(x, d));
        bool good = spl_distance(p, x) <= 2 * spl_norm(d) && stays_upright(s, (int32_t)v, p, normal);
        w->next[v] = good ? p : x;
        if (good) w->at[v] = at;
    }
}

/* ---- folds ---- */

/* Draws a vertex towards the middle of its neighbours. */
static void relax(spl_prism_skin *s, int32_t v, double step)
{
    spl_vec3 x = s->position[v], sum = {0};
    for (int32_t f = s->fan_first[v]; f < s->fan_first[v + 1]; f++)
        for (int k = 0; k < 3; k++)
            sum = spl_add(sum, spl_sub(s->position[s->triangle[3 * (size_t)s->fan[f] + (size_t)k]], x));
    s->position[v] = spl_madd(x, sum, step / (2.0 * (s->fan_first[v + 1] - s->fan_first[v])));
}

spl_vec3 spl_prism_below(const spl_vec3 *normal, int32_t count, double *depth)
{
    spl_vec3 sum = {0}, best = {0};
    *depth = -INFINITY;
    for (int32_t i = 0; i < count; i++) sum = spl_sub(sum, normal[i]);
    for (int round = 0; round < CONE_ROUNDS && *depth < DEEP; round++) {
        double least = INFINITY;
        spl_vec3 d = spl_unit(sum, spl_v3(0, 0, 0)), worst = {0};
        for (int32_t i = 0; i < count; i++) {
            spl_vec3 n = spl_scale(spl_unit(normal[i], normal[i]), -1);
            if (spl_dot(n, d) >= least) continue;
            least = spl_dot(n, d);
            worst = n;
        }
        if (least > *depth) {
            *depth = least;
            best = d;
        }
        sum = spl_madd(d, worst, 1.0 / (round + 1));
    }
    return best;
}

spl_vec3 spl_prism_inward(const spl_prism_skin *s, int32_t v, double *depth)
{
    spl_vec3 normal[FAN_MOST];
    int32_t n = 0;
    for (int32_t f = s->fan_first[v]; f < s->fan_first[v + 1] && n < FAN_MOST; f++)
        normal[n++] = face_normal(s->position, s->triangle + 3 * (size_t)s->fan[f]);
    return spl_prism_below(normal, n, depth);
}

/* Where no direction goes below all triangles of a vertex, the skin is folded, and no layer fits under it: such
 * vertices, and then those around them, are drawn to the middle of their neighbours until they are not. */
int32_t spl_prism_skin_unfold(spl_prism_skin *s)
{
    int32_t folded = 0;
    for (int round = 0; round < UNFOLD_ROUNDS; round++) {
        folded = 0;
        for (int32_t v = 0; v < s->vertex_count; v++) {
            double depth;
            spl_prism_inward(s, v, &depth);
            if (depth > SHALLOW) continue;
            folded++;
            for (int32_t f = s->fan_first[v]; f < s->fan_first[v + 1]; f++)
                for (int k = 0; round > 2 && k < 3; k++) relax(s, s->triangle[3 * (size_t)s->fan[f] + (size_t)k], 0.2);
            relax(s, v, 0.5);
        }
        if (folded == 0) break;
    }
    return folded;
}

supple_result spl_prism_skin_smooth(spl_prism_skin *s, spl_pool *pool, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    size_t n = (size_t)s->vertex_count;
    spl_vec3 *shape = spl_new(a, n, sizeof *shape), *next = spl_new(a, n, sizeof *next);
    int32_t *at = spl_new(a, n, sizeof *at);
    bool made = shape && next && at;
    if (made) {
        memcpy(shape, s->position, n * sizeof *shape);
        for (size_t v = 0; v < n; v++) at[v] = s->fan[s->fan_first[v]];
        smoother w = {s, shape, at, next};
        for (int round = 0; round < ROUNDS; round++) {
            spl_parallel_for(pool, n, GRAIN, smooth_range, &w);
            memcpy(s->position, next, n * sizeof *next);
        }
    }
    spl_free(a, shape);
    spl_free(a, next);
    spl_free(a, at);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the skin");
}
