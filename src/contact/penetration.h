/* max_penetration: how deep the visual mesh has gone into other parts of the flesh. Measured after a frame from
 * positions alone, the same for every method, by another way than contacts are found: a tree over the tets instead of
 * the hash, all visual vertices instead of the body's, exact nearest points instead of walks.
 *
 * A visual vertex p of a part that is flesh is *in another part* at x if it is in a tet T of positive volume, and
 *   - T is no neighbour of the place where p sits on the body: none of its corners is within two edges, through flesh,
 *     of the (up to four) body vertices nearest to p at rest among those that p is upsampled from;
 *   - T is not what p is in at rest, nor within an edge of that (overlapping limbs, limbs the body fuses);
 *   - the place where p would come out is not the other side of p's own limb (near.h).
 * Its depth is the distance from p to the nearest point of the body's deformed surface on T's side: of those triangles
 * whose middle at rest is nearer to the place of T that p is in than to p's own place at rest. (Without that the back
 * of a finger would be the nearest way out of the belly that the finger is in.) The measure is the largest depth,
 * metres; 0 if no vertex is in another part. Vertices that lie deep in the flesh at rest, more than 1.5 edges from its
 * surface, are no surface and do not count. */
#ifndef SPL_CONTACT_PENETRATION_H
#define SPL_CONTACT_PENETRATION_H

#include "contact/visual.h"

typedef struct spl_penetration spl_penetration;

/* The solid must outlive it. */
supple_result spl_penetration_create(const spl_solid *solid, spl_pool *pool, spl_penetration **out,
                                     supple_error *error);
void spl_penetration_destroy(spl_penetration *m); /* accepts NULL */

/* The measure at x (3 a body vertex, the solver's space) and `visual` (3 a scene vertex, world space). Allocates
 * nothing; the same bits at any number of threads. */
double spl_penetration_measure(spl_penetration *m, const double *x, const float *visual, spl_pool *pool);

/* After it: depths of the points (0: none), and their vertices in the scene. */
const double *spl_penetration_depths(const spl_penetration *m, const int32_t **vertex, int32_t *count);

#endif
