/* Contacts as ties of the global step (section 6): translation-invariant, frozen for the step. */
#ifndef SPL_METHODS_PROJECTIVE_TOUCH_H
#define SPL_METHODS_PROJECTIVE_TOUCH_H

#include "contact/contact.h"
#include "methods/projective/solver.h"

typedef struct spl_touch {
    supple_allocator allocator;
    bool edges;       /* three springs to the triangle's corners instead of one tie that presses and slides */
    int32_t capacity; /* ties */
    spl_tie *tie;
    int32_t tie_count, contact_count;
    int64_t *pair, *last; /* by contact: vertex and partner, of this find and of the one before */
    int32_t last_count;
    spl_contact_spring *spring; /* those that act at the end of a step */
    int32_t spring_count;
} spl_touch;

supple_result spl_touch_create(const spl_contacts *contacts, bool edges, const supple_allocator *a, spl_touch *out,
                               supple_error *error);
void spl_touch_release(spl_touch *t);

/* Finds the contacts at x and makes ties of them, `stiffness` times as stiff as A is at their vertices. True if they
 * are the pairs of the last find. */
bool spl_touch_find(spl_touch *t, spl_contacts *contacts, const spl_pd *pd, double stiffness, const double *x,
                    spl_pool *pool);

/* The springs that ties amount to at x, as --dump-sim has them. A spring of `edges` pulls towards its corner itself:
 * what its length at rest takes off that pull is added to `force`. */
void spl_touch_springs(spl_touch *t, const double *x, double *force);

#endif
