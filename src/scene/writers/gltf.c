/* .glb and .gltf + .bin: the input's document with morph targets (bake.h): one a frame, or, where an error is allowed
 * and it makes the file smaller, principal components (basis.h), for which all frames are kept to the end (kept.h).
 *
 * Exact frames go to a spool as they come, so memory holds the base shape and one bound per target. For a .gltf the
 * spool is the beginning of the .bin itself; for a .glb, whose JSON comes first and is not known before the last frame,
 * it is an unlinked file that is copied behind the JSON. Layout of the spool, all rows of 3 floats: POSITION and NORMAL
 * of the first frame, part after part; then for each frame POSITION, NORMAL and TANGENT minus those of the first. */
#include "core/error.h"
#include "core/json.h"
#include "core/memory.h"
#include "scene/writers/gltf_slide.h"
#include "scene/writers/kept.h"
#include "scene/writers/new_weights.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { BIN, SLIDE, TEXT, OUTPUTS }; /* the document gets its name last */

/* An error below which frames are written exactly: floats themselves round by a tenth of it. */
static const double FINEST = 1e-6;

typedef struct gltf_writer {
    supple_writer base;
    bool binary; /* .glb */
    spl_bake bake;
    spl_output output[OUTPUTS]; /* the spool or .bin; a texture of the slide, if asked for; the .glb or .gltf */
    float *first;               /* base_floats: POSITION and NORMAL of the first frame */
    float *tangent;             /* 3 floats a vertex of the parts with tangents, in their order */
    float *bounds;              /* 6 a bounded accessor: min, max */
    bool waits;                 /* an error is allowed: the frames are kept */
    spl_kept kept;
    spl_basis *basis; /* of the scene's instances */
    spl_gltf_slide slide;
} gltf_writer;

/* ---- open ------------------------------------------------------------------------------------------------------- */

char *spl_output_uri(const char *path, const supple_allocator *a)
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
    char *path = spl_writer_sibling(&w->base, NULL, ".bin");
    supple_result result =
        path ? spl_writer_output(&w->base, path, &w->output[BIN], error) : spl_fail_memory(error, "an output path");
    spl_free(&w->base.allocator, path);
    return result;
}

/* Tells the document where its buffer lies. */
static supple_result name_buffer(gltf_writer *w, supple_error *error)
{
    json_t *buffer = json_array_get(json_object_get(w->bake.root, "buffers"), 0);
    if (w->binary || !buffer) return SUPPLE_OK;
    char *uri = spl_output_uri(w->output[BIN].path, &w->base.allocator);
    if (uri) spl_bake_set(&w->bake, buffer, "uri", json_string(uri));
    supple_result result = uri && !w->bake.failed ? SUPPLE_OK : spl_fail_memory(error, "the output's document");
    spl_free(&w->base.allocator, uri);
    return result;
}

static supple_result open_slide(gltf_writer *w, supple_error *error)
{
    supple_result result = spl_gltf_slide_open(&w->slide, &w->base, error);
    if (result != SUPPLE_OK || !w->base.slide_texture) return result;
    char *path = spl_writer_sibling(&w->base, "slide", ".png");
    result =
        path ? spl_writer_output(&w->base, path, &w->output[SLIDE], error) : spl_fail_memory(error, "an output path");
    spl_free(&w->base.allocator, path);
    return result;
}

static supple_result allocate(gltf_writer *w, supple_error *error)
{
    const supple_allocator *a = &w->base.allocator;
    const spl_bake *bake = &w->bake;
    size_t tangents = 0;
    for (int32_t i = 0; i < bake->part_count; i++)
        if (bake->part[i].tangent) tangents += 3 * (size_t)bake->part[i].vertex_count;
    w->first = spl_new(a, bake->base_floats, sizeof *w->first);
    w->tangent = spl_new(a, tangents, sizeof *w->tangent);
    w->bounds = spl_new(a, bake->bounded_count, 6 * sizeof *w->bounds);
    return w->first && w->tangent && w->bounds ? SUPPLE_OK : spl_fail_memory(error, "the first frame");
}

/* Where frames are kept the document is made once now, without targets, to see early what is wrong, and again at the
 * end. */
static supple_result gltf_open(supple_writer *writer, supple_error *error)
{
    gltf_writer *w = (gltf_writer *)writer;
    w->binary = writer->format != &spl_format_gltf;
    w->waits = writer->glb_error >= FINEST && writer->frame_total > 1;
    if (w->waits) w->basis = spl_new(&writer->allocator, (size_t)writer->scene->instance_count, sizeof *w->basis);
    if (w->waits && !w->basis) return spl_fail_memory(error, "the components");
    supple_result result = spl_bake_init(&w->bake, writer, w->basis, error);
    if (result == SUPPLE_OK && writer->format == &spl_format_vrm && !spl_bake_is_vrm(&w->bake))
        result =
            spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: %s is no VRM; write a .glb", writer->path, writer->scene->path);
    if (result == SUPPLE_OK && w->bake.expressions > 0)
        spl_log(&writer->config, SUPPLE_LOG_INFO,
                "%s: %d expressions have no morph targets any more: those of the file are the frames now", writer->path,
                (int)w->bake.expressions);
    if (result == SUPPLE_OK && !w->waits) result = allocate(w, error);
    if (result == SUPPLE_OK) result = spl_writer_output(writer, writer->path, &w->output[TEXT], error);
    if (result == SUPPLE_OK) result = w->binary ? spl_writer_spool(writer, &w->output[BIN], error) : open_bin(w, error);
    if (result == SUPPLE_OK) result = name_buffer(w, error);
    if (result == SUPPLE_OK && writer->slide) result = open_slide(w, error);
    return result == SUPPLE_OK && w->waits ? spl_kept_open(&w->kept, &w->bake, error) : result;
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
        find_bounds(to, part->vertex_count, w->bounds + 6 * part->bound);
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

static supple_result write_target(gltf_writer *w, const supple_frame *frame, int32_t index, supple_error *error)
{
    const spl_bake *bake = &w->bake;
    const float *tangent = w->tangent;
    for (int32_t i = 0; i < bake->part_count; i++) {
        const spl_bake_part *part = &bake->part[i];
        float *bounds = w->bounds + 6 * (part->bound + 1 + (size_t)index);
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

static supple_result write_exact(gltf_writer *w, const supple_frame *frame, int32_t index, supple_error *error)
{
    supple_result result = index == 0 ? write_base(w, frame, error) : SUPPLE_OK;
    return result == SUPPLE_OK && !w->bake.still ? write_target(w, frame, index, error) : result;
}

static supple_result gltf_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    gltf_writer *w = (gltf_writer *)writer;
    for (int32_t i = 0; i < w->bake.part_count; i++)
        if ((w->bake.part[i].normal && !frame->normal) || (w->bake.part[i].tangent && !frame->tangent))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: a frame without normals or tangents", writer->path);
    supple_result result =
        writer->slide && frame->slide ? spl_gltf_slide_frame(&w->slide, writer, frame, error) : SUPPLE_OK;
    if (result != SUPPLE_OK) return result;
    if (w->waits) return spl_kept_add(&w->kept, writer, frame, error);
    return write_exact(w, frame, writer->frames_done, error);
}

/* ---- kept frames ------------------------------------------------------------------------------------------------ */

/* Exact targets after all. */
static supple_result write_frames(gltf_writer *w, supple_error *error)
{
    const supple_writer *writer = &w->base;
    spl_kept_frame kept;
    supple_result result = spl_kept_frame_init(&kept, &w->kept, writer, error);
    for (int32_t k = 0; k < writer->frame_total && result == SUPPLE_OK; k++) {
        result = spl_kept_read(&w->kept, writer, k, &kept, error);
        supple_frame frame = {.position = kept.position, .normal = kept.normal, .tangent = kept.tangent};
        if (result == SUPPLE_OK) result = write_exact(w, &frame, k, error);
    }
    spl_kept_frame_release(&kept, &writer->allocator);
    return result;
}

/* Whether components keep to the error and take fewer bytes than exact frames, or exact frames are too many. */
static bool components_pay(const gltf_writer *w)
{
    uint64_t frames = (uint64_t)w->base.frame_total, exact = 4 * frames * frames, ours = 0;
    if (frames > SPL_BAKE_MAX_TARGETS) return true;
    for (int32_t i = 0; i < w->base.scene->instance_count; i++)
        if (w->basis[i].error > w->base.glb_error * w->kept.diagonal) return false;
    for (int32_t i = 0; i < w->bake.part_count; i++) {
        const spl_bake_part *part = &w->bake.part[i];
        const spl_basis *basis = &w->basis[part->instance];
        uint64_t n = (uint64_t)part->vertex_count;
        for (int attribute = 0; attribute < 3; attribute++)
            exact += spl_bake_has(part, attribute) ? 12 * n * frames : 0;
        for (size_t r = 0; r < 3 * (size_t)basis->count; r++)
            if (spl_bake_has(part, (int)(r % 3)) && basis->kind[r]) ours += spl_bake_stride(basis->kind[r]) * n;
        ours += basis->steady ? (part->tangent ? 8 : 4) * n : 0;
    }
    for (int32_t i = 0; i < w->base.scene->instance_count; i++) ours += 4 * frames * (uint64_t)w->basis[i].count;
    return ours < exact;
}

static void report(const gltf_writer *w, double largest)
{
    int32_t most = 0;
    double allowed = w->base.glb_error, error = w->kept.diagonal > 0 ? largest / w->kept.diagonal : 0;
    for (int32_t i = 0; i < w->base.scene->instance_count; i++)
        most = w->basis[i].count > most ? w->basis[i].count : most;
    if (error <= allowed)
        spl_log(&w->base.config, SUPPLE_LOG_INFO,
                "%s: %d frames as %d components; largest error %.2g of the diagonal (glb-error %g)", w->base.path,
                (int)w->base.frame_total, (int)most, error, allowed);
    else
        spl_log(&w->base.config, SUPPLE_LOG_WARNING,
                "%s: %d components, the most a viewer takes, leave an error of %.2g of the diagonal (glb-error %g); "
                "write fewer frames, or .abc, .usda or .pc2",
                w->base.path, (int)most, error, allowed);
}

/* The document with its targets, and the targets. */
static supple_result write_kept(gltf_writer *w, spl_pool *pool, supple_error *error)
{
    supple_result result = spl_kept_find(&w->kept, &w->bake, pool, w->basis, error);
    if (result == SUPPLE_OK) result = spl_kept_quantise(&w->kept, &w->bake, pool, w->basis, error);
    if (result != SUPPLE_OK) return result;
    bool components = components_pay(w);
    spl_bake_release(&w->bake);
    result = spl_bake_init(&w->bake, &w->base, components ? w->basis : NULL, error);
    if (result == SUPPLE_OK) result = allocate(w, error);
    if (result == SUPPLE_OK) result = name_buffer(w, error);
    if (result == SUPPLE_OK && !components) return write_frames(w, error);
    double largest = 0;
    if (result == SUPPLE_OK)
        result = spl_kept_write(&w->kept, &w->bake, pool, &w->output[BIN], w->bounds, &largest, error);
    if (result == SUPPLE_OK && w->bake.part_count) report(w, largest);
    return result;
}

static supple_result finish_kept(gltf_writer *w, supple_error *error)
{
    spl_pool *pool;
    supple_result result = spl_pool_create(&w->base.config, &pool, error);
    if (result != SUPPLE_OK) return result;
    result = write_kept(w, pool, error);
    spl_pool_destroy(pool);
    return result;
}

/* ---- close ------------------------------------------------------------------------------------------------------ */

static void set_bounds(gltf_writer *w)
{
    for (size_t i = 0; i < w->bake.bounded_count; i++) {
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

/* The slide's texture stays where there is something in it. */
static supple_result close_slide(gltf_writer *w, supple_error *error)
{
    bool written, wanted = w->output[SLIDE].stream != NULL;
    supple_result result =
        spl_gltf_slide_close(&w->slide, &w->bake, wanted ? &w->output[SLIDE] : NULL, &written, error);
    if (!written) spl_output_discard(&w->output[SLIDE]);
    return result;
}

/* Gives the files their names; the spool of a .glb has none. */
static supple_result commit(gltf_writer *w, supple_error *error)
{
    spl_output list[OUTPUTS] = {0};
    int32_t count = 0;
    for (int i = w->binary ? SLIDE : BIN; i < OUTPUTS; i++)
        if (w->output[i].stream) {
            list[count++] = w->output[i];
            w->output[i] = (spl_output){0};
        }
    supple_result result = spl_outputs_commit(list, count, &w->base.allocator, error);
    for (int i = 0; i < OUTPUTS; i++) spl_output_discard(&list[i]);
    return result;
}

static supple_result gltf_close(supple_writer *writer, supple_error *error)
{
    gltf_writer *w = (gltf_writer *)writer;
    supple_result result = w->waits ? finish_kept(w, error) : SUPPLE_OK;
    if (result == SUPPLE_OK && w->slide.spool.stream) result = close_slide(w, error);
    if (result != SUPPLE_OK) return result;
    set_bounds(w);
    size_t flags = w->binary ? JSON_COMPACT : JSON_INDENT(1);
    char *text = w->bake.failed ? NULL : spl_json_text(w->bake.root, flags, &writer->allocator);
    if (!text) return spl_fail_memory(error, "the output's document");
    result = w->binary ? write_glb(w, text, error) : write_gltf(w, text, error);
    spl_free(&writer->allocator, text);
    if (result != SUPPLE_OK) return result;
    return commit(w, error);
}

static void gltf_release(supple_writer *writer)
{
    gltf_writer *w = (gltf_writer *)writer;
    for (int i = 0; i < OUTPUTS; i++) spl_output_discard(&w->output[i]);
    spl_free(&writer->allocator, w->first);
    spl_free(&writer->allocator, w->tangent);
    spl_free(&writer->allocator, w->bounds);
    for (int32_t i = 0; w->basis && i < writer->scene->instance_count; i++)
        spl_basis_release(&w->basis[i], &writer->allocator);
    spl_free(&writer->allocator, w->basis);
    spl_kept_release(&w->kept, &writer->allocator);
    spl_gltf_slide_release(&w->slide, &writer->allocator);
    spl_bake_release(&w->bake);
}

/* ---- new weights ------------------------------------------------------------------------------------------------ */

static supple_result write_weights(gltf_writer *w, const spl_new_weights *weights, supple_error *error)
{
    supple_writer *writer = &w->base;
    supple_result result = spl_bake_weights(&w->bake, writer, weights, error);
    if (result == SUPPLE_OK) result = spl_writer_output(writer, writer->path, &w->output[TEXT], error);
    if (result == SUPPLE_OK) result = w->binary ? spl_writer_spool(writer, &w->output[BIN], error) : open_bin(w, error);
    if (result == SUPPLE_OK) result = name_buffer(w, error);
    return result == SUPPLE_OK ? gltf_close(writer, error) : result;
}

supple_result spl_gltf_write_weights(const supple_scene *scene, const spl_new_weights *weights, const char *path,
                                     const supple_config *config, supple_error *error)
{
    static const spl_format *const formats[] = {&spl_format_glb, &spl_format_gltf};
    const spl_format *format = spl_format_find(formats, 2, path);
    if (!format) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%.200s: a skin is written as .glb or .gltf", path);
    gltf_writer w = {.base = {.format = format, .allocator = spl_allocator_of(config), .scene = scene}};
    w.base.config = config ? *config : supple_config_default();
    w.base.path = spl_strdup(&w.base.allocator, path);
    w.binary = format != &spl_format_gltf;
    supple_result result = w.base.path ? write_weights(&w, weights, error) : spl_fail_memory(error, "an output path");
    gltf_release(&w.base);
    spl_free(&w.base.allocator, w.base.path);
    return result;
}

const spl_format spl_format_glb = {
    .ending = ".glb",
    .summary = "glTF in one file, morph targets for the frames",
    .takes_ranges = true,
    .takes_slide = true,
    .state_size = sizeof(gltf_writer),
    .open = gltf_open,
    .frame = gltf_frame,
    .close = gltf_close,
    .release = gltf_release,
};

const spl_format spl_format_vrm = {
    .ending = ".vrm",
    .summary = "a VRM avatar, of one: .glb with its extensions",
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
    .takes_slide = true,
    .state_size = sizeof(gltf_writer),
    .open = gltf_open,
    .frame = gltf_frame,
    .close = gltf_close,
    .release = gltf_release,
};
