/* The public handle of a model, without what trains it. */
#include "core/error.h"
#include "core/memory.h"
#include "subspace/model_public.h"

void spl_model_describe(supple_model *m)
{
    const spl_model *s = &m->model;
    m->info = (supple_model_info){.vertices = s->vertex_count,
                                  .tets = s->tet_count,
                                  .domains = s->domain_count,
                                  .interfaces = s->interface_count,
                                  .min_rank = INT32_MAX,
                                  .frequency = sqrt(s->lowest) / 6.283185307179586,
                                  .poses = s->samples,
                                  .law = s->law->name};
    for (int32_t i = 0; i < s->domain_count; i++) {
        const spl_model_domain *d = &s->domain[i];
        m->info.rank += d->rank;
        m->info.min_rank = d->rank < m->info.min_rank ? d->rank : m->info.min_rank;
        m->info.max_rank = d->rank > m->info.max_rank ? d->rank : m->info.max_rank;
        m->info.cubature += d->cubature_count;
        m->info.training_error = fmax(m->info.training_error, d->training_error);
    }
}

/* data NULL: from the file `name`. */
static supple_result load(const void *data, size_t size, const char *name, const supple_config *config,
                          supple_model **out, supple_error *error)
{
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    supple_allocator a = spl_allocator_of(config);
    supple_model *model = spl_new(&a, 1, sizeof *model);
    if (!model) return spl_fail_memory(error, "a model");
    result = data ? spl_model_load_memory(data, size, name, config, &model->model, error)
                  : spl_model_load(name, config, &model->model, error);
    if (result != SUPPLE_OK) {
        spl_free(&a, model);
        return result;
    }
    spl_model_describe(model);
    *out = model;
    return SUPPLE_OK;
}

supple_result supple_model_load(const char *path, const supple_config *config, supple_model **out, supple_error *error)
{
    return load(NULL, 0, path, config, out, error);
}

supple_result supple_model_load_memory(const void *data, size_t size, const char *name, const supple_config *config,
                                       supple_model **out, supple_error *error)
{
    *out = NULL;
    if (!data) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%.100s: there are no bytes", name ? name : "a model");
    return load(data, size, name ? name : "a model", config, out, error);
}

void supple_model_destroy(supple_model *model)
{
    if (!model) return;
    supple_allocator a = model->model.allocator;
    spl_model_release(&model->model);
    spl_free(&a, model);
}

const supple_model_info *supple_model_get_info(const supple_model *model)
{
    return &model->info;
}
