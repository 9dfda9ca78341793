/* Flesh that gives way: vertices near those that are pushed, one after the other, each by a Newton step on the energy
 * of its tetrahedra and its pull.
 *
 * A tetrahedron with deformation gradient F from where it was, J = det F > 0, has the energy
 *     W = |F|^2 J^(-2/3) + VOLUME (J + 1/J),
 * least for similar shapes, and without bound as J goes to zero: none turns over. While one vertex moves by d, J is
 * linear in d and |F|^2 quadratic: with the gradient g of its shape function, J(d) = J (1 + h.d), h = F^-T g, and
 * |F|^2(d) = |F|^2 + 2 d.Fg + |g|^2 |d|^2. */
#include "body/part_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "math/mat3.h"

#include <string.h>

/* Pulls are over the squared cell; a vertex' own tetrahedra resist by about 60. */
#define VOLUME       0.10
#define PULL_INSIDE  0.50    /* of vertices inside to where they were, ... */
#define PULL_SURFACE 10.0    /* ... of the surface's, ... */
#define PULL_PUSHED  300.0   /* ... of one that is pushed for the first time to where it is to go, ... */
#define PULL_GROWS   1.70    /* ... times this whenever it is pushed again, ... */
#define PULL_MOST    3000.0  /* ... up to this, ... */
#define PULL_LAST    40000.0 /* ... and this, when all else was in vain */
#define FLATTEST     12.0    /* of |F|^2 J^(-2/3), 3 at rest: a tetrahedron of a tenth of its height has 9 */

enum { AROUND = 2, MOVING = 3, PUSHED = AROUND + MOVING + 1, SWEEPS = 3, TETS_MOST = 128, HALVINGS = 8 };

struct part_yield {
    supple_allocator allocator;
    spl_tets *tets;
    double cell, most;
    int32_t *first, *around; /* by vertex: its corners of tetrahedra, 4 t + k */
    spl_mat3 *rest;          /* by tetrahedron: the inverse of its edges from corner 0, at rest; zero if it is flat */
    spl_vec3 *goal;          /* by vertex */
    double *pull;            /* by vertex */
    bool *asked;             /* by vertex: it was, once */
    uint8_t *ring; /* by vertex: PUSHED where it was pushed, one less from neighbour to neighbour; those ... */
                   /* ... above AROUND move */
};

/* ---- creation ---- */

static supple_result list_tets(part_yield *y, supple_error *error)
{
    size_t n = (size_t)y->tets->vertex_count, corners = 4 * (size_t)y->tets->tet_count;
    y->first = spl_new(&y->allocator, n + 2, sizeof *y->first);
    y->around = spl_new(&y->allocator, corners, sizeof *y->around);
    if (!y->first || !y->around) return spl_fail_memory(error, "parting the surface");
    for (size_t i = 0; i < corners; i++) y->first[y->tets->tet[i] + 2]++;
    for (size_t v = 0; v <= n; v++) y->first[v + 1] += y->first[v];
    for (size_t i = 0; i < corners; i++) y->around[y->first[y->tets->tet[i] + 1]++] = (int32_t)i;
    return SUPPLE_OK;
}

static spl_mat3 edges_of(const spl_vec3 *x, const int32_t *c)
{
    return spl_mat3_columns(spl_sub(x[c[1]], x[c[0]]), spl_sub(x[c[2]], x[c[0]]), spl_sub(x[c[3]], x[c[0]]));
}

static supple_result take_rest(part_yield *y, supple_error *error)
{
    const spl_tets *t = y->tets;
    size_t n = (size_t)t->vertex_count;
    y->rest = spl_new(&y->allocator, (size_t)t->tet_count, sizeof *y->rest);
    y->goal = spl_new(&y->allocator, n, sizeof *y->goal);
    y->pull = spl_new(&y->allocator, n, sizeof *y->pull);
    y->asked = spl_new(&y->allocator, n, sizeof *y->asked);
    y->ring = spl_new(&y->allocator, n, sizeof *y->ring);
    if (!y->rest || !y->goal || !y->pull || !y->asked || !y->ring) return spl_fail_memory(error, "parting the surface");
    for (int32_t i = 0; i < t->tet_count; i++) {
        spl_mat3 e = edges_of(t->position, t->tet + 4 * (size_t)i);
        spl_mat3_inverse(&e, &y->rest[i]);
    }
    memcpy(y->goal, t->position, n * sizeof *y->goal);
    for (size_t v = 0; v < n; v++) y->pull[v] = PULL_INSIDE;
    for (size_t i = 0; i < 3 * (size_t)t->surface_count; i++) y->pull[t->surface[i]] = PULL_SURFACE;
    return SUPPLE_OK;
}

supple_result spl_part_yield_create(spl_tets *tets, double cell, part_yield **out, supple_error *error)
{
    *out = NULL;
    part_yield *y = spl_new(&tets->allocator, 1, sizeof *y);
    if (!y) return spl_fail_memory(error, "parting the surface");
    y->allocator = tets->allocator;
    y->tets = tets;
    y->cell = cell;
    y->most = PULL_MOST;
    supple_result result = list_tets(y, error);
    if (result == SUPPLE_OK) result = take_rest(y, error);
    if (result == SUPPLE_OK)
        *out = y;
    else
        spl_part_yield_destroy(y);
    return result;
}

void spl_part_yield_destroy(part_yield *y)
{
    if (!y) return;
    supple_allocator a = y->allocator;
    void *block[] = {y->first, y->around, y->rest, y->goal, y->pull, y->asked, y->ring, y};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&a, block[i]);
}

/* ---- pulls ---- */

static void spread_ring(part_yield *y, int32_t v, uint8_t ring)
{
    if (y->ring[v] >= ring) return;
    y->ring[v] = ring;
    if (ring == 1) return;
    for (int32_t i = y->first[v]; i < y->first[v + 1]; i++)
        for (int32_t k = y->around[i] & ~3; k <= (y->around[i] | 3); k++)
            spread_ring(y, y->tets->tet[k], (uint8_t)(ring - 1));
}

void spl_part_yield_begin(part_yield *y, const double *share, bool *within)
{
    memset(y->ring, 0, (size_t)y->tets->vertex_count);
    for (int32_t v = 0; v < y->tets->vertex_count; v++)
        if (share[v] > 0) spread_ring(y, v, PUSHED);
    for (int32_t v = 0; v < y->tets->vertex_count; v++) within[v] = y->ring[v] > 0;
}

void spl_part_yield_ask(part_yield *y, int32_t vertex, spl_vec3 to)
{
    y->asked[vertex] = true;
    y->goal[vertex] = to;
    y->pull[vertex] = fmin(fmax(PULL_GROWS * y->pull[vertex], PULL_PUSHED), y->most);
    spread_ring(y, vertex, PUSHED);
}

void spl_part_yield_tire(part_yield *y, double keep)
{
    for (int32_t v = 0; v < y->tets->vertex_count; v++) {
        if (!y->asked[v]) continue;
        y->goal[v] = y->tets->position[v];
        y->pull[v] = fmax(keep * y->pull[v], PULL_SURFACE);
    }
}

void spl_part_yield_insist(part_yield *y, double times)
{
    y->most = fmin(times * y->most, PULL_LAST);
}

/* ---- one vertex ---- */

/* A tetrahedron as a function of one vertex' way. */
typedef struct corner {
    spl_vec3 fg, h;
    double norm2, g2, j, root; /* |F|^2, |g|^2, J, J^(-2/3) */
} corner;

static corner look_at(const part_yield *y, int32_t at)
{
    const double *r = y->rest[at >> 2].m;
    spl_mat3 e = edges_of(y->tets->position, y->tets->tet + (at & ~3)), f = spl_mat3_mul(&e, &y->rest[at >> 2]);
    spl_mat3 cofactor = spl_mat3_cofactor(&f);
    int k = at & 3;
    spl_vec3 g = k == 0 ? spl_v3(-r[0] - r[1] - r[2], -r[3] - r[4] - r[5], -r[6] - r[7] - r[8])
                        : spl_v3(r[k - 1], r[k + 2], r[k + 5]);
    corner c = {.j = spl_mat3_det(&f), .norm2 = spl_mat3_dot(&f, &f), .g2 = spl_dot(g, g)};
    c.fg = spl_mat3_apply(&f, g);
    c.h = spl_scale(spl_mat3_apply(&cofactor, g), 1 / c.j);
    c.root = 1 / cbrt(c.j * c.j);
    return c;
}

/* INFINITY where one would turn over, or be flatter than allowed and flatter than now. */
static double energy(const corner *c, int count, spl_vec3 d)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double j = c[i].j * (1 + spl_dot(c[i].h, d));
        if (!(j > 0)) return INFINITY;
        double shape = (c[i].norm2 + 2 * spl_dot(c[i].fg, d) + c[i].g2 * spl_dot(d, d)) / cbrt(j * j);
        if (shape > FLATTEST && shape > c[i].norm2 * c[i].root) return INFINITY;
        sum += shape + VOLUME * (j + 1 / j);
    }
    return sum;
}

static spl_vec3 slope(const corner *c, int count, spl_vec3 of_pull)
{
    for (int i = 0; i < count; i++) {
        double s = VOLUME * (c[i].j - 1 / c[i].j) - 2.0 / 3 * c[i].root * c[i].norm2;
        of_pull = spl_madd(spl_madd(of_pull, c[i].fg, 2 * c[i].root), c[i].h, s);
    }
    return of_pull;
}

/* -H^-1 gradient, with the parts of the second derivative that are positive. */
static spl_vec3 newton_step(const corner *c, int count, spl_vec3 gradient, double diagonal)
{
    spl_mat3 m = spl_mat3_diagonal(diagonal, diagonal, diagonal), inverse;
    for (int i = 0; i < count; i++) {
        double d = 2 * c[i].root * c[i].g2, s = 10.0 / 9 * c[i].root * c[i].norm2 + 2 * VOLUME / c[i].j;
        spl_mat3 across = spl_mat3_outer(spl_scale(c[i].h, s), c[i].h);
        for (int k = 0; k < 9; k++) m.m[k] += across.m[k] + (k % 4 == 0 ? d : 0);
    }
    if (!spl_mat3_inverse(&m, &inverse)) return spl_v3(0, 0, 0);
    return spl_scale(spl_mat3_apply(&inverse, gradient), -1);
}

static void move_vertex(part_yield *y, int32_t v)
{
    corner c[TETS_MOST];
    int count = 0;
    if (y->first[v + 1] - y->first[v] > TETS_MOST) return;
    for (int32_t i = y->first[v]; i < y->first[v + 1]; i++) {
        c[count] = look_at(y, y->around[i]);
        if (!(c[count++].j > 0)) return; /* flat from the beginning: left alone */
    }
    double pull = y->pull[v] / (y->cell * y->cell);
    spl_vec3 off = spl_sub(y->tets->position[v], y->goal[v]);
    spl_vec3 d = newton_step(c, count, slope(c, count, spl_scale(off, 2 * pull)), 2 * pull);
    double now = energy(c, count, spl_v3(0, 0, 0)) + pull * spl_dot(off, off);
    for (int k = 0; k < HALVINGS; k++, d = spl_scale(d, 0.5)) {
        spl_vec3 then = spl_add(off, d);
        if (!(energy(c, count, d) + pull * spl_dot(then, then) < now)) continue;
        y->tets->position[v] = spl_add(y->tets->position[v], d);
        return;
    }
}

void spl_part_yield_sweep(part_yield *y)
{
    for (int s = 0; s < SWEEPS; s++)
        for (int32_t v = 0; v < y->tets->vertex_count; v++)
            if (y->ring[v] > AROUND) move_vertex(y, v);
}
