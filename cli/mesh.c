#include "body_options.h"
#include "cli.h"
#include "hints.h"
#include "holds.h"
#include "progress.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_option options[] = {
    {"-o", "OUT", "the tetrahedra as .msh, .mesh or .vtk, or a picture as .png (none: only report)", true},
    {"--body", "KIND", "tets, or prism: one layer between the skin and the bones (tets)", false},
    {"--resolution", "N", "cells along the longest axis (chosen by the thinnest limbs within max-tets)", false},
    {"--part", "NAME=ROLE", "role of a part, by name or number: flesh, follow, own, rigid or skip (by its shape)",
     true},
    {"--size", "METRES", "the character's diagonal for the solver; file: as the file's unit says (by its rig)", false},
    {"--set", "KEY=VALUE", "max-tets=N: budget for the resolution (60000); grade=on: coarser inside (off)", true},
    {"--binary", NULL, "binary .msh or .vtk", false},
    {"--json", NULL, "the report as one JSON object", false},
    {"--no-cache", NULL, "make it afresh and keep nothing", false},
    {"--threads", "N", "threads (one per core); the result does not depend on it", false},
    {"--progress", "MODE", "auto, always or never (auto: on a terminal)", false},
    CLI_VERBOSE_OPTION,
};

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static int print_json(const supple_body_info *i, const supple_body *body)
{
    json_t *histogram = json_array();
    for (int k = 0; k < 18; k++) json_array_append_new(histogram, json_integer(i->dihedral_histogram[k]));
    json_t *root = json_pack(
        "{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:"
        "o,s:b,s:o,s:s,s:i,s:i,s:i,s:o}",
        "uniform_tets", (int)i->uniform_tets, "octants", (int)i->octants, "vertices", (int)i->vertices, "tets",
        (int)i->tets, "surface_vertices", (int)i->surface_vertices, "surface_triangles", (int)i->surface_triangles,
        "bones", (int)i->bones, "constrained", (int)i->constrained, "substituted_bones", (int)i->substituted,
        "empty_bones", (int)i->empty, "components", (int)i->components, "crumbs", (int)i->crumbs, "resolution",
        (int)i->resolution, "doubled", (int)i->doubled, "fronts", (int)i->fronts, "passes", (int)i->passes, "cell",
        real(i->cell), "min_dihedral_deg", real(i->min_dihedral_deg), "max_dihedral_deg", real(i->max_dihedral_deg),
        "dihedral_histogram", histogram, "volume", real(i->volume), "surface_volume", real(i->surface_volume),
        "volume_ratio", real(i->volume / i->surface_volume), "mean_distance", real(i->mean_distance), "max_distance",
        real(i->max_distance), "area_lost", real(i->area_lost), "size_m", real(i->size_m), "cached", (int)i->cached,
        "ms", real(i->ms), "kind", i->kind == SUPPLE_BODY_PRISM ? "prism" : "tets", "merged_joints", (int)i->merged,
        "crossings_parted", (int)i->crossings_parted, "crossings", (int)i->crossings, "holds",
        body ? cli_holds_json(body) : json_null());
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text) return cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the report"});
    puts(text);
    free(text);
    return 0;
}

static void print_histogram(const supple_body_info *i)
{
    int64_t most = 1;
    for (int k = 0; k < 18; k++) most = i->dihedral_histogram[k] > most ? i->dihedral_histogram[k] : most;
    printf("dihedral angles: %.1f to %.1f degrees\n", i->min_dihedral_deg, i->max_dihedral_deg);
    for (int k = 0; k < 18; k++) {
        if (i->dihedral_histogram[k] == 0) continue;
        printf("  %3d-%-3d %9lld ", 10 * k, 10 * k + 10, (long long)i->dihedral_histogram[k]);
        for (int64_t n = 0; n < 40 * i->dihedral_histogram[k] / most; n++) putchar('#');
        putchar('\n');
    }
}

static void print_report(const supple_body_info *i, const supple_body *body)
{
    printf("%d tetrahedra, %d vertices (%d on the surface), %d piece%s\n", (int)i->tets, (int)i->vertices,
           (int)i->surface_vertices, (int)i->components, i->components == 1 ? "" : "s");
    if (i->resolution)
        printf("lattice: %d cells along the longest axis, %.4g each; %d points shared by limbs, %d where limbs part\n",
               (int)i->resolution, i->cell, (int)i->doubled, (int)i->fronts);
    if (i->uniform_tets)
        printf("graded: %d tetrahedra before, %.2f times as many; %d larger octants, up to %d cells wide\n",
               (int)i->uniform_tets, (double)i->uniform_tets / i->tets, (int)i->octants, 1 << i->levels);
    print_histogram(i);
    if (isfinite(i->surface_volume))
        printf("volume: %.5g, %.2f%% of the surface's\n", i->volume, 100 * i->volume / i->surface_volume);
    else
        printf("volume: %.5g\n", i->volume);
    if (isfinite(i->mean_distance))
        printf("distance to the surface: mean %.3f, largest %.3f cells; %.2f%% of its area lost\n",
               i->mean_distance / i->cell, i->max_distance / i->cell, 100 * i->area_lost);
    if (i->kind == SUPPLE_BODY_PRISM)
        printf(
            "prisms: %d, wrapped %.1f%% of the way to the bones; %d bone vertices free, %d of them short of the bones; "
            "%d skin vertices split\n",
            (int)i->surface_triangles, 100 * i->wrapped, (int)i->joint_free, (int)i->unreached, (int)i->split);
    if (i->crossings_parted || i->crossings)
        printf("surface: parted where %d edges passed through it, %d are left\n",
               (int)(i->crossings_parted + i->crossings), (int)i->crossings);
    if (i->crumbs) printf("crumbs: %d tetrahedra that hung on nothing were left out\n", (int)i->crumbs);
    if (i->bones)
        printf("bones: %d, holding %d vertices; %d took the nearest flesh, %d hold none; %d joint%s merged for want of "
               "flesh\n",
               (int)i->bones, (int)i->constrained, (int)i->substituted, (int)i->empty, (int)i->merged,
               i->merged == 1 ? "" : "s");
    if (body) cli_print_holds(body);
    printf("%.0f ms%s\n", i->ms, i->cached ? ", from the cache" : "");
}

static bool is_picture(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".png") == 0;
}

static supple_result write_outputs(const cli_arguments *arguments, const supple_body *body, const supple_config *config,
                                   bool binary, supple_error *error)
{
    const char *path;
    supple_result result = SUPPLE_OK;
    for (int i = 0; result == SUPPLE_OK && (path = cli_get(arguments, "-o", i)); i++) {
        if (cli_interrupted()) {
            *error = (supple_error){SUPPLE_ERROR_CANCELLED, "cancelled; unfinished files were not written"};
            return error->code;
        }
        if (is_picture(path))
            result = supple_body_picture(body, path, config, error);
        else
            result = supple_body_save(body, path, binary, config, error);
    }
    return result;
}

/* What a run made; scene and body are NULL where tetrahedra were converted. */
typedef struct made {
    supple_scene *scene;
    supple_body *body;
    supple_body_info info;
} made;

static int mesh_character(const cli_arguments *arguments, const supple_config *config, bool binary, made *out)
{
    supple_body_config bc = supple_body_config_default();
    int code = cli_body_config(arguments, &bc, true);
    if (code) return code;
    supple_error error;
    supple_result result = supple_scene_load_file(arguments->operands[0], config, &out->scene, &error);
    if (result == SUPPLE_OK) result = supple_body_create(out->scene, &bc, config, &out->body, &error);
    if (result == SUPPLE_OK) result = write_outputs(arguments, out->body, config, binary, &error);
    if (result == SUPPLE_OK) out->info = *supple_body_get_info(out->body);
    return result == SUPPLE_OK ? 0 : cli_fail(&error);
}

static int convert(const cli_arguments *arguments, const supple_config *config, bool binary, supple_body_info *info)
{
    const char *output = cli_get(arguments, "-o", 0);
    supple_error error;
    if (cli_get(arguments, "-o", 1) || (output && is_picture(output)))
        return cli_usage_error("a file of tetrahedra is converted to one .msh, .mesh or .vtk");
    if (supple_tets_convert(arguments->operands[0], output, binary, config, info, &error) != SUPPLE_OK)
        return cli_fail(&error);
    return 0;
}

static int run(const cli_arguments *arguments)
{
    bool binary = cli_get(arguments, "--binary", 0) != NULL;
    supple_config config;
    made m = {0};
    const char *path;
    if (arguments->operand_count == 0) return cli_usage_error("no input: supple mesh IN -o flesh.msh");
    for (int i = 0; (path = cli_get(arguments, "-o", i)); i++)
        if (!supple_tets_known(path) && !is_picture(path))
            return cli_usage_error("%.200s: tetrahedra are written as .msh, .mesh or .vtk, a picture as .png", path);
    int code = 0;
    for (int i = 0; code == 0 && (path = cli_get(arguments, "-o", i)); i++) code = cli_check_writable(path);
    if (code) return code;
    cli_progress progress;
    if (!cli_config(arguments, &config)) return 2;
    if (!cli_progress_init(&progress, cli_get(arguments, "--progress", 0))) return 2;
    config.progress = cli_progress_stage;
    config.progress_user = &progress;
    cli_catch_interrupt();
    bool from_tets = supple_tets_known(arguments->operands[0]);
    code = from_tets ? convert(arguments, &config, binary, &m.info) : mesh_character(arguments, &config, binary, &m);
    cli_progress_end(&progress);
    if (code == 0 && cli_get(arguments, "--json", 0))
        code = print_json(&m.info, m.body);
    else if (code == 0)
        print_report(&m.info, m.body);
    supple_body_destroy(m.body);
    supple_scene_destroy(m.scene);
    return code;
}

const cli_verb cli_verb_mesh = {
    .name = "mesh",
    .usage = "IN [-o flesh.msh]",
    .summary = "the tetrahedra of a character, with a quality report; also converts tet meshes",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operand_count = 1,
    .run = run,
};
