#include "subspace/cubature.h"

#include "failing.h"
#include "subspace/reduced.h"
#include "test.h"

/* ---- forces ---- */

/* U^T of the forces on the domain's vertices from its own tets: the whole integral, straight from the elements. */
static void whole_forces(const reduced *r, const spl_law *law, const spl_cubature_pose *pose, double *out)
{
    const spl_solid *s = &r->t.solid;
    const spl_domain *o = &r->t.domains.domain[r->index];
    size_t full = 3 * (size_t)s->elements.vertex_count, rank = (size_t)r->domain.rank;
    double *x = malloc(full * sizeof *x), *f = calloc(full, sizeof *f);
    memcpy(x, pose->held ? pose->held : s->drive.rest, full * sizeof *x);
    for (int32_t i = 0; i < 3 * o->vertex_count; i++) {
        double *at = &x[3 * o->vertex[i / 3] + i % 3];
        *at = s->drive.rest[3 * o->vertex[i / 3] + i % 3];
        for (size_t k = 0; k < rank; k++) *at += r->domain.basis[(size_t)i * rank + k] * pose->q[k];
    }
    for (int32_t k = 0; k < o->tet_count; k++) {
        int32_t t = o->tet[k];
        spl_law_input in = {
            .F = spl_element_F(&s->elements, t, x), .mu = s->material.mu[t], .lambda = s->material.lambda[t]};
        spl_mat3 P;
        double corner[12];
        law->stress(&in, &P);
        spl_element_forces(&s->elements, t, &P, corner);
        for (int i = 0; i < 12; i++) f[3 * s->elements.tet[4 * t + i / 3] + i % 3] -= corner[i];
    }
    for (size_t k = 0; k < rank; k++) {
        out[k] = 0;
        for (int32_t i = 0; i < 3 * o->vertex_count; i++)
            out[k] += r->domain.basis[(size_t)i * rank + k] * f[3 * o->vertex[i / 3] + i % 3];
    }
    free(x);
    free(f);
}

/* The error of the cubature over states, as training defines it. */
static double error_over(const reduced *r, const spl_law *law, const spl_cubature_pose *pose, int32_t count)
{
    double got[64], want[64], sum = 0;
    for (int32_t s = 0; s < count; s++) {
        double wrong = 0, size = 0;
        whole_forces(r, law, &pose[s], want);
        spl_cubature_forces(&r->t.solid, &r->domain, law, &pose[s], got);
        for (int32_t k = 0; k < r->domain.rank; k++)
            wrong += (got[k] - want[k]) * (got[k] - want[k]), size += want[k] * want[k];
        sum += wrong / size;
    }
    return sqrt(sum / count);
}

static spl_cubature_pose *poses_of(const reduced *r, const double *q, int32_t count, const double *held)
{
    spl_cubature_pose *pose = malloc((size_t)count * sizeof *pose);
    for (int32_t s = 0; s < count; s++)
        pose[s] = (spl_cubature_pose){.q = q + (size_t)s * (size_t)r->domain.rank, .held = s % 2 ? held : NULL};
    return pose;
}

/* Held vertices as another bone would have them: moved a little. */
static double *held_moved(const reduced *r)
{
    size_t full = 3 * (size_t)r->t.solid.elements.vertex_count;
    double *x = malloc(full * sizeof *x);
    for (size_t i = 0; i < full; i++)
        x[i] = r->t.solid.drive.rest[i] + 0.005 * r->t.solid.diagonal * sin(20 * r->t.solid.drive.rest[i]);
    return x;
}

static reduced arm(int32_t rank)
{
    training t = training_make("arm", 0.5, 24, NULL);
    if (!t.ok) abort();
    int32_t last = t.domains.domain_count - 1;
    return reduced_make(t, last, 24, 30, rank, NULL);
}

static bool train(reduced *r, const spl_law *law, const spl_cubature_pose *pose, int32_t count,
                  const spl_cubature_options *o, spl_pool *pool)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    free(r->domain.cubature);
    if (spl_cubature_train(&r->t.solid, &r->t.domains, r->index, law, pose, count, o, pool, &a, &r->domain, &error) ==
        SUPPLE_OK)
        return true;
    printf("    %s\n", error.message);
    return false;
}

/* ---- truths ---- */

TEST(all_tets_are_the_whole_integral)
{
    static const spl_law *const law[3] = {&spl_law_neohookean, &spl_law_corot, &spl_law_stvk};
    reduced r = arm(12);
    supple_allocator a = spl_allocator_of(NULL);
    double *q = reduced_states(&r, 8, 0.1, 1), *held = held_moved(&r);
    spl_cubature_pose *pose = poses_of(&r, q, 8, held);
    REQUIRE(r.domain.rank == 12);
    REQUIRE(spl_cubature_all(&r.t.solid, &r.t.domains, r.index, &a, &r.domain, NULL) == SUPPLE_OK);
    CHECK(r.domain.cubature_count == r.t.domains.domain[r.index].tet_count && r.domain.training_error == 0);
    for (int l = 0; l < 3; l++) CHECK(error_over(&r, law[l], pose, 8) < 1e-12);
    int32_t held_corners = 0;
    for (int32_t k = 0; k < r.domain.cubature_count; k++)
        for (int i = 0; i < 4; i++) held_corners += r.domain.cubature[k].corner[i] < 0;
    CHECK(held_corners > 0); /* some tets see held vertices: the states that move them test that */
    free(pose);
    free(held);
    free(q);
    reduced_free(&r);
}

/* Below the error asked for on the states of the training, and near it on others of their kind. */
TEST(forces_of_states_never_seen)
{
    reduced r = arm(12);
    double *q = reduced_states(&r, 80, 0.08, 1), *other = reduced_states(&r, 80, 0.08, 77), *held = held_moved(&r);
    spl_cubature_pose *seen = poses_of(&r, q, 80, held), *unseen = poses_of(&r, other, 80, held);
    int32_t last = 0;
    static const double wanted[3] = {0.2, 0.05, 0.02};
    for (int k = 0; k < 3; k++) {
        spl_cubature_options o = spl_cubature_options_default();
        o.error = wanted[k];
        REQUIRE(train(&r, &spl_law_neohookean, seen, 80, &o, NULL));
        const spl_model_domain *d = &r.domain;
        CHECK(d->training_error <= o.error);
        CHECK(d->cubature_count > last && d->cubature_count < r.t.domains.domain[r.index].tet_count / 2);
        last = d->cubature_count;
        for (int32_t i = 0; i < d->cubature_count; i++) {
            CHECK(d->cubature[i].weight > 0);
            CHECK(r.t.domains.of_tet[d->cubature[i].tet] == r.index);
            CHECK(i == 0 || d->cubature[i].tet > d->cubature[i - 1].tet);
        }
        CHECK_NEAR(error_over(&r, &spl_law_neohookean, seen, 80) / d->training_error, 1, 1e-4);
        double held_out = error_over(&r, &spl_law_neohookean, unseen, 80);
        CHECK(held_out <= 2 * o.error);
    }
    free(seen);
    free(unseen);
    free(held);
    free(q);
    free(other);
    reduced_free(&r);
}

/* Few tets, few candidates, little memory: fewer tets or a larger error, and never a wrong one. */
TEST(limits)
{
    reduced r = arm(8);
    double *q = reduced_states(&r, 20, 0.08, 1);
    spl_cubature_pose *pose = poses_of(&r, q, 20, NULL);
    spl_cubature_options o = spl_cubature_options_default();
    o.most = 5;
    REQUIRE(train(&r, &spl_law_corot, pose, 20, &o, NULL));
    CHECK(r.domain.cubature_count <= 5 && r.domain.training_error > o.error);
    CHECK_NEAR(error_over(&r, &spl_law_corot, pose, 20) / r.domain.training_error, 1, 1e-4);
    o = spl_cubature_options_default();
    o.candidates = 10;
    REQUIRE(train(&r, &spl_law_corot, pose, 20, &o, NULL));
    CHECK(r.domain.training_error <= o.error);
    o.bytes = 100 * 20 * 8 * sizeof(float); /* of 100 tets */
    REQUIRE(train(&r, &spl_law_corot, pose, 20, &o, NULL));
    CHECK(r.domain.cubature_count <= 100);
    CHECK_NEAR(error_over(&r, &spl_law_corot, pose, 20) / r.domain.training_error, 1, 1e-4);
    o.bytes = 0;
    REQUIRE(train(&r, &spl_law_corot, pose, 20, &o, NULL));
    CHECK(r.domain.cubature_count <= 1);
    o.most = 0;
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    free(r.domain.cubature);
    CHECK(spl_cubature_train(&r.t.solid, &r.t.domains, r.index, &spl_law_corot, pose, 20, &o, NULL, &a, &r.domain,
                             &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(!r.domain.cubature);
    free(pose);
    free(q);
    reduced_free(&r);
}

/* Rest has no forces: it asks for nothing, and does not spoil the others. */
TEST(poses_without_forces)
{
    reduced r = arm(8);
    double *q = reduced_states(&r, 10, 0.08, 1), zero[8] = {0};
    spl_cubature_pose *pose = poses_of(&r, q, 10, NULL);
    spl_cubature_pose rest[2] = {{.q = zero}, {.q = zero}};
    REQUIRE(train(&r, &spl_law_corot, rest, 2, NULL, NULL));
    CHECK(r.domain.cubature_count == 0 && r.domain.training_error == 0);
    REQUIRE(train(&r, &spl_law_corot, rest, 0, NULL, NULL));
    CHECK(r.domain.cubature_count == 0);
    pose[3].q = zero;
    pose[3].held = NULL;
    REQUIRE(train(&r, &spl_law_corot, pose, 10, NULL, NULL));
    CHECK(r.domain.cubature_count > 0 && r.domain.training_error <= 0.05);
    free(pose);
    free(q);
    reduced_free(&r);
}

TEST(bits_do_not_depend_on_threads)
{
    static const int threads[3] = {1, 2, 7};
    reduced r = arm(10);
    double *q = reduced_states(&r, 40, 0.08, 1);
    spl_cubature_pose *pose = poses_of(&r, q, 40, NULL);
    spl_cubature_tet *first = NULL;
    int32_t count = 0;
    for (int t = 0; t < 4; t++) {
        spl_pool *pool = training_pool(threads[t % 3]);
        spl_cubature_options o = spl_cubature_options_default();
        o.seed = t < 3 ? 1 : 2;
        o.candidates = 200;
        REQUIRE(train(&r, &spl_law_neohookean, pose, 40, &o, pool));
        size_t size = (size_t)r.domain.cubature_count * sizeof *first;
        if (t == 0) {
            first = malloc(size);
            count = r.domain.cubature_count;
            memcpy(first, r.domain.cubature, size);
        }
        bool same = r.domain.cubature_count == count && memcmp(first, r.domain.cubature, size) == 0;
        CHECK(same == (t < 3)); /* another seed chooses others */
        spl_pool_destroy(pool);
    }
    free(first);
    free(pose);
    free(q);
    reduced_free(&r);
}

TEST(memory_runs_out)
{
    reduced r = arm(4);
    double *q = reduced_states(&r, 4, 0.08, 1);
    spl_cubature_pose *pose = poses_of(&r, q, 4, NULL);
    for (int all = 0; all < 2; all++) {
        bool done = false;
        long n = 0;
        for (; !done && n < 100; n++) {
            failing f = {.fail_at = n};
            supple_allocator a = failing_allocator(&f);
            spl_model_domain d = r.domain;
            supple_result result = all ? spl_cubature_all(&r.t.solid, &r.t.domains, r.index, &a, &d, NULL)
                                       : spl_cubature_train(&r.t.solid, &r.t.domains, r.index, &spl_law_corot, pose, 4,
                                                            NULL, NULL, &a, &d, NULL);
            done = result == SUPPLE_OK;
            CHECK(done || (result == SUPPLE_ERROR_MEMORY && !d.cubature && d.cubature_count == 0));
            spl_free(&a, d.cubature);
            CHECK(f.live == 0);
        }
        CHECK(done && n > (all ? 2 : 20));
    }
    free(pose);
    free(q);
    reduced_free(&r);
}

TEST_CASES(RUN(all_tets_are_the_whole_integral), RUN(forces_of_states_never_seen), RUN(limits),
           RUN(poses_without_forces), RUN(bits_do_not_depend_on_threads), RUN(memory_runs_out))
