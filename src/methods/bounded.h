/* Contact by a barrier for methods that know a frame's answer without contact.
 *
 * That comes first, and from its own last one: nothing of contact is in it. If nothing is in its way it is the frame's
 * answer, to the bit; else bones arrive along their path, and the method's own energy is minimised with the barrier
 * (arrive.h). */
#ifndef SPL_METHODS_BOUNDED_H
#define SPL_METHODS_BOUNDED_H

#include "methods/arrive.h"
#include "methods/method.h"

typedef struct spl_bounded {
    bool on;
    const spl_solid *solid;
    spl_arrival arrival;
    double *alone;      /* 3 x vertices of the body: the last frame's answer without contact */
    spl_pose_past past; /* of that frame */
    bool has_past;
    supple_named_value value[SPL_ARRIVAL_VALUES];
} spl_bounded;

/* It is on where something is there to be met. The pins must outlive it. */
supple_result spl_bounded_create(const spl_method_context *c, const spl_pins *pins, double tolerance, spl_bounded *out,
                                 supple_error *error);
void spl_bounded_release(spl_bounded *b);
void spl_bounded_reset(spl_bounded *b);

/* Where the frame without contact begins: x as it is after a reset, else the last such frame carried along. */
void spl_bounded_start(const spl_bounded *b, double *x, spl_pool *pool);

/* x has the frame's answer without contact and gets that with. `problem` is without pins and extra. */
supple_result spl_bounded_frame(spl_bounded *b, const spl_statics_problem *problem, double *x, supple_stats *stats,
                                supple_error *error);

/* What it adds to a solution. */
void spl_bounded_solution(const spl_bounded *b, spl_solution *out);

#endif
