/* The plain quasistatic answer: Newton's method on the whole body, to convergence. What every other method is measured
 * against, and standard finite elements with the mixed paper's two ways to pin (its figure 4). */
#include "body/pins.h"
#include "core/error.h"
#include "core/timer.h"
#include "fem/filter.h"
#include "methods/arrive.h"
#include "methods/method.h"
#include "statics/statics.h"

#include <string.h>

#define CONTACT_TURN (5 * M_PI / 180) /* of a joint in one step on its way to a pose, where flesh meets flesh */

enum { P_ENERGY, P_PIN, P_STIFFNESS, P_SOLVER, P_TOLERANCE, P_ITERATIONS, P_STILL, P_WIDTH };

static const spl_parameter PARAMETERS[] = {
    [P_ENERGY] = {"energy", "", 1, 0, 4, "what flesh is made of", "arap|corot|neohookean|stvk|neohookean-log"},
    [P_PIN] = {"pin", "", 0, 0, 2, "what is held: flesh inside bones, three vertices a handle, all along bones",
               "hard|three|bones"},
    [P_STIFFNESS] = {"k_s", "N/m", 1e5, 1, 1e12, "stiffness of the pins of three and bones", NULL},
    [P_SOLVER] = {"solver", "", 0, 0, 1, "how Newton's systems are solved", "pcg|direct"},
    [P_TOLERANCE] = {"tolerance", "", 1e-6, 1e-14, 0.1, "residual at which a frame ends", NULL},
    [P_ITERATIONS] = {"iterations", "", 200, 1, 10000, "most Newton steps of a frame", NULL},
    [P_STILL] = {"still", "mm", 0.1, 0, 10, "with contact: a step that moves nothing by more ends a frame", NULL},
    [P_WIDTH] = {"width", "mm", 0, 0, 100, "of the barrier between flesh and flesh; 0: 0.1% of the diagonal", NULL},
};

typedef struct reference {
    const spl_law *law;
    const spl_law *solved; /* that of the last frame: another one where tets could not be kept from inverting */
    spl_statics *statics;  /* without a barrier */
    spl_pins pins;
    bool contact;
    bool arrives;        /* there is a barrier, between flesh and flesh or in the law */
    spl_arrival arrival; /* past it */
    bool told;           /* that tets stay inverted */
    supple_named_value value[SPL_ARRIVAL_VALUES];
} reference;

/* A barrier, and the solvers that bring bones and flesh past it. */
static supple_result init_contact(reference *r, const spl_method_context *c, const spl_statics_options *statics,
                                  supple_error *error)
{
    spl_arrival_options options = {
        .statics = *statics, .barrier = spl_barrier_options_default(), .turn = CONTACT_TURN, .colliders = c->colliders};
    options.barrier.self = c->collide & SUPPLE_COLLIDE_SELF;
    options.barrier.width = 1e-3 * c->parameter[P_WIDTH];
    if (r->contact) options.statics.still = 1e-3 * c->parameter[P_STILL];
    return spl_arrival_create(c->solid, &r->pins, &options, c->pool, &r->arrival, error);
}

static supple_result init_plain(reference *r, const spl_method_context *c, spl_statics_options *options,
                                supple_error *error)
{
    const spl_solid *solid = c->solid;
    const spl_statics_rest rest = {.law = r->law,
                                   .position = solid->drive.rest,
                                   .mu = solid->material.mu,
                                   .lambda = solid->material.lambda,
                                   .pin = r->pins.pin,
                                   .pin_count = r->pins.count};
    options->rest = options->solver == SPL_STATICS_PCG ? &rest : NULL;
    return spl_statics_create(&solid->elements, r->pins.held, c->allocator, c->pool, options, &r->statics, error);
}

static supple_result reference_init(void *state, const spl_method_context *c, supple_error *error)
{
    static const spl_law *const laws[] = {&spl_law_arap, &spl_law_corot, &spl_law_neohookean, &spl_law_stvk,
                                          &spl_law_log};
    static const spl_pin_kind kinds[] = {SPL_PIN_HARD, SPL_PIN_HANDLES, SPL_PIN_BONES};
    reference *r = state;
    double start = spl_now_ms();
    r->law = r->solved = laws[(int)c->parameter[P_ENERGY]];
    spl_statics_options options = spl_statics_options_default();
    options.solver = c->parameter[P_SOLVER] > 0 ? SPL_STATICS_DIRECT : SPL_STATICS_PCG;
    options.tolerance = c->parameter[P_TOLERANCE];
    options.max_iterations = (int32_t)c->parameter[P_ITERATIONS];
    options.backend = c->config->solver;
    options.size = c->solid->diagonal;
    options.config = c->config;
    supple_result result =
        spl_pins_create(c->solid, kinds[(int)c->parameter[P_PIN]], c->parameter[P_STIFFNESS], &r->pins, error);
    r->contact = (c->collide & SUPPLE_COLLIDE_SELF) || spl_colliders_count(c->colliders) > 0;
    r->arrives = r->contact || r->law->barrier;
    if (result == SUPPLE_OK && r->arrives)
        result = init_contact(r, c, &options, error);
    else if (result == SUPPLE_OK)
        result = init_plain(r, c, &options, error);
    c->setup->ms_factor = spl_now_ms() - start;
    return result;
}

static void reference_release(void *state, const spl_method_context *c)
{
    (void)c;
    reference *r = state;
    spl_statics_destroy(r->statics);
    spl_arrival_release(&r->arrival);
    spl_pins_release(&r->pins);
}

static void tell_arrival(reference *r, const spl_method_context *c, const double *x, supple_stats *stats)
{
    int32_t held, free;
    spl_inversion_count(&c->solid->elements, r->pins.held, x, &held, &free);
    const spl_arrival *a = &r->arrival;
    spl_arrival_tell(a, held, r->value);
    if (r->contact) stats->contacts = spl_barrier_look(a->barrier).pairs;
    r->solved = a->softened ? &spl_law_neohookean : r->law;
    if (!a->softened || r->told) return;
    r->told = true;
    spl_log(c->config, SUPPLE_LOG_WARNING,
            "%.3f s: %d tetrahedra stay inverted, which %s does not allow: such frames are solved with neohookean",
            c->time, (int)free, r->law->name);
}

static const supple_named_value *reference_values(const void *state, int32_t *count)
{
    const reference *r = state;
    *count = r->arrives ? SPL_ARRIVAL_VALUES : 0;
    return r->value;
}

static void reference_reset(void *state)
{
    reference *r = state;
    if (r->arrives) spl_arrival_reset(&r->arrival);
}

static supple_result reference_solve(void *state, const spl_method_context *c, double *x, supple_stats *stats,
                                     supple_error *error)
{
    reference *r = state;
    spl_pins_pose(&r->pins, &c->solid->drive);
    spl_statics_problem p = {.law = r->law,
                             .mu = c->solid->material.mu,
                             .lambda = c->solid->material.lambda,
                             .pin = r->pins.pin,
                             .pin_count = r->pins.count,
                             .force = c->solid->force};
    spl_statics_stats solved = {0};
    supple_result result;
    if (r->arrives) {
        result = spl_arrival_frame(&r->arrival, &p, NULL, x, &solved, error);
        tell_arrival(r, c, x, stats);
    } else {
        spl_drive_hold(&c->solid->drive, r->pins.held, x);
        result = spl_statics_solve(r->statics, &p, x, &solved, error);
    }
    stats->iterations = r->arrives ? r->arrival.iterations : solved.iterations;
    stats->residual = solved.residual;
    stats->converged = solved.converged;
    stats->energy = solved.energy;
    return result;
}

static void reference_solution(const void *state, const spl_method_context *c, spl_solution *out)
{
    const reference *r = state;
    *out = (spl_solution){.law = r->solved,
                          .mu = c->solid->material.mu,
                          .lambda = c->solid->material.lambda,
                          .held = r->pins.held,
                          .pin = r->pins.pin,
                          .pin_count = r->pins.count,
                          .exempt = r->arrives ? spl_statics_exempt(r->arrival.solver) : NULL,
                          .barrier = r->contact ? r->arrival.barrier : NULL,
                          .missing = r->arrival.missing,
                          .barrier_x = r->arrival.x};
}

const spl_method spl_method_reference = {
    .name = "reference",
    .summary = "Newton's method to convergence: the answer the others approximate; slow",
    .needs = SPL_NEEDS_SKIN | SPL_NEEDS_BODY,
    .answers = SPL_ANSWERS_CONTACT | SPL_CONTACT_ON_REQUEST | SPL_FINDS_CONTACTS,
    .output = SPL_OUTPUT_BODY,
    .parameter = PARAMETERS,
    .parameter_count = sizeof PARAMETERS / sizeof *PARAMETERS,
    .state_size = sizeof(reference),
    .init = reference_init,
    .solve = reference_solve,
    .solution = reference_solution,
    .values = reference_values,
    .reset = reference_reset,
    .release = reference_release,
};
