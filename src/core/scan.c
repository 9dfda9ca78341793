#include "core/scan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_LENGTH = 128, COUNT_LIMIT = 1 << 29 };

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

supple_result spl_scan_fail(spl_scan *s, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (s->binary)
        return spl_fail(s->error, SUPPLE_ERROR_INPUT, "%s: byte %zu: %s", s->name, (size_t)(s->at - s->begin), text);
    size_t line = 1;
    for (const uint8_t *p = s->begin; p < s->at; p++) line += *p == '\n';
    return spl_fail(s->error, SUPPLE_ERROR_INPUT, "%s:%zu: %s", s->name, line, text);
}

static supple_result ends_early(spl_scan *s)
{
    return spl_scan_fail(s, "the file ends early; it may have been cut off");
}

bool spl_scan_blank(spl_scan *s)
{
    while (s->at < s->end) {
        if (s->hash_comments && *s->at == '#')
            spl_scan_skip_line(s);
        else if (is_blank(*s->at))
            s->at++;
        else
            return true;
    }
    return false;
}

void spl_scan_skip_line(spl_scan *s)
{
    const uint8_t *newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
    s->at = newline ? newline + 1 : s->end;
}

static size_t word_length(const spl_scan *s)
{
    const uint8_t *p = s->at;
    while (p < s->end && !is_blank(*p)) p++;
    return (size_t)(p - s->at);
}

bool spl_scan_skip_word(spl_scan *s)
{
    if (!spl_scan_blank(s)) return false;
    s->at += word_length(s);
    return true;
}

supple_result spl_scan_word(spl_scan *s, char word[SPL_SCAN_WORD])
{
    if (!spl_scan_blank(s)) return ends_early(s);
    size_t n = word_length(s);
    if (n >= SPL_SCAN_WORD) return spl_scan_fail(s, "'%.20s...' is not a word of this format", (const char *)s->at);
    memcpy(word, s->at, n);
    word[n] = 0;
    s->at += n;
    return SUPPLE_OK;
}

static supple_result not_a_number(spl_scan *s, const char *kind)
{
    size_t n = word_length(s);
    return spl_scan_fail(s, "'%.*s' is not %s", n > 40 ? 40 : (int)n, (const char *)s->at, kind);
}

supple_result spl_scan_integer(spl_scan *s, int64_t *out)
{
    if (!spl_scan_blank(s)) return ends_early(s);
    const uint8_t *p = s->at;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    const uint8_t *digits = p;
    int64_t value = 0;
    while (p < s->end && *p >= '0' && *p <= '9' && p - digits < 18) value = 10 * value + (*p++ - '0');
    if (p == digits || (p < s->end && !is_blank(*p))) return not_a_number(s, "a whole number");
    *out = negative ? -value : value;
    s->at = p;
    return SUPPLE_OK;
}

/* ---- real numbers ----------------------------------------------------------------------------------------------- */

/* A decimal number taken apart: digits x 10^exponent. */
typedef struct decimal {
    uint64_t digits;
    int exponent;
    bool negative, exact; /* exact: no digit was left out */
} decimal;

static const uint8_t *scan_digits(const uint8_t *p, const uint8_t *end, decimal *d, bool fraction)
{
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        if (d->digits > (UINT64_MAX - 9) / 10) {
            d->exact = false; /* the slow path reads the word again, whole */
            continue;
        }
        d->digits = 10 * d->digits + (uint64_t)(*p - '0');
        d->exponent -= fraction;
    }
    return p;
}

/* Takes the number at s->at apart; NULL if it is none, else where it ends. Fortran's D is read as an E. */
static const uint8_t *take_apart(const spl_scan *s, decimal *d)
{
    const uint8_t *p = s->at, *end = s->end;
    *d = (decimal){.negative = *p == '-', .exact = true};
    if (*p == '-' || *p == '+') p++;
    const uint8_t *first = p;
    p = scan_digits(p, end, d, false);
    size_t digits = (size_t)(p - first);
    if (p < end && *p == '.') {
        const uint8_t *point = ++p;
        p = scan_digits(p, end, d, true);
        digits += (size_t)(p - point);
    }
    if (digits == 0) return NULL;
    if (p < end && (*p == 'e' || *p == 'E' || *p == 'd' || *p == 'D')) {
        p++;
        bool negative = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) p++;
        const uint8_t *start = p;
        int e = 0;
        for (; p < end && *p >= '0' && *p <= '9'; p++) e = e < 10000 ? 10 * e + (*p - '0') : e;
        if (p == start) return NULL;
        d->exponent += negative ? -e : e;
    }
    return p < end && !is_blank(*p) ? NULL : p;
}

/* The C library's exact conversion of the word, in the C locale. */
static double convert_slowly(const spl_scan *s, const uint8_t *end)
{
    char word[NUMBER_LENGTH];
    size_t n = (size_t)(end - s->at);
    if (n >= sizeof word) return NAN;
    for (size_t i = 0; i < n; i++) word[i] = (char)(s->at[i] == 'd' || s->at[i] == 'D' ? 'e' : s->at[i]);
    word[n] = 0;
    return strtod_l(word, NULL, s->c_locale);
}

/* Up to 2^53 and 10^22 the digits and the power of ten are doubles without error, and one multiplication or division
 * rounds once: the result is exact (Clinger 1990). Other numbers take the slow path. */
supple_result spl_scan_real(spl_scan *s, double *out)
{
    static const double power[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!spl_scan_blank(s)) return ends_early(s);
    decimal d;
    const uint8_t *end = take_apart(s, &d);
    if (!end) return not_a_number(s, "a number");
    if (d.exact && d.digits <= 1ull << 53 && d.exponent >= -22 && d.exponent <= 22) {
        double value = (double)d.digits;
        value = d.exponent < 0 ? value / power[-d.exponent] : value * power[d.exponent];
        *out = d.negative ? -value : value;
    } else {
        *out = convert_slowly(s, end);
    }
    if (!isfinite(*out)) return not_a_number(s, "a number that can be used");
    s->at = end;
    return SUPPLE_OK;
}

/* ---- binary ----------------------------------------------------------------------------------------------------- */

const uint8_t *spl_scan_bytes(spl_scan *s, size_t count, size_t width)
{
    if (count > (size_t)(s->end - s->at) / width) {
        ends_early(s);
        return NULL;
    }
    const uint8_t *p = s->at;
    s->at += count * width;
    return p;
}

static uint64_t decode(const uint8_t *p, int width, bool swap)
{
    uint8_t bytes[8] = {0};
    for (int i = 0; i < width; i++) bytes[i] = p[swap ? width - 1 - i : i];
    uint64_t value = 0;
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        memcpy(&value, bytes, sizeof value);
    else
        for (int i = 0; i < width; i++) value = value << 8 | bytes[i];
    return value;
}

int64_t spl_scan_decode_integer(const uint8_t *p, int width, bool swap)
{
    uint64_t value = decode(p, width, swap), sign = 1ull << (8 * width - 1);
    return (int64_t)((value ^ sign) - sign);
}

double spl_scan_decode_real(const uint8_t *p, int width, bool swap)
{
    uint64_t bits = decode(p, width, swap);
    if (width == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    uint32_t half = (uint32_t)bits;
    float value;
    memcpy(&value, &half, sizeof value);
    return (double)value;
}

supple_result spl_scan_i32(spl_scan *s, int32_t *out)
{
    int64_t value;
    if (s->binary) {
        const uint8_t *p = spl_scan_bytes(s, 1, 4);
        if (!p) return SUPPLE_ERROR_INPUT;
        value = spl_scan_decode_integer(p, 4, s->swap);
    } else {
        supple_result result = spl_scan_integer(s, &value);
        if (result) return result;
        if (value < INT32_MIN || value > INT32_MAX) return spl_scan_fail(s, "%lld is out of range", (long long)value);
    }
    *out = (int32_t)value;
    return SUPPLE_OK;
}

supple_result spl_scan_size(spl_scan *s, int64_t *out)
{
    if (!s->binary) return spl_scan_integer(s, out);
    const uint8_t *p = spl_scan_bytes(s, 1, (size_t)s->size_bytes);
    if (!p) return SUPPLE_ERROR_INPUT;
    *out = spl_scan_decode_integer(p, s->size_bytes, s->swap);
    return SUPPLE_OK;
}

supple_result spl_scan_f64(spl_scan *s, double *out)
{
    if (!s->binary) return spl_scan_real(s, out);
    const uint8_t *p = spl_scan_bytes(s, 1, 8);
    if (!p) return SUPPLE_ERROR_INPUT;
    *out = spl_scan_decode_real(p, 8, s->swap);
    return SUPPLE_OK;
}

supple_result spl_scan_check_count(spl_scan *s, int64_t count, size_t bytes, const char *what)
{
    if (count < 0) return spl_scan_fail(s, "a negative number of %s (%lld)", what, (long long)count);
    if (count >= COUNT_LIMIT) return spl_scan_fail(s, "%lld %s are more than can be handled", (long long)count, what);
    if ((uint64_t)count > (uint64_t)(s->end - s->at) / bytes + 1) /* the last line may lack its end */
        return spl_scan_fail(s, "%lld %s do not fit in the rest of the file; it may have been cut off",
                             (long long)count, what);
    return SUPPLE_OK;
}
