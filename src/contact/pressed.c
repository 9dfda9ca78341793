#include "contact/pressed.h"

#include "contact/barrier_private.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

static const double BEYOND = 0.3;   /* of the barrier's width: what bounded moves leave is 0.25 */
static const double GAIN = 0.5;     /* of what a spring leaves; 1 and 0.3 settle less often */
static const double FRICTION = 0.5; /* of what presses; without, contacts creep and change by turns */

enum { IDLE = 15 }; /* steps: what opens is slowed for that long, while near, so that contacts do not come and go */

void spl_pressed_create(const spl_barrier *b, const supple_allocator *a, spl_pressed *out)
{
    *out = (spl_pressed){.allocator = *a, .barrier = b};
}

void spl_pressed_release(spl_pressed *p)
{
    if (p->allocator.release) spl_free(&p->allocator, p->press);
    *p = (spl_pressed){0};
}

void spl_pressed_forget(spl_pressed *p)
{
    p->count = 0;
}

/* ---- which ---- */

/* The first that does not come before the pair. */
static int32_t place_of(const spl_pressed *p, const spl_pair *pair)
{
    int32_t low = 0, high = p->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (spl_pair_order(&p->press[middle].pair, pair) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool spl_pressed_note(spl_pressed *p, const spl_pair *pair)
{
    int32_t at = place_of(p, pair);
    if (at < p->count && spl_pair_order(&p->press[at].pair, pair) == 0) {
        p->press[at].idle = 0;
        return true;
    }
    if (p->count == p->room) {
        int32_t room = 2 * p->room + 64;
        spl_pressed_pair *more = spl_resize(&p->allocator, p->press, (size_t)room, sizeof *more);
        if (!more) return false;
        p->press = more;
        p->room = room;
    }
    memmove(p->press + at + 1, p->press + at, (size_t)(p->count - at) * sizeof *p->press);
    p->press[at] = (spl_pressed_pair){.pair = *pair};
    p->count++;
    return true;
}

/* ---- where ---- */

static bool place(const spl_pressed *p, spl_pressed_pair *q, const double *x)
{
    double corner[4][3], r[3] = {0};
    if (q->idle > IDLE || spl_barrier_refuse(p->barrier, &q->pair)) return false;
    spl_potential of = spl_barrier_potential(p->barrier, &q->pair, x);
    spl_barrier_corners(&q->pair, x, corner);
    spl_nearest near = spl_pair_nearest((spl_pair_kind)q->pair.kind, corner);
    double distance = sqrt(near.square);
    if (!(of.width > 0) || !(distance > 0)) return false;
    for (int k = 0; k < 12; k++) r[k % 3] += near.w[k / 3] * corner[k / 3][k % 3] / distance;
    if (!q->sticks) memcpy(q->w, near.w, sizeof q->w);
    q->normal = spl_v3(r[0], r[1], r[2]);
    q->apart = of.offset + BEYOND * of.width;
    q->placed = true;
    return q->push > 0 || q->idle == 0 || distance < q->apart + of.width;
}

void spl_pressed_place(spl_pressed *p, const double *x)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < p->count; i++) {
        spl_pressed_pair q = p->press[i];
        if (place(p, &q, x)) p->press[kept++] = q;
    }
    p->count = kept;
}

void spl_pressed_learn(spl_pressed *p, const double *x, double most)
{
    for (int32_t i = 0; i < p->count; i++) {
        spl_pressed_pair *q = &p->press[i];
        if (!q->placed) continue;
        spl_vec3 r = spl_v3(0, 0, 0);
        for (int k = 0; k < 4; k++) {
            const double *at = x + 3 * (size_t)q->pair.v[k];
            r = spl_madd(r, spl_v3(at[0], at[1], at[2]), q->w[k]);
        }
        double along = spl_dot(r, q->normal);
        q->push = fmin(fmax(q->push + GAIN * (q->apart - along), 0), most);
        q->sticks = spl_norm(spl_madd(r, q->normal, -along)) <= FRICTION * q->push;
        q->idle = q->push > 0 ? 0 : q->idle + 1;
    }
}
