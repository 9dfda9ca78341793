/* Decodes streams of Draco, as glTF's KHR_draco_mesh_compression has them.
 *
 * The question, in words of 32 bits of this machine: the number of streams; for each its bytes, its vertices and its
 * attributes; for each attribute its id in the stream, glTF's component type and the numbers a vertex; then the stream,
 * padded to whole words. The answer, for each stream: the number of indices, and they; then each attribute, every
 * vertex padded to whole words. */
#ifndef SUPPLE_IMPORT_DRACO_H
#define SUPPLE_IMPORT_DRACO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The answer, to be freed, or NULL and a line in `why`. */
uint8_t *import_draco(const uint8_t *question, size_t size, size_t *answer_size, char *why, size_t why_size);

#ifdef __cplusplus
}
#endif

#endif
