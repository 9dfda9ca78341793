/* The local step of local/global rounds: rotations nearest to the tets' deformation.
 *
 * Prescribed rotations know the bones only. Flesh that no bone holds turns as its neighbours make it; where that is far
 * from what is prescribed, the energy of sym(R^T F), which leaves turns away from R free, lets it swell by 1 / cos of
 * the angle between. There R goes over from the prescribed rotation to that of the flesh. */
#ifndef SPL_METHODS_MIXED_ROUNDS_H
#define SPL_METHODS_MIXED_ROUNDS_H

#include "core/threads.h"
#include "fem/elements.h"
#include "fem/pin.h"
#include "math/rotation3.h"

typedef struct spl_rounds {
    supple_allocator allocator;
    spl_quatx8 *turn; /* (tets + 7) / 8: where the next Newton iteration starts */
    spl_mat3x8 *F;
    double *prescribed; /* 9 a tet: the bones' rotations */
    double *share;      /* by tet: how far R has gone from there to the flesh's, 0 to 1; only grows within a frame */
    double *spin;       /* by tet, Pa: for spl_warp_problem, mu times the share */
    double *piece;      /* by piece of a loop: the largest turn of its tets */
    float *far;         /* by tet: 1 where flesh is far from all that is held, compared with the rest of the body */
    float *discord;     /* by tet: how far bones disagree about it in this pose (clusters.h) */
} spl_rounds;

typedef struct spl_rounds_input {
    const spl_elements *elements;
    const double *rest;  /* 3 a vertex */
    const int32_t *held; /* by vertex: prescribed if not negative */
    const spl_pin *pin;
    int32_t pin_count;
    const int32_t *surface; /* 3 a triangle of the body's skin */
    int32_t surface_count;
} spl_rounds_input;

supple_result spl_rounds_create(const spl_rounds_input *in, const supple_allocator *a, spl_rounds *out,
                                supple_error *error);
void spl_rounds_release(spl_rounds *r);

/* rotation (9 a tet) <- polar(F(x)), found from the rotation that is there. */
void spl_rounds_rotate(spl_rounds *r, const spl_elements *e, const double *x, double *rotation, spl_pool *pool);

/* The angle, radians, by which the flesh of a tet has turned away from R: exact for rotations, and for the turns that
 * the energy takes for rotations. */
double spl_rounds_angle(const spl_mat3 *F, const double *R);

/* A frame begins: `rotation` is what the bones prescribe. */
void spl_rounds_begin(spl_rounds *r, const spl_elements *e, const double *rotation);

/* Where flesh has turned far from what is prescribed, rotation <- on the way from there to polar(F(x)), and the spin
 * that belongs to it. `hold`: the rotations stay, the spin is
 * set; flesh that has swollen is first brought back by it. Returns the largest angle by which a tet's rotation changed
 * (infinite with `hold`), below 0 if none had to. */
double spl_rounds_free(spl_rounds *r, const spl_elements *e, const double *mu, const double *x, bool hold,
                       double *rotation, spl_pool *pool);

#endif
