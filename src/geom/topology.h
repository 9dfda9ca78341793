/* What kind of surface a triangle mesh is: borders, non-manifold edges, connected components. */
#ifndef SPL_GEOM_TOPOLOGY_H
#define SPL_GEOM_TOPOLOGY_H

#include <supple/base.h>

typedef struct spl_topology {
    int32_t degenerate_triangles; /* with a repeated corner; left out of everything below */
    int32_t duplicate_triangles;  /* with the same three corners as an earlier one; left out too */
    int32_t border_edges;         /* used by one triangle */
    int32_t nonmanifold_edges;    /* used by more than two */
    int32_t components, closed_components;
    int32_t *component;     /* triangle_count: component of each triangle, -1 if left out; numbered by first triangle */
    bool *component_closed; /* components: every edge is used by exactly two triangles */
    int32_t *border;        /* 2 x border_edges: the vertices of each border edge, in triangle order */
    supple_allocator allocator;
} spl_topology;

/* `triangle` holds 3 x triangle_count welded indices. */
supple_result spl_topology_make(const int32_t *triangle, int32_t triangle_count, const supple_allocator *a,
                                spl_topology *out, supple_error *error);
void spl_topology_release(spl_topology *topology);

#endif
