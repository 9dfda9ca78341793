#include "core/md5.h"

#include <string.h>

/* floor(2^32 |sin(i + 1)|), RFC 1321 section 3.4. */
static const uint32_t sine[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static void block(uint32_t state[4], const uint8_t *p)
{
    static const int turn[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t word[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (size_t i = 0; i < 16; i++, p += 4)
        word[i] = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t f, k;
        switch (i / 16) {
        case 0:
            f = (b & c) | (~b & d), k = i;
            break;
        case 1:
            f = (d & b) | (~d & c), k = 5 * i + 1;
            break;
        case 2:
            f = b ^ c ^ d, k = 3 * i + 5;
            break;
        default:
            f = c ^ (b | ~d), k = 7 * i;
            break;
        }
        uint32_t sum = a + f + sine[i] + word[k % 16];
        a = d, d = c, c = b;
        b += rotate(sum, turn[i / 16][i % 4]);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

spl_md5 spl_md5_begin(void)
{
    return (spl_md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void spl_md5_bytes(spl_md5 *md5, const void *data, size_t size)
{
    const uint8_t *p = data;
    size_t held = md5->length % 64;
    md5->length += size;
    if (held) {
        size_t n = size < 64 - held ? size : 64 - held;
        memcpy(md5->buffer + held, p, n);
        if (held + n < 64) return;
        block(md5->state, md5->buffer);
        p += n;
        size -= n;
    }
    for (; size >= 64; p += 64, size -= 64) block(md5->state, p);
    if (size) memcpy(md5->buffer, p, size);
}

void spl_md5_end(const spl_md5 *md5, uint8_t out[16])
{
    static const uint8_t padding[64] = {0x80};
    spl_md5 last = *md5;
    uint8_t bits[8];
    for (int i = 0; i < 8; i++) bits[i] = (uint8_t)(md5->length * 8 >> 8 * i);
    spl_md5_bytes(&last, padding, 1 + (119 - md5->length % 64) % 64);
    spl_md5_bytes(&last, bits, 8);
    for (int i = 0; i < 16; i++) out[i] = (uint8_t)(last.state[i / 4] >> 8 * (i % 4));
}
