/* Fast projective skinning: Komaritzan and Botsch 2019. Flesh by projective dynamics with the bones' vertices as hard
 * constraints (section 4.3), quasistatic or in motion (equation 2, Algorithm 1). solver.h has the iterations. */
#include "methods/projective/projective.h"
#include "body/pins.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "methods/method.h"
#include "methods/projective/cl/engine.h"
#include "methods/projective/local.h"
#include "methods/projective/touch.h"

#include <string.h>

enum {
    P_ITERATIONS,
    P_TOLERANCE,
    P_ACCELERATE,
    P_ANCHORS,
    P_ANCHOR_WEIGHT,
    P_ENERGY,
    P_VOLUME,
    P_DAMPING,
    P_CONTACT,
    P_CONTACT_FORM,
    P_ROUNDS,
    P_SOLVER,
    P_INNER,
};

static const spl_parameter PARAMETERS[] = {
    [P_ITERATIONS] = {"iterations", "", 0, 0, 100000,
                      "local/global iterations of a step; 0: 10 in motion, and 500 at most without dynamics", NULL},
    [P_TOLERANCE] = {"tolerance", "", 1e-4, 0, 0.1, "residual at which a frame ends, without dynamics", NULL},
    [P_ACCELERATE] = {"accelerate", "", 4, 0, 4, "acceleration; auto: lbfgs in motion, else anderson",
                      "none|chebyshev|anderson|lbfgs|auto"},
    [P_ANCHORS] = {"anchors", "", 0, 0, 1, "bones hold their vertices exactly, or by springs", "hard|soft"},
    [P_ANCHOR_WEIGHT] = {"anchor-weight", "", 100, 1e-3, 1e9, "stiffness of anchors=soft, of the flesh's own", NULL},
    [P_ENERGY] = {"energy", "", 0, 0, 1, "arap, the paper's strain constraints; or corot, which keeps volume",
                  "arap|corot"},
    [P_VOLUME] = {"volume", "", 0, 0, 100, "weight of volume constraints on arap, 1: as stiff as lambda; 0: none",
                  NULL},
    [P_DAMPING] = {"damping", "", 0.95, 0, 1, "share of the velocity against the bones left after 1/60 s", NULL},
    [P_CONTACT] = {"contact", "", 5, 1e-3, 1e6, "stiffness of contacts, of the flesh's own at the vertex", NULL},
    [P_CONTACT_FORM] = {"contact-form", "", 0, 0, 2,
                        "contacts stick for a step, slide, or hang on three corners (the paper's)",
                        "stick|slide|edges"},
    [P_ROUNDS] = {"rounds", "", 20, 1, 1000, "searches for contacts a frame at most, at rest; half with bounded steps",
                  NULL},
    [P_SOLVER] = {"solver", "", 0, 0, 1, "one factor and low-rank updates, or conjugate gradients (the paper's GPU's)",
                  "direct|pcg"},
    [P_INNER] = {"inner", "", 10, 1, 1000, "conjugate gradient iterations of a global step, with solver=pcg", NULL},
};

enum {
    STEP = 10, /* iterations */
    EQUILIBRIUM = 500,
    ROUND = 20,       /* between two searches for contacts, while they change */
    DIRECT = 400,     /* ties, up to which the low-rank update is faster, */
    NODES_A_TIE = 32, /* and of large bodies one for so many vertices (docs/projective.md) */
};

#define EARLY    10   /* times the tolerance, while contacts are still sought; */
#define STEADY   3    /* with bounded steps, where another iteration would tell in the contacts found next */
#define SHORTEST 1e-6 /* seconds: less is no step */
#define PUSH     1.0  /* m/s at which contacts are brought out */
#define THUD     1e-4 /* share of a vertex's velocity that contact leaves after 1/60 s */

typedef struct projective {
    spl_pins pins; /* of islands */
    int32_t *none; /* soft anchors: no vertex is held */
    const int32_t *held;
    spl_pin *pin; /* anchors, then islands */
    int32_t pin_count, anchor_count;
    double *mass, *bulk, *lambda;
    bool corot;      /* lambda is the material's */
    spl_touch touch; /* contacts as ties */
    spl_pd *pd;
    spl_pd_engine *engine;           /* on a device; NULL: the processor */
    const spl_projective_seat *seat; /* among others there; NULL: alone */
    spl_pd_stats solved;             /* the last solve */
    double *start;                   /* 3 x vertices: x before the step */
    double *carried;                 /* the same, carried by the bones */
    double *inertia;                 /* s */
    double *force;                   /* external forces and inertia's at the end of a step */
    bool moving;                     /* the last solve was a time step */
    spl_pose_past past;
    bool has_past;
} projective;

/* ---- set-up ---- */

static supple_result take_memory(projective *m, const spl_method_context *c, supple_error *error)
{
    size_t n = (size_t)c->solid->elements.vertex_count, tets = (size_t)c->solid->elements.count;
    m->mass = spl_new(c->allocator, n, sizeof *m->mass);
    m->lambda = spl_new(c->allocator, tets, sizeof *m->lambda);
    m->start = spl_new(c->allocator, n, 3 * sizeof *m->start);
    m->carried = spl_new(c->allocator, n, 3 * sizeof *m->carried);
    m->inertia = spl_new(c->allocator, n, 3 * sizeof *m->inertia);
    m->force = spl_new(c->allocator, n, 3 * sizeof *m->force);
    if (!m->mass || !m->lambda || !m->start || !m->carried || !m->inertia || !m->force)
        return spl_fail_memory(error, "the flesh's motion");
    spl_elements_lumped_mass(&c->solid->elements, c->solid->material.density, m->mass);
    for (size_t k = 0; k < tets; k++) /* |F - T|^2 is t^2 / 3 for a small change t of volume, lambda's term t^2 / 2 */
        m->lambda[k] = 1.5 * c->parameter[P_VOLUME] * c->solid->material.lambda[k];
    m->bulk = c->parameter[P_VOLUME] > 0 ? m->lambda : NULL;
    m->corot = c->parameter[P_ENERGY] > 0 && !m->bulk;
    for (size_t k = 0; m->corot && k < tets; k++) m->lambda[k] = c->solid->material.lambda[k];
    return spl_pose_past_create(c->solid, &m->past, error);
}

/* The stiffness that a vertex's tets put on it: what soft anchors are measured by. */
static void add_diagonals(const spl_solid *s, double *diagonal)
{
    const spl_elements *e = &s->elements;
    for (size_t k = 0; k < (size_t)e->count; k++)
        for (size_t i = 0; i < 4; i++) {
            const double *g = e->gradient + 12 * k + 3 * i;
            diagonal[e->tet[4 * k + i]] +=
                2 * s->material.mu[k] * e->volume[k] * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        }
}

/* Anchors (soft ones only) and the islands' springs. */
static supple_result make_pins(projective *m, const spl_method_context *c, double *spring, supple_error *error)
{
    const spl_body *body = c->solid->body;
    size_t n = (size_t)c->solid->elements.vertex_count;
    bool soft = c->parameter[P_ANCHORS] > 0;
    supple_result result = spl_pins_create(c->solid, SPL_PIN_HARD, 0, &m->pins, error);
    if (result != SUPPLE_OK) return result;
    m->held = m->pins.held;
    m->none = soft ? spl_new(c->allocator, n, sizeof *m->none) : NULL;
    m->pin = spl_new(c->allocator, n + (size_t)m->pins.count, sizeof *m->pin);
    if (!m->pin || (soft && !m->none)) return spl_fail_memory(error, "the anchors");
    if (soft) add_diagonals(c->solid, spring);
    for (size_t v = 0; soft && v < n; v++) {
        spring[v] *= c->parameter[P_ANCHOR_WEIGHT];
        m->none[v] = -1;
        if (body->bone[v] >= 0)
            m->pin[m->anchor_count++] = (spl_pin){.vertex = (int32_t)v, .stiffness = spring[v]};
        else
            spring[v] = 0;
    }
    if (soft) m->held = m->none;
    m->pin_count = m->anchor_count;
    for (int32_t i = 0; i < m->pins.count; i++) {
        m->pin[m->pin_count++] = m->pins.pin[i];
        spring[m->pins.pin[i].vertex] += m->pins.pin[i].stiffness;
    }
    return SUPPLE_OK;
}

/* By vertex: whether contacts may have it. */
static bool *mark_surface(const spl_tets *t, const supple_allocator *a)
{
    bool *may_touch = spl_new(a, (size_t)t->vertex_count, sizeof *may_touch);
    for (int32_t k = 0; may_touch && k < 3 * t->surface_count; k++) may_touch[t->surface[k]] = true;
    return may_touch;
}

static supple_result make_solver(projective *m, const spl_method_context *c, const double *spring, supple_error *error)
{
    const spl_tets *tets = &c->solid->body->tets;
    int32_t large = tets->vertex_count / NODES_A_TIE;
    bool *may_touch = mark_surface(tets, c->allocator);
    if (!may_touch) return spl_fail_memory(error, "the contacts");
    spl_pd_input in = {.elements = &c->solid->elements,
                       .mu = c->solid->material.mu,
                       .lambda = m->corot ? m->lambda : NULL,
                       .bulk = m->bulk,
                       .mass = m->mass,
                       .held = m->held,
                       .spring = spring,
                       .floor = 1e-12 * c->solid->stiffness_scale,
                       .pace = (spl_pace_kind)c->parameter[P_ACCELERATE],
                       .tie_capacity = m->touch.capacity,
                       .direct_ties = large > DIRECT ? large : DIRECT,
                       .may_touch = may_touch,
                       .inner = c->parameter[P_SOLVER] > 0 ? (int32_t)c->parameter[P_INNER] : 0};
    supple_result result = spl_pd_create(&in, c->allocator, c->pool, &m->pd, error);
    spl_free(c->allocator, may_touch);
    return result;
}

/* One line, and the processor goes on. */
static void leave_device(projective *m, const spl_method_context *c, const supple_error *why)
{
    spl_log(c->config, SUPPLE_LOG_WARNING, "%s; the processor goes on", why->message);
    spl_pd_use(m->pd, NULL);
    if (m->engine) m->engine->destroy(m->engine);
    m->engine = NULL;
    m->seat = NULL;
}

static supple_result make_engine(projective *m, const spl_method_context *c, supple_error *error)
{
    supple_error why = {0};
    if (!c->device) return SUPPLE_OK;
    supple_result result =
        spl_cl_engine_create(c->device, m->pd, (int32_t)c->parameter[P_INNER], c->allocator, &m->engine, &why);
    spl_pd_use(m->pd, m->engine);
    if (result == SUPPLE_ERROR_SOLVE) {
        leave_device(m, c, &why);
        return SUPPLE_OK;
    }
    if (result != SUPPLE_OK && error) *error = why;
    return result;
}

static supple_result projective_init(void *state, const spl_method_context *c, supple_error *error)
{
    projective *m = state;
    double start = spl_now_ms();
    double *spring = spl_new(c->allocator, (size_t)c->solid->elements.vertex_count, sizeof *spring);
    supple_result result = spring ? take_memory(m, c, error) : spl_fail_memory(error, "the anchors");
    if (result == SUPPLE_OK) result = make_pins(m, c, spring, error);
    if (result == SUPPLE_OK && c->contacts)
        result =
            spl_touch_create(c->contacts, (spl_touch_form)c->parameter[P_CONTACT_FORM], c->allocator, &m->touch, error);
    if (c->contacts) spl_contacts_steady(c->contacts);
    if (result == SUPPLE_OK) result = make_solver(m, c, spring, error);
    if (result == SUPPLE_OK) result = make_engine(m, c, error);
    spl_free(c->allocator, spring);
    c->setup->ms_factor = spl_now_ms() - start;
    return result;
}

static void projective_release(void *state, const spl_method_context *c)
{
    projective *m = state;
    spl_pins_release(&m->pins);
    if (m->engine) m->engine->destroy(m->engine);
    spl_pd_destroy(m->pd);
    spl_touch_release(&m->touch);
    spl_pose_past_release(&m->past, &c->solid->allocator);
    void *blocks[] = {m->none, m->pin, m->mass, m->lambda, m->start, m->carried, m->inertia, m->force};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(c->allocator, blocks[i]);
}

static void projective_reset(void *state)
{
    projective *m = state;
    m->has_past = false;
    spl_pd_forget(m->pd);
}

/* ---- a step ---- */

/* Targets of anchors and islands in this pose. */
static void pose_pins(projective *m, const spl_method_context *c)
{
    spl_pins_pose(&m->pins, &c->solid->drive);
    for (int32_t i = 0; i < m->anchor_count; i++) {
        int32_t v = m->pin[i].vertex;
        spl_vec3 p = spl_drive_point(&c->solid->drive, c->solid->body->bone[v], v);
        m->pin[i].target[0] = p.x;
        m->pin[i].target[1] = p.y;
        m->pin[i].target[2] = p.z;
    }
    for (int32_t i = 0; i < m->pins.count; i++) m->pin[m->anchor_count + i] = m->pins.pin[i];
}

/* Whether a bone has taken what it holds farther than the body is long: no motion is that fast. */
static bool has_jumped(const projective *m, const spl_method_context *c, const double *x)
{
    double most = 0;
    for (size_t v = 0; v < (size_t)c->solid->elements.vertex_count; v++) {
        if (c->solid->body->bone[v] < 0) continue;
        const double *p = x + 3 * v, *q = m->start + 3 * v;
        double d = spl_distance(spl_v3(p[0], p[1], p[2]), spl_v3(q[0], q[1], q[2]));
        if (!(d <= most)) most = d;
    }
    return !(most <= c->solid->diagonal);
}

/* Whether a bone's map has turned inside out, or back, since the last step: what it held is in knots. */
static bool has_flipped(const projective *m, const spl_method_context *c)
{
    for (int32_t b = 0; m->has_past && b < c->solid->body->bones.bone_count; b++) {
        spl_mat3 then = spl_mat3_linear(&m->past.map[b]), now = spl_mat3_linear(&c->solid->drive.map[b]);
        if (spl_mat3_det(&then) * spl_mat3_det(&now) < 0) return true;
    }
    return false;
}

/* Where inertia alone takes the flesh, s = x + h v (external forces are forces to the solver), and where the bones
 * do. After a jump they take it along, at rest. */
static void predict(projective *m, const spl_method_context *c, double *x)
{
    size_t n = 3 * (size_t)c->solid->elements.vertex_count;
    memcpy(m->start, x, n * sizeof *x);
    memcpy(m->carried, x, n * sizeof *x);
    spl_pose_past_move(&m->past, &c->solid->drive, c->moved);
    bool flipped = has_flipped(m, c);
    bool carried = m->has_past && !flipped;
    if (carried) spl_solid_carry(c->solid, &m->past, m->carried, c->pool);
    spl_drive_hold(&c->solid->drive, c->solid->body->bone, m->carried);
    if (flipped || has_jumped(m, c, m->carried)) {
        if (!carried) spl_solid_pose(c->solid, m->carried, c->pool);
        memcpy(m->start, m->carried, n * sizeof *x);
        memset(c->velocity, 0, n * sizeof *x);
        spl_pd_forget(m->pd);
    }
    for (size_t v = 0; carried && v < n / 3; v++) { /* what was hidden begins at rest */
        if (!spl_solid_is_fresh(c->solid, &m->past, v)) continue;
        memcpy(m->start + 3 * v, m->carried + 3 * v, 3 * sizeof *x);
        memset(c->velocity + 3 * v, 0, 3 * sizeof *x);
    }
    for (size_t i = 0; i < n; i++) m->inertia[i] = m->start[i] + c->dt * c->velocity[i];
    memcpy(x, m->inertia, n * sizeof *x);
    spl_drive_hold(&c->solid->drive, m->held, x);
}

/* v = dx / h, its part against the bones' motion damped; `carried` is that motion's velocity afterwards. */
static void set_velocity(projective *m, const spl_method_context *c, const double *x)
{
    double keep = pow(c->parameter[P_DAMPING], 60 * c->dt);
    for (size_t i = 0; i < 3 * (size_t)c->solid->elements.vertex_count; i++) {
        double bones = m->carried[i] - m->start[i], own = x[i] - m->carried[i];
        c->velocity[i] = (bones + keep * own) / c->dt;
        m->carried[i] = bones / c->dt;
    }
    bool bounded = c->contacts && spl_contacts_bounded(c->contacts);
    spl_touch_damp(&m->touch, x, m->carried, pow(THUD, 60 * c->dt), bounded, c->velocity);
}

/* The forces of the last step at its end: external ones, and inertia's m (s - x) / h^2. */
static void set_forces(projective *m, const spl_method_context *c, const double *x)
{
    double per = m->moving ? 1 / (c->dt * c->dt) : 0;
    for (size_t i = 0; i < 3 * (size_t)c->solid->elements.vertex_count; i++) {
        m->force[i] = c->solid->force ? c->solid->force[i] : 0;
        if (m->moving && m->held[i / 3] < 0) m->force[i] += per * m->mass[i / 3] * (m->inertia[i] - x[i]);
    }
    spl_touch_springs(&m->touch, x, m->force);
}

/* The contacts at x as ties. */
static bool find_contacts(projective *m, const spl_method_context *c, const double *x, supple_stats *stats)
{
    double start = spl_now_ms();
    bool same = spl_touch_find(&m->touch, c->contacts, m->pd, c->parameter[P_CONTACT],
                               m->moving ? PUSH * c->dt : INFINITY, x, c->pool);
    stats->contacts = m->touch.contact_count;
    stats->ms_contact = (isfinite(stats->ms_contact) ? stats->ms_contact : 0) + spl_now_ms() - start;
    return same;
}

static supple_result solve_once(projective *m, const spl_method_context *c, int32_t iterations, double tolerance,
                                double *x, supple_stats *stats, supple_error *error)
{
    spl_pd_problem q = {.dt = m->moving ? c->dt : 0,
                        .inertia = m->inertia,
                        .pin = m->pin,
                        .pin_count = m->pin_count,
                        .force = c->solid->force,
                        .tie = m->touch.tie,
                        .tie_count = m->touch.tie_count,
                        .iterations = iterations,
                        .tolerance = tolerance};
    supple_error why = {0};
    supple_result result = m->seat && m->moving ? m->seat->solve(m->seat->self, &q, x, &m->solved, &why)
                                                : spl_pd_solve(m->pd, &q, x, &m->solved, m->engine ? &why : error);
    if (result != SUPPLE_OK && m->engine) { /* x is as it was: the same problem here */
        leave_device(m, c, &why);
        result = spl_pd_solve(m->pd, &q, x, &m->solved, error);
    }
    stats->iterations += m->solved.iterations;
    stats->residual = m->solved.residual;
    stats->energy = m->solved.energy;
    if (m->touch.tie_count > 0) stats->ms_contact += m->solved.ms_ties;
    return result;
}

/* Equilibrium: contacts are looked for again and again, at first every few iterations, so that flesh does not settle
 * deep in other flesh before it is found there; until they are those of the last round. */
static supple_result settle(projective *m, const spl_method_context *c, double *x, supple_stats *stats,
                            supple_error *error)
{
    bool touches = m->touch.tie && c->contacts, same = !touches;
    int32_t limit = c->parameter[P_ITERATIONS] > 0 ? (int32_t)c->parameter[P_ITERATIONS] : EQUILIBRIUM;
    int32_t rounds = touches ? (int32_t)c->parameter[P_ROUNDS] : 1;
    bool bounded = touches && spl_contacts_bounded(c->contacts);
    if (bounded) rounds = (rounds + 1) / 2; /* what is left is stopped */
    for (int32_t k = 0; k < rounds && stats->iterations < limit; k++) {
        if (touches) same = find_contacts(m, c, x, stats) && k > 0;
        bool last = same || k + 1 == rounds; /* others need not be exact */
        int32_t most = limit - stats->iterations;
        if (!last && most > ROUND) most = ROUND;
        double tolerance = (last ? 1 : bounded ? STEADY : EARLY) * c->parameter[P_TOLERANCE];
        supple_result result = solve_once(m, c, most, tolerance, x, stats, error);
        if (result != SUPPLE_OK) return result;
        if (same && m->solved.converged) break;
    }
    stats->converged = m->solved.converged;
    return SUPPLE_OK;
}

static int32_t step_iterations(const spl_method_context *c)
{
    int32_t iterations = (int32_t)c->parameter[P_ITERATIONS];
    return iterations > 0 ? iterations : STEP;
}

static supple_result solve_problem(projective *m, const spl_method_context *c, double *x, supple_stats *stats,
                                   supple_error *error)
{
    stats->iterations = 0;
    if (!m->moving) return settle(m, c, x, stats, error);
    if (m->touch.tie && c->contacts) find_contacts(m, c, x, stats);
    stats->converged = true; /* a step is what its iterations make of it */
    return solve_once(m, c, step_iterations(c), 0, x, stats, error);
}

static supple_result projective_solve(void *state, const spl_method_context *c, double *x, supple_stats *stats,
                                      supple_error *error)
{
    projective *m = state;
    m->moving = c->dt > 0 && c->velocity;
    pose_pins(m, c);
    if (m->moving && c->dt < SHORTEST) { /* nothing moves in no time, but the bones are where they are */
        spl_drive_hold(&c->solid->drive, m->held, x);
        stats->iterations = 0;
        stats->converged = true;
        m->moving = false;
        return SUPPLE_OK;
    }
    if (m->moving)
        predict(m, c, x);
    else
        spl_drive_hold(&c->solid->drive, m->held, x);
    supple_result result = solve_problem(m, c, x, stats, error);
    if (result != SUPPLE_OK) return result;
    if (m->moving) set_velocity(m, c, x);
    set_forces(m, c, x);
    spl_pose_past_keep(&m->past, &c->solid->drive);
    m->has_past = true;
    return SUPPLE_OK;
}

static void projective_solution(const void *state, const spl_method_context *c, spl_solution *out)
{
    const projective *m = state;
    *out = (spl_solution){.law = m->bulk    ? &spl_law_projective
                                 : m->corot ? &spl_law_corot
                                            : &spl_law_arap,
                          .mu = c->solid->material.mu,
                          .lambda = m->lambda,
                          .held = m->held,
                          .pin = m->pin,
                          .pin_count = m->pin_count,
                          .spring = m->touch.spring,
                          .spring_count = m->touch.spring_count,
                          .force = m->force};
}

const spl_pd_stats *spl_projective_stats(const void *state)
{
    return &((const projective *)state)->solved;
}

bool spl_projective_on_device(const void *state)
{
    return ((const projective *)state)->engine != NULL;
}

bool spl_projective_sit(void *state, const spl_method_context *c, const spl_projective_seat *seat)
{
    projective *m = state;
    if (seat && (m->seat || !m->engine || c->parameter[P_ACCELERATE] != SPL_PACE_NONE)) return false;
    m->seat = seat;
    return true;
}

spl_pd *spl_projective_pd(void *state)
{
    return ((projective *)state)->pd;
}

int32_t spl_projective_inner(const spl_method_context *c)
{
    return (int32_t)c->parameter[P_INNER];
}

bool spl_projective_alike(const spl_method_context *a, const spl_method_context *b)
{
    return spl_projective_inner(a) == spl_projective_inner(b) && step_iterations(a) == step_iterations(b);
}

const spl_method spl_method_projective = {
    .name = "projective",
    .summary = "projective dynamics: flesh in real time, in motion and in contact",
    .needs = SPL_NEEDS_SKIN | SPL_NEEDS_BODY,
    .answers = SPL_ANSWERS_CONTACT | SPL_ANSWERS_DYNAMICS,
    .output = SPL_OUTPUT_BODY,
    .max_tets = 20000, /* in real time on two cores */
    .parameter = PARAMETERS,
    .parameter_count = sizeof PARAMETERS / sizeof *PARAMETERS,
    .state_size = sizeof(projective),
    .init = projective_init,
    .solve = projective_solve,
    .solution = projective_solution,
    .reset = projective_reset,
    .release = projective_release,
};
