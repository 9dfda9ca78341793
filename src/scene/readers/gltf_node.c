/* Nodes and their hierarchy: a forest. */
#include "scene/readers/gltf_private.h"

#include <math.h>
#include <string.h>

static void check_rotation(spl_gltf *g, int32_t index, spl_node *node)
{
    double n2 = 0;
    for (int i = 0; i < 4; i++) n2 += node->r[i] * node->r[i];
    if (n2 > 1e-20) return;
    spl_scene_warn(g->scene, "node %d '%.40s': a rotation of length zero is taken as none", index, node->name);
    memcpy(node->r, (double[4]){0, 0, 0, 1}, sizeof node->r);
}

static bool read_transform(spl_gltf *g, const json_t *object, int32_t index, spl_node *node)
{
    node->matrix = spl_mat4_identity();
    node->has_matrix = json_object_get(object, "matrix") != NULL;
    memcpy(node->r, (double[4]){0, 0, 0, 1}, sizeof node->r);
    memcpy(node->s, (double[3]){1, 1, 1}, sizeof node->s);
    if (!spl_gltf_numbers(g, object, "matrix", node->matrix.m, 16, "node", index) ||
        !spl_gltf_numbers(g, object, "translation", node->t, 3, "node", index) ||
        !spl_gltf_numbers(g, object, "rotation", node->r, 4, "node", index) ||
        !spl_gltf_numbers(g, object, "scale", node->s, 3, "node", index))
        return false;
    check_rotation(g, index, node);
    double *m = node->matrix.m;
    if (fabs(m[3]) + fabs(m[7]) + fabs(m[11]) + fabs(m[15] - 1) > 1e-4)
        spl_scene_warn(g->scene, "node %d '%.40s': the last row of its matrix is taken as 0 0 0 1", index, node->name);
    m[3] = m[7] = m[11] = 0;
    m[15] = 1;
    if (!node->has_matrix) node->matrix = spl_mat4_trs(node->t, node->r, node->s);
    return true;
}

static bool read_node(spl_gltf *g, const json_t *object, int32_t index, spl_node *node)
{
    int32_t meshes = (int32_t)json_array_size(json_object_get(g->root, "meshes"));
    int32_t skins = (int32_t)json_array_size(json_object_get(g->root, "skins"));
    node->name = spl_gltf_name(g, object);
    if (!node->name || !read_transform(g, object, index, node)) return false;
    if (!spl_gltf_index(g, object, "mesh", meshes, "node", index, &node->mesh) ||
        !spl_gltf_index(g, object, "skin", skins, "node", index, &node->skin))
        return false;
    if (node->mesh < 0 && node->skin >= 0) {
        spl_scene_warn(g->scene, "node %d '%.40s' has a skin but no mesh", index, node->name);
        node->skin = -1;
    }
    return true;
}

static bool adopt_children(spl_gltf *g, const json_t *object, int32_t index)
{
    supple_scene *scene = g->scene;
    const json_t *children = json_object_get(object, "children");
    if (children && !json_is_array(children)) return spl_gltf_fail(g, "node %d: \"children\" is not an array", index);
    for (size_t k = 0; k < json_array_size(children); k++) {
        const json_t *value = json_array_get(children, k);
        json_int_t child = json_is_integer(value) ? json_integer_value(value) : -1;
        if (child < 0 || child >= scene->node_count)
            return spl_gltf_fail(g, "node %d: child %lld is not a node of the file", index, (long long)child);
        if (child == index) return spl_gltf_fail(g, "node %d '%.40s' is its own child", index, scene->node[index].name);
        spl_node *node = &scene->node[child];
        if (node->parent >= 0)
            return spl_gltf_fail(g, "node %lld '%.40s' has two parents, nodes %d and %d", (long long)child, node->name,
                                 node->parent, index);
        node->parent = index;
    }
    return true;
}

/* Parents before children: from each node up to one that is placed already, then down again. `state` is 1 on the way
 * up; meeting it again means that the way never ends. */
static bool order_nodes(spl_gltf *g, uint8_t *state, int32_t *stack)
{
    supple_scene *scene = g->scene;
    int32_t placed = 0;
    for (int32_t i = 0; i < scene->node_count; i++) {
        int32_t depth = 0;
        for (int32_t k = i; k >= 0 && state[k] != 2; k = scene->node[k].parent) {
            if (state[k] == 1)
                return spl_gltf_fail(g, "node %d '%.40s' is its own ancestor: the hierarchy has a cycle", k,
                                     scene->node[k].name);
            state[k] = 1;
            stack[depth++] = k;
        }
        while (depth > 0) {
            int32_t k = stack[--depth];
            state[k] = 2;
            scene->node_order[placed++] = k;
        }
    }
    return true;
}

static bool read_hierarchy(spl_gltf *g, json_t *list)
{
    supple_scene *scene = g->scene;
    size_t count = (size_t)scene->node_count;
    for (int32_t i = 0; i < scene->node_count; i++)
        if (!adopt_children(g, json_array_get(list, (size_t)i), i)) return false;
    scene->node_order = spl_gltf_new(g, count, sizeof *scene->node_order, "nodes");
    if (!scene->node_order) return false;
    uint8_t *state = spl_gltf_new(g, count, sizeof *state, "nodes");
    int32_t *stack = state ? spl_gltf_new(g, count, sizeof *stack, "nodes") : NULL;
    bool ok = stack && order_nodes(g, state, stack);
    spl_free(g->a, state);
    spl_free(g->a, stack);
    return ok;
}

/* Everything in the file is drawn, whatever scene it belongs to; what is odd about the scenes is only said. */
static bool check_scenes(spl_gltf *g)
{
    json_t *list;
    int32_t count, chosen;
    if (!spl_gltf_list(g, g->root, "scenes", "asset", -1, &list, &count) ||
        !spl_gltf_index(g, g->root, "scene", count, "asset", -1, &chosen))
        return false;
    if (count > 1) spl_scene_warn(g->scene, "%d scenes in the file; the nodes of all of them are used", count);
    for (int32_t i = 0; i < count; i++) {
        const json_t *nodes = json_object_get(json_array_get(list, (size_t)i), "nodes");
        for (size_t k = 0; k < json_array_size(nodes); k++) {
            const json_t *value = json_array_get(nodes, k);
            json_int_t node = json_is_integer(value) ? json_integer_value(value) : -1;
            if (node < 0 || node >= g->scene->node_count)
                return spl_gltf_fail(g, "scene %d: %lld is not a node of the file", i, (long long)node);
            if (g->scene->node[node].parent >= 0)
                spl_scene_warn(g->scene, "scene %d lists node %lld, which is a child of another node", i,
                               (long long)node);
        }
    }
    return true;
}

bool spl_gltf_read_nodes(spl_gltf *g)
{
    supple_scene *scene = g->scene;
    json_t *list;
    int32_t count;
    if (!spl_gltf_list(g, g->root, "nodes", "asset", -1, &list, &count)) return false;
    scene->node = spl_gltf_new(g, (size_t)count, sizeof *scene->node, "nodes");
    if (!scene->node) return false;
    scene->node_count = count;
    for (int32_t i = 0; i < count; i++) {
        scene->node[i].parent = -1;
        if (!read_node(g, json_array_get(list, (size_t)i), i, &scene->node[i])) return false;
    }
    return read_hierarchy(g, list) && check_scenes(g);
}

/* ---- morph weights ---------------------------------------------------------------------------------------------- */

static bool read_weight_list(spl_gltf *g, const json_t *list, int32_t index, spl_node *node)
{
    size_t given = json_array_size(list), wanted = (size_t)node->weight_count;
    if (!json_is_array(list)) return spl_gltf_fail(g, "node %d: its morph weights are not an array", index);
    if (given != wanted)
        spl_scene_warn(g->scene, "node %d '%.40s': %zu morph weights for %zu targets", index, node->name, given,
                       wanted);
    for (size_t k = 0; k < given && k < wanted; k++) {
        const json_t *value = json_array_get(list, k);
        double weight = json_number_value(value);
        if (!json_is_number(value) || !(fabs(weight) <= SPL_GLTF_HUGE))
            return spl_gltf_fail(g, "node %d: morph weight %zu is not a usable number", index, k);
        node->weight[k] = (float)weight;
    }
    return true;
}

bool spl_gltf_read_weights(spl_gltf *g)
{
    supple_scene *scene = g->scene;
    const json_t *nodes = json_object_get(g->root, "nodes"), *meshes = json_object_get(g->root, "meshes");
    for (int32_t i = 0; i < scene->node_count; i++) {
        spl_node *node = &scene->node[i];
        if (node->mesh < 0) continue;
        const spl_mesh *mesh = &scene->mesh[node->mesh];
        for (int32_t k = 0; k < mesh->primitive_count; k++)
            if (mesh->primitive[k].target_count > node->weight_count)
                node->weight_count = mesh->primitive[k].target_count;
        if (node->weight_count == 0) continue;
        node->weight = spl_gltf_new(g, (size_t)node->weight_count, sizeof *node->weight, "morph weights");
        if (!node->weight) return false;
        const json_t *list = json_object_get(json_array_get(nodes, (size_t)i), "weights");
        if (!list) list = json_object_get(json_array_get(meshes, (size_t)node->mesh), "weights");
        if (list && !read_weight_list(g, list, i, node)) return false;
    }
    return true;
}
