/* Tethers: what binds skin to the flesh beneath it (the paper's 3.6). Fibres are slack at first, a soft toe, and very
 * stiff once they are straight. With d the distance of the skin that is at a vertex from where it was at rest there,
 *
 *     phi(d) = p L (u^2 / 2 + s (u - 1)_+^3 / 3),   u = d / L,   s = SPL_TETHER_STIFFENING
 *
 * is the energy per area at rest: convex, growing, twice differentiable. p is the shear stress that takes a tether to
 * its length L; at 1.2 L it is five times that, at 1.5 L 26 times. Lengths are metres. */
#ifndef SPL_SLIDE_TETHER_H
#define SPL_SLIDE_TETHER_H

#include "math/vec3.h"

#define SPL_TETHER_STIFFENING 100.0

typedef struct spl_tether_point {
    double phi;     /* J/m^2 */
    double pull;    /* phi' / d, which is finite at 0: N/m^3 */
    double tangent; /* phi'' */
} spl_tether_point;

static inline spl_tether_point spl_tether_at(double length, double pressure, double d)
{
    double u = d / length, over = u > 1 ? u - 1 : 0, k = pressure / length;
    double stiff = SPL_TETHER_STIFFENING * over * over;
    return (spl_tether_point){.phi = pressure * length * (u * u / 2 + stiff * over / 3),
                              .pull = k * (u > 1 ? 1 + stiff / u : 1),
                              .tangent = k * (1 + 2 * SPL_TETHER_STIFFENING * over)};
}

#endif
