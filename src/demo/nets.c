#include "demo/nets.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#include <string.h>

/* Corner c of a cell stands at x = c & 1, y = c >> 1 & 1, z = c >> 2 & 1. Edge 4 a + k runs along axis a from the k-th
 * corner that has bit a clear. */
static const uint8_t edge_corner[12] = {0, 2, 4, 6, 0, 1, 4, 5, 0, 1, 2, 3};

enum { NO_PIECE = 255 };

/* How the surface crosses a cell with a given sign pattern: the piece each edge belongs to. */
typedef struct cell_case {
    uint8_t piece[12]; /* NO_PIECE where the edge is not crossed */
    uint8_t count;
} cell_case;

typedef struct net {
    const supple_allocator *allocator;
    const spl_field *field;
    size_t n[3];     /* nodes along x, y, z */
    float *value;    /* n0 x n1 x n2, x fastest */
    int32_t *first;  /* the first vertex of each cell (indexed by its low node) */
    int32_t *quad;   /* 4 x quad_count */
    spl_vec3 *point; /* vertex_count */
    int32_t quad_count, vertex_count;
    cell_case cases[256];
} net;

/* The edge that joins two neighbouring corners. */
static int edge_between(int c0, int c1)
{
    int axis = (c0 ^ c1) == 1 ? 0 : (c0 ^ c1) == 2 ? 1 : 2, low = c0 < c1 ? c0 : c1;
    for (int k = 0; k < 4; k++)
        if (edge_corner[4 * axis + k] == low) return 4 * axis + k;
    return -1;
}

/* Twelve edges are too few for anything cleverer than renaming. */
static void join(uint8_t *piece, int e, int f)
{
    uint8_t from = piece[f], to = piece[e];
    for (int i = 0; i < 12; i++)
        if (piece[i] == from) piece[i] = to;
}

/* Joins crossed edges across the faces. A face with four crossings cuts off its two inside corners: a rule of the face
 * alone, so both cells agree, and near parts of the body stay apart. */
static void fill_case(cell_case *out, unsigned inside)
{
    for (int e = 0; e < 12; e++) {
        int c = edge_corner[e], d = c | 1 << (e / 4);
        out->piece[e] = ((inside >> c ^ inside >> d) & 1) ? (uint8_t)e : NO_PIECE;
    }
    for (int face = 0; face < 6; face++) {
        int axis = face / 2, u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, base = face & 1 ? 1 << axis : 0;
        int corner[4] = {base, base | u, base | u | v, base | v}, crossed[4], count = 0;
        for (int i = 0; i < 4; i++) {
            int e = edge_between(corner[i], corner[(i + 1) % 4]);
            if (out->piece[e] != NO_PIECE) crossed[count++] = e;
        }
        if (count == 2) join(out->piece, crossed[0], crossed[1]);
        for (int i = 0; count == 4 && i < 4; i++)
            if (inside >> corner[i] & 1)
                join(out->piece, edge_between(corner[(i + 3) % 4], corner[i]),
                     edge_between(corner[i], corner[(i + 1) % 4]));
    }
    uint8_t name[12];
    out->count = 0;
    memset(name, NO_PIECE, sizeof name);
    for (int e = 0; e < 12; e++) {
        if (out->piece[e] == NO_PIECE) continue;
        if (name[out->piece[e]] == NO_PIECE) name[out->piece[e]] = out->count++;
        out->piece[e] = name[out->piece[e]];
    }
}

static spl_vec3 warp(const spl_field *field, spl_vec3 p)
{
    return field->warp ? field->warp(p) : p;
}

static spl_vec3 node_at(const net *s, size_t x, size_t y, size_t z)
{
    double h = s->field->cell;
    return spl_add(s->field->low, spl_v3((double)x * h, (double)y * h, (double)z * h));
}

static size_t node_index(const net *s, size_t x, size_t y, size_t z)
{
    return (z * s->n[1] + y) * s->n[0] + x;
}

static size_t corner_index(const net *s, size_t cell, int corner)
{
    return cell + (corner & 1 ? 1 : 0) + (corner & 2 ? s->n[0] : 0) + (corner & 4 ? s->n[0] * s->n[1] : 0);
}

static unsigned cell_inside(const net *s, size_t cell)
{
    unsigned inside = 0;
    for (int c = 0; c < 8; c++)
        if (s->value[corner_index(s, cell, c)] < 0) inside |= 1u << c;
    return inside;
}

/* The field at the nodes of some layers. Exact zeros would put vertices on grid nodes and make triangles without area.
 */
static void sample_range(void *context, size_t begin, size_t end)
{
    net *s = context;
    const spl_field *f = s->field;
    for (size_t z = begin; z < end; z++)
        for (size_t y = 0; y < s->n[1]; y++)
            for (size_t x = 0; x < s->n[0]; x++) {
                double d = f->value(f->context, warp(f, node_at(s, x, y, z)));
                bool side = !x || !y || !z || x + 1 == s->n[0] || y + 1 == s->n[1] || z + 1 == s->n[2];
                if ((side && d < 0) || fabs(d) < 1e-7) d = 1e-7; /* closed at the box's sides whatever the field */
                s->value[node_index(s, x, y, z)] = (float)d;
            }
}

static bool sample(net *s)
{
    const spl_field *f = s->field;
    s->n[0] = (size_t)ceil((f->high.x - f->low.x) / f->cell) + 1;
    s->n[1] = (size_t)ceil((f->high.y - f->low.y) / f->cell) + 1;
    s->n[2] = (size_t)ceil((f->high.z - f->low.z) / f->cell) + 1;
    size_t count = s->n[0] * s->n[1] * s->n[2];
    s->value = spl_new(s->allocator, count, sizeof *s->value);
    s->first = spl_new(s->allocator, count, sizeof *s->first);
    if (!s->value || !s->first) return false;
    spl_parallel_for(f->pool, s->n[2], 1, sample_range, s);
    return true;
}

/* The vertices of one cell: for each piece, the mean of its crossings. */
static void place_cell(net *s, size_t x, size_t y, size_t z)
{
    size_t cell = node_index(s, x, y, z);
    const cell_case *c = &s->cases[cell_inside(s, cell)];
    spl_vec3 sum[4] = {{0, 0, 0}};
    int crossings[4] = {0};
    for (int e = 0; e < 12; e++) {
        if (c->piece[e] == NO_PIECE) continue;
        int from = edge_corner[e], to = from | 1 << (e / 4);
        double a = (double)s->value[corner_index(s, cell, from)], b = (double)s->value[corner_index(s, cell, to)];
        double t = a / (a - b), at[3] = {from & 1, from >> 1 & 1, from >> 2 & 1};
        at[e / 4] += t;
        sum[c->piece[e]] = spl_add(sum[c->piece[e]], spl_v3(at[0], at[1], at[2]));
        crossings[c->piece[e]]++;
    }
    for (int i = 0; i < c->count; i++) {
        spl_vec3 local = spl_scale(sum[i], s->field->cell / crossings[i]);
        s->point[s->first[cell] + i] = warp(s->field, spl_add(node_at(s, x, y, z), local));
    }
}

/* The quad around a crossed grid edge along `axis` from node (x, y, z): four cells, one vertex of each. */
static void place_quad(net *s, size_t node, int axis, bool low_inside)
{
    size_t step[3] = {1, s->n[0], s->n[0] * s->n[1]};
    size_t u = step[(axis + 1) % 3], v = step[(axis + 2) % 3];
    int bu = 1 << (axis + 1) % 3, bv = 1 << (axis + 2) % 3;
    const size_t cell[4] = {node, node - u, node - u - v, node - v}; /* counter-clockwise, seen against the axis */
    const int corner[4] = {0, bu, bu | bv, bv};
    int32_t *quad = s->quad + 4 * s->quad_count++;
    for (int i = 0; i < 4; i++) {
        int edge = edge_between(corner[i], corner[i] | 1 << axis);
        int32_t vertex = s->first[cell[i]] + s->cases[cell_inside(s, cell[i])].piece[edge];
        quad[low_inside ? i : 3 - i] = vertex;
    }
}

/* Two passes over the cells: count, then place. A grid edge on the box's sides is never crossed. */
static bool polygonise(net *s)
{
    int64_t vertices = 0, quads = 0;
    for (size_t z = 0; z + 1 < s->n[2]; z++)
        for (size_t y = 0; y + 1 < s->n[1]; y++)
            for (size_t x = 0; x + 1 < s->n[0]; x++) {
                size_t cell = node_index(s, x, y, z);
                unsigned inside = cell_inside(s, cell);
                s->first[cell] = (int32_t)vertices;
                vertices += s->cases[inside].count;
                for (int axis = 0; axis < 3; axis++) quads += (inside ^ inside >> (1 << axis)) & 1;
            }
    s->vertex_count = (int32_t)vertices;
    s->point = spl_new(s->allocator, (size_t)vertices, sizeof *s->point);
    s->quad = spl_new(s->allocator, (size_t)quads, 4 * sizeof *s->quad);
    if (!s->point || !s->quad) return false;
    for (size_t z = 0; z + 1 < s->n[2]; z++)
        for (size_t y = 0; y + 1 < s->n[1]; y++)
            for (size_t x = 0; x + 1 < s->n[0]; x++) {
                size_t cell = node_index(s, x, y, z);
                unsigned inside = cell_inside(s, cell);
                if (inside == 0 || inside == 255) continue;
                place_cell(s, x, y, z);
                for (int axis = 0; axis < 3; axis++)
                    if ((inside ^ inside >> (1 << axis)) & 1) place_quad(s, cell, axis, inside & 1);
            }
    return true;
}

/* The root of the piece with the most vertices; `size` is zeroed room for a count a vertex. */
static int32_t largest_piece(const net *s, int32_t *parent, int32_t *size)
{
    int32_t largest = 0;
    for (int32_t v = 0; v < s->vertex_count; v++) parent[v] = v;
    for (int32_t i = 0; i < 4 * s->quad_count; i++) spl_sets_join(parent, s->quad[i], s->quad[i / 4 * 4]);
    for (int32_t v = 0; v < s->vertex_count; v++) size[spl_sets_root(parent, v)]++;
    for (int32_t v = 0; v < s->vertex_count; v++)
        if (size[v] > size[largest]) largest = v;
    return largest;
}

/* Drops all pieces but the largest: on a coarse grid a finger's tip can come off. */
static bool keep_largest(net *s)
{
    size_t n = (size_t)s->vertex_count;
    int32_t *parent = spl_new(s->allocator, n, sizeof *parent), *number = spl_new(s->allocator, n, sizeof *number);
    bool done = parent && number;
    if (done) {
        int32_t largest = largest_piece(s, parent, number), vertices = 0, quads = 0;
        for (int32_t v = 0; v < s->vertex_count; v++) {
            number[v] = spl_sets_root(parent, v) == largest ? vertices++ : -1;
            if (number[v] >= 0) s->point[number[v]] = s->point[v];
        }
        for (int32_t q = 0; q < s->quad_count; q++) {
            if (number[s->quad[4 * q]] < 0) continue;
            for (int i = 0; i < 4; i++) s->quad[4 * quads + i] = number[s->quad[4 * q + i]];
            quads++;
        }
        s->vertex_count = vertices;
        s->quad_count = quads;
    }
    spl_free(s->allocator, parent);
    spl_free(s->allocator, number);
    return done;
}

/* Central differences: fields are made of square roots and splines, good to many more digits than needed here. */
static spl_vec3 gradient(const spl_field *f, spl_vec3 p)
{
    const double e = 1e-4;
    double x = f->value(f->context, spl_v3(p.x + e, p.y, p.z)) - f->value(f->context, spl_v3(p.x - e, p.y, p.z));
    double y = f->value(f->context, spl_v3(p.x, p.y + e, p.z)) - f->value(f->context, spl_v3(p.x, p.y - e, p.z));
    double z = f->value(f->context, spl_v3(p.x, p.y, p.z + e)) - f->value(f->context, spl_v3(p.x, p.y, p.z - e));
    return spl_scale(spl_v3(x, y, z), 0.5 / e);
}

/* One damped Newton step onto the surface: p - f g / |g|^2, no longer than `reach`. */
static spl_vec3 project(const spl_field *f, spl_vec3 p, spl_vec3 g, double reach)
{
    double d = f->value(f->context, p), slope = fmax(spl_norm(g), 0.2);
    double step = d / slope;
    step = step > reach ? reach : step < -reach ? -reach : step;
    return spl_madd(p, g, -step / slope);
}

typedef struct relax_work {
    const net *s;
    const spl_vec3 *sum; /* of a vertex's neighbours, and how many they are */
    const double *count;
    bool smooth;
} relax_work;

static void relax_range(void *context, size_t begin, size_t end)
{
    const relax_work *w = context;
    const net *s = w->s;
    for (size_t v = begin; v < end; v++) {
        spl_vec3 p = s->point[v], g = gradient(s->field, p), normal = spl_unit(g, spl_v3(0, 0, 0));
        spl_vec3 d = spl_sub(spl_scale(w->sum[v], 1 / w->count[v]), p);
        double reach = 0.5 * spl_norm(d) + 1e-3;
        if (w->smooth) p = spl_madd(p, spl_madd(d, normal, -spl_dot(d, normal)), 0.5);
        s->point[v] = project(s->field, p, g, reach);
    }
}

/* Moves every vertex towards the mean of its neighbours along the surface, then back onto the surface. */
static bool relax(net *s)
{
    size_t n = (size_t)s->vertex_count;
    spl_vec3 *sum = spl_new(s->allocator, n, sizeof *sum);
    double *count = spl_new(s->allocator, n, sizeof *count);
    for (int32_t pass = 0; sum && count && pass < s->field->smoothing + 2; pass++) {
        relax_work work = {s, sum, count, pass < s->field->smoothing};
        memset(sum, 0, n * sizeof *sum);
        memset(count, 0, n * sizeof *count);
        for (int32_t q = 0; q < s->quad_count; q++)
            for (int i = 0; i < 4; i++) {
                int32_t a = s->quad[4 * q + i], b = s->quad[4 * q + (i + 1) % 4];
                sum[a] = spl_add(sum[a], s->point[b]);
                sum[b] = spl_add(sum[b], s->point[a]);
                count[a]++;
                count[b]++;
            }
        spl_parallel_for(s->field->pool, n, 128, relax_range, &work);
    }
    spl_free(s->allocator, sum);
    spl_free(s->allocator, count);
    return sum && count;
}

/* Quads become triangles along their shorter diagonal. */
static bool emit(const net *s, int32_t joints, spl_shape *shape)
{
    if (!spl_shape_init(shape, s->allocator, s->vertex_count, 2 * s->quad_count, joints)) return false;
    memcpy(shape->position, s->point, (size_t)s->vertex_count * sizeof *s->point);
    for (int32_t q = 0; q < s->quad_count; q++) {
        const int32_t *c = s->quad + 4 * q;
        bool other = spl_distance(s->point[c[1]], s->point[c[3]]) < spl_distance(s->point[c[0]], s->point[c[2]]);
        int32_t *t = shape->triangle + 6 * q;
        const int order[2][6] = {{0, 1, 2, 0, 2, 3}, {1, 2, 3, 1, 3, 0}};
        for (int i = 0; i < 6; i++) t[i] = c[order[other][i]];
    }
    return true;
}

supple_result spl_nets_make(const spl_field *field, const supple_allocator *a, int32_t joints, spl_shape *shape,
                            supple_error *error)
{
    net s = {.allocator = a, .field = field};
    for (unsigned inside = 0; inside < 256; inside++) fill_case(&s.cases[inside], inside);
    bool done = sample(&s) && polygonise(&s) && keep_largest(&s) && relax(&s) && emit(&s, joints, shape);
    spl_free(a, s.value);
    spl_free(a, s.first);
    spl_free(a, s.quad);
    spl_free(a, s.point);
    return done ? SUPPLE_OK : spl_fail_memory(error, "a character's surface");
}
