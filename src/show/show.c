#include "show/show.h"

#include "core/error.h"
#include "core/memory.h"

/* Finer levels than this do not show at the sizes we draw, and a large texture would cost more than the picture. */
enum { TEXTURE_SIDE = 2048 };

/* A clay grey for parts whose texture is missing or that have no material. */
static const float CLAY[4] = {0.50f, 0.48f, 0.46f, 1};

/* Decodes an image into its slot. Only memory running out is an error. */
static supple_result load_texture(spl_show *show, int32_t image, const supple_config *config, supple_error *error)
{
    const spl_image *source = &show->scene->image[image];
    spl_pixels pixels;
    supple_error why = {0};
    if (!source->data) return SUPPLE_OK; /* the reader has warned */
    supple_result r = spl_image_decode(source->data, source->size, &show->allocator, &pixels, &why);
    if (r == SUPPLE_ERROR_MEMORY) return spl_fail_memory(error, "a texture");
    if (r != SUPPLE_OK) {
        spl_log(config, SUPPLE_LOG_WARNING, "image %d: %s; drawn in grey", image, why.message);
        return SUPPLE_OK;
    }
    return spl_texture_build(&show->texture[image], &pixels, TEXTURE_SIDE, &show->allocator, error);
}

static supple_result load_textures(spl_show *show, const supple_config *config, supple_error *error)
{
    const supple_scene *scene = show->scene;
    bool *used = spl_new(&show->allocator, (size_t)scene->image_count, sizeof *used);
    show->texture = spl_new(&show->allocator, (size_t)scene->image_count, sizeof *show->texture);
    supple_result r = used && show->texture ? SUPPLE_OK : spl_fail_memory(error, "the textures");
    for (int32_t m = 0; r == SUPPLE_OK && m < scene->material_count; m++) {
        int32_t image = scene->material[m].base_color_image;
        if (image < 0 || image >= scene->image_count || used[image]) continue;
        used[image] = true;
        r = load_texture(show, image, config, error);
    }
    spl_free(&show->allocator, used);
    return r;
}

static void set_material(const spl_show *show, spl_draw *draw, const spl_material *m)
{
    for (int c = 0; c < 4; c++) draw->base_color[c] = m->base_color[c];
    draw->alpha = m->alpha;
    draw->alpha_cutoff = m->alpha_cutoff;
    if (m->base_color_image < 0 || m->base_color_image >= show->scene->image_count) return;
    draw->texture = &show->texture[m->base_color_image];
    if (draw->texture->level_count) return;
    for (int c = 0; c < 4; c++) draw->base_color[c] = CLAY[c];
    draw->texture = NULL;
}

static supple_result list_draws(spl_show *show, supple_error *error)
{
    const supple_scene *scene = show->scene;
    size_t count = 0;
    for (int32_t i = 0; i < scene->instance_count; i++)
        count += (size_t)scene->mesh[scene->instance[i].mesh].primitive_count;
    show->draw = spl_new(&show->allocator, count, sizeof *show->draw);
    show->first_vertex = spl_new(&show->allocator, count, sizeof *show->first_vertex);
    show->first_corner = spl_new(&show->allocator, count, sizeof *show->first_corner);
    size_t corner = 0;
    if (!show->draw || !show->first_vertex || !show->first_corner) return spl_fail_memory(error, "the parts to draw");
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        int32_t first = scene->instance[i].first_vertex;
        for (int32_t k = 0; k < mesh->primitive_count; k++) {
            const spl_primitive *p = &mesh->primitive[k];
            spl_draw *d = &show->draw[show->draw_count];
            *d = (spl_draw){.uv = p->uv, .triangle = p->triangle, .triangle_count = p->triangle_count};
            for (int c = 0; c < 4; c++) d->base_color[c] = CLAY[c];
            if (p->material >= 0 && p->material < scene->material_count)
                set_material(show, d, &scene->material[p->material]);
            show->first_corner[show->draw_count] = corner;
            show->first_vertex[show->draw_count++] = first;
            first += p->vertex_count;
            corner += 3 * (size_t)p->triangle_count;
        }
    }
    return SUPPLE_OK;
}

supple_result spl_show_init(spl_show *show, const supple_scene *scene, const supple_config *config, supple_error *error)
{
    *show = (spl_show){.allocator = spl_allocator_of(config), .scene = scene};
    supple_result r = spl_pool_create(config, &show->pool, error);
    if (r == SUPPLE_OK) r = load_textures(show, config, error);
    if (r == SUPPLE_OK) r = list_draws(show, error);
    if (r != SUPPLE_OK) spl_show_release(show);
    return r;
}

void spl_show_release(spl_show *show)
{
    if (!show->scene) return;
    for (int32_t i = 0; show->texture && i < show->scene->image_count; i++)
        spl_texture_free(&show->texture[i], &show->allocator);
    spl_free(&show->allocator, show->texture);
    spl_free(&show->allocator, show->draw);
    spl_free(&show->allocator, show->first_vertex);
    spl_free(&show->allocator, show->first_corner);
    spl_pool_destroy(show->pool);
    *show = (spl_show){0};
}

spl_box spl_show_box(const spl_show *show, const float *position)
{
    spl_box box = spl_box_empty();
    for (int32_t d = 0; d < show->draw_count; d++) {
        const float *p = position + 3 * (size_t)show->first_vertex[d];
        for (int64_t i = 0; i < 3 * (int64_t)show->draw[d].triangle_count; i++)
            spl_box_add(&box, spl_v3_from_float(p + 3 * (size_t)show->draw[d].triangle[i]));
    }
    return box;
}

void spl_show_frame(const spl_show *show, const float *position, spl_vec3 shift, spl_framing *framing)
{
    for (int32_t d = 0; d < show->draw_count; d++) {
        const float *p = position + 3 * (size_t)show->first_vertex[d];
        for (int64_t i = 0; i < 3 * (int64_t)show->draw[d].triangle_count; i++)
            spl_framing_add(framing, spl_sub(spl_v3_from_float(p + 3 * (size_t)show->draw[d].triangle[i]), shift));
    }
}

supple_result spl_show_render(spl_show *show, const float *position, const float *normal, const spl_camera *camera,
                              const spl_show_options *options, spl_pixels *out, supple_error *error)
{
    *out = (spl_pixels){0};
    spl_draw *draw = spl_new(&show->allocator, (size_t)show->draw_count, sizeof *draw);
    if (!draw) return spl_fail_memory(error, "a picture");
    for (int32_t i = 0; i < show->draw_count; i++) {
        size_t at = 3 * (size_t)show->first_vertex[i];
        draw[i] = show->draw[i];
        draw[i].position = position + at;
        draw[i].normal = normal ? normal + at : NULL;
        if (options->corner_uv && draw[i].uv) draw[i].corner_uv = options->corner_uv + 2 * show->first_corner[i];
        draw[i].color = options->vertex_color ? options->vertex_color + at : NULL;
        if (!options->flat && !options->vertex_color) continue;
        draw[i].texture = NULL;
        draw[i].alpha = SPL_ALPHA_OPAQUE;
        for (int c = 0; c < 3; c++) draw[i].base_color[c] = options->flat_color[c];
    }
    supple_result r = spl_show_draw(draw, show->draw_count, camera, options, show->pool, &show->allocator, out, error);
    spl_free(&show->allocator, draw);
    return r;
}
