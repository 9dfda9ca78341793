#include "body/flesh.h"

#include "core/memory.h"
#include "failing.h"
#include "geom/shapes.h"
#include "test.h"

/* ---- making and judging ---- */

typedef struct body {
    spl_surface surface;
    spl_tets tets;
    spl_place *place;
    spl_flesh_report report;
    supple_result result;
    supple_error error;
} body;

static body make_of(spl_surface surface, int32_t resolution, spl_pool *pool)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_flesh_options options = spl_flesh_options_default();
    options.resolution = resolution;
    body b = {.surface = surface};
    b.result = spl_flesh_make(&b.surface, &options, NULL, pool, &a, &b.tets, &b.place, &b.report, &b.error);
    return b;
}

/* Takes the shape. */
static body make(shape s, int32_t resolution)
{
    spl_surface surface = shape_surface(&s);
    shape_free(&s);
    return make_of(surface, resolution, NULL);
}

static void release(body *b)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_surface_release(&b->surface);
    spl_tets_release(&b->tets);
    spl_free(&a, b->place);
}

/* What holds for every body, by the checks for tets from outside and by its own report. */
static void check_sound(body *b, int32_t components)
{
    if (b->result != SUPPLE_OK) printf("    %s\n", b->error.message);
    REQUIRE(b->result == SUPPLE_OK);
    const spl_tets *t = &b->tets;
    double enclosed = 0; /* by the surface found: closed and outward if it equals the tets' volume */
    for (int32_t i = 0; i < t->surface_count; i++) {
        const int32_t *c = t->surface + 3 * i;
        spl_vec3 origin = t->position[0], p[3];
        for (int k = 0; k < 3; k++) p[k] = spl_sub(t->position[c[k]], origin);
        enclosed += spl_dot(p[0], spl_cross(p[1], p[2])) / 6;
    }
    spl_tets_shape q = spl_tets_quality(t);
    CHECK(q.inverted_count == 0 && q.min_volume > 0);
    CHECK(q.min_dihedral > 10 && q.max_dihedral < 160);
    CHECK_NEAR(enclosed, q.volume, 1e-9 * q.volume);
    CHECK_NEAR(q.volume, b->report.shape.volume, 1e-12 * q.volume);
    for (int32_t v = 0; v < t->vertex_count; v++) {
        const spl_place *p = &b->place[v];
        CHECK(p->triangle >= -1 && p->triangle < b->surface.triangle_count);
        if (p->triangle >= 0) CHECK_NEAR(p->bary[0] + p->bary[1] + p->bary[2], 1, 1e-9);
    }
    spl_tets_report report;
    CHECK(spl_tets_check(&b->tets, "flesh", &report, &b->error) == SUPPLE_OK);
    CHECK(report.reoriented == 0 && report.unused_vertices == 0);
    CHECK(report.component_count == components);
    CHECK(b->report.component_count == components);
}

/* ---- shapes ---- */

/* parameter: radius, height; base at z = 0 */
static spl_vec3 at_cone(double u, double v, const double *p)
{
    double a = 2 * shape_pi * (u == 1 ? 0 : u), r = p[0] * (v < 0.5 ? 2 * v : 2 - 2 * v);
    return spl_v3(r * cos(a), r * sin(a), v <= 0.5 ? 0 : p[1] * (2 * v - 1));
}

/* No symmetry, all spreads different. parameter: none */
static spl_vec3 at_pear(double u, double v, const double *p)
{
    (void)p;
    spl_vec3 q = shape_at_sphere(u, v, (double[]){1, 1});
    double bump = exp(-3 * ((q.x - 0.8) * (q.x - 0.8) + (q.y - 0.5) * (q.y - 0.5) + (q.z - 0.2) * (q.z - 0.2)));
    return spl_v3(2 * q.x * (1 + 0.4 * bump), 1.3 * q.y * (1 + 0.3 * q.x), q.z * (1 + 0.2 * q.x * q.y + 0.2 * q.z));
}

static shape transformed(shape s, const double (*m)[3], spl_vec3 shift)
{
    for (int v = 0; v < s.vertex_count; v++) {
        double *p = s.position + 3 * v, q[3] = {p[0], p[1], p[2]};
        const double d[3] = {shift.x, shift.y, shift.z};
        for (int i = 0; i < 3; i++) p[i] = m[i][0] * q[0] + m[i][1] * q[1] + m[i][2] * q[2] + d[i];
    }
    return s;
}

static shape moved(shape s, double x, double y, double z)
{
    const double one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    return transformed(s, one, spl_v3(x, y, z));
}

static shape inside_out(shape s)
{
    for (int t = 0; t < s.triangle_count; t++) {
        int32_t c = s.triangle[3 * t + 1];
        s.triangle[3 * t + 1] = s.triangle[3 * t + 2];
        s.triangle[3 * t + 2] = c;
    }
    return s;
}

/* Takes both. */
static shape joined(shape a, shape b)
{
    shape s = shape_new(a.vertex_count + b.vertex_count, a.triangle_count + b.triangle_count);
    memcpy(s.position, a.position, 3 * (size_t)a.vertex_count * sizeof(double));
    memcpy(s.position + 3 * a.vertex_count, b.position, 3 * (size_t)b.vertex_count * sizeof(double));
    memcpy(s.triangle, a.triangle, 3 * (size_t)a.triangle_count * sizeof(int32_t));
    for (int i = 0; i < 3 * b.triangle_count; i++)
        s.triangle[3 * a.triangle_count + i] = b.triangle[i] + a.vertex_count;
    shape_free(&a);
    shape_free(&b);
    return s;
}

/* ---- closed forms ---- */

TEST(sphere_converges_to_its_volume)
{
    const int32_t resolution[3] = {8, 16, 32};
    double off[3];
    for (int i = 0; i < 3; i++) {
        body b = make(shape_sphere(64, 1), resolution[i]);
        check_sound(&b, 1);
        off[i] = fabs(b.report.shape.volume / (4.0 / 3 * shape_pi) - 1);
        CHECK_NEAR(b.report.surface_volume, b.surface.volume[0], 1e-12);
        CHECK(b.report.resolution == resolution[i]);
        CHECK_NEAR(b.report.cell, 2.0 / resolution[i], 1e-3);
        CHECK(b.report.mean_distance < 0.1 * b.report.cell && b.report.area_lost == 0);
        release(&b);
    }
    /* Flat faces on a sphere: second order, so each halving brings a factor of nearly four, until the input's own
     * facets show (0.1 % of the volume). */
    CHECK(off[0] < 0.02 && off[1] < off[0] / 3 && off[2] < off[1] / 2 && off[2] < 2.5e-3);
}

TEST(cube_torus_plate_and_cone_have_their_volumes)
{
    const struct {
        shape shape;
        int32_t resolution;
        double volume, within;
    } cases[] = {
        {shape_box(4, 1, 1, 1), 16, 1, 0.03},
        {shape_torus(48, 1, 0.3), 24, 2 * shape_pi * shape_pi * 0.09, 0.03},
        {shape_box(24, 1, 1, 0.1), 24, 0.1, 0.06}, /* 2.4 cells thick: seen as it is */
        {shape_grid(64, 32, at_cone, (double[]){1, 2}), 24, 2 * shape_pi / 3, 0.03},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        body b = make(cases[i].shape, cases[i].resolution);
        check_sound(&b, 1);
        CHECK_NEAR(b.report.shape.volume / cases[i].volume, 1, cases[i].within);
        CHECK(b.report.mean_distance < 0.25 * b.report.cell && b.report.area_lost < 0.01);
        release(&b);
    }
}

TEST(plate_thinner_than_a_cell_is_grown_and_stays_whole)
{
    body b = make(shape_box(24, 1, 1, 0.01), 24);
    check_sound(&b, 1);
    spl_vec3 low = {INFINITY, INFINITY, INFINITY}, high = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t v = 0; v < b.tets.vertex_count; v++) {
        spl_vec3 p = b.tets.position[v];
        low = spl_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = spl_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    CHECK(high.x - low.x > 1 - b.report.cell && high.y - low.y > 1 - b.report.cell);
    CHECK(high.z - low.z < 4 * b.report.cell);
    CHECK(b.report.area_lost < 0.01);
    release(&b);
}

TEST(input_inside_out_gives_the_same_body)
{
    body a = make(shape_sphere(16, 1), 12), b = make(inside_out(shape_sphere(16, 1)), 12);
    check_sound(&a, 1);
    check_sound(&b, 1);
    CHECK(a.tets.tet_count == b.tets.tet_count);
    CHECK_NEAR(a.report.shape.volume, b.report.shape.volume, 1e-9);
    release(&a);
    release(&b);
}

/* ---- what is apart and what is one ---- */

TEST(spheres_that_nearly_touch_stay_two)
{
    double gap = 0.02; /* of a cell of 0.17 */
    body b = make(joined(shape_sphere(24, 1), moved(shape_sphere(24, 1), 2 + gap, 0, 0)), 24);
    check_sound(&b, 2);
    CHECK_NEAR(b.report.shape.volume / (8.0 / 3 * shape_pi), 1, 0.03);
    release(&b);
}

TEST(spheres_that_overlap_are_one)
{
    body b = make(joined(shape_sphere(32, 1), moved(shape_sphere(32, 1), 1, 0, 0)), 24);
    check_sound(&b, 1);
    /* Two balls less their lens, of two caps of height 1/2. */
    double lens = 2 * shape_pi * 0.25 * (3 - 0.5) / 3;
    CHECK_NEAR(b.report.shape.volume / (8.0 / 3 * shape_pi - lens), 1, 0.02);
    /* Each ball's wall inside the other is no surface of the body: it counts neither as far nor as lost. */
    CHECK(b.report.area_lost == 0 && b.report.max_distance < b.report.cell);
    release(&b);
}

/* A solid of the cells (i, j, k) of a grid with given breaks that `filled` takes. */
typedef struct grid {
    const double *at[3];
    int count[3]; /* cells */
    bool (*filled)(double x, double y, double z);
} grid;

static bool cell_filled(const grid *g, const int c[3])
{
    double p[3];
    for (int k = 0; k < 3; k++) {
        if (c[k] < 0 || c[k] >= g->count[k]) return false;
        p[k] = 0.5 * (g->at[k][c[k]] + g->at[k][c[k] + 1]);
    }
    return g->filled(p[0], p[1], p[2]);
}

static void add_side(shape *s, const grid *g, const int c[3], int axis, int out)
{
    int u = (axis + 1) % 3, v = (axis + 2) % 3, first = s->vertex_count;
    for (int i = 0; i < 4; i++) {
        double *p = s->position + 3 * s->vertex_count++;
        p[axis] = g->at[axis][c[axis] + out];
        p[u] = g->at[u][c[u] + (i & 1)];
        p[v] = g->at[v][c[v] + (i >> 1)];
    }
    int32_t quad[6] = {0, out ? 1 : 3, out ? 3 : 1, 0, out ? 3 : 2, out ? 2 : 3};
    for (int i = 0; i < 6; i++) s->triangle[3 * s->triangle_count + i] = first + quad[i];
    s->triangle_count += 2;
}

static shape grid_solid(const grid *g)
{
    int cells = g->count[0] * g->count[1] * g->count[2];
    shape s = shape_new(24 * cells, 12 * cells);
    s.vertex_count = s.triangle_count = 0;
    for (int n = 0; n < cells; n++) {
        int c[3] = {n % g->count[0], n / g->count[0] % g->count[1], n / g->count[0] / g->count[1]};
        for (int side = 0; cell_filled(g, c) && side < 6; side++) {
            int next[3] = {c[0], c[1], c[2]}, axis = side / 2, out = side % 2;
            next[axis] += out ? 1 : -1;
            if (!cell_filled(g, next)) add_side(&s, g, c, axis, out);
        }
    }
    return s;
}

enum { COMB_LENGTH = 60 }; /* cells of the surface along it */
static const double finger_low = 0.0625, finger_high = 0.2125, palm_end = 2, comb_end = 6;

static bool in_comb(double x, double y, double z)
{
    return y < palm_end || (fabs(z) < 0.075 && fabs(x) > finger_low && fabs(x) < finger_high);
}

/* A palm 2 x 2 x 1/2 with two fingers, 4 long: at 24 cells along the longest axis, 0.6 cells thick and half a cell
 * apart. */
static shape comb(void)
{
    double y[COMB_LENGTH + 1];
    for (int i = 0; i <= COMB_LENGTH; i++) y[i] = comb_end * i / COMB_LENGTH;
    const double x[] = {-1,     -0.8,        -0.6, -0.4, -finger_high, -0.1375, -finger_low, 0, finger_low,
                        0.1375, finger_high, 0.4,  0.6,  0.8,          1};

    const double z[] = {-0.25, -0.075, 0, 0.075, 0.25};
    grid g = {{x, y, z}, {14, COMB_LENGTH, 4}, in_comb};
    return grid_solid(&g);
}

/* Shortest ways along edges of tets from one vertex to all, by relaxing until nothing changes. */
static double *ways_from(const spl_tets *t, int32_t start)
{
    double *way = malloc((size_t)t->vertex_count * sizeof *way);
    for (int32_t v = 0; v < t->vertex_count; v++) way[v] = v == start ? 0 : INFINITY;
    for (bool again = true; again;) {
        again = false;
        for (int32_t i = 0; i < 16 * t->tet_count; i++) {
            int32_t a = t->tet[i / 16 * 4 + i % 4], b = t->tet[i / 16 * 4 + i / 4 % 4];
            double through = way[a] + spl_norm(spl_sub(t->position[a], t->position[b]));
            if (through < way[b]) {
                way[b] = through;
                again = true;
            }
        }
    }
    return way;
}

/* The vertex farthest along y of the limb on one side. */
static int32_t tip_of(const body *b, double side)
{
    int32_t best = -1;
    for (int32_t v = 0; v < b->tets.vertex_count; v++) {
        if (b->place[v].triangle < 0 || spl_surface_point(&b->surface, &b->place[v]).x * side <= 0) continue;
        if (best < 0 || b->tets.position[v].y > b->tets.position[best].y) best = v;
    }
    return best;
}

TEST(thin_fingers_half_a_cell_apart_do_not_fuse)
{
    body b = make(comb(), 24);
    check_sound(&b, 1);
    CHECK(b.surface.component_count == 1 && b.surface.closed_components == 1);
    CHECK(b.surface.nonmanifold_edges == 0);
    int32_t left = tip_of(&b, -1), right = tip_of(&b, 1);
    REQUIRE(left >= 0 && right >= 0);
    CHECK(b.tets.position[left].y > comb_end - b.report.cell && b.tets.position[right].y > comb_end - b.report.cell);
    double *way = ways_from(&b.tets, left);
    CHECK(isfinite(way[right]) && way[right] > 0.7 * 2 * (comb_end - palm_end));
    CHECK(b.report.area_lost < 0.01);
    printf("    comb: %d tets, %.3f over the palm, %.3f by the edges\n", (int)b.tets.tet_count,
           2 * (comb_end - palm_end), way[right]);
    free(way);
    release(&b);
}

/* ---- the frame, threads, memory, refusals ---- */

static void random_rotation(double m[3][3])
{
    double q[4], n = 0;
    for (int i = 0; i < 4; i++) q[i] = shape_random();
    for (int i = 0; i < 4; i++) n += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] /= sqrt(n);
    double w = q[0], x = q[1], y = q[2], z = q[3];
    const double r[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                            {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                            {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(m, r, sizeof r);
}

/* Takes the shape. */
static void check_frame(shape given, int rounds)
{
    spl_surface own = shape_surface(&given);
    body first = make_of(own, 20, NULL);
    check_sound(&first, 1);
    double ratio = first.report.shape.volume / first.surface.volume[0], size = first.surface.diagonal;
    for (int i = 0; i < rounds; i++) {
        double m[3][3], scale = i % 3 == 0 ? 1e-3 : i % 3 == 1 ? 1e3 : 1;
        random_rotation(m);
        for (int k = 0; k < 9; k++) m[k / 3][k % 3] *= scale;
        spl_vec3 shift = i < 2 ? spl_v3(0, 0, 0) : shape_random_point(10 * size * scale);
        shape copy = shape_new(given.vertex_count, given.triangle_count);
        memcpy(copy.position, given.position, 3 * (size_t)given.vertex_count * sizeof(double));
        memcpy(copy.triangle, given.triangle, 3 * (size_t)given.triangle_count * sizeof(int32_t));
        body b = make(transformed(copy, m, shift), 20);
        check_sound(&b, 1);
        CHECK(b.tets.tet_count == first.tets.tet_count && b.tets.vertex_count == first.tets.vertex_count);
        CHECK_NEAR(b.report.shape.volume / b.surface.volume[0] / ratio, 1, 1e-6);
        CHECK_NEAR(b.report.cell / scale / first.report.cell, 1, 1e-6);
        release(&b);
    }
    release(&first);
    shape_free(&given);
}

TEST(scale_place_and_rotation_change_nothing_but_the_frame)
{
    srand(5);
    check_frame(shape_grid(48, 24, at_pear, NULL), 12);
    check_frame(shape_character("quadruped.glb"), 5); /* mirror symmetry; the hero has limbs that are grown too */
    check_frame(shape_character("hero.glb"), 5);
}

TEST(every_number_of_threads_gives_the_same_bits)
{
    body first = {0};
    const int32_t threads[3] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        supple_config config = supple_config_default();
        config.thread_count = threads[i];
        spl_pool *pool;
        REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        shape s = comb();
        body b = make_of(shape_surface(&s), 24, pool);
        shape_free(&s);
        spl_pool_destroy(pool);
        REQUIRE(b.result == SUPPLE_OK);
        if (i == 0) {
            first = b;
            continue;
        }
        const spl_tets *t = &first.tets;
        size_t n = (size_t)t->vertex_count;
        REQUIRE(b.tets.vertex_count == t->vertex_count && b.tets.tet_count == t->tet_count);
        CHECK(memcmp(b.tets.position, t->position, n * sizeof *t->position) == 0);
        CHECK(memcmp(b.tets.tet, t->tet, 4 * (size_t)t->tet_count * sizeof *t->tet) == 0);
        for (size_t v = 0; v < n; v++)
            CHECK(b.place[v].triangle == first.place[v].triangle &&
                  memcmp(b.place[v].bary, first.place[v].bary, sizeof b.place[v].bary) == 0);
        release(&b);
    }
    release(&first);
}

static void count_tangles(void *user, supple_log_level level, const char *message)
{
    *(int *)user += level == SUPPLE_LOG_WARNING && strstr(message, "tangle") != NULL;
}

/* A closed surface whose vertices are anywhere: growing its slivers ends, in a line, before it multiplies the body
 * again and again. */
TEST(a_tangle_is_not_grown_for_ever)
{
    shape s = shape_sphere(9, 1);
    int told = 0;
    for (int v = 0; v < s.vertex_count; v++) { /* vertices at one place stay together, and it closed */
        uint64_t state = 1;
        for (int i = 0; i < 6; i++) {
            if (i < 3) state += (uint64_t)(int64_t)lround(1e6 * s.position[3 * v + i]);
            state = state * 6364136223846793005U + 1442695040888963407U;
            if (i >= 3) s.position[3 * v + i - 3] = 2 * ((double)(state >> 11) * 0x1p-53) - 1;
        }
    }
    spl_surface surface = shape_surface(&s);
    shape_free(&s);
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    spl_flesh_options options = spl_flesh_options_default();
    body b = {.surface = surface};
    config.log = count_tangles;
    config.log_user = &told;
    options.resolution = 10;
    b.result = spl_flesh_make(&b.surface, &options, &config, NULL, &a, &b.tets, &b.place, &b.report, &b.error);
    printf("    %d passes, %d tets\n", (int)b.report.passes, (int)b.tets.tet_count);
    CHECK(b.result == SUPPLE_OK && b.report.passes < 5 && told == 1);
    release(&b);
}

TEST(memory_running_out_anywhere_is_an_error_without_a_leak)
{
    shape s = shape_box(3, 1, 0.1, 0.1); /* thin: grown, in several passes */
    spl_surface surface = shape_surface(&s);
    spl_flesh_options options = spl_flesh_options_default();
    options.resolution = 8;
    bool done = false;
    int survived = 0;
    for (long n = 0; !done && n < 2000; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_tets tets;
        spl_place *place;
        spl_flesh_report report;
        supple_error error = {0};
        supple_result result = spl_flesh_make(&surface, &options, NULL, NULL, &a, &tets, &place, &report, &error);
        done = f.requests <= n;
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        survived += result == SUPPLE_OK && !done;
        if (result != SUPPLE_OK) CHECK(tets.tet_count == 0 && !tets.position && !place && error.message[0] != 0);
        spl_tets_release(&tets);
        spl_free(&a, place);
        CHECK(f.live == 0);
    }
    CHECK(done);
    CHECK(survived <= 12); /* a tree's block that cannot be made smaller does no harm */
    spl_surface_release(&surface);
    shape_free(&s);
}

static void check_refused(shape s, int32_t resolution, supple_result result, const char *word)
{
    body b = make(s, resolution);
    CHECK(b.result == result);
    CHECK(b.tets.tet_count == 0 && b.tets.position == NULL && b.place == NULL);
    CHECK(strstr(b.error.message, word) != NULL);
    if (!strstr(b.error.message, word)) printf("    '%s' without '%s'\n", b.error.message, word);
    release(&b);
}

TEST(what_has_no_inside_is_refused_with_the_reason)
{
    check_refused(shape_new(0, 0), 16, SUPPLE_ERROR_INPUT, "no surface");
    check_refused(shape_grid(8, 8, shape_at_plane, (double[]){1, 1}), 16, SUPPLE_ERROR_INPUT, "flat");
    check_refused(shape_box(4, 1, 1, 0), 0, SUPPLE_ERROR_INPUT, "flat");
}

TEST(resolutions_out_of_range_are_refused)
{
    const int32_t bad[] = {3, 1, -1, 2001, 1000000};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_refused(shape_box(2, 1, 1, 1), bad[i], SUPPLE_ERROR_ARGUMENT, "resolution");
    check_refused(shape_box(2, 1, 1, 1), 2000, SUPPLE_ERROR_ARGUMENT, "--resolution"); /* too fine for memory */
    body b = make(shape_box(2, 1, 1, 1), 4);
    check_sound(&b, 1);
    release(&b);
}

/* ---- characters ---- */

static void check_character(const char *name)
{
    shape s = shape_character(name);
    supple_config config = supple_config_default();
    spl_pool *pool;
    REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
    body b = make_of(shape_surface(&s), 0, pool);
    shape_free(&s);
    spl_pool_destroy(pool);
    const spl_flesh_report *r = &b.report;
    printf("    %s: %d tets, %d passes, dihedral %.1f..%.1f, volume %.4f, distance %.3f cell, lost %.5f, %d of %d\n",
           name, (int)b.tets.tet_count, (int)r->passes, r->shape.min_dihedral, r->shape.max_dihedral,
           r->shape.volume / r->surface_volume, r->mean_distance / r->cell, r->area_lost, (int)r->component_count,
           (int)b.surface.component_count);
    check_sound(&b, 1);
    CHECK(isfinite(r->surface_volume)); /* they are closed */
    CHECK_NEAR(r->shape.volume / r->surface_volume, 1, 0.03);
    CHECK(r->mean_distance < 0.25 * r->cell && r->area_lost < 0.01);
    CHECK(b.tets.tet_count < 66000);
    release(&b);
}

TEST(small_characters_get_sound_bodies_at_the_automatic_resolution)
{
    check_character("quadruped.glb");
    check_character("figure.glb");
}
TEST(a_hand_gets_a_sound_body_at_the_automatic_resolution)
{
    check_character("hand.glb");
}
TEST(the_hero_gets_a_sound_body_at_the_automatic_resolution)
{
    check_character("demo:hero");
}
TEST(a_person_gets_a_sound_body_at_the_automatic_resolution)
{
    check_character("person.glb");
}

TEST_CASES(RUN(a_tangle_is_not_grown_for_ever), RUN(sphere_converges_to_its_volume),
           RUN(cube_torus_plate_and_cone_have_their_volumes), RUN(plate_thinner_than_a_cell_is_grown_and_stays_whole),
           RUN(input_inside_out_gives_the_same_body), RUN(spheres_that_nearly_touch_stay_two),
           RUN(spheres_that_overlap_are_one), RUN(thin_fingers_half_a_cell_apart_do_not_fuse),
           RUN(scale_place_and_rotation_change_nothing_but_the_frame), RUN(every_number_of_threads_gives_the_same_bits),
           RUN(memory_running_out_anywhere_is_an_error_without_a_leak),
           RUN(what_has_no_inside_is_refused_with_the_reason), RUN(resolutions_out_of_range_are_refused),
           RUN(small_characters_get_sound_bodies_at_the_automatic_resolution),
           RUN(a_hand_gets_a_sound_body_at_the_automatic_resolution),
           RUN(the_hero_gets_a_sound_body_at_the_automatic_resolution),
           RUN(a_person_gets_a_sound_body_at_the_automatic_resolution))
