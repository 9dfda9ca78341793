/* Triangles to samples: projection, clipping, binning into tiles, and exact coverage.
 *
 * Every pixel has four samples on a rotated grid. Corners are snapped to 1/256 pixel and edge functions are integers,
 * so that by the top-left rule a sample on a shared edge belongs to exactly one of its triangles. Tiles are independent
 * and read only constant data: any number of threads gives the same picture. */
#ifndef SPL_SHOW_RASTER_H
#define SPL_SHOW_RASTER_H

#include "show/camera.h"

#include <supple/base.h>

enum { SPL_SAMPLES = 4, SPL_TILE = 16, SPL_SUBPIXEL = 256 };

/* Positions of the samples in a pixel, in 1/256. */
extern const int32_t spl_sample_x[SPL_SAMPLES], spl_sample_y[SPL_SAMPLES];

/* An indexed set of triangles. Triangles with a corner that is not finite are left out. */
typedef struct spl_geometry {
    const float *position;   /* 3 a vertex */
    const int32_t *triangle; /* 3 a triangle */
    int32_t triangle_count;
    bool blend; /* binned after all others, from far to near */
} spl_geometry;

/* A triangle on the picture. A triangle that had to be clipped becomes several. */
typedef struct spl_raster_triangle {
    int32_t x[3], y[3];   /* 1/256 pixel, so ordered that the area is positive (y down) */
    double q[3];          /* 1 / w: perspective weights of the corners; 1 for an orthographic camera */
    double d[3];          /* nearness, linear on the picture: 1 / w, or -w for an orthographic camera */
    float corner[3][2];   /* each corner as barycentric coordinates (second, third) of the source triangle */
    int32_t mesh, source; /* geometry and its triangle */
    uint8_t edge;         /* bit i: the edge opposite corner i is one of the source's, not a cut */
} spl_raster_triangle;

typedef struct spl_raster {
    supple_allocator allocator;
    int32_t width, height, tiles_x, tiles_y;
    int32_t triangle_count;
    spl_raster_triangle *triangle;
    size_t *tile_first; /* tile_count + 1 */
    int32_t *tile_item; /* triangles of each tile: opaque ones in order, then blended ones from far to near */
} spl_raster;

/* Projects and bins; width and height from 1 to 16384. */
supple_result spl_raster_init(spl_raster *raster, const spl_camera *camera, int32_t width, int32_t height,
                              const spl_geometry *meshes, int32_t mesh_count, const supple_allocator *a,
                              supple_error *error);
void spl_raster_release(spl_raster *raster);

int32_t spl_raster_tile_count(const spl_raster *raster);

/* Called for a sample that a triangle covers; `depth` is its nearness there. */
typedef void spl_cover_fn(void *context, int32_t x, int32_t y, int32_t sample, double depth);

/* Visits the samples of [x0, x1) x [y0, y1) that a triangle covers. */
void spl_raster_cover(const spl_raster_triangle *t, int32_t x0, int32_t y0, int32_t x1, int32_t y1, spl_cover_fn *visit,
                      void *context);

/* Perspective-correct barycentric coordinates (of the source triangle) at a picture position in pixels. */
void spl_raster_weights(const spl_raster_triangle *t, double x, double y, double weight[3]);

#endif
