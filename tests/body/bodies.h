/* Bodies out of shapes, and ways through their tetrahedra, for the tests of the mesher. */
#ifndef SPL_TESTS_BODIES_H
#define SPL_TESTS_BODIES_H

#include "body/flesh.h"
#include "geom/shapes.h"

typedef struct body {
    spl_surface surface;
    spl_tets tets;
    spl_place *place;
    spl_flesh_report report;
    supple_result result;
    supple_error error;
} body;

static inline body body_with(spl_surface surface, spl_flesh_options options, int32_t threads)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    config.thread_count = threads;
    spl_pool *pool;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    body b = {.surface = surface};
    b.result = spl_flesh_make(&b.surface, &options, &config, pool, &a, &b.tets, &b.place, &b.report, &b.error);
    spl_pool_destroy(pool);
    return b;
}

static inline body body_of_surface(spl_surface surface, int32_t resolution, int32_t max_tets, int32_t threads)
{
    spl_flesh_options options = spl_flesh_options_default();
    options.resolution = resolution;
    if (max_tets) options.max_tets = max_tets;
    return body_with(surface, options, threads);
}

static inline body body_of(const shape *s, int32_t resolution)
{
    return body_of_surface(shape_surface(s), resolution, 0, 1);
}

static inline void body_free(body *b)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_surface_release(&b->surface);
    spl_tets_release(&b->tets);
    spl_free(&a, b->place);
    *b = (body){0};
}

/* Adds b, moved, to a. */
static inline void shape_join(shape *a, const shape *b, spl_vec3 by)
{
    shape s = shape_new(a->vertex_count + b->vertex_count, a->triangle_count + b->triangle_count);
    memcpy(s.position, a->position, 3 * sizeof(double) * (size_t)a->vertex_count);
    memcpy(s.triangle, a->triangle, 3 * sizeof(int32_t) * (size_t)a->triangle_count);
    for (int32_t i = 0; i < 3 * b->triangle_count; i++)
        s.triangle[3 * a->triangle_count + i] = a->vertex_count + b->triangle[i];
    for (int32_t i = 0; i < b->vertex_count; i++) {
        double *p = s.position + 3 * (a->vertex_count + i);
        p[0] = b->position[3 * i] + by.x;
        p[1] = b->position[3 * i + 1] + by.y;
        p[2] = b->position[3 * i + 2] + by.z;
    }
    shape_free(a);
    *a = s;
}

/* p -> size R p + by, with R the rotation of a quaternion. */
static inline spl_vec3 body_move(spl_vec3 p, const double q[4], double size, spl_vec3 by)
{
    double t[3] = {by.x, by.y, by.z}, s[3] = {size, size, size};
    spl_mat4 m = spl_mat4_trs(t, q, s);
    return spl_mat4_point(&m, p);
}

static inline void shape_move(shape *s, const double q[4], double size, spl_vec3 by)
{
    for (int32_t i = 0; i < s->vertex_count; i++) {
        double *p = s->position + 3 * i;
        spl_vec3 moved = body_move(spl_v3(p[0], p[1], p[2]), q, size, by);
        memcpy(p, &moved, sizeof moved);
    }
}

/* The surface of a set of unit cubes. */
typedef bool cubes_fn(int x, int y, int z);
static inline shape shape_cubes(cubes_fn *has, int nx, int ny, int nz)
{
    shape s = shape_new(24 * nx * ny * nz, 12 * nx * ny * nz);
    s.vertex_count = s.triangle_count = 0;
    for (int i = 0; i < nx * ny * nz; i++) {
        int c[3] = {i % nx, i / nx % ny, i / nx / ny};
        if (!has(c[0], c[1], c[2])) continue;
        for (int side = 0; side < 6; side++) {
            int axis = side / 2, sign = side % 2 ? 1 : -1, u = (axis + 1) % 3, v = (axis + 2) % 3;
            int n[3] = {c[0], c[1], c[2]};
            n[axis] += sign;
            bool out = n[0] < 0 || n[1] < 0 || n[2] < 0 || n[0] >= nx || n[1] >= ny || n[2] >= nz;
            if (!out && has(n[0], n[1], n[2])) continue;
            int32_t first = s.vertex_count;
            for (int k = 0; k < 4; k++) {
                double *p = s.position + 3 * s.vertex_count++;
                p[axis] = c[axis] + (sign > 0);
                p[u] = c[u] + (k == 1 || k == 2);
                p[v] = c[v] + (k >= 2);
            }
            int32_t quad[6] = {first, first + 1, first + 2, first, first + 2, first + 3};
            if (sign < 0) {
                quad[1] = quad[4] = first + 2;
                quad[2] = first + 1;
                quad[4] = first + 3;
                quad[5] = first + 2;
            }
            memcpy(s.triangle + 3 * s.triangle_count, quad, sizeof quad);
            s.triangle_count += 2;
        }
    }
    return s;
}

/* The vertex of the body whose place is nearest to a point of the surface: of the right limb, where limbs overlap. */
static inline int32_t body_vertex_at(const body *b, spl_vec3 p)
{
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t i = 0; i < b->tets.vertex_count; i++) {
        if (b->place[i].triangle < 0) continue;
        double d = spl_distance(spl_surface_point(&b->surface, &b->place[i]), p);
        if (d >= least) continue;
        least = d;
        best = i;
    }
    return best;
}

/* Shortest ways along the tetrahedra's edges from a vertex to all others: relaxed until nothing changes, forwards and
 * backwards through the list in turn. */
static inline double *body_ways(const spl_tets *t, int32_t from)
{
    double *d = calloc((uint32_t)t->vertex_count, sizeof *d);
    for (int32_t i = 0; i < t->vertex_count; i++) d[i] = i == from ? 0 : INFINITY;
    for (bool again = true, back = false; again; back = !back) {
        again = false;
        for (int32_t n = 0; n < t->tet_count; n++) {
            const int32_t *c = t->tet + 4 * (size_t)(back ? t->tet_count - 1 - n : n);
            for (int i = 0; i < 4; i++)
                for (int k = 0; k < 4; k++) {
                    double way = d[c[i]] + spl_distance(t->position[c[i]], t->position[c[k]]);
                    if (way < d[c[k]] * (1 - 1e-12)) {
                        d[c[k]] = way;
                        again = true;
                    }
                }
        }
    }
    return d;
}

#endif
