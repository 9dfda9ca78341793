/* Supple: a loaded character. A scene is constant once loaded and may be shared by any number of simulations. */
#ifndef SUPPLE_SCENE_H
#define SUPPLE_SCENE_H

#include <supple/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a file says: meshes, skins, joints, clips, materials, images; validated. */
typedef struct supple_scene supple_scene;

/* Loads a .glb, .gltf, .vrm, .fbx or .dae file, or a built-in character as "demo:NAME" (see supple_demo_name). Files
 * that a .gltf refers to must be regular files below its folder. A malformed file is SUPPLE_ERROR_INPUT. A file without
 * a skin loads. FBX and Collada are read by the program supple-import, which is looked for beside the library, and
 * first at the path that the environment variable SUPPLE_IMPORT names. */
SUPPLE_API supple_result supple_scene_load_file(const char *path, const supple_config *config, supple_scene **out,
                                                supple_error *error);

/* Loads a .glb or a .gltf with embedded buffers from memory. The bytes are copied. `name` appears in messages. */
SUPPLE_API supple_result supple_scene_load_memory(const void *data, size_t size, const char *name,
                                                  const supple_config *config, supple_scene **out, supple_error *error);

/* Frees a scene. Simulations made from it must be destroyed first. Accepts NULL. */
SUPPLE_API void supple_scene_destroy(supple_scene *scene);

/* Number of vertices in output order: mesh instances in node order, each mesh's primitives in file order. */
SUPPLE_API int32_t supple_scene_vertex_count(const supple_scene *scene);

/* Number of triangles of all mesh instances. */
SUPPLE_API int32_t supple_scene_triangle_count(const supple_scene *scene);

/* Number of matrices in a pose: the joints of all skins, skin after skin, in the file's order. */
SUPPLE_API int32_t supple_scene_joint_count(const supple_scene *scene);

/* Name of the index-th joint of a pose; "" if the file names none; NULL if the index is out of range. */
SUPPLE_API const char *supple_scene_joint_name(const supple_scene *scene, int32_t index);

/* Number of skins; 0 means there is nothing to skin. */
SUPPLE_API int32_t supple_scene_skin_count(const supple_scene *scene);

/* Number of animation clips. */
SUPPLE_API int32_t supple_scene_clip_count(const supple_scene *scene);

/* Name of a clip, unique within the scene and never empty; NULL if the index is out of range. */
SUPPLE_API const char *supple_scene_clip_name(const supple_scene *scene, int32_t clip);

/* Length of a clip in seconds; 0 if the index is out of range. */
SUPPLE_API double supple_scene_clip_duration(const supple_scene *scene, int32_t clip);

/* Frames per second of a clip's source; 0 if it says nothing (glTF never does) or the index is out of range. */
SUPPLE_API double supple_scene_clip_fps(const supple_scene *scene, int32_t clip);

/* Frames per second of the file's clips where it says so (FBX), else 30. */
SUPPLE_API double supple_scene_fps(const supple_scene *scene);

/* The direction that is up in the scene's space, unit: y for glTF, what the file says for others. */
SUPPLE_API void supple_scene_up(const supple_scene *scene, double up[3]);

/* Finds a clip by name, by the part of its name after the last '|', or by index written in decimal; an exact name wins,
 * and where none of these is there the only one that differs in upper and lower case. -1 if there is none or if the
 * part after '|' is ambiguous. */
SUPPLE_API int32_t supple_scene_clip_find(const supple_scene *scene, const char *name);

/* Number of frames a clip has at a frame rate: floor(duration * fps + 0.01) + 1. A clip of -1 (the rest pose) has 1.
 * 0 if fps is not a positive number or the count does not fit. */
SUPPLE_API int32_t supple_scene_frame_count(const supple_scene *scene, int32_t clip, double fps);

/* A motion from elsewhere. Zeroed fields are defaults. */
typedef struct supple_motion {
    const char *path;     /* .bvh: a skeleton's motion; .pc2: a vertex animation in output order, for method "none" */
    const void *data;     /* the file's bytes, if they are in memory: `path` then only names them; NULL: read `path` */
    size_t size;          /* of data */
    const char *map_path; /* .json {"joint of the motion": "joint of the character" or null}; NULL: by names alone */
    double fps;           /* frames per second of a .pc2, which has no time of its own; 0: 30 */
} supple_motion;

/* Adds a motion to a scene as a new clip, named after the file; *clip is its index. A .bvh is put onto the skeleton
 * (docs/motion.md); what was matched and what was not is logged. The scene must not be in use yet: no simulation made
 * from it, no other thread. SUPPLE_ERROR_INPUT for a malformed file or one that does not fit; the scene is then as
 * before and *clip is -1. */
SUPPLE_API supple_result supple_scene_add_motion(supple_scene *scene, const supple_motion *motion,
                                                 const supple_config *config, int32_t *clip, supple_error *error);

/* Writes the joints' world matrices at a time of a clip (-1: the file's rest pose), 16 floats a joint, column-major, in
 * the order of supple_scene_joint_name. `capacity` is the number of matrices that `matrices` holds. */
SUPPLE_API supple_result supple_scene_pose(const supple_scene *scene, int32_t clip, double time, float *matrices,
                                           int32_t capacity, supple_error *error);

#ifdef __cplusplus
}
#endif
#endif
