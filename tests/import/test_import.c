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
        {"hero_posed.fbx", 1272, 2540, 25, 0, 4, 1, 0.01, SPL_UP_Y},
        {"arm_z.fbx", 408, 812, 2, 1, 2, 1, 0.01, SPL_UP_Z},
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
        {"hero.fbx", "walk", 0.5},
        {"hero_ascii.fbx", "walk", 0.5},
        {"arm_z.fbx", "bend", 29.0 / 30},
        {"creature.fbx", "Walk", 1},
        {"creature.fbx", "ArmatureAction", 1.0 / 30},
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

/* The text says 30 frames a second; here it says 24. */
TEST(the_frame_rate_is_the_files)
{
    static char text[1 << 20];
    static const char mode[] = "\"TimeMode\", \"enum\", \"\", \"\", ";
    FILE *file = fopen(SPL_DATA_DIR "/hero_ascii.fbx", "rb");
    REQUIRE(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    char *at = strstr(text, mode);
    REQUIRE(at && size > 300000 && at[sizeof mode - 1] == '6' && at[sizeof mode] == '\n');
    write_file("thirty.fbx", text, size);
    at += sizeof mode - 1;
    memmove(at + 1, at, size - (size_t)(at - text));
    memcpy(at, "11", 2);
    write_file("twentyfour.fbx", text, size + 1);
    for (int i = 0; i < 2; i++) {
        supple_scene *s = NULL;
        use_program(SPL_IMPORT_PROGRAM);
        REQUIRE(supple_scene_load_file(i ? "twentyfour.fbx" : "thirty.fbx", NULL, &s, NULL) == SUPPLE_OK);
        CHECK(s->fps == (i ? 24 : 30) && supple_scene_fps(s) == s->fps);
        CHECK_NEAR(supple_scene_clip_duration(s, 0), 0.5, 1e-3); /* keys are in seconds */
        supple_scene_destroy(s);
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
           RUN(a_program_gone_wrong_is_a_bad_file), RUN(a_program_that_stops_is_ended), RUN(files_that_are_none),
           RUN(truncations_are_refused), RUN(allocations_may_fail))
