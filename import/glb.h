/* A .glb being put together: glTF's JSON and one binary chunk. The importer is a process of its own, so running out of
 * memory simply ends it. */
#ifndef SUPPLE_IMPORT_GLB_H
#define SUPPLE_IMPORT_GLB_H

#include <jansson.h>
#include <supple/base.h>

enum { GLB_USHORT = 5123, GLB_UINT = 5125, GLB_FLOAT = 5126 };

typedef struct glb {
    json_t *root, *views, *accessors; /* the lists belong to root */
    uint8_t *bin;
    size_t size, room;
} glb;

/* Ends the program: one line for the person, exit code 1. */
_Noreturn void import_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory, or the end. */
void *import_new(size_t count, size_t size);

void glb_begin(glb *g);

/* The array of that name in the root, made if absent. */
json_t *glb_list(glb *g, const char *name);

/* Adds bytes as a view and returns its index. */
int32_t glb_view(glb *g, const void *data, size_t size);

/* Adds `count` elements as an accessor and returns its index; `width` numbers each, named by glTF's type. Bounds are
 * stored where glTF asks for them: positions and times, floats only. */
int32_t glb_accessor(glb *g, const void *data, size_t count, int component, int width, bool bounds);

/* Sets a member; the value is taken over. */
void glb_set(json_t *object, const char *key, json_t *value);
void glb_append(json_t *array, json_t *value);

/* A string from a file, made valid UTF-8 and short enough. */
json_t *glb_text(const char *text);

/* Writes the whole to a file descriptor; false if it cannot be written. */
bool glb_write(glb *g, int file);

#endif
