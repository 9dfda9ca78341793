#include "scene/writers/kept.h"

#include "core/error.h"
#include "core/memory.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static supple_result lost(const supple_writer *writer, supple_error *error)
{
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: the spool cannot be read", writer->path);
}

/* ---- frames in -------------------------------------------------------------------------------------------------- */

supple_result spl_kept_open(spl_kept *kept, const spl_bake *bake, supple_error *error)
{
    size_t block = 3 * (size_t)bake->scene->vertex_count;
    kept->width = block;
    for (int32_t i = 0; i < bake->part_count; i++) {
        if (bake->part[i].normal) kept->normal = block;
        if (bake->part[i].tangent) kept->tangent = 2 * block; /* tangents come with normals */
    }
    kept->width += (kept->normal ? block : 0) + (kept->tangent ? block : 0);
    kept->handed = spl_new(&bake->allocator, kept->tangent ? block / 3 : 0, sizeof *kept->handed);
    if (!kept->handed) return spl_fail_memory(error, "the first frame");
    return spl_writer_spool(bake->writer, &kept->spool, error);
}

static void measure_first(spl_kept *kept, const supple_writer *writer, const supple_frame *frame)
{
    size_t n = (size_t)writer->scene->vertex_count;
    float low[3] = {0}, high[3] = {0};
    for (size_t i = 0; i < 3 * n; i++) {
        float x = frame->position[i];
        if (i < 3 || x < low[i % 3]) low[i % 3] = x;
        if (i < 3 || x > high[i % 3]) high[i % 3] = x;
    }
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += pow((double)high[c] - (double)low[c], 2);
    kept->diagonal = sqrt(sum);
    for (size_t v = 0; kept->tangent && v < n; v++) kept->handed[v] = frame->tangent[4 * v + 3];
}

static supple_result add_tangents(spl_kept *kept, const float *tangent, size_t count, supple_error *error)
{
    enum { BLOCK = 1024 };
    float block[3 * BLOCK];
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t n = count - done < BLOCK ? count - done : BLOCK;
        for (size_t i = 0; i < 3 * n; i++) block[i] = tangent[4 * (done + i / 3) + i % 3];
        supple_result result = spl_output_bytes(&kept->spool, block, 3 * n * sizeof *block, error);
        if (result != SUPPLE_OK) return result;
    }
    return SUPPLE_OK;
}

supple_result spl_kept_add(spl_kept *kept, const supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    size_t n = (size_t)writer->scene->vertex_count, bytes = 3 * n * sizeof(float);
    if (writer->frames_done == 0) measure_first(kept, writer, frame);
    supple_result result = spl_output_bytes(&kept->spool, frame->position, bytes, error);
    if (result == SUPPLE_OK && kept->normal) result = spl_output_bytes(&kept->spool, frame->normal, bytes, error);
    if (result == SUPPLE_OK && kept->tangent) result = add_tangents(kept, frame->tangent, n, error);
    return result;
}

void spl_kept_release(spl_kept *kept, const supple_allocator *a)
{
    spl_output_discard(&kept->spool);
    spl_free(a, kept->handed);
    kept->handed = NULL;
}

/* ---- one frame out ---------------------------------------------------------------------------------------------- */

supple_result spl_kept_frame_init(spl_kept_frame *frame, const spl_kept *kept, const supple_writer *writer,
                                  supple_error *error)
{
    size_t n = (size_t)writer->scene->vertex_count;
    *frame = (spl_kept_frame){0};
    frame->position = spl_new(&writer->allocator, n, 3 * sizeof(float));
    if (kept->normal) frame->normal = spl_new(&writer->allocator, n, 3 * sizeof(float));
    if (kept->tangent) frame->tangent = spl_new(&writer->allocator, n, 4 * sizeof(float));
    bool ok = frame->position && (frame->normal || !kept->normal) && (frame->tangent || !kept->tangent);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "a frame");
}

void spl_kept_frame_release(spl_kept_frame *frame, const supple_allocator *a)
{
    spl_free(a, frame->position);
    spl_free(a, frame->normal);
    spl_free(a, frame->tangent);
    *frame = (spl_kept_frame){0};
}

supple_result spl_kept_read(spl_kept *kept, const supple_writer *writer, int32_t index, spl_kept_frame *frame,
                            supple_error *error)
{
    size_t n = (size_t)writer->scene->vertex_count;
    FILE *f = kept->spool.stream;
    off_t at = (off_t)((uint64_t)index * kept->width * sizeof(float));
    if (fflush(f) != 0 || fseeko(f, at, SEEK_SET) != 0 || fread(frame->position, sizeof(float), 3 * n, f) != 3 * n)
        return lost(writer, error);
    if (kept->normal && fread(frame->normal, sizeof(float), 3 * n, f) != 3 * n) return lost(writer, error);
    if (!kept->tangent) return SUPPLE_OK;
    if (fread(frame->tangent, sizeof(float), 3 * n, f) != 3 * n) return lost(writer, error);
    for (size_t v = n; v-- > 0;) { /* from the end: they spread out */
        memmove(frame->tangent + 4 * v, frame->tangent + 3 * v, 3 * sizeof(float));
        frame->tangent[4 * v + 3] = kept->handed[v];
    }
    return SUPPLE_OK;
}

/* ---- the basis -------------------------------------------------------------------------------------------------- */

static spl_frames frames_of(const spl_kept *kept, const supple_writer *writer)
{
    return (spl_frames){fileno(kept->spool.stream), writer->frame_total, kept->width};
}

supple_result spl_kept_find(spl_kept *kept, const spl_bake *bake, spl_pool *pool, spl_basis *basis, supple_error *error)
{
    const supple_writer *writer = bake->writer;
    spl_frames frames = frames_of(kept, writer);
    if (fflush(kept->spool.stream) != 0) return lost(writer, error);
    supple_result result = SUPPLE_OK;
    for (int32_t i = 0; i < bake->scene->instance_count && result == SUPPLE_OK; i++) {
        const spl_instance *instance = &bake->scene->instance[i];
        if (!bake->baked[instance->node]) continue;
        spl_basis_task task = {.frames = &frames,
                               .first = 3 * (size_t)instance->first_vertex,
                               .columns = 3 * (size_t)instance->vertex_count,
                               .bound = writer->glb_error * kept->diagonal,
                               .most = SPL_BAKE_MAX_TARGETS,
                               .pool = pool,
                               .allocator = &writer->allocator,
                               .config = &writer->config};
        result = spl_basis_find(&task, &basis[i], error);
    }
    return result;
}

/* ---- components out --------------------------------------------------------------------------------------------- */

/* What the parts of the output are made in. */
typedef struct room {
    spl_kept *kept;
    spl_bake *bake;
    spl_frames frames;
    spl_pool *pool;
    spl_output *bin;
    size_t block_columns;
    float *block, *mean, *component;
    double largest;
} room;

/* Floats to a place of the output, in floats from its beginning. */
static supple_result put_floats(const room *r, uint64_t at, const float *values, size_t count, supple_error *error)
{
    uint8_t bytes[4096];
    for (size_t done = 0; done < count;) {
        size_t n = count - done < sizeof bytes / 4 ? count - done : sizeof bytes / 4, sent = 0;
        for (size_t i = 0; i < n; i++) spl_put_f32(bytes + 4 * i, values[done + i], false);
        while (sent < 4 * n) {
            ssize_t k = pwrite(fileno(r->bin->stream), bytes + sent, 4 * n - sent, (off_t)(4 * (at + done) + sent));
            if (k < 0 && errno == EINTR) continue;
            if (k < 0)
                return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", r->bake->writer->path,
                                strerror(errno));
            sent += (size_t)k;
        }
        done += n;
    }
    return SUPPLE_OK;
}

/* Widens a box by rows; `first` begins it. */
static void widen(float box[6], const float *rows, size_t count, bool first)
{
    for (size_t i = 0; i < count; i++) {
        bool begin = first && i < 3;
        if (begin || rows[i] < box[i % 3]) box[i % 3] = rows[i];
        if (begin || rows[i] > box[3 + i % 3]) box[3 + i % 3] = rows[i];
    }
}

/* Puts a block of an attribute's components: `offset` floats into the part's targets. */
static supple_result put_components(const room *r, const spl_bake_part *part, size_t offset, size_t columns,
                                    supple_error *error)
{
    uint64_t at = r->bake->base_floats + part->target + offset;
    supple_result result = SUPPLE_OK;
    for (size_t k = 0; k < (size_t)part->target_count && result == SUPPLE_OK; k++)
        result = put_floats(r, at + k * part->step, r->component + k * columns, columns, error);
    return result;
}

static supple_result write_positions(room *r, const spl_bake_part *part, float *bounds, supple_error *error)
{
    const spl_basis *basis = &r->bake->basis[part->instance];
    size_t total = 3 * (size_t)part->vertex_count, first = 3 * (size_t)part->first_vertex;
    supple_result result = SUPPLE_OK;
    for (size_t at = 0; at < total && result == SUPPLE_OK; at += r->block_columns) {
        size_t n = total - at < r->block_columns ? total - at : r->block_columns;
        result = spl_basis_project(basis, &r->frames, first + at, n, r->pool, r->block, r->mean, r->component, error);
        if (result != SUPPLE_OK) break;
        r->largest = fmax(r->largest, spl_basis_measure(basis, r->block, n, r->component));
        float *box = bounds + 6 * part->bound;
        widen(box, r->mean, n, at == 0);
        for (size_t k = 0; k < (size_t)part->target_count; k++)
            widen(box + 6 * (k + 1), r->component + k * n, n, at == 0);
        result = put_floats(r, part->base + at, r->mean, n, error);
        if (result == SUPPLE_OK) result = put_components(r, part, at, n, error);
    }
    return result;
}

/* Makes the mean of directions a unit vector, and the components as much longer or shorter: viewers normalise the sum,
 * so it points where it pointed. A mean that is next to nothing has no direction; any will do. */
static void make_unit(const room *r, size_t columns, int32_t targets)
{
    for (size_t c = 0; c < columns; c += 3) {
        float *m = r->mean + c;
        double x = (double)m[0], y = (double)m[1], z = (double)m[2], length = sqrt(x * x + y * y + z * z);
        bool any = length > 1e-3;
        double scale = any ? 1 / length : 1;
        m[0] = (float)(any ? x * scale : 0);
        m[1] = (float)(any ? y * scale : 1);
        m[2] = (float)(any ? z * scale : 0);
        for (size_t k = 0; k < (size_t)targets; k++)
            for (size_t i = 0; i < 3; i++) {
                float *value = &r->component[k * columns + c + i];
                *value = (float)((double)*value * scale);
            }
    }
}

/* Normals or tangents of a part. */
static supple_result write_directions(room *r, spl_bake_part *part, bool tangent, supple_error *error)
{
    const spl_basis *basis = &r->bake->basis[part->instance];
    size_t total = 3 * (size_t)part->vertex_count, from = tangent ? r->kept->tangent : r->kept->normal;
    size_t first = from + 3 * (size_t)part->first_vertex;
    supple_result result = SUPPLE_OK;
    for (size_t at = 0; at < total && result == SUPPLE_OK; at += r->block_columns) {
        size_t n = total - at < r->block_columns ? total - at : r->block_columns;
        result = spl_basis_project(basis, &r->frames, first + at, n, r->pool, r->block, r->mean, r->component, error);
        if (result != SUPPLE_OK) break;
        make_unit(r, n, part->target_count);
        for (size_t i = 0; tangent && i < n; i++)
            spl_put_f32(part->base_tangent + 4 * (4 * ((at + i) / 3) + i % 3), r->mean[i], false);
        if (!tangent) result = put_floats(r, part->base + total + at, r->mean, n, error);
        if (result == SUPPLE_OK) result = put_components(r, part, (tangent ? 2 : 1) * total + at, n, error);
    }
    for (size_t v = 0; tangent && v < total / 3; v++)
        spl_put_f32(part->base_tangent + 16 * v + 12, r->kept->handed[(size_t)part->first_vertex + v], false);
    return result;
}

static supple_result write_parts(room *r, float *bounds, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    for (int32_t i = 0; i < r->bake->part_count && result == SUPPLE_OK; i++) {
        spl_bake_part *part = &r->bake->part[i];
        result = write_positions(r, part, bounds, error);
        if (result == SUPPLE_OK && part->normal) result = write_directions(r, part, false, error);
        if (result == SUPPLE_OK && part->tangent) result = write_directions(r, part, true, error);
    }
    return result;
}

supple_result spl_kept_write(spl_kept *kept, spl_bake *bake, spl_pool *pool, spl_output *bin, float *bounds,
                             double *largest, supple_error *error)
{
    const supple_allocator *a = &bake->allocator;
    room r = {.kept = kept, .bake = bake, .frames = frames_of(kept, bake->writer), .pool = pool, .bin = bin};
    size_t most = 0;
    for (int32_t i = 0; i < bake->part_count; i++)
        most = (size_t)bake->part[i].target_count > most ? (size_t)bake->part[i].target_count : most;
    r.block_columns = spl_basis_block(&r.frames);
    r.block = spl_new(a, (size_t)r.frames.count * r.block_columns, sizeof *r.block);
    r.mean = spl_new(a, r.block_columns, sizeof *r.mean);
    r.component = spl_new(a, most * r.block_columns, sizeof *r.component);
    supple_result result = SUPPLE_OK;
    if (!r.block || !r.mean || !r.component) result = spl_fail_memory(error, "the components");
    if (result == SUPPLE_OK) result = write_parts(&r, bounds, error);
    *largest = r.largest;
    spl_free(a, r.block);
    spl_free(a, r.mean);
    spl_free(a, r.component);
    /* What comes behind goes on through the stream. */
    off_t end = (off_t)(4 * ((uint64_t)bake->base_floats + bake->target_floats));
    if (result == SUPPLE_OK && fseeko(bin->stream, end, SEEK_SET) != 0)
        result = spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", bin->path, strerror(errno));
    return result;
}
