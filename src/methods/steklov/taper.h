/* Bones taper towards joints. Capsules of two bones that meet overlap when the joint is bent far: at 150 degrees an
 * arm's two, each 14 mm thick, lie in each other up to 5 cm from the elbow. What is held there prescribes flesh that is
 * in two places at once; no contact can part it, the fold between is turned inside out. So only what lies within a cone
 * around the bone's axis with its tip at the joint is held: cones of two bones touch at the bend for which they are
 * made. */
#ifndef SPL_METHODS_STEKLOV_TAPER_H
#define SPL_METHODS_STEKLOV_TAPER_H

#include "body/pins.h"

/* Replaces what `pins` hold by what is left of it when joints may bend by `degrees` (below 180; 0: all is left). A bone
 * that would keep too little stays as it is. SUPPLE_ERROR_MEMORY is the only failure. */
supple_result spl_taper(const spl_solid *solid, double degrees, spl_pins *pins, supple_error *error);

#endif
