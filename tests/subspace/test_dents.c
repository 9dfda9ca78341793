#include "subspace/dents.h"

#include "failing.h"
#include "fem/law.h"
#include "subspace/training.h"
#include "test.h"

enum { EACH = 5 };

static const double edge = 0.02;

static spl_dents make(const training *t, spl_pool *pool)
{
    supple_config config = supple_config_default();
    spl_dents d;
    supple_error error = {0};
    if (spl_dents_create(&t->solid, &t->domains, &spl_law_corot, EACH, edge, &config, pool, &d, &error) == SUPPLE_OK)
        return d;
    printf("    %s\n", error.message);
    abort();
}

/* K psi = lambda M psi: to the forces lambda M psi the body answers with psi. */
TEST(responses_are_those_of_the_stiffness)
{
    training t = training_make("arm", 0.5, 20, NULL);
    REQUIRE(t.ok);
    supple_config config = supple_config_default();
    spl_modal modal;
    REQUIRE(spl_modal_create(&t.solid, &spl_law_corot, 6, 0, &config, NULL, &modal, NULL) == SUPPLE_OK);
    size_t n = (size_t)modal.vertex_count;
    double *mass = calloc(n, sizeof *mass), *u = malloc(6 * 3 * n * sizeof *u);
    spl_elements_lumped_mass(&t.solid.elements, t.solid.material.density, mass);
    for (size_t i = 0; i < 6 * 3 * n; i++) u[i] = modal.value[i / (3 * n)] * mass[i / 3 % n] * modal.mode[i];
    CHECK(spl_modal_respond(&t.solid, &spl_law_corot, u, 6, &config, NULL, NULL) == SUPPLE_OK);
    double most = 0, size = 0;
    for (size_t i = 0; i < 6 * 3 * n; i++) {
        most = fmax(most, fabs(u[i] - modal.mode[i]));
        size = fmax(size, fabs(modal.mode[i]));
    }
    CHECK(most < 1e-8 * size);
    free(mass), free(u);
    spl_modal_release(&modal);
    training_free(&t);
}

/* A dent is one where it is deepest, nothing at held vertices, and little in the mean. */
TEST(dents_stay_near)
{
    training t = training_make("arm", 0.5, 20, NULL);
    REQUIRE(t.ok);
    spl_dents d = make(&t, NULL);
    size_t n = (size_t)t.demo.body->tets.vertex_count;
    for (int32_t i = 0; i < t.domains.domain_count; i++) {
        CHECK(d.count[i] == EACH && d.radius[i] >= 2 * edge);
        for (int32_t p = 0; p < d.count[i]; p++) {
            const double *u = d.shape + 3 * (size_t)(i * EACH + p) * n;
            double most = 0, mean = 0;
            for (size_t v = 0; v < n; v++) {
                double size = sqrt(u[3 * v] * u[3 * v] + u[3 * v + 1] * u[3 * v + 1] + u[3 * v + 2] * u[3 * v + 2]);
                most = fmax(most, size);
                mean += size / (double)n;
                if (t.demo.body->bone[v] >= 0) CHECK(size == 0);
            }
            CHECK_NEAR(most, 1, 1e-12);
            CHECK(mean < 0.5); /* the rest of the body has little of it */
        }
    }
    spl_dents_release(&d);
    training_free(&t);
}

/* Appended columns are mass-orthonormal with those before them, which stay; together they have every dent. */
TEST(appended_columns_have_all_dents)
{
    training t = training_make("arm", 0.5, 20, NULL);
    REQUIRE(t.ok);
    spl_dents d = make(&t, NULL);
    const spl_domain *o = &t.domains.domain[0];
    size_t n = 3 * (size_t)o->vertex_count, body = (size_t)t.demo.body->tets.vertex_count;
    enum { FIRST = 3, MOST = FIRST + EACH };
    double *basis = calloc(n * MOST, sizeof *basis), first[FIRST] = {0};
    for (size_t k = 0; k < n; k++) first[k % 3] += o->mass[k / 3];
    for (size_t k = 0; k < n; k++) basis[k * FIRST + k % 3] = 1 / sqrt(first[k % 3]); /* translations */
    int32_t rank = FIRST;
    CHECK(spl_dents_append(&d, &t.domains, 0, MOST, (int32_t)body, basis, &rank, NULL) == SUPPLE_OK);
    REQUIRE(rank == MOST);
    for (int i = 0; i < MOST; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += o->mass[k / 3] * basis[k * MOST + (size_t)i] * basis[k * MOST + (size_t)j];
            CHECK_NEAR(sum, i == j, 1e-10);
        }
    for (size_t k = 0; k < n; k++)
        for (size_t c = 0; c < FIRST; c++) CHECK(basis[k * MOST + c] == (k % 3 == c ? 1 / sqrt(first[c]) : 0));
    for (int32_t p = 0; p < d.count[0]; p++) {
        double left = 0, whole = 0, q[MOST] = {0};
        const double *u = d.shape + 3 * (size_t)p * body;
        for (size_t k = 0; k < n; k++)
            for (size_t c = 0; c < MOST; c++)
                q[c] += o->mass[k / 3] * basis[k * MOST + c] * u[3 * (size_t)o->vertex[k / 3] + k % 3];
        for (size_t k = 0; k < n; k++) {
            double x = u[3 * (size_t)o->vertex[k / 3] + k % 3], y = x;
            for (size_t c = 0; c < MOST; c++) y -= basis[k * MOST + c] * q[c];
            left += y * y, whole += x * x;
        }
        CHECK(left < 1e-16 * whole);
    }
    free(basis);
    spl_dents_release(&d);
    training_free(&t);
}

TEST(each_allocation_may_fail)
{
    training t = training_make("arm", 0.4, 12, NULL);
    REQUIRE(t.ok);
    bool failed = true;
    for (long k = 0; failed && k < 2000; k += k < 40 ? 1 : 7) {
        failing f = {.fail_at = k};
        supple_config config = supple_config_default();
        spl_dents d;
        config.allocator = failing_allocator(&f);
        supple_result r = spl_dents_create(&t.solid, &t.domains, &spl_law_corot, 2, edge, &config, NULL, &d, NULL);
        failed = r != SUPPLE_OK;
        CHECK(!failed || r == SUPPLE_ERROR_MEMORY);
        spl_dents_release(&d);
        CHECK(f.live == 0);
    }
    CHECK(!failed);
    training_free(&t);
}

TEST_CASES(RUN(responses_are_those_of_the_stiffness), RUN(dents_stay_near), RUN(appended_columns_have_all_dents),
           RUN(each_allocation_may_fail))
