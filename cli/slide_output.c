#include "slide_output.h"

#include <string.h>

static const char *const KEYS[] = {"slide.bake", "slide.bake-part", "show", "slide.atlas", "slide.glb"};
enum { KEY_BAKE, KEY_PART, KEY_SHOW, KEY_ATLAS, KEY_GLB, KEY_COUNT };

bool cli_slide_output_key(const char *key)
{
    for (int i = 0; i < KEY_COUNT; i++)
        if (strcmp(key, KEYS[i]) == 0) return true;
    return false;
}

/* The value of a key of --set, the last one if it is given more than once; NULL if it is not. */
static const char *setting(const cli_arguments *arguments, int key)
{
    const char *text, *value = NULL;
    size_t length = strlen(KEYS[key]);
    for (int i = 0; (text = cli_get(arguments, "--set", i)); i++)
        if (strncmp(text, KEYS[key], length) == 0 && text[length] == '=') value = text + length + 1;
    return value;
}

static int read_bake(const cli_arguments *arguments, cli_slide_output *out)
{
    const char *texture = cli_get(arguments, "--bake-texture", 0), *folder = cli_get(arguments, "--bake-dir", 0);
    const char *kind = setting(arguments, KEY_BAKE), *part = setting(arguments, KEY_PART);
    if (kind && strcmp(kind, "colour") != 0 && strcmp(kind, "color") != 0 && strcmp(kind, "normal") != 0)
        return cli_usage_error("--set slide.bake=%.40s: takes colour or normal", kind);
    if (part && !*part) return cli_usage_error("--set slide.bake-part=: takes the name of a mesh or a material");
    if (!texture && folder)
        return cli_usage_error("--bake-dir %.100s: goes with --bake-texture IN.png, the texture to bake", folder);
    if (!texture && (kind || part))
        return cli_usage_error("--set %s: goes with --bake-texture IN.png", KEYS[kind ? KEY_BAKE : KEY_PART]);
    if (!texture) return 0;
    if (!folder) return cli_usage_error("--bake-texture %.100s: goes with --bake-dir DIR, where to write", texture);
    if (!*texture || !*folder) return cli_usage_error("--bake-texture and --bake-dir: a name is empty");
    if (!out->slides) return cli_usage_error("--bake-texture %.100s: bakes skin that slides: add --slide", texture);
    out->bake = (supple_bake_config){.texture = texture, .folder = folder, .part = part};
    out->bake.kind = kind && strcmp(kind, "normal") == 0 ? SUPPLE_BAKE_NORMAL : SUPPLE_BAKE_COLOUR;
    return 0;
}

static int read_atlas(const cli_arguments *arguments, cli_slide_output *out)
{
    const char *text = setting(arguments, KEY_ATLAS);
    double limit = 0;
    out->atlas = out->slides && (!text || strcmp(text, "off") != 0);
    if (!text || strcmp(text, "on") == 0 || strcmp(text, "off") == 0) return 0;
    if (!cli_number(text, 64, 16384, &limit))
        return cli_usage_error("--set slide.atlas=%.40s: takes on, off, or texels a side from 64 to 16384", text);
    out->atlas_limit = (int)limit;
    return 0;
}

static int read_glb(const cli_arguments *arguments, cli_slide_output *out)
{
    const char *text = setting(arguments, KEY_GLB);
    if (!text) return 0;
    if (strcmp(text, "components") != 0 && strcmp(text, "texture") != 0)
        return cli_usage_error("--set slide.glb=%.40s: takes components or texture", text);
    if (!out->slides) return cli_usage_error("--set slide.glb=%.40s: writes skin that slides: add --slide", text);
    out->texture = strcmp(text, "texture") == 0;
    return 0;
}

int cli_slide_output_read(const cli_arguments *arguments, cli_slide_output *out)
{
    const char *show = setting(arguments, KEY_SHOW);
    *out = (cli_slide_output){.slides = cli_get(arguments, "--slide", 0) != NULL};
    if (show && strcmp(show, "material") != 0 && strcmp(show, "stretch") != 0 && strcmp(show, "trust") != 0)
        return cli_usage_error("--set show=%.40s: takes material, stretch or trust", show);
    if (show && strcmp(show, "trust") == 0) out->show = SUPPLE_SHOW_TRUST;
    if (show && strcmp(show, "stretch") == 0) out->show = SUPPLE_SHOW_STRETCH;
    if (out->show == SUPPLE_SHOW_STRETCH && !out->slides)
        return cli_usage_error("--set show=stretch: shows skin that slides: add --slide");
    int code = read_atlas(arguments, out);
    if (!code) code = read_glb(arguments, out);
    return code ? code : read_bake(arguments, out);
}

void cli_slide_output_check(const cli_slide_output *slide, const supple_scene *scene, const char *const *outputs,
                            int count, const supple_config *config)
{
    if (slide->slides && !supple_scene_has_coordinates(scene) && slide->show != SUPPLE_SHOW_STRETCH)
        config->log(
            NULL, SUPPLE_LOG_WARNING,
            "--slide: the character has no texture coordinates, so nothing that slides will be seen; unwrap it, "
            "or look at its stretch with --set show=stretch");
    bool shown = !slide->slides || slide->bake.texture;
    for (int i = 0; i < count && !shown; i++) shown = supple_output_takes_slide(outputs[i]);
    if (!shown)
        config->log(NULL, SUPPLE_LOG_WARNING,
                    "--slide: no output shows it; .usda, .abc, .obj, .glb, .png and .mp4 do, and --bake-texture for "
                    "the others");
}
