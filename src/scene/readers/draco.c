/* KHR_draco_mesh_compression: primitives whose vertices and triangles are one compressed stream each. The streams are
 * handed to supple-import, which decodes them shut in (import/draco.h has the form of question and answer); what comes
 * back becomes a buffer that the accessors point into, and the document is one without the extension.
 *
 * A primitive whose accessors have data of their own has a plain twin, and that is used. */
#include "scene/readers/gltf_private.h"
#include "scene/readers/import.h"

#include <stdio.h>
#include <string.h>

static const char NAME[] = "KHR_draco_mesh_compression";
enum { MOST_ATTRIBUTES = 64 };

/* One attribute of a stream. */
typedef struct packed_attribute {
    int32_t accessor;
    uint32_t id, component, width;
} packed_attribute;

typedef struct packed {
    char where[96];
    json_t *primitive; /* the document's */
    const uint8_t *data;
    size_t size;
    uint32_t vertex_count, attribute_count;
    packed_attribute attribute[MOST_ATTRIBUTES];
} packed;

typedef struct work {
    spl_gltf *g;
    json_t *accessors, *views, *buffers;
    packed *stream;
    int32_t stream_count;
    uint8_t *question;
    size_t question_size;
    int32_t buffer; /* of the document: the answer */
} work;

/* ---- what there is ---------------------------------------------------------------------------------------------- */

static bool has_data(const work *w, const json_t *index)
{
    const json_t *accessor =
        json_is_integer(index) ? json_array_get(w->accessors, (size_t)json_integer_value(index)) : NULL;
    return json_object_get(accessor, "bufferView") || json_object_get(accessor, "sparse");
}

static uint32_t width_of(const json_t *accessor)
{
    const char *type = json_string_value(json_object_get(accessor, "type"));
    if (!type) return 0;
    return strcmp(type, "SCALAR") == 0 ? 1
           : strlen(type) == 4 && strncmp(type, "VEC", 3) == 0 && type[3] >= '2' && type[3] <= '4'
               ? (uint32_t)(type[3] - '0')
               : 0;
}

static uint32_t component_size(uint32_t component)
{
    if (component == SPL_GLTF_BYTE || component == SPL_GLTF_UBYTE) return 1;
    if (component == SPL_GLTF_SHORT || component == SPL_GLTF_USHORT) return 2;
    return component == SPL_GLTF_UINT || component == SPL_GLTF_FLOAT ? 4 : 0;
}

/* Vertices begin at multiples of four bytes. */
static size_t stride_of(const packed_attribute *a)
{
    return (component_size(a->component) * a->width + 3) / 4 * 4;
}

static bool read_attribute(work *w, packed *p, const char *name, const json_t *ids, const json_t *attributes)
{
    spl_gltf *g = w->g;
    packed_attribute *a = &p->attribute[p->attribute_count];
    size_t id, count, component;
    if (p->attribute_count == MOST_ATTRIBUTES) return spl_gltf_fail(g, "%s: too many attributes", p->where);
    if (!spl_gltf_size(g, ids, name, 0, p->where, -1, &id) ||
        !spl_gltf_index(g, attributes, name, (int32_t)json_array_size(w->accessors), p->where, -1, &a->accessor))
        return false;
    if (a->accessor < 0) return true; /* of no use to anybody */
    const json_t *accessor = json_array_get(w->accessors, (size_t)a->accessor);
    if (!spl_gltf_size(g, accessor, "count", 0, "accessor", a->accessor, &count) ||
        !spl_gltf_size(g, accessor, "componentType", 0, "accessor", a->accessor, &component))
        return false;
    a->id = (uint32_t)id;
    a->component = (uint32_t)component;
    a->width = width_of(accessor);
    if (id > UINT32_MAX || count > INT32_MAX || component > UINT16_MAX || a->width == 0 ||
        component_size(a->component) == 0)
        return spl_gltf_fail(g, "%s: %s (accessor %d) is of no type that can be decoded", p->where, name, a->accessor);
    if (p->attribute_count > 0 && p->vertex_count != (uint32_t)count)
        return spl_gltf_fail(g, "%s: its compressed attributes are of different numbers of vertices", p->where);
    p->vertex_count = (uint32_t)count;
    p->attribute_count++;
    return true;
}

/* Fills the next stream; *skip where there is a plain twin. */
static bool read_stream(work *w, packed *p, const json_t *extension, bool *skip)
{
    spl_gltf *g = w->g;
    const json_t *attributes = json_object_get(p->primitive, "attributes"),
                 *ids = json_object_get(extension, "attributes");
    int32_t view;
    size_t stride;
    *skip = has_data(w, json_object_get(attributes, "POSITION"));
    if (*skip) return true;
    if (!spl_gltf_index(g, extension, "bufferView", (int32_t)json_array_size(w->views), p->where, -1, &view))
        return false;
    const json_t *object = json_array_get(w->views, (size_t)view);
    if (view < 0 || !json_is_object(ids) || json_object_size(ids) == 0)
        return spl_gltf_fail(g, "%s: %s names no data", p->where, NAME);
    if (!spl_gltf_size(g, object, "byteLength", 0, "bufferView", view, &p->size) ||
        !spl_gltf_view(g, "bufferView", view, view, 0, 1, p->size, &p->data, &stride))
        return false;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)ids, name, value)
    {
        if (!read_attribute(w, p, name, ids, attributes)) return false;
    }
    if (p->attribute_count == 0) return spl_gltf_fail(g, "%s: %s names no attributes", p->where, NAME);
    return true;
}

static bool list_streams(work *w)
{
    json_t *mesh, *primitive;
    size_t m, k, room = 0;
    json_array_foreach(json_object_get(w->g->root, "meshes"), m, mesh)
        json_array_foreach(json_object_get(mesh, "primitives"), k, primitive) room +=
        json_object_get(json_object_get(primitive, "extensions"), NAME) != NULL;
    if (room == 0) return true;
    w->stream = spl_gltf_new(w->g, room, sizeof *w->stream, "compressed primitives");
    if (!w->stream) return false;
    json_array_foreach(json_object_get(w->g->root, "meshes"), m, mesh)
        json_array_foreach(json_object_get(mesh, "primitives"), k, primitive)
    {
        const json_t *extension = json_object_get(json_object_get(primitive, "extensions"), NAME);
        packed *p = &w->stream[w->stream_count];
        bool skip;
        if (!extension) continue;
        *p = (packed){.primitive = primitive};
        snprintf(p->where, sizeof p->where, "mesh %zu, primitive %zu", m, k);
        if (!read_stream(w, p, extension, &skip)) return false;
        w->stream_count += !skip;
    }
    return true;
}

/* ---- the question ----------------------------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *at, uint32_t word)
{
    memcpy(at, &word, sizeof word);
    return at + sizeof word;
}

static bool ask(work *w)
{
    size_t size = 4;
    for (int32_t i = 0; i < w->stream_count; i++)
        size += 12 + 12 * (size_t)w->stream[i].attribute_count + (w->stream[i].size + 3) / 4 * 4;
    w->question = spl_gltf_new(w->g, size, 1, "compressed bytes");
    if (!w->question) return false;
    uint8_t *at = put(w->question, (uint32_t)w->stream_count);
    for (int32_t i = 0; i < w->stream_count; i++) {
        const packed *p = &w->stream[i];
        at = put(put(put(at, (uint32_t)p->size), p->vertex_count), p->attribute_count);
        for (uint32_t k = 0; k < p->attribute_count; k++)
            at = put(put(put(at, p->attribute[k].id), p->attribute[k].component), p->attribute[k].width);
        memcpy(at, p->data, p->size);
        at += (p->size + 3) / 4 * 4;
    }
    w->question_size = size;
    return true;
}

/* ---- the answer ------------------------------------------------------------------------------------------------- */

/* A buffer of the document that holds the answer, which is taken over. */
static bool add_buffer(work *w, uint8_t *data, size_t size)
{
    spl_document *document = w->g->scene->document;
    spl_buffer *grown = spl_resize(w->g->a, document->buffer, (size_t)document->buffer_count + 1, sizeof *grown);
    if (!grown) {
        spl_free(w->g->a, data);
        return spl_gltf_fail_memory(w->g, "buffers");
    }
    document->buffer = grown;
    w->buffer = document->buffer_count++;
    document->buffer[w->buffer] = (spl_buffer){data, size};
    w->g->input_size += size; /* it is here now, and was bounded */
    if (!w->buffers) {
        json_object_set_new(w->g->root, "buffers", json_array());
        w->buffers = json_object_get(w->g->root, "buffers");
    }
    while (json_array_size(w->buffers) <= (size_t)w->buffer)
        if (json_array_append_new(w->buffers, json_pack("{s:I}", "byteLength", (json_int_t)size)) != 0)
            return spl_gltf_fail_memory(w->g, "buffers");
    return true;
}

/* Points an accessor to a piece of the answer. */
static bool point(work *w, json_t *accessor, size_t offset, size_t bytes, size_t stride)
{
    json_t *view = json_pack("{s:i,s:I,s:I}", "buffer", (int)w->buffer, "byteOffset", (json_int_t)offset, "byteLength",
                             (json_int_t)bytes);
    if (view && stride) json_object_set_new(view, "byteStride", json_integer((json_int_t)stride));
    json_object_del(accessor, "byteOffset");
    bool ok = json_array_append_new(w->views, view) == 0 &&
              json_object_set_new(accessor, "bufferView", json_integer((json_int_t)json_array_size(w->views) - 1)) == 0;
    return ok || spl_gltf_fail_memory(w->g, "buffer views");
}

/* The accessor of a primitive's indices, made if it has none. */
static json_t *index_accessor(work *w, json_t *primitive)
{
    const json_t *at = json_object_get(primitive, "indices");
    json_t *accessor = json_is_integer(at) ? json_array_get(w->accessors, (size_t)json_integer_value(at)) : NULL;
    if (accessor && !json_object_get(accessor, "bufferView")) return accessor;
    json_t *made = json_object();
    if (!made || json_array_append_new(w->accessors, made) != 0) return NULL;
    json_object_set_new(primitive, "indices", json_integer((json_int_t)json_array_size(w->accessors) - 1));
    return made;
}

static bool take_indices(work *w, const packed *p, size_t at, uint32_t count)
{
    json_t *accessor = index_accessor(w, p->primitive);
    if (!accessor) return spl_gltf_fail_memory(w->g, "accessors");
    json_object_del(accessor, "min");
    json_object_del(accessor, "max");
    json_object_del(p->primitive, "mode"); /* what is decoded is a list of triangles, strips too */
    json_object_set_new(accessor, "componentType", json_integer(SPL_GLTF_UINT));
    json_object_set_new(accessor, "type", json_string("SCALAR"));
    json_object_set_new(accessor, "count", json_integer((json_int_t)count));
    return point(w, accessor, at, 4 * (size_t)count, 0);
}

static bool take_answer(work *w)
{
    const spl_buffer *answer = &w->g->scene->document->buffer[w->buffer];
    size_t at = 0;
    for (int32_t i = 0; i < w->stream_count; i++) {
        const packed *p = &w->stream[i];
        uint32_t count;
        if (answer->size - at < 4) break;
        memcpy(&count, answer->data + at, sizeof count);
        at += 4;
        if (count % 3 || count > (answer->size - at) / 4) break;
        if (!take_indices(w, p, at, count)) return false;
        at += 4 * (size_t)count;
        for (uint32_t k = 0; k < p->attribute_count; k++) {
            const packed_attribute *a = &p->attribute[k];
            size_t stride = stride_of(a), bytes;
            if (!spl_mul(stride, p->vertex_count, &bytes) || bytes > answer->size - at)
                return spl_gltf_fail(w->g, "%s: what supple-import made of it is cut short", p->where);
            json_t *accessor = json_array_get(w->accessors, (size_t)a->accessor);
            if (!json_object_get(accessor, "bufferView") && !point(w, accessor, at, bytes, stride)) return false;
            at += bytes;
        }
        if (i == w->stream_count - 1 && at == answer->size) return true;
    }
    return spl_gltf_fail(w->g, "what supple-import made of its compressed meshes is cut short");
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* From here on the document is as if it had never been compressed. */
static void forget(spl_gltf *g)
{
    static const char *const names[] = {"extensionsUsed", "extensionsRequired"};
    json_t *mesh, *primitive;
    size_t m, k;
    json_array_foreach(json_object_get(g->root, "meshes"), m, mesh)
        json_array_foreach(json_object_get(mesh, "primitives"), k, primitive)
    {
        json_t *extensions = json_object_get(primitive, "extensions");
        json_object_del(extensions, NAME);
        if (extensions && json_object_size(extensions) == 0) json_object_del(primitive, "extensions");
    }
    for (int i = 0; i < 2; i++) {
        json_t *used = json_object_get(g->root, names[i]);
        for (size_t at = json_array_size(used); at-- > 0;) {
            const char *name = json_string_value(json_array_get(used, at));
            if (name && strcmp(name, NAME) == 0) json_array_remove(used, at);
        }
        if (used && json_array_size(used) == 0) json_object_del(g->root, names[i]);
    }
}

static bool decode(work *w)
{
    uint8_t *data = NULL;
    size_t size = 0;
    if (!ask(w)) return false;
    supple_error why;
    supple_result result = spl_import_decode("--draco", w->question, w->question_size, w->g->a, &data, &size, &why);
    if (result == SUPPLE_ERROR_MEMORY) return spl_gltf_fail_memory(w->g, "what was decoded");
    if (result != SUPPLE_OK) return spl_gltf_fail(w->g, "%s", why.message);
    return add_buffer(w, data, size) && take_answer(w);
}

bool spl_gltf_decode_draco(spl_gltf *g)
{
    work w = {.g = g,
              .accessors = json_object_get(g->root, "accessors"),
              .views = json_object_get(g->root, "bufferViews"),
              .buffers = json_object_get(g->root, "buffers")};
    bool ok = list_streams(&w) && (w.stream_count == 0 || decode(&w));
    if (ok && w.stream) forget(g);
    spl_free(g->a, w.stream);
    spl_free(g->a, w.question);
    return ok;
}
