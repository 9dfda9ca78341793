/* Nodes: the library's tree without its root, whose transform turns the file's axes and unit into others. */
#include "convert.h"

#include <assimp/cimport.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 2000, MOST_NODES = 200000 };

spl_mat4 import_matrix(const struct aiMatrix4x4 *m)
{
    const float rows[16] = {m->a1, m->a2, m->a3, m->a4, m->b1, m->b2, m->b3, m->b4,
                            m->c1, m->c2, m->c3, m->c4, m->d1, m->d2, m->d3, m->d4};
    spl_mat4 out;
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) out.m[4 * c + r] = (double)rows[4 * r + c];
    for (int i = 0; i < 16; i++)
        if (!isfinite(out.m[i])) import_fail("holds a transform that is not finite; it is damaged");
    out.m[3] = out.m[7] = out.m[11] = 0;
    out.m[15] = 1;
    return out;
}

static int32_t count_nodes(const struct aiNode *node, int depth)
{
    int64_t count = 1;
    if (depth > DEEPEST) import_fail("its nodes are nested too deep; it is damaged");
    for (unsigned i = 0; i < node->mNumChildren; i++) count += count_nodes(node->mChildren[i], depth + 1);
    if (count > MOST_NODES) import_fail("has more than %d nodes", MOST_NODES);
    return (int32_t)count;
}

static void add_node(import_state *s, const struct aiNode *ai, int32_t parent, bool keep_transform)
{
    import_node *n = &s->node[s->node_count++];
    *n = (import_node){.ai = ai, .parent = parent, .local = spl_mat4_identity()};
    if (keep_transform) n->local = import_matrix(&ai->mTransformation);
    n->world = parent < 0 ? n->local : spl_mat4_mul(&s->node[parent].world, &n->local);
    int32_t self = (int32_t)(n - s->node);
    for (unsigned i = 0; i < ai->mNumChildren; i++) add_node(s, ai->mChildren[i], self, true);
}

static void mark_animated(import_state *s)
{
    for (unsigned i = 0; i < s->scene->mNumAnimations; i++) {
        const struct aiAnimation *a = s->scene->mAnimations[i];
        for (unsigned k = 0; k < a->mNumChannels; k++) {
            int32_t node = import_node_find(s, a->mChannels[k]->mNodeName.data);
            if (node >= 0) s->node[node].animated = true;
        }
    }
}

static void mark_joints(import_state *s)
{
    for (int32_t i = 0; i < s->points.node_count; i++) {
        int32_t node = s->points.node[i].joint ? import_node_find(s, s->points.node[i].id) : -1;
        if (node >= 0) s->node[node].joint = true;
    }
}

void import_list_nodes(import_state *s)
{
    const struct aiNode *root = s->scene->mRootNode;
    s->node = import_new((size_t)count_nodes(root, 0), sizeof *s->node);
    if (root->mNumMeshes > 0)
        add_node(s, root, -1, false); /* it draws something, so it stays, in the file's own axes */
    else
        for (unsigned i = 0; i < root->mNumChildren; i++) add_node(s, root->mChildren[i], -1, true);
    mark_animated(s);
    mark_joints(s);
}

int32_t import_node_find(const import_state *s, const char *name)
{
    for (int32_t i = 0; i < s->node_count; i++)
        if (strcmp(s->node[i].ai->mName.data, name) == 0) return i;
    return -1;
}

const char *import_node_name(const import_state *s, const char *id)
{
    if (!s->collada) return id;
    for (int32_t i = 0; i < s->points.node_count; i++)
        if (strcmp(s->points.node[i].id, id) == 0) return s->points.node[i].name;
    return id;
}

static json_t *numbers(const double *value, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) glb_append(list, json_real(value[i]));
    return list;
}

/* Animated nodes must have translation, rotation and scale; the others keep their matrix, which may shear. */
static void write_transform(json_t *node, const import_node *n)
{
    if (!n->animated) {
        const spl_mat4 identity = spl_mat4_identity();
        if (memcmp(n->local.m, identity.m, sizeof identity.m) != 0) glb_set(node, "matrix", numbers(n->local.m, 16));
        return;
    }
    struct aiVector3D t, s;
    struct aiQuaternion r;
    aiDecomposeMatrix(&n->ai->mTransformation, &s, &r, &t);
    double length = sqrt((double)(r.x * r.x + r.y * r.y + r.z * r.z + r.w * r.w));
    if (!(length > 0.5 && length < 2)) import_fail("holds a transform without a rotation; it is damaged");
    const double q[4] = {(double)r.x / length, (double)r.y / length, (double)r.z / length, (double)r.w / length};
    const double move[3] = {(double)t.x, (double)t.y, (double)t.z}, size[3] = {(double)s.x, (double)s.y, (double)s.z};
    glb_set(node, "translation", numbers(move, 3));
    glb_set(node, "rotation", numbers(q, 4));
    glb_set(node, "scale", numbers(size, 3));
}

void import_write_nodes(import_state *s, const int32_t *mesh, const int32_t *skin)
{
    json_t *nodes = glb_list(&s->out, "nodes"), *roots = json_array();
    for (int32_t i = 0; i < s->node_count; i++) {
        const import_node *n = &s->node[i];
        json_t *node = json_object();
        glb_set(node, "name", glb_text(import_node_name(s, n->ai->mName.data)));
        write_transform(node, n);
        if (mesh[i] >= 0) glb_set(node, "mesh", json_integer(mesh[i]));
        if (skin[i] >= 0) glb_set(node, "skin", json_integer(skin[i]));
        glb_append(nodes, node);
        if (n->parent < 0) {
            glb_append(roots, json_integer(i));
            continue;
        }
        json_t *parent = json_array_get(nodes, (size_t)n->parent);
        if (!json_object_get(parent, "children")) glb_set(parent, "children", json_array());
        glb_append(json_object_get(parent, "children"), json_integer(i));
    }
    glb_set(s->out.root, "scenes", json_pack("[{s:o}]", "nodes", roots));
    glb_set(s->out.root, "scene", json_integer(0));
}
