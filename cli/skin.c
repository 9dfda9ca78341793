#include "body_options.h"
#include "cli.h"
#include "dynamics_options.h"
#include "hints.h"
#include "metrics.h"
#include "progress.h"
#include "ranges.h"
#include "slide_output.h"
#include "solver.h"
#include "verdict.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const cli_option options[] = {
    {"-o", "OUT", "output, by its ending (below); give it as often as you like", true},
    {"--method", "NAME", "how to deform (auto); the methods are below", false},
    CLI_BUDGET_OPTION,
    {"--clip", "NAME", "a clip by name, index, or all (the first one); give it again for more", true},
    {"--motion", "FILE", "a motion from elsewhere: .bvh onto the skeleton, .pc2 for --method none", false},
    {"--map", "FILE.json", "which joint of a .bvh moves which joint (by their names)", false},
    {"--frames-fast", NULL, "do not solve what comes before --frames A:B, where flesh meets flesh", false},
    {"--fps", "N", "frames per second (the motion's or the file's own, else 30)", false},
    {"--frames", "A:B", "frames A to B, both included, from 0, up to the clip's end (the whole clip)", false},
    {"--body", "KIND", "tets, prism, or a .msh, .mesh or .vtk file of your own in the bind pose's space (tets)", false},
    {"--resolution", "N", "cells along the body's longest axis (chosen by the thinnest limbs)", false},
    {"--part", "NAME=ROLE", "role of a part, by name or number: flesh, follow, own, rigid or skip (by its shape)",
     true},
    {"--size", "METRES", "the character's diagonal for the solver; file: as the file's unit says (by its rig)", false},
    {"--amount", "X", "how much of the flesh is shown, 0 to 1 (1): X, PART=X, or color: by the vertex colour", true},
    {"--strict", NULL, "exit with 5 where the result is somewhere worse than the file's own skinning", false},
    {"--rehearse", "MODE", "on or off: parts are tried on a coarse body first (on)", false},
    {"--model", "FILE.supple", "a trained model (`supple train`), for method subspace", false},
    {"--material", "FILE.json", "stiffness and density by region (one soft tissue)", false},
    {"--forces", "FILE.json", "external forces on the flesh (none)", false},
    CLI_DYNAMICS_OPTIONS,
    {"--slide", NULL, "skin slides over the body: texture coordinates move (docs/slide.md)", false},
    {"--slide-config", "FILE.json", "regions of that skin: fixed, sliding, softer (all free but borders)", false},
    CLI_BAKE_OPTIONS,
    {"--keep-rig", NULL, "joints' nodes and channels stay in a .glb, which no longer needs them", false},
    {"--set", "KEY=VALUE", "a parameter of the method (below), max-tets=N, grade=on, or glb-error=X for .glb", true},
    {"--threads", "N", "threads (one per core); the result does not depend on it", false},
    {"--progress", "MODE", "auto, always or never (auto: on a terminal)", false},
    CLI_VERBOSE_OPTION,
    {"--device", "NAME", "cpu, cl or cl:N: an OpenCL device, for method projective (cpu; docs/device.md)", false},
    CLI_SOLVER_OPTION,
    {"--no-cache", NULL, "make the body afresh and keep nothing", false},
    {"--metrics", "FILE.json", "times and measures of every frame", false},
    {"--dump-sim", "DIR", "the simulation's arrays as .npy, for checks by other programs", false},
};

enum { MAX_OUTPUTS = 16, PATH_SIZE = 4096 };

typedef struct job {
    supple_config config;
    cli_progress progress;
    supple_scene *scene;
    supple_sim *sim;
    supple_model *model; /* or NULL */
    cli_metrics *metrics;
    const char *metrics_path, *dump_path;
    const char *input, *outputs[MAX_OUTPUTS];
    int output_count;
    double fps, load_ms;
    double budget, spent; /* what a frame may take, 0: no limit; what all took, milliseconds */
    int frames_done;
    int32_t motion;      /* the clip that --motion added, or -1 */
    bool plays_vertices; /* and it is a vertex animation */
    double glb_error;    /* negative: not given */
    bool keep_rig;
    cli_slide_output slide;
    supple_bake *bake;   /* or NULL */
    supple_atlas *atlas; /* takes the frames, and gives them back when all are there; or NULL */
    supple_range *ranges;
    int range_count;
    supple_writer *shared[MAX_OUTPUTS];  /* outputs that hold all ranges */
    supple_writer *current[MAX_OUTPUTS]; /* outputs of the range under way */
    float *position, *normal, *tangent, *trust;
    bool strict;
    bool twice; /* frames that were judged are computed again */
    cli_verdict *verdict;
    struct {
        int unsolved, inverted;       /* frames that did not reach their tolerance; most inverted tetrahedra */
        double residual;              /* the worst of those frames */
        int residual_at, inverted_at; /* frames */
    } trouble;
} job;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- what was asked for ---- */

static int choose_ranges(job *j, const cli_arguments *arguments)
{
    if (j->motion >= 0 && !cli_get(arguments, "--fps", 0)) j->fps = supple_scene_clip_fps(j->scene, j->motion);
    cli_range_request request = {
        .option = "--clip", .motion = j->motion, .fps = j->fps, .frames = cli_get(arguments, "--frames", 0)};
    for (const char *name; (name = cli_get(arguments, "--clip", request.clip_count));)
        request.clips[request.clip_count++] = name;
    return cli_choose_ranges(j->scene, &request, &j->config, &j->ranges, &j->range_count);
}

/* What goes with --motion; the method is known by its name only, the library checks the rest. */
static int check_motion(const cli_arguments *arguments, bool *plays_vertices)
{
    const char *path = cli_get(arguments, "--motion", 0), *method = cli_get(arguments, "--method", 0);
    size_t n = path ? strlen(path) : 0;
    bool none = method && strcmp(method, "none") == 0;
    *plays_vertices = n > 4 && strcasecmp(path + n - 4, ".pc2") == 0;
    if (!path && cli_get(arguments, "--map", 0)) return cli_usage_error("--map: goes with --motion FILE.bvh");
    if (path && cli_get(arguments, "--clip", 0)) return cli_usage_error("--clip and --motion: give one of them");
    if (none && !*plays_vertices) return cli_usage_error("--method none: plays a vertex animation: --motion FILE.pc2");
    if (*plays_vertices && method && !none && strcmp(method, "auto") != 0)
        return cli_usage_error("--motion %.100s: a vertex animation is played by --method none, not by %.40s", path,
                               method);
    return 0;
}

static int add_motion(job *j, const cli_arguments *arguments)
{
    supple_error error;
    supple_motion motion = {.path = cli_get(arguments, "--motion", 0), .map_path = cli_get(arguments, "--map", 0)};
    if (!motion.path) return 0;
    motion.fps = j->fps; /* of a .pc2 */
    supple_result result = supple_scene_add_motion(j->scene, &motion, &j->config, &j->motion, &error);
    return result == SUPPLE_OK ? 0 : cli_fail(&error);
}

static int check_outputs(job *j, const cli_arguments *arguments)
{
    j->output_count = cli_count(arguments, "-o");
    if (j->output_count == 0 && !j->slide.bake.texture)
        return cli_usage_error("no output: add -o OUT, for example -o out.glb");
    if (j->output_count > MAX_OUTPUTS) return cli_usage_error("more than %d outputs", MAX_OUTPUTS);
    for (int i = 0; i < j->output_count; i++) {
        supple_error error;
        j->outputs[i] = cli_get(arguments, "-o", i);
        if (supple_output_check(j->outputs[i], &error) != SUPPLE_OK) return cli_fail(&error);
        for (int k = 0; k < i; k++)
            if (strcmp(j->outputs[i], j->outputs[k]) == 0)
                return cli_usage_error("%.200s is given twice as an output", j->outputs[i]);
    }
    return 0;
}

/* A path that cannot work is known before the character gets a body, and long before the frames. */
static int check_folders(const job *j)
{
    int code = 0;
    for (int i = 0; i < j->output_count && code == 0; i++) code = cli_check_writable(j->outputs[i]);
    return code == 0 && j->metrics_path ? cli_check_writable(j->metrics_path) : code;
}

/* How far a .glb may be off: --set glb-error=X. */
static int read_glb_error(job *j, const cli_arguments *arguments)
{
    const char *text;
    j->glb_error = -1;
    for (int i = 0; (text = cli_get(arguments, "--set", i)); i++)
        if (strncmp(text, "glb-error=", 10) == 0 && !cli_number(text + 10, 0, 1, &j->glb_error))
            return cli_usage_error("--set %.60s: takes glb-error=X, a part of the diagonal from 0 (exact) to 1", text);
    return 0;
}

/* Unless it was said: exact as long as there can be a morph target for every frame, else 0.0005 of the diagonal. */
static double glb_error(const job *j, const supple_plan *plan)
{
    int64_t frames = 0;
    for (int r = 0; r < plan->range_count; r++) frames += plan->ranges[r].frame_count;
    return j->glb_error >= 0 ? j->glb_error : frames > 255 ? 0.0005 : 0;
}

/* Method settings from --set; the body's and the outputs' are not among them. */
static int read_settings(const cli_arguments *arguments, supple_setting *settings, supple_sim_config *sc)
{
    static char keys[CLI_MAX_VALUES][64];
    const char *text;
    sc->settings = settings;
    for (int i = 0; (text = cli_get(arguments, "--set", i)); i++) {
        const char *equals = strchr(text, '=');
        if (!equals || equals == text || (size_t)(equals - text) >= sizeof keys[i])
            return cli_usage_error("--set %.60s: takes KEY=VALUE", text);
        snprintf(keys[i], sizeof keys[i], "%.*s", (int)(equals - text), text);
        if (strcmp(keys[i], "max-tets") == 0 || strcmp(keys[i], "grade") == 0 || strcmp(keys[i], "glb-error") == 0 ||
            cli_slide_output_key(keys[i]))
            continue;
        settings[sc->setting_count++] = (supple_setting){keys[i], equals + 1};
    }
    return 0;
}

/* How the options ask for the body to be made. */
static int read_body(const cli_arguments *arguments, supple_body_config *bc)
{
    *bc = supple_body_config_default();
    return cli_body_config(arguments, bc, false);
}

static int make_dump_folder(const char *path)
{
    struct stat st;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))) return 0;
    cli_say("%.200s: cannot be made: %s", path, strerror(errno == EEXIST ? ENOTDIR : errno));
    return SUPPLE_ERROR_OUTPUT;
}

/* The folder and what is constant in it; nothing is left where there is nothing to dump. */
static int begin_dump(const job *j)
{
    supple_error error;
    struct stat st;
    bool there = stat(j->dump_path, &st) == 0;
    int code = make_dump_folder(j->dump_path);
    if (code || supple_sim_dump(j->sim, j->dump_path, -1, &error) == SUPPLE_OK) return code;
    if (!there) rmdir(j->dump_path);
    return cli_fail(&error);
}

static int create_sim(job *j, const cli_arguments *arguments)
{
    supple_setting settings[CLI_MAX_VALUES];
    const char *colliders[CLI_MAX_VALUES];
    supple_part_amount amounts[CLI_MAX_VALUES];
    supple_sim_config sc = supple_sim_config_default();
    supple_body_config bc;
    supple_error error;
    const char *model = cli_get(arguments, "--model", 0);
    const char *method = j->plays_vertices ? "none" : cli_get(arguments, "--method", 0);
    if (method) sc.method = method;
    int code = read_settings(arguments, settings, &sc);
    if (code == 0) code = read_body(arguments, &bc);
    if (code == 0) code = cli_dynamics_config(arguments, j->scene, colliders, &sc);
    if (code) return code;
    sc.body_config = &bc;
    if (model && supple_model_load(model, &j->config, &j->model, &error) != SUPPLE_OK) return cli_fail(&error);
    sc.model = j->model;
    sc.budget_ms = j->budget;
    sc.material_file = cli_get(arguments, "--material", 0);
    sc.force_file = cli_get(arguments, "--forces", 0);
    sc.slide = cli_get(arguments, "--slide", 0) != NULL;
    sc.slide_file = cli_get(arguments, "--slide-config", 0);
    if (sc.slide_file && !sc.slide) return cli_usage_error("--slide-config: goes with --slide");
    sc.device = cli_get(arguments, "--device", 0);
    const char *rehearse = cli_get(arguments, "--rehearse", 0);
    if (rehearse && strcmp(rehearse, "on") != 0 && strcmp(rehearse, "off") != 0)
        return cli_usage_error("--rehearse %.40s: takes on or off", rehearse);
    sc.lead_in = !cli_get(arguments, "--frames-fast", 0);
    sc.rehearse = !rehearse || strcmp(rehearse, "on") == 0;
    code = cli_amounts(arguments, amounts, &sc);
    if (code) return code;
    j->twice = sc.dynamics || j->dump_path;
    sc.fps = j->fps;
    sc.measure = j->metrics_path != NULL || (model && j->dump_path);
    for (int r = 0; r < j->range_count; r++) sc.frame_total += j->ranges[r].frame_count;
    if (supple_sim_create(j->scene, &sc, &j->config, &j->sim, &error) != SUPPLE_OK) return cli_fail(&error);
    return j->dump_path ? begin_dump(j) : 0;
}

/* Textures are extended where something that is written shows them slide. */
static int begin_atlas(job *j)
{
    supple_error error;
    bool shown = j->bake != NULL;
    for (int i = 0; i < j->output_count; i++) shown = shown || supple_output_takes_slide(j->outputs[i]);
    if (!shown || !j->slide.atlas || j->slide.show != SUPPLE_SHOW_MATERIAL) return 0;
    supple_result r = supple_atlas_create(j->sim, j->slide.atlas_limit, &j->config, &j->atlas, &error);
    return r == SUPPLE_OK ? 0 : cli_fail(&error);
}

static int prepare(job *j, const cli_arguments *arguments)
{
    const char *fps = cli_get(arguments, "--fps", 0), *method = cli_get(arguments, "--method", 0);
    j->fps = 0; /* the motion's, or the file's */
    j->motion = -1;
    if (arguments->operand_count == 0) return cli_usage_error("no input: supple skin IN -o OUT");
    if (fps && !cli_number(fps, 1e-3, 1e4, &j->fps))
        return cli_usage_error("--fps %.40s: takes a number from 0.001 to 10000", fps);
    if (!cli_config(arguments, &j->config)) return 2;
    if (!cli_progress_init(&j->progress, cli_get(arguments, "--progress", 0))) return 2;
    j->config.progress = cli_progress_stage;
    j->config.progress_user = &j->progress;
    int code = cli_slide_output_read(arguments, &j->slide);
    if (code == 0) code = cli_budget(arguments, method ? method : "auto", &j->budget);
    if (code == 0) code = check_outputs(j, arguments);
    if (code == 0) code = check_motion(arguments, &j->plays_vertices);
    if (code == 0) code = read_glb_error(j, arguments);
    j->keep_rig = cli_get(arguments, "--keep-rig", 0) != NULL;
    j->strict = cli_get(arguments, "--strict", 0) != NULL;
    if (code == 0 && cli_get(arguments, "--frames-fast", 0) && !cli_get(arguments, "--frames", 0))
        code = cli_usage_error("--frames-fast: goes with --frames A:B");
    if (code == 0) code = cli_load_solver(arguments, &j->config);
    j->input = arguments->operands[0];
    j->metrics_path = cli_get(arguments, "--metrics", 0);
    j->dump_path = cli_get(arguments, "--dump-sim", 0);
    if (code == 0) code = check_folders(j);
    if (code) return code;
    supple_error error;
    double start = now_ms();
    if (supple_scene_load_file(j->input, &j->config, &j->scene, &error) != SUPPLE_OK) return cli_fail(&error);
    if (!(j->fps > 0)) j->fps = supple_scene_fps(j->scene);
    j->load_ms = now_ms() - start;
    if (supple_scene_skin_count(j->scene) == 0 && !j->plays_vertices) {
        snprintf(error.message, sizeof error.message,
                 "%.120s: no skin: nothing binds the mesh to a skeleton; export it with its armature and weights",
                 j->input);
        error.code = SUPPLE_ERROR_INPUT;
        return cli_fail(&error);
    }
    cli_slide_output_check(&j->slide, j->scene, j->outputs, j->output_count, &j->config);
    if (j->slide.bake.texture &&
        supple_bake_create(j->scene, &j->slide.bake, &j->config, &j->bake, &error) != SUPPLE_OK)
        return cli_fail(&error);
    code = add_motion(j, arguments);
    if (code == 0) code = choose_ranges(j, arguments);
    if (code == 0) code = create_sim(j, arguments);
    if (code == 0) code = begin_atlas(j);
    if (code) return code;
    size_t n = (size_t)supple_scene_vertex_count(j->scene);
    j->position = calloc(n + 1, 3 * sizeof(float));
    j->normal = calloc(n + 1, 3 * sizeof(float));
    j->tangent = calloc(n + 1, 4 * sizeof(float));
    j->trust = calloc(n + 1, sizeof(float));
    j->metrics = cli_metrics_new();
    j->verdict = cli_verdict_new(j->sim);
    if (!j->position || !j->normal || !j->tangent || !j->trust || !j->metrics || !j->verdict)
        return cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the frames"});
    cli_metrics_setup(j->metrics, j->scene, j->sim, j->load_ms);
    return 0;
}

/* ---- the run ---- */

static supple_result open_output(job *j, int output, int range, supple_writer **writer, supple_error *error)
{
    supple_plan plan = {.ranges = j->ranges, .range_count = j->range_count, .fps = j->fps};
    plan.slide = j->slide.slides;
    plan.slide_texture = j->slide.texture;
    plan.show = j->slide.show;
    char path[PATH_SIZE];
    const char *name = j->outputs[output];
    if (range >= 0) {
        plan.ranges += range;
        plan.range_count = 1;
        if (j->range_count > 1) {
            if (!supple_output_variant(name, supple_scene_clip_name(j->scene, plan.ranges->clip), path, sizeof path)) {
                error->code = SUPPLE_ERROR_OUTPUT;
                snprintf(error->message, sizeof error->message, "%.100s: the path is too long", name);
                return error->code;
            }
            name = path;
        }
    }
    plan.glb_error = glb_error(j, &plan);
    plan.keep_rig = j->keep_rig;
    const supple_scene *made = j->atlas ? supple_atlas_scene(j->atlas) : j->scene;
    return supple_writer_open(made, name, &plan, &j->config, writer, error);
}

static supple_result open_outputs(job *j, int range, supple_error *error)
{
    for (int i = 0; i < j->output_count; i++) {
        bool shared = supple_output_takes_ranges(j->outputs[i]);
        supple_result result = SUPPLE_OK;
        if (range < 0 && shared) result = open_output(j, i, -1, &j->shared[i], error);
        if (range >= 0 && !shared) result = open_output(j, i, range, &j->current[i], error);
        if (result != SUPPLE_OK) return result;
    }
    return SUPPLE_OK;
}

static supple_result close_outputs(job *j, supple_writer **writers, supple_error *error)
{
    for (int i = 0; i < j->output_count; i++) {
        supple_writer *writer = writers[i];
        writers[i] = NULL;
        if (!writer) continue;
        supple_result result = supple_writer_close(writer, error);
        if (result != SUPPLE_OK) return result;
    }
    return SUPPLE_OK;
}

/* A frame to all that is written. */
static supple_result deliver(job *j, supple_frame *frame, supple_error *error)
{
    int32_t range = frame->range;
    for (int i = 0; i < j->output_count; i++) {
        supple_writer *writer = j->shared[i] ? j->shared[i] : j->current[i];
        frame->range = j->shared[i] ? range : 0;
        supple_result result = supple_writer_frame(writer, frame, error);
        if (result != SUPPLE_OK) return result;
    }
    if (!j->bake) return SUPPLE_OK;
    const supple_range *r = &j->ranges[range];
    const char *clip = j->range_count > 1 ? supple_scene_clip_name(j->scene, r->clip) : NULL;
    int32_t number = r->first_frame + frame->index;
    return j->atlas ? supple_atlas_bake(j->atlas, j->bake, clip, number, error)
                    : supple_bake_frame(j->bake, frame, clip, number, error);
}

static supple_result write_frame(job *j, int range, int index, supple_error *error)
{
    supple_sim_read_positions(j->sim, j->position, 3 * sizeof(float));
    supple_sim_read_normals(j->sim, j->normal, 3 * sizeof(float));
    supple_sim_read_tangents(j->sim, j->tangent, 4 * sizeof(float));
    supple_slide_frame slide;
    supple_frame frame = {range, index, j->position, j->normal, j->tangent, NULL, NULL};
    if (j->slide.show == SUPPLE_SHOW_TRUST) {
        supple_sim_read_trust(j->sim, j->trust, sizeof *j->trust);
        frame.trust = j->trust;
    }
    if (j->slide.slides && supple_sim_slide(j->sim, &slide)) frame.slide = &slide;
    return j->atlas ? supple_atlas_add(j->atlas, &frame, error) : deliver(j, &frame, error);
}
static supple_result cancelled(supple_error *error)
{
    *error = (supple_error){SUPPLE_ERROR_CANCELLED, "cancelled; unfinished files were removed"};
    return error->code;
}

/* Several clips go into a folder each: their frames have the same numbers. */
static supple_result dump_frame(const job *j, const char *clip, int frame, supple_error *error)
{
    char folder[PATH_SIZE], name[PATH_SIZE];
    if (j->range_count == 1) return supple_sim_dump(j->sim, j->dump_path, frame, error);
    if (!supple_output_variant("x", clip, name, sizeof name) ||
        snprintf(folder, sizeof folder, "%s/%s", j->dump_path, name + 2) >= (int)sizeof folder) {
        *error = (supple_error){SUPPLE_ERROR_OUTPUT, "--dump-sim: the path is too long"};
        return error->code;
    }
    if (make_dump_folder(folder)) {
        *error = (supple_error){SUPPLE_ERROR_OUTPUT, "--dump-sim: a clip's folder cannot be made"};
        return error->code;
    }
    return supple_sim_dump(j->sim, folder, frame, error);
}

/* What a person should know of a frame that was written all the same. */
static void note_trouble(job *j, int frame)
{
    const supple_stats *s = supple_sim_stats(j->sim);
    j->spent += s->ms_total;
    j->frames_done++;
    if (!s->converged && (j->trouble.unsolved++ == 0 || s->residual > j->trouble.residual)) {
        j->trouble.residual = s->residual;
        j->trouble.residual_at = frame;
    }
    if (s->inverted > j->trouble.inverted) {
        j->trouble.inverted = s->inverted;
        j->trouble.inverted_at = frame;
    }
}

/* The parameter by which the method ends a frame: its Newton steps or its iterations, whichever it lists first (a
 * method that has both lists those of the frame before those of a linear solve). NULL if it has none. */
static const char *frame_limit(const char *method)
{
    int32_t m = 0;
    while (m < supple_method_count() && strcmp(supple_method_name(m), method) != 0) m++;
    supple_parameter p;
    for (int32_t i = 0; supple_method_parameter(m, i, &p); i++)
        if (strcmp(p.name, "steps") == 0 || strcmp(p.name, "iterations") == 0) return p.name;
    return NULL;
}

static void tell_trouble(const job *j)
{
    char line[200], more[60] = "";
    if (j->budget > 0 && j->spent > j->budget * j->frames_done) {
        snprintf(line, sizeof line, "a frame took %.3g ms in the mean, more than the budget of %g",
                 j->spent / j->frames_done, j->budget);
        j->config.log(NULL, SUPPLE_LOG_WARNING, line);
    }
    if (j->trouble.inverted > 0 && j->config.verbose) {
        snprintf(line, sizeof line, "inverted: %d tetrahedra at frame %d, the most", j->trouble.inverted,
                 j->trouble.inverted_at);
        j->config.log(NULL, SUPPLE_LOG_INFO, line);
    }
    if (j->trouble.unsolved == 0) return;
    const char *limit = frame_limit(supple_sim_setup(j->sim)->method);
    if (limit) snprintf(more, sizeof more, " (--set %s=N allows more)", limit);
    snprintf(line, sizeof line, "%d frame%s did not reach the tolerance; the worst is %d, residual %.2g%s",
             j->trouble.unsolved, j->trouble.unsolved == 1 ? "" : "s", j->trouble.residual_at, j->trouble.residual,
             more);
    j->config.log(NULL, SUPPLE_LOG_WARNING, line);
}

/* On a terminal, where the progress was: what there is now. */
static void tell_written(const job *j, double seconds)
{
    char line[400] = "wrote ";
    struct stat st;
    for (int i = 0; i < j->output_count && strlen(line) < 250; i++) {
        const char *path = j->outputs[i], *ending = strrchr(path, '.');
        bool many = stat(path, &st) != 0; /* one a clip, a mesh or a frame: "walk.*.pc2" */
        size_t used = strlen(line);
        snprintf(line + used, sizeof line - used, "%s%.*s%s%s", i ? ", " : "", (int)(ending - path), path,
                 many ? ".*" : "", ending);
    }
    size_t used = strlen(line);
    snprintf(line + used, sizeof line - used, ": %d frame%s in %.1f s", j->frames_done, j->frames_done == 1 ? "" : "s",
             seconds);
    j->config.log(NULL, SUPPLE_LOG_INFO, line);
}

static supple_result run_range(job *j, int r, supple_error *error)
{
    const supple_range *range = &j->ranges[r];
    const char *clip = range->clip < 0 ? "rest" : supple_scene_clip_name(j->scene, range->clip);
    supple_result result = j->atlas ? SUPPLE_OK : open_outputs(j, r, error);
    supple_sim_reset(j->sim);
    if (result == SUPPLE_OK)
        result =
            supple_sim_judge(j->sim, range->clip, range->first_frame, range->frame_count, j->fps, !j->dump_path, error);
    if (result == SUPPLE_OK) result = supple_sim_lead_in(j->sim, range->clip, range->first_frame, j->fps, error);
    cli_progress_begin(&j->progress, clip);
    for (int k = 0; k < range->frame_count && result == SUPPLE_OK; k++) {
        int frame = range->first_frame + k;
        double time = frame / j->fps;
        if (cli_interrupted()) return cancelled(error);
        result = supple_sim_step_clip(j->sim, range->clip, time, error);
        if (result == SUPPLE_OK) note_trouble(j, frame);
        if (result == SUPPLE_OK) cli_verdict_frame(j->verdict, j->sim, clip, frame);
        if (result == SUPPLE_OK) result = write_frame(j, r, k, error);
        if (result == SUPPLE_OK && j->metrics_path) cli_metrics_frame(j->metrics, clip, frame, time, j->sim);
        if (result == SUPPLE_OK && j->dump_path) result = dump_frame(j, clip, frame, error);
        if (!j->progress.counted) cli_progress_update(&j->progress, k + 1, range->frame_count);
    }
    cli_progress_end(&j->progress);
    return result == SUPPLE_OK && !j->atlas ? close_outputs(j, j->current, error) : result;
}

/* What was computed, once the texture is known to reach far enough. */
static supple_result play_back(job *j, supple_error *error)
{
    supple_frame frame;
    supple_result result = supple_atlas_finish(j->atlas, error);
    if (result == SUPPLE_OK) result = open_outputs(j, -1, error);
    for (int r = 0; r < j->range_count && result == SUPPLE_OK; r++) {
        result = open_outputs(j, r, error);
        for (int k = 0; k < j->ranges[r].frame_count && result == SUPPLE_OK; k++) {
            if (cli_interrupted()) return cancelled(error);
            result = supple_atlas_next(j->atlas, &frame, error) ? deliver(j, &frame, error) : error->code;
        }
        if (result == SUPPLE_OK) result = close_outputs(j, j->current, error);
    }
    return result;
}

static int run_job(job *j)
{
    supple_error error;
    double start = now_ms();
    supple_result result = j->atlas ? SUPPLE_OK : open_outputs(j, -1, &error);
    for (int r = 0; r < j->range_count && result == SUPPLE_OK; r++) result = run_range(j, r, &error);
    if (result == SUPPLE_OK && j->atlas) result = play_back(j, &error);
    if (result == SUPPLE_OK && cli_interrupted()) result = cancelled(&error);
    if (result == SUPPLE_OK) result = close_outputs(j, j->shared, &error);
    if (result == SUPPLE_OK && j->metrics_path) result = cli_metrics_write(j->metrics, j->metrics_path, &error);
    cli_progress_end(&j->progress);
    if (result != SUPPLE_OK) return cli_fail(&error);
    tell_trouble(j);
    if (j->progress.shown && j->output_count) tell_written(j, (now_ms() - start) * 1e-3);
    return cli_verdict_tell(j->verdict, &j->config) || !j->strict ? 0 : SUPPLE_ERROR_SOLVE;
}

static int run(const cli_arguments *arguments)
{
    job j = {0};
    cli_catch_interrupt();
    int code = prepare(&j, arguments);
    if (code == 0) code = run_job(&j);
    for (int i = 0; i < j.output_count; i++) {
        supple_writer_abort(j.shared[i]);
        supple_writer_abort(j.current[i]);
    }
    supple_bake_destroy(j.bake);
    supple_atlas_destroy(j.atlas);
    cli_metrics_free(j.metrics);
    cli_verdict_free(j.verdict);
    supple_sim_destroy(j.sim);
    supple_model_destroy(j.model);
    supple_scene_destroy(j.scene);
    free(j.ranges);
    free(j.position);
    free(j.normal);
    free(j.tangent);
    free(j.trust);
    return code;
}

static void print_parameter(const supple_parameter *p)
{
    char value[64];
    snprintf(value, sizeof value, "%g", p->value);
    if (p->choices) { /* the word of that index */
        const char *word = p->choices;
        for (int k = 0; k < (int)p->value; k++) word = strchr(word, '|') + 1;
        snprintf(value, sizeof value, "%.*s", (int)strcspn(word, "|"), word);
    }
    printf("      %s=%s%s%s  %s%s%s%s\n", p->name, value, *p->unit ? " " : "", p->unit, p->help, p->choices ? " (" : "",
           p->choices ? p->choices : "", p->choices ? ")" : "");
}

static void print_parameters(int32_t method)
{
    supple_parameter p;
    for (int32_t i = 0; supple_method_parameter(method, i, &p); i++) print_parameter(&p);
}

static void print_lists(void)
{
    puts("IN: a .glb, .gltf, .vrm, .fbx or .dae file, or demo:NAME (see `supple demo`).\n\nOutputs, by ending:");
    for (int32_t i = 0; supple_output_ending(i); i++)
        printf("  %-10s %s\n", supple_output_ending(i), supple_output_summary(i));
    puts("\nMethods:");
    for (int32_t i = 0; i < supple_method_count(); i++) {
        printf("  %-10s %s\n", supple_method_name(i), supple_method_summary(i));
        print_parameters(i);
    }
    puts("\nAfter any of them:\n  --slide    skin slides and stretches over the body; textures with it");
    supple_parameter p;
    for (int32_t i = 0; supple_slide_parameter(i, &p); i++) print_parameter(&p);
}

const cli_verb cli_verb_skin = {
    .name = "skin",
    .usage = "IN -o OUT [-o OUT2 ...]",
    .summary = "deform a rigged, animated character",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operand_count = 1,
    .run = run,
    .notes = print_lists,
};
