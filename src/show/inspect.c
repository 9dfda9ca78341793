/* `supple info`: what is in a file, what is wrong with it, and what Supple will make of it. */
#include "body/roles.h"
#include "core/error.h"
#include "core/memory.h"
#include "rig/bones.h"
#include "rig/size.h"
#include "sim/choose.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <supple/tools.h>

enum { MAX_FINDINGS = 64, NAME_LIST = 120 };

/* The report with all that it points to. */
typedef struct inspection {
    supple_report report; /* first: what the caller holds */
    supple_allocator allocator;
    const supple_scene *scene;
    const supple_config *config;
    spl_part *part;
    int32_t part_count;
    spl_roles roles;
    spl_bones bones;
    float *position; /* the rest pose */
    supple_part *parts;
    supple_bone *bone_list;
    supple_finding *findings;
    supple_choice choice; /* by the defaults */
    char (*text)[256];    /* of the findings */
} inspection;

static void add_finding(inspection *x, bool warning, const char *format, ...) SPL_PRINTF(3, 4);
static void add_finding(inspection *x, bool warning, const char *format, ...)
{
    int32_t n = x->report.finding_count;
    if (n == MAX_FINDINGS) return;
    va_list args;
    va_start(args, format);
    vsnprintf(x->text[n], sizeof x->text[n], format, args);
    va_end(args);
    spl_sanitise(x->text[n]);
    x->findings[n] = (supple_finding){warning, x->text[n]};
    x->report.finding_count++;
}

/* Appends a name to "a, b, c, ..." while there is room. */
static void add_name(char *list, const char *name, int32_t index)
{
    size_t used = strlen(list);
    if (used + strlen(name) + 8 < NAME_LIST)
        snprintf(list + used, NAME_LIST - used, "%s%s", index ? ", " : "", name);
    else if (used < NAME_LIST - 6 && strcmp(list + used - 3, "...") != 0)
        strcat(list, ", ...");
}

/* ---- findings ---- */

static void find_idle_joints(inspection *x)
{
    const supple_scene *scene = x->scene;
    char list[NAME_LIST] = "";
    int32_t idle = 0;
    bool *seen = spl_new(&x->allocator, (size_t)scene->node_count, sizeof *seen);
    for (int32_t s = 0; seen && s < scene->skin_count; s++)
        for (int32_t j = 0; j < scene->skin[s].joint_count; j++) {
            int32_t node = scene->skin[s].joint[j];
            if (seen[node] || x->bones.influence[node] > 0) continue;
            seen[node] = true;
            add_name(list, scene->node[node].name, idle++);
        }
    if (idle) add_finding(x, false, "%d joint%s no vertex: %s", (int)idle, idle == 1 ? " moves" : "s move", list);
    spl_free(&x->allocator, seen);
}

static void find_surface_faults(inspection *x)
{
    for (int32_t i = 0; i < x->part_count; i++) {
        const spl_role *r = &x->roles.part[i];
        const char *name = x->parts[i].name;
        if (r->role == SUPPLE_ROLE_RIGID) continue;
        if (r->border_edges)
            add_finding(x, false, "part %d '%.60s' is open: %d border edges, %d of %d components closed", (int)i, name,
                        (int)r->border_edges, (int)r->closed_components, (int)r->components);
        if (r->nonmanifold_edges)
            add_finding(x, true, "part %d '%.60s' has %d edges with more than two triangles", (int)i, name,
                        (int)r->nonmanifold_edges);
        if (r->degenerate_triangles)
            add_finding(x, false, "part %d '%.60s' has %d triangles without area", (int)i, name,
                        (int)r->degenerate_triangles);
    }
}

/* Widens [low, high] by the values of one component of a channel's keys if they differ: constant scale animates
 * nothing.
 */
static void widen_scale(const spl_channel *ch, int component, double *low, double *high, double *least)
{
    double a = INFINITY, b = -INFINITY;
    for (int32_t k = component; k < ch->key_count * 3; k += 3) {
        a = fmin(a, (double)ch->value[k]);
        b = fmax(b, (double)ch->value[k]);
    }
    *least = fmin(*least, a);
    if (!(b > a * 1.01)) return;
    *low = fmin(*low, a);
    *high = fmax(*high, b);
}

static void find_clip_faults(inspection *x)
{
    const supple_scene *scene = x->scene;
    char single[NAME_LIST] = "", scaled[NAME_LIST] = "";
    int32_t singles = 0, scales = 0;
    double low = INFINITY, high = -INFINITY;
    if (scene->clip_count == 0) add_finding(x, false, "no animation: `skin` writes the rest pose");
    for (int32_t c = 0; c < scene->clip_count; c++) {
        const spl_clip *clip = &scene->clip[c];
        if (clip->duration <= 0) add_name(single, clip->name, singles++);
        double from = INFINITY, to = -INFINITY, least = INFINITY;
        for (int32_t i = 0; i < clip->channel_count; i++) {
            const spl_channel *ch = &clip->channel[i];
            if (ch->path != SPL_PATH_SCALE || ch->interpolation == SPL_CUBIC) continue;
            for (int k = 0; k < 3; k++) widen_scale(ch, k, &from, &to, &least);
        }
        if (least <= 0) add_finding(x, true, "clip '%.60s' scales a joint to %g", clip->name, least);
        if (least <= 0 || !(to > from)) continue;
        add_name(scaled, clip->name, scales++);
        low = fmin(low, from);
        high = fmax(high, to);
    }
    if (scales)
        add_finding(x, false, "%d clip%s scale, %.3g to %.3g: %s", (int)scales, scales == 1 ? " animates" : "s animate",
                    low, high, scaled);
    if (singles)
        add_finding(x, false, "%d clip%s a single pose (length 0): %s", (int)singles, singles == 1 ? " is" : "s are",
                    single);
}

/* How far the file's rest pose is from the bind pose, by the skinned vertices. */
static void find_rest_pose(inspection *x)
{
    double most = 0, size = 0;
    for (int k = 0; k < 3; k++) size += x->report.size[k] * x->report.size[k];
    for (int32_t i = 0; i < x->part_count; i++) {
        const spl_part *part = &x->part[i];
        if (!spl_part_skinned(x->scene, part)) continue;
        const spl_primitive *p = part->primitive;
        const float *posed = x->position + 3 * (size_t)part->first_vertex;
        /* A global rotation or scale (a Z-up root) is no pose: compare distances to the part's first vertex. */
        for (int32_t v = 1; v < p->vertex_count; v++) {
            double rest = spl_distance(spl_v3_from_float(p->position), spl_v3_from_float(p->position + 3 * (size_t)v));
            double now = spl_distance(spl_v3_from_float(posed), spl_v3_from_float(posed + 3 * (size_t)v));
            most = fmax(most, fabs(now - rest));
        }
    }
    if (most > 0.01 * sqrt(size))
        add_finding(x, false, "the rest pose is not the bind pose (or is scaled): vertices differ by up to %.3g", most);
}

static supple_result find_size(inspection *x, supple_error *error)
{
    const float *p = x->position;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < 3 * (size_t)x->scene->vertex_count; i++) {
        low[i % 3] = fmin(low[i % 3], (double)p[i]);
        high[i % 3] = fmax(high[i % 3], (double)p[i]);
    }
    for (int k = 0; k < 3; k++) x->report.size[k] = x->scene->vertex_count ? high[k] - low[k] : 0;
    spl_size size;
    supple_result result = spl_size_find(x->scene, 0, p, &size, error);
    if (result != SUPPLE_OK) return result;
    x->report.size_m = size.size_m;
    x->report.metre = size.world;
    x->report.size_why = spl_size_reason(size.rule);
    x->report.file_m = size.file_m;
    return SUPPLE_OK;
}

static void tell_unit(inspection *x)
{
    if (x->scene->unit > 0 || x->scene->up != SPL_UP_Y)
        add_finding(x, false, "the file's unit is %g m, its %c axis points up; caches keep both",
                    spl_scene_unit(x->scene), "yzx"[x->scene->up]);
}

static bool has_flesh(const inspection *x)
{
    for (int32_t i = 0; i < x->part_count; i++)
        if (x->roles.part[i].role == SUPPLE_ROLE_FLESH) return true;
    return false;
}

static void find_all(inspection *x)
{
    for (int32_t i = 0; i < x->scene->warning_count; i++) add_finding(x, true, "%s", x->scene->warning[i]);
    if (x->scene->skin_count == 0) add_finding(x, true, "no skin: nothing binds the mesh to a skeleton");
    tell_unit(x);
    find_idle_joints(x);
    find_surface_faults(x);
    find_clip_faults(x);
    find_rest_pose(x);
    if (!has_flesh(x) && x->scene->skin_count) add_finding(x, true, "no part is closed enough to be flesh");
}

/* ---- the report ---- */

static void list_parts(inspection *x)
{
    for (int32_t i = 0; i < x->part_count; i++) {
        const spl_primitive *p = x->part[i].primitive;
        const spl_role *r = &x->roles.part[i];
        bool skinned = spl_part_skinned(x->scene, &x->part[i]);
        x->parts[i] = (supple_part){
            .name = spl_instance_name(x->scene, x->part[i].instance),
            .material = p->material >= 0 ? x->scene->material[p->material].name : "",
            .role = r->role,
            .share = {r->share[0], r->share[1], r->share[2], r->share[3], r->share[4]},
            .area = r->area,
            .why = r->why,
            .vertices = p->vertex_count,
            .welded_vertices = r->welded_vertices,
            .triangles = p->triangle_count,
            .components = r->components,
            .closed_components = r->closed_components,
            .border_edges = r->border_edges,
            .nonmanifold_edges = r->nonmanifold_edges,
            .degenerate_triangles = r->degenerate_triangles,
            .influences = skinned ? p->influence_count : 0,
            .unweighted = skinned ? p->unweighted : 0,
            .unnormalised = skinned ? p->unnormalised : 0,
            .weight_sum_min = skinned ? p->weight_sum_min : NAN,
            .weight_sum_max = skinned ? p->weight_sum_max : NAN,
        };
    }
    x->report.parts = x->parts;
    x->report.part_count = x->part_count;
    x->report.flesh_share = x->roles.flesh_share;
    x->report.follow_share = x->roles.follow_share;
}

static void list_bones(inspection *x)
{
    for (int32_t i = 0; i < x->bones.bone_count; i++) {
        const spl_bone *b = &x->bones.bone[i];
        x->bone_list[i] = (supple_bone){.name = x->scene->node[b->node].name,
                                        .joint = b->joint,
                                        .parent = b->parent,
                                        .head = {b->head.x, b->head.y, b->head.z},
                                        .tail = {b->tail.x, b->tail.y, b->tail.z}};
    }
    x->report.bones = x->bone_list;
    x->report.bone_count = x->bones.bone_count;
}

static supple_result rest_positions(inspection *x, supple_error *error)
{
    x->position = spl_new(&x->allocator, (size_t)x->scene->vertex_count, 3 * sizeof(float));
    if (!x->position) return spl_fail_memory(error, "the rest pose");
    supple_sim_config sc = supple_sim_config_default();
    sc.method = "linear";
    supple_sim *sim;
    supple_result result = supple_sim_create(x->scene, &sc, x->config, &sim, error);
    if (result != SUPPLE_OK) return result;
    supple_sim_read_positions(sim, x->position, 3 * sizeof(float));
    supple_sim_destroy(sim);
    return SUPPLE_OK;
}

static supple_result inspect(inspection *x, supple_error *error)
{
    const supple_allocator *a = &x->allocator;
    supple_result result = rest_positions(x, error);
    if (result == SUPPLE_OK) result = spl_bones_make(x->scene, a, &x->bones, error);
    if (result != SUPPLE_OK) return result;
    x->part = spl_parts_new(x->scene, a, &x->part_count);
    x->parts = spl_new(a, (size_t)x->part_count, sizeof *x->parts);
    x->bone_list = spl_new(a, (size_t)x->bones.bone_count, sizeof *x->bone_list);
    x->findings = spl_new(a, MAX_FINDINGS, sizeof *x->findings);
    x->text = spl_new(a, MAX_FINDINGS, sizeof *x->text);
    if (!x->part || !x->parts || !x->bone_list || !x->findings || !x->text) return spl_fail_memory(error, "the report");
    result = spl_roles_of_scene(x->scene, x->part, x->part_count, NULL, 0, a, &x->roles, error);
    if (result != SUPPLE_OK) return result;
    result = find_size(x, error);
    if (result != SUPPLE_OK) return result;
    list_parts(x);
    list_bones(x);
    find_all(x);
    x->report.findings = x->findings;
    supple_sim_config sc = supple_sim_config_default();
    spl_choose(x->scene, &sc, has_flesh(x), &x->choice);
    x->report.auto_method = x->choice.method;
    x->report.auto_why = x->choice.why;
    return SUPPLE_OK;
}

supple_result supple_scene_inspect(const supple_scene *scene, const supple_config *config, supple_report **out,
                                   supple_error *error)
{
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    supple_allocator a = spl_allocator_of(config);
    inspection *x = spl_new(&a, 1, sizeof *x);
    if (!x) return spl_fail_memory(error, "the report");
    x->allocator = a;
    x->scene = scene;
    x->config = config;
    result = inspect(x, error);
    if (result == SUPPLE_OK)
        *out = &x->report;
    else
        supple_report_destroy(&x->report);
    return result;
}

void supple_report_destroy(supple_report *report)
{
    if (!report) return;
    inspection *x = (inspection *)report; /* the report is its first member */
    supple_allocator a = x->allocator;
    spl_bones_release(&x->bones);
    spl_free(&a, x->part);
    spl_roles_release(&x->roles);
    spl_free(&a, x->position);
    spl_free(&a, x->parts);
    spl_free(&a, x->bone_list);
    spl_free(&a, x->findings);
    spl_free(&a, x->text);
    spl_free(&a, x);
}
