/* The shrinking ball of Ma, Bae and Choi (2012), with their guard against noise turned into a measure of limbs. */
#include "body/growth.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

#define OPPOSITE     -0.34 /* cosine of 110 degrees */
#define SHRINK_STEPS 30
#define SETTLED      1e-3

typedef struct thickness_work {
    const spl_surface *surface;
    const spl_tree *tree;
    const spl_winding *winding;
    double limit;
    double *thickness;
} thickness_work;

static double ball_at(const thickness_work *w, spl_vec3 p, spl_vec3 n)
{
    double r = 0.5 * w->limit;
    int32_t hint = -1;
    for (int i = 0; i < SHRINK_STEPS; i++) {
        spl_vec3 c = spl_madd(p, n, -r);
        spl_hit hit;
        if (!spl_tree_nearest(w->tree, c, r * (1 - SETTLED), hint, &hit)) break; /* nothing in the ball */
        hint = hit.triangle;
        spl_vec3 back = spl_sub(p, hit.point), to_p = spl_sub(p, c), to_q = spl_sub(hit.point, c);
        double across = spl_dot(n, back);
        bool beside = spl_dot(to_p, to_q) > OPPOSITE * spl_norm(to_p) * spl_norm(to_q);
        /* From outside, beyond the limb's other side, everything looks beside: go on shrinking. */
        if (across <= 0 || (beside && spl_winding_number(w->winding, c) > 0.5)) break;
        double smaller = spl_dot(back, back) / (2 * across);
        if (smaller >= r * (1 - 1e-9)) break;
        r = smaller;
    }
    return 2 * r;
}

static void measure_range(void *context, size_t begin, size_t end)
{
    const thickness_work *w = context;
    for (size_t i = begin; i < end; i++) w->thickness[i] = ball_at(w, w->surface->position[i], w->surface->normal[i]);
}

void spl_limb_thickness(const spl_surface *surface, const spl_tree *tree, const spl_winding *winding, double limit,
                        spl_pool *pool, double *thickness)
{
    thickness_work w = {surface, tree, winding, limit, thickness};
    spl_parallel_for(pool, (size_t)surface->vertex_count, 128, measure_range, &w);
}

enum { MEDIAN_OF = 64 };

static double median_at(const spl_surface *s, const double *value, int32_t v)
{
    double around[MEDIAN_OF];
    int n = 0;
    around[n++] = value[v];
    for (int32_t i = s->link_first[v]; i < s->link_first[v + 1] && n < MEDIAN_OF; i++) around[n++] = value[s->link[i]];
    for (int i = 1; i < n; i++) { /* insertion sort: n is about seven */
        double x = around[i];
        int k = i;
        for (; k > 0 && around[k - 1] > x; k--) around[k] = around[k - 1];
        around[k] = x;
    }
    return around[n / 2];
}

supple_result spl_vertex_median(const spl_surface *surface, int rounds, const supple_allocator *a, double *value,
                                supple_error *error)
{
    size_t bytes = (size_t)surface->vertex_count * sizeof(double);
    double *old = spl_new(a, (size_t)surface->vertex_count, sizeof *old);
    if (!old) return spl_fail_memory(error, "the thickness");
    for (int r = 0; r < rounds; r++) {
        memcpy(old, value, bytes);
        for (int32_t v = 0; v < surface->vertex_count; v++) value[v] = median_at(surface, old, v);
    }
    spl_free(a, old);
    return SUPPLE_OK;
}
