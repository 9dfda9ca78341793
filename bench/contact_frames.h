/* Whole frames with and without flesh against flesh, for bench_contact: what contact by bounded steps costs a user.
 *
 * demo:hero, clip reach, 19,000 tetrahedra at most, frames of which most touch. Both sides of a row are measured in one
 * run, one after the other, so that their ratio is of one machine. */
#ifndef SPL_BENCH_CONTACT_FRAMES_H
#define SPL_BENCH_CONTACT_FRAMES_H

#include "measure.h"
#include "record.h"

#include <supple/supple.h>

#include <stdio.h>
#include <stdlib.h>

enum { FRAMES_MOST = 64 };

typedef struct frames_case {
    const char *name, *method;
    bool dynamics;
    double fps;
} frames_case;

static void frames_fail(const supple_error *error)
{
    fprintf(stderr, "bench_contact: %s\n", error->message);
    exit(5);
}

/* Milliseconds of `count` frames in a row, after `first` others. Returns the mean number of contacts. */
static double frames_play(supple_scene *scene, const supple_body_config *bc, const frames_case *what, bool self,
                          int32_t threads, int32_t first, int32_t count, double *ms)
{
    supple_error error = {0};
    supple_sim *sim = NULL;
    supple_config config = supple_config_default();
    supple_sim_config sc = supple_sim_config_default();
    double contacts = 0;
    config.thread_count = threads;
    sc.method = what->method;
    sc.body_config = bc;
    sc.dynamics = what->dynamics;
    sc.collide = self ? SUPPLE_COLLIDE_SELF : SUPPLE_COLLIDE_NONE;
    sc.frame_total = first + count;
    int32_t clip = supple_scene_clip_find(scene, "reach");
    if (supple_sim_create(scene, &sc, &config, &sim, &error) != SUPPLE_OK) frames_fail(&error);
    for (int32_t k = 0; k < first + count; k++) {
        if (supple_sim_step_clip(sim, clip, k / what->fps, &error) != SUPPLE_OK) frames_fail(&error);
        const supple_stats *stats = supple_sim_stats(sim);
        if (k < first) continue;
        ms[k - first] = stats->ms_total;
        contacts += stats->contacts > 0 ? stats->contacts : 0;
    }
    supple_sim_destroy(sim);
    return contacts / count;
}

static void frames_row(supple_scene *scene, const supple_body_config *bc, const frames_case *what, int32_t threads,
                       int32_t first, int32_t count)
{
    char row[80];
    static double without[FRAMES_MOST], with[FRAMES_MOST];
    frames_play(scene, bc, what, false, threads, first, count, without);
    double contacts = frames_play(scene, bc, what, true, threads, first, count, with);
    bench_spread free = bench_spread_of(without, count), touching = bench_spread_of(with, count);
    snprintf(row, sizeof row, "%s, %d thread%s", what->name, (int)threads, threads > 1 ? "s" : "");
    bench_note("frames", row, "without contact", BENCH_MS, free);
    bench_note("frames", row, "--collide self", BENCH_MS, touching);
    bench_value("frames", row, "ratio of medians", BENCH_RATIO, touching.median / free.median);
    bench_value("frames", row, "contacts", BENCH_COUNT, contacts);
    printf("%s: %.1f ms without contact, %.1f with (%.1f times), %.0f contacts\n", row, free.median, touching.median,
           touching.median / free.median, contacts);
    fflush(stdout);
}

/* threads 0: 1 and 2. */
static void measure_frames(bool quick, int32_t threads)
{
    static const frames_case cases[] = {{"mixed", "mixed", false, 30},
                                        {"steklov", "steklov", false, 30},
                                        {"projective", "projective", false, 30},
                                        {"projective in motion, 60 frames a second", "projective", true, 60}};
    supple_error error = {0};
    supple_scene *scene = NULL;
    supple_body_config bc = supple_body_config_default();
    bc.max_tets = quick ? 3000 : 19000;
    if (supple_scene_load_file("demo:hero", NULL, &scene, &error) != SUPPLE_OK) frames_fail(&error);
    /* A quick run looks at the first and the last alone, on one thread: making a body takes most of its time. */
    size_t count = sizeof cases / sizeof *cases, step = quick ? count - 1 : 1;
    if (quick && threads == 0) threads = 1;
    for (size_t i = 0; i < count; i += step)
        for (int32_t t = 1; t <= 2; t++)
            if (threads == 0 || threads == t) frames_row(scene, &bc, &cases[i], t, quick ? 1 : 30, quick ? 3 : 31);
    supple_scene_destroy(scene);
}

#endif
