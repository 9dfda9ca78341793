/* Contact by a barrier: an energy that becomes infinite where the body's surface would touch itself or an obstacle,
 * with steps that are bounded so that it never does. For Newton's method (fem/extra.h).
 *
 * Pairs are points and triangles, edges and edges of the surface. None are those that share a vertex, and those whose
 * vertices are all held by bones: the motion decides about these. The distance that counts as touching is
 *
 *     offset = min(deviation of one side + of the other, 0.8 d)     d: the pair's distance at rest
 *
 * where the deviation is how far the visual mesh stands out of the body (deviation.h): where the body only touches, the
 * meshes do too. The barrier (potential.h) acts on gaps below min(width, d - offset), so a body at rest feels nothing.
 * Its stiffness is the mean elastic stiffness of the pair's vertices.
 *
 * Bones whose motion takes them through each other cannot be kept apart by flesh. Their pairs are *released*: no
 * barrier, no bound, between what the two bones carry. Where bones come so near that there is no room for the offsets,
 * these become smaller. */
#ifndef SPL_CONTACT_BARRIER_H
#define SPL_CONTACT_BARRIER_H

#include "body/solid.h"
#include "contact/potential.h"
#include "fem/extra.h"

/* Things of the world over vertices of their own, which follow those of the body in all pairs. Borrowed. */
typedef struct spl_obstacles {
    int32_t vertex_count, edge_count, triangle_count;
    double *position;        /* 3 each: where they are now; the caller moves them */
    const double *radius;    /* by vertex: of what is around it, metres */
    const int32_t *edge;     /* 2 each, from 0 */
    const int32_t *triangle; /* 3 each, from 0 */
} spl_obstacles;

typedef struct spl_barrier_options {
    bool self;        /* the body against itself */
    double width;     /* of the barrier at most, metres; 0: a thousandth of the body's diagonal */
    double stiffness; /* times the elastic one; 1 */
} spl_barrier_options;

spl_barrier_options spl_barrier_options_default(void);

typedef struct spl_barrier spl_barrier;

/* `solid`, `held` (by vertex: its bone, or -1) and `obstacles` (may be NULL) must outlive it, as must the pool. */
supple_result spl_barrier_create(const spl_solid *solid, const int32_t *held, const spl_obstacles *obstacles,
                                 const spl_barrier_options *options, spl_pool *pool, spl_barrier **out,
                                 supple_error *error);
void spl_barrier_destroy(spl_barrier *b); /* accepts NULL */

/* For a solver; belongs to the barrier. */
const spl_extra *spl_barrier_extra(spl_barrier *b);

/* The share of a step of all vertices, held ones too, from x to x + d that is free of touching; obstacles move from
 * where they are by `shift` (3 x their vertices; NULL: they stand). `slack` of each gap is left. */
supple_result spl_barrier_max_step(spl_barrier *b, const double *x, const double *d, const double *shift, double slack,
                                   double *share, supple_error *error);

/* What the last energy was of. */
typedef struct spl_barrier_state {
    int32_t pairs;    /* on which the barrier acts */
    double gap;       /* the smallest, metres; INFINITY without pairs */
    double width;     /* of the barrier */
    int32_t overlaps; /* vertices of primitives that cross at rest: between these there is no barrier */
} spl_barrier_state;
spl_barrier_state spl_barrier_look(const spl_barrier *b);

/* Those pairs, for --dump-sim. */
const spl_potential *spl_barrier_active(const spl_barrier *b, int32_t index);

/* Adds the barrier's forces on the vertices of the body at x, whose pairs are sought afresh; returns its energy. */
supple_result spl_barrier_measure(spl_barrier *b, const double *x, double *force, double *energy, supple_error *error);

/* The elastic stiffness of a vertex of the body at rest, N/m. */
double spl_barrier_stiffness(const spl_barrier *b, int32_t vertex);

/* ---- pairs of bones ---- */

/* The bone that a vertex of the surface belongs to: that which holds it, else the strongest of its weights. */
int32_t spl_barrier_bone(const spl_barrier *b, int32_t vertex);
bool spl_barrier_released(const spl_barrier *b, int32_t bone, int32_t other);
void spl_barrier_release(spl_barrier *b, int32_t bone, int32_t other, bool released);
int32_t spl_barrier_released_count(const spl_barrier *b);

/* What stops the step from x to x + d, obstacles standing: the offsets between these bones become `less` of what they
 * are; where that is less than a hundredth, or `less` is 0, their pairs are released. Returns for how many pairs of
 * bones something changed. */
supple_result spl_barrier_give_way(spl_barrier *b, const double *x, const double *d, double less, int32_t *count,
                                   supple_error *error);

/* Takes pairs of bones that are released back where nothing of theirs crosses at x and `keep` (bones x bones; may be
 * NULL) does not say otherwise, and lets offsets that gave way grow again as far as gaps allow. Returns how many pairs
 * of bones are still released without being in `keep`: something of theirs crosses. */
supple_result spl_barrier_take_back(spl_barrier *b, const double *x, const bool *keep, int32_t *count,
                                    supple_error *error);

/* All shares of offsets, bones x bones, 0 for released pairs: to be kept and restored. */
void spl_barrier_keep(const spl_barrier *b, double *ease);
void spl_barrier_restore(spl_barrier *b, const double *ease);

/* Whether any edge passes through a triangle at x, released pairs aside: what must never be. */
int32_t spl_barrier_crossings(spl_barrier *b, const double *x);

#endif
