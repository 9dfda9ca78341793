#include "body_options.h"
#include "dynamics_options.h"
#include "holds.h"
#include "info_model.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_option options[] = {
    {"--json", NULL, "as one JSON object", false},
    {"--bones", NULL, "make the body too, and list what each joint holds of it", false},
    {"--threads", "N", "threads (one per core)", false},
    CLI_VERBOSE_OPTION,
    CLI_BUDGET_OPTION,
    {"--body", "KIND", "this and what follows as `supple skin` takes it: they decide which method fits", false},
    {"--resolution", "N", "cells along the body's longest axis (chosen by the thinnest limbs)", false},
    {"--fps", "N", "frames per second (the file's own, else 30)", false},
    {"--model", "FILE.supple", "a trained model", false},
    {"--slide", NULL, "skin slides over the body", false},
    {"--set", "KEY=VALUE", "max-tets=N", true},
    CLI_DYNAMICS_OPTIONS,
};

static const char *const role_names[] = {"flesh", "follow", "rigid", "skip", "own"};
enum { ROLES = sizeof role_names / sizeof *role_names };

/* The width of a column: its longest text, within bounds. */
static int wider(int width, const char *text)
{
    int length = (int)strnlen(text, 60);
    return length > width ? length : width;
}

/* The number and both names, which --part takes. */
static void print_parts(const supple_report *r)
{
    int name = 20, material = 0;
    for (int32_t i = 0; i < r->part_count; i++) {
        name = wider(name, r->parts[i].name);
        material = wider(material, r->parts[i].material);
    }
    printf("parts: %.0f%% of the skin is flesh, %.0f%% follows it\n", 100 * r->flesh_share, 100 * r->follow_share);
    for (int32_t i = 0; i < r->part_count; i++) {
        const supple_part *p = &r->parts[i];
        printf("  %-3d %-*.60s ", (int)i, name, p->name);
        if (material) printf("[%.60s]%*s ", p->material, material - (int)strnlen(p->material, 60), "");
        printf("%-7s %7d vertices %7d triangles", role_names[p->role], (int)p->vertices, (int)p->triangles);
        if (p->influences) printf("  %d influence%s", (int)p->influences, p->influences == 1 ? "" : "s");
        printf("  (%s", p->why);
        for (int k = 0; k < ROLES; k++) /* pieces of it that play another role */
            if (k != (int)p->role && p->share[k] > 0.005) printf("; %.0f%% %s", 100 * p->share[k], role_names[k]);
        printf(")\n");
    }
}

static void print_clips(const supple_scene *scene)
{
    double fps = supple_scene_fps(scene);
    int32_t count = supple_scene_clip_count(scene);
    int width = 28;
    for (int32_t i = 0; i < count; i++) {
        int length = (int)strnlen(supple_scene_clip_name(scene, i), 60);
        if (length > width) width = length;
    }
    if (count) printf("clips:\n");
    for (int32_t i = 0; i < count; i++) {
        int32_t frames = supple_scene_frame_count(scene, i, fps);
        printf("  %-3d %-*s %7.3f s  %4d frame%s at %g fps\n", (int)i, width, supple_scene_clip_name(scene, i),
               supple_scene_clip_duration(scene, i), (int)frames, frames == 1 ? " " : "s", fps);
    }
}

static void print_report(const char *input, const supple_scene *scene, const supple_report *r,
                         const supple_choice *choice, const supple_body *body)
{
    printf("%s: %d vertices, %d triangles, %d joints, %d skin%s\n", input, (int)supple_scene_vertex_count(scene),
           (int)supple_scene_triangle_count(scene), (int)supple_scene_joint_count(scene),
           (int)supple_scene_skin_count(scene), supple_scene_skin_count(scene) == 1 ? "" : "s");
    printf("size: %.4g x %.4g x %.4g; %.3g m across for the solver: %s (by the file's unit %.3g m)\n", r->size[0],
           r->size[1], r->size[2], r->size_m, r->size_why, r->file_m);
    print_parts(r);
    printf("bones: %d%s\n", (int)r->bone_count,
           body || r->bone_count == 0 ? "" : " (--bones lists what each joint holds)");
    if (body) cli_print_holds(body);
    print_clips(scene);
    if (r->finding_count) printf("findings:\n");
    for (int32_t i = 0; i < r->finding_count; i++)
        printf("  %s%s\n", r->findings[i].warning ? "warning: " : "", r->findings[i].text);
    printf("method: %s (%s)\n", choice->method, choice->why);
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *part_json(int32_t index, const supple_part *p)
{
    json_t *shares = json_object();
    for (int k = 0; k < ROLES; k++) json_object_set_new(shares, role_names[k], json_real(p->share[k]));
    return json_pack("{s:i,s:s,s:s,s:s,s:o,s:f,s:s,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:o,s:o}", "index",
                     (int)index, "name", p->name, "material", p->material, "role", role_names[p->role], "shares",
                     shares, "area", p->area, "why", p->why, "vertices", (int)p->vertices, "welded_vertices",
                     (int)p->welded_vertices, "triangles", (int)p->triangles, "components", (int)p->components,
                     "closed_components", (int)p->closed_components, "border_edges", (int)p->border_edges,
                     "nonmanifold_edges", (int)p->nonmanifold_edges, "degenerate_triangles",
                     (int)p->degenerate_triangles, "influences", (int)p->influences, "unweighted", (int)p->unweighted,
                     "unnormalised", (int)p->unnormalised, "weight_sum_min", real(p->weight_sum_min), "weight_sum_max",
                     real(p->weight_sum_max));
}

static json_t *lists_json(const supple_scene *scene, const supple_report *r)
{
    json_t *parts = json_array(), *bones = json_array(), *clips = json_array(), *findings = json_array();
    for (int32_t i = 0; i < r->part_count; i++) json_array_append_new(parts, part_json(i, &r->parts[i]));
    for (int32_t i = 0; i < r->bone_count; i++) {
        const supple_bone *b = &r->bones[i];
        json_array_append_new(bones, json_pack("{s:s,s:i,s:i,s:[f,f,f],s:[f,f,f]}", "name", b->name, "joint",
                                               (int)b->joint, "parent", (int)b->parent, "head", b->head[0], b->head[1],
                                               b->head[2], "tail", b->tail[0], b->tail[1], b->tail[2]));
    }
    for (int32_t i = 0; i < supple_scene_clip_count(scene); i++)
        json_array_append_new(clips, json_pack("{s:s,s:f}", "name", supple_scene_clip_name(scene, i), "duration",
                                               supple_scene_clip_duration(scene, i)));
    for (int32_t i = 0; i < r->finding_count; i++)
        json_array_append_new(
            findings, json_pack("{s:b,s:s}", "warning", (int)r->findings[i].warning, "text", r->findings[i].text));
    return json_pack("{s:o,s:o,s:o,s:o}", "parts", parts, "bones", bones, "clips", clips, "findings", findings);
}

static int print_json(const char *input, const supple_scene *scene, const supple_report *r, const supple_choice *choice,
                      const supple_body *body)
{
    json_t *root =
        json_pack("{s:s,s:s,s:i,s:i,s:i,s:i,s:[f,f,f],s:f,s:f,s:f,s:s,s:f,s:f,s:{s:s,s:s,s:i,s:o,s:b}}", "supple",
                  supple_version(), "input", input, "vertices", (int)supple_scene_vertex_count(scene), "triangles",
                  (int)supple_scene_triangle_count(scene), "joints", (int)supple_scene_joint_count(scene), "skins",
                  (int)supple_scene_skin_count(scene), "size", r->size[0], r->size[1], r->size[2], "size_m", r->size_m,
                  "metre", r->metre, "file_m", r->file_m, "size_why", r->size_why, "flesh_share", r->flesh_share,
                  "follow_share", r->follow_share, "method", "name", choice->method, "why", choice->why, "tets",
                  (int)choice->tets, "ms", real(choice->ms), "fits", (int)choice->fits);
    json_t *lists = lists_json(scene, r);
    if (lists) json_object_set_new(lists, "holds", body ? cli_holds_json(body) : json_null());
    char *text = NULL;
    if (root && lists && json_object_update(root, lists) == 0)
        text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(lists);
    json_decref(root);
    if (!text) return cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the report"});
    puts(text);
    free(text);
    return 0;
}

/* What `supple skin` would choose with these options, without running. */
static int choose(const cli_arguments *arguments, const supple_scene *scene, const supple_config *config,
                  supple_choice *out)
{
    const char *colliders[CLI_MAX_VALUES], *fps = cli_get(arguments, "--fps", 0),
                                           *path = cli_get(arguments, "--model", 0);
    supple_sim_config sc = supple_sim_config_default();
    supple_body_config bc = supple_body_config_default();
    supple_model *model = NULL;
    supple_error error;
    sc.fps = supple_scene_fps(scene);
    sc.slide = cli_get(arguments, "--slide", 0) != NULL;
    sc.body_config = &bc;
    if (fps && !cli_number(fps, 1e-3, 1e4, &sc.fps))
        return cli_usage_error("--fps %.40s: takes a number from 0.001 to 10000", fps);
    int code = cli_body_config(arguments, &bc, true);
    if (code == 0) code = cli_dynamics_config(arguments, scene, colliders, &sc);
    if (code == 0) code = cli_budget(arguments, "auto", &sc.budget_ms);
    if (code == 0 && path && supple_model_load(path, config, &model, &error) != SUPPLE_OK) code = cli_fail(&error);
    sc.model = model;
    if (code == 0 && supple_choose(scene, &sc, config, out, &error) != SUPPLE_OK) code = cli_fail(&error);
    supple_model_destroy(model);
    return code;
}

/* The body that `supple skin` would make, if it was asked for. */
static int make_body(const cli_arguments *arguments, const supple_scene *scene, const supple_config *config,
                     supple_body **out)
{
    supple_body_config bc = supple_body_config_default();
    supple_error error;
    if (!cli_get(arguments, "--bones", 0)) return 0;
    int code = cli_body_config(arguments, &bc, true);
    if (code) return code;
    return supple_body_create(scene, &bc, config, out, &error) == SUPPLE_OK ? 0 : cli_fail(&error);
}

static int run(const cli_arguments *arguments)
{
    if (arguments->operand_count == 0) return cli_usage_error("no input: supple info IN");
    const char *input = arguments->operands[0], *shown = cli_shown(input);
    supple_config config;
    supple_error error;
    supple_scene *scene = NULL;
    supple_report *report = NULL;
    supple_body *body = NULL;
    supple_choice choice = {0};
    if (!cli_config(arguments, &config)) return 2;
    if (!config.verbose) config.log = NULL; /* warnings are part of the report */
    int code;
    if (cli_is_model(input)) return cli_info_model(input, cli_get(arguments, "--json", 0) != NULL, &config);
    if (supple_scene_load_file(input, &config, &scene, &error) != SUPPLE_OK ||
        supple_scene_inspect(scene, &config, &report, &error) != SUPPLE_OK)
        code = cli_fail(&error);
    else
        code = choose(arguments, scene, &config, &choice);
    if (code == 0) code = make_body(arguments, scene, &config, &body);
    if (code == 0 && cli_get(arguments, "--json", 0))
        code = print_json(shown, scene, report, &choice, body);
    else if (code == 0)
        print_report(shown, scene, report, &choice, body);
    supple_body_destroy(body);
    supple_report_destroy(report);
    supple_scene_destroy(scene);
    return code;
}

const cli_verb cli_verb_info = {
    .name = "info",
    .usage = "IN [--json]",
    .summary = "what is in a file, what is wrong with it, and what Supple makes of it",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operand_count = 1,
    .run = run,
};
