#include "contact/blocks.h"
#include "contact/contact.h"
#include "contact/hits.h"
#include "contact/near.h"
#include "failing.h"

static spl_contacts *contacts_of(const blocks *b)
{
    spl_contacts *c = NULL;
    if (spl_contacts_create(&b->solid, NULL, NULL, NULL, b->pool, &c, NULL) != SUPPLE_OK) abort();
    return c;
}

/* Two blocks of side 1, the second with its face at x = 1 - depth of the first, off the first one's grid. */
static spl_vec3 shifted(double depth)
{
    return spl_v3(-2 - depth, 0.0317, 0.0171);
}

static void two_blocks(blocks *b, int32_t n)
{
    supple_allocator a = spl_allocator_of(NULL);
    blocks_make(b, 2, n, 2, &a, 1);
    if (!b->ok) abort();
}

/* ---- geometry known in closed form ---- */

TEST(a_block_pushed_into_another_is_as_deep_as_it_was_pushed)
{
    blocks b;
    two_blocks(&b, 8);
    spl_contacts *c = contacts_of(&b);
    for (double depth = 0.01; depth < 0.3; depth += 0.04) {
        int32_t count, of[2] = {0, 0};
        blocks_move(&b, 1, shifted(depth));
        spl_contacts_reset(c);
        CHECK(spl_contacts_find(c, b.x, b.pool) > 0);
        const spl_contact *list = spl_contacts_list(c, &count);
        for (int32_t i = 0; i < count; i++) {
            const spl_contact *k = &list[i];
            int block = k->vertex / b.per;
            spl_vec3 p = spl_v3(b.x[3 * k->vertex], b.x[3 * k->vertex + 1], b.x[3 * k->vertex + 2]);
            double side = fmin(fmin(p.y, 1 - p.y), fmin(p.z, 1 - p.z));
            if (block == 1) side = fmin(side, 1);
            CHECK(k->depth >= 0 && k->depth <= 2 * depth && k->age == 0); /* rims look askance, and so come out */
            CHECK(k->corner[0] / b.per == 1 - block);                     /* the partner is of the other block */
            CHECK_NEAR(spl_norm(k->normal), 1, 1e-12);
            CHECK_NEAR(spl_dot(spl_sub(k->target, p), k->normal), k->depth, 1e-12);
            CHECK_NEAR(k->bary[0] + k->bary[1] + k->bary[2], 1, 1e-12);
            of[block]++;
            if (fabs(p.x - (block ? 1 - depth : 1)) > 1e-12 || side < depth + 0.05 || p.y > 0.9 || p.z > 0.9) continue;
            CHECK_NEAR(k->depth, depth, 1e-12); /* a vertex of the pushed face, away from the rims */
            CHECK_NEAR(k->normal.x, block ? 1 : -1, 1e-12);
        }
        CHECK(of[0] > 20 && of[1] > 20);
    }
    spl_contacts_destroy(c);
    blocks_free(&b);
}

/* Pushed in by more than half, a face is nearer to what lies behind than to what it came through. It looks the same way
 * as that, and does not come out there. */
TEST(a_face_does_not_come_out_behind)
{
    blocks b;
    two_blocks(&b, 8);
    spl_contacts *c = contacts_of(&b);
    blocks_move(&b, 1, shifted(0.6));
    CHECK(spl_contacts_find(c, b.x, b.pool) > 0);
    int32_t count, seen = 0;
    const spl_contact *list = spl_contacts_list(c, &count);
    for (int32_t i = 0; i < count; i++) {
        const spl_contact *k = &list[i];
        int block = k->vertex / b.per;
        spl_vec3 p = b.body.tets.position[k->vertex];
        if (p.x != (block ? 3 : 1) || fmin(fmin(p.y, 1 - p.y), fmin(p.z, 1 - p.z)) < 0.1) continue;
        CHECK((block ? 1 : -1) * k->normal.x > 0.3);
        seen++;
    }
    CHECK(seen > 10);
    spl_contacts_destroy(c);
    blocks_free(&b);
}

/* What was found in a crumpled pile is no pair that near.h excludes: corners within two edges of the vertex, and the
 * other side of a block that is crushed through itself. */
static void check_pairs(const blocks *b)
{
    spl_contacts *c = contacts_of(b);
    const spl_near *near = spl_contacts_near(c);
    int32_t count, close = 0, through = 0;
    CHECK(spl_contacts_find(c, b->x, b->pool) > 50);
    const spl_contact *list = spl_contacts_list(c, &count);
    for (int32_t i = 0; i < count; i++) {
        const spl_contact *k = &list[i];
        close += spl_near_any(near, near->shell->slot[k->vertex], k->corner, 3);
        const spl_vec3 *rest = b->body.tets.position;
        double top = rest[k->vertex].z, bottom = 0;
        for (int q = 0; q < 3; q++) bottom = fmax(bottom, rest[k->corner[q]].z);
        through += k->vertex / b->per == k->corner[0] / b->per && top == 1 && bottom == 0;
    }
    CHECK(close == 0 && through == 0);
    spl_contacts_destroy(c);
}

TEST(blocks_apart_and_at_rest_have_none)
{
    blocks b;
    two_blocks(&b, 6);
    spl_contacts *c = contacts_of(&b);
    CHECK(spl_contacts_find(c, b.x, b.pool) == 0);
    blocks_move(&b, 1, shifted(-1e-6));
    CHECK(spl_contacts_find(c, b.x, b.pool) == 0);
    CHECK(spl_contacts_capacity(c) == 2 * 2 * (7 * 7 * 7 - 5 * 5 * 5));
    CHECK(spl_contacts_edge(c) > 1 / 6. && spl_contacts_edge(c) < sqrt(2) / 6);
    spl_contacts_destroy(c);
    blocks_free(&b);
}

TEST(what_overlaps_at_rest_is_left_alone_there_and_met_elsewhere)
{
    blocks b;
    supple_allocator a = spl_allocator_of(NULL);
    blocks_make(&b, 2, 8, -0.2137, &a, 1);
    REQUIRE(b.ok);
    spl_contacts *c = contacts_of(&b);
    CHECK(spl_contacts_find(c, b.x, b.pool) == 0);
    blocks_move(&b, 1, spl_v3(0.003, 0.011, -0.007));
    CHECK(spl_contacts_find(c, b.x, b.pool) == 0);
    blocks_move(&b, 1, spl_v3(-1.7, 0.011, -0.007)); /* their other ends meet */
    CHECK(spl_contacts_find(c, b.x, b.pool) > 0);
    spl_contacts_destroy(c);
    blocks_free(&b);
}

TEST(vertices_that_bones_hold_make_no_contacts_but_are_in_the_way)
{
    blocks b;
    two_blocks(&b, 6);
    for (int32_t v = b.per; v < 2 * b.per; v++) b.body.bone[v] = 0;
    spl_contacts *c = contacts_of(&b);
    int32_t count;
    blocks_move(&b, 1, shifted(0.1));
    CHECK(spl_contacts_find(c, b.x, b.pool) > 10);
    const spl_contact *list = spl_contacts_list(c, &count);
    for (int32_t i = 0; i < count; i++) CHECK(list[i].vertex < b.per);
    spl_contacts_destroy(c);
    blocks_free(&b);
}

/* A slab of prisms' kind: every tet of a block leaves through the triangle it is told. */
TEST(prisms_are_left_through_their_own_triangle)
{
    blocks b;
    two_blocks(&b, 6);
    const spl_tets *t = &b.body.tets;
    b.body.prism = malloc((size_t)t->tet_count * sizeof *b.body.prism);
    for (int32_t k = 0; k < t->tet_count; k++) { /* the nearest triangle of the face that looks along -x or x */
        double least = INFINITY;
        b.body.prism[k] = -1;
        for (int32_t s = 0; s < t->surface_count; s++) {
            const int32_t *c = t->surface + 3 * s;
            double at = k < t->tet_count / 2 ? 1 : 3, d = 0;
            bool on = true;
            for (int i = 0; i < 3; i++) {
                on = on && t->position[c[i]].x == at;
                for (int j = 0; j < 4; j++) d += spl_distance(t->position[c[i]], t->position[t->tet[4 * k + j]]);
            }
            if (!on || d >= least) continue;
            least = d;
            b.body.prism[k] = s;
        }
        if (b.body.prism[k] < 0) abort();
    }
    spl_contacts *c = contacts_of(&b);
    int32_t count;
    blocks_move(&b, 1, shifted(0.3));
    CHECK(spl_contacts_find(c, b.x, b.pool) > 10);
    const spl_contact *list = spl_contacts_list(c, &count);
    for (int32_t i = 0; i < count; i++) {
        double at = list[i].vertex < b.per ? 3 + shifted(0.3).x : 1;
        CHECK_NEAR(list[i].target.x, at, 1e-12); /* never through the sides, however near they are */
    }
    spl_contacts_destroy(c);
    blocks_free(&b);
}

/* ---- persistence ---- */

static const spl_contact *contact_of(const spl_contacts *c, int32_t vertex)
{
    int32_t count;
    const spl_contact *list = spl_contacts_list(c, &count);
    for (int32_t i = 0; i < count; i++)
        if (list[i].vertex == vertex) return &list[i];
    return NULL;
}

TEST(pairs_that_touched_are_kept_until_they_are_a_quarter_edge_apart)
{
    blocks b;
    two_blocks(&b, 8);
    spl_contacts *c = contacts_of(&b);
    int32_t v = blocks_vertex(&b, 0, 8, 4, 4);
    double keep = 0.25 * spl_contacts_edge(c);
    blocks_move(&b, 1, shifted(0.02));
    spl_contacts_find(c, b.x, b.pool);
    const spl_contact *k = contact_of(c, v);
    REQUIRE(k);
    CHECK(k->age == 0);
    for (int i = 1; i <= 5; i++) {
        blocks_move(&b, 1, shifted(-0.99 * keep * i / 5));
        spl_contacts_find(c, b.x, b.pool);
        k = contact_of(c, v);
        REQUIRE(k);
        CHECK(k->age == i);
        CHECK_NEAR(k->depth, -0.99 * keep * i / 5, 1e-12);
    }
    blocks_move(&b, 1, shifted(-1.01 * keep));
    CHECK(spl_contacts_find(c, b.x, b.pool) == 0);
    blocks_move(&b, 1, shifted(-0.5 * keep));
    CHECK(spl_contacts_find(c, b.x, b.pool) == 0); /* new pairs begin inside only */
    blocks_move(&b, 1, shifted(0.02));
    spl_contacts_find(c, b.x, b.pool);
    spl_contacts_reset(c);
    blocks_move(&b, 1, shifted(-0.5 * keep));
    CHECK(spl_contacts_find(c, b.x, b.pool) == 0);
    spl_contacts_destroy(c);
    blocks_free(&b);
}

TEST(a_partner_slides_to_the_next_triangle)
{
    blocks b;
    two_blocks(&b, 8);
    spl_contacts *c = contacts_of(&b);
    int32_t v = blocks_vertex(&b, 0, 8, 4, 4), slid = 0, last = -1;
    for (int i = 0; i <= 30; i++) {
        spl_vec3 by = shifted(i % 2 ? 0.01 : -0.01);
        if (i == 0) by = shifted(0.01);
        by.y += 0.01 * i;
        blocks_move(&b, 1, by);
        spl_contacts_find(c, b.x, b.pool);
        const spl_contact *k = contact_of(c, v);
        REQUIRE(k);
        CHECK(k->age == i);
        CHECK_NEAR(k->target.y, 0.5, 1e-12);
        slid += k->partner != last;
        last = k->partner;
    }
    CHECK(slid > 3);
    spl_contacts_destroy(c);
    blocks_free(&b);
}

TEST(refreshing_follows_the_surface)
{
    blocks b;
    two_blocks(&b, 8);
    spl_contacts *c = contacts_of(&b);
    int32_t v = blocks_vertex(&b, 0, 8, 4, 4);
    blocks_move(&b, 1, shifted(0.05));
    int32_t count = spl_contacts_find(c, b.x, b.pool), again;
    blocks_move(&b, 1, shifted(0.03));
    spl_contacts_refresh(c, b.x);
    CHECK_NEAR(contact_of(c, v)->depth, 0.03, 1e-12);
    blocks_move(&b, 1, shifted(-0.1));
    spl_contacts_refresh(c, b.x);
    CHECK_NEAR(contact_of(c, v)->depth, -0.1, 1e-12);
    spl_contacts_list(c, &again);
    CHECK(again == count);
    spl_contacts_destroy(c);
    blocks_free(&b);
}

/* ---- against the slow twin ---- */

/* A crumpled pile: blocks in one place, every vertex moved. */
static void crumple(blocks *b, double by)
{
    srand(7);
    for (int32_t k = 0; k < b->count; k++) blocks_move(b, k, spl_v3(-2.8 * k, 0.1 * k, 0.05 * k));
    for (int32_t i = 0; i < 3 * b->count * b->per; i++) b->x[i] += by * blocks_random();
}

static bool twin_inside(const blocks *b, int32_t tet, spl_vec3 p)
{
    const int32_t *c = b->body.tets.tet + 4 * (size_t)tet;
    spl_vec3 q[4];
    for (int k = 0; k < 4; k++) memcpy(&q[k], b->x + 3 * (size_t)c[k], sizeof q[k]);
    for (int k = 0; k < 4; k++) { /* on the inner side of every face */
        spl_vec3 f = q[spl_tet_face[k][0]], g = q[spl_tet_face[k][1]], h = q[spl_tet_face[k][2]];
        spl_vec3 n = spl_cross(spl_sub(g, f), spl_sub(h, f));
        if (!(spl_dot(n, spl_sub(q[k], f)) < 0 && spl_dot(n, spl_sub(p, f)) <= 0)) return false;
    }
    return true;
}

TEST(the_hash_finds_what_trying_all_finds)
{
    blocks b;
    supple_allocator a = spl_allocator_of(NULL);
    blocks_make(&b, 3, 6, 2, &a, 2);
    REQUIRE(b.ok);
    crumple(&b, 0.05);
    spl_shell shell;
    spl_hits hits;
    REQUIRE(spl_shell_create(&b.solid, b.pool, &shell, NULL) == SUPPLE_OK);
    REQUIRE(spl_hits_create(&shell, shell.vertex_count, shell.vertex, &hits, NULL) == SUPPLE_OK);
    for (int round = 0; round < 4; round++) {
        if (round == 1) b.x[0] = 1e4; /* a vertex that flies away, one that is none, all far from the origin */
        if (round == 2) b.x[4] = NAN;
        for (int32_t i = 0; round == 3 && i < 3 * b.count * b.per; i++) b.x[i] -= 50;
        spl_vec3 *p = malloc((size_t)shell.vertex_count * sizeof *p);
        for (int32_t v = 0; v < shell.vertex_count; v++) p[v] = spl_shell_point(b.x, shell.vertex[v]);
        spl_hits_find(&hits, p, b.x, 0, NULL, NULL, b.pool);
        int32_t at = 0, different = 0;
        for (int32_t v = 0; v < shell.vertex_count; v++)
            for (int32_t t = 0; t < shell.tet_count; t++) {
                const int32_t *c = shell.tet + 4 * (size_t)t;
                int32_t own = shell.vertex[v];
                if (c[0] == own || c[1] == own || c[2] == own || c[3] == own || !twin_inside(&b, t, p[v])) continue;
                if (at < hits.pair_count && hits.pair[at].point == v && hits.pair[at].tet == t)
                    at++;
                else
                    different++;
            }
        CHECK(different == 0 && at == hits.pair_count && at > 100);
        free(p);
    }
    spl_hits_release(&hits);
    spl_shell_release(&shell);
    blocks_free(&b);
}

TEST(excluded_pairs_are_not_found)
{
    blocks b;
    two_blocks(&b, 8);
    crumple(&b, 0.3);
    check_pairs(&b);
    blocks_move(&b, 0, spl_v3(0, 0, 0));
    blocks_move(&b, 1, shifted(0.1));
    for (int32_t v = 0; v < b.per; v++) /* the upper half of the first goes down through the lower one */
        if (b.x[3 * v + 2] > 0.5) b.x[3 * v + 2] = 1.05 - b.x[3 * v + 2];
    check_pairs(&b);
    blocks_free(&b);
}

/* Vertices within two edges, by going through all tets twice. */
TEST(neighbours_are_those_within_two_edges)
{
    blocks b;
    two_blocks(&b, 5);
    const spl_tets *t = &b.body.tets;
    spl_shell shell;
    spl_near near;
    REQUIRE(spl_shell_create(&b.solid, b.pool, &shell, NULL) == SUPPLE_OK);
    REQUIRE(spl_near_create(&shell, b.pool, &near, NULL) == SUPPLE_OK);
    CHECK(near.rest_count == 0);
    int32_t *ring = malloc((size_t)t->vertex_count * sizeof *ring);
    for (int32_t v = 0; v < shell.vertex_count; v++) {
        for (int32_t w = 0; w < t->vertex_count; w++) ring[w] = w == shell.vertex[v] ? 0 : 9;
        for (int pass = 0; pass < 2; pass++)
            for (int32_t k = 0; k < t->tet_count; k++)
                for (int i = 0; i < 16; i++) {
                    int32_t from = t->tet[4 * k + i / 4], to = t->tet[4 * k + i % 4];
                    if (ring[from] == pass && ring[to] > pass + 1) ring[to] = pass + 1;
                }
        for (int32_t w = 0; w < t->vertex_count; w++) CHECK(spl_near_vertex(&near, v, w) == (ring[w] <= 2));
    }
    free(ring);
    spl_near_release(&near);
    spl_shell_release(&shell);
    blocks_free(&b);
}

/* ---- threads, memory, bad numbers ---- */

TEST(the_same_bits_at_any_number_of_threads)
{
    spl_contact *kept[3];
    int32_t threads[3] = {1, 2, 7}, counts[3];
    for (int i = 0; i < 3; i++) {
        blocks b;
        supple_allocator a = spl_allocator_of(NULL);
        blocks_make(&b, 3, 10, 2, &a, threads[i]);
        REQUIRE(b.ok);
        spl_contacts *c = contacts_of(&b);
        crumple(&b, 0.02);
        spl_contacts_find(c, b.x, b.pool);
        for (int32_t k = 0; k < 3 * b.per; k++) b.x[k] += 0.01;
        spl_contacts_find(c, b.x, b.pool);
        const spl_contact *list = spl_contacts_list(c, &counts[i]);
        kept[i] = malloc((size_t)counts[i] * sizeof *list);
        memcpy(kept[i], list, (size_t)counts[i] * sizeof *list);
        spl_contacts_destroy(c);
        blocks_free(&b);
    }
    CHECK(counts[0] > 100 && counts[1] == counts[0] && counts[2] == counts[0]);
    for (int i = 1; i < 3; i++) CHECK(memcmp(kept[0], kept[i], (size_t)counts[0] * sizeof **kept) == 0);
    for (int i = 0; i < 3; i++) free(kept[i]);
}

TEST(vertices_rise_and_none_stands_twice)
{
    blocks b;
    two_blocks(&b, 8);
    spl_contacts *c = contacts_of(&b);
    int32_t count;
    crumple(&b, 0.05);
    spl_contacts_find(c, b.x, b.pool);
    const spl_contact *list = spl_contacts_list(c, &count);
    CHECK(count > 50 && count <= spl_contacts_capacity(c));
    for (int32_t i = 1; i < count; i++) CHECK(list[i].vertex > list[i - 1].vertex);
    spl_contacts_destroy(c);
    blocks_free(&b);
}

TEST(numbers_that_are_none_do_no_harm)
{
    blocks b;
    two_blocks(&b, 4);
    spl_contacts *c = contacts_of(&b);
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e300};
    for (int i = 0; i < 4; i++) {
        blocks_move(&b, 1, shifted(0.1));
        for (int32_t k = 0; k < b.per; k += 3) b.x[3 * k + i % 3] = bad[i];
        spl_contacts_find(c, b.x, b.pool);
        spl_contacts_refresh(c, b.x);
    }
    for (int32_t k = 0; k < 3 * 2 * b.per; k++) b.x[k] = NAN;
    CHECK(spl_contacts_find(c, b.x, b.pool) == 0);
    for (int32_t k = 0; k < 3 * 2 * b.per; k++) b.x[k] = 0.5; /* all in one place */
    CHECK(spl_contacts_find(c, b.x, b.pool) == 0);
    spl_contacts_destroy(c);
    blocks_free(&b);
}

TEST(creation_survives_every_failed_allocation)
{
    for (long at = 0;; at++) {
        failing f = {.fail_at = at};
        supple_allocator a = failing_allocator(&f);
        blocks b;
        blocks_make(&b, 2, 3, -0.2, &a, 1);
        REQUIRE(b.ok);
        supple_config config = supple_config_default();
        config.allocator = a;
        spl_contacts *c = NULL;
        supple_error error = {0};
        supple_result result = spl_contacts_create(&b.solid, NULL, NULL, &config, b.pool, &c, &error);
        CHECK((result == SUPPLE_OK) == (c != NULL));
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        long made = f.requests;
        if (c) spl_contacts_find(c, b.x, b.pool);
        CHECK(f.requests == made); /* nothing is allocated after creation */
        spl_contacts_destroy(c);
        CHECK(f.live == 0);
        blocks_free(&b);
        if (result == SUPPLE_OK) break;
        REQUIRE(at < 1000);
    }
}

TEST_CASES(RUN(a_block_pushed_into_another_is_as_deep_as_it_was_pushed), RUN(a_face_does_not_come_out_behind),
           RUN(excluded_pairs_are_not_found), RUN(blocks_apart_and_at_rest_have_none),
           RUN(what_overlaps_at_rest_is_left_alone_there_and_met_elsewhere),
           RUN(vertices_that_bones_hold_make_no_contacts_but_are_in_the_way),
           RUN(prisms_are_left_through_their_own_triangle),
           RUN(pairs_that_touched_are_kept_until_they_are_a_quarter_edge_apart),
           RUN(a_partner_slides_to_the_next_triangle), RUN(refreshing_follows_the_surface),
           RUN(the_hash_finds_what_trying_all_finds), RUN(neighbours_are_those_within_two_edges),
           RUN(the_same_bits_at_any_number_of_threads), RUN(vertices_rise_and_none_stands_twice),
           RUN(numbers_that_are_none_do_no_harm), RUN(creation_survives_every_failed_allocation))
