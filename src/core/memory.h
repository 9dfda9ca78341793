/* Memory: the host's allocator with checked sizes, and a scratch arena for work that lives no longer than one call. */
#ifndef SPL_CORE_MEMORY_H
#define SPL_CORE_MEMORY_H

#include <supple/base.h>

/* The allocator to use for a config: its own, or malloc where it gives none. */
supple_allocator spl_allocator_of(const supple_config *config);

/* Zeroed array of `count` elements; NULL if the size overflows or memory is out. A count of 0 gives a valid block. */
void *spl_new(const supple_allocator *a, size_t count, size_t size);

/* Resizes an array to `count` elements; NULL (and the old array stands) if the size overflows or memory is out. */
void *spl_resize(const supple_allocator *a, void *block, size_t count, size_t size);

/* Frees a block; accepts NULL. */
void spl_free(const supple_allocator *a, void *block);

/* A copy of a string, or of its first `length` bytes; NULL if memory is out. */
char *spl_strdup(const supple_allocator *a, const char *text);
char *spl_strndup(const supple_allocator *a, const char *text, size_t length);

/* a * b into *out; false on overflow. */
bool spl_mul(size_t a, size_t b, size_t *out);

/* Stack-like memory from one block: take pieces, then go back to a mark. Never grows after creation. */
typedef struct spl_arena {
    supple_allocator allocator;
    unsigned char *base;
    size_t size, used, peak;
} spl_arena;

bool spl_arena_init(spl_arena *arena, const supple_allocator *a, size_t size);
void spl_arena_release(spl_arena *arena);

/* `count` elements aligned to 64 bytes, not cleared; NULL if the arena is full. */
void *spl_arena_take(spl_arena *arena, size_t count, size_t size);

/* The present fill, and going back to it: everything taken since is given back. */
size_t spl_arena_mark(const spl_arena *arena);
void spl_arena_rewind(spl_arena *arena, size_t mark);

#endif
