#include "subspace/domains.h"

#include "core/error.h"
#include "core/memory.h"
#include "subspace/domains_private.h"

spl_domain_options spl_domain_options_default(void)
{
    /* Looked at on hero and MakeHuman's man: nearest segments give the upper arms a side of the chest each, and the
     * neck the jaw; weights do not. */
    return (spl_domain_options){.rule = SPL_DOMAINS_WEIGHTS, .most = 0, .least_tets = 64};
}

/* Numbers the domains in the order of their bones: parents come first. */
static bool number(const spl_cut *c, spl_domains *d)
{
    const spl_body *body = c->solid->body;
    int32_t bones = body->bones.bone_count;
    d->of_bone = spl_new(&d->allocator, (size_t)bones, sizeof *d->of_bone);
    d->of_tet = spl_new(&d->allocator, (size_t)body->tets.tet_count, sizeof *d->of_tet);
    if (!d->of_bone || !d->of_tet) return false;
    for (int32_t b = 0; b < bones; b++) d->of_bone[b] = -1;
    for (int32_t k = 0; k < body->tets.tet_count; k++) d->of_bone[c->label[k]] = 0;
    int32_t count = 0;
    for (int32_t b = 0; b < bones; b++)
        if (d->of_bone[b] == 0) d->of_bone[b] = count++;
    d->domain = spl_new(&d->allocator, (size_t)count, sizeof *d->domain);
    if (!d->domain) return false;
    d->domain_count = count;
    for (int32_t k = 0; k < body->tets.tet_count; k++) {
        d->of_tet[k] = d->of_bone[c->label[k]];
        d->domain[d->of_tet[k]].bone = c->label[k];
        d->domain[d->of_tet[k]].tet_count++;
    }
    for (int32_t b = 0; b < bones; b++) d->of_bone[b] = d->of_bone[c->limb[b]]; /* limbs are their own */
    return true;
}

/* The tets, free vertices and masses of one domain. `place`, by vertex, is -1 on entry and when it returns. */
static bool fill(const spl_solid *solid, spl_domains *d, int32_t index, int32_t *place)
{
    const spl_tets *tets = &solid->body->tets;
    spl_domain *o = &d->domain[index];
    const supple_allocator *a = &d->allocator;
    o->tet = spl_new(a, (size_t)o->tet_count, sizeof *o->tet);
    if (!o->tet) return false;
    for (int32_t k = 0, at = 0; k < tets->tet_count; k++)
        if (d->of_tet[k] == index) o->tet[at++] = k;
    for (int32_t i = 0; i < 4 * o->tet_count; i++) {
        int32_t v = tets->tet[4 * (size_t)o->tet[i / 4] + (size_t)(i % 4)];
        if (solid->body->bone[v] < 0) place[v] = 0;
    }
    for (int32_t v = 0; v < tets->vertex_count; v++)
        if (place[v] == 0) place[v] = o->vertex_count++;
    o->vertex = spl_new(a, (size_t)o->vertex_count, sizeof *o->vertex);
    o->mass = spl_new(a, (size_t)o->vertex_count, sizeof *o->mass);
    if (!o->vertex || !o->mass) return false;
    for (int32_t i = 0; i < 4 * o->tet_count; i++) {
        int32_t k = o->tet[i / 4], v = tets->tet[4 * (size_t)k + (size_t)(i % 4)];
        if (place[v] < 0) continue;
        o->vertex[place[v]] = v;
        o->mass[place[v]] += solid->elements.volume[k] * solid->material.density[k] / 4;
    }
    for (int32_t i = 0; i < o->vertex_count; i++) place[o->vertex[i]] = -1;
    return true;
}

static supple_result build(const spl_cut *c, spl_domains *d, supple_error *error)
{
    size_t n = (size_t)c->solid->body->tets.vertex_count;
    int32_t *place = spl_new(&d->allocator, n, sizeof *place);
    bool ok = place && number(c, d);
    for (size_t v = 0; ok && v < n; v++) place[v] = -1;
    for (int32_t i = 0; ok && i < d->domain_count; i++) ok = fill(c->solid, d, i, place);
    spl_free(&d->allocator, place);
    if (!ok) return spl_fail_memory(error, "the body's domains");
    if (d->domain_count == 1 && d->domain[0].vertex_count == 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "bones hold all of the flesh: there is nothing left to deform");
    return spl_domains_meet(c, d, error);
}

supple_result spl_domains_create(const spl_solid *solid, const spl_domain_options *options, const supple_allocator *a,
                                 spl_domains *out, supple_error *error)
{
    spl_domain_options o = options ? *options : spl_domain_options_default();
    spl_cut cut;
    *out = (spl_domains){.allocator = *a};
    supple_result result = spl_cut_create(solid, &o, a, &cut, error);
    if (result == SUPPLE_OK) result = build(&cut, out, error);
    spl_cut_release(&cut);
    if (result != SUPPLE_OK) spl_domains_release(out);
    return result;
}

void spl_domains_release(spl_domains *d)
{
    const supple_allocator *a = &d->allocator;
    if (!a->release) return;
    for (int32_t i = 0; d->domain && i < d->domain_count; i++) {
        spl_free(a, d->domain[i].tet);
        spl_free(a, d->domain[i].vertex);
        spl_free(a, d->domain[i].mass);
    }
    for (int32_t i = 0; d->interface && i < d->interface_count; i++) {
        spl_free(a, d->interface[i].at_i);
        spl_free(a, d->interface[i].at_j);
        spl_free(a, d->interface[i].area);
    }
    spl_free(a, d->domain);
    spl_free(a, d->interface);
    spl_free(a, d->of_bone);
    spl_free(a, d->of_tet);
    *d = (spl_domains){0};
}
