/* Contact by a barrier: an energy that becomes infinite where a surface would touch itself or a thing of the world,
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

#include "contact/potential.h"
#include "core/threads.h"
#include "fem/extra.h"

/* What may touch, over one array of vertices. All is borrowed and must outlive the barrier. */
typedef struct spl_barrier_surface {
    int32_t vertex_count, own_count; /* the first own_count vertices have a rest shape; the others are the world's */
    const double *rest;              /* 3 x own_count, metres */
    int32_t point_count, edge_count, triangle_count;
    const int32_t *point;    /* vertices that triangles may meet */
    const int32_t *edge;     /* 2 each */
    const int32_t *triangle; /* 3 each */
    const bool *fixed;       /* by vertex: moved from outside */
    const double *reach;     /* by vertex: how far around it what it carries reaches, metres */
    const double *stiffness; /* by vertex of its own: elastic, N/m */
    const int32_t *bone;     /* by vertex: what moves it: a bone; of the world, a number after those of the bones */
    int32_t bone_count;      /* of all these */
    double diagonal;         /* of the rest shape */
} spl_barrier_surface;

typedef struct spl_barrier_options {
    bool self;        /* the body against itself */
    double width;     /* of the barrier at most, metres; 0: a thousandth of the body's diagonal */
    double stiffness; /* times the elastic one; 1 */
} spl_barrier_options;

spl_barrier_options spl_barrier_options_default(void);

typedef struct spl_barrier spl_barrier;

/* The pool must outlive it too. x is 3 x vertex_count in all that follows. */
supple_result spl_barrier_create(const spl_barrier_surface *surface, const spl_barrier_options *options,
                                 const supple_allocator *a, spl_pool *pool, spl_barrier **out, supple_error *error);
void spl_barrier_destroy(spl_barrier *b); /* accepts NULL */

/* For a solver; belongs to the barrier. */
const spl_extra *spl_barrier_extra(spl_barrier *b);

/* The share of a step of all vertices, fixed ones too, from x to x + d that is free of touching. `slack` of each gap is
 * left. */
supple_result spl_barrier_max_step(spl_barrier *b, const double *x, const double *d, double slack, double *share,
                                   supple_error *error);

/* What the last energy was of. */
typedef struct spl_barrier_state {
    int32_t pairs;    /* on which the barrier acts */
    double gap;       /* the smallest, metres; INFINITY without pairs */
    double width;     /* of the barrier */
    int32_t overlaps; /* vertices of primitives that cross at rest: between these there is no barrier */
} spl_barrier_state;
spl_barrier_state spl_barrier_look(const spl_barrier *b);

/* Of the body and the world. */
int32_t spl_barrier_vertex_count(const spl_barrier *b);

/* Those pairs, for --dump-sim. */
const spl_potential *spl_barrier_active(const spl_barrier *b, int32_t index);

/* The barrier's energy and forces at x, whose pairs are sought afresh: 3 x vertices, until the next call of anything;
 * NULL if memory is out. */
const double *spl_barrier_measure(spl_barrier *b, const double *x, double *energy);

/* Pairs with marked vertices (by vertex; borrowed, and read at every search) on both sides are none. NULL: all are. */
void spl_barrier_exempt(spl_barrier *b, const bool *vertex);

/* ---- pairs of bones ---- */

bool spl_barrier_released(const spl_barrier *b, int32_t bone, int32_t other);
void spl_barrier_release(spl_barrier *b, int32_t bone, int32_t other, bool released);
int32_t spl_barrier_released_count(const spl_barrier *b);

/* What stops the step from x to x + d: the offsets between these bones become `less` of what they
 * are; where that is less than a hundredth, or `less` is 0, or there is no offset to speak of, their pairs are
 * released. Returns for how many pairs of bones something changed. */
supple_result spl_barrier_give_way(spl_barrier *b, const double *x, const double *d, double less, int32_t *count,
                                   supple_error *error);

/* The same for offsets alone: what stops the step without one stays as it is. */
supple_result spl_barrier_thin_out(spl_barrier *b, const double *x, const double *d, double less, int32_t *count,
                                   supple_error *error);

/* Takes pairs of bones that are released back where nothing of theirs crosses at x and `keep` (bones x bones; may be
 * NULL) does not say otherwise, and lets offsets that gave way grow again as far as gaps allow. Returns how many pairs
 * of bones are still released without being in `keep`: something of theirs crosses. */
supple_result spl_barrier_take_back(spl_barrier *b, const double *x, const bool *keep, int32_t *count,
                                    supple_error *error);

/* All shares of offsets, bones x bones, 0 for released pairs: to be kept and restored. */
void spl_barrier_keep(const spl_barrier *b, double *ease);
void spl_barrier_restore(spl_barrier *b, const double *ease);

/* Marks the bones (bone_count) of all that crosses at x, released or not. Returns false if memory is out. */
bool spl_barrier_mark_crossing(spl_barrier *b, const double *x, bool *bone);

/* Marks the vertices of what crosses at x, released pairs aside, and returns how many edges pass through triangles; -1
 * if memory is out. */
int32_t spl_barrier_mark_vertices(spl_barrier *b, const double *x, bool *vertex);

/* Marks the bones of all that crosses and of pairs without a gap: what has no finite energy at x. */
bool spl_barrier_mark_near(spl_barrier *b, const double *x, bool *bone);

/* Releases the pairs of bones of all that crosses at x. Returns how many edges pass through triangles; -1 if memory is
 * out. */
int32_t spl_barrier_release_crossing(spl_barrier *b, const double *x);

/* Whether any edge passes through a triangle at x, released pairs aside: what must never be. */
int32_t spl_barrier_crossings(spl_barrier *b, const double *x);

#endif
