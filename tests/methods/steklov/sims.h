/* Simulations by steklov with contacts, for its tests. */
#ifndef SPL_TESTS_METHODS_STEKLOV_SIMS_H
#define SPL_TESTS_METHODS_STEKLOV_SIMS_H

#include "methods/steklov/steklov.h"
#include "sim/posed.h"

#include <unistd.h>

static inline supple_sim *contact_sim(posed *p, const char *settings, int32_t collide)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_error error = {0};
    supple_sim *sim = NULL;
    sc.measure = true;
    sc.collide = collide;
    if (posed_try(p, "steklov", settings, &sc, NULL, &sim, &error) != SUPPLE_OK) {
        printf("    %s: %s\n", settings, error.message);
        abort();
    }
    return sim;
}

static inline const spl_steklov_stats *last(const supple_sim *sim)
{
    return spl_steklov_last(sim->state);
}

static inline double value_of(const supple_sim *sim, const char *name)
{
    supple_named_value v;
    for (int32_t i = 0; supple_sim_value(sim, i, &v); i++)
        if (strcmp(v.name, name) == 0) return v.value;
    return NAN;
}

static inline const char *write_collider(const char *text)
{
    static char path[64]; /* one a process: tests run side by side in one folder */
    snprintf(path, sizeof path, "steklov_collider_%d.json", (int)getpid());
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0) abort();
    fclose(file);
    return path;
}

static inline supple_sim *world_sim(posed *p, const char *settings, const char *collider)
{
    const char *path = write_collider(collider);
    supple_sim_config sc = supple_sim_config_default();
    supple_error error = {0};
    supple_sim *sim = NULL;
    sc.measure = true;
    sc.collide = SUPPLE_COLLIDE_WORLD;
    sc.colliders = &path;
    sc.collider_count = 1;
    if (posed_try(p, "steklov", settings, &sc, NULL, &sim, &error) != SUPPLE_OK) {
        printf("    %s: %s\n", settings, error.message);
        abort();
    }
    remove(path);
    return sim;
}

#endif
