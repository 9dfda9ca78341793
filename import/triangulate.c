#include "triangulate.h"

#include <stdbool.h>
#include <stddef.h>

/* Newell: twice the area vector of a closed polygon. */
static spl_vec3 area_vector(const spl_vec3 *p, int32_t count)
{
    spl_vec3 sum = spl_v3(0, 0, 0);
    for (int32_t i = 1; i + 1 < count; i++) sum = spl_add(sum, spl_cross(spl_sub(p[i], p[0]), spl_sub(p[i + 1], p[0])));
    return sum;
}

/* Twice the area of a triangle as seen along the polygon's normal. */
static double seen(spl_vec3 n, spl_vec3 a, spl_vec3 b, spl_vec3 c)
{
    return spl_dot(n, spl_cross(spl_sub(b, a), spl_sub(c, a)));
}

static bool is_ear(const spl_vec3 *p, spl_vec3 n, const int32_t *left, int32_t count, int32_t at)
{
    int32_t ia = left[(at + count - 1) % count], ib = left[at], ic = left[(at + 1) % count];
    spl_vec3 a = p[ia], b = p[ib], c = p[ic];
    if (!(seen(n, a, b, c) > 0)) return false;
    for (int32_t i = 0; i < count; i++) {
        int32_t k = left[i];
        if (k == ia || k == ib || k == ic) continue;
        if (seen(n, a, b, p[k]) >= 0 && seen(n, b, c, p[k]) >= 0 && seen(n, c, a, p[k]) >= 0) return false;
    }
    return true;
}

int32_t import_triangulate(const spl_vec3 *p, int32_t count, int32_t *left, int32_t *corner)
{
    if (count < 3) return 0;
    spl_vec3 n = area_vector(p, count);
    for (int32_t i = 0; i < count; i++) left[i] = i;
    int32_t triangles = 0, remaining = count, ear = 1;
    while (remaining > 3) {
        /* The ears of a convex polygon come out as a fan around its first corner: the search goes on where the last one
         * was. Where a degenerate polygon has no ear, any corner must do. */
        int32_t tried = 0;
        ear %= remaining;
        while (tried < remaining && !is_ear(p, n, left, remaining, ear)) {
            ear = (ear + 1) % remaining;
            tried++;
        }
        int32_t *t = corner + 3 * (size_t)triangles++;
        t[0] = left[(ear + remaining - 1) % remaining];
        t[1] = left[ear];
        t[2] = left[(ear + 1) % remaining];
        remaining--;
        for (int32_t i = ear; i < remaining; i++) left[i] = left[i + 1];
    }
    int32_t *t = corner + 3 * (size_t)triangles++;
    for (int k = 0; k < 3; k++) t[k] = left[k];
    return triangles;
}
