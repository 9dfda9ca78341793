/* What is measured of a deformed body, the same for every method (DESIGN: --metrics). */
#ifndef SPL_FEM_RESIDUAL_H
#define SPL_FEM_RESIDUAL_H

#include "core/threads.h"
#include "fem/elements.h"
#include "fem/law.h"

/* Elastic forces, and how large they are before they cancel. */
typedef struct spl_elastic {
    const spl_elements *elements;
    const spl_law *law;
    const double *mu, *lambda; /* by tet */
    const double *rotation;    /* 9 a tet, column-major; NULL unless the law needs it */
    const bool *exempt;        /* by tet: has neither energy nor forces; NULL: all have */
} spl_elastic;

/* A vertex's tets, so that forces are gathered in one order at any number of threads. */
typedef struct spl_stars {
    supple_allocator allocator;
    size_t *start;    /* vertex_count + 1 */
    uint32_t *corner; /* 4 tet + corner, ascending */
} spl_stars;

supple_result spl_stars_create(const spl_elements *e, const supple_allocator *a, spl_stars *out, supple_error *error);
void spl_stars_release(spl_stars *s);

/* force[v] = sum of the elastic forces on v (set, not added), magnitude[v] = sum of their lengths (may be NULL);
 * returns the energy. `scratch`: 12 x tets + tets/1024 + 1 doubles. */
double spl_elastic_forces(const spl_elastic *e, const spl_stars *stars, const double *x, double *force,
                          double *magnitude, double *scratch, spl_pool *pool);

/* |force| over the free vertices (held < 0, or all if held is NULL) / (sqrt(sum over all of magnitude^2) + floor),
 * floor = 1e-12 E L^2. */
double spl_residual(const double *force, const double *magnitude, const int32_t *held, int32_t vertex_count,
                    double floor);

/* Shape of a deformed body. */
typedef struct spl_strain {
    double volume_ratio; /* sum W det F / sum W */
    double min_det_f;
    double max_strain; /* largest |singular value - 1|, the last one negative where det F < 0 */
    int32_t inverted;  /* det F <= 0 */
} spl_strain;

/* How many tets have det F <= 0. `scratch`: tets/1024 + 1 doubles. */
int32_t spl_inverted_count(const spl_elements *e, const double *x, double *scratch, spl_pool *pool);

/* Over the tets that `member` marks (NULL: all; none: as undeformed). `scratch`: 4 x (tets/1024 + 1). */
spl_strain spl_strain_measure(const spl_elements *e, const double *x, const bool *member, double *scratch,
                              spl_pool *pool);

#endif
