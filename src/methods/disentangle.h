/* Flesh that is still in other flesh when its bones are out of each other again.
 *
 * The flesh of the bones in question is solved anew, from the weights, as if at rest it were narrower across its bones:
 * it draws in to them, more and more, without contact between what still crosses. When nothing does, it may grow to
 * where it belongs. */
#ifndef SPL_METHODS_DISENTANGLE_H
#define SPL_METHODS_DISENTANGLE_H

#include "methods/arrive.h"

/* a->x and what is released change where flesh could be freed, which *free says. */
supple_result spl_arrival_disentangle(spl_arrival *a, const spl_statics_problem *problem, bool *free,
                                      supple_error *error);

#endif
