/* The materials in nanoseconds a call, beside the naive twins of tests/fem/twin.h in the same run: one JSON object a
 * line. Times are the best of several runs of one thread's processor time, over deformations as a bent joint has them
 * (stretches 0.6 to 1.4) and, as `hard`, over random matrices, half of them inverted.
 *
 *     bench_fem [quick] */
#include "fem/elements.h"
#include "fem/law.h"
#include "fem/twin.h"
#include "math/numbers.h"
#include "math/svd3.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STATES = 512 };

static double processor_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef double work_fn(const spl_law *law, const spl_law_input *in);

static double do_energy(const spl_law *law, const spl_law_input *in)
{
    return law->energy(in);
}
static double do_stress(const spl_law *law, const spl_law_input *in)
{
    spl_mat3 P;
    law->stress(in, &P);
    return P.m[0] + P.m[8];
}
static double do_hessian(const spl_law *law, const spl_law_input *in)
{
    double H[81];
    law->hessian(in, H);
    return H[0] + H[80];
}
static double do_projected(const spl_law *law, const spl_law_input *in)
{
    double H[81];
    law->projected(in, H);
    return H[0] + H[80];
}
static double naive_stress(const spl_law *law, const spl_law_input *in)
{
    spl_mat3 P;
    twin_stress(law, in, 1e-4, &P);
    return P.m[0] + P.m[8];
}
static double naive_hessian(const spl_law *law, const spl_law_input *in)
{
    double H[81];
    twin_hessian(law, in, 1e-5, H);
    return H[0] + H[80];
}
static double naive_projected(const spl_law *law, const spl_law_input *in)
{
    double H[81], clamped[81];
    law->hessian(in, H);
    twin_clamp9(H, clamped);
    return clamped[0] + clamped[80];
}
static double do_svd(const spl_law *law, const spl_law_input *in)
{
    (void)law;
    spl_mat3 U, V;
    double s[3];
    spl_svd3(&in->F, &U, s, &V);
    return s[0] + U.m[0] + V.m[0];
}

static double ns_of(work_fn *work, const spl_law *law, const spl_law_input *in, int states, int runs, double *sink)
{
    double best = 1e30;
    for (int run = 0; run < runs; run++) {
        double begin = processor_ns();
        for (int i = 0; i < states; i++) *sink += work(law, in + i);
        best = fmin(best, (processor_ns() - begin) / states);
    }
    return best;
}

/* A regular enough tet, for the stiffness. */
static double stiffness_ns(const spl_law_input *in, int runs, double *sink)
{
    int32_t tet[4] = {0, 1, 2, 3};
    double g[12] = {-1, -1, -1, 1, 0, 0.1, 0, 1, 0.2, 0, 0, 0.7}, volume = 0.2, H[81], K[90], best = 1e30;
    spl_elements e = {.vertex_count = 4, .count = 1, .tet = tet, .gradient = g, .volume = &volume};
    spl_law_corot.hessian(in, H);
    for (int run = 0; run < runs; run++) {
        double begin = processor_ns();
        for (int i = 0; i < STATES; i++) {
            H[0] += 1e-9;
            spl_element_stiffness(&e, 0, H, K);
            *sink += K[i % 90];
        }
        best = fmin(best, (processor_ns() - begin) / STATES);
    }
    return best;
}

static void fill(spl_law_input *in, bool hard)
{
    uint64_t seed = 7;
    for (int i = 0; i < STATES; i++) {
        double s[3];
        for (int k = 0; k < 3; k++) s[k] = 1 + 0.4 * random_real(&seed);
        in[i] = (spl_law_input){.F = random_singular(&seed, s[0], s[1], s[2]), .mu = 1, .lambda = 9};
        if (hard) in[i].F = random_matrix(&seed);
        spl_mat3 S;
        spl_polar3(&in[i].F, &in[i].R, &S);
    }
}

int main(int argc, char **argv)
{
    static spl_law_input in[STATES];
    int runs = argc > 1 && !strcmp(argv[1], "quick") ? 5 : 200, few = runs / 10 + 1;
    double sink = 0;
    for (int hard = 0; hard < 2; hard++) {
        fill(in, hard);
        for (int32_t l = 0; l < spl_law_count(); l++) {
            const spl_law *law = spl_law_at(l);
            double e = ns_of(do_energy, law, in, STATES, runs, &sink),
                   s = ns_of(do_stress, law, in, STATES, runs, &sink);
            double h = ns_of(do_hessian, law, in, STATES, runs, &sink);
            double p = ns_of(do_projected, law, in, STATES, runs, &sink);
            double ns = ns_of(naive_stress, law, in, STATES, few, &sink);
            double nh = ns_of(naive_hessian, law, in, STATES, few, &sink);
            double np = ns_of(naive_projected, law, in, STATES, few, &sink);
            printf(
                "{\"bench\": \"fem\", \"states\": \"%s\", \"law\": \"%s\", \"energy_ns\": %.0f, \"stress_ns\": %.0f, "
                "\"hessian_ns\": %.0f, \"projected_ns\": %.0f, \"naive_stress_ns\": %.0f, \"naive_hessian_ns\": %.0f, "
                "\"naive_projected_ns\": %.0f, \"stress_ratio\": %.1f, \"hessian_ratio\": %.1f, "
                "\"projected_ratio\": %.1f}\n",
                hard ? "hard" : "bent", law->name, e, s, h, p, ns, nh, np, ns / s, nh / h, np / p);
        }
        printf("{\"bench\": \"fem\", \"states\": \"%s\", \"svd3_ns\": %.0f, \"stiffness_ns\": %.0f}\n",
               hard ? "hard" : "bent", ns_of(do_svd, NULL, in, STATES, runs, &sink), stiffness_ns(in, runs, &sink));
        fflush(stdout);
    }
    return sink == 0.5; /* the work is used */
}
