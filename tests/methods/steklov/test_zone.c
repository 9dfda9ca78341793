/* The contacts' nodes eliminated exactly, and bones that taper. */
#include "../mixed/fleshed.h"
#include "methods/steklov/taper.h"
#include "methods/steklov/volume.h"
#include "test.h"

static double noise(uint64_t *state) /* -0.5 to 0.5 */
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

/* An arm that skinning alone has folded into itself, and its springs. */
typedef struct folded {
    fleshed f;
    spl_exrotated system;
    spl_contacts *contacts;
    spl_springs springs;
    double *x;
} folded;

static void fold(folded *w, int32_t resolution)
{
    supple_config config = supple_config_default();
    spl_exrotated_options o = {0};
    fleshed_make(&w->f, "arm", resolution);
    puppet_turn(&w->f.puppet, "forearm", spl_v3(0, 0, 1), 140);
    fleshed_pose(&w->f);
    w->x = calloc((size_t)w->f.solid.elements.vertex_count, 24);
    spl_solid_pose(&w->f.solid, w->x, w->f.pool);
    if (spl_exrotated_create(&w->f.solid, &o, w->f.pool, &w->system, NULL) != SUPPLE_OK) abort();
    if (spl_contacts_create(&w->f.solid, NULL, NULL, &config, w->f.pool, &w->contacts, NULL) != SUPPLE_OK) abort();
    if (spl_springs_create(&w->system, w->contacts, 10, true, &w->springs, NULL) != SUPPLE_OK) abort();
    spl_exrotated_skin(&w->system);
    spl_exrotated_assemble(&w->system);
    spl_springs_begin(&w->springs);
    spl_springs_find(&w->springs, w->x, true);
}

static void unfold(folded *w)
{
    free(w->x);
    spl_springs_release(&w->springs);
    spl_contacts_destroy(w->contacts);
    spl_exrotated_release(&w->system);
    fleshed_free(&w->f);
}

static void multiply(const folded *w, const double *x, double *y)
{
    spl_exrotated_multiply(&w->system, SPL_ALL, x, y, 0);
    spl_springs_multiply(&w->springs, 0, x, y);
}

/* Its inverse is that of the zone's rows and columns, and what is projected has no residual there. */
TEST(the_zone_is_solved_exactly)
{
    folded w;
    fold(&w, 24);
    size_t n = 3 * (size_t)w.system.order.count;
    double *r = calloc(n, sizeof *r), *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y), scale = 0, left[2] = {0};
    uint64_t seed = 3;
    spl_zone z;
    REQUIRE(spl_zone_create(&w.system, &w.springs, &z, NULL) == SUPPLE_OK);
    CHECK(!z.ready);
    for (int round = 0; round < 2; round++) { /* again, with a part of the springs: the same pattern */
        for (size_t i = 0; i < n; i++) r[i] = noise(&seed), x[i] = 0;
        spl_zone_prepare(&z);
        REQUIRE(z.ready && z.count > 10 && z.count < w.system.order.count);
        spl_zone_solve(&z, r, x);
        for (size_t i = 0; i < n; i++) CHECK(z.place[i / 3] >= 0 || x[i] == 0);
        multiply(&w, x, y);
        for (size_t i = 0; i < n; i++)
            if (z.place[i / 3] >= 0) left[0] = fmax(left[0], fabs(y[i] - r[i]));
        multiply(&w, r, y);
        for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(y[i]));
        spl_zone_project(&z, r);
        multiply(&w, r, y);
        for (size_t i = 0; i < n; i++)
            if (z.place[i / 3] >= 0) left[1] = fmax(left[1], fabs(y[i]));
        w.springs.count /= 2;
    }
    CHECK(left[0] < 1e-9 && left[1] < 1e-9 * scale);
    w.springs.count = 0;
    spl_zone_prepare(&z);
    CHECK(!z.ready);
    spl_zone_release(&z);
    free(r), free(x), free(y);
    unfold(&w);
}

/* One linear solve under the springs there are: iterations, and the step. */
static int32_t solve(folded *w, bool room, double *dx)
{
    spl_newton newton;
    spl_volume v;
    spl_volume_options vo = {.max_iterations = 3000};
    size_t n = 3 * (size_t)w->f.solid.elements.vertex_count;
    if (spl_newton_create(&w->system, &w->springs, &newton, NULL) != SUPPLE_OK) abort();
    if (spl_volume_create(&w->system, &w->springs, &vo, &v, NULL) != SUPPLE_OK) abort();
    if (!room) v.zone.arena.size = 1000; /* the factor does not fit: springs go to the diagonal alone */
    newton.formulation = &spl_formulation_volume;
    newton.state = &v;
    memcpy(dx, w->x, n * sizeof *dx);
    spl_newton_options o = {.tolerance = 1e-8, .max_steps = 60, .frozen = true};
    CHECK(spl_newton_solve(&newton, &o, dx, NULL) == SUPPLE_OK && newton.stats.converged);
    CHECK(v.zone.ready == room);
    int32_t iterations = newton.stats.boundary_iterations;
    spl_volume_release(&v);
    spl_newton_release(&newton);
    return iterations;
}

TEST(it_saves_iterations_and_nothing_breaks_without_it)
{
    folded w;
    fold(&w, 28);
    size_t n = 3 * (size_t)w.f.solid.elements.vertex_count;
    double *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b), far = 0;
    int32_t with = solve(&w, true, a), without = solve(&w, false, b);
    for (size_t i = 0; i < n; i++) far = fmax(far, fabs(a[i] - b[i]));
    printf("    %d pairs: %d iterations, %d with the springs' diagonal alone\n", w.springs.pairs, with, without);
    CHECK(w.springs.pairs > 20 && with > 0 && 2 * with < without);
    CHECK(far < 1e-5 * w.f.solid.diagonal);
    free(a), free(b);
    unfold(&w);
}

/* ---- contacts that come and go ---- */

static void multiply_flesh(void *context, const double *x, double *y)
{
    const folded *w = context;
    spl_exrotated_multiply(&w->system, SPL_ALL, x, y, 0);
}

static void by_stiffness(void *context, const double *x, double *y)
{
    const folded *w = context;
    for (size_t i = 0; i < 3 * (size_t)w->system.order.count; i++)
        y[i] = x[i] / w->system.stiffness[w->system.order.vertex[i / 3]];
}

/* |elastic forces at x and the springs' of the known pairs that are on the wrong side there|; `force`: the former. */
static double residual_of(folded *w, const double *x, double *force)
{
    size_t n = 3 * (size_t)w->system.order.count;
    double *r = calloc(n, sizeof *r), sum = 0;
    spl_exrotated_forces(&w->system, x);
    for (size_t i = 0; i < n; i++) r[i] = force[i] = w->system.force[3 * (size_t)w->system.order.vertex[i / 3] + i % 3];
    spl_springs_find(&w->springs, x, false);
    spl_springs_pull(&w->springs, x, 0, r);
    for (size_t i = 0; i < n; i++) sum += r[i] * r[i];
    free(r);
    return sqrt(sum);
}

/* One solve ends in balance with those contacts that press there, which are others than those it began with; and as
 * well where the zone has no room. */
TEST(sets_follow_within_a_solve)
{
    folded w;
    spl_active a;
    spl_zone z;
    fold(&w, 28);
    size_t n = 3 * (size_t)w.f.solid.elements.vertex_count;
    double *x = calloc(n, 8), *force = calloc(n, 8);
    spl_springs_find(&w.springs, w.x, true);
    CHECK(w.springs.keep); /* from now on */
    REQUIRE(spl_zone_create(&w.system, &w.springs, &z, NULL) == SUPPLE_OK);
    REQUIRE(spl_active_create(&w.system, &w.springs, &a, NULL) == SUPPLE_OK);
    for (int room = 1; room >= 0; room--) {
        double start = residual_of(&w, w.x, force);
        int32_t pairs = w.springs.pairs;
        if (!room) z.arena.size = 1000, z.factor = NULL;
        spl_zone_prepare(&z);
        CHECK(z.ready == room);
        spl_active_problem p = {&z, multiply_flesh, by_stiffness, &w, 1e-8 * start, 3000};
        a.has_last = false;
        spl_active_result solved = spl_active_solve(&a, &p, force);
        CHECK(solved.finite && solved.definite && !solved.stalled && solved.residual <= p.goal && solved.changes > 0);
        memcpy(x, w.x, n * sizeof *x);
        for (size_t i = 0; i < 3 * (size_t)w.system.order.count; i++)
            x[3 * (size_t)w.system.order.vertex[i / 3] + i % 3] += a.dx[i];
        double end = residual_of(&w, x, force);
        printf("    %d pairs become %d in %d iterations, the set changes %d times: %.1e of the residual is left\n",
               pairs, w.springs.pairs, solved.iterations, solved.changes, end / start);
        CHECK(end < 2e-8 * start && pairs > 20 && w.springs.pairs > 10 && w.springs.pairs != pairs);
    }
    spl_active_release(&a);
    spl_zone_release(&z);
    free(x), free(force);
    unfold(&w);
}

/* ---- bones ---- */

/* How far vertices that bones hold reach over the plane that halves the elbow, at a bend about z. */
static double reach_over(const fleshed *f, const int32_t *held, double degrees)
{
    const double pi = 3.14159265358979323846;
    double most = -INFINITY, half = (180 - degrees) / 2 * pi / 180;
    for (int32_t v = 0; v < f->solid.elements.vertex_count; v++) {
        if (held[v] < 0) continue;
        spl_vec3 p = spl_drive_point(&f->solid.drive, held[v], v);
        /* the upper arm lies along -x, the forearm at the bend's angle above it */
        double side = -p.x * sin(half) - p.y * cos(half);
        most = fmax(most, held[v] == 0 ? -side : side);
    }
    return most;
}

TEST(bones_taper_so_that_they_do_not_meet)
{
    fleshed f;
    spl_pins pins;
    fleshed_make(&f, "arm", 40);
    REQUIRE(spl_pins_create(&f.solid, SPL_PIN_HARD, 0, &pins, NULL) == SUPPLE_OK);
    puppet_turn(&f.puppet, "forearm", spl_v3(0, 0, 1), 150);
    fleshed_pose(&f);
    double before = reach_over(&f, pins.held, 150);
    REQUIRE(spl_taper(&f.solid, 0, &pins, NULL) == SUPPLE_OK);
    CHECK(pins.held == f.body->bone);
    REQUIRE(spl_taper(&f.solid, 150, &pins, NULL) == SUPPLE_OK);
    double after = reach_over(&f, pins.held, 150);
    int32_t count[2] = {0}, kept[2] = {0};
    for (int32_t v = 0; v < f.solid.elements.vertex_count; v++) {
        CHECK(pins.held[v] < 0 || pins.held[v] == f.body->bone[v]);
        if (f.body->bone[v] >= 0) count[f.body->bone[v]]++;
        if (pins.held[v] >= 0) kept[pins.held[v]]++;
    }
    printf("    held over the elbow's plane at 150 degrees: %.1f mm before, %.1f after\n", 1e3 * before, 1e3 * after);
    CHECK(before > 0.005 && after < 1e-4);
    for (int k = 0; k < 2; k++) CHECK(kept[k] < count[k] && 2 * kept[k] >= count[k]);
    spl_pins_release(&pins);
    fleshed_free(&f);
}

/* Flesh that bears a quarter of its contacts has springs a quarter as stiff. */
TEST(springs_are_as_stiff_as_the_flesh_bears)
{
    folded w;
    fold(&w, 24);
    size_t n = (size_t)w.f.solid.elements.vertex_count;
    double *share = malloc(n * sizeof *share), whole = 0, part = 0;
    int32_t count = w.springs.count;
    for (int32_t i = 0; i < count; i++) whole += w.springs.list[i].stiffness;
    for (size_t v = 0; v < n; v++) share[v] = 0.25;
    spl_contacts_bear(w.contacts, share);
    spl_springs_begin(&w.springs);
    spl_springs_find(&w.springs, w.x, true);
    for (int32_t i = 0; i < w.springs.count; i++) part += w.springs.list[i].stiffness;
    CHECK(count > 0 && w.springs.count == count);
    CHECK_NEAR(part, whole / 4, 1e-9 * whole);
    free(share);
    unfold(&w);
}

TEST_CASES(RUN(the_zone_is_solved_exactly), RUN(it_saves_iterations_and_nothing_breaks_without_it),
           RUN(sets_follow_within_a_solve), RUN(bones_taper_so_that_they_do_not_meet),
           RUN(springs_are_as_stiff_as_the_flesh_bears))
