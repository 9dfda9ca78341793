/* Leaves nodes out of a baked document that nothing uses any more: the joints of skins that are gone, and what belongs
 * to the rig with them (the armature above, tips below). In an editor each would be an object and an action of its own.
 *
 * What carries something stays (a mesh, a camera, a light, any extension, extras on a node that is no joint), and so
 * does all above it. The others are numbered anew, so nothing is left out where something that we do not understand may
 * count nodes: an extension that is not known to name none, or extras with numbers of nodes. */
#include "core/memory.h"
#include "scene/writers/bake.h"

#include <string.h>
#include <strings.h>

/* Extensions that name no node; one that ends in '*' stands for all that begin so. */
static const char *const harmless[] = {
    "KHR_materials_*",       "KHR_texture_*",
    "EXT_texture_*",         "MSFT_texture_*",
    "KHR_lights_punctual",   "KHR_xmp*",
    "KHR_mesh_quantization", "EXT_meshopt_*",
    "KHR_draco_*",           "EXT_mesh_gpu_instancing",
    "EXT_lights_*",          "KHR_mesh_primitive_*",
    "FB_ngon_encoding",      "CESIUM_primitive_outline",
};

typedef struct pruning {
    spl_bake *b;
    json_t *nodes;
    size_t count;
    bool *joint, *kept;
    bool *above, *below; /* a joint is above it, or it is one; a joint is below it, or it is one */
    bool *looked;        /* `above` is known */
    int32_t *parent;
    json_t *said; /* the texts of extras, as keys */
} pruning;

static bool is_harmless(const char *name)
{
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        size_t n = strlen(harmless[i]);
        if (harmless[i][n - 1] == '*' ? strncmp(harmless[i], name, n - 1) == 0 : strcmp(harmless[i], name) == 0)
            return true;
    }
    return false;
}

static bool all_harmless(const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)json_object_get(object, "extensions"), key, value)
    {
        if (!is_harmless(key)) return false;
    }
    return true;
}

/* ---- extras ----------------------------------------------------------------------------------------------------- */

static bool sounds_like_nodes(const char *key)
{
    return strcasestr(key, "node") || strcasestr(key, "bone") || strcasestr(key, "joint");
}

/* Notes texts, which may be names of nodes; true if numbers that may be nodes' are here. */
static bool search_extras(pruning *p, const json_t *value, bool about_nodes, int depth)
{
    enum { DEEPEST = 32 };
    const char *key, *text = json_string_value(value);
    json_t *item;
    size_t i;
    bool numbers = about_nodes && json_is_integer(value);
    if (depth > DEEPEST) return true;
    if (text && json_object_set_new(p->said, text, json_true()) != 0) p->b->failed = true;
    json_array_foreach((json_t *)value, i, item) numbers = search_extras(p, item, about_nodes, depth + 1) || numbers;
    json_object_foreach((json_t *)value, key, item)
    {
        numbers = search_extras(p, item, about_nodes || sounds_like_nodes(key), depth + 1) || numbers;
    }
    return numbers;
}

/* ---- what stays ------------------------------------------------------------------------------------------------- */

/* Whether a channel of an animation says by an extension what it moves. */
static bool names_target(const json_t *animation)
{
    const json_t *channels = json_object_get(animation, "channels");
    for (size_t i = 0; i < json_array_size(channels); i++)
        if (json_object_get(json_object_get(json_array_get(channels, i), "target"), "extensions")) return true;
    return false;
}

/* Whether anything may name nodes by numbers that we cannot follow. */
static bool is_opaque(pruning *p)
{
    static const char *const lists[] = {"scenes", "nodes", "meshes", "animations"};
    const json_t *root = p->b->root, *used = json_object_get(root, "extensionsUsed");
    json_t *item;
    size_t i;
    if (!all_harmless(root)) return true;
    for (i = 0; i < json_array_size(used); i++) {
        const char *name = json_string_value(json_array_get(used, i));
        if (name && !is_harmless(name)) return true;
    }
    bool numbers = search_extras(p, json_object_get(root, "extras"), false, 0);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        json_array_foreach(json_object_get(root, lists[k]), i, item)
        {
            if (!all_harmless(item)) return true;
            if (names_target(item)) return true;
            numbers = search_extras(p, json_object_get(item, "extras"), false, 0) || numbers;
        }
    return numbers;
}

static bool carries(const pruning *p, size_t i)
{
    const json_t *node = json_array_get(p->nodes, i);
    const char *name = json_string_value(json_object_get(node, "name"));
    if (name && json_object_get(p->said, name)) return true;
    return json_object_get(node, "mesh") || json_object_get(node, "camera") || json_object_get(node, "extensions") ||
           (!p->joint[i] && json_object_get(node, "extras"));
}

/* Joints by the skins of the scene; helpers, which stand behind them, are none. */
static void find_family(pruning *p)
{
    const supple_scene *scene = p->b->scene;
    for (int32_t s = 0; s < scene->skin_count; s++)
        for (int32_t k = 0; k < scene->skin[s].joint_count; k++) p->joint[scene->skin[s].joint[k]] = true;
    for (size_t i = 0; i < p->count; i++) p->parent[i] = -1;
    for (size_t i = 0; i < p->count; i++) {
        const json_t *children = json_object_get(json_array_get(p->nodes, i), "children");
        for (size_t k = 0; k < json_array_size(children); k++) {
            json_int_t child = json_integer_value(json_array_get(children, k));
            if (child >= 0 && (size_t)child < p->count) p->parent[child] = (int32_t)i;
        }
    }
}

/* Whether a joint is above a node. What is found holds for all on the way up, so that no way is walked twice. */
static void look_above(pruning *p, int32_t node)
{
    int32_t k = node;
    while (p->parent[k] >= 0 && !p->joint[k] && !p->looked[k]) k = p->parent[k];
    bool found = p->joint[k] || p->above[k];
    for (int32_t i = node;; i = p->parent[i]) {
        p->above[i] = found;
        p->looked[i] = true;
        if (i == k) return;
    }
}

/* A node of the rig that carries nothing goes, unless something below it stays. Walks up end where another has been. */
static void choose(pruning *p)
{
    for (size_t i = 0; i < p->count; i++)
        for (int32_t k = (int32_t)i; p->joint[i] && k >= 0 && !p->below[k]; k = p->parent[k]) p->below[k] = true;
    for (size_t i = 0; i < p->count; i++) look_above(p, (int32_t)i);
    for (size_t i = 0; i < p->count; i++) p->kept[i] = carries(p, i) || !(p->above[i] || p->below[i]);
    for (size_t i = 0; i < p->count; i++)
        for (int32_t k = p->parent[i]; p->kept[i] && k >= 0 && !p->kept[k]; k = p->parent[k]) p->kept[k] = true;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static void renumber(pruning *p, json_t *owner, const char *key)
{
    json_t *list = json_object_get(owner, key);
    if (!list) return;
    for (size_t i = json_array_size(list); i-- > 0;) {
        json_int_t node = json_integer_value(json_array_get(list, i));
        if (node < 0 || (size_t)node >= p->count) continue;
        int32_t number = p->b->number[node];
        if (number < 0)
            json_array_remove(list, i);
        else if (json_array_set_new(list, i, json_integer(number)) != 0)
            p->b->failed = true;
    }
    if (json_array_size(list) == 0) json_object_del(owner, key);
}

static void leave_out(pruning *p)
{
    int32_t *number = p->b->number, next = 0;
    json_t *item;
    size_t k;
    for (size_t i = 0; i < p->count; i++) number[i] = p->kept[i] ? next++ : -1;
    json_array_foreach(p->nodes, k, item) renumber(p, item, "children");
    json_array_foreach(json_object_get(p->b->root, "scenes"), k, item) renumber(p, item, "nodes");
    for (size_t i = p->count; i-- > 0;)
        if (!p->kept[i]) json_array_remove(p->nodes, i);
    if (json_array_size(p->nodes) == 0) json_object_del(p->b->root, "nodes");
}

bool spl_bake_prune(spl_bake *b)
{
    pruning p = {.b = b, .nodes = json_object_get(b->root, "nodes")};
    const supple_allocator *a = &b->allocator;
    p.count = json_array_size(p.nodes);
    b->number = spl_new(a, p.count, sizeof *b->number);
    bool *flags = spl_new(a, 5 * p.count, sizeof *flags);
    p.parent = spl_new(a, p.count, sizeof *p.parent);
    p.said = json_object();
    bool ok = b->number && flags && p.parent && p.said;
    for (size_t i = 0; ok && i < p.count; i++) b->number[i] = (int32_t)i;
    if (ok && !b->writer->keep_rig) {
        p.joint = flags;
        p.kept = flags + p.count;
        p.above = flags + 2 * p.count;
        p.below = flags + 3 * p.count;
        p.looked = flags + 4 * p.count;
        if (!is_opaque(&p)) {
            find_family(&p);
            choose(&p);
            leave_out(&p);
        }
    }
    spl_free(a, flags);
    spl_free(a, p.parent);
    json_decref(p.said);
    return ok;
}
