/* The glTF files of tests/data: the good ones load with their counts, the bad ones are refused with one line that says
 * why. */
#include "core/file.h"
#include "core/memory.h"
#include "scene/gltf_text.h"
#include "scene/readers/gltf.h"
#include "scene/scene.h"
#include "test.h"

#define DATA SPL_DATA_DIR "/"
#define BAD  DATA "bad/"

typedef struct clip_fact {
    const char *name;
    double seconds;
} clip_fact;

/* As numpy reads the files. */
static const struct file_fact {
    const char *file;
    int32_t meshes, vertices, triangles, joints, clips;
    clip_fact clip[7];
    int32_t influences;
    bool uv, normal;
} files[] = {
    {"arm.glb", 1, 463, 812, 2, 2, {{"bend", 1.63}, {"twist", 1.63}}, 2, true, true},
    {"hero.glb", 1, 1637, 2540, 25, 3, {{"walk", 1.10}, {"reach", 4.00}, {"twist", 3.00}}, 4, true, true},
    {"quadruped.glb", 1, 3588, 1196, 25, 3, {{"Survey", 2.50}, {"Walk", 0.75}, {"Run", 0.50}}, 4, false, false},
    {"figure.glb", 1, 144, 284, 19, 1, {{"clip 0", 1.25}}, 4, false, true},
    {"strip.gltf", 1, 10, 8, 2, 1, {{"clip 0", 5.50}}, 2, false, false},
    {"person.glb", 1, 7434, 14864, 31, 1, {{"walk", 1.07}}, 4, false, false},
    {"parts.glb",
     10,
     1451,
     2724,
     25,
     12,
     {{"Walking_A", 1.10},
      {"Walking_B", 0.73},
      {"Reach", 4.00},
      {"Cheer", 1.50},
      {"Nod", 0.40},
      {"Sit", 2.00},
      {"T_Pose", 0.00}},
     4,
     false,
     true},
    {"hand.glb", 1, 1760, 3516, 26, 0, {{0}}, 4, false, true},
};

static void check_file(const struct file_fact *fact)
{
    char path[512];
    snprintf(path, sizeof path, DATA "%s", fact->file);
    supple_scene *scene;
    supple_error error = {0};
    supple_result result = spl_gltf_load_file(path, NULL, &scene, &error);
    if (result) printf("    %s\n", error.message);
    REQUIRE(result == SUPPLE_OK);
    CHECK(scene->mesh_count == fact->meshes);
    CHECK(supple_scene_vertex_count(scene) == fact->vertices);
    CHECK(supple_scene_triangle_count(scene) == fact->triangles);
    CHECK(supple_scene_joint_count(scene) == fact->joints);
    CHECK(supple_scene_clip_count(scene) == fact->clips);
    for (int k = 0; k < 7 && fact->clip[k].name; k++) {
        int32_t clip = supple_scene_clip_find(scene, fact->clip[k].name);
        CHECK(clip >= 0);
        CHECK_NEAR(supple_scene_clip_duration(scene, clip), fact->clip[k].seconds, 0.0051);
    }
    int32_t influences = 0;
    for (int32_t m = 0; m < scene->mesh_count; m++) {
        const spl_primitive *p = &scene->mesh[m].primitive[0];
        if (p->influence_count > influences) influences = p->influence_count;
        CHECK((p->uv != NULL) == fact->uv && (p->normal != NULL) == fact->normal);
        CHECK(p->unweighted == 0 && p->unnormalised == 0);
    }
    CHECK(influences == fact->influences);
    for (int32_t i = 0; i < scene->warning_count; i++) printf("    %s: %s\n", fact->file, scene->warning[i]);
    CHECK(scene->warning_count == 0);
    supple_scene_destroy(scene);
}

TEST(every_character_loads_with_its_counts)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) check_file(&files[i]);
}

/* What each bad file's message must say. */
static const struct bad_fact {
    const char *file, *word;
} bad[] = {
    {"truncated.glb", "cut short"},
    {"bad_json.gltf", "JSON"},
    {"accessor_out_of_range.glb", "accessor"},
    {"nan_vertices.glb", "vertex 3"},
    {"joint_index_out_of_range.glb", "joint index 5000"},
    {"cyclic_nodes.gltf", "cycle"},
    {"weights_all_zero.glb", "weights"},
};

TEST(every_bad_file_is_refused_in_words)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char path[512];
        snprintf(path, sizeof path, BAD "%s", bad[i].file);
        supple_scene *scene;
        supple_error error = {0};
        meter m = {0};
        supple_config config = metered(&m);
        CHECK(spl_gltf_load_file(path, &config, &scene, &error) == SUPPLE_ERROR_INPUT);
        CHECK(scene == NULL && error.code == SUPPLE_ERROR_INPUT);
        CHECK(m.live == 0 && m.peak_bytes < (size_t)500 << 20);
        bool says = strstr(error.message, bad[i].word) && strstr(error.message, bad[i].file);
        if (!says) printf("    %s\n", error.message);
        CHECK(says);
    }
}

TEST(a_file_without_a_skin_loads)
{
    supple_scene *scene;
    REQUIRE(spl_gltf_load_file(BAD "no_skin.glb", NULL, &scene, NULL) == SUPPLE_OK);
    CHECK(supple_scene_skin_count(scene) == 0 && supple_scene_joint_count(scene) == 0);
    CHECK(supple_scene_vertex_count(scene) == 144);
    CHECK(scene->mesh[0].primitive[0].influence_count == 0 && isnan(scene->mesh[0].primitive[0].weight_sum_min));
    supple_scene_destroy(scene);
}

TEST(a_missing_file_and_a_folder_are_bad_input)
{
    supple_scene *scene;
    supple_error error;
    CHECK(spl_gltf_load_file(SPL_SOURCE_DIR "/no-such-file.glb", NULL, &scene, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "No such file") != NULL);
    CHECK(spl_gltf_load_file(SPL_SOURCE_DIR, NULL, &scene, &error) == SUPPLE_ERROR_INPUT && scene == NULL);
    CHECK(spl_gltf_load_file("", NULL, &scene, &error) == SUPPLE_ERROR_ARGUMENT);
    char path[700];
    memset(path, 'x', sizeof path);
    strcpy(path + sizeof path - 8, "end.glb");
    CHECK(spl_gltf_load_file(path, NULL, &scene, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strlen(error.message) < 200 && strstr(error.message, "end.glb: "));
}

/* ---- damage ----------------------------------------------------------------------------------------------------- */

static uint32_t random_state = 1;
static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

/* Loads bytes that may be damaged: an error with a message, or a scene that holds together; and no leak. */
static void load_damaged(const uint8_t *data, size_t size)
{
    meter m = {0};
    supple_config config = metered(&m);
    supple_scene *scene;
    supple_error error = {0};
    supple_result result = supple_scene_load_memory(data, size, "damaged", &config, &scene, &error);
    if (result) {
        CHECK(scene == NULL && result == SUPPLE_ERROR_INPUT && error.code == result && error.message[0]);
    } else {
        check_scene(scene);
        supple_scene_destroy(scene);
    }
    CHECK(m.live == 0);
    CHECK(m.peak_bytes < (size_t)500 << 20);
}

static uint8_t *read_whole(size_t file, const supple_allocator *a, size_t *size)
{
    char path[512];
    uint8_t *data = NULL;
    snprintf(path, sizeof path, DATA "%s", files[file].file);
    return spl_file_read(path, SIZE_MAX, a, &data, size, NULL) == SUPPLE_OK ? data : NULL;
}

TEST(truncated_files_are_refused)
{
    supple_allocator a = spl_allocator_of(NULL);
    random_state = 7;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size;
        uint8_t *data = read_whole(i, &a, &size);
        REQUIRE(data);
        for (int k = 0; k < 20; k++) load_damaged(data, next_random() % size);
        spl_free(&a, data);
    }
}

TEST(files_with_flipped_bytes_load_or_are_refused)
{
    supple_allocator a = spl_allocator_of(NULL);
    random_state = 3;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size;
        uint8_t *data = read_whole(i, &a, &size);
        REQUIRE(data);
        size_t json = size; /* the JSON part: all of a .gltf, the first chunk of a .glb */
        if (data[0] == 'g') json = 20 + (size_t)(data[12] | data[13] << 8 | data[14] << 16);
        for (int k = 0; k < 200; k++) {
            size_t at = next_random() % json;
            uint8_t old = data[at];
            /* Mostly a digit for a digit: what still parses goes deeper. */
            data[at] = k % 4 ? (uint8_t)('0' + next_random() % 10) : (uint8_t)next_random();
            load_damaged(data, size);
            data[at] = old;
        }
        spl_free(&a, data);
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

TEST(running_out_of_memory_anywhere_is_an_error_without_a_leak)
{
    for (size_t n = 0;; n++) {
        meter m = {.fail = true, .fail_at = n};
        supple_config config = metered(&m);
        supple_scene *scene;
        supple_error error = {0};
        supple_result result = spl_gltf_load_file(DATA "strip.gltf", &config, &scene, &error);
        if (result == SUPPLE_OK && m.calls <= n) { /* nothing failed: all allocations were tried */
            supple_scene_destroy(scene);
            CHECK(m.live == 0 && n > 30);
            return;
        }
        CHECK(result == SUPPLE_ERROR_MEMORY && scene == NULL && error.message[0]);
        CHECK(m.live == 0);
        REQUIRE(n < 10000);
    }
}

TEST_CASES(RUN(every_character_loads_with_its_counts), RUN(every_bad_file_is_refused_in_words),
           RUN(a_file_without_a_skin_loads), RUN(a_missing_file_and_a_folder_are_bad_input),
           RUN(truncated_files_are_refused), RUN(files_with_flipped_bytes_load_or_are_refused),
           RUN(running_out_of_memory_anywhere_is_an_error_without_a_leak))
