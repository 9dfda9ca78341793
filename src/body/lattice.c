#include "body/lattice.h"

#include <string.h>

const int8_t spl_direction[SPL_DIRECTIONS][3] = {
    {2, 0, 0},  {-2, 0, 0}, {0, 2, 0},   {0, -2, 0}, {0, 0, 2},   {0, 0, -2},  {1, 1, 1},
    {-1, 1, 1}, {1, -1, 1}, {-1, -1, 1}, {1, 1, -1}, {-1, 1, -1}, {1, -1, -1}, {-1, -1, -1},
};

/* For each positive axis, the red edge from the cell's centre to the next cell's, and the four black edges around the
 * face between: consecutive corners of the face, going round counter-clockwise about the axis. */
static const int8_t cell_tets[SPL_CELL_TETS][4][3] = {
    {{1, 1, 1}, {3, 1, 1}, {2, 0, 0}, {2, 2, 0}}, {{1, 1, 1}, {3, 1, 1}, {2, 2, 0}, {2, 2, 2}},
    {{1, 1, 1}, {3, 1, 1}, {2, 2, 2}, {2, 0, 2}}, {{1, 1, 1}, {3, 1, 1}, {2, 0, 2}, {2, 0, 0}},
    {{1, 1, 1}, {1, 3, 1}, {0, 2, 0}, {0, 2, 2}}, {{1, 1, 1}, {1, 3, 1}, {0, 2, 2}, {2, 2, 2}},
    {{1, 1, 1}, {1, 3, 1}, {2, 2, 2}, {2, 2, 0}}, {{1, 1, 1}, {1, 3, 1}, {2, 2, 0}, {0, 2, 0}},
    {{1, 1, 1}, {1, 1, 3}, {0, 0, 2}, {2, 0, 2}}, {{1, 1, 1}, {1, 1, 3}, {2, 0, 2}, {2, 2, 2}},
    {{1, 1, 1}, {1, 1, 3}, {2, 2, 2}, {0, 2, 2}}, {{1, 1, 1}, {1, 1, 3}, {0, 2, 2}, {0, 0, 2}},
};

const int8_t (*spl_lattice_tets(void))[4][3]
{
    return cell_tets;
}

static int find_direction(const int32_t d[3])
{
    for (int i = 0; i < SPL_DIRECTIONS; i++)
        if (spl_direction[i][0] == d[0] && spl_direction[i][1] == d[1] && spl_direction[i][2] == d[2]) return i;
    return -1;
}

static void find_common(spl_lattice *l)
{
    for (int d = 0; d < SPL_DIRECTIONS; d++) {
        spl_common *c = &l->common[d];
        c->count = 0;
        for (int e = 0; e < SPL_DIRECTIONS; e++) {
            int32_t rest[3];
            for (int k = 0; k < 3; k++) rest[k] = spl_direction[e][k] - spl_direction[d][k];
            int from_end = find_direction(rest);
            if (from_end < 0) continue;
            c->from_start[c->count] = (int8_t)e;
            c->from_end[c->count++] = (int8_t)from_end;
        }
    }
}

static bool adjacent(int d, int e)
{
    int32_t rest[3];
    for (int k = 0; k < 3; k++) rest[k] = spl_direction[e][k] - spl_direction[d][k];
    return find_direction(rest) >= 0;
}

static void find_fan(spl_lattice *l)
{
    for (int8_t d = 0; d < SPL_DIRECTIONS; d++)
        for (int8_t e = (int8_t)(d + 1); e < SPL_DIRECTIONS; e++)
            for (int8_t f = (int8_t)(e + 1); f < SPL_DIRECTIONS; f++)
                if (adjacent(d, e) && adjacent(e, f) && adjacent(d, f))
                    memcpy(l->fan[l->fan_count++], (int8_t[]){d, e, f}, 3);
}

bool spl_lattice_make(spl_lattice *l, spl_vec3 low, spl_vec3 high, double cell, int32_t margin, size_t limit)
{
    memset(l, 0, sizeof *l);
    l->half = 0.5 * cell;
    const double from[3] = {low.x, low.y, low.z}, to[3] = {high.x, high.y, high.z};
    double points = 2;
    for (int k = 0; k < 3; k++) {
        double first = floor(from[k] / cell) - margin, last = ceil(to[k] / cell) + margin;
        points *= last - first + 1;
        if (!(fabs(first) < 1e8 && fabs(last) < 1e8) || points > (double)limit) return false;
        l->low[k] = 2 * (int32_t)first;
        l->size[k] = (int32_t)(last - first) + 1;
    }
    l->point_count = 2 * (size_t)l->size[0] * (size_t)l->size[1] * (size_t)l->size[2];
    find_common(l);
    find_fan(l);
    return true;
}

bool spl_lattice_holds(const spl_lattice *l, const int32_t c[3])
{
    for (int k = 0; k < 3; k++)
        if (c[k] < l->low[k] || (c[k] - l->low[k]) / 2 >= l->size[k]) return false;
    return true;
}

size_t spl_lattice_index(const spl_lattice *l, const int32_t c[3])
{
    size_t i = (size_t)(c[0] - l->low[0]) / 2, j = (size_t)(c[1] - l->low[1]) / 2, k = (size_t)(c[2] - l->low[2]) / 2;
    return 2 * ((k * (size_t)l->size[1] + j) * (size_t)l->size[0] + i) + (size_t)((c[0] - l->low[0]) & 1);
}

void spl_lattice_coordinates(const spl_lattice *l, size_t index, int32_t c[3])
{
    int32_t red = (int32_t)(index & 1);
    size_t cell = index / 2, nx = (size_t)l->size[0], ny = (size_t)l->size[1];
    c[0] = l->low[0] + 2 * (int32_t)(cell % nx) + red;
    c[1] = l->low[1] + 2 * (int32_t)(cell / nx % ny) + red;
    c[2] = l->low[2] + 2 * (int32_t)(cell / nx / ny) + red;
}
