/* How near `linear` and `dualquat` come to the memory's speed: 1M vertices with 4 influences each, against a triad
 * a = b + s c over arrays of the same total size in the same run; and how time grows with vertices.
 *
 *     bench_linear [--quick] [--threads N] [--vertices N] [--runs N] [--scaled]
 *
 * Bytes counted are those that must move: rest and result 12 each, 2 a joint index, 4 a weight. --scaled gives each
 * bone a scale of its own, so that dualquat goes through both its phases. */
#include "core/memory.h"
#include "core/timer.h"
#include "machine.h"
#include "measure.h"
#include "methods/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INFLUENCES = 4, JOINTS = 80, BYTES_PER_VERTEX = 24 + 6 * INFLUENCES };

typedef struct options {
    int32_t vertices, runs, threads; /* threads 0: 1 and 2 */
    bool scaled;
} options;

/* One skinned mesh, in the scene's own form. */
typedef struct rig {
    supple_scene scene;
    spl_mesh mesh;
    spl_primitive primitive;
    spl_skin skin;
    spl_instance instance;
    spl_node node[JOINTS + 1];
    int32_t order[JOINTS + 1], joint[JOINTS];
    spl_mat4 inverse_bind[JOINTS], world[JOINTS + 1];
    float *rest, *out;
} rig;

static uint32_t random_bits(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

static float random_unit(uint32_t *state)
{
    return (float)random_bits(state) / 16777216.0F;
}

static void *room(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p) {
        fprintf(stderr, "bench_linear: out of memory\n");
        exit(5);
    }
    return p;
}

/* A chain of joints along x. A vertex follows joints near its place, as on a real character: neighbours share them. */
static void make_influences(rig *r, int32_t n)
{
    uint32_t seed = 1;
    for (int32_t v = 0; v < n; v++) {
        uint16_t *joint = r->primitive.joint + (size_t)INFLUENCES * (size_t)v;
        float *weight = r->primitive.weight + (size_t)INFLUENCES * (size_t)v, sum = 0;
        int32_t base = (int32_t)((int64_t)v * (JOINTS - 7) / n) + (int32_t)(random_bits(&seed) % 3);
        for (int32_t k = 0; k < INFLUENCES; k++) {
            joint[k] = (uint16_t)(base + k);
            weight[k] = (float)(INFLUENCES - k) + random_unit(&seed);
            sum += weight[k];
        }
        for (int32_t k = 0; k < INFLUENCES; k++) weight[k] /= sum;
        for (int32_t i = 0; i < 3; i++) r->rest[3 * (size_t)v + (size_t)i] = random_unit(&seed);
        r->rest[3 * (size_t)v] += (float)base;
    }
}

static rig *make_rig(int32_t n, bool scaled)
{
    rig *r = room(1, sizeof *r);
    r->primitive.vertex_count = n;
    r->primitive.influence_count = INFLUENCES;
    r->primitive.joint = room((size_t)n, INFLUENCES * sizeof(uint16_t));
    r->primitive.weight = room((size_t)n, INFLUENCES * sizeof(float));
    r->rest = room((size_t)n, 3 * sizeof(float));
    r->out = room((size_t)n, 3 * sizeof(float));
    make_influences(r, n);
    for (int32_t j = 0; j <= JOINTS; j++) {
        double t[3] = {j, 0, 0}, back[3] = {-j, 0, 0}, none[4] = {0, 0, 0, 1}, one[3] = {1, 1, 1};
        double q[4] = {sin(0.01 * j), 0, 0, cos(0.01 * j)}, s[3] = {1, scaled ? 1 + 0.01 * j : 1, 1};
        r->node[j] = (spl_node){.parent = j - 1, .mesh = -1, .skin = -1};
        r->order[j] = j;
        r->world[j] = spl_mat4_trs(t, q, s);
        if (j < JOINTS) r->inverse_bind[j] = spl_mat4_trs(back, none, one);
        if (j < JOINTS) r->joint[j] = j;
    }
    r->mesh = (spl_mesh){.primitive_count = 1, .primitive = &r->primitive};
    r->skin = (spl_skin){.joint_count = JOINTS, .joint = r->joint, .inverse_bind = r->inverse_bind};
    r->instance = (spl_instance){.node = JOINTS, .vertex_count = n};
    r->scene = (supple_scene){.node_count = JOINTS + 1,
                              .mesh_count = 1,
                              .skin_count = 1,
                              .instance_count = 1,
                              .node = r->node,
                              .node_order = r->order,
                              .mesh = &r->mesh,
                              .skin = &r->skin,
                              .instance = &r->instance,
                              .vertex_count = n,
                              .joint_count = JOINTS};
    return r;
}

static void free_rig(rig *r)
{
    free(r->primitive.joint);
    free(r->primitive.weight);
    free(r->rest);
    free(r->out);
    free(r);
}

/* ---- a method ---------------------------------------------------------------------------------------------------- */

/* Adds milliseconds of steps to `ms`. */
static void measure_method(const spl_method *method, rig *r, spl_pool *pool, double *ms, int32_t runs)
{
    supple_config config = supple_config_default();
    supple_allocator allocator = spl_allocator_of(&config);
    supple_setup setup = {0};
    supple_stats stats = {0};
    supple_error error = {0};
    spl_method_context context = {
        .scene = &r->scene, .config = &config, .allocator = &allocator, .pool = pool, .setup = &setup};
    spl_pose pose = {.world = r->world};
    void *state = room(1, method->state_size);
    if (method->init(state, &context, &error) != SUPPLE_OK) {
        fprintf(stderr, "bench_linear: %s\n", error.message);
        exit(5);
    }
    for (int32_t i = 0; i < runs; i++) {
        double start = spl_now_ms();
        method->step(state, &context, &pose, r->rest, r->out, &stats, &error);
        ms[i] = spl_now_ms() - start;
    }
    method->release(state, &context);
    free(state);
}

/* Memory and methods take turns, a few runs each, so that a busy spell of the machine hits them all alike. */
enum { ROUNDS = 5, METHODS_MAX = 16 };

static bool is_measured(const spl_method *method)
{
    return method->output == SPL_OUTPUT_VISUAL && !(method->needs & ~(unsigned)SPL_NEEDS_SKIN);
}

static void report(const char *name, int32_t vertices, int32_t threads, const bench_spread *ms, double triad_gbs)
{
    char table[48], row[64];
    double bytes = (double)BYTES_PER_VERTEX * vertices, ns = ms->min * 1e6 / vertices;
    snprintf(table, sizeof table, "%d vertices", (int)vertices);
    snprintf(row, sizeof row, "%.32s, %d thread%s", name, (int)threads, threads > 1 ? "s" : "");
    bench_note(table, row, "step", BENCH_MS, *ms);
    double share = bench_bandwidth(table, row, "step", bytes, *ms, triad_gbs);
    printf("  %-10s %6.2f ns/vertex  %6.1f GB/s  %5.1f%% of triad\n", name, ns, BYTES_PER_VERTEX / ns, 100 * share);
    fflush(stdout);
}

static void measure(const options *o, rig *r, int32_t threads)
{
    spl_pool *pool = make_pool(threads);
    int32_t runs = (o->runs + ROUNDS - 1) / ROUNDS, all = runs * ROUNDS,
            count = spl_method_count() < METHODS_MAX ? spl_method_count() : METHODS_MAX;
    double *ms = room((size_t)(METHODS_MAX + 1) * (size_t)all, sizeof *ms), *triad_ms = ms + METHODS_MAX * (size_t)all;
    bench_triad triad = bench_triad_make((double)BYTES_PER_VERTEX * o->vertices);
    for (int32_t at = 0; at < all; at += runs) {
        for (int32_t i = 0; i < runs; i++) triad_ms[at + i] = bench_triad_run(&triad, pool);
        for (int32_t m = 0; m < count; m++)
            if (is_measured(spl_method_at(m)))
                measure_method(spl_method_at(m), r, pool, ms + (size_t)m * (size_t)all + (size_t)at, runs);
    }
    bench_spread t = bench_spread_of(triad_ms, all);
    double triad_gbs = 12e-6 * (double)triad.count / t.min;
    printf("threads %d: triad %.1f GB/s\n", (int)threads, triad_gbs);
    report("triad", o->vertices, threads, &t, triad_gbs);
    for (int32_t m = 0; m < count; m++) {
        if (!is_measured(spl_method_at(m))) continue;
        bench_spread s = bench_spread_of(ms + (size_t)m * (size_t)all, all);
        report(spl_method_at(m)->name, o->vertices, threads, &s, triad_gbs);
    }
    bench_triad_free(&triad);
    free(ms);
    spl_pool_destroy(pool);
}

/* Linear skinning alone on one thread, from what fits into a cache to what does not. */
static void grow(const options *o)
{
    for (int32_t part = 64; part >= 1; part /= 4) {
        int32_t n = o->vertices / part;
        double ms[25];
        rig *r = make_rig(n, false);
        spl_pool *pool = make_pool(1);
        for (int32_t m = 0; m < spl_method_count(); m++) {
            if (strcmp(spl_method_at(m)->name, "linear") != 0) continue;
            measure_method(spl_method_at(m), r, pool, ms, 25);
            bench_point("linear", n, bench_spread_of(ms, 25).min);
        }
        spl_pool_destroy(pool);
        free_rig(r);
    }
    bench_growth("growth", "linear", "vertices");
}

static options parse(int argc, char **argv, bool quick)
{
    options o = {.vertices = quick ? 100000 : 1000000, .runs = quick ? 10 : 100};
    for (int i = 1; i < argc; i++) {
        long value = i + 1 < argc ? strtol(argv[i + 1], NULL, 10) : 0;
        if (!strcmp(argv[i], "--scaled"))
            o.scaled = true;
        else if (!strcmp(argv[i], "--threads") && value > 0 && value <= 64 && ++i)
            o.threads = (int32_t)value;
        else if (!strcmp(argv[i], "--vertices") && value > 0 && value <= 100000000 && ++i)
            o.vertices = (int32_t)value;
        else if (!strcmp(argv[i], "--runs") && value > 0 && value <= 100000 && ++i)
            o.runs = (int32_t)value;
        else {
            fprintf(stderr, "usage: bench_linear [--quick] [--threads N] [--vertices N] [--runs N] [--scaled]\n");
            exit(2);
        }
    }
    return o;
}

int main(int argc, char **argv)
{
    bench_options how = bench_begin("linear", &argc, argv);
    options o = parse(argc, argv, how.quick);
    rig *r = make_rig(o.vertices, o.scaled);
    printf("%d vertices, %d influences each\n", (int)o.vertices, INFLUENCES);
    for (int32_t threads = 1; threads <= 2; threads++)
        if (o.threads == 0 || o.threads == threads) measure(&o, r, threads);
    if (o.threads > 2) measure(&o, r, o.threads);
    free_rig(r);
    if (o.threads < 2 && o.vertices >= 6400) grow(&o);
    return 0;
}
