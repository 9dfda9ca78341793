#include "sim/flesh.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "rig/bind.h"
#include "sim/inertia.h"
#include "subspace/model_public.h"

#include <string.h>

#define TOLD_DEGREES 2 /* by which limbs are turned before it is told, once */

const spl_parameter spl_flesh_parameter[SPL_FLESH_PARAMETERS] = {
    [SPL_FLESH_VERIFY] = {"verify", "frames", 0, 0, 1e6, "compare with `reference` (corot) on so many frames", NULL},
    [SPL_FLESH_TWIST] = {"twist", "", 0, 0, 1, "twists spread along the bone, or left at the joint", "spread|joint"},
    [SPL_FLESH_POLISH] = {"polish", "", 0, 0, 2, "the mesh is moved out of flesh it touches; auto: without dynamics",
                          "auto|on|off"},
    [SPL_FLESH_BOUNDED] = {"bounded", "", 0, 0, 2, "steps end before flesh passes through flesh; auto: on, but live",
                           "auto|on|off"},
    [SPL_FLESH_YIELD] = {"yield", "", 0, 0, 1, "limbs are turned aside whose bones the motion takes into other flesh",
                         "off|on"},
    [SPL_FLESH_TRUST] = {"trust", "", 0, 0, 1, "flesh is shown only where it is no worse than the file's own skinning",
                         "on|off"},
    [SPL_FLESH_OWN] = {"own", "", 0, 0, 1, "the file's own skinning: blended matrices, or dual quaternions",
                       "linear|dualquat"},
    [SPL_FLESH_UPSAMPLE] = {"upsample", "", 0, 0, 1,
                            "how the visual mesh follows: moving least squares, or displaced along normals",
                            "smooth|normal"},
};

/* ---- creation ---- */

/* Whether steps are bounded so that flesh never passes through flesh: where that is asked for by name and frames are
 * made ahead. A host that plays live has no time for it, nor memory that grows. */
static bool is_bounded(const spl_flesh_setup *s)
{
    bool asked = s->sim->collide != SUPPLE_COLLIDE_AUTO && s->sim->frame_total > 0;
    return s->common[SPL_FLESH_BOUNDED] == 1 || (s->common[SPL_FLESH_BOUNDED] == 0 && asked);
}

static supple_result take_body(spl_flesh_sim *f, spl_flesh_setup *s, supple_error *error)
{
    double start = spl_now_ms();
    supple_body_config bc = s->sim->body_config ? *s->sim->body_config : supple_body_config_default();
    if (bc.max_tets == 0) bc.max_tets = s->max_tets;
    if (s->sim->model && s->own_start) spl_model_body_config(&s->sim->model->model, &bc);
    bc.parted = bc.parted || ((s->collide & SUPPLE_COLLIDE_SELF) && (s->own_contacts || is_bounded(s)));
    f->given = s->sim->body;
    if (s->common[SPL_FLESH_UPSAMPLE] != 0) bc.upsampling = SUPPLE_UPSAMPLE_NORMAL;
    if (f->given && bc.upsampling != f->given->body.upsampling && s->common[SPL_FLESH_UPSAMPLE] != 0)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "upsample: the body was made with another kind of upsampling");
    if (!f->given) {
        supple_result result = supple_body_create(s->scene, &bc, s->config, &f->own, error);
        bool own_tets = s->sim->body_config && s->sim->body_config->tet_file;
        s->no_flesh = result == SUPPLE_ERROR_INPUT && !own_tets;
        if (result != SUPPLE_OK) return result;
        f->given = f->own;
    }
    f->body = &f->given->body;
    if (f->body->scene != s->scene) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "the body belongs to another scene");
    s->setup->ms_body = f->own ? spl_now_ms() - start : f->given->info.ms;
    return SUPPLE_OK;
}

static supple_result read_files(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    if (s->sim->material_file)
        result = spl_material_set_load(s->sim->material_file, &f->allocator, &f->materials, error);
    if (result == SUPPLE_OK && s->sim->force_file) {
        result = spl_force_file_load(s->sim->force_file, &f->allocator, &f->force_file, error);
        if (result == SUPPLE_OK) result = spl_force_set_make(f->body, &f->force_file, &f->allocator, &f->forces, error);
    }
    return result;
}

/* Gravity pulls at the lumped masses. In the solver's space it is turned round where that is mirrored. */
static supple_result make_forces(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    const double *g = s->sim->gravity;
    bool heavy = g[0] != 0 || g[1] != 0 || g[2] != 0;
    size_t n = (size_t)f->body->tets.vertex_count;
    if (!heavy && !s->sim->force_file) return SUPPLE_OK;
    f->force = spl_new(&f->allocator, n, 3 * sizeof *f->force);
    f->weight = heavy ? spl_new(&f->allocator, n, 3 * sizeof *f->weight) : NULL;
    f->mass = spl_new(&f->allocator, n, sizeof *f->mass);
    if (!f->force || !f->mass || (heavy && !f->weight)) return spl_fail_memory(error, "the forces");
    spl_elements_lumped_mass(&f->solid.elements, f->solid.material.density, f->mass);
    if (!heavy) return SUPPLE_OK;
    double sign = f->solid.drive.to_solver < 0 ? -1 : 1;
    for (size_t v = 0; v < n; v++)
        for (size_t i = 0; i < 3; i++) f->weight[3 * v + i] = sign * f->mass[v] * g[i];
    return SUPPLE_OK;
}

static supple_result make_dynamics(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    size_t n = (size_t)f->body->tets.vertex_count;
    f->root_inertia = s->sim->root_inertia;
    f->own_start = s->own_start;
    if (!s->sim->dynamics) return SUPPLE_OK;
    f->velocity = spl_new(&f->allocator, n, 3 * sizeof *f->velocity);
    f->spare = spl_new(&f->allocator, n, 3 * sizeof *f->spare);
    f->answer = spl_new(&f->allocator, n, 3 * sizeof *f->answer);
    return f->velocity && f->spare && f->answer ? SUPPLE_OK : spl_fail_memory(error, "the body's motion");
}

static supple_result make_others(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    bool all = true;
    for (int32_t v = 0; v < s->scene->vertex_count; v++) all = all && f->body->lifted[v];
    if (all) return SUPPLE_OK;
    f->other = spl_new(&f->allocator, (size_t)s->scene->vertex_count, 3 * sizeof *f->other);
    if (!f->other) return spl_fail_memory(error, "the file's own skinning");
    supple_result result = spl_riders_frame_create(&f->body->riders, &f->allocator, &f->riders, error);
    return result == SUPPLE_OK ? spl_skinning_init(&f->others, s->scene, &f->allocator, error) : result;
}

static supple_result make_deltas(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    bool any = false;
    for (int32_t i = 0; i < f->body->part_count; i++)
        any = any || (spl_body_has_flesh(f->body, i) && f->body->part[i].primitive->target_count > 0);
    if (!any) return SUPPLE_OK;
    f->delta = spl_new(&f->allocator, (size_t)s->scene->vertex_count, 3 * sizeof *f->delta);
    return f->delta ? SUPPLE_OK : spl_fail_memory(error, "the morphs");
}

static supple_result make_buffers(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    const supple_allocator *a = &f->allocator;
    size_t n = (size_t)f->body->tets.vertex_count;
    f->x = spl_new(a, n, 3 * sizeof *f->x);
    f->posed = spl_new(a, n, 3 * sizeof *f->posed);
    f->counts = spl_new(a, (size_t)f->body->tets.tet_count / 1024 + 1, sizeof *f->counts);
    if (!f->x || !f->posed || !f->counts) return spl_fail_memory(error, "the body's motion");
    supple_result result = spl_pose_past_create(&f->solid, &f->past, error);
    if (result == SUPPLE_OK) result = spl_upsample_frame_create(f->body->upsample, a, &f->rides, error);
    if (result == SUPPLE_OK) result = make_deltas(f, s, error);
    return result == SUPPLE_OK ? make_others(f, s, error) : result;
}

/* Where the body does not cross, its mesh does not. `bones`: of the barrier that says what is released. */
static supple_result make_clear(spl_flesh_sim *f, int32_t bones, const spl_flesh_setup *s, supple_error *error)
{
    f->kinds = bones;
    if (s->common[SPL_FLESH_POLISH] == 2) return SUPPLE_OK;
    f->ease = spl_new(&f->allocator, (size_t)bones * (size_t)bones, sizeof *f->ease);
    if (!f->ease) return spl_fail_memory(error, "the mesh's folds");
    supple_result result = spl_squeeze_create(f->body, &f->solid.weights, &f->allocator, s->pool, &f->squeeze, error);
    return result == SUPPLE_OK ? spl_clear_create(&f->solid, bones, s->pool, &f->clear, error) : result;
}

/* Limbs are turned aside, on request. */
static supple_result make_yield(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    if (s->common[SPL_FLESH_YIELD] != 1) return SUPPLE_OK;
    supple_result result = spl_yield_create(&f->solid, f->sunk, s->config, s->pool, &f->yield, error);
    return result == SUPPLE_OK ? spl_aside_create(s->scene, &f->allocator, &f->aside, error) : result;
}

/* Flesh against flesh by springs alone: contact is given up where bones are sunk, and the mesh is polished. */
static supple_result make_unbounded(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    /* The polish knows nothing of the last frame: flesh that swings would have it come and go. */
    bool polish = s->common[SPL_FLESH_POLISH] == 1 || (s->common[SPL_FLESH_POLISH] == 0 && !s->sim->dynamics);
    return polish ? spl_polish_create(f->contacts, s->config, &f->polish, error) : SUPPLE_OK;
}

/* Springs, and a state without crossings that is never left. */
static supple_result make_bounded(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    supple_result result = spl_feasible_create(&f->solid, s->pool, &f->feasible, error);
    if (result != SUPPLE_OK) return result;
    spl_contacts_follow(f->contacts, f->feasible);
    result = spl_excuses_create(s->scene, &f->body->bones, 0, s->config, &f->allocator, &f->excuses, error);
    return result == SUPPLE_OK ? make_clear(f, f->body->bones.bone_count, s, error) : result;
}

/* For a method that asks for them. */
static supple_result make_springs(spl_flesh_sim *f, const spl_flesh_setup *s, const spl_contact_options *options,
                                  supple_error *error)
{
    bool bounded = is_bounded(s), sinks = !bounded || s->common[SPL_FLESH_YIELD] == 1;
    supple_result result =
        spl_contacts_create(&f->solid, f->world.colliders, options, s->config, s->pool, &f->contacts, error);
    if (result != SUPPLE_OK || !options->self) return result;
    if (sinks) result = spl_sunk_create(&f->solid, f->contacts, s->config, s->pool, &f->sunk, error);
    if (result == SUPPLE_OK && !bounded) spl_contacts_bear(f->contacts, f->sunk->share);
    if (result == SUPPLE_OK) result = make_yield(f, s, error);
    if (result != SUPPLE_OK) return result;
    return bounded ? make_bounded(f, s, error) : make_unbounded(f, s, error);
}

/* For a method that finds them itself, behind a barrier. */
static supple_result make_barrier(spl_flesh_sim *f, const spl_flesh_setup *s, bool self, supple_error *error)
{
    int32_t colliders = spl_colliders_count(f->world.colliders);
    supple_result result =
        spl_excuses_create(s->scene, &f->body->bones, colliders, s->config, &f->allocator, &f->excuses, error);
    return result == SUPPLE_OK && self ? make_clear(f, f->body->bones.bone_count + colliders, s, error) : result;
}

static supple_result make_contacts(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    spl_contact_options options = spl_contact_options_default();
    options.self = s->collide & SUPPLE_COLLIDE_SELF;
    options.world = s->collide & SUPPLE_COLLIDE_WORLD;
    if (!options.self && !(options.world && s->sim->collider_count > 0)) return SUPPLE_OK;
    supple_result result = options.world ? spl_world_create(s->sim, s->scene, f->solid.drive.to_solver, s->config,
                                                            s->pool, &f->world, error)
                                         : SUPPLE_OK;
    if (result != SUPPLE_OK) return result;
    return s->own_contacts ? make_barrier(f, s, options.self, error) : make_springs(f, s, &options, error);
}

static supple_result make_verify(spl_flesh_sim *f, const spl_flesh_setup *s, supple_error *error)
{
    f->verify = (int32_t)s->common[SPL_FLESH_VERIFY];
    f->verify_of = s->sim->frame_total;
    if (f->verify <= 0) return SUPPLE_OK;
    spl_statics_options options = spl_statics_options_default();
    options.backend = s->config->solver;
    options.solver = SPL_STATICS_PCG;
    options.tolerance = 1e-6;
    options.size = f->solid.diagonal;
    f->truth = spl_new(&f->allocator, (size_t)f->body->tets.vertex_count, 3 * sizeof *f->truth);
    if (!f->truth) return spl_fail_memory(error, "the reference");
    supple_result result = spl_pins_create(&f->solid, SPL_PIN_HARD, 0, &f->pins, error);
    if (result != SUPPLE_OK) return result;
    return spl_statics_create(&f->solid.elements, f->pins.held, &f->allocator, s->pool, &options, &f->reference, error);
}

static supple_result build(spl_flesh_sim *f, spl_flesh_setup *s, supple_error *error)
{
    supple_result result = take_body(f, s, error);
    if (result == SUPPLE_OK) result = read_files(f, s, error);
    double start = spl_now_ms();
    if (result == SUPPLE_OK)
        result = spl_solid_create(f->body, s->sim->material_file ? &f->materials : NULL, s->config, s->pool, &f->solid,
                                  error);
    double solid = spl_now_ms();
    s->setup->ms_weights = solid - start;
    f->solid.drive.spread = s->common[SPL_FLESH_TWIST] == 0;
    if (result == SUPPLE_OK) result = make_forces(f, s, error);
    if (result == SUPPLE_OK) result = make_dynamics(f, s, error);
    if (result == SUPPLE_OK) result = make_buffers(f, s, error);
    if (result == SUPPLE_OK) result = make_contacts(f, s, error);
    f->measures = s->sim->measure;
    if (result == SUPPLE_OK && f->measures) result = spl_measure_create(&f->solid, &f->measure, error);
    f->baseline = s->baseline;
    if (result == SUPPLE_OK && f->baseline)
        result = spl_follow_create(&f->solid, &f->follow, error);
    else if (result == SUPPLE_OK)
        result = make_verify(f, s, error);
    s->setup->ms_flesh = spl_now_ms() - solid;
    return result;
}

supple_result spl_flesh_sim_create(spl_flesh_setup *setup, spl_flesh_sim *out, supple_error *error)
{
    *out = (spl_flesh_sim){.allocator = spl_allocator_of(setup->config)};
    supple_result result = build(out, setup, error);
    if (result != SUPPLE_OK) spl_flesh_sim_release(out);
    return result;
}

void spl_flesh_sim_release(spl_flesh_sim *f)
{
    const supple_allocator *a = &f->allocator;
    if (!a->release) return;
    spl_statics_destroy(f->reference);
    spl_polish_destroy(f->polish);
    spl_clear_destroy(f->clear);
    spl_squeeze_destroy(f->squeeze);
    spl_excuses_release(&f->excuses);
    spl_free(a, f->ease);
    spl_yield_destroy(f->yield);
    spl_aside_release(&f->aside);
    spl_sunk_destroy(f->sunk);
    spl_contacts_destroy(f->contacts);
    spl_feasible_destroy(f->feasible);
    spl_world_release(&f->world);
    spl_pins_release(&f->pins);
    spl_measure_release(&f->measure);
    spl_follow_release(&f->follow);
    spl_upsample_frame_destroy(f->rides);
    spl_skinning_release(&f->others, a);
    spl_riders_frame_release(&f->riders);
    spl_pose_past_release(&f->past, a);
    spl_solid_release(&f->solid);
    spl_material_set_release(&f->materials);
    spl_force_set_release(&f->forces);
    spl_force_file_release(&f->force_file);
    spl_free(a, f->force);
    spl_free(a, f->weight);
    spl_free(a, f->mass);
    spl_free(a, f->velocity);
    spl_free(a, f->spare);
    spl_free(a, f->answer);
    spl_free(a, f->x);
    spl_free(a, f->posed);
    spl_free(a, f->counts);
    spl_free(a, f->other);
    spl_free(a, f->delta);
    spl_free(a, f->truth);
    supple_body_destroy(f->own);
    *f = (spl_flesh_sim){0};
}

void spl_flesh_sim_reset(spl_flesh_sim *f)
{
    f->has_past = false;
    f->launch = false;
    f->stepped = 0;
    f->verified = 0;
    spl_drive_reset(&f->solid.drive);
    if (f->contacts) spl_contacts_reset(f->contacts);
    if (f->feasible) spl_feasible_reset(f->feasible);
    if (f->clear) spl_clear_reset(f->clear);
    spl_excuses_end(&f->excuses);
    if (f->yield) spl_yield_reset(f->yield);
    if (f->sunk) spl_sunk_reset(f->sunk);
}

const supple_body *spl_flesh_sim_body(const spl_flesh_sim *f)
{
    return f->given;
}

/* ---- a frame ---- */

/* x of the last frame, carried by the bones' motion; without a past, the rest shape posed by the weights. */
static void set_start(spl_flesh_sim *f, spl_pool *pool)
{
    if (f->has_past)
        spl_solid_carry(&f->solid, &f->past, f->x, pool);
    else
        spl_solid_pose(&f->solid, f->x, pool);
}

static void keep_past(spl_flesh_sim *f)
{
    spl_pose_past_keep(&f->past, &f->solid.drive);
    f->has_past = true;
}

/* A step of dynamics starts where the last one ended. */
static void set_dynamic_start(spl_flesh_sim *f, spl_method_context *c)
{
    spl_inertia inertia = {&f->solid, &f->past, f->x, f->velocity};
    if (f->launch)
        f->moved = spl_inertia_launch(&inertia, 1 - f->root_inertia, c->dt, f->spare, c->pool);
    else
        f->moved = spl_inertia_follow_root(&inertia, 1 - f->root_inertia);
    c->moved = f->root_inertia < 1 ? &f->moved : NULL;
    f->launch = false;
}

/* Limbs whose bones the motion takes into other flesh are turned aside. */
static supple_result yield(spl_flesh_sim *f, const spl_method_context *c, double elapsed, spl_pose *pose,
                           supple_error *error)
{
    supple_result result = spl_yield_pose(f->yield, pose, elapsed, c->pool, error);
    double degrees = spl_yield_angle(f->yield) * (180 / M_PI);
    if (result == SUPPLE_OK && degrees > TOLD_DEGREES && !f->told) {
        f->told = true;
        spl_log(c->config, SUPPLE_LOG_INFO,
                "frame %d: the motion takes bones into other flesh; limbs are turned aside, out of the animator's pose",
                (int)f->frame);
    }
    return result;
}

supple_result spl_flesh_sim_pose(spl_flesh_sim *f, const spl_method_context *c, spl_pose *pose, supple_error *error)
{
    int32_t contacts = 0;
    double elapsed = f->has_past ? c->time - f->time : 0;
    f->time = c->time;
    if (f->yield) spl_aside_keep(&f->aside, pose);
    if (f->contacts) spl_contacts_list(f->contacts, &contacts);
    /* In motion nothing is sought until flesh has met flesh. */
    bool apart = c->dt > 0 && contacts == 0 && (!f->yield || spl_yield_angle(f->yield) == 0);
    supple_result result =
        f->yield && !apart ? yield(f, c, elapsed, pose, error) : spl_drive_pose(&f->solid.drive, pose, error);
    if (result != SUPPLE_OK || !f->sunk || f->feasible) return result;
    if (apart)
        spl_sunk_reset(f->sunk);
    else
        spl_sunk_share(f->sunk, c->pool);
    return SUPPLE_OK;
}

void spl_flesh_sim_turn(spl_flesh_sim *f, spl_pose *pose)
{
    if (!f->yield) return;
    spl_aside_keep(&f->aside, pose);
    spl_yield_turn(f->yield, pose);
}

/* By how much the frame's limbs are turned aside, and how far that has moved anything. */
static void tell_yield(spl_flesh_sim *f, const spl_flesh_frame *frame, supple_stats *stats)
{
    if (!f->yield) return;
    double angle = spl_yield_angle(f->yield), metre = fabs(f->solid.drive.to_solver);
    stats->yield_deg = angle * (180 / M_PI);
    stats->yield_m =
        angle > 0 ? metre * spl_aside_measure(&f->aside, frame->pose, frame->rest, frame->context->pool) : 0;
}

supple_result spl_flesh_sim_wrap(spl_flesh_sim *f, const spl_method_context *c, spl_pose *pose, supple_error *error)
{
    f->time = c->time; /* none passes */
    supple_result result = spl_flesh_sim_pose(f, c, pose, error);
    if (result != SUPPLE_OK) return result;
    spl_inertia inertia = {&f->solid, &f->past, f->x, f->velocity};
    spl_inertia_follow_root(&inertia, 1);
    keep_past(f);
    return SUPPLE_OK;
}

/* Morphs move the skin at rest; what they add is carried by the flesh. */
static void set_deltas(spl_flesh_sim *f, const supple_scene *scene, const float *rest)
{
    for (int32_t i = 0; i < f->body->part_count; i++) {
        const spl_part *part = &f->body->part[i];
        const spl_primitive *p = part->primitive;
        int32_t skin = scene->instance[part->instance].skin;
        if (p->target_count == 0 || !spl_body_has_flesh(f->body, i)) continue;
        spl_mat4 home = skin >= 0 ? spl_bind_between(scene, skin, f->body->home) : spl_mat4_identity();
        spl_mat3 linear = spl_mat3_linear(&home);
        for (size_t v = 0; v < (size_t)p->vertex_count; v++) {
            size_t at = 3 * ((size_t)part->first_vertex + v);
            spl_vec3 d = spl_sub(spl_v3_from_float(rest + at), spl_v3_from_float(p->position + 3 * v));
            spl_v3_to_float(spl_mat3_apply(&linear, d), f->delta + at);
        }
    }
}

static void show(spl_flesh_sim *f, const spl_flesh_frame *frame, const double *x)
{
    const spl_method_context *c = frame->context;
    const float *rest = frame->rest;
    float *out = frame->out;
    spl_drive_to_body(&f->solid.drive, x, f->posed);
    spl_upsample_target to = {.position = out, .position_stride = 3 * sizeof(float)};
    if (f->delta) set_deltas(f, c->scene, rest);
    spl_upsample_input in = {.body_float = f->posed, .delta = f->delta};
    spl_upsample_apply_input(f->body->upsample, f->rides, c->pool, &in, &to);
    if (f->squeeze) spl_squeeze_apply(f->squeeze, f->posed, f->delta, c->pool, out);
    float scale = (float)spl_drive_world_scale(&f->solid.drive);
    size_t n = (size_t)c->scene->vertex_count;
    for (size_t k = 0; scale != 1 && k < 3 * n; k++) out[k] *= scale;
    if (!f->other) return;
    spl_skinning_set_matrices(&f->others, c->scene, frame->pose, true);
    spl_skinning_run(&f->others, c->pool, rest, f->other);
    spl_riders_apply(&f->body->riders, &f->riders, frame->pose, f->posed, spl_drive_world_scale(&f->solid.drive), out,
                     c->pool, f->other);
    for (size_t v = 0; v < n; v++)
        if (!f->body->lifted[v]) memcpy(out + 3 * v, f->other + 3 * v, 3 * sizeof *out);
}

/* Whether this frame is one of those to be compared: `verify` of them, evenly spread. */
static bool is_verified(const spl_flesh_sim *f)
{
    if (f->verified >= f->verify) return false;
    if (f->verify_of <= f->verify) return true;
    return (int64_t)f->stepped * f->verify / f->verify_of >= f->verified;
}

/* Distance to the quasistatic solution of the same problem with the corotational energy. */
static supple_result compare(spl_flesh_sim *f, const spl_method_context *c, supple_stats *stats, supple_error *error)
{
    const spl_solid *s = &f->solid;
    size_t n = (size_t)f->body->tets.vertex_count;
    memcpy(f->truth, f->x, 3 * n * sizeof *f->truth);
    spl_drive_hold(&s->drive, f->body->bone, f->truth);
    spl_pins_pose(&f->pins, &s->drive);
    spl_statics_problem problem = {.law = &spl_law_corot,
                                   .mu = s->material.mu,
                                   .lambda = s->material.lambda,
                                   .pin = f->pins.pin,
                                   .pin_count = f->pins.count,
                                   .force = s->force};
    spl_statics_stats solved;
    supple_result result = spl_statics_solve(f->reference, &problem, f->truth, &solved, error);
    if (result != SUPPLE_OK) return result;
    double sum = 0, largest = 0;
    for (size_t v = 0; v < n; v++) {
        const double *p = f->x + 3 * v, *q = f->truth + 3 * v;
        double d = spl_distance(spl_v3(p[0], p[1], p[2]), spl_v3(q[0], q[1], q[2]));
        sum += d;
        largest = fmax(largest, d);
    }
    stats->verify_mean = sum / (double)n / s->diagonal;
    stats->verify_max = largest / s->diagonal;
    f->verified++;
    spl_log(c->config, SUPPLE_LOG_INFO,
            "frame %d: distance to reference (corot, residual %.1e): mean %.3f%%, largest %.2f%% of the diagonal",
            (int)f->frame, solved.residual, 100 * stats->verify_mean, 100 * stats->verify_max);
    return SUPPLE_OK;
}

static void set_forces(spl_flesh_sim *f)
{
    size_t n = 3 * (size_t)f->body->tets.vertex_count;
    if (!f->force) return;
    if (f->force_file.force_count > 0)
        spl_force_set_at(&f->forces, f->frame, f->force);
    else
        memset(f->force, 0, n * sizeof *f->force);
    for (size_t i = 0; f->weight && i < n; i++) f->force[i] += f->weight[i];
    f->solid.force = f->force;
}

/* Where the body's contacts are released the mesh's are too. */
static void clear_folds(spl_flesh_sim *f, const spl_flesh_frame *frame)
{
    spl_solution solution;
    frame->method->solution(frame->state, frame->context, &solution);
    if (f->feasible) solution.barrier = spl_feasible_barrier(f->feasible);
    if (solution.barrier) spl_barrier_keep(solution.barrier, f->ease);
    for (int32_t i = 0; i < f->kinds * f->kinds; i++) f->ease[i] = !solution.barrier || f->ease[i] > 0 ? 1 : 0;
    f->cleared = spl_clear_apply(f->clear, f->ease, frame->out);
}

void spl_flesh_sim_glance(spl_flesh_sim *f, const spl_flesh_frame *frame, const double *x)
{
    if (!f->clear) return;
    show(f, frame, x);
    clear_folds(f, frame);
}

/* Before the method's answer is bounded: velocities become those against the state's, which bones carry and which
 * stands in `spare` then, for where the step began. */
static void take_own_velocity(spl_flesh_sim *f, const spl_method_context *c)
{
    const double *y = spl_feasible_x(f->feasible);
    for (size_t i = 0; i < 3 * (size_t)f->body->tets.vertex_count; i++) {
        double carried = (y[i] - f->spare[i]) / c->dt;
        f->spare[i] = carried;
        c->velocity[i] -= carried;
    }
    memcpy(f->answer, f->x, 3 * (size_t)f->body->tets.vertex_count * sizeof *f->x);
}

/* What was stopped has lost what it had of its velocity against that, and gains none: it does not bounce. */
static void stop(spl_flesh_sim *f, const spl_method_context *c)
{
    for (size_t i = 0; i < 3 * (size_t)f->body->tets.vertex_count; i += 3) {
        double *u = c->velocity + i, d[3], length = 0, against = 0;
        for (size_t k = 0; k < 3; k++) {
            d[k] = f->x[i + k] - f->answer[i + k];
            length += d[k] * d[k];
        }
        length = sqrt(length);
        for (size_t k = 0; k < 3 && length > 0; k++) against -= u[k] * d[k] / length;
        double lost = fmin(fmax(against, 0), length / c->dt);
        for (size_t k = 0; k < 3; k++) {
            if (length > 0) u[k] += lost * d[k] / length;
            u[k] += f->spare[i + k];
        }
    }
}

/* The method's answer, as far as nothing crosses on the way there. */
static supple_result keep_apart(spl_flesh_sim *f, const spl_method_context *c, supple_error *error)
{
    size_t n = 3 * (size_t)f->body->tets.vertex_count;
    bool moves = c->dt > 0 && c->velocity;
    spl_contacts_learn(f->contacts, f->x);
    int32_t touching;
    const double *share;
    const int32_t *vertex = spl_contacts_vertices(f->contacts, &share, &touching);
    if (!moves && touching > 0 && spl_feasible_still(f->feasible) && !f->force && !f->world.colliders) {
        memcpy(f->x, spl_feasible_x(f->feasible), n * sizeof *f->x); /* flesh that touches lies as it lay */
        return SUPPLE_OK;
    }
    if (!moves) spl_feasible_damp(f->feasible, vertex, share, touching, f->x);
    if (moves) take_own_velocity(f, c);
    supple_result result = spl_contacts_failed(f->contacts) ? spl_fail_memory(error, "contacts")
                                                            : spl_feasible_end(f->feasible, f->x, error);
    if (moves && result == SUPPLE_OK) stop(f, c);
    return result;
}

supple_result spl_flesh_sim_advance(spl_flesh_sim *f, const spl_flesh_frame *frame, supple_stats *stats,
                                    supple_error *error)
{
    spl_method_context *c = frame->context;
    double start = spl_now_ms();
    int32_t iterations = stats->iterations;
    supple_result result = spl_flesh_sim_pose(f, c, frame->pose, error);
    if (result != SUPPLE_OK) return result;
    set_forces(f);
    spl_world_pose(&f->world, c->time);
    c->contacts = f->contacts;
    c->colliders = f->world.colliders;
    c->moved = NULL;
    c->root_inertia = f->root_inertia;
    c->pushed = f->force_file.force_count > 0;
    c->mass = f->mass;
    if (c->dt > 0 && !f->own_start)
        set_dynamic_start(f, c);
    else if (!f->own_start)
        set_start(f, c->pool);
    double posed = spl_now_ms();
    bool moves = c->dt > 0 && c->velocity;
    if (f->feasible && moves) memcpy(f->spare, f->x, 3 * (size_t)f->body->tets.vertex_count * sizeof *f->x);
    if (f->feasible) result = spl_feasible_begin(f->feasible, moves, error);
    if (f->feasible && spl_feasible_anew(f->feasible))
        memcpy(f->x, spl_feasible_x(f->feasible), 3 * (size_t)f->body->tets.vertex_count * sizeof *f->x);
    if (result == SUPPLE_OK) result = frame->method->solve(frame->state, c, f->x, stats, error);
    if (result == SUPPLE_OK && f->feasible) result = keep_apart(f, c, error);
    if (result != SUPPLE_OK) {
        spl_flesh_sim_reset(f);
        return result;
    }
    if (iterations > 0 && stats->iterations > 0) stats->iterations += iterations;
    stats->ms_pose += posed - start;
    stats->ms_solve += spl_now_ms() - posed;
    keep_past(f);
    if (f->velocity && !(c->dt > 0)) {
        memset(f->velocity, 0, 3 * (size_t)f->body->tets.vertex_count * sizeof *f->velocity);
        f->launch = true;
    }
    return SUPPLE_OK;
}

/* Tets that are left out of what is solved are not counted: only the motion could turn them back. */
static void measure(spl_flesh_sim *f, const spl_flesh_frame *frame, supple_stats *stats)
{
    const spl_method_context *c = frame->context;
    spl_solution solution;
    frame->method->solution(frame->state, c, &solution);
    if (!f->own_start || c->whole) /* else x is not all there */
        stats->inverted = spl_inverted_count(&f->solid.elements, f->x, f->counts, c->pool);
    const spl_barrier *barrier = f->feasible ? spl_feasible_barrier(f->feasible) : solution.barrier;
    double missing = f->feasible ? spl_feasible_missing(f->feasible) : solution.missing;
    if (barrier && f->excuses.ease) spl_excuses_frame(&f->excuses, barrier, missing, f->cleared, c->clip, f->frame);
    double start = spl_now_ms();
    if (f->measures) spl_measure_frame(&f->measure, &solution, f->x, c->pool, stats);
    stats->ms_checks += spl_now_ms() - start;
    for (int32_t k = 0; solution.exempt && stats->inverted > 0 && k < f->solid.elements.count; k++)
        stats->inverted -= solution.exempt[k];
}

supple_result spl_flesh_sim_show(spl_flesh_sim *f, const spl_flesh_frame *frame, const double *x, supple_stats *stats,
                                 supple_error *error)
{
    const spl_method_context *c = frame->context;
    supple_result result = SUPPLE_OK;
    double start = spl_now_ms();
    show(f, frame, x);
    if (f->clear) clear_folds(f, frame);
    if (f->polish) spl_polish_apply(f->polish, x, !(c->dt > 0), frame->out, c->pool);
    stats->ms_upsample = spl_now_ms() - start;
    measure(f, frame, stats);
    tell_yield(f, frame, stats);
    if (is_verified(f)) result = compare(f, c, stats, error);
    f->stepped++;
    return result;
}

supple_result spl_flesh_sim_follow(spl_flesh_sim *f, const spl_pose *pose, spl_pool *pool, supple_stats *stats,
                                   supple_error *error)
{
    supple_result result = spl_drive_pose(&f->solid.drive, pose, error);
    if (result != SUPPLE_OK) return result;
    spl_follow_pose(&f->follow, pose, f->x);
    double start = spl_now_ms();
    spl_measure_frame(&f->measure, NULL, f->x, pool, stats);
    stats->ms_checks += spl_now_ms() - start;
    return SUPPLE_OK;
}
