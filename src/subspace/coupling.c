#include "subspace/coupling.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

/* ---- tables -------------------------------------------------------------------------------------------------------
 */

/* Numbers of one (rank + 1) x wide matrix. */
static size_t square(const spl_coupling_side *s)
{
    return (size_t)(s->rows.domain->rank + 1) * (size_t)spl_wide(s->rows.domain);
}

/* C = U_^T A 1 */
static void fill_sums(spl_coupling_side *s, const double *area)
{
    const spl_model_domain *d = s->rows.domain;
    const double centre[3] = {s->rows.centre.x, s->rows.centre.y, s->rows.centre.z};
    size_t rank = (size_t)d->rank;
    for (int32_t k = 0; k < s->rows.count; k++) {
        size_t v = (size_t)s->rows.vertex[k];
        for (size_t m = 0; m < 3; m++) {
            for (size_t i = 0; i < rank; i++) s->C[4 * i + m] += area[k] * d->basis[(3 * v + m) * rank + i];
            s->C[4 * rank + m] += area[k] * (d->rest[3 * v + m] - centre[m]);
        }
    }
}

/* What a step writes; W, N and room first, which tables are made with. All are zeroed or set before any can fail. */
static bool make_state(spl_coupling *c, const supple_allocator *a)
{
    const spl_model_domain *i = c->side[0].rows.domain, *j = c->side[1].rows.domain;
    size_t n = (size_t)(i->rank + 1) * (size_t)spl_wide(j), wide = (size_t)spl_wide(i), other = (size_t)spl_wide(j);
    c->W = spl_new(a, n, sizeof *c->W);
    c->room = spl_new(a, 3 * (wide > other ? wide : other), sizeof *c->room);
    bool ok = c->W && c->room;
    for (int k = 0; k < 2; k++) {
        spl_coupling_side *s = &c->side[k];
        size_t rows = (size_t)s->rows.domain->rank + 1;
        c->N[k] = c->full ? spl_new(a, n, sizeof *c->N[k]) : NULL;
        s->Z = spl_new(a, square(s), sizeof *s->Z);
        s->offset = spl_new(a, rows, sizeof *s->offset);
        s->dragged = spl_new(a, rows, sizeof *s->dragged);
        ok = ok && s->Z && s->offset && s->dragged && (c->N[k] || !c->full);
    }
    return ok;
}

static bool make_side(spl_coupling *c, int at, const supple_allocator *a)
{
    spl_coupling_side *s = &c->side[at];
    size_t rows = (size_t)s->rows.domain->rank + 1, n = square(s);
    s->P = spl_new(a, n, sizeof *s->P);
    s->C = spl_new(a, 4 * rows, sizeof *s->C);
    if (c->full && c->fst) s->turn = spl_new(a, 3 * n, sizeof *s->turn);
    if (!s->P || !s->C || (c->full && c->fst && !s->turn)) return false;
    spl_mat3 identity = spl_mat3_identity();
    fill_sums(s, c->area);
    spl_sandwich_sum(&s->rows, &s->rows, c->area, &identity, c->room, s->P);
    for (size_t e = 0; s->turn && e < 3; e++) {
        spl_mat3 axis = spl_cross_matrix(spl_v3(e == 0, e == 1, e == 2));
        spl_sandwich_sum(&s->rows, &s->rows, c->area, &axis, c->room, s->turn + e * n);
    }
    return true;
}

supple_result spl_coupling_create(const spl_model *model, int32_t interface, const spl_vec3 *centre,
                                  const spl_coupling_options *options, const supple_allocator *a, spl_coupling *out,
                                  supple_error *error)
{
    const spl_interface *f = &model->interface[interface];
    const spl_model_domain *i = &model->domain[f->i], *j = &model->domain[f->j];
    *out = (spl_coupling){.domain = {f->i, f->j}, .count = f->count, .area = f->area};
    out->fst = options->fst, out->full = options->full;
    out->kappa = options->kappa, out->kappa_d = options->kappa_d;
    out->side[0].rows = (spl_rows_of){i, centre[f->i], f->at_i, f->count};
    out->side[1].rows = (spl_rows_of){j, centre[f->j], f->at_j, f->count};
    for (int32_t k = 0; k < f->count; k++) out->whole += f->area[k];
    bool ok = make_state(out, a) && make_side(out, 0, a) && make_side(out, 1, a);
    if (ok && out->fst)
        ok = spl_sandwich_create(&out->side[0].rows, &out->side[1].rows, out->area, a, &out->B, NULL) == SUPPLE_OK;
    if (ok) return SUPPLE_OK;
    spl_coupling_release(out, a);
    return spl_fail_memory(error, "the interfaces of a model");
}

supple_result spl_coupling_like(const spl_coupling *from, const spl_coupling_options *options,
                                const supple_allocator *a, spl_coupling *out, supple_error *error)
{
    *out = *from;
    out->borrowed = true;
    out->kappa = options->kappa, out->kappa_d = options->kappa_d;
    if (make_state(out, a)) return SUPPLE_OK;
    spl_coupling_release(out, a);
    return spl_fail_memory(error, "the interfaces of a model");
}

void spl_coupling_release(spl_coupling *c, const supple_allocator *a)
{
    for (int k = 0; k < 2; k++) {
        spl_coupling_side *s = &c->side[k];
        void *constant[] = {s->P, s->C, s->turn}, *state[] = {s->Z, s->offset, s->dragged, c->N[k]};
        for (size_t i = 0; i < sizeof constant / sizeof *constant && !c->borrowed; i++) spl_free(a, constant[i]);
        for (size_t i = 0; i < sizeof state / sizeof *state; i++) spl_free(a, state[i]);
    }
    spl_free(a, c->W);
    spl_free(a, c->room);
    if (!c->borrowed) spl_sandwich_release(&c->B, a);
    *c = (spl_coupling){0};
}

/* ---- a step -------------------------------------------------------------------------------------------------------
 */

/* out = C R^T d */
static void lever(const spl_coupling_side *s, const spl_mat3 *R, spl_vec3 d, double *out)
{
    spl_mat3 back = spl_mat3_transpose(R);
    spl_vec3 v = spl_mat3_apply(&back, d);
    for (int32_t i = 0; i <= s->rows.domain->rank; i++)
        out[i] = s->C[4 * i] * v.x + s->C[4 * i + 1] * v.y + s->C[4 * i + 2] * v.z;
}

static void pose_turns(spl_coupling_side *s, const spl_dense_kernels *kernels, const double *area, spl_vec3 omega,
                       double *room)
{
    const double w[3] = {omega.x, omega.y, omega.z};
    spl_mat3 X = spl_cross_matrix(omega);
    double *out[1] = {s->Z};
    if (s->turn)
        kernels->contract(s->turn, 3, square(s), 1, w, out);
    else
        spl_sandwich_sum(&s->rows, &s->rows, area, &X, room, s->Z);
}

void spl_coupling_pose(spl_coupling *c, const spl_dense_kernels *kernels, const spl_frame_motion *i,
                       const spl_frame_motion *j)
{
    spl_mat3 wi = spl_cross_matrix(spl_scale(i->omega, -1)), wj = spl_cross_matrix(j->omega), X[3];
    double *out[3] = {c->W, c->N[0], c->N[1]};
    int32_t sets = c->full ? 3 : 1;
    X[0] = spl_mat3_transposed_mul(&i->R, &j->R);
    X[1] = spl_mat3_mul(&X[0], &wj);
    X[2] = spl_mat3_mul(&wi, &X[0]);
    if (c->fst)
        spl_sandwich_contract(&c->B, kernels, sets, X, out);
    else
        for (int32_t s = 0; s < sets; s++)
            spl_sandwich_sum(&c->side[0].rows, &c->side[1].rows, c->area, &X[s], c->room, out[s]);
    spl_vec3 t = spl_sub(i->t, j->t), v = spl_sub(i->v, j->v);
    c->apart = spl_dot(t, t);
    lever(&c->side[0], &i->R, t, c->side[0].offset);
    lever(&c->side[1], &j->R, spl_scale(t, -1), c->side[1].offset);
    if (!c->full) return;
    lever(&c->side[0], &i->R, v, c->side[0].dragged);
    lever(&c->side[1], &j->R, spl_scale(v, -1), c->side[1].dragged);
    pose_turns(&c->side[0], kernels, c->area, i->omega, c->room);
    pose_turns(&c->side[1], kernels, c->area, j->omega, c->room);
}

/* The two sides of  M_i x_i - M x_j,  M_j x_j - M^T x_i  are added to y. */
typedef struct stencil {
    const double *own[2]; /* P or Z */
    const double *other;  /* W or N[0]: for side i */
    const double *back;   /* W or N[1]: its transpose is for side j */
} stencil;

static void add_stencil(const spl_coupling *c, const spl_dense_kernels *k, const stencil *m, double *const x[2],
                        double *negative, double *const y[2])
{
    int32_t rows[2], wide[2];
    for (int s = 0; s < 2; s++) {
        rows[s] = c->side[s].rows.domain->rank + 1;
        wide[s] = spl_wide(c->side[s].rows.domain);
        k->multiply(m->own[s], rows[s], wide[s], (size_t)wide[s], x[s], y[s]);
    }
    for (int32_t i = 0; i < wide[1]; i++) negative[i] = -x[1][i];
    k->multiply(m->other, rows[0], wide[1], (size_t)wide[1], negative, y[0]);
    for (int32_t i = 0; i < wide[0]; i++) negative[i] = -x[0][i];
    k->multiply_transposed(m->back, rows[0], wide[1], (size_t)wide[1], negative, y[1]);
}

/* f -= by (y + more); returns x . (y + 2 more). */
static double subtract(const spl_coupling_side *s, const double *y, const double *more, double by, const double *x,
                       double *f)
{
    int32_t rank = s->rows.domain->rank;
    double sum = 0;
    for (int32_t i = 0; i <= rank; i++) {
        double m = more ? more[i] : 0;
        sum += x[i] * (y[i] + 2 * m);
        if (i < rank) f[i] -= by * (y[i] + m);
    }
    return sum;
}

double spl_coupling_force(const spl_coupling *c, const spl_dense_kernels *kernels, double *const q[2],
                          double *const qd[2], double *const f[2], double *room)
{
    int32_t wide[2] = {spl_wide(c->side[0].rows.domain), spl_wide(c->side[1].rows.domain)};
    size_t most = (size_t)(wide[0] > wide[1] ? wide[0] : wide[1]);
    double *y[2] = {room, room + most}, *negative = room + 2 * most, energy = c->whole * c->apart;
    stencil spring = {{c->side[0].P, c->side[1].P}, c->W, c->W};
    memset(room, 0, 2 * most * sizeof *room);
    add_stencil(c, kernels, &spring, q, negative, y);
    for (int s = 0; s < 2; s++) energy += subtract(&c->side[s], y[s], c->side[s].offset, c->kappa, q[s], f[s]);
    if (!qd || !(c->kappa_d > 0)) return 0.5 * c->kappa * energy;
    memset(room, 0, 2 * most * sizeof *room);
    add_stencil(c, kernels, &spring, qd, negative, y);
    if (c->full) {
        stencil swept = {{c->side[0].Z, c->side[1].Z}, c->N[0], c->N[1]};
        add_stencil(c, kernels, &swept, q, negative, y);
    }
    for (int s = 0; s < 2; s++)
        subtract(&c->side[s], y[s], c->full ? c->side[s].dragged : NULL, c->kappa_d, qd[s], f[s]);
    return 0.5 * c->kappa * energy;
}
