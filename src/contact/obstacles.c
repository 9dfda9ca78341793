#include "contact/obstacles.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/pairs.h"

#include <string.h>

static const double FAR = 1000; /* sizes of the body: as far as planes reach */

/* ---- how much there is ---- */

typedef struct counts {
    int32_t vertices, edges, triangles;
} counts;

static counts counts_of(const spl_colliders *c, int32_t i)
{
    spl_collider_geometry mesh;
    switch (spl_colliders_shape(c, i).kind) {
    case SPL_COLLIDER_SPHERE:
        return (counts){1, 1, 0};
    case SPL_COLLIDER_CAPSULE:
        return (counts){2, 1, 0};
    case SPL_COLLIDER_PLANE:
        return (counts){3, 0, 1};
    case SPL_COLLIDER_MESH:
        break;
    }
    spl_colliders_mesh(c, i, &mesh);
    return (counts){mesh.vertex_count, 3 * mesh.triangle_count, mesh.triangle_count}; /* edges: at most */
}

static supple_result take_memory(spl_obstacles *o, const spl_colliders *c, supple_error *error)
{
    const supple_allocator *a = &o->allocator;
    counts all = {0, 0, 0};
    for (int32_t i = 0; i < spl_colliders_count(c); i++) {
        counts one = counts_of(c, i);
        all = (counts){all.vertices + one.vertices, all.edges + one.edges, all.triangles + one.triangles};
    }
    o->position = spl_new(a, (size_t)all.vertices, 3 * sizeof *o->position);
    o->radius = spl_new(a, (size_t)all.vertices, sizeof *o->radius);
    o->collider = spl_new(a, (size_t)all.vertices, sizeof *o->collider);
    o->edge = spl_new(a, (size_t)all.edges, 2 * sizeof *o->edge);
    o->triangle = spl_new(a, (size_t)all.triangles, 3 * sizeof *o->triangle);
    if (o->position && o->radius && o->collider && o->edge && o->triangle) return SUPPLE_OK;
    return spl_fail_memory(error, "the obstacles");
}

/* ---- what it is ---- */

static supple_result add_mesh_edges(spl_obstacles *o, const spl_collider_geometry *mesh, supple_error *error)
{
    int32_t *edge, count;
    supple_result result =
        spl_primitives_edges(mesh->triangle, mesh->triangle_count, &o->allocator, &edge, &count, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t i = 0; i < 2 * count; i++) o->edge[2 * o->edge_count + i] = o->vertex_count + edge[i];
    o->edge_count += count;
    spl_free(&o->allocator, edge);
    return SUPPLE_OK;
}

static void add_triangles(spl_obstacles *o, const int32_t *triangle, int32_t count)
{
    for (int32_t k = 0; k < 3 * count; k++) o->triangle[3 * o->triangle_count + k] = o->vertex_count + triangle[k];
    o->triangle_count += count;
}

static void add_edge(spl_obstacles *o, int32_t to)
{
    o->edge[2 * o->edge_count] = o->vertex_count;
    o->edge[2 * o->edge_count + 1] = o->vertex_count + to;
    o->edge_count++;
}

static supple_result add(spl_obstacles *o, const spl_colliders *c, int32_t i, supple_error *error)
{
    static const int32_t large[3] = {0, 1, 2};
    spl_collider_shape shape = spl_colliders_shape(c, i);
    supple_result result = SUPPLE_OK;
    int32_t count = counts_of(c, i).vertices;
    bool round = shape.kind == SPL_COLLIDER_SPHERE || shape.kind == SPL_COLLIDER_CAPSULE;
    if (shape.kind == SPL_COLLIDER_MESH) {
        spl_collider_geometry mesh;
        spl_colliders_mesh(c, i, &mesh);
        result = add_mesh_edges(o, &mesh, error);
        if (result == SUPPLE_OK) add_triangles(o, mesh.triangle, mesh.triangle_count);
    } else if (round)
        add_edge(o, count - 1);
    else
        add_triangles(o, large, 1);
    for (int32_t k = o->vertex_count; k < o->vertex_count + count; k++) {
        o->collider[k] = i;
        o->radius[k] = round ? shape.radius : 0;
    }
    o->vertex_count += count;
    return result;
}

supple_result spl_obstacles_create(const spl_colliders *colliders, double size, const supple_allocator *a,
                                   spl_obstacles *out, supple_error *error)
{
    *out = (spl_obstacles){.allocator = *a};
    supple_result result = take_memory(out, colliders, error);
    for (int32_t i = 0; i < spl_colliders_count(colliders) && result == SUPPLE_OK; i++)
        result = add(out, colliders, i, error);
    if (result == SUPPLE_OK)
        spl_obstacles_place(out, colliders, size);
    else
        spl_obstacles_release(out);
    return result;
}

void spl_obstacles_release(spl_obstacles *o)
{
    if (!o->allocator.release) return;
    void *blocks[] = {o->position, o->radius, o->collider, o->edge, o->triangle};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&o->allocator, blocks[i]);
    *o = (spl_obstacles){0};
}

/* ---- where it is ---- */

/* Three corners around a place of a plane, far away. */
static void place_plane(const spl_collider_shape *s, double far, double *out)
{
    spl_vec3 n = s->b, axis = fabs(n.x) < 0.6 ? spl_v3(1, 0, 0) : spl_v3(0, 1, 0);
    spl_vec3 u = spl_unit(spl_cross(n, axis), axis), v = spl_cross(n, u);
    for (int k = 0; k < 3; k++) {
        double angle = 2 * M_PI * k / 3;
        spl_vec3 p = spl_madd(spl_madd(s->a, u, far * cos(angle)), v, far * sin(angle));
        memcpy(out + 3 * k, &p, sizeof p);
    }
}

static void place(const spl_colliders *c, int32_t i, double far, double *out)
{
    spl_collider_shape s = spl_colliders_shape(c, i);
    spl_collider_geometry mesh;
    switch (s.kind) {
    case SPL_COLLIDER_SPHERE:
        memcpy(out, &s.a, sizeof s.a);
        return;
    case SPL_COLLIDER_CAPSULE:
        memcpy(out, &s.a, sizeof s.a);
        memcpy(out + 3, &s.b, sizeof s.b);
        return;
    case SPL_COLLIDER_PLANE:
        place_plane(&s, far, out);
        return;
    case SPL_COLLIDER_MESH:
        break;
    }
    spl_colliders_mesh(c, i, &mesh);
    memcpy(out, mesh.position, (size_t)mesh.vertex_count * sizeof *mesh.position);
}

void spl_obstacles_place(spl_obstacles *o, const spl_colliders *colliders, double size)
{
    double *out = o->position;
    for (int32_t i = 0; i < spl_colliders_count(colliders); i++) {
        place(colliders, i, FAR * size, out);
        out += 3 * counts_of(colliders, i).vertices;
    }
}
