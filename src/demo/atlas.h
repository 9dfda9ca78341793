/* Texture atlases: charts in the unit square, and baking a solid texture (a colour for every point of space) into one.
 */
#ifndef SPL_DEMO_ATLAS_H
#define SPL_DEMO_ATLAS_H

#include "demo/shape.h"
#include "scene/image.h"

typedef enum spl_chart_kind {
    SPL_CHART_ROUND,  /* angle around the axis against the way along it */
    SPL_CHART_SPHERE, /* angle around the axis against the elevation */
    SPL_CHART_FLAT,   /* across a against along the axis */
} spl_chart_kind;

/* How a part of the surface lies in the texture. */
typedef struct spl_chart {
    spl_chart_kind kind;
    spl_vec3 origin, axis,
        a;            /* axis and a: unit, perpendicular; angles count from -a, so that the seam is opposite a */
    double low, high; /* metres along the axis (radians of elevation) that span the rectangle's height */
    double reach;     /* flat: half the width; round and sphere: the mean radius, for lengths; metres */
    double x, y, width, height; /* rectangle in the unit square */
} spl_chart;

/* The chart a triangle belongs to, from its centre and unit normal: an index into the charts. */
typedef int32_t spl_chart_fn(spl_vec3 centre, spl_vec3 normal);

/* Fills the corners' texture coordinates. A triangle across a seam lies in the margin at one side of its chart. */
void spl_atlas_map(spl_shape *shape, const spl_chart *chart, spl_chart_fn *choose);

/* A colour (0 to 1, sRGB) at a point of the surface; `across` and `along` are metres within its chart. */
typedef void spl_paint_fn(spl_vec3 p, double across, double along, double rgb[3]);

/* Paints a texture of size x size pixels as a PNG into the material. `paint` is called from all threads of the pool. */
supple_result spl_atlas_bake(const spl_shape *shape, const spl_chart *chart, spl_chart_fn *choose, spl_paint_fn *paint,
                             int32_t size, spl_pool *pool, spl_rigged_material *material, supple_error *error);

/* A texture for a surface mapped on the whole square: a base colour (sRGB) with rows x columns of lines, every fifth of
 * them stronger, and dots where the strong ones cross. */
supple_result spl_atlas_grid(const supple_allocator *a, const double rgb[3], int32_t columns, int32_t rows,
                             spl_rigged_material *material, supple_error *error);

/* A smooth noise of space, about -1 to 1, that varies over `scale` metres. */
double spl_noise(spl_vec3 p, double scale);

#endif
