/* FBX and Collada, through the program supple-import: it makes a .glb of them, which our own reader then checks and
 * reads. The program runs for a limited time with limited memory; whatever becomes of it, the caller gets a scene or an
 * error. */
#ifndef SPL_SCENE_READERS_IMPORT_H
#define SPL_SCENE_READERS_IMPORT_H

#include "scene/scene.h"

/* Whether a path ends as the files do that the program reads: .fbx or .dae, upper or lower case. */
bool spl_import_takes(const char *path);

/* SUPPLE_ERROR_INPUT if the file is damaged, if reading it takes too long or too much memory, or if the program is not
 * there. It is looked for beside the library, in the folder for such programs of an installation, and before these at
 * the path that the environment variable SUPPLE_IMPORT names. */
supple_result spl_import_load_file(const char *path, const supple_config *config, supple_scene **out,
                                   supple_error *error);

/* Has the program answer a question, given as bytes; `mode` says what kind. The answer is *data, to be freed with `a`.
 * Errors: SUPPLE_ERROR_INPUT with a reason that does not name the file, or SUPPLE_ERROR_MEMORY. */
supple_result spl_import_decode(const char *mode, const void *question, size_t size, const supple_allocator *a,
                                uint8_t **data, size_t *data_size, supple_error *error);

#endif
