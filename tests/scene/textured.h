/* A character with images in its buffer: tests/data/hero.glb with a JPEG as its colour and a PNG as its glow. */
#ifndef SPL_TESTS_SCENE_TEXTURED_H
#define SPL_TESTS_SCENE_TEXTURED_H

#include "core/file.h"
#include "core/memory.h"
#include "scene/image.h"
#include "scene/readers/gltf.h"

#include <stdio.h> /* before jpeglib.h, which needs it */

#include <jansson.h>
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTURE_SIZE = 32 };

static inline uint8_t *textured_jpeg(size_t *size)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long bytes = 0;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &data, &bytes);
    jpeg.image_width = jpeg.image_height = TEXTURE_SIZE;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (int y = 0; y < TEXTURE_SIZE; y++) {
        uint8_t line[3 * TEXTURE_SIZE];
        for (int i = 0; i < 3 * TEXTURE_SIZE; i++) line[i] = (uint8_t)(i % 3 == 0 ? 8 * y : i);
        JSAMPROW row = line;
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    *size = bytes;
    return data;
}

/* An image at the end of the buffer, and the texture that shows it. */
static inline void textured_add(json_t *root, uint8_t *bin, size_t *used, const uint8_t *image, size_t size,
                                const char *kind)
{
    json_t *views = json_object_get(root, "bufferViews"), *images = json_object_get(root, "images");
    *used = (*used + 3) & ~(size_t)3;
    memcpy(bin + *used, image, size);
    json_array_append_new(images, json_pack("{s:i, s:s}", "bufferView", (int)json_array_size(views), "mimeType", kind));
    json_array_append_new(views,
                          json_pack("{s:i, s:i, s:i}", "buffer", 0, "byteOffset", (int)*used, "byteLength", (int)size));
    json_array_append_new(json_object_get(root, "textures"),
                          json_pack("{s:i}", "source", (int)json_array_size(images) - 1));
    *used += size;
}

static inline void textured_dress(json_t *root, uint8_t *bin, size_t *used)
{
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t pixel[16] = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 9, 9, 9, 255}, *png = NULL;
    size_t jpeg_size, png_size = 0;
    uint8_t *jpeg = textured_jpeg(&jpeg_size);
    if (spl_image_encode_png(&(spl_pixels){2, 2, pixel}, &a, &png, &png_size, NULL) != SUPPLE_OK) abort();
    json_object_set_new(root, "images", json_array());
    json_object_set_new(root, "textures", json_array());
    textured_add(root, bin, used, jpeg, jpeg_size, "image/jpeg");
    textured_add(root, bin, used, png, png_size, "image/png");
    free(jpeg);
    spl_free(&a, png);
    json_t *material = json_array_get(json_object_get(root, "materials"), 0);
    json_object_set_new(json_object_get(material, "pbrMetallicRoughness"), "baseColorTexture",
                        json_pack("{s:i}", "index", 0));
    json_object_set_new(material, "emissiveTexture", json_pack("{s:i}", "index", 1));
    json_object_set_new(json_array_get(json_object_get(root, "buffers"), 0), "byteLength", json_integer((int)*used));
}

/* A .glb of a JSON and its buffer. */
static inline uint8_t *textured_pack(const json_t *root, const uint8_t *bin, size_t used, size_t *size)
{
    char *text = json_dumps(root, JSON_COMPACT);
    size_t length = strlen(text), room = (length + 3) & ~(size_t)3, rest = (used + 3) & ~(size_t)3;
    uint8_t *glb = calloc(1, *size = 28 + room + rest);
    const uint32_t head[5] = {0x46546C67, 2, (uint32_t)*size, (uint32_t)room, 0x4E4F534A};
    const uint32_t next[2] = {(uint32_t)rest, 0x004E4942};
    memcpy(glb, head, sizeof head);
    memset(glb + 20, ' ', room);
    memcpy(glb + 20, text, length);
    memcpy(glb + 20 + room, next, sizeof next);
    memcpy(glb + 28 + room, bin, used);
    free(text);
    return glb;
}

static inline supple_scene *load_textured(void)
{
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t *file;
    size_t size, length, used, packed;
    if (spl_file_read(SPL_DATA_DIR "/hero.glb", SIZE_MAX, &a, &file, &size, NULL) != SUPPLE_OK) return NULL;
    length = (size_t)(file[12] | file[13] << 8 | file[14] << 16);
    used = size - 28 - length;
    json_t *root = json_loadb((const char *)file + 20, length, 0, NULL);
    uint8_t *bin = calloc(1, used + 65536);
    memcpy(bin, file + 28 + length, used);
    textured_dress(root, bin, &used);
    uint8_t *glb = textured_pack(root, bin, used, &packed);
    supple_scene *scene = NULL;
    supple_error error = {0};
    if (supple_scene_load_memory(glb, packed, "textured.glb", NULL, &scene, &error) != SUPPLE_OK)
        printf("    %s\n", error.message);
    free(glb);
    free(bin);
    json_decref(root);
    spl_free(&a, file);
    return scene;
}

#endif
