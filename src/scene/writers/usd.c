/* USD as text (.usda): a root Xform with a Mesh for each mesh instance, points and normals as time samples.
 *
 * USD keeps the samples of an attribute together, the frames bring them mesh after mesh: frames go to an unlinked spool
 * as they come, and the text is made at the end, one sample at a time. Numbers have the fewest digits that give the
 * same float back. Time codes are frames from 0; texture coordinates have v upwards; a mesh whose primitives have
 * several materials has a GeomSubset for each primitive. Where a mesh has ids its points are those, and normals and
 * texture coordinates belong to the corners of its faces; so do texture coordinates that slide with the frames. */
#include "core/decimal.h"
#include "core/error.h"
#include "core/memory.h"
#include "scene/writers/slid.h"
#include "scene/writers/textures.h"
#include "scene/writers/writer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

typedef struct usd_writer {
    supple_writer base;
    spl_output output, spool;
    char *root;   /* the name of the default prim */
    char **names; /* of the mesh instances: identifiers */
    char **materials;
    bool *mirrored;
    float *row;      /* 3 floats a vertex of the largest mesh */
    float *corner;   /* 3 floats a corner of the largest mesh with ids, or of none */
    bool has_normal; /* every frame so far brought normals */
    spl_slid slid;   /* where the frames bring sliding skin */
    spl_textures textures;
    float *slid_row; /* 2 floats a triangle corner of the largest mesh, then */
    bool failed;     /* the text could not be written */
} usd_writer;

/* ---- open ------------------------------------------------------------------------------------------------------- */

/* The file's name without folder and ending, as an identifier. */
static char *root_name(const usd_writer *w)
{
    const char *path = w->base.scene->path ? w->base.scene->path : "", *slash = strrchr(path, '/');
    if (slash) path = slash + 1;
    if (strncmp(path, "demo:", 5) == 0) path += 5;
    const char *dot = strrchr(path, '.');
    char *stem = spl_strndup(&w->base.allocator, path, dot && dot != path ? (size_t)(dot - path) : strlen(path));
    char *name = stem ? spl_identifier(stem, "Character", &w->base.allocator) : NULL;
    spl_free(&w->base.allocator, stem);
    return name;
}

static supple_result make_names(usd_writer *w, supple_error *error)
{
    const supple_scene *scene = w->base.scene;
    const supple_allocator *a = &w->base.allocator;
    size_t largest = 0, most = 0;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        size_t n = (size_t)scene->instance[i].vertex_count, corners = 0;
        for (int32_t k = 0; k < mesh->primitive_count; k++) corners += (size_t)spl_face_corners(&mesh->primitive[k]);
        largest = n > largest ? n : largest;
        if (mesh->point_count && corners > most) most = corners;
    }
    w->corner = spl_new(a, most, 3 * sizeof *w->corner);
    w->root = root_name(w);
    w->names = spl_instance_identifiers(scene, "Materials", a);
    w->materials = spl_material_identifiers(scene, a);
    w->mirrored = spl_writer_mirrored(&w->base);
    w->row = spl_new(a, largest, 3 * sizeof *w->row);
    w->has_normal = true;
    return w->root && w->names && w->materials && w->mirrored && w->row && w->corner
               ? SUPPLE_OK
               : spl_fail_memory(error, "a .usda");
}

static supple_result make_slid(usd_writer *w, supple_error *error)
{
    size_t most = 0;
    supple_result result = spl_slid_init(&w->slid, w->base.scene, &w->base.allocator, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t i = 0; i < w->base.scene->instance_count; i++) {
        size_t corners = w->slid.first_corner[i + 1] - w->slid.first_corner[i];
        most = corners > most ? corners : most;
    }
    w->slid_row = spl_new(&w->base.allocator, most, 2 * sizeof *w->slid_row);
    return w->slid_row ? SUPPLE_OK : spl_fail_memory(error, "a .usda");
}

static supple_result usd_open(supple_writer *writer, supple_error *error)
{
    usd_writer *w = (usd_writer *)writer;
    supple_result result = make_names(w, error);
    if (result == SUPPLE_OK && writer->slide) result = make_slid(w, error);
    if (result == SUPPLE_OK && writer->slide) result = spl_textures_open(&w->textures, writer, error);
    if (result == SUPPLE_OK) result = spl_writer_output(writer, writer->path, &w->output, error);
    return result == SUPPLE_OK ? spl_writer_spool(writer, &w->spool, error) : result;
}

/* ---- frames: positions, normals, then what slides, of the whole scene -------------------------------------------- */

static supple_result usd_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    usd_writer *w = (usd_writer *)writer;
    size_t bytes = 3 * (size_t)writer->scene->vertex_count * sizeof(float);
    if (!frame->normal) w->has_normal = false;
    supple_result result = spl_output_bytes(&w->spool, frame->position, bytes, error);
    if (result != SUPPLE_OK) return result;
    result = spl_output_bytes(&w->spool, frame->normal ? frame->normal : frame->position, bytes, error);
    if (result != SUPPLE_OK || !frame->slide) return result;
    spl_slid_note(&w->slid, frame->slide->corner_uv);
    return spl_output_bytes(&w->spool, frame->slide->corner_uv, 2 * frame->slide->corners * sizeof(float), error);
}

/* Where a frame begins in the spool, in floats. */
static uint64_t frame_start(const usd_writer *w, int32_t frame)
{
    const supple_scene *scene = w->base.scene;
    uint64_t slid = w->base.slide ? 6 * (uint64_t)scene->triangle_count : 0;
    return (uint64_t)frame * (6 * (uint64_t)scene->vertex_count + slid);
}

static bool read_floats(usd_writer *w, uint64_t at, float *out, size_t count)
{
    return fseeko(w->spool.stream, (off_t)(at * sizeof(float)), SEEK_SET) == 0 &&
           fread(out, sizeof(float), count, w->spool.stream) == count;
}

/* Reads the positions or the normals of one mesh in one frame into `row`. */
static bool read_row(usd_writer *w, int32_t instance, int32_t frame, bool normal)
{
    const supple_scene *scene = w->base.scene;
    const spl_instance *at = &scene->instance[instance];
    uint64_t vertex = (normal ? (uint64_t)scene->vertex_count : 0) + (uint64_t)at->first_vertex;
    return read_floats(w, frame_start(w, frame) + 3 * vertex, w->row, 3 * (size_t)at->vertex_count);
}

/* Reads the texture coordinates of one mesh's triangle corners in one frame into `slid_row`. */
static bool read_slid(usd_writer *w, int32_t instance, int32_t frame)
{
    const size_t *first = w->slid.first_corner + instance;
    uint64_t at = frame_start(w, frame) + 6 * (uint64_t)w->base.scene->vertex_count + 2 * (uint64_t)first[0];
    return read_floats(w, at, w->slid_row, 2 * (first[1] - first[0]));
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static void put_text(usd_writer *w, const char *text)
{
    if (fputs(text, w->output.stream) < 0) w->failed = true;
}

/* Rows of `width` floats as "[(1, 2, 3), ...]". */
static void put_rows(usd_writer *w, const float *rows, size_t count, size_t width)
{
    FILE *f = w->output.stream;
    put_text(w, "[");
    for (size_t i = 0; i < count && !w->failed; i++) {
        char text[4 * (SPL_DECIMAL_SIZE + 2)], *at = text;
        if (i) *at++ = ',', *at++ = ' ';
        *at++ = '(';
        for (size_t c = 0; c < width; c++) {
            if (c) *at++ = ',', *at++ = ' ';
            at += spl_decimal(rows[width * i + c], at);
        }
        *at++ = ')';
        if (fwrite(text, 1, (size_t)(at - text), f) != (size_t)(at - text)) w->failed = true;
    }
    put_text(w, "]");
}

/* A number that is no float, in the form of the C locale: whole, or with a point. */
static void put_real(usd_writer *w, double value)
{
    char text[40];
    if (value == rint(value) && fabs(value) < 1e15) {
        snprintf(text, sizeof text, "%.0f", value);
    } else {
        snprintf(text, sizeof text, "%.15g", value);
        for (char *c = text; *c; c++)
            if (!strchr("+-0123456789e", *c)) *c = '.';
    }
    put_text(w, text);
}

static void put_extent(usd_writer *w, int32_t instance)
{
    size_t count = 3 * (size_t)w->base.scene->instance[instance].vertex_count;
    float box[6] = {0};
    for (size_t i = 0; i < count; i++) {
        if (i < 3 || w->row[i] < box[i % 3]) box[i % 3] = w->row[i];
        if (i < 3 || w->row[i] > box[3 + i % 3]) box[3 + i % 3] = w->row[i];
    }
    put_rows(w, box, 2, 3);
}

/* Rows of the vertices as rows of the faces' corners, in the order of the faces' indices; returns how many. */
static size_t spread(usd_writer *w, int32_t instance, const float *rows, size_t width)
{
    const spl_mesh *mesh = &w->base.scene->mesh[w->base.scene->instance[instance].mesh];
    float *to = w->corner;
    for (int32_t m = 0; m < mesh->primitive_count; m++) {
        const spl_primitive *p = &mesh->primitive[m];
        for (int32_t f = 0, n; f < spl_face_count(p); f++) {
            spl_face(p, f, &n);
            for (int32_t k = 0; k < n; k++, to += width)
                memcpy(to, rows + width * (size_t)spl_face_corner(p, f, k, w->mirrored[instance]), width * sizeof *to);
        }
        rows += width * (size_t)p->vertex_count;
    }
    return (size_t)(to - w->corner) / width;
}

/* The points of a mesh: the vertices in `row`, or gathered from them; returns how many. */
static size_t gather(usd_writer *w, int32_t instance, const float **rows)
{
    const spl_instance *at = &w->base.scene->instance[instance];
    *rows = w->row;
    if (!w->base.scene->mesh[at->mesh].point_count) return (size_t)at->vertex_count;
    const int32_t *vertex = w->base.scene->point_vertex + at->first_point;
    for (int32_t i = 0; i < at->point_count; i++)
        memcpy(w->base.points + 3 * (size_t)i, w->row + 3 * (size_t)(vertex[i] - at->first_vertex), 3 * sizeof *w->row);
    *rows = w->base.points;
    return (size_t)at->point_count;
}

/* One sample of points or normals. */
static void put_sample(usd_writer *w, int32_t instance, bool normal)
{
    const float *rows = w->corner;
    bool ids = w->base.scene->mesh[w->base.scene->instance[instance].mesh].point_count > 0;
    size_t count = normal && ids ? spread(w, instance, w->row, 3) : gather(w, instance, &rows);
    put_rows(w, rows, count, 3);
}

typedef enum sampled { EXTENT, POINTS, NORMALS, UV } sampled;

/* An attribute with a sample for each frame. */
static supple_result put_samples(usd_writer *w, int32_t instance, sampled what, supple_error *error)
{
    static const char *const declaration[] = {"float3[] extent", "point3f[] points", "normal3f[] normals",
                                              "texCoord2f[] primvars:st"};
    fprintf(w->output.stream, "        %s.timeSamples = {\n", declaration[what]);
    for (int32_t k = 0; k < w->base.frame_total && !w->failed; k++) {
        if (!(what == UV ? read_slid(w, instance, k) : read_row(w, instance, k, what == NORMALS)))
            return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: the spool cannot be read", w->base.path);
        fprintf(w->output.stream, "            %d: ", (int)k);
        if (what == EXTENT)
            put_extent(w, instance);
        else if (what == UV)
            put_rows(w, w->slid.row, spl_slid_rows(&w->slid, instance, w->slid_row, w->mirrored[instance]), 2);
        else
            put_sample(w, instance, what == NORMALS);
        put_text(w, ",\n");
    }
    put_text(w, "        }\n");
    return SUPPLE_OK;
}

/* ---- what does not change --------------------------------------------------------------------------------------- */

static void put_faces(usd_writer *w, const spl_mesh *mesh, bool mirrored)
{
    FILE *f = w->output.stream;
    const char *comma = "";
    int32_t n;
    put_text(w, "        int[] faceVertexCounts = [");
    for (int32_t m = 0; m < mesh->primitive_count; m++)
        for (int32_t i = 0; i < spl_face_count(&mesh->primitive[m]); i++, comma = ", ") {
            spl_face(&mesh->primitive[m], i, &n);
            fprintf(f, "%s%d", comma, (int)n);
        }
    put_text(w, "]\n        int[] faceVertexIndices = [");
    comma = "";
    int32_t first = 0;
    for (int32_t m = 0; m < mesh->primitive_count; m++) {
        const spl_primitive *p = &mesh->primitive[m];
        for (int32_t i = 0; i < spl_face_count(p); i++) {
            spl_face(p, i, &n);
            for (int32_t k = 0; k < n; k++, comma = ", ")
                fprintf(f, "%s%d", comma, (int)spl_point_of(mesh, p, first, spl_face_corner(p, i, k, mirrored)));
        }
        first += p->vertex_count;
    }
    put_text(w, "]\n");
}

/* Whose values an attribute has, as its metadata. */
static void put_interpolation(usd_writer *w, const char *before, bool corners)
{
    fprintf(w->output.stream, "%s            interpolation = \"%s\"\n        )\n", before,
            corners ? "faceVarying" : "vertex");
}

/* Texture coordinates of every vertex; zeros where one primitive has none and another has. */
static void put_uv(usd_writer *w, int32_t instance, const spl_mesh *mesh)
{
    bool any = false;
    for (int32_t m = 0; m < mesh->primitive_count; m++) any = any || mesh->primitive[m].uv;
    if (!any) return;
    float *row = w->row; /* 2 of its 3 floats a vertex */
    for (int32_t m = 0; m < mesh->primitive_count; m++) {
        const spl_primitive *p = &mesh->primitive[m];
        for (int32_t v = 0; v < p->vertex_count; v++, row += 2) {
            row[0] = p->uv ? p->uv[2 * v] : 0;
            row[1] = p->uv ? 1.0f - p->uv[2 * v + 1] : 0;
        }
    }
    put_text(w, "        texCoord2f[] primvars:st = ");
    if (mesh->point_count)
        put_rows(w, w->corner, spread(w, instance, w->row, 2), 2);
    else
        put_rows(w, w->row, (size_t)(row - w->row) / 2, 2);
    put_interpolation(w, " (\n", mesh->point_count > 0);
}

/* Texture coordinates: those that slide are samples of the corners. */
static supple_result put_texture(usd_writer *w, int32_t instance, const spl_mesh *mesh, supple_error *error)
{
    if (!w->base.slide || !w->slid.moves[instance]) {
        put_uv(w, instance, mesh);
        return SUPPLE_OK;
    }
    put_interpolation(w, "        texCoord2f[] primvars:st (\n", true);
    return put_samples(w, instance, UV, error);
}

static void put_binding(usd_writer *w, const char *indent, int32_t material)
{
    if (material >= 0)
        fprintf(w->output.stream, "%srel material:binding = </%s/Materials/%s>\n", indent, w->root,
                w->materials[material]);
}

/* The faces of each primitive, with its material. */
static void put_subsets(usd_writer *w, const spl_mesh *mesh)
{
    FILE *f = w->output.stream;
    long long face = 0;
    for (int32_t m = 0; m < mesh->primitive_count; m++) {
        const spl_primitive *p = &mesh->primitive[m];
        if (spl_face_count(p) == 0) continue;
        fprintf(f,
                "\n        def GeomSubset \"part_%d\" (\n            prepend apiSchemas = [\"MaterialBindingAPI\"]\n"
                "        )\n        {\n            uniform token elementType = \"face\"\n"
                "            uniform token familyName = \"materialBind\"\n            int[] indices = [",
                (int)m);
        for (int32_t i = 0; i < spl_face_count(p); i++) fprintf(f, "%s%lld", i ? ", " : "", face++);
        put_text(w, "]\n");
        put_binding(w, "            ", p->material);
        put_text(w, "        }\n");
    }
}

static supple_result put_mesh(usd_writer *w, int32_t instance, supple_error *error)
{
    const spl_mesh *mesh = &w->base.scene->mesh[w->base.scene->instance[instance].mesh];
    bool one = mesh->primitive_count == 1;
    fprintf(w->output.stream,
            "\n    def Mesh \"%s\" (\n        prepend apiSchemas = [\"MaterialBindingAPI\"]\n    )\n    {\n"
            "        uniform token subdivisionScheme = \"none\"\n",
            w->names[instance]);
    put_faces(w, mesh, w->mirrored[instance]);
    supple_result result = put_texture(w, instance, mesh, error);
    if (one) put_binding(w, "        ", mesh->primitive[0].material);
    if (result == SUPPLE_OK) result = put_samples(w, instance, EXTENT, error);
    if (result == SUPPLE_OK) result = put_samples(w, instance, POINTS, error);
    if (result == SUPPLE_OK && w->has_normal && spl_mesh_has_normals(mesh)) {
        put_interpolation(w, "        normal3f[] normals (\n", mesh->point_count > 0);
        result = put_samples(w, instance, NORMALS, error);
    }
    if (!one) put_subsets(w, mesh);
    put_text(w, "    }\n");
    return result;
}

/* A texture, and the coordinates by which it is read. */
static void put_shaders(usd_writer *w, int32_t index, const char *file)
{
    FILE *f = w->output.stream;
    char text[SPL_DECIMAL_SIZE];
    fprintf(f,
            "\n            def Shader \"Texture\"\n            {\n                uniform token info:id = "
            "\"UsdUVTexture\"\n"
            "                asset inputs:file = @./%s@\n                float2 inputs:st.connect = "
            "</%s/Materials/%s/Coordinates.outputs:result>\n                float4 inputs:scale = (",
            file, w->root, w->materials[index]);
    for (int k = 0; k < 4; k++) {
        spl_decimal(w->base.scene->material[index].base_color[k], text);
        fprintf(f, "%s%s", k ? ", " : "", text);
    }
    put_text(w,
             ")\n                token inputs:sourceColorSpace = \"sRGB\"\n"
             "                token inputs:wrapS = \"repeat\"\n                token inputs:wrapT = \"repeat\"\n"
             "                float3 outputs:rgb\n            }\n\n            def Shader \"Coordinates\"\n"
             "            {\n                uniform token info:id = \"UsdPrimvarReader_float2\"\n"
             "                string inputs:varname = \"st\"\n                float2 outputs:result\n            }\n");
}

static void put_material(usd_writer *w, int32_t index)
{
    const float *c = w->base.scene->material[index].base_color;
    const char *file = spl_textures_of(&w->textures, w->base.scene, index);
    fprintf(w->output.stream,
            "        def Material \"%s\"\n        {\n            token outputs:surface.connect = "
            "</%s/Materials/%s/Surface.outputs:surface>\n\n            def Shader \"Surface\"\n            {\n"
            "                uniform token info:id = \"UsdPreviewSurface\"\n"
            "                color3f inputs:diffuseColor",
            w->materials[index], w->root, w->materials[index]);
    char text[SPL_DECIMAL_SIZE];
    if (file)
        fprintf(w->output.stream, ".connect = </%s/Materials/%s/Texture.outputs:rgb>", w->root, w->materials[index]);
    for (int k = 0; k < 3 && !file; k++) {
        spl_decimal(c[k], text);
        fprintf(w->output.stream, "%s%s%s", k ? ", " : " = (", text, k == 2 ? ")" : "");
    }
    spl_decimal(c[3], text);
    fprintf(w->output.stream,
            "\n                float inputs:opacity = %s\n                token outputs:surface\n            }\n",
            text);
    if (file) put_shaders(w, index, file);
    put_text(w, "        }\n");
}

/* Layer metadata: the input's axis and unit (USD knows y and z up); one time code a frame. */
static void put_head(usd_writer *w)
{
    fprintf(w->output.stream,
            "#usda 1.0\n(\n    defaultPrim = \"%s\"\n    doc = \"Supple %s\"\n    endTimeCode = %d\n"
            "    framesPerSecond = ",
            w->root, SUPPLE_VERSION, (int)w->base.frame_total - 1);
    put_real(w, w->base.fps);
    put_text(w, "\n    metersPerUnit = ");
    put_real(w, spl_scene_unit(w->base.scene));
    put_text(w, "\n    startTimeCode = 0\n    timeCodesPerSecond = ");
    put_real(w, w->base.fps);
    fprintf(w->output.stream, "\n    upAxis = \"%s\"\n)\n\ndef Xform \"%s\" (\n    kind = \"component\"\n)\n{\n",
            w->base.scene->up == SPL_UP_Z ? "Z" : "Y", w->root);
    if (w->base.scene->material_count == 0) return;
    put_text(w, "    def Scope \"Materials\"\n    {\n");
    for (int32_t i = 0; i < w->base.scene->material_count; i++) put_material(w, i);
    put_text(w, "    }\n");
}

static supple_result usd_close(supple_writer *writer, supple_error *error)
{
    usd_writer *w = (usd_writer *)writer;
    supple_result result = SUPPLE_OK;
    if (fflush(w->spool.stream) != 0) w->failed = true;
    put_head(w);
    for (int32_t i = 0; i < writer->scene->instance_count && result == SUPPLE_OK && !w->failed; i++) {
        result = spl_progress(&writer->config, "writing", (double)i / writer->scene->instance_count, error);
        if (result == SUPPLE_OK) result = put_mesh(w, i, error);
    }
    put_text(w, "}\n");
    if (result != SUPPLE_OK) return result;
    if (w->failed || ferror(w->output.stream))
        return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", writer->path, strerror(errno));
    return spl_textures_commit(&w->textures, &w->output, &writer->allocator, error);
}

static void usd_release(supple_writer *writer)
{
    usd_writer *w = (usd_writer *)writer;
    const supple_allocator *a = &writer->allocator;
    spl_output_discard(&w->output);
    spl_output_discard(&w->spool);
    spl_names_free(w->names, writer->scene->instance_count, a);
    spl_names_free(w->materials, writer->scene->material_count, a);
    spl_free(a, w->root);
    spl_free(a, w->mirrored);
    spl_free(a, w->row);
    spl_free(a, w->corner);
    spl_free(a, w->slid_row);
    spl_slid_release(&w->slid, a);
    spl_textures_release(&w->textures, a);
}

const spl_format spl_format_usda = {
    .ending = ".usda",
    .summary = "USD as text: points, normals and sliding texture coordinates of every mesh as time samples",
    .takes_slide = true,
    .state_size = sizeof(usd_writer),
    .open = usd_open,
    .frame = usd_frame,
    .close = usd_close,
    .release = usd_release,
};
