#include "methods/projective/touch.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

supple_result spl_touch_create(const spl_contacts *contacts, spl_touch_form form, const supple_allocator *a,
                               spl_touch *out, supple_error *error)
{
    int32_t most = spl_contacts_capacity(contacts);
    *out = (spl_touch){.allocator = *a,
                       .form = form,
                       .reach = spl_contact_options_default().keep * spl_contacts_edge(contacts),
                       .capacity = form == SPL_TOUCH_EDGES ? 3 * most : most};
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
static spl_tie press(const spl_contact *c, double k, double most, bool sided)
{
    bool world = c->corner[0] < 0;
    double left = c->depth > 0 ? fmin(most - c->depth, 0) : sided ? 0 : -c->depth; /* how deep, or off, it stays */
    if (!world) left += c->offset;
    spl_tie t = {.vertex = {c->vertex, c->corner[0], c->corner[1], c->corner[2]},
                 .coefficient = {1, -c->bary[0], -c->bary[1], -c->bary[2]},
                 .offset = spl_madd(world ? c->target : spl_v3(0, 0, 0), c->normal, left),
                 .normal = c->normal,
                 .stiffness = k,
                 .sided = sided};
    return t;
}

/* The vertex against one corner, as far from it as the touching point is: the paper's edge constraints. */
static spl_tie edge(const spl_contact *c, int corner, double k, double most, const double *x)
{
    spl_vec3 target = spl_madd(c->target, c->normal, c->depth > 0 ? fmin(most - c->depth, 0) : -c->depth);
    return (spl_tie){.vertex = {c->vertex, c->corner[corner], -1, -1},
                     .coefficient = {1, -1, 0, 0},
                     .offset = spl_sub(target, point_of(x, c->corner[corner])),
                     .normal = c->normal,
                     .stiffness = k / 3};
}

/* Near, but not in: in motion such a pair is slowed down where it is, less the farther it is off, so that forces do not
 * come and go with every step that it takes in and out. At rest nothing holds it. */
static double nearness(const spl_touch *t, const spl_contact *c, double most)
{
    if (c->depth > 0) return 1;
    return isfinite(most) && t->reach > 0 ? fmax(1 + c->depth / t->reach, 0) : 0;
}

static void add_contact(spl_touch *t, const spl_contact *c, double k, double most, const double *x)
{
    bool slide = t->form == SPL_TOUCH_SLIDE || c->corner[0] < 0; /* nothing in the world sticks */
    if (!slide) k *= nearness(t, c, most);
    if (k <= 0) return;
    if (t->form == SPL_TOUCH_EDGES && c->corner[0] >= 0)
        for (int i = 0; i < 3; i++) t->tie[t->tie_count++] = edge(c, i, k, most, x);
    else
        t->tie[t->tie_count++] = press(c, k, most, slide);
}

bool spl_touch_find(spl_touch *t, spl_contacts *contacts, const spl_pd *pd, double stiffness, double most,
                    const double *x, spl_pool *pool)
{
    int64_t *pairs = t->last;
    t->last = t->pair;
    t->last_count = t->contact_count;
    t->pair = pairs;
    t->tie_count = 0;
    t->depth = 0;
    t->contact_count = spl_contacts_find(contacts, x, pool);
    int32_t count;
    const spl_contact *list = spl_contacts_list(contacts, &count);
    for (int32_t i = 0; i < t->contact_count; i++) {
        t->depth = fmax(t->depth, list[i].depth);
        t->pair[i] = (int64_t)list[i].vertex << 32 | (int64_t)(list[i].partner * 2 + (list[i].corner[0] < 0));
        add_contact(t, &list[i], list[i].share * stiffness * spl_pd_diagonal(pd, list[i].vertex), most, x);
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
        spl_vec3 rest = tie->offset;
        if (tie->sided) rest = spl_scale(tie->normal, spl_dot(rest, tie->normal));
        const double offset[3] = {rest.x, rest.y, rest.z};
        for (size_t c = 0; c < 3; c++) { /* -k (x_v - sum b x_c - offset), and the opposite */
            force[3 * (size_t)tie->vertex[0] + c] += tie->stiffness * offset[c];
            for (int k = 0; k < 3; k++) force[3 * (size_t)s->corner[k] + c] -= tie->stiffness * s->bary[k] * offset[c];
        }
    }
}

void spl_touch_damp(const spl_touch *t, const double *x, const double *bones, double keep, bool all, double *velocity)
{
    for (int32_t i = 0; i < t->tie_count; i++) {
        const spl_tie *tie = &t->tie[i];
        spl_vec3 d = spl_tie_gap(tie, x, 3);
        if (spl_dot(d, d) == 0) continue;
        for (int v = 0; v < (all ? 4 : 1) && tie->vertex[v] >= 0; v++) {
            double kept = pow(keep, fmin(fabs(tie->coefficient[v]), 1));
            for (size_t at = 3 * (size_t)tie->vertex[v], c = 0; c < 3; c++, at++)
                velocity[at] = bones[at] + kept * (velocity[at] - bones[at]);
        }
    }
}
