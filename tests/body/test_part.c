/* Surfaces that cross themselves are parted. Crossings are counted here by a twin of their own: every edge against
 * every triangle by Moeller and Trumbore's test, and gaps by sampling the surface. */
#include "body/part.h"

#include "bodies.h"
#include "failing.h"
#include "test.h"

/* ---- judging ---- */

static bool passes(spl_vec3 from, spl_vec3 to, spl_vec3 a, spl_vec3 b, spl_vec3 c)
{
    spl_vec3 d = spl_sub(to, from), e = spl_sub(b, a), f = spl_sub(c, a), p = spl_cross(d, f);
    double det = spl_dot(e, p);
    if (det == 0) return false;
    spl_vec3 s = spl_sub(from, a), q = spl_cross(s, e);
    double u = spl_dot(s, p) / det, v = spl_dot(d, q) / det, t = spl_dot(f, q) / det;
    return u >= 0 && v >= 0 && u + v <= 1 && t > 0 && t < 1;
}

static bool boxes_meet(const spl_vec3 *x, const int32_t *e, const int32_t *t)
{
    for (int k = 0; k < 3; k++) {
        double p = (&x[e[0]].x)[k], q = (&x[e[1]].x)[k], a = (&x[t[0]].x)[k], b = (&x[t[1]].x)[k], c = (&x[t[2]].x)[k];
        if (fmax(p, q) < fmin(a, fmin(b, c)) || fmin(p, q) > fmax(a, fmax(b, c))) return false;
    }
    return true;
}

static int32_t crossings(const spl_tets *t)
{
    int32_t count = 0;
    for (int32_t i = 0; i < 3 * t->surface_count; i++) {
        int32_t e[2] = {t->surface[i], t->surface[i % 3 == 2 ? i - 2 : i + 1]};
        if (e[0] > e[1]) continue; /* the other triangle at it has it the other way round */
        for (int32_t k = 0; k < t->surface_count; k++) {
            const int32_t *c = t->surface + 3 * k;
            bool shared = c[0] == e[0] || c[1] == e[0] || c[2] == e[0] || c[0] == e[1] || c[1] == e[1] || c[2] == e[1];
            if (shared || !boxes_meet(t->position, e, c)) continue;
            const spl_vec3 *x = t->position;
            count += passes(x[e[0]], x[e[1]], x[c[0]], x[c[1]], x[c[2]]);
        }
    }
    return count;
}

/* ---- blocks ---- */

static int32_t corner_at(int32_t block, int n, int i, int j, int k)
{
    int32_t w = n + 1;
    return block * w * w * w + (k * w + j) * w + i;
}

/* Two cubes of n^3 cells of size 1, six tetrahedra each; the second one is moved. */
static spl_tets two_blocks(int n, spl_vec3 by, const supple_allocator *a)
{
    static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    spl_tets t;
    int32_t per = (n + 1) * (n + 1) * (n + 1), count = 0;
    if (!spl_tets_create(&t, 2 * per, 12 * n * n * n, a)) abort();
    for (int32_t v = 0; v < 2 * per; v++) {
        int32_t i = v % per, w = n + 1;
        t.position[v] = spl_madd(spl_v3(i % w, i / w % w, i / w / w), by, v / per);
    }
    for (int32_t c = 0; c < 2 * n * n * n; c++)
        for (int s = 0; s < 6; s++) {
            int at[3] = {c % n, c / n % n, c / n / n % n};
            int32_t *v = t.tet + 4 * count++, block = c / (n * n * n);
            v[0] = corner_at(block, n, at[0], at[1], at[2]);
            for (int k = 0; k < 3; k++) {
                at[order[s][k]]++;
                v[k + 1 < 3 ? (s < 3 ? k + 1 : 2 - k) : 3] = corner_at(block, n, at[0], at[1], at[2]);
            }
        }
    if (spl_tets_find_surface(&t, NULL) != SUPPLE_OK) abort();
    return t;
}

static double volume_of(const spl_tets *t)
{
    return spl_tets_quality(t).volume;
}

TEST(blocks_that_overlap_part)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets t = two_blocks(4, spl_v3(3.62, 0.31, 0.17), &a);
    double volume = volume_of(&t), right = -INFINITY, left = INFINITY;
    spl_part_report r;
    REQUIRE(spl_tets_quality(&t).inverted_count == 0 && crossings(&t) > 10);
    REQUIRE(spl_part_surface(&t, NULL, 1, NULL, &r, NULL) == SUPPLE_OK);
    printf("    %d crossings, %d rounds, %d moved by %.3f at most, volume %.3f\n", (int)r.crossings_before,
           (int)r.rounds, (int)r.moved, r.farthest, volume_of(&t) / volume);
    CHECK(r.crossings_before > 10 && r.crossings == 0 && r.near == 0 && crossings(&t) == 0);
    CHECK(spl_tets_quality(&t).inverted_count == 0 && spl_tets_quality(&t).min_dihedral > 20);
    CHECK(volume_of(&t) > 0.9 * volume && r.farthest < 0.5);
    /* Both gave way, to about the middle, and the gap is between them. */
    for (int32_t v = 0; v < t.vertex_count; v++) {
        double y = t.position[v].y, z = t.position[v].z;
        if (y < 1.5 || y > 2.5 || z < 1.5 || z > 2.5) continue;
        if (v < t.vertex_count / 2)
            right = fmax(right, t.position[v].x);
        else
            left = fmin(left, t.position[v].x);
    }
    CHECK(left - right >= 0.9 * SPL_PART_GAP && left - right < 4 * SPL_PART_GAP);
    CHECK_NEAR(0.5 * (left + right), 3.81, 0.1);
    spl_tets_release(&t);
}

TEST(blocks_that_touch_get_a_gap)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets t = two_blocks(3, spl_v3(3, 0, 0), &a); /* face on face: nothing passes through anything */
    spl_part_report r;
    REQUIRE(spl_part_surface(&t, NULL, 1, NULL, &r, NULL) == SUPPLE_OK);
    CHECK(r.crossings_before == 0 && r.crossings == 0 && r.near == 0 && r.rounds > 0);
    for (int i = 0; i < 16; i++) {
        int32_t v = corner_at(0, 3, 3, i % 4, i / 4), w = corner_at(1, 3, 0, i % 4, i / 4);
        CHECK(t.position[w].x - t.position[v].x >= 0.8 * SPL_PART_GAP);
    }
    spl_tets_release(&t);
}

TEST(blocks_apart_stay_as_they_are)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets t = two_blocks(3, spl_v3(3.06, 0.3, 0), &a), old = two_blocks(3, spl_v3(3.06, 0.3, 0), &a);
    spl_part_report r;
    REQUIRE(spl_part_surface(&t, NULL, 1, NULL, &r, NULL) == SUPPLE_OK);
    CHECK(r.rounds == 0 && r.moved == 0 && r.farthest == 0);
    CHECK(memcmp(t.position, old.position, (size_t)t.vertex_count * sizeof *t.position) == 0);
    spl_tets_release(&t);
    spl_tets_release(&old);
}

/* Not by one shrinking into the other, which would not cross either. */
TEST(blocks_nearly_all_in_each_other_part)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets t = two_blocks(4, spl_v3(0.33, 0.21, 0.14), &a);
    spl_vec3 middle[2] = {{0, 0, 0}, {0, 0, 0}};
    spl_part_report r;
    REQUIRE(spl_part_surface(&t, NULL, 1, NULL, &r, NULL) == SUPPLE_OK);
    for (int32_t v = 0, half = t.vertex_count / 2; v < 2 * half; v++)
        middle[v / half] = spl_madd(middle[v / half], t.position[v], 1.0 / half);
    printf("    %d crossings, %d rounds, volume %.2f of 128\n", (int)r.crossings_before, (int)r.rounds, volume_of(&t));
    CHECK(r.crossings == 0 && r.sunk == 0 && crossings(&t) == 0 && spl_distance(middle[0], middle[1]) > 1);
    CHECK(spl_tets_quality(&t).inverted_count == 0 && spl_tets_quality(&t).min_dihedral > 3);
    spl_tets_release(&t);
}

/* One upon the other, all over: nothing says which way to part. It ends, and nothing turns over. */
TEST(what_cannot_part_is_left_and_counted)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets t = two_blocks(3, spl_v3(0, 0, 0), &a);
    spl_part_report r;
    REQUIRE(spl_part_surface(&t, NULL, 1, NULL, &r, NULL) == SUPPLE_OK);
    printf("    %d crossings, %d pairs, %d vertices left\n", (int)r.crossings, (int)r.near, (int)r.sunk);
    CHECK(r.crossings > 0 || r.near > 0 || r.sunk > 0);
    CHECK(spl_tets_quality(&t).inverted_count == 0 && spl_tets_quality(&t).min_dihedral > 1);
    spl_tets_release(&t);
}

TEST(failing_allocations_are_errors)
{
    bool done = false;
    for (long n = 0; !done && n < 3000; n++) {
        supple_allocator plain = spl_allocator_of(NULL);
        failing f = {.fail_at = n};
        spl_tets t = two_blocks(2, spl_v3(1.62, 0.31, 0.17), &plain);
        spl_part_report r;
        supple_error error = {0};
        t.allocator = failing_allocator(&f);
        supple_result result = spl_part_surface(&t, NULL, 1, NULL, &r, &error);
        done = f.requests <= n;
        CHECK(result == (done ? SUPPLE_OK : SUPPLE_ERROR_MEMORY) || (result == SUPPLE_OK && r.crossings == 0));
        CHECK(f.live == 0 && spl_tets_quality(&t).inverted_count == 0);
        t.allocator = plain;
        spl_tets_release(&t);
    }
    CHECK(done);
}

/* ---- bodies ---- */

static body body_of_character(const char *name, int32_t max_tets, int32_t threads)
{
    shape s = shape_character(name);
    spl_flesh_options options = spl_flesh_options_default();
    options.max_tets = max_tets;
    options.part = true;
    body b = body_with(shape_surface(&s), options, threads);
    shape_free(&s);
    return b;
}

static void check_body(body *b, double least_dihedral)
{
    REQUIRE(b->result == SUPPLE_OK);
    const spl_part_report *r = &b->report.part;
    spl_tets_shape q = spl_tets_quality(&b->tets);
    printf("    %d tets: %d crossings, %d rounds, %d vertices moved by %.2f cells at most; dihedral %.1f..%.1f\n",
           (int)b->tets.tet_count, (int)r->crossings_before, (int)r->rounds, (int)r->moved, r->farthest, q.min_dihedral,
           q.max_dihedral);
    CHECK(r->crossings_before > 0 && r->crossings == 0 && r->near == 0 && r->sunk == 0);
    CHECK(crossings(&b->tets) == 0 && q.inverted_count == 0 && q.min_dihedral > least_dihedral);
    CHECK(b->report.area_lost < 0.01);
}

TEST(the_heros_fingers_do_not_cross)
{
    body b = body_of_character("demo:hero", 18000, 2);
    check_body(&b, 10);
    body_free(&b);
}

TEST(a_persons_fingers_and_toes_do_not_cross)
{
    body b = body_of_character("person.glb", 18000, 2);
    check_body(&b, 5);
    body_free(&b);
}

static bool in_slit_block(int x, int y, int z)
{
    (void)x;
    return !(y == 4 && z >= 3); /* a mouth, one cube high, to be closed */
}

/* Closes the mouth: 0.02 of its height are left. */
static shape closed_mouth(void)
{
    shape s = shape_cubes(in_slit_block, 5, 9, 9);
    for (int32_t i = 0; i < s.vertex_count; i++) {
        double *y = s.position + 3 * i + 1;
        if (s.position[3 * i + 2] < 3.5) continue;
        if (*y == 4) *y = 4.49;
        if (*y == 5) *y = 4.51;
    }
    return s;
}

TEST(lips_stay_apart_and_get_a_gap)
{
    shape s = closed_mouth();
    spl_flesh_options options = spl_flesh_options_default();
    options.resolution = 12;
    options.part = true;
    body b = body_with(shape_surface(&s), options, 1);
    REQUIRE(b.result == SUPPLE_OK);
    CHECK(b.report.part.crossings == 0 && b.report.part.near == 0 && crossings(&b.tets) == 0);
    int32_t upper = body_vertex_at(&b, spl_v3(2.5, 4.51, 8)), lower = body_vertex_at(&b, spl_v3(2.5, 4.49, 8));
    double *ways = body_ways(&b.tets, upper);
    printf("    %d crossings; %.2f from lip to lip, through flesh\n", (int)b.report.part.crossings_before, ways[lower]);
    CHECK(ways[lower] > 6); /* round the corner of the mouth, which is 5 deep */
    free(ways);
    shape_free(&s);
    body_free(&b);
}

TEST(every_number_of_threads_gives_the_same_bits)
{
    body one = body_of_character("demo:hero", 9000, 1), four = body_of_character("demo:hero", 9000, 4);
    REQUIRE(one.result == SUPPLE_OK && four.result == SUPPLE_OK);
    CHECK(one.report.part.rounds > 0 && one.tets.vertex_count == four.tets.vertex_count);
    CHECK(memcmp(one.tets.position, four.tets.position, (size_t)one.tets.vertex_count * sizeof(spl_vec3)) == 0);
    body_free(&one);
    body_free(&four);
}

TEST_CASES(RUN(blocks_that_overlap_part), RUN(blocks_that_touch_get_a_gap), RUN(blocks_apart_stay_as_they_are),
           RUN(blocks_nearly_all_in_each_other_part), RUN(what_cannot_part_is_left_and_counted),
           RUN(failing_allocations_are_errors), RUN(the_heros_fingers_do_not_cross),
           RUN(a_persons_fingers_and_toes_do_not_cross), RUN(lips_stay_apart_and_get_a_gap),
           RUN(every_number_of_threads_gives_the_same_bits))
