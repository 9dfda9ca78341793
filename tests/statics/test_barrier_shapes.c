/* Shapes that are all contact, by the barrier of contact/barrier.h: a knot and a fist. */
#include "contact/crossings.h"
#include "statics/watched.h"

/* Flesh in play: a barrier that is watched, a solver, and where the held vertices are to go next. */
typedef struct play {
    flesh f;
    spl_pool *pool;
    barrier_mesh m;
    watched w;
    spl_statics *s;
    double *goal, *carry;
    int steps, arrived, touching; /* of these steps */
    int32_t crossings;            /* of edges and triangles at the ends of steps, all of them looked at */
} play;

static void play_begin(play *p, flesh f, double width)
{
    *p = (play){.f = f, .pool = pool_of(2), .m = mesh_of(&f, f.vertex_count)};
    size_t bytes = 3 * (size_t)f.vertex_count * sizeof(double);
    spl_barrier_options barrier = spl_barrier_options_default();
    spl_statics_options solver = spl_statics_options_default();
    barrier.width = width;
    solver.tolerance = 1e-6;
    solver.still = 1e-4;
    for (int32_t v = 0; v < f.vertex_count; v++) p->m.stiffness[v] = 100; /* Young's modulus times a cell */
    p->w = watch(&p->m, &barrier, p->pool);
    p->s = flesh_solver(&p->f, &solver, p->pool);
    p->goal = memcpy(malloc(bytes), f.rest, bytes);
    p->carry = calloc(1, bytes);
}

/* To the goal; the barrier's pairs are then those of x. */
static void play_step(play *p)
{
    double energy;
    p->steps++;
    p->arrived += push(&p->f, p->s, &p->w, p->goal, p->carry, p->f.x) > 0;
    if (p->steps % test_size(1, 6) == 0)
        p->crossings += crossings_count(p->f.x, p->m.triangle, p->m.surface.triangle_count);
    CHECK(spl_barrier_measure(p->w.barrier, p->f.x, &energy) && isfinite(energy));
    p->touching += spl_barrier_look(p->w.barrier).pairs > 0;
}

static void play_check(const play *p)
{
    printf("    %d tets, %d looks, touching in %d of %d steps, %d pairs\n", (int)p->f.tet_count, (int)p->w.looks,
           p->touching, p->steps, (int)spl_barrier_look(p->w.barrier).pairs);
    CHECK(p->w.crossings == 0 && p->w.infinite == 0 && p->w.looks > 100);
    CHECK(p->crossings == 0);
    CHECK(p->arrived == p->steps);
    CHECK(spl_barrier_look(p->w.barrier).gap > 0);
}

static void play_end(play *p)
{
    free(p->goal);
    free(p->carry);
    unwatch(&p->w);
    spl_statics_destroy(p->s);
    barrier_mesh_free(&p->m);
    flesh_free(&p->f);
    spl_pool_destroy(p->pool);
}

/* ---- a knot ---- */

enum { KNOT_POINTS = 21, KNOT_TAIL = 4, KNOT_CELLS = 52, KNOT_FINE = 40 };
static const double KNOT_THICK = 0.018; /* of its length, which is 1 m */

/* A loose overhand knot: a trefoil that is open below, its ends led away along x and -x. */
static spl_vec3 knot_point(int i)
{
    static const spl_vec3 tail[KNOT_TAIL] = {{6.5, -4, 0}, {4.8, -4, 0}, {3.1, -3.9, 0}, {1.7, -3.2, 0.5}};
    if (i < KNOT_TAIL) return tail[i < 0 ? 0 : i];
    if (i >= KNOT_POINTS - KNOT_TAIL) {
        spl_vec3 p = tail[i < KNOT_POINTS ? KNOT_POINTS - 1 - i : 0];
        return spl_v3(-p.x, p.y, -p.z);
    }
    double t = M_PI + 0.6 + (2 * M_PI - 1.2) * (i - KNOT_TAIL) / (KNOT_POINTS - 2 * KNOT_TAIL - 1);
    return spl_v3(sin(t) + 2 * sin(2 * t), cos(t) - 2 * cos(2 * t), -sin(3 * t));
}

/* The curve through these points (Catmull and Rom). */
static spl_vec3 knot_curve(double at)
{
    int i = (int)fmin(at, KNOT_POINTS - 2);
    double u = at - i;
    double weight[4] = {u * (-1 + u * (2 - u)), 2 + u * u * (3 * u - 5), u * (1 + u * (4 - 3 * u)), u * u * (u - 1)};
    spl_vec3 sum = spl_v3(0, 0, 0);
    for (int k = 0; k < 4; k++) sum = spl_add(sum, spl_scale(knot_point(i - 1 + k), 0.5 * weight[k]));
    return sum;
}

/* Places on it, as far from each other along it, 1 m in all. */
static void knot_line(spl_vec3 *line)
{
    enum { N = KNOT_FINE * (KNOT_POINTS - 1) };
    double way[N + 1] = {0};
    for (int i = 0; i < N; i++)
        way[i + 1] = way[i] + spl_distance(knot_curve(i / (double)KNOT_FINE), knot_curve((i + 1) / (double)KNOT_FINE));
    for (int k = 0, i = 0; k <= KNOT_CELLS; k++) {
        double goal = way[N] * k / KNOT_CELLS;
        while (i < N - 1 && way[i + 1] < goal) i++;
        double at = (i + (goal - way[i]) / (way[i + 1] - way[i])) / KNOT_FINE;
        line[k] = spl_scale(knot_curve(at), 1 / way[N]);
    }
}

/* A bar of square section along it, its sides turned as little as possible from place to place. */
static flesh knot_bar(void)
{
    spl_vec3 line[KNOT_CELLS + 1], side = spl_v3(0, 0, 1);
    flesh f = flesh_box(KNOT_CELLS, 1, 1, 1, KNOT_THICK, KNOT_THICK, 0);
    knot_line(line);
    for (int k = 0; k <= KNOT_CELLS; k++) {
        spl_vec3 along = spl_unit(spl_sub(line[k < KNOT_CELLS ? k + 1 : k], line[k > 0 ? k - 1 : k]), side);
        side = spl_unit(spl_sub(side, spl_scale(along, spl_dot(side, along))), side);
        spl_vec3 other = spl_cross(side, along);
        for (int c = 0; c < 4; c++) {
            int32_t v = k + (KNOT_CELLS + 1) * c;
            spl_vec3 p = spl_add(line[k], spl_add(spl_scale(other, KNOT_THICK * (c % 2 - 0.5)),
                                                  spl_scale(side, KNOT_THICK * (c / 2 - 0.5))));
            memcpy(f.rest + 3 * v, &p, sizeof p);
            if (k < 3) f.held[v] = 0;
            if (k > KNOT_CELLS - 3) f.held[v] = 1;
        }
    }
    spl_elements_release(&f.elements);
    flesh_finish(&f);
    return f;
}

/* How far the middle half of the bar reaches in y and z, in thicknesses. */
static void knot_size(const flesh *f, double size[2])
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int32_t v = 0; v < f->vertex_count; v++) {
        int k = v % (KNOT_CELLS + 1);
        for (int c = 0; c < 2 && k >= KNOT_CELLS / 4 && k <= 3 * KNOT_CELLS / 4; c++) {
            low[c] = fmin(low[c], f->x[3 * v + 1 + c]);
            high[c] = fmax(high[c], f->x[3 * v + 1 + c]);
        }
    }
    for (int c = 0; c < 2; c++) size[c] = (high[c] - low[c]) / KNOT_THICK;
}

/* What passes through itself is straight in the end, and no wider than it is thick. */
TEST(a_tube_that_is_pulled_into_a_knot_never_crosses_itself)
{
    enum { STEPS = 20 };
    play p;
    double loose[2], tight[2];
    play_begin(&p, knot_bar(), 0.1 * KNOT_THICK);
    CHECK(crossings_count(p.f.x, p.m.triangle, p.m.surface.triangle_count) == 0);
    knot_size(&p.f, loose);
    for (int k = 1; k <= STEPS; k++) {
        for (int32_t v = 0; v < p.f.vertex_count; v++)
            if (p.f.held[v] >= 0) p.goal[3 * v] = p.f.rest[3 * v] + (p.f.held[v] == 0 ? 0.34 : -0.34) * k / STEPS;
        play_step(&p);
    }
    knot_size(&p.f, tight);
    play_check(&p);
    printf("    from %.1f x %.1f to %.1f x %.1f thicknesses\n", loose[0], loose[1], tight[0], tight[1]);
    CHECK(p.touching > STEPS / 2 && spl_barrier_look(p.w.barrier).pairs > 20);
    CHECK(tight[0] > 2 && tight[1] > 2 && tight[0] * tight[1] < 0.6 * loose[0] * loose[1]);
    play_end(&p);
}

/* ---- a fist ---- */

enum { PALM = 5, PART = 3, ALONG = PALM + 3 * PART, FINGERS = 4, ACROSS = 3 * FINGERS - 1, DEEP = 2 }; /* cells */
static const double CELL = 0.008, WIDE = 0.007, GAP = 0.002;                                           /* metres */

static bool fist_has(int i, int j)
{
    return i < PALM || j % 3 != 2;
}

/* Where a vertex of the box of cells is: knuckles at x = 0, fingers along x, their middles at z = 0. */
static spl_vec3 fist_place(int i, int j, int k)
{
    double y = (j / 3) * (2 * WIDE + GAP) + (j % 3) * WIDE;
    return spl_v3(CELL * (i - PALM), y, WIDE * (k - 1));
}

/* The part of the hand that holds a vertex inside: 0 the palm, then three of each finger; -1: none. */
static int32_t fist_bone(int i, int j, int k)
{
    if (k != 1) return -1;
    if (i < PALM) return i > 0 && j > 0 && j < ACROSS ? 0 : -1;
    int at = (i - PALM) % PART;
    return j % 3 == 1 && at != 0 && i < ALONG ? 1 + (i - PALM) / PART : -1;
}

static flesh fist_make(void)
{
    flesh box = flesh_box(ALONG, ACROSS, DEEP, 1, 1, 1, 0), f = flesh_new(box.vertex_count, box.tet_count);
    int32_t *of = malloc((size_t)box.vertex_count * sizeof *of);
    for (int32_t v = 0; v < box.vertex_count; v++) of[v] = -1;
    f.vertex_count = f.tet_count = 0;
    for (int32_t t = 0; t < box.tet_count; t++) {
        if (!fist_has(t / 6 % ALONG, t / 6 / ALONG % ACROSS)) continue;
        for (int c = 0; c < 4; c++) {
            int32_t v = box.tet[4 * t + c];
            if (of[v] < 0) of[v] = f.vertex_count++;
            f.tet[4 * f.tet_count + c] = of[v];
        }
        f.tet_count++;
    }
    for (int32_t v = 0; v < box.vertex_count; v++) {
        int i = v % (ALONG + 1), j = v / (ALONG + 1) % (ACROSS + 1), k = v / (ALONG + 1) / (ACROSS + 1);
        if (of[v] < 0) continue;
        spl_vec3 p = fist_place(i, j, k);
        memcpy(f.rest + 3 * of[v], &p, sizeof p);
        f.held[of[v]] = fist_bone(i, j, k);
    }
    free(of);
    flesh_free(&box);
    flesh_finish(&f);
    return f;
}

/* A point of the rest shape as parts 1 to `part` of its finger take it: each turns about its joint. */
static spl_vec3 fist_turn(spl_vec3 p, int part, const double *angle)
{
    for (; part > 0; part--) {
        double joint = CELL * PART * (part - 1), x = p.x - joint, c = cos(angle[part - 1]), s = sin(angle[part - 1]);
        p = spl_v3(joint + c * x + s * p.z, p.y, c * p.z - s * x);
    }
    return p;
}

/* The hand, its joints turned by so much: vertices between two parts go half with each. */
static void fist_pose(const flesh *f, const double *angle, double *x)
{
    for (int32_t v = 0; v < f->vertex_count; v++) {
        spl_vec3 p = spl_v3(f->rest[3 * v], f->rest[3 * v + 1], f->rest[3 * v + 2]);
        double part = 1 + p.x / (CELL * PART);
        int low = (int)fmax(0, floor(part - 1e-6)), high = (int)fmin(3, fmax(0, floor(part + 1e-6)));
        p = spl_lerp(fist_turn(p, low, angle), fist_turn(p, high, angle), 0.5);
        memcpy(x + 3 * v, &p, sizeof p);
    }
}

/* Of the pairs that touch: how many a finger's last part has with the palm. */
static void fist_tips(const play *p, int32_t tip[FINGERS])
{
    for (int32_t i = 0; i < spl_barrier_look(p->w.barrier).pairs; i++) {
        const int32_t *v = spl_barrier_active(p->w.barrier, i)->pair.v;
        const double *a = p->f.rest + 3 * v[0], *b = p->f.rest + 3 * v[3];
        const double *outer = a[0] > b[0] ? a : b, *inner = a[0] > b[0] ? b : a;
        if (outer[0] > 2 * PART * CELL - 1e-6 && inner[0] < 1e-6) tip[(int)((outer[1] + 1e-6) / (2 * WIDE + GAP))]++;
    }
}

TEST(a_hand_that_becomes_a_fist_never_crosses_itself)
{
    enum { STEPS = 18 }; /* of 5 degrees, and 3.7 for the last joints */
    play p;
    int32_t tip[FINGERS] = {0};
    play_begin(&p, fist_make(), 0.05 * WIDE);
    CHECK(crossings_count(p.f.x, p.m.triangle, p.m.surface.triangle_count) == 0);
    for (int k = 1; k <= STEPS; k++) {
        double angle[3] = {0.5 * M_PI * k / STEPS, 0.5 * M_PI * k / STEPS, 0.36 * M_PI * k / STEPS};
        for (int32_t i = 0; i < 3 * p.f.vertex_count; i++) p.carry[i] = -p.goal[i];
        fist_pose(&p.f, angle, p.goal);
        for (int32_t i = 0; i < 3 * p.f.vertex_count; i++) p.carry[i] += p.goal[i];
        play_step(&p);
    }
    play_check(&p);
    fist_tips(&p, tip);
    printf("    tips on the palm: %d %d %d %d\n", (int)tip[0], (int)tip[1], (int)tip[2], (int)tip[3]);
    for (int k = 0; k < FINGERS; k++) CHECK(tip[k] > 2);
    CHECK(crossings_count(p.goal, p.m.triangle, p.m.surface.triangle_count) >
          0); /* where the bones alone would take it */
    play_end(&p);
}

TEST_CASES(RUN(a_tube_that_is_pulled_into_a_knot_never_crosses_itself),
           RUN(a_hand_that_becomes_a_fist_never_crosses_itself))
