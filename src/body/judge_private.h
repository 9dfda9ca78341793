/* Pieces while they are judged: what is flesh so far, and the questions that are asked of it. */
#ifndef SPL_BODY_JUDGE_PRIVATE_H
#define SPL_BODY_JUDGE_PRIVATE_H

#include "body/judge.h"
#include "geom/winding.h"

#define SPL_HARD_SEGMENT 0.10 /* share of a piece's area that may differ where each vertex follows one joint alone */
#define SPL_SOLID_BULK   0.05 /* a slab of an edge 75 times its thickness */
#define SPL_NEARLY_SOLID 4.0  /* openness below which a piece is a solid by itself */
#define SPL_MOST         0.50 /* of an area */
#define SPL_ENCLOSED     0.90 /* of a piece inside other flesh */
#define SPL_INWARD       1e-3 /* of the diagonal: how far below the surface inside is asked for */

typedef struct court {
    const spl_roles_input *in;
    const supple_allocator *a;
    spl_skin_pieces *pieces;
    int32_t *first, *triangle; /* by piece, and one more: its triangles */
    double budget;
    /* the flesh so far */
    int32_t *flesh; /* 3 x triangle_count: its triangles */
    int32_t *flesh_source;
    int32_t flesh_count;
    spl_tree tree;
    spl_winding winding;
    bool ready;
} court;

/* What lies beneath a piece: shares of its area. */
typedef struct spl_beneath {
    double over; /* flesh that moves alike, near or around it */
    double near; /* the same within reach */
} spl_beneath;

/* A solid by itself: some thickness, and small openings if any. */
static inline bool spl_piece_is_solid(const spl_skin_piece *p)
{
    return p->bulk >= SPL_SOLID_BULK && (p->closed || p->openness < SPL_NEARLY_SOLID);
}

int32_t spl_court_step(const court *c, int32_t piece);      /* every so many triangles of a piece are asked about */
spl_vec3 spl_court_below(const court *c, int32_t triangle); /* its middle, a little below the surface */
double spl_court_winding(court *c, int32_t piece, spl_vec3 p);
spl_beneath spl_court_beneath(const court *c, int32_t piece);

/* Solids that move as one and are flesh all the same: they are given that role, the flesh is to be gathered again. */
supple_result spl_court_find_clumps(court *c, supple_error *error);
supple_result spl_court_find_ends(court *c, supple_error *error);

#endif
