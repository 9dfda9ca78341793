/* Baked textures as files: what belongs to the texture, the folder, one picture a frame. */
#include "core/error.h"
#include "core/file.h"
#include "core/memory.h"
#include "scene/parts.h"
#include "scene/writers/writer.h"
#include "slide/bake.h"

#include <errno.h>
#include <string.h>
#include <supple/tools.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_LIMIT = 4096 };
static const size_t TEXTURE_BYTES = (size_t)1 << 30;

struct supple_bake {
    supple_allocator allocator;
    supple_config config;
    spl_pool *pool;
    spl_slide_bake bake;
    char *texture, *folder, *name;
    supple_bake_info info;
    bool made; /* the folder, and nothing is in it yet */
};

/* ---- which parts the texture belongs to -------------------------------------------------------------------------- */

typedef struct wanted {
    const char *pattern; /* or NULL */
    int32_t image;       /* the scene's own copy of the texture, or -1 */
} wanted;

static bool belongs(const void *context, const supple_scene *scene, int32_t instance, const spl_primitive *p)
{
    const wanted *w = context;
    const spl_material *m = p->material >= 0 ? &scene->material[p->material] : NULL;
    if (w->pattern)
        return spl_name_matches(w->pattern, spl_instance_name(scene, instance)) ||
               spl_name_matches(w->pattern, scene->mesh[scene->instance[instance].mesh].name) ||
               (m && spl_name_matches(w->pattern, m->name));
    return w->image < 0 || (m && m->base_color_image == w->image);
}

/* The image of the scene that has the very bytes, and that some material uses; -1 if none has. */
static int32_t same_image(const supple_scene *scene, const uint8_t *data, size_t size)
{
    for (int32_t m = 0; m < scene->material_count; m++) {
        int32_t i = scene->material[m].base_color_image;
        if (i < 0 || i >= scene->image_count || scene->image[i].size != size || !scene->image[i].data) continue;
        if (memcmp(scene->image[i].data, data, size) == 0) return i;
    }
    return -1;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/* The texture's name without folder and ending, fit for file names. */
static char *name_of(const char *path, const supple_allocator *a)
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path, *dot = strrchr(from, '.');
    char *stem = spl_strndup(a, from, dot && dot != from ? (size_t)(dot - from) : strlen(from));
    char *name = stem ? spl_safe_name(stem, "texture", a) : NULL;
    spl_free(a, stem);
    return name;
}

static supple_result read_texture(supple_bake *b, const supple_scene *scene, const supple_bake_config *bc,
                                  supple_error *error)
{
    uint8_t *data = NULL;
    size_t size = 0;
    spl_pixels pixels = {0};
    supple_error why = {0};
    supple_result r = spl_file_read(bc->texture, TEXTURE_BYTES, &b->allocator, &data, &size, error);
    if (r != SUPPLE_OK) return r;
    wanted w = {bc->part, bc->part ? -1 : same_image(scene, data, size)};
    r = spl_image_decode(data, size, &b->allocator, &pixels, &why);
    spl_free(&b->allocator, data);
    if (r == SUPPLE_ERROR_MEMORY) return spl_fail_memory(error, "a texture to bake");
    if (r != SUPPLE_OK) return spl_fail(error, r, "%.160s: %s", bc->texture, why.message);
    bool normals = bc->kind == SUPPLE_BAKE_NORMAL;
    return spl_slide_bake_init(&b->bake, scene, &pixels, normals, belongs, &w, b->pool, &b->config, error);
}

static supple_result make_folder(const char *path, bool *made, supple_error *error)
{
    struct stat st;
    int reason = 0;
    *made = mkdir(path, 0777) == 0;
    if (!*made) reason = errno;
    if (reason == EEXIST) reason = stat(path, &st) != 0 ? errno : !S_ISDIR(st.st_mode) ? ENOTDIR : 0;
    if (!reason && access(path, W_OK | X_OK) != 0) reason = errno;
    if (!reason) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%.200s: textures cannot be written there: %s", path, strerror(reason));
}

static void tell(supple_bake *b)
{
    const spl_slide_bake_layout *l = &b->bake.layout;
    b->info = (supple_bake_info){l->width,           l->height,           l->triangle_count,
                                 l->island_count,    (int64_t)l->covered, (int64_t)l->gutter,
                                 (int64_t)l->shared, l->skipped};
    spl_log(&b->config, SUPPLE_LOG_INFO, "bake: %s, %d x %d, %d triangles in %d island%s on %.1f%% of it", b->texture,
            l->width, l->height, l->triangle_count, l->island_count, l->island_count == 1 ? "" : "s",
            100.0 * (double)l->covered / ((double)l->width * l->height));
    if (l->shared) /* a sliver here and there is nobody's trouble */
        spl_log(&b->config, l->shared > l->covered / 100 ? SUPPLE_LOG_WARNING : SUPPLE_LOG_INFO,
                "bake: %.1f%% of the covered texels belong to several triangles (mirrored or tiled charts); the first "
                "in the file's order is shown",
                100.0 * (double)l->shared / (double)l->covered);
    if (l->skipped)
        spl_log(&b->config, SUPPLE_LOG_WARNING,
                "bake: %d triangles that span very many copies of the texture are left out", l->skipped);
}

static supple_result fill(supple_bake *b, const supple_scene *scene, const supple_bake_config *bc, supple_error *error)
{
    b->texture = spl_strdup(&b->allocator, bc->texture);
    b->folder = spl_strdup(&b->allocator, bc->folder);
    b->name = name_of(bc->texture, &b->allocator);
    if (!b->texture || !b->folder || !b->name) return spl_fail_memory(error, "a texture to bake");
    supple_result r = spl_pool_create(&b->config, &b->pool, error);
    if (r == SUPPLE_OK) r = read_texture(b, scene, bc, error);
    if (r == SUPPLE_OK) r = make_folder(b->folder, &b->made, error);
    if (r == SUPPLE_OK) tell(b);
    return r;
}

supple_result supple_bake_create(const supple_scene *scene, const supple_bake_config *bc, const supple_config *config,
                                 supple_bake **out, supple_error *error)
{
    *out = NULL;
    supple_result r = spl_config_check(config, error);
    if (r != SUPPLE_OK) return r;
    if (!bc->texture || !*bc->texture || !bc->folder || !*bc->folder)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "bake: needs a texture and a folder to write to");
    supple_allocator a = spl_allocator_of(config);
    supple_bake *b = spl_new(&a, 1, sizeof *b);
    if (!b) return spl_fail_memory(error, "a texture to bake");
    b->allocator = a;
    b->config = config ? *config : supple_config_default();
    r = fill(b, scene, bc, error);
    if (r == SUPPLE_OK)
        *out = b;
    else
        supple_bake_destroy(b);
    return r;
}

void supple_bake_destroy(supple_bake *b)
{
    if (!b) return;
    supple_allocator a = b->allocator;
    if (b->made) rmdir(b->folder);
    spl_slide_bake_release(&b->bake);
    spl_pool_destroy(b->pool);
    spl_free(&a, b->texture);
    spl_free(&a, b->folder);
    spl_free(&a, b->name);
    spl_free(&a, b);
}

const supple_bake_info *supple_bake_get_info(const supple_bake *b)
{
    return &b->info;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/* FOLDER/NAME.0007.png, or FOLDER/NAME.CLIP.0007.png. */
static supple_result path_of(const supple_bake *b, const char *clip, int32_t number, char path[PATH_LIMIT],
                             supple_error *error)
{
    char *safe = clip ? spl_safe_name(clip, "clip", &b->allocator) : NULL;
    if (clip && !safe) return spl_fail_memory(error, "a path");
    int length = snprintf(path, PATH_LIMIT, "%s/%s%s%s.%04d.png", b->folder, b->name, safe ? "." : "", safe ? safe : "",
                          (int)number);
    spl_free(&b->allocator, safe);
    if (length < 0 || length >= PATH_LIMIT)
        return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%.100s: the path is too long", b->folder);
    const supple_scene *scene = b->bake.scene;
    bool same = spl_file_same(path, b->texture) || (scene->from_file && spl_file_same(path, scene->path));
    for (int32_t i = 0; i < scene->file_count && !same; i++) same = spl_file_same(path, scene->file[i]);
    if (!same) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%.200s: would overwrite the input; choose another folder", path);
}

static supple_result check_frame(const supple_bake *b, const supple_frame *frame, int32_t number, supple_error *error)
{
    const supple_slide_frame *s = frame->slide;
    size_t corners = 3 * (size_t)b->bake.scene->triangle_count;
    if (!frame->position || !s || !s->corner_uv || s->corners != corners)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "bake: frame %d has no positions or not %zu slid corners",
                        (int)number, corners);
    float sum = 0; /* x * 0 is 0 for finite x and NaN otherwise */
    for (size_t i = 0; i < 2 * corners; i++) sum += s->corner_uv[i] * 0.0f;
    if (sum == 0) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_SOLVE, "bake: frame %d has skin that is not numbers", (int)number);
}

supple_result supple_bake_frame(supple_bake *b, const supple_frame *frame, const char *clip, int32_t number,
                                supple_error *error)
{
    char path[PATH_LIMIT];
    spl_output output = {0};
    uint8_t *data = NULL;
    size_t size = 0;
    supple_result r = check_frame(b, frame, number, error);
    if (r == SUPPLE_OK) r = path_of(b, clip, number, path, error);
    if (r != SUPPLE_OK) return r;
    spl_slide_frame slide = {frame->slide->corner_uv, NULL, frame->slide->corners, 0};
    spl_slide_bake_frame(&b->bake, frame->position, &slide);
    r = spl_image_encode_png(&b->bake.output, &b->allocator, &data, &size, error);
    if (r == SUPPLE_OK) r = spl_output_open(&output, path, &b->allocator, error);
    if (r == SUPPLE_OK) r = spl_output_bytes(&output, data, size, error);
    if (r == SUPPLE_OK) r = spl_output_commit(&output, error);
    if (r == SUPPLE_OK) b->made = false; /* it stays */
    spl_output_discard(&output);
    spl_free(&b->allocator, data);
    return r;
}

supple_result spl_bake_through(supple_bake *b, const spl_atlas *atlas, const int32_t *net_of, const float *atlas_uv,
                               supple_error *error)
{
    return spl_slide_bake_through(&b->bake, atlas, net_of, atlas_uv, error);
}
