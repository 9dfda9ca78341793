/* Alembic (.abc, Ogawa): every mesh instance a transform NAME, which is the identity, with a polygon mesh NAMEShape.
 *
 * Points, normals, bounds and texture coordinates that slide go to the file as the frames come; what does not change
 * (faces, texture coordinates, face sets) and all that refers to the samples follows at the end, so memory holds one
 * number a mesh, frame and property. One face set for each primitive of a mesh that has several, named after its
 * material. Faces wind clockwise, and v runs upwards, as Alembic has it. Where a mesh has ids its points are those, and
 * normals belong to the corners. */
#include "scene/writers/alembic.h"

#include "core/error.h"
#include "core/memory.h"
#include "scene/writers/slid.h"
#include "scene/writers/textures.h"
#include "scene/writers/writer.h"

#include <math.h>
#include <string.h>

typedef struct abc_mesh {
    spl_abc_series point, normal, bounds, uv; /* uv: where the frames bring sliding skin */
    bool has_normal;
} abc_mesh;

typedef struct abc_writer {
    supple_writer base;
    spl_output output;
    spl_abc abc;
    char **names; /* of the mesh instances */
    bool *mirrored;
    abc_mesh *mesh; /* of the mesh instances */
    uint8_t *row;   /* a sample: 3 floats a vertex, or a corner, of the largest mesh */
    spl_slid slid;
    spl_textures textures;
} abc_writer;

/* ---- open ------------------------------------------------------------------------------------------------------- */

static bool make_series(const abc_writer *w, spl_abc_series *series)
{
    series->sample = spl_new(&w->base.allocator, (size_t)w->base.frame_total, sizeof *series->sample);
    return series->sample != NULL;
}

static supple_result make_meshes(abc_writer *w, supple_error *error)
{
    const supple_scene *scene = w->base.scene;
    const supple_allocator *a = &w->base.allocator;
    size_t largest = 0;
    w->mesh = spl_new(a, (size_t)scene->instance_count, sizeof *w->mesh);
    bool ok = w->mesh != NULL;
    for (int32_t i = 0; i < scene->instance_count && ok; i++) {
        abc_mesh *mesh = &w->mesh[i];
        const spl_mesh *shape = &scene->mesh[scene->instance[i].mesh];
        size_t n = (size_t)scene->instance[i].vertex_count, corners = 0;
        for (int32_t k = 0; k < shape->primitive_count; k++) corners += (size_t)spl_face_corners(&shape->primitive[k]);
        if ((shape->point_count || w->base.slide) && corners > n) n = corners;
        largest = n > largest ? n : largest;
        mesh->has_normal = spl_mesh_has_normals(shape);
        ok = make_series(w, &mesh->point) && make_series(w, &mesh->bounds) &&
             (!mesh->has_normal || make_series(w, &mesh->normal)) && (!w->base.slide || make_series(w, &mesh->uv));
    }
    if (ok) w->row = spl_new(a, largest, 12);
    return ok && w->row ? SUPPLE_OK : spl_fail_memory(error, "an Alembic file");
}

static supple_result abc_open(supple_writer *writer, supple_error *error)
{
    abc_writer *w = (abc_writer *)writer;
    w->names = spl_instance_names(writer->scene, &writer->allocator);
    w->mirrored = spl_writer_mirrored(writer);
    if (!w->names || !w->mirrored) return spl_fail_memory(error, "an Alembic file");
    supple_result result = make_meshes(w, error);
    if (result == SUPPLE_OK && writer->slide)
        result = spl_slid_init(&w->slid, writer->scene, &writer->allocator, error);
    if (result == SUPPLE_OK && writer->slide) result = spl_textures_open(&w->textures, writer, error);
    if (result == SUPPLE_OK) result = spl_writer_output(writer, writer->path, &w->output, error);
    w->abc.allocator = &writer->allocator;
    return result == SUPPLE_OK ? spl_ogawa_begin(&w->abc.file, &w->output, error) : result;
}

/* ---- frames ----------------------------------------------------------------------------------------------------- */

/* The k-th corner of a face in Alembic's order: clockwise, unless the mesh is a mirror image. */
static int32_t corner(const spl_primitive *p, int32_t face, int32_t k, bool mirrored)
{
    return spl_face_corner(p, face, k, !mirrored);
}

static void put_f64(uint8_t out[8], double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++) out[i] = (uint8_t)(bits >> 8 * i);
}

static void record_rows(abc_writer *w, spl_abc_series *series, const float *rows, size_t count)
{
    for (size_t i = 0; i < 3 * count; i++) spl_put_f32(w->row + 4 * i, rows[i], false);
    spl_abc_record(&w->abc, series, w->row, 12 * count);
}

static void record_bounds(abc_writer *w, spl_abc_series *series, const float *rows, size_t count)
{
    double box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    uint8_t bytes[48];
    for (size_t i = 0; i < 3 * count; i++) {
        box[i % 3] = fmin(box[i % 3], (double)rows[i]);
        box[3 + i % 3] = fmax(box[3 + i % 3], (double)rows[i]);
    }
    for (size_t c = 0; c < 6; c++) put_f64(bytes + 8 * c, count ? box[c] : 0);
    spl_abc_record(&w->abc, series, bytes, sizeof bytes);
}

/* A normal for each corner of each face, in the order of the faces' indices. */
static void record_corner_normals(abc_writer *w, int32_t instance, const float *normal)
{
    const spl_mesh *mesh = &w->base.scene->mesh[w->base.scene->instance[instance].mesh];
    uint8_t *row = w->row;
    for (int32_t m = 0; m < mesh->primitive_count; m++) {
        const spl_primitive *p = &mesh->primitive[m];
        for (int32_t f = 0, n; f < spl_face_count(p); f++) {
            spl_face(p, f, &n);
            for (int32_t k = 0; k < n; k++) {
                const float *at = normal + 3 * (size_t)corner(p, f, k, w->mirrored[instance]);
                for (int c = 0; c < 3; c++, row += 4) spl_put_f32(row, at[c], false);
            }
        }
        normal += 3 * (size_t)p->vertex_count;
    }
    spl_abc_record(&w->abc, &w->mesh[instance].normal, w->row, (size_t)(row - w->row));
}

/* Texture coordinates of the faces' corners, as the skin has them now. */
static void record_uv(abc_writer *w, int32_t instance, const supple_slide_frame *slide)
{
    const float *uv = slide->corner_uv + 2 * w->slid.first_corner[instance];
    size_t count = spl_slid_rows(&w->slid, instance, uv, !w->mirrored[instance]);
    for (size_t i = 0; i < 2 * count; i++) spl_put_f32(w->row + 4 * i, w->slid.row[i], false);
    spl_abc_record(&w->abc, &w->mesh[instance].uv, w->row, 8 * count);
}

static supple_result abc_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    abc_writer *w = (abc_writer *)writer;
    w->abc.error = error;
    const float *points = spl_writer_points(writer, frame->position);
    for (int32_t i = 0; i < writer->scene->instance_count && w->abc.result == SUPPLE_OK; i++) {
        const spl_instance *instance = &writer->scene->instance[i];
        size_t at = 3 * (size_t)instance->first_point, n = (size_t)instance->point_count;
        const float *normal = frame->normal ? frame->normal + 3 * (size_t)instance->first_vertex : NULL;
        if (!normal) w->mesh[i].has_normal = false;
        record_rows(w, &w->mesh[i].point, points + at, n);
        record_bounds(w, &w->mesh[i].bounds, points + at, n);
        if (w->mesh[i].has_normal && writer->scene->mesh[instance->mesh].point_count)
            record_corner_normals(w, i, normal);
        else if (w->mesh[i].has_normal)
            record_rows(w, &w->mesh[i].normal, normal, n);
        if (frame->slide) record_uv(w, i, frame->slide);
    }
    return w->abc.result;
}

/* ---- what does not change --------------------------------------------------------------------------------------- */

static const spl_abc_property PROPERTY_INHERITS = {".inherits", SPL_ABC_SCALAR, SPL_ABC_BOOL, 1, SPL_ABC_META_NONE},
                              PROPERTY_BOUNDS = {".selfBnds", SPL_ABC_SCALAR, SPL_ABC_F64, 6, SPL_ABC_META_BOX},
                              PROPERTY_POINTS = {"P", SPL_ABC_ARRAY, SPL_ABC_F32, 3, SPL_ABC_META_POINT},
                              PROPERTY_INDICES = {".faceIndices", SPL_ABC_ARRAY, SPL_ABC_I32, 1, SPL_ABC_META_NONE},
                              PROPERTY_COUNTS = {".faceCounts", SPL_ABC_ARRAY, SPL_ABC_I32, 1, SPL_ABC_META_NONE},
                              PROPERTY_NORMALS = {"N", SPL_ABC_ARRAY, SPL_ABC_F32, 3, SPL_ABC_META_NORMAL},
                              PROPERTY_CORNER_NORMALS = {"N", SPL_ABC_ARRAY, SPL_ABC_F32, 3,
                                                         SPL_ABC_META_CORNER_NORMAL},
                              PROPERTY_UV = {"uv", SPL_ABC_ARRAY, SPL_ABC_F32, 2, SPL_ABC_META_UV},
                              PROPERTY_FACES = {".faces", SPL_ABC_ARRAY, SPL_ABC_I32, 1, SPL_ABC_META_NONE};

/* Adds an array that was put together in memory, and frees it. */
static void add_array(spl_abc *abc, spl_abc_list *list, const spl_abc_property *property, spl_ogawa_bytes *bytes)
{
    if (bytes->failed && abc->result == SUPPLE_OK) abc->result = spl_fail_memory(abc->error, "an Alembic mesh");
    spl_abc_add_value(abc, list, property, bytes->data, bytes->size);
    spl_ogawa_bytes_free(bytes);
}

static void put_f32(spl_ogawa_bytes *bytes, float value)
{
    uint8_t text[4];
    spl_put_f32(text, value, false);
    spl_ogawa_put(bytes, text, sizeof text);
}

static void add_faces(abc_writer *w, spl_abc_list *list, const spl_mesh *mesh, bool mirrored)
{
    spl_ogawa_bytes indices = {.allocator = w->abc.allocator}, counts = indices;
    int32_t first = 0;
    for (int32_t m = 0; m < mesh->primitive_count; m++) {
        const spl_primitive *p = &mesh->primitive[m];
        for (int32_t f = 0, n; f < spl_face_count(p); f++) {
            spl_face(p, f, &n);
            for (int32_t k = 0; k < n; k++)
                spl_ogawa_put_int(&indices, (uint64_t)spl_point_of(mesh, p, first, corner(p, f, k, mirrored)), 4);
            spl_ogawa_put_int(&counts, (uint64_t)n, 4);
        }
        first += p->vertex_count;
    }
    add_array(&w->abc, list, &PROPERTY_INDICES, &indices);
    add_array(&w->abc, list, &PROPERTY_COUNTS, &counts);
}

/* Texture coordinates of every corner; zeros where one primitive has none and another has. */
static void add_uv(abc_writer *w, spl_abc_list *list, int32_t instance)
{
    const spl_mesh *mesh = &w->base.scene->mesh[w->base.scene->instance[instance].mesh];
    bool mirrored = w->mirrored[instance];
    spl_ogawa_bytes uv = {.allocator = w->abc.allocator};
    bool any = false;
    for (int32_t m = 0; m < mesh->primitive_count; m++)
        any = any || (mesh->primitive[m].uv && mesh->primitive[m].triangle_count);
    if (any && w->base.slide) spl_abc_add_series(&w->abc, list, &PROPERTY_UV, &w->mesh[instance].uv);
    if (!any || w->base.slide) return;
    for (int32_t m = 0; m < mesh->primitive_count; m++) {
        const spl_primitive *p = &mesh->primitive[m];
        for (int32_t f = 0, n; f < spl_face_count(p); f++) {
            spl_face(p, f, &n);
            for (int32_t k = 0; k < n; k++) {
                const float *at = p->uv ? p->uv + 2 * (size_t)corner(p, f, k, mirrored) : NULL;
                put_f32(&uv, at ? at[0] : 0);
                put_f32(&uv, at ? 1.0f - at[1] : 0);
            }
        }
    }
    add_array(&w->abc, list, &PROPERTY_UV, &uv);
}

/* ---- objects ---------------------------------------------------------------------------------------------------- */

/* The faces of one primitive, as an object below the mesh. */
static spl_ogawa_child face_set(abc_writer *w, const spl_mesh *mesh, int32_t primitive)
{
    static const uint8_t no_box[48];
    spl_abc *abc = &w->abc;
    spl_ogawa_bytes faces = {.allocator = abc->allocator};
    int64_t first = 0;
    for (int32_t m = 0; m < primitive; m++) first += spl_face_count(&mesh->primitive[m]);
    for (int32_t f = 0; f < spl_face_count(&mesh->primitive[primitive]); f++)
        spl_ogawa_put_int(&faces, (uint64_t)(first + f), 4);
    spl_abc_list own = spl_abc_list_begin(abc), schema = spl_abc_list_begin(abc), none = spl_abc_list_begin(abc);
    spl_abc_add_value(abc, &schema, &PROPERTY_BOUNDS, no_box, sizeof no_box);
    add_array(abc, &schema, &PROPERTY_FACES, &faces);
    spl_abc_add_compound(abc, &own, ".faceset", SPL_ABC_META_FACE_SET, spl_abc_end_compound(abc, &schema));
    return spl_abc_end_object(abc, &none, spl_abc_end_compound(abc, &own));
}

static void add_face_sets(abc_writer *w, spl_abc_list *children, const spl_mesh *mesh)
{
    const supple_scene *scene = w->base.scene;
    for (int32_t m = 0; m < mesh->primitive_count && w->abc.result == SUPPLE_OK; m++) {
        int32_t material = mesh->primitive[m].material;
        char text[96],
            *name = spl_safe_name(material < 0 ? "" : scene->material[material].name, "part", w->abc.allocator);
        if (!name) w->abc.result = spl_fail_memory(w->abc.error, "an Alembic mesh");
        snprintf(text, sizeof text, "%s-%d", name ? name : "", (int)m); /* the number makes them differ */
        spl_free(w->abc.allocator, name);
        spl_abc_add_object(&w->abc, children, text, SPL_ABC_META_FACE_SET_OBJECT, face_set(w, mesh, m));
    }
}

static spl_ogawa_child mesh_object(abc_writer *w, int32_t instance)
{
    spl_abc *abc = &w->abc;
    const abc_mesh *series = &w->mesh[instance];
    const spl_mesh *mesh = &w->base.scene->mesh[w->base.scene->instance[instance].mesh];
    bool mirrored = w->mirrored[instance];
    spl_abc_list own = spl_abc_list_begin(abc), geom = spl_abc_list_begin(abc), children = spl_abc_list_begin(abc);
    spl_abc_add_series(abc, &geom, &PROPERTY_BOUNDS, &series->bounds);
    spl_abc_add_series(abc, &geom, &PROPERTY_POINTS, &series->point);
    add_faces(w, &geom, mesh, mirrored);
    if (series->has_normal)
        spl_abc_add_series(abc, &geom, mesh->point_count ? &PROPERTY_CORNER_NORMALS : &PROPERTY_NORMALS,
                           &series->normal);
    add_uv(w, &geom, instance);
    spl_abc_add_compound(abc, &own, ".geom", SPL_ABC_META_MESH, spl_abc_end_compound(abc, &geom));
    if (mesh->primitive_count > 1) add_face_sets(w, &children, mesh);
    return spl_abc_end_object(abc, &children, spl_abc_end_compound(abc, &own));
}

/* The transform above a mesh: the identity, for points are in world space. */
static spl_ogawa_child transform_object(abc_writer *w, int32_t instance)
{
    static const uint8_t yes = 1;
    spl_abc *abc = &w->abc;
    char name[96];
    snprintf(name, sizeof name, "%sShape", w->names[instance]);
    spl_abc_list own = spl_abc_list_begin(abc), schema = spl_abc_list_begin(abc), children = spl_abc_list_begin(abc);
    spl_abc_add_object(abc, &children, name, SPL_ABC_META_MESH_OBJECT, mesh_object(w, instance));
    spl_abc_add_value(abc, &schema, &PROPERTY_INHERITS, &yes, 1);
    spl_abc_add_compound(abc, &own, ".xform", SPL_ABC_META_XFORM, spl_abc_end_compound(abc, &schema));
    return spl_abc_end_object(abc, &children, spl_abc_end_compound(abc, &own));
}

static supple_result abc_close(supple_writer *writer, supple_error *error)
{
    abc_writer *w = (abc_writer *)writer;
    spl_abc *abc = &w->abc;
    abc->error = error;
    spl_abc_list top = spl_abc_list_begin(abc), none = spl_abc_list_begin(abc);
    for (int32_t i = 0; i < writer->scene->instance_count; i++)
        spl_abc_add_object(abc, &top, w->names[i], SPL_ABC_META_XFORM_OBJECT, transform_object(w, i));
    spl_ogawa_child object = spl_abc_end_object(abc, &top, spl_abc_end_compound(abc, &none));
    spl_abc_finish(abc, object, writer->frame_total, writer->fps);
    return abc->result == SUPPLE_OK ? spl_textures_commit(&w->textures, &w->output, &writer->allocator, error)
                                    : abc->result;
}

static void abc_release(supple_writer *writer)
{
    abc_writer *w = (abc_writer *)writer;
    const supple_allocator *a = &writer->allocator;
    spl_output_discard(&w->output);
    for (int32_t i = 0; w->mesh && i < writer->scene->instance_count; i++) {
        spl_free(a, w->mesh[i].point.sample);
        spl_free(a, w->mesh[i].normal.sample);
        spl_free(a, w->mesh[i].bounds.sample);
        spl_free(a, w->mesh[i].uv.sample);
    }
    spl_slid_release(&w->slid, a);
    spl_textures_release(&w->textures, a);
    spl_free(a, w->mesh);
    spl_free(a, w->row);
    spl_free(a, w->mirrored);
    spl_names_free(w->names, writer->scene->instance_count, a);
}

const spl_format spl_format_abc = {
    .ending = ".abc",
    .summary = "Alembic: points, normals and texture coordinates of every mesh (Maya, Houdini, Blender)",
    .takes_slide = true,
    .state_size = sizeof(abc_writer),
    .open = abc_open,
    .frame = abc_frame,
    .close = abc_close,
    .release = abc_release,
};
