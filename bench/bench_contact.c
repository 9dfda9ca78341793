/* Contacts: how long they take to find, on a character that is posed by its weights alone and so goes into itself.
 *
 *     bench_contact [--quick] [--threads N] [--tets N] [--frames N] [--character FILE] [--clip NAME]
 *
 * The character is demo:hero in its clip "reach", with a body of at most 28,000 tets: the size of the larger character
 * in the projective paper's table, whose authors' code takes 5.4 ms to find 90 contacts on this kind of machine. Aim:
 * 1.5 ms on two cores. Times are medians over the frames, on the wall clock; and in processor time of all threads
 * together, which a busy machine changes less. Then whole frames of each method with contact and without
 * (contact_frames.h), and detection by pairs (contact_pairs.h), at 5,000 to 500,000 triangles. */
#include "body/solid.h"
#include "contact/contact.h"
#include "contact_frames.h"
#include "contact_pairs.h"
#include "core/timer.h"
#include "measure.h"
#include "record.h"

#include <supple/scene.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *character, *clip;
    int32_t threads, tets, frames; /* threads 0: 1 and 2 */
    bool quick;
} options;

typedef struct stage {
    supple_scene *scene;
    spl_body body;
    spl_solid solid;
    spl_pose pose;
    int32_t clip;
    double *x;
} stage;

static void stop(const char *what, const supple_error *error)
{
    fprintf(stderr, "bench_contact: %s: %s\n", what, error->message);
    exit(5);
}

static void make_stage(const options *o, stage *s)
{
    supple_config config = supple_config_default();
    supple_error error = {0};
    spl_body_options how = spl_body_options_default();
    how.flesh.max_tets = o->tets;
    spl_pool *pool = make_pool(2);
    if (supple_scene_load_file(o->character, &config, &s->scene, &error) != SUPPLE_OK ||
        spl_body_make(s->scene, &how, &config, pool, &s->body, &error) != SUPPLE_OK ||
        spl_solid_create(&s->body, NULL, &config, pool, &s->solid, &error) != SUPPLE_OK ||
        spl_pose_init(&s->pose, s->scene, &error) != SUPPLE_OK)
        stop(o->character, &error);
    s->x = calloc((size_t)s->body.tets.vertex_count, 3 * sizeof *s->x);
    s->clip = s->scene->clip_count - 1;
    for (int32_t i = 0; i < s->scene->clip_count; i++)
        if (strstr(supple_scene_clip_name(s->scene, i), o->clip)) s->clip = i;
    spl_pool_destroy(pool);
    if (!s->x) exit(5);
}

static void free_stage(stage *s)
{
    free(s->x);
    spl_pose_release(&s->pose);
    spl_solid_release(&s->solid);
    spl_body_release(&s->body);
    supple_scene_destroy(s->scene);
}

static void take_frame(stage *s, const options *o, int32_t frame, spl_pool *pool)
{
    supple_error error = {0};
    double length = s->clip >= 0 ? supple_scene_clip_duration(s->scene, s->clip) : 0;
    spl_pose_sample(&s->pose, s->scene, s->clip, length * frame / (o->frames > 1 ? o->frames - 1 : 1));
    if (spl_drive_pose(&s->solid.drive, &s->pose, &error) != SUPPLE_OK) stop("pose", &error);
    spl_solid_pose(&s->solid, s->x, pool);
}

/* The authors' code takes 5.4 ms to find 90 contacts; see the top. */
static void report(const options *o, int32_t threads, double created, bench_spread ms, bench_spread work, int32_t most,
                   double deepest)
{
    char table[48], row[32];
    snprintf(table, sizeof table, "at most %d tets", (int)o->tets);
    snprintf(row, sizeof row, "%d thread%s", (int)threads, threads > 1 ? "s" : "");
    bench_row find = {.table = table, .row = row, .quantity = "find", .kind = BENCH_MS, .spread = ms};
    find.paper = o->quick ? 0 : 5.4;
    find.wanted = threads == 2 && !o->quick ? 1.5 : 0;
    bench_record(&find);
    bench_note(table, row, "find, processor", BENCH_CPU_MS, work);
    bench_value(table, row, "set-up", BENCH_MS, created);
    bench_value(table, row, "most contacts", BENCH_COUNT, most);
    printf("threads %d: set-up %.1f ms, find %.3f ms (best %.3f, processors %.3f), up to %d contacts, %.4f m deep\n",
           (int)threads, created, ms.median, ms.min, work.median, (int)most, deepest);
}

static void measure(stage *s, const options *o, int32_t threads)
{
    supple_config config = supple_config_default();
    supple_error error = {0};
    spl_pool *pool = make_pool(threads);
    spl_contacts *contacts;
    double start = spl_now_ms();
    if (spl_contacts_create(&s->solid, NULL, NULL, &config, pool, &contacts, &error) != SUPPLE_OK)
        stop("contacts", &error);
    double created = spl_now_ms() - start, deepest = 0;
    double *ms = calloc((size_t)o->frames, sizeof *ms), *work = calloc((size_t)o->frames, sizeof *work);
    int32_t most = 0;
    if (!ms || !work) exit(5);
    for (int32_t i = 0; i < o->frames; i++) {
        take_frame(s, o, i, pool);
        double begin = processor_ms();
        start = spl_now_ms();
        int32_t count = spl_contacts_find(contacts, s->x, pool);
        ms[i] = spl_now_ms() - start;
        work[i] = processor_ms() - begin;
        most = count > most ? count : most;
        const spl_contact *list = spl_contacts_list(contacts, &count);
        for (int32_t k = 0; k < count; k++) deepest = list[k].depth > deepest ? list[k].depth : deepest;
    }
    report(o, threads, created, bench_spread_of(ms, o->frames), bench_spread_of(work, o->frames), most, deepest);
    free(ms);
    free(work);
    spl_contacts_destroy(contacts);
    spl_pool_destroy(pool);
}

static options parse(int argc, char **argv)
{
    options o = {.character = "demo:hero", .clip = "reach", .tets = 28000, .frames = 60};
    o.quick = bench_begin("contact", &argc, argv).quick;
    if (o.quick) o = (options){.character = "demo:arm", .clip = "bend", .tets = 4000, .frames = 8, .quick = true};
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        long value = next ? strtol(next, NULL, 10) : 0;
        bool count = value > 0 && value < 10000000;
        if (!strcmp(argv[i], "--threads") && count && value <= 64 && ++i)
            o.threads = (int32_t)value;
        else if (!strcmp(argv[i], "--tets") && count && ++i)
            o.tets = (int32_t)value;
        else if (!strcmp(argv[i], "--frames") && count && ++i)
            o.frames = (int32_t)value;
        else if (!strcmp(argv[i], "--character") && next)
            o.character = argv[++i];
        else if (!strcmp(argv[i], "--clip") && next)
            o.clip = argv[++i];
        else {
            fprintf(stderr, "usage: bench_contact [--quick] [--threads N] [--tets N] [--frames N] [--character FILE] "
                            "[--clip NAME]\n");
            exit(2);
        }
    }
    return o;
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    stage s = {0};
    make_stage(&o, &s);
    const char *name = strrchr(o.character, '/') ? strrchr(o.character, '/') + 1 : o.character;
    printf("%s: %d tets, %d vertices on their surface\n", name, s.body.tets.tet_count, s.body.skin.vertex_count);
    for (int32_t threads = 1; threads <= 2; threads++)
        if (o.threads == 0 || o.threads == threads) measure(&s, &o, threads);
    if (o.threads > 2) measure(&s, &o, o.threads);
    free_stage(&s);
    measure_frames(o.quick, o.threads);
    measure_pairs(o.quick, o.threads);
    return 0;
}
