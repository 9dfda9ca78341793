/* EXT_meshopt_compression: buffer views whose bytes are compressed. They are decoded into the buffer that the views
 * themselves name, which has no bytes of its own; after that the document is one without the extension.
 *
 * The decoders of libmeshoptimizer check what they read, but assert what they are called with: that is checked here. */
#include "scene/readers/gltf_private.h"

#include <string.h>

#ifdef SPL_HAVE_MESHOPT
#include <meshoptimizer.h>

static const char NAME[] = "EXT_meshopt_compression";

typedef enum mode { ATTRIBUTES, TRIANGLES, INDICES, MODES } mode;
typedef enum filter { NONE, OCTAHEDRAL, QUATERNION, EXPONENTIAL, FILTERS } filter;

/* One compressed view. */
typedef struct packed {
    int32_t view;
    const uint8_t *source;
    size_t source_size;
    uint8_t *target;
    size_t count, stride, at; /* at: where in the target's buffer */
    int mode, filter;
} packed;

/* The place of a string of the object among `names`; the first if it is absent, -1 if it is another. */
static int choose(const json_t *object, const char *key, const char *const *names, int count)
{
    const json_t *value = json_object_get(object, key);
    if (!value) return 0;
    for (int i = 0; i < count && json_is_string(value); i++)
        if (strcmp(json_string_value(value), names[i]) == 0) return i;
    return -1;
}

/* What the decoders may be called with, as the extension's text has it. */
static bool is_allowed(const packed *p)
{
    if (p->mode == TRIANGLES && p->count % 3) return false;
    if (p->mode != ATTRIBUTES) return (p->stride == 2 || p->stride == 4) && p->filter == NONE && p->at % p->stride == 0;
    if (p->stride == 0 || p->stride % 4 || p->stride > 256 || p->at % 4) return false;
    if (p->filter == OCTAHEDRAL) return p->stride == 4 || p->stride == 8;
    return p->filter != QUATERNION || p->stride == 8;
}

static bool decode(spl_gltf *g, const packed *p)
{
    int code = -1;
    if (p->mode == ATTRIBUTES)
        code = meshopt_decodeVertexBuffer(p->target, p->count, p->stride, p->source, p->source_size);
    else if (p->mode == TRIANGLES)
        code = meshopt_decodeIndexBuffer(p->target, p->count, p->stride, p->source, p->source_size);
    else
        code = meshopt_decodeIndexSequence(p->target, p->count, p->stride, p->source, p->source_size);
    if (code != 0)
        return spl_gltf_fail(g, "buffer view %d: its compressed bytes cannot be decoded; the file is damaged", p->view);
    if (p->filter == OCTAHEDRAL) meshopt_decodeFilterOct(p->target, p->count, p->stride);
    if (p->filter == QUATERNION) meshopt_decodeFilterQuat(p->target, p->count, p->stride);
    if (p->filter == EXPONENTIAL) meshopt_decodeFilterExp(p->target, p->count, p->stride);
    return true;
}

/* The buffer that a view is decoded into: made when the first of its views comes. */
static bool make_target(spl_gltf *g, int32_t index, spl_buffer *buffer)
{
    if (buffer->data) return true;
    const json_t *object = json_array_get(json_object_get(g->root, "buffers"), (size_t)index);
    size_t size;
    if (!spl_gltf_size(g, object, "byteLength", 0, "buffer", index, &size)) return false;
    buffer->data = spl_gltf_new(g, size, 1, "bytes of a buffer");
    if (!buffer->data) return false;
    buffer->size = size;
    return true;
}

/* A buffer that came with bytes is the plain twin of the compressed one, and is used instead. */
static bool read_view(spl_gltf *g, const json_t *view, int32_t index, const bool *given)
{
    static const char *const modes[] = {"ATTRIBUTES", "TRIANGLES", "INDICES"};
    static const char *const filters[] = {"NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL"};
    static const char kind[] = "buffer view";
    const json_t *packing = json_object_get(json_object_get(view, "extensions"), NAME);
    spl_document *document = g->scene->document;
    int32_t from, to;
    size_t offset, size, bytes;
    packed p = {.view = index};
    if (!spl_gltf_index(g, packing, "buffer", document->buffer_count, kind, index, &from) ||
        !spl_gltf_index(g, view, "buffer", document->buffer_count, kind, index, &to) ||
        !spl_gltf_size(g, packing, "byteOffset", 0, kind, index, &offset) ||
        !spl_gltf_size(g, packing, "byteLength", 0, kind, index, &size) ||
        !spl_gltf_size(g, packing, "byteStride", 0, kind, index, &p.stride) ||
        !spl_gltf_size(g, packing, "count", 0, kind, index, &p.count) ||
        !spl_gltf_size(g, view, "byteOffset", 0, kind, index, &p.at))
        return false;
    if (from < 0 || to < 0 || from == to) return spl_gltf_fail(g, "%s %d: %s names no buffers", kind, index, NAME);
    if (given[to]) return true;
    p.mode = json_object_get(packing, "mode") ? choose(packing, "mode", modes, MODES) : -1;
    p.filter = choose(packing, "filter", filters, FILTERS);
    if (p.mode < 0 || p.filter < 0 || !is_allowed(&p))
        return spl_gltf_fail(g, "%s %d: %s of a mode, filter or stride that there is not", kind, index, NAME);
    const spl_buffer *source = &document->buffer[from];
    if (!given[from] || offset > source->size || size > source->size - offset)
        return spl_gltf_fail(g, "%s %d: its compressed bytes run past their buffer", kind, index);
    if (!make_target(g, to, &document->buffer[to])) return false;
    if (!spl_mul(p.count, p.stride, &bytes) || p.at > document->buffer[to].size ||
        bytes > document->buffer[to].size - p.at)
        return spl_gltf_fail(g, "%s %d: what is decoded runs past its buffer", kind, index);
    p.source = source->data + offset;
    p.source_size = size;
    p.target = document->buffer[to].data + p.at;
    return decode(g, &p);
}

/* From here on the document is as if it had never been compressed. */
static void forget(spl_gltf *g, json_t *list)
{
    json_t *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        json_t *extensions = json_object_get(item, "extensions");
        json_object_del(extensions, NAME);
        if (extensions && json_object_size(extensions) == 0) json_object_del(item, "extensions");
    }
    static const char *const names[] = {"extensionsUsed", "extensionsRequired"};
    for (int k = 0; k < 2; k++) {
        json_t *used = json_object_get(g->root, names[k]);
        for (size_t at = json_array_size(used); at-- > 0;) {
            const char *name = json_string_value(json_array_get(used, at));
            if (name && strcmp(name, NAME) == 0) json_array_remove(used, at);
        }
        if (used && json_array_size(used) == 0) json_object_del(g->root, names[k]);
    }
}

bool spl_gltf_has_meshopt(void)
{
    return true;
}

bool spl_gltf_decompress(spl_gltf *g)
{
    spl_document *document = g->scene->document;
    json_t *views, *view;
    int32_t count;
    bool any = false, ok = true;
    if (!spl_gltf_list(g, g->root, "bufferViews", "asset", -1, &views, &count)) return false;
    bool *given = spl_new(g->a, (size_t)document->buffer_count, sizeof *given); /* came with bytes */
    if (!given) return spl_gltf_fail_memory(g, "buffers");
    for (int32_t i = 0; i < document->buffer_count; i++) given[i] = document->buffer[i].data != NULL;
    for (int32_t i = 0; ok && i < count; i++) {
        view = json_array_get(views, (size_t)i);
        if (!json_object_get(json_object_get(view, "extensions"), NAME)) continue;
        any = true;
        ok = read_view(g, view, i, given);
    }
    spl_free(g->a, given);
    if (ok && any) {
        forget(g, views);
        forget(g, json_object_get(g->root, "buffers"));
    }
    return ok;
}

#else

bool spl_gltf_has_meshopt(void)
{
    return false;
}

/* A file that does not require the extension has plain twins of its buffers; without them its accessors fail. */
bool spl_gltf_decompress(spl_gltf *g)
{
    (void)g;
    return true;
}

#endif
