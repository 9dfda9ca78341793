/* Which points are in which tetrahedra: the broad and narrow phase of contacts.
 *
 * A spatial hash in the manner of Teschner et al. ("Optimized spatial hashing for collision detection of deformable
 * objects", 2003), the other way round: the points, far fewer, are sorted into cells of about a tet's size, and every
 * tet looks through the cells that its box covers. Putting the boxes in and asking with the points costs ten entries a
 * tet to be sorted in every frame (measured: docs/contact.md). */
#ifndef SPL_CONTACT_HITS_H
#define SPL_CONTACT_HITS_H

#include "contact/shell.h"

typedef struct spl_hit_pair {
    int32_t point, tet;
} spl_hit_pair;

typedef struct spl_hits {
    const spl_shell *shell;
    supple_allocator allocator;
    int32_t point_count;
    double cell;          /* metres */
    uint32_t mask;        /* cells - 1 */
    int32_t *first;       /* cells + 1 */
    int32_t *order;       /* points by cell */
    double *position;     /* 3 x points, in that order */
    uint32_t *key;        /* by point: its cell */
    spl_hit_pair *piece;  /* what each piece of tets found */
    int32_t *piece_count; /* by piece */
    int32_t *point_first; /* point_count + 1: CSR over `pair` */
    spl_hit_pair *pair;   /* by rising point, then tet */
    int32_t pair_count;
} spl_hits;

/* Whether a point and a tet may be a pair at all; called for those that overlap. */
typedef bool spl_hits_accept(const void *context, int32_t point, int32_t tet);

/* Room for so many points against the tets of a shell, which must outlive it. */
supple_result spl_hits_create(const spl_shell *shell, int32_t point_count, spl_hits *out, supple_error *error);
void spl_hits_release(spl_hits *h);

/* Fills h->pair with the points p in tets at x whose barycentrics are all at least -slack. Tets without positive volume
 * hold nothing, nor do those whose box covers more than 4096 cells (torn apart). A piece of tets that holds twice as
 * many points as it has tets keeps the first of them. Allocates nothing; the same at any number of threads. */
void spl_hits_find(spl_hits *h, const spl_vec3 *p, const double *x, double slack, spl_hits_accept *accept,
                   const void *context, spl_pool *pool);

#endif
