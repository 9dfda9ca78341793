/* Points that follow goals as near as an extra energy lets them: min over y of 1/2 sum_v |y_v - goal_v|^2 + extra(y).
 */
#ifndef SPL_STATICS_PURSUIT_H
#define SPL_STATICS_PURSUIT_H

#include "statics/statics.h"

typedef struct spl_pursuit spl_pursuit;

/* For so many points; `still`: metres by which the last step may move one. */
supple_result spl_pursuit_create(int32_t count, double still, const supple_allocator *a, spl_pool *pool,
                                 spl_pursuit **out, supple_error *error);
void spl_pursuit_destroy(spl_pursuit *t); /* accepts NULL */

/* From y on; false if it did not come to rest (`context` is the spl_pursuit). */
bool spl_pursuit_solve(void *context, const double *goal, const spl_extra *extra, double *y);

#endif
