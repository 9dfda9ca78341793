/* Bodies to solve for: boxes of tets with known answers, and the built-in characters with their bones bent. */
#ifndef SPL_TESTS_STATICS_FLESH_H
#define SPL_TESTS_STATICS_FLESH_H

#include "body/body.h"
#include "core/memory.h"
#include "math/mat3.h"
#include "methods/skinning.h"
#include "rig/pose.h"
#include "statics/statics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <supple/tools.h>

typedef struct flesh {
    int32_t vertex_count, tet_count;
    double *rest, *x; /* 3 a vertex, metres */
    int32_t *tet, *held;
    double *mu, *lambda;
    double size; /* diagonal */
    spl_elements elements;
} flesh;

static inline double flesh_random(uint64_t *state) /* -1 to 1 */
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return 2 * ((double)(*state >> 11) * 0x1p-53) - 1;
}

static inline void flesh_free(flesh *f)
{
    spl_elements_release(&f->elements);
    free(f->rest);
    free(f->x);
    free(f->tet);
    free(f->held);
    free(f->mu);
    free(f->lambda);
    *f = (flesh){0};
}

/* Arrays; nothing held; Young's modulus 1e4 Pa, Poisson's ratio 0.4. */
static inline flesh flesh_new(int32_t vertex_count, int32_t tet_count)
{
    flesh f = {.vertex_count = vertex_count, .tet_count = tet_count};
    size_t n = (size_t)vertex_count, m = (size_t)tet_count;
    f.rest = calloc(3 * n + 1, sizeof(double));
    f.x = calloc(3 * n + 1, sizeof(double));
    f.tet = calloc(4 * m + 1, sizeof(int32_t));
    f.held = calloc(n + 1, sizeof(int32_t));
    f.mu = calloc(m + 1, sizeof(double));
    f.lambda = calloc(m + 1, sizeof(double));
    for (size_t v = 0; v < n; v++) f.held[v] = -1;
    for (size_t k = 0; k < m; k++) spl_lame(1e4, 0.4, &f.mu[k], &f.lambda[k]);
    return f;
}

/* Elements and size, once rest and tets stand; x becomes the rest. */
static inline void flesh_finish(flesh *f)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error;
    if (spl_elements_create(f->rest, f->vertex_count, f->tet, f->tet_count, &a, &f->elements, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        abort();
    }
    double low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30}, sum = 0;
    for (int32_t i = 0; i < 3 * f->vertex_count; i++) {
        low[i % 3] = fmin(low[i % 3], f->rest[i]);
        high[i % 3] = fmax(high[i % 3], f->rest[i]);
    }
    for (int c = 0; c < 3; c++) sum += (high[c] - low[c]) * (high[c] - low[c]);
    f->size = sqrt(sum);
    memcpy(f->x, f->rest, 3 * (size_t)f->vertex_count * sizeof *f->x);
}

/* A box of nx x ny x nz cells, each cut into the six tets of Kuhn's triangulation; inner vertices are moved by up to
 * `jitter` of a cell. */
static inline flesh flesh_box(int nx, int ny, int nz, double lx, double ly, double lz, double jitter)
{
    static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
    int n[3] = {nx, ny, nz};
    double l[3] = {lx, ly, lz};
    flesh f = flesh_new((nx + 1) * (ny + 1) * (nz + 1), 6 * nx * ny * nz);
    uint64_t seed = 5;
    for (int v = 0; v < f.vertex_count; v++) {
        int p[3] = {v % (nx + 1), v / (nx + 1) % (ny + 1), v / (nx + 1) / (ny + 1)};
        bool inside = true;
        for (int c = 0; c < 3; c++) inside = inside && p[c] > 0 && p[c] < n[c];
        for (int c = 0; c < 3; c++)
            f.rest[3 * v + c] = l[c] * (p[c] + (inside ? jitter * flesh_random(&seed) : 0)) / n[c];
    }
    int stride[3] = {1, nx + 1, (nx + 1) * (ny + 1)}, at = 0;
    for (int cell = 0; cell < nx * ny * nz; cell++) {
        int first = cell % nx + (nx + 1) * (cell / nx % ny) + stride[2] * (cell / nx / ny);
        for (int k = 0; k < 6; k++, at += 4) {
            int32_t *t = f.tet + at;
            t[0] = first;
            for (int c = 0; c < 3; c++) t[c + 1] = t[c] + stride[order[k][c]];
            if (k >= 3) { /* odd permutations are left-handed */
                int32_t swap = t[2];
                t[2] = t[3];
                t[3] = swap;
            }
        }
    }
    flesh_finish(&f);
    return f;
}

/* How a character is posed: a moment of a clip, or one joint alone turned about z. */
typedef struct flesh_pose {
    int32_t clip; /* -1: the rest */
    double time;
    const char *joint; /* or NULL */
    double degrees;
} flesh_pose;

/* The motion of each bone from the bind pose, in body space. */
static inline spl_mat4 *flesh_motion(const supple_scene *scene, const spl_bones *bones, const flesh_pose *at)
{
    spl_mat4 *motion = calloc((size_t)bones->bone_count + 1, sizeof *motion);
    spl_pose pose;
    if (spl_pose_init(&pose, scene, NULL) != SUPPLE_OK) abort();
    spl_pose_sample(&pose, scene, at->clip, at->time);
    for (int32_t b = 0; b < bones->bone_count; b++) {
        const spl_bone *bone = &bones->bone[b];
        const spl_skin *skin = &scene->skin[0]; /* the built-in characters have one */
        motion[b] = spl_skinning_joint_matrix(skin, bone->joint - skin->first_joint, &pose);
    }
    for (int32_t b = 0; at->joint && b < bones->bone_count; b++) {
        const spl_bone *bone = &bones->bone[b];
        if (bone->parent >= 0 && bones->bone[bone->parent].node != bone->node) motion[b] = motion[bone->parent];
        if (strcmp(scene->node[bone->node].name, at->joint) != 0) continue;
        double half = at->degrees * 3.14159265358979323846 / 360, one[3] = {1, 1, 1}, t[3] = {0, 0, 0};
        double q[4] = {0, 0, sin(half), cos(half)};
        spl_mat4 turn = spl_mat4_trs(t, q, one);
        spl_vec3 shift = spl_sub(bone->head, spl_mat4_point(&turn, bone->head));
        t[0] = shift.x, t[1] = shift.y, t[2] = shift.z;
        turn = spl_mat4_trs(t, q, one);
        motion[b] = spl_mat4_mul(&motion[b], &turn);
    }
    spl_pose_release(&pose);
    return motion;
}

/* A built-in character's body, its held vertices where its posed bones carry them; free ones at rest. */
static inline flesh flesh_demo(const char *name, int32_t resolution, const flesh_pose *pose, spl_pool *pool)
{
    supple_scene *scene = NULL;
    supple_error error = {0};
    spl_body body;
    spl_body_options options = spl_body_options_default();
    options.flesh.resolution = resolution;
    options.cache = false;
    supple_config config = supple_config_default();
    if (supple_scene_load_file(name, NULL, &scene, &error) != SUPPLE_OK ||
        spl_body_make(scene, &options, &config, pool, &body, &error) != SUPPLE_OK) {
        printf("    %s: %s\n", name, error.message);
        abort();
    }
    flesh f = flesh_new(body.tets.vertex_count, body.tets.tet_count);
    spl_mat4 *motion = flesh_motion(scene, &body.bones, pose);
    memcpy(f.tet, body.tets.tet, 4 * (size_t)f.tet_count * sizeof *f.tet);
    memcpy(f.held, body.bone, (size_t)f.vertex_count * sizeof *f.held);
    for (int32_t v = 0; v < f.vertex_count; v++) {
        spl_vec3 p = spl_scale(body.tets.position[v], body.metre);
        memcpy(f.rest + 3 * v, &p, sizeof p);
    }
    flesh_finish(&f);
    for (int32_t v = 0; v < f.vertex_count; v++) {
        if (f.held[v] < 0) continue;
        spl_vec3 p = spl_scale(spl_mat4_point(&motion[f.held[v]], body.tets.position[v]), body.metre);
        memcpy(f.x + 3 * v, &p, sizeof p);
    }
    free(motion);
    spl_body_release(&body);
    supple_scene_destroy(scene);
    return f;
}

typedef enum flesh_start { GOOD, COLLAPSED, RANDOM, INVERTED, STARTS } flesh_start;
static const char *const flesh_start_name[STARTS] = {"good", "collapsed", "random", "inverted"};

/* Spoils the free vertices: all in one point, anywhere in the bounding cube, or the rest shape mirrored. */
static inline void flesh_spoil(const flesh *f, flesh_start start, double *x)
{
    uint64_t seed = 3;
    double centre[3] = {0};
    for (int32_t i = 0; i < 3 * f->vertex_count; i++) centre[i % 3] += f->rest[i] / f->vertex_count;
    for (int32_t i = 0; i < 3 * f->vertex_count; i++) {
        if (f->held[i / 3] >= 0) continue;
        if (start == COLLAPSED) x[i] = centre[i % 3];
        if (start == RANDOM) x[i] = centre[i % 3] + f->size / 2 * flesh_random(&seed);
        if (start == INVERTED) x[i] = i % 3 == 0 ? 2 * centre[0] - f->rest[i] : f->rest[i];
    }
}

static inline spl_statics *flesh_solver(const flesh *f, const spl_statics_options *options, spl_pool *pool)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error;
    spl_statics *s;
    spl_statics_options o = options ? *options : spl_statics_options_default();
    o.size = f->size;
    if (spl_statics_create(&f->elements, f->held, &a, pool, &o, &s, &error) == SUPPLE_OK) return s;
    printf("    %s\n", error.message);
    abort();
}

static inline spl_statics_problem flesh_problem(const flesh *f, const spl_law *law)
{
    return (spl_statics_problem){.law = law, .mu = f->mu, .lambda = f->lambda};
}

#endif
