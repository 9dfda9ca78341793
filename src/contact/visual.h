/* The visual mesh's flesh as points that sit on the body: what the polish moves. */
#ifndef SPL_CONTACT_VISUAL_H
#define SPL_CONTACT_VISUAL_H

#include "contact/near.h"

enum { SPL_VISUAL_ANCHORS = 4 };

typedef struct spl_visual_points {
    supple_allocator allocator;
    const spl_near *near;
    int32_t count;
    int32_t *vertex; /* by point: the scene's vertex; ascending */
    spl_vec3 *rest;  /* by point: the solver's rest space */
    int32_t *anchor; /* SPL_VISUAL_ANCHORS a point: shell vertices, nearest first; -1 for fewer */
    int32_t *first;  /* count + 1: CSR over `apart` */
    int32_t *apart;  /* body vertices around what a point is in at rest without being a neighbour, ascending */
} spl_visual_points;

/* Vertices of flesh that are upsampled from the body, without those deep inside. `near` must outlive it. */
supple_result spl_visual_points_create(const spl_near *near, spl_visual_points *out, supple_error *error);
void spl_visual_points_release(spl_visual_points *v);

/* Whether one of `count` body vertices is a neighbour of a point or overlaps with it at rest. */
bool spl_visual_near(const spl_visual_points *v, int32_t point, const int32_t *vertex, int count);

/* A visual vertex in the solver's space. */
static inline spl_vec3 spl_visual_place(const spl_visual_points *v, int32_t point, const float *visual)
{
    const float *p = visual + 3 * (size_t)v->vertex[point];
    return spl_scale(spl_v3_from_float(p), v->near->shell->solid->drive.to_solver);
}

#endif
