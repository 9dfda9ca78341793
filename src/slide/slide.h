/* The stage that slides skin, after any method: it sees the visual vertices of every frame and gives the texture
 * coordinates that the skin has there, and how much it is stretched. The vertices themselves are not touched. */
#ifndef SPL_SLIDE_SLIDE_H
#define SPL_SLIDE_SLIDE_H

#include "body/roles.h"
#include "math/mat3.h"
#include "methods/method.h"
#include "slide/slide_frame.h"

typedef struct spl_slide spl_slide;

enum {
    SPL_SLIDE_YOUNG,
    SPL_SLIDE_POISSON,
    SPL_SLIDE_THICKNESS,
    SPL_SLIDE_DENSITY,
    SPL_SLIDE_PRESTRAIN,
    SPL_SLIDE_PRESET,
    SPL_SLIDE_TETHER,
    SPL_SLIDE_TETHER_LENGTH,
    SPL_SLIDE_REST,
    SPL_SLIDE_ZETA,
    SPL_SLIDE_LIMIT,
    SPL_SLIDE_COUPLING,
    SPL_SLIDE_DELTA,
    SPL_SLIDE_DRAG,
    SPL_SLIDE_STEP,
    SPL_SLIDE_TOLERANCE,
    SPL_SLIDE_LAW,
    SPL_SLIDE_FORCE,
    SPL_SLIDE_INERTIA,
    SPL_SLIDE_BORDER,
    SPL_SLIDE_CREASE,
    SPL_SLIDE_SETTLE,
    SPL_SLIDE_PARAMETERS,
};
extern const spl_parameter spl_slide_parameter[SPL_SLIDE_PARAMETERS]; /* names begin with "slide." */

typedef struct spl_slide_setup {
    const supple_scene *scene;
    const spl_part *part; /* of the scene; must outlive the stage */
    int32_t part_count;
    const spl_roles *roles; /* flesh slides; NULL, or none that is flesh: judged by shape, else all parts */
    const float *rest;      /* 3 a vertex: the shape that the skeleton is bound to, all parts in one space */
    const float *stance;    /* the same as it stands, in the frames' space: unstressed there; NULL: in `rest` */
    double rest_unit, unit; /* metres per unit of the space of `rest`, and of the frames' */
    int32_t home;           /* the skin of whose mesh space `rest` is an image, by `rest_map`; -1: of none */
    spl_mat3 rest_map;
    const char *file;        /* regions, or NULL */
    const double *parameter; /* in the order of the table */
    spl_vec3 gravity;        /* m/s^2, in the frames' axes */
    spl_pool *pool;
    const supple_config *config;
    const supple_allocator *allocator;
} spl_slide_setup;

/* Gives parameters the values of a named preset (of SPL_SLIDE_PRESET's words; 0: none). */
void spl_slide_preset(int preset, double *parameter);

/* Whether the parameters ask for the standing pose as the rest (by themselves where there are tethers). */
bool spl_slide_wants_stance(const double *parameter);

supple_result spl_slide_create(const spl_slide_setup *setup, spl_slide **out, supple_error *error);
void spl_slide_destroy(spl_slide *s);

/* The next step begins anew. */
void spl_slide_reset(spl_slide *s);

/* The body at `position` (3 floats a vertex of the scene), dt seconds after the last step; the first one, and one after
 * 0 or more than a second, puts the skin into equilibrium there (settle=on) or glues it. */
supple_result spl_slide_step(spl_slide *s, const float *position, double dt, supple_error *error);

/* A cycle: its frames' positions, of which the first and the last are one pose (but for where it is), dt apart, are
 * played until the skin repeats itself: nowhere farther than `same` metres from where it was a cycle ago. The state is
 * then that of the first frame, and the next step begins there. *difference is that of the last cycle. */
supple_result spl_slide_cycle(spl_slide *s, const float *position, int32_t frames, double dt, double same,
                              double *difference, supple_error *error);

/* What the last step left; the arrays stand until the next one. */
const spl_slide_frame *spl_slide_get(const spl_slide *s);

/* The skin itself, and its texture coordinates. */
const struct spl_dermis *spl_slide_skin(const spl_slide *s);
const struct spl_slide_uv *spl_slide_texture(const spl_slide *s);

/* Numbers of the last step, for metrics. */
const supple_named_value *spl_slide_values(const spl_slide *s, int32_t *count);

#endif
