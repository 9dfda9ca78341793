#include "core/store.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/timer.h"
#include "failing.h"
#include "test.h"

#include <unistd.h>

static const char path[] = "test.store";
static const spl_store_id id = {"body", 3, {{0x0123456789abcdef, 0xfedcba9876543210}}};
static const double reals[6] = {1, -0.0, 1e300, 5e-324, 0.1, -7};
static const int32_t whole[5] = {0, -1, 7, INT32_MAX, INT32_MIN};
static const uint8_t text[3] = {'a', 0, 255};
static const float halves[4] = {0.5f, -0.5f, 3e38f, 0};
static const int64_t large[2] = {INT64_MIN, INT64_MAX};

static supple_result fill(const char *where, const supple_config *config, supple_error *error)
{
    spl_store_writer *w;
    supple_result result = spl_store_create(where, &id, config, &w, error);
    if (result) return result;
    spl_store_add(w, "rest/x", SPL_STORE_F64, 3, 2, reals, error); /* failures come back from the commit */
    spl_store_add(w, "tets", SPL_STORE_I32, 1, 5, whole, error);
    spl_store_add(w, "empty", SPL_STORE_F32, 4, 0, NULL, error);
    spl_store_add(w, "text", SPL_STORE_U8, 1, 3, text, error);
    spl_store_add(w, "halves", SPL_STORE_F32, 2, 2, halves, error);
    spl_store_add(w, "large", SPL_STORE_I64, 1, 2, large, error);
    return spl_store_commit(w, error);
}

static bool holds(const spl_store_reader *r, const char *name, spl_store_type type, uint32_t width, size_t count,
                  const void *want)
{
    const void *data;
    size_t n;
    spl_store_want w = {name, type, width, 0, 100, 0, 0, true};
    if (spl_store_get(r, &w, &data, &n, NULL) != SUPPLE_OK || n != count) return false;
    return (uintptr_t)data % 64 == 0 && memcmp(data, want, n * width * spl_store_type_size(type)) == 0;
}

TEST(arrays_come_back)
{
    supple_error error = {0};
    REQUIRE(fill(path, NULL, &error) == SUPPLE_OK);
    spl_store_reader *r;
    REQUIRE(spl_store_open(path, &id, NULL, &r, &error) == SUPPLE_OK);
    CHECK(spl_store_count(r) == 6 && strcmp(spl_store_name(r, 1), "tets") == 0);
    CHECK(holds(r, "rest/x", SPL_STORE_F64, 3, 2, reals) && holds(r, "tets", SPL_STORE_I32, 1, 5, whole));
    CHECK(holds(r, "empty", SPL_STORE_F32, 4, 0, "") && holds(r, "text", SPL_STORE_U8, 1, 3, text));
    CHECK(holds(r, "halves", SPL_STORE_F32, 2, 2, halves) && holds(r, "large", SPL_STORE_I64, 1, 2, large));
    spl_store_id own = spl_store_identity(r);
    CHECK(strcmp(own.kind, "body") == 0 && own.version == 3 && own.key.part[1] == id.key.part[1]);
    void *copy;
    size_t n;
    supple_allocator a = spl_allocator_of(NULL);
    CHECK(spl_store_copy(r, &(spl_store_want){"tets", SPL_STORE_I32, 1, 5, 5, 0, 0, true}, &copy, &n, NULL) ==
          SUPPLE_OK);
    CHECK(n == 5 && memcmp(copy, whole, sizeof whole) == 0);
    spl_free(&a, copy);
    spl_store_close(r);
    CHECK(spl_store_open(path, NULL, NULL, &r, &error) == SUPPLE_OK);
    spl_store_close(r);
    unlink(path);
}

/* What the bytes are must not change: files outlive programs. */
TEST(the_format_is_what_it_was)
{
    REQUIRE(fill(path, NULL, NULL) == SUPPLE_OK);
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t *data;
    size_t size;
    REQUIRE(spl_file_read(path, 1 << 20, &a, &data, &size, NULL) == SUPPLE_OK);
    spl_key key = spl_digest_of(data, size);
    printf("    %zu bytes, hash %016llx%016llx\n", size, (unsigned long long)key.part[0],
           (unsigned long long)key.part[1]);
    CHECK(size == 1024 && key.part[0] == 0x412779e97dce9916 && key.part[1] == 0x8e0f664c0b035051);
    CHECK(memcmp(data, "\x8bSUPPL\r\n\1\0\0\0\6\0\0\0", 16) == 0);
    CHECK(memcmp(data + 128, reals, 0) == 0 && data[128 + 6] == 0xf0 && data[128 + 7] == 0x3f); /* 1.0 */
    spl_free(&a, data);
    unlink(path);
}

TEST(wrong_wants_are_refused)
{
    REQUIRE(fill(path, NULL, NULL) == SUPPLE_OK);
    spl_store_reader *r;
    REQUIRE(spl_store_open(path, &id, NULL, &r, NULL) == SUPPLE_OK);
    const spl_store_want wants[] = {
        {"absent", SPL_STORE_I32, 1, 0, 100, 0, 0, true},
        {"tets", SPL_STORE_F32, 1, 0, 100, 0, 0, true},
        {"tets", SPL_STORE_I32, 5, 0, 100, 0, 0, true},
        {"tets", SPL_STORE_I32, 1, 6, 100, 0, 0, true},
        {"tets", SPL_STORE_I32, 1, 0, 4, 0, 0, true},
        {"tets", SPL_STORE_I32, 1, 0, 100, 0, INT32_MAX, false},
        {"tets", SPL_STORE_I32, 1, 0, 100, -9, 9, false},
        {"tets", SPL_STORE_I32, 1, 0, 100, 0, 0, false},
        {"large", SPL_STORE_I64, 1, 0, 100, 0, INT64_MAX, false},
        {"text", SPL_STORE_U8, 1, 0, 100, 0, 254, false},
    };
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        const void *data = path;
        size_t count = 1;
        supple_error error = {0};
        CHECK(spl_store_get(r, wants + i, &data, &count, &error) == SUPPLE_ERROR_INPUT && !data && !count);
        CHECK(strstr(error.message, wants[i].name));
    }
    spl_store_close(r);
    spl_store_writer *w;
    const float nan = NAN;
    const void *data;
    REQUIRE(spl_store_create(path, &id, NULL, &w, NULL) == SUPPLE_OK);
    spl_store_add(w, "nan", SPL_STORE_F32, 1, 1, &nan, NULL);
    REQUIRE(spl_store_commit(w, NULL) == SUPPLE_OK && spl_store_open(path, &id, NULL, &r, NULL) == SUPPLE_OK);
    CHECK(spl_store_get(r, &(spl_store_want){"nan", SPL_STORE_F32, 1, 1, 1, 0, 0, true}, &data, NULL, NULL) ==
          SUPPLE_ERROR_INPUT);
    spl_store_close(r);
    unlink(path);
}

/* ---- damage ----------------------------------------------------------------------------------------------------- */

static void write_bytes(const uint8_t *data, size_t size)
{
    unlink(path); /* truncating in place makes some file systems wait for the disk */
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) abort();
}

static bool refused(const uint8_t *data, size_t size)
{
    write_bytes(data, size);
    spl_store_reader *r;
    supple_error error = {0};
    supple_result result = spl_store_open(path, NULL, NULL, &r, &error); /* any identity: the damage must be seen */
    if (!result) spl_store_close(r);
    return result == SUPPLE_ERROR_INPUT && !r && error.message[0];
}

TEST(damage_is_seen)
{
    REQUIRE(fill(path, NULL, NULL) == SUPPLE_OK);
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t *data;
    size_t size;
    REQUIRE(spl_file_read(path, 1 << 20, &a, &data, &size, NULL) == SUPPLE_OK);
    for (size_t cut = 0; cut < size; cut += cut < 200 ? 1 : 13) CHECK(refused(data, cut));
    CHECK(refused(data, size + 1)); /* there is a zero behind the end */
    /* Every byte of header, payloads, padding and table; each with one bit and with all bits changed. */
    for (size_t i = 0; i < size; i++) {
        const uint8_t flips[] = {(uint8_t)(1u << i % 8), 255};
        for (int k = 0; k < 2; k++) {
            data[i] ^= flips[k];
            bool seen = refused(data, size);
            CHECK(seen);
            if (!seen) printf("    byte %zu\n", i);
            data[i] ^= flips[k];
        }
    }
    CHECK(!refused(data, size));
    spl_free(&a, data);
    unlink(path);
}

static void put(uint8_t *p, uint64_t value, int width)
{
    for (int i = 0; i < width; i++) p[i] = (uint8_t)(value >> 8 * i);
}

/* An edited file whose hashes were made good again: structure alone must refuse it. */
static bool forged_refused(const uint8_t *data, size_t size, size_t section, size_t at, uint64_t value, int width)
{
    uint8_t *copy = malloc(size);
    memcpy(copy, data, size);
    uint64_t table = 0;
    for (int i = 0; i < 8; i++) table |= (uint64_t)copy[24 + i] << 8 * i;
    put(section == SIZE_MAX ? copy + at : copy + table + 96 * section + at, value, width);
    spl_key key = spl_digest_of(copy + table, size - table);
    put(copy + 88, key.part[0], 8);
    put(copy + 96, key.part[1], 8);
    key = spl_digest_of(copy, 112);
    put(copy + 112, key.part[0], 8);
    put(copy + 120, key.part[1], 8);
    bool yes = refused(copy, size);
    free(copy);
    return yes;
}

TEST(forged_tables_are_refused)
{
    REQUIRE(fill(path, NULL, NULL) == SUPPLE_OK);
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t *data;
    size_t size;
    REQUIRE(spl_file_read(path, 1 << 20, &a, &data, &size, NULL) == SUPPLE_OK);
    CHECK(!forged_refused(data, size, 1, 48, SPL_STORE_F32, 4)); /* as wide as I32: sound, if not what was meant */
    CHECK(forged_refused(data, size, 1, 48, 6, 4));              /* type */
    CHECK(forged_refused(data, size, 1, 52, 0, 4));              /* width */
    CHECK(forged_refused(data, size, 1, 52, UINT32_MAX, 4));
    CHECK(forged_refused(data, size, 1, 56, 6, 8)); /* count */
    CHECK(forged_refused(data, size, 1, 56, UINT64_MAX, 8));
    CHECK(forged_refused(data, size, 1, 56, (uint64_t)1 << 62, 8)); /* times four is zero */
    CHECK(forged_refused(data, size, 1, 64, 128, 8));               /* offset: over the first section */
    CHECK(forged_refused(data, size, 1, 64, UINT64_MAX - 63, 8));
    CHECK(forged_refused(data, size, 1, 72, UINT64_MAX, 8));    /* bytes */
    CHECK(forged_refused(data, size, 1, 6, 'x', 1));            /* name: "tets", zeros, and then more */
    CHECK(forged_refused(data, size, 1, 0, 0x782f74736572, 8)); /* "rest/x", the first section's */
    CHECK(forged_refused(data, size, 1, 0, 0, 1));
    CHECK(forged_refused(data, size, 1, 0, 0x0a, 1));
    CHECK(forged_refused(data, size, SIZE_MAX, 12, 5, 4)); /* sections */
    CHECK(forged_refused(data, size, SIZE_MAX, 12, UINT32_MAX, 4));
    CHECK(forged_refused(data, size, SIZE_MAX, 16, size + 64, 8));
    CHECK(forged_refused(data, size, SIZE_MAX, 56, 0x1b, 1)); /* kind */
    CHECK(forged_refused(data, size, SIZE_MAX, 104, 1, 1));
    spl_free(&a, data);
    unlink(path);
}

TEST(another_identity_is_refused)
{
    REQUIRE(fill(path, NULL, NULL) == SUPPLE_OK);
    const spl_store_id others[] = {
        {"bodyx", 3, id.key}, {"bod", 3, id.key}, {"body", 4, id.key}, {"body", 3, {{1, 2}}}};
    for (int i = 0; i < 4; i++) {
        spl_store_reader *r;
        supple_error error = {0};
        CHECK(spl_store_open(path, others + i, NULL, &r, &error) == SUPPLE_ERROR_INPUT && !r);
        CHECK(strstr(error.message, path));
    }
    spl_store_reader *r;
    CHECK(spl_store_open("absent.store", &id, NULL, &r, NULL) == SUPPLE_ERROR_INPUT && !r);
    CHECK(spl_store_open(".", &id, NULL, &r, NULL) == SUPPLE_ERROR_INPUT && !r);
    unlink(path);
}

/* Files of 3 GB, holes but for their beginning: refused for what they say before room is made for them. */
TEST(a_large_file_is_not_read_before_its_header)
{
    static const uint8_t garbage[128] = "not a store";
    REQUIRE(fill(path, NULL, NULL) == SUPPLE_OK);
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t *data;
    size_t size;
    REQUIRE(spl_file_read(path, 1 << 20, &a, &data, &size, NULL) == SUPPLE_OK);
    const off_t length = (off_t)3 << 30;
    for (int k = 0; k < 3; k++) { /* no store; longer than it says; a directory that does not account for its bytes */
        spl_store_reader *r;
        supple_config config = supple_config_default();
        failing count = {.fail_at = -1};
        supple_error error = {0};
        config.allocator = failing_allocator(&count);
        if (k == 2) {
            put(data + 12, 0, 4); /* sections */
            put(data + 16, (uint64_t)length, 8);
            put(data + 24, (uint64_t)length, 8);
            spl_key key = spl_digest_of(data, 0);
            put(data + 88, key.part[0], 8);
            put(data + 96, key.part[1], 8);
            key = spl_digest_of(data, 112);
            put(data + 112, key.part[0], 8);
            put(data + 120, key.part[1], 8);
        }
        write_bytes(k ? data : garbage, 128);
        REQUIRE(truncate(path, length) == 0);
        CHECK(spl_store_open(path, NULL, &config, &r, &error) == SUPPLE_ERROR_INPUT && !r);
        CHECK(count.asked < 1 << 16 && count.live == 0);
    }
    spl_free(&a, data);
    unlink(path);
}

TEST(writers_refuse_what_readers_would)
{
    spl_store_writer *w;
    CHECK(spl_store_create(path, &(spl_store_id){"", 1, {{0, 0}}}, NULL, &w, NULL) == SUPPLE_ERROR_ARGUMENT && !w);
    CHECK(spl_store_create(path, &(spl_store_id){"a kind", 1, {{0, 0}}}, NULL, &w, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(spl_store_create("absent/x", &id, NULL, &w, NULL) == SUPPLE_ERROR_OUTPUT && !w);
    const char *names[] = {"", "a b", "twice", "0123456789012345678901234567890123456789012345678"};
    for (int i = 0; i < 4; i++) {
        supple_error error = {0};
        REQUIRE(spl_store_create(path, &id, NULL, &w, NULL) == SUPPLE_OK);
        CHECK(spl_store_add(w, "twice", SPL_STORE_U8, 1, 3, text, NULL) == SUPPLE_OK);
        CHECK(spl_store_add(w, names[i], SPL_STORE_U8, 1, 3, text, NULL) == SUPPLE_ERROR_ARGUMENT);
        CHECK(spl_store_add(w, "good", SPL_STORE_U8, 1, 3, text, NULL) == SUPPLE_ERROR_ARGUMENT); /* remembered */
        CHECK(spl_store_commit(w, &error) == SUPPLE_ERROR_ARGUMENT && error.message[0]);
        CHECK(access(path, F_OK) != 0);
    }
    REQUIRE(spl_store_create(path, &id, NULL, &w, NULL) == SUPPLE_OK);
    spl_store_discard(w);
    spl_store_discard(NULL);
    CHECK(access(path, F_OK) != 0);
}

TEST(failing_allocations_leave_nothing)
{
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        supple_error error = {0};
        spl_store_reader *r = NULL;
        void *copy = NULL;
        supple_result result = fill(path, &config, &error);
        if (!result) result = spl_store_open(path, &id, &config, &r, &error);
        if (!result) {
            spl_store_want want = {"tets", SPL_STORE_I32, 1, 5, 5, 0, 0, true};
            result = spl_store_copy(r, &want, &copy, NULL, &error);
        }
        CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && error.code == result));
        spl_free(&config.allocator, copy);
        spl_store_close(r);
        CHECK(f.live == 0);
        unlink(path);
        if (!result) {
            CHECK(n >= 8);
            break;
        }
    }
}

/* ---- the hash --------------------------------------------------------------------------------------------------- */

TEST(digests_do_not_depend_on_the_pieces)
{
    uint8_t data[200];
    for (int i = 0; i < 200; i++) data[i] = (uint8_t)(i * 37);
    for (size_t size = 0; size <= 200; size++) {
        spl_key once = spl_digest_of(data, size);
        spl_digest d = spl_digest_begin();
        for (size_t at = 0, step = 1; at < size; at += step, step = step % 41 + 3)
            spl_digest_bytes(&d, data + at, at + step < size ? step : size - at);
        spl_key pieces = spl_digest_end(&d);
        CHECK(memcmp(&once, &pieces, sizeof once) == 0);
        if (size) {
            spl_key shorter = spl_digest_of(data, size - 1);
            CHECK(shorter.part[0] != once.part[0] && shorter.part[1] != once.part[1]);
        }
    }
    /* Zeros of every length differ, and half of the bits change with each bit. */
    uint8_t zeros[64] = {0};
    for (size_t n = 1; n <= 64; n++) CHECK(spl_digest_of(zeros, n).part[0] != spl_digest_of(zeros, n - 1).part[0]);
    spl_key base = spl_digest_of(data, 100);
    int least = 128, most = 0;
    for (int bit = 0; bit < 800; bit++) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        spl_key other = spl_digest_of(data, 100);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        int changed =
            __builtin_popcountll(base.part[0] ^ other.part[0]) + __builtin_popcountll(base.part[1] ^ other.part[1]);
        least = changed < least ? changed : least;
        most = changed > most ? changed : most;
    }
    printf("    one bit changes %d to %d of 128\n", least, most);
    CHECK(least > 30 && most < 98);
}

static spl_key key_of(const char *a, const char *b, int64_t i, double r)
{
    spl_digest d = spl_digest_begin();
    spl_digest_text(&d, a);
    spl_digest_text(&d, b);
    spl_digest_integer(&d, i);
    spl_digest_real(&d, r);
    return spl_digest_end(&d);
}

TEST(keys_tell_fields_apart)
{
    const spl_key keys[] = {key_of("ab", "c", 1, 1),   key_of("a", "bc", 1, 1), key_of("abc", "", 1, 1),
                            key_of("abc", NULL, 1, 1), key_of("ab", "c", 2, 1), key_of("ab", "c", 1, 1 + 1e-15),
                            key_of(NULL, "abc", 1, 1)};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < i; j++) CHECK(keys[i].part[0] != keys[j].part[0] && keys[i].part[1] != keys[j].part[1]);
    spl_key again = key_of("ab", "c", 1, 1);
    CHECK(memcmp(&again, keys, sizeof again) == 0);
}

TEST(large_arrays_are_fast)
{
    enum { COUNT = 4 << 20 };
    double *x = malloc(COUNT * sizeof *x);
    REQUIRE(x);
    for (int i = 0; i < COUNT; i++) x[i] = i;
    spl_store_writer *w;
    spl_store_reader *r;
    const void *data;
    double start = spl_now_ms();
    REQUIRE(spl_store_create(path, &id, NULL, &w, NULL) == SUPPLE_OK);
    spl_store_add(w, "x", SPL_STORE_F64, 1, COUNT, x, NULL);
    REQUIRE(spl_store_commit(w, NULL) == SUPPLE_OK);
    double written = spl_now_ms();
    REQUIRE(spl_store_open(path, &id, NULL, &r, NULL) == SUPPLE_OK);
    double opened = spl_now_ms();
    CHECK(spl_store_get(r, &(spl_store_want){"x", SPL_STORE_F64, 1, COUNT, COUNT, 0, 0, false}, &data, NULL, NULL) ==
          0);
    double got = spl_now_ms();
    printf("    %d MB: written in %.1f ms, opened and checked in %.1f ms, finite in %.1f ms\n", COUNT >> 17,
           written - start, opened - written, got - opened);
    CHECK(memcmp(x, data, COUNT * sizeof *x) == 0);
    spl_store_close(r);
    free(x);
    unlink(path);
}

TEST_CASES(RUN(arrays_come_back), RUN(the_format_is_what_it_was), RUN(wrong_wants_are_refused), RUN(damage_is_seen),
           RUN(forged_tables_are_refused), RUN(another_identity_is_refused),
           RUN(a_large_file_is_not_read_before_its_header), RUN(writers_refuse_what_readers_would),
           RUN(failing_allocations_leave_nothing), RUN(digests_do_not_depend_on_the_pieces),
           RUN(keys_tell_fields_apart), RUN(large_arrays_are_fast))
