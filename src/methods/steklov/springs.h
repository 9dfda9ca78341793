/* Contacts answered by penalty springs (section 3): every free surface vertex that has gone into something is pulled to
 * its way out (equation 2), and what it has gone into is pulled the other way through its triangle's corners. Contacts
 * are found afresh before every Newton step.
 *
 * Found contacts may jump as x moves: a vertex has two ways out that are equally far, or none any more. When an active
 * set comes back that was there before, but not last (a cycle), or after many steps, the pairs known so far are kept
 * for the rest of the frame: each with its triangle, touching point and normal, and active while it is on the wrong
 * side. What is left is a convex problem; where it is solved, new contacts are looked for, and may join. */
#ifndef SPL_METHODS_STEKLOV_SPRINGS_H
#define SPL_METHODS_STEKLOV_SPRINGS_H

#include "contact/contact.h"
#include "methods/steklov/exrotated.h"

enum { SPL_SETS = 64, SPL_FRESH = 2 }; /* active sets that are remembered; finds before pairs are kept in any case */

typedef struct spl_springs {
    supple_allocator allocator;
    const spl_exrotated *system;
    spl_contacts *contacts; /* NULL: there are none */
    double factor;          /* stiffness, in units of the vertex's own at rest */
    bool along;             /* only along the normal, from the first find on; kept pairs in any case */
    spl_contact *known;     /* contacts, on either side */
    int32_t known_count;
    int32_t *place; /* 2 a vertex, self and world: its place in `known`, or -1 */
    spl_contact_spring *list;
    int32_t count, pairs; /* springs, and contacts that they answer: those on the wrong side */
    double *extra;        /* 9 a node of `stiff`: the springs' diagonal blocks in the node's own frame */
    int32_t *stiff;       /* nodes that springs act on */
    int32_t stiff_count;
    int32_t *stiff_place;   /* by node: in that list, or -1 */
    uint64_t set[SPL_SETS]; /* of this frame, by find */
    int32_t set_count, finds, cycles;
    bool same;   /* the last two sets are equal */
    bool keep;   /* known pairs are kept */
    bool fresh;  /* the last find looked for new contacts */
    bool frozen; /* the springs are a frozen set, and known contacts are not what they answer */
} spl_springs;

/* `contacts` may be NULL. */
supple_result spl_springs_create(const spl_exrotated *system, spl_contacts *contacts, double factor, bool along,
                                 spl_springs *out, supple_error *error);
void spl_springs_release(spl_springs *s);

/* Begins a frame. */
void spl_springs_begin(spl_springs *s);

/* Springs of the contacts at x. Where pairs are kept, new ones are looked for only if `all`. */
void spl_springs_find(spl_springs *s, const double *x, bool all);

/* The same springs, active or not, their targets brought up to x: a frozen set, for comparisons. */
void spl_springs_refresh(spl_springs *s, const double *x);

/* Adds their forces at x to `force`, 3 a node from node `first` on. */
void spl_springs_pull(const spl_springs *s, const double *x, int32_t first, double *force);

/* y += (their stiffness) x for vectors of 3 a node from node `first` on. */
void spl_springs_multiply(const spl_springs *s, int32_t first, const double *x, double *y);

/* How much of a step dx (3 a node from node `first` on) lowers the energy most, 0 to 1: along it the elastic energy is
 * -a slope + a^2/2 curvature, and known contacts come and go with their distance. */
double spl_springs_search(const spl_springs *s, int32_t first, const double *dx, double slope, double curvature);

/* Tells known contacts that all nodes have moved by a dx. */
void spl_springs_advance(spl_springs *s, const double *dx, double a);

/* The stiffness of a known contact's spring, N/m. */
double spl_springs_stiffness(const spl_springs *s, const spl_contact *c);

/* How fast known contacts come out along dx (3 a node): their depth's decrease. */
void spl_springs_along(const spl_springs *s, const double *dx, double *along);

/* Adds the forces of kept pairs by their depth to `force`, 3 a node. */
void spl_springs_press(const spl_springs *s, double *force);

/* Lists the springs of kept pairs by their depth, as the last set of the frame. Whether they are others than before. */
bool spl_springs_relist(spl_springs *s);

/* Fills s->stiff and s->extra from the list. */
void spl_springs_set_extra(spl_springs *s);

#endif
