/* .glb with an error allowed: components instead of frames, read back and played. */
#include "scene/document.h"
#include "scene/play.h"
#include "scene/readers/gltf.h"
#include "scene/textured.h"
#include "scene/writer_frames.h"
#include "test.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static const char folder[] = "writers_long.d", path[] = "writers_long.d/a.glb", text_path[] = "writers_long.d/a.gltf";
static const double ALLOWED = 0.0005;

static supple_scene *load(const char *name)
{
    supple_scene *scene = NULL;
    supple_error error;
    if (spl_gltf_load_file(name, NULL, &scene, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return scene;
}

/* A file of tests/data; NULL: hero.glb with images. */
static supple_scene *load_data(const char *name)
{
    char file[512];
    if (!name) return load_textured();
    snprintf(file, sizeof file, "%s/%s", SPL_DATA_DIR, name);
    return load(file);
}

static char logged[512];
static supple_log_level logged_level;
static void keep_log(void *user, supple_log_level level, const char *message)
{
    (void)user;
    logged_level = level;
    snprintf(logged, sizeof logged, "%s", message);
}

static char all_logged[2048];
static void keep_all(void *user, supple_log_level level, const char *message)
{
    size_t used = strlen(all_logged);
    (void)user, (void)level;
    snprintf(all_logged + used, sizeof all_logged - used, "%s\n", message);
}

/* Writes frames with an error allowed. */
static supple_result write_allowing(const supple_scene *scene, const char *output, supple_range range, double fps,
                                    const frames *f, double allowed, const supple_config *config, supple_error *error)
{
    supple_writer *w = NULL;
    supple_plan plan = {.ranges = &range, .range_count = 1, .fps = fps, .glb_error = allowed};
    supple_result r = spl_writer_open_with(all_formats, FORMAT_COUNT, scene, output, &plan, config, &w, error);
    for (int32_t k = 0; k < range.frame_count && r == SUPPLE_OK; k++) {
        supple_frame frame = frame_at(f, 0, k);
        r = supple_writer_frame(w, &frame, error);
        if (r != SUPPLE_OK) supple_writer_abort(w);
    }
    return r == SUPPLE_OK ? supple_writer_close(w, error) : r;
}

static bool has_extension(const supple_scene *scene, const char *list)
{
    return json_array_size(json_object_get(scene->document->json, list)) > 0;
}

static void check_long(const char *name, const char *output, supple_range range, double fps, double normal_limit)
{
    supple_scene *scene = load_data(name);
    REQUIRE(scene);
    clean_folder(folder);
    frames f = make_frames(scene, &range, fps);
    supple_config config = supple_config_default();
    config.log = keep_log;
    supple_error error = {0};
    supple_result r = write_allowing(scene, output, range, fps, &f, ALLOWED, &config, &error);
    if (r != SUPPLE_OK) printf("    %s\n", error.message);
    supple_scene *back = r == SUPPLE_OK ? load(output) : NULL;
    CHECK(back != NULL);
    if (back) {
        double position, normal;
        play(back, 0, fps, &f, &position, &normal);
        int32_t targets = 0; /* the most; a prop has none */
        for (int32_t m = 0; m < back->mesh_count; m++)
            if (back->mesh[m].primitive[0].target_count > targets) targets = back->mesh[m].primitive[0].target_count;
        printf("    %s, %d frames: %d targets, positions %.2g of the diagonal, normals %.2g\n",
               name ? name : "with images", (int)range.frame_count, (int)targets, position, normal);
        CHECK(position <= ALLOWED && normal < normal_limit);
        CHECK(targets > 0 && targets < range.frame_count && targets <= 255);
        CHECK(strstr(logged, "components; largest error") && logged_level == SUPPLE_LOG_INFO);
        CHECK(has_extension(back, "extensionsRequired") && back->warning_count == 0);
        CHECK(back->clip_count == 1 && back->triangle_count == scene->triangle_count);
    }
    supple_scene_destroy(back);
    supple_scene_destroy(scene);
    free_frames(&f);
}

/* The made-up normals turn all around at every vertex; components by position follow them roughly. */
TEST(more_than_255_frames)
{
    check_long("strip.gltf", path, (supple_range){0, 0, 300}, 60, 2);
}
TEST(a_textured_figure)
{
    check_long(NULL, path, (supple_range){1, 0, 40}, 20, 2);
    check_long(NULL, text_path, (supple_range){1, 3, 30}, 20, 2);
}
TEST(props_stay_as_they_are)
{
    check_long("parts.glb", path, (supple_range){0, 0, 33}, 30, 2);
}

/* An error below what floats carry. */
TEST(exact_where_it_is_asked_for)
{
    supple_scene *scene = load_data("figure.glb");
    REQUIRE(scene);
    clean_folder(folder);
    supple_range range = {0, 0, 12};
    frames f = make_frames(scene, &range, 24);
    for (size_t i = 0; i < 3 * (size_t)f.count * (size_t)f.vertices; i++)
        f.position[i] += (float)sin(0.7 * (double)i * (double)(i % 1013));
    CHECK(write_allowing(scene, path, range, 24, &f, 1e-7, NULL, NULL) == SUPPLE_OK);
    supple_scene *back = load(path);
    REQUIRE(back);
    double position, normal;
    play(back, 0, 24, &f, &position, &normal);
    CHECK(position < 2e-6 && normal < 1e-6);
    CHECK(back->mesh[0].primitive[0].target_count == 12 && !has_extension(back, "extensionsRequired"));
    supple_scene_destroy(back);
    supple_scene_destroy(scene);
    free_frames(&f);
}

/* A clip whose frames have nothing in common: the most there may be, and a warning that says what is left. */
TEST(a_bound_out_of_reach_is_said)
{
    supple_scene *scene = load_data("figure.glb");
    REQUIRE(scene);
    clean_folder(folder);
    supple_range range = {0, 0, 290};
    frames f = make_frames(scene, &range, 240);
    for (size_t i = 0; i < 3 * (size_t)f.count * (size_t)f.vertices; i++)
        f.position[i] = (float)sin(0.7 * (double)i * (double)(i % 1013));
    supple_config config = supple_config_default();
    config.log = keep_log;
    CHECK(write_allowing(scene, path, range, 240, &f, 1e-4, &config, NULL) == SUPPLE_OK);
    CHECK(logged_level == SUPPLE_LOG_WARNING && strstr(logged, "254 components"));
    supple_scene *back = load(path);
    CHECK(back && back->mesh[0].primitive[0].target_count == 255);
    supple_scene_destroy(back);
    supple_scene_destroy(scene);
    free_frames(&f);
}

TEST(the_same_bytes_at_any_number_of_threads)
{
    supple_scene *scene = load_data("hero.glb");
    REQUIRE(scene);
    supple_range range = {0, 0, 30};
    frames f = make_frames(scene, &range, 15);
    uint8_t *first = NULL;
    size_t first_size = 0;
    for (int32_t threads = 1; threads <= 3; threads++) {
        clean_folder(folder);
        supple_config config = supple_config_default();
        config.thread_count = threads;
        REQUIRE(write_allowing(scene, path, range, 15, &f, ALLOWED, &config, NULL) == SUPPLE_OK);
        size_t size = 0;
        uint8_t *data = read_bytes(path, &size);
        if (threads == 1) first = data, first_size = size;
        CHECK(size == first_size && memcmp(data, first, size) == 0);
        if (threads > 1) free(data);
    }
    free(first);
    supple_scene_destroy(scene);
    free_frames(&f);
}

TEST(every_allocation_may_fail)
{
    supple_scene *scene = load_data("strip.gltf");
    REQUIRE(scene);
    supple_range range = {0, 0, 20};
    frames f = make_frames(scene, &range, 4);
    const char *const outputs[] = {path, text_path};
    for (int i = 0; i < 2; i++) {
        int n = 0;
        for (supple_result r = SUPPLE_ERROR_MEMORY; r != SUPPLE_OK && n < 500; n++) {
            clean_folder(folder);
            supple_config config = limited_config(n);
            config.thread_count = 1;
            r = write_allowing(scene, outputs[i], range, 4, &f, ALLOWED, &config, NULL);
            CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
            CHECK(blocks_alive == 0);
            CHECK((files_in(folder) == 0) == (r != SUPPLE_OK));
        }
        CHECK(n > 20 && n < 500);
    }
    clean_folder(folder);
    supple_scene_destroy(scene);
    free_frames(&f);
}

/* No file may grow: kept frames, components and the document all notice. */
TEST(a_limit_on_files_is_an_error)
{
    supple_scene *scene = load_data("hero.glb");
    REQUIRE(scene);
    supple_range range = {0, 0, 6};
    frames f = make_frames(scene, &range, 4);
    struct rlimit before, low;
    getrlimit(RLIMIT_FSIZE, &before);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    const rlim_t limits[] = {10000, 150000}; /* not even a frame fits; some do */
    for (int i = 0; i < 2; i++) {
        clean_folder(folder);
        low = (struct rlimit){limits[i], before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &low);
        supple_result r = write_allowing(scene, path, range, 4, &f, 1e-5, NULL, NULL);
        setrlimit(RLIMIT_FSIZE, &before);
        CHECK(r == SUPPLE_ERROR_OUTPUT && files_in(folder) == 0);
    }
    signal(SIGXFSZ, handler);
    supple_scene_destroy(scene);
    free_frames(&f);
}

TEST(errors_out_of_range)
{
    supple_scene *scene = load_data("strip.gltf");
    REQUIRE(scene);
    supple_range range = {0, 0, 3};
    frames f = make_frames(scene, &range, 4);
    const double wrong[] = {-0.1, 1.5, NAN};
    for (int i = 0; i < 3; i++)
        CHECK(write_allowing(scene, path, range, 4, &f, wrong[i], NULL, NULL) == SUPPLE_ERROR_ARGUMENT);
    supple_scene_destroy(scene);
    free_frames(&f);
}

/* More frames than a texture of the slide has rows: components, and a line says so. */
TEST(a_slide_too_long_for_a_texture)
{
    static const struct {
        int32_t frames;
        const char *said, *described;
        bool picture;
    } cases[] = {{8192, "as a texture of 10 x 8192 texels", "texture", true}, {8193, "fit", "components", false}};
    for (int c = 0; c < 2; c++) {
        supple_scene *scene = load_data("strip.gltf");
        REQUIRE(scene);
        clean_folder(folder);
        spl_primitive *p = &scene->mesh[0].primitive[0]; /* has no coordinates of its own */
        float *uv = spl_new(&scene->allocator, (size_t)p->vertex_count, 2 * sizeof *uv);
        REQUIRE(uv && !p->uv);
        p->uv = uv;
        supple_range range = {0, 0, cases[c].frames};
        frames f = make_frames(scene, &(supple_range){0, 0, 1}, 30);
        size_t corners = 3 * (size_t)scene->triangle_count;
        float *slid = calloc(corners, 2 * sizeof *slid);
        supple_config config = supple_config_default();
        config.log = keep_all;
        all_logged[0] = 0;
        supple_writer *w = NULL;
        supple_plan plan = {.ranges = &range, .range_count = 1, .fps = 30, .glb_error = ALLOWED, .slide = true};
        plan.slide_texture = true;
        supple_result r = spl_writer_open_with(all_formats, FORMAT_COUNT, scene, path, &plan, &config, &w, NULL);
        for (int32_t k = 0; k < range.frame_count && r == SUPPLE_OK; k++) {
            supple_slide_frame slide = {slid, NULL, corners, 0};
            supple_frame frame = frame_at(&f, 0, 0);
            frame.index = k;
            frame.slide = &slide;
            for (size_t i = 0; i < 2 * corners; i++) slid[i] = (float)(k % 100) / 1000;
            r = supple_writer_frame(w, &frame, NULL);
        }
        CHECK(r == SUPPLE_OK && supple_writer_close(w, NULL) == SUPPLE_OK);
        CHECK(strstr(all_logged, cases[c].said) != NULL);
        supple_scene *back = load(path);
        REQUIRE(back);
        json_t *json = json_array_get(json_object_get(back->document->json, "meshes"), 0);
        json = json_array_get(json_object_get(json, "primitives"), 0);
        json = json_object_get(json_object_get(json, "extras"), "supple_slide");
        CHECK(json_object_get(json, cases[c].described) != NULL);
        CHECK((access("writers_long.d/a.slide.png", F_OK) == 0) == cases[c].picture);
        supple_scene_destroy(back);
        supple_scene_destroy(scene);
        free_frames(&f);
        free(slid);
    }
}

TEST_CASES(RUN(more_than_255_frames), RUN(a_textured_figure), RUN(props_stay_as_they_are),
           RUN(exact_where_it_is_asked_for), RUN(a_bound_out_of_reach_is_said),
           RUN(the_same_bytes_at_any_number_of_threads), RUN(every_allocation_may_fail),
           RUN(a_limit_on_files_is_an_error), RUN(errors_out_of_range), RUN(a_slide_too_long_for_a_texture))
