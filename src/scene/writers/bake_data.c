/* The output's one buffer: the spool of frames first, then pieces: the input's data that are still needed, each
 * accessor tightly in a view of its own, and new data. What only the skin used is gone.
 *
 * Extensions that we do not know may refer to accessors or views by number. If one seems to, all of the input's
 * accessors and views are kept under their old numbers. */
#include "core/error.h"
#include "core/memory.h"
#include "scene/document.h"
#include "scene/writers/bake.h"

#include <string.h>

enum { ARRAY_BUFFER = 34962, ELEMENT_ARRAY_BUFFER = 34963, UNSIGNED_SHORT = 5123, FLOAT = 5126 };

/* What an accessor is used for. */
enum { USED = 1, USED_BY_VERTICES = 2, USED_AS_INDICES = 4 };

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static json_t *make_view(spl_bake *b, uint64_t offset, uint64_t length, size_t stride, int target)
{
    json_t *view =
        json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)offset, "byteLength", (json_int_t)length);
    if (stride) spl_bake_set(b, view, "byteStride", json_integer((json_int_t)stride));
    if (target) spl_bake_set(b, view, "target", json_integer(target));
    return view;
}

/* Adds a piece and its view; returns the view's index, -1 if memory is out (an owned block is then freed). */
static int32_t add_piece(spl_bake *b, spl_bake_piece piece, int target)
{
    if (b->piece_count == b->piece_room) {
        size_t room = b->piece_room ? 2 * b->piece_room : 64;
        spl_bake_piece *grown = spl_resize(&b->allocator, b->piece, room, sizeof *grown);
        if (!grown) {
            spl_free(&b->allocator, piece.owned);
            return -1;
        }
        b->piece = grown;
        b->piece_room = room;
    }
    piece.offset = (size_t)b->size;
    b->piece[b->piece_count++] = piece;
    uint64_t length = (uint64_t)piece.count * piece.stride;
    size_t stride = target == ARRAY_BUFFER && piece.stride != piece.element ? piece.stride : 0;
    spl_bake_append(b, b->views, make_view(b, b->size, length, stride, target));
    b->size += (length + 3) & ~(uint64_t)3;
    return (int32_t)json_array_size(b->views) - 1;
}

/* The bytes of one of the input's views. */
static bool view_bytes(const spl_bake *b, int64_t index, const uint8_t **data, size_t *size, size_t *stride)
{
    const spl_document *document = b->scene->document;
    const json_t *list = json_object_get(document->json, "bufferViews");
    if (index < 0 || (size_t)index >= json_array_size(list)) return false;
    const json_t *view = json_array_get(list, (size_t)index);
    int64_t buffer = spl_bake_index(view, "buffer", (size_t)document->buffer_count);
    int64_t length = spl_bake_index(view, "byteLength", SIZE_MAX);
    int64_t offset = json_object_get(view, "byteOffset") ? spl_bake_index(view, "byteOffset", SIZE_MAX) : 0;
    int64_t step = json_object_get(view, "byteStride") ? spl_bake_index(view, "byteStride", 65536) : 0;
    if (buffer < 0 || length < 0 || offset < 0 || step < 0) return false;
    const spl_buffer *bytes = &document->buffer[buffer];
    if (!bytes->data || (uint64_t)offset > bytes->size || (uint64_t)length > bytes->size - (size_t)offset) return false;
    *data = bytes->data + offset;
    *size = (size_t)length;
    *stride = (size_t)step;
    return true;
}

/* Adds a view of the input as a whole; -1 if it is broken, -2 if memory is out. */
static int32_t keep_view(spl_bake *b, int64_t index)
{
    spl_bake_piece piece = {.count = 1};
    size_t stride;
    if (!view_bytes(b, index, &piece.source, &piece.element, &stride)) return -1;
    piece.stride = piece.element;
    int32_t view = add_piece(b, piece, 0);
    return view < 0 ? -2 : view;
}

/* ---- what is used ----------------------------------------------------------------------------------------------- */

static void mark(uint8_t *used, size_t count, const json_t *value, uint8_t how)
{
    json_int_t index = json_is_integer(value) ? json_integer_value(value) : -1;
    if (index >= 0 && (uint64_t)index < count) used[index] |= how;
}

static void mark_attributes(uint8_t *used, size_t count, json_t *attributes)
{
    const char *key;
    json_t *value;
    json_object_foreach(attributes, key, value) mark(used, count, value, USED | USED_BY_VERTICES);
}

static void mark_used(const spl_bake *b, uint8_t *used, size_t count)
{
    json_t *mesh, *primitive, *target, *animation, *sampler;
    size_t i, k, t;
    json_array_foreach(json_object_get(b->root, "meshes"), i, mesh)
    {
        json_array_foreach(json_object_get(mesh, "primitives"), k, primitive)
        {
            mark_attributes(used, count, json_object_get(primitive, "attributes"));
            mark(used, count, json_object_get(primitive, "indices"), USED | USED_AS_INDICES);
            json_array_foreach(json_object_get(primitive, "targets"), t, target) mark_attributes(used, count, target);
        }
    }
    json_array_foreach(json_object_get(b->root, "animations"), i, animation)
    {
        json_array_foreach(json_object_get(animation, "samplers"), k, sampler)
        {
            mark(used, count, json_object_get(sampler, "input"), USED);
            mark(used, count, json_object_get(sampler, "output"), USED);
        }
    }
    json_array_foreach(json_object_get(b->root, "skins"), i, mesh)
        mark(used, count, json_object_get(mesh, "inverseBindMatrices"), USED);
}

/* Whether something inside an extension looks like the number of an accessor or a view. */
static bool refers_to_data(json_t *value, bool inside_extension)
{
    static const char *const keys[] = {"bufferView", "bufferViews",  "accessor",     "accessors",
                                       "attributes", "indices",      "input",        "output",
                                       "values",     "arrayOffsets", "stringOffsets"};
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_array(value))
        json_array_foreach(value, i, item) if (refers_to_data(item, inside_extension)) return true;
    if (!json_is_object(value)) return false;
    json_object_foreach(value, key, item)
    {
        for (i = 0; inside_extension && i < sizeof keys / sizeof *keys; i++)
            if (strcmp(key, keys[i]) == 0) return true;
        if (strcmp(key, "extras") != 0 && refers_to_data(item, inside_extension || strcmp(key, "extensions") == 0))
            return true;
    }
    return false;
}

/* ---- accessors -------------------------------------------------------------------------------------------------- */

static size_t component_size(int64_t type)
{
    return type == 5120 || type == 5121 ? 1 : type == 5122 || type == 5123 ? 2 : type == 5125 || type == FLOAT ? 4 : 0;
}

/* Bytes of an element; columns of matrices start at multiples of 4. 0 if the accessor makes no sense. */
static size_t element_size(const json_t *accessor)
{
    static const struct {
        const char *name;
        size_t columns, rows;
    } types[] = {{"SCALAR", 1, 1}, {"VEC2", 1, 2}, {"VEC3", 1, 3}, {"VEC4", 1, 4},
                 {"MAT2", 2, 2},   {"MAT3", 3, 3}, {"MAT4", 4, 4}};
    const char *name = json_string_value(json_object_get(accessor, "type"));
    size_t size = component_size(spl_bake_index(accessor, "componentType", 65536));
    for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
        if (strcmp(name, types[i].name) == 0) {
            size_t column = types[i].rows * size;
            return types[i].columns == 1 ? column : types[i].columns * ((column + 3) & ~(size_t)3);
        }
    return 0;
}

/* Copies `count` elements from a place in a view into a view of their own, and points `object` there. */
static supple_result keep_elements(spl_bake *b, json_t *object, size_t count, size_t element, uint8_t how,
                                   int64_t accessor, supple_error *error)
{
    spl_bake_piece piece = {.count = count, .element = element};
    size_t size;
    int64_t offset = json_object_get(object, "byteOffset") ? spl_bake_index(object, "byteOffset", SIZE_MAX) : 0;
    bool ok = view_bytes(b, spl_bake_index(object, "bufferView", SIZE_MAX), &piece.source, &size, &piece.source_stride);
    if (!piece.source_stride) piece.source_stride = element;
    size_t span;
    ok = ok && element && count && offset >= 0 && (uint64_t)offset <= size &&
         spl_mul(count - 1, piece.source_stride, &span) && span <= size - (size_t)offset &&
         element <= size - (size_t)offset - span;
    if (!ok)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: accessor %d reaches outside its buffer", b->scene->path,
                        (int)accessor);
    piece.source += offset;
    piece.stride = how & USED_BY_VERTICES ? (element + 3) & ~(size_t)3 : element;
    int target = how & USED_BY_VERTICES ? ARRAY_BUFFER : how & USED_AS_INDICES ? ELEMENT_ARRAY_BUFFER : 0;
    int32_t view = add_piece(b, piece, target);
    if (view < 0) return spl_fail_memory(error, "the output's data");
    spl_bake_set(b, object, "bufferView", json_integer(view));
    json_object_del(object, "byteOffset");
    return SUPPLE_OK;
}

static supple_result keep_accessor(spl_bake *b, json_t *accessor, uint8_t how, int64_t index, supple_error *error)
{
    int64_t count = spl_bake_index(accessor, "count", SIZE_MAX);
    size_t element = element_size(accessor);
    supple_result result = SUPPLE_OK;
    if (json_object_get(accessor, "bufferView"))
        result = keep_elements(b, accessor, (size_t)(count > 0 ? count : 0), element, how, index, error);
    json_t *sparse = json_object_get(accessor, "sparse");
    if (!sparse || result != SUPPLE_OK) return result;
    json_t *indices = json_object_get(sparse, "indices"), *values = json_object_get(sparse, "values");
    int64_t some = spl_bake_index(sparse, "count", SIZE_MAX);
    size_t width = component_size(spl_bake_index(indices, "componentType", 65536));
    result = keep_elements(b, indices, (size_t)(some > 0 ? some : 0), width, USED, index, error);
    if (result != SUPPLE_OK) return result;
    return keep_elements(b, values, (size_t)(some > 0 ? some : 0), element, USED, index, error);
}

static void renumber(spl_bake *b, json_t *object, const char *key, const int32_t *number, size_t count)
{
    int64_t old = spl_bake_index(object, key, count);
    if (old >= 0) spl_bake_set(b, object, key, json_integer(number[old]));
}

static void renumber_attributes(spl_bake *b, json_t *attributes, const int32_t *number, size_t count)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(attributes, next, key, value) renumber(b, attributes, key, number, count);
}

static void renumber_all(spl_bake *b, const int32_t *number, size_t count)
{
    json_t *mesh, *primitive, *target, *animation, *sampler;
    size_t i, k, t;
    json_array_foreach(json_object_get(b->root, "meshes"), i, mesh)
    {
        json_array_foreach(json_object_get(mesh, "primitives"), k, primitive)
        {
            renumber_attributes(b, json_object_get(primitive, "attributes"), number, count);
            renumber(b, primitive, "indices", number, count);
            json_array_foreach(json_object_get(primitive, "targets"), t, target)
                renumber_attributes(b, target, number, count);
        }
    }
    json_array_foreach(json_object_get(b->root, "animations"), i, animation)
    {
        json_array_foreach(json_object_get(animation, "samplers"), k, sampler)
        {
            renumber(b, sampler, "input", number, count);
            renumber(b, sampler, "output", number, count);
        }
    }
    json_array_foreach(json_object_get(b->root, "skins"), i, mesh)
        renumber(b, mesh, "inverseBindMatrices", number, count);
}

/* Keeps the accessors that are used; old[] is the input's list, `used` how each is used. */
static supple_result keep_used(spl_bake *b, json_t *old, const uint8_t *used, int32_t *number, supple_error *error)
{
    json_t *accessor;
    size_t i;
    json_array_foreach(old, i, accessor)
    {
        number[i] = -1;
        if (!used[i]) continue;
        number[i] = (int32_t)json_array_size(b->accessors);
        supple_result result = keep_accessor(b, accessor, used[i], (int64_t)i, error);
        if (result != SUPPLE_OK) return result;
        if (json_array_append(b->accessors, accessor) != 0) b->failed = true;
    }
    renumber_all(b, number, json_array_size(old));
    return SUPPLE_OK;
}

/* Keeps all accessors and views under their numbers: only the views' places change. */
static supple_result keep_everything(spl_bake *b, json_t *accessors, json_t *views, supple_error *error)
{
    json_t *item;
    size_t i;
    json_array_foreach(accessors, i, item) if (json_array_append(b->accessors, item) != 0) b->failed = true;
    json_array_foreach(views, i, item)
    {
        int32_t view = keep_view(b, (int64_t)i);
        if (view == -1)
            return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: bufferView %zu is outside its buffer", b->scene->path, i);
        if (view < 0) return spl_fail_memory(error, "the output's data");
        json_t *made = json_array_get(b->views, (size_t)view);
        static const char *const carried[] = {"byteStride", "target", "name", "extras"};
        for (size_t k = 0; k < sizeof carried / sizeof *carried; k++) {
            json_t *value = json_object_get(item, carried[k]);
            if (value && json_object_set(made, carried[k], value) != 0) b->failed = true;
        }
    }
    return SUPPLE_OK;
}

/* ---- images ----------------------------------------------------------------------------------------------------- */

static const char *image_type(const spl_image *image, const json_t *json)
{
    static const uint8_t png[] = {0x89, 'P', 'N', 'G'}, jpeg[] = {0xff, 0xd8, 0xff};
    if (image->size > 4 && memcmp(image->data, png, sizeof png) == 0) return "image/png";
    if (image->size > 3 && memcmp(image->data, jpeg, sizeof jpeg) == 0) return "image/jpeg";
    if (image->size > 12 && memcmp(image->data, "RIFF", 4) == 0 && memcmp(image->data + 8, "WEBP", 4) == 0)
        return "image/webp";
    return json_string_value(json_object_get(json, "mimeType"));
}

/* Images go into the buffer as they are; one whose file was not found keeps its URI. */
static supple_result keep_images(spl_bake *b, bool everything, supple_error *error)
{
    json_t *json;
    size_t i;
    json_array_foreach(json_object_get(b->root, "images"), i, json)
    {
        if (i >= (size_t)b->scene->image_count) break;
        const spl_image *image = &b->scene->image[i];
        const char *type = image->data ? image_type(image, json) : NULL;
        bool in_view = json_object_get(json, "bufferView") != NULL;
        if (!image->data || image->size == 0 || !type || (in_view && everything)) continue;
        spl_bake_piece piece = {.source = image->data, .count = 1, .element = image->size, .stride = image->size};
        int32_t view = add_piece(b, piece, 0);
        if (view < 0) return spl_fail_memory(error, "the output's data");
        spl_bake_set(b, json, "mimeType", json_string(type));
        spl_bake_set(b, json, "bufferView", json_integer(view));
        json_object_del(json, "uri");
    }
    return SUPPLE_OK;
}

/* A broken image that pointed into the old views would point anywhere now. */
static void drop_lost_images(spl_bake *b, bool everything)
{
    json_t *json;
    size_t i;
    if (everything) return;
    json_array_foreach(json_object_get(b->root, "images"), i, json)
    {
        if (i < (size_t)b->scene->image_count && !b->scene->image[i].data) json_object_del(json, "bufferView");
    }
}

supple_result spl_bake_keep(spl_bake *b, supple_error *error)
{
    json_t *accessors = json_incref(spl_bake_list(b, "accessors")),
           *views = json_incref(spl_bake_list(b, "bufferViews"));
    size_t count = json_array_size(accessors);
    uint8_t *used = spl_new(&b->allocator, count, sizeof *used);
    int32_t *number = spl_new(&b->allocator, count, sizeof *number);
    bool everything = refers_to_data(b->root, false);
    spl_bake_set(b, b->root, "accessors", json_array());
    spl_bake_set(b, b->root, "bufferViews", json_array());
    b->accessors = json_object_get(b->root, "accessors");
    b->views = json_object_get(b->root, "bufferViews");
    supple_result result = used && number ? SUPPLE_OK : spl_fail_memory(error, "the output's data");
    /* The spool comes first in the buffer; its size is known. */
    b->size = b->area[3];
    if (result == SUPPLE_OK) {
        mark_used(b, used, count);
        result =
            everything ? keep_everything(b, accessors, views, error) : keep_used(b, accessors, used, number, error);
    }
    if (result == SUPPLE_OK) drop_lost_images(b, everything);
    if (result == SUPPLE_OK) result = keep_images(b, everything, error);
    json_decref(accessors);
    json_decref(views);
    spl_free(&b->allocator, used);
    spl_free(&b->allocator, number);
    return result;
}

/* ---- new data --------------------------------------------------------------------------------------------------- */

static json_t *make_accessor(int32_t view, uint64_t offset, size_t count, const char *type)
{
    return json_pack("{s:i, s:I, s:i, s:I, s:s}", "bufferView", (int)view, "byteOffset", (json_int_t)offset,
                     "componentType", (int)FLOAT, "count", (json_int_t)count, "type", type);
}

static size_t type_width(const char *type)
{
    return strcmp(type, "SCALAR") == 0 ? 1 : (size_t)(type[3] - '0');
}

int32_t spl_bake_floats(spl_bake *b, const float *values, size_t count, const char *type, bool bounds, bool vertex)
{
    size_t bytes = 4 * type_width(type);
    uint8_t *copy = spl_new(&b->allocator, count, bytes);
    if (!copy) return -1;
    for (size_t i = 0; values && i < count * bytes / 4; i++) spl_put_f32(copy + 4 * i, values[i], false);
    spl_bake_piece piece = {
        .source = copy, .owned = copy, .count = count, .element = bytes, .source_stride = bytes, .stride = bytes};
    int32_t view = add_piece(b, piece, vertex ? ARRAY_BUFFER : 0);
    if (view < 0) return -1;
    json_t *accessor = make_accessor(view, 0, count, type);
    if (bounds) {
        float low = values[0], high = values[0];
        for (size_t i = 0; i < count; i++) {
            low = values[i] < low ? values[i] : low;
            high = values[i] > high ? values[i] : high;
        }
        spl_bake_set(b, accessor, "min", json_pack("[f]", (double)low));
        spl_bake_set(b, accessor, "max", json_pack("[f]", (double)high));
    }
    spl_bake_append(b, b->accessors, accessor);
    return (int32_t)json_array_size(b->accessors) - 1;
}

int32_t spl_bake_shorts(spl_bake *b, const uint16_t *values, size_t count)
{
    uint8_t *copy = spl_new(&b->allocator, count, 8);
    if (!copy) return -1;
    for (size_t i = 0; i < 4 * count; i++) {
        copy[2 * i] = (uint8_t)(values[i] & 255);
        copy[2 * i + 1] = (uint8_t)(values[i] >> 8);
    }
    spl_bake_piece piece = {
        .source = copy, .owned = copy, .count = count, .element = 8, .source_stride = 8, .stride = 8};
    int32_t view = add_piece(b, piece, ARRAY_BUFFER);
    if (view < 0) return -1;
    json_t *accessor = make_accessor(view, 0, count, "VEC4");
    spl_bake_set(b, accessor, "componentType", json_integer(UNSIGNED_SHORT));
    spl_bake_append(b, b->accessors, accessor);
    return (int32_t)json_array_size(b->accessors) - 1;
}

/* An accessor to a row of the spool; one of width 0 is all zeros and takes no bytes. view[] is the area's. */
static json_t *spool_accessor(spl_bake *b, const int32_t *view, spl_bake_row row, int32_t count, json_t *attributes,
                              const char *name)
{
    json_t *accessor;
    if (row.width == 0) {
        accessor = json_pack("{s:i, s:i, s:s}", "componentType", (int)FLOAT, "count", (int)count, "type", "VEC3");
    } else {
        int area = spl_bake_area(row.width);
        accessor = make_accessor(view[area], row.offset - b->area[area], (size_t)count, "VEC3");
    }
    if (row.width == 1 || row.width == 2) {
        spl_bake_set(b, accessor, "componentType", json_integer(row.width == 1 ? 5120 : 5122));
        spl_bake_set(b, accessor, "normalized", json_true());
    }
    spl_bake_append(b, b->accessors, accessor);
    spl_bake_set(b, attributes, name, json_integer((json_int_t)json_array_size(b->accessors) - 1));
    return accessor;
}

static void add_base_tangent(spl_bake *b, spl_bake_part *part, json_t *attributes)
{
    int32_t accessor = spl_bake_floats(b, NULL, (size_t)part->vertex_count, "VEC4", false, true);
    if (accessor < 0) {
        b->failed = true;
        return;
    }
    part->base_tangent = b->piece[b->piece_count - 1].owned;
    spl_bake_set(b, attributes, "TANGENT", json_integer(accessor));
}

/* The triangles of a mirrored part, each turned round. */
static void add_turned_indices(spl_bake *b, const spl_bake_part *part)
{
    const spl_mesh *mesh = &b->scene->mesh[b->scene->instance[part->instance].mesh];
    const spl_primitive *p = &mesh->primitive[part->primitive];
    size_t count = 3 * (size_t)p->triangle_count;
    uint8_t *bytes = spl_new(&b->allocator, count, 4);
    for (size_t i = 0; bytes && i < count; i++) {
        static const size_t turned[3] = {0, 2, 1};
        spl_put_u32(bytes + 4 * i, (uint32_t)p->triangle[i / 3 * 3 + turned[i % 3]], false);
    }
    spl_bake_piece piece = {
        .source = bytes, .owned = bytes, .count = count, .element = 4, .source_stride = 4, .stride = 4};
    int32_t view = bytes ? add_piece(b, piece, ELEMENT_ARRAY_BUFFER) : -1;
    if (view < 0) {
        b->failed = true;
        return;
    }
    json_t *accessor = make_accessor(view, 0, count, "SCALAR");
    spl_bake_set(b, accessor, "componentType", json_integer(5125));
    spl_bake_append(b, b->accessors, accessor);
    spl_bake_set(b, part->json, "indices", json_integer((json_int_t)json_array_size(b->accessors) - 1));
}

/* The accessors of one part: the base shape, then the targets. */
static void add_part(spl_bake *b, spl_bake_part *part, const int32_t *view)
{
    static const char *const names[3] = {"POSITION", "NORMAL", "TANGENT"};
    json_t *attributes = json_object_get(part->json, "attributes");
    int32_t n = part->vertex_count;
    spl_bake_row base = {4, 4 * (uint64_t)part->base};
    b->bounded[part->bound] = spool_accessor(b, view, base, n, attributes, "POSITION");
    base.offset += 12 * (uint64_t)n;
    if (part->normal) spool_accessor(b, view, base, n, attributes, "NORMAL");
    if (part->tangent) add_base_tangent(b, part, attributes);
    if (part->mirrored) add_turned_indices(b, part);
    if (part->target_count == 0) return;
    json_t *targets = json_array();
    for (size_t k = 0; k < (size_t)part->target_count; k++) {
        json_t *target = json_object();
        for (int i = 0; i < 3; i++) {
            if (!spl_bake_has(part, i)) continue;
            json_t *made = spool_accessor(b, view, b->row[part->row + 3 * k + (size_t)i], n, target, names[i]);
            if (i == 0) b->bounded[part->bound + 1 + k] = made;
        }
        spl_bake_append(b, targets, target);
    }
    spl_bake_set(b, part->json, "targets", targets);
}

/* Names and default weights of a mesh's targets: without its animation it shows the first frame. */
static void add_weights(spl_bake *b, json_t *mesh, int32_t instance)
{
    json_t *names = json_array(), *weights = json_array();
    for (int32_t k = 0; k < spl_bake_target_count(b, instance); k++) {
        spl_bake_append(b, names, json_sprintf(b->basis ? "component %04d" : "frame %04d", (int)k));
        spl_bake_append(b, weights, json_real(b->basis ? (double)spl_basis_weight(&b->basis[instance], 0, k) : 0));
    }
    spl_bake_set(b, mesh, "weights", weights);
    if (!json_is_object(json_object_get(mesh, "extras"))) spl_bake_set(b, mesh, "extras", json_object());
    spl_bake_set(b, json_object_get(mesh, "extras"), "targetNames", names);
}

supple_result spl_bake_parts(spl_bake *b, supple_error *error)
{
    if (b->part_count == 0) return SUPPLE_OK;
    b->bounded = spl_new(&b->allocator, b->bounded_count, sizeof *b->bounded);
    if (!b->bounded) return spl_fail_memory(error, "the output's document");
    int32_t view[3] = {-1, -1, -1};
    for (int area = 0; area < 3; area++) {
        uint64_t bytes = b->area[area + 1] - b->area[area];
        size_t stride = area == 0 ? 12 : area == 1 ? 8 : 4;
        if (bytes == 0) continue;
        view[area] = (int32_t)json_array_size(b->views);
        spl_bake_append(b, b->views, make_view(b, b->area[area], bytes, stride, ARRAY_BUFFER));
    }
    for (int32_t i = 0; i < b->part_count; i++) add_part(b, &b->part[i], view);
    json_t *meshes = json_object_get(b->root, "meshes"), *nodes = json_object_get(b->root, "nodes");
    for (int32_t i = 0; i < b->scene->instance_count; i++) {
        int32_t node = b->scene->instance[i].node;
        if (!b->baked[node] || spl_bake_target_count(b, i) == 0) continue;
        json_t *json = json_array_get(nodes, (size_t)b->number[node]);
        int64_t mesh = spl_bake_index(json, "mesh", json_array_size(meshes));
        add_weights(b, json_array_get(meshes, (size_t)mesh), i);
        double unit = b->basis ? b->basis[i].unit : 1;
        if (unit != 1) spl_bake_set(b, json, "scale", json_pack("[f,f,f]", unit, unit, unit));
    }
    return b->failed ? spl_fail_memory(error, "the output's document") : SUPPLE_OK;
}

/* ---- extensions ------------------------------------------------------------------------------------------------- */

/* Whether an attribute has a type that the core of glTF does not allow for it. */
static bool is_quantized(const json_t *accessors, const char *name, const json_t *value)
{
    const json_t *accessor = json_array_get(accessors, (size_t)json_integer_value(value));
    int64_t type = spl_bake_index(accessor, "componentType", 65536);
    bool vector = strcmp(name, "POSITION") == 0 || strcmp(name, "NORMAL") == 0 || strcmp(name, "TANGENT") == 0;
    bool coordinate = strncmp(name, "TEXCOORD_", 9) == 0;
    bool core = type == FLOAT ||
                (coordinate && (type == 5121 || type == 5123) && json_is_true(json_object_get(accessor, "normalized")));
    return (vector || coordinate) && !core;
}

static bool any_quantized(const spl_bake *b, json_t *attributes)
{
    const char *key;
    json_t *value;
    json_object_foreach(attributes, key, value) if (is_quantized(b->accessors, key, value)) return true;
    return false;
}

static bool uses_quantization(const spl_bake *b)
{
    json_t *mesh, *primitive, *target;
    size_t i, k, t;
    json_array_foreach(json_object_get(b->root, "meshes"), i, mesh)
    {
        json_array_foreach(json_object_get(mesh, "primitives"), k, primitive)
        {
            if (any_quantized(b, json_object_get(primitive, "attributes"))) return true;
            json_array_foreach(json_object_get(primitive, "targets"), t,
                               target) if (any_quantized(b, target)) return true;
        }
    }
    return false;
}

/* Whether an extension stands anywhere in the document. */
static bool stands_in(json_t *value, const char *name)
{
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_array(value)) json_array_foreach(value, i, item) if (stands_in(item, name)) return true;
    if (!json_is_object(value)) return false;
    if (json_object_get(json_object_get(value, "extensions"), name)) return true;
    json_object_foreach(value, key, item) if (stands_in(item, name)) return true;
    return false;
}

static void drop_from_list(json_t *root, const char *list_name, const char *name)
{
    json_t *list = json_object_get(root, list_name);
    for (size_t i = json_array_size(list); i-- > 0;) {
        const char *item = json_string_value(json_array_get(list, i));
        if (item && strcmp(item, name) == 0) json_array_remove(list, i);
    }
    if (list && json_array_size(list) == 0) json_object_del(root, list_name);
}

/* Names an extension in a list of the root, once. */
static void add_to_list(spl_bake *b, const char *list_name, const char *name)
{
    json_t *list = spl_bake_list(b, list_name), *item;
    size_t i;
    json_array_foreach(list, i,
                       item) if (strcmp(json_string_value(item) ? json_string_value(item) : "", name) == 0) return;
    spl_bake_append(b, list, json_string(name));
}

void spl_bake_extensions(spl_bake *b)
{
    static const char *const gone[] = {"KHR_mesh_quantization", "KHR_draco_mesh_compression",
                                       "EXT_meshopt_compression"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        bool used = i == 0 ? uses_quantization(b) : stands_in(b->root, gone[i]);
        for (int list = 0; i == 0 && used && list < 2; list++)
            add_to_list(b, list ? "extensionsRequired" : "extensionsUsed", gone[i]);
        if (used) continue;
        drop_from_list(b->root, "extensionsUsed", gone[i]);
        drop_from_list(b->root, "extensionsRequired", gone[i]);
    }
}
