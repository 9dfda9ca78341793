/* A rigged character built in memory, and its .glb: what the built-in characters are made of.
 *
 * Names are kept by reference and must be plain ASCII without quotes or backslashes (they are constants in the code).
 * All arrays belong to the struct and come from its allocator. */
#ifndef SPL_SCENE_WRITERS_RIGGED_H
#define SPL_SCENE_WRITERS_RIGGED_H

#include "core/threads.h"
#include "math/vec3.h"

#include <supple/base.h>

enum { SPL_RIGGED_JOINTS = 48, SPL_RIGGED_MESHES = 4, SPL_RIGGED_MATERIALS = 4, SPL_RIGGED_CLIPS = 4 };

/* A joint at rest, relative to its parent. Parents stand before their children. */
typedef struct spl_rigged_joint {
    const char *name;
    int32_t parent; /* -1 for the root; there is one root, joint 0 */
    spl_vec3 t;
    double r[4]; /* unit quaternion x y z w */
} spl_rigged_joint;

typedef struct spl_rigged_material {
    const char *name;
    float base_color[4]; /* linear; metallic 0, roughness 1 */
    uint8_t *png;        /* base colour texture, or NULL */
    size_t png_size;
} spl_rigged_material;

typedef struct spl_rigged_mesh {
    const char *name;
    int32_t material; /* -1 for none */
    int32_t vertex_count, triangle_count;
    int32_t influence_count; /* 4 or 8: slots at each vertex */
    float *position;         /* 3 x vertex_count */
    float *normal;           /* 3 x vertex_count, unit */
    float *uv;               /* 2 x vertex_count, or NULL */
    uint32_t *triangle;      /* 3 x triangle_count, counter-clockwise from outside */
    uint8_t *joint;          /* influence_count x vertex_count; 0 where the weight is 0 */
    float *weight;           /* influence_count x vertex_count, sum 1 */
} spl_rigged_mesh;

/* Keys at k / fps seconds for every joint; channels that stay at rest are not written. */
typedef struct spl_rigged_clip {
    const char *name;
    int32_t key_count;
    double fps;
    float *rotation;    /* joint_count x key_count x 4, local */
    float *translation; /* joint_count x key_count x 3, local */
} spl_rigged_clip;

typedef struct spl_rigged {
    supple_allocator allocator;
    spl_pool *pool; /* while it is made; NULL: one thread */
    const char *name;
    int32_t joint_count, mesh_count, material_count, clip_count;
    spl_rigged_joint joint[SPL_RIGGED_JOINTS];
    spl_rigged_mesh mesh[SPL_RIGGED_MESHES];
    spl_rigged_material material[SPL_RIGGED_MATERIALS];
    spl_rigged_clip clip[SPL_RIGGED_CLIPS];
} spl_rigged;

/* Adds a joint whose rest position is given in the world; all rest rotations are identity. Returns its index. */
int32_t spl_rigged_add_joint(spl_rigged *rigged, const char *name, int32_t parent, spl_vec3 world);

/* Adds a material without a texture. Returns its index. */
int32_t spl_rigged_add_material(spl_rigged *rigged, const char *name, float red, float green, float blue);

/* Adds a clip of `key_count` keys, all at rest. Every joint must be there already. NULL if memory is out. */
spl_rigged_clip *spl_rigged_add_clip(spl_rigged *rigged, const char *name, int32_t key_count, double fps);

/* Sets a key of one joint: its local rotation; its local translation. */
void spl_rigged_set_rotation(const spl_rigged *rigged, spl_rigged_clip *clip, int32_t joint, int32_t key,
                             const double r[4]);
void spl_rigged_set_translation(const spl_rigged *rigged, spl_rigged_clip *clip, int32_t joint, int32_t key,
                                spl_vec3 t);

/* World matrices of the joints at a key of a clip, or at rest where clip is NULL. */
void spl_rigged_pose(const spl_rigged *rigged, const spl_rigged_clip *clip, int32_t key, spl_mat4 *world);

/* The character as a .glb, to be freed with the character's allocator. The same character gives the same bytes. */
supple_result spl_rigged_write(const spl_rigged *rigged, uint8_t **glb, size_t *size, supple_error *error);

/* Frees everything in the character and zeroes it. */
void spl_rigged_release(spl_rigged *rigged);

#endif
