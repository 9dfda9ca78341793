/* The projective paper's figure 5 for a motion that is known: a coarse body of a limb bends, and the fine skin is
 * upsampled by linear and quadratic moving least squares with 8, 16 and 32 neighbours and, the paper's (d), by the
 * corners of the nearest triangle. Errors go to stdout as a table, the picture to a file.
 *
 *     bench_upsample_grid [--quick] [--resolution N] [--picture FILE.png]
 *
 * Errors are against the same motion of the skin itself: of positions in per cent of the limb's radius; of normals in
 * degrees, both those that the upsampling gives and those of the upsampled surface, which show ripples. The picture
 * has the latter, in stripes: where the surface is smooth, so are they. */
#include "body/flesh.h"
#include "body/upsample.h"
#include "core/memory.h"
#include "geom/shading.h"
#include "record.h"
#include "show/font.h"
#include "show/show.h"

#include <supple/tools.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 128, ALONG = 240, VERTICES = (ALONG - 1) * AROUND + 2, TRIANGLES = 2 * AROUND * (ALONG - 1) };
enum { WIDTH = 420, HEIGHT = 330, GAP = 4, COLUMNS = 3, ROWS = 3 };

#define PI      3.14159265358979323846
#define RADIUS  0.2 /* the limb's, where it is thinnest; its bone is 2 long */
#define STRIPES 8.0 /* from one side to the other */

typedef struct mesh {
    double rest[VERTICES][3];
    float rest_float[VERTICES][3], bent[VERTICES][3];         /* bent: by the motion itself */
    float rest_normal[VERTICES][3], bent_normal[VERTICES][3]; /* of the surface */
    float out[VERTICES][3], normal[VERTICES][3],
        own[VERTICES][3]; /* upsampled; own: normals of the upsampled surface */
    float color[VERTICES][3];
    int32_t triangle[TRIANGLES][3];
    spl_shading *shading;
} mesh;

typedef struct body {
    spl_tets tets;
    spl_surface skin;
    spl_vec3 *bent; /* the tetrahedra's vertices */
} body;

typedef struct painter {
    spl_camera camera;
    spl_show_options options;
    spl_pixels sheet;
    spl_pool *pool;
} painter;

static void stop(const char *what, const supple_error *error)
{
    fprintf(stderr, "bench_upsample_grid: %s: %s\n", what, error ? error->message : "out of memory");
    exit(5);
}

static void *room(size_t count, size_t size)
{
    void *p = calloc(count + 1, size);
    if (!p) stop("memory", NULL);
    return p;
}

/* ---- the limb and its motion ------------------------------------------------------------------------------------- */

/* A limb along x, round at its ends, thinner at the joint in the middle: a ring u of 0 to 1, an angle v of 0 to 1. */
static spl_vec3 limb(double u, double v)
{
    double cap = PI / 2 * RADIUS, t = u * (2 + 2 * cap), x = t - cap - 1, r = RADIUS;
    double beyond = fmax(t - cap - 2, cap - t);
    if (beyond > 0) {
        x = copysign(1 + RADIUS * sin(beyond / RADIUS), u - 0.5);
        r = RADIUS * cos(beyond / RADIUS);
    }
    r *= 1 + 0.25 * (1 - exp(-6 * x * x));
    return spl_v3(x, r * cos(2 * PI * v), r * sin(2 * PI * v));
}

/* Bends the middle by 100 degrees: straight, curved for 0.6 of the length, straight. The bone keeps its length and
 * cross sections their shape. */
static spl_vec3 bend(spl_vec3 p)
{
    const double half = 0.3, curvature = 100 * PI / 180 / (2 * half);
    double s = fmin(fmax(p.x, -half), half), a = curvature * s, beyond = p.x - s;
    double x = sin(a) / curvature + beyond * cos(a), y = (1 - cos(a)) / curvature + beyond * sin(a);
    return spl_v3(x - p.y * sin(a), y + p.y * cos(a), p.z);
}

/* Triangles of the rings; a pole at each end. */
static void connect(mesh *m)
{
    int32_t(*t)[3] = m->triangle, last = VERTICES - 1;
    for (int32_t ring = 1; ring < ALONG; ring++)
        for (int32_t k = 0; k < AROUND; k++) {
            int32_t a = 1 + (ring - 1) * AROUND + k, b = 1 + (ring - 1) * AROUND + (k + 1) % AROUND;
            int32_t below = ring > 1 ? b - AROUND : 0, above = ring < ALONG - 1 ? a + AROUND : last;
            memcpy(*t++, (int32_t[]){a, b, below}, sizeof *t);
            memcpy(*t++, (int32_t[]){b, a, above}, sizeof *t);
        }
}

static mesh *make_mesh(void)
{
    mesh *m = room(1, sizeof *m);
    supple_allocator a = spl_allocator_of(NULL);
    for (int32_t v = 0; v < VERTICES; v++) {
        int32_t ring = v == 0 ? 0 : (v - 1) / AROUND + 1, k = v == 0 ? 0 : (v - 1) % AROUND;
        spl_vec3 p = limb((double)ring / ALONG, ring == ALONG ? 0 : (double)k / AROUND);
        memcpy(m->rest[v], &p, sizeof p);
        spl_v3_to_float(p, m->rest_float[v]);
        spl_v3_to_float(bend(p), m->bent[v]);
    }
    connect(m);
    spl_shading_rest rest = {.vertex_count = VERTICES,
                             .position = m->rest_float[0],
                             .triangle_count = TRIANGLES,
                             .triangle = m->triangle[0]};
    if (spl_shading_create(&rest, &a, &m->shading, NULL) != SUPPLE_OK) stop("normals", NULL);
    spl_shading_update_normals(m->shading, NULL, m->rest_float[0], m->rest_normal[0], 12);
    spl_shading_update_normals(m->shading, NULL, m->bent[0], m->bent_normal[0], 12);
    return m;
}

static body make_body(const mesh *m, int32_t resolution, spl_pool *pool)
{
    body b;
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_surface surface;
    spl_flesh_options options = spl_flesh_options_default();
    spl_flesh_report report;
    spl_place *place = NULL;
    options.resolution = resolution;
    if (spl_surface_make(m->rest[0], VERTICES, m->triangle[0], TRIANGLES, &a, &surface, &error) != SUPPLE_OK ||
        spl_flesh_make(&surface, &options, NULL, pool, &a, &b.tets, &place, &report, &error) != SUPPLE_OK ||
        spl_surface_make((const double *)b.tets.position, b.tets.vertex_count, b.tets.surface, b.tets.surface_count, &a,
                         &b.skin, &error) != SUPPLE_OK)
        stop("body", &error);
    spl_free(&a, place);
    spl_surface_release(&surface);
    b.bent = room((size_t)b.tets.vertex_count, sizeof *b.bent);
    for (int32_t v = 0; v < b.tets.vertex_count; v++) b.bent[v] = bend(b.tets.position[v]);
    return b;
}

/* ---- upsampling and its errors ----------------------------------------------------------------------------------- */

static void upsample(mesh *m, const body *b, spl_upsample_kind kind, int32_t k, spl_pool *pool)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_upsample_options options = {kind, k, true};
    spl_upsample_visual visual = {.vertex_count = VERTICES,
                                  .position = m->rest_float[0],
                                  .normal = m->rest_normal[0],
                                  .triangle_count = TRIANGLES,
                                  .triangle = m->triangle[0]};
    spl_upsample *u;
    spl_upsample_frame *f = NULL;
    spl_upsample_target to = {m->out[0], 12, m->normal[0], 12};
    if (spl_upsample_create(&b->skin, &visual, &options, pool, &a, &u, &error) != SUPPLE_OK ||
        spl_upsample_frame_create(u, &a, &f, &error) != SUPPLE_OK)
        stop("weights", &error);
    spl_upsample_apply(u, f, pool, (const double *)b->bent, &to);
    spl_shading_update_normals(m->shading, pool, m->out[0], m->own[0], 12);
    spl_upsample_frame_destroy(f);
    spl_upsample_destroy(u);
}

/* Root mean square and largest of one number a vertex. */
typedef struct spread {
    double square, most;
} spread;

static void note(spread *s, double value)
{
    s->square += value * value / VERTICES;
    s->most = fmax(s->most, value);
}

static double degrees(const float *a, const float *b)
{
    return 2 * asin(fmin(spl_distance(spl_v3_from_float(a), spl_v3_from_float(b)) / 2, 1)) * 180 / PI;
}

static void print_errors(const mesh *m, const char *name)
{
    spread position = {0}, surface = {0}, given = {0};
    for (int32_t v = 0; v < VERTICES; v++) {
        note(&position, spl_distance(spl_v3_from_float(m->out[v]), spl_v3_from_float(m->bent[v])) / RADIUS * 100);
        note(&surface, degrees(m->own[v], m->bent_normal[v]));
        note(&given, degrees(m->normal[v], m->bent_normal[v]));
    }
    const struct {
        const char *quantity;
        double value;
    } numbers[] = {{"position, % of the radius, rms", sqrt(position.square)},
                   {"position, % of the radius, max", position.most},
                   {"surface's normal, degrees, rms", sqrt(surface.square)},
                   {"given normal, degrees, rms", sqrt(given.square)}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        bench_value("figure 5", name, numbers[i].quantity, BENCH_ERROR, numbers[i].value);
    printf("| %s | %.2f | %.1f | %.2f | %.1f | %.2f | %.1f |\n", name, sqrt(position.square), position.most,
           sqrt(surface.square), surface.most, sqrt(given.square), given.most);
    fflush(stdout);
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

static painter make_painter(const mesh *m, spl_pool *pool)
{
    supple_allocator a = spl_allocator_of(NULL);
    painter p = {.pool = pool, .options = spl_show_options_default()};
    spl_framing f = spl_framing_begin(SPL_VIEW_FRONT, WIDTH, HEIGHT, 0.03);
    for (int32_t v = 0; v < VERTICES; v++) /* the joint, and some of the limb on each side */
        if (fabs(m->rest[v][0]) < 0.5) spl_framing_add(&f, spl_v3_from_float(m->bent[v]));
    p.camera = spl_framing_camera(&f);
    p.options.width = WIDTH;
    p.options.height = HEIGHT;
    p.options.ground = p.options.grid = false;
    p.sheet = (spl_pixels){.width = COLUMNS * WIDTH + (COLUMNS - 1) * GAP, .height = ROWS * HEIGHT + (ROWS - 1) * GAP};
    p.sheet.rgba = spl_new(&a, (size_t)p.sheet.width * (size_t)p.sheet.height, 4);
    if (!p.sheet.rgba) stop("picture", NULL);
    memset(p.sheet.rgba, 255, 4 * (size_t)p.sheet.width * (size_t)p.sheet.height);
    return p;
}

static void paint(painter *p, int column, int row, const char *label, const spl_draw *draw, bool wireframe)
{
    static const uint8_t ink[3] = {40, 44, 52};
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_pixels pixels;
    p->options.wireframe = wireframe;
    if (spl_show_draw(draw, 1, &p->camera, &p->options, p->pool, &a, &pixels, &error) != SUPPLE_OK)
        stop("picture", &error);
    size_t width = (size_t)p->sheet.width, x = (size_t)column * (WIDTH + GAP), y = (size_t)row * (HEIGHT + GAP);
    for (size_t i = 0; i < HEIGHT; i++)
        memcpy(p->sheet.rgba + 4 * ((y + i) * width + x), pixels.rgba + 4 * i * WIDTH, 4 * WIDTH);
    spl_pixels_free(&pixels, &a);
    spl_text_draw(&p->sheet, (int32_t)x + 8, (int32_t)y + HEIGHT - 26, 2, ink, label);
}

/* Stripes by the direction of the normal, as a hall of lamps is mirrored: they kink where the normals do. */
static void paint_skin(painter *p, mesh *m, int column, int row, const char *label, const float (*position)[3],
                       const float (*normal)[3])
{
    for (int32_t v = 0; v < VERTICES; v++) {
        double wave = 0.5 + 0.5 * tanh(3 * sin(PI * STRIPES * (double)normal[v][1]));
        for (int c = 0; c < 3; c++) m->color[v][c] = (float)(0.10 + (c == 0 ? 0.62 : c == 1 ? 0.55 : 0.46) * wave);
    }
    spl_draw draw = {.position = position[0],
                     .normal = normal[0],
                     .color = m->color[0],
                     .triangle = m->triangle[0],
                     .triangle_count = TRIANGLES};
    paint(p, column, row, label, &draw, false);
}

static void paint_body(painter *p, const body *b)
{
    float *position = room((size_t)b->tets.vertex_count, 3 * sizeof *position);
    for (int32_t v = 0; v < b->tets.vertex_count; v++) spl_v3_to_float(b->bent[v], position + 3 * v);
    spl_draw draw = {.position = position,
                     .triangle = b->tets.surface,
                     .triangle_count = b->tets.surface_count,
                     .base_color = {0.72F, 0.42F, 0.32F, 1}};
    paint(p, 0, 0, "(a) the body, bent", &draw, true);
    free(position);
}

static void save(const painter *p, const char *path)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    uint8_t *png;
    size_t size;
    if (spl_image_encode_png(&p->sheet, &a, &png, &size, &error) != SUPPLE_OK ||
        supple_bytes_write(path, png, size, &error) != SUPPLE_OK)
        stop(path, &error);
    spl_free(&a, png);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int column, row; /* as in the paper's figure; row -1: not there */
    spl_upsample_kind kind;
    int32_t k;
} cells[] = {{"(d) triangle's corners", 0, 1, SPL_UPSAMPLE_BARYCENTRIC, 20},
             {"(b) linear, k = 8", 1, 0, SPL_UPSAMPLE_LINEAR, 8},
             {"(e) linear, k = 16", 1, 1, SPL_UPSAMPLE_LINEAR, 16},
             {"(h) linear, k = 32", 1, 2, SPL_UPSAMPLE_LINEAR, 32},
             {"(c) quadratic, k = 8", 2, 0, SPL_UPSAMPLE_QUADRATIC, 8},
             {"(f) quadratic, k = 16", 2, 1, SPL_UPSAMPLE_QUADRATIC, 16},
             {"(i) quadratic, k = 32", 2, 2, SPL_UPSAMPLE_QUADRATIC, 32},
             {"quadratic, k = 20 (default)", 0, -1, SPL_UPSAMPLE_QUADRATIC, 20}};

int main(int argc, char **argv)
{
    const char *picture = NULL;
    long resolution = 20;
    supple_config config = supple_config_default();
    supple_error error = {0};
    spl_pool *pool;
    bool quick = bench_begin("upsample_grid", &argc, argv).quick;
    if (quick) resolution = 10;
    for (int i = 1; i < argc; i += 2) {
        if (!strcmp(argv[i], "--picture") && i + 1 < argc)
            picture = argv[i + 1];
        else if (!strcmp(argv[i], "--resolution") && i + 1 < argc)
            resolution = strtol(argv[i + 1], NULL, 10);
        else {
            fprintf(stderr, "usage: bench_upsample_grid [--quick] [--resolution N] [--picture FILE.png]\n");
            return 2;
        }
    }
    if (spl_pool_create(&config, &pool, &error) != SUPPLE_OK) stop("threads", &error);
    mesh *m = make_mesh();
    body b = make_body(m, (int32_t)resolution, pool);
    painter p = make_painter(m, pool);
    printf("%d vertices on a body's surface of %d, bent by 100 degrees\n\n", VERTICES, (int)b.skin.vertex_count);
    printf("| | position, %% of the radius: rms | max | surface's normal, degrees: rms | max | given normal: rms | max "
           "|\n");
    printf("|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < (quick ? 2 : sizeof cells / sizeof *cells); i++) {
        upsample(m, &b, cells[i].kind, cells[i].k, pool);
        print_errors(m, cells[i].name);
        if (picture && cells[i].row >= 0)
            paint_skin(&p, m, cells[i].column, cells[i].row, cells[i].name, (const float(*)[3])m->out,
                       (const float(*)[3])m->own);
    }
    if (picture) {
        paint_body(&p, &b);
        paint_skin(&p, m, 0, 2, "(g) the motion itself", (const float(*)[3])m->bent, (const float(*)[3])m->bent_normal);
        save(&p, picture);
    }
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels_free(&p.sheet, &a);
    spl_shading_destroy(m->shading);
    spl_surface_release(&b.skin);
    spl_tets_release(&b.tets);
    free(b.bent);
    free(m);
    spl_pool_destroy(pool);
    return 0;
}
