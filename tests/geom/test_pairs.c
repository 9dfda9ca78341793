#include "core/memory.h"
#include "failing.h"
#include "geom/pairs.h"
#include "geom/random_pairs.h"
#include "math/vec3.h"
#include "test.h"

/* A surface of random sheets through each other, with all its points, edges and triangles. */
typedef struct sheets {
    supple_allocator a;
    spl_primitives p;
    int32_t *triangle, *edge, *point;
    double *x, *d, *reach;
    bool *fixed;
} sheets;

enum { SIDE = 10 }; /* vertices of a sheet's side */

static void make_triangles(sheets *s, int32_t sheet_count)
{
    int32_t *t = s->triangle;
    for (int32_t k = 0; k < sheet_count; k++)
        for (int32_t i = 0; i + 1 < SIDE; i++)
            for (int32_t j = 0; j + 1 < SIDE; j++) {
                int32_t v = (k * SIDE + i) * SIDE + j, corner[6] = {v, v + 1, v + SIDE, v + 1, v + SIDE + 1, v + SIDE};
                memcpy(t, corner, sizeof corner);
                t += 6;
            }
}

static void place_sheets(sheets *s, random_state *r, double crumple)
{
    for (int32_t v = 0; v < s->p.vertex_count; v += SIDE * SIDE) {
        double at[3], u[3], w[3];
        random_vector(r, 1, at);
        random_vector(r, 0.2, u);
        random_vector(r, 0.2, w);
        for (int32_t i = 0; i < SIDE * SIDE; i++)
            for (size_t k = 0; k < 3; k++)
                s->x[3 * (size_t)(v + i) + k] =
                    at[k] + u[k] * (i / SIDE) + w[k] * (i % SIDE) + crumple * random_signed(r);
    }
    for (size_t i = 0; i < 3 * (size_t)s->p.vertex_count; i++) s->d[i] = 0.1 * random_signed(r) + (i % 3 == 1 ? 5 : 0);
}

static sheets make_sheets(int32_t sheet_count, uint64_t seed)
{
    sheets s = {.a = spl_allocator_of(NULL)};
    random_state r = {seed};
    size_t n = (size_t)sheet_count * SIDE * SIDE;
    s.p.vertex_count = (int32_t)n;
    s.p.triangle_count = sheet_count * 2 * (SIDE - 1) * (SIDE - 1);
    s.triangle = calloc((size_t)s.p.triangle_count, 3 * sizeof *s.triangle);
    s.x = calloc(n, 3 * sizeof *s.x);
    s.d = calloc(n, 3 * sizeof *s.d);
    s.reach = calloc(n, sizeof *s.reach);
    s.fixed = calloc(n, sizeof *s.fixed);
    if (!s.triangle || !s.x || !s.d || !s.reach || !s.fixed) abort();
    make_triangles(&s, sheet_count);
    if (spl_primitives_edges(s.triangle, s.p.triangle_count, &s.a, &s.edge, &s.p.edge_count, NULL) != SUPPLE_OK ||
        spl_primitives_vertices(s.triangle, s.p.triangle_count, &s.a, &s.point, &s.p.point_count, NULL) != SUPPLE_OK)
        abort();
    s.p.triangle = s.triangle;
    s.p.edge = s.edge;
    s.p.point = s.point;
    place_sheets(&s, &r, 0.05);
    for (size_t v = 0; v < n; v++) s.reach[v] = v % 7 == 0 ? 0.1 * random_share(&r) : 0;
    for (size_t v = 0; v < n; v++) s.fixed[v] = v % (3 * SIDE * SIDE) < 2 * SIDE * SIDE || v % 5 == 0;
    return s;
}

static void free_sheets(sheets *s)
{
    spl_free(&s->a, s->edge);
    spl_free(&s->a, s->point);
    free(s->triangle);
    free(s->x);
    free(s->d);
    free(s->reach);
    free(s->fixed);
}

static spl_pool *make_pool(int32_t threads)
{
    supple_config config = supple_config_default();
    spl_pool *pool = NULL;
    config.thread_count = threads;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    return pool;
}

/* ---- the slow twin: all against all ---- */

typedef struct all {
    const spl_primitives *p;
    const double *x, *d;
    double radius;
    spl_pairs_refuse *refuse;
    spl_pair *pair;
    int32_t count, room;
} all;

static double most_reach(const all *q, const int32_t *v, int count)
{
    double most = 0;
    for (int i = 0; q->p->reach && i < count; i++) most = fmax(most, q->p->reach[v[i]]);
    return most;
}

/* Within reach at x, or at one of several times on the way. */
static bool all_near(const all *q, const spl_pair *pair)
{
    int split = pair->kind == SPL_PAIR_POINT_TRIANGLE ? 1 : 2;
    double limit = q->radius + most_reach(q, pair->v, split) + most_reach(q, pair->v + split, 4 - split);
    for (int step = 0; step <= (q->d ? 8 : 0); step++) {
        double y[4][3];
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 3; k++) {
                size_t at = 3 * (size_t)pair->v[i] + (size_t)k;
                y[i][k] = q->x[at] + (q->d ? q->d[at] * step / 8 : 0);
            }
        if (spl_pair_nearest((spl_pair_kind)pair->kind, (const double(*)[3])y).square <= limit * limit) return true;
    }
    return false;
}

static void all_try(all *q, spl_pair_kind kind, int32_t a, int32_t b, int32_t c, int32_t d)
{
    spl_pair pair = {(int32_t)kind, {a, b, c, d}};
    const bool *fixed = q->p->fixed;
    if (fixed && fixed[a] && fixed[b] && fixed[c] && fixed[d]) return;
    if ((q->refuse && q->refuse(NULL, &pair)) || !all_near(q, &pair)) return;
    if (q->count == q->room) {
        q->room = 2 * q->room + 1024;
        q->pair = realloc(q->pair, (size_t)q->room * sizeof *q->pair);
        if (!q->pair) abort();
    }
    q->pair[q->count++] = pair;
}

static int all_order(const void *a, const void *b)
{
    const spl_pair *p = a, *q = b;
    if (p->kind != q->kind) return p->kind < q->kind ? -1 : 1;
    for (int k = 0; k < 4; k++)
        if (p->v[k] != q->v[k]) return p->v[k] < q->v[k] ? -1 : 1;
    return 0;
}

static void all_find(all *q)
{
    q->count = 0;
    for (int32_t i = 0; i < q->p->point_count; i++)
        for (int32_t j = 0; j < q->p->triangle_count; j++) {
            int32_t v = q->p->point[i];
            const int32_t *t = q->p->triangle + 3 * (size_t)j;
            if (t[0] != v && t[1] != v && t[2] != v) all_try(q, SPL_PAIR_POINT_TRIANGLE, v, t[0], t[1], t[2]);
        }
    for (int32_t i = 0; i < q->p->edge_count; i++)
        for (int32_t j = 0; j < q->p->edge_count; j++) {
            const int32_t *e = q->p->edge + 2 * (size_t)i, *f = q->p->edge + 2 * (size_t)j;
            if (e[0] < f[0] && e[1] != f[0] && e[0] != f[1] && e[1] != f[1])
                all_try(q, SPL_PAIR_EDGE_EDGE, e[0], e[1], f[0], f[1]);
        }
    qsort(q->pair, (size_t)q->count, sizeof *q->pair, all_order);
}

static bool same_pairs(const spl_pair *a, const spl_pair *b, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (all_order(&a[i], &b[i]) != 0) return false;
    return true;
}

/* ---- at rest ---- */

static void check_static(const sheets *s, spl_pairs *pairs, all *q, double radius, spl_pool *pool, int32_t least)
{
    int32_t count;
    q->x = s->x;
    q->radius = radius;
    all_find(q);
    REQUIRE(spl_pairs_find(pairs, s->x, NULL, radius, pool, NULL) == SUPPLE_OK);
    const spl_pair *list = spl_pairs_list(pairs, &count);
    REQUIRE(count == q->count);
    CHECK(same_pairs(list, q->pair, count));
    CHECK(count >= least);
}

static bool refuse_some(const void *context, const spl_pair *pair)
{
    (void)context;
    return (pair->v[0] + pair->v[3]) % 3 == 0;
}

TEST(all_pairs_within_a_radius_are_found)
{
    sheets s = make_sheets(test_size(6, 4), 1);
    all q = {.p = &s.p};
    spl_pairs *pairs;
    REQUIRE(spl_pairs_create(&s.p, NULL, NULL, &s.a, &pairs, NULL) == SUPPLE_OK);
    check_static(&s, pairs, &q, 0.03, NULL, 500);
    check_static(&s, pairs, &q, 0.2, NULL, 5000); /* room has to grow */
    check_static(&s, pairs, &q, 0, NULL, 0);
    spl_pairs_destroy(pairs);
    free(q.pair);
    free_sheets(&s);
}

TEST(fixed_vertices_reaches_and_refusals_are_kept_to)
{
    sheets s = make_sheets(6, 2);
    s.p.fixed = s.fixed;
    s.p.reach = s.reach;
    all q = {.p = &s.p, .refuse = refuse_some};
    spl_pairs *pairs;
    REQUIRE(spl_pairs_create(&s.p, refuse_some, NULL, &s.a, &pairs, NULL) == SUPPLE_OK);
    check_static(&s, pairs, &q, 0.03, NULL, 300);
    for (int32_t v = 0; v < s.p.vertex_count; v++) s.fixed[v] = true;
    check_static(&s, pairs, &q, 1, NULL, 0);
    CHECK(q.count == 0);
    spl_pairs_destroy(pairs);
    free(q.pair);
    free_sheets(&s);
}

/* New places every time, to which the tree of the last does not fit. */
TEST(what_is_found_does_not_depend_on_the_tree)
{
    sheets s = make_sheets(5, 3);
    random_state r = {9};
    all q = {.p = &s.p};
    spl_pairs *pairs;
    REQUIRE(spl_pairs_create(&s.p, NULL, NULL, &s.a, &pairs, NULL) == SUPPLE_OK);
    for (int i = 0; i < 3; i++) {
        place_sheets(&s, &r, i == 1 ? 1 : 0.02);
        check_static(&s, pairs, &q, 0.05, NULL, 100);
    }
    spl_pairs_destroy(pairs);
    free(q.pair);
    free_sheets(&s);
}

TEST(all_in_one_place_are_all_pairs)
{
    sheets s = make_sheets(1, 3);
    all q = {.p = &s.p};
    spl_pairs *pairs;
    REQUIRE(spl_pairs_create(&s.p, NULL, NULL, &s.a, &pairs, NULL) == SUPPLE_OK);
    for (size_t i = 0; i < 3 * (size_t)s.p.vertex_count; i++) s.x[i] = 1;
    check_static(&s, pairs, &q, 0, NULL, 30000);
    spl_pairs_destroy(pairs);
    free(q.pair);
    free_sheets(&s);
}

TEST(the_list_is_the_same_at_any_number_of_threads)
{
    sheets s = make_sheets(30, 4);
    spl_pairs *pairs[3];
    const spl_pair *list[3];
    int32_t count[3];
    for (int32_t i = 0; i < 3; i++) {
        spl_pool *pool = make_pool(i + 1);
        REQUIRE(spl_pairs_create(&s.p, NULL, NULL, &s.a, &pairs[i], NULL) == SUPPLE_OK);
        REQUIRE(spl_pairs_find(pairs[i], s.x, s.d, 0.01, pool, NULL) == SUPPLE_OK);
        REQUIRE(spl_pairs_find(pairs[i], s.x, NULL, 0.05, pool, NULL) == SUPPLE_OK);
        list[i] = spl_pairs_list(pairs[i], &count[i]);
        spl_pool_destroy(pool);
        CHECK(count[i] == count[0] && count[i] > 5000);
        CHECK(memcmp(list[i], list[0], (size_t)count[0] * sizeof *list[0]) == 0);
    }
    for (int i = 0; i < 3; i++) spl_pairs_destroy(pairs[i]);
    free_sheets(&s);
}

/* Small, large and far away: floats, which boxes and the sieve are made of, have no numbers for the last ones. */
TEST(all_pairs_are_found_at_any_size_and_place)
{
    double scale[7] = {1, 1e-14, 1e-25, 1e14, 1e25, 1e-60, 1e60};
    sheets s = make_sheets(3, 1);
    s.p.reach = s.reach;
    all q = {.p = &s.p};
    spl_pairs *pairs;
    size_t n = (size_t)s.p.vertex_count;
    double *x = calloc(3 * n, sizeof *x), *reach = calloc(n, sizeof *reach);
    REQUIRE(x && reach && spl_pairs_create(&s.p, NULL, NULL, &s.a, &pairs, NULL) == SUPPLE_OK);
    memcpy(x, s.x, 3 * n * sizeof *x);
    memcpy(reach, s.reach, n * sizeof *reach);
    for (int i = 0; i < 14; i++) {
        for (size_t k = 0; k < 3 * n; k++) s.x[k] = scale[i / 2] * (x[k] + (i % 2 ? 1e5 : 0));
        for (size_t k = 0; k < n; k++) s.reach[k] = scale[i / 2] * reach[k];
        check_static(&s, pairs, &q, 0.03 * scale[i / 2], NULL, 300);
    }
    spl_pairs_destroy(pairs);
    free(q.pair);
    free(x);
    free(reach);
    free_sheets(&s);
}

/* A ball's centre near a floor of one large triangle; and near an edge. */
TEST(an_edge_of_one_vertex_is_a_point)
{
    double x[6][3] = {{0, 0.4, 0}, {-100, 0, -100}, {100, 0, -100}, {0, 0, 100}, {0.1, 0.4, -1}, {0.1, 0.4, 1}};
    double reach[6] = {0.5, 0, 0, 0, 0, 0};
    int32_t point[1] = {0}, edge[4] = {0, 0, 4, 5}, triangle[3] = {1, 2, 3}, count;
    spl_primitives p = {.vertex_count = 6,
                        .point_count = 1,
                        .edge_count = 2,
                        .triangle_count = 1,
                        .point = point,
                        .edge = edge,
                        .triangle = triangle,
                        .reach = reach};
    supple_allocator a = spl_allocator_of(NULL);
    spl_pairs *pairs;
    REQUIRE(spl_pairs_create(&p, NULL, NULL, &a, &pairs, NULL) == SUPPLE_OK);
    REQUIRE(spl_pairs_find(pairs, &x[0][0], NULL, 0, NULL, NULL) == SUPPLE_OK);
    const spl_pair *list = spl_pairs_list(pairs, &count);
    REQUIRE(count == 2);
    spl_pair floor = {SPL_PAIR_POINT_TRIANGLE, {0, 1, 2, 3}}, rod = {SPL_PAIR_EDGE_EDGE, {0, 0, 4, 5}};
    CHECK(all_order(&list[0], &floor) == 0 && all_order(&list[1], &rod) == 0);
    reach[0] = 0.3;
    REQUIRE(spl_pairs_find(pairs, &x[0][0], NULL, 0, NULL, NULL) == SUPPLE_OK);
    list = spl_pairs_list(pairs, &count);
    CHECK(count == 1 && all_order(&list[0], &rod) == 0);
    spl_pairs_destroy(pairs);
}

/* ---- in motion ---- */

/* All that come near are there; of the others few are. All fly by `mean`, which must not make pairs. */
static void check_motion(sheets *s, double mean, int32_t least)
{
    s->p.reach = s->reach;
    for (size_t i = 1; i < 3 * (size_t)s->p.vertex_count; i += 3) s->d[i] += mean - 5;
    all q = {.p = &s->p, .x = s->x, .d = s->d, .radius = 0.02};
    spl_pairs *pairs;
    int32_t count, at = 0, missing = 0;
    REQUIRE(spl_pairs_create(&s->p, NULL, NULL, &s->a, &pairs, NULL) == SUPPLE_OK);
    REQUIRE(spl_pairs_find(pairs, s->x, s->d, q.radius, NULL, NULL) == SUPPLE_OK);
    const spl_pair *list = spl_pairs_list(pairs, &count);
    all_find(&q);
    for (int32_t i = 0; i < q.count; i++) {
        while (at < count && all_order(&list[at], &q.pair[i]) < 0) at++;
        missing += at == count || all_order(&list[at], &q.pair[i]) != 0;
    }
    CHECK(q.count > least && missing == 0);
    CHECK(count < 4 * q.count);
    for (int32_t i = 1; i < count; i++) CHECK(all_order(&list[i - 1], &list[i]) < 0);
    spl_pairs_destroy(pairs);
    free(q.pair);
}

TEST(no_pair_that_comes_near_in_motion_is_missing)
{
    double mean[3] = {5, 0, 1e6};
    for (int i = 0; i < 3; i++) {
        sheets s = make_sheets(test_size(5, 3), 5);
        check_motion(&s, mean[i], 500);
        free_sheets(&s);
    }
}

static bool has_any(const spl_pair *p, const bool *among)
{
    return among[p->v[0]] || among[p->v[1]] || among[p->v[2]] || among[p->v[3]];
}

/* Those of all pairs, fixed ones among them too, that have a vertex of the set. */
TEST(pairs_among_some_vertices_are_those_of_all)
{
    sheets s = make_sheets(test_size(5, 4), 6);
    s.p.fixed = s.fixed;
    s.p.reach = s.reach;
    bool *among = calloc((size_t)s.p.vertex_count, sizeof *among);
    int32_t count, some, expected = 0, wrong = 0;
    for (int32_t v = 0; v < s.p.vertex_count; v += 7) among[v] = true;
    spl_pairs *all_pairs, *few;
    REQUIRE(spl_pairs_create(&s.p, NULL, NULL, &s.a, &all_pairs, NULL) == SUPPLE_OK);
    REQUIRE(spl_pairs_create(&s.p, NULL, NULL, &s.a, &few, NULL) == SUPPLE_OK);
    REQUIRE(spl_pairs_find(all_pairs, s.x, s.d, 0.05, NULL, NULL) == SUPPLE_OK);
    REQUIRE(spl_pairs_find_among(few, s.x, s.d, 0.05, among, NULL, NULL) == SUPPLE_OK);
    const spl_pair *list = spl_pairs_list(all_pairs, &count), *part = spl_pairs_list(few, &some);
    for (int32_t i = 0; i < count; i++) {
        if (!has_any(&list[i], among)) continue;
        wrong += expected >= some || all_order(&part[expected], &list[i]) != 0;
        expected++;
    }
    CHECK(wrong == 0 && some == expected && expected > 300 && expected < count);
    spl_pairs_destroy(all_pairs);
    spl_pairs_destroy(few);
    free(among);
    free_sheets(&s);
}

/* A point at 100 m in a step, through a floor and far past it. */
TEST(a_fast_point_meets_what_it_flies_through)
{
    double x[4][3] = {{0, 50, 0}, {-1, 0, -1}, {1, 0, -1}, {0, 0, 1}}, d[4][3] = {{0, -100, 0}};
    int32_t point[1] = {0}, triangle[3] = {1, 2, 3}, count;
    bool fixed[4] = {false, true, true, true};
    spl_primitives p = {
        .vertex_count = 4, .point_count = 1, .triangle_count = 1, .point = point, .triangle = triangle, .fixed = fixed};
    supple_allocator a = spl_allocator_of(NULL);
    spl_pairs *pairs;
    REQUIRE(spl_pairs_create(&p, NULL, NULL, &a, &pairs, NULL) == SUPPLE_OK);
    REQUIRE(spl_pairs_find(pairs, &x[0][0], &d[0][0], 1e-3, NULL, NULL) == SUPPLE_OK);
    spl_pairs_list(pairs, &count);
    CHECK(count == 1);
    REQUIRE(spl_pairs_find(pairs, &x[0][0], NULL, 1e-3, NULL, NULL) == SUPPLE_OK);
    spl_pairs_list(pairs, &count);
    CHECK(count == 0);
    spl_pairs_destroy(pairs);
}

TEST(coordinates_that_are_no_numbers_do_no_harm)
{
    sheets s = make_sheets(3, 6);
    random_state r = {11};
    double bad[5] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
    spl_pairs *pairs;
    int32_t count;
    REQUIRE(spl_pairs_create(&s.p, NULL, NULL, &s.a, &pairs, NULL) == SUPPLE_OK);
    for (int i = 0; i < 40; i++) {
        size_t n = 3 * (size_t)s.p.vertex_count, at = (size_t)(random_share(&r) * (double)n);
        (i % 3 ? s.x : s.d)[at] = bad[i % 5];
        REQUIRE(spl_pairs_find(pairs, s.x, i % 2 ? s.d : NULL, 0.01, NULL, NULL) == SUPPLE_OK);
        spl_pairs_list(pairs, &count);
        CHECK(count > 0);
        spl_pairs_crossings(pairs, s.x, NULL, NULL, NULL);
    }
    for (size_t i = 0; i < 3 * (size_t)s.p.vertex_count; i++) s.x[i] = NAN;
    REQUIRE(spl_pairs_find(pairs, s.x, NULL, 0.01, NULL, NULL) == SUPPLE_OK);
    spl_pairs_list(pairs, &count);
    CHECK(count == 0);
    spl_pairs_destroy(pairs);
    free_sheets(&s);
}

/* ---- crossings ---- */

/* By solving p + s u = a + g v + h w in long double. */
static bool twin_crosses(const double *x, const int32_t *e, const int32_t *t)
{
    long double u[3], v[3], w[3], r[3], m[4] = {0};
    for (int k = 0; k < 3; k++) {
        long double a = (long double)x[3 * (size_t)t[0] + (size_t)k], p = (long double)x[3 * (size_t)e[0] + (size_t)k];
        u[k] = p - (long double)x[3 * (size_t)e[1] + (size_t)k];
        v[k] = (long double)x[3 * (size_t)t[1] + (size_t)k] - a;
        w[k] = (long double)x[3 * (size_t)t[2] + (size_t)k] - a;
        r[k] = p - a;
    }
    for (int k = 0; k < 3; k++) { /* Cramer's rule: determinants of u v w, r v w, u r w, u v r */
        int i = (k + 1) % 3, j = (k + 2) % 3;
        m[0] += u[k] * (v[i] * w[j] - v[j] * w[i]);
        m[1] += r[k] * (v[i] * w[j] - v[j] * w[i]);
        m[2] += u[k] * (r[i] * w[j] - r[j] * w[i]);
        m[3] += u[k] * (v[i] * r[j] - v[j] * r[i]);
    }
    long double s = m[1] / m[0], g = m[2] / m[0], h = m[3] / m[0];
    return s > 0 && s < 1 && g >= 0 && h >= 0 && g + h <= 1;
}

typedef struct crossings {
    int32_t count, last[2];
    const sheets *s;
    int32_t wrong, disordered;
} crossings;

static void count_crossing(void *context, const int32_t edge[2], const int32_t triangle[3])
{
    crossings *c = context;
    int32_t now[2] = {(int32_t)(edge - c->s->edge), (int32_t)(triangle - c->s->triangle)};
    c->wrong += !twin_crosses(c->s->x, edge, triangle);
    c->disordered += c->count > 0 && (now[0] < c->last[0] || (now[0] == c->last[0] && now[1] <= c->last[1]));
    memcpy(c->last, now, sizeof now);
    c->count++;
}

static bool refused_both(const int32_t *e, const int32_t *t)
{
    spl_pair a = {SPL_PAIR_POINT_TRIANGLE, {e[0], t[0], t[1], t[2]}};
    spl_pair b = {SPL_PAIR_POINT_TRIANGLE, {e[1], t[0], t[1], t[2]}};
    return refuse_some(NULL, &a) && refuse_some(NULL, &b);
}

static int32_t twin_crossings(const sheets *s)
{
    int32_t count = 0;
    for (int32_t i = 0; i < s->p.edge_count; i++)
        for (int32_t j = 0; j < s->p.triangle_count; j++) {
            const int32_t *e = s->edge + 2 * (size_t)i, *t = s->triangle + 3 * (size_t)j;
            bool free = !(s->fixed[e[0]] && s->fixed[e[1]] && s->fixed[t[0]] && s->fixed[t[1]] && s->fixed[t[2]]);
            bool shared = false;
            for (int k = 0; k < 3; k++) shared = shared || t[k] == e[0] || t[k] == e[1];
            count += free && !shared && !refused_both(e, t) && twin_crosses(s->x, e, t);
        }
    return count;
}

TEST(crossings_agree_with_all_against_all)
{
    sheets s = make_sheets(7, 8);
    random_state r = {8};
    place_sheets(&s, &r, 0.3);
    s.p.fixed = s.fixed;
    s.p.reach = s.reach;
    spl_pairs *pairs;
    int32_t before, after;
    REQUIRE(spl_pairs_create(&s.p, refuse_some, NULL, &s.a, &pairs, NULL) == SUPPLE_OK);
    REQUIRE(spl_pairs_find(pairs, s.x, NULL, 0.01, NULL, NULL) == SUPPLE_OK);
    spl_pairs_list(pairs, &before);
    for (int32_t threads = 1; threads <= 3; threads++) {
        crossings c = {.s = &s};
        spl_pool *pool = make_pool(threads);
        CHECK(spl_pairs_crossings(pairs, s.x, pool, count_crossing, &c) == c.count);
        CHECK(c.count == twin_crossings(&s));
        CHECK(c.count > 100);
        CHECK(c.wrong == 0 && c.disordered == 0);
        spl_pool_destroy(pool);
    }
    spl_pairs_list(pairs, &after);
    CHECK(before == after && before > 0);
    spl_pairs_destroy(pairs);
    free_sheets(&s);
}

/* Volumes of edges and triangles in one plane are rounding, whose signs agree by chance. */
TEST(flat_faces_do_not_cross_themselves)
{
    sheets s = make_sheets(1, 3);
    random_state r = {3};
    spl_pairs *pairs;
    int32_t crossed = 0;
    REQUIRE(spl_pairs_create(&s.p, NULL, NULL, &s.a, &pairs, NULL) == SUPPLE_OK);
    for (int k = 0; k < 300; k++) {
        place_sheets(&s, &r, 0);
        crossed += spl_pairs_crossings(pairs, s.x, NULL, NULL, NULL) != 0;
    }
    CHECK(crossed == 0);
    spl_pairs_destroy(pairs);
    free_sheets(&s);
}

/* ---- primitives, memory ---- */

TEST(edges_and_vertices_of_triangles_come_once)
{
    int32_t triangle[12] = {7, 2, 5, 5, 2, 3, 2, 7, 7, 9, 9, 9}, *edge, *vertex, count;
    int32_t edges[10] = {2, 3, 2, 5, 2, 7, 3, 5, 5, 7}, vertices[5] = {2, 3, 5, 7, 9};
    supple_allocator a = spl_allocator_of(NULL);
    REQUIRE(spl_primitives_edges(triangle, 4, &a, &edge, &count, NULL) == SUPPLE_OK);
    CHECK(count == 5 && memcmp(edge, edges, sizeof edges) == 0);
    REQUIRE(spl_primitives_vertices(triangle, 4, &a, &vertex, &count, NULL) == SUPPLE_OK);
    CHECK(count == 5 && memcmp(vertex, vertices, sizeof vertices) == 0);
    spl_free(&a, edge);
    spl_free(&a, vertex);
}

TEST(nothing_has_no_pairs)
{
    spl_primitives p = {0};
    supple_allocator a = spl_allocator_of(NULL);
    spl_pairs *pairs;
    int32_t count;
    REQUIRE(spl_pairs_create(&p, NULL, NULL, &a, &pairs, NULL) == SUPPLE_OK);
    CHECK(spl_pairs_find(pairs, NULL, NULL, 1, NULL, NULL) == SUPPLE_OK);
    spl_pairs_list(pairs, &count);
    CHECK(count == 0 && spl_pairs_crossings(pairs, NULL, NULL, NULL, NULL) == 0);
    spl_pairs_destroy(pairs);
}

/* One run with the n-th request refused. True: there was no n-th. */
static bool survives(const sheets *s, long n)
{
    failing f = {.fail_at = n};
    supple_allocator a = failing_allocator(&f);
    spl_pairs *pairs = NULL;
    int32_t *edge = NULL, *vertex = NULL, count, before = 0, after = 0, crossed = 0;
    supple_result r = spl_primitives_edges(s->triangle, s->p.triangle_count, &a, &edge, &count, NULL);
    if (r == SUPPLE_OK) r = spl_primitives_vertices(s->triangle, s->p.triangle_count, &a, &vertex, &count, NULL);
    if (r == SUPPLE_OK) r = spl_pairs_create(&s->p, NULL, NULL, &a, &pairs, NULL);
    if (r == SUPPLE_OK) r = spl_pairs_find(pairs, s->x, NULL, 0.01, NULL, NULL);
    if (r == SUPPLE_OK) {
        spl_pairs_list(pairs, &before);
        r = spl_pairs_find(pairs, s->x, NULL, 0.3, NULL, NULL);
        const spl_pair *list = spl_pairs_list(pairs, &after);
        CHECK(r == SUPPLE_OK ? after > before : after == before); /* the list stands */
        for (int32_t i = 1; i < after; i++) CHECK(all_order(&list[i - 1], &list[i]) < 0);
    }
    if (r == SUPPLE_OK) crossed = spl_pairs_crossings(pairs, s->x, NULL, NULL, NULL);
    CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
    CHECK(crossed >= 0 || f.requests > n);
    spl_pairs_destroy(pairs);
    spl_free(&a, edge);
    spl_free(&a, vertex);
    CHECK(f.live == 0);
    return f.requests <= n;
}

TEST(every_allocation_may_fail)
{
    sheets s = make_sheets(3, 10);
    long n = 0;
    while (!survives(&s, n)) n++;
    CHECK(n > 25);
    free_sheets(&s);
}

TEST_CASES(RUN(all_pairs_within_a_radius_are_found), RUN(fixed_vertices_reaches_and_refusals_are_kept_to),
           RUN(what_is_found_does_not_depend_on_the_tree), RUN(all_in_one_place_are_all_pairs),
           RUN(the_list_is_the_same_at_any_number_of_threads), RUN(all_pairs_are_found_at_any_size_and_place),
           RUN(an_edge_of_one_vertex_is_a_point), RUN(no_pair_that_comes_near_in_motion_is_missing),
           RUN(pairs_among_some_vertices_are_those_of_all), RUN(a_fast_point_meets_what_it_flies_through),
           RUN(coordinates_that_are_no_numbers_do_no_harm), RUN(crossings_agree_with_all_against_all),
           RUN(flat_faces_do_not_cross_themselves), RUN(edges_and_vertices_of_triangles_come_once),
           RUN(nothing_has_no_pairs), RUN(every_allocation_may_fail))
