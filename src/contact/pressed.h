/* Pairs that press on each other while flesh moves: those that bounded moves kept apart (bounded_move.h), remembered
 * from step to step. Points and triangles, edges and edges, of held vertices too: all that stops flesh. Nothing is
 * searched for: what meets is stopped in that step, and a spring presses from the next one on.
 *
 * A spring draws sum_k w_k x_k to (apart + push) n. `push` makes up for what the spring leaves (an augmented
 * Lagrangian), so that in the end nothing is left to bounded moves. The touching places w stay as long as the spring
 * leaves less across n than friction bears: flesh that is pressed sticks, and comes to rest. */
#ifndef SPL_CONTACT_PRESSED_H
#define SPL_CONTACT_PRESSED_H

#include "contact/barrier.h"
#include "math/vec3.h"

typedef struct spl_pressed_pair {
    spl_pair pair;
    double w[4];     /* the places that touch */
    spl_vec3 normal; /* n, unit: from the second of the pair to the first */
    double apart;    /* how far they are to be from each other along n, metres: a little more than bounds ask for */
    double push;     /* beyond that, metres, >= 0 */
    int32_t idle;    /* steps in a row that it has not been pushed */
    bool placed;     /* all of the above is of the step under way */
    bool sticks;     /* w stays */
} spl_pressed_pair;

typedef struct spl_pressed {
    supple_allocator allocator;
    const spl_barrier *barrier;
    spl_pressed_pair *press; /* sorted by pair */
    int32_t count, room;
} spl_pressed;

/* The barrier must outlive it. */
void spl_pressed_create(const spl_barrier *b, const supple_allocator *a, spl_pressed *out);
void spl_pressed_release(spl_pressed *p);
void spl_pressed_forget(spl_pressed *p);

/* Adds a pair that a move kept apart; false if memory is out. */
bool spl_pressed_note(spl_pressed *p, const spl_pair *pair);

/* Where the pairs are at x, at which nothing crosses (3 a vertex). Those that have not been pushed for long, and those
 * of bones that are released, are forgotten. */
void spl_pressed_place(spl_pressed *p, const double *x);

/* x is what the springs led to: pushes grow by what is missing there, up to `most` metres, and shrink by what is too
 * much. */
void spl_pressed_learn(spl_pressed *p, const double *x, double most);

#endif
