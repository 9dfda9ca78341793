#include "statics/pursuit.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

enum { STEPS = 80 };

struct spl_pursuit {
    supple_allocator allocator;
    spl_elements elements; /* points alone */
    spl_statics *statics;
    spl_pin *pin;
};

static supple_result build(spl_pursuit *t, double still, spl_pool *pool, supple_error *error)
{
    size_t n = (size_t)t->elements.vertex_count;
    spl_statics_options options = spl_statics_options_default();
    int32_t *free = spl_new(&t->allocator, n, sizeof *free);
    t->pin = spl_new(&t->allocator, n, sizeof *t->pin);
    if (!free || !t->pin) {
        spl_free(&t->allocator, free);
        return spl_fail_memory(error, "points that follow");
    }
    for (size_t v = 0; v < n; v++) {
        free[v] = -1;
        t->pin[v] = (spl_pin){.vertex = (int32_t)v, .stiffness = 1};
    }
    options.solver = SPL_STATICS_PCG;
    options.still = still;
    options.size = 1;
    options.tolerance = 0;
    options.max_iterations = STEPS;
    supple_result result = spl_statics_create(&t->elements, free, &t->allocator, pool, &options, &t->statics, error);
    spl_free(&t->allocator, free);
    return result;
}

supple_result spl_pursuit_create(int32_t count, double still, const supple_allocator *a, spl_pool *pool,
                                 spl_pursuit **out, supple_error *error)
{
    *out = NULL;
    spl_pursuit *t = spl_new(a, 1, sizeof *t);
    if (!t) return spl_fail_memory(error, "points that follow");
    t->allocator = *a;
    t->elements.vertex_count = count;
    supple_result result = build(t, still, pool, error);
    if (result == SUPPLE_OK)
        *out = t;
    else
        spl_pursuit_destroy(t);
    return result;
}

void spl_pursuit_destroy(spl_pursuit *t)
{
    if (!t) return;
    supple_allocator a = t->allocator;
    spl_statics_destroy(t->statics);
    spl_free(&a, t->pin);
    spl_free(&a, t);
}

bool spl_pursuit_solve(void *context, const double *goal, const spl_extra *extra, double *y)
{
    spl_pursuit *t = context;
    spl_statics_stats stats;
    for (size_t v = 0; v < (size_t)t->elements.vertex_count; v++)
        memcpy(t->pin[v].target, goal + 3 * v, sizeof t->pin[v].target);
    spl_statics_problem problem = {
        .law = &spl_law_arap, .pin = t->pin, .pin_count = t->elements.vertex_count, .extra = extra};
    return spl_statics_solve(t->statics, &problem, y, &stats, NULL) == SUPPLE_OK && stats.still;
}
