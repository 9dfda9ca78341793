#include "scene/document.h"

#include "core/memory.h"

static void free_buffers(const supple_allocator *a, spl_buffer *buffer, int32_t count)
{
    for (int32_t i = 0; i < count; i++) spl_free(a, buffer[i].data);
    spl_free(a, buffer);
}

void spl_document_destroy(spl_document *document)
{
    if (!document) return;
    supple_allocator a = document->allocator;
    json_decref(document->json);
    free_buffers(&a, document->buffer, document->buffer_count);
    free_buffers(&a, document->blob, document->blob_count);
    spl_free(&a, document);
}
