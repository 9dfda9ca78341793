#include "sim/atlas_scene.h"

#include "core/error.h"
#include "core/json.h"
#include "core/memory.h"
#include "scene/document.h"
#include "scene/readers/gltf.h"
#include "scene/writers/writer.h"

#include <string.h>

enum { ARRAY_BUFFER = 34962, UNSIGNED_INT = 5125, FLOAT = 5126 };

/* The document under way, and its one buffer. */
typedef struct editor {
    const supple_scene *scene;
    supple_allocator allocator;
    json_t *root;
    int32_t *becomes; /* by material: the one that changed primitives have */
    uint8_t *data;
    size_t size, room;
    bool failed; /* memory is out */
} editor;

/* ---- the buffer -------------------------------------------------------------------------------------------------- */

static bool append(editor *e, const void *data, size_t size)
{
    size_t end = e->size + ((size + 3) & ~(size_t)3);
    if (end > e->room) {
        size_t room = end + end / 2;
        uint8_t *grown = spl_resize(&e->allocator, e->data, room, 1);
        if (!grown) e->failed = true;
        if (!grown) return false;
        e->data = grown;
        e->room = room;
    }
    memset(e->data + e->size, 0, end - e->size);
    if (data) memcpy(e->data + e->size, data, size);
    e->size = end;
    return true;
}

static json_t *list(editor *e, const char *key)
{
    json_t *found = json_object_get(e->root, key);
    if (json_is_array(found)) return found;
    if (json_object_set_new(e->root, key, json_array()) != 0) e->failed = true;
    return json_object_get(e->root, key);
}

static int32_t add(editor *e, const char *key, json_t *value)
{
    json_t *to = list(e, key);
    if (json_array_append_new(to, value) != 0) e->failed = true;
    return (int32_t)json_array_size(to) - 1;
}

static int32_t add_view(editor *e, const void *data, size_t size)
{
    size_t at = e->size;
    if (!append(e, data, size)) return -1;
    return add(e, "bufferViews",
               json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)at, "byteLength", (json_int_t)size));
}

static int32_t add_accessor(editor *e, const void *data, size_t count, size_t element, int type, const char *shape)
{
    int32_t view = add_view(e, data, count * element);
    return add(e, "accessors",
               json_pack("{s:i, s:i, s:I, s:s}", "bufferView", view, "componentType", type, "count", (json_int_t)count,
                         "type", shape));
}

/* All buffers become one. */
static void take_buffers(editor *e)
{
    const spl_document *d = e->scene->document;
    json_t *view;
    size_t i;
    json_array_foreach(json_object_get(e->root, "bufferViews"), i, view)
    {
        json_int_t at = json_integer_value(json_object_get(view, "byteOffset")), base = 0;
        json_int_t buffer = json_integer_value(json_object_get(view, "buffer"));
        for (json_int_t b = 0; b < buffer && b < d->buffer_count; b++)
            base += (json_int_t)((d->buffer[b].size + 3) & ~(size_t)3);
        if (json_object_set_new(view, "buffer", json_integer(0)) != 0 ||
            json_object_set_new(view, "byteOffset", json_integer(base + at)) != 0)
            e->failed = true;
        json_object_del(json_object_get(view, "extensions"), "EXT_meshopt_compression"); /* it is decoded */
    }
    for (int32_t b = 0; b < d->buffer_count && !e->failed; b++) append(e, d->buffer[b].data, d->buffer[b].size);
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static size_t component(int64_t type)
{
    return type == 5120 || type == 5121 ? 1 : type == 5122 || type == 5123 ? 2 : 4;
}

static size_t width(const json_t *accessor)
{
    const char *type = json_string_value(json_object_get(accessor, "type"));
    size_t n = !type || strcmp(type, "SCALAR") == 0 ? 1 : strncmp(type, "VEC", 3) == 0 ? (size_t)(type[3] - '0') : 16;
    return n * component(json_integer_value(json_object_get(accessor, "componentType")));
}

static size_t offset_of(const json_t *object)
{
    return (size_t)json_integer_value(json_object_get(object, "byteOffset"));
}

/* Where the bytes of an accessor (or a part of a sparse one) begin in the buffer, and how far apart they are. The
 * reader has checked them. */
static const uint8_t *bytes_of(const editor *e, const json_t *object, size_t element, size_t *stride)
{
    const json_t *view = json_array_get(json_object_get(e->root, "bufferViews"),
                                        (size_t)json_integer_value(json_object_get(object, "bufferView")));
    json_int_t step = json_integer_value(json_object_get(view, "byteStride"));
    *stride = step > 0 ? (size_t)step : element;
    return e->data + offset_of(view) + offset_of(object);
}

static size_t read_index(const uint8_t *from, size_t bytes)
{
    size_t value = 0;
    for (size_t i = 0; i < bytes; i++) value |= (size_t)from[i] << 8 * i;
    return value;
}

/* The accessor's elements, `count` of them, tightly; sparse ones filled in. */
static uint8_t *read_elements(const editor *e, const json_t *accessor, size_t count, size_t element)
{
    uint8_t *out = spl_new(&e->allocator, count, element);
    const json_t *sparse = json_object_get(accessor, "sparse");
    size_t stride, step;
    if (out && json_object_get(accessor, "bufferView")) {
        const uint8_t *from = bytes_of(e, accessor, element, &stride);
        for (size_t i = 0; i < count; i++) memcpy(out + i * element, from + i * stride, element);
    }
    if (out && sparse) {
        const json_t *indices = json_object_get(sparse, "indices"), *values = json_object_get(sparse, "values");
        size_t bytes = component(json_integer_value(json_object_get(indices, "componentType")));
        const uint8_t *at = bytes_of(e, indices, bytes, &step), *from = bytes_of(e, values, element, &stride);
        size_t some = (size_t)json_integer_value(json_object_get(sparse, "count"));
        for (size_t i = 0; i < some; i++) {
            size_t index = read_index(at + i * bytes, bytes);
            if (index < count) memcpy(out + index * element, from + i * element, element);
        }
    }
    return out;
}

/* A new accessor with the elements of the new vertices; -1 if memory is out. */
static int32_t spread(editor *e, json_int_t index, const spl_atlas_part *part, size_t old)
{
    json_t *accessor = json_array_get(json_object_get(e->root, "accessors"), (size_t)index);
    size_t element = width(accessor), n = (size_t)part->vertex_count;
    uint8_t *from = read_elements(e, accessor, old, element);
    size_t step = (element + 3) & ~(size_t)3; /* vertices begin at multiples of four */
    uint8_t *rows = spl_new(&e->allocator, n, step);
    json_t *copy = json_deep_copy(accessor);
    int32_t made = -1;
    if (from && rows && copy) {
        for (size_t v = 0; v < n; v++) memcpy(rows + v * step, from + (size_t)part->source[v] * element, element);
        int32_t view = add_view(e, rows, n * step);
        json_t *json = json_array_get(json_object_get(e->root, "bufferViews"), (size_t)view);
        if (json_object_set_new(json, "byteStride", json_integer((json_int_t)step)) != 0 ||
            json_object_set_new(copy, "bufferView", json_integer(view)) != 0 ||
            json_object_set_new(copy, "count", json_integer((json_int_t)n)) != 0)
            e->failed = true;
        json_object_del(copy, "byteOffset");
        json_object_del(copy, "sparse");
        made = add(e, "accessors", json_incref(copy));
    } else
        e->failed = true;
    json_decref(copy);
    spl_free(&e->allocator, from);
    spl_free(&e->allocator, rows);
    return made;
}

static void spread_all(editor *e, json_t *attributes, const spl_atlas_part *part, size_t old)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(attributes, next, key, value)
    {
        int32_t made = e->failed ? -1 : spread(e, json_integer_value(value), part, old);
        if (made >= 0 && json_object_set_new(attributes, key, json_integer(made)) != 0) e->failed = true;
    }
}

/* New vertices: every attribute has them, and the indices name them. */
static void change_vertices(editor *e, json_t *primitive, const spl_primitive *p, const spl_atlas_part *part)
{
    json_t *target;
    size_t i, n = 3 * (size_t)p->triangle_count;
    spread_all(e, json_object_get(primitive, "attributes"), part, (size_t)p->vertex_count);
    json_array_foreach(json_object_get(primitive, "targets"), i, target)
        spread_all(e, target, part, (size_t)p->vertex_count);
    uint8_t *index = spl_new(&e->allocator, n, 4);
    if (!index) e->failed = true;
    for (i = 0; index && i < n; i++) spl_put_u32(index + 4 * i, (uint32_t)part->triangle[i], false);
    int32_t made = index ? add_accessor(e, index, n, 4, UNSIGNED_INT, "SCALAR") : -1;
    if (json_object_set_new(primitive, "indices", json_integer(made)) != 0) e->failed = true;
    json_object_del(primitive, "mode");
    json_object_del(json_object_get(json_object_get(primitive, "extras"), "supple"), "polygonSizes");
    json_object_del(json_object_get(json_object_get(primitive, "extras"), "supple"), "polygonCorners");
    spl_free(&e->allocator, index);
}

static void change_primitive(editor *e, json_t *primitive, const spl_primitive *p, const spl_atlas_part *part)
{
    json_object_del(json_object_get(primitive, "extensions"), "KHR_draco_mesh_compression"); /* it is decoded */
    if (part->vertex_count == 0) return;
    if (json_object_set_new(primitive, "material", json_integer(e->becomes[p->material])) != 0) e->failed = true;
    if (part->vertex_count != p->vertex_count) change_vertices(e, primitive, p, part);
    size_t n = 2 * (size_t)part->vertex_count;
    uint8_t *uv = spl_new(&e->allocator, n, 4);
    if (!uv) e->failed = true;
    for (size_t i = 0; uv && i < n; i++) spl_put_f32(uv + 4 * i, part->uv[i], false);
    int32_t made = uv ? add_accessor(e, uv, n / 2, 8, FLOAT, "VEC2") : -1;
    if (json_object_set_new(json_object_get(primitive, "attributes"), "TEXCOORD_0", json_integer(made)) != 0)
        e->failed = true;
    spl_free(&e->allocator, uv);
}

/* Materials that also draw what does not change. */
static void copy_materials(editor *e, const spl_atlas_part *part, const spl_atlas_image *image, int32_t image_count)
{
    for (int32_t m = 0; m < e->scene->material_count; m++) e->becomes[m] = m;
    for (int32_t i = 0; i < e->scene->instance_count; i++) {
        const spl_mesh *mesh = &e->scene->mesh[e->scene->instance[i].mesh];
        for (int32_t k = 0; k < mesh->primitive_count; k++, part++) {
            int32_t m = mesh->primitive[k].material;
            bool ours = false;
            for (int32_t j = 0; j < image_count; j++) ours = ours || image[j].material == m;
            if (!ours || part->vertex_count || e->becomes[m] != m) continue;
            json_t *copy = json_deep_copy(json_array_get(json_object_get(e->root, "materials"), (size_t)m));
            e->becomes[m] = add(e, "materials", copy);
        }
    }
}

static void change_meshes(editor *e, const spl_atlas_part *part)
{
    json_t *meshes = json_object_get(e->root, "meshes");
    for (int32_t i = 0; i < e->scene->instance_count && !e->failed; i++) {
        int32_t m = e->scene->instance[i].mesh;
        const spl_mesh *mesh = &e->scene->mesh[m];
        json_t *primitives = json_object_get(json_array_get(meshes, (size_t)m), "primitives");
        for (int32_t k = 0; k < mesh->primitive_count && !e->failed; k++, part++)
            change_primitive(e, json_array_get(primitives, (size_t)k), &mesh->primitive[k], part);
    }
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* How many of the document's textures and materials' maps lead to an image. */
static int32_t count_uses(const editor *e, const json_t *value, const char *name, int32_t image)
{
    const char *key;
    json_t *item, *textures = json_object_get(e->root, "textures");
    size_t i, length = name ? strlen(name) : 0;
    int32_t count = 0;
    if (json_is_array(value)) json_array_foreach(value, i, item) count += count_uses(e, item, NULL, image);
    if (!json_is_object(value)) return count;
    if (length > 7 && strcmp(name + length - 7, "Texture") == 0) {
        const json_t *texture = json_array_get(textures, (size_t)json_integer_value(json_object_get(value, "index")));
        count += json_integer_value(json_object_get(texture, "source")) == image;
    }
    json_object_foreach((json_t *)value, key, item) count += count_uses(e, item, key, image);
    return count;
}

/* The new image takes the old one's place where no other map uses it; else it gets a texture of its own. */
static void change_image(editor *e, const spl_atlas_image *image)
{
    json_t *material = json_array_get(json_object_get(e->root, "materials"), (size_t)e->becomes[image->material]);
    json_t *info = json_object_get(image->group ? json_object_get(material, image->group) : material, image->key);
    size_t texture = (size_t)json_integer_value(json_object_get(info, "index"));
    json_t *made =
        json_pack("{s:i, s:s}", "bufferView", add_view(e, image->data, image->size), "mimeType", "image/png");
    json_t *images = json_object_get(e->root, "images");
    const json_t *name = json_object_get(json_array_get(images, (size_t)image->image), "name");
    if (name && json_object_set(made, "name", (json_t *)name) != 0) e->failed = true;
    if (count_uses(e, json_object_get(e->root, "materials"), NULL, image->image) == 1) {
        if (json_array_set_new(images, (size_t)image->image, made) != 0) e->failed = true;
        return;
    }
    json_t *copy = json_deep_copy(json_array_get(json_object_get(e->root, "textures"), texture));
    if (!copy || json_object_set_new(copy, "source", json_integer(add(e, "images", made))) != 0) e->failed = true;
    if (copy && json_object_set_new(info, "index", json_integer(add(e, "textures", copy))) != 0) e->failed = true;
}

/* Images that stand in files and data URIs come along: the new document has no folder. */
static void take_images(editor *e)
{
    json_t *json;
    size_t i;
    json_array_foreach(json_object_get(e->root, "images"), i, json)
    {
        const spl_image *image = i < (size_t)e->scene->image_count ? &e->scene->image[i] : NULL;
        if (!image || !image->data || !json_object_get(json, "uri")) continue;
        bool png = image->size > 4 && memcmp(image->data, "\x89PNG", 4) == 0;
        bool webp = image->size > 12 && memcmp(image->data + 8, "WEBP", 4) == 0;
        const char *type = png ? "image/png" : webp ? "image/webp" : "image/jpeg";
        if (json_object_set_new(json, "bufferView", json_integer(add_view(e, image->data, image->size))) != 0 ||
            json_object_set_new(json, "mimeType", json_string(type)) != 0)
            e->failed = true;
        json_object_del(json, "uri");
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void drop_name(json_t *names, const char *name)
{
    for (size_t i = json_array_size(names); i-- > 0;)
        if (strcmp(json_string_value(json_array_get(names, i)), name) == 0) json_array_remove(names, i);
}

static void edit(editor *e, const spl_atlas_part *part, const spl_atlas_image *image, int32_t image_count)
{
    static const char *const decoded[] = {"KHR_draco_mesh_compression", "EXT_meshopt_compression"};
    take_buffers(e);
    if (!e->failed) take_images(e);
    if (!e->failed) copy_materials(e, part, image, image_count);
    if (!e->failed) change_meshes(e, part);
    for (int32_t i = 0; i < image_count && !e->failed; i++) change_image(e, &image[i]);
    for (size_t i = 0; i < sizeof decoded / sizeof *decoded; i++) {
        drop_name(json_object_get(e->root, "extensionsUsed"), decoded[i]);
        drop_name(json_object_get(e->root, "extensionsRequired"), decoded[i]);
    }
    for (size_t i = 0; i < 2; i++) { /* lists may not be empty */
        const char *key = i ? "extensionsRequired" : "extensionsUsed";
        if (json_object_get(e->root, key) && json_array_size(json_object_get(e->root, key)) == 0)
            json_object_del(e->root, key);
    }
    if (json_object_set_new(e->root, "buffers", json_pack("[{s:I}]", "byteLength", (json_int_t)e->size)) != 0)
        e->failed = true;
}

/* "glTF", "JSON" and "BIN\0" in the order of their bytes. */
enum { GLB_MAGIC = 0x46546C67, GLB_JSON = 0x4E4F534A, GLB_BIN = 0x004E4942 };

/* The document as a .glb. */
static uint8_t *assemble(editor *e, size_t *size)
{
    char *text = spl_json_text(e->root, JSON_COMPACT, &e->allocator);
    size_t length = text ? strlen(text) : 0, padded = (length + 3) & ~(size_t)3;
    *size = 12 + 8 + padded + 8 + e->size;
    uint8_t *out = text && *size <= UINT32_MAX ? spl_new(&e->allocator, *size, 1) : NULL;
    if (out) {
        const void *bytes = text;
        spl_put_u32(out, GLB_MAGIC, false);
        spl_put_u32(out + 4, 2, false);
        spl_put_u32(out + 8, (uint32_t)*size, false);
        spl_put_u32(out + 12, (uint32_t)padded, false);
        spl_put_u32(out + 16, GLB_JSON, false);
        memset(out + 20, ' ', padded);
        memcpy(out + 20, bytes, length);
        spl_put_u32(out + 20 + padded, (uint32_t)e->size, false);
        spl_put_u32(out + 24 + padded, GLB_BIN, false);
        memcpy(out + 28 + padded, e->data, e->size);
    }
    spl_free(&e->allocator, text);
    return out;
}

/* What the scene says of where it came from: outputs must not be written over it. */
static bool keep_names(supple_scene *made, const supple_scene *scene)
{
    const supple_allocator *a = &made->allocator;
    made->file = spl_new(a, (size_t)scene->file_count, sizeof *made->file);
    if (!made->file) return false;
    for (int32_t i = 0; i < scene->file_count; i++) {
        made->file[i] = spl_strdup(a, scene->file[i]);
        if (!made->file[i]) return false;
        made->file_count = i + 1;
    }
    made->from_file = scene->from_file;
    made->unit = scene->unit;
    made->up = scene->up;
    made->fps = scene->fps;
    return true;
}

static void *copy_of(const supple_allocator *a, const void *from, size_t count, size_t size)
{
    void *to = spl_new(a, count, size);
    if (to && from) memcpy(to, from, count * size);
    return to;
}

/* Motions that were added to the scene are in no document. */
static bool copy_clip(const supple_allocator *a, const spl_clip *from, spl_clip *to)
{
    *to = (spl_clip){.duration = from->duration, .animation = -1, .fps = from->fps};
    to->name = spl_strdup(a, from->name);
    to->channel = spl_new(a, (size_t)from->channel_count, sizeof *to->channel);
    if (!to->name || !to->channel) return false;
    for (int32_t i = 0; i < from->channel_count; i++) {
        const spl_channel *c = &from->channel[i];
        size_t keys = (size_t)c->key_count, values = keys * (size_t)c->width * (c->interpolation == SPL_CUBIC ? 3 : 1);
        to->channel[i] = *c;
        to->channel[i].time = copy_of(a, c->time, keys, sizeof *c->time);
        to->channel[i].value = copy_of(a, c->value, values, sizeof *c->value);
        to->channel_count = i + 1;
        if (!to->channel[i].time || !to->channel[i].value) return false;
    }
    return true;
}

static bool keep_motions(supple_scene *made, const supple_scene *scene)
{
    const supple_allocator *a = &made->allocator;
    if (scene->clip_count <= made->clip_count) return true;
    spl_clip *clips = spl_resize(a, made->clip, (size_t)scene->clip_count, sizeof *clips);
    if (!clips) return false;
    made->clip = clips;
    while (made->clip_count < scene->clip_count) {
        int32_t i = made->clip_count++;
        if (!copy_clip(a, &scene->clip[i], &made->clip[i])) return false;
    }
    return true;
}

supple_result spl_atlas_scene_make(const supple_scene *scene, const spl_atlas_part *part, const spl_atlas_image *image,
                                   int32_t image_count, const supple_config *config, supple_scene **out,
                                   supple_error *error)
{
    editor e = {.scene = scene, .allocator = spl_allocator_of(config), .root = json_deep_copy(scene->document->json)};
    supple_config quiet = config ? *config : supple_config_default();
    size_t size = 0;
    quiet.log = NULL; /* what there is to say of the file was said */
    quiet.progress = NULL;
    *out = NULL;
    e.becomes = spl_new(&e.allocator, (size_t)scene->material_count, sizeof *e.becomes);
    if (!e.becomes) e.failed = true;
    if (e.root && !e.failed) edit(&e, part, image, image_count);
    uint8_t *glb = e.root && !e.failed ? assemble(&e, &size) : NULL;
    supple_result result = glb ? spl_gltf_load_memory(glb, size, scene->path, &quiet, out, error)
                               : spl_fail_memory(error, "the atlas' scene");
    if (result == SUPPLE_OK && (!keep_names(*out, scene) || !keep_motions(*out, scene))) {
        supple_scene_destroy(*out);
        *out = NULL;
        result = spl_fail_memory(error, "the atlas' scene");
    }
    json_decref(e.root);
    spl_free(&e.allocator, e.becomes);
    spl_free(&e.allocator, e.data);
    spl_free(&e.allocator, glb);
    return result;
}
