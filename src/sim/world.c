#include "sim/world.h"

#include "core/error.h"
#include "core/memory.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- primitives ---- */

static spl_collider_shape in_solver(const spl_world *w, spl_collider_shape s)
{
    s.a = spl_scale(s.a, w->to_solver);
    s.b = s.kind == SPL_COLLIDER_PLANE && w->to_solver > 0 ? s.b : spl_scale(s.b, w->to_solver);
    s.radius *= fabs(w->to_solver);
    return s;
}

static supple_result add_shapes(spl_world *w, spl_world_source *s, const char *path, supple_error *error)
{
    supple_result result = spl_collider_file_load(path, &w->allocator, &s->file, error);
    for (int32_t i = 0; i < s->file.count && result == SUPPLE_OK; i++) {
        spl_collider_shape shape = in_solver(w, spl_collider_item_at(&s->file.item[i], 0));
        result = spl_colliders_add(w->colliders, &shape, error);
    }
    return result;
}

/* ---- meshes ---- */

/* How a scene's world axes stand in y up. */
static spl_mat3 upright_axes(const supple_scene *scene)
{
    float rows[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    spl_mat3 m;
    spl_scene_upright(scene, rows, 3);
    for (int i = 0; i < 9; i++) m.m[i] = (double)rows[i];
    return m;
}

static void set_axes(const spl_world *w, spl_world_source *s, const supple_scene *character)
{
    spl_mat3 from = upright_axes(s->scene), to = upright_axes(character);
    s->axes = spl_mat3_transposed_mul(&to, &from);
    double scale = w->to_solver * spl_scene_unit(s->scene) / spl_scene_unit(character);
    s->axes = spl_mat3_scale(&s->axes, scale);
}

static void move_scene(spl_world *w, spl_world_source *s, double time)
{
    spl_pose_sample(&s->pose, s->scene, s->scene->clip_count > 0 ? 0 : -1, time);
    spl_skinning_set_matrices(&s->skinning, s->scene, &s->pose, true);
    spl_skinning_run(&s->skinning, w->pool, s->rest, s->moved);
    for (size_t v = 0; v < (size_t)s->scene->vertex_count; v++) {
        spl_vec3 p = spl_mat3_apply(&s->axes, spl_v3_from_float(s->moved + 3 * v));
        memcpy(s->position + 3 * v, &p, sizeof p);
    }
}

/* The triangles of all primitives of an instance, over its own vertices. */
static int32_t *triangles_of(const supple_scene *scene, int32_t instance, const supple_allocator *a, int32_t *count)
{
    const spl_mesh *mesh = &scene->mesh[scene->instance[instance].mesh];
    *count = 0;
    for (int32_t k = 0; k < mesh->primitive_count; k++) *count += mesh->primitive[k].triangle_count;
    int32_t *out = spl_new(a, (size_t)*count, 3 * sizeof *out), vertex = 0;
    size_t at = 0;
    for (int32_t k = 0; out && k < mesh->primitive_count; k++) {
        const spl_primitive *p = &mesh->primitive[k];
        for (size_t i = 0; i < 3 * (size_t)p->triangle_count; i++) out[at++] = vertex + p->triangle[i];
        vertex += p->vertex_count;
    }
    return out;
}

static supple_result add_mesh(spl_world *w, const spl_world_source *s, int32_t instance, const char *path,
                              supple_error *error)
{
    char name[160];
    const spl_instance *i = &s->scene->instance[instance];
    spl_collider_mesh mesh = {
        .name = name, .vertex_count = i->vertex_count, .position = s->position + 3 * (size_t)i->first_vertex};
    int32_t *triangle = triangles_of(s->scene, instance, &w->allocator, &mesh.triangle_count);
    if (!triangle) return spl_fail_memory(error, "a collider");
    snprintf(name, sizeof name, "%.100s: mesh '%.40s'", path, spl_instance_name(s->scene, instance));
    mesh.triangle = triangle;
    supple_result result = spl_colliders_add_mesh(w->colliders, &mesh, error);
    spl_free(&w->allocator, triangle);
    return result;
}

static supple_result make_room(spl_world *w, spl_world_source *s, supple_error *error)
{
    const supple_allocator *a = &w->allocator;
    size_t n = (size_t)s->scene->vertex_count;
    s->rest = spl_new(a, n, 3 * sizeof *s->rest);
    s->moved = spl_new(a, n, 3 * sizeof *s->moved);
    s->position = spl_new(a, n, 3 * sizeof *s->position);
    if (!s->rest || !s->moved || !s->position) return spl_fail_memory(error, "a collider");
    for (int32_t i = 0; i < s->scene->instance_count; i++) {
        const spl_mesh *mesh = &s->scene->mesh[s->scene->instance[i].mesh];
        float *to = s->rest + 3 * (size_t)s->scene->instance[i].first_vertex;
        for (int32_t k = 0; k < mesh->primitive_count; k++) {
            size_t count = 3 * (size_t)mesh->primitive[k].vertex_count;
            if (count) memcpy(to, mesh->primitive[k].position, count * sizeof *to);
            to += count;
        }
    }
    supple_result result = spl_pose_init(&s->pose, s->scene, error);
    return result == SUPPLE_OK ? spl_skinning_init(&s->skinning, s->scene, a, error) : result;
}

static supple_result add_scene(spl_world *w, spl_world_source *s, const char *path, const supple_scene *character,
                               const supple_config *config, supple_error *error)
{
    supple_result result = supple_scene_load_file(path, config, &s->scene, error);
    if (result == SUPPLE_OK) result = make_room(w, s, error);
    if (result != SUPPLE_OK) return result;
    set_axes(w, s, character);
    move_scene(w, s, 0);
    for (int32_t i = 0; i < s->scene->instance_count && result == SUPPLE_OK; i++)
        result = add_mesh(w, s, i, path, error);
    if (result == SUPPLE_OK && s->scene->instance_count == 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%.150s has no mesh: nothing can collide with it", path);
    return result;
}

/* ---- the world ---- */

static bool is_json(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcasecmp(path + n - 5, ".json") == 0;
}

static supple_result add_files(spl_world *w, const supple_sim_config *sc, const supple_scene *character,
                               const supple_config *config, supple_error *error)
{
    supple_result result = spl_colliders_create(&w->allocator, &w->colliders, error);
    if (result != SUPPLE_OK) return result;
    w->source = spl_new(&w->allocator, (size_t)sc->collider_count, sizeof *w->source);
    if (!w->source) return spl_fail_memory(error, "the colliders");
    for (int32_t i = 0; i < sc->collider_count && result == SUPPLE_OK; i++) {
        spl_world_source *s = &w->source[w->source_count++];
        s->first = spl_colliders_count(w->colliders);
        result = is_json(sc->colliders[i]) ? add_shapes(w, s, sc->colliders[i], error)
                                           : add_scene(w, s, sc->colliders[i], character, config, error);
    }
    return result;
}

supple_result spl_world_create(const supple_sim_config *sc, const supple_scene *character, double to_solver,
                               const supple_config *config, spl_pool *pool, spl_world *out, supple_error *error)
{
    *out = (spl_world){.allocator = spl_allocator_of(config), .pool = pool, .to_solver = to_solver};
    if (sc->collider_count == 0) return SUPPLE_OK;
    supple_result result = add_files(out, sc, character, config, error);
    if (result != SUPPLE_OK) spl_world_release(out);
    return result;
}

void spl_world_release(spl_world *w)
{
    const supple_allocator *a = &w->allocator;
    if (!a->release) return;
    for (int32_t i = 0; i < w->source_count; i++) {
        spl_world_source *s = &w->source[i];
        spl_collider_file_release(&s->file);
        spl_pose_release(&s->pose);
        spl_skinning_release(&s->skinning, a);
        spl_free(a, s->rest);
        spl_free(a, s->moved);
        spl_free(a, s->position);
        supple_scene_destroy(s->scene);
    }
    spl_free(a, w->source);
    spl_colliders_destroy(w->colliders);
    *w = (spl_world){0};
}

void spl_world_pose(spl_world *w, double time)
{
    for (int32_t i = 0; i < w->source_count; i++) {
        spl_world_source *s = &w->source[i];
        for (int32_t k = 0; k < s->file.count; k++) {
            if (s->file.item[k].key_count == 0) continue;
            spl_collider_shape shape = in_solver(w, spl_collider_item_at(&s->file.item[k], time));
            spl_colliders_place(w->colliders, s->first + k, &shape);
        }
        if (!s->scene || s->scene->clip_count == 0) continue; /* does not move */
        move_scene(w, s, time);
        for (int32_t k = 0; k < s->scene->instance_count; k++)
            spl_colliders_place_mesh(w->colliders, s->first + k,
                                     s->position + 3 * (size_t)s->scene->instance[k].first_vertex);
    }
}
