/* How `mixed` answers contacts: a spring along the normal for every vertex that is inside something, in the frame's own
 * quadratic system. Its equilibrium is a little inside, so that a contact that pushes is found again, and one that
 * would pull is not: which contacts there are settles within a few rounds. */
#ifndef SPL_METHODS_MIXED_TOUCH_H
#define SPL_METHODS_MIXED_TOUCH_H

#include "contact/contact.h"

typedef struct spl_mixed_touch {
    supple_allocator allocator;
    spl_contact_spring *spring; /* count, in the order of their contacts */
    int32_t *partner;           /* by spring: what is touched, to know whether contacts have changed */
    int32_t count;
    double *stiffness; /* by vertex, N/m */
} spl_mixed_touch;

/* Springs `share` times as stiff as the flesh around their vertices. */
supple_result spl_mixed_touch_create(const spl_solid *solid, const spl_contacts *contacts, double share,
                                     const supple_allocator *a, spl_mixed_touch *out, supple_error *error);
void spl_mixed_touch_release(spl_mixed_touch *t); /* accepts a zeroed one */

/* The springs at x; returns whether they tie the same pairs as before. Allocates nothing. */
bool spl_mixed_touch_find(spl_mixed_touch *t, spl_contacts *contacts, const double *x, spl_pool *pool);

/* How far a spring is stretched along its normal at x, held or not: n . (x_v - sum_i b_i x_i), or - target in the
 * world. */
double spl_mixed_touch_gap(const spl_contact_spring *s, const double *x);

/* Targets where they are at x: what a solve has moved along with the corners. */
void spl_mixed_touch_settle(spl_mixed_touch *t, const double *x);

#endif
