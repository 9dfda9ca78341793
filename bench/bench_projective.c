/* Projective dynamics by its parts: the paper's table on limbs of prisms of the same sizes, and on a character's.
 *
 *     bench_projective [--quick] [--steps N] [--table] [--curve] [--variants] [--crossover] [--character FILE]
 *     bench_projective --device cl[:N] [--quick] [--steps N]      bench_cl, which stands beside it
 *
 * A skin of rings around a bone that bends and twists goes through steps of 1/60 s with ten local/global iterations in
 * float. So do the prisms of a character, of the same numbers of tets, through its clip that is called `walk` or else
 * its last one. Times are milliseconds a step: parts the least of all steps, `min` and `median` the whole step.
 * `energy` is what the step's energy comes to after ten iterations against ten without acceleration from the same
 * state, of what those take off; `cpu` the least processor time on all threads, which a busy machine stretches less
 * than the others. `polar` is the local step against the speed of the polar kernel with data at hand, `factor` what the
 * global step reads of its factor (twice a solve) against reading as many bytes again and again.
 */
#include "body/pins.h"
#include "core/memory.h"
#include "core/timer.h"
#include "machine.h"
#include "measure.h"
#include "methods/projective/global.h"
#include "methods/projective/local.h"
#include "methods/projective/solver.h"
#include "methods/projective/tube.h"
#include "scene/scene.h"

#include <stdio.h>
#include <supple/supple.h>
#include <unistd.h>

/* The authors' program at these sizes on two cores: DESIGN.md's machine. */
typedef struct subject {
    int32_t around, rings;
    double authors_ms;
    int32_t cells; /* of a character's prisms instead */
} subject;

typedef struct options {
    bool quick, table, curve, variants, crossover;
    int32_t steps;
    const char *character;
} options;

typedef struct limits {
    double rotations; /* per second: one Newton step of the polar kernel, data at hand */
    double triad;     /* GB/s */
} limits;

enum { MAX_TIES = 1600 };

/* A character's prisms in motion. */
typedef struct stage {
    supple_scene *scene;
    spl_body body;
    spl_solid solid;
    spl_pose pose;
    spl_pins pins; /* of islands */
    double *mass, *spring;
    int32_t clip;
} stage;

/* One limb, or a character, with everything that a step needs. */
typedef struct scene {
    tube t;
    stage *stage; /* NULL: the limb */
    int32_t vertex_count, tet_count;
    spl_pool *pool;
    spl_pd *pd, *plain;
    double *x, *v, *s, *y;
    spl_tie *tie;
    int32_t tie_count;
    double setup;
} scene;

static void stop(const supple_error *error)
{
    fprintf(stderr, "bench_projective: %s\n", error->message);
    exit(1);
}

static spl_pd *pd_of(const scene *s, spl_pace_kind pace, int32_t direct)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_pd_input in = {.elements = &s->t.elements,
                       .mu = s->t.mu,
                       .mass = s->t.mass,
                       .held = s->t.held,
                       .floor = 1e-12,
                       .pace = pace,
                       .tie_capacity = MAX_TIES,
                       .direct_ties = direct};
    if (s->stage) {
        in.elements = &s->stage->solid.elements;
        in.mu = s->stage->solid.material.mu;
        in.mass = s->stage->mass;
        in.spring = s->stage->spring;
        in.held = s->stage->pins.held;
    }
    spl_pd *pd;
    if (spl_pd_create(&in, &a, s->pool, &pd, &error) != SUPPLE_OK) stop(&error);
    return pd;
}

/* The character's pose at step k. */
static void pose_stage(stage *g, int32_t k)
{
    supple_error error = {0};
    double length = g->clip >= 0 ? supple_scene_clip_duration(g->scene, g->clip) : 0;
    spl_pose_sample(&g->pose, g->scene, g->clip, length > 0 ? fmod(k / 60.0, length) : 0);
    if (spl_drive_pose(&g->solid.drive, &g->pose, &error) != SUPPLE_OK) stop(&error);
    spl_pins_pose(&g->pins, &g->solid.drive);
}

/* In place, as all of these. */
static void stage_make(stage *g, const char *character, int32_t cells, spl_pool *pool)
{
    *g = (stage){.clip = -1};
    supple_config config = supple_config_default();
    supple_error error = {0};
    spl_body_options how = spl_body_options_default();
    how.kind = SUPPLE_BODY_PRISM;
    how.flesh.resolution = cells;
    how.cache = false;
    if (supple_scene_load_file(character, &config, &g->scene, &error) != SUPPLE_OK ||
        spl_body_make(g->scene, &how, &config, pool, &g->body, &error) != SUPPLE_OK ||
        spl_solid_create(&g->body, NULL, &config, pool, &g->solid, &error) != SUPPLE_OK ||
        spl_pins_create(&g->solid, SPL_PIN_HARD, 0, &g->pins, &error) != SUPPLE_OK ||
        spl_pose_init(&g->pose, g->scene, &error) != SUPPLE_OK)
        stop(&error);
    g->clip = g->scene->clip_count - 1;
    for (int32_t i = 0; i < g->scene->clip_count; i++)
        if (strstr(supple_scene_clip_name(g->scene, i), "walk")) g->clip = i;
    g->mass = calloc((size_t)g->body.tets.vertex_count, sizeof *g->mass);
    g->spring = calloc((size_t)g->body.tets.vertex_count, sizeof *g->spring);
    if (!g->mass || !g->spring) exit(1);
    spl_elements_lumped_mass(&g->solid.elements, g->solid.material.density, g->mass);
    for (int32_t i = 0; i < g->pins.count; i++) g->spring[g->pins.pin[i].vertex] += g->pins.pin[i].stiffness;
    pose_stage(g, 0);
}

static void stage_free(stage *g)
{
    free(g->mass), free(g->spring);
    spl_pose_release(&g->pose);
    spl_pins_release(&g->pins);
    spl_solid_release(&g->solid);
    spl_body_release(&g->body);
    supple_scene_destroy(g->scene);
    free(g);
}

static void scene_make(scene *s, const subject *b, int32_t threads, int32_t direct, const char *character)
{
    *s = (scene){.t = tube_make(b->cells ? 8 : b->around, b->cells ? 4 : b->rings)};
    supple_config config = supple_config_default();
    config.thread_count = threads;
    if (spl_pool_create(&config, &s->pool, NULL) != SUPPLE_OK) exit(1);
    if (b->cells && !(s->stage = malloc(sizeof *s->stage))) exit(1);
    if (b->cells) stage_make(s->stage, character, b->cells, s->pool);
    s->vertex_count = s->stage ? s->stage->body.tets.vertex_count : s->t.vertex_count;
    s->tet_count = s->stage ? s->stage->body.tets.tet_count : s->t.tet_count;
    double start = spl_now_ms();
    s->pd = pd_of(s, SPL_PACE_AUTO, direct);
    s->setup = spl_now_ms() - start;
    s->plain = pd_of(s, SPL_PACE_NONE, direct);
    size_t n = 3 * (size_t)s->vertex_count;
    s->x = malloc(n * sizeof(double));
    s->v = calloc(n, sizeof(double));
    s->s = malloc(n * sizeof(double));
    s->y = malloc(n * sizeof(double));
    s->tie = calloc(MAX_TIES, sizeof *s->tie);
    if (s->stage)
        spl_solid_pose(&s->stage->solid, s->x, s->pool);
    else
        memcpy(s->x, s->t.rest, n * sizeof(double));
}

static void scene_free(scene *s)
{
    spl_pd_destroy(s->pd);
    spl_pd_destroy(s->plain);
    spl_pool_destroy(s->pool);
    tube_free(&s->t);
    if (s->stage) stage_free(s->stage);
    free(s->x), free(s->v), free(s->s), free(s->y), free(s->tie);
}

/* A character's: a free vertex of some tet against three corners of another one. */
static void choose_corners(const stage *g, int32_t i, int32_t count, int32_t shift, int32_t vertex[4])
{
    const int32_t *tet = g->solid.elements.tet;
    int32_t tets = g->solid.elements.count, k = (int32_t)((int64_t)i * tets / count + shift) % tets;
    for (vertex[0] = -1; vertex[0] < 0; k = (k + 1) % tets)
        for (int c = 0; c < 4 && vertex[0] < 0; c++)
            if (g->pins.held[tet[4 * k + c]] < 0) vertex[0] = tet[4 * k + c];
    for (int c = 1; c < 4; c++) vertex[c] = tet[4 * ((k + tets / 7) % tets) + c];
}

/* So many contacts: vertices against triangles three rings on, pushed 2 mm. `shift` chooses others. */
static void tie_up(scene *s, int32_t count, int32_t shift)
{
    const tube *t = &s->t;
    int32_t usable = (t->rings - 6) * t->around;
    for (int32_t i = 0; i < count; i++) {
        int32_t vertex[4];
        if (s->stage) {
            choose_corners(s->stage, i, count, shift, vertex);
        } else {
            int32_t v = (int32_t)(((int64_t)i * usable / count + shift) % usable), a = v + 3 * t->around;
            memcpy(vertex, (int32_t[4]){v, a, (a + 1) % t->around == 0 ? a + 1 - t->around : a + 1, a + t->around},
                   sizeof vertex);
        }
        spl_tie *tie = &s->tie[i];
        *tie = (spl_tie){.vertex = {vertex[0], vertex[1], vertex[2], vertex[3]},
                         .coefficient = {1, -0.3, -0.3, -0.4},
                         .normal = {0, 1, 0},
                         .stiffness = 5 * spl_pd_diagonal(s->pd, vertex[0])};
        tie->offset = spl_add(spl_tie_gap(tie, s->x, 3), spl_v3(0, 0.002, 0));
    }
    s->tie_count = count;
}

/* Where a step starts: inertia's prediction, the bones in their pose. */
static spl_pd_problem begin_step(scene *s, int32_t k, double h)
{
    size_t n = 3 * (size_t)s->vertex_count;
    double angle = 45 * (1 - cos(2 * M_PI * k / 60.0));
    for (size_t i = 0; i < n; i++) s->y[i] = s->s[i] = s->x[i] + h * s->v[i];
    spl_pd_problem q = {.dt = h, .inertia = s->s, .iterations = 10, .tie = s->tie, .tie_count = s->tie_count};
    if (!s->stage) {
        tube_pose(&s->t, angle, angle, s->y);
        return q;
    }
    pose_stage(s->stage, k);
    for (int32_t v = 0; v < s->vertex_count; v++) {
        int32_t bone = s->stage->pins.held[v];
        if (bone < 0) continue;
        spl_vec3 p = spl_drive_point(&s->stage->solid.drive, bone, v);
        s->y[3 * v] = p.x, s->y[3 * v + 1] = p.y, s->y[3 * v + 2] = p.z;
    }
    q.pin = s->stage->pins.pin;
    q.pin_count = s->stage->pins.count;
    return q;
}

static void end_step(scene *s, double h)
{
    for (size_t i = 0; i < 3 * (size_t)s->vertex_count; i++) {
        s->v[i] = 0.98 * (s->y[i] - s->x[i]) / h;
        s->x[i] = s->y[i];
    }
}

static void solve(spl_pd *pd, const spl_pd_problem *q, double *x, spl_pd_stats *stats)
{
    supple_error error = {0};
    if (spl_pd_solve(pd, q, x, stats, &error) != SUPPLE_OK) stop(&error);
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

static limits measure(int32_t threads, const bench_options *how)
{
    limits l = {.triad = bench_limits_get(how)->triad[threads]};
    spl_mat3x8 F[16];
    for (size_t i = 0; i < 16 * 72; i++) F[i / 72].m[i / 8 % 9][i % 8] = i / 8 % 9 % 4 == 0 ? 1.1F : 0.1F;
    for (int k = 0; k < 20; k++) { /* no memory is touched: two threads do twice as many as one does */
        double start = processor_ms();
        rotate_range(F, 0, 1);
        l.rotations = fmax(l.rotations, 16 * 8 * 2000.0 * threads / (processor_ms() - start) * 1e3);
    }
    printf("%d thread%s: %.0f million Newton steps of the polar kernel a second, triad %.1f GB/s\n", (int)threads,
           threads > 1 ? "s" : "", l.rotations * 1e-6, l.triad);
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

/* What a row measured: whole steps and their processor time, parts. */
typedef struct measured {
    double *ms, *cpu;
    spl_pd_stats least;
    double reached;
} measured;

/* Shares of the limits. */
typedef struct shares {
    double polar, factor;
} shares;

static shares record(const char *table, const subject *b, const scene *s, int32_t threads, int32_t ties,
                     const measured *m, const limits *l, const options *o)
{
    char row[80], who[48];
    snprintf(who, sizeof who, s->stage ? "%d cells" : "limb of %d rings", (int)(s->stage ? b->cells : b->rings));
    snprintf(row, sizeof row, "%s, %d contacts, %d thread%s", who, (int)ties, (int)threads, threads > 1 ? "s" : "");
    bench_spread ms = bench_spread_of(m->ms, o->steps);
    /* ten iterations visit each tet; each reads the factor forwards and backwards, once more with contacts */
    double bytes = (ties ? 2 : 1) * 10 * 2 * spl_pd_factor_bytes(s->pd),
           rotations = 10 * s->tet_count * 1e3 / l->rotations;
    bench_record(&(bench_row){
        .table = table, .row = row, .quantity = "step", .kind = BENCH_MS, .spread = ms, .paper = b->authors_ms});
    bench_note(table, row, "step, processor", BENCH_CPU_MS, bench_spread_of(m->cpu, o->steps));
    bench_note(table, row, "local", BENCH_MS, bench_least(m->least.ms_local, o->steps));
    bench_note(table, row, "gather", BENCH_MS, bench_least(m->least.ms_gather, o->steps));
    bench_note(table, row, "global", BENCH_MS, bench_least(m->least.ms_global, o->steps));
    bench_note(table, row, "acceleration", BENCH_MS, bench_least(m->least.ms_pace, o->steps));
    bench_note(table, row, "contacts", BENCH_MS, bench_least(m->least.ms_ties, o->steps));
    bench_value(table, row, "set-up", BENCH_MS, s->setup);
    bench_value(table, row, "tetrahedra", BENCH_COUNT, s->tet_count);
    bench_spread local = bench_single(m->least.ms_local), global = bench_single(m->least.ms_global);
    bench_note(table, row, "local share", BENCH_SHARE, bench_inverse(local, rotations));
    double limit = bench_read_limit(spl_pd_factor_bytes(s->pd), threads, l->triad);
    return (shares){rotations / local.min, bench_bandwidth(table, row, "global", bytes, global, limit)};
}

static void play(const char *table, const subject *b, int32_t threads, int32_t ties, const limits *l, const options *o)
{
    scene s;
    scene_make(&s, b, threads, 400, o->character);
    size_t n = 3 * (size_t)s.vertex_count;
    measured m = {.ms = calloc((size_t)o->steps, sizeof(double)), .cpu = calloc((size_t)o->steps, sizeof(double))};
    double h = 1.0 / 60, *other = malloc(n * sizeof *other);
    spl_pd_stats stats, ignored;
    if (!m.ms || !m.cpu || !other) exit(1);
    for (int32_t k = 0; k < o->steps; k++) {
        tie_up(&s, ties, k / 20); /* contacts last a third of a second */
        spl_pd_problem q = begin_step(&s, k, h);
        double before = energy_at(s.plain, &q, s.y, n);
        memcpy(other, s.y, n * sizeof *other);
        solve(s.plain, &q, other, &ignored);
        double used = processor_ms(), start = spl_now_ms();
        solve(s.pd, &q, s.y, &stats);
        m.ms[k] = spl_now_ms() - start;
        m.cpu[k] = processor_ms() - used;
        keep_least(&m.least, &stats, k == 0);
        double plain = energy_at(s.plain, &q, other, n);
        if (k > 0) m.reached += (energy_at(s.plain, &q, s.y, n) - plain) / fmax(before - plain, 1e-30) / (o->steps - 1);
        end_step(&s, h);
    }
    bench_spread ms = bench_spread_of(m.ms, o->steps), cpu = bench_spread_of(m.cpu, o->steps);
    shares of = record(table, b, &s, threads, ties, &m, l, o);
    if (strcmp(table, "growth") == 0) {
        bench_point("projective step", s.tet_count, ms.min);
        bench_point("projective step, processor", s.tet_count, cpu.min);
    }
    printf("%7d %7d %2d %5d %6.0f | %6.2f %6.2f %6.2f %6.2f %6.2f | %7.2f %7.2f %7.2f | %+7.4f %5.0f%% %5.0f%%",
           (int)(s.stage ? s.vertex_count / 2 : s.t.skin), (int)s.tet_count, (int)threads, (int)ties, s.setup,
           m.least.ms_local, m.least.ms_gather, m.least.ms_global, m.least.ms_pace, m.least.ms_ties, cpu.min, ms.min,
           ms.median, m.reached, 100 * of.polar, 100 * of.factor);
    if (b->authors_ms > 0) printf(" %7.1fx", b->authors_ms / ms.median);
    printf("\n");
    fflush(stdout);
    free(m.ms);
    free(m.cpu);
    free(other);
    scene_free(&s);
}

/* ---- variants: one hard step from one state ---- */

static void compare_variants(const options *o)
{
    static const char *const NAME[] = {"none", "chebyshev", "anderson", "lbfgs"};
    char row[48];
    scene s;
    scene_make(&s, &(subject){.around = 50, .rings = o->quick ? 20 : 94}, 1, 400, NULL);
    size_t n = 3 * (size_t)s.vertex_count;
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
           (int)s.tet_count, "");
    for (int i = 1; i <= 64; i *= 2) printf(" %17d", i);
    printf("\n");
    for (spl_pace_kind pace = SPL_PACE_NONE; pace <= SPL_PACE_LBFGS; pace++) {
        spl_pd *pd = pd_of(&s, pace, 400);
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
            double left = (energy_at(s.plain, &q, x, n) - best) / (start - best);
            snprintf(row, sizeof row, "%s, %d iterations", NAME[pace], (int)i);
            bench_note("variants", row, "time", BENCH_MS, bench_least(least, 4));
            bench_value("variants", row, "energy left", BENCH_ERROR, left);
            printf("  %8.1e %6.2f", left, least);
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
    char row[48];
    printf("\nTen iterations with so many contacts: low-rank update (columns new, columns kept), conjugate gradients:\n"
           "%6s %10s %10s %10s %8s\n",
           "ties", "new", "kept", "pcg", "inner");
    for (int32_t ties = 25; ties <= (o->quick ? 25 : MAX_TIES); ties *= 2) {
        double best[3] = {INFINITY, INFINITY, INFINITY};
        int32_t inner = 0;
        for (int way = 0; way < 2; way++) {
            scene s;
            scene_make(&s, &(subject){.around = o->quick ? 20 : 50, .rings = o->quick ? 41 : 94}, 1, way ? 0 : MAX_TIES,
                       NULL);
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
        snprintf(row, sizeof row, "%d contacts", (int)ties);
        bench_note("crossover", row, "low rank, columns new", BENCH_MS, bench_least(best[0], 2));
        bench_note("crossover", row, "low rank, columns kept", BENCH_MS, bench_least(best[1], 2));
        bench_note("crossover", row, "conjugate gradients", BENCH_MS, bench_least(best[2], 4));
        printf("%6d %10.2f %10.2f %10.2f %8.1f\n", (int)ties, best[0], best[1], best[2], inner / 10.0);
        fflush(stdout);
    }
}

static const subject TABLE[] = {{20, 41, 3.6, 0}, {50, 94, 19.6, 0}, {51, 102, 26.2, 0}};
static const subject BODIES[] = {{0, 0, 3.6, 22}, {0, 0, 19.6, 58}, {0, 0, 26.2, 61}};
static const subject QUICK_BODY[] = {{0, 0, 0, 12}};
static const subject CURVE[] = {{20, 41, 0, 0},  {28, 60, 0, 0},   {40, 84, 0, 0},  {56, 120, 0, 0},
                                {90, 186, 0, 0}, {126, 265, 0, 0}, {200, 418, 0, 0}};

/* The paper's three sizes, on limbs or on a character. */
static void run_table(const char *table, const subject *b, const limits l[2], const options *o)
{
    for (size_t i = 0; i < (o->quick ? 1 : 3); i++)
        for (int32_t threads = 1; threads <= 2; threads++)
            for (int32_t ties = 0; ties <= 90; ties += 90) play(table, &b[i], threads, ties, &l[threads - 1], o);
}

static void run(const options *o, const bench_options *how)
{
    limits l[2] = {measure(1, how), measure(2, how)};
    if (o->table) {
        head("The paper's sizes, limbs of prisms, ten iterations:");
        run_table("the paper's sizes, limbs", TABLE, l, o);
        printf("\n%s:", o->character);
        head("Prisms of about these sizes:");
        run_table("the paper's sizes, a character", o->quick ? QUICK_BODY : BODIES, l, o);
    }
    if (o->curve) head("Growth:");
    options few = *o;
    if (few.steps > 12) few.steps = 12;
    for (size_t i = 0; o->curve && i < (o->quick ? 2 : sizeof CURVE / sizeof *CURVE); i++)
        play("growth", &CURVE[i], 2, 0, &l[1], &few);
    if (o->curve) bench_growth("growth", "projective step", "tetrahedra");
    if (o->curve) bench_growth("growth", "projective step, processor", "tetrahedra");
    if (o->variants) compare_variants(o);
    if (o->crossover) find_crossover(o);
}

/* Devices have a program of their own, with the same arguments. */
static int run_device(char **argv)
{
    char path[4096];
    const char *slash = strrchr(argv[0], '/');
    snprintf(path, sizeof path, "%.*sbench_cl", slash ? (int)(slash + 1 - argv[0]) : 0, argv[0]);
    execv(path, argv);
    fprintf(stderr, "bench_projective: %s cannot be started: this build is without OpenCL\n", path);
    return SUPPLE_ERROR_SOLVE;
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--device") && strcmp(argv[i + 1], "cpu") != 0) return run_device(argv);
    bench_options how = bench_begin("projective", &argc, argv);
    options o = {.steps = 120, .character = how.quick ? "demo:arm" : "demo:hero", .quick = how.quick};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--table"))
            o.table = true;
        else if (!strcmp(argv[i], "--device") && i + 1 < argc) /* cpu: others went to run_device */
            i++;
        else if (!strcmp(argv[i], "--curve"))
            o.curve = true;
        else if (!strcmp(argv[i], "--variants"))
            o.variants = true;
        else if (!strcmp(argv[i], "--crossover"))
            o.crossover = true;
        else if (!strcmp(argv[i], "--character") && i + 1 < argc)
            o.character = argv[++i];
        else if (!strcmp(argv[i], "--steps") && i + 1 < argc && atoi(argv[i + 1]) > 1)
            o.steps = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: bench_projective [--quick] [--steps N] [--table] [--curve] [--variants] "
                            "[--crossover] [--character FILE]\n");
            return 2;
        }
    }
    if (!o.table && !o.curve && !o.variants && !o.crossover) o.table = o.curve = o.variants = o.crossover = true;
    if (o.quick && o.steps > 20) o.steps = 20;
    run(&o, &how);
    return 0;
}
