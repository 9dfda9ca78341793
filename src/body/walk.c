#include "body/walk.h"

enum { STEPS_MOST = 400 };

typedef struct walk {
    const spl_surface *s;
    spl_vec3 origin, normal; /* of the plane */
} walk;

static double height(const walk *w, int32_t vertex)
{
    return spl_dot(spl_sub(w->s->position[vertex], w->origin), w->normal);
}

/* Where the plane crosses an edge of a triangle; false if it does not. The lower numbered end comes first, so that both
 * triangles at the edge find the same point. */
static bool cross_edge(const walk *w, int32_t triangle, int k, spl_vec3 *out)
{
    int32_t u = w->s->triangle[3 * (size_t)triangle + (size_t)k];
    int32_t v = w->s->triangle[3 * (size_t)triangle + (size_t)((k + 1) % 3)];
    if (u > v) {
        int32_t swap = u;
        u = v;
        v = swap;
    }
    double hu = height(w, u), hv = height(w, v);
    if ((hu >= 0) == (hv >= 0)) return false;
    *out = spl_lerp(w->s->position[u], w->s->position[v], hu / (hu - hv));
    return true;
}

/* The edge by which the plane leaves a triangle that it entered from another one; -1 if it does not. */
static int find_exit(const walk *w, int32_t triangle, int32_t from, spl_vec3 *out)
{
    bool entered = false; /* over the first edge shared with `from`; a second shared edge is a way out */
    for (int k = 0; k < 3; k++) {
        spl_vec3 p;
        bool crossed = cross_edge(w, triangle, k, &p);
        if (crossed && !entered && w->s->across[3 * (size_t)triangle + (size_t)k] == from)
            entered = true;
        else if (crossed) {
            *out = p;
            return k;
        }
    }
    return -1;
}

/* The edge by which the way from the origin towards b leaves its triangle. */
static int find_start(const walk *w, int32_t triangle, spl_vec3 to, spl_vec3 *out)
{
    int best = -1;
    double most = 0;
    for (int k = 0; k < 3; k++) {
        spl_vec3 p;
        if (!cross_edge(w, triangle, k, &p)) continue;
        double along = spl_dot(spl_sub(p, w->origin), spl_sub(to, w->origin));
        if (best >= 0 && along <= most) continue;
        best = k;
        most = along;
        *out = p;
    }
    return best;
}

double spl_surface_walk(const spl_surface *s, const spl_place *a, const spl_place *b, double limit)
{
    spl_vec3 from = spl_surface_point(s, a), to = spl_surface_point(s, b), at = from, next = from;
    if (a->triangle == b->triangle) return spl_distance(from, to) <= limit ? spl_distance(from, to) : INFINITY;
    spl_vec3 up = spl_add(spl_surface_normal(s, a), spl_surface_normal(s, b));
    walk w = {s, from, spl_cross(spl_sub(to, from), up)};
    int32_t triangle = a->triangle, last = -1;
    double length = 0;
    for (int i = 0; i < STEPS_MOST; i++) {
        int k = last < 0 ? find_start(&w, triangle, to, &next) : find_exit(&w, triangle, last, &next);
        int32_t across = k < 0 ? -1 : s->across[3 * (size_t)triangle + (size_t)k];
        if (across < 0) return INFINITY;
        length += spl_distance(at, next);
        if (length + spl_distance(next, to) > limit) return INFINITY;
        if (across == b->triangle) return length + spl_distance(next, to);
        at = next;
        last = triangle;
        triangle = across;
    }
    return INFINITY;
}
