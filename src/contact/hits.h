/* Which points are in which tetrahedra: the broad and narrow phase of contacts.
 *
 * A spatial hash in the manner of Teschner et al. ("Optimized spatial hashing for collision detection of deformable
 * objects", 2003), the other way round: the points, far fewer, are sorted into cells of about a tet's size, and every
 * tet looks through the cells that its box covers. (Boxes put in and asked by points are several entries a tet to be
 * sorted in every frame.) The hash of a cell is its coordinates modulo a power of two, so that cells along an axis are
 * neighbours in memory, and space has no end: whatever flies away shares cells with what is here, and only costs time.
 */
#ifndef SPL_CONTACT_HITS_H
#define SPL_CONTACT_HITS_H

#include "contact/shell.h"

typedef struct spl_hit_pair {
    int32_t point, tet;
} spl_hit_pair;

typedef struct spl_hits {
    const spl_shell *shell;
    supple_allocator allocator;
    int32_t point_count;  /* of the next find: at first as many as there is room for */
    const int32_t *body;  /* by point: the vertex of the body that it is, whose own tets are passed over; or NULL */
    double cell;          /* metres */
    int32_t width;        /* cells along an axis, a power of two */
    int32_t *first;       /* width^3 + 1 */
    int32_t *order;       /* points by cell */
    size_t stride;        /* of the coordinates: */
    float *position;      /* x, y and z of the points in that order, from the corner of their box */
    float *vertex;        /* 4 x body vertices: likewise */
    uint8_t *own;         /* by tet: how many of its corners are points */
    int32_t *key;         /* by point: its cell */
    spl_hit_pair *piece;  /* what each piece of tets found */
    int32_t *piece_count; /* by piece */
    int32_t *point_first; /* point_count + 1: CSR over `pair` */
    spl_hit_pair *pair;   /* by rising point, then tet */
    int32_t pair_count;
} spl_hits;

/* Whether a point and a tet may be a pair at all; called for those that overlap. */
typedef bool spl_hits_accept(const void *context, int32_t point, int32_t tet);

/* Room for so many points against the tets of a shell, which must outlive it, as must `body`: points
 * that are vertices of the body stand where these do. */
supple_result spl_hits_create(const spl_shell *shell, int32_t point_count, const int32_t *body, spl_hits *out,
                              supple_error *error);
void spl_hits_release(spl_hits *h);

/* Fills h->pair with the points p in tets at x whose barycentrics are all at least -slack. Tets without positive volume
 * hold nothing. A piece of tets that holds twice as many points as it has tets keeps the first of them. Allocates
 * nothing; the same at any number of threads. */
void spl_hits_find(spl_hits *h, const spl_vec3 *p, const double *x, double slack, spl_hits_accept *accept,
                   const void *context, spl_pool *pool);

#endif
