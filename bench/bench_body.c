/* From a character to flesh: time from scratch and from the cache, and how it grows with the resolution.
 *
 *     bench_body [FILE]      default: demo:hero */
#include "measure.h"

#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <supple/supple.h>
#include <unistd.h>

static double run(const supple_scene *scene, int resolution, int max_tets, bool cache, bool grade, int *tets)
{
    supple_body_config bc = supple_body_config_default();
    supple_error error;
    supple_body *body;
    bc.resolution = resolution;
    bc.max_tets = max_tets;
    bc.cache = cache;
    bc.grade = grade;
    if (supple_body_create(scene, &bc, NULL, &body, &error) != SUPPLE_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    const supple_body_info *i = supple_body_get_info(body);
    *tets = i->tets;
    printf("  %4d cells  %7d tets  %7.0f ms%-16s dihedral %.1f..%.1f  lost %.3f%%  peak %.0f MB\n", (int)i->resolution,
           (int)i->tets, i->ms, i->cached ? " (from the cache)" : "", i->min_dihedral_deg, i->max_dihedral_deg,
           100 * i->area_lost, peak_mb());
    fflush(stdout);
    double ms = i->ms;
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

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "demo:hero";
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
    int tets;
    printf("%s: tetrahedra, attachments and upsampling weights\n", name);
    run(scene, 0, 50000, true, false, &tets);
    run(scene, 0, 50000, true, false, &tets);
    const int cells[] = {32, 64, 128, 160};
    double first_ms = 0, first_cells = 0, ms = 0, n = 0;
    for (int i = 0; i < 4; i++) {
        ms = run(scene, cells[i], 50000, false, false, &tets);
        n = pow(cells[i], 3);
        if (i == 1) {
            first_ms = ms;
            first_cells = n;
        }
    }
    printf("  growth from %d to %d cells: time ~ volume in cells ^ %.2f\n", cells[1], cells[3],
           log(ms / first_ms) / log(n / first_cells));
    printf("  graded (--set grade=on):\n");
    for (int i = 1; i < 4; i++) run(scene, cells[i], 50000, false, true, &tets);
    supple_scene_destroy(scene);
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0;
}
