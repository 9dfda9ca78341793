/* The simple formats, read back by parsers that share nothing with the writers. The scene is made by hand. */
#include "scene/little.h"
#include "scene/writer_frames.h"
#include "test.h"

#include <locale.h>
#include <signal.h>
#include <sys/resource.h>

static char folder[] = "writers.d";

static const char *in_folder(const char *name)
{
    static char path[2][256];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static uint32_t u32(const uint8_t *p, bool big)
{
    return big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
               : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* How many of the floats in a file's bytes differ in their bits. */
static int differing(const uint8_t *p, const float *expected, size_t count, bool big)
{
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, expected + i, 4);
        wrong += u32(p + 4 * i, big) != bits;
    }
    return wrong;
}

TEST(npy_holds_the_bits)
{
    little s;
    make_little(&s, 3, NULL);
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    supple_error error;
    REQUIRE(write_frames(&s.scene, in_folder("a.NPY"), &seven, 24, &f, &error) == SUPPLE_OK);
    size_t size;
    uint8_t *data = read_bytes(in_folder("a.NPY"), &size);
    REQUIRE(data && size > 128);
    CHECK(memcmp(data, "\x93NUMPY\x01\x00", 8) == 0);
    size_t header = 10 + data[8] + 256u * data[9];
    CHECK(header % 64 == 0 && data[header - 1] == '\n');
    CHECK(strstr((char *)data + 10, "'descr': '<f4', 'fortran_order': False, 'shape': (7, 18, 3)") != NULL);
    CHECK(strlen((char *)data + 10) >= header - 10); /* no zero byte in the text */
    CHECK(size == header + 7 * 18 * 12);
    CHECK(differing(data + header, f.position, 7 * 18 * 3, false) == 0);
    CHECK(files_in(folder) == 1);
    free(data);
    free_frames(&f);
}

static void check_pc2(const char *path, const frames *f, size_t first, size_t points)
{
    size_t size;
    uint8_t *data = read_bytes(path, &size);
    REQUIRE(data && size == 32 + 12 * points * (size_t)f->count);
    CHECK(memcmp(data, "POINTCACHE2\0", 12) == 0);
    CHECK(u32(data + 12, false) == 1 && u32(data + 16, false) == points);
    CHECK(u32(data + 20, false) == 0 && u32(data + 24, false) == 0x3f800000);
    CHECK(u32(data + 28, false) == (uint32_t)f->count);
    for (int32_t k = 0; k < f->count; k++)
        CHECK(differing(data + 32 + 12 * points * (size_t)k,
                        f->position + 3 * ((size_t)k * (size_t)f->vertices + first), 3 * points, false) == 0);
    free(data);
}

static void check_mdd(const char *path, const frames *f, size_t first, size_t points, double fps)
{
    size_t size;
    uint8_t *data = read_bytes(path, &size);
    REQUIRE(data && size == 8 + (size_t)f->count * (4 + 12 * points));
    CHECK(u32(data, true) == (uint32_t)f->count && u32(data + 4, true) == points);
    for (int32_t k = 0; k < f->count; k++) {
        float time = (float)(k / fps);
        CHECK(differing(data + 8 + 4 * k, &time, 1, true) == 0);
        CHECK(differing(data + 8 + 4 * f->count + 12 * points * (size_t)k,
                        f->position + 3 * ((size_t)k * (size_t)f->vertices + first), 3 * points, true) == 0);
    }
    free(data);
}

TEST(caches_of_one_mesh)
{
    little s;
    make_little(&s, 1, NULL);
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    CHECK(write_frames(&s.scene, in_folder("a.pc2"), &seven, 24, &f, NULL) == SUPPLE_OK);
    CHECK(write_frames(&s.scene, in_folder("a.mdd"), &seven, 24, &f, NULL) == SUPPLE_OK);
    check_pc2(in_folder("a.pc2"), &f, 0, 6);
    check_mdd(in_folder("a.mdd"), &f, 0, 6, 24);
    CHECK(files_in(folder) == 2);
    free_frames(&f);
}

TEST(names_from_files_stay_in_the_folder)
{
    static const char *const names[] = {"../../x", "a/b", "con\nrole", "thing", "Thing", "..", "", ".hide"};
    static const char *const expected[] = {"______x", "a_b", "con_role", "thing", "Thing-2", "mesh", "body", "_hide"};
    little s;
    make_little(&s, 8, names);
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    CHECK(write_frames(&s.scene, in_folder("out.pc2"), &seven, 24, &f, NULL) == SUPPLE_OK);
    CHECK(write_frames(&s.scene, in_folder("out.mdd"), &seven, 24, &f, NULL) == SUPPLE_OK);
    for (size_t i = 0; i < 8; i++) {
        char name[64];
        snprintf(name, sizeof name, "out.%s.pc2", expected[i]);
        check_pc2(in_folder(name), &f, 6 * i, 6);
        snprintf(name, sizeof name, "out.%s.mdd", expected[i]);
        check_mdd(in_folder(name), &f, 6 * i, 6, 24);
    }
    CHECK(files_in(folder) == 16);
    free_frames(&f);
}

TEST(safe_names)
{
    static const char *const cases[][2] = {
        {"arm.L", "arm.L"},       {"a..b", "a_.b"},  {"x.", "x_"},
        {"a b;$(c)", "a_b___c_"}, {"-rf", "_rf"},    {"H\xc3\xa4nde", "H\xc3\xa4nde"},
        {"\xff\xfe", "none"},     {"C:\\x", "C__x"}, {"\x1b[31m", "__31m"}};
    supple_allocator a = spl_allocator_of(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *name = spl_safe_name(cases[i][0], "none", &a);
        if (strcmp(name, cases[i][1]) != 0) printf("    '%s' -> '%s'\n", cases[i][0], name);
        CHECK(strcmp(name, cases[i][1]) == 0);
        spl_free(&a, name);
    }
    char tall[301];
    memset(tall, 'a', 300);
    tall[300] = 0;
    memcpy(tall + 62, "\xe2\x82\xac", 3); /* a character across the limit */
    char *name = spl_safe_name(tall, "none", &a);
    CHECK(strlen(name) == 62);
    spl_free(&a, name);
}

/* Reads the numbers of all lines that begin with a word and a space. */
static size_t read_lines(const char *text, const char *word, float *out)
{
    size_t count = 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, word, strlen(word)) != 0 || line[strlen(word)] != ' ') continue;
        char *at = (char *)line + strlen(word);
        for (char *end; *at == ' '; at = end) {
            out[count] = strtof(at, &end);
            if (end == at) break;
            count++;
        }
    }
    return count;
}

TEST(obj_sequence_is_exact)
{
    static const char *const names[] = {"left", "left"};
    little s;
    make_little(&s, 2, names);
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    s.node[1].s[2] = -1;                                       /* the second one is a mirror image */
    bool comma = setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL; /* where it is installed */
    CHECK(write_frames(&s.scene, in_folder("out.obj"), &seven, 24, &f, NULL) == SUPPLE_OK);
    if (comma) setlocale(LC_NUMERIC, "C");
    CHECK(files_in(folder) == 8);
    for (int32_t k = 0; k < 7; k++) {
        char name[32];
        snprintf(name, sizeof name, "out.%04d.obj", (int)k);
        size_t size;
        char *text = (char *)read_bytes(in_folder(name), &size);
        REQUIRE(text);
        float number[256];
        const float *x = f.position + 3 * 12 * k, *n = f.normal + 3 * 12 * k;
        REQUIRE(read_lines(text, "v", number) == 36);
        CHECK(memcmp(number, x, 36 * sizeof(float)) == 0);
        REQUIRE(read_lines(text, "vn", number) == 24); /* the points have none */
        CHECK(memcmp(number, n, 48) == 0 && memcmp(number + 12, n + 18, 48) == 0);
        REQUIRE(read_lines(text, "vt", number) == 16);
        CHECK(number[4] == 1 && number[5] == 0.75f);
        CHECK(strstr(text, "f 1/1/1 2/2/2 3/3/3\nf 1/1/1 3/3/3 4/4/4\n") != NULL);
        CHECK(strstr(text, "f 7/5/5 9/7/7 8/6/6\n") != NULL);
        CHECK(strstr(text, "\no left\n") && strstr(text, "\no left-2\n"));
        CHECK(strstr(text, "mtllib out.mtl\n") && strstr(text, "usemtl red_paint-0\n"));
        free(text);
    }
    size_t size;
    char *text = (char *)read_bytes(in_folder("out.mtl"), &size);
    REQUIRE(text);
    CHECK(strstr(text, "newmtl red_paint-0\nKd 0.800000012 0.100000001 0.200000003\n") != NULL);
    free(text);
    free_frames(&f);
}

static supple_result try_open(const supple_scene *scene, const char *path, supple_range range, int32_t ranges,
                              double fps, supple_error *error)
{
    supple_range list[2] = {range, range};
    supple_plan plan = {.ranges = list, .range_count = ranges, .fps = fps};
    supple_writer *w = (supple_writer *)list;
    supple_result result = spl_writer_open_with(all_formats, FORMAT_COUNT, scene, path, &plan, NULL, &w, error);
    CHECK((result == SUPPLE_OK) == (w != NULL));
    supple_writer_abort(w);
    return result;
}

TEST(plans_are_checked)
{
    little s;
    make_little(&s, 1, NULL);
    clean_folder(folder);
    supple_error error;
    const char *path = in_folder("a.npy");
    CHECK(try_open(&s.scene, path, seven, 1, 30, &error) == SUPPLE_OK);
    CHECK(try_open(&s.scene, path, seven, 2, 30, &error) == SUPPLE_ERROR_ARGUMENT); /* one clip a file */
    CHECK(try_open(&s.scene, path, seven, 0, 30, &error) == SUPPLE_ERROR_ARGUMENT);
    const double rates[] = {0, -1, NAN, INFINITY, 1e-300};
    for (int i = 0; i < 5; i++) CHECK(try_open(&s.scene, path, seven, 1, rates[i], &error) == SUPPLE_ERROR_ARGUMENT);
    const supple_range bad[] = {{0, 0, 1}, {-2, 0, 1}, {-1, -1, 1}, {-1, 0, 0}, {-1, INT32_MAX, 2}};
    for (int i = 0; i < 5; i++) CHECK(try_open(&s.scene, path, bad[i], 1, 30, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(try_open(&s.scene, in_folder("a.xyz"), seven, 1, 30, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(strstr(error.message, ".glb .gltf .npy .pc2 .mdd .obj .abc .usda") != NULL);
    CHECK(spl_format_find(all_formats, FORMAT_COUNT, ".npy") == NULL); /* an ending alone is a hidden file */
    CHECK(spl_format_find(all_formats, FORMAT_COUNT, "x.GlB") == &spl_format_glb);
    CHECK(files_in(folder) == 0);
}

TEST(frames_come_in_order_and_are_numbers)
{
    little s;
    make_little(&s, 1, NULL);
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    supple_plan plan = {.ranges = &seven, .range_count = 1, .fps = 24};
    supple_writer *w;
    REQUIRE(spl_writer_open_with(all_formats, FORMAT_COUNT, &s.scene, in_folder("a.npy"), &plan, NULL, &w, NULL) ==
            SUPPLE_OK);
    supple_frame frame = frame_at(&f, 0, 1);
    CHECK(supple_writer_frame(w, &frame, NULL) == SUPPLE_ERROR_ARGUMENT);
    frame = frame_at(&f, 0, 0);
    CHECK(supple_writer_frame(w, &frame, NULL) == SUPPLE_OK);
    CHECK(supple_writer_frame(w, &frame, NULL) == SUPPLE_ERROR_ARGUMENT);
    frame = frame_at(&f, 0, 1);
    f.position[3 * 6 + 5] = NAN;
    CHECK(supple_writer_frame(w, &frame, NULL) == SUPPLE_ERROR_SOLVE);
    f.position[3 * 6 + 5] = -INFINITY;
    CHECK(supple_writer_frame(w, &frame, NULL) == SUPPLE_ERROR_SOLVE);
    CHECK(supple_writer_close(w, NULL) == SUPPLE_ERROR_ARGUMENT); /* too early */
    CHECK(files_in(folder) == 0);
    free_frames(&f);
}

TEST(the_input_is_never_overwritten)
{
    little s;
    make_little(&s, 2, NULL);
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    static const char *const taken[] = {"in.npy", "out.thing-2.pc2", "seq.0003.obj", "seq.mtl"};
    for (int i = 0; i < 4; i++) fclose(fopen(in_folder(taken[i]), "wb"));
    char path[2][64];
    snprintf(path[0], sizeof path[0], "./%s/in.npy", folder);
    s.scene.path = path[0];
    s.scene.from_file = true;
    char *file[] = {path[1]};
    s.scene.file = file;
    s.scene.file_count = 1;
    supple_error error;
    path[1][0] = 0;
    CHECK(write_frames(&s.scene, in_folder("in.npy"), &seven, 24, &f, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(strstr(error.message, "would overwrite the input") != NULL);
    static const char *const written[] = {"out.pc2", "seq.obj", "seq.obj"};
    for (int i = 0; i < 3; i++) {
        snprintf(path[1], sizeof path[1], "%s/%s", folder, taken[i + 1]);
        CHECK(write_frames(&s.scene, in_folder(written[i]), &seven, 24, &f, &error) == SUPPLE_ERROR_ARGUMENT);
        CHECK(files_in(folder) == 4);
    }
    free_frames(&f);
}

TEST(whole_or_nothing)
{
    static const char *const endings[] = {"a.npy", "a.pc2", "a.mdd", "a.obj", "a.abc", "a.usda"};
    little s;
    make_little(&s, 2, NULL);
    frames f = make_frames(&s.scene, &seven, 24);
    supple_error error;
    for (int i = 0; i < 6; i++) {
        char path[64];
        snprintf(path, sizeof path, "no_such_folder.d/%s", endings[i]);
        CHECK(write_frames(&s.scene, path, &seven, 24, &f, &error) == SUPPLE_ERROR_OUTPUT);
        CHECK(strstr(error.message, "No such file") != NULL);
        /* Aborted in the middle. */
        clean_folder(folder);
        supple_writer *w;
        supple_plan plan = {.ranges = &seven, .range_count = 1, .fps = 24};
        REQUIRE(spl_writer_open_with(all_formats, FORMAT_COUNT, &s.scene, in_folder(endings[i]), &plan, NULL, &w,
                                     NULL) == SUPPLE_OK);
        supple_frame frame = frame_at(&f, 0, 0);
        CHECK(supple_writer_frame(w, &frame, NULL) == SUPPLE_OK);
        CHECK(files_in(folder) > 0);
        supple_writer_abort(w);
        CHECK(files_in(folder) == 0);
        /* An older file stays as it is when the new one fails. */
        FILE *old = fopen(in_folder(endings[i]), "wb");
        fputs("old", old);
        fclose(old);
        REQUIRE(spl_writer_open_with(all_formats, FORMAT_COUNT, &s.scene, in_folder(endings[i]), &plan, NULL, &w,
                                     NULL) == SUPPLE_OK);
        CHECK(supple_writer_close(w, NULL) == SUPPLE_ERROR_ARGUMENT);
        size_t size;
        char *text = (char *)read_bytes(in_folder(endings[i]), &size);
        CHECK(text && strcmp(text, "old") == 0 && files_in(folder) == 1);
        free(text);
    }
    supple_writer_abort(NULL);
    free_frames(&f);
}

TEST(a_folder_in_the_way)
{
    static const char *const outputs[] = {"a.npy", "a.pc2", "a.mdd", "a.obj"};
    static const char *const blocked[] = {"a.npy", "a.thing-2.pc2", "a.thing-2.mdd", "a.0004.obj"};
    little s;
    make_little(&s, 2, NULL);
    frames f = make_frames(&s.scene, &seven, 24);
    for (int i = 0; i < 4; i++) {
        clean_folder(folder);
        mkdir(in_folder(blocked[i]), 0755);
        CHECK(write_frames(&s.scene, in_folder(outputs[i]), &seven, 24, &f, NULL) == SUPPLE_ERROR_OUTPUT);
        CHECK(files_in(folder) == 1);
    }
    /* The folder comes while the files are written: what was renamed before is taken back. */
    for (int i = 1; i < 4; i++) {
        clean_folder(folder);
        supple_writer *w;
        supple_plan plan = {.ranges = &seven, .range_count = 1, .fps = 24};
        REQUIRE(spl_writer_open_with(all_formats, FORMAT_COUNT, &s.scene, in_folder(outputs[i]), &plan, NULL, &w,
                                     NULL) == SUPPLE_OK);
        for (int32_t k = 0; k < 7; k++) {
            supple_frame frame = frame_at(&f, 0, k);
            CHECK(supple_writer_frame(w, &frame, NULL) == SUPPLE_OK);
        }
        mkdir(in_folder(blocked[i]), 0755);
        CHECK(supple_writer_close(w, NULL) == SUPPLE_ERROR_OUTPUT);
        CHECK(files_in(folder) == 1);
    }
    clean_folder(folder);
    free_frames(&f);
}

/* A full disk: the stream behind an output is replaced by one to /dev/full. */
TEST(a_full_disk_is_an_error)
{
    FILE *full = fopen("/dev/full", "wb");
    if (!full) SKIP("no /dev/full");
    clean_folder(folder);
    supple_allocator a = spl_allocator_of(NULL);
    spl_output output[2];
    REQUIRE(spl_output_open(&output[0], in_folder("a"), &a, NULL) == SUPPLE_OK);
    REQUIRE(spl_output_open(&output[1], in_folder("b"), &a, NULL) == SUPPLE_OK);
    fclose(output[1].stream);
    output[1].stream = full;
    float values[1000] = {0};
    supple_error error;
    CHECK(spl_output_floats(&output[0], values, 10, false, &error) == SUPPLE_OK);
    CHECK(spl_output_floats(&output[1], values, 10, false, &error) == SUPPLE_OK); /* still in the buffer */
    CHECK(spl_outputs_commit(output, 2, &a, &error) == SUPPLE_ERROR_OUTPUT);
    CHECK(strstr(error.message, "No space left") != NULL);
    for (int i = 0; i < 2; i++) spl_output_discard(&output[i]);
    CHECK(files_in(folder) == 0);
    REQUIRE(spl_output_open(&output[0], in_folder("a"), &a, NULL) == SUPPLE_OK);
    fclose(output[0].stream);
    output[0].stream = fopen("/dev/full", "wb");
    supple_result result = SUPPLE_OK;
    for (int i = 0; i < 100 && result == SUPPLE_OK; i++)
        result = spl_output_floats(&output[0], values, 1000, true, &error);
    CHECK(result == SUPPLE_ERROR_OUTPUT);
    spl_output_discard(&output[0]);
    CHECK(files_in(folder) == 0);
}

/* No file may grow beyond a few thousand bytes: every format notices, and leaves nothing. */
TEST(a_limit_on_files_is_an_error)
{
    static const char *const outputs[] = {"a.npy", "a.pc2", "a.mdd", "a.obj", "a.abc", "a.usda"};
    little s;
    make_little(&s, 8, NULL);
    supple_range many = {-1, 0, 60};
    frames f = make_frames(&s.scene, &many, 24);
    struct rlimit before, low;
    getrlimit(RLIMIT_FSIZE, &before);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 6; i++)
        for (rlim_t limit = 1000; limit <= 4000; limit += 1500) {
            supple_error error = {0};
            clean_folder(folder);
            low = (struct rlimit){limit, before.rlim_max};
            setrlimit(RLIMIT_FSIZE, &low);
            supple_result r = write_frames(&s.scene, in_folder(outputs[i]), &many, 24, &f, &error);
            setrlimit(RLIMIT_FSIZE, &before);
            bool small = i == 3 && limit > 3000; /* one .obj is small */
            CHECK(small || (r == SUPPLE_ERROR_OUTPUT && files_in(folder) == 0));
        }
    signal(SIGXFSZ, handler);
    clean_folder(folder);
    free_frames(&f);
}

TEST(every_allocation_may_fail)
{
    static const char *const outputs[] = {"a.npy", "a.pc2", "a.mdd", "a.obj", "a.abc", "a.usda"};
    little s;
    make_little(&s, 3, NULL);
    supple_range two = {-1, 0, 2};
    frames f = make_frames(&s.scene, &two, 24);
    for (int i = 0; i < 6; i++) {
        int n = 0;
        for (supple_result r = SUPPLE_ERROR_MEMORY; r != SUPPLE_OK && n < 500; n++) {
            clean_folder(folder);
            supple_config config = limited_config(n);
            r = write_ranges(&s.scene, in_folder(outputs[i]), &two, 1, 24, &f, &config, NULL);
            CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
            CHECK(blocks_alive == 0);
            CHECK((files_in(folder) == 0) == (r != SUPPLE_OK));
        }
        CHECK(n > 5 && n < 500);
    }
    clean_folder(folder);
    free_frames(&f);
}

TEST_CASES(RUN(npy_holds_the_bits), RUN(caches_of_one_mesh), RUN(names_from_files_stay_in_the_folder), RUN(safe_names),
           RUN(obj_sequence_is_exact), RUN(plans_are_checked), RUN(frames_come_in_order_and_are_numbers),
           RUN(the_input_is_never_overwritten), RUN(whole_or_nothing), RUN(a_folder_in_the_way),
           RUN(a_full_disk_is_an_error), RUN(a_limit_on_files_is_an_error), RUN(every_allocation_may_fail))
