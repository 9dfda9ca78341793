/* Solved poses as bases and cubature see them, read in passes: in memory are the displacements of as many domains as
 * fit, and one whole body. What is read does not depend on how many passes that takes. */
#ifndef SPL_SUBSPACE_POSES_H
#define SPL_SUBSPACE_POSES_H

#include "subspace/domains.h"
#include "subspace/samples.h"

typedef struct spl_poses {
    supple_allocator allocator;
    const supple_scene *scene;
    spl_solid *solid;
    const spl_domains *domains;
    const spl_samples *samples;
    int32_t count;   /* solved ones */
    int32_t *sample; /* by pose */
    spl_mat3 *R;     /* count x domains: the domains' frames */
    spl_vec3 *t;
    size_t bytes;          /* memory for what is at hand; at least one domain is */
    int32_t begin, end;    /* domains at hand */
    int32_t *held_count;   /* by domain: held vertices of its tets */
    int32_t **held_vertex; /* by domain: these, of the body, rising */
    double **displacement; /* by domain at hand: count x (3 x its vertices), u = R^T (x - t) - p; else NULL */
    double **held;         /* by domain at hand: count x (3 x held_count), R^T (x - t); else NULL */
    spl_pose pose;
    double *x; /* 3 x vertices: of one pose */
} spl_poses;

/* Takes the frames of all solved poses; `bytes` is for displacements and held vertices. All but the allocator is
 * borrowed. The solid's pose is changed here and by the functions below. */
supple_result spl_poses_create(const supple_scene *scene, spl_solid *solid, const spl_domains *domains,
                               const spl_samples *samples, size_t bytes, const supple_allocator *a, spl_poses *out,
                               supple_error *error);
void spl_poses_release(spl_poses *p); /* accepts a zeroed one */

/* Makes sure that a domain is at hand, with those that follow it and fit. */
supple_result spl_poses_load(spl_poses *p, int32_t domain, supple_error *error);

/* p->x is a pose's body, held vertices exact. */
supple_result spl_poses_see(spl_poses *p, int32_t pose, supple_error *error);

#endif
