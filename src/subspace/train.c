#include "subspace/train.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/timer.h"
#include "subspace/agree.h"
#include "subspace/basis.h"
#include "subspace/cubature.h"
#include "subspace/dents.h"
#include "subspace/modal.h"
#include "subspace/own_make.h"
#include "subspace/poses.h"
#include "subspace/ranges.h"

#include <string.h>

enum { FEW = 24 }; /* poses, of which none are frames */

static const double moves_away = 0.02; /* of the diagonal: joints that move farther in their parent's axes */

static const double dent_depth = 0.4; /* of the deeper of two dents that cubature learns from, times its radius */
static const double heard = 10;       /* what a neighbour's word weighs at a seam, against the pose's (agree.h) */
static const double vibration = 0.02; /* largest displacement of a vibration sample, of the diagonal */

spl_train_options spl_train_options_default(void)
{
    return (spl_train_options){.samples = 100,
                               .rank = 20,
                               .modes = 160,
                               .derivatives = 100,
                               .pose_share = 1,
                               .seam = 0.3,
                               .sweeps = 8,
                               .cubature_error = 0.05,
                               .tolerance = 1e-4,
                               .least_turn = 0.35,
                               .seed = 1,
                               .bytes = (size_t)512 << 20,
                               .law = &spl_law_corot,
                               .cut = spl_domain_options_default()};
}

typedef struct training {
    const supple_scene *scene;
    spl_solid *solid;
    const spl_train_options *o;
    const supple_config *config;
    spl_pool *pool;
    supple_allocator allocator;
    spl_domains domains;
    spl_joint_ranges ranges;
    spl_samples samples;
    spl_poses poses; /* the solved ones */
    spl_modal modal; /* its shapes are in `shape` */
    spl_snapshots snapshots;
    int32_t *rank;         /* by domain */
    double *shape, *scale; /* modes and derivatives one after another, and their weights */
    double *vibration;     /* poses x modes: samples of vibrations, as many as poses */
    double vibration_size; /* what they are multiplied by */
    spl_dents dents;       /* of all domains; zero without */
} training;

/* ---- poses ---- */

static bool is_below(const supple_scene *scene, int32_t node, int32_t above)
{
    while (node >= 0 && node != above) node = scene->node[node].parent;
    return node >= 0;
}

/* The first joint that clips move away from where it hangs, with flesh of other bones to leave behind; -1: none. */
static int32_t find_moving(const training *w)
{
    const spl_bones *bones = &w->solid->body->bones;
    double least = moves_away * w->solid->diagonal / fabs(w->solid->drive.to_solver);
    for (int32_t j = 0; j < w->ranges.joint_count; j++) {
        if (!(w->ranges.range[j].shift > least) && !(w->ranges.turns && w->ranges.root[j])) continue;
        for (int32_t b = 0; b < bones->bone_count; b++)
            if (!is_below(w->scene, bones->bone[b].node, w->ranges.node[j])) return w->ranges.node[j];
    }
    return -1;
}

/* Poses drawn from the ranges, and frames of the clips, every third, unless they are few. Where joints move away from
 * where they hang (feet that hang on the root, for a leg to reach) poses that are drawn joint by joint would tear limbs
 * apart: all are frames.
 */
static supple_result take_poses(const training *w, spl_joint_move *move, supple_error *error)
{
    const spl_train_options *o = w->o;
    int32_t moving = find_moving(w), clips = o->clip ? o->clip_count : w->scene->clip_count, drawn = o->samples;
    if (clips > 0 && !o->limits && o->samples >= FEW) drawn -= o->samples / 3;
    if (o->frames || moving >= 0) drawn = 0;
    if (moving >= 0 && !o->frames)
        spl_log(w->config, SUPPLE_LOG_INFO,
                "joint '%.60s' moves away from what it hangs on: all poses are frames of the clips",
                w->scene->node[moving].name);
    spl_joint_ranges_draw(&w->ranges, drawn, o->seed, move);
    if (drawn == o->samples) return SUPPLE_OK;
    return spl_joint_ranges_frames(&w->ranges, w->scene, o->clip, o->clip_count, o->samples - drawn,
                                   move + (size_t)drawn * (size_t)w->ranges.joint_count, error);
}

static supple_result solve_poses(training *w, bool part, supple_error *error)
{
    const spl_train_options *o = w->o;
    supple_result result = spl_joint_ranges_infer(w->scene, o->clip, o->clip_count, o->least_turn, &w->ranges, error);
    if (result == SUPPLE_OK && o->limits) result = spl_joint_ranges_read(&w->ranges, w->scene, o->limits, error);
    if (result != SUPPLE_OK) return result;
    size_t joints = (size_t)w->ranges.joint_count;
    spl_joint_move *move = spl_new(&w->allocator, (size_t)o->samples * joints, sizeof *move);
    if (!move) return spl_fail_memory(error, "the training poses");
    result = take_poses(w, move, error);
    if (result == SUPPLE_OK)
        result = spl_samples_create(w->scene, w->ranges.node, (int32_t)joints, move, o->samples, w->solid, &w->samples,
                                    error);
    spl_free(&w->allocator, move);
    if (result != SUPPLE_OK) return result;
    spl_sample_options so = {.law = o->law,
                             .tolerance = o->tolerance,
                             .max_iterations = 75,
                             .folder = o->folder,
                             .skinned = o->skinned,
                             .relax = o->relax,
                             .share = o->share,
                             .shares = o->shares,
                             .lease = o->lease,
                             .part = part,
                             .exchange = o->exchange};
    return spl_samples_solve(&w->samples, w->scene, w->solid, &so, w->config, w->pool, error);
}

static supple_result make_poses(training *w, spl_train_report *report, supple_error *error)
{
    const spl_train_options *o = w->o;
    supple_result result = solve_poses(w, false, error);
    if (result != SUPPLE_OK) return result;
    result = spl_poses_create(w->scene, w->solid, &w->domains, &w->samples, o->bytes, &w->allocator, &w->poses, error);
    if (result != SUPPLE_OK) return result;
    report->poses = w->poses.count;
    report->found = w->samples.found;
    report->dropped = w->samples.dropped;
    if (w->poses.count > 0) return SUPPLE_OK;
    return spl_samples_refuse(&w->samples, w->scene, (int32_t)o->samples, error);
}

/* ---- vibrations ---- */

static double normal(uint64_t *state)
{
    double u[2];
    for (int i = 0; i < 2; i++) {
        *state += 0x9e3779b97f4a7c15u;
        u[i] = ((double)(spl_mix(*state) >> 11) + 0.5) * 0x1p-53;
    }
    return sqrt(-2 * log(u[0])) * cos(6.283185307179586 * u[1]);
}

static double largest(const double *u, size_t vertices)
{
    double most = 0;
    for (size_t v = 0; v < vertices; v++) {
        const double *p = u + 3 * v;
        most = fmax(most, sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
    }
    return most;
}

/* A sample of vibrations at some of the body's vertices, all of them where the list is NULL. */
static void vibrate(const training *w, int32_t sample, const int32_t *vertex, int32_t count, double *u)
{
    size_t n = (size_t)w->modal.vertex_count, modes = (size_t)w->modal.mode_count;
    memset(u, 0, 3 * (size_t)count * sizeof *u);
    for (size_t m = 0; m < modes; m++) {
        double z = w->vibration[(size_t)sample * modes + m];
        const double *psi = w->shape + 3 * m * n;
        for (size_t k = 0; k < (size_t)count; k++) {
            const double *from = psi + 3 * (vertex ? (size_t)vertex[k] : k);
            for (size_t i = 0; i < 3; i++) u[3 * k + i] += z * from[i];
        }
    }
    for (size_t k = 0; k < 3 * (size_t)count; k++) u[k] *= w->vibration_size;
}

/* As many shapes as poses, q_k ~ N(0, 1/lambda_k), all scaled so that on average they are as large as flesh swings. */
static supple_result draw_vibrations(training *w, supple_error *error)
{
    size_t modes = (size_t)w->modal.mode_count, count = (size_t)w->poses.count;
    uint64_t state = spl_mix(w->o->seed + 0x5eed);
    double sum = 0, *u = spl_new(&w->allocator, (size_t)w->modal.vertex_count, 3 * sizeof *u);
    w->vibration = spl_new(&w->allocator, count * modes, sizeof *w->vibration);
    w->vibration_size = 1;
    for (size_t s = 0; u && w->vibration && s < count; s++) {
        for (size_t m = 0; m < modes; m++) w->vibration[s * modes + m] = normal(&state) / sqrt(w->modal.value[m]);
        vibrate(w, (int32_t)s, NULL, w->modal.vertex_count, u);
        sum += largest(u, (size_t)w->modal.vertex_count);
    }
    w->vibration_size = sum > 0 ? vibration * w->solid->diagonal * (double)count / sum : 0;
    supple_result result = u && w->vibration ? SUPPLE_OK : spl_fail_memory(error, "the vibrations");
    spl_free(&w->allocator, u);
    return result;
}

static supple_result make_vibrations(training *w, supple_error *error)
{
    const spl_train_options *o = w->o;
    supple_result result = spl_progress(w->config, "vibrations", 0, error);
    if (result == SUPPLE_OK)
        result = spl_modal_create(w->solid, o->law, o->modes, o->derivatives, w->config, w->pool, &w->modal, error);
    if (result != SUPPLE_OK) return result;
    spl_modal *m = &w->modal;
    size_t n = 3 * (size_t)m->vertex_count, modes = (size_t)m->mode_count, all = modes + (size_t)m->derivative_count;
    w->shape = spl_new(&w->allocator, all * n, sizeof *w->shape);
    w->scale = spl_new(&w->allocator, all, sizeof *w->scale);
    if (!w->shape || !w->scale) return spl_fail_memory(error, "the vibrations");
    memcpy(w->shape, m->mode, modes * n * sizeof *w->shape);
    memcpy(w->shape + modes * n, m->derivative, (all - modes) * n * sizeof *w->shape);
    for (size_t i = 0; i < modes; i++) w->scale[i] = m->value[0] / m->value[i];
    for (size_t i = modes; i < all; i++) {
        const int32_t *pair = m->pair + 2 * (i - modes);
        w->scale[i] = m->value[0] * m->value[0] / (m->value[pair[0]] * m->value[pair[1]]);
    }
    spl_free(&m->allocator, m->mode);
    spl_free(&m->allocator, m->derivative);
    m->mode = m->derivative = NULL;
    return draw_vibrations(w, error);
}

/* ---- domains ---- */

static supple_result start_domain(training *w, int32_t index, spl_model_domain *out, supple_error *error)
{
    const spl_domain *d = &w->domains.domain[index];
    const supple_allocator *a = &w->allocator;
    size_t n = (size_t)d->vertex_count, most = (size_t)w->rank[index] + (size_t)w->o->dents;
    out->bone = d->bone;
    out->vertex_count = d->vertex_count;
    out->vertex = spl_new(a, n, sizeof *out->vertex);
    out->rest = spl_new(a, n, 3 * sizeof *out->rest);
    out->mass = spl_new(a, n, sizeof *out->mass);
    out->area = spl_new(a, n, sizeof *out->area);
    out->basis = spl_new(a, 3 * n * most, sizeof *out->basis);
    out->reach = spl_new(a, most, sizeof *out->reach);
    if (!out->vertex || !out->rest || !out->mass || !out->area || !out->basis || !out->reach)
        return spl_fail_memory(error, "a model");
    memcpy(out->vertex, d->vertex, n * sizeof *out->vertex);
    memcpy(out->mass, d->mass, n * sizeof *out->mass);
    for (size_t k = 0; k < n; k++)
        memcpy(out->rest + 3 * k, w->solid->drive.rest + 3 * (size_t)d->vertex[k], 3 * sizeof *out->rest);
    supple_result result = spl_basis_make(&w->domains, index, &w->snapshots, w->rank[index], w->o->pose_share, w->pool,
                                          a, out->basis, &out->rank, &out->pose_rank, error);
    if (result == SUPPLE_OK && out->rank < 1)
        result = spl_fail(error, SUPPLE_ERROR_SOLVE, "domain %d never moves: nothing to learn from", (int)index);
    return result;
}

/* q = U^T M u */
static void project(const spl_model_domain *d, const double *u, double *q)
{
    size_t r = (size_t)d->rank;
    memset(q, 0, r * sizeof *q);
    for (size_t k = 0; k < 3 * (size_t)d->vertex_count; k++)
        for (size_t i = 0; i < r; i++) q[i] += d->basis[k * r + i] * d->mass[k / 3] * u[k];
}

/* The training states of one domain: all projected poses, as many vibrations, and two depths of each dent. */
typedef struct states {
    int32_t count;
    double *q;      /* count x rank */
    int32_t *place; /* by body vertex: where it stands among the held ones of a pose */
    double *u;      /* 3 x vertex_count: room */
    spl_cubature_pose *pose;
} states;

static void free_states(states *s, const supple_allocator *a)
{
    spl_free(a, s->q);
    spl_free(a, s->place);
    spl_free(a, s->u);
    spl_free(a, s->pose);
}

static bool new_states(training *w, const spl_model_domain *d, states *s)
{
    s->count = 2 * (w->poses.count + w->o->dents);
    s->q = spl_new(&w->allocator, (size_t)s->count * (size_t)d->rank, sizeof *s->q);
    s->place = spl_new(&w->allocator, (size_t)w->solid->body->tets.vertex_count, sizeof *s->place);
    s->u = spl_new(&w->allocator, (size_t)d->vertex_count, 3 * sizeof *s->u);
    s->pose = spl_new(&w->allocator, (size_t)s->count, sizeof *s->pose);
    return s->q && s->place && s->u && s->pose;
}

/* Dents of two depths, behind the poses and vibrations. */
static void fill_dents(training *w, int32_t index, const spl_model_domain *d, states *s)
{
    size_t n = (size_t)w->solid->body->tets.vertex_count, r = (size_t)d->rank;
    int32_t at = 2 * w->poses.count;
    for (int32_t p = 0; w->o->dents > 0 && p < w->dents.count[index]; p++)
        for (int depth = 1; depth <= 2; depth++, at++) {
            const double *u = w->dents.shape + 3 * (size_t)(index * w->dents.each + p) * n;
            double by = 0.5 * depth * dent_depth * w->dents.radius[index], *q = s->q + (size_t)at * r;
            for (int32_t k = 0; k < 3 * d->vertex_count; k++) s->u[k] = by * u[3 * d->vertex[k / 3] + k % 3];
            project(d, s->u, q);
            s->pose[at] = (spl_cubature_pose){.q = q};
        }
    s->count = at;
}

static void fill_states(training *w, int32_t index, spl_model_domain *d, states *s)
{
    size_t r = (size_t)d->rank, n = 3 * (size_t)d->vertex_count, held = 3 * (size_t)w->poses.held_count[index];
    for (int32_t k = 0; k < w->poses.held_count[index]; k++) s->place[w->poses.held_vertex[index][k]] = k;
    for (size_t p = 0, poses = (size_t)w->poses.count; p < poses; p++) {
        double *q = s->q + p * r;
        project(d, w->poses.displacement[index] + p * n, q);
        s->pose[p] = (spl_cubature_pose){q, w->poses.held[index] + p * held, s->place};
        q = s->q + (poses + p) * r;
        vibrate(w, (int32_t)p, d->vertex, d->vertex_count, s->u);
        project(d, s->u, q);
        s->pose[poses + p] = (spl_cubature_pose){.q = q};
    }
    fill_dents(w, index, d, s);
    for (size_t k = 0; k < (size_t)s->count * r; k++) d->reach[k % r] = fmax(d->reach[k % r], fabs(s->q[k]));
}

static supple_result train_cubature(training *w, int32_t index, spl_model_domain *d, supple_error *error)
{
    spl_cubature_options co = spl_cubature_options_default();
    states s = {0};
    co.error = w->o->cubature_error;
    co.seed = w->o->seed + (uint64_t)index;
    supple_result result = new_states(w, d, &s) ? SUPPLE_OK : spl_fail_memory(error, "the cubature");
    if (result == SUPPLE_OK) {
        fill_states(w, index, d, &s);
        result = spl_cubature_train(w->solid, &w->domains, index, w->o->law, s.pose, s.count, &co, w->pool,
                                    &w->allocator, d, error);
    }
    free_states(&s, &w->allocator);
    return result;
}

static supple_result load_domain(void *context, int32_t domain, supple_error *error)
{
    training *w = context;
    return spl_poses_load(&w->poses, domain, error);
}

/* How many columns each domain gets. */
static supple_result make_ranks(training *w, supple_error *error)
{
    w->snapshots = (spl_snapshots){.pose_count = w->poses.count,
                                   .pose = (double *const *)w->poses.displacement,
                                   .vertex_count = w->modal.vertex_count,
                                   .shape_count = w->modal.mode_count + w->modal.derivative_count,
                                   .shape = w->shape,
                                   .scale = w->scale,
                                   .seam = w->o->seam};
    w->rank = spl_new(&w->allocator, (size_t)w->domains.domain_count, sizeof *w->rank);
    if (!w->rank) return spl_fail_memory(error, "a model");
    for (int32_t d = 0; d < w->domains.domain_count; d++) w->rank[d] = w->o->rank;
    if (w->o->even) return SUPPLE_OK;
    supple_result result = spl_basis_ranks(&w->domains, &w->snapshots, w->o->rank, w->o->pose_share, load_domain, w,
                                           w->pool, &w->allocator, w->rank, error);
    int32_t most = SPL_MODEL_MOST_RANK - w->o->dents;
    for (int32_t d = 0; d < w->domains.domain_count; d++)
        if (w->rank[d] > most) w->rank[d] = most;
    return result;
}

/* Dents behind the other columns, and what tets stand for the rest. */
static supple_result finish_domain(training *w, int32_t index, spl_model_domain *out, supple_error *error)
{
    int32_t most = w->rank[index] + w->o->dents;
    supple_result result = spl_poses_load(&w->poses, index, error);
    if (result == SUPPLE_OK && w->o->dents > 0)
        result =
            spl_dents_append(&w->dents, &w->domains, index, most, w->modal.vertex_count, out->basis, &out->rank, error);
    return result == SUPPLE_OK ? train_cubature(w, index, out, error) : result;
}

/* Where domains meet their bases say the same. */
static supple_result agree(training *w, spl_model *m, supple_error *error)
{
    spl_agreement g = {.domains = &w->domains,
                       .pose_count = w->poses.count,
                       .pose = (double *const *)w->poses.displacement,
                       .R = w->poses.R,
                       .t = w->poses.t,
                       .seam = w->o->seam,
                       .weight = heard,
                       .sweeps = w->o->sweeps,
                       .load = load_domain,
                       .context = w};
    return spl_bases_agree(&g, m->domain, w->pool, &w->allocator, error);
}

static supple_result make_domains(training *w, spl_model *m, spl_train_report *report, supple_error *error)
{
    supple_result result = make_ranks(w, error);
    int32_t count = w->domains.domain_count;
    if (result != SUPPLE_OK) return result;
    m->domain = spl_new(&w->allocator, (size_t)count, sizeof *m->domain);
    if (!m->domain) return spl_fail_memory(error, "a model");
    m->domain_count = count;
    double start = spl_now_ms();
    for (int32_t i = 0; i < count && result == SUPPLE_OK; i++) {
        result = spl_progress(w->config, "bases", (double)i / count, error);
        if (result == SUPPLE_OK) result = spl_poses_load(&w->poses, i, error);
        if (result == SUPPLE_OK) result = start_domain(w, i, &m->domain[i], error);
    }
    if (result == SUPPLE_OK) result = agree(w, m, error);
    report->ms_bases = spl_now_ms() - start;
    start = spl_now_ms();
    for (int32_t i = 0; i < count && result == SUPPLE_OK; i++) {
        result = spl_progress(w->config, "cubature", (double)i / count, error);
        if (result == SUPPLE_OK) result = finish_domain(w, i, &m->domain[i], error);
    }
    report->ms_cubature = spl_now_ms() - start;
    return result;
}

/* ---- interfaces and surface ---- */

static supple_result copy_interfaces(training *w, spl_model *m, supple_error *error)
{
    const supple_allocator *a = &w->allocator;
    m->interface = spl_new(a, (size_t)w->domains.interface_count, sizeof *m->interface);
    if (!m->interface) return spl_fail_memory(error, "a model");
    m->interface_count = w->domains.interface_count;
    for (int32_t i = 0; i < m->interface_count; i++) {
        const spl_interface *from = &w->domains.interface[i];
        spl_interface *to = &m->interface[i];
        size_t n = (size_t)from->count;
        *to = (spl_interface){.i = from->i, .j = from->j, .count = from->count};
        to->at_i = spl_new(a, n, sizeof *to->at_i);
        to->at_j = spl_new(a, n, sizeof *to->at_j);
        to->area = spl_new(a, n, sizeof *to->area);
        if (!to->at_i || !to->at_j || !to->area) return spl_fail_memory(error, "a model");
        memcpy(to->at_i, from->at_i, n * sizeof *to->at_i);
        memcpy(to->at_j, from->at_j, n * sizeof *to->at_j);
        memcpy(to->area, from->area, n * sizeof *to->area);
    }
    return SUPPLE_OK;
}

/* By body vertex: a third of the surface's triangles around it at rest, m^2. */
static void measure_surface(const spl_solid *s, double *area)
{
    const spl_tets *tets = &s->body->tets;
    for (int32_t k = 0; k < tets->surface_count; k++) {
        const int32_t *c = tets->surface + 3 * (size_t)k;
        spl_vec3 x[3];
        for (int i = 0; i < 3; i++) memcpy(&x[i], s->drive.rest + 3 * (size_t)c[i], sizeof x[i]);
        double third = spl_norm(spl_cross(spl_sub(x[1], x[0]), spl_sub(x[2], x[0]))) / 6;
        for (int i = 0; i < 3; i++) area[c[i]] += third;
    }
}

/* The surface that contacts press on. Copies of a vertex at a seam share its area as they share its mass. */
static supple_result share_surface(training *w, spl_model *m, supple_error *error)
{
    const supple_allocator *a = &w->allocator;
    size_t n = (size_t)w->solid->body->tets.vertex_count;
    double *area = spl_new(a, n, sizeof *area), *mass = spl_new(a, n, sizeof *mass);
    if (area && mass) {
        measure_surface(w->solid, area);
        for (int32_t i = 0; i < m->domain_count; i++)
            for (int32_t k = 0; k < m->domain[i].vertex_count; k++)
                mass[m->domain[i].vertex[k]] += m->domain[i].mass[k];
        for (int32_t i = 0; i < m->domain_count; i++)
            for (int32_t k = 0; k < m->domain[i].vertex_count; k++) {
                int32_t v = m->domain[i].vertex[k];
                m->domain[i].area[k] = area[v] * m->domain[i].mass[k] / mass[v];
            }
    }
    supple_result result = area && mass ? SUPPLE_OK : spl_fail_memory(error, "the surface");
    spl_free(a, area);
    spl_free(a, mass);
    return result;
}

/* ---- trust ---- */

typedef struct judging {
    spl_mat4 *world; /* by joint of the rig */
    spl_own_pose skin;
    spl_own_trust trust;
    spl_vec3 *own, *flesh; /* by vertex of the surface, in the solver's space */
} judging;

static supple_result open_judging(judging *j, const training *w, const spl_model *m, supple_error *error)
{
    const supple_allocator *a = &w->allocator;
    const spl_rig *r = &m->rig;
    j->world = spl_new(a, (size_t)r->joint_count, sizeof *j->world);
    j->own = spl_new(a, (size_t)r->vertex_count, sizeof *j->own);
    j->flesh = spl_new(a, (size_t)r->vertex_count, sizeof *j->flesh);
    if (!j->world || !j->own || !j->flesh) return spl_fail_memory(error, "trust");
    supple_result result = spl_own_pose_create(m, a, &j->skin, error);
    j->trust = (spl_own_trust){.vertex_count = r->vertex_count,
                               .triangle_count = r->triangle_count,
                               .triangle = r->triangle,
                               .rest = j->skin.rest,
                               .diagonal = w->solid->diagonal};
    return result == SUPPLE_OK ? spl_own_trust_start(&j->trust, a, error) : result;
}

static void close_judging(judging *j, const supple_allocator *a)
{
    spl_own_trust_release(&j->trust, a);
    spl_own_pose_release(&j->skin, a);
    spl_free(a, j->world);
    spl_free(a, j->own);
    spl_free(a, j->flesh);
}

/* Flesh of the solved pose p against the file's own skinning of it. */
static supple_result judge_pose(judging *j, training *w, const spl_rig *r, int32_t p, supple_error *error)
{
    const spl_bones *bones = &w->solid->body->bones;
    const spl_pose *pose = &w->poses.pose;
    supple_result result = spl_poses_see(&w->poses, p, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t b = 0; b < r->bone_count; b++)
        j->world[r->bone[SPL_RIG_BONE_NUMBERS * b]] = pose->world[bones->bone[b].node];
    spl_own_pose_set(&j->skin, j->world, r->joint_count);
    for (int32_t v = 0; v < r->vertex_count; v++) {
        j->own[v] = spl_scale(spl_own_point(&j->skin, v), r->to_solver);
        memcpy(&j->flesh[v], w->poses.x + 3 * (size_t)r->vertex[v], sizeof *j->flesh);
    }
    spl_own_trust_see(&j->trust, j->own, j->flesh);
    return SUPPLE_OK;
}

static supple_result find_trust(training *w, spl_model *m, supple_error *error)
{
    judging j = {0};
    supple_result result = open_judging(&j, w, m, error);
    for (int32_t p = 0; p < w->poses.count && result == SUPPLE_OK; p++) result = judge_pose(&j, w, &m->rig, p, error);
    if (result == SUPPLE_OK) spl_own_trust_settle(&j.trust, m->rig.own.trust);
    close_judging(&j, &w->allocator);
    return result;
}

/* ---- the whole ---- */

static void describe(const training *w, spl_model *m)
{
    const spl_solid *s = w->solid;
    double weighted = 0, volume = 0;
    for (int32_t k = 0; k < s->body->tets.tet_count; k++) {
        double mu = s->material.mu[k], lambda = s->material.lambda[k];
        weighted += s->elements.volume[k] * mu * (3 * lambda + 2 * mu) / (lambda + mu);
        volume += s->elements.volume[k];
    }
    m->character = spl_character_key(s);
    m->law = w->o->law;
    m->vertex_count = s->body->tets.vertex_count;
    m->tet_count = s->body->tets.tet_count;
    m->edge = spl_tets_quality(&s->body->tets).mean_edge * s->body->metre;
    m->young = weighted / volume;
    m->lowest = w->modal.value[0];
    m->samples = w->poses.count;
}

static supple_result run(training *w, spl_model *m, spl_train_report *report, supple_error *error)
{
    double start = spl_now_ms();
    supple_result result = spl_domains_create(w->solid, &w->o->cut, &w->allocator, &w->domains, error);
    if (result == SUPPLE_OK) result = make_poses(w, report, error);
    report->ms_poses = spl_now_ms() - start;
    double then = spl_now_ms();
    if (result == SUPPLE_OK) result = make_vibrations(w, error);
    double edge = spl_tets_quality(&w->solid->body->tets).mean_edge * w->solid->body->metre;
    if (result == SUPPLE_OK && w->o->dents > 0)
        result =
            spl_dents_create(w->solid, &w->domains, w->o->law, w->o->dents, edge, w->config, w->pool, &w->dents, error);
    report->ms_modes = spl_now_ms() - then;
    if (result == SUPPLE_OK) result = make_domains(w, m, report, error);
    if (result == SUPPLE_OK) result = copy_interfaces(w, m, error);
    if (result == SUPPLE_OK) result = share_surface(w, m, error);
    if (result == SUPPLE_OK) describe(w, m);
    if (result == SUPPLE_OK) result = spl_rig_make(w->scene, w->solid, m, &m->rig, error);
    if (result == SUPPLE_OK) result = find_trust(w, m, error);
    report->ms_total = spl_now_ms() - start;
    return result;
}

static void release(training *w)
{
    const supple_allocator *a = &w->allocator;
    spl_free(a, w->rank);
    spl_free(a, w->shape);
    spl_free(a, w->scale);
    spl_free(a, w->vibration);
    spl_modal_release(&w->modal);
    spl_dents_release(&w->dents);
    spl_poses_release(&w->poses);
    spl_samples_release(&w->samples);
    spl_joint_ranges_release(&w->ranges);
    spl_domains_release(&w->domains);
}

supple_result spl_train_poses(const supple_scene *scene, spl_solid *solid, const spl_train_options *options,
                              const supple_config *config, spl_pool *pool, supple_error *error)
{
    training w = {.scene = scene,
                  .solid = solid,
                  .o = options,
                  .config = config,
                  .pool = pool,
                  .allocator = spl_allocator_of(config)};
    supple_result result = solve_poses(&w, true, error);
    release(&w);
    return result;
}

supple_result spl_train(const supple_scene *scene, spl_solid *solid, const spl_train_options *options,
                        const supple_config *config, spl_pool *pool, spl_model *out, spl_train_report *report,
                        supple_error *error)
{
    spl_train_report unused;
    training w = {.scene = scene,
                  .solid = solid,
                  .o = options,
                  .config = config,
                  .pool = pool,
                  .allocator = spl_allocator_of(config)};
    *out = (spl_model){.allocator = w.allocator};
    if (!report) report = &unused;
    *report = (spl_train_report){0};
    supple_result result = run(&w, out, report, error);
    release(&w);
    if (result != SUPPLE_OK) spl_model_release(out);
    return result;
}
