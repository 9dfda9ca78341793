#include "show/texture.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>

float spl_srgb_to_linear(float s)
{
    return s <= 0.04045f ? s / 12.92f : powf((s + 0.055f) / 1.055f, 2.4f);
}

float spl_linear_to_srgb(float l)
{
    return l <= 0.0031308f ? 12.92f * l : 1.055f * powf(l, 1 / 2.4f) - 0.055f;
}

static uint8_t to_byte(float v)
{
    return (uint8_t)(v <= 0 ? 0 : v >= 1 ? 255 : (int)(v * 255 + 0.5f));
}

/* One pixel of the next level: the mean of the pixels that it covers, colours weighted by alpha so that what a mask
 * cuts away does not bleed in. Odd sizes repeat their last row or column. */
static void halve_pixel(const spl_texture *t, const spl_pixels *from, int32_t x, int32_t y, uint8_t *to)
{
    float sum[3] = {0}, plain[3] = {0}, alpha = 0;
    for (int i = 0; i < 4; i++) {
        int32_t sx = 2 * x + (i & 1), sy = 2 * y + (i >> 1);
        if (sx >= from->width) sx = from->width - 1;
        if (sy >= from->height) sy = from->height - 1;
        const uint8_t *p = from->rgba + 4 * ((size_t)sy * (size_t)from->width + (size_t)sx);
        float a = (float)p[3] / 255;
        for (int c = 0; c < 3; c++) {
            sum[c] += a * t->linear[p[c]];
            plain[c] += t->linear[p[c]];
        }
        alpha += a;
    }
    for (int c = 0; c < 3; c++) to[c] = to_byte(spl_linear_to_srgb(alpha > 0 ? sum[c] / alpha : plain[c] / 4));
    to[3] = to_byte(alpha / 4);
}

static bool halve(const spl_texture *t, const spl_pixels *from, spl_pixels *to, const supple_allocator *a)
{
    *to =
        (spl_pixels){.width = from->width > 1 ? from->width / 2 : 1, .height = from->height > 1 ? from->height / 2 : 1};
    to->rgba = spl_new(a, (size_t)to->width * (size_t)to->height, 4);
    if (!to->rgba) return false;
    uint8_t *p = to->rgba;
    for (int32_t y = 0; y < to->height; y++)
        for (int32_t x = 0; x < to->width; x++, p += 4) halve_pixel(t, from, x, y, p);
    return true;
}

supple_result spl_texture_build(spl_texture *t, spl_pixels *pixels, int32_t side_max, const supple_allocator *a,
                                supple_error *error)
{
    *t = (spl_texture){.level_count = 1, .level = {*pixels}};
    *pixels = (spl_pixels){0};
    for (int i = 0; i < 256; i++) t->linear[i] = spl_srgb_to_linear((float)i / 255);
    while (t->level[t->level_count - 1].width > 1 || t->level[t->level_count - 1].height > 1) {
        spl_pixels *last = &t->level[t->level_count - 1], next;
        bool drop = last->width > side_max || last->height > side_max;
        if (t->level_count == SPL_TEXTURE_LEVELS && !drop) break;
        if (!halve(t, last, &next, a)) {
            spl_texture_free(t, a);
            return spl_fail_memory(error, "a texture");
        }
        if (drop) {
            spl_pixels_free(last, a);
            *last = next;
        } else {
            t->level[t->level_count++] = next;
        }
    }
    return SUPPLE_OK;
}

void spl_texture_free(spl_texture *t, const supple_allocator *a)
{
    for (int32_t i = 0; i < t->level_count; i++) spl_pixels_free(&t->level[i], a);
    t->level_count = 0;
}

static int32_t wrap(int32_t i, int32_t n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

/* Adds `weight` times the bilinear sample of one level; u and v are in [0, 1). */
static void add_bilinear(const spl_texture *t, int32_t level, double u, double v, float weight, float out[4])
{
    const spl_pixels *p = &t->level[level];
    double x = u * p->width - 0.5, y = v * p->height - 0.5;
    int32_t x0 = (int32_t)floor(x), y0 = (int32_t)floor(y);
    float fx = (float)(x - x0), fy = (float)(y - y0);
    for (int i = 0; i < 4; i++) {
        float w = weight * (i & 1 ? fx : 1 - fx) * (i & 2 ? fy : 1 - fy);
        size_t at = (size_t)wrap(y0 + (i >> 1), p->height) * (size_t)p->width + (size_t)wrap(x0 + (i & 1), p->width);
        const uint8_t *texel = p->rgba + 4 * at;
        for (int c = 0; c < 3; c++) out[c] += w * t->linear[texel[c]];
        out[3] += w * (float)texel[3] / 255;
    }
}

/* The level lies between what the longer axis asks for (no aliasing, blurred) and the shorter (sharp): their mean, at
 * most one level sharper than the longer axis. Four samples a pixel make up for the difference. */
static double level_of(const spl_texture *t, const double footprint[2])
{
    double side = t->level[0].width > t->level[0].height ? t->level[0].width : t->level[0].height;
    double major = footprint[0] * side, minor = footprint[1] * side;
    if (!(major > 1e-9)) return 0;
    double level = log2(major), mean = 0.5 * (level + (minor > 1e-9 ? log2(minor) : -30));
    level = fmax(mean, level - 1);
    return fmin(fmax(level, 0), t->level_count - 1);
}

void spl_texture_sample(const spl_texture *t, const double uv[2], const double footprint[2], float out[4])
{
    double u = uv[0] - floor(uv[0]), v = uv[1] - floor(uv[1]);
    if (!(u >= 0 && u < 1)) u = 0; /* also where it is not a number */
    if (!(v >= 0 && v < 1)) v = 0;
    double level = level_of(t, footprint);
    int32_t fine = (int32_t)level, coarse = fine + 1 < t->level_count ? fine + 1 : fine;
    float part = (float)(level - fine);
    for (int c = 0; c < 4; c++) out[c] = 0;
    add_bilinear(t, fine, u, v, 1 - part, out);
    if (part > 0) add_bilinear(t, coarse, u, v, part, out);
}
