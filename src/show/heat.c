#include "show/heat.h"

#include "show/font.h"
#include "show/texture.h"

#include <math.h>
#include <string.h>

/* sRGB at log2(stretch) = -1, -1/2, 0, 1/2, 1. Lightness (CIE L*): 26, 60, 94, 75, 51. */
enum { STOPS = 5 };
static const float SCALE[STOPS][3] = {{20, 56, 130}, {84, 150, 210}, {238, 238, 232}, {246, 172, 82}, {206, 92, 0}};

void spl_heat_color(double stretch, float out[3])
{
    double at = 2 * (log2(stretch > 0.01 ? stretch : 0.01) + 1);
    at = at > 0 ? fmin(at, STOPS - 1) : 0; /* also where it is not a number */
    int low = at < STOPS - 2 ? (int)at : STOPS - 2;
    float part = (float)(at - low);
    for (int c = 0; c < 3; c++)
        out[c] = spl_srgb_to_linear((SCALE[low][c] + part * (SCALE[low + 1][c] - SCALE[low][c])) / 255);
}

void spl_heat_colors(const float *stretch, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++) spl_heat_color(stretch ? (double)stretch[i] : 1, out + 3 * i);
}

/* The lower half of the scale. */
static double of_trust(double trust)
{
    return exp2(trust - 1);
}

void spl_heat_trust(const float *trust, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++) spl_heat_color(of_trust(trust ? (double)trust[i] : 1), out + 3 * i);
}

static void set_pixel(spl_pixels *p, int32_t x, int32_t y, const uint8_t rgb[3])
{
    if (x < 0 || y < 0 || x >= p->width || y >= p->height) return;
    memcpy(p->rgba + 4 * ((size_t)y * (size_t)p->width + (size_t)x), rgb, 3);
}

void spl_heat_legend(spl_pixels *pixels, int32_t left, int32_t top, bool trust)
{
    static const uint8_t ink[3] = {52, 56, 64};
    static const char *const marks[2][STOPS] = {{"0.5", "0.7", "1", "1.4", "2"}, {"0", "", "0.5", "", "1"}};
    const char *const *mark = marks[trust];
    enum { BAR = 14, EDGE = 14, LENGTH = SPL_HEAT_WIDTH - 2 * EDGE };
    for (int32_t x = 0; x <= LENGTH; x++) {
        float linear[3];
        uint8_t rgb[3];
        spl_heat_color(trust ? of_trust((double)x / LENGTH) : exp2(2.0 * x / LENGTH - 1), linear);
        for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)(spl_linear_to_srgb(linear[c]) * 255 + 0.5f);
        bool tick = x % (LENGTH / (STOPS - 1)) == 0;
        for (int32_t y = 0; y < BAR; y++) {
            bool frame = y == 0 || y == BAR - 1 || x == 0 || x == LENGTH || (tick && y >= BAR - 4);
            set_pixel(pixels, left + EDGE + x, top + y, frame ? ink : rgb);
        }
    }
    for (int32_t i = 0; i < STOPS; i++) {
        int32_t x = left + EDGE + i * (LENGTH / (STOPS - 1)) - spl_text_width(mark[i], 2) / 2;
        spl_text_draw(pixels, x, top + BAR + 5, 2, ink, mark[i]);
    }
}
