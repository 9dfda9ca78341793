#include "core/timer.h"
#include "subspace/player_private.h"

#include <math.h>
#include <string.h>

/* Backward Euler, where colliders touch a domain. */
static void euler_rates(spl_player *p, int32_t i, const double *q)
{
    double h = p->input->dt;
    for (size_t k = p->at[i], end = k + (size_t)p->set[i].rank; k < end; k++) {
        p->qd[k] = (q[k] - p->q_n[k]) / h;
        p->qdd[k] = (p->qd[k] - p->qd_n[k]) / h;
    }
}

void spl_player_rates(spl_player *p, const double *q)
{
    spl_newmark n = spl_player_newmark(p);
    double h = p->input->dt, b = n.beta, g = n.gamma;
    if (!(h > 0)) {
        memset(p->qd, 0, p->at[p->count] * sizeof *p->qd);
        memset(p->qdd, 0, p->at[p->count] * sizeof *p->qdd);
        return;
    }
    for (int32_t i = 0; i < p->count; i++) {
        if (spl_player_touched(p, i)) {
            euler_rates(p, i, q);
            continue;
        }
        for (size_t k = p->at[i], end = k + (size_t)p->set[i].rank; k < end; k++) {
            p->qdd[k] = (q[k] - p->q_n[k]) / (b * h * h) - p->qd_n[k] / (b * h) - (0.5 / b - 1) * p->qdd_n[k];
            p->qd[k] = p->qd_n[k] + h * ((1 - g) * p->qdd_n[k] + g * p->qdd[k]);
        }
    }
}

/* ---- tables -------------------------------------------------------------------------------------------------------
 */

static void pose_interfaces(void *context, size_t begin, size_t end)
{
    spl_player *p = context;
    for (size_t k = begin; k < end; k++) {
        spl_coupling *c = &p->coupling[k];
        spl_coupling_pose(c, p->kernels, &p->frame[c->domain[0]], &p->frame[c->domain[1]]);
    }
}

static void pose_domains(void *context, size_t begin, size_t end)
{
    spl_player *p = context;
    const spl_player_input *in = p->input;
    for (size_t i = begin; i < end; i++) {
        spl_rigid_pose(&p->rigid[i], p->kernels, &p->frame[i], in->gravity, in->dt > 0);
        spl_element_set_pose(&p->set[i], &in->frame[i].R, in->frame[i].t, in->held);
    }
}

/* What a frame's motion would do to a domain within a step, over what is let through: a throw by a quarter of the
 * body's size, a turn by a radian. */
static double violence(const spl_player *p, const spl_frame_motion *f)
{
    double h = p->input->dt, thrown = spl_norm(f->a) * h * h / (0.25 * p->extent);
    return fmax(thrown, fmax(spl_norm(f->alpha) * h * h, spl_norm(f->omega) * h));
}

/* Motions beyond that are held to it. Where one is four times as much it is a cut of the film, not a motion: no frame
 * moves in that step. (By the size of the domain this would stop hands: at 30 frames a second a brisk one is thrown by
 * a quarter of its own size.) */
static void limit(spl_player *p)
{
    double most = 0;
    for (int32_t i = 0; i < p->count; i++) {
        double v = violence(p, &p->frame[i]);
        if (!(v <= most)) most = v;
        if (!(v < 4)) break; /* NaN too */
    }
    for (int32_t i = 0; i < p->count && !(most <= 1); i++) {
        spl_frame_motion *f = &p->frame[i];
        double s = most < 4 ? 1 / fmax(1, violence(p, f)) : 0;
        if (!(s > 0)) f->v = f->a = f->omega = f->alpha = spl_v3(0, 0, 0);
        f->a = spl_scale(f->a, s);
        f->alpha = spl_scale(f->alpha, s);
        f->omega = spl_scale(f->omega, s);
    }
}

void spl_player_pose(spl_player *p)
{
    for (int32_t i = 0; i < p->count; i++) p->frame[i] = spl_frame_centred(&p->input->frame[i], p->centre[i]);
    limit(p);
    double start = spl_now_ms();
    spl_parallel_for(p->pool, (size_t)p->model->interface_count, 1, pose_interfaces, p);
    p->stats.ms_coupling += spl_now_ms() - start;
    spl_parallel_for(p->pool, (size_t)p->count, 1, pose_domains, p);
}

/* ---- forces -------------------------------------------------------------------------------------------------------
 */

typedef struct elastic_work {
    spl_player *p;
    const double *q;
} elastic_work;

static void elastic_pieces(void *context, size_t begin, size_t end)
{
    elastic_work *w = context;
    spl_player *p = w->p;
    for (size_t k = begin; k < end; k++) {
        spl_piece *piece = &p->piece[k];
        spl_element_set *set = &p->set[piece->domain];
        memset(piece->f, 0, (size_t)set->pad * sizeof *piece->f);
        piece->energy =
            spl_element_set_force(set, p->kernels, w->q + p->at[piece->domain], piece->begin, piece->end, piece->f);
    }
}

static void elastic_forces(spl_player *p, const double *q, spl_balance *out)
{
    elastic_work w = {p, q};
    double start = spl_now_ms();
    spl_parallel_for(p->pool, (size_t)p->piece_count, 1, elastic_pieces, &w);
    memset(out->elastic, 0, p->blocks.offset[p->count] * sizeof *out->elastic);
    out->energy = 0;
    for (int32_t k = 0; k < p->piece_count; k++) {
        const spl_piece *piece = &p->piece[k];
        double *f = out->elastic + p->blocks.offset[piece->domain];
        for (int32_t i = 0; i < p->set[piece->domain].pad; i++) f[i] += piece->f[i];
        out->energy += piece->energy;
    }
    p->stats.ms_cubature += spl_now_ms() - start;
}

double spl_player_over(const spl_player *p, int32_t i, int32_t k, double q, double *stiffness)
{
    const double *reach = p->model->domain[i].reach;
    *stiffness = 10 * (p->rest[i][k * (p->set[i].pad + 1)] + 10 * p->model->lowest);
    *stiffness += 10 * spl_player_pressing(p, i, k);
    if (!reach || !(reach[k] > 0) || fabs(q) <= 8 * reach[k]) return 0;
    return q > 0 ? q - 8 * reach[k] : q + 8 * reach[k];
}

/* What holds coordinates back that are far outside the training. */
static void add_guard(const spl_player *p, const double *q, spl_balance *out)
{
    for (int32_t i = 0; i < p->count; i++)
        for (int32_t k = 0; k < p->set[i].rank; k++) {
            double stiffness, over = spl_player_over(p, i, k, q[p->at[i] + (size_t)k], &stiffness);
            out->elastic[p->blocks.offset[i] + (size_t)k] -= stiffness * over;
            out->energy += 0.5 * stiffness * over * over;
        }
}

/* The padded vector's length is added up; the vector goes into `sum` and becomes 0. */
static double collect(const spl_player *p, double *f, double *sum)
{
    double square = 0;
    for (size_t k = 0; k < p->blocks.offset[p->count]; k++) {
        square += f[k] * f[k];
        sum[k] += f[k];
        f[k] = 0;
    }
    return sqrt(square);
}

/* -qdd - C qd; of the steps' accelerations as Wood, Bossak and Zienkiewicz weigh them. */
static void add_inertia(spl_player *p, double *f)
{
    for (int32_t i = 0; i < p->count; i++) {
        const double *qd = p->qd + p->at[i], *qdd = p->qdd + p->at[i], *last = p->qdd_n + p->at[i];
        double before = spl_player_touched(p, (int32_t)i) || !(p->input->dt > 0) ? 0 : spl_player_newmark(p).before;
        double *to = f + p->blocks.offset[i];
        int32_t rank = p->set[i].rank, pad = p->set[i].pad;
        for (int32_t k = 0; k < rank; k++) to[k] -= (1 - before) * qdd[k] + before * last[k] + p->options.alpha * qd[k];
        if (!(p->options.beta > 0)) continue;
        memset(p->room, 0, (size_t)pad * sizeof *p->room);
        p->kernels->multiply(p->rest[i], rank, pad, (size_t)pad, qd, p->room);
        for (int32_t k = 0; k < rank; k++) to[k] -= p->options.beta * p->room[k];
    }
}

static void add_outside(spl_player *p, const double *q, double *f)
{
    const double *more = p->input->force;
    for (int32_t i = 0; i < p->count; i++) {
        double *to = f + p->blocks.offset[i];
        spl_rigid_force(&p->rigid[i], p->kernels, p->input->dt > 0, q + p->at[i], p->qd + p->at[i], to);
        for (int32_t k = 0; more && k < p->set[i].rank; k++) to[k] += *more++;
    }
}

/* The velocities that an interface's damping sees. Where one side is integrated by backward Euler, both are taken so:
 * else the Jacobian would not be symmetric. */
static void coupling_rates(spl_player *p, const spl_coupling *c, const double *q, double *out[2])
{
    bool euler = spl_player_touched(p, c->domain[0]) || spl_player_touched(p, c->domain[1]);
    for (int s = 0; s < 2; s++) {
        int32_t i = c->domain[s];
        out[s] = p->qd + p->at[i];
        if (!euler || spl_player_touched(p, i)) continue;
        out[s] = p->drift;
        memcpy(p->drift, p->qd + p->at[i], (p->at[i + 1] - p->at[i]) * sizeof *p->drift);
        for (int32_t k = 0; k < p->set[i].rank; k++)
            p->drift[k] = (q[p->at[i] + (size_t)k] - p->q_n[p->at[i] + (size_t)k]) / p->input->dt;
    }
}

static double add_coupling(spl_player *p, double *q, double *f)
{
    double start = spl_now_ms(), energy = 0;
    for (int32_t k = 0; k < p->model->interface_count; k++) {
        const spl_coupling *c = &p->coupling[k];
        size_t i = (size_t)c->domain[0], j = (size_t)c->domain[1];
        double *const qs[2] = {q + p->at[i], q + p->at[j]}, *qds[2];
        coupling_rates(p, c, q, qds);
        double *const fs[2] = {f + p->blocks.offset[i], f + p->blocks.offset[j]};
        energy += spl_coupling_force(c, p->kernels, qs, p->input->dt > 0 ? qds : NULL, fs, p->room);
    }
    p->stats.ms_coupling += spl_now_ms() - start;
    return energy;
}

void spl_player_balance(spl_player *p, const double *q, spl_balance *out)
{
    double scale = 0, square = 0;
    spl_player_rates(p, q);
    elastic_forces(p, q, out);
    add_guard(p, q, out);
    spl_player_add_contacts(p, q, out);
    memset(out->linear, 0, p->blocks.offset[p->count] * sizeof *out->linear);
    add_inertia(p, p->acting);
    scale += collect(p, p->acting, out->linear);
    add_outside(p, q, p->acting);
    scale += collect(p, p->acting, out->linear);
    out->springs = add_coupling(p, (double *)q, p->acting);
    scale += collect(p, p->acting, out->linear);
    double elastic = 0;
    for (size_t k = 0; k < p->blocks.offset[p->count]; k++) {
        double f = out->linear[k] + out->elastic[k];
        elastic += out->elastic[k] * out->elastic[k];
        square += f * f;
    }
    out->residual = sqrt(square) / (scale + sqrt(elastic) + p->floor);
    out->finite = isfinite(square) && isfinite(out->energy);
}
