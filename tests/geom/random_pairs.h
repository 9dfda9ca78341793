/* Random numbers and pairs of all the kinds that are hard, for the tests of detection by pairs. */
#ifndef SPL_TESTS_CONTACT_RANDOM_PAIRS_H
#define SPL_TESTS_CONTACT_RANDOM_PAIRS_H

#include "geom/distance.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct random_state {
    uint64_t s;
} random_state;

/* In [-1, 1) (splitmix64). */
static inline double random_signed(random_state *r)
{
    uint64_t z = r->s += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

static inline double random_share(random_state *r)
{
    return 0.5 * (random_signed(r) + 1);
}

/* From small to large, each order of size as often as another. */
static inline double random_size(random_state *r, double low, double high)
{
    return low * pow(high / low, random_share(r));
}

static inline void random_vector(random_state *r, double size, double v[3])
{
    for (int k = 0; k < 3; k++) v[k] = size * random_signed(r);
}

/* Shapes of a pair. */
enum {
    SHAPE_ANY,
    SHAPE_SLIVER,   /* the triangle's third corner is nearly, or exactly, on the line of the others */
    SHAPE_PARALLEL, /* edges that are nearly, or exactly, parallel */
    SHAPE_POINT,    /* corners that fall together */
    SHAPE_NEAR,     /* the point nearly on the triangle, the edges nearly crossing */
    SHAPES
};

static inline void random_between(random_state *r, const double a[3], const double b[3], double off, double out[3])
{
    double t = 3 * random_share(r) - 1;
    for (int k = 0; k < 3; k++) out[k] = a[k] + t * (b[k] - a[k]) + off * random_signed(r);
}

static inline void random_pair(random_state *r, int shape, double x[4][3])
{
    double off = random_share(r) < 0.3 ? 0 : random_size(r, 1e-16, 0.1);
    for (int i = 0; i < 4; i++) random_vector(r, 1, x[i]);
    if (shape == SHAPE_SLIVER) random_between(r, x[1], x[2], off, x[3]);
    if (shape == SHAPE_PARALLEL)
        for (int k = 0; k < 3; k++) x[3][k] = x[2][k] + 1.5 * (x[1][k] - x[0][k]) + off * random_signed(r);
    if (shape == SHAPE_POINT) {
        int from = (int)(4 * random_share(r)), to = (int)(4 * random_share(r));
        for (int k = 0; k < 3; k++) x[to][k] = x[from][k] + off * random_signed(r);
        if (random_share(r) < 0.3) memcpy(x[3], x[2], sizeof x[3]);
        if (random_share(r) < 0.3) memcpy(x[1], x[2], sizeof x[1]);
    }
    if (shape == SHAPE_NEAR) {
        double m[3];
        random_between(r, x[2], x[3], 0, m);
        random_between(r, x[1], m, off, x[0]);
    }
}

#endif
