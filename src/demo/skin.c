#include "demo/skin.h"

#include "core/memory.h"

#include <string.h>

static void gather(const spl_shape *shape, float *sum, float *count)
{
    size_t joints = (size_t)shape->joint_count;
    memset(sum, 0, (size_t)shape->vertex_count * joints * sizeof *sum);
    memset(count, 0, (size_t)shape->vertex_count * sizeof *count);
    /* Every edge of a closed surface is seen once in each direction. */
    for (int32_t t = 0; t < shape->triangle_count; t++)
        for (int i = 0; i < 3; i++) {
            size_t to = (size_t)shape->triangle[3 * t + i], from = (size_t)shape->triangle[3 * t + (i + 1) % 3];
            for (size_t j = 0; j < joints; j++) sum[to * joints + j] += shape->weight[from * joints + j];
            count[to] += 1;
        }
}

bool spl_skin_diffuse(spl_shape *shape, const int32_t *steps)
{
    size_t joints = (size_t)shape->joint_count, n = (size_t)shape->vertex_count;
    float *sum = spl_new(&shape->allocator, n * joints, sizeof *sum);
    float *count = spl_new(&shape->allocator, n, sizeof *count);
    int32_t most = 0;
    for (size_t v = 0; v < n; v++)
        if (steps[v] > most) most = steps[v];
    for (int32_t step = 0; sum && count && step < most; step++) {
        gather(shape, sum, count);
        for (size_t v = 0; v < n; v++) {
            if (step >= steps[v]) continue;
            for (size_t j = 0; j < joints; j++) {
                float *w = &shape->weight[v * joints + j];
                *w = 0.5f * *w + 0.5f * sum[v * joints + j] / count[v];
            }
        }
    }
    bool done = sum && count;
    spl_free(&shape->allocator, sum);
    spl_free(&shape->allocator, count);
    return done;
}
