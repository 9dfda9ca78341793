/* The sparse K_b(0) in the cache: the same bits again, and no trust in what a file says. */
#include "../mixed/fleshed.h"
#include "failing.h"
#include "methods/steklov/boundary_store.h"
#include "methods/steklov/schur.h"
#include "test.h"

#include <dirent.h>
#include <unistd.h>

enum { RESOLUTION = 16, DISTANCE = 3 };

typedef struct log_text {
    char text[2000];
    int warnings;
} log_text;

static void keep_log(void *user, supple_log_level level, const char *message)
{
    log_text *log = user;
    size_t n = strlen(log->text);
    log->warnings += level == SUPPLE_LOG_WARNING;
    snprintf(log->text + n, sizeof log->text - n, "%s\n", message);
}

/* An arm that may be kept, and a folder for it. */
typedef struct kept {
    fleshed f;
    spl_exrotated system;
    char folder[64], path[400];
    log_text log;
    supple_config config;
} kept;

static void kept_make(kept *k)
{
    spl_exrotated_options o = {.apart = true};
    *k = (kept){.folder = "steklov-cache-XXXXXX"};
    if (!mkdtemp(k->folder)) abort();
    setenv("SUPPLE_CACHE", k->folder, 1);
    k->config = supple_config_default();
    k->config.log = keep_log;
    k->config.log_user = &k->log;
    fleshed_make(&k->f, "arm", RESOLUTION);
    k->f.demo.handle->body.cache = true;
    if (spl_exrotated_create(&k->f.solid, &o, k->f.pool, &k->system, NULL) != SUPPLE_OK) abort();
}

static void kept_free(kept *k)
{
    char command[100];
    spl_exrotated_release(&k->system);
    fleshed_free(&k->f);
    snprintf(command, sizeof command, "rm -rf '%s'", k->folder);
    if (system(command) != 0) abort();
}

/* The one file of ours in the folder; false if there is none. */
static bool find_file(kept *k)
{
    DIR *d = opendir(k->folder);
    bool found = false;
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (strncmp(e->d_name, "steklov-", 8) == 0) {
            snprintf(k->path, sizeof k->path, "%s/%s", k->folder, e->d_name);
            found = true;
        }
    if (d) closedir(d);
    return found;
}

static spl_boundary get(kept *k)
{
    spl_boundary b;
    if (spl_boundary_cached(&k->system, DISTANCE, false, false, &k->config, &b, NULL) != SUPPLE_OK) abort();
    return b;
}

static size_t bytes_of(const spl_boundary *b)
{
    return spl_pattern_values(&b->pattern) * sizeof *b->value;
}

TEST(a_second_time_gives_the_same_bits)
{
    kept k;
    kept_make(&k);
    CHECK(!find_file(&k));
    spl_boundary first = get(&k), second = get(&k), other;
    CHECK(!first.cached && second.cached && find_file(&k) && k.log.warnings == 0);
    CHECK(bytes_of(&first) == bytes_of(&second) && memcmp(first.value, second.value, bytes_of(&first)) == 0);
    REQUIRE(spl_boundary_cached(&k.system, DISTANCE + 1, false, false, &k.config, &other, NULL) == SUPPLE_OK);
    CHECK(!other.cached); /* another distance, another matrix */
    spl_boundary_release(&other);
    REQUIRE(spl_boundary_cached(&k.system, DISTANCE, true, false, &k.config, &other, NULL) == SUPPLE_OK);
    CHECK(!other.cached); /* compensation too */
    spl_boundary_release(&other);
    k.system.matrix.value[0] *= 1.0001;
    other = get(&k);
    CHECK(!other.cached);
    spl_boundary_release(&first), spl_boundary_release(&second), spl_boundary_release(&other);
    kept_free(&k);
}

TEST(without_a_cache_nothing_is_kept)
{
    kept k;
    kept_make(&k);
    k.f.demo.handle->body.cache = false;
    for (int i = 0; i < 2; i++) {
        spl_boundary b = get(&k);
        CHECK(!b.cached && !find_file(&k));
        spl_boundary_release(&b);
    }
    kept_free(&k);
}

/* Files whose hashes are right and whose numbers are not: made again, after a warning, and then as they were. */
TEST(numbers_that_make_no_sense_are_made_again)
{
    kept k;
    kept_make(&k);
    spl_boundary good = get(&k);
    REQUIRE(find_file(&k));
    size_t entries = good.pattern.start[good.pattern.n];
    double *bad = malloc(bytes_of(&good));
    for (int damage = 0; damage < 5; damage++) {
        spl_store_reader *r;
        spl_store_writer *w;
        REQUIRE(spl_store_open(k.path, NULL, NULL, &r, NULL) == SUPPLE_OK);
        spl_store_id id = spl_store_identity(r);
        memcpy(bad, good.value, bytes_of(&good));
        if (damage == 0) bad[0] = -bad[0];
        if (damage == 1) bad[9 * entries - 9] = 0;
        if (damage == 2) bad[9] = 1e3 * bad[0];
        if (damage == 3) bad[4] = NAN;
        REQUIRE(spl_store_create(k.path, &id, NULL, &w, NULL) == SUPPLE_OK);
        spl_store_add(w, "value", SPL_STORE_F64, 9, damage == 4 ? entries - 1 : entries, bad, NULL);
        REQUIRE(spl_store_commit(w, NULL) == SUPPLE_OK);
        spl_store_close(r);
        k.log.warnings = 0;
        spl_boundary again = get(&k);
        CHECK(!again.cached && k.log.warnings == 1 && memcmp(again.value, good.value, bytes_of(&good)) == 0);
        spl_boundary_release(&again);
        again = get(&k);
        CHECK(again.cached && memcmp(again.value, good.value, bytes_of(&good)) == 0);
        spl_boundary_release(&again);
    }
    free(bad);
    spl_boundary_release(&good);
    kept_free(&k);
}

/* Plausible entries of a matrix that is not definite: the factor finds out, and it is made afresh. */
TEST(what_has_no_factor_is_made_again)
{
    kept k;
    kept_make(&k);
    spl_springs none;
    spl_schur schur;
    spl_schur_options o = {.max_iterations = 100, .distance = DISTANCE, .degree = 4, .config = &k.config};
    spl_boundary good = get(&k);
    REQUIRE(find_file(&k));
    size_t entries = good.pattern.start[good.pattern.n], bytes = bytes_of(&good);
    double *bad = malloc(bytes);
    memcpy(bad, good.value, bytes);
    for (int32_t j = 0; j < good.pattern.n; j++)
        for (size_t e = good.pattern.start[j] + 1; e < good.pattern.start[j + 1]; e++)
            for (size_t i = 0; i < 9; i += 4)
                bad[9 * e + i] = -sqrt(good.value[9 * good.pattern.start[j] + i] *
                                       good.value[9 * good.pattern.start[good.pattern.row[e]] + i]);
    spl_store_reader *r;
    spl_store_writer *w;
    REQUIRE(spl_store_open(k.path, NULL, NULL, &r, NULL) == SUPPLE_OK);
    spl_store_id id = spl_store_identity(r);
    REQUIRE(spl_store_create(k.path, &id, NULL, &w, NULL) == SUPPLE_OK);
    spl_store_add(w, "value", SPL_STORE_F64, 9, entries, bad, NULL);
    REQUIRE(spl_store_commit(w, NULL) == SUPPLE_OK);
    spl_store_close(r);
    REQUIRE(spl_springs_create(&k.system, NULL, 10, true, &none, NULL) == SUPPLE_OK);
    REQUIRE(spl_schur_create(&k.system, &none, &o, &schur, NULL) == SUPPLE_OK);
    CHECK(!schur.boundary.cached && schur.lift == 0 && memcmp(schur.boundary.value, good.value, bytes) == 0);
    spl_schur_release(&schur);
    spl_springs_release(&none);
    spl_boundary again = get(&k);
    CHECK(again.cached && memcmp(again.value, good.value, bytes) == 0);
    spl_boundary_release(&again);
    spl_boundary_release(&good);
    free(bad);
    kept_free(&k);
}

TEST(damaged_files_are_made_again)
{
    kept k;
    kept_make(&k);
    spl_boundary good = get(&k);
    REQUIRE(find_file(&k));
    for (int i = 0; i < 3; i++) {
        FILE *file = fopen(k.path, "r+b");
        REQUIRE(file);
        if (i == 0) CHECK(fseek(file, 500, SEEK_SET) == 0 && fputs("nonsense", file) >= 0);
        fclose(file);
        if (i > 0) CHECK(truncate(k.path, i == 1 ? 100 : 5000) == 0);
        k.log.warnings = 0;
        spl_boundary again = get(&k);
        CHECK(!again.cached && k.log.warnings == 1 && memcmp(again.value, good.value, bytes_of(&good)) == 0);
        spl_boundary_release(&again);
    }
    spl_boundary_release(&good);
    kept_free(&k);
}

/* With something in the cache and with nothing, every allocation fails once: nothing leaks, no file is blamed. */
TEST(memory_may_run_out)
{
    kept k;
    kept_make(&k);
    for (int full = 0; full < 2; full++) {
        long refused = 0;
        for (long n = 0;; n++) {
            failing f = {.fail_at = n};
            spl_boundary b;
            supple_error error = {0};
            k.config.allocator = failing_allocator(&f);
            k.system.allocator = k.config.allocator;
            k.system.pool = NULL;
            if (!full && find_file(&k)) unlink(k.path);
            supple_result result = spl_boundary_cached(&k.system, DISTANCE, false, false, &k.config, &b, &error);
            CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
            refused += result != SUPPLE_OK;
            if (result == SUPPLE_OK) spl_boundary_release(&b);
            CHECK(f.live == 0);
            if (full) CHECK(find_file(&k));
            if (f.requests <= n) break;
        }
        CHECK(refused > 5);
        spl_boundary b;
        k.config.allocator = (supple_allocator){0};
        k.system.allocator = k.f.solid.allocator;
        k.system.pool = k.f.pool;
        b = get(&k);
        spl_boundary_release(&b);
    }
    kept_free(&k);
}

TEST_CASES(RUN(a_second_time_gives_the_same_bits), RUN(without_a_cache_nothing_is_kept),
           RUN(numbers_that_make_no_sense_are_made_again), RUN(what_has_no_factor_is_made_again),
           RUN(damaged_files_are_made_again), RUN(memory_may_run_out))
