/* Light on a surface: a key, a fill and a rim light that stand with the camera, and a soft sky. */
#ifndef SPL_SHOW_SHADE_H
#define SPL_SHOW_SHADE_H

#include "show/raster.h"
#include "show/show.h"

/* Unit directions towards the lights. */
typedef struct spl_lights {
    spl_vec3 key, fill, rim;
} spl_lights;

/* The lights stand around the character as the camera does, so that every view is lit from the upper left. */
spl_lights spl_lights_for(const spl_camera *camera);

/* What a surface shows at one place. */
typedef struct spl_surface {
    spl_vec3 position, normal; /* the normal faces the viewer */
    bool inside;               /* it is the back of the surface that is seen */
    float color[4];            /* linear, with alpha */
} spl_surface;

/* The surface under a picture position (pixels) on a triangle. */
void spl_surface_at(const spl_draw *draw, const spl_raster_triangle *t, const spl_camera *camera, double x, double y,
                    spl_surface *out);

/* Its alpha alone: base colour times texture. */
float spl_surface_alpha(const spl_draw *draw, const spl_raster_triangle *t, double x, double y);

/* Light towards the viewer: `direct` from the key and rim lights (lit: 0 in shadow to 1), `ambient` from sky and fill,
 * which occlusion dims later. */
void spl_surface_light(const spl_surface *s, const spl_lights *lights, spl_vec3 viewer, float lit, float direct[3],
                       float ambient[3]);

/* Linear light to a display value 0..255: straight below the shoulder, rolled off above it, then sRGB. */
uint8_t spl_tone(float linear);

#endif
