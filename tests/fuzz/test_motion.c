/* Replays found_bvh/: motions, good ones and broken ones. */
#include "core/file.h"
#include "motion.h"
#include "test.h"

#include <dirent.h>

TEST(found_files_do_no_harm)
{
    const char *folder = SPL_SOURCE_DIR "/tests/fuzz/found_bvh";
    supple_allocator a = spl_allocator_of(NULL);
    supple_scene *skeleton = motion_skeleton();
    REQUIRE(skeleton);
    DIR *dir = opendir(folder);
    REQUIRE(dir);
    int good = 0, bad = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char path[4096];
        uint8_t *text;
        size_t size;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        CHECK(spl_file_read(path, 1 << 20, &a, &text, &size, NULL) == SUPPLE_OK);
        bool is_motion = motion_exercise(skeleton, text, size);
        CHECK(is_motion == (strncmp(entry->d_name, "bad", 3) != 0));
        good += is_motion;
        bad += !is_motion;
        spl_free(&a, text);
    }
    closedir(dir);
    supple_scene_destroy(skeleton);
    CHECK(good >= 3 && bad >= 2);
}

TEST_CASES(RUN(found_files_do_no_harm))
