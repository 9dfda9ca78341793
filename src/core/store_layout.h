/* The bytes of a store file, shared by its writer and its reader. */
#ifndef SPL_CORE_STORE_LAYOUT_H
#define SPL_CORE_STORE_LAYOUT_H

#include "core/store.h"

#include <string.h>

enum {
    STORE_VERSION = 1, /* of the container */
    STORE_ALIGN = 64,
    STORE_HEADER = 128,
    STORE_SECTION = 96,
    /* fields of the header */
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_SECTIONS = 12,
    AT_SIZE = 16,  /* of the whole file */
    AT_TABLE = 24, /* where the table begins */
    AT_KEY = 32,
    AT_CONTENT_VERSION = 48,
    AT_KIND = 56,
    AT_TABLE_HASH = 88,
    AT_ZERO = 104, /* up to the hash */
    AT_HEADER_HASH = 112,
    /* fields of a section */
    AT_NAME = 0,
    AT_TYPE = 48,
    AT_WIDTH = 52,
    AT_COUNT = 56,
    AT_OFFSET = 64,
    AT_BYTES = 72,
    AT_HASH = 80,
};

/* The first byte is no text, the last two tell a file that went through a change of line ends. */
static const uint8_t store_magic[8] = {0x8b, 'S', 'U', 'P', 'P', 'L', '\r', '\n'};

static inline void store_put(uint8_t *p, uint64_t value, int width)
{
    for (int i = 0; i < width; i++) p[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t store_take(const uint8_t *p, int width)
{
    uint64_t value = 0;
    for (int i = 0; i < width; i++) value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static inline void store_put_key(uint8_t *p, spl_key key)
{
    store_put(p, key.part[0], 8);
    store_put(p + 8, key.part[1], 8);
}

static inline spl_key store_take_key(const uint8_t *p)
{
    return (spl_key){{store_take(p, 8), store_take(p + 8, 8)}};
}

static inline bool store_same_key(spl_key a, spl_key b)
{
    return a.part[0] == b.part[0] && a.part[1] == b.part[1];
}

static inline uint64_t store_aligned(uint64_t offset)
{
    return (offset + (STORE_ALIGN - 1)) & ~(uint64_t)(STORE_ALIGN - 1);
}

/* Whether `text` is 1 to room - 1 characters of the allowed set, followed by zeros only. */
static inline bool store_good_name(const uint8_t *text, size_t room)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    size_t n = 0;
    while (n < room && text[n]) {
        if (!memchr(allowed, text[n], sizeof allowed - 1)) return false;
        n++;
    }
    if (n == 0 || n == room) return false;
    for (size_t i = n; i < room; i++)
        if (text[i]) return false;
    return true;
}

/* count x width x size of the type; false on overflow or an unknown type. */
static inline bool store_array_size(spl_store_type type, uint64_t width, uint64_t count, uint64_t *out)
{
    uint64_t element = (uint64_t)spl_store_type_size(type) * width; /* width has 32 bits */
    if (element == 0 || count > (uint64_t)INT64_MAX / element) return false;
    *out = count * element;
    return true;
}

/* Turns numbers round on machines of the other byte order; nothing elsewhere. */
void spl_store_turn(void *data, size_t count, size_t width);

#endif
