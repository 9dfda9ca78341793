/* The principal-component basis: against animations whose components are known. */
#include "core/hash.h"
#include "core/memory.h"
#include "failing.h"
#include "math/dense.h"
#include "scene/writers/basis.h"
#include "test.h"

#include <unistd.h>

enum { VERTICES = 300, COLUMNS = 3 * VERTICES, OFFSET = 6 };

/* A number from -1 to 1. */
static double noise(uint64_t seed)
{
    return (double)(int64_t)spl_mix(seed) / 9.3e18;
}

/* Frames of `rank` components of falling size around a mean, behind OFFSET other floats, in a file. */
static spl_frames make_frames(FILE **file, int32_t count, int rank, double fall)
{
    *file = tmpfile();
    for (int32_t f = 0; f < count; f++) {
        float row[OFFSET + COLUMNS];
        for (int c = 0; c < OFFSET; c++) row[c] = 1e6f;
        for (size_t c = 0; c < COLUMNS; c++) {
            double x = 3 * noise(c + 77);
            for (int k = 0; k < rank; k++)
                x += pow(fall, k) * sin((0.11 + 0.07 * k) * f + k) * noise((uint64_t)k * 100000 + c);
            row[OFFSET + c] = (float)x;
        }
        fwrite(row, sizeof row, 1, *file);
    }
    fflush(*file);
    return (spl_frames){fileno(*file), count, OFFSET + COLUMNS};
}

static supple_result find(const spl_frames *frames, double bound, spl_pool *pool, const supple_allocator *a,
                          spl_basis *basis)
{
    spl_basis_task task = {.frames = frames,
                           .first = OFFSET,
                           .columns = COLUMNS,
                           .bound = bound,
                           .most = 255,
                           .pool = pool,
                           .allocator = a};
    return spl_basis_find(&task, basis, NULL);
}

/* The largest error of what a viewer would show. */
static double rebuild(const spl_basis *basis, const spl_frames *frames)
{
    static float block[600 * COLUMNS], mean[COLUMNS], part[255 * COLUMNS];
    if (spl_basis_project(basis, frames, OFFSET, COLUMNS, NULL, block, mean, part, NULL) != SUPPLE_OK) return INFINITY;
    return spl_basis_measure(basis, block, COLUMNS, part);
}

TEST(eigenvectors)
{
    enum { N = 40 };
    static double a[N * N], copy[N * N], v[N * N], value[N];
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k <= i; k++) a[i * N + k] = a[k * N + i] = noise(i * N + k);
    memcpy(copy, a, sizeof a);
    spl_eigen_symmetric(a, N, value, v);
    for (size_t k = 0; k < N; k++) {
        CHECK(k == 0 || value[k] <= value[k - 1]);
        for (size_t i = 0; i < N; i++) {
            double x = 0, dot = 0;
            for (size_t j = 0; j < N; j++) x += copy[i * N + j] * v[j * N + k], dot += v[j * N + i] * v[j * N + k];
            CHECK_NEAR(x, value[k] * v[i * N + k], 1e-12);
            CHECK_NEAR(dot, i == k, 1e-12);
        }
    }
}

TEST(orthonormal_columns)
{
    enum { ROWS = 50, N = 12 };
    static double a[ROWS * N];
    for (size_t i = 0; i < ROWS * N; i++) a[i] = noise(i) * pow(10, (double)(i % N)); /* of very different length */
    for (size_t r = 0; r < ROWS; r++) a[r * N + 7] = a[r * N + 2] - 3 * a[r * N + 4]; /* nothing new */
    spl_orthonormalise(a, ROWS, N);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++) {
            double dot = 0;
            for (size_t r = 0; r < ROWS; r++) dot += a[r * N + i] * a[r * N + k];
            CHECK_NEAR(dot, i == k && i != 7, 1e-12);
        }
}

/* Few frames (all directions sought), and more than the directions that are sought. */
TEST(a_known_rank_is_found)
{
    supple_allocator a = spl_allocator_of(NULL);
    for (int32_t count = 20; count <= 600; count += 290) {
        FILE *file;
        spl_frames frames = make_frames(&file, count, 7, 0.8);
        spl_basis basis;
        CHECK(find(&frames, 1e-5, NULL, &a, &basis) == SUPPLE_OK);
        printf("    %d frames: %d components, error %.2g\n", (int)count, (int)basis.count, rebuild(&basis, &frames));
        CHECK(basis.count == 7 && rebuild(&basis, &frames) < 1e-5);
        spl_basis_release(&basis, &a);
        fclose(file);
    }
}

/* The bound holds, and a looser one takes fewer components; the tail beyond the first try is found too. */
TEST(the_bound_is_kept)
{
    supple_allocator a = spl_allocator_of(NULL);
    static const double bounds[] = {1, 1e-1, 1e-2, 1e-3};
    FILE *file;
    spl_frames frames = make_frames(&file, 400, 80, 0.9);
    int32_t before = 0;
    for (int i = 0; i < 4; i++) {
        spl_basis basis;
        CHECK(find(&frames, bounds[i], NULL, &a, &basis) == SUPPLE_OK);
        double error = rebuild(&basis, &frames);
        printf("    bound %g: %d components, error %.3g\n", bounds[i], (int)basis.count, error);
        CHECK(error <= bounds[i] && error > 0.2 * bounds[i]);
        CHECK(basis.count > before);
        before = basis.count;
        spl_basis_release(&basis, &a);
    }
    CHECK(before > 60 && before <= 80);
    fclose(file);
}

TEST(stillness_has_no_components)
{
    supple_allocator a = spl_allocator_of(NULL);
    FILE *file;
    spl_frames frames = make_frames(&file, 30, 0, 1);
    spl_basis basis;
    CHECK(find(&frames, 1e-6, NULL, &a, &basis) == SUPPLE_OK);
    CHECK(basis.count == 0 && rebuild(&basis, &frames) == 0);
    spl_basis_release(&basis, &a);
    fclose(file);
}

TEST(threads_change_nothing)
{
    supple_allocator a = spl_allocator_of(NULL);
    FILE *file;
    spl_frames frames = make_frames(&file, 300, 30, 0.8);
    spl_basis first = {0};
    for (int32_t threads = 1; threads <= 5; threads += 2) {
        supple_config config = supple_config_default();
        config.thread_count = threads;
        spl_pool *pool;
        spl_basis basis;
        REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        CHECK(find(&frames, 1e-2, pool, &a, &basis) == SUPPLE_OK);
        spl_pool_destroy(pool);
        if (threads == 1) {
            first = basis;
            continue;
        }
        CHECK(basis.count == first.count && basis.error == first.error);
        CHECK(memcmp(basis.weight, first.weight, (size_t)(300 * basis.count) * sizeof(float)) == 0);
        spl_basis_release(&basis, &a);
    }
    spl_basis_release(&first, &a);
    fclose(file);
}

TEST(every_allocation_may_fail)
{
    FILE *file;
    spl_frames frames = make_frames(&file, 40, 5, 0.8);
    long n = 0;
    for (supple_result r = SUPPLE_ERROR_MEMORY; r != SUPPLE_OK && n < 100; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_basis basis;
        r = find(&frames, 1e-3, NULL, &a, &basis);
        CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
        if (r == SUPPLE_OK) spl_basis_release(&basis, &a);
        CHECK(f.live == 0);
    }
    CHECK(n > 5 && n < 100);
    fclose(file);
}

TEST(a_cut_spool_is_an_error)
{
    supple_allocator a = spl_allocator_of(NULL);
    FILE *file;
    spl_frames frames = make_frames(&file, 40, 5, 0.8);
    CHECK(ftruncate(frames.file, 40 * (OFFSET + COLUMNS) * 4 - 8) == 0);
    spl_basis basis;
    CHECK(find(&frames, 1e-3, NULL, &a, &basis) == SUPPLE_ERROR_OUTPUT);
    CHECK(basis.weight == NULL);
    fclose(file);
}

TEST_CASES(RUN(eigenvectors), RUN(orthonormal_columns), RUN(a_known_rank_is_found), RUN(the_bound_is_kept),
           RUN(stillness_has_no_components), RUN(threads_change_nothing), RUN(every_allocation_may_fail),
           RUN(a_cut_spool_is_an_error))
