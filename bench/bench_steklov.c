/* Steklov-Poincare skinning by its parts: the paper's two tables (section 7), figure 4's iterations, and growth.
 *
 *     bench_steklov [--parts] [--bend] [--figure4] [--curve] [--cells N] [--large] [--threads N] [--tolerance T]
 *
 * Every row is a process of its own that plays a clip through the simulation. `cpu` is processor time on all threads,
 * which a busy machine does not change (threads that wait for work spin a little: --threads 1 for the pure sum); all
 * other times are the wall's, of the least busy frame where the work is the same in each. --cells sets the size of
 * --bend and --figure4, --large takes the paper's sizes. */
#include "measure.h"
#include "methods/steklov/steklov.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <supple/supple.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct options {
    bool parts, bend, figure4, curve, large;
    int32_t cells, threads;
    const char *tolerance;
} options;

/* A character in a simulation. */
typedef struct stage {
    supple_scene *scene;
    supple_body *body;
    supple_sim *sim;
    int32_t clip, frames;
} stage;

static void fail(const supple_error *error)
{
    fprintf(stderr, "bench_steklov: %s\n", error->message);
    exit(1);
}

/* `settings`: "a=1 b=2", at most 8. */
static int32_t split(char *text, supple_setting *out)
{
    int32_t count = 0;
    for (char *word = strtok(text, " "); word && count < 8; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = 0;
        out[count++] = (supple_setting){word, equals + 1};
    }
    return count;
}

static stage raise_curtain(const char *name, int32_t cells, const char *clip, const char *settings, bool collide,
                           const options *o)
{
    stage s = {0};
    char file[32], text[200];
    supple_setting list[8];
    supple_error error;
    supple_config config = supple_config_default();
    supple_body_config bc = supple_body_config_default();
    supple_sim_config sc = supple_sim_config_default();
    snprintf(file, sizeof file, "demo:%s", name);
    snprintf(text, sizeof text, "%s", settings);
    config.thread_count = o->threads;
    bc.resolution = cells;
    bc.max_tets = 3000000;
    sc.method = "steklov";
    sc.collide = collide ? SUPPLE_COLLIDE_SELF : SUPPLE_COLLIDE_NONE;
    sc.setting_count = split(text, list);
    sc.settings = list;
    if (supple_scene_load_file(file, &config, &s.scene, &error) != SUPPLE_OK) fail(&error);
    if (supple_body_create(s.scene, &bc, &config, &s.body, &error) != SUPPLE_OK) fail(&error);
    sc.body = s.body;
    if (supple_sim_create(s.scene, &sc, &config, &s.sim, &error) != SUPPLE_OK) fail(&error);
    s.clip = supple_scene_clip_find(s.scene, clip);
    s.frames = supple_scene_frame_count(s.scene, s.clip, 30);
    return s;
}

static void drop_curtain(stage *s)
{
    supple_sim_destroy(s->sim);
    supple_body_destroy(s->body);
    supple_scene_destroy(s->scene);
}

/* A step; its processor time. */
static double play(stage *s, int32_t frame)
{
    supple_error error;
    double start = processor_ms();
    if (supple_sim_step_clip(s->sim, s->clip, frame / 30.0, &error) != SUPPLE_OK) fail(&error);
    return processor_ms() - start;
}

static const spl_steklov_stats *stats_of(const stage *s)
{
    return spl_steklov_last(s->sim->state);
}

/* ---- sums over frames ---- */

typedef struct sums {
    double frames, wall, cpu, contact, skinning, stiffness, force, interior, boundary, precondition;
    double interior_solves, interior_iterations, boundary_iterations, newton, pairs;
    double residual; /* the largest */
} sums;

static void add(sums *t, const stage *s, double cpu)
{
    const spl_steklov_stats *k = stats_of(s);
    t->frames++;
    t->wall += supple_sim_stats(s->sim)->ms_solve;
    t->cpu += cpu;
    t->contact += k->ms_contact;
    t->skinning += k->ms_skinning;
    t->stiffness += k->ms_stiffness;
    t->force += k->ms_force;
    t->interior += k->ms_interior;
    t->boundary += k->ms_boundary;
    t->precondition += k->ms_precondition;
    t->interior_solves += k->interior_solves;
    t->interior_iterations += k->interior_iterations;
    t->boundary_iterations += k->boundary_iterations;
    t->newton += k->newton;
    t->pairs += k->pairs;
    t->residual = fmax(t->residual, k->residual);
}

static double per(double sum, double count)
{
    return count > 0 ? sum / count : 0;
}

/* ---- the first table ---- */

typedef struct subject {
    const char *body, *clip;
    int32_t cells;
} subject;

static void head_parts(void)
{
    printf("\nThe paper's first table (ms; its own: arm 259k 18, 135, 10.8, 97, 23.8, 120, 463 on 4 cores):\n"
           "%-5s %-8s %7s %7s | %6s %6s %6s | %6s %7s %6s | %6s %7s %6s | %6s %6s %5s | %8s %8s | %6s %7s %7s\n",
           "body", "form", "verts", "tets", "skin", "stiff", "forces", "1 CG", "inter.", "iters", "1 CG", "step",
           "iters", "contct", "pairs", "steps", "frame", "cpu", "MB", "setup", "resid");
    fflush(stdout);
}

static void play_parts(const subject *b, const char *form, const options *o)
{
    char settings[200];
    snprintf(settings, sizeof settings, "formulation=%s tolerance=%s", form, o->tolerance);
    stage s = raise_curtain(b->body, b->cells, b->clip, settings, true, o);
    const supple_body_info *i = supple_body_get_info(s.body);
    sums t = {0};
    int32_t step = s.frames > 12 ? s.frames / 12 : 1, from = 0;
    for (int32_t k = from; k < s.frames; k += step) { /* pairs of frames: the second's start is the frame before */
        play(&s, k);
        if (k + 1 < s.frames) add(&t, &s, play(&s, k + 1));
    }
    printf("%-5s %-8s %7d %7d | %6.1f %6.1f %6.1f | %6.2f %7.1f %6.1f | %6.2f %7.1f %6.1f | %6.1f %6.0f %5.1f | %8.1f "
           "%8.1f | %6.0f %7.0f %7.1e\n",
           b->body, form, (int)i->vertices, (int)i->tets, t.skinning / t.frames, t.stiffness / t.frames,
           t.force / t.frames, per(t.interior, t.interior_iterations), per(t.interior, t.interior_solves),
           per(t.interior_iterations, t.interior_solves), per(t.boundary, t.boundary_iterations),
           per(t.boundary + t.precondition, t.newton), per(t.boundary_iterations, t.newton), t.contact / t.frames,
           t.pairs / t.frames, t.newton / t.frames, t.wall / t.frames, t.cpu / t.frames, peak_mb(),
           supple_sim_setup(s.sim)->ms_factor, t.residual);
    fflush(stdout);
    drop_curtain(&s);
}

/* ---- the second table ---- */

typedef struct way {
    const char *name, *settings;
} way;

/* Springs are the same in all, along normals: those to points, re-detected, do not reach the tolerance. */
static const way WAYS[] = {
    {"surface, contacts not in the preconditioner (the paper's)", "formulation=surface precondition=skinned"},
    {"surface, contacts in the preconditioner", "formulation=surface"},
    {"volume, contacts not in the preconditioner (the paper's)",
     "formulation=volume precondition=skinned precision=double"},
    {"volume, contacts in the preconditioner (the default)", "formulation=volume"}};

static void play_bend(const way *w, const options *o)
{
    static const int32_t ends[] = {0, 15, 30, 35, 40, 45, 50};
    char settings[200];
    snprintf(settings, sizeof settings, "%s tolerance=%s", w->settings, o->tolerance);
    stage s = raise_curtain("arm", o->large ? 122 : o->cells, "bend", settings, true, o);
    printf("%s: %d tets\n  %-7s %8s %6s | %8s %7s %6s | %7s %6s | %8s %8s | %7s\n", w->name,
           (int)supple_body_get_info(s.body)->tets, "frames", "degrees", "pairs", "interior", "1 CG", "solves", "solve",
           "steps", "frame", "cpu", "resid");
    for (int r = 0; r < 6; r++) {
        sums t = {0};
        for (int32_t k = ends[r]; k < ends[r + 1] && k < s.frames; k++) {
            double cpu = play(&s, k);
            if (k > 0) add(&t, &s, cpu);
        }
        printf("  %2d-%-4d %3d-%-4d %6.0f | %8.1f %7.2f %6.1f | %7.1f %6.1f | %8.1f %8.1f | %7.1e\n", (int)ends[r],
               (int)ends[r + 1], (int)ends[r] * 3, (int)ends[r + 1] * 3, t.pairs / t.frames, t.interior / t.frames,
               per(t.boundary, t.boundary_iterations), t.boundary_iterations / t.frames,
               (t.boundary + t.precondition) / t.frames, t.newton / t.frames, t.wall / t.frames, t.cpu / t.frames,
               t.residual);
        fflush(stdout);
    }
    drop_curtain(&s);
}

/* ---- figure 4 ---- */

/* Positions of the body after a sharp bend to 90 degrees, by a way of solving with a limit on its iterations. */
static double *bend_at_once(const char *settings, int32_t limit, const options *o, size_t *count, double *diagonal)
{
    char text[200];
    snprintf(text, sizeof text, "%s tolerance=1e-11 steps=%d iterations=%d", settings, limit > 0 ? 1 : 100,
             limit > 0 ? limit : 5000);
    stage s = raise_curtain("arm", o->cells, "bend", text, false, o);
    play(&s, 30);
    *count = 3 * (size_t)s.sim->flesh.body->tets.vertex_count;
    *diagonal = s.sim->flesh.solid.diagonal;
    double *x = malloc(*count * sizeof *x);
    if (!x) exit(1);
    memcpy(x, s.sim->flesh.x, *count * sizeof *x);
    drop_curtain(&s);
    return x;
}

static void play_figure4(const options *o)
{
    static const way ways[] = {{"volume, no preconditioner", "formulation=volume precondition=none"},
                               {"surface, no preconditioner", "formulation=surface precondition=none"},
                               {"surface, sparse K_b(0), Cholesky", "formulation=surface boundary=cholesky"},
                               {"surface, sparse K_b(0), incomplete", "formulation=surface"},
                               {"volume, skinned incomplete factor", "formulation=volume precondition=skinned"}};
    size_t n;
    double diagonal, *truth = bend_at_once("formulation=volume", 0, o, &n, &diagonal);
    printf(
        "\nFigure 4: largest position error, %% of the diagonal, after so many iterations of a bend to 90 degrees at "
        "once\n%-36s",
        "");
    static const int32_t limits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 96, 192};
    enum { LIMITS = sizeof limits / sizeof *limits };
    for (int k = 0; k < LIMITS; k++) printf("%8d", (int)limits[k]);
    printf("   to 0.5%%\n");
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        int32_t enough = -1;
        printf("%-36s", ways[w].name);
        for (int k = 0; k < LIMITS; k++) {
            double most = 0, *x = bend_at_once(ways[w].settings, limits[k], o, &n, &diagonal);
            for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i] - truth[i]));
            printf("%8.3f", 100 * most / diagonal);
            if (enough < 0 && most < 0.005 * diagonal) enough = limits[k];
            free(x);
        }
        printf("   %6d\n", (int)enough);
        fflush(stdout);
    }
    free(truth);
}

/* ---- all ---- */

typedef void row_fn(const void *what, const char *form, const options *o);

static void parts_row(const void *what, const char *form, const options *o)
{
    play_parts(what, form, o);
}

static void bend_row(const void *what, const char *form, const options *o)
{
    (void)form;
    play_bend(what, o);
}

static void figure_row(const void *what, const char *form, const options *o)
{
    (void)what;
    (void)form;
    play_figure4(o);
}

/* In a process of its own: the peak of memory is the row's. */
static void run(row_fn *row, const void *what, const char *form, const options *o)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        row(what, form, o);
        exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) fprintf(stderr, "bench_steklov: a row failed\n");
}

static const subject SMALL[] = {{"arm", "bend", 40}, {"arm", "bend", 60}, {"hero", "reach", 48}};
static const subject LARGE[] = {{"arm", "bend", 115}, {"arm", "bend", 122}, {"hero", "reach", 150}};
static const subject CURVE[] = {{"arm", "bend", 40}, {"arm", "bend", 58},  {"arm", "bend", 74},
                                {"arm", "bend", 92}, {"arm", "bend", 118}, {"arm", "bend", 150}};

static void run_all(const options *o)
{
    if (o->parts) head_parts();
    for (int i = 0; o->parts && i < 3; i++) {
        const subject *b = o->large ? &LARGE[i] : &SMALL[i];
        if (!o->large) run(parts_row, b, "surface", o);
        run(parts_row, b, "volume", o);
    }
    if (o->bend) printf("\nThe paper's second table: an arm bent to 150 degrees in 50 frames (ms a frame)\n");
    for (size_t i = 0; o->bend && i < sizeof WAYS / sizeof *WAYS; i++) run(bend_row, &WAYS[i], "", o);
    if (o->figure4) run(figure_row, NULL, "", o);
    if (o->curve) {
        printf("\nGrowth:");
        head_parts();
    }
    for (size_t i = 0; o->curve && i < (o->large ? 6 : 3); i++) run(parts_row, &CURVE[i], "volume", o);
}

int main(int argc, char **argv)
{
    options o = {.cells = 40, .threads = 2, .tolerance = "1e-5"};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--parts"))
            o.parts = true;
        else if (!strcmp(argv[i], "--bend"))
            o.bend = true;
        else if (!strcmp(argv[i], "--figure4"))
            o.figure4 = true;
        else if (!strcmp(argv[i], "--curve"))
            o.curve = true;
        else if (!strcmp(argv[i], "--large"))
            o.large = true;
        else if (!strcmp(argv[i], "--cells") && i + 1 < argc && atoi(argv[i + 1]) > 3)
            o.cells = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--threads") && i + 1 < argc && atoi(argv[i + 1]) > 0)
            o.threads = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--tolerance") && i + 1 < argc)
            o.tolerance = argv[++i];
        else {
            fprintf(stderr, "usage: bench_steklov [--parts] [--bend] [--figure4] [--curve] [--cells N] [--large] "
                            "[--threads N] [--tolerance T]\n");
            return 2;
        }
    }
    if (!o.parts && !o.bend && !o.figure4 && !o.curve) o.parts = o.bend = o.figure4 = o.curve = true;
    run_all(&o);
    return 0;
}
