/* What a barrier could not keep apart, told once for each range of frames: bones that the motion takes through each
 * other, flesh that had to come nearer than its mesh needs, folds of the visual mesh that were left. */
#ifndef SPL_SIM_EXCUSE_H
#define SPL_SIM_EXCUSE_H

#include "contact/clear.h"
#include "rig/bones.h"
#include "scene/scene.h"

typedef enum spl_excuse_kind {
    SPL_EXCUSE_THROUGH, /* pairs of bones are released */
    SPL_EXCUSE_NEAR,    /* offsets gave way in the frame, and are still smaller */
    SPL_EXCUSE_FOLDS,   /* the visual mesh was left crossing */
    SPL_EXCUSE_KINDS
} spl_excuse_kind;

/* Frames that follow one another. */
typedef struct spl_excuse {
    bool on;
    int32_t clip, first, last;
    bool *pair;     /* bones x bones: of any of the frames; NULL for folds */
    double missing; /* the most of the frames, metres */
} spl_excuse;

typedef struct spl_excuses {
    supple_allocator allocator;
    const supple_config *config;
    const supple_scene *scene;
    const spl_bones *bones;
    int32_t bone_count; /* colliders come after the bones */
    double *ease;       /* bones x bones: room for a frame's */
    spl_excuse kind[SPL_EXCUSE_KINDS];
} spl_excuses;

/* Config, scene and bones must outlive it. */
supple_result spl_excuses_create(const supple_scene *scene, const spl_bones *bones, int32_t collider_count,
                                 const supple_config *config, const supple_allocator *a, spl_excuses *out,
                                 supple_error *error);
void spl_excuses_release(spl_excuses *e); /* tells what has not been told */

/* One frame of a clip (-1: of the host). `missing`: how far what bones hold was from its place before something gave
 * way, metres. */
void spl_excuses_frame(spl_excuses *e, const spl_barrier *barrier, double missing, spl_clear_outcome folds,
                       int32_t clip, int32_t frame);

/* Tells what has not been told: no frame follows. */
void spl_excuses_end(spl_excuses *e);

#endif
