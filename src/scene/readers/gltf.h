/* The glTF 2.0 reader: .glb, and .gltf with files or data URIs. */
#ifndef SPL_SCENE_READERS_GLTF_H
#define SPL_SCENE_READERS_GLTF_H

#include "scene/scene.h"

/* Loads a .glb or .gltf file, told apart by their first bytes. Files it refers to must be regular files below its
 * folder. SUPPLE_ERROR_INPUT for a file that is missing or malformed; *out is then NULL. */
supple_result spl_gltf_load_file(const char *path, const supple_config *config, supple_scene **out,
                                 supple_error *error);

/* The same from memory. The bytes are copied; nothing outside them is read. `name` (may be NULL) is for messages. */
supple_result spl_gltf_load_memory(const void *data, size_t size, const char *name, const supple_config *config,
                                   supple_scene **out, supple_error *error);

/* The same of a .glb that was made from the file at `path`, which gives the scene its name and its folder. */
supple_result spl_gltf_load_made(const void *data, size_t size, const char *path, const supple_config *config,
                                 supple_scene **out, supple_error *error);

#endif
