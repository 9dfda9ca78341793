/* Devices for tests: the first one, opened once a program. */
#ifndef SPL_TESTS_METHODS_PROJECTIVE_CL_H
#define SPL_TESTS_METHODS_PROJECTIVE_CL_H

#include "methods/projective/cl/device.h"
#include "methods/projective/cl/engine.h"
#include "methods/projective/tube.h"
#include "test.h"

/* Why there is no device to test on, or NULL. A driver under a sanitizer is not our business: PoCL compiles with LLVM
 * in this process, whose own leaks and races end the program. */
static inline const char *device_missing(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return "OpenCL drivers (PoCL with LLVM in this process) upset the sanitizers";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return "OpenCL drivers (PoCL with LLVM in this process) upset the sanitizers";
#endif
#endif
    static char reason[256];
    supple_device *d;
    supple_error error = {0};
    supple_result result =
        spl_device_open("cl", &(spl_device_options){.source = "__kernel void none(void) {}"}, NULL, &d, &error);
    supple_device_close(d);
    snprintf(reason, sizeof reason, "%s", error.message);
    return result == SUPPLE_OK ? NULL : reason;
}

#define NEED_DEVICE()                                                                                                  \
    do {                                                                                                               \
        const char *missing = device_missing();                                                                        \
        if (missing) SKIP(missing);                                                                                    \
    } while (0)

/* With work-groups of a size; 0: chosen. NULL, and a line, where that fails. */
static inline supple_device *open_device(size_t work_group)
{
    supple_device *d;
    supple_error error = {0};
    if (spl_device_open("cl", &(spl_device_options){.work_group = work_group}, NULL, &d, &error) != SUPPLE_OK)
        printf("    %s\n", error.message);
    return d;
}

/* ---- a limb of prisms ---- */

typedef struct limb {
    tube t;
    spl_pd *pd;
    double *x, *inertia, *force;
} limb;

static inline limb *limb_make(int32_t around, int32_t rings, int32_t ties, spl_pace_kind pace, int32_t inner)
{
    limb *l = calloc(1, sizeof *l);
    l->t = tube_make(around, rings);
    supple_allocator a = spl_allocator_of(NULL);
    spl_pd_input in = {.elements = &l->t.elements,
                       .mu = l->t.mu,
                       .lambda = l->t.lambda,
                       .mass = l->t.mass,
                       .held = l->t.held,
                       .floor = 1e-12,
                       .pace = pace,
                       .tie_capacity = ties,
                       .inner = inner};
    if (spl_pd_create(&in, &a, NULL, &l->pd, NULL) != SUPPLE_OK) abort();
    size_t n = 3 * (size_t)l->t.vertex_count;
    l->x = malloc(n * sizeof *l->x);
    l->inertia = malloc(n * sizeof *l->inertia);
    l->force = calloc(n, sizeof *l->force);
    memcpy(l->x, l->t.rest, n * sizeof *l->x);
    memcpy(l->inertia, l->t.rest, n * sizeof *l->inertia);
    for (size_t v = 0; v < n; v += 3) l->force[v + 1] = -9.81 * l->t.mass[v / 3];
    return l;
}

static inline void limb_free(limb *l)
{
    spl_pd_destroy(l->pd);
    free(l->x), free(l->inertia), free(l->force);
    tube_free(&l->t);
    free(l);
}

static inline double farthest(const limb *a, const limb *b)
{
    double worst = 0;
    for (size_t i = 0; i < 3 * (size_t)a->t.vertex_count; i++) worst = fmax(worst, fabs(a->x[i] - b->x[i]));
    return worst / a->t.length;
}

/* Skin vertices of one end against triangles of the other, and some against the world. */
static inline int32_t make_ties(const limb *l, spl_tie *tie)
{
    int32_t count = 0, n = l->t.skin;
    for (int32_t i = 0; i < 24; i++) {
        int32_t v = i, w = n - 2 * l->t.around + i % (l->t.around - 1);
        tie[count++] = (spl_tie){.vertex = {v, w, w + 1, w + l->t.around},
                                 .coefficient = {1, -0.5, -0.25, -0.25},
                                 .offset = spl_v3(-0.5, 0.01, 0),
                                 .normal = spl_v3(0, 1, 0),
                                 .stiffness = 40,
                                 .sided = i % 3 == 0};
        if (i % 4) continue;
        const double *p = l->t.rest + 3 * v;
        tie[count++] = (spl_tie){.vertex = {v, -1, -1, -1},
                                 .coefficient = {1, 0, 0, 0},
                                 .offset = spl_v3(p[0], p[1] + 0.02, p[2]),
                                 .normal = spl_v3(0, 1, 0),
                                 .stiffness = 60,
                                 .sided = true};
    }
    return count;
}

#endif
