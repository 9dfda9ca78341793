/* A step of all vertices that nothing is in the way of: turned aside and cut short where pairs would meet.
 *
 * Of a pair that the step from x to x + d would take through each other, n is the direction between the nearest places
 * at x, with weights w (distance.h), and gap their distance beyond the offset (barrier.h). Then
 *
 *     gap + n . sum_i w_i d_i >= left        left = min(gap / 2, the barrier's width)
 *
 * is made to hold by Gauss-Seidel sweeps over these pairs, which take back what is not needed any more: they end at the
 * nearest such step (Hildreth 1957). The free vertices of both sides give way alike; held ones go where they are taken.
 * Rows are of the pairs that continuous detection says would meet, so that what slides past is not touched. They are
 * linear, and held vertices do not answer: pairs that still would meet are cut short, each of their vertices to less
 * than half of their gap, which is safe whatever the others do, until no pair meets. */
#ifndef SPL_CONTACT_BOUNDED_MOVE_H
#define SPL_CONTACT_BOUNDED_MOVE_H

#include "contact/barrier.h"

typedef struct spl_bounded_move spl_bounded_move;

/* The barrier must outlive it. The only failure is SUPPLE_ERROR_MEMORY; *out is then NULL. */
supple_result spl_bounded_move_create(spl_barrier *b, const supple_allocator *a, spl_bounded_move **out,
                                      supple_error *error);
void spl_bounded_move_destroy(spl_bounded_move *m); /* accepts NULL */

/* Changes d (3 x vertices) so that nothing meets from x to x + d. *cut: how many vertices were cut short, 0 where
 * turning aside was enough, -1 where there was nothing in the way and d is as it was. */
supple_result spl_bounded_move_make(spl_bounded_move *m, const double *x, double *d, int32_t *cut, supple_error *error);

/* Tells of the pairs that the last move kept apart by turning them aside; false, and no more, once `take` is. */
bool spl_bounded_move_pushed(const spl_bounded_move *m, bool (*take)(void *context, const spl_pair *pair),
                             void *context);

#endif
