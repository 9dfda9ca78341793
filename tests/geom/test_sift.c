#include "geom/random_pairs.h"
#include "geom/sift.h"
#include "math/cpu.h"
#include "test.h"

/* Eight pairs of one kind, in a leaf of their first and one of their second items. */
typedef struct eight {
    spl_pair_kind kind;
    double x[SPL_LANES][4][3], d[SPL_LANES][4][3];
    spl_sift_row first, second;
} eight;

static void see(const double *x, const double *d, const double *origin, spl_sift_vertex *to)
{
    for (int k = 0; k < 3; k++) {
        to->at[k] = (float)(x[k] - origin[k]);
        to->way[k] = (float)d[k];
    }
    to->at[3] = 0;
    to->way[3] = spl_sift_rounding(to);
}

static void fit(eight *e, double radius)
{
    spl_sift_vertex vertex[4 * SPL_LANES];
    int32_t item[SPL_LANES], first[2 * SPL_LANES], second[3 * SPL_LANES];
    int split = spl_pair_split(e->kind);
    for (int i = 0; i < SPL_LANES; i++) {
        item[i] = i;
        for (int c = 0; c < 4; c++) {
            see(e->x[i][c], e->d[i][c], e->x[0][0], &vertex[4 * i + c]);
            *(c < split ? &first[split * i + c] : &second[(4 - split) * i + c - split]) = 4 * i + c;
        }
    }
    spl_box_tree t = {.item_count = SPL_LANES, .item = item};
    spl_sift_fit(&e->first, &t, first, split, vertex, radius, NULL);
    spl_sift_fit(&e->second, &t, second, 4 - split, vertex, radius, NULL);
}

/* Whether pair i is left in, by all the kernels there are. */
static bool stays(const eight *e, int i, bool *agree)
{
    bool point = e->kind == SPL_PAIR_POINT_TRIANGLE;
    const spl_sift_kernels *plain = &spl_sift_kernels_plain, *best = spl_sift_kernels_best();
    unsigned lanes = 1U << i, all = (1U << SPL_LANES) - 1;
    spl_sift *one = point ? plain->point_triangles : plain->edge_edges;
    spl_sift *two = point ? best->point_triangles : best->edge_edges;
    unsigned left = one(&e->first, i, &e->second, lanes);
    *agree = left == (one(&e->first, i, &e->second, all) & lanes) && left == two(&e->first, i, &e->second, lanes);
    return left == lanes;
}

/* How much nearer the two may come, as spl_pairs_find has it. */
static double approach(const eight *e, int i)
{
    double mean[3] = {0}, most[2] = {0};
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 3; k++) mean[k] += e->d[i][c][k] / 4;
    for (int c = 0; c < 4; c++) {
        double square = 0;
        for (int k = 0; k < 3; k++) square += (e->d[i][c][k] - mean[k]) * (e->d[i][c][k] - mean[k]);
        int side = c >= spl_pair_split(e->kind);
        most[side] = fmax(most[side], square);
    }
    return sqrt(most[0]) + sqrt(most[1]);
}

static double distance(const eight *e, int i)
{
    return sqrt(spl_pair_nearest(e->kind, (const double(*)[3])e->x[i]).square);
}

static void make(eight *e, random_state *r, int n, double scale, double far, double pace)
{
    e->kind = n % 2 ? SPL_PAIR_POINT_TRIANGLE : SPL_PAIR_EDGE_EDGE;
    double place[3];
    random_vector(r, far * scale, place);
    for (int i = 0; i < SPL_LANES; i++) {
        random_pair(r, (n + i) % SHAPES, e->x[i]);
        for (int c = 0; c < 4; c++) {
            random_vector(r, pace * scale, e->d[i][c]);
            for (int k = 0; k < 3; k++) e->x[i][c][k] = place[k] + scale * e->x[i][c][k];
        }
    }
}

/* Each of the eight is asked with the radius within which it just is. */
static int check_eight(eight *e, int *wrong)
{
    int asked = 0;
    for (int i = 0; i < SPL_LANES; i++) {
        double radius = distance(e, i) - approach(e, i);
        bool agree;
        if (!(radius >= 0)) continue;
        fit(e, radius);
        *wrong += !stays(e, i, &agree);
        *wrong += !agree;
        asked++;
    }
    return asked;
}

/* Of all sizes that floats have and do not have, far away and near, at rest and in motion. */
TEST(what_is_near_enough_stays)
{
    random_state r = {1};
    int asked = 0, wrong = 0;
    for (int n = 0; n < test_size(40000, 4000); n++) {
        eight e;
        double scale = n % 3 ? 1 : random_size(&r, 1e-60, 1e60), far = n % 5 ? 0 : random_size(&r, 1, 1e12);
        make(&e, &r, n, scale, far, n % 7 ? random_size(&r, 1e-6, 0.3) : 0);
        asked += check_eight(&e, &wrong);
    }
    CHECK(wrong == 0);
    CHECK(asked > 20000);
}

/* Those twice as far as they may be, where floats can tell: most. */
TEST(what_is_far_is_taken_out)
{
    random_state r = {2};
    int far = 0, out = 0;
    bool agree;
    for (int n = 0; n < 2000; n++) {
        eight e;
        make(&e, &r, n, 1e-3, 100, n % 4 < 2 ? 0 : 0.01);
        for (int i = 0; i < SPL_LANES; i++) {
            double radius = 0.5 * distance(&e, i) - approach(&e, i);
            if (!(radius > 0) || distance(&e, i) < 1e-4) continue;
            fit(&e, radius);
            out += !stays(&e, i, &agree);
            far++;
        }
    }
    CHECK(far > 4000);
    CHECK(out > 0.9 * far);
}

TEST(what_shares_a_vertex_is_taken_out)
{
    random_state r = {3};
    eight e;
    bool agree;
    for (int n = 0; n < 2; n++) {
        make(&e, &r, n, 1, 0, 0);
        fit(&e, 100);
        for (int side = 0; side < spl_pair_split(e.kind); side++)
            for (int other = 0; other < 4 - spl_pair_split(e.kind); other++) {
                int32_t kept = e.second.v[other][4];
                CHECK(stays(&e, 4, &agree) && agree);
                e.second.v[other][4] = e.first.v[side][4];
                CHECK(!stays(&e, 4, &agree) && agree);
                e.second.v[other][4] = kept;
            }
    }
}

TEST(what_is_no_number_stays)
{
    random_state r = {4};
    double bad[5] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
    for (int n = 0; n < 4000; n++) {
        eight e;
        bool agree;
        make(&e, &r, n, 1, 0, n % 3 ? 0.1 : 0);
        int i = 1 + n % 7, c = n / 8 % 4, k = n % 3; /* the first pair is the origin */
        (n / 32 % 2 ? e.x : e.d)[i][c][k] = bad[n % 5];
        fit(&e, 1e-6);
        CHECK(stays(&e, i, &agree) && agree);
    }
}

TEST_CASES(RUN(what_is_near_enough_stays), RUN(what_is_far_is_taken_out), RUN(what_shares_a_vertex_is_taken_out),
           RUN(what_is_no_number_stays))
