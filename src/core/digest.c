/* Four lanes take the words of a 32-byte block in turn: lane = rotate((lane + word x A), 31) x B. For a fixed word the
 * step is a bijection of the lane and for a fixed lane one of the word, so a single changed word always changes the
 * lanes; the last mix folds 256 bits to 128. */
#include "core/digest.h"

#include "core/hash.h"

#include <stdbool.h>
#include <string.h>

static const uint64_t A = 0x9e3779b97f4a7c15u, B = 0xc2b2ae3d27d4eb4fu;

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t little(const uint8_t *p)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) word |= (uint64_t)p[i] << 8 * i; /* compilers make one load of it */
    return word;
}

spl_digest spl_digest_begin(void)
{
    return (spl_digest){.lane = {A, B, 0x165667b19e3779f9u, 0x27d4eb2f165667c5u}};
}

static const uint8_t *blocks(uint64_t lane[4], const uint8_t *p, size_t count)
{
    uint64_t a = lane[0], b = lane[1], c = lane[2], d = lane[3];
    for (; count > 0; count--, p += 32) {
        a = rotate(a + little(p) * A, 31) * B;
        b = rotate(b + little(p + 8) * A, 31) * B;
        c = rotate(c + little(p + 16) * A, 31) * B;
        d = rotate(d + little(p + 24) * A, 31) * B;
    }
    lane[0] = a, lane[1] = b, lane[2] = c, lane[3] = d;
    return p;
}

void spl_digest_bytes(spl_digest *d, const void *data, size_t size)
{
    const uint8_t *p = data;
    size_t held = d->length % 32;
    d->length += size;
    if (held) {
        size_t take = size < 32 - held ? size : 32 - held;
        if (take) memcpy(d->buffer + held, p, take);
        if (held + take < 32) return;
        blocks(d->lane, d->buffer, 1);
        p += take;
        size -= take;
    }
    p = blocks(d->lane, p, size / 32);
    if (size % 32) memcpy(d->buffer, p, size % 32);
}

spl_key spl_digest_end(const spl_digest *d)
{
    uint64_t lane[4];
    uint8_t last[32] = {0};
    memcpy(lane, d->lane, sizeof lane);
    memcpy(last, d->buffer, d->length % 32); /* the length tells padding from zeros */
    blocks(lane, last, 1);
    uint64_t x = spl_mix(lane[0] ^ d->length), y = spl_mix(lane[1] + A);
    spl_key key;
    x = spl_mix(x ^ rotate(lane[2], 17) * B);
    y = spl_mix(y ^ rotate(lane[3], 29) * A);
    key.part[0] = spl_mix(x + rotate(y, 32) * A);
    key.part[1] = spl_mix(y + rotate(x, 32) * B);
    return key;
}

/* ---- fields ----------------------------------------------------------------------------------------------------- */

static void put_field(spl_digest *d, char kind, uint64_t value)
{
    uint8_t bytes[9] = {(uint8_t)kind};
    for (int i = 0; i < 8; i++) bytes[1 + i] = (uint8_t)(value >> 8 * i);
    spl_digest_bytes(d, bytes, sizeof bytes);
}

void spl_digest_text(spl_digest *d, const char *text)
{
    put_field(d, text ? 't' : 'n', text ? strlen(text) : 0);
    if (text) spl_digest_bytes(d, text, strlen(text));
}

void spl_digest_integer(spl_digest *d, int64_t value)
{
    put_field(d, 'i', (uint64_t)value);
}

void spl_digest_real(spl_digest *d, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_field(d, 'r', bits);
}

void spl_digest_array(spl_digest *d, const void *data, size_t count, size_t width)
{
    put_field(d, 'a', width);
    put_field(d, 'c', count);
    const uint8_t *p = data;
    if (width == 1 || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        spl_digest_bytes(d, p, count * width);
        return;
    }
    for (size_t i = 0; i < count; i++, p += width) {
        uint8_t turned[8];
        for (size_t k = 0; k < width; k++) turned[k] = p[width - 1 - k];
        spl_digest_bytes(d, turned, width);
    }
}

spl_key spl_digest_of(const void *data, size_t size)
{
    spl_digest d = spl_digest_begin();
    spl_digest_bytes(&d, data, size);
    return spl_digest_end(&d);
}
