/* The projective method on built-in characters: anchors, motion, contacts at rest and on the move, and what goes wrong.
 */
#include "contact/contact.h"
#include "core/memory.h"
#include "failing.h"
#include "methods/method.h"
#include "methods/mixed/fleshed.h"
#include "sim/measure.h"

/* A method's state and all that it is given. */
typedef struct actor {
    fleshed f;
    supple_config config;
    supple_allocator allocator;
    supple_setup setup;
    spl_method_context c;
    double parameter[32];
    void *state;
    double *x, *v;
    supple_stats stats;
} actor;

static void set(actor *a, const char *name, double value)
{
    const spl_method *m = &spl_method_projective;
    for (int32_t i = 0; i < m->parameter_count; i++)
        if (strcmp(m->parameter[i].name, name) == 0) a->parameter[i] = value;
}

static void actor_prepare(actor *a, const char *name, int32_t resolution, bool contacts)
{
    const spl_method *m = &spl_method_projective;
    supple_error error = {0};
    *a = (actor){.config = supple_config_default()};
    fleshed_make(&a->f, name, resolution);
    fleshed_pose(&a->f);
    a->allocator = spl_allocator_of(NULL);
    for (int32_t i = 0; i < m->parameter_count; i++) a->parameter[i] = m->parameter[i].value;
    a->c = (spl_method_context){.scene = a->f.demo.scene,
                                .solid = &a->f.solid,
                                .config = &a->config,
                                .allocator = &a->allocator,
                                .pool = a->f.pool,
                                .parameter = a->parameter,
                                .setup = &a->setup,
                                .clip = -1};
    spl_contact_options options = spl_contact_options_default();
    if (contacts &&
        spl_contacts_create(&a->f.solid, NULL, &options, &a->config, a->f.pool, &a->c.contacts, &error) != SUPPLE_OK)
        printf("    %s\n", error.message), abort();
    a->state = calloc(1, m->state_size);
    a->x = calloc(3 * (size_t)a->f.body->tets.vertex_count, sizeof *a->x);
    a->v = calloc(3 * (size_t)a->f.body->tets.vertex_count, sizeof *a->v);
    spl_solid_pose(&a->f.solid, a->x, NULL);
}

static void actor_init(actor *a)
{
    supple_error error = {0};
    if (spl_method_projective.init(a->state, &a->c, &error) != SUPPLE_OK) printf("    %s\n", error.message), abort();
}

static void actor_free(actor *a)
{
    spl_method_projective.release(a->state, &a->c);
    spl_contacts_destroy(a->c.contacts);
    fleshed_free(&a->f);
    free(a->state), free(a->x), free(a->v);
}

static supple_result act(actor *a, double dt)
{
    supple_error error = {0};
    fleshed_pose(&a->f);
    a->c.dt = dt;
    a->c.velocity = dt > 0 ? a->v : NULL;
    if (dt == 0) spl_solid_pose(&a->f.solid, a->x, NULL);
    a->stats = (supple_stats){.ms_contact = NAN, .contacts = -1};
    supple_result result = spl_method_projective.solve(a->state, &a->c, a->x, &a->stats, &error);
    if (result != SUPPLE_OK) printf("    %s\n", error.message);
    return result;
}

static size_t numbers(const actor *a)
{
    return 3 * (size_t)a->f.body->tets.vertex_count;
}

static double *copy(const actor *a)
{
    return memcpy(malloc(numbers(a) * sizeof *a->x), a->x, numbers(a) * sizeof *a->x);
}

/* Largest difference of coordinates, of the diagonal. */
static double apart(const actor *a, const double *p, const double *q)
{
    double most = 0;
    for (size_t i = 0; i < numbers(a); i++)
        if (!(fabs(p[i] - q[i]) <= most)) most = fabs(p[i] - q[i]);
    return most / a->f.solid.diagonal;
}

/* Root mean square velocity of what is free, m/s. */
static double pace_of(const actor *a)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < numbers(a); i++)
        if (a->f.body->bone[i / 3] < 0) sum += a->v[i] * a->v[i], count += 1.0 / 3;
    return sqrt(sum / count);
}

static double residual_of(actor *a)
{
    spl_measure measure;
    spl_solution solution;
    if (spl_measure_create(&a->f.solid, &measure, NULL) != SUPPLE_OK) abort();
    spl_method_projective.solution(a->state, &a->c, &solution);
    spl_measure_frame(&measure, &solution, a->x, NULL, &a->stats);
    spl_measure_release(&measure);
    return a->stats.residual;
}

static void bend(actor *a, double degrees)
{
    puppet_turn(&a->f.puppet, "forearm", spl_v3(0, 0, 1), degrees);
}

/* ---- truths ---- */

TEST(soft_anchors_tend_to_hard_ones)
{
    double *hard = NULL, last = INFINITY;
    const double weight[] = {0, 1, 100, 1e4, 1e6};
    for (int k = 0; k < 5; k++) {
        actor a;
        actor_prepare(&a, "arm", 14, false);
        set(&a, "tolerance", 1e-6);
        set(&a, "iterations", 3000);
        set(&a, "anchors", k > 0);
        set(&a, "anchor-weight", weight[k]);
        actor_init(&a);
        bend(&a, 50);
        CHECK(act(&a, 0) == SUPPLE_OK);
        if (k == 0) hard = copy(&a);
        double far = apart(&a, a.x, hard);
        if (k > 0) CHECK(far < last);
        if (k > 0) last = far;
        if (k == 1) CHECK(far > 1e-3);
        if (k == 4) CHECK(far < 2e-5);
        CHECK(residual_of(&a) < 1e-4);
        actor_free(&a);
    }
    free(hard);
}

/* The forces that a solution tells of, inertia and contacts among them, are in balance after enough iterations. */
TEST(solutions_tell_all_forces)
{
    for (int k = 0; k < 5; k++) {
        int form = k % 3, corot = k / 3;
        actor a;
        actor_prepare(&a, "arm", test_size(24, 20), true);
        set(&a, "iterations", corot ? 3000 : 400);
        set(&a, "energy", corot);
        set(&a, "contact-form", form);
        actor_init(&a);
        bend(&a, corot ? 110 : 140); /* corot has kinks where a crease is inverted */
        for (int i = 0; i < 3; i++) CHECK(act(&a, 1.0 / 60) == SUPPLE_OK);
        spl_solution solution;
        spl_method_projective.solution(a.state, &a.c, &solution);
        CHECK(a.stats.contacts > 0);
        CHECK(solution.spring_count > 0);
        double residual = residual_of(&a);
        printf("    %s, form %d: %.1e\n", corot ? "corot" : "arap", form, residual);
        CHECK(residual < (form == 1 ? 1e-2 : 1e-4));
        solution.force = NULL;
        actor_free(&a);
    }
}

TEST(flesh_jiggles_and_comes_to_rest)
{
    actor a;
    actor_prepare(&a, "arm", 14, false);
    actor_init(&a);
    CHECK(act(&a, 0) == SUPPLE_OK);
    double most = 0, last = 0;
    for (int k = 0; k < 20; k++) {
        bend(&a, 3.0 * k);
        CHECK(act(&a, 1.0 / 120) == SUPPLE_OK);
    }
    for (int k = 0; k < 360; k++) {
        CHECK(act(&a, 1.0 / 120) == SUPPLE_OK);
        if (k < 12) most = fmax(most, pace_of(&a));
        last = pace_of(&a);
    }
    CHECK(most > 0.01);
    CHECK(last < 1e-3 * most);
    double *moved = copy(&a);
    CHECK(act(&a, 0) == SUPPLE_OK);
    CHECK(apart(&a, a.x, moved) < 1e-3);
    free(moved);
    actor_free(&a);
}

/* How far a vertex of the body is from where it was, at most, metres. */
static double strayed(const actor *a, const double *from)
{
    double most = 0;
    for (size_t i = 0; i < numbers(a); i += 3)
        most = fmax(most,
                    spl_distance(spl_v3(a->x[i], a->x[i + 1], a->x[i + 2]), spl_v3(from[i], from[i + 1], from[i + 2])));
    return most;
}

/* How far from where it was, 4 s after a bend, the flesh of a held pose comes in a second. */
static double restlessness(double degrees)
{
    actor a;
    actor_prepare(&a, "arm", 24, true);
    actor_init(&a);
    for (int k = 0; k <= 60; k++) {
        bend(&a, degrees * k / 60);
        CHECK(act(&a, 1.0 / 120) == SUPPLE_OK);
    }
    for (int k = 0; k < 480; k++) CHECK(act(&a, 1.0 / 120) == SUPPLE_OK);
    double *held = copy(&a), most = 0;
    for (int k = 0; k < 120; k++) {
        CHECK(act(&a, 1.0 / 120) == SUPPLE_OK);
        CHECK(a.stats.contacts >= 5);
        most = fmax(most, strayed(&a, held));
    }
    printf("    %.0f degrees: %d contacts, %.1e m\n", degrees, (int)a.stats.contacts, most);
    free(held);
    actor_free(&a);
    return most;
}

/* Positions over time: velocities are damped around contacts after each step, and are small whatever x does. At 120
 * degrees 0.04 um is reached. At 140 degrees 0.3 mm is: flesh that still creeps, 0.5 um after 15 s; without that
 * damping it shakes by 47 mm. */
TEST(a_resting_contact_does_not_jitter)
{
    CHECK(restlessness(120) < 1e-6);
    CHECK(restlessness(140) < 6e-4);
}

/* Flesh that bears a quarter of its contacts has ties a quarter as stiff, in the mean: the pairs may differ. */
TEST(ties_are_as_stiff_as_the_flesh_bears)
{
    actor a;
    actor_prepare(&a, "arm", 24, true);
    actor_init(&a);
    bend(&a, 120);
    double *share = malloc((size_t)a.f.body->tets.vertex_count * sizeof *share), mean[2] = {0};
    for (int k = 0; k < 2; k++) {
        for (int32_t v = 0; v < a.f.body->tets.vertex_count; v++) share[v] = k == 0 ? 1 : 0.25;
        spl_contacts_bear(a.c.contacts, share);
        CHECK(act(&a, 0) == SUPPLE_OK);
        spl_solution s = {0};
        spl_method_projective.solution(a.state, &a.c, &s);
        REQUIRE(s.spring_count > 5);
        for (int32_t i = 0; i < s.spring_count; i++) mean[k] += s.spring[i].stiffness / s.spring_count;
    }
    CHECK(mean[1] > 0.15 * mean[0] && mean[1] < 0.4 * mean[0]);
    free(share);
    actor_free(&a);
}

/* Section 6's jumping character: contacts move along with the whole. */
TEST(contacts_do_not_lag_behind_a_jump)
{
    actor a;
    actor_prepare(&a, "arm", 24, true);
    actor_init(&a);
    bend(&a, 120);
    for (int k = 0; k < 500; k++) CHECK(act(&a, 1.0 / 120) == SUPPLE_OK);
    double *before = copy(&a), speed = 3;
    for (size_t i = 1; i < numbers(&a); i += 3) a.v[i] += speed;
    for (int k = 1; k <= 24; k++) {
        spl_mat4 up = puppet_rigid(spl_v3(0, 1, 0), 0, spl_v3(0, speed * k / 120 / a.f.body->metre, 0));
        puppet_move(&a.f.puppet, &up);
        CHECK(act(&a, 1.0 / 120) == SUPPLE_OK);
    }
    CHECK(a.stats.contacts >= 5);
    double risen = a.x[1] - before[1];
    CHECK(fabs(risen) > 0.3);
    for (size_t i = 1; i < numbers(&a); i += 3) a.x[i] -= risen;
    printf("    %.1e of the diagonal off after rising by %.2f m\n", apart(&a, a.x, before), risen);
    CHECK(apart(&a, a.x, before) < 1e-3);
    free(before);
    actor_free(&a);
}

/* ---- bad input ---- */

static bool is_finite(const actor *a)
{
    for (size_t i = 0; i < numbers(a); i++)
        if (!isfinite(a->x[i]) || !isfinite(a->v[i])) return false;
    return true;
}

/* Half a second later it is where it would have been. */
static void check_recovery(actor *a, const char *what)
{
    CHECK(is_finite(a));
    for (int k = 0; k < 60; k++) CHECK(act(a, 1.0 / 120) == SUPPLE_OK);
    double *x = copy(a);
    CHECK(act(a, 0) == SUPPLE_OK);
    double far = apart(a, x, a->x);
    if (!(far < 0.04)) printf("    %s: %g of the diagonal off\n", what, far);
    CHECK(far < 0.04); /* contacts after a tangle need not be those of a start without one */
    free(x);
}

TEST(jumps_and_odd_steps_are_recovered_from)
{
    const double steps[] = {1.0 / 120, 0, 1e-9, 1, 1e-3};
    for (int k = 0; k < 5; k++) {
        actor a;
        actor_prepare(&a, "arm", 14, true);
        actor_init(&a);
        CHECK(act(&a, 0) == SUPPLE_OK);
        spl_mat4 far = puppet_rigid(spl_v3(1, 1, 0), 100, spl_v3(10 * a.f.solid.diagonal / a.f.body->metre, 0, 0));
        puppet_move(&a.f.puppet, &far); /* ten body lengths */
        CHECK(act(&a, steps[k]) == SUPPLE_OK);
        check_recovery(&a, "a jump");
        puppet_rest(&a.f.puppet);
        bend(&a, 90); /* at once */
        CHECK(act(&a, steps[k]) == SUPPLE_OK);
        check_recovery(&a, "a turn");
        actor_free(&a);
    }
}

TEST(a_bone_inside_out_is_survived)
{
    actor a;
    actor_prepare(&a, "arm", 14, true);
    actor_init(&a);
    CHECK(act(&a, 0) == SUPPLE_OK);
    int32_t n = puppet_node(&a.f.puppet, "forearm");
    spl_mat3 mirror = spl_mat3_diagonal(-1, 1, 1);
    spl_mat4 out = spl_mat3_affine(&mirror, spl_v3(0, 0, 0));
    puppet_set(&a.f.puppet, n, spl_mat4_mul(&a.f.puppet.home[n], &out));
    for (int k = 0; k < 20; k++) CHECK(act(&a, 1.0 / 120) == SUPPLE_OK);
    CHECK(is_finite(&a));
    puppet_rest(&a.f.puppet);
    check_recovery(&a, "a mirrored bone");
    actor_free(&a);
}

TEST(odd_materials_and_starts_are_survived)
{
    for (int k = 0; k < 3; k++) {
        actor a;
        actor_prepare(&a, "arm", 14, true);
        spl_material_field *m = &a.f.solid.material;
        for (int32_t i = 0; i < m->tet_count; i++) {
            if (k == 0) m->density[i] = 0;
            if (k == 1) m->mu[i] *= pow(10, 8.0 * (i % 9) / 8 - 4);
        }
        actor_init(&a);
        bend(&a, 60);
        if (k == 2) /* all of it in one plane, inside itself */
            for (size_t i = 1; i < numbers(&a); i += 3) a.x[i] *= 1e-3;
        for (int step = 0; step < 10; step++) CHECK(act(&a, 1.0 / 120) == SUPPLE_OK);
        CHECK(is_finite(&a));
        if (k == 1)
            for (int step = 0; step < 50; step++) CHECK(act(&a, 1.0 / 120) == SUPPLE_OK);
        CHECK(is_finite(&a));
        if (k != 1) check_recovery(&a, k ? "a flat start" : "no mass");
        actor_free(&a);
    }
}

TEST(memory_that_runs_out_is_told)
{
    actor a;
    actor_prepare(&a, "arm", 8, true);
    set(&a, "anchors", 1);
    set(&a, "volume", 1);
    for (long k = 0;; k++) {
        failing f = {.fail_at = k};
        a.allocator = failing_allocator(&f);
        memset(a.state, 0, spl_method_projective.state_size);
        supple_error error = {0};
        supple_result result = spl_method_projective.init(a.state, &a.c, &error);
        if (result == SUPPLE_OK) {
            long made = f.requests;
            CHECK(act(&a, 0) == SUPPLE_OK);
            CHECK(act(&a, 1.0 / 60) == SUPPLE_OK);
            CHECK(act(&a, 1.0 / 30) == SUPPLE_OK);
            CHECK(f.requests == made); /* nothing in a step */
        } else {
            CHECK(result == SUPPLE_ERROR_MEMORY);
        }
        spl_method_projective.release(a.state, &a.c);
        CHECK(f.live == 0);
        if (result == SUPPLE_OK) break;
    }
    memset(a.state, 0, spl_method_projective.state_size);
    a.allocator = spl_allocator_of(NULL);
    actor_free(&a);
}

TEST_CASES(RUN(soft_anchors_tend_to_hard_ones), RUN(solutions_tell_all_forces), RUN(flesh_jiggles_and_comes_to_rest),
           RUN(a_resting_contact_does_not_jitter), RUN(ties_are_as_stiff_as_the_flesh_bears),
           RUN(contacts_do_not_lag_behind_a_jump), RUN(jumps_and_odd_steps_are_recovered_from),
           RUN(a_bone_inside_out_is_survived), RUN(odd_materials_and_starts_are_survived),
           RUN(memory_that_runs_out_is_told))
