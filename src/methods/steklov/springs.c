#include "methods/steklov/springs.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"

#include <string.h>

supple_result spl_springs_create(const spl_exrotated *system, spl_contacts *contacts, double factor, bool along,
                                 spl_springs *out, supple_error *error)
{
    const supple_allocator *a = &system->allocator;
    *out = (spl_springs){.allocator = *a, .system = system, .contacts = contacts, .factor = factor, .along = along};
    size_t capacity = contacts ? (size_t)spl_contacts_capacity(contacts) : 0;
    out->list = spl_new(a, capacity, sizeof *out->list);
    out->kept = spl_new(a, 2 * (size_t)system->solid->elements.vertex_count, sizeof *out->kept);
    out->extra = spl_new(a, contacts ? (size_t)system->order.count : 0, 9 * sizeof *out->extra);
    if (out->list && out->kept && out->extra) return SUPPLE_OK;
    spl_springs_release(out);
    return spl_fail_memory(error, "the contacts' springs");
}

void spl_springs_release(spl_springs *s)
{
    if (!s->allocator.release) return;
    spl_free(&s->allocator, s->list);
    spl_free(&s->allocator, s->kept);
    spl_free(&s->allocator, s->extra);
    *s = (spl_springs){0};
}

void spl_springs_begin(spl_springs *s)
{
    s->count = s->found = s->set_count = s->cycles = 0;
    s->same = s->unite = false;
    if (s->contacts) memset(s->kept, 0, 2 * (size_t)s->system->solid->elements.vertex_count * sizeof *s->kept);
}

/* ---- making them ---- */

static spl_contact_spring spring_of(const spl_springs *s, const spl_contact *c)
{
    spl_contact_spring out = {.vertex = c->vertex,
                              .target = c->target,
                              .normal = c->normal,
                              .stiffness = s->factor * s->system->stiffness[c->vertex],
                              .along = s->along};
    memcpy(out.corner, c->corner, sizeof out.corner);
    memcpy(out.bary, c->bary, sizeof out.bary);
    return out;
}

/* Unilateral: a pair that merely rests nearby pulls nobody, unless a cycle has been seen. */
static bool is_active(spl_springs *s, const spl_contact *c)
{
    bool *kept = &s->kept[2 * (size_t)c->vertex + (c->corner[0] < 0)];
    if (c->depth > 0) *kept = true;
    return c->depth > 0 || (s->unite && *kept);
}

static void make_list(spl_springs *s)
{
    const spl_contact *c = spl_contacts_list(s->contacts, &s->found);
    s->count = 0;
    for (int32_t i = 0; i < s->found; i++)
        if (is_active(s, &c[i])) s->list[s->count++] = spring_of(s, &c[i]);
}

/* A set is known by its vertices and whether each touches the body or the world. */
static uint64_t hash_of(const spl_springs *s)
{
    uint64_t h = 0x9e3779b97f4a7c15U ^ (uint64_t)s->count;
    for (int32_t i = 0; i < s->count; i++) {
        h ^= 2 * (uint64_t)s->list[i].vertex + (s->list[i].corner[0] < 0);
        h *= 0xff51afd7ed558ccdU;
        h ^= h >> 32;
    }
    return h;
}

/* A set that was there before, but not last, is a cycle: from then on what was active stays so. */
static void remember_set(spl_springs *s)
{
    uint64_t h = hash_of(s);
    s->same = s->set_count > 0 && s->set[s->set_count - 1] == h;
    for (int32_t i = 0; !s->same && i < s->set_count - 1; i++)
        if (s->set[i] == h) {
            s->cycles++;
            s->unite = true;
            break;
        }
    if (s->set_count == SPL_SETS) memmove(s->set, s->set + 1, (size_t)(--s->set_count) * sizeof *s->set);
    s->set[s->set_count++] = h;
}

void spl_springs_find(spl_springs *s, const double *x)
{
    if (!s->contacts) {
        s->same = true;
        return;
    }
    spl_contacts_find(s->contacts, x, s->system->pool);
    make_list(s);
    remember_set(s);
}

void spl_springs_refresh(spl_springs *s, const double *x)
{
    for (int32_t i = 0; i < s->count; i++) {
        spl_contact_spring *p = &s->list[i];
        if (p->corner[0] < 0) continue;
        spl_vec3 t = spl_v3(0, 0, 0);
        for (int q = 0; q < 3; q++) {
            const double *y = x + 3 * (size_t)p->corner[q];
            t = spl_madd(t, spl_v3(y[0], y[1], y[2]), p->bary[q]);
        }
        p->target = t;
    }
}

/* ---- what they do ---- */

/* The gap of a spring in a vector by node: x_v - sum_q b_q x_q, where held vertices count as 0. */
static spl_vec3 gap(const spl_springs *s, const spl_contact_spring *p, int32_t first, const double *x)
{
    const int32_t *node = s->system->order.node;
    const double *v = x + 3 * (size_t)(node[p->vertex] - first);
    spl_vec3 d = spl_v3(v[0], v[1], v[2]);
    for (int q = 0; q < 3 && p->corner[0] >= 0; q++) {
        if (node[p->corner[q]] < 0) continue;
        const double *y = x + 3 * (size_t)(node[p->corner[q]] - first);
        d = spl_madd(d, spl_v3(y[0], y[1], y[2]), -p->bary[q]);
    }
    return p->along ? spl_scale(p->normal, spl_dot(d, p->normal)) : d;
}

/* Adds f to the vertex and the opposite to the corners. */
static void spread(const spl_springs *s, const spl_contact_spring *p, int32_t first, spl_vec3 f, double *out)
{
    const int32_t *node = s->system->order.node;
    double *v = out + 3 * (size_t)(node[p->vertex] - first);
    v[0] += f.x;
    v[1] += f.y;
    v[2] += f.z;
    for (int q = 0; q < 3 && p->corner[0] >= 0; q++) {
        if (node[p->corner[q]] < 0) continue;
        double *y = out + 3 * (size_t)(node[p->corner[q]] - first), b = p->bary[q];
        y[0] -= b * f.x;
        y[1] -= b * f.y;
        y[2] -= b * f.z;
    }
}

void spl_springs_pull(const spl_springs *s, const double *x, int32_t first, double *force)
{
    for (int32_t i = 0; i < s->count; i++) {
        const spl_contact_spring *p = &s->list[i];
        const double *v = x + 3 * (size_t)p->vertex;
        spl_vec3 d = spl_sub(spl_v3(v[0], v[1], v[2]), p->target);
        if (p->along) d = spl_scale(p->normal, spl_dot(d, p->normal));
        spread(s, p, first, spl_scale(d, -p->stiffness), force);
    }
}

void spl_springs_multiply(const spl_springs *s, int32_t first, const double *x, double *y)
{
    for (int32_t i = 0; i < s->count; i++)
        spread(s, &s->list[i], first, spl_scale(gap(s, &s->list[i], first, x), s->list[i].stiffness), y);
}

/* E += k R^T (I or n n^T) R */
static void add_block(const double *R, const spl_contact_spring *p, double k, double *E)
{
    if (!p->along) {
        for (int i = 0; i < 9; i += 4) E[i] += k;
        return;
    }
    double n[3];
    for (int c = 0; c < 3; c++) n[c] = R[3 * c] * p->normal.x + R[3 * c + 1] * p->normal.y + R[3 * c + 2] * p->normal.z;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) E[3 * c + r] += k * n[r] * n[c];
}

void spl_springs_set_extra(spl_springs *s)
{
    const spl_exrotated *e = s->system;
    if (!s->contacts) return;
    memset(s->extra, 0, 9 * (size_t)e->order.count * sizeof *s->extra);
    for (int32_t i = 0; i < s->count; i++) {
        const spl_contact_spring *p = &s->list[i];
        size_t v = (size_t)e->order.node[p->vertex];
        add_block(e->turn + 9 * v, p, p->stiffness, s->extra + 9 * v);
        for (int q = 0; q < 3 && p->corner[0] >= 0; q++) {
            if (e->order.node[p->corner[q]] < 0) continue;
            size_t c = (size_t)e->order.node[p->corner[q]];
            add_block(e->turn + 9 * c, p, p->stiffness * p->bary[q] * p->bary[q], s->extra + 9 * c);
        }
    }
}
