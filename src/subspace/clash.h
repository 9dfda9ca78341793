/* Flesh against flesh: contacts between the surfaces of two domains (multi-domain paper, section 5.2), and penalty
 * forces at them in both subspaces.
 *
 * Domains that share an interface are no pair: what folds at a joint is not parted. Of all others the bounded trees are
 * walked against each other. Where two surfaces come near, each vertex of one that is inside the other is held against
 * the plane through the place of the other's surface that is nearest,
 *
 *     d(q) = n . (c(q_j) - x(q_i)) = d_0 - a . q_i - b . q_j,      a = U_i^T R_i^T n,  b = -sum_k beta_k U_jk^T R_j^T
 * n,
 *
 * with the energy k/2 max(d, 0)^2 as in press.h. Its Jacobian k [a; b] [a; b]^T couples two domains that the model does
 * not: blocks.h has room for that. Found once a step, in one order, by one thread.
 *
 * What bones take through each other cannot be parted: a contact fades where it is deeper than most of the flesh around
 * the two bones is thick. What touches at rest is no contact. */
#ifndef SPL_SUBSPACE_CLASH_H
#define SPL_SUBSPACE_CLASH_H

#include "subspace/blocks.h"
#include "subspace/bounds.h"
#include "subspace/player.h"

typedef struct spl_clash_contact {
    int32_t copy;     /* the vertex that is inside */
    int32_t domain;   /* its domain */
    int32_t other;    /* the domain that it is in */
    int32_t triangle; /* of the rig's surface */
    double bary[3];
    spl_vec3 normal; /* world, out of the other */
    double depth;    /* where it was found; negative outside */
    double spring;   /* k, N/m */
} spl_clash_contact;

/* The contacts of two domains, low < high. */
typedef struct spl_clash_pair {
    int32_t low, high, first, count;
} spl_clash_pair;

/* What does not change: of one model, for all its players. A copy is a surface vertex of a domain; copies of a domain
 * stand in the order of its tree. */
typedef struct spl_clash_rest {
    const spl_model *model;
    spl_bounds *tree;     /* by domain */
    int32_t *first;       /* domains + 1: of their copies */
    bool *allowed;        /* domains x domains: may be a pair */
    double *apart;        /* domains x domains: what is nearer at rest does not touch, metres */
    int32_t *place;       /* by copy: vertex of the rig's surface */
    double *stiffness;    /* by copy: by area, N/m */
    double *mobility;     /* by copy: |U_k|^2 over the domain's largest */
    double *yielding;     /* by copy: how far a newton moves it, metres, the mean of three directions */
    double *thick;        /* by copy: half the way through the flesh behind it, at rest, metres */
    int32_t *copy_first;  /* rig vertices + 1 */
    int32_t *copy;        /* copies of a vertex of the rig, domains rising */
    int32_t *ring_first;  /* rig vertices + 1 */
    int32_t *ring;        /* triangles around it */
    double *rest;         /* 3 x rig vertices */
    double *normal;       /* the same: unit, at rest */
    int32_t *held;        /* by rig vertex: the body's vertex where a bone holds it, else -1 */
    int32_t *node_first;  /* domains + 1: of their trees' nodes */
    double edge, nearest; /* mean edge of the tets; contacts are kept while nearer than this, metres */
    double gap;           /* surfaces are held apart by this, metres */
} spl_clash_rest;

typedef struct spl_clash {
    const spl_clash_rest *rest;
    spl_clash_rest *own; /* NULL where it is another's */
    int32_t most, wide;  /* contacts that there is room for; numbers of a row */
    int32_t count, dropped;
    spl_clash_contact *contact; /* most, by pair */
    int32_t pair_count;
    spl_clash_pair *pair;       /* most */
    double *low, *high;         /* most x wide: a and b, of the pair's low and its high domain */
    double *start;              /* most: d_0 */
    double *depth;              /* most: d at the q of the last force */
    double *room[2];            /* most x wide */
    double *diagonal;           /* domains x wide: of the Jacobian if all contacts pressed */
    bool *touched;              /* by domain */
    int32_t *meets, meet_count; /* 2 x most: the pairs that the system was arranged for */
    /* of a search */
    int32_t stamp;
    int32_t *seen;      /* by copy: the stamp of its place */
    spl_vec3 *at;       /* by copy */
    int32_t *seen_node; /* by node */
    spl_vec3 *centre;   /* by node, world */
    double *radius;
    double *away; /* by copy: how far it is from where its bone has it */
    double *best; /* by copy: the square of the distance to the nearest of another domain */
    int32_t *nearest;
    int32_t *found; /* copies with a nearest one */
    int32_t found_count;
    double *length; /* by domain: spl_bounds_length */
} spl_clash;

/* What a search works with. */
typedef struct spl_clash_query {
    const spl_dense_kernels *kernels;
    const spl_frame_motion *frame; /* by domain */
    const double *q;               /* wide */
    const size_t *offset;          /* by domain: of its numbers in q */
    const double *held;            /* 3 x body vertices: places of held ones */
} spl_clash_query;

/* `K` by domain: at rest, pad x pad; `stiffness` by area; `most` contacts; `like` of the same model and stiffness,
 * outlives it, or NULL. A model without a surface has no contacts. */
supple_result spl_clash_create(const spl_model *model, double *const *K, double stiffness, int32_t most,
                               const spl_clash *like, const supple_allocator *a, spl_clash *out, supple_error *error);
void spl_clash_release(spl_clash *c, const supple_allocator *a); /* accepts a zeroed one */

/* Replaces the contacts by those at q. Allocates nothing. */
void spl_clash_find(spl_clash *c, const spl_clash_query *query);

/* At q: adds forces to f, which is padded as `offset` says; returns the energy. Keeps the depths. */
double spl_clash_force(spl_clash *c, const spl_dense_kernels *kernels, const double *q, const size_t *at,
                       const size_t *offset, double *f);

/* Adds the Jacobian at the depths kept to a system that was arranged for the pairs. */
void spl_clash_hessian(spl_clash *c, const spl_dense_kernels *kernels, const spl_blocks *blocks);

/* The domain of a copy. */
int32_t spl_clash_domain(const spl_clash_rest *r, int32_t copy);

/* ---- clash_find.c ---- */

/* Room of a search. */
bool spl_clash_take_search(spl_clash *c, const supple_allocator *a);

#endif
