/* What the parts of the glTF reader share: the state of one load, checked access to the JSON and to accessors.
 *
 * Functions that can fail return bool (or a pointer): false (or NULL) means that g->result and the caller's error are
 * set, and that the load ends. Whatever was made so far hangs on g->scene and goes with it. */
#ifndef SPL_SCENE_READERS_GLTF_PRIVATE_H
#define SPL_SCENE_READERS_GLTF_PRIVATE_H

#include "core/error.h"
#include "core/memory.h"
#include "scene/document.h"
#include "scene/scene.h"

#include <limits.h>
#include <math.h>

/* Coordinates beyond this are rubbish, and their products and squares leave the range of float. */
#define SPL_GLTF_HUGE 1e18

/* What is wrong with numbers of which one is not within SPL_GLTF_HUGE. */
static inline const char *spl_gltf_excess(const float *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(value[i])) return "is not finite";
    return "is beyond 1e18, the largest number that is taken";
}

/* All input together, bytes. */
#define SPL_GLTF_MAX_INPUT ((size_t)2 << 30)

typedef struct spl_gltf {
    supple_scene *scene;
    const supple_allocator *a; /* the scene's */
    json_t *root;              /* the document's; not owned */
    supple_error *error;       /* may be NULL */
    supple_result result;
    char name[100];        /* of the input, for messages */
    char folder[PATH_MAX]; /* resolved folder of the input; "" from memory */
    const uint8_t *bin;    /* the GLB's BIN chunk; NULL without one */
    size_t bin_size;
    size_t input_size; /* bytes read: the file and those it refers to */
    size_t taken;      /* bytes made from them, bounded against input_size */
    struct {
        int64_t mistaken; /* vertices with weights that are no numbers or negative */
        int64_t lost;     /* of these, without any other */
        int64_t bare;     /* vertices without a weight that can be used, those among them */
        char where[96];   /* the first primitive with one of either */
    } weights;
    bool shut; /* by its own word, what made the document did so behind a filter of system calls */
} spl_gltf;

/* ---- failing (gltf_json.c) ---- */

/* Records SUPPLE_ERROR_INPUT with the input's name in front; always false. */
bool spl_gltf_fail(spl_gltf *g, const char *format, ...) SPL_PRINTF(2, 3);
bool spl_gltf_fail_memory(spl_gltf *g, const char *what); /* always false */

/* A zeroed array that belongs to the scene to be. What a file of some size can make us allocate is bounded. */
void *spl_gltf_new(spl_gltf *g, size_t count, size_t size, const char *what);

/* ---- the JSON (gltf_json.c); `kind` and `at` name the object in messages: "node", 3 (at -1: no number) ---- */

/* An optional array of objects; *count 0 if absent. */
bool spl_gltf_list(spl_gltf *g, const json_t *object, const char *key, const char *kind, int32_t at, json_t **list,
                   int32_t *count);

/* An optional index below `limit`; -1 if absent. */
bool spl_gltf_index(spl_gltf *g, const json_t *object, const char *key, int32_t limit, const char *kind, int32_t at,
                    int32_t *out);

/* A whole number that is not negative; `fallback` if absent. */
bool spl_gltf_size(spl_gltf *g, const json_t *object, const char *key, size_t fallback, const char *kind, int32_t at,
                   size_t *out);

/* An optional array of exactly `count` numbers within SPL_GLTF_HUGE; `out` is left alone if absent. */
bool spl_gltf_numbers(spl_gltf *g, const json_t *object, const char *key, double *out, size_t count, const char *kind,
                      int32_t at);

/* The "name" of an object, sanitised, "" if it has none; NULL if memory is out. */
char *spl_gltf_name(spl_gltf *g, const json_t *object);

/* ---- the container (gltf_document.c, gltf_uri.c) ---- */

/* Takes a .glb apart or parses a .gltf, and reads all buffers into the scene's document. */
bool spl_gltf_read_document(spl_gltf *g, const uint8_t *data, size_t size);

/* The bytes a URI stands for: a data URI, or a file below the input's folder (which is added to the scene's files).
 * `kind` is "buffer" or "image". */
bool spl_gltf_uri(spl_gltf *g, const char *uri, const char *kind, int32_t at, spl_buffer *out);

/* Decodes what EXT_meshopt_compression has compressed and takes the extension out of the document (meshopt.c). Does
 * nothing in a build without libmeshoptimizer. */
bool spl_gltf_has_meshopt(void);
bool spl_gltf_decompress(spl_gltf *g);

/* The same for KHR_draco_mesh_compression, by the program supple-import (draco.c). */
bool spl_gltf_decode_draco(spl_gltf *g);

/* ---- accessors (gltf_accessor.c) ---- */

enum {
    SPL_GLTF_BYTE = 5120,
    SPL_GLTF_UBYTE = 5121,
    SPL_GLTF_SHORT = 5122,
    SPL_GLTF_USHORT = 5123,
    SPL_GLTF_UINT = 5125,
    SPL_GLTF_FLOAT = 5126,
};

/* An accessor whose every byte is known to be there. */
typedef struct spl_accessor {
    int32_t index;         /* in the file */
    int32_t component;     /* SPL_GLTF_BYTE ... */
    int32_t columns, rows; /* vectors and scalars have one column */
    int32_t width;         /* columns x rows */
    bool normalized;
    size_t count, element_size; /* with the padding of matrix columns to 4 bytes */
    const uint8_t *data;        /* NULL: all zero */
    size_t stride;
    size_t sparse_count;
    int32_t sparse_component;
    const uint8_t *sparse_index, *sparse_value;
} spl_accessor;

/* The elements of a buffer view: `count` of `element_size` bytes, from `offset` on. *stride is the view's, or
 * element_size. `kind` and `at` name who asks. */
bool spl_gltf_view(spl_gltf *g, const char *kind, int32_t at, int32_t view, size_t offset, size_t element_size,
                   size_t count, const uint8_t **data, size_t *stride);

bool spl_gltf_accessor(spl_gltf *g, int32_t index, spl_accessor *out);

/* The decoded elements, count x width: as floats (normalised integers mapped to [0, 1] or [-1, 1]), or as they are
 * (unsigned integers only). */
float *spl_gltf_floats(spl_gltf *g, const spl_accessor *accessor);
uint32_t *spl_gltf_uints(spl_gltf *g, const spl_accessor *accessor);

/* ---- the parts of a scene; each fills its arrays of g->scene ---- */

bool spl_gltf_check_asset(spl_gltf *g);  /* version and required extensions (gltf_check.c) */
bool spl_gltf_read_nodes(spl_gltf *g);   /* with their hierarchy, without weights (gltf_node.c) */
bool spl_gltf_read_skins(spl_gltf *g);   /* after the nodes (gltf_skin.c) */
bool spl_gltf_read_meshes(spl_gltf *g);  /* after the skins (gltf_mesh.c) */
bool spl_gltf_read_weights(spl_gltf *g); /* the nodes' morph weights, after the meshes (gltf_node.c) */
bool spl_gltf_read_clips(spl_gltf *g);   /* after the weights (gltf_animation.c) */
bool spl_gltf_read_materials(spl_gltf *g);
bool spl_gltf_read_images(spl_gltf *g); /* (gltf_material.c) */

/* Reads every JOINTS_n / WEIGHTS_n of a primitive for the skins that its mesh is drawn with: `skin` is the one with
 * the fewest joints (gltf_weights.c). `where` names the primitive. */
bool spl_gltf_read_influences(spl_gltf *g, const json_t *attributes, const spl_skin *skin, const char *where,
                              spl_primitive *p);

/* Finds weights for the vertices of a mesh that have none; fails if no vertex has any (gltf_mend.c). */
bool spl_gltf_mend_weights(spl_gltf *g, spl_mesh *mesh, const char *where);

/* One line each for weights that were ignored and for those that were missing, in the whole file (gltf_weights.c). */
void spl_gltf_report_weights(spl_gltf *g);

#endif
