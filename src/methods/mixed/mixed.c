/* Automatic skinning with mixed finite elements: Song, Kachkovski, Monem, Negash and Levin 2023.
 *
 * Rotations of the tetrahedra are prescribed by the bones; what is left is one linear system a frame (their equation
 * 12, warp.h). No weights are painted. Where flesh that no bone holds turns far from what is prescribed, a few
 * local/global rounds let its rotations follow it (rounds.h); `rotation=polar` does so everywhere, towards the
 * corotational solution. */
#include "methods/mixed/mixed.h"

#include "body/pins.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "methods/bounded.h"
#include "methods/mixed/clusters.h"
#include "methods/mixed/rounds.h"
#include "statics/statics.h"

#include <string.h>

enum {
    P_ENERGY,
    P_CLUSTER,
    P_SHARPNESS,
    P_ROTATION,
    P_ROUNDS,
    P_PIN,
    P_STIFFNESS,
    P_SOLVER,
    P_TOLERANCE,
    P_ITERATIONS,
    P_FORM,
    P_CONTACT,
    P_CONTACT_ROUNDS
};

enum { ROTATION_AUTO, ROTATION_BONES, ROTATION_POLAR };

static const spl_parameter PARAMETERS[] = {
    [P_ENERGY] = {"energy", "", 1, 0, 2, "what flesh is made of", "arap|corot|neohookean"},
    [P_CLUSTER] = {"cluster", "", 0, 0, 5, "which bone turns which flesh", "smooth|bone|joint|midpoint|hierarchy|user"},
    [P_SHARPNESS] = {"sharpness", "", 4, 1, 100, "power of the weights by which cluster=smooth blends bends", NULL},
    [P_ROTATION] = {"rotation", "", 0, 0, 2,
                    "rotations from the flesh where it turns far from the bones, nowhere, everywhere",
                    "auto|bones|polar"},
    [P_ROUNDS] = {"rounds", "", 4, 1, 200, "most updates of the rotations in a solve", NULL},
    [P_PIN] = {"pin", "", 1, 0, 1, "soft springs at handles and midpoints, or the flesh inside bones held hard",
               "soft|hard"},
    [P_STIFFNESS] = {"k_s", "N/m", 1e5, 1, 1e12, "stiffness of soft pins", NULL},
    [P_SOLVER] = {"solver", "", 0, 0, 4, "how the system is solved", "auto|levels|warp|scalar|direct"},
    [P_TOLERANCE] = {"tolerance", "", 1e-5, 1e-12, 0.1, "residual at which a solve ends", NULL},
    [P_ITERATIONS] = {"iterations", "", 500, 1, 100000, "most iterations of a solve", NULL},
    [P_FORM] = {"contact-form", "", 0, 0, 1, "contact by springs where flesh is in flesh, or by a barrier: never",
                "penalty|barrier"},
    [P_CONTACT] = {"contact", "", 1, 1e-3, 1e4, "stiffness of contacts, of the flesh's own at their vertices", NULL},
    [P_CONTACT_ROUNDS] = {"contact-rounds", "", 4, 1, 100, "most times that contacts are looked for in a frame", NULL},
};

typedef struct mixed {
    spl_clusters clusters;
    spl_pins pins;
    spl_warp *warp;
    spl_statics *newton; /* for neohookean */
    double *lambda;      /* by tet: zeros for arap; NULL: the material's */
    double *rotation;    /* 9 a tet */
    spl_rounds rounds;
    spl_bounded bounded;   /* contact by a barrier */
    spl_mixed_touch touch; /* springs of contacts */
    spl_warp_stats solved; /* the last linear solve */
    bool same;             /* since then rotations and spin have not changed */
    const spl_law *law;
} mixed;

/* ---- set-up ---- */

static supple_result make_system(mixed *m, const spl_method_context *c, supple_error *error)
{
    const spl_solid *s = c->solid;
    size_t n = (size_t)s->elements.vertex_count;
    double *spring = spl_new(c->allocator, n, sizeof *spring);
    if (!spring) return spl_fail_memory(error, "the elastic system");
    for (int32_t i = 0; i < m->pins.count; i++) spring[m->pins.pin[i].vertex] += m->pins.pin[i].stiffness;
    spl_warp_input in = {.elements = &s->elements,
                         .rest = s->drive.rest,
                         .mu = s->material.mu,
                         .lambda = m->lambda ? m->lambda : s->material.lambda,
                         .held = m->pins.held,
                         .spring = spring,
                         .solver = (spl_warp_solver)c->parameter[P_SOLVER],
                         .backend = c->config->solver,
                         .floor = 1e-12 * s->stiffness_scale};
    supple_result result = spl_warp_create(&in, c->allocator, c->pool, &m->warp, error);
    spl_free(c->allocator, spring);
    return result;
}

/* Contacts are springs of the linear system; the Newton solver has none. */
static supple_result make_touch(mixed *m, const spl_method_context *c, supple_error *error)
{
    if (!c->contacts) return SUPPLE_OK;
    if (m->law == &spl_law_mixed_neohookean)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "energy=neohookean answers no contacts: use corot or arap");
    return spl_mixed_touch_create(c->solid, c->contacts, c->parameter[P_CONTACT], c->allocator, &m->touch, error);
}

static supple_result make_newton(mixed *m, const spl_method_context *c, supple_error *error)
{
    if (m->law != &spl_law_mixed_neohookean) return SUPPLE_OK;
    spl_statics_options options = spl_statics_options_default();
    options.tolerance = c->parameter[P_TOLERANCE];
    options.backend = c->config->solver;
    options.size = c->solid->diagonal;
    options.solver = SPL_STATICS_PCG;
    return spl_statics_create(&c->solid->elements, m->pins.held, c->allocator, c->pool, &options, &m->newton, error);
}

static supple_result mixed_init(void *state, const spl_method_context *c, supple_error *error)
{
    mixed *m = state;
    const spl_elements *e = &c->solid->elements;
    double start = spl_now_ms();
    int energy = (int)c->parameter[P_ENERGY];
    m->law = energy == 2 ? &spl_law_mixed_neohookean : &spl_law_mixed;
    m->rotation = spl_new(c->allocator, (size_t)e->count, 9 * sizeof *m->rotation);
    if (energy == 0) m->lambda = spl_new(c->allocator, (size_t)e->count, sizeof *m->lambda);
    if (!m->rotation || (energy == 0 && !m->lambda)) return spl_fail_memory(error, "the rotations");
    supple_result result = spl_clusters_create(c->solid, (spl_cluster_kind)c->parameter[P_CLUSTER],
                                               c->parameter[P_SHARPNESS], &m->clusters, error);
    spl_pin_kind pin = c->parameter[P_PIN] > 0 ? SPL_PIN_HARD : SPL_PIN_MIDPOINTS;
    if (result == SUPPLE_OK) result = spl_pins_create(c->solid, pin, c->parameter[P_STIFFNESS], &m->pins, error);
    if (result == SUPPLE_OK) result = make_system(m, c, error);
    if (result == SUPPLE_OK) result = make_newton(m, c, error);
    spl_rounds_input rounds = {.elements = e,
                               .rest = c->solid->drive.rest,
                               .held = m->pins.held,
                               .pin = m->pins.pin,
                               .pin_count = m->pins.count,
                               .surface = c->solid->body->tets.surface,
                               .surface_count = c->solid->body->tets.surface_count};
    if (result == SUPPLE_OK && c->parameter[P_ROTATION] != ROTATION_BONES)
        result = spl_rounds_create(&rounds, c->allocator, &m->rounds, error);
    if (result == SUPPLE_OK) result = make_touch(m, c, error);
    if (result == SUPPLE_OK && c->parameter[P_FORM] > 0)
        result = spl_bounded_create(c, &m->pins, c->parameter[P_TOLERANCE], &m->bounded, error);
    c->setup->ms_factor = spl_now_ms() - start;
    return result;
}

static void mixed_release(void *state, const spl_method_context *c)
{
    mixed *m = state;
    spl_clusters_release(&m->clusters);
    spl_pins_release(&m->pins);
    spl_warp_destroy(m->warp);
    spl_statics_destroy(m->newton);
    spl_rounds_release(&m->rounds);
    spl_mixed_touch_release(&m->touch);
    spl_bounded_release(&m->bounded);
    spl_free(c->allocator, m->lambda);
    spl_free(c->allocator, m->rotation);
}

/* ---- a frame ---- */

static supple_result solve_once(mixed *m, spl_warp_problem *p, double *x, supple_stats *stats, supple_error *error)
{
    p->same = m->same;
    supple_result result = spl_warp_solve(m->warp, p, x, &m->solved, error);
    m->same = result == SUPPLE_OK;
    if (result != SUPPLE_OK) return result;
    p->follow_up = true;
    stats->iterations += m->solved.iterations;
    stats->residual = m->solved.residual;
    stats->converged = m->solved.converged;
    return SUPPLE_OK;
}

/* Rounds for flesh that turned far from what is prescribed. With spin they cannot make it turn too far; the last solve
 * is without, so that what balances is the method's own energy. Nothing to do: nothing is done. */
static supple_result solve_free(mixed *m, const spl_method_context *c, spl_warp_problem *p, double *x,
                                supple_stats *stats, supple_error *error)
{
    static const double rough = 1e-3, still = 0.5 * 3.14159265358979323846 / 180;
    const spl_elements *e = &c->solid->elements;
    double tolerance = p->tolerance, turned = 0;
    supple_result result = SUPPLE_OK;
    for (int i = 0; i <= (int)c->parameter[P_ROUNDS] && result == SUPPLE_OK; i++) {
        turned = spl_rounds_free(&m->rounds, e, c->solid->material.mu, x, i == 0, m->rotation, c->pool);
        if (turned < 0) return SUPPLE_OK;
        m->same = false;
        bool last = i == (int)c->parameter[P_ROUNDS] || turned < still;
        p->spin = last ? NULL : m->rounds.spin;
        p->tolerance = last ? tolerance : fmax(tolerance, rough);
        result = solve_once(m, p, x, stats, error);
        if (last) break;
    }
    return result;
}

/* The linear systems: one, or one for every round of rotations. `again`: not the frame's first. */
static supple_result solve_linear(mixed *m, const spl_method_context *c, bool again, double tolerance, double *x,
                                  supple_stats *stats, supple_error *error)
{
    spl_warp_problem p = {.rotation = m->rotation,
                          .pin = m->pins.pin,
                          .pin_count = m->pins.count,
                          .force = c->solid->force,
                          .touch = m->touch.spring,
                          .touch_count = m->touch.count,
                          .tolerance = tolerance,
                          .max_iterations = (int32_t)c->parameter[P_ITERATIONS],
                          .follow_up = again};
    int kind = (int)c->parameter[P_ROTATION], rounds = kind == ROTATION_POLAR ? (int)c->parameter[P_ROUNDS] : 0;
    supple_result result = solve_once(m, &p, x, stats, error);
    for (int i = 0; i < rounds && result == SUPPLE_OK; i++) {
        spl_rounds_rotate(&m->rounds, &c->solid->elements, x, m->rotation, c->pool);
        m->same = false;
        result = solve_once(m, &p, x, stats, error);
    }
    return result == SUPPLE_OK && kind == ROTATION_AUTO ? solve_free(m, c, &p, x, stats, error) : result;
}

static supple_result solve_newton(mixed *m, const spl_method_context *c, double *x, supple_stats *stats,
                                  supple_error *error)
{
    spl_statics_problem p = {.law = m->law,
                             .mu = c->solid->material.mu,
                             .lambda = c->solid->material.lambda,
                             .rotation = m->rotation,
                             .pin = m->pins.pin,
                             .pin_count = m->pins.count,
                             .force = c->solid->force};
    spl_statics_stats solved;
    supple_result result = spl_statics_solve(m->newton, &p, x, &solved, error);
    stats->iterations += solved.iterations;
    stats->residual = solved.residual;
    stats->converged = solved.converged;
    return result;
}

/* Looks for contacts at x; returns whether they are those of the last time. */
static bool find_contacts(mixed *m, const spl_method_context *c, const double *x, supple_stats *stats)
{
    double start = spl_now_ms();
    bool same = spl_mixed_touch_find(&m->touch, c->contacts, x, c->pool);
    stats->contacts = m->touch.count;
    stats->ms_contact = (isfinite(stats->ms_contact) ? stats->ms_contact : 0) + spl_now_ms() - start;
    return same;
}

/* How often contacts are looked for. Where steps are bounded what is left is stopped, and the next frame learns of it:
 * three quarters of the rounds leave as few vertices that go to and fro (docs/contact.md), half of them more. */
static int32_t contact_rounds(const spl_method_context *c)
{
    int32_t rounds = (int32_t)c->parameter[P_CONTACT_ROUNDS];
    return spl_contacts_bounded(c->contacts) ? (3 * rounds + 3) / 4 : rounds;
}

/* Contacts at the start, and again after rough solves until they stay; then the solve. A frame without any is solved
 * as ever. */
static supple_result solve_contacts(mixed *m, const spl_method_context *c, double *x, supple_stats *stats,
                                    supple_error *error)
{
    static const double rough = 1e-3;
    double tolerance = c->parameter[P_TOLERANCE];
    int32_t rounds = contact_rounds(c);
    bool same = false;
    find_contacts(m, c, x, stats);
    for (int32_t k = 1; k < rounds && !same; k++) {
        bool any = m->touch.count > 0;
        supple_result result =
            solve_linear(m, c, any || k > 1, any ? fmax(tolerance, rough) : tolerance, x, stats, error);
        if (result != SUPPLE_OK) return result;
        same = find_contacts(m, c, x, stats);
    }
    if (same && m->touch.count == 0) return SUPPLE_OK;
    supple_result result = solve_linear(m, c, true, tolerance, x, stats, error);
    spl_mixed_touch_settle(&m->touch, x);
    return result;
}

/* The frame's own quadratic and the barrier. x has its minimum without. */
static supple_result solve_bounded(mixed *m, const spl_method_context *c, double *x, supple_stats *stats,
                                   supple_error *error)
{
    spl_statics_problem p = {.law = m->law,
                             .mu = c->solid->material.mu,
                             .lambda = m->lambda ? m->lambda : c->solid->material.lambda,
                             .rotation = m->rotation,
                             .force = c->solid->force};
    return spl_bounded_frame(&m->bounded, &p, x, stats, error);
}

static const supple_named_value *mixed_values(const void *state, int32_t *count)
{
    const mixed *m = state;
    *count = m->bounded.on ? SPL_ARRIVAL_VALUES : 0;
    return m->bounded.value;
}

static supple_result mixed_solve(void *state, const spl_method_context *c, double *x, supple_stats *stats,
                                 supple_error *error)
{
    mixed *m = state;
    spl_clusters_rotations(&m->clusters, &c->solid->drive, m->rotation, m->rounds.discord, c->pool);
    m->same = false;
    if (m->rounds.share) spl_rounds_begin(&m->rounds, &c->solid->elements, m->rotation);
    spl_pins_pose(&m->pins, &c->solid->drive);
    spl_bounded_start(&m->bounded, x, c->pool);
    spl_drive_hold(&c->solid->drive, m->pins.held, x);
    stats->iterations = 0;
    supple_result result = m->touch.spring ? solve_contacts(m, c, x, stats, error)
                                           : solve_linear(m, c, false, c->parameter[P_TOLERANCE], x, stats, error);
    if (result == SUPPLE_OK && m->newton) result = solve_newton(m, c, x, stats, error);
    return result == SUPPLE_OK ? solve_bounded(m, c, x, stats, error) : result;
}

const spl_warp_stats *spl_mixed_stats(const void *state)
{
    return &((const mixed *)state)->solved;
}

static void mixed_reset(void *state)
{
    mixed *m = state;
    spl_warp_forget(m->warp);
    spl_bounded_reset(&m->bounded);
}

static void mixed_solution(const void *state, const spl_method_context *c, spl_solution *out)
{
    const mixed *m = state;
    *out = (spl_solution){.law = m->law,
                          .mu = c->solid->material.mu,
                          .lambda = m->lambda ? m->lambda : c->solid->material.lambda,
                          .rotation = m->rotation,
                          .held = m->pins.held,
                          .pin = m->pins.pin,
                          .pin_count = m->pins.count,
                          .spring = m->touch.spring,
                          .spring_count = m->touch.count};
    spl_bounded_solution(&m->bounded, out);
}

const spl_method spl_method_mixed = {
    .name = "mixed",
    .summary = "mixed finite elements: flesh without weights, one linear system a frame",
    .needs = SPL_NEEDS_SKIN | SPL_NEEDS_BODY,
    .answers = SPL_ANSWERS_CONTACT | SPL_CONTACT_ON_REQUEST,
    .output = SPL_OUTPUT_BODY,
    .parameter = PARAMETERS,
    .parameter_count = sizeof PARAMETERS / sizeof *PARAMETERS,
    .contact_form = "contact-form",
    .state_size = sizeof(mixed),
    .init = mixed_init,
    .solve = mixed_solve,
    .solution = mixed_solution,
    .values = mixed_values,
    .reset = mixed_reset,
    .release = mixed_release,
};
