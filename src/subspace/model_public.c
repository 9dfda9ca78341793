#include "subspace/model_public.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "subspace/train.h"

#include <string.h>

enum { TRAIN_COOKIE = 0x7a12c0f1 };

supple_train_config supple_train_config_default(void)
{
    spl_train_options o = spl_train_options_default();
    return (supple_train_config){.cookie = TRAIN_COOKIE,
                                 .samples = o.samples,
                                 .rank = o.rank,
                                 .dents = o.dents,
                                 .modes = o.modes,
                                 .derivatives = o.derivatives,
                                 .pose_share = o.pose_share,
                                 .seam = o.seam,
                                 .cubature_error = o.cubature_error,
                                 .tolerance = o.tolerance,
                                 .lease = 60,
                                 .seed = o.seed};
}

void spl_model_body_config(const spl_model *m, supple_body_config *bc)
{
    const spl_body_recipe *r = &m->recipe;
    bc->kind = (supple_body_kind)r->kind;
    bc->resolution = r->resolution;
    bc->max_tets = r->max_tets;
    bc->grade = r->grade != 0;
    bc->size_m = r->size_m;
    bc->rules = r->rule;
    bc->rule_count = r->rule_count;
}

/* ---- what is trained ---- */

static supple_result check(const supple_train_config *c, const supple_scene *scene, supple_error *error)
{
    const struct {
        const char *name;
        double value, low, high;
    } ranges[] = {{"samples", c->samples, 1, 100000},
                  {"rank", c->rank, 1, SPL_MODEL_MOST_RANK},
                  {"dents", c->dents, 0, SPL_MODEL_MOST_RANK - c->rank},
                  {"domains", c->domains, 0, SPL_MODEL_MOST_DOMAINS},
                  {"modes", c->modes, 1, 10000},
                  {"derivatives", c->derivatives, 0, 10000},
                  {"pose share", c->pose_share, 0, 1},
                  {"seam", c->seam, 0, 100},
                  {"cubature error", c->cubature_error, 1e-6, 1},
                  {"tolerance", c->tolerance, 1e-12, 0.1},
                  {"shares", c->shares, 0, 1000000},
                  {"share", c->share, c->shares > 0, c->shares},
                  {"lease", c->lease, 0.1, 86400}};
    if (c->cookie != TRAIN_COOKIE)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "train config: start from supple_train_config_default()");
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (!(ranges[i].value >= ranges[i].low && ranges[i].value <= ranges[i].high))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: takes a number from %g to %g", ranges[i].name,
                            ranges[i].low, ranges[i].high);
    for (int32_t i = 0; c->clips && i < c->clip_count; i++)
        if (c->clips[i] < 0 || c->clips[i] >= scene->clip_count)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "clip %d: there are %d", (int)c->clips[i],
                            (int)scene->clip_count);
    if ((c->shares > 0 || c->exchange) && c->quick)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "quick training keeps no poses that could be shared");
    if (c->shares > 0 && (!c->folder || c->exchange))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "shares of the poses: a folder is shared, or messages are");
    if (c->body_config && c->body_config->tet_file)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "a model remembers how its body is made, which a file of tetrahedra does not say");
    return SUPPLE_OK;
}

/* Without solved poses. The numbers are what hero at its default size has seconds for. */
static void make_quick(spl_train_options *o)
{
    enum { POSES = 24, STEPS = 10, MODES = 24, DERIVATIVES = 10 };
    o->skinned = true;
    o->relax = STEPS;
    o->folder = NULL;
    if (o->samples > POSES) o->samples = POSES;
    if (o->modes > MODES) o->modes = MODES;
    if (o->derivatives > DERIVATIVES) o->derivatives = DERIVATIVES;
}

static spl_train_options options_of(const supple_train_config *c)
{
    spl_train_options o = spl_train_options_default();
    o.samples = c->samples;
    o.rank = c->rank;
    o.dents = c->dents;
    o.modes = c->modes;
    o.derivatives = c->derivatives;
    o.pose_share = c->pose_share;
    o.seam = c->seam;
    o.even = c->even_ranks;
    o.cubature_error = c->cubature_error;
    o.tolerance = c->tolerance;
    o.seed = c->seed;
    o.clip = c->clips;
    o.clip_count = c->clip_count;
    o.frames = c->from_clips;
    o.limits = c->limits_file;
    o.folder = c->folder;
    o.share = c->share;
    o.shares = c->shares;
    o.lease = c->lease;
    o.exchange = c->exchange;
    o.cut.most = c->domains;
    if (c->quick) make_quick(&o);
    return o;
}

/* As it was asked for: a resolution that was chosen is no request for the same one, the lattice then lies elsewhere. */
static supple_result keep_recipe(spl_model *m, const supple_body_config *bc, supple_error *error)
{
    spl_body_recipe *r = &m->recipe;
    *r = (spl_body_recipe){.kind = (int32_t)bc->kind,
                           .resolution = bc->resolution,
                           .max_tets = bc->max_tets,
                           .grade = bc->grade,
                           .size_m = bc->size_m};
    r->rule = spl_new(&m->allocator, (size_t)bc->rule_count, sizeof *r->rule);
    for (int32_t i = 0; r->rule && i < bc->rule_count; i++) {
        r->rule[i] = (supple_part_rule){spl_strdup(&m->allocator, bc->rules[i].pattern), bc->rules[i].role};
        r->rule_count = i + 1;
        if (!r->rule[i].pattern) return spl_fail_memory(error, "a model");
    }
    return r->rule ? SUPPLE_OK : spl_fail_memory(error, "a model");
}

static void report_training(supple_model *m, const spl_train_report *report)
{
    m->info.found = report->found;
    m->info.dropped = report->dropped;
    m->info.ms_poses = report->ms_poses;
    m->info.ms_modes = report->ms_modes;
    m->info.ms_bases = report->ms_bases;
    m->info.ms_cubature = report->ms_cubature;
    m->info.ms_total = report->ms_total;
}

/* What training works on. */
typedef struct workshop {
    supple_body *body;
    spl_material_set materials;
    spl_solid solid;
    spl_pool *pool;
} workshop;

static supple_result open_workshop(workshop *w, const supple_scene *scene, const supple_train_config *c,
                                   const supple_body_config *bc, const supple_config *config, supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    supple_result result = spl_pool_create(config, &w->pool, error);
    if (result == SUPPLE_OK) result = supple_body_create(scene, bc, config, &w->body, error);
    if (result == SUPPLE_OK && c->material_file)
        result = spl_material_set_load(c->material_file, &a, &w->materials, error);
    if (result != SUPPLE_OK) return result;
    return spl_solid_create(&w->body->body, c->material_file ? &w->materials : NULL, config, w->pool, &w->solid, error);
}

static void close_workshop(workshop *w)
{
    if (w->solid.allocator.release) spl_solid_release(&w->solid);
    spl_material_set_release(&w->materials);
    supple_body_destroy(w->body);
    spl_pool_destroy(w->pool);
}

static supple_result check_all(const supple_train_config *c, const supple_scene *scene, const supple_config *config,
                               supple_error *error)
{
    supple_result result = spl_config_check(config, error);
    if (result == SUPPLE_OK) result = check(c, scene, error);
    if (result != SUPPLE_OK || scene->skin_count > 0) return result;
    return spl_fail(error, SUPPLE_ERROR_INPUT, "%.120s: no skin: there are no joints to train", scene->path);
}

supple_result supple_poses_solve(const supple_scene *scene, const supple_train_config *train_config,
                                 const supple_config *config, supple_error *error)
{
    supple_config host = config ? *config : supple_config_default();
    supple_train_config c = train_config ? *train_config : supple_train_config_default();
    supple_body_config bc = c.body_config ? *c.body_config : supple_body_config_default();
    supple_result result = check_all(&c, scene, config, error);
    if (result != SUPPLE_OK) return result;
    workshop w = {0};
    spl_train_options o = options_of(&c);
    result = open_workshop(&w, scene, &c, &bc, &host, error);
    if (result == SUPPLE_OK) result = spl_train_poses(scene, &w.solid, &o, &host, w.pool, error);
    close_workshop(&w);
    return result;
}

supple_result supple_model_train(const supple_scene *scene, const supple_train_config *train_config,
                                 const supple_config *config, supple_model **out, supple_error *error)
{
    *out = NULL;
    supple_config host = config ? *config : supple_config_default();
    supple_train_config c = train_config ? *train_config : supple_train_config_default();
    supple_body_config bc = c.body_config ? *c.body_config : supple_body_config_default();
    supple_result result = check_all(&c, scene, config, error);
    if (result != SUPPLE_OK) return result;
    supple_allocator a = spl_allocator_of(&host);
    supple_model *model = spl_new(&a, 1, sizeof *model);
    if (!model) return spl_fail_memory(error, "a model");
    model->model.allocator = a;
    workshop w = {0};
    spl_train_report report = {0};
    spl_train_options o = options_of(&c);
    result = open_workshop(&w, scene, &c, &bc, &host, error);
    if (result == SUPPLE_OK) result = spl_train(scene, &w.solid, &o, &host, w.pool, &model->model, &report, error);
    if (result == SUPPLE_OK) result = keep_recipe(&model->model, &bc, error);
    if (result == SUPPLE_OK) {
        spl_model_describe(model);
        report_training(model, &report);
    }
    close_workshop(&w);
    if (result != SUPPLE_OK) {
        model->model.allocator = a;
        supple_model_destroy(model);
        return result;
    }
    *out = model;
    return SUPPLE_OK;
}

/* ---- files ---- */

supple_result supple_model_save(const supple_model *model, const char *path, const supple_config *config,
                                supple_error *error)
{
    return spl_model_save(&model->model, path, config, error);
}
