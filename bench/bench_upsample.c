/* Upsampling: time of the weights and of a frame, from a torus of about 4.6k vertices to one of 23k (the sizes of the
 * paper's larger characters), by number of threads. */
#include "body/upsample.h"
#include "core/memory.h"
#include "core/timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    int32_t body, visual, neighbours, runs, threads;
    bool json;
} options;

typedef struct torus {
    int32_t vertex_count, triangle_count;
    double *position;
    float *rounded, *normal;
    int32_t *triangle;
} torus;

static void *room(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (!block) exit(5);
    return block;
}

static void place(torus *t, size_t v, double a, double b)
{
    const double large = 1, small = 0.4, n[3] = {cos(b) * cos(a), cos(b) * sin(a), sin(b)};
    for (size_t i = 0; i < 3; i++) {
        double centre = i == 0 ? large * cos(a) : i == 1 ? large * sin(a) : 0;
        t->position[3 * v + i] = centre + small * n[i];
        t->rounded[3 * v + i] = (float)t->position[3 * v + i];
        t->normal[3 * v + i] = (float)n[i];
    }
}

/* About `count` vertices, triangles nearly equilateral. */
static torus make_torus(int32_t count)
{
    const double pi = 3.14159265358979323846;
    int32_t small = (int32_t)sqrt(count * 0.4), large = count / small;
    size_t n = (size_t)small * (size_t)large;
    torus t = {small * large,
               2 * small * large,
               room(3 * n, sizeof(double)),
               room(3 * n, sizeof(float)),
               room(3 * n, sizeof(float)),
               room(6 * n, sizeof(int32_t))};
    int32_t *to = t.triangle;
    for (int32_t i = 0; i < large; i++)
        for (int32_t j = 0; j < small; j++) {
            int32_t down = (i + 1) % large, right = (j + 1) % small;
            int32_t a = i * small + j, b = down * small + j, c = down * small + right, d = i * small + right;
            int32_t quad[6] = {a, b, c, a, c, d};
            memcpy(to, quad, sizeof quad);
            to += 6;
            place(&t, (size_t)a, 2 * pi * i / large, 2 * pi * j / small);
        }
    return t;
}

static void free_torus(torus *t)
{
    free(t->position);
    free(t->rounded);
    free(t->normal);
    free(t->triangle);
}

static spl_upsample *create(const options *o, const spl_surface *surface, const torus *visual, spl_pool *pool,
                            double *ms)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_upsample_visual mesh = {.vertex_count = visual->vertex_count,
                                .position = visual->rounded,
                                .normal = visual->normal,
                                .triangle_count = visual->triangle_count,
                                .triangle = visual->triangle};
    spl_upsample_options settings = spl_upsample_options_default();
    settings.neighbours = o->neighbours;
    spl_upsample *u;
    supple_error error = {0};
    double start = spl_now_ms();
    if (spl_upsample_create(surface, &mesh, &settings, pool, &a, &u, &error) != SUPPLE_OK) {
        fprintf(stderr, "bench_upsample: %s\n", error.message);
        exit(5);
    }
    *ms = spl_now_ms() - start;
    return u;
}

static void measure(const options *o, const torus *body, const spl_surface *surface, const torus *visual,
                    int32_t threads, bool last)
{
    supple_config config = supple_config_default();
    supple_allocator a = spl_allocator_of(NULL);
    config.thread_count = threads;
    spl_pool *pool;
    spl_upsample_frame *frame;
    double weights, positions = INFINITY, both = INFINITY;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) exit(5);
    spl_upsample *u = create(o, surface, visual, pool, &weights);
    if (spl_upsample_frame_create(u, &a, &frame, NULL) != SUPPLE_OK) exit(5);
    float *out = room((size_t)visual->vertex_count * 6, sizeof(float));
    spl_upsample_target to = {out, 12, NULL, 12};
    for (int32_t i = 0; i < 2 * o->runs; i++) {
        to.normal = i % 2 ? out + 3 * (size_t)visual->vertex_count : NULL;
        double start = spl_now_ms();
        spl_upsample_apply(u, frame, pool, body->position, &to);
        double ms = spl_now_ms() - start;
        if (i % 2)
            both = fmin(both, ms);
        else
            positions = fmin(positions, ms);
    }
    printf(o->json ? "  {\"threads\": %d, \"weights_ms\": %.1f, \"positions_ms\": %.4f, \"with_normals_ms\": %.4f}%s\n"
                   : "threads %d: weights %.1f ms; a frame %.3f ms, with normals %.3f ms%s\n",
           threads, weights, positions, both, o->json && !last ? "," : "");
    free(out);
    spl_upsample_frame_destroy(frame);
    spl_upsample_destroy(u);
    spl_pool_destroy(pool);
}

static options parse(int argc, char **argv)
{
    options o = {.body = 4651, .visual = 23000, .neighbours = 20, .runs = 200};
    struct {
        const char *name;
        int32_t *value;
        long least, most;
    } flags[] = {{"--body", &o.body, 100, 1000000},
                 {"--visual", &o.visual, 100, 10000000},
                 {"--neighbours", &o.neighbours, 3, SPL_UPSAMPLE_MOST_NEIGHBOURS},
                 {"--runs", &o.runs, 1, 100000},
                 {"--threads", &o.threads, 1, 64}};
    for (int i = 1; i < argc; i++) {
        bool known = !strcmp(argv[i], "--json");
        long value = i + 1 < argc ? strtol(argv[i + 1], NULL, 10) : -1;
        o.json = o.json || known;
        for (size_t f = 0; !known && f < sizeof flags / sizeof *flags; f++) {
            if (strcmp(argv[i], flags[f].name) != 0 || value < flags[f].least || value > flags[f].most) continue;
            *flags[f].value = (int32_t)value;
            known = true;
            i++;
        }
        if (known) continue;
        fprintf(stderr, "usage: bench_upsample [--json] [--threads N] [--body N] [--visual N] [--neighbours N] "
                        "[--runs N]\n");
        exit(2);
    }
    return o;
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    torus body = make_torus(o.body), visual = make_torus(o.visual);
    supple_allocator a = spl_allocator_of(NULL);
    spl_surface surface;
    if (spl_surface_make(body.position, body.vertex_count, body.triangle, body.triangle_count, &a, &surface, NULL) !=
        SUPPLE_OK)
        return 5;
    printf(o.json ? "{\"body\": %d, \"visual\": %d, \"neighbours\": %d, \"runs\": [\n"
                  : "body %d vertices, visual %d, k = %d\n",
           body.vertex_count, visual.vertex_count, o.neighbours);
    if (o.threads) {
        measure(&o, &body, &surface, &visual, o.threads, true);
    } else {
        measure(&o, &body, &surface, &visual, 1, false);
        measure(&o, &body, &surface, &visual, 2, true);
    }
    if (o.json) printf("]}\n");
    spl_surface_release(&surface);
    free_torus(&body);
    free_torus(&visual);
    return 0;
}
