/* The table of output formats: `-o` by ending. */
#include "core/error.h"
#include "scene/writers/writer.h"
#include "show/sheet.h"

#include <stdio.h>
#include <string.h>

static const spl_format *const formats[] = {
    &spl_format_glb, &spl_format_gltf, &spl_format_npy, &spl_format_pc2,
    &spl_format_mdd, &spl_format_obj,  &spl_format_png,
};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };
