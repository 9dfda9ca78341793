#include "body/body.h"

#include "body/body_cache.h"
#include "body/body_prism.h"
#include "body/body_visual.h"
#include "body/lips.h"
#include "core/error.h"
#include "core/memory.h"
#include "math/mat3.h"
#include "rig/bind.h"
#include "rig/pose.h"
#include "rig/size.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SMALLEST_FLOATS 1e-30 /* the diagonal below which a vertex, a float, has lost its digits */
#define ANOTHER_SIZE    4.0   /* the solver's size and the file's differ by more: worth a line */

spl_body_options spl_body_options_default(void)
{
    return (spl_body_options){.flesh = spl_flesh_options_default()};
}

/* ---- parts in body space ---- */

static supple_result find_parts(spl_body *body, const spl_body_options *options, supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    body->part = spl_parts_new(body->scene, a, &body->part_count);
    body->bind = spl_new(a, (size_t)body->scene->vertex_count, 3 * sizeof(float));
    if (!body->part || !body->bind) return spl_fail_memory(error, "the body's parts");
    body->home = spl_roles_home(body->scene, body->part, body->part_count);
    if (body->home < 0) return spl_fail(error, SUPPLE_ERROR_INPUT, "no part is skinned: there is no flesh");
    spl_roles_place(body->scene, body->part, body->part_count, body->home, body->bind);
    spl_roles_input in = {.scene = body->scene,
                          .part = body->part,
                          .part_count = body->part_count,
                          .position = body->bind,
                          .bones = &body->bones,
                          .rules = options->rules,
                          .rule_count = options->rule_count};
    return spl_roles_find(&in, a, &body->roles, error);
}

static supple_result part_lips(spl_body *body, const supple_config *config, supple_error *error)
{
    int32_t parted = 0;
    spl_lips_input in = {.scene = body->scene,
                         .part = body->part,
                         .part_count = body->part_count,
                         .merged_into = body->bones.merged_into,
                         .first_triangle = body->roles.first_triangle,
                         .role = body->roles.triangle,
                         .allocator = &body->allocator};
    supple_result result = spl_lips_part(&in, body->bind, &parted, error);
    if (result == SUPPLE_OK && parted > 0)
        spl_log(config, SUPPLE_LOG_INFO, "note: lips that are closed in the bind pose part at %d places", (int)parted);
    return result;
}

/* ---- the flesh's surface ---- */

int32_t spl_body_source(const spl_body *body, int32_t triangle, int32_t *in_part)
{
    int32_t number = body->flesh_triangle[body->surface.source[triangle]], low = 0, high = body->part_count;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (body->roles.first_triangle[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    if (in_part) *in_part = number - body->roles.first_triangle[low];
    return low;
}

bool spl_body_has_flesh(const spl_body *body, int32_t part)
{
    return body->roles.part[part].share[SUPPLE_ROLE_FLESH] > 0 && spl_part_skinned(body->scene, &body->part[part]);
}

static supple_result no_flesh(const spl_body *body, supple_error *error)
{
    for (int32_t i = 0; i < body->part_count; i++)
        if (spl_part_skinned(body->scene, &body->part[i]))
            return spl_fail(error, SUPPLE_ERROR_INPUT,
                            "no flesh: '%.60s': %s; a volumetric method needs a closed part, or --part NAME=flesh",
                            spl_instance_name(body->scene, body->part[i].instance), body->roles.part[i].why);
    return spl_fail(error, SUPPLE_ERROR_INPUT, "no part is skinned: there is no flesh");
}

static supple_result make_surface(spl_body *body, supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    size_t n = (size_t)body->scene->vertex_count, triangles = (size_t)body->roles.first_triangle[body->part_count];
    double *position = spl_new(a, n, 3 * sizeof *position);
    int32_t *triangle = spl_new(a, triangles, 3 * sizeof *triangle), count = 0;
    body->flesh_triangle = spl_new(a, triangles, sizeof *body->flesh_triangle);
    supple_result result =
        position && triangle && body->flesh_triangle ? SUPPLE_OK : spl_fail_memory(error, "the flesh's surface");
    for (size_t i = 0; result == SUPPLE_OK && i < 3 * n; i++) position[i] = (double)body->bind[i];
    for (int32_t i = 0; result == SUPPLE_OK && i < body->part_count; i++) {
        const spl_primitive *p = body->part[i].primitive;
        if (!spl_part_skinned(body->scene, &body->part[i])) continue;
        for (int32_t t = 0; t < p->triangle_count; t++) {
            if (body->roles.triangle[body->roles.first_triangle[i] + t] != SUPPLE_ROLE_FLESH) continue;
            for (size_t k = 0; k < 3; k++)
                triangle[3 * (size_t)count + k] = p->triangle[3 * (size_t)t + k] + body->part[i].first_vertex;
            body->flesh_triangle[count++] = body->roles.first_triangle[i] + t;
        }
    }
    if (result == SUPPLE_OK && count == 0) result = no_flesh(body, error);
    if (result == SUPPLE_OK)
        result = spl_surface_make(position, body->scene->vertex_count, triangle, count, a, &body->surface, error);
    spl_free(a, position);
    spl_free(a, triangle);
    return result;
}

/* ---- weights at the surface ---- */

static supple_result find_weights(spl_body *body, supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    body->surface_vertex = spl_new(a, (size_t)body->surface.vertex_count, sizeof *body->surface_vertex);
    if (!body->surface_vertex) return spl_fail_memory(error, "the skin's weights");
    return spl_skin_weights_make(body->scene, body->part, body->part_count, body->bones.merged_into, &body->surface, a,
                                 body->surface_vertex, &body->weights, error);
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

/* One line with the joints that had no flesh of their own, as far as it goes. */
static void say_merged(const spl_body *body, const supple_config *config)
{
    char names[160] = "";
    size_t used = 0;
    int32_t last = -1;
    for (int32_t k = 0; k < body->bones.bone_count; k++) {
        const spl_bone *b = &body->bones.bone[k];
        if (b->of == b->node || b->of == last) continue;
        const char *name = body->scene->node[b->of].name;
        bool fits = used + strlen(name) + 8 < sizeof names;
        int n = snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", fits ? name : "...");
        used += n > 0 ? (size_t)n : 0;
        last = b->of;
        if (!fits) break;
    }
    spl_sanitise(names);
    if (body->attach.merged)
        spl_log(config, SUPPLE_LOG_INFO, "%d joint%s without flesh of %s own move%s with what %s on: %s",
                (int)body->attach.merged, body->attach.merged == 1 ? "" : "s",
                body->attach.merged == 1 ? "its" : "their", body->attach.merged == 1 ? "s" : "",
                body->attach.merged == 1 ? "it hangs" : "they hang", names);
}

static supple_result attach(spl_body *body, const spl_tree *tree, const supple_config *config, supple_error *error)
{
    body->bone = spl_new(&body->allocator, (size_t)body->tets.vertex_count, sizeof *body->bone);
    if (!body->bone) return spl_fail_memory(error, "the attachments");
    spl_attach_input in = spl_body_attach_input(body, &body->tets, body->place, tree);
    supple_result result = spl_leaves_fit(&in, &body->bones, &body->leaves, error);
    if (result == SUPPLE_OK) result = spl_attach(&in, &body->bones, body->bone, &body->attach, error);
    if (result != SUPPLE_OK) return result;
    say_merged(body, config);
    if (body->attach.empty) spl_log(config, SUPPLE_LOG_WARNING, "%d bones hold no flesh", (int)body->attach.empty);
    return SUPPLE_OK;
}

/* ---- all of it ---- */

static supple_result find_surface(spl_body *body, const spl_body_options *options, const supple_config *config,
                                  supple_error *error)
{
    supple_result result = spl_progress(config, "surface", 0, error);
    if (result == SUPPLE_OK) result = spl_bones_make(body->scene, &body->allocator, &body->bones, error);
    if (result == SUPPLE_OK) result = find_parts(body, options, error);
    if (result == SUPPLE_OK) result = spl_progress(config, "surface", 0.5, error);
    if (result == SUPPLE_OK) result = part_lips(body, config, error);
    return result == SUPPLE_OK ? make_surface(body, error) : result;
}

static supple_result build(spl_body *body, const spl_body_options *options, const supple_config *config, spl_pool *pool,
                           spl_cache *cache, supple_error *error)
{
    supple_result result = find_surface(body, options, config, error);
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

supple_result spl_body_expect(const supple_scene *scene, const spl_body_options *options, const supple_config *config,
                              spl_pool *pool, double *tets, supple_error *error)
{
    spl_body body = {.allocator = spl_allocator_of(config), .scene = scene};
    supple_result result = find_surface(&body, options, config, error);
    *tets = 0;
    if (result == SUPPLE_OK)
        result = spl_flesh_expect(&body.surface, &options->flesh, pool, &body.allocator, tets, error);
    spl_body_release(&body);
    return result;
}

void spl_body_release(spl_body *body)
{
    const supple_allocator *a = &body->allocator;
    if (!a->release) return;
    spl_free(a, body->part);
    spl_roles_release(&body->roles);
    spl_free(a, body->flesh_triangle);
    spl_free(a, body->bind);
    spl_surface_release(&body->surface);
    spl_free(a, body->surface_vertex);
    spl_skin_weights_release(&body->weights, a);
    spl_tets_release(&body->tets);
    spl_free(a, body->place);
    spl_free(a, body->prism);
    spl_bones_release(&body->bones);
    spl_free(a, body->bone);
    spl_upsample_destroy(body->upsample);
    spl_free(a, body->lifted);
    spl_riders_release(&body->riders);
    spl_surface_release(&body->skin);
    *body = (spl_body){0};
}
