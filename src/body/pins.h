/* How bones hold flesh in a solve: hard, by the vertices that the attachments prescribe, or by the soft pins of the
 * mixed paper (section 3, C(x) = k_s/2 |P x - x_p|^2): vertices around handles and bones' middles that follow their
 * bone with the offset they have at rest (figure 2). */
#ifndef SPL_BODY_PINS_H
#define SPL_BODY_PINS_H

#include "body/solid.h"

typedef enum spl_pin_kind {
    SPL_PIN_HARD,      /* what is inside bones is prescribed; only the solid's islands hang on springs */
    SPL_PIN_MIDPOINTS, /* the vertices nearest to each handle and each bone's middle, three at a place, not in line */
    SPL_PIN_HANDLES,   /* the three vertices nearest to each handle (figure 4, left) */
    SPL_PIN_BONES,     /* all vertices within a cell of a bone (figure 4, centre) */
} spl_pin_kind;

typedef struct spl_pins {
    supple_allocator allocator;
    const int32_t *held; /* by vertex: the bone that prescribes it, or -1: spl_body.bone, or none of them */
    int32_t *none;       /* owned; all -1, with soft pins */
    int32_t count;
    int32_t *bone; /* by pin */
    spl_pin *pin;  /* targets are set by spl_pins_pose */
} spl_pins;

/* Chooses them; pieces that they leave free to float or turn (islands.h) hang on weak springs. Stiffness of soft pins
 * in N/m. `solid` must outlive them. */
supple_result spl_pins_create(const spl_solid *solid, spl_pin_kind kind, double stiffness, spl_pins *out,
                              supple_error *error);

void spl_pins_release(spl_pins *p);

/* Sets the targets to the solid's pose. */
void spl_pins_pose(spl_pins *p, const spl_drive *drive);

#endif
