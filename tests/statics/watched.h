/* Flesh with a barrier that is watched: every place that the solver asks for is looked at for crossings. */
#ifndef SPL_TESTS_STATICS_WATCHED_H
#define SPL_TESTS_STATICS_WATCHED_H

#include "contact/barrier_mesh.h"
#include "statics/flesh.h"
#include "test.h"

/* An extra that looks at every place that the solver asks for. */
typedef struct watched {
    spl_extra extra;
    const spl_extra *inner;
    spl_barrier *barrier, *twin; /* the twin is asked for crossings: the first one's candidates stay */
    int32_t looks, crossings, infinite;
} watched;

static inline double watched_energy(void *context, const double *x)
{
    watched *w = context;
    double e = w->inner->energy(w->inner->context, x);
    w->looks++;
    w->crossings += spl_barrier_crossings(w->twin, x) != 0;
    w->infinite += !isfinite(e);
    return e;
}

static inline void watched_forces(void *context, const double *x, double *force)
{
    watched *w = context;
    w->looks++;
    w->crossings += spl_barrier_crossings(w->twin, x) != 0;
    w->inner->add_forces(w->inner->context, x, force);
}

static inline int32_t watched_elements(void *context, double exact, const int32_t **vertex, const double **values)
{
    watched *w = context;
    return w->inner->elements(w->inner->context, exact, vertex, values);
}

static inline supple_result watched_begin(void *context, const double *x, supple_error *error)
{
    watched *w = context;
    return w->inner->begin(w->inner->context, x, error);
}

static inline supple_result watched_max_step(void *context, const double *x, const double *d, double *share,
                                             supple_error *error)
{
    watched *w = context;
    return w->inner->max_step(w->inner->context, x, d, share, error);
}

static inline watched watch(const barrier_mesh *m, const spl_barrier_options *options, spl_pool *pool)
{
    watched w = {.barrier = barrier_mesh_barrier(m, options, pool), .twin = barrier_mesh_barrier(m, options, pool)};
    w.inner = spl_barrier_extra(w.barrier);
    w.extra = (spl_extra){.energy = watched_energy,
                          .add_forces = watched_forces,
                          .elements = watched_elements,
                          .begin = watched_begin,
                          .max_step = watched_max_step};
    return w;
}

static inline void unwatch(watched *w)
{
    spl_barrier_destroy(w->barrier);
    spl_barrier_destroy(w->twin);
}

static inline spl_pool *pool_of(int32_t threads)
{
    spl_pool *pool;
    supple_config config = supple_config_default();
    config.thread_count = threads;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    return pool;
}

static inline bool all_finite(const double *x, int32_t n)
{
    bool ok = true;
    for (int32_t i = 0; i < n; i++) ok = ok && isfinite(x[i]);
    return ok;
}

/* Held vertices are moved to `goal` as far as nothing touches, then the flesh is solved; until they are in place. Free
 * ones go along by `carry` in the first round (NULL: they stay). Returns the number of rounds, or 0 if it did not end.
 */
static inline int push(const flesh *f, spl_statics *s, watched *w, const double *goal, const double *carry, double *x)
{
    spl_statics_problem problem = flesh_problem(f, &spl_law_corot);
    spl_statics_stats stats = {0};
    supple_error error = {0};
    int32_t n = 3 * f->vertex_count;
    double *d = calloc((size_t)n, sizeof *d), share = 0, left = 1, ahead = 1;
    int rounds = 0;
    w->extra.context = w;
    problem.extra = &w->extra;
    while (left > 1e-9 && rounds < 60) {
        left = 0;
        for (int32_t i = 0; i < n; i++) {
            bool held = f->held[i / 3] >= 0;
            d[i] = held ? goal[i] - x[i] : carry ? ahead * carry[i] : 0;
            if (held) left = fmax(left, fabs(d[i]));
        }
        if (spl_barrier_max_step(w->twin, x, d, 0.5, &share, NULL) != SUPPLE_OK) break;
        for (int32_t i = 0; i < n; i++) x[i] += share * d[i];
        left *= 1 - share;
        ahead = 0;
        if (spl_statics_solve(s, &problem, x, &stats, &error) != SUPPLE_OK) {
            printf("    %s\n", error.message);
            break;
        }
        rounds++;
    }
    CHECK(stats.converged);
    CHECK(all_finite(x, n));
    free(d);
    return left <= 1e-9 ? rounds : 0;
}

static inline barrier_mesh mesh_of(const flesh *f, int32_t per_bone)
{
    barrier_mesh m = barrier_mesh_make(f->rest, f->vertex_count, f->tet, f->tet_count, per_bone, 0);
    for (int32_t v = 0; v < f->vertex_count; v++) {
        m.fixed[v] = f->held[v] >= 0;
        m.stiffness[v] = 1e3;
    }
    return m;
}

#endif
