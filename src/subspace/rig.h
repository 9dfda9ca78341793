/* What a model knows of its character beside the flesh, so that it plays without the character's file: joints, how
 * bones move with them (drive.h), the vertices that bones hold and playing needs, the surface and its own skinning.
 *
 * Everything is in the solver's space (drive.h), metres, but for the joints' matrices, which are the file's. Arrays are
 * flat: they stand in the model file as they are. */
#ifndef SPL_SUBSPACE_RIG_H
#define SPL_SUBSPACE_RIG_H

#include "body/solid.h"
#include "core/store.h"
#include "subspace/own.h"
#include "subspace/visual.h"

enum { SPL_RIG_BONE_NUMBERS = 4, SPL_RIG_BONE_REALS = 21, SPL_RIG_MOST_NAMES = 1 << 20, SPL_RIG_MOST_BONES = 1 << 14 };

enum { SPL_RIG_UNNAMED = 64 }; /* vertices of the body, at most, for each one that is named */

typedef struct spl_rig {
    int32_t joint_count, bone_count, held_count, vertex_count, triangle_count;
    double to_solver; /* from the world, as spl_drive.to_solver */
    bool spread;      /* twists along bones */
    size_t name_bytes;
    char *name;            /* joint after joint, a zero behind each */
    int32_t *joint_parent; /* joint_count: the next joint above that has bones, always lower; -1 */
    double *joint_rest;    /* 16 x joint_count: world matrices of the file's rest pose */
    int32_t *bone;     /* 4 x bone_count: joint; parent, always lower, or -1; the bone whose twist its tail takes, or
                        * -1; whether it takes up its own against its parent */
    double *bone_real; /* 21 x bone_count: head, tail, axis; 12 of the map to the joint's space, column by column */
    int32_t *held;     /* 2 x held_count: vertex of the body, rising, and its bone */
    double *held_rest; /* 3 x held_count */
    int32_t *vertex;   /* vertex_count: those of the surface, vertices of the body, rising */
    int32_t *triangle; /* 3 x triangle_count: of `vertex`, counter-clockwise in the world seen from outside */
    spl_own own;       /* the file's own skinning of the surface, and trust */
    spl_visual visual; /* the character's visual mesh; models of earlier versions have none */
} spl_rig;

void spl_rig_release(spl_rig *r, const supple_allocator *a); /* accepts a zeroed one */

struct spl_model;

/* The rig of a solid whose model is complete but for it. */
supple_result spl_rig_make(const supple_scene *scene, const spl_solid *solid, const struct spl_model *m, spl_rig *out,
                           supple_error *error);

/* Adds it to a model's file, and takes it from there; what is read is held against the model, which must be read. */
supple_result spl_rig_add(spl_store_writer *w, const spl_rig *r, supple_error *error);
supple_result spl_rig_read(const spl_store_reader *reader, const struct spl_model *m, const supple_allocator *a,
                           spl_rig *out, supple_error *error);

/* The drive of a rig, and the body that it asks for: bones and held vertices alone. The body must stay where it is;
 * both end by spl_rig_drive_release. */
supple_result spl_rig_drive(const spl_rig *r, const supple_allocator *a, spl_body *body, spl_drive *out,
                            supple_error *error);
void spl_rig_drive_release(spl_body *body, spl_drive *drive, const supple_allocator *a);

/* The number of a vertex of the body on the surface, whose vertices rise; -1 where it is not on it. */
int32_t spl_rig_place(const spl_rig *rig, int32_t vertex);

#endif
