/* No method: plays a vertex animation that came with a clip (a .pc2 file). What follows a method can so be put onto
 * anything. Between samples the positions are interpolated. */
#include "core/error.h"
#include "methods/method.h"

#include <string.h>

/* A time this near to a sample is that sample: frame k at k / fps must give its very bits. */
#define SAMPLE_SNAP 1e-6

static const spl_clip *find_animation(const supple_scene *scene)
{
    for (int32_t i = 0; i < scene->clip_count; i++)
        if (scene->clip[i].sample) return &scene->clip[i];
    return NULL;
}

static supple_result none_init(void *state, const spl_method_context *context, supple_error *error)
{
    (void)state;
    if (find_animation(context->scene)) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                    "method none plays a vertex animation and there is none; give one with --motion FILE.pc2");
}

/* The rest pose has no samples of its own: it is shown as the animation's first. */
static supple_result none_step(void *state, const spl_method_context *context, const spl_pose *pose, const float *rest,
                               float *out, supple_stats *stats, supple_error *error)
{
    const supple_scene *scene = context->scene;
    const spl_clip *clip = context->clip < 0 ? find_animation(scene) : &scene->clip[context->clip];
    size_t width = 3 * (size_t)scene->vertex_count;
    (void)state, (void)pose, (void)rest, (void)stats;
    if (!clip->sample)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "method none: clip '%.60s' is not a vertex animation",
                        clip->name);
    double at = context->clip < 0 ? 0 : context->time * clip->fps, last = clip->sample_count - 1;
    if (fabs(at - round(at)) < SAMPLE_SNAP * (1 + fabs(at) * 1e-6)) at = round(at);
    at = fmin(fmax(at, 0), last);
    size_t k = (size_t)at;
    double s = at - (double)k;
    const float *a = clip->sample + k * width, *b = s > 0 ? a + width : a;
    if (s == 0 && width > 0) memcpy(out, a, width * sizeof *out);
    for (size_t i = 0; s > 0 && i < width; i++) out[i] = (float)((1 - s) * (double)a[i] + s * (double)b[i]);
    return SUPPLE_OK;
}

static void none_release(void *state, const spl_method_context *context)
{
    (void)state, (void)context;
}

const spl_method spl_method_none = {
    .name = "none",
    .summary = "plays a given vertex animation (--motion FILE.pc2) as it is",
    .needs = SPL_NEEDS_ANIMATION,
    .output = SPL_OUTPUT_VISUAL,
    .state_size = 1,
    .init = none_init,
    .step = none_step,
    .release = none_release,
};
