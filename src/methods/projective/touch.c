#include "methods/projective/touch.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

supple_result spl_touch_create(const spl_contacts *contacts, bool edges, const supple_allocator *a, spl_touch *out,
                               supple_error *error)
{
    int32_t most = spl_contacts_capacity(contacts);
    *out = (spl_touch){.allocator = *a, .edges = edges, .capacity = edges ? 3 * most : most};
    out->tie = spl_new(a, (size_t)out->capacity, sizeof *out->tie);
    out->spring = spl_new(a, (size_t)out->capacity, sizeof *out->spring);
    out->pair = spl_new(a, (size_t)most, sizeof *out->pair);
    out->last = spl_new(a, (size_t)most, sizeof *out->last);
    if (out->tie && out->spring && out->pair && out->last) return SUPPLE_OK;
    spl_touch_release(out);
    return spl_fail_memory(error, "the contacts");
}

void spl_touch_release(spl_touch *t)
{
    if (!t->allocator.release) return;
    void *blocks[] = {t->tie, t->spring, t->pair, t->last};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&t->allocator, blocks[i]);
    *t = (spl_touch){0};
}

static spl_vec3 point_of(const double *x, int32_t v)
{
    return spl_v3(x[3 * (size_t)v], x[3 * (size_t)v + 1], x[3 * (size_t)v + 2]);
}

/* The vertex against the touching point, which moves with its triangle; or against a point of the world. */
static spl_tie press(const spl_contact *c, double k)
{
    bool world = c->corner[0] < 0;
    spl_tie t = {.vertex = {c->vertex, c->corner[0], c->corner[1], c->corner[2]},
                 .coefficient = {1, -c->bary[0], -c->bary[1], -c->bary[2]},
                 .offset = world ? c->target : spl_v3(0, 0, 0),
                 .normal = c->normal,
                 .stiffness = k,
                 .sided = true};
    return t;
}

/* The vertex against one corner, as far from it as the touching point is: the paper's edge constraints. */
static spl_tie edge(const spl_contact *c, int corner, double k, const double *x)
{
    return (spl_tie){.vertex = {c->vertex, c->corner[corner], -1, -1},
                     .coefficient = {1, -1, 0, 0},
                     .offset = spl_sub(c->target, point_of(x, c->corner[corner])),
                     .normal = c->normal,
                     .stiffness = k / 3};
}

static void add_contact(spl_touch *t, const spl_contact *c, double k, const double *x)
{
    if (!t->edges || c->corner[0] < 0) {
        t->tie[t->tie_count++] = press(c, k);
        return;
    }
    if (c->depth < 0) return; /* springs would pull it back */
    for (int i = 0; i < 3; i++) t->tie[t->tie_count++] = edge(c, i, k, x);
}

bool spl_touch_find(spl_touch *t, spl_contacts *contacts, const spl_pd *pd, double stiffness, const double *x,
                    spl_pool *pool)
{
    int64_t *pairs = t->last;
    t->last = t->pair;
    t->last_count = t->contact_count;
    t->pair = pairs;
    t->tie_count = 0;
    t->contact_count = spl_contacts_find(contacts, x, pool);
    int32_t count;
    const spl_contact *list = spl_contacts_list(contacts, &count);
    for (int32_t i = 0; i < t->contact_count; i++) {
        t->pair[i] = (int64_t)list[i].vertex << 32 | (int64_t)(list[i].partner * 2 + (list[i].corner[0] < 0));
        add_contact(t, &list[i], stiffness * spl_pd_diagonal(pd, list[i].vertex), x);
    }
    return t->contact_count == t->last_count &&
           memcmp(t->pair, t->last, (size_t)t->contact_count * sizeof *t->pair) == 0;
}

/* A tie as a row of --dump-sim. */
static spl_contact_spring spring_of(const spl_tie *t)
{
    spl_contact_spring s = {.vertex = t->vertex[0], .normal = t->normal, .stiffness = t->stiffness, .along = t->sided};
    for (int i = 0; i < 3; i++) {
        s.corner[i] = t->vertex[1] < 0 ? -1 : t->vertex[i + 1] < 0 ? t->vertex[1] : t->vertex[i + 1];
        s.bary[i] = -t->coefficient[i + 1];
    }
    s.target = t->offset;
    return s;
}

void spl_touch_springs(spl_touch *t, const double *x, double *force)
{
    t->spring_count = 0;
    for (int32_t i = 0; i < t->tie_count; i++) {
        const spl_tie *tie = &t->tie[i];
        spl_vec3 d = spl_tie_gap(tie, x, 3);
        if (spl_dot(d, d) == 0) continue; /* does not act */
        spl_contact_spring *s = &t->spring[t->spring_count++];
        *s = spring_of(tie);
        if (tie->vertex[1] < 0) continue;
        s->target = spl_v3(0, 0, 0);
        for (int k = 0; k < 3; k++) s->target = spl_madd(s->target, point_of(x, s->corner[k]), s->bary[k]);
        const double offset[3] = {tie->offset.x, tie->offset.y, tie->offset.z};
        for (size_t c = 0; c < 3; c++) { /* edges: -k (x_v - x_c - offset) */
            force[3 * (size_t)tie->vertex[0] + c] += tie->stiffness * offset[c];
            force[3 * (size_t)tie->vertex[1] + c] -= tie->stiffness * offset[c];
        }
    }
}
