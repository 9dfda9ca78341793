#include "sim/sim.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "sim/choose.h"
#include "sim/device.h"
#include "sim/parameters.h"
#include "sim/rehearse.h"
#include "sim/slide.h"
#include "subspace/model_public.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIM_COOKIE = 0x51d0c0f1 };
#define SURELY_FLESH 0.999 /* share of the skin: with more, no part was in doubt */

supple_sim_config supple_sim_config_default(void)
{
    return (supple_sim_config){.cookie = SIM_COOKIE,
                               .method = "auto",
                               .fps = 30,
                               .substep = 1.0 / 120,
                               .root_inertia = 1,
                               .collide = SUPPLE_COLLIDE_AUTO,
                               .amount = 1,
                               .rehearse = true,
                               .lead_in = true};
}

/* ---- creation ---- */

static supple_result unknown_method(const char *name, supple_error *error)
{
    char list[160] = "";
    for (int32_t i = 0; i < spl_method_count(); i++) {
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, spl_method_at(i)->name, sizeof list - strlen(list) - 1);
    }
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "method '%.40s' is unknown; there are auto, %s", name, list);
}

static bool needs_body(const supple_sim *sim)
{
    return sim->method->output == SPL_OUTPUT_BODY;
}

/* What flesh must not enter: what was asked for, else all that the method answers. */
static int32_t collide_of(const spl_method *method, const supple_sim_config *sc)
{
    if (!(method->answers & SPL_ANSWERS_CONTACT)) return SUPPLE_COLLIDE_NONE;
    if (sc->collide != SUPPLE_COLLIDE_AUTO) return sc->collide;
    return method->answers & (SPL_CONTACT_ON_REQUEST | SPL_MEETS_ALONE) ? SUPPLE_COLLIDE_WORLD
                                                                        : SUPPLE_COLLIDE_SELF | SUPPLE_COLLIDE_WORLD;
}

/* Whether parts are to be tried first: not where the user has said what the body is, or nothing was to be decided. */
static supple_result tries_parts(const supple_sim *sim, const supple_sim_config *sc, bool *out, supple_error *error)
{
    spl_roles roles;
    int32_t count;
    *out = false;
    if (!sc->rehearse || !needs_body(sim) || sim->common[SPL_FLESH_TRUST] != 0 || sc->body || sc->model ||
        (sc->body_config && sc->body_config->tet_file))
        return SUPPLE_OK;
    spl_part *part = spl_parts_new(sim->scene, &sim->allocator, &count);
    if (!part) return spl_fail_memory(error, "the parts");
    supple_result result = spl_roles_of_scene(sim->scene, part, count, NULL, 0, &sim->allocator, &roles, error);
    if (result == SUPPLE_OK) {
        *out = roles.flesh_share > 0 && roles.flesh_share < SURELY_FLESH;
        spl_roles_release(&roles);
    }
    spl_free(&sim->allocator, part);
    return result;
}

static supple_result make_flesh_of(supple_sim *sim, const supple_sim_config *sc, bool *no_flesh, supple_error *error);

/* *no_flesh (may be NULL) is whether it failed for want of a body. */
static supple_result make_flesh(supple_sim *sim, const supple_sim_config *sc, bool *no_flesh, supple_error *error)
{
    bool tries;
    if (no_flesh) *no_flesh = false;
    supple_result result = tries_parts(sim, sc, &tries, error);
    if (result != SUPPLE_OK || !tries) return result == SUPPLE_OK ? make_flesh_of(sim, sc, no_flesh, error) : result;
    spl_rehearsed rehearsed;
    supple_sim_config tried = *sc;
    supple_body_config bc = sc->body_config ? *sc->body_config : supple_body_config_default();
    result = spl_rehearse_roles(sim->scene, sc, &sim->config, SPL_REHEARSE_NEEDED, &rehearsed, error);
    if (result != SUPPLE_OK) return result;
    bc.rules = rehearsed.rule;
    bc.rule_count = rehearsed.rule_count;
    tried.body_config = &bc;
    result = make_flesh_of(sim, &tried, no_flesh, error);
    spl_rehearsed_release(&rehearsed);
    return result;
}

/* Contacts are not found for the method. */
static bool finds_contacts(const spl_method *m, const supple_sim_config *sc)
{
    return (m->answers & (SPL_MEETS_ALONE | SPL_FINDS_CONTACTS)) ||
           (m->contact_form && spl_sim_peek(m, sc, m->contact_form) > 0);
}

static supple_result make_flesh_of(supple_sim *sim, const supple_sim_config *sc, bool *no_flesh, supple_error *error)
{
    spl_flesh_setup setup = {.scene = sim->scene,
                             .sim = sc,
                             .config = &sim->config,
                             .pool = sim->pool,
                             .setup = &sim->setup,
                             .common = sim->common,
                             .baseline = !needs_body(sim),
                             .max_tets = sim->max_tets ? sim->max_tets : sim->method->max_tets,
                             .own_start = (sim->method->answers & SPL_STARTS_ITSELF) != 0,
                             .own_contacts = finds_contacts(sim->method, sc),
                             .collide = collide_of(sim->method, sc)};
    if (sim->method->answers & SPL_MEETS_ALONE) setup.collide &= ~SUPPLE_COLLIDE_SELF;
    supple_result result = spl_flesh_sim_create(&setup, &sim->flesh, error);
    sim->has_flesh = result == SUPPLE_OK;
    if (no_flesh) *no_flesh = setup.no_flesh;
    return result;
}

/* "auto": flesh where a body can be made, else the best that needs none; what answers that which was asked for. */
static supple_result choose_auto(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    supple_choice choice;
    char reason[sizeof((supple_error *)0)->message + 4] = "";
    supple_error failed;
    supple_result result = SUPPLE_OK;
    spl_choose(sim->scene, sc, true, &choice);
    sim->method = spl_method_find(choice.method);
    if (sc->budget_ms > 0 || choice.tets == SPL_CHOOSE_CONTACT) sim->max_tets = choice.tets;
    if (needs_body(sim)) {
        bool no_flesh;
        result = make_flesh(sim, sc, &no_flesh, &failed);
        if (result != SUPPLE_OK && no_flesh) {
            sim->wanted = sim->method;
            spl_choose(sim->scene, sc, false, &choice);
            sim->method = spl_method_find(choice.method);
            if (!needs_body(sim)) result = SUPPLE_OK;
            snprintf(reason, sizeof reason, "; %s", failed.message);
        }
    }
    if (result != SUPPLE_OK) {
        if (error) *error = failed;
        return result;
    }
    if (needs_body(sim) && sim->has_flesh && !(sc->budget_ms > 0)) { /* now that it is there, its size is known */
        supple_sim_config made = *sc;
        made.body = spl_flesh_sim_body(&sim->flesh);
        spl_choose(sim->scene, &made, true, &choice);
    }
    spl_log(&sim->config, choice.fits ? SUPPLE_LOG_INFO : SUPPLE_LOG_WARNING, "method: %s (%s%s)", sim->method->name,
            choice.why, reason);
    return SUPPLE_OK;
}

/* A method that was asked for, on a character without flesh: hard surface, sheets. It is left as the file has it. */
static supple_result make_flesh_or_none(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    bool no_flesh;
    supple_error failed = {0};
    supple_result result = make_flesh(sim, sc, &no_flesh, &failed);
    if (result == SUPPLE_OK) return result;
    if (no_flesh && (sim->method->needs & SPL_NEEDS_SKIN) && !sc->model) {
        spl_log(&sim->config, SUPPLE_LOG_WARNING, "%s; it keeps the file's own skinning", failed.message);
        sim->wanted = sim->method;
        sim->method = &spl_method_linear;
        return SUPPLE_OK;
    }
    if (error) *error = failed;
    return result;
}

/* What was asked for and only flesh can do, on a character without: it is left out, and said. */
static void leave_out(const supple_sim *sim, supple_sim_config *sc)
{
    bool heavy = sc->gravity[0] != 0 || sc->gravity[1] != 0 || sc->gravity[2] != 0,
         collide = sc->collide > 0 || sc->collider_count > 0;
    if (sc->dynamics || heavy || collide)
        spl_log(&sim->config, SUPPLE_LOG_WARNING, "left out, for want of flesh:%s%s%s%s%s",
                sc->dynamics ? " dynamics" : "", sc->dynamics && heavy ? "," : "", heavy ? " gravity" : "",
                (sc->dynamics || heavy) && collide ? "," : "", collide ? " collisions" : "");
    sc->dynamics = false;
    memset(sc->gravity, 0, sizeof sc->gravity);
    sc->collide = SUPPLE_COLLIDE_AUTO;
    sc->collider_count = 0;
}

static supple_result choose_method(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    const supple_scene *scene = sim->scene;
    if (!sc->method || strcmp(sc->method, "auto") == 0) return choose_auto(sim, sc, error);
    sim->method = spl_method_find(sc->method);
    if (!sim->method) return unknown_method(sc->method, error);
    if ((sim->method->needs & SPL_NEEDS_SKIN) && scene->skin_count == 0)
        return spl_fail(
            error, SUPPLE_ERROR_INPUT,
            "%.120s: no skin: nothing binds the mesh to a skeleton; export it with its armature and weights",
            scene->path);
    if (needs_body(sim)) return make_flesh_or_none(sim, sc, error);
    if (!sc->measure || sim->method != &spl_method_linear || !(sc->body || sc->body_config)) return SUPPLE_OK;
    bool no_flesh; /* a baseline's body is only measured: it does without */
    supple_result result = make_flesh(sim, sc, &no_flesh, error);
    return no_flesh ? SUPPLE_OK : result;
}

/* Files that say something of flesh are not left unread. */
static supple_result check_files(const supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    const char *file = sc->material_file ? sc->material_file : sc->force_file;
    if (!file || needs_body(sim)) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%.120s: method %s moves no flesh, which materials and forces need",
                    file, sim->method->name);
}

/* The names of the methods that answer something, as "a, b"; "none" if there are none. */
static void list_answering(unsigned what, char *out, size_t size)
{
    size_t used = 0;
    snprintf(out, size, "none");
    for (int32_t i = 0; i < spl_method_count(); i++) {
        const spl_method *m = spl_method_at(i);
        if (!(m->answers & what) || used >= size) continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", m->name);
    }
}

/* What the method must be able to do: the one that was wanted, so that hard surface refuses no more and no less. */
static supple_result check_answers(const supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    char list[100];
    const spl_method *m = sim->wanted ? sim->wanted : sim->method;
    if (sc->dynamics && !(m->answers & SPL_ANSWERS_DYNAMICS)) {
        list_answering(SPL_ANSWERS_DYNAMICS, list, sizeof list);
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "dynamics: method %s has none; these have: %s", m->name, list);
    }
    if (sc->model && !(m->needs & SPL_NEEDS_MODEL))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "method %s plays no model; subspace does", m->name);
    bool heavy = sc->gravity[0] != 0 || sc->gravity[1] != 0 || sc->gravity[2] != 0;
    if (heavy && m->output != SPL_OUTPUT_BODY)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "gravity: method %s moves no flesh", m->name);
    if ((sc->collide > 0 || sc->collider_count > 0) && !(m->answers & SPL_ANSWERS_CONTACT)) {
        list_answering(SPL_ANSWERS_CONTACT, list, sizeof list);
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "collisions: method %s answers none; these do: %s", m->name,
                        list);
    }
    return SUPPLE_OK;
}

static supple_result make_shading(supple_sim *sim, supple_error *error)
{
    sim->shading = spl_new(&sim->allocator, (size_t)sim->part_count, sizeof(spl_shading *));
    if (!sim->shading) return spl_fail_memory(error, "normals");
    for (int32_t i = 0; i < sim->part_count; i++) {
        const spl_primitive *p = sim->part[i].primitive;
        spl_shading_rest rest = {.vertex_count = p->vertex_count,
                                 .position = p->position,
                                 .triangle_count = p->triangle_count,
                                 .triangle = p->triangle,
                                 .normal = p->normal,
                                 .tangent = p->tangent};
        supple_result result = spl_shading_create(&rest, &sim->allocator, &sim->shading[i], error);
        if (result != SUPPLE_OK) return result;
    }
    return SUPPLE_OK;
}

static supple_result make_buffers(supple_sim *sim, supple_error *error)
{
    const supple_allocator *a = &sim->allocator;
    size_t n = (size_t)sim->scene->vertex_count;
    sim->rest = spl_new(a, n, 3 * sizeof(float));
    sim->position = spl_new(a, n, 3 * sizeof(float));
    sim->last = spl_new(a, n, 3 * sizeof(float));
    sim->part = spl_parts_new(sim->scene, a, &sim->part_count);
    if (!sim->rest || !sim->position || !sim->last || !sim->part) return spl_fail_memory(error, "the vertices");
    for (int32_t i = 0; i < sim->part_count; i++) {
        const spl_primitive *p = sim->part[i].primitive;
        if (p->vertex_count > 0) /* a primitive without positions has none to copy */
            memcpy(sim->rest + 3 * (size_t)sim->part[i].first_vertex, p->position,
                   3 * (size_t)p->vertex_count * sizeof(float));
        if (p->target_count > 0) sim->has_morphs = true;
    }
    return make_shading(sim, error);
}

static supple_result init_method(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    sim->state = spl_new(&sim->allocator, sim->method->state_size, 1);
    if (!sim->state) return spl_fail_memory(error, "the method");
    sim->context = (spl_method_context){.scene = sim->scene,
                                        .solid = sim->has_flesh ? &sim->flesh.solid : NULL,
                                        .config = &sim->config,
                                        .allocator = &sim->allocator,
                                        .pool = sim->pool,
                                        .parameter = sim->parameter,
                                        .setup = &sim->setup,
                                        .clip = -1,
                                        .dynamics = sc->dynamics,
                                        .loop = sc->loop,
                                        .model = sc->model ? &sc->model->model : NULL,
                                        .whole = sc->measure || sim->flesh.verify > 0,
                                        .root_inertia = sc->root_inertia,
                                        .gravity = spl_scale(spl_v3(sc->gravity[0], sc->gravity[1], sc->gravity[2]),
                                                             sim->flesh.solid.drive.to_solver < 0 ? -1 : 1),
                                        .contacts = sim->flesh.contacts,
                                        .collide = collide_of(sim->method, sc),
                                        .device = sim->device,
                                        .colliders = sim->flesh.world.colliders};
    supple_result result = sim->method->init(sim->state, &sim->context, error);
    sim->ready = true; /* release accepts a state whose init failed */
    return result;
}

/* The first state: the rest pose in equilibrium, which is not one of the frames that `verify` asks for. */
static supple_result take_rest(supple_sim *sim, supple_error *error)
{
    int32_t verify = sim->flesh.verify;
    bool dynamics = sim->dynamics.on;
    sim->flesh.verify = 0;
    sim->dynamics.on = false;
    supple_result result = supple_sim_step_clip(sim, -1, 0, error);
    sim->flesh.verify = verify;
    sim->dynamics.on = dynamics;
    if (result == SUPPLE_OK) supple_sim_reset(sim);
    return result;
}

/* `sc` is the caller's own copy. */
static supple_result build(supple_sim *sim, supple_sim_config *sc, supple_error *error)
{
    double start = spl_now_ms();
    sim->setup = (supple_setup){.ms_body = NAN,
                                .ms_weights = NAN,
                                .ms_factor = NAN,
                                .ms_flesh = NAN,
                                .ms_rest = NAN,
                                .ms_slide = NAN,
                                .size_m = NAN};
    sim->lead_in = sc->lead_in;
    sim->fps = sc->fps;
    supple_result result = spl_pool_create(&sim->config, &sim->pool, error);
    if (result == SUPPLE_OK) result = spl_sim_set_common(sim, sc, error);
    if (result == SUPPLE_OK) result = choose_method(sim, sc, error);
    if (result == SUPPLE_OK) result = check_files(sim, sc, error);
    if (result == SUPPLE_OK) result = check_answers(sim, sc, error);
    if (result == SUPPLE_OK) result = spl_sim_set_parameters(sim, sc, error);
    if (result == SUPPLE_OK && sim->wanted) leave_out(sim, sc);
    if (result == SUPPLE_OK && sim->has_flesh)
        result = spl_dynamics_create(sc, sim->scene, sim->flesh.body, &sim->allocator, &sim->dynamics, error);
    if (result == SUPPLE_OK) result = spl_pose_init(&sim->pose, sim->scene, error);
    if (result == SUPPLE_OK) result = make_buffers(sim, error);
    if (result == SUPPLE_OK) result = spl_sim_device_take(sim, sc, error);
    if (result == SUPPLE_OK) result = init_method(sim, sc, error);
    double made = spl_now_ms();
    if (result == SUPPLE_OK) result = spl_amount_create(sim, sc, error);
    double trusted = spl_now_ms();
    if (result == SUPPLE_OK) result = take_rest(sim, error);
    double rested = spl_now_ms();
    if (sim->has_flesh) sim->setup.ms_rest = rested - trusted;
    if (result == SUPPLE_OK && sim->has_flesh) sim->setup.size_m = sim->flesh.body->size_m;
    if (result == SUPPLE_OK) result = spl_sim_cross_create(sim, sc, error);
    sim->setup.ms_checks = spl_now_ms() - rested + trusted - made;
    double checked = spl_now_ms();
    if (result == SUPPLE_OK && sc->slide) result = spl_sim_slide_create(sim, sc, error);
    if (sc->slide) sim->setup.ms_slide = spl_now_ms() - checked;
    if (result != SUPPLE_OK) return result;
    sim->setup.method = sim->method->name;
    sim->setup.thread_count = spl_pool_thread_count(sim->pool);
    sim->setup.ms_total = sim->setup.ms_other = spl_now_ms() - start;
    const supple_setup *t = &sim->setup;
    const double part[] = {t->ms_body, t->ms_weights, t->ms_factor, t->ms_flesh, t->ms_rest, t->ms_checks, t->ms_slide};
    for (size_t k = 0; k < sizeof part / sizeof *part; k++)
        if (isfinite(part[k])) sim->setup.ms_other -= part[k];
    return SUPPLE_OK;
}

supple_result spl_sim_config_check(const supple_sim_config *sc, supple_error *error)
{
    const double *g = sc->gravity;
    if (sc->cookie != SIM_COOKIE)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "sim config: start from supple_sim_config_default()");
    if (!(sc->fps > 0 && sc->fps < 1e6)) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "fps: takes a positive number");
    if (!(sc->budget_ms >= 0 && sc->budget_ms <= 1e9))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "budget: takes milliseconds, 0 for none");
    if (!(sc->substep >= 1e-4 && sc->substep <= 0.1))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "substep: takes seconds from 0.0001 to 0.1");
    if (!(sc->preroll >= 0 && sc->preroll <= 3600))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "preroll: takes seconds from 0 to 3600");
    if (!(sc->root_inertia >= 0 && sc->root_inertia <= 1))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "root inertia: takes a number from 0 to 1");
    if (!(fabs(g[0]) <= 1e4 && fabs(g[1]) <= 1e4 && fabs(g[2]) <= 1e4))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "gravity: takes m/s^2, at most 10000");
    if (!(sc->amount >= 0 && sc->amount <= 1))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "amount: takes a number from 0 to 1");
    for (int32_t k = 0; k < sc->amount_count; k++)
        if (!(sc->amounts[k].amount >= 0 && sc->amounts[k].amount <= 1))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "amount: takes a number from 0 to 1");
    if (sc->collide < SUPPLE_COLLIDE_AUTO || sc->collide > (SUPPLE_COLLIDE_SELF | SUPPLE_COLLIDE_WORLD))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "collide: takes bits of SUPPLE_COLLIDE_*");
    return SUPPLE_OK;
}

supple_result supple_sim_create(const supple_scene *scene, const supple_sim_config *sim_config,
                                const supple_config *config, supple_sim **out, supple_error *error)
{
    *out = NULL;
    supple_sim_config sc = sim_config ? *sim_config : supple_sim_config_default();
    supple_result sensible = spl_sim_config_check(&sc, error);
    if (sensible == SUPPLE_OK) sensible = spl_sim_device_check(&sc, error);
    if (sensible != SUPPLE_OK) return sensible;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    supple_allocator a = spl_allocator_of(config);
    supple_sim *sim = spl_new(&a, 1, sizeof *sim);
    if (!sim) return spl_fail_memory(error, "the simulation");
    sim->scene = scene;
    sim->config = config ? *config : supple_config_default();
    sim->allocator = a;
    result = build(sim, &sc, error);
    if (result != SUPPLE_OK) {
        supple_sim_destroy(sim);
        return result;
    }
    *out = sim;
    return SUPPLE_OK;
}

void supple_sim_destroy(supple_sim *sim)
{
    if (!sim) return;
    supple_allocator a = sim->allocator;
    if (sim->ready) sim->method->release(sim->state, &sim->context);
    spl_cross_destroy(sim->cross);
    spl_free(&sim->allocator, sim->trusted);
    spl_amount_release(sim);
    spl_sim_device_release(sim);
    spl_slide_destroy(sim->skin);
    for (int32_t i = 0; sim->shading && i < sim->part_count; i++) spl_shading_destroy(sim->shading[i]);
    spl_pose_release(&sim->pose);
    spl_dynamics_release(&sim->dynamics, &a);
    spl_flesh_sim_release(&sim->flesh);
    spl_pool_destroy(sim->pool);
    spl_free(&a, sim->shading);
    spl_free(&a, sim->state);
    spl_free(&a, sim->parameter);
    spl_free(&a, sim->part);
    spl_free(&a, sim->rest);
    spl_free(&a, sim->position);
    spl_free(&a, sim->last);
    spl_free(&a, sim);
}

/* ---- the frame ---- */

static void apply_targets(const spl_primitive *p, const float *weight, int32_t weight_count, float *rest)
{
    size_t n = 3 * (size_t)p->vertex_count;
    memcpy(rest, p->position, n * sizeof(float));
    for (int32_t t = 0; t < p->target_count && t < weight_count; t++) {
        const float *d = p->target[t].position;
        float w = weight[t];
        if (w == 0 || !d) continue;
        for (size_t i = 0; i < n; i++) rest[i] += w * d[i];
    }
}

/* Morphs are added in rest space, before any method, so that faces survive. */
static void apply_morphs(supple_sim *sim)
{
    for (int32_t i = 0; i < sim->part_count; i++) {
        const spl_part *part = &sim->part[i];
        if (part->primitive->target_count == 0) continue;
        int32_t node = sim->scene->instance[part->instance].node, first = sim->pose.first_weight[node];
        apply_targets(part->primitive, sim->pose.weight + first, sim->pose.first_weight[node + 1] - first,
                      sim->rest + 3 * (size_t)part->first_vertex);
    }
}

supple_result spl_sim_deform(supple_sim *sim, supple_stats *stats, supple_error *error)
{
    if (needs_body(sim)) {
        spl_flesh_frame frame = spl_sim_flesh_frame(sim);
        supple_result moved = spl_flesh_sim_advance(&sim->flesh, &frame, stats, error);
        return moved == SUPPLE_OK ? spl_flesh_sim_show(&sim->flesh, &frame, sim->flesh.x, stats, error) : moved;
    }
    double start = spl_now_ms();
    supple_result result =
        sim->method->step(sim->state, &sim->context, &sim->pose, sim->rest, sim->position, stats, error);
    stats->ms_solve = spl_now_ms() - start;
    if (result == SUPPLE_OK && sim->has_flesh)
        result = spl_flesh_sim_follow(&sim->flesh, &sim->pose, sim->pool, stats, error);
    return result;
}

spl_flesh_frame spl_sim_flesh_frame(supple_sim *sim)
{
    return (spl_flesh_frame){sim->method, sim->state, &sim->context, &sim->pose, sim->rest, sim->position};
}

void spl_sim_set_time(supple_sim *sim, int32_t clip, double time)
{
    double frame = floor(time * sim->fps + 0.5);
    sim->context.clip = clip;
    sim->context.time = time;
    sim->flesh.frame = fabs(frame) < 1e9 ? (int32_t)frame : 0;
}

void spl_sim_pose_clip(supple_sim *sim, int32_t clip, double time)
{
    spl_pose_sample(&sim->pose, sim->scene, clip, time);
    spl_sim_set_time(sim, clip, time);
    if (sim->has_morphs) apply_morphs(sim);
}

static supple_stats empty_stats(void)
{
    return (supple_stats){.ms_contact = NAN,
                          .ms_upsample = NAN,
                          .ms_slide = NAN,
                          .iterations = -1,
                          .converged = true,
                          .residual = NAN,
                          .energy = NAN,
                          .volume_ratio = NAN,
                          .min_det_f = NAN,
                          .max_strain = NAN,
                          .inverted = -1,
                          .contacts = -1,
                          .crossed = -1,
                          .max_penetration = NAN,
                          .max_fold = NAN,
                          .own_penetration = NAN,
                          .verify_mean = NAN,
                          .verify_max = NAN,
                          .max_bend_deg = NAN,
                          .yield_deg = NAN,
                          .yield_m = NAN,
                          .harm = {-1, NAN, NAN, NAN, NAN, NAN, NAN},
                          .trust = NAN};
}

/* What follows a frame, whichever way it was made. */
static void finish_frame(supple_sim *sim, supple_stats *stats)
{
    stats->ms_total = stats->ms_pose + stats->ms_solve + (isfinite(stats->ms_upsample) ? stats->ms_upsample : 0) +
                      (isfinite(stats->ms_slide) ? stats->ms_slide : 0);
    sim->stats = *stats;
    for (int32_t i = 0; i < sim->part_count; i++)
        spl_shading_set_mirrored(sim->shading[i], spl_pose_mirrors(&sim->pose, sim->scene, sim->part[i].instance));
}

static void swap_positions(supple_sim *sim)
{
    float *last = sim->last;
    sim->last = sim->position;
    sim->position = last;
}

static bool is_finite(const supple_sim *sim)
{
    bool finite = true;
    for (size_t i = 0; i < 3 * (size_t)sim->scene->vertex_count; i++) finite &= isfinite(sim->position[i]) != 0;
    return finite;
}

static void show(supple_sim *sim, supple_stats *stats)
{
    double start = spl_now_ms();
    spl_amount_show(sim, stats);
    stats->ms_checks += spl_now_ms() - start;
}

/* The end of a frame that was made in the other buffer: it is shown, and measured as it is shown, if it is sound. */
static supple_result end_frame(supple_sim *sim, supple_result result, supple_stats *stats, supple_error *error)
{
    double start = spl_now_ms();
    if (result == SUPPLE_OK && !is_finite(sim)) {
        result = spl_fail(error, SUPPLE_ERROR_SOLVE, "the mesh is beyond what numbers can hold in this pose");
        spl_sim_forget(sim);
        if (sim->skin) spl_slide_reset(sim->skin);
        sim->dynamics.running = false;
    }
    if (result == SUPPLE_OK && sim->amount.mode != SPL_AMOUNT_SEEING) result = spl_sim_cross_frame(sim, stats, error);
    if (result != SUPPLE_OK) swap_positions(sim);
    stats->ms_checks += spl_now_ms() - start;
    return result;
}

/* Everything after the pose. `start` is when the step began, dt what is since the last one; NAN: a clip's moment. */
static supple_result run_frame(supple_sim *sim, double start, double dt, supple_error *error)
{
    supple_stats stats = empty_stats();
    if (sim->has_morphs) apply_morphs(sim);
    supple_result result = spl_amount_pose(sim, error);
    stats.ms_pose = spl_now_ms() - start;
    sim->context.dt = 0;
    sim->context.velocity = NULL;
    if (isfinite(dt)) sim->flesh.time = sim->context.time - dt; /* a host's poses have no other time */
    swap_positions(sim);
    sim->amount.take = -1;
    bool kept = !isfinite(dt) && spl_amount_replay(sim, sim->context.clip, sim->context.time, &stats);
    if (result == SUPPLE_OK && !kept) result = spl_sim_deform(sim, &stats, error);
    if (result == SUPPLE_OK) show(sim, &stats);
    if (result == SUPPLE_OK && sim->amount.mode != SPL_AMOUNT_SEEING)
        result = spl_sim_slide_frame(sim, sim->context.clip, sim->context.time, dt, &stats, error);
    result = end_frame(sim, result, &stats, error);
    finish_frame(sim, &stats);
    return result;
}

/* A frame of dynamics: of a clip, or, with matrices, of the host. */
static supple_result run_dynamics(supple_sim *sim, int32_t clip, double time, const float *matrices,
                                  supple_error *error)
{
    supple_stats stats = empty_stats();
    if (matrices)
        spl_pose_from_matrices(&sim->pose, sim->scene, matrices);
    else
        spl_pose_sample(&sim->pose, sim->scene, clip, time);
    if (sim->has_morphs) apply_morphs(sim);
    supple_result result = spl_amount_pose(sim, error);
    sim->amount.take = -1;
    swap_positions(sim);
    if (result == SUPPLE_OK)
        result = matrices ? spl_dynamics_pose(sim, matrices, time, &stats, error)
                          : spl_dynamics_clip(sim, clip, time, &stats, error);
    if (result == SUPPLE_OK) show(sim, &stats);
    if (result == SUPPLE_OK)
        result = spl_sim_slide_frame(sim, matrices ? -1 : clip, time, matrices ? time : (double)NAN, &stats, error);
    result = end_frame(sim, result, &stats, error);
    finish_frame(sim, &stats);
    return result;
}

supple_result supple_sim_step_clip(supple_sim *sim, int32_t clip, double time, supple_error *error)
{
    if (clip < -1 || clip >= sim->scene->clip_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "clip %d: there are %d", (int)clip, (int)sim->scene->clip_count);
    if (!isfinite(time)) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a time must be a finite number");
    if (sim->amount.mode != SPL_AMOUNT_SEEING) {
        supple_result looped = spl_sim_slide_loop(sim, clip, time, error);
        if (looped != SUPPLE_OK) return looped;
    }
    if (sim->dynamics.on) return run_dynamics(sim, clip, time, NULL, error);
    double start = spl_now_ms();
    spl_pose_sample(&sim->pose, sim->scene, clip, time);
    spl_sim_set_time(sim, clip, time);
    return run_frame(sim, start, NAN, error);
}

supple_result supple_sim_step_pose_dt(supple_sim *sim, const float *matrices, int32_t matrix_count, double dt,
                                      supple_error *error)
{
    if (matrix_count != sim->scene->joint_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a pose of %d matrices was given, the character has %d joints",
                        (int)matrix_count, (int)sim->scene->joint_count);
    for (int32_t j = 0; j < matrix_count; j++) {
        const char *fault = spl_matrix_fault(matrices + 16 * (size_t)j);
        if (fault)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "the matrix of joint '%.60s' %s",
                            supple_scene_joint_name(sim->scene, j), fault);
    }
    if (!(dt >= 0)) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "dt: takes seconds, not negative");
    spl_sim_set_time(sim, -1, 0);
    sim->flesh.frame = sim->frame++;
    if (sim->dynamics.on) return run_dynamics(sim, -1, dt, matrices, error);
    double start = spl_now_ms();
    spl_pose_from_matrices(&sim->pose, sim->scene, matrices);
    return run_frame(sim, start, dt, error);
}

supple_result supple_sim_step_pose(supple_sim *sim, const float *matrices, int32_t matrix_count, supple_error *error)
{
    return supple_sim_step_pose_dt(sim, matrices, matrix_count, 1 / sim->fps, error);
}

void spl_sim_forget(supple_sim *sim)
{
    if (sim->method->reset) sim->method->reset(sim->state);
    if (sim->has_flesh) spl_flesh_sim_reset(&sim->flesh);
}

void supple_sim_reset(supple_sim *sim)
{
    spl_sim_forget(sim);
    spl_amount_reset(sim);
    if (sim->skin) spl_slide_reset(sim->skin);
    sim->slide_clip = -1;
    sim->dynamics.running = false;
    sim->frame = 0;
}

/* ---- reading ---- */

void supple_sim_read_positions(const supple_sim *sim, float *out, size_t stride)
{
    unsigned char *to = (unsigned char *)out;
    for (size_t i = 0; i < (size_t)sim->scene->vertex_count; i++)
        memcpy(to + i * stride, sim->position + 3 * i, 3 * sizeof(float));
}

void supple_sim_read_normals(supple_sim *sim, float *out, size_t stride)
{
    for (int32_t i = 0; i < sim->part_count; i++) {
        size_t first = (size_t)sim->part[i].first_vertex;
        float *to = (float *)((unsigned char *)out + first * stride);
        spl_shading_update_normals(sim->shading[i], sim->pool, sim->position + 3 * first, to, stride);
    }
}

void supple_sim_read_tangents(supple_sim *sim, float *out, size_t stride)
{
    for (int32_t i = 0; i < sim->part_count; i++) {
        size_t first = (size_t)sim->part[i].first_vertex;
        float *to = (float *)((unsigned char *)out + first * stride);
        spl_shading_update_tangents(sim->shading[i], sim->pool, sim->position + 3 * first, to, stride);
    }
}

const supple_stats *supple_sim_stats(const supple_sim *sim)
{
    return &sim->stats;
}

const supple_setup *supple_sim_setup(const supple_sim *sim)
{
    return &sim->setup;
}

const supple_body *supple_sim_body(const supple_sim *sim)
{
    return sim->has_flesh ? spl_flesh_sim_body(&sim->flesh) : NULL;
}

bool supple_sim_value(const supple_sim *sim, int32_t index, supple_named_value *out)
{
    int32_t count = 0;
    const supple_named_value *value = sim->method->values ? sim->method->values(sim->state, &count) : NULL;
    if (sim->amount.take >= 0) {
        const spl_take *take = &sim->amount.takes.take[sim->amount.take];
        value = take->value;
        count = take->value_count;
    }
    if (index >= count && sim->skin) {
        index -= count;
        value = spl_slide_values(sim->skin, &count);
    }
    if (index < 0 || index >= count) return false;
    *out = value[index];
    return true;
}

int32_t supple_sim_joint_count(const supple_sim *sim)
{
    return sim->has_flesh && sim->flesh.measures ? sim->flesh.measure.region_count : 0;
}

const char *supple_sim_joint_name(const supple_sim *sim, int32_t index)
{
    if (index < 0 || index >= supple_sim_joint_count(sim)) return NULL;
    return sim->scene->node[sim->flesh.measure.region[index].node].name;
}

double supple_sim_joint_volume(const supple_sim *sim, int32_t index)
{
    if (index < 0 || index >= supple_sim_joint_count(sim)) return NAN;
    return sim->flesh.measure.region[index].ratio;
}
