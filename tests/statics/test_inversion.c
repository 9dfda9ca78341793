/* Laws that are barriers against inversion, in the solver: nothing with a free corner is turned inside out. */
#include "fem/filter.h"
#include "fem/residual.h"
#include "statics/flesh.h"
#include "test.h"

/* A beam held at both ends; the right one is pushed in by `push` of the length and turned about z. */
static flesh pressed_beam(double push, double degrees)
{
    flesh f = flesh_box(8, 2, 2, 0.4, 0.1, 0.1, 0.2);
    double angle = degrees * 3.14159265358979323846 / 180, c = cos(angle), s = sin(angle);
    for (int32_t v = 0; v < f.vertex_count; v++) {
        double *p = f.x + 3 * v, x = p[0] - 0.4, y = p[1] - 0.05;
        bool right = f.rest[3 * v] > 0.4 - 1e-9;
        f.held[v] = right || f.rest[3 * v] < 1e-9 ? 0 : -1;
        if (!right) continue;
        p[0] = 0.4 - push * 0.4 + c * x - s * y;
        p[1] = 0.05 + s * x + c * y;
    }
    return f;
}

static int32_t inverted(const flesh *f)
{
    int32_t held, loose;
    spl_inversion_count(&f->elements, f->held, f->x, &held, &loose);
    return loose;
}

static bool solve(flesh *f, const spl_statics_problem *problem, spl_statics_stats *stats)
{
    supple_error error = {0};
    spl_statics *s = flesh_solver(f, NULL, NULL);
    supple_result result = spl_statics_solve(s, problem, f->x, stats, &error);
    if (result != SUPPLE_OK) printf("    %s\n", error.message);
    spl_statics_destroy(s);
    return result == SUPPLE_OK;
}

TEST(a_start_that_is_inverted_is_brought_back)
{
    flesh f = pressed_beam(0.25, 30);
    spl_statics_problem problem = flesh_problem(&f, &spl_law_log);
    spl_statics_stats stats;
    REQUIRE(inverted(&f) > 0);
    REQUIRE(solve(&f, &problem, &stats));
    CHECK(stats.converged && !stats.softened && stats.exempt == 0 && inverted(&f) == 0);
    CHECK(isfinite(stats.energy) && stats.energy > 0);
    flesh_free(&f);
}

/* The free vertex nearest to the middle of the first cells. */
static int32_t middle_vertex(const flesh *f)
{
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t v = 0; v < f->vertex_count; v++) {
        const double *p = f->rest + 3 * v;
        double far = fabs(p[0] - 0.05) + fabs(p[1] - 0.05) + fabs(p[2] - 0.05);
        if (f->held[v] >= 0 || far >= least) continue;
        least = far;
        best = v;
    }
    return best;
}

/* A spring far stiffer than the flesh, to a place behind the held end: whole steps would turn tets inside out. */
TEST(no_step_inverts)
{
    const spl_law *laws[] = {&spl_law_neohookean, &spl_law_log};
    for (int l = 0; l < 2; l++) {
        flesh f = pressed_beam(0, 0);
        spl_statics_problem problem = flesh_problem(&f, laws[l]);
        spl_statics_stats stats;
        spl_pin pin = {.stiffness = 1e7};
        pin.vertex = middle_vertex(&f);
        memcpy(pin.target, f.rest + 3 * pin.vertex, sizeof pin.target);
        pin.target[0] = -0.1;
        problem.pin = &pin;
        problem.pin_count = 1;
        REQUIRE(solve(&f, &problem, &stats));
        if (l == 0)
            CHECK(inverted(&f) > 0); /* so that the spring is stiff enough to tell */
        else
            CHECK(inverted(&f) == 0 && !stats.softened && stats.shortest < 1);
        flesh_free(&f);
    }
}

/* Holds a tet that can be turned inside out alone, its first corner just behind its opposite face; -1: there is none.
 */
static int32_t turn_inside_out(flesh *f)
{
    for (int32_t k = 0; k < f->tet_count; k++) {
        const int32_t *t = f->tet + 4 * (size_t)k;
        double kept[3], *x = f->x;
        int32_t held, loose;
        bool free = true;
        for (int i = 0; i < 4; i++) free = free && f->held[t[i]] < 0;
        if (!free) continue;
        memcpy(kept, x + 3 * t[0], sizeof kept);
        for (int i = 0; i < 4; i++) f->held[t[i]] = 1;
        for (int c = 0; c < 3; c++)
            x[3 * t[0] + c] += 1.05 * ((x[3 * t[1] + c] + x[3 * t[2] + c] + x[3 * t[3] + c]) / 3 - kept[c]);
        spl_inversion_count(&f->elements, f->held, x, &held, &loose);
        if (held == 1 && loose == 0) return k;
        for (int i = 0; i < 4; i++) f->held[t[i]] = -1;
        memcpy(x + 3 * t[0], kept, sizeof kept);
    }
    return -1;
}

/* A tet that is held whole and turned inside out is the motion's; the others go on. */
TEST(what_is_held_inside_out_is_left_out)
{
    flesh f = pressed_beam(0, 0);
    spl_statics_problem problem = flesh_problem(&f, &spl_law_log);
    spl_statics_stats stats;
    supple_error error = {0};
    int32_t held, loose, k = turn_inside_out(&f);
    REQUIRE(k >= 0);
    spl_statics *s = flesh_solver(&f, NULL, NULL);
    CHECK(spl_statics_exempt(s) == NULL);
    REQUIRE(spl_statics_solve(s, &problem, f.x, &stats, &error) == SUPPLE_OK);
    spl_inversion_count(&f.elements, f.held, f.x, &held, &loose);
    CHECK(stats.exempt == 1 && held == 1 && loose == 0 && !stats.softened && isfinite(stats.energy));
    REQUIRE(spl_statics_exempt(s) != NULL);
    CHECK(spl_statics_exempt(s)[k]);
    spl_statics_destroy(s);
    flesh_free(&f);
}

/* A surface that is mirrored leaves no shape without inversion: the stable law's answer stands, and is called that. */
TEST(where_there_is_no_way_the_stable_law_answers)
{
    flesh f = pressed_beam(0, 0);
    spl_statics_problem problem = flesh_problem(&f, &spl_law_log);
    spl_statics_stats stats;
    for (int32_t v = 0; v < f.vertex_count; v++) {
        bool outside = false;
        for (int c = 0; c < 3; c++) {
            double high = c == 0 ? 0.4 : 0.1, p = f.rest[3 * v + c];
            outside = outside || p < 1e-9 || p > high - 1e-9;
        }
        f.held[v] = outside ? 0 : -1;
        f.x[3 * v] = -f.rest[3 * v];
    }
    REQUIRE(solve(&f, &problem, &stats));
    CHECK(stats.softened && inverted(&f) > 0 && isfinite(stats.energy));
    flesh_free(&f);
}

TEST_CASES(RUN(a_start_that_is_inverted_is_brought_back), RUN(no_step_inverts),
           RUN(what_is_held_inside_out_is_left_out), RUN(where_there_is_no_way_the_stable_law_answers))
