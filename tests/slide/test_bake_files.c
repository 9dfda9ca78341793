/* Baked textures as files: names, which parts they belong to, what is refused and with which code, nothing half done.
 */
#include "core/file.h"
#include "scene/writer_frames.h"
#include "slide/charts.h"
#include "test.h"

static const char folder[] = "bake.d";
static const chart SQUARE = {4, 1, {0, 1, 0}, {1, 0, -1}};

static void shift(double u, double v, int part, const double *by, double out[2])
{
    (void)part;
    out[0] = u + by[0], out[1] = v + by[1];
}

/* A picture that says where each texel is. */
static void write_texture(const char *path, int32_t side)
{
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t *rgba = calloc((size_t)side * (size_t)side, 4), *data;
    size_t size;
    for (int32_t i = 0; i < side * side; i++) {
        const uint8_t color[4] = {(uint8_t)(i % side), (uint8_t)(i / side), 7, 255};
        memcpy(rgba + 4 * i, color, 4);
    }
    spl_pixels p = {side, side, rgba};
    CHECK(spl_image_encode_png(&p, &a, &data, &size, NULL) == SUPPLE_OK);
    CHECK(supple_bytes_write(path, data, size, NULL) == SUPPLE_OK);
    spl_free(&a, data);
    free(rgba);
}

static spl_pixels read_picture(const char *path)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels p = {0};
    uint8_t *data = NULL;
    size_t size = 0;
    if (spl_file_read(path, 1 << 20, &a, &data, &size, NULL) == SUPPLE_OK) spl_image_decode(data, size, &a, &p, NULL);
    spl_free(&a, data);
    return p;
}

static void free_picture(spl_pixels *p)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels_free(p, &a);
}

TEST(a_picture_a_frame)
{
    static const double by[2] = {4.0 / 32, 1.0 / 32};
    charts c;
    make_charts(&c, &SQUARE, 1);
    clean_folder(folder);
    write_texture("bake.d/my skin.v2.png", 32);
    supple_bake_config bc = {.texture = "bake.d/my skin.v2.png", .folder = "bake.d/out"};
    supple_bake *b;
    supple_error error = {0};
    REQUIRE(supple_bake_create(&c.scene, &bc, NULL, &b, &error) == SUPPLE_OK);
    const supple_bake_info *info = supple_bake_get_info(b);
    CHECK(info->width == 32 && info->height == 32 && info->covered == 1024 && info->gutter == 0 && info->shared == 0);
    CHECK(info->triangles == 32 && info->islands == 1 && info->left_out == 0 && files_in("bake.d/out") == 0);
    float *uv = slide_charts(&c, shift, by);
    supple_slide_frame slide = {uv, NULL, c.corners, 0};
    supple_frame frame = {.position = c.position, .slide = &slide};
    CHECK(supple_bake_frame(b, &frame, NULL, 7, &error) == SUPPLE_OK);
    CHECK(supple_bake_frame(b, &frame, "wa/lk", 12345, &error) == SUPPLE_OK);
    CHECK(files_in("bake.d/out") == 2 && access("bake.d/out/my_skin.v2.wa_lk.12345.png", R_OK) == 0);
    spl_pixels p = read_picture("bake.d/out/my_skin.v2.0007.png");
    REQUIRE(p.rgba && p.width == 32 && p.height == 32);
    for (int i = 0; i < 32 * 32; i++)
        CHECK(abs(p.rgba[4 * i] - (i + 4) % 32) <= 1 && abs(p.rgba[4 * i + 1] - (i / 32 + 1) % 32) <= 1);
    free_picture(&p);
    /* What cannot be baked leaves no file. */
    slide.corners--;
    CHECK(supple_bake_frame(b, &frame, NULL, 8, &error) == SUPPLE_ERROR_ARGUMENT);
    slide.corners++;
    uv[3] = NAN;
    CHECK(supple_bake_frame(b, &frame, NULL, 8, &error) == SUPPLE_ERROR_SOLVE);
    frame.slide = NULL;
    CHECK(supple_bake_frame(b, &frame, NULL, 8, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(files_in("bake.d/out") == 2);
    supple_bake_destroy(b);
    CHECK(files_in("bake.d/out") == 2);
    bc.folder = "bake.d/unused"; /* a folder that it made and did not use is gone again */
    REQUIRE(supple_bake_create(&c.scene, &bc, NULL, &b, &error) == SUPPLE_OK);
    CHECK(access(bc.folder, W_OK) == 0);
    supple_bake_destroy(b);
    CHECK(access(bc.folder, F_OK) != 0);
    supple_bake_destroy(NULL);
    free(uv);
    free_charts(&c);
}

static void refused(const charts *c, const supple_bake_config *bc, supple_result code, const char *word)
{
    supple_bake *b = (supple_bake *)1;
    supple_error error = {0};
    CHECK(supple_bake_create(&c->scene, bc, NULL, &b, &error) == code);
    CHECK(b == NULL && strstr(error.message, word) && !strchr(error.message, '\n'));
    if (!strstr(error.message, word)) printf("    %s\n", error.message);
}

TEST(bad_textures_and_folders)
{
    /* The head of a PNG of 60000 x 60000 pixels, with the right checksum. */
    static const uint8_t huge[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60\x08\2\0\0\0\xda\xc4\xaf\x0d";
    charts c;
    make_charts(&c, &SQUARE, 1);
    clean_folder(folder);
    write_texture("bake.d/a.png", 8);
    CHECK(supple_bytes_write("bake.d/damaged.png", "\x89PNG\r\n\x1a\nno more", 15, NULL) == SUPPLE_OK);
    CHECK(supple_bytes_write("bake.d/huge.png", huge, sizeof huge - 1, NULL) == SUPPLE_OK);
    CHECK(supple_bytes_write("bake.d/empty.png", "", 0, NULL) == SUPPLE_OK);
    mkdir("bake.d/folder.png", 0755);
    static const char *const bad[] = {"bake.d/none.png", "bake.d/damaged.png", "bake.d/huge.png", "bake.d/empty.png",
                                      "bake.d/folder.png"};
    for (int i = 0; i < 5; i++)
        refused(&c, &(supple_bake_config){.texture = bad[i], .folder = "bake.d/out"}, SUPPLE_ERROR_INPUT, bad[i]);
    CHECK(access("bake.d/out", F_OK) != 0); /* and no folder is left */
    refused(&c, &(supple_bake_config){.texture = "bake.d/a.png", .folder = "bake.d/a.png"}, SUPPLE_ERROR_OUTPUT,
            "directory");
    refused(&c, &(supple_bake_config){.texture = "bake.d/a.png", .folder = "bake.d/no/where"}, SUPPLE_ERROR_OUTPUT,
            "No such");
    refused(&c, &(supple_bake_config){.texture = "bake.d/a.png"}, SUPPLE_ERROR_ARGUMENT, "folder");
    refused(&c, &(supple_bake_config){.texture = "bake.d/a.png", .folder = "bake.d/out", .part = "hat"},
            SUPPLE_ERROR_INPUT, "belongs");
    c.primitive[0].uv = NULL;
    refused(&c, &(supple_bake_config){.texture = "bake.d/a.png", .folder = "bake.d/out"}, SUPPLE_ERROR_INPUT,
            "texture coordinates");
    free_charts(&c);
}

static int32_t triangles_of(const charts *c, const char *part)
{
    supple_bake_config bc = {.texture = "bake.d/a.png", .folder = "bake.d", .part = part};
    supple_bake *b;
    if (supple_bake_create(&c->scene, &bc, NULL, &b, NULL) != SUPPLE_OK) return -1;
    int32_t count = supple_bake_get_info(b)->triangles;
    supple_bake_destroy(b);
    return count;
}

/* By name or pattern of mesh or material; by the very image; else everything with texture coordinates. */
TEST(parts_that_the_texture_belongs_to)
{
    static const chart in[2] = {{4, 1, {0, 0.5, 0}, {0, 0, 1}}, {3, 1, {0.5, 0.5, 0}, {0, 0, 1}}};
    charts c;
    make_charts(&c, in, 2);
    clean_folder(folder);
    write_texture("bake.d/a.png", 16);
    CHECK(triangles_of(&c, NULL) == 50 && triangles_of(&c, "body") == 50);
    CHECK(triangles_of(&c, "skin") == 32 && triangles_of(&c, "SHIR*") == 18 && triangles_of(&c, "x") == -1);
    size_t size = 0;
    spl_image image = {read_bytes("bake.d/a.png", &size), 0};
    image.size = size;
    c.scene.image = &image;
    c.scene.image_count = 1;
    c.material[1].base_color_image = 0;
    CHECK(triangles_of(&c, NULL) == 18 && triangles_of(&c, "skin") == 32);
    free((void *)(uintptr_t)image.data);
    free_charts(&c);
}

TEST(every_allocation_may_fail)
{
    static const double by[2] = {0.1, 0.2};
    charts c;
    make_charts(&c, &SQUARE, 1);
    float *uv = slide_charts(&c, shift, by);
    supple_slide_frame slide = {uv, NULL, c.corners, 0};
    supple_frame frame = {.position = c.position, .slide = &slide};
    supple_result r = SUPPLE_ERROR_MEMORY;
    clean_folder(folder);
    write_texture("bake.d/a.png", 16);
    mkdir("bake.d/out", 0755);
    for (int n = 0; r == SUPPLE_ERROR_MEMORY && n < 2000; n++) {
        supple_config config = limited_config(n);
        config.thread_count = 2;
        supple_bake_config bc = {.texture = "bake.d/a.png", .folder = "bake.d/out", .kind = SUPPLE_BAKE_NORMAL};
        supple_bake *b;
        r = supple_bake_create(&c.scene, &bc, &config, &b, NULL);
        if (r == SUPPLE_OK) r = supple_bake_frame(b, &frame, "clip", 1, NULL);
        supple_bake_destroy(b);
        CHECK(r == SUPPLE_OK || (r == SUPPLE_ERROR_MEMORY && files_in("bake.d/out") == 0));
        CHECK(blocks_alive == 0);
    }
    CHECK(r == SUPPLE_OK && files_in("bake.d/out") == 1);
    free(uv);
    free_charts(&c);
}

TEST_CASES(RUN(a_picture_a_frame), RUN(bad_textures_and_folders), RUN(parts_that_the_texture_belongs_to),
           RUN(every_allocation_may_fail))
