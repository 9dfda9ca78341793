/* The feasible state: places of a body's vertices at which its surface does not cross itself, kept from frame to frame.
 *
 * A method that answers contact with springs needs three things of it:
 *
 *     begin   bones go from the last pose to this one, in steps of a few degrees, and take the state along. What meets
 *             on the way is turned aside (bounded_move.h); where the motion takes bones through each other their pairs
 *             are released (barrier.h)
 *     find    the method asks, as often as it likes, what would meet on the way from the state to an x of its own: the
 *             pairs of a point and a triangle, with the direction in which they are apart in the state. So there is no
 *             guess about the way out, and what is near along the surface counts like all else. That is at rest; in
 *             motion contacts are what the steps before had to keep apart (pressed.h)
 *     end     the state goes to the method's answer, as far as nothing meets, and is the frame's answer */
#ifndef SPL_CONTACT_FEASIBLE_H
#define SPL_CONTACT_FEASIBLE_H

#include "body/pose_path.h"
#include "contact/body_surface.h"
#include "contact/bounded_move.h"
#include "contact/held.h"
#include "contact/pressed.h"

typedef struct spl_feasible spl_feasible;

/* A pair of a free vertex and a triangle that would meet. */
typedef struct spl_meeting {
    int32_t vertex, corner[3];
    double bary[3];  /* the touching point, as it is in the state */
    double offset;   /* from it, along the normal, the vertex is to be */
    spl_vec3 normal; /* unit: from the triangle to the vertex, in the state */
    double depth;    /* offset - (x_v - sum_k bary_k x_k) . normal, metres */
} spl_meeting;

/* `solid` must outlive it; held: its body's bones. The only failure is SUPPLE_ERROR_MEMORY; *out is then NULL. */
supple_result spl_feasible_create(const spl_solid *solid, spl_pool *pool, spl_feasible **out, supple_error *error);
void spl_feasible_destroy(spl_feasible *f); /* accepts NULL */

/* Back to the bind pose. */
void spl_feasible_reset(spl_feasible *f);

/* To the solid's pose; `moving`: by a step of dynamics. */
supple_result spl_feasible_begin(spl_feasible *f, bool moving, supple_error *error);

/* In a step of dynamics, the pairs that press, which are all its contacts; NULL at rest. */
spl_pressed *spl_feasible_pressed(spl_feasible *f);

/* What meets from the state to x (3 a vertex), or ends nearer than `more` (by vertex, metres) beyond its offset, in
 * rising order of the vertex, valid until the next call of anything. -1 if memory is out. */
int32_t spl_feasible_find(spl_feasible *f, const double *x, const double *more, const spl_meeting **list);

/* Takes back a part of what x is from the state, where flesh touches: around `count` vertices (-1: none), each by its
 * share, 0 to 1. Nothing in a first frame. */
void spl_feasible_damp(spl_feasible *f, const int32_t *vertex, const double *share, int32_t count, double *x);

/* The state goes to x, and x becomes the state. */
supple_result spl_feasible_end(spl_feasible *f, double *x, supple_error *error);

/* Whether bones are where they were in the last frame, but for a motion of the whole. */
bool spl_feasible_still(const spl_feasible *f);

/* Whether the state came anew from the bind pose when the frame began: the last frame's was entangled. What goes on
 * from the last frame should begin at the state instead. */
bool spl_feasible_anew(const spl_feasible *f);

/* The state: 3 a vertex of the body. */
const double *spl_feasible_x(const spl_feasible *f);

/* Which pairs of bones are released. */
spl_barrier *spl_feasible_barrier(const spl_feasible *f);

/* Whether pairs are released although their bones do not cross: their flesh does. */
bool spl_feasible_tangled(const spl_feasible *f);

/* Whether a vertex and a triangle are of bones that are released. */
bool spl_feasible_released(const spl_feasible *f, int32_t vertex, const int32_t corner[3]);

/* How far what bones hold was from its place, at most, before pairs gave way in the last frame, metres. */
double spl_feasible_missing(const spl_feasible *f);

#endif
