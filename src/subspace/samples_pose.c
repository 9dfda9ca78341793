#include "core/error.h"
#include "subspace/samples_private.h"

#include <float.h>
#include <string.h>

static const double stride = 1.0; /* radians: the farthest that a joint moves in one step of continuation */

/* A pose on its way. */
typedef struct way {
    const spl_samples *s;
    const supple_scene *scene;
    spl_pose_tools *tools;
} way;

void spl_pose_tools_release(spl_pose_tools *w, const supple_allocator *a)
{
    spl_statics_destroy(w->statics);
    spl_relax_destroy(w->relax);
    if (w->past.map) spl_pose_past_release(&w->past, a);
    spl_pose_release(&w->pose);
    spl_pins_release(&w->pins);
    spl_drive_release(&w->solid.drive);
    spl_free(a, w->x);
    spl_free(a, w->rounded);
    spl_free(a, w->move);
}

supple_result spl_pose_tools_make(spl_pose_tools *w, const spl_samples *s, const supple_scene *scene,
                                  const spl_solid *solid, supple_error *error)
{
    const spl_sample_options *o = &s->options;
    const supple_config *config = s->config;
    const supple_allocator *a = &s->allocator;
    spl_statics_options so = spl_statics_options_default();
    so.solver = SPL_STATICS_PCG;
    so.tolerance = o->tolerance;
    so.max_iterations = o->max_iterations;
    so.size = solid->diagonal;
    so.backend = config ? config->solver : NULL;
    w->solid = *solid;
    w->solid.drive = (spl_drive){0};
    w->solid.force = NULL;
    supple_result result = spl_drive_create(solid->body, a, &w->solid.drive, error);
    w->solid.drive.spread = solid->drive.spread;
    if (result == SUPPLE_OK) result = spl_pose_init(&w->pose, scene, error);
    if (result == SUPPLE_OK) result = spl_pose_past_create(&w->solid, &w->past, error);
    if (result == SUPPLE_OK) result = spl_pins_create(&w->solid, SPL_PIN_HARD, 0, &w->pins, error);
    if (result == SUPPLE_OK && !o->skinned)
        result = spl_statics_create(&solid->elements, w->pins.held, a, NULL, &so, &w->statics, error);
    if (result == SUPPLE_OK && o->skinned && o->relax > 0)
        result = spl_relax_create(solid, o->law, config, a, &w->relax, error);
    w->x = spl_new(a, (size_t)s->vertex_count, 3 * sizeof *w->x);
    w->rounded = spl_new(a, (size_t)s->vertex_count, 3 * sizeof *w->rounded);
    w->move = spl_new(a, (size_t)s->joint_count, sizeof *w->move);
    if (result == SUPPLE_OK && (!w->x || !w->rounded || !w->move))
        result = spl_fail_memory(error, "the training poses");
    return result;
}

/* The bones in the pose that is `share` of the way from one to another. */
static supple_result set_pose(const way *v, const spl_joint_move *from, const spl_joint_move *to, double share,
                              supple_error *error)
{
    const spl_samples *s = v->s;
    spl_pose_tools *w = v->tools;
    for (int32_t j = 0; j < s->joint_count; j++) {
        w->move[j] = spl_joint_move_between(from ? &from[j] : NULL, &to[j], share);
    }
    spl_pose_move(&w->pose, v->scene, s->node, w->move, s->joint_count);
    return spl_drive_pose(&w->solid.drive, &w->pose, error);
}

static supple_result step(const way *v, spl_statics_stats *stats, supple_error *error)
{
    spl_pose_tools *w = v->tools;
    const spl_solid *solid = &w->solid;
    spl_pins_pose(&w->pins, &solid->drive);
    spl_statics_problem p = {.law = v->s->options.law,
                             .mu = solid->material.mu,
                             .lambda = solid->material.lambda,
                             .pin = w->pins.pin,
                             .pin_count = w->pins.count};
    spl_drive_hold(&solid->drive, solid->body->bone, w->x);
    return spl_statics_solve(w->statics, &p, w->x, stats, error);
}

static int32_t steps_between(const way *v, const spl_joint_move *from, const spl_joint_move *to)
{
    double most = 0;
    for (int32_t j = 0; j < v->s->joint_count; j++) {
        most = fmax(most, spl_joint_move_distance(from ? &from[j] : NULL, &to[j], v->s->far[j]));
    }
    return (int32_t)fmax(1, ceil(most / stride));
}

/* From the solution of `parent`, which is in x, or rest, to the pose. */
static supple_result continue_to(const way *v, int32_t i, int32_t parent, spl_statics_stats *stats, supple_error *error)
{
    const spl_samples *s = v->s;
    spl_pose_tools *w = v->tools;
    const spl_joint_move *from = parent >= 0 ? spl_sample_moves(s, parent) : NULL, *to = spl_sample_moves(s, i);
    spl_drive_reset(&w->solid.drive);
    supple_result result = set_pose(v, from, from ? from : to, from ? 1 : 0, error);
    if (result != SUPPLE_OK) return result;
    if (parent < 0) spl_solid_pose(&w->solid, w->x, NULL);
    int32_t steps = steps_between(v, from, to);
    for (int32_t k = 1; k <= steps && result == SUPPLE_OK; k++) {
        spl_pose_past_keep(&w->past, &w->solid.drive);
        result = set_pose(v, from, to, (double)k / steps, error);
        if (result != SUPPLE_OK) break;
        spl_solid_carry(&w->solid, &w->past, w->x, NULL);
        result = step(v, stats, error);
    }
    return result;
}

/* The pose without a solve. */
static supple_result skin(const way *v, int32_t i, supple_error *error)
{
    spl_pose_tools *w = v->tools;
    spl_drive_reset(&w->solid.drive);
    supple_result result = set_pose(v, NULL, spl_sample_moves(v->s, i), 1, error);
    if (result != SUPPLE_OK) return result;
    spl_solid_pose(&w->solid, w->x, NULL);
    spl_drive_hold(&w->solid.drive, w->solid.body->bone, w->x);
    return SUPPLE_OK;
}

/* From the pose by the weights alone. Where joints move away from what they hang on, poses between two others can be
 * torn apart, and flesh that was there does not come back. */
static supple_result begin_anew(const way *v, int32_t i, spl_statics_stats *stats, supple_error *error)
{
    supple_result result = skin(v, i, error);
    return result == SUPPLE_OK ? step(v, stats, error) : result;
}

supple_result spl_pose_solve(const spl_samples *s, const supple_scene *scene, spl_pose_tools *w, int32_t i,
                             int32_t from, bool *good, double *residual, supple_error *error)
{
    const spl_sample_options *o = &s->options;
    way v = {s, scene, w};
    spl_statics_stats stats = {0};
    supple_result result = o->skinned ? skin(&v, i, error) : continue_to(&v, i, from, &stats, error);
    if (result == SUPPLE_OK && w->relax) spl_relax_run(w->relax, w->x, o->relax);
    bool failed = result == SUPPLE_ERROR_SOLVE || (result == SUPPLE_OK && !stats.converged);
    if (failed && !o->skinned) result = begin_anew(&v, i, &stats, error);
    if (o->skinned) stats.converged = true;
    if (result != SUPPLE_OK && result != SUPPLE_ERROR_SOLVE) return result;
    *good = result == SUPPLE_OK && stats.converged;
    *residual = result == SUPPLE_OK ? stats.residual : DBL_MAX; /* files hold finite numbers */
    size_t n = 3 * (size_t)s->vertex_count;
    memset(w->rounded, 0, n * sizeof *w->rounded);
    for (size_t k = 0; *good && k < n; k++) w->rounded[k] = (float)w->x[k];
    return SUPPLE_OK;
}
