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
    return (spl_box){{p[0], p[1], p[2], 0}, {p[0] + 0.01F, p[1] + 0.01F, p[2] + 0.01F, 0}, item % 2};
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

/* The boxes of a row lie in the one that the level above has for it; lanes to spare are empty. */
static void check_row(const spl_box_tree *t, int level, int32_t r, int32_t used)
{
    for (int lane = 0; lane < SPL_LANES; lane++) {
        spl_box b = spl_box_of_lane(&t->level[level][r], lane), above = {{0}, {0}, 0};
        if (level + 1 < t->level_count) above = spl_box_of_lane(&t->level[level + 1][r / SPL_LANES], r % SPL_LANES);
        if (lane >= used)
            CHECK(b.low[0] > b.high[0] && b.low[1] > b.high[1] && b.low[2] > b.high[2] && !b.free);
        else
            CHECK(level + 1 == t->level_count || within(&b, &above));
    }
}

/* Every item is there once, and every node holds what is below it. */
static void check_tree(const spl_box_tree *t, const places *p)
{
    static int seen[COUNT];
    memset(seen, 0, sizeof seen);
    int32_t count = COUNT;
    for (int level = 0; level < t->level_count; level++) {
        int32_t rows = (count + SPL_LANES - 1) / SPL_LANES;
        for (int32_t r = 0; r < rows; r++) check_row(t, level, r, count - SPL_LANES * r);
        count = rows;
    }
    CHECK(count == 1);
    for (int32_t i = 0; i < COUNT; i++) {
        spl_box b = place_box(p, t->item[i]), is = spl_box_of_lane(&t->level[0][i / SPL_LANES], i % SPL_LANES);
        CHECK(memcmp(&b, &is, sizeof b) == 0);
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

/* Whole numbers, so that boxes touch often; every fourth lane is empty or holds all. */
TEST(a_row_is_asked_as_eight_boxes)
{
    random_state r = {5};
    int met = 0;
    for (int n = 0; n < 20000; n++) {
        spl_box one[SPL_LANES + 1];
        spl_box_row row = {0};
        for (int i = 0; i <= SPL_LANES; i++) {
            one[i].free = random_signed(&r) > 0;
            for (int k = 0; k < 3; k++) {
                float at = (float)floor(4 * random_share(&r)), size = (float)floor(3 * random_share(&r));
                one[i].low[k] = i % 4 == 3 && n % 2 ? (n % 4 == 1 ? INFINITY : -INFINITY) : at;
                one[i].high[k] = i % 4 == 3 && n % 2 ? -one[i].low[k] : at + size;
                if (i == SPL_LANES) continue;
                row.low[k][i] = one[i].low[k];
                row.high[k][i] = one[i].high[k];
            }
            if (i < SPL_LANES) row.free |= (unsigned)one[i].free << i;
        }
        const spl_box *b = &one[SPL_LANES];
        unsigned bits = spl_box_row_meets(&row, b);
        for (int i = 0; i < SPL_LANES; i++) {
            bool meets = b->free || one[i].free;
            for (int k = 0; k < 3; k++) meets = meets && one[i].low[k] <= b->high[k] && b->low[k] <= one[i].high[k];
            CHECK((bits >> i & 1) == meets);
            met += meets;
        }
        CHECK(bits >> SPL_LANES == 0);
    }
    CHECK(met > 10000 && met < 150000);
}

static float round_one(double v, bool up)
{
    double four[4] = {1, 2, v, 4};
    spl_f4 f = up ? spl_round_up(spl_d4_load(four)) : spl_round_down(spl_d4_load(four));
    return f[0] == 1 && f[1] == 2 && f[3] == 4 ? f[2] : 0;
}

TEST(floats_are_rounded_outwards)
{
    random_state r = {3};
    for (int i = 0; i < 100000; i++) {
        double v = random_signed(&r) * random_size(&r, 1e-46, 1e40);
        float low = round_one(v, false), high = round_one(v, true);
        CHECK((double)low <= v && v <= (double)high);
        CHECK(fabs(v) > 3e38 || (double)high - (double)low <= 4e-7 * fabs(v) + 1e-44);
    }
    CHECK(round_one(0.5, false) == 0.5F && round_one(0.5, true) == 0.5F);
    CHECK(round_one(NAN, false) == -INFINITY && round_one(NAN, true) == INFINITY);
    double most = (double)FLT_MAX, above[3] = {most * (1 + 1e-12), most * 1.01, INFINITY};
    CHECK(round_one(most, false) == FLT_MAX && round_one(most, true) == FLT_MAX);
    for (int i = 0; i < 3; i++) {
        CHECK(round_one(above[i], false) == FLT_MAX && round_one(above[i], true) == INFINITY);
        CHECK(round_one(-above[i], false) == -INFINITY && round_one(-above[i], true) == -FLT_MAX);
    }
}

TEST_CASES(RUN(a_tree_follows_and_is_built_again_when_that_no_longer_serves), RUN(a_row_is_asked_as_eight_boxes),
           RUN(floats_are_rounded_outwards))
