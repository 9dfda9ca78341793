#include "contact/deviation.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/tree.h"

static spl_vec3 normal_of(const spl_vec3 *position, const int32_t *c)
{
    spl_vec3 a = position[c[0]];
    return spl_cross(spl_sub(position[c[1]], a), spl_sub(position[c[2]], a));
}

/* Visual vertices above the body's triangles. */
static void look_out(const spl_solid *solid, const spl_tree *tree, double *deviation)
{
    const spl_body *body = solid->body;
    const spl_vec3 *rest = (const spl_vec3 *)(const void *)solid->drive.rest;
    for (int32_t v = 0; v < body->surface.vertex_count; v++) {
        spl_hit hit;
        spl_vec3 p = spl_drive_rest(&solid->drive, body->surface.position[v]);
        if (!body->lifted[body->surface_vertex[v]] || !spl_tree_nearest(tree, p, INFINITY, -1, &hit)) continue;
        const int32_t *c = body->tets.surface + 3 * (size_t)hit.triangle;
        if (!(spl_dot(spl_sub(p, hit.point), normal_of(rest, c)) > 0)) continue;
        for (int k = 0; k < 3; k++) deviation[c[k]] = fmax(deviation[c[k]], hit.distance);
    }
}

/* The body's vertices below the visual surface, in body space. */
static void look_in(const spl_solid *solid, const spl_tree *tree, double *deviation)
{
    const spl_body *body = solid->body;
    for (size_t i = 0; i < 3 * (size_t)body->tets.surface_count; i++) {
        int32_t v = body->tets.surface[i];
        spl_vec3 p = body->tets.position[v];
        spl_hit hit;
        if (!spl_tree_nearest(tree, p, INFINITY, -1, &hit)) continue;
        spl_vec3 n = normal_of(body->surface.position, body->surface.triangle + 3 * (size_t)hit.triangle);
        if (!(spl_dot(spl_sub(hit.point, p), n) > 0)) continue;
        spl_vec3 way = spl_sub(spl_drive_rest(&solid->drive, hit.point), spl_drive_rest(&solid->drive, p));
        deviation[v] = fmax(deviation[v], spl_norm(way));
    }
}

supple_result spl_deviation_find(const spl_solid *solid, double *deviation, supple_error *error)
{
    const spl_tets *t = &solid->body->tets;
    spl_tree tree;
    for (int32_t v = 0; v < t->vertex_count; v++) deviation[v] = 0;
    supple_result result = spl_tree_make((const spl_vec3 *)(const void *)solid->drive.rest, t->surface,
                                         t->surface_count, &solid->allocator, &tree, error);
    if (result != SUPPLE_OK) return result;
    look_out(solid, &tree, deviation);
    spl_tree_release(&tree);
    const spl_surface *s = &solid->body->surface;
    result = spl_tree_make(s->position, s->triangle, s->triangle_count, &solid->allocator, &tree, error);
    if (result != SUPPLE_OK) return result;
    look_in(solid, &tree, deviation);
    spl_tree_release(&tree);
    return SUPPLE_OK;
}
