/* Replays found_settings/: material and force files, good ones and slips of the pen; and the examples in docs/. */
#include "core/file.h"
#include "settings.h"
#include "test.h"

#include <dirent.h>

TEST(found_files_do_no_harm)
{
    const char *folder = SPL_SOURCE_DIR "/tests/fuzz/found_settings";
    supple_allocator a = spl_allocator_of(NULL);
    DIR *dir = opendir(folder);
    REQUIRE(dir);
    int materials = 0, forces = 0, neither = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char path[4096];
        uint8_t *text;
        size_t size;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        CHECK(spl_file_read(path, 1 << 20, &a, &text, &size, NULL) == SUPPLE_OK);
        bool material = settings_material(text, size, &a), force = settings_forces(text, size, &a);
        CHECK(material == (strncmp(entry->d_name, "material", 8) == 0));
        CHECK(force == (strncmp(entry->d_name, "force", 5) == 0));
        materials += material;
        forces += force;
        neither += !material && !force;
        spl_free(&a, text);
    }
    closedir(dir);
    CHECK(materials >= 2 && forces >= 1 && neither >= 3);
}

/* The first block of JSON in docs/materials.md is a material file, the second a force file. */
TEST(the_examples_in_the_documentation_are_read)
{
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t *text;
    size_t size;
    REQUIRE(spl_file_read(SPL_SOURCE_DIR "/docs/materials.md", 1 << 20, &a, &text, &size, NULL) == SUPPLE_OK);
    const char *at = (const char *)text;
    for (int i = 0; i < 2; i++) {
        const char *begin = strstr(at, "```json"), *end = begin ? strstr(begin + 7, "```") : NULL;
        CHECK(end != NULL);
        if (!end) break;
        size_t n = (size_t)(end - begin) - 7;
        CHECK(i ? settings_forces(begin + 7, n, &a) : settings_material(begin + 7, n, &a));
        at = end + 3;
    }
    spl_free(&a, text);
}

TEST_CASES(RUN(found_files_do_no_harm), RUN(the_examples_in_the_documentation_are_read))
