/* How near `linear` and `dualquat` come to the memory's speed: 1M vertices with 4 influences each, against a triad
 * a = b + s c over arrays of the same total size in the same run.
 *
 *     bench_linear [--json] [--threads N] [--vertices N] [--runs N] [--scaled]
 *
 * Bytes counted are those that must move: rest and result 12 each, 2 a joint index, 4 a weight. --scaled gives each
 * bone a scale of its own, so that dualquat goes through both its phases. */
#include "core/memory.h"
#include "core/timer.h"
#include "methods/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INFLUENCES = 4, JOINTS = 80, BYTES_PER_VERTEX = 24 + 6 * INFLUENCES };

typedef struct options {
    int32_t vertices, runs, threads; /* threads 0: 1 and 2 */
    bool json, scaled;
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

/* ---- the memory's speed ------------------------------------------------------------------------------------------ */

typedef struct triad {
    float *a, *b, *c;
} triad;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((target_clones("avx2", "default")))
#endif
static void
triad_piece(void *context, size_t begin, size_t end)
{
    const triad *t = context;
    float *restrict a = t->a;
    const float *restrict b = t->b, *restrict c = t->c;
    for (size_t i = begin; i < end; i++) a[i] = b[i] + 3.0F * c[i];
}

/* GB/s, the best of the runs. Three arrays that together are as large as what a method's step touches. */
static double measure_triad(spl_pool *pool, int32_t vertices, int32_t runs)
{
    size_t n = (size_t)vertices * BYTES_PER_VERTEX / (3 * sizeof(float));
    triad t = {room(n, sizeof(float)), room(n, sizeof(float)), room(n, sizeof(float))};
    memset(t.b, 1, n * sizeof(float)); /* pages of calloc's are one shared zero page until written */
    memset(t.c, 1, n * sizeof(float));
    double best = INFINITY;
    for (int32_t i = 0; i < runs; i++) {
        double start = spl_now_ms();
        spl_parallel_for(pool, n, 8192, triad_piece, &t);
        best = fmin(best, spl_now_ms() - start);
    }
    free(t.a);
    free(t.b);
    free(t.c);
    return (double)n * 12 / best / 1e6;
}

/* ---- a method ---------------------------------------------------------------------------------------------------- */

/* Milliseconds of one step, the best of the runs. */
static double measure_method(const spl_method *method, rig *r, spl_pool *pool, int32_t runs)
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
    double best = INFINITY;
    if (method->init(state, &context, &error) != SUPPLE_OK) {
        fprintf(stderr, "bench_linear: %s\n", error.message);
        exit(5);
    }
    for (int32_t i = 0; i < runs; i++) {
        double start = spl_now_ms();
        method->step(state, &context, &pose, r->rest, r->out, &stats, &error);
        best = fmin(best, spl_now_ms() - start);
    }
    method->release(state, &context);
    free(state);
    return best;
}

/* Memory and methods take turns, a few runs each, so that a busy spell of the machine hits them all alike. */
enum { ROUNDS = 5, METHODS_MAX = 16 };

static bool is_measured(const spl_method *method)
{
    return method->output == SPL_OUTPUT_VISUAL && !(method->needs & ~(unsigned)SPL_NEEDS_SKIN);
}

static void measure(const options *o, rig *r, int32_t threads, bool last)
{
    supple_config config = supple_config_default();
    config.thread_count = threads;
    spl_pool *pool;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) exit(5);
    int32_t runs = (o->runs + ROUNDS - 1) / ROUNDS,
            count = spl_method_count() < METHODS_MAX ? spl_method_count() : METHODS_MAX;
    double triad_gbs = 0, ms[METHODS_MAX];
    for (int32_t m = 0; m < count; m++) ms[m] = INFINITY;
    for (int32_t round = 0; round < ROUNDS; round++) {
        triad_gbs = fmax(triad_gbs, measure_triad(pool, o->vertices, runs));
        for (int32_t m = 0; m < count; m++)
            if (is_measured(spl_method_at(m))) ms[m] = fmin(ms[m], measure_method(spl_method_at(m), r, pool, runs));
    }
    printf(o->json ? "  {\"threads\": %d, \"triad_gbs\": %.2f" : "threads %d: triad %.1f GB/s\n", threads, triad_gbs);
    for (int32_t m = 0; m < count; m++) {
        if (!is_measured(spl_method_at(m))) continue;
        const char *name = spl_method_at(m)->name;
        double ns = ms[m] * 1e6 / o->vertices, gbs = BYTES_PER_VERTEX / ns, share = gbs / triad_gbs;
        if (o->json)
            printf(", \"%s\": {\"ns_per_vertex\": %.3f, \"gbs\": %.2f, \"share\": %.3f}", name, ns, gbs, share);
        else
            printf("  %-10s %6.2f ns/vertex  %6.1f GB/s  %5.1f%% of triad\n", name, ns, gbs, 100 * share);
    }
    if (o->json) printf("}%s\n", last ? "" : ",");
    spl_pool_destroy(pool);
}

static options parse(int argc, char **argv)
{
    options o = {.vertices = 1000000, .runs = 100};
    for (int i = 1; i < argc; i++) {
        long value = i + 1 < argc ? strtol(argv[i + 1], NULL, 10) : 0;
        if (!strcmp(argv[i], "--json"))
            o.json = true;
        else if (!strcmp(argv[i], "--scaled"))
            o.scaled = true;
        else if (!strcmp(argv[i], "--threads") && value > 0 && value <= 64 && ++i)
            o.threads = (int32_t)value;
        else if (!strcmp(argv[i], "--vertices") && value > 0 && value <= 100000000 && ++i)
            o.vertices = (int32_t)value;
        else if (!strcmp(argv[i], "--runs") && value > 0 && value <= 100000 && ++i)
            o.runs = (int32_t)value;
        else {
            fprintf(stderr, "usage: bench_linear [--json] [--threads N] [--vertices N] [--runs N] [--scaled]\n");
            exit(2);
        }
    }
    return o;
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    rig *r = make_rig(o.vertices, o.scaled);
    if (o.json) printf("{\"vertices\": %d, \"influences\": %d, \"runs\": [\n", o.vertices, INFLUENCES);
    if (o.threads) {
        measure(&o, r, o.threads, true);
    } else {
        measure(&o, r, 1, false);
        measure(&o, r, 2, true);
    }
    if (o.json) printf("]}\n");
    free_rig(r);
    return 0;
}
