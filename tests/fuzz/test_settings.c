/* Replays found_settings/: material and force files, good ones and slips of the pen. */
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

TEST_MAIN(RUN(found_files_do_no_harm))
