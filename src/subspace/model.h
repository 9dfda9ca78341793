/* A trained model: what the subspace method plays (multi-domain paper, sections 3 and 5.2).
 *
 * A domain's local frame is the rest shape's own: bone b takes X' to R X' + t (drive.h), and vertex k of a domain is at
 *
 *     x_k = R (p_k + U_k q) + t,        p_k its place in the rest shape, U_k three rows of the basis.
 *
 * Bases are orthonormal with respect to the domain's lumped masses, U^T M U = I. Held vertices are in no basis; corners
 * of cubature tets that are held (by any bone) are prescribed: R^T (x_held - t). Everything here is constant once made;
 * tables that follow from it (sandwich.h) are computed when a simulation is created, and are not in the file. */
#ifndef SPL_SUBSPACE_MODEL_H
#define SPL_SUBSPACE_MODEL_H

#include "core/digest.h"
#include "fem/law.h"
#include "subspace/domains.h"
#include "subspace/rig.h"

/* A tet at which internal forces are evaluated, with its weight: f_int = sum_e weight_e g_e(q) (An et al. 2008). */
typedef struct spl_cubature_tet {
    int32_t tet;         /* of the body */
    int32_t corner[4];   /* >= 0: vertex of the domain; < 0: ~c is a held vertex of the body */
    double weight;       /* not negative; 1 for every tet is the whole integral */
    double volume;       /* m^3 */
    double gradient[12]; /* as spl_elements.gradient */
    double mu, lambda;   /* Pa */
} spl_cubature_tet;

typedef struct spl_model_domain {
    int32_t bone;
    int32_t rank, pose_rank; /* columns, and how many of them come from poses; the others from vibrations */
    int32_t vertex_count;
    int32_t *vertex; /* of the body, rising */
    double *rest;    /* 3 x vertex_count: p */
    double *mass;    /* vertex_count, kg */
    double
        *area; /* vertex_count, m^2: of the body's surface, for contacts; 0 inside; NULL: nothing is at the surface */
    double *basis; /* (3 x vertex_count) x rank, row by row: U_k[axis][mode] at (3 k + axis) rank + mode */
    int32_t cubature_count;
    spl_cubature_tet *cubature;
    double *reach;         /* rank: the largest |q_k| of the training; what lies far beyond is flagged */
    double training_error; /* of the cubature, a share */
} spl_model_domain;

/* How the body was made that a model belongs to, so that it can be made again. */
typedef struct spl_body_recipe {
    int32_t kind, resolution, max_tets, grade; /* as supple_body_config */
    double size_m;
    int32_t rule_count;
    supple_part_rule *rule; /* patterns are owned */
} spl_body_recipe;

typedef struct spl_model {
    supple_allocator allocator;
    spl_body_recipe recipe;
    spl_key character; /* hash of what it belongs to: rest shape, tets, bones, held vertices, materials */
    int32_t domain_count, interface_count;
    spl_model_domain *domain;
    spl_interface *interface;
    const spl_law *law;              /* of the flesh, defined for inverted tets */
    int32_t vertex_count, tet_count; /* of the body */
    double edge;     /* mean edge of the body, metres: springs of interfaces are proportional to E / edge */
    double young;    /* volume-weighted mean of the material, Pa */
    double lowest;   /* the lowest eigenvalue of the whole body's vibrations, 1/s^2 */
    int32_t samples; /* poses that it was trained on */
    spl_rig rig;
} spl_model;

void spl_model_release(spl_model *m); /* accepts a zeroed one */

/* Largest rank of a domain, number of domains, cubature tets of a domain: what a file may ask for. */
enum { SPL_MODEL_MOST_RANK = 512, SPL_MODEL_MOST_DOMAINS = 1024, SPL_MODEL_MOST_CUBATURE = 1 << 22 };

/* Metres from the origin, and numbers of the rig's matrices: what lies beyond is no place. */
#define SPL_MODEL_FARTHEST 1e12
bool spl_model_near(const double *x, size_t count);

/* Numbers in a player's tables, at most, for each one in the file. */
enum { SPL_MODEL_TABLES = 64 };

/* The model file (.supple): a store (core/store.h) of kind "subspace". */
supple_result spl_model_save(const spl_model *m, const char *path, const supple_config *config, supple_error *error);

/* Reads and checks one as untrusted input: counts, indices, finite numbers, places within SPL_MODEL_FARTHEST,
 * positive masses and areas, orthonormal bases. SUPPLE_ERROR_INPUT says what is wrong. */
supple_result spl_model_load(const char *path, const supple_config *config, spl_model *out, supple_error *error);
supple_result spl_model_load_memory(const void *data, size_t size, const char *name, const supple_config *config,
                                    spl_model *out, supple_error *error);

#endif
