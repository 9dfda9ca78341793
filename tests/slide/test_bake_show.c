/* The promise of a baked texture, kept on a whole character: drawn with the original coordinates it looks as the slid
 * coordinates make the original texture look. */
#include "core/memory.h"
#include "scene/image.h"
#include "scene/scene.h"
#include "show/show.h"
#include "slide/bake.h"
#include "test.h"

#include <supple/supple.h>

static bool every_part(const void *context, const supple_scene *scene, int32_t instance, const spl_primitive *p)
{
    (void)context, (void)scene, (void)instance, (void)p;
    return true;
}

/* Waves of `amplitude` over the texture: some texels, less than what lies between islands. */
static float *waves(const supple_scene *scene, double amplitude)
{
    const spl_primitive *p = &scene->mesh[0].primitive[0];
    float *uv = calloc(6 * (size_t)p->triangle_count, sizeof *uv);
    for (int32_t c = 0; uv && c < 3 * p->triangle_count; c++) {
        const float *own = p->uv + 2 * (size_t)p->triangle[c];
        uv[2 * c] = own[0] + (float)(amplitude * sin(20 * (double)own[1]));
        uv[2 * c + 1] = own[1] + (float)(amplitude * cos(15 * (double)own[0]));
    }
    return uv;
}

enum { WIDTH = 300, HEIGHT = 400 };

static spl_pixels draw(spl_show *show, const float *position, const float *corner_uv)
{
    spl_show_options o = spl_show_options_default();
    spl_pixels out = {0};
    o.width = WIDTH, o.height = HEIGHT, o.corner_uv = corner_uv;
    spl_box box = spl_show_box(show, position);
    spl_camera camera = spl_camera_frame(SPL_VIEW_THREE_QUARTER, &box, WIDTH, HEIGHT, 0.05);
    CHECK(spl_show_render(show, position, NULL, &camera, &o, &out, NULL) == SUPPLE_OK);
    return out;
}

/* Sum of the squares of what two pictures differ by. */
static double difference(const spl_pixels *a, const spl_pixels *b)
{
    double sum = 0;
    for (size_t i = 0; i < 4 * (size_t)WIDTH * HEIGHT; i++) sum += pow(a->rgba[i] - b->rgba[i], 2);
    return sum;
}

TEST(a_baked_texture_looks_as_the_slid_one)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_scene *scene;
    spl_show show;
    spl_slide_bake bake;
    spl_pixels texture;
    REQUIRE(supple_scene_load_file("demo:hero", NULL, &scene, NULL) == SUPPLE_OK);
    REQUIRE(scene->instance_count == 1 && scene->mesh[0].primitive_count == 1 && scene->image_count == 1);
    const float *position = scene->mesh[0].primitive[0].position;
    REQUIRE(spl_show_init(&show, scene, NULL, NULL) == SUPPLE_OK);
    REQUIRE(spl_image_decode(scene->image[0].data, scene->image[0].size, &a, &texture, NULL) == SUPPLE_OK);
    REQUIRE(spl_slide_bake_init(&bake, scene, &texture, false, every_part, NULL, NULL, NULL, NULL) == SUPPLE_OK);
    float *uv = waves(scene, 0.006);
    spl_slide_frame frame = {uv, NULL, 3 * (size_t)scene->triangle_count, 0};
    spl_slide_bake_frame(&bake, position, &frame);
    spl_pixels glued = draw(&show, position, NULL), slid = draw(&show, position, uv);
    spl_texture_free(&show.texture[0], &a);
    REQUIRE(spl_texture_build(&show.texture[0], &bake.output, 2048, &a, NULL) == SUPPLE_OK);
    spl_pixels baked = draw(&show, position, NULL);
    /* What is left is at sharp edges, whose pixels mix other texels now, and where waves leave an island: the renderer
     * shows what lies beside it in the texture, the baker the island's border. */
    double moved = difference(&glued, &slid), wrong = difference(&baked, &slid);
    printf("    baked differs from slid by %.3f of what slid differs from glued by\n", wrong / moved);
    CHECK(moved > 1e6 && wrong < 0.1 * moved);
    spl_pixels_free(&glued, &a);
    spl_pixels_free(&slid, &a);
    spl_pixels_free(&baked, &a);
    free(uv);
    spl_slide_bake_release(&bake);
    spl_show_release(&show);
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(a_baked_texture_looks_as_the_slid_one))
