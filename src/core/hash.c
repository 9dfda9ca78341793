/* Multiply-and-fold over 8-byte words with a finishing mix (the constants are odd numbers with balanced bits). */
#include "core/hash.h"

#include <string.h>

uint64_t spl_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return x;
}

uint64_t spl_hash(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t h = spl_mix(seed ^ (size * 0x9e3779b97f4a7c15u) ^ 0x2545f4914f6cdd1du);
    while (size >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = spl_mix(h ^ word) + 0x9e3779b97f4a7c15u;
        p += 8;
        size -= 8;
    }
    uint64_t tail = 0;
    if (size) memcpy(&tail, p, size);
    return spl_mix(h ^ tail);
}
