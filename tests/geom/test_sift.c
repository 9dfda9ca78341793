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

/* ---- edges that pass through triangles ---- */

/* Eight edges, and eight triangles, of vertices of their own. */
typedef struct crossing_eight {
    double edge[SPL_LANES][2][3], triangle[SPL_LANES][3][3];
    spl_sift_row first, second;
} crossing_eight;

static void fit_crossings(crossing_eight *e)
{
    static const double still[3] = {0};
    spl_sift_vertex vertex[5 * SPL_LANES];
    int32_t item[SPL_LANES], first[2 * SPL_LANES], second[3 * SPL_LANES];
    for (int i = 0; i < SPL_LANES; i++) {
        item[i] = i;
        for (int c = 0; c < 5; c++) {
            see(c < 2 ? e->edge[i][c] : e->triangle[i][c - 2], still, e->edge[0][0], &vertex[5 * i + c]);
            *(c < 2 ? &first[2 * i + c] : &second[3 * i + c - 2]) = 5 * i + c;
        }
    }
    spl_box_tree t = {.item_count = SPL_LANES, .item = item};
    spl_sift_fit(&e->first, &t, first, 2, vertex, 0, NULL);
    spl_sift_fit(&e->second, &t, second, 3, vertex, 0, NULL);
}

static bool crossing_stays(const crossing_eight *e, int i, bool *agree)
{
    unsigned lanes = 1U << i, all = (1U << SPL_LANES) - 1;
    spl_sift *plain = spl_sift_kernels_plain.edge_triangles, *best = spl_sift_kernels_best()->edge_triangles;
    unsigned left = plain(&e->first, i, &e->second, lanes);
    *agree = left == (plain(&e->first, i, &e->second, all) & lanes) && left == best(&e->first, i, &e->second, lanes);
    return left == lanes;
}

/* A triangle, thin ones too, and an edge from one side of it to the other through a point of it, some just so. */
static void make_crossings(crossing_eight *e, random_state *r, int n)
{
    double place[3], scale = n % 3 ? 1 : random_size(r, 1e-6, 1e6);
    random_vector(r, n % 5 ? 0 : 100 * scale, place);
    for (int i = 0; i < SPL_LANES; i++) {
        double w[3], way[3], at[3], sum = 0;
        for (int c = 0; c < 3; c++) {
            random_vector(r, scale, e->triangle[i][c]);
            w[c] = n % 4 ? random_size(r, 1e-3, 1) : (double)(c == n / 4 % 3); /* or a corner */
            sum += w[c];
            for (int k = 0; k < 3 && c == 2 && n % 7 == 0; k++) /* nearly on the line of the others */
                e->triangle[i][2][k] = e->triangle[i][0][k] + 1e-4 * e->triangle[i][2][k];
        }
        random_vector(r, scale, way);
        for (int k = 0; k < 3; k++) {
            at[k] = 0;
            for (int c = 0; c < 3; c++) {
                at[k] += w[c] / sum * e->triangle[i][c][k];
            }
            e->edge[i][0][k] = place[k] + at[k] - (n % 11 ? 1 : 0) * way[k];
            e->edge[i][1][k] = place[k] + at[k] + way[k];
            for (int c = 0; c < 3; c++) e->triangle[i][c][k] += place[k];
        }
    }
}

TEST(an_edge_through_a_triangle_stays)
{
    random_state r = {5};
    int wrong = 0;
    for (int n = 0; n < test_size(40000, 4000); n++) {
        crossing_eight e;
        bool agree;
        make_crossings(&e, &r, n);
        fit_crossings(&e);
        for (int i = 0; i < SPL_LANES; i++) {
            wrong += !crossing_stays(&e, i, &agree);
            wrong += !agree;
        }
    }
    CHECK(wrong == 0);
}

/* Edges that were taken along by more than they and the triangle are long, and those that end in front of it: most
 * are told. One that shares a vertex always is. */
TEST(an_edge_beside_a_triangle_is_taken_out)
{
    random_state r = {6};
    int out[2] = {0}, asked = 0;
    for (int n = 1; n < 2000; n++) {
        crossing_eight e;
        bool agree;
        make_crossings(&e, &r, 5 * 3 * 7 * n + 1);
        for (int side = 0; side < 2; side++) {
            crossing_eight moved = e;
            for (int i = 0; i < SPL_LANES; i++)
                for (int k = 0; k < 3; k++) {
                    double way = e.edge[i][1][k] - e.edge[i][0][k];
                    for (int c = 0; c < 2; c++) moved.edge[i][c][k] += side == 0 ? 0.55 * way : 8 * (k == n % 3);
                }
            fit_crossings(&moved);
            for (int i = 0; i < SPL_LANES; i++) out[side] += !crossing_stays(&moved, i, &agree) && agree;
        }
        asked += SPL_LANES;
        e.second.v[n % 3][2] = e.first.v[n % 2][2];
        fit_crossings(&e);
        e.second.v[n % 3][2] = e.first.v[n % 2][2];
        CHECK(!crossing_stays(&e, 2, &agree) && agree);
    }
    CHECK(out[0] > 0.7 * asked);
    CHECK(out[1] == asked);
}

TEST_CASES(RUN(an_edge_through_a_triangle_stays), RUN(an_edge_beside_a_triangle_is_taken_out),
           RUN(what_is_near_enough_stays), RUN(what_is_far_is_taken_out), RUN(what_shares_a_vertex_is_taken_out),
           RUN(what_is_no_number_stays))
