/* The glTF document behind a scene: its JSON, kept as it was read, and its buffers. */
#ifndef SPL_SCENE_DOCUMENT_H
#define SPL_SCENE_DOCUMENT_H

#include <jansson.h>
#include <supple/base.h>

typedef struct spl_buffer {
    uint8_t *data;
    size_t size;
} spl_buffer;

struct spl_document {
    supple_allocator allocator;
    json_t *json; /* the root object */
    int32_t buffer_count;
    spl_buffer *buffer; /* decoded: the GLB chunk, data URIs and files alike; one for each of the JSON's buffers */
    int32_t blob_count;
    spl_buffer *blob; /* bytes of images that do not stand in a buffer: data URIs and files */
};
typedef struct spl_document spl_document;

/* Frees the document with its JSON and buffers. Accepts NULL. */
void spl_document_destroy(spl_document *document);

#endif
