/* What is measured of a deformed body after a frame: the same for every method, from the positions alone. */
#ifndef SPL_SIM_MEASURE_H
#define SPL_SIM_MEASURE_H

#include "fem/residual.h"
#include "methods/method.h"

/* The flesh around a joint. */
typedef struct spl_joint_region {
    int32_t node;
    int32_t first, count; /* into spl_measure.tet */
    double rest;          /* volume */
    double ratio;         /* after the last measure */
} spl_joint_region;

typedef struct spl_measure {
    supple_allocator allocator;
    const spl_solid *solid;
    spl_stars stars;
    int32_t region_count;
    spl_joint_region *region;
    int32_t *tet;              /* of the regions */
    double *force, *magnitude; /* 3 x and 1 x vertices */
    double *scratch;
} spl_measure;

supple_result spl_measure_create(const spl_solid *solid, spl_measure *out, supple_error *error);
void spl_measure_release(spl_measure *m);

/* Fills volume_ratio, inverted, min_det_f, max_strain and the joints' volumes; with a solution also residual and
 * energy. */
void spl_measure_frame(spl_measure *m, const spl_solution *solution, const double *x, spl_pool *pool,
                       supple_stats *stats);

#endif
