/* What benches and tests ask of the method beyond its vtable. */
#ifndef SPL_METHODS_STEKLOV_STEKLOV_H
#define SPL_METHODS_STEKLOV_STEKLOV_H

#include "methods/steklov/newton.h"

/* The last frame of a state of spl_method_steklov. */
const spl_steklov_stats *spl_steklov_last(const void *state);

/* The bytes that one iteration of the volume formulation's solve reads: the matrix, its incomplete factor forwards and
 * backwards, ten vectors of conjugate gradients. 0 for the surface formulation. */
double spl_steklov_bytes(const void *state);

#endif
