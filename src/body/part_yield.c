/* Flesh that gives way: vertices near those that are pushed, one after the other, each to where the energy of its
 * tetrahedra and the pulls are least along a Newton step.
 *
 * A tetrahedron with deformation gradient F from where it was, J = det F > 0, has
 *     W = |F|^2 J^(-2/3) + VOLUME (J + 1/J),
 * least for similar shapes, and without bound as J goes to zero: none turns over. While one vertex moves by d, J is
 * linear in d and |F|^2 quadratic: with the gradient g of its shape function, J(d) = J (1 + h.d), h = F^-T g, and
 * |F|^2(d) = |F|^2 + 2 d.Fg + |g|^2 |d|^2. */
#include "body/part_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "math/mat3.h"

#include <string.h>

#define VOLUME       0.10
#define PULL_PUSHED  300.0 /* over the squared cell: of vertices that were pushed, towards where, ... */
#define PULL_GROWS  (getenv("PG")?atof(getenv("PG")):1.7)   /* ... at first, and so many times more whenever they are pushed again, ... */
#include <stdlib.h>
#define PULL_MOST (getenv("PM")?atof(getenv("PM")):30000.0)
#define PULL_SURFACE 10.0  /* ... of the surface, and ... */
#define PULL_INSIDE  0.5   /* ... of vertices inside, to where they were */

enum { RINGS = 3, TETS_MOST = 128, HALVINGS = 8 };

struct part_yield {
    supple_allocator allocator;
    int32_t vertex_count;
    double cell;
    const int32_t *tet;
    int32_t *first, *around; /* by vertex: its tetrahedra, as 4 t + corner */
    spl_mat3 *rest;          /* by tetrahedron: the inverse of its edges from corner 0, as they were */
    spl_vec3 *goal;          /* by vertex */
    double *pull;            /* by vertex, over the squared cell */
    uint8_t *ring;           /* by vertex: RINGS + 1 where it was pushed, less by one from neighbour to neighbour */
};

static supple_result list_tets(part_yield *y, const spl_tets *tets, supple_error *error)
{
    size_t n = (size_t)tets->vertex_count, corners = 4 * (size_t)tets->tet_count;
    y->first = spl_new(&y->allocator, n + 2, sizeof *y->first);
    y->around = spl_new(&y->allocator, corners, sizeof *y->around);
    if (!y->first || !y->around) return spl_fail_memory(error, "parting the surface");
    for (size_t i = 0; i < corners; i++) y->first[tets->tet[i] + 2]++;
    for (size_t v = 0; v <= n; v++) y->first[v + 1] += y->first[v];
    for (size_t i = 0; i < corners; i++) y->around[y->first[tets->tet[i] + 1]++] = (int32_t)i;
    return SUPPLE_OK;
}

static spl_mat3 edges_of(const spl_vec3 *x, const int32_t *c)
{
    return spl_mat3_columns(spl_sub(x[c[1]], x[c[0]]), spl_sub(x[c[2]], x[c[0]]), spl_sub(x[c[3]], x[c[0]]));
}

static supple_result make_parts(part_yield *y, const spl_tets *tets, supple_error *error)
{
    const supple_allocator *a = &y->allocator;
    size_t n = (size_t)tets->vertex_count;
    y->rest = spl_new(a, (size_t)tets->tet_count, sizeof *y->rest);
    y->goal = spl_new(a, n, sizeof *y->goal);
    y->pull = spl_new(a, n, sizeof *y->pull);
    y->ring = spl_new(a, n, sizeof *y->ring);
    if (!y->rest || !y->goal || !y->pull || !y->ring) return spl_fail_memory(error, "parting the surface");
    for (int32_t t = 0; t < tets->tet_count; t++) {
        spl_mat3 e = edges_of(tets->position, tets->tet + 4 * (size_t)t);
        if (!spl_mat3_inverse(&e, &y->rest[t])) y->rest[t] = (spl_mat3){{0}};
    }
    memcpy(y->goal, tets->position, n * sizeof *y->goal);
    for (size_t v = 0; v < n; v++) y->pull[v] = PULL_INSIDE;
    for (size_t i = 0; i < 3 * (size_t)tets->surface_count; i++) y->pull[tets->surface[i]] = PULL_SURFACE;
    return SUPPLE_OK;
}

supple_result spl_part_yield_create(const spl_tets *tets, double cell, part_yield **out, supple_error *error)
{
    part_yield *y = *out = spl_new(&tets->allocator, 1, sizeof *y);
    if (!y) return spl_fail_memory(error, "parting the surface");
    y->allocator = tets->allocator;
    y->vertex_count = tets->vertex_count;
    y->cell = cell;
    y->tet = tets->tet;
    supple_result result = list_tets(y, tets, error);
    return result == SUPPLE_OK ? make_parts(y, tets, error) : result;
}

void spl_part_yield_destroy(part_yield *y)
{
    if (!y) return;
    supple_allocator a = y->allocator;
    void *block[] = {y->first, y->around, y->rest, y->goal, y->pull, y->ring, y};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&a, block[i]);
}

static void spread_ring(part_yield *y, int32_t v, uint8_t ring)
{
    if (y->ring[v] >= ring) return;
    y->ring[v] = ring;
    if (ring == 1) return;
    for (int32_t i = y->first[v]; i < y->first[v + 1]; i++)
        for (int32_t k = y->around[i] & ~3; k <= (y->around[i] | 3); k++)
            spread_ring(y, y->tet[k], (uint8_t)(ring - 1));
}

void spl_part_yield_ask(part_yield *y, int32_t v, spl_vec3 to)
{
    y->goal[v] = to;
    y->pull[v] = fmin(fmax(PULL_GROWS * y->pull[v], PULL_PUSHED), PULL_MOST);
    spread_ring(y, v, RINGS + 1);
}

void spl_part_yield_tire(part_yield *y, const spl_tets *tets, double keep)
{
    for (int32_t v = 0; v < y->vertex_count; v++) {
        if (y->ring[v] <= RINGS) continue;
        y->goal[v] = tets->position[v];
        y->pull[v] = fmax(y->pull[v] * keep, PULL_SURFACE);
    }
}

/* ---- one vertex ---- */

/* A tetrahedron as a function of one vertex' way d. */
typedef struct corner {
    spl_vec3 fg, h;
    double norm2, g2, j, root; /* root: J^(-2/3) */
} corner;

static corner look_at(const part_yield *y, const spl_vec3 *x, int32_t at)
{
    const spl_mat3 *rest = &y->rest[at >> 2];
    const double *r = rest->m;
    spl_mat3 e = edges_of(x, y->tet + (at & ~3)), f = spl_mat3_mul(&e, rest), cof = spl_mat3_cofactor(&f);
    int k = at & 3;
    spl_vec3 g = k == 0 ? spl_v3(-r[0] - r[1] - r[2], -r[3] - r[4] - r[5], -r[6] - r[7] - r[8])
                        : spl_v3(r[k - 1], r[3 + k - 1], r[6 + k - 1]);
    corner c = {.j = spl_mat3_det(&f), .norm2 = spl_mat3_dot(&f, &f), .g2 = spl_dot(g, g)};
    c.fg = spl_mat3_apply(&f, g);
    c.h = spl_scale(spl_mat3_apply(&cof, g), 1 / c.j);
    c.root = 1 / cbrt(c.j * c.j);
    return c;
}

static double energy(const corner *c, int count, spl_vec3 d)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double j = c[i].j * (1 + spl_dot(c[i].h, d));
        if (!(j > 0)) return INFINITY;
        double norm2 = c[i].norm2 + 2 * spl_dot(c[i].fg, d) + c[i].g2 * spl_dot(d, d);
        sum += norm2 / cbrt(j * j) + VOLUME * (j + 1 / j);
    }
    return sum;
}

/* Solves H d = -gradient with the positive parts of the second derivative. */
static spl_vec3 newton_step(const corner *c, int count, spl_vec3 gradient, double diagonal)
{
    double h[6] = {diagonal, diagonal, diagonal, 0, 0, 0}; /* xx yy zz xy xz yz */
    for (int i = 0; i < count; i++) {
        double s = c[i].root * c[i].norm2 * (10.0 / 9) + 2 * VOLUME / c[i].j, d = 2 * c[i].root * c[i].g2;
        spl_vec3 n = c[i].h;
        h[0] += d + s * n.x * n.x;
        h[1] += d + s * n.y * n.y;
        h[2] += d + s * n.z * n.z;
        h[3] += s * n.x * n.y;
        h[4] += s * n.x * n.z;
        h[5] += s * n.y * n.z;
    }
    spl_mat3 m = {{h[0], h[3], h[4], h[3], h[1], h[5], h[4], h[5], h[2]}}, inverse;
    if (!spl_mat3_inverse(&m, &inverse)) return spl_v3(0, 0, 0);
    return spl_scale(spl_mat3_apply(&inverse, gradient), -1);
}

static void move_vertex(const part_yield *y, spl_vec3 *x, int32_t v)
{
    corner c[TETS_MOST];
    int count = 0;
    if (y->first[v + 1] - y->first[v] > TETS_MOST) return;
    for (int32_t i = y->first[v]; i < y->first[v + 1]; i++) {
        c[count] = look_at(y, x, y->around[i]);
        if (!(c[count++].j > 0)) return; /* flat from the beginning: left alone */
    }
    double pull = y->pull[v] / (y->cell * y->cell);
    spl_vec3 off = spl_sub(x[v], y->goal[v]), gradient = spl_scale(off, 2 * pull);
    for (int i = 0; i < count; i++) {
        double s = -2.0 / 3 * c[i].root * c[i].norm2 + VOLUME * (c[i].j - 1 / c[i].j);
        gradient = spl_madd(spl_madd(gradient, c[i].fg, 2 * c[i].root), c[i].h, s);
    }
    spl_vec3 d = newton_step(c, count, gradient, 2 * pull);
    double start = energy(c, count, spl_v3(0, 0, 0)) + pull * spl_dot(off, off);
    for (int k = 0; k < HALVINGS; k++, d = spl_scale(d, 0.5)) {
        spl_vec3 then = spl_add(off, d);
        if (!(energy(c, count, d) + pull * spl_dot(then, then) < start)) continue;
        x[v] = spl_add(x[v], d);
        return;
    }
}

void spl_part_yield_sweep(part_yield *y, spl_tets *tets, int sweeps)
{
    for (int s = 0; s < sweeps; s++)
        for (int32_t v = 0; v < y->vertex_count; v++)
            if (y->ring[v] > 0) move_vertex(y, tets->position, v);
}
