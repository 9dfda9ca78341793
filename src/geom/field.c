#include "geom/field.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

/* Whether a triangle's edge is part of the surface's boundary as a chain: its neighbour is missing, one of several, or
 * runs the same way. */
static bool is_border(const spl_surface *s, int32_t corner)
{
    int32_t other = s->across[corner];
    if (other < 0) return true;
    int32_t a = s->triangle[corner], b = s->triangle[corner % 3 == 2 ? corner - 2 : corner + 1];
    const int32_t *t = s->triangle + 3 * (size_t)other;
    return (t[0] == a && t[1] == b) || (t[1] == a && t[2] == b) || (t[2] == a && t[0] == b);
}

static supple_result make_border(spl_field *field, const supple_allocator *a, supple_error *error)
{
    const spl_surface *s = field->surface;
    int32_t count = 0, *edge = NULL;
    for (int32_t c = 0; c < 3 * s->triangle_count; c++) count += is_border(s, c);
    field->watertight = count == 0;
    edge = spl_new(a, 3 * (size_t)count, sizeof *edge);
    if (!edge) return spl_fail_memory(error, "the distance field");
    int32_t n = 0;
    for (int32_t c = 0; c < 3 * s->triangle_count; c++)
        if (is_border(s, c)) {
            edge[3 * n] = s->triangle[c];
            edge[3 * n + 1] = edge[3 * n + 2] = s->triangle[c % 3 == 2 ? c - 2 : c + 1];
            n++;
        }
    supple_result result = spl_tree_make(s->position, edge, count, a, field->border, error);
    spl_free(a, edge);
    return result;
}

supple_result spl_field_make(const spl_surface *surface, const supple_allocator *a, spl_field *out, supple_error *error)
{
    *out = (spl_field){.surface = surface, .allocator = *a};
    out->tree = spl_new(a, 1, sizeof *out->tree);
    out->border = spl_new(a, 1, sizeof *out->border);
    supple_result result = out->tree && out->border ? SUPPLE_OK : spl_fail_memory(error, "the distance field");
    if (result == SUPPLE_OK)
        result = spl_tree_make(surface->position, surface->triangle, surface->triangle_count, a, out->tree, error);
    if (result == SUPPLE_OK) result = spl_winding_make(out->tree, a, &out->winding, error);
    if (result == SUPPLE_OK) result = make_border(out, a, error);
    if (result != SUPPLE_OK) spl_field_release(out);
    return result;
}

void spl_field_release(spl_field *field)
{
    spl_winding_release(&field->winding);
    if (field->tree) {
        spl_tree_release(field->tree);
        spl_free(&field->allocator, field->tree);
    }
    if (field->border) {
        spl_tree_release(field->border);
        spl_free(&field->allocator, field->border);
    }
    *field = (spl_field){0};
}

bool spl_field_inside(const spl_field *field, spl_vec3 p)
{
    return spl_winding_number(&field->winding, p) > 0.5;
}

/* Away from the surface the gradient is the direction from the nearest point; within rounding of it, the normal. */
static spl_sample finish_sample(const spl_field *field, spl_vec3 p, const spl_hit *hit, bool inside)
{
    spl_sample s = {.distance = INFINITY, .gradient = {0, 0, 1}, .place = {.triangle = -1}, .point = p};
    if (hit->triangle < 0) return s;
    s.place.triangle = hit->triangle;
    memcpy(s.place.bary, hit->bary, sizeof s.place.bary);
    s.point = hit->point;
    s.distance = inside ? -hit->distance : hit->distance;
    spl_vec3 away = spl_sub(p, hit->point);
    double size = fabs(p.x) + fabs(p.y) + fabs(p.z) + field->surface->diagonal;
    if (hit->distance > 1e-10 * size)
        s.gradient = spl_scale(away, 1 / s.distance);
    else
        s.gradient = spl_surface_normal(field->surface, &s.place);
    return s;
}

spl_sample spl_field_sample(const spl_field *field, spl_vec3 p, int32_t hint)
{
    spl_hit hit;
    bool found = spl_tree_nearest(field->tree, p, INFINITY, hint, &hit);
    return finish_sample(field, p, &hit, found && spl_field_inside(field, p));
}

typedef struct batch {
    const spl_field *field;
    const spl_vec3 *p;
    double *distance;
    int32_t *triangle;
} batch;

static void batch_distances(void *context, size_t begin, size_t end)
{
    const batch *b = context;
    int32_t hint = -1;
    for (size_t i = begin; i < end; i++) {
        spl_hit hit;
        bool found = spl_tree_nearest(b->field->tree, b->p[i], INFINITY, hint, &hit);
        bool inside = found && spl_field_inside(b->field, b->p[i]);
        b->distance[i] = inside ? -hit.distance : hit.distance;
        if (b->triangle) b->triangle[i] = hit.triangle;
        hint = hit.triangle;
    }
}

void spl_field_distances(const spl_field *field, spl_pool *pool, const spl_vec3 *p, size_t count, double *distance,
                         int32_t *triangle)
{
    batch b = {field, p, distance, triangle};
    spl_parallel_for(pool, count, 256, batch_distances, &b);
}

/* Trilinear weights: the cell of p and where it lies in it; false off the lattice. */
static bool locate(const spl_grid *g, spl_vec3 p, int32_t cell[3], double f[3])
{
    spl_vec3 q = spl_scale(spl_sub(p, g->origin), 1 / g->step);
    double x[3] = {q.x, q.y, q.z};
    for (int k = 0; k < 3; k++) {
        if (!(x[k] >= 0 && x[k] <= g->size[k] - 1)) return false;
        cell[k] = (int32_t)x[k];
        if (cell[k] > g->size[k] - 2) cell[k] = g->size[k] - 2;
        f[k] = x[k] - cell[k];
    }
    return true;
}

spl_side spl_grid_value(const spl_grid *g, spl_vec3 p, double *distance, spl_vec3 *gradient)
{
    int32_t cell[3];
    double f[3], v[8];
    *distance = g->band;
    if (gradient) *gradient = spl_v3(0, 0, 0);
    if (!locate(g, p, cell, f)) return SPL_SIDE_OUTSIDE;
    size_t base = spl_grid_index(g, cell[0], cell[1], cell[2]);
    size_t row = (size_t)g->size[0], layer = row * (size_t)g->size[1];
    bool known = true;
    for (size_t c = 0; c < 8; c++) {
        size_t i = base + (c & 1) + (c & 2) / 2 * row + c / 4 * layer;
        v[c] = (double)g->value[i];
        known &= g->triangle[i] >= 0;
    }
    if (!known) { /* some corner is beyond the band, so p is no nearer than the band less a cell's diagonal */
        *distance = v[0] < 0 ? -g->band : g->band;
        return v[0] < 0 ? SPL_SIDE_INSIDE : SPL_SIDE_OUTSIDE;
    }
    double x[4], y[2];
    for (int i = 0; i < 4; i++) x[i] = v[2 * i] + f[0] * (v[2 * i + 1] - v[2 * i]);
    for (int i = 0; i < 2; i++) y[i] = x[2 * i] + f[1] * (x[2 * i + 1] - x[2 * i]);
    *distance = y[0] + f[2] * (y[1] - y[0]);
    if (gradient) {
        double low = (v[1] - v[0]) * (1 - f[1]) + (v[3] - v[2]) * f[1];
        double high = (v[5] - v[4]) * (1 - f[1]) + (v[7] - v[6]) * f[1];
        double dy = (x[1] - x[0]) * (1 - f[2]) + (x[3] - x[2]) * f[2];
        *gradient = spl_unit(spl_v3(low * (1 - f[2]) + high * f[2], dy, y[1] - y[0]), spl_v3(0, 0, 0));
    }
    return SPL_SIDE_BAND;
}

/* The nearest lattice point x knows a triangle and its own side. Where the balls about x and p that are free of surface
 * touch, p is on the same side (of a watertight surface). */
spl_sample spl_grid_sample(const spl_field *field, const spl_grid *g, spl_vec3 p)
{
    int32_t cell[3];
    double f[3];
    if (!locate(g, p, cell, f)) return spl_field_sample(field, p, -1);
    for (int k = 0; k < 3; k++) cell[k] += f[k] > 0.5;
    size_t i = spl_grid_index(g, cell[0], cell[1], cell[2]);
    spl_hit hit;
    if (!spl_tree_nearest(field->tree, p, INFINITY, g->triangle[i], &hit)) return finish_sample(field, p, &hit, false);
    double offset = spl_distance(p, spl_grid_point(g, cell[0], cell[1], cell[2]));
    bool same = field->watertight && offset < hit.distance + fabs((double)g->value[i]) * (1 - 1e-6);
    return finish_sample(field, p, &hit, same ? g->value[i] < 0 : spl_field_inside(field, p));
}

/* The ball's diameter; if a point of p's own side ended the search, *beside is that point and *turn the direction from
 * it to the ball's centre, otherwise *turn is zero. */
static double shrink_ball(const spl_field *field, spl_vec3 p, spl_vec3 inward, spl_vec3 *beside, spl_vec3 *turn)
{
    const double cos_own_side = -0.25881904510252074; /* 105 degrees */
    double diagonal = field->surface->diagonal, skip = 1e-6 * diagonal;
    spl_hit hit;
    *turn = spl_v3(0, 0, 0);
    /* The way straight through; the ball's diameter is no longer. */
    bool met = spl_tree_ray(field->tree, spl_madd(p, inward, skip), inward, diagonal, &hit);
    double radius = (met ? hit.distance + skip : diagonal) / 2;
    int32_t hint = hit.triangle;
    for (int step = 0; step < 40; step++) {
        spl_vec3 centre = spl_madd(p, inward, radius);
        if (!spl_tree_nearest(field->tree, centre, radius, hint, &hit) || hit.distance >= radius * (1 - 1e-6)) break;
        spl_vec3 to_p = spl_sub(p, centre), to_q = spl_sub(hit.point, centre), pq = spl_sub(hit.point, p);
        double along = spl_dot(pq, inward); /* positive: q is inside the ball */
        if (spl_dot(to_p, to_q) > cos_own_side * radius * hit.distance || !(along > 0)) {
            *beside = hit.point;
            *turn = spl_unit(spl_scale(to_q, -1), *turn);
            break;
        }
        radius = spl_dot(pq, pq) / (2 * along);
        hint = hit.triangle;
    }
    return 2 * radius;
}

double spl_thickness_at(const spl_field *field, spl_vec3 p, spl_vec3 inward)
{
    spl_vec3 beside = p, turn, other, unused;
    double own = shrink_ball(field, p, inward, &beside, &turn);
    if (!(spl_dot(turn, turn) > 0)) return own;
    double across = shrink_ball(field, beside, turn, &other, &unused);
    return across < own ? across : own;
}

typedef struct thickness {
    const spl_field *field;
    double *diameter;
} thickness;

static void measure_thickness(void *context, size_t begin, size_t end)
{
    const thickness *t = context;
    const spl_surface *s = t->field->surface;
    for (size_t v = begin; v < end; v++) {
        spl_vec3 n = s->normal[v];
        t->diameter[v] = spl_dot(n, n) > 0 ? spl_thickness_at(t->field, s->position[v], spl_scale(n, -1)) : 0;
    }
}

void spl_thickness(const spl_field *field, spl_pool *pool, double *diameter)
{
    thickness t = {field, diameter};
    spl_parallel_for(pool, (size_t)field->surface->vertex_count, 64, measure_thickness, &t);
}
