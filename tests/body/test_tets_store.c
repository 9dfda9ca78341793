#include "body/tets_store.h"

#include "core/memory.h"
#include "failing.h"
#include "test.h"

#include <unistd.h>

static const char path[] = "tets.store";
static const spl_store_id id = {"tets", 1, {{1, 2}}};

static spl_tets pair(void)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets tets;
    if (!spl_tets_create(&tets, 5, 2, &a)) abort();
    const spl_vec3 x[5] = {{0, 0, 0}, {1.0 / 3, 0, 0}, {0, 0.7, 0}, {0.1, 0.1, -1}, {0, 0, 2}};
    const int32_t v[8] = {0, 1, 2, 3, 0, 1, 2, 4};
    memcpy(tets.position, x, sizeof x);
    memcpy(tets.tet, v, sizeof v);
    if (spl_tets_check(&tets, "pair", NULL, NULL) || spl_tets_find_surface(&tets, NULL)) abort();
    return tets;
}

static supple_result keep(const spl_tets *tets, const supple_config *config, supple_error *error)
{
    spl_store_writer *w;
    supple_result result = spl_store_create(path, &id, config, &w, error);
    if (result) return result;
    spl_tets_put(w, tets, NULL);
    return spl_store_commit(w, error);
}

static supple_result take(spl_tets *out, const supple_config *config, supple_error *error)
{
    spl_store_reader *r;
    supple_allocator a = spl_allocator_of(config);
    supple_result result = spl_store_open(path, &id, config, &r, error);
    *out = (spl_tets){0};
    if (!result) result = spl_tets_take(r, &a, out, error);
    spl_store_close(r);
    return result;
}

TEST(tets_come_back)
{
    spl_tets tets = pair(), back;
    REQUIRE(keep(&tets, NULL, NULL) == SUPPLE_OK && take(&back, NULL, NULL) == SUPPLE_OK);
    CHECK(back.vertex_count == 5 && back.tet_count == 2 && back.surface_count == 6);
    CHECK(memcmp(back.position, tets.position, 5 * sizeof *back.position) == 0);
    CHECK(memcmp(back.tet, tets.tet, 8 * sizeof *back.tet) == 0);
    CHECK(memcmp(back.surface, tets.surface, 18 * sizeof *back.surface) == 0);
    spl_tets_release(&back);
    spl_tets_release(&tets);
    unlink(path);
}

/* A store whose hashes are right and whose content is not. */
static void refused(spl_tets *tets, const char *want)
{
    spl_tets back;
    supple_error error = {0};
    CHECK(keep(tets, NULL, NULL) == SUPPLE_OK);
    CHECK(take(&back, NULL, &error) == SUPPLE_ERROR_INPUT && !back.position && strstr(error.message, want));
    spl_tets_release(tets);
    unlink(path);
}

TEST(stored_nonsense_is_refused)
{
    spl_tets tets = pair();
    tets.tet[5] = 5;
    refused(&tets, "'tets/tet' has a number out of range");
    tets = pair();
    tets.surface[5] = -1;
    refused(&tets, "'tets/surface' has a number out of range");
    tets = pair();
    tets.position[2].y = INFINITY;
    refused(&tets, "'tets/position' has a number out of range");
    tets = pair();
    tets.tet[4] = tets.tet[5];
    refused(&tets, "stored tet 2 has no positive volume");
    tets = pair();
    tets.tet_count = 0;
    refused(&tets, "'tets/tet' has 0 elements");
}

TEST(failing_allocations_leave_nothing)
{
    spl_tets tets = pair();
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        supple_error error = {0};
        spl_tets back = {0};
        supple_result result = keep(&tets, &config, &error);
        if (!result) result = take(&back, &config, &error);
        CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && error.code == result && !back.position));
        spl_tets_release(&back);
        CHECK(f.live == 0);
        if (!result) {
            CHECK(n > 8);
            break;
        }
    }
    spl_tets_release(&tets);
    unlink(path);
}

TEST_CASES(RUN(tets_come_back), RUN(stored_nonsense_is_refused), RUN(failing_allocations_leave_nothing))
