/* Projective dynamics by its parts: the paper's table on limbs of prisms of the same sizes.
 *
 *     bench_projective [--quick] [--steps N] [--table] [--curve] [--variants] [--crossover]
 *
 * A skin of rings around a bone that bends and twists goes through steps of 1/60 s with ten local/global iterations in
 * float. Times are milliseconds a step: parts the least of all steps, `min` and `median` the whole step. `energy` is
 * what the step's energy comes to after ten iterations against ten without acceleration from the same state, of what
 * those take off; `cpu` the least processor time on all threads, which a busy machine stretches less than the others.
 */
#include "core/memory.h"
#include "core/timer.h"
#include "measure.h"
#include "methods/projective/global.h"
#include "methods/projective/local.h"
#include "methods/projective/solver.h"
#include "methods/projective/tube.h"

#include <stdio.h>
#include <supple/supple.h>

/* The authors' program at these sizes on two cores: DESIGN.md's machine. */
typedef struct subject {
    int32_t around, rings;
    double authors_ms;
} subject;

typedef struct options {
    bool quick, table, curve, variants, crossover;
    int32_t steps;
} options;

typedef struct limits {
    double rotations; /* per second: one Newton step of the polar kernel, data at hand */
    double bytes;     /* per second: reading a megabyte over and over */
} limits;

enum { MAX_TIES = 1600 };

/* One limb with everything that a step needs. */
typedef struct scene {
    tube t;
    spl_pool *pool;
    spl_pd *pd, *plain;
    double *x, *v, *s, *y;
    spl_tie *tie;
    int32_t tie_count;
    double setup;
} scene;

static spl_pd *pd_of(const tube *t, spl_pool *pool, spl_pace_kind pace, int32_t direct)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_pd_input in = {.elements = &t->elements,
                       .mu = t->mu,
                       .mass = t->mass,
                       .held = t->held,
                       .floor = 1e-12,
                       .pace = pace,
                       .tie_capacity = MAX_TIES,
                       .direct_ties = direct};
    spl_pd *pd;
    if (spl_pd_create(&in, &a, pool, &pd, &error) != SUPPLE_OK) {
        fprintf(stderr, "bench_projective: %s\n", error.message);
        exit(1);
    }
    return pd;
}

/* In place: the solvers keep pointers into it. */
static void scene_make(scene *s, int32_t around, int32_t rings, int32_t threads, int32_t direct)
{
    *s = (scene){.t = tube_make(around, rings)};
    supple_config config = supple_config_default();
    config.thread_count = threads;
    if (spl_pool_create(&config, &s->pool, NULL) != SUPPLE_OK) exit(1);
    double start = spl_now_ms();
    s->pd = pd_of(&s->t, s->pool, SPL_PACE_AUTO, direct);
    s->setup = spl_now_ms() - start;
    s->plain = pd_of(&s->t, s->pool, SPL_PACE_NONE, direct);
    size_t n = 3 * (size_t)s->t.vertex_count;
    s->x = malloc(n * sizeof(double));
    s->v = calloc(n, sizeof(double));
    s->s = malloc(n * sizeof(double));
    s->y = malloc(n * sizeof(double));
    s->tie = calloc(MAX_TIES, sizeof *s->tie);
    memcpy(s->x, s->t.rest, n * sizeof(double));
}

static void scene_free(scene *s)
{
    spl_pd_destroy(s->pd);
    spl_pd_destroy(s->plain);
    spl_pool_destroy(s->pool);
    tube_free(&s->t);
    free(s->x), free(s->v), free(s->s), free(s->y), free(s->tie);
}

/* So many contacts: vertices against triangles three rings on, pushed 2 mm. `shift` chooses others. */
static void tie_up(scene *s, int32_t count, int32_t shift)
{
    const tube *t = &s->t;
    int32_t usable = (t->rings - 6) * t->around;
    for (int32_t i = 0; i < count; i++) {
        int32_t v = (int32_t)(((int64_t)i * usable / count + shift) % usable), a = v + 3 * t->around, b = a + t->around;
        spl_tie *tie = &s->tie[i];
        *tie = (spl_tie){.vertex = {v, a, (a + 1) % t->around == 0 ? a + 1 - t->around : a + 1, b},
                         .coefficient = {1, -0.3, -0.3, -0.4},
                         .normal = {0, 1, 0},
                         .stiffness = 5 * spl_pd_diagonal(s->pd, v)};
        tie->offset = spl_add(spl_tie_gap(tie, s->x, 3), spl_v3(0, 0.002, 0));
    }
    s->tie_count = count;
}

/* Where a step starts: inertia's prediction, the bones in their pose. */
static spl_pd_problem begin_step(scene *s, int32_t k, double h)
{
    size_t n = 3 * (size_t)s->t.vertex_count;
    double angle = 45 * (1 - cos(2 * M_PI * k / 60.0));
    for (size_t i = 0; i < n; i++) s->y[i] = s->s[i] = s->x[i] + h * s->v[i];
    tube_pose(&s->t, angle, angle, s->y);
    return (spl_pd_problem){.dt = h, .inertia = s->s, .iterations = 10, .tie = s->tie, .tie_count = s->tie_count};
}

static void end_step(scene *s, double h)
{
    for (size_t i = 0; i < 3 * (size_t)s->t.vertex_count; i++) {
        s->v[i] = 0.98 * (s->y[i] - s->x[i]) / h;
        s->x[i] = s->y[i];
    }
}

static void solve(spl_pd *pd, const spl_pd_problem *q, double *x, spl_pd_stats *stats)
{
    supple_error error = {0};
    if (spl_pd_solve(pd, q, x, stats, &error) == SUPPLE_OK) return;
    fprintf(stderr, "bench_projective: %s\n", error.message);
    exit(1);
}

/* The energy at x: a solve that is content at once. */
static double energy_at(spl_pd *pd, const spl_pd_problem *q, const double *x, size_t n)
{
    double *copy = memcpy(malloc(n * sizeof *x), x, n * sizeof *x);
    spl_pd_problem look = *q;
    spl_pd_stats stats;
    look.iterations = 1;
    look.tolerance = INFINITY;
    solve(pd, &look, copy, &stats);
    free(copy);
    return stats.energy;
}

/* ---- the machine ---- */

static void rotate_range(void *context, size_t begin, size_t end)
{
    spl_mat3x8 *F = context;
    spl_quatx8 q[16] = {0};
    (void)begin, (void)end;
    for (int k = 0; k < 2000; k++) spl_rotation3_blocks(F, 16, 1, q);
}

static void read_range(void *context, size_t begin, size_t end)
{
    const float *data = (const float *)context + begin * 131072;
    volatile float keep = 0;
    for (int k = 0; k < 200; k++) {
        float sum[32] = {0};
        for (size_t i = 0; i < (end - begin) * 131072; i += 32)
            for (size_t j = 0; j < 32; j++) sum[j] += data[i + j];
        keep = keep + sum[k % 32];
    }
}

static limits measure(int32_t threads)
{
    limits l = {0};
    spl_pool *pool;
    supple_config config = supple_config_default();
    config.thread_count = threads;
    spl_mat3x8 F[16];
    float *data = calloc(2 * 131072, sizeof *data);
    if (!data || spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) exit(1);
    for (size_t i = 0; i < 16 * 72; i++) F[i / 72].m[i / 8 % 9][i % 8] = i / 8 % 9 % 4 == 0 ? 1.1F : 0.1F;
    for (int k = 0; k < 20; k++) {
        double start = spl_now_ms();
        spl_parallel_for(pool, (size_t)threads, 1, rotate_range, F);
        double middle = spl_now_ms();
        spl_parallel_for(pool, (size_t)threads, 1, read_range, data);
        l.rotations = fmax(l.rotations, 16 * 8 * 2000.0 * threads / (middle - start) * 1e3);
        l.bytes = fmax(l.bytes, 4 * 131072 * 200.0 * threads / (spl_now_ms() - middle) * 1e3);
    }
    spl_pool_destroy(pool);
    free(data);
    printf("%d thread%s: %.0f million Newton steps of the polar kernel a second, %.0f GB/s from the cache\n",
           (int)threads, threads > 1 ? "s" : "", l.rotations * 1e-6, l.bytes * 1e-9);
    return l;
}

/* ---- rows ---- */

static void head(const char *title)
{
    printf("\n%s\n%7s %7s %2s %5s %6s | %6s %6s %6s %6s %6s | %7s %7s %7s | %7s %6s %6s %8s\n", title, "verts", "tets",
           "th", "ties", "setup", "local", "gather", "global", "accel", "ties", "cpu", "min", "median", "energy",
           "polar", "factor", "authors");
    fflush(stdout);
}

static void keep_least(spl_pd_stats *least, const spl_pd_stats *s, bool first)
{
    double *to[] = {&least->ms_local, &least->ms_gather, &least->ms_global, &least->ms_pace, &least->ms_ties};
    const double from[] = {s->ms_local, s->ms_gather, s->ms_global, s->ms_pace, s->ms_ties};
    for (int i = 0; i < 5; i++) *to[i] = first ? from[i] : fmin(*to[i], from[i]);
}

static void play(const subject *b, int32_t threads, int32_t ties, const limits *l, const options *o)
{
    scene s;
    scene_make(&s, b->around, b->rings, threads, 400);
    size_t n = 3 * (size_t)s.t.vertex_count;
    double h = 1.0 / 60, *ms = calloc((size_t)o->steps, sizeof *ms), reached = 0, cpu = INFINITY,
           *other = malloc(n * sizeof *other);
    spl_pd_stats least = {0}, stats, ignored;
    if (!ms || !other) exit(1);
    for (int32_t k = 0; k < o->steps; k++) {
        tie_up(&s, ties, k / 20); /* contacts last a third of a second */
        spl_pd_problem q = begin_step(&s, k, h);
        double before = energy_at(s.plain, &q, s.y, n);
        memcpy(other, s.y, n * sizeof *other);
        solve(s.plain, &q, other, &ignored);
        double used = processor_ms(), start = spl_now_ms();
        solve(s.pd, &q, s.y, &stats);
        ms[k] = spl_now_ms() - start;
        cpu = fmin(cpu, processor_ms() - used);
        keep_least(&least, &stats, k == 0);
        double plain = energy_at(s.plain, &q, other, n);
        if (k > 0) reached += (energy_at(s.plain, &q, s.y, n) - plain) / fmax(before - plain, 1e-30) / (o->steps - 1);
        end_step(&s, h);
    }
    qsort(ms, (size_t)o->steps, sizeof *ms, by_size);
    double tets = 10 * s.t.tet_count / least.ms_local * 1e3; /* a second */
    double bytes = (ties ? 2 : 1) * 10 * 2 * spl_pd_factor_bytes(s.pd) / least.ms_global * 1e3;
    printf("%7d %7d %2d %5d %6.0f | %6.2f %6.2f %6.2f %6.2f %6.2f | %7.2f %7.2f %7.2f | %+7.4f %5.0f%% %5.0f%%",
           (int)s.t.skin, (int)s.t.tet_count, (int)threads, (int)ties, s.setup, least.ms_local, least.ms_gather,
           least.ms_global, least.ms_pace, least.ms_ties, cpu, ms[0], ms[o->steps / 2], reached,
           100 * tets / l->rotations, 100 * bytes / l->bytes);
    if (b->authors_ms > 0) printf(" %7.1fx", b->authors_ms / ms[o->steps / 2]);
    printf("\n");
    fflush(stdout);
    free(ms);
    free(other);
    scene_free(&s);
}

/* ---- variants: one hard step from one state ---- */

static void compare_variants(const options *o)
{
    static const char *const NAME[] = {"none", "chebyshev", "anderson", "lbfgs"};
    scene s;
    scene_make(&s, 50, o->quick ? 20 : 94, 1, 400);
    size_t n = 3 * (size_t)s.t.vertex_count;
    for (size_t i = 0; i < n; i++) s.s[i] = s.y[i] = s.x[i];
    tube_pose(&s.t, 25, 15, s.y); /* at once */
    spl_pd_problem q = {.dt = 1.0 / 60, .inertia = s.s, .iterations = 2000, .tolerance = 1e-6};
    spl_pd_stats stats;
    double *x = malloc(n * sizeof *x), start = energy_at(s.plain, &q, s.y, n);
    if (!x) exit(1);
    memcpy(x, s.y, n * sizeof *x);
    solve(s.plain, &q, x, &stats);
    double best = energy_at(s.plain, &q, x, n);
    printf("\nEnergy left to take off after so many iterations, and milliseconds (one thread, %d tets):\n%10s",
           (int)s.t.tet_count, "");
    for (int i = 1; i <= 64; i *= 2) printf(" %17d", i);
    printf("\n");
    for (spl_pace_kind pace = SPL_PACE_NONE; pace <= SPL_PACE_LBFGS; pace++) {
        spl_pd *pd = pd_of(&s.t, s.pool, pace, 400);
        printf("%10s", NAME[pace]);
        for (int32_t i = 1; i <= 64; i *= 2) {
            double least = INFINITY;
            for (int k = 0; k < 5; k++) {
                memcpy(x, s.y, n * sizeof *x);
                spl_pd_forget(pd);
                q.iterations = i;
                q.tolerance = 0;
                double at = spl_now_ms();
                solve(pd, &q, x, &stats);
                if (k > 0) least = fmin(least, spl_now_ms() - at); /* the first makes the factor */
            }
            printf("  %8.1e %6.2f", (energy_at(s.plain, &q, x, n) - best) / (start - best), least);
        }
        printf("\n");
        fflush(stdout);
        spl_pd_destroy(pd);
    }
    free(x);
    scene_free(&s);
}

/* ---- low-rank updates against conjugate gradients ---- */

static void find_crossover(const options *o)
{
    printf("\nTen iterations with so many contacts: low-rank update (columns new, columns kept), conjugate gradients:\n"
           "%6s %10s %10s %10s %8s\n",
           "ties", "new", "kept", "pcg", "inner");
    for (int32_t ties = 25; ties <= (o->quick ? 100 : MAX_TIES); ties *= 2) {
        double best[3] = {INFINITY, INFINITY, INFINITY};
        int32_t inner = 0;
        for (int way = 0; way < 2; way++) {
            scene s;
            scene_make(&s, 50, 94, 1, way ? 0 : MAX_TIES);
            for (int k = 0; k < 5; k++) {
                tie_up(&s, ties, k / 2 * 7); /* new ones every other step */
                spl_pd_problem q = begin_step(&s, 0, 1.0 / 60);
                spl_pd_stats stats;
                double at = spl_now_ms();
                solve(s.pd, &q, s.y, &stats);
                double ms = spl_now_ms() - at;
                int kind = way ? 2 : k % 2;
                if (k > 0) best[kind] = fmin(best[kind], ms);
                if (way) inner = stats.inner;
            }
            scene_free(&s);
        }
        printf("%6d %10.2f %10.2f %10.2f %8.1f\n", (int)ties, best[0], best[1], best[2], inner / 10.0);
        fflush(stdout);
    }
}

static const subject TABLE[] = {{20, 41, 3.6}, {50, 94, 19.6}, {51, 102, 26.2}};
static const subject CURVE[] = {{20, 41, 0},  {28, 60, 0},   {40, 84, 0},  {56, 120, 0},
                                {90, 186, 0}, {126, 265, 0}, {200, 418, 0}};

static void run(const options *o)
{
    limits l[2] = {measure(1), measure(2)};
    if (o->table) head("The paper's sizes, ten iterations:");
    for (size_t i = 0; o->table && i < (o->quick ? 1 : sizeof TABLE / sizeof *TABLE); i++)
        for (int32_t threads = 1; threads <= 2; threads++)
            for (int32_t ties = 0; ties <= 90; ties += 90) play(&TABLE[i], threads, ties, &l[threads - 1], o);
    if (o->curve) head("Growth:");
    options few = *o;
    if (few.steps > 12) few.steps = 12;
    for (size_t i = 0; o->curve && i < (o->quick ? 2 : sizeof CURVE / sizeof *CURVE); i++)
        play(&CURVE[i], 2, 0, &l[1], &few);
    if (o->variants) compare_variants(o);
    if (o->crossover) find_crossover(o);
}

int main(int argc, char **argv)
{
    options o = {.steps = 120};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick"))
            o.quick = true;
        else if (!strcmp(argv[i], "--table"))
            o.table = true;
        else if (!strcmp(argv[i], "--curve"))
            o.curve = true;
        else if (!strcmp(argv[i], "--variants"))
            o.variants = true;
        else if (!strcmp(argv[i], "--crossover"))
            o.crossover = true;
        else if (!strcmp(argv[i], "--steps") && i + 1 < argc && atoi(argv[i + 1]) > 1)
            o.steps = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: bench_projective [--quick] [--steps N] [--table] [--curve] [--variants] "
                            "[--crossover]\n");
            return 2;
        }
    }
    if (!o.table && !o.curve && !o.variants && !o.crossover) o.table = o.curve = o.variants = o.crossover = true;
    if (o.quick && o.steps > 20) o.steps = 20;
    run(&o);
    return 0;
}
