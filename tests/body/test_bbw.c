#include "body/bbw.h"

#include "body/held_box.h"
#include "failing.h"
#include "test.h"

/* Q = L M^-1 L, dense, from the lattice's own gradients. */
static double *dense_energy(const box *b)
{
    size_t n = (size_t)b->mesh.vertex_count;
    double *L = calloc(n * n, sizeof *L), *Q = calloc(n * n, sizeof *Q), *mass = calloc(n, sizeof *mass);
    dense_laplacian(b, L, mass);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; mass[k] > 0 && i < n; i++)
            for (size_t j = 0; L[i * n + k] != 0 && j < n; j++) Q[i * n + j] += L[i * n + k] * L[k * n + j] / mass[k];
    free(L);
    free(mass);
    return Q;
}

#define NEAR 1e-7 /* the residual that the solver promises: a weight so near to a bound is on it */

/* How far from optimal: the largest projected gradient step in the metric of Q's diagonal, and, relative to the largest
 * entry of |Q| |w|, the largest projected gradient itself. */
static void optimality(const double *Q, size_t n, const int32_t *held, const double *w, double *step, double *gradient)
{
    double scale = 0;
    *step = *gradient = 0;
    for (size_t v = 0; v < n; v++) {
        double g = 0, size = 0;
        for (size_t u = 0; u < n; u++) g += Q[v * n + u] * w[u], size += fabs(Q[v * n + u] * w[u]);
        scale = fmax(scale, size);
        if (held[v] >= 0) continue;
        bool low = w[v] <= NEAR && g > 0, high = w[v] >= 1 - NEAR && g < 0; /* pressed onto a bound */
        double pressed = low || high ? 0 : fabs(g);
        *gradient = fmax(*gradient, pressed);
        *step = fmax(*step, fabs(w[v] - fmin(fmax(w[v] - g / Q[v * n + v], 0), 1)));
    }
    *gradient /= scale;
}

TEST(optimality_conditions_hold)
{
    static const int32_t counts[] = {2, 3, 5};
    spl_pool *pool = pool_of(2);
    supple_allocator a = spl_allocator_of(NULL);
    int32_t at_bounds = 0;
    for (int i = 0; i < 3; i++) {
        box b;
        REQUIRE(box_make(3, 2, 11, &b));
        int32_t *held = hold(&b, counts[i], 11);
        size_t n = (size_t)b.mesh.vertex_count;
        double *Q = dense_energy(&b);
        spl_harmonic_input in = {&b.e, held, counts[i], NULL};
        spl_weight_table t;
        spl_bbw_report r;
        REQUIRE(spl_bbw(&in, NULL, pool, &a, &t, &r, NULL) == SUPPLE_OK);
        CHECK(r.unfinished == 0 && r.residual <= 1e-7 && r.bones == counts[i]);
        for (int32_t k = 0; k < counts[i]; k++) {
            const double *w = t.value + (size_t)k * n;
            double step, gradient;
            optimality(Q, n, held, w, &step, &gradient);
            CHECK(step < 1e-6);
            CHECK(gradient < 1e-6);
            for (size_t v = 0; v < n; v++) {
                CHECK(w[v] >= -1e-9 && w[v] <= 1 + 1e-9);
                if (held[v] >= 0) CHECK(w[v] == (held[v] == k));
                at_bounds += held[v] < 0 && (w[v] == 0 || w[v] == 1);
            }
        }
        spl_weight_table_release(&t);
        free(Q);
        free(held);
        box_free(&b);
    }
    CHECK(at_bounds > 10); /* or the bounds were never put to the test */
    spl_pool_destroy(pool);
}

/* Projected Gauss-Seidel: slow, and nothing of the code under test. */
static void relax(const double *Q, size_t n, const int32_t *held, int32_t bone, double *w)
{
    for (size_t v = 0; v < n; v++) w[v] = held[v] == bone;
    for (int sweep = 0; sweep < 200000; sweep++) {
        double moved = 0;
        for (size_t v = 0; v < n; v++) {
            double g = 0;
            if (held[v] >= 0) continue;
            for (size_t u = 0; u < n; u++) g += Q[v * n + u] * w[u];
            double to = fmin(fmax(w[v] - g / Q[v * n + v], 0), 1);
            moved = fmax(moved, fabs(to - w[v]));
            w[v] = to;
        }
        if (moved < 1e-12) return;
    }
}

TEST(a_slow_twin_agrees)
{
    spl_pool *pool = pool_of(1);
    supple_allocator a = spl_allocator_of(NULL);
    box b;
    REQUIRE(box_make(2, 2, 7, &b));
    int32_t *held = hold(&b, 3, 7);
    size_t n = (size_t)b.mesh.vertex_count;
    double *Q = dense_energy(&b), *twin = calloc(n, sizeof *twin), most = 0;
    spl_harmonic_input in = {&b.e, held, 3, NULL};
    spl_weight_table t;
    REQUIRE(spl_bbw(&in, NULL, pool, &a, &t, NULL, NULL) == SUPPLE_OK);
    for (int32_t k = 0; k < 3; k++) {
        relax(Q, n, held, k, twin);
        for (size_t v = 0; v < n; v++) most = fmax(most, fabs(twin[v] - t.value[(size_t)k * n + v]));
    }
    CHECK(most < 1e-6);
    spl_weight_table_release(&t);
    free(Q);
    free(twin);
    free(held);
    box_free(&b);
    spl_pool_destroy(pool);
}

/* Two boxes that are each other's mirror image and share the vertices of the mirror. */
TEST(mirrored_bodies_have_mirrored_weights)
{
    supple_allocator a = spl_allocator_of(NULL);
    lattice m = box_mesh(3, 3, 5);
    int32_t n = m.vertex_count, *image = malloc((size_t)n * sizeof *image), total = n;
    double *points = malloc((size_t)n * 6 * sizeof *points);
    for (int32_t v = 0; v < n; v++) {
        double *p = m.points + 3 * v;
        if (p[0] < 0.2) p[0] = 0;
        image[v] = p[0] == 0 ? v : total++;
        memcpy(points + 3 * v, p, 3 * sizeof *p);
        memcpy(points + 3 * image[v], (double[]){-p[0], p[1], p[2]}, 3 * sizeof *p);
        if (p[0] == 0) points[3 * v] = 0;
    }
    int32_t *tets = malloc((size_t)m.tet_count * 8 * sizeof *tets), *held = malloc((size_t)total * sizeof *held);
    for (int32_t k = 0; k < m.tet_count; k++) {
        const int32_t *c = m.tets + 4 * k;
        memcpy(tets + 4 * k, c, 4 * sizeof *c);
        memcpy(tets + 4 * (m.tet_count + k), (int32_t[]){image[c[0]], image[c[2]], image[c[1]], image[c[3]]}, 16);
    }
    bool *used = calloc((size_t)total, sizeof *used);
    for (int32_t i = 0; i < 8 * m.tet_count; i++) used[tets[i]] = true;
    for (int32_t v = 0; v < n; v++) { /* bones 0 and 1 face each other, 2 lies in the mirror */
        const double *p = points + 3 * v;
        held[v] = !used[v] || (p[0] < 0.8 && p[2] > 4) ? 2 : p[0] > 2.2 && p[2] < 1.2 ? 0 : -1;
        held[image[v]] = held[v] == 0 ? 1 : held[v];
        if (image[v] == v && held[v] == 0) held[v] = 2;
    }
    spl_elements e;
    REQUIRE(spl_elements_create(points, total, tets, 2 * m.tet_count, &a, &e, NULL) == SUPPLE_OK);
    spl_harmonic_input in = {&e, held, 3, NULL};
    spl_weight_table t;
    REQUIRE(spl_bbw(&in, NULL, NULL, &a, &t, NULL, NULL) == SUPPLE_OK);
    double most = 0, size = 0;
    for (int32_t v = 0; v < n; v++)
        for (int32_t k = 0; k < 3; k++) {
            int32_t other = k == 2 ? 2 : 1 - k;
            most = fmax(most, fabs(t.value[k * total + v] - t.value[other * total + image[v]]));
            if (held[v] < 0 && k == 0) size = fmax(size, t.value[v]);
        }
    CHECK(most < 1e-6 && size > 0.3);
    spl_weight_table_release(&t);
    spl_elements_release(&e);
    lattice_free(&m);
    free(image), free(points), free(tets), free(held), free(used);
}

TEST(sums_and_strongest)
{
    supple_allocator a = spl_allocator_of(NULL);
    box b;
    REQUIRE(box_make(2, 2, 12, &b));
    int32_t *held = hold(&b, 7, 12);
    size_t n = (size_t)b.mesh.vertex_count;
    spl_harmonic_input in = {&b.e, held, 9, NULL}; /* two bones hold nothing */
    spl_weight_table t;
    spl_bone_weights w;
    REQUIRE(spl_bbw(&in, NULL, NULL, &a, &t, NULL, NULL) == SUPPLE_OK);
    for (size_t v = 0; v < n; v++) CHECK(t.value[7 * n + v] == 0 && t.value[8 * n + v] == 0);
    REQUIRE(spl_weight_table_normalise(&t, &b.e, NULL) == SUPPLE_OK);
    REQUIRE(spl_weight_table_strongest(&t, &a, &w, NULL) == SUPPLE_OK);
    for (size_t v = 0; v < n; v++) {
        double sum = 0, kept = 0;
        for (size_t k = 0; k < 9; k++) sum += t.value[k * n + v];
        for (size_t k = 0; k < SPL_BONE_INFLUENCES; k++) kept += w.weight[SPL_BONE_INFLUENCES * v + k];
        CHECK_NEAR(sum, 1, 1e-12);
        CHECK_NEAR(kept, 1, 1e-12);
    }
    spl_bone_weights_release(&w);
    spl_weight_table_release(&t);
    free(held);
    box_free(&b);
}

/* Vertices that no bone reaches take their neighbours' weights. */
TEST(nothing_is_left_without_weights)
{
    supple_allocator a = spl_allocator_of(NULL);
    box b;
    REQUIRE(box_make(2, 2, 6, &b));
    size_t n = (size_t)b.mesh.vertex_count;
    spl_weight_table t;
    REQUIRE(spl_weight_table_create((int32_t)n, 2, &a, &t, NULL) == SUPPLE_OK);
    for (size_t v = 0; v < n; v++) {
        double z = b.mesh.points[3 * v + 2];
        t.value[v] = z<1.2, t.value[n + v] = z> 4.8 ? 3 : 0;
    }
    REQUIRE(spl_weight_table_normalise(&t, &b.e, NULL) == SUPPLE_OK);
    int32_t mixed = 0;
    for (size_t v = 0; v < n; v++) {
        CHECK_NEAR(t.value[v] + t.value[n + v], 1, 1e-12);
        mixed += t.value[v] > 0 && t.value[n + v] > 0;
    }
    CHECK(mixed > 0);
    spl_weight_table_release(&t);
    box_free(&b);
}

TEST(maxima_are_counted)
{
    supple_allocator a = spl_allocator_of(NULL);
    box b;
    REQUIRE(box_make(3, 3, 9, &b));
    size_t n = (size_t)b.mesh.vertex_count;
    int32_t *held = hold(&b, 2, 9), by_bone[2], count;
    spl_weight_table t;
    REQUIRE(spl_weight_table_create((int32_t)n, 2, &a, &t, NULL) == SUPPLE_OK);
    for (size_t v = 0; v < n; v++) { /* bone 0 falls from its own end, bone 1 has a hill in the middle and no other */
        const double *p = b.mesh.points + 3 * v;
        double d = fabs(p[2] - 4.5) + 0.01 * fabs(p[0] - 1.5) + 0.01 * fabs(p[1] - 1.5);
        t.value[v] = held[v] == 0 ? 1 : held[v] == 1 ? 0 : 0.9 - 0.09 * p[2];
        t.value[n + v] = held[v] == 1 ? 1 : held[v] == 0 ? 0 : 0.5 * exp(-d);
    }
    REQUIRE(spl_weight_table_maxima(&t, &b.e, held, by_bone, &count, NULL) == SUPPLE_OK);
    CHECK(by_bone[1] >= 1 && count == by_bone[0] + by_bone[1]);
    int32_t hills = by_bone[1];
    for (size_t v = 0; v < n; v++) /* flattened it is one plateau, joined to nothing the bone holds */
        if (t.value[n + v] > 0.05 && held[v] < 0) t.value[n + v] = 0.05;
    REQUIRE(spl_weight_table_maxima(&t, &b.e, held, by_bone, &count, NULL) == SUPPLE_OK);
    CHECK(by_bone[1] <= hills);
    for (size_t v = 0; v < n; v++) t.value[n + v] = held[v] == 1; /* held plateaus are no local maxima */
    REQUIRE(spl_weight_table_maxima(&t, &b.e, held, by_bone, &count, NULL) == SUPPLE_OK);
    CHECK(by_bone[1] == 0);
    spl_weight_table_release(&t);
    free(held);
    box_free(&b);
}

TEST(the_same_bits_at_any_number_of_threads)
{
    box b;
    REQUIRE(box_make(3, 3, 8, &b));
    int32_t *held = hold(&b, 4, 8);
    size_t bytes = 4 * (size_t)b.mesh.vertex_count * sizeof(double);
    spl_harmonic_input in = {&b.e, held, 4, NULL};
    supple_allocator a = spl_allocator_of(NULL);
    spl_weight_table one, t;
    spl_pool *pool = pool_of(1), *seven = pool_of(7);
    REQUIRE(spl_bbw(&in, NULL, pool, &a, &one, NULL, NULL) == SUPPLE_OK);
    REQUIRE(spl_bbw(&in, NULL, seven, &a, &t, NULL, NULL) == SUPPLE_OK);
    CHECK(!memcmp(one.value, t.value, bytes));
    spl_weight_table_release(&t);
    spl_weight_table_release(&one);
    spl_pool_destroy(pool);
    spl_pool_destroy(seven);
    free(held);
    box_free(&b);
}

TEST(memory_may_run_out)
{
    box b;
    REQUIRE(box_make(1, 1, 4, &b));
    int32_t *held = hold(&b, 2, 4);
    spl_harmonic_input in = {&b.e, held, 2, NULL};
    supple_allocator a;
    spl_weight_table t;
    spl_pool *pool = pool_of(1);
    long n = 0;
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        a = failing_allocator(&f);
        supple_result result = spl_bbw(&in, NULL, pool, &a, &t, NULL, NULL);
        bool made = result == SUPPLE_OK;
        ended = made && f.requests <= n;
        CHECK(made || (result == SUPPLE_ERROR_MEMORY && !t.value));
        if (made) spl_weight_table_release(&t);
        CHECK(f.live == 0);
    }
    CHECK(n > 30);
    spl_pool_destroy(pool);
    free(held);
    box_free(&b);
}

static bool stop(void *user, const char *stage, double fraction)
{
    int *calls = user;
    CHECK(strcmp(stage, "weights") == 0 && fraction >= 0 && fraction <= 1);
    return ++*calls < 2;
}

TEST(bones_can_be_cancelled)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    box b;
    REQUIRE(box_make(2, 2, 16, &b));
    int32_t *held = hold(&b, 8, 16);
    int calls = 0;
    spl_harmonic_input in = {&b.e, held, 8, NULL};
    spl_weight_table t;
    config.progress = stop;
    config.progress_user = &calls;
    CHECK(spl_bbw(&in, &config, NULL, &a, &t, NULL, NULL) == SUPPLE_ERROR_CANCELLED && !t.value && calls == 2);
    free(held);
    box_free(&b);
}

/* Eight times the vertices: only the rim of what moves makes iterations more, as the square root of what is across. */
TEST(iterations_grow_slowly)
{
    supple_allocator a = spl_allocator_of(NULL);
    double each[2];
    for (int i = 0; i < 2; i++) {
        box b;
        REQUIRE(box_make(3 << i, 3 << i, 10 << i, &b));
        int32_t *held = hold(&b, 3, 10 << i);
        spl_harmonic_input in = {&b.e, held, 3, NULL};
        spl_weight_table t;
        spl_bbw_report r;
        REQUIRE(spl_bbw(&in, NULL, NULL, &a, &t, &r, NULL) == SUPPLE_OK);
        REQUIRE(r.rounds > 0 && r.unfinished == 0);
        each[i] = (double)r.iterations / (r.rounds + 1); /* of starts too */
        spl_weight_table_release(&t);
        free(held);
        box_free(&b);
    }
    printf("    iterations a round: %.1f, with eight times the vertices %.1f\n", each[0], each[1]);
    CHECK(each[1] < 1.5 * each[0] && each[1] < 12);
}

/* Nothing is free; and a piece that nothing holds makes no sense. */
TEST(edge_cases)
{
    supple_allocator a = spl_allocator_of(NULL);
    box b;
    REQUIRE(box_make(2, 2, 3, &b));
    int32_t n = b.mesh.vertex_count, *held = calloc((size_t)n, sizeof *held);
    spl_harmonic_input in = {&b.e, held, 1, NULL};
    spl_weight_table t;
    REQUIRE(spl_bbw(&in, NULL, NULL, &a, &t, NULL, NULL) == SUPPLE_OK);
    for (int32_t v = 0; v < n; v++) CHECK(t.value[v] == 1);
    spl_weight_table_release(&t);
    for (int32_t v = 0; v < n; v++) held[v] = -1;
    supple_error error = {0};
    supple_result result = spl_bbw(&in, NULL, NULL, &a, &t, NULL, &error);
    CHECK(result == SUPPLE_ERROR_SOLVE && error.message[0] && !t.value);
    free(held);
    box_free(&b);
}

TEST_CASES(RUN(optimality_conditions_hold), RUN(a_slow_twin_agrees), RUN(mirrored_bodies_have_mirrored_weights),
           RUN(sums_and_strongest), RUN(nothing_is_left_without_weights), RUN(maxima_are_counted),
           RUN(the_same_bits_at_any_number_of_threads), RUN(memory_may_run_out), RUN(bones_can_be_cancelled),
           RUN(edge_cases), RUN(iterations_grow_slowly))
