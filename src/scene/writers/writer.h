/* What every output format implements: a stream of frames into a file that appears whole or not at all. */
#ifndef SPL_SCENE_WRITERS_WRITER_H
#define SPL_SCENE_WRITERS_WRITER_H

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
    double fps;
};

struct spl_format {
    const char *ending;  /* with the dot, lower case */
    const char *summary; /* one clause for --help and docs */
    bool takes_ranges;   /* several clips in one file */
    size_t state_size;   /* of the struct that begins with supple_writer */
    /* The common part is filled already; the rest is zero. On failure the caller calls release. */
    supple_result (*open)(supple_writer *writer, supple_error *error);
    supple_result (*frame)(supple_writer *writer, const supple_frame *frame, supple_error *error);
    supple_result (*close)(supple_writer *writer, supple_error *error); /* commit all files */
    void (*release)(supple_writer *writer); /* discard what is not committed, free what open made; must accept any
                                               partly opened state */
};

extern const spl_format spl_format_glb, spl_format_gltf, spl_format_npy, spl_format_pc2, spl_format_mdd, spl_format_obj;

#endif
