/* Steklov-Poincare skinning: Gao, Mitchell and Sifakis 2014. Quasistatic flesh whose rotations come from skinning
 * (exrotated.h), in contact (springs.h, or by a barrier: methods/bounded.h), solved by Newton's method (newton.h) in
 * one of two formulations of the same equations: all free vertices (volume.h), or those of the surface alone with the
 * interior in equilibrium (schur.h).
 */
#include "methods/steklov/steklov.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "methods/bounded.h"
#include "methods/steklov/schur.h"

#include <math.h>
#include <string.h>

enum { FORM_PENALTY, FORM_BARRIER };

enum {
    P_FORMULATION,
    P_WEIGHTS,
    P_PRECONDITION,
    P_TOLERANCE,
    P_STEPS,
    P_ITERATIONS,
    P_FORM,
    P_CONTACT,
    P_SPRINGS,
    P_OPERATOR,
    P_DEGREE,
    P_DISTANCE,
    P_BOUNDARY,
    P_DROP,
    P_PRECISION,
    P_TAPER,
    P_STILL
};

static const spl_parameter PARAMETERS[] = {
    [P_FORMULATION] = {"formulation", "", 0, 0, 2, "which unknowns are solved for", "auto|surface|volume"},
    [P_WEIGHTS] = {"weights", "", 0, 0, 1, "what blends rotations: bounded biharmonic, or harmonic",
                   "bounded|harmonic"},
    [P_PRECONDITION] = {"precondition", "", 0, 0, 3, "the factor at rest, turned; with contacts in it or not",
                        "contact|skinned|none|direct"},
    [P_TOLERANCE] = {"tolerance", "", 1e-5, 1e-12, 0.1, "residual at which a frame ends", NULL},
    [P_STEPS] = {"steps", "", 100, 1, 10000, "most Newton steps of a frame", NULL},
    [P_ITERATIONS] = {"iterations", "", 2000, 1, 100000, "most iterations of a solve", NULL},
    [P_FORM] = {"contact-form", "", FORM_PENALTY, 0, 1,
                "springs where flesh is in flesh (the paper's), or a barrier: never", "penalty|barrier"},
    [P_CONTACT] = {"contact", "", 10, 1e-3, 1e6, "stiffness of contacts, in units of the flesh's own", NULL},
    [P_SPRINGS] = {"springs", "", 0, 0, 1, "contacts push along the normal only, or first pull to a point",
                   "normal|point"},
    [P_OPERATOR] = {"operator", "", 0, 0, 2, "the surface's operator: exact, by a polynomial, or as in the paper",
                    "exact|polynomial|printed"},
    [P_DEGREE] = {"degree", "", 4, 1, 50, "of operator=polynomial before it is squared", NULL},
    [P_DISTANCE] = {"distance", "edges", 2, 1, 1000, "how far the surface's preconditioner reaches", NULL},
    [P_BOUNDARY] = {"boundary", "", 0, 0, 1, "factor of the surface's preconditioner", "incomplete|cholesky"},
    [P_DROP] = {"drop", "", 0, 0, 1, "what that leaves out is forgotten, or added to its diagonal (slow)",
                "plain|diagonal"},
    [P_PRECISION] = {"precision", "", 0, 0, 1, "numbers of the preconditioner and of products", "single|double"},
    [P_TAPER] = {"taper", "degrees", 162, 0, 179, "how far joints may bend before bones meet: they taper; 0: off",
                 NULL},
    [P_STILL] = {"still", "mm", 0, 0, 100, "a step that moves nothing by more ends a frame, too; 0: the residual alone",
                 NULL},
};

enum { VALUES = 15 };

typedef struct steklov {
    spl_exrotated system;
    spl_springs springs;
    spl_newton newton;
    spl_volume volume;
    spl_schur schur;
    spl_bounded bounded; /* contact by a barrier */
    double bend;         /* the largest of the last pose, radians */
    bool settled;        /* the last frame converged */
    supple_named_value value[VALUES + SPL_ARRIVAL_VALUES];
} steklov;

/* ---- set-up ---- */

static supple_result make_volume(steklov *m, const spl_method_context *c, supple_error *error)
{
    spl_volume_options o = {.precondition = (spl_steklov_preconditioner)c->parameter[P_PRECONDITION],
                            .max_iterations = (int32_t)c->parameter[P_ITERATIONS],
                            .single = c->parameter[P_PRECISION] == 0,
                            .backend = c->config->solver};
    m->newton.formulation = &spl_formulation_volume;
    m->newton.state = &m->volume;
    return spl_volume_create(&m->system, &m->springs, &o, &m->volume, error);
}

static supple_result make_surface(steklov *m, const spl_method_context *c, supple_error *error)
{
    spl_schur_options o = {.precondition = (spl_steklov_preconditioner)c->parameter[P_PRECONDITION],
                           .max_iterations = (int32_t)c->parameter[P_ITERATIONS],
                           .distance = (int32_t)c->parameter[P_DISTANCE],
                           .degree = c->parameter[P_OPERATOR] == 2 ? 0 : (int32_t)c->parameter[P_DEGREE],
                           .exact = c->parameter[P_OPERATOR] == 0,
                           .incomplete = c->parameter[P_BOUNDARY] == 0,
                           .compensate = c->parameter[P_DROP] > 0,
                           .single = c->parameter[P_PRECISION] == 0,
                           .config = c->config};
    m->newton.formulation = &spl_formulation_surface;
    m->newton.state = &m->schur;
    if (o.precondition == SPL_PRECONDITION_DIRECT) o.precondition = SPL_PRECONDITION_CONTACT;
    o.exact = o.exact && o.precondition != SPL_PRECONDITION_NONE; /* without K_b its preconditioner is none */
    return spl_schur_create(&m->system, &m->springs, &o, &m->schur, error);
}

/* The volume at every size, as measured in docs/steklov.md: with the contacts in its preconditioner it pays less for
 * them than the surface does. */
static bool on_surface(const spl_method_context *c)
{
    return c->parameter[P_FORMULATION] == 1;
}

static supple_result steklov_init(void *state, const spl_method_context *c, supple_error *error)
{
    steklov *m = state;
    double start = spl_now_ms();
    spl_exrotated_options o = {.apart = on_surface(c),
                               .narrow = c->parameter[P_PRECISION] == 0,
                               .taper = c->parameter[P_TAPER],
                               .bounded = c->parameter[P_WEIGHTS] == 0,
                               .config = c->config};
    supple_result result = spl_exrotated_create(c->solid, &o, c->pool, &m->system, error);
    if (result == SUPPLE_OK)
        result = spl_springs_create(&m->system, c->contacts, c->parameter[P_CONTACT], c->parameter[P_SPRINGS] == 0,
                                    &m->springs, error);
    if (result == SUPPLE_OK) result = spl_newton_create(&m->system, &m->springs, &m->newton, error);
    if (result == SUPPLE_OK) result = on_surface(c) ? make_surface(m, c, error) : make_volume(m, c, error);
    if (result == SUPPLE_OK && c->parameter[P_FORM] == FORM_BARRIER)
        result = spl_bounded_create(c, &m->system.pins, c->parameter[P_TOLERANCE], &m->bounded, error);
    c->setup->ms_factor = spl_now_ms() - start;
    return result;
}

static void steklov_release(void *state, const spl_method_context *c)
{
    (void)c;
    steklov *m = state;
    spl_bounded_release(&m->bounded);
    spl_volume_release(&m->volume);
    spl_schur_release(&m->schur);
    spl_newton_release(&m->newton);
    spl_springs_release(&m->springs);
    spl_exrotated_release(&m->system);
}

/* What was found and learnt; where flesh has come to lie beside flesh is no part of it. */
static void forget(steklov *m)
{
    spl_newton_forget(&m->newton);
    if (m->springs.contacts) spl_contacts_reset(m->springs.contacts);
}

static void steklov_reset(void *state)
{
    steklov *m = state;
    forget(m);
    spl_bounded_reset(&m->bounded);
}

/* ---- a frame ---- */

/* After a jump, or a frame that found no balance, what was carried along may be tangled, and its contacts would hold it
 * so for good: then skinning alone is the start, if its forces are smaller by far. */
static void choose_start(steklov *m, const spl_method_context *c, double *x)
{
    const double JUMP = 0.5;
    double bend = c->solid->drive.max_bend, *posed = m->newton.best;
    bool calm = m->settled && fabs(bend - m->bend) < JUMP;
    m->bend = bend;
    if (calm) return;
    double carried = spl_exrotated_forces(&m->system, x);
    spl_solid_pose(c->solid, posed, c->pool);
    spl_drive_hold(&c->solid->drive, m->system.pins.held, posed);
    if (!(spl_exrotated_forces(&m->system, posed) < 0.5 * carried)) return;
    memcpy(x, posed, 3 * (size_t)c->solid->elements.vertex_count * sizeof *x);
    forget(m);
}

static supple_result solve_bounded(steklov *m, const spl_method_context *c, double *x, supple_stats *stats,
                                   supple_error *error)
{
    spl_statics_problem p = {.law = &spl_law_exrotated,
                             .mu = c->solid->material.mu,
                             .lambda = c->solid->material.lambda,
                             .rotation = m->system.rotation,
                             .force = c->solid->force};
    return spl_bounded_frame(&m->bounded, &p, x, stats, error);
}

static supple_result steklov_solve(void *state, const spl_method_context *c, double *x, supple_stats *stats,
                                   supple_error *error)
{
    steklov *m = state;
    spl_newton *n = &m->newton;
    spl_newton_options o = {.tolerance = c->parameter[P_TOLERANCE],
                            .max_steps = (int32_t)c->parameter[P_STEPS],
                            .still = 1e-3 * c->parameter[P_STILL]};
    double start = spl_now_ms(), skinned;
    n->stats = (spl_steklov_stats){0};
    spl_exrotated_skin(&m->system);
    spl_bounded_start(&m->bounded, x, c->pool);
    spl_drive_hold(&c->solid->drive, m->system.pins.held, x);
    skinned = spl_now_ms();
    spl_exrotated_assemble(&m->system);
    n->stats.ms_skinning = skinned - start;
    n->stats.ms_stiffness = spl_now_ms() - skinned;
    choose_start(m, c, x);
    supple_result result = spl_newton_solve(n, &o, x, error);
    m->settled = result == SUPPLE_OK && n->stats.converged;
    if (result != SUPPLE_OK) {
        forget(m);
        return result;
    }
    stats->iterations = n->stats.boundary_iterations + n->stats.interior_iterations;
    stats->residual = n->stats.residual;
    stats->converged = n->stats.converged;
    if (m->springs.contacts) {
        stats->contacts = n->stats.pairs;
        stats->ms_contact = n->stats.ms_contact;
    }
    return solve_bounded(m, c, x, stats, error);
}

static void steklov_solution(const void *state, const spl_method_context *c, spl_solution *out)
{
    const steklov *m = state;
    *out = (spl_solution){.law = &spl_law_exrotated,
                          .mu = c->solid->material.mu,
                          .lambda = c->solid->material.lambda,
                          .rotation = m->system.rotation,
                          .held = m->system.pins.held,
                          .pin = m->system.pins.pin,
                          .pin_count = m->system.pins.count,
                          .spring = m->springs.list,
                          .spring_count = m->springs.count};
    spl_bounded_solution(&m->bounded, out);
}

static const supple_named_value *steklov_values(const void *state, int32_t *count)
{
    steklov *m = (steklov *)state; /* its table is what this fills */
    const spl_steklov_stats *s = &m->newton.stats;
    const supple_named_value value[VALUES] = {{"skinning_ms", s->ms_skinning},
                                              {"stiffness_ms", s->ms_stiffness},
                                              {"force_ms", s->ms_force},
                                              {"interior_ms", s->ms_interior},
                                              {"interior_solves", s->interior_solves},
                                              {"interior_iterations", s->interior_iterations},
                                              {"boundary_ms", s->ms_boundary},
                                              {"boundary_iterations", s->boundary_iterations},
                                              {"precondition_ms", s->ms_precondition},
                                              {"newton_steps", s->newton},
                                              {"moved_mm", 1e3 * s->moved},
                                              {"contact_pairs", s->pairs},
                                              {"contact_cycles", s->cycles},
                                              {"contraction", s->contraction},
                                              {"breakdowns", s->breakdowns}};
    memcpy(m->value, value, sizeof value);
    memcpy(m->value + VALUES, m->bounded.value, sizeof m->bounded.value);
    *count = m->bounded.on ? VALUES + SPL_ARRIVAL_VALUES : VALUES;
    return m->value;
}

const spl_steklov_stats *spl_steklov_last(const void *state)
{
    return &((const steklov *)state)->newton.stats;
}

double spl_steklov_bytes(const void *state)
{
    const steklov *m = state;
    const spl_rows *rows = &m->system.matrix.rows;
    if (m->newton.state != &m->volume || !rows->start || !m->volume.ic) return 0;
    double number = m->system.narrow ? sizeof(float) : sizeof(double), n = (double)rows->n;
    double matrix = (double)rows->start[rows->n] * (9 * number + sizeof(int32_t));
    return matrix + (double)spl_ic3_bytes(m->volume.ic) + 10 * 3 * n * sizeof(double);
}

const spl_method spl_method_steklov = {
    .name = "steklov",
    .summary = "flesh turned by skinning and solved on its surface: large bodies in heavy contact",
    .needs = SPL_NEEDS_SKIN | SPL_NEEDS_BODY,
    .answers = SPL_ANSWERS_CONTACT,
    .output = SPL_OUTPUT_BODY,
    .parameter = PARAMETERS,
    .parameter_count = sizeof PARAMETERS / sizeof *PARAMETERS,
    .contact_form = "contact-form",
    .state_size = sizeof(steklov),
    .init = steklov_init,
    .solve = steklov_solve,
    .solution = steklov_solution,
    .values = steklov_values,
    .reset = steklov_reset,
    .release = steklov_release,
};
