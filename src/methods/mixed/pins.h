/* Soft pins of the mixed paper (section 3, C(x) = k_s/2 |P x - x_p|^2): vertices around handles and bones' middles that
 * follow their bone with the offset they have at rest (figure 2). */
#ifndef SPL_METHODS_MIXED_PINS_H
#define SPL_METHODS_MIXED_PINS_H

#include "body/solid.h"

typedef enum spl_pin_kind {
    SPL_PIN_MIDPOINTS, /* the vertices nearest to each handle and each bone's middle, three at a place, not in line */
    SPL_PIN_HANDLES,   /* the three vertices nearest to each handle (figure 4, left) */
    SPL_PIN_BONES,     /* all vertices within a cell of a bone (figure 4, centre) */
} spl_pin_kind;

typedef struct spl_pins {
    supple_allocator allocator;
    int32_t count;
    int32_t *bone; /* by pin */
    spl_pin *pin;  /* targets are set by spl_pins_pose */
} spl_pins;

/* Chooses them; pieces that they leave free to float or turn (islands.h) hang on weak springs. Stiffness in N/m. */
supple_result spl_pins_create(const spl_solid *solid, spl_pin_kind kind, double stiffness, spl_pins *out,
                              supple_error *error);

/* The springs of the solid's islands alone. */
supple_result spl_pins_create_islands(const spl_solid *solid, spl_pins *out, supple_error *error);
void spl_pins_release(spl_pins *p);

/* Sets the targets to the solid's pose. */
void spl_pins_pose(spl_pins *p, const spl_drive *drive);

#endif
