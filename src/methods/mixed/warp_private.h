/* The inside of spl_warp. */
#ifndef SPL_METHODS_MIXED_WARP_PRIVATE_H
#define SPL_METHODS_MIXED_WARP_PRIVATE_H

#include "fem/coarse.h"
#include "fem/order.h"
#include "fem/residual.h"
#include "methods/mixed/past.h"
#include "methods/mixed/stiffness.h"
#include "methods/mixed/warp.h"
#include "sparse/assembly.h"
#include "sparse/factor.h"
#include "sparse/ic3.h"
#include "sparse/matrix3.h"
#include "sparse/pcg.h"

struct spl_warp {
    supple_allocator allocator;
    spl_warp_input in;
    spl_pool *pool;
    spl_node_order order;            /* its nodes are the unknowns */
    const int32_t *unknown, *vertex; /* the order's: by vertex its node, or -1; by node its vertex */
    int32_t count;                   /* nodes */
    double *spring;                  /* by node */
    spl_assembly assembly;
    spl_matrix3 matrix; /* A by whole rows, for products */
    double *value;      /* A by its lower triangle */
    uint32_t *slot;     /* 4 a star's corner: spl_stiffness.slot */
    const spl_mixed_kernels *kernels;
    double *memory;     /* what the next two are aligned in */
    double *h, *corner; /* SPL_PAD a tet: R g_i; forces */
    spl_factor *factor; /* of the rest shape, of the Laplacian, or of A */
    spl_ic3 *fine;      /* of the rest shape */
    spl_coarse *coarse;
    double *turn;      /* 9 a node: rotations of the preconditioner */
    double *side, *dx; /* 3 x nodes */
    double *turned;    /* 3 x nodes: the preconditioner's */
    float *single;     /* the same in float */
    double *force;     /* 3 x vertices */
    double *magnitude; /* vertices */
    double *elastic;   /* 3 x vertices: the part of the force that A answers, */
    double *seen;      /* at this x of the last problem */
    bool assembled;    /* A is the last problem's */
    bool pulled;       /* elastic is */
    spl_stars stars;
    spl_pcg *pcg;
    spl_past past;
    double *start;                   /* 3 x nodes: the part of dx that the past gave */
    const spl_contact_spring *touch; /* of the solve under way */
    int32_t touch_count;
    const double *spin; /* likewise */
    double last_scale;  /* of the residual, at the last solution; 0: unknown */
    double ms_setup;
};

/* Assembles A into w->matrix from the h that are there, and by its lower triangle into w->value. */
void spl_warp_assemble(spl_warp *w);
void spl_warp_lower(spl_warp *w);

/* What can be factorised once. */
supple_result spl_warp_make_preconditioner(spl_warp *w, supple_error *error);

/* What a frame's A needs before its solve. */
supple_result spl_warp_factorise(spl_warp *w, const spl_warp_problem *p, supple_error *error);

void spl_warp_precondition(void *context, const double *x, double *y, int32_t k);

/* Bytes that one iteration reads and writes. */
double spl_warp_bytes(const spl_warp *w);

#endif
