/* Whole simulations with contact by a barrier, and what they say. */
#ifndef SPL_TESTS_METHODS_CONTACT_SIM_H
#define SPL_TESTS_METHODS_CONTACT_SIM_H

#include "core/hash.h"
#include "methods/method.h"
#include "sim/posed.h"

static inline supple_sim *contact_sim_of(const posed *p, const char *method, const char *settings, int32_t collide,
                                         const char *collider, int32_t threads)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_config config = supple_config_default();
    supple_error error = {0};
    supple_sim *sim = NULL;
    config.thread_count = threads;
    sc.collide = collide;
    sc.colliders = &collider;
    sc.collider_count = collider ? 1 : 0;
    if (posed_try(p, method, settings, &sc, &config, &sim, &error) == SUPPLE_OK) return sim;
    printf("    %s\n", error.message);
    abort();
}

static inline spl_solution solution_of(const supple_sim *sim)
{
    spl_solution s = {0};
    sim->method->solution(sim->state, &sim->context, &s);
    return s;
}

/* Of the body's surface, as it is shown; released pairs aside. */
static inline int32_t crossings(const supple_sim *sim)
{
    spl_solution s = solution_of(sim);
    return spl_barrier_crossings(s.barrier, s.barrier_x);
}

static inline double value_of(const supple_sim *sim, const char *name)
{
    supple_named_value v;
    for (int32_t i = 0; supple_sim_value(sim, i, &v); i++)
        if (strcmp(v.name, name) == 0) return v.value;
    return NAN;
}

static inline bool finite_x(const supple_sim *sim)
{
    bool ok = true;
    for (int32_t i = 0; i < 3 * sim->flesh.body->tets.vertex_count; i++) ok = ok && isfinite(posed_x(sim)[i]);
    return ok;
}

static inline uint64_t hash_x(const supple_sim *sim, uint64_t hash)
{
    return spl_hash(posed_x(sim), (size_t)sim->flesh.body->tets.vertex_count * 3 * sizeof(double), hash);
}

#endif
