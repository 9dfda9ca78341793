#include "fem/residual.h"

#include "failing.h"
#include "fem/box.h"
#include "math/svd3.h"
#include "test.h"

/* A box with everything spl_elastic needs. */
typedef struct setup {
    box b;
    spl_stars stars;
    double *mu, *lambda, *rotation, *force, *magnitude, *scratch;
    spl_elastic elastic;
} setup;

static bool setup_make(setup *s, int32_t nx, int32_t ny, int32_t nz)
{
    supple_allocator a = spl_allocator_of(NULL);
    if (!box_make(nx, ny, nz, &s->b) || spl_stars_create(&s->b.e, &a, &s->stars, NULL) != SUPPLE_OK) return false;
    size_t tets = (size_t)s->b.e.count, vertices = (size_t)s->b.e.vertex_count;
    s->mu = malloc(tets * sizeof *s->mu);
    s->lambda = malloc(tets * sizeof *s->lambda);
    s->rotation = malloc(9 * tets * sizeof *s->rotation);
    s->force = malloc(3 * vertices * sizeof *s->force);
    s->magnitude = malloc(vertices * sizeof *s->magnitude);
    s->scratch = malloc((12 * tets + 4 * (tets / 1024 + 1)) * sizeof *s->scratch);
    for (size_t k = 0; k < tets; k++) s->mu[k] = 1, s->lambda[k] = 3;
    s->elastic = (spl_elastic){.elements = &s->b.e, .mu = s->mu, .lambda = s->lambda, .rotation = s->rotation};
    return true;
}

static void setup_free(setup *s)
{
    spl_stars_release(&s->stars);
    box_free(&s->b);
    free(s->mu);
    free(s->lambda);
    free(s->rotation);
    free(s->force);
    free(s->magnitude);
    free(s->scratch);
}

static void fill_rotations(setup *s, const spl_mat3 *R)
{
    for (size_t i = 0; i < 9 * (size_t)s->b.e.count; i++) s->rotation[i] = R->m[i % 9];
}

static double pull(setup *s, spl_pool *pool)
{
    return spl_elastic_forces(&s->elastic, &s->stars, s->b.x, s->force, s->magnitude, s->scratch, pool);
}

TEST(stars_list_every_corner_once)
{
    setup s;
    REQUIRE(setup_make(&s, 3, 3, 2));
    size_t corners = 4 * (size_t)s.b.e.count, vertices = (size_t)s.b.e.vertex_count;
    CHECK(s.stars.start[0] == 0 && s.stars.start[vertices] == corners);
    for (size_t v = 0; v < vertices; v++)
        for (size_t q = s.stars.start[v]; q < s.stars.start[v + 1]; q++) {
            CHECK((size_t)s.b.mesh.tets[s.stars.corner[q]] == v);
            CHECK(q == s.stars.start[v] || s.stars.corner[q] > s.stars.corner[q - 1]);
        }
    setup_free(&s);
}

/* Forces are minus the gradient of the energy that is returned, summed over the tets one after the other. */
TEST(forces_are_the_gradient_of_the_energy)
{
    uint64_t seed = 1;
    const double h = 1e-5;
    setup s;
    REQUIRE(setup_make(&s, 2, 2, 2));
    spl_mat3 A = random_singular(&seed, 1.2, 1.0, 0.9), R, S;
    spl_polar3(&A, &R, &S);
    for (int32_t l = 0; l < spl_law_count(); l++) {
        s.elastic.law = spl_law_at(l);
        fill_rotations(&s, &R);
        box_map(&s.b, &A, spl_v3(1, 2, 3));
        box_shake(&s.b, 0.03, &seed);
        for (int32_t i = 0; i < 3 * s.b.e.vertex_count; i += 5) {
            double before = s.b.x[i], energy[2];
            for (int side = 0; side < 2; side++) {
                s.b.x[i] = before + (side ? h : -h);
                energy[side] = pull(&s, NULL);
            }
            s.b.x[i] = before;
            pull(&s, NULL);
            CHECK_NEAR(s.force[i], -(energy[1] - energy[0]) / (2 * h), 1e-8);
        }
        double W = 0;
        for (int32_t k = 0; k < s.b.e.count; k++) {
            spl_law_input in = {.F = spl_element_F(&s.b.e, k, s.b.x), .R = R, .mu = 1, .lambda = 3};
            W += s.b.e.volume[k] * spl_law_at(l)->energy(&in);
        }
        CHECK_NEAR(pull(&s, NULL), W, 1e-13 * W);
    }
    setup_free(&s);
}

/* The patch test: an affine map strains all tets alike, so inner vertices are in balance, whatever the law. */
TEST(patch_test)
{
    uint64_t seed = 2;
    setup s;
    REQUIRE(setup_make(&s, 4, 4, 4));
    bool *inner = calloc((size_t)s.b.e.vertex_count, sizeof *inner);
    int32_t count = 0;
    for (int32_t v = 0; v < s.b.e.vertex_count; v++) { /* two cells from the sides: surrounded by tets */
        const double *p = s.b.mesh.points + 3 * v;
        inner[v] = true;
        for (int c = 0; c < 3; c++) inner[v] &= p[c] > 0.7 && p[c] < 3.3;
        count += inner[v];
    }
    CHECK(count > 20);
    for (int i = 0; i < 4; i++) {
        spl_mat3 A = random_singular(&seed, 1.5, 1.0, i % 2 ? 0.6 : -0.3), R = spl_quat_to_mat3(random_rotation(&seed));
        box_map(&s.b, &A, random_vector(&seed));
        fill_rotations(&s, &R);
        for (int32_t l = 0; l < spl_law_count(); l++) {
            s.elastic.law = spl_law_at(l);
            double W = pull(&s, NULL);
            bool behind = s.elastic.law->barrier && i % 2 == 0; /* a barrier, where there are no forces */
            CHECK(behind ? W == INFINITY : isfinite(W));
            for (int32_t v = 0; v < s.b.e.vertex_count; v++) {
                const double *f = s.force + 3 * v;
                double size = spl_norm(spl_v3(f[0], f[1], f[2]));
                if (behind) {
                    CHECK(size == 0 && s.magnitude[v] == 0);
                    continue;
                }
                if (inner[v]) CHECK(size <= 1e-13 * s.magnitude[v] && s.magnitude[v] > 0.01);
            }
        }
    }
    free(inner);
    setup_free(&s);
}

TEST(rigid_motions_pull_nothing)
{
    uint64_t seed = 3;
    setup s;
    REQUIRE(setup_make(&s, 3, 3, 3));
    for (int32_t l = 0; l < spl_law_count(); l++) {
        spl_mat3 R = spl_quat_to_mat3(random_rotation(&seed));
        box_map(&s.b, &R, random_vector(&seed));
        fill_rotations(&s, &R);
        s.elastic.law = spl_law_at(l);
        CHECK_NEAR(pull(&s, NULL), 0, 1e-12);
        for (int32_t i = 0; i < 3 * s.b.e.vertex_count; i++) CHECK_NEAR(s.force[i], 0, 1e-13);
    }
    setup_free(&s);
}

TEST(residual_is_relative)
{
    const double force[9] = {3, 0, 0, 0, 4, 0, 100, 100, 100}, magnitude[3] = {5, 10, 10};
    const int32_t held[3] = {-1, -1, 0};
    CHECK_NEAR(spl_residual(force, magnitude, held, 3, 0), 5.0 / 15, 1e-15);
    CHECK_NEAR(spl_residual(force, magnitude, held, 3, 10), 5.0 / 25, 1e-15);
    CHECK_NEAR(spl_residual(force, magnitude, NULL, 3, 0), sqrt(25 + 3e4) / 15, 1e-13);
}

/* ---- strain ----------------------------------------------------------------------------------------------------- */

TEST(strain_of_known_maps)
{
    static const double s[][3] = {{1, 1, 1},       {1.2, 1, 0.9},     {1.1, 1, 0.3},      {1, 1, 1 - 1e-9},
                                  {2, 2, 2},       {1.3, 1e-7, 1e-7}, {1, 0.5, -0.4},     {1.5, 0.2, 1e-4},
                                  {0.9, 0.9, 0.2}, {3, 3, 0.9},       {1 + 1e-12, 1, 1.0}};
    uint64_t seed = 4;
    setup t;
    REQUIRE(setup_make(&t, 5, 5, 5)); /* more tets than one partial sum */
    CHECK(t.b.e.count > 1024);
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
        spl_mat3 A = random_singular(&seed, s[i][0], s[i][1], s[i][2]);
        box_map(&t.b, &A, random_vector(&seed));
        spl_strain m = spl_strain_measure(&t.b.e, t.b.x, NULL, t.scratch, NULL);
        double det = s[i][0] * s[i][1] * s[i][2], strain = fmax(fabs(s[i][0] - 1), fabs(s[i][2] - 1));
        CHECK_NEAR(m.volume_ratio, det, 1e-13);
        CHECK_NEAR(m.min_det_f, det, 1e-13);
        CHECK_NEAR(m.max_strain, strain, 1e-13);
        CHECK(m.inverted == (det < 0 ? t.b.e.count : 0));
    }
    setup_free(&t);
}

/* Against the singular values, tet by tet, on a shaken body; only over the members. */
TEST(strain_of_members)
{
    uint64_t seed = 5;
    setup s;
    REQUIRE(setup_make(&s, 5, 5, 5));
    spl_mat3 one = spl_mat3_identity();
    box_map(&s.b, &one, spl_v3(0, 0, 0));
    box_shake(&s.b, 0.4, &seed);
    bool *member = malloc((size_t)s.b.e.count * sizeof *member);
    spl_strain expected = {.min_det_f = INFINITY};
    double rest = 0, volume = 0;
    for (int32_t k = 0; k < s.b.e.count; k++) {
        member[k] = random_real(&seed) > 0;
        if (!member[k]) continue;
        spl_mat3 F = spl_element_F(&s.b.e, k, s.b.x), U, V;
        double sigma[3], det = spl_mat3_det(&F);
        spl_svd3(&F, &U, sigma, &V);
        for (int i = 0; i < 3; i++) expected.max_strain = fmax(expected.max_strain, fabs(sigma[i] - 1));
        expected.min_det_f = fmin(expected.min_det_f, det);
        expected.inverted += det <= 0;
        rest += s.b.e.volume[k];
        volume += s.b.e.volume[k] * det;
    }
    spl_strain m = spl_strain_measure(&s.b.e, s.b.x, member, s.scratch, NULL);
    CHECK(expected.inverted > 0 && m.inverted == expected.inverted);
    CHECK(m.max_strain == expected.max_strain);
    CHECK_NEAR(m.volume_ratio, volume / rest, 1e-12);
    CHECK(m.min_det_f == expected.min_det_f);
    memset(member, 0, (size_t)s.b.e.count * sizeof *member);
    m = spl_strain_measure(&s.b.e, s.b.x, member, s.scratch, NULL);
    CHECK(m.volume_ratio == 1 && m.min_det_f == 1 && m.max_strain == 0 && m.inverted == 0);
    free(member);
    setup_free(&s);
}

/* Tets on their own, all nearly collapsed to a line and nearly alike: where the estimate of the strain is at its worst
 * and the largest is hard to tell. */
TEST(strain_of_collapsed_tets)
{
    enum { TETS = 2000 };
    static double rest[12 * TETS], x[12 * TETS], scratch[8];
    static int32_t tet[4 * TETS];
    uint64_t seed = 8;
    double expected = 0;
    for (int k = 0; k < TETS; k++) {
        double s = 1e-3 + 1e-13 * random_real(&seed);
        spl_mat3 F = random_singular(&seed, 1.5, s, s);
        for (int i = 0; i < 4; i++) {
            tet[4 * k + i] = 4 * k + i;
            spl_vec3 p = spl_v3(i == 1, i == 2, i == 3), q = spl_mat3_apply(&F, p);
            double *to = rest + 12 * k + 3 * i, *moved = x + 12 * k + 3 * i;
            to[0] = p.x, to[1] = p.y, to[2] = p.z;
            moved[0] = q.x, moved[1] = q.y, moved[2] = q.z;
        }
    }
    supple_allocator a = spl_allocator_of(NULL);
    spl_elements e;
    REQUIRE(spl_elements_create(rest, 4 * TETS, tet, TETS, &a, &e, NULL) == SUPPLE_OK);
    for (int32_t k = 0; k < TETS; k++) {
        spl_mat3 F = spl_element_F(&e, k, x), U, V;
        double sigma[3];
        spl_svd3(&F, &U, sigma, &V);
        expected = fmax(expected, 1 - sigma[2]);
    }
    CHECK(spl_strain_measure(&e, x, NULL, scratch, NULL).max_strain == expected);
    spl_elements_release(&e);
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

TEST(same_bits_at_any_number_of_threads)
{
    static const int32_t threads[] = {0, 1, 2, 7}; /* 0: without a pool */
    uint64_t seed = 6;
    setup s;
    REQUIRE(setup_make(&s, 9, 8, 7));
    CHECK(s.b.e.count > 4096);
    spl_mat3 A = random_singular(&seed, 1.1, 1, 0.8), one = spl_mat3_identity();
    box_map(&s.b, &A, spl_v3(0, 0, 0));
    box_shake(&s.b, 0.1, &seed);
    fill_rotations(&s, &one);
    size_t vertices = (size_t)s.b.e.vertex_count;
    double *first = malloc(4 * vertices * sizeof *first), energy = 0;
    for (int32_t l = 0; l < spl_law_count(); l++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            supple_config config = supple_config_default();
            config.thread_count = threads[t];
            spl_pool *pool = NULL;
            REQUIRE(t == 0 || spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
            s.elastic.law = spl_law_at(l);
            double W = pull(&s, pool);
            static spl_strain strain;
            spl_strain m = spl_strain_measure(&s.b.e, s.b.x, NULL, s.scratch, pool);
            if (t == 0) {
                memcpy(first, s.force, 3 * vertices * sizeof *first);
                memcpy(first + 3 * vertices, s.magnitude, vertices * sizeof *first);
                energy = W;
                strain = m;
            }
            CHECK(W == energy && !memcmp(first, s.force, 3 * vertices * sizeof *first));
            CHECK(!memcmp(first + 3 * vertices, s.magnitude, vertices * sizeof *first));
            CHECK(m.volume_ratio == strain.volume_ratio && m.min_det_f == strain.min_det_f &&
                  m.max_strain == strain.max_strain && m.inverted == strain.inverted);
            CHECK(spl_inverted_count(&s.b.e, s.b.x, s.scratch, pool) == m.inverted);
            for (size_t v = 0; v < vertices; v++) s.b.x[3 * v] *= -1; /* a mirror turns all of them */
            CHECK(spl_inverted_count(&s.b.e, s.b.x, s.scratch, pool) == s.b.e.count - m.inverted);
            for (size_t v = 0; v < vertices; v++) s.b.x[3 * v] *= -1;
            spl_pool_destroy(pool);
        }
    free(first);
    setup_free(&s);
}

TEST(failing_allocations_leave_nothing)
{
    box b;
    REQUIRE(box_make(2, 2, 2, &b));
    for (long n = 0;; n++) {
        failing state = {.fail_at = n};
        supple_allocator a = failing_allocator(&state);
        spl_stars stars;
        supple_result result = spl_stars_create(&b.e, &a, &stars, NULL);
        if (result == SUPPLE_OK) {
            spl_stars_release(&stars);
            CHECK(n == 2 && state.live == 0);
            break;
        }
        CHECK(result == SUPPLE_ERROR_MEMORY && state.live == 0);
    }
    box_free(&b);
}

TEST_CASES(RUN(stars_list_every_corner_once), RUN(forces_are_the_gradient_of_the_energy), RUN(patch_test),
           RUN(rigid_motions_pull_nothing), RUN(residual_is_relative), RUN(strain_of_known_maps),
           RUN(strain_of_members), RUN(strain_of_collapsed_tets), RUN(same_bits_at_any_number_of_threads),
           RUN(failing_allocations_leave_nothing))
