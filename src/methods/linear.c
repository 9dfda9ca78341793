/* Linear blend skinning: each vertex by the weighted mean of its joints' matrices. The oldest method and the fastest;
 * limbs lose volume where they bend and collapse where they twist. */
#include "methods/skinning.h"

static supple_result linear_init(void *state, const spl_method_context *context, supple_error *error)
{
    return spl_skinning_init(state, context->scene, context->allocator, error);
}

static supple_result linear_step(void *state, const spl_method_context *context, const spl_pose *pose,
                                 const float *rest, float *out, supple_stats *stats, supple_error *error)
{
    (void)stats;
    (void)error;
    spl_skinning_set_matrices(state, context->scene, pose, true);
    spl_skinning_run(state, context->pool, rest, out);
    return SUPPLE_OK;
}

static void linear_release(void *state, const spl_method_context *context)
{
    spl_skinning_release(state, context->allocator);
}

const spl_method spl_method_linear = {
    .name = "linear",
    .summary = "linear blend skinning: fast; limbs thin where they bend and twist",
    .needs = 0,
    .output = SPL_OUTPUT_VISUAL,
    .state_size = sizeof(spl_skinning),
    .init = linear_init,
    .step = linear_step,
    .release = linear_release,
};
