/* What else acts on a mesh beside its elasticity, such as contact: an energy with its derivatives, for Newton's method
 * (statics.h). */
#ifndef SPL_FEM_EXTRA_H
#define SPL_FEM_EXTRA_H

#include <supple/base.h>

/* Its Hessian is given in one of two ways: by products and diagonal blocks, or as elements, which are assembled. The
 * functions of the other way are NULL. All x are 3 x vertex_count. */
typedef struct spl_extra {
    void *context;
    double (*energy)(void *context, const double *x);
    void (*add_forces)(void *context, const double *x, double *force); /* adds -dE/dx */
    /* By products. Both belong to the x of the last call of add_forces. Adds a positive semidefinite Hessian: y += H v.
     * Used by PCG and, as its diagonal blocks (3 x 3 column-major a vertex), by the direct solver's preconditioned
     * refinement. */
    void (*multiply)(void *context, const double *v, double *y);
    void (*add_diagonal)(void *context, double *block); /* 9 x vertex_count */
    /* As elements of four vertices each, at the x of the last call of add_forces: 4 vertices, and 90 numbers in the
     * layout of spl_element_stiffness: `exact` of the Hessian itself, 0 to 1, the rest of one that is positive
     * semidefinite. Vertices beyond vertex_count are no unknowns. Returns
     * how many, -1 if memory is out; the arrays are the extra's own. */
    int32_t (*elements)(void *context, double exact, const int32_t **vertex, const double **values);
    /* What bounds steps; NULL: nothing does. `begin` is called with the x that a solve starts from, whose energy must
     * be finite. `max_step` gives the share in [0, 1] of the step from x to x + d that keeps it finite all the way;
     * until its next call energies are asked for on that way alone. */
    supple_result (*begin)(void *context, const double *x, supple_error *error);
    supple_result (*max_step)(void *context, const double *x, const double *d, double *share, supple_error *error);
} spl_extra;

#endif
