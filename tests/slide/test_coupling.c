/* The coupling of skin and body as printed (11 to 13): nothing slides at zeta 1, nothing drifts, and Delta max. */
#include "../test.h"
#include "sheets.h"

static spl_dermis_settings printed(double zeta)
{
    spl_dermis_settings set = spl_dermis_settings_default();
    set.paper_coupling = true;
    set.zeta = zeta;
    set.step = 1e-3;
    return set;
}

/* How far the skin is off its place at rest, at most, after a torus was bent and pressed. */
static double bend(const spl_dermis_settings *set, double *fastest)
{
    shape s = shape_torus(10, 0.3, 0.1);
    spl_dermis *d = sheet_skin(&s, set, NULL, NULL);
    size_t n = (size_t)d->net.surface.vertex_count;
    spl_vec3 *x = calloc(n, sizeof *x);
    double most = 0;
    *fastest = 0;
    for (int frame = 0; frame < 8; frame++) {
        for (size_t v = 0; v < n; v++) {
            spl_vec3 p = d->net.surface.position[v];
            x[v] = spl_v3(p.x + 0.2 * frame * p.x * p.x, p.y * (1 + 0.2 * frame * p.x), p.z * (1 - 0.05 * frame));
        }
        CHECK(spl_dermis_advance(d, x, 1.0 / 60, NULL) == SUPPLE_OK);
        for (size_t v = 0; v < n; v++) {
            most = fmax(most, spl_distance(d->Y[v], d->net.surface.position[v]));
            *fastest = fmax(*fastest, hypot(d->v[2 * v], d->v[2 * v + 1]));
        }
    }
    free(x);
    shape_free(&s);
    spl_dermis_destroy(d);
    return most;
}

TEST(skin_that_sticks_never_slides)
{
    double fastest;
    spl_dermis_settings set = printed(1), ours = printed(1);
    ours.paper_coupling = false;
    CHECK(bend(&set, &fastest) == 0 && fastest == 0);
    set.step = 0; /* adaptive steps too */
    CHECK(bend(&set, &fastest) == 0 && fastest == 0);
    CHECK(bend(&ours, &fastest) > 5e-3);
    double last = 0;
    double zeta = 0.5;
    for (int i = 0; i < 3; i++, zeta /= 8) { /* the less it sticks, the farther it goes */
        set = printed(zeta);
        double most = bend(&set, &fastest);
        CHECK(most > last);
        last = most;
    }
}

/* A sheet that is pulled away under its skin: in the middle, where nothing is strained yet, what the skin is behind
 * follows l' = (1 - zeta min(1, Delta / |l + dx|)) (l + dx), and goes to nothing once the body stands. */
TEST(what_is_left_behind_is_caught_up)
{
    for (int limited = 0; limited < 2; limited++) {
        spl_dermis_settings set = printed(0.2);
        set.world = true;
        set.young = 1e-6; /* the borders are strained, and would be felt in the middle by a ten thousandth */
        if (limited) set.delta = 2e-4;
        shape s = shape_grid(24, 24, shape_at_plane, (double[]){0.6, 0.6});
        spl_dermis *d = sheet_skin(&s, &set, NULL, NULL);
        size_t n = (size_t)d->net.surface.vertex_count, middle = 0;
        for (size_t v = 0; v < n; v++)
            if (spl_distance(d->net.surface.position[v], spl_v3(0.3, 0.3, 0)) < 1e-9) middle = v;
        spl_vec3 *x = calloc(n, sizeof *x);
        double behind = 0, away = 0, most = 0;
        for (int k = 0; k < 60; k++) {
            double step = k < 15 ? 3e-4 : 0;
            away += step;
            behind += step;
            behind *= 1 - set.zeta * (behind > set.delta ? set.delta / behind : 1);
            most = fmax(most, behind);
            for (size_t v = 0; v < n; v++) x[v] = spl_add(d->net.surface.position[v], spl_v3(away, 0, 0));
            CHECK(spl_dermis_step(d, x, 1e-3, NULL) == SUPPLE_OK);
            spl_vec3 way = spl_sub(d->Y[middle], d->net.surface.position[middle]);
            CHECK_NEAR(way.x, behind, 1e-9);
            CHECK_NEAR(way.y, 0, 1e-9);
        }
        CHECK(limited ? most > 3e-3 : most > 1e-3 && most < 1.3e-3);
        CHECK(limited ? behind > 1e-3 : behind < 1e-6);
        free(x);
        shape_free(&s);
        spl_dermis_destroy(d);
    }
}

/* Skin along a curve is caught up along it. */
TEST(curves_come_back_too)
{
    spl_dermis_settings set = printed(0);
    shape s = shape_grid(16, 8, shape_at_tube, (double[]){0.1, 0.3});
    spl_net net = sheet_net(&s);
    size_t n = (size_t)net.surface.vertex_count, edges = 0;
    uint8_t *hold = calloc(n, 1);
    int32_t *edge = calloc(6 * (size_t)net.surface.triangle_count, sizeof *edge);
    for (size_t t = 0; t < (size_t)net.surface.triangle_count; t++)
        for (size_t k = 0; k < 3; k++) {
            int32_t a = net.surface.triangle[3 * t + k], b = net.surface.triangle[3 * t + (k + 1) % 3];
            if (net.surface.across[3 * t + k] >= 0) continue;
            hold[a] = hold[b] = SPL_HOLD_SLIDING;
            edge[2 * edges] = a;
            edge[2 * edges++ + 1] = b;
        }
    spl_net_release(&net);
    spl_dermis_parts parts = {.hold = hold, .edge = edge, .edge_count = edges};
    spl_dermis *d = sheet_skin(&s, &set, &parts, NULL);
    for (int k = 0; k < d->curves.first[d->curves.count]; k++) /* turned by a little */
        d->theta[k] = spl_curves_wrap(&d->curves, d->curves.curve[k], d->theta[k] + 0.004);
    for (size_t v = 0; v < n; v++) d->zeta[v] = 0.5;
    for (int step = 0; step < 4; step++) CHECK(spl_dermis_step(d, d->net.surface.position, 1e-3, NULL) == SUPPLE_OK);
    for (int k = 0; k < d->curves.first[d->curves.count]; k++) {
        double off = spl_curves_difference(&d->curves, d->curves.curve[k], d->curves.theta[k], d->theta[k]);
        CHECK(off > 0 && off < 0.004 / 12);
    }
    free(hold);
    free(edge);
    shape_free(&s);
    spl_dermis_destroy(d);
}

TEST_CASES(RUN(skin_that_sticks_never_slides), RUN(what_is_left_behind_is_caught_up), RUN(curves_come_back_too))
