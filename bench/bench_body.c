/* From a character to flesh: time from scratch and from the cache, and how it grows with the resolution.
 *
 *     bench_body [--quick] [FILE]      default: demo:hero, quick demo:arm */
#include "measure.h"
#include "record.h"

#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <supple/supple.h>
#include <unistd.h>

enum { MAX_TETS = 50000, MOST_RUNS = 3 };

/* A row of the table: what to make, and how often. */
typedef struct making {
    const char *name;
    int resolution;
    bool cache, grade;
    int runs;
} making;

static double make_once(const supple_scene *scene, const making *m, supple_body_info *info)
{
    supple_body_config bc = supple_body_config_default();
    supple_error error;
    supple_body *body;
    bc.resolution = m->resolution;
    bc.max_tets = MAX_TETS;
    bc.cache = m->cache;
    bc.grade = m->grade;
    if (supple_body_create(scene, &bc, NULL, &body, &error) != SUPPLE_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    *info = *supple_body_get_info(body);
    supple_body_destroy(body);
    return info->ms;
}

/* Milliseconds, the least. */
static double run(const supple_scene *scene, const making *m)
{
    double ms[MOST_RUNS] = {0};
    supple_body_info i = {0};
    for (int k = 0; k < m->runs; k++) ms[k] = make_once(scene, m, &i);
    bench_spread s = bench_spread_of(ms, m->runs);
    printf("  %4d cells  %7d tets  %7.0f ms%-16s dihedral %.1f..%.1f  lost %.3f%%  peak %.0f MB\n", (int)i.resolution,
           (int)i.tets, s.min, i.cached ? " (from the cache)" : "", i.min_dihedral_deg, i.max_dihedral_deg,
           100 * i.area_lost, peak_mb());
    fflush(stdout);
    bench_note("body", m->name, "time", BENCH_MS, s);
    bench_value("body", m->name, "tetrahedra", BENCH_COUNT, i.tets);
    bench_value("body", m->name, "smallest dihedral angle, degrees", BENCH_ERROR, i.min_dihedral_deg);
    return s.min;
}

/* A cache of its own: from scratch must mean from scratch, and the user's must stay as it is. */
static bool make_cache(char *folder, size_t size)
{
    const char *where = getenv("TMPDIR");
    snprintf(folder, size, "%s/supple-bench-XXXXXX", where && *where ? where : P_tmpdir);
    return mkdtemp(folder) && setenv("SUPPLE_CACHE", folder, 1) == 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* From scratch, from the cache, and by resolution: cells along the body. */
static void run_all(const supple_scene *scene, bool quick)
{
    const int usual[] = {32, 64, 128, 160}, small[] = {16, 24, 32, 48}, *cells = quick ? small : usual;
    int runs = quick ? 1 : MOST_RUNS;
    char row[48];
    making m = {.name = "automatic, from scratch", .resolution = quick ? 24 : 0, .cache = true, .runs = 1};
    run(scene, &m); /* only the first one fills the cache */
    m.name = "automatic, from the cache";
    m.runs = runs;
    run(scene, &m);
    for (int i = 0; i < 4; i++) {
        snprintf(row, sizeof row, "%d cells", cells[i]);
        double ms = run(scene, &(making){row, cells[i], false, false, runs});
        if (i > 0) bench_point("body", pow(cells[i], 3), ms); /* the first is set-up more than cells */
    }
    bench_growth("growth", "body", "volume in cells");
    printf("  graded (--set grade=on):\n");
    for (int i = 1; i < 4; i++) {
        snprintf(row, sizeof row, "%d cells, graded", cells[i]);
        run(scene, &(making){row, cells[i], false, true, runs});
    }
    bench_value("body", "all", "peak memory", BENCH_MB, peak_mb());
}

int main(int argc, char **argv)
{
    bench_options how = bench_begin("body", &argc, argv);
    const char *name = argc > 1 ? argv[1] : how.quick ? "demo:arm" : "demo:hero";
    supple_error error;
    supple_scene *scene;
    char folder[PATH_MAX];
    if (supple_scene_load_file(name, NULL, &scene, &error) != SUPPLE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return (int)error.code;
    }
    if (!make_cache(folder, sizeof folder)) {
        supple_scene_destroy(scene);
        fprintf(stderr, "no folder for the cache can be made (TMPDIR)\n");
        return SUPPLE_ERROR_OUTPUT;
    }
    printf("%s: tetrahedra, attachments and upsampling weights\n", name);
    run_all(scene, how.quick);
    supple_scene_destroy(scene);
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0;
}
