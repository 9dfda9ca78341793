/* Polish: the last stage of contact, on the visual mesh. The body's surface is coarser than the mesh it carries: when
 * the body's contacts are resolved, visual vertices may still reach into the flesh they touch. They are moved out, to
 * the body's surface that they have passed.
 *
 * Only around contacts that were found: labels spread up to three rings of the surface from each contact's vertex and
 * from its partner, as long as the other side is within 1.5 edges, and the visual vertices that sit there look for it.
 * A depth up to half the body's mean edge is undone whole, one of an edge not at all, in between less and less: what is
 * deeper is for the solver. Vertices around get a share of what their neighbours moved, which falls off over a few
 * rings, so that no spikes appear. Both sides do this, each against the surface of the other's body; where the bodies
 * only touch, the two meshes then meet. Vertices that stand at one place move as one. */
#ifndef SPL_CONTACT_POLISH_H
#define SPL_CONTACT_POLISH_H

#include "contact/contact.h"

typedef struct spl_polish spl_polish;

/* `contacts` must outlive it. All room is made here. */
supple_result spl_polish_create(const spl_contacts *contacts, const supple_config *config, spl_polish **out,
                                supple_error *error);
void spl_polish_destroy(spl_polish *p); /* accepts NULL */

/* Moves the visual vertices (3 floats a scene vertex, world space) in place: those of flesh that are in other flesh at
 * x. Looks at all of them, or around the contacts of the last find only, which costs nothing without contacts. Returns
 * how many were in other flesh. Allocates nothing; the same bits at any number of threads. */
int32_t spl_polish_apply(spl_polish *p, const double *x, bool all, float *visual, spl_pool *pool);

#endif
