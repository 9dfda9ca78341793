#include "contact/deviation.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/tree.h"

/* A point of body space in the solver's rest space (drive.h). */
static spl_vec3 to_rest(const spl_drive *d, spl_vec3 p)
{
    return spl_scale(spl_mat3_apply(&d->stretch, p), d->body->metre);
}

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
        spl_vec3 p = to_rest(&solid->drive, body->surface.position[v]);
        if (!body->lifted[body->surface_vertex[v]] || !spl_tree_nearest(tree, p, INFINITY, -1, &hit)) continue;
        const int32_t *c = body->tets.surface + 3 * (size_t)hit.triangle;
        if (!(spl_dot(spl_sub(p, hit.point), normal_of(rest, c)) > 0)) continue;
        for (int k = 0; k < 3; k++) deviation[c[k]] = fmax(deviation[c[k]], hit.distance);
    }
}

/* The body's vertices below the visual surface. */
static void look_in(const spl_solid *solid, double *deviation)
{
    const spl_body *body = solid->body;
    const spl_vec3 *rest = (const spl_vec3 *)(const void *)solid->drive.rest;
    for (size_t i = 0; i < 3 * (size_t)body->tets.surface_count; i++) {
        int32_t v = body->tets.surface[i];
        const spl_place *at = body->place ? &body->place[v] : NULL;
        if (!at || at->triangle < 0) continue;
        const int32_t *c = body->surface.triangle + 3 * (size_t)at->triangle;
        spl_vec3 corner[3], p = spl_v3(0, 0, 0);
        for (int k = 0; k < 3; k++) {
            corner[k] = to_rest(&solid->drive, body->surface.position[c[k]]);
            p = spl_madd(p, corner[k], at->bary[k]);
        }
        spl_vec3 way = spl_sub(p, rest[v]), n = normal_of(corner, (const int32_t[3]){0, 1, 2});
        if (spl_dot(way, n) > 0) deviation[v] = fmax(deviation[v], spl_norm(way));
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
    look_in(solid, deviation);
    spl_tree_release(&tree);
    return SUPPLE_OK;
}
