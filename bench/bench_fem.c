/* The materials in nanoseconds a call, beside the naive twins of tests/fem/twin.h in the same run. Times are the best
 * of several runs of one thread's processor time, over deformations as a bent joint has them (stretches 0.6 to 1.4)
 * and, as `hard`, over random matrices, half of them inverted.
 *
 *     bench_fem [--quick] */
#include "fem/elements.h"
#include "fem/law.h"
#include "fem/twin.h"
#include "math/numbers.h"
#include "math/svd3.h"
#include "record.h"

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

enum { MOST_RUNS = 200 };

static bench_spread ns_of(work_fn *work, const spl_law *law, const spl_law_input *in, int runs, double *sink)
{
    double ns[MOST_RUNS];
    for (int run = 0; run < runs; run++) {
        double begin = processor_ns();
        for (int i = 0; i < STATES; i++) *sink += work(law, in + i);
        ns[run] = (processor_ns() - begin) / STATES;
    }
    return bench_spread_of(ns, runs);
}

/* A regular enough tet, for the stiffness. */
static bench_spread stiffness_ns(const spl_law_input *in, int runs, double *sink)
{
    int32_t tet[4] = {0, 1, 2, 3};
    double g[12] = {-1, -1, -1, 1, 0, 0.1, 0, 1, 0.2, 0, 0, 0.7}, volume = 0.2, H[81], K[90], ns[MOST_RUNS];
    spl_elements e = {.vertex_count = 4, .count = 1, .tet = tet, .gradient = g, .volume = &volume};
    spl_law_corot.hessian(in, H);
    for (int run = 0; run < runs; run++) {
        double begin = processor_ns();
        for (int i = 0; i < STATES; i++) {
            H[0] += 1e-9;
            spl_element_stiffness(&e, 0, H, K);
            *sink += K[i % 90];
        }
        ns[run] = (processor_ns() - begin) / STATES;
    }
    return bench_spread_of(ns, runs);
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

/* A law's calls beside its naive twins. */
static void measure_law(const char *table, const spl_law *law, const spl_law_input *in, int runs, double *sink)
{
    static const struct {
        const char *name;
        work_fn *work, *naive;
    } calls[] = {{"energy", do_energy, NULL},
                 {"stress", do_stress, naive_stress},
                 {"hessian", do_hessian, naive_hessian},
                 {"projected", do_projected, naive_projected}};
    char quantity[48];
    printf("  %-16s", law->name);
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        bench_spread ours = ns_of(calls[c].work, law, in, runs, sink);
        bench_note(table, law->name, calls[c].name, BENCH_NS, ours);
        printf(" %7.0f", ours.min);
        if (!calls[c].naive) continue;
        bench_spread naive = ns_of(calls[c].naive, law, in, runs / 10 + 1, sink);
        snprintf(quantity, sizeof quantity, "%s, naive / ours", calls[c].name);
        bench_value(table, law->name, quantity, BENCH_RATIO, naive.min / ours.min);
        printf(" %8.0f %5.1fx", naive.min, naive.min / ours.min);
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static spl_law_input in[STATES];
    bench_options how = bench_begin("fem", &argc, argv);
    int runs = how.quick ? 5 : MOST_RUNS;
    double sink = 0;
    for (int hard = 0; hard < 2; hard++) {
        const char *table = hard ? "random, half of them inverted" : "stretches 0.6 to 1.4";
        fill(in, hard);
        printf("%s, ns a call\n  %-16s %7s %7s %8s %6s %7s %8s %6s %7s %8s %6s\n", table, "law", "energy", "stress",
               "naive", "", "hessian", "naive", "", "project", "naive", "");
        for (int32_t l = 0; l < spl_law_count(); l++) measure_law(table, spl_law_at(l), in, runs, &sink);
        bench_spread svd = ns_of(do_svd, NULL, in, runs, &sink), stiffness = stiffness_ns(in, runs, &sink);
        bench_note(table, "svd3", "call", BENCH_NS, svd);
        bench_note(table, "stiffness", "call", BENCH_NS, stiffness);
        printf("  svd3 %.0f, element stiffness %.0f\n", svd.min, stiffness.min);
        fflush(stdout);
    }
    return sink == 0.5; /* the work is used */
}
