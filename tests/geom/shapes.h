/* Shapes with known answers, soups, and the characters of tests/data, for the geometry tests. */
#ifndef SPL_TESTS_SHAPES_H
#define SPL_TESTS_SHAPES_H

#include "core/memory.h"
#include "geom/surface.h"
#include "scene/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct shape {
    int32_t vertex_count, triangle_count;
    double *position; /* 3 a vertex */
    int32_t *triangle;
} shape;

static const double shape_pi = 3.14159265358979323846;

static inline void shape_free(shape *s)
{
    free(s->position);
    free(s->triangle);
    *s = (shape){0};
}

static inline shape shape_new(int vertex_count, int triangle_count)
{
    return (shape){vertex_count, triangle_count, calloc((size_t)vertex_count * 3 + 1, sizeof(double)),
                   calloc((size_t)triangle_count * 3 + 1, sizeof(int32_t))};
}

static inline double shape_random(void) /* in [-1, 1] */
{
    return 2.0 * rand() / RAND_MAX - 1;
}

static inline spl_vec3 shape_random_point(double size)
{
    double x = size * shape_random(), y = size * shape_random();
    return spl_v3(x, y, size * shape_random());
}

/* A grid of (nu + 1) x (nv + 1) vertices, two triangles a cell, vertices from `at`; facing du x dv. */
typedef spl_vec3 shape_fn(double u, double v, const double *parameter);
static inline shape shape_grid(int nu, int nv, shape_fn *at, const double *parameter)
{
    shape s = shape_new((nu + 1) * (nv + 1), 2 * nu * nv);
    for (int j = 0, n = 0; j <= nv; j++)
        for (int i = 0; i <= nu; i++, n++) {
            spl_vec3 p = at((double)i / nu, (double)j / nv, parameter);
            memcpy(s.position + 3 * n, &p, sizeof p);
        }
    int32_t *t = s.triangle;
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < nu; i++) {
            int32_t a = j * (nu + 1) + i, b = a + 1, c = a + nu + 1, d = c + 1;
            bool even = (i + j) % 2 == 0;
            int32_t quad[6] = {a, b, even ? d : c, even ? a : b, d, c};
            memcpy(t, quad, sizeof quad);
            t += 6;
        }
    return s;
}

/* parameter: radius, largest polar angle / pi */
static inline spl_vec3 shape_at_sphere(double u, double v, const double *p)
{
    double theta = shape_pi * p[1] * (1 - v), phi = 2 * shape_pi * (u == 1 ? 0 : u);
    double ring = v == 1 || (v == 0 && p[1] == 1) ? 0 : sin(theta);
    return spl_v3(p[0] * ring * cos(phi), p[0] * ring * sin(phi), p[0] * cos(theta));
}
/* parameter: large and small radius */
static inline spl_vec3 shape_at_torus(double u, double v, const double *p)
{
    double a = 2 * shape_pi * (u == 1 ? 0 : u), b = 2 * shape_pi * (v == 1 ? 0 : v);
    return spl_v3((p[0] + p[1] * cos(b)) * cos(a), (p[0] + p[1] * cos(b)) * sin(a), p[1] * sin(b));
}
/* parameter: radius, length; without caps, along z */
static inline spl_vec3 shape_at_tube(double u, double v, const double *p)
{
    double a = 2 * shape_pi * (u == 1 ? 0 : u);
    return spl_v3(p[0] * cos(a), p[0] * sin(a), p[1] * v);
}
/* parameter: width, height */
static inline spl_vec3 shape_at_plane(double u, double v, const double *p)
{
    return spl_v3(p[0] * u, p[1] * v, 0);
}
static inline shape shape_sphere(int n, double radius)
{
    return shape_grid(2 * n, n, shape_at_sphere, (double[]){radius, 1});
}
static inline shape shape_torus(int n, double large, double small)
{
    return shape_grid(2 * n, n, shape_at_torus, (double[]){large, small});
}

/* A box of n x n cells a side, vertices repeated at the edges. */
static inline shape shape_box(int n, double x, double y, double z)
{
    shape s = shape_new(6 * (n + 1) * (n + 1), 12 * n * n);
    int v = 0, t = 0;
    for (int side = 0; side < 6; side++) {
        int axis = side / 2, base = v;
        for (int j = 0; j <= n; j++)
            for (int i = 0; i <= n; i++, v++) {
                double c[3];
                c[axis] = side % 2;
                c[(axis + 1) % 3] = (double)i / n;
                c[(axis + 2) % 3] = (double)j / n;
                s.position[3 * v] = x * (c[0] - 0.5);
                s.position[3 * v + 1] = y * (c[1] - 0.5);
                s.position[3 * v + 2] = z * (c[2] - 0.5);
            }
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++, t += 2) {
                int a = base + j * (n + 1) + i, b = a + 1, c = a + n + 1, d = c + 1;
                int out = side % 2;
                int32_t quad[6] = {a, out ? b : d, out ? d : b, a, out ? d : c, out ? c : d};
                memcpy(s.triangle + 3 * t, quad, sizeof quad);
            }
    }
    return s;
}

/* Separate triangles anywhere in the unit box. */
static inline shape shape_soup(int triangles, double size)
{
    shape s = shape_new(3 * triangles, triangles);
    for (int t = 0; t < triangles; t++) {
        spl_vec3 c = shape_random_point(1);
        for (int k = 0; k < 3; k++) {
            spl_vec3 p = spl_add(c, shape_random_point(size));
            memcpy(s.position + 9 * t + 3 * k, &p, sizeof p);
            s.triangle[3 * t + k] = 3 * t + k;
        }
    }
    return s;
}

/* All skinned primitives of a character of tests/data or of a built-in one (demo:...), as the file has them. A case
 * without its file has failed. */
static inline shape shape_character(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s%s", strncmp(name, "demo:", 5) == 0 ? "" : SPL_DATA_DIR "/", name);
    supple_scene *scene = NULL;
    supple_error error = {0};
    if (supple_scene_load_file(path, NULL, &scene, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        fflush(stdout);
        abort();
    }
    shape s = shape_new(scene->vertex_count, scene->triangle_count);
    s.vertex_count = s.triangle_count = 0;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        if (scene->instance[i].skin < 0) continue;
        const spl_mesh *mesh = scene->mesh + scene->instance[i].mesh;
        for (int32_t k = 0; k < mesh->primitive_count; k++) {
            const spl_primitive *p = mesh->primitive + k;
            for (int32_t v = 0; v < 3 * p->triangle_count; v++)
                s.triangle[3 * s.triangle_count + v] = s.vertex_count + p->triangle[v];
            for (int32_t v = 0; v < 3 * p->vertex_count; v++)
                s.position[3 * s.vertex_count + v] = (double)p->position[v];
            s.triangle_count += p->triangle_count;
            s.vertex_count += p->vertex_count;
        }
    }
    supple_scene_destroy(scene);
    return s;
}

static inline spl_surface shape_surface(const shape *s)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_surface out;
    if (spl_surface_make(s->position, s->vertex_count, s->triangle, s->triangle_count, &a, &out, NULL) != SUPPLE_OK)
        abort();
    return out;
}

#endif
