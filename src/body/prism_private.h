/* The stages of a prism body: skin, goals, wrap. */
#ifndef SPL_BODY_PRISM_PRIVATE_H
#define SPL_BODY_PRISM_PRIVATE_H

#include "body/capsule.h"
#include "body/prism.h"

enum { SPL_PRISM_PIECE_LEAST = 16 }; /* triangles of a piece of skin; smaller ones are left out */

/* A closed, oriented, manifold triangle mesh. Half-edge 3 t + k runs from corner k of triangle t to corner k + 1. */
typedef struct spl_prism_skin {
    supple_allocator allocator;
    int32_t vertex_count, triangle_count;
    int32_t vertex_room, triangle_room; /* that the arrays have */
    spl_vec3 *position;
    spl_place *place;   /* on the flesh's surface */
    int32_t *triangle;  /* 3 a triangle */
    int32_t *mate;      /* by half-edge: the one that runs back */
    int32_t *fan_first; /* vertex_count + 1 */
    int32_t *fan;       /* 3 x triangle_count: triangles at a vertex */
    double edge;        /* mean length */
} spl_prism_skin;

/* The boundary of tets as a manifold, and its vertices spread evenly over it. */
supple_result spl_prism_skin_make(const spl_attach_input *in, spl_pool *pool, spl_prism_skin *out,
                                  spl_prism_report *report, supple_error *error);
void spl_prism_skin_release(spl_prism_skin *s);

/* Splits vertices at which the skin is folded, as at the web between fingers, or meets another vertex over two edges;
 * returns how many. Before the fans are made. */
int32_t spl_prism_skin_split(spl_prism_skin *s);

/* Spreads the vertices evenly by sliding them over the surface; the shape stays what it was. */
supple_result spl_prism_skin_smooth(spl_prism_skin *s, spl_pool *pool, supple_error *error);

/* Draws in what is folded (spl_prism_inward); how many vertices still are. */
int32_t spl_prism_skin_unfold(spl_prism_skin *s);

/* Cuts out the vertices that are folded still, with `grow` also those around them, and closes the holes; the fans are
 * to be made again. SUPPLE_ERROR_INPUT where little or nothing would be left. */
supple_result spl_prism_skin_cut(spl_prism_skin *s, int grow, supple_error *error);

/* A direction below planes, given by their normals, as far as can be: *depth is its least cosine to the opposite
 * normals. */
spl_vec3 spl_prism_below(const spl_vec3 *normal, int32_t count, double *depth);

/* A direction that goes below all triangles at a vertex, as deep as can be: *depth is its least cosine to
 * their inward normals, not positive where the skin is folded there. */
spl_vec3 spl_prism_inward(const spl_prism_skin *s, int32_t v, double *depth);

/* Where bone vertices should go. */
typedef struct spl_prism_goal {
    spl_vec3 point;
    int32_t bone; /* that it is of; -1: none, the core of a limb */
    bool core;    /* not on the skeleton: skin is in the way */
} spl_prism_goal;

void spl_prism_goals(const spl_attach_input *in, const spl_capsule *capsules, const spl_prism_skin *skin,
                     const spl_tree *tree, spl_pool *pool, spl_prism_goal *goal);

/* The three tets of a triangle with corners a < b < c, primes on the bones: a b c c', a b b' c', a a' b' c'. Both
 * triangles at an edge cut its quadrilateral from the lower skin vertex to the higher bone vertex. Positive if the bone
 * side lies below. */
void spl_prism_tets(const int32_t corner[3], int32_t vertex_count, int32_t tet[12]);

/* Moves bone vertices from a thin layer (SUPPLE_ERROR_INPUT if there is none) to their goals, as far as tets stay
 * positive. */
supple_result spl_prism_wrap(const spl_prism_skin *skin, const spl_prism_goal *goal, spl_vec3 *bone_point,
                             supple_error *error);

#endif
