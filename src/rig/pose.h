/* Poses: where every node of a scene is at a moment, and the morph weights. */
#ifndef SPL_RIG_POSE_H
#define SPL_RIG_POSE_H

#include "scene/scene.h"

/* A node's own transform while a pose is made. */
typedef struct spl_transform {
    double t[3], r[4], s[3];
    bool is_matrix; /* the node's matrix stands instead */
    bool is_posed;  /* the world matrix was given */
} spl_transform;

typedef struct spl_pose {
    supple_allocator allocator;
    spl_transform *transform; /* node_count */
    double *scratch;          /* as wide as the widest channel */
    spl_mat4 *local;          /* node_count */
    spl_mat4 *world;          /* node_count */
    float *weight;            /* morph weights of all nodes, node after node */
    int32_t *first_weight;    /* node_count + 1 */
} spl_pose;

supple_result spl_pose_init(spl_pose *pose, const supple_scene *scene, supple_error *error);
void spl_pose_release(spl_pose *pose);

/* The scene at a time of a clip; clip -1 is the file's rest pose. Never fails: times outside the keys are clamped. */
void spl_pose_sample(spl_pose *pose, const supple_scene *scene, int32_t clip, double time);

/* The scene posed by world matrices of its joints (16 floats each, scene's joint order); other nodes keep their rest
 * transform relative to their parent. A node that is a joint in two skins takes its last matrix. */
void spl_pose_from_matrices(spl_pose *pose, const supple_scene *scene, const float *matrices);

/* World matrices from the local ones, which a caller may have changed. */
void spl_pose_place(spl_pose *pose, const supple_scene *scene);

/* One channel at one time: `width` numbers; rotations are unit quaternions. */
void spl_channel_sample(const spl_channel *channel, double time, double *out);

/* World matrices of the joints of all skins in the bind pose: inverses of the inverse bind matrices. */
void spl_skin_bind_matrices(const spl_skin *skin, spl_mat4 *out);

/* Whether a pose turns a mesh instance inside out: the map from mesh space to world space has a negative determinant,
 * the node's for a rigid instance, that of most joints (world times inverse bind) for a skinned one. The triangles of
 * such an instance, taken in world space, wind the wrong way round, and normals computed from them point inwards. */
bool spl_pose_mirrors(const spl_pose *pose, const supple_scene *scene, int32_t instance);

#endif
