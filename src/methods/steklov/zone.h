/* The nodes in contact, eliminated exactly. Springs couple a vertex with a triangle that lies elsewhere in the mesh:
 * both sides may move together for nothing, and only stiffness against each other is great. A preconditioner that knows
 * the springs' diagonal alone takes both for stiff, and one decade of the residual costs 20 iterations instead of 4. So
 * the matrix of these nodes alone, springs included, is factorised (it is small, and nearly a surface), and conjugate
 * gradients run in what is conjugate to it:
 *
 *     x = Z b to begin with, after which the residual is zero on the zone;  z = M^-1 r - Z (A + springs) M^-1 r
 *
 * with Z the zone's inverse. There M need not know of the springs: on vectors conjugate to the zone the two sides move
 * together already.
 *
 * The factor's memory is taken once; a step's pattern and factor are laid out in it. Where it does not suffice the zone
 * is not `ready`, and the caller does without. */
#ifndef SPL_METHODS_STEKLOV_ZONE_H
#define SPL_METHODS_STEKLOV_ZONE_H

#include "core/memory.h"
#include "methods/steklov/newton.h"
#include "sparse/factor.h"

typedef struct spl_zone {
    const spl_exrotated *system;
    const spl_springs *springs;
    spl_arena arena;       /* what `factor`, `pattern` and `value` are in */
    supple_allocator bump; /* takes from it, and gives nothing back */
    bool ready;
    int32_t count;
    int32_t *node;     /* ascending */
    int32_t *place;    /* by node: in that list, or -1 */
    double *side;      /* 3 a zone node */
    uint64_t contacts; /* hash of the known contacts that the pattern is of */
    spl_pattern pattern;
    double *value;
    spl_factor *factor;
} spl_zone;

supple_result spl_zone_create(const spl_exrotated *system, const spl_springs *springs, spl_zone *out,
                              supple_error *error);
void spl_zone_release(spl_zone *z);

/* Factorises the matrix of the nodes that known contacts act on, with the springs there are. */
void spl_zone_prepare(spl_zone *z);

/* x += Z r, 3 a node each. */
void spl_zone_solve(spl_zone *z, const double *r, double *x);

/* y += A x for an x that is zero outside of the zone, without springs. */
void spl_zone_multiply(const spl_zone *z, const double *x, double *y);

/* x -= Z (A + springs) x: makes x conjugate to the zone. */
void spl_zone_project(spl_zone *z, double *x);

#endif
