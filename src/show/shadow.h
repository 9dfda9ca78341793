/* Shadows: a depth map seen from the key light, and a blurred map of what is close above the floor. */
#ifndef SPL_SHOW_SHADOW_H
#define SPL_SHOW_SHADOW_H

#include "show/raster.h"
#include "show/show.h"

/* Nearness seen along a direction, one value a texel. */
typedef struct spl_shadow {
    spl_camera camera; /* orthographic */
    int32_t size;      /* texels a side; 0: no shadow */
    float *depth;      /* size x size; -INFINITY where nothing is */
    double texel;      /* world units */
} spl_shadow;

/* What is drawn, its raster form and its bounds. */
typedef struct spl_stage {
    const spl_draw *draw;
    const spl_geometry *geometry;
    int32_t draw_count;
    spl_box box;
    spl_pool *pool;
    const supple_allocator *allocator;
} spl_stage;

/* The map seen from a unit direction `towards` (the light), `margin` being the free part around what is drawn. */
supple_result spl_shadow_init(spl_shadow *shadow, const spl_stage *stage, spl_vec3 towards, int32_t size, double margin,
                              supple_error *error);
void spl_shadow_release(spl_shadow *shadow, const supple_allocator *a);

/* How much of the light reaches a point: 1 all, 0 none. `radius` is the blur in world units, `normal` the surface's. */
float spl_shadow_lit(const spl_shadow *shadow, spl_vec3 p, spl_vec3 normal, double radius);

/* The shadow that everything together casts, from a light's map of a power-of-two size: 1 where the light is hidden, 0
 * where not, blurred. The floor lies behind all that is drawn, so that on it no depths need comparing. */
supple_result spl_cast_init(spl_shadow *cast, const spl_shadow *shadow, const supple_allocator *a, supple_error *error);

/* Seen from straight below: closeness to the floor, 1 touching and 0 far, blurred. */
supple_result spl_contact_init(spl_shadow *contact, const spl_stage *stage, double floor_y, int32_t size,
                               supple_error *error);

/* The value of either of these at a point, interpolated. */
float spl_shadow_value(const spl_shadow *map, spl_vec3 p);

#endif
