#include "body_options.h"
#include "cli.h"
#include "hints.h"
#include "progress.h"
#include "ranges.h"
#include "solver.h"
#include "train_many.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_option options[] = {
    {"-o", "OUT.supple", "the trained model, for `supple skin IN --model OUT.supple`", false},
    {"--samples", "N", "poses to solve and learn from (100)", false},
    {"--rank", "N", "modes of a domain in the mean; more where poses need more (20)", false},
    {"--dents", "N", "further modes of each domain for things that press on it (0)", false},
    {"--domains", "N", "at most so many domains: the smallest join their neighbours (one for each bone)", false},
    {"--clip", "NAME", "a clip that says how far joints turn, by name, index, or all; as often as you like (all)",
     true},
    {"--quick", NULL, "in seconds: few poses, nearly solved; less accurate (docs/subspace.md)", false},
    {"--from-clips", NULL, "learn from frames of these clips alone, without poses drawn from the joints' ranges",
     false},
    {"--limits", "FILE.json", "how far joints turn (docs/subspace.md), over what the clips say", false},
    {"--poses", "DIR", "where solved poses are kept until the model is there (OUT.supple.poses)", false},
    {"--keep", NULL, "leave them there afterwards", false},
    {"--solve", "K/N", "one of N processes that share the folder of poses, on any machines: no model", false},
    {"--finish", NULL, "after those, or beside them: what is missing, and the model", false},
    {"--lease", "SECONDS", "without a sign of life a process there is dead, and its pose is solved by another (60)",
     false},
    {"--mpi", NULL, "one of several processes that mpirun has started: mpirun -n 8 supple train --mpi ...", false},
    {"--sbatch", "N", "print a script that submits N workers and the finish to Slurm, and do nothing", false},
    {"--body", "KIND", "tets or prism (tets)", false},
    {"--resolution", "N", "cells along the body's longest axis (chosen by the thinnest limbs)", false},
    {"--part", "NAME=ROLE", "role of a part, by name or number: flesh, follow, own, rigid or skip (by its shape)",
     true},
    {"--size", "METRES", "the character's diagonal for the solver; file: as the file's unit says (by its rig)", false},
    {"--material", "FILE.json", "stiffness and density by region (one soft tissue)", false},
    {"--set", "KEY=VALUE", "a parameter of training (below), max-tets=N, or grade=on", true},
    {"--no-cache", NULL, "make the body afresh and keep nothing", false},
    {"--threads", "N", "threads (one per core); the result does not depend on it", false},
    {"--progress", "MODE", "auto, always or never (auto: on a terminal)", false},
    CLI_VERBOSE_OPTION,
    CLI_SOLVER_OPTION,
};

enum { MOST_CLIPS = 256, PATH_SIZE = 4096 };

/* ---- what is asked for ---- */

static int whole_number(const cli_arguments *arguments, const char *option, int low, int high, int32_t *out)
{
    const char *text = cli_get(arguments, option, 0);
    char *end;
    if (!text) return 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < low || value > high)
        return cli_usage_error("%s %.40s: takes a number from %d to %d", option, text, low, high);
    *out = (int32_t)value;
    return 0;
}

/* True if the setting is one of training's; *code is then 0 or that of a message. */
static bool train_setting(const char *text, supple_train_config *tc, int *code)
{
    double modes = tc->modes, derivatives = tc->derivatives, seed = (double)tc->seed, even = tc->even_ranks;
    const struct {
        const char *name;
        double *value, low, high;
    } known[] = {{"modes", &modes, 1, 10000},
                 {"derivatives", &derivatives, 0, 10000},
                 {"pose-share", &tc->pose_share, 0, 1},
                 {"seam", &tc->seam, 0, 100},
                 {"even", &even, 0, 1},
                 {"cubature-error", &tc->cubature_error, 1e-6, 1},
                 {"tolerance", &tc->tolerance, 1e-12, 0.1},
                 {"seed", &seed, 0, 1e15}};
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals && i < sizeof known / sizeof *known; i++) {
        char *end;
        if (strlen(known[i].name) != (size_t)(equals - text) || strncmp(known[i].name, text, (size_t)(equals - text)))
            continue;
        double value = strtod(equals + 1, &end);
        bool good = end != equals + 1 && !*end && value >= known[i].low && value <= known[i].high;
        if (!good)
            *code = cli_usage_error("--set %.60s: takes a number from %g to %g", text, known[i].low, known[i].high);
        if (good) *known[i].value = value;
        tc->modes = (int32_t)modes;
        tc->derivatives = (int32_t)derivatives;
        tc->seed = (uint64_t)seed;
        tc->even_ranks = even > 0;
        return true;
    }
    return false;
}

/* The clips of --clip, as indices; a name that is none of them is an error. */
static int find_clips(const cli_arguments *arguments, const supple_scene *scene, int32_t *clips, int32_t *count)
{
    const char *name;
    *count = 0;
    for (int i = 0; (name = cli_get(arguments, "--clip", i)); i++) {
        if (strcmp(name, "all") == 0) return *count = 0;
        int32_t found = supple_scene_clip_find(scene, name);
        if (found < 0) return cli_clip_error(scene, "--clip", name);
        if (*count == MOST_CLIPS) return cli_usage_error("--clip: at most %d clips", MOST_CLIPS);
        clips[(*count)++] = found;
    }
    return 0;
}

/* A process that makes no model needs no name for one, if it knows the folder. */
static int check_output(const cli_arguments *arguments, const cli_many *many)
{
    const char *path = cli_get(arguments, "-o", 0);
    if (arguments->operand_count > 0 && !path && many->part && cli_count(arguments, "--poses") > 0) return 0;
    if (arguments->operand_count == 0 || !path)
        return cli_usage_error("no %s: supple train IN -o OUT.supple", arguments->operand_count ? "output" : "input");
    size_t n = strlen(path);
    if (n < 8 || strcmp(path + n - 7, ".supple") != 0)
        return cli_usage_error("%.200s: a model is written as .supple", path);
    return cli_check_writable(path);
}

static int read_request(const cli_arguments *arguments, supple_train_config *tc, supple_body_config *bc, cli_many *many)
{
    const char *text;
    int code = cli_many_read(arguments, tc, many);
    if (code == 0) code = check_output(arguments, many);
    if (code == 0) code = whole_number(arguments, "--samples", 1, 100000, &tc->samples);
    if (code == 0) code = whole_number(arguments, "--rank", 1, 512, &tc->rank);
    if (code == 0) code = whole_number(arguments, "--dents", 0, 256, &tc->dents);
    if (code == 0) code = whole_number(arguments, "--domains", 1, 1024, &tc->domains);
    if (code == 0) code = cli_body_config(arguments, bc, false);
    for (int i = 0; code == 0 && (text = cli_get(arguments, "--set", i)); i++)
        if (!train_setting(text, tc, &code) && strncmp(text, "max-tets=", 9) != 0 && strncmp(text, "grade=", 6) != 0)
            code =
                cli_usage_error("--set %.60s: training has no such parameter; `supple train --help` lists them", text);
    tc->from_clips = cli_count(arguments, "--from-clips") > 0;
    tc->quick = cli_count(arguments, "--quick") > 0;
    tc->limits_file = cli_get(arguments, "--limits", 0);
    tc->material_file = cli_get(arguments, "--material", 0);
    tc->body_config = bc;
    return code;
}

/* ---- the run ---- */

/* The folder of solved poses goes once the model is there, unless something else is in it. */
static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));) {
        char path[PATH_SIZE];
        if (strncmp(e->d_name, "pose-", 5) != 0 && strncmp(e->d_name, "worker-", 7) != 0 &&
            strncmp(e->d_name, "training", 8) != 0)
            continue;
        int n = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (n > 0 && (size_t)n < sizeof path) unlink(path);
    }
    closedir(dir);
    rmdir(folder);
}

static void report(const char *path, const supple_model_info *i)
{
    cli_say("%s: %d domains, rank %d in all, %d interfaces; %d cubature tets of %d (error %.1f%%); %d poses "
            "(%d found, %d dropped); lowest vibration %.2f Hz",
            path, (int)i->domains, (int)i->rank, (int)i->interfaces, (int)i->cubature, (int)i->tets,
            100 * i->training_error, (int)i->poses, (int)i->found, (int)i->dropped, i->frequency);
    cli_say("poses %.1f s, vibrations %.1f s, bases %.1f s, cubature %.1f s", i->ms_poses / 1e3, i->ms_modes / 1e3,
            i->ms_bases / 1e3, i->ms_cubature / 1e3);
}

/* The model, or poses alone. */
static supple_result make(const cli_arguments *arguments, const supple_scene *scene, const supple_train_config *tc,
                          const supple_config *config, bool part, supple_error *error)
{
    const char *path = cli_get(arguments, "-o", 0);
    supple_model *model = NULL;
    if (part) return supple_poses_solve(scene, tc, config, error);
    supple_result result = supple_model_train(scene, tc, config, &model, error);
    if (result == SUPPLE_OK) result = supple_model_save(model, path, config, error);
    if (result == SUPPLE_OK) report(path, supple_model_get_info(model));
    if (result == SUPPLE_OK && cli_count(arguments, "--keep") == 0) remove_folder(tc->folder);
    supple_model_destroy(model);
    return result;
}

static int train(const cli_arguments *arguments, supple_train_config *tc, const supple_config *config, bool part)
{
    supple_error error;
    supple_scene *scene = NULL;
    int32_t clips[MOST_CLIPS];
    supple_result result = supple_scene_load_file(arguments->operands[0], config, &scene, &error);
    if (result != SUPPLE_OK) return cli_fail(&error);
    int code = find_clips(arguments, scene, clips, &tc->clip_count);
    if (code == 0) {
        tc->clips = tc->clip_count > 0 ? clips : NULL;
        result = make(arguments, scene, tc, config, part, &error);
        if (result == SUPPLE_ERROR_CANCELLED)
            cli_say("what is solved is kept in %s: the same command goes on from there", tc->folder);
        code = result == SUPPLE_OK ? 0 : cli_fail(&error);
    }
    supple_scene_destroy(scene);
    return code;
}

/* One of several: the notes of the first are enough, and who solves one pose at a time needs one thread. */
static int join(const cli_arguments *arguments, cli_many *many, supple_train_config *tc, supple_config *config,
                cli_progress *progress)
{
    int code = cli_many_join(many, tc);
    if (code || many->exchange.rank == 0) return code;
    if (cli_count(arguments, "--threads") == 0) config->thread_count = 1;
    if (!config->verbose) config->log = NULL;
    progress->shown = false;
    return 0;
}

static int run(const cli_arguments *arguments)
{
    supple_config config;
    cli_progress progress;
    char folder[PATH_SIZE];
    supple_train_config tc = supple_train_config_default();
    supple_body_config bc = supple_body_config_default();
    cli_many many;
    int code = read_request(arguments, &tc, &bc, &many);
    if (code) return code;
    if (many.sbatch > 0) return cli_many_print_jobs(arguments, many.sbatch);
    tc.folder = cli_get(arguments, "--poses", 0);
    if (!tc.folder) {
        int n = snprintf(folder, sizeof folder, "%s.poses", cli_get(arguments, "-o", 0));
        if (n < 0 || (size_t)n >= sizeof folder) return cli_usage_error("-o: the path is too long");
        tc.folder = folder;
    }
    if (!cli_config(arguments, &config)) return 2;
    code = cli_load_solver(arguments, &config);
    if (code) return code;
    if (!cli_progress_init(&progress, cli_get(arguments, "--progress", 0))) return 2;
    config.progress = cli_progress_stage;
    config.progress_user = &progress;
    cli_catch_interrupt();
    if (many.mpi) code = join(arguments, &many, &tc, &config, &progress);
    if (code == 0) code = train(arguments, &tc, &config, many.part);
    cli_progress_end(&progress);
    cli_many_leave(&many, code);
    return code;
}

static void notes(void)
{
    printf("\nparameters:\n"
           "  modes=160            linear vibration modes of the whole body\n"
           "  derivatives=100      their modal derivatives\n"
           "  pose-share=1         share of a basis that comes from poses; the rest is for vibrations\n"
           "  seam=0.3             what the places where domains meet weigh in the bases, of the domains' mass\n"
           "  even=0               1: the same rank everywhere\n"
           "  cubature-error=0.05  of the forces in training\n"
           "  tolerance=1e-4       residual of the solved poses\n"
           "  seed=1               of what is drawn at random\n");
    printf("\nEvery solved pose is kept in a folder until the model is there: after Ctrl-C, a kill or a power cut the "
           "same\n"
           "command goes on where it was. The model belongs to this character, this body and these materials. On many\n"
           "machines: docs/training-on-many-machines.md.\n");
}

const cli_verb cli_verb_train = {
    .name = "train",
    .usage = "IN -o OUT.supple",
    .summary = "learn how a character's flesh moves, for `supple skin --model`",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operand_count = 1,
    .run = run,
    .notes = notes,
};
