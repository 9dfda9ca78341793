/* Colliders in a step. Contacts are found once, where the step starts from; their forces are as implicit as elastic
 * ones.
 *
 * Trapezoidal Newmark would throw flesh back from a stiff contact, and carry the blow on as an acceleration that
 * alternates in sign. So contacts are integrated by backward Euler, an impulse h f_c within a step of the rest,
 *
 *     q_n+1 = (Newmark without f_c) + h^2 f_c,        qd_n+1 = (Newmark without f_c) + h f_c,
 *
 * which is without bounce in the stiff limit: what comes back is the flesh's own elasticity. In the balance of qdd this
 * is the force f_c / b; at the end of the step it is taken out of qdd, and (g - b) h of it out of qd. */
#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "subspace/player_private.h"

#include <math.h>
#include <string.h>

/* Vertices nearer than this share of the mean edge may come to press within the step. */
static const double nearby = 0.5;

supple_result spl_player_make_contacts(spl_player *p, supple_error *error)
{
    const spl_model *m = p->model;
    double stiffness = p->options.contact * m->young / m->edge;
    p->press = spl_new(&p->allocator, (size_t)p->count, sizeof *p->press);
    if (!p->press) return spl_fail_memory(error, "the contacts");
    for (int32_t i = 0; i < p->count; i++) {
        supple_result result =
            spl_press_create(&m->domain[i], stiffness, p->options.contact_most, &p->allocator, &p->press[i], error);
        if (result != SUPPLE_OK) return result;
    }
    return SUPPLE_OK;
}

static spl_press_query query_of(const spl_player *p, size_t i, double reach)
{
    const spl_frame_motion *f = &p->input->frame[i];
    return (spl_press_query){p->kernels, p->input->colliders, f->R, f->t, p->q + p->at[i], reach};
}

static void find_domains(void *context, size_t begin, size_t end)
{
    spl_player *p = context;
    for (size_t i = begin; i < end; i++) {
        spl_press_query y = query_of(p, i, nearby * p->model->edge);
        spl_press_find(&p->press[i], &y);
    }
}

void spl_player_find_contacts(spl_player *p)
{
    if (!p->press) return;
    double start = spl_now_ms();
    if (p->input->colliders)
        spl_parallel_for(p->pool, (size_t)p->count, 1, find_domains, p);
    else
        for (int32_t i = 0; i < p->count; i++) p->press[i].count = p->press[i].dropped = 0;
    p->stats.ms_contact += spl_now_ms() - start;
}

double spl_player_contact_weight(const spl_player *p)
{
    return p->input->dt > 0 ? 1 / p->options.newmark_beta : 1;
}

void spl_player_add_contacts(spl_player *p, const double *q, spl_balance *out)
{
    double by = spl_player_contact_weight(p);
    out->pressed = 0;
    for (int32_t i = 0; p->press && i < p->count; i++)
        out->pressed += spl_press_force(&p->press[i], p->kernels, q + p->at[i], by, out->elastic + p->blocks.offset[i]);
    out->energy += out->pressed;
}

/* The impulse in place of the force of a domain's contacts. */
static void end_domain(spl_player *p, int32_t i)
{
    double h = p->input->dt, by = spl_player_contact_weight(p), *f = p->acting + p->blocks.offset[i];
    spl_press *press = &p->press[i];
    spl_press_force(press, p->kernels, p->q + p->at[i], by, f);
    for (int32_t k = 0; k < press->count; k++) p->stats.contacts += press->depth[k] > 0;
    for (int32_t k = 0; k < p->set[i].rank && h > 0; k++) {
        p->qdd[p->at[i] + (size_t)k] -= f[k];
        p->qd[p->at[i] + (size_t)k] -= (p->options.newmark_gamma - p->options.newmark_beta) * h * f[k];
    }
    memset(f, 0, (size_t)p->set[i].pad * sizeof *f);
}

void spl_player_end_contacts(spl_player *p)
{
    if (!p->press || !p->input->colliders) return;
    double start = spl_now_ms();
    for (int32_t i = 0; i < p->count; i++) {
        p->stats.dropped += p->press[i].dropped;
        if (p->press[i].count > 0) end_domain(p, i);
        spl_press_query y = query_of(p, (size_t)i, 0);
        p->stats.penetration = fmax(p->stats.penetration, spl_press_deepest(&p->press[i], &y));
    }
    p->stats.ms_contact += spl_now_ms() - start;
}
