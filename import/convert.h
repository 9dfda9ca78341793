/* From the importing library's scene to a glTF document. What the parts share. */
#ifndef SUPPLE_IMPORT_CONVERT_H
#define SUPPLE_IMPORT_CONVERT_H

#include "glb.h"
#include "math/vec3.h"
#include "points.h"

#include <assimp/scene.h>

typedef struct import_node {
    const struct aiNode *ai;
    int32_t parent;        /* -1 for a root */
    spl_mat4 local, world; /* the file's rest pose, in its own axes and unit */
    bool animated;
    bool joint; /* by the file's own word */
} import_node;

typedef struct import_state {
    const struct aiScene *scene;
    const char *path;
    bool collada;
    bool shut; /* behind a filter of system calls */
    spl_points points;
    int32_t node_count;
    import_node *node; /* parents before children; the library's own root is left out */
    int32_t *material; /* of the output for each of the scene's, -1 for none */
    glb out;
    json_t *warnings;
} import_state;

/* The whole conversion: fills s->out from s->scene and s->points. */
void import_convert(import_state *s);

/* Something the person should know; ends up in the scene's warnings. */
void import_warn(import_state *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The node of that name, -1 if there is none. */
int32_t import_node_find(const import_state *s, const char *name);

/* The name to show for a node: Collada's name, not its id. */
const char *import_node_name(const import_state *s, const char *id);

spl_mat4 import_matrix(const struct aiMatrix4x4 *m);

/* nodes.c: lists nodes and marks joints; writes them once meshes and skins are known (index or -1 for each node). */
void import_list_nodes(import_state *s);
void import_write_nodes(import_state *s, const int32_t *mesh, const int32_t *skin);

/* skins.c: the joints of a node's meshes. */
typedef struct import_skin {
    int32_t count;
    int32_t *joint;        /* nodes */
    spl_mat4 *inverse;     /* inverse bind matrices */
    int32_t *slot_of_node; /* for each node: its place among the joints, -1 */
    int32_t rest;          /* the place of the mesh's own node: what has no weight moves with it; -1 if not asked for */
} import_skin;

/* False if none of the node's meshes has a bone. `loose`: some vertices have no weight. `surface` may be NULL. */
bool import_make_skin(import_state *s, int32_t node, const spl_surface *surface, bool loose, import_skin *out);
int32_t import_write_skin(import_state *s, const import_skin *skin, int32_t node);
void import_free_skin(import_skin *skin);

/* match.c: for each mesh of a node the control point of each of its vertices; NULL if no surface of the file fits. The
 * arrays belong to the caller. *surface is the one that fits. */
int32_t **import_match(import_state *s, const struct aiNode *node, const spl_surface **surface);

/* meshes.c, materials.c, motion.c */
int32_t import_write_mesh(import_state *s, int32_t node, int32_t *skin);
void import_write_materials(import_state *s);
void import_write_motion(import_state *s);

/* Frames a second of a file that does not say: the usual rate whose frames all keys of the first clip lie on, else 30.
 */
double import_guess_fps(const import_state *s);

#endif
