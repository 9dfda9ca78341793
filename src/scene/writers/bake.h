/* The baked glTF document: the scene's own JSON with skins replaced by morph targets: one a frame, or the components of
 * a basis (basis.h) whose weights are animated. Shared by the parts
 * of the .glb / .gltf writer: bake.c         which meshes are baked; nodes and scenes around them (identity transforms,
 * helper nodes) bake_prune.c   nodes that nothing uses any more bake_data.c    the one output buffer: what is kept of
 * the input's accessors, views and images, and new data bake_motion.c  the animations gltf.c         the format: frames
 * through a spool, assembly
 *
 * The document is made complete when the output is opened, but for the bounds of positions, which are known at the end.
 * Allocation failures inside jansson are remembered in `failed` and looked at once. */
#ifndef SPL_SCENE_WRITERS_BAKE_H
#define SPL_SCENE_WRITERS_BAKE_H

#include "scene/scene.h"
#include "scene/writers/basis.h"
#include "scene/writers/writer.h"

#include <jansson.h>

/* Of a mesh, as viewers take them; one of them is not a component (basis.h: steady). */
enum { SPL_BAKE_MAX_TARGETS = 255, SPL_BAKE_MAX_COMPONENTS = 254 };

/* One attribute of one target: numbers of `width` bytes (spl_basis's kind), `offset` bytes into the buffer. */
typedef struct spl_bake_row {
    uint8_t width;
    uint64_t offset;
} spl_bake_row;

/* A baked primitive. Offsets are in floats. */
typedef struct spl_bake_part {
    int32_t instance, primitive;
    int32_t first_vertex, vertex_count; /* output order */
    bool normal, tangent;
    bool mirrored; /* the pose turns it inside out: its triangles are turned round */
    size_t base;   /* its place in the base block: POSITION, then NORMAL */
    int32_t target_count;
    size_t row;            /* its first place among the rows: POSITION, NORMAL and TANGENT of each target */
    size_t bound;          /* its first place among the bounded accessors: the base, then the targets */
    json_t *json;          /* the primitive; belongs to the document */
    uint8_t *base_tangent; /* 4 floats a vertex, to be filled with the first frame; belongs to a piece */
} spl_bake_part;

/* A piece of the output buffer behind the spool: `count` elements of `element` bytes, `stride` apart. */
typedef struct spl_bake_piece {
    const uint8_t *source;
    uint8_t *owned; /* freed with the bake; NULL if the bytes belong to the scene */
    size_t offset;  /* in the output buffer */
    size_t count, element, source_stride, stride;
} spl_bake_piece;

typedef struct spl_bake {
    supple_allocator allocator;
    const supple_scene *scene;
    const supple_writer *writer; /* ranges, frame rate, path for messages */
    json_t *root;                /* owned */
    json_t *accessors, *views;   /* belong to root */
    bool failed;                 /* jansson ran out of memory */
    bool still;                  /* the rest pose alone: no morph targets */
    int32_t expressions;         /* of a VRM, that moved morph targets of the input */
    const spl_basis *basis;      /* of the scene's instances, or NULL: one target a frame; the caller's */
    bool *baked;                 /* a scene's node */
    int32_t *helper;             /* a scene's node: the node that took its place, or -1 */
    int32_t *number;             /* a node's place in the output, scene's nodes first, then helpers; -1: left out */
    int32_t part_count;
    spl_bake_part *part;
    size_t base_floats; /* size of the base block, which comes first in the spool */
    spl_bake_row *row;
    size_t row_count;
    uint64_t area[4]; /* where the floats, shorts and bytes of the spool begin, and where it ends */
    json_t **bounded; /* POSITION accessors, part after part; belong to root */
    size_t bounded_count;
    spl_bake_piece *piece;
    size_t piece_count, piece_room;
    uint64_t size; /* of the output buffer, a multiple of 4; the spool comes first */
} spl_bake;

/* Makes the whole document. On failure release it. */
supple_result spl_bake_init(spl_bake *bake, const supple_writer *writer, const spl_basis *basis, supple_error *error);

/* What every document made of the scene's has in common: it stands in metres, y up, and carries the data it still
 * refers to; at the end its one buffer is listed. */
supple_result spl_bake_carry(spl_bake *bake, supple_error *error);
void spl_bake_finish(spl_bake *bake);

/* How many morph targets an instance has; whether a part's targets have an attribute (0: POSITION, NORMAL, TANGENT);
 * bytes from one vertex to the next in rows of that width, and the area of the spool that holds them. */
int32_t spl_bake_target_count(const spl_bake *bake, int32_t instance);
bool spl_bake_has(const spl_bake_part *part, int attribute);
size_t spl_bake_stride(int width);
int spl_bake_area(int width);
void spl_bake_release(spl_bake *bake);

/* ---- JSON helpers: they remember failures ---- */

/* Sets a member, appends an element; the value is taken over. */
void spl_bake_set(spl_bake *bake, json_t *object, const char *key, json_t *value);
void spl_bake_append(spl_bake *bake, json_t *array, json_t *value);
/* The array of that name in the root, made if absent; NULL if memory is out. */
json_t *spl_bake_list(spl_bake *bake, const char *key);
/* A member that is a whole number from 0 on and below `limit`, else -1. */
int64_t spl_bake_index(const json_t *object, const char *key, size_t limit);

/* ---- data (bake_data.c) ---- */

/* Copies what the document still refers to into pieces, and numbers accessors and views anew. */
supple_result spl_bake_keep(spl_bake *bake, supple_error *error);

/* Adds floats (copied; NULL: zeros) with an accessor of that type ("SCALAR", "VEC3", ...) and returns its index, -1 if
 * memory is out. `bounds` adds min and max (SCALAR only); `vertex` marks vertex data. */
int32_t spl_bake_floats(spl_bake *bake, const float *values, size_t count, const char *type, bool bounds, bool vertex);

/* The same for vertex data of four unsigned shorts each. */
int32_t spl_bake_shorts(spl_bake *bake, const uint16_t *values, size_t count);

/* Adds the view of the spool and the parts' accessors into it. */
supple_result spl_bake_parts(spl_bake *bake, supple_error *error);

/* Drops extensions from the lists that nothing uses any more. */
void spl_bake_extensions(spl_bake *bake);

/* ---- nodes (bake_prune.c) ---- */

/* Leaves out the nodes of rigs that move nothing any more, unless the plan keeps them, and fills `number`. */
bool spl_bake_prune(spl_bake *bake);

/* ---- VRM (bake_vrm.c) ---- */

/* Whether the document is an avatar by VRM 0.x or 1.0. */
bool spl_bake_is_vrm(const spl_bake *bake);

/* Takes the morph targets, which are gone, out of its expressions; how many had some. */
int32_t spl_bake_expressions(spl_bake *bake);

/* ---- animations (bake_motion.c) ---- */

/* Leaves the animations of the plan's clips, with the channels that go on as they are. */
void spl_bake_select_motion(spl_bake *bake);

/* Adds the morph weights and the channels that are sampled anew. */
supple_result spl_bake_add_motion(spl_bake *bake, supple_error *error);

#endif
