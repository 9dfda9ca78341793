#include "sim/choose.h"

#include "body/body.h"
#include "body/flesh.h"
#include "body/roles.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "math/vec3.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <supple/tools.h>

/* ---- what it costs ---- */

/* Microseconds on one core of 2023 (docs/choosing.md has the runs): per tetrahedron of an equilibrium where a budget is
 * to be kept, and of the usual one; of one in contact by springs, and by bounded steps, of a step in motion, and of one
 * by bounded steps; per vertex of the visual mesh; and milliseconds a frame whatever the size. */
typedef struct cost {
    const spl_method *method;
    double tet, usual, contact, bounded, step, bounded_step, vertex, fixed;
} cost;

static const cost costs[] = {
    {&spl_method_linear, 0, 0, 0, 0, 0, 0, 0.0035, 0},        {&spl_method_dualquat, 0, 0, 0, 0, 0, 0, 0.003, 0},
    {&spl_method_mixed, 0.8, 0.64, 3.5, 8, 0, 0, 0.03, 0},    {&spl_method_projective, 3, 3, 5, 7.5, 0.4, 1.2, 0.03, 0},
    {&spl_method_steklov, 1.3, 1.3, 2.8, 4.5, 0, 0, 0.03, 0}, {&spl_method_subspace, 0, 0, 0, 0, 0, 0, 0.03, 5},
    {&spl_method_reference, 20, 20, 60, 60, 0, 0, 0.03, 0},
};

#define POLISH_US                                                                                                      \
    0.8 /* a vertex, of an equilibrium in contact: the polish, and limbs where they yield (measured with both) */
#define SLIDE_US 6.0 /* a vertex of skin that slides */
#define STEP_MS  3.6 /* a step of subspace in motion */

static bool asks_self(const supple_sim_config *sc)
{
    return sc->collide > 0 && (sc->collide & SUPPLE_COLLIDE_SELF);
}

/* Whether the flesh will meet itself: asked for, or what the method does by itself. */
static bool meets_itself(const spl_method *m, const supple_sim_config *sc)
{
    if (!(m->answers & SPL_ANSWERS_CONTACT) || (m->answers & SPL_MEETS_ALONE)) return false;
    return asks_self(sc) || (sc->collide == SUPPLE_COLLIDE_AUTO && !(m->answers & SPL_CONTACT_ON_REQUEST));
}

static double frame_ms(const spl_method *method, const supple_scene *scene, const supple_sim_config *sc, double tets,
                       bool usual)
{
    cost c = {0};
    double vertices = scene->vertex_count, steps = fmax(1, ceil(1 / (sc->fps * sc->substep) - 1e-9));
    bool touches = meets_itself(method, sc);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        if (costs[i].method == method) c = costs[i];
    double tet = usual ? c.usual : c.tet;
    double us = c.vertex * vertices + (sc->slide ? SLIDE_US * vertices : 0);
    if (sc->dynamics)
        us += steps * (touches && asks_self(sc) ? c.bounded_step : c.step) * tets;
    else
        us += (!touches ? tet : asks_self(sc) ? c.bounded : c.contact) * tets + (touches ? POLISH_US * vertices : 0);
    return us * 1e-3 + (sc->dynamics && c.fixed > 0 ? steps * STEP_MS : c.fixed);
}

double spl_choose_cost(const spl_method *method, const supple_scene *scene, const supple_sim_config *sc, double tets)
{
    return frame_ms(method, scene, sc, tets, false);
}

/* ---- how large ---- */

/* Area and enclosed volume of what is skinned, and its longest side, in the space of the meshes. */
static void measure_skin(const supple_scene *scene, double *area, double *volume, double *longest)
{
    spl_vec3 low = spl_v3(INFINITY, INFINITY, INFINITY), high = spl_v3(-INFINITY, -INFINITY, -INFINITY);
    *area = *volume = 0;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        for (int32_t p = 0; p < mesh->primitive_count && scene->instance[i].skin >= 0; p++) {
            const spl_primitive *s = &mesh->primitive[p];
            for (int32_t t = 0; t < s->triangle_count; t++) {
                spl_vec3 v[3];
                for (int k = 0; k < 3; k++) {
                    const float *q = s->position + 3 * (size_t)s->triangle[3 * (size_t)t + (size_t)k];
                    v[k] = spl_v3((double)q[0], (double)q[1], (double)q[2]);
                    low = spl_v3(fmin(low.x, v[k].x), fmin(low.y, v[k].y), fmin(low.z, v[k].z));
                    high = spl_v3(fmax(high.x, v[k].x), fmax(high.y, v[k].y), fmax(high.z, v[k].z));
                }
                spl_vec3 n = spl_cross(spl_sub(v[1], v[0]), spl_sub(v[2], v[0]));
                *area += 0.5 * spl_norm(n);
                *volume += spl_dot(n, v[0]) / 6;
            }
        }
    }
    *volume = fabs(*volume);
    *longest = fmax(high.x - low.x, fmax(high.y - low.y, high.z - low.z));
}

/* The user's own tetrahedra, counted in their file; NAN if that cannot be read, which making the body will tell. */
static double count_tets(const char *path)
{
    supple_body_info info;
    supple_config quiet = supple_config_default();
    quiet.log = NULL;
    return supple_tets_convert(path, NULL, false, &quiet, &info, NULL) == SUPPLE_OK ? (double)info.tets : (double)NAN;
}

/* Tetrahedra that the body will have, or at most: `fixed` where the caller has said so, else the method's own budget.
 */
static double expect_tets(const spl_method *m, const supple_scene *scene, const supple_sim_config *sc, bool *fixed)
{
    const supple_body_config *bc = sc->body_config;
    double budget = m->max_tets ? m->max_tets : spl_flesh_options_default().max_tets;
    *fixed = true;
    if (m->output != SPL_OUTPUT_BODY) return 0;
    if (sc->body) return supple_body_get_info(sc->body)->tets;
    if (bc && bc->tet_file) {
        double count = count_tets(bc->tet_file);
        return isfinite(count) ? count : budget;
    }
    if (bc && bc->resolution > 0) {
        double area, volume, longest;
        measure_skin(scene, &area, &volume, &longest);
        if (longest > 0) return spl_flesh_estimate(volume, area, longest / bc->resolution);
    }
    if (asks_self(sc)) budget = fmin(budget, SPL_CHOOSE_CONTACT);
    *fixed = bc && (bc->max_tets > 0 || bc->resolution > 0);
    return bc && bc->max_tets > 0 ? bc->max_tets : budget;
}

/* ---- which ---- */

static bool has_skin(const supple_scene *scene)
{
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        if (scene->instance[i].skin < 0) continue;
        for (int32_t p = 0; p < mesh->primitive_count; p++)
            if (mesh->primitive[p].influence_count > 0) return true;
    }
    return false;
}

/* Whether something was asked for that only flesh can do: then a budget does not take the flesh away. */
static bool insists_on_flesh(const supple_sim_config *sc)
{
    return sc->dynamics || sc->collide > 0 || sc->collider_count > 0 || sc->model || sc->material_file ||
           sc->force_file || sc->gravity[0] != 0 || sc->gravity[1] != 0 || sc->gravity[2] != 0 || sc->body;
}

static const spl_method *wanted(const supple_scene *scene, const supple_sim_config *sc, bool flesh, const char **why)
{
    if (sc->model) {
        *why = "there is a trained model";
        return &spl_method_subspace;
    }
    if (!has_skin(scene) && (!flesh || !insists_on_flesh(sc))) {
        *why = "nothing is skinned, so every vertex just follows its node";
        return &spl_method_linear;
    }
    if (!flesh && !sc->material_file && !sc->force_file) {
        *why = "there is no flesh, and this is exactly the file's own skinning";
        return &spl_method_linear;
    }
    if (sc->dynamics) {
        *why = "flesh that swings is asked for";
        return &spl_method_projective;
    }
    if (asks_self(sc)) {
        *why = "flesh against flesh is asked for, and this is the quickest that keeps it apart";
        return &spl_method_steklov;
    }
    *why = sc->collider_count > 0 ? "there are colliders, and this keeps the flesh's volume"
                                  : "it has flesh, and this keeps its volume";
    return &spl_method_mixed;
}

/* The tetrahedra at which a frame takes as long as it may; costs grow with them. */
static double tets_within(const spl_method *m, const supple_scene *scene, const supple_sim_config *sc)
{
    double low = 0, high = 1e9;
    if (spl_choose_cost(m, scene, sc, high) <= sc->budget_ms) return INFINITY;
    for (int i = 0; i < 100; i++) {
        double middle = 0.5 * (low + high);
        *(spl_choose_cost(m, scene, sc, middle) <= sc->budget_ms ? &low : &high) = middle;
    }
    return low;
}

/* Two digits, downwards: bodies for nearly the same budget are then one body in the cache. */
static double round_down(double tets)
{
    double unit = pow(10, floor(log10(tets)) - 1);
    return unit * floor(tets / unit + 1e-9);
}

static double round_near(double tets)
{
    double unit = pow(10, floor(log10(tets)) - 1);
    return unit * round(tets / unit);
}

/* Adds to a text what still fits. */
static void add(char *text, size_t size, const char *format, ...) SPL_PRINTF(3, 4);
static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* `expected`: tetrahedra of the body, where they were foretold; 0: they were not. */
static void choose(const supple_scene *scene, const supple_sim_config *sc, bool flesh, double expected,
                   supple_choice *out)
{
    const char *why, *but = "";
    bool fixed;
    const spl_method *m = wanted(scene, sc, flesh, &why);
    double tets = expect_tets(m, scene, sc, &fixed);
    if (expected > 0) {
        tets = expected;
        fixed = true;
    }
    double most = sc->budget_ms > 0 ? tets_within(m, scene, sc) : INFINITY;
    if (tets > most && !fixed && most >= SPL_CHOOSE_FEWEST) {
        tets = round_down(most);
        but = ", made coarser for the budget";
    } else if (tets > most && !insists_on_flesh(sc)) {
        m = &spl_method_dualquat; /* linear is no quicker */
        why = "flesh takes longer than the budget, this needs none";
        tets = 0;
    } else if (tets > most && !fixed) {
        tets = SPL_CHOOSE_FEWEST;
        but = ", as coarse as it may be";
    }
    bool known = fixed || but[0] || m->output != SPL_OUTPUT_BODY || sc->model; /* else it is a bound */
    memset(out, 0, sizeof *out);
    out->method = m->name;
    out->ms = frame_ms(m, scene, sc, tets, !(sc->budget_ms > 0));
    out->tets = (int32_t)fmin(tets, 1e9);
    out->fits = !(sc->budget_ms > 0) || out->ms <= sc->budget_ms * (1 + 1e-9);
    add(out->why, sizeof out->why, "%s", why);
    if (m->output == SPL_OUTPUT_BODY && !sc->model)
        add(out->why, sizeof out->why, "; %s %d tetrahedra%s", fixed ? "about" : "up to", (int)out->tets, but);
    if (out->ms >= 0.1 || !out->fits)
        add(out->why, sizeof out->why, "; %s %.3g ms a frame on one core", known ? "about" : "at most about", out->ms);
    else
        add(out->why, sizeof out->why, "; less than 0.1 ms a frame");
    if (!out->fits)
        add(out->why, sizeof out->why, ", more than the %g allowed: nothing asked for is quicker", sc->budget_ms);
}

void spl_choose(const supple_scene *scene, const supple_sim_config *sc, bool flesh, supple_choice *out)
{
    choose(scene, sc, flesh, 0, out);
}

/* ---- for `supple info` ---- */

/* Tetrahedra that the body of a choice will have, two digits of them; 0 where that is known already, or is no matter.
 * With a budget for frames it stays at what the budget allows. */
static supple_result foretell(const supple_scene *scene, const supple_sim_config *sc, const supple_config *config,
                              const supple_choice *choice, double *tets, supple_error *error)
{
    const supple_body_config *bc = sc->body_config;
    const spl_method *m = spl_method_find(choice->method);
    *tets = 0;
    if (m->output != SPL_OUTPUT_BODY || sc->model || sc->body || sc->budget_ms > 0) return SUPPLE_OK;
    if (bc && (bc->tet_file || bc->resolution > 0 || bc->grade || bc->kind != SUPPLE_BODY_TETS)) return SUPPLE_OK;
    spl_body_options options = spl_body_options_default();
    options.flesh.max_tets = choice->tets;
    options.rules = bc ? bc->rules : NULL;
    options.rule_count = bc ? bc->rule_count : 0;
    supple_config quiet = config ? *config : supple_config_default();
    quiet.log = NULL;
    quiet.progress = NULL;
    spl_pool *pool = NULL;
    supple_error failed;
    supple_result result = spl_pool_create(&quiet, &pool, &failed);
    if (result == SUPPLE_OK) result = spl_body_expect(scene, &options, &quiet, pool, tets, &failed);
    spl_pool_destroy(pool);
    *tets = result == SUPPLE_OK ? round_near(fmin(*tets, choice->tets)) : 0;
    if (result == SUPPLE_OK || result == SUPPLE_ERROR_INPUT) return SUPPLE_OK; /* why there is none, making it tells */
    if (error) *error = failed;
    return result;
}

/* Whether something is flesh, by its shape or by a rule. */
static supple_result find_flesh(const supple_scene *scene, const supple_sim_config *sc, const supple_config *config,
                                bool *flesh, supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    const supple_body_config *bc = sc->body_config;
    int32_t count;
    *flesh = sc->body || (bc && bc->tet_file);
    if (*flesh) return SUPPLE_OK;
    spl_roles roles = {0};
    spl_part *part = spl_parts_new(scene, &a, &count);
    supple_result result =
        part ? spl_roles_of_scene(scene, part, count, bc ? bc->rules : NULL, bc ? bc->rule_count : 0, &a, &roles, error)
             : spl_fail_memory(error, "the choice of a method");
    for (int32_t i = 0; result == SUPPLE_OK && i < count; i++)
        *flesh = *flesh || (roles.part[i].share[SUPPLE_ROLE_FLESH] > 0 && spl_part_skinned(scene, &part[i]));
    spl_roles_release(&roles);
    spl_free(&a, part);
    return result;
}

supple_result supple_choose(const supple_scene *scene, const supple_sim_config *sim_config, const supple_config *config,
                            supple_choice *out, supple_error *error)
{
    bool flesh;
    supple_sim_config sc = sim_config ? *sim_config : supple_sim_config_default();
    supple_result result = spl_config_check(config, error);
    if (result == SUPPLE_OK) result = spl_sim_config_check(&sc, error);
    if (result == SUPPLE_OK) result = find_flesh(scene, &sc, config, &flesh, error);
    if (result != SUPPLE_OK) return result;
    double tets;
    supple_choice bound;
    choose(scene, &sc, flesh, 0, &bound);
    result = foretell(scene, &sc, config, &bound, &tets, error);
    if (result == SUPPLE_OK) choose(scene, &sc, flesh, tets, out);
    return result;
}
