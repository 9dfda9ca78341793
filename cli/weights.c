#include "body_options.h"
#include "cli.h"
#include "hints.h"
#include "progress.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_option options[] = {
    {"-o", "OUT", "the character with new weights as .glb or .gltf, or a picture of them as .png", true},
    {"--weights", "KIND", "bbw (bounded biharmonic), heat (bone heat) or own (the file's) (bbw)", false},
    {"--influences", "N", "joints at a vertex at most: 4 or 8 (4)", false},
    {"--resolution", "N", "cells along the longest axis (chosen by the thinnest limbs within max-tets)", false},
    {"--part", "NAME=ROLE", "role of a part, by name or number: flesh, follow, own, rigid or skip (by its shape)",
     true},
    {"--size", "METRES", "the character's diagonal for the solver; file: as the file's unit says (by its rig)", false},
    {"--set", "KEY=VALUE", "max-tets=N: budget for the resolution (30000); grade=on: coarser inside (off)", true},
    {"--metrics", "FILE.json", "counts, times and local maxima as one JSON object", false},
    {"--no-cache", NULL, "make everything afresh and keep nothing", false},
    {"--threads", "N", "threads (one per core); the result does not depend on it", false},
    {"--progress", "MODE", "auto, always or never (auto: on a terminal)", false},
    CLI_VERBOSE_OPTION,
};

typedef struct request {
    supple_weights_kind kind;
    const char *kind_name;
    int32_t influences;
} request;

static bool ends(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n > m && strcmp(path + n - m, ending) == 0;
}

static int read_request(const cli_arguments *arguments, request *r)
{
    static const char *const kinds[] = {"bbw", "heat", "own"};
    const char *text = cli_get(arguments, "--weights", 0), *path;
    int kind = text ? -1 : 0;
    for (int i = 0; text && i < 3; i++)
        if (strcmp(text, kinds[i]) == 0) kind = i;
    if (kind < 0) return cli_usage_error("--weights %.40s: takes bbw, heat or own", text);
    r->kind = (supple_weights_kind)kind;
    r->kind_name = kinds[kind];
    text = cli_get(arguments, "--influences", 0);
    if (text && strcmp(text, "4") != 0 && strcmp(text, "8") != 0)
        return cli_usage_error("--influences %.40s: takes 4 or 8", text);
    r->influences = text && text[0] == '8' ? 8 : 4;
    if (arguments->operand_count == 0 || !cli_get(arguments, "-o", 0))
        return cli_usage_error("no %s: supple weights IN -o OUT.glb", arguments->operand_count ? "output" : "input");
    for (int i = 0; (path = cli_get(arguments, "-o", i)); i++)
        if (!ends(path, ".glb") && !ends(path, ".gltf") && !ends(path, ".png"))
            return cli_usage_error("%.200s: a skin is written as .glb or .gltf, a picture as .png", path);
    int code = 0;
    for (int i = 0; code == 0 && (path = cli_get(arguments, "-o", i)); i++) code = cli_check_writable(path);
    return code;
}

static supple_result write_outputs(const cli_arguments *arguments, const supple_weights *weights,
                                   const supple_config *config, supple_error *error)
{
    const char *path;
    supple_result result = SUPPLE_OK;
    for (int i = 0; result == SUPPLE_OK && (path = cli_get(arguments, "-o", i)); i++) {
        if (cli_interrupted()) {
            *error = (supple_error){SUPPLE_ERROR_CANCELLED, "cancelled; unfinished files were not written"};
            return error->code;
        }
        result = ends(path, ".png") ? supple_weights_picture(weights, path, config, error)
                                    : supple_weights_save(weights, path, config, error);
    }
    return result;
}

static supple_result write_metrics(const char *path, const request *r, const supple_body *body,
                                   const supple_weights *weights, supple_error *error)
{
    const supple_body_info *b = supple_body_get_info(body);
    const supple_weights_info *w = supple_weights_get_info(weights);
    json_t *ms =
        json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "body", b->ms, "weights", w->ms_weights, "system", w->ms_system,
                  "factor", w->ms_factor, "start", w->ms_start, "bounds", w->ms_bounds, "skin", w->ms_skin);
    json_t *root = json_pack("{s:s,s:s,s:{s:i,s:i,s:i},s:i,s:i,s:i,s:i,s:f,s:f,s:i,s:i,s:i,s:i,s:f,s:b,s:o}", "supple",
                             supple_version(), "weights", r->kind_name, "body", "vertices", (int)b->vertices, "tets",
                             (int)b->tets, "bones", (int)b->bones, "influences", (int)w->influences, "changed",
                             (int)w->changed, "kept", (int)w->kept, "joints", (int)w->joints, "mean_influences",
                             w->mean_influences, "largest_cut", w->largest_cut, "local_maxima", (int)w->local_maxima,
                             "unknowns", (int)w->unknowns, "rounds", (int)w->rounds, "unfinished", (int)w->unfinished,
                             "residual", w->residual, "cached", (int)w->cached, "ms", ms);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text) {
        *error = (supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the metrics"};
        return error->code;
    }
    supple_result result = supple_bytes_write(path, text, strlen(text), error);
    free(text);
    return result;
}

static void report(const request *r, const supple_weights_info *w)
{
    cli_say("%s: %d vertices, %d of them with new weights of %d joints (%.1f a vertex); %d local maxima inside",
            r->kind_name, (int)(w->changed + w->kept), (int)w->changed, (int)w->joints, w->mean_influences,
            (int)w->local_maxima);
}

static int make(const cli_arguments *arguments, const request *r, const supple_config *config,
                const supple_body_config *bc)
{
    supple_error error;
    supple_scene *scene = NULL;
    supple_body *body = NULL;
    supple_weights *weights = NULL;
    const char *metrics = cli_get(arguments, "--metrics", 0);
    supple_result result = supple_scene_load_file(arguments->operands[0], config, &scene, &error);
    if (result == SUPPLE_OK) result = supple_body_create(scene, bc, config, &body, &error);
    if (result == SUPPLE_OK)
        result = supple_weights_create(body, r->kind, r->influences, bc->cache, config, &weights, &error);
    if (result == SUPPLE_OK) result = write_outputs(arguments, weights, config, &error);
    if (result == SUPPLE_OK && metrics) result = write_metrics(metrics, r, body, weights, &error);
    if (result == SUPPLE_OK) report(r, supple_weights_get_info(weights));
    supple_weights_destroy(weights);
    supple_body_destroy(body);
    supple_scene_destroy(scene);
    return result == SUPPLE_OK ? 0 : cli_fail(&error);
}

static int run(const cli_arguments *arguments)
{
    request r = {0};
    supple_config config;
    cli_progress progress;
    supple_body_config bc = supple_body_config_default();
    bc.max_tets = 30000; /* weights are smooth */
    int code = read_request(arguments, &r);
    if (code == 0) code = cli_body_config(arguments, &bc, true);
    if (code) return code;
    if (!cli_config(arguments, &config)) return 2;
    if (!cli_progress_init(&progress, cli_get(arguments, "--progress", 0))) return 2;
    config.progress = cli_progress_stage;
    config.progress_user = &progress;
    cli_catch_interrupt();
    code = make(arguments, &r, &config, &bc);
    cli_progress_end(&progress);
    return code;
}

const cli_verb cli_verb_weights = {
    .name = "weights",
    .usage = "IN -o OUT.glb",
    .summary = "new skin weights: bounded biharmonic, bone heat, or the file's own",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operand_count = 1,
    .run = run,
};
