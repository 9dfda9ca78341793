/* A float's neighbours are 6e-8 of it away or more, and doubles carry 1e-16: the decimal of n digits nearest to the
 * value is found in double arithmetic, and taken if it lies between the midpoints to the neighbours by more than the
 * arithmetic can err. Where it does not by a hair, one more digit is written; nine digits always serve. */
#include "core/decimal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What has fewer digits than six shows as zeros at the end of six; not so below the normal floats, which are far apart.
 */
enum { FEWEST = 6, MOST = 9 };

/* 10^n for 0 <= n <= 63, correctly rounded: the compiler reads them. */
static double power_of_ten(int n)
{
    static const double low[8] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    static const double high[8] = {1e0, 1e8, 1e16, 1e24, 1e32, 1e40, 1e48, 1e56};
    return low[n % 8] * high[n / 8];
}

static double scaled(double x, int by)
{
    return by >= 0 ? x * power_of_ten(by) : x / power_of_ten(-by);
}

/* The digits of a positive value as a whole number and a power of ten. */
static long find_digits(float value, int *power)
{
    double x = (double)value;
    double above = 0.5 * (x + (double)nextafterf(value, INFINITY)), below = 0.5 * (x + (double)nextafterf(value, 0));
    if (!(above < INFINITY)) above = 2 * x - below;
    const double margin = 1e-14;
    int exponent = (int)floor(log10(x)); /* exact: no float but 10^k itself is nearer to 10^k than log10 errs */
    for (int n = value < FLT_MIN ? 1 : FEWEST; n < MOST; n++) {
        *power = exponent - n + 1;
        double digits = rint(scaled(x, -*power)), back = scaled(digits, *power);
        if (back > below * (1 + margin) && back < above * (1 - margin)) return (long)digits;
    }
    *power = exponent - MOST + 1;
    return (long)rint(scaled(x, -*power));
}

size_t spl_decimal(float value, char out[SPL_DECIMAL_SIZE])
{
    char digits[16], *at = out;
    int power = 0;
    if (value == 0) {
        memcpy(out, "0", 2);
        return 1;
    }
    long number = find_digits(fabsf(value), &power);
    for (; number % 10 == 0; number /= 10) power++;
    int count = snprintf(digits, sizeof digits, "%ld", number), point = count + power; /* digits before the point */
    if (value < 0) *at++ = '-';
    if (point > 0 && point <= 9) { /* 12.5, 1200 */
        for (int i = 0; i < point || i < count; i++) {
            if (i == point) *at++ = '.';
            *at++ = i < count ? digits[i] : '0';
        }
    } else if (point > -5 && point <= 0) { /* 0.00125 */
        memcpy(at, "0.0000", 6);
        at += 2 - point;
        memcpy(at, digits, (size_t)count);
        at += count;
    } else { /* 1.25e+20 */
        *at++ = digits[0];
        if (count > 1) *at++ = '.';
        memcpy(at, digits + 1, (size_t)count - 1);
        at += count - 1;
        at += snprintf(at, 8, "e%+03d", point - 1);
    }
    *at = 0;
    return (size_t)(at - out);
}
