/* The character's visual mesh in a model: what it takes to show it as the tool does, and nothing of how that was found.
 *
 *     x_v = own_v + amount_v (flesh_v - own_v)
 *
 * flesh_v is upsampled from the flesh's surface (body/upsample.h); what rides on it (body/riders.h) and all else
 * follows the file's own skinning, own_v = sum_c w_c W_c M_c b_v, over carriers: a joint of the rig with a constant map
 * from a mesh's space to the joint's. A node that the rig does not have (it moves no flesh) stands still against the
 * nearest joint above it that the rig has; without one, in the world. Morph targets are at rest. */
#ifndef SPL_SUBSPACE_VISUAL_H
#define SPL_SUBSPACE_VISUAL_H

#include "body/riders.h"
#include "body/upsample.h"
#include "core/store.h"

struct spl_rig;

typedef struct spl_visual {
    int32_t vertex_count; /* 0: the model has no visual mesh, and nothing below */
    int32_t triangle_count;
    int32_t *triangle;   /* 3 x triangle_count */
    double metre;        /* metres that a unit of the body's space is */
    spl_surface surface; /* what upsampling reads of it: positions, triangles, corners, and the map from the rig's
                          * surface vertices */
    spl_upsample *map;
    spl_riders riders;
    uint8_t *flesh; /* by vertex: upsampling moves it */
    int32_t carrier_count;
    int32_t *carrier_joint; /* joint of the rig, or -1: still */
    double *carrier_map;    /* 16 x carriers: M */
    int32_t *first;         /* by vertex, and one more: its influences, each vertex has at least one */
    int32_t *carrier;       /* by influence */
    float *weight;          /* by influence: from 0 to 1, sum 1 at each vertex */
    float *rest, *normal;   /* 3 x vertices: b, and the normal there */
} spl_visual;

void spl_visual_release(spl_visual *v, const supple_allocator *a); /* accepts a zeroed one */

/* Adds it to a model's file, if there is one, and takes it from there; what is read is held against the rig, which must
 * be read. A file without has none. */
supple_result spl_visual_add(spl_store_writer *w, const spl_visual *v, supple_error *error);
supple_result spl_visual_read(const spl_store_reader *reader, const struct spl_rig *rig, const supple_allocator *a,
                              spl_visual *out, supple_error *error);

/* Fills corner_first and corner of the surface from its triangles. False: no memory. */
bool spl_visual_link(spl_surface *s, const supple_allocator *a);

/* ---- frames (visual_frame.c) ---- */

/* Room for one, of one player. */
typedef struct spl_visual_frame {
    const spl_visual *visual;
    spl_upsample_frame *upsample;
    spl_riders_frame riders;
    spl_mat4 *world, *map;    /* by carrier: W, and W M */
    float *posed;             /* 3 x the rig's surface vertices: in the body's space */
    float *own, *own_normal;  /* 3 x vertices */
    float *position, *normal; /* the same: what is shown */
    float *amount;            /* by vertex */
    uint8_t *skinned;         /* by vertex: own skinning is asked for */
    bool fresh;               /* position and normal are of the present state */
} spl_visual_frame;

supple_result spl_visual_frame_create(const spl_visual *v, int32_t surface_count, const supple_allocator *a,
                                      spl_visual_frame *out, supple_error *error);
void spl_visual_frame_release(spl_visual_frame *f, const supple_allocator *a); /* accepts a zeroed one */

/* The amount of each vertex from those of the rig's surface vertices: 1 where all around it are. */
void spl_visual_frame_amount(spl_visual_frame *f, const float *amount);

/* Positions and unit normals in the world: `world` are the rig's joints, `x` the solver's places of the body's vertices
 * of which `vertex` lists those of the surface. */
typedef struct spl_visual_input {
    const spl_mat4 *world;
    const double *x;
    const int32_t *vertex;
    int32_t surface_count;
    double to_solver;
} spl_visual_input;
void spl_visual_frame_show(spl_visual_frame *f, const spl_visual_input *in, spl_pool *pool);

#endif
