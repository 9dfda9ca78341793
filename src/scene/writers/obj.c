/* Wavefront .obj: a numbered sequence out.0000.obj, out.0001.obj, ... and one out.mtl with the materials' colours.
 *
 * The files are gathered in a temporary folder beside their final place and moved out of it at the end: the sequence
 * appears whole, memory and open files do not grow with its length. Numbers have nine digits, which give a float back
 * exactly. */
#include "core/error.h"
#include "core/memory.h"
#include "scene/writers/slid.h"
#include "scene/writers/textures.h"
#include "scene/writers/writer.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_LIMIT = 4096, PATH_ROOM = 64 };

typedef struct obj_writer {
    supple_writer base;
    char **names;     /* of the mesh instances */
    bool *mirrored;   /* mesh instances whose triangles wind the other way round in world space */
    char **materials; /* of the scene's materials */
    char *folder;     /* the temporary one; NULL until it exists */
    int lock;         /* on it */
    int32_t files;    /* frames in the folder */
    bool has_mtl;     /* the materials are in the folder */
    spl_slid slid;    /* where the frames bring sliding skin */
    spl_textures textures;
    locale_t c_locale; /* decimal points are points */
} obj_writer;

/* Paths are put together on the stack: cleaning up must not depend on memory. obj_open checks that they fit. */
typedef struct path_text {
    char text[PATH_LIMIT];
} path_text;

/* "FOLDER/0007.obj", or "FOLDER/mtl" for frame -1. */
static path_text inside_path(const obj_writer *w, int32_t frame)
{
    path_text path;
    if (frame < 0)
        snprintf(path.text, sizeof path.text, "%s/mtl", w->folder);
    else
        snprintf(path.text, sizeof path.text, "%s/%04d.obj", w->folder, (int)frame);
    return path;
}

/* "out.0007.obj", or "out.mtl" for frame -1. */
static path_text final_path(const obj_writer *w, int32_t frame)
{
    path_text path;
    int stem = (int)(strlen(w->base.path) - strlen(w->base.format->ending));
    const char *ending = w->base.path + stem;
    if (frame < 0)
        snprintf(path.text, sizeof path.text, "%.*s.mtl", stem, w->base.path);
    else
        snprintf(path.text, sizeof path.text, "%.*s.%04d%s", stem, w->base.path, (int)frame, ending);
    return path;
}

/* ---- materials -------------------------------------------------------------------------------------------------- */

static supple_result write_materials(obj_writer *w, spl_output *out, supple_error *error)
{
    const supple_scene *scene = w->base.scene;
    for (int32_t i = 0; i < scene->material_count; i++) {
        const float *c = scene->material[i].base_color;
        fprintf(out->stream, "newmtl %s\nKd %.9g %.9g %.9g\nd %.9g\nillum 1\n", w->materials[i], (double)c[0],
                (double)c[1], (double)c[2], (double)c[3]);
        const char *file = w->base.slide ? spl_textures_of(&w->textures, scene, i) : NULL;
        if (file) fprintf(out->stream, "map_Kd %s\n", file);
    }
    if (!ferror(out->stream)) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", out->path, strerror(errno));
}

static supple_result name_materials(obj_writer *w, supple_error *error)
{
    const supple_allocator *a = &w->base.allocator;
    const supple_scene *scene = w->base.scene;
    w->materials = spl_new(a, (size_t)scene->material_count, sizeof *w->materials);
    if (!w->materials) return spl_fail_memory(error, "material names");
    for (int32_t i = 0; i < scene->material_count; i++) {
        char text[96], *name = spl_safe_name(scene->material[i].name, "material", a);
        if (!name) return spl_fail_memory(error, "material names");
        snprintf(text, sizeof text, "%s-%d", name, (int)i); /* the number makes them differ */
        spl_free(a, name);
        w->materials[i] = spl_strdup(a, text);
        if (!w->materials[i]) return spl_fail_memory(error, "material names");
    }
    return SUPPLE_OK;
}

/* ---- one frame -------------------------------------------------------------------------------------------------- */

/* How many of each were written before: indices in a face count from the beginning of the file, from 1. */
typedef struct counts {
    int64_t v, vt, vn;
} counts;

static void write_points(FILE *f, const float *position, int32_t count)
{
    for (int32_t v = 0; v < count; v++)
        fprintf(f, "v %.9g %.9g %.9g\n", (double)position[3 * v], (double)position[3 * v + 1],
                (double)position[3 * v + 2]);
}

/* `uv`: of the vertices; else they are written by corner. */
static void write_vertices(FILE *f, const spl_primitive *p, bool uv, const float *normal)
{
    for (int32_t v = 0; p->uv && uv && v < p->vertex_count; v++) /* v runs upwards in .obj */
        fprintf(f, "vt %.9g %.9g\n", (double)p->uv[2 * v], (double)(1.0f - p->uv[2 * v + 1]));
    for (int32_t v = 0; normal && v < p->vertex_count; v++)
        fprintf(f, "vn %.9g %.9g %.9g\n", (double)normal[3 * v], (double)normal[3 * v + 1], (double)normal[3 * v + 2]);
}

/* With ids, v counts the mesh's points, which all come before its first primitive; vn counts vertices, and so does vt
 * unless it slides: then it has one for each corner, in the order of the faces. */
static void write_faces(FILE *f, const spl_mesh *mesh, const spl_primitive *p, bool has_normal, bool mirrored,
                        bool slides, counts *c)
{
    for (int32_t t = 0, n; t < spl_face_count(p); t++) {
        fputc('f', f);
        spl_face(p, t, &n);
        for (int32_t k = 0; k < n; k++) {
            int32_t i = spl_face_corner(p, t, k, mirrored);
            fprintf(f, " %lld", (long long)spl_point_of(mesh, p, 0, i) + 1 + c->v);
            if (slides)
                fprintf(f, "/%lld", (long long)++c->vt);
            else if (p->uv)
                fprintf(f, "/%lld", (long long)i + 1 + c->vt);
            if (has_normal) fprintf(f, "%s%lld", p->uv || slides ? "/" : "//", (long long)i + 1 + c->vn);
        }
        fputc('\n', f);
    }
}

/* The coordinates of all corners of an instance's faces. */
static void write_corners(obj_writer *w, FILE *f, int32_t instance, const float *corner_uv)
{
    const float *uv = corner_uv + 2 * w->slid.first_corner[instance];
    size_t n = spl_slid_rows(&w->slid, instance, uv, w->mirrored[instance]);
    for (size_t k = 0; k < n; k++)
        fprintf(f, "vt %.9g %.9g\n", (double)w->slid.row[2 * k], (double)w->slid.row[2 * k + 1]);
}

static void write_frame(obj_writer *w, FILE *f, const supple_frame *frame)
{
    const supple_scene *scene = w->base.scene;
    const float *points = spl_writer_points(&w->base, frame->position);
    counts c = {0, 0, 0};
    fprintf(f, "# Supple %s\n", SUPPLE_VERSION);
    path_text mtl = final_path(w, -1);
    const char *slash = strrchr(mtl.text, '/');
    if (scene->material_count) fprintf(f, "mtllib %s\n", slash ? slash + 1 : mtl.text);
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        size_t first = (size_t)scene->instance[i].first_vertex;
        fprintf(f, "o %s\n", w->names[i]);
        bool slides = w->base.slide && frame->slide;
        if (slides) write_corners(w, f, i, frame->slide->corner_uv);
        if (mesh->point_count) write_points(f, points + 3 * (size_t)scene->instance[i].first_point, mesh->point_count);
        for (int32_t k = 0; k < mesh->primitive_count; k++) {
            const spl_primitive *p = &mesh->primitive[k];
            const float *normal = p->normal && frame->normal ? frame->normal + 3 * first : NULL;
            if (!mesh->point_count) write_points(f, frame->position + 3 * first, p->vertex_count);
            write_vertices(f, p, !slides, normal);
            if (p->material >= 0) fprintf(f, "usemtl %s\n", w->materials[p->material]);
            write_faces(f, mesh, p, normal != NULL, w->mirrored[i], slides, &c);
            c.v += mesh->point_count ? 0 : p->vertex_count;
            c.vt += p->uv && !slides ? p->vertex_count : 0;
            c.vn += normal ? p->vertex_count : 0;
            first += (size_t)p->vertex_count;
        }
        c.v += mesh->point_count;
    }
}

/* A message about a file of the folder, as one about what the file will be. */
static supple_result tell_final(const obj_writer *w, int32_t frame, supple_result result, supple_error *error)
{
    path_text inside = inside_path(w, frame);
    size_t length = strlen(inside.text);
    supple_error why = error ? *error : (supple_error){0};
    if (result != SUPPLE_ERROR_OUTPUT || strncmp(why.message, inside.text, length) != 0) return result;
    return spl_fail(error, result, "%s%s", final_path(w, frame).text, why.message + length);
}

/* Writes one file of the folder: a frame, or the materials for frame NULL. */
static supple_result write_inside(obj_writer *w, const supple_frame *frame, supple_error *error)
{
    path_text path = inside_path(w, frame ? frame->index : -1);
    spl_output out;
    supple_result result = spl_output_open(&out, path.text, &w->base.allocator, error);
    if (result != SUPPLE_OK) return result;
    locale_t previous = uselocale(w->c_locale);
    if (frame)
        write_frame(w, out.stream, frame);
    else
        result = write_materials(w, &out, error);
    uselocale(previous);
    if (result == SUPPLE_OK && ferror(out.stream))
        result = spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", w->base.path, strerror(errno));
    if (result == SUPPLE_OK) return spl_output_commit(&out, error);
    spl_output_discard(&out);
    return result;
}

/* ---- the format ------------------------------------------------------------------------------------------------- */

static supple_result obj_open(supple_writer *writer, supple_error *error)
{
    obj_writer *w = (obj_writer *)writer;
    if (strlen(writer->path) > PATH_LIMIT - PATH_ROOM)
        return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: the path is too long", writer->path);
    w->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    w->names = spl_instance_names(writer->scene, &writer->allocator);
    w->mirrored = spl_writer_mirrored(writer);
    if (!w->c_locale || !w->names || !w->mirrored) return spl_fail_memory(error, "an .obj output");
    supple_result result = name_materials(w, error);
    if (result == SUPPLE_OK && writer->slide)
        result = spl_slid_init(&w->slid, writer->scene, &writer->allocator, error);
    if (result == SUPPLE_OK && writer->slide) result = spl_textures_open(&w->textures, writer, error);
    if (result == SUPPLE_OK) result = spl_output_folder(writer->path, &writer->allocator, &w->folder, &w->lock, error);
    if (result != SUPPLE_OK || !writer->scene->material_count) return result;
    result = spl_writer_guard(writer, final_path(w, -1).text, error);
    if (result == SUPPLE_OK) result = tell_final(w, -1, write_inside(w, NULL, error), error);
    w->has_mtl = result == SUPPLE_OK;
    return result;
}

static supple_result obj_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    obj_writer *w = (obj_writer *)writer;
    path_text path = final_path(w, frame->index);
    supple_result result = spl_writer_guard(writer, path.text, error);
    struct stat st;
    if (result == SUPPLE_OK && stat(path.text, &st) == 0 && !S_ISREG(st.st_mode))
        result = spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: exists and is not a regular file", path.text);
    if (result == SUPPLE_OK) result = tell_final(w, frame->index, write_inside(w, frame, error), error);
    if (result == SUPPLE_OK) w->files = frame->index + 1;
    return result;
}

static supple_result obj_close(supple_writer *writer, supple_error *error)
{
    obj_writer *w = (obj_writer *)writer;
    int32_t first = w->has_mtl ? -1 : 0;
    for (int32_t k = first; k < w->files; k++) {
        path_text from = inside_path(w, k), to = final_path(w, k);
        if (rename(from.text, to.text) == 0) continue;
        supple_result result =
            spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", to.text, strerror(errno));
        while (k-- > first) unlink(final_path(w, k).text);
        return result;
    }
    int32_t files = w->files;
    w->files = 0;
    w->has_mtl = false;
    if (!writer->slide) return SUPPLE_OK;
    supple_result result = spl_textures_commit(&w->textures, NULL, &writer->allocator, error);
    for (int32_t k = first; k < files && result != SUPPLE_OK; k++) unlink(final_path(w, k).text);
    return result;
}

static void obj_release(supple_writer *writer)
{
    obj_writer *w = (obj_writer *)writer;
    const supple_allocator *a = &writer->allocator;
    for (int32_t k = w->has_mtl ? -1 : 0; w->folder && k < w->files; k++) unlink(inside_path(w, k).text);
    if (w->folder) rmdir(w->folder);
    if (w->folder) close(w->lock);
    spl_free(a, w->folder);
    spl_free(a, w->mirrored);
    spl_names_free(w->names, writer->scene->instance_count, a);
    spl_names_free(w->materials, writer->scene->material_count, a);
    spl_slid_release(&w->slid, a);
    spl_textures_release(&w->textures, a);
    if (w->c_locale) freelocale(w->c_locale);
}

const spl_format spl_format_obj = {
    .ending = ".obj",
    .summary = "Wavefront, a numbered sequence",
    .takes_slide = true,
    .state_size = sizeof(obj_writer),
    .open = obj_open,
    .frame = obj_frame,
    .close = obj_close,
    .release = obj_release,
};
