/* .glb and .gltf + .bin: the input's document with one morph target a frame (bake.h).
 *
 * Frames go to a spool as they come, so memory holds the base shape and one bound per target. For a .gltf the spool is
 * the beginning of the .bin itself; for a .glb, whose JSON comes first and is not known before the last frame, it is an
 * unlinked file that is copied behind the JSON. Layout of the spool, all rows of 3 floats: POSITION and NORMAL of the
 * first frame, part after part; then for each frame POSITION, NORMAL and TANGENT minus those of the first. */
#include "core/error.h"
#include "core/memory.h"
#include "scene/writers/bake.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { BIN, TEXT, OUTPUTS };

typedef struct gltf_writer {
    supple_writer base;
    bool binary; /* .glb */
    spl_bake bake;
    spl_output output[OUTPUTS]; /* the spool or .bin; the .glb or .gltf */
    float *first;               /* base_floats: POSITION and NORMAL of the first frame */
    float *tangent;             /* 3 floats a vertex of the parts with tangents, in their order */
    float *bounds;              /* 6 a bounded accessor: min, max */
} gltf_writer;

/* ---- open ------------------------------------------------------------------------------------------------------- */

/* The last part of the .bin's path as a URI: everything but unreserved characters is escaped. */
static char *bin_uri(const char *path, const supple_allocator *a)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *uri = spl_new(a, 3 * strlen(name) + 1, 1), *out = uri;
    for (; uri && *name; name++) {
        unsigned char c = (unsigned char)*name;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
        out += plain ? sprintf(out, "%c", c) : sprintf(out, "%%%02X", c);
    }
    return uri;
}

static supple_result open_bin(gltf_writer *w, supple_error *error)
{
    const supple_allocator *a = &w->base.allocator;
    char *path = spl_writer_sibling(&w->base, NULL, ".bin"), *uri = path ? bin_uri(path, a) : NULL;
    supple_result result =
        uri ? spl_writer_output(&w->base, path, &w->output[BIN], error) : spl_fail_memory(error, "an output path");
    json_t *buffer = json_array_get(json_object_get(w->bake.root, "buffers"), 0);
    if (result == SUPPLE_OK && buffer) spl_bake_set(&w->bake, buffer, "uri", json_string(uri));
    if (result == SUPPLE_OK && w->bake.failed) result = spl_fail_memory(error, "the output's document");
    spl_free(a, path);
    spl_free(a, uri);
    return result;
}

static supple_result allocate(gltf_writer *w, supple_error *error)
{
    const supple_allocator *a = &w->base.allocator;
    const spl_bake *bake = &w->bake;
    size_t tangents = 0, frames = bake->still ? 0 : (size_t)w->base.frame_total;
    for (int32_t i = 0; i < bake->part_count; i++)
        if (bake->part[i].tangent) tangents += 3 * (size_t)bake->part[i].vertex_count;
    w->first = spl_new(a, bake->base_floats, sizeof *w->first);
    w->tangent = spl_new(a, tangents, sizeof *w->tangent);
    w->bounds = spl_new(a, (size_t)bake->part_count * (frames + 1), 6 * sizeof *w->bounds);
    return w->first && w->tangent && w->bounds ? SUPPLE_OK : spl_fail_memory(error, "the first frame");
}

static supple_result gltf_open(supple_writer *writer, supple_error *error)
{
    gltf_writer *w = (gltf_writer *)writer;
    w->binary = writer->format == &spl_format_glb;
    supple_result result = spl_bake_init(&w->bake, writer, error);
    if (result == SUPPLE_OK) result = allocate(w, error);
    if (result == SUPPLE_OK) result = spl_writer_output(writer, writer->path, &w->output[TEXT], error);
    if (result == SUPPLE_OK) result = w->binary ? spl_writer_spool(writer, &w->output[BIN], error) : open_bin(w, error);
    return result;
}

/* ---- frames ----------------------------------------------------------------------------------------------------- */

static void find_bounds(const float *rows, int32_t count, float bounds[6])
{
    for (int c = 0; c < 3; c++) bounds[c] = bounds[3 + c] = count ? rows[c] : 0;
    for (int32_t v = 0; v < count; v++)
        for (int c = 0; c < 3; c++) {
            float x = rows[3 * (size_t)v + (size_t)c];
            if (x < bounds[c]) bounds[c] = x;
            if (x > bounds[3 + c]) bounds[3 + c] = x;
        }
}

/* Keeps the first frame: the base shape that the others are differences to. */
static supple_result write_base(gltf_writer *w, const supple_frame *frame, supple_error *error)
{
    float *tangent = w->tangent;
    for (int32_t i = 0; i < w->bake.part_count; i++) {
        const spl_bake_part *part = &w->bake.part[i];
        size_t n = (size_t)part->vertex_count, at = (size_t)part->first_vertex;
        float *to = w->first + part->base;
        memcpy(to, frame->position + 3 * at, 3 * n * sizeof *to);
        if (part->normal) memcpy(to + 3 * n, frame->normal + 3 * at, 3 * n * sizeof *to);
        find_bounds(to, part->vertex_count, w->bounds + 6 * (size_t)i);
        for (size_t v = 0; part->tangent && v < n; v++, tangent += 3) {
            const float *from = frame->tangent + 4 * (at + v);
            memcpy(tangent, from, 3 * sizeof *tangent);
            for (size_t c = 0; c < 4; c++) spl_put_f32(part->base_tangent + 16 * v + 4 * c, from[c], false);
        }
    }
    return spl_output_floats(&w->output[BIN], w->first, w->bake.base_floats, false, error);
}

/* Writes rows minus base rows through a small block; `width` floats apart in `rows`. Adds to bounds if not NULL. */
static supple_result write_difference(gltf_writer *w, const float *rows, size_t width, const float *base, size_t count,
                                      float *bounds, supple_error *error)
{
    enum { BLOCK = 1024 };
    float block[3 * BLOCK];
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t n = count - done < BLOCK ? count - done : BLOCK;
        for (size_t v = 0; v < n; v++)
            for (size_t c = 0; c < 3; c++) block[3 * v + c] = rows[width * (done + v) + c] - base[3 * (done + v) + c];
        float here[6];
        find_bounds(block, (int32_t)n, here);
        for (int c = 0; bounds && c < 3; c++) {
            if (done == 0 || here[c] < bounds[c]) bounds[c] = here[c];
            if (done == 0 || here[3 + c] > bounds[3 + c]) bounds[3 + c] = here[3 + c];
        }
        supple_result result = spl_output_floats(&w->output[BIN], block, 3 * n, false, error);
        if (result != SUPPLE_OK) return result;
    }
    return SUPPLE_OK;
}

static supple_result write_target(gltf_writer *w, const supple_frame *frame, supple_error *error)
{
    const spl_bake *bake = &w->bake;
    const float *tangent = w->tangent;
    float *bounds = w->bounds + 6 * (size_t)bake->part_count * (size_t)(w->base.frames_done + 1);
    for (int32_t i = 0; i < bake->part_count; i++, bounds += 6) {
        const spl_bake_part *part = &bake->part[i];
        size_t n = (size_t)part->vertex_count, at = (size_t)part->first_vertex;
        const float *base = w->first + part->base;
        supple_result result = write_difference(w, frame->position + 3 * at, 3, base, n, bounds, error);
        if (result == SUPPLE_OK && part->normal)
            result = write_difference(w, frame->normal + 3 * at, 3, base + 3 * n, n, NULL, error);
        if (result == SUPPLE_OK && part->tangent)
            result = write_difference(w, frame->tangent + 4 * at, 4, tangent, n, NULL, error);
        if (result != SUPPLE_OK) return result;
        if (part->tangent) tangent += 3 * n;
    }
    return SUPPLE_OK;
}

static supple_result gltf_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    gltf_writer *w = (gltf_writer *)writer;
    for (int32_t i = 0; i < w->bake.part_count; i++)
        if ((w->bake.part[i].normal && !frame->normal) || (w->bake.part[i].tangent && !frame->tangent))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: a frame without normals or tangents", writer->path);
    supple_result result = writer->frames_done == 0 ? write_base(w, frame, error) : SUPPLE_OK;
    return result == SUPPLE_OK && !w->bake.still ? write_target(w, frame, error) : result;
}

/* ---- close ------------------------------------------------------------------------------------------------------ */

static void set_bounds(gltf_writer *w)
{
    size_t frames = w->bake.still ? 0 : (size_t)w->base.frame_total;
    for (size_t i = 0; i < (size_t)w->bake.part_count * (frames + 1); i++) {
        const float *b = w->bounds + 6 * i;
        json_t *accessor = w->bake.bounded[i];
        spl_bake_set(&w->bake, accessor, "min", json_pack("[f,f,f]", (double)b[0], (double)b[1], (double)b[2]));
        spl_bake_set(&w->bake, accessor, "max", json_pack("[f,f,f]", (double)b[3], (double)b[4], (double)b[5]));
    }
}

static supple_result write_zeros(spl_output *output, size_t count, supple_error *error)
{
    static const uint8_t zeros[64];
    return spl_output_bytes(output, zeros, count, error);
}

/* Writes the pieces behind the spool. */
static supple_result write_pieces(gltf_writer *w, spl_output *output, supple_error *error)
{
    for (size_t i = 0; i < w->bake.piece_count; i++) {
        const spl_bake_piece *p = &w->bake.piece[i];
        bool tight = p->count == 1 || (p->source_stride == p->element && p->stride == p->element);
        supple_result result = SUPPLE_OK;
        if (tight) result = spl_output_bytes(output, p->source, p->count * p->element, error);
        for (size_t k = 0; !tight && k < p->count && result == SUPPLE_OK; k++) {
            result = spl_output_bytes(output, p->source + k * p->source_stride, p->element, error);
            if (result == SUPPLE_OK) result = write_zeros(output, p->stride - p->element, error);
        }
        size_t length = p->count * p->stride, written = tight ? p->count * p->element : length;
        if (result == SUPPLE_OK) result = write_zeros(output, ((length + 3) & ~(size_t)3) - written, error);
        if (result != SUPPLE_OK) return result;
    }
    return SUPPLE_OK;
}

static supple_result copy_spool(gltf_writer *w, supple_error *error)
{
    FILE *spool = w->output[BIN].stream;
    if (fflush(spool) != 0 || fseek(spool, 0, SEEK_SET) != 0)
        return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", w->base.path, strerror(errno));
    uint8_t block[16384];
    for (size_t n; (n = fread(block, 1, sizeof block, spool)) > 0;) {
        supple_result result = spl_output_bytes(&w->output[TEXT], block, n, error);
        if (result != SUPPLE_OK) return result;
    }
    if (ferror(spool)) return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: the spool cannot be read", w->base.path);
    return SUPPLE_OK;
}

/* header, JSON chunk padded with spaces, BIN chunk */
static supple_result write_glb(gltf_writer *w, const char *text, supple_error *error)
{
    spl_output *out = &w->output[TEXT];
    size_t length = strlen(text), padded = (length + 3) & ~(size_t)3;
    uint64_t bin = w->bake.size, total = 12 + 8 + padded + (bin ? 8 + bin : 0);
    if (total > UINT32_MAX)
        return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: larger than 4 GB, which the format does not allow",
                        w->base.path);
    uint8_t head[20] = "glTF", chunk[8];
    spl_put_u32(head + 4, 2, false);
    spl_put_u32(head + 8, (uint32_t)total, false);
    spl_put_u32(head + 12, (uint32_t)padded, false);
    memcpy(head + 16, "JSON", 4);
    spl_put_u32(chunk, (uint32_t)bin, false);
    memcpy(chunk + 4, "BIN\0", 4);
    supple_result result = spl_output_bytes(out, head, sizeof head, error);
    if (result == SUPPLE_OK) result = spl_output_bytes(out, text, length, error);
    if (result == SUPPLE_OK) result = spl_output_bytes(out, "   ", padded - length, error);
    if (result != SUPPLE_OK || bin == 0) return result;
    result = spl_output_bytes(out, chunk, sizeof chunk, error);
    if (result == SUPPLE_OK) result = copy_spool(w, error);
    if (result == SUPPLE_OK) result = write_pieces(w, out, error);
    return result;
}

static supple_result write_gltf(gltf_writer *w, const char *text, supple_error *error)
{
    supple_result result = write_pieces(w, &w->output[BIN], error);
    if (result == SUPPLE_OK) result = spl_output_bytes(&w->output[TEXT], text, strlen(text), error);
    return result == SUPPLE_OK ? spl_output_bytes(&w->output[TEXT], "\n", 1, error) : result;
}

static supple_result gltf_close(supple_writer *writer, supple_error *error)
{
    gltf_writer *w = (gltf_writer *)writer;
    set_bounds(w);
    char *text = w->bake.failed ? NULL : json_dumps(w->bake.root, w->binary ? JSON_COMPACT : JSON_INDENT(1));
    if (!text) return spl_fail_memory(error, "the output's document");
    supple_result result = w->binary ? write_glb(w, text, error) : write_gltf(w, text, error);
    void (*release)(void *) = NULL; /* jansson's strings are freed by jansson's own function */
    json_get_alloc_funcs(NULL, &release);
    release(text);
    if (result != SUPPLE_OK) return result;
    if (w->binary) return spl_output_commit(&w->output[TEXT], error);
    return spl_outputs_commit(w->output, OUTPUTS, &writer->allocator, error);
}

static void gltf_release(supple_writer *writer)
{
    gltf_writer *w = (gltf_writer *)writer;
    for (int i = 0; i < OUTPUTS; i++) spl_output_discard(&w->output[i]);
    spl_free(&writer->allocator, w->first);
    spl_free(&writer->allocator, w->tangent);
    spl_free(&writer->allocator, w->bounds);
    spl_bake_release(&w->bake);
}

const spl_format spl_format_glb = {
    .ending = ".glb",
    .summary = "glTF in one file, one morph target a frame",
    .takes_ranges = true,
    .state_size = sizeof(gltf_writer),
    .open = gltf_open,
    .frame = gltf_frame,
    .close = gltf_close,
    .release = gltf_release,
};

const spl_format spl_format_gltf = {
    .ending = ".gltf",
    .summary = "glTF as text with a .bin beside it",
    .takes_ranges = true,
    .state_size = sizeof(gltf_writer),
    .open = gltf_open,
    .frame = gltf_frame,
    .close = gltf_close,
    .release = gltf_release,
};
