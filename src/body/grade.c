#include "body/grade.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { LEVELS = 6, WHOLE = 15, TWICE = 16, NONE = -1, MANY = -2 };

/* Cells of the lattice as an array: cell (i, j, k) has its black corner at twice these numbers plus `low`, in doubled
 * coordinates; sizes are multiples of the largest octant's. */
typedef struct grader {
    spl_tets *t;
    const supple_allocator *a;
    double half;
    int32_t low[3]; /* doubled coordinates, multiples of twice the largest octant */
    int32_t size[3];
    int32_t *black, *red;        /* by cell: the vertex at its lowest corner, at its centre; NONE or MANY */
    uint8_t *octahedron;         /* 3 a cell: which of the four tets around the way to the next centre are there */
    uint8_t *level;              /* by cell: of the octant it is in */
    uint8_t *merged[LEVELS + 1]; /* by octant of that level: it may be one */
    int32_t *tet;                /* the result */
    int32_t tet_count, tet_room;
    bool failed;
    spl_grade_report report;
} grader;

/* A lattice tetrahedron: the cell of its lower red end, the axis to the upper one, and which of four it is. */
typedef struct whole_tet {
    size_t cell;
    int axis, edge;
} whole_tet;

static size_t index_of(const grader *g, const int32_t c[3])
{
    return ((size_t)c[2] * (size_t)g->size[1] + (size_t)c[1]) * (size_t)g->size[0] + (size_t)c[0];
}

static bool inside(const grader *g, const int32_t c[3])
{
    for (int k = 0; k < 3; k++)
        if (c[k] < 0 || c[k] >= g->size[k]) return false;
    return true;
}

/* ---- the lattice in the tets ---- */

/* Doubled coordinates of a vertex that is exactly on a lattice point; false if it is not. */
static bool lattice_point(const grader *g, int32_t vertex, int32_t c[3])
{
    const spl_vec3 *p = &g->t->position[vertex];
    const double x[3] = {p->x, p->y, p->z};
    for (int k = 0; k < 3; k++) {
        double at = nearbyint(x[k] / g->half);
        if (fabs(at) > 1e8 || x[k] != g->half * at) return false;
        c[k] = (int32_t)at;
    }
    return ((c[0] ^ c[1]) & 1) == 0 && ((c[0] ^ c[2]) & 1) == 0;
}

/* Whether four lattice points are a tetrahedron of the lattice, and which. */
static bool read_whole(const grader *g, const int32_t *tet, whole_tet *out)
{
    int32_t red[2][3], black[2][3], c[3], cell[3];
    int reds = 0, blacks = 0, axis = -1;
    for (int i = 0; i < 4; i++) {
        if (!lattice_point(g, tet[i], c)) return false;
        bool odd = c[0] & 1;
        if ((odd ? reds : blacks) == 2) return false;
        memcpy(odd ? red[reds++] : black[blacks++], c, sizeof c);
    }
    for (int k = 0; k < 3; k++) {
        int32_t d = red[1][k] - red[0][k];
        if (d == 0) continue;
        if (axis >= 0 || (d != 2 && d != -2)) return false;
        axis = k;
    }
    if (axis < 0) return false;
    const int32_t *low = red[1][axis] > red[0][axis] ? red[0] : red[1];
    int side[2][2]; /* of each black end, along the two other axes */
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            int32_t d = black[i][k] - low[k];
            if (d != 1 && (k == axis || d != -1)) return false;
            if (k != axis) side[i][k == (axis + 1) % 3 ? 0 : 1] = d > 0;
        }
    bool same[2] = {side[0][0] == side[1][0], side[0][1] == side[1][1]};
    if (same[0] == same[1]) return false;
    for (int k = 0; k < 3; k++) cell[k] = (low[k] - 1 - g->low[k]) / 2;
    *out = (whole_tet){index_of(g, cell), axis, same[0] ? side[0][0] : 2 + side[0][1]};
    return true;
}

static void find_box(grader *g)
{
    const int32_t width = 2 << LEVELS; /* doubled */
    int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {INT32_MIN, INT32_MIN, INT32_MIN}, c[3];
    for (int32_t v = 0; v < g->t->vertex_count; v++) {
        if (!lattice_point(g, v, c)) continue;
        for (int k = 0; k < 3; k++) {
            low[k] = c[k] < low[k] ? c[k] : low[k];
            high[k] = c[k] > high[k] ? c[k] : high[k];
        }
    }
    for (int k = 0; k < 3; k++) { /* a cell to spare on every side */
        if (low[k] > high[k]) low[k] = high[k] = 0;
        g->low[k] = (int32_t)floor((double)(low[k] - 2) / width) * width;
        g->size[k] = ((high[k] + 2 - g->low[k]) / width + 1) * (width / 2);
    }
}

static void note(int32_t *slot, int32_t vertex)
{
    *slot = *slot == NONE || *slot == vertex ? vertex : MANY;
}

static void read_tets(grader *g)
{
    size_t cells = (size_t)g->size[0] * (size_t)g->size[1] * (size_t)g->size[2];
    for (size_t i = 0; i < cells; i++) g->black[i] = g->red[i] = NONE;
    for (int32_t v = 0; v < g->t->vertex_count; v++) {
        int32_t c[3], cell[3];
        if (!lattice_point(g, v, c)) continue;
        for (int k = 0; k < 3; k++) cell[k] = (c[k] - (c[k] & 1) - g->low[k]) / 2;
        note(c[0] & 1 ? &g->red[index_of(g, cell)] : &g->black[index_of(g, cell)], v);
    }
    for (size_t k = 0; k < (size_t)g->t->tet_count; k++) {
        whole_tet w;
        if (!read_whole(g, g->t->tet + 4 * k, &w)) continue;
        uint8_t *there = &g->octahedron[3 * w.cell + (size_t)w.axis], bit = (uint8_t)(1 << w.edge);
        *there |= *there & bit ? TWICE : bit;
    }
}

/* ---- octants ---- */

/* All 24 tetrahedra about a cell's centre are whole, and their points belong to no other limb. */
static bool is_whole(const grader *g, const int32_t c[3])
{
    size_t cell = index_of(g, c);
    if (g->red[cell] < 0) return false;
    for (int axis = 0; axis < 3; axis++)
        for (int step = -1; step <= 1; step += 2) {
            int32_t n[3] = {c[0], c[1], c[2]};
            n[axis] += step;
            if (!inside(g, n) || g->red[index_of(g, n)] < 0) return false;
            if (g->octahedron[3 * (step < 0 ? index_of(g, n) : cell) + (size_t)axis] != WHOLE) return false;
        }
    for (int corner = 0; corner < 8; corner++) {
        int32_t n[3] = {c[0] + (corner & 1), c[1] + (corner >> 1 & 1), c[2] + (corner >> 2)};
        if (!inside(g, n) || g->black[index_of(g, n)] < 0) return false;
    }
    return true;
}

static size_t octant_index(const grader *g, int level, const int32_t c[3])
{
    return ((size_t)c[2] * (size_t)(g->size[1] >> level) + (size_t)c[1]) * (size_t)(g->size[0] >> level) + (size_t)c[0];
}

/* Whether eight octants, and from level 2 on all that touch them over a face or an edge, are ones of their level. */
static bool may_merge(const grader *g, int level, const int32_t c[3])
{
    int margin = level > 1;
    for (int32_t z = -margin; z < 2 + margin; z++)
        for (int32_t y = -margin; y < 2 + margin; y++)
            for (int32_t x = -margin; x < 2 + margin; x++) {
                int outside = (x < 0 || x > 1) + (y < 0 || y > 1) + (z < 0 || z > 1);
                int32_t n[3] = {2 * c[0] + x, 2 * c[1] + y, 2 * c[2] + z};
                if (outside == 3) continue;
                for (int k = 0; k < 3; k++)
                    if (n[k] < 0 || n[k] >= g->size[k] >> (level - 1)) return false;
                if (!g->merged[level - 1][octant_index(g, level - 1, n)]) return false;
            }
    return true;
}

/* Calls for every octant of a level. */
typedef void octant_fn(grader *g, int level, const int32_t c[3]);

static void for_octants(grader *g, int level, octant_fn *visit)
{
    int32_t c[3];
    for (c[2] = 0; c[2] < g->size[2] >> level; c[2]++)
        for (c[1] = 0; c[1] < g->size[1] >> level; c[1]++)
            for (c[0] = 0; c[0] < g->size[0] >> level; c[0]++) visit(g, level, c);
}

static void merge(grader *g, int level, const int32_t c[3])
{
    bool is = level == 0 ? is_whole(g, c) : may_merge(g, level, c);
    g->merged[level][octant_index(g, level, c)] = is;
    for (int32_t z = 0; is && level && z < 1 << level; z++)
        for (int32_t y = 0; y < 1 << level; y++)
            memset(g->level + index_of(g, (int32_t[]){c[0] << level, (c[1] << level) + y, (c[2] << level) + z}), level,
                   (size_t)1 << level);
}

/* ---- tetrahedra ---- */

static void emit(grader *g, int32_t a, int32_t b, int32_t c, int32_t d)
{
    if (g->tet_count == g->tet_room && !g->failed) {
        int32_t room = g->tet_room ? g->tet_room + g->tet_room / 2 : 16384;
        int32_t *grown = spl_resize(g->a, g->tet, (size_t)room, 4 * sizeof *grown);
        g->failed = !grown;
        if (grown) g->tet = grown;
        g->tet_room = room;
    }
    if (g->failed) return;
    const spl_vec3 *p = g->t->position;
    spl_vec3 u = spl_sub(p[b], p[a]), v = spl_sub(p[c], p[a]), w = spl_sub(p[d], p[a]);
    bool positive = spl_dot(u, spl_cross(v, w)) > 0;
    memcpy(g->tet + 4 * (size_t)g->tet_count++, (int32_t[]){a, b, positive ? c : d, positive ? d : c}, 4 * sizeof a);
}

/* The lattice tetrahedra that stay: none of whose cells was merged. */
static void keep_fine(grader *g)
{
    const int32_t step[3] = {1, g->size[0], g->size[0] * g->size[1]};
    for (size_t k = 0; k < (size_t)g->t->tet_count; k++) {
        const int32_t *c = g->t->tet + 4 * k;
        whole_tet w;
        if (read_whole(g, c, &w) && (g->level[w.cell] || g->level[w.cell + (size_t)step[w.axis]])) continue;
        emit(g, c[0], c[1], c[2], c[3]);
    }
}

static int32_t black_at(const grader *g, const int32_t c[3])
{
    return g->black[index_of(g, c)];
}

/* The centre of the octant of a level that a cell is in. */
static int32_t centre_of(const grader *g, int level, const int32_t cell[3])
{
    if (level == 0) return g->red[index_of(g, cell)];
    int32_t c[3];
    for (int k = 0; k < 3; k++) c[k] = (cell[k] >> level << level) + (1 << (level - 1));
    return black_at(g, c);
}

/* A face of an octant: its middle, corners and the middles of its edges, going round; in cells. */
typedef struct face {
    int level, axis, step;
    int32_t base[3]; /* lowest corner of the octant */
    int32_t corner[4][3], mid[4][3], middle[3];
} face;

static face make_face(int level, const int32_t c[3], int axis, int step)
{
    face f = {.level = level, .axis = axis, .step = step};
    int32_t size = 1 << level;
    int u = (axis + 1) % 3, v = (axis + 2) % 3;
    for (int k = 0; k < 3; k++) f.base[k] = c[k] << level;
    for (int q = 0; q < 4; q++) {
        memcpy(f.corner[q], f.base, sizeof f.base);
        f.corner[q][axis] += step > 0 ? size : 0;
        f.corner[q][u] += q == 1 || q == 2 ? size : 0;
        f.corner[q][v] += q >= 2 ? size : 0;
    }
    for (int k = 0; k < 3; k++) f.middle[k] = (f.corner[0][k] + f.corner[2][k]) / 2;
    for (int q = 0; q < 4; q++)
        for (int k = 0; k < 3; k++) f.mid[q][k] = (f.corner[q][k] + f.corner[(q + 1) % 4][k]) / 2;
    return f;
}

/* The level of the cells that touch an edge of a face from outside the two octants at the face: the finer of both. */
static int level_beyond(const grader *g, const face *f, int q)
{
    int u = (f->axis + 1) % 3, v = (f->axis + 2) % 3, finest = LEVELS;
    for (int side = 0; side < 2; side++) {
        int32_t cell[3] = {f->base[0], f->base[1], f->base[2]};
        int32_t size = 1 << f->level;
        if (q == 0) cell[v] -= 1;
        if (q == 1) cell[u] += size;
        if (q == 2) cell[v] += size;
        if (q == 3) cell[u] -= 1;
        cell[f->axis] = f->corner[0][f->axis] - side;
        int level = inside(g, cell) ? g->level[index_of(g, cell)] : 0;
        finest = level < finest ? level : finest;
    }
    return finest;
}

/* Two octants of one size: four tetrahedra, or halves. */
static void emit_same(grader *g, const face *f, int32_t centre, int32_t other)
{
    for (int q = 0; q < 4; q++) {
        int32_t a = black_at(g, f->corner[q]), b = black_at(g, f->corner[(q + 1) % 4]);
        if (level_beyond(g, f, q) >= f->level) {
            emit(g, centre, other, a, b);
            continue;
        }
        int32_t m = black_at(g, f->mid[q]);
        emit(g, centre, other, a, m);
        emit(g, centre, other, m, b);
    }
}

/* Finer neighbours: eight triangles about the face's middle, tetrahedra on both sides of each. */
static void emit_finer(grader *g, const face *f, int32_t centre)
{
    int32_t middle = black_at(g, f->middle);
    for (int q = 0; q < 4; q++) {
        int32_t cell[3], corner = black_at(g, f->corner[q]);
        int32_t next = black_at(g, f->mid[q]), last = black_at(g, f->mid[(q + 3) % 4]);
        for (int k = 0; k < 3; k++) /* a cell of the finer octant at this corner */
            cell[k] = f->corner[q][k] > f->middle[k] ? f->corner[q][k] - 1 : f->corner[q][k];
        cell[f->axis] = f->corner[0][f->axis] - (f->step < 0);
        int32_t fine = centre_of(g, f->level - 1, cell);
        emit(g, centre, middle, corner, next);
        emit(g, centre, middle, last, corner);
        emit(g, fine, middle, corner, next);
        emit(g, fine, middle, last, corner);
    }
}

static void emit_octant(grader *g, int level, const int32_t c[3])
{
    int32_t first[3] = {c[0] << level, c[1] << level, c[2] << level};
    if (g->level[index_of(g, first)] != level) return;
    int32_t centre = centre_of(g, level, first);
    g->report.octants++;
    g->report.levels = level > g->report.levels ? level : g->report.levels;
    for (int axis = 0; axis < 3; axis++)
        for (int step = -1; step <= 1; step += 2) {
            face f = make_face(level, c, axis, step);
            int32_t beyond[3] = {first[0], first[1], first[2]};
            beyond[axis] += step > 0 ? 1 << level : -1;
            int other = g->level[index_of(g, beyond)];
            if (other < level) emit_finer(g, &f, centre);
            if (other == level && step > 0) emit_same(g, &f, centre, centre_of(g, level, beyond));
        }
}

/* ---- all of it ---- */

static bool allocate(grader *g)
{
    size_t cells = (size_t)g->size[0] * (size_t)g->size[1] * (size_t)g->size[2];
    g->black = spl_new(g->a, cells, sizeof *g->black);
    g->red = spl_new(g->a, cells, sizeof *g->red);
    g->octahedron = spl_new(g->a, cells, 3);
    g->level = spl_new(g->a, cells, 1);
    bool made = g->black && g->red && g->octahedron && g->level;
    for (int l = 0; made && l <= LEVELS; l++) made = (g->merged[l] = spl_new(g->a, cells >> 3 * l, 1)) != NULL;
    return made;
}

static void release(grader *g)
{
    spl_free(g->a, g->black);
    spl_free(g->a, g->red);
    spl_free(g->a, g->octahedron);
    spl_free(g->a, g->level);
    for (int l = 0; l <= LEVELS; l++) spl_free(g->a, g->merged[l]);
}

/* Takes the result over and leaves out vertices that nothing uses, in order. */
static void take(grader *g, int32_t *number, spl_place *place)
{
    spl_tets *t = g->t;
    int32_t count = 0;
    spl_free(g->a, t->tet);
    spl_free(g->a, t->surface);
    t->tet = g->tet;
    t->tet_count = g->tet_count;
    t->surface = NULL;
    t->surface_count = 0;
    for (size_t i = 0; i < 4 * (size_t)t->tet_count; i++) number[t->tet[i]] = 1;
    for (int32_t v = 0; v < t->vertex_count; v++) {
        if (!number[v]) continue;
        t->position[count] = t->position[v];
        place[count] = place[v];
        number[v] = count++;
    }
    for (size_t i = 0; i < 4 * (size_t)t->tet_count; i++) t->tet[i] = number[t->tet[i]];
    t->vertex_count = count;
}

supple_result spl_grade(spl_tets *tets, spl_place *place, double cell, spl_grade_report *report, supple_error *error)
{
    grader g = {.t = tets, .a = &tets->allocator, .half = 0.5 * cell};
    g.report = (spl_grade_report){.uniform_tets = tets->tet_count, .uniform_vertices = tets->vertex_count};
    find_box(&g);
    int32_t *number = spl_new(g.a, (size_t)tets->vertex_count, sizeof *number);
    if (number && allocate(&g)) {
        read_tets(&g);
        for (int l = 0; l <= LEVELS; l++) for_octants(&g, l, merge);
        keep_fine(&g);
        for (int l = 1; l <= LEVELS; l++) for_octants(&g, l, emit_octant);
    } else
        g.failed = true;
    if (g.failed)
        spl_free(g.a, g.tet);
    else
        take(&g, number, place);
    spl_free(g.a, number);
    release(&g);
    if (report) *report = g.report;
    return g.failed ? spl_fail_memory(error, "the graded tetrahedra") : SUPPLE_OK;
}
