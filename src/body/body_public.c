/* The public face of bodies and tetrahedra. */
#include "body/body.h"
#include "body/formats/tet_file.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"

#include <supple/tools.h>

enum { BODY_COOKIE = 0x0b0d1e5 };

supple_body_config supple_body_config_default(void)
{
    return (supple_body_config){.cookie = BODY_COOKIE, .cache = true};
}

static supple_result check_config(const supple_body_config *c, supple_error *error)
{
    if (c->cookie != BODY_COOKIE)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "body config: start from supple_body_config_default()");
    if ((c->max_tets != 0 && c->max_tets < 100) || c->max_tets > 100000000)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "max-tets %d: takes 100 to 100000000", (int)c->max_tets);
    if (c->resolution < 0)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "resolution %d: takes a number of cells, or 0 to choose",
                        (int)c->resolution);
    if ((int)c->kind < SUPPLE_BODY_TETS || c->kind > SUPPLE_BODY_PRISM || (int)c->upsampling < SUPPLE_UPSAMPLE_SMOOTH ||
        c->upsampling > SUPPLE_UPSAMPLE_NORMAL)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "body config: no such kind of body or of upsampling");
    if (!(c->size_m >= 0 && c->size_m <= 1e6) && c->size_m != SUPPLE_SIZE_FILE)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "size: takes metres from 0 to 1000000, or SUPPLE_SIZE_FILE");
    return SUPPLE_OK;
}

static void fill_shape(supple_body_info *info, const spl_tets *t, const spl_tets_shape *s)
{
    info->vertices = t->vertex_count;
    info->tets = t->tet_count;
    info->surface_triangles = t->surface_count;
    info->min_dihedral_deg = s->min_dihedral;
    info->max_dihedral_deg = s->max_dihedral;
    for (int i = 0; i < 18; i++) info->dihedral_histogram[i] = s->dihedral_histogram[i];
    info->volume = s->volume;
}

/* Vertices of the boundary. Without memory for it the count is left out. */
static int32_t count_surface_vertices(const spl_tets *t)
{
    bool *seen = spl_new(&t->allocator, (size_t)t->vertex_count, sizeof *seen);
    int32_t count = 0;
    for (size_t i = 0; seen && i < 3 * (size_t)t->surface_count; i++) {
        count += !seen[t->surface[i]];
        seen[t->surface[i]] = true;
    }
    spl_free(&t->allocator, seen);
    return count;
}

static void fill_info(supple_body *b)
{
    const spl_body *body = &b->body;
    const spl_flesh_report *f = &body->flesh;
    supple_body_info *info = &b->info;
    fill_shape(info, &body->tets, &f->shape);
    info->surface_vertices = count_surface_vertices(&body->tets);
    info->bones = body->bones.bone_count;
    info->constrained = body->attach.constrained;
    info->substituted = body->attach.substituted;
    info->empty = body->attach.empty;
    info->merged = body->attach.merged;
    info->crossings = body->prism ? 0 : f->part.crossings;
    info->crossings_parted = body->prism ? 0 : f->part.crossings_before - f->part.crossings;
    info->components = f->component_count;
    info->crumbs = f->crumbs;
    info->resolution = f->resolution;
    info->doubled = f->stuff.doubled;
    info->fronts = f->stuff.fronts;
    info->passes = f->passes;
    info->uniform_tets = f->grade.uniform_tets;
    info->octants = f->grade.octants;
    info->levels = f->grade.levels;
    info->cell = f->cell;
    info->surface_volume = f->surface_volume;
    info->mean_distance = f->mean_distance;
    info->max_distance = f->max_distance;
    info->area_lost = f->area_lost;
    info->size_m = body->size_m;
    info->cached = body->cached;
    info->kind = body->prism ? SUPPLE_BODY_PRISM : SUPPLE_BODY_TETS;
    info->split = body->prisms.split;
    info->joint_free = body->prisms.free;
    info->unreached = body->prisms.off;
    info->wrapped = body->prisms.reached;
}

/* Joints that move skin, each with what its own segments hold. */
static supple_result list_holds(supple_body *b, supple_error *error)
{
    const spl_body *body = &b->body;
    const spl_bones *bones = &body->bones;
    const supple_allocator *a = &body->allocator;
    int32_t *held = spl_new(a, (size_t)bones->node_count, sizeof *held);
    b->hold = spl_new(a, (size_t)bones->node_count, sizeof *b->hold);
    for (int32_t v = 0; held && v < body->tets.vertex_count; v++)
        if (body->bone[v] >= 0) held[bones->bone[body->bone[v]].of]++;
    for (int32_t n = 0; held && b->hold && n < bones->node_count; n++) {
        int32_t into = bones->merged_into[n];
        if (!(bones->influence[n] > 0)) continue;
        b->hold[b->hold_count++] = (supple_body_hold){
            body->scene->node[n].name, into >= 0 && into != n ? body->scene->node[into].name : NULL, held[n]};
    }
    bool made = held && b->hold;
    spl_free(a, held);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the body");
}

const supple_body_hold *supple_body_holds(const supple_body *body, int32_t *count)
{
    *count = body->hold_count;
    return body->hold;
}

static supple_result make(supple_body *b, const supple_scene *scene, const supple_body_config *bc,
                          const supple_config *config, supple_error *error)
{
    spl_body_options options = spl_body_options_default();
    options.flesh.resolution = bc->resolution;
    if (bc->max_tets > 0) options.flesh.max_tets = bc->max_tets;
    options.flesh.grade = bc->grade;
    options.flesh.part = bc->parted;
    options.rules = bc->rules;
    options.rule_count = bc->rule_count;
    options.size_m = bc->size_m;
    options.cache = bc->cache;
    options.kind = bc->kind;
    options.upsampling = bc->upsampling;
    spl_tets given = {0};
    spl_pool *pool = NULL;
    supple_result result = spl_pool_create(config, &pool, error);
    if (result == SUPPLE_OK && bc->tet_file) {
        result = spl_tets_load(bc->tet_file, config, &given, NULL, error);
        options.tets = &given;
    }
    if (result == SUPPLE_OK) result = spl_body_make(scene, &options, config, pool, &b->body, error);
    spl_tets_release(&given);
    spl_pool_destroy(pool);
    return result;
}

supple_result supple_body_create(const supple_scene *scene, const supple_body_config *body_config,
                                 const supple_config *config, supple_body **out, supple_error *error)
{
    *out = NULL;
    double start = spl_now_ms();
    supple_body_config bc = body_config ? *body_config : supple_body_config_default();
    supple_result result = spl_config_check(config, error);
    if (result == SUPPLE_OK) result = check_config(&bc, error);
    if (result != SUPPLE_OK) return result;
    supple_allocator a = spl_allocator_of(config);
    supple_body *b = spl_new(&a, 1, sizeof *b);
    if (!b) return spl_fail_memory(error, "the body");
    result = make(b, scene, &bc, config, error);
    if (result == SUPPLE_OK) result = list_holds(b, error);
    if (result != SUPPLE_OK) {
        spl_free(&a, b->hold);
        spl_body_release(&b->body);
        spl_free(&a, b);
        return result;
    }
    fill_info(b);
    b->info.ms = spl_now_ms() - start;
    *out = b;
    return SUPPLE_OK;
}

void supple_body_destroy(supple_body *body)
{
    if (!body) return;
    supple_allocator a = body->body.allocator;
    spl_free(&a, body->hold);
    spl_body_release(&body->body);
    spl_free(&a, body);
}

const supple_body_info *supple_body_get_info(const supple_body *body)
{
    return &body->info;
}

bool supple_tets_known(const char *path)
{
    return spl_tets_known_ending(path);
}

supple_result supple_body_save(const supple_body *body, const char *path, bool binary, const supple_config *config,
                               supple_error *error)
{
    spl_tets_save_options options = {.binary = binary, .surface = true};
    return spl_tets_save(path, &body->body.tets, &options, config, error);
}

supple_result supple_tets_convert(const char *input, const char *output, bool binary, const supple_config *config,
                                  supple_body_info *info, supple_error *error)
{
    *info = (supple_body_info){.surface_volume = NAN, .mean_distance = NAN, .max_distance = NAN, .area_lost = NAN};
    spl_tets tets;
    spl_tets_report report;
    double start = spl_now_ms();
    supple_result result = spl_tets_load(input, config, &tets, &report, error);
    if (result != SUPPLE_OK) return result;
    spl_tets_shape shape = spl_tets_quality(&tets);
    fill_shape(info, &tets, &shape);
    info->surface_vertices = count_surface_vertices(&tets);
    info->components = report.component_count;
    info->cell = shape.mean_edge;
    spl_tets_save_options options = {.binary = binary, .surface = true};
    if (output) result = spl_tets_save(output, &tets, &options, config, error);
    spl_tets_release(&tets);
    info->ms = spl_now_ms() - start;
    return result;
}
