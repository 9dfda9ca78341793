/* A solid: a body as the solvers see it: its bones in motion, its elements and materials, what holds it.
 *
 * Made once per simulation; `drive` and `force` change with every frame. Pieces of flesh that no bone holds
 * firmly (islands, islands.h) would float away or swing: their vertices hang on weak springs from the nearest bone. */
#ifndef SPL_BODY_SOLID_H
#define SPL_BODY_SOLID_H

#include "body/drive.h"
#include "body/material.h"
#include "body/weights.h"
#include "fem/elements.h"
#include "fem/pin.h"

typedef struct spl_solid {
    supple_allocator allocator;
    const spl_body *body;
    spl_drive drive;
    spl_elements elements; /* of drive.rest */
    spl_material_field material;
    spl_bone_weights weights; /* by vertex; islands belong to their bone */
    float *along;             /* by weight: how far along its bone the vertex is */
    const double *force;      /* 3 x vertices, newtons, this frame's; or NULL */
    int32_t island_count;     /* pieces that no bone holds firmly */
    int32_t *island;          /* by vertex: the bone that its island hangs on; -1 elsewhere */
    double island_stiffness;  /* of the springs, N/m */
    double diagonal;          /* of the rest shape, metres */
    double stiffness_scale;   /* E L^2 of the residual's floor, newtons */
} spl_solid;

supple_result spl_solid_create(const spl_body *body, const spl_material_set *materials, const supple_config *config,
                               spl_pool *pool, spl_solid *out, supple_error *error);
void spl_solid_release(spl_solid *s);

/* What a pose was, to carry positions from it to the next. */
typedef struct spl_pose_past {
    spl_mat4 *map;       /* by bone */
    double *tail, *head; /* the drive's twists */
    spl_mat4 *step;      /* by bone: room for the motion since */
    bool *flat;          /* by bone: it had (nearly) no size, so that nothing can be carried from there */
} spl_pose_past;

supple_result spl_pose_past_create(const spl_solid *s, spl_pose_past *out, supple_error *error);
void spl_pose_past_release(spl_pose_past *p, const supple_allocator *a);
void spl_pose_past_keep(spl_pose_past *p, const spl_drive *d);

/* As if the whole past pose had been moved by `m`; NULL leaves it. */
void spl_pose_past_move(spl_pose_past *p, const spl_drive *d, const spl_mat4 *m);

/* Carries positions along with the bones from a past pose to the present one: x <- sum_b w_b D_b x, with D_b the motion
 * of bone b since, its twist included. A start for solvers, exact for rigid motions. A bone that was flat (a clip
 * scales a joint to 0 to hide what hangs on it) takes its share from the rest shape instead. */
void spl_solid_carry(const spl_solid *s, const spl_pose_past *past, double *x, spl_pool *pool);

/* After spl_solid_carry: whether a share of the vertex was taken from the rest shape. */
bool spl_solid_is_fresh(const spl_solid *s, const spl_pose_past *past, size_t vertex);

/* The bones' rotations blended at the vertices, 9 doubles a vertex, column-major. */
void spl_solid_turns(const spl_solid *s, double *turn, spl_pool *pool);

/* The rest shape posed by the weights: x = sum_b w_b map_b X. A start without a past. */
void spl_solid_pose(const spl_solid *s, double *x, spl_pool *pool);

#endif
