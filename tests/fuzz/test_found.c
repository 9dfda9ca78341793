/* Replays the files in found/: inputs that once broke something, and small ones of each kind the reader must refuse. */
#include "exercise.h"
#include "test.h"

#include <dirent.h>

static char *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    char *bytes = malloc((size_t)length + 1);
    *size = bytes ? fread(bytes, 1, (size_t)length, file) : 0;
    fclose(file);
    return bytes;
}

TEST(found_files_do_no_harm)
{
    const char *folder = SPL_SOURCE_DIR "/tests/fuzz/found";
    DIR *dir = opendir(folder);
    REQUIRE(dir);
    int files = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        size_t size = 0;
        char *bytes = read_all(path, &size);
        CHECK(bytes);
        supple_result result = exercise(bytes, size);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_INPUT);
        free(bytes);
        files++;
    }
    closedir(dir);
    CHECK(files >= 4);
}

TEST(every_truncation_of_a_small_file_is_refused)
{
    const char *name = SPL_SOURCE_DIR "/tests/fuzz/found/one-triangle.gltf";
    size_t size = 0;
    char *bytes = read_all(name, &size);
    REQUIRE(bytes);
    CHECK(exercise(bytes, size) == SUPPLE_OK);
    /* The last bytes are the closing brace and a newline. */
    for (size_t cut = 0; cut + 2 < size; cut++) CHECK(exercise(bytes, cut) == SUPPLE_ERROR_INPUT);
    free(bytes);
}

TEST_CASES(RUN(found_files_do_no_harm), RUN(every_truncation_of_a_small_file_is_refused))
