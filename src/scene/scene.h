/* The scene: what a file says, decoded and validated. Constant after loading.
 *
 * Every reader produces a glTF document (the importer program converts other formats to one), so the scene keeps the
 * document as its source, and writers carry through what Supple does not touch. */
#ifndef SPL_SCENE_SCENE_H
#define SPL_SCENE_SCENE_H

#include "math/vec3.h"

#include <supple/scene.h>

typedef struct spl_document spl_document; /* scene/document.h: the glTF JSON and its buffers */

typedef struct spl_node {
    char *name;         /* never NULL */
    int32_t parent;     /* -1 for a root */
    int32_t mesh, skin; /* -1 for none */
    bool has_matrix;    /* local transform is `matrix` unless animated; else t, r, s */
    spl_mat4 matrix;    /* local */
    double t[3], r[4], s[3];
    int32_t weight_count; /* default morph weights: the node's, else its mesh's */
    float *weight;
} spl_node;

/* Displacements of a morph target; an absent attribute is NULL. */
typedef struct spl_target {
    float *position; /* 3 x vertex_count */
    float *normal;   /* 3 x vertex_count */
} spl_target;

typedef struct spl_primitive {
    int32_t vertex_count;
    float *position;         /* 3 x vertex_count */
    float *normal;           /* 3 x vertex_count, or NULL */
    float *tangent;          /* 4 x vertex_count, or NULL */
    float *uv;               /* 2 x vertex_count, TEXCOORD_0, or NULL */
    float *color;            /* 4 x vertex_count, COLOR_0 as stored (linear), alpha 1 if it has none; or NULL */
    int32_t *triangle;       /* 3 x triangle_count, indices below vertex_count; strips and fans are expanded */
    int32_t triangle_count;  /* 0 for points and lines */
    float *amount;           /* vertex_count, _SUPPLE_AMOUNT: how much of the flesh is shown, 0 to 1; or NULL */
    int32_t *id;             /* vertex_count, _SUPPLE_ID: which of the mesh's points a vertex is; or NULL */
    int32_t polygon_count;   /* 0: only triangles are known */
    int32_t *polygon_first;  /* polygon_count + 1: where a polygon's corners begin */
    int32_t *polygon_corner; /* indices below vertex_count; three or more a polygon */
    int32_t influence_count; /* K: largest number of non-zero weights at a vertex; 0 if not skinned */
    uint16_t *joint; /* K x vertex_count, vertex by vertex, indices into the skin's joints; 0 where the weight is 0 */
    float *weight;   /* K x vertex_count, descending, sum 1 at each vertex */
    int32_t unweighted, unnormalised;      /* vertices that the file gave no usable weight / whose sum was not 1 */
    int32_t mistaken;                      /* vertices with weights that were no numbers or negative, and ignored */
    double weight_sum_min, weight_sum_max; /* in the file, over the vertices; NAN if not skinned */
    int32_t material;                      /* -1 for the default */
    int32_t target_count;
    spl_target *target;
} spl_primitive;

typedef struct spl_mesh {
    char *name;
    int32_t primitive_count;
    spl_primitive *primitive;
    int32_t point_count; /* where every primitive has ids: each number below this is the id of a vertex; else 0 */
} spl_mesh;

typedef struct spl_skin {
    char *name;
    int32_t joint_count;
    int32_t *joint;         /* node indices */
    spl_mat4 *inverse_bind; /* mesh space to joint space, in the bind pose */
    int32_t first_joint;    /* index of its first joint in a pose (scene order) */
} spl_skin;

typedef enum spl_path { SPL_PATH_TRANSLATION, SPL_PATH_ROTATION, SPL_PATH_SCALE, SPL_PATH_WEIGHTS } spl_path;
typedef enum spl_interpolation { SPL_STEP, SPL_LINEAR, SPL_CUBIC } spl_interpolation;

typedef struct spl_channel {
    int32_t node;
    spl_path path;
    spl_interpolation interpolation;
    int32_t key_count; /* at least 1 */
    int32_t width;     /* numbers per key: 3, 4, or the node's weight_count */
    float *time;       /* key_count, strictly increasing, not negative */
    float *value;      /* key_count x width; cubic: key_count x 3 x width (in-tangent, value, out-tangent) */
} spl_channel;

typedef struct spl_clip {
    char *name;      /* unique, never empty */
    double duration; /* last key time, seconds */
    int32_t channel_count;
    spl_channel *channel;
    int32_t animation; /* index in the document; -1 for a motion that was added */
    double fps;        /* frames per second of its source; 0 where that says nothing */
    int32_t sample_count;
    float *sample; /* a vertex animation: sample_count x 3 x vertex_count, world space, sample k at k / fps; or NULL */
} spl_clip;

typedef enum spl_alpha { SPL_ALPHA_OPAQUE, SPL_ALPHA_MASK, SPL_ALPHA_BLEND } spl_alpha;

typedef struct spl_material {
    char *name;
    float base_color[4];
    int32_t base_color_image; /* index into images, -1 for none */
    spl_alpha alpha;
    float alpha_cutoff;
    bool double_sided;
} spl_material;

/* An encoded image (PNG or JPEG) as stored in the file. */
typedef struct spl_image {
    const uint8_t *data; /* NULL if the file could not be found (a warning) */
    size_t size;
} spl_image;

/* A mesh at a node: one object of the scene. */
typedef struct spl_instance {
    int32_t node, mesh, skin; /* skin -1: rigid */
    int32_t first_vertex;     /* in output order */
    int32_t vertex_count;     /* over all primitives */
    int32_t first_point;      /* in cache order, which is output order but where the mesh has ids */
    int32_t point_count;
} spl_instance;

typedef enum spl_up { SPL_UP_Y, SPL_UP_Z, SPL_UP_X } spl_up;

struct supple_scene {
    supple_allocator allocator;
    char *path;     /* of the input file, or "demo:NAME", or the name given for memory */
    bool from_file; /* path names a file */
    char **file;    /* other files that were read (buffers, images) */
    int32_t file_count;
    spl_document *document;
    int32_t node_count, mesh_count, skin_count, clip_count, material_count, image_count, instance_count;
    spl_node *node;
    int32_t *node_order; /* parents before children */
    spl_mesh *mesh;
    spl_skin *skin;
    spl_clip *clip;
    spl_material *material;
    spl_image *image;
    spl_instance *instance; /* in node order */
    int32_t vertex_count, triangle_count, joint_count;
    int32_t point_count;   /* in cache order */
    int32_t *point_vertex; /* point_count: a vertex that is at the point; NULL where points are vertices */
    double unit;           /* metres a unit of the file; 0 if it does not say (glTF: metres) */
    spl_up up;             /* the axis that points up */
    double fps;            /* of the file's clips; 0 if it does not say */
    int32_t warning_count;
    char **warning; /* one line each, sanitised, for the log and for `info` */
};

/* Fills `instance`, first_vertex, first_joint and the totals from nodes, meshes and skins; the readers' last step.
 * SUPPLE_ERROR_INPUT if totals do not fit 32 bits. */
supple_result spl_scene_finish(supple_scene *scene, supple_error *error);

/* Adds a warning line (printf style). Running out of memory is silent: a warning is never worth failing for. */
void spl_scene_warn(supple_scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The faces to write: a primitive's polygons where they are known, else its triangles. */
int32_t spl_face_count(const spl_primitive *p);
int64_t spl_face_corners(const spl_primitive *p); /* of all faces */

/* The vertices of a face, and how many; the k-th of them with the face turned round where `turned`. */
const int32_t *spl_face(const spl_primitive *p, int32_t face, int32_t *count);
int32_t spl_face_corner(const spl_primitive *p, int32_t face, int32_t k, bool turned);

/* Which of its instance's points a vertex of a mesh's primitive is; `first` is the primitive's first vertex. */
int32_t spl_point_of(const spl_mesh *mesh, const spl_primitive *p, int32_t first, int32_t vertex);

/* Metres a unit of the scene's space. */
double spl_scene_unit(const supple_scene *scene);

/* Turns vectors of the scene's space, 3 floats each, to y up, in place: for pictures. */
void spl_scene_upright(const supple_scene *scene, float *rows, size_t count);

/* Name for messages and file names: the node's, else the mesh's, else "mesh"; not sanitised for paths. */
const char *spl_instance_name(const supple_scene *scene, int32_t instance);

#endif
