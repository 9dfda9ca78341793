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

static supple_result make_clash(spl_player *p, supple_error *error)
{
    const spl_model *m = p->model;
    const spl_player *like = p->options.like;
    double stiffness = p->options.clash * m->young / m->edge;
    bool shares = like && like->clash && like->options.clash == p->options.clash;
    int32_t n = m->interface_count, *pair = spl_new(&p->allocator, 2 * (size_t)n, sizeof *pair);
    p->clash = spl_new(&p->allocator, 1, sizeof *p->clash);
    supple_result result = pair && p->clash ? SUPPLE_OK : spl_fail_memory(error, "the contacts");
    for (int32_t k = 0; result == SUPPLE_OK && k < n; k++)
        pair[2 * k] = m->interface[k].i, pair[2 * k + 1] = m->interface[k].j;
    if (result == SUPPLE_OK) result = spl_blocks_reserve(&p->blocks, pair, n, error);
    spl_free(&p->allocator, pair);
    if (result != SUPPLE_OK) return result;
    return spl_clash_create(m, p->rest, stiffness, p->options.clash_most, shares ? like->clash : NULL, &p->allocator,
                            p->clash, error);
}

static supple_result make_press(spl_player *p, supple_error *error)
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

supple_result spl_player_make_contacts(spl_player *p, supple_error *error)
{
    supple_result result = p->options.contact > 0 ? make_press(p, error) : SUPPLE_OK;
    return result == SUPPLE_OK && p->options.clash > 0 ? make_clash(p, error) : result;
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

/* The system for the pairs of domains that meet, if they are not those that it is arranged for. Where there is no room
 * for them none is answered. */
static void find_clashes(spl_player *p)
{
    spl_clash *c = p->clash;
    spl_clash_query y = {p->kernels, p->input->frame, p->q, p->at, p->input->held};
    spl_clash_find(c, &y);
    bool same = c->meet_count == c->pair_count;
    for (int32_t k = 0; k < c->pair_count; k++) {
        int32_t *meet = c->meets + 2 * (size_t)k;
        same = same && meet[0] == c->pair[k].low && meet[1] == c->pair[k].high;
        meet[0] = c->pair[k].low;
        meet[1] = c->pair[k].high;
    }
    c->meet_count = c->pair_count;
    if (same || spl_blocks_arrange(&p->blocks, c->meets, c->pair_count)) return;
    c->dropped += c->count;
    c->count = c->pair_count = c->meet_count = 0;
    memset(c->touched, 0, (size_t)p->count * sizeof *c->touched);
}

void spl_player_find_contacts(spl_player *p)
{
    double start = spl_now_ms();
    if (p->press && p->input->colliders) spl_parallel_for(p->pool, (size_t)p->count, 1, find_domains, p);
    for (int32_t i = 0; p->press && !p->input->colliders && i < p->count; i++)
        p->press[i].count = p->press[i].dropped = 0;
    if (p->clash) find_clashes(p);
    if (p->press || p->clash) p->stats.ms_contact += spl_now_ms() - start;
}

bool spl_player_touched(const spl_player *p, int32_t domain)
{
    bool pressed = p->press && p->press[domain].count > 0;
    return (pressed || (p->clash && p->clash->touched[domain])) && p->input->dt > 0;
}

double spl_player_pressing(const spl_player *p, int32_t domain, int32_t k)
{
    double sum = p->press && p->press[domain].count > 0 ? p->press[domain].diagonal[k] : 0;
    return sum + (p->clash ? p->clash->diagonal[(size_t)domain * (size_t)p->clash->wide + (size_t)k] : 0);
}

void spl_player_add_contacts(spl_player *p, const double *q, spl_balance *out)
{
    out->pressed = 0;
    for (int32_t i = 0; p->press && i < p->count; i++)
        out->pressed += spl_press_force(&p->press[i], p->kernels, q + p->at[i], out->elastic + p->blocks.offset[i]);
    if (p->clash) out->pressed += spl_clash_force(p->clash, p->kernels, q, p->at, p->blocks.offset, out->elastic);
    out->energy += out->pressed;
}

/* The depths are those of the last shape that was tried: of the step's own now. */
static void end_clashes(spl_player *p)
{
    spl_clash *c = p->clash;
    spl_clash_force(c, p->kernels, p->q, p->at, p->blocks.offset, p->acting);
    memset(p->acting, 0, p->blocks.offset[p->count] * sizeof *p->acting);
    p->stats.dropped += c->dropped;
    for (int32_t k = 0; k < c->count; k++) p->stats.clashes += c->depth[k] > 0;
}

void spl_player_end_contacts(spl_player *p)
{
    if (p->clash) end_clashes(p);
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
