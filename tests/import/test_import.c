/* The whole way from FBX and Collada to a scene, and what becomes of a program that dies, stops or babbles. */
#include "scene/readers/import.h"

#include "../scene/gltf_text.h"

#include <supple/supple.h>
#include <sys/stat.h>
#include <unistd.h>

static void use_program(const char *path)
{
    setenv("SUPPLE_IMPORT", path, 1);
}

static supple_scene *load(const char *name)
{
    char path[1024];
    supple_scene *scene;
    supple_error error = {0};
    snprintf(path, sizeof path, "%s/%s", SPL_DATA_DIR, name);
    use_program(SPL_IMPORT_PROGRAM);
    supple_result result = supple_scene_load_file(path, NULL, &scene, &error);
    if (result) printf("    %s\n", error.message);
    CHECK(result == SUPPLE_OK);
    if (scene) check_scene(scene);
    return scene;
}

typedef struct expected {
    const char *name;
    int32_t points, triangles, joints, clips, influences, parts;
    double unit;
    spl_up up;
} expected;

/* Numbers of the parser of Blender's own importer and, for Collada, of Python's XML. */
TEST(characters_come_whole)
{
    static const expected list[] = {
        {"hero.fbx", 1272, 2540, 25, 1, 4, 1, 0.01, SPL_UP_Y},
        {"hero_ascii.fbx", 1272, 2540, 25, 1, 4, 1, 0.01, SPL_UP_Y},
        {"quads.fbx", 1272, 2540, 25, 0, 4, 1, 0.01, SPL_UP_Y},
        {"arm_z.fbx", 408, 812, 2, 1, 2, 1, 0.01, SPL_UP_Z},
        {"posed.fbx", 1272, 2540, 25, 1, 4, 1, 0.01, SPL_UP_Y},
        {"creature.fbx", 700, 1396, 23, 2, 7, 3, 0.01, SPL_UP_Y},
        {"hero.dae", 1272, 2540, 25, 1, 4, 1, 1, SPL_UP_Z},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const expected *e = &list[i];
        supple_scene *s = load(e->name);
        REQUIRE(s);
        CHECK(s->point_count == e->points && s->triangle_count == e->triangles && s->clip_count == e->clips);
        CHECK(s->skin_count == 1 && s->joint_count == e->joints && s->from_file);
        CHECK(s->instance_count == 1 && s->mesh[0].primitive_count == e->parts && s->mesh[0].point_count == e->points);
        int32_t most = 0;
        for (int32_t k = 0; k < e->parts; k++)
            if (s->mesh[0].primitive[k].influence_count > most) most = s->mesh[0].primitive[k].influence_count;
        CHECK(most == e->influences);
        CHECK(s->unit == e->unit && s->up == e->up);
        supple_scene_destroy(s);
    }
}

TEST(clips_last_as_long_as_the_file_says)
{
    static const struct {
        const char *file, *clip;
        double seconds;
    } list[] = {
        {"hero.fbx", "walk", 0.5},        {"hero_ascii.fbx", "walk", 0.5}, {"posed.fbx", "walk", 0.1},
        {"arm_z.fbx", "bend", 29.0 / 30}, {"creature.fbx", "Walk", 1},     {"creature.fbx", "ArmatureAction", 1.0 / 30},
        {"hero.dae", NULL, 0.5},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        supple_scene *s = load(list[i].file);
        REQUIRE(s);
        int32_t clip = list[i].clip ? supple_scene_clip_find(s, list[i].clip) : 0;
        CHECK(clip >= 0);
        CHECK_NEAR(supple_scene_clip_duration(s, clip), list[i].seconds, 1e-3);
        supple_scene_destroy(s);
    }
}

/* ---- what the program may do ------------------------------------------------------------------------------------ */

static const char SMALL[] = "import-small.fbx";

static void write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(text, 1, size, file) == size);
    if (file) fclose(file);
}

static char character[1 << 20];

static size_t read_character(const char *path)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t size = file ? fread(character, 1, sizeof character - 64, file) : 0;
    if (file) fclose(file);
    return size;
}

static char *find_bytes(size_t size, const char *what, size_t length)
{
    for (size_t i = 0; i + length < size; i++)
        if (memcmp(character + i, what, length) == 0) return character + i;
    return NULL;
}

/* A copy of a character in text with other settings. */
static size_t change_setting(size_t size, const char *before, const char *value)
{
    char *at = find_bytes(size, before, strlen(before));
    CHECK(at != NULL);
    if (!at) return size;
    at += strlen(before);
    size_t old = strcspn(at, "\r\n"), length = strlen(value);
    memmove(at + length, at + old, size - (size_t)(at - character) - old);
    memcpy(at, value, length);
    return size + length - old;
}

static void check_rate(const char *path, double fps)
{
    supple_scene *s = NULL;
    use_program(SPL_IMPORT_PROGRAM);
    REQUIRE(supple_scene_load_file(path, NULL, &s, NULL) == SUPPLE_OK);
    CHECK_NEAR(s->fps, fps, 1e-6);
    CHECK(supple_scene_fps(s) == s->fps);
    CHECK_NEAR(supple_scene_clip_duration(s, 0), 0.5, 1e-3); /* keys are in seconds */
    supple_scene_destroy(s);
}

/* The text says mode 6, 30 frames a second. A mode that says nothing is read off the keys, which lie on 30ths. */
TEST(the_frame_rate_is_the_files)
{
    static const struct {
        const char *mode, *custom;
        double fps;
    } list[] = {
        {"6", "30", 30},
        {"11", "-1", 24},
        {"10", "-1", 25},
        {"13", "-1", 24000.0 / 1001},
        {"14", "48", 48},
        {"14", "12.5", 12.5},
        {"14", "-1", 30},
        {"14", "0", 30},
        {"0", "-1", 30},
        {"0", "1", 30},
        {"17", "-1", 60000.0 / 1001},
        {"99", "25", 30},
        {"-3", "25", 30},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        size_t size = read_character(SPL_DATA_DIR "/hero_ascii.fbx");
        REQUIRE(size > 300000);
        size = change_setting(size, "\"TimeMode\", \"enum\", \"\", \"\", ", list[i].mode);
        size = change_setting(size, "\"CustomFrameRate\", \"double\", \"Number\", \"\", ", list[i].custom);
        write_file("rate.fbx", character, size);
        check_rate("rate.fbx", list[i].fps);
    }
}

TEST(the_frame_rate_of_binary_files)
{
    static const struct {
        int32_t mode;
        double custom, fps;
    } list[] = {{0, -1, 30}, {14, -1, 30}, {14, 50, 50}, {11, -1, 24}, {16, 1, 72}};
    static const char mode[] = "TimeModeS\4\0\0\0enumS\0\0\0\0S\0\0\0\0I";
    static const char custom[] = "CustomFrameRateS\6\0\0\0doubleS\6\0\0\0NumberS\0\0\0\0D";
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        size_t size = read_character(SPL_DATA_DIR "/hero.fbx");
        char *at = find_bytes(size, mode, sizeof mode - 1), *rate = find_bytes(size, custom, sizeof custom - 1);
        REQUIRE(at && rate);
        memcpy(at + sizeof mode - 1, &list[i].mode, 4);
        memcpy(rate + sizeof custom - 1, &list[i].custom, 8);
        write_file("rate.fbx", character, size);
        check_rate("rate.fbx", list[i].fps);
    }
}

/* A script in the program's place. */
static void use_script(const char *text)
{
    static const char name[] = "./import-script";
    write_file(name, text, strlen(text));
    chmod(name, 0700);
    use_program(name);
}

static void check_refused(const char *path, const char *word)
{
    supple_scene *scene;
    supple_error error = {0};
    CHECK(supple_scene_load_file(path, NULL, &scene, &error) == SUPPLE_ERROR_INPUT);
    CHECK(!scene && strstr(error.message, word) && !strchr(error.message, '\n'));
    if (!strstr(error.message, word)) printf("    %s\n", error.message);
}

TEST(a_program_gone_wrong_is_a_bad_file)
{
    write_file(SMALL, "x", 1);
    use_program("/nowhere/supple-import");
    check_refused(SMALL, "supple-import");
    use_script("#!/bin/sh\nexit 1\n");
    check_refused(SMALL, "damaged");
    use_script("#!/bin/sh\nprintf 'the reason\\nin two lines'; exit 1\n");
    check_refused(SMALL, "the reason");
    use_script("#!/bin/sh\nkill -SEGV $$\n");
    check_refused(SMALL, "damaged");
    use_script("#!/bin/sh\necho not a glb\n");
    check_refused(SMALL, "JSON");
    use_script("#!/bin/sh\nexec yes\n"); /* for ever */
    check_refused(SMALL, "damaged");
}

TEST(a_program_that_stops_is_ended)
{
    write_file(SMALL, "x", 1);
    use_script("#!/bin/sh\nexec sleep 100\n");
    check_refused(SMALL, "too long");
}

TEST(files_that_are_none)
{
    use_program(SPL_IMPORT_PROGRAM);
    check_refused("import-absent.fbx", "No such file");
    check_refused("/dev/null/x.dae", "Not a directory");
    mkdir("import-folder.fbx", 0700);
    check_refused("import-folder.fbx", "regular file");
    write_file(SMALL, "", 0);
    check_refused(SMALL, "import-small.fbx");
    CHECK(spl_import_takes("A.FBX") && spl_import_takes("b.Dae") && !spl_import_takes(".fbx") &&
          !spl_import_takes("x.glb"));
}

TEST(truncations_are_refused)
{
    static const char *const names[] = {"hero.fbx", "hero.dae"};
    static char data[1 << 20];
    use_program(SPL_IMPORT_PROGRAM);
    for (int i = 0; i < 2; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", SPL_DATA_DIR, names[i]);
        FILE *file = fopen(path, "rb");
        REQUIRE(file);
        size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        const char *cut = i ? "import-cut.dae" : "import-cut.fbx";
        for (size_t k = 1; k < 8; k++) {
            write_file(cut, data, size * k / 8);
            check_refused(cut, "cut short");
        }
    }
    check_refused(SPL_DATA_DIR "/bad/truncated.fbx", "cut short");
}

/* The reader of the .glb has tests of its own; these are the allocations before it. */
TEST(allocations_may_fail)
{
    write_file(SMALL, "x", 1);
    use_script("#!/bin/sh\nprintf '{\"asset\":{\"version\":\"2.0\"}}'\n");
    bool done = false;
    for (size_t n = 0; !done && n < 60; n++) {
        meter m = {.fail = true, .fail_at = n};
        supple_config config = metered(&m);
        supple_scene *scene;
        supple_error error = {0};
        supple_result result = supple_scene_load_file(SMALL, &config, &scene, &error);
        done = result == SUPPLE_OK;
        CHECK(done || (result == SUPPLE_ERROR_MEMORY && !scene));
        supple_scene_destroy(scene);
        CHECK(m.live == 0);
    }
    CHECK(done);
}

TEST_CASES(RUN(characters_come_whole), RUN(clips_last_as_long_as_the_file_says), RUN(the_frame_rate_is_the_files),
           RUN(the_frame_rate_of_binary_files), RUN(a_program_gone_wrong_is_a_bad_file),
           RUN(a_program_that_stops_is_ended), RUN(files_that_are_none), RUN(truncations_are_refused),
           RUN(allocations_may_fail))
