/* Contacts answered by penalty springs (section 3): every free surface vertex that has gone into something is pulled to
 * its way out (equation 2), and what it has gone into is pulled the other way through its triangle's corners. Springs
 * are made anew from the contacts of every Newton step. */
#ifndef SPL_METHODS_STEKLOV_SPRINGS_H
#define SPL_METHODS_STEKLOV_SPRINGS_H

#include "contact/contact.h"
#include "methods/steklov/exrotated.h"

enum { SPL_SETS = 64 }; /* active sets of a frame that are remembered */

typedef struct spl_springs {
    supple_allocator allocator;
    const spl_exrotated *system;
    spl_contacts *contacts; /* NULL: there are none */
    double factor;          /* stiffness, in units of the vertex's own at rest */
    bool along;             /* only along the normal: nothing rubs */
    spl_contact_spring *list;
    int32_t count;
    int32_t found;          /* contacts of the last find, those that only rest nearby included */
    bool *kept;             /* 2 a vertex, self and world: it was active, and stays so after a cycle */
    double *extra;          /* 9 a node: the springs' diagonal blocks in the node's own frame */
    uint64_t set[SPL_SETS]; /* of this frame, by find */
    int32_t set_count, cycles;
    bool same;  /* the last two sets are equal */
    bool unite; /* after a cycle: vertices that were active stay so while they are near */
} spl_springs;

/* `contacts` may be NULL. */
supple_result spl_springs_create(const spl_exrotated *system, spl_contacts *contacts, double factor, bool along,
                                 spl_springs *out, supple_error *error);
void spl_springs_release(spl_springs *s);

/* Begins a frame. */
void spl_springs_begin(spl_springs *s);

/* Springs of the contacts at x. */
void spl_springs_find(spl_springs *s, const double *x);

/* The same contacts, their targets and depths brought up to x: a frozen set. */
void spl_springs_refresh(spl_springs *s, const double *x);

/* Adds their forces at x to `force`, 3 a node from node `first` on. */
void spl_springs_pull(const spl_springs *s, const double *x, int32_t first, double *force);

/* y += (their stiffness) x for vectors of 3 a node from node `first` on. */
void spl_springs_multiply(const spl_springs *s, int32_t first, const double *x, double *y);

/* Fills s->extra from the list. */
void spl_springs_set_extra(spl_springs *s);

#endif
