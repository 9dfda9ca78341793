#include "core/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *default_allocate(void *user, size_t size)
{
    (void)user;
    return malloc(size);
}

static void *default_reallocate(void *user, void *block, size_t size)
{
    (void)user;
    return realloc(block, size);
}

static void default_release(void *user, void *block)
{
    (void)user;
    free(block);
}

supple_allocator spl_allocator_of(const supple_config *config)
{
    if (config && config->allocator.allocate) return config->allocator;
    return (supple_allocator){default_allocate, default_reallocate, default_release, NULL};
}

bool spl_mul(size_t a, size_t b, size_t *out)
{
    if (b && a > SIZE_MAX / b) return false;
    *out = a * b;
    return true;
}

void *spl_new(const supple_allocator *a, size_t count, size_t size)
{
    size_t bytes;
    if (!spl_mul(count, size, &bytes)) return NULL;
    void *block = a->allocate(a->user, bytes ? bytes : 1);
    if (block) memset(block, 0, bytes);
    return block;
}

void *spl_resize(const supple_allocator *a, void *block, size_t count, size_t size)
{
    size_t bytes;
    if (!spl_mul(count, size, &bytes)) return NULL;
    return a->reallocate(a->user, block, bytes ? bytes : 1);
}

void spl_free(const supple_allocator *a, void *block)
{
    if (block) a->release(a->user, block);
}

char *spl_strndup(const supple_allocator *a, const char *text, size_t length)
{
    char *copy = spl_new(a, length + 1, 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

char *spl_strdup(const supple_allocator *a, const char *text)
{
    return spl_strndup(a, text, strlen(text));
}

enum { ARENA_ALIGN = 64 };

bool spl_arena_init(spl_arena *arena, const supple_allocator *a, size_t size)
{
    *arena = (spl_arena){.allocator = *a, .size = size};
    arena->base = spl_new(a, size, 1);
    if (!arena->base) arena->size = 0;
    return arena->base != NULL;
}

void spl_arena_release(spl_arena *arena)
{
    if (arena->base) spl_free(&arena->allocator, arena->base);
    *arena = (spl_arena){0};
}

void *spl_arena_take(spl_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (!spl_mul(count, size, &bytes)) return NULL;
    size_t address = (size_t)(uintptr_t)(arena->base + arena->used);
    size_t pad = (ARENA_ALIGN - address % ARENA_ALIGN) % ARENA_ALIGN;
    size_t room = arena->size - arena->used;
    if (pad > room || bytes > room - pad) return NULL;
    void *block = arena->base + arena->used + pad;
    arena->used += pad + bytes;
    if (arena->used > arena->peak) arena->peak = arena->used;
    return block;
}

size_t spl_arena_mark(const spl_arena *arena)
{
    return arena->used;
}

void spl_arena_rewind(spl_arena *arena, size_t mark)
{
    assert(mark <= arena->used);
    arena->used = mark;
}
