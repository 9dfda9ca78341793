#include "core/memory.h"
#include "core/npy.h"
#include "failing.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

static const char path[] = "a.npy";

typedef struct array {
    uint8_t *bytes;
    size_t size;
    const char *text;    /* the header's, ending in a newline */
    const uint8_t *data; /* after it */
    size_t data_size;
} array;

/* Reads a file back by the format's description: magic, version, length of the text, text, data. */
static bool read_back(array *out)
{
    static char text[200];
    supple_allocator a = spl_allocator_of(NULL);
    if (spl_file_read(path, 1 << 20, &a, &out->bytes, &out->size, NULL) != SUPPLE_OK) return false;
    if (out->size < 10 || memcmp(out->bytes, "\x93NUMPY\x01\x00", 8) != 0) return false;
    size_t length = out->bytes[8] + 256U * out->bytes[9];
    if (10 + length > out->size || length >= sizeof text) return false;
    memcpy(text, out->bytes + 10, length);
    text[length] = 0;
    out->text = text;
    out->data = out->bytes + 10 + length;
    out->data_size = out->size - 10 - length;
    return true;
}

static void drop(array *a)
{
    supple_allocator allocator = spl_allocator_of(NULL);
    spl_free(&allocator, a->bytes);
    unlink(path);
}

/* The text is a dictionary padded with spaces, of printable characters only. */
static void check_text(const array *a, const char *descr, const char *shape)
{
    char expected[120];
    snprintf(expected, sizeof expected, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    CHECK(strncmp(a->text, expected, strlen(expected)) == 0);
    for (const char *c = a->text + strlen(expected); *c; c++) CHECK(*c == (c[1] ? ' ' : '\n'));
    CHECK((a->data - a->bytes) % 64 == 0);
}

TEST(each_type_and_shape)
{
    supple_allocator a = spl_allocator_of(NULL);
    const float f[6] = {1, -2, 3.5F, 1e-30F, 5, 6};
    const double d[6] = {1, -2, 3.5, 1e-300, 5, 6};
    const int32_t i[6] = {1, -2, 3, 2147483647, 5, 6};
    static const char *const names[] = {"<f4", "<f8", "<i4"};
    const void *data[] = {f, d, i};
    const size_t bytes[] = {sizeof f, sizeof d, sizeof i};
    for (int type = 0; type < 3; type++)
        for (size_t width = 0; width <= 3; width++) {
            char shape[40];
            size_t count = 6 / (width ? width : 1);
            array back = {0};
            snprintf(shape, sizeof shape, width ? "%zu, %zu" : "%zu, ", count, width);
            CHECK(spl_npy_write(path, (spl_npy_type)type, data[type], count, width, &a, NULL) == SUPPLE_OK);
            REQUIRE(read_back(&back));
            check_text(&back, names[type], shape);
            CHECK(back.data_size == bytes[type] && !memcmp(back.data, data[type], bytes[type]));
            drop(&back);
        }
}

TEST(empty_arrays)
{
    supple_allocator a = spl_allocator_of(NULL);
    array back = {0};
    CHECK(spl_npy_write(path, SPL_NPY_FLOAT64, NULL, 0, 5, &a, NULL) == SUPPLE_OK);
    REQUIRE(read_back(&back));
    check_text(&back, "<f8", "0, 5");
    CHECK(back.data_size == 0);
    drop(&back);
}

/* Three dimensions, and the largest that fit into memory: the text still fits into its header. */
TEST(headers_of_three_dimensions)
{
    supple_allocator a = spl_allocator_of(NULL);
    static const size_t shapes[2][3] = {{100, 14000, 3}, {4294967295U, 4294967295U, 3}};
    static const char *const texts[2] = {"100, 14000, 3", "4294967295, 4294967295, 3"};
    for (int i = 0; i < 2; i++) {
        spl_output output;
        array back = {0};
        REQUIRE(spl_output_open(&output, path, &a, NULL) == SUPPLE_OK);
        CHECK(spl_npy_header(&output, SPL_NPY_FLOAT32, shapes[i], NULL) == SUPPLE_OK);
        REQUIRE(spl_output_commit(&output, NULL) == SUPPLE_OK);
        REQUIRE(read_back(&back));
        check_text(&back, "<f4", texts[i]);
        drop(&back);
    }
}

TEST(a_folder_that_is_not_there)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    double x = 1;
    CHECK(spl_npy_write("npy-nowhere/x.npy", SPL_NPY_FLOAT64, &x, 1, 0, &a, &error) == SUPPLE_ERROR_OUTPUT);
    CHECK(strstr(error.message, "npy-nowhere") != NULL);
}

TEST(memory_may_run_out)
{
    static const char inside[] = "folder/a.npy";
    double x = 1;
    long n = 0;
    REQUIRE(mkdir("folder", 0700) == 0);
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        supple_result result = spl_npy_write(inside, SPL_NPY_FLOAT64, &x, 1, 0, &a, NULL);
        bool made = result == SUPPLE_OK;
        ended = made && f.requests <= n; /* some requests may fail without harm */
        CHECK(made || result == SUPPLE_ERROR_MEMORY);
        CHECK(f.live == 0 && (access(inside, F_OK) == 0) == made);
    }
    CHECK(n > 1);
    unlink(inside);
    CHECK(rmdir("folder") == 0); /* nothing is left behind */
}

TEST_CASES(RUN(each_type_and_shape), RUN(empty_arrays), RUN(headers_of_three_dimensions),
           RUN(a_folder_that_is_not_there), RUN(memory_may_run_out))
