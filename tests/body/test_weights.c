#include "body/weights.h"

#include "body/held_box.h"
#include "failing.h"
#include "sparse/dense.h"
#include "test.h"

enum { K = SPL_BONE_INFLUENCES, MANY = 11 };

/* Laplace's equation by the lattice's own gradients and Gaussian elimination: n x bones, held rows included. */
static double *dense_weights(const box *b, const int32_t *held, int32_t bones)
{
    size_t n = (size_t)b->mesh.vertex_count, k = (size_t)bones;
    double *A = calloc(n * n, sizeof *A), *x = calloc(n * k, sizeof *x);
    double *mass = calloc(n, sizeof *mass);
    dense_laplacian(b, A, mass);
    free(mass);
    for (size_t v = 0; v < n; v++) {
        if (held[v] < 0) continue;
        memset(A + v * n, 0, n * sizeof *A);
        A[v * n + v] = 1;
        x[v * k + (size_t)held[v]] = 1;
    }
    dense_solve(A, x, n, k);
    free(A);
    return x;
}

/* What is kept of a vertex's exact weights: the K largest above 1e-6, made to sum to 1. */
static void keep_strongest(const double *exact, int32_t bones, double *kept)
{
    double sum = 0;
    memset(kept, 0, (size_t)bones * sizeof *kept);
    for (int i = 0; i < K; i++) {
        int32_t best = -1;
        for (int32_t b = 0; b < bones; b++)
            if (kept[b] == 0 && exact[b] > 1e-6 && (best < 0 || exact[b] > exact[best])) best = b;
        if (best < 0) break;
        sum += kept[best] = exact[best];
    }
    for (int32_t b = 0; b < bones; b++) kept[b] /= sum;
}

static void check_weights(const box *b, const int32_t *held, int32_t bones, const spl_bone_weights *w)
{
    double *exact = dense_weights(b, held, bones), kept[MANY], most = 0;
    for (size_t v = 0; v < (size_t)b->mesh.vertex_count; v++) {
        double sum = 0;
        keep_strongest(exact + v * (size_t)bones, bones, kept);
        for (size_t i = K * v; i < K * (v + 1); i++) {
            sum += w->weight[i];
            CHECK(w->weight[i] >= 0 && w->weight[i] <= 1 && w->bone[i] < bones);
            CHECK((w->bone[i] < 0) == (w->weight[i] == 0));
            if (i % K) CHECK(w->weight[i] <= w->weight[i - 1]);
            if (w->bone[i] >= 0) most = fmax(most, fabs(w->weight[i] - kept[w->bone[i]]));
        }
        CHECK_NEAR(sum, 1, 1e-14);
        if (held[v] >= 0) CHECK(w->bone[K * v] == held[v] && w->weight[K * v] == 1);
    }
    CHECK_NEAR(most, 0, 1e-12);
    free(exact);
}

TEST(weights_are_harmonic)
{
    static const int32_t counts[] = {2, 3, 8, 9, MANY};
    spl_pool *pool = pool_of(2);
    supple_allocator a = spl_allocator_of(NULL);
    for (int i = 0; i < 5; i++) {
        box b;
        REQUIRE(box_make(2, 2, 12, &b));
        int32_t *held = hold(&b, counts[i], 12);
        spl_harmonic_input in = {&b.e, held, counts[i], NULL};
        spl_bone_weights w;
        REQUIRE(spl_harmonic_weights(&in, pool, &a, &w, NULL) == SUPPLE_OK);
        check_weights(&b, held, counts[i], &w);
        spl_bone_weights_release(&w);
        free(held);
        box_free(&b);
    }
    spl_pool_destroy(pool);
}

/* Bones that hold nothing take no part, wherever they stand among the others. */
TEST(bones_that_hold_nothing)
{
    spl_pool *pool = pool_of(1);
    supple_allocator a = spl_allocator_of(NULL);
    box b;
    REQUIRE(box_make(2, 2, 8, &b));
    int32_t *held = hold(&b, 3, 8), n = b.mesh.vertex_count;
    for (int32_t v = 0; v < n; v++)
        if (held[v] >= 0) held[v] = 3 * held[v] + 1; /* 1, 4, 7 of 11 */
    spl_harmonic_input in = {&b.e, held, MANY, NULL};
    spl_bone_weights w;
    REQUIRE(spl_harmonic_weights(&in, pool, &a, &w, NULL) == SUPPLE_OK);
    for (int32_t i = 0; i < K * n; i++) CHECK(w.bone[i] < 0 || w.bone[i] % 3 == 1);
    check_weights(&b, held, MANY, &w);
    spl_bone_weights_release(&w);
    free(held);
    box_free(&b);
    spl_pool_destroy(pool);
}

/* Nothing is free: no system at all. */
TEST(everything_is_held)
{
    spl_pool *pool = pool_of(1);
    supple_allocator a = spl_allocator_of(NULL);
    box b;
    REQUIRE(box_make(2, 2, 2, &b));
    int32_t n = b.mesh.vertex_count, *held = calloc((size_t)n, sizeof *held);
    for (int32_t v = 0; v < n; v++) held[v] = v % 2;
    spl_harmonic_input in = {&b.e, held, 2, NULL};
    spl_bone_weights w;
    REQUIRE(spl_harmonic_weights(&in, pool, &a, &w, NULL) == SUPPLE_OK);
    for (int32_t v = 0; v < n; v++) CHECK(w.bone[K * v] == v % 2 && w.weight[K * v] == 1 && w.bone[K * v + 1] == -1);
    spl_bone_weights_release(&w);
    free(held);
    box_free(&b);
    spl_pool_destroy(pool);
}

TEST(threads_and_memory)
{
    box b;
    REQUIRE(box_make(3, 3, 6, &b));
    int32_t *held = hold(&b, 3, 6);
    size_t bytes = K * (size_t)b.mesh.vertex_count * sizeof(double);
    spl_harmonic_input in = {&b.e, held, 3, NULL};
    supple_allocator a = spl_allocator_of(NULL);
    spl_bone_weights one, w;
    spl_pool *pool = pool_of(1), *seven = pool_of(7);
    REQUIRE(spl_harmonic_weights(&in, pool, &a, &one, NULL) == SUPPLE_OK);
    REQUIRE(spl_harmonic_weights(&in, seven, &a, &w, NULL) == SUPPLE_OK);
    CHECK(!memcmp(one.weight, w.weight, bytes));
    spl_bone_weights_release(&w);
    long n = 0;
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        a = failing_allocator(&f);
        supple_result result = spl_harmonic_weights(&in, pool, &a, &w, NULL);
        bool made = result == SUPPLE_OK;
        ended = made && f.requests <= n; /* some requests may fail without harm */
        CHECK(made || (result == SUPPLE_ERROR_MEMORY && !w.bone && !w.weight));
        if (made) spl_bone_weights_release(&w);
        CHECK(f.live == 0);
    }
    CHECK(n > 10);
    spl_bone_weights_release(&one);
    spl_pool_destroy(pool);
    spl_pool_destroy(seven);
    free(held);
    box_free(&b);
}

TEST_CASES(RUN(weights_are_harmonic), RUN(bones_that_hold_nothing), RUN(everything_is_held), RUN(threads_and_memory))
