/* What is written of skin that slides: baked textures, and what pictures show of it. */
#ifndef SUPPLE_CLI_SLIDE_OUTPUT_H
#define SUPPLE_CLI_SLIDE_OUTPUT_H

#include "cli.h"

#define CLI_BAKE_OPTIONS                                                                                               \
    {"--bake-texture", "IN.png",                                                                                       \
     "with --slide: baked with slid skin, a picture a frame (--set slide.bake=normal: normals)", false},               \
    {                                                                                                                  \
        "--bake-dir", "DIR", "the folder for baked textures: DIR/IN.0000.png and so on", false                         \
    }

typedef struct cli_slide_output {
    bool slides;             /* --slide was given */
    supple_bake_config bake; /* texture NULL: nothing is baked */
    supple_show show;
    bool atlas;      /* textures are extended over their seams (--set slide.atlas=off: not) */
    int atlas_limit; /* texels a side; 0: the library's */
    bool texture;    /* a .glb has the slide as a texture beside it (--set slide.glb=texture) */
} cli_slide_output;

/* Reads --bake-texture, --bake-dir, --set slide.bake=, slide.bake-part=, slide.atlas=, slide.glb= and show=; an exit
 * code if they are wrong. */
int cli_slide_output_read(const cli_arguments *arguments, cli_slide_output *out);

/* Whether a key of --set is one of those, and so not the method's. */
bool cli_slide_output_key(const char *key);

/* Says so where the character or nothing that is written can show skin that slides. */
void cli_slide_output_check(const cli_slide_output *slide, const supple_scene *scene, const char *const *outputs,
                            int count, const supple_config *config);

#endif
