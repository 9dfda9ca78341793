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

enum { MAX_TETS = 50000 };

/* One row. `name` is its name in the record. */
static double run(const supple_scene *scene, const char *name, int resolution, bool cache, bool grade)
{
    supple_body_config bc = supple_body_config_default();
    supple_error error;
    supple_body *body;
    bc.resolution = resolution;
    bc.max_tets = MAX_TETS;
    bc.cache = cache;
    bc.grade = grade;
    if (supple_body_create(scene, &bc, NULL, &body, &error) != SUPPLE_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    const supple_body_info *i = supple_body_get_info(body);
    printf("  %4d cells  %7d tets  %7.0f ms%-16s dihedral %.1f..%.1f  lost %.3f%%  peak %.0f MB\n", (int)i->resolution,
           (int)i->tets, i->ms, i->cached ? " (from the cache)" : "", i->min_dihedral_deg, i->max_dihedral_deg,
           100 * i->area_lost, peak_mb());
    fflush(stdout);
    double ms = i->ms;
    bench_value("body", name, "time", BENCH_MS, ms);
    bench_value("body", name, "tetrahedra", BENCH_COUNT, i->tets);
    bench_value("body", name, "smallest dihedral angle, degrees", BENCH_ERROR, i->min_dihedral_deg);
    supple_body_destroy(body);
    return ms;
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
    char row[48];
    run(scene, quick ? "quick, from scratch" : "automatic, from scratch", quick ? 24 : 0, true, false);
    run(scene, quick ? "quick, from the cache" : "automatic, from the cache", quick ? 24 : 0, true, false);
    for (int i = 0; i < 4; i++) {
        snprintf(row, sizeof row, "%d cells", cells[i]);
        double ms = run(scene, row, cells[i], false, false);
        if (i > 0) bench_point("body", pow(cells[i], 3), ms); /* the first is set-up more than cells */
    }
    bench_growth("growth", "body", "volume in cells");
    printf("  graded (--set grade=on):\n");
    for (int i = 1; i < 4; i++) {
        snprintf(row, sizeof row, "%d cells, graded", cells[i]);
        run(scene, row, cells[i], false, true);
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
