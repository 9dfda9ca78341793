#include "core/file.h"
#include "core/memory.h"
#include "failing.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

/* A case has an empty folder of its own (tests/main.c). */
static const char folder[] = ".", path[] = "x";

static bool exists(const char *name)
{
    return access(name, F_OK) == 0;
}

static int entries(void)
{
    char command[300];
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *pipe = popen(command, "r");
    int n = -1;
    if (pipe && fscanf(pipe, "%d", &n) != 1) n = -1;
    if (pipe) pclose(pipe);
    return n;
}

TEST(a_committed_file_is_whole)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_output output;
    REQUIRE(spl_output_open(&output, path, &a, NULL) == SUPPLE_OK);
    CHECK(spl_output_bytes(&output, "hello", 5, NULL) == SUPPLE_OK);
    CHECK(!exists(path));
    CHECK(spl_output_commit(&output, NULL) == SUPPLE_OK);
    uint8_t *data;
    size_t size;
    REQUIRE(spl_file_read(path, 100, &a, &data, &size, NULL) == SUPPLE_OK);
    CHECK(size == 5 && memcmp(data, "hello", 6) == 0);
    spl_free(&a, data);
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == (0666 & ~mask));
    CHECK(entries() == 1);
    unlink(path);
}

TEST(a_discarded_file_leaves_nothing_and_keeps_the_old_one)
{
    supple_allocator a = spl_allocator_of(NULL);
    FILE *old = fopen(path, "w");
    REQUIRE(old);
    fputs("old", old);
    fclose(old);
    spl_output output;
    REQUIRE(spl_output_open(&output, path, &a, NULL) == SUPPLE_OK);
    spl_output_bytes(&output, "new", 3, NULL);
    spl_output_discard(&output);
    spl_output_discard(&output);
    uint8_t *data;
    size_t size;
    REQUIRE(spl_file_read(path, 100, &a, &data, &size, NULL) == SUPPLE_OK);
    CHECK(size == 3 && memcmp(data, "old", 3) == 0);
    spl_free(&a, data);
    CHECK(entries() == 1);
    unlink(path);
}

TEST(impossible_outputs_are_refused)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error;
    spl_output output;
    CHECK(spl_output_open(&output, folder, &a, &error) == SUPPLE_ERROR_OUTPUT);
    CHECK(spl_output_open(&output, "no/such/folder/x", &a, &error) == SUPPLE_ERROR_OUTPUT);
    CHECK(strstr(error.message, "No such file") != NULL);
    CHECK(spl_output_open(&output, "/dev/null", &a, &error) == SUPPLE_ERROR_OUTPUT);
}

TEST(impossible_inputs_are_refused)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error;
    uint8_t *data;
    size_t size;
    CHECK(spl_file_read(folder, 100, &a, &data, &size, &error) == SUPPLE_ERROR_INPUT && !data);
    CHECK(spl_file_read("no-such-file", 100, &a, &data, &size, &error) == SUPPLE_ERROR_INPUT);
    CHECK(spl_file_read("/dev/zero", 100, &a, &data, &size, &error) == SUPPLE_ERROR_INPUT);
    char fifo[300];
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    CHECK(mkfifo(fifo, 0600) == 0);
    CHECK(spl_file_read(fifo, 100, &a, &data, &size, &error) == SUPPLE_ERROR_INPUT);
    unlink(fifo);
    FILE *big = fopen(path, "w");
    REQUIRE(big);
    fputs("more than four", big);
    fclose(big);
    CHECK(spl_file_read(path, 4, &a, &data, &size, &error) == SUPPLE_ERROR_INPUT);
    unlink(path);
}

TEST(one_file_under_two_names_is_the_same)
{
    char other[300];
    snprintf(other, sizeof other, "%s/link", folder);
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    fclose(file);
    CHECK(symlink("x", other) == 0);
    CHECK(spl_file_same(path, other));
    CHECK(!spl_file_same(path, folder) && !spl_file_same(path, "no-such-file"));
    unlink(other);
    unlink(path);
}

TEST(failing_allocations_leave_nothing)
{
    for (long n = 0; n < 10; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_output output;
        supple_result result = spl_output_open(&output, path, &a, NULL);
        if (result == SUPPLE_OK)
            spl_output_discard(&output);
        else
            CHECK(result == SUPPLE_ERROR_MEMORY);
        CHECK(f.live == 0 && entries() == 0);
        if (f.requests <= n) break;
    }
}

static void put(const char *name)
{
    FILE *file = fopen(name, "w");
    if (file) fclose(file);
}

/* What a killed writer left goes when the same output is opened the next time; what others are writing, or have so
 * named, stays. */
TEST(what_a_killed_writer_left_is_swept)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_output alive, other;
    put("walk.glb.partial-0123abcd"); /* nobody holds its lock */
    put("walk_0007.obj.partial-0123abcd");
    put("run.glb.partial-0123abcd");
    put("walk.glb.partial-notes");
    put("walk.glb");
    REQUIRE(symlink("walk.glb", "walk.glb.partial-linkedto") == 0);
    REQUIRE(spl_output_open(&alive, "walk.png", &a, NULL) == SUPPLE_OK);
    REQUIRE(spl_output_open(&other, "walk.glb", &a, NULL) == SUPPLE_OK);
    CHECK(entries() == 8);
    spl_output_sweep("walk.glb");
    CHECK(!exists("walk.glb.partial-0123abcd") && !exists("walk_0007.obj.partial-0123abcd"));
    CHECK(exists("run.glb.partial-0123abcd") && exists("walk.glb.partial-notes") && exists("walk.glb"));
    CHECK(entries() == 6); /* these, the link and the two that are being written */
    CHECK(spl_output_commit(&alive, NULL) == SUPPLE_OK && exists("walk.png"));
    spl_output_discard(&other);
    spl_output_sweep("no/such/folder/x.glb");
    CHECK(entries() == 5);
}

TEST_CASES(RUN(what_a_killed_writer_left_is_swept), RUN(a_committed_file_is_whole),
           RUN(a_discarded_file_leaves_nothing_and_keeps_the_old_one), RUN(impossible_outputs_are_refused),
           RUN(impossible_inputs_are_refused), RUN(one_file_under_two_names_is_the_same),
           RUN(failing_allocations_leave_nothing))
