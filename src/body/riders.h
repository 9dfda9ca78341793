/* Riders: vertices that keep the file's own skinning and add what the flesh beneath them does differently.
 *
 *     x_j = own_j + f_j sum_i k_ij (x_i - own_i)
 *
 * x_i are vertices of the body's surface around the place that j lies on, own_i where the file's skinning of the skin
 * there would have them. The place is the nearest whose skin moves as j does: a sleeve beside a hip rides on its arm.
 * f_j fades from 1 to 0 with the distance: what hangs far off, a hem or a cape, is left to its own skinning. A piece
 * that moves as one (a buckle, an eye, a plate) is moved as one: by its mean. What is added is evened out over the
 * edges of what rides, so that no edge is stretched by more than its own skinning and the flesh beneath stretch it; and
 * it goes over into what the body does to the flesh that they hang on, where they hang on some.
 *
 * Where the skinning is rigid all over and the flesh follows it, nothing is added. */
#ifndef SPL_BODY_RIDERS_H
#define SPL_BODY_RIDERS_H

#include "body/roles.h"
#include "body/tets.h"
#include "core/threads.h"
#include "rig/pose.h"

typedef struct spl_riders {
    supple_allocator allocator;
    int32_t vertex_count;
    int32_t *vertex; /* of the scene, ascending */
    int32_t *point;  /* by rider: those at one place are one point */
    int32_t point_count;
    int32_t *known; /* by point: a vertex of the scene there that the upsampling moves: what is added is known; -1 */
    bool *taken;    /* by point: takes what is added from the points at its edges alone */
    int32_t *first; /* by point, and one more: its entries; none: nothing is added */
    int32_t *index; /* of `body` */
    float *weight;  /* f_j k_ij */
    int32_t *link_first, *link; /* by point, and one more: the points at its edges */
    int32_t body_count;         /* body vertices that something rides on */
    int32_t *body;              /* tet vertices */
    int32_t *skin_first;        /* by those, and one more: what the file's skinning has there */
    int32_t *skin_node;         /* the joints' nodes */
    float *skin_weight;         /* sum 1 */
    spl_vec3 *rest;             /* by those: in body space */
    spl_mat4 *home;             /* by node: body space to the joint's; identity where no skin has it */
    int32_t node_count;
} spl_riders;

struct spl_body;

/* Of a body with its upsampling. By vertex of the scene: what `rides`, and what has strayed (strays.h), which rides on
 * the mesh around it. */
supple_result spl_riders_make(const struct spl_body *body, const bool *rides, const bool *stray, spl_riders *out,
                              supple_error *error);
void spl_riders_release(spl_riders *r);

/* Room for one frame. */
typedef struct spl_riders_frame {
    supple_allocator allocator;
    spl_mat4 *map;   /* by node */
    float *body;     /* 3 x body_count: x_i - own_i */
    float *added[2]; /* 3 x point_count */
} spl_riders_frame;

supple_result spl_riders_frame_create(const spl_riders *r, const supple_allocator *a, spl_riders_frame *out,
                                      supple_error *error);
void spl_riders_frame_release(spl_riders_frame *f);

/* Adds to the riders among `own` (the scene's vertices by the file's skinning, in world space). `posed` has the tet
 * vertices of this pose, in units of `scale` world units, `lifted` the scene's vertices as the body moves them. The
 * same bits at any number of threads. */
void spl_riders_apply(const spl_riders *r, spl_riders_frame *f, const spl_pose *pose, const float *posed, double scale,
                      const float *lifted, spl_pool *pool, float *own);

#endif
