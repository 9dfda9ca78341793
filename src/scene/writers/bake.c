/* Which meshes are baked, and the nodes and scenes around them.
 *
 * Frames are in world space, so a baked node becomes a root with the identity transform. Nodes keep their order, in
 * which caches have the instances; their numbers change only where nothing else names them (bake_prune.c). What hung on
 * it (children, a camera, a light) goes to a helper node with its old transform, which takes its place under the
 * parent. */
#include "scene/writers/bake.h"

#include "core/error.h"
#include "core/memory.h"
#include "rig/pose.h"
#include "scene/document.h"

#include <string.h>

enum { MAX_TARGETS = 300000 }; /* about a gigabyte of JSON */

/* ---- JSON helpers ----------------------------------------------------------------------------------------------- */

void spl_bake_set(spl_bake *bake, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) bake->failed = true;
}

void spl_bake_append(spl_bake *bake, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) bake->failed = true;
}

json_t *spl_bake_list(spl_bake *bake, const char *key)
{
    if (!json_is_array(json_object_get(bake->root, key))) spl_bake_set(bake, bake->root, key, json_array());
    return json_object_get(bake->root, key);
}

int64_t spl_bake_index(const json_t *object, const char *key, size_t limit)
{
    const json_t *value = json_object_get(object, key);
    json_int_t index = json_is_integer(value) ? json_integer_value(value) : -1;
    return index >= 0 && (uint64_t)index < limit ? index : -1;
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static bool has_targets(const spl_mesh *mesh)
{
    for (int32_t k = 0; k < mesh->primitive_count; k++)
        if (mesh->primitive[k].target_count > 0) return true;
    return false;
}

static bool choose_nodes(spl_bake *b)
{
    const supple_scene *scene = b->scene;
    b->baked = spl_new(&b->allocator, (size_t)scene->node_count, sizeof *b->baked);
    b->helper = spl_new(&b->allocator, (size_t)scene->node_count, sizeof *b->helper);
    if (!b->baked || !b->helper) return false;
    for (int32_t i = 0; i < scene->node_count; i++) b->helper[i] = -1;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_instance *instance = &scene->instance[i];
        if (instance->skin < 0 && !has_targets(&scene->mesh[instance->mesh])) continue;
        b->baked[instance->node] = true;
        b->part_count += scene->mesh[instance->mesh].primitive_count;
    }
    return true;
}

int32_t spl_bake_target_count(const spl_bake *b, int32_t instance)
{
    if (b->basis) return b->basis[instance].count + b->basis[instance].steady;
    return b->still ? 0 : b->writer->frame_total;
}

bool spl_bake_has(const spl_bake_part *part, int attribute)
{
    return attribute == 0 || (attribute == 1 ? part->normal : part->tangent);
}

size_t spl_bake_stride(int width)
{
    return width == 4 ? 12 : width == 2 ? 8 : 4; /* vertices begin at multiples of four */
}

int spl_bake_area(int width)
{
    return width == 4 ? 0 : width == 2 ? 1 : 2;
}

/* One target a frame: rows follow each other as the frames come. */
static void place_frames(spl_bake *b)
{
    uint64_t at = 4 * (uint64_t)b->base_floats;
    b->area[0] = 0;
    for (int32_t k = 0; !b->still && k < b->writer->frame_total; k++)
        for (int32_t i = 0; i < b->part_count; i++)
            for (int attribute = 0; attribute < 3; attribute++) {
                const spl_bake_part *part = &b->part[i];
                if (!spl_bake_has(part, attribute)) continue;
                b->row[part->row + 3 * (size_t)k + (size_t)attribute] = (spl_bake_row){4, at};
                at += 12 * (uint64_t)part->vertex_count;
            }
    b->area[1] = b->area[2] = b->area[3] = at;
}

/* Components: rows of floats, of shorts and of bytes are apart, for a view has one stride. */
static void place_components(spl_bake *b)
{
    uint64_t at = 4 * (uint64_t)b->base_floats;
    for (int area = 0; area < 3; area++) {
        b->area[area] = area ? at : 0;
        for (int32_t i = 0; i < b->part_count; i++) {
            const spl_bake_part *part = &b->part[i];
            const spl_basis *basis = &b->basis[part->instance];
            for (size_t r = 0; r < 3 * (size_t)part->target_count; r++) {
                uint8_t kind = r < 3 * (size_t)basis->count ? basis->kind[r] : r % 3 ? 1 : 0;
                if (!spl_bake_has(part, (int)(r % 3)) || kind == 0 || spl_bake_area(kind) != area) continue;
                b->row[part->row + r] = (spl_bake_row){kind, at};
                at += spl_bake_stride(kind) * (uint64_t)part->vertex_count;
            }
        }
    }
    b->area[3] = at;
}

static bool place_targets(spl_bake *b)
{
    for (int32_t i = 0; i < b->part_count; i++) {
        spl_bake_part *part = &b->part[i];
        part->row = b->row_count;
        part->bound = b->bounded_count;
        b->row_count += 3 * (size_t)part->target_count;
        b->bounded_count += 1 + (size_t)part->target_count;
    }
    b->row = spl_new(&b->allocator, b->row_count, sizeof *b->row);
    if (!b->row) return false;
    if (b->basis)
        place_components(b);
    else
        place_frames(b);
    return true;
}

static bool list_parts(spl_bake *b)
{
    const supple_scene *scene = b->scene;
    b->part = spl_new(&b->allocator, (size_t)b->part_count, sizeof *b->part);
    if (!b->part) return false;
    spl_bake_part *part = b->part;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_instance *instance = &scene->instance[i];
        if (!b->baked[instance->node]) continue;
        int32_t first = instance->first_vertex;
        for (int32_t k = 0; k < scene->mesh[instance->mesh].primitive_count; k++, part++) {
            const spl_primitive *p = &scene->mesh[instance->mesh].primitive[k];
            *part = (spl_bake_part){.instance = i,
                                    .primitive = k,
                                    .first_vertex = first,
                                    .vertex_count = p->vertex_count,
                                    .normal = p->normal != NULL,
                                    .tangent = p->normal && p->tangent,
                                    .target_count = spl_bake_target_count(b, i),
                                    .base = b->base_floats};
            b->base_floats += 3 * (size_t)p->vertex_count * (part->normal ? 2 : 1);
            first += p->vertex_count;
        }
    }
    return place_targets(b);
}

/* A baked node has the identity transform, so the sign of its old one, which tells viewers the winding, is gone. */
static bool find_mirrored(spl_bake *b)
{
    spl_pose pose;
    const supple_range *range = &b->writer->ranges[0];
    if (spl_pose_init(&pose, b->scene, NULL) != SUPPLE_OK) return false;
    spl_pose_sample(&pose, b->scene, range->clip, range->first_frame / b->writer->fps);
    for (int32_t i = 0; i < b->part_count; i++) {
        const spl_instance *instance = &b->scene->instance[b->part[i].instance];
        bool triangles = b->scene->mesh[instance->mesh].primitive[b->part[i].primitive].triangle_count > 0;
        b->part[i].mirrored = triangles && spl_pose_mirrors(&pose, b->scene, b->part[i].instance);
    }
    spl_pose_release(&pose);
    return true;
}

/* ---- meshes ----------------------------------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Removes an extension from an object, and the "extensions" member if nothing is left in it. */
static void drop_extension(json_t *object, const char *name)
{
    json_t *extensions = json_object_get(object, "extensions");
    if (!extensions) return;
    json_object_del(extensions, name);
    if (json_object_size(extensions) == 0) json_object_del(object, "extensions");
}

/* Takes out of a primitive what the frames bring anew. */
static void strip_primitive(json_t *primitive, bool mirrored)
{
    json_t *attributes = json_object_get(primitive, "attributes"), *value;
    const char *key;
    void *next;
    json_object_foreach_safe(attributes, next, key, value)
    {
        if (starts_with(key, "JOINTS_") || starts_with(key, "WEIGHTS_") || strcmp(key, "POSITION") == 0 ||
            strcmp(key, "NORMAL") == 0 || strcmp(key, "TANGENT") == 0)
            json_object_del(attributes, key);
    }
    json_object_del(primitive, "targets");
    if (mirrored) { /* triangles turned round come in their place */
        json_object_del(primitive, "indices");
        json_object_del(primitive, "mode");
    }
    drop_extension(primitive, "KHR_draco_mesh_compression"); /* its fallback has become the data */
}

/* An object's own mesh, from the untouched document: several skins may share a mesh. */
static json_t *make_mesh(spl_bake *b, int32_t mesh, const spl_bake_part *part)
{
    json_t *list = json_object_get(b->scene->document->json, "meshes");
    json_t *copy = json_deep_copy(json_array_get(list, (size_t)mesh)), *primitive;
    size_t k;
    if (!copy) b->failed = true;
    json_object_del(copy, "weights");
    json_object_del(json_object_get(copy, "extras"), "targetNames");
    json_array_foreach(json_object_get(copy, "primitives"), k, primitive) strip_primitive(primitive, part[k].mirrored);
    return copy;
}

/* Gives every baked instance its mesh: the old index for the first one where no rigid node needs the original. */
static bool place_meshes(spl_bake *b)
{
    const supple_scene *scene = b->scene;
    json_t *meshes = json_object_get(b->root, "meshes"), *nodes = json_object_get(b->root, "nodes");
    bool *taken = spl_new(&b->allocator, (size_t)scene->mesh_count, sizeof *taken);
    if (!taken) return false;
    for (int32_t i = 0; i < scene->instance_count; i++)
        if (!b->baked[scene->instance[i].node]) taken[scene->instance[i].mesh] = true;
    spl_bake_part *part = b->part;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_instance *instance = &scene->instance[i];
        if (!b->baked[instance->node]) continue;
        json_t *mesh = make_mesh(b, instance->mesh, part), *primitives = json_object_get(mesh, "primitives");
        for (int32_t k = 0; k < scene->mesh[instance->mesh].primitive_count; k++)
            (part++)->json = json_array_get(primitives, (size_t)k);
        size_t index = taken[instance->mesh] ? json_array_size(meshes) : (size_t)instance->mesh;
        int bad = taken[instance->mesh] ? json_array_append_new(meshes, mesh) : json_array_set_new(meshes, index, mesh);
        if (bad) b->failed = true;
        taken[instance->mesh] = true;
        spl_bake_set(b, json_array_get(nodes, (size_t)instance->node), "mesh", json_integer((json_int_t)index));
    }
    spl_free(&b->allocator, taken);
    return true;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* Moves a member to another object. */
static void move_member(spl_bake *b, json_t *from, json_t *to, const char *key)
{
    json_t *value = json_object_get(from, key);
    if (!value) return;
    if (json_object_set(to, key, value) != 0) b->failed = true;
    json_object_del(from, key);
}

/* The light is where the node was; other extensions speak of the object and stay with it. */
static void move_light(spl_bake *b, json_t *node, json_t *helper)
{
    static const char name[] = "KHR_lights_punctual";
    json_t *light = json_object_get(json_object_get(node, "extensions"), name);
    if (!light) return;
    json_t *extensions = json_object();
    if (json_object_set(extensions, name, light) != 0) b->failed = true;
    spl_bake_set(b, helper, "extensions", extensions);
    drop_extension(node, name);
}

static void free_node(spl_bake *b, json_t *nodes, int32_t index)
{
    static const char *const transform[] = {"matrix", "translation", "rotation", "scale"};
    json_t *node = json_array_get(nodes, (size_t)index);
    json_t *light = json_object_get(json_object_get(node, "extensions"), "KHR_lights_punctual");
    json_object_del(node, "skin");
    json_object_del(node, "weights");
    if (json_object_get(node, "children") || json_object_get(node, "camera") || light) {
        json_t *helper = json_object();
        const char *name = json_string_value(json_object_get(node, "name"));
        if (name) spl_bake_set(b, helper, "name", json_sprintf("%s (place)", name));
        move_member(b, node, helper, "children");
        move_member(b, node, helper, "camera");
        move_light(b, node, helper);
        for (size_t i = 0; i < sizeof transform / sizeof *transform; i++) move_member(b, node, helper, transform[i]);
        b->helper[index] = (int32_t)json_array_size(nodes);
        spl_bake_append(b, nodes, helper);
    }
    for (size_t i = 0; i < sizeof transform / sizeof *transform; i++) json_object_del(node, transform[i]);
}

/* In a list of nodes: helpers instead of baked nodes, and nothing where there is no helper. */
static void replace_in_list(spl_bake *b, json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;) {
        json_int_t node = json_integer_value(json_array_get(list, i));
        if (node < 0 || node >= b->scene->node_count || !b->baked[node]) continue;
        if (b->helper[node] < 0)
            json_array_remove(list, i);
        else if (json_array_set_new(list, i, json_integer(b->helper[node])) != 0)
            b->failed = true;
    }
}

/* Baked nodes become roots of the scenes in which they were. root[] is the topmost node above each. */
static void fix_scene(spl_bake *b, json_t *scene, const int32_t *root, bool *listed)
{
    int32_t count = b->scene->node_count;
    memset(listed, 0, (size_t)count * sizeof *listed);
    json_t *list = json_object_get(scene, "nodes"), *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        json_int_t node = json_integer_value(item);
        if (node >= 0 && node < count) listed[node] = true;
    }
    replace_in_list(b, list);
    for (int32_t n = 0; n < count; n++)
        if (b->baked[n] && listed[root[n]]) spl_bake_append(b, list, json_integer(n));
}

static bool fix_nodes(spl_bake *b)
{
    const supple_scene *scene = b->scene;
    json_t *nodes = json_object_get(b->root, "nodes"), *item;
    for (int32_t i = 0; i < scene->node_count; i++)
        if (b->baked[i]) free_node(b, nodes, i);
    size_t k;
    json_array_foreach(nodes, k, item)
    {
        json_t *children = json_object_get(item, "children");
        replace_in_list(b, children);
        if (children && json_array_size(children) == 0) json_object_del(item, "children");
    }
    size_t count = (size_t)scene->node_count;
    int32_t *root = spl_new(&b->allocator, count, sizeof *root);
    bool *listed = spl_new(&b->allocator, count, sizeof *listed);
    if (root && listed) {
        for (size_t i = 0; i < count; i++) {
            int32_t node = scene->node_order[i], parent = scene->node[node].parent;
            root[node] = parent < 0 ? node : root[parent];
        }
        json_array_foreach(json_object_get(b->root, "scenes"), k, item) fix_scene(b, item, root, listed);
    }
    bool ok = root && listed;
    spl_free(&b->allocator, root);
    spl_free(&b->allocator, listed);
    return ok;
}

/* An imported file's polygons are named by numbers of accessors, which change; glTF draws triangles anyway. */
static void forget_polygons(spl_bake *b)
{
    json_t *mesh, *primitive;
    size_t i, k;
    json_array_foreach(json_object_get(b->root, "meshes"), i, mesh)
        json_array_foreach(json_object_get(mesh, "primitives"), k, primitive)
    {
        json_t *extras = json_object_get(primitive, "extras");
        json_object_del(extras, "supple");
        if (extras && json_object_size(extras) == 0) json_object_del(primitive, "extras");
    }
}

/* glTF is in metres with y up. A scene of other space gets a node above all others that turns and scales it; the data
 * keep the input's numbers. */
static void stand_up(spl_bake *b)
{
    const supple_scene *scene = b->scene;
    double unit = spl_scene_unit(scene);
    if (unit == 1 && scene->up == SPL_UP_Y) return;
    json_t *nodes = spl_bake_list(b, "nodes"), *item;
    size_t k;
    json_array_foreach(json_object_get(b->root, "scenes"), k, item)
    {
        json_t *node = json_object(), *matrix = json_array(), *roots = json_object_get(item, "nodes");
        if (!roots) {
            json_decref(node);
            json_decref(matrix);
            continue;
        }
        for (int column = 0; column < 4; column++) {
            float row[3] = {column == 0, column == 1, column == 2};
            spl_scene_upright(scene, row, 1);
            for (int c = 0; c < 3; c++) spl_bake_append(b, matrix, json_real(unit * (double)row[c]));
            spl_bake_append(b, matrix, json_real(column == 3));
        }
        spl_bake_set(b, node, "name", json_string("to metres, y up"));
        spl_bake_set(b, node, "matrix", matrix);
        spl_bake_set(b, node, "children", json_incref(roots));
        spl_bake_set(b, item, "nodes", json_pack("[I]", (json_int_t)json_array_size(nodes)));
        spl_bake_append(b, nodes, node);
    }
    json_t *origin = json_object_get(json_object_get(json_object_get(b->root, "asset"), "extras"), "supple");
    json_object_del(origin, "unit");
    json_object_del(origin, "up");
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static supple_result check_frames(const spl_bake *b, supple_error *error)
{
    const supple_writer *w = b->writer;
    if (b->basis || w->frame_total <= SPL_BAKE_MAX_TARGETS) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                    "%s: %d frames, but exact morph targets hold at most %d; allow an error (--set glb-error=0.0005), "
                    "choose fewer with --frames or --fps, or write .npy or .pc2",
                    w->path, (int)w->frame_total, SPL_BAKE_MAX_TARGETS);
}

/* One buffer, and no empty lists: the schema forbids them. */
void spl_bake_finish(spl_bake *b)
{
    static const char *const lists[] = {"accessors", "bufferViews", "animations"};
    json_object_del(b->root, "buffers");
    if (b->size > 0) spl_bake_set(b, b->root, "buffers", json_pack("[{s:I}]", "byteLength", (json_int_t)b->size));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (json_array_size(json_object_get(b->root, lists[i])) == 0) json_object_del(b->root, lists[i]);
    spl_bake_extensions(b);
}

supple_result spl_bake_carry(spl_bake *b, supple_error *error)
{
    forget_polygons(b);
    json_t *asset = json_object_get(b->root, "asset");
    spl_bake_set(b, asset, "generator", json_string("Supple " SUPPLE_VERSION));
    stand_up(b);
    return spl_bake_keep(b, error);
}

static supple_result make_document(spl_bake *b, supple_error *error)
{
    b->root = json_deep_copy(b->scene->document->json);
    if (!b->root || !choose_nodes(b) || !list_parts(b) || !find_mirrored(b) || !place_meshes(b) || !fix_nodes(b) ||
        !spl_bake_prune(b))
        return spl_fail_memory(error, "the output's document");
    if (b->bounded_count > MAX_TARGETS)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "%s: %d parts in %d frames are too many morph targets; choose fewer frames or write .npy",
                        b->writer->path, (int)b->part_count, (int)b->writer->frame_total);
    json_object_del(b->root, "skins");
    b->expressions = spl_bake_expressions(b);
    spl_bake_select_motion(b);
    supple_result result = spl_bake_carry(b, error);
    if (result == SUPPLE_OK) result = spl_bake_parts(b, error);
    if (result == SUPPLE_OK) result = spl_bake_add_motion(b, error);
    if (result == SUPPLE_OK) spl_bake_finish(b);
    return result == SUPPLE_OK && b->failed ? spl_fail_memory(error, "the output's document") : result;
}

supple_result spl_bake_init(spl_bake *b, const supple_writer *writer, const spl_basis *basis, supple_error *error)
{
    b->allocator = writer->allocator;
    b->writer = writer;
    b->scene = writer->scene;
    b->basis = basis;
    b->still = writer->frame_total == 1 && writer->ranges[0].clip < 0;
    supple_result result = check_frames(b, error);
    if (result == SUPPLE_OK) result = make_document(b, error);
    if (result != SUPPLE_OK) return result;
    if (b->size > UINT32_MAX - ((uint64_t)64 << 20)) /* room for the JSON in a .glb, whose length has 32 bits */
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "%s: would need %.1f GB, the format ends at 4; choose fewer frames or write .npy or .pc2",
                        writer->path, (double)b->size / 1e9);
    return SUPPLE_OK;
}

void spl_bake_release(spl_bake *b)
{
    if (!b->allocator.release) return; /* never begun */
    const supple_allocator *a = &b->allocator;
    for (size_t i = 0; i < b->piece_count; i++) spl_free(a, b->piece[i].owned);
    spl_free(a, b->piece);
    spl_free(a, b->bounded);
    spl_free(a, b->row);
    spl_free(a, b->part);
    spl_free(a, b->baked);
    spl_free(a, b->helper);
    spl_free(a, b->number);
    json_decref(b->root);
    *b = (spl_bake){0};
}
