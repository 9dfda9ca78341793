#include "methods/bounded.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "fem/filter.h"

#include <string.h>

static const double STILL = 1e-4;                            /* metres: a step that moves no more ends a solve */
static const double TURN = 5 * 3.14159265358979323846 / 180; /* of a joint in one step on its way to a pose */

static size_t coordinates(const spl_bounded *b)
{
    return 3 * (size_t)b->solid->elements.vertex_count;
}

static supple_result make_arrival(spl_bounded *b, const spl_method_context *c, const spl_pins *pins, double tolerance,
                                  supple_error *error)
{
    spl_statics_options statics = spl_statics_options_default();
    statics.solver = SPL_STATICS_PCG;
    statics.tolerance = tolerance;
    statics.backend = c->config->solver;
    statics.size = c->solid->diagonal;
    statics.config = c->config;
    statics.still = STILL;
    spl_arrival_options options = {
        .statics = statics, .barrier = spl_barrier_options_default(), .turn = TURN, .colliders = c->colliders};
    options.barrier.self = c->collide & SUPPLE_COLLIDE_SELF;
    return spl_arrival_create(c->solid, pins, &options, c->pool, &b->arrival, error);
}

supple_result spl_bounded_create(const spl_method_context *c, const spl_pins *pins, double tolerance, spl_bounded *out,
                                 supple_error *error)
{
    *out = (spl_bounded){.solid = c->solid};
    if (!(c->collide & SUPPLE_COLLIDE_SELF) && spl_colliders_count(c->colliders) == 0) return SUPPLE_OK;
    out->alone = spl_new(&c->solid->allocator, coordinates(out), sizeof *out->alone);
    supple_result result = out->alone ? SUPPLE_OK : spl_fail_memory(error, "contact by a barrier");
    if (result == SUPPLE_OK) result = spl_pose_past_create(c->solid, &out->past, error);
    if (result == SUPPLE_OK) result = make_arrival(out, c, pins, tolerance, error);
    out->on = result == SUPPLE_OK;
    if (result != SUPPLE_OK) spl_bounded_release(out);
    return result;
}

void spl_bounded_release(spl_bounded *b)
{
    if (!b->solid) return;
    spl_arrival_release(&b->arrival);
    spl_pose_past_release(&b->past, &b->solid->allocator);
    spl_free(&b->solid->allocator, b->alone);
    *b = (spl_bounded){0};
}

void spl_bounded_reset(spl_bounded *b)
{
    if (!b->on) return;
    spl_arrival_reset(&b->arrival);
    b->has_past = false;
}

void spl_bounded_start(const spl_bounded *b, double *x, spl_pool *pool)
{
    if (!b->on || !b->has_past) return;
    memcpy(x, b->alone, coordinates(b) * sizeof *x);
    spl_solid_carry(b->solid, &b->past, x, pool);
}

/* The next frame without contact begins here. */
static void keep(spl_bounded *b, const double *x)
{
    memcpy(b->alone, x, coordinates(b) * sizeof *x);
    spl_pose_past_keep(&b->past, &b->solid->drive);
    b->has_past = true;
}

supple_result spl_bounded_frame(spl_bounded *b, const spl_statics_problem *problem, double *x, supple_stats *stats,
                                supple_error *error)
{
    spl_arrival *a = &b->arrival;
    double start = spl_now_ms();
    int32_t held, free;
    spl_statics_stats solved = {0};
    if (!b->on) return SUPPLE_OK;
    keep(b, x);
    supple_result result = spl_arrival_frame(a, problem, b->alone, x, &solved, error);
    stats->ms_contact = spl_now_ms() - start;
    stats->contacts = spl_barrier_look(a->barrier).pairs;
    stats->iterations += a->iterations;
    if (result == SUPPLE_OK && !a->leapt) {
        stats->residual = solved.residual;
        stats->converged = solved.converged;
    }
    spl_inversion_count(&b->solid->elements, a->pins->held, x, &held, &free);
    spl_arrival_tell(a, held, b->value);
    return result;
}

void spl_bounded_solution(const spl_bounded *b, spl_solution *out)
{
    if (!b->on) return;
    out->exempt = spl_statics_exempt(b->arrival.solver);
    out->barrier = b->arrival.barrier;
    out->missing = b->arrival.missing;
    out->barrier_x = b->arrival.x;
}
