#include "body/diffuse.h"

#include "body/held_box.h"
#include "body/solid.h"
#include "demo_body.h"
#include "failing.h"
#include "sparse/dense.h"
#include "test.h"

enum { BONES = 3 };

/* (L + M r) w = M r p, fixed rows replaced, by Gaussian elimination. */
static double *dense_diffusion(const box *b, const bool *fixed, const double *reaction, const int32_t *source,
                               const spl_weight_table *t)
{
    size_t n = (size_t)b->mesh.vertex_count;
    double *A = calloc(n * n, sizeof *A), *x = calloc(n * BONES, sizeof *x), *mass = calloc(n, sizeof *mass);
    dense_laplacian(b, A, mass);
    for (size_t v = 0; v < n; v++) {
        A[v * n + v] += mass[v] * reaction[v];
        if (fixed[v]) memset(A + v * n, 0, n * sizeof *A), A[v * n + v] = 1;
        for (size_t k = 0; k < BONES; k++)
            x[v * BONES + k] = fixed[v] ? t->value[k * n + v] : mass[v] * reaction[v] * (source[v] == (int32_t)k);
    }
    dense_solve(A, x, n, BONES);
    free(A);
    free(mass);
    return x;
}

TEST(diffusion_solves_its_equation)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pool *pool = pool_of(2);
    box b;
    REQUIRE(box_make(2, 2, 9, &b));
    size_t n = (size_t)b.mesh.vertex_count;
    int32_t *held = hold(&b, BONES, 9), *source = calloc(n, sizeof *source);
    bool *fixed = calloc(n, sizeof *fixed);
    double *reaction = calloc(n, sizeof *reaction), most = 0, inside = 0;
    spl_weight_table t;
    REQUIRE(spl_weight_table_create((int32_t)n, BONES, &a, &t, NULL) == SUPPLE_OK);
    for (size_t v = 0; v < n; v++) {
        fixed[v] = held[v] >= 0;
        reaction[v] = 0.1 * (double)(v % 5);
        source[v] = (int32_t)(v % 3);
        if (fixed[v]) t.value[(size_t)held[v] * n + v] = 1;
    }
    double *exact = dense_diffusion(&b, fixed, reaction, source, &t);
    spl_diffusion d = {&b.e, fixed, reaction, source, NULL};
    REQUIRE(spl_diffuse(&d, pool, &t, NULL) == SUPPLE_OK);
    for (size_t v = 0; v < n; v++)
        for (size_t k = 0; k < BONES; k++) {
            most = fmax(most, fabs(t.value[k * n + v] - fmax(exact[v * BONES + k], 0)));
            if (!fixed[v]) inside = fmax(inside, t.value[k * n + v]);
        }
    CHECK(most < 1e-12 && inside > 0.2);
    free(exact), free(held), free(source), free(fixed), free(reaction);
    spl_weight_table_release(&t);
    box_free(&b);
    spl_pool_destroy(pool);
}

/* Without clamping the sum of all bones is the solution for p = 1: 1 itself. Each bone is strongest near itself. */
TEST(heat_sums_to_one)
{
    supple_allocator a = spl_allocator_of(NULL);
    box b;
    REQUIRE(box_make(3, 3, 12, &b));
    size_t n = (size_t)b.mesh.vertex_count;
    int32_t *held = hold(&b, 4, 12);
    spl_harmonic_input in = {&b.e, held, 4, NULL};
    spl_weight_table t;
    REQUIRE(spl_heat_weights(&in, b.mesh.points, NULL, &a, &t, NULL) == SUPPLE_OK);
    for (size_t v = 0; v < n; v++) {
        double sum = 0;
        for (size_t k = 0; k < 4; k++) sum += t.value[k * n + v];
        CHECK_NEAR(sum, 1, 0.02); /* what obtuse tets of the jittered box leave below 0 is cut off */
        double z = b.mesh.points[3 * v + 2];
        if (held[v] < 0 && z > 0.2 && z < 1.5) CHECK(t.value[v] > 0.5);
        if (held[v] < 0 && z > 10.5) CHECK(t.value[3 * n + v] > 0.5);
    }
    spl_weight_table_release(&t);
    free(held);
    box_free(&b);
}

/* Two arms side by side, joined at one end: nearest through space is not nearest through the body. */
TEST(heat_goes_through_the_body)
{
    supple_allocator a = spl_allocator_of(NULL);
    lattice m = box_mesh(8, 2, 12);
    int32_t n = m.vertex_count, kept = 0;
    for (int32_t k = 0; k < m.tet_count; k++) { /* a slit from z = 2 on */
        bool cut = false;
        for (int i = 0; i < 4; i++) {
            const double *p = m.points + 3 * m.tets[4 * k + i];
            cut = cut || (p[0] > 3.3 && p[0] < 4.7 && p[2] > 2);
        }
        if (!cut) memmove(m.tets + 4 * kept++, m.tets + 4 * k, 4 * sizeof *m.tets);
    }
    spl_elements e;
    REQUIRE(spl_elements_create(m.points, n, m.tets, kept, &a, &e, NULL) == SUPPLE_OK);
    int32_t *held = malloc((size_t)n * sizeof *held);
    bool *used = calloc((size_t)n, sizeof *used);
    for (int32_t i = 0; i < 4 * kept; i++) used[m.tets[i]] = true;
    for (int32_t v = 0; v < n; v++) { /* bone 0 at the far end of the left arm, bone 1 near the slit in the right one */
        const double *p = m.points + 3 * v;
        held[v] = !used[v] || (p[0] < 1.2 && p[2] < 1.2) ? 0 : p[0] > 4.6 && p[0] < 5.8 && p[2] > 9 ? 1 : -1;
    }
    spl_harmonic_input in = {&e, held, 2, NULL};
    spl_weight_table t;
    REQUIRE(spl_heat_weights(&in, m.points, NULL, &a, &t, NULL) == SUPPLE_OK);
    int32_t seen = 0;
    for (int32_t v = 0; v < n; v++) {
        const double *p = m.points + 3 * v;
        if (!used[v] || held[v] >= 0 || p[0] < 2.5 || p[0] > 3.4 || p[2] < 10) continue;
        seen++; /* across the slit bone 1 is 2 away, bone 0 is 10; through the body bone 0 is nearer */
        CHECK(t.value[v] > 0.5);
    }
    CHECK(seen > 3);
    spl_weight_table_release(&t);
    spl_elements_release(&e);
    lattice_free(&m);
    free(held);
    free(used);
}

TEST(own_weights_are_the_skins)
{
    supple_allocator a = spl_allocator_of(NULL);
    demo_body d = demo_body_make("demo:arm", 40, 0);
    REQUIRE(d.body);
    spl_solid solid;
    spl_weight_table t;
    REQUIRE(spl_solid_create(d.body, NULL, NULL, NULL, &solid, NULL) == SUPPLE_OK);
    REQUIRE(spl_own_weights(d.body, &solid.elements, NULL, NULL, &a, &t, NULL) == SUPPLE_OK);
    size_t n = (size_t)t.vertex_count;
    for (size_t v = 0; v < n; v++) {
        double sum = 0;
        for (size_t b = 0; b < (size_t)t.bone_count; b++) sum += t.value[b * n + v];
        CHECK_NEAR(sum, 1, 1e-6);
    }
    int32_t corners = 0;
    for (int32_t i = 0; i < 3 * d.body->tets.surface_count; i++) { /* at the surface: the skin's own, interpolated */
        int32_t v = d.body->tets.surface[i];
        const spl_place *at = &d.body->place[v];
        if (at->triangle < 0) continue;
        for (int32_t b = 0; b < t.bone_count; b++) {
            double skin = 0;
            for (int k = 0; k < 3; k++) {
                int32_t c = d.body->surface.triangle[3 * at->triangle + k];
                for (int32_t w = d.body->weights.first[c]; w < d.body->weights.first[c + 1]; w++)
                    if (d.body->weights.node[w] == d.body->bones.bone[b].node)
                        skin += at->bary[k] * d.body->weights.weight[w];
            }
            CHECK_NEAR(t.value[(size_t)b * n + (size_t)v], skin, 1e-6);
        }
        corners++;
    }
    CHECK(corners > 1000);
    spl_weight_table_release(&t);
    spl_solid_release(&solid);
    supple_body_destroy(d.handle);
    supple_scene_destroy(d.scene);
}

TEST(memory)
{
    box b;
    REQUIRE(box_make(2, 2, 6, &b));
    int32_t *held = hold(&b, 3, 6);
    spl_harmonic_input in = {&b.e, held, 3, NULL};
    long n = 0;
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_weight_table t;
        supple_result result = spl_heat_weights(&in, b.mesh.points, NULL, &a, &t, NULL);
        bool made = result == SUPPLE_OK;
        ended = made && f.requests <= n;
        CHECK(made || (result == SUPPLE_ERROR_MEMORY && !t.value));
        if (made) spl_weight_table_release(&t);
        CHECK(f.live == 0);
    }
    CHECK(n > 15);
    free(held);
    box_free(&b);
}

TEST_CASES(RUN(diffusion_solves_its_equation), RUN(heat_sums_to_one), RUN(heat_goes_through_the_body),
           RUN(own_weights_are_the_skins), RUN(memory))
