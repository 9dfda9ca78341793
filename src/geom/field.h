/* The signed distance to a surface: negative inside, where the winding number exceeds one half.
 *
 * spl_field answers exactly, through the tree and the winding number. spl_grid holds the field on a lattice: distances
 * in a band around the surface, the sign alone elsewhere; it answers by interpolation, and gives the exact queries a
 * triangle to start from. Both are constant once made; any number of threads may ask. */
#ifndef SPL_GEOM_FIELD_H
#define SPL_GEOM_FIELD_H

#include "core/threads.h"
#include "geom/surface.h"
#include "geom/winding.h"

typedef struct spl_field {
    const spl_surface *surface; /* not owned; must outlive this */
    spl_tree *tree;             /* owned, at a fixed address */
    spl_winding winding;
    spl_tree *border; /* owned: the edges at which the winding number is not whole, as flat triangles; may be empty */
    bool watertight;  /* no borders, no edges with more than two triangles: the winding number is a whole number */
    supple_allocator allocator;
} spl_field;

typedef struct spl_sample {
    double distance;   /* signed; INFINITY for an empty surface */
    spl_vec3 gradient; /* unit: away from the surface outside, towards it inside; the normal on it */
    spl_place place;   /* of the nearest point */
    spl_vec3 point;    /* the nearest point */
} spl_sample;

/* The only failure is SUPPLE_ERROR_MEMORY; *out is then zero. */
supple_result spl_field_make(const spl_surface *surface, const supple_allocator *a, spl_field *out,
                             supple_error *error);
void spl_field_release(spl_field *field);

/* Whether p is inside. */
bool spl_field_inside(const spl_field *field, spl_vec3 p);

/* The exact field at p. `hint` is a triangle likely to be near, or -1. */
spl_sample spl_field_sample(const spl_field *field, spl_vec3 p, int32_t hint);

/* The exact signed distances of many points, threaded; `triangle`, if not NULL, gets the nearest triangles. */
void spl_field_distances(const spl_field *field, spl_pool *pool, const spl_vec3 *p, size_t count, double *distance,
                         int32_t *triangle);

/* A lattice of size[0] x size[1] x size[2] points; point (i, j, k) has index i + size[0] (j + size[1] k). */
typedef struct spl_grid {
    spl_vec3 origin;
    double step, band;
    int32_t size[3];
    float *value;      /* signed distance; +band or -band beyond the band */
    int32_t *triangle; /* the nearest, -1 beyond the band */
    size_t band_count; /* points in the band */
    supple_allocator allocator;
} spl_grid;

/* Origin, step and size of a lattice with `cells` cells along the longest side of the surface and `margin` cells more
 * on every side; the rest of the grid is zero. Sizes saturate at INT32_MAX, for spl_grid_make to refuse. */
spl_grid spl_grid_plan(const spl_surface *surface, double cells, int32_t margin);

/* Bytes that spl_grid_make needs at its peak; SIZE_MAX if that is too many to count. */
size_t spl_grid_bytes(const int32_t size[3]);

/* Fills the plan's lattice: distances up to `band` (at least one step), signs by flood fill. Threaded; the same bits at
 * any number of threads. SUPPLE_ERROR_ARGUMENT if it needs more than `byte_limit`; SUPPLE_ERROR_MEMORY. On failure
 * nothing is held. Signs: across a lattice edge on which no surface can lie (the distances at its ends add up to more
 * than a step) a watertight surface's sign does not change; one winding number per region decides. So for other
 * surfaces, brick by brick, far from their borders; near them every point gets its own, because the inside ends in the
 * openings, away from any triangle. */
supple_result spl_grid_make(const spl_field *field, const spl_grid *plan, double band, size_t byte_limit,
                            spl_pool *pool, const supple_allocator *a, spl_grid *out, supple_error *error);
void spl_grid_release(spl_grid *grid);

static inline size_t spl_grid_index(const spl_grid *g, int32_t i, int32_t j, int32_t k)
{
    return (size_t)i + (size_t)g->size[0] * ((size_t)j + (size_t)g->size[1] * (size_t)k);
}
static inline spl_vec3 spl_grid_point(const spl_grid *g, int32_t i, int32_t j, int32_t k)
{
    return spl_madd(g->origin, spl_v3(i, j, k), g->step);
}

typedef enum spl_side {
    SPL_SIDE_BAND,    /* in the band: the distance is interpolated */
    SPL_SIDE_INSIDE,  /* deeper than the band, less a step: distance is -band */
    SPL_SIDE_OUTSIDE, /* outside by as much, or off the lattice: distance is band */
} spl_side;

/* The field by trilinear interpolation: error below a tenth of a step on smooth parts, half a step at sharp edges.
 * `gradient` (may be NULL) is unit; zero beyond the band or where the interpolated field is flat. */
spl_side spl_grid_value(const spl_grid *grid, spl_vec3 p, double *distance, spl_vec3 *gradient);

/* The exact field at p, faster than spl_field_sample where the lattice knows a near triangle or the sign. */
spl_sample spl_grid_sample(const spl_field *field, const spl_grid *grid, spl_vec3 p);

/* Diameter of the largest ball inside the surface that touches it at p, `inward` being the unit normal turned in, by
 * shrinking (Ma, Bae, Choi 2012): a ball that contains a nearer point of the surface is replaced by the one through p
 * and that point. Points seen from its centre less than 105 degrees away from p belong to p's own side (a sharp edge, a
 * rim, a wrinkle) and end the search; the answer is then the smaller of this ball's diameter and of the one that
 * touches there. So a box is measured across also at its edges, where no ball fits, and a sheet at its rim. Never more
 * than the way straight through; the surface's diagonal where nothing is opposite. */
double spl_thickness_at(const spl_field *field, spl_vec3 p, spl_vec3 inward);

/* The same for all vertices of the surface, threaded; 0 at vertices without a normal. */
void spl_thickness(const spl_field *field, spl_pool *pool, double *diameter);

#endif
