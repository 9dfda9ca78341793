/* The stretch of skin as colours: area now over area at rest, on a scale that keeps its order in every kind of colour
 * vision: blue where skin is pressed together, nearly white where it rests, orange where it is stretched, darker
 * outwards, the blue end darker than the orange one. */
#ifndef SPL_SHOW_HEAT_H
#define SPL_SHOW_HEAT_H

#include "scene/image.h"

/* The colour of a stretch in linear light: by its logarithm, from half to twice the area; beyond, the ends. */
void spl_heat_color(double stretch, float out[3]);

/* The colours of vertices, 3 floats each; `stretch` NULL: all at rest. */
void spl_heat_colors(const float *stretch, size_t count, float *out);

/* The same of trust, 0 to 1: blue where there is none, nearly white where it is full. NULL: full. */
void spl_heat_trust(const float *trust, size_t count, float *out);

enum { SPL_HEAT_WIDTH = 250, SPL_HEAT_HEIGHT = 38 };

/* Draws the scale (of trust, or of stretch) with its numbers, SPL_HEAT_WIDTH x SPL_HEAT_HEIGHT pixels, clipped to the
 * picture. */
void spl_heat_legend(spl_pixels *pixels, int32_t left, int32_t top, bool trust);

#endif
