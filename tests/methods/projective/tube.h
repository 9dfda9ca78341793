/* A limb of prisms, as the projective paper has them: a skin of rings, the bone's surface inside, three tets a prism;
 * bones' vertices are held, and bend and twist in the middle. For tests and benchmarks of the solver alone. */
#ifndef SPL_TESTS_METHODS_PROJECTIVE_TUBE_H
#define SPL_TESTS_METHODS_PROJECTIVE_TUBE_H

#include "core/memory.h"
#include "fem/elements.h"
#include "fem/law.h"
#include "math/quat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tube {
    int32_t around, rings, skin; /* skin vertices come first, then the bones' */
    int32_t vertex_count, tet_count;
    double length, radius;
    double *rest;
    int32_t *tet, *held;
    double *mu, *lambda, *density, *mass;
    spl_elements elements;
} tube;

static inline void tube_put(tube *t, int32_t v, double angle, double along, double radius)
{
    t->rest[3 * v] = along;
    t->rest[3 * v + 1] = radius * cos(angle);
    t->rest[3 * v + 2] = radius * sin(angle);
}

/* A prism's three tets, their diagonals by the order of the vertices, so that neighbours agree. */
static inline void tube_prism(tube *t, int32_t a, int32_t b, int32_t c)
{
    int32_t s[3] = {a, b, c};
    while (s[0] > s[1] || s[0] > s[2]) { /* the smallest first, the direction kept */
        int32_t first = s[0];
        s[0] = s[1], s[1] = s[2], s[2] = first;
    }
    int32_t A = s[0] + t->skin, B = s[1] + t->skin, C = s[2] + t->skin;
    int32_t one[3][4] = {{s[0], A, B, C}, {s[0], s[1], s[2], C}, {s[0], s[1], C, B}};
    int32_t two[3][4] = {{s[0], A, B, C}, {s[0], s[1], s[2], B}, {s[0], s[2], C, B}};
    for (int k = 0; k < 3; k++) {
        int32_t *to = t->tet + 4 * t->tet_count++;
        memcpy(to, s[1] < s[2] ? one[k] : two[k], 4 * sizeof *to);
        double e[3][3];
        for (int i = 0; i < 3; i++)
            for (int r = 0; r < 3; r++) e[i][r] = t->rest[3 * to[i + 1] + r] - t->rest[3 * to[0] + r];
        double det = e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
                     e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
                     e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
        if (det < 0) {
            int32_t last = to[3];
            to[3] = to[2], to[2] = last;
        }
    }
}

/* 0.6 m long, 6 cm thick skin on a bone of 2 cm. */
static inline tube tube_make(int32_t around, int32_t rings)
{
    tube t = {.around = around, .rings = rings, .skin = around * rings, .length = 0.6, .radius = 0.06};
    t.vertex_count = 2 * t.skin;
    int32_t tets = 6 * around * (rings - 1);
    t.rest = calloc(3 * (size_t)t.vertex_count, sizeof *t.rest);
    t.tet = calloc(4 * (size_t)tets, sizeof *t.tet);
    t.held = calloc((size_t)t.vertex_count, sizeof *t.held);
    t.mass = calloc((size_t)t.vertex_count, sizeof *t.mass);
    t.mu = calloc((size_t)tets, sizeof *t.mu);
    t.lambda = calloc((size_t)tets, sizeof *t.lambda);
    t.density = calloc((size_t)tets, sizeof *t.density);
    for (int32_t i = 0; i < t.skin; i++) {
        double angle = 2 * M_PI * (i % around) / around, along = t.length * (i / around) / (rings - 1);
        tube_put(&t, i, angle, along, t.radius * (1 + 0.1 * sin(12 * along)));
        tube_put(&t, i + t.skin, angle, along, 0.02);
        t.held[i] = -1;
        t.held[i + t.skin] = along > t.length / 2;
    }
    for (int32_t r = 0; r + 1 < rings; r++)
        for (int32_t i = 0; i < around; i++) {
            int32_t a = r * around + i, b = r * around + (i + 1) % around, c = a + around, d = b + around;
            tube_prism(&t, a, b, d);
            tube_prism(&t, a, d, c);
        }
    for (int32_t k = 0; k < t.tet_count; k++) {
        spl_lame(30e3, 0.45, &t.mu[k], &t.lambda[k]);
        t.density[k] = 1000;
    }
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    if (spl_elements_create(t.rest, t.vertex_count, t.tet, t.tet_count, &a, &t.elements, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        abort();
    }
    spl_elements_lumped_mass(&t.elements, t.density, t.mass);
    return t;
}

static inline void tube_free(tube *t)
{
    spl_elements_release(&t->elements);
    void *blocks[] = {t->rest, t->tet, t->held, t->mass, t->mu, t->lambda, t->density};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
}

/* Where the second bone takes a point when it is bent about z and twisted about its axis at the middle, in degrees. */
static inline spl_vec3 tube_turn(const tube *t, spl_vec3 p, double bend, double twist)
{
    spl_quat q = spl_quat_mul(spl_quat_axis_angle(spl_v3(0, 0, 1), bend * M_PI / 180),
                              spl_quat_axis_angle(spl_v3(1, 0, 0), twist * M_PI / 180));
    spl_mat3 R = spl_quat_to_mat3(q);
    spl_vec3 c = spl_v3(t->length / 2, 0, 0);
    return spl_add(c, spl_mat3_apply(&R, spl_sub(p, c)));
}

/* Moves the bones' vertices of x. */
static inline void tube_pose(const tube *t, double bend, double twist, double *x)
{
    for (int32_t v = 0; v < t->vertex_count; v++) {
        spl_vec3 p = spl_v3(t->rest[3 * v], t->rest[3 * v + 1], t->rest[3 * v + 2]);
        if (t->held[v] < 0) continue;
        if (t->held[v] == 1) p = tube_turn(t, p, bend, twist);
        x[3 * v] = p.x, x[3 * v + 1] = p.y, x[3 * v + 2] = p.z;
    }
}

#endif
