/* The container: a .glb's header and chunks (glTF 2.0, section 4.4), the JSON, and the buffers. */
#include "core/json.h"
#include "scene/readers/gltf_private.h"

#include <string.h>

enum { GLB_MAGIC = 0x46546c67, CHUNK_JSON = 0x4e4f534a, CHUNK_BIN = 0x004e4942 };

/* Bounds on what the parser may be given: each value costs it tens of bytes, each object or array hundreds. */
enum { MAX_VALUES = 16 << 20, MAX_CONTAINERS = 4 << 20 };

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Counts values outside strings before anything is built from them. */
static bool json_is_bounded(const uint8_t *text, size_t size)
{
    size_t values = 0, containers = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        uint8_t c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted) {
            values += c == ',';
            containers += c == '{' || c == '[';
        }
    }
    return values <= MAX_VALUES && containers <= MAX_CONTAINERS;
}

static bool parse_json(spl_gltf *g, const uint8_t *text, size_t size)
{
    while (size > 0 && (text[size - 1] == '\0' || text[size - 1] == ' ')) size--; /* a chunk's padding */
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {                      /* editors leave a byte order mark */
        text += 3;
        size -= 3;
    }
    if (size == 0) return spl_gltf_fail(g, "holds no JSON; it is not a glTF file or is cut short");
    if (!json_is_bounded(text, size)) return spl_gltf_fail(g, "its JSON has too many values to be a character");
    spl_json_why why;
    json_t *root = spl_json_load(text, size, 0, &why);
    if (!root && why.no_memory) return spl_gltf_fail_memory(g, "its JSON");
    if (!root)
        return spl_gltf_fail(g, "not valid JSON at line %d: %s; is it a glTF file, and complete?", why.line, why.text);
    g->scene->document->json = g->root = root;
    if (!json_is_object(root)) return spl_gltf_fail(g, "its JSON is not an object; it is not a glTF file");
    return true;
}

static bool split_glb(spl_gltf *g, const uint8_t *data, size_t size, const uint8_t **json, size_t *json_size)
{
    if (size < 12) return spl_gltf_fail(g, "a .glb header has 12 bytes, the file only %zu; it is cut short", size);
    if (u32(data + 4) != 2)
        return spl_gltf_fail(g, "a .glb of version %u; only version 2 is read: export it as glTF 2.0", u32(data + 4));
    size_t length = u32(data + 8);
    if (length > size)
        return spl_gltf_fail(g, "cut short: its header says %zu bytes, it has %zu; get the whole file", length, size);
    bool first = true;
    for (size_t at = 12; at < length;) {
        if (length - at < 8) return spl_gltf_fail(g, "ends inside a chunk's header; it is cut short");
        size_t bytes = u32(data + at);
        uint32_t kind = u32(data + at + 4);
        at += 8;
        if (bytes > length - at)
            return spl_gltf_fail(g, "a chunk says %zu bytes, %zu are left; it is cut short", bytes, length - at);
        if (first != (kind == CHUNK_JSON)) {
            if (first) return spl_gltf_fail(g, "its first chunk is not JSON; the .glb is damaged");
            return spl_gltf_fail(g, "has two JSON chunks; the .glb is damaged");
        }
        if (kind == CHUNK_JSON) {
            *json = data + at;
            *json_size = bytes;
        } else if (kind == CHUNK_BIN && !g->bin) {
            g->bin = data + at;
            g->bin_size = bytes;
        }
        first = false;
        at += bytes;
    }
    return *json ? true : spl_gltf_fail(g, "has no JSON chunk; the .glb is damaged");
}

/* The bytes of one buffer, from the GLB's chunk or a URI; a buffer without either stays empty, and whoever uses it
 * fails. */
static bool read_buffer(spl_gltf *g, const json_t *object, int32_t index, spl_buffer *buffer)
{
    size_t length;
    if (!spl_gltf_size(g, object, "byteLength", 0, "buffer", index, &length)) return false;
    const json_t *uri = json_object_get(object, "uri");
    if (uri && !json_is_string(uri)) return spl_gltf_fail(g, "buffer %d: its URI is not a string", index);
    if (uri) {
        if (!spl_gltf_uri(g, json_string_value(uri), "buffer", index, buffer)) return false;
    } else if (index == 0 && g->bin) {
        buffer->data = spl_new(g->a, g->bin_size, 1);
        if (!buffer->data) return spl_gltf_fail_memory(g, "the binary chunk");
        memcpy(buffer->data, g->bin, g->bin_size);
        buffer->size = g->bin_size;
    } else {
        return true;
    }
    if (length > buffer->size)
        return spl_gltf_fail(g, "buffer %d: %zu bytes announced, %zu there; the file is cut short or damaged", index,
                             length, buffer->size);
    buffer->size = length; /* a chunk is padded, a file may go on */
    return true;
}

static bool read_buffers(spl_gltf *g)
{
    spl_document *document = g->scene->document;
    json_t *list;
    int32_t count;
    if (!spl_gltf_list(g, g->root, "buffers", "asset", -1, &list, &count)) return false;
    document->buffer = spl_gltf_new(g, (size_t)count, sizeof *document->buffer, "buffers");
    if (!document->buffer) return false;
    document->buffer_count = count;
    for (int32_t i = 0; i < count; i++)
        if (!read_buffer(g, json_array_get(list, (size_t)i), i, &document->buffer[i])) return false;
    return true;
}

bool spl_gltf_read_document(spl_gltf *g, const uint8_t *data, size_t size)
{
    g->scene->document = spl_new(g->a, 1, sizeof *g->scene->document);
    if (!g->scene->document) return spl_gltf_fail_memory(g, "a document");
    g->scene->document->allocator = *g->a;
    g->input_size = size;
    const uint8_t *json = data;
    size_t json_size = size;
    if (size >= 4 && u32(data) == GLB_MAGIC) {
        json = NULL;
        if (!split_glb(g, data, size, &json, &json_size)) return false;
    }
    return parse_json(g, json, json_size) && spl_gltf_check_asset(g) && read_buffers(g) && spl_gltf_decompress(g) &&
           spl_gltf_decode_draco(g);
}
