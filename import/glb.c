#include "glb.h"

#include "core/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *import_new(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size);
    if (!block) import_fail("out of memory");
    return block;
}

void glb_begin(glb *g)
{
    *g = (glb){.root = json_object()};
    g->views = glb_list(g, "bufferViews");
    g->accessors = glb_list(g, "accessors");
}

json_t *glb_list(glb *g, const char *name)
{
    if (!json_object_get(g->root, name)) glb_set(g->root, name, json_array());
    return json_object_get(g->root, name);
}

void glb_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) import_fail("out of memory");
}

void glb_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) import_fail("out of memory");
}

json_t *glb_text(const char *text)
{
    char copy[256];
    strncpy(copy, text, sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    spl_sanitise(copy);
    return json_string(copy);
}

int32_t glb_view(glb *g, const void *data, size_t size)
{
    size_t padded = (size + 3) / 4 * 4;
    if (size > UINT32_MAX / 2 || g->size > UINT32_MAX / 2) import_fail("more than 2 GB of data");
    if (g->size + padded > g->room) {
        g->room = 2 * (g->size + padded);
        uint8_t *grown = realloc(g->bin, g->room);
        if (!grown) import_fail("out of memory");
        g->bin = grown;
    }
    memset(g->bin + g->size, 0, padded);
    if (size) memcpy(g->bin + g->size, data, size);
    glb_append(g->views, json_pack("{s:i,s:I,s:I}", "buffer", 0, "byteOffset", (json_int_t)g->size, "byteLength",
                                   (json_int_t)size));
    g->size += padded;
    return (int32_t)json_array_size(g->views) - 1;
}

static void add_bounds(json_t *accessor, const float *value, size_t count, int width)
{
    json_t *low = json_array(), *high = json_array();
    for (int k = 0; k < width; k++) {
        float a = INFINITY, b = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            float v = value[i * (size_t)width + (size_t)k];
            if (v < a) a = v;
            if (v > b) b = v;
        }
        glb_append(low, json_real((double)a));
        glb_append(high, json_real((double)b));
    }
    glb_set(accessor, "min", low);
    glb_set(accessor, "max", high);
}

int32_t glb_accessor(glb *g, const void *data, size_t count, int component, int width, bool bounds)
{
    static const char *const types[17] = {[1] = "SCALAR", [2] = "VEC2", [3] = "VEC3", [4] = "VEC4", [16] = "MAT4"};
    size_t size = component == GLB_USHORT ? 2 : 4;
    if (component == GLB_FLOAT)
        for (size_t i = 0; i < count * (size_t)width; i++)
            if (!isfinite(((const float *)data)[i])) import_fail("holds numbers that are not finite; it is damaged");
    int32_t view = glb_view(g, data, count * (size_t)width * size);
    json_t *accessor = json_pack("{s:i,s:i,s:I,s:s}", "bufferView", view, "componentType", component, "count",
                                 (json_int_t)count, "type", types[width]);
    if (bounds && count) add_bounds(accessor, data, count, width);
    glb_append(g->accessors, accessor);
    return (int32_t)json_array_size(g->accessors) - 1;
}

static bool write_all(int file, const void *data, size_t size)
{
    const uint8_t *at = data;
    while (size > 0) {
        ssize_t n = write(file, at, size);
        if (n <= 0) return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static void put(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(value >> (8 * i));
}

bool glb_write(glb *g, int file)
{
    static const char *const lists[] = {"bufferViews", "accessors", "meshes",   "skins", "animations",
                                        "materials",   "images",    "textures", "nodes"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) /* the schema forbids empty lists */
        if (json_array_size(json_object_get(g->root, lists[i])) == 0) json_object_del(g->root, lists[i]);
    if (g->size) glb_set(g->root, "buffers", json_pack("[{s:I}]", "byteLength", (json_int_t)g->size));
    char *text = json_dumps(g->root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text) import_fail("out of memory");
    size_t length = strlen(text), padded = (length + 3) / 4 * 4, total = 12 + 8 + padded + (g->size ? 8 + g->size : 0);
    if (total > UINT32_MAX) import_fail("more than 4 GB of data");
    uint8_t head[20] = "glTF", chunk[8] = {0, 0, 0, 0, 'B', 'I', 'N', 0};
    put(head + 4, 2);
    put(head + 8, (uint32_t)total);
    put(head + 12, (uint32_t)padded);
    memcpy(head + 16, "JSON", 4);
    put(chunk, (uint32_t)g->size);
    bool ok = write_all(file, head, sizeof head) && write_all(file, text, length) &&
              write_all(file, "   ", padded - length) &&
              (!g->size || (write_all(file, chunk, sizeof chunk) && write_all(file, g->bin, g->size)));
    free(text);
    return ok;
}
