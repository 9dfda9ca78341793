/* A room's test program (tests/ROOM) has the cases of all its files; tests/main.c runs each in a process of its own. A
 * file:
 *
 *     TEST(name) { CHECK(condition); CHECK_NEAR(a, b, tolerance); }
 *     TEST_CASES(RUN(name), RUN(other))
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

/* The cases of one file. */
typedef struct spl_test_file {
    const char *path;
    const spl_test *test;
    size_t count;
    struct spl_test_file *next;
} spl_test_file;

enum { TEST_SHOWN = 10 }; /* failures of a case that are printed */

extern int test_failures; /* of the running case */
extern const char *test_skipped;

/* Called before main() by each file of the program. */
void test_add(spl_test_file *file);

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

#define TEST_CASES(...)                                                                                                \
    static const spl_test test_list[] = {__VA_ARGS__};                                                                 \
    static spl_test_file test_file = {__FILE__, test_list, sizeof test_list / sizeof *test_list, NULL};                \
    __attribute__((constructor)) static void test_add_file(void)                                                       \
    {                                                                                                                  \
        test_add(&test_file);                                                                                          \
    }

#endif
