#include "methods/mixed/touch.h"

#include "core/error.h"
#include "core/memory.h"

/* The mean eigenvalue of the diagonal blocks that a vertex's tets give it: the Laplacian's of precondition.c. */
static void add_diagonals(const spl_solid *s, double share, double *diagonal)
{
    const spl_elements *e = &s->elements;
    for (size_t k = 0; k < (size_t)e->count; k++) {
        double stiff = share * e->volume[k] * (4 * s->material.mu[k] + s->material.lambda[k]) / 3;
        for (size_t i = 0; i < 4; i++) {
            const double *g = e->gradient + 12 * k + 3 * i;
            diagonal[e->tet[4 * k + i]] += stiff * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        }
    }
}

supple_result spl_mixed_touch_create(const spl_solid *solid, const spl_contacts *contacts, double share,
                                     const supple_allocator *a, spl_mixed_touch *out, supple_error *error)
{
    size_t capacity = (size_t)spl_contacts_capacity(contacts);
    *out = (spl_mixed_touch){.allocator = *a};
    out->spring = spl_new(a, capacity, sizeof *out->spring);
    out->partner = spl_new(a, capacity, sizeof *out->partner);
    out->stiffness = spl_new(a, (size_t)solid->elements.vertex_count, sizeof *out->stiffness);
    if (!out->spring || !out->partner || !out->stiffness) {
        spl_mixed_touch_release(out);
        return spl_fail_memory(error, "the contacts");
    }
    add_diagonals(solid, share, out->stiffness);
    return SUPPLE_OK;
}

void spl_mixed_touch_release(spl_mixed_touch *t)
{
    if (!t->allocator.release) return;
    spl_free(&t->allocator, t->spring);
    spl_free(&t->allocator, t->partner);
    spl_free(&t->allocator, t->stiffness);
    *t = (spl_mixed_touch){0};
}

static spl_contact_spring spring_of(const spl_contact *c, double stiffness)
{
    spl_contact_spring s = {.vertex = c->vertex,
                            .offset = c->offset,
                            .target = c->target,
                            .normal = c->normal,
                            .stiffness = stiffness,
                            .along = true};
    for (int i = 0; i < 3; i++) {
        s.corner[i] = c->corner[i];
        s.bary[i] = c->bary[i];
    }
    return s;
}

bool spl_mixed_touch_find(spl_mixed_touch *t, spl_contacts *contacts, const double *x, spl_pool *pool)
{
    int32_t found, before = t->count, count = 0;
    spl_contacts_find(contacts, x, pool);
    const spl_contact *list = spl_contacts_list(contacts, &found);
    bool same = true;
    for (int32_t i = 0; i < found; i++) {
        if (!(list[i].depth > 0)) continue; /* only rests nearby: nothing pushes */
        bool known =
            count < before && t->spring[count].vertex == list[i].vertex && t->partner[count] == list[i].partner;
        same = same && known;
        t->spring[count] = spring_of(&list[i], list[i].share * t->stiffness[list[i].vertex]);
        t->partner[count++] = list[i].partner;
    }
    t->count = count;
    return same && count == before;
}

static spl_vec3 at(const double *x, int32_t v)
{
    return spl_v3(x[3 * (size_t)v], x[3 * (size_t)v + 1], x[3 * (size_t)v + 2]);
}

static spl_vec3 target_of(const spl_contact_spring *s, const double *x)
{
    if (s->corner[0] < 0) return s->target;
    spl_vec3 on = spl_madd(spl_madd(spl_scale(at(x, s->corner[0]), s->bary[0]), at(x, s->corner[1]), s->bary[1]),
                           at(x, s->corner[2]), s->bary[2]);
    return spl_madd(on, s->normal, s->offset);
}

double spl_mixed_touch_gap(const spl_contact_spring *s, const double *x)
{
    return spl_dot(s->normal, spl_sub(at(x, s->vertex), target_of(s, x)));
}

void spl_mixed_touch_settle(spl_mixed_touch *t, const double *x)
{
    for (int32_t i = 0; i < t->count; i++) t->spring[i].target = target_of(&t->spring[i], x);
}
