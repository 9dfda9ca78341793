/* Every float comes back from its text, and no shorter text would do. */
#include "core/decimal.h"
#include "core/hash.h"
#include "test.h"

#include <float.h>
#include <stdint.h>

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int digit_count(const char *text)
{
    int count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9') continue;
        if (*text == '0' && count == 0) continue;
        count++;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return count - zeros;
}

/* The fewest digits by trying printf. */
static int fewest(float value)
{
    char text[32];
    for (int n = 1; n <= 9; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, (double)value);
        if (strtof(text, NULL) == value) return digit_count(text);
    }
    return 10;
}

TEST(known_numbers)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {-1, "-1"},
                 {0.1f, "0.1"},
                 {100, "100"},
                 {0.123456789f, "0.12345679"},
                 {1e-7f, "1e-07"},
                 {3e20f, "3e+20"},
                 {-2.5f, "-2.5"},
                 {16777216, "16777216"},
                 {0.0001f, "0.0001"},
                 {1e9f, "1e+09"},
                 {FLT_MAX, "3.4028235e+38"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[SPL_DECIMAL_SIZE];
        CHECK(spl_decimal(cases[i].value, text) == strlen(text));
        if (strcmp(text, cases[i].text) != 0) printf("    %s, not %s\n", text, cases[i].text);
        CHECK(strcmp(text, cases[i].text) == 0);
    }
}

TEST(floats_come_back)
{
    int wrong = 0, longer = 0, count = 3000000;
    for (int i = 0; i < count; i++) {
        float value = float_of((uint32_t)spl_mix((uint64_t)i));
        if (i % 2) value = (float)(i - count / 2) * 1.37e-6f; /* the sizes that positions have */
        char text[SPL_DECIMAL_SIZE];
        if (!isfinite(value)) continue;
        spl_decimal(value, text);
        wrong += strtof(text, NULL) != value;
        if (i % 16 < 2 && fabsf(value) < 16777216) longer += digit_count(text) > fewest(value);
    }
    CHECK(wrong == 0);
    CHECK(longer == 0); /* large whole numbers may lie on a midpoint, which readers round to even and we avoid */
}

TEST(edges_come_back)
{
    int wrong = 0;
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (uint32_t offset = 0; offset < 200; offset++) {
            float value = float_of((exponent << 23) + offset - (exponent ? 100 : 0));
            char text[SPL_DECIMAL_SIZE];
            spl_decimal(value, text);
            wrong += strtof(text, NULL) != value;
        }
    CHECK(wrong == 0);
}

TEST_CASES(RUN(known_numbers), RUN(floats_come_back), RUN(edges_come_back))
