/* Contacts as ties of the global step (section 6): translation-invariant, frozen for the step. */
#ifndef SPL_METHODS_PROJECTIVE_TOUCH_H
#define SPL_METHODS_PROJECTIVE_TOUCH_H

#include "contact/contact.h"
#include "methods/projective/solver.h"

/* How a contact is answered. */
typedef enum spl_touch_form {
    SPL_TOUCH_STICK, /* a spring to the touching point, which stays where it is in its triangle until the next search */
    SPL_TOUCH_SLIDE, /* the same along the normal alone: without friction, but ten times the iterations */
    SPL_TOUCH_EDGES, /* three springs to the triangle's corners, each as long as the touching point is away (the
                        paper's) */
} spl_touch_form;

typedef struct spl_touch {
    supple_allocator allocator;
    spl_touch_form form;
    double reach;     /* metres: how far off a pair is still kept */
    int32_t capacity; /* ties */
    spl_tie *tie;
    int32_t tie_count, contact_count;
    double depth;         /* of the deepest contact found last, metres */
    int64_t *pair, *last; /* by contact: vertex and partner, of this find and of the one before */
    int32_t last_count;
    spl_contact_spring *spring; /* those that act at the end of a step */
    int32_t spring_count;
} spl_touch;

supple_result spl_touch_create(const spl_contacts *contacts, spl_touch_form form, const supple_allocator *a,
                               spl_touch *out, supple_error *error);
void spl_touch_release(spl_touch *t);

/* Finds the contacts at x and makes ties of them, `stiffness` times as stiff as A is at their vertices, that bring each
 * out by `most` metres at most. True if they are the pairs of the last find. */
bool spl_touch_find(spl_touch *t, spl_contacts *contacts, const spl_pd *pd, double stiffness, double most,
                    const double *x, spl_pool *pool);

/* Contacts are inelastic: what acts at x leaves its vertex the share `keep` of its velocity against the bones'. `all`:
 * and the corners, the less the less weight they have. */
void spl_touch_damp(const spl_touch *t, const double *x, const double *bones, double keep, bool all, double *velocity);

/* The springs that ties amount to at x, as --dump-sim has them. A spring of `edges` pulls towards its corner itself:
 * what its length at rest takes off that pull is added to `force`. */
void spl_touch_springs(spl_touch *t, const double *x, double *force);

#endif
