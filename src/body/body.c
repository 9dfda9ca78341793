#include "body/body.h"

#include "body/body_cache.h"
#include "body/body_prism.h"
#include "body/body_visual.h"
#include "core/error.h"
#include "core/memory.h"
#include "math/mat3.h"
#include "rig/bind.h"
#include "rig/pose.h"
#include "rig/size.h"

#include <math.h>
#include <string.h>

#define SMALLEST_FLOATS 1e-30 /* the diagonal below which a vertex, a float, has lost its digits */
#define ANOTHER_SIZE    4.0   /* the solver's size and the file's differ by more: worth a line */

spl_body_options spl_body_options_default(void)
{
    return (spl_body_options){.flesh = spl_flesh_options_default()};
}

/* ---- parts in body space ---- */

static int32_t first_skin(const spl_body *body)
{
    for (int32_t i = 0; i < body->part_count; i++)
        if (spl_part_skinned(body->scene, &body->part[i])) return body->scene->instance[body->part[i].instance].skin;
    return -1;
}

static void place_parts(spl_body *body, int32_t home)
{
    for (int32_t i = 0; i < body->part_count; i++) {
        const spl_part *part = &body->part[i];
        int32_t skin = body->scene->instance[part->instance].skin;
        spl_mat4 map = skin >= 0 ? spl_bind_between(body->scene, skin, home) : spl_mat4_identity();
        float *out = body->bind + 3 * (size_t)part->first_vertex;
        for (size_t v = 0; v < (size_t)part->primitive->vertex_count; v++)
            spl_v3_to_float(spl_mat4_point(&map, spl_v3_from_float(part->primitive->position + 3 * v)), out + 3 * v);
    }
}

static supple_result apply_rules(spl_body *body, const spl_body_options *options, supple_error *error)
{
    for (int32_t r = 0; r < options->rule_count; r++) {
        const supple_part_rule *rule = &options->rules[r];
        bool any = false;
        for (int32_t i = 0; i < body->part_count; i++) {
            int32_t material = body->part[i].primitive->material;
            bool hit = spl_name_matches(rule->pattern, spl_instance_name(body->scene, body->part[i].instance)) ||
                       (material >= 0 && spl_name_matches(rule->pattern, body->scene->material[material].name));
            if (!hit) continue;
            any = true;
            body->role[i].role = rule->role;
            memcpy(body->role[i].why, "left to --part", sizeof "left to --part");
        }
        if (!any)
            return spl_fail(
                error, SUPPLE_ERROR_ARGUMENT,
                "no mesh or material is called '%.60s'; `supple info` lists the parts, '*' stands for anything",
                rule->pattern);
    }
    return SUPPLE_OK;
}

static supple_result find_parts(spl_body *body, const spl_body_options *options, supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    body->part = spl_parts_new(body->scene, a, &body->part_count);
    body->role = spl_new(a, (size_t)body->part_count, sizeof *body->role);
    body->bind = spl_new(a, (size_t)body->scene->vertex_count, 3 * sizeof(float));
    if (!body->part || !body->role || !body->bind) return spl_fail_memory(error, "the body's parts");
    int32_t home = first_skin(body);
    if (home < 0) return spl_fail(error, SUPPLE_ERROR_INPUT, "no part is skinned: there is no flesh");
    body->home = home;
    place_parts(body, home);
    supple_result result = spl_roles_find(body->scene, body->part, body->part_count, body->bind, a, body->role, error);
    return result == SUPPLE_OK ? apply_rules(body, options, error) : result;
}

/* ---- the flesh's surface ---- */

bool spl_body_is_flesh(const spl_body *body, int32_t part)
{
    return body->role[part].role == SUPPLE_ROLE_FLESH && spl_part_skinned(body->scene, &body->part[part]);
}

static supple_result no_flesh(const spl_body *body, supple_error *error)
{
    for (int32_t i = 0; i < body->part_count; i++)
        if (spl_part_skinned(body->scene, &body->part[i]))
            return spl_fail(error, SUPPLE_ERROR_INPUT,
                            "no flesh: '%.60s' is %s; a volumetric method needs a closed part, or --part NAME=flesh",
                            spl_instance_name(body->scene, body->part[i].instance), body->role[i].why);
    return spl_fail(error, SUPPLE_ERROR_INPUT, "no part is skinned: there is no flesh");
}

static supple_result make_surface(spl_body *body, supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    size_t n = (size_t)body->scene->vertex_count;
    double *position = spl_new(a, n, 3 * sizeof *position);
    int32_t *triangle = spl_new(a, (size_t)body->scene->triangle_count, 3 * sizeof *triangle), count = 0;
    supple_result result = position && triangle ? SUPPLE_OK : spl_fail_memory(error, "the flesh's surface");
    for (size_t i = 0; result == SUPPLE_OK && i < 3 * n; i++) position[i] = (double)body->bind[i];
    for (int32_t i = 0; result == SUPPLE_OK && i < body->part_count; i++) {
        const spl_primitive *p = body->part[i].primitive;
        if (!spl_body_is_flesh(body, i)) continue;
        for (size_t k = 0; k < 3 * (size_t)p->triangle_count; k++)
            triangle[3 * (size_t)count + k] = p->triangle[k] + body->part[i].first_vertex;
        count += p->triangle_count;
    }
    if (result == SUPPLE_OK && count == 0) result = no_flesh(body, error);
    if (result == SUPPLE_OK)
        result = spl_surface_make(position, body->scene->vertex_count, triangle, count, a, &body->surface, error);
    spl_free(a, position);
    spl_free(a, triangle);
    return result;
}

/* ---- weights at the surface ---- */

/* The part that a vertex of the scene is in: parts are in vertex order. */
static const spl_part *part_of(const spl_body *body, int32_t vertex)
{
    int32_t low = 0, high = body->part_count;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (body->part[middle].first_vertex <= vertex)
            low = middle;
        else
            high = middle;
    }
    return &body->part[low];
}

static supple_result find_weights(spl_body *body, supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    const spl_surface *s = &body->surface;
    size_t n = (size_t)s->vertex_count, total = 0;
    spl_skin_weights *w = &body->weights;
    body->surface_vertex = spl_new(a, n, sizeof *body->surface_vertex);
    w->first = spl_new(a, n + 1, sizeof *w->first);
    if (!body->surface_vertex || !w->first) return spl_fail_memory(error, "the skin's weights");
    for (int32_t v = s->input_vertex_count - 1; v >= 0; v--)
        if (s->map[v] >= 0) body->surface_vertex[s->map[v]] = v;
    for (size_t i = 0; i < n; i++) {
        w->first[i] = (int32_t)total;
        total += (size_t)part_of(body, body->surface_vertex[i])->primitive->influence_count;
    }
    w->first[n] = (int32_t)total;
    w->node = spl_new(a, total, sizeof *w->node);
    w->weight = spl_new(a, total, sizeof *w->weight);
    if (!w->node || !w->weight) return spl_fail_memory(error, "the skin's weights");
    for (size_t i = 0; i < n; i++) {
        const spl_part *part = part_of(body, body->surface_vertex[i]);
        const spl_skin *skin = &body->scene->skin[body->scene->instance[part->instance].skin];
        size_t K = (size_t)part->primitive->influence_count;
        size_t at = (size_t)(body->surface_vertex[i] - part->first_vertex) * K;
        for (size_t k = 0; k < K; k++) {
            w->node[(size_t)w->first[i] + k] = body->bones.merged_into[skin->joint[part->primitive->joint[at + k]]];
            w->weight[(size_t)w->first[i] + k] = (double)part->primitive->weight[at + k];
        }
    }
    return SUPPLE_OK;
}

/* ---- the tetrahedra and what holds them ---- */

static supple_result set_unit(spl_body *body, const spl_body_options *options, const supple_config *config,
                              supple_error *error)
{
    double diagonal = body->surface.diagonal;
    spl_size size;
    if (diagonal > 0 && diagonal < SMALLEST_FLOATS)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "the mesh is %.3g across, too small for its own numbers (%.0g is the least); scale it up and "
                        "export it again",
                        diagonal, SMALLEST_FLOATS);
    supple_result result = spl_size_find(body->scene, options->size_m, NULL, &size, error);
    if (result != SUPPLE_OK) return result;
    body->size_m = size.size_m;
    body->metre = size.metre;
    if (options->size_m == 0 && fabs(log(size.size_m / size.file_m)) > log(ANOTHER_SIZE))
        spl_log(config, SUPPLE_LOG_INFO,
                "note: taken as %s; the file's unit makes it %.3g m across (--size METRES, or --size file)",
                spl_size_reason(size.rule), size.file_m);
    return SUPPLE_OK;
}

static supple_result copy_tets(spl_body *body, const spl_tets *given, supple_error *error)
{
    spl_tets *t = &body->tets;
    if (!spl_tets_create(t, given->vertex_count, given->tet_count, &body->allocator))
        return spl_fail_memory(error, "the tetrahedra");
    memcpy(t->position, given->position, (size_t)given->vertex_count * sizeof *t->position);
    memcpy(t->tet, given->tet, (size_t)given->tet_count * 4 * sizeof *t->tet);
    return spl_tets_find_surface(t, error);
}

/* Mean distance of the tets' surface from the flesh's, after a map, of its diagonal; a few hundred vertices tell. */
static double misfit(const spl_body *body, const spl_tree *tree, const spl_mat4 *map)
{
    const spl_tets *t = &body->tets;
    int32_t step = t->surface_count / 200 + 1, count = 0;
    double sum = 0;
    for (int32_t i = 0; i < t->surface_count; i += step, count++) {
        spl_hit hit;
        spl_tree_nearest(tree, spl_mat4_point(map, t->position[t->surface[3 * (size_t)i]]), INFINITY, -1, &hit);
        sum += hit.distance;
    }
    return count ? sum / count / body->surface.diagonal : 0;
}

/* The map from the scene's space, in the file's rest pose, to body space, as the bone with most flesh has it; the
 * identity if there is none. */
static supple_result from_scene(const spl_body *body, spl_mat4 *out, supple_error *error)
{
    const spl_bones *bones = &body->bones;
    int32_t most = 0;
    *out = spl_mat4_identity();
    if (bones->bone_count == 0) return SUPPLE_OK;
    for (int32_t b = 1; b < bones->bone_count; b++)
        if (bones->influence[bones->bone[b].node] > bones->influence[bones->bone[most].node]) most = b;
    spl_pose rest;
    supple_result result = spl_pose_init(&rest, body->scene, error);
    if (result != SUPPLE_OK) return result;
    spl_mat4 map;
    if (spl_bind_inverse(body->scene, body->home, bones->bone[most].node, &map)) {
        map = spl_mat4_mul(&rest.world[bones->bone[most].node], &map);
        if (!spl_mat4_inverse(&map, out)) *out = spl_mat4_identity();
    }
    spl_pose_release(&rest);
    return SUPPLE_OK;
}

static supple_result move_tets(spl_tets *t, const spl_mat4 *map, supple_error *error)
{
    spl_mat3 linear = spl_mat3_linear(map);
    for (int32_t v = 0; v < t->vertex_count; v++) t->position[v] = spl_mat4_point(map, t->position[v]);
    if (spl_mat3_det(&linear) > 0) return SUPPLE_OK;
    for (size_t k = 0; k < (size_t)t->tet_count; k++) { /* a mirror turns them inside out */
        int32_t last = t->tet[4 * k + 3];
        t->tet[4 * k + 3] = t->tet[4 * k + 2];
        t->tet[4 * k + 2] = last;
    }
    return spl_tets_find_surface(t, error);
}

/* The user's tets may have been made of what a viewer shows, the scene in its rest pose, instead of the mesh's own
 * space: where that fits and this does not, they are moved. */
static supple_result fit_tets(spl_body *body, const spl_tree *tree, const supple_config *config, supple_error *error)
{
    const double bad = 0.02, another = 0.25; /* of the diagonal */
    spl_mat4 same = spl_mat4_identity(), back;
    double here = misfit(body, tree, &same);
    if (here <= bad) return SUPPLE_OK;
    supple_result result = from_scene(body, &back, error);
    if (result != SUPPLE_OK) return result;
    double there = misfit(body, tree, &back), least = fmin(here, there);
    if (least > another)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "the tetrahedra are not this character's: their surface is %.0f%% of its diagonal away; give "
                        "them in the space of its mesh, in the bind pose",
                        100 * least);
    if (there > bad) {
        spl_log(config, SUPPLE_LOG_WARNING,
                "the tetrahedra do not fit the character: their surface is %.0f%% of its diagonal away", 100 * least);
        return SUPPLE_OK;
    }
    spl_log(config, SUPPLE_LOG_INFO, "the tetrahedra fit the scene's rest pose: taken from there");
    return move_tets(&body->tets, &back, error);
}

/* The user's tets know no limbs: each vertex takes the nearest place of the surface. */
static supple_result place_tets(spl_body *body, const spl_tree *tree, supple_error *error)
{
    body->place = spl_new(&body->allocator, (size_t)body->tets.vertex_count, sizeof *body->place);
    if (!body->place) return spl_fail_memory(error, "the tetrahedra");
    for (int32_t v = 0; v < body->tets.vertex_count; v++) {
        spl_hit hit;
        spl_tree_nearest(tree, body->tets.position[v], INFINITY, -1, &hit);
        body->place[v] = (spl_place){hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
    }
    body->flesh.shape = spl_tets_quality(&body->tets);
    body->flesh.cell = body->flesh.shape.mean_edge;
    return SUPPLE_OK;
}

spl_attach_input spl_body_attach_input(const spl_body *body, const spl_tets *tets, const spl_place *place,
                                       const spl_tree *tree)
{
    return (spl_attach_input){.tets = tets,
                              .place = place,
                              .surface = &body->surface,
                              .tree = tree,
                              .weights = &body->weights,
                              .bones = &body->bones,
                              .cell = body->flesh.cell,
                              .allocator = &body->allocator};
}

static supple_result attach(spl_body *body, const spl_tree *tree, const supple_config *config, supple_error *error)
{
    body->bone = spl_new(&body->allocator, (size_t)body->tets.vertex_count, sizeof *body->bone);
    if (!body->bone) return spl_fail_memory(error, "the attachments");
    spl_attach_input in = spl_body_attach_input(body, &body->tets, body->place, tree);
    supple_result result = spl_leaves_fit(&in, &body->bones, &body->leaves, error);
    if (result == SUPPLE_OK) result = spl_attach(&in, body->bone, &body->attach, error);
    if (result == SUPPLE_OK && body->attach.empty)
        spl_log(config, SUPPLE_LOG_WARNING, "%d bones hold no flesh", (int)body->attach.empty);
    return result;
}

/* ---- all of it ---- */

static supple_result build(spl_body *body, const spl_body_options *options, const supple_config *config, spl_pool *pool,
                           spl_cache *cache, supple_error *error)
{
    supple_result result = spl_progress(config, "surface", 0, error);
    if (result == SUPPLE_OK) result = find_parts(body, options, error);
    if (result == SUPPLE_OK) result = spl_progress(config, "surface", 0.5, error);
    if (result == SUPPLE_OK) result = make_surface(body, error);
    if (result == SUPPLE_OK) result = spl_bones_make(body->scene, &body->allocator, &body->bones, error);
    if (result == SUPPLE_OK) result = find_weights(body, error);
    if (result == SUPPLE_OK) result = set_unit(body, options, config, error);
    if (result != SUPPLE_OK) return result;
    spl_tree tree;
    result = spl_tree_make(body->surface.position, body->surface.triangle, body->surface.triangle_count,
                           &body->allocator, &tree, error);
    if (result != SUPPLE_OK) return result;
    bool prisms = options->kind == SUPPLE_BODY_PRISM && !options->tets;
    if (prisms) {
        result = spl_body_make_prisms(body, options, &tree, config, pool, cache, error);
    } else if (options->tets) {
        result = copy_tets(body, options->tets, error);
        if (result == SUPPLE_OK) result = fit_tets(body, &tree, config, error);
        if (result == SUPPLE_OK) result = place_tets(body, &tree, error);
    } else
        result = spl_flesh_cached(cache, &body->surface, &options->flesh, config, pool, &body->allocator, &body->tets,
                                  &body->place, &body->flesh, &body->cached, error);
    if (result == SUPPLE_OK) result = spl_progress(config, "attachments", 0, error);
    if (result == SUPPLE_OK && !prisms) result = attach(body, &tree, config, error);
    spl_tree_release(&tree);
    if (result == SUPPLE_OK) result = spl_progress(config, "upsampling", 0, error);
    if (result == SUPPLE_OK) result = spl_body_find_visual(body, options->upsampling, cache, pool, error);
    return result == SUPPLE_OK ? spl_progress(config, "upsampling", 1, error) : result;
}

supple_result spl_body_make(const supple_scene *scene, const spl_body_options *options, const supple_config *config,
                            spl_pool *pool, spl_body *out, supple_error *error)
{
    *out = (spl_body){.allocator = spl_allocator_of(config), .scene = scene, .cache = options->cache};
    spl_cache_options where = {.off = !options->cache};
    spl_cache *cache;
    supple_result result = spl_cache_open(&where, config, &cache, error);
    if (result == SUPPLE_OK) result = build(out, options, config, pool, cache, error);
    spl_cache_close(cache);
    if (result != SUPPLE_OK) spl_body_release(out);
    return result;
}

void spl_body_release(spl_body *body)
{
    const supple_allocator *a = &body->allocator;
    if (!a->release) return;
    spl_free(a, body->part);
    spl_free(a, body->role);
    spl_free(a, body->bind);
    spl_surface_release(&body->surface);
    spl_free(a, body->surface_vertex);
    spl_free(a, body->weights.first);
    spl_free(a, body->weights.node);
    spl_free(a, body->weights.weight);
    spl_tets_release(&body->tets);
    spl_free(a, body->place);
    spl_free(a, body->prism);
    spl_bones_release(&body->bones);
    spl_free(a, body->bone);
    spl_upsample_destroy(body->upsample);
    spl_surface_release(&body->skin);
    *body = (spl_body){0};
}
