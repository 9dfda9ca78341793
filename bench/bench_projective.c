/* Projective dynamics by its parts.
 *
 *     bench_projective [--quick] [--steps N] [--table] [--curve] [--variants]
 *
 * Every row plays a limb of prisms (a skin of rings around a bone that bends and twists) through dynamic steps of 1/60
 * s with ten local/global iterations. Times are milliseconds a step, the least and the median; the machine's limits are
 * those that the first lines measure. */
#include "core/memory.h"
#include "core/timer.h"
#include "fem/law.h"
#include "methods/projective/local.h"
#include "methods/projective/solver.h"

#include <stdio.h>
#include <supple/supple.h>

#include "methods/projective/tube.h"

typedef struct options {
    bool quick;
    int32_t steps, threads;
    spl_pace_kind pace;
} options;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int32_t count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

static spl_pool *pool_of(int32_t threads)
{
    supple_config config = supple_config_default();
    config.thread_count = threads;
    spl_pool *pool = NULL;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    return pool;
}

static void play(int32_t around, int32_t rings, const options *o)
{
    tube t = tube_make(around, rings);
    spl_pool *pool = pool_of(o->threads);
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_pd_input in = {.elements = &t.elements, .mu = t.mu, .mass = t.mass, .held = t.held, .pace = o->pace, .floor = 1e-12};
    spl_pd *pd;
    double begin = spl_now_ms();
    if (spl_pd_create(&in, &a, pool, &pd, &error) != SUPPLE_OK) abort();
    double setup = spl_now_ms() - begin;
    size_t n = 3 * (size_t)t.vertex_count;
    double *x = malloc(n * sizeof *x), *v = calloc(n, sizeof *v), *s = malloc(n * sizeof *s), h = 1.0 / 60;
    double *ms = calloc((size_t)o->steps, sizeof *ms);
    memcpy(x, t.rest, n * sizeof *x);
    spl_pd_stats least = {.ms_local = 1e9, .ms_gather = 1e9, .ms_global = 1e9, .ms_pace = 1e9}, st;
    double energy = 0;
    for (int32_t k = 0; k < o->steps; k++) {
        double angle = 90 * 0.5 * (1 - cos(2 * M_PI * k / 60.0));
        for (size_t i = 0; i < n; i++) s[i] = x[i] + h * v[i];
        double *y = malloc(n * sizeof *y);
        memcpy(y, s, n * sizeof *y);
        tube_pose(&t, angle, angle, y);
        spl_pd_problem q = {.dt = h, .inertia = s, .iterations = 10};
        double start = spl_now_ms();
        if (spl_pd_solve(pd, &q, y, &st, &error) != SUPPLE_OK) abort();
        ms[k] = spl_now_ms() - start;
        if (k > 0) {
            least.ms_local = fmin(least.ms_local, st.ms_local);
            least.ms_gather = fmin(least.ms_gather, st.ms_gather);
            least.ms_global = fmin(least.ms_global, st.ms_global);
            least.ms_pace = fmin(least.ms_pace, st.ms_pace);
        }
        energy += st.energy;
        for (size_t i = 0; i < n; i++) v[i] = 0.98 * (y[i] - x[i]) / h;
        memcpy(x, y, n * sizeof *y);
        free(y);
    }
    double typical = median(ms, o->steps);
    printf("%7d %7d th %d pace %d setup %6.0f | local %6.3f gather %6.3f global %6.3f pace %6.3f | min %6.3f median %6.3f | energy %.6f resid %.2e rej %d, factor %.0f kB\n", t.skin, t.tet_count, o->threads, o->pace, setup,
           least.ms_local, least.ms_gather, least.ms_global, least.ms_pace, ms[0], typical, energy / o->steps, st.residual, st.rejected, spl_pd_factor_bytes(pd) / 1e3);
    fflush(stdout);
    free(x), free(v), free(s), free(ms);
    spl_pd_destroy(pd);
    spl_pool_destroy(pool);
    tube_free(&t);
}

int main(int argc, char **argv)
{
    options o = {.steps = 120, .threads = 2};
    (void)argc, (void)argv;
    for (o.pace = SPL_PACE_NONE; o.pace <= SPL_PACE_LBFGS; o.pace++)
        for (o.threads = 1; o.threads <= 2; o.threads++) {
            play(20, 41, &o);
            play(50, 94, &o);
        }
    return 0;
}
