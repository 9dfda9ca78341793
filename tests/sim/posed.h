/* Simulations of a small built-in character whose joints a test turns in double. */
#ifndef SPL_TESTS_SIM_POSED_H
#define SPL_TESTS_SIM_POSED_H

#include "body/demo_body.h"
#include "failing.h"
#include "rig/puppet.h"
#include "sim/sim.h"

typedef struct posed {
    demo_body demo;
    puppet puppet;
} posed;

/* Takes over a scene. `kept` (or NULL) moves the character's rest pose away from its bind pose. */
static inline posed posed_of(supple_scene *scene, int32_t resolution, const spl_mat4 *kept)
{
    posed p = {.puppet = puppet_make(scene)};
    puppet_rest(&p.puppet);
    puppet_bind(&p.puppet);
    if (kept) puppet_keep(&p.puppet, kept);
    p.demo = demo_body_of(scene, resolution, 0);
    if (!p.demo.body) abort();
    return p;
}

static inline posed posed_make(const char *name, int32_t resolution, const spl_mat4 *kept)
{
    return posed_of(demo_scene(name, strcmp(name, "hero") == 0 ? 0.4 : 0.3), resolution, kept); /* below: holes */
}

static inline void posed_free(posed *p)
{
    puppet_free(&p->puppet);
    demo_body_free(&p->demo);
}

/* Splits "a=1 b=2" into at most 8 settings; `text` is cut up. */
static inline int32_t posed_settings(char *text, supple_setting *out)
{
    int32_t count = 0;
    for (char *word = strtok(text, " "); word && count < 8; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = 0;
        out[count++] = (supple_setting){word, equals + 1};
    }
    return count;
}

static inline supple_result posed_try(const posed *p, const char *method, const char *settings,
                                      const supple_sim_config *from, const supple_config *config, supple_sim **out,
                                      supple_error *error)
{
    char text[200];
    supple_setting list[8];
    supple_sim_config sc = from ? *from : supple_sim_config_default();
    snprintf(text, sizeof text, "%s", settings);
    sc.method = method;
    sc.setting_count = posed_settings(text, list);
    sc.settings = list;
    if (!sc.body) sc.body = p->demo.handle;
    return supple_sim_create(p->demo.scene, &sc, config, out, error);
}

static inline supple_sim *posed_sim(const posed *p, const char *method, const char *settings)
{
    supple_error error = {0};
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    sc.measure = true;
    if (posed_try(p, method, settings, &sc, NULL, &sim, &error) != SUPPLE_OK) {
        printf("    %s, %s: %s\n", method, settings, error.message);
        abort();
    }
    return sim;
}

/* Creates simulations with the n-th allocation failing, for every n until none does: each is refused without a leak,
 * and four steps of the clip, `apart` seconds from each other, allocate nothing. */
static inline void posed_fail_every_allocation(const posed *p, const char *method, const char *settings,
                                               const supple_sim_config *sc, double apart)
{
    long n = 0, refused = 0;
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        supple_sim *sim = NULL;
        config.allocator = failing_allocator(&f);
        config.thread_count = 1;
        supple_result result = posed_try(p, method, settings, sc, &config, &sim, NULL);
        CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && !sim));
        refused += result != SUPPLE_OK;
        ended = result == SUPPLE_OK && f.requests <= n;
        long before = f.requests;
        for (int k = 0; ended && k < 4; k++) CHECK(supple_sim_step_clip(sim, 0, apart * k, NULL) == SUPPLE_OK);
        CHECK(f.requests == before);
        supple_sim_destroy(sim);
        CHECK(f.live == 0);
    }
    CHECK(refused > 60);
}

/* A step in the puppet's pose. */
static inline supple_result posed_step(supple_sim *sim)
{
    supple_error error = {0};
    supple_result result = supple_sim_step_clip(sim, -1, 0, &error);
    if (result != SUPPLE_OK) printf("    %s\n", error.message);
    return result;
}

/* The body's vertices after the last step, 3 doubles each. */
static inline const double *posed_x(const supple_sim *sim)
{
    return sim->flesh.x;
}

static inline double *posed_copy(const supple_sim *sim)
{
    size_t bytes = (size_t)sim->flesh.body->tets.vertex_count * 3 * sizeof(double);
    return memcpy(malloc(bytes), sim->flesh.x, bytes);
}

/* Largest distance of two sets of body vertices, as a share of the diagonal. */
static inline double posed_distance(const supple_sim *sim, const double *a, const double *b)
{
    double most = 0;
    for (int32_t v = 0; v < sim->flesh.body->tets.vertex_count; v++) {
        const double *p = a + 3 * v, *q = b + 3 * v;
        double d = spl_distance(spl_v3(p[0], p[1], p[2]), spl_v3(q[0], q[1], q[2]));
        if (!(d <= most)) most = d;
    }
    return most / sim->flesh.solid.diagonal;
}

/* Largest distance from where bone 0 takes the whole rest shape: 0 in rigid motions. */
static inline double posed_rigid(const supple_sim *sim)
{
    const spl_drive *d = &sim->flesh.solid.drive;
    double most = 0;
    for (int32_t v = 0; v < sim->flesh.body->tets.vertex_count; v++) {
        const double *p = sim->flesh.x + 3 * v;
        double e = spl_distance(spl_v3(p[0], p[1], p[2]), spl_drive_point(d, 0, v));
        if (!(e <= most)) most = e;
    }
    return most / sim->flesh.solid.diagonal;
}

#endif
