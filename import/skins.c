/* Skins: the weighted bones that the library gives, and the unweighted ones that it drops. */
#include "convert.h"

#include <stdlib.h>
#include <string.h>

static int32_t topmost(const import_state *s, int32_t node)
{
    while (s->node[node].parent >= 0) node = s->node[node].parent;
    return node;
}

/* Marks the nodes of the bones, and keeps their inverse bind matrices; true if there are any. */
static bool take_bones(const import_state *s, const struct aiNode *node, bool *bone, spl_mat4 *inverse)
{
    bool any = false;
    for (unsigned i = 0; i < node->mNumMeshes; i++) {
        const struct aiMesh *mesh = s->scene->mMeshes[node->mMeshes[i]];
        for (unsigned k = 0; k < mesh->mNumBones; k++) {
            const struct aiBone *b = mesh->mBones[k];
            int32_t n = import_node_find(s, b->mName.data);
            if (n < 0) import_fail("the bone '%.60s' has no node; it is damaged", b->mName.data);
            if (!bone[n]) inverse[n] = import_matrix(&b->mOffsetMatrix);
            bone[n] = any = true;
        }
    }
    return any;
}

/* Joints without weights: bound where their parents' bind pose puts them, else where the rest pose has them. */
static void add_unweighted(const import_state *s, int32_t mesh_node, bool *bone, spl_mat4 *inverse)
{
    bool *tree = import_new((size_t)s->node_count, sizeof *tree);
    for (int32_t i = 0; i < s->node_count; i++)
        if (bone[i]) tree[topmost(s, i)] = true;
    for (int32_t i = 0; i < s->node_count; i++) {
        const import_node *n = &s->node[i];
        if (bone[i] || !n->joint || !tree[topmost(s, i)]) continue;
        spl_mat4 back;
        if (n->parent >= 0 && bone[n->parent]) { /* (B_p L)^-1 = L^-1 B_p^-1 */
            if (!spl_mat4_inverse(&n->local, &back)) continue;
            inverse[i] = spl_mat4_mul(&back, &inverse[n->parent]);
        } else {
            if (!spl_mat4_inverse(&n->world, &back)) continue;
            inverse[i] = spl_mat4_mul(&back, &s->node[mesh_node].world);
        }
        bone[i] = true;
    }
    free(tree);
}

/* How vertices without weights move with the mesh's own node: as its children do, but for Collada, whose skins leave
 * the node out and place the points by a matrix of their own. */
static spl_mat4 rest_inverse(const import_state *s, int32_t node, const spl_surface *surface)
{
    spl_mat4 bind, back;
    if (!surface || !surface->has_bind || !spl_mat4_inverse(&s->node[node].world, &back)) return spl_mat4_identity();
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) bind.m[4 * c + r] = surface->bind[4 * r + c];
    bind.m[3] = bind.m[7] = bind.m[11] = 0;
    bind.m[15] = 1;
    return spl_mat4_mul(&back, &bind);
}

bool import_make_skin(import_state *s, int32_t node, const spl_surface *surface, bool loose, import_skin *out)
{
    *out = (import_skin){.rest = -1};
    size_t n = (size_t)s->node_count;
    bool *bone = import_new(n, sizeof *bone);
    spl_mat4 *inverse = import_new(n, sizeof *inverse);
    bool any = take_bones(s, s->node[node].ai, bone, inverse);
    if (any) {
        add_unweighted(s, node, bone, inverse);
        out->joint = import_new(n + 1, sizeof *out->joint);
        out->inverse = import_new(n + 1, sizeof *out->inverse);
        out->slot_of_node = import_new(n, sizeof *out->slot_of_node);
        for (int32_t i = 0; i < s->node_count; i++) {
            out->slot_of_node[i] = bone[i] ? out->count : -1;
            if (!bone[i]) continue;
            out->inverse[out->count] = inverse[i];
            out->joint[out->count++] = i;
        }
        if (loose && bone[node]) loose = false; /* a mesh that is a bone as well: the skin's first joint must do */
        if (loose) {
            out->rest = out->count;
            out->inverse[out->count] = rest_inverse(s, node, surface);
            out->joint[out->count++] = node;
        }
    }
    free(bone);
    free(inverse);
    return any;
}

int32_t import_write_skin(import_state *s, const import_skin *skin, int32_t node)
{
    float *matrix = import_new((size_t)skin->count, 16 * sizeof *matrix);
    json_t *joints = json_array(), *skins = glb_list(&s->out, "skins");
    for (int32_t i = 0; i < skin->count; i++) {
        for (int k = 0; k < 16; k++) matrix[16 * i + k] = (float)skin->inverse[i].m[k];
        glb_append(joints, json_integer(skin->joint[i]));
    }
    int32_t accessor = glb_accessor(&s->out, matrix, (size_t)skin->count, GLB_FLOAT, 16, false);
    free(matrix);
    glb_append(skins, json_pack("{s:o,s:o,s:i}", "name", glb_text(import_node_name(s, s->node[node].ai->mName.data)),
                                "joints", joints, "inverseBindMatrices", accessor));
    return (int32_t)json_array_size(skins) - 1;
}

void import_free_skin(import_skin *skin)
{
    free(skin->joint);
    free(skin->inverse);
    free(skin->slot_of_node);
    *skin = (import_skin){0};
}
