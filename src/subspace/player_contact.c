/* Colliders in a step. Contacts are found once, where the step starts from; their forces are as implicit as elastic
 * ones.
 *
 * Trapezoidal Newmark throws flesh back from a stiff contact, and carries the blow on as an acceleration that
 * alternates in sign. So domains that colliders touch are integrated by backward Euler, which is without bounce in the
 * stiff limit: what comes back is the flesh's own elasticity. Both find the same equilibria, so they live side by side.
 * (Tried and rejected: backward Euler for the force of contacts alone, beside trapezoidal elastic forces: under a
 * steady load the two do not cancel in q and qd at once, and a stiff contact gains energy until the flesh flies apart.)
 */
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

bool spl_player_touched(const spl_player *p, int32_t domain)
{
    return p->press && p->press[domain].count > 0 && p->input->dt > 0;
}

void spl_player_add_contacts(spl_player *p, const double *q, spl_balance *out)
{
    out->pressed = 0;
    for (int32_t i = 0; p->press && i < p->count; i++)
        out->pressed += spl_press_force(&p->press[i], p->kernels, q + p->at[i], out->elastic + p->blocks.offset[i]);
    out->energy += out->pressed;
}

void spl_player_end_contacts(spl_player *p)
{
    if (!p->press || !p->input->colliders) return;
    double start = spl_now_ms();
    for (int32_t i = 0; i < p->count; i++) {
        spl_press *press = &p->press[i];
        double *f = p->acting + p->blocks.offset[i]; /* zero, and left so */
        p->stats.dropped += press->dropped;
        spl_press_force(press, p->kernels, p->q + p->at[i], f);
        memset(f, 0, (size_t)press->pad * sizeof *f);
        for (int32_t k = 0; k < press->count; k++) p->stats.contacts += press->depth[k] > 0;
        spl_press_query y = query_of(p, (size_t)i, 0);
        p->stats.penetration = fmax(p->stats.penetration, spl_press_deepest(&p->press[i], &y));
    }
    p->stats.ms_contact += spl_now_ms() - start;
}
