/* Training a model: poses, their solutions, vibrations, bases, cubature (multi-domain paper, section 5.1). */
#ifndef SPL_SUBSPACE_TRAIN_H
#define SPL_SUBSPACE_TRAIN_H

#include "subspace/model.h"

#include <supple/plugin.h>

typedef struct spl_train_options {
    int32_t samples;                 /* poses, 100 */
    int32_t rank;                    /* of a domain, in the mean, 20 */
    bool even;                       /* of every domain, as in the paper; off: columns go where poses need them */
    int32_t dents;                   /* further columns of a domain for contacts (dents.h), 0 */
    int32_t modes;                   /* of linear vibration, 160 */
    int32_t derivatives;             /* modal ones, 100 */
    double pose_share;               /* of a basis, 1 */
    double seam;                     /* what an interface weighs in the bases, of its domain's mass, 0.3 */
    int32_t sweeps;                  /* in which bases learn to agree at interfaces (agree.h), 8 */
    double cubature_error;           /* 0.05 */
    double tolerance;                /* of the poses' residuals, 1e-4 */
    double least_turn;               /* radians: joints that no clip turns take part by this much */
    uint64_t seed;                   /* of poses and of candidates */
    const int32_t *clip;             /* whose turns give the joints' ranges; NULL: all */
    int32_t clip_count;              /* of the list */
    bool frames;                     /* the poses are frames of these clips, not drawn from the ranges */
    const char *limits;              /* file of joint limits, or NULL */
    const char *folder;              /* where solved poses are kept, or NULL */
    int32_t share, shares;           /* others solve poses in the same folder; 0: none do (samples.h) */
    double lease;                    /* of a claim there, seconds */
    const supple_exchange *exchange; /* or by messages */
    size_t bytes;           /* memory for what poses say of domains, 512 MB: more is read in passes; the bits are the
                             * same */
    const spl_law *law;     /* of the flesh */
    spl_domain_options cut; /* into domains */
    bool skinned;           /* poses are skinned, not solved: for benchmarks, where only the cost of playing counts */
    int32_t relax;          /* skinned poses are taken so many steps towards their solution (relax.h), 0 */
} spl_train_options;

spl_train_options spl_train_options_default(void);

/* What training did, for reports. */
typedef struct spl_train_report {
    int32_t poses, found, dropped; /* used; of them from files of an earlier run; left out */
    double ms_poses, ms_modes, ms_bases, ms_cubature, ms_total;
} spl_train_report;

/* Poses alone, until there are none left to begin; no model. */
supple_result spl_train_poses(const supple_scene *scene, spl_solid *solid, const spl_train_options *options,
                              const supple_config *config, spl_pool *pool, supple_error *error);

/* Everything but the recipe, which the caller knows. The solid's pose is changed. */
supple_result spl_train(const supple_scene *scene, spl_solid *solid, const spl_train_options *options,
                        const supple_config *config, spl_pool *pool, spl_model *out, spl_train_report *report,
                        supple_error *error);

#endif
