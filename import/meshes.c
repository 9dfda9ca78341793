/* Meshes: one for each node that draws, one primitive for each of the library's meshes.
 *
 * The library gives a vertex to every corner. Corners of one control point with the same normal and texture coordinates
 * become one vertex again; _SUPPLE_ID names its control point, which is what caches are ordered by. */
#include "convert.h"
#include "core/hash.h"
#include "triangulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UV_SETS = 2 };

/* One primitive in the making. */
typedef struct making {
    const struct aiMesh *mesh;
    const int32_t *point;       /* of each corner vertex, or NULL */
    const spl_surface *surface; /* or NULL */
    const import_skin *skin;    /* or NULL */
    int32_t count;              /* vertices after merging */
    int32_t *of_corner;         /* corner vertex -> vertex */
    int32_t *from;              /* vertex -> corner vertex; -1 for a control point that no polygon uses */
    int32_t *id;                /* vertex -> control point */
    int32_t *weights_of;        /* vertex -> the corner vertex whose weights it takes, -1 for none */
} making;

/* What makes two corners of one control point one vertex. */
typedef struct corner_key {
    int32_t point;
    float normal[3], uv[2 * UV_SETS];
} corner_key;

static corner_key key_of(const making *m, unsigned v)
{
    corner_key key;
    memset(&key, 0, sizeof key);
    key.point = m->point ? m->point[v] : (int32_t)v;
    if (m->mesh->mNormals) memcpy(key.normal, &m->mesh->mNormals[v], sizeof key.normal);
    for (int i = 0; i < UV_SETS; i++)
        if (m->mesh->mTextureCoords[i]) memcpy(key.uv + 2 * i, &m->mesh->mTextureCoords[i][v], 2 * sizeof(float));
    return key;
}

/* An open hash table over the vertices made so far. */
static void merge_corners(making *m, int32_t extra)
{
    unsigned corners = m->mesh->mNumVertices;
    size_t room = 16;
    while (room < 2 * (size_t)corners) room *= 2;
    int32_t *table = import_new(room, sizeof *table); /* vertex + 1 */
    corner_key *keys = import_new(corners, sizeof *keys);
    m->of_corner = import_new(corners, sizeof *m->of_corner);
    m->from = import_new((size_t)corners + (size_t)extra, sizeof *m->from);
    m->id = import_new((size_t)corners + (size_t)extra, sizeof *m->id);
    for (unsigned v = 0; v < corners; v++) {
        corner_key key = key_of(m, v);
        size_t at = spl_hash(&key, sizeof key, 0) & (room - 1);
        while (table[at] && memcmp(&keys[table[at] - 1], &key, sizeof key) != 0) at = (at + 1) & (room - 1);
        if (!table[at]) {
            keys[m->count] = key;
            m->from[m->count] = (int32_t)v;
            m->id[m->count] = key.point;
            table[at] = ++m->count;
        }
        m->of_corner[v] = table[at] - 1;
    }
    free(table);
    free(keys);
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static void write_positions(import_state *s, const making *m, json_t *attributes)
{
    float *out = import_new((size_t)m->count, 3 * sizeof *out);
    for (int32_t v = 0; v < m->count; v++)
        for (int k = 0; k < 3; k++)
            out[3 * v + k] = m->surface ? (float)m->surface->point[3 * (size_t)m->id[v] + (size_t)k]
                                        : (&m->mesh->mVertices[m->from[v]].x)[k];
    glb_set(attributes, "POSITION", json_integer(glb_accessor(&s->out, out, (size_t)m->count, GLB_FLOAT, 3, true)));
    free(out);
}

static void write_normals(import_state *s, const making *m, json_t *attributes)
{
    if (!m->mesh->mNormals) return;
    float *out = import_new((size_t)m->count, 3 * sizeof *out);
    for (int32_t v = 0; v < m->count; v++) {
        const struct aiVector3D none = {0, 0, 0}, n = m->from[v] < 0 ? none : m->mesh->mNormals[m->from[v]];
        double length = sqrt((double)n.x * n.x + (double)n.y * n.y + (double)n.z * n.z);
        bool good = length > 1e-12 && isfinite(length);
        out[3 * v] = good ? (float)(n.x / length) : 0;
        out[3 * v + 1] = good ? (float)(n.y / length) : 0;
        out[3 * v + 2] = good ? (float)(n.z / length) : 1;
    }
    glb_set(attributes, "NORMAL", json_integer(glb_accessor(&s->out, out, (size_t)m->count, GLB_FLOAT, 3, false)));
    free(out);
}

/* glTF's v runs down, the library's up. */
static void write_uvs(import_state *s, const making *m, json_t *attributes)
{
    for (int i = 0; i < UV_SETS && m->mesh->mTextureCoords[i]; i++) {
        float *out = import_new((size_t)m->count, 2 * sizeof *out);
        char name[24];
        for (int32_t v = 0; v < m->count; v++) {
            if (m->from[v] < 0) continue;
            const struct aiVector3D *uv = &m->mesh->mTextureCoords[i][m->from[v]];
            out[2 * v] = isfinite(uv->x) ? uv->x : 0;
            out[2 * v + 1] = isfinite(uv->y) ? 1 - uv->y : 0;
        }
        snprintf(name, sizeof name, "TEXCOORD_%d", i);
        glb_set(attributes, name, json_integer(glb_accessor(&s->out, out, (size_t)m->count, GLB_FLOAT, 2, false)));
        free(out);
    }
}

/* glTF allows no 32-bit integers here; floats are exact up to 2^24. */
static void write_ids(import_state *s, const making *m, json_t *attributes)
{
    if (!m->surface || m->surface->point_count > 1 << 24) return;
    float *out = import_new((size_t)m->count, sizeof *out);
    for (int32_t v = 0; v < m->count; v++) out[v] = (float)m->id[v];
    glb_set(attributes, "_SUPPLE_ID", json_integer(glb_accessor(&s->out, out, (size_t)m->count, GLB_FLOAT, 1, false)));
    free(out);
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

typedef struct influences {
    int32_t *first; /* corner vertices + 1 */
    int32_t *joint;
    float *weight;
    int32_t most; /* at one vertex */
} influences;

static bool counts(const struct aiMesh *mesh, const struct aiVertexWeight *w)
{
    if (w->mVertexId >= mesh->mNumVertices)
        import_fail("a weight of vertex %u of %u; it is damaged", w->mVertexId, mesh->mNumVertices);
    return w->mWeight > 0 && isfinite(w->mWeight);
}

static influences list_influences(const import_state *s, const making *m)
{
    const struct aiMesh *mesh = m->mesh;
    influences in = {.first = import_new((size_t)mesh->mNumVertices + 2, sizeof *in.first)};
    for (unsigned b = 0; b < mesh->mNumBones; b++)
        for (unsigned i = 0; i < mesh->mBones[b]->mNumWeights; i++) {
            const struct aiVertexWeight *w = &mesh->mBones[b]->mWeights[i];
            if (counts(mesh, w)) in.first[w->mVertexId + 2]++;
        }
    for (unsigned v = 0; v <= mesh->mNumVertices; v++) {
        if (in.first[v + 1] > in.most) in.most = in.first[v + 1];
        in.first[v + 1] += in.first[v];
    }
    size_t total = (size_t)in.first[mesh->mNumVertices + 1];
    in.joint = import_new(total, sizeof *in.joint);
    in.weight = import_new(total, sizeof *in.weight);
    for (unsigned b = 0; b < mesh->mNumBones; b++) {
        int32_t slot = m->skin->slot_of_node[import_node_find(s, mesh->mBones[b]->mName.data)];
        for (unsigned i = 0; i < mesh->mBones[b]->mNumWeights; i++) {
            const struct aiVertexWeight *w = &mesh->mBones[b]->mWeights[i];
            if (!counts(mesh, w)) continue;
            int32_t at = in.first[w->mVertexId + 1]++;
            in.joint[at] = slot;
            in.weight[at] = w->mWeight;
        }
    }
    return in;
}

/* All influences, four to a set. What has none moves with the mesh's own node. */
static void write_weights(import_state *s, const making *m, json_t *attributes)
{
    if (!m->skin) return;
    if (m->skin->count > UINT16_MAX) import_fail("a skin of %d joints is too large", m->skin->count);
    influences in = list_influences(s, m);
    int32_t sets = in.most > 4 ? (in.most + 3) / 4 : 1;
    uint16_t *joint = import_new((size_t)m->count, 4 * sizeof *joint);
    float *weight = import_new((size_t)m->count, 4 * sizeof *weight);
    for (int32_t set = 0; set < sets; set++) {
        memset(joint, 0, (size_t)m->count * 4 * sizeof *joint);
        memset(weight, 0, (size_t)m->count * 4 * sizeof *weight);
        for (int32_t v = 0; v < m->count; v++) {
            int32_t of = m->weights_of[v], begin = of < 0 ? 0 : in.first[of], n = of < 0 ? 0 : in.first[of + 1] - begin;
            for (int32_t k = 4 * set; k < n && k < 4 * set + 4; k++) {
                joint[4 * v + k % 4] = (uint16_t)in.joint[begin + k];
                weight[4 * v + k % 4] = in.weight[begin + k];
            }
            if (n || set || m->skin->rest < 0) continue;
            joint[4 * v] = (uint16_t)m->skin->rest;
            weight[4 * v] = 1;
        }
        char name[24];
        snprintf(name, sizeof name, "JOINTS_%d", set);
        glb_set(attributes, name, json_integer(glb_accessor(&s->out, joint, (size_t)m->count, GLB_USHORT, 4, false)));
        snprintf(name, sizeof name, "WEIGHTS_%d", set);
        glb_set(attributes, name, json_integer(glb_accessor(&s->out, weight, (size_t)m->count, GLB_FLOAT, 4, false)));
    }
    free(joint);
    free(weight);
    free(in.first);
    free(in.joint);
    free(in.weight);
}

/* ---- triangles, targets ----------------------------------------------------------------------------------------- */

static int32_t write_triangles(import_state *s, const making *m)
{
    const struct aiMesh *mesh = m->mesh;
    size_t total = 0, largest = 3, count = 0;
    for (unsigned f = 0; f < mesh->mNumFaces; f++) {
        size_t n = mesh->mFaces[f].mNumIndices;
        for (size_t k = 0; k < n; k++)
            if (mesh->mFaces[f].mIndices[k] >= mesh->mNumVertices)
                import_fail("a polygon of vertices that are not there");
        if (n > 2) total += n - 2;
        if (n > largest) largest = n;
    }
    uint32_t *index = import_new(total, 3 * sizeof *index);
    spl_vec3 *p = import_new(largest, sizeof *p);
    int32_t *left = import_new(largest, sizeof *left), *corner = import_new(largest, 3 * sizeof *corner);
    for (unsigned f = 0; f < mesh->mNumFaces; f++) {
        const struct aiFace *face = &mesh->mFaces[f];
        for (unsigned k = 0; k < face->mNumIndices; k++)
            p[k] = spl_v3_from_float(&mesh->mVertices[face->mIndices[k]].x);
        int32_t triangles = import_triangulate(p, (int32_t)face->mNumIndices, left, corner);
        for (int32_t i = 0; i < 3 * triangles; i++) index[count++] = (uint32_t)m->of_corner[face->mIndices[corner[i]]];
    }
    int32_t accessor = count ? glb_accessor(&s->out, index, count, GLB_UINT, 1, false) : -1;
    free(index);
    free(p);
    free(left);
    free(corner);
    return accessor;
}

/* The polygons themselves, for formats that have them: caches then fit the mesh as other programs import it. */
static void write_polygons(import_state *s, const making *m, json_t *primitive)
{
    const struct aiMesh *mesh = m->mesh;
    size_t polygons = 0, corners = 0;
    bool other = false; /* than triangles */
    for (unsigned f = 0; f < mesh->mNumFaces; f++) {
        if (mesh->mFaces[f].mNumIndices < 3) continue;
        polygons++;
        corners += mesh->mFaces[f].mNumIndices;
        other = other || mesh->mFaces[f].mNumIndices > 3;
    }
    if (!other) return;
    uint32_t *size = import_new(polygons, sizeof *size), *corner = import_new(corners, sizeof *corner);
    polygons = corners = 0;
    for (unsigned f = 0; f < mesh->mNumFaces; f++) {
        const struct aiFace *face = &mesh->mFaces[f];
        if (face->mNumIndices < 3) continue;
        size[polygons++] = face->mNumIndices;
        for (unsigned k = 0; k < face->mNumIndices; k++) corner[corners++] = (uint32_t)m->of_corner[face->mIndices[k]];
    }
    int32_t sizes = glb_accessor(&s->out, size, polygons, GLB_UINT, 1, false);
    int32_t list = glb_accessor(&s->out, corner, corners, GLB_UINT, 1, false);
    glb_set(primitive, "extras", json_pack("{s:{s:i,s:i}}", "supple", "polygonSizes", sizes, "polygonCorners", list));
    free(size);
    free(corner);
}

/* Blend shapes as displacements; `count` of them, zero where this mesh has fewer. */
static json_t *write_targets(import_state *s, const making *m, unsigned count)
{
    json_t *targets = json_array();
    float *out = import_new((size_t)m->count, 3 * sizeof *out);
    for (unsigned t = 0; t < count; t++) {
        const struct aiAnimMesh *shape = t < m->mesh->mNumAnimMeshes ? m->mesh->mAnimMeshes[t] : NULL;
        if (shape && (shape->mNumVertices != m->mesh->mNumVertices || !shape->mVertices)) shape = NULL;
        for (int32_t v = 0; v < m->count; v++)
            for (int k = 0; k < 3; k++) {
                int32_t at = m->from[v];
                bool moves = shape && at >= 0;
                out[3 * v + k] = moves ? (&shape->mVertices[at].x)[k] - (&m->mesh->mVertices[at].x)[k] : 0;
            }
        int32_t accessor = glb_accessor(&s->out, out, (size_t)m->count, GLB_FLOAT, 3, true);
        glb_append(targets, json_pack("{s:i}", "POSITION", accessor));
    }
    free(out);
    return targets;
}

/* ---- the mesh of a node ----------------------------------------------------------------------------------------- */

/* The corner vertex nearest to a point, -1 if there is none. */
static int32_t nearest_corner(const struct aiMesh *mesh, const double *p)
{
    double least = INFINITY;
    int32_t found = -1;
    for (unsigned v = 0; v < mesh->mNumVertices; v++) {
        spl_vec3 to = spl_sub(spl_v3_from_float(&mesh->mVertices[v].x), spl_v3(p[0], p[1], p[2]));
        double distance = spl_dot(to, to);
        if (!(distance < least)) continue;
        least = distance;
        found = (int32_t)v;
    }
    return found;
}

/* The library drops the weights of points that no polygon uses: those of the nearest stand for them, within reason. */
static void choose_weights(making *m)
{
    const double budget = 2e9;
    double tests = 0;
    m->weights_of = import_new((size_t)m->count, sizeof *m->weights_of);
    for (int32_t v = 0; v < m->count; v++) {
        m->weights_of[v] = m->from[v];
        if (m->from[v] >= 0) continue;
        tests += m->mesh->mNumVertices;
        if (tests < budget) m->weights_of[v] = nearest_corner(m->mesh, m->surface->point + 3 * (size_t)m->id[v]);
    }
}

/* Control points that no polygon uses go to the first primitive, so that caches have them too. */
static void add_unused_points(making *m, const bool *used)
{
    for (int32_t i = 0; i < m->surface->point_count; i++) {
        if (used[i]) continue;
        m->from[m->count] = -1;
        m->id[m->count++] = i;
    }
}

static json_t *write_primitive(import_state *s, making *m, unsigned targets)
{
    json_t *attributes = json_object(), *primitive = json_object();
    write_positions(s, m, attributes);
    write_normals(s, m, attributes);
    write_uvs(s, m, attributes);
    write_ids(s, m, attributes);
    write_weights(s, m, attributes);
    glb_set(primitive, "attributes", attributes);
    int32_t triangles = write_triangles(s, m);
    if (triangles >= 0)
        glb_set(primitive, "indices", json_integer(triangles));
    else
        glb_set(primitive, "mode", json_integer(0)); /* points */
    write_polygons(s, m, primitive);
    int32_t material = m->mesh->mMaterialIndex < s->scene->mNumMaterials ? s->material[m->mesh->mMaterialIndex] : -1;
    if (material >= 0) glb_set(primitive, "material", json_integer(material));
    if (targets) glb_set(primitive, "targets", write_targets(s, m, targets));
    return primitive;
}

/* Which control points are used by polygons; *unused is how many are not. */
static bool *find_used(const import_state *s, const struct aiNode *node, int32_t **points, const spl_surface *surface,
                       int32_t *unused)
{
    *unused = 0;
    if (!surface) return NULL;
    bool *used = import_new((size_t)surface->point_count, sizeof *used);
    for (unsigned i = 0; i < node->mNumMeshes; i++)
        for (unsigned v = 0; v < s->scene->mMeshes[node->mMeshes[i]]->mNumVertices; v++) used[points[i][v]] = true;
    for (int32_t i = 0; i < surface->point_count; i++) *unused += !used[i];
    return used;
}

static bool has_unweighted(const import_state *s, const struct aiNode *node)
{
    bool found = false;
    for (unsigned i = 0; i < node->mNumMeshes && !found; i++) {
        const struct aiMesh *mesh = s->scene->mMeshes[node->mMeshes[i]];
        bool *weighted = import_new(mesh->mNumVertices, sizeof *weighted);
        for (unsigned b = 0; b < mesh->mNumBones; b++)
            for (unsigned k = 0; k < mesh->mBones[b]->mNumWeights; k++)
                if (counts(mesh, &mesh->mBones[b]->mWeights[k]))
                    weighted[mesh->mBones[b]->mWeights[k].mVertexId] = true;
        for (unsigned v = 0; v < mesh->mNumVertices && !found; v++) found = !weighted[v];
        free(weighted);
    }
    return found;
}

static void name_targets(const import_state *s, const struct aiNode *node, unsigned targets, json_t *mesh)
{
    if (!targets) return;
    json_t *names = json_array(), *weights = json_array();
    for (unsigned t = 0; t < targets; t++) {
        const struct aiAnimMesh *shape = NULL;
        for (unsigned i = 0; i < node->mNumMeshes && !shape; i++) {
            const struct aiMesh *m = s->scene->mMeshes[node->mMeshes[i]];
            if (t < m->mNumAnimMeshes) shape = m->mAnimMeshes[t];
        }
        glb_append(names, glb_text(shape ? shape->mName.data : ""));
        glb_append(weights, json_real(shape && isfinite(shape->mWeight) ? (double)shape->mWeight : 0));
    }
    glb_set(mesh, "weights", weights);
    glb_set(mesh, "extras", json_pack("{s:o}", "targetNames", names));
}

/* Some exporters write normals that point into the surface; pictures of such a file look torn wherever they are made.
 */
static void check_normals(import_state *s, const struct aiNode *node, const char *name)
{
    uint64_t corners = 0, inward = 0;
    for (unsigned i = 0; i < node->mNumMeshes; i++) {
        const struct aiMesh *m = s->scene->mMeshes[node->mMeshes[i]];
        for (unsigned f = 0; m->mNormals && f < m->mNumFaces; f++) {
            const struct aiFace *face = &m->mFaces[f];
            if (face->mNumIndices < 3) continue;
            spl_vec3 a = spl_v3_from_float(&m->mVertices[face->mIndices[0]].x), area = spl_v3(0, 0, 0);
            for (unsigned k = 1; k + 1 < face->mNumIndices; k++) {
                spl_vec3 b = spl_v3_from_float(&m->mVertices[face->mIndices[k]].x);
                spl_vec3 c = spl_v3_from_float(&m->mVertices[face->mIndices[k + 1]].x);
                area = spl_add(area, spl_cross(spl_sub(b, a), spl_sub(c, a)));
            }
            for (unsigned k = 0; k < face->mNumIndices; k++, corners++)
                inward += spl_dot(area, spl_v3_from_float(&m->mNormals[face->mIndices[k]].x)) < 0;
        }
    }
    if (inward * 20 > corners)
        import_warn(s, "'%.60s': %.0f %% of its normals point into the surface; its shading is wrong in the file", name,
                    100 * (double)inward / (double)corners);
}

int32_t import_write_mesh(import_state *s, int32_t node, int32_t *skin_index)
{
    const struct aiNode *ai = s->node[node].ai;
    const spl_surface *surface;
    int32_t **points = import_match(s, ai, &surface), unused;
    const char *name = import_node_name(s, ai->mName.data);
    if (!points)
        import_warn(s, "'%.60s': its polygons were not found in the file; caches are in the order of its corners",
                    name);
    check_normals(s, ai, name);
    bool *used = find_used(s, ai, points, surface, &unused);
    unsigned targets = 0;
    for (unsigned i = 0; i < ai->mNumMeshes; i++)
        if (s->scene->mMeshes[ai->mMeshes[i]]->mNumAnimMeshes > targets)
            targets = s->scene->mMeshes[ai->mMeshes[i]]->mNumAnimMeshes;
    import_skin skin;
    bool skinned = import_make_skin(s, node, surface, unused > 0 || has_unweighted(s, ai), &skin);
    json_t *primitives = json_array();
    for (unsigned i = 0; i < ai->mNumMeshes; i++) {
        making m = {.mesh = s->scene->mMeshes[ai->mMeshes[i]], .point = points ? points[i] : NULL, .surface = surface};
        m.skin = skinned ? &skin : NULL;
        merge_corners(&m, i == 0 ? unused : 0);
        if (i == 0 && unused) add_unused_points(&m, used);
        choose_weights(&m);
        if (m.count > 0) glb_append(primitives, write_primitive(s, &m, targets));
        free(m.of_corner);
        free(m.from);
        free(m.id);
        free(m.weights_of);
    }
    for (unsigned i = 0; points && i < ai->mNumMeshes; i++) free(points[i]);
    free(points);
    free(used);
    int32_t index = -1;
    if (json_array_size(primitives) > 0) {
        json_t *mesh = json_pack("{s:o,s:o}", "name", glb_text(name), "primitives", primitives);
        name_targets(s, ai, targets, mesh);
        glb_append(glb_list(&s->out, "meshes"), mesh);
        index = (int32_t)json_array_size(glb_list(&s->out, "meshes")) - 1;
    } else {
        json_decref(primitives);
    }
    *skin_index = skinned && index >= 0 ? import_write_skin(s, &skin, node) : -1;
    import_free_skin(&skin);
    return index;
}
