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

static void measure(spl_kept *kept, const supple_writer *writer, const supple_frame *frame)
{
    size_t n = (size_t)writer->scene->vertex_count;
    bool first = writer->frames_done == 0;
    for (size_t i = 0; i < 3 * n; i++) {
        float x = frame->position[i];
        if ((first && i < 3) || x < kept->low[i % 3]) kept->low[i % 3] = x;
        if ((first && i < 3) || x > kept->high[i % 3]) kept->high[i % 3] = x;
    }
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += pow((double)kept->high[c] - (double)kept->low[c], 2);
    kept->diagonal = sqrt(sum);
    for (size_t v = 0; first && kept->tangent && v < n; v++) kept->handed[v] = frame->tangent[4 * v + 3];
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
    measure(kept, writer, frame);
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
                               .most = SPL_BAKE_MAX_COMPONENTS,
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
    float *block, *mean, *component, *steady;
    double largest;
} room;

/* Bytes to a place of the output. */
static supple_result put_bytes(const room *r, uint64_t at, const uint8_t *bytes, size_t count, supple_error *error)
{
    for (size_t sent = 0; sent < count;) {
        ssize_t k = pwrite(fileno(r->bin->stream), bytes + sent, count - sent, (off_t)(at + sent));
        if (k < 0 && errno == EINTR) continue;
        if (k < 0)
            return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", r->bake->writer->path,
                            strerror(errno));
        sent += (size_t)k;
    }
    return SUPPLE_OK;
}

/* Rows of three numbers of a width to a place of the output; integers come as whole floats. */
static supple_result put_rows(const room *r, uint64_t at, int width, const float *values, size_t count,
                              supple_error *error)
{
    enum { ROWS = 512 };
    uint8_t bytes[12 * ROWS];
    size_t stride = spl_bake_stride(width);
    for (size_t done = 0; done < count / 3;) {
        size_t n = count / 3 - done < ROWS ? count / 3 - done : ROWS;
        memset(bytes, 0, n * stride);
        for (size_t i = 0; i < 3 * n; i++) {
            float x = values[3 * done + i];
            uint8_t *to = bytes + i / 3 * stride + i % 3 * (size_t)width, word[4];
            spl_put_f32(word, x, false);
            if (width != 4) spl_put_u32(word, (uint32_t)(int32_t)x, false);
            memcpy(to, word, (size_t)width);
        }
        supple_result result = put_bytes(r, at + done * stride, bytes, n * stride, error);
        if (result != SUPPLE_OK) return result;
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

/* Puts a block of an attribute's components, `at` floats into the rows. */
static supple_result put_components(const room *r, const spl_bake_part *part, int attribute, size_t at, size_t columns,
                                    supple_error *error)
{
    supple_result result = SUPPLE_OK;
    size_t count = (size_t)r->bake->basis[part->instance].count;
    for (size_t k = 0; k < (size_t)part->target_count && result == SUPPLE_OK; k++) {
        spl_bake_row row = r->bake->row[part->row + 3 * k + (size_t)attribute];
        const float *rows = k < count ? r->component + k * columns : r->steady;
        if (row.width)
            result = put_rows(r, row.offset + at / 3 * spl_bake_stride(row.width), row.width, rows, columns, error);
    }
    return result;
}

/* Weights are written from 0 to 1: component k is written `range` times as large, and the base shape has all of them at
 * their smallest weight. Components that are not stored stay at their average. */
static void make_base(const room *r, const spl_basis *basis, int attribute, size_t columns)
{
    for (size_t k = 0; k < (size_t)basis->count; k++) {
        if (basis->kind[3 * k + (size_t)attribute] == 0) continue;
        for (size_t c = 0; c < columns; c++)
            r->mean[c] += (float)(basis->low[k] * (double)r->component[k * columns + c]);
    }
}

/* What a component is multiplied by to be stored. */
static double stored_scale(const spl_basis *basis, size_t k, int attribute)
{
    static const double whole[5] = {1, 127, 32767, 1, 1};
    return basis->range[k] / (attribute ? 1 : basis->unit) * whole[basis->kind[3 * k + (size_t)attribute]];
}

/* Positions become what a viewer will read: rounded to shorts where they are stored so. */
static void round_positions(const room *r, const spl_basis *basis, size_t columns)
{
    for (size_t k = 0; k < (size_t)basis->count; k++) {
        double scale = stored_scale(basis, k, 0);
        float *x = r->component + k * columns;
        for (size_t c = 0; basis->kind[3 * k] == 2 && c < columns; c++)
            x[c] = (float)(rint(fmin(fmax((double)x[c] * scale, -32767), 32767)) / scale);
    }
}

/* Components as the numbers of the file; integers are whole. */
static void store_components(const room *r, const spl_basis *basis, int attribute, size_t columns)
{
    for (size_t k = 0; k < (size_t)basis->count; k++) {
        double scale = stored_scale(basis, k, attribute);
        float *x = r->component + k * columns;
        bool whole = basis->kind[3 * k + (size_t)attribute] < 4;
        for (size_t c = 0; c < columns; c++) {
            double value = (double)x[c] * scale;
            x[c] = (float)(whole ? rint(value) : value);
        }
    }
}

/* Makes directions of the base unit vectors, as glTF asks, and everything as much longer or shorter: viewers normalise
 * the sum, so it points where it pointed. Components must not exceed 1 once they are multiplied by their range; where
 * that asks for more than the base does, the steady target takes off what the base has too much. */
static void make_unit(const room *r, const spl_basis *basis, int attribute, size_t columns)
{
    make_base(r, basis, attribute, columns);
    for (size_t c = 0; c < columns; c += 3) {
        float *m = r->mean + c;
        double x = (double)m[0], y = (double)m[1], z = (double)m[2], length = sqrt(x * x + y * y + z * z);
        double most = fmax(length, 1e-3);
        for (size_t k = 0; k < (size_t)basis->count; k++)
            for (size_t i = 0; basis->kind[3 * k + (size_t)attribute] && i < 3; i++)
                most = fmax(most, basis->range[k] * fabs((double)r->component[k * columns + c + i]));
        m[0] = (float)(length > 0 ? x / length : 0);
        m[1] = (float)(length > 0 ? y / length : 1);
        m[2] = (float)(length > 0 ? z / length : 0);
        for (size_t i = 0; i < 3; i++) r->steady[c + i] = (float)rint(127 * (double)m[i] * (length / most - 1));
        for (size_t k = 0; k < (size_t)basis->count; k++)
            for (size_t i = 0; i < 3; i++) {
                float *value = &r->component[k * columns + c + i];
                *value = (float)((double)*value / most);
            }
    }
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
        round_positions(r, basis, n);
        r->largest = fmax(r->largest, spl_basis_measure(basis, r->block, n, r->component));
        make_base(r, basis, 0, n);
        for (size_t c = 0; c < n; c++) r->mean[c] = (float)((double)r->mean[c] / basis->unit);
        store_components(r, basis, 0, n);
        float *box = bounds + 6 * part->bound;
        widen(box, r->mean, n, at == 0);
        for (size_t k = 0; k < (size_t)basis->count; k++) widen(box + 6 * (k + 1), r->component + k * n, n, at == 0);
        result = put_rows(r, 4 * (uint64_t)(part->base + at), 4, r->mean, n, error);
        if (result == SUPPLE_OK) result = put_components(r, part, 0, at, n, error);
    }
    return result;
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
        make_unit(r, basis, tangent ? 2 : 1, n);
        store_components(r, basis, tangent ? 2 : 1, n);
        for (size_t i = 0; tangent && i < n; i++)
            spl_put_f32(part->base_tangent + 4 * (4 * ((at + i) / 3) + i % 3), r->mean[i], false);
        if (!tangent) result = put_rows(r, 4 * (uint64_t)(part->base + total + at), 4, r->mean, n, error);
        if (result == SUPPLE_OK) result = put_components(r, part, tangent ? 2 : 1, at, n, error);
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

/* ---- how they are stored ---------------------------------------------------------------------------------------- */

/* What is known of an attribute's components before they are stored: their largest number, and the sum of squares. */
typedef struct extent {
    double largest, sum;
} extent;

static void add_extents(const float *component, size_t columns, size_t count, extent *extents)
{
    for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < columns; c++) {
            double x = (double)component[k * columns + c];
            extents[3 * k].largest = fmax(extents[3 * k].largest, fabs(x));
            extents[3 * k].sum += x * x;
        }
}

/* Looks at the components of an attribute, over the parts of an instance. */
static supple_result find_extents(const room *r, const spl_basis *basis, int32_t instance, int attribute,
                                  extent *extents, supple_error *error)
{
    const size_t from[3] = {0, r->kept->normal, r->kept->tangent};
    for (int32_t i = 0; i < r->bake->part_count; i++) {
        const spl_bake_part *part = &r->bake->part[i];
        size_t total = 3 * (size_t)part->vertex_count, first = from[attribute] + 3 * (size_t)part->first_vertex;
        if (part->instance != instance || !spl_bake_has(part, attribute)) continue;
        for (size_t at = 0; at < total; at += r->block_columns) {
            size_t n = total - at < r->block_columns ? total - at : r->block_columns;
            supple_result result =
                spl_basis_project(basis, &r->frames, first + at, n, r->pool, r->block, r->mean, r->component, error);
            if (result != SUPPLE_OK) return result;
            add_extents(r->component, n, (size_t)basis->count, extents + attribute);
        }
    }
    return SUPPLE_OK;
}

/* Components that hardly turn the directions are left out, the last first, as long as all that is left out turns them
 * by less than LEFT_OUT, root mean square. */
static void drop_directions(spl_basis *basis, int attribute, const extent *extents, double vertices)
{
    const double LEFT_OUT = 0.03;
    double sum = 0;
    for (int32_t k = basis->count; k-- > 0;) {
        double frames = 1 / (basis->inverse[k] * basis->frame_count); /* mean square of the weights */
        sum += extents[3 * k + attribute].sum / vertices * frames;
        if (!(sum <= LEFT_OUT * LEFT_OUT)) return;
        basis->kind[3 * k + attribute] = 0;
    }
}

/* A short rounds by 1 / 65534 of what 1 stands for, of which a fiftieth of the allowed error is left. Components that
 * are larger stay floats. */
static supple_result quantise(const room *r, spl_basis *basis, int32_t instance, extent *extents, supple_error *error)
{
    double bound = r->bake->writer->glb_error * r->kept->diagonal;
    supple_result result = SUPPLE_OK;
    for (int attribute = 0; attribute < 3 && result == SUPPLE_OK; attribute++)
        result = find_extents(r, basis, instance, attribute, extents, error);
    if (result != SUPPLE_OK || !(bound > 0)) return result;
    basis->unit = (double)(float)(0.02 * 65534 * bound);
    for (int32_t k = 0; k < basis->count; k++) {
        basis->kind[3 * k] = extents[3 * k].largest * basis->range[k] <= basis->unit ? 2 : 4;
        basis->kind[3 * k + 1] = basis->kind[3 * k + 2] = 1;
    }
    for (int32_t i = 0; i < r->bake->part_count; i++)
        if (r->bake->part[i].instance == instance && r->bake->part[i].normal) basis->steady = true;
    for (int attribute = 1; attribute < 3; attribute++)
        drop_directions(basis, attribute, extents, (double)r->bake->scene->instance[instance].vertex_count);
    return SUPPLE_OK;
}

static supple_result make_room(room *r, size_t components, supple_error *error)
{
    const supple_allocator *a = &r->bake->allocator;
    r->frames = frames_of(r->kept, r->bake->writer);
    r->block_columns = spl_basis_block(&r->frames);
    r->block = spl_new(a, (size_t)r->frames.count * r->block_columns, sizeof *r->block);
    r->mean = spl_new(a, r->block_columns, sizeof *r->mean);
    r->steady = spl_new(a, r->block_columns, sizeof *r->steady);
    r->component = spl_new(a, components * r->block_columns, sizeof *r->component);
    return r->block && r->mean && r->steady && r->component ? SUPPLE_OK : spl_fail_memory(error, "the components");
}

static void free_room(room *r)
{
    const supple_allocator *a = &r->bake->allocator;
    spl_free(a, r->block);
    spl_free(a, r->mean);
    spl_free(a, r->steady);
    spl_free(a, r->component);
}

supple_result spl_kept_quantise(spl_kept *kept, spl_bake *bake, spl_pool *pool, spl_basis *basis, supple_error *error)
{
    room r = {.kept = kept, .bake = bake, .pool = pool};
    extent *extents = spl_new(&bake->allocator, 3 * SPL_BAKE_MAX_COMPONENTS, sizeof *extents);
    supple_result result = make_room(&r, SPL_BAKE_MAX_COMPONENTS, error);
    if (result == SUPPLE_OK && !extents) result = spl_fail_memory(error, "the components");
    for (int32_t i = 0; i < bake->scene->instance_count && result == SUPPLE_OK; i++) {
        if (basis[i].count == 0) continue;
        memset(extents, 0, 3 * SPL_BAKE_MAX_COMPONENTS * sizeof *extents);
        result = quantise(&r, &basis[i], i, extents, error);
    }
    spl_free(&bake->allocator, extents);
    free_room(&r);
    return result;
}

supple_result spl_kept_write(spl_kept *kept, spl_bake *bake, spl_pool *pool, spl_output *bin, float *bounds,
                             double *largest, supple_error *error)
{
    room r = {.kept = kept, .bake = bake, .pool = pool, .bin = bin};
    supple_result result = make_room(&r, SPL_BAKE_MAX_COMPONENTS, error);
    if (result == SUPPLE_OK) result = write_parts(&r, bounds, error);
    *largest = r.largest;
    free_room(&r);
    /* What comes behind goes on through the stream. */
    if (result == SUPPLE_OK && fseeko(bin->stream, (off_t)bake->area[3], SEEK_SET) != 0)
        result = spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", bin->path, strerror(errno));
    return result;
}
