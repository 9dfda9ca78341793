#include "contact/polish.h"
#include "contact/skinned_blocks.h"
#include "failing.h"

typedef struct scene {
    skinned_blocks s;
    spl_contacts *contacts;
    spl_polish *polish;
    float *before;
} scene;

static void scene_make(scene *w, int32_t threads)
{
    supple_allocator a = spl_allocator_of(NULL);
    skinned_blocks_make(&w->s, 8, 2, &a, threads);
    const spl_solid *solid = &w->s.b.solid;
    if (spl_contacts_create(solid, NULL, NULL, NULL, w->s.b.pool, &w->contacts, NULL) != SUPPLE_OK ||
        spl_polish_create(w->contacts, NULL, &w->polish, NULL) != SUPPLE_OK)
        abort();
    w->before = malloc((size_t)w->s.primitive.vertex_count * 12);
}

static void scene_free(scene *w)
{
    spl_polish_destroy(w->polish);
    spl_contacts_destroy(w->contacts);
    skinned_blocks_free(&w->s);
    free(w->before);
}

/* Pushes, finds contacts and polishes; returns how many vertices were in flesh. */
static int32_t run(scene *w, double depth)
{
    skinned_blocks *s = &w->s;
    skinned_blocks_push(s, depth);
    memcpy(w->before, s->visual, (size_t)s->primitive.vertex_count * 12);
    spl_contacts_find(w->contacts, s->b.x, s->b.pool);
    return spl_polish_apply(w->polish, s->b.x, false, s->visual, s->b.pool);
}

static double moved(const scene *w, int32_t i)
{
    return spl_distance(spl_v3_from_float(w->s.visual + 3 * i), spl_v3_from_float(w->before + 3 * i));
}

/* How deep the visual vertices are in the other block, which is a box. */
static double deepest(const scene *w, const float *visual)
{
    const blocks *b = &w->s.b;
    double depth = 0;
    for (int32_t i = 0; i < w->s.primitive.vertex_count; i++) {
        int32_t other = 1 - w->s.body[i] / b->per;
        const double *low = b->x + 3 * (size_t)(other * b->per), *high = low + 3 * (size_t)(b->per - 1);
        double in = INFINITY;
        for (int k = 0; k < 3; k++)
            in = fmin(in, fmin((double)visual[3 * i + k] - low[k], high[k] - (double)visual[3 * i + k]));
        depth = fmax(depth, in);
    }
    return depth;
}

TEST(vertices_come_out_of_the_flesh_they_are_in)
{
    scene w;
    scene_make(&w, 1);
    double edge = spl_contacts_edge(w.contacts);
    for (double depth = 0.002; depth < edge; depth += 0.02) {
        CHECK(run(&w, depth) > 50);
        CHECK_NEAR(deepest(&w, w.before), depth, 1e-6);
        CHECK(deepest(&w, w.s.visual) < 1e-6);
        for (int32_t i = 0; i < w.s.primitive.vertex_count; i++) CHECK(moved(&w, i) < 2 * depth);
    }
    scene_free(&w);
}

TEST(copies_at_seams_move_as_one_and_neighbours_follow)
{
    scene w;
    scene_make(&w, 1);
    run(&w, 0.05);
    int32_t half = w.s.primitive.vertex_count / 2, still = 0, followed = 0;
    double steepest = 0;
    for (int32_t i = 0; i < half; i++) CHECK(memcmp(w.s.visual + 3 * i, w.s.visual + 3 * (i + half), 12) == 0);
    for (int32_t t = 0; t < 3 * w.s.primitive.triangle_count; t++) {
        int32_t i = w.s.primitive.triangle[t], k = w.s.primitive.triangle[t % 3 == 2 ? t - 2 : t + 1];
        steepest = fmax(steepest, fabs(moved(&w, i) - moved(&w, k)));
        still += moved(&w, i) == 0;
        followed += moved(&w, i) > 0 && moved(&w, i) < 0.02;
    }
    CHECK(still > 500 && followed > 100); /* it is local, and it fades */
    CHECK(steepest < 0.04);
    scene_free(&w);
}

TEST(what_is_deep_is_left_to_the_solver)
{
    scene w;
    scene_make(&w, 1);
    double edge = spl_contacts_edge(w.contacts);
    CHECK(run(&w, 1.7 * edge) < 150); /* only rims, which are less deep */
    for (int32_t i = 0; i < w.s.primitive.vertex_count; i++) CHECK(moved(&w, i) < 1.25 * edge);
    scene_free(&w);
}

/* Flesh that bears no contact is not moved, on either side. */
TEST(flesh_that_bears_less_moves_less)
{
    scene w;
    scene_make(&w, 1);
    int32_t n = w.s.b.body.tets.vertex_count;
    double *share = malloc((size_t)n * sizeof *share), most[3] = {0};
    for (int k = 0; k < 3; k++) { /* none, one block, both */
        for (int32_t v = 0; v < n; v++) share[v] = k == 0 || (k == 1 && v < n / 2) ? 0 : 1;
        spl_contacts_bear(w.contacts, share);
        skinned_blocks_push(&w.s, 0.05);
        memcpy(w.before, w.s.visual, (size_t)w.s.primitive.vertex_count * 12);
        spl_polish_apply(w.polish, w.s.b.x, true, w.s.visual, w.s.b.pool);
        for (int32_t i = 0; i < w.s.primitive.vertex_count; i++) most[k] = fmax(most[k], moved(&w, i));
    }
    CHECK(most[0] == 0 && most[1] == 0 && most[2] > 0.04);
    free(share);
    scene_free(&w);
}

TEST(without_contacts_no_bit_changes)
{
    scene w;
    scene_make(&w, 1);
    CHECK(run(&w, -0.2) == 0);
    CHECK(memcmp(w.before, w.s.visual, (size_t)w.s.primitive.vertex_count * 12) == 0);
    run(&w, 0.04);
    CHECK(run(&w, -0.2) == 0); /* and nothing is left of the last call */
    CHECK(memcmp(w.before, w.s.visual, (size_t)w.s.primitive.vertex_count * 12) == 0);
    scene_free(&w);
}

TEST(the_same_bits_at_any_number_of_threads)
{
    int32_t threads[3] = {1, 2, 7};
    float *kept[3];
    size_t size = 0;
    for (int i = 0; i < 3; i++) {
        scene w;
        scene_make(&w, threads[i]);
        run(&w, 0.05);
        size = (size_t)w.s.primitive.vertex_count * 12;
        kept[i] = memcpy(malloc(size), w.s.visual, size);
        scene_free(&w);
    }
    for (int i = 1; i < 3; i++) CHECK(memcmp(kept[0], kept[i], size) == 0);
    for (int i = 0; i < 3; i++) free(kept[i]);
}

TEST(creation_survives_every_failed_allocation)
{
    for (long at = 0;; at++) {
        failing f = {.fail_at = -1};
        supple_allocator a = failing_allocator(&f);
        supple_config config = supple_config_default();
        config.allocator = a;
        skinned_blocks s;
        skinned_blocks_make(&s, 3, 2, &a, 1);
        spl_contacts *contacts = NULL;
        REQUIRE(spl_contacts_create(&s.b.solid, NULL, NULL, &config, s.b.pool, &contacts, NULL) == SUPPLE_OK);
        f.fail_at = f.requests + at;
        spl_polish *p = NULL;
        supple_result result = spl_polish_create(contacts, &config, &p, NULL);
        CHECK((result == SUPPLE_OK) == (p != NULL));
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        skinned_blocks_push(&s, 0.05);
        long made = f.requests;
        spl_contacts_find(contacts, s.b.x, s.b.pool);
        if (p) spl_polish_apply(p, s.b.x, true, s.visual, s.b.pool);
        CHECK(f.requests == made);
        spl_polish_destroy(p);
        spl_contacts_destroy(contacts);
        CHECK(f.live == 0);
        skinned_blocks_free(&s);
        if (result == SUPPLE_OK) break;
        REQUIRE(at < 1000);
    }
}

TEST_CASES(RUN(vertices_come_out_of_the_flesh_they_are_in), RUN(copies_at_seams_move_as_one_and_neighbours_follow),
           RUN(what_is_deep_is_left_to_the_solver), RUN(flesh_that_bears_less_moves_less),
           RUN(without_contacts_no_bit_changes), RUN(the_same_bits_at_any_number_of_threads),
           RUN(creation_survives_every_failed_allocation))
