/* Replays the files in found_fbx/: seeds of each kind, and inputs that once broke something; and corpus_fbx/
 * (test_corpus.c), for builds that have an importer. */
#include "corpus.h"
#include "read_points.h"
#include "test.h"

static supple_result read_one(const char *path, spl_points *p)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) return SUPPLE_ERROR_INPUT;
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    return size && data[0] == '<' ? spl_points_read_collada(data, size, &a, p, &error)
                                  : spl_points_read_fbx(data, size, &a, p, &error);
}

TEST(found_files_do_no_harm)
{
    static const char folder[] = SPL_SOURCE_DIR "/tests/fuzz/found_fbx";
    DIR *dir = opendir(folder);
    REQUIRE(dir);
    int seeds = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[4096];
        spl_points p = {0};
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        supple_result result = read_one(path, &p);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_INPUT);
        bool seed = strncmp(entry->d_name, "tent", 4) == 0;
        if (seed)
            CHECK(result == SUPPLE_OK && p.surface_count == 1 && p.surface[0].point_count == 5 && p.node_count == 1);
        seeds += seed;
        spl_points_release(&p);
    }
    closedir(dir);
    CHECK(seeds == 5);
}

static void read_points(void *user, const char *name, const uint8_t *data, size_t size)
{
    (void)name;
    *(int *)user += points_exercise(data, size);
}

TEST(corpus)
{
    int good = 0;
    CHECK(corpus_each("corpus_fbx", read_points, &good) >= 20);
    CHECK(good > 0);
}

TEST_CASES(RUN(found_files_do_no_harm), RUN(corpus))
