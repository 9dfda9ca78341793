/* From a body's surface to the visual mesh: how long the weights take, once, and a frame.
 *
 *     bench_upsample [--quick] [--threads N] [--runs N] [--character FILE]
 *
 * The character is demo:hero unless another is given; its body is made of tetrahedra as `supple mesh` makes them. All
 * flesh is skin, all else is left out. The frame moves every body vertex.
 * Times are the best of the runs, on the wall clock; for the weights also in processor time of all threads together,
 * which a busy machine does not change much. Aims: 0.6 s for the weights of 23k vertices, 0.3 ms a frame, on two cores.
 */
#include "body/body.h"
#include "body/upsample_map.h"
#include "core/memory.h"
#include "core/timer.h"
#include "machine.h"
#include "measure.h"

#include <supple/scene.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *character; /* NULL: the usual one */
    const char *name;      /* without its folders */
    int32_t runs, threads; /* threads 0: 1 and 2 */
    bench_options how;
} options;

typedef struct visual {
    int32_t vertex_count, triangle_count;
    float *position, *normal, *out, *out_normal;
    int32_t *triangle;
} visual;

static void stop(const char *what, const supple_error *error)
{
    fprintf(stderr, "bench_upsample: %s: %s\n", what, error->message);
    exit(5);
}

static void *room(size_t count, size_t size)
{
    void *p = calloc(count + 1, size);
    if (!p) {
        fprintf(stderr, "bench_upsample: out of memory\n");
        exit(5);
    }
    return p;
}

/* The flesh, as one mesh. */
static visual make_visual(const spl_body *body)
{
    size_t n = (size_t)body->scene->vertex_count, t = (size_t)body->scene->triangle_count;
    visual v = {.position = room(n, 3 * sizeof(float)),
                .normal = room(n, 3 * sizeof(float)),
                .out = room(n, 3 * sizeof(float)),
                .out_normal = room(n, 3 * sizeof(float)),
                .triangle = room(t, 3 * sizeof(int32_t))};
    for (int32_t i = 0; i < body->part_count; i++) {
        const spl_part *part = &body->part[i];
        const spl_primitive *p = part->primitive;
        if (body->roles.part[i].role != SUPPLE_ROLE_FLESH) continue;
        size_t size = 3 * (size_t)p->vertex_count * sizeof(float), to = 3 * (size_t)v.vertex_count;
        memcpy(v.position + to, body->bind + 3 * (size_t)part->first_vertex, size);
        if (p->normal) memcpy(v.normal + to, p->normal, size);
        for (int32_t k = 0; k < 3 * p->triangle_count; k++)
            v.triangle[3 * v.triangle_count + k] = p->triangle[k] + v.vertex_count;
        v.vertex_count += p->vertex_count;
        v.triangle_count += p->triangle_count;
    }
    return v;
}

static void free_visual(visual *v)
{
    free(v->position);
    free(v->normal);
    free(v->out);
    free(v->out_normal);
    free(v->triangle);
}

/* The body bent about its middle, so that no sum is trivial. */
static double *make_frame(const spl_body *body)
{
    const spl_tets *t = &body->tets;
    double *moved = room((size_t)t->vertex_count, 3 * sizeof(double)), size = body->skin.diagonal;
    for (int32_t v = 0; v < t->vertex_count; v++) {
        const double *p = (const double *)t->position + 3 * (size_t)v;
        double *q = moved + 3 * (size_t)v;
        q[0] = p[0] + 0.2 * p[1] * p[1] / size;
        q[1] = p[1] - 0.4 * p[0] * p[1] / size;
        q[2] = 1.05 * p[2];
    }
    return moved;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static spl_upsample *make_map(const spl_body *body, const visual *v, spl_pool *pool)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_upsample_options o = spl_upsample_options_default();
    spl_upsample_visual mesh = {.vertex_count = v->vertex_count,
                                .position = v->position,
                                .normal = v->normal,
                                .triangle_count = v->triangle_count,
                                .triangle = v->triangle};
    supple_error error = {0};
    spl_upsample *u;
    if (spl_upsample_create(&body->skin, &mesh, &o, pool, &a, &u, &error) != SUPPLE_OK) stop("weights", &error);
    return u;
}

/* Adds a frame's milliseconds to `ms`. */
static void measure_frame(const spl_upsample *u, const double *moved, const visual *v, bool normals, spl_pool *pool,
                          double *ms, int32_t runs)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_upsample_frame *f;
    if (spl_upsample_frame_create(u, &a, &f, &error) != SUPPLE_OK) stop("frame", &error);
    spl_upsample_target to = {v->out, 12, normals ? v->out_normal : NULL, 12};
    for (int32_t i = 0; i < runs; i++) {
        double start = spl_now_ms();
        spl_upsample_apply(u, f, pool, moved, &to);
        ms[i] = spl_now_ms() - start;
    }
    spl_upsample_frame_destroy(f);
}

/* What a frame of positions loads and stores: the table's entry of each vertex, of each of its neighbours an index, a
 * weight and four floats, and the result. All of it is some megabytes, so the limit is the cache's. */
static double frame_bytes(const spl_upsample *u, int32_t vertex_count)
{
    double bytes = 0;
    for (int32_t v = 0; v < vertex_count; v++)
        bytes +=
            (double)sizeof(spl_upsample_vertex) + 12 +
            u->vertex[v].count * (double)(sizeof *u->index + sizeof *u->weight + SPL_UPSAMPLE_STRIDE * sizeof(float));
    return bytes;
}

enum { WEIGHT_RUNS = 5 };

/* Aims: see the top. */
static void report(const options *o, const spl_upsample *u, const visual *v, int32_t threads, bench_spread weights,
                   bench_spread work, bench_spread positions, bench_spread both)
{
    char row[32];
    snprintf(row, sizeof row, "%d thread%s", (int)threads, threads > 1 ? "s" : "");
    double limit = threads <= BENCH_THREADS ? bench_limits_get(&o->how)->cache[threads] : NAN;
    bool aimed = threads == 2 && !o->how.quick;
    bench_row r = {.table = o->name, .row = row, .quantity = "weights", .kind = BENCH_MS, .spread = weights};
    r.wanted = aimed ? 600 : 0;
    bench_record(&r);
    bench_note(o->name, row, "weights, processor", BENCH_CPU_MS, work);
    r = (bench_row){.table = o->name, .row = row, .quantity = "frame", .kind = BENCH_MS, .spread = positions};
    r.wanted = aimed ? 0.3 : 0;
    bench_record(&r);
    bench_note(o->name, row, "frame with normals", BENCH_MS, both);
    double share = bench_bandwidth(o->name, row, "frame", frame_bytes(u, v->vertex_count), positions, limit);
    printf("threads %d: weights %.1f ms (%.1f ms of processors), a frame %.3f ms, with normals %.3f ms; %.0f%% of the "
           "cache's speed\n",
           (int)threads, weights.min, work.min, positions.min, both.min, 100 * share);
}

static void measure(const options *o, const spl_body *body, const visual *v, const double *moved, int32_t threads,
                    bool last)
{
    spl_pool *pool = make_pool(threads);
    double weights[WEIGHT_RUNS], work[WEIGHT_RUNS], *ms = room(2 * (size_t)o->runs, sizeof *ms);
    spl_upsample *u = NULL;
    int32_t times = o->how.quick ? 1 : WEIGHT_RUNS;
    for (int32_t i = 0; i < times; i++) {
        spl_upsample_destroy(u);
        double start = spl_now_ms(), begin = processor_ms();
        u = make_map(body, v, pool);
        weights[i] = spl_now_ms() - start;
        work[i] = processor_ms() - begin;
    }
    measure_frame(u, moved, v, false, pool, ms, o->runs);
    measure_frame(u, moved, v, true, pool, ms + o->runs, o->runs);
    report(o, u, v, threads, bench_spread_of(weights, times), bench_spread_of(work, times),
           bench_spread_of(ms, o->runs), bench_spread_of(ms + o->runs, o->runs));
    if (last) {
        spl_upsample_stats s = spl_upsample_get_stats(u);
        printf("  %d places: %d quadratic, %d reduced, %d linear, %d corners, %d follow; %d with a frame, gain %.2f\n",
               s.vertices, s.quadratic, s.reduced, s.linear, s.corners, s.follow, s.framed, s.largest_gain);
    }
    free(ms);
    spl_upsample_destroy(u);
    spl_pool_destroy(pool);
}

static options parse(int argc, char **argv)
{
    options o = {.how = bench_begin("upsample", &argc, argv)};
    o.runs = o.how.quick ? 20 : 300;
    for (int i = 1; i < argc; i++) {
        long value = i + 1 < argc ? strtol(argv[i + 1], NULL, 10) : 0;
        if (!strcmp(argv[i], "--threads") && value > 0 && value <= 64 && ++i)
            o.threads = (int32_t)value;
        else if (!strcmp(argv[i], "--runs") && value > 0 && value <= 100000 && ++i)
            o.runs = (int32_t)value;
        else if (!strcmp(argv[i], "--character") && i + 1 < argc)
            o.character = argv[++i];
        else {
            fprintf(stderr, "usage: bench_upsample [--quick] [--threads N] [--runs N] [--character FILE]\n");
            exit(2);
        }
    }
    return o;
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    if (!o.character) o.character = o.how.quick ? "demo:arm" : "demo:hero";
    supple_config config = supple_config_default();
    supple_error error = {0};
    supple_scene *scene;
    spl_body body;
    spl_body_options how = spl_body_options_default();
    how.cache = false;
    if (supple_scene_load_file(o.character, &config, &scene, &error) != SUPPLE_OK) stop(o.character, &error);
    spl_pool *pool = make_pool(o.threads ? o.threads : 2);
    if (spl_body_make(scene, &how, &config, pool, &body, &error) != SUPPLE_OK) stop(o.character, &error);
    spl_pool_destroy(pool);
    visual v = make_visual(&body);
    double *moved = make_frame(&body);
    o.name = strrchr(o.character, '/') ? strrchr(o.character, '/') + 1 : o.character;
    printf("%s: %d vertices on a body's surface of %d\n", o.name, v.vertex_count, body.skin.vertex_count);
    if (o.threads) {
        measure(&o, &body, &v, moved, o.threads, true);
    } else {
        measure(&o, &body, &v, moved, 1, false);
        measure(&o, &body, &v, moved, 2, true);
    }
    free(moved);
    free_visual(&v);
    spl_body_release(&body);
    supple_scene_destroy(scene);
    return 0;
}
