#include "subspace/model.h"

#include "core/memory.h"

void spl_model_release(spl_model *m)
{
    const supple_allocator *a = &m->allocator;
    if (!a->allocate) return;
    for (int32_t i = 0; m->domain && i < m->domain_count; i++) {
        spl_model_domain *d = &m->domain[i];
        void *all[] = {d->vertex, d->rest, d->mass, d->basis, d->cubature, d->reach};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) spl_free(a, all[k]);
    }
    for (int32_t i = 0; m->interface && i < m->interface_count; i++) {
        spl_interface *f = &m->interface[i];
        void *all[] = {f->at_i, f->at_j, f->area};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) spl_free(a, all[k]);
    }
    spl_free(a, m->domain);
    spl_free(a, m->interface);
    *m = (spl_model){0};
}
