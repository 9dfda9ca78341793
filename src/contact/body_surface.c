#include "contact/body_surface.h"

#include "contact/deviation.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/pairs.h"

#include <string.h>

/* ---- primitives ---- */

/* Indices of the body's, then of obstacles, whose vertices come after the body's; frees the first. */
static int32_t *join(const spl_body_surface *s, int32_t *own, int32_t own_count, const int32_t *other,
                     int32_t other_count, size_t width)
{
    size_t n = width * (size_t)own_count, m = width * (size_t)other_count;
    int32_t *out = spl_resize(&s->allocator, own, n + m, sizeof *out);
    if (!out) {
        spl_free(&s->allocator, own);
        return NULL;
    }
    for (size_t i = 0; i < m; i++) out[n + i] = (other ? other[i] : (int32_t)i) + s->surface.own_count;
    return out;
}

static supple_result make_primitives(spl_body_surface *s, const spl_tets *t, const spl_obstacles *o,
                                     supple_error *error)
{
    int32_t *edge = NULL, *point = NULL, edges = 0, points = 0;
    const supple_allocator *a = &s->allocator;
    supple_result result = spl_primitives_edges(t->surface, t->surface_count, a, &edge, &edges, error);
    if (result == SUPPLE_OK) s->edge = join(s, edge, edges, o->edge, o->edge_count, 2);
    if (result == SUPPLE_OK) result = spl_primitives_vertices(t->surface, t->surface_count, a, &point, &points, error);
    if (result == SUPPLE_OK) s->point = join(s, point, points, NULL, o->vertex_count, 1);
    int32_t *triangle = spl_new(a, (size_t)t->surface_count, 3 * sizeof *triangle);
    if (triangle) {
        memcpy(triangle, t->surface, 3 * (size_t)t->surface_count * sizeof *triangle);
        s->triangle = join(s, triangle, t->surface_count, o->triangle, o->triangle_count, 3);
    }
    if (result != SUPPLE_OK) return result;
    s->surface.point_count = points + o->vertex_count;
    s->surface.edge_count = edges + o->edge_count;
    s->surface.triangle_count = t->surface_count + o->triangle_count;
    return s->point && s->edge && s->triangle ? SUPPLE_OK : spl_fail_memory(error, "the surface of contacts");
}

/* ---- vertices ---- */

static void find_stiffness(spl_body_surface *s, const spl_solid *solid)
{
    const spl_elements *e = &solid->elements;
    for (size_t k = 0; k < (size_t)e->count; k++) {
        double stiff = e->volume[k] * (2 * solid->material.mu[k] + solid->material.lambda[k]);
        for (size_t i = 0; i < 4; i++) {
            const double *g = e->gradient + 12 * k + 3 * i;
            s->stiffness[e->tet[4 * k + i]] += stiff * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        }
    }
}

static void find_bones(spl_body_surface *s, const spl_solid *solid, const int32_t *held, const spl_obstacles *o)
{
    int32_t n = s->surface.own_count;
    for (int32_t v = 0; v < n; v++) {
        int32_t strongest = solid->weights.bone[SPL_BONE_INFLUENCES * (size_t)v];
        s->bone[v] = held[v] >= 0 ? held[v] : strongest >= 0 ? strongest : 0;
        s->fixed[v] = held[v] >= 0;
    }
    for (int32_t v = 0; v < o->vertex_count; v++) {
        s->bone[n + v] = solid->body->bones.bone_count + o->collider[v];
        s->fixed[n + v] = true;
        s->reach[n + v] = o->radius[v];
        s->surface.bone_count = s->bone[n + v] + 1;
    }
}

static supple_result build(spl_body_surface *s, const spl_solid *solid, const int32_t *held, const spl_obstacles *o,
                           supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    spl_barrier_surface *out = &s->surface;
    size_t n = (size_t)out->vertex_count;
    s->bone = spl_new(a, n, sizeof *s->bone);
    s->fixed = spl_new(a, n, sizeof *s->fixed);
    s->reach = spl_new(a, n, sizeof *s->reach);
    s->stiffness = spl_new(a, n, sizeof *s->stiffness);
    if (!s->bone || !s->fixed || !s->reach || !s->stiffness) return spl_fail_memory(error, "the surface of contacts");
    supple_result result = spl_deviation_find(solid, s->reach, error);
    if (result == SUPPLE_OK) result = make_primitives(s, &solid->body->tets, o, error);
    if (result != SUPPLE_OK) return result;
    find_stiffness(s, solid);
    find_bones(s, solid, held, o);
    out->rest = solid->drive.rest;
    out->point = s->point;
    out->edge = s->edge;
    out->triangle = s->triangle;
    out->fixed = s->fixed;
    out->reach = s->reach;
    out->stiffness = s->stiffness;
    out->bone = s->bone;
    out->diagonal = solid->diagonal;
    return SUPPLE_OK;
}

supple_result spl_body_surface_create(const spl_solid *solid, const int32_t *held, const spl_obstacles *obstacles,
                                      spl_body_surface *out, supple_error *error)
{
    static const spl_obstacles nothing = {0};
    const spl_obstacles *o = obstacles ? obstacles : &nothing;
    int32_t n = solid->body->tets.vertex_count;
    *out = (spl_body_surface){.allocator = solid->allocator};
    out->surface.own_count = n;
    out->surface.vertex_count = n + o->vertex_count;
    out->surface.bone_count = solid->body->bones.bone_count;
    supple_result result = build(out, solid, held, o, error);
    if (result != SUPPLE_OK) spl_body_surface_release(out);
    return result;
}

void spl_body_surface_release(spl_body_surface *s)
{
    if (!s->allocator.release) return;
    void *blocks[] = {s->point, s->edge, s->triangle, s->bone, s->fixed, s->reach, s->stiffness};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&s->allocator, blocks[i]);
    *s = (spl_body_surface){0};
}
