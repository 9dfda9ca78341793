/* Four tets at a time against the laws' own functions. */
#include "fem/corot4.h"

#include "fem/box.h"
#include "fem/residual.h"
#include "test.h"

#ifdef SPL_HAVE_AVX2

typedef struct sample {
    box b;
    double *mu, *lambda;
} sample;

/* A box whose vertices are anywhere: of its tets many are inverted. Near its rest: few are deformed. */
static bool sample_make(sample *s, double by)
{
    if (!box_make(4, 3, 3, &s->b)) return false;
    spl_mat3 one = spl_mat3_identity();
    uint64_t seed = 7;
    box_map(&s->b, &one, spl_v3(0.1, 0.2, 0.3));
    for (int32_t i = 0; i < 3 * s->b.e.vertex_count; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        s->b.x[i] += by * (2 * ((double)(seed >> 11) * 0x1p-53) - 1);
    }
    s->mu = malloc((size_t)s->b.e.count * sizeof *s->mu);
    s->lambda = malloc((size_t)s->b.e.count * sizeof *s->lambda);
    for (int32_t k = 0; k < s->b.e.count; k++) s->mu[k] = 2 + k % 3, s->lambda[k] = 5 + k % 2;
    return true;
}

static void sample_free(sample *s)
{
    box_free(&s->b);
    free(s->mu);
    free(s->lambda);
}

static spl_law_input input_of(const sample *s, int32_t k)
{
    return (spl_law_input){.F = spl_element_F(&s->b.e, k, s->b.x), .mu = s->mu[k], .lambda = s->lambda[k]};
}

static bool pulls_agree(const sample *s, const spl_law *law, const spl_corot4 *c, int32_t first)
{
    double corner[48], energy[4];
    if (!spl_corot4_pull_avx2(c, (size_t)first, corner, energy)) return false;
    double worst = 0, size = 0;
    for (int i = 0; i < 4; i++) {
        spl_law_input in = input_of(s, first + i);
        spl_mat3 P;
        double f[12], psi = law->both(&in, &P);
        spl_element_forces(&s->b.e, first + i, &P, f);
        worst = fmax(worst, fabs(energy[i] - s->b.e.volume[first + i] * psi));
        for (int j = 0; j < 12; j++) {
            worst = fmax(worst, fabs(f[j] - corner[12 * i + j]));
            size = fmax(size, fabs(f[j]));
        }
    }
    return worst <= 1e-11 * size + 1e-13;
}

static bool matrices_agree(const sample *s, const spl_law *law, const spl_corot4 *c, int32_t first, double share)
{
    static double out[360];
    if (!spl_corot4_stiffness_avx2(c, (size_t)first, share, out)) return false;
    double worst = 0, size = 0;
    for (int i = 0; i < 4; i++) {
        spl_law_input in = input_of(s, first + i);
        double H[81], projected[81], K[90];
        law->hessian(&in, H);
        law->projected(&in, projected);
        for (int j = 0; j < 81; j++) H[j] = share * H[j] + (1 - share) * projected[j];
        spl_element_stiffness(&s->b.e, first + i, H, K);
        for (int j = 0; j < 90; j++) {
            worst = fmax(worst, fabs(K[j] - out[90 * i + j]));
            size = fmax(size, fabs(K[j]));
        }
    }
    return worst <= 1e-9 * size;
}

TEST(four_at_a_time_are_the_law)
{
    const spl_law *const laws[] = {&spl_law_arap, &spl_law_corot};
    const double by[] = {0, 1e-3, 0.1, 1.5}, share[] = {0, 0.25, 1};
    for (int l = 0; l < 2 && spl_corot4_knows(laws[l]); l++)
        for (int b = 0; b < 4; b++) {
            sample s;
            REQUIRE(sample_make(&s, by[b]));
            const spl_corot4 c = {&s.b.e, s.mu, s.lambda, laws[l] == &spl_law_arap, s.b.x};
            for (int32_t k = 0; k + 4 <= s.b.e.count; k += 4) {
                CHECK(pulls_agree(&s, laws[l], &c, k));
                for (int q = 0; q < 3; q++) CHECK(matrices_agree(&s, laws[l], &c, k, share[q]));
            }
            sample_free(&s);
        }
}

TEST(what_numbers_do_not_allow_is_left_to_the_law)
{
    sample s;
    REQUIRE(sample_make(&s, 0.1));
    const spl_corot4 c = {&s.b.e, s.mu, s.lambda, false, s.b.x};
    double corner[48], energy[4], kept = s.b.x[3 * s.b.e.tet[0]];
    const double odd[] = {NAN, INFINITY, 1e200};
    for (int i = 0; i < 3 && spl_corot4_knows(&spl_law_corot); i++) {
        s.b.x[3 * s.b.e.tet[0]] = odd[i];
        CHECK(!spl_corot4_pull_avx2(&c, 0, corner, energy));
    }
    s.b.x[3 * s.b.e.tet[0]] = kept;
    for (int i = 0; i < 3 * s.b.e.vertex_count && spl_corot4_knows(&spl_law_corot); i++)
        s.b.x[i] = i % 3; /* one point */
    CHECK(!spl_corot4_knows(&spl_law_corot) || !spl_corot4_pull_avx2(&c, 0, corner, energy));
    CHECK(!spl_corot4_knows(&spl_law_neohookean));
    sample_free(&s);
}

TEST_CASES(RUN(four_at_a_time_are_the_law), RUN(what_numbers_do_not_allow_is_left_to_the_law))

#else

TEST(four_at_a_time_are_not_built)
{
    CHECK(!spl_corot4_knows(&spl_law_corot));
}

TEST_CASES(RUN(four_at_a_time_are_not_built))

#endif
