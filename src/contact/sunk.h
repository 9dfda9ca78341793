/* Sunk bones: where a pose has bones in flesh of another part of the body.
 *
 * The vertices that bones hold, the body being posed by the weights alone, in tets of bones that are more than two
 * joints away and that did not hold them at rest. Limbs are turned aside for them (yield.h). But a limb eases out of
 * the way, legs stand, and hands do not yield to hands: what is left is nothing that flesh can make up for. The skin of
 * a thumb whose bone is in a thigh came out of it and was torn. So flesh gives contact up as
 * its bones sink, and a thumb is in the thigh for the frames in which its bone is. */
#ifndef SPL_CONTACT_SUNK_H
#define SPL_CONTACT_SUNK_H

#include "contact/contact.h"
#include "contact/hits.h"
#include "contact/near.h"

typedef struct spl_sunk {
    supple_allocator allocator;
    const spl_solid *solid;
    const spl_near *near;
    int32_t point_count;
    int32_t *vertex;    /* by point: of the body, held by a bone; ascending */
    bool *apart;        /* by point: in other flesh at rest */
    spl_vec3 *position; /* by point */
    spl_vec3 *way;      /* by point: out of the flesh it is in; 0 if it is in none */
    int32_t *other;     /* by point: the bone of the flesh that it is in */
    spl_hits hits;
    bool *close;    /* bones x bones: neighbours */
    double *most;   /* by bone: as deep as this its flesh bears no contact, metres */
    double *deep;   /* by bone: how deep it is, of `most`, up to 1 */
    double *spread; /* by bone: or a bone that meets it at a joint */
    double *share;  /* by vertex of the body: of contacts' stiffness that its flesh bears, 0 to 1 */
    bool any;       /* some share is below 1 */
    double *x;      /* 3 x vertices: posed by the weights */
} spl_sunk;

/* The solid and the contacts must outlive it. All room is made here. */
supple_result spl_sunk_create(const spl_solid *solid, const spl_contacts *contacts, const supple_config *config,
                              spl_pool *pool, spl_sunk **out, supple_error *error);
void spl_sunk_destroy(spl_sunk *s); /* accepts NULL */

/* The bone that has most of a vertex of the body. */
int32_t spl_sunk_bone(const spl_sunk *s, int32_t vertex);

/* Which points are in tets at x, of those that `accept` takes; without their ways out. */
void spl_sunk_hit(spl_sunk *s, const double *x, spl_hits_accept *accept, const void *context, spl_pool *pool);

/* Likewise in the drive's pose, with the ways out. Returns whether any is. Allocates nothing, the same bits at any
 * number of threads. */
bool spl_sunk_find(spl_sunk *s, spl_hits_accept *accept, const void *context, spl_pool *pool);

/* Finds all that are sunk in the drive's pose, and the shares. */
void spl_sunk_share(spl_sunk *s, spl_pool *pool);

/* Nothing is: all shares are 1. */
void spl_sunk_reset(spl_sunk *s);

#endif
