#include "slide/net.h"

#include "core/error.h"
#include "core/memory.h"

#define SLIVER   1e-4 /* height over longest edge: below, a triangle has no mechanics */
#define THINNEST 1e-6 /* and for walks it is no thinner than this */

static bool allocate(spl_net *n, const supple_allocator *a)
{
    size_t vertices = (size_t)n->surface.vertex_count, triangles = (size_t)n->surface.triangle_count;
    n->normal = spl_new(a, vertices, sizeof *n->normal);
    n->face = spl_new(a, triangles, sizeof *n->face);
    n->axis = spl_new(a, vertices, 2 * sizeof *n->axis);
    n->frame = spl_new(a, triangles, 2 * sizeof *n->frame);
    n->inverse = spl_new(a, triangles, 3 * sizeof *n->inverse);
    n->area = spl_new(a, triangles, sizeof *n->area);
    n->turn = spl_new(a, triangles, 6 * sizeof *n->turn);
    n->share = spl_new(a, triangles, 3 * sizeof *n->share);
    n->reach = spl_new(a, vertices, sizeof *n->reach);
    return n->normal && n->face && n->axis && n->frame && n->inverse && n->area && n->turn && n->share && n->reach;
}

void spl_net_release(spl_net *n)
{
    void *block[] = {n->normal, n->face, n->axis, n->frame, n->inverse, n->area, n->turn, n->share, n->reach};
    if (n->allocator.release)
        for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&n->allocator, block[i]);
    spl_surface_release(&n->surface);
    *n = (spl_net){0};
}

/* Any unit vector perpendicular to a unit vector. */
static spl_vec3 across(spl_vec3 n)
{
    spl_vec3 any = fabs(n.x) < 0.7 ? spl_v3(1, 0, 0) : spl_v3(0, 1, 0);
    return spl_unit(spl_cross(n, any), spl_v3(0, 0, 1));
}

/* The thin QR of a triangle's edges, with the first axis along its first edge. */
static void set_frame(spl_net *n, size_t t)
{
    const spl_surface *s = &n->surface;
    const int32_t *c = s->triangle + 3 * t;
    spl_vec3 d1 = spl_sub(s->position[c[1]], s->position[c[0]]), d2 = spl_sub(s->position[c[2]], s->position[c[0]]);
    double longest = fmax(fmax(spl_norm(d1), spl_norm(d2)), spl_norm(spl_sub(d2, d1)));
    spl_vec3 q0 = spl_unit(d1, spl_v3(1, 0, 0));
    spl_vec3 face = s->face[t];
    if (!(spl_dot(face, face) > 0.5)) face = across(q0);
    spl_vec3 q1 = spl_cross(face, q0);
    double width = spl_norm(d1), height = spl_dot(d2, q1);
    n->area[t] = height > SLIVER * longest && width > SLIVER * longest ? width * height / 2 : 0;
    width = fmax(width, THINNEST * longest);
    height = fmax(height, THINNEST * longest);
    if (!(longest > 0)) width = height = 1;
    n->face[t] = face;
    n->frame[2 * t] = q0;
    n->frame[2 * t + 1] = q1;
    n->inverse[3 * t] = 1 / width;
    n->inverse[3 * t + 1] = -spl_dot(d2, q0) / (width * height);
    n->inverse[3 * t + 2] = 1 / height;
}

/* The surface's normal, or that of a triangle at the vertex. */
static spl_vec3 normal_at(const spl_net *n, int32_t v)
{
    const spl_surface *s = &n->surface;
    if (spl_dot(s->normal[v], s->normal[v]) > 0.5) return s->normal[v];
    return s->corner_first[v] < s->corner_first[v + 1] ? n->face[s->corner[s->corner_first[v]] / 3] : spl_v3(0, 0, 1);
}

/* P_ij of the corners at a vertex, for the frame that it has. */
static void set_turns(spl_net *n, int32_t v)
{
    const spl_surface *s = &n->surface;
    for (int32_t e = s->corner_first[v]; e < s->corner_first[v + 1]; e++) {
        size_t corner = (size_t)s->corner[e], t = corner / 3;
        spl_vec3 a = spl_net_turn(n->normal[v], n->face[t], n->axis[2 * (size_t)v]);
        double c = spl_dot(n->frame[2 * t], a), k = spl_dot(n->frame[2 * t + 1], a), length = hypot(c, k);
        n->turn[2 * corner] = length > 0 ? c / length : 1;
        n->turn[2 * corner + 1] = length > 0 ? k / length : 0;
    }
}

static void set_vertex(spl_net *n, int32_t v)
{
    const spl_surface *s = &n->surface;
    double area = 0, reach = INFINITY;
    for (int32_t e = s->corner_first[v]; e < s->corner_first[v + 1]; e++) {
        size_t corner = (size_t)s->corner[e], t = corner / 3, k = corner % 3;
        const int32_t *c = s->triangle + 3 * t;
        double base = spl_distance(s->position[c[(k + 1) % 3]], s->position[c[(k + 2) % 3]]);
        area += n->area[t];
        if (n->area[t] > 0) reach = fmin(reach, 2 * n->area[t] / base);
    }
    for (int32_t e = s->corner_first[v]; e < s->corner_first[v + 1]; e++) {
        size_t corner = (size_t)s->corner[e];
        n->share[corner] = area > 0 ? n->area[corner / 3] / area : 0;
    }
    n->reach[v] = reach;
    n->normal[v] = normal_at(n, v);
    n->axis[2 * (size_t)v] = across(n->normal[v]);
    n->axis[2 * (size_t)v + 1] = spl_cross(n->normal[v], n->axis[2 * (size_t)v]);
    set_turns(n, v);
}

supple_result spl_net_make(const double *position, int32_t vertex_count, const int32_t *triangle,
                           int32_t triangle_count, const supple_allocator *a, spl_net *out, supple_error *error)
{
    spl_net n = {.allocator = *a};
    *out = (spl_net){0};
    supple_result result = spl_surface_make(position, vertex_count, triangle, triangle_count, a, &n.surface, error);
    if (result == SUPPLE_OK && !allocate(&n, a)) result = spl_fail_memory(error, "the skin's surface");
    if (result != SUPPLE_OK) {
        spl_net_release(&n);
        return result;
    }
    for (size_t t = 0; t < (size_t)n.surface.triangle_count; t++) set_frame(&n, t);
    for (int32_t v = 0; v < n.surface.vertex_count; v++) set_vertex(&n, v);
    *out = n;
    return SUPPLE_OK;
}

void spl_net_align(spl_net *n, int32_t v, spl_vec3 direction)
{
    spl_vec3 *axis = n->axis + 2 * (size_t)v;
    direction = spl_madd(direction, n->normal[v], -spl_dot(direction, n->normal[v]));
    axis[0] = spl_unit(direction, axis[0]);
    axis[1] = spl_cross(n->normal[v], axis[0]);
    set_turns(n, v);
}

spl_place spl_net_vertex(const spl_net *n, int32_t v)
{
    const spl_surface *s = &n->surface;
    if (s->corner_first[v] == s->corner_first[v + 1]) return (spl_place){.triangle = -1};
    int32_t corner = s->corner[s->corner_first[v]];
    spl_place at = {.triangle = corner / 3};
    at.bary[corner % 3] = 1;
    return at;
}
