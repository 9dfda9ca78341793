/* Supple: training models; <supple/playback.h> reads and plays them. A character's flesh is learned once
 * (docs/subspace.md), then method "subspace" plays it hundreds of times faster than it could be solved. A model is
 * constant once made and may be shared by any number of simulations of its character. */
#ifndef SUPPLE_MODEL_H
#define SUPPLE_MODEL_H

#include <supple/body.h>
#include <supple/playback.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How to train. Start from supple_train_config_default(). */
typedef struct supple_train_config {
    uint32_t cookie;         /* set by supple_train_config_default() */
    int32_t samples;         /* poses that are solved (100) */
    int32_t rank;            /* modes of a domain, in the mean (20) */
    bool even_ranks;         /* the same rank everywhere; off: more where poses need more */
    int32_t dents;           /* further ones for what presses on its surface (0) */
    int32_t domains;         /* at most; 0: one for every bone with flesh of its own */
    int32_t modes;           /* linear vibration modes of the whole body (160) */
    int32_t derivatives;     /* modal derivatives (100) */
    double pose_share;       /* of a basis: the rest is for vibrations (1) */
    double seam;             /* what the places where domains meet weigh in the bases, of the domains' mass (0.3) */
    double cubature_error;   /* of the forces in training (0.05) */
    double tolerance;        /* residual of the solved poses (1e-4) */
    uint64_t seed;           /* of what is drawn at random (1) */
    const int32_t *clips;    /* clips that say how far joints turn; NULL: all */
    int32_t clip_count;      /* how many there are */
    bool from_clips;         /* all poses are frames of these clips; else most are drawn from the joints' ranges */
    const char *limits_file; /* joint limits (docs/subspace.md), or NULL */
    const char *folder;      /* where solved poses are kept, so that training that was cut short goes on; or NULL */
    int32_t share, shares;   /* several processes work in that folder (docs/training-on-many-machines.md), of so many
                              * shares this one begins with the share-th, from 1; 0 shares: none else does (0) */
    double lease;            /* seconds without a sign after which another process there is taken for dead (60) */
    const struct supple_exchange *exchange; /* or several processes share the poses by messages; NULL: none do */
    bool quick; /* in seconds: at most 24 poses, nearly solved, 24 modes and 10 derivatives; nothing is kept */
    const supple_body_config *body_config; /* of the body to train; NULL: the defaults. Own tetrahedra are refused */
    const char *material_file;             /* or NULL */
} supple_train_config;

/* Defaults: the numbers in brackets above. */
SUPPLE_API supple_train_config supple_train_config_default(void);

/* Trains a model. Takes minutes to hours; reports progress and can be cancelled. */
SUPPLE_API supple_result supple_model_train(const supple_scene *scene, const supple_train_config *train_config,
                                            const supple_config *config, supple_model **out, supple_error *error);

/* Solves poses and makes no model: for one of several processes that share a folder, or get their poses by messages
 * (rank 0 of those calls supple_model_train). Ends when there is none left to begin. */
SUPPLE_API supple_result supple_poses_solve(const supple_scene *scene, const supple_train_config *train_config,
                                            const supple_config *config, supple_error *error);

/* Writes a model (.supple); supple_model_load reads it. */
SUPPLE_API supple_result supple_model_save(const supple_model *model, const char *path, const supple_config *config,
                                           supple_error *error);

#ifdef __cplusplus
}
#endif
#endif
