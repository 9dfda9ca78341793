/* A small built-in bitmap font, 5 x 7 with room for descenders, for labels on pictures. */
#ifndef SPL_SHOW_FONT_H
#define SPL_SHOW_FONT_H

#include "scene/image.h"

enum { SPL_GLYPH_ADVANCE = 6, SPL_GLYPH_HEIGHT = 9 };

/* Width of a text in pixels at a scale. Every character of UTF-8 counts once. */
int32_t spl_text_width(const char *text, int32_t scale);

/* Draws a text with its upper left corner at (x, y), clipped to the pixels, in an sRGB colour. Printable ASCII only;
 * any other character is drawn as '?'. */
void spl_text_draw(spl_pixels *pixels, int32_t x, int32_t y, int32_t scale, const uint8_t color[3], const char *text);

#endif
