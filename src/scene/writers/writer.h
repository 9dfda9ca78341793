/* What every output format implements: a stream of frames into a file that appears whole or not at all. */
#ifndef SPL_SCENE_WRITERS_WRITER_H
#define SPL_SCENE_WRITERS_WRITER_H

#include "core/file.h"
#include "scene/scene.h"

#include <supple/tools.h>

typedef struct spl_format spl_format;

/* The part common to all writers; a format's own state begins with it. */
struct supple_writer {
    const spl_format *format;
    supple_allocator allocator;
    supple_config config;
    const supple_scene *scene;
    char *path;
    supple_range *ranges; /* a copy of the plan's */
    int32_t range_count;
    int32_t frame_total, frames_done;
    double fps, glb_error;
    bool keep_rig;
    bool slide;         /* frames bring texture coordinates that slide */
    bool slide_texture; /* a .glb or .gltf has them as a texture beside it */
    supple_show show;
    float *points; /* room for a frame in cache order; NULL where that is the output order */
    bool broken;   /* a frame failed: what was written is not whole and never will be */
};

struct spl_format {
    const char *ending;  /* with the dot, lower case */
    const char *summary; /* one clause for --help and docs */
    bool takes_ranges;   /* several clips in one file */
    bool takes_slide;    /* shows skin that slides */
    size_t state_size;   /* of the struct that begins with supple_writer */
    /* The common part is filled already; the rest is zero. On failure the caller calls release. */
    supple_result (*open)(supple_writer *writer, supple_error *error);
    supple_result (*frame)(supple_writer *writer, const supple_frame *frame, supple_error *error);
    supple_result (*close)(supple_writer *writer, supple_error *error); /* commit all files */
    void (*release)(supple_writer *writer); /* discard what is not committed, free what open made; must accept any
                                               partly opened state */
};

/* The format of a path by its ending, upper or lower case; NULL if none of them. */
const spl_format *spl_format_find(const spl_format *const *formats, int count, const char *path);

/* supple_writer_open over a table of formats. The plan is checked here: a sane frame rate, ranges of existing clips,
 * one range only where the format does not take more. */
supple_result spl_writer_open_with(const spl_format *const *formats, int count, const supple_scene *scene,
                                   const char *path, const supple_plan *plan, const supple_config *config,
                                   supple_writer **out, supple_error *error);

/* ---- for the formats -------------------------------------------------------------------------------------------- */

/* SUPPLE_ERROR_ARGUMENT if a path is one of the files that the scene was read from. */
supple_result spl_writer_guard(const supple_writer *writer, const char *path, supple_error *error);

/* spl_output_open behind the guard: every file of an output is opened through it. */
supple_result spl_writer_output(const supple_writer *writer, const char *path, spl_output *output, supple_error *error);

/* An output without a name, for frames that are read back at the end: unlinked beside the writer's path, it is gone
 * whatever happens to the process. */
supple_result spl_writer_spool(const supple_writer *writer, spl_output *spool, supple_error *error);

/* Commits all outputs or none: where one fails, those that already had their names are removed again. */
supple_result spl_outputs_commit(spl_output *outputs, int32_t count, const supple_allocator *a, supple_error *error);

/* The writer's path with a part before its ending, "out.PART.pc2", or (part NULL) another ending, "out.bin"; NULL if
 * memory is out. `ending` NULL keeps the path's own. To be freed with the writer's allocator. */
char *spl_writer_sibling(const supple_writer *writer, const char *part, const char *ending);

/* A frame's positions in cache order (spl_instance.first_point): they themselves, or gathered into the writer's room.
 */
const float *spl_writer_points(supple_writer *writer, const float *position);

/* Floats as IEEE 754 in the byte order asked for, whatever the machine's. */
supple_result spl_output_floats(spl_output *output, const float *values, size_t count, bool big_endian,
                                supple_error *error);
void spl_put_u32(uint8_t out[4], uint32_t value, bool big_endian);
void spl_put_f32(uint8_t out[4], float value, bool big_endian);

/* One name per mesh instance, fit for a part of a file's name or one word of a text format, all different also where
 * case does not count. NULL if memory is out. Freed by spl_names_free. */
char **spl_instance_names(const supple_scene *scene, const supple_allocator *a);
void spl_names_free(char **names, int32_t count, const supple_allocator *a);

/* The same as words of letters, digits and underscores that do not begin with a digit, none of them `reserved`; one
 * such word per material; one name made such a word. */
char **spl_instance_identifiers(const supple_scene *scene, const char *reserved, const supple_allocator *a);
char **spl_material_identifiers(const supple_scene *scene, const supple_allocator *a);
char *spl_identifier(const char *name, const char *fallback, const supple_allocator *a);

/* Whether a mesh has triangles and the file gives all of them normals. */
bool spl_mesh_has_normals(const spl_mesh *mesh);

/* Whether each mesh instance is turned inside out by the pose of the first frame: its triangles wind the other way
 * round in world space. NULL if memory is out. */
bool *spl_writer_mirrored(const supple_writer *writer);

/* A copy of a name from a file without what can mean something in a path or to a shell: separators, control characters,
 * spaces, leading and repeated dots. At most 64 bytes; `fallback` where nothing is left. NULL if memory is out. */
char *spl_safe_name(const char *name, const char *fallback, const supple_allocator *a);

extern const spl_format spl_format_glb, spl_format_vrm, spl_format_gltf, spl_format_npy, spl_format_pc2, spl_format_mdd,
    spl_format_obj, spl_format_abc, spl_format_usda;

#endif
