#include "subspace/rigid.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

/* U^T M U = S[I] must be the identity: the equations of motion have no mass matrix. */
static double departure(const spl_rigid *r)
{
    size_t rank = (size_t)r->rows.domain->rank, stride = (size_t)spl_wide(r->rows.domain);
    double most = 0;
    for (size_t i = 0; i < rank; i++)
        for (size_t j = 0; j < rank; j++) {
            double off = fabs(r->X[i * stride + j] - (i == j));
            if (!(off < 1)) return off; /* NaN too */
            most = fmax(most, off);
        }
    return most;
}

/* What a step writes. */
static bool make_state(spl_rigid *r, const supple_allocator *a)
{
    const spl_model_domain *d = r->rows.domain;
    size_t rows = (size_t)d->rank + 1, wide = (size_t)spl_wide(d);
    r->push = spl_new(a, rows, sizeof *r->push);
    r->X = spl_new(a, rows * wide, sizeof *r->X);
    r->Y = spl_new(a, rows * wide, sizeof *r->Y);
    r->room = spl_new(a, 3 * wide, sizeof *r->room);
    return r->push && r->X && r->Y && r->room;
}

static bool make(spl_rigid *r, const supple_allocator *a)
{
    const spl_model_domain *d = r->rows.domain;
    size_t rank = (size_t)d->rank;
    r->Mtq = spl_new(a, 4 * (rank + 1), sizeof *r->Mtq);
    if (!make_state(r, a) || !r->Mtq) return false;
    if (r->fst && spl_sandwich_create(&r->rows, &r->rows, d->mass, a, &r->S, NULL) != SUPPLE_OK) return false;
    for (size_t k = 0; k < (size_t)d->vertex_count; k++)
        for (size_t m = 0; m < 3; m++)
            for (size_t i = 0; i < rank; i++) r->Mtq[4 * i + m] += d->mass[k] * d->basis[(3 * k + m) * rank + i];
    return true;
}

/* out[s] = S[X[s]] by the table or by vertices. */
static void transform(spl_rigid *r, const spl_dense_kernels *kernels, int32_t sets, const spl_mat3 *X,
                      double *const *out)
{
    if (r->fst) {
        spl_sandwich_contract(&r->S, kernels, sets, X, out);
        return;
    }
    for (int32_t s = 0; s < sets; s++)
        spl_sandwich_sum(&r->rows, &r->rows, r->rows.domain->mass, &X[s], r->room, out[s]);
}

supple_result spl_rigid_create(const spl_model_domain *domain, spl_vec3 centre, bool fst, const supple_allocator *a,
                               spl_rigid *out, supple_error *error)
{
    *out = (spl_rigid){.rows = {domain, centre, NULL, domain->vertex_count}, .fst = fst};
    if (!make(out, a)) {
        spl_rigid_release(out, a);
        return spl_fail_memory(error, "the inertia of a model");
    }
    spl_mat3 identity = spl_mat3_identity();
    double *room[1] = {out->X};
    transform(out, spl_dense_kernels_of(true), 1, &identity, room);
    double off = departure(out);
    if (off < 1e-6) return SUPPLE_OK;
    spl_rigid_release(out, a);
    return spl_fail(error, SUPPLE_ERROR_INPUT,
                    "the basis of the domain of bone %d is not orthonormal with respect to its masses (%.2g off): "
                    "train the model again",
                    (int)domain->bone, off);
}

supple_result spl_rigid_like(const spl_rigid *from, const supple_allocator *a, spl_rigid *out, supple_error *error)
{
    *out = *from;
    out->borrowed = true;
    if (make_state(out, a)) return SUPPLE_OK;
    spl_rigid_release(out, a);
    return spl_fail_memory(error, "the inertia of a model");
}

void spl_rigid_release(spl_rigid *r, const supple_allocator *a)
{
    void *state[] = {r->push, r->X, r->Y, r->room};
    for (size_t i = 0; i < sizeof state / sizeof *state; i++) spl_free(a, state[i]);
    if (!r->borrowed) {
        spl_free(a, r->Mtq);
        spl_sandwich_release(&r->S, a);
    }
    *r = (spl_rigid){0};
}

void spl_rigid_pose(spl_rigid *r, const spl_dense_kernels *kernels, const spl_frame_motion *frame, spl_vec3 gravity,
                    bool moving)
{
    spl_mat3 back = spl_mat3_transpose(&frame->R), X[2];
    spl_vec3 a = spl_mat3_apply(&back, moving ? spl_sub(gravity, frame->a) : gravity);
    for (int32_t i = 0; i < r->rows.domain->rank; i++)
        r->push[i] = r->Mtq[4 * i] * a.x + r->Mtq[4 * i + 1] * a.y + r->Mtq[4 * i + 2] * a.z;
    if (!moving) return;
    double *out[2] = {r->X, r->Y};
    X[1] = spl_cross_matrix(frame->omega);
    spl_mat3 squared = spl_mat3_mul(&X[1], &X[1]), alpha = spl_cross_matrix(frame->alpha);
    X[0] = spl_mat3_add(&squared, &alpha);
    transform(r, kernels, 2, X, out);
}

void spl_rigid_force(const spl_rigid *r, const spl_dense_kernels *kernels, bool moving, const double *q,
                     const double *qd, double *f)
{
    int32_t rank = r->rows.domain->rank, wide = spl_wide(r->rows.domain);
    for (int32_t i = 0; i < rank; i++) f[i] += r->push[i];
    if (!moving) return;
    double *y = r->room, *z = r->room + wide;
    memset(y, 0, 2 * (size_t)wide * sizeof *y);
    kernels->multiply(r->X, rank, wide, (size_t)wide, q, y);
    kernels->multiply(r->Y, rank, wide, (size_t)wide, qd, z);
    for (int32_t i = 0; i < rank; i++) f[i] -= y[i] + 2 * z[i];
}

spl_frame_motion spl_frame_centred(const spl_frame_motion *frame, spl_vec3 centre)
{
    spl_frame_motion out = *frame;
    spl_vec3 swept = spl_cross(frame->omega, centre);
    spl_vec3 turned = spl_add(spl_cross(frame->alpha, centre), spl_cross(frame->omega, swept));
    out.t = spl_add(frame->t, spl_mat3_apply(&frame->R, centre));
    out.v = spl_add(frame->v, spl_mat3_apply(&frame->R, swept));
    out.a = spl_add(frame->a, spl_mat3_apply(&frame->R, turned));
    return out;
}
