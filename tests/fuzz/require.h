/* What must hold of every input: where it does not, the place is printed and the program ends, for libFuzzer to see. */
#ifndef SPL_TESTS_FUZZ_REQUIRE_H
#define SPL_TESTS_FUZZ_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

static inline void fuzz_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

#define FUZZ_REQUIRE(condition) ((condition) ? (void)0 : fuzz_failed(__FILE__, __LINE__, #condition))

#endif
