/* External forces on the flesh, from a file (docs/materials.md): pushes on vertices of the visual mesh, on the flesh in
 * a ball, or on the flesh of a joint, over a range of frames. */
#ifndef SPL_BODY_FORCE_FILE_H
#define SPL_BODY_FORCE_FILE_H

#include "body/select.h"

/* One force of a file; exactly one of vertices, a ball and a joint. */
typedef struct spl_force {
    char *label;          /* for messages: "force 'push'", or "forces[2]" without a name */
    int32_t vertex_count; /* visual vertices, in output order */
    int32_t *vertex;
    spl_vec3 center;           /* of the ball: body space, file's unit */
    double radius;             /* 0: no ball */
    char *joint;               /* shell pattern, or NULL */
    spl_vec3 newton;           /* all of it together */
    int32_t first, last, ramp; /* frames; INT32_MIN and INT32_MAX where the file gives none */
} spl_force;

/* A force file. */
typedef struct spl_force_file {
    supple_allocator allocator;
    char *name; /* for messages */
    int32_t force_count;
    spl_force *force;
} spl_force_file;

/* Reads a force file, from memory or from disk. SUPPLE_ERROR_INPUT names file, force and key; SUPPLE_ERROR_MEMORY. On
 * failure *out is zero. */
supple_result spl_force_file_parse(const void *text, size_t size, const char *name, const supple_allocator *a,
                                   spl_force_file *out, supple_error *error);
supple_result spl_force_file_load(const char *path, const supple_allocator *a, spl_force_file *out,
                                  supple_error *error);
void spl_force_file_release(spl_force_file *file); /* accepts a zeroed one */

/* How strong a force is at a frame, 0 to 1: nothing outside its frames; it rises from 0 at the first of them (frame 0
 * if the file gives none) to 1, `ramp` frames later. */
double spl_force_strength(const spl_force *force, int32_t frame);

/* Forces on a body's tet vertices. */
typedef struct spl_force_share {
    int32_t vertex; /* of the tets */
    double share;   /* of its force; they sum to 1 over a force */
} spl_force_share;

typedef struct spl_force_set {
    supple_allocator allocator;
    int32_t vertex_count; /* of the tets */
    int32_t force_count;
    spl_force *force; /* frames and newtons; nothing else is set */
    size_t *first;    /* force_count + 1: a force's shares */
    spl_force_share *share;
} spl_force_set;

/* Finds what each force acts on.
 *
 *   vertices   an equal part each, passed on by the transpose of the upsampling: x_j = sum_i N_ij x_i moves the visual
 *              vertex, so N_ij f_j acts on the tets' surface and does the same work; sum N_ij = 1. A vertex that moves
 *              with a rigid piece acts on the nearest point of the tets' surface instead.
 *   ball       an equal part on every tet vertex inside that no bone holds
 *   joint      the same over the joint's flesh (spl_selector)
 *
 * SUPPLE_ERROR_INPUT, with file and force, for a vertex that is not there or not moved by flesh, and for a ball or
 * joint without free flesh; SUPPLE_ERROR_MEMORY. On failure *out is zero. `file` is not kept. */
supple_result spl_force_set_make(const spl_body *body, const spl_force_file *file, const supple_allocator *a,
                                 spl_force_set *out, supple_error *error);
void spl_force_set_release(spl_force_set *set); /* accepts a zeroed one */

/* The forces at a frame, set (not added): 3 a tet vertex, newtons, along the axes of the scene. They do not turn with
 * the character. */
void spl_force_set_at(const spl_force_set *set, int32_t frame, double *force);

#endif
