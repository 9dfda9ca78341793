/* Meshes: attributes, triangles and morph targets of their primitives. */
#include "scene/readers/gltf_private.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS, LINES, LINE_LOOP, LINE_STRIP, TRIANGLES, TRIANGLE_STRIP, TRIANGLE_FAN };

/* The primitive being read, with what messages need. */
typedef struct reading {
    spl_gltf *g;
    char where[96]; /* "mesh 3 'body', primitive 0" */
    int32_t accessor_count;
    spl_primitive *out;
} reading;

/* The first element with a number that is not finite, or is beyond `limit`; SIZE_MAX if all are good. */
static size_t first_bad(const float *values, size_t count, size_t width, double limit)
{
    for (size_t i = 0; i < count * width; i++)
        if (!(fabs((double)values[i]) <= limit)) return i / width;
    return SIZE_MAX;
}

/* Reads an optional attribute of `width` numbers for each vertex; *out stays NULL if it is absent. */
static bool read_attribute(reading *r, const json_t *attributes, const char *key, int32_t width, float **out)
{
    int32_t index;
    if (!spl_gltf_index(r->g, attributes, key, r->accessor_count, r->where, -1, &index)) return false;
    if (index < 0) return true;
    spl_accessor accessor;
    if (!spl_gltf_accessor(r->g, index, &accessor)) return false;
    if (accessor.columns != 1 || accessor.width != width)
        return spl_gltf_fail(r->g, "%s: %s (accessor %d) is not of %d numbers", r->where, key, index, width);
    if (accessor.count != (size_t)r->out->vertex_count)
        return spl_gltf_fail(r->g, "%s: %s (accessor %d) has %zu elements for %d vertices", r->where, key, index,
                             accessor.count, r->out->vertex_count);
    *out = spl_gltf_floats(r->g, &accessor);
    return *out != NULL;
}

/* An attribute we can do without: dropped if it is not finite. */
static bool read_optional(reading *r, const json_t *attributes, const char *key, int32_t width, float **out)
{
    if (!read_attribute(r, attributes, key, width, out)) return false;
    size_t bad = *out ? first_bad(*out, (size_t)r->out->vertex_count, (size_t)width, SPL_GLTF_HUGE) : SIZE_MAX;
    if (bad == SIZE_MAX) return true;
    spl_scene_warn(r->g->scene, "%s: %s is dropped: it %s at vertex %zu", r->where, key,
                   spl_gltf_excess(*out + bad * (size_t)width, (size_t)width), bad);
    spl_free(r->g->a, *out);
    *out = NULL;
    return true;
}

/* Whether COLOR_0 has three numbers a vertex, four, or none that we can use. */
static bool color_width(reading *r, const json_t *attributes, int32_t *width)
{
    int32_t index;
    *width = 0;
    if (!spl_gltf_index(r->g, attributes, "COLOR_0", r->accessor_count, r->where, -1, &index)) return false;
    if (index < 0) return true;
    spl_accessor accessor;
    if (!spl_gltf_accessor(r->g, index, &accessor)) return false;
    if (accessor.columns == 1 && (accessor.width == 3 || accessor.width == 4))
        *width = accessor.width;
    else
        spl_scene_warn(r->g->scene, "%s: COLOR_0 is dropped: it has neither 3 nor 4 numbers a vertex", r->where);
    return true;
}

/* Colours of three numbers get an alpha of 1. */
static bool read_colors(reading *r, const json_t *attributes)
{
    int32_t width;
    float *read = NULL;
    if (!color_width(r, attributes, &width)) return false;
    if (width == 0) return true;
    if (!read_optional(r, attributes, "COLOR_0", width, &read)) return false;
    if (width == 4 || !read) {
        r->out->color = read;
        return true;
    }
    size_t n = (size_t)r->out->vertex_count;
    float *color = spl_gltf_new(r->g, n, 4 * sizeof *color, "colours");
    for (size_t v = 0; color && v < n; v++) {
        memcpy(color + 4 * v, read + 3 * v, 3 * sizeof *color);
        color[4 * v + 3] = 1;
    }
    spl_free(r->g->a, read);
    r->out->color = color;
    return color != NULL;
}

/* Positions, or a target's displacements of them. */
static bool read_positions(reading *r, const json_t *attributes, const char *what, float **out)
{
    if (!read_attribute(r, attributes, "POSITION", 3, out)) return false;
    size_t bad = *out ? first_bad(*out, (size_t)r->out->vertex_count, 3, SPL_GLTF_HUGE) : SIZE_MAX;
    if (bad != SIZE_MAX)
        return spl_gltf_fail(r->g, "%s: %s of vertex %zu %s; repair the mesh and export again", r->where, what, bad,
                             spl_gltf_excess(*out + 3 * bad, 3));
    return true;
}

/* A mesh whose size has no whole float any more: damaged, or exported in a unit that nobody has. */
static bool has_size(reading *r, const float *position)
{
    float most = 0;
    for (int32_t i = 0; position && i < 3 * r->out->vertex_count; i++) most = fmaxf(most, fabsf(position[i]));
    if (!(most > 0) || most >= FLT_MIN) return true;
    return spl_gltf_fail(r->g, "%s: is smaller than numbers can tell (%g); scale it and export again", r->where,
                         (double)most);
}

/* The vertex count comes from POSITION. A primitive without it keeps no vertices. */
static bool count_vertices(reading *r, const json_t *attributes, bool *empty)
{
    int32_t index;
    if (!spl_gltf_index(r->g, attributes, "POSITION", r->accessor_count, r->where, -1, &index)) return false;
    *empty = index < 0;
    if (*empty) {
        spl_scene_warn(r->g->scene, "%s has no POSITION and is left empty", r->where);
        return true;
    }
    spl_accessor accessor;
    if (!spl_gltf_accessor(r->g, index, &accessor)) return false;
    r->out->vertex_count = (int32_t)accessor.count;
    *empty = accessor.count == 0;
    return true;
}

/* ---- triangles -------------------------------------------------------------------------------------------------- */

/* The corner `k` of triangle `i` as a position in the index list (glTF 2.0, section 3.7.2.1). */
static size_t corner(int32_t mode, size_t i, size_t k)
{
    if (mode == TRIANGLE_STRIP) return k == 0 ? i : k == 1 ? i + 1 + i % 2 : i + 2 - i % 2;
    if (mode == TRIANGLE_FAN) return k == 2 ? 0 : i + 1 + k;
    return 3 * i + k;
}

static bool make_triangles(reading *r, int32_t mode, const uint32_t *index, size_t count)
{
    spl_primitive *p = r->out;
    bool list = mode == TRIANGLES;
    if (mode < TRIANGLES) count = 0;
    size_t triangles = list ? count / 3 : count < 3 ? 0 : count - 2;
    if (list && count % 3) spl_scene_warn(r->g->scene, "%s: %zu indices do not make whole triangles", r->where, count);
    p->triangle = spl_gltf_new(r->g, 3 * triangles, sizeof *p->triangle, "triangle corners");
    if (!p->triangle) return false;
    p->triangle_count = (int32_t)triangles;
    for (size_t i = 0; i < triangles; i++)
        for (size_t k = 0; k < 3; k++) {
            size_t at = corner(mode, i, k);
            p->triangle[3 * i + k] = index ? (int32_t)index[at] : (int32_t)at;
        }
    return true;
}

static bool read_triangles(reading *r, const json_t *object)
{
    spl_gltf *g = r->g;
    size_t mode;
    int32_t at;
    if (!spl_gltf_size(g, object, "mode", TRIANGLES, r->where, -1, &mode) ||
        !spl_gltf_index(g, object, "indices", r->accessor_count, r->where, -1, &at))
        return false;
    if (mode > TRIANGLE_FAN) return spl_gltf_fail(g, "%s has an unknown mode", r->where);
    if (at < 0) return make_triangles(r, (int32_t)mode, NULL, (size_t)r->out->vertex_count);
    spl_accessor accessor;
    if (!spl_gltf_accessor(g, at, &accessor)) return false;
    if (accessor.width != 1) return spl_gltf_fail(g, "%s: its indices (accessor %d) are not scalars", r->where, at);
    uint32_t *index = spl_gltf_uints(g, &accessor);
    if (!index) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < accessor.count; i++)
        if (index[i] >= (uint32_t)r->out->vertex_count)
            ok = spl_gltf_fail(g, "%s: index %zu (accessor %d) is %u, but there are %d vertices", r->where, i, at,
                               index[i], r->out->vertex_count);
    ok = ok && make_triangles(r, (int32_t)mode, index, accessor.count);
    spl_free(g->a, index);
    return ok;
}

/* ---- points ----------------------------------------------------------------------------------------------------- */

/* _SUPPLE_ID: whole numbers, as integers or (since glTF allows 32-bit integers for no attribute of a vertex) as floats.
 * Ids that are none are left out; whether they fit each other is for the mesh to say. */
static bool read_ids(reading *r, const json_t *attributes)
{
    float *read = NULL;
    spl_primitive *p = r->out;
    if (!read_attribute(r, attributes, "_SUPPLE_ID", 1, &read)) return false;
    if (!read) return true;
    bool whole = true;
    p->id = spl_gltf_new(r->g, (size_t)p->vertex_count, sizeof *p->id, "ids");
    for (int32_t v = 0; p->id && v < p->vertex_count; v++) {
        float id = read[v];
        whole = whole && id >= 0 && id < (float)INT32_MAX && id == floorf(id);
        if (whole) p->id[v] = (int32_t)id;
    }
    spl_free(r->g->a, read);
    if (!p->id) return false;
    if (whole) return true;
    spl_scene_warn(r->g->scene, "%s: _SUPPLE_ID is ignored: it is not of whole numbers", r->where);
    spl_free(r->g->a, p->id);
    p->id = NULL;
    return true;
}

/* _SUPPLE_AMOUNT: numbers from 0 to 1; what is outside is taken to the nearer end, what is no number to 1. */
static bool read_amounts(reading *r, const json_t *attributes)
{
    int32_t outside = 0;
    spl_primitive *p = r->out;
    if (!read_attribute(r, attributes, "_SUPPLE_AMOUNT", 1, &p->amount)) return false;
    for (int32_t v = 0; p->amount && v < p->vertex_count; v++) {
        float a = p->amount[v];
        if (a >= 0 && a <= 1) continue;
        p->amount[v] = a < 0 ? 0 : 1;
        outside++;
    }
    if (outside)
        spl_scene_warn(r->g->scene, "%s: _SUPPLE_AMOUNT is outside 0 to 1 at %d vertices", r->where, (int)outside);
    return true;
}

/* A list of whole numbers that extras.supple names, NULL with *count 0 if it is absent. */
static bool read_extra(reading *r, const json_t *extras, const char *key, uint32_t **out, size_t *count)
{
    int32_t index;
    *out = NULL;
    *count = 0;
    if (!spl_gltf_index(r->g, extras, key, r->accessor_count, r->where, -1, &index)) return false;
    if (index < 0) return true;
    spl_accessor accessor;
    if (!spl_gltf_accessor(r->g, index, &accessor)) return false;
    if (accessor.width != 1) return true;
    *out = spl_gltf_uints(r->g, &accessor);
    *count = accessor.count;
    return *out != NULL;
}

/* Fills the polygons; false if the lists do not fit each other. */
static bool fit_polygons(spl_primitive *p, const uint32_t *size, size_t polygons, const uint32_t *corner,
                         size_t corners)
{
    size_t at = 0;
    for (size_t i = 0; i < polygons; i++) {
        p->polygon_first[i] = (int32_t)at;
        if (size[i] < 3 || size[i] > corners - at) return false;
        at += size[i];
    }
    p->polygon_first[polygons] = (int32_t)at;
    for (size_t i = 0; i < corners; i++) {
        if (corner[i] >= (uint32_t)p->vertex_count) return false;
        p->polygon_corner[i] = (int32_t)corner[i];
    }
    return at == corners;
}

/* The polygons that the triangles of an imported file were cut from (import/meshes.c). */
static bool read_polygons(reading *r, const json_t *object)
{
    const json_t *extras = json_object_get(json_object_get(object, "extras"), "supple");
    spl_primitive *p = r->out;
    uint32_t *size = NULL, *corner = NULL;
    size_t polygons, corners;
    bool ok = read_extra(r, extras, "polygonSizes", &size, &polygons) &&
              read_extra(r, extras, "polygonCorners", &corner, &corners);
    if (ok && size && corner && corners < INT32_MAX) {
        p->polygon_first = spl_gltf_new(r->g, polygons + 1, sizeof *p->polygon_first, "polygons");
        p->polygon_corner =
            p->polygon_first ? spl_gltf_new(r->g, corners, sizeof *p->polygon_corner, "polygons") : NULL;
        ok = p->polygon_corner != NULL;
        bool fits = ok && fit_polygons(p, size, polygons, corner, corners);
        if (fits) p->polygon_count = (int32_t)polygons;
        if (ok && !fits) spl_scene_warn(r->g->scene, "%s: its polygons are ignored: they do not fit it", r->where);
    }
    spl_free(r->g->a, size);
    spl_free(r->g->a, corner);
    return ok;
}

/* Points count from 0 on without a gap, or caches keep the order of the vertices. */
static bool count_points(spl_gltf *g, spl_mesh *mesh, int32_t index)
{
    int64_t vertices = 0;
    int32_t with_ids = 0, count = 0;
    for (int32_t k = 0; k < mesh->primitive_count; k++) {
        const spl_primitive *p = &mesh->primitive[k];
        vertices += p->vertex_count;
        with_ids += p->id != NULL;
        for (int32_t v = 0; p->id && v < p->vertex_count; v++)
            if (p->id[v] >= count) count = p->id[v] + 1;
    }
    if (!with_ids) return true;
    bool good = with_ids == mesh->primitive_count && count <= vertices;
    bool *seen = good ? spl_gltf_new(g, (size_t)count, sizeof *seen, "points") : NULL;
    if (good && !seen) return false;
    int32_t found = 0;
    for (int32_t k = 0; good && k < mesh->primitive_count; k++)
        for (int32_t v = 0; v < mesh->primitive[k].vertex_count; v++) {
            bool *at = &seen[mesh->primitive[k].id[v]];
            found += !*at;
            *at = true;
        }
    spl_free(g->a, seen);
    if (good && found == count)
        mesh->point_count = count;
    else
        spl_scene_warn(g->scene,
                       "mesh %d: _SUPPLE_ID is ignored: not every number below %d is there, in each primitive", index,
                       count);
    return true;
}

/* ---- morph targets ---------------------------------------------------------------------------------------------- */

static bool read_targets(reading *r, const json_t *object)
{
    spl_primitive *p = r->out;
    json_t *list;
    int32_t count;
    if (!spl_gltf_list(r->g, object, "targets", r->where, -1, &list, &count)) return false;
    p->target = spl_gltf_new(r->g, (size_t)count, sizeof *p->target, "morph targets");
    if (!p->target) return false;
    p->target_count = count;
    for (int32_t i = 0; i < count; i++) {
        const json_t *attributes = json_array_get(list, (size_t)i);
        if (!read_positions(r, attributes, "a morph target's displacement", &p->target[i].position) ||
            !read_optional(r, attributes, "NORMAL", 3, &p->target[i].normal))
            return false;
    }
    return true;
}

/* ---- primitives and meshes -------------------------------------------------------------------------------------- */

static bool read_primitive(reading *r, const json_t *object, const spl_skin *skin)
{
    spl_primitive *p = r->out;
    int32_t materials = (int32_t)json_array_size(json_object_get(r->g->root, "materials"));
    const json_t *attributes = json_object_get(object, "attributes");
    bool empty;
    p->weight_sum_min = p->weight_sum_max = (double)NAN;
    if (!spl_gltf_index(r->g, object, "material", materials, r->where, -1, &p->material) ||
        !count_vertices(r, attributes, &empty))
        return false;
    if (empty) return true;
    return read_positions(r, attributes, "the position", &p->position) && has_size(r, p->position) &&
           read_optional(r, attributes, "NORMAL", 3, &p->normal) &&
           read_optional(r, attributes, "TANGENT", 4, &p->tangent) &&
           read_optional(r, attributes, "TEXCOORD_0", 2, &p->uv) && read_colors(r, attributes) &&
           read_ids(r, attributes) && read_amounts(r, attributes) && read_triangles(r, object) &&
           read_polygons(r, object) && read_targets(r, object) &&
           (!skin || spl_gltf_read_influences(r->g, attributes, skin, r->where, p));
}

static bool read_mesh(spl_gltf *g, const json_t *object, int32_t index, const spl_skin *skin)
{
    spl_mesh *mesh = &g->scene->mesh[index];
    json_t *list;
    int32_t count;
    mesh->name = spl_gltf_name(g, object);
    if (!mesh->name || !spl_gltf_list(g, object, "primitives", "mesh", index, &list, &count)) return false;
    mesh->primitive = spl_gltf_new(g, (size_t)count, sizeof *mesh->primitive, "primitives");
    if (!mesh->primitive) return false;
    mesh->primitive_count = count;
    for (int32_t i = 0; i < count; i++) {
        reading r = {.g = g, .out = &mesh->primitive[i]};
        r.accessor_count = (int32_t)json_array_size(json_object_get(g->root, "accessors"));
        snprintf(r.where, sizeof r.where, "mesh %d '%.40s', primitive %d", index, mesh->name, i);
        if (!read_primitive(&r, json_array_get(list, (size_t)i), skin)) return false;
        if (mesh->primitive[i].target_count != mesh->primitive[0].target_count)
            spl_scene_warn(g->scene, "%s has %d morph targets, the first primitive %d", r.where,
                           mesh->primitive[i].target_count, mesh->primitive[0].target_count);
    }
    char where[64];
    snprintf(where, sizeof where, "mesh %d '%.40s'", index, mesh->name);
    return spl_gltf_mend_weights(g, mesh, where) && count_points(g, mesh, index);
}

/* For each mesh the skin with the fewest joints that it is drawn with, -1 for none: its joint indices must be within
 * all of them. */
static void find_skins(const supple_scene *scene, int32_t *skin)
{
    for (int32_t i = 0; i < scene->mesh_count; i++) skin[i] = -1;
    for (int32_t i = 0; i < scene->node_count; i++) {
        const spl_node *node = &scene->node[i];
        if (node->mesh < 0 || node->skin < 0) continue;
        int32_t *least = &skin[node->mesh];
        if (*least < 0 || scene->skin[node->skin].joint_count < scene->skin[*least].joint_count) *least = node->skin;
    }
}

bool spl_gltf_read_meshes(spl_gltf *g)
{
    supple_scene *scene = g->scene;
    json_t *list;
    int32_t count;
    if (!spl_gltf_list(g, g->root, "meshes", "asset", -1, &list, &count)) return false;
    scene->mesh = spl_gltf_new(g, (size_t)count, sizeof *scene->mesh, "meshes");
    if (!scene->mesh) return false;
    scene->mesh_count = count;
    int32_t *skin = spl_gltf_new(g, (size_t)count, sizeof *skin, "meshes");
    if (!skin) return false;
    find_skins(scene, skin);
    bool ok = true;
    for (int32_t i = 0; ok && i < count; i++)
        ok = read_mesh(g, json_array_get(list, (size_t)i), i, skin[i] < 0 ? NULL : &scene->skin[skin[i]]);
    spl_free(g->a, skin);
    if (ok) spl_gltf_report_weights(g);
    return ok;
}
