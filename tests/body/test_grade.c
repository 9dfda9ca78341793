#include "body/grade.h"

#include "bodies.h"
#include "body/lattice.h"
#include "failing.h"
#include "test.h"

static body make(const shape *s, int32_t resolution, bool grade, int32_t threads)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    spl_flesh_options options = spl_flesh_options_default();
    spl_pool *pool;
    body b = {.surface = shape_surface(s)};
    config.thread_count = threads;
    options.resolution = resolution;
    options.grade = grade;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    b.result = spl_flesh_make(&b.surface, &options, &config, pool, &a, &b.tets, &b.place, &b.report, &b.error);
    spl_pool_destroy(pool);
    return b;
}

static uint64_t hash_point(const spl_vec3 *p)
{
    uint64_t bits[3], h = 7;
    memcpy(bits, p, sizeof bits);
    for (int k = 0; k < 3; k++) h = (h ^ (bits[k] + 0x9e3779b97f4a7c15U)) * 0xff51afd7ed558ccdU, h ^= h >> 29;
    return h;
}

/* Whether two boundaries are the same set of triangles, turned alike: a sum over them that knows corners and sense. */
static bool same_surface(const spl_tets *a, const spl_tets *b)
{
    const spl_tets *both[2] = {a, b};
    uint64_t sum[2] = {0};
    for (int i = 0; i < 2; i++)
        for (int32_t k = 0; k < both[i]->surface_count; k++) {
            uint64_t h[3];
            for (int c = 0; c < 3; c++) h[c] = hash_point(&both[i]->position[both[i]->surface[3 * k + c]]);
            for (int c = 0; c < 3; c++) sum[i] += (h[c] ^ (h[(c + 1) % 3] >> 7)) * (h[(c + 1) % 3] | 1);
        }
    return a->surface_count == b->surface_count && sum[0] == sum[1];
}

/* Every face is of one tet or of two on opposite sides of it (spl_tets_check). No hanging vertex: where a face met two
 * halves of it, all three would be boundary. */
static bool conforms(const spl_tets *t)
{
    spl_tets copy;
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets_report report;
    if (!spl_tets_create(&copy, t->vertex_count, t->tet_count, &a)) abort();
    memcpy(copy.position, t->position, (size_t)t->vertex_count * sizeof *t->position);
    memcpy(copy.tet, t->tet, 4 * (size_t)t->tet_count * sizeof *t->tet);
    bool ok = spl_tets_check(&copy, "graded", &report, NULL) == SUPPLE_OK;
    ok = ok && report.reoriented == 0 && report.unused_vertices == 0;
    spl_tets_release(&copy);
    return ok;
}

static void compare(const shape *s, int32_t resolution, double ratio)
{
    body fine = make(s, resolution, false, 1), graded = make(s, resolution, true, 1);
    REQUIRE(fine.result == SUPPLE_OK && graded.result == SUPPLE_OK);
    const spl_tets_shape *f = &fine.report.shape, *g = &graded.report.shape;
    CHECK(same_surface(&fine.tets, &graded.tets));
    CHECK(conforms(&graded.tets));
    CHECK(g->inverted_count == 0 && g->min_volume > 0);
    CHECK_NEAR(g->volume / f->volume, 1, 1e-9);
    CHECK(g->min_dihedral >= fmin(f->min_dihedral, 44.9) - 1e-6);
    CHECK(g->max_dihedral <= fmax(f->max_dihedral, 120.1) + 1e-6);
    CHECK(graded.report.grade.uniform_tets == fine.tets.tet_count + fine.report.crumbs);
    CHECK(graded.report.component_count == fine.report.component_count);
    CHECK(fine.tets.tet_count > ratio * graded.tets.tet_count);
    body_free(&fine);
    body_free(&graded);
}

TEST(surfaces_stay_and_volumes_fill)
{
    shape ball = shape_sphere(24, 1), ring = shape_torus(32, 1, 0.45), box = shape_box(6, 1, 0.7, 0.5);
    compare(&ball, 40, 2);
    compare(&ring, 60, 1.2);
    compare(&box, 50, 2);
    compare(&ball, 9, 0.99); /* nothing to merge */
    shape_free(&ball);
    shape_free(&ring);
    shape_free(&box);
}

/* Two balls that overlap, so that a wall is inside, and two that nearly touch: limbs stay apart as they were. */
TEST(several_parts)
{
    shape both = shape_sphere(20, 1), other = shape_sphere(20, 1);
    shape_join(&both, &other, spl_v3(1.2, 0.1, 0));
    shape_join(&both, &other, spl_v3(-2.02, 0, 0));
    compare(&both, 70, 1.3);
    shape_free(&both);
    shape_free(&other);
}

/* A block of whole lattice cells: coarsened everywhere inside, so that the new tets' own angles show. */
static void block(int32_t n, spl_tets *t, spl_place **place)
{
    supple_allocator a = spl_allocator_of(NULL);
    const int8_t(*cell)[4][3] = spl_lattice_tets();
    int32_t width = 2 * n + 5, *at = malloc((size_t)(width * width * width) * sizeof *at), used = 0, count = 0;
    for (int32_t i = 0; i < width * width * width; i++) at[i] = -1;
    if (!spl_tets_create(t, 2 * (n + 3) * (n + 3) * (n + 3), SPL_CELL_TETS * n * n * n, &a)) abort();
    for (int32_t c = 0; c < n * n * n; c++)
        for (int k = 0; k < SPL_CELL_TETS; k++, count++)
            for (int i = 0; i < 4; i++) {
                int32_t p[3] = {2 * (c % n) + cell[k][i][0], 2 * (c / n % n) + cell[k][i][1],
                                2 * (c / n / n) + cell[k][i][2]};
                int32_t *slot = &at[(p[2] * width + p[1]) * width + p[0]];
                if (*slot < 0) {
                    t->position[used] = spl_v3(0.05 * p[0], 0.05 * p[1], 0.05 * p[2]);
                    *slot = used++;
                }
                t->tet[4 * count + i] = *slot;
            }
    t->vertex_count = used;
    *place = spl_new(&a, (size_t)used, sizeof **place);
    for (int32_t v = 0; v < used; v++) (*place)[v].triangle = v; /* to see them move along */
    free(at);
}

TEST(angles_of_a_coarsened_block)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets fine, t;
    spl_place *place, *unused;
    spl_grade_report r;
    block(40, &fine, &unused);
    block(40, &t, &place);
    REQUIRE(spl_grade(&t, place, 0.1, &r, NULL) == SUPPLE_OK);
    REQUIRE(spl_tets_find_surface(&t, NULL) == SUPPLE_OK && spl_tets_find_surface(&fine, NULL) == SUPPLE_OK);
    spl_tets_shape s = spl_tets_quality(&t), before = spl_tets_quality(&fine);
    CHECK(r.levels >= 3 && r.octants > 100);
    CHECK(conforms(&t));
    CHECK(same_surface(&fine, &t));
    CHECK_NEAR(s.volume, before.volume, 1e-8);
    CHECK(s.inverted_count == 0);
    CHECK(s.min_dihedral > 44.99 && s.max_dihedral < 120.01);
    CHECK(fine.tet_count > 4 * t.tet_count);
    for (int32_t v = 0; v < t.vertex_count; v++)
        CHECK(memcmp(&t.position[v], &fine.position[place[v].triangle], sizeof(spl_vec3)) == 0);
    spl_tets_release(&t);
    spl_tets_release(&fine);
    spl_free(&a, place);
    spl_free(&a, unused);
}

/* A second limb over the same lattice points keeps both from being merged there. */
TEST(doubled_points_stay_fine)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets one, two;
    spl_place *place, *places;
    spl_grade_report r;
    block(12, &one, &place);
    int32_t n = one.vertex_count, m = one.tet_count;
    if (!spl_tets_create(&two, 2 * n, 2 * m, &a)) abort();
    places = spl_new(&a, 2 * (size_t)n, sizeof *places);
    for (int32_t v = 0; v < 2 * n; v++) two.position[v] = one.position[v % n];
    for (int32_t i = 0; i < 8 * m; i++) two.tet[i] = one.tet[i % (4 * m)] + (i < 4 * m ? 0 : n);
    REQUIRE(spl_grade(&two, places, 0.1, &r, NULL) == SUPPLE_OK);
    CHECK(r.octants == 0 && two.tet_count == 2 * m && two.vertex_count == 2 * n);
    REQUIRE(spl_grade(&one, place, 0.1, &r, NULL) == SUPPLE_OK);
    CHECK(r.octants > 0);
    spl_tets_release(&one);
    spl_tets_release(&two);
    spl_free(&a, place);
    spl_free(&a, places);
}

TEST(memory)
{
    long n = 0;
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f), plain = spl_allocator_of(NULL);
        spl_tets t, u;
        spl_place *place;
        block(10, &t, &place);
        f.fail_at = -1;
        if (!spl_tets_create(&u, t.vertex_count, t.tet_count, &a)) abort();
        memcpy(u.position, t.position, (size_t)t.vertex_count * sizeof *t.position);
        memcpy(u.tet, t.tet, 4 * (size_t)t.tet_count * sizeof *t.tet);
        f.requests = 0, f.fail_at = n;
        supple_result result = spl_grade(&u, place, 0.1, NULL, NULL);
        ended = result == SUPPLE_OK;
        CHECK(ended ||
              (result == SUPPLE_ERROR_MEMORY && u.tet_count == t.tet_count && u.vertex_count == t.vertex_count));
        spl_tets_release(&u);
        CHECK(f.live == 0);
        spl_tets_release(&t);
        spl_free(&plain, place);
    }
    CHECK(n > 5);
}

TEST(threads)
{
    shape ball = shape_sphere(20, 1);
    body one = make(&ball, 30, true, 1), many = make(&ball, 30, true, 5);
    REQUIRE(one.tets.tet_count == many.tets.tet_count);
    CHECK(!memcmp(one.tets.tet, many.tets.tet, 4 * (size_t)one.tets.tet_count * sizeof *one.tets.tet));
    body_free(&one);
    body_free(&many);
    shape_free(&ball);
}

TEST_CASES(RUN(surfaces_stay_and_volumes_fill), RUN(several_parts), RUN(angles_of_a_coarsened_block),
           RUN(doubled_points_stay_fine), RUN(memory), RUN(threads))
