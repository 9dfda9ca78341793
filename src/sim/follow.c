#include "sim/follow.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/tree.h"
#include "rig/bind.h"

static supple_result find_places(spl_follow *f, supple_error *error)
{
    const spl_body *body = f->solid->body;
    spl_tree tree;
    supple_result result = spl_tree_make(body->surface.position, body->surface.triangle, body->surface.triangle_count,
                                         &f->allocator, &tree, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t v = 0; v < body->tets.vertex_count; v++) {
        spl_hit hit;
        f->place[v] = body->place[v];
        if (f->place[v].triangle >= 0) continue; /* deep inside: the nearest skin will do */
        spl_tree_nearest(&tree, body->tets.position[v], INFINITY, -1, &hit);
        f->place[v] = (spl_place){hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
    }
    spl_tree_release(&tree);
    return SUPPLE_OK;
}

supple_result spl_follow_create(const spl_solid *solid, spl_follow *out, supple_error *error)
{
    const supple_allocator *a = &solid->allocator;
    const supple_scene *scene = solid->body->scene;
    size_t nodes = (size_t)scene->node_count;
    *out = (spl_follow){.allocator = *a, .solid = solid};
    out->place = spl_new(a, (size_t)solid->body->tets.vertex_count, sizeof *out->place);
    out->home = spl_new(a, nodes, sizeof *out->home);
    out->map = spl_new(a, nodes, sizeof *out->map);
    supple_result result =
        out->place && out->home && out->map ? find_places(out, error) : spl_fail_memory(error, "the measures");
    if (result != SUPPLE_OK) {
        spl_follow_release(out);
        return result;
    }
    for (int32_t n = 0; n < scene->node_count; n++)
        if (!spl_bind_inverse(scene, solid->body->home, n, &out->home[n])) out->home[n] = spl_mat4_identity();
    return SUPPLE_OK;
}

void spl_follow_release(spl_follow *f)
{
    if (!f->allocator.release) return;
    spl_free(&f->allocator, f->place);
    spl_free(&f->allocator, f->home);
    spl_free(&f->allocator, f->map);
    *f = (spl_follow){0};
}

static spl_vec3 blend(const spl_follow *f, int32_t v)
{
    const spl_body *body = f->solid->body;
    const spl_skin_weights *w = &body->weights;
    const spl_place *at = &f->place[v];
    spl_vec3 sum = spl_v3(0, 0, 0);
    double total = 0;
    for (int k = 0; k < 3; k++) {
        int32_t corner = body->surface.triangle[3 * (size_t)at->triangle + (size_t)k];
        for (int32_t i = w->first[corner]; i < w->first[corner + 1]; i++) {
            double weight = at->bary[k] * w->weight[i];
            if (w->node[i] < 0 || weight <= 0) continue;
            sum = spl_madd(sum, spl_mat4_point(&f->map[w->node[i]], body->tets.position[v]), weight);
            total += weight;
        }
    }
    return total > 0 ? spl_scale(sum, 1 / total) : body->tets.position[v];
}

void spl_follow_pose(spl_follow *f, const spl_pose *pose, double *x)
{
    const spl_body *body = f->solid->body;
    for (size_t n = 0; n < (size_t)body->scene->node_count; n++) f->map[n] = spl_mat4_mul(&pose->world[n], &f->home[n]);
    for (int32_t v = 0; v < body->tets.vertex_count; v++) {
        spl_vec3 p = spl_scale(blend(f, v), f->solid->drive.to_solver);
        x[3 * (size_t)v] = p.x;
        x[3 * (size_t)v + 1] = p.y;
        x[3 * (size_t)v + 2] = p.z;
    }
}
