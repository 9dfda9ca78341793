#include "core/memory.h"
#include "geom/box_tree.h"
#include "geom/random_pairs.h"
#include "test.h"

enum { COUNT = 3000 };

typedef struct places {
    float at[COUNT][3];
} places;

static spl_box place_box(const void *context, int32_t item)
{
    const float *p = ((const places *)context)->at[item];
    return (spl_box){{p[0], p[1], p[2]}, {p[0] + 0.01F, p[1] + 0.01F, p[2] + 0.01F}, item % 2};
}

static void scatter(places *p, uint64_t seed)
{
    random_state r = {seed};
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < 3; k++) p->at[i][k] = (float)random_signed(&r);
}

static bool within(const spl_box *b, const spl_box *in)
{
    bool ok = in->free || !b->free;
    for (int k = 0; k < 3; k++) ok = ok && b->low[k] >= in->low[k] && b->high[k] <= in->high[k];
    return ok;
}

/* Every item is there once, and every node holds what is below it. */
static void check_tree(const spl_box_tree *t, const places *p)
{
    static int seen[COUNT];
    memset(seen, 0, sizeof seen);
    for (int32_t h = 2; h < 2 << t->depth; h++) CHECK(within(&t->node[h], &t->node[h / 2]));
    for (int32_t leaf = 0; leaf < spl_box_tree_leaf_count(t); leaf++)
        for (int32_t i = spl_box_tree_first(t, leaf); i < spl_box_tree_first(t, leaf + 1); i++) {
            spl_box b = place_box(p, t->item[i]);
            CHECK(memcmp(b.low, t->box[i].low, sizeof b.low) == 0);
            CHECK(within(&b, &t->node[(1 << t->depth) + leaf]));
            seen[t->item[i]]++;
        }
    for (int i = 0; i < COUNT; i++) CHECK(seen[i] == 1);
}

TEST(a_tree_follows_and_is_built_again_when_that_no_longer_serves)
{
    static places p;
    supple_allocator a = spl_allocator_of(NULL);
    spl_box_tree t;
    REQUIRE(spl_box_tree_create(COUNT, &a, &t, NULL) == SUPPLE_OK);
    scatter(&p, 1);
    spl_box_tree_fit(&t, place_box, &p, NULL);
    check_tree(&t, &p);
    int32_t first[COUNT];
    memcpy(first, t.item, sizeof first);
    double built = t.looseness;
    for (int i = 0; i < COUNT; i++) /* shear and shift: neighbours stay neighbours */
        p.at[i][0] += 0.3F * p.at[i][1] + 7;
    spl_box_tree_fit(&t, place_box, &p, NULL);
    check_tree(&t, &p);
    CHECK(memcmp(first, t.item, sizeof first) == 0);
    scatter(&p, 2);
    spl_box_tree_fit(&t, place_box, &p, NULL);
    check_tree(&t, &p);
    CHECK(memcmp(first, t.item, sizeof first) != 0);
    CHECK(t.looseness < 1.2 * built);
    spl_box_tree_release(&t);
}

TEST(floats_are_rounded_outwards)
{
    random_state r = {3};
    for (int i = 0; i < 100000; i++) {
        double v = random_signed(&r) * random_size(&r, 1e-46, 1e40);
        float low = spl_round_down(v), high = spl_round_up(v);
        CHECK((double)low <= v && v <= (double)high);
        CHECK(fabs(v) > 3e38 || (double)high - (double)low <= 4e-7 * fabs(v) + 1e-44);
    }
    CHECK(spl_round_down(0.5) == 0.5F && spl_round_up(0.5) == 0.5F);
    CHECK(isinf(spl_round_down(NAN)) && isinf(spl_round_up(NAN)));
    CHECK(isinf(spl_round_down(-1e300)) && isinf(spl_round_up(1e300)));
    CHECK(isfinite(spl_round_down(1e300)) && isfinite(spl_round_up(-1e300)));
}

TEST_CASES(RUN(a_tree_follows_and_is_built_again_when_that_no_longer_serves), RUN(floats_are_rounded_outwards))
