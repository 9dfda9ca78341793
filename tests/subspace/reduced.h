/* Domains with bases from vibrations, and states to train a cubature on: what the tests of cubature share. */
#ifndef SPL_TESTS_SUBSPACE_REDUCED_H
#define SPL_TESTS_SUBSPACE_REDUCED_H

#include "subspace/basis.h"
#include "subspace/cubature.h"
#include "subspace/modal.h"
#include "subspace/training.h"

typedef struct reduced {
    training t;
    spl_modal modal;
    int32_t index; /* of the domain */
    spl_model_domain domain;
} reduced;

static inline reduced reduced_make(training t, int32_t index, int32_t modes, int32_t derivatives, int32_t rank,
                                   spl_pool *pool)
{
    reduced r = {.t = t, .index = index};
    if (!t.ok) abort();
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    const spl_domain *o = &t.domains.domain[index];
    supple_error error = {0};
    if (spl_modal_create(&t.solid, &spl_law_neohookean, modes, derivatives, &config, pool, &r.modal, &error) !=
        SUPPLE_OK) {
        printf("    %s\n", error.message);
        abort();
    }
    size_t full = 3 * (size_t)r.modal.vertex_count, n = 3 * (size_t)o->vertex_count;
    int32_t count = r.modal.mode_count + r.modal.derivative_count;
    double *shape = malloc((size_t)count * full * sizeof *shape), *scale = malloc((size_t)count * sizeof *scale);
    memcpy(shape, r.modal.mode, (size_t)r.modal.mode_count * full * sizeof *shape);
    memcpy(shape + (size_t)r.modal.mode_count * full, r.modal.derivative,
           (size_t)r.modal.derivative_count * full * sizeof *shape);
    for (int32_t k = 0; k < count; k++) {
        const int32_t *pair = r.modal.pair + 2 * (k - r.modal.mode_count);
        scale[k] = k < r.modal.mode_count
                       ? r.modal.value[0] / r.modal.value[k]
                       : r.modal.value[0] / r.modal.value[pair[0]] * (r.modal.value[0] / r.modal.value[pair[1]]);
    }
    double **pose = calloc((size_t)t.domains.domain_count, sizeof *pose);
    spl_snapshots snapshots = {0, pose, r.modal.vertex_count, count, shape, scale, 0};
    r.domain = (spl_model_domain){.bone = o->bone,
                                  .vertex_count = o->vertex_count,
                                  .vertex = o->vertex,
                                  .mass = o->mass,
                                  .rest = malloc(n * sizeof(double)),
                                  .basis = malloc(n * (size_t)rank * sizeof(double))};
    for (size_t i = 0; i < n; i++) r.domain.rest[i] = t.solid.drive.rest[3 * (size_t)o->vertex[i / 3] + i % 3];
    if (spl_basis_make(&r.t.domains, index, &snapshots, rank, 0, pool, &a, r.domain.basis, &r.domain.rank,
                       &r.domain.pose_rank, &error) != SUPPLE_OK)
        abort();
    free(shape);
    free(scale);
    free(pose);
    return r;
}

static inline void reduced_free(reduced *r)
{
    free(r->domain.rest);
    free(r->domain.basis);
    free(r->domain.cubature);
    spl_modal_release(&r->modal);
    training_free(&r->t);
}

/* States of the domain: vibrations with energies alike in all modes, projected to its basis; as far as `reach` of the
 * body's size. count x rank numbers. */
static inline double *reduced_states(const reduced *r, int32_t count, double reach, uint64_t seed)
{
    const spl_domain *o = &r->t.domains.domain[r->index];
    size_t n = 3 * (size_t)o->vertex_count, full = 3 * (size_t)r->modal.vertex_count, rank = (size_t)r->domain.rank;
    double *q = calloc((size_t)count * rank, sizeof *q), *u = malloc(n * sizeof *u);
    for (int32_t s = 0; s < count; s++) {
        double most = 0;
        memset(u, 0, n * sizeof *u);
        for (int32_t k = 0; k < r->modal.mode_count; k++) {
            double c = training_random(&seed) / sqrt(r->modal.value[k]);
            for (size_t i = 0; i < n; i++)
                u[i] += c * r->modal.mode[(size_t)k * full + 3 * (size_t)o->vertex[i / 3] + i % 3];
        }
        for (size_t i = 0; i < n; i++) most = fmax(most, fabs(u[i]));
        double scale = reach * r->t.solid.diagonal / most * (0.2 + 0.8 * fabs(training_random(&seed)));
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < rank; k++)
                q[(size_t)s * rank + k] += scale * o->mass[i / 3] * u[i] * r->domain.basis[i * rank + k];
    }
    free(u);
    return q;
}

#endif
