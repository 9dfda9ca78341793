/* Accessors (glTF 2.0, section 3.6.2). Every offset, stride and count is checked against the buffers before an element
 * is touched; bytes are put together one by one, so neither alignment nor the machine's byte order matters. */
#include "scene/readers/gltf_private.h"

#include <string.h>

static int32_t component_size(int32_t component)
{
    switch (component) {
    case SPL_GLTF_BYTE:
    case SPL_GLTF_UBYTE:
        return 1;
    case SPL_GLTF_SHORT:
    case SPL_GLTF_USHORT:
        return 2;
    case SPL_GLTF_UINT:
    case SPL_GLTF_FLOAT:
        return 4;
    default:
        return 0;
    }
}

static uint32_t raw_bits(const uint8_t *p, int32_t size)
{
    uint32_t bits = p[0];
    if (size > 1) bits |= (uint32_t)p[1] << 8;
    if (size > 2) bits |= (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    return bits;
}

/* Normalised integers: f = max(c / max, -1) (section 3.11, "Animations", and section 3.6.2.2). */
static float component_value(const uint8_t *p, int32_t component, bool normalized)
{
    uint32_t bits = raw_bits(p, component_size(component));
    double value = 0, largest = 1;
    switch (component) {
    case SPL_GLTF_FLOAT: {
        float f;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    case SPL_GLTF_BYTE:
        value = (int8_t)bits;
        largest = INT8_MAX;
        break;
    case SPL_GLTF_UBYTE:
        value = (uint8_t)bits;
        largest = UINT8_MAX;
        break;
    case SPL_GLTF_SHORT:
        value = (int16_t)bits;
        largest = INT16_MAX;
        break;
    case SPL_GLTF_USHORT:
        value = (uint16_t)bits;
        largest = UINT16_MAX;
        break;
    default:
        value = bits;
        largest = UINT32_MAX;
    }
    if (!normalized) return (float)value;
    value /= largest;
    return (float)(value < -1 ? -1 : value);
}

bool spl_gltf_view(spl_gltf *g, const char *kind, int32_t at, int32_t view, size_t offset, size_t element_size,
                   size_t count, const uint8_t **data, size_t *stride)
{
    const spl_document *document = g->scene->document;
    const json_t *object = json_array_get(json_object_get(g->root, "bufferViews"), (size_t)view);
    size_t start, length;
    int32_t buffer;
    if (!json_is_object(object)) return spl_gltf_fail(g, "bufferView %d is not an object", view);
    if (!spl_gltf_index(g, object, "buffer", document->buffer_count, "bufferView", view, &buffer) ||
        !spl_gltf_size(g, object, "byteOffset", 0, "bufferView", view, &start) ||
        !spl_gltf_size(g, object, "byteLength", 0, "bufferView", view, &length) ||
        !spl_gltf_size(g, object, "byteStride", 0, "bufferView", view, stride))
        return false;
    if (buffer < 0) return spl_gltf_fail(g, "bufferView %d names no buffer", view);
    const spl_buffer *b = &document->buffer[buffer];
    if (!b->data) return spl_gltf_fail(g, "buffer %d has no data; the file is incomplete", buffer);
    if (start > b->size || length > b->size - start)
        return spl_gltf_fail(g, "bufferView %d goes beyond the end of buffer %d; the file is damaged", view, buffer);
    if (*stride == 0) *stride = element_size;
    if (offset > length) return spl_gltf_fail(g, "%s %d starts beyond the end of bufferView %d", kind, at, view);
    *data = b->data + start + offset;
    if (count == 0) return true;
    size_t room = length - offset;
    if (element_size > room || count - 1 > (room - element_size) / *stride)
        return spl_gltf_fail(g, "%s %d: %zu elements do not fit bufferView %d of %zu bytes; the file is damaged", kind,
                             at, count, view, length);
    return true;
}

static bool read_shape(spl_gltf *g, const json_t *object, spl_accessor *a)
{
    static const struct {
        const char *name;
        int32_t columns, rows;
    } shapes[] = {{"SCALAR", 1, 1}, {"VEC2", 1, 2}, {"VEC3", 1, 3}, {"VEC4", 1, 4},
                  {"MAT2", 2, 2},   {"MAT3", 3, 3}, {"MAT4", 4, 4}};
    const char *type = json_string_value(json_object_get(object, "type"));
    for (size_t i = 0; type && i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(type, shapes[i].name) == 0) {
            a->columns = shapes[i].columns;
            a->rows = shapes[i].rows;
        }
    if (!a->columns) return spl_gltf_fail(g, "accessor %d has no known type", a->index);
    a->component = (int32_t)json_integer_value(json_object_get(object, "componentType"));
    int32_t size = component_size(a->component);
    if (!size) return spl_gltf_fail(g, "accessor %d has no known component type", a->index);
    a->normalized = json_is_true(json_object_get(object, "normalized"));
    a->width = a->columns * a->rows;
    int32_t column = a->rows * size;
    if (a->columns > 1) column = (column + 3) & ~3; /* columns of matrices start at multiples of 4 bytes */
    a->element_size = (size_t)(a->columns * column);
    return true;
}

/* Elements of a sparse accessor, which lie tightly packed: the standard allows its views no stride, and one below an
 * element's size would make fewer bytes enough for the check than are read. */
static bool packed_view(spl_gltf *g, int32_t accessor, int32_t view, size_t offset, size_t element_size, size_t count,
                        const uint8_t **data)
{
    size_t stride;
    if (json_object_get(json_array_get(json_object_get(g->root, "bufferViews"), (size_t)view), "byteStride"))
        return spl_gltf_fail(g, "accessor %d is sparse, and bufferView %d of its elements has a byteStride", accessor,
                             view);
    return spl_gltf_view(g, "accessor", accessor, view, offset, element_size, count, data, &stride);
}

/* Replaced elements: `sparse_count` indices and as many values, each from its own view, tightly packed. */
static bool read_sparse(spl_gltf *g, const json_t *sparse, spl_accessor *a, int32_t view_count)
{
    const json_t *indices = json_object_get(sparse, "indices"), *values = json_object_get(sparse, "values");
    int32_t index_view, value_view;
    size_t index_offset, value_offset;
    if (!json_is_object(indices) || !json_is_object(values))
        return spl_gltf_fail(g, "accessor %d: \"sparse\" is incomplete", a->index);
    if (!spl_gltf_size(g, sparse, "count", 0, "sparse accessor", a->index, &a->sparse_count) ||
        !spl_gltf_index(g, indices, "bufferView", view_count, "sparse accessor", a->index, &index_view) ||
        !spl_gltf_size(g, indices, "byteOffset", 0, "sparse accessor", a->index, &index_offset) ||
        !spl_gltf_index(g, values, "bufferView", view_count, "sparse accessor", a->index, &value_view) ||
        !spl_gltf_size(g, values, "byteOffset", 0, "sparse accessor", a->index, &value_offset))
        return false;
    a->sparse_component = (int32_t)json_integer_value(json_object_get(indices, "componentType"));
    int32_t size = component_size(a->sparse_component);
    bool is_unsigned = a->sparse_component == SPL_GLTF_UBYTE || a->sparse_component == SPL_GLTF_USHORT ||
                       a->sparse_component == SPL_GLTF_UINT;
    if (!is_unsigned || index_view < 0 || value_view < 0 || a->sparse_count > a->count)
        return spl_gltf_fail(g, "accessor %d: \"sparse\" is malformed", a->index);
    if (!packed_view(g, a->index, index_view, index_offset, (size_t)size, a->sparse_count, &a->sparse_index) ||
        !packed_view(g, a->index, value_view, value_offset, a->element_size, a->sparse_count, &a->sparse_value))
        return false;
    for (size_t i = 0; i < a->sparse_count; i++)
        if (raw_bits(a->sparse_index + i * (size_t)size, size) >= a->count)
            return spl_gltf_fail(g, "accessor %d: a sparse index is beyond its %zu elements", a->index, a->count);
    return true;
}

bool spl_gltf_accessor(spl_gltf *g, int32_t index, spl_accessor *out)
{
    *out = (spl_accessor){.index = index};
    const json_t *object = json_array_get(json_object_get(g->root, "accessors"), (size_t)index);
    int32_t view_count = (int32_t)json_array_size(json_object_get(g->root, "bufferViews")), view;
    size_t offset;
    if (!json_is_object(object)) return spl_gltf_fail(g, "accessor %d is not an object", index);
    if (!read_shape(g, object, out) || !spl_gltf_size(g, object, "count", 0, "accessor", index, &out->count) ||
        !spl_gltf_size(g, object, "byteOffset", 0, "accessor", index, &offset) ||
        !spl_gltf_index(g, object, "bufferView", view_count, "accessor", index, &view))
        return false;
    if (out->count > INT32_MAX / 4) return spl_gltf_fail(g, "accessor %d claims %zu elements", index, out->count);
    out->stride = out->element_size;
    if (view >= 0 &&
        !spl_gltf_view(g, "accessor", index, view, offset, out->element_size, out->count, &out->data, &out->stride))
        return false;
    const json_t *sparse = json_object_get(object, "sparse");
    return sparse ? read_sparse(g, sparse, out, view_count) : true;
}

static void decode_floats(const spl_accessor *a, const uint8_t *element, float *out)
{
    int32_t size = component_size(a->component);
    size_t column = a->element_size / (size_t)a->columns;
    for (int32_t c = 0; c < a->columns; c++)
        for (int32_t r = 0; r < a->rows; r++)
            *out++ = component_value(element + (size_t)c * column + (size_t)(r * size), a->component, a->normalized);
}

static size_t sparse_target(const spl_accessor *a, size_t i)
{
    int32_t size = component_size(a->sparse_component);
    return raw_bits(a->sparse_index + i * (size_t)size, size);
}

float *spl_gltf_floats(spl_gltf *g, const spl_accessor *a)
{
    size_t width = (size_t)a->width;
    float *out = spl_gltf_new(g, a->count * width, sizeof *out, "numbers");
    if (!out) return NULL;
    for (size_t i = 0; a->data && i < a->count; i++) decode_floats(a, a->data + i * a->stride, out + i * width);
    for (size_t i = 0; i < a->sparse_count; i++)
        decode_floats(a, a->sparse_value + i * a->element_size, out + sparse_target(a, i) * width);
    return out;
}

uint32_t *spl_gltf_uints(spl_gltf *g, const spl_accessor *a)
{
    if (a->component != SPL_GLTF_UBYTE && a->component != SPL_GLTF_USHORT && a->component != SPL_GLTF_UINT) {
        spl_gltf_fail(g, "accessor %d holds indices but is not of unsigned integers", a->index);
        return NULL;
    }
    int32_t size = component_size(a->component);
    size_t width = (size_t)a->width;
    uint32_t *out = spl_gltf_new(g, a->count * width, sizeof *out, "indices");
    if (!out) return NULL;
    for (size_t i = 0; a->data && i < a->count; i++)
        for (size_t c = 0; c < width; c++)
            out[i * width + c] = raw_bits(a->data + i * a->stride + c * (size_t)size, size);
    for (size_t i = 0; i < a->sparse_count; i++)
        for (size_t c = 0; c < width; c++)
            out[sparse_target(a, i) * width + c] =
                raw_bits(a->sparse_value + i * a->element_size + c * (size_t)size, size);
    return out;
}
