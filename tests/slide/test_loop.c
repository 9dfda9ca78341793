/* Cycles that close, and forces on the skin. */
#include "../failing.h"
#include "../test.h"
#include "sheets.h"
#include "sim/sim.h"

#include <supple/supple.h>

/* How far texture coordinates of a shaken torus are apart at its ends, at most; a jump to another piece counts for
 * little. Skin is made slow, so that what it is at the end depends on all that was before. */
static double ends_apart(bool loop)
{
    supple_scene *scene = NULL;
    supple_sim *sim = NULL;
    supple_setting slow = {"slide.drag", "3000"};
    supple_sim_config sc = supple_sim_config_default();
    sc.method = "linear";
    sc.slide = true;
    sc.loop = loop;
    sc.fps = 10;
    sc.settings = &slow;
    sc.setting_count = 1;
    if (supple_scene_load_file("demo:torus", NULL, &scene, NULL) != SUPPLE_OK) abort();
    if (supple_sim_create(scene, &sc, NULL, &sim, NULL) != SUPPLE_OK) abort();
    size_t numbers = 2 * sim->slide.corners;
    float *first = calloc(numbers, sizeof *first);
    int frames = (int)floor(supple_scene_clip_duration(scene, 0) * 10 + 0.5);
    double most = 0;
    for (int k = 0; k <= frames; k++) {
        CHECK(supple_sim_step_clip(sim, 0, k / 10.0, NULL) == SUPPLE_OK);
        if (k == 0) memcpy(first, sim->slide.corner_uv, numbers * sizeof *first);
    }
    for (size_t i = 0; i < numbers; i++) {
        double off = fabs((double)(sim->slide.corner_uv[i] - first[i]));
        if (off < 0.02) most = fmax(most, off);
    }
    free(first);
    supple_sim_destroy(sim);
    supple_scene_destroy(scene);
    return most;
}

TEST(a_cycle_of_skin_closes)
{
    double open = ends_apart(false), closed = ends_apart(true);
    printf("    apart by %.2e of the texture, and by %.2e as a cycle\n", open, closed);
    CHECK(closed < 1e-4 && open > 10 * closed);
}

/* Beneath a uniform force, skin that is next to nothing itself hangs on its tethers: by push L / p along it, away from
 * borders; and the force keeps its direction in space when the body turns. */
TEST(forces_pull_skin_as_far_as_tethers_let_it)
{
    srand(3);
    for (int turned = 0; turned < 2; turned++) {
        shape s = sheet_irregular(12, 12, 0.4, 0.4, 0.2);
        spl_net net = sheet_net(&s);
        size_t n = (size_t)net.surface.vertex_count;
        uint8_t *hold = sheet_hold_border(&net);
        double *length = calloc(n, sizeof *length), *pressure = calloc(n, sizeof *pressure);
        spl_vec3 *push = calloc(n, sizeof *push), *x = calloc(n, sizeof *x);
        for (size_t v = 0; v < n; v++) {
            length[v] = 0.01;
            pressure[v] = 300;
            push[v] = spl_v3(60, 0, 25);
            x[v] = net.surface.position[v];
        }
        spl_dermis_settings set = spl_dermis_settings_default();
        set.young = 1;
        spl_dermis_parts parts = {.hold = hold, .tether_length = length, .tether_pressure = pressure, .push = push};
        spl_dermis *d = sheet_skin(&s, &set, &parts, NULL);
        CHECK(spl_dermis_advance(d, x, 1.0 / 30, NULL) == SUPPLE_OK);
        for (int k = 0; k < 60; k++) {
            for (size_t v = 0; v < n && turned; v++)
                x[v] = spl_v3(-net.surface.position[v].y, net.surface.position[v].x, 0);
            CHECK(spl_dermis_advance(d, x, 1.0 / 30, NULL) == SUPPLE_OK);
        }
        int seen = 0;
        for (size_t v = 0; v < n; v++) {
            spl_vec3 p = net.surface.position[v], way = spl_sub(p, d->Y[v]); /* skin from there is here now */
            if (fabs(p.x - 0.2) > 0.08 || fabs(p.y - 0.2) > 0.08) continue;
            seen++;
            CHECK_NEAR(turned ? -way.y : way.x, 0.002, 4e-5);
            CHECK_NEAR(turned ? way.x : way.y, 0, 4e-5);
        }
        CHECK(seen > 10);
        free(hold);
        free(length);
        free(pressure);
        free(push);
        free(x);
        spl_net_release(&net);
        shape_free(&s);
        spl_dermis_destroy(d);
    }
}

TEST_CASES(RUN(a_cycle_of_skin_closes), RUN(forces_pull_skin_as_far_as_tethers_let_it))
