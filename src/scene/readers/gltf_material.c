/* Materials and images, for pictures only: what is wrong with them is a warning, never a refusal. */
#include "scene/readers/gltf_private.h"

#include <string.h>

/* An index inside a material, -1 where it is absent or wrong. */
static int32_t soft_index(const json_t *value, size_t limit)
{
    json_int_t index = json_is_integer(value) ? json_integer_value(value) : -1;
    return index >= 0 && (uint64_t)index < limit ? (int32_t)index : -1;
}

/* The image of a texture: its own, else that of an extension's format. */
static int32_t texture_image(const spl_gltf *g, const json_t *info)
{
    static const char *const formats[] = {"EXT_texture_webp", "KHR_texture_basisu"};
    const json_t *textures = json_object_get(g->root, "textures");
    size_t images = json_array_size(json_object_get(g->root, "images"));
    int32_t index = soft_index(json_object_get(info, "index"), json_array_size(textures));
    if (index < 0) return -1;
    const json_t *texture = json_array_get(textures, (size_t)index);
    const json_t *source = json_object_get(texture, "source");
    for (size_t i = 0; !source && i < sizeof formats / sizeof *formats; i++)
        source = json_object_get(json_object_get(json_object_get(texture, "extensions"), formats[i]), "source");
    return soft_index(source, images);
}

static bool read_material(spl_gltf *g, const json_t *object, int32_t index, spl_material *material)
{
    const json_t *pbr = json_object_get(object, "pbrMetallicRoughness");
    const json_t *texture = json_object_get(pbr, "baseColorTexture");
    const char *alpha = json_string_value(json_object_get(object, "alphaMode"));
    const json_t *cutoff = json_object_get(object, "alphaCutoff");
    double color[4] = {1, 1, 1, 1};
    material->name = spl_gltf_name(g, object);
    if (!material->name || !spl_gltf_numbers(g, pbr, "baseColorFactor", color, 4, "material", index)) return false;
    for (int i = 0; i < 4; i++) material->base_color[i] = (float)(color[i] < 0 ? 0 : color[i] > 1 ? 1 : color[i]);
    material->base_color_image = texture_image(g, texture);
    if (texture && material->base_color_image < 0)
        spl_scene_warn(g->scene, "material %d '%.40s': its texture is missing", index, material->name);
    material->alpha = !alpha                        ? SPL_ALPHA_OPAQUE
                      : strcmp(alpha, "MASK") == 0  ? SPL_ALPHA_MASK
                      : strcmp(alpha, "BLEND") == 0 ? SPL_ALPHA_BLEND
                                                    : SPL_ALPHA_OPAQUE;
    double limit = json_is_number(cutoff) ? json_number_value(cutoff) : 0.5;
    material->alpha_cutoff = limit >= 0 && limit <= 1 ? (float)limit : limit > 1 ? 1.0f : 0.0f;
    material->double_sided = json_is_true(json_object_get(object, "doubleSided"));
    return true;
}

bool spl_gltf_read_materials(spl_gltf *g)
{
    supple_scene *scene = g->scene;
    json_t *list;
    int32_t count;
    if (!spl_gltf_list(g, g->root, "materials", "asset", -1, &list, &count)) return false;
    scene->material = spl_gltf_new(g, (size_t)count, sizeof *scene->material, "materials");
    if (!scene->material) return false;
    scene->material_count = count;
    for (int32_t i = 0; i < count; i++)
        if (!read_material(g, json_array_get(list, (size_t)i), i, &scene->material[i])) return false;
    return true;
}

/* ---- images ----------------------------------------------------------------------------------------------------- */

static bool read_image_view(spl_gltf *g, const json_t *object, int32_t index, spl_image *image)
{
    const json_t *views = json_object_get(g->root, "bufferViews");
    int32_t view;
    size_t length, stride;
    if (!spl_gltf_index(g, object, "bufferView", (int32_t)json_array_size(views), "image", index, &view)) return false;
    if (!spl_gltf_size(g, json_array_get(views, (size_t)view), "byteLength", 0, "bufferView", view, &length) ||
        !spl_gltf_view(g, "image", index, view, 0, 1, length, &image->data, &stride))
        return false;
    image->size = length;
    return true;
}

static bool read_image(spl_gltf *g, const json_t *object, int32_t index, spl_image *image)
{
    spl_document *document = g->scene->document;
    const char *uri = json_string_value(json_object_get(object, "uri"));
    if (!uri) return json_object_get(object, "bufferView") ? read_image_view(g, object, index, image) : true;
    spl_buffer *blob = &document->blob[document->blob_count];
    if (!spl_gltf_uri(g, uri, "image", index, blob)) return false;
    document->blob_count++;
    *image = (spl_image){blob->data, blob->size};
    return true;
}

/* A failure to get an image becomes a warning with the same words; only running out of memory ends the load. */
static bool read_image_softly(spl_gltf *g, const json_t *object, int32_t index, spl_image *image)
{
    supple_error why, *outer = g->error;
    g->error = &why;
    bool ok = read_image(g, object, index, image);
    g->error = outer;
    if (ok) {
        if (!image->data) spl_scene_warn(g->scene, "image %d has no data", index);
        return true;
    }
    if (g->result == SUPPLE_ERROR_MEMORY) return spl_gltf_fail_memory(g, "an image");
    g->result = SUPPLE_OK;
    *image = (spl_image){0};
    size_t prefix = strlen(g->name) + 2;
    spl_scene_warn(g->scene, "%s", strlen(why.message) > prefix ? why.message + prefix : why.message);
    return true;
}

bool spl_gltf_read_images(spl_gltf *g)
{
    supple_scene *scene = g->scene;
    json_t *list;
    int32_t count;
    if (!spl_gltf_list(g, g->root, "images", "asset", -1, &list, &count)) return false;
    scene->image = spl_gltf_new(g, (size_t)count, sizeof *scene->image, "images");
    if (!scene->image) return false;
    scene->image_count = count;
    scene->document->blob = spl_gltf_new(g, (size_t)count, sizeof *scene->document->blob, "images");
    if (!scene->document->blob) return false;
    for (int32_t i = 0; i < count; i++)
        if (!read_image_softly(g, json_array_get(list, (size_t)i), i, &scene->image[i])) return false;
    return true;
}
