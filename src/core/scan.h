/* Reading numbers and words from a file in memory, as text or as binary, with the place in every message. */
#ifndef SPL_CORE_SCAN_H
#define SPL_CORE_SCAN_H

#include "core/error.h"

#include <locale.h>

typedef struct spl_scan {
    const char *name; /* begins every message */
    const uint8_t *begin, *at, *end;
    locale_t c_locale;       /* for numbers beyond the fast path */
    supple_error *error;     /* where failures go; may be NULL */
    supple_allocator memory; /* for what the readers keep */
    bool hash_comments;      /* text: '#' begins a comment up to the end of the line */
    bool binary;             /* numbers are binary: spl_scan_i32, _size and _f64 */
    bool swap;               /* binary: the other byte order than this machine's */
    int size_bytes;          /* binary: width of spl_scan_size, 4 or 8 */
} spl_scan;

enum { SPL_SCAN_WORD = 64 };

/* SUPPLE_ERROR_INPUT with "NAME:LINE: ..." or, while `binary` is set, "NAME: byte N: ...". */
supple_result spl_scan_fail(spl_scan *s, const char *format, ...) SPL_PRINTF(2, 3);

/* Skips blanks, line ends and comments. False at the end of the file. */
bool spl_scan_blank(spl_scan *s);

/* Skips the next word whatever its length; false at the end of the file. */
bool spl_scan_skip_word(spl_scan *s);

/* Skips up to and including the next line end. */
void spl_scan_skip_line(spl_scan *s);

/* The next word. One that does not fit is a failure. */
supple_result spl_scan_word(spl_scan *s, char word[SPL_SCAN_WORD]);

/* The next number as text, whatever `binary` says. A real number is finite. */
supple_result spl_scan_integer(spl_scan *s, int64_t *out);
supple_result spl_scan_real(spl_scan *s, double *out);

/* The next number, as text or as binary. */
supple_result spl_scan_i32(spl_scan *s, int32_t *out);
supple_result spl_scan_size(spl_scan *s, int64_t *out);
supple_result spl_scan_f64(spl_scan *s, double *out);

/* The next `count` elements of `width` bytes as they stand; NULL (and a failure is recorded) if the file ends before.
 */
const uint8_t *spl_scan_bytes(spl_scan *s, size_t count, size_t width);

/* A binary number of `width` bytes (1, 2, 4, 8), signed, in the given byte order; real ones of 4 or 8 bytes. */
int64_t spl_scan_decode_integer(const uint8_t *p, int width, bool swap);
double spl_scan_decode_real(const uint8_t *p, int width, bool swap);

/* Checks that a count read from the file can be true: not negative, below 2^29 (faces are numbered in 31 bits), and
 * `count` items of at least `bytes` each fit in the rest of the file. */
supple_result spl_scan_check_count(spl_scan *s, int64_t count, size_t bytes, const char *what);

#endif
