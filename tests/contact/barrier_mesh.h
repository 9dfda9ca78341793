/* The surface of a mesh of tetrahedra as a barrier wants it, made by hand; and a ball of the world if asked for. */
#ifndef SPL_TESTS_CONTACT_BARRIER_MESH_H
#define SPL_TESTS_CONTACT_BARRIER_MESH_H

#include "body/tets.h"
#include "contact/barrier.h"
#include "core/memory.h"
#include "geom/pairs.h"
#include "test.h"

typedef struct barrier_mesh {
    spl_barrier_surface surface;
    int32_t own; /* vertices of the mesh; the ball is the next */
    double *rest, *reach, *stiffness;
    int32_t *point, *edge, *triangle, *bone;
    bool *fixed;
} barrier_mesh;

static inline void barrier_mesh_fill(barrier_mesh *m, int32_t per_bone)
{
    int32_t n = m->own + 1;
    m->reach = calloc((size_t)n, sizeof *m->reach);
    m->stiffness = calloc((size_t)n, sizeof *m->stiffness);
    m->bone = calloc((size_t)n, sizeof *m->bone);
    m->fixed = calloc((size_t)n, sizeof *m->fixed);
    for (int32_t v = 0; v < n; v++) {
        m->stiffness[v] = 100;
        m->bone[v] = v / per_bone;
    }
    m->bone[m->own] = (m->own - 1) / per_bone + 1;
}

/* The ball's point and edge come last; a mesh without it has one of each less. */
static inline void barrier_mesh_tables(barrier_mesh *m, const spl_tets *t, bool ball)
{
    supple_allocator a = spl_allocator_of(NULL);
    int32_t *point, *edge, points, edges;
    size_t corners = 3 * (size_t)t->surface_count;
    if (spl_primitives_edges(t->surface, t->surface_count, &a, &edge, &edges, NULL) != SUPPLE_OK ||
        spl_primitives_vertices(t->surface, t->surface_count, &a, &point, &points, NULL) != SUPPLE_OK)
        abort();
    m->edge = malloc(((size_t)edges + 1) * 2 * sizeof *edge);
    m->point = malloc(((size_t)points + 1) * sizeof *point);
    m->triangle = malloc(corners * sizeof *m->triangle);
    memcpy(m->edge, edge, (size_t)edges * 2 * sizeof *edge);
    memcpy(m->point, point, (size_t)points * sizeof *point);
    memcpy(m->triangle, t->surface, corners * sizeof *m->triangle);
    m->edge[2 * edges] = m->edge[2 * edges + 1] = m->point[points] = m->own;
    m->surface.edge_count = edges + ball;
    m->surface.point_count = points + ball;
    m->surface.triangle_count = t->surface_count;
    spl_free(&a, edge);
    spl_free(&a, point);
}

/* `per_bone` vertices belong to a bone each. `radius` > 0: with a ball of the world. */
static inline barrier_mesh barrier_mesh_make(const double *rest, int32_t vertices, const int32_t *tet, int32_t tets,
                                             int32_t per_bone, double radius)
{
    barrier_mesh m = {.own = vertices};
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets t;
    double low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30};
    if (!spl_tets_create(&t, vertices, tets, &a)) abort();
    memcpy(t.position, rest, (size_t)vertices * sizeof *t.position);
    memcpy(t.tet, tet, (size_t)tets * 4 * sizeof *tet);
    if (spl_tets_find_surface(&t, NULL) != SUPPLE_OK) abort();
    m.rest = malloc((size_t)vertices * 3 * sizeof *rest);
    memcpy(m.rest, rest, (size_t)vertices * 3 * sizeof *rest);
    barrier_mesh_fill(&m, per_bone);
    barrier_mesh_tables(&m, &t, radius > 0);
    spl_tets_release(&t);
    for (int32_t i = 0; i < 3 * vertices; i++) {
        low[i % 3] = fmin(low[i % 3], rest[i]);
        high[i % 3] = fmax(high[i % 3], rest[i]);
    }
    m.reach[m.own] = radius;
    m.fixed[m.own] = true;
    spl_barrier_surface *s = &m.surface;
    s->vertex_count = vertices + (radius > 0);
    s->own_count = vertices;
    s->bone_count = m.bone[m.own] + 1;
    s->diagonal = sqrt((high[0] - low[0]) * (high[0] - low[0]) + (high[1] - low[1]) * (high[1] - low[1]) +
                       (high[2] - low[2]) * (high[2] - low[2]));
    s->rest = m.rest, s->point = m.point, s->edge = m.edge, s->triangle = m.triangle, s->fixed = m.fixed;
    s->reach = m.reach, s->stiffness = m.stiffness, s->bone = m.bone;
    return m;
}

static inline void barrier_mesh_free(barrier_mesh *m)
{
    void *all[] = {m->rest, m->reach, m->stiffness, m->point, m->edge, m->triangle, m->bone, m->fixed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static inline spl_barrier *barrier_mesh_barrier(const barrier_mesh *m, const spl_barrier_options *options,
                                                spl_pool *pool)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_barrier *b = NULL;
    if (spl_barrier_create(&m->surface, options, &a, pool, &b, NULL) != SUPPLE_OK) abort();
    return b;
}

#endif
