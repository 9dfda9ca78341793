#include "body/weights_public.h"

#include "body/body_weights.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"

static void fill_info(supple_weights_info *i, const spl_weights_report *w, const spl_reskin_report *r)
{
    i->changed = r->changed;
    i->kept = r->kept;
    i->joints = r->joints;
    i->mean_influences = r->mean_influences;
    i->largest_cut = r->largest_cut;
    i->local_maxima = w->maxima;
    i->bones = w->bbw.bones;
    i->unknowns = w->bbw.unknowns;
    i->rounds = w->bbw.rounds;
    i->unfinished = w->bbw.unfinished;
    i->residual = w->bbw.residual;
    i->cached = w->cached;
    i->ms_weights = w->ms;
    i->ms_system = w->bbw.ms_system;
    i->ms_factor = w->bbw.ms_factor;
    i->ms_start = w->bbw.ms_start;
    i->ms_bounds = w->bbw.ms_bounds;
}

static supple_result make(supple_weights *w, spl_weights_kind kind, bool cache, const supple_config *config,
                          supple_error *error)
{
    spl_pool *pool = NULL;
    spl_solid solid = {0};
    spl_weight_table table = {0};
    spl_weights_report found;
    spl_reskin_report made;
    supple_result result = spl_pool_create(config, &pool, error);
    if (result == SUPPLE_OK) result = spl_progress(config, "weights", 0, error);
    if (result == SUPPLE_OK) result = spl_solid_create(w->body, NULL, config, pool, &solid, error);
    if (result == SUPPLE_OK) result = spl_body_weights(&solid, kind, cache, config, pool, &table, &found, error);
    if (result == SUPPLE_OK) result = spl_progress(config, "weights", 0.9, error);
    double start = spl_now_ms();
    if (result == SUPPLE_OK)
        result = spl_reskin(w->body, &table, w->info.influences, &w->allocator, &w->skin, &made, error);
    if (result == SUPPLE_OK) {
        fill_info(&w->info, &found, &made);
        w->info.ms_skin = spl_now_ms() - start;
        result = spl_progress(config, "weights", 1, error);
    }
    spl_weight_table_release(&table);
    spl_solid_release(&solid);
    spl_pool_destroy(pool);
    return result;
}

supple_result supple_weights_create(const supple_body *body, supple_weights_kind kind, int32_t influences, bool cache,
                                    const supple_config *config, supple_weights **out, supple_error *error)
{
    static const spl_weights_kind kinds[] = {SPL_WEIGHTS_BBW, SPL_WEIGHTS_HEAT, SPL_WEIGHTS_OWN};
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    if ((int)kind < 0 || (int)kind > SUPPLE_WEIGHTS_OWN || (influences != 4 && influences != 8))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "weights: takes bbw, heat or own, with 4 or 8 influences");
    supple_allocator a = spl_allocator_of(config);
    supple_weights *w = spl_new(&a, 1, sizeof *w);
    if (!w) return spl_fail_memory(error, "the new weights");
    *w = (supple_weights){.allocator = a, .body = &body->body, .info = {.influences = influences}};
    result = make(w, kinds[kind], cache, config, error);
    if (result == SUPPLE_OK)
        *out = w;
    else
        supple_weights_destroy(w);
    return result;
}

void supple_weights_destroy(supple_weights *weights)
{
    if (!weights) return;
    supple_allocator a = weights->allocator;
    spl_new_weights_release(&weights->skin);
    spl_free(&a, weights);
}

const supple_weights_info *supple_weights_get_info(const supple_weights *weights)
{
    return &weights->info;
}

supple_result supple_weights_save(const supple_weights *weights, const char *path, const supple_config *config,
                                  supple_error *error)
{
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    return spl_gltf_write_weights(weights->body->scene, &weights->skin, path, config, error);
}
