/* A test program is a list of named cases. Each prints one line; the last line counts them for scripts/run-tests.
 *
 *     TEST(name) { CHECK(condition); CHECK_NEAR(a, b, tolerance); }
 *     TEST_MAIN(RUN(name), RUN(other))
 */
#ifndef SPL_TESTS_TEST_H
#define SPL_TESTS_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct spl_test {
    const char *name;
    void (*run)(void);
} spl_test;

enum { TEST_SHOWN = 10 }; /* failures of a case that are printed */

static int test_failures; /* of the running case */
static const char *test_skipped;

#define TEST(name) static void test_##name(void)
#define RUN(name)                                                                                                      \
    {                                                                                                                  \
#name, test_##name                                                                                             \
    }

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            if (test_failures++ < TEST_SHOWN) printf("    %s:%d: %s\n", __FILE__, __LINE__, #condition);               \
        }                                                                                                              \
    } while (0)

#define CHECK_NEAR(a, b, tolerance)                                                                                    \
    do {                                                                                                               \
        double check_a = (double)(a), check_b = (double)(b);                                                           \
        if (!(fabs(check_a - check_b) <= (double)(tolerance))) {                                                       \
            if (test_failures++ < TEST_SHOWN)                                                                          \
                printf("    %s:%d: %s = %.17g, %s = %.17g, differ by more than %g\n", __FILE__, __LINE__, #a, check_a, \
                       #b, check_b, (double)(tolerance));                                                              \
        }                                                                                                              \
    } while (0)

/* Ends the case if the condition fails: what follows would be meaningless. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            test_failures++;                                                                                           \
            printf("    %s:%d: required: %s\n", __FILE__, __LINE__, #condition);                                       \
            return;                                                                                                    \
        }                                                                                                              \
    } while (0)

/* Ends the case as skipped, with the reason. */
#define SKIP(reason)                                                                                                   \
    do {                                                                                                               \
        test_skipped = reason;                                                                                         \
        return;                                                                                                        \
    } while (0)

/* A size of a case: `quick` where SUPPLE_TEST_QUICK is set, as it is under the sanitizers, which cost up to twenty
 * times the time. A case runs either way. */
static inline int test_size(int whole, int quick)
{
    return getenv("SUPPLE_TEST_QUICK") ? quick : whole;
}

static int test_main(const spl_test *tests, size_t count)
{
    int passed = 0, failed = 0, skipped = 0;
    const char *only = getenv("SUPPLE_TEST_ONLY"); /* cases with this in their names */
    for (size_t i = 0; i < count; i++) {
        if (only && !strstr(tests[i].name, only)) continue;
        test_failures = 0;
        test_skipped = NULL;
        tests[i].run();
        if (test_failures)
            failed++;
        else if (test_skipped)
            skipped++;
        else
            passed++;
        if (test_failures)
            printf("FAIL %s\n", tests[i].name);
        else if (test_skipped)
            printf("skip %s: %s\n", tests[i].name, test_skipped);
        else
            printf("ok   %s\n", tests[i].name);
        fflush(stdout);
    }
    printf("cases: %d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0;
}

#define TEST_MAIN(...)                                                                                                 \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        static const spl_test tests[] = {__VA_ARGS__};                                                                 \
        return test_main(tests, sizeof tests / sizeof *tests);                                                         \
    }

#endif
