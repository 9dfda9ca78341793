#include "metrics.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct cli_metrics {
    json_t *root, *frames;
};

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}
static json_t *count(int32_t value)
{
    return value >= 0 ? json_integer(value) : json_null();
}

cli_metrics *cli_metrics_new(void)
{
    cli_metrics *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->root = json_object();
    m->frames = json_array();
    if (m->root && m->frames) return m;
    cli_metrics_free(m);
    return NULL;
}

void cli_metrics_free(cli_metrics *m)
{
    if (!m) return;
    json_decref(m->root);
    json_decref(m->frames);
    free(m);
}

static json_t *setup_times(const supple_setup *s, double load_ms)
{
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "load", real(load_ms), "body", real(s->ms_body),
                     "weights", real(s->ms_weights), "factor", real(s->ms_factor), "flesh", real(s->ms_flesh), "rest",
                     real(s->ms_rest), "checks", real(s->ms_checks), "slide", real(s->ms_slide), "other",
                     real(s->ms_other), "total", real(s->ms_total + load_ms));
}

/* Without a body every key is null but the size that lengths are measured in. */
static json_t *body_facts(const supple_body *body, double size_m)
{
    supple_body_info none = {.vertices = -1,
                             .tets = -1,
                             .surface_vertices = -1,
                             .constrained = -1,
                             .size_m = size_m,
                             .min_dihedral_deg = NAN,
                             .max_dihedral_deg = NAN,
                             .volume = NAN};
    const supple_body_info *i = body ? supple_body_get_info(body) : &none;
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "kind",
                     body ? json_string(i->kind == SUPPLE_BODY_PRISM ? "prism" : "tets") : json_null(), "vertices",
                     count(i->vertices), "tets", count(i->tets), "surface_vertices", count(i->surface_vertices),
                     "constrained", count(i->constrained), "size_m", real(i->size_m), "min_dihedral_deg",
                     real(i->min_dihedral_deg), "max_dihedral_deg", real(i->max_dihedral_deg), "volume",
                     real(i->volume));
}

void cli_metrics_setup(cli_metrics *m, const supple_scene *scene, const supple_sim *sim, double load_ms)
{
    const supple_setup *s = supple_sim_setup(sim);
    json_object_set_new(m->root, "supple", json_string(supple_version()));
    json_object_set_new(m->root, "method", json_string(s->method));
    json_object_set_new(m->root, "threads", json_integer(s->thread_count));
    json_object_set_new(m->root, "input",
                        json_pack("{s:i,s:i,s:i}", "vertices", (int)supple_scene_vertex_count(scene), "triangles",
                                  (int)supple_scene_triangle_count(scene), "joints",
                                  (int)supple_scene_joint_count(scene)));
    json_object_set_new(m->root, "body", body_facts(supple_sim_body(sim), s->size_m));
    json_object_set_new(m->root, "setup_ms", setup_times(s, load_ms));
}

static json_t *joint_volumes(const supple_sim *sim)
{
    int32_t n = supple_sim_joint_count(sim);
    if (n == 0) return json_null();
    json_t *joints = json_object();
    for (int32_t i = 0; i < n; i++)
        json_object_set_new(joints, supple_sim_joint_name(sim, i), real(supple_sim_joint_volume(sim, i)));
    return joints;
}

static json_t *harm_of(const supple_harm *h)
{
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "torn", count(h->torn), "stretched", real(h->stretched), "folded",
                     real(h->folded), "lost", real(h->lost), "cracks", real(h->cracks), "far", real(h->far), "strain",
                     real(h->strain));
}

/* Of all, and by part; null where nothing was measured. */
static json_t *harm(const supple_sim *sim)
{
    const supple_stats *s = supple_sim_stats(sim);
    if (s->harm.torn < 0) return json_null();
    json_t *all = harm_of(&s->harm), *parts = json_array();
    supple_harm h;
    for (int32_t i = 0; supple_sim_part_harm(sim, i, &h); i++) {
        json_t *part = harm_of(&h);
        json_object_set_new(part, "name", json_string(supple_sim_part_name(sim, i)));
        json_array_append_new(parts, part);
    }
    const char *worse = supple_sim_worse(sim);
    json_object_set_new(all, "worse", worse ? json_string(worse) : json_null());
    json_object_set_new(all, "parts", parts);
    return all;
}

void cli_metrics_frame(cli_metrics *m, const char *clip, int frame, double time, const supple_sim *sim)
{
    const supple_stats *s = supple_sim_stats(sim);
    json_t *ms = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "total", real(s->ms_total), "pose", real(s->ms_pose), "contact",
                           real(s->ms_contact), "solve", real(s->ms_solve), "upsample", real(s->ms_upsample), "slide",
                           real(s->ms_slide));
    json_object_set_new(ms, "checks", real(s->ms_checks));
    json_t *o = json_pack("{s:s,s:i,s:f,s:o,s:o,s:o,s:o,s:o}", "clip", clip, "frame", frame, "time", time, "ms", ms,
                          "iterations", count(s->iterations), "residual", real(s->residual), "energy", real(s->energy),
                          "volume_ratio", real(s->volume_ratio));
    json_object_set_new(o, "inverted", count(s->inverted));
    json_object_set_new(o, "min_det_f", real(s->min_det_f));
    json_object_set_new(o, "contacts", count(s->contacts));
    json_object_set_new(o, "crossed", count(s->crossed));
    json_object_set_new(o, "max_penetration", real(s->max_penetration));
    json_object_set_new(o, "max_fold", real(s->max_fold));
    json_object_set_new(o, "own_penetration", real(s->own_penetration));
    json_object_set_new(o, "max_strain", real(s->max_strain));
    json_object_set_new(o, "joint_volume", joint_volumes(sim));
    json_object_set_new(o, "max_bend_deg", real(s->max_bend_deg));
    json_object_set_new(o, "yield_deg", real(s->yield_deg));
    json_object_set_new(o, "yield_m", real(s->yield_m));
    json_object_set_new(o, "verify_mean", real(s->verify_mean));
    json_object_set_new(o, "verify_max", real(s->verify_max));
    json_object_set_new(o, "harm", harm(sim));
    json_object_set_new(o, "trust", real(s->trust));
    supple_named_value own;
    for (int32_t i = 0; supple_sim_value(sim, i, &own); i++) json_object_set_new(o, own.name, real(own.value));
    json_array_append_new(m->frames, o);
}

supple_result cli_metrics_write(cli_metrics *m, const char *path, supple_error *error)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    json_object_set_new(m->root, "peak_mb", json_real((double)usage.ru_maxrss / 1024));
    json_object_set(m->root, "frames", m->frames);
    char *text = json_dumps(m->root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    if (!text) {
        if (error) {
            error->code = SUPPLE_ERROR_MEMORY;
            snprintf(error->message, sizeof error->message, "out of memory for the metrics");
        }
        return SUPPLE_ERROR_MEMORY;
    }
    supple_result result = supple_bytes_write(path, text, strlen(text), error);
    free(text);
    return result;
}
