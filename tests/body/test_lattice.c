#include "body/lattice.h"

#include "test.h"

static const spl_vec3 box_low = {-1.3, 0.2, 5}, box_high = {2.1, 0.9, 9.5};

static spl_lattice some_lattice(void)
{
    spl_lattice l;
    if (!spl_lattice_make(&l, box_low, box_high, 0.25, 2, 1000000)) abort();
    return l;
}

static int squared(const int32_t d[3])
{
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

/* Neighbours by distance alone: 2 within a colour, sqrt(3) between colours, in doubled coordinates. */
static bool are_neighbours(const int32_t a[3], const int32_t b[3])
{
    int32_t d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return squared(d) == 3 || squared(d) == 4;
}

static bool is_point(const int32_t c[3])
{
    return (c[0] & 1) == (c[1] & 1) && (c[1] & 1) == (c[2] & 1);
}

TEST(cell_tets_are_positive_with_two_opposite_long_edges)
{
    const int8_t(*tets)[4][3] = spl_lattice_tets();
    double total = 0;
    for (int t = 0; t < SPL_CELL_TETS; t++) {
        spl_vec3 x[4];
        for (int k = 0; k < 4; k++) {
            const int8_t *c = tets[t][k];
            x[k] = spl_v3(c[0], c[1], c[2]);
            CHECK(is_point((int32_t[]){c[0], c[1], c[2]}));
            CHECK((c[0] & 1) == (k < 2)); /* red first, then black */
        }
        double det = spl_dot(spl_sub(x[1], x[0]), spl_cross(spl_sub(x[2], x[0]), spl_sub(x[3], x[0])));
        CHECK_NEAR(det, 4, 0); /* 6 x 2/3: a twelfth of the cell's 8 */
        total += det / 6;
        for (int i = 0; i < 4; i++)
            for (int k = i + 1; k < 4; k++) {
                spl_vec3 e = spl_sub(x[i], x[k]);
                CHECK_NEAR(spl_dot(e, e), i / 2 == k / 2 ? 4 : 3, 0);
            }
    }
    CHECK_NEAR(total, 8, 1e-12);
}

/* Corners around a point, sorted, as one number. */
static int64_t key_of(int32_t corner[3][3])
{
    int64_t k[3];
    for (int i = 0; i < 3; i++) k[i] = ((corner[i][0] + 8) * 16 + corner[i][1] + 8) * 16 + corner[i][2] + 8;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            if (k[j] > k[j + 1]) {
                int64_t swap = k[j];
                k[j] = k[j + 1];
                k[j + 1] = swap;
            }
    return (k[0] * 4096 + k[1]) * 4096 + k[2];
}

/* The tets of the cells that have the point as a corner, less the point itself. */
static int tets_at(const int32_t at[3], int64_t *key)
{
    int count = 0;
    const int8_t(*tets)[4][3] = spl_lattice_tets();
    for (int cell = 0; cell < 343; cell++)
        for (int t = 0; t < SPL_CELL_TETS; t++) {
            const int32_t shift[3] = {2 * (cell % 7 - 3), 2 * (cell / 7 % 7 - 3), 2 * (cell / 49 - 3)};
            int32_t other[4][3];
            int others = 0;
            for (int k = 0; k < 4; k++) {
                for (int i = 0; i < 3; i++) other[others][i] = tets[t][k][i] + shift[i] - at[i];
                if (squared(other[others]) != 0) others++;
            }
            if (others == 3) key[count++] = key_of(other);
        }
    return count;
}

TEST(fan_is_the_24_tets_around_a_point_of_either_colour)
{
    spl_lattice l = some_lattice();
    REQUIRE(l.fan_count == SPL_FAN);
    const int32_t at[2][3] = {{0, 0, 0}, {1, 1, 1}};
    for (int colour = 0; colour < 2; colour++) {
        int64_t key[343 * SPL_CELL_TETS];
        int count = tets_at(at[colour], key), found = 0;
        CHECK(count == SPL_FAN);
        for (int f = 0; f < l.fan_count; f++) {
            int32_t corner[3][3];
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++) corner[i][k] = spl_direction[l.fan[f][i]][k];
            for (int i = 0; i < count; i++) found += key[i] == key_of(corner);
        }
        CHECK(found == SPL_FAN); /* each once: both lists have 24 */
        for (int i = 0; i < count; i++)
            for (int k = 0; k < i; k++) CHECK(key[i] != key[k]);
    }
}

TEST(directions_lead_to_the_14_neighbours_and_back)
{
    const int32_t origin[3] = {0};
    for (int d = 0; d < SPL_DIRECTIONS; d++) {
        const int8_t *a = spl_direction[d], *b = spl_direction[spl_opposite(d)];
        int32_t c[3] = {a[0], a[1], a[2]};
        CHECK(is_point(c) && are_neighbours(origin, c));
        CHECK(spl_is_long(d) == (squared(c) == 4));
        CHECK(a[0] == -b[0] && a[1] == -b[1] && a[2] == -b[2]);
        for (int e = 0; e < d; e++) CHECK(memcmp(a, spl_direction[e], 3) != 0);
    }
}

TEST(common_neighbours_are_all_and_the_same_from_both_ends)
{
    spl_lattice l = some_lattice();
    for (int d = 0; d < SPL_DIRECTIONS; d++) {
        const spl_common *common = &l.common[d];
        const int32_t start[3] = {0}, end[3] = {spl_direction[d][0], spl_direction[d][1], spl_direction[d][2]};
        int expected = 0;
        for (int i = 0; i < 729; i++) {
            const int32_t c[3] = {i % 9 - 4, i / 9 % 9 - 4, i / 81 - 4};
            expected += is_point(c) && are_neighbours(c, start) && are_neighbours(c, end);
        }
        CHECK(expected == (spl_is_long(d) ? 4 : 6));
        CHECK(common->count == expected);
        for (int i = 0; i < common->count; i++) {
            const int8_t *s = spl_direction[common->from_start[i]], *e = spl_direction[common->from_end[i]];
            for (int k = 0; k < 3; k++) CHECK(s[k] == end[k] + e[k]);
            for (int k = 0; k < i; k++) CHECK(common->from_start[k] != common->from_start[i]);
        }
    }
}

TEST(points_and_numbers_go_both_ways)
{
    spl_lattice l = some_lattice();
    REQUIRE(l.point_count == 2 * (size_t)l.size[0] * (size_t)l.size[1] * (size_t)l.size[2]);
    for (size_t i = 0; i < l.point_count; i++) {
        int32_t c[3];
        spl_lattice_coordinates(&l, i, c);
        CHECK(is_point(c) && spl_lattice_holds(&l, c));
        CHECK(spl_lattice_index(&l, c) == i);
    }
    for (int k = 0; k < 3; k++) {
        int32_t c[3] = {l.low[0], l.low[1], l.low[2]};
        CHECK(spl_lattice_holds(&l, c));
        c[k] = l.low[k] - 1;
        CHECK(!spl_lattice_holds(&l, c));
        c[k] = l.low[k] + 2 * l.size[k] - 1;
        CHECK(spl_lattice_holds(&l, c));
        c[k]++;
        CHECK(!spl_lattice_holds(&l, c));
    }
}

TEST(the_box_is_covered_with_its_margin)
{
    spl_lattice l = some_lattice();
    const double low[3] = {box_low.x, box_low.y, box_low.z}, high[3] = {box_high.x, box_high.y, box_high.z};
    CHECK_NEAR(l.half, 0.125, 0);
    for (int k = 0; k < 3; k++) {
        double first = l.half * l.low[k], last = first + 0.25 * (l.size[k] - 1);
        CHECK(l.low[k] % 2 == 0);
        CHECK(first <= low[k] - 0.5 && first > low[k] - 0.5 - 0.2500001);
        CHECK(last >= high[k] + 0.5 && last < high[k] + 0.5 + 0.2500001);
    }
    /* Lattices of one constant share their points wherever the box is: they go through the origin. */
    int32_t c[3] = {2, 4, 6};
    spl_vec3 p = spl_lattice_point(&l, c);
    CHECK(p.x == 0.25 && p.y == 0.5 && p.z == 0.75);
}

TEST(too_many_points_are_refused)
{
    spl_lattice l = some_lattice();
    CHECK(spl_lattice_make(&l, box_low, box_high, 0.25, 2, l.point_count));
    CHECK(!spl_lattice_make(&l, box_low, box_high, 0.25, 2, l.point_count - 1));
    CHECK(!spl_lattice_make(&l, box_low, box_high, 1e-7, 2, SIZE_MAX)); /* coordinates beyond 1e8 cells */
    CHECK(!spl_lattice_make(&l, box_low, box_high, 0, 2, SIZE_MAX));
    CHECK(!spl_lattice_make(&l, box_low, spl_v3(NAN, 1, 10), 0.25, 2, SIZE_MAX));
    CHECK(!spl_lattice_make(&l, box_low, spl_v3(INFINITY, 1, 10), 0.25, 2, SIZE_MAX));
}

TEST_CASES(RUN(cell_tets_are_positive_with_two_opposite_long_edges),
           RUN(fan_is_the_24_tets_around_a_point_of_either_colour), RUN(directions_lead_to_the_14_neighbours_and_back),
           RUN(common_neighbours_are_all_and_the_same_from_both_ends), RUN(points_and_numbers_go_both_ways),
           RUN(the_box_is_covered_with_its_margin), RUN(too_many_points_are_refused))
