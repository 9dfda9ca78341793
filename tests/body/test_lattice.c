#include "body/lattice.h"
#include "test.h"

static spl_vec3 offset(const int8_t *o)
{
    return spl_v3(o[0], o[1], o[2]);
}

static spl_lattice make(void)
{
    spl_lattice l;
    if (!spl_lattice_make(&l, spl_v3(-1.3, 0.2, 5), spl_v3(1, 0.9, 7.1), 0.25, 2, 1000000)) abort();
    return l;
}

TEST(tetrahedra_of_a_cell_are_positive_and_fill_it)
{
    double sum = 0;
    for (int t = 0; t < SPL_CELL_TETS; t++) {
        const int8_t(*c)[3] = spl_lattice_tets()[t];
        spl_vec3 a = offset(c[0]);
        double six = spl_dot(spl_sub(offset(c[1]), a), spl_cross(spl_sub(offset(c[2]), a), spl_sub(offset(c[3]), a)));
        CHECK(six > 0);
        sum += six / 6;
        CHECK_NEAR(spl_distance(offset(c[0]), offset(c[1])), 2, 0); /* the long edges, one of each colour */
        CHECK_NEAR(spl_distance(offset(c[2]), offset(c[3])), 2, 0);
        CHECK((c[0][0] & 1) == 1 && (c[1][0] & 1) == 1 && (c[2][0] & 1) == 0 && (c[3][0] & 1) == 0);
        for (int i = 0; i < 2; i++)
            for (int k = 2; k < 4; k++) CHECK_NEAR(spl_distance(offset(c[i]), offset(c[k])), sqrt(3), 1e-15);
    }
    CHECK_NEAR(sum, 8, 1e-12); /* a cell of side 2 */
}

TEST(directions_have_opposites_and_lengths)
{
    spl_lattice l = make();
    for (int d = 0; d < SPL_DIRECTIONS; d++) {
        int o = spl_opposite(d);
        CHECK(spl_opposite(o) == d);
        for (int k = 0; k < 3; k++) CHECK(spl_direction[d][k] == -spl_direction[o][k]);
        CHECK_NEAR(spl_lattice_length(&l, d), l.half * spl_norm(offset(spl_direction[d])), 1e-15);
        CHECK(spl_is_long(d) == (spl_norm(offset(spl_direction[d])) > 1.9));
    }
}

TEST(common_neighbours_are_neighbours_of_both_ends)
{
    spl_lattice l = make();
    for (int d = 0; d < SPL_DIRECTIONS; d++) {
        const spl_common *c = &l.common[d];
        CHECK(c->count == (spl_is_long(d) ? 4 : 6));
        for (int i = 0; i < c->count; i++)
            for (int k = 0; k < 3; k++)
                CHECK(spl_direction[c->from_start[i]][k] == spl_direction[d][k] + spl_direction[c->from_end[i]][k]);
    }
}

TEST(a_fan_is_all_tetrahedra_around_a_point)
{
    spl_lattice l = make();
    CHECK(l.fan_count == SPL_FAN);
    double sum = 0;
    for (int t = 0; t < l.fan_count; t++) {
        spl_vec3 a = offset(spl_direction[l.fan[t][0]]), b = offset(spl_direction[l.fan[t][1]]);
        sum += fabs(spl_dot(a, spl_cross(b, offset(spl_direction[l.fan[t][2]])))) / 6;
    }
    CHECK_NEAR(sum, 16, 1e-12); /* 24 tetrahedra of two thirds each */
}

TEST(points_are_numbered_without_gaps)
{
    spl_lattice l = make();
    for (size_t i = 0; i < l.point_count; i++) {
        int32_t c[3];
        spl_lattice_coordinates(&l, i, c);
        CHECK(((c[0] ^ c[1]) & 1) == 0 && ((c[0] ^ c[2]) & 1) == 0);
        CHECK(spl_lattice_holds(&l, c));
        CHECK(spl_lattice_index(&l, c) == i);
    }
    int32_t last[3];
    spl_lattice_coordinates(&l, l.point_count - 1, last);
    for (int k = 0; k < 3; k++) {
        int32_t out[3] = {last[0], last[1], last[2]}, below[3] = {l.low[0], l.low[1], l.low[2]};
        out[k] += 2;
        below[k] -= 2;
        CHECK(!spl_lattice_holds(&l, out) && !spl_lattice_holds(&l, below));
        below[k] += 1; /* odd, one below the first */
        CHECK(!spl_lattice_holds(&l, below));
    }
}

TEST(the_box_is_covered_with_its_margin)
{
    spl_lattice l = make();
    int32_t last[3];
    spl_lattice_coordinates(&l, l.point_count - 1, last);
    spl_vec3 low = spl_lattice_point(&l, l.low), high = spl_lattice_point(&l, last);
    CHECK(low.x <= -1.3 - 0.5 && low.y <= 0.2 - 0.5 && low.z <= 5 - 0.5);
    CHECK(high.x >= 1 + 0.5 && high.y >= 0.9 + 0.5 && high.z >= 7.1 + 0.5);
    spl_lattice m;
    CHECK(!spl_lattice_make(&m, spl_v3(0, 0, 0), spl_v3(1, 1, 1), 0.01, 2, 1000000));
    CHECK(!spl_lattice_make(&m, spl_v3(0, 0, 0), spl_v3(1, 1, 1), 1e-12, 2, SIZE_MAX));
}

TEST_MAIN(RUN(tetrahedra_of_a_cell_are_positive_and_fill_it), RUN(directions_have_opposites_and_lengths),
          RUN(common_neighbours_are_neighbours_of_both_ends), RUN(a_fan_is_all_tetrahedra_around_a_point),
          RUN(points_are_numbered_without_gaps), RUN(the_box_is_covered_with_its_margin))
