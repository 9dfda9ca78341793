/* Supple: what the command-line tool needs beyond the library's core: outputs, built-in characters, inspection.
 * UNSTABLE: may change with any version. */
#ifndef SUPPLE_TOOLS_H
#define SUPPLE_TOOLS_H

#include <supple/body.h>
#include <supple/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- words ------------------------------------------------------------------------------------------------------ */

/* Replaces what does not belong on a terminal or into JSON by '?', in place: control characters, those that turn the
 * direction of a line, and broken UTF-8. Names of files may hold any of them. */
SUPPLE_API void supple_text_clean(char *text);

/* ---- outputs ---------------------------------------------------------------------------------------------------- */

/* An output file that is being written, frame by frame. It appears under its name when it is closed, whole. */
typedef struct supple_writer supple_writer;

/* A run of frames of one clip that goes into an output. */
typedef struct supple_range {
    int32_t clip;        /* -1: the rest pose */
    int32_t first_frame; /* of the clip; frame k is at k / fps seconds */
    int32_t frame_count; /* at least 1 */
} supple_range;

/* What pictures and films paint on a character. */
typedef enum supple_show {
    SUPPLE_SHOW_MATERIAL, /* its materials, the textures slid where skin slides */
    SUPPLE_SHOW_STRETCH,  /* how much the skin is stretched, as a heat map with its scale */
    SUPPLE_SHOW_TRUST,    /* how much of the flesh is trusted (docs/trust.md), likewise */
} supple_show;

/* Everything an output must know before its first frame. */
typedef struct supple_plan {
    const supple_range *ranges; /* copied */
    int32_t range_count;        /* more than one only where supple_output_takes_ranges() */
    double fps;                 /* frames per second */
    double glb_error; /* how far a vertex in a .glb or .gltf may be off, of the diagonal of all frames: morph targets
                         are then principal components where that is smaller; below 1e-6: exact, at most 255 frames */
    bool slide;       /* every frame brings a supple_slide_frame; else none does */
    supple_show show; /* what pictures and films show of it */
    bool keep_rig;    /* nodes and channels of the skeleton stay in a .glb or .gltf, where nothing uses them any more */
    bool slide_texture; /* a .glb or .gltf has the slide as a texture beside it, not as components */
} supple_plan;

/* Skin that has slid (docs/slide-output.md). A corner is a position in the scene's list of triangles: corner 3 t + k is
 * corner k of triangle t, mesh instances in node order, each mesh's primitives in file order. */
typedef struct supple_slide_frame {
    const float *corner_uv; /* 2 a corner: the texture coordinate that the skin has there now, v down as in glTF */
    const float *stretch;   /* 1 a vertex: area of the skin now over its area at rest, 1 = none; or NULL: 1 */
    size_t corners;         /* 3 x supple_scene_triangle_count */
    size_t vertices;        /* supple_scene_vertex_count */
} supple_slide_frame;

/* Whether any mesh has texture coordinates: without, nothing shows skin that slides but its stretch. */
SUPPLE_API bool supple_scene_has_coordinates(const supple_scene *scene);

/* The sliding skin's part of a simulation's last step, valid until the next one; false where no skin slides. */
SUPPLE_API bool supple_sim_slide(const supple_sim *sim, supple_slide_frame *out);

/* One deformed frame. Arrays are in the scene's output order, world space. */
typedef struct supple_frame {
    int32_t range;                   /* index into the plan's ranges */
    int32_t index;                   /* 0 .. frame_count-1 within the range */
    const float *position;           /* 3 a vertex */
    const float *normal;             /* 3 a vertex */
    const float *tangent;            /* 4 a vertex (rubbish where the input has none) */
    const supple_slide_frame *slide; /* where the plan says so, else NULL */
    const float *trust;              /* 1 a vertex, from 0 to 1, where trust is shown; NULL: 1 */
} supple_frame;

/* Whether a path ends in a format that can be written; fills `error` with the list of formats if not. */
SUPPLE_API supple_result supple_output_check(const char *path, supple_error *error);

/* Whether the format of this path holds several clips in one file. */
SUPPLE_API bool supple_output_takes_ranges(const char *path);

/* Whether the format of this path shows skin that slides. */
SUPPLE_API bool supple_output_takes_slide(const char *path);

/* A path with a name set before its ending ("out.glb", "walk" -> "out.walk.glb"), the name made safe for a file name.
 * False if it does not fit. */
SUPPLE_API bool supple_output_variant(const char *path, const char *name, char *out, size_t size);

/* One clause about the index-th output format, with its ending; NULL if out of range. For --help. */
SUPPLE_API const char *supple_output_ending(int32_t index);
SUPPLE_API const char *supple_output_summary(int32_t index);

/* Opens an output by its path's ending. Refuses a path that is one of the scene's own files. */
SUPPLE_API supple_result supple_writer_open(const supple_scene *scene, const char *path, const supple_plan *plan,
                                            const supple_config *config, supple_writer **out, supple_error *error);

/* Adds the next frame; frames come in order, range after range. */
SUPPLE_API supple_result supple_writer_frame(supple_writer *writer, const supple_frame *frame, supple_error *error);

/* Finishes the file, puts it under its name and frees the writer, also on failure. All frames must have been given. */
SUPPLE_API supple_result supple_writer_close(supple_writer *writer, supple_error *error);

/* Frees the writer and leaves nothing behind. Accepts NULL. */
SUPPLE_API void supple_writer_abort(supple_writer *writer);

/* ---- textures that slide ---------------------------------------------------------------------------------------- */

/* Bakes slid skin into a picture a frame, by the original texture coordinates (docs/slide-output.md). */
typedef struct supple_bake supple_bake;

/* What a texture holds. */
typedef enum supple_bake_kind {
    SUPPLE_BAKE_COLOUR, /* colours, carried along */
    SUPPLE_BAKE_NORMAL, /* tangent-space normals, x along u and y against v (glTF, OpenGL), turned with the skin */
} supple_bake_kind;

/* What to bake. Zeroed fields are defaults. */
typedef struct supple_bake_config {
    const char *texture;   /* .png or .jpg */
    const char *folder;    /* made where it is not there; files are FOLDER/NAME.0007.png, NAME being the texture's */
    supple_bake_kind kind; /* what the texture holds */
    const char *part; /* meshes or materials that the texture belongs to, by name or pattern; NULL: those whose material
                         has the very image, else all that have texture coordinates */
} supple_bake_config;

/* What a bake works on. */
typedef struct supple_bake_info {
    int32_t width, height;      /* of the pictures, pixels */
    int32_t triangles, islands; /* that the texture covers, and the pieces they form in it */
    int64_t covered, gutter;    /* texels that a triangle covers, and that were filled around those */
    int64_t shared;   /* of the covered: by several triangles, the first of which is shown (mirrored or tiled charts) */
    int32_t left_out; /* triangles over more tiles than are looked at */
} supple_bake_info;

/* SUPPLE_ERROR_INPUT for a texture that cannot be read or belongs to nothing, SUPPLE_ERROR_OUTPUT for a folder that
 * cannot be written to. The scene must outlive the bake. */
SUPPLE_API supple_result supple_bake_create(const supple_scene *scene, const supple_bake_config *bake,
                                            const supple_config *config, supple_bake **out, supple_error *error);

/* Writes the picture of one frame, whole or not at all: number `number`, of a clip that is named in the file's name too
 * unless it is NULL. The frame needs positions and slide. */
SUPPLE_API supple_result supple_bake_frame(supple_bake *bake, const supple_frame *frame, const char *clip,
                                           int32_t number, supple_error *error);

/* What a bake works on; valid while it lives. */
SUPPLE_API const supple_bake_info *supple_bake_get_info(const supple_bake *bake);

/* Frees a bake. Accepts NULL. */
SUPPLE_API void supple_bake_destroy(supple_bake *bake);

/* ---- an atlas that skin can slide in ----------------------------------------------------------------------------- */

/* Charts of a texture end at seams; skin that slides over one needs what lies behind it. An atlas takes the frames of a
 * run, extends every chart as far as the skin slid in them, and gives the frames back for a scene with new images and
 * texture coordinates (docs/slide-output.md). Frames wait in a temporary file. */
typedef struct supple_atlas supple_atlas;

/* What an atlas is. */
typedef struct supple_atlas_info {
    int32_t materials, images; /* that were made anew */
    int32_t patches;           /* charts of the file, cut where an extension would lie on itself */
    int32_t width, height;     /* of the largest image, pixels */
    int32_t added;             /* vertices that stand on cuts */
    double scale;              /* pixels by the file's pixels, below 1 where the limit was hit */
    double reach;              /* the farthest that skin slid, metres */
    int32_t clashes, beyond;   /* parts whose pixels show something else; corners of frames that were not found */
} supple_atlas_info;

/* For the slide of a simulation. *out is NULL, and all is well, where no texture slides (the log says why). `limit` is
 * the longest side of an image, pixels; 0: 8192. The simulation must outlive the atlas. */
SUPPLE_API supple_result supple_atlas_create(const supple_sim *sim, int32_t limit, const supple_config *config,
                                             supple_atlas **out, supple_error *error);

/* Keeps a frame with the skin as it is in the simulation now. Frames come in order, range after range. */
SUPPLE_API supple_result supple_atlas_add(supple_atlas *atlas, const supple_frame *frame, supple_error *error);

/* Makes the atlas; no more frames come. */
SUPPLE_API supple_result supple_atlas_finish(supple_atlas *atlas, supple_error *error);

/* The character with the new images and coordinates; belongs to the atlas. */
SUPPLE_API const supple_scene *supple_atlas_scene(const supple_atlas *atlas);

/* The next frame, in the order in which they were added, for that scene; valid until the next call. False at the end
 * or where it cannot be read back (`error`). */
SUPPLE_API bool supple_atlas_next(supple_atlas *atlas, supple_frame *out, supple_error *error);

/* supple_bake_frame of the frame that supple_atlas_next gave last: a texel shows the place of the skin that is there,
 * over seams too. The bake is of the simulation's scene, and is not used after the atlas is gone. */
SUPPLE_API supple_result supple_atlas_bake(supple_atlas *atlas, supple_bake *bake, const char *clip, int32_t number,
                                           supple_error *error);

/* What an atlas is, once it is finished; valid while it lives. */
SUPPLE_API const supple_atlas_info *supple_atlas_get_info(const supple_atlas *atlas);

/* Frees an atlas with its scene. Accepts NULL. */
SUPPLE_API void supple_atlas_destroy(supple_atlas *atlas);

/* ---- a simulation's arrays --------------------------------------------------------------------------------------- */

/* Writes what a simulation of a body computes with as .npy arrays into an existing folder (docs/command-line.md):
 * frame -1: what is constant; else what the last step left, numbered so. */
SUPPLE_API supple_result supple_sim_dump(const supple_sim *sim, const char *folder, int32_t frame, supple_error *error);

/* ---- built-in characters ---------------------------------------------------------------------------------------- */

/* Number of built-in characters, their names and one line about each (NULL if out of range). */
SUPPLE_API int32_t supple_demo_count(void);
SUPPLE_API const char *supple_demo_name(int32_t index);
SUPPLE_API const char *supple_demo_summary(int32_t index);

/* Makes a built-in character as a .glb in memory, to be freed with supple_bytes_free and the same config. `detail`
 * scales the number of vertices along each edge, 1 being the normal size. */
SUPPLE_API supple_result supple_demo_make(const char *name, double detail, const supple_config *config, void **glb,
                                          size_t *size, supple_error *error);

/* Frees bytes made by supple_demo_make. Accepts NULL. */
SUPPLE_API void supple_bytes_free(void *bytes, const supple_config *config);

/* Writes bytes to a file that appears whole or not at all. */
SUPPLE_API supple_result supple_bytes_write(const char *path, const void *bytes, size_t size, supple_error *error);

/* ---- inspection ------------------------------------------------------------------------------------------------- */

/* A part: one primitive of one mesh instance, in output order. Strings are valid while the report lives. */
typedef struct supple_part {
    const char *name;                                              /* mesh (or node) name */
    const char *material;                                          /* material name or "" */
    supple_role role;                                              /* that most of it plays */
    double share[5];                                               /* of its area, by supple_role */
    double area;                                                   /* in the bind pose, its mesh's unit squared */
    const char *why;                                               /* one clause: the reason for the role */
    int32_t vertices, welded_vertices, triangles;                  /* in the file; with equal positions counted once */
    int32_t components, closed_components;                         /* pieces; those without a border */
    int32_t border_edges, nonmanifold_edges, degenerate_triangles; /* what may be wrong with it */
    int32_t influences;                                            /* largest number at one vertex; 0 if not skinned */
    int32_t unweighted;                                            /* vertices without a weight in the file */
    int32_t unnormalised;                  /* vertices whose weights did not sum to 1 in the file */
    double weight_sum_min, weight_sum_max; /* in the file; NAN if not skinned */
} supple_part;

/* A bone segment, by the conventions of docs/conventions.md. World space of the bind pose. */
typedef struct supple_bone {
    const char *name;        /* of its joint */
    int32_t joint;           /* index as in supple_scene_joint_name */
    int32_t parent;          /* index into the bones, -1 for a root */
    double head[3], tail[3]; /* its two ends */
} supple_bone;

/* Something a person should know about a file. */
typedef struct supple_finding {
    bool warning;     /* else for information */
    const char *text; /* one sentence */
} supple_finding;

/* What is in a file and what is wrong with it. */
typedef struct supple_report {
    int32_t part_count, bone_count, finding_count; /* lengths of the three lists */
    const supple_part *parts;                      /* in output order */
    const supple_bone *bones;                      /* by their joints */
    const supple_finding *findings;                /* what a person should know */
    double size[3];                                /* extent of the rest pose, in the file's unit */
    double size_m, metre;                          /* the diagonal and the world's unit for the solver, metres */
    double file_m;                                 /* that diagonal, if the file's unit is true */
    const char *size_why;                          /* what it is taken as, and why */
    double flesh_share, follow_share;              /* of the skinned area */
    const char *auto_method, *auto_why;            /* what `auto` would choose, and the reason */
} supple_report;

/* Looks a scene over. The report is freed with supple_report_destroy and must not outlive the scene. */
SUPPLE_API supple_result supple_scene_inspect(const supple_scene *scene, const supple_config *config,
                                              supple_report **out, supple_error *error);

/* Frees a report. Accepts NULL. */
SUPPLE_API void supple_report_destroy(supple_report *report);

/* ---- a character on a page --------------------------------------------------------------------------------------- */

/* One material's run of triangles. Strings and images are the scene's. */
typedef struct supple_display_group {
    const char *name;                   /* mesh (or node) name */
    int32_t first, count;               /* triangles */
    float color[4];                     /* linear light, alpha last; what the image is multiplied by */
    bool double_sided, masked, blended; /* as the material says */
    float alpha_cutoff;                 /* where masked */
    const void *image;                  /* of the base colour, as the file has it: PNG or JPEG; NULL: none */
    size_t image_size;                  /* bytes of it */
} supple_display_group;

/* The visual mesh for a viewer: vertices that have the same place, texture coordinate and weights are one. A "point" is
 * a vertex as caches (.npy, .pc2, .mdd) have it. */
typedef struct supple_display {
    int32_t vertex_count, triangle_count, group_count, point_count; /* lengths of what follows; points of a frame */
    const int32_t *point;                                           /* vertex_count: the point that a vertex follows */
    const uint32_t *index;                                          /* 3 a triangle */
    const float *uv;                                                /* 2 a vertex, v down; NULL where no part has any */
    const supple_display_group *groups;                             /* runs of triangles that look the same */
} supple_display;

/* Makes the mesh of a scene, which must outlive it. */
SUPPLE_API supple_result supple_display_create(const supple_scene *scene, const supple_config *config,
                                               supple_display **out, supple_error *error);

/* Frees a display. Accepts NULL. */
SUPPLE_API void supple_display_destroy(supple_display *display);

/* A frame for it: from point_count points in the scene's space to vertex_count vertices with y up, 3 floats each. */
SUPPLE_API void supple_display_place(const supple_display *display, const float *points, float *out);

/* Where a picture is taken from, y up: a ball around `target` fills it. Directions are unit and at right angles. */
typedef struct supple_camera {
    double target[3], back[3], up[3]; /* `back` points to the viewer */
    double radius;                    /* of that ball */
    double floor;                     /* height of a floor with a shadow on it; NAN: none */
} supple_camera;

/* Draws a scene's frames as strips of panels. */
typedef struct supple_picture supple_picture;

/* The scene must outlive it. */
SUPPLE_API supple_result supple_picture_create(const supple_scene *scene, const supple_config *config,
                                               supple_picture **out, supple_error *error);

/* Frees a picture. Accepts NULL. */
SUPPLE_API void supple_picture_destroy(supple_picture *picture);

/* Cameras that see whole frames (points, as above), from three quarters: one size for all, moved along where the
 * character travels. *aspect is height over width that suits them. */
SUPPLE_API void supple_picture_whole(supple_picture *picture, const float *const *points, int32_t count,
                                     supple_camera *cameras, double *aspect);

/* One panel of a strip. */
typedef struct supple_panel {
    const float *points;  /* 3 a point, the frame that it shows */
    supple_camera camera; /* from where */
    const char *label;    /* in its lower left corner, or NULL */
} supple_panel;

/* Draws panels of width x height pixels side by side as a PNG, to be freed with supple_bytes_free and the same config.
 * At most 8192 pixels a side. */
SUPPLE_API supple_result supple_picture_strip(supple_picture *picture, const supple_panel *panels, int32_t count,
                                              int32_t width, int32_t height, void **png, size_t *size,
                                              supple_error *error);

/* ---- joints that bend and twist --------------------------------------------------------------------------------- */

/* What a joint does at most in a run of frames: how far a bone is turned against its parent, the bind pose being 0,
 * taken apart into a bend (about an axis at right angles to the bone) and a twist (about the bone). */
typedef struct supple_bend {
    const char *name;    /* of the joint */
    int32_t joint;       /* index as in supple_scene_joint_name */
    double bend, twist;  /* largest in the run, degrees, 0 to 180 */
    int32_t bend_frame;  /* where, counted from the run's first */
    int32_t twist_frame; /* likewise */
    bool twists;         /* of the two, the twist is larger */
    double radius;       /* of the limb at the joint, in the bind pose */
} supple_bend;

/* The joints of a scene in one run of frames, those that show most first. */
typedef struct supple_bends supple_bends;

/* Looks at all frames of a range. A joint shows by its angle and by its size: angle x sqrt(radius). Left out are joints
 * that turn by less than 25 degrees or show less than a quarter of the first, joints close to one that is listed
 * already, and the other side's twin of one that is listed unless there is room: `most` are listed. The scene must
 * outlive them. */
SUPPLE_API supple_result supple_bends_create(const supple_scene *scene, const supple_range *range, double fps,
                                             int32_t most, const supple_config *config, supple_bends **out,
                                             supple_error *error);

/* Frees bends. Accepts NULL. */
SUPPLE_API void supple_bends_destroy(supple_bends *bends);

/* The index-th joint; NULL if there is none. */
SUPPLE_API const supple_bend *supple_bends_get(const supple_bends *bends, int32_t index);

/* Close-up cameras of a joint in some frames of the run, all the same relative to the bone above: along the axis of the
 * bend, or across a twisted bone, from the side where less stands in the way. `points` are those frames' (as of a
 * cache), or NULL. */
SUPPLE_API supple_result supple_bends_cameras(supple_bends *bends, int32_t index, const int32_t *frames, int32_t count,
                                              const float *const *points, supple_camera *cameras, supple_error *error);

/* ---- tetrahedra ------------------------------------------------------------------------------------------------- */

/* Whether a path ends as a file of tetrahedra does: .msh, .mesh or .vtk. */
SUPPLE_API bool supple_tets_known(const char *path);

/* Writes a body's tetrahedra, in body space (the bind pose in the file's unit), by the path's ending. */
SUPPLE_API supple_result supple_body_save(const supple_body *body, const char *path, bool binary,
                                          const supple_config *config, supple_error *error);

/* Draws a body as a PNG: its surface, cut open, bones and attachments, the visual mesh upsampled at rest. */
SUPPLE_API supple_result supple_body_picture(const supple_body *body, const char *path, const supple_config *config,
                                             supple_error *error);

/* ---- weights ---------------------------------------------------------------------------------------------------- */

/* How weights are made. */
typedef enum supple_weights_kind {
    SUPPLE_WEIGHTS_BBW,  /* bounded biharmonic weights on the tetrahedra */
    SUPPLE_WEIGHTS_HEAT, /* bone heat on the tetrahedra: quicker, less smooth */
    SUPPLE_WEIGHTS_OWN,  /* the file's own, carried into the tetrahedra and back */
} supple_weights_kind;

/* New weights for a character's skin. Constant once made. */
typedef struct supple_weights supple_weights;

/* What came of it. */
typedef struct supple_weights_info {
    int32_t changed, kept;      /* skinned vertices with new weights; with the file's own (rigid parts, eyes, teeth) */
    int32_t joints;             /* that have weight in the new skin */
    int32_t influences;         /* at a vertex at most */
    double mean_influences;     /* over the changed vertices */
    double largest_cut;         /* largest sum of weights at a vertex that the limit of influences cut off */
    int32_t local_maxima;       /* on the tetrahedra, that no held vertex explains */
    int32_t bones, unknowns;    /* that hold flesh; free vertices of the tetrahedra */
    int32_t rounds, unfinished; /* of the bounded programme; bones that did not converge */
    double residual;            /* of the bounded programme (docs/weights.md) */
    bool cached;                /* the tetrahedra's weights came from the cache */
    double ms_weights, ms_system, ms_factor, ms_start, ms_bounds, ms_skin; /* the first includes the next four */
} supple_weights_info;

/* Makes the weights of a body's scene; the body must outlive them. `influences` is 4 or 8. */
SUPPLE_API supple_result supple_weights_create(const supple_body *body, supple_weights_kind kind, int32_t influences,
                                               bool cache, const supple_config *config, supple_weights **out,
                                               supple_error *error);

/* Frees weights. Accepts NULL. */
SUPPLE_API void supple_weights_destroy(supple_weights *weights);

/* What came of making weights; valid while they live. */
SUPPLE_API const supple_weights_info *supple_weights_get_info(const supple_weights *weights);

/* Writes the scene as .glb or .gltf with the new weights in its skins and everything else carried through. */
SUPPLE_API supple_result supple_weights_save(const supple_weights *weights, const char *path,
                                             const supple_config *config, supple_error *error);

/* Draws the file's weights beside the new ones, one colour a joint. */
SUPPLE_API supple_result supple_weights_picture(const supple_weights *weights, const char *path,
                                                const supple_config *config, supple_error *error);

/* Reads tetrahedra, checks them and writes them in another format (output NULL: only checks). Fills the fields of
 * `info` that have a meaning for bare tetrahedra; the others are 0, or NAN. */
SUPPLE_API supple_result supple_tets_convert(const char *input, const char *output, bool binary,
                                             const supple_config *config, supple_body_info *info, supple_error *error);

#ifdef __cplusplus
}
#endif
#endif
